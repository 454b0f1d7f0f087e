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
// Of less than -88, expf(-x) is no float, and what the result is, small as it is, may be multiplied by something large.
__device__ __forceinline__ float fn_silu(float x) { const float e = expf(-fabsf(x)); return (x < 0.0f ? x * e : x) / (1.0f + e); }
__device__ __forceinline__ float fn_sigmoid(float x) { const float e = expf(-fabsf(x)); return (x < 0.0f ? e : 1.0f) / (1.0f + e); }
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
// threadIdx.x, read anew: what follows from it is computed where it is used, and not kept in registers through a main loop.
__device__ __forceinline__ u32 thread_here() { u32 t; asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t)); return t; }
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
__device__ __forceinline__ void wgmma_m64n256k16_bf16_nt_64(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, %130, %131, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, %132, %133, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, %134, %135, 1, 1, 1, 0, 1;\n"
    "wgmma.commit_group.sync.aligned;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
    : "l"(a + 0), "l"(b + 0), "l"(a + 2), "l"(b + 128), "l"(a + 4), "l"(b + 256), "l"(a + 6), "l"(b + 384)
    : "memory");
}
__device__ __forceinline__ void wgmma_end_128(float* d) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) :: "memory");
}
__device__ __forceinline__ void put_fragment_256_f32(float* patch, const float* acc, u32 part, u32 lane) {
  float* const at = patch + lane / 4 * 40 + lane % 4 * 2;
  __syncwarp();
#pragma unroll
  for (int p = 0; p < 8; p++)
    if (p == part)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const float* d = acc + (p * 4 + j) * 4;
        *reinterpret_cast<float2*>(at + j * 8) = make_float2(d[0], d[1]);
        *reinterpret_cast<float2*>(at + j * 8 + 320) = make_float2(d[2], d[3]);
      }
  __syncwarp();
}

extern "C" __global__ void __launch_bounds__(384, 1)
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_b_map_64x64) {
  const Watch watch = {timeout, status, (u32)rank};
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  u16* const b_out = (u16*)b_out_peers.p[rank];
  u16* const b_ring_a_bf16_4x128x64 = (u16*)(shared_memory + 0);
  u16* const b_ring_b_bf16_4x64x256 = (u16*)(shared_memory + 65536);
  float b_accumulator_128x256[128];
  float* const b_patch_128x40 = (float*)(shared_memory + 196608);
  u32* const b_ring_4 = (u32*)(shared_memory + 217088);
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
  const i64 v59 = v46 < v58 ? v46 : v58;
  const i64 v61 = 66ll / v57;
  const i64 v62 = 1ll < v61 ? 1ll : v61;
  const i64 v63 = v59 * v62;
  const i64 v64 = v63 > 1ll ? v63 : 1ll;
  const i64 v65 = v64 - 1ll;
  const i64 v66 = v44 + v65;
  const i64 v67 = v66 / v64;
  const i64 v69 = v7 * d_n;
  const i64 v70 = v64 * v69;
  const i64 v71 = v70 / 5469ll;
  const i64 v73 = v67 + 8ll;
  const i64 v74 = v73 * 64ll;
  const i64 v75 = v74 + v71;
  const i64 v76 = v44 * 64ll;
  const bool v77 = v75 < v76;
  const i64 v78 = v77 ? v67 : v44;
  const i64 v79 = v78 > 1ll ? v78 : 1ll;
  const i64 v80 = v79 - 1ll;
  const i64 v81 = v44 + v80;
  const i64 v82 = v81 / v79;
  const i64 v83 = v82 > 1ll ? v82 : 1ll;
  const bool v84 = v83 > 1ll;
  {
    ring_begin<4, 8, 4>(b_ring_4);
    if (threadIdx.x < 256) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
      const i64 v88 = v7 > 0ll ? v7 : 0ll;
      const i64 v89 = v88 + 127ll;
      const i64 v90 = v89 / 128ll;
      const i64 v91 = d_n > 0ll ? d_n : 0ll;
      const i64 v92 = v91 + 255ll;
      const i64 v93 = v92 / 256ll;
      const i64 v94 = v90 * v93;
      const i64 v95 = v94 * v83;
      const i64 v97 = 8ll * v93;
      const bool v98 = v78 > 0ll;
      const i64 v100 = d_m / 4ll;
      const bool v102 = (u64)b_slices % 16 == 0;
      const i64 v103 = d_n % 4ll;
      const bool v104 = v103 == 0ll;
      const bool v105 = v102 & v104;
      const i64 v106 = d_n % 4ll;
      const bool v107 = v106 == 0ll;
      const bool v108 = v105 & v107;
      const bool v109 = (u64)b_bias % 16 == 0;
      const bool v110 = (u64)b_out % 16 == 0;
      const bool v111 = v109 & v110;
      const i64 v112 = d_n % 8ll;
      const bool v113 = v112 == 0ll;
      const bool v114 = v111 & v113;
      const i64 v115 = d_n % 8ll;
      const bool v116 = v115 == 0ll;
      const bool v117 = v114 & v116;
      Vec<float, 8> v118;
      #pragma unroll
      for (int l = 0; l < 8; l++) v118.v[l] = 5e-1f;
      #pragma unroll 1
      for (i64 v119 = blockIdx.x; v119 < v95; v119 += gridDim.x) {
        const i64 v120 = v119 / (i64)gridDim.x;
        const i64 v121 = v120 * v78;
        const i64 v122 = v119 % v94;
        const i64 v123 = v122 / v97;
        const i64 v124 = v123 * 8ll;
        const i64 v125 = v90 - v124;
        const i64 v126 = 8ll < v125 ? 8ll : v125;
        const i64 v127 = v122 % v97;
        const i64 v128 = v127 % v126;
        const i64 v129 = v124 + v128;
        const i64 v130 = v129 * 128ll;
        const i64 v131 = v127 / v126;
        const i64 v132 = v131 * 256ll;
        const i64 v133 = v119 / v94;
        #pragma unroll
        for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(float); l++) b_accumulator_128x256[l] = 0.0f;
        #pragma unroll 2
        for (i64 v134 = 0ll; v134 < v78; v134++) {
          const i64 v135 = v121 + v134;
          ring_wait<4>(b_ring_4, v135);
          const i64 v136 = v135 % 4ll;
          wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v136 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v136 * 16384), 8192));
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          const bool v137 = v134 > 0ll;
          const i64 v138 = v135 - 1ll;
          if (v137) {
            ring_release<4>(b_ring_4, v138);
          }
        }
        wgmma_end_128(b_accumulator_128x256);
        const i64 v139 = v121 + v78;
        const i64 v140 = v139 - 1ll;
        if (v98) {
          ring_release<4>(b_ring_4, v140);
        }
        const i64 v141 = v7 - v130;
        const i64 v142 = d_n - v132;
        const i64 v143 = v133 * v100;
        if (v84) {
          const u32 tv144 = thread_here();
          float* const pv144 = (float*)(b_patch_128x40 + tv144 / 32 * 640);
          #pragma unroll 1
          for (u32 cv144 = 0; cv144 < 8; cv144++) {
            put_fragment_256_f32(pv144, b_accumulator_128x256, cv144, tv144 % 32);
            if (v108) {
              #pragma unroll 4
              for (u32 lv144 = tv144 % 32; lv144 < 128; lv144 += 32) {
                const i64 v144 = (tv144 / 32 * 16 + lv144 / 8) * 64 + cv144 * 8 + lv144 % 8;
                const i64 v145 = v144 * 4ll;
                const i64 v146 = v145 / 256ll;
                const i64 v147 = v145 % 256ll;
                const bool v148 = v146 < v141;
                const bool v149 = v147 < v142;
                const bool v150 = v148 & v149;
                const i64 v151 = v130 + v146;
                const i64 v152 = v132 + v147;
                const i64 v153 = v146 * 256ll;
                const i64 v154 = v153 + v147;
                const i64 v155 = v143 + v151;
                const i64 v156 = v155 * d_n;
                const i64 v157 = v156 + v152;
                if (v150) {
                  const Vec<float, 4> v158 = load_vec<float, 4>(pv144 + lv144 / 8 * 40 + lv144 % 8 * 4);
                  store_vec(b_slices + v157, v158);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv159 = tv144 % 32; lv159 < 512; lv159 += 32) {
                const i64 v159 = (tv144 / 32 * 16 + lv159 / 32) * 256 + cv144 * 32 + lv159 % 32;
                const i64 v160 = v159 / 256ll;
                const i64 v161 = v159 % 256ll;
                const bool v162 = v160 < v141;
                const bool v163 = v161 < v142;
                const bool v164 = v162 & v163;
                const i64 v165 = v130 + v160;
                const i64 v166 = v132 + v161;
                const i64 v167 = v160 * 256ll;
                const i64 v168 = v167 + v161;
                const i64 v169 = v143 + v165;
                const i64 v170 = v169 * d_n;
                const i64 v171 = v170 + v166;
                if (v164) {
                  const float v172 = *(pv144 + lv159 / 32 * 40 + lv159 % 32 * 1);
                  *(b_slices + v171) = v172;
                }
              }
            }
          }
        } else {
          const u32 tv173 = thread_here();
          float* const pv173 = (float*)(b_patch_128x40 + tv173 / 32 * 640);
          #pragma unroll 1
          for (u32 cv173 = 0; cv173 < 8; cv173++) {
            put_fragment_256_f32(pv173, b_accumulator_128x256, cv173, tv173 % 32);
            if (v117) {
              #pragma unroll 2
              for (u32 lv173 = tv173 % 32; lv173 < 64; lv173 += 32) {
                const i64 v173 = (tv173 / 32 * 16 + lv173 / 4) * 32 + cv173 * 4 + lv173 % 4;
                const i64 v174 = v173 * 8ll;
                const i64 v175 = v174 / 256ll;
                const i64 v176 = v174 % 256ll;
                const bool v177 = v175 < v141;
                const bool v178 = v176 < v142;
                const bool v179 = v177 & v178;
                const i64 v180 = v130 + v175;
                const i64 v181 = v132 + v176;
                const i64 v182 = v180 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v183 = v175 * 256ll;
                const i64 v184 = v183 + v176;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v185 = v180 * d_n;
                const i64 v186 = v185 + v181;
                const i64 v187 = v182 * d_n;
                const i64 v188 = v187 + v181;
                if (v179) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const Vec<float, 8> v189 = load_vec<float, 8>(pv173 + lv173 / 4 * 40 + lv173 % 4 * 8);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  Vec<float, 8> v190;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v190.v[l] = v118.v[l] * v189.v[l];
                  const Vec<u16, 8> v191 = load_vec<u16, 8>(b_bias + v186);
                  Vec<float, 8> v192;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v192.v[l] = bf16_to_f32(v191.v[l]);
                  Vec<float, 8> v193;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v193.v[l] = v190.v[l] + v192.v[l];
                  Vec<float, 8> v194;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v194.v[l] = fn_silu(v193.v[l]);
                  Vec<u16, 8> v195;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v195.v[l] = f32_to_bf16(v194.v[l]);
                  store_vec(((u16*)b_out_peers.p[0ll]) + v188, v195);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv196 = tv173 % 32; lv196 < 512; lv196 += 32) {
                const i64 v196 = (tv173 / 32 * 16 + lv196 / 32) * 256 + cv173 * 32 + lv196 % 32;
                const i64 v197 = v196 / 256ll;
                const i64 v198 = v196 % 256ll;
                const bool v199 = v197 < v141;
                const bool v200 = v198 < v142;
                const bool v201 = v199 & v200;
                const i64 v202 = v130 + v197;
                const i64 v203 = v132 + v198;
                const i64 v204 = v202 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v205 = v197 * 256ll;
                const i64 v206 = v205 + v198;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v207 = v202 * d_n;
                const i64 v208 = v207 + v203;
                const i64 v209 = v204 * d_n;
                const i64 v210 = v209 + v203;
                if (v201) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const float v211 = *(pv173 + lv196 / 32 * 40 + lv196 % 32 * 1);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const float v212 = 5e-1f * v211;
                  const u16 v213 = *(b_bias + v208);
                  const float v214 = bf16_to_f32(v213);
                  const float v215 = v212 + v214;
                  const float v216 = fn_silu(v215);
                  const u16 v217 = f32_to_bf16(v216);
                  *(((u16*)b_out_peers.p[0ll]) + v210) = v217;
                }
              }
            }
          }
        }
      }
    } else {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
      Filling filling = {0, false};
      const i64 v218 = v7 > 0ll ? v7 : 0ll;
      const i64 v219 = v218 + 127ll;
      const i64 v220 = v219 / 128ll;
      const i64 v221 = d_n > 0ll ? d_n : 0ll;
      const i64 v222 = v221 + 255ll;
      const i64 v223 = v222 / 256ll;
      const i64 v224 = v220 * v223;
      const i64 v225 = v224 * v83;
      const i64 v227 = 8ll * v223;
      #pragma unroll 1
      for (i64 v228 = blockIdx.x; v228 < v225; v228 += gridDim.x) {
        const i64 v229 = v228 / (i64)gridDim.x;
        const i64 v230 = v229 * v78;
        const i64 v231 = v228 % v224;
        const i64 v232 = v231 / v227;
        const i64 v233 = v232 * 8ll;
        const i64 v234 = v220 - v233;
        const i64 v235 = 8ll < v234 ? 8ll : v234;
        const i64 v236 = v231 % v227;
        const i64 v237 = v236 % v235;
        const i64 v238 = v233 + v237;
        const i64 v239 = v238 * 128ll;
        const i64 v240 = v236 / v235;
        const i64 v241 = v240 * 256ll;
        const i64 v242 = v228 / v224;
        const i64 v243 = v242 * v78;
        #pragma unroll 1
        for (i64 v244 = 0ll; v244 < v78; v244++) {
          const i64 v245 = v230 + v244;
          const i64 v246 = v245 % 4ll;
          const i64 v247 = v243 + v244;
          const i64 v248 = v247 * 64ll;
          ring_acquire<4>(b_ring_4, v245);
          if (can_map(b_a, d_k)) {
            filling.bytes += 16384;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v246 * 8192 + s * 8192, &b_a_map_128x64, ring_full<4>(b_ring_4, v246), (int)(v248) + s * 64, (int)(v239));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v246 * 8192, b_a, d_k, (d_m / 4ll), d_k, v239, v248);
          }
          if (can_map(b_b, d_n)) {
            filling.bytes += 32768;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v246 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v246), (int)(v241) + s * 64, (int)(v248));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v246 * 16384, b_b, d_n, d_k, d_n, v248, v241);
          }
          ring_fill<4, 256>(b_ring_4, v245, filling);
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
  const i64 v249 = v7 > 0ll ? v7 : 0ll;
  const i64 v250 = d_n > 0ll ? d_n : 0ll;
  const i64 v251 = v249 * v250;
  const i64 v253 = v251 / 3072ll;
  const i64 v255 = v251 + 3071ll;
  const i64 v256 = v255 / 3072ll;
  const bool v257 = (u64)b_slices % 16 == 0;
  const bool v258 = (u64)b_bias % 16 == 0;
  const bool v259 = v257 & v258;
  const bool v260 = (u64)b_out % 16 == 0;
  const bool v261 = v259 & v260;
  const i64 v262 = v250 % 8ll;
  const bool v263 = v262 == 0ll;
  const bool v264 = v261 & v263;
  const i64 v265 = d_n % 8ll;
  const bool v266 = v265 == 0ll;
  const bool v267 = v264 & v266;
  Vec<float, 8> v269;
  #pragma unroll
  for (int l = 0; l < 8; l++) v269.v[l] = 5e-1f;
  const i64 v270 = (i64)rank % 4ll;
  const i64 v271 = (i64)gridDim.x * 4ll;
  const i64 v272 = (i64)gridDim.x * 2ll;
  const i64 v273 = (i64)gridDim.x * 3ll;
  if (v84) {
    __syncthreads();
    const u32 v274 = *(b_epoch + 0ll);
    const u32 v275 = v274 + 1u;
    *(b_epoch + 0ll) = v275;
    if (threadIdx.x < 1) {
      const i64 v276 = threadIdx.x;
      signal_set_release_gpu(b_flags + v20, v275);
    }
    #pragma unroll 1
    for (i64 v277 = threadIdx.x; v277 < (i64)gridDim.x; v277 += 384) {
      const i64 v278 = v277 * 4ll;
      const i64 v279 = v278 + v270;
      wait_acquire_gpu(b_flags + v279, v275, watch, (u32)(v270), 5u, (u32)(v279), 5u);
    }
    __syncthreads();
    if (v267) {
      const i64 v280 = v253 / v271;
      #pragma unroll 1
      for (i64 v281 = 0ll; v281 < v280; v281++) {
        const i64 v282 = v281 * v271;
        const i64 v283 = v282 + (i64)blockIdx.x;
        const i64 v284 = v283 * 3072ll;
        const i64 v285 = v283 + (i64)gridDim.x;
        const i64 v286 = v285 * 3072ll;
        const i64 v287 = v283 + v272;
        const i64 v288 = v287 * 3072ll;
        const i64 v289 = v283 + v273;
        const i64 v290 = v289 * 3072ll;
        {
          const i64 v291 = threadIdx.x;
          const i64 v292 = v291 * 8ll;
          const i64 v293 = v284 + v292;
          const i64 v294 = v286 + v292;
          const i64 v295 = v288 + v292;
          const i64 v296 = v290 + v292;
          const i64 v297 = v293 % v250;
          const i64 v298 = v294 % v250;
          const i64 v299 = v295 % v250;
          const i64 v300 = v296 % v250;
          const i64 v301 = v293 / v250;
          const i64 v302 = v294 / v250;
          const i64 v303 = v295 / v250;
          const i64 v304 = v296 / v250;
          const i64 v305 = v301 + v8;
          const i64 v306 = v302 + v8;
          const i64 v307 = v303 + v8;
          const i64 v308 = v304 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v310;
          for (int l = 0; l < 8; l++) v310.v[l] = 0e+0f;
          for (i64 v309 = 0ll; v309 < v83; v309++) {
            const i64 v311 = v309 * v7;
            const i64 v312 = v311 + v301;
            const i64 v313 = v312 * d_n;
            const i64 v314 = v313 + v297;
            const Vec<float, 8> v315 = load_vec<float, 8>(b_slices + v314);
            for (int l = 0; l < 8; l++) v310.v[l] = v310.v[l] + v315.v[l];
          }
          Vec<float, 8> v317;
          for (int l = 0; l < 8; l++) v317.v[l] = 0e+0f;
          for (i64 v316 = 0ll; v316 < v83; v316++) {
            const i64 v318 = v316 * v7;
            const i64 v319 = v318 + v302;
            const i64 v320 = v319 * d_n;
            const i64 v321 = v320 + v298;
            const Vec<float, 8> v322 = load_vec<float, 8>(b_slices + v321);
            for (int l = 0; l < 8; l++) v317.v[l] = v317.v[l] + v322.v[l];
          }
          Vec<float, 8> v324;
          for (int l = 0; l < 8; l++) v324.v[l] = 0e+0f;
          for (i64 v323 = 0ll; v323 < v83; v323++) {
            const i64 v325 = v323 * v7;
            const i64 v326 = v325 + v303;
            const i64 v327 = v326 * d_n;
            const i64 v328 = v327 + v299;
            const Vec<float, 8> v329 = load_vec<float, 8>(b_slices + v328);
            for (int l = 0; l < 8; l++) v324.v[l] = v324.v[l] + v329.v[l];
          }
          Vec<float, 8> v331;
          for (int l = 0; l < 8; l++) v331.v[l] = 0e+0f;
          for (i64 v330 = 0ll; v330 < v83; v330++) {
            const i64 v332 = v330 * v7;
            const i64 v333 = v332 + v304;
            const i64 v334 = v333 * d_n;
            const i64 v335 = v334 + v300;
            const Vec<float, 8> v336 = load_vec<float, 8>(b_slices + v335);
            for (int l = 0; l < 8; l++) v331.v[l] = v331.v[l] + v336.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v337;
          #pragma unroll
          for (int l = 0; l < 8; l++) v337.v[l] = v269.v[l] * v310.v[l];
          Vec<float, 8> v338;
          #pragma unroll
          for (int l = 0; l < 8; l++) v338.v[l] = v269.v[l] * v317.v[l];
          Vec<float, 8> v339;
          #pragma unroll
          for (int l = 0; l < 8; l++) v339.v[l] = v269.v[l] * v324.v[l];
          Vec<float, 8> v340;
          #pragma unroll
          for (int l = 0; l < 8; l++) v340.v[l] = v269.v[l] * v331.v[l];
          const i64 v341 = v301 * d_n;
          const i64 v342 = v302 * d_n;
          const i64 v343 = v303 * d_n;
          const i64 v344 = v304 * d_n;
          const i64 v345 = v341 + v297;
          const i64 v346 = v342 + v298;
          const i64 v347 = v343 + v299;
          const i64 v348 = v344 + v300;
          const Vec<u16, 8> v349 = load_vec<u16, 8>(b_bias + v345);
          const Vec<u16, 8> v350 = load_vec<u16, 8>(b_bias + v346);
          const Vec<u16, 8> v351 = load_vec<u16, 8>(b_bias + v347);
          const Vec<u16, 8> v352 = load_vec<u16, 8>(b_bias + v348);
          Vec<float, 8> v353;
          #pragma unroll
          for (int l = 0; l < 8; l++) v353.v[l] = bf16_to_f32(v349.v[l]);
          Vec<float, 8> v354;
          #pragma unroll
          for (int l = 0; l < 8; l++) v354.v[l] = bf16_to_f32(v350.v[l]);
          Vec<float, 8> v355;
          #pragma unroll
          for (int l = 0; l < 8; l++) v355.v[l] = bf16_to_f32(v351.v[l]);
          Vec<float, 8> v356;
          #pragma unroll
          for (int l = 0; l < 8; l++) v356.v[l] = bf16_to_f32(v352.v[l]);
          Vec<float, 8> v357;
          #pragma unroll
          for (int l = 0; l < 8; l++) v357.v[l] = v337.v[l] + v353.v[l];
          Vec<float, 8> v358;
          #pragma unroll
          for (int l = 0; l < 8; l++) v358.v[l] = v338.v[l] + v354.v[l];
          Vec<float, 8> v359;
          #pragma unroll
          for (int l = 0; l < 8; l++) v359.v[l] = v339.v[l] + v355.v[l];
          Vec<float, 8> v360;
          #pragma unroll
          for (int l = 0; l < 8; l++) v360.v[l] = v340.v[l] + v356.v[l];
          Vec<float, 8> v361;
          #pragma unroll
          for (int l = 0; l < 8; l++) v361.v[l] = fn_silu(v357.v[l]);
          Vec<float, 8> v362;
          #pragma unroll
          for (int l = 0; l < 8; l++) v362.v[l] = fn_silu(v358.v[l]);
          Vec<float, 8> v363;
          #pragma unroll
          for (int l = 0; l < 8; l++) v363.v[l] = fn_silu(v359.v[l]);
          Vec<float, 8> v364;
          #pragma unroll
          for (int l = 0; l < 8; l++) v364.v[l] = fn_silu(v360.v[l]);
          Vec<u16, 8> v365;
          #pragma unroll
          for (int l = 0; l < 8; l++) v365.v[l] = f32_to_bf16(v361.v[l]);
          Vec<u16, 8> v366;
          #pragma unroll
          for (int l = 0; l < 8; l++) v366.v[l] = f32_to_bf16(v362.v[l]);
          Vec<u16, 8> v367;
          #pragma unroll
          for (int l = 0; l < 8; l++) v367.v[l] = f32_to_bf16(v363.v[l]);
          Vec<u16, 8> v368;
          #pragma unroll
          for (int l = 0; l < 8; l++) v368.v[l] = f32_to_bf16(v364.v[l]);
          const i64 v369 = v305 * d_n;
          const i64 v370 = v306 * d_n;
          const i64 v371 = v307 * d_n;
          const i64 v372 = v308 * d_n;
          const i64 v373 = v369 + v297;
          const i64 v374 = v370 + v298;
          const i64 v375 = v371 + v299;
          const i64 v376 = v372 + v300;
          store_vec(((u16*)b_out_peers.p[0ll]) + v373, v365);
          store_vec(((u16*)b_out_peers.p[0ll]) + v374, v366);
          store_vec(((u16*)b_out_peers.p[0ll]) + v375, v367);
          store_vec(((u16*)b_out_peers.p[0ll]) + v376, v368);
        }
      }
      const i64 v377 = v280 * v271;
      #pragma unroll 1
      for (i64 v378 = v377 + ((i64)blockIdx.x - v377 % gridDim.x + gridDim.x) % gridDim.x; v378 < v253; v378 += gridDim.x) {
        const i64 v379 = v378 * 3072ll;
        {
          const i64 v380 = threadIdx.x;
          const i64 v381 = v380 * 8ll;
          const i64 v382 = v379 + v381;
          const i64 v383 = v382 % v250;
          const i64 v384 = v382 / v250;
          const i64 v385 = v384 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v387;
          for (int l = 0; l < 8; l++) v387.v[l] = 0e+0f;
          for (i64 v386 = 0ll; v386 < v83; v386++) {
            const i64 v388 = v386 * v7;
            const i64 v389 = v388 + v384;
            const i64 v390 = v389 * d_n;
            const i64 v391 = v390 + v383;
            const Vec<float, 8> v392 = load_vec<float, 8>(b_slices + v391);
            for (int l = 0; l < 8; l++) v387.v[l] = v387.v[l] + v392.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v393;
          #pragma unroll
          for (int l = 0; l < 8; l++) v393.v[l] = v269.v[l] * v387.v[l];
          const i64 v394 = v384 * d_n;
          const i64 v395 = v394 + v383;
          const Vec<u16, 8> v396 = load_vec<u16, 8>(b_bias + v395);
          Vec<float, 8> v397;
          #pragma unroll
          for (int l = 0; l < 8; l++) v397.v[l] = bf16_to_f32(v396.v[l]);
          Vec<float, 8> v398;
          #pragma unroll
          for (int l = 0; l < 8; l++) v398.v[l] = v393.v[l] + v397.v[l];
          Vec<float, 8> v399;
          #pragma unroll
          for (int l = 0; l < 8; l++) v399.v[l] = fn_silu(v398.v[l]);
          Vec<u16, 8> v400;
          #pragma unroll
          for (int l = 0; l < 8; l++) v400.v[l] = f32_to_bf16(v399.v[l]);
          const i64 v401 = v385 * d_n;
          const i64 v402 = v401 + v383;
          store_vec(((u16*)b_out_peers.p[0ll]) + v402, v400);
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v403 = blockIdx.x; v403 < v253; v403 += gridDim.x) {
        const i64 v404 = v403 * 3072ll;
        #pragma unroll 1
        for (i64 v405 = threadIdx.x; v405 < 3072ll; v405 += 384) {
          const i64 v406 = v404 + v405;
          const i64 v407 = v406 % v250;
          const i64 v408 = v406 / v250;
          const i64 v409 = v408 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v411;
          v411 = 0e+0f;
          for (i64 v410 = 0ll; v410 < v83; v410++) {
            const i64 v412 = v410 * v7;
            const i64 v413 = v412 + v408;
            const i64 v414 = v413 * d_n;
            const i64 v415 = v414 + v407;
            const float v416 = *(b_slices + v415);
            v411 = v411 + v416;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v417 = 5e-1f * v411;
          const i64 v418 = v408 * d_n;
          const i64 v419 = v418 + v407;
          const u16 v420 = *(b_bias + v419);
          const float v421 = bf16_to_f32(v420);
          const float v422 = v417 + v421;
          const float v423 = fn_silu(v422);
          const u16 v424 = f32_to_bf16(v423);
          const i64 v425 = v409 * d_n;
          const i64 v426 = v425 + v407;
          *(((u16*)b_out_peers.p[0ll]) + v426) = v424;
        }
      }
    }
    if (v267) {
      #pragma unroll 1
      for (i64 v427 = v253 + ((i64)blockIdx.x - v253 % gridDim.x + gridDim.x) % gridDim.x; v427 < v256; v427 += gridDim.x) {
        const i64 v428 = v427 * 3072ll;
        const i64 v429 = v251 - v428;
        const i64 v430 = v429 / 8ll;
        const i64 v431 = v430 * 8ll;
        #pragma unroll 1
        for (i64 v432 = threadIdx.x; v432 < v430; v432 += 384) {
          const i64 v433 = v432 * 8ll;
          const i64 v434 = v428 + v433;
          const i64 v435 = v434 % v250;
          const i64 v436 = v434 / v250;
          const i64 v437 = v436 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v439;
          for (int l = 0; l < 8; l++) v439.v[l] = 0e+0f;
          for (i64 v438 = 0ll; v438 < v83; v438++) {
            const i64 v440 = v438 * v7;
            const i64 v441 = v440 + v436;
            const i64 v442 = v441 * d_n;
            const i64 v443 = v442 + v435;
            const Vec<float, 8> v444 = load_vec<float, 8>(b_slices + v443);
            for (int l = 0; l < 8; l++) v439.v[l] = v439.v[l] + v444.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v445;
          #pragma unroll
          for (int l = 0; l < 8; l++) v445.v[l] = v269.v[l] * v439.v[l];
          const i64 v446 = v436 * d_n;
          const i64 v447 = v446 + v435;
          const Vec<u16, 8> v448 = load_vec<u16, 8>(b_bias + v447);
          Vec<float, 8> v449;
          #pragma unroll
          for (int l = 0; l < 8; l++) v449.v[l] = bf16_to_f32(v448.v[l]);
          Vec<float, 8> v450;
          #pragma unroll
          for (int l = 0; l < 8; l++) v450.v[l] = v445.v[l] + v449.v[l];
          Vec<float, 8> v451;
          #pragma unroll
          for (int l = 0; l < 8; l++) v451.v[l] = fn_silu(v450.v[l]);
          Vec<u16, 8> v452;
          #pragma unroll
          for (int l = 0; l < 8; l++) v452.v[l] = f32_to_bf16(v451.v[l]);
          const i64 v453 = v437 * d_n;
          const i64 v454 = v453 + v435;
          store_vec(((u16*)b_out_peers.p[0ll]) + v454, v452);
        }
        #pragma unroll 1
        for (i64 v455 = v431 + threadIdx.x; v455 < v429; v455 += 384) {
          const i64 v456 = v428 + v455;
          const i64 v457 = v456 % v250;
          const i64 v458 = v456 / v250;
          const i64 v459 = v458 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v461;
          v461 = 0e+0f;
          for (i64 v460 = 0ll; v460 < v83; v460++) {
            const i64 v462 = v460 * v7;
            const i64 v463 = v462 + v458;
            const i64 v464 = v463 * d_n;
            const i64 v465 = v464 + v457;
            const float v466 = *(b_slices + v465);
            v461 = v461 + v466;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v467 = 5e-1f * v461;
          const i64 v468 = v458 * d_n;
          const i64 v469 = v468 + v457;
          const u16 v470 = *(b_bias + v469);
          const float v471 = bf16_to_f32(v470);
          const float v472 = v467 + v471;
          const float v473 = fn_silu(v472);
          const u16 v474 = f32_to_bf16(v473);
          const i64 v475 = v459 * d_n;
          const i64 v476 = v475 + v457;
          *(((u16*)b_out_peers.p[0ll]) + v476) = v474;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v477 = v253 + ((i64)blockIdx.x - v253 % gridDim.x + gridDim.x) % gridDim.x; v477 < v256; v477 += gridDim.x) {
        const i64 v478 = v477 * 3072ll;
        const i64 v479 = v251 - v478;
        #pragma unroll 1
        for (i64 v480 = threadIdx.x; v480 < v479; v480 += 384) {
          const i64 v481 = v478 + v480;
          const i64 v482 = v481 % v250;
          const i64 v483 = v481 / v250;
          const i64 v484 = v483 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v486;
          v486 = 0e+0f;
          for (i64 v485 = 0ll; v485 < v83; v485++) {
            const i64 v487 = v485 * v7;
            const i64 v488 = v487 + v483;
            const i64 v489 = v488 * d_n;
            const i64 v490 = v489 + v482;
            const float v491 = *(b_slices + v490);
            v486 = v486 + v491;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v492 = 5e-1f * v486;
          const i64 v493 = v483 * d_n;
          const i64 v494 = v493 + v482;
          const u16 v495 = *(b_bias + v494);
          const float v496 = bf16_to_f32(v495);
          const float v497 = v492 + v496;
          const float v498 = fn_silu(v497);
          const u16 v499 = f32_to_bf16(v498);
          const i64 v500 = v484 * d_n;
          const i64 v501 = v500 + v482;
          *(((u16*)b_out_peers.p[0ll]) + v501) = v499;
        }
      }
    }
  }
  __syncthreads();
  const u32 v502 = *(b_epoch + 0ll);
  const u32 v503 = v502 + 1u;
  *(b_epoch + 0ll) = v503;
  if (threadIdx.x < 4) {
    const i64 v504 = threadIdx.x;
    const bool v505 = v504 == 0ll;
    const bool v506 = v30 & v505;
    const bool v507 = v31 & v505;
    const bool v508 = v32 & v505;
    const bool v509 = v506 | v507;
    const bool v510 = v509 | v508;
    if (v510) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v504]) + v20, v503);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v511 = threadIdx.x;
    const bool v512 = v511 == 1ll;
    const bool v513 = v16 & v512;
    const bool v514 = v511 == 2ll;
    const bool v515 = v16 & v514;
    const bool v516 = v511 == 3ll;
    const bool v517 = v16 & v516;
    const bool v518 = v513 | v515;
    const bool v519 = v518 | v517;
    const i64 v520 = v15 + v511;
    if (v519) {
      wait_acquire_sys(b_flags + v520, v503, watch, (u32)(v511), 5u, (u32)(v520), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v521 = threadIdx.x;
    const i64 v522 = v521 % (i64)gridDim.x;
    const bool v523 = v522 == (i64)blockIdx.x;
    if (v523) {
      const u32 v524 = *(b_epoch + 0ll);
      *(b_epochs + v521) = v524;
    }
  }
}
