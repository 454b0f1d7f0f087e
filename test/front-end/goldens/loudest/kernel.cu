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
coll_loudest_w4_bf16(u16* b_samples, float* b_peak, const __grid_constant__ Peers<4> b_own_peers, const __grid_constant__ Peers<4> b_block_flags_peers, u32* b_epochs, const i64 d_rows, const i64 d_columns, const int rank, const u64 timeout, u32* const status) {
  const Watch watch = {timeout, status, (u32)rank};
  float* const b_own = (float*)b_own_peers.p[rank];
  u32* const b_block_flags = (u32*)b_block_flags_peers.p[rank];
  // loudest.coll:5: for r in tiles(rows) {
  const u32 v2 = *(b_epochs + (i64)blockIdx.x);
  // loudest.coll:6: own[r] = max(c in 0..columns) abs(samples[r, c])
  const u32 v6 = (u32)1ll;
  const u32 v7 = v2 + v6;
  __syncthreads();
  const i64 v10 = (i64)blockIdx.x * 4ll;
  const i64 v11 = v10 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v12 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v12]) + v11, v7);
  }
  if (threadIdx.x < 4) {
    const i64 v13 = threadIdx.x;
    const i64 v14 = v10 + v13;
    wait_acquire_sys(b_block_flags + v14, v7, watch, (u32)(v13), 3u, (u32)(v14), 6u);
  }
  __syncthreads();
  const i64 v15 = d_rows > 0ll ? d_rows : 0ll;
  const i64 v17 = v15 / 2048ll;
  const i64 v19 = v15 + 2047ll;
  const i64 v20 = v19 / 2048ll;
  for (i64 v21 = blockIdx.x; v21 < v17; v21 += gridDim.x) {
    const i64 v22 = v21 * 2048ll;
    for (i64 v23 = threadIdx.x; v23 < 2048ll; v23 += 512) {
      const i64 v24 = v22 + v23;
      const i64 v25 = v24 * d_columns;
      float v27;
      v27 = __uint_as_float(0xff800000u);
      for (i64 v26 = 0ll; v26 < d_columns; v26++) {
        const i64 v28 = v25 + v26;
        const u16 v29 = *(b_samples + v28);
        const float v30 = bf16_to_f32(v29);
        const float v31 = fabsf(v30);
        v27 = fmaxf(v27, v31);
      }
      *(b_own + v24) = v27;
    }
  }
  for (i64 v32 = v17 + ((i64)blockIdx.x - v17 % gridDim.x + gridDim.x) % gridDim.x; v32 < v20; v32 += gridDim.x) {
    const i64 v33 = v32 * 2048ll;
    const i64 v34 = v15 - v33;
    for (i64 v35 = threadIdx.x; v35 < v34; v35 += 512) {
      const i64 v36 = v33 + v35;
      const i64 v37 = v36 * d_columns;
      float v39;
      v39 = __uint_as_float(0xff800000u);
      for (i64 v38 = 0ll; v38 < d_columns; v38++) {
        const i64 v40 = v37 + v38;
        const u16 v41 = *(b_samples + v40);
        const float v42 = bf16_to_f32(v41);
        const float v43 = fabsf(v42);
        v39 = fmaxf(v39, v43);
      }
      *(b_own + v36) = v39;
    }
  }
  // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
  const u32 v45 = (u32)2ll;
  const u32 v46 = v2 + v45;
  __syncthreads();
  if (threadIdx.x < 4) {
    const i64 v47 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v47]) + v11, v46);
  }
  if (threadIdx.x < 4) {
    const i64 v48 = threadIdx.x;
    const i64 v49 = v10 + v48;
    wait_acquire_sys(b_block_flags + v49, v46, watch, (u32)(v48), 3u, (u32)(v49), 9u);
  }
  __syncthreads();
  const bool v51 = (u64)b_own % 16 == 0;
  const bool v52 = (u64)b_peak % 16 == 0;
  const bool v53 = v51 & v52;
  if (v53) {
    for (i64 v55 = blockIdx.x; v55 < v17; v55 += gridDim.x) {
      const i64 v56 = v55 * 2048ll;
      {
        const i64 v57 = threadIdx.x;
        const i64 v58 = v57 * 4ll;
        const i64 v59 = v56 + v58;
        const Vec<float, 4> v60 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v59);
        const Vec<float, 4> v61 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v59);
        const Vec<float, 4> v62 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v59);
        const Vec<float, 4> v63 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v59);
        Vec<float, 4> v64;
        #pragma unroll
        for (int l = 0; l < 4; l++) v64.v[l] = fmaxf(v60.v[l], v61.v[l]);
        Vec<float, 4> v65;
        #pragma unroll
        for (int l = 0; l < 4; l++) v65.v[l] = fmaxf(v64.v[l], v62.v[l]);
        Vec<float, 4> v66;
        #pragma unroll
        for (int l = 0; l < 4; l++) v66.v[l] = fmaxf(v65.v[l], v63.v[l]);
        store_vec(b_peak + v59, v66);
      }
    }
  } else {
    for (i64 v67 = blockIdx.x; v67 < v17; v67 += gridDim.x) {
      const i64 v68 = v67 * 2048ll;
      for (i64 v69 = threadIdx.x; v69 < 2048ll; v69 += 512) {
        const i64 v70 = v68 + v69;
        const float v71 = *(((float*)b_own_peers.p[0ll]) + v70);
        const float v72 = *(((float*)b_own_peers.p[1ll]) + v70);
        const float v73 = *(((float*)b_own_peers.p[2ll]) + v70);
        const float v74 = *(((float*)b_own_peers.p[3ll]) + v70);
        const float v75 = fmaxf(v71, v72);
        const float v76 = fmaxf(v75, v73);
        const float v77 = fmaxf(v76, v74);
        *(b_peak + v70) = v77;
      }
    }
  }
  if (v53) {
    for (i64 v78 = v17 + ((i64)blockIdx.x - v17 % gridDim.x + gridDim.x) % gridDim.x; v78 < v20; v78 += gridDim.x) {
      const i64 v79 = v78 * 2048ll;
      const i64 v80 = v15 - v79;
      const i64 v81 = v80 / 4ll;
      const i64 v82 = v81 * 4ll;
      for (i64 v83 = threadIdx.x; v83 < v81; v83 += 512) {
        const i64 v84 = v83 * 4ll;
        const i64 v85 = v79 + v84;
        const Vec<float, 4> v86 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v85);
        const Vec<float, 4> v87 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v85);
        const Vec<float, 4> v88 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v85);
        const Vec<float, 4> v89 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v85);
        Vec<float, 4> v90;
        #pragma unroll
        for (int l = 0; l < 4; l++) v90.v[l] = fmaxf(v86.v[l], v87.v[l]);
        Vec<float, 4> v91;
        #pragma unroll
        for (int l = 0; l < 4; l++) v91.v[l] = fmaxf(v90.v[l], v88.v[l]);
        Vec<float, 4> v92;
        #pragma unroll
        for (int l = 0; l < 4; l++) v92.v[l] = fmaxf(v91.v[l], v89.v[l]);
        store_vec(b_peak + v85, v92);
      }
      for (i64 v93 = v82 + threadIdx.x; v93 < v80; v93 += 512) {
        const i64 v94 = v79 + v93;
        const float v95 = *(((float*)b_own_peers.p[0ll]) + v94);
        const float v96 = *(((float*)b_own_peers.p[1ll]) + v94);
        const float v97 = *(((float*)b_own_peers.p[2ll]) + v94);
        const float v98 = *(((float*)b_own_peers.p[3ll]) + v94);
        const float v99 = fmaxf(v95, v96);
        const float v100 = fmaxf(v99, v97);
        const float v101 = fmaxf(v100, v98);
        *(b_peak + v94) = v101;
      }
    }
  } else {
    for (i64 v102 = v17 + ((i64)blockIdx.x - v17 % gridDim.x + gridDim.x) % gridDim.x; v102 < v20; v102 += gridDim.x) {
      const i64 v103 = v102 * 2048ll;
      const i64 v104 = v15 - v103;
      for (i64 v105 = threadIdx.x; v105 < v104; v105 += 512) {
        const i64 v106 = v103 + v105;
        const float v107 = *(((float*)b_own_peers.p[0ll]) + v106);
        const float v108 = *(((float*)b_own_peers.p[1ll]) + v106);
        const float v109 = *(((float*)b_own_peers.p[2ll]) + v106);
        const float v110 = *(((float*)b_own_peers.p[3ll]) + v106);
        const float v111 = fmaxf(v107, v108);
        const float v112 = fmaxf(v111, v109);
        const float v113 = fmaxf(v112, v110);
        *(b_peak + v106) = v113;
      }
    }
  }
  if (threadIdx.x < 1) {
    const i64 v114 = threadIdx.x;
    *(b_epochs + (i64)blockIdx.x) = v46;
  }
}
