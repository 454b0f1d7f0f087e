// Runs printed CUDA text on the host: a host thread for each CUDA thread, the built-ins it uses, and its PTX instructions as
// functions. An instruction that has none here does not compile.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

struct Place { unsigned x; };
static thread_local Place threadIdx, blockIdx, gridDim;
static thread_local pthread_barrier_t* block_barrier;
static thread_local unsigned char* block_shared;

struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(8) float2 { float x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }

static inline void __syncthreads() { pthread_barrier_wait(block_barrier); }
// More threads meet than have to: in what is run here, all warps meet as often.
static inline void __syncwarp() { __syncthreads(); }
static inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
static inline unsigned atomicCAS(unsigned* p, unsigned expected, unsigned value) {
  __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
static inline unsigned atomicExch(unsigned* p, unsigned value) { return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST); }
static inline float __uint_as_float(unsigned x) { float r; std::memcpy(&r, &x, 4); return r; }
static inline unsigned __float_as_uint(float x) { unsigned r; std::memcpy(&r, &x, 4); return r; }
static inline int __float2int_rn(float x) { return (int)std::nearbyint(x); }
// Beyond the ends of the range, and of NaN, the instruction gives what C leaves undefined.
static inline long long __float2ll_rz(float x) {
  return x >= 9223372036854775808.0f ? INT64_MAX : x > -9223372036854775808.0f ? (long long)x : INT64_MIN;
}
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)((const unsigned char*)p - block_shared); }

namespace ptx {
typedef unsigned short u16;
// The nearest of all codes of a format, the even one of two: slow, and on purpose nothing like the printed conversions.
static inline double value_of(unsigned code, int exponent, int mantissa) {
  const int bias = (1 << (exponent - 1)) - 1, e = (code >> mantissa) & ((1 << exponent) - 1), m = code & ((1 << mantissa) - 1);
  const double size = e == 0 ? std::ldexp((double)m, 1 - bias - mantissa) : std::ldexp(1.0 + std::ldexp((double)m, -mantissa), e - bias);
  return size;
}
static inline u16 nearest(float x, int exponent, int mantissa) {
  if (x != x) return 0x7fff;
  const unsigned sign = std::signbit(x) ? 0x8000u : 0u;
  const double a = std::fabs((double)x);
  unsigned low = 0, high = ((1u << exponent) - 1) << mantissa;  // infinity, seen as the next power of two
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    if (value_of(middle, exponent, mantissa) <= a) low = middle; else high = middle;
  }
  if (std::isinf(x)) return (u16)(sign | high);
  const double below = a - value_of(low, exponent, mantissa), above = value_of(high, exponent, mantissa) - a;
  const unsigned code = below < above || (below == above && low % 2 == 0) ? low : high;
  return (u16)(sign | code);
}
static inline void cvt_rn_bf16_f32(u16& r, float x) { r = nearest(x, 8, 7); }
static inline void cvt_rn_f16_f32(u16& r, float x) { r = nearest(x, 5, 10); }
static inline void cvt_rn_bf16x2_f32(unsigned& r, float low, float high) { r = nearest(low, 8, 7) | (unsigned)nearest(high, 8, 7) << 16; }
static inline void cvt_rn_f16x2_f32(unsigned& r, float low, float high) { r = nearest(low, 5, 10) | (unsigned)nearest(high, 5, 10) << 16; }
static inline void mov_u32_tid_x(unsigned& r) { r = threadIdx.x; }
static inline void cvt_f32_f16(float& r, u16 x) {
  const unsigned code = x & 0x7fffu;
  const float a = code > 0x7c00u ? NAN : code == 0x7c00u ? INFINITY : (float)value_of(code, 5, 10);
  r = x & 0x8000u ? -a : a;
}
static inline void st_v4_u32(void* p, unsigned x, unsigned y, unsigned z, unsigned w) {
  const unsigned all[4] = {x, y, z, w};
  std::memcpy(p, all, sizeof all);
}
static inline void mov_u64_globaltimer(unsigned long long& t) { t = 0; }
template <typename F> static inline void load(unsigned& r, const unsigned* p, int order) {
  r = order == 0 ? __atomic_load_n(p, __ATOMIC_RELAXED) : __atomic_load_n(p, __ATOMIC_ACQUIRE);
  sched_yield();
}
#define COLLC_FLAGS(SCOPE)                                                                                                     \
  static inline void ld_acquire_##SCOPE##_global_u32(unsigned& r, const unsigned* p) { load<int>(r, p, 1); }                 \
  static inline void ld_relaxed_##SCOPE##_global_u32(unsigned& r, const unsigned* p) { load<int>(r, p, 0); }                 \
  static inline void st_release_##SCOPE##_global_u32(unsigned* p, unsigned v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }   \
  static inline void st_relaxed_##SCOPE##_global_u32(unsigned* p, unsigned v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }   \
  static inline void red_release_##SCOPE##_global_add_u32(unsigned* p, unsigned v) { __atomic_fetch_add(p, v, __ATOMIC_RELEASE); } \
  static inline void red_relaxed_##SCOPE##_global_add_u32(unsigned* p, unsigned v) { __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
COLLC_FLAGS(sys)
COLLC_FLAGS(gpu)
// Copies land at once: what a copy that lands late would show is the executor's business.
static inline void cp_async_cg_shared_global_16(unsigned to, const void* from, int bytes) {
  std::memset(block_shared + to, 0, 16);
  std::memcpy(block_shared + to, from, bytes);
}
static inline void cp_async_commit_group() {}
// The launch before has ended.
static inline void griddepcontrol_launch_dependents_griddepcontrol_wait() {}
template <typename... X> static inline void cp_async_wait_group(X...) {}
}  // namespace ptx

// One launch: `kernel(rank)` is called by each thread of each block of each rank.
static void launch(int ranks, int blocks, int threads, size_t shared_bytes, const std::function<void(int)>& kernel) {
  std::vector<std::thread> all;
  std::vector<pthread_barrier_t> barriers(ranks * blocks);
  std::vector<unsigned char*> shared(ranks * blocks);
  for (int b = 0; b < ranks * blocks; b++) {
    pthread_barrier_init(&barriers[b], nullptr, threads);
    shared[b] = (unsigned char*)std::aligned_alloc(1024, (shared_bytes / 1024 + 1) * 1024);
    std::memset(shared[b], 0xff, shared_bytes);
    for (int t = 0; t < threads; t++)
      all.emplace_back([&, b, t] {
        threadIdx.x = t;
        blockIdx.x = b % blocks;
        gridDim.x = blocks;
        block_barrier = &barriers[b];
        block_shared = shared[b];
        kernel(b / blocks);
      });
  }
  for (auto& t : all) t.join();
  for (auto* s : shared) std::free(s);
}
