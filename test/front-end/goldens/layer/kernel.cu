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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status) {
  const Watch watch = {timeout, status, (u32)rank};
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  u16* const b_out = (u16*)b_out_peers.p[rank];
  u16* const b_tile_a_bf16 = (u16*)(shared_memory + 0);
  u16* const b_tile_b_bf16 = (u16*)(shared_memory + 55296);
  float b_accumulator_bf16[128];
  float* const b_tile_c_f32 = (float*)(shared_memory + 0);
  u32* const b_flags = (u32*)b_flags_peers.p[rank];
  u32 b_epoch[1];
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v4 = *(b_epochs + (i64)blockIdx.x);
  *(b_epoch + 0ll) = v4;
  const i64 v6 = d_m / 4ll;
  const i64 v11 = (i64)rank * v6;
  const u32 v12 = *(b_epoch + 0ll);
  const u32 v14 = v12 + 1u;
  *(b_epoch + 0ll) = v14;
  const i64 v15 = (i64)blockIdx.x * 4ll;
  const i64 v16 = v15 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v17 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v17]) + v16, v14);
  }
  if (threadIdx.x < 4) {
    const i64 v18 = threadIdx.x;
    const i64 v19 = v15 + v18;
    wait_acquire_sys(b_flags + v19, v14, watch, (u32)(v18), 4u, (u32)(v19), 5u);
  }
  __syncthreads();
  const i64 v22 = v6 > 0ll ? v6 : 0ll;
  const i64 v23 = d_n > 0ll ? d_n : 0ll;
  const i64 v26 = v23 + 255ll;
  const i64 v27 = v26 / 256ll;
  const i64 v29 = v22 + 127ll;
  const i64 v30 = v29 / 128ll;
  const i64 v31 = v30 * v27;
  const i64 v35 = d_k + 63ll;
  const i64 v36 = v35 / 64ll;
  const bool v37 = 0ll < v36;
  const bool v38 = 1ll < v36;
  const i64 v40 = (i64)rank + 1ll;
  const i64 v41 = v40 + (i64)blockIdx.x;
  const i64 v42 = v41 % 4ll;
  const i64 v43 = v41 + 1ll;
  const i64 v44 = v43 % 4ll;
  const i64 v45 = v41 + 2ll;
  const i64 v46 = v45 % 4ll;
  const i64 v47 = v41 + 3ll;
  const i64 v48 = v47 % 4ll;
  const bool v50 = (u64)b_bias % 16 == 0;
  const bool v51 = (u64)b_out % 16 == 0;
  const bool v52 = v50 & v51;
  const i64 v53 = d_n % 8ll;
  const bool v54 = v53 == 0ll;
  const bool v55 = v52 & v54;
  Vec<float, 8> v56;
  #pragma unroll
  for (int l = 0; l < 8; l++) v56.v[l] = 5e-1f;
  for (i64 v57 = blockIdx.x; v57 < v31; v57 += gridDim.x) {
    const i64 v58 = v57 / v27;
    const i64 v59 = v58 * 128ll;
    const i64 v60 = v57 % v27;
    const i64 v61 = v60 * 256ll;
    #pragma unroll
    for (int l = 0; l < sizeof(b_accumulator_bf16) / sizeof(float); l++) b_accumulator_bf16[l] = 0.0f;
    if (v37) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 0ll * 9216, b_a, (d_m / 4ll), d_k, v59, 0ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 0ll * 16896, b_b, d_k, d_n, 0ll, v61);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (v38) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 1ll * 9216, b_a, (d_m / 4ll), d_k, v59, 64ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 1ll * 16896, b_b, d_k, d_n, 64ll, v61);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (i64 v62 = 0ll; v62 < v36; v62++) {
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      __syncthreads();
      const i64 v63 = v62 + 2ll;
      const bool v64 = v63 < v36;
      const i64 v65 = v63 * 64ll;
      const i64 v66 = v63 % 3ll;
      if (v64) {
        copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + v66 * 9216, b_a, (d_m / 4ll), d_k, v59, v65);
        copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + v66 * 16896, b_b, d_k, d_n, v65, v61);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      const i64 v67 = v62 % 3ll;
      mma_tile<0, 128, 256, 64, 72, 264, 256>(b_accumulator_bf16, b_tile_a_bf16 + v67 * 9216, b_tile_b_bf16 + v67 * 16896);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    store_mma16<128, 256, 256>(b_tile_c_f32, b_accumulator_bf16);
    __syncthreads();
    const i64 v68 = v6 - v59;
    const i64 v69 = 128ll < v68 ? 128ll : v68;
    const i64 v70 = d_n - v61;
    const i64 v71 = 256ll < v70 ? 256ll : v70;
    const bool v72 = v71 == 256ll;
    const i64 v73 = v69 * 256ll;
    const i64 v74 = v69 * v71;
    const i64 v75 = v73 / 8ll;
    const i64 v76 = v75 * 8ll;
    const i64 v77 = v71 % 8ll;
    const bool v78 = v77 == 0ll;
    const bool v79 = v52 & v78;
    const bool v80 = v79 & v54;
    const i64 v81 = v74 / 8ll;
    const i64 v82 = v81 * 8ll;
    if (v72) {
      if (v55) {
        for (i64 v83 = threadIdx.x; v83 < v75; v83 += 256) {
          const i64 v84 = v83 * 8ll;
          const i64 v85 = v84 / 256ll;
          const i64 v86 = v84 % 256ll;
          const i64 v87 = v59 + v85;
          const i64 v88 = v61 + v86;
          const i64 v89 = v85 * 256ll;
          const i64 v90 = v89 + v86;
          const Vec<float, 8> v91 = load_vec<float, 8>(b_tile_c_f32 + v90);
          Vec<float, 8> v92;
          #pragma unroll
          for (int l = 0; l < 8; l++) v92.v[l] = v56.v[l] * v91.v[l];
          const i64 v93 = v87 * d_n;
          const i64 v94 = v93 + v88;
          const Vec<u16, 8> v95 = load_vec<u16, 8>(b_bias + v94);
          Vec<float, 8> v96;
          #pragma unroll
          for (int l = 0; l < 8; l++) v96.v[l] = bf16_to_f32(v95.v[l]);
          Vec<float, 8> v97;
          #pragma unroll
          for (int l = 0; l < 8; l++) v97.v[l] = v92.v[l] + v96.v[l];
          Vec<float, 8> v98;
          #pragma unroll
          for (int l = 0; l < 8; l++) v98.v[l] = fn_silu(v97.v[l]);
          Vec<u16, 8> v99;
          #pragma unroll
          for (int l = 0; l < 8; l++) v99.v[l] = f32_to_bf16(v98.v[l]);
          const i64 v100 = v87 + v11;
          const i64 v101 = v100 * d_n;
          const i64 v102 = v101 + v88;
          store_vec(((u16*)b_out_peers.p[v42]) + v102, v99);
          store_vec(((u16*)b_out_peers.p[v44]) + v102, v99);
          store_vec(((u16*)b_out_peers.p[v46]) + v102, v99);
          store_vec(((u16*)b_out_peers.p[v48]) + v102, v99);
        }
        for (i64 v103 = v76 + threadIdx.x; v103 < v73; v103 += 256) {
          const i64 v104 = v103 / 256ll;
          const i64 v105 = v103 % 256ll;
          const i64 v106 = v59 + v104;
          const i64 v107 = v61 + v105;
          const i64 v108 = v104 * 256ll;
          const i64 v109 = v108 + v105;
          const float v110 = *(b_tile_c_f32 + v109);
          const float v111 = 5e-1f * v110;
          const i64 v112 = v106 * d_n;
          const i64 v113 = v112 + v107;
          const u16 v114 = *(b_bias + v113);
          const float v115 = bf16_to_f32(v114);
          const float v116 = v111 + v115;
          const float v117 = fn_silu(v116);
          const u16 v118 = f32_to_bf16(v117);
          const i64 v119 = v106 + v11;
          const i64 v120 = v119 * d_n;
          const i64 v121 = v120 + v107;
          *(((u16*)b_out_peers.p[v42]) + v121) = v118;
          *(((u16*)b_out_peers.p[v44]) + v121) = v118;
          *(((u16*)b_out_peers.p[v46]) + v121) = v118;
          *(((u16*)b_out_peers.p[v48]) + v121) = v118;
        }
      } else {
        for (i64 v122 = threadIdx.x; v122 < v73; v122 += 256) {
          const i64 v123 = v122 / 256ll;
          const i64 v124 = v122 % 256ll;
          const i64 v125 = v59 + v123;
          const i64 v126 = v61 + v124;
          const i64 v127 = v123 * 256ll;
          const i64 v128 = v127 + v124;
          const float v129 = *(b_tile_c_f32 + v128);
          const float v130 = 5e-1f * v129;
          const i64 v131 = v125 * d_n;
          const i64 v132 = v131 + v126;
          const u16 v133 = *(b_bias + v132);
          const float v134 = bf16_to_f32(v133);
          const float v135 = v130 + v134;
          const float v136 = fn_silu(v135);
          const u16 v137 = f32_to_bf16(v136);
          const i64 v138 = v125 + v11;
          const i64 v139 = v138 * d_n;
          const i64 v140 = v139 + v126;
          *(((u16*)b_out_peers.p[v42]) + v140) = v137;
          *(((u16*)b_out_peers.p[v44]) + v140) = v137;
          *(((u16*)b_out_peers.p[v46]) + v140) = v137;
          *(((u16*)b_out_peers.p[v48]) + v140) = v137;
        }
      }
    } else {
      if (v80) {
        for (i64 v141 = threadIdx.x; v141 < v81; v141 += 256) {
          const i64 v142 = v141 * 8ll;
          const i64 v143 = v142 / v71;
          const i64 v144 = v142 % v71;
          const i64 v145 = v59 + v143;
          const i64 v146 = v61 + v144;
          const i64 v147 = v143 * 256ll;
          const i64 v148 = v147 + v144;
          const Vec<float, 8> v149 = load_vec<float, 8>(b_tile_c_f32 + v148);
          Vec<float, 8> v150;
          #pragma unroll
          for (int l = 0; l < 8; l++) v150.v[l] = v56.v[l] * v149.v[l];
          const i64 v151 = v145 * d_n;
          const i64 v152 = v151 + v146;
          const Vec<u16, 8> v153 = load_vec<u16, 8>(b_bias + v152);
          Vec<float, 8> v154;
          #pragma unroll
          for (int l = 0; l < 8; l++) v154.v[l] = bf16_to_f32(v153.v[l]);
          Vec<float, 8> v155;
          #pragma unroll
          for (int l = 0; l < 8; l++) v155.v[l] = v150.v[l] + v154.v[l];
          Vec<float, 8> v156;
          #pragma unroll
          for (int l = 0; l < 8; l++) v156.v[l] = fn_silu(v155.v[l]);
          Vec<u16, 8> v157;
          #pragma unroll
          for (int l = 0; l < 8; l++) v157.v[l] = f32_to_bf16(v156.v[l]);
          const i64 v158 = v145 + v11;
          const i64 v159 = v158 * d_n;
          const i64 v160 = v159 + v146;
          store_vec(((u16*)b_out_peers.p[v42]) + v160, v157);
          store_vec(((u16*)b_out_peers.p[v44]) + v160, v157);
          store_vec(((u16*)b_out_peers.p[v46]) + v160, v157);
          store_vec(((u16*)b_out_peers.p[v48]) + v160, v157);
        }
        for (i64 v161 = v82 + threadIdx.x; v161 < v74; v161 += 256) {
          const i64 v162 = v161 / v71;
          const i64 v163 = v161 % v71;
          const i64 v164 = v59 + v162;
          const i64 v165 = v61 + v163;
          const i64 v166 = v162 * 256ll;
          const i64 v167 = v166 + v163;
          const float v168 = *(b_tile_c_f32 + v167);
          const float v169 = 5e-1f * v168;
          const i64 v170 = v164 * d_n;
          const i64 v171 = v170 + v165;
          const u16 v172 = *(b_bias + v171);
          const float v173 = bf16_to_f32(v172);
          const float v174 = v169 + v173;
          const float v175 = fn_silu(v174);
          const u16 v176 = f32_to_bf16(v175);
          const i64 v177 = v164 + v11;
          const i64 v178 = v177 * d_n;
          const i64 v179 = v178 + v165;
          *(((u16*)b_out_peers.p[v42]) + v179) = v176;
          *(((u16*)b_out_peers.p[v44]) + v179) = v176;
          *(((u16*)b_out_peers.p[v46]) + v179) = v176;
          *(((u16*)b_out_peers.p[v48]) + v179) = v176;
        }
      } else {
        for (i64 v180 = threadIdx.x; v180 < v74; v180 += 256) {
          const i64 v181 = v180 / v71;
          const i64 v182 = v180 % v71;
          const i64 v183 = v59 + v181;
          const i64 v184 = v61 + v182;
          const i64 v185 = v181 * 256ll;
          const i64 v186 = v185 + v182;
          const float v187 = *(b_tile_c_f32 + v186);
          const float v188 = 5e-1f * v187;
          const i64 v189 = v183 * d_n;
          const i64 v190 = v189 + v184;
          const u16 v191 = *(b_bias + v190);
          const float v192 = bf16_to_f32(v191);
          const float v193 = v188 + v192;
          const float v194 = fn_silu(v193);
          const u16 v195 = f32_to_bf16(v194);
          const i64 v196 = v183 + v11;
          const i64 v197 = v196 * d_n;
          const i64 v198 = v197 + v184;
          *(((u16*)b_out_peers.p[v42]) + v198) = v195;
          *(((u16*)b_out_peers.p[v44]) + v198) = v195;
          *(((u16*)b_out_peers.p[v46]) + v198) = v195;
          *(((u16*)b_out_peers.p[v48]) + v198) = v195;
        }
      }
    }
    __syncthreads();
  }
  const u32 v199 = *(b_epoch + 0ll);
  const u32 v200 = v199 + 1u;
  *(b_epoch + 0ll) = v200;
  if (threadIdx.x < 4) {
    const i64 v201 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v201]) + v16, v200);
  }
  if (threadIdx.x < 4) {
    const i64 v202 = threadIdx.x;
    const i64 v203 = v15 + v202;
    wait_acquire_sys(b_flags + v203, v200, watch, (u32)(v202), 4u, (u32)(v203), 5u);
  }
  __syncthreads();
  if (threadIdx.x < 132) {
    const i64 v205 = threadIdx.x;
    const i64 v206 = v205 % (i64)gridDim.x;
    const bool v207 = v206 == (i64)blockIdx.x;
    if (v207) {
      const u32 v208 = *(b_epoch + 0ll);
      *(b_epochs + v205) = v208;
    }
  }
}
