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
  if (a < b) return 0;
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
__device__ __forceinline__ i64 quotient(i64 a, i64 b, i64 reciprocal) {
  const i64 q = (i64)__umul64hi((u64)a << 12, (u64)reciprocal);
  return q - (q * b > a);
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
  static_assert(COLS % 32 == 0, "a warp's threads have elements of one row each");
  const int height = rows - row < ROWS ? (int)(rows - row) : ROWS, width = cols - col < COLS ? (int)(cols - col) : COLS;
  const int lane = thread_here() % 32;
  const T* next = from + row * stride + col + lane;
#pragma unroll 1
  for (int n = 0; n < ROWS * COLS; n += 32 * LOADS) {
    // The row and column of the first, most often known to be 0: a row ends where a thread's loads do.
    const int top = n / COLS, left = 32 * LOADS % COLS == 0 ? 0 : n % COLS;
    T taken[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      const int r = top + (left + 32 * i) / COLS, c = lane + (left + 32 * i) % COLS;
      taken[i] = (r < height) & (c < width) ? *next : T(0);
      next += (left + 32 * (i + 1)) % COLS == 0 ? stride - (COLS - 32) : 32;
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      const int r = top + (left + 32 * i) / COLS, c = lane + (left + 32 * i) % COLS;
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
__device__ __forceinline__ void add_piece_f32_8(const float4* at, float* acc) {
#pragma unroll
  for (int l = 0; l < 8; l++) {
    const float4 v = __ldcg(at + l * 256);
    acc[4 * l] += v.x; acc[4 * l + 1] += v.y; acc[4 * l + 2] += v.z; acc[4 * l + 3] += v.w;
  }
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
__device__ __forceinline__ void put_piece_f32_8(float4* at, const float* acc) {
#pragma unroll
  for (int l = 0; l < 8; l++)
    __stcg(at + l * 256, make_float4(acc[4 * l], acc[4 * l + 1], acc[4 * l + 2], acc[4 * l + 3]));
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
__device__ __forceinline__ void add_piece_f32_32(const float4* at, float* acc) {
#pragma unroll
  for (int l = 0; l < 32; l++) {
    const float4 v = __ldcg(at + l * 256);
    acc[4 * l] += v.x; acc[4 * l + 1] += v.y; acc[4 * l + 2] += v.z; acc[4 * l + 3] += v.w;
  }
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
__device__ __forceinline__ void put_piece_f32_32(float4* at, const float* acc) {
#pragma unroll
  for (int l = 0; l < 32; l++)
    __stcg(at + l * 256, make_float4(acc[4 * l], acc[4 * l + 1], acc[4 * l + 2], acc[4 * l + 3]));
}

extern "C" __global__ void __launch_bounds__(384, 1)
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_pieces, u32* b_told, float* b_pieces_, u32* b_told_, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, u32* b_launches, const i64 d_m, const i64 d_k, const i64 d_n, const i64 d_length_22, const i64 d_length_24, const i64 d_length_25, const i64 d_length_42, const i64 d_length_44, const i64 d_length_45, const i64 d_length_46, const i64 d_length_47, const i64 d_length_50, const i64 d_length_51, const i64 d_length_52, const i64 d_length_55, const i64 d_length_56, const i64 d_length_57, const i64 d_length_58, const i64 d_length_59, const i64 d_length_60, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_16x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
  const u32 v4 = *(b_epochs + (i64)blockIdx.x);
  *(b_epoch + 0ll) = v4;
  const u32 v5 = *(b_launches + (i64)blockIdx.x);
  const u32 v8 = v5 + 1u;
  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v12 = *(b_epoch + 0ll);
  const u32 v13 = v12 + 1u;
  *(b_epoch + 0ll) = v13;
  const i64 v14 = (i64)blockIdx.x * 4ll;
  const bool v15 = (i64)rank == 0ll;
  const i64 v18 = v14 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v19 = threadIdx.x;
    const bool v20 = v19 == 1ll;
    const bool v21 = v15 & v20;
    const bool v22 = v19 == 2ll;
    const bool v23 = v15 & v22;
    const bool v24 = v19 == 3ll;
    const bool v25 = v15 & v24;
    const bool v26 = v21 | v23;
    const bool v27 = v26 | v25;
    if (v27) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v19]) + v18, v13);
    }
  }
  const bool v28 = (i64)rank == 1ll;
  const bool v29 = (i64)rank == 2ll;
  const bool v30 = (i64)rank == 3ll;
  if (threadIdx.x < 4) {
    const i64 v31 = threadIdx.x;
    const bool v32 = v31 == 0ll;
    const bool v33 = v28 & v32;
    const bool v34 = v29 & v32;
    const bool v35 = v30 & v32;
    const bool v36 = v33 | v34;
    const bool v37 = v36 | v35;
    const i64 v38 = v14 + v31;
    if (v37) {
      wait_acquire_sys(b_flags + v38, v13, watch, (u32)(v31), 8u, (u32)(v38), 5u);
    }
  }
  __syncthreads();
  const bool v72 = (i64)gridDim.x == 132ll;
  const bool v73 = (d_length_22 != 0) & v72;
  i64 v74 = d_length_24;
  asm volatile("" : "+l"(v74));
  i64 v75 = d_length_25;
  asm volatile("" : "+l"(v75));
  const bool v80 = (d_length_42 != 0) & v72;
  i64 v81 = d_length_44;
  asm volatile("" : "+l"(v81));
  i64 v82 = d_length_45;
  asm volatile("" : "+l"(v82));
  i64 v84 = d_length_46;
  asm volatile("" : "+l"(v84));
  const i64 v85 = v73 ? 8ll : v84;
  const i64 v87 = v85 * 32ll;
  if ((d_length_47 != 0)) {
    {
      ring_begin<8, 8, 1, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        const u32 group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
        i64 v93 = d_m;
        asm volatile("" : "+l"(v93));
        const i64 v94 = (i64)((u64)v93 / (u64)4ll);
        const i64 v95 = v94 > 0ll ? v94 : 0ll;
        const i64 v96 = v95 + 127ll;
        i64 v97 = d_n;
        asm volatile("" : "+l"(v97));
        const i64 v98 = v97 > 0ll ? v97 : 0ll;
        const i64 v99 = v98 + 63ll;
        const i64 v100 = (i64)((u64)v96 / (u64)128ll);
        const i64 v101 = (i64)((u64)v99 / (u64)64ll);
        const i64 v102 = v94 + 127ll;
        const i64 v103 = (i64)((u64)v102 / (u64)128ll);
        const i64 v104 = v97 + 63ll;
        const i64 v105 = (i64)((u64)v104 / (u64)64ll);
        const i64 v106 = v103 * v105;
        const i64 v107 = (i64)((u64)v106 % (u64)132ll);
        const i64 v108 = (i64)((u64)v106 / (u64)132ll);
        const i64 v109 = v108 * 132ll;
        const i64 v110 = v100 * v101;
        // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
        i64 v111 = d_k;
        asm volatile("" : "+l"(v111));
        // layer.coll:5: out = gather(silu(hidden), to: 0)
        const i64 v112 = v111 + 63ll;
        const i64 v113 = (i64)((u64)v112 / (u64)64ll);
        i64 v115 = d_length_50;
        asm volatile("" : "+l"(v115));
        const i64 v116 = v108 * v113;
        i64 v117 = d_length_51;
        asm volatile("" : "+l"(v117));
        const i64 v118 = v80 ? v117 : v110;
        u32 v120_before = 0;
        #pragma unroll 1
        for (i64 v120 = blockIdx.x; v120 < v118; v120 += gridDim.x, v120_before++) {
          const bool v122 = v120 < v109;
          const bool v123 = v80 ? v122 : true;
          const i64 v124 = v120 - v109;
          const i64 v125 = v124 > 0ll ? v124 : 0ll;
          const i64 v126 = quotient(v125, v115, d_length_57);
          const i64 v127 = v126 * v107;
          const i64 v128 = v125 - v127;
          const i64 v129 = v126 * v81;
          const i64 v130 = (i64)v120_before - v108;
          const i64 v131 = v130 * v81;
          const i64 v132 = v116 + v131;
          const i64 v133 = v109 + v128;
          const i64 v134 = v123 ? v120 : v133;
          const i64 v135 = v123 ? 0ll : v129;
          const i64 v136 = v129 + v81;
          const i64 v137 = v136 < v113 ? v136 : v113;
          const i64 v138 = v123 ? v113 : v137;
          const i64 v139 = (i64)v120_before * v113;
          const i64 v140 = v123 ? v139 : v132;
          const i64 v141 = v138 - v135;
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v142 = 0ll; v142 < v141; v142++) {
            const i64 v143 = v140 + v142;
            ring_wait<8>(b_ring_8, v143);
            const i64 v144 = (u32)v143 % 8u;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64) + group * 8192, 16) + (u32)v144 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_8x64x64), 8192) + (u32)v144 * 512u);
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v145 = v142 > 0ll;
            const i64 v146 = v143 - 1ll;
            if (v145) {
              ring_release<8>(b_ring_8, v146);
            }
          }
          i64 v147 = d_n;
          asm volatile("" : "+l"(v147));
          i64 v148 = d_length_52;
          asm volatile("" : "+l"(v148));
          i64 v149 = d_m;
          asm volatile("" : "+l"(v149));
          const i64 v150 = (i64)((u64)v149 / (u64)4ll);
          const i64 v151 = v150 > 0ll ? v150 : 0ll;
          const i64 v152 = v151 + 127ll;
          const i64 v153 = (i64)((u64)v152 / (u64)128ll);
          i64 v154 = (i64)rank;
          asm volatile("" : "+l"(v154));
          const i64 v155 = v154 * v150;
          const bool v156 = (u64)b_bias % 16 == 0;
          const bool v157 = (u64)b_out % 16 == 0;
          const bool v158 = v156 & v157;
          const i64 v159 = (i64)((u64)v147 % (u64)8ll);
          const bool v160 = v159 == 0ll;
          const bool v161 = v158 & v160;
          const i64 v162 = (i64)((u64)v147 % (u64)8ll);
          const bool v163 = v162 == 0ll;
          const bool v164 = v161 & v163;
          wgmma_end_32(b_accumulator_128x64);
          const i64 v165 = v140 + v141;
          const i64 v166 = v165 - 1ll;
          const bool v167 = v141 > 0ll;
          if (v167) {
            ring_release<8>(b_ring_8, v166);
          }
          const i64 v168 = quotient(v134, v148, d_length_58);
          const i64 v169 = v168 * 8ll;
          const i64 v170 = v153 - v169;
          const i64 v171 = 8ll < v170 ? 8ll : v170;
          const i64 v172 = v134 - quotient(v134, v148, d_length_58) * v148;
          const i64 v173 = v172 - (v171 == 8 ? (i64)((u64)v172 / 8) : quotient(v172, v171, d_length_59)) * v171;
          const i64 v174 = v169 + v173;
          const i64 v175 = v174 * 128ll;
          const i64 v176 = (v171 == 8 ? (i64)((u64)v172 / 8) : quotient(v172, v171, d_length_59));
          const i64 v177 = v176 * 64ll;
          const i64 v178 = v175 + 128ll;
          const i64 v179 = v178 < v150 ? v178 : v150;
          const i64 v180 = v179 - v175;
          const i64 v181 = v126 + 1ll;
          const bool v182 = v181 == v82;
          const bool v183 = v123 | v182;
          const i64 v184 = v150 - v175;
          const i64 v185 = d_n - v177;
          const i64 v186 = v175 * d_n;
          const i64 v187 = v186 + v177;
          const i64 v188 = v175 + v155;
          const i64 v189 = v188 * d_n;
          const i64 v190 = v189 + v177;
          const i64 v191 = v127 + v128;
          const i64 v192 = v186 % 8ll;
          const bool v193 = v192 == 0ll;
          const bool v194 = v164 & v193;
          const i64 v195 = v189 % 8ll;
          const bool v196 = v195 == 0ll;
          const bool v197 = v194 & v196;
          if (v183) {
            Vec<float, 8> v198;
            #pragma unroll
            for (int l = 0; l < 8; l++) v198.v[l] = 5e-1f;
            if (v123) {
            } else {
              i64 v200 = d_m;
              asm volatile("" : "+l"(v200));
              const i64 v201 = (i64)((u64)v200 / (u64)4ll);
              const i64 v202 = v201 + 127ll;
              const i64 v203 = (i64)((u64)v202 / (u64)128ll);
              i64 v204 = d_n;
              asm volatile("" : "+l"(v204));
              const i64 v205 = v204 + 63ll;
              const i64 v206 = (i64)((u64)v205 / (u64)64ll);
              const i64 v207 = v203 * v206;
              const i64 v208 = (i64)((u64)v207 % (u64)132ll);
              const u32 v209 = *(b_launches + (i64)blockIdx.x);
              const u32 v210 = v209 + 1u;
              #pragma unroll 1
              for (i64 v211 = threadIdx.x; v211 < v126; v211 += 256) {
                const i64 v212 = v211 * v208;
                const i64 v213 = v128 + v212;
                wait_acquire_gpu(b_told_ + v213, v210, watch, (u32)(rank), 7u, (u32)(v213), 5u);
              }
              asm volatile("bar.sync 1, 256;" ::: "memory");
              #pragma unroll 1
              for (i64 v214 = 0ll; v214 < v126; v214++) {
                const i64 v215 = v214 * v208;
                const i64 v216 = v215 + v128;
                if (group * 64 + thread_here() / 32 % 4 * 16 < v180) {
                  add_piece_f32_8((const float4*)((const char*)b_pieces_ + (u64)v216 * 32768u) + thread_here(), b_accumulator_128x64);
                }
              }
            }
            const u32 tv217 = thread_here();
            float* const pv217 = (float*)(b_patch_128x40 + tv217 / 32 * 640);
            #pragma unroll 1
            for (u32 cv217 = 0; cv217 < 2; cv217++) {
              put_fragment_64_f32(pv217, b_accumulator_128x64, cv217, tv217 % 32);
              if (v197) {
                #pragma unroll 2
                for (u32 lv217 = tv217 % 32; lv217 < 64; lv217 += 32) {
                  const i64 v217 = (tv217 / 32 * 16 + lv217 / 4) * 8 + cv217 * 4 + lv217 % 4;
                  const i64 v218 = v217 * 8ll;
                  const i64 v219 = v218 / 64ll;
                  const i64 v220 = v218 % 64ll;
                  const bool v221 = v219 < v184;
                  const bool v222 = v220 < v185;
                  const bool v223 = v221 & v222;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v224 = v219 * 64ll;
                  const i64 v225 = v224 + v220;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v226 = v219 * d_n;
                  const i64 v227 = v226 + v220;
                  const i64 v228 = v227 + v187;
                  const i64 v229 = v227 + v190;
                  if (v223) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v230 = load_vec<float, 8>(pv217 + lv217 / 4 * 40 + lv217 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v231;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v231.v[l] = v198.v[l] * v230.v[l];
                    const Vec<u16, 8> v232 = load_vec<u16, 8>(b_bias + v228);
                    Vec<float, 8> v233;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v233.v[l] = bf16_to_f32(v232.v[l]);
                    Vec<float, 8> v234;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v234.v[l] = v231.v[l] + v233.v[l];
                    Vec<float, 8> v235;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v235.v[l] = fn_silu(v234.v[l]);
                    Vec<u16, 8> v236;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v236.v[l] = f32_to_bf16(v235.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v229, v236);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv237 = tv217 % 32; lv237 < 512; lv237 += 32) {
                  const i64 v237 = (tv217 / 32 * 16 + lv237 / 32) * 64 + cv217 * 32 + lv237 % 32;
                  const i64 v238 = v237 / 64ll;
                  const i64 v239 = v237 % 64ll;
                  const bool v240 = v238 < v184;
                  const bool v241 = v239 < v185;
                  const bool v242 = v240 & v241;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v243 = v238 * 64ll;
                  const i64 v244 = v243 + v239;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v245 = v238 * d_n;
                  const i64 v246 = v245 + v239;
                  const i64 v247 = v246 + v187;
                  const i64 v248 = v246 + v190;
                  if (v242) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v249 = *(pv217 + lv237 / 32 * 40 + lv237 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v250 = 5e-1f * v249;
                    const u16 v251 = *(b_bias + v247);
                    const float v252 = bf16_to_f32(v251);
                    const float v253 = v250 + v252;
                    const float v254 = fn_silu(v253);
                    const u16 v255 = f32_to_bf16(v254);
                    *(((u16*)b_out_peers.p[0ll]) + v248) = v255;
                  }
                }
              }
            }
          } else {
            if (group * 64 + thread_here() / 32 % 4 * 16 < v180) {
              put_piece_f32_8((float4*)((char*)b_pieces_ + (u64)v191 * 32768u) + thread_here(), b_accumulator_128x64);
            }
            const u32 v257 = *(b_launches + (i64)blockIdx.x);
            const u32 v258 = v257 + 1u;
            asm volatile("bar.sync 1, 256;" ::: "memory");
            if (threadIdx.x < 1) {
              const i64 v259 = threadIdx.x;
              signal_set_release_gpu(b_told_ + v191, v258);
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v260 = d_m;
        asm volatile("" : "+l"(v260));
        const i64 v261 = (i64)((u64)v260 / (u64)4ll);
        const i64 v262 = v261 > 0ll ? v261 : 0ll;
        const i64 v263 = v262 + 127ll;
        i64 v264 = d_n;
        asm volatile("" : "+l"(v264));
        const i64 v265 = v264 > 0ll ? v264 : 0ll;
        const i64 v266 = v265 + 63ll;
        const i64 v267 = (i64)((u64)v263 / (u64)128ll);
        const i64 v268 = (i64)((u64)v266 / (u64)64ll);
        const i64 v269 = v261 + 127ll;
        const i64 v270 = (i64)((u64)v269 / (u64)128ll);
        const i64 v271 = v264 + 63ll;
        const i64 v272 = (i64)((u64)v271 / (u64)64ll);
        const i64 v273 = v270 * v272;
        const i64 v274 = (i64)((u64)v273 % (u64)132ll);
        const i64 v275 = (i64)((u64)v273 / (u64)132ll);
        const i64 v276 = v275 * 132ll;
        const i64 v277 = v267 * v268;
        // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
        i64 v278 = d_k;
        asm volatile("" : "+l"(v278));
        // layer.coll:5: out = gather(silu(hidden), to: 0)
        const i64 v279 = v278 + 63ll;
        const i64 v280 = (i64)((u64)v279 / (u64)64ll);
        i64 v282 = d_length_50;
        asm volatile("" : "+l"(v282));
        const i64 v283 = v275 * v280;
        i64 v284 = d_length_52;
        asm volatile("" : "+l"(v284));
        i64 v285 = d_length_51;
        asm volatile("" : "+l"(v285));
        const i64 v286 = v80 ? v285 : v277;
        u32 v287_before = 0;
        #pragma unroll 1
        for (i64 v287 = blockIdx.x; v287 < v286; v287 += gridDim.x, v287_before++) {
          const bool v289 = v287 < v276;
          const bool v290 = v80 ? v289 : true;
          const i64 v291 = v287 - v276;
          const i64 v292 = v291 > 0ll ? v291 : 0ll;
          const i64 v293 = quotient(v292, v282, d_length_57);
          const i64 v294 = v293 * v274;
          const i64 v295 = v292 - v294;
          const i64 v296 = v293 * v81;
          const i64 v297 = (i64)v287_before - v275;
          const i64 v298 = v297 * v81;
          const i64 v299 = v283 + v298;
          const i64 v300 = v276 + v295;
          const i64 v301 = v290 ? v287 : v300;
          const i64 v302 = v290 ? 0ll : v296;
          const i64 v303 = v296 + v81;
          const i64 v304 = v303 < v280 ? v303 : v280;
          const i64 v305 = v290 ? v280 : v304;
          const i64 v306 = (i64)v287_before * v280;
          const i64 v307 = v290 ? v306 : v299;
          const i64 v308 = quotient(v301, v284, d_length_58);
          const i64 v309 = v308 * 8ll;
          const i64 v310 = v267 - v309;
          const i64 v311 = 8ll < v310 ? 8ll : v310;
          const i64 v312 = v301 - quotient(v301, v284, d_length_58) * v284;
          const i64 v313 = v312 - (v311 == 8 ? (i64)((u64)v312 / 8) : quotient(v312, v311, d_length_59)) * v311;
          const i64 v314 = v309 + v313;
          const i64 v315 = v314 * 128ll;
          const i64 v316 = (v311 == 8 ? (i64)((u64)v312 / 8) : quotient(v312, v311, d_length_59));
          const i64 v317 = v316 * 64ll;
          #pragma unroll 1
          for (i64 v318 = v302; v318 < v305; v318++) {
            const i64 v319 = v318 - v302;
            const i64 v320 = v307 + v319;
            const i64 v321 = (u32)v320 % 8u;
            const i64 v322 = v318 * 64ll;
            if ((u32)v320 % 4 == threadIdx.x / 32 - 8) {
              ring_acquire<8>(b_ring_8, v320);
              if (can_map(b_a, d_k)) {
                const i64 left_ring_a_bf16_8x128x64 = (d_m / 4ll) - (v315);
                filling.bytes += left_ring_a_bf16_8x128x64 <= 16 ? 2048 : left_ring_a_bf16_8x128x64 <= 64 ? 8192 : 16384;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v321 * 8192 + s * 8192, left_ring_a_bf16_8x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_8x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v321), (int)(v322), (int)(v315));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 128, 64>(b_ring_a_bf16_8x128x64 + v321 * 8192, b_a, d_k, (d_m / 4ll), d_k, v315, v322);
              }
              if (can_map(b_b, d_n)) {
                filling.bytes += 8192;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v321 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v321), (int)(v317), (int)(v322));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 64, 64>(b_ring_b_bf16_8x64x64 + v321 * 4096, b_b, d_n, d_k, d_n, v322, v317);
              }
              ring_fill<8>(b_ring_8, v320, filling);
            }
          }
        }
      }
      __syncthreads();
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
        i64 v323 = d_m;
        asm volatile("" : "+l"(v323));
        const i64 v324 = (i64)((u64)v323 / (u64)4ll);
        const i64 v325 = v324 > 0ll ? v324 : 0ll;
        const i64 v326 = v325 + 127ll;
        i64 v327 = d_n;
        asm volatile("" : "+l"(v327));
        const i64 v328 = v327 > 0ll ? v327 : 0ll;
        const i64 v329 = (i64)((u64)v326 / (u64)128ll);
        const i64 v330 = v324 + 127ll;
        const i64 v331 = (i64)((u64)v330 / (u64)128ll);
        const i64 v332 = v327 + 255ll;
        const i64 v333 = (i64)((u64)v332 / (u64)256ll);
        const i64 v334 = v331 * v333;
        const i64 v335 = (i64)((u64)v334 % (u64)132ll);
        const i64 v336 = (i64)((u64)v334 / (u64)132ll);
        const i64 v337 = v336 * 132ll;
        // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
        i64 v338 = d_k;
        asm volatile("" : "+l"(v338));
        // layer.coll:5: out = gather(silu(hidden), to: 0)
        const i64 v339 = v338 + 63ll;
        const i64 v340 = (i64)((u64)v339 / (u64)64ll);
        i64 v342 = d_length_55;
        asm volatile("" : "+l"(v342));
        const i64 v343 = v336 * v340;
        const i64 v344 = v87 - 1ll;
        const i64 v345 = v328 + v344;
        const i64 v346 = quotient(v345, v87);
        const i64 v347 = v329 * v346;
        i64 v348 = d_length_56;
        asm volatile("" : "+l"(v348));
        const i64 v349 = v73 ? v348 : v347;
        const bool v350 = v87 == 256ll;
        const bool v351 = v87 == 224ll;
        const bool v352 = v87 == 192ll;
        const bool v353 = v87 == 160ll;
        const i64 v354 = 8ll * v346;
        u32 v356_before = 0;
        #pragma unroll 1
        for (i64 v356 = blockIdx.x; v356 < v349; v356 += gridDim.x, v356_before++) {
          const bool v358 = v356 < v337;
          const bool v359 = v73 ? v358 : true;
          const i64 v360 = v356 - v337;
          const i64 v361 = v360 > 0ll ? v360 : 0ll;
          const i64 v362 = quotient(v361, v342, d_length_60);
          const i64 v363 = v362 * v335;
          const i64 v364 = v361 - v363;
          const i64 v365 = v362 * v74;
          const i64 v366 = (i64)v356_before - v336;
          const i64 v367 = v366 * v74;
          const i64 v368 = v343 + v367;
          const i64 v369 = v337 + v364;
          const i64 v370 = v359 ? v356 : v369;
          const i64 v371 = v359 ? 0ll : v365;
          const i64 v372 = v365 + v74;
          const i64 v373 = v372 < v340 ? v372 : v340;
          const i64 v374 = v359 ? v340 : v373;
          const i64 v375 = (i64)v356_before * v340;
          const i64 v376 = v359 ? v375 : v368;
          const i64 v377 = v374 - v371;
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          if (v350) {
            #pragma unroll 2
            for (i64 v378 = 0ll; v378 < v377; v378++) {
              const i64 v379 = v376 + v378;
              ring_wait<4>(b_ring_4, v379);
              const i64 v380 = (u32)v379 % 4u;
              wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v380 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v380 * 2048u);
              asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
              const bool v381 = v378 > 0ll;
              const i64 v382 = v379 - 1ll;
              if (v381) {
                ring_release<4>(b_ring_4, v382);
              }
            }
            wgmma_end_128(b_accumulator_128x256);
          } else {
            if (v351) {
              #pragma unroll 2
              for (i64 v383 = 0ll; v383 < v377; v383++) {
                const i64 v384 = v376 + v383;
                ring_wait<4>(b_ring_4, v384);
                const i64 v385 = (u32)v384 % 4u;
                wgmma_m64n224k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v385 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v385 * 2048u);
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                const bool v386 = v383 > 0ll;
                const i64 v387 = v384 - 1ll;
                if (v386) {
                  ring_release<4>(b_ring_4, v387);
                }
              }
              wgmma_end_128(b_accumulator_128x256);
            } else {
              if (v352) {
                #pragma unroll 2
                for (i64 v388 = 0ll; v388 < v377; v388++) {
                  const i64 v389 = v376 + v388;
                  ring_wait<4>(b_ring_4, v389);
                  const i64 v390 = (u32)v389 % 4u;
                  wgmma_m64n192k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v390 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v390 * 2048u);
                  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                  const bool v391 = v388 > 0ll;
                  const i64 v392 = v389 - 1ll;
                  if (v391) {
                    ring_release<4>(b_ring_4, v392);
                  }
                }
                wgmma_end_128(b_accumulator_128x256);
              } else {
                if (v353) {
                  #pragma unroll 2
                  for (i64 v393 = 0ll; v393 < v377; v393++) {
                    const i64 v394 = v376 + v393;
                    ring_wait<4>(b_ring_4, v394);
                    const i64 v395 = (u32)v394 % 4u;
                    wgmma_m64n160k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v395 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v395 * 2048u);
                    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                    const bool v396 = v393 > 0ll;
                    const i64 v397 = v394 - 1ll;
                    if (v396) {
                      ring_release<4>(b_ring_4, v397);
                    }
                  }
                  wgmma_end_128(b_accumulator_128x256);
                } else {
                  #pragma unroll 2
                  for (i64 v398 = 0ll; v398 < v377; v398++) {
                    const i64 v399 = v376 + v398;
                    ring_wait<4>(b_ring_4, v399);
                    const i64 v400 = (u32)v399 % 4u;
                    wgmma_m64n128k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64) + group * 8192, 16) + (u32)v400 * 1024u, tile_descriptor(ring_address(b_ring_b_bf16_4x64x256), 8192) + (u32)v400 * 2048u);
                    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                    const bool v401 = v398 > 0ll;
                    const i64 v402 = v399 - 1ll;
                    if (v401) {
                      ring_release<4>(b_ring_4, v402);
                    }
                  }
                  wgmma_end_128(b_accumulator_128x256);
                }
              }
            }
          }
          i64 v403 = d_m;
          asm volatile("" : "+l"(v403));
          const i64 v404 = (i64)((u64)v403 / (u64)4ll);
          const i64 v405 = v404 > 0ll ? v404 : 0ll;
          const i64 v406 = v405 + 127ll;
          const i64 v407 = (i64)((u64)v406 / (u64)128ll);
          i64 v408 = (i64)rank;
          asm volatile("" : "+l"(v408));
          const i64 v409 = v408 * v404;
          const bool v410 = (u64)b_bias % 16 == 0;
          const bool v411 = (u64)b_out % 16 == 0;
          const bool v412 = v410 & v411;
          i64 v413 = d_n;
          asm volatile("" : "+l"(v413));
          const i64 v414 = (i64)((u64)v413 % (u64)8ll);
          const bool v415 = v414 == 0ll;
          const bool v416 = v412 & v415;
          const i64 v417 = (i64)((u64)v413 % (u64)8ll);
          const bool v418 = v417 == 0ll;
          const bool v419 = v416 & v418;
          const i64 v420 = v376 + v377;
          const i64 v421 = v420 - 1ll;
          const bool v422 = v377 > 0ll;
          if (v422) {
            ring_release<4>(b_ring_4, v421);
          }
          const i64 v423 = quotient(v370, v354);
          const i64 v424 = v423 * 8ll;
          const i64 v425 = v407 - v424;
          const i64 v426 = 8ll < v425 ? 8ll : v425;
          const i64 v427 = v370 - quotient(v370, v354) * v354;
          const i64 v428 = v427 - (v426 == 8 ? (i64)((u64)v427 / 8) : quotient(v427, v426, d_length_59)) * v426;
          const i64 v429 = v424 + v428;
          const i64 v430 = v429 * 128ll;
          const i64 v431 = (v426 == 8 ? (i64)((u64)v427 / 8) : quotient(v427, v426, d_length_59));
          const i64 v432 = v431 * v85;
          const i64 v433 = v432 * 32ll;
          const i64 v434 = v430 + 128ll;
          const i64 v435 = v434 < v404 ? v434 : v404;
          const i64 v436 = v435 - v430;
          const i64 v437 = v362 + 1ll;
          const bool v438 = v437 == v75;
          const bool v439 = v359 | v438;
          const i64 v440 = v404 - v430;
          const i64 v441 = d_n - v433;
          const i64 v442 = v430 * d_n;
          const i64 v443 = v442 + v433;
          const i64 v444 = v430 + v409;
          const i64 v445 = v444 * d_n;
          const i64 v446 = v445 + v433;
          const i64 v447 = v363 + v364;
          const i64 v448 = v442 % 8ll;
          const bool v449 = v448 == 0ll;
          const bool v450 = v419 & v449;
          const i64 v451 = v445 % 8ll;
          const bool v452 = v451 == 0ll;
          const bool v453 = v450 & v452;
          if (v439) {
            Vec<float, 8> v454;
            #pragma unroll
            for (int l = 0; l < 8; l++) v454.v[l] = 5e-1f;
            if (v359) {
            } else {
              i64 v456 = d_m;
              asm volatile("" : "+l"(v456));
              const i64 v457 = (i64)((u64)v456 / (u64)4ll);
              const i64 v458 = v457 + 127ll;
              const i64 v459 = (i64)((u64)v458 / (u64)128ll);
              i64 v460 = d_n;
              asm volatile("" : "+l"(v460));
              const i64 v461 = v460 + 255ll;
              const i64 v462 = (i64)((u64)v461 / (u64)256ll);
              const i64 v463 = v459 * v462;
              const i64 v464 = (i64)((u64)v463 % (u64)132ll);
              const u32 v465 = *(b_launches + (i64)blockIdx.x);
              const u32 v466 = v465 + 1u;
              #pragma unroll 1
              for (i64 v467 = threadIdx.x; v467 < v362; v467 += 256) {
                const i64 v468 = v467 * v464;
                const i64 v469 = v364 + v468;
                wait_acquire_gpu(b_told + v469, v466, watch, (u32)(rank), 5u, (u32)(v469), 5u);
              }
              asm volatile("bar.sync 1, 256;" ::: "memory");
              #pragma unroll 1
              for (i64 v470 = 0ll; v470 < v362; v470++) {
                const i64 v471 = v470 * v464;
                const i64 v472 = v471 + v364;
                if (group * 64 + thread_here() / 32 % 4 * 16 < v436) {
                  add_piece_f32_32((const float4*)((const char*)b_pieces + (u64)v472 * 131072u) + thread_here(), b_accumulator_128x256);
                }
              }
            }
            const u32 tv473 = thread_here();
            float* const pv473 = (float*)(b_patch_128x40 + tv473 / 32 * 640);
            #pragma unroll 1
            for (u32 cv473 = 0; cv473 < (u32)(v87 + 31) / 32; cv473++) {
              put_fragment_256_f32(pv473, b_accumulator_128x256, cv473, tv473 % 32);
              if (v453) {
                #pragma unroll 2
                for (u32 lv473 = tv473 % 32; lv473 < 64; lv473 += 32) {
                  const i64 v473 = (tv473 / 32 * 16 + lv473 / 4) * 32 + cv473 * 4 + lv473 % 4;
                  const i64 v474 = v473 * 8ll;
                  const i64 v475 = v474 / 256ll;
                  const i64 v476 = v474 % 256ll;
                  const bool v477 = v475 < v440;
                  const bool v478 = v476 < v441;
                  const bool v479 = v477 & v478;
                  const bool v480 = v476 < v87;
                  const bool v481 = v479 & v480;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v482 = v475 * 256ll;
                  const i64 v483 = v482 + v476;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v484 = v475 * d_n;
                  const i64 v485 = v484 + v476;
                  const i64 v486 = v485 + v443;
                  const i64 v487 = v485 + v446;
                  if (v481) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v488 = load_vec<float, 8>(pv473 + lv473 / 4 * 40 + lv473 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v489;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v489.v[l] = v454.v[l] * v488.v[l];
                    const Vec<u16, 8> v490 = load_vec<u16, 8>(b_bias + v486);
                    Vec<float, 8> v491;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v491.v[l] = bf16_to_f32(v490.v[l]);
                    Vec<float, 8> v492;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v492.v[l] = v489.v[l] + v491.v[l];
                    Vec<float, 8> v493;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v493.v[l] = fn_silu(v492.v[l]);
                    Vec<u16, 8> v494;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v494.v[l] = f32_to_bf16(v493.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v487, v494);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv495 = tv473 % 32; lv495 < 512; lv495 += 32) {
                  const i64 v495 = (tv473 / 32 * 16 + lv495 / 32) * 256 + cv473 * 32 + lv495 % 32;
                  const i64 v496 = v495 / 256ll;
                  const i64 v497 = v495 % 256ll;
                  const bool v498 = v496 < v440;
                  const bool v499 = v497 < v441;
                  const bool v500 = v498 & v499;
                  const bool v501 = v497 < v87;
                  const bool v502 = v500 & v501;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v503 = v496 * 256ll;
                  const i64 v504 = v503 + v497;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v505 = v496 * d_n;
                  const i64 v506 = v505 + v497;
                  const i64 v507 = v506 + v443;
                  const i64 v508 = v506 + v446;
                  if (v502) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v509 = *(pv473 + lv495 / 32 * 40 + lv495 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v510 = 5e-1f * v509;
                    const u16 v511 = *(b_bias + v507);
                    const float v512 = bf16_to_f32(v511);
                    const float v513 = v510 + v512;
                    const float v514 = fn_silu(v513);
                    const u16 v515 = f32_to_bf16(v514);
                    *(((u16*)b_out_peers.p[0ll]) + v508) = v515;
                  }
                }
              }
            }
          } else {
            if (group * 64 + thread_here() / 32 % 4 * 16 < v436) {
              put_piece_f32_32((float4*)((char*)b_pieces + (u64)v447 * 131072u) + thread_here(), b_accumulator_128x256);
            }
            const u32 v517 = *(b_launches + (i64)blockIdx.x);
            const u32 v518 = v517 + 1u;
            asm volatile("bar.sync 1, 256;" ::: "memory");
            if (threadIdx.x < 1) {
              const i64 v519 = threadIdx.x;
              signal_set_release_gpu(b_told + v447, v518);
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v520 = d_m;
        asm volatile("" : "+l"(v520));
        const i64 v521 = (i64)((u64)v520 / (u64)4ll);
        const i64 v522 = v521 > 0ll ? v521 : 0ll;
        const i64 v523 = v522 + 127ll;
        i64 v524 = d_n;
        asm volatile("" : "+l"(v524));
        const i64 v525 = v524 > 0ll ? v524 : 0ll;
        const i64 v526 = (i64)((u64)v523 / (u64)128ll);
        const i64 v527 = v521 + 127ll;
        const i64 v528 = (i64)((u64)v527 / (u64)128ll);
        const i64 v529 = v524 + 255ll;
        const i64 v530 = (i64)((u64)v529 / (u64)256ll);
        const i64 v531 = v528 * v530;
        const i64 v532 = (i64)((u64)v531 % (u64)132ll);
        const i64 v533 = (i64)((u64)v531 / (u64)132ll);
        const i64 v534 = v533 * 132ll;
        // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
        i64 v535 = d_k;
        asm volatile("" : "+l"(v535));
        // layer.coll:5: out = gather(silu(hidden), to: 0)
        const i64 v536 = v535 + 63ll;
        const i64 v537 = (i64)((u64)v536 / (u64)64ll);
        i64 v539 = d_length_55;
        asm volatile("" : "+l"(v539));
        const i64 v540 = v533 * v537;
        const i64 v541 = v87 - 1ll;
        const i64 v542 = v525 + v541;
        const i64 v543 = quotient(v542, v87);
        const i64 v544 = v526 * v543;
        i64 v545 = d_length_56;
        asm volatile("" : "+l"(v545));
        const i64 v546 = v73 ? v545 : v544;
        const i64 v547 = 8ll * v543;
        u32 v548_before = 0;
        #pragma unroll 1
        for (i64 v548 = blockIdx.x; v548 < v546; v548 += gridDim.x, v548_before++) {
          const bool v550 = v548 < v534;
          const bool v551 = v73 ? v550 : true;
          const i64 v552 = v548 - v534;
          const i64 v553 = v552 > 0ll ? v552 : 0ll;
          const i64 v554 = quotient(v553, v539, d_length_60);
          const i64 v555 = v554 * v532;
          const i64 v556 = v553 - v555;
          const i64 v557 = v554 * v74;
          const i64 v558 = (i64)v548_before - v533;
          const i64 v559 = v558 * v74;
          const i64 v560 = v540 + v559;
          const i64 v561 = v534 + v556;
          const i64 v562 = v551 ? v548 : v561;
          const i64 v563 = v551 ? 0ll : v557;
          const i64 v564 = v557 + v74;
          const i64 v565 = v564 < v537 ? v564 : v537;
          const i64 v566 = v551 ? v537 : v565;
          const i64 v567 = (i64)v548_before * v537;
          const i64 v568 = v551 ? v567 : v560;
          const i64 v569 = quotient(v562, v547);
          const i64 v570 = v569 * 8ll;
          const i64 v571 = v526 - v570;
          const i64 v572 = 8ll < v571 ? 8ll : v571;
          const i64 v573 = v562 - quotient(v562, v547) * v547;
          const i64 v574 = v573 - (v572 == 8 ? (i64)((u64)v573 / 8) : quotient(v573, v572, d_length_59)) * v572;
          const i64 v575 = v570 + v574;
          const i64 v576 = v575 * 128ll;
          const i64 v577 = (v572 == 8 ? (i64)((u64)v573 / 8) : quotient(v573, v572, d_length_59));
          const i64 v578 = v577 * v85;
          const i64 v579 = v578 * 32ll;
          #pragma unroll 1
          for (i64 v580 = v563; v580 < v566; v580++) {
            const i64 v581 = v580 - v563;
            const i64 v582 = v568 + v581;
            const i64 v583 = (u32)v582 % 4u;
            const i64 v584 = v580 * 64ll;
            if ((u32)v582 % 4 == threadIdx.x / 32 - 8) {
              ring_acquire<4>(b_ring_4, v582);
              if (can_map(b_a, d_k)) {
                const i64 left_ring_a_bf16_4x128x64 = (d_m / 4ll) - (v576);
                filling.bytes += left_ring_a_bf16_4x128x64 <= 16 ? 2048 : left_ring_a_bf16_4x128x64 <= 64 ? 8192 : 16384;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v583 * 8192 + s * 8192, left_ring_a_bf16_4x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_4x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v583), (int)(v584), (int)(v576));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 128, 64>(b_ring_a_bf16_4x128x64 + v583 * 8192, b_a, d_k, (d_m / 4ll), d_k, v576, v584);
              }
              if (can_map(b_b, d_n)) {
                const int boxes_ring_b_bf16_4x64x256 = (int)((v87 + 63) / 64);
                filling.bytes += boxes_ring_b_bf16_4x64x256 * 8192;
                if (threadIdx.x % 32 == 0) {
                  #pragma unroll
                  for (int s = 0; s < 4; s++) if (s < boxes_ring_b_bf16_4x64x256) ring_load(b_ring_b_bf16_4x64x256 + v583 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v583), (int)(v579) + s * 64, (int)(v584));
                }
              } else {
                filling.by_threads = true;
                ring_copy<u16, 64, 256>(b_ring_b_bf16_4x64x256 + v583 * 16384, b_b, d_n, d_k, (v579 + v87 < d_n ? v579 + v87 : d_n), v584, v579);
              }
              ring_fill<4>(b_ring_4, v582, filling);
            }
          }
        }
      }
      __syncthreads();
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 168;");
      } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 168;");
      }
    }
  }
  i64 v585 = (i64)rank;
  asm volatile("" : "+l"(v585));
  const bool v586 = v585 == 1ll;
  const bool v587 = v585 == 2ll;
  const bool v588 = v585 == 3ll;
  const i64 v590 = (i64)blockIdx.x * 4ll;
  const i64 v591 = v590 + v585;
  const bool v592 = v585 == 0ll;
  __syncthreads();
  const u32 v594 = *(b_epoch + 0ll);
  const u32 v595 = v594 + 1u;
  *(b_epoch + 0ll) = v595;
  if (threadIdx.x < 4) {
    const i64 v596 = threadIdx.x;
    const bool v597 = v596 == 0ll;
    const bool v598 = v586 & v597;
    const bool v599 = v587 & v597;
    const bool v600 = v588 & v597;
    const bool v601 = v598 | v599;
    const bool v602 = v601 | v600;
    if (v602) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v596]) + v591, v595);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v603 = threadIdx.x;
    const bool v604 = v603 == 1ll;
    const bool v605 = v592 & v604;
    const bool v606 = v603 == 2ll;
    const bool v607 = v592 & v606;
    const bool v608 = v603 == 3ll;
    const bool v609 = v592 & v608;
    const bool v610 = v605 | v607;
    const bool v611 = v610 | v609;
    const i64 v612 = v590 + v603;
    if (v611) {
      wait_acquire_sys(b_flags + v612, v595, watch, (u32)(v603), 8u, (u32)(v612), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v613 = threadIdx.x;
    const i64 v614 = v613 - quotient(v613, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v615 = v614 == (i64)blockIdx.x;
    if (v615) {
      const u32 v616 = *(b_epoch + 0ll);
      *(b_epochs + v613) = v616;
      *(b_launches + v613) = v8;
    }
  }
}
