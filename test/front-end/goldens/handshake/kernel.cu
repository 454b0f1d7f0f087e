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
  // handshake.coll:4: let partner = rank ^ 1
  const u32 v2 = *(b_epochs + (i64)blockIdx.x);
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
  const u32 v16 = (u32)1ll;
  const u32 v17 = v2 + v16;
  __syncthreads();
  const i64 v18 = (i64)blockIdx.x * 4ll;
  const i64 v19 = v18 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v20 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v20]) + v19, v17);
  }
  if (threadIdx.x < 4) {
    const i64 v21 = threadIdx.x;
    const i64 v22 = v18 + v21;
    wait_acquire_sys(b_block_flags + v22, v17, watch, (u32)(v21), 2u, (u32)(v22), 11u);
  }
  __syncthreads();
  const i64 v23 = d_h > 0ll ? d_h : 0ll;
  const i64 v25 = v23 / 4096ll;
  const i64 v27 = v23 + 4095ll;
  const i64 v28 = v27 / 4096ll;
  for (i64 v29 = blockIdx.x; v29 < v25; v29 += gridDim.x) {
    const i64 v30 = v29 * 4096ll;
    for (i64 v31 = threadIdx.x; v31 < 4096ll; v31 += 512) {
      const i64 v32 = v30 + v31;
      // handshake.coll:6: let from = i + (rank % 2) * h
      const i64 v33 = v32 + v12;
      // handshake.coll:7: ours[from] = mine[from]
      const u16 v34 = *(b_mine + v33);
      *(b_ours + v33) = v34;
      // handshake.coll:11: ours[h - from + i] = 0
      const i64 v35 = d_h - v33;
      const i64 v36 = v35 + v32;
      if (v14) {
        // handshake.coll:9: ours@partner[from] = mine[from]
        const u16 v37 = *(b_mine + v33);
        *(((u16*)b_ours_peers.p[v5]) + v33) = v37;
      } else {
        // handshake.coll:11: ours[h - from + i] = 0
        *(b_ours + v36) = f32_to_bf16(0e+0f);
      }
    }
  }
  for (i64 v38 = v25 + ((i64)blockIdx.x - v25 % gridDim.x + gridDim.x) % gridDim.x; v38 < v28; v38 += gridDim.x) {
    const i64 v39 = v38 * 4096ll;
    const i64 v40 = v23 - v39;
    for (i64 v41 = threadIdx.x; v41 < v40; v41 += 512) {
      const i64 v42 = v39 + v41;
      // handshake.coll:6: let from = i + (rank % 2) * h
      const i64 v43 = v42 + v12;
      // handshake.coll:7: ours[from] = mine[from]
      const u16 v44 = *(b_mine + v43);
      *(b_ours + v43) = v44;
      // handshake.coll:11: ours[h - from + i] = 0
      const i64 v45 = d_h - v43;
      const i64 v46 = v45 + v42;
      if (v14) {
        // handshake.coll:9: ours@partner[from] = mine[from]
        const u16 v47 = *(b_mine + v43);
        *(((u16*)b_ours_peers.p[v5]) + v43) = v47;
      } else {
        // handshake.coll:11: ours[h - from + i] = 0
        *(b_ours + v46) = f32_to_bf16(0e+0f);
      }
    }
  }
  const u32 v48 = (u32)2ll;
  const u32 v49 = v2 + v48;
  __syncthreads();
  if (threadIdx.x < 4) {
    const i64 v50 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v50]) + v19, v49);
  }
  if (threadIdx.x < 4) {
    const i64 v51 = threadIdx.x;
    const i64 v52 = v18 + v51;
    wait_acquire_sys(b_block_flags + v52, v49, watch, (u32)(v51), 2u, (u32)(v52), 11u);
  }
  __syncthreads();
  if (threadIdx.x < 1) {
    const i64 v53 = threadIdx.x;
    *(b_epochs + (i64)blockIdx.x) = v49;
  }
}
