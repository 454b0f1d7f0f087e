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
  u32 b_epochs_now[3];
  // loudest.coll:5: for r in tiles(rows) {
  const u32 v2 = *(b_epochs + (i64)blockIdx.x);
  *(b_epochs_now + 0ll) = v2;
  // loudest.coll:6: own[r] = max(c in 0..columns) abs(samples[r, c])
  __syncthreads();
  const u32 v6 = *(b_epochs_now + 0ll);
  const u32 v7 = v6 + 1u;
  *(b_epochs_now + 0ll) = v7;
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
  const i64 v20 = v15 + 2047ll;
  const i64 v21 = v20 / 2048ll;
  for (i64 v22 = blockIdx.x; v22 < v17; v22 += gridDim.x) {
    const i64 v23 = v22 * 2048ll;
    for (i64 v24 = threadIdx.x; v24 < 2048ll; v24 += 512) {
      const i64 v25 = v23 + v24;
      const i64 v26 = v25 * d_columns;
      float v28;
      v28 = __uint_as_float(0xff800000u);
      for (i64 v27 = 0ll; v27 < d_columns; v27++) {
        const i64 v29 = v26 + v27;
        const u16 v30 = *(b_samples + v29);
        const float v31 = bf16_to_f32(v30);
        const float v32 = fabsf(v31);
        v28 = fmaxf(v28, v32);
      }
      *(b_own + v25) = v28;
    }
  }
  for (i64 v33 = v17 + ((i64)blockIdx.x - v17 % gridDim.x + gridDim.x) % gridDim.x; v33 < v21; v33 += gridDim.x) {
    const i64 v34 = v33 * 2048ll;
    const i64 v35 = v15 - v34;
    for (i64 v36 = threadIdx.x; v36 < v35; v36 += 512) {
      const i64 v37 = v34 + v36;
      const i64 v38 = v37 * d_columns;
      float v40;
      v40 = __uint_as_float(0xff800000u);
      for (i64 v39 = 0ll; v39 < d_columns; v39++) {
        const i64 v41 = v38 + v39;
        const u16 v42 = *(b_samples + v41);
        const float v43 = bf16_to_f32(v42);
        const float v44 = fabsf(v43);
        v40 = fmaxf(v40, v44);
      }
      *(b_own + v37) = v40;
    }
  }
  // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
  __syncthreads();
  const u32 v45 = *(b_epochs_now + 0ll);
  const u32 v46 = v45 + 1u;
  *(b_epochs_now + 0ll) = v46;
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
  const bool v52 = (u64)b_own % 16 == 0;
  const bool v53 = (u64)b_peak % 16 == 0;
  const bool v54 = v52 & v53;
  if (v54) {
    for (i64 v56 = blockIdx.x; v56 < v17; v56 += gridDim.x) {
      const i64 v57 = v56 * 2048ll;
      {
        const i64 v58 = threadIdx.x;
        const i64 v59 = v58 * 4ll;
        const i64 v60 = v57 + v59;
        const Vec<float, 4> v61 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v60);
        const Vec<float, 4> v62 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v60);
        const Vec<float, 4> v63 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v60);
        const Vec<float, 4> v64 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v60);
        Vec<float, 4> v65;
        #pragma unroll
        for (int l = 0; l < 4; l++) v65.v[l] = fmaxf(v61.v[l], v62.v[l]);
        Vec<float, 4> v66;
        #pragma unroll
        for (int l = 0; l < 4; l++) v66.v[l] = fmaxf(v65.v[l], v63.v[l]);
        Vec<float, 4> v67;
        #pragma unroll
        for (int l = 0; l < 4; l++) v67.v[l] = fmaxf(v66.v[l], v64.v[l]);
        store_vec(b_peak + v60, v67);
      }
    }
  } else {
    for (i64 v68 = blockIdx.x; v68 < v17; v68 += gridDim.x) {
      const i64 v69 = v68 * 2048ll;
      for (i64 v70 = threadIdx.x; v70 < 2048ll; v70 += 512) {
        const i64 v71 = v69 + v70;
        const float v72 = *(((float*)b_own_peers.p[0ll]) + v71);
        const float v73 = *(((float*)b_own_peers.p[1ll]) + v71);
        const float v74 = *(((float*)b_own_peers.p[2ll]) + v71);
        const float v75 = *(((float*)b_own_peers.p[3ll]) + v71);
        const float v76 = fmaxf(v72, v73);
        const float v77 = fmaxf(v76, v74);
        const float v78 = fmaxf(v77, v75);
        *(b_peak + v71) = v78;
      }
    }
  }
  if (v54) {
    for (i64 v79 = v17 + ((i64)blockIdx.x - v17 % gridDim.x + gridDim.x) % gridDim.x; v79 < v21; v79 += gridDim.x) {
      const i64 v80 = v79 * 2048ll;
      const i64 v81 = v15 - v80;
      const i64 v82 = v81 / 4ll;
      const i64 v83 = v82 * 4ll;
      for (i64 v84 = threadIdx.x; v84 < v82; v84 += 512) {
        const i64 v85 = v84 * 4ll;
        const i64 v86 = v80 + v85;
        const Vec<float, 4> v87 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v86);
        const Vec<float, 4> v88 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v86);
        const Vec<float, 4> v89 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v86);
        const Vec<float, 4> v90 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v86);
        Vec<float, 4> v91;
        #pragma unroll
        for (int l = 0; l < 4; l++) v91.v[l] = fmaxf(v87.v[l], v88.v[l]);
        Vec<float, 4> v92;
        #pragma unroll
        for (int l = 0; l < 4; l++) v92.v[l] = fmaxf(v91.v[l], v89.v[l]);
        Vec<float, 4> v93;
        #pragma unroll
        for (int l = 0; l < 4; l++) v93.v[l] = fmaxf(v92.v[l], v90.v[l]);
        store_vec(b_peak + v86, v93);
      }
      for (i64 v94 = v83 + threadIdx.x; v94 < v81; v94 += 512) {
        const i64 v95 = v80 + v94;
        const float v96 = *(((float*)b_own_peers.p[0ll]) + v95);
        const float v97 = *(((float*)b_own_peers.p[1ll]) + v95);
        const float v98 = *(((float*)b_own_peers.p[2ll]) + v95);
        const float v99 = *(((float*)b_own_peers.p[3ll]) + v95);
        const float v100 = fmaxf(v96, v97);
        const float v101 = fmaxf(v100, v98);
        const float v102 = fmaxf(v101, v99);
        *(b_peak + v95) = v102;
      }
    }
  } else {
    for (i64 v103 = v17 + ((i64)blockIdx.x - v17 % gridDim.x + gridDim.x) % gridDim.x; v103 < v21; v103 += gridDim.x) {
      const i64 v104 = v103 * 2048ll;
      const i64 v105 = v15 - v104;
      for (i64 v106 = threadIdx.x; v106 < v105; v106 += 512) {
        const i64 v107 = v104 + v106;
        const float v108 = *(((float*)b_own_peers.p[0ll]) + v107);
        const float v109 = *(((float*)b_own_peers.p[1ll]) + v107);
        const float v110 = *(((float*)b_own_peers.p[2ll]) + v107);
        const float v111 = *(((float*)b_own_peers.p[3ll]) + v107);
        const float v112 = fmaxf(v108, v109);
        const float v113 = fmaxf(v112, v110);
        const float v114 = fmaxf(v113, v111);
        *(b_peak + v107) = v114;
      }
    }
  }
  if (threadIdx.x < 1) {
    const i64 v115 = threadIdx.x;
    const u32 v116 = *(b_epochs_now + 0ll);
    *(b_epochs + (i64)blockIdx.x) = v116;
  }
}
