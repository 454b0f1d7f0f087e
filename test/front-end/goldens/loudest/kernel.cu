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
coll_loudest_w4_bf16(u16* b_samples, float* b_peak, const __grid_constant__ Peers<4> b_own_peers, const __grid_constant__ Peers<4> b_own_odd_peers, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, u32* b_launches, const i64 d_rows, const i64 d_columns, const int rank, const u64 timeout, u32* const status) {
  const Watch watch = {timeout, status, (u32)rank};
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  float* const b_own = (float*)b_own_peers.p[rank];
  float* const b_own_odd = (float*)b_own_odd_peers.p[rank];
  float* const b_parts_f32 = (float*)(shared_memory + 0);
  float* const b_fewer_parts_f32 = (float*)(shared_memory + 8192);
  u32* const b_flags = (u32*)b_flags_peers.p[rank];
  u32 b_epoch[1];
  // loudest.coll:5: for r in tiles(rows) {
  const u32 v4 = *(b_epochs + (i64)blockIdx.x);
  *(b_epoch + 0ll) = v4;
  const u32 v5 = *(b_launches + (i64)blockIdx.x);
  const i64 v7 = (i64)v5;
  const i64 v8 = v7 % 2ll;
  const u32 v10 = v5 + 1u;
  const bool v11 = v8 != 0ll;
  // loudest.coll:6: own[r] = max(c in 0..columns) abs(samples[r, c])
  const i64 v15 = d_rows > 0ll ? d_rows : 0ll;
  const i64 v17 = 1ll > d_columns ? 1ll : d_columns;
  const i64 v18 = v17 > v17 ? v17 : v17;
  const i64 v20 = v18 + 3ll;
  const i64 v21 = v20 / 4ll;
  const i64 v22 = v21 * 4ll;
  const i64 v23 = d_columns > 0ll ? d_columns : 0ll;
  const i64 v26 = v23 + 15ll;
  const i64 v27 = v26 / 16ll;
  const i64 v28 = v27 - 1ll;
  const i64 v29 = v27 + 15ll;
  const i64 v30 = v29 / 16ll;
  const i64 v31 = v30 - 1ll;
  const i64 v32 = v23 + 3ll;
  const i64 v33 = v32 / 4ll;
  const i64 v34 = v33 * 4ll;
  const i64 v35 = v34 > 4ll ? v34 : 4ll;
  const i64 v36 = v35 < 2048ll ? v35 : 2048ll;
  const i64 v37 = v36 + 15ll;
  const i64 v38 = v37 / 16ll;
  const i64 v39 = v38 - 1ll;
  const i64 v40 = v38 + 15ll;
  const i64 v41 = v40 / 16ll;
  const i64 v42 = v41 - 1ll;
  const bool v43 = (u64)b_samples % 8 == 0;
  const i64 v44 = v23 % 4ll;
  const bool v45 = v44 == 0ll;
  const bool v46 = v43 & v45;
  const i64 v47 = d_columns % 4ll;
  const bool v48 = v47 == 0ll;
  const bool v49 = v46 & v48;
  const i64 v50 = v36 % 4ll;
  const bool v51 = v50 == 0ll;
  const i64 v52 = v36 / 4ll;
  if (v11) {
    const i64 v53 = 2048ll / v22;
    const i64 v54 = 1ll > v53 ? 1ll : v53;
    const bool v55 = v54 > 1ll;
    const i64 v56 = v54 - 1ll;
    const i64 v57 = v15 + v56;
    if (v55) {
      const i64 v58 = v57 / v54;
      for (i64 v59 = blockIdx.x; v59 < v58; v59 += gridDim.x) {
        const i64 v60 = v59 * v54;
        const i64 v61 = v15 - v60;
        const i64 v62 = v54 < v61 ? v54 : v61;
        const i64 v63 = v62 * v23;
        const i64 v64 = v63 / 4ll;
        const i64 v65 = v64 * 4ll;
        if (v49) {
          #pragma unroll 1
          for (i64 v66 = threadIdx.x; v66 < v64; v66 += 512) {
            const i64 v67 = v66 * 4ll;
            const i64 v68 = v67 / v23;
            const i64 v69 = v67 % v23;
            const i64 v70 = v60 + v68;
            const i64 v71 = v70 * d_columns;
            const i64 v72 = v71 + v69;
            const Vec<u16, 4> v73 = load_vec<u16, 4>(b_samples + v72);
            Vec<float, 4> v74;
            #pragma unroll
            for (int l = 0; l < 4; l++) v74.v[l] = bf16_to_f32(v73.v[l]);
            Vec<float, 4> v75;
            #pragma unroll
            for (int l = 0; l < 4; l++) v75.v[l] = fabsf(v74.v[l]);
            store_vec(b_parts_f32 + v67, v75);
          }
          #pragma unroll 1
          for (i64 v76 = v65 + threadIdx.x; v76 < v63; v76 += 512) {
            const i64 v77 = v76 / v23;
            const i64 v78 = v76 % v23;
            const i64 v79 = v60 + v77;
            const i64 v80 = v79 * d_columns;
            const i64 v81 = v80 + v78;
            const u16 v82 = *(b_samples + v81);
            const float v83 = bf16_to_f32(v82);
            const float v84 = fabsf(v83);
            *(b_parts_f32 + v76) = v84;
          }
        } else {
          #pragma unroll 1
          for (i64 v85 = threadIdx.x; v85 < v63; v85 += 512) {
            const i64 v86 = v85 / v23;
            const i64 v87 = v85 % v23;
            const i64 v88 = v60 + v86;
            const i64 v89 = v88 * d_columns;
            const i64 v90 = v89 + v87;
            const u16 v91 = *(b_samples + v90);
            const float v92 = bf16_to_f32(v91);
            const float v93 = fabsf(v92);
            *(b_parts_f32 + v85) = v93;
          }
        }
        __syncthreads();
        const i64 v94 = v62 * v27;
        #pragma unroll 1
        for (i64 v95 = threadIdx.x; v95 < v94; v95 += 512) {
          const i64 v96 = v95 / v27;
          const i64 v97 = v95 % v27;
          const i64 v98 = v96 * v23;
          const i64 v99 = v98 + v97;
          const i64 v100 = v23 - v97;
          const i64 v101 = v100 + v28;
          const i64 v102 = v101 / v27;
          float v104;
          v104 = __uint_as_float(0xff800000u);
          for (i64 v103 = 0ll; v103 < v102; v103++) {
            const i64 v105 = v103 * v27;
            const i64 v106 = v99 + v105;
            const float v107 = *(b_parts_f32 + v106);
            v104 = fmaxf(v104, v107);
          }
          *(b_fewer_parts_f32 + v95) = v104;
        }
        __syncthreads();
        const i64 v108 = v62 * v30;
        #pragma unroll 1
        for (i64 v109 = threadIdx.x; v109 < v108; v109 += 512) {
          const i64 v110 = v109 / v30;
          const i64 v111 = v109 % v30;
          const i64 v112 = v110 * v27;
          const i64 v113 = v112 + v111;
          const i64 v114 = v27 - v111;
          const i64 v115 = v114 + v31;
          const i64 v116 = v115 / v30;
          float v118;
          v118 = __uint_as_float(0xff800000u);
          for (i64 v117 = 0ll; v117 < v116; v117++) {
            const i64 v119 = v117 * v30;
            const i64 v120 = v113 + v119;
            const float v121 = *(b_fewer_parts_f32 + v120);
            v118 = fmaxf(v118, v121);
          }
          *(b_parts_f32 + v109) = v118;
        }
        __syncthreads();
        #pragma unroll 1
        for (i64 v122 = threadIdx.x; v122 < v62; v122 += 512) {
          const i64 v123 = v60 + v122;
          const i64 v124 = v122 * v30;
          float v126;
          v126 = __uint_as_float(0xff800000u);
          for (i64 v125 = 0ll; v125 < v30; v125++) {
            const i64 v127 = v124 + v125;
            const float v128 = *(b_parts_f32 + v127);
            v126 = fmaxf(v126, v128);
          }
          *(b_own_odd + v123) = v126;
        }
        __syncthreads();
      }
    } else {
      for (i64 v129 = blockIdx.x; v129 < v15; v129 += gridDim.x) {
        const i64 v130 = v23 / v36;
        const i64 v131 = v130 / 4ll;
        const i64 v132 = v129 * d_columns;
        const i64 v133 = v131 * 4ll;
        const i64 v134 = v130 - v133;
        const i64 v135 = v134 / 2ll;
        const i64 v136 = v135 * 2ll;
        const i64 v137 = v133 + v136;
        const i64 v138 = v130 - v137;
        const i64 v139 = v132 % 4ll;
        const bool v140 = v139 == 0ll;
        const bool v141 = v43 & v140;
        const bool v142 = v141 & v51;
        if (v142) {
          #pragma unroll 1
          for (i64 v143 = threadIdx.x; v143 < v52; v143 += 512) {
            const i64 v144 = v143 * 4ll;
            Vec<float, 4> v146;
            for (int l = 0; l < 4; l++) v146.v[l] = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v145 = 0ll; v145 < v131; v145++) {
              const i64 v147 = v145 * 4ll;
              const i64 v148 = v147 * v36;
              const i64 v149 = v148 + v144;
              const i64 v150 = v147 + 1ll;
              const i64 v151 = v150 * v36;
              const i64 v152 = v151 + v144;
              const i64 v153 = v147 + 2ll;
              const i64 v154 = v153 * v36;
              const i64 v155 = v154 + v144;
              const i64 v156 = v147 + 3ll;
              const i64 v157 = v156 * v36;
              const i64 v158 = v157 + v144;
              const i64 v159 = v132 + v149;
              const Vec<u16, 4> v160 = load_vec<u16, 4>(b_samples + v159);
              const i64 v161 = v132 + v152;
              const Vec<u16, 4> v162 = load_vec<u16, 4>(b_samples + v161);
              const i64 v163 = v132 + v155;
              const Vec<u16, 4> v164 = load_vec<u16, 4>(b_samples + v163);
              const i64 v165 = v132 + v158;
              const Vec<u16, 4> v166 = load_vec<u16, 4>(b_samples + v165);
              Vec<float, 4> v167;
              #pragma unroll
              for (int l = 0; l < 4; l++) v167.v[l] = bf16_to_f32(v160.v[l]);
              Vec<float, 4> v168;
              #pragma unroll
              for (int l = 0; l < 4; l++) v168.v[l] = bf16_to_f32(v162.v[l]);
              Vec<float, 4> v169;
              #pragma unroll
              for (int l = 0; l < 4; l++) v169.v[l] = bf16_to_f32(v164.v[l]);
              Vec<float, 4> v170;
              #pragma unroll
              for (int l = 0; l < 4; l++) v170.v[l] = bf16_to_f32(v166.v[l]);
              Vec<float, 4> v171;
              #pragma unroll
              for (int l = 0; l < 4; l++) v171.v[l] = fabsf(v167.v[l]);
              Vec<float, 4> v172;
              #pragma unroll
              for (int l = 0; l < 4; l++) v172.v[l] = fabsf(v168.v[l]);
              Vec<float, 4> v173;
              #pragma unroll
              for (int l = 0; l < 4; l++) v173.v[l] = fabsf(v169.v[l]);
              Vec<float, 4> v174;
              #pragma unroll
              for (int l = 0; l < 4; l++) v174.v[l] = fabsf(v170.v[l]);
              Vec<float, 4> v175;
              #pragma unroll
              for (int l = 0; l < 4; l++) v175.v[l] = fmaxf(v171.v[l], v172.v[l]);
              Vec<float, 4> v176;
              #pragma unroll
              for (int l = 0; l < 4; l++) v176.v[l] = fmaxf(v175.v[l], v173.v[l]);
              Vec<float, 4> v177;
              #pragma unroll
              for (int l = 0; l < 4; l++) v177.v[l] = fmaxf(v176.v[l], v174.v[l]);
              for (int l = 0; l < 4; l++) v146.v[l] = fmaxf(v146.v[l], v177.v[l]);
            }
            Vec<float, 4> v179;
            for (int l = 0; l < 4; l++) v179.v[l] = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v178 = 0ll; v178 < v135; v178++) {
              const i64 v180 = v178 * 2ll;
              const i64 v181 = v133 + v180;
              const i64 v182 = v181 * v36;
              const i64 v183 = v182 + v144;
              const i64 v184 = v181 + 1ll;
              const i64 v185 = v184 * v36;
              const i64 v186 = v185 + v144;
              const i64 v187 = v132 + v183;
              const Vec<u16, 4> v188 = load_vec<u16, 4>(b_samples + v187);
              const i64 v189 = v132 + v186;
              const Vec<u16, 4> v190 = load_vec<u16, 4>(b_samples + v189);
              Vec<float, 4> v191;
              #pragma unroll
              for (int l = 0; l < 4; l++) v191.v[l] = bf16_to_f32(v188.v[l]);
              Vec<float, 4> v192;
              #pragma unroll
              for (int l = 0; l < 4; l++) v192.v[l] = bf16_to_f32(v190.v[l]);
              Vec<float, 4> v193;
              #pragma unroll
              for (int l = 0; l < 4; l++) v193.v[l] = fabsf(v191.v[l]);
              Vec<float, 4> v194;
              #pragma unroll
              for (int l = 0; l < 4; l++) v194.v[l] = fabsf(v192.v[l]);
              Vec<float, 4> v195;
              #pragma unroll
              for (int l = 0; l < 4; l++) v195.v[l] = fmaxf(v193.v[l], v194.v[l]);
              for (int l = 0; l < 4; l++) v179.v[l] = fmaxf(v179.v[l], v195.v[l]);
            }
            Vec<float, 4> v197;
            for (int l = 0; l < 4; l++) v197.v[l] = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v196 = 0ll; v196 < v138; v196++) {
              const i64 v198 = v137 + v196;
              const i64 v199 = v198 * v36;
              const i64 v200 = v199 + v144;
              const i64 v201 = v132 + v200;
              const Vec<u16, 4> v202 = load_vec<u16, 4>(b_samples + v201);
              Vec<float, 4> v203;
              #pragma unroll
              for (int l = 0; l < 4; l++) v203.v[l] = bf16_to_f32(v202.v[l]);
              Vec<float, 4> v204;
              #pragma unroll
              for (int l = 0; l < 4; l++) v204.v[l] = fabsf(v203.v[l]);
              for (int l = 0; l < 4; l++) v197.v[l] = fmaxf(v197.v[l], v204.v[l]);
            }
            Vec<float, 4> v205;
            #pragma unroll
            for (int l = 0; l < 4; l++) v205.v[l] = fmaxf(v146.v[l], v179.v[l]);
            Vec<float, 4> v206;
            #pragma unroll
            for (int l = 0; l < 4; l++) v206.v[l] = fmaxf(v205.v[l], v197.v[l]);
            store_vec(b_parts_f32 + v144, v206);
          }
        } else {
          #pragma unroll 1
          for (i64 v207 = threadIdx.x; v207 < v36; v207 += 512) {
            float v209;
            v209 = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v208 = 0ll; v208 < v131; v208++) {
              const i64 v210 = v208 * 4ll;
              const i64 v211 = v210 * v36;
              const i64 v212 = v211 + v207;
              const i64 v213 = v210 + 1ll;
              const i64 v214 = v213 * v36;
              const i64 v215 = v214 + v207;
              const i64 v216 = v210 + 2ll;
              const i64 v217 = v216 * v36;
              const i64 v218 = v217 + v207;
              const i64 v219 = v210 + 3ll;
              const i64 v220 = v219 * v36;
              const i64 v221 = v220 + v207;
              const i64 v222 = v132 + v212;
              const u16 v223 = *(b_samples + v222);
              const i64 v224 = v132 + v215;
              const u16 v225 = *(b_samples + v224);
              const i64 v226 = v132 + v218;
              const u16 v227 = *(b_samples + v226);
              const i64 v228 = v132 + v221;
              const u16 v229 = *(b_samples + v228);
              const float v230 = bf16_to_f32(v223);
              const float v231 = bf16_to_f32(v225);
              const float v232 = bf16_to_f32(v227);
              const float v233 = bf16_to_f32(v229);
              const float v234 = fabsf(v230);
              const float v235 = fabsf(v231);
              const float v236 = fabsf(v232);
              const float v237 = fabsf(v233);
              const float v238 = fmaxf(v234, v235);
              const float v239 = fmaxf(v238, v236);
              const float v240 = fmaxf(v239, v237);
              v209 = fmaxf(v209, v240);
            }
            float v242;
            v242 = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v241 = 0ll; v241 < v135; v241++) {
              const i64 v243 = v241 * 2ll;
              const i64 v244 = v133 + v243;
              const i64 v245 = v244 * v36;
              const i64 v246 = v245 + v207;
              const i64 v247 = v244 + 1ll;
              const i64 v248 = v247 * v36;
              const i64 v249 = v248 + v207;
              const i64 v250 = v132 + v246;
              const u16 v251 = *(b_samples + v250);
              const i64 v252 = v132 + v249;
              const u16 v253 = *(b_samples + v252);
              const float v254 = bf16_to_f32(v251);
              const float v255 = bf16_to_f32(v253);
              const float v256 = fabsf(v254);
              const float v257 = fabsf(v255);
              const float v258 = fmaxf(v256, v257);
              v242 = fmaxf(v242, v258);
            }
            float v260;
            v260 = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v259 = 0ll; v259 < v138; v259++) {
              const i64 v261 = v137 + v259;
              const i64 v262 = v261 * v36;
              const i64 v263 = v262 + v207;
              const i64 v264 = v132 + v263;
              const u16 v265 = *(b_samples + v264);
              const float v266 = bf16_to_f32(v265);
              const float v267 = fabsf(v266);
              v260 = fmaxf(v260, v267);
            }
            const float v268 = fmaxf(v209, v242);
            const float v269 = fmaxf(v268, v260);
            *(b_parts_f32 + v207) = v269;
          }
        }
        __syncthreads();
        const i64 v270 = v130 * v36;
        const i64 v271 = v23 - v270;
        const i64 v272 = v270 % 4ll;
        const bool v273 = v272 == 0ll;
        const bool v274 = v141 & v273;
        const i64 v275 = v271 / 4ll;
        const i64 v276 = v275 * 4ll;
        if (v274) {
          #pragma unroll 1
          for (i64 v277 = threadIdx.x; v277 < v275; v277 += 512) {
            const i64 v278 = v277 * 4ll;
            const i64 v279 = v270 + v278;
            const i64 v280 = v132 + v279;
            const Vec<u16, 4> v281 = load_vec<u16, 4>(b_samples + v280);
            Vec<float, 4> v282;
            #pragma unroll
            for (int l = 0; l < 4; l++) v282.v[l] = bf16_to_f32(v281.v[l]);
            Vec<float, 4> v283;
            #pragma unroll
            for (int l = 0; l < 4; l++) v283.v[l] = fabsf(v282.v[l]);
            const Vec<float, 4> v284 = load_vec<float, 4>(b_parts_f32 + v278);
            Vec<float, 4> v285;
            #pragma unroll
            for (int l = 0; l < 4; l++) v285.v[l] = fmaxf(v284.v[l], v283.v[l]);
            store_vec(b_parts_f32 + v278, v285);
          }
          #pragma unroll 1
          for (i64 v286 = v276 + threadIdx.x; v286 < v271; v286 += 512) {
            const i64 v287 = v270 + v286;
            const i64 v288 = v132 + v287;
            const u16 v289 = *(b_samples + v288);
            const float v290 = bf16_to_f32(v289);
            const float v291 = fabsf(v290);
            const float v292 = *(b_parts_f32 + v286);
            const float v293 = fmaxf(v292, v291);
            *(b_parts_f32 + v286) = v293;
          }
        } else {
          #pragma unroll 1
          for (i64 v294 = threadIdx.x; v294 < v271; v294 += 512) {
            const i64 v295 = v270 + v294;
            const i64 v296 = v132 + v295;
            const u16 v297 = *(b_samples + v296);
            const float v298 = bf16_to_f32(v297);
            const float v299 = fabsf(v298);
            const float v300 = *(b_parts_f32 + v294);
            const float v301 = fmaxf(v300, v299);
            *(b_parts_f32 + v294) = v301;
          }
        }
        __syncthreads();
        #pragma unroll 1
        for (i64 v302 = threadIdx.x; v302 < v38; v302 += 512) {
          const i64 v303 = v36 - v302;
          const i64 v304 = v303 + v39;
          const i64 v305 = v304 / v38;
          float v307;
          v307 = __uint_as_float(0xff800000u);
          for (i64 v306 = 0ll; v306 < v305; v306++) {
            const i64 v308 = v306 * v38;
            const i64 v309 = v302 + v308;
            const float v310 = *(b_parts_f32 + v309);
            v307 = fmaxf(v307, v310);
          }
          *(b_fewer_parts_f32 + v302) = v307;
        }
        __syncthreads();
        #pragma unroll 1
        for (i64 v311 = threadIdx.x; v311 < v41; v311 += 512) {
          const i64 v312 = v38 - v311;
          const i64 v313 = v312 + v42;
          const i64 v314 = v313 / v41;
          float v316;
          v316 = __uint_as_float(0xff800000u);
          for (i64 v315 = 0ll; v315 < v314; v315++) {
            const i64 v317 = v315 * v41;
            const i64 v318 = v311 + v317;
            const float v319 = *(b_fewer_parts_f32 + v318);
            v316 = fmaxf(v316, v319);
          }
          *(b_parts_f32 + v311) = v316;
        }
        __syncthreads();
        if (threadIdx.x < 1) {
          const i64 v320 = threadIdx.x;
          const i64 v321 = v129 + v320;
          const i64 v322 = v320 * v41;
          float v324;
          v324 = __uint_as_float(0xff800000u);
          for (i64 v323 = 0ll; v323 < v41; v323++) {
            const i64 v325 = v322 + v323;
            const float v326 = *(b_parts_f32 + v325);
            v324 = fmaxf(v324, v326);
          }
          *(b_own_odd + v321) = v324;
        }
        __syncthreads();
      }
    }
  } else {
    const i64 v327 = 2048ll / v22;
    const i64 v328 = 1ll > v327 ? 1ll : v327;
    const bool v329 = v328 > 1ll;
    const i64 v330 = v328 - 1ll;
    const i64 v331 = v15 + v330;
    if (v329) {
      const i64 v332 = v331 / v328;
      for (i64 v333 = blockIdx.x; v333 < v332; v333 += gridDim.x) {
        const i64 v334 = v333 * v328;
        const i64 v335 = v15 - v334;
        const i64 v336 = v328 < v335 ? v328 : v335;
        const i64 v337 = v336 * v23;
        const i64 v338 = v337 / 4ll;
        const i64 v339 = v338 * 4ll;
        if (v49) {
          #pragma unroll 1
          for (i64 v340 = threadIdx.x; v340 < v338; v340 += 512) {
            const i64 v341 = v340 * 4ll;
            const i64 v342 = v341 / v23;
            const i64 v343 = v341 % v23;
            const i64 v344 = v334 + v342;
            const i64 v345 = v344 * d_columns;
            const i64 v346 = v345 + v343;
            const Vec<u16, 4> v347 = load_vec<u16, 4>(b_samples + v346);
            Vec<float, 4> v348;
            #pragma unroll
            for (int l = 0; l < 4; l++) v348.v[l] = bf16_to_f32(v347.v[l]);
            Vec<float, 4> v349;
            #pragma unroll
            for (int l = 0; l < 4; l++) v349.v[l] = fabsf(v348.v[l]);
            store_vec(b_parts_f32 + v341, v349);
          }
          #pragma unroll 1
          for (i64 v350 = v339 + threadIdx.x; v350 < v337; v350 += 512) {
            const i64 v351 = v350 / v23;
            const i64 v352 = v350 % v23;
            const i64 v353 = v334 + v351;
            const i64 v354 = v353 * d_columns;
            const i64 v355 = v354 + v352;
            const u16 v356 = *(b_samples + v355);
            const float v357 = bf16_to_f32(v356);
            const float v358 = fabsf(v357);
            *(b_parts_f32 + v350) = v358;
          }
        } else {
          #pragma unroll 1
          for (i64 v359 = threadIdx.x; v359 < v337; v359 += 512) {
            const i64 v360 = v359 / v23;
            const i64 v361 = v359 % v23;
            const i64 v362 = v334 + v360;
            const i64 v363 = v362 * d_columns;
            const i64 v364 = v363 + v361;
            const u16 v365 = *(b_samples + v364);
            const float v366 = bf16_to_f32(v365);
            const float v367 = fabsf(v366);
            *(b_parts_f32 + v359) = v367;
          }
        }
        __syncthreads();
        const i64 v368 = v336 * v27;
        #pragma unroll 1
        for (i64 v369 = threadIdx.x; v369 < v368; v369 += 512) {
          const i64 v370 = v369 / v27;
          const i64 v371 = v369 % v27;
          const i64 v372 = v370 * v23;
          const i64 v373 = v372 + v371;
          const i64 v374 = v23 - v371;
          const i64 v375 = v374 + v28;
          const i64 v376 = v375 / v27;
          float v378;
          v378 = __uint_as_float(0xff800000u);
          for (i64 v377 = 0ll; v377 < v376; v377++) {
            const i64 v379 = v377 * v27;
            const i64 v380 = v373 + v379;
            const float v381 = *(b_parts_f32 + v380);
            v378 = fmaxf(v378, v381);
          }
          *(b_fewer_parts_f32 + v369) = v378;
        }
        __syncthreads();
        const i64 v382 = v336 * v30;
        #pragma unroll 1
        for (i64 v383 = threadIdx.x; v383 < v382; v383 += 512) {
          const i64 v384 = v383 / v30;
          const i64 v385 = v383 % v30;
          const i64 v386 = v384 * v27;
          const i64 v387 = v386 + v385;
          const i64 v388 = v27 - v385;
          const i64 v389 = v388 + v31;
          const i64 v390 = v389 / v30;
          float v392;
          v392 = __uint_as_float(0xff800000u);
          for (i64 v391 = 0ll; v391 < v390; v391++) {
            const i64 v393 = v391 * v30;
            const i64 v394 = v387 + v393;
            const float v395 = *(b_fewer_parts_f32 + v394);
            v392 = fmaxf(v392, v395);
          }
          *(b_parts_f32 + v383) = v392;
        }
        __syncthreads();
        #pragma unroll 1
        for (i64 v396 = threadIdx.x; v396 < v336; v396 += 512) {
          const i64 v397 = v334 + v396;
          const i64 v398 = v396 * v30;
          float v400;
          v400 = __uint_as_float(0xff800000u);
          for (i64 v399 = 0ll; v399 < v30; v399++) {
            const i64 v401 = v398 + v399;
            const float v402 = *(b_parts_f32 + v401);
            v400 = fmaxf(v400, v402);
          }
          *(b_own + v397) = v400;
        }
        __syncthreads();
      }
    } else {
      for (i64 v403 = blockIdx.x; v403 < v15; v403 += gridDim.x) {
        const i64 v404 = v23 / v36;
        const i64 v405 = v404 / 4ll;
        const i64 v406 = v403 * d_columns;
        const i64 v407 = v405 * 4ll;
        const i64 v408 = v404 - v407;
        const i64 v409 = v408 / 2ll;
        const i64 v410 = v409 * 2ll;
        const i64 v411 = v407 + v410;
        const i64 v412 = v404 - v411;
        const i64 v413 = v406 % 4ll;
        const bool v414 = v413 == 0ll;
        const bool v415 = v43 & v414;
        const bool v416 = v415 & v51;
        if (v416) {
          #pragma unroll 1
          for (i64 v417 = threadIdx.x; v417 < v52; v417 += 512) {
            const i64 v418 = v417 * 4ll;
            Vec<float, 4> v420;
            for (int l = 0; l < 4; l++) v420.v[l] = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v419 = 0ll; v419 < v405; v419++) {
              const i64 v421 = v419 * 4ll;
              const i64 v422 = v421 * v36;
              const i64 v423 = v422 + v418;
              const i64 v424 = v421 + 1ll;
              const i64 v425 = v424 * v36;
              const i64 v426 = v425 + v418;
              const i64 v427 = v421 + 2ll;
              const i64 v428 = v427 * v36;
              const i64 v429 = v428 + v418;
              const i64 v430 = v421 + 3ll;
              const i64 v431 = v430 * v36;
              const i64 v432 = v431 + v418;
              const i64 v433 = v406 + v423;
              const Vec<u16, 4> v434 = load_vec<u16, 4>(b_samples + v433);
              const i64 v435 = v406 + v426;
              const Vec<u16, 4> v436 = load_vec<u16, 4>(b_samples + v435);
              const i64 v437 = v406 + v429;
              const Vec<u16, 4> v438 = load_vec<u16, 4>(b_samples + v437);
              const i64 v439 = v406 + v432;
              const Vec<u16, 4> v440 = load_vec<u16, 4>(b_samples + v439);
              Vec<float, 4> v441;
              #pragma unroll
              for (int l = 0; l < 4; l++) v441.v[l] = bf16_to_f32(v434.v[l]);
              Vec<float, 4> v442;
              #pragma unroll
              for (int l = 0; l < 4; l++) v442.v[l] = bf16_to_f32(v436.v[l]);
              Vec<float, 4> v443;
              #pragma unroll
              for (int l = 0; l < 4; l++) v443.v[l] = bf16_to_f32(v438.v[l]);
              Vec<float, 4> v444;
              #pragma unroll
              for (int l = 0; l < 4; l++) v444.v[l] = bf16_to_f32(v440.v[l]);
              Vec<float, 4> v445;
              #pragma unroll
              for (int l = 0; l < 4; l++) v445.v[l] = fabsf(v441.v[l]);
              Vec<float, 4> v446;
              #pragma unroll
              for (int l = 0; l < 4; l++) v446.v[l] = fabsf(v442.v[l]);
              Vec<float, 4> v447;
              #pragma unroll
              for (int l = 0; l < 4; l++) v447.v[l] = fabsf(v443.v[l]);
              Vec<float, 4> v448;
              #pragma unroll
              for (int l = 0; l < 4; l++) v448.v[l] = fabsf(v444.v[l]);
              Vec<float, 4> v449;
              #pragma unroll
              for (int l = 0; l < 4; l++) v449.v[l] = fmaxf(v445.v[l], v446.v[l]);
              Vec<float, 4> v450;
              #pragma unroll
              for (int l = 0; l < 4; l++) v450.v[l] = fmaxf(v449.v[l], v447.v[l]);
              Vec<float, 4> v451;
              #pragma unroll
              for (int l = 0; l < 4; l++) v451.v[l] = fmaxf(v450.v[l], v448.v[l]);
              for (int l = 0; l < 4; l++) v420.v[l] = fmaxf(v420.v[l], v451.v[l]);
            }
            Vec<float, 4> v453;
            for (int l = 0; l < 4; l++) v453.v[l] = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v452 = 0ll; v452 < v409; v452++) {
              const i64 v454 = v452 * 2ll;
              const i64 v455 = v407 + v454;
              const i64 v456 = v455 * v36;
              const i64 v457 = v456 + v418;
              const i64 v458 = v455 + 1ll;
              const i64 v459 = v458 * v36;
              const i64 v460 = v459 + v418;
              const i64 v461 = v406 + v457;
              const Vec<u16, 4> v462 = load_vec<u16, 4>(b_samples + v461);
              const i64 v463 = v406 + v460;
              const Vec<u16, 4> v464 = load_vec<u16, 4>(b_samples + v463);
              Vec<float, 4> v465;
              #pragma unroll
              for (int l = 0; l < 4; l++) v465.v[l] = bf16_to_f32(v462.v[l]);
              Vec<float, 4> v466;
              #pragma unroll
              for (int l = 0; l < 4; l++) v466.v[l] = bf16_to_f32(v464.v[l]);
              Vec<float, 4> v467;
              #pragma unroll
              for (int l = 0; l < 4; l++) v467.v[l] = fabsf(v465.v[l]);
              Vec<float, 4> v468;
              #pragma unroll
              for (int l = 0; l < 4; l++) v468.v[l] = fabsf(v466.v[l]);
              Vec<float, 4> v469;
              #pragma unroll
              for (int l = 0; l < 4; l++) v469.v[l] = fmaxf(v467.v[l], v468.v[l]);
              for (int l = 0; l < 4; l++) v453.v[l] = fmaxf(v453.v[l], v469.v[l]);
            }
            Vec<float, 4> v471;
            for (int l = 0; l < 4; l++) v471.v[l] = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v470 = 0ll; v470 < v412; v470++) {
              const i64 v472 = v411 + v470;
              const i64 v473 = v472 * v36;
              const i64 v474 = v473 + v418;
              const i64 v475 = v406 + v474;
              const Vec<u16, 4> v476 = load_vec<u16, 4>(b_samples + v475);
              Vec<float, 4> v477;
              #pragma unroll
              for (int l = 0; l < 4; l++) v477.v[l] = bf16_to_f32(v476.v[l]);
              Vec<float, 4> v478;
              #pragma unroll
              for (int l = 0; l < 4; l++) v478.v[l] = fabsf(v477.v[l]);
              for (int l = 0; l < 4; l++) v471.v[l] = fmaxf(v471.v[l], v478.v[l]);
            }
            Vec<float, 4> v479;
            #pragma unroll
            for (int l = 0; l < 4; l++) v479.v[l] = fmaxf(v420.v[l], v453.v[l]);
            Vec<float, 4> v480;
            #pragma unroll
            for (int l = 0; l < 4; l++) v480.v[l] = fmaxf(v479.v[l], v471.v[l]);
            store_vec(b_parts_f32 + v418, v480);
          }
        } else {
          #pragma unroll 1
          for (i64 v481 = threadIdx.x; v481 < v36; v481 += 512) {
            float v483;
            v483 = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v482 = 0ll; v482 < v405; v482++) {
              const i64 v484 = v482 * 4ll;
              const i64 v485 = v484 * v36;
              const i64 v486 = v485 + v481;
              const i64 v487 = v484 + 1ll;
              const i64 v488 = v487 * v36;
              const i64 v489 = v488 + v481;
              const i64 v490 = v484 + 2ll;
              const i64 v491 = v490 * v36;
              const i64 v492 = v491 + v481;
              const i64 v493 = v484 + 3ll;
              const i64 v494 = v493 * v36;
              const i64 v495 = v494 + v481;
              const i64 v496 = v406 + v486;
              const u16 v497 = *(b_samples + v496);
              const i64 v498 = v406 + v489;
              const u16 v499 = *(b_samples + v498);
              const i64 v500 = v406 + v492;
              const u16 v501 = *(b_samples + v500);
              const i64 v502 = v406 + v495;
              const u16 v503 = *(b_samples + v502);
              const float v504 = bf16_to_f32(v497);
              const float v505 = bf16_to_f32(v499);
              const float v506 = bf16_to_f32(v501);
              const float v507 = bf16_to_f32(v503);
              const float v508 = fabsf(v504);
              const float v509 = fabsf(v505);
              const float v510 = fabsf(v506);
              const float v511 = fabsf(v507);
              const float v512 = fmaxf(v508, v509);
              const float v513 = fmaxf(v512, v510);
              const float v514 = fmaxf(v513, v511);
              v483 = fmaxf(v483, v514);
            }
            float v516;
            v516 = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v515 = 0ll; v515 < v409; v515++) {
              const i64 v517 = v515 * 2ll;
              const i64 v518 = v407 + v517;
              const i64 v519 = v518 * v36;
              const i64 v520 = v519 + v481;
              const i64 v521 = v518 + 1ll;
              const i64 v522 = v521 * v36;
              const i64 v523 = v522 + v481;
              const i64 v524 = v406 + v520;
              const u16 v525 = *(b_samples + v524);
              const i64 v526 = v406 + v523;
              const u16 v527 = *(b_samples + v526);
              const float v528 = bf16_to_f32(v525);
              const float v529 = bf16_to_f32(v527);
              const float v530 = fabsf(v528);
              const float v531 = fabsf(v529);
              const float v532 = fmaxf(v530, v531);
              v516 = fmaxf(v516, v532);
            }
            float v534;
            v534 = __uint_as_float(0xff800000u);
            #pragma unroll 1
            for (i64 v533 = 0ll; v533 < v412; v533++) {
              const i64 v535 = v411 + v533;
              const i64 v536 = v535 * v36;
              const i64 v537 = v536 + v481;
              const i64 v538 = v406 + v537;
              const u16 v539 = *(b_samples + v538);
              const float v540 = bf16_to_f32(v539);
              const float v541 = fabsf(v540);
              v534 = fmaxf(v534, v541);
            }
            const float v542 = fmaxf(v483, v516);
            const float v543 = fmaxf(v542, v534);
            *(b_parts_f32 + v481) = v543;
          }
        }
        __syncthreads();
        const i64 v544 = v404 * v36;
        const i64 v545 = v23 - v544;
        const i64 v546 = v544 % 4ll;
        const bool v547 = v546 == 0ll;
        const bool v548 = v415 & v547;
        const i64 v549 = v545 / 4ll;
        const i64 v550 = v549 * 4ll;
        if (v548) {
          #pragma unroll 1
          for (i64 v551 = threadIdx.x; v551 < v549; v551 += 512) {
            const i64 v552 = v551 * 4ll;
            const i64 v553 = v544 + v552;
            const i64 v554 = v406 + v553;
            const Vec<u16, 4> v555 = load_vec<u16, 4>(b_samples + v554);
            Vec<float, 4> v556;
            #pragma unroll
            for (int l = 0; l < 4; l++) v556.v[l] = bf16_to_f32(v555.v[l]);
            Vec<float, 4> v557;
            #pragma unroll
            for (int l = 0; l < 4; l++) v557.v[l] = fabsf(v556.v[l]);
            const Vec<float, 4> v558 = load_vec<float, 4>(b_parts_f32 + v552);
            Vec<float, 4> v559;
            #pragma unroll
            for (int l = 0; l < 4; l++) v559.v[l] = fmaxf(v558.v[l], v557.v[l]);
            store_vec(b_parts_f32 + v552, v559);
          }
          #pragma unroll 1
          for (i64 v560 = v550 + threadIdx.x; v560 < v545; v560 += 512) {
            const i64 v561 = v544 + v560;
            const i64 v562 = v406 + v561;
            const u16 v563 = *(b_samples + v562);
            const float v564 = bf16_to_f32(v563);
            const float v565 = fabsf(v564);
            const float v566 = *(b_parts_f32 + v560);
            const float v567 = fmaxf(v566, v565);
            *(b_parts_f32 + v560) = v567;
          }
        } else {
          #pragma unroll 1
          for (i64 v568 = threadIdx.x; v568 < v545; v568 += 512) {
            const i64 v569 = v544 + v568;
            const i64 v570 = v406 + v569;
            const u16 v571 = *(b_samples + v570);
            const float v572 = bf16_to_f32(v571);
            const float v573 = fabsf(v572);
            const float v574 = *(b_parts_f32 + v568);
            const float v575 = fmaxf(v574, v573);
            *(b_parts_f32 + v568) = v575;
          }
        }
        __syncthreads();
        #pragma unroll 1
        for (i64 v576 = threadIdx.x; v576 < v38; v576 += 512) {
          const i64 v577 = v36 - v576;
          const i64 v578 = v577 + v39;
          const i64 v579 = v578 / v38;
          float v581;
          v581 = __uint_as_float(0xff800000u);
          for (i64 v580 = 0ll; v580 < v579; v580++) {
            const i64 v582 = v580 * v38;
            const i64 v583 = v576 + v582;
            const float v584 = *(b_parts_f32 + v583);
            v581 = fmaxf(v581, v584);
          }
          *(b_fewer_parts_f32 + v576) = v581;
        }
        __syncthreads();
        #pragma unroll 1
        for (i64 v585 = threadIdx.x; v585 < v41; v585 += 512) {
          const i64 v586 = v38 - v585;
          const i64 v587 = v586 + v42;
          const i64 v588 = v587 / v41;
          float v590;
          v590 = __uint_as_float(0xff800000u);
          for (i64 v589 = 0ll; v589 < v588; v589++) {
            const i64 v591 = v589 * v41;
            const i64 v592 = v585 + v591;
            const float v593 = *(b_fewer_parts_f32 + v592);
            v590 = fmaxf(v590, v593);
          }
          *(b_parts_f32 + v585) = v590;
        }
        __syncthreads();
        if (threadIdx.x < 1) {
          const i64 v594 = threadIdx.x;
          const i64 v595 = v403 + v594;
          const i64 v596 = v594 * v41;
          float v598;
          v598 = __uint_as_float(0xff800000u);
          for (i64 v597 = 0ll; v597 < v41; v597++) {
            const i64 v599 = v596 + v597;
            const float v600 = *(b_parts_f32 + v599);
            v598 = fmaxf(v598, v600);
          }
          *(b_own + v595) = v598;
        }
        __syncthreads();
      }
    }
  }
  // loudest.coll:8: for r in tiles(rows) {
  const u32 v601 = *(b_epoch + 0ll);
  const u32 v602 = v601 + 1u;
  *(b_epoch + 0ll) = v602;
  const i64 v604 = (i64)blockIdx.x * 4ll;
  const i64 v605 = v604 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v606 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v606]) + v605, v602);
  }
  const i64 v607 = (i64)gridDim.x * 4ll;
  for (i64 v608 = threadIdx.x; v608 < v607; v608 += 512) {
    const i64 v609 = v608 % 4ll;
    const i64 v610 = v608 / 4ll;
    const i64 v611 = v610 * 4ll;
    const i64 v612 = v611 + v609;
    wait_acquire_sys(b_flags + v612, v602, watch, (u32)(v609), 4u, (u32)(v612), 8u);
  }
  __syncthreads();
  // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
  const i64 v613 = v15 / 2048ll;
  const i64 v615 = v15 + 2047ll;
  const i64 v616 = v615 / 2048ll;
  const bool v617 = (u64)b_own_odd % 16 == 0;
  const bool v618 = (u64)b_peak % 16 == 0;
  const bool v619 = v617 & v618;
  const bool v621 = (u64)b_own % 16 == 0;
  const bool v622 = v621 & v618;
  if (v11) {
    if (v619) {
      for (i64 v623 = blockIdx.x; v623 < v613; v623 += gridDim.x) {
        const i64 v624 = v623 * 2048ll;
        {
          const i64 v625 = threadIdx.x;
          const i64 v626 = v625 * 4ll;
          const i64 v627 = v624 + v626;
          const Vec<float, 4> v628 = load_vec<float, 4>(((float*)b_own_odd_peers.p[0ll]) + v627);
          const Vec<float, 4> v629 = load_vec<float, 4>(((float*)b_own_odd_peers.p[1ll]) + v627);
          const Vec<float, 4> v630 = load_vec<float, 4>(((float*)b_own_odd_peers.p[2ll]) + v627);
          const Vec<float, 4> v631 = load_vec<float, 4>(((float*)b_own_odd_peers.p[3ll]) + v627);
          Vec<float, 4> v632;
          #pragma unroll
          for (int l = 0; l < 4; l++) v632.v[l] = fmaxf(v628.v[l], v629.v[l]);
          Vec<float, 4> v633;
          #pragma unroll
          for (int l = 0; l < 4; l++) v633.v[l] = fmaxf(v632.v[l], v630.v[l]);
          Vec<float, 4> v634;
          #pragma unroll
          for (int l = 0; l < 4; l++) v634.v[l] = fmaxf(v633.v[l], v631.v[l]);
          store_vec(b_peak + v627, v634);
        }
      }
    } else {
      for (i64 v635 = blockIdx.x; v635 < v613; v635 += gridDim.x) {
        const i64 v636 = v635 * 2048ll;
        for (i64 v637 = threadIdx.x; v637 < 2048ll; v637 += 512) {
          const i64 v638 = v636 + v637;
          const float v639 = *(((float*)b_own_odd_peers.p[0ll]) + v638);
          const float v640 = *(((float*)b_own_odd_peers.p[1ll]) + v638);
          const float v641 = *(((float*)b_own_odd_peers.p[2ll]) + v638);
          const float v642 = *(((float*)b_own_odd_peers.p[3ll]) + v638);
          const float v643 = fmaxf(v639, v640);
          const float v644 = fmaxf(v643, v641);
          const float v645 = fmaxf(v644, v642);
          *(b_peak + v638) = v645;
        }
      }
    }
    if (v619) {
      for (i64 v646 = v613 + ((i64)blockIdx.x - v613 % gridDim.x + gridDim.x) % gridDim.x; v646 < v616; v646 += gridDim.x) {
        const i64 v647 = v646 * 2048ll;
        const i64 v648 = v15 - v647;
        const i64 v649 = v648 / 4ll;
        const i64 v650 = v649 * 4ll;
        for (i64 v651 = threadIdx.x; v651 < v649; v651 += 512) {
          const i64 v652 = v651 * 4ll;
          const i64 v653 = v647 + v652;
          const Vec<float, 4> v654 = load_vec<float, 4>(((float*)b_own_odd_peers.p[0ll]) + v653);
          const Vec<float, 4> v655 = load_vec<float, 4>(((float*)b_own_odd_peers.p[1ll]) + v653);
          const Vec<float, 4> v656 = load_vec<float, 4>(((float*)b_own_odd_peers.p[2ll]) + v653);
          const Vec<float, 4> v657 = load_vec<float, 4>(((float*)b_own_odd_peers.p[3ll]) + v653);
          Vec<float, 4> v658;
          #pragma unroll
          for (int l = 0; l < 4; l++) v658.v[l] = fmaxf(v654.v[l], v655.v[l]);
          Vec<float, 4> v659;
          #pragma unroll
          for (int l = 0; l < 4; l++) v659.v[l] = fmaxf(v658.v[l], v656.v[l]);
          Vec<float, 4> v660;
          #pragma unroll
          for (int l = 0; l < 4; l++) v660.v[l] = fmaxf(v659.v[l], v657.v[l]);
          store_vec(b_peak + v653, v660);
        }
        for (i64 v661 = v650 + threadIdx.x; v661 < v648; v661 += 512) {
          const i64 v662 = v647 + v661;
          const float v663 = *(((float*)b_own_odd_peers.p[0ll]) + v662);
          const float v664 = *(((float*)b_own_odd_peers.p[1ll]) + v662);
          const float v665 = *(((float*)b_own_odd_peers.p[2ll]) + v662);
          const float v666 = *(((float*)b_own_odd_peers.p[3ll]) + v662);
          const float v667 = fmaxf(v663, v664);
          const float v668 = fmaxf(v667, v665);
          const float v669 = fmaxf(v668, v666);
          *(b_peak + v662) = v669;
        }
      }
    } else {
      for (i64 v670 = v613 + ((i64)blockIdx.x - v613 % gridDim.x + gridDim.x) % gridDim.x; v670 < v616; v670 += gridDim.x) {
        const i64 v671 = v670 * 2048ll;
        const i64 v672 = v15 - v671;
        for (i64 v673 = threadIdx.x; v673 < v672; v673 += 512) {
          const i64 v674 = v671 + v673;
          const float v675 = *(((float*)b_own_odd_peers.p[0ll]) + v674);
          const float v676 = *(((float*)b_own_odd_peers.p[1ll]) + v674);
          const float v677 = *(((float*)b_own_odd_peers.p[2ll]) + v674);
          const float v678 = *(((float*)b_own_odd_peers.p[3ll]) + v674);
          const float v679 = fmaxf(v675, v676);
          const float v680 = fmaxf(v679, v677);
          const float v681 = fmaxf(v680, v678);
          *(b_peak + v674) = v681;
        }
      }
    }
  } else {
    if (v622) {
      for (i64 v682 = blockIdx.x; v682 < v613; v682 += gridDim.x) {
        const i64 v683 = v682 * 2048ll;
        {
          const i64 v684 = threadIdx.x;
          const i64 v685 = v684 * 4ll;
          const i64 v686 = v683 + v685;
          const Vec<float, 4> v687 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v686);
          const Vec<float, 4> v688 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v686);
          const Vec<float, 4> v689 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v686);
          const Vec<float, 4> v690 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v686);
          Vec<float, 4> v691;
          #pragma unroll
          for (int l = 0; l < 4; l++) v691.v[l] = fmaxf(v687.v[l], v688.v[l]);
          Vec<float, 4> v692;
          #pragma unroll
          for (int l = 0; l < 4; l++) v692.v[l] = fmaxf(v691.v[l], v689.v[l]);
          Vec<float, 4> v693;
          #pragma unroll
          for (int l = 0; l < 4; l++) v693.v[l] = fmaxf(v692.v[l], v690.v[l]);
          store_vec(b_peak + v686, v693);
        }
      }
    } else {
      for (i64 v694 = blockIdx.x; v694 < v613; v694 += gridDim.x) {
        const i64 v695 = v694 * 2048ll;
        for (i64 v696 = threadIdx.x; v696 < 2048ll; v696 += 512) {
          const i64 v697 = v695 + v696;
          const float v698 = *(((float*)b_own_peers.p[0ll]) + v697);
          const float v699 = *(((float*)b_own_peers.p[1ll]) + v697);
          const float v700 = *(((float*)b_own_peers.p[2ll]) + v697);
          const float v701 = *(((float*)b_own_peers.p[3ll]) + v697);
          const float v702 = fmaxf(v698, v699);
          const float v703 = fmaxf(v702, v700);
          const float v704 = fmaxf(v703, v701);
          *(b_peak + v697) = v704;
        }
      }
    }
    if (v622) {
      for (i64 v705 = v613 + ((i64)blockIdx.x - v613 % gridDim.x + gridDim.x) % gridDim.x; v705 < v616; v705 += gridDim.x) {
        const i64 v706 = v705 * 2048ll;
        const i64 v707 = v15 - v706;
        const i64 v708 = v707 / 4ll;
        const i64 v709 = v708 * 4ll;
        for (i64 v710 = threadIdx.x; v710 < v708; v710 += 512) {
          const i64 v711 = v710 * 4ll;
          const i64 v712 = v706 + v711;
          const Vec<float, 4> v713 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v712);
          const Vec<float, 4> v714 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v712);
          const Vec<float, 4> v715 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v712);
          const Vec<float, 4> v716 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v712);
          Vec<float, 4> v717;
          #pragma unroll
          for (int l = 0; l < 4; l++) v717.v[l] = fmaxf(v713.v[l], v714.v[l]);
          Vec<float, 4> v718;
          #pragma unroll
          for (int l = 0; l < 4; l++) v718.v[l] = fmaxf(v717.v[l], v715.v[l]);
          Vec<float, 4> v719;
          #pragma unroll
          for (int l = 0; l < 4; l++) v719.v[l] = fmaxf(v718.v[l], v716.v[l]);
          store_vec(b_peak + v712, v719);
        }
        for (i64 v720 = v709 + threadIdx.x; v720 < v707; v720 += 512) {
          const i64 v721 = v706 + v720;
          const float v722 = *(((float*)b_own_peers.p[0ll]) + v721);
          const float v723 = *(((float*)b_own_peers.p[1ll]) + v721);
          const float v724 = *(((float*)b_own_peers.p[2ll]) + v721);
          const float v725 = *(((float*)b_own_peers.p[3ll]) + v721);
          const float v726 = fmaxf(v722, v723);
          const float v727 = fmaxf(v726, v724);
          const float v728 = fmaxf(v727, v725);
          *(b_peak + v721) = v728;
        }
      }
    } else {
      for (i64 v729 = v613 + ((i64)blockIdx.x - v613 % gridDim.x + gridDim.x) % gridDim.x; v729 < v616; v729 += gridDim.x) {
        const i64 v730 = v729 * 2048ll;
        const i64 v731 = v15 - v730;
        for (i64 v732 = threadIdx.x; v732 < v731; v732 += 512) {
          const i64 v733 = v730 + v732;
          const float v734 = *(((float*)b_own_peers.p[0ll]) + v733);
          const float v735 = *(((float*)b_own_peers.p[1ll]) + v733);
          const float v736 = *(((float*)b_own_peers.p[2ll]) + v733);
          const float v737 = *(((float*)b_own_peers.p[3ll]) + v733);
          const float v738 = fmaxf(v734, v735);
          const float v739 = fmaxf(v738, v736);
          const float v740 = fmaxf(v739, v737);
          *(b_peak + v733) = v740;
        }
      }
    }
  }
  if (threadIdx.x < 132) {
    const i64 v742 = threadIdx.x;
    const i64 v743 = v742 % (i64)gridDim.x;
    const bool v744 = v743 == (i64)blockIdx.x;
    if (v744) {
      const u32 v745 = *(b_epoch + 0ll);
      *(b_epochs + v742) = v745;
      *(b_launches + v742) = v10;
    }
  }
}
