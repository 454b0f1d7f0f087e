// handshake from handshake.coll, compiled by collc for 4 ranks
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
template <int N> struct Peers { void* p[N]; };
__device__ __forceinline__ float bf16_to_f32(u16 x) { return __uint_as_float((u32)x << 16); }
__device__ __forceinline__ u16 f32_to_bf16(float x) { u16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
struct Watch { u64 timeout; u32* status; u32 rank; };
__device__ __forceinline__ u64 global_timer() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ __forceinline__ void give_up(const Watch& w, u32 peer, u32 buffer, u32 slot, u32 wanted, u32 seen, u32 line) {
  if (atomicCAS(w.status, 0u, 2u) != 0u) return;
  w.status[1] = w.rank; w.status[2] = peer; w.status[3] = buffer; w.status[4] = slot;
  w.status[5] = wanted; w.status[6] = seen; w.status[7] = line;
  __threadfence_system();
  atomicExch(w.status, 1u);
}
#define COLLC_WAIT(SCOPE, ORDER)                                                                                \
  __device__ __forceinline__ void wait_##ORDER##_##SCOPE(const u32* flag, u32 wanted, const Watch& w, u32 peer,  \
                                                         u32 buffer, u32 slot, u32 line) {                      \
    u32 seen, spins = 0;                                                                                        \
    u64 start = 0;                                                                                              \
    for (;;) {                                                                                                  \
      asm volatile("ld." #ORDER "." #SCOPE ".global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");        \
      if ((int)(seen - wanted) >= 0) return;                                                                    \
      if ((++spins & 1023u) != 0) continue;                                                                     \
      const u64 now = global_timer();                                                                           \
      if (start == 0) start = now;                                                                              \
      const bool late = w.timeout != 0 && now - start > w.timeout;                                              \
      if (late) give_up(w, peer, buffer, slot, wanted, seen, line);                                             \
      if (late || *(volatile u32*)w.status != 0) return;                                                        \
    }                                                                                                           \
  }
COLLC_WAIT(sys, acquire)
COLLC_WAIT(sys, relaxed)
COLLC_WAIT(gpu, acquire)
COLLC_WAIT(gpu, relaxed)
#define COLLC_SIGNAL(SCOPE, ORDER)                                                                              \
  __device__ __forceinline__ void signal_set_##ORDER##_##SCOPE(u32* flag, u32 value) {                          \
    asm volatile("st." #ORDER "." #SCOPE ".global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");           \
  }                                                                                                             \
  __device__ __forceinline__ void signal_add_##ORDER##_##SCOPE(u32* flag, u32 value) {                          \
    asm volatile("red." #ORDER "." #SCOPE ".global.add.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");      \
  }
COLLC_SIGNAL(sys, release)
COLLC_SIGNAL(sys, relaxed)
COLLC_SIGNAL(gpu, release)
COLLC_SIGNAL(gpu, relaxed)

extern "C" __global__ void __launch_bounds__(512, 1)
coll_handshake_w4_bf16(u16* b_mine, const __grid_constant__ Peers<4> b_ours_peers, const __grid_constant__ Peers<4> b_block_flags_peers, u32* b_epochs, const i64 d_h, const int rank, const u64 timeout, u32* const status) {
  const Watch watch = {timeout, status, (u32)rank};
  u16* const b_ours = (u16*)b_ours_peers.p[rank];
  u32* const b_block_flags = (u32*)b_block_flags_peers.p[rank];
  u32 b_epochs_now[3];
  // handshake.coll:4: let partner = rank ^ 1
  const u32 v2 = *(b_epochs + (i64)blockIdx.x);
  *(b_epochs_now + 0ll) = v2;
  const i64 v5 = (i64)rank ^ 1ll;
  // handshake.coll:5: for i in tiles(h) {
  // handshake.coll:6: let from = i + (rank % 2) * h
  const i64 v8 = (i64)rank % 2ll;
  const bool v9 = v8 < 0ll;
  const i64 v10 = v8 + 2ll;
  const i64 v11 = v9 ? v10 : v8;
  const i64 v12 = v11 * d_h;
  // handshake.coll:8: if partner < world {
  const bool v14 = v5 < 4ll;
  // handshake.coll:11: ours[h - from + i] = 0
  __syncthreads();
  const u32 v17 = *(b_epochs_now + 0ll);
  const u32 v18 = v17 + 1u;
  *(b_epochs_now + 0ll) = v18;
  const i64 v19 = (i64)blockIdx.x * 4ll;
  const i64 v20 = v19 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v21 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v21]) + v20, v18);
  }
  if (threadIdx.x < 4) {
    const i64 v22 = threadIdx.x;
    const i64 v23 = v19 + v22;
    wait_acquire_sys(b_block_flags + v23, v18, watch, (u32)(v22), 2u, (u32)(v23), 11u);
  }
  __syncthreads();
  const i64 v24 = d_h > 0ll ? d_h : 0ll;
  const i64 v26 = v24 / 4096ll;
  const i64 v28 = v24 + 4095ll;
  const i64 v29 = v28 / 4096ll;
  for (i64 v30 = blockIdx.x; v30 < v26; v30 += gridDim.x) {
    const i64 v31 = v30 * 4096ll;
    for (i64 v32 = threadIdx.x; v32 < 4096ll; v32 += 512) {
      const i64 v33 = v31 + v32;
      // handshake.coll:6: let from = i + (rank % 2) * h
      const i64 v34 = v33 + v12;
      // handshake.coll:7: ours[from] = mine[from]
      const u16 v35 = *(b_mine + v34);
      *(b_ours + v34) = v35;
      // handshake.coll:11: ours[h - from + i] = 0
      const i64 v36 = d_h - v34;
      const i64 v37 = v36 + v33;
      if (v14) {
        // handshake.coll:9: ours@partner[from] = mine[from]
        const u16 v38 = *(b_mine + v34);
        *(((u16*)b_ours_peers.p[v5]) + v34) = v38;
      } else {
        // handshake.coll:11: ours[h - from + i] = 0
        *(b_ours + v37) = f32_to_bf16(0e+0f);
      }
    }
  }
  for (i64 v39 = v26 + ((i64)blockIdx.x - v26 % gridDim.x + gridDim.x) % gridDim.x; v39 < v29; v39 += gridDim.x) {
    const i64 v40 = v39 * 4096ll;
    const i64 v41 = v24 - v40;
    for (i64 v42 = threadIdx.x; v42 < v41; v42 += 512) {
      const i64 v43 = v40 + v42;
      // handshake.coll:6: let from = i + (rank % 2) * h
      const i64 v44 = v43 + v12;
      // handshake.coll:7: ours[from] = mine[from]
      const u16 v45 = *(b_mine + v44);
      *(b_ours + v44) = v45;
      // handshake.coll:11: ours[h - from + i] = 0
      const i64 v46 = d_h - v44;
      const i64 v47 = v46 + v43;
      if (v14) {
        // handshake.coll:9: ours@partner[from] = mine[from]
        const u16 v48 = *(b_mine + v44);
        *(((u16*)b_ours_peers.p[v5]) + v44) = v48;
      } else {
        // handshake.coll:11: ours[h - from + i] = 0
        *(b_ours + v47) = f32_to_bf16(0e+0f);
      }
    }
  }
  __syncthreads();
  const u32 v49 = *(b_epochs_now + 0ll);
  const u32 v50 = v49 + 1u;
  *(b_epochs_now + 0ll) = v50;
  if (threadIdx.x < 4) {
    const i64 v51 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v51]) + v20, v50);
  }
  if (threadIdx.x < 4) {
    const i64 v52 = threadIdx.x;
    const i64 v53 = v19 + v52;
    wait_acquire_sys(b_block_flags + v53, v50, watch, (u32)(v52), 2u, (u32)(v53), 11u);
  }
  __syncthreads();
  if (threadIdx.x < 1) {
    const i64 v54 = threadIdx.x;
    const u32 v55 = *(b_epochs_now + 0ll);
    *(b_epochs + (i64)blockIdx.x) = v55;
  }
}
