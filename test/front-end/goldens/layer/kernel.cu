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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
      wait_acquire_sys(b_flags + v40, v14, watch, (u32)(v33), 4u, (u32)(v40), 5u);
    }
  }
  __syncthreads();
  {
    ring_begin<4, 8, 4>(b_ring_4);
    if (threadIdx.x < 256) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
      const i64 v50 = v7 > 0ll ? v7 : 0ll;
      const i64 v51 = v50 + 127ll;
      const i64 v52 = v51 / 128ll;
      const i64 v53 = d_n > 0ll ? d_n : 0ll;
      const i64 v54 = v53 + 255ll;
      const i64 v55 = v54 / 256ll;
      const i64 v56 = v52 * v55;
      const i64 v58 = 8ll * v55;
      const i64 v59 = d_k + 63ll;
      const i64 v60 = v59 / 64ll;
      const bool v61 = v60 > 0ll;
      const bool v63 = (u64)b_bias % 16 == 0;
      const bool v64 = (u64)b_out % 16 == 0;
      const bool v65 = v63 & v64;
      const i64 v66 = d_n % 8ll;
      const bool v67 = v66 == 0ll;
      const bool v68 = v65 & v67;
      const i64 v69 = d_n % 8ll;
      const bool v70 = v69 == 0ll;
      const bool v71 = v68 & v70;
      Vec<float, 8> v72;
      #pragma unroll
      for (int l = 0; l < 8; l++) v72.v[l] = 5e-1f;
      for (i64 v73 = blockIdx.x; v73 < v56; v73 += gridDim.x) {
        const i64 v74 = v73 / v58;
        const i64 v75 = v74 * 8ll;
        const i64 v76 = v52 - v75;
        const i64 v77 = 8ll < v76 ? 8ll : v76;
        const i64 v78 = v73 % v58;
        const i64 v79 = v78 % v77;
        const i64 v80 = v75 + v79;
        const i64 v81 = v80 * 128ll;
        const i64 v82 = v78 / v77;
        const i64 v83 = v82 * 256ll;
        const i64 v84 = v73 / (i64)gridDim.x;
        const i64 v85 = v84 * v60;
        #pragma unroll
        for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(float); l++) b_accumulator_128x256[l] = 0.0f;
        for (i64 v86 = 0ll; v86 < v60; v86++) {
          const i64 v87 = v85 + v86;
          ring_wait<4>(b_ring_4, v87);
          const i64 v88 = v87 % 4ll;
          {
            const u64 da = tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v88 * 8192) + threadIdx.x / 128 * 8192, 16);
            const u64 db = tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v88 * 16384), 8192);
            wgmma_fence();
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 0, db + 0);
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 2, db + 128);
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 4, db + 256);
            wgmma_m64n256k16_bf16_nt(b_accumulator_128x256, da + 6, db + 384);
            wgmma_commit();
          }
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          const bool v89 = v86 > 0ll;
          const i64 v90 = v87 - 1ll;
          if (v89) {
            ring_release<4>(b_ring_4, v90);
          }
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        keep(b_accumulator_128x256);
        const i64 v91 = v85 + v60;
        const i64 v92 = v91 - 1ll;
        if (v61) {
          ring_release<4>(b_ring_4, v92);
        }
        const i64 v93 = v7 - v81;
        const i64 v94 = d_n - v83;
        if (v71) {
          const u32 tv95 = thread_here();
          spread_fragment<256>(b_accumulator_128x256);
          #pragma unroll
          for (int l = 0; l < 16; l++) {
            const i64 v95 = ((tv95 / 32 * 16 + tv95 % 32 / 4 + l % 2 * 8) * 256 + l / 2 * 32 + tv95 % 4 * 8) / 8 + 0;
            const i64 v96 = v95 * 8ll;
            const i64 v97 = v96 / 256ll;
            const i64 v98 = v96 % 256ll;
            const bool v99 = v97 < v93;
            const bool v100 = v98 < v94;
            const bool v101 = v99 & v100;
            const i64 v102 = v81 + v97;
            const i64 v103 = v83 + v98;
            const i64 v104 = v102 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            const i64 v105 = v97 * 256ll;
            const i64 v106 = v105 + v98;
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const i64 v107 = v102 * d_n;
            const i64 v108 = v107 + v103;
            const i64 v109 = v104 * d_n;
            const i64 v110 = v109 + v103;
            if (v101) {
              // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
              Vec<float, 8> v111;
              v111.v[0] = b_accumulator_128x256[l / 2 * 16 + 0 / 2 * 4 + l % 2 * 2 + 0 % 2];
              v111.v[1] = b_accumulator_128x256[l / 2 * 16 + 1 / 2 * 4 + l % 2 * 2 + 1 % 2];
              v111.v[2] = b_accumulator_128x256[l / 2 * 16 + 2 / 2 * 4 + l % 2 * 2 + 2 % 2];
              v111.v[3] = b_accumulator_128x256[l / 2 * 16 + 3 / 2 * 4 + l % 2 * 2 + 3 % 2];
              v111.v[4] = b_accumulator_128x256[l / 2 * 16 + 4 / 2 * 4 + l % 2 * 2 + 4 % 2];
              v111.v[5] = b_accumulator_128x256[l / 2 * 16 + 5 / 2 * 4 + l % 2 * 2 + 5 % 2];
              v111.v[6] = b_accumulator_128x256[l / 2 * 16 + 6 / 2 * 4 + l % 2 * 2 + 6 % 2];
              v111.v[7] = b_accumulator_128x256[l / 2 * 16 + 7 / 2 * 4 + l % 2 * 2 + 7 % 2];
              // layer.coll:5: out = gather(silu(hidden), to: 0)
              Vec<float, 8> v112;
              #pragma unroll
              for (int l = 0; l < 8; l++) v112.v[l] = v72.v[l] * v111.v[l];
              const Vec<u16, 8> v113 = load_vec<u16, 8>(b_bias + v108);
              Vec<float, 8> v114;
              #pragma unroll
              for (int l = 0; l < 8; l++) v114.v[l] = bf16_to_f32(v113.v[l]);
              Vec<float, 8> v115;
              #pragma unroll
              for (int l = 0; l < 8; l++) v115.v[l] = v112.v[l] + v114.v[l];
              Vec<float, 8> v116;
              #pragma unroll
              for (int l = 0; l < 8; l++) v116.v[l] = fn_silu(v115.v[l]);
              Vec<u16, 8> v117;
              #pragma unroll
              for (int l = 0; l < 8; l++) v117.v[l] = f32_to_bf16(v116.v[l]);
              store_vec(((u16*)b_out_peers.p[0ll]) + v110, v117);
            }
          }
        } else {
          const u32 tv118 = thread_here();
          #pragma unroll
          for (int l = 0; l < 128; l++) {
            const i64 v118 = (tv118 / 32 * 16 + tv118 % 32 / 4 + l / 2 % 2 * 8) * 256 + l / 4 * 8 + tv118 % 4 * 2 + l % 2;
            const i64 v119 = v118 / 256ll;
            const i64 v120 = v118 % 256ll;
            const bool v121 = v119 < v93;
            const bool v122 = v120 < v94;
            const bool v123 = v121 & v122;
            const i64 v124 = v81 + v119;
            const i64 v125 = v83 + v120;
            const i64 v126 = v124 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            const i64 v127 = v119 * 256ll;
            const i64 v128 = v127 + v120;
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const i64 v129 = v124 * d_n;
            const i64 v130 = v129 + v125;
            const i64 v131 = v126 * d_n;
            const i64 v132 = v131 + v125;
            if (v123) {
              // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
              const float v133 = b_accumulator_128x256[l];
              // layer.coll:5: out = gather(silu(hidden), to: 0)
              const float v134 = 5e-1f * v133;
              const u16 v135 = *(b_bias + v130);
              const float v136 = bf16_to_f32(v135);
              const float v137 = v134 + v136;
              const float v138 = fn_silu(v137);
              const u16 v139 = f32_to_bf16(v138);
              *(((u16*)b_out_peers.p[0ll]) + v132) = v139;
            }
          }
        }
      }
    } else {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
      Filling filling = {0, false};
      const i64 v140 = v7 > 0ll ? v7 : 0ll;
      const i64 v141 = v140 + 127ll;
      const i64 v142 = v141 / 128ll;
      const i64 v143 = d_n > 0ll ? d_n : 0ll;
      const i64 v144 = v143 + 255ll;
      const i64 v145 = v144 / 256ll;
      const i64 v146 = v142 * v145;
      const i64 v148 = 8ll * v145;
      const i64 v149 = d_k + 63ll;
      const i64 v150 = v149 / 64ll;
      for (i64 v151 = blockIdx.x; v151 < v146; v151 += gridDim.x) {
        const i64 v152 = v151 / v148;
        const i64 v153 = v152 * 8ll;
        const i64 v154 = v142 - v153;
        const i64 v155 = 8ll < v154 ? 8ll : v154;
        const i64 v156 = v151 % v148;
        const i64 v157 = v156 % v155;
        const i64 v158 = v153 + v157;
        const i64 v159 = v158 * 128ll;
        const i64 v160 = v156 / v155;
        const i64 v161 = v160 * 256ll;
        const i64 v162 = v151 / (i64)gridDim.x;
        const i64 v163 = v162 * v150;
        for (i64 v164 = 0ll; v164 < v150; v164++) {
          const i64 v165 = v163 + v164;
          const i64 v166 = v165 % 4ll;
          const i64 v167 = v164 * 64ll;
          ring_acquire<4>(b_ring_4, v165);
          if (can_map(b_a, d_k)) {
            filling.bytes += 16384;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v166 * 8192 + s * 8192, &b_a_map_128x64, ring_full<4>(b_ring_4, v166), (int)(v167) + s * 64, (int)(v159));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v166 * 8192, b_a, d_k, (d_m / 4ll), d_k, v159, v167);
          }
          if (can_map(b_b, d_n)) {
            filling.bytes += 32768;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v166 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v166), (int)(v161) + s * 64, (int)(v167));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v166 * 16384, b_b, d_n, d_k, d_n, v167, v161);
          }
          ring_fill<4, 256>(b_ring_4, v165, filling);
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
  __syncthreads();
  const u32 v168 = *(b_epoch + 0ll);
  const u32 v169 = v168 + 1u;
  *(b_epoch + 0ll) = v169;
  if (threadIdx.x < 4) {
    const i64 v170 = threadIdx.x;
    const bool v171 = v170 == 0ll;
    const bool v172 = v30 & v171;
    const bool v173 = v31 & v171;
    const bool v174 = v32 & v171;
    const bool v175 = v172 | v173;
    const bool v176 = v175 | v174;
    if (v176) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v170]) + v20, v169);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v177 = threadIdx.x;
    const bool v178 = v177 == 1ll;
    const bool v179 = v16 & v178;
    const bool v180 = v177 == 2ll;
    const bool v181 = v16 & v180;
    const bool v182 = v177 == 3ll;
    const bool v183 = v16 & v182;
    const bool v184 = v179 | v181;
    const bool v185 = v184 | v183;
    const i64 v186 = v15 + v177;
    if (v185) {
      wait_acquire_sys(b_flags + v186, v169, watch, (u32)(v177), 4u, (u32)(v186), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v188 = threadIdx.x;
    const i64 v189 = v188 % (i64)gridDim.x;
    const bool v190 = v189 == (i64)blockIdx.x;
    if (v190) {
      const u32 v191 = *(b_epoch + 0ll);
      *(b_epochs + v188) = v191;
    }
  }
}
