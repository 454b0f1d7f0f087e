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
          wgmma_end_32(b_accumulator_128x64);
          const i64 v177 = v158 + v129;
          const i64 v178 = v177 - 1ll;
          if (v154) {
            ring_release<8>(b_ring_8, v178);
          }
          const i64 v179 = quotient(v159, v170);
          const i64 v180 = v179 * 8ll;
          const i64 v181 = v175 - v180;
          const i64 v182 = 8ll < v181 ? 8ll : v181;
          const i64 v183 = v159 - quotient(v159, v170) * v170;
          const i64 v184 = v183 - quotient(v183, v182) * v182;
          const i64 v185 = v180 + v184;
          const i64 v186 = v185 * 128ll;
          const i64 v187 = quotient(v183, v182);
          const i64 v188 = v187 * 64ll;
          const i64 v189 = v172 - v186;
          const i64 v190 = d_n - v188;
          const i64 v191 = v160 * v176;
          if (v135) {
            const bool v192 = (u64)b_slices % 16 == 0;
            i64 v193 = d_n;
            asm volatile("" : "+l"(v193));
            const i64 v194 = v193 % 4ll;
            const bool v195 = v194 == 0ll;
            const bool v196 = v192 & v195;
            const i64 v197 = v193 % 4ll;
            const bool v198 = v197 == 0ll;
            const bool v199 = v196 & v198;
            const u32 tv200 = thread_here();
            float* const pv200 = (float*)(b_patch_128x40 + tv200 / 32 * 640);
            #pragma unroll 1
            for (u32 cv200 = 0; cv200 < 2; cv200++) {
              put_fragment_64_f32(pv200, b_accumulator_128x64, cv200, tv200 % 32);
              if (v199) {
                #pragma unroll 4
                for (u32 lv200 = tv200 % 32; lv200 < 128; lv200 += 32) {
                  const i64 v200 = (tv200 / 32 * 16 + lv200 / 8) * 16 + cv200 * 8 + lv200 % 8;
                  const i64 v201 = v200 * 4ll;
                  const i64 v202 = v201 / 64ll;
                  const i64 v203 = v201 % 64ll;
                  const bool v204 = v202 < v189;
                  const bool v205 = v203 < v190;
                  const bool v206 = v204 & v205;
                  const i64 v207 = v186 + v202;
                  const i64 v208 = v188 + v203;
                  const i64 v209 = v202 * 64ll;
                  const i64 v210 = v209 + v203;
                  const i64 v211 = v191 + v207;
                  const i64 v212 = v211 * d_n;
                  const i64 v213 = v212 + v208;
                  if (v206) {
                    const Vec<float, 4> v214 = load_vec<float, 4>(pv200 + lv200 / 8 * 40 + lv200 % 8 * 4);
                    store_vec(b_slices + v213, v214);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv215 = tv200 % 32; lv215 < 512; lv215 += 32) {
                  const i64 v215 = (tv200 / 32 * 16 + lv215 / 32) * 64 + cv200 * 32 + lv215 % 32;
                  const i64 v216 = v215 / 64ll;
                  const i64 v217 = v215 % 64ll;
                  const bool v218 = v216 < v189;
                  const bool v219 = v217 < v190;
                  const bool v220 = v218 & v219;
                  const i64 v221 = v186 + v216;
                  const i64 v222 = v188 + v217;
                  const i64 v223 = v216 * 64ll;
                  const i64 v224 = v223 + v217;
                  const i64 v225 = v191 + v221;
                  const i64 v226 = v225 * d_n;
                  const i64 v227 = v226 + v222;
                  if (v220) {
                    const float v228 = *(pv200 + lv215 / 32 * 40 + lv215 % 32 * 1);
                    *(b_slices + v227) = v228;
                  }
                }
              }
            }
          } else {
            const bool v229 = (u64)b_bias % 16 == 0;
            const bool v230 = (u64)b_out % 16 == 0;
            const bool v231 = v229 & v230;
            i64 v232 = d_n;
            asm volatile("" : "+l"(v232));
            const i64 v233 = v232 % 8ll;
            const bool v234 = v233 == 0ll;
            const bool v235 = v231 & v234;
            const i64 v236 = v232 % 8ll;
            const bool v237 = v236 == 0ll;
            const bool v238 = v235 & v237;
            i64 v239 = (i64)rank;
            asm volatile("" : "+l"(v239));
            i64 v240 = d_m;
            asm volatile("" : "+l"(v240));
            const i64 v241 = v240 / 4ll;
            const i64 v242 = v239 * v241;
            Vec<float, 8> v243;
            #pragma unroll
            for (int l = 0; l < 8; l++) v243.v[l] = 5e-1f;
            const u32 tv244 = thread_here();
            float* const pv244 = (float*)(b_patch_128x40 + tv244 / 32 * 640);
            #pragma unroll 1
            for (u32 cv244 = 0; cv244 < 2; cv244++) {
              put_fragment_64_f32(pv244, b_accumulator_128x64, cv244, tv244 % 32);
              if (v238) {
                #pragma unroll 2
                for (u32 lv244 = tv244 % 32; lv244 < 64; lv244 += 32) {
                  const i64 v244 = (tv244 / 32 * 16 + lv244 / 4) * 8 + cv244 * 4 + lv244 % 4;
                  const i64 v245 = v244 * 8ll;
                  const i64 v246 = v245 / 64ll;
                  const i64 v247 = v245 % 64ll;
                  const bool v248 = v246 < v189;
                  const bool v249 = v247 < v190;
                  const bool v250 = v248 & v249;
                  const i64 v251 = v186 + v246;
                  const i64 v252 = v188 + v247;
                  const i64 v253 = v251 + v242;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v254 = v246 * 64ll;
                  const i64 v255 = v254 + v247;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v256 = v251 * d_n;
                  const i64 v257 = v256 + v252;
                  const i64 v258 = v253 * d_n;
                  const i64 v259 = v258 + v252;
                  if (v250) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v260 = load_vec<float, 8>(pv244 + lv244 / 4 * 40 + lv244 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v261;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v261.v[l] = v243.v[l] * v260.v[l];
                    const Vec<u16, 8> v262 = load_vec<u16, 8>(b_bias + v257);
                    Vec<float, 8> v263;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v263.v[l] = bf16_to_f32(v262.v[l]);
                    Vec<float, 8> v264;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v264.v[l] = v261.v[l] + v263.v[l];
                    Vec<float, 8> v265;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v265.v[l] = fn_silu(v264.v[l]);
                    Vec<u16, 8> v266;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v266.v[l] = f32_to_bf16(v265.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v259, v266);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv267 = tv244 % 32; lv267 < 512; lv267 += 32) {
                  const i64 v267 = (tv244 / 32 * 16 + lv267 / 32) * 64 + cv244 * 32 + lv267 % 32;
                  const i64 v268 = v267 / 64ll;
                  const i64 v269 = v267 % 64ll;
                  const bool v270 = v268 < v189;
                  const bool v271 = v269 < v190;
                  const bool v272 = v270 & v271;
                  const i64 v273 = v186 + v268;
                  const i64 v274 = v188 + v269;
                  const i64 v275 = v273 + v242;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v276 = v268 * 64ll;
                  const i64 v277 = v276 + v269;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v278 = v273 * d_n;
                  const i64 v279 = v278 + v274;
                  const i64 v280 = v275 * d_n;
                  const i64 v281 = v280 + v274;
                  if (v272) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v282 = *(pv244 + lv267 / 32 * 40 + lv267 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v283 = 5e-1f * v282;
                    const u16 v284 = *(b_bias + v279);
                    const float v285 = bf16_to_f32(v284);
                    const float v286 = v283 + v285;
                    const float v287 = fn_silu(v286);
                    const u16 v288 = f32_to_bf16(v287);
                    *(((u16*)b_out_peers.p[0ll]) + v281) = v288;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v289 = d_m;
        asm volatile("" : "+l"(v289));
        const i64 v290 = v289 / 4ll;
        const i64 v291 = v290 > 0ll ? v290 : 0ll;
        const i64 v292 = v291 + 127ll;
        i64 v293 = d_n;
        asm volatile("" : "+l"(v293));
        const i64 v294 = v293 > 0ll ? v293 : 0ll;
        const i64 v295 = v294 + 63ll;
        const i64 v296 = v292 / 128ll;
        const i64 v297 = v295 / 64ll;
        const i64 v298 = v296 * v297;
        const i64 v300 = 8ll * v297;
        const i64 v301 = v298 * v134;
        #pragma unroll 1
        for (i64 v302 = blockIdx.x; v302 < v301; v302 += gridDim.x) {
          const i64 v303 = quotient(v302, (i64)gridDim.x);
          const i64 v304 = v303 * v129;
          const i64 v305 = v302 - quotient(v302, v298) * v298;
          const i64 v306 = quotient(v302, v298);
          const i64 v307 = quotient(v305, v300);
          const i64 v308 = v307 * 8ll;
          const i64 v309 = v296 - v308;
          const i64 v310 = 8ll < v309 ? 8ll : v309;
          const i64 v311 = v305 - quotient(v305, v300) * v300;
          const i64 v312 = v311 - quotient(v311, v310) * v310;
          const i64 v313 = v308 + v312;
          const i64 v314 = v313 * 128ll;
          const i64 v315 = quotient(v311, v310);
          const i64 v316 = v315 * 64ll;
          const i64 v317 = v306 * v129;
          #pragma unroll 1
          for (i64 v318 = 0ll; v318 < v129; v318++) {
            const i64 v319 = v304 + v318;
            const i64 v320 = v319 % 8ll;
            const i64 v321 = v317 + v318;
            const i64 v322 = v321 * 64ll;
            ring_acquire<8>(b_ring_8, v319);
            if (can_map(b_a, d_k)) {
              const i64 left_ring_a_bf16_8x128x64 = (d_m / 4ll) - (v314);
              filling.bytes += left_ring_a_bf16_8x128x64 <= 16 ? 2048 : left_ring_a_bf16_8x128x64 <= 64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v320 * 8192 + s * 8192, left_ring_a_bf16_8x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_8x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v320), (int)(v322) + s * 64, (int)(v314));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_8x128x64 + v320 * 8192, b_a, d_k, (d_m / 4ll), d_k, v314, v322);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 8192;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v320 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v320), (int)(v316) + s * 64, (int)(v322));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 64, 128, 256>(b_ring_b_bf16_8x64x64 + v320 * 4096, b_b, d_n, d_k, d_n, v322, v316);
            }
            ring_fill<8, 256>(b_ring_8, v319, filling);
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
        i64 v323 = d_m;
        asm volatile("" : "+l"(v323));
        const i64 v324 = v323 / 4ll;
        const i64 v325 = v324 > 0ll ? v324 : 0ll;
        const i64 v326 = v325 + 127ll;
        i64 v327 = d_n;
        asm volatile("" : "+l"(v327));
        const i64 v328 = v327 > 0ll ? v327 : 0ll;
        const i64 v329 = v328 + 255ll;
        const i64 v330 = v326 / 128ll;
        const i64 v331 = v329 / 256ll;
        const i64 v332 = v330 * v331;
        const i64 v334 = v332 * v92;
        const bool v335 = v87 > 0ll;
        #pragma unroll 1
        for (i64 v337 = blockIdx.x; v337 < v334; v337 += gridDim.x) {
          const i64 v338 = quotient(v337, (i64)gridDim.x);
          const i64 v339 = v338 * v87;
          const i64 v340 = v337 - quotient(v337, v332) * v332;
          const i64 v341 = quotient(v337, v332);
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          #pragma unroll 2
          for (i64 v342 = 0ll; v342 < v87; v342++) {
            const i64 v343 = v339 + v342;
            ring_wait<4>(b_ring_4, v343);
            const i64 v344 = v343 % 4ll;
            wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v344 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v344 * 16384), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v345 = v342 > 0ll;
            const i64 v346 = v343 - 1ll;
            if (v345) {
              ring_release<4>(b_ring_4, v346);
            }
          }
          i64 v347 = d_n;
          asm volatile("" : "+l"(v347));
          const i64 v348 = v347 > 0ll ? v347 : 0ll;
          const i64 v349 = v348 + 255ll;
          const i64 v350 = v349 / 256ll;
          const i64 v351 = 8ll * v350;
          i64 v352 = d_m;
          asm volatile("" : "+l"(v352));
          const i64 v353 = v352 / 4ll;
          const i64 v354 = v353 > 0ll ? v353 : 0ll;
          const i64 v355 = v354 + 127ll;
          const i64 v356 = v355 / 128ll;
          const i64 v357 = v352 / 4ll;
          wgmma_end_128(b_accumulator_128x256);
          const i64 v358 = v339 + v87;
          const i64 v359 = v358 - 1ll;
          if (v335) {
            ring_release<4>(b_ring_4, v359);
          }
          const i64 v360 = quotient(v340, v351);
          const i64 v361 = v360 * 8ll;
          const i64 v362 = v356 - v361;
          const i64 v363 = 8ll < v362 ? 8ll : v362;
          const i64 v364 = v340 - quotient(v340, v351) * v351;
          const i64 v365 = v364 - quotient(v364, v363) * v363;
          const i64 v366 = v361 + v365;
          const i64 v367 = v366 * 128ll;
          const i64 v368 = quotient(v364, v363);
          const i64 v369 = v368 * 256ll;
          const i64 v370 = v353 - v367;
          const i64 v371 = d_n - v369;
          const i64 v372 = v341 * v357;
          if (v93) {
            const bool v373 = (u64)b_slices % 16 == 0;
            i64 v374 = d_n;
            asm volatile("" : "+l"(v374));
            const i64 v375 = v374 % 4ll;
            const bool v376 = v375 == 0ll;
            const bool v377 = v373 & v376;
            const i64 v378 = v374 % 4ll;
            const bool v379 = v378 == 0ll;
            const bool v380 = v377 & v379;
            const u32 tv381 = thread_here();
            float* const pv381 = (float*)(b_patch_128x40 + tv381 / 32 * 640);
            #pragma unroll 1
            for (u32 cv381 = 0; cv381 < 8; cv381++) {
              put_fragment_256_f32(pv381, b_accumulator_128x256, cv381, tv381 % 32);
              if (v380) {
                #pragma unroll 4
                for (u32 lv381 = tv381 % 32; lv381 < 128; lv381 += 32) {
                  const i64 v381 = (tv381 / 32 * 16 + lv381 / 8) * 64 + cv381 * 8 + lv381 % 8;
                  const i64 v382 = v381 * 4ll;
                  const i64 v383 = v382 / 256ll;
                  const i64 v384 = v382 % 256ll;
                  const bool v385 = v383 < v370;
                  const bool v386 = v384 < v371;
                  const bool v387 = v385 & v386;
                  const i64 v388 = v367 + v383;
                  const i64 v389 = v369 + v384;
                  const i64 v390 = v383 * 256ll;
                  const i64 v391 = v390 + v384;
                  const i64 v392 = v372 + v388;
                  const i64 v393 = v392 * d_n;
                  const i64 v394 = v393 + v389;
                  if (v387) {
                    const Vec<float, 4> v395 = load_vec<float, 4>(pv381 + lv381 / 8 * 40 + lv381 % 8 * 4);
                    store_vec(b_slices + v394, v395);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv396 = tv381 % 32; lv396 < 512; lv396 += 32) {
                  const i64 v396 = (tv381 / 32 * 16 + lv396 / 32) * 256 + cv381 * 32 + lv396 % 32;
                  const i64 v397 = v396 / 256ll;
                  const i64 v398 = v396 % 256ll;
                  const bool v399 = v397 < v370;
                  const bool v400 = v398 < v371;
                  const bool v401 = v399 & v400;
                  const i64 v402 = v367 + v397;
                  const i64 v403 = v369 + v398;
                  const i64 v404 = v397 * 256ll;
                  const i64 v405 = v404 + v398;
                  const i64 v406 = v372 + v402;
                  const i64 v407 = v406 * d_n;
                  const i64 v408 = v407 + v403;
                  if (v401) {
                    const float v409 = *(pv381 + lv396 / 32 * 40 + lv396 % 32 * 1);
                    *(b_slices + v408) = v409;
                  }
                }
              }
            }
          } else {
            const bool v410 = (u64)b_bias % 16 == 0;
            const bool v411 = (u64)b_out % 16 == 0;
            const bool v412 = v410 & v411;
            i64 v413 = d_n;
            asm volatile("" : "+l"(v413));
            const i64 v414 = v413 % 8ll;
            const bool v415 = v414 == 0ll;
            const bool v416 = v412 & v415;
            const i64 v417 = v413 % 8ll;
            const bool v418 = v417 == 0ll;
            const bool v419 = v416 & v418;
            i64 v420 = (i64)rank;
            asm volatile("" : "+l"(v420));
            i64 v421 = d_m;
            asm volatile("" : "+l"(v421));
            const i64 v422 = v421 / 4ll;
            const i64 v423 = v420 * v422;
            Vec<float, 8> v424;
            #pragma unroll
            for (int l = 0; l < 8; l++) v424.v[l] = 5e-1f;
            const u32 tv425 = thread_here();
            float* const pv425 = (float*)(b_patch_128x40 + tv425 / 32 * 640);
            #pragma unroll 1
            for (u32 cv425 = 0; cv425 < 8; cv425++) {
              put_fragment_256_f32(pv425, b_accumulator_128x256, cv425, tv425 % 32);
              if (v419) {
                #pragma unroll 2
                for (u32 lv425 = tv425 % 32; lv425 < 64; lv425 += 32) {
                  const i64 v425 = (tv425 / 32 * 16 + lv425 / 4) * 32 + cv425 * 4 + lv425 % 4;
                  const i64 v426 = v425 * 8ll;
                  const i64 v427 = v426 / 256ll;
                  const i64 v428 = v426 % 256ll;
                  const bool v429 = v427 < v370;
                  const bool v430 = v428 < v371;
                  const bool v431 = v429 & v430;
                  const i64 v432 = v367 + v427;
                  const i64 v433 = v369 + v428;
                  const i64 v434 = v432 + v423;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v435 = v427 * 256ll;
                  const i64 v436 = v435 + v428;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v437 = v432 * d_n;
                  const i64 v438 = v437 + v433;
                  const i64 v439 = v434 * d_n;
                  const i64 v440 = v439 + v433;
                  if (v431) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v441 = load_vec<float, 8>(pv425 + lv425 / 4 * 40 + lv425 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v442;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v442.v[l] = v424.v[l] * v441.v[l];
                    const Vec<u16, 8> v443 = load_vec<u16, 8>(b_bias + v438);
                    Vec<float, 8> v444;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v444.v[l] = bf16_to_f32(v443.v[l]);
                    Vec<float, 8> v445;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v445.v[l] = v442.v[l] + v444.v[l];
                    Vec<float, 8> v446;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v446.v[l] = fn_silu(v445.v[l]);
                    Vec<u16, 8> v447;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v447.v[l] = f32_to_bf16(v446.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v440, v447);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv448 = tv425 % 32; lv448 < 512; lv448 += 32) {
                  const i64 v448 = (tv425 / 32 * 16 + lv448 / 32) * 256 + cv425 * 32 + lv448 % 32;
                  const i64 v449 = v448 / 256ll;
                  const i64 v450 = v448 % 256ll;
                  const bool v451 = v449 < v370;
                  const bool v452 = v450 < v371;
                  const bool v453 = v451 & v452;
                  const i64 v454 = v367 + v449;
                  const i64 v455 = v369 + v450;
                  const i64 v456 = v454 + v423;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v457 = v449 * 256ll;
                  const i64 v458 = v457 + v450;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v459 = v454 * d_n;
                  const i64 v460 = v459 + v455;
                  const i64 v461 = v456 * d_n;
                  const i64 v462 = v461 + v455;
                  if (v453) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v463 = *(pv425 + lv448 / 32 * 40 + lv448 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v464 = 5e-1f * v463;
                    const u16 v465 = *(b_bias + v460);
                    const float v466 = bf16_to_f32(v465);
                    const float v467 = v464 + v466;
                    const float v468 = fn_silu(v467);
                    const u16 v469 = f32_to_bf16(v468);
                    *(((u16*)b_out_peers.p[0ll]) + v462) = v469;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        i64 v470 = d_m;
        asm volatile("" : "+l"(v470));
        const i64 v471 = v470 / 4ll;
        const i64 v472 = v471 > 0ll ? v471 : 0ll;
        const i64 v473 = v472 + 127ll;
        i64 v474 = d_n;
        asm volatile("" : "+l"(v474));
        const i64 v475 = v474 > 0ll ? v474 : 0ll;
        const i64 v476 = v475 + 255ll;
        const i64 v477 = v473 / 128ll;
        const i64 v478 = v476 / 256ll;
        const i64 v479 = v477 * v478;
        const i64 v481 = 8ll * v478;
        const i64 v482 = v479 * v92;
        #pragma unroll 1
        for (i64 v483 = blockIdx.x; v483 < v482; v483 += gridDim.x) {
          const i64 v484 = quotient(v483, (i64)gridDim.x);
          const i64 v485 = v484 * v87;
          const i64 v486 = v483 - quotient(v483, v479) * v479;
          const i64 v487 = quotient(v483, v479);
          const i64 v488 = quotient(v486, v481);
          const i64 v489 = v488 * 8ll;
          const i64 v490 = v477 - v489;
          const i64 v491 = 8ll < v490 ? 8ll : v490;
          const i64 v492 = v486 - quotient(v486, v481) * v481;
          const i64 v493 = v492 - quotient(v492, v491) * v491;
          const i64 v494 = v489 + v493;
          const i64 v495 = v494 * 128ll;
          const i64 v496 = quotient(v492, v491);
          const i64 v497 = v496 * 256ll;
          const i64 v498 = v487 * v87;
          #pragma unroll 1
          for (i64 v499 = 0ll; v499 < v87; v499++) {
            const i64 v500 = v485 + v499;
            const i64 v501 = v500 % 4ll;
            const i64 v502 = v498 + v499;
            const i64 v503 = v502 * 64ll;
            ring_acquire<4>(b_ring_4, v500);
            if (can_map(b_a, d_k)) {
              const i64 left_ring_a_bf16_4x128x64 = (d_m / 4ll) - (v495);
              filling.bytes += left_ring_a_bf16_4x128x64 <= 16 ? 2048 : left_ring_a_bf16_4x128x64 <= 64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v501 * 8192 + s * 8192, left_ring_a_bf16_4x128x64 <= 16 ? &b_a_map_16x64 : left_ring_a_bf16_4x128x64 <= 64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v501), (int)(v503) + s * 64, (int)(v495));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v501 * 8192, b_a, d_k, (d_m / 4ll), d_k, v495, v503);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 32768;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v501 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v501), (int)(v497) + s * 64, (int)(v503));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v501 * 16384, b_b, d_n, d_k, d_n, v503, v497);
            }
            ring_fill<4, 256>(b_ring_4, v500, filling);
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
  i64 v508 = (i64)rank;
  asm volatile("" : "+l"(v508));
  const bool v509 = v508 == 1ll;
  const bool v510 = v508 == 2ll;
  const bool v511 = v508 == 3ll;
  const i64 v513 = (i64)blockIdx.x * 4ll;
  const i64 v514 = v513 + v508;
  const bool v515 = v508 == 0ll;
  const i64 v516 = v136 ? v134 : v92;
  const bool v517 = v136 ? v135 : v93;
  if (v517) {
    const i64 v519 = (i64)blockIdx.x * 4ll;
    i64 v520 = (i64)rank;
    asm volatile("" : "+l"(v520));
    const i64 v521 = v519 + v520;
    const i64 v523 = v520 % 4ll;
    const bool v524 = (u64)b_slices % 16 == 0;
    const bool v525 = (u64)b_bias % 16 == 0;
    const bool v526 = v524 & v525;
    const bool v527 = (u64)b_out % 16 == 0;
    const bool v528 = v526 & v527;
    i64 v529 = d_n;
    asm volatile("" : "+l"(v529));
    const i64 v530 = v529 > 0ll ? v529 : 0ll;
    const i64 v531 = v530 % 8ll;
    const bool v532 = v531 == 0ll;
    const bool v533 = v528 & v532;
    const i64 v534 = v529 % 8ll;
    const bool v535 = v534 == 0ll;
    const bool v536 = v533 & v535;
    i64 v537 = d_m;
    asm volatile("" : "+l"(v537));
    const i64 v538 = v537 / 4ll;
    const i64 v539 = v538 > 0ll ? v538 : 0ll;
    const i64 v540 = v539 * v530;
    const i64 v541 = v540 / 3072ll;
    const i64 v542 = v540 + 3071ll;
    const i64 v543 = v542 / 3072ll;
    const i64 v544 = v520 * v538;
    Vec<float, 8> v545;
    #pragma unroll
    for (int l = 0; l < 8; l++) v545.v[l] = 5e-1f;
    __syncthreads();
    const u32 v546 = *(b_epoch + 0ll);
    const u32 v547 = v546 + 1u;
    *(b_epoch + 0ll) = v547;
    if (threadIdx.x < 1) {
      const i64 v548 = threadIdx.x;
      signal_set_release_gpu(b_flags + v521, v547);
    }
    #pragma unroll 1
    for (i64 v549 = threadIdx.x; v549 < (i64)gridDim.x; v549 += 384) {
      const i64 v550 = v549 * 4ll;
      const i64 v551 = v550 + v523;
      wait_acquire_gpu(b_flags + v551, v547, watch, (u32)(v523), 5u, (u32)(v551), 5u);
    }
    __syncthreads();
    if (v536) {
      i64 v552 = d_m;
      asm volatile("" : "+l"(v552));
      const i64 v553 = v552 / 4ll;
      const i64 v554 = v553 > 0ll ? v553 : 0ll;
      i64 v555 = d_n;
      asm volatile("" : "+l"(v555));
      const i64 v556 = v555 > 0ll ? v555 : 0ll;
      const i64 v557 = v554 * v556;
      const i64 v558 = v557 / 3072ll;
      const i64 v560 = (i64)gridDim.x * 4ll;
      const i64 v562 = (i64)gridDim.x * 2ll;
      const i64 v563 = (i64)gridDim.x * 3ll;
      i64 v564 = (i64)rank;
      asm volatile("" : "+l"(v564));
      const i64 v565 = v564 * v553;
      Vec<float, 8> v566;
      #pragma unroll
      for (int l = 0; l < 8; l++) v566.v[l] = 5e-1f;
      const i64 v567 = quotient(v558, v560);
      #pragma unroll 1
      for (i64 v568 = 0ll; v568 < v567; v568++) {
        const i64 v569 = v568 * v560;
        const i64 v570 = v569 + (i64)blockIdx.x;
        const i64 v571 = v570 * 3072ll;
        const i64 v572 = v570 + (i64)gridDim.x;
        const i64 v573 = v572 * 3072ll;
        const i64 v574 = v570 + v562;
        const i64 v575 = v574 * 3072ll;
        const i64 v576 = v570 + v563;
        const i64 v577 = v576 * 3072ll;
        {
          const i64 v578 = threadIdx.x;
          const i64 v579 = v578 * 8ll;
          const i64 v580 = v571 + v579;
          const i64 v581 = v573 + v579;
          const i64 v582 = v575 + v579;
          const i64 v583 = v577 + v579;
          const i64 v584 = v580 - quotient(v580, v556) * v556;
          const i64 v585 = v581 - quotient(v581, v556) * v556;
          const i64 v586 = v582 - quotient(v582, v556) * v556;
          const i64 v587 = v583 - quotient(v583, v556) * v556;
          const i64 v588 = quotient(v580, v556);
          const i64 v589 = quotient(v581, v556);
          const i64 v590 = quotient(v582, v556);
          const i64 v591 = quotient(v583, v556);
          const i64 v592 = v588 + v565;
          const i64 v593 = v589 + v565;
          const i64 v594 = v590 + v565;
          const i64 v595 = v591 + v565;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v597;
          for (int l = 0; l < 8; l++) v597.v[l] = 0e+0f;
          for (i64 v596 = 0ll; v596 < v516; v596++) {
            const i64 v598 = v596 * v553;
            const i64 v599 = v598 + v588;
            const i64 v600 = v599 * d_n;
            const i64 v601 = v600 + v584;
            const Vec<float, 8> v602 = load_vec<float, 8>(b_slices + v601);
            for (int l = 0; l < 8; l++) v597.v[l] = v597.v[l] + v602.v[l];
          }
          Vec<float, 8> v604;
          for (int l = 0; l < 8; l++) v604.v[l] = 0e+0f;
          for (i64 v603 = 0ll; v603 < v516; v603++) {
            const i64 v605 = v603 * v553;
            const i64 v606 = v605 + v589;
            const i64 v607 = v606 * d_n;
            const i64 v608 = v607 + v585;
            const Vec<float, 8> v609 = load_vec<float, 8>(b_slices + v608);
            for (int l = 0; l < 8; l++) v604.v[l] = v604.v[l] + v609.v[l];
          }
          Vec<float, 8> v611;
          for (int l = 0; l < 8; l++) v611.v[l] = 0e+0f;
          for (i64 v610 = 0ll; v610 < v516; v610++) {
            const i64 v612 = v610 * v553;
            const i64 v613 = v612 + v590;
            const i64 v614 = v613 * d_n;
            const i64 v615 = v614 + v586;
            const Vec<float, 8> v616 = load_vec<float, 8>(b_slices + v615);
            for (int l = 0; l < 8; l++) v611.v[l] = v611.v[l] + v616.v[l];
          }
          Vec<float, 8> v618;
          for (int l = 0; l < 8; l++) v618.v[l] = 0e+0f;
          for (i64 v617 = 0ll; v617 < v516; v617++) {
            const i64 v619 = v617 * v553;
            const i64 v620 = v619 + v591;
            const i64 v621 = v620 * d_n;
            const i64 v622 = v621 + v587;
            const Vec<float, 8> v623 = load_vec<float, 8>(b_slices + v622);
            for (int l = 0; l < 8; l++) v618.v[l] = v618.v[l] + v623.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v624;
          #pragma unroll
          for (int l = 0; l < 8; l++) v624.v[l] = v566.v[l] * v597.v[l];
          Vec<float, 8> v625;
          #pragma unroll
          for (int l = 0; l < 8; l++) v625.v[l] = v566.v[l] * v604.v[l];
          Vec<float, 8> v626;
          #pragma unroll
          for (int l = 0; l < 8; l++) v626.v[l] = v566.v[l] * v611.v[l];
          Vec<float, 8> v627;
          #pragma unroll
          for (int l = 0; l < 8; l++) v627.v[l] = v566.v[l] * v618.v[l];
          const i64 v628 = v588 * d_n;
          const i64 v629 = v589 * d_n;
          const i64 v630 = v590 * d_n;
          const i64 v631 = v591 * d_n;
          const i64 v632 = v628 + v584;
          const i64 v633 = v629 + v585;
          const i64 v634 = v630 + v586;
          const i64 v635 = v631 + v587;
          const Vec<u16, 8> v636 = load_vec<u16, 8>(b_bias + v632);
          const Vec<u16, 8> v637 = load_vec<u16, 8>(b_bias + v633);
          const Vec<u16, 8> v638 = load_vec<u16, 8>(b_bias + v634);
          const Vec<u16, 8> v639 = load_vec<u16, 8>(b_bias + v635);
          Vec<float, 8> v640;
          #pragma unroll
          for (int l = 0; l < 8; l++) v640.v[l] = bf16_to_f32(v636.v[l]);
          Vec<float, 8> v641;
          #pragma unroll
          for (int l = 0; l < 8; l++) v641.v[l] = bf16_to_f32(v637.v[l]);
          Vec<float, 8> v642;
          #pragma unroll
          for (int l = 0; l < 8; l++) v642.v[l] = bf16_to_f32(v638.v[l]);
          Vec<float, 8> v643;
          #pragma unroll
          for (int l = 0; l < 8; l++) v643.v[l] = bf16_to_f32(v639.v[l]);
          Vec<float, 8> v644;
          #pragma unroll
          for (int l = 0; l < 8; l++) v644.v[l] = v624.v[l] + v640.v[l];
          Vec<float, 8> v645;
          #pragma unroll
          for (int l = 0; l < 8; l++) v645.v[l] = v625.v[l] + v641.v[l];
          Vec<float, 8> v646;
          #pragma unroll
          for (int l = 0; l < 8; l++) v646.v[l] = v626.v[l] + v642.v[l];
          Vec<float, 8> v647;
          #pragma unroll
          for (int l = 0; l < 8; l++) v647.v[l] = v627.v[l] + v643.v[l];
          Vec<float, 8> v648;
          #pragma unroll
          for (int l = 0; l < 8; l++) v648.v[l] = fn_silu(v644.v[l]);
          Vec<float, 8> v649;
          #pragma unroll
          for (int l = 0; l < 8; l++) v649.v[l] = fn_silu(v645.v[l]);
          Vec<float, 8> v650;
          #pragma unroll
          for (int l = 0; l < 8; l++) v650.v[l] = fn_silu(v646.v[l]);
          Vec<float, 8> v651;
          #pragma unroll
          for (int l = 0; l < 8; l++) v651.v[l] = fn_silu(v647.v[l]);
          Vec<u16, 8> v652;
          #pragma unroll
          for (int l = 0; l < 8; l++) v652.v[l] = f32_to_bf16(v648.v[l]);
          Vec<u16, 8> v653;
          #pragma unroll
          for (int l = 0; l < 8; l++) v653.v[l] = f32_to_bf16(v649.v[l]);
          Vec<u16, 8> v654;
          #pragma unroll
          for (int l = 0; l < 8; l++) v654.v[l] = f32_to_bf16(v650.v[l]);
          Vec<u16, 8> v655;
          #pragma unroll
          for (int l = 0; l < 8; l++) v655.v[l] = f32_to_bf16(v651.v[l]);
          const i64 v656 = v592 * d_n;
          const i64 v657 = v593 * d_n;
          const i64 v658 = v594 * d_n;
          const i64 v659 = v595 * d_n;
          const i64 v660 = v656 + v584;
          const i64 v661 = v657 + v585;
          const i64 v662 = v658 + v586;
          const i64 v663 = v659 + v587;
          store_vec(((u16*)b_out_peers.p[0ll]) + v660, v652);
          store_vec(((u16*)b_out_peers.p[0ll]) + v661, v653);
          store_vec(((u16*)b_out_peers.p[0ll]) + v662, v654);
          store_vec(((u16*)b_out_peers.p[0ll]) + v663, v655);
        }
      }
      const i64 v664 = v567 * v560;
      #pragma unroll 1
      for (i64 v665 = v664 + ((i64)blockIdx.x - v664 % gridDim.x + gridDim.x) % gridDim.x; v665 < v558; v665 += gridDim.x) {
        const i64 v666 = v665 * 3072ll;
        {
          const i64 v667 = threadIdx.x;
          const i64 v668 = v667 * 8ll;
          const i64 v669 = v666 + v668;
          const i64 v670 = v669 - quotient(v669, v556) * v556;
          const i64 v671 = quotient(v669, v556);
          const i64 v672 = v671 + v565;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v674;
          for (int l = 0; l < 8; l++) v674.v[l] = 0e+0f;
          for (i64 v673 = 0ll; v673 < v516; v673++) {
            const i64 v675 = v673 * v553;
            const i64 v676 = v675 + v671;
            const i64 v677 = v676 * d_n;
            const i64 v678 = v677 + v670;
            const Vec<float, 8> v679 = load_vec<float, 8>(b_slices + v678);
            for (int l = 0; l < 8; l++) v674.v[l] = v674.v[l] + v679.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v680;
          #pragma unroll
          for (int l = 0; l < 8; l++) v680.v[l] = v566.v[l] * v674.v[l];
          const i64 v681 = v671 * d_n;
          const i64 v682 = v681 + v670;
          const Vec<u16, 8> v683 = load_vec<u16, 8>(b_bias + v682);
          Vec<float, 8> v684;
          #pragma unroll
          for (int l = 0; l < 8; l++) v684.v[l] = bf16_to_f32(v683.v[l]);
          Vec<float, 8> v685;
          #pragma unroll
          for (int l = 0; l < 8; l++) v685.v[l] = v680.v[l] + v684.v[l];
          Vec<float, 8> v686;
          #pragma unroll
          for (int l = 0; l < 8; l++) v686.v[l] = fn_silu(v685.v[l]);
          Vec<u16, 8> v687;
          #pragma unroll
          for (int l = 0; l < 8; l++) v687.v[l] = f32_to_bf16(v686.v[l]);
          const i64 v688 = v672 * d_n;
          const i64 v689 = v688 + v670;
          store_vec(((u16*)b_out_peers.p[0ll]) + v689, v687);
        }
      }
    } else {
      i64 v690 = d_m;
      asm volatile("" : "+l"(v690));
      const i64 v691 = v690 / 4ll;
      const i64 v692 = v691 > 0ll ? v691 : 0ll;
      i64 v693 = d_n;
      asm volatile("" : "+l"(v693));
      const i64 v694 = v693 > 0ll ? v693 : 0ll;
      const i64 v695 = v692 * v694;
      const i64 v696 = v695 / 3072ll;
      i64 v697 = (i64)rank;
      asm volatile("" : "+l"(v697));
      const i64 v698 = v697 * v691;
      #pragma unroll 1
      for (i64 v699 = blockIdx.x; v699 < v696; v699 += gridDim.x) {
        const i64 v700 = v699 * 3072ll;
        #pragma unroll 1
        for (i64 v701 = threadIdx.x; v701 < 3072ll; v701 += 384) {
          const i64 v702 = v700 + v701;
          const i64 v703 = v702 - quotient(v702, v694) * v694;
          const i64 v704 = quotient(v702, v694);
          const i64 v705 = v704 + v698;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v707;
          v707 = 0e+0f;
          for (i64 v706 = 0ll; v706 < v516; v706++) {
            const i64 v708 = v706 * v691;
            const i64 v709 = v708 + v704;
            const i64 v710 = v709 * d_n;
            const i64 v711 = v710 + v703;
            const float v712 = *(b_slices + v711);
            v707 = v707 + v712;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v713 = 5e-1f * v707;
          const i64 v714 = v704 * d_n;
          const i64 v715 = v714 + v703;
          const u16 v716 = *(b_bias + v715);
          const float v717 = bf16_to_f32(v716);
          const float v718 = v713 + v717;
          const float v719 = fn_silu(v718);
          const u16 v720 = f32_to_bf16(v719);
          const i64 v721 = v705 * d_n;
          const i64 v722 = v721 + v703;
          *(((u16*)b_out_peers.p[0ll]) + v722) = v720;
        }
      }
    }
    if (v536) {
      #pragma unroll 1
      for (i64 v723 = v541 + ((i64)blockIdx.x - v541 % gridDim.x + gridDim.x) % gridDim.x; v723 < v543; v723 += gridDim.x) {
        const i64 v724 = v723 * 3072ll;
        const i64 v725 = v540 - v724;
        const i64 v726 = v725 / 8ll;
        const i64 v727 = v726 * 8ll;
        #pragma unroll 1
        for (i64 v728 = threadIdx.x; v728 < v726; v728 += 384) {
          const i64 v729 = v728 * 8ll;
          const i64 v730 = v724 + v729;
          const i64 v731 = v730 - quotient(v730, v530) * v530;
          const i64 v732 = quotient(v730, v530);
          const i64 v733 = v732 + v544;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          Vec<float, 8> v735;
          for (int l = 0; l < 8; l++) v735.v[l] = 0e+0f;
          for (i64 v734 = 0ll; v734 < v516; v734++) {
            const i64 v736 = v734 * v538;
            const i64 v737 = v736 + v732;
            const i64 v738 = v737 * d_n;
            const i64 v739 = v738 + v731;
            const Vec<float, 8> v740 = load_vec<float, 8>(b_slices + v739);
            for (int l = 0; l < 8; l++) v735.v[l] = v735.v[l] + v740.v[l];
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          Vec<float, 8> v741;
          #pragma unroll
          for (int l = 0; l < 8; l++) v741.v[l] = v545.v[l] * v735.v[l];
          const i64 v742 = v732 * d_n;
          const i64 v743 = v742 + v731;
          const Vec<u16, 8> v744 = load_vec<u16, 8>(b_bias + v743);
          Vec<float, 8> v745;
          #pragma unroll
          for (int l = 0; l < 8; l++) v745.v[l] = bf16_to_f32(v744.v[l]);
          Vec<float, 8> v746;
          #pragma unroll
          for (int l = 0; l < 8; l++) v746.v[l] = v741.v[l] + v745.v[l];
          Vec<float, 8> v747;
          #pragma unroll
          for (int l = 0; l < 8; l++) v747.v[l] = fn_silu(v746.v[l]);
          Vec<u16, 8> v748;
          #pragma unroll
          for (int l = 0; l < 8; l++) v748.v[l] = f32_to_bf16(v747.v[l]);
          const i64 v749 = v733 * d_n;
          const i64 v750 = v749 + v731;
          store_vec(((u16*)b_out_peers.p[0ll]) + v750, v748);
        }
        #pragma unroll 1
        for (i64 v751 = v727 + threadIdx.x; v751 < v725; v751 += 384) {
          const i64 v752 = v724 + v751;
          const i64 v753 = v752 - quotient(v752, v530) * v530;
          const i64 v754 = quotient(v752, v530);
          const i64 v755 = v754 + v544;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v757;
          v757 = 0e+0f;
          for (i64 v756 = 0ll; v756 < v516; v756++) {
            const i64 v758 = v756 * v538;
            const i64 v759 = v758 + v754;
            const i64 v760 = v759 * d_n;
            const i64 v761 = v760 + v753;
            const float v762 = *(b_slices + v761);
            v757 = v757 + v762;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v763 = 5e-1f * v757;
          const i64 v764 = v754 * d_n;
          const i64 v765 = v764 + v753;
          const u16 v766 = *(b_bias + v765);
          const float v767 = bf16_to_f32(v766);
          const float v768 = v763 + v767;
          const float v769 = fn_silu(v768);
          const u16 v770 = f32_to_bf16(v769);
          const i64 v771 = v755 * d_n;
          const i64 v772 = v771 + v753;
          *(((u16*)b_out_peers.p[0ll]) + v772) = v770;
        }
      }
    } else {
      #pragma unroll 1
      for (i64 v773 = v541 + ((i64)blockIdx.x - v541 % gridDim.x + gridDim.x) % gridDim.x; v773 < v543; v773 += gridDim.x) {
        const i64 v774 = v773 * 3072ll;
        const i64 v775 = v540 - v774;
        #pragma unroll 1
        for (i64 v776 = threadIdx.x; v776 < v775; v776 += 384) {
          const i64 v777 = v774 + v776;
          const i64 v778 = v777 - quotient(v777, v530) * v530;
          const i64 v779 = quotient(v777, v530);
          const i64 v780 = v779 + v544;
          // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
          float v782;
          v782 = 0e+0f;
          for (i64 v781 = 0ll; v781 < v516; v781++) {
            const i64 v783 = v781 * v538;
            const i64 v784 = v783 + v779;
            const i64 v785 = v784 * d_n;
            const i64 v786 = v785 + v778;
            const float v787 = *(b_slices + v786);
            v782 = v782 + v787;
          }
          // layer.coll:5: out = gather(silu(hidden), to: 0)
          const float v788 = 5e-1f * v782;
          const i64 v789 = v779 * d_n;
          const i64 v790 = v789 + v778;
          const u16 v791 = *(b_bias + v790);
          const float v792 = bf16_to_f32(v791);
          const float v793 = v788 + v792;
          const float v794 = fn_silu(v793);
          const u16 v795 = f32_to_bf16(v794);
          const i64 v796 = v780 * d_n;
          const i64 v797 = v796 + v778;
          *(((u16*)b_out_peers.p[0ll]) + v797) = v795;
        }
      }
    }
  }
  __syncthreads();
  const u32 v798 = *(b_epoch + 0ll);
  const u32 v799 = v798 + 1u;
  *(b_epoch + 0ll) = v799;
  if (threadIdx.x < 4) {
    const i64 v800 = threadIdx.x;
    const bool v801 = v800 == 0ll;
    const bool v802 = v509 & v801;
    const bool v803 = v510 & v801;
    const bool v804 = v511 & v801;
    const bool v805 = v802 | v803;
    const bool v806 = v805 | v804;
    if (v806) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v800]) + v514, v799);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v807 = threadIdx.x;
    const bool v808 = v807 == 1ll;
    const bool v809 = v515 & v808;
    const bool v810 = v807 == 2ll;
    const bool v811 = v515 & v810;
    const bool v812 = v807 == 3ll;
    const bool v813 = v515 & v812;
    const bool v814 = v809 | v811;
    const bool v815 = v814 | v813;
    const i64 v816 = v513 + v807;
    if (v815) {
      wait_acquire_sys(b_flags + v816, v799, watch, (u32)(v807), 5u, (u32)(v816), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v817 = threadIdx.x;
    const i64 v818 = v817 - quotient(v817, (i64)gridDim.x) * (i64)gridDim.x;
    const bool v819 = v818 == (i64)blockIdx.x;
    if (v819) {
      const u32 v820 = *(b_epoch + 0ll);
      *(b_epochs + v817) = v820;
    }
  }
}
