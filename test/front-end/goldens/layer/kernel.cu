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
__device__ __forceinline__ void copy_tile(T* to, const T* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
  constexpr int PER = 16 / sizeof(T), ACROSS = COLS / PER;
  const bool wide = ((u64)from % 16 == 0) & (stride % PER == 0) & (cols % PER == 0) & (col % PER == 0);
  if (wide) {
#pragma unroll
    for (int i = 0; i < (ROWS * ACROSS + THREADS - 1) / THREADS; i++) {
      const int e = i * THREADS + threadIdx.x, r = e / ACROSS, c = e % ACROSS * PER;
      if (ROWS * ACROSS % THREADS != 0 && e >= ROWS * ACROSS) break;
      const bool inside = (row + r < rows) & (col + c < cols);
      const T* source = inside ? from + (row + r) * stride + col + c : from;
      const int bytes = inside ? 16 : 0; // the rest of the 16 is filled with zeros
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to + r * STRIDE + c)), "l"(source), "r"(bytes) : "memory");
    }
  } else {
    for (int e = threadIdx.x; e < ROWS * COLS; e += THREADS) {
      const int r = e / COLS, c = e % COLS;
      const bool inside = (row + r < rows) & (col + c < cols);
      to[r * STRIDE + c] = inside ? from[(row + r) * stride + col + c] : T(0);
    }
  }
}
__device__ __forceinline__ void load_matrix(u32* d, const u16* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void load_matrix_trans(u32* d, const u16* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(from)) : "memory");
}
template <int TYPE> __device__ __forceinline__ void mma_16816(float* d, const u32* a, const u32* b) {
  if constexpr (TYPE == 0)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <int TYPE, int M, int N, int K, int SA, int SB, int THREADS, bool TA, bool TB>
__device__ __forceinline__ void mma_tile(float* acc, const u16* a, const u16* b) {
  constexpr int WN = THREADS / 64, TM = M / 2, TN = N / WN, MI = TM / 16, NI = TN / 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = warp / WN * TM, col0 = warp % WN * TN;
#pragma unroll
  for (int k = 0; k < K; k += 16) {
    u32 af[MI][4], bf[NI][2];
#pragma unroll
    for (int i = 0; i < MI; i++) {
      if constexpr (TA)
        load_matrix_trans(af[i], a + (k + lane / 16 * 8 + lane % 8) * SA + row0 + i * 16 + lane / 8 % 2 * 8);
      else
        load_matrix(af[i], a + (row0 + i * 16 + lane % 16) * SA + k + lane / 16 * 8);
    }
#pragma unroll
    for (int j = 0; j < NI; j += 2) {
      if constexpr (TB)
        load_matrix(bf[j], b + (col0 + j * 8 + lane / 16 * 8 + lane % 8) * SB + k + lane / 8 % 2 * 8);
      else
        load_matrix_trans(bf[j], b + (k + lane % 16) * SB + col0 + j * 8 + lane / 16 * 8);
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
  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
  // layer.coll:5: out = gather(silu(hidden), to: 0)
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
  const i64 v45 = v43 + 127ll;
  const i64 v46 = v45 / 128ll;
  const i64 v47 = d_n > 0ll ? d_n : 0ll;
  const i64 v49 = v47 + 255ll;
  const i64 v50 = v49 / 256ll;
  const i64 v51 = v46 * v50;
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
    const i64 v67 = v66 % v50;
    const i64 v68 = v67 * 256ll;
    const i64 v69 = v66 / v50;
    const i64 v70 = v69 * 128ll;
    #pragma unroll
    for (int l = 0; l < sizeof(b_accumulator_bf16) / sizeof(float); l++) b_accumulator_bf16[l] = 0.0f;
    if (v56) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 0ll * 9216, b_a, d_k, (d_m / 4ll), d_k, v70, 0ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 0ll * 16896, b_b, d_n, d_k, d_n, 0ll, v68);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (v57) {
      copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + 1ll * 9216, b_a, d_k, (d_m / 4ll), d_k, v70, 64ll);
      copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + 1ll * 16896, b_b, d_n, d_k, d_n, 64ll, v68);
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
        copy_tile<u16, 128, 64, 72, 256>(b_tile_a_bf16 + v75 * 9216, b_a, d_k, (d_m / 4ll), d_k, v70, v74);
        copy_tile<u16, 64, 256, 264, 256>(b_tile_b_bf16 + v75 * 16896, b_b, d_n, d_k, d_n, v74, v68);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      const i64 v76 = v71 % 3ll;
      mma_tile<0, 128, 256, 64, 72, 264, 256, false, false>(b_accumulator_bf16, b_tile_a_bf16 + v76 * 9216, b_tile_b_bf16 + v76 * 16896);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    store_mma16<128, 256, 256>(b_tile_c_f32, b_accumulator_bf16);
    __syncthreads();
    const i64 v77 = v7 - v70;
    const i64 v78 = 128ll < v77 ? 128ll : v77;
    const i64 v79 = d_n - v68;
    const i64 v80 = 256ll < v79 ? 256ll : v79;
    const bool v81 = v80 == 256ll;
    const i64 v82 = v78 * 256ll;
    const i64 v83 = v78 * v80;
    const i64 v84 = v82 / 8ll;
    const i64 v85 = v80 % 8ll;
    const bool v86 = v85 == 0ll;
    const bool v87 = v61 & v86;
    const bool v88 = v87 & v63;
    const i64 v89 = v83 / 8ll;
    const i64 v90 = v89 * 8ll;
    if (v81) {
      if (v64) {
        for (i64 v91 = threadIdx.x; v91 < v84; v91 += 256) {
          const i64 v92 = v91 * 8ll;
          const i64 v93 = v92 / 256ll;
          const i64 v94 = v92 % 256ll;
          const i64 v95 = v68 + v94;
          const i64 v96 = v70 + v93;
          const i64 v97 = v96 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          const i64 v98 = v93 * 256ll;
          const i64 v99 = v98 + v94;
          const Vec<float, 8> v100 = load_vec<float, 8>(b_tile_c_f32 + v99);
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v101;
          #pragma unroll
          for (int l = 0; l < 8; l++) v101.v[l] = v65.v[l] * v100.v[l];
          const i64 v102 = v96 * d_n;
          const i64 v103 = v102 + v95;
          const Vec<u16, 8> v104 = load_vec<u16, 8>(b_bias + v103);
          Vec<float, 8> v105;
          #pragma unroll
          for (int l = 0; l < 8; l++) v105.v[l] = bf16_to_f32(v104.v[l]);
          Vec<float, 8> v106;
          #pragma unroll
          for (int l = 0; l < 8; l++) v106.v[l] = v101.v[l] + v105.v[l];
          Vec<float, 8> v107;
          #pragma unroll
          for (int l = 0; l < 8; l++) v107.v[l] = fn_silu(v106.v[l]);
          Vec<u16, 8> v108;
          #pragma unroll
          for (int l = 0; l < 8; l++) v108.v[l] = f32_to_bf16(v107.v[l]);
          const i64 v109 = v97 * d_n;
          const i64 v110 = v109 + v95;
          store_vec(((u16*)b_out_peers.p[0ll]) + v110, v108);
        }
      } else {
        for (i64 v111 = threadIdx.x; v111 < v82; v111 += 256) {
          const i64 v112 = v111 / 256ll;
          const i64 v113 = v111 % 256ll;
          const i64 v114 = v68 + v113;
          const i64 v115 = v70 + v112;
          const i64 v116 = v115 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          const i64 v117 = v112 * 256ll;
          const i64 v118 = v117 + v113;
          const float v119 = *(b_tile_c_f32 + v118);
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v120 = 5e-1f * v119;
          const i64 v121 = v115 * d_n;
          const i64 v122 = v121 + v114;
          const u16 v123 = *(b_bias + v122);
          const float v124 = bf16_to_f32(v123);
          const float v125 = v120 + v124;
          const float v126 = fn_silu(v125);
          const u16 v127 = f32_to_bf16(v126);
          const i64 v128 = v116 * d_n;
          const i64 v129 = v128 + v114;
          *(((u16*)b_out_peers.p[0ll]) + v129) = v127;
        }
      }
    } else {
      if (v88) {
        for (i64 v130 = threadIdx.x; v130 < v89; v130 += 256) {
          const i64 v131 = v130 * 8ll;
          const i64 v132 = v131 / v80;
          const i64 v133 = v131 % v80;
          const i64 v134 = v68 + v133;
          const i64 v135 = v70 + v132;
          const i64 v136 = v135 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          const i64 v137 = v132 * 256ll;
          const i64 v138 = v137 + v133;
          const Vec<float, 8> v139 = load_vec<float, 8>(b_tile_c_f32 + v138);
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v140;
          #pragma unroll
          for (int l = 0; l < 8; l++) v140.v[l] = v65.v[l] * v139.v[l];
          const i64 v141 = v135 * d_n;
          const i64 v142 = v141 + v134;
          const Vec<u16, 8> v143 = load_vec<u16, 8>(b_bias + v142);
          Vec<float, 8> v144;
          #pragma unroll
          for (int l = 0; l < 8; l++) v144.v[l] = bf16_to_f32(v143.v[l]);
          Vec<float, 8> v145;
          #pragma unroll
          for (int l = 0; l < 8; l++) v145.v[l] = v140.v[l] + v144.v[l];
          Vec<float, 8> v146;
          #pragma unroll
          for (int l = 0; l < 8; l++) v146.v[l] = fn_silu(v145.v[l]);
          Vec<u16, 8> v147;
          #pragma unroll
          for (int l = 0; l < 8; l++) v147.v[l] = f32_to_bf16(v146.v[l]);
          const i64 v148 = v136 * d_n;
          const i64 v149 = v148 + v134;
          store_vec(((u16*)b_out_peers.p[0ll]) + v149, v147);
        }
        for (i64 v150 = v90 + threadIdx.x; v150 < v83; v150 += 256) {
          const i64 v151 = v150 / v80;
          const i64 v152 = v150 % v80;
          const i64 v153 = v68 + v152;
          const i64 v154 = v70 + v151;
          const i64 v155 = v154 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          const i64 v156 = v151 * 256ll;
          const i64 v157 = v156 + v152;
          const float v158 = *(b_tile_c_f32 + v157);
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v159 = 5e-1f * v158;
          const i64 v160 = v154 * d_n;
          const i64 v161 = v160 + v153;
          const u16 v162 = *(b_bias + v161);
          const float v163 = bf16_to_f32(v162);
          const float v164 = v159 + v163;
          const float v165 = fn_silu(v164);
          const u16 v166 = f32_to_bf16(v165);
          const i64 v167 = v155 * d_n;
          const i64 v168 = v167 + v153;
          *(((u16*)b_out_peers.p[0ll]) + v168) = v166;
        }
      } else {
        for (i64 v169 = threadIdx.x; v169 < v83; v169 += 256) {
          const i64 v170 = v169 / v80;
          const i64 v171 = v169 % v80;
          const i64 v172 = v68 + v171;
          const i64 v173 = v70 + v170;
          const i64 v174 = v173 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          const i64 v175 = v170 * 256ll;
          const i64 v176 = v175 + v171;
          const float v177 = *(b_tile_c_f32 + v176);
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v178 = 5e-1f * v177;
          const i64 v179 = v173 * d_n;
          const i64 v180 = v179 + v172;
          const u16 v181 = *(b_bias + v180);
          const float v182 = bf16_to_f32(v181);
          const float v183 = v178 + v182;
          const float v184 = fn_silu(v183);
          const u16 v185 = f32_to_bf16(v184);
          const i64 v186 = v174 * d_n;
          const i64 v187 = v186 + v172;
          *(((u16*)b_out_peers.p[0ll]) + v187) = v185;
        }
      }
    }
    __syncthreads();
  }
  const u32 v188 = *(b_epoch + 0ll);
  const u32 v189 = v188 + 1u;
  *(b_epoch + 0ll) = v189;
  if (threadIdx.x < 4) {
    const i64 v190 = threadIdx.x;
    const bool v191 = v190 == 0ll;
    const bool v192 = v30 & v191;
    const bool v193 = v31 & v191;
    const bool v194 = v32 & v191;
    const bool v195 = v192 | v193;
    const bool v196 = v195 | v194;
    if (v196) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v190]) + v20, v189);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v197 = threadIdx.x;
    const bool v198 = v197 == 1ll;
    const bool v199 = v16 & v198;
    const bool v200 = v197 == 2ll;
    const bool v201 = v16 & v200;
    const bool v202 = v197 == 3ll;
    const bool v203 = v16 & v202;
    const bool v204 = v199 | v201;
    const bool v205 = v204 | v203;
    const i64 v206 = v15 + v197;
    if (v205) {
      wait_acquire_sys(b_flags + v206, v189, watch, (u32)(v197), 4u, (u32)(v206), 5u);
    }
  }
  __syncthreads();
  if (threadIdx.x < 132) {
    const i64 v208 = threadIdx.x;
    const i64 v209 = v208 % (i64)gridDim.x;
    const bool v210 = v209 == (i64)blockIdx.x;
    if (v210) {
      const u32 v211 = *(b_epoch + 0ll);
      *(b_epochs + v208) = v211;
    }
  }
}
