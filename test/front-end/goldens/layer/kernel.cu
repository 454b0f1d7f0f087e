// layer from layer.coll, compiled by collc for 4 ranks
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
__device__ __forceinline__ float fn_gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }
__device__ __forceinline__ float fn_silu(float x) { return x / (1.0f + expf(-x)); }
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
__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
template <typename T, int ROWS, int COLS, int STRIDE, int THREADS>
__device__ __forceinline__ void copy_tile(T* to, const T* from, i64 rows, i64 cols, i64 row, i64 col) {
  constexpr int PER = 16 / sizeof(T), ACROSS = COLS / PER;
  const bool wide = ((u64)from % 16 == 0) & (cols % PER == 0) & (col % PER == 0);
  if (wide) {
#pragma unroll
    for (int i = 0; i < (ROWS * ACROSS + THREADS - 1) / THREADS; i++) {
      const int e = i * THREADS + threadIdx.x, r = e / ACROSS, c = e % ACROSS * PER;
      if (ROWS * ACROSS % THREADS != 0 && e >= ROWS * ACROSS) break;
      const bool inside = (row + r < rows) & (col + c < cols);
      const T* source = inside ? from + (row + r) * cols + col + c : from;
      const int bytes = inside ? 16 : 0; // the rest of the 16 is filled with zeros
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to + r * STRIDE + c)), "l"(source), "r"(bytes) : "memory");
    }
  } else {
    for (int e = threadIdx.x; e < ROWS * COLS; e += THREADS) {
      const int r = e / COLS, c = e % COLS;
      const bool inside = (row + r < rows) & (col + c < cols);
      to[r * STRIDE + c] = inside ? from[(row + r) * cols + col + c] : T(0);
    }
  }
}
template <int TYPE> __device__ __forceinline__ void mma_16816(float* d, const u32* a, const u32* b) {
  if constexpr (TYPE == 0)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <int TYPE, int M, int N, int K, int SA, int SB, int THREADS>
__device__ __forceinline__ void mma_tile(float* acc, const u16* a, const u16* b) {
  constexpr int WN = THREADS / 64, TM = M / 2, TN = N / WN, MI = TM / 16, NI = TN / 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = warp / WN * TM, col0 = warp % WN * TN;
#pragma unroll
  for (int k = 0; k < K; k += 16) {
    u32 af[MI][4], bf[NI][2];
#pragma unroll
    for (int i = 0; i < MI; i++) {
      const u32 at = shared_address(a + (row0 + i * 16 + lane % 16) * SA + k + lane / 16 * 8);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(af[i][0]), "=r"(af[i][1]), "=r"(af[i][2]), "=r"(af[i][3]) : "r"(at) : "memory");
    }
#pragma unroll
    for (int j = 0; j < NI; j += 2) {
      const u32 at = shared_address(b + (k + lane % 16) * SB + col0 + j * 8 + lane / 16 * 8);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(bf[j][0]), "=r"(bf[j][1]), "=r"(bf[j + 1][0]), "=r"(bf[j + 1][1]) : "r"(at) : "memory");
    }
#pragma unroll
    for (int i = 0; i < MI; i++)
#pragma unroll
      for (int j = 0; j < NI; j++) mma_16816<TYPE>(acc + (i * NI + j) * 4, af[i], bf[j]);
  }
}
template <int M, int N, int THREADS> __device__ __forceinline__ void store_mma16(float* to, const float* acc) {
  constexpr int WN = THREADS / 64, TM = M / 2, TN = N / WN, MI = TM / 16, NI = TN / 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = warp / WN * TM, col0 = warp % WN * TN;
#pragma unroll
  for (int i = 0; i < MI; i++)
#pragma unroll
    for (int j = 0; j < NI; j++) {
      float* at = to + (row0 + i * 16 + lane / 4) * N + col0 + j * 8 + lane % 4 * 2;
      const float* d = acc + (i * NI + j) * 4;
      *reinterpret_cast<float2*>(at) = make_float2(d[0], d[1]);
      *reinterpret_cast<float2*>(at + 8 * N) = make_float2(d[2], d[3]);
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, const __grid_constant__ Peers<4> b_block_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status) {
  const Watch watch = {timeout, status, (u32)rank};
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  u16* const b_out = (u16*)b_out_peers.p[rank];
  u16* const b_tile_a_bf16 = (u16*)(shared_memory + 0);
  u16* const b_tile_b_bf16 = (u16*)(shared_memory + 55296);
  float b_accumulator_bf16[128];
  float* const b_tile_c_f32 = (float*)(shared_memory + 0);
  u32* const b_block_flags = (u32*)b_block_flags_peers.p[rank];
  u32 b_epochs_now[3];
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v2 = *(b_epochs + (i64)blockIdx.x);
  *(b_epochs_now + 0ll) = v2;
  const i64 v5 = d_m / 4ll;
  const i64 v10 = (i64)rank * v5;
  __syncthreads();
  const u32 v12 = *(b_epochs_now + 0ll);
  const u32 v13 = v12 + 1u;
  *(b_epochs_now + 0ll) = v13;
  const i64 v14 = (i64)blockIdx.x * 4ll;
  const i64 v15 = v14 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v16 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v16]) + v15, v13);
  }
  if (threadIdx.x < 4) {
    const i64 v17 = threadIdx.x;
    const i64 v18 = v14 + v17;
    wait_acquire_sys(b_block_flags + v18, v13, watch, (u32)(v17), 4u, (u32)(v18), 5u);
  }
  __syncthreads();
  const i64 v21 = v5 > 0ll ? v5 : 0ll;
  const i64 v22 = d_n > 0ll ? d_n : 0ll;
  const i64 v25 = v22 + 255ll;
  const i64 v26 = v25 / 256ll;
  const i64 v28 = v21 + 127ll;
  const i64 v29 = v28 / 128ll;
  const i64 v30 = v29 * v26;
  const i64 v34 = d_k + 63ll;
  const i64 v35 = v34 / 64ll;
  const bool v36 = 0ll < v35;
  const bool v37 = 1ll < v35;
  const i64 v39 = (i64)rank + 1ll;
  const i64 v40 = v39 + (i64)blockIdx.x;
  const i64 v41 = v40 % 4ll;
  const i64 v42 = v40 + 1ll;
  const i64 v43 = v42 % 4ll;
  const i64 v44 = v40 + 2ll;
  const i64 v45 = v44 % 4ll;
  const i64 v46 = v40 + 3ll;
  const i64 v47 = v46 % 4ll;
  const bool v49 = (u64)b_bias % 16 == 0;
  const bool v50 = (u64)b_out % 16 == 0;
  const bool v51 = v49 & v50;
  const i64 v52 = d_n % 8ll;
  const bool v53 = v52 == 0ll;
  const bool v54 = v51 & v53;
  Vec<float, 8> v55;
  #pragma unroll
  for (int l = 0; l < 8; l++) v55.v[l] = 5e-1f;
  for (i64 v56 = blockIdx.x; v56 < v30; v56 += gridDim.x) {
    const i64 v57 = v56 / v26;
    const i64 v58 = v57 * 128ll;
    const i64 v59 = v56 % v26;
    const i64 v60 = v59 * 256ll;
    #pragma unroll
    for (int l = 0; l < sizeof(b_accumulator_bf16) / sizeof(float); l++) b_accumulator_bf16[l] = 0.0f;
    if (v36) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 0ll * 9216, b_a, (d_m / 4ll), d_k, v58, 0ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 0ll * 16896, b_b, d_k, d_n, 0ll, v60);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (v37) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 1ll * 9216, b_a, (d_m / 4ll), d_k, v58, 64ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 1ll * 16896, b_b, d_k, d_n, 64ll, v60);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (i64 v61 = 0ll; v61 < v35; v61++) {
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      __syncthreads();
      const i64 v62 = v61 + 2ll;
      const bool v63 = v62 < v35;
      const i64 v64 = v62 * 64ll;
      const i64 v65 = v62 % 3ll;
      if (v63) {
        copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + v65 * 9216, b_a, (d_m / 4ll), d_k, v58, v64);
        copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + v65 * 16896, b_b, d_k, d_n, v64, v60);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      const i64 v66 = v61 % 3ll;
      mma_tile<0, 128, 256, 64, 72, 264, 256>(b_accumulator_bf16, b_tile_a_bf16 + v66 * 9216, b_tile_b_bf16 + v66 * 16896);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    store_mma16<128, 256, 256>(b_tile_c_f32, b_accumulator_bf16);
    __syncthreads();
    const i64 v67 = v5 - v58;
    const i64 v68 = 128ll < v67 ? 128ll : v67;
    const i64 v69 = d_n - v60;
    const i64 v70 = 256ll < v69 ? 256ll : v69;
    const bool v71 = v70 == 256ll;
    const i64 v72 = v68 * 256ll;
    const i64 v73 = v68 * v70;
    const i64 v74 = v72 / 8ll;
    const i64 v75 = v74 * 8ll;
    const i64 v76 = v70 % 8ll;
    const bool v77 = v76 == 0ll;
    const bool v78 = v51 & v77;
    const bool v79 = v78 & v53;
    const i64 v80 = v73 / 8ll;
    const i64 v81 = v80 * 8ll;
    if (v71) {
      if (v54) {
        for (i64 v82 = threadIdx.x; v82 < v74; v82 += 256) {
          const i64 v83 = v82 * 8ll;
          const i64 v84 = v83 / 256ll;
          const i64 v85 = v83 % 256ll;
          const i64 v86 = v58 + v84;
          const i64 v87 = v60 + v85;
          const i64 v88 = v84 * 256ll;
          const i64 v89 = v88 + v85;
          const Vec<float, 8> v90 = load_vec<float, 8>(b_tile_c_f32 + v89);
          Vec<float, 8> v91;
          #pragma unroll
          for (int l = 0; l < 8; l++) v91.v[l] = v55.v[l] * v90.v[l];
          const i64 v92 = v86 * d_n;
          const i64 v93 = v92 + v87;
          const Vec<u16, 8> v94 = load_vec<u16, 8>(b_bias + v93);
          Vec<float, 8> v95;
          #pragma unroll
          for (int l = 0; l < 8; l++) v95.v[l] = bf16_to_f32(v94.v[l]);
          Vec<float, 8> v96;
          #pragma unroll
          for (int l = 0; l < 8; l++) v96.v[l] = v91.v[l] + v95.v[l];
          Vec<float, 8> v97;
          #pragma unroll
          for (int l = 0; l < 8; l++) v97.v[l] = fn_silu(v96.v[l]);
          Vec<u16, 8> v98;
          #pragma unroll
          for (int l = 0; l < 8; l++) v98.v[l] = f32_to_bf16(v97.v[l]);
          const i64 v99 = v86 + v10;
          const i64 v100 = v99 * d_n;
          const i64 v101 = v100 + v87;
          store_vec(((u16*)b_out_peers.p[v41]) + v101, v98);
          store_vec(((u16*)b_out_peers.p[v43]) + v101, v98);
          store_vec(((u16*)b_out_peers.p[v45]) + v101, v98);
          store_vec(((u16*)b_out_peers.p[v47]) + v101, v98);
        }
        for (i64 v102 = v75 + threadIdx.x; v102 < v72; v102 += 256) {
          const i64 v103 = v102 / 256ll;
          const i64 v104 = v102 % 256ll;
          const i64 v105 = v58 + v103;
          const i64 v106 = v60 + v104;
          const i64 v107 = v103 * 256ll;
          const i64 v108 = v107 + v104;
          const float v109 = *(b_tile_c_f32 + v108);
          const float v110 = 5e-1f * v109;
          const i64 v111 = v105 * d_n;
          const i64 v112 = v111 + v106;
          const u16 v113 = *(b_bias + v112);
          const float v114 = bf16_to_f32(v113);
          const float v115 = v110 + v114;
          const float v116 = fn_silu(v115);
          const u16 v117 = f32_to_bf16(v116);
          const i64 v118 = v105 + v10;
          const i64 v119 = v118 * d_n;
          const i64 v120 = v119 + v106;
          *(((u16*)b_out_peers.p[v41]) + v120) = v117;
          *(((u16*)b_out_peers.p[v43]) + v120) = v117;
          *(((u16*)b_out_peers.p[v45]) + v120) = v117;
          *(((u16*)b_out_peers.p[v47]) + v120) = v117;
        }
      } else {
        for (i64 v121 = threadIdx.x; v121 < v72; v121 += 256) {
          const i64 v122 = v121 / 256ll;
          const i64 v123 = v121 % 256ll;
          const i64 v124 = v58 + v122;
          const i64 v125 = v60 + v123;
          const i64 v126 = v122 * 256ll;
          const i64 v127 = v126 + v123;
          const float v128 = *(b_tile_c_f32 + v127);
          const float v129 = 5e-1f * v128;
          const i64 v130 = v124 * d_n;
          const i64 v131 = v130 + v125;
          const u16 v132 = *(b_bias + v131);
          const float v133 = bf16_to_f32(v132);
          const float v134 = v129 + v133;
          const float v135 = fn_silu(v134);
          const u16 v136 = f32_to_bf16(v135);
          const i64 v137 = v124 + v10;
          const i64 v138 = v137 * d_n;
          const i64 v139 = v138 + v125;
          *(((u16*)b_out_peers.p[v41]) + v139) = v136;
          *(((u16*)b_out_peers.p[v43]) + v139) = v136;
          *(((u16*)b_out_peers.p[v45]) + v139) = v136;
          *(((u16*)b_out_peers.p[v47]) + v139) = v136;
        }
      }
    } else {
      if (v79) {
        for (i64 v140 = threadIdx.x; v140 < v80; v140 += 256) {
          const i64 v141 = v140 * 8ll;
          const i64 v142 = v141 / v70;
          const i64 v143 = v141 % v70;
          const i64 v144 = v58 + v142;
          const i64 v145 = v60 + v143;
          const i64 v146 = v142 * 256ll;
          const i64 v147 = v146 + v143;
          const Vec<float, 8> v148 = load_vec<float, 8>(b_tile_c_f32 + v147);
          Vec<float, 8> v149;
          #pragma unroll
          for (int l = 0; l < 8; l++) v149.v[l] = v55.v[l] * v148.v[l];
          const i64 v150 = v144 * d_n;
          const i64 v151 = v150 + v145;
          const Vec<u16, 8> v152 = load_vec<u16, 8>(b_bias + v151);
          Vec<float, 8> v153;
          #pragma unroll
          for (int l = 0; l < 8; l++) v153.v[l] = bf16_to_f32(v152.v[l]);
          Vec<float, 8> v154;
          #pragma unroll
          for (int l = 0; l < 8; l++) v154.v[l] = v149.v[l] + v153.v[l];
          Vec<float, 8> v155;
          #pragma unroll
          for (int l = 0; l < 8; l++) v155.v[l] = fn_silu(v154.v[l]);
          Vec<u16, 8> v156;
          #pragma unroll
          for (int l = 0; l < 8; l++) v156.v[l] = f32_to_bf16(v155.v[l]);
          const i64 v157 = v144 + v10;
          const i64 v158 = v157 * d_n;
          const i64 v159 = v158 + v145;
          store_vec(((u16*)b_out_peers.p[v41]) + v159, v156);
          store_vec(((u16*)b_out_peers.p[v43]) + v159, v156);
          store_vec(((u16*)b_out_peers.p[v45]) + v159, v156);
          store_vec(((u16*)b_out_peers.p[v47]) + v159, v156);
        }
        for (i64 v160 = v81 + threadIdx.x; v160 < v73; v160 += 256) {
          const i64 v161 = v160 / v70;
          const i64 v162 = v160 % v70;
          const i64 v163 = v58 + v161;
          const i64 v164 = v60 + v162;
          const i64 v165 = v161 * 256ll;
          const i64 v166 = v165 + v162;
          const float v167 = *(b_tile_c_f32 + v166);
          const float v168 = 5e-1f * v167;
          const i64 v169 = v163 * d_n;
          const i64 v170 = v169 + v164;
          const u16 v171 = *(b_bias + v170);
          const float v172 = bf16_to_f32(v171);
          const float v173 = v168 + v172;
          const float v174 = fn_silu(v173);
          const u16 v175 = f32_to_bf16(v174);
          const i64 v176 = v163 + v10;
          const i64 v177 = v176 * d_n;
          const i64 v178 = v177 + v164;
          *(((u16*)b_out_peers.p[v41]) + v178) = v175;
          *(((u16*)b_out_peers.p[v43]) + v178) = v175;
          *(((u16*)b_out_peers.p[v45]) + v178) = v175;
          *(((u16*)b_out_peers.p[v47]) + v178) = v175;
        }
      } else {
        for (i64 v179 = threadIdx.x; v179 < v73; v179 += 256) {
          const i64 v180 = v179 / v70;
          const i64 v181 = v179 % v70;
          const i64 v182 = v58 + v180;
          const i64 v183 = v60 + v181;
          const i64 v184 = v180 * 256ll;
          const i64 v185 = v184 + v181;
          const float v186 = *(b_tile_c_f32 + v185);
          const float v187 = 5e-1f * v186;
          const i64 v188 = v182 * d_n;
          const i64 v189 = v188 + v183;
          const u16 v190 = *(b_bias + v189);
          const float v191 = bf16_to_f32(v190);
          const float v192 = v187 + v191;
          const float v193 = fn_silu(v192);
          const u16 v194 = f32_to_bf16(v193);
          const i64 v195 = v182 + v10;
          const i64 v196 = v195 * d_n;
          const i64 v197 = v196 + v183;
          *(((u16*)b_out_peers.p[v41]) + v197) = v194;
          *(((u16*)b_out_peers.p[v43]) + v197) = v194;
          *(((u16*)b_out_peers.p[v45]) + v197) = v194;
          *(((u16*)b_out_peers.p[v47]) + v197) = v194;
        }
      }
    }
    __syncthreads();
  }
  __syncthreads();
  const u32 v198 = *(b_epochs_now + 0ll);
  const u32 v199 = v198 + 1u;
  *(b_epochs_now + 0ll) = v199;
  if (threadIdx.x < 4) {
    const i64 v200 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v200]) + v15, v199);
  }
  if (threadIdx.x < 4) {
    const i64 v201 = threadIdx.x;
    const i64 v202 = v14 + v201;
    wait_acquire_sys(b_block_flags + v202, v199, watch, (u32)(v201), 4u, (u32)(v202), 5u);
  }
  __syncthreads();
  if (threadIdx.x < 1) {
    const i64 v203 = threadIdx.x;
    const u32 v204 = *(b_epochs_now + 0ll);
    *(b_epochs + (i64)blockIdx.x) = v204;
  }
}
