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
__device__ __forceinline__ i64 quotient(i64 a, i64 b) {
  if (((u64)(a | b) >> 32) == 0) return (u32)a / (u32)b;
  // Bits of the quotient come in where those of the dividend go out.
  u64 q = a, r = 0;
#pragma unroll 1
  for (int i = 0; i < 64; i++) {
    r = r << 1 | q >> 63;
    q <<= 1;
    if (r >= (u64)b) { r -= (u64)b; q |= 1; }
  }
  return (i64)q;
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
// Places in a ring are numbers of 32 bits: with 64, consumers compute half as long as they multiply.
// The n-th time around, a stage is free after the consumers have released it n times, and full after the producer has filled it n + 1 times.
template <int STAGES> __device__ __forceinline__ void ring_acquire(const void* ring, i64 position) {
  ring_spin(ring_free<STAGES>(ring, (u32)position % STAGES), ((u32)position / STAGES & 1) ^ 1);
}
template <int STAGES> __device__ __forceinline__ void ring_wait(const void* ring, i64 position) {
  ring_spin(ring_full<STAGES>(ring, (u32)position % STAGES), (u32)position / STAGES & 1);
}
template <int STAGES> __device__ __forceinline__ void ring_release(const void* ring, i64 position) {
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ring_free<STAGES>(ring, (u32)position % STAGES)) : "memory");
}
// Each warp that fills a stage says that it is done: of a producer's one, of consumers that fill it by what they store all. A barrier tells two
// phases apart: a warp that had no part in a phase, and were slower than the ring, could find the one it waits for two back, and wait forever.
template <int STAGES> __device__ __forceinline__ void ring_fill(const void* ring, i64 position, Filling& filling) {
  const u32 full = ring_full<STAGES>(ring, (u32)position % STAGES);
  if (filling.by_threads) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(filling.bytes) : "memory");
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
// Elements of 4 bytes, row by row, as a warp's threads load them. Consumers have used theirs when they release a stage: what is made of them they add to sums before that.
template <int ROWS, int COLS>
__device__ __forceinline__ void ring_copy_plain(float* to, const float* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
#pragma unroll 1
  for (int e = thread_here() % 32; e < ROWS * COLS; e += 32) {
    const int r = e / COLS, c = e % COLS;
    const bool inside = (row + r < rows) & (col + c < cols);
    const float* source = inside ? from + (row + r) * stride + col + c : from;
    const int bytes = inside ? 4 : 0; // the rest is filled with zeros
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(ring_address(to + e)), "l"(source), "r"(bytes) : "memory");
  }
}
// This thread's plain copies, when they have landed, are one arrival.
template <int STAGES> __device__ __forceinline__ void ring_land_plain(const void* ring, i64 position) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(ring_full<STAGES>(ring, (u32)position % STAGES)) : "memory");
}
// As the copy engine lays it out: slabs of 128 bytes a row, their 16-byte pieces permuted by the row.
template <typename T, int ROWS, int COLS>
__device__ __forceinline__ void ring_copy(T* to, const T* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
  constexpr int SLAB = 128 / sizeof(T);
#pragma unroll 4
  for (int e = thread_here() % 32; e < ROWS * COLS; e += 32) {
    const int r = e / COLS, c = e % COLS, b = c % SLAB * (int)sizeof(T) ^ (r & 7) << 4;
    const bool inside = (row + r < rows) & (col + c < cols);
    to[(c / SLAB * ROWS + r) * SLAB + b / (int)sizeof(T)] = inside ? from[(row + r) * stride + col + c] : T(0);
  }
}
// A tile of 128-byte rows, swizzled: eight rows lie 1024 bytes apart, slabs as far as is said.
__device__ __forceinline__ u64 tile_descriptor(u32 address, u32 slab) {
  return (u64)((address & 0x3ffffu) >> 4) | (u64)(slab >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
__device__ __forceinline__ void wgmma_m64n64k16_bf16_nt_64(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %34, %35, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %36, %37, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %38, %39, 1, 1, 1, 0, 1;\n"
    "wgmma.commit_group.sync.aligned;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "l"(a + 0), "l"(b + 0), "l"(a + 2), "l"(b + 128), "l"(a + 4), "l"(b + 256), "l"(a + 6), "l"(b + 384)
    : "memory");
}
__device__ __forceinline__ void wgmma_end_32(float* d) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) :: "memory");
}
__device__ __forceinline__ void put_fragment_64_f32(float* patch, const float* acc, u32 part, u32 lane) {
  float* const at = patch + lane / 4 * 40 + lane % 4 * 2;
  __syncwarp();
#pragma unroll
  for (int p = 0; p < 2; p++)
    if (p == part)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const float* d = acc + (p * 4 + j) * 4;
        *reinterpret_cast<float2*>(at + j * 8) = make_float2(d[0], d[1]);
        *reinterpret_cast<float2*>(at + j * 8 + 320) = make_float2(d[2], d[3]);
      }
  __syncwarp();
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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const i64 d_length_12, const i64 d_length_15, const i64 d_length_23, const i64 d_length_26, const i64 d_length_27, const i64 d_length_28, const i64 d_length_29, const i64 d_length_30, const i64 d_length_31, const i64 d_length_33, const i64 d_length_34, const i64 d_length_35, const i64 d_length_36, const i64 d_length_37, const i64 d_length_38, const i64 d_length_39, const i64 d_length_41, const i64 d_length_42, const i64 d_length_43, const i64 d_length_44, const i64 d_length_45, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_16x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
  const Watch watch = {timeout, status, (u32)rank};
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  u16* const b_out = (u16*)b_out_peers.p[rank];
  u16* const b_ring_a_bf16_8x128x64 = (u16*)(shared_memory + 0);
  u16* const b_ring_b_bf16_8x64x64 = (u16*)(shared_memory + 131072);
  float b_accumulator_128x64[32];
  float* const b_patch_128x40 = (float*)(shared_memory + 196608);
  u32* const b_ring_8 = (u32*)(shared_memory + 217088);
  u16* const b_ring_a_bf16_4x128x64 = (u16*)(shared_memory + 0);
  u16* const b_ring_b_bf16_4x64x256 = (u16*)(shared_memory + 65536);
  float b_accumulator_128x256[128];
  u32* const b_ring_4 = (u32*)(shared_memory + 217088);
  u32* const b_flags = (u32*)b_flags_peers.p[rank];
  u32 b_epoch[1];
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v3 = *(b_epochs + (i64)blockIdx.x);
  *(b_epoch + 0ll) = v3;
  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v7 = *(b_epoch + 0ll);
  const u32 v9 = v7 + 1u;
  *(b_epoch + 0ll) = v9;
  const i64 v10 = (i64)blockIdx.x * 4ll;
  const bool v11 = (i64)rank == 0ll;
  const i64 v15 = v10 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v16 = threadIdx.x;
    const bool v17 = v16 == 1ll;
    const bool v18 = v11 & v17;
    const bool v19 = v16 == 2ll;
    const bool v20 = v11 & v19;
    const bool v21 = v16 == 3ll;
    const bool v22 = v11 & v21;
    const bool v23 = v18 | v20;
    const bool v24 = v23 | v22;
    if (v24) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v16]) + v15, v9);
    }
  }
  const bool v25 = (i64)rank == 1ll;
  const bool v26 = (i64)rank == 2ll;
  const bool v27 = (i64)rank == 3ll;
  if (threadIdx.x < 4) {
    const i64 v28 = threadIdx.x;
    const bool v29 = v28 == 0ll;
    const bool v30 = v25 & v29;
    const bool v31 = v26 & v29;
    const bool v32 = v27 & v29;
    const bool v33 = v30 | v31;
    const bool v34 = v33 | v32;
    const i64 v35 = v10 + v28;
    if (v34) {
      wait_acquire_sys(b_flags + v35, v9, watch, (u32)(v28), 5u, (u32)(v35), 5u);
    }
  }
  __syncthreads();
  i64 v48 = d_length_12;
  asm volatile("" : "+l"(v48));
  i64 v51 = d_length_23;
  asm volatile("" : "+l"(v51));
  if ((d_length_27 != 0)) {
    {
      ring_begin<8, 8, 1, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        const u32 group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
        i64 v59 = d_length_28;
        asm volatile("" : "+l"(v59));
        i64 v61 = d_length_29;
        asm volatile("" : "+l"(v61));
        #pragma unroll 1
        for (i64 v64 = blockIdx.x; v64 < v61; v64 += gridDim.x) {
          const i64 v65 = quotient(v64, (i64)gridDim.x);
          const i64 v66 = v65 * v51;
          const i64 v67 = v64 - quotient(v64, v59) * v59;
          const i64 v68 = quotient(v64, v59);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v69 = 0ll; v69 < v51; v69++) {
            const i64 v70 = v66 + v69;
            ring_wait<8>(b_ring_8, v70);
            const i64 v71 = (u32)v70 % 8u;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64) + group * 8192, 16) + (u32)v71 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_8x64x64), 8192) + (u32)v71 * 512u);
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v72 = v69 > 0ll;
            const i64 v73 = v70 - 1ll;
            if (v72) {
              ring_release<8>(b_ring_8, v73);
            }
          }
          i64 v74 = d_n;
          asm volatile("" : "+l"(v74));
          i64 v75 = d_length_31;
          asm volatile("" : "+l"(v75));
          i64 v76 = d_m;
          asm volatile("" : "+l"(v76));
          const i64 v77 = v76 / 4ll;
          const i64 v78 = v77 > 0ll ? v77 : 0ll;
          const i64 v79 = v78 + 127ll;
          const i64 v80 = v79 / 128ll;
          const i64 v81 = v76 / 4ll;
          i64 v82 = (i64)rank;
          asm volatile("" : "+l"(v82));
          const i64 v83 = v82 * v77;
          const bool v84 = (u64)b_bias % 16 == 0;
          const bool v85 = (u64)b_out % 16 == 0;
          const bool v86 = v84 & v85;
          const i64 v87 = v74 % 8ll;
          const bool v88 = v87 == 0ll;
          const bool v89 = v86 & v88;
          const i64 v90 = v74 % 8ll;
          const bool v91 = v90 == 0ll;
          const bool v92 = v89 & v91;
          wgmma_end_32(b_accumulator_128x64);
          const i64 v93 = v66 + v51;
          const i64 v94 = v93 - 1ll;
          if ((d_length_30 != 0)) {
            ring_release<8>(b_ring_8, v94);
          }
          const i64 v95 = quotient(v67, v75);
          const i64 v96 = v95 * 8ll;
          const i64 v97 = v80 - v96;
          const i64 v98 = 8ll < v97 ? 8ll : v97;
          const i64 v99 = v67 - quotient(v67, v75) * v75;
          const i64 v100 = v99 - quotient(v99, v98) * v98;
          const i64 v101 = v96 + v100;
          const i64 v102 = v101 * 128ll;
          const i64 v103 = quotient(v99, v98);
          const i64 v104 = v103 * 64ll;
          const i64 v105 = v77 - v102;
          const i64 v106 = d_n - v104;
          const i64 v107 = v68 * v81;
          const i64 v108 = v102 * d_n;
          const i64 v109 = v108 + v104;
          const i64 v110 = v102 + v83;
          const i64 v111 = v110 * d_n;
          const i64 v112 = v111 + v104;
          const i64 v113 = v108 % 8ll;
          const bool v114 = v113 == 0ll;
          const bool v115 = v92 & v114;
          const i64 v116 = v111 % 8ll;
          const bool v117 = v116 == 0ll;
          const bool v118 = v115 & v117;
          if ((d_length_26 != 0)) {
            const bool v119 = (u64)b_slices % 16 == 0;
            i64 v120 = d_n;
            asm volatile("" : "+l"(v120));
            const i64 v121 = v120 % 4ll;
            const bool v122 = v121 == 0ll;
            const bool v123 = v119 & v122;
            const i64 v124 = v120 % 4ll;
            const bool v125 = v124 == 0ll;
            const bool v126 = v123 & v125;
            const u32 tv127 = thread_here();
            float* const pv127 = (float*)(b_patch_128x40 + tv127 / 32 * 640);
            #pragma unroll 1
            for (u32 cv127 = 0; cv127 < 2; cv127++) {
              put_fragment_64_f32(pv127, b_accumulator_128x64, cv127, tv127 % 32);
              if (v126) {
                #pragma unroll 4
                for (u32 lv127 = tv127 % 32; lv127 < 128; lv127 += 32) {
                  const i64 v127 = (tv127 / 32 * 16 + lv127 / 8) * 16 + cv127 * 8 + lv127 % 8;
                  const i64 v128 = v127 * 4ll;
                  const i64 v129 = v128 / 64ll;
                  const i64 v130 = v128 % 64ll;
                  const bool v131 = v129 < v105;
                  const bool v132 = v130 < v106;
                  const bool v133 = v131 & v132;
                  const i64 v134 = v102 + v129;
                  const i64 v135 = v104 + v130;
                  const i64 v136 = v129 * 64ll;
                  const i64 v137 = v136 + v130;
                  const i64 v138 = v107 + v134;
                  const i64 v139 = v138 * d_n;
                  const i64 v140 = v139 + v135;
                  if (v133) {
                    const Vec<float, 4> v141 = load_vec<float, 4>(pv127 + lv127 / 8 * 40 + lv127 % 8 * 4);
                    store_vec(b_slices + v140, v141);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv142 = tv127 % 32; lv142 < 512; lv142 += 32) {
                  const i64 v142 = (tv127 / 32 * 16 + lv142 / 32) * 64 + cv127 * 32 + lv142 % 32;
                  const i64 v143 = v142 / 64ll;
                  const i64 v144 = v142 % 64ll;
                  const bool v145 = v143 < v105;
                  const bool v146 = v144 < v106;
                  const bool v147 = v145 & v146;
                  const i64 v148 = v102 + v143;
                  const i64 v149 = v104 + v144;
                  const i64 v150 = v143 * 64ll;
                  const i64 v151 = v150 + v144;
                  const i64 v152 = v107 + v148;
                  const i64 v153 = v152 * d_n;
                  const i64 v154 = v153 + v149;
                  if (v147) {
                    const float v155 = *(pv127 + lv142 / 32 * 40 + lv142 % 32 * 1);
                    *(b_slices + v154) = v155;
                  }
                }
              }
            }
          } else {
            Vec<float, 8> v156;
            #pragma unroll
            for (int l = 0; l < 8; l++) v156.v[l] = 5e-1f;
            const u32 tv157 = thread_here();
            float* const pv157 = (float*)(b_patch_128x40 + tv157 / 32 * 640);
            #pragma unroll 1
            for (u32 cv157 = 0; cv157 < 2; cv157++) {
              put_fragment_64_f32(pv157, b_accumulator_128x64, cv157, tv157 % 32);
              if (v118) {
                #pragma unroll 2
                for (u32 lv157 = tv157 % 32; lv157 < 64; lv157 += 32) {
                  const i64 v157 = (tv157 / 32 * 16 + lv157 / 4) * 8 + cv157 * 4 + lv157 % 4;
                  const i64 v158 = v157 * 8ll;
                  const i64 v159 = v158 / 64ll;
                  const i64 v160 = v158 % 64ll;
                  const bool v161 = v159 < v105;
                  const bool v162 = v160 < v106;
                  const bool v163 = v161 & v162;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v164 = v159 * 64ll;
                  const i64 v165 = v164 + v160;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v166 = v159 * d_n;
                  const i64 v167 = v166 + v160;
                  const i64 v168 = v167 + v109;
                  const i64 v169 = v167 + v112;
                  if (v163) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v170 = load_vec<float, 8>(pv157 + lv157 / 4 * 40 + lv157 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v171;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v171.v[l] = v156.v[l] * v170.v[l];
                    const Vec<u16, 8> v172 = load_vec<u16, 8>(b_bias + v168);
                    Vec<float, 8> v173;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v173.v[l] = bf16_to_f32(v172.v[l]);
                    Vec<float, 8> v174;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v174.v[l] = v171.v[l] + v173.v[l];
                    Vec<float, 8> v175;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v175.v[l] = fn_silu(v174.v[l]);
                    Vec<u16, 8> v176;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v176.v[l] = f32_to_bf16(v175.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v169, v176);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv177 = tv157 % 32; lv177 < 512; lv177 += 32) {
                  const i64 v177 = (tv157 / 32 * 16 + lv177 / 32) * 64 + cv157 * 32 + lv177 % 32;
                  const i64 v178 = v177 / 64ll;
                  const i64 v179 = v177 % 64ll;
                  const bool v180 = v178 < v105;
                  const bool v181 = v179 < v106;
                  const bool v182 = v180 & v181;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v183 = v178 * 64ll;
                  const i64 v184 = v183 + v179;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v185 = v178 * d_n;
                  const i64 v186 = v185 + v179;
                  const i64 v187 = v186 + v109;
                  const i64 v188 = v186 + v112;
                  if (v182) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v189 = *(pv157 + lv177 / 32 * 40 + lv177 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v190 = 5e-1f * v189;
                    const u16 v191 = *(b_bias + v187);
                    const float v192 = bf16_to_f32(v191);
                    const float v193 = v190 + v192;
                    const float v194 = fn_silu(v193);
                    const u16 v195 = f32_to_bf16(v194);
                    *(((u16*)b_out_peers.p[0ll]) + v188) = v195;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v196 = d_m;
        asm volatile("" : "+l"(v196));
        const i64 v197 = v196 / 4ll;
        const i64 v198 = v197 > 0ll ? v197 : 0ll;
        const i64 v199 = v198 + 127ll;
        const i64 v200 = v199 / 128ll;
        i64 v201 = d_length_33;
        asm volatile("" : "+l"(v201));
        i64 v203 = d_length_34;
        asm volatile("" : "+l"(v203));
        i64 v204 = d_length_35;
        asm volatile("" : "+l"(v204));
        #pragma unroll 1
        for (i64 v205 = blockIdx.x; v205 < v204; v205 += gridDim.x) {
          const i64 v206 = quotient(v205, (i64)gridDim.x);
          const i64 v207 = v206 * v51;
          const i64 v208 = v205 - quotient(v205, v201) * v201;
          const i64 v209 = quotient(v205, v201);
          const i64 v210 = quotient(v208, v203);
          const i64 v211 = v210 * 8ll;
          const i64 v212 = v200 - v211;
          const i64 v213 = 8ll < v212 ? 8ll : v212;
          const i64 v214 = v208 - quotient(v208, v203) * v203;
          const i64 v215 = v214 - quotient(v214, v213) * v213;
          const i64 v216 = v211 + v215;
          const i64 v217 = v216 * 128ll;
          const i64 v218 = quotient(v214, v213);
          const i64 v219 = v218 * 64ll;
          const i64 v220 = v209 * v51;
          const i64 v221 = v220 + v51;
          #pragma unroll 1
          for (i64 v222 = v220; v222 < v221; v222++) {
            const i64 v223 = v222 - v220;
            const i64 v224 = v207 + v223;
            const i64 v225 = (u32)v224 % 8u;
            const i64 v226 = v222 * 64ll;
            if ((u32)v224 % 4 == threadIdx.x / 32 - 8) {
              ring_acquire<8>(b_ring_8, v224);
              if (can_map(b_a, d_k)) {
                const i64 left_ring_a_bf16_8x128x64 = (d_m / 4ll) - (v217);
                filling.bytes += left_ring_a_bf16_8x128x64 <= 16 ? 2048 : left_ring_a_bf16_8x128x64 <= 64 ? 8192 : 16384;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v225 * 8192 + s * 8192, left_ring_a_bf16_8x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_8x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v225), (int)(v226) + s * 64, (int)(v217));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 128, 64>(b_ring_a_bf16_8x128x64 + v225 * 8192, b_a, d_k, (d_m / 4ll), d_k, v217, v226);
              }
              if (can_map(b_b, d_n)) {
                filling.bytes += 8192;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v225 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v225), (int)(v219) + s * 64, (int)(v226));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 64, 64>(b_ring_b_bf16_8x64x64 + v225 * 4096, b_b, d_n, d_k, d_n, v226, v219);
              }
              ring_fill<8>(b_ring_8, v224, filling);
            }
          }
        }
      }
      ring_end<8>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 168;");
      } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 168;");
      }
    }
  } else {
    {
      ring_begin<4, 8, 1, false>(b_ring_4);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        const u32 group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
        i64 v227 = d_length_36;
        asm volatile("" : "+l"(v227));
        i64 v229 = d_length_37;
        asm volatile("" : "+l"(v229));
        #pragma unroll 1
        for (i64 v232 = blockIdx.x; v232 < v229; v232 += gridDim.x) {
          const i64 v233 = quotient(v232, (i64)gridDim.x);
          const i64 v234 = v233 * v48;
          const i64 v235 = v232 - quotient(v232, v227) * v227;
          const i64 v236 = quotient(v232, v227);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          #pragma unroll 2
          for (i64 v237 = 0ll; v237 < v48; v237++) {
            const i64 v238 = v234 + v237;
            ring_wait<4>(b_ring_4, v238);
            const i64 v239 = (u32)v238 % 4u;
            wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v239 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v239 * 2048u);
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v240 = v237 > 0ll;
            const i64 v241 = v238 - 1ll;
            if (v240) {
              ring_release<4>(b_ring_4, v241);
            }
          }
          i64 v242 = d_n;
          asm volatile("" : "+l"(v242));
          i64 v243 = d_length_39;
          asm volatile("" : "+l"(v243));
          i64 v244 = d_m;
          asm volatile("" : "+l"(v244));
          const i64 v245 = v244 / 4ll;
          const i64 v246 = v245 > 0ll ? v245 : 0ll;
          const i64 v247 = v246 + 127ll;
          const i64 v248 = v247 / 128ll;
          const i64 v249 = v244 / 4ll;
          i64 v250 = (i64)rank;
          asm volatile("" : "+l"(v250));
          const i64 v251 = v250 * v245;
          const bool v252 = (u64)b_bias % 16 == 0;
          const bool v253 = (u64)b_out % 16 == 0;
          const bool v254 = v252 & v253;
          const i64 v255 = v242 % 8ll;
          const bool v256 = v255 == 0ll;
          const bool v257 = v254 & v256;
          const i64 v258 = v242 % 8ll;
          const bool v259 = v258 == 0ll;
          const bool v260 = v257 & v259;
          wgmma_end_128(b_accumulator_128x256);
          const i64 v261 = v234 + v48;
          const i64 v262 = v261 - 1ll;
          if ((d_length_38 != 0)) {
            ring_release<4>(b_ring_4, v262);
          }
          const i64 v263 = quotient(v235, v243);
          const i64 v264 = v263 * 8ll;
          const i64 v265 = v248 - v264;
          const i64 v266 = 8ll < v265 ? 8ll : v265;
          const i64 v267 = v235 - quotient(v235, v243) * v243;
          const i64 v268 = v267 - quotient(v267, v266) * v266;
          const i64 v269 = v264 + v268;
          const i64 v270 = v269 * 128ll;
          const i64 v271 = quotient(v267, v266);
          const i64 v272 = v271 * 256ll;
          const i64 v273 = v245 - v270;
          const i64 v274 = d_n - v272;
          const i64 v275 = v236 * v249;
          const i64 v276 = v270 * d_n;
          const i64 v277 = v276 + v272;
          const i64 v278 = v270 + v251;
          const i64 v279 = v278 * d_n;
          const i64 v280 = v279 + v272;
          const i64 v281 = v276 % 8ll;
          const bool v282 = v281 == 0ll;
          const bool v283 = v260 & v282;
          const i64 v284 = v279 % 8ll;
          const bool v285 = v284 == 0ll;
          const bool v286 = v283 & v285;
          if ((d_length_15 != 0)) {
            const bool v287 = (u64)b_slices % 16 == 0;
            i64 v288 = d_n;
            asm volatile("" : "+l"(v288));
            const i64 v289 = v288 % 4ll;
            const bool v290 = v289 == 0ll;
            const bool v291 = v287 & v290;
            const i64 v292 = v288 % 4ll;
            const bool v293 = v292 == 0ll;
            const bool v294 = v291 & v293;
            const u32 tv295 = thread_here();
            float* const pv295 = (float*)(b_patch_128x40 + tv295 / 32 * 640);
            #pragma unroll 1
            for (u32 cv295 = 0; cv295 < 8; cv295++) {
              put_fragment_256_f32(pv295, b_accumulator_128x256, cv295, tv295 % 32);
              if (v294) {
                #pragma unroll 4
                for (u32 lv295 = tv295 % 32; lv295 < 128; lv295 += 32) {
                  const i64 v295 = (tv295 / 32 * 16 + lv295 / 8) * 64 + cv295 * 8 + lv295 % 8;
                  const i64 v296 = v295 * 4ll;
                  const i64 v297 = v296 / 256ll;
                  const i64 v298 = v296 % 256ll;
                  const bool v299 = v297 < v273;
                  const bool v300 = v298 < v274;
                  const bool v301 = v299 & v300;
                  const i64 v302 = v270 + v297;
                  const i64 v303 = v272 + v298;
                  const i64 v304 = v297 * 256ll;
                  const i64 v305 = v304 + v298;
                  const i64 v306 = v275 + v302;
                  const i64 v307 = v306 * d_n;
                  const i64 v308 = v307 + v303;
                  if (v301) {
                    const Vec<float, 4> v309 = load_vec<float, 4>(pv295 + lv295 / 8 * 40 + lv295 % 8 * 4);
                    store_vec(b_slices + v308, v309);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv310 = tv295 % 32; lv310 < 512; lv310 += 32) {
                  const i64 v310 = (tv295 / 32 * 16 + lv310 / 32) * 256 + cv295 * 32 + lv310 % 32;
                  const i64 v311 = v310 / 256ll;
                  const i64 v312 = v310 % 256ll;
                  const bool v313 = v311 < v273;
                  const bool v314 = v312 < v274;
                  const bool v315 = v313 & v314;
                  const i64 v316 = v270 + v311;
                  const i64 v317 = v272 + v312;
                  const i64 v318 = v311 * 256ll;
                  const i64 v319 = v318 + v312;
                  const i64 v320 = v275 + v316;
                  const i64 v321 = v320 * d_n;
                  const i64 v322 = v321 + v317;
                  if (v315) {
                    const float v323 = *(pv295 + lv310 / 32 * 40 + lv310 % 32 * 1);
                    *(b_slices + v322) = v323;
                  }
                }
              }
            }
          } else {
            Vec<float, 8> v324;
            #pragma unroll
            for (int l = 0; l < 8; l++) v324.v[l] = 5e-1f;
            const u32 tv325 = thread_here();
            float* const pv325 = (float*)(b_patch_128x40 + tv325 / 32 * 640);
            #pragma unroll 1
            for (u32 cv325 = 0; cv325 < 8; cv325++) {
              put_fragment_256_f32(pv325, b_accumulator_128x256, cv325, tv325 % 32);
              if (v286) {
                #pragma unroll 2
                for (u32 lv325 = tv325 % 32; lv325 < 64; lv325 += 32) {
                  const i64 v325 = (tv325 / 32 * 16 + lv325 / 4) * 32 + cv325 * 4 + lv325 % 4;
                  const i64 v326 = v325 * 8ll;
                  const i64 v327 = v326 / 256ll;
                  const i64 v328 = v326 % 256ll;
                  const bool v329 = v327 < v273;
                  const bool v330 = v328 < v274;
                  const bool v331 = v329 & v330;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v332 = v327 * 256ll;
                  const i64 v333 = v332 + v328;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v334 = v327 * d_n;
                  const i64 v335 = v334 + v328;
                  const i64 v336 = v335 + v277;
                  const i64 v337 = v335 + v280;
                  if (v331) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v338 = load_vec<float, 8>(pv325 + lv325 / 4 * 40 + lv325 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v339;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v339.v[l] = v324.v[l] * v338.v[l];
                    const Vec<u16, 8> v340 = load_vec<u16, 8>(b_bias + v336);
                    Vec<float, 8> v341;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v341.v[l] = bf16_to_f32(v340.v[l]);
                    Vec<float, 8> v342;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v342.v[l] = v339.v[l] + v341.v[l];
                    Vec<float, 8> v343;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v343.v[l] = fn_silu(v342.v[l]);
                    Vec<u16, 8> v344;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v344.v[l] = f32_to_bf16(v343.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v337, v344);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv345 = tv325 % 32; lv345 < 512; lv345 += 32) {
                  const i64 v345 = (tv325 / 32 * 16 + lv345 / 32) * 256 + cv325 * 32 + lv345 % 32;
                  const i64 v346 = v345 / 256ll;
                  const i64 v347 = v345 % 256ll;
                  const bool v348 = v346 < v273;
                  const bool v349 = v347 < v274;
                  const bool v350 = v348 & v349;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v351 = v346 * 256ll;
                  const i64 v352 = v351 + v347;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v353 = v346 * d_n;
                  const i64 v354 = v353 + v347;
                  const i64 v355 = v354 + v277;
                  const i64 v356 = v354 + v280;
                  if (v350) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v357 = *(pv325 + lv345 / 32 * 40 + lv345 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v358 = 5e-1f * v357;
                    const u16 v359 = *(b_bias + v355);
                    const float v360 = bf16_to_f32(v359);
                    const float v361 = v358 + v360;
                    const float v362 = fn_silu(v361);
                    const u16 v363 = f32_to_bf16(v362);
                    *(((u16*)b_out_peers.p[0ll]) + v356) = v363;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v364 = d_m;
        asm volatile("" : "+l"(v364));
        const i64 v365 = v364 / 4ll;
        const i64 v366 = v365 > 0ll ? v365 : 0ll;
        const i64 v367 = v366 + 127ll;
        const i64 v368 = v367 / 128ll;
        i64 v369 = d_length_41;
        asm volatile("" : "+l"(v369));
        i64 v371 = d_length_42;
        asm volatile("" : "+l"(v371));
        i64 v372 = d_length_43;
        asm volatile("" : "+l"(v372));
        #pragma unroll 1
        for (i64 v373 = blockIdx.x; v373 < v372; v373 += gridDim.x) {
          const i64 v374 = quotient(v373, (i64)gridDim.x);
          const i64 v375 = v374 * v48;
          const i64 v376 = v373 - quotient(v373, v369) * v369;
          const i64 v377 = quotient(v373, v369);
          const i64 v378 = quotient(v376, v371);
          const i64 v379 = v378 * 8ll;
          const i64 v380 = v368 - v379;
          const i64 v381 = 8ll < v380 ? 8ll : v380;
          const i64 v382 = v376 - quotient(v376, v371) * v371;
          const i64 v383 = v382 - quotient(v382, v381) * v381;
          const i64 v384 = v379 + v383;
          const i64 v385 = v384 * 128ll;
          const i64 v386 = quotient(v382, v381);
          const i64 v387 = v386 * 256ll;
          const i64 v388 = v377 * v48;
          const i64 v389 = v388 + v48;
          #pragma unroll 1
          for (i64 v390 = v388; v390 < v389; v390++) {
            const i64 v391 = v390 - v388;
            const i64 v392 = v375 + v391;
            const i64 v393 = (u32)v392 % 4u;
            const i64 v394 = v390 * 64ll;
            if ((u32)v392 % 4 == threadIdx.x / 32 - 8) {
              ring_acquire<4>(b_ring_4, v392);
              if (can_map(b_a, d_k)) {
                const i64 left_ring_a_bf16_4x128x64 = (d_m / 4ll) - (v385);
                filling.bytes += left_ring_a_bf16_4x128x64 <= 16 ? 2048 : left_ring_a_bf16_4x128x64 <= 64 ? 8192 : 16384;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v393 * 8192 + s * 8192, left_ring_a_bf16_4x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_4x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v393), (int)(v394) + s * 64, (int)(v385));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 128, 64>(b_ring_a_bf16_4x128x64 + v393 * 8192, b_a, d_k, (d_m / 4ll), d_k, v385, v394);
              }
              if (can_map(b_b, d_n)) {
                filling.bytes += 32768;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v393 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v393), (int)(v387) + s * 64, (int)(v394));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 64, 256>(b_ring_b_bf16_4x64x256 + v393 * 16384, b_b, d_n, d_k, d_n, v394, v387);
              }
              ring_fill<4>(b_ring_4, v392, filling);
            }
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
  }
  i64 v398 = (i64)rank;
  asm volatile("" : "+l"(v398));
  const bool v400 = v398 == 1ll;
  const bool v401 = v398 == 2ll;
  const bool v402 = v398 == 3ll;
  const i64 v404 = (i64)blockIdx.x * 4ll;
  const i64 v405 = v404 + v398;
  const bool v406 = v398 == 0ll;
  i64 v407 = d_length_44;
  asm volatile("" : "+l"(v407));
  if ((d_length_45 != 0)) {
    const i64 v410 = (i64)blockIdx.x * 4ll;
    i64 v411 = (i64)rank;
    asm volatile("" : "+l"(v411));
    const i64 v412 = v410 + v411;
    const i64 v414 = v411 % 4ll;
    const bool v415 = (u64)b_slices % 16 == 0;
    const bool v416 = (u64)b_bias % 16 == 0;
    const bool v417 = v415 & v416;
    const bool v418 = (u64)b_out % 16 == 0;
    const bool v419 = v417 & v418;
    i64 v420 = d_n;
    asm volatile("" : "+l"(v420));
    i64 v421 = d_n;
    asm volatile("" : "+l"(v421));
    const i64 v422 = v421 % 8ll;
    const bool v423 = v422 == 0ll;
    const bool v424 = v419 & v423;
    const i64 v425 = v420 % 8ll;
    const bool v426 = v425 == 0ll;
    const bool v427 = v424 & v426;
    i64 v428 = d_m;
    asm volatile("" : "+l"(v428));
    const i64 v429 = v428 / 4ll;
    const i64 v430 = v411 * v429;
    const i64 v431 = v430 * v420;
    const i64 v432 = v431 % 8ll;
    const bool v433 = v432 == 0ll;
    const bool v434 = v427 & v433;
    const i64 v435 = v429 > 0ll ? v429 : 0ll;
    const i64 v436 = v435 * v421;
    const i64 v437 = v436 / 3072ll;
    const i64 v438 = v436 + 3071ll;
    const i64 v439 = v438 / 3072ll;
    Vec<float, 8> v440;
    #pragma unroll
    for (int l = 0; l < 8; l++) v440.v[l] = 5e-1f;
    __syncthreads();
    const u32 v441 = *(b_epoch + 0ll);
    const u32 v442 = v441 + 1u;
    *(b_epoch + 0ll) = v442;
    if (threadIdx.x < 1) {
      const i64 v443 = threadIdx.x;
      signal_set_release_gpu(b_flags + v412, v442);
    }
    #pragma unroll 1
    for (i64 v444 = threadIdx.x; v444 < (i64)gridDim.x; v444 += 384) {
      const i64 v445 = v444 * 4ll;
      const i64 v446 = v445 + v414;
      wait_acquire_gpu(b_flags + v446, v442, watch, (u32)(v414), 5u, (u32)(v446), 5u);
    }
    __syncthreads();
    if (v434) {
      i64 v447 = d_m;
      asm volatile("" : "+l"(v447));
      const i64 v448 = v447 / 4ll;
      const i64 v449 = v448 > 0ll ? v448 : 0ll;
      i64 v450 = d_n;
      asm volatile("" : "+l"(v450));
      i64 v451 = d_n;
      asm volatile("" : "+l"(v451));
      const i64 v452 = v449 * v451;
      const i64 v453 = v452 / 3072ll;
      const i64 v455 = (i64)gridDim.x * 4ll;
      const i64 v457 = (i64)gridDim.x * 2ll;
      const i64 v458 = (i64)gridDim.x * 3ll;
      Vec<float, 8> v459;
      #pragma unroll
      for (int l = 0; l < 8; l++) v459.v[l] = 5e-1f;
      i64 v460 = (i64)rank;
      asm volatile("" : "+l"(v460));
      const i64 v461 = v460 * v448;
      const i64 v462 = v461 * v450;
      const i64 v463 = quotient(v453, v455);
      #pragma unroll 1
      for (i64 v464 = 0ll; v464 < v463; v464++) {
        const i64 v465 = v464 * v455;
        const i64 v466 = v465 + (i64)blockIdx.x;
        const i64 v467 = v466 * 3072ll;
        const i64 v468 = v466 + (i64)gridDim.x;
        const i64 v469 = v468 * 3072ll;
        const i64 v470 = v466 + v457;
        const i64 v471 = v470 * 3072ll;
        const i64 v472 = v466 + v458;
        const i64 v473 = v472 * 3072ll;
        {
          const i64 v474 = threadIdx.x;
          const i64 v475 = v474 * 8ll;
          const i64 v476 = v467 + v475;
          const i64 v477 = v469 + v475;
          const i64 v478 = v471 + v475;
          const i64 v479 = v473 + v475;
          const i64 v480 = v476 - quotient(v476, v451) * v451;
          const i64 v481 = v477 - quotient(v477, v451) * v451;
          const i64 v482 = v478 - quotient(v478, v451) * v451;
          const i64 v483 = v479 - quotient(v479, v451) * v451;
          const i64 v484 = quotient(v476, v451);
          const i64 v485 = quotient(v477, v451);
          const i64 v486 = quotient(v478, v451);
          const i64 v487 = quotient(v479, v451);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v489;
          for (int l = 0; l < 8; l++) v489.v[l] = 0e+0f;
          for (i64 v488 = 0ll; v488 < v407; v488++) {
            const i64 v490 = v488 * v448;
            const i64 v491 = v490 + v484;
            const i64 v492 = v491 * d_n;
            const i64 v493 = v492 + v480;
            const Vec<float, 8> v494 = load_vec<float, 8>(b_slices + v493);
            for (int l = 0; l < 8; l++) v489.v[l] = v489.v[l] + v494.v[l];
          }
          Vec<float, 8> v496;
          for (int l = 0; l < 8; l++) v496.v[l] = 0e+0f;
          for (i64 v495 = 0ll; v495 < v407; v495++) {
            const i64 v497 = v495 * v448;
            const i64 v498 = v497 + v485;
            const i64 v499 = v498 * d_n;
            const i64 v500 = v499 + v481;
            const Vec<float, 8> v501 = load_vec<float, 8>(b_slices + v500);
            for (int l = 0; l < 8; l++) v496.v[l] = v496.v[l] + v501.v[l];
          }
          Vec<float, 8> v503;
          for (int l = 0; l < 8; l++) v503.v[l] = 0e+0f;
          for (i64 v502 = 0ll; v502 < v407; v502++) {
            const i64 v504 = v502 * v448;
            const i64 v505 = v504 + v486;
            const i64 v506 = v505 * d_n;
            const i64 v507 = v506 + v482;
            const Vec<float, 8> v508 = load_vec<float, 8>(b_slices + v507);
            for (int l = 0; l < 8; l++) v503.v[l] = v503.v[l] + v508.v[l];
          }
          Vec<float, 8> v510;
          for (int l = 0; l < 8; l++) v510.v[l] = 0e+0f;
          for (i64 v509 = 0ll; v509 < v407; v509++) {
            const i64 v511 = v509 * v448;
            const i64 v512 = v511 + v487;
            const i64 v513 = v512 * d_n;
            const i64 v514 = v513 + v483;
            const Vec<float, 8> v515 = load_vec<float, 8>(b_slices + v514);
            for (int l = 0; l < 8; l++) v510.v[l] = v510.v[l] + v515.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v516;
          #pragma unroll
          for (int l = 0; l < 8; l++) v516.v[l] = v459.v[l] * v489.v[l];
          Vec<float, 8> v517;
          #pragma unroll
          for (int l = 0; l < 8; l++) v517.v[l] = v459.v[l] * v496.v[l];
          Vec<float, 8> v518;
          #pragma unroll
          for (int l = 0; l < 8; l++) v518.v[l] = v459.v[l] * v503.v[l];
          Vec<float, 8> v519;
          #pragma unroll
          for (int l = 0; l < 8; l++) v519.v[l] = v459.v[l] * v510.v[l];
          const i64 v520 = v484 * d_n;
          const i64 v521 = v485 * d_n;
          const i64 v522 = v486 * d_n;
          const i64 v523 = v487 * d_n;
          const i64 v524 = v520 + v480;
          const i64 v525 = v521 + v481;
          const i64 v526 = v522 + v482;
          const i64 v527 = v523 + v483;
          const Vec<u16, 8> v528 = load_vec<u16, 8>(b_bias + v524);
          const Vec<u16, 8> v529 = load_vec<u16, 8>(b_bias + v525);
          const Vec<u16, 8> v530 = load_vec<u16, 8>(b_bias + v526);
          const Vec<u16, 8> v531 = load_vec<u16, 8>(b_bias + v527);
          Vec<float, 8> v532;
          #pragma unroll
          for (int l = 0; l < 8; l++) v532.v[l] = bf16_to_f32(v528.v[l]);
          Vec<float, 8> v533;
          #pragma unroll
          for (int l = 0; l < 8; l++) v533.v[l] = bf16_to_f32(v529.v[l]);
          Vec<float, 8> v534;
          #pragma unroll
          for (int l = 0; l < 8; l++) v534.v[l] = bf16_to_f32(v530.v[l]);
          Vec<float, 8> v535;
          #pragma unroll
          for (int l = 0; l < 8; l++) v535.v[l] = bf16_to_f32(v531.v[l]);
          Vec<float, 8> v536;
          #pragma unroll
          for (int l = 0; l < 8; l++) v536.v[l] = v516.v[l] + v532.v[l];
          Vec<float, 8> v537;
          #pragma unroll
          for (int l = 0; l < 8; l++) v537.v[l] = v517.v[l] + v533.v[l];
          Vec<float, 8> v538;
          #pragma unroll
          for (int l = 0; l < 8; l++) v538.v[l] = v518.v[l] + v534.v[l];
          Vec<float, 8> v539;
          #pragma unroll
          for (int l = 0; l < 8; l++) v539.v[l] = v519.v[l] + v535.v[l];
          Vec<float, 8> v540;
          #pragma unroll
          for (int l = 0; l < 8; l++) v540.v[l] = fn_silu(v536.v[l]);
          Vec<float, 8> v541;
          #pragma unroll
          for (int l = 0; l < 8; l++) v541.v[l] = fn_silu(v537.v[l]);
          Vec<float, 8> v542;
          #pragma unroll
          for (int l = 0; l < 8; l++) v542.v[l] = fn_silu(v538.v[l]);
          Vec<float, 8> v543;
          #pragma unroll
          for (int l = 0; l < 8; l++) v543.v[l] = fn_silu(v539.v[l]);
          Vec<u16, 8> v544;
          #pragma unroll
          for (int l = 0; l < 8; l++) v544.v[l] = f32_to_bf16(v540.v[l]);
          Vec<u16, 8> v545;
          #pragma unroll
          for (int l = 0; l < 8; l++) v545.v[l] = f32_to_bf16(v541.v[l]);
          Vec<u16, 8> v546;
          #pragma unroll
          for (int l = 0; l < 8; l++) v546.v[l] = f32_to_bf16(v542.v[l]);
          Vec<u16, 8> v547;
          #pragma unroll
          for (int l = 0; l < 8; l++) v547.v[l] = f32_to_bf16(v543.v[l]);
          const i64 v548 = v524 + v462;
          const i64 v549 = v525 + v462;
          const i64 v550 = v526 + v462;
          const i64 v551 = v527 + v462;
          store_vec(((u16*)b_out_peers.p[0ll]) + v548, v544);
          store_vec(((u16*)b_out_peers.p[0ll]) + v549, v545);
          store_vec(((u16*)b_out_peers.p[0ll]) + v550, v546);
          store_vec(((u16*)b_out_peers.p[0ll]) + v551, v547);
        }
      }
      const i64 v552 = v463 * v455;
      #pragma unroll 1
      for (i64 v553 = v552 + ((i64)blockIdx.x - v552 % gridDim.x + gridDim.x) % gridDim.x; v553 < v453; v553 += gridDim.x) {
        const i64 v554 = v553 * 3072ll;
        {
          const i64 v555 = threadIdx.x;
          const i64 v556 = v555 * 8ll;
          const i64 v557 = v554 + v556;
          const i64 v558 = v557 - quotient(v557, v451) * v451;
          const i64 v559 = quotient(v557, v451);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v561;
          for (int l = 0; l < 8; l++) v561.v[l] = 0e+0f;
          for (i64 v560 = 0ll; v560 < v407; v560++) {
            const i64 v562 = v560 * v448;
            const i64 v563 = v562 + v559;
            const i64 v564 = v563 * d_n;
            const i64 v565 = v564 + v558;
            const Vec<float, 8> v566 = load_vec<float, 8>(b_slices + v565);
            for (int l = 0; l < 8; l++) v561.v[l] = v561.v[l] + v566.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v567;
          #pragma unroll
          for (int l = 0; l < 8; l++) v567.v[l] = v459.v[l] * v561.v[l];
          const i64 v568 = v559 * d_n;
          const i64 v569 = v568 + v558;
          const Vec<u16, 8> v570 = load_vec<u16, 8>(b_bias + v569);
          Vec<float, 8> v571;
          #pragma unroll
          for (int l = 0; l < 8; l++) v571.v[l] = bf16_to_f32(v570.v[l]);
          Vec<float, 8> v572;
          #pragma unroll
          for (int l = 0; l < 8; l++) v572.v[l] = v567.v[l] + v571.v[l];
          Vec<float, 8> v573;
          #pragma unroll
          for (int l = 0; l < 8; l++) v573.v[l] = fn_silu(v572.v[l]);
          Vec<u16, 8> v574;
          #pragma unroll
          for (int l = 0; l < 8; l++) v574.v[l] = f32_to_bf16(v573.v[l]);
          const i64 v575 = v569 + v462;
          store_vec(((u16*)b_out_peers.p[0ll]) + v575, v574);
        }
      }
    } else {
      i64 v576 = d_m;
      asm volatile("" : "+l"(v576));
      const i64 v577 = v576 / 4ll;
      const i64 v578 = v577 > 0ll ? v577 : 0ll;
      i64 v579 = d_n;
      asm volatile("" : "+l"(v579));
      i64 v580 = d_n;
      asm volatile("" : "+l"(v580));
      const i64 v581 = v578 * v580;
      const i64 v582 = v581 / 3072ll;
      i64 v583 = (i64)rank;
      asm volatile("" : "+l"(v583));
      const i64 v584 = v583 * v577;
      const i64 v585 = v584 * v579;
      #pragma unroll 1
      for (i64 v586 = blockIdx.x; v586 < v582; v586 += gridDim.x) {
        const i64 v587 = v586 * 3072ll;
        #pragma unroll 1
        for (i64 v588 = threadIdx.x; v588 < 3072ll; v588 += 384) {
          const i64 v589 = v587 + v588;
          const i64 v590 = v589 - quotient(v589, v580) * v580;
          const i64 v591 = quotient(v589, v580);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v593;
          v593 = 0e+0f;
          for (i64 v592 = 0ll; v592 < v407; v592++) {
            const i64 v594 = v592 * v577;
            const i64 v595 = v594 + v591;
            const i64 v596 = v595 * d_n;
            const i64 v597 = v596 + v590;
            const float v598 = *(b_slices + v597);
            v593 = v593 + v598;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v599 = 5e-1f * v593;
          const i64 v600 = v591 * d_n;
          const i64 v601 = v600 + v590;
          const u16 v602 = *(b_bias + v601);
          const float v603 = bf16_to_f32(v602);
          const float v604 = v599 + v603;
          const float v605 = fn_silu(v604);
          const u16 v606 = f32_to_bf16(v605);
          const i64 v607 = v601 + v585;
          *(((u16*)b_out_peers.p[0ll]) + v607) = v606;
        }
      }
    }
    if (v434) {
      #pragma unroll 1
      for (i64 v608 = v437 + ((i64)blockIdx.x - v437 % gridDim.x + gridDim.x) % gridDim.x; v608 < v439; v608 += gridDim.x) {
        const i64 v609 = v608 * 3072ll;
        const i64 v610 = v436 - v609;
        const i64 v611 = v610 / 8ll;
        const i64 v612 = v611 * 8ll;
        #pragma unroll 1
        for (i64 v613 = threadIdx.x; v613 < v611; v613 += 384) {
          const i64 v614 = v613 * 8ll;
          const i64 v615 = v609 + v614;
          const i64 v616 = v615 - quotient(v615, v421) * v421;
          const i64 v617 = quotient(v615, v421);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v619;
          for (int l = 0; l < 8; l++) v619.v[l] = 0e+0f;
          for (i64 v618 = 0ll; v618 < v407; v618++) {
            const i64 v620 = v618 * v429;
            const i64 v621 = v620 + v617;
            const i64 v622 = v621 * d_n;
            const i64 v623 = v622 + v616;
            const Vec<float, 8> v624 = load_vec<float, 8>(b_slices + v623);
            for (int l = 0; l < 8; l++) v619.v[l] = v619.v[l] + v624.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v625;
          #pragma unroll
          for (int l = 0; l < 8; l++) v625.v[l] = v440.v[l] * v619.v[l];
          const i64 v626 = v617 * d_n;
          const i64 v627 = v626 + v616;
          const Vec<u16, 8> v628 = load_vec<u16, 8>(b_bias + v627);
          Vec<float, 8> v629;
          #pragma unroll
          for (int l = 0; l < 8; l++) v629.v[l] = bf16_to_f32(v628.v[l]);
          Vec<float, 8> v630;
          #pragma unroll
          for (int l = 0; l < 8; l++) v630.v[l] = v625.v[l] + v629.v[l];
          Vec<float, 8> v631;
          #pragma unroll
          for (int l = 0; l < 8; l++) v631.v[l] = fn_silu(v630.v[l]);
          Vec<u16, 8> v632;
          #pragma unroll
          for (int l = 0; l < 8; l++) v632.v[l] = f32_to_bf16(v631.v[l]);
          const i64 v633 = v627 + v431;
          store_vec(((u16*)b_out_peers.p[0ll]) + v633, v632);
        }
        #pragma unroll 1
        for (i64 v634 = v612 + threadIdx.x; v634 < v610; v634 += 384) {
          const i64 v635 = v609 + v634;
          const i64 v636 = v635 - quotient(v635, v421) * v421;
          const i64 v637 = quotient(v635, v421);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v639;
          v639 = 0e+0f;
          for (i64 v638 = 0ll; v638 < v407; v638++) {
            const i64 v640 = v638 * v429;
            const i64 v641 = v640 + v637;
            const i64 v642 = v641 * d_n;
            const i64 v643 = v642 + v636;
            const float v644 = *(b_slices + v643);
            v639 = v639 + v644;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v645 = 5e-1f * v639;
          const i64 v646 = v637 * d_n;
          const i64 v647 = v646 + v636;
          const u16 v648 = *(b_bias + v647);
          const float v649 = bf16_to_f32(v648);
          const float v650 = v645 + v649;
          const float v651 = fn_silu(v650);
          const u16 v652 = f32_to_bf16(v651);
          const i64 v653 = v647 + v431;
          *(((u16*)b_out_peers.p[0ll]) + v653) = v652;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v654 = v437 + ((i64)blockIdx.x - v437 % gridDim.x + gridDim.x) % gridDim.x; v654 < v439; v654 += gridDim.x) {
        const i64 v655 = v654 * 3072ll;
        const i64 v656 = v436 - v655;
        #pragma unroll 1
        for (i64 v657 = threadIdx.x; v657 < v656; v657 += 384) {
          const i64 v658 = v655 + v657;
          const i64 v659 = v658 - quotient(v658, v421) * v421;
          const i64 v660 = quotient(v658, v421);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v662;
          v662 = 0e+0f;
          for (i64 v661 = 0ll; v661 < v407; v661++) {
            const i64 v663 = v661 * v429;
            const i64 v664 = v663 + v660;
            const i64 v665 = v664 * d_n;
            const i64 v666 = v665 + v659;
            const float v667 = *(b_slices + v666);
            v662 = v662 + v667;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v668 = 5e-1f * v662;
          const i64 v669 = v660 * d_n;
          const i64 v670 = v669 + v659;
          const u16 v671 = *(b_bias + v670);
          const float v672 = bf16_to_f32(v671);
          const float v673 = v668 + v672;
          const float v674 = fn_silu(v673);
          const u16 v675 = f32_to_bf16(v674);
          const i64 v676 = v670 + v431;
          *(((u16*)b_out_peers.p[0ll]) + v676) = v675;
        }
      }
    }
  }
  __syncthreads();
  const u32 v677 = *(b_epoch + 0ll);
  const u32 v678 = v677 + 1u;
  *(b_epoch + 0ll) = v678;
  if (threadIdx.x < 4) {
    const i64 v679 = threadIdx.x;
    const bool v680 = v679 == 0ll;
    const bool v681 = v400 & v680;
    const bool v682 = v401 & v680;
    const bool v683 = v402 & v680;
    const bool v684 = v681 | v682;
    const bool v685 = v684 | v683;
    if (v685) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v679]) + v405, v678);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v686 = threadIdx.x;
    const bool v687 = v686 == 1ll;
    const bool v688 = v406 & v687;
    const bool v689 = v686 == 2ll;
    const bool v690 = v406 & v689;
    const bool v691 = v686 == 3ll;
    const bool v692 = v406 & v691;
    const bool v693 = v688 | v690;
    const bool v694 = v693 | v692;
    const i64 v695 = v404 + v686;
    if (v694) {
      wait_acquire_sys(b_flags + v695, v678, watch, (u32)(v686), 5u, (u32)(v695), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v696 = threadIdx.x;
    const i64 v697 = v696 - quotient(v696, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v698 = v697 == (i64)blockIdx.x;
    if (v698) {
      const u32 v699 = *(b_epoch + 0ll);
      *(b_epochs + v696) = v699;
    }
  }
}
