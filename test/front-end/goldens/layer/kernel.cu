// layer from layer.coll, compiled by collc for 4 ranks
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
struct alignas(64) TensorMap { u64 words[16]; };
template <int N> struct alignas(64) TensorMaps { TensorMap m[N]; };
struct Filling { u32 bytes; bool by_threads; };
__device__ __forceinline__ u32 ring_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
template <int STAGES> __device__ __forceinline__ u32 ring_full(const void* ring, i64 stage) { return ring_address(ring) + (u32)stage * 8; }
template <int STAGES> __device__ __forceinline__ u32 ring_free(const void* ring, i64 stage) { return ring_full<STAGES>(ring, stage) + STAGES * 8; }
template <int STAGES, int CONSUMERS, int PRODUCERS> __device__ __forceinline__ void ring_begin(const void* ring) {
  // What was read and written so far, by threads, comes before what the copy engine does.
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ring_full<STAGES>(ring, s)), "n"(PRODUCERS) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ring_free<STAGES>(ring, s)), "n"(CONSUMERS) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
}
template <int STAGES> __device__ __forceinline__ void ring_end(const void* ring) {
  __syncthreads();
  if (threadIdx.x == 0)
    for (int s = 0; s < 2 * STAGES; s++) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(ring_full<STAGES>(ring, s)) : "memory");
  __syncthreads();
}
__device__ __forceinline__ void ring_spin(u32 barrier, u32 parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
// The n-th time around, a stage is free after the consumers have released it n times, and full after the producer has filled it n + 1 times.
template <int STAGES> __device__ __forceinline__ void ring_acquire(const void* ring, i64 position) {
  ring_spin(ring_free<STAGES>(ring, (u64)position % STAGES), ((u64)position / STAGES & 1) ^ 1);
}
template <int STAGES> __device__ __forceinline__ void ring_wait(const void* ring, i64 position) {
  ring_spin(ring_full<STAGES>(ring, (u64)position % STAGES), (u64)position / STAGES & 1);
}
template <int STAGES> __device__ __forceinline__ void ring_release(const void* ring, i64 position) {
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ring_free<STAGES>(ring, (u64)position % STAGES)) : "memory");
}
// Every warp of the producer says that it is done with a stage. A barrier tells two phases apart: were it enough that the
// first warp says so, another that is slower than the ring could find the phase it waits for two back, and wait forever.
template <int STAGES, int FIRST> __device__ __forceinline__ void ring_fill(const void* ring, i64 position, Filling& filling) {
  const u32 full = ring_full<STAGES>(ring, (u64)position % STAGES);
  if (filling.by_threads) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x == FIRST)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(filling.bytes) : "memory");
  else if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(full) : "memory");
  filling = {0, false};
}
// threadIdx.x, read anew: what follows from it is computed where it is used, and not kept in registers through a main loop.
__device__ __forceinline__ u32 thread_here() { u32 t; asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t)); return t; }
// The copy engine addresses rows at multiples of 16 bytes.
template <typename T> __device__ __forceinline__ bool can_map(const T* from, i64 columns) { return (u64)from % 16 == 0 && columns * sizeof(T) % 16 == 0; }
__device__ __forceinline__ void ring_load(const void* to, const TensorMap* map, u32 full, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(ring_address(to)), "l"(map), "r"(full), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void ring_load(const void* to, const TensorMap* map, u32 full, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(ring_address(to)), "l"(map), "r"(full), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ __forceinline__ void ring_load(const void* to, const TensorMap* map, u32 full, int x, int y, int z, int v) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(ring_address(to)), "l"(map), "r"(full), "r"(x), "r"(y), "r"(z), "r"(v) : "memory");
}
__device__ __forceinline__ void ring_load(const void* to, const TensorMap* map, u32 full, int x, int y, int z, int v, int w) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(ring_address(to)), "l"(map), "r"(full), "r"(x), "r"(y), "r"(z), "r"(v), "r"(w) : "memory");
}
// As the copy engine lays it out: slabs of 128 bytes a row, their 16-byte pieces permuted by the row.
template <typename T, int ROWS, int COLS, int THREADS, int FIRST>
__device__ __forceinline__ void ring_copy(T* to, const T* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
  constexpr int SLAB = 128 / sizeof(T);
#pragma unroll 4
  for (int e = thread_here() - FIRST; e < ROWS * COLS; e += THREADS) {
    const int r = e / COLS, c = e % COLS, b = c % SLAB * (int)sizeof(T) ^ (r & 7) << 4;
    const bool inside = (row + r < rows) & (col + c < cols);
    to[(c / SLAB * ROWS + r) * SLAB + b / (int)sizeof(T)] = inside ? from[(row + r) * stride + col + c] : T(0);
  }
}
// A tile of 128-byte rows, swizzled: eight rows lie 1024 bytes apart, slabs as far as is said.
__device__ __forceinline__ u64 tile_descriptor(u32 address, u32 slab) {
  return (u64)((address & 0x3ffffu) >> 4) | (u64)(slab >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// The compiler moves no use of the accumulator across this.
template <int N> __device__ __forceinline__ void keep(float (&acc)[N]) {
#pragma unroll
  for (int l = 0; l < N; l++) asm volatile("" : "+f"(acc[l])::"memory");
}
// Of each 32 columns, a thread of a quad has four pairs, eight columns apart, in two rows: they become eight neighbours in each.
template <int N> __device__ __forceinline__ void spread_fragment(float* acc) {
  const int q = threadIdx.x & 3;
#pragma unroll
  for (int g = 0; g < N / 32; g++)
#pragma unroll
    for (int step = 1; step <= 2; step *= 2) {
      const bool up = (q & step) != 0;
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int x = 0; x < 4; x++) {
          if (j & step) continue;
          float &low = acc[g * 16 + j * 4 + x], &high = acc[g * 16 + (j + step) * 4 + x];
          const float got = __shfl_xor_sync(0xffffffffu, up ? low : high, step);
          if (up) low = got;
          else high = got;
        }
    }
}
__device__ __forceinline__ void wgmma_m64n256k16_bf16_nt(float* d, u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(384, 1)
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_b_map_64x64) {
  const Watch watch = {timeout, status, (u32)rank};
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  u16* const b_out = (u16*)b_out_peers.p[rank];
  u16* const b_ring_a_bf16_4x128x64 = (u16*)(shared_memory + 0);
  u16* const b_ring_b_bf16_4x64x256 = (u16*)(shared_memory + 65536);
  float b_accumulator_128x256[128];
  u32* const b_ring_4 = (u32*)(shared_memory + 196608);
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
      wait_acquire_sys(b_flags + v40, v14, watch, (u32)(v33), 5u, (u32)(v40), 5u);
    }
  }
  __syncthreads();
  const i64 v43 = d_k + 63ll;
  const i64 v44 = v43 / 64ll;
  const i64 v46 = v44 < 32ll ? v44 : 32ll;
  const i64 v50 = v7 + 127ll;
  const i64 v51 = v50 / 128ll;
  const i64 v54 = d_n + 255ll;
  const i64 v55 = v54 / 256ll;
  const i64 v56 = v51 * v55;
  const i64 v57 = v56 > 1ll ? v56 : 1ll;
  const i64 v58 = 132ll / v57;
  const i64 v59 = v58 * 3ll;
  const i64 v60 = v46 < v59 ? v46 : v59;
  const i64 v61 = v7 * d_n;
  const i64 v63 = v44 * 64ll;
  const i64 v64 = v60 < v58 ? v60 : v58;
  const i64 v65 = v64 > 1ll ? v64 : 1ll;
  const i64 v66 = v65 - 1ll;
  const i64 v67 = v44 + v66;
  const i64 v68 = v67 / v65;
  const i64 v69 = v65 * v61;
  const i64 v70 = v69 / 5469ll;
  const i64 v72 = v68 + 8ll;
  const i64 v73 = v72 * 64ll;
  const i64 v74 = v73 + v70;
  const bool v75 = v65 > 1ll;
  const i64 v77 = 264ll / v57;
  const i64 v78 = v60 < v77 ? v60 : v77;
  const i64 v79 = v78 > 1ll ? v78 : 1ll;
  const i64 v80 = v79 - 1ll;
  const i64 v81 = v44 + v80;
  const i64 v82 = v81 / v79;
  const i64 v83 = v79 * v61;
  const i64 v84 = v83 / 5469ll;
  const i64 v85 = v82 * 2ll;
  const i64 v86 = v85 + 8ll;
  const i64 v87 = v86 * 64ll;
  const i64 v88 = v87 + v84;
  const bool v89 = v79 > 1ll;
  const bool v90 = v74 < v63;
  const bool v91 = v75 & v90;
  const i64 v92 = v91 ? v68 : v44;
  const i64 v93 = v91 ? v74 : v63;
  const bool v94 = v88 < v93;
  const bool v95 = v89 & v94;
  const i64 v96 = v95 ? v82 : v92;
  const i64 v97 = v96 > 1ll ? v96 : 1ll;
  const i64 v98 = v97 - 1ll;
  const i64 v99 = v44 + v98;
  const i64 v100 = v99 / v97;
  const i64 v101 = v100 > 1ll ? v100 : 1ll;
  const bool v102 = v101 > 1ll;
  {
    ring_begin<4, 8, 4>(b_ring_4);
    if (threadIdx.x < 256) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
      const i64 v105 = v7 > 0ll ? v7 : 0ll;
      const i64 v106 = v105 + 127ll;
      const i64 v107 = v106 / 128ll;
      const i64 v108 = d_n > 0ll ? d_n : 0ll;
      const i64 v109 = v108 + 255ll;
      const i64 v110 = v109 / 256ll;
      const i64 v111 = v107 * v110;
      const i64 v112 = v111 * v101;
      const i64 v114 = 8ll * v110;
      const bool v115 = v96 > 0ll;
      const i64 v117 = d_m / 4ll;
      const bool v119 = (u64)b_slices % 16 == 0;
      const i64 v120 = d_n % 8ll;
      const bool v121 = v120 == 0ll;
      const bool v122 = v119 & v121;
      const i64 v123 = d_n % 8ll;
      const bool v124 = v123 == 0ll;
      const bool v125 = v122 & v124;
      const bool v126 = (u64)b_bias % 16 == 0;
      const bool v127 = (u64)b_out % 16 == 0;
      const bool v128 = v126 & v127;
      const bool v129 = v128 & v121;
      const bool v130 = v129 & v124;
      Vec<float, 8> v131;
      #pragma unroll
      for (int l = 0; l < 8; l++) v131.v[l] = 5e-1f;
      for (i64 v132 = blockIdx.x; v132 < v112; v132 += gridDim.x) {
        const i64 v133 = v132 / (i64)gridDim.x;
        const i64 v134 = v133 * v96;
        const i64 v135 = v132 % v111;
        const i64 v136 = v135 / v114;
        const i64 v137 = v136 * 8ll;
        const i64 v138 = v107 - v137;
        const i64 v139 = 8ll < v138 ? 8ll : v138;
        const i64 v140 = v135 % v114;
        const i64 v141 = v140 % v139;
        const i64 v142 = v137 + v141;
        const i64 v143 = v142 * 128ll;
        const i64 v144 = v140 / v139;
        const i64 v145 = v144 * 256ll;
        const i64 v146 = v132 / v111;
        #pragma unroll
        for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(float); l++) b_accumulator_128x256[l] = 0.0f;
        for (i64 v147 = 0ll; v147 < v96; v147++) {
          const i64 v148 = v134 + v147;
          ring_wait<4>(b_ring_4, v148);
          const i64 v149 = v148 % 4ll;
          {
            const u64 da = tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v149 * 8192) + threadIdx.x / 128 * 8192, 16);
            const u64 db = tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v149 * 16384), 8192);
            wgmma_fence();
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 0, db + 0);
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 2, db + 128);
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 4, db + 256);
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 6, db + 384);
            wgmma_commit();
          }
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          const bool v150 = v147 > 0ll;
          const i64 v151 = v148 - 1ll;
          if (v150) {
            ring_release<4>(b_ring_4, v151);
          }
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        keep(b_accumulator_128x256);
        const i64 v152 = v134 + v96;
        const i64 v153 = v152 - 1ll;
        if (v115) {
          ring_release<4>(b_ring_4, v153);
        }
        const i64 v154 = v7 - v143;
        const i64 v155 = d_n - v145;
        const i64 v156 = v146 * v117;
        if (v102) {
          if (v125) {
            const u32 tv157 = thread_here();
            spread_fragment<256>(b_accumulator_128x256);
            #pragma unroll
            for (int l = 0; l < 16; l++) {
              const i64 v157 = ((tv157 / 32 * 16 + tv157 % 32 / 4 + l % 2 * 8) * 256 + l / 2 * 32 + tv157 % 4 * 8) / 8 + 0;
              const i64 v158 = v157 * 8ll;
              const i64 v159 = v158 / 256ll;
              const i64 v160 = v158 % 256ll;
              const bool v161 = v159 < v154;
              const bool v162 = v160 < v155;
              const bool v163 = v161 & v162;
              const i64 v164 = v143 + v159;
              const i64 v165 = v145 + v160;
              const i64 v166 = v159 * 256ll;
              const i64 v167 = v166 + v160;
              const i64 v168 = v156 + v164;
              const i64 v169 = v168 * d_n;
              const i64 v170 = v169 + v165;
              if (v163) {
                Vec<float, 8> v171;
                v171.v[0] = b_accumulator_128x256[l / 2 * 16 + 0 / 2 * 4 + l % 2 * 2 + 0 % 2];
                v171.v[1] = b_accumulator_128x256[l / 2 * 16 + 1 / 2 * 4 + l % 2 * 2 + 1 % 2];
                v171.v[2] = b_accumulator_128x256[l / 2 * 16 + 2 / 2 * 4 + l % 2 * 2 + 2 % 2];
                v171.v[3] = b_accumulator_128x256[l / 2 * 16 + 3 / 2 * 4 + l % 2 * 2 + 3 % 2];
                v171.v[4] = b_accumulator_128x256[l / 2 * 16 + 4 / 2 * 4 + l % 2 * 2 + 4 % 2];
                v171.v[5] = b_accumulator_128x256[l / 2 * 16 + 5 / 2 * 4 + l % 2 * 2 + 5 % 2];
                v171.v[6] = b_accumulator_128x256[l / 2 * 16 + 6 / 2 * 4 + l % 2 * 2 + 6 % 2];
                v171.v[7] = b_accumulator_128x256[l / 2 * 16 + 7 / 2 * 4 + l % 2 * 2 + 7 % 2];
                store_vec(b_slices + v170, v171);
              }
            }
          } else {
            const u32 tv172 = thread_here();
            #pragma unroll
            for (int l = 0; l < 128; l++) {
              const i64 v172 = (tv172 / 32 * 16 + tv172 % 32 / 4 + l / 2 % 2 * 8) * 256 + l / 4 * 8 + tv172 % 4 * 2 + l % 2;
              const i64 v173 = v172 / 256ll;
              const i64 v174 = v172 % 256ll;
              const bool v175 = v173 < v154;
              const bool v176 = v174 < v155;
              const bool v177 = v175 & v176;
              const i64 v178 = v143 + v173;
              const i64 v179 = v145 + v174;
              const i64 v180 = v173 * 256ll;
              const i64 v181 = v180 + v174;
              const i64 v182 = v156 + v178;
              const i64 v183 = v182 * d_n;
              const i64 v184 = v183 + v179;
              if (v177) {
                const float v185 = b_accumulator_128x256[l];
                *(b_slices + v184) = v185;
              }
            }
          }
        } else {
          if (v130) {
            const u32 tv186 = thread_here();
            spread_fragment<256>(b_accumulator_128x256);
            #pragma unroll
            for (int l = 0; l < 16; l++) {
              const i64 v186 = ((tv186 / 32 * 16 + tv186 % 32 / 4 + l % 2 * 8) * 256 + l / 2 * 32 + tv186 % 4 * 8) / 8 + 0;
              const i64 v187 = v186 * 8ll;
              const i64 v188 = v187 / 256ll;
              const i64 v189 = v187 % 256ll;
              const bool v190 = v188 < v154;
              const bool v191 = v189 < v155;
              const bool v192 = v190 & v191;
              const i64 v193 = v143 + v188;
              const i64 v194 = v145 + v189;
              const i64 v195 = v193 + v8;
              // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
              const i64 v196 = v188 * 256ll;
              const i64 v197 = v196 + v189;
              // layer.coll:5: out = gather(silu(hidden), to: 0)
              const i64 v198 = v193 * d_n;
              const i64 v199 = v198 + v194;
              const i64 v200 = v195 * d_n;
              const i64 v201 = v200 + v194;
              if (v192) {
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                Vec<float, 8> v202;
                v202.v[0] = b_accumulator_128x256[l / 2 * 16 + 0 / 2 * 4 + l % 2 * 2 + 0 % 2];
                v202.v[1] = b_accumulator_128x256[l / 2 * 16 + 1 / 2 * 4 + l % 2 * 2 + 1 % 2];
                v202.v[2] = b_accumulator_128x256[l / 2 * 16 + 2 / 2 * 4 + l % 2 * 2 + 2 % 2];
                v202.v[3] = b_accumulator_128x256[l / 2 * 16 + 3 / 2 * 4 + l % 2 * 2 + 3 % 2];
                v202.v[4] = b_accumulator_128x256[l / 2 * 16 + 4 / 2 * 4 + l % 2 * 2 + 4 % 2];
                v202.v[5] = b_accumulator_128x256[l / 2 * 16 + 5 / 2 * 4 + l % 2 * 2 + 5 % 2];
                v202.v[6] = b_accumulator_128x256[l / 2 * 16 + 6 / 2 * 4 + l % 2 * 2 + 6 % 2];
                v202.v[7] = b_accumulator_128x256[l / 2 * 16 + 7 / 2 * 4 + l % 2 * 2 + 7 % 2];
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                Vec<float, 8> v203;
                #pragma unroll
                for (int l = 0; l < 8; l++) v203.v[l] = v131.v[l] * v202.v[l];
                const Vec<u16, 8> v204 = load_vec<u16, 8>(b_bias + v199);
                Vec<float, 8> v205;
                #pragma unroll
                for (int l = 0; l < 8; l++) v205.v[l] = bf16_to_f32(v204.v[l]);
                Vec<float, 8> v206;
                #pragma unroll
                for (int l = 0; l < 8; l++) v206.v[l] = v203.v[l] + v205.v[l];
                Vec<float, 8> v207;
                #pragma unroll
                for (int l = 0; l < 8; l++) v207.v[l] = fn_silu(v206.v[l]);
                Vec<u16, 8> v208;
                #pragma unroll
                for (int l = 0; l < 8; l++) v208.v[l] = f32_to_bf16(v207.v[l]);
                store_vec(((u16*)b_out_peers.p[0ll]) + v201, v208);
              }
            }
          } else {
            const u32 tv209 = thread_here();
            #pragma unroll
            for (int l = 0; l < 128; l++) {
              const i64 v209 = (tv209 / 32 * 16 + tv209 % 32 / 4 + l / 2 % 2 * 8) * 256 + l / 4 * 8 + tv209 % 4 * 2 + l % 2;
              const i64 v210 = v209 / 256ll;
              const i64 v211 = v209 % 256ll;
              const bool v212 = v210 < v154;
              const bool v213 = v211 < v155;
              const bool v214 = v212 & v213;
              const i64 v215 = v143 + v210;
              const i64 v216 = v145 + v211;
              const i64 v217 = v215 + v8;
              // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
              const i64 v218 = v210 * 256ll;
              const i64 v219 = v218 + v211;
              // layer.coll:5: out = gather(silu(hidden), to: 0)
              const i64 v220 = v215 * d_n;
              const i64 v221 = v220 + v216;
              const i64 v222 = v217 * d_n;
              const i64 v223 = v222 + v216;
              if (v214) {
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const float v224 = b_accumulator_128x256[l];
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const float v225 = 5e-1f * v224;
                const u16 v226 = *(b_bias + v221);
                const float v227 = bf16_to_f32(v226);
                const float v228 = v225 + v227;
                const float v229 = fn_silu(v228);
                const u16 v230 = f32_to_bf16(v229);
                *(((u16*)b_out_peers.p[0ll]) + v223) = v230;
              }
            }
          }
        }
      }
    } else {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
      Filling filling = {0, false};
      const i64 v231 = v7 > 0ll ? v7 : 0ll;
      const i64 v232 = v231 + 127ll;
      const i64 v233 = v232 / 128ll;
      const i64 v234 = d_n > 0ll ? d_n : 0ll;
      const i64 v235 = v234 + 255ll;
      const i64 v236 = v235 / 256ll;
      const i64 v237 = v233 * v236;
      const i64 v238 = v237 * v101;
      const i64 v240 = 8ll * v236;
      for (i64 v241 = blockIdx.x; v241 < v238; v241 += gridDim.x) {
        const i64 v242 = v241 / (i64)gridDim.x;
        const i64 v243 = v242 * v96;
        const i64 v244 = v241 % v237;
        const i64 v245 = v244 / v240;
        const i64 v246 = v245 * 8ll;
        const i64 v247 = v233 - v246;
        const i64 v248 = 8ll < v247 ? 8ll : v247;
        const i64 v249 = v244 % v240;
        const i64 v250 = v249 % v248;
        const i64 v251 = v246 + v250;
        const i64 v252 = v251 * 128ll;
        const i64 v253 = v249 / v248;
        const i64 v254 = v253 * 256ll;
        const i64 v255 = v241 / v237;
        const i64 v256 = v255 * v96;
        for (i64 v257 = 0ll; v257 < v96; v257++) {
          const i64 v258 = v243 + v257;
          const i64 v259 = v258 % 4ll;
          const i64 v260 = v256 + v257;
          const i64 v261 = v260 * 64ll;
          ring_acquire<4>(b_ring_4, v258);
          if (can_map(b_a, d_k)) {
            filling.bytes += 16384;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v259 * 8192 + s * 8192, &b_a_map_128x64, ring_full<4>(b_ring_4, v259), (int)(v261) + s * 64, (int)(v252));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v259 * 8192, b_a, d_k, (d_m / 4ll), d_k, v252, v261);
          }
          if (can_map(b_b, d_n)) {
            filling.bytes += 32768;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v259 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v259), (int)(v254) + s * 64, (int)(v261));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v259 * 16384, b_b, d_n, d_k, d_n, v261, v254);
          }
          ring_fill<4, 256>(b_ring_4, v258, filling);
        }
      }
    }
    ring_end<4>(b_ring_4);
    if (threadIdx.x < 256) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 168;");
    } else {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 168;");
    }
  }
  const i64 v262 = v7 > 0ll ? v7 : 0ll;
  const i64 v263 = d_n > 0ll ? d_n : 0ll;
  const i64 v264 = v262 * v263;
  const i64 v266 = v264 / 3072ll;
  const i64 v268 = v264 + 3071ll;
  const i64 v269 = v268 / 3072ll;
  const bool v270 = (u64)b_slices % 16 == 0;
  const bool v271 = (u64)b_bias % 16 == 0;
  const bool v272 = v270 & v271;
  const bool v273 = (u64)b_out % 16 == 0;
  const bool v274 = v272 & v273;
  const i64 v275 = v263 % 8ll;
  const bool v276 = v275 == 0ll;
  const bool v277 = v274 & v276;
  const i64 v278 = d_n % 8ll;
  const bool v279 = v278 == 0ll;
  const bool v280 = v277 & v279;
  Vec<float, 8> v282;
  #pragma unroll
  for (int l = 0; l < 8; l++) v282.v[l] = 5e-1f;
  const i64 v283 = (i64)rank % 4ll;
  const i64 v284 = (i64)gridDim.x * 4ll;
  const i64 v285 = (i64)gridDim.x * 2ll;
  const i64 v286 = (i64)gridDim.x * 3ll;
  if (v102) {
    __syncthreads();
    const u32 v287 = *(b_epoch + 0ll);
    const u32 v288 = v287 + 1u;
    *(b_epoch + 0ll) = v288;
    if (threadIdx.x < 1) {
      const i64 v289 = threadIdx.x;
      signal_set_release_gpu(b_flags + v20, v288);
    }
    for (i64 v290 = threadIdx.x; v290 < (i64)gridDim.x; v290 += 384) {
      const i64 v291 = v290 * 4ll;
      const i64 v292 = v291 + v283;
      wait_acquire_gpu(b_flags + v292, v288, watch, (u32)(v283), 5u, (u32)(v292), 5u);
    }
    __syncthreads();
    if (v280) {
      const i64 v293 = v266 / v284;
      for (i64 v294 = 0ll; v294 < v293; v294++) {
        const i64 v295 = v294 * v284;
        const i64 v296 = v295 + (i64)blockIdx.x;
        const i64 v297 = v296 * 3072ll;
        const i64 v298 = v296 + (i64)gridDim.x;
        const i64 v299 = v298 * 3072ll;
        const i64 v300 = v296 + v285;
        const i64 v301 = v300 * 3072ll;
        const i64 v302 = v296 + v286;
        const i64 v303 = v302 * 3072ll;
        {
          const i64 v304 = threadIdx.x;
          const i64 v305 = v304 * 8ll;
          const i64 v306 = v297 + v305;
          const i64 v307 = v299 + v305;
          const i64 v308 = v301 + v305;
          const i64 v309 = v303 + v305;
          const i64 v310 = v306 % v263;
          const i64 v311 = v307 % v263;
          const i64 v312 = v308 % v263;
          const i64 v313 = v309 % v263;
          const i64 v314 = v306 / v263;
          const i64 v315 = v307 / v263;
          const i64 v316 = v308 / v263;
          const i64 v317 = v309 / v263;
          const i64 v318 = v314 + v8;
          const i64 v319 = v315 + v8;
          const i64 v320 = v316 + v8;
          const i64 v321 = v317 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v323;
          for (int l = 0; l < 8; l++) v323.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v322 = 0ll; v322 < v101; v322++) {
            const i64 v324 = v322 * v7;
            const i64 v325 = v324 + v314;
            const i64 v326 = v325 * d_n;
            const i64 v327 = v326 + v310;
            const Vec<float, 8> v328 = load_vec<float, 8>(b_slices + v327);
            for (int l = 0; l < 8; l++) v323.v[l] = v323.v[l] + v328.v[l];
          }
          Vec<float, 8> v330;
          for (int l = 0; l < 8; l++) v330.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v329 = 0ll; v329 < v101; v329++) {
            const i64 v331 = v329 * v7;
            const i64 v332 = v331 + v315;
            const i64 v333 = v332 * d_n;
            const i64 v334 = v333 + v311;
            const Vec<float, 8> v335 = load_vec<float, 8>(b_slices + v334);
            for (int l = 0; l < 8; l++) v330.v[l] = v330.v[l] + v335.v[l];
          }
          Vec<float, 8> v337;
          for (int l = 0; l < 8; l++) v337.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v336 = 0ll; v336 < v101; v336++) {
            const i64 v338 = v336 * v7;
            const i64 v339 = v338 + v316;
            const i64 v340 = v339 * d_n;
            const i64 v341 = v340 + v312;
            const Vec<float, 8> v342 = load_vec<float, 8>(b_slices + v341);
            for (int l = 0; l < 8; l++) v337.v[l] = v337.v[l] + v342.v[l];
          }
          Vec<float, 8> v344;
          for (int l = 0; l < 8; l++) v344.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v343 = 0ll; v343 < v101; v343++) {
            const i64 v345 = v343 * v7;
            const i64 v346 = v345 + v317;
            const i64 v347 = v346 * d_n;
            const i64 v348 = v347 + v313;
            const Vec<float, 8> v349 = load_vec<float, 8>(b_slices + v348);
            for (int l = 0; l < 8; l++) v344.v[l] = v344.v[l] + v349.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v350;
          #pragma unroll
          for (int l = 0; l < 8; l++) v350.v[l] = v282.v[l] * v323.v[l];
          Vec<float, 8> v351;
          #pragma unroll
          for (int l = 0; l < 8; l++) v351.v[l] = v282.v[l] * v330.v[l];
          Vec<float, 8> v352;
          #pragma unroll
          for (int l = 0; l < 8; l++) v352.v[l] = v282.v[l] * v337.v[l];
          Vec<float, 8> v353;
          #pragma unroll
          for (int l = 0; l < 8; l++) v353.v[l] = v282.v[l] * v344.v[l];
          const i64 v354 = v314 * d_n;
          const i64 v355 = v315 * d_n;
          const i64 v356 = v316 * d_n;
          const i64 v357 = v317 * d_n;
          const i64 v358 = v354 + v310;
          const i64 v359 = v355 + v311;
          const i64 v360 = v356 + v312;
          const i64 v361 = v357 + v313;
          const Vec<u16, 8> v362 = load_vec<u16, 8>(b_bias + v358);
          const Vec<u16, 8> v363 = load_vec<u16, 8>(b_bias + v359);
          const Vec<u16, 8> v364 = load_vec<u16, 8>(b_bias + v360);
          const Vec<u16, 8> v365 = load_vec<u16, 8>(b_bias + v361);
          Vec<float, 8> v366;
          #pragma unroll
          for (int l = 0; l < 8; l++) v366.v[l] = bf16_to_f32(v362.v[l]);
          Vec<float, 8> v367;
          #pragma unroll
          for (int l = 0; l < 8; l++) v367.v[l] = bf16_to_f32(v363.v[l]);
          Vec<float, 8> v368;
          #pragma unroll
          for (int l = 0; l < 8; l++) v368.v[l] = bf16_to_f32(v364.v[l]);
          Vec<float, 8> v369;
          #pragma unroll
          for (int l = 0; l < 8; l++) v369.v[l] = bf16_to_f32(v365.v[l]);
          Vec<float, 8> v370;
          #pragma unroll
          for (int l = 0; l < 8; l++) v370.v[l] = v350.v[l] + v366.v[l];
          Vec<float, 8> v371;
          #pragma unroll
          for (int l = 0; l < 8; l++) v371.v[l] = v351.v[l] + v367.v[l];
          Vec<float, 8> v372;
          #pragma unroll
          for (int l = 0; l < 8; l++) v372.v[l] = v352.v[l] + v368.v[l];
          Vec<float, 8> v373;
          #pragma unroll
          for (int l = 0; l < 8; l++) v373.v[l] = v353.v[l] + v369.v[l];
          Vec<float, 8> v374;
          #pragma unroll
          for (int l = 0; l < 8; l++) v374.v[l] = fn_silu(v370.v[l]);
          Vec<float, 8> v375;
          #pragma unroll
          for (int l = 0; l < 8; l++) v375.v[l] = fn_silu(v371.v[l]);
          Vec<float, 8> v376;
          #pragma unroll
          for (int l = 0; l < 8; l++) v376.v[l] = fn_silu(v372.v[l]);
          Vec<float, 8> v377;
          #pragma unroll
          for (int l = 0; l < 8; l++) v377.v[l] = fn_silu(v373.v[l]);
          Vec<u16, 8> v378;
          #pragma unroll
          for (int l = 0; l < 8; l++) v378.v[l] = f32_to_bf16(v374.v[l]);
          Vec<u16, 8> v379;
          #pragma unroll
          for (int l = 0; l < 8; l++) v379.v[l] = f32_to_bf16(v375.v[l]);
          Vec<u16, 8> v380;
          #pragma unroll
          for (int l = 0; l < 8; l++) v380.v[l] = f32_to_bf16(v376.v[l]);
          Vec<u16, 8> v381;
          #pragma unroll
          for (int l = 0; l < 8; l++) v381.v[l] = f32_to_bf16(v377.v[l]);
          const i64 v382 = v318 * d_n;
          const i64 v383 = v319 * d_n;
          const i64 v384 = v320 * d_n;
          const i64 v385 = v321 * d_n;
          const i64 v386 = v382 + v310;
          const i64 v387 = v383 + v311;
          const i64 v388 = v384 + v312;
          const i64 v389 = v385 + v313;
          store_vec(((u16*)b_out_peers.p[0ll]) + v386, v378);
          store_vec(((u16*)b_out_peers.p[0ll]) + v387, v379);
          store_vec(((u16*)b_out_peers.p[0ll]) + v388, v380);
          store_vec(((u16*)b_out_peers.p[0ll]) + v389, v381);
        }
      }
      const i64 v390 = v293 * v284;
      for (i64 v391 = v390 + ((i64)blockIdx.x - v390 % gridDim.x + gridDim.x) % gridDim.x; v391 < v266; v391 += gridDim.x) {
        const i64 v392 = v391 * 3072ll;
        {
          const i64 v393 = threadIdx.x;
          const i64 v394 = v393 * 8ll;
          const i64 v395 = v392 + v394;
          const i64 v396 = v395 % v263;
          const i64 v397 = v395 / v263;
          const i64 v398 = v397 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v400;
          for (int l = 0; l < 8; l++) v400.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v399 = 0ll; v399 < v101; v399++) {
            const i64 v401 = v399 * v7;
            const i64 v402 = v401 + v397;
            const i64 v403 = v402 * d_n;
            const i64 v404 = v403 + v396;
            const Vec<float, 8> v405 = load_vec<float, 8>(b_slices + v404);
            for (int l = 0; l < 8; l++) v400.v[l] = v400.v[l] + v405.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v406;
          #pragma unroll
          for (int l = 0; l < 8; l++) v406.v[l] = v282.v[l] * v400.v[l];
          const i64 v407 = v397 * d_n;
          const i64 v408 = v407 + v396;
          const Vec<u16, 8> v409 = load_vec<u16, 8>(b_bias + v408);
          Vec<float, 8> v410;
          #pragma unroll
          for (int l = 0; l < 8; l++) v410.v[l] = bf16_to_f32(v409.v[l]);
          Vec<float, 8> v411;
          #pragma unroll
          for (int l = 0; l < 8; l++) v411.v[l] = v406.v[l] + v410.v[l];
          Vec<float, 8> v412;
          #pragma unroll
          for (int l = 0; l < 8; l++) v412.v[l] = fn_silu(v411.v[l]);
          Vec<u16, 8> v413;
          #pragma unroll
          for (int l = 0; l < 8; l++) v413.v[l] = f32_to_bf16(v412.v[l]);
          const i64 v414 = v398 * d_n;
          const i64 v415 = v414 + v396;
          store_vec(((u16*)b_out_peers.p[0ll]) + v415, v413);
        }
      }
    } else {
      for (i64 v416 = blockIdx.x; v416 < v266; v416 += gridDim.x) {
        const i64 v417 = v416 * 3072ll;
        for (i64 v418 = threadIdx.x; v418 < 3072ll; v418 += 384) {
          const i64 v419 = v417 + v418;
          const i64 v420 = v419 % v263;
          const i64 v421 = v419 / v263;
          const i64 v422 = v421 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v424;
          v424 = 0e+0f;
          #pragma unroll 8
          for (i64 v423 = 0ll; v423 < v101; v423++) {
            const i64 v425 = v423 * v7;
            const i64 v426 = v425 + v421;
            const i64 v427 = v426 * d_n;
            const i64 v428 = v427 + v420;
            const float v429 = *(b_slices + v428);
            v424 = v424 + v429;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v430 = 5e-1f * v424;
          const i64 v431 = v421 * d_n;
          const i64 v432 = v431 + v420;
          const u16 v433 = *(b_bias + v432);
          const float v434 = bf16_to_f32(v433);
          const float v435 = v430 + v434;
          const float v436 = fn_silu(v435);
          const u16 v437 = f32_to_bf16(v436);
          const i64 v438 = v422 * d_n;
          const i64 v439 = v438 + v420;
          *(((u16*)b_out_peers.p[0ll]) + v439) = v437;
        }
      }
    }
    if (v280) {
      for (i64 v440 = v266 + ((i64)blockIdx.x - v266 % gridDim.x + gridDim.x) % gridDim.x; v440 < v269; v440 += gridDim.x) {
        const i64 v441 = v440 * 3072ll;
        const i64 v442 = v264 - v441;
        const i64 v443 = v442 / 8ll;
        const i64 v444 = v443 * 8ll;
        for (i64 v445 = threadIdx.x; v445 < v443; v445 += 384) {
          const i64 v446 = v445 * 8ll;
          const i64 v447 = v441 + v446;
          const i64 v448 = v447 % v263;
          const i64 v449 = v447 / v263;
          const i64 v450 = v449 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v452;
          for (int l = 0; l < 8; l++) v452.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v451 = 0ll; v451 < v101; v451++) {
            const i64 v453 = v451 * v7;
            const i64 v454 = v453 + v449;
            const i64 v455 = v454 * d_n;
            const i64 v456 = v455 + v448;
            const Vec<float, 8> v457 = load_vec<float, 8>(b_slices + v456);
            for (int l = 0; l < 8; l++) v452.v[l] = v452.v[l] + v457.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v458;
          #pragma unroll
          for (int l = 0; l < 8; l++) v458.v[l] = v282.v[l] * v452.v[l];
          const i64 v459 = v449 * d_n;
          const i64 v460 = v459 + v448;
          const Vec<u16, 8> v461 = load_vec<u16, 8>(b_bias + v460);
          Vec<float, 8> v462;
          #pragma unroll
          for (int l = 0; l < 8; l++) v462.v[l] = bf16_to_f32(v461.v[l]);
          Vec<float, 8> v463;
          #pragma unroll
          for (int l = 0; l < 8; l++) v463.v[l] = v458.v[l] + v462.v[l];
          Vec<float, 8> v464;
          #pragma unroll
          for (int l = 0; l < 8; l++) v464.v[l] = fn_silu(v463.v[l]);
          Vec<u16, 8> v465;
          #pragma unroll
          for (int l = 0; l < 8; l++) v465.v[l] = f32_to_bf16(v464.v[l]);
          const i64 v466 = v450 * d_n;
          const i64 v467 = v466 + v448;
          store_vec(((u16*)b_out_peers.p[0ll]) + v467, v465);
        }
        for (i64 v468 = v444 + threadIdx.x; v468 < v442; v468 += 384) {
          const i64 v469 = v441 + v468;
          const i64 v470 = v469 % v263;
          const i64 v471 = v469 / v263;
          const i64 v472 = v471 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v474;
          v474 = 0e+0f;
          #pragma unroll 8
          for (i64 v473 = 0ll; v473 < v101; v473++) {
            const i64 v475 = v473 * v7;
            const i64 v476 = v475 + v471;
            const i64 v477 = v476 * d_n;
            const i64 v478 = v477 + v470;
            const float v479 = *(b_slices + v478);
            v474 = v474 + v479;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v480 = 5e-1f * v474;
          const i64 v481 = v471 * d_n;
          const i64 v482 = v481 + v470;
          const u16 v483 = *(b_bias + v482);
          const float v484 = bf16_to_f32(v483);
          const float v485 = v480 + v484;
          const float v486 = fn_silu(v485);
          const u16 v487 = f32_to_bf16(v486);
          const i64 v488 = v472 * d_n;
          const i64 v489 = v488 + v470;
          *(((u16*)b_out_peers.p[0ll]) + v489) = v487;
        }
      }
    } else {
      for (i64 v490 = v266 + ((i64)blockIdx.x - v266 % gridDim.x + gridDim.x) % gridDim.x; v490 < v269; v490 += gridDim.x) {
        const i64 v491 = v490 * 3072ll;
        const i64 v492 = v264 - v491;
        for (i64 v493 = threadIdx.x; v493 < v492; v493 += 384) {
          const i64 v494 = v491 + v493;
          const i64 v495 = v494 % v263;
          const i64 v496 = v494 / v263;
          const i64 v497 = v496 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v499;
          v499 = 0e+0f;
          #pragma unroll 8
          for (i64 v498 = 0ll; v498 < v101; v498++) {
            const i64 v500 = v498 * v7;
            const i64 v501 = v500 + v496;
            const i64 v502 = v501 * d_n;
            const i64 v503 = v502 + v495;
            const float v504 = *(b_slices + v503);
            v499 = v499 + v504;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v505 = 5e-1f * v499;
          const i64 v506 = v496 * d_n;
          const i64 v507 = v506 + v495;
          const u16 v508 = *(b_bias + v507);
          const float v509 = bf16_to_f32(v508);
          const float v510 = v505 + v509;
          const float v511 = fn_silu(v510);
          const u16 v512 = f32_to_bf16(v511);
          const i64 v513 = v497 * d_n;
          const i64 v514 = v513 + v495;
          *(((u16*)b_out_peers.p[0ll]) + v514) = v512;
        }
      }
    }
  }
  __syncthreads();
  const u32 v515 = *(b_epoch + 0ll);
  const u32 v516 = v515 + 1u;
  *(b_epoch + 0ll) = v516;
  if (threadIdx.x < 4) {
    const i64 v517 = threadIdx.x;
    const bool v518 = v517 == 0ll;
    const bool v519 = v30 & v518;
    const bool v520 = v31 & v518;
    const bool v521 = v32 & v518;
    const bool v522 = v519 | v520;
    const bool v523 = v522 | v521;
    if (v523) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v517]) + v20, v516);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v524 = threadIdx.x;
    const bool v525 = v524 == 1ll;
    const bool v526 = v16 & v525;
    const bool v527 = v524 == 2ll;
    const bool v528 = v16 & v527;
    const bool v529 = v524 == 3ll;
    const bool v530 = v16 & v529;
    const bool v531 = v526 | v528;
    const bool v532 = v531 | v530;
    const i64 v533 = v15 + v524;
    if (v532) {
      wait_acquire_sys(b_flags + v533, v516, watch, (u32)(v524), 5u, (u32)(v533), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v534 = threadIdx.x;
    const i64 v535 = v534 % (i64)gridDim.x;
    const bool v536 = v535 == (i64)blockIdx.x;
    if (v536) {
      const u32 v537 = *(b_epoch + 0ll);
      *(b_epochs + v534) = v537;
    }
  }
}
