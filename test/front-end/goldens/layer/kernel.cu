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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, float* b_slices_, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_16x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
      wait_acquire_sys(b_flags + v38, v12, watch, (u32)(v31), 6u, (u32)(v38), 5u);
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
  const bool v104 = v103 > 0ll;
  const i64 v105 = v101 / 2ll;
  const i64 v106 = 1ll < v105 ? 1ll : v105;
  const i64 v107 = v106 * v101;
  const i64 v108 = quotient(88ll, v100);
  const i64 v109 = 1ll < v108 ? 1ll : v108;
  const i64 v110 = v109 - v106;
  const i64 v111 = v110 * 3ll;
  const i64 v112 = v107 > v111 ? v107 : v111;
  const i64 v113 = v44 < v112 ? v44 : v112;
  const i64 v114 = v103 * v113;
  const i64 v115 = v114 > 1ll ? v114 : 1ll;
  const i64 v116 = v115 - 1ll;
  const i64 v117 = v42 + v116;
  const i64 v118 = quotient(v117, v115);
  const i64 v119 = v115 * v72;
  const i64 v120 = v119 / 5469ll;
  const i64 v121 = v99 * v115;
  const i64 v122 = v121 + 131ll;
  const i64 v123 = v122 / 132ll;
  const i64 v124 = v123 > 1ll ? v123 : 1ll;
  const i64 v125 = v118 * v124;
  const i64 v126 = v125 + 8ll;
  const i64 v127 = v126 * 64ll;
  const i64 v128 = v127 + v120;
  const bool v129 = v128 < v85;
  const i64 v130 = v129 ? v118 : v42;
  const i64 v131 = v130 > 1ll ? v130 : 1ll;
  const i64 v132 = v131 - 1ll;
  const i64 v133 = v42 + v132;
  const i64 v134 = quotient(v133, v131);
  const i64 v135 = v134 > 1ll ? v134 : 1ll;
  const bool v136 = v135 > 1ll;
  if (v104) {
    {
      ring_begin<8, 8, 4, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        i64 v145 = d_m;
        asm volatile("" : "+l"(v145));
        const i64 v146 = v145 / 4ll;
        const i64 v147 = v146 > 0ll ? v146 : 0ll;
        const i64 v148 = v147 + 127ll;
        i64 v149 = d_n;
        asm volatile("" : "+l"(v149));
        const i64 v150 = v149 > 0ll ? v149 : 0ll;
        const i64 v151 = v150 + 63ll;
        const i64 v152 = v148 / 128ll;
        const i64 v153 = v151 / 64ll;
        const i64 v154 = v152 * v153;
        const i64 v156 = v154 * v135;
        const bool v157 = v130 > 0ll;
        #pragma unroll 1
        for (i64 v159 = blockIdx.x; v159 < v156; v159 += gridDim.x) {
          const i64 v160 = quotient(v159, (i64)gridDim.x);
          const i64 v161 = v160 * v130;
          const i64 v162 = v159 - quotient(v159, v154) * v154;
          const i64 v163 = quotient(v159, v154);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v164 = 0ll; v164 < v130; v164++) {
            const i64 v165 = v161 + v164;
            ring_wait<8>(b_ring_8, v165);
            const i64 v166 = v165 % 8ll;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64 + v166 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_8x64x64 + v166 * 4096), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v167 = v164 > 0ll;
            const i64 v168 = v165 - 1ll;
            if (v167) {
              ring_release<8>(b_ring_8, v168);
            }
          }
          i64 v169 = d_n;
          asm volatile("" : "+l"(v169));
          const i64 v170 = v169 > 0ll ? v169 : 0ll;
          const i64 v171 = v170 + 63ll;
          const i64 v172 = v171 / 64ll;
          const i64 v173 = 8ll * v172;
          i64 v174 = d_m;
          asm volatile("" : "+l"(v174));
          const i64 v175 = v174 / 4ll;
          const i64 v176 = v175 > 0ll ? v175 : 0ll;
          const i64 v177 = v176 + 127ll;
          const i64 v178 = v177 / 128ll;
          const i64 v179 = v174 / 4ll;
          wgmma_end_32(b_accumulator_128x64);
          const i64 v180 = v161 + v130;
          const i64 v181 = v180 - 1ll;
          if (v157) {
            ring_release<8>(b_ring_8, v181);
          }
          const i64 v182 = quotient(v162, v173);
          const i64 v183 = v182 * 8ll;
          const i64 v184 = v178 - v183;
          const i64 v185 = 8ll < v184 ? 8ll : v184;
          const i64 v186 = v162 - quotient(v162, v173) * v173;
          const i64 v187 = v186 - quotient(v186, v185) * v185;
          const i64 v188 = v183 + v187;
          const i64 v189 = v188 * 128ll;
          const i64 v190 = quotient(v186, v185);
          const i64 v191 = v190 * 64ll;
          const i64 v192 = v175 - v189;
          const i64 v193 = d_n - v191;
          const i64 v194 = v163 * v179;
          if (v136) {
            const bool v195 = (u64)b_slices_ % 16 == 0;
            i64 v196 = d_n;
            asm volatile("" : "+l"(v196));
            const i64 v197 = v196 % 4ll;
            const bool v198 = v197 == 0ll;
            const bool v199 = v195 & v198;
            const i64 v200 = v196 % 4ll;
            const bool v201 = v200 == 0ll;
            const bool v202 = v199 & v201;
            const u32 tv203 = thread_here();
            float* const pv203 = (float*)(b_patch_128x40 + tv203 / 32 * 640);
            #pragma unroll 1
            for (u32 cv203 = 0; cv203 < 2; cv203++) {
              put_fragment_64_f32(pv203, b_accumulator_128x64, cv203, tv203 % 32);
              if (v202) {
                #pragma unroll 4
                for (u32 lv203 = tv203 % 32; lv203 < 128; lv203 += 32) {
                  const i64 v203 = (tv203 / 32 * 16 + lv203 / 8) * 16 + cv203 * 8 + lv203 % 8;
                  const i64 v204 = v203 * 4ll;
                  const i64 v205 = v204 / 64ll;
                  const i64 v206 = v204 % 64ll;
                  const bool v207 = v205 < v192;
                  const bool v208 = v206 < v193;
                  const bool v209 = v207 & v208;
                  const i64 v210 = v189 + v205;
                  const i64 v211 = v191 + v206;
                  const i64 v212 = v205 * 64ll;
                  const i64 v213 = v212 + v206;
                  const i64 v214 = v194 + v210;
                  const i64 v215 = v214 * d_n;
                  const i64 v216 = v215 + v211;
                  if (v209) {
                    const Vec<float, 4> v217 = load_vec<float, 4>(pv203 + lv203 / 8 * 40 + lv203 % 8 * 4);
                    store_vec(b_slices_ + v216, v217);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv218 = tv203 % 32; lv218 < 512; lv218 += 32) {
                  const i64 v218 = (tv203 / 32 * 16 + lv218 / 32) * 64 + cv203 * 32 + lv218 % 32;
                  const i64 v219 = v218 / 64ll;
                  const i64 v220 = v218 % 64ll;
                  const bool v221 = v219 < v192;
                  const bool v222 = v220 < v193;
                  const bool v223 = v221 & v222;
                  const i64 v224 = v189 + v219;
                  const i64 v225 = v191 + v220;
                  const i64 v226 = v219 * 64ll;
                  const i64 v227 = v226 + v220;
                  const i64 v228 = v194 + v224;
                  const i64 v229 = v228 * d_n;
                  const i64 v230 = v229 + v225;
                  if (v223) {
                    const float v231 = *(pv203 + lv218 / 32 * 40 + lv218 % 32 * 1);
                    *(b_slices_ + v230) = v231;
                  }
                }
              }
            }
          } else {
            const bool v232 = (u64)b_bias % 16 == 0;
            const bool v233 = (u64)b_out % 16 == 0;
            const bool v234 = v232 & v233;
            i64 v235 = d_n;
            asm volatile("" : "+l"(v235));
            const i64 v236 = v235 % 8ll;
            const bool v237 = v236 == 0ll;
            const bool v238 = v234 & v237;
            const i64 v239 = v235 % 8ll;
            const bool v240 = v239 == 0ll;
            const bool v241 = v238 & v240;
            i64 v242 = (i64)rank;
            asm volatile("" : "+l"(v242));
            i64 v243 = d_m;
            asm volatile("" : "+l"(v243));
            const i64 v244 = v243 / 4ll;
            const i64 v245 = v242 * v244;
            Vec<float, 8> v246;
            #pragma unroll
            for (int l = 0; l < 8; l++) v246.v[l] = 5e-1f;
            const u32 tv247 = thread_here();
            float* const pv247 = (float*)(b_patch_128x40 + tv247 / 32 * 640);
            #pragma unroll 1
            for (u32 cv247 = 0; cv247 < 2; cv247++) {
              put_fragment_64_f32(pv247, b_accumulator_128x64, cv247, tv247 % 32);
              if (v241) {
                #pragma unroll 2
                for (u32 lv247 = tv247 % 32; lv247 < 64; lv247 += 32) {
                  const i64 v247 = (tv247 / 32 * 16 + lv247 / 4) * 8 + cv247 * 4 + lv247 % 4;
                  const i64 v248 = v247 * 8ll;
                  const i64 v249 = v248 / 64ll;
                  const i64 v250 = v248 % 64ll;
                  const bool v251 = v249 < v192;
                  const bool v252 = v250 < v193;
                  const bool v253 = v251 & v252;
                  const i64 v254 = v189 + v249;
                  const i64 v255 = v191 + v250;
                  const i64 v256 = v254 + v245;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v257 = v249 * 64ll;
                  const i64 v258 = v257 + v250;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v259 = v254 * d_n;
                  const i64 v260 = v259 + v255;
                  const i64 v261 = v256 * d_n;
                  const i64 v262 = v261 + v255;
                  if (v253) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v263 = load_vec<float, 8>(pv247 + lv247 / 4 * 40 + lv247 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v264;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v264.v[l] = v246.v[l] * v263.v[l];
                    const Vec<u16, 8> v265 = load_vec<u16, 8>(b_bias + v260);
                    Vec<float, 8> v266;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v266.v[l] = bf16_to_f32(v265.v[l]);
                    Vec<float, 8> v267;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v267.v[l] = v264.v[l] + v266.v[l];
                    Vec<float, 8> v268;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v268.v[l] = fn_silu(v267.v[l]);
                    Vec<u16, 8> v269;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v269.v[l] = f32_to_bf16(v268.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v262, v269);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv270 = tv247 % 32; lv270 < 512; lv270 += 32) {
                  const i64 v270 = (tv247 / 32 * 16 + lv270 / 32) * 64 + cv247 * 32 + lv270 % 32;
                  const i64 v271 = v270 / 64ll;
                  const i64 v272 = v270 % 64ll;
                  const bool v273 = v271 < v192;
                  const bool v274 = v272 < v193;
                  const bool v275 = v273 & v274;
                  const i64 v276 = v189 + v271;
                  const i64 v277 = v191 + v272;
                  const i64 v278 = v276 + v245;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v279 = v271 * 64ll;
                  const i64 v280 = v279 + v272;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v281 = v276 * d_n;
                  const i64 v282 = v281 + v277;
                  const i64 v283 = v278 * d_n;
                  const i64 v284 = v283 + v277;
                  if (v275) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v285 = *(pv247 + lv270 / 32 * 40 + lv270 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v286 = 5e-1f * v285;
                    const u16 v287 = *(b_bias + v282);
                    const float v288 = bf16_to_f32(v287);
                    const float v289 = v286 + v288;
                    const float v290 = fn_silu(v289);
                    const u16 v291 = f32_to_bf16(v290);
                    *(((u16*)b_out_peers.p[0ll]) + v284) = v291;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v292 = d_m;
        asm volatile("" : "+l"(v292));
        const i64 v293 = v292 / 4ll;
        const i64 v294 = v293 > 0ll ? v293 : 0ll;
        const i64 v295 = v294 + 127ll;
        i64 v296 = d_n;
        asm volatile("" : "+l"(v296));
        const i64 v297 = v296 > 0ll ? v296 : 0ll;
        const i64 v298 = v297 + 63ll;
        const i64 v299 = v295 / 128ll;
        const i64 v300 = v298 / 64ll;
        const i64 v301 = v299 * v300;
        const i64 v303 = 8ll * v300;
        const i64 v304 = v301 * v135;
        #pragma unroll 1
        for (i64 v305 = blockIdx.x; v305 < v304; v305 += gridDim.x) {
          const i64 v306 = quotient(v305, (i64)gridDim.x);
          const i64 v307 = v306 * v130;
          const i64 v308 = v305 - quotient(v305, v301) * v301;
          const i64 v309 = quotient(v305, v301);
          const i64 v310 = quotient(v308, v303);
          const i64 v311 = v310 * 8ll;
          const i64 v312 = v299 - v311;
          const i64 v313 = 8ll < v312 ? 8ll : v312;
          const i64 v314 = v308 - quotient(v308, v303) * v303;
          const i64 v315 = v314 - quotient(v314, v313) * v313;
          const i64 v316 = v311 + v315;
          const i64 v317 = v316 * 128ll;
          const i64 v318 = quotient(v314, v313);
          const i64 v319 = v318 * 64ll;
          const i64 v320 = v309 * v130;
          #pragma unroll 1
          for (i64 v321 = 0ll; v321 < v130; v321++) {
            const i64 v322 = v307 + v321;
            const i64 v323 = v322 % 8ll;
            const i64 v324 = v320 + v321;
            const i64 v325 = v324 * 64ll;
            ring_acquire<8>(b_ring_8, v322);
            if (can_map(b_a, d_k)) {
              const i64 left_ring_a_bf16_8x128x64 = (d_m / 4ll) - (v317);
              filling.bytes += left_ring_a_bf16_8x128x64 <= 16 ? 2048 : left_ring_a_bf16_8x128x64 <= 64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v323 * 8192 + s * 8192, left_ring_a_bf16_8x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_8x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v323), (int)(v325) + s * 64, (int)(v317));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_8x128x64 + v323 * 8192, b_a, d_k, (d_m / 4ll), d_k, v317, v325);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 8192;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v323 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v323), (int)(v319) + s * 64, (int)(v325));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 64, 128, 256>(b_ring_b_bf16_8x64x64 + v323 * 4096, b_b, d_n, d_k, d_n, v325, v319);
            }
            ring_fill<8, 256>(b_ring_8, v322, filling);
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
    if (v136) {
      const i64 v327 = (i64)blockIdx.x * 4ll;
      i64 v328 = (i64)rank;
      asm volatile("" : "+l"(v328));
      const i64 v329 = v327 + v328;
      const i64 v331 = v328 % 4ll;
      const bool v332 = (u64)b_slices_ % 16 == 0;
      const bool v333 = (u64)b_bias % 16 == 0;
      const bool v334 = v332 & v333;
      const bool v335 = (u64)b_out % 16 == 0;
      const bool v336 = v334 & v335;
      i64 v337 = d_n;
      asm volatile("" : "+l"(v337));
      const i64 v338 = v337 > 0ll ? v337 : 0ll;
      const i64 v339 = v338 % 8ll;
      const bool v340 = v339 == 0ll;
      const bool v341 = v336 & v340;
      const i64 v342 = v337 % 8ll;
      const bool v343 = v342 == 0ll;
      const bool v344 = v341 & v343;
      i64 v345 = d_m;
      asm volatile("" : "+l"(v345));
      const i64 v346 = v345 / 4ll;
      const i64 v347 = v346 > 0ll ? v346 : 0ll;
      const i64 v348 = v347 * v338;
      const i64 v349 = v348 / 3072ll;
      const i64 v350 = v348 + 3071ll;
      const i64 v351 = v350 / 3072ll;
      const i64 v352 = v328 * v346;
      Vec<float, 8> v353;
      #pragma unroll
      for (int l = 0; l < 8; l++) v353.v[l] = 5e-1f;
      __syncthreads();
      const u32 v354 = *(b_epoch + 0ll);
      const u32 v355 = v354 + 1u;
      *(b_epoch + 0ll) = v355;
      if (threadIdx.x < 1) {
        const i64 v356 = threadIdx.x;
        signal_set_release_gpu(b_flags + v329, v355);
      }
      #pragma unroll 1
      for (i64 v357 = threadIdx.x; v357 < (i64)gridDim.x; v357 += 384) {
        const i64 v358 = v357 * 4ll;
        const i64 v359 = v358 + v331;
        wait_acquire_gpu(b_flags + v359, v355, watch, (u32)(v331), 6u, (u32)(v359), 5u);
      }
      __syncthreads();
      if (v344) {
        i64 v360 = d_m;
        asm volatile("" : "+l"(v360));
        const i64 v361 = v360 / 4ll;
        const i64 v362 = v361 > 0ll ? v361 : 0ll;
        i64 v363 = d_n;
        asm volatile("" : "+l"(v363));
        const i64 v364 = v363 > 0ll ? v363 : 0ll;
        const i64 v365 = v362 * v364;
        const i64 v366 = v365 / 3072ll;
        const i64 v368 = (i64)gridDim.x * 4ll;
        const i64 v370 = (i64)gridDim.x * 2ll;
        const i64 v371 = (i64)gridDim.x * 3ll;
        i64 v372 = (i64)rank;
        asm volatile("" : "+l"(v372));
        const i64 v373 = v372 * v361;
        Vec<float, 8> v374;
        #pragma unroll
        for (int l = 0; l < 8; l++) v374.v[l] = 5e-1f;
        const i64 v375 = quotient(v366, v368);
        #pragma unroll 1
        for (i64 v376 = 0ll; v376 < v375; v376++) {
          const i64 v377 = v376 * v368;
          const i64 v378 = v377 + (i64)blockIdx.x;
          const i64 v379 = v378 * 3072ll;
          const i64 v380 = v378 + (i64)gridDim.x;
          const i64 v381 = v380 * 3072ll;
          const i64 v382 = v378 + v370;
          const i64 v383 = v382 * 3072ll;
          const i64 v384 = v378 + v371;
          const i64 v385 = v384 * 3072ll;
          {
            const i64 v386 = threadIdx.x;
            const i64 v387 = v386 * 8ll;
            const i64 v388 = v379 + v387;
            const i64 v389 = v381 + v387;
            const i64 v390 = v383 + v387;
            const i64 v391 = v385 + v387;
            const i64 v392 = v388 - quotient(v388, v364) * v364;
            const i64 v393 = v389 - quotient(v389, v364) * v364;
            const i64 v394 = v390 - quotient(v390, v364) * v364;
            const i64 v395 = v391 - quotient(v391, v364) * v364;
            const i64 v396 = quotient(v388, v364);
            const i64 v397 = quotient(v389, v364);
            const i64 v398 = quotient(v390, v364);
            const i64 v399 = quotient(v391, v364);
            const i64 v400 = v396 + v373;
            const i64 v401 = v397 + v373;
            const i64 v402 = v398 + v373;
            const i64 v403 = v399 + v373;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v405;
            for (int l = 0; l < 8; l++) v405.v[l] = 0e+0f;
            for (i64 v404 = 0ll; v404 < v135; v404++) {
              const i64 v406 = v404 * v361;
              const i64 v407 = v406 + v396;
              const i64 v408 = v407 * d_n;
              const i64 v409 = v408 + v392;
              const Vec<float, 8> v410 = load_vec<float, 8>(b_slices_ + v409);
              for (int l = 0; l < 8; l++) v405.v[l] = v405.v[l] + v410.v[l];
            }
            Vec<float, 8> v412;
            for (int l = 0; l < 8; l++) v412.v[l] = 0e+0f;
            for (i64 v411 = 0ll; v411 < v135; v411++) {
              const i64 v413 = v411 * v361;
              const i64 v414 = v413 + v397;
              const i64 v415 = v414 * d_n;
              const i64 v416 = v415 + v393;
              const Vec<float, 8> v417 = load_vec<float, 8>(b_slices_ + v416);
              for (int l = 0; l < 8; l++) v412.v[l] = v412.v[l] + v417.v[l];
            }
            Vec<float, 8> v419;
            for (int l = 0; l < 8; l++) v419.v[l] = 0e+0f;
            for (i64 v418 = 0ll; v418 < v135; v418++) {
              const i64 v420 = v418 * v361;
              const i64 v421 = v420 + v398;
              const i64 v422 = v421 * d_n;
              const i64 v423 = v422 + v394;
              const Vec<float, 8> v424 = load_vec<float, 8>(b_slices_ + v423);
              for (int l = 0; l < 8; l++) v419.v[l] = v419.v[l] + v424.v[l];
            }
            Vec<float, 8> v426;
            for (int l = 0; l < 8; l++) v426.v[l] = 0e+0f;
            for (i64 v425 = 0ll; v425 < v135; v425++) {
              const i64 v427 = v425 * v361;
              const i64 v428 = v427 + v399;
              const i64 v429 = v428 * d_n;
              const i64 v430 = v429 + v395;
              const Vec<float, 8> v431 = load_vec<float, 8>(b_slices_ + v430);
              for (int l = 0; l < 8; l++) v426.v[l] = v426.v[l] + v431.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v432;
            #pragma unroll
            for (int l = 0; l < 8; l++) v432.v[l] = v374.v[l] * v405.v[l];
            Vec<float, 8> v433;
            #pragma unroll
            for (int l = 0; l < 8; l++) v433.v[l] = v374.v[l] * v412.v[l];
            Vec<float, 8> v434;
            #pragma unroll
            for (int l = 0; l < 8; l++) v434.v[l] = v374.v[l] * v419.v[l];
            Vec<float, 8> v435;
            #pragma unroll
            for (int l = 0; l < 8; l++) v435.v[l] = v374.v[l] * v426.v[l];
            const i64 v436 = v396 * d_n;
            const i64 v437 = v397 * d_n;
            const i64 v438 = v398 * d_n;
            const i64 v439 = v399 * d_n;
            const i64 v440 = v436 + v392;
            const i64 v441 = v437 + v393;
            const i64 v442 = v438 + v394;
            const i64 v443 = v439 + v395;
            const Vec<u16, 8> v444 = load_vec<u16, 8>(b_bias + v440);
            const Vec<u16, 8> v445 = load_vec<u16, 8>(b_bias + v441);
            const Vec<u16, 8> v446 = load_vec<u16, 8>(b_bias + v442);
            const Vec<u16, 8> v447 = load_vec<u16, 8>(b_bias + v443);
            Vec<float, 8> v448;
            #pragma unroll
            for (int l = 0; l < 8; l++) v448.v[l] = bf16_to_f32(v444.v[l]);
            Vec<float, 8> v449;
            #pragma unroll
            for (int l = 0; l < 8; l++) v449.v[l] = bf16_to_f32(v445.v[l]);
            Vec<float, 8> v450;
            #pragma unroll
            for (int l = 0; l < 8; l++) v450.v[l] = bf16_to_f32(v446.v[l]);
            Vec<float, 8> v451;
            #pragma unroll
            for (int l = 0; l < 8; l++) v451.v[l] = bf16_to_f32(v447.v[l]);
            Vec<float, 8> v452;
            #pragma unroll
            for (int l = 0; l < 8; l++) v452.v[l] = v432.v[l] + v448.v[l];
            Vec<float, 8> v453;
            #pragma unroll
            for (int l = 0; l < 8; l++) v453.v[l] = v433.v[l] + v449.v[l];
            Vec<float, 8> v454;
            #pragma unroll
            for (int l = 0; l < 8; l++) v454.v[l] = v434.v[l] + v450.v[l];
            Vec<float, 8> v455;
            #pragma unroll
            for (int l = 0; l < 8; l++) v455.v[l] = v435.v[l] + v451.v[l];
            Vec<float, 8> v456;
            #pragma unroll
            for (int l = 0; l < 8; l++) v456.v[l] = fn_silu(v452.v[l]);
            Vec<float, 8> v457;
            #pragma unroll
            for (int l = 0; l < 8; l++) v457.v[l] = fn_silu(v453.v[l]);
            Vec<float, 8> v458;
            #pragma unroll
            for (int l = 0; l < 8; l++) v458.v[l] = fn_silu(v454.v[l]);
            Vec<float, 8> v459;
            #pragma unroll
            for (int l = 0; l < 8; l++) v459.v[l] = fn_silu(v455.v[l]);
            Vec<u16, 8> v460;
            #pragma unroll
            for (int l = 0; l < 8; l++) v460.v[l] = f32_to_bf16(v456.v[l]);
            Vec<u16, 8> v461;
            #pragma unroll
            for (int l = 0; l < 8; l++) v461.v[l] = f32_to_bf16(v457.v[l]);
            Vec<u16, 8> v462;
            #pragma unroll
            for (int l = 0; l < 8; l++) v462.v[l] = f32_to_bf16(v458.v[l]);
            Vec<u16, 8> v463;
            #pragma unroll
            for (int l = 0; l < 8; l++) v463.v[l] = f32_to_bf16(v459.v[l]);
            const i64 v464 = v400 * d_n;
            const i64 v465 = v401 * d_n;
            const i64 v466 = v402 * d_n;
            const i64 v467 = v403 * d_n;
            const i64 v468 = v464 + v392;
            const i64 v469 = v465 + v393;
            const i64 v470 = v466 + v394;
            const i64 v471 = v467 + v395;
            store_vec(((u16*)b_out_peers.p[0ll]) + v468, v460);
            store_vec(((u16*)b_out_peers.p[0ll]) + v469, v461);
            store_vec(((u16*)b_out_peers.p[0ll]) + v470, v462);
            store_vec(((u16*)b_out_peers.p[0ll]) + v471, v463);
          }
        }
        const i64 v472 = v375 * v368;
        #pragma unroll 1
        for (i64 v473 = v472 + ((i64)blockIdx.x - v472 % gridDim.x + gridDim.x) % gridDim.x; v473 < v366; v473 += gridDim.x) {
          const i64 v474 = v473 * 3072ll;
          {
            const i64 v475 = threadIdx.x;
            const i64 v476 = v475 * 8ll;
            const i64 v477 = v474 + v476;
            const i64 v478 = v477 - quotient(v477, v364) * v364;
            const i64 v479 = quotient(v477, v364);
            const i64 v480 = v479 + v373;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v482;
            for (int l = 0; l < 8; l++) v482.v[l] = 0e+0f;
            for (i64 v481 = 0ll; v481 < v135; v481++) {
              const i64 v483 = v481 * v361;
              const i64 v484 = v483 + v479;
              const i64 v485 = v484 * d_n;
              const i64 v486 = v485 + v478;
              const Vec<float, 8> v487 = load_vec<float, 8>(b_slices_ + v486);
              for (int l = 0; l < 8; l++) v482.v[l] = v482.v[l] + v487.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v488;
            #pragma unroll
            for (int l = 0; l < 8; l++) v488.v[l] = v374.v[l] * v482.v[l];
            const i64 v489 = v479 * d_n;
            const i64 v490 = v489 + v478;
            const Vec<u16, 8> v491 = load_vec<u16, 8>(b_bias + v490);
            Vec<float, 8> v492;
            #pragma unroll
            for (int l = 0; l < 8; l++) v492.v[l] = bf16_to_f32(v491.v[l]);
            Vec<float, 8> v493;
            #pragma unroll
            for (int l = 0; l < 8; l++) v493.v[l] = v488.v[l] + v492.v[l];
            Vec<float, 8> v494;
            #pragma unroll
            for (int l = 0; l < 8; l++) v494.v[l] = fn_silu(v493.v[l]);
            Vec<u16, 8> v495;
            #pragma unroll
            for (int l = 0; l < 8; l++) v495.v[l] = f32_to_bf16(v494.v[l]);
            const i64 v496 = v480 * d_n;
            const i64 v497 = v496 + v478;
            store_vec(((u16*)b_out_peers.p[0ll]) + v497, v495);
          }
        }
      } else {
        i64 v498 = d_m;
        asm volatile("" : "+l"(v498));
        const i64 v499 = v498 / 4ll;
        const i64 v500 = v499 > 0ll ? v499 : 0ll;
        i64 v501 = d_n;
        asm volatile("" : "+l"(v501));
        const i64 v502 = v501 > 0ll ? v501 : 0ll;
        const i64 v503 = v500 * v502;
        const i64 v504 = v503 / 3072ll;
        i64 v505 = (i64)rank;
        asm volatile("" : "+l"(v505));
        const i64 v506 = v505 * v499;
        #pragma unroll 1
        for (i64 v507 = blockIdx.x; v507 < v504; v507 += gridDim.x) {
          const i64 v508 = v507 * 3072ll;
          #pragma unroll 1
          for (i64 v509 = threadIdx.x; v509 < 3072ll; v509 += 384) {
            const i64 v510 = v508 + v509;
            const i64 v511 = v510 - quotient(v510, v502) * v502;
            const i64 v512 = quotient(v510, v502);
            const i64 v513 = v512 + v506;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v515;
            v515 = 0e+0f;
            for (i64 v514 = 0ll; v514 < v135; v514++) {
              const i64 v516 = v514 * v499;
              const i64 v517 = v516 + v512;
              const i64 v518 = v517 * d_n;
              const i64 v519 = v518 + v511;
              const float v520 = *(b_slices_ + v519);
              v515 = v515 + v520;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v521 = 5e-1f * v515;
            const i64 v522 = v512 * d_n;
            const i64 v523 = v522 + v511;
            const u16 v524 = *(b_bias + v523);
            const float v525 = bf16_to_f32(v524);
            const float v526 = v521 + v525;
            const float v527 = fn_silu(v526);
            const u16 v528 = f32_to_bf16(v527);
            const i64 v529 = v513 * d_n;
            const i64 v530 = v529 + v511;
            *(((u16*)b_out_peers.p[0ll]) + v530) = v528;
          }
        }
      }
      if (v344) {
        #pragma unroll 1
        for (i64 v531 = v349 + ((i64)blockIdx.x - v349 % gridDim.x + gridDim.x) % gridDim.x; v531 < v351; v531 += gridDim.x) {
          const i64 v532 = v531 * 3072ll;
          const i64 v533 = v348 - v532;
          const i64 v534 = v533 / 8ll;
          const i64 v535 = v534 * 8ll;
          #pragma unroll 1
          for (i64 v536 = threadIdx.x; v536 < v534; v536 += 384) {
            const i64 v537 = v536 * 8ll;
            const i64 v538 = v532 + v537;
            const i64 v539 = v538 - quotient(v538, v338) * v338;
            const i64 v540 = quotient(v538, v338);
            const i64 v541 = v540 + v352;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v543;
            for (int l = 0; l < 8; l++) v543.v[l] = 0e+0f;
            for (i64 v542 = 0ll; v542 < v135; v542++) {
              const i64 v544 = v542 * v346;
              const i64 v545 = v544 + v540;
              const i64 v546 = v545 * d_n;
              const i64 v547 = v546 + v539;
              const Vec<float, 8> v548 = load_vec<float, 8>(b_slices_ + v547);
              for (int l = 0; l < 8; l++) v543.v[l] = v543.v[l] + v548.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v549;
            #pragma unroll
            for (int l = 0; l < 8; l++) v549.v[l] = v353.v[l] * v543.v[l];
            const i64 v550 = v540 * d_n;
            const i64 v551 = v550 + v539;
            const Vec<u16, 8> v552 = load_vec<u16, 8>(b_bias + v551);
            Vec<float, 8> v553;
            #pragma unroll
            for (int l = 0; l < 8; l++) v553.v[l] = bf16_to_f32(v552.v[l]);
            Vec<float, 8> v554;
            #pragma unroll
            for (int l = 0; l < 8; l++) v554.v[l] = v549.v[l] + v553.v[l];
            Vec<float, 8> v555;
            #pragma unroll
            for (int l = 0; l < 8; l++) v555.v[l] = fn_silu(v554.v[l]);
            Vec<u16, 8> v556;
            #pragma unroll
            for (int l = 0; l < 8; l++) v556.v[l] = f32_to_bf16(v555.v[l]);
            const i64 v557 = v541 * d_n;
            const i64 v558 = v557 + v539;
            store_vec(((u16*)b_out_peers.p[0ll]) + v558, v556);
          }
          #pragma unroll 1
          for (i64 v559 = v535 + threadIdx.x; v559 < v533; v559 += 384) {
            const i64 v560 = v532 + v559;
            const i64 v561 = v560 - quotient(v560, v338) * v338;
            const i64 v562 = quotient(v560, v338);
            const i64 v563 = v562 + v352;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v565;
            v565 = 0e+0f;
            for (i64 v564 = 0ll; v564 < v135; v564++) {
              const i64 v566 = v564 * v346;
              const i64 v567 = v566 + v562;
              const i64 v568 = v567 * d_n;
              const i64 v569 = v568 + v561;
              const float v570 = *(b_slices_ + v569);
              v565 = v565 + v570;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v571 = 5e-1f * v565;
            const i64 v572 = v562 * d_n;
            const i64 v573 = v572 + v561;
            const u16 v574 = *(b_bias + v573);
            const float v575 = bf16_to_f32(v574);
            const float v576 = v571 + v575;
            const float v577 = fn_silu(v576);
            const u16 v578 = f32_to_bf16(v577);
            const i64 v579 = v563 * d_n;
            const i64 v580 = v579 + v561;
            *(((u16*)b_out_peers.p[0ll]) + v580) = v578;
          }
        }
      } else {
        #pragma unroll 1
        for (i64 v581 = v349 + ((i64)blockIdx.x - v349 % gridDim.x + gridDim.x) % gridDim.x; v581 < v351; v581 += gridDim.x) {
          const i64 v582 = v581 * 3072ll;
          const i64 v583 = v348 - v582;
          #pragma unroll 1
          for (i64 v584 = threadIdx.x; v584 < v583; v584 += 384) {
            const i64 v585 = v582 + v584;
            const i64 v586 = v585 - quotient(v585, v338) * v338;
            const i64 v587 = quotient(v585, v338);
            const i64 v588 = v587 + v352;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v590;
            v590 = 0e+0f;
            for (i64 v589 = 0ll; v589 < v135; v589++) {
              const i64 v591 = v589 * v346;
              const i64 v592 = v591 + v587;
              const i64 v593 = v592 * d_n;
              const i64 v594 = v593 + v586;
              const float v595 = *(b_slices_ + v594);
              v590 = v590 + v595;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v596 = 5e-1f * v590;
            const i64 v597 = v587 * d_n;
            const i64 v598 = v597 + v586;
            const u16 v599 = *(b_bias + v598);
            const float v600 = bf16_to_f32(v599);
            const float v601 = v596 + v600;
            const float v602 = fn_silu(v601);
            const u16 v603 = f32_to_bf16(v602);
            const i64 v604 = v588 * d_n;
            const i64 v605 = v604 + v586;
            *(((u16*)b_out_peers.p[0ll]) + v605) = v603;
          }
        }
      }
    }
  } else {
    {
      ring_begin<4, 8, 4, false>(b_ring_4);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        i64 v606 = d_m;
        asm volatile("" : "+l"(v606));
        const i64 v607 = v606 / 4ll;
        const i64 v608 = v607 > 0ll ? v607 : 0ll;
        const i64 v609 = v608 + 127ll;
        i64 v610 = d_n;
        asm volatile("" : "+l"(v610));
        const i64 v611 = v610 > 0ll ? v610 : 0ll;
        const i64 v612 = v611 + 255ll;
        const i64 v613 = v609 / 128ll;
        const i64 v614 = v612 / 256ll;
        const i64 v615 = v613 * v614;
        const i64 v617 = v615 * v92;
        const bool v618 = v87 > 0ll;
        #pragma unroll 1
        for (i64 v620 = blockIdx.x; v620 < v617; v620 += gridDim.x) {
          const i64 v621 = quotient(v620, (i64)gridDim.x);
          const i64 v622 = v621 * v87;
          const i64 v623 = v620 - quotient(v620, v615) * v615;
          const i64 v624 = quotient(v620, v615);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          #pragma unroll 2
          for (i64 v625 = 0ll; v625 < v87; v625++) {
            const i64 v626 = v622 + v625;
            ring_wait<4>(b_ring_4, v626);
            const i64 v627 = v626 % 4ll;
            wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v627 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v627 * 16384), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v628 = v625 > 0ll;
            const i64 v629 = v626 - 1ll;
            if (v628) {
              ring_release<4>(b_ring_4, v629);
            }
          }
          i64 v630 = d_n;
          asm volatile("" : "+l"(v630));
          const i64 v631 = v630 > 0ll ? v630 : 0ll;
          const i64 v632 = v631 + 255ll;
          const i64 v633 = v632 / 256ll;
          const i64 v634 = 8ll * v633;
          i64 v635 = d_m;
          asm volatile("" : "+l"(v635));
          const i64 v636 = v635 / 4ll;
          const i64 v637 = v636 > 0ll ? v636 : 0ll;
          const i64 v638 = v637 + 127ll;
          const i64 v639 = v638 / 128ll;
          const i64 v640 = v635 / 4ll;
          wgmma_end_128(b_accumulator_128x256);
          const i64 v641 = v622 + v87;
          const i64 v642 = v641 - 1ll;
          if (v618) {
            ring_release<4>(b_ring_4, v642);
          }
          const i64 v643 = quotient(v623, v634);
          const i64 v644 = v643 * 8ll;
          const i64 v645 = v639 - v644;
          const i64 v646 = 8ll < v645 ? 8ll : v645;
          const i64 v647 = v623 - quotient(v623, v634) * v634;
          const i64 v648 = v647 - quotient(v647, v646) * v646;
          const i64 v649 = v644 + v648;
          const i64 v650 = v649 * 128ll;
          const i64 v651 = quotient(v647, v646);
          const i64 v652 = v651 * 256ll;
          const i64 v653 = v636 - v650;
          const i64 v654 = d_n - v652;
          const i64 v655 = v624 * v640;
          if (v93) {
            const bool v656 = (u64)b_slices % 16 == 0;
            i64 v657 = d_n;
            asm volatile("" : "+l"(v657));
            const i64 v658 = v657 % 4ll;
            const bool v659 = v658 == 0ll;
            const bool v660 = v656 & v659;
            const i64 v661 = v657 % 4ll;
            const bool v662 = v661 == 0ll;
            const bool v663 = v660 & v662;
            const u32 tv664 = thread_here();
            float* const pv664 = (float*)(b_patch_128x40 + tv664 / 32 * 640);
            #pragma unroll 1
            for (u32 cv664 = 0; cv664 < 8; cv664++) {
              put_fragment_256_f32(pv664, b_accumulator_128x256, cv664, tv664 % 32);
              if (v663) {
                #pragma unroll 4
                for (u32 lv664 = tv664 % 32; lv664 < 128; lv664 += 32) {
                  const i64 v664 = (tv664 / 32 * 16 + lv664 / 8) * 64 + cv664 * 8 + lv664 % 8;
                  const i64 v665 = v664 * 4ll;
                  const i64 v666 = v665 / 256ll;
                  const i64 v667 = v665 % 256ll;
                  const bool v668 = v666 < v653;
                  const bool v669 = v667 < v654;
                  const bool v670 = v668 & v669;
                  const i64 v671 = v650 + v666;
                  const i64 v672 = v652 + v667;
                  const i64 v673 = v666 * 256ll;
                  const i64 v674 = v673 + v667;
                  const i64 v675 = v655 + v671;
                  const i64 v676 = v675 * d_n;
                  const i64 v677 = v676 + v672;
                  if (v670) {
                    const Vec<float, 4> v678 = load_vec<float, 4>(pv664 + lv664 / 8 * 40 + lv664 % 8 * 4);
                    store_vec(b_slices + v677, v678);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv679 = tv664 % 32; lv679 < 512; lv679 += 32) {
                  const i64 v679 = (tv664 / 32 * 16 + lv679 / 32) * 256 + cv664 * 32 + lv679 % 32;
                  const i64 v680 = v679 / 256ll;
                  const i64 v681 = v679 % 256ll;
                  const bool v682 = v680 < v653;
                  const bool v683 = v681 < v654;
                  const bool v684 = v682 & v683;
                  const i64 v685 = v650 + v680;
                  const i64 v686 = v652 + v681;
                  const i64 v687 = v680 * 256ll;
                  const i64 v688 = v687 + v681;
                  const i64 v689 = v655 + v685;
                  const i64 v690 = v689 * d_n;
                  const i64 v691 = v690 + v686;
                  if (v684) {
                    const float v692 = *(pv664 + lv679 / 32 * 40 + lv679 % 32 * 1);
                    *(b_slices + v691) = v692;
                  }
                }
              }
            }
          } else {
            const bool v693 = (u64)b_bias % 16 == 0;
            const bool v694 = (u64)b_out % 16 == 0;
            const bool v695 = v693 & v694;
            i64 v696 = d_n;
            asm volatile("" : "+l"(v696));
            const i64 v697 = v696 % 8ll;
            const bool v698 = v697 == 0ll;
            const bool v699 = v695 & v698;
            const i64 v700 = v696 % 8ll;
            const bool v701 = v700 == 0ll;
            const bool v702 = v699 & v701;
            i64 v703 = (i64)rank;
            asm volatile("" : "+l"(v703));
            i64 v704 = d_m;
            asm volatile("" : "+l"(v704));
            const i64 v705 = v704 / 4ll;
            const i64 v706 = v703 * v705;
            Vec<float, 8> v707;
            #pragma unroll
            for (int l = 0; l < 8; l++) v707.v[l] = 5e-1f;
            const u32 tv708 = thread_here();
            float* const pv708 = (float*)(b_patch_128x40 + tv708 / 32 * 640);
            #pragma unroll 1
            for (u32 cv708 = 0; cv708 < 8; cv708++) {
              put_fragment_256_f32(pv708, b_accumulator_128x256, cv708, tv708 % 32);
              if (v702) {
                #pragma unroll 2
                for (u32 lv708 = tv708 % 32; lv708 < 64; lv708 += 32) {
                  const i64 v708 = (tv708 / 32 * 16 + lv708 / 4) * 32 + cv708 * 4 + lv708 % 4;
                  const i64 v709 = v708 * 8ll;
                  const i64 v710 = v709 / 256ll;
                  const i64 v711 = v709 % 256ll;
                  const bool v712 = v710 < v653;
                  const bool v713 = v711 < v654;
                  const bool v714 = v712 & v713;
                  const i64 v715 = v650 + v710;
                  const i64 v716 = v652 + v711;
                  const i64 v717 = v715 + v706;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v718 = v710 * 256ll;
                  const i64 v719 = v718 + v711;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v720 = v715 * d_n;
                  const i64 v721 = v720 + v716;
                  const i64 v722 = v717 * d_n;
                  const i64 v723 = v722 + v716;
                  if (v714) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v724 = load_vec<float, 8>(pv708 + lv708 / 4 * 40 + lv708 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v725;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v725.v[l] = v707.v[l] * v724.v[l];
                    const Vec<u16, 8> v726 = load_vec<u16, 8>(b_bias + v721);
                    Vec<float, 8> v727;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v727.v[l] = bf16_to_f32(v726.v[l]);
                    Vec<float, 8> v728;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v728.v[l] = v725.v[l] + v727.v[l];
                    Vec<float, 8> v729;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v729.v[l] = fn_silu(v728.v[l]);
                    Vec<u16, 8> v730;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v730.v[l] = f32_to_bf16(v729.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v723, v730);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv731 = tv708 % 32; lv731 < 512; lv731 += 32) {
                  const i64 v731 = (tv708 / 32 * 16 + lv731 / 32) * 256 + cv708 * 32 + lv731 % 32;
                  const i64 v732 = v731 / 256ll;
                  const i64 v733 = v731 % 256ll;
                  const bool v734 = v732 < v653;
                  const bool v735 = v733 < v654;
                  const bool v736 = v734 & v735;
                  const i64 v737 = v650 + v732;
                  const i64 v738 = v652 + v733;
                  const i64 v739 = v737 + v706;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v740 = v732 * 256ll;
                  const i64 v741 = v740 + v733;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v742 = v737 * d_n;
                  const i64 v743 = v742 + v738;
                  const i64 v744 = v739 * d_n;
                  const i64 v745 = v744 + v738;
                  if (v736) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v746 = *(pv708 + lv731 / 32 * 40 + lv731 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v747 = 5e-1f * v746;
                    const u16 v748 = *(b_bias + v743);
                    const float v749 = bf16_to_f32(v748);
                    const float v750 = v747 + v749;
                    const float v751 = fn_silu(v750);
                    const u16 v752 = f32_to_bf16(v751);
                    *(((u16*)b_out_peers.p[0ll]) + v745) = v752;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v753 = d_m;
        asm volatile("" : "+l"(v753));
        const i64 v754 = v753 / 4ll;
        const i64 v755 = v754 > 0ll ? v754 : 0ll;
        const i64 v756 = v755 + 127ll;
        i64 v757 = d_n;
        asm volatile("" : "+l"(v757));
        const i64 v758 = v757 > 0ll ? v757 : 0ll;
        const i64 v759 = v758 + 255ll;
        const i64 v760 = v756 / 128ll;
        const i64 v761 = v759 / 256ll;
        const i64 v762 = v760 * v761;
        const i64 v764 = 8ll * v761;
        const i64 v765 = v762 * v92;
        #pragma unroll 1
        for (i64 v766 = blockIdx.x; v766 < v765; v766 += gridDim.x) {
          const i64 v767 = quotient(v766, (i64)gridDim.x);
          const i64 v768 = v767 * v87;
          const i64 v769 = v766 - quotient(v766, v762) * v762;
          const i64 v770 = quotient(v766, v762);
          const i64 v771 = quotient(v769, v764);
          const i64 v772 = v771 * 8ll;
          const i64 v773 = v760 - v772;
          const i64 v774 = 8ll < v773 ? 8ll : v773;
          const i64 v775 = v769 - quotient(v769, v764) * v764;
          const i64 v776 = v775 - quotient(v775, v774) * v774;
          const i64 v777 = v772 + v776;
          const i64 v778 = v777 * 128ll;
          const i64 v779 = quotient(v775, v774);
          const i64 v780 = v779 * 256ll;
          const i64 v781 = v770 * v87;
          #pragma unroll 1
          for (i64 v782 = 0ll; v782 < v87; v782++) {
            const i64 v783 = v768 + v782;
            const i64 v784 = v783 % 4ll;
            const i64 v785 = v781 + v782;
            const i64 v786 = v785 * 64ll;
            ring_acquire<4>(b_ring_4, v783);
            if (can_map(b_a, d_k)) {
              const i64 left_ring_a_bf16_4x128x64 = (d_m / 4ll) - (v778);
              filling.bytes += left_ring_a_bf16_4x128x64 <= 16 ? 2048 : left_ring_a_bf16_4x128x64 <= 64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v784 * 8192 + s * 8192, left_ring_a_bf16_4x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_4x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v784), (int)(v786) + s * 64, (int)(v778));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v784 * 8192, b_a, d_k, (d_m / 4ll), d_k, v778, v786);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 32768;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v784 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v784), (int)(v780) + s * 64, (int)(v786));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v784 * 16384, b_b, d_n, d_k, d_n, v786, v780);
            }
            ring_fill<4, 256>(b_ring_4, v783, filling);
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
      const i64 v788 = (i64)blockIdx.x * 4ll;
      i64 v789 = (i64)rank;
      asm volatile("" : "+l"(v789));
      const i64 v790 = v788 + v789;
      const i64 v792 = v789 % 4ll;
      const bool v793 = (u64)b_slices % 16 == 0;
      const bool v794 = (u64)b_bias % 16 == 0;
      const bool v795 = v793 & v794;
      const bool v796 = (u64)b_out % 16 == 0;
      const bool v797 = v795 & v796;
      i64 v798 = d_n;
      asm volatile("" : "+l"(v798));
      const i64 v799 = v798 > 0ll ? v798 : 0ll;
      const i64 v800 = v799 % 8ll;
      const bool v801 = v800 == 0ll;
      const bool v802 = v797 & v801;
      const i64 v803 = v798 % 8ll;
      const bool v804 = v803 == 0ll;
      const bool v805 = v802 & v804;
      i64 v806 = d_m;
      asm volatile("" : "+l"(v806));
      const i64 v807 = v806 / 4ll;
      const i64 v808 = v807 > 0ll ? v807 : 0ll;
      const i64 v809 = v808 * v799;
      const i64 v810 = v809 / 3072ll;
      const i64 v811 = v809 + 3071ll;
      const i64 v812 = v811 / 3072ll;
      const i64 v813 = v789 * v807;
      Vec<float, 8> v814;
      #pragma unroll
      for (int l = 0; l < 8; l++) v814.v[l] = 5e-1f;
      __syncthreads();
      const u32 v815 = *(b_epoch + 0ll);
      const u32 v816 = v815 + 1u;
      *(b_epoch + 0ll) = v816;
      if (threadIdx.x < 1) {
        const i64 v817 = threadIdx.x;
        signal_set_release_gpu(b_flags + v790, v816);
      }
      #pragma unroll 1
      for (i64 v818 = threadIdx.x; v818 < (i64)gridDim.x; v818 += 384) {
        const i64 v819 = v818 * 4ll;
        const i64 v820 = v819 + v792;
        wait_acquire_gpu(b_flags + v820, v816, watch, (u32)(v792), 6u, (u32)(v820), 5u);
      }
      __syncthreads();
      if (v805) {
        i64 v821 = d_m;
        asm volatile("" : "+l"(v821));
        const i64 v822 = v821 / 4ll;
        const i64 v823 = v822 > 0ll ? v822 : 0ll;
        i64 v824 = d_n;
        asm volatile("" : "+l"(v824));
        const i64 v825 = v824 > 0ll ? v824 : 0ll;
        const i64 v826 = v823 * v825;
        const i64 v827 = v826 / 3072ll;
        const i64 v829 = (i64)gridDim.x * 4ll;
        const i64 v831 = (i64)gridDim.x * 2ll;
        const i64 v832 = (i64)gridDim.x * 3ll;
        i64 v833 = (i64)rank;
        asm volatile("" : "+l"(v833));
        const i64 v834 = v833 * v822;
        Vec<float, 8> v835;
        #pragma unroll
        for (int l = 0; l < 8; l++) v835.v[l] = 5e-1f;
        const i64 v836 = quotient(v827, v829);
        #pragma unroll 1
        for (i64 v837 = 0ll; v837 < v836; v837++) {
          const i64 v838 = v837 * v829;
          const i64 v839 = v838 + (i64)blockIdx.x;
          const i64 v840 = v839 * 3072ll;
          const i64 v841 = v839 + (i64)gridDim.x;
          const i64 v842 = v841 * 3072ll;
          const i64 v843 = v839 + v831;
          const i64 v844 = v843 * 3072ll;
          const i64 v845 = v839 + v832;
          const i64 v846 = v845 * 3072ll;
          {
            const i64 v847 = threadIdx.x;
            const i64 v848 = v847 * 8ll;
            const i64 v849 = v840 + v848;
            const i64 v850 = v842 + v848;
            const i64 v851 = v844 + v848;
            const i64 v852 = v846 + v848;
            const i64 v853 = v849 - quotient(v849, v825) * v825;
            const i64 v854 = v850 - quotient(v850, v825) * v825;
            const i64 v855 = v851 - quotient(v851, v825) * v825;
            const i64 v856 = v852 - quotient(v852, v825) * v825;
            const i64 v857 = quotient(v849, v825);
            const i64 v858 = quotient(v850, v825);
            const i64 v859 = quotient(v851, v825);
            const i64 v860 = quotient(v852, v825);
            const i64 v861 = v857 + v834;
            const i64 v862 = v858 + v834;
            const i64 v863 = v859 + v834;
            const i64 v864 = v860 + v834;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v866;
            for (int l = 0; l < 8; l++) v866.v[l] = 0e+0f;
            for (i64 v865 = 0ll; v865 < v92; v865++) {
              const i64 v867 = v865 * v822;
              const i64 v868 = v867 + v857;
              const i64 v869 = v868 * d_n;
              const i64 v870 = v869 + v853;
              const Vec<float, 8> v871 = load_vec<float, 8>(b_slices + v870);
              for (int l = 0; l < 8; l++) v866.v[l] = v866.v[l] + v871.v[l];
            }
            Vec<float, 8> v873;
            for (int l = 0; l < 8; l++) v873.v[l] = 0e+0f;
            for (i64 v872 = 0ll; v872 < v92; v872++) {
              const i64 v874 = v872 * v822;
              const i64 v875 = v874 + v858;
              const i64 v876 = v875 * d_n;
              const i64 v877 = v876 + v854;
              const Vec<float, 8> v878 = load_vec<float, 8>(b_slices + v877);
              for (int l = 0; l < 8; l++) v873.v[l] = v873.v[l] + v878.v[l];
            }
            Vec<float, 8> v880;
            for (int l = 0; l < 8; l++) v880.v[l] = 0e+0f;
            for (i64 v879 = 0ll; v879 < v92; v879++) {
              const i64 v881 = v879 * v822;
              const i64 v882 = v881 + v859;
              const i64 v883 = v882 * d_n;
              const i64 v884 = v883 + v855;
              const Vec<float, 8> v885 = load_vec<float, 8>(b_slices + v884);
              for (int l = 0; l < 8; l++) v880.v[l] = v880.v[l] + v885.v[l];
            }
            Vec<float, 8> v887;
            for (int l = 0; l < 8; l++) v887.v[l] = 0e+0f;
            for (i64 v886 = 0ll; v886 < v92; v886++) {
              const i64 v888 = v886 * v822;
              const i64 v889 = v888 + v860;
              const i64 v890 = v889 * d_n;
              const i64 v891 = v890 + v856;
              const Vec<float, 8> v892 = load_vec<float, 8>(b_slices + v891);
              for (int l = 0; l < 8; l++) v887.v[l] = v887.v[l] + v892.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v893;
            #pragma unroll
            for (int l = 0; l < 8; l++) v893.v[l] = v835.v[l] * v866.v[l];
            Vec<float, 8> v894;
            #pragma unroll
            for (int l = 0; l < 8; l++) v894.v[l] = v835.v[l] * v873.v[l];
            Vec<float, 8> v895;
            #pragma unroll
            for (int l = 0; l < 8; l++) v895.v[l] = v835.v[l] * v880.v[l];
            Vec<float, 8> v896;
            #pragma unroll
            for (int l = 0; l < 8; l++) v896.v[l] = v835.v[l] * v887.v[l];
            const i64 v897 = v857 * d_n;
            const i64 v898 = v858 * d_n;
            const i64 v899 = v859 * d_n;
            const i64 v900 = v860 * d_n;
            const i64 v901 = v897 + v853;
            const i64 v902 = v898 + v854;
            const i64 v903 = v899 + v855;
            const i64 v904 = v900 + v856;
            const Vec<u16, 8> v905 = load_vec<u16, 8>(b_bias + v901);
            const Vec<u16, 8> v906 = load_vec<u16, 8>(b_bias + v902);
            const Vec<u16, 8> v907 = load_vec<u16, 8>(b_bias + v903);
            const Vec<u16, 8> v908 = load_vec<u16, 8>(b_bias + v904);
            Vec<float, 8> v909;
            #pragma unroll
            for (int l = 0; l < 8; l++) v909.v[l] = bf16_to_f32(v905.v[l]);
            Vec<float, 8> v910;
            #pragma unroll
            for (int l = 0; l < 8; l++) v910.v[l] = bf16_to_f32(v906.v[l]);
            Vec<float, 8> v911;
            #pragma unroll
            for (int l = 0; l < 8; l++) v911.v[l] = bf16_to_f32(v907.v[l]);
            Vec<float, 8> v912;
            #pragma unroll
            for (int l = 0; l < 8; l++) v912.v[l] = bf16_to_f32(v908.v[l]);
            Vec<float, 8> v913;
            #pragma unroll
            for (int l = 0; l < 8; l++) v913.v[l] = v893.v[l] + v909.v[l];
            Vec<float, 8> v914;
            #pragma unroll
            for (int l = 0; l < 8; l++) v914.v[l] = v894.v[l] + v910.v[l];
            Vec<float, 8> v915;
            #pragma unroll
            for (int l = 0; l < 8; l++) v915.v[l] = v895.v[l] + v911.v[l];
            Vec<float, 8> v916;
            #pragma unroll
            for (int l = 0; l < 8; l++) v916.v[l] = v896.v[l] + v912.v[l];
            Vec<float, 8> v917;
            #pragma unroll
            for (int l = 0; l < 8; l++) v917.v[l] = fn_silu(v913.v[l]);
            Vec<float, 8> v918;
            #pragma unroll
            for (int l = 0; l < 8; l++) v918.v[l] = fn_silu(v914.v[l]);
            Vec<float, 8> v919;
            #pragma unroll
            for (int l = 0; l < 8; l++) v919.v[l] = fn_silu(v915.v[l]);
            Vec<float, 8> v920;
            #pragma unroll
            for (int l = 0; l < 8; l++) v920.v[l] = fn_silu(v916.v[l]);
            Vec<u16, 8> v921;
            #pragma unroll
            for (int l = 0; l < 8; l++) v921.v[l] = f32_to_bf16(v917.v[l]);
            Vec<u16, 8> v922;
            #pragma unroll
            for (int l = 0; l < 8; l++) v922.v[l] = f32_to_bf16(v918.v[l]);
            Vec<u16, 8> v923;
            #pragma unroll
            for (int l = 0; l < 8; l++) v923.v[l] = f32_to_bf16(v919.v[l]);
            Vec<u16, 8> v924;
            #pragma unroll
            for (int l = 0; l < 8; l++) v924.v[l] = f32_to_bf16(v920.v[l]);
            const i64 v925 = v861 * d_n;
            const i64 v926 = v862 * d_n;
            const i64 v927 = v863 * d_n;
            const i64 v928 = v864 * d_n;
            const i64 v929 = v925 + v853;
            const i64 v930 = v926 + v854;
            const i64 v931 = v927 + v855;
            const i64 v932 = v928 + v856;
            store_vec(((u16*)b_out_peers.p[0ll]) + v929, v921);
            store_vec(((u16*)b_out_peers.p[0ll]) + v930, v922);
            store_vec(((u16*)b_out_peers.p[0ll]) + v931, v923);
            store_vec(((u16*)b_out_peers.p[0ll]) + v932, v924);
          }
        }
        const i64 v933 = v836 * v829;
        #pragma unroll 1
        for (i64 v934 = v933 + ((i64)blockIdx.x - v933 % gridDim.x + gridDim.x) % gridDim.x; v934 < v827; v934 += gridDim.x) {
          const i64 v935 = v934 * 3072ll;
          {
            const i64 v936 = threadIdx.x;
            const i64 v937 = v936 * 8ll;
            const i64 v938 = v935 + v937;
            const i64 v939 = v938 - quotient(v938, v825) * v825;
            const i64 v940 = quotient(v938, v825);
            const i64 v941 = v940 + v834;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v943;
            for (int l = 0; l < 8; l++) v943.v[l] = 0e+0f;
            for (i64 v942 = 0ll; v942 < v92; v942++) {
              const i64 v944 = v942 * v822;
              const i64 v945 = v944 + v940;
              const i64 v946 = v945 * d_n;
              const i64 v947 = v946 + v939;
              const Vec<float, 8> v948 = load_vec<float, 8>(b_slices + v947);
              for (int l = 0; l < 8; l++) v943.v[l] = v943.v[l] + v948.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v949;
            #pragma unroll
            for (int l = 0; l < 8; l++) v949.v[l] = v835.v[l] * v943.v[l];
            const i64 v950 = v940 * d_n;
            const i64 v951 = v950 + v939;
            const Vec<u16, 8> v952 = load_vec<u16, 8>(b_bias + v951);
            Vec<float, 8> v953;
            #pragma unroll
            for (int l = 0; l < 8; l++) v953.v[l] = bf16_to_f32(v952.v[l]);
            Vec<float, 8> v954;
            #pragma unroll
            for (int l = 0; l < 8; l++) v954.v[l] = v949.v[l] + v953.v[l];
            Vec<float, 8> v955;
            #pragma unroll
            for (int l = 0; l < 8; l++) v955.v[l] = fn_silu(v954.v[l]);
            Vec<u16, 8> v956;
            #pragma unroll
            for (int l = 0; l < 8; l++) v956.v[l] = f32_to_bf16(v955.v[l]);
            const i64 v957 = v941 * d_n;
            const i64 v958 = v957 + v939;
            store_vec(((u16*)b_out_peers.p[0ll]) + v958, v956);
          }
        }
      } else {
        i64 v959 = d_m;
        asm volatile("" : "+l"(v959));
        const i64 v960 = v959 / 4ll;
        const i64 v961 = v960 > 0ll ? v960 : 0ll;
        i64 v962 = d_n;
        asm volatile("" : "+l"(v962));
        const i64 v963 = v962 > 0ll ? v962 : 0ll;
        const i64 v964 = v961 * v963;
        const i64 v965 = v964 / 3072ll;
        i64 v966 = (i64)rank;
        asm volatile("" : "+l"(v966));
        const i64 v967 = v966 * v960;
        #pragma unroll 1
        for (i64 v968 = blockIdx.x; v968 < v965; v968 += gridDim.x) {
          const i64 v969 = v968 * 3072ll;
          #pragma unroll 1
          for (i64 v970 = threadIdx.x; v970 < 3072ll; v970 += 384) {
            const i64 v971 = v969 + v970;
            const i64 v972 = v971 - quotient(v971, v963) * v963;
            const i64 v973 = quotient(v971, v963);
            const i64 v974 = v973 + v967;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v976;
            v976 = 0e+0f;
            for (i64 v975 = 0ll; v975 < v92; v975++) {
              const i64 v977 = v975 * v960;
              const i64 v978 = v977 + v973;
              const i64 v979 = v978 * d_n;
              const i64 v980 = v979 + v972;
              const float v981 = *(b_slices + v980);
              v976 = v976 + v981;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v982 = 5e-1f * v976;
            const i64 v983 = v973 * d_n;
            const i64 v984 = v983 + v972;
            const u16 v985 = *(b_bias + v984);
            const float v986 = bf16_to_f32(v985);
            const float v987 = v982 + v986;
            const float v988 = fn_silu(v987);
            const u16 v989 = f32_to_bf16(v988);
            const i64 v990 = v974 * d_n;
            const i64 v991 = v990 + v972;
            *(((u16*)b_out_peers.p[0ll]) + v991) = v989;
          }
        }
      }
      if (v805) {
        #pragma unroll 1
        for (i64 v992 = v810 + ((i64)blockIdx.x - v810 % gridDim.x + gridDim.x) % gridDim.x; v992 < v812; v992 += gridDim.x) {
          const i64 v993 = v992 * 3072ll;
          const i64 v994 = v809 - v993;
          const i64 v995 = v994 / 8ll;
          const i64 v996 = v995 * 8ll;
          #pragma unroll 1
          for (i64 v997 = threadIdx.x; v997 < v995; v997 += 384) {
            const i64 v998 = v997 * 8ll;
            const i64 v999 = v993 + v998;
            const i64 v1000 = v999 - quotient(v999, v799) * v799;
            const i64 v1001 = quotient(v999, v799);
            const i64 v1002 = v1001 + v813;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v1004;
            for (int l = 0; l < 8; l++) v1004.v[l] = 0e+0f;
            for (i64 v1003 = 0ll; v1003 < v92; v1003++) {
              const i64 v1005 = v1003 * v807;
              const i64 v1006 = v1005 + v1001;
              const i64 v1007 = v1006 * d_n;
              const i64 v1008 = v1007 + v1000;
              const Vec<float, 8> v1009 = load_vec<float, 8>(b_slices + v1008);
              for (int l = 0; l < 8; l++) v1004.v[l] = v1004.v[l] + v1009.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v1010;
            #pragma unroll
            for (int l = 0; l < 8; l++) v1010.v[l] = v814.v[l] * v1004.v[l];
            const i64 v1011 = v1001 * d_n;
            const i64 v1012 = v1011 + v1000;
            const Vec<u16, 8> v1013 = load_vec<u16, 8>(b_bias + v1012);
            Vec<float, 8> v1014;
            #pragma unroll
            for (int l = 0; l < 8; l++) v1014.v[l] = bf16_to_f32(v1013.v[l]);
            Vec<float, 8> v1015;
            #pragma unroll
            for (int l = 0; l < 8; l++) v1015.v[l] = v1010.v[l] + v1014.v[l];
            Vec<float, 8> v1016;
            #pragma unroll
            for (int l = 0; l < 8; l++) v1016.v[l] = fn_silu(v1015.v[l]);
            Vec<u16, 8> v1017;
            #pragma unroll
            for (int l = 0; l < 8; l++) v1017.v[l] = f32_to_bf16(v1016.v[l]);
            const i64 v1018 = v1002 * d_n;
            const i64 v1019 = v1018 + v1000;
            store_vec(((u16*)b_out_peers.p[0ll]) + v1019, v1017);
          }
          #pragma unroll 1
          for (i64 v1020 = v996 + threadIdx.x; v1020 < v994; v1020 += 384) {
            const i64 v1021 = v993 + v1020;
            const i64 v1022 = v1021 - quotient(v1021, v799) * v799;
            const i64 v1023 = quotient(v1021, v799);
            const i64 v1024 = v1023 + v813;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v1026;
            v1026 = 0e+0f;
            for (i64 v1025 = 0ll; v1025 < v92; v1025++) {
              const i64 v1027 = v1025 * v807;
              const i64 v1028 = v1027 + v1023;
              const i64 v1029 = v1028 * d_n;
              const i64 v1030 = v1029 + v1022;
              const float v1031 = *(b_slices + v1030);
              v1026 = v1026 + v1031;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v1032 = 5e-1f * v1026;
            const i64 v1033 = v1023 * d_n;
            const i64 v1034 = v1033 + v1022;
            const u16 v1035 = *(b_bias + v1034);
            const float v1036 = bf16_to_f32(v1035);
            const float v1037 = v1032 + v1036;
            const float v1038 = fn_silu(v1037);
            const u16 v1039 = f32_to_bf16(v1038);
            const i64 v1040 = v1024 * d_n;
            const i64 v1041 = v1040 + v1022;
            *(((u16*)b_out_peers.p[0ll]) + v1041) = v1039;
          }
        }
      } else {
        #pragma unroll 1
        for (i64 v1042 = v810 + ((i64)blockIdx.x - v810 % gridDim.x + gridDim.x) % gridDim.x; v1042 < v812; v1042 += gridDim.x) {
          const i64 v1043 = v1042 * 3072ll;
          const i64 v1044 = v809 - v1043;
          #pragma unroll 1
          for (i64 v1045 = threadIdx.x; v1045 < v1044; v1045 += 384) {
            const i64 v1046 = v1043 + v1045;
            const i64 v1047 = v1046 - quotient(v1046, v799) * v799;
            const i64 v1048 = quotient(v1046, v799);
            const i64 v1049 = v1048 + v813;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v1051;
            v1051 = 0e+0f;
            for (i64 v1050 = 0ll; v1050 < v92; v1050++) {
              const i64 v1052 = v1050 * v807;
              const i64 v1053 = v1052 + v1048;
              const i64 v1054 = v1053 * d_n;
              const i64 v1055 = v1054 + v1047;
              const float v1056 = *(b_slices + v1055);
              v1051 = v1051 + v1056;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v1057 = 5e-1f * v1051;
            const i64 v1058 = v1048 * d_n;
            const i64 v1059 = v1058 + v1047;
            const u16 v1060 = *(b_bias + v1059);
            const float v1061 = bf16_to_f32(v1060);
            const float v1062 = v1057 + v1061;
            const float v1063 = fn_silu(v1062);
            const u16 v1064 = f32_to_bf16(v1063);
            const i64 v1065 = v1049 * d_n;
            const i64 v1066 = v1065 + v1047;
            *(((u16*)b_out_peers.p[0ll]) + v1066) = v1064;
          }
        }
      }
    }
  }
  i64 v1067 = (i64)rank;
  asm volatile("" : "+l"(v1067));
  const bool v1068 = v1067 == 1ll;
  const bool v1069 = v1067 == 2ll;
  const bool v1070 = v1067 == 3ll;
  const i64 v1072 = (i64)blockIdx.x * 4ll;
  const i64 v1073 = v1072 + v1067;
  const bool v1074 = v1067 == 0ll;
  __syncthreads();
  const u32 v1076 = *(b_epoch + 0ll);
  const u32 v1077 = v1076 + 1u;
  *(b_epoch + 0ll) = v1077;
  if (threadIdx.x < 4) {
    const i64 v1078 = threadIdx.x;
    const bool v1079 = v1078 == 0ll;
    const bool v1080 = v1068 & v1079;
    const bool v1081 = v1069 & v1079;
    const bool v1082 = v1070 & v1079;
    const bool v1083 = v1080 | v1081;
    const bool v1084 = v1083 | v1082;
    if (v1084) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v1078]) + v1073, v1077);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v1085 = threadIdx.x;
    const bool v1086 = v1085 == 1ll;
    const bool v1087 = v1074 & v1086;
    const bool v1088 = v1085 == 2ll;
    const bool v1089 = v1074 & v1088;
    const bool v1090 = v1085 == 3ll;
    const bool v1091 = v1074 & v1090;
    const bool v1092 = v1087 | v1089;
    const bool v1093 = v1092 | v1091;
    const i64 v1094 = v1072 + v1085;
    if (v1093) {
      wait_acquire_sys(b_flags + v1094, v1077, watch, (u32)(v1085), 6u, (u32)(v1094), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v1095 = threadIdx.x;
    const i64 v1096 = v1095 - quotient(v1095, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v1097 = v1096 == (i64)blockIdx.x;
    if (v1097) {
      const u32 v1098 = *(b_epoch + 0ll);
      *(b_epochs + v1095) = v1098;
    }
  }
}
