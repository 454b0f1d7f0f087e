/**
 * The prelude: small device functions that printed ops call, as parts of which only those in use are emitted.
 * NVRTC ships no headers, so everything is plain C++ with inline PTX.
 */
import { TILE_PARTS } from "./prelude-tiles.js";

const BASE = {
  types: `
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
template <int N> struct Peers { void* p[N]; };
`,
  vector: `
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
`,
  // The first row of a block from one on, of those that have its number modulo all blocks.
  firstRow: `
__device__ __forceinline__ i64 first_row(i64 from) {
  const u32 at = (u64)from >> 32 == 0 ? (u32)from % gridDim.x : (u32)(from % gridDim.x);
  return from + (blockIdx.x >= at ? blockIdx.x - at : blockIdx.x + gridDim.x - at);
}`,
  // Word by word: elements of 16 bits would be chosen one by one.
  choose: `
template <typename T, int N> __device__ __forceinline__ Vec<T, N> choose(bool first, const Vec<T, N>& a, const Vec<T, N>& b) {
  constexpr int words = sizeof(T) * N / 4;
  u32 w[words], other[words];
  memcpy(w, &a, 4 * words);
  memcpy(other, &b, 4 * words);
#pragma unroll
  for (int i = 0; i < words; i++) w[i] = first ? w[i] : other[i];
  Vec<T, N> r;
  memcpy(&r, w, 4 * words);
  return r;
}`,
  // Of numbers that are not negative. Of the first tile of a block, what is divided is the smaller one most often (16×8192×2048 on an H200: 9.6 µs, 9.2
  // with the first line). The compiler makes a call of a division of 64 bits, and keeps registers free for it.
  quotient: `
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
`,
  // By what is known at a launch, whose reciprocal is 2^52 / b + 1: a / b or, by less than a / 2^52, one more.
  reciprocal: `
__device__ __forceinline__ i64 quotient(i64 a, i64 b, i64 reciprocal) {
  const i64 q = (i64)__umul64hi((u64)a << 12, (u64)reciprocal);
  return q - (q * b > a);
}
`,
  signedQuotient: `
template <bool BOTH, typename... Reciprocal> __device__ __forceinline__ i64 signed_quotient(i64 a, i64 b, Reciprocal... reciprocal) {
  const i64 q = quotient(a < 0 ? -a : a, BOTH && b < 0 ? -b : b, reciprocal...);
  return a < 0 == (BOTH && b < 0) ? q : -q;
}
`,
  bf16: `
__device__ __forceinline__ float bf16_to_f32(u16 x) { return __uint_as_float((u32)x << 16); }
__device__ __forceinline__ u16 f32_to_bf16(float x) { u16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
`,
  f16: `
__device__ __forceinline__ float f16_to_f32(u16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
__device__ __forceinline__ u16 f32_to_f16(float x) { u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
`,
  // Conversions of 8-bit floats are instructions from sm_89 on; before, they go through bits.
  f8: `
template <int E, int M> __device__ __forceinline__ float small_to_f32(u8 x) {
  const int bias = (1 << (E - 1)) - 1, e = (x >> M) & ((1 << E) - 1), m = x & ((1 << M) - 1);
  const float sign = x & 0x80 ? -1.0f : 1.0f;
  if (E == 4 && e == 15 && m == 7) return __uint_as_float(0x7fffffffu);
  if (E == 5 && e == 31) return m ? __uint_as_float(0x7fffffffu) : sign * __uint_as_float(0x7f800000u);
  if (e == 0) return sign * (float)m * __uint_as_float((u32)(127 - bias + 1 - M) << 23);
  return sign * __uint_as_float(((u32)(e - bias + 127) << 23) | ((u32)m << (23 - M)));
}
template <int E, int M> __device__ __forceinline__ u8 f32_to_small(float x) {
  const u32 bits = __float_as_uint(x);
  const u8 sign = (bits >> 24) & 0x80;
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7f;
  const float largest = E == 4 ? 448.0f : 57344.0f;
  float a = __uint_as_float(bits & 0x7fffffffu);
  if (a > largest) a = largest;
  const int bias = (1 << (E - 1)) - 1;
  int e = (int)(__float_as_uint(a) >> 23) - 127;
  if (e < 1 - bias) e = 1 - bias;
  const float ulp = __uint_as_float((u32)(e - M + 127) << 23);
  const int steps = __float2int_rn(a / ulp);
  return sign | (u8)(steps + ((e + bias - 1) << M));
}
__device__ __forceinline__ float f8e4m3_to_f32(u8 x) { return small_to_f32<4, 3>(x); }
__device__ __forceinline__ float f8e5m2_to_f32(u8 x) { return small_to_f32<5, 2>(x); }
__device__ __forceinline__ u8 f32_to_f8e4m3(float x) {
#if __CUDA_ARCH__ >= 890
  u16 r; asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x)); return (u8)r;
#else
  return f32_to_small<4, 3>(x);
#endif
}
__device__ __forceinline__ u8 f32_to_f8e5m2(float x) {
#if __CUDA_ARCH__ >= 890
  u16 r; asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x)); return (u8)r;
#else
  return f32_to_small<5, 2>(x);
#endif
}
`,
  // Elements of 8 or 16 bits would be taken apart as soon as they are there, and each be waited for in its turn.
  words: `
template <int bytes> struct Words { u32 w[bytes / 4]; };
template <int bytes> __device__ __forceinline__ Words<bytes> load_words(const void* p) {
  Words<bytes> r;
  if constexpr (bytes % 16 == 0) {
#pragma unroll
    for (int i = 0; i < bytes / 16; i++) {
      const uint4 w = reinterpret_cast<const uint4*>(p)[i];
      r.w[4 * i] = w.x; r.w[4 * i + 1] = w.y; r.w[4 * i + 2] = w.z; r.w[4 * i + 3] = w.w;
    }
  } else {
    const uint2 w = *reinterpret_cast<const uint2*>(p);
    r.w[0] = w.x; r.w[1] = w.y;
  }
  return r;
}
template <typename T, int N> __device__ __forceinline__ Vec<T, N> vec_of(const Words<sizeof(T) * N>& words) {
  Vec<T, N> r;
  memcpy(&r, &words, sizeof(r));
  return r;
}
`,
  bools: `
template <int N> __device__ __forceinline__ Vec<bool, N> load_bools(const bool* p) {
  const Vec<u8, N> bytes = load_vec<u8, N>(reinterpret_cast<const u8*>(p));
  Vec<bool, N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = bytes.v[i] != 0;
  return r;
}
`,
  // A cast to 64 bits saturates like others, but makes something else of NaN.
  wide: `
__device__ __forceinline__ i64 f32_to_i64(float x) { return x == x ? __float2ll_rz(x) : 0; }
`,
  functions: `
__device__ __forceinline__ float fn_gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }
// Of less than -88, expf(-x) is no float, and what the result is, small as it is, may be multiplied by something large.
__device__ __forceinline__ float fn_silu(float x) { const float e = expf(-fabsf(x)); return (x < 0.0f ? x * e : x) / (1.0f + e); }
__device__ __forceinline__ float fn_sigmoid(float x) { const float e = expf(-fabsf(x)); return (x < 0.0f ? e : 1.0f) / (1.0f + e); }
`,
  // A wait gives up when its time is over, or another of this launch has: it leaves a record and lets the kernel end.
  signals: `
struct Watch { u64 timeout; u32* status; u32 rank; };
__device__ __forceinline__ u64 global_timer() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ __forceinline__ void give_up(const Watch& w, u32 peer, u32 buffer, u32 slot, u32 wanted, u32 seen, u32 line) {
  if (atomicCAS(w.status, 0u, 2u) != 0u) return;
  w.status[1] = w.rank; w.status[2] = peer; w.status[3] = buffer; w.status[4] = slot;
  w.status[5] = wanted; w.status[6] = seen; w.status[7] = line;
  __threadfence_system();
  atomicExch(w.status, 1u);
}
#define COLLC_WAIT(SCOPE, ORDER)                                                                                \\
  __device__ __forceinline__ void wait_##ORDER##_##SCOPE(const u32* flag, u32 wanted, const Watch& w, u32 peer,  \\
                                                         u32 buffer, u32 slot, u32 line) {                      \\
    u32 seen, spins = 0;                                                                                        \\
    u64 start = 0;                                                                                              \\
    for (;;) {                                                                                                  \\
      asm volatile("ld." #ORDER "." #SCOPE ".global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");        \\
      if ((int)(seen - wanted) >= 0) return;                                                                    \\
      if ((++spins & 1023u) != 0) continue;                                                                     \\
      const u64 now = global_timer();                                                                           \\
      if (start == 0) start = now;                                                                              \\
      const bool late = w.timeout != 0 && now - start > w.timeout;                                              \\
      if (late) give_up(w, peer, buffer, slot, wanted, seen, line);                                             \\
      if (late || *(volatile u32*)w.status != 0) return;                                                        \\
    }                                                                                                           \\
  }
COLLC_WAIT(sys, acquire)
COLLC_WAIT(sys, relaxed)
COLLC_WAIT(gpu, acquire)
COLLC_WAIT(gpu, relaxed)
#define COLLC_SIGNAL(SCOPE, ORDER)                                                                              \\
  __device__ __forceinline__ void signal_set_##ORDER##_##SCOPE(u32* flag, u32 value) {                          \\
    asm volatile("st." #ORDER "." #SCOPE ".global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");           \\
  }                                                                                                             \\
  __device__ __forceinline__ void signal_add_##ORDER##_##SCOPE(u32* flag, u32 value) {                          \\
    asm volatile("red." #ORDER "." #SCOPE ".global.add.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");      \\
  }
COLLC_SIGNAL(sys, release)
COLLC_SIGNAL(sys, relaxed)
COLLC_SIGNAL(gpu, release)
COLLC_SIGNAL(gpu, relaxed)
`,
  // `EpochPacket`: data and epoch in each half of 16 bytes, so that a load that finds the epoch in a half finds the data that was
  // stored with it. That a half is written and read in one piece is an axiom of the platform; of the whole it is not asked.
  // `InvertedPacket`: data without a word of ones, inverted, so that a word that is not zero is data; each word for itself.
  packets: `
struct EpochPacket {
  static constexpr int bytes = 8;
  static __device__ __forceinline__ uint4 of(const uint4& w, u32 epoch) { return make_uint4(w.x, epoch, w.y, epoch); }
  static __device__ __forceinline__ bool is(const uint4& p, u32 epoch) { return (p.y == epoch) & (p.w == epoch); }
  static __device__ __forceinline__ u32 seen(const uint4& p, u32 epoch) { return p.y == epoch ? p.w : p.y; }
  static __device__ __forceinline__ uint4 data(const uint4& p) { return make_uint4(p.x, p.z, 0, 0); }
  static __device__ __forceinline__ void taken(uint4*) {}
};
struct InvertedPacket {
  static constexpr int bytes = 16;
  static __device__ __forceinline__ u32 word(u32 w) { return w == 0xffffffffu ? 0x80000000u : ~w; }
  static __device__ __forceinline__ uint4 of(const uint4& w, u32) { return make_uint4(word(w.x), word(w.y), word(w.z), word(w.w)); }
  static __device__ __forceinline__ bool is(const uint4& p, u32) { return (p.x != 0) & (p.y != 0) & (p.z != 0) & (p.w != 0); }
  static __device__ __forceinline__ u32 seen(const uint4&, u32) { return 0; }
  static __device__ __forceinline__ uint4 data(const uint4& p) { return make_uint4(~p.x, ~p.y, ~p.z, ~p.w); }
  static __device__ __forceinline__ void taken(uint4* slot) {
    asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(slot), "r"(0));
  }
};
template <typename P, typename T, int N> __device__ __forceinline__ void store_packet(uint4* slot, const Vec<T, N>& data, u32 epoch) {
  static_assert(sizeof(T) * N <= P::bytes, "more than a packet holds");
  uint4 w = make_uint4(0, 0, 0, 0);
  memcpy(&w, &data, sizeof(T) * N);
  const uint4 p = P::of(w, epoch);
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(slot), "r"(p.x), "r"(p.y), "r"(p.z), "r"(p.w));
}
template <typename P, typename T, int N, int K>
__device__ __forceinline__ void load_packets(Vec<T, N> (&data)[K], uint4* slots, const i64 (&slot)[K], u32 epoch, const Watch& w,
                                             u32 buffer, i64 share, i64 ranks, u32 line) {
  uint4 p[K];
  u32 spins = 0;
  u64 start = 0;
  for (;;) {
    bool arrived = true;
#pragma unroll
    for (int i = 0; i < K; i++)
      asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(p[i].x), "=r"(p[i].y), "=r"(p[i].z), "=r"(p[i].w) : "l"(slots + slot[i]));
#pragma unroll
    for (int i = 0; i < K; i++) arrived = arrived & P::is(p[i], epoch);
    if (arrived) break;
    if ((++spins & 1023u) != 0) continue;
    const u64 now = global_timer();
    if (start == 0) start = now;
    const bool late = w.timeout != 0 && now - start > w.timeout;
    if (late) {
      // Only the first that gives up leaves a record.
#pragma unroll
      for (int i = 0; i < K; i++)
        if (!P::is(p[i], epoch)) give_up(w, (u32)(slot[i] / share % ranks), buffer, (u32)slot[i], epoch, P::seen(p[i], epoch), line);
    }
    if (late || *(volatile u32*)w.status != 0) break;
  }
#pragma unroll
  for (int i = 0; i < K; i++) {
    P::taken(slots + slot[i]);
    const uint4 words = P::data(p[i]);
    memcpy(&data[i], &words, sizeof(T) * N);
  }
}
`,
} as const;

const PARTS = { ...BASE, ...TILE_PARTS };
export type PreludePart = keyof typeof PARTS;

/** Text of the parts asked for, in the order they build on each other. */
export function preludeText(used: ReadonlySet<PreludePart>): string {
  return (Object.keys(PARTS) as PreludePart[])
    .filter((part) => used.has(part))
    .map((part) => PARTS[part].trim())
    .join("\n");
}
