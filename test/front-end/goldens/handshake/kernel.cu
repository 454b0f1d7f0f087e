// handshake from handshake.coll, compiled by collc for 4 ranks
// By hand, compile it with --fmad=false: ranks that hold one tensor round products and sums alike, one by one.
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
template <int N> struct Peers { void* p[N]; };
__device__ __forceinline__ i64 first_row(i64 from) {
  const u32 at = (u64)from >> 32 == 0 ? (u32)from % gridDim.x : (u32)(from % gridDim.x);
  return from + (blockIdx.x >= at ? blockIdx.x - at : blockIdx.x + gridDim.x - at);
}
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
coll_handshake_w4_bf16(u16* b_mine, const __grid_constant__ Peers<4> b_ours_peers, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_h, const int rank, const u64 timeout, u32* const status) {
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
  const Watch watch = {timeout, status, (u32)rank};
  u16* const b_ours = (u16*)b_ours_peers.p[rank];
  u32* const b_flags = (u32*)b_flags_peers.p[rank];
  u32 b_epoch[1];
  // handshake.coll:4: let partner = rank ^ 1
  const u32 v4 = *(b_epochs + (i64)blockIdx.x);
  *(b_epoch + 0ll) = v4;
  const i64 v7 = (i64)rank ^ 1ll;
  // handshake.coll:5: for i in tiles(h) {
  // handshake.coll:6: let from = i + (rank % 2) * h
  const i64 v10 = (i64)((u64)(i64)rank % (u64)2ll);
  const i64 v11 = v10 * d_h;
  // handshake.coll:8: if partner < world {
  const bool v12 = v7 < 4ll;
  // handshake.coll:5: for i in tiles(h) {
  const u32 v14 = *(b_epoch + 0ll);
  const u32 v16 = v14 + 1u;
  *(b_epoch + 0ll) = v16;
  const i64 v17 = (i64)blockIdx.x * 4ll;
  const i64 v18 = v17 + (i64)rank;
  if (threadIdx.x < 1) {
    const i64 v19 = threadIdx.x;
    signal_set_relaxed_sys(((u32*)b_flags_peers.p[v7]) + v18, v16);
  }
  const i64 v20 = v17 + v7;
  if (threadIdx.x < 1) {
    const i64 v21 = threadIdx.x;
    wait_acquire_sys(b_flags + v20, v16, watch, (u32)(v7), 2u, (u32)(v20), 5u);
  }
  __syncthreads();
  const i64 v22 = d_h > 0ll ? d_h : 0ll;
  const i64 v24 = (i64)((u64)v22 / (u64)4096ll);
  const i64 v26 = v22 + 4095ll;
  const i64 v27 = (i64)((u64)v26 / (u64)4096ll);
  for (i64 v28 = blockIdx.x; v28 < v24; v28 += gridDim.x) {
    const i64 v29 = v28 * 4096ll;
    for (i64 v30 = threadIdx.x; v30 < 4096ll; v30 += 512) {
      const i64 v31 = v29 + v30;
      // handshake.coll:6: let from = i + (rank % 2) * h
      const i64 v32 = v31 + v11;
      // handshake.coll:7: ours[from] = mine[from]
      const u16 v33 = *(b_mine + v32);
      *(b_ours + v32) = v33;
      // handshake.coll:11: ours[h - from + i] = 0
      const i64 v34 = d_h - v32;
      const i64 v35 = v34 + v31;
      // handshake.coll:8: if partner < world {
      if (v12) {
        // handshake.coll:9: ours@partner[from] = mine[from]
        const u16 v36 = *(b_mine + v32);
        *(((u16*)b_ours_peers.p[v7]) + v32) = v36;
      } else {
        // handshake.coll:11: ours[h - from + i] = 0
        *(b_ours + v35) = f32_to_bf16(0e+0f);
      }
    }
  }
  // handshake.coll:5: for i in tiles(h) {
  for (i64 v37 = first_row(v24); v37 < v27; v37 += gridDim.x) {
    const i64 v38 = v37 * 4096ll;
    const i64 v39 = v22 - v38;
    for (i64 v40 = threadIdx.x; v40 < v39; v40 += 512) {
      const i64 v41 = v38 + v40;
      // handshake.coll:6: let from = i + (rank % 2) * h
      const i64 v42 = v41 + v11;
      // handshake.coll:7: ours[from] = mine[from]
      const u16 v43 = *(b_mine + v42);
      *(b_ours + v42) = v43;
      // handshake.coll:11: ours[h - from + i] = 0
      const i64 v44 = d_h - v42;
      const i64 v45 = v44 + v41;
      // handshake.coll:8: if partner < world {
      if (v12) {
        // handshake.coll:9: ours@partner[from] = mine[from]
        const u16 v46 = *(b_mine + v42);
        *(((u16*)b_ours_peers.p[v7]) + v42) = v46;
      } else {
        // handshake.coll:11: ours[h - from + i] = 0
        *(b_ours + v45) = f32_to_bf16(0e+0f);
      }
    }
  }
  // handshake.coll:5: for i in tiles(h) {
  __syncthreads();
  const u32 v47 = *(b_epoch + 0ll);
  const u32 v48 = v47 + 1u;
  *(b_epoch + 0ll) = v48;
  if (threadIdx.x < 1) {
    const i64 v49 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v7]) + v18, v48);
  }
  if (threadIdx.x < 1) {
    const i64 v50 = threadIdx.x;
    wait_acquire_sys(b_flags + v20, v48, watch, (u32)(v7), 2u, (u32)(v20), 5u);
  }
  if (threadIdx.x < 132) {
    const i64 v52 = threadIdx.x;
    const i64 v53 = (i64)((u64)v52 % (u64)(i64)gridDim.x);
    const bool v54 = v53 == (i64)blockIdx.x;
    if (v54) {
      const u32 v55 = *(b_epoch + 0ll);
      *(b_epochs + v52) = v55;
    }
  }
}
