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
      const i64 v87 = v7 > 0ll ? v7 : 0ll;
      const i64 v88 = v87 + 127ll;
      const i64 v89 = v88 / 128ll;
      const i64 v90 = d_n > 0ll ? d_n : 0ll;
      const i64 v91 = v90 + 255ll;
      const i64 v92 = v91 / 256ll;
      const i64 v93 = v89 * v92;
      const i64 v94 = v93 * v83;
      const i64 v96 = 8ll * v92;
      const bool v97 = v78 > 0ll;
      const i64 v99 = d_m / 4ll;
      const bool v101 = (u64)b_slices % 16 == 0;
      const i64 v102 = d_n % 8ll;
      const bool v103 = v102 == 0ll;
      const bool v104 = v101 & v103;
      const i64 v105 = d_n % 8ll;
      const bool v106 = v105 == 0ll;
      const bool v107 = v104 & v106;
      const bool v108 = (u64)b_bias % 16 == 0;
      const bool v109 = (u64)b_out % 16 == 0;
      const bool v110 = v108 & v109;
      const bool v111 = v110 & v103;
      const bool v112 = v111 & v106;
      Vec<float, 8> v113;
      #pragma unroll
      for (int l = 0; l < 8; l++) v113.v[l] = 5e-1f;
      #pragma unroll 1
      for (i64 v114 = blockIdx.x; v114 < v94; v114 += gridDim.x) {
        const i64 v115 = v114 / (i64)gridDim.x;
        const i64 v116 = v115 * v78;
        const i64 v117 = v114 % v93;
        const i64 v118 = v117 / v96;
        const i64 v119 = v118 * 8ll;
        const i64 v120 = v89 - v119;
        const i64 v121 = 8ll < v120 ? 8ll : v120;
        const i64 v122 = v117 % v96;
        const i64 v123 = v122 % v121;
        const i64 v124 = v119 + v123;
        const i64 v125 = v124 * 128ll;
        const i64 v126 = v122 / v121;
        const i64 v127 = v126 * 256ll;
        const i64 v128 = v114 / v93;
        #pragma unroll
        for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(float); l++) b_accumulator_128x256[l] = 0.0f;
        #pragma unroll 1
        for (i64 v129 = 0ll; v129 < v78; v129++) {
          const i64 v130 = v116 + v129;
          ring_wait<4>(b_ring_4, v130);
          const i64 v131 = v130 % 4ll;
          wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v131 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v131 * 16384), 8192));
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          const bool v132 = v129 > 0ll;
          const i64 v133 = v130 - 1ll;
          if (v132) {
            ring_release<4>(b_ring_4, v133);
          }
        }
        wgmma_end_128(b_accumulator_128x256);
        const i64 v134 = v116 + v78;
        const i64 v135 = v134 - 1ll;
        if (v97) {
          ring_release<4>(b_ring_4, v135);
        }
        const i64 v136 = v7 - v125;
        const i64 v137 = d_n - v127;
        const i64 v138 = v128 * v99;
        if (v84) {
          const u32 tv139 = thread_here();
          float* const pv139 = (float*)(b_patch_128x40 + tv139 / 32 * 640);
          #pragma unroll 1
          for (u32 cv139 = 0; cv139 < 8; cv139++) {
            put_fragment_256_f32(pv139, b_accumulator_128x256, cv139, tv139 % 32);
            if (v107) {
              #pragma unroll 2
              for (u32 lv139 = tv139 % 32; lv139 < 64; lv139 += 32) {
                const i64 v139 = (tv139 / 32 * 16 + lv139 / 4) * 32 + cv139 * 4 + lv139 % 4;
                const i64 v140 = v139 * 8ll;
                const i64 v141 = v140 / 256ll;
                const i64 v142 = v140 % 256ll;
                const bool v143 = v141 < v136;
                const bool v144 = v142 < v137;
                const bool v145 = v143 & v144;
                const i64 v146 = v125 + v141;
                const i64 v147 = v127 + v142;
                const i64 v148 = v141 * 256ll;
                const i64 v149 = v148 + v142;
                const i64 v150 = v138 + v146;
                const i64 v151 = v150 * d_n;
                const i64 v152 = v151 + v147;
                if (v145) {
                  const Vec<float, 8> v153 = load_vec<float, 8>(pv139 + lv139 / 4 * 40 + lv139 % 4 * 8);
                  store_vec(b_slices + v152, v153);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv154 = tv139 % 32; lv154 < 512; lv154 += 32) {
                const i64 v154 = (tv139 / 32 * 16 + lv154 / 32) * 256 + cv139 * 32 + lv154 % 32;
                const i64 v155 = v154 / 256ll;
                const i64 v156 = v154 % 256ll;
                const bool v157 = v155 < v136;
                const bool v158 = v156 < v137;
                const bool v159 = v157 & v158;
                const i64 v160 = v125 + v155;
                const i64 v161 = v127 + v156;
                const i64 v162 = v155 * 256ll;
                const i64 v163 = v162 + v156;
                const i64 v164 = v138 + v160;
                const i64 v165 = v164 * d_n;
                const i64 v166 = v165 + v161;
                if (v159) {
                  const float v167 = *(pv139 + lv154 / 32 * 40 + lv154 % 32 * 1);
                  *(b_slices + v166) = v167;
                }
              }
            }
          }
        } else {
          const u32 tv168 = thread_here();
          float* const pv168 = (float*)(b_patch_128x40 + tv168 / 32 * 640);
          #pragma unroll 1
          for (u32 cv168 = 0; cv168 < 8; cv168++) {
            put_fragment_256_f32(pv168, b_accumulator_128x256, cv168, tv168 % 32);
            if (v112) {
              #pragma unroll 2
              for (u32 lv168 = tv168 % 32; lv168 < 64; lv168 += 32) {
                const i64 v168 = (tv168 / 32 * 16 + lv168 / 4) * 32 + cv168 * 4 + lv168 % 4;
                const i64 v169 = v168 * 8ll;
                const i64 v170 = v169 / 256ll;
                const i64 v171 = v169 % 256ll;
                const bool v172 = v170 < v136;
                const bool v173 = v171 < v137;
                const bool v174 = v172 & v173;
                const i64 v175 = v125 + v170;
                const i64 v176 = v127 + v171;
                const i64 v177 = v175 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v178 = v170 * 256ll;
                const i64 v179 = v178 + v171;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v180 = v175 * d_n;
                const i64 v181 = v180 + v176;
                const i64 v182 = v177 * d_n;
                const i64 v183 = v182 + v176;
                if (v174) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const Vec<float, 8> v184 = load_vec<float, 8>(pv168 + lv168 / 4 * 40 + lv168 % 4 * 8);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  Vec<float, 8> v185;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v185.v[l] = v113.v[l] * v184.v[l];
                  const Vec<u16, 8> v186 = load_vec<u16, 8>(b_bias + v181);
                  Vec<float, 8> v187;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v187.v[l] = bf16_to_f32(v186.v[l]);
                  Vec<float, 8> v188;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v188.v[l] = v185.v[l] + v187.v[l];
                  Vec<float, 8> v189;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v189.v[l] = fn_silu(v188.v[l]);
                  Vec<u16, 8> v190;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v190.v[l] = f32_to_bf16(v189.v[l]);
                  store_vec(((u16*)b_out_peers.p[0ll]) + v183, v190);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv191 = tv168 % 32; lv191 < 512; lv191 += 32) {
                const i64 v191 = (tv168 / 32 * 16 + lv191 / 32) * 256 + cv168 * 32 + lv191 % 32;
                const i64 v192 = v191 / 256ll;
                const i64 v193 = v191 % 256ll;
                const bool v194 = v192 < v136;
                const bool v195 = v193 < v137;
                const bool v196 = v194 & v195;
                const i64 v197 = v125 + v192;
                const i64 v198 = v127 + v193;
                const i64 v199 = v197 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v200 = v192 * 256ll;
                const i64 v201 = v200 + v193;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v202 = v197 * d_n;
                const i64 v203 = v202 + v198;
                const i64 v204 = v199 * d_n;
                const i64 v205 = v204 + v198;
                if (v196) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const float v206 = *(pv168 + lv191 / 32 * 40 + lv191 % 32 * 1);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const float v207 = 5e-1f * v206;
                  const u16 v208 = *(b_bias + v203);
                  const float v209 = bf16_to_f32(v208);
                  const float v210 = v207 + v209;
                  const float v211 = fn_silu(v210);
                  const u16 v212 = f32_to_bf16(v211);
                  *(((u16*)b_out_peers.p[0ll]) + v205) = v212;
                }
              }
            }
          }
        }
      }
    } else {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
      Filling filling = {0, false};
      const i64 v213 = v7 > 0ll ? v7 : 0ll;
      const i64 v214 = v213 + 127ll;
      const i64 v215 = v214 / 128ll;
      const i64 v216 = d_n > 0ll ? d_n : 0ll;
      const i64 v217 = v216 + 255ll;
      const i64 v218 = v217 / 256ll;
      const i64 v219 = v215 * v218;
      const i64 v220 = v219 * v83;
      const i64 v222 = 8ll * v218;
      #pragma unroll 1
      for (i64 v223 = blockIdx.x; v223 < v220; v223 += gridDim.x) {
        const i64 v224 = v223 / (i64)gridDim.x;
        const i64 v225 = v224 * v78;
        const i64 v226 = v223 % v219;
        const i64 v227 = v226 / v222;
        const i64 v228 = v227 * 8ll;
        const i64 v229 = v215 - v228;
        const i64 v230 = 8ll < v229 ? 8ll : v229;
        const i64 v231 = v226 % v222;
        const i64 v232 = v231 % v230;
        const i64 v233 = v228 + v232;
        const i64 v234 = v233 * 128ll;
        const i64 v235 = v231 / v230;
        const i64 v236 = v235 * 256ll;
        const i64 v237 = v223 / v219;
        const i64 v238 = v237 * v78;
        #pragma unroll 1
        for (i64 v239 = 0ll; v239 < v78; v239++) {
          const i64 v240 = v225 + v239;
          const i64 v241 = v240 % 4ll;
          const i64 v242 = v238 + v239;
          const i64 v243 = v242 * 64ll;
          ring_acquire<4>(b_ring_4, v240);
          if (can_map(b_a, d_k)) {
            filling.bytes += 16384;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v241 * 8192 + s * 8192, &b_a_map_128x64, ring_full<4>(b_ring_4, v241), (int)(v243) + s * 64, (int)(v234));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v241 * 8192, b_a, d_k, (d_m / 4ll), d_k, v234, v243);
          }
          if (can_map(b_b, d_n)) {
            filling.bytes += 32768;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v241 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v241), (int)(v236) + s * 64, (int)(v243));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v241 * 16384, b_b, d_n, d_k, d_n, v243, v236);
          }
          ring_fill<4, 256>(b_ring_4, v240, filling);
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
  const i64 v244 = v7 > 0ll ? v7 : 0ll;
  const i64 v245 = d_n > 0ll ? d_n : 0ll;
  const i64 v246 = v244 * v245;
  const i64 v249 = v246 + 3071ll;
  const i64 v250 = v249 / 3072ll;
  const bool v251 = (u64)b_slices % 16 == 0;
  const bool v252 = (u64)b_bias % 16 == 0;
  const bool v253 = v251 & v252;
  const bool v254 = (u64)b_out % 16 == 0;
  const bool v255 = v253 & v254;
  const i64 v256 = v245 % 8ll;
  const bool v257 = v256 == 0ll;
  const bool v258 = v255 & v257;
  const i64 v259 = d_n % 8ll;
  const bool v260 = v259 == 0ll;
  const bool v261 = v258 & v260;
  Vec<float, 8> v262;
  #pragma unroll
  for (int l = 0; l < 8; l++) v262.v[l] = 5e-1f;
  const i64 v263 = (i64)rank % 4ll;
  if (v84) {
    __syncthreads();
    const u32 v264 = *(b_epoch + 0ll);
    const u32 v265 = v264 + 1u;
    *(b_epoch + 0ll) = v265;
    if (threadIdx.x < 1) {
      const i64 v266 = threadIdx.x;
      signal_set_release_gpu(b_flags + v20, v265);
    }
    #pragma unroll 1
    for (i64 v267 = threadIdx.x; v267 < (i64)gridDim.x; v267 += 384) {
      const i64 v268 = v267 * 4ll;
      const i64 v269 = v268 + v263;
      wait_acquire_gpu(b_flags + v269, v265, watch, (u32)(v263), 5u, (u32)(v269), 5u);
    }
    __syncthreads();
    if (v261) {
      #pragma unroll 1
      for (i64 v270 = blockIdx.x; v270 < v250; v270 += gridDim.x) {
        const i64 v271 = v270 * 3072ll;
        const i64 v272 = v246 - v271;
        const i64 v273 = v272 < 3072ll ? v272 : 3072ll;
        const i64 v274 = v273 / 8ll;
        const i64 v275 = v274 * 8ll;
        #pragma unroll 1
        for (i64 v276 = threadIdx.x; v276 < v274; v276 += 384) {
          const i64 v277 = v276 * 8ll;
          const i64 v278 = v271 + v277;
          const i64 v279 = v278 % v245;
          const i64 v280 = v278 / v245;
          const i64 v281 = v280 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v283;
          for (int l = 0; l < 8; l++) v283.v[l] = 0e+0f;
          #pragma unroll 8
          for (i64 v282 = 0ll; v282 < v83; v282++) {
            const i64 v284 = v282 * v7;
            const i64 v285 = v284 + v280;
            const i64 v286 = v285 * d_n;
            const i64 v287 = v286 + v279;
            const Vec<float, 8> v288 = load_vec<float, 8>(b_slices + v287);
            for (int l = 0; l < 8; l++) v283.v[l] = v283.v[l] + v288.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v289;
          #pragma unroll
          for (int l = 0; l < 8; l++) v289.v[l] = v262.v[l] * v283.v[l];
          const i64 v290 = v280 * d_n;
          const i64 v291 = v290 + v279;
          const Vec<u16, 8> v292 = load_vec<u16, 8>(b_bias + v291);
          Vec<float, 8> v293;
          #pragma unroll
          for (int l = 0; l < 8; l++) v293.v[l] = bf16_to_f32(v292.v[l]);
          Vec<float, 8> v294;
          #pragma unroll
          for (int l = 0; l < 8; l++) v294.v[l] = v289.v[l] + v293.v[l];
          Vec<float, 8> v295;
          #pragma unroll
          for (int l = 0; l < 8; l++) v295.v[l] = fn_silu(v294.v[l]);
          Vec<u16, 8> v296;
          #pragma unroll
          for (int l = 0; l < 8; l++) v296.v[l] = f32_to_bf16(v295.v[l]);
          const i64 v297 = v281 * d_n;
          const i64 v298 = v297 + v279;
          store_vec(((u16*)b_out_peers.p[0ll]) + v298, v296);
        }
        #pragma unroll 1
        for (i64 v299 = v275 + threadIdx.x; v299 < v273; v299 += 384) {
          const i64 v300 = v271 + v299;
          const i64 v301 = v300 % v245;
          const i64 v302 = v300 / v245;
          const i64 v303 = v302 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v305;
          v305 = 0e+0f;
          #pragma unroll 1
          for (i64 v304 = 0ll; v304 < v83; v304++) {
            const i64 v306 = v304 * v7;
            const i64 v307 = v306 + v302;
            const i64 v308 = v307 * d_n;
            const i64 v309 = v308 + v301;
            const float v310 = *(b_slices + v309);
            v305 = v305 + v310;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v311 = 5e-1f * v305;
          const i64 v312 = v302 * d_n;
          const i64 v313 = v312 + v301;
          const u16 v314 = *(b_bias + v313);
          const float v315 = bf16_to_f32(v314);
          const float v316 = v311 + v315;
          const float v317 = fn_silu(v316);
          const u16 v318 = f32_to_bf16(v317);
          const i64 v319 = v303 * d_n;
          const i64 v320 = v319 + v301;
          *(((u16*)b_out_peers.p[0ll]) + v320) = v318;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v321 = blockIdx.x; v321 < v250; v321 += gridDim.x) {
        const i64 v322 = v321 * 3072ll;
        const i64 v323 = v246 - v322;
        const i64 v324 = v323 < 3072ll ? v323 : 3072ll;
        #pragma unroll 1
        for (i64 v325 = threadIdx.x; v325 < v324; v325 += 384) {
          const i64 v326 = v322 + v325;
          const i64 v327 = v326 % v245;
          const i64 v328 = v326 / v245;
          const i64 v329 = v328 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v331;
          v331 = 0e+0f;
          #pragma unroll 1
          for (i64 v330 = 0ll; v330 < v83; v330++) {
            const i64 v332 = v330 * v7;
            const i64 v333 = v332 + v328;
            const i64 v334 = v333 * d_n;
            const i64 v335 = v334 + v327;
            const float v336 = *(b_slices + v335);
            v331 = v331 + v336;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v337 = 5e-1f * v331;
          const i64 v338 = v328 * d_n;
          const i64 v339 = v338 + v327;
          const u16 v340 = *(b_bias + v339);
          const float v341 = bf16_to_f32(v340);
          const float v342 = v337 + v341;
          const float v343 = fn_silu(v342);
          const u16 v344 = f32_to_bf16(v343);
          const i64 v345 = v329 * d_n;
          const i64 v346 = v345 + v327;
          *(((u16*)b_out_peers.p[0ll]) + v346) = v344;
        }
      }
    }
  }
  __syncthreads();
  const u32 v347 = *(b_epoch + 0ll);
  const u32 v348 = v347 + 1u;
  *(b_epoch + 0ll) = v348;
  if (threadIdx.x < 4) {
    const i64 v349 = threadIdx.x;
    const bool v350 = v349 == 0ll;
    const bool v351 = v30 & v350;
    const bool v352 = v31 & v350;
    const bool v353 = v32 & v350;
    const bool v354 = v351 | v352;
    const bool v355 = v354 | v353;
    if (v355) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v349]) + v20, v348);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v356 = threadIdx.x;
    const bool v357 = v356 == 1ll;
    const bool v358 = v16 & v357;
    const bool v359 = v356 == 2ll;
    const bool v360 = v16 & v359;
    const bool v361 = v356 == 3ll;
    const bool v362 = v16 & v361;
    const bool v363 = v358 | v360;
    const bool v364 = v363 | v362;
    const i64 v365 = v15 + v356;
    if (v364) {
      wait_acquire_sys(b_flags + v365, v348, watch, (u32)(v356), 5u, (u32)(v365), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v366 = threadIdx.x;
    const i64 v367 = v366 % (i64)gridDim.x;
    const bool v368 = v367 == (i64)blockIdx.x;
    if (v368) {
      const u32 v369 = *(b_epoch + 0ll);
      *(b_epochs + v366) = v369;
    }
  }
}
