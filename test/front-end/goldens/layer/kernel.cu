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
__device__ __forceinline__ float fn_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
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
  const i64 v7 = d_m / 4ll;
  const i64 v8 = (i64)rank * v7;
  const u32 v12 = *(b_epoch + 0ll);
  const u32 v14 = v12 + 1u;
  *(b_epoch + 0ll) = v14;
  const i64 v15 = (i64)blockIdx.x * 4ll;
  const bool v16 = (i64)rank == 0ll;
  const i64 v20 = v15 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v21 = threadIdx.x;
    const bool v22 = v21 == 1ll;
    const bool v23 = v16 & v22;
    const bool v24 = v21 == 2ll;
    const bool v25 = v16 & v24;
    const bool v26 = v21 == 3ll;
    const bool v27 = v16 & v26;
    const bool v28 = v23 | v25;
    const bool v29 = v28 | v27;
    if (v29) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v21]) + v20, v14);
    }
  }
  const bool v30 = (i64)rank == 1ll;
  const bool v31 = (i64)rank == 2ll;
  const bool v32 = (i64)rank == 3ll;
  if (threadIdx.x < 4) {
    const i64 v33 = threadIdx.x;
    const bool v34 = v33 == 0ll;
    const bool v35 = v30 & v34;
    const bool v36 = v31 & v34;
    const bool v37 = v32 & v34;
    const bool v38 = v35 | v36;
    const bool v39 = v38 | v37;
    const i64 v40 = v15 + v33;
    if (v39) {
      wait_acquire_sys(b_flags + v40, v14, watch, (u32)(v33), 4u, (u32)(v40), 5u);
    }
  }
  __syncthreads();
  const i64 v43 = v7 > 0ll ? v7 : 0ll;
  const i64 v44 = d_n > 0ll ? d_n : 0ll;
  const i64 v46 = v44 + 255ll;
  const i64 v47 = v46 / 256ll;
  const i64 v49 = v43 + 127ll;
  const i64 v50 = v49 / 128ll;
  const i64 v51 = v50 * v47;
  const i64 v54 = d_k + 63ll;
  const i64 v55 = v54 / 64ll;
  const bool v56 = 0ll < v55;
  const bool v57 = 1ll < v55;
  const bool v59 = (u64)b_bias % 16 == 0;
  const bool v60 = (u64)b_out % 16 == 0;
  const bool v61 = v59 & v60;
  const i64 v62 = d_n % 8ll;
  const bool v63 = v62 == 0ll;
  const bool v64 = v61 & v63;
  Vec<float, 8> v65;
  #pragma unroll
  for (int l = 0; l < 8; l++) v65.v[l] = 5e-1f;
  for (i64 v66 = blockIdx.x; v66 < v51; v66 += gridDim.x) {
    const i64 v67 = v66 / v47;
    const i64 v68 = v67 * 128ll;
    const i64 v69 = v66 % v47;
    const i64 v70 = v69 * 256ll;
    #pragma unroll
    for (int l = 0; l < sizeof(b_accumulator_bf16) / sizeof(float); l++) b_accumulator_bf16[l] = 0.0f;
    if (v56) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 0ll * 9216, b_a, (d_m / 4ll), d_k, v68, 0ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 0ll * 16896, b_b, d_k, d_n, 0ll, v70);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (v57) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 1ll * 9216, b_a, (d_m / 4ll), d_k, v68, 64ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 1ll * 16896, b_b, d_k, d_n, 64ll, v70);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (i64 v71 = 0ll; v71 < v55; v71++) {
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      __syncthreads();
      const i64 v72 = v71 + 2ll;
      const bool v73 = v72 < v55;
      const i64 v74 = v72 * 64ll;
      const i64 v75 = v72 % 3ll;
      if (v73) {
        copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + v75 * 9216, b_a, (d_m / 4ll), d_k, v68, v74);
        copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + v75 * 16896, b_b, d_k, d_n, v74, v70);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      const i64 v76 = v71 % 3ll;
      mma_tile<0, 128, 256, 64, 72, 264, 256>(b_accumulator_bf16, b_tile_a_bf16 + v76 * 9216, b_tile_b_bf16 + v76 * 16896);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    store_mma16<128, 256, 256>(b_tile_c_f32, b_accumulator_bf16);
    __syncthreads();
    const i64 v77 = v7 - v68;
    const i64 v78 = 128ll < v77 ? 128ll : v77;
    const i64 v79 = d_n - v70;
    const i64 v80 = 256ll < v79 ? 256ll : v79;
    const bool v81 = v80 == 256ll;
    const i64 v82 = v78 * 256ll;
    const i64 v83 = v78 * v80;
    const i64 v84 = v82 / 8ll;
    const i64 v85 = v84 * 8ll;
    const i64 v86 = v80 % 8ll;
    const bool v87 = v86 == 0ll;
    const bool v88 = v61 & v87;
    const bool v89 = v88 & v63;
    const i64 v90 = v83 / 8ll;
    const i64 v91 = v90 * 8ll;
    if (v81) {
      if (v64) {
        for (i64 v92 = threadIdx.x; v92 < v84; v92 += 256) {
          const i64 v93 = v92 * 8ll;
          const i64 v94 = v93 / 256ll;
          const i64 v95 = v93 % 256ll;
          const i64 v96 = v68 + v94;
          const i64 v97 = v70 + v95;
          const i64 v98 = v96 + v8;
          const i64 v99 = v94 * 256ll;
          const i64 v100 = v99 + v95;
          const Vec<float, 8> v101 = load_vec<float, 8>(b_tile_c_f32 + v100);
          Vec<float, 8> v102;
          #pragma unroll
          for (int l = 0; l < 8; l++) v102.v[l] = v65.v[l] * v101.v[l];
          const i64 v103 = v96 * d_n;
          const i64 v104 = v103 + v97;
          const Vec<u16, 8> v105 = load_vec<u16, 8>(b_bias + v104);
          Vec<float, 8> v106;
          #pragma unroll
          for (int l = 0; l < 8; l++) v106.v[l] = bf16_to_f32(v105.v[l]);
          Vec<float, 8> v107;
          #pragma unroll
          for (int l = 0; l < 8; l++) v107.v[l] = v102.v[l] + v106.v[l];
          Vec<float, 8> v108;
          #pragma unroll
          for (int l = 0; l < 8; l++) v108.v[l] = fn_silu(v107.v[l]);
          Vec<u16, 8> v109;
          #pragma unroll
          for (int l = 0; l < 8; l++) v109.v[l] = f32_to_bf16(v108.v[l]);
          const i64 v110 = v98 * d_n;
          const i64 v111 = v110 + v97;
          store_vec(((u16*)b_out_peers.p[0ll]) + v111, v109);
        }
        for (i64 v112 = v85 + threadIdx.x; v112 < v82; v112 += 256) {
          const i64 v113 = v112 / 256ll;
          const i64 v114 = v112 % 256ll;
          const i64 v115 = v68 + v113;
          const i64 v116 = v70 + v114;
          const i64 v117 = v115 + v8;
          const i64 v118 = v113 * 256ll;
          const i64 v119 = v118 + v114;
          const float v120 = *(b_tile_c_f32 + v119);
          const float v121 = 5e-1f * v120;
          const i64 v122 = v115 * d_n;
          const i64 v123 = v122 + v116;
          const u16 v124 = *(b_bias + v123);
          const float v125 = bf16_to_f32(v124);
          const float v126 = v121 + v125;
          const float v127 = fn_silu(v126);
          const u16 v128 = f32_to_bf16(v127);
          const i64 v129 = v117 * d_n;
          const i64 v130 = v129 + v116;
          *(((u16*)b_out_peers.p[0ll]) + v130) = v128;
        }
      } else {
        for (i64 v131 = threadIdx.x; v131 < v82; v131 += 256) {
          const i64 v132 = v131 / 256ll;
          const i64 v133 = v131 % 256ll;
          const i64 v134 = v68 + v132;
          const i64 v135 = v70 + v133;
          const i64 v136 = v134 + v8;
          const i64 v137 = v132 * 256ll;
          const i64 v138 = v137 + v133;
          const float v139 = *(b_tile_c_f32 + v138);
          const float v140 = 5e-1f * v139;
          const i64 v141 = v134 * d_n;
          const i64 v142 = v141 + v135;
          const u16 v143 = *(b_bias + v142);
          const float v144 = bf16_to_f32(v143);
          const float v145 = v140 + v144;
          const float v146 = fn_silu(v145);
          const u16 v147 = f32_to_bf16(v146);
          const i64 v148 = v136 * d_n;
          const i64 v149 = v148 + v135;
          *(((u16*)b_out_peers.p[0ll]) + v149) = v147;
        }
      }
    } else {
      if (v89) {
        for (i64 v150 = threadIdx.x; v150 < v90; v150 += 256) {
          const i64 v151 = v150 * 8ll;
          const i64 v152 = v151 / v80;
          const i64 v153 = v151 % v80;
          const i64 v154 = v68 + v152;
          const i64 v155 = v70 + v153;
          const i64 v156 = v154 + v8;
          const i64 v157 = v152 * 256ll;
          const i64 v158 = v157 + v153;
          const Vec<float, 8> v159 = load_vec<float, 8>(b_tile_c_f32 + v158);
          Vec<float, 8> v160;
          #pragma unroll
          for (int l = 0; l < 8; l++) v160.v[l] = v65.v[l] * v159.v[l];
          const i64 v161 = v154 * d_n;
          const i64 v162 = v161 + v155;
          const Vec<u16, 8> v163 = load_vec<u16, 8>(b_bias + v162);
          Vec<float, 8> v164;
          #pragma unroll
          for (int l = 0; l < 8; l++) v164.v[l] = bf16_to_f32(v163.v[l]);
          Vec<float, 8> v165;
          #pragma unroll
          for (int l = 0; l < 8; l++) v165.v[l] = v160.v[l] + v164.v[l];
          Vec<float, 8> v166;
          #pragma unroll
          for (int l = 0; l < 8; l++) v166.v[l] = fn_silu(v165.v[l]);
          Vec<u16, 8> v167;
          #pragma unroll
          for (int l = 0; l < 8; l++) v167.v[l] = f32_to_bf16(v166.v[l]);
          const i64 v168 = v156 * d_n;
          const i64 v169 = v168 + v155;
          store_vec(((u16*)b_out_peers.p[0ll]) + v169, v167);
        }
        for (i64 v170 = v91 + threadIdx.x; v170 < v83; v170 += 256) {
          const i64 v171 = v170 / v80;
          const i64 v172 = v170 % v80;
          const i64 v173 = v68 + v171;
          const i64 v174 = v70 + v172;
          const i64 v175 = v173 + v8;
          const i64 v176 = v171 * 256ll;
          const i64 v177 = v176 + v172;
          const float v178 = *(b_tile_c_f32 + v177);
          const float v179 = 5e-1f * v178;
          const i64 v180 = v173 * d_n;
          const i64 v181 = v180 + v174;
          const u16 v182 = *(b_bias + v181);
          const float v183 = bf16_to_f32(v182);
          const float v184 = v179 + v183;
          const float v185 = fn_silu(v184);
          const u16 v186 = f32_to_bf16(v185);
          const i64 v187 = v175 * d_n;
          const i64 v188 = v187 + v174;
          *(((u16*)b_out_peers.p[0ll]) + v188) = v186;
        }
      } else {
        for (i64 v189 = threadIdx.x; v189 < v83; v189 += 256) {
          const i64 v190 = v189 / v80;
          const i64 v191 = v189 % v80;
          const i64 v192 = v68 + v190;
          const i64 v193 = v70 + v191;
          const i64 v194 = v192 + v8;
          const i64 v195 = v190 * 256ll;
          const i64 v196 = v195 + v191;
          const float v197 = *(b_tile_c_f32 + v196);
          const float v198 = 5e-1f * v197;
          const i64 v199 = v192 * d_n;
          const i64 v200 = v199 + v193;
          const u16 v201 = *(b_bias + v200);
          const float v202 = bf16_to_f32(v201);
          const float v203 = v198 + v202;
          const float v204 = fn_silu(v203);
          const u16 v205 = f32_to_bf16(v204);
          const i64 v206 = v194 * d_n;
          const i64 v207 = v206 + v193;
          *(((u16*)b_out_peers.p[0ll]) + v207) = v205;
        }
      }
    }
    __syncthreads();
  }
  const u32 v208 = *(b_epoch + 0ll);
  const u32 v209 = v208 + 1u;
  *(b_epoch + 0ll) = v209;
  if (threadIdx.x < 4) {
    const i64 v210 = threadIdx.x;
    const bool v211 = v210 == 0ll;
    const bool v212 = v30 & v211;
    const bool v213 = v31 & v211;
    const bool v214 = v32 & v211;
    const bool v215 = v212 | v213;
    const bool v216 = v215 | v214;
    if (v216) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v210]) + v20, v209);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v217 = threadIdx.x;
    const bool v218 = v217 == 1ll;
    const bool v219 = v16 & v218;
    const bool v220 = v217 == 2ll;
    const bool v221 = v16 & v220;
    const bool v222 = v217 == 3ll;
    const bool v223 = v16 & v222;
    const bool v224 = v219 | v221;
    const bool v225 = v224 | v223;
    const i64 v226 = v15 + v217;
    if (v225) {
      wait_acquire_sys(b_flags + v226, v209, watch, (u32)(v217), 4u, (u32)(v226), 5u);
    }
  }
  __syncthreads();
  if (threadIdx.x < 132) {
    const i64 v228 = threadIdx.x;
    const i64 v229 = v228 % (i64)gridDim.x;
    const bool v230 = v229 == (i64)blockIdx.x;
    if (v230) {
      const u32 v231 = *(b_epoch + 0ll);
      *(b_epochs + v228) = v231;
    }
  }
}
