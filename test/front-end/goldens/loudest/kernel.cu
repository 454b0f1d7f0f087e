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
  // loudest.coll:6: own[r] = max(c in 0..columns) abs(samples[r, c])
  const i64 v14 = d_rows > 0ll ? d_rows : 0ll;
  const i64 v16 = v14 / 2048ll;
  const i64 v19 = v14 + 2047ll;
  const i64 v20 = v19 / 2048ll;
  if (v11) {
    for (i64 v21 = blockIdx.x; v21 < v16; v21 += gridDim.x) {
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
        *(b_own_odd + v24) = v27;
      }
    }
    for (i64 v32 = v16 + ((i64)blockIdx.x - v16 % gridDim.x + gridDim.x) % gridDim.x; v32 < v20; v32 += gridDim.x) {
      const i64 v33 = v32 * 2048ll;
      const i64 v34 = v14 - v33;
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
        *(b_own_odd + v36) = v39;
      }
    }
  } else {
    for (i64 v44 = blockIdx.x; v44 < v16; v44 += gridDim.x) {
      const i64 v45 = v44 * 2048ll;
      for (i64 v46 = threadIdx.x; v46 < 2048ll; v46 += 512) {
        const i64 v47 = v45 + v46;
        const i64 v48 = v47 * d_columns;
        float v50;
        v50 = __uint_as_float(0xff800000u);
        for (i64 v49 = 0ll; v49 < d_columns; v49++) {
          const i64 v51 = v48 + v49;
          const u16 v52 = *(b_samples + v51);
          const float v53 = bf16_to_f32(v52);
          const float v54 = fabsf(v53);
          v50 = fmaxf(v50, v54);
        }
        *(b_own + v47) = v50;
      }
    }
    for (i64 v55 = v16 + ((i64)blockIdx.x - v16 % gridDim.x + gridDim.x) % gridDim.x; v55 < v20; v55 += gridDim.x) {
      const i64 v56 = v55 * 2048ll;
      const i64 v57 = v14 - v56;
      for (i64 v58 = threadIdx.x; v58 < v57; v58 += 512) {
        const i64 v59 = v56 + v58;
        const i64 v60 = v59 * d_columns;
        float v62;
        v62 = __uint_as_float(0xff800000u);
        for (i64 v61 = 0ll; v61 < d_columns; v61++) {
          const i64 v63 = v60 + v61;
          const u16 v64 = *(b_samples + v63);
          const float v65 = bf16_to_f32(v64);
          const float v66 = fabsf(v65);
          v62 = fmaxf(v62, v66);
        }
        *(b_own + v59) = v62;
      }
    }
  }
  // loudest.coll:8: for r in tiles(rows) {
  __syncthreads();
  const u32 v67 = *(b_epoch + 0ll);
  const u32 v68 = v67 + 1u;
  *(b_epoch + 0ll) = v68;
  const i64 v70 = (i64)blockIdx.x * 4ll;
  const i64 v71 = v70 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v72 = threadIdx.x;
    signal_set_release_sys(((u32*)b_flags_peers.p[v72]) + v71, v68);
  }
  if (threadIdx.x < 4) {
    const i64 v73 = threadIdx.x;
    const i64 v74 = v70 + v73;
    wait_acquire_sys(b_flags + v74, v68, watch, (u32)(v73), 4u, (u32)(v74), 8u);
  }
  __syncthreads();
  // loudest.coll:9: peak[r] = max(other in ranks) own@other[r]
  const bool v76 = (u64)b_own_odd % 16 == 0;
  const bool v77 = (u64)b_peak % 16 == 0;
  const bool v78 = v76 & v77;
  const bool v80 = (u64)b_own % 16 == 0;
  const bool v81 = v80 & v77;
  if (v11) {
    if (v78) {
      for (i64 v82 = blockIdx.x; v82 < v16; v82 += gridDim.x) {
        const i64 v83 = v82 * 2048ll;
        {
          const i64 v84 = threadIdx.x;
          const i64 v85 = v84 * 4ll;
          const i64 v86 = v83 + v85;
          const Vec<float, 4> v87 = load_vec<float, 4>(((float*)b_own_odd_peers.p[0ll]) + v86);
          const Vec<float, 4> v88 = load_vec<float, 4>(((float*)b_own_odd_peers.p[1ll]) + v86);
          const Vec<float, 4> v89 = load_vec<float, 4>(((float*)b_own_odd_peers.p[2ll]) + v86);
          const Vec<float, 4> v90 = load_vec<float, 4>(((float*)b_own_odd_peers.p[3ll]) + v86);
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
      }
    } else {
      for (i64 v94 = blockIdx.x; v94 < v16; v94 += gridDim.x) {
        const i64 v95 = v94 * 2048ll;
        for (i64 v96 = threadIdx.x; v96 < 2048ll; v96 += 512) {
          const i64 v97 = v95 + v96;
          const float v98 = *(((float*)b_own_odd_peers.p[0ll]) + v97);
          const float v99 = *(((float*)b_own_odd_peers.p[1ll]) + v97);
          const float v100 = *(((float*)b_own_odd_peers.p[2ll]) + v97);
          const float v101 = *(((float*)b_own_odd_peers.p[3ll]) + v97);
          const float v102 = fmaxf(v98, v99);
          const float v103 = fmaxf(v102, v100);
          const float v104 = fmaxf(v103, v101);
          *(b_peak + v97) = v104;
        }
      }
    }
    if (v78) {
      for (i64 v105 = v16 + ((i64)blockIdx.x - v16 % gridDim.x + gridDim.x) % gridDim.x; v105 < v20; v105 += gridDim.x) {
        const i64 v106 = v105 * 2048ll;
        const i64 v107 = v14 - v106;
        const i64 v108 = v107 / 4ll;
        const i64 v109 = v108 * 4ll;
        for (i64 v110 = threadIdx.x; v110 < v108; v110 += 512) {
          const i64 v111 = v110 * 4ll;
          const i64 v112 = v106 + v111;
          const Vec<float, 4> v113 = load_vec<float, 4>(((float*)b_own_odd_peers.p[0ll]) + v112);
          const Vec<float, 4> v114 = load_vec<float, 4>(((float*)b_own_odd_peers.p[1ll]) + v112);
          const Vec<float, 4> v115 = load_vec<float, 4>(((float*)b_own_odd_peers.p[2ll]) + v112);
          const Vec<float, 4> v116 = load_vec<float, 4>(((float*)b_own_odd_peers.p[3ll]) + v112);
          Vec<float, 4> v117;
          #pragma unroll
          for (int l = 0; l < 4; l++) v117.v[l] = fmaxf(v113.v[l], v114.v[l]);
          Vec<float, 4> v118;
          #pragma unroll
          for (int l = 0; l < 4; l++) v118.v[l] = fmaxf(v117.v[l], v115.v[l]);
          Vec<float, 4> v119;
          #pragma unroll
          for (int l = 0; l < 4; l++) v119.v[l] = fmaxf(v118.v[l], v116.v[l]);
          store_vec(b_peak + v112, v119);
        }
        for (i64 v120 = v109 + threadIdx.x; v120 < v107; v120 += 512) {
          const i64 v121 = v106 + v120;
          const float v122 = *(((float*)b_own_odd_peers.p[0ll]) + v121);
          const float v123 = *(((float*)b_own_odd_peers.p[1ll]) + v121);
          const float v124 = *(((float*)b_own_odd_peers.p[2ll]) + v121);
          const float v125 = *(((float*)b_own_odd_peers.p[3ll]) + v121);
          const float v126 = fmaxf(v122, v123);
          const float v127 = fmaxf(v126, v124);
          const float v128 = fmaxf(v127, v125);
          *(b_peak + v121) = v128;
        }
      }
    } else {
      for (i64 v129 = v16 + ((i64)blockIdx.x - v16 % gridDim.x + gridDim.x) % gridDim.x; v129 < v20; v129 += gridDim.x) {
        const i64 v130 = v129 * 2048ll;
        const i64 v131 = v14 - v130;
        for (i64 v132 = threadIdx.x; v132 < v131; v132 += 512) {
          const i64 v133 = v130 + v132;
          const float v134 = *(((float*)b_own_odd_peers.p[0ll]) + v133);
          const float v135 = *(((float*)b_own_odd_peers.p[1ll]) + v133);
          const float v136 = *(((float*)b_own_odd_peers.p[2ll]) + v133);
          const float v137 = *(((float*)b_own_odd_peers.p[3ll]) + v133);
          const float v138 = fmaxf(v134, v135);
          const float v139 = fmaxf(v138, v136);
          const float v140 = fmaxf(v139, v137);
          *(b_peak + v133) = v140;
        }
      }
    }
  } else {
    if (v81) {
      for (i64 v141 = blockIdx.x; v141 < v16; v141 += gridDim.x) {
        const i64 v142 = v141 * 2048ll;
        {
          const i64 v143 = threadIdx.x;
          const i64 v144 = v143 * 4ll;
          const i64 v145 = v142 + v144;
          const Vec<float, 4> v146 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v145);
          const Vec<float, 4> v147 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v145);
          const Vec<float, 4> v148 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v145);
          const Vec<float, 4> v149 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v145);
          Vec<float, 4> v150;
          #pragma unroll
          for (int l = 0; l < 4; l++) v150.v[l] = fmaxf(v146.v[l], v147.v[l]);
          Vec<float, 4> v151;
          #pragma unroll
          for (int l = 0; l < 4; l++) v151.v[l] = fmaxf(v150.v[l], v148.v[l]);
          Vec<float, 4> v152;
          #pragma unroll
          for (int l = 0; l < 4; l++) v152.v[l] = fmaxf(v151.v[l], v149.v[l]);
          store_vec(b_peak + v145, v152);
        }
      }
    } else {
      for (i64 v153 = blockIdx.x; v153 < v16; v153 += gridDim.x) {
        const i64 v154 = v153 * 2048ll;
        for (i64 v155 = threadIdx.x; v155 < 2048ll; v155 += 512) {
          const i64 v156 = v154 + v155;
          const float v157 = *(((float*)b_own_peers.p[0ll]) + v156);
          const float v158 = *(((float*)b_own_peers.p[1ll]) + v156);
          const float v159 = *(((float*)b_own_peers.p[2ll]) + v156);
          const float v160 = *(((float*)b_own_peers.p[3ll]) + v156);
          const float v161 = fmaxf(v157, v158);
          const float v162 = fmaxf(v161, v159);
          const float v163 = fmaxf(v162, v160);
          *(b_peak + v156) = v163;
        }
      }
    }
    if (v81) {
      for (i64 v164 = v16 + ((i64)blockIdx.x - v16 % gridDim.x + gridDim.x) % gridDim.x; v164 < v20; v164 += gridDim.x) {
        const i64 v165 = v164 * 2048ll;
        const i64 v166 = v14 - v165;
        const i64 v167 = v166 / 4ll;
        const i64 v168 = v167 * 4ll;
        for (i64 v169 = threadIdx.x; v169 < v167; v169 += 512) {
          const i64 v170 = v169 * 4ll;
          const i64 v171 = v165 + v170;
          const Vec<float, 4> v172 = load_vec<float, 4>(((float*)b_own_peers.p[0ll]) + v171);
          const Vec<float, 4> v173 = load_vec<float, 4>(((float*)b_own_peers.p[1ll]) + v171);
          const Vec<float, 4> v174 = load_vec<float, 4>(((float*)b_own_peers.p[2ll]) + v171);
          const Vec<float, 4> v175 = load_vec<float, 4>(((float*)b_own_peers.p[3ll]) + v171);
          Vec<float, 4> v176;
          #pragma unroll
          for (int l = 0; l < 4; l++) v176.v[l] = fmaxf(v172.v[l], v173.v[l]);
          Vec<float, 4> v177;
          #pragma unroll
          for (int l = 0; l < 4; l++) v177.v[l] = fmaxf(v176.v[l], v174.v[l]);
          Vec<float, 4> v178;
          #pragma unroll
          for (int l = 0; l < 4; l++) v178.v[l] = fmaxf(v177.v[l], v175.v[l]);
          store_vec(b_peak + v171, v178);
        }
        for (i64 v179 = v168 + threadIdx.x; v179 < v166; v179 += 512) {
          const i64 v180 = v165 + v179;
          const float v181 = *(((float*)b_own_peers.p[0ll]) + v180);
          const float v182 = *(((float*)b_own_peers.p[1ll]) + v180);
          const float v183 = *(((float*)b_own_peers.p[2ll]) + v180);
          const float v184 = *(((float*)b_own_peers.p[3ll]) + v180);
          const float v185 = fmaxf(v181, v182);
          const float v186 = fmaxf(v185, v183);
          const float v187 = fmaxf(v186, v184);
          *(b_peak + v180) = v187;
        }
      }
    } else {
      for (i64 v188 = v16 + ((i64)blockIdx.x - v16 % gridDim.x + gridDim.x) % gridDim.x; v188 < v20; v188 += gridDim.x) {
        const i64 v189 = v188 * 2048ll;
        const i64 v190 = v14 - v189;
        for (i64 v191 = threadIdx.x; v191 < v190; v191 += 512) {
          const i64 v192 = v189 + v191;
          const float v193 = *(((float*)b_own_peers.p[0ll]) + v192);
          const float v194 = *(((float*)b_own_peers.p[1ll]) + v192);
          const float v195 = *(((float*)b_own_peers.p[2ll]) + v192);
          const float v196 = *(((float*)b_own_peers.p[3ll]) + v192);
          const float v197 = fmaxf(v193, v194);
          const float v198 = fmaxf(v197, v195);
          const float v199 = fmaxf(v198, v196);
          *(b_peak + v192) = v199;
        }
      }
    }
  }
  if (threadIdx.x < 32) {
    const i64 v201 = threadIdx.x;
    const i64 v202 = v201 % (i64)gridDim.x;
    const bool v203 = v202 == (i64)blockIdx.x;
    if (v203) {
      const u32 v204 = *(b_epoch + 0ll);
      *(b_epochs + v201) = v204;
      *(b_launches + v201) = v10;
    }
  }
}
