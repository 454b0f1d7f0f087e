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
// Elements of 4 bytes, row by row, as threads load them. Consumers have used theirs when they release a stage: what is made of them they add to sums before that.
template <int ROWS, int COLS, int THREADS, int FIRST>
__device__ __forceinline__ void ring_copy_plain(float* to, const float* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
#pragma unroll 1
  for (int e = thread_here() - FIRST; e < ROWS * COLS; e += THREADS) {
    const int r = e / COLS, c = e % COLS;
    const bool inside = (row + r < rows) & (col + c < cols);
    const float* source = inside ? from + (row + r) * stride + col + c : from;
    const int bytes = inside ? 4 : 0; // the rest is filled with zeros
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(ring_address(to + e)), "l"(source), "r"(bytes) : "memory");
  }
}
// This thread's plain copies, when they have landed, are one arrival.
template <int STAGES> __device__ __forceinline__ void ring_land_plain(const void* ring, i64 position) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(ring_full<STAGES>(ring, (u64)position % STAGES)) : "memory");
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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
  const i64 v6 = d_m / 4ll;
  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
  // layer.coll:5: out = gather(silu(hidden), to: 0)
  const u32 v10 = *(b_epoch + 0ll);
  const u32 v12 = v10 + 1u;
  *(b_epoch + 0ll) = v12;
  const i64 v13 = (i64)blockIdx.x * 4ll;
  const bool v14 = (i64)rank == 0ll;
  const i64 v18 = v13 + (i64)rank;
  if (threadIdx.x < 4) {
    const i64 v19 = threadIdx.x;
    const bool v20 = v19 == 1ll;
    const bool v21 = v14 & v20;
    const bool v22 = v19 == 2ll;
    const bool v23 = v14 & v22;
    const bool v24 = v19 == 3ll;
    const bool v25 = v14 & v24;
    const bool v26 = v21 | v23;
    const bool v27 = v26 | v25;
    if (v27) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v19]) + v18, v12);
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
    const i64 v38 = v13 + v31;
    if (v37) {
      wait_acquire_sys(b_flags + v38, v12, watch, (u32)(v31), 5u, (u32)(v38), 5u);
    }
  }
  __syncthreads();
  const i64 v41 = d_k + 63ll;
  const i64 v42 = v41 / 64ll;
  const i64 v44 = v42 < 32ll ? v42 : 32ll;
  const i64 v48 = v6 + 127ll;
  const i64 v49 = v48 / 128ll;
  const i64 v52 = d_n + 255ll;
  const i64 v53 = v52 / 256ll;
  const i64 v54 = v49 * v53;
  const i64 v55 = v54 > 1ll ? v54 : 1ll;
  const i64 v56 = quotient(132ll, v55);
  const i64 v57 = v56 / 2ll;
  const i64 v58 = 1ll < v57 ? 1ll : v57;
  const i64 v59 = v58 * v56;
  const i64 v61 = quotient(88ll, v55);
  const i64 v62 = 1ll < v61 ? 1ll : v61;
  const i64 v63 = v62 - v58;
  const i64 v64 = v63 * 3ll;
  const i64 v65 = v59 > v64 ? v59 : v64;
  const i64 v66 = v44 < v65 ? v44 : v65;
  const i64 v67 = v66 > 1ll ? v66 : 1ll;
  const i64 v68 = v67 - 1ll;
  const i64 v69 = v42 + v68;
  const i64 v70 = quotient(v69, v67);
  const i64 v72 = v6 * d_n;
  const i64 v73 = v67 * v72;
  const i64 v74 = v73 / 5469ll;
  const i64 v75 = v54 * v67;
  const i64 v77 = v75 + 131ll;
  const i64 v78 = v77 / 132ll;
  const i64 v79 = v78 > 1ll ? v78 : 1ll;
  const i64 v80 = v70 * v79;
  const i64 v82 = v80 + 8ll;
  const i64 v83 = v82 * 64ll;
  const i64 v84 = v83 + v74;
  const i64 v85 = v42 * 64ll;
  const bool v86 = v84 < v85;
  const i64 v87 = v86 ? v70 : v42;
  const i64 v88 = v87 > 1ll ? v87 : 1ll;
  const i64 v89 = v88 - 1ll;
  const i64 v90 = v42 + v89;
  const i64 v91 = quotient(v90, v88);
  const i64 v92 = v91 > 1ll ? v91 : 1ll;
  const bool v93 = v92 > 1ll;
  const i64 v94 = v6 > 1ll ? v6 : 1ll;
  const i64 v95 = quotient(128ll, v94);
  const i64 v96 = 1ll < v95 ? 1ll : v95;
  const i64 v97 = d_n + 63ll;
  const i64 v98 = v97 / 64ll;
  const i64 v99 = v49 * v98;
  const i64 v100 = v99 > 1ll ? v99 : 1ll;
  const i64 v101 = quotient(132ll, v100);
  const i64 v102 = 1ll < v101 ? 1ll : v101;
  const i64 v103 = v96 * v102;
  const i64 v104 = v99 * 2ll;
  const i64 v106 = v104 / 133ll;
  const i64 v107 = 1ll < v106 ? 1ll : v106;
  const i64 v108 = v103 * v107;
  const bool v109 = v108 > 0ll;
  if (v109) {
    {
      ring_begin<8, 8, 4, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        i64 v117 = d_m;
        asm volatile("" : "+l"(v117));
        const i64 v118 = v117 / 4ll;
        const i64 v119 = v118 > 0ll ? v118 : 0ll;
        const i64 v120 = v119 + 127ll;
        i64 v121 = d_n;
        asm volatile("" : "+l"(v121));
        const i64 v122 = v121 > 0ll ? v121 : 0ll;
        const i64 v123 = v122 + 63ll;
        const i64 v124 = v120 / 128ll;
        const i64 v125 = v123 / 64ll;
        // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
        i64 v126 = d_k;
        asm volatile("" : "+l"(v126));
        // layer.coll:5: out = gather(silu(hidden), to: 0)
        const i64 v127 = v126 + 63ll;
        const i64 v128 = v127 / 64ll;
        const i64 v129 = v124 * v125;
        const i64 v131 = 8ll * v125;
        #pragma unroll 1
        for (i64 v133 = blockIdx.x; v133 < v129; v133 += gridDim.x) {
          const i64 v134 = quotient(v133, (i64)gridDim.x);
          const i64 v135 = v134 * v128;
          const i64 v136 = quotient(v133, v131);
          const i64 v137 = v136 * 8ll;
          const i64 v138 = v124 - v137;
          const i64 v139 = 8ll < v138 ? 8ll : v138;
          const i64 v140 = v133 - quotient(v133, v131) * v131;
          const i64 v141 = v140 - quotient(v140, v139) * v139;
          const i64 v142 = v137 + v141;
          const i64 v143 = v142 * 128ll;
          const i64 v144 = quotient(v140, v139);
          const i64 v145 = v144 * 64ll;
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v146 = 0ll; v146 < v128; v146++) {
            const i64 v147 = v135 + v146;
            ring_wait<8>(b_ring_8, v147);
            const i64 v148 = v147 % 8ll;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64 + v148 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_8x64x64 + v148 * 4096), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v149 = v146 > 0ll;
            const i64 v150 = v147 - 1ll;
            if (v149) {
              ring_release<8>(b_ring_8, v150);
            }
          }
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          i64 v151 = d_k;
          asm volatile("" : "+l"(v151));
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const i64 v152 = v151 + 63ll;
          const i64 v153 = v152 / 64ll;
          const bool v154 = v153 > 0ll;
          i64 v155 = d_m;
          asm volatile("" : "+l"(v155));
          const i64 v156 = v155 / 4ll;
          const bool v157 = (u64)b_bias % 16 == 0;
          const bool v158 = (u64)b_out % 16 == 0;
          const bool v159 = v157 & v158;
          i64 v160 = d_n;
          asm volatile("" : "+l"(v160));
          const i64 v161 = v160 % 8ll;
          const bool v162 = v161 == 0ll;
          const bool v163 = v159 & v162;
          const i64 v164 = v160 % 8ll;
          const bool v165 = v164 == 0ll;
          const bool v166 = v163 & v165;
          i64 v167 = (i64)rank;
          asm volatile("" : "+l"(v167));
          const i64 v168 = v167 * v156;
          Vec<float, 8> v169;
          #pragma unroll
          for (int l = 0; l < 8; l++) v169.v[l] = 5e-1f;
          wgmma_end_32(b_accumulator_128x64);
          const i64 v170 = v135 + v153;
          const i64 v171 = v170 - 1ll;
          if (v154) {
            ring_release<8>(b_ring_8, v171);
          }
          const i64 v172 = v156 - v143;
          const i64 v173 = d_n - v145;
          const u32 tv174 = thread_here();
          float* const pv174 = (float*)(b_patch_128x40 + tv174 / 32 * 640);
          #pragma unroll 1
          for (u32 cv174 = 0; cv174 < 2; cv174++) {
            put_fragment_64_f32(pv174, b_accumulator_128x64, cv174, tv174 % 32);
            if (v166) {
              #pragma unroll 2
              for (u32 lv174 = tv174 % 32; lv174 < 64; lv174 += 32) {
                const i64 v174 = (tv174 / 32 * 16 + lv174 / 4) * 8 + cv174 * 4 + lv174 % 4;
                const i64 v175 = v174 * 8ll;
                const i64 v176 = v175 / 64ll;
                const i64 v177 = v175 % 64ll;
                const bool v178 = v176 < v172;
                const bool v179 = v177 < v173;
                const bool v180 = v178 & v179;
                const i64 v181 = v143 + v176;
                const i64 v182 = v145 + v177;
                const i64 v183 = v181 + v168;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v184 = v176 * 64ll;
                const i64 v185 = v184 + v177;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v186 = v181 * d_n;
                const i64 v187 = v186 + v182;
                const i64 v188 = v183 * d_n;
                const i64 v189 = v188 + v182;
                if (v180) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const Vec<float, 8> v190 = load_vec<float, 8>(pv174 + lv174 / 4 * 40 + lv174 % 4 * 8);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  Vec<float, 8> v191;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v191.v[l] = v169.v[l] * v190.v[l];
                  const Vec<u16, 8> v192 = load_vec<u16, 8>(b_bias + v187);
                  Vec<float, 8> v193;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v193.v[l] = bf16_to_f32(v192.v[l]);
                  Vec<float, 8> v194;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v194.v[l] = v191.v[l] + v193.v[l];
                  Vec<float, 8> v195;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v195.v[l] = fn_silu(v194.v[l]);
                  Vec<u16, 8> v196;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v196.v[l] = f32_to_bf16(v195.v[l]);
                  store_vec(((u16*)b_out_peers.p[0ll]) + v189, v196);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv197 = tv174 % 32; lv197 < 512; lv197 += 32) {
                const i64 v197 = (tv174 / 32 * 16 + lv197 / 32) * 64 + cv174 * 32 + lv197 % 32;
                const i64 v198 = v197 / 64ll;
                const i64 v199 = v197 % 64ll;
                const bool v200 = v198 < v172;
                const bool v201 = v199 < v173;
                const bool v202 = v200 & v201;
                const i64 v203 = v143 + v198;
                const i64 v204 = v145 + v199;
                const i64 v205 = v203 + v168;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v206 = v198 * 64ll;
                const i64 v207 = v206 + v199;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v208 = v203 * d_n;
                const i64 v209 = v208 + v204;
                const i64 v210 = v205 * d_n;
                const i64 v211 = v210 + v204;
                if (v202) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const float v212 = *(pv174 + lv197 / 32 * 40 + lv197 % 32 * 1);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const float v213 = 5e-1f * v212;
                  const u16 v214 = *(b_bias + v209);
                  const float v215 = bf16_to_f32(v214);
                  const float v216 = v213 + v215;
                  const float v217 = fn_silu(v216);
                  const u16 v218 = f32_to_bf16(v217);
                  *(((u16*)b_out_peers.p[0ll]) + v211) = v218;
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v219 = d_m;
        asm volatile("" : "+l"(v219));
        const i64 v220 = v219 / 4ll;
        const i64 v221 = v220 > 0ll ? v220 : 0ll;
        const i64 v222 = v221 + 127ll;
        i64 v223 = d_n;
        asm volatile("" : "+l"(v223));
        const i64 v224 = v223 > 0ll ? v223 : 0ll;
        const i64 v225 = v224 + 63ll;
        const i64 v226 = v222 / 128ll;
        const i64 v227 = v225 / 64ll;
        // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
        i64 v228 = d_k;
        asm volatile("" : "+l"(v228));
        // layer.coll:5: out = gather(silu(hidden), to: 0)
        const i64 v229 = v228 + 63ll;
        const i64 v230 = v226 * v227;
        const i64 v232 = v229 / 64ll;
        const i64 v233 = 8ll * v227;
        #pragma unroll 1
        for (i64 v234 = blockIdx.x; v234 < v230; v234 += gridDim.x) {
          const i64 v235 = quotient(v234, (i64)gridDim.x);
          const i64 v236 = v235 * v232;
          const i64 v237 = quotient(v234, v233);
          const i64 v238 = v237 * 8ll;
          const i64 v239 = v226 - v238;
          const i64 v240 = 8ll < v239 ? 8ll : v239;
          const i64 v241 = v234 - quotient(v234, v233) * v233;
          const i64 v242 = v241 - quotient(v241, v240) * v240;
          const i64 v243 = v238 + v242;
          const i64 v244 = v243 * 128ll;
          const i64 v245 = quotient(v241, v240);
          const i64 v246 = v245 * 64ll;
          #pragma unroll 1
          for (i64 v247 = 0ll; v247 < v232; v247++) {
            const i64 v248 = v236 + v247;
            const i64 v249 = v248 % 8ll;
            const i64 v250 = v247 * 64ll;
            ring_acquire<8>(b_ring_8, v248);
            if (can_map(b_a, d_k)) {
              const bool is_half_ring_a_bf16_8x128x64 = v244 + 64 >= (d_m / 4ll);
              filling.bytes += is_half_ring_a_bf16_8x128x64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v249 * 8192 + s * 8192, is_half_ring_a_bf16_8x128x64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v249), (int)(v250) + s * 64, (int)(v244));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_8x128x64 + v249 * 8192, b_a, d_k, (d_m / 4ll), d_k, v244, v250);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 8192;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v249 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v249), (int)(v246) + s * 64, (int)(v250));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 64, 128, 256>(b_ring_b_bf16_8x64x64 + v249 * 4096, b_b, d_n, d_k, d_n, v250, v246);
            }
            ring_fill<8, 256>(b_ring_8, v248, filling);
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
      ring_begin<4, 8, 4, false>(b_ring_4);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        i64 v251 = d_m;
        asm volatile("" : "+l"(v251));
        const i64 v252 = v251 / 4ll;
        const i64 v253 = v252 > 0ll ? v252 : 0ll;
        const i64 v254 = v253 + 127ll;
        i64 v255 = d_n;
        asm volatile("" : "+l"(v255));
        const i64 v256 = v255 > 0ll ? v255 : 0ll;
        const i64 v257 = v256 + 255ll;
        const i64 v258 = v254 / 128ll;
        const i64 v259 = v257 / 256ll;
        const i64 v260 = v258 * v259;
        const i64 v262 = 8ll * v259;
        const i64 v263 = v260 * v92;
        const bool v264 = v87 > 0ll;
        #pragma unroll 1
        for (i64 v266 = blockIdx.x; v266 < v263; v266 += gridDim.x) {
          const i64 v267 = quotient(v266, (i64)gridDim.x);
          const i64 v268 = v267 * v87;
          const i64 v269 = v266 - quotient(v266, v260) * v260;
          const i64 v270 = quotient(v269, v262);
          const i64 v271 = v270 * 8ll;
          const i64 v272 = v258 - v271;
          const i64 v273 = 8ll < v272 ? 8ll : v272;
          const i64 v274 = v269 - quotient(v269, v262) * v262;
          const i64 v275 = v274 - quotient(v274, v273) * v273;
          const i64 v276 = v271 + v275;
          const i64 v277 = v276 * 128ll;
          const i64 v278 = quotient(v274, v273);
          const i64 v279 = v278 * 256ll;
          const i64 v280 = quotient(v266, v260);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          #pragma unroll 2
          for (i64 v281 = 0ll; v281 < v87; v281++) {
            const i64 v282 = v268 + v281;
            ring_wait<4>(b_ring_4, v282);
            const i64 v283 = v282 % 4ll;
            wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v283 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v283 * 16384), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v284 = v281 > 0ll;
            const i64 v285 = v282 - 1ll;
            if (v284) {
              ring_release<4>(b_ring_4, v285);
            }
          }
          i64 v286 = d_m;
          asm volatile("" : "+l"(v286));
          const i64 v287 = v286 / 4ll;
          const i64 v288 = v286 / 4ll;
          wgmma_end_128(b_accumulator_128x256);
          const i64 v289 = v268 + v87;
          const i64 v290 = v289 - 1ll;
          if (v264) {
            ring_release<4>(b_ring_4, v290);
          }
          const i64 v291 = v287 - v277;
          const i64 v292 = d_n - v279;
          const i64 v293 = v280 * v288;
          if (v93) {
            const bool v294 = (u64)b_slices % 16 == 0;
            i64 v295 = d_n;
            asm volatile("" : "+l"(v295));
            const i64 v296 = v295 % 4ll;
            const bool v297 = v296 == 0ll;
            const bool v298 = v294 & v297;
            const i64 v299 = v295 % 4ll;
            const bool v300 = v299 == 0ll;
            const bool v301 = v298 & v300;
            const u32 tv302 = thread_here();
            float* const pv302 = (float*)(b_patch_128x40 + tv302 / 32 * 640);
            #pragma unroll 1
            for (u32 cv302 = 0; cv302 < 8; cv302++) {
              put_fragment_256_f32(pv302, b_accumulator_128x256, cv302, tv302 % 32);
              if (v301) {
                #pragma unroll 4
                for (u32 lv302 = tv302 % 32; lv302 < 128; lv302 += 32) {
                  const i64 v302 = (tv302 / 32 * 16 + lv302 / 8) * 64 + cv302 * 8 + lv302 % 8;
                  const i64 v303 = v302 * 4ll;
                  const i64 v304 = v303 / 256ll;
                  const i64 v305 = v303 % 256ll;
                  const bool v306 = v304 < v291;
                  const bool v307 = v305 < v292;
                  const bool v308 = v306 & v307;
                  const i64 v309 = v277 + v304;
                  const i64 v310 = v279 + v305;
                  const i64 v311 = v304 * 256ll;
                  const i64 v312 = v311 + v305;
                  const i64 v313 = v293 + v309;
                  const i64 v314 = v313 * d_n;
                  const i64 v315 = v314 + v310;
                  if (v308) {
                    const Vec<float, 4> v316 = load_vec<float, 4>(pv302 + lv302 / 8 * 40 + lv302 % 8 * 4);
                    store_vec(b_slices + v315, v316);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv317 = tv302 % 32; lv317 < 512; lv317 += 32) {
                  const i64 v317 = (tv302 / 32 * 16 + lv317 / 32) * 256 + cv302 * 32 + lv317 % 32;
                  const i64 v318 = v317 / 256ll;
                  const i64 v319 = v317 % 256ll;
                  const bool v320 = v318 < v291;
                  const bool v321 = v319 < v292;
                  const bool v322 = v320 & v321;
                  const i64 v323 = v277 + v318;
                  const i64 v324 = v279 + v319;
                  const i64 v325 = v318 * 256ll;
                  const i64 v326 = v325 + v319;
                  const i64 v327 = v293 + v323;
                  const i64 v328 = v327 * d_n;
                  const i64 v329 = v328 + v324;
                  if (v322) {
                    const float v330 = *(pv302 + lv317 / 32 * 40 + lv317 % 32 * 1);
                    *(b_slices + v329) = v330;
                  }
                }
              }
            }
          } else {
            const bool v331 = (u64)b_bias % 16 == 0;
            const bool v332 = (u64)b_out % 16 == 0;
            const bool v333 = v331 & v332;
            i64 v334 = d_n;
            asm volatile("" : "+l"(v334));
            const i64 v335 = v334 % 8ll;
            const bool v336 = v335 == 0ll;
            const bool v337 = v333 & v336;
            const i64 v338 = v334 % 8ll;
            const bool v339 = v338 == 0ll;
            const bool v340 = v337 & v339;
            i64 v341 = (i64)rank;
            asm volatile("" : "+l"(v341));
            i64 v342 = d_m;
            asm volatile("" : "+l"(v342));
            const i64 v343 = v342 / 4ll;
            const i64 v344 = v341 * v343;
            Vec<float, 8> v345;
            #pragma unroll
            for (int l = 0; l < 8; l++) v345.v[l] = 5e-1f;
            const u32 tv346 = thread_here();
            float* const pv346 = (float*)(b_patch_128x40 + tv346 / 32 * 640);
            #pragma unroll 1
            for (u32 cv346 = 0; cv346 < 8; cv346++) {
              put_fragment_256_f32(pv346, b_accumulator_128x256, cv346, tv346 % 32);
              if (v340) {
                #pragma unroll 2
                for (u32 lv346 = tv346 % 32; lv346 < 64; lv346 += 32) {
                  const i64 v346 = (tv346 / 32 * 16 + lv346 / 4) * 32 + cv346 * 4 + lv346 % 4;
                  const i64 v347 = v346 * 8ll;
                  const i64 v348 = v347 / 256ll;
                  const i64 v349 = v347 % 256ll;
                  const bool v350 = v348 < v291;
                  const bool v351 = v349 < v292;
                  const bool v352 = v350 & v351;
                  const i64 v353 = v277 + v348;
                  const i64 v354 = v279 + v349;
                  const i64 v355 = v353 + v344;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v356 = v348 * 256ll;
                  const i64 v357 = v356 + v349;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v358 = v353 * d_n;
                  const i64 v359 = v358 + v354;
                  const i64 v360 = v355 * d_n;
                  const i64 v361 = v360 + v354;
                  if (v352) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v362 = load_vec<float, 8>(pv346 + lv346 / 4 * 40 + lv346 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v363;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v363.v[l] = v345.v[l] * v362.v[l];
                    const Vec<u16, 8> v364 = load_vec<u16, 8>(b_bias + v359);
                    Vec<float, 8> v365;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v365.v[l] = bf16_to_f32(v364.v[l]);
                    Vec<float, 8> v366;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v366.v[l] = v363.v[l] + v365.v[l];
                    Vec<float, 8> v367;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v367.v[l] = fn_silu(v366.v[l]);
                    Vec<u16, 8> v368;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v368.v[l] = f32_to_bf16(v367.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v361, v368);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv369 = tv346 % 32; lv369 < 512; lv369 += 32) {
                  const i64 v369 = (tv346 / 32 * 16 + lv369 / 32) * 256 + cv346 * 32 + lv369 % 32;
                  const i64 v370 = v369 / 256ll;
                  const i64 v371 = v369 % 256ll;
                  const bool v372 = v370 < v291;
                  const bool v373 = v371 < v292;
                  const bool v374 = v372 & v373;
                  const i64 v375 = v277 + v370;
                  const i64 v376 = v279 + v371;
                  const i64 v377 = v375 + v344;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v378 = v370 * 256ll;
                  const i64 v379 = v378 + v371;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v380 = v375 * d_n;
                  const i64 v381 = v380 + v376;
                  const i64 v382 = v377 * d_n;
                  const i64 v383 = v382 + v376;
                  if (v374) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v384 = *(pv346 + lv369 / 32 * 40 + lv369 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v385 = 5e-1f * v384;
                    const u16 v386 = *(b_bias + v381);
                    const float v387 = bf16_to_f32(v386);
                    const float v388 = v385 + v387;
                    const float v389 = fn_silu(v388);
                    const u16 v390 = f32_to_bf16(v389);
                    *(((u16*)b_out_peers.p[0ll]) + v383) = v390;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v391 = d_m;
        asm volatile("" : "+l"(v391));
        const i64 v392 = v391 / 4ll;
        const i64 v393 = v392 > 0ll ? v392 : 0ll;
        const i64 v394 = v393 + 127ll;
        i64 v395 = d_n;
        asm volatile("" : "+l"(v395));
        const i64 v396 = v395 > 0ll ? v395 : 0ll;
        const i64 v397 = v396 + 255ll;
        const i64 v398 = v394 / 128ll;
        const i64 v399 = v397 / 256ll;
        const i64 v400 = v398 * v399;
        const i64 v402 = 8ll * v399;
        const i64 v403 = v400 * v92;
        #pragma unroll 1
        for (i64 v404 = blockIdx.x; v404 < v403; v404 += gridDim.x) {
          const i64 v405 = quotient(v404, (i64)gridDim.x);
          const i64 v406 = v405 * v87;
          const i64 v407 = v404 - quotient(v404, v400) * v400;
          const i64 v408 = quotient(v407, v402);
          const i64 v409 = v408 * 8ll;
          const i64 v410 = v398 - v409;
          const i64 v411 = 8ll < v410 ? 8ll : v410;
          const i64 v412 = v407 - quotient(v407, v402) * v402;
          const i64 v413 = v412 - quotient(v412, v411) * v411;
          const i64 v414 = v409 + v413;
          const i64 v415 = v414 * 128ll;
          const i64 v416 = quotient(v412, v411);
          const i64 v417 = v416 * 256ll;
          const i64 v418 = quotient(v404, v400);
          const i64 v419 = v418 * v87;
          #pragma unroll 1
          for (i64 v420 = 0ll; v420 < v87; v420++) {
            const i64 v421 = v406 + v420;
            const i64 v422 = v421 % 4ll;
            const i64 v423 = v419 + v420;
            const i64 v424 = v423 * 64ll;
            ring_acquire<4>(b_ring_4, v421);
            if (can_map(b_a, d_k)) {
              const bool is_half_ring_a_bf16_4x128x64 = v415 + 64 >= (d_m / 4ll);
              filling.bytes += is_half_ring_a_bf16_4x128x64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v422 * 8192 + s * 8192, is_half_ring_a_bf16_4x128x64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v422), (int)(v424) + s * 64, (int)(v415));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v422 * 8192, b_a, d_k, (d_m / 4ll), d_k, v415, v424);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 32768;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v422 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v422), (int)(v417) + s * 64, (int)(v424));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v422 * 16384, b_b, d_n, d_k, d_n, v424, v417);
            }
            ring_fill<4, 256>(b_ring_4, v421, filling);
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
    if (v93) {
      const i64 v426 = (i64)blockIdx.x * 4ll;
      i64 v427 = (i64)rank;
      asm volatile("" : "+l"(v427));
      const i64 v428 = v426 + v427;
      const i64 v430 = v427 % 4ll;
      const bool v431 = (u64)b_slices % 16 == 0;
      const bool v432 = (u64)b_bias % 16 == 0;
      const bool v433 = v431 & v432;
      const bool v434 = (u64)b_out % 16 == 0;
      const bool v435 = v433 & v434;
      i64 v436 = d_n;
      asm volatile("" : "+l"(v436));
      const i64 v437 = v436 > 0ll ? v436 : 0ll;
      const i64 v438 = v437 % 8ll;
      const bool v439 = v438 == 0ll;
      const bool v440 = v435 & v439;
      const i64 v441 = v436 % 8ll;
      const bool v442 = v441 == 0ll;
      const bool v443 = v440 & v442;
      i64 v444 = d_m;
      asm volatile("" : "+l"(v444));
      const i64 v445 = v444 / 4ll;
      const i64 v446 = v445 > 0ll ? v445 : 0ll;
      const i64 v447 = v446 * v437;
      const i64 v448 = v447 / 3072ll;
      const i64 v449 = v447 + 3071ll;
      const i64 v450 = v449 / 3072ll;
      const i64 v451 = v427 * v445;
      Vec<float, 8> v452;
      #pragma unroll
      for (int l = 0; l < 8; l++) v452.v[l] = 5e-1f;
      __syncthreads();
      const u32 v453 = *(b_epoch + 0ll);
      const u32 v454 = v453 + 1u;
      *(b_epoch + 0ll) = v454;
      if (threadIdx.x < 1) {
        const i64 v455 = threadIdx.x;
        signal_set_release_gpu(b_flags + v428, v454);
      }
      #pragma unroll 1
      for (i64 v456 = threadIdx.x; v456 < (i64)gridDim.x; v456 += 384) {
        const i64 v457 = v456 * 4ll;
        const i64 v458 = v457 + v430;
        wait_acquire_gpu(b_flags + v458, v454, watch, (u32)(v430), 5u, (u32)(v458), 5u);
      }
      __syncthreads();
      if (v443) {
        i64 v459 = d_m;
        asm volatile("" : "+l"(v459));
        const i64 v460 = v459 / 4ll;
        const i64 v461 = v460 > 0ll ? v460 : 0ll;
        i64 v462 = d_n;
        asm volatile("" : "+l"(v462));
        const i64 v463 = v462 > 0ll ? v462 : 0ll;
        const i64 v464 = v461 * v463;
        const i64 v465 = v464 / 3072ll;
        const i64 v467 = (i64)gridDim.x * 4ll;
        const i64 v469 = (i64)gridDim.x * 2ll;
        const i64 v470 = (i64)gridDim.x * 3ll;
        i64 v471 = (i64)rank;
        asm volatile("" : "+l"(v471));
        const i64 v472 = v471 * v460;
        Vec<float, 8> v473;
        #pragma unroll
        for (int l = 0; l < 8; l++) v473.v[l] = 5e-1f;
        const i64 v474 = quotient(v465, v467);
        #pragma unroll 1
        for (i64 v475 = 0ll; v475 < v474; v475++) {
          const i64 v476 = v475 * v467;
          const i64 v477 = v476 + (i64)blockIdx.x;
          const i64 v478 = v477 * 3072ll;
          const i64 v479 = v477 + (i64)gridDim.x;
          const i64 v480 = v479 * 3072ll;
          const i64 v481 = v477 + v469;
          const i64 v482 = v481 * 3072ll;
          const i64 v483 = v477 + v470;
          const i64 v484 = v483 * 3072ll;
          {
            const i64 v485 = threadIdx.x;
            const i64 v486 = v485 * 8ll;
            const i64 v487 = v478 + v486;
            const i64 v488 = v480 + v486;
            const i64 v489 = v482 + v486;
            const i64 v490 = v484 + v486;
            const i64 v491 = v487 - quotient(v487, v463) * v463;
            const i64 v492 = v488 - quotient(v488, v463) * v463;
            const i64 v493 = v489 - quotient(v489, v463) * v463;
            const i64 v494 = v490 - quotient(v490, v463) * v463;
            const i64 v495 = quotient(v487, v463);
            const i64 v496 = quotient(v488, v463);
            const i64 v497 = quotient(v489, v463);
            const i64 v498 = quotient(v490, v463);
            const i64 v499 = v495 + v472;
            const i64 v500 = v496 + v472;
            const i64 v501 = v497 + v472;
            const i64 v502 = v498 + v472;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v504;
            for (int l = 0; l < 8; l++) v504.v[l] = 0e+0f;
            for (i64 v503 = 0ll; v503 < v92; v503++) {
              const i64 v505 = v503 * v460;
              const i64 v506 = v505 + v495;
              const i64 v507 = v506 * d_n;
              const i64 v508 = v507 + v491;
              const Vec<float, 8> v509 = load_vec<float, 8>(b_slices + v508);
              for (int l = 0; l < 8; l++) v504.v[l] = v504.v[l] + v509.v[l];
            }
            Vec<float, 8> v511;
            for (int l = 0; l < 8; l++) v511.v[l] = 0e+0f;
            for (i64 v510 = 0ll; v510 < v92; v510++) {
              const i64 v512 = v510 * v460;
              const i64 v513 = v512 + v496;
              const i64 v514 = v513 * d_n;
              const i64 v515 = v514 + v492;
              const Vec<float, 8> v516 = load_vec<float, 8>(b_slices + v515);
              for (int l = 0; l < 8; l++) v511.v[l] = v511.v[l] + v516.v[l];
            }
            Vec<float, 8> v518;
            for (int l = 0; l < 8; l++) v518.v[l] = 0e+0f;
            for (i64 v517 = 0ll; v517 < v92; v517++) {
              const i64 v519 = v517 * v460;
              const i64 v520 = v519 + v497;
              const i64 v521 = v520 * d_n;
              const i64 v522 = v521 + v493;
              const Vec<float, 8> v523 = load_vec<float, 8>(b_slices + v522);
              for (int l = 0; l < 8; l++) v518.v[l] = v518.v[l] + v523.v[l];
            }
            Vec<float, 8> v525;
            for (int l = 0; l < 8; l++) v525.v[l] = 0e+0f;
            for (i64 v524 = 0ll; v524 < v92; v524++) {
              const i64 v526 = v524 * v460;
              const i64 v527 = v526 + v498;
              const i64 v528 = v527 * d_n;
              const i64 v529 = v528 + v494;
              const Vec<float, 8> v530 = load_vec<float, 8>(b_slices + v529);
              for (int l = 0; l < 8; l++) v525.v[l] = v525.v[l] + v530.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v531;
            #pragma unroll
            for (int l = 0; l < 8; l++) v531.v[l] = v473.v[l] * v504.v[l];
            Vec<float, 8> v532;
            #pragma unroll
            for (int l = 0; l < 8; l++) v532.v[l] = v473.v[l] * v511.v[l];
            Vec<float, 8> v533;
            #pragma unroll
            for (int l = 0; l < 8; l++) v533.v[l] = v473.v[l] * v518.v[l];
            Vec<float, 8> v534;
            #pragma unroll
            for (int l = 0; l < 8; l++) v534.v[l] = v473.v[l] * v525.v[l];
            const i64 v535 = v495 * d_n;
            const i64 v536 = v496 * d_n;
            const i64 v537 = v497 * d_n;
            const i64 v538 = v498 * d_n;
            const i64 v539 = v535 + v491;
            const i64 v540 = v536 + v492;
            const i64 v541 = v537 + v493;
            const i64 v542 = v538 + v494;
            const Vec<u16, 8> v543 = load_vec<u16, 8>(b_bias + v539);
            const Vec<u16, 8> v544 = load_vec<u16, 8>(b_bias + v540);
            const Vec<u16, 8> v545 = load_vec<u16, 8>(b_bias + v541);
            const Vec<u16, 8> v546 = load_vec<u16, 8>(b_bias + v542);
            Vec<float, 8> v547;
            #pragma unroll
            for (int l = 0; l < 8; l++) v547.v[l] = bf16_to_f32(v543.v[l]);
            Vec<float, 8> v548;
            #pragma unroll
            for (int l = 0; l < 8; l++) v548.v[l] = bf16_to_f32(v544.v[l]);
            Vec<float, 8> v549;
            #pragma unroll
            for (int l = 0; l < 8; l++) v549.v[l] = bf16_to_f32(v545.v[l]);
            Vec<float, 8> v550;
            #pragma unroll
            for (int l = 0; l < 8; l++) v550.v[l] = bf16_to_f32(v546.v[l]);
            Vec<float, 8> v551;
            #pragma unroll
            for (int l = 0; l < 8; l++) v551.v[l] = v531.v[l] + v547.v[l];
            Vec<float, 8> v552;
            #pragma unroll
            for (int l = 0; l < 8; l++) v552.v[l] = v532.v[l] + v548.v[l];
            Vec<float, 8> v553;
            #pragma unroll
            for (int l = 0; l < 8; l++) v553.v[l] = v533.v[l] + v549.v[l];
            Vec<float, 8> v554;
            #pragma unroll
            for (int l = 0; l < 8; l++) v554.v[l] = v534.v[l] + v550.v[l];
            Vec<float, 8> v555;
            #pragma unroll
            for (int l = 0; l < 8; l++) v555.v[l] = fn_silu(v551.v[l]);
            Vec<float, 8> v556;
            #pragma unroll
            for (int l = 0; l < 8; l++) v556.v[l] = fn_silu(v552.v[l]);
            Vec<float, 8> v557;
            #pragma unroll
            for (int l = 0; l < 8; l++) v557.v[l] = fn_silu(v553.v[l]);
            Vec<float, 8> v558;
            #pragma unroll
            for (int l = 0; l < 8; l++) v558.v[l] = fn_silu(v554.v[l]);
            Vec<u16, 8> v559;
            #pragma unroll
            for (int l = 0; l < 8; l++) v559.v[l] = f32_to_bf16(v555.v[l]);
            Vec<u16, 8> v560;
            #pragma unroll
            for (int l = 0; l < 8; l++) v560.v[l] = f32_to_bf16(v556.v[l]);
            Vec<u16, 8> v561;
            #pragma unroll
            for (int l = 0; l < 8; l++) v561.v[l] = f32_to_bf16(v557.v[l]);
            Vec<u16, 8> v562;
            #pragma unroll
            for (int l = 0; l < 8; l++) v562.v[l] = f32_to_bf16(v558.v[l]);
            const i64 v563 = v499 * d_n;
            const i64 v564 = v500 * d_n;
            const i64 v565 = v501 * d_n;
            const i64 v566 = v502 * d_n;
            const i64 v567 = v563 + v491;
            const i64 v568 = v564 + v492;
            const i64 v569 = v565 + v493;
            const i64 v570 = v566 + v494;
            store_vec(((u16*)b_out_peers.p[0ll]) + v567, v559);
            store_vec(((u16*)b_out_peers.p[0ll]) + v568, v560);
            store_vec(((u16*)b_out_peers.p[0ll]) + v569, v561);
            store_vec(((u16*)b_out_peers.p[0ll]) + v570, v562);
          }
        }
        const i64 v571 = v474 * v467;
        #pragma unroll 1
        for (i64 v572 = v571 + ((i64)blockIdx.x - v571 % gridDim.x + gridDim.x) % gridDim.x; v572 < v465; v572 += gridDim.x) {
          const i64 v573 = v572 * 3072ll;
          {
            const i64 v574 = threadIdx.x;
            const i64 v575 = v574 * 8ll;
            const i64 v576 = v573 + v575;
            const i64 v577 = v576 - quotient(v576, v463) * v463;
            const i64 v578 = quotient(v576, v463);
            const i64 v579 = v578 + v472;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v581;
            for (int l = 0; l < 8; l++) v581.v[l] = 0e+0f;
            for (i64 v580 = 0ll; v580 < v92; v580++) {
              const i64 v582 = v580 * v460;
              const i64 v583 = v582 + v578;
              const i64 v584 = v583 * d_n;
              const i64 v585 = v584 + v577;
              const Vec<float, 8> v586 = load_vec<float, 8>(b_slices + v585);
              for (int l = 0; l < 8; l++) v581.v[l] = v581.v[l] + v586.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v587;
            #pragma unroll
            for (int l = 0; l < 8; l++) v587.v[l] = v473.v[l] * v581.v[l];
            const i64 v588 = v578 * d_n;
            const i64 v589 = v588 + v577;
            const Vec<u16, 8> v590 = load_vec<u16, 8>(b_bias + v589);
            Vec<float, 8> v591;
            #pragma unroll
            for (int l = 0; l < 8; l++) v591.v[l] = bf16_to_f32(v590.v[l]);
            Vec<float, 8> v592;
            #pragma unroll
            for (int l = 0; l < 8; l++) v592.v[l] = v587.v[l] + v591.v[l];
            Vec<float, 8> v593;
            #pragma unroll
            for (int l = 0; l < 8; l++) v593.v[l] = fn_silu(v592.v[l]);
            Vec<u16, 8> v594;
            #pragma unroll
            for (int l = 0; l < 8; l++) v594.v[l] = f32_to_bf16(v593.v[l]);
            const i64 v595 = v579 * d_n;
            const i64 v596 = v595 + v577;
            store_vec(((u16*)b_out_peers.p[0ll]) + v596, v594);
          }
        }
      } else {
        i64 v597 = d_m;
        asm volatile("" : "+l"(v597));
        const i64 v598 = v597 / 4ll;
        const i64 v599 = v598 > 0ll ? v598 : 0ll;
        i64 v600 = d_n;
        asm volatile("" : "+l"(v600));
        const i64 v601 = v600 > 0ll ? v600 : 0ll;
        const i64 v602 = v599 * v601;
        const i64 v603 = v602 / 3072ll;
        i64 v604 = (i64)rank;
        asm volatile("" : "+l"(v604));
        const i64 v605 = v604 * v598;
        #pragma unroll 1
        for (i64 v606 = blockIdx.x; v606 < v603; v606 += gridDim.x) {
          const i64 v607 = v606 * 3072ll;
          #pragma unroll 1
          for (i64 v608 = threadIdx.x; v608 < 3072ll; v608 += 384) {
            const i64 v609 = v607 + v608;
            const i64 v610 = v609 - quotient(v609, v601) * v601;
            const i64 v611 = quotient(v609, v601);
            const i64 v612 = v611 + v605;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v614;
            v614 = 0e+0f;
            for (i64 v613 = 0ll; v613 < v92; v613++) {
              const i64 v615 = v613 * v598;
              const i64 v616 = v615 + v611;
              const i64 v617 = v616 * d_n;
              const i64 v618 = v617 + v610;
              const float v619 = *(b_slices + v618);
              v614 = v614 + v619;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v620 = 5e-1f * v614;
            const i64 v621 = v611 * d_n;
            const i64 v622 = v621 + v610;
            const u16 v623 = *(b_bias + v622);
            const float v624 = bf16_to_f32(v623);
            const float v625 = v620 + v624;
            const float v626 = fn_silu(v625);
            const u16 v627 = f32_to_bf16(v626);
            const i64 v628 = v612 * d_n;
            const i64 v629 = v628 + v610;
            *(((u16*)b_out_peers.p[0ll]) + v629) = v627;
          }
        }
      }
      if (v443) {
        #pragma unroll 1
        for (i64 v630 = v448 + ((i64)blockIdx.x - v448 % gridDim.x + gridDim.x) % gridDim.x; v630 < v450; v630 += gridDim.x) {
          const i64 v631 = v630 * 3072ll;
          const i64 v632 = v447 - v631;
          const i64 v633 = v632 / 8ll;
          const i64 v634 = v633 * 8ll;
          #pragma unroll 1
          for (i64 v635 = threadIdx.x; v635 < v633; v635 += 384) {
            const i64 v636 = v635 * 8ll;
            const i64 v637 = v631 + v636;
            const i64 v638 = v637 - quotient(v637, v437) * v437;
            const i64 v639 = quotient(v637, v437);
            const i64 v640 = v639 + v451;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v642;
            for (int l = 0; l < 8; l++) v642.v[l] = 0e+0f;
            for (i64 v641 = 0ll; v641 < v92; v641++) {
              const i64 v643 = v641 * v445;
              const i64 v644 = v643 + v639;
              const i64 v645 = v644 * d_n;
              const i64 v646 = v645 + v638;
              const Vec<float, 8> v647 = load_vec<float, 8>(b_slices + v646);
              for (int l = 0; l < 8; l++) v642.v[l] = v642.v[l] + v647.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v648;
            #pragma unroll
            for (int l = 0; l < 8; l++) v648.v[l] = v452.v[l] * v642.v[l];
            const i64 v649 = v639 * d_n;
            const i64 v650 = v649 + v638;
            const Vec<u16, 8> v651 = load_vec<u16, 8>(b_bias + v650);
            Vec<float, 8> v652;
            #pragma unroll
            for (int l = 0; l < 8; l++) v652.v[l] = bf16_to_f32(v651.v[l]);
            Vec<float, 8> v653;
            #pragma unroll
            for (int l = 0; l < 8; l++) v653.v[l] = v648.v[l] + v652.v[l];
            Vec<float, 8> v654;
            #pragma unroll
            for (int l = 0; l < 8; l++) v654.v[l] = fn_silu(v653.v[l]);
            Vec<u16, 8> v655;
            #pragma unroll
            for (int l = 0; l < 8; l++) v655.v[l] = f32_to_bf16(v654.v[l]);
            const i64 v656 = v640 * d_n;
            const i64 v657 = v656 + v638;
            store_vec(((u16*)b_out_peers.p[0ll]) + v657, v655);
          }
          #pragma unroll 1
          for (i64 v658 = v634 + threadIdx.x; v658 < v632; v658 += 384) {
            const i64 v659 = v631 + v658;
            const i64 v660 = v659 - quotient(v659, v437) * v437;
            const i64 v661 = quotient(v659, v437);
            const i64 v662 = v661 + v451;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v664;
            v664 = 0e+0f;
            for (i64 v663 = 0ll; v663 < v92; v663++) {
              const i64 v665 = v663 * v445;
              const i64 v666 = v665 + v661;
              const i64 v667 = v666 * d_n;
              const i64 v668 = v667 + v660;
              const float v669 = *(b_slices + v668);
              v664 = v664 + v669;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v670 = 5e-1f * v664;
            const i64 v671 = v661 * d_n;
            const i64 v672 = v671 + v660;
            const u16 v673 = *(b_bias + v672);
            const float v674 = bf16_to_f32(v673);
            const float v675 = v670 + v674;
            const float v676 = fn_silu(v675);
            const u16 v677 = f32_to_bf16(v676);
            const i64 v678 = v662 * d_n;
            const i64 v679 = v678 + v660;
            *(((u16*)b_out_peers.p[0ll]) + v679) = v677;
          }
        }
      } else {
        #pragma unroll 1
        for (i64 v680 = v448 + ((i64)blockIdx.x - v448 % gridDim.x + gridDim.x) % gridDim.x; v680 < v450; v680 += gridDim.x) {
          const i64 v681 = v680 * 3072ll;
          const i64 v682 = v447 - v681;
          #pragma unroll 1
          for (i64 v683 = threadIdx.x; v683 < v682; v683 += 384) {
            const i64 v684 = v681 + v683;
            const i64 v685 = v684 - quotient(v684, v437) * v437;
            const i64 v686 = quotient(v684, v437);
            const i64 v687 = v686 + v451;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v689;
            v689 = 0e+0f;
            for (i64 v688 = 0ll; v688 < v92; v688++) {
              const i64 v690 = v688 * v445;
              const i64 v691 = v690 + v686;
              const i64 v692 = v691 * d_n;
              const i64 v693 = v692 + v685;
              const float v694 = *(b_slices + v693);
              v689 = v689 + v694;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v695 = 5e-1f * v689;
            const i64 v696 = v686 * d_n;
            const i64 v697 = v696 + v685;
            const u16 v698 = *(b_bias + v697);
            const float v699 = bf16_to_f32(v698);
            const float v700 = v695 + v699;
            const float v701 = fn_silu(v700);
            const u16 v702 = f32_to_bf16(v701);
            const i64 v703 = v687 * d_n;
            const i64 v704 = v703 + v685;
            *(((u16*)b_out_peers.p[0ll]) + v704) = v702;
          }
        }
      }
    }
  }
  i64 v705 = (i64)rank;
  asm volatile("" : "+l"(v705));
  const bool v706 = v705 == 1ll;
  const bool v707 = v705 == 2ll;
  const bool v708 = v705 == 3ll;
  const i64 v710 = (i64)blockIdx.x * 4ll;
  const i64 v711 = v710 + v705;
  const bool v712 = v705 == 0ll;
  __syncthreads();
  const u32 v714 = *(b_epoch + 0ll);
  const u32 v715 = v714 + 1u;
  *(b_epoch + 0ll) = v715;
  if (threadIdx.x < 4) {
    const i64 v716 = threadIdx.x;
    const bool v717 = v716 == 0ll;
    const bool v718 = v706 & v717;
    const bool v719 = v707 & v717;
    const bool v720 = v708 & v717;
    const bool v721 = v718 | v719;
    const bool v722 = v721 | v720;
    if (v722) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v716]) + v711, v715);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v723 = threadIdx.x;
    const bool v724 = v723 == 1ll;
    const bool v725 = v712 & v724;
    const bool v726 = v723 == 2ll;
    const bool v727 = v712 & v726;
    const bool v728 = v723 == 3ll;
    const bool v729 = v712 & v728;
    const bool v730 = v725 | v727;
    const bool v731 = v730 | v729;
    const i64 v732 = v710 + v723;
    if (v731) {
      wait_acquire_sys(b_flags + v732, v715, watch, (u32)(v723), 5u, (u32)(v732), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v733 = threadIdx.x;
    const i64 v734 = v733 - quotient(v733, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v735 = v734 == (i64)blockIdx.x;
    if (v735) {
      const u32 v736 = *(b_epoch + 0ll);
      *(b_epochs + v733) = v736;
    }
  }
}
