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
          const i64 v140 = v133 - v136 * v131;
          const i64 qv141 = quotient(v140, v139);
          const i64 v141 = v140 - qv141 * v139;
          const i64 v142 = v137 + v141;
          const i64 v143 = v142 * 128ll;
          const i64 v145 = qv141 * 64ll;
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
          const i64 v241 = v234 - v237 * v233;
          const i64 qv242 = quotient(v241, v240);
          const i64 v242 = v241 - qv242 * v240;
          const i64 v243 = v238 + v242;
          const i64 v244 = v243 * 128ll;
          const i64 v246 = qv242 * 64ll;
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
          const i64 qv269 = quotient(v266, v260);
          const i64 v269 = v266 - qv269 * v260;
          const i64 v270 = quotient(v269, v262);
          const i64 v271 = v270 * 8ll;
          const i64 v272 = v258 - v271;
          const i64 v273 = 8ll < v272 ? 8ll : v272;
          const i64 v274 = v269 - v270 * v262;
          const i64 qv275 = quotient(v274, v273);
          const i64 v275 = v274 - qv275 * v273;
          const i64 v276 = v271 + v275;
          const i64 v277 = v276 * 128ll;
          const i64 v279 = qv275 * 256ll;
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
          const bool v289 = (u64)b_slices % 16 == 0;
          i64 v290 = d_n;
          asm volatile("" : "+l"(v290));
          const i64 v291 = v290 % 4ll;
          const bool v292 = v291 == 0ll;
          const bool v293 = v289 & v292;
          const i64 v294 = v290 % 4ll;
          const bool v295 = v294 == 0ll;
          const bool v296 = v293 & v295;
          const bool v297 = (u64)b_bias % 16 == 0;
          const bool v298 = (u64)b_out % 16 == 0;
          const bool v299 = v297 & v298;
          const i64 v300 = v290 % 8ll;
          const bool v301 = v300 == 0ll;
          const bool v302 = v299 & v301;
          const i64 v303 = v290 % 8ll;
          const bool v304 = v303 == 0ll;
          const bool v305 = v302 & v304;
          i64 v306 = (i64)rank;
          asm volatile("" : "+l"(v306));
          const i64 v307 = v306 * v287;
          Vec<float, 8> v308;
          #pragma unroll
          for (int l = 0; l < 8; l++) v308.v[l] = 5e-1f;
          wgmma_end_128(b_accumulator_128x256);
          const i64 v309 = v268 + v87;
          const i64 v310 = v309 - 1ll;
          if (v264) {
            ring_release<4>(b_ring_4, v310);
          }
          const i64 v311 = v287 - v277;
          const i64 v312 = d_n - v279;
          const i64 v313 = qv269 * v288;
          if (v93) {
            const u32 tv314 = thread_here();
            float* const pv314 = (float*)(b_patch_128x40 + tv314 / 32 * 640);
            #pragma unroll 1
            for (u32 cv314 = 0; cv314 < 8; cv314++) {
              put_fragment_256_f32(pv314, b_accumulator_128x256, cv314, tv314 % 32);
              if (v296) {
                #pragma unroll 4
                for (u32 lv314 = tv314 % 32; lv314 < 128; lv314 += 32) {
                  const i64 v314 = (tv314 / 32 * 16 + lv314 / 8) * 64 + cv314 * 8 + lv314 % 8;
                  const i64 v315 = v314 * 4ll;
                  const i64 v316 = v315 / 256ll;
                  const i64 v317 = v315 % 256ll;
                  const bool v318 = v316 < v311;
                  const bool v319 = v317 < v312;
                  const bool v320 = v318 & v319;
                  const i64 v321 = v277 + v316;
                  const i64 v322 = v279 + v317;
                  const i64 v323 = v316 * 256ll;
                  const i64 v324 = v323 + v317;
                  const i64 v325 = v313 + v321;
                  const i64 v326 = v325 * d_n;
                  const i64 v327 = v326 + v322;
                  if (v320) {
                    const Vec<float, 4> v328 = load_vec<float, 4>(pv314 + lv314 / 8 * 40 + lv314 % 8 * 4);
                    store_vec(b_slices + v327, v328);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv329 = tv314 % 32; lv329 < 512; lv329 += 32) {
                  const i64 v329 = (tv314 / 32 * 16 + lv329 / 32) * 256 + cv314 * 32 + lv329 % 32;
                  const i64 v330 = v329 / 256ll;
                  const i64 v331 = v329 % 256ll;
                  const bool v332 = v330 < v311;
                  const bool v333 = v331 < v312;
                  const bool v334 = v332 & v333;
                  const i64 v335 = v277 + v330;
                  const i64 v336 = v279 + v331;
                  const i64 v337 = v330 * 256ll;
                  const i64 v338 = v337 + v331;
                  const i64 v339 = v313 + v335;
                  const i64 v340 = v339 * d_n;
                  const i64 v341 = v340 + v336;
                  if (v334) {
                    const float v342 = *(pv314 + lv329 / 32 * 40 + lv329 % 32 * 1);
                    *(b_slices + v341) = v342;
                  }
                }
              }
            }
          } else {
            const u32 tv343 = thread_here();
            float* const pv343 = (float*)(b_patch_128x40 + tv343 / 32 * 640);
            #pragma unroll 1
            for (u32 cv343 = 0; cv343 < 8; cv343++) {
              put_fragment_256_f32(pv343, b_accumulator_128x256, cv343, tv343 % 32);
              if (v305) {
                #pragma unroll 2
                for (u32 lv343 = tv343 % 32; lv343 < 64; lv343 += 32) {
                  const i64 v343 = (tv343 / 32 * 16 + lv343 / 4) * 32 + cv343 * 4 + lv343 % 4;
                  const i64 v344 = v343 * 8ll;
                  const i64 v345 = v344 / 256ll;
                  const i64 v346 = v344 % 256ll;
                  const bool v347 = v345 < v311;
                  const bool v348 = v346 < v312;
                  const bool v349 = v347 & v348;
                  const i64 v350 = v277 + v345;
                  const i64 v351 = v279 + v346;
                  const i64 v352 = v350 + v307;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v353 = v345 * 256ll;
                  const i64 v354 = v353 + v346;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v355 = v350 * d_n;
                  const i64 v356 = v355 + v351;
                  const i64 v357 = v352 * d_n;
                  const i64 v358 = v357 + v351;
                  if (v349) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v359 = load_vec<float, 8>(pv343 + lv343 / 4 * 40 + lv343 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v360;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v360.v[l] = v308.v[l] * v359.v[l];
                    const Vec<u16, 8> v361 = load_vec<u16, 8>(b_bias + v356);
                    Vec<float, 8> v362;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v362.v[l] = bf16_to_f32(v361.v[l]);
                    Vec<float, 8> v363;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v363.v[l] = v360.v[l] + v362.v[l];
                    Vec<float, 8> v364;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v364.v[l] = fn_silu(v363.v[l]);
                    Vec<u16, 8> v365;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v365.v[l] = f32_to_bf16(v364.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v358, v365);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv366 = tv343 % 32; lv366 < 512; lv366 += 32) {
                  const i64 v366 = (tv343 / 32 * 16 + lv366 / 32) * 256 + cv343 * 32 + lv366 % 32;
                  const i64 v367 = v366 / 256ll;
                  const i64 v368 = v366 % 256ll;
                  const bool v369 = v367 < v311;
                  const bool v370 = v368 < v312;
                  const bool v371 = v369 & v370;
                  const i64 v372 = v277 + v367;
                  const i64 v373 = v279 + v368;
                  const i64 v374 = v372 + v307;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v375 = v367 * 256ll;
                  const i64 v376 = v375 + v368;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v377 = v372 * d_n;
                  const i64 v378 = v377 + v373;
                  const i64 v379 = v374 * d_n;
                  const i64 v380 = v379 + v373;
                  if (v371) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v381 = *(pv343 + lv366 / 32 * 40 + lv366 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v382 = 5e-1f * v381;
                    const u16 v383 = *(b_bias + v378);
                    const float v384 = bf16_to_f32(v383);
                    const float v385 = v382 + v384;
                    const float v386 = fn_silu(v385);
                    const u16 v387 = f32_to_bf16(v386);
                    *(((u16*)b_out_peers.p[0ll]) + v380) = v387;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v388 = d_m;
        asm volatile("" : "+l"(v388));
        const i64 v389 = v388 / 4ll;
        const i64 v390 = v389 > 0ll ? v389 : 0ll;
        const i64 v391 = v390 + 127ll;
        i64 v392 = d_n;
        asm volatile("" : "+l"(v392));
        const i64 v393 = v392 > 0ll ? v392 : 0ll;
        const i64 v394 = v393 + 255ll;
        const i64 v395 = v391 / 128ll;
        const i64 v396 = v394 / 256ll;
        const i64 v397 = v395 * v396;
        const i64 v399 = 8ll * v396;
        const i64 v400 = v397 * v92;
        #pragma unroll 1
        for (i64 v401 = blockIdx.x; v401 < v400; v401 += gridDim.x) {
          const i64 v402 = quotient(v401, (i64)gridDim.x);
          const i64 v403 = v402 * v87;
          const i64 qv404 = quotient(v401, v397);
          const i64 v404 = v401 - qv404 * v397;
          const i64 v405 = quotient(v404, v399);
          const i64 v406 = v405 * 8ll;
          const i64 v407 = v395 - v406;
          const i64 v408 = 8ll < v407 ? 8ll : v407;
          const i64 v409 = v404 - v405 * v399;
          const i64 qv410 = quotient(v409, v408);
          const i64 v410 = v409 - qv410 * v408;
          const i64 v411 = v406 + v410;
          const i64 v412 = v411 * 128ll;
          const i64 v414 = qv410 * 256ll;
          const i64 v416 = qv404 * v87;
          #pragma unroll 1
          for (i64 v417 = 0ll; v417 < v87; v417++) {
            const i64 v418 = v403 + v417;
            const i64 v419 = v418 % 4ll;
            const i64 v420 = v416 + v417;
            const i64 v421 = v420 * 64ll;
            ring_acquire<4>(b_ring_4, v418);
            if (can_map(b_a, d_k)) {
              const bool is_half_ring_a_bf16_4x128x64 = v412 + 64 >= (d_m / 4ll);
              filling.bytes += is_half_ring_a_bf16_4x128x64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v419 * 8192 + s * 8192, is_half_ring_a_bf16_4x128x64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v419), (int)(v421) + s * 64, (int)(v412));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v419 * 8192, b_a, d_k, (d_m / 4ll), d_k, v412, v421);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 32768;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v419 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v419), (int)(v414) + s * 64, (int)(v421));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v419 * 16384, b_b, d_n, d_k, d_n, v421, v414);
            }
            ring_fill<4, 256>(b_ring_4, v418, filling);
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
      const i64 v423 = (i64)blockIdx.x * 4ll;
      i64 v424 = (i64)rank;
      asm volatile("" : "+l"(v424));
      const i64 v425 = v423 + v424;
      const i64 v427 = v424 % 4ll;
      const bool v428 = (u64)b_slices % 16 == 0;
      const bool v429 = (u64)b_bias % 16 == 0;
      const bool v430 = v428 & v429;
      const bool v431 = (u64)b_out % 16 == 0;
      const bool v432 = v430 & v431;
      i64 v433 = d_n;
      asm volatile("" : "+l"(v433));
      const i64 v434 = v433 > 0ll ? v433 : 0ll;
      const i64 v435 = v434 % 8ll;
      const bool v436 = v435 == 0ll;
      const bool v437 = v432 & v436;
      const i64 v438 = v433 % 8ll;
      const bool v439 = v438 == 0ll;
      const bool v440 = v437 & v439;
      i64 v441 = d_m;
      asm volatile("" : "+l"(v441));
      const i64 v442 = v441 / 4ll;
      const i64 v443 = v442 > 0ll ? v442 : 0ll;
      const i64 v444 = v443 * v434;
      const i64 v445 = v444 / 3072ll;
      const i64 v446 = v444 + 3071ll;
      const i64 v447 = v446 / 3072ll;
      const i64 v448 = v424 * v442;
      Vec<float, 8> v449;
      #pragma unroll
      for (int l = 0; l < 8; l++) v449.v[l] = 5e-1f;
      __syncthreads();
      const u32 v450 = *(b_epoch + 0ll);
      const u32 v451 = v450 + 1u;
      *(b_epoch + 0ll) = v451;
      if (threadIdx.x < 1) {
        const i64 v452 = threadIdx.x;
        signal_set_release_gpu(b_flags + v425, v451);
      }
      #pragma unroll 1
      for (i64 v453 = threadIdx.x; v453 < (i64)gridDim.x; v453 += 384) {
        const i64 v454 = v453 * 4ll;
        const i64 v455 = v454 + v427;
        wait_acquire_gpu(b_flags + v455, v451, watch, (u32)(v427), 5u, (u32)(v455), 5u);
      }
      __syncthreads();
      if (v440) {
        i64 v456 = d_m;
        asm volatile("" : "+l"(v456));
        const i64 v457 = v456 / 4ll;
        const i64 v458 = v457 > 0ll ? v457 : 0ll;
        i64 v459 = d_n;
        asm volatile("" : "+l"(v459));
        const i64 v460 = v459 > 0ll ? v459 : 0ll;
        const i64 v461 = v458 * v460;
        const i64 v462 = v461 / 3072ll;
        const i64 v464 = (i64)gridDim.x * 4ll;
        const i64 v466 = (i64)gridDim.x * 2ll;
        const i64 v467 = (i64)gridDim.x * 3ll;
        i64 v468 = (i64)rank;
        asm volatile("" : "+l"(v468));
        const i64 v469 = v468 * v457;
        Vec<float, 8> v470;
        #pragma unroll
        for (int l = 0; l < 8; l++) v470.v[l] = 5e-1f;
        const i64 v471 = quotient(v462, v464);
        #pragma unroll 1
        for (i64 v472 = 0ll; v472 < v471; v472++) {
          const i64 v473 = v472 * v464;
          const i64 v474 = v473 + (i64)blockIdx.x;
          const i64 v475 = v474 * 3072ll;
          const i64 v476 = v474 + (i64)gridDim.x;
          const i64 v477 = v476 * 3072ll;
          const i64 v478 = v474 + v466;
          const i64 v479 = v478 * 3072ll;
          const i64 v480 = v474 + v467;
          const i64 v481 = v480 * 3072ll;
          {
            const i64 v482 = threadIdx.x;
            const i64 v483 = v482 * 8ll;
            const i64 v484 = v475 + v483;
            const i64 v485 = v477 + v483;
            const i64 v486 = v479 + v483;
            const i64 v487 = v481 + v483;
            const i64 qv488 = quotient(v484, v460);
            const i64 v488 = v484 - qv488 * v460;
            const i64 qv489 = quotient(v485, v460);
            const i64 v489 = v485 - qv489 * v460;
            const i64 qv490 = quotient(v486, v460);
            const i64 v490 = v486 - qv490 * v460;
            const i64 qv491 = quotient(v487, v460);
            const i64 v491 = v487 - qv491 * v460;
            const i64 v496 = qv488 + v469;
            const i64 v497 = qv489 + v469;
            const i64 v498 = qv490 + v469;
            const i64 v499 = qv491 + v469;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v501;
            for (int l = 0; l < 8; l++) v501.v[l] = 0e+0f;
            for (i64 v500 = 0ll; v500 < v92; v500++) {
              const i64 v502 = v500 * v457;
              const i64 v503 = v502 + qv488;
              const i64 v504 = v503 * d_n;
              const i64 v505 = v504 + v488;
              const Vec<float, 8> v506 = load_vec<float, 8>(b_slices + v505);
              for (int l = 0; l < 8; l++) v501.v[l] = v501.v[l] + v506.v[l];
            }
            Vec<float, 8> v508;
            for (int l = 0; l < 8; l++) v508.v[l] = 0e+0f;
            for (i64 v507 = 0ll; v507 < v92; v507++) {
              const i64 v509 = v507 * v457;
              const i64 v510 = v509 + qv489;
              const i64 v511 = v510 * d_n;
              const i64 v512 = v511 + v489;
              const Vec<float, 8> v513 = load_vec<float, 8>(b_slices + v512);
              for (int l = 0; l < 8; l++) v508.v[l] = v508.v[l] + v513.v[l];
            }
            Vec<float, 8> v515;
            for (int l = 0; l < 8; l++) v515.v[l] = 0e+0f;
            for (i64 v514 = 0ll; v514 < v92; v514++) {
              const i64 v516 = v514 * v457;
              const i64 v517 = v516 + qv490;
              const i64 v518 = v517 * d_n;
              const i64 v519 = v518 + v490;
              const Vec<float, 8> v520 = load_vec<float, 8>(b_slices + v519);
              for (int l = 0; l < 8; l++) v515.v[l] = v515.v[l] + v520.v[l];
            }
            Vec<float, 8> v522;
            for (int l = 0; l < 8; l++) v522.v[l] = 0e+0f;
            for (i64 v521 = 0ll; v521 < v92; v521++) {
              const i64 v523 = v521 * v457;
              const i64 v524 = v523 + qv491;
              const i64 v525 = v524 * d_n;
              const i64 v526 = v525 + v491;
              const Vec<float, 8> v527 = load_vec<float, 8>(b_slices + v526);
              for (int l = 0; l < 8; l++) v522.v[l] = v522.v[l] + v527.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v528;
            #pragma unroll
            for (int l = 0; l < 8; l++) v528.v[l] = v470.v[l] * v501.v[l];
            Vec<float, 8> v529;
            #pragma unroll
            for (int l = 0; l < 8; l++) v529.v[l] = v470.v[l] * v508.v[l];
            Vec<float, 8> v530;
            #pragma unroll
            for (int l = 0; l < 8; l++) v530.v[l] = v470.v[l] * v515.v[l];
            Vec<float, 8> v531;
            #pragma unroll
            for (int l = 0; l < 8; l++) v531.v[l] = v470.v[l] * v522.v[l];
            const i64 v532 = qv488 * d_n;
            const i64 v533 = qv489 * d_n;
            const i64 v534 = qv490 * d_n;
            const i64 v535 = qv491 * d_n;
            const i64 v536 = v532 + v488;
            const i64 v537 = v533 + v489;
            const i64 v538 = v534 + v490;
            const i64 v539 = v535 + v491;
            const Vec<u16, 8> v540 = load_vec<u16, 8>(b_bias + v536);
            const Vec<u16, 8> v541 = load_vec<u16, 8>(b_bias + v537);
            const Vec<u16, 8> v542 = load_vec<u16, 8>(b_bias + v538);
            const Vec<u16, 8> v543 = load_vec<u16, 8>(b_bias + v539);
            Vec<float, 8> v544;
            #pragma unroll
            for (int l = 0; l < 8; l++) v544.v[l] = bf16_to_f32(v540.v[l]);
            Vec<float, 8> v545;
            #pragma unroll
            for (int l = 0; l < 8; l++) v545.v[l] = bf16_to_f32(v541.v[l]);
            Vec<float, 8> v546;
            #pragma unroll
            for (int l = 0; l < 8; l++) v546.v[l] = bf16_to_f32(v542.v[l]);
            Vec<float, 8> v547;
            #pragma unroll
            for (int l = 0; l < 8; l++) v547.v[l] = bf16_to_f32(v543.v[l]);
            Vec<float, 8> v548;
            #pragma unroll
            for (int l = 0; l < 8; l++) v548.v[l] = v528.v[l] + v544.v[l];
            Vec<float, 8> v549;
            #pragma unroll
            for (int l = 0; l < 8; l++) v549.v[l] = v529.v[l] + v545.v[l];
            Vec<float, 8> v550;
            #pragma unroll
            for (int l = 0; l < 8; l++) v550.v[l] = v530.v[l] + v546.v[l];
            Vec<float, 8> v551;
            #pragma unroll
            for (int l = 0; l < 8; l++) v551.v[l] = v531.v[l] + v547.v[l];
            Vec<float, 8> v552;
            #pragma unroll
            for (int l = 0; l < 8; l++) v552.v[l] = fn_silu(v548.v[l]);
            Vec<float, 8> v553;
            #pragma unroll
            for (int l = 0; l < 8; l++) v553.v[l] = fn_silu(v549.v[l]);
            Vec<float, 8> v554;
            #pragma unroll
            for (int l = 0; l < 8; l++) v554.v[l] = fn_silu(v550.v[l]);
            Vec<float, 8> v555;
            #pragma unroll
            for (int l = 0; l < 8; l++) v555.v[l] = fn_silu(v551.v[l]);
            Vec<u16, 8> v556;
            #pragma unroll
            for (int l = 0; l < 8; l++) v556.v[l] = f32_to_bf16(v552.v[l]);
            Vec<u16, 8> v557;
            #pragma unroll
            for (int l = 0; l < 8; l++) v557.v[l] = f32_to_bf16(v553.v[l]);
            Vec<u16, 8> v558;
            #pragma unroll
            for (int l = 0; l < 8; l++) v558.v[l] = f32_to_bf16(v554.v[l]);
            Vec<u16, 8> v559;
            #pragma unroll
            for (int l = 0; l < 8; l++) v559.v[l] = f32_to_bf16(v555.v[l]);
            const i64 v560 = v496 * d_n;
            const i64 v561 = v497 * d_n;
            const i64 v562 = v498 * d_n;
            const i64 v563 = v499 * d_n;
            const i64 v564 = v560 + v488;
            const i64 v565 = v561 + v489;
            const i64 v566 = v562 + v490;
            const i64 v567 = v563 + v491;
            store_vec(((u16*)b_out_peers.p[0ll]) + v564, v556);
            store_vec(((u16*)b_out_peers.p[0ll]) + v565, v557);
            store_vec(((u16*)b_out_peers.p[0ll]) + v566, v558);
            store_vec(((u16*)b_out_peers.p[0ll]) + v567, v559);
          }
        }
        const i64 v568 = v471 * v464;
        #pragma unroll 1
        for (i64 v569 = v568 + ((i64)blockIdx.x - v568 % gridDim.x + gridDim.x) % gridDim.x; v569 < v462; v569 += gridDim.x) {
          const i64 v570 = v569 * 3072ll;
          {
            const i64 v571 = threadIdx.x;
            const i64 v572 = v571 * 8ll;
            const i64 v573 = v570 + v572;
            const i64 qv574 = quotient(v573, v460);
            const i64 v574 = v573 - qv574 * v460;
            const i64 v576 = qv574 + v469;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v578;
            for (int l = 0; l < 8; l++) v578.v[l] = 0e+0f;
            for (i64 v577 = 0ll; v577 < v92; v577++) {
              const i64 v579 = v577 * v457;
              const i64 v580 = v579 + qv574;
              const i64 v581 = v580 * d_n;
              const i64 v582 = v581 + v574;
              const Vec<float, 8> v583 = load_vec<float, 8>(b_slices + v582);
              for (int l = 0; l < 8; l++) v578.v[l] = v578.v[l] + v583.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v584;
            #pragma unroll
            for (int l = 0; l < 8; l++) v584.v[l] = v470.v[l] * v578.v[l];
            const i64 v585 = qv574 * d_n;
            const i64 v586 = v585 + v574;
            const Vec<u16, 8> v587 = load_vec<u16, 8>(b_bias + v586);
            Vec<float, 8> v588;
            #pragma unroll
            for (int l = 0; l < 8; l++) v588.v[l] = bf16_to_f32(v587.v[l]);
            Vec<float, 8> v589;
            #pragma unroll
            for (int l = 0; l < 8; l++) v589.v[l] = v584.v[l] + v588.v[l];
            Vec<float, 8> v590;
            #pragma unroll
            for (int l = 0; l < 8; l++) v590.v[l] = fn_silu(v589.v[l]);
            Vec<u16, 8> v591;
            #pragma unroll
            for (int l = 0; l < 8; l++) v591.v[l] = f32_to_bf16(v590.v[l]);
            const i64 v592 = v576 * d_n;
            const i64 v593 = v592 + v574;
            store_vec(((u16*)b_out_peers.p[0ll]) + v593, v591);
          }
        }
      } else {
        i64 v594 = d_m;
        asm volatile("" : "+l"(v594));
        const i64 v595 = v594 / 4ll;
        const i64 v596 = v595 > 0ll ? v595 : 0ll;
        i64 v597 = d_n;
        asm volatile("" : "+l"(v597));
        const i64 v598 = v597 > 0ll ? v597 : 0ll;
        const i64 v599 = v596 * v598;
        const i64 v600 = v599 / 3072ll;
        i64 v601 = (i64)rank;
        asm volatile("" : "+l"(v601));
        const i64 v602 = v601 * v595;
        #pragma unroll 1
        for (i64 v603 = blockIdx.x; v603 < v600; v603 += gridDim.x) {
          const i64 v604 = v603 * 3072ll;
          #pragma unroll 1
          for (i64 v605 = threadIdx.x; v605 < 3072ll; v605 += 384) {
            const i64 v606 = v604 + v605;
            const i64 qv607 = quotient(v606, v598);
            const i64 v607 = v606 - qv607 * v598;
            const i64 v609 = qv607 + v602;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v611;
            v611 = 0e+0f;
            for (i64 v610 = 0ll; v610 < v92; v610++) {
              const i64 v612 = v610 * v595;
              const i64 v613 = v612 + qv607;
              const i64 v614 = v613 * d_n;
              const i64 v615 = v614 + v607;
              const float v616 = *(b_slices + v615);
              v611 = v611 + v616;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v617 = 5e-1f * v611;
            const i64 v618 = qv607 * d_n;
            const i64 v619 = v618 + v607;
            const u16 v620 = *(b_bias + v619);
            const float v621 = bf16_to_f32(v620);
            const float v622 = v617 + v621;
            const float v623 = fn_silu(v622);
            const u16 v624 = f32_to_bf16(v623);
            const i64 v625 = v609 * d_n;
            const i64 v626 = v625 + v607;
            *(((u16*)b_out_peers.p[0ll]) + v626) = v624;
          }
        }
      }
      if (v440) {
        #pragma unroll 1
        for (i64 v627 = v445 + ((i64)blockIdx.x - v445 % gridDim.x + gridDim.x) % gridDim.x; v627 < v447; v627 += gridDim.x) {
          const i64 v628 = v627 * 3072ll;
          const i64 v629 = v444 - v628;
          const i64 v630 = v629 / 8ll;
          const i64 v631 = v630 * 8ll;
          #pragma unroll 1
          for (i64 v632 = threadIdx.x; v632 < v630; v632 += 384) {
            const i64 v633 = v632 * 8ll;
            const i64 v634 = v628 + v633;
            const i64 qv635 = quotient(v634, v434);
            const i64 v635 = v634 - qv635 * v434;
            const i64 v637 = qv635 + v448;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v639;
            for (int l = 0; l < 8; l++) v639.v[l] = 0e+0f;
            for (i64 v638 = 0ll; v638 < v92; v638++) {
              const i64 v640 = v638 * v442;
              const i64 v641 = v640 + qv635;
              const i64 v642 = v641 * d_n;
              const i64 v643 = v642 + v635;
              const Vec<float, 8> v644 = load_vec<float, 8>(b_slices + v643);
              for (int l = 0; l < 8; l++) v639.v[l] = v639.v[l] + v644.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v645;
            #pragma unroll
            for (int l = 0; l < 8; l++) v645.v[l] = v449.v[l] * v639.v[l];
            const i64 v646 = qv635 * d_n;
            const i64 v647 = v646 + v635;
            const Vec<u16, 8> v648 = load_vec<u16, 8>(b_bias + v647);
            Vec<float, 8> v649;
            #pragma unroll
            for (int l = 0; l < 8; l++) v649.v[l] = bf16_to_f32(v648.v[l]);
            Vec<float, 8> v650;
            #pragma unroll
            for (int l = 0; l < 8; l++) v650.v[l] = v645.v[l] + v649.v[l];
            Vec<float, 8> v651;
            #pragma unroll
            for (int l = 0; l < 8; l++) v651.v[l] = fn_silu(v650.v[l]);
            Vec<u16, 8> v652;
            #pragma unroll
            for (int l = 0; l < 8; l++) v652.v[l] = f32_to_bf16(v651.v[l]);
            const i64 v653 = v637 * d_n;
            const i64 v654 = v653 + v635;
            store_vec(((u16*)b_out_peers.p[0ll]) + v654, v652);
          }
          #pragma unroll 1
          for (i64 v655 = v631 + threadIdx.x; v655 < v629; v655 += 384) {
            const i64 v656 = v628 + v655;
            const i64 qv657 = quotient(v656, v434);
            const i64 v657 = v656 - qv657 * v434;
            const i64 v659 = qv657 + v448;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v661;
            v661 = 0e+0f;
            for (i64 v660 = 0ll; v660 < v92; v660++) {
              const i64 v662 = v660 * v442;
              const i64 v663 = v662 + qv657;
              const i64 v664 = v663 * d_n;
              const i64 v665 = v664 + v657;
              const float v666 = *(b_slices + v665);
              v661 = v661 + v666;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v667 = 5e-1f * v661;
            const i64 v668 = qv657 * d_n;
            const i64 v669 = v668 + v657;
            const u16 v670 = *(b_bias + v669);
            const float v671 = bf16_to_f32(v670);
            const float v672 = v667 + v671;
            const float v673 = fn_silu(v672);
            const u16 v674 = f32_to_bf16(v673);
            const i64 v675 = v659 * d_n;
            const i64 v676 = v675 + v657;
            *(((u16*)b_out_peers.p[0ll]) + v676) = v674;
          }
        }
      } else {
        #pragma unroll 1
        for (i64 v677 = v445 + ((i64)blockIdx.x - v445 % gridDim.x + gridDim.x) % gridDim.x; v677 < v447; v677 += gridDim.x) {
          const i64 v678 = v677 * 3072ll;
          const i64 v679 = v444 - v678;
          #pragma unroll 1
          for (i64 v680 = threadIdx.x; v680 < v679; v680 += 384) {
            const i64 v681 = v678 + v680;
            const i64 qv682 = quotient(v681, v434);
            const i64 v682 = v681 - qv682 * v434;
            const i64 v684 = qv682 + v448;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v686;
            v686 = 0e+0f;
            for (i64 v685 = 0ll; v685 < v92; v685++) {
              const i64 v687 = v685 * v442;
              const i64 v688 = v687 + qv682;
              const i64 v689 = v688 * d_n;
              const i64 v690 = v689 + v682;
              const float v691 = *(b_slices + v690);
              v686 = v686 + v691;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v692 = 5e-1f * v686;
            const i64 v693 = qv682 * d_n;
            const i64 v694 = v693 + v682;
            const u16 v695 = *(b_bias + v694);
            const float v696 = bf16_to_f32(v695);
            const float v697 = v692 + v696;
            const float v698 = fn_silu(v697);
            const u16 v699 = f32_to_bf16(v698);
            const i64 v700 = v684 * d_n;
            const i64 v701 = v700 + v682;
            *(((u16*)b_out_peers.p[0ll]) + v701) = v699;
          }
        }
      }
    }
  }
  i64 v702 = (i64)rank;
  asm volatile("" : "+l"(v702));
  const bool v703 = v702 == 1ll;
  const bool v704 = v702 == 2ll;
  const bool v705 = v702 == 3ll;
  const i64 v707 = (i64)blockIdx.x * 4ll;
  const i64 v708 = v707 + v702;
  const bool v709 = v702 == 0ll;
  __syncthreads();
  const u32 v711 = *(b_epoch + 0ll);
  const u32 v712 = v711 + 1u;
  *(b_epoch + 0ll) = v712;
  if (threadIdx.x < 4) {
    const i64 v713 = threadIdx.x;
    const bool v714 = v713 == 0ll;
    const bool v715 = v703 & v714;
    const bool v716 = v704 & v714;
    const bool v717 = v705 & v714;
    const bool v718 = v715 | v716;
    const bool v719 = v718 | v717;
    if (v719) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v713]) + v708, v712);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v720 = threadIdx.x;
    const bool v721 = v720 == 1ll;
    const bool v722 = v709 & v721;
    const bool v723 = v720 == 2ll;
    const bool v724 = v709 & v723;
    const bool v725 = v720 == 3ll;
    const bool v726 = v709 & v725;
    const bool v727 = v722 | v724;
    const bool v728 = v727 | v726;
    const i64 v729 = v707 + v720;
    if (v728) {
      wait_acquire_sys(b_flags + v729, v712, watch, (u32)(v720), 5u, (u32)(v729), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v730 = threadIdx.x;
    const i64 qv731 = quotient(v730, (i64)gridDim.x);
    const i64 v731 = v730 - qv731 * (i64)gridDim.x;
    const bool v732 = v731 == (i64)blockIdx.x;
    if (v732) {
      const u32 v733 = *(b_epoch + 0ll);
      *(b_epochs + v730) = v733;
    }
  }
}
