// loudest from loudest.coll, compiled by collc for 4 ranks
// By hand, compile it with --fmad=false: ranks that hold one tensor round products and sums alike, one by one.
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
    // As text: NVVM takes some 16-byte stores apart into four.
    uint4 w[bytes / 16];
    memcpy(w, &r, bytes);
#pragma unroll
    for (int i = 0; i < bytes / 16; i++)
      asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(reinterpret_cast<uint4*>(p) + i), "r"(w[i].x), "r"(w[i].y), "r"(w[i].z), "r"(w[i].w) : "memory");
  } else if constexpr (bytes == 8) {
    uint2 w;
    memcpy(&w, &r, bytes);
    *reinterpret_cast<uint2*>(p) = w;
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) p[i] = r.v[i];
  }
}
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
coll_loudest_w4_bf16(u16* b_samples, float* b_peak, const __grid_constant__ Peers<4> b_own_peers, const __grid_constant__ Peers<4> b_own_odd_peers, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, u32* b_launches, const i64 d_rows, const int rank, const u64 timeout, u32* const status) {
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
  const Watch watch = {timeout, status, (u32)rank};
  float* const b_own = (float*)b_own_peers.p[rank];
  float* const b_own_odd = (float*)b_own_odd_peers.p[rank];
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
  const i64 v14 = d_rows > 0ll ? d_rows : 0ll;
  const i64 v16 = (i64)((u64)v14 / (u64)2048ll);
  const i64 v19 = v14 + 2047ll;
  const i64 v20 = (i64)((u64)v19 / (u64)2048ll);
  if (v11) {
    for (i64 v29 = blockIdx.x; v29 < v16; v29 += gridDim.x) {
      const i64 v30 = v29 * 2048ll;
      for (i64 v31 = threadIdx.x; v31 < 2048ll; v31 += 512) {
        const i64 v32 = v30 + v31;
        // loudest.coll:6: own[r] = max(c in 0..12) abs(samples[r, c])
        const i64 v33 = v32 * 12ll;
        const u16 v34 = *(b_samples + v33);
        const float v35 = bf16_to_f32(v34);
        const float v36 = fabsf(v35);
        const i64 v37 = v33 + 1ll;
        const u16 v38 = *(b_samples + v37);
        const float v39 = bf16_to_f32(v38);
        const float v40 = fabsf(v39);
        const i64 v41 = v33 + 2ll;
        const u16 v42 = *(b_samples + v41);
        const float v43 = bf16_to_f32(v42);
        const float v44 = fabsf(v43);
        const i64 v45 = v33 + 3ll;
        const u16 v46 = *(b_samples + v45);
        const float v47 = bf16_to_f32(v46);
        const float v48 = fabsf(v47);
        const i64 v49 = v33 + 4ll;
        const u16 v50 = *(b_samples + v49);
        const float v51 = bf16_to_f32(v50);
        const float v52 = fabsf(v51);
        const i64 v53 = v33 + 5ll;
        const u16 v54 = *(b_samples + v53);
        const float v55 = bf16_to_f32(v54);
        const float v56 = fabsf(v55);
        const i64 v57 = v33 + 6ll;
        const u16 v58 = *(b_samples + v57);
        const float v59 = bf16_to_f32(v58);
        const float v60 = fabsf(v59);
        const i64 v61 = v33 + 7ll;
        const u16 v62 = *(b_samples + v61);
        const float v63 = bf16_to_f32(v62);
        const float v64 = fabsf(v63);
        const i64 v65 = v33 + 8ll;
        const u16 v66 = *(b_samples + v65);
        const float v67 = bf16_to_f32(v66);
        const float v68 = fabsf(v67);
        const i64 v69 = v33 + 9ll;
        const u16 v70 = *(b_samples + v69);
        const float v71 = bf16_to_f32(v70);
        const float v72 = fabsf(v71);
        const i64 v73 = v33 + 10ll;
        const u16 v74 = *(b_samples + v73);
        const float v75 = bf16_to_f32(v74);
        const float v76 = fabsf(v75);
        const i64 v77 = v33 + 11ll;
        const u16 v78 = *(b_samples + v77);
        const float v79 = bf16_to_f32(v78);
        const float v80 = fabsf(v79);
        const float v81 = fmaxf(v36, v40);
        const float v82 = fmaxf(v81, v44);
        const float v83 = fmaxf(v82, v48);
        const float v84 = fmaxf(v83, v52);
        const float v85 = fmaxf(v84, v56);
        const float v86 = fmaxf(v85, v60);
        const float v87 = fmaxf(v86, v64);
        const float v88 = fmaxf(v87, v68);
        const float v89 = fmaxf(v88, v72);
        const float v90 = fmaxf(v89, v76);
        const float v91 = fmaxf(v90, v80);
        *(b_own_odd + v32) = v91;
      }
    }
    // loudest.coll:5: for r in tiles(rows) {
    for (i64 v92 = first_row(v16); v92 < v20; v92 += gridDim.x) {
      const i64 v93 = v92 * 2048ll;
      const i64 v94 = v14 - v93;
      for (i64 v95 = threadIdx.x; v95 < v94; v95 += 512) {
        const i64 v96 = v93 + v95;
        // loudest.coll:6: own[r] = max(c in 0..12) abs(samples[r, c])
        const i64 v97 = v96 * 12ll;
        const u16 v98 = *(b_samples + v97);
        const float v99 = bf16_to_f32(v98);
        const float v100 = fabsf(v99);
        const i64 v101 = v97 + 1ll;
        const u16 v102 = *(b_samples + v101);
        const float v103 = bf16_to_f32(v102);
        const float v104 = fabsf(v103);
        const i64 v105 = v97 + 2ll;
        const u16 v106 = *(b_samples + v105);
        const float v107 = bf16_to_f32(v106);
        const float v108 = fabsf(v107);
        const i64 v109 = v97 + 3ll;
        const u16 v110 = *(b_samples + v109);
        const float v111 = bf16_to_f32(v110);
        const float v112 = fabsf(v111);
        const i64 v113 = v97 + 4ll;
        const u16 v114 = *(b_samples + v113);
        const float v115 = bf16_to_f32(v114);
        const float v116 = fabsf(v115);
        const i64 v117 = v97 + 5ll;
        const u16 v118 = *(b_samples + v117);
        const float v119 = bf16_to_f32(v118);
        const float v120 = fabsf(v119);
        const i64 v121 = v97 + 6ll;
        const u16 v122 = *(b_samples + v121);
        const float v123 = bf16_to_f32(v122);
        const float v124 = fabsf(v123);
        const i64 v125 = v97 + 7ll;
        const u16 v126 = *(b_samples + v125);
        const float v127 = bf16_to_f32(v126);
        const float v128 = fabsf(v127);
        const i64 v129 = v97 + 8ll;
        const u16 v130 = *(b_samples + v129);
        const float v131 = bf16_to_f32(v130);
        const float v132 = fabsf(v131);
        const i64 v133 = v97 + 9ll;
        const u16 v134 = *(b_samples + v133);
        const float v135 = bf16_to_f32(v134);
        const float v136 = fabsf(v135);
        const i64 v137 = v97 + 10ll;
        const u16 v138 = *(b_samples + v137);
        const float v139 = bf16_to_f32(v138);
        const float v140 = fabsf(v139);
        const i64 v141 = v97 + 11ll;
        const u16 v142 = *(b_samples + v141);
        const float v143 = bf16_to_f32(v142);
        const float v144 = fabsf(v143);
        const float v145 = fmaxf(v100, v104);
        const float v146 = fmaxf(v145, v108);
        const float v147 = fmaxf(v146, v112);
        const float v148 = fmaxf(v147, v116);
        const float v149 = fmaxf(v148, v120);
        const float v150 = fmaxf(v149, v124);
        const float v151 = fmaxf(v150, v128);
        const float v152 = fmaxf(v151, v132);
        const float v153 = fmaxf(v152, v136);
        const float v154 = fmaxf(v153, v140);
        const float v155 = fmaxf(v154, v144);
        *(b_own_odd + v96) = v155;
      }
    }
  } else {
    // loudest.coll:5: for r in tiles(rows) {
    for (i64 v156 = blockIdx.x; v156 < v16; v156 += gridDim.x) {
      const i64 v157 = v156 * 2048ll;
      for (i64 v158 = threadIdx.x; v158 < 2048ll; v158 += 512) {
        const i64 v159 = v157 + v158;
        // loudest.coll:6: own[r] = max(c in 0..12) abs(samples[r, c])
        const i64 v160 = v159 * 12ll;
        const u16 v161 = *(b_samples + v160);
        const float v162 = bf16_to_f32(v161);
        const float v163 = fabsf(v162);
        const i64 v164 = v160 + 1ll;
        const u16 v165 = *(b_samples + v164);
        const float v166 = bf16_to_f32(v165);
        const float v167 = fabsf(v166);
        const i64 v168 = v160 + 2ll;
        const u16 v169 = *(b_samples + v168);
        const float v170 = bf16_to_f32(v169);
        const float v171 = fabsf(v170);
        const i64 v172 = v160 + 3ll;
        const u16 v173 = *(b_samples + v172);
        const float v174 = bf16_to_f32(v173);
        const float v175 = fabsf(v174);
        const i64 v176 = v160 + 4ll;
        const u16 v177 = *(b_samples + v176);
        const float v178 = bf16_to_f32(v177);
        const float v179 = fabsf(v178);
        const i64 v180 = v160 + 5ll;
        const u16 v181 = *(b_samples + v180);
        const float v182 = bf16_to_f32(v181);
        const float v183 = fabsf(v182);
        const i64 v184 = v160 + 6ll;
        const u16 v185 = *(b_samples + v184);
        const float v186 = bf16_to_f32(v185);
        const float v187 = fabsf(v186);
        const i64 v188 = v160 + 7ll;
        const u16 v189 = *(b_samples + v188);
        const float v190 = bf16_to_f32(v189);
        const float v191 = fabsf(v190);
        const i64 v192 = v160 + 8ll;
        const u16 v193 = *(b_samples + v192);
        const float v194 = bf16_to_f32(v193);
        const float v195 = fabsf(v194);
        const i64 v196 = v160 + 9ll;
        const u16 v197 = *(b_samples + v196);
        const float v198 = bf16_to_f32(v197);
        const float v199 = fabsf(v198);
        const i64 v200 = v160 + 10ll;
        const u16 v201 = *(b_samples + v200);
        const float v202 = bf16_to_f32(v201);
        const float v203 = fabsf(v202);
        const i64 v204 = v160 + 11ll;
        const u16 v205 = *(b_samples + v204);
        const float v206 = bf16_to_f32(v205);
        const float v207 = fabsf(v206);
        const float v208 = fmaxf(v163, v167);
        const float v209 = fmaxf(v208, v171);
        const float v210 = fmaxf(v209, v175);
        const float v211 = fmaxf(v210, v179);
        const float v212 = fmaxf(v211, v183);
        const float v213 = fmaxf(v212, v187);
        const float v214 = fmaxf(v213, v191);
        const float v215 = fmaxf(v214, v195);
        const float v216 = fmaxf(v215, v199);
        const float v217 = fmaxf(v216, v203);
        const float v218 = fmaxf(v217, v207);
        *(b_own + v159) = v218;
      }
    }
    // loudest.coll:5: for r in tiles(rows) {
    for (i64 v219 = first_row(v16); v219 < v20; v219 += gridDim.x) {
      const i64 v220 = v219 * 2048ll;
      const i64 v221 = v14 - v220;
      for (i64 v222 = threadIdx.x; v222 < v221; v222 += 512) {
        const i64 v223 = v220 + v222;
        // loudest.coll:6: own[r] = max(c in 0..12) abs(samples[r, c])
        const i64 v224 = v223 * 12ll;
        const u16 v225 = *(b_samples + v224);
        const float v226 = bf16_to_f32(v225);
        const float v227 = fabsf(v226);
        const i64 v228 = v224 + 1ll;
        const u16 v229 = *(b_samples + v228);
        const float v230 = bf16_to_f32(v229);
        const float v231 = fabsf(v230);
        const i64 v232 = v224 + 2ll;
        const u16 v233 = *(b_samples + v232);
        const float v234 = bf16_to_f32(v233);
        const float v235 = fabsf(v234);
        const i64 v236 = v224 + 3ll;
        const u16 v237 = *(b_samples + v236);
        const float v238 = bf16_to_f32(v237);
        const float v239 = fabsf(v238);
        const i64 v240 = v224 + 4ll;
        const u16 v241 = *(b_samples + v240);
        const float v242 = bf16_to_f32(v241);
        const float v243 = fabsf(v242);
        const i64 v244 = v224 + 5ll;
        const u16 v245 = *(b_samples + v244);
        const float v246 = bf16_to_f32(v245);
        const float v247 = fabsf(v246);
        const i64 v248 = v224 + 6ll;
        const u16 v249 = *(b_samples + v248);
        const float v250 = bf16_to_f32(v249);
        const float v251 = fabsf(v250);
        const i64 v252 = v224 + 7ll;
        const u16 v253 = *(b_samples + v252);
        const float v254 = bf16_to_f32(v253);
        const float v255 = fabsf(v254);
        const i64 v256 = v224 + 8ll;
        const u16 v257 = *(b_samples + v256);
        const float v258 = bf16_to_f32(v257);
        const float v259 = fabsf(v258);
        const i64 v260 = v224 + 9ll;
        const u16 v261 = *(b_samples + v260);
        const float v262 = bf16_to_f32(v261);
        const float v263 = fabsf(v262);
        const i64 v264 = v224 + 10ll;
        const u16 v265 = *(b_samples + v264);
        const float v266 = bf16_to_f32(v265);
        const float v267 = fabsf(v266);
        const i64 v268 = v224 + 11ll;
        const u16 v269 = *(b_samples + v268);
        const float v270 = bf16_to_f32(v269);
        const float v271 = fabsf(v270);
        const float v272 = fmaxf(v227, v231);
        const float v273 = fmaxf(v272, v235);
        const float v274 = fmaxf(v273, v239);
        const float v275 = fmaxf(v274, v243);
        const float v276 = fmaxf(v275, v247);
        const float v277 = fmaxf(v276, v251);
        const float v278 = fmaxf(v277, v255);
        const float v279 = fmaxf(v278, v259);
        const float v280 = fmaxf(v279, v263);
        const float v281 = fmaxf(v280, v267);
        const float v282 = fmaxf(v281, v271);
        *(b_own + v223) = v282;
      }
    }
  }
  // loudest.coll:8: for r in tiles(rows) {
  __syncthreads();
  const u32 v283 = *(b_epoch + 0ll);
  const u32 v284 = v283 + 1u;
  *(b_epoch + 0ll) = v284;
  const i64 v286 = (i64)blockIdx.x * 4ll;
  const i64 v287 = v286 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v288 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v288]) + v287, v284);
  }
  if (threadIdx.x < 4) {
    const i64 v289 = threadIdx.x;
    const i64 v290 = v286 + v289;
    wait_acquire_sys(b_flags + v290, v284, watch, (u32)(v289), 4u, (u32)(v290), 8u);
  }
  __syncthreads();
  const bool v291 = (u64)b_own_odd % 16 == 0;
  const bool v292 = (u64)b_peak % 16 == 0;
  const bool v293 = v291 & v292;
  const bool v295 = (u64)b_own % 16 == 0;
  const bool v296 = v295 & v292;
  if (v11) {
    if (__builtin_expect(v293, true)) {
      for (i64 v297 = blockIdx.x; v297 < v16; v297 += gridDim.x) {
        const i64 v298 = v297 * 2048ll;
        {
          const i64 v299 = threadIdx.x;
          const i64 v300 = v299 * 4ll;
          const i64 v301 = v298 + v300;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const Vec<float, 4> v302 = load_vec<float, 4>(((float*)b_own_odd_peers.p[0ll]) + v301);
          const Vec<float, 4> v303 = load_vec<float, 4>(((float*)b_own_odd_peers.p[1ll]) + v301);
          const Vec<float, 4> v304 = load_vec<float, 4>(((float*)b_own_odd_peers.p[2ll]) + v301);
          const Vec<float, 4> v305 = load_vec<float, 4>(((float*)b_own_odd_peers.p[3ll]) + v301);
          Vec<float, 4> v306;
          #pragma unroll
          for (int l = 0; l < 4; l++) v306.v[l] = fmaxf(v302.v[l], v303.v[l]);
          Vec<float, 4> v307;
          #pragma unroll
          for (int l = 0; l < 4; l++) v307.v[l] = fmaxf(v306.v[l], v304.v[l]);
          Vec<float, 4> v308;
          #pragma unroll
          for (int l = 0; l < 4; l++) v308.v[l] = fmaxf(v307.v[l], v305.v[l]);
          store_vec(b_peak + v301, v308);
        }
      }
    } else {
      // loudest.coll:8: for r in tiles(rows) {
      for (i64 v309 = blockIdx.x; v309 < v16; v309 += gridDim.x) {
        const i64 v310 = v309 * 2048ll;
        for (i64 v311 = threadIdx.x; v311 < 2048ll; v311 += 512) {
          const i64 v312 = v310 + v311;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const float v313 = *(((float*)b_own_odd_peers.p[0ll]) + v312);
          const float v314 = *(((float*)b_own_odd_peers.p[1ll]) + v312);
          const float v315 = *(((float*)b_own_odd_peers.p[2ll]) + v312);
          const float v316 = *(((float*)b_own_odd_peers.p[3ll]) + v312);
          const float v317 = fmaxf(v313, v314);
          const float v318 = fmaxf(v317, v315);
          const float v319 = fmaxf(v318, v316);
          *(b_peak + v312) = v319;
        }
      }
    }
    // loudest.coll:8: for r in tiles(rows) {
    if (__builtin_expect(v293, true)) {
      for (i64 v320 = first_row(v16); v320 < v20; v320 += gridDim.x) {
        const i64 v321 = v320 * 2048ll;
        const i64 v322 = v14 - v321;
        const i64 v323 = v322 / 4ll;
        const i64 v324 = v323 * 4ll;
        for (i64 v325 = threadIdx.x; v325 < v323; v325 += 512) {
          const i64 v326 = v325 * 4ll;
          const i64 v327 = v321 + v326;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const Vec<float, 4> v328 = load_vec<float, 4>(((float*)b_own_odd_peers.p[0ll]) + v327);
          const Vec<float, 4> v329 = load_vec<float, 4>(((float*)b_own_odd_peers.p[1ll]) + v327);
          const Vec<float, 4> v330 = load_vec<float, 4>(((float*)b_own_odd_peers.p[2ll]) + v327);
          const Vec<float, 4> v331 = load_vec<float, 4>(((float*)b_own_odd_peers.p[3ll]) + v327);
          Vec<float, 4> v332;
          #pragma unroll
          for (int l = 0; l < 4; l++) v332.v[l] = fmaxf(v328.v[l], v329.v[l]);
          Vec<float, 4> v333;
          #pragma unroll
          for (int l = 0; l < 4; l++) v333.v[l] = fmaxf(v332.v[l], v330.v[l]);
          Vec<float, 4> v334;
          #pragma unroll
          for (int l = 0; l < 4; l++) v334.v[l] = fmaxf(v333.v[l], v331.v[l]);
          store_vec(b_peak + v327, v334);
        }
        // loudest.coll:8: for r in tiles(rows) {
        {
          const i64 v335 = v324 + threadIdx.x;
          if (v335 < v322) {
            const i64 v336 = v321 + v335;
            // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
            const float v337 = *(((float*)b_own_odd_peers.p[0ll]) + v336);
            const float v338 = *(((float*)b_own_odd_peers.p[1ll]) + v336);
            const float v339 = *(((float*)b_own_odd_peers.p[2ll]) + v336);
            const float v340 = *(((float*)b_own_odd_peers.p[3ll]) + v336);
            const float v341 = fmaxf(v337, v338);
            const float v342 = fmaxf(v341, v339);
            const float v343 = fmaxf(v342, v340);
            *(b_peak + v336) = v343;
          }
        }
      }
    } else {
      // loudest.coll:8: for r in tiles(rows) {
      for (i64 v344 = first_row(v16); v344 < v20; v344 += gridDim.x) {
        const i64 v345 = v344 * 2048ll;
        const i64 v346 = v14 - v345;
        for (i64 v347 = threadIdx.x; v347 < v346; v347 += 512) {
          const i64 v348 = v345 + v347;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const float v349 = *(((float*)b_own_odd_peers.p[0ll]) + v348);
          const float v350 = *(((float*)b_own_odd_peers.p[1ll]) + v348);
          const float v351 = *(((float*)b_own_odd_peers.p[2ll]) + v348);
          const float v352 = *(((float*)b_own_odd_peers.p[3ll]) + v348);
          const float v353 = fmaxf(v349, v350);
          const float v354 = fmaxf(v353, v351);
          const float v355 = fmaxf(v354, v352);
          *(b_peak + v348) = v355;
        }
      }
    }
  } else {
    // loudest.coll:8: for r in tiles(rows) {
    if (__builtin_expect(v296, true)) {
      for (i64 v356 = blockIdx.x; v356 < v16; v356 += gridDim.x) {
        const i64 v357 = v356 * 2048ll;
        {
          const i64 v358 = threadIdx.x;
          const i64 v359 = v358 * 4ll;
          const i64 v360 = v357 + v359;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const Vec<float, 4> v361 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v360);
          const Vec<float, 4> v362 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v360);
          const Vec<float, 4> v363 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v360);
          const Vec<float, 4> v364 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v360);
          Vec<float, 4> v365;
          #pragma unroll
          for (int l = 0; l < 4; l++) v365.v[l] = fmaxf(v361.v[l], v362.v[l]);
          Vec<float, 4> v366;
          #pragma unroll
          for (int l = 0; l < 4; l++) v366.v[l] = fmaxf(v365.v[l], v363.v[l]);
          Vec<float, 4> v367;
          #pragma unroll
          for (int l = 0; l < 4; l++) v367.v[l] = fmaxf(v366.v[l], v364.v[l]);
          store_vec(b_peak + v360, v367);
        }
      }
    } else {
      // loudest.coll:8: for r in tiles(rows) {
      for (i64 v368 = blockIdx.x; v368 < v16; v368 += gridDim.x) {
        const i64 v369 = v368 * 2048ll;
        for (i64 v370 = threadIdx.x; v370 < 2048ll; v370 += 512) {
          const i64 v371 = v369 + v370;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const float v372 = *(((float*)b_own_peers.p[0ll]) + v371);
          const float v373 = *(((float*)b_own_peers.p[1ll]) + v371);
          const float v374 = *(((float*)b_own_peers.p[2ll]) + v371);
          const float v375 = *(((float*)b_own_peers.p[3ll]) + v371);
          const float v376 = fmaxf(v372, v373);
          const float v377 = fmaxf(v376, v374);
          const float v378 = fmaxf(v377, v375);
          *(b_peak + v371) = v378;
        }
      }
    }
    // loudest.coll:8: for r in tiles(rows) {
    if (__builtin_expect(v296, true)) {
      for (i64 v379 = first_row(v16); v379 < v20; v379 += gridDim.x) {
        const i64 v380 = v379 * 2048ll;
        const i64 v381 = v14 - v380;
        const i64 v382 = v381 / 4ll;
        const i64 v383 = v382 * 4ll;
        for (i64 v384 = threadIdx.x; v384 < v382; v384 += 512) {
          const i64 v385 = v384 * 4ll;
          const i64 v386 = v380 + v385;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const Vec<float, 4> v387 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v386);
          const Vec<float, 4> v388 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v386);
          const Vec<float, 4> v389 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v386);
          const Vec<float, 4> v390 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v386);
          Vec<float, 4> v391;
          #pragma unroll
          for (int l = 0; l < 4; l++) v391.v[l] = fmaxf(v387.v[l], v388.v[l]);
          Vec<float, 4> v392;
          #pragma unroll
          for (int l = 0; l < 4; l++) v392.v[l] = fmaxf(v391.v[l], v389.v[l]);
          Vec<float, 4> v393;
          #pragma unroll
          for (int l = 0; l < 4; l++) v393.v[l] = fmaxf(v392.v[l], v390.v[l]);
          store_vec(b_peak + v386, v393);
        }
        // loudest.coll:8: for r in tiles(rows) {
        {
          const i64 v394 = v383 + threadIdx.x;
          if (v394 < v381) {
            const i64 v395 = v380 + v394;
            // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
            const float v396 = *(((float*)b_own_peers.p[0ll]) + v395);
            const float v397 = *(((float*)b_own_peers.p[1ll]) + v395);
            const float v398 = *(((float*)b_own_peers.p[2ll]) + v395);
            const float v399 = *(((float*)b_own_peers.p[3ll]) + v395);
            const float v400 = fmaxf(v396, v397);
            const float v401 = fmaxf(v400, v398);
            const float v402 = fmaxf(v401, v399);
            *(b_peak + v395) = v402;
          }
        }
      }
    } else {
      // loudest.coll:8: for r in tiles(rows) {
      for (i64 v403 = first_row(v16); v403 < v20; v403 += gridDim.x) {
        const i64 v404 = v403 * 2048ll;
        const i64 v405 = v14 - v404;
        for (i64 v406 = threadIdx.x; v406 < v405; v406 += 512) {
          const i64 v407 = v404 + v406;
          // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
          const float v408 = *(((float*)b_own_peers.p[0ll]) + v407);
          const float v409 = *(((float*)b_own_peers.p[1ll]) + v407);
          const float v410 = *(((float*)b_own_peers.p[2ll]) + v407);
          const float v411 = *(((float*)b_own_peers.p[3ll]) + v407);
          const float v412 = fmaxf(v408, v409);
          const float v413 = fmaxf(v412, v410);
          const float v414 = fmaxf(v413, v411);
          *(b_peak + v407) = v414;
        }
      }
    }
  }
  // loudest.coll:8: for r in tiles(rows) {
  if (threadIdx.x < 132) {
    const i64 v416 = threadIdx.x;
    const i64 v417 = (i64)((u64)v416 % (u64)(i64)gridDim.x);
    const bool v418 = v417 == (i64)blockIdx.x;
    if (v418) {
      const u32 v419 = *(b_epoch + 0ll);
      *(b_epochs + v416) = v419;
      *(b_launches + v416) = v10;
    }
  }
}
