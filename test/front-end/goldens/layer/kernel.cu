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
  const i64 v96 = v7 > 1ll ? v7 : 1ll;
  const i64 v97 = 128ll / v96;
  const i64 v98 = 1ll < v97 ? 1ll : v97;
  const i64 v99 = d_n + 63ll;
  const i64 v100 = v99 / 64ll;
  const i64 v101 = v51 * v100;
  const i64 v102 = v101 > 1ll ? v101 : 1ll;
  const i64 v103 = 132ll / v102;
  const i64 v104 = 1ll < v103 ? 1ll : v103;
  const i64 v105 = v98 * v104;
  const i64 v106 = v101 * 2ll;
  const i64 v108 = v106 / 133ll;
  const i64 v109 = 1ll < v108 ? 1ll : v108;
  const i64 v110 = v105 * v109;
  const bool v111 = v110 > 0ll;
  const i64 v114 = v7 > 0ll ? v7 : 0ll;
  const i64 v115 = d_n > 0ll ? d_n : 0ll;
  const i64 v116 = v114 * v115;
  const i64 v118 = v116 / 3072ll;
  const i64 v120 = v116 + 3071ll;
  const i64 v121 = v120 / 3072ll;
  const bool v124 = (u64)b_slices % 16 == 0;
  const bool v125 = (u64)b_bias % 16 == 0;
  const bool v126 = v124 & v125;
  const bool v127 = (u64)b_out % 16 == 0;
  const bool v128 = v126 & v127;
  const i64 v129 = v115 % 8ll;
  const bool v130 = v129 == 0ll;
  const bool v131 = v128 & v130;
  const i64 v132 = d_n % 8ll;
  const bool v133 = v132 == 0ll;
  const bool v134 = v131 & v133;
  Vec<float, 8> v136;
  #pragma unroll
  for (int l = 0; l < 8; l++) v136.v[l] = 5e-1f;
  const i64 v137 = (i64)rank % 4ll;
  const i64 v138 = (i64)gridDim.x * 4ll;
  const i64 v139 = (i64)gridDim.x * 2ll;
  const i64 v140 = (i64)gridDim.x * 3ll;
  if (v111) {
    {
      ring_begin<8, 8, 4, false>(b_ring_8);
      if (threadIdx.x < 256) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        const i64 v141 = v7 > 0ll ? v7 : 0ll;
        const i64 v142 = v141 + 127ll;
        const i64 v143 = v142 / 128ll;
        const i64 v144 = d_n > 0ll ? d_n : 0ll;
        const i64 v145 = v144 + 63ll;
        const i64 v146 = v145 / 64ll;
        const i64 v147 = v143 * v146;
        const i64 v149 = d_k + 63ll;
        const i64 v150 = v149 / 64ll;
        const i64 v151 = 8ll * v146;
        const bool v152 = v150 > 0ll;
        const bool v154 = (u64)b_bias % 16 == 0;
        const bool v155 = (u64)b_out % 16 == 0;
        const bool v156 = v154 & v155;
        const i64 v157 = d_n % 8ll;
        const bool v158 = v157 == 0ll;
        const bool v159 = v156 & v158;
        const i64 v160 = d_n % 8ll;
        const bool v161 = v160 == 0ll;
        const bool v162 = v159 & v161;
        Vec<float, 8> v163;
        #pragma unroll
        for (int l = 0; l < 8; l++) v163.v[l] = 5e-1f;
        #pragma unroll 1
        for (i64 v164 = blockIdx.x; v164 < v147; v164 += gridDim.x) {
          const i64 v165 = v164 / (i64)gridDim.x;
          const i64 v166 = v165 * v150;
          const i64 v167 = v164 / v151;
          const i64 v168 = v167 * 8ll;
          const i64 v169 = v143 - v168;
          const i64 v170 = 8ll < v169 ? 8ll : v169;
          const i64 v171 = v164 % v151;
          const i64 v172 = v171 % v170;
          const i64 v173 = v168 + v172;
          const i64 v174 = v173 * 128ll;
          const i64 v175 = v171 / v170;
          const i64 v176 = v175 * 64ll;
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x64) / sizeof(*b_accumulator_128x64); l++) b_accumulator_128x64[l] = 0;
          #pragma unroll 2
          for (i64 v177 = 0ll; v177 < v150; v177++) {
            const i64 v178 = v166 + v177;
            ring_wait<8>(b_ring_8, v178);
            const i64 v179 = v178 % 8ll;
            wgmma_m64n64k16_bf16_nt_64(b_accumulator_128x64, tile_descriptor(ring_address(b_ring_a_bf16_8x128x64 + v179 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_8x64x64 + v179 * 4096), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v180 = v177 > 0ll;
            const i64 v181 = v178 - 1ll;
            if (v180) {
              ring_release<8>(b_ring_8, v181);
            }
          }
          wgmma_end_32(b_accumulator_128x64);
          const i64 v182 = v166 + v150;
          const i64 v183 = v182 - 1ll;
          if (v152) {
            ring_release<8>(b_ring_8, v183);
          }
          const i64 v184 = v7 - v174;
          const i64 v185 = d_n - v176;
          const u32 tv186 = thread_here();
          float* const pv186 = (float*)(b_patch_128x40 + tv186 / 32 * 640);
          #pragma unroll 1
          for (u32 cv186 = 0; cv186 < 2; cv186++) {
            put_fragment_64_f32(pv186, b_accumulator_128x64, cv186, tv186 % 32);
            if (v162) {
              #pragma unroll 2
              for (u32 lv186 = tv186 % 32; lv186 < 64; lv186 += 32) {
                const i64 v186 = (tv186 / 32 * 16 + lv186 / 4) * 8 + cv186 * 4 + lv186 % 4;
                const i64 v187 = v186 * 8ll;
                const i64 v188 = v187 / 64ll;
                const i64 v189 = v187 % 64ll;
                const bool v190 = v188 < v184;
                const bool v191 = v189 < v185;
                const bool v192 = v190 & v191;
                const i64 v193 = v174 + v188;
                const i64 v194 = v176 + v189;
                const i64 v195 = v193 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v196 = v188 * 64ll;
                const i64 v197 = v196 + v189;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v198 = v193 * d_n;
                const i64 v199 = v198 + v194;
                const i64 v200 = v195 * d_n;
                const i64 v201 = v200 + v194;
                if (v192) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const Vec<float, 8> v202 = load_vec<float, 8>(pv186 + lv186 / 4 * 40 + lv186 % 4 * 8);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  Vec<float, 8> v203;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v203.v[l] = v163.v[l] * v202.v[l];
                  const Vec<u16, 8> v204 = load_vec<u16, 8>(b_bias + v199);
                  Vec<float, 8> v205;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v205.v[l] = bf16_to_f32(v204.v[l]);
                  Vec<float, 8> v206;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v206.v[l] = v203.v[l] + v205.v[l];
                  Vec<float, 8> v207;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v207.v[l] = fn_silu(v206.v[l]);
                  Vec<u16, 8> v208;
                  #pragma unroll
                  for (int l = 0; l < 8; l++) v208.v[l] = f32_to_bf16(v207.v[l]);
                  store_vec(((u16*)b_out_peers.p[0ll]) + v201, v208);
                }
              }
            } else {
              #pragma unroll 1
              for (u32 lv209 = tv186 % 32; lv209 < 512; lv209 += 32) {
                const i64 v209 = (tv186 / 32 * 16 + lv209 / 32) * 64 + cv186 * 32 + lv209 % 32;
                const i64 v210 = v209 / 64ll;
                const i64 v211 = v209 % 64ll;
                const bool v212 = v210 < v184;
                const bool v213 = v211 < v185;
                const bool v214 = v212 & v213;
                const i64 v215 = v174 + v210;
                const i64 v216 = v176 + v211;
                const i64 v217 = v215 + v8;
                // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                const i64 v218 = v210 * 64ll;
                const i64 v219 = v218 + v211;
                // layer.coll:5: out = gather(silu(hidden), to: 0)
                const i64 v220 = v215 * d_n;
                const i64 v221 = v220 + v216;
                const i64 v222 = v217 * d_n;
                const i64 v223 = v222 + v216;
                if (v214) {
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const float v224 = *(pv186 + lv209 / 32 * 40 + lv209 % 32 * 1);
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const float v225 = 5e-1f * v224;
                  const u16 v226 = *(b_bias + v221);
                  const float v227 = bf16_to_f32(v226);
                  const float v228 = v225 + v227;
                  const float v229 = fn_silu(v228);
                  const u16 v230 = f32_to_bf16(v229);
                  *(((u16*)b_out_peers.p[0ll]) + v223) = v230;
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        const i64 v231 = v7 > 0ll ? v7 : 0ll;
        const i64 v232 = v231 + 127ll;
        const i64 v233 = v232 / 128ll;
        const i64 v234 = d_n > 0ll ? d_n : 0ll;
        const i64 v235 = v234 + 63ll;
        const i64 v236 = v235 / 64ll;
        const i64 v237 = v233 * v236;
        const i64 v239 = d_k + 63ll;
        const i64 v240 = v239 / 64ll;
        const i64 v241 = 8ll * v236;
        #pragma unroll 1
        for (i64 v242 = blockIdx.x; v242 < v237; v242 += gridDim.x) {
          const i64 v243 = v242 / (i64)gridDim.x;
          const i64 v244 = v243 * v240;
          const i64 v245 = v242 / v241;
          const i64 v246 = v245 * 8ll;
          const i64 v247 = v233 - v246;
          const i64 v248 = 8ll < v247 ? 8ll : v247;
          const i64 v249 = v242 % v241;
          const i64 v250 = v249 % v248;
          const i64 v251 = v246 + v250;
          const i64 v252 = v251 * 128ll;
          const i64 v253 = v249 / v248;
          const i64 v254 = v253 * 64ll;
          #pragma unroll 1
          for (i64 v255 = 0ll; v255 < v240; v255++) {
            const i64 v256 = v244 + v255;
            const i64 v257 = v256 % 8ll;
            const i64 v258 = v255 * 64ll;
            ring_acquire<8>(b_ring_8, v256);
            if (can_map(b_a, d_k)) {
              const bool is_half_ring_a_bf16_8x128x64 = v252 + 64 >= (d_m / 4ll);
              filling.bytes += is_half_ring_a_bf16_8x128x64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_8x128x64 + v257 * 8192 + s * 8192, is_half_ring_a_bf16_8x128x64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<8>(b_ring_8, v257), (int)(v258) + s * 64, (int)(v252));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_8x128x64 + v257 * 8192, b_a, d_k, (d_m / 4ll), d_k, v252, v258);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 8192;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_b_bf16_8x64x64 + v257 * 4096 + s * 4096, &b_b_map_64x64, ring_full<8>(b_ring_8, v257), (int)(v254) + s * 64, (int)(v258));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 64, 128, 256>(b_ring_b_bf16_8x64x64 + v257 * 4096, b_b, d_n, d_k, d_n, v258, v254);
            }
            ring_fill<8, 256>(b_ring_8, v256, filling);
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
        const i64 v259 = v7 > 0ll ? v7 : 0ll;
        const i64 v260 = v259 + 127ll;
        const i64 v261 = v260 / 128ll;
        const i64 v262 = d_n > 0ll ? d_n : 0ll;
        const i64 v263 = v262 + 255ll;
        const i64 v264 = v263 / 256ll;
        const i64 v265 = v261 * v264;
        const i64 v266 = v265 * v94;
        const i64 v268 = 8ll * v264;
        const bool v269 = v89 > 0ll;
        const i64 v271 = d_m / 4ll;
        const bool v273 = (u64)b_slices % 16 == 0;
        const i64 v274 = d_n % 4ll;
        const bool v275 = v274 == 0ll;
        const bool v276 = v273 & v275;
        const i64 v277 = d_n % 4ll;
        const bool v278 = v277 == 0ll;
        const bool v279 = v276 & v278;
        const bool v280 = (u64)b_bias % 16 == 0;
        const bool v281 = (u64)b_out % 16 == 0;
        const bool v282 = v280 & v281;
        const i64 v283 = d_n % 8ll;
        const bool v284 = v283 == 0ll;
        const bool v285 = v282 & v284;
        const i64 v286 = d_n % 8ll;
        const bool v287 = v286 == 0ll;
        const bool v288 = v285 & v287;
        Vec<float, 8> v289;
        #pragma unroll
        for (int l = 0; l < 8; l++) v289.v[l] = 5e-1f;
        #pragma unroll 1
        for (i64 v290 = blockIdx.x; v290 < v266; v290 += gridDim.x) {
          const i64 v291 = v290 / (i64)gridDim.x;
          const i64 v292 = v291 * v89;
          const i64 v293 = v290 % v265;
          const i64 v294 = v293 / v268;
          const i64 v295 = v294 * 8ll;
          const i64 v296 = v261 - v295;
          const i64 v297 = 8ll < v296 ? 8ll : v296;
          const i64 v298 = v293 % v268;
          const i64 v299 = v298 % v297;
          const i64 v300 = v295 + v299;
          const i64 v301 = v300 * 128ll;
          const i64 v302 = v298 / v297;
          const i64 v303 = v302 * 256ll;
          const i64 v304 = v290 / v265;
          #pragma unroll
          for (int l = 0; l < sizeof(b_accumulator_128x256) / sizeof(*b_accumulator_128x256); l++) b_accumulator_128x256[l] = 0;
          #pragma unroll 2
          for (i64 v305 = 0ll; v305 < v89; v305++) {
            const i64 v306 = v292 + v305;
            ring_wait<4>(b_ring_4, v306);
            const i64 v307 = v306 % 4ll;
            wgmma_m64n256k16_bf16_nt_64(b_accumulator_128x256, tile_descriptor(ring_address(b_ring_a_bf16_4x128x64 + v307 * 8192) + threadIdx.x / 128 * 8192, 16), tile_descriptor(ring_address(b_ring_b_bf16_4x64x256 + v307 * 16384), 8192));
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            const bool v308 = v305 > 0ll;
            const i64 v309 = v306 - 1ll;
            if (v308) {
              ring_release<4>(b_ring_4, v309);
            }
          }
          wgmma_end_128(b_accumulator_128x256);
          const i64 v310 = v292 + v89;
          const i64 v311 = v310 - 1ll;
          if (v269) {
            ring_release<4>(b_ring_4, v311);
          }
          const i64 v312 = v7 - v301;
          const i64 v313 = d_n - v303;
          const i64 v314 = v304 * v271;
          if (v95) {
            const u32 tv315 = thread_here();
            float* const pv315 = (float*)(b_patch_128x40 + tv315 / 32 * 640);
            #pragma unroll 1
            for (u32 cv315 = 0; cv315 < 8; cv315++) {
              put_fragment_256_f32(pv315, b_accumulator_128x256, cv315, tv315 % 32);
              if (v279) {
                #pragma unroll 4
                for (u32 lv315 = tv315 % 32; lv315 < 128; lv315 += 32) {
                  const i64 v315 = (tv315 / 32 * 16 + lv315 / 8) * 64 + cv315 * 8 + lv315 % 8;
                  const i64 v316 = v315 * 4ll;
                  const i64 v317 = v316 / 256ll;
                  const i64 v318 = v316 % 256ll;
                  const bool v319 = v317 < v312;
                  const bool v320 = v318 < v313;
                  const bool v321 = v319 & v320;
                  const i64 v322 = v301 + v317;
                  const i64 v323 = v303 + v318;
                  const i64 v324 = v317 * 256ll;
                  const i64 v325 = v324 + v318;
                  const i64 v326 = v314 + v322;
                  const i64 v327 = v326 * d_n;
                  const i64 v328 = v327 + v323;
                  if (v321) {
                    const Vec<float, 4> v329 = load_vec<float, 4>(pv315 + lv315 / 8 * 40 + lv315 % 8 * 4);
                    store_vec(b_slices + v328, v329);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv330 = tv315 % 32; lv330 < 512; lv330 += 32) {
                  const i64 v330 = (tv315 / 32 * 16 + lv330 / 32) * 256 + cv315 * 32 + lv330 % 32;
                  const i64 v331 = v330 / 256ll;
                  const i64 v332 = v330 % 256ll;
                  const bool v333 = v331 < v312;
                  const bool v334 = v332 < v313;
                  const bool v335 = v333 & v334;
                  const i64 v336 = v301 + v331;
                  const i64 v337 = v303 + v332;
                  const i64 v338 = v331 * 256ll;
                  const i64 v339 = v338 + v332;
                  const i64 v340 = v314 + v336;
                  const i64 v341 = v340 * d_n;
                  const i64 v342 = v341 + v337;
                  if (v335) {
                    const float v343 = *(pv315 + lv330 / 32 * 40 + lv330 % 32 * 1);
                    *(b_slices + v342) = v343;
                  }
                }
              }
            }
          } else {
            const u32 tv344 = thread_here();
            float* const pv344 = (float*)(b_patch_128x40 + tv344 / 32 * 640);
            #pragma unroll 1
            for (u32 cv344 = 0; cv344 < 8; cv344++) {
              put_fragment_256_f32(pv344, b_accumulator_128x256, cv344, tv344 % 32);
              if (v288) {
                #pragma unroll 2
                for (u32 lv344 = tv344 % 32; lv344 < 64; lv344 += 32) {
                  const i64 v344 = (tv344 / 32 * 16 + lv344 / 4) * 32 + cv344 * 4 + lv344 % 4;
                  const i64 v345 = v344 * 8ll;
                  const i64 v346 = v345 / 256ll;
                  const i64 v347 = v345 % 256ll;
                  const bool v348 = v346 < v312;
                  const bool v349 = v347 < v313;
                  const bool v350 = v348 & v349;
                  const i64 v351 = v301 + v346;
                  const i64 v352 = v303 + v347;
                  const i64 v353 = v351 + v8;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v354 = v346 * 256ll;
                  const i64 v355 = v354 + v347;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v356 = v351 * d_n;
                  const i64 v357 = v356 + v352;
                  const i64 v358 = v353 * d_n;
                  const i64 v359 = v358 + v352;
                  if (v350) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const Vec<float, 8> v360 = load_vec<float, 8>(pv344 + lv344 / 4 * 40 + lv344 % 4 * 8);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    Vec<float, 8> v361;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v361.v[l] = v289.v[l] * v360.v[l];
                    const Vec<u16, 8> v362 = load_vec<u16, 8>(b_bias + v357);
                    Vec<float, 8> v363;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v363.v[l] = bf16_to_f32(v362.v[l]);
                    Vec<float, 8> v364;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v364.v[l] = v361.v[l] + v363.v[l];
                    Vec<float, 8> v365;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v365.v[l] = fn_silu(v364.v[l]);
                    Vec<u16, 8> v366;
                    #pragma unroll
                    for (int l = 0; l < 8; l++) v366.v[l] = f32_to_bf16(v365.v[l]);
                    store_vec(((u16*)b_out_peers.p[0ll]) + v359, v366);
                  }
                }
              } else {
                #pragma unroll 1
                for (u32 lv367 = tv344 % 32; lv367 < 512; lv367 += 32) {
                  const i64 v367 = (tv344 / 32 * 16 + lv367 / 32) * 256 + cv344 * 32 + lv367 % 32;
                  const i64 v368 = v367 / 256ll;
                  const i64 v369 = v367 % 256ll;
                  const bool v370 = v368 < v312;
                  const bool v371 = v369 < v313;
                  const bool v372 = v370 & v371;
                  const i64 v373 = v301 + v368;
                  const i64 v374 = v303 + v369;
                  const i64 v375 = v373 + v8;
                  // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                  const i64 v376 = v368 * 256ll;
                  const i64 v377 = v376 + v369;
                  // layer.coll:5: out = gather(silu(hidden), to: 0)
                  const i64 v378 = v373 * d_n;
                  const i64 v379 = v378 + v374;
                  const i64 v380 = v375 * d_n;
                  const i64 v381 = v380 + v374;
                  if (v372) {
                    // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
                    const float v382 = *(pv344 + lv367 / 32 * 40 + lv367 % 32 * 1);
                    // layer.coll:5: out = gather(silu(hidden), to: 0)
                    const float v383 = 5e-1f * v382;
                    const u16 v384 = *(b_bias + v379);
                    const float v385 = bf16_to_f32(v384);
                    const float v386 = v383 + v385;
                    const float v387 = fn_silu(v386);
                    const u16 v388 = f32_to_bf16(v387);
                    *(((u16*)b_out_peers.p[0ll]) + v381) = v388;
                  }
                }
              }
            }
          }
        }
      } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        Filling filling = {0, false};
        const i64 v389 = v7 > 0ll ? v7 : 0ll;
        const i64 v390 = v389 + 127ll;
        const i64 v391 = v390 / 128ll;
        const i64 v392 = d_n > 0ll ? d_n : 0ll;
        const i64 v393 = v392 + 255ll;
        const i64 v394 = v393 / 256ll;
        const i64 v395 = v391 * v394;
        const i64 v396 = v395 * v94;
        const i64 v398 = 8ll * v394;
        #pragma unroll 1
        for (i64 v399 = blockIdx.x; v399 < v396; v399 += gridDim.x) {
          const i64 v400 = v399 / (i64)gridDim.x;
          const i64 v401 = v400 * v89;
          const i64 v402 = v399 % v395;
          const i64 v403 = v402 / v398;
          const i64 v404 = v403 * 8ll;
          const i64 v405 = v391 - v404;
          const i64 v406 = 8ll < v405 ? 8ll : v405;
          const i64 v407 = v402 % v398;
          const i64 v408 = v407 % v406;
          const i64 v409 = v404 + v408;
          const i64 v410 = v409 * 128ll;
          const i64 v411 = v407 / v406;
          const i64 v412 = v411 * 256ll;
          const i64 v413 = v399 / v395;
          const i64 v414 = v413 * v89;
          #pragma unroll 1
          for (i64 v415 = 0ll; v415 < v89; v415++) {
            const i64 v416 = v401 + v415;
            const i64 v417 = v416 % 4ll;
            const i64 v418 = v414 + v415;
            const i64 v419 = v418 * 64ll;
            ring_acquire<4>(b_ring_4, v416);
            if (can_map(b_a, d_k)) {
              const bool is_half_ring_a_bf16_4x128x64 = v410 + 64 >= (d_m / 4ll);
              filling.bytes += is_half_ring_a_bf16_4x128x64 ? 8192 : 16384;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 1; s++) ring_load(b_ring_a_bf16_4x128x64 + v417 * 8192 + s * 8192, is_half_ring_a_bf16_4x128x64 ? &b_a_map_64x64 : &b_a_map_128x64, ring_full<4>(b_ring_4, v417), (int)(v419) + s * 64, (int)(v410));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 128, 64, 128, 256>(b_ring_a_bf16_4x128x64 + v417 * 8192, b_a, d_k, (d_m / 4ll), d_k, v410, v419);
            }
            if (can_map(b_b, d_n)) {
              filling.bytes += 32768;
              if (threadIdx.x == 256) {
                #pragma unroll
                for (int s = 0; s < 4; s++) ring_load(b_ring_b_bf16_4x64x256 + v417 * 16384 + s * 4096, &b_b_map_64x64, ring_full<4>(b_ring_4, v417), (int)(v412) + s * 64, (int)(v419));
              }
            } else {
              filling.by_threads = true;
              ring_copy<u16, 64, 256, 128, 256>(b_ring_b_bf16_4x64x256 + v417 * 16384, b_b, d_n, d_k, d_n, v419, v412);
            }
            ring_fill<4, 256>(b_ring_4, v416, filling);
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
    if (v95) {
      __syncthreads();
      const u32 v420 = *(b_epoch + 0ll);
      const u32 v421 = v420 + 1u;
      *(b_epoch + 0ll) = v421;
      if (threadIdx.x < 1) {
        const i64 v422 = threadIdx.x;
        signal_set_release_gpu(b_flags + v20, v421);
      }
      #pragma unroll 1
      for (i64 v423 = threadIdx.x; v423 < (i64)gridDim.x; v423 += 384) {
        const i64 v424 = v423 * 4ll;
        const i64 v425 = v424 + v137;
        wait_acquire_gpu(b_flags + v425, v421, watch, (u32)(v137), 5u, (u32)(v425), 5u);
      }
      __syncthreads();
      if (v134) {
        const i64 v426 = v118 / v138;
        #pragma unroll 1
        for (i64 v427 = 0ll; v427 < v426; v427++) {
          const i64 v428 = v427 * v138;
          const i64 v429 = v428 + (i64)blockIdx.x;
          const i64 v430 = v429 * 3072ll;
          const i64 v431 = v429 + (i64)gridDim.x;
          const i64 v432 = v431 * 3072ll;
          const i64 v433 = v429 + v139;
          const i64 v434 = v433 * 3072ll;
          const i64 v435 = v429 + v140;
          const i64 v436 = v435 * 3072ll;
          {
            const i64 v437 = threadIdx.x;
            const i64 v438 = v437 * 8ll;
            const i64 v439 = v430 + v438;
            const i64 v440 = v432 + v438;
            const i64 v441 = v434 + v438;
            const i64 v442 = v436 + v438;
            const i64 v443 = v439 % v115;
            const i64 v444 = v440 % v115;
            const i64 v445 = v441 % v115;
            const i64 v446 = v442 % v115;
            const i64 v447 = v439 / v115;
            const i64 v448 = v440 / v115;
            const i64 v449 = v441 / v115;
            const i64 v450 = v442 / v115;
            const i64 v451 = v447 + v8;
            const i64 v452 = v448 + v8;
            const i64 v453 = v449 + v8;
            const i64 v454 = v450 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v456;
            for (int l = 0; l < 8; l++) v456.v[l] = 0e+0f;
            for (i64 v455 = 0ll; v455 < v94; v455++) {
              const i64 v457 = v455 * v7;
              const i64 v458 = v457 + v447;
              const i64 v459 = v458 * d_n;
              const i64 v460 = v459 + v443;
              const Vec<float, 8> v461 = load_vec<float, 8>(b_slices + v460);
              for (int l = 0; l < 8; l++) v456.v[l] = v456.v[l] + v461.v[l];
            }
            Vec<float, 8> v463;
            for (int l = 0; l < 8; l++) v463.v[l] = 0e+0f;
            for (i64 v462 = 0ll; v462 < v94; v462++) {
              const i64 v464 = v462 * v7;
              const i64 v465 = v464 + v448;
              const i64 v466 = v465 * d_n;
              const i64 v467 = v466 + v444;
              const Vec<float, 8> v468 = load_vec<float, 8>(b_slices + v467);
              for (int l = 0; l < 8; l++) v463.v[l] = v463.v[l] + v468.v[l];
            }
            Vec<float, 8> v470;
            for (int l = 0; l < 8; l++) v470.v[l] = 0e+0f;
            for (i64 v469 = 0ll; v469 < v94; v469++) {
              const i64 v471 = v469 * v7;
              const i64 v472 = v471 + v449;
              const i64 v473 = v472 * d_n;
              const i64 v474 = v473 + v445;
              const Vec<float, 8> v475 = load_vec<float, 8>(b_slices + v474);
              for (int l = 0; l < 8; l++) v470.v[l] = v470.v[l] + v475.v[l];
            }
            Vec<float, 8> v477;
            for (int l = 0; l < 8; l++) v477.v[l] = 0e+0f;
            for (i64 v476 = 0ll; v476 < v94; v476++) {
              const i64 v478 = v476 * v7;
              const i64 v479 = v478 + v450;
              const i64 v480 = v479 * d_n;
              const i64 v481 = v480 + v446;
              const Vec<float, 8> v482 = load_vec<float, 8>(b_slices + v481);
              for (int l = 0; l < 8; l++) v477.v[l] = v477.v[l] + v482.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v483;
            #pragma unroll
            for (int l = 0; l < 8; l++) v483.v[l] = v136.v[l] * v456.v[l];
            Vec<float, 8> v484;
            #pragma unroll
            for (int l = 0; l < 8; l++) v484.v[l] = v136.v[l] * v463.v[l];
            Vec<float, 8> v485;
            #pragma unroll
            for (int l = 0; l < 8; l++) v485.v[l] = v136.v[l] * v470.v[l];
            Vec<float, 8> v486;
            #pragma unroll
            for (int l = 0; l < 8; l++) v486.v[l] = v136.v[l] * v477.v[l];
            const i64 v487 = v447 * d_n;
            const i64 v488 = v448 * d_n;
            const i64 v489 = v449 * d_n;
            const i64 v490 = v450 * d_n;
            const i64 v491 = v487 + v443;
            const i64 v492 = v488 + v444;
            const i64 v493 = v489 + v445;
            const i64 v494 = v490 + v446;
            const Vec<u16, 8> v495 = load_vec<u16, 8>(b_bias + v491);
            const Vec<u16, 8> v496 = load_vec<u16, 8>(b_bias + v492);
            const Vec<u16, 8> v497 = load_vec<u16, 8>(b_bias + v493);
            const Vec<u16, 8> v498 = load_vec<u16, 8>(b_bias + v494);
            Vec<float, 8> v499;
            #pragma unroll
            for (int l = 0; l < 8; l++) v499.v[l] = bf16_to_f32(v495.v[l]);
            Vec<float, 8> v500;
            #pragma unroll
            for (int l = 0; l < 8; l++) v500.v[l] = bf16_to_f32(v496.v[l]);
            Vec<float, 8> v501;
            #pragma unroll
            for (int l = 0; l < 8; l++) v501.v[l] = bf16_to_f32(v497.v[l]);
            Vec<float, 8> v502;
            #pragma unroll
            for (int l = 0; l < 8; l++) v502.v[l] = bf16_to_f32(v498.v[l]);
            Vec<float, 8> v503;
            #pragma unroll
            for (int l = 0; l < 8; l++) v503.v[l] = v483.v[l] + v499.v[l];
            Vec<float, 8> v504;
            #pragma unroll
            for (int l = 0; l < 8; l++) v504.v[l] = v484.v[l] + v500.v[l];
            Vec<float, 8> v505;
            #pragma unroll
            for (int l = 0; l < 8; l++) v505.v[l] = v485.v[l] + v501.v[l];
            Vec<float, 8> v506;
            #pragma unroll
            for (int l = 0; l < 8; l++) v506.v[l] = v486.v[l] + v502.v[l];
            Vec<float, 8> v507;
            #pragma unroll
            for (int l = 0; l < 8; l++) v507.v[l] = fn_silu(v503.v[l]);
            Vec<float, 8> v508;
            #pragma unroll
            for (int l = 0; l < 8; l++) v508.v[l] = fn_silu(v504.v[l]);
            Vec<float, 8> v509;
            #pragma unroll
            for (int l = 0; l < 8; l++) v509.v[l] = fn_silu(v505.v[l]);
            Vec<float, 8> v510;
            #pragma unroll
            for (int l = 0; l < 8; l++) v510.v[l] = fn_silu(v506.v[l]);
            Vec<u16, 8> v511;
            #pragma unroll
            for (int l = 0; l < 8; l++) v511.v[l] = f32_to_bf16(v507.v[l]);
            Vec<u16, 8> v512;
            #pragma unroll
            for (int l = 0; l < 8; l++) v512.v[l] = f32_to_bf16(v508.v[l]);
            Vec<u16, 8> v513;
            #pragma unroll
            for (int l = 0; l < 8; l++) v513.v[l] = f32_to_bf16(v509.v[l]);
            Vec<u16, 8> v514;
            #pragma unroll
            for (int l = 0; l < 8; l++) v514.v[l] = f32_to_bf16(v510.v[l]);
            const i64 v515 = v451 * d_n;
            const i64 v516 = v452 * d_n;
            const i64 v517 = v453 * d_n;
            const i64 v518 = v454 * d_n;
            const i64 v519 = v515 + v443;
            const i64 v520 = v516 + v444;
            const i64 v521 = v517 + v445;
            const i64 v522 = v518 + v446;
            store_vec(((u16*)b_out_peers.p[0ll]) + v519, v511);
            store_vec(((u16*)b_out_peers.p[0ll]) + v520, v512);
            store_vec(((u16*)b_out_peers.p[0ll]) + v521, v513);
            store_vec(((u16*)b_out_peers.p[0ll]) + v522, v514);
          }
        }
        const i64 v523 = v426 * v138;
        #pragma unroll 1
        for (i64 v524 = v523 + ((i64)blockIdx.x - v523 % gridDim.x + gridDim.x) % gridDim.x; v524 < v118; v524 += gridDim.x) {
          const i64 v525 = v524 * 3072ll;
          {
            const i64 v526 = threadIdx.x;
            const i64 v527 = v526 * 8ll;
            const i64 v528 = v525 + v527;
            const i64 v529 = v528 % v115;
            const i64 v530 = v528 / v115;
            const i64 v531 = v530 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v533;
            for (int l = 0; l < 8; l++) v533.v[l] = 0e+0f;
            for (i64 v532 = 0ll; v532 < v94; v532++) {
              const i64 v534 = v532 * v7;
              const i64 v535 = v534 + v530;
              const i64 v536 = v535 * d_n;
              const i64 v537 = v536 + v529;
              const Vec<float, 8> v538 = load_vec<float, 8>(b_slices + v537);
              for (int l = 0; l < 8; l++) v533.v[l] = v533.v[l] + v538.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v539;
            #pragma unroll
            for (int l = 0; l < 8; l++) v539.v[l] = v136.v[l] * v533.v[l];
            const i64 v540 = v530 * d_n;
            const i64 v541 = v540 + v529;
            const Vec<u16, 8> v542 = load_vec<u16, 8>(b_bias + v541);
            Vec<float, 8> v543;
            #pragma unroll
            for (int l = 0; l < 8; l++) v543.v[l] = bf16_to_f32(v542.v[l]);
            Vec<float, 8> v544;
            #pragma unroll
            for (int l = 0; l < 8; l++) v544.v[l] = v539.v[l] + v543.v[l];
            Vec<float, 8> v545;
            #pragma unroll
            for (int l = 0; l < 8; l++) v545.v[l] = fn_silu(v544.v[l]);
            Vec<u16, 8> v546;
            #pragma unroll
            for (int l = 0; l < 8; l++) v546.v[l] = f32_to_bf16(v545.v[l]);
            const i64 v547 = v531 * d_n;
            const i64 v548 = v547 + v529;
            store_vec(((u16*)b_out_peers.p[0ll]) + v548, v546);
          }
        }
      } else {
        #pragma unroll 1
        for (i64 v549 = blockIdx.x; v549 < v118; v549 += gridDim.x) {
          const i64 v550 = v549 * 3072ll;
          #pragma unroll 1
          for (i64 v551 = threadIdx.x; v551 < 3072ll; v551 += 384) {
            const i64 v552 = v550 + v551;
            const i64 v553 = v552 % v115;
            const i64 v554 = v552 / v115;
            const i64 v555 = v554 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v557;
            v557 = 0e+0f;
            for (i64 v556 = 0ll; v556 < v94; v556++) {
              const i64 v558 = v556 * v7;
              const i64 v559 = v558 + v554;
              const i64 v560 = v559 * d_n;
              const i64 v561 = v560 + v553;
              const float v562 = *(b_slices + v561);
              v557 = v557 + v562;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v563 = 5e-1f * v557;
            const i64 v564 = v554 * d_n;
            const i64 v565 = v564 + v553;
            const u16 v566 = *(b_bias + v565);
            const float v567 = bf16_to_f32(v566);
            const float v568 = v563 + v567;
            const float v569 = fn_silu(v568);
            const u16 v570 = f32_to_bf16(v569);
            const i64 v571 = v555 * d_n;
            const i64 v572 = v571 + v553;
            *(((u16*)b_out_peers.p[0ll]) + v572) = v570;
          }
        }
      }
      if (v134) {
        #pragma unroll 1
        for (i64 v573 = v118 + ((i64)blockIdx.x - v118 % gridDim.x + gridDim.x) % gridDim.x; v573 < v121; v573 += gridDim.x) {
          const i64 v574 = v573 * 3072ll;
          const i64 v575 = v116 - v574;
          const i64 v576 = v575 / 8ll;
          const i64 v577 = v576 * 8ll;
          #pragma unroll 1
          for (i64 v578 = threadIdx.x; v578 < v576; v578 += 384) {
            const i64 v579 = v578 * 8ll;
            const i64 v580 = v574 + v579;
            const i64 v581 = v580 % v115;
            const i64 v582 = v580 / v115;
            const i64 v583 = v582 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            Vec<float, 8> v585;
            for (int l = 0; l < 8; l++) v585.v[l] = 0e+0f;
            for (i64 v584 = 0ll; v584 < v94; v584++) {
              const i64 v586 = v584 * v7;
              const i64 v587 = v586 + v582;
              const i64 v588 = v587 * d_n;
              const i64 v589 = v588 + v581;
              const Vec<float, 8> v590 = load_vec<float, 8>(b_slices + v589);
              for (int l = 0; l < 8; l++) v585.v[l] = v585.v[l] + v590.v[l];
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            Vec<float, 8> v591;
            #pragma unroll
            for (int l = 0; l < 8; l++) v591.v[l] = v136.v[l] * v585.v[l];
            const i64 v592 = v582 * d_n;
            const i64 v593 = v592 + v581;
            const Vec<u16, 8> v594 = load_vec<u16, 8>(b_bias + v593);
            Vec<float, 8> v595;
            #pragma unroll
            for (int l = 0; l < 8; l++) v595.v[l] = bf16_to_f32(v594.v[l]);
            Vec<float, 8> v596;
            #pragma unroll
            for (int l = 0; l < 8; l++) v596.v[l] = v591.v[l] + v595.v[l];
            Vec<float, 8> v597;
            #pragma unroll
            for (int l = 0; l < 8; l++) v597.v[l] = fn_silu(v596.v[l]);
            Vec<u16, 8> v598;
            #pragma unroll
            for (int l = 0; l < 8; l++) v598.v[l] = f32_to_bf16(v597.v[l]);
            const i64 v599 = v583 * d_n;
            const i64 v600 = v599 + v581;
            store_vec(((u16*)b_out_peers.p[0ll]) + v600, v598);
          }
          #pragma unroll 1
          for (i64 v601 = v577 + threadIdx.x; v601 < v575; v601 += 384) {
            const i64 v602 = v574 + v601;
            const i64 v603 = v602 % v115;
            const i64 v604 = v602 / v115;
            const i64 v605 = v604 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v607;
            v607 = 0e+0f;
            for (i64 v606 = 0ll; v606 < v94; v606++) {
              const i64 v608 = v606 * v7;
              const i64 v609 = v608 + v604;
              const i64 v610 = v609 * d_n;
              const i64 v611 = v610 + v603;
              const float v612 = *(b_slices + v611);
              v607 = v607 + v612;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v613 = 5e-1f * v607;
            const i64 v614 = v604 * d_n;
            const i64 v615 = v614 + v603;
            const u16 v616 = *(b_bias + v615);
            const float v617 = bf16_to_f32(v616);
            const float v618 = v613 + v617;
            const float v619 = fn_silu(v618);
            const u16 v620 = f32_to_bf16(v619);
            const i64 v621 = v605 * d_n;
            const i64 v622 = v621 + v603;
            *(((u16*)b_out_peers.p[0ll]) + v622) = v620;
          }
        }
      } else {
        #pragma unroll 1
        for (i64 v623 = v118 + ((i64)blockIdx.x - v118 % gridDim.x + gridDim.x) % gridDim.x; v623 < v121; v623 += gridDim.x) {
          const i64 v624 = v623 * 3072ll;
          const i64 v625 = v116 - v624;
          #pragma unroll 1
          for (i64 v626 = threadIdx.x; v626 < v625; v626 += 384) {
            const i64 v627 = v624 + v626;
            const i64 v628 = v627 % v115;
            const i64 v629 = v627 / v115;
            const i64 v630 = v629 + v8;
            // layer.coll:4: let hidden = 0.5 * (a @ b) + bias
            float v632;
            v632 = 0e+0f;
            for (i64 v631 = 0ll; v631 < v94; v631++) {
              const i64 v633 = v631 * v7;
              const i64 v634 = v633 + v629;
              const i64 v635 = v634 * d_n;
              const i64 v636 = v635 + v628;
              const float v637 = *(b_slices + v636);
              v632 = v632 + v637;
            }
            // layer.coll:5: out = gather(silu(hidden), to: 0)
            const float v638 = 5e-1f * v632;
            const i64 v639 = v629 * d_n;
            const i64 v640 = v639 + v628;
            const u16 v641 = *(b_bias + v640);
            const float v642 = bf16_to_f32(v641);
            const float v643 = v638 + v642;
            const float v644 = fn_silu(v643);
            const u16 v645 = f32_to_bf16(v644);
            const i64 v646 = v630 * d_n;
            const i64 v647 = v646 + v628;
            *(((u16*)b_out_peers.p[0ll]) + v647) = v645;
          }
        }
      }
    }
  }
  __syncthreads();
  const u32 v648 = *(b_epoch + 0ll);
  const u32 v649 = v648 + 1u;
  *(b_epoch + 0ll) = v649;
  if (threadIdx.x < 4) {
    const i64 v650 = threadIdx.x;
    const bool v651 = v650 == 0ll;
    const bool v652 = v30 & v651;
    const bool v653 = v31 & v651;
    const bool v654 = v32 & v651;
    const bool v655 = v652 | v653;
    const bool v656 = v655 | v654;
    if (v656) {
      signal_set_release_sys(((u32*)b_flags_peers.p[v650]) + v20, v649);
    }
  }
  if (threadIdx.x < 4) {
    const i64 v657 = threadIdx.x;
    const bool v658 = v657 == 1ll;
    const bool v659 = v16 & v658;
    const bool v660 = v657 == 2ll;
    const bool v661 = v16 & v660;
    const bool v662 = v657 == 3ll;
    const bool v663 = v16 & v662;
    const bool v664 = v659 | v661;
    const bool v665 = v664 | v663;
    const i64 v666 = v15 + v657;
    if (v665) {
      wait_acquire_sys(b_flags + v666, v649, watch, (u32)(v657), 5u, (u32)(v666), 5u);
    }
  }
  if (threadIdx.x < 132) {
    const i64 v667 = threadIdx.x;
    const i64 v668 = v667 % (i64)gridDim.x;
    const bool v669 = v668 == (i64)blockIdx.x;
    if (v669) {
      const u32 v670 = *(b_epoch + 0ll);
      *(b_epochs + v667) = v670;
    }
  }
}
