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
coll_layer_w4_bf16(u16* b_a, u16* b_b, u16* b_bias, const __grid_constant__ Peers<4> b_out_peers, float* b_slices, const __grid_constant__ Peers<4> b_flags_peers, u32* b_epochs, const i64 d_m, const i64 d_k, const i64 d_n, const int rank, const u64 timeout, u32* const status, const __grid_constant__ TensorMap b_a_map_128x64, const __grid_constant__ TensorMap b_a_map_16x64, const __grid_constant__ TensorMap b_a_map_64x64, const __grid_constant__ TensorMap b_b_map_64x64) {
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
  const i64 v104 = v101 / 2ll;
  const i64 v105 = 1ll < v104 ? 1ll : v104;
  const i64 v106 = v105 * v101;
  const i64 v107 = quotient(88ll, v100);
  const i64 v108 = 1ll < v107 ? 1ll : v107;
  const i64 v109 = v108 - v105;
  const i64 v110 = v109 * 3ll;
  const i64 v111 = v106 > v110 ? v106 : v110;
  const i64 v112 = v44 < v111 ? v44 : v111;
  const i64 v113 = v103 * v112;
  const i64 v114 = v113 > 1ll ? v113 : 1ll;
  const i64 v115 = v114 - 1ll;
  const i64 v116 = v42 + v115;
  const i64 v117 = quotient(v116, v114);
  const i64 v118 = v114 * v72;
  const i64 v119 = v118 / 5469ll;
  const i64 v120 = v99 * v114;
  const i64 v121 = v120 + 131ll;
  const i64 v122 = v121 / 132ll;
  const i64 v123 = v122 > 1ll ? v122 : 1ll;
  const i64 v124 = v117 * v123;
  const i64 v125 = v124 + 8ll;
  const i64 v126 = v125 * 64ll;
  const i64 v127 = v126 + v119;
  const bool v128 = v127 < v85;
  const i64 v129 = v128 ? v117 : v42;
  const i64 v130 = v129 > 1ll ? v129 : 1ll;
  const i64 v131 = v130 - 1ll;
  const i64 v132 = v42 + v131;
  const i64 v133 = quotient(v132, v130);
  const i64 v134 = v133 > 1ll ? v133 : 1ll;
  const bool v135 = v134 > 1ll;
  const bool v136 = v103 > 0ll;
  if (v136) {
    {
      ring_begin<8, 8, 4, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        i64 v142 = d_m;
        asm volatile("" : "+l"(v142));
        const i64 v143 = v142 / 4ll;
        const i64 v144 = v143 > 0ll ? v143 : 0ll;
        const i64 v145 = v144 + 127ll;
        i64 v146 = d_n;
        asm volatile("" : "+l"(v146));
        const i64 v147 = v146 > 0ll ? v146 : 0ll;
        const i64 v148 = v147 + 63ll;
        const i64 v149 = v145 / 128ll;
        const i64 v150 = v148 / 64ll;
        const i64 v151 = v149 * v150;
        const i64 v153 = v151 * v134;
        const bool v154 = v129 > 0ll;
        #pragma unroll 1
        for (i64 v156 = blockIdx.x; v156 < v153; v156 += gridDim.x) {
          const i64 v157 = quotient(v156, (i64)gridDim.x);
          const i64 v158 = v157 * v129;
          const i64 v159 = v156 - quotient(v156, v151) * v151;
          const i64 v160 = quotient(v156, v151);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v161 = 0ll; v161 < v129; v161++) {
            const i64 v162 = v158 + v161;
            ring_wait<8>(b_ring_8, v162);
            const i64 v163 = v162 % 8ll;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64 + v163 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_8x64x64 + v163 * 4096), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v164 = v161 > 0ll;
            const i64 v165 = v162 - 1ll;
            if (v164) {
              ring_release<8>(b_ring_8, v165);
            }
          }
          i64 v166 = d_n;
          asm volatile("" : "+l"(v166));
          const i64 v167 = v166 > 0ll ? v166 : 0ll;
          const i64 v168 = v167 + 63ll;
          const i64 v169 = v168 / 64ll;
          const i64 v170 = 8ll * v169;
          i64 v171 = d_m;
          asm volatile("" : "+l"(v171));
          const i64 v172 = v171 / 4ll;
          const i64 v173 = v172 > 0ll ? v172 : 0ll;
          const i64 v174 = v173 + 127ll;
          const i64 v175 = v174 / 128ll;
          const i64 v176 = v171 / 4ll;
          i64 v177 = (i64)rank;
          asm volatile("" : "+l"(v177));
          const i64 v178 = v177 * v172;
          const bool v179 = (u64)b_bias % 16 == 0;
          const bool v180 = (u64)b_out % 16 == 0;
          const bool v181 = v179 & v180;
          const i64 v182 = v166 % 8ll;
          const bool v183 = v182 == 0ll;
          const bool v184 = v181 & v183;
          const i64 v185 = v166 % 8ll;
          const bool v186 = v185 == 0ll;
          const bool v187 = v184 & v186;
          wgmma_end_32(b_accumulator_128x64);
          const i64 v188 = v158 + v129;
          const i64 v189 = v188 - 1ll;
          if (v154) {
            ring_release<8>(b_ring_8, v189);
          }
          const i64 v190 = quotient(v159, v170);
          const i64 v191 = v190 * 8ll;
          const i64 v192 = v175 - v191;
          const i64 v193 = 8ll < v192 ? 8ll : v192;
          const i64 v194 = v159 - quotient(v159, v170) * v170;
          const i64 v195 = v194 - quotient(v194, v193) * v193;
          const i64 v196 = v191 + v195;
          const i64 v197 = v196 * 128ll;
          const i64 v198 = quotient(v194, v193);
          const i64 v199 = v198 * 64ll;
          const i64 v200 = v172 - v197;
          const i64 v201 = d_n - v199;
          const i64 v202 = v160 * v176;
          const i64 v203 = v197 * d_n;
          const i64 v204 = v203 + v199;
          const i64 v205 = v197 + v178;
          const i64 v206 = v205 * d_n;
          const i64 v207 = v206 + v199;
          const i64 v208 = v203 % 8ll;
          const bool v209 = v208 == 0ll;
          const bool v210 = v187 & v209;
          const i64 v211 = v206 % 8ll;
          const bool v212 = v211 == 0ll;
          const bool v213 = v210 & v212;
          if (v135) {
            const bool v214 = (u64)b_slices % 16 == 0;
            i64 v215 = d_n;
            asm volatile("" : "+l"(v215));
            const i64 v216 = v215 % 4ll;
            const bool v217 = v216 == 0ll;
            const bool v218 = v214 & v217;
            const i64 v219 = v215 % 4ll;
            const bool v220 = v219 == 0ll;
            const bool v221 = v218 & v220;
            const u32 tv222 = thread_here();
            float* const pv222 = (float*)(b_patch_128x40 + tv222 / 32 * 640);
            #pragma unroll 1
            for (u32 cv222 = 0; cv222 < 2; cv222++) {
              put_fragment_64_f32(pv222, b_accumulator_128x64, cv222, tv222 % 32);
              if (v221) {
                #pragma unroll 4
                for (u32 lv222 = tv222 % 32; lv222 < 128; lv222 += 32) {
                  const i64 v222 = (tv222 / 32 * 16 + lv222 / 8) * 16 + cv222 * 8 + lv222 % 8;
                  const i64 v223 = v222 * 4ll;
                  const i64 v224 = v223 / 64ll;
                  const i64 v225 = v223 % 64ll;
                  const bool v226 = v224 < v200;
                  const bool v227 = v225 < v201;
                  const bool v228 = v226 & v227;
                  const i64 v229 = v197 + v224;
                  const i64 v230 = v199 + v225;
                  const i64 v231 = v224 * 64ll;
                  const i64 v232 = v231 + v225;
                  const i64 v233 = v202 + v229;
                  const i64 v234 = v233 * d_n;
                  const i64 v235 = v234 + v230;
                  if (v228) {
                    const Vec<float, 4> v236 = load_vec<float, 4>(pv222 + lv222 / 8 * 40 + lv222 % 8 * 4);
                    store_vec(b_slices + v235, v236);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv237 = tv222 % 32; lv237 < 512; lv237 += 32) {
                  const i64 v237 = (tv222 / 32 * 16 + lv237 / 32) * 64 + cv222 * 32 + lv237 % 32;
                  const i64 v238 = v237 / 64ll;
                  const i64 v239 = v237 % 64ll;
                  const bool v240 = v238 < v200;
                  const bool v241 = v239 < v201;
                  const bool v242 = v240 & v241;
                  const i64 v243 = v197 + v238;
                  const i64 v244 = v199 + v239;
                  const i64 v245 = v238 * 64ll;
                  const i64 v246 = v245 + v239;
                  const i64 v247 = v202 + v243;
                  const i64 v248 = v247 * d_n;
                  const i64 v249 = v248 + v244;
                  if (v242) {
                    const float v250 = *(pv222 + lv237 / 32 * 40 + lv237 % 32 * 1);
                    *(b_slices + v249) = v250;
                  }
                }
              }
            }
          } else {
            Vec<float, 8> v251;
            #pragma unroll
            for (int l = 0; l < 8; l++) v251.v[l] = 5e-1f;
            const u32 tv252 = thread_here();
            float* const pv252 = (float*)(b_patch_128x40 + tv252 / 32 * 640);
            #pragma unroll 1
            for (u32 cv252 = 0; cv252 < 2; cv252++) {
              put_fragment_64_f32(pv252, b_accumulator_128x64, cv252, tv252 % 32);
              if (v213) {
                #pragma unroll 2
                for (u32 lv252 = tv252 % 32; lv252 < 64; lv252 += 32) {
                  const i64 v252 = (tv252 / 32 * 16 + lv252 / 4) * 8 + cv252 * 4 + lv252 % 4;
                  const i64 v253 = v252 * 8ll;
                  const i64 v254 = v253 / 64ll;
                  const i64 v255 = v253 % 64ll;
                  const bool v256 = v254 < v200;
                  const bool v257 = v255 < v201;
                  const bool v258 = v256 & v257;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v259 = v254 * 64ll;
                  const i64 v260 = v259 + v255;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v261 = v254 * d_n;
                  const i64 v262 = v261 + v255;
                  const i64 v263 = v262 + v204;
                  const i64 v264 = v262 + v207;
                  if (v258) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v265 = load_vec<float, 8>(pv252 + lv252 / 4 * 40 + lv252 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v266;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v266.v[l] = v251.v[l] * v265.v[l];
                    const Vec<u16, 8> v267 = load_vec<u16, 8>(b_bias + v263);
                    Vec<float, 8> v268;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v268.v[l] = bf16_to_f32(v267.v[l]);
                    Vec<float, 8> v269;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v269.v[l] = v266.v[l] + v268.v[l];
                    Vec<float, 8> v270;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v270.v[l] = fn_silu(v269.v[l]);
                    Vec<u16, 8> v271;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v271.v[l] = f32_to_bf16(v270.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v264, v271);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv272 = tv252 % 32; lv272 < 512; lv272 += 32) {
                  const i64 v272 = (tv252 / 32 * 16 + lv272 / 32) * 64 + cv252 * 32 + lv272 % 32;
                  const i64 v273 = v272 / 64ll;
                  const i64 v274 = v272 % 64ll;
                  const bool v275 = v273 < v200;
                  const bool v276 = v274 < v201;
                  const bool v277 = v275 & v276;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v278 = v273 * 64ll;
                  const i64 v279 = v278 + v274;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v280 = v273 * d_n;
                  const i64 v281 = v280 + v274;
                  const i64 v282 = v281 + v204;
                  const i64 v283 = v281 + v207;
                  if (v277) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v284 = *(pv252 + lv272 / 32 * 40 + lv272 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v285 = 5e-1f * v284;
                    const u16 v286 = *(b_bias + v282);
                    const float v287 = bf16_to_f32(v286);
                    const float v288 = v285 + v287;
                    const float v289 = fn_silu(v288);
                    const u16 v290 = f32_to_bf16(v289);
                    *(((u16*)b_out_peers.p[0ll]) + v283) = v290;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v291 = d_m;
        asm volatile("" : "+l"(v291));
        const i64 v292 = v291 / 4ll;
        const i64 v293 = v292 > 0ll ? v292 : 0ll;
        const i64 v294 = v293 + 127ll;
        i64 v295 = d_n;
        asm volatile("" : "+l"(v295));
        const i64 v296 = v295 > 0ll ? v295 : 0ll;
        const i64 v297 = v296 + 63ll;
        const i64 v298 = v294 / 128ll;
        const i64 v299 = v297 / 64ll;
        const i64 v300 = v298 * v299;
        const i64 v302 = 8ll * v299;
        const i64 v303 = v300 * v134;
        #pragma unroll 1
        for (i64 v304 = blockIdx.x; v304 < v303; v304 += gridDim.x) {
          const i64 v305 = quotient(v304, (i64)gridDim.x);
          const i64 v306 = v305 * v129;
          const i64 v307 = v304 - quotient(v304, v300) * v300;
          const i64 v308 = quotient(v304, v300);
          const i64 v309 = quotient(v307, v302);
          const i64 v310 = v309 * 8ll;
          const i64 v311 = v298 - v310;
          const i64 v312 = 8ll < v311 ? 8ll : v311;
          const i64 v313 = v307 - quotient(v307, v302) * v302;
          const i64 v314 = v313 - quotient(v313, v312) * v312;
          const i64 v315 = v310 + v314;
          const i64 v316 = v315 * 128ll;
          const i64 v317 = quotient(v313, v312);
          const i64 v318 = v317 * 64ll;
          const i64 v319 = v308 * v129;
          const i64 v320 = v319 + v129;
          #pragma unroll 1
          for (i64 v321 = v319; v321 < v320; v321++) {
            const i64 v322 = v321 - v319;
            const i64 v323 = v306 + v322;
            const i64 v324 = v323 % 8ll;
            const i64 v325 = v321 * 64ll;
            ring_acquire<8>(b_ring_8, v323);
            if (can_map(b_a, d_k)) {
              const i64 left_ring_a_bf16_8x128x64 = (d_m / 4ll) - (v316);
              filling.bytes += left_ring_a_bf16_8x128x64 <= 16 ? 2048 : left_ring_a_bf16_8x128x64 <= 64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v324 * 8192 + s * 8192, left_ring_a_bf16_8x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_8x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v324), (int)(v325) + s * 64, (int)(v316));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_8x128x64 + v324 * 8192, b_a, d_k, (d_m / 4ll), d_k, v316, v325);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 8192;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v324 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v324), (int)(v318) + s * 64, (int)(v325));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 64, 128, 256>(b_ring_b_bf16_8x64x64 + v324 * 4096, b_b, d_n, d_k, d_n, v325, v318);
            }
            ring_fill<8, 256>(b_ring_8, v323, filling);
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
        i64 v326 = d_m;
        asm volatile("" : "+l"(v326));
        const i64 v327 = v326 / 4ll;
        const i64 v328 = v327 > 0ll ? v327 : 0ll;
        const i64 v329 = v328 + 127ll;
        i64 v330 = d_n;
        asm volatile("" : "+l"(v330));
        const i64 v331 = v330 > 0ll ? v330 : 0ll;
        const i64 v332 = v331 + 255ll;
        const i64 v333 = v329 / 128ll;
        const i64 v334 = v332 / 256ll;
        const i64 v335 = v333 * v334;
        const i64 v337 = v335 * v92;
        const bool v338 = v87 > 0ll;
        #pragma unroll 1
        for (i64 v340 = blockIdx.x; v340 < v337; v340 += gridDim.x) {
          const i64 v341 = quotient(v340, (i64)gridDim.x);
          const i64 v342 = v341 * v87;
          const i64 v343 = v340 - quotient(v340, v335) * v335;
          const i64 v344 = quotient(v340, v335);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          #pragma unroll 2
          for (i64 v345 = 0ll; v345 < v87; v345++) {
            const i64 v346 = v342 + v345;
            ring_wait<4>(b_ring_4, v346);
            const i64 v347 = v346 % 4ll;
            wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v347 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v347 * 16384), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v348 = v345 > 0ll;
            const i64 v349 = v346 - 1ll;
            if (v348) {
              ring_release<4>(b_ring_4, v349);
            }
          }
          i64 v350 = d_n;
          asm volatile("" : "+l"(v350));
          const i64 v351 = v350 > 0ll ? v350 : 0ll;
          const i64 v352 = v351 + 255ll;
          const i64 v353 = v352 / 256ll;
          const i64 v354 = 8ll * v353;
          i64 v355 = d_m;
          asm volatile("" : "+l"(v355));
          const i64 v356 = v355 / 4ll;
          const i64 v357 = v356 > 0ll ? v356 : 0ll;
          const i64 v358 = v357 + 127ll;
          const i64 v359 = v358 / 128ll;
          const i64 v360 = v355 / 4ll;
          i64 v361 = (i64)rank;
          asm volatile("" : "+l"(v361));
          const i64 v362 = v361 * v356;
          const bool v363 = (u64)b_bias % 16 == 0;
          const bool v364 = (u64)b_out % 16 == 0;
          const bool v365 = v363 & v364;
          const i64 v366 = v350 % 8ll;
          const bool v367 = v366 == 0ll;
          const bool v368 = v365 & v367;
          const i64 v369 = v350 % 8ll;
          const bool v370 = v369 == 0ll;
          const bool v371 = v368 & v370;
          wgmma_end_128(b_accumulator_128x256);
          const i64 v372 = v342 + v87;
          const i64 v373 = v372 - 1ll;
          if (v338) {
            ring_release<4>(b_ring_4, v373);
          }
          const i64 v374 = quotient(v343, v354);
          const i64 v375 = v374 * 8ll;
          const i64 v376 = v359 - v375;
          const i64 v377 = 8ll < v376 ? 8ll : v376;
          const i64 v378 = v343 - quotient(v343, v354) * v354;
          const i64 v379 = v378 - quotient(v378, v377) * v377;
          const i64 v380 = v375 + v379;
          const i64 v381 = v380 * 128ll;
          const i64 v382 = quotient(v378, v377);
          const i64 v383 = v382 * 256ll;
          const i64 v384 = v356 - v381;
          const i64 v385 = d_n - v383;
          const i64 v386 = v344 * v360;
          const i64 v387 = v381 * d_n;
          const i64 v388 = v387 + v383;
          const i64 v389 = v381 + v362;
          const i64 v390 = v389 * d_n;
          const i64 v391 = v390 + v383;
          const i64 v392 = v387 % 8ll;
          const bool v393 = v392 == 0ll;
          const bool v394 = v371 & v393;
          const i64 v395 = v390 % 8ll;
          const bool v396 = v395 == 0ll;
          const bool v397 = v394 & v396;
          if (v93) {
            const bool v398 = (u64)b_slices % 16 == 0;
            i64 v399 = d_n;
            asm volatile("" : "+l"(v399));
            const i64 v400 = v399 % 4ll;
            const bool v401 = v400 == 0ll;
            const bool v402 = v398 & v401;
            const i64 v403 = v399 % 4ll;
            const bool v404 = v403 == 0ll;
            const bool v405 = v402 & v404;
            const u32 tv406 = thread_here();
            float* const pv406 = (float*)(b_patch_128x40 + tv406 / 32 * 640);
            #pragma unroll 1
            for (u32 cv406 = 0; cv406 < 8; cv406++) {
              put_fragment_256_f32(pv406, b_accumulator_128x256, cv406, tv406 % 32);
              if (v405) {
                #pragma unroll 4
                for (u32 lv406 = tv406 % 32; lv406 < 128; lv406 += 32) {
                  const i64 v406 = (tv406 / 32 * 16 + lv406 / 8) * 64 + cv406 * 8 + lv406 % 8;
                  const i64 v407 = v406 * 4ll;
                  const i64 v408 = v407 / 256ll;
                  const i64 v409 = v407 % 256ll;
                  const bool v410 = v408 < v384;
                  const bool v411 = v409 < v385;
                  const bool v412 = v410 & v411;
                  const i64 v413 = v381 + v408;
                  const i64 v414 = v383 + v409;
                  const i64 v415 = v408 * 256ll;
                  const i64 v416 = v415 + v409;
                  const i64 v417 = v386 + v413;
                  const i64 v418 = v417 * d_n;
                  const i64 v419 = v418 + v414;
                  if (v412) {
                    const Vec<float, 4> v420 = load_vec<float, 4>(pv406 + lv406 / 8 * 40 + lv406 % 8 * 4);
                    store_vec(b_slices + v419, v420);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv421 = tv406 % 32; lv421 < 512; lv421 += 32) {
                  const i64 v421 = (tv406 / 32 * 16 + lv421 / 32) * 256 + cv406 * 32 + lv421 % 32;
                  const i64 v422 = v421 / 256ll;
                  const i64 v423 = v421 % 256ll;
                  const bool v424 = v422 < v384;
                  const bool v425 = v423 < v385;
                  const bool v426 = v424 & v425;
                  const i64 v427 = v381 + v422;
                  const i64 v428 = v383 + v423;
                  const i64 v429 = v422 * 256ll;
                  const i64 v430 = v429 + v423;
                  const i64 v431 = v386 + v427;
                  const i64 v432 = v431 * d_n;
                  const i64 v433 = v432 + v428;
                  if (v426) {
                    const float v434 = *(pv406 + lv421 / 32 * 40 + lv421 % 32 * 1);
                    *(b_slices + v433) = v434;
                  }
                }
              }
            }
          } else {
            Vec<float, 8> v435;
            #pragma unroll
            for (int l = 0; l < 8; l++) v435.v[l] = 5e-1f;
            const u32 tv436 = thread_here();
            float* const pv436 = (float*)(b_patch_128x40 + tv436 / 32 * 640);
            #pragma unroll 1
            for (u32 cv436 = 0; cv436 < 8; cv436++) {
              put_fragment_256_f32(pv436, b_accumulator_128x256, cv436, tv436 % 32);
              if (v397) {
                #pragma unroll 2
                for (u32 lv436 = tv436 % 32; lv436 < 64; lv436 += 32) {
                  const i64 v436 = (tv436 / 32 * 16 + lv436 / 4) * 32 + cv436 * 4 + lv436 % 4;
                  const i64 v437 = v436 * 8ll;
                  const i64 v438 = v437 / 256ll;
                  const i64 v439 = v437 % 256ll;
                  const bool v440 = v438 < v384;
                  const bool v441 = v439 < v385;
                  const bool v442 = v440 & v441;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v443 = v438 * 256ll;
                  const i64 v444 = v443 + v439;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v445 = v438 * d_n;
                  const i64 v446 = v445 + v439;
                  const i64 v447 = v446 + v388;
                  const i64 v448 = v446 + v391;
                  if (v442) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v449 = load_vec<float, 8>(pv436 + lv436 / 4 * 40 + lv436 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v450;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v450.v[l] = v435.v[l] * v449.v[l];
                    const Vec<u16, 8> v451 = load_vec<u16, 8>(b_bias + v447);
                    Vec<float, 8> v452;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v452.v[l] = bf16_to_f32(v451.v[l]);
                    Vec<float, 8> v453;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v453.v[l] = v450.v[l] + v452.v[l];
                    Vec<float, 8> v454;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v454.v[l] = fn_silu(v453.v[l]);
                    Vec<u16, 8> v455;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v455.v[l] = f32_to_bf16(v454.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v448, v455);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv456 = tv436 % 32; lv456 < 512; lv456 += 32) {
                  const i64 v456 = (tv436 / 32 * 16 + lv456 / 32) * 256 + cv436 * 32 + lv456 % 32;
                  const i64 v457 = v456 / 256ll;
                  const i64 v458 = v456 % 256ll;
                  const bool v459 = v457 < v384;
                  const bool v460 = v458 < v385;
                  const bool v461 = v459 & v460;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v462 = v457 * 256ll;
                  const i64 v463 = v462 + v458;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v464 = v457 * d_n;
                  const i64 v465 = v464 + v458;
                  const i64 v466 = v465 + v388;
                  const i64 v467 = v465 + v391;
                  if (v461) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v468 = *(pv436 + lv456 / 32 * 40 + lv456 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v469 = 5e-1f * v468;
                    const u16 v470 = *(b_bias + v466);
                    const float v471 = bf16_to_f32(v470);
                    const float v472 = v469 + v471;
                    const float v473 = fn_silu(v472);
                    const u16 v474 = f32_to_bf16(v473);
                    *(((u16*)b_out_peers.p[0ll]) + v467) = v474;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v475 = d_m;
        asm volatile("" : "+l"(v475));
        const i64 v476 = v475 / 4ll;
        const i64 v477 = v476 > 0ll ? v476 : 0ll;
        const i64 v478 = v477 + 127ll;
        i64 v479 = d_n;
        asm volatile("" : "+l"(v479));
        const i64 v480 = v479 > 0ll ? v479 : 0ll;
        const i64 v481 = v480 + 255ll;
        const i64 v482 = v478 / 128ll;
        const i64 v483 = v481 / 256ll;
        const i64 v484 = v482 * v483;
        const i64 v486 = 8ll * v483;
        const i64 v487 = v484 * v92;
        #pragma unroll 1
        for (i64 v488 = blockIdx.x; v488 < v487; v488 += gridDim.x) {
          const i64 v489 = quotient(v488, (i64)gridDim.x);
          const i64 v490 = v489 * v87;
          const i64 v491 = v488 - quotient(v488, v484) * v484;
          const i64 v492 = quotient(v488, v484);
          const i64 v493 = quotient(v491, v486);
          const i64 v494 = v493 * 8ll;
          const i64 v495 = v482 - v494;
          const i64 v496 = 8ll < v495 ? 8ll : v495;
          const i64 v497 = v491 - quotient(v491, v486) * v486;
          const i64 v498 = v497 - quotient(v497, v496) * v496;
          const i64 v499 = v494 + v498;
          const i64 v500 = v499 * 128ll;
          const i64 v501 = quotient(v497, v496);
          const i64 v502 = v501 * 256ll;
          const i64 v503 = v492 * v87;
          const i64 v504 = v503 + v87;
          #pragma unroll 1
          for (i64 v505 = v503; v505 < v504; v505++) {
            const i64 v506 = v505 - v503;
            const i64 v507 = v490 + v506;
            const i64 v508 = v507 % 4ll;
            const i64 v509 = v505 * 64ll;
            ring_acquire<4>(b_ring_4, v507);
            if (can_map(b_a, d_k)) {
              const i64 left_ring_a_bf16_4x128x64 = (d_m / 4ll) - (v500);
              filling.bytes += left_ring_a_bf16_4x128x64 <= 16 ? 2048 : left_ring_a_bf16_4x128x64 <= 64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v508 * 8192 + s * 8192, left_ring_a_bf16_4x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_4x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v508), (int)(v509) + s * 64, (int)(v500));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v508 * 8192, b_a, d_k, (d_m / 4ll), d_k, v500, v509);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 32768;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v508 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v508), (int)(v502) + s * 64, (int)(v509));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v508 * 16384, b_b, d_n, d_k, d_n, v509, v502);
            }
            ring_fill<4, 256>(b_ring_4, v507, filling);
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
  i64 v513 = (i64)rank;
  asm volatile("" : "+l"(v513));
  const bool v515 = v513 == 1ll;
  const bool v516 = v513 == 2ll;
  const bool v517 = v513 == 3ll;
  const i64 v519 = (i64)blockIdx.x * 4ll;
  const i64 v520 = v519 + v513;
  const bool v521 = v513 == 0ll;
  const i64 v522 = v136 ? v134 : v92;
  const bool v523 = v136 ? v135 : v93;
  if (v523) {
    const i64 v525 = (i64)blockIdx.x * 4ll;
    i64 v526 = (i64)rank;
    asm volatile("" : "+l"(v526));
    const i64 v527 = v525 + v526;
    const i64 v529 = v526 % 4ll;
    const bool v530 = (u64)b_slices % 16 == 0;
    const bool v531 = (u64)b_bias % 16 == 0;
    const bool v532 = v530 & v531;
    const bool v533 = (u64)b_out % 16 == 0;
    const bool v534 = v532 & v533;
    i64 v535 = d_n;
    asm volatile("" : "+l"(v535));
    const i64 v536 = v535 > 0ll ? v535 : 0ll;
    const i64 v537 = v536 % 8ll;
    const bool v538 = v537 == 0ll;
    const bool v539 = v534 & v538;
    const i64 v540 = v535 % 8ll;
    const bool v541 = v540 == 0ll;
    const bool v542 = v539 & v541;
    i64 v543 = d_m;
    asm volatile("" : "+l"(v543));
    const i64 v544 = v543 / 4ll;
    const i64 v545 = v526 * v544;
    const i64 v546 = v545 * v535;
    const i64 v547 = v546 % 8ll;
    const bool v548 = v547 == 0ll;
    const bool v549 = v542 & v548;
    const i64 v550 = v544 > 0ll ? v544 : 0ll;
    const i64 v551 = v550 * v536;
    const i64 v552 = v551 / 3072ll;
    const i64 v553 = v551 + 3071ll;
    const i64 v554 = v553 / 3072ll;
    Vec<float, 8> v555;
    #pragma unroll
    for (int l = 0; l < 8; l++) v555.v[l] = 5e-1f;
    __syncthreads();
    const u32 v556 = *(b_epoch + 0ll);
    const u32 v557 = v556 + 1u;
    *(b_epoch + 0ll) = v557;
    if (threadIdx.x < 1) {
      const i64 v558 = threadIdx.x;
      signal_set_release_gpu(b_flags + v527, v557);
    }
    #pragma unroll 1
    for (i64 v559 = threadIdx.x; v559 < (i64)gridDim.x; v559 += 384) {
      const i64 v560 = v559 * 4ll;
      const i64 v561 = v560 + v529;
      wait_acquire_gpu(b_flags + v561, v557, watch, (u32)(v529), 5u, (u32)(v561), 5u);
    }
    __syncthreads();
    if (v549) {
      i64 v562 = d_m;
      asm volatile("" : "+l"(v562));
      const i64 v563 = v562 / 4ll;
      const i64 v564 = v563 > 0ll ? v563 : 0ll;
      i64 v565 = d_n;
      asm volatile("" : "+l"(v565));
      const i64 v566 = v565 > 0ll ? v565 : 0ll;
      const i64 v567 = v564 * v566;
      const i64 v568 = v567 / 3072ll;
      const i64 v570 = (i64)gridDim.x * 4ll;
      const i64 v572 = (i64)gridDim.x * 2ll;
      const i64 v573 = (i64)gridDim.x * 3ll;
      Vec<float, 8> v574;
      #pragma unroll
      for (int l = 0; l < 8; l++) v574.v[l] = 5e-1f;
      i64 v575 = (i64)rank;
      asm volatile("" : "+l"(v575));
      const i64 v576 = v575 * v563;
      const i64 v577 = v576 * v565;
      const i64 v578 = quotient(v568, v570);
      #pragma unroll 1
      for (i64 v579 = 0ll; v579 < v578; v579++) {
        const i64 v580 = v579 * v570;
        const i64 v581 = v580 + (i64)blockIdx.x;
        const i64 v582 = v581 * 3072ll;
        const i64 v583 = v581 + (i64)gridDim.x;
        const i64 v584 = v583 * 3072ll;
        const i64 v585 = v581 + v572;
        const i64 v586 = v585 * 3072ll;
        const i64 v587 = v581 + v573;
        const i64 v588 = v587 * 3072ll;
        {
          const i64 v589 = threadIdx.x;
          const i64 v590 = v589 * 8ll;
          const i64 v591 = v582 + v590;
          const i64 v592 = v584 + v590;
          const i64 v593 = v586 + v590;
          const i64 v594 = v588 + v590;
          const i64 v595 = v591 - quotient(v591, v566) * v566;
          const i64 v596 = v592 - quotient(v592, v566) * v566;
          const i64 v597 = v593 - quotient(v593, v566) * v566;
          const i64 v598 = v594 - quotient(v594, v566) * v566;
          const i64 v599 = quotient(v591, v566);
          const i64 v600 = quotient(v592, v566);
          const i64 v601 = quotient(v593, v566);
          const i64 v602 = quotient(v594, v566);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v604;
          for (int l = 0; l < 8; l++) v604.v[l] = 0e+0f;
          for (i64 v603 = 0ll; v603 < v522; v603++) {
            const i64 v605 = v603 * v563;
            const i64 v606 = v605 + v599;
            const i64 v607 = v606 * d_n;
            const i64 v608 = v607 + v595;
            const Vec<float, 8> v609 = load_vec<float, 8>(b_slices + v608);
            for (int l = 0; l < 8; l++) v604.v[l] = v604.v[l] + v609.v[l];
          }
          Vec<float, 8> v611;
          for (int l = 0; l < 8; l++) v611.v[l] = 0e+0f;
          for (i64 v610 = 0ll; v610 < v522; v610++) {
            const i64 v612 = v610 * v563;
            const i64 v613 = v612 + v600;
            const i64 v614 = v613 * d_n;
            const i64 v615 = v614 + v596;
            const Vec<float, 8> v616 = load_vec<float, 8>(b_slices + v615);
            for (int l = 0; l < 8; l++) v611.v[l] = v611.v[l] + v616.v[l];
          }
          Vec<float, 8> v618;
          for (int l = 0; l < 8; l++) v618.v[l] = 0e+0f;
          for (i64 v617 = 0ll; v617 < v522; v617++) {
            const i64 v619 = v617 * v563;
            const i64 v620 = v619 + v601;
            const i64 v621 = v620 * d_n;
            const i64 v622 = v621 + v597;
            const Vec<float, 8> v623 = load_vec<float, 8>(b_slices + v622);
            for (int l = 0; l < 8; l++) v618.v[l] = v618.v[l] + v623.v[l];
          }
          Vec<float, 8> v625;
          for (int l = 0; l < 8; l++) v625.v[l] = 0e+0f;
          for (i64 v624 = 0ll; v624 < v522; v624++) {
            const i64 v626 = v624 * v563;
            const i64 v627 = v626 + v602;
            const i64 v628 = v627 * d_n;
            const i64 v629 = v628 + v598;
            const Vec<float, 8> v630 = load_vec<float, 8>(b_slices + v629);
            for (int l = 0; l < 8; l++) v625.v[l] = v625.v[l] + v630.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v631;
          #pragma unroll
          for (int l = 0; l < 8; l++) v631.v[l] = v574.v[l] * v604.v[l];
          Vec<float, 8> v632;
          #pragma unroll
          for (int l = 0; l < 8; l++) v632.v[l] = v574.v[l] * v611.v[l];
          Vec<float, 8> v633;
          #pragma unroll
          for (int l = 0; l < 8; l++) v633.v[l] = v574.v[l] * v618.v[l];
          Vec<float, 8> v634;
          #pragma unroll
          for (int l = 0; l < 8; l++) v634.v[l] = v574.v[l] * v625.v[l];
          const i64 v635 = v599 * d_n;
          const i64 v636 = v600 * d_n;
          const i64 v637 = v601 * d_n;
          const i64 v638 = v602 * d_n;
          const i64 v639 = v635 + v595;
          const i64 v640 = v636 + v596;
          const i64 v641 = v637 + v597;
          const i64 v642 = v638 + v598;
          const Vec<u16, 8> v643 = load_vec<u16, 8>(b_bias + v639);
          const Vec<u16, 8> v644 = load_vec<u16, 8>(b_bias + v640);
          const Vec<u16, 8> v645 = load_vec<u16, 8>(b_bias + v641);
          const Vec<u16, 8> v646 = load_vec<u16, 8>(b_bias + v642);
          Vec<float, 8> v647;
          #pragma unroll
          for (int l = 0; l < 8; l++) v647.v[l] = bf16_to_f32(v643.v[l]);
          Vec<float, 8> v648;
          #pragma unroll
          for (int l = 0; l < 8; l++) v648.v[l] = bf16_to_f32(v644.v[l]);
          Vec<float, 8> v649;
          #pragma unroll
          for (int l = 0; l < 8; l++) v649.v[l] = bf16_to_f32(v645.v[l]);
          Vec<float, 8> v650;
          #pragma unroll
          for (int l = 0; l < 8; l++) v650.v[l] = bf16_to_f32(v646.v[l]);
          Vec<float, 8> v651;
          #pragma unroll
          for (int l = 0; l < 8; l++) v651.v[l] = v631.v[l] + v647.v[l];
          Vec<float, 8> v652;
          #pragma unroll
          for (int l = 0; l < 8; l++) v652.v[l] = v632.v[l] + v648.v[l];
          Vec<float, 8> v653;
          #pragma unroll
          for (int l = 0; l < 8; l++) v653.v[l] = v633.v[l] + v649.v[l];
          Vec<float, 8> v654;
          #pragma unroll
          for (int l = 0; l < 8; l++) v654.v[l] = v634.v[l] + v650.v[l];
          Vec<float, 8> v655;
          #pragma unroll
          for (int l = 0; l < 8; l++) v655.v[l] = fn_silu(v651.v[l]);
          Vec<float, 8> v656;
          #pragma unroll
          for (int l = 0; l < 8; l++) v656.v[l] = fn_silu(v652.v[l]);
          Vec<float, 8> v657;
          #pragma unroll
          for (int l = 0; l < 8; l++) v657.v[l] = fn_silu(v653.v[l]);
          Vec<float, 8> v658;
          #pragma unroll
          for (int l = 0; l < 8; l++) v658.v[l] = fn_silu(v654.v[l]);
          Vec<u16, 8> v659;
          #pragma unroll
          for (int l = 0; l < 8; l++) v659.v[l] = f32_to_bf16(v655.v[l]);
          Vec<u16, 8> v660;
          #pragma unroll
          for (int l = 0; l < 8; l++) v660.v[l] = f32_to_bf16(v656.v[l]);
          Vec<u16, 8> v661;
          #pragma unroll
          for (int l = 0; l < 8; l++) v661.v[l] = f32_to_bf16(v657.v[l]);
          Vec<u16, 8> v662;
          #pragma unroll
          for (int l = 0; l < 8; l++) v662.v[l] = f32_to_bf16(v658.v[l]);
          const i64 v663 = v639 + v577;
          const i64 v664 = v640 + v577;
          const i64 v665 = v641 + v577;
          const i64 v666 = v642 + v577;
          store_vec(((u16*)b_out_peers.p[0ll]) + v663, v659);
          store_vec(((u16*)b_out_peers.p[0ll]) + v664, v660);
          store_vec(((u16*)b_out_peers.p[0ll]) + v665, v661);
          store_vec(((u16*)b_out_peers.p[0ll]) + v666, v662);
        }
      }
      const i64 v667 = v578 * v570;
      #pragma unroll 1
      for (i64 v668 = v667 + ((i64)blockIdx.x - v667 % gridDim.x + gridDim.x) % gridDim.x; v668 < v568; v668 += gridDim.x) {
        const i64 v669 = v668 * 3072ll;
        {
          const i64 v670 = threadIdx.x;
          const i64 v671 = v670 * 8ll;
          const i64 v672 = v669 + v671;
          const i64 v673 = v672 - quotient(v672, v566) * v566;
          const i64 v674 = quotient(v672, v566);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v676;
          for (int l = 0; l < 8; l++) v676.v[l] = 0e+0f;
          for (i64 v675 = 0ll; v675 < v522; v675++) {
            const i64 v677 = v675 * v563;
            const i64 v678 = v677 + v674;
            const i64 v679 = v678 * d_n;
            const i64 v680 = v679 + v673;
            const Vec<float, 8> v681 = load_vec<float, 8>(b_slices + v680);
            for (int l = 0; l < 8; l++) v676.v[l] = v676.v[l] + v681.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v682;
          #pragma unroll
          for (int l = 0; l < 8; l++) v682.v[l] = v574.v[l] * v676.v[l];
          const i64 v683 = v674 * d_n;
          const i64 v684 = v683 + v673;
          const Vec<u16, 8> v685 = load_vec<u16, 8>(b_bias + v684);
          Vec<float, 8> v686;
          #pragma unroll
          for (int l = 0; l < 8; l++) v686.v[l] = bf16_to_f32(v685.v[l]);
          Vec<float, 8> v687;
          #pragma unroll
          for (int l = 0; l < 8; l++) v687.v[l] = v682.v[l] + v686.v[l];
          Vec<float, 8> v688;
          #pragma unroll
          for (int l = 0; l < 8; l++) v688.v[l] = fn_silu(v687.v[l]);
          Vec<u16, 8> v689;
          #pragma unroll
          for (int l = 0; l < 8; l++) v689.v[l] = f32_to_bf16(v688.v[l]);
          const i64 v690 = v684 + v577;
          store_vec(((u16*)b_out_peers.p[0ll]) + v690, v689);
        }
      }
    } else {
      i64 v691 = d_m;
      asm volatile("" : "+l"(v691));
      const i64 v692 = v691 / 4ll;
      const i64 v693 = v692 > 0ll ? v692 : 0ll;
      i64 v694 = d_n;
      asm volatile("" : "+l"(v694));
      const i64 v695 = v694 > 0ll ? v694 : 0ll;
      const i64 v696 = v693 * v695;
      const i64 v697 = v696 / 3072ll;
      i64 v698 = (i64)rank;
      asm volatile("" : "+l"(v698));
      const i64 v699 = v698 * v692;
      const i64 v700 = v699 * v694;
      #pragma unroll 1
      for (i64 v701 = blockIdx.x; v701 < v697; v701 += gridDim.x) {
        const i64 v702 = v701 * 3072ll;
        #pragma unroll 1
        for (i64 v703 = threadIdx.x; v703 < 3072ll; v703 += 384) {
          const i64 v704 = v702 + v703;
          const i64 v705 = v704 - quotient(v704, v695) * v695;
          const i64 v706 = quotient(v704, v695);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v708;
          v708 = 0e+0f;
          for (i64 v707 = 0ll; v707 < v522; v707++) {
            const i64 v709 = v707 * v692;
            const i64 v710 = v709 + v706;
            const i64 v711 = v710 * d_n;
            const i64 v712 = v711 + v705;
            const float v713 = *(b_slices + v712);
            v708 = v708 + v713;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v714 = 5e-1f * v708;
          const i64 v715 = v706 * d_n;
          const i64 v716 = v715 + v705;
          const u16 v717 = *(b_bias + v716);
          const float v718 = bf16_to_f32(v717);
          const float v719 = v714 + v718;
          const float v720 = fn_silu(v719);
          const u16 v721 = f32_to_bf16(v720);
          const i64 v722 = v716 + v700;
          *(((u16*)b_out_peers.p[0ll]) + v722) = v721;
        }
      }
    }
    if (v549) {
      #pragma unroll 1
      for (i64 v723 = v552 + ((i64)blockIdx.x - v552 % gridDim.x + gridDim.x) % gridDim.x; v723 < v554; v723 += gridDim.x) {
        const i64 v724 = v723 * 3072ll;
        const i64 v725 = v551 - v724;
        const i64 v726 = v725 / 8ll;
        const i64 v727 = v726 * 8ll;
        #pragma unroll 1
        for (i64 v728 = threadIdx.x; v728 < v726; v728 += 384) {
          const i64 v729 = v728 * 8ll;
          const i64 v730 = v724 + v729;
          const i64 v731 = v730 - quotient(v730, v536) * v536;
          const i64 v732 = quotient(v730, v536);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v734;
          for (int l = 0; l < 8; l++) v734.v[l] = 0e+0f;
          for (i64 v733 = 0ll; v733 < v522; v733++) {
            const i64 v735 = v733 * v544;
            const i64 v736 = v735 + v732;
            const i64 v737 = v736 * d_n;
            const i64 v738 = v737 + v731;
            const Vec<float, 8> v739 = load_vec<float, 8>(b_slices + v738);
            for (int l = 0; l < 8; l++) v734.v[l] = v734.v[l] + v739.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v740;
          #pragma unroll
          for (int l = 0; l < 8; l++) v740.v[l] = v555.v[l] * v734.v[l];
          const i64 v741 = v732 * d_n;
          const i64 v742 = v741 + v731;
          const Vec<u16, 8> v743 = load_vec<u16, 8>(b_bias + v742);
          Vec<float, 8> v744;
          #pragma unroll
          for (int l = 0; l < 8; l++) v744.v[l] = bf16_to_f32(v743.v[l]);
          Vec<float, 8> v745;
          #pragma unroll
          for (int l = 0; l < 8; l++) v745.v[l] = v740.v[l] + v744.v[l];
          Vec<float, 8> v746;
          #pragma unroll
          for (int l = 0; l < 8; l++) v746.v[l] = fn_silu(v745.v[l]);
          Vec<u16, 8> v747;
          #pragma unroll
          for (int l = 0; l < 8; l++) v747.v[l] = f32_to_bf16(v746.v[l]);
          const i64 v748 = v742 + v546;
          store_vec(((u16*)b_out_peers.p[0ll]) + v748, v747);
        }
        #pragma unroll 1
        for (i64 v749 = v727 + threadIdx.x; v749 < v725; v749 += 384) {
          const i64 v750 = v724 + v749;
          const i64 v751 = v750 - quotient(v750, v536) * v536;
          const i64 v752 = quotient(v750, v536);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v754;
          v754 = 0e+0f;
          for (i64 v753 = 0ll; v753 < v522; v753++) {
            const i64 v755 = v753 * v544;
            const i64 v756 = v755 + v752;
            const i64 v757 = v756 * d_n;
            const i64 v758 = v757 + v751;
            const float v759 = *(b_slices + v758);
            v754 = v754 + v759;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v760 = 5e-1f * v754;
          const i64 v761 = v752 * d_n;
          const i64 v762 = v761 + v751;
          const u16 v763 = *(b_bias + v762);
          const float v764 = bf16_to_f32(v763);
          const float v765 = v760 + v764;
          const float v766 = fn_silu(v765);
          const u16 v767 = f32_to_bf16(v766);
          const i64 v768 = v762 + v546;
          *(((u16*)b_out_peers.p[0ll]) + v768) = v767;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v769 = v552 + ((i64)blockIdx.x - v552 % gridDim.x + gridDim.x) % gridDim.x; v769 < v554; v769 += gridDim.x) {
        const i64 v770 = v769 * 3072ll;
        const i64 v771 = v551 - v770;
        #pragma unroll 1
        for (i64 v772 = threadIdx.x; v772 < v771; v772 += 384) {
          const i64 v773 = v770 + v772;
          const i64 v774 = v773 - quotient(v773, v536) * v536;
          const i64 v775 = quotient(v773, v536);
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v777;
          v777 = 0e+0f;
          for (i64 v776 = 0ll; v776 < v522; v776++) {
            const i64 v778 = v776 * v544;
            const i64 v779 = v778 + v775;
            const i64 v780 = v779 * d_n;
            const i64 v781 = v780 + v774;
            const float v782 = *(b_slices + v781);
            v777 = v777 + v782;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v783 = 5e-1f * v777;
          const i64 v784 = v775 * d_n;
          const i64 v785 = v784 + v774;
          const u16 v786 = *(b_bias + v785);
          const float v787 = bf16_to_f32(v786);
          const float v788 = v783 + v787;
          const float v789 = fn_silu(v788);
          const u16 v790 = f32_to_bf16(v789);
          const i64 v791 = v785 + v546;
          *(((u16*)b_out_peers.p[0ll]) + v791) = v790;
        }
      }
    }
  }
  __syncthreads();
  const u32 v792 = *(b_epoch + 0ll);
  const u32 v793 = v792 + 1u;
  *(b_epoch + 0ll) = v793;
  if (threadIdx.x < 4) {
    const i64 v794 = threadIdx.x;
    const bool v795 = v794 == 0ll;
    const bool v796 = v515 & v795;
    const bool v797 = v516 & v795;
    const bool v798 = v517 & v795;
    const bool v799 = v796 | v797;
    const bool v800 = v799 | v798;
    if (v800) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v794]) + v520, v793);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v801 = threadIdx.x;
    const bool v802 = v801 == 1ll;
    const bool v803 = v521 & v802;
    const bool v804 = v801 == 2ll;
    const bool v805 = v521 & v804;
    const bool v806 = v801 == 3ll;
    const bool v807 = v521 & v806;
    const bool v808 = v803 | v805;
    const bool v809 = v808 | v807;
    const i64 v810 = v519 + v801;
    if (v809) {
      wait_acquire_sys(b_flags + v810, v793, watch, (u32)(v801), 5u, (u32)(v810), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v811 = threadIdx.x;
    const i64 v812 = v811 - quotient(v811, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v813 = v812 == (i64)blockIdx.x;
    if (v813) {
      const u32 v814 = *(b_epoch + 0ll);
      *(b_epochs + v811) = v814;
    }
  }
}
