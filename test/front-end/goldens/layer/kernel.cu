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
template <int STAGES, int CONSUMERS, int PRODUCERS, bool IS_FIRST> __device__ __forceinline__ void ring_begin(const void* ring) {
  // What was read and written so far, by threads, comes before what the copy engine does. At a kernel's begin there is nothing, and the fence takes 0.4 us.
  if constexpr (!IS_FIRST) {
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ring_full<STAGES>(ring, s)), "n"(PRODUCERS) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ring_free<STAGES>(ring, s)), "n"(CONSUMERS) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
  const i64 v59 = v58 / 2ll;
  const i64 v60 = 1ll < v59 ? 1ll : v59;
  const i64 v61 = v60 * v58;
  const i64 v63 = 88ll / v57;
  const i64 v64 = 1ll < v63 ? 1ll : v63;
  const i64 v65 = v64 - v60;
  const i64 v66 = v65 * 3ll;
  const i64 v67 = v61 > v66 ? v61 : v66;
  const i64 v68 = v46 < v67 ? v46 : v67;
  const i64 v69 = v68 > 1ll ? v68 : 1ll;
  const i64 v70 = v69 - 1ll;
  const i64 v71 = v44 + v70;
  const i64 v72 = v71 / v69;
  const i64 v74 = v7 * d_n;
  const i64 v75 = v69 * v74;
  const i64 v76 = v75 / 5469ll;
  const i64 v77 = v56 * v69;
  const i64 v79 = v77 + 131ll;
  const i64 v80 = v79 / 132ll;
  const i64 v81 = v80 > 1ll ? v80 : 1ll;
  const i64 v82 = v72 * v81;
  const i64 v84 = v82 + 8ll;
  const i64 v85 = v84 * 64ll;
  const i64 v86 = v85 + v76;
  const i64 v87 = v44 * 64ll;
  const bool v88 = v86 < v87;
  const i64 v89 = v88 ? v72 : v44;
  const i64 v90 = v89 > 1ll ? v89 : 1ll;
  const i64 v91 = v90 - 1ll;
  const i64 v92 = v44 + v91;
  const i64 v93 = v92 / v90;
  const i64 v94 = v93 > 1ll ? v93 : 1ll;
  const bool v95 = v94 > 1ll;
  {
    ring_begin<4, 8, 4, false>(b_ring_4);
    if (threadIdx.x < 256) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
      const i64 v99 = v7 > 0ll ? v7 : 0ll;
      const i64 v100 = v99 + 127ll;
      const i64 v101 = v100 / 128ll;
      const i64 v102 = d_n > 0ll ? d_n : 0ll;
      const i64 v103 = v102 + 255ll;
      const i64 v104 = v103 / 256ll;
      const i64 v105 = v101 * v104;
      const i64 v106 = v105 * v94;
      const i64 v108 = 8ll * v104;
      const bool v109 = v89 > 0ll;
      const i64 v111 = d_m / 4ll;
      const bool v113 = (u64)b_slices % 16 == 0;
      const i64 v114 = d_n % 4ll;
      const bool v115 = v114 == 0ll;
      const bool v116 = v113 & v115;
      const i64 v117 = d_n % 4ll;
      const bool v118 = v117 == 0ll;
      const bool v119 = v116 & v118;
      const bool v120 = (u64)b_bias % 16 == 0;
      const bool v121 = (u64)b_out % 16 == 0;
      const bool v122 = v120 & v121;
      const i64 v123 = d_n % 8ll;
      const bool v124 = v123 == 0ll;
      const bool v125 = v122 & v124;
      const i64 v126 = d_n % 8ll;
      const bool v127 = v126 == 0ll;
      const bool v128 = v125 & v127;
      Vec<float, 8> v129;
      #pragma unroll
      for (int l = 0; l < 8; l++) v129.v[l] = 5e-1f;
      #pragma unroll 1
      for (i64 v130 = blockIdx.x; v130 < v106; v130 += gridDim.x) {
        const i64 v131 = v130 / (i64)gridDim.x;
        const i64 v132 = v131 * v89;
        const i64 v133 = v130 % v105;
        const i64 v134 = v133 / v108;
        const i64 v135 = v134 * 8ll;
        const i64 v136 = v101 - v135;
        const i64 v137 = 8ll < v136 ? 8ll : v136;
        const i64 v138 = v133 % v108;
        const i64 v139 = v138 % v137;
        const i64 v140 = v135 + v139;
        const i64 v141 = v140 * 128ll;
        const i64 v142 = v138 / v137;
        const i64 v143 = v142 * 256ll;
        const i64 v144 = v130 / v105;
        #pragma unroll
        for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
        #pragma unroll 2
        for (i64 v145 = 0ll; v145 < v89; v145++) {
          const i64 v146 = v132 + v145;
          ring_wait<4>(b_ring_4, v146);
          const i64 v147 = v146 % 4ll;
          wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v147 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v147 * 16384), 8192));
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          const bool v148 = v145 > 0ll;
          const i64 v149 = v146 - 1ll;
          if (v148) {
            ring_release<4>(b_ring_4, v149);
          }
        }
        wgmma_end_128(b_accumulator_128x256);
        const i64 v150 = v132 + v89;
        const i64 v151 = v150 - 1ll;
        if (v109) {
          ring_release<4>(b_ring_4, v151);
        }
        const i64 v152 = v7 - v141;
        const i64 v153 = d_n - v143;
        const i64 v154 = v144 * v111;
        if (v95) {
          const u32 tv155 = thread_here();
          float* const pv155 = (float*)(b_patch_128x40 + tv155 / 32 * 640);
          #pragma unroll 1
          for (u32 cv155 = 0; cv155 < 8; cv155++) {
            put_fragment_256_f32(pv155, b_accumulator_128x256, cv155, tv155 % 32);
            if (v119) {
              #pragma unroll 4
              for (u32 lv155 = tv155 % 32; lv155 < 128; lv155 += 32) {
                const i64 v155 = (tv155 / 32 * 16 + lv155 / 8) * 64 + cv155 * 8 + lv155 % 8;
                const i64 v156 = v155 * 4ll;
                const i64 v157 = v156 / 256ll;
                const i64 v158 = v156 % 256ll;
                const bool v159 = v157 < v152;
                const bool v160 = v158 < v153;
                const bool v161 = v159 & v160;
                const i64 v162 = v141 + v157;
                const i64 v163 = v143 + v158;
                const i64 v164 = v157 * 256ll;
                const i64 v165 = v164 + v158;
                const i64 v166 = v154 + v162;
                const i64 v167 = v166 * d_n;
                const i64 v168 = v167 + v163;
                if (v161) {
                  const Vec<float, 4> v169 = load_vec<float, 4>(pv155 + lv155 / 8 * 40 + lv155 % 8 * 4);
                  store_vec(b_slices + v168, v169);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv170 = tv155 % 32; lv170 < 512; lv170 += 32) {
                const i64 v170 = (tv155 / 32 * 16 + lv170 / 32) * 256 + cv155 * 32 + lv170 % 32;
                const i64 v171 = v170 / 256ll;
                const i64 v172 = v170 % 256ll;
                const bool v173 = v171 < v152;
                const bool v174 = v172 < v153;
                const bool v175 = v173 & v174;
                const i64 v176 = v141 + v171;
                const i64 v177 = v143 + v172;
                const i64 v178 = v171 * 256ll;
                const i64 v179 = v178 + v172;
                const i64 v180 = v154 + v176;
                const i64 v181 = v180 * d_n;
                const i64 v182 = v181 + v177;
                if (v175) {
                  const float v183 = *(pv155 + lv170 / 32 * 40 + lv170 % 32 * 1);
                  *(b_slices + v182) = v183;
                }
              }
            }
          }
        } else {
          const u32 tv184 = thread_here();
          float* const pv184 = (float*)(b_patch_128x40 + tv184 / 32 * 640);
          #pragma unroll 1
          for (u32 cv184 = 0; cv184 < 8; cv184++) {
            put_fragment_256_f32(pv184, b_accumulator_128x256, cv184, tv184 % 32);
            if (v128) {
              #pragma unroll 2
              for (u32 lv184 = tv184 % 32; lv184 < 64; lv184 += 32) {
                const i64 v184 = (tv184 / 32 * 16 + lv184 / 4) * 32 + cv184 * 4 + lv184 % 4;
                const i64 v185 = v184 * 8ll;
                const i64 v186 = v185 / 256ll;
                const i64 v187 = v185 % 256ll;
                const bool v188 = v186 < v152;
                const bool v189 = v187 < v153;
                const bool v190 = v188 & v189;
                const i64 v191 = v141 + v186;
                const i64 v192 = v143 + v187;
                const i64 v193 = v191 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v194 = v186 * 256ll;
                const i64 v195 = v194 + v187;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v196 = v191 * d_n;
                const i64 v197 = v196 + v192;
                const i64 v198 = v193 * d_n;
                const i64 v199 = v198 + v192;
                if (v190) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const Vec<float, 8> v200 = load_vec<float, 8>(pv184 + lv184 / 4 * 40 + lv184 % 4 * 8);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  Vec<float, 8> v201;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v201.v[l] = v129.v[l] * v200.v[l];
                  const Vec<u16, 8> v202 = load_vec<u16, 8>(b_bias + v197);
                  Vec<float, 8> v203;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v203.v[l] = bf16_to_f32(v202.v[l]);
                  Vec<float, 8> v204;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v204.v[l] = v201.v[l] + v203.v[l];
                  Vec<float, 8> v205;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v205.v[l] = fn_silu(v204.v[l]);
                  Vec<u16, 8> v206;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v206.v[l] = f32_to_bf16(v205.v[l]);
                  store_vec(((u16*)b_out_peers.p[0ll]) + v199, v206);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv207 = tv184 % 32; lv207 < 512; lv207 += 32) {
                const i64 v207 = (tv184 / 32 * 16 + lv207 / 32) * 256 + cv184 * 32 + lv207 % 32;
                const i64 v208 = v207 / 256ll;
                const i64 v209 = v207 % 256ll;
                const bool v210 = v208 < v152;
                const bool v211 = v209 < v153;
                const bool v212 = v210 & v211;
                const i64 v213 = v141 + v208;
                const i64 v214 = v143 + v209;
                const i64 v215 = v213 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v216 = v208 * 256ll;
                const i64 v217 = v216 + v209;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v218 = v213 * d_n;
                const i64 v219 = v218 + v214;
                const i64 v220 = v215 * d_n;
                const i64 v221 = v220 + v214;
                if (v212) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const float v222 = *(pv184 + lv207 / 32 * 40 + lv207 % 32 * 1);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const float v223 = 5e-1f * v222;
                  const u16 v224 = *(b_bias + v219);
                  const float v225 = bf16_to_f32(v224);
                  const float v226 = v223 + v225;
                  const float v227 = fn_silu(v226);
                  const u16 v228 = f32_to_bf16(v227);
                  *(((u16*)b_out_peers.p[0ll]) + v221) = v228;
                }
              }
            }
          }
        }
      }
    } else {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
      Filling filling = {0, false};
      const i64 v229 = v7 > 0ll ? v7 : 0ll;
      const i64 v230 = v229 + 127ll;
      const i64 v231 = v230 / 128ll;
      const i64 v232 = d_n > 0ll ? d_n : 0ll;
      const i64 v233 = v232 + 255ll;
      const i64 v234 = v233 / 256ll;
      const i64 v235 = v231 * v234;
      const i64 v236 = v235 * v94;
      const i64 v238 = 8ll * v234;
      #pragma unroll 1
      for (i64 v239 = blockIdx.x; v239 < v236; v239 += gridDim.x) {
        const i64 v240 = v239 / (i64)gridDim.x;
        const i64 v241 = v240 * v89;
        const i64 v242 = v239 % v235;
        const i64 v243 = v242 / v238;
        const i64 v244 = v243 * 8ll;
        const i64 v245 = v231 - v244;
        const i64 v246 = 8ll < v245 ? 8ll : v245;
        const i64 v247 = v242 % v238;
        const i64 v248 = v247 % v246;
        const i64 v249 = v244 + v248;
        const i64 v250 = v249 * 128ll;
        const i64 v251 = v247 / v246;
        const i64 v252 = v251 * 256ll;
        const i64 v253 = v239 / v235;
        const i64 v254 = v253 * v89;
        #pragma unroll 1
        for (i64 v255 = 0ll; v255 < v89; v255++) {
          const i64 v256 = v241 + v255;
          const i64 v257 = v256 % 4ll;
          const i64 v258 = v254 + v255;
          const i64 v259 = v258 * 64ll;
          ring_acquire<4>(b_ring_4, v256);
          if (can_map(b_a, d_k)) {
            const bool is_half_ring_a_bf16_4x128x64 = v250 + 64 >= (d_m / 4ll);
            filling.bytes += is_half_ring_a_bf16_4x128x64 ? 8192 : 16384;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v257 * 8192 + s * 8192, is_half_ring_a_bf16_4x128x64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v257), (int)(v259) + s * 64, (int)(v250));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v257 * 8192, b_a, d_k, (d_m / 4ll), d_k, v250, v259);
          }
          if (can_map(b_b, d_n)) {
            filling.bytes += 32768;
            if (threadIdx.x == 256) {
              #pragma unroll
              for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v257 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v257), (int)(v252) + s * 64, (int)(v259));
            }
          } else {
            filling.by_threads = true;
            ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v257 * 16384, b_b, d_n, d_k, d_n, v259, v252);
          }
          ring_fill<4, 256>(b_ring_4, v256, filling);
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
  const i64 v260 = v7 > 0ll ? v7 : 0ll;
  const i64 v261 = d_n > 0ll ? d_n : 0ll;
  const i64 v262 = v260 * v261;
  const i64 v264 = v262 / 3072ll;
  const i64 v266 = v262 + 3071ll;
  const i64 v267 = v266 / 3072ll;
  const bool v268 = (u64)b_slices % 16 == 0;
  const bool v269 = (u64)b_bias % 16 == 0;
  const bool v270 = v268 & v269;
  const bool v271 = (u64)b_out % 16 == 0;
  const bool v272 = v270 & v271;
  const i64 v273 = v261 % 8ll;
  const bool v274 = v273 == 0ll;
  const bool v275 = v272 & v274;
  const i64 v276 = d_n % 8ll;
  const bool v277 = v276 == 0ll;
  const bool v278 = v275 & v277;
  Vec<float, 8> v280;
  #pragma unroll
  for (int l = 0; l < 8; l++) v280.v[l] = 5e-1f;
  const i64 v281 = (i64)rank % 4ll;
  const i64 v282 = (i64)gridDim.x * 4ll;
  const i64 v283 = (i64)gridDim.x * 2ll;
  const i64 v284 = (i64)gridDim.x * 3ll;
  if (v95) {
    __syncthreads();
    const u32 v285 = *(b_epoch + 0ll);
    const u32 v286 = v285 + 1u;
    *(b_epoch + 0ll) = v286;
    if (threadIdx.x < 1) {
      const i64 v287 = threadIdx.x;
      signal_set_release_gpu(b_flags + v20, v286);
    }
    #pragma unroll 1
    for (i64 v288 = threadIdx.x; v288 < (i64)gridDim.x; v288 += 384) {
      const i64 v289 = v288 * 4ll;
      const i64 v290 = v289 + v281;
      wait_acquire_gpu(b_flags + v290, v286, watch, (u32)(v281), 5u, (u32)(v290), 5u);
    }
    __syncthreads();
    if (v278) {
      const i64 v291 = v264 / v282;
      #pragma unroll 1
      for (i64 v292 = 0ll; v292 < v291; v292++) {
        const i64 v293 = v292 * v282;
        const i64 v294 = v293 + (i64)blockIdx.x;
        const i64 v295 = v294 * 3072ll;
        const i64 v296 = v294 + (i64)gridDim.x;
        const i64 v297 = v296 * 3072ll;
        const i64 v298 = v294 + v283;
        const i64 v299 = v298 * 3072ll;
        const i64 v300 = v294 + v284;
        const i64 v301 = v300 * 3072ll;
        {
          const i64 v302 = threadIdx.x;
          const i64 v303 = v302 * 8ll;
          const i64 v304 = v295 + v303;
          const i64 v305 = v297 + v303;
          const i64 v306 = v299 + v303;
          const i64 v307 = v301 + v303;
          const i64 v308 = v304 % v261;
          const i64 v309 = v305 % v261;
          const i64 v310 = v306 % v261;
          const i64 v311 = v307 % v261;
          const i64 v312 = v304 / v261;
          const i64 v313 = v305 / v261;
          const i64 v314 = v306 / v261;
          const i64 v315 = v307 / v261;
          const i64 v316 = v312 + v8;
          const i64 v317 = v313 + v8;
          const i64 v318 = v314 + v8;
          const i64 v319 = v315 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v321;
          for (int l = 0; l < 8; l++) v321.v[l] = 0e+0f;
          for (i64 v320 = 0ll; v320 < v94; v320++) {
            const i64 v322 = v320 * v7;
            const i64 v323 = v322 + v312;
            const i64 v324 = v323 * d_n;
            const i64 v325 = v324 + v308;
            const Vec<float, 8> v326 = load_vec<float, 8>(b_slices + v325);
            for (int l = 0; l < 8; l++) v321.v[l] = v321.v[l] + v326.v[l];
          }
          Vec<float, 8> v328;
          for (int l = 0; l < 8; l++) v328.v[l] = 0e+0f;
          for (i64 v327 = 0ll; v327 < v94; v327++) {
            const i64 v329 = v327 * v7;
            const i64 v330 = v329 + v313;
            const i64 v331 = v330 * d_n;
            const i64 v332 = v331 + v309;
            const Vec<float, 8> v333 = load_vec<float, 8>(b_slices + v332);
            for (int l = 0; l < 8; l++) v328.v[l] = v328.v[l] + v333.v[l];
          }
          Vec<float, 8> v335;
          for (int l = 0; l < 8; l++) v335.v[l] = 0e+0f;
          for (i64 v334 = 0ll; v334 < v94; v334++) {
            const i64 v336 = v334 * v7;
            const i64 v337 = v336 + v314;
            const i64 v338 = v337 * d_n;
            const i64 v339 = v338 + v310;
            const Vec<float, 8> v340 = load_vec<float, 8>(b_slices + v339);
            for (int l = 0; l < 8; l++) v335.v[l] = v335.v[l] + v340.v[l];
          }
          Vec<float, 8> v342;
          for (int l = 0; l < 8; l++) v342.v[l] = 0e+0f;
          for (i64 v341 = 0ll; v341 < v94; v341++) {
            const i64 v343 = v341 * v7;
            const i64 v344 = v343 + v315;
            const i64 v345 = v344 * d_n;
            const i64 v346 = v345 + v311;
            const Vec<float, 8> v347 = load_vec<float, 8>(b_slices + v346);
            for (int l = 0; l < 8; l++) v342.v[l] = v342.v[l] + v347.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v348;
          #pragma unroll
          for (int l = 0; l < 8; l++) v348.v[l] = v280.v[l] * v321.v[l];
          Vec<float, 8> v349;
          #pragma unroll
          for (int l = 0; l < 8; l++) v349.v[l] = v280.v[l] * v328.v[l];
          Vec<float, 8> v350;
          #pragma unroll
          for (int l = 0; l < 8; l++) v350.v[l] = v280.v[l] * v335.v[l];
          Vec<float, 8> v351;
          #pragma unroll
          for (int l = 0; l < 8; l++) v351.v[l] = v280.v[l] * v342.v[l];
          const i64 v352 = v312 * d_n;
          const i64 v353 = v313 * d_n;
          const i64 v354 = v314 * d_n;
          const i64 v355 = v315 * d_n;
          const i64 v356 = v352 + v308;
          const i64 v357 = v353 + v309;
          const i64 v358 = v354 + v310;
          const i64 v359 = v355 + v311;
          const Vec<u16, 8> v360 = load_vec<u16, 8>(b_bias + v356);
          const Vec<u16, 8> v361 = load_vec<u16, 8>(b_bias + v357);
          const Vec<u16, 8> v362 = load_vec<u16, 8>(b_bias + v358);
          const Vec<u16, 8> v363 = load_vec<u16, 8>(b_bias + v359);
          Vec<float, 8> v364;
          #pragma unroll
          for (int l = 0; l < 8; l++) v364.v[l] = bf16_to_f32(v360.v[l]);
          Vec<float, 8> v365;
          #pragma unroll
          for (int l = 0; l < 8; l++) v365.v[l] = bf16_to_f32(v361.v[l]);
          Vec<float, 8> v366;
          #pragma unroll
          for (int l = 0; l < 8; l++) v366.v[l] = bf16_to_f32(v362.v[l]);
          Vec<float, 8> v367;
          #pragma unroll
          for (int l = 0; l < 8; l++) v367.v[l] = bf16_to_f32(v363.v[l]);
          Vec<float, 8> v368;
          #pragma unroll
          for (int l = 0; l < 8; l++) v368.v[l] = v348.v[l] + v364.v[l];
          Vec<float, 8> v369;
          #pragma unroll
          for (int l = 0; l < 8; l++) v369.v[l] = v349.v[l] + v365.v[l];
          Vec<float, 8> v370;
          #pragma unroll
          for (int l = 0; l < 8; l++) v370.v[l] = v350.v[l] + v366.v[l];
          Vec<float, 8> v371;
          #pragma unroll
          for (int l = 0; l < 8; l++) v371.v[l] = v351.v[l] + v367.v[l];
          Vec<float, 8> v372;
          #pragma unroll
          for (int l = 0; l < 8; l++) v372.v[l] = fn_silu(v368.v[l]);
          Vec<float, 8> v373;
          #pragma unroll
          for (int l = 0; l < 8; l++) v373.v[l] = fn_silu(v369.v[l]);
          Vec<float, 8> v374;
          #pragma unroll
          for (int l = 0; l < 8; l++) v374.v[l] = fn_silu(v370.v[l]);
          Vec<float, 8> v375;
          #pragma unroll
          for (int l = 0; l < 8; l++) v375.v[l] = fn_silu(v371.v[l]);
          Vec<u16, 8> v376;
          #pragma unroll
          for (int l = 0; l < 8; l++) v376.v[l] = f32_to_bf16(v372.v[l]);
          Vec<u16, 8> v377;
          #pragma unroll
          for (int l = 0; l < 8; l++) v377.v[l] = f32_to_bf16(v373.v[l]);
          Vec<u16, 8> v378;
          #pragma unroll
          for (int l = 0; l < 8; l++) v378.v[l] = f32_to_bf16(v374.v[l]);
          Vec<u16, 8> v379;
          #pragma unroll
          for (int l = 0; l < 8; l++) v379.v[l] = f32_to_bf16(v375.v[l]);
          const i64 v380 = v316 * d_n;
          const i64 v381 = v317 * d_n;
          const i64 v382 = v318 * d_n;
          const i64 v383 = v319 * d_n;
          const i64 v384 = v380 + v308;
          const i64 v385 = v381 + v309;
          const i64 v386 = v382 + v310;
          const i64 v387 = v383 + v311;
          store_vec(((u16*)b_out_peers.p[0ll]) + v384, v376);
          store_vec(((u16*)b_out_peers.p[0ll]) + v385, v377);
          store_vec(((u16*)b_out_peers.p[0ll]) + v386, v378);
          store_vec(((u16*)b_out_peers.p[0ll]) + v387, v379);
        }
      }
      const i64 v388 = v291 * v282;
      #pragma unroll 1
      for (i64 v389 = v388 + ((i64)blockIdx.x - v388 % gridDim.x + gridDim.x) % gridDim.x; v389 < v264; v389 += gridDim.x) {
        const i64 v390 = v389 * 3072ll;
        {
          const i64 v391 = threadIdx.x;
          const i64 v392 = v391 * 8ll;
          const i64 v393 = v390 + v392;
          const i64 v394 = v393 % v261;
          const i64 v395 = v393 / v261;
          const i64 v396 = v395 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v398;
          for (int l = 0; l < 8; l++) v398.v[l] = 0e+0f;
          for (i64 v397 = 0ll; v397 < v94; v397++) {
            const i64 v399 = v397 * v7;
            const i64 v400 = v399 + v395;
            const i64 v401 = v400 * d_n;
            const i64 v402 = v401 + v394;
            const Vec<float, 8> v403 = load_vec<float, 8>(b_slices + v402);
            for (int l = 0; l < 8; l++) v398.v[l] = v398.v[l] + v403.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v404;
          #pragma unroll
          for (int l = 0; l < 8; l++) v404.v[l] = v280.v[l] * v398.v[l];
          const i64 v405 = v395 * d_n;
          const i64 v406 = v405 + v394;
          const Vec<u16, 8> v407 = load_vec<u16, 8>(b_bias + v406);
          Vec<float, 8> v408;
          #pragma unroll
          for (int l = 0; l < 8; l++) v408.v[l] = bf16_to_f32(v407.v[l]);
          Vec<float, 8> v409;
          #pragma unroll
          for (int l = 0; l < 8; l++) v409.v[l] = v404.v[l] + v408.v[l];
          Vec<float, 8> v410;
          #pragma unroll
          for (int l = 0; l < 8; l++) v410.v[l] = fn_silu(v409.v[l]);
          Vec<u16, 8> v411;
          #pragma unroll
          for (int l = 0; l < 8; l++) v411.v[l] = f32_to_bf16(v410.v[l]);
          const i64 v412 = v396 * d_n;
          const i64 v413 = v412 + v394;
          store_vec(((u16*)b_out_peers.p[0ll]) + v413, v411);
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v414 = blockIdx.x; v414 < v264; v414 += gridDim.x) {
        const i64 v415 = v414 * 3072ll;
        #pragma unroll 1
        for (i64 v416 = threadIdx.x; v416 < 3072ll; v416 += 384) {
          const i64 v417 = v415 + v416;
          const i64 v418 = v417 % v261;
          const i64 v419 = v417 / v261;
          const i64 v420 = v419 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v422;
          v422 = 0e+0f;
          for (i64 v421 = 0ll; v421 < v94; v421++) {
            const i64 v423 = v421 * v7;
            const i64 v424 = v423 + v419;
            const i64 v425 = v424 * d_n;
            const i64 v426 = v425 + v418;
            const float v427 = *(b_slices + v426);
            v422 = v422 + v427;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v428 = 5e-1f * v422;
          const i64 v429 = v419 * d_n;
          const i64 v430 = v429 + v418;
          const u16 v431 = *(b_bias + v430);
          const float v432 = bf16_to_f32(v431);
          const float v433 = v428 + v432;
          const float v434 = fn_silu(v433);
          const u16 v435 = f32_to_bf16(v434);
          const i64 v436 = v420 * d_n;
          const i64 v437 = v436 + v418;
          *(((u16*)b_out_peers.p[0ll]) + v437) = v435;
        }
      }
    }
    if (v278) {
      #pragma unroll 1
      for (i64 v438 = v264 + ((i64)blockIdx.x - v264 % gridDim.x + gridDim.x) % gridDim.x; v438 < v267; v438 += gridDim.x) {
        const i64 v439 = v438 * 3072ll;
        const i64 v440 = v262 - v439;
        const i64 v441 = v440 / 8ll;
        const i64 v442 = v441 * 8ll;
        #pragma unroll 1
        for (i64 v443 = threadIdx.x; v443 < v441; v443 += 384) {
          const i64 v444 = v443 * 8ll;
          const i64 v445 = v439 + v444;
          const i64 v446 = v445 % v261;
          const i64 v447 = v445 / v261;
          const i64 v448 = v447 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v450;
          for (int l = 0; l < 8; l++) v450.v[l] = 0e+0f;
          for (i64 v449 = 0ll; v449 < v94; v449++) {
            const i64 v451 = v449 * v7;
            const i64 v452 = v451 + v447;
            const i64 v453 = v452 * d_n;
            const i64 v454 = v453 + v446;
            const Vec<float, 8> v455 = load_vec<float, 8>(b_slices + v454);
            for (int l = 0; l < 8; l++) v450.v[l] = v450.v[l] + v455.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v456;
          #pragma unroll
          for (int l = 0; l < 8; l++) v456.v[l] = v280.v[l] * v450.v[l];
          const i64 v457 = v447 * d_n;
          const i64 v458 = v457 + v446;
          const Vec<u16, 8> v459 = load_vec<u16, 8>(b_bias + v458);
          Vec<float, 8> v460;
          #pragma unroll
          for (int l = 0; l < 8; l++) v460.v[l] = bf16_to_f32(v459.v[l]);
          Vec<float, 8> v461;
          #pragma unroll
          for (int l = 0; l < 8; l++) v461.v[l] = v456.v[l] + v460.v[l];
          Vec<float, 8> v462;
          #pragma unroll
          for (int l = 0; l < 8; l++) v462.v[l] = fn_silu(v461.v[l]);
          Vec<u16, 8> v463;
          #pragma unroll
          for (int l = 0; l < 8; l++) v463.v[l] = f32_to_bf16(v462.v[l]);
          const i64 v464 = v448 * d_n;
          const i64 v465 = v464 + v446;
          store_vec(((u16*)b_out_peers.p[0ll]) + v465, v463);
        }
        #pragma unroll 1
        for (i64 v466 = v442 + threadIdx.x; v466 < v440; v466 += 384) {
          const i64 v467 = v439 + v466;
          const i64 v468 = v467 % v261;
          const i64 v469 = v467 / v261;
          const i64 v470 = v469 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v472;
          v472 = 0e+0f;
          for (i64 v471 = 0ll; v471 < v94; v471++) {
            const i64 v473 = v471 * v7;
            const i64 v474 = v473 + v469;
            const i64 v475 = v474 * d_n;
            const i64 v476 = v475 + v468;
            const float v477 = *(b_slices + v476);
            v472 = v472 + v477;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v478 = 5e-1f * v472;
          const i64 v479 = v469 * d_n;
          const i64 v480 = v479 + v468;
          const u16 v481 = *(b_bias + v480);
          const float v482 = bf16_to_f32(v481);
          const float v483 = v478 + v482;
          const float v484 = fn_silu(v483);
          const u16 v485 = f32_to_bf16(v484);
          const i64 v486 = v470 * d_n;
          const i64 v487 = v486 + v468;
          *(((u16*)b_out_peers.p[0ll]) + v487) = v485;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v488 = v264 + ((i64)blockIdx.x - v264 % gridDim.x + gridDim.x) % gridDim.x; v488 < v267; v488 += gridDim.x) {
        const i64 v489 = v488 * 3072ll;
        const i64 v490 = v262 - v489;
        #pragma unroll 1
        for (i64 v491 = threadIdx.x; v491 < v490; v491 += 384) {
          const i64 v492 = v489 + v491;
          const i64 v493 = v492 % v261;
          const i64 v494 = v492 / v261;
          const i64 v495 = v494 + v8;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v497;
          v497 = 0e+0f;
          for (i64 v496 = 0ll; v496 < v94; v496++) {
            const i64 v498 = v496 * v7;
            const i64 v499 = v498 + v494;
            const i64 v500 = v499 * d_n;
            const i64 v501 = v500 + v493;
            const float v502 = *(b_slices + v501);
            v497 = v497 + v502;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v503 = 5e-1f * v497;
          const i64 v504 = v494 * d_n;
          const i64 v505 = v504 + v493;
          const u16 v506 = *(b_bias + v505);
          const float v507 = bf16_to_f32(v506);
          const float v508 = v503 + v507;
          const float v509 = fn_silu(v508);
          const u16 v510 = f32_to_bf16(v509);
          const i64 v511 = v495 * d_n;
          const i64 v512 = v511 + v493;
          *(((u16*)b_out_peers.p[0ll]) + v512) = v510;
        }
      }
    }
  }
  __syncthreads();
  const u32 v513 = *(b_epoch + 0ll);
  const u32 v514 = v513 + 1u;
  *(b_epoch + 0ll) = v514;
  if (threadIdx.x < 4) {
    const i64 v515 = threadIdx.x;
    const bool v516 = v515 == 0ll;
    const bool v517 = v30 & v516;
    const bool v518 = v31 & v516;
    const bool v519 = v32 & v516;
    const bool v520 = v517 | v518;
    const bool v521 = v520 | v519;
    if (v521) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v515]) + v20, v514);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v522 = threadIdx.x;
    const bool v523 = v522 == 1ll;
    const bool v524 = v16 & v523;
    const bool v525 = v522 == 2ll;
    const bool v526 = v16 & v525;
    const bool v527 = v522 == 3ll;
    const bool v528 = v16 & v527;
    const bool v529 = v524 | v526;
    const bool v530 = v529 | v528;
    const i64 v531 = v15 + v522;
    if (v530) {
      wait_acquire_sys(b_flags + v531, v514, watch, (u32)(v522), 5u, (u32)(v531), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v532 = threadIdx.x;
    const i64 v533 = v532 % (i64)gridDim.x;
    const bool v534 = v533 == (i64)blockIdx.x;
    if (v534) {
      const u32 v535 = *(b_epoch + 0ll);
      *(b_epochs + v532) = v535;
    }
  }
}
