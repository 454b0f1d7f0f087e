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
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v2 = *(b_epochs + (i64)blockIdx.x);
  const i64 v5 = d_m / 4ll;
  const i64 v10 = (i64)rank * v5;
  const u32 v12 = (u32)1ll;
  const u32 v13 = v2 + v12;
  __syncthreads();
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
  const i64 v24 = v22 + 255ll;
  const i64 v25 = v24 / 256ll;
  const i64 v27 = v21 + 127ll;
  const i64 v28 = v27 / 128ll;
  const i64 v29 = v28 * v25;
  const i64 v33 = d_k + 63ll;
  const i64 v34 = v33 / 64ll;
  const bool v35 = 0ll < v34;
  const bool v36 = 1ll < v34;
  const i64 v38 = (i64)rank + 1ll;
  const i64 v39 = v38 + (i64)blockIdx.x;
  const i64 v40 = v39 % 4ll;
  const i64 v41 = v39 + 1ll;
  const i64 v42 = v41 % 4ll;
  const i64 v43 = v39 + 2ll;
  const i64 v44 = v43 % 4ll;
  const i64 v45 = v39 + 3ll;
  const i64 v46 = v45 % 4ll;
  const bool v48 = (u64)b_bias % 16 == 0;
  const bool v49 = (u64)b_out % 16 == 0;
  const bool v50 = v48 & v49;
  const i64 v51 = d_n % 8ll;
  const bool v52 = v51 == 0ll;
  const bool v53 = v50 & v52;
  Vec<float, 8> v54;
  #pragma unroll
  for (int l = 0; l < 8; l++) v54.v[l] = 5e-1f;
  for (i64 v55 = blockIdx.x; v55 < v29; v55 += gridDim.x) {
    const i64 v56 = v55 / v25;
    const i64 v57 = v56 * 128ll;
    const i64 v58 = v55 % v25;
    const i64 v59 = v58 * 256ll;
    #pragma unroll
    for (int l = 0; l < sizeof(b_accumulator_bf16) / sizeof(float); l++) b_accumulator_bf16[l] = 0.0f;
    if (v35) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 0ll * 9216, b_a, (d_m / 4ll), d_k, v57, 0ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 0ll * 16896, b_b, d_k, d_n, 0ll, v59);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (v36) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 1ll * 9216, b_a, (d_m / 4ll), d_k, v57, 64ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 1ll * 16896, b_b, d_k, d_n, 64ll, v59);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (i64 v60 = 0ll; v60 < v34; v60++) {
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      __syncthreads();
      const i64 v61 = v60 + 2ll;
      const bool v62 = v61 < v34;
      const i64 v63 = v61 * 64ll;
      const i64 v64 = v61 % 3ll;
      if (v62) {
        copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + v64 * 9216, b_a, (d_m / 4ll), d_k, v57, v63);
        copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + v64 * 16896, b_b, d_k, d_n, v63, v59);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      const i64 v65 = v60 % 3ll;
      mma_tile<0, 128, 256, 64, 72, 264, 256>(b_accumulator_bf16, b_tile_a_bf16 + v65 * 9216, b_tile_b_bf16 + v65 * 16896);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    store_mma16<128, 256, 256>(b_tile_c_f32, b_accumulator_bf16);
    __syncthreads();
    const i64 v66 = v5 - v57;
    const i64 v67 = 128ll < v66 ? 128ll : v66;
    const i64 v68 = d_n - v59;
    const i64 v69 = 256ll < v68 ? 256ll : v68;
    const bool v70 = v69 == 256ll;
    const i64 v71 = v67 * 256ll;
    const i64 v72 = v67 * v69;
    const i64 v73 = v71 / 8ll;
    const i64 v74 = v73 * 8ll;
    const i64 v75 = v69 % 8ll;
    const bool v76 = v75 == 0ll;
    const bool v77 = v50 & v76;
    const bool v78 = v77 & v52;
    const i64 v79 = v72 / 8ll;
    const i64 v80 = v79 * 8ll;
    if (v70) {
      if (v53) {
        for (i64 v81 = threadIdx.x; v81 < v73; v81 += 256) {
          const i64 v82 = v81 * 8ll;
          const i64 v83 = v82 / 256ll;
          const i64 v84 = v82 % 256ll;
          const i64 v85 = v57 + v83;
          const i64 v86 = v59 + v84;
          const i64 v87 = v83 * 256ll;
          const i64 v88 = v87 + v84;
          const Vec<float, 8> v89 = load_vec<float, 8>(b_tile_c_f32 + v88);
          Vec<float, 8> v90;
          #pragma unroll
          for (int l = 0; l < 8; l++) v90.v[l] = v54.v[l] * v89.v[l];
          const i64 v91 = v85 * d_n;
          const i64 v92 = v91 + v86;
          const Vec<u16, 8> v93 = load_vec<u16, 8>(b_bias + v92);
          Vec<float, 8> v94;
          #pragma unroll
          for (int l = 0; l < 8; l++) v94.v[l] = bf16_to_f32(v93.v[l]);
          Vec<float, 8> v95;
          #pragma unroll
          for (int l = 0; l < 8; l++) v95.v[l] = v90.v[l] + v94.v[l];
          Vec<float, 8> v96;
          #pragma unroll
          for (int l = 0; l < 8; l++) v96.v[l] = fn_silu(v95.v[l]);
          Vec<u16, 8> v97;
          #pragma unroll
          for (int l = 0; l < 8; l++) v97.v[l] = f32_to_bf16(v96.v[l]);
          const i64 v98 = v85 + v10;
          const i64 v99 = v98 * d_n;
          const i64 v100 = v99 + v86;
          store_vec(((u16*)b_out_peers.p[v40]) + v100, v97);
          store_vec(((u16*)b_out_peers.p[v42]) + v100, v97);
          store_vec(((u16*)b_out_peers.p[v44]) + v100, v97);
          store_vec(((u16*)b_out_peers.p[v46]) + v100, v97);
        }
        for (i64 v101 = v74 + threadIdx.x; v101 < v71; v101 += 256) {
          const i64 v102 = v101 / 256ll;
          const i64 v103 = v101 % 256ll;
          const i64 v104 = v57 + v102;
          const i64 v105 = v59 + v103;
          const i64 v106 = v102 * 256ll;
          const i64 v107 = v106 + v103;
          const float v108 = *(b_tile_c_f32 + v107);
          const float v109 = 5e-1f * v108;
          const i64 v110 = v104 * d_n;
          const i64 v111 = v110 + v105;
          const u16 v112 = *(b_bias + v111);
          const float v113 = bf16_to_f32(v112);
          const float v114 = v109 + v113;
          const float v115 = fn_silu(v114);
          const u16 v116 = f32_to_bf16(v115);
          const i64 v117 = v104 + v10;
          const i64 v118 = v117 * d_n;
          const i64 v119 = v118 + v105;
          *(((u16*)b_out_peers.p[v40]) + v119) = v116;
          *(((u16*)b_out_peers.p[v42]) + v119) = v116;
          *(((u16*)b_out_peers.p[v44]) + v119) = v116;
          *(((u16*)b_out_peers.p[v46]) + v119) = v116;
        }
      } else {
        for (i64 v120 = threadIdx.x; v120 < v71; v120 += 256) {
          const i64 v121 = v120 / 256ll;
          const i64 v122 = v120 % 256ll;
          const i64 v123 = v57 + v121;
          const i64 v124 = v59 + v122;
          const i64 v125 = v121 * 256ll;
          const i64 v126 = v125 + v122;
          const float v127 = *(b_tile_c_f32 + v126);
          const float v128 = 5e-1f * v127;
          const i64 v129 = v123 * d_n;
          const i64 v130 = v129 + v124;
          const u16 v131 = *(b_bias + v130);
          const float v132 = bf16_to_f32(v131);
          const float v133 = v128 + v132;
          const float v134 = fn_silu(v133);
          const u16 v135 = f32_to_bf16(v134);
          const i64 v136 = v123 + v10;
          const i64 v137 = v136 * d_n;
          const i64 v138 = v137 + v124;
          *(((u16*)b_out_peers.p[v40]) + v138) = v135;
          *(((u16*)b_out_peers.p[v42]) + v138) = v135;
          *(((u16*)b_out_peers.p[v44]) + v138) = v135;
          *(((u16*)b_out_peers.p[v46]) + v138) = v135;
        }
      }
    } else {
      if (v78) {
        for (i64 v139 = threadIdx.x; v139 < v79; v139 += 256) {
          const i64 v140 = v139 * 8ll;
          const i64 v141 = v140 / v69;
          const i64 v142 = v140 % v69;
          const i64 v143 = v57 + v141;
          const i64 v144 = v59 + v142;
          const i64 v145 = v141 * 256ll;
          const i64 v146 = v145 + v142;
          const Vec<float, 8> v147 = load_vec<float, 8>(b_tile_c_f32 + v146);
          Vec<float, 8> v148;
          #pragma unroll
          for (int l = 0; l < 8; l++) v148.v[l] = v54.v[l] * v147.v[l];
          const i64 v149 = v143 * d_n;
          const i64 v150 = v149 + v144;
          const Vec<u16, 8> v151 = load_vec<u16, 8>(b_bias + v150);
          Vec<float, 8> v152;
          #pragma unroll
          for (int l = 0; l < 8; l++) v152.v[l] = bf16_to_f32(v151.v[l]);
          Vec<float, 8> v153;
          #pragma unroll
          for (int l = 0; l < 8; l++) v153.v[l] = v148.v[l] + v152.v[l];
          Vec<float, 8> v154;
          #pragma unroll
          for (int l = 0; l < 8; l++) v154.v[l] = fn_silu(v153.v[l]);
          Vec<u16, 8> v155;
          #pragma unroll
          for (int l = 0; l < 8; l++) v155.v[l] = f32_to_bf16(v154.v[l]);
          const i64 v156 = v143 + v10;
          const i64 v157 = v156 * d_n;
          const i64 v158 = v157 + v144;
          store_vec(((u16*)b_out_peers.p[v40]) + v158, v155);
          store_vec(((u16*)b_out_peers.p[v42]) + v158, v155);
          store_vec(((u16*)b_out_peers.p[v44]) + v158, v155);
          store_vec(((u16*)b_out_peers.p[v46]) + v158, v155);
        }
        for (i64 v159 = v80 + threadIdx.x; v159 < v72; v159 += 256) {
          const i64 v160 = v159 / v69;
          const i64 v161 = v159 % v69;
          const i64 v162 = v57 + v160;
          const i64 v163 = v59 + v161;
          const i64 v164 = v160 * 256ll;
          const i64 v165 = v164 + v161;
          const float v166 = *(b_tile_c_f32 + v165);
          const float v167 = 5e-1f * v166;
          const i64 v168 = v162 * d_n;
          const i64 v169 = v168 + v163;
          const u16 v170 = *(b_bias + v169);
          const float v171 = bf16_to_f32(v170);
          const float v172 = v167 + v171;
          const float v173 = fn_silu(v172);
          const u16 v174 = f32_to_bf16(v173);
          const i64 v175 = v162 + v10;
          const i64 v176 = v175 * d_n;
          const i64 v177 = v176 + v163;
          *(((u16*)b_out_peers.p[v40]) + v177) = v174;
          *(((u16*)b_out_peers.p[v42]) + v177) = v174;
          *(((u16*)b_out_peers.p[v44]) + v177) = v174;
          *(((u16*)b_out_peers.p[v46]) + v177) = v174;
        }
      } else {
        for (i64 v178 = threadIdx.x; v178 < v72; v178 += 256) {
          const i64 v179 = v178 / v69;
          const i64 v180 = v178 % v69;
          const i64 v181 = v57 + v179;
          const i64 v182 = v59 + v180;
          const i64 v183 = v179 * 256ll;
          const i64 v184 = v183 + v180;
          const float v185 = *(b_tile_c_f32 + v184);
          const float v186 = 5e-1f * v185;
          const i64 v187 = v181 * d_n;
          const i64 v188 = v187 + v182;
          const u16 v189 = *(b_bias + v188);
          const float v190 = bf16_to_f32(v189);
          const float v191 = v186 + v190;
          const float v192 = fn_silu(v191);
          const u16 v193 = f32_to_bf16(v192);
          const i64 v194 = v181 + v10;
          const i64 v195 = v194 * d_n;
          const i64 v196 = v195 + v182;
          *(((u16*)b_out_peers.p[v40]) + v196) = v193;
          *(((u16*)b_out_peers.p[v42]) + v196) = v193;
          *(((u16*)b_out_peers.p[v44]) + v196) = v193;
          *(((u16*)b_out_peers.p[v46]) + v196) = v193;
        }
      }
    }
    __syncthreads();
  }
  const u32 v197 = (u32)2ll;
  const u32 v198 = v2 + v197;
  __syncthreads();
  if (threadIdx.x < 4) {
    const i64 v199 = threadIdx.x;
    signal_set_release_sys(((u32*)b_block_flags_peers.p[v199]) + v15, v198);
  }
  if (threadIdx.x < 4) {
    const i64 v200 = threadIdx.x;
    const i64 v201 = v14 + v200;
    wait_acquire_sys(b_block_flags + v201, v198, watch, (u32)(v200), 4u, (u32)(v201), 5u);
  }
  __syncthreads();
  if (threadIdx.x < 1) {
    const i64 v202 = threadIdx.x;
    *(b_epochs + (i64)blockIdx.x) = v198;
  }
}
