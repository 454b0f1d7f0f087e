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
// As the copy engine lays it out: slabs of 128 bytes a row, their 16-byte pieces permuted by the row. Elements come one by one, as rows begin
// anywhere; so that memory is not asked for them one after the other, a thread has several loads in flight.
template <typename T, int ROWS, int COLS>
__device__ __forceinline__ void ring_copy(T* to, const T* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
  constexpr int SLAB = 128 / sizeof(T), LOADS = 8;
  static_assert(ROWS * COLS % (32 * LOADS) == 0, "a warp's threads have as many elements each");
  const int height = rows - row < ROWS ? (int)(rows - row) : ROWS, width = cols - col < COLS ? (int)(cols - col) : COLS;
  const T* const first = from + row * stride + col;
#pragma unroll 1
  for (int e = thread_here() % 32; e < ROWS * COLS; e += 32 * LOADS) {
    T taken[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      const int r = (e + 32 * i) / COLS, c = (e + 32 * i) % COLS;
      taken[i] = (r < height) & (c < width) ? first[r * stride + c] : T(0);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      const int r = (e + 32 * i) / COLS, c = (e + 32 * i) % COLS;
      to[(c / SLAB * ROWS + r) * SLAB + (c % SLAB * (int)sizeof(T) ^ (r & 7) << 4) / (int)sizeof(T)] = taken[i];
    }
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
__device__ __forceinline__ void wgmma_m64n224k16_bf16_nt_64(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111}, %112, %113, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111}, %114, %115, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111}, %116, %117, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111}, %118, %119, 1, 1, 1, 0, 1;\n"
    "wgmma.commit_group.sync.aligned;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
    : "l"(a + 0), "l"(b + 0), "l"(a + 2), "l"(b + 128), "l"(a + 4), "l"(b + 256), "l"(a + 6), "l"(b + 384)
    : "memory");
}
__device__ __forceinline__ void wgmma_m64n192k16_bf16_nt_64(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95}, %96, %97, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95}, %98, %99, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95}, %100, %101, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95}, %102, %103, 1, 1, 1, 0, 1;\n"
    "wgmma.commit_group.sync.aligned;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
    : "l"(a + 0), "l"(b + 0), "l"(a + 2), "l"(b + 128), "l"(a + 4), "l"(b + 256), "l"(a + 6), "l"(b + 384)
    : "memory");
}
__device__ __forceinline__ void wgmma_m64n160k16_bf16_nt_64(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79}, %80, %81, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79}, %82, %83, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79}, %84, %85, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79}, %86, %87, 1, 1, 1, 0, 1;\n"
    "wgmma.commit_group.sync.aligned;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
    : "l"(a + 0), "l"(b + 0), "l"(a + 2), "l"(b + 128), "l"(a + 4), "l"(b + 256), "l"(a + 6), "l"(b + 384)
    : "memory");
}
__device__ __forceinline__ void wgmma_m64n128k16_bf16_nt_64(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %66, %67, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %68, %69, 1, 1, 1, 0, 1;\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %70, %71, 1, 1, 1, 0, 1;\n"
    "wgmma.commit_group.sync.aligned;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
    : "l"(a + 0), "l"(b + 0), "l"(a + 2), "l"(b + 128), "l"(a + 4), "l"(b + 256), "l"(a + 6), "l"(b + 384)
    : "memory");
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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const i64 d_length_13, const i64 d_length_16, const i64 d_length_24, const i64 d_length_27, const i64 d_length_28, const i64 d_length_29, const i64 d_length_30, const i64 d_length_31, const i64 d_length_32, const i64 d_length_33, const i64 d_length_34, const i64 d_length_36, const i64 d_length_37, const i64 d_length_38, const i64 d_length_40, const i64 d_length_41, const i64 d_length_42, const i64 d_length_43, const i64 d_length_44, const i64 d_length_45, const i64 d_length_46, const i64 d_length_47, const i64 d_length_48, const i64 d_length_49, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_16x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
  i64 v61 = d_length_13;
  asm volatile("" : "+l"(v61));
  i64 v64 = d_length_24;
  asm volatile("" : "+l"(v64));
  i64 v67 = d_length_28;
  asm volatile("" : "+l"(v67));
  i64 v68 = d_length_29;
  asm volatile("" : "+l"(v68));
  if ((d_length_30 != 0)) {
    {
      ring_begin<8, 8, 1, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        const u32 group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
        i64 v74 = d_length_31;
        asm volatile("" : "+l"(v74));
        i64 v76 = d_length_32;
        asm volatile("" : "+l"(v76));
        #pragma unroll 1
        for (i64 v79 = blockIdx.x; v79 < v76; v79 += gridDim.x) {
          const i64 v80 = quotient(v79, (i64)gridDim.x);
          const i64 v81 = v80 * v64;
          const i64 v82 = v79 - quotient(v79, v74) * v74;
          const i64 v83 = quotient(v79, v74);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v84 = 0ll; v84 < v64; v84++) {
            const i64 v85 = v81 + v84;
            ring_wait<8>(b_ring_8, v85);
            const i64 v86 = (u32)v85 % 8u;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64) + group * 8192, 16) + (u32)v86 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_8x64x64), 8192) + (u32)v86 * 512u);
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v87 = v84 > 0ll;
            const i64 v88 = v85 - 1ll;
            if (v87) {
              ring_release<8>(b_ring_8, v88);
            }
          }
          i64 v89 = d_n;
          asm volatile("" : "+l"(v89));
          i64 v90 = d_length_34;
          asm volatile("" : "+l"(v90));
          i64 v91 = d_m;
          asm volatile("" : "+l"(v91));
          const i64 v92 = v91 / 4ll;
          const i64 v93 = v92 > 0ll ? v92 : 0ll;
          const i64 v94 = v93 + 127ll;
          const i64 v95 = v94 / 128ll;
          const i64 v96 = v91 / 4ll;
          i64 v97 = (i64)rank;
          asm volatile("" : "+l"(v97));
          const i64 v98 = v97 * v92;
          const bool v99 = (u64)b_bias % 16 == 0;
          const bool v100 = (u64)b_out % 16 == 0;
          const bool v101 = v99 & v100;
          const i64 v102 = v89 % 8ll;
          const bool v103 = v102 == 0ll;
          const bool v104 = v101 & v103;
          const i64 v105 = v89 % 8ll;
          const bool v106 = v105 == 0ll;
          const bool v107 = v104 & v106;
          wgmma_end_32(b_accumulator_128x64);
          const i64 v108 = v81 + v64;
          const i64 v109 = v108 - 1ll;
          if ((d_length_33 != 0)) {
            ring_release<8>(b_ring_8, v109);
          }
          const i64 v110 = quotient(v82, v90);
          const i64 v111 = v110 * 8ll;
          const i64 v112 = v95 - v111;
          const i64 v113 = 8ll < v112 ? 8ll : v112;
          const i64 v114 = v82 - quotient(v82, v90) * v90;
          const i64 v115 = v114 - quotient(v114, v113) * v113;
          const i64 v116 = v111 + v115;
          const i64 v117 = v116 * 128ll;
          const i64 v118 = quotient(v114, v113);
          const i64 v119 = v118 * 64ll;
          const i64 v120 = v92 - v117;
          const i64 v121 = d_n - v119;
          const i64 v122 = v83 * v96;
          const i64 v123 = v117 * d_n;
          const i64 v124 = v123 + v119;
          const i64 v125 = v117 + v98;
          const i64 v126 = v125 * d_n;
          const i64 v127 = v126 + v119;
          const i64 v128 = v123 % 8ll;
          const bool v129 = v128 == 0ll;
          const bool v130 = v107 & v129;
          const i64 v131 = v126 % 8ll;
          const bool v132 = v131 == 0ll;
          const bool v133 = v130 & v132;
          if ((d_length_27 != 0)) {
            const bool v134 = (u64)b_slices % 16 == 0;
            i64 v135 = d_n;
            asm volatile("" : "+l"(v135));
            const i64 v136 = v135 % 4ll;
            const bool v137 = v136 == 0ll;
            const bool v138 = v134 & v137;
            const i64 v139 = v135 % 4ll;
            const bool v140 = v139 == 0ll;
            const bool v141 = v138 & v140;
            const u32 tv142 = thread_here();
            float* const pv142 = (float*)(b_patch_128x40 + tv142 / 32 * 640);
            #pragma unroll 1
            for (u32 cv142 = 0; cv142 < 2; cv142++) {
              put_fragment_64_f32(pv142, b_accumulator_128x64, cv142, tv142 % 32);
              if (v141) {
                #pragma unroll 4
                for (u32 lv142 = tv142 % 32; lv142 < 128; lv142 += 32) {
                  const i64 v142 = (tv142 / 32 * 16 + lv142 / 8) * 16 + cv142 * 8 + lv142 % 8;
                  const i64 v143 = v142 * 4ll;
                  const i64 v144 = v143 / 64ll;
                  const i64 v145 = v143 % 64ll;
                  const bool v146 = v144 < v120;
                  const bool v147 = v145 < v121;
                  const bool v148 = v146 & v147;
                  const i64 v149 = v117 + v144;
                  const i64 v150 = v119 + v145;
                  const i64 v151 = v144 * 64ll;
                  const i64 v152 = v151 + v145;
                  const i64 v153 = v122 + v149;
                  const i64 v154 = v153 * d_n;
                  const i64 v155 = v154 + v150;
                  if (v148) {
                    const Vec<float, 4> v156 = load_vec<float, 4>(pv142 + lv142 / 8 * 40 + lv142 % 8 * 4);
                    store_vec(b_slices + v155, v156);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv157 = tv142 % 32; lv157 < 512; lv157 += 32) {
                  const i64 v157 = (tv142 / 32 * 16 + lv157 / 32) * 64 + cv142 * 32 + lv157 % 32;
                  const i64 v158 = v157 / 64ll;
                  const i64 v159 = v157 % 64ll;
                  const bool v160 = v158 < v120;
                  const bool v161 = v159 < v121;
                  const bool v162 = v160 & v161;
                  const i64 v163 = v117 + v158;
                  const i64 v164 = v119 + v159;
                  const i64 v165 = v158 * 64ll;
                  const i64 v166 = v165 + v159;
                  const i64 v167 = v122 + v163;
                  const i64 v168 = v167 * d_n;
                  const i64 v169 = v168 + v164;
                  if (v162) {
                    const float v170 = *(pv142 + lv157 / 32 * 40 + lv157 % 32 * 1);
                    *(b_slices + v169) = v170;
                  }
                }
              }
            }
          } else {
            Vec<float, 8> v171;
            #pragma unroll
            for (int l = 0; l < 8; l++) v171.v[l] = 5e-1f;
            const u32 tv172 = thread_here();
            float* const pv172 = (float*)(b_patch_128x40 + tv172 / 32 * 640);
            #pragma unroll 1
            for (u32 cv172 = 0; cv172 < 2; cv172++) {
              put_fragment_64_f32(pv172, b_accumulator_128x64, cv172, tv172 % 32);
              if (v133) {
                #pragma unroll 2
                for (u32 lv172 = tv172 % 32; lv172 < 64; lv172 += 32) {
                  const i64 v172 = (tv172 / 32 * 16 + lv172 / 4) * 8 + cv172 * 4 + lv172 % 4;
                  const i64 v173 = v172 * 8ll;
                  const i64 v174 = v173 / 64ll;
                  const i64 v175 = v173 % 64ll;
                  const bool v176 = v174 < v120;
                  const bool v177 = v175 < v121;
                  const bool v178 = v176 & v177;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v179 = v174 * 64ll;
                  const i64 v180 = v179 + v175;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v181 = v174 * d_n;
                  const i64 v182 = v181 + v175;
                  const i64 v183 = v182 + v124;
                  const i64 v184 = v182 + v127;
                  if (v178) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v185 = load_vec<float, 8>(pv172 + lv172 / 4 * 40 + lv172 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v186;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v186.v[l] = v171.v[l] * v185.v[l];
                    const Vec<u16, 8> v187 = load_vec<u16, 8>(b_bias + v183);
                    Vec<float, 8> v188;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v188.v[l] = bf16_to_f32(v187.v[l]);
                    Vec<float, 8> v189;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v189.v[l] = v186.v[l] + v188.v[l];
                    Vec<float, 8> v190;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v190.v[l] = fn_silu(v189.v[l]);
                    Vec<u16, 8> v191;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v191.v[l] = f32_to_bf16(v190.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v184, v191);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv192 = tv172 % 32; lv192 < 512; lv192 += 32) {
                  const i64 v192 = (tv172 / 32 * 16 + lv192 / 32) * 64 + cv172 * 32 + lv192 % 32;
                  const i64 v193 = v192 / 64ll;
                  const i64 v194 = v192 % 64ll;
                  const bool v195 = v193 < v120;
                  const bool v196 = v194 < v121;
                  const bool v197 = v195 & v196;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v198 = v193 * 64ll;
                  const i64 v199 = v198 + v194;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v200 = v193 * d_n;
                  const i64 v201 = v200 + v194;
                  const i64 v202 = v201 + v124;
                  const i64 v203 = v201 + v127;
                  if (v197) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v204 = *(pv172 + lv192 / 32 * 40 + lv192 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v205 = 5e-1f * v204;
                    const u16 v206 = *(b_bias + v202);
                    const float v207 = bf16_to_f32(v206);
                    const float v208 = v205 + v207;
                    const float v209 = fn_silu(v208);
                    const u16 v210 = f32_to_bf16(v209);
                    *(((u16*)b_out_peers.p[0ll]) + v203) = v210;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v211 = d_m;
        asm volatile("" : "+l"(v211));
        const i64 v212 = v211 / 4ll;
        const i64 v213 = v212 > 0ll ? v212 : 0ll;
        const i64 v214 = v213 + 127ll;
        const i64 v215 = v214 / 128ll;
        i64 v216 = d_length_36;
        asm volatile("" : "+l"(v216));
        i64 v218 = d_length_37;
        asm volatile("" : "+l"(v218));
        i64 v219 = d_length_38;
        asm volatile("" : "+l"(v219));
        #pragma unroll 1
        for (i64 v220 = blockIdx.x; v220 < v219; v220 += gridDim.x) {
          const i64 v221 = quotient(v220, (i64)gridDim.x);
          const i64 v222 = v221 * v64;
          const i64 v223 = v220 - quotient(v220, v216) * v216;
          const i64 v224 = quotient(v220, v216);
          const i64 v225 = quotient(v223, v218);
          const i64 v226 = v225 * 8ll;
          const i64 v227 = v215 - v226;
          const i64 v228 = 8ll < v227 ? 8ll : v227;
          const i64 v229 = v223 - quotient(v223, v218) * v218;
          const i64 v230 = v229 - quotient(v229, v228) * v228;
          const i64 v231 = v226 + v230;
          const i64 v232 = v231 * 128ll;
          const i64 v233 = quotient(v229, v228);
          const i64 v234 = v233 * 64ll;
          const i64 v235 = v224 * v64;
          const i64 v236 = v235 + v64;
          #pragma unroll 1
          for (i64 v237 = v235; v237 < v236; v237++) {
            const i64 v238 = v237 - v235;
            const i64 v239 = v222 + v238;
            const i64 v240 = (u32)v239 % 8u;
            const i64 v241 = v237 * 64ll;
            if ((u32)v239 % 4 == threadIdx.x / 32 - 8) {
              ring_acquire<8>(b_ring_8, v239);
              if (can_map(b_a, d_k)) {
                const i64 left_ring_a_bf16_8x128x64 = (d_m / 4ll) - (v232);
                filling.bytes += left_ring_a_bf16_8x128x64 <= 16 ? 2048 : left_ring_a_bf16_8x128x64 <= 64 ? 8192 : 16384;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v240 * 8192 + s * 8192, left_ring_a_bf16_8x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_8x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v240), (int)(v241), (int)(v232));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 128, 64>(b_ring_a_bf16_8x128x64 + v240 * 8192, b_a, d_k, (d_m / 4ll), d_k, v232, v241);
              }
              if (can_map(b_b, d_n)) {
                filling.bytes += 8192;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v240 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v240), (int)(v234), (int)(v241));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 64, 64>(b_ring_b_bf16_8x64x64 + v240 * 4096, b_b, d_n, d_k, d_n, v241, v234);
              }
              ring_fill<8>(b_ring_8, v239, filling);
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
        i64 v243 = d_length_40;
        asm volatile("" : "+l"(v243));
        i64 v244 = d_length_41;
        asm volatile("" : "+l"(v244));
        i64 v250 = d_length_47;
        asm volatile("" : "+l"(v250));
        #pragma unroll 1
        for (i64 v252 = blockIdx.x; v252 < v244; v252 += gridDim.x) {
          const i64 v253 = quotient(v252, (i64)gridDim.x);
          const i64 v254 = v253 * v61;
          const i64 v255 = v252 - quotient(v252, v243) * v243;
          const i64 v256 = quotient(v252, v243);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          if ((d_length_42 != 0)) {
            #pragma unroll 2
            for (i64 v257 = 0ll; v257 < v61; v257++) {
              const i64 v258 = v254 + v257;
              ring_wait<4>(b_ring_4, v258);
              const i64 v259 = (u32)v258 % 4u;
              wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v259 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v259 * 2048u);
              asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
              const bool v260 = v257 > 0ll;
              const i64 v261 = v258 - 1ll;
              if (v260) {
                ring_release<4>(b_ring_4, v261);
              }
            }
            wgmma_end_128(b_accumulator_128x256);
          } else {
            if ((d_length_43 != 0)) {
              #pragma unroll 2
              for (i64 v262 = 0ll; v262 < v61; v262++) {
                const i64 v263 = v254 + v262;
                ring_wait<4>(b_ring_4, v263);
                const i64 v264 = (u32)v263 % 4u;
                wgmma_m64n224k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v264 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v264 * 2048u);
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                const bool v265 = v262 > 0ll;
                const i64 v266 = v263 - 1ll;
                if (v265) {
                  ring_release<4>(b_ring_4, v266);
                }
              }
              wgmma_end_128(b_accumulator_128x256);
            } else {
              if ((d_length_44 != 0)) {
                #pragma unroll 2
                for (i64 v267 = 0ll; v267 < v61; v267++) {
                  const i64 v268 = v254 + v267;
                  ring_wait<4>(b_ring_4, v268);
                  const i64 v269 = (u32)v268 % 4u;
                  wgmma_m64n192k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v269 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v269 * 2048u);
                  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                  const bool v270 = v267 > 0ll;
                  const i64 v271 = v268 - 1ll;
                  if (v270) {
                    ring_release<4>(b_ring_4, v271);
                  }
                }
                wgmma_end_128(b_accumulator_128x256);
              } else {
                if ((d_length_45 != 0)) {
                  #pragma unroll 2
                  for (i64 v272 = 0ll; v272 < v61; v272++) {
                    const i64 v273 = v254 + v272;
                    ring_wait<4>(b_ring_4, v273);
                    const i64 v274 = (u32)v273 % 4u;
                    wgmma_m64n160k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v274 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v274 * 2048u);
                    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                    const bool v275 = v272 > 0ll;
                    const i64 v276 = v273 - 1ll;
                    if (v275) {
                      ring_release<4>(b_ring_4, v276);
                    }
                  }
                  wgmma_end_128(b_accumulator_128x256);
                } else {
                  #pragma unroll 2
                  for (i64 v277 = 0ll; v277 < v61; v277++) {
                    const i64 v278 = v254 + v277;
                    ring_wait<4>(b_ring_4, v278);
                    const i64 v279 = (u32)v278 % 4u;
                    wgmma_m64n128k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v279 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v279 * 2048u);
                    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                    const bool v280 = v277 > 0ll;
                    const i64 v281 = v278 - 1ll;
                    if (v280) {
                      ring_release<4>(b_ring_4, v281);
                    }
                  }
                  wgmma_end_128(b_accumulator_128x256);
                }
              }
            }
          }
          i64 v282 = d_m;
          asm volatile("" : "+l"(v282));
          const i64 v283 = v282 / 4ll;
          const i64 v284 = v283 > 0ll ? v283 : 0ll;
          const i64 v285 = v284 + 127ll;
          const i64 v286 = v285 / 128ll;
          const i64 v287 = v282 / 4ll;
          i64 v288 = (i64)rank;
          asm volatile("" : "+l"(v288));
          const i64 v289 = v288 * v283;
          const bool v290 = (u64)b_bias % 16 == 0;
          const bool v291 = (u64)b_out % 16 == 0;
          const bool v292 = v290 & v291;
          i64 v293 = d_n;
          asm volatile("" : "+l"(v293));
          const i64 v294 = v293 % 8ll;
          const bool v295 = v294 == 0ll;
          const bool v296 = v292 & v295;
          const i64 v297 = v293 % 8ll;
          const bool v298 = v297 == 0ll;
          const bool v299 = v296 & v298;
          const i64 v300 = v254 + v61;
          const i64 v301 = v300 - 1ll;
          if ((d_length_46 != 0)) {
            ring_release<4>(b_ring_4, v301);
          }
          const i64 v302 = quotient(v255, v250);
          const i64 v303 = v302 * 8ll;
          const i64 v304 = v286 - v303;
          const i64 v305 = 8ll < v304 ? 8ll : v304;
          const i64 v306 = v255 - quotient(v255, v250) * v250;
          const i64 v307 = v306 - quotient(v306, v305) * v305;
          const i64 v308 = v303 + v307;
          const i64 v309 = v308 * 128ll;
          const i64 v310 = quotient(v306, v305);
          const i64 v311 = v310 * v67;
          const i64 v312 = v311 * 32ll;
          const i64 v313 = v283 - v309;
          const i64 v314 = d_n - v312;
          const i64 v315 = v256 * v287;
          const i64 v316 = v309 * d_n;
          const i64 v317 = v316 + v312;
          const i64 v318 = v309 + v289;
          const i64 v319 = v318 * d_n;
          const i64 v320 = v319 + v312;
          const i64 v321 = v316 % 8ll;
          const bool v322 = v321 == 0ll;
          const bool v323 = v299 & v322;
          const i64 v324 = v319 % 8ll;
          const bool v325 = v324 == 0ll;
          const bool v326 = v323 & v325;
          if ((d_length_16 != 0)) {
            const bool v327 = (u64)b_slices % 16 == 0;
            i64 v328 = d_n;
            asm volatile("" : "+l"(v328));
            const i64 v329 = v328 % 4ll;
            const bool v330 = v329 == 0ll;
            const bool v331 = v327 & v330;
            const i64 v332 = v328 % 4ll;
            const bool v333 = v332 == 0ll;
            const bool v334 = v331 & v333;
            const u32 tv335 = thread_here();
            float* const pv335 = (float*)(b_patch_128x40 + tv335 / 32 * 640);
            #pragma unroll 1
            for (u32 cv335 = 0; cv335 < 8; cv335++) {
              put_fragment_256_f32(pv335, b_accumulator_128x256, cv335, tv335 % 32);
              if (v334) {
                #pragma unroll 4
                for (u32 lv335 = tv335 % 32; lv335 < 128; lv335 += 32) {
                  const i64 v335 = (tv335 / 32 * 16 + lv335 / 8) * 64 + cv335 * 8 + lv335 % 8;
                  const i64 v336 = v335 * 4ll;
                  const i64 v337 = v336 / 256ll;
                  const i64 v338 = v336 % 256ll;
                  const bool v339 = v337 < v313;
                  const bool v340 = v338 < v314;
                  const bool v341 = v339 & v340;
                  const bool v342 = v338 < v68;
                  const bool v343 = v341 & v342;
                  const i64 v344 = v309 + v337;
                  const i64 v345 = v312 + v338;
                  const i64 v346 = v337 * 256ll;
                  const i64 v347 = v346 + v338;
                  const i64 v348 = v315 + v344;
                  const i64 v349 = v348 * d_n;
                  const i64 v350 = v349 + v345;
                  if (v343) {
                    const Vec<float, 4> v351 = load_vec<float, 4>(pv335 + lv335 / 8 * 40 + lv335 % 8 * 4);
                    store_vec(b_slices + v350, v351);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv352 = tv335 % 32; lv352 < 512; lv352 += 32) {
                  const i64 v352 = (tv335 / 32 * 16 + lv352 / 32) * 256 + cv335 * 32 + lv352 % 32;
                  const i64 v353 = v352 / 256ll;
                  const i64 v354 = v352 % 256ll;
                  const bool v355 = v353 < v313;
                  const bool v356 = v354 < v314;
                  const bool v357 = v355 & v356;
                  const bool v358 = v354 < v68;
                  const bool v359 = v357 & v358;
                  const i64 v360 = v309 + v353;
                  const i64 v361 = v312 + v354;
                  const i64 v362 = v353 * 256ll;
                  const i64 v363 = v362 + v354;
                  const i64 v364 = v315 + v360;
                  const i64 v365 = v364 * d_n;
                  const i64 v366 = v365 + v361;
                  if (v359) {
                    const float v367 = *(pv335 + lv352 / 32 * 40 + lv352 % 32 * 1);
                    *(b_slices + v366) = v367;
                  }
                }
              }
            }
          } else {
            Vec<float, 8> v368;
            #pragma unroll
            for (int l = 0; l < 8; l++) v368.v[l] = 5e-1f;
            const u32 tv369 = thread_here();
            float* const pv369 = (float*)(b_patch_128x40 + tv369 / 32 * 640);
            #pragma unroll 1
            for (u32 cv369 = 0; cv369 < 8; cv369++) {
              put_fragment_256_f32(pv369, b_accumulator_128x256, cv369, tv369 % 32);
              if (v326) {
                #pragma unroll 2
                for (u32 lv369 = tv369 % 32; lv369 < 64; lv369 += 32) {
                  const i64 v369 = (tv369 / 32 * 16 + lv369 / 4) * 32 + cv369 * 4 + lv369 % 4;
                  const i64 v370 = v369 * 8ll;
                  const i64 v371 = v370 / 256ll;
                  const i64 v372 = v370 % 256ll;
                  const bool v373 = v371 < v313;
                  const bool v374 = v372 < v314;
                  const bool v375 = v373 & v374;
                  const bool v376 = v372 < v68;
                  const bool v377 = v375 & v376;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v378 = v371 * 256ll;
                  const i64 v379 = v378 + v372;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v380 = v371 * d_n;
                  const i64 v381 = v380 + v372;
                  const i64 v382 = v381 + v317;
                  const i64 v383 = v381 + v320;
                  if (v377) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v384 = load_vec<float, 8>(pv369 + lv369 / 4 * 40 + lv369 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v385;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v385.v[l] = v368.v[l] * v384.v[l];
                    const Vec<u16, 8> v386 = load_vec<u16, 8>(b_bias + v382);
                    Vec<float, 8> v387;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v387.v[l] = bf16_to_f32(v386.v[l]);
                    Vec<float, 8> v388;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v388.v[l] = v385.v[l] + v387.v[l];
                    Vec<float, 8> v389;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v389.v[l] = fn_silu(v388.v[l]);
                    Vec<u16, 8> v390;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v390.v[l] = f32_to_bf16(v389.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v383, v390);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv391 = tv369 % 32; lv391 < 512; lv391 += 32) {
                  const i64 v391 = (tv369 / 32 * 16 + lv391 / 32) * 256 + cv369 * 32 + lv391 % 32;
                  const i64 v392 = v391 / 256ll;
                  const i64 v393 = v391 % 256ll;
                  const bool v394 = v392 < v313;
                  const bool v395 = v393 < v314;
                  const bool v396 = v394 & v395;
                  const bool v397 = v393 < v68;
                  const bool v398 = v396 & v397;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v399 = v392 * 256ll;
                  const i64 v400 = v399 + v393;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v401 = v392 * d_n;
                  const i64 v402 = v401 + v393;
                  const i64 v403 = v402 + v317;
                  const i64 v404 = v402 + v320;
                  if (v398) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v405 = *(pv369 + lv391 / 32 * 40 + lv391 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v406 = 5e-1f * v405;
                    const u16 v407 = *(b_bias + v403);
                    const float v408 = bf16_to_f32(v407);
                    const float v409 = v406 + v408;
                    const float v410 = fn_silu(v409);
                    const u16 v411 = f32_to_bf16(v410);
                    *(((u16*)b_out_peers.p[0ll]) + v404) = v411;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v412 = d_m;
        asm volatile("" : "+l"(v412));
        const i64 v413 = v412 / 4ll;
        const i64 v414 = v413 > 0ll ? v413 : 0ll;
        const i64 v415 = v414 + 127ll;
        const i64 v416 = v415 / 128ll;
        i64 v418 = d_length_40;
        asm volatile("" : "+l"(v418));
        i64 v419 = d_length_41;
        asm volatile("" : "+l"(v419));
        i64 v420 = d_length_47;
        asm volatile("" : "+l"(v420));
        #pragma unroll 1
        for (i64 v421 = blockIdx.x; v421 < v419; v421 += gridDim.x) {
          const i64 v422 = quotient(v421, (i64)gridDim.x);
          const i64 v423 = v422 * v61;
          const i64 v424 = v421 - quotient(v421, v418) * v418;
          const i64 v425 = quotient(v421, v418);
          const i64 v426 = quotient(v424, v420);
          const i64 v427 = v426 * 8ll;
          const i64 v428 = v416 - v427;
          const i64 v429 = 8ll < v428 ? 8ll : v428;
          const i64 v430 = v424 - quotient(v424, v420) * v420;
          const i64 v431 = v430 - quotient(v430, v429) * v429;
          const i64 v432 = v427 + v431;
          const i64 v433 = v432 * 128ll;
          const i64 v434 = quotient(v430, v429);
          const i64 v435 = v434 * v67;
          const i64 v436 = v435 * 32ll;
          const i64 v437 = v425 * v61;
          const i64 v438 = v437 + v61;
          #pragma unroll 1
          for (i64 v439 = v437; v439 < v438; v439++) {
            const i64 v440 = v439 - v437;
            const i64 v441 = v423 + v440;
            const i64 v442 = (u32)v441 % 4u;
            const i64 v443 = v439 * 64ll;
            if ((u32)v441 % 4 == threadIdx.x / 32 - 8) {
              ring_acquire<4>(b_ring_4, v441);
              if (can_map(b_a, d_k)) {
                const i64 left_ring_a_bf16_4x128x64 = (d_m / 4ll) - (v433);
                filling.bytes += left_ring_a_bf16_4x128x64 <= 16 ? 2048 : left_ring_a_bf16_4x128x64 <= 64 ? 8192 : 16384;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v442 * 8192 + s * 8192, left_ring_a_bf16_4x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_4x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v442), (int)(v443), (int)(v433));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 128, 64>(b_ring_a_bf16_4x128x64 + v442 * 8192, b_a, d_k, (d_m / 4ll), d_k, v433, v443);
              }
              if (can_map(b_b, d_n)) {
                const int boxes_ring_b_bf16_4x64x256 = (int)((v68 + 63) / 64);
                filling.bytes += boxes_ring_b_bf16_4x64x256 * 8192;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 4; s++) if (s < boxes_ring_b_bf16_4x64x256) ring_load(b_ring_b_bf16_4x64x256 + v442 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v442), (int)(v436) + s * 64, (int)(v443));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 64, 256>(b_ring_b_bf16_4x64x256 + v442 * 16384, b_b, d_n, d_k, (v436 + v68 < d_n ? v436 + v68 : d_n), v443, v436);
              }
              ring_fill<4>(b_ring_4, v441, filling);
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
  i64 v447 = (i64)rank;
  asm volatile("" : "+l"(v447));
  const bool v449 = v447 == 1ll;
  const bool v450 = v447 == 2ll;
  const bool v451 = v447 == 3ll;
  const i64 v453 = (i64)blockIdx.x * 4ll;
  const i64 v454 = v453 + v447;
  const bool v455 = v447 == 0ll;
  i64 v456 = d_length_48;
  asm volatile("" : "+l"(v456));
  if ((d_length_49 != 0)) {
    const i64 v459 = (i64)blockIdx.x * 4ll;
    i64 v460 = (i64)rank;
    asm volatile("" : "+l"(v460));
    const i64 v461 = v459 + v460;
    const i64 v463 = v460 % 4ll;
    const bool v464 = (u64)b_slices % 16 == 0;
    const bool v465 = (u64)b_bias % 16 == 0;
    const bool v466 = v464 & v465;
    const bool v467 = (u64)b_out % 16 == 0;
    const bool v468 = v466 & v467;
    i64 v469 = d_n;
    asm volatile("" : "+l"(v469));
    i64 v470 = d_n;
    asm volatile("" : "+l"(v470));
    const i64 v471 = v470 % 8ll;
    const bool v472 = v471 == 0ll;
    const bool v473 = v468 & v472;
    const i64 v474 = v469 % 8ll;
    const bool v475 = v474 == 0ll;
    const bool v476 = v473 & v475;
    i64 v477 = d_m;
    asm volatile("" : "+l"(v477));
    const i64 v478 = v477 / 4ll;
    const i64 v479 = v460 * v478;
    const i64 v480 = v479 * v469;
    const i64 v481 = v480 % 8ll;
    const bool v482 = v481 == 0ll;
    const bool v483 = v476 & v482;
    const i64 v484 = v478 > 0ll ? v478 : 0ll;
    const i64 v485 = v484 * v470;
    const i64 v486 = v485 / 3072ll;
    const i64 v487 = v485 + 3071ll;
    const i64 v488 = v487 / 3072ll;
    Vec<float, 8> v489;
    #pragma unroll
    for (int l = 0; l < 8; l++) v489.v[l] = 5e-1f;
    __syncthreads();
    const u32 v490 = *(b_epoch + 0ll);
    const u32 v491 = v490 + 1u;
    *(b_epoch + 0ll) = v491;
    if (threadIdx.x < 1) {
      const i64 v492 = threadIdx.x;
      signal_set_release_gpu(b_flags + v461, v491);
    }
    #pragma unroll 1
    for (i64 v493 = threadIdx.x; v493 < (i64)gridDim.x; v493 += 384) {
      const i64 v494 = v493 * 4ll;
      const i64 v495 = v494 + v463;
      wait_acquire_gpu(b_flags + v495, v491, watch, (u32)(v463), 5u, (u32)(v495), 5u);
    }
    __syncthreads();
    if (v483) {
      i64 v496 = d_m;
      asm volatile("" : "+l"(v496));
      const i64 v497 = v496 / 4ll;
      const i64 v498 = v497 > 0ll ? v497 : 0ll;
      i64 v499 = d_n;
      asm volatile("" : "+l"(v499));
      i64 v500 = d_n;
      asm volatile("" : "+l"(v500));
      const i64 v501 = v498 * v500;
      const i64 v502 = v501 / 3072ll;
      const i64 v504 = (i64)gridDim.x * 4ll;
      const i64 v506 = (i64)gridDim.x * 2ll;
      const i64 v507 = (i64)gridDim.x * 3ll;
      Vec<float, 8> v508;
      #pragma unroll
      for (int l = 0; l < 8; l++) v508.v[l] = 5e-1f;
      i64 v509 = (i64)rank;
      asm volatile("" : "+l"(v509));
      const i64 v510 = v509 * v497;
      const i64 v511 = v510 * v499;
      const i64 v512 = quotient(v502, v504);
      #pragma unroll 1
      for (i64 v513 = 0ll; v513 < v512; v513++) {
        const i64 v514 = v513 * v504;
        const i64 v515 = v514 + (i64)blockIdx.x;
        const i64 v516 = v515 * 3072ll;
        const i64 v517 = v515 + (i64)gridDim.x;
        const i64 v518 = v517 * 3072ll;
        const i64 v519 = v515 + v506;
        const i64 v520 = v519 * 3072ll;
        const i64 v521 = v515 + v507;
        const i64 v522 = v521 * 3072ll;
        {
          const i64 v523 = threadIdx.x;
          const i64 v524 = v523 * 8ll;
          const i64 v525 = v516 + v524;
          const i64 v526 = v518 + v524;
          const i64 v527 = v520 + v524;
          const i64 v528 = v522 + v524;
          const i64 v529 = v525 - quotient(v525, v500) * v500;
          const i64 v530 = v526 - quotient(v526, v500) * v500;
          const i64 v531 = v527 - quotient(v527, v500) * v500;
          const i64 v532 = v528 - quotient(v528, v500) * v500;
          const i64 v533 = quotient(v525, v500);
          const i64 v534 = quotient(v526, v500);
          const i64 v535 = quotient(v527, v500);
          const i64 v536 = quotient(v528, v500);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v538;
          for (int l = 0; l < 8; l++) v538.v[l] = 0e+0f;
          for (i64 v537 = 0ll; v537 < v456; v537++) {
            const i64 v539 = v537 * v497;
            const i64 v540 = v539 + v533;
            const i64 v541 = v540 * d_n;
            const i64 v542 = v541 + v529;
            const Vec<float, 8> v543 = load_vec<float, 8>(b_slices + v542);
            for (int l = 0; l < 8; l++) v538.v[l] = v538.v[l] + v543.v[l];
          }
          Vec<float, 8> v545;
          for (int l = 0; l < 8; l++) v545.v[l] = 0e+0f;
          for (i64 v544 = 0ll; v544 < v456; v544++) {
            const i64 v546 = v544 * v497;
            const i64 v547 = v546 + v534;
            const i64 v548 = v547 * d_n;
            const i64 v549 = v548 + v530;
            const Vec<float, 8> v550 = load_vec<float, 8>(b_slices + v549);
            for (int l = 0; l < 8; l++) v545.v[l] = v545.v[l] + v550.v[l];
          }
          Vec<float, 8> v552;
          for (int l = 0; l < 8; l++) v552.v[l] = 0e+0f;
          for (i64 v551 = 0ll; v551 < v456; v551++) {
            const i64 v553 = v551 * v497;
            const i64 v554 = v553 + v535;
            const i64 v555 = v554 * d_n;
            const i64 v556 = v555 + v531;
            const Vec<float, 8> v557 = load_vec<float, 8>(b_slices + v556);
            for (int l = 0; l < 8; l++) v552.v[l] = v552.v[l] + v557.v[l];
          }
          Vec<float, 8> v559;
          for (int l = 0; l < 8; l++) v559.v[l] = 0e+0f;
          for (i64 v558 = 0ll; v558 < v456; v558++) {
            const i64 v560 = v558 * v497;
            const i64 v561 = v560 + v536;
            const i64 v562 = v561 * d_n;
            const i64 v563 = v562 + v532;
            const Vec<float, 8> v564 = load_vec<float, 8>(b_slices + v563);
            for (int l = 0; l < 8; l++) v559.v[l] = v559.v[l] + v564.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v565;
          #pragma unroll
          for (int l = 0; l < 8; l++) v565.v[l] = v508.v[l] * v538.v[l];
          Vec<float, 8> v566;
          #pragma unroll
          for (int l = 0; l < 8; l++) v566.v[l] = v508.v[l] * v545.v[l];
          Vec<float, 8> v567;
          #pragma unroll
          for (int l = 0; l < 8; l++) v567.v[l] = v508.v[l] * v552.v[l];
          Vec<float, 8> v568;
          #pragma unroll
          for (int l = 0; l < 8; l++) v568.v[l] = v508.v[l] * v559.v[l];
          const i64 v569 = v533 * d_n;
          const i64 v570 = v534 * d_n;
          const i64 v571 = v535 * d_n;
          const i64 v572 = v536 * d_n;
          const i64 v573 = v569 + v529;
          const i64 v574 = v570 + v530;
          const i64 v575 = v571 + v531;
          const i64 v576 = v572 + v532;
          const Vec<u16, 8> v577 = load_vec<u16, 8>(b_bias + v573);
          const Vec<u16, 8> v578 = load_vec<u16, 8>(b_bias + v574);
          const Vec<u16, 8> v579 = load_vec<u16, 8>(b_bias + v575);
          const Vec<u16, 8> v580 = load_vec<u16, 8>(b_bias + v576);
          Vec<float, 8> v581;
          #pragma unroll
          for (int l = 0; l < 8; l++) v581.v[l] = bf16_to_f32(v577.v[l]);
          Vec<float, 8> v582;
          #pragma unroll
          for (int l = 0; l < 8; l++) v582.v[l] = bf16_to_f32(v578.v[l]);
          Vec<float, 8> v583;
          #pragma unroll
          for (int l = 0; l < 8; l++) v583.v[l] = bf16_to_f32(v579.v[l]);
          Vec<float, 8> v584;
          #pragma unroll
          for (int l = 0; l < 8; l++) v584.v[l] = bf16_to_f32(v580.v[l]);
          Vec<float, 8> v585;
          #pragma unroll
          for (int l = 0; l < 8; l++) v585.v[l] = v565.v[l] + v581.v[l];
          Vec<float, 8> v586;
          #pragma unroll
          for (int l = 0; l < 8; l++) v586.v[l] = v566.v[l] + v582.v[l];
          Vec<float, 8> v587;
          #pragma unroll
          for (int l = 0; l < 8; l++) v587.v[l] = v567.v[l] + v583.v[l];
          Vec<float, 8> v588;
          #pragma unroll
          for (int l = 0; l < 8; l++) v588.v[l] = v568.v[l] + v584.v[l];
          Vec<float, 8> v589;
          #pragma unroll
          for (int l = 0; l < 8; l++) v589.v[l] = fn_silu(v585.v[l]);
          Vec<float, 8> v590;
          #pragma unroll
          for (int l = 0; l < 8; l++) v590.v[l] = fn_silu(v586.v[l]);
          Vec<float, 8> v591;
          #pragma unroll
          for (int l = 0; l < 8; l++) v591.v[l] = fn_silu(v587.v[l]);
          Vec<float, 8> v592;
          #pragma unroll
          for (int l = 0; l < 8; l++) v592.v[l] = fn_silu(v588.v[l]);
          Vec<u16, 8> v593;
          #pragma unroll
          for (int l = 0; l < 8; l++) v593.v[l] = f32_to_bf16(v589.v[l]);
          Vec<u16, 8> v594;
          #pragma unroll
          for (int l = 0; l < 8; l++) v594.v[l] = f32_to_bf16(v590.v[l]);
          Vec<u16, 8> v595;
          #pragma unroll
          for (int l = 0; l < 8; l++) v595.v[l] = f32_to_bf16(v591.v[l]);
          Vec<u16, 8> v596;
          #pragma unroll
          for (int l = 0; l < 8; l++) v596.v[l] = f32_to_bf16(v592.v[l]);
          const i64 v597 = v573 + v511;
          const i64 v598 = v574 + v511;
          const i64 v599 = v575 + v511;
          const i64 v600 = v576 + v511;
          store_vec(((u16*)b_out_peers.p[0ll]) + v597, v593);
          store_vec(((u16*)b_out_peers.p[0ll]) + v598, v594);
          store_vec(((u16*)b_out_peers.p[0ll]) + v599, v595);
          store_vec(((u16*)b_out_peers.p[0ll]) + v600, v596);
        }
      }
      const i64 v601 = v512 * v504;
      #pragma unroll 1
      for (i64 v602 = v601 + ((i64)blockIdx.x - v601 % gridDim.x + gridDim.x) % gridDim.x; v602 < v502; v602 += gridDim.x) {
        const i64 v603 = v602 * 3072ll;
        {
          const i64 v604 = threadIdx.x;
          const i64 v605 = v604 * 8ll;
          const i64 v606 = v603 + v605;
          const i64 v607 = v606 - quotient(v606, v500) * v500;
          const i64 v608 = quotient(v606, v500);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v610;
          for (int l = 0; l < 8; l++) v610.v[l] = 0e+0f;
          for (i64 v609 = 0ll; v609 < v456; v609++) {
            const i64 v611 = v609 * v497;
            const i64 v612 = v611 + v608;
            const i64 v613 = v612 * d_n;
            const i64 v614 = v613 + v607;
            const Vec<float, 8> v615 = load_vec<float, 8>(b_slices + v614);
            for (int l = 0; l < 8; l++) v610.v[l] = v610.v[l] + v615.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v616;
          #pragma unroll
          for (int l = 0; l < 8; l++) v616.v[l] = v508.v[l] * v610.v[l];
          const i64 v617 = v608 * d_n;
          const i64 v618 = v617 + v607;
          const Vec<u16, 8> v619 = load_vec<u16, 8>(b_bias + v618);
          Vec<float, 8> v620;
          #pragma unroll
          for (int l = 0; l < 8; l++) v620.v[l] = bf16_to_f32(v619.v[l]);
          Vec<float, 8> v621;
          #pragma unroll
          for (int l = 0; l < 8; l++) v621.v[l] = v616.v[l] + v620.v[l];
          Vec<float, 8> v622;
          #pragma unroll
          for (int l = 0; l < 8; l++) v622.v[l] = fn_silu(v621.v[l]);
          Vec<u16, 8> v623;
          #pragma unroll
          for (int l = 0; l < 8; l++) v623.v[l] = f32_to_bf16(v622.v[l]);
          const i64 v624 = v618 + v511;
          store_vec(((u16*)b_out_peers.p[0ll]) + v624, v623);
        }
      }
    } else {
      i64 v625 = d_m;
      asm volatile("" : "+l"(v625));
      const i64 v626 = v625 / 4ll;
      const i64 v627 = v626 > 0ll ? v626 : 0ll;
      i64 v628 = d_n;
      asm volatile("" : "+l"(v628));
      i64 v629 = d_n;
      asm volatile("" : "+l"(v629));
      const i64 v630 = v627 * v629;
      const i64 v631 = v630 / 3072ll;
      i64 v632 = (i64)rank;
      asm volatile("" : "+l"(v632));
      const i64 v633 = v632 * v626;
      const i64 v634 = v633 * v628;
      #pragma unroll 1
      for (i64 v635 = blockIdx.x; v635 < v631; v635 += gridDim.x) {
        const i64 v636 = v635 * 3072ll;
        #pragma unroll 1
        for (i64 v637 = threadIdx.x; v637 < 3072ll; v637 += 384) {
          const i64 v638 = v636 + v637;
          const i64 v639 = v638 - quotient(v638, v629) * v629;
          const i64 v640 = quotient(v638, v629);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v642;
          v642 = 0e+0f;
          for (i64 v641 = 0ll; v641 < v456; v641++) {
            const i64 v643 = v641 * v626;
            const i64 v644 = v643 + v640;
            const i64 v645 = v644 * d_n;
            const i64 v646 = v645 + v639;
            const float v647 = *(b_slices + v646);
            v642 = v642 + v647;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v648 = 5e-1f * v642;
          const i64 v649 = v640 * d_n;
          const i64 v650 = v649 + v639;
          const u16 v651 = *(b_bias + v650);
          const float v652 = bf16_to_f32(v651);
          const float v653 = v648 + v652;
          const float v654 = fn_silu(v653);
          const u16 v655 = f32_to_bf16(v654);
          const i64 v656 = v650 + v634;
          *(((u16*)b_out_peers.p[0ll]) + v656) = v655;
        }
      }
    }
    if (v483) {
      #pragma unroll 1
      for (i64 v657 = v486 + ((i64)blockIdx.x - v486 % gridDim.x + gridDim.x) % gridDim.x; v657 < v488; v657 += gridDim.x) {
        const i64 v658 = v657 * 3072ll;
        const i64 v659 = v485 - v658;
        const i64 v660 = v659 / 8ll;
        const i64 v661 = v660 * 8ll;
        #pragma unroll 1
        for (i64 v662 = threadIdx.x; v662 < v660; v662 += 384) {
          const i64 v663 = v662 * 8ll;
          const i64 v664 = v658 + v663;
          const i64 v665 = v664 - quotient(v664, v470) * v470;
          const i64 v666 = quotient(v664, v470);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v668;
          for (int l = 0; l < 8; l++) v668.v[l] = 0e+0f;
          for (i64 v667 = 0ll; v667 < v456; v667++) {
            const i64 v669 = v667 * v478;
            const i64 v670 = v669 + v666;
            const i64 v671 = v670 * d_n;
            const i64 v672 = v671 + v665;
            const Vec<float, 8> v673 = load_vec<float, 8>(b_slices + v672);
            for (int l = 0; l < 8; l++) v668.v[l] = v668.v[l] + v673.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v674;
          #pragma unroll
          for (int l = 0; l < 8; l++) v674.v[l] = v489.v[l] * v668.v[l];
          const i64 v675 = v666 * d_n;
          const i64 v676 = v675 + v665;
          const Vec<u16, 8> v677 = load_vec<u16, 8>(b_bias + v676);
          Vec<float, 8> v678;
          #pragma unroll
          for (int l = 0; l < 8; l++) v678.v[l] = bf16_to_f32(v677.v[l]);
          Vec<float, 8> v679;
          #pragma unroll
          for (int l = 0; l < 8; l++) v679.v[l] = v674.v[l] + v678.v[l];
          Vec<float, 8> v680;
          #pragma unroll
          for (int l = 0; l < 8; l++) v680.v[l] = fn_silu(v679.v[l]);
          Vec<u16, 8> v681;
          #pragma unroll
          for (int l = 0; l < 8; l++) v681.v[l] = f32_to_bf16(v680.v[l]);
          const i64 v682 = v676 + v480;
          store_vec(((u16*)b_out_peers.p[0ll]) + v682, v681);
        }
        #pragma unroll 1
        for (i64 v683 = v661 + threadIdx.x; v683 < v659; v683 += 384) {
          const i64 v684 = v658 + v683;
          const i64 v685 = v684 - quotient(v684, v470) * v470;
          const i64 v686 = quotient(v684, v470);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v688;
          v688 = 0e+0f;
          for (i64 v687 = 0ll; v687 < v456; v687++) {
            const i64 v689 = v687 * v478;
            const i64 v690 = v689 + v686;
            const i64 v691 = v690 * d_n;
            const i64 v692 = v691 + v685;
            const float v693 = *(b_slices + v692);
            v688 = v688 + v693;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v694 = 5e-1f * v688;
          const i64 v695 = v686 * d_n;
          const i64 v696 = v695 + v685;
          const u16 v697 = *(b_bias + v696);
          const float v698 = bf16_to_f32(v697);
          const float v699 = v694 + v698;
          const float v700 = fn_silu(v699);
          const u16 v701 = f32_to_bf16(v700);
          const i64 v702 = v696 + v480;
          *(((u16*)b_out_peers.p[0ll]) + v702) = v701;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v703 = v486 + ((i64)blockIdx.x - v486 % gridDim.x + gridDim.x) % gridDim.x; v703 < v488; v703 += gridDim.x) {
        const i64 v704 = v703 * 3072ll;
        const i64 v705 = v485 - v704;
        #pragma unroll 1
        for (i64 v706 = threadIdx.x; v706 < v705; v706 += 384) {
          const i64 v707 = v704 + v706;
          const i64 v708 = v707 - quotient(v707, v470) * v470;
          const i64 v709 = quotient(v707, v470);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v711;
          v711 = 0e+0f;
          for (i64 v710 = 0ll; v710 < v456; v710++) {
            const i64 v712 = v710 * v478;
            const i64 v713 = v712 + v709;
            const i64 v714 = v713 * d_n;
            const i64 v715 = v714 + v708;
            const float v716 = *(b_slices + v715);
            v711 = v711 + v716;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v717 = 5e-1f * v711;
          const i64 v718 = v709 * d_n;
          const i64 v719 = v718 + v708;
          const u16 v720 = *(b_bias + v719);
          const float v721 = bf16_to_f32(v720);
          const float v722 = v717 + v721;
          const float v723 = fn_silu(v722);
          const u16 v724 = f32_to_bf16(v723);
          const i64 v725 = v719 + v480;
          *(((u16*)b_out_peers.p[0ll]) + v725) = v724;
        }
      }
    }
  }
  __syncthreads();
  const u32 v726 = *(b_epoch + 0ll);
  const u32 v727 = v726 + 1u;
  *(b_epoch + 0ll) = v727;
  if (threadIdx.x < 4) {
    const i64 v728 = threadIdx.x;
    const bool v729 = v728 == 0ll;
    const bool v730 = v449 & v729;
    const bool v731 = v450 & v729;
    const bool v732 = v451 & v729;
    const bool v733 = v730 | v731;
    const bool v734 = v733 | v732;
    if (v734) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v728]) + v454, v727);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v735 = threadIdx.x;
    const bool v736 = v735 == 1ll;
    const bool v737 = v455 & v736;
    const bool v738 = v735 == 2ll;
    const bool v739 = v455 & v738;
    const bool v740 = v735 == 3ll;
    const bool v741 = v455 & v740;
    const bool v742 = v737 | v739;
    const bool v743 = v742 | v741;
    const i64 v744 = v453 + v735;
    if (v743) {
      wait_acquire_sys(b_flags + v744, v727, watch, (u32)(v735), 5u, (u32)(v744), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v745 = threadIdx.x;
    const i64 v746 = v745 - quotient(v745, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v747 = v746 == (i64)blockIdx.x;
    if (v747) {
      const u32 v748 = *(b_epoch + 0ll);
      *(b_epochs + v745) = v748;
    }
  }
}
