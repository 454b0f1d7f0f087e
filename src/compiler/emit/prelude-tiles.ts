/** Parts of the prelude for products of tiles: copies to shared memory, rings of stages, and the instructions for matrices. */
export const TILE_PARTS = {
  copies: `
__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
template <typename T, int ROWS, int COLS, int STRIDE, int THREADS>
__device__ __forceinline__ void copy_tile(T* to, const T* from, i64 stride, i64 rows, i64 cols, i64 row, i64 col) {
  constexpr int PER = 16 / sizeof(T), ACROSS = COLS / PER;
  const bool wide = ((u64)from % 16 == 0) & (stride % PER == 0) & (cols % PER == 0) & (col % PER == 0);
  if (wide) {
#pragma unroll
    for (int i = 0; i < (ROWS * ACROSS + THREADS - 1) / THREADS; i++) {
      const int e = i * THREADS + threadIdx.x, r = e / ACROSS, c = e % ACROSS * PER;
      if (ROWS * ACROSS % THREADS != 0 && e >= ROWS * ACROSS) break;
      const bool inside = (row + r < rows) & (col + c < cols);
      const T* source = inside ? from + (row + r) * stride + col + c : from;
      const int bytes = inside ? 16 : 0; // the rest of the 16 is filled with zeros
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to + r * STRIDE + c)), "l"(source), "r"(bytes) : "memory");
    }
  } else {
    for (int e = threadIdx.x; e < ROWS * COLS; e += THREADS) {
      const int r = e / COLS, c = e % COLS;
      const bool inside = (row + r < rows) & (col + c < cols);
      to[r * STRIDE + c] = inside ? from[(row + r) * stride + col + c] : T(0);
    }
  }
}
`,
  // Warp tile 64 rows by N / (warps / 2) columns, of m16n8k16 instructions.
  mma16: `
__device__ __forceinline__ void load_matrix(u32* d, const u16* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void load_matrix_trans(u32* d, const u16* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(from)) : "memory");
}
template <int TYPE> __device__ __forceinline__ void mma_16816(float* d, const u32* a, const u32* b) {
  if constexpr (TYPE == 0)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <int TYPE, int M, int N, int K, int SA, int SB, int THREADS, bool TA, bool TB>
__device__ __forceinline__ void mma_tile(float* acc, const u16* a, const u16* b) {
  constexpr int WN = THREADS / 64, TM = M / 2, TN = N / WN, MI = TM / 16, NI = TN / 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = warp / WN * TM, col0 = warp % WN * TN;
#pragma unroll
  for (int k = 0; k < K; k += 16) {
    u32 af[MI][4], bf[NI][2];
#pragma unroll
    for (int i = 0; i < MI; i++) {
      if constexpr (TA)
        load_matrix_trans(af[i], a + (k + lane / 16 * 8 + lane % 8) * SA + row0 + i * 16 + lane / 8 % 2 * 8);
      else
        load_matrix(af[i], a + (row0 + i * 16 + lane % 16) * SA + k + lane / 16 * 8);
    }
#pragma unroll
    for (int j = 0; j < NI; j += 2) {
      if constexpr (TB)
        load_matrix(bf[j], b + (col0 + j * 8 + lane / 16 * 8 + lane % 8) * SB + k + lane / 8 % 2 * 8);
      else
        load_matrix_trans(bf[j], b + (k + lane % 16) * SB + col0 + j * 8 + lane / 16 * 8);
    }
#pragma unroll
    for (int i = 0; i < MI; i++)
#pragma unroll
      for (int j = 0; j < NI; j++) mma_16816<TYPE>(acc + (i * NI + j) * 4, af[i], bf[j]);
  }
}
template <int M, int N, int THREADS> __device__ __forceinline__ void store_mma16(float* to, const float* acc) {
  constexpr int WN = THREADS / 64, TM = M / 2, TN = N / WN, MI = TM / 16, NI = TN / 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = warp / WN * TM, col0 = warp % WN * TN;
#pragma unroll
  for (int i = 0; i < MI; i++)
#pragma unroll
    for (int j = 0; j < NI; j++) {
      float* at = to + (row0 + i * 16 + lane / 4) * N + col0 + j * 8 + lane % 4 * 2;
      const float* d = acc + (i * NI + j) * 4;
      *reinterpret_cast<float2*>(at) = make_float2(d[0], d[1]);
      *reinterpret_cast<float2*>(at + 8 * N) = make_float2(d[2], d[3]);
    }
}
`,
  // Full f32 products: every thread owns an 8-by-(M·N/threads/8) patch and multiplies on the scalar units.
  mma32: `
template <int M, int N, int K, int SA, int SB, int THREADS, bool TA, bool TB>
__device__ __forceinline__ void fma_tile(float* acc, const float* a, const float* b) {
  constexpr int PN = M * N / THREADS / 8, AX = N / PN;
  const int row0 = threadIdx.x / AX * 8, col0 = threadIdx.x % AX;
#pragma unroll 4
  for (int k = 0; k < K; k++) {
    float x[8], y[PN];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = TA ? a[k * SA + row0 + i] : a[(row0 + i) * SA + k];
#pragma unroll
    for (int j = 0; j < PN; j++) y[j] = TB ? b[(col0 + j * AX) * SB + k] : b[k * SB + col0 + j * AX];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int j = 0; j < PN; j++) acc[i * PN + j] = fmaf(x[i], y[j], acc[i * PN + j]);
  }
}
template <int M, int N, int THREADS> __device__ __forceinline__ void store_mma32(float* to, const float* acc) {
  constexpr int PN = M * N / THREADS / 8, AX = N / PN;
  const int row0 = threadIdx.x / AX * 8, col0 = threadIdx.x % AX;
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < PN; j++) to[(row0 + i) * N + col0 + j * AX] = acc[i * PN + j];
}
`,
  here: `
// threadIdx.x, read anew: what follows from it is computed where it is used, and not kept in registers through a main loop.
__device__ __forceinline__ u32 thread_here() { u32 t; asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t)); return t; }
`,
  /** Stages of tiles between a producer and consumers: for each stage a barrier that it is full and one that it is free. */
  rings: `
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
  asm volatile("{\\n.reg .pred p;\\nWAIT:\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n@p bra DONE;\\nbra WAIT;\\nDONE:\\n}" ::"r"(barrier), "r"(parity) : "memory");
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
`,
  wgmma: `
// A tile of 128-byte rows, swizzled: eight rows lie 1024 bytes apart, slabs as far as is said.
__device__ __forceinline__ u64 tile_descriptor(u32 address, u32 slab) {
  return (u64)((address & 0x3ffffu) >> 4) | (u64)(slab >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
`,
} as const;
