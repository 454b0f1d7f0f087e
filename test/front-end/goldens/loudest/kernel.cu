// loudest from loudest.coll, compiled by collc for 4 ranks
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
template <int N> struct Peers { void* p[N]; };
template <typename T, int N> struct Vec { T v[N]; };
template <typename T, int N> __device__ __forceinline__ Vec<T, N> load_vec(const T* p) {
  Vec<T, N> r;
  constexpr int bytes = sizeof(T) * N;
  if constexpr (bytes % 16 == 0) {
    uint4 w[bytes / 16];
#pragma unroll
    for (int i = 0; i < bytes / 16; i++) w[i] = reinterpret_cast<const uint4*>(p)[i];
    memcpy(&r, w, bytes);
  } else if constexpr (bytes == 8) {
    uint2 w = *reinterpret_cast<const uint2*>(p);
    memcpy(&r, &w, bytes);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) r.v[i] = p[i];
  }
  return r;
}
template <typename T, int N> __device__ __forceinline__ void store_vec(T* p, const Vec<T, N>& r) {
  constexpr int bytes = sizeof(T) * N;
  if constexpr (bytes % 16 == 0) {
    uint4 w[bytes / 16];
    memcpy(w, &r, bytes);
#pragma unroll
    for (int i = 0; i < bytes / 16; i++) reinterpret_cast<uint4*>(p)[i] = w[i];
  } else if constexpr (bytes == 8) {
    uint2 w;
    memcpy(&w, &r, bytes);
    *reinterpret_cast<uint2*>(p) = w;
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) p[i] = r.v[i];
  }
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
coll_loudest_w4_bf16(u16* b_samples, float* b_peak, const __grid_constant__ Peers<4> b_own_peers, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_rows, const i64 d_columns, const int rank, const u64 timeout, u32* const status) {
  const Watch watch = {timeout, status, (u32)rank};
  float* const b_own = (float*)b_own_peers.p[rank];
  u32* const b_flags = (u32*)b_flags_peers.p[rank];
  u32 b_epoch[1];
  // loudest.coll:5: for r in tiles(rows) {
  const u32 v4 = *(b_epochs + (i64)blockIdx.x);
  *(b_epoch + 0ll) = v4;
  // loudest.coll:6: own[r] = max(c in 0..columns) abs(samples[r, c])
  const u32 v7 = *(b_epoch + 0ll);
  const u32 v9 = v7 + 1u;
  *(b_epoch + 0ll) = v9;
  const i64 v11 = (i64)blockIdx.x * 4ll;
  const i64 v12 = v11 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v13 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v13]) + v12, v9);
  }
  if (threadIdx.x < 4) {
    const i64 v14 = threadIdx.x;
    const i64 v15 = v11 + v14;
    wait_acquire_sys(b_flags + v15, v9, watch, (u32)(v14), 3u, (u32)(v15), 6u);
  }
  __syncthreads();
  const i64 v16 = d_rows > 0ll ? d_rows : 0ll;
  const i64 v18 = v16 / 2048ll;
  const i64 v21 = v16 + 2047ll;
  const i64 v22 = v21 / 2048ll;
  for (i64 v23 = blockIdx.x; v23 < v18; v23 += gridDim.x) {
    const i64 v24 = v23 * 2048ll;
    for (i64 v25 = threadIdx.x; v25 < 2048ll; v25 += 512) {
      const i64 v26 = v24 + v25;
      const i64 v27 = v26 * d_columns;
      float v29;
      v29 = __uint_as_float(0xff800000u);
      for (i64 v28 = 0ll; v28 < d_columns; v28++) {
        const i64 v30 = v27 + v28;
        const u16 v31 = *(b_samples + v30);
        const float v32 = bf16_to_f32(v31);
        const float v33 = fabsf(v32);
        v29 = fmaxf(v29, v33);
      }
      *(b_own + v26) = v29;
    }
  }
  for (i64 v34 = v18 + ((i64)blockIdx.x - v18 % gridDim.x + gridDim.x) % gridDim.x; v34 < v22; v34 += gridDim.x) {
    const i64 v35 = v34 * 2048ll;
    const i64 v36 = v16 - v35;
    for (i64 v37 = threadIdx.x; v37 < v36; v37 += 512) {
      const i64 v38 = v35 + v37;
      const i64 v39 = v38 * d_columns;
      float v41;
      v41 = __uint_as_float(0xff800000u);
      for (i64 v40 = 0ll; v40 < d_columns; v40++) {
        const i64 v42 = v39 + v40;
        const u16 v43 = *(b_samples + v42);
        const float v44 = bf16_to_f32(v43);
        const float v45 = fabsf(v44);
        v41 = fmaxf(v41, v45);
      }
      *(b_own + v38) = v41;
    }
  }
  // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
  __syncthreads();
  const u32 v46 = *(b_epoch + 0ll);
  const u32 v47 = v46 + 1u;
  *(b_epoch + 0ll) = v47;
  if (threadIdx.x < 4) {
    const i64 v48 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v48]) + v12, v47);
  }
  if (threadIdx.x < 4) {
    const i64 v49 = threadIdx.x;
    const i64 v50 = v11 + v49;
    wait_acquire_sys(b_flags + v50, v47, watch, (u32)(v49), 3u, (u32)(v50), 9u);
  }
  __syncthreads();
  const bool v53 = (u64)b_own % 16 == 0;
  const bool v54 = (u64)b_peak % 16 == 0;
  const bool v55 = v53 & v54;
  if (v55) {
    for (i64 v57 = blockIdx.x; v57 < v18; v57 += gridDim.x) {
      const i64 v58 = v57 * 2048ll;
      {
        const i64 v59 = threadIdx.x;
        const i64 v60 = v59 * 4ll;
        const i64 v61 = v58 + v60;
        const Vec<float, 4> v62 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v61);
        const Vec<float, 4> v63 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v61);
        const Vec<float, 4> v64 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v61);
        const Vec<float, 4> v65 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v61);
        Vec<float, 4> v66;
        #pragma unroll
        for (int l = 0; l < 4; l++) v66.v[l] = fmaxf(v62.v[l], v63.v[l]);
        Vec<float, 4> v67;
        #pragma unroll
        for (int l = 0; l < 4; l++) v67.v[l] = fmaxf(v66.v[l], v64.v[l]);
        Vec<float, 4> v68;
        #pragma unroll
        for (int l = 0; l < 4; l++) v68.v[l] = fmaxf(v67.v[l], v65.v[l]);
        store_vec(b_peak + v61, v68);
      }
    }
  } else {
    for (i64 v69 = blockIdx.x; v69 < v18; v69 += gridDim.x) {
      const i64 v70 = v69 * 2048ll;
      for (i64 v71 = threadIdx.x; v71 < 2048ll; v71 += 512) {
        const i64 v72 = v70 + v71;
        const float v73 = *(((float*)b_own_peers.p[0ll]) + v72);
        const float v74 = *(((float*)b_own_peers.p[1ll]) + v72);
        const float v75 = *(((float*)b_own_peers.p[2ll]) + v72);
        const float v76 = *(((float*)b_own_peers.p[3ll]) + v72);
        const float v77 = fmaxf(v73, v74);
        const float v78 = fmaxf(v77, v75);
        const float v79 = fmaxf(v78, v76);
        *(b_peak + v72) = v79;
      }
    }
  }
  if (v55) {
    for (i64 v80 = v18 + ((i64)blockIdx.x - v18 % gridDim.x + gridDim.x) % gridDim.x; v80 < v22; v80 += gridDim.x) {
      const i64 v81 = v80 * 2048ll;
      const i64 v82 = v16 - v81;
      const i64 v83 = v82 / 4ll;
      const i64 v84 = v83 * 4ll;
      for (i64 v85 = threadIdx.x; v85 < v83; v85 += 512) {
        const i64 v86 = v85 * 4ll;
        const i64 v87 = v81 + v86;
        const Vec<float, 4> v88 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v87);
        const Vec<float, 4> v89 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v87);
        const Vec<float, 4> v90 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v87);
        const Vec<float, 4> v91 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v87);
        Vec<float, 4> v92;
        #pragma unroll
        for (int l = 0; l < 4; l++) v92.v[l] = fmaxf(v88.v[l], v89.v[l]);
        Vec<float, 4> v93;
        #pragma unroll
        for (int l = 0; l < 4; l++) v93.v[l] = fmaxf(v92.v[l], v90.v[l]);
        Vec<float, 4> v94;
        #pragma unroll
        for (int l = 0; l < 4; l++) v94.v[l] = fmaxf(v93.v[l], v91.v[l]);
        store_vec(b_peak + v87, v94);
      }
      for (i64 v95 = v84 + threadIdx.x; v95 < v82; v95 += 512) {
        const i64 v96 = v81 + v95;
        const float v97 = *(((float*)b_own_peers.p[0ll]) + v96);
        const float v98 = *(((float*)b_own_peers.p[1ll]) + v96);
        const float v99 = *(((float*)b_own_peers.p[2ll]) + v96);
        const float v100 = *(((float*)b_own_peers.p[3ll]) + v96);
        const float v101 = fmaxf(v97, v98);
        const float v102 = fmaxf(v101, v99);
        const float v103 = fmaxf(v102, v100);
        *(b_peak + v96) = v103;
      }
    }
  } else {
    for (i64 v104 = v18 + ((i64)blockIdx.x - v18 % gridDim.x + gridDim.x) % gridDim.x; v104 < v22; v104 += gridDim.x) {
      const i64 v105 = v104 * 2048ll;
      const i64 v106 = v16 - v105;
      for (i64 v107 = threadIdx.x; v107 < v106; v107 += 512) {
        const i64 v108 = v105 + v107;
        const float v109 = *(((float*)b_own_peers.p[0ll]) + v108);
        const float v110 = *(((float*)b_own_peers.p[1ll]) + v108);
        const float v111 = *(((float*)b_own_peers.p[2ll]) + v108);
        const float v112 = *(((float*)b_own_peers.p[3ll]) + v108);
        const float v113 = fmaxf(v109, v110);
        const float v114 = fmaxf(v113, v111);
        const float v115 = fmaxf(v114, v112);
        *(b_peak + v108) = v115;
      }
    }
  }
  if (threadIdx.x < 32) {
    const i64 v117 = threadIdx.x;
    const i64 v118 = v117 % (i64)gridDim.x;
    const bool v119 = v118 == (i64)blockIdx.x;
    if (v119) {
      const u32 v120 = *(b_epoch + 0ll);
      *(b_epochs + v117) = v120;
    }
  }
}
