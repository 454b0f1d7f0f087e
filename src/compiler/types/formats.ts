/**
 * Narrow float formats, bit by bit: f16, bf16, f8e4m3 ("fn": no infinities, max 448) and f8e5m2.
 * Encoders work on the bits of a float32 and round to nearest, ties to even, in integer arithmetic.
 * They are the same functions the CPU backend calls from its generated code.
 */
import type { DType } from "./dtype.js";

/** One word seen as float32 and as int32: how JavaScript reinterprets bits. Not re-entrant, and need not be. */
export const F32_WORD = new Float32Array(16);
export const I32_WORD = new Int32Array(F32_WORD.buffer);

export type NarrowFloat = "f16" | "bf16" | "f8e4m3" | "f8e5m2";

const INFINITY_BITS = 0x7f800000;

/** bf16 bits nearest to the float32 with bits `u`. Overflow gives infinity, NaN the canonical 0x7fff. */
export function bf16FromBits(u: number): number {
  return (u & 0x7fffffff) > INFINITY_BITS ? 0x7fff : (u + 0x7fff + ((u >>> 16) & 1)) >>> 16;
}

/** f16 bits nearest to the float32 with bits `u`. Overflow gives infinity, NaN the canonical 0x7fff. */
export function f16FromBits(u: number): number {
  const sign = (u >>> 16) & 0x8000;
  const a = u & 0x7fffffff;
  if (a >= 0x38800000) {
    if (a < 0x47800000) return sign | ((a - 0x38000000 + 0xfff + ((a >>> 13) & 1)) >>> 13);
    return a > INFINITY_BITS ? 0x7fff : sign | 0x7c00;
  }
  // Below 2^-14. Adding 0.5, whose last place is 2^-24 as that of an f16 subnormal, rounds in hardware.
  I32_WORD[15] = a;
  F32_WORD[15] = F32_WORD[15]! + 0.5;
  return sign | (I32_WORD[15]! - 0x3f000000);
}

/** f8e4m3 bits nearest to the float32 with bits `u`. Saturates to ±448, infinities too; NaN gives 0x7f. */
export function f8e4m3FromBits(u: number): number {
  const sign = (u >>> 24) & 0x80;
  const a = u & 0x7fffffff;
  if (a >= 0x3c800000) {
    if (a < 0x43e00000) return sign | ((a - 0x3c000000 + 0x7ffff + ((a >>> 20) & 1)) >>> 20);
    return a > INFINITY_BITS ? 0x7f : sign | 0x7e;
  }
  // Below 2^-6. The last place of 16384 is 2^-9 as that of an f8e4m3 subnormal.
  I32_WORD[15] = a;
  F32_WORD[15] = F32_WORD[15]! + 16384;
  return sign | (I32_WORD[15]! - 0x46800000);
}

/** f8e5m2 bits nearest to the float32 with bits `u`. Saturates to ±57344, infinities too; NaN gives 0x7f. */
export function f8e5m2FromBits(u: number): number {
  const sign = (u >>> 24) & 0x80;
  const a = u & 0x7fffffff;
  if (a >= 0x38800000) {
    if (a < 0x47600000) return sign | ((a - 0x38000000 + 0xfffff + ((a >>> 21) & 1)) >>> 21);
    return a > INFINITY_BITS ? 0x7f : sign | 0x7b;
  }
  // Below 2^-14. The last place of 128 is 2^-16 as that of an f8e5m2 subnormal.
  I32_WORD[15] = a;
  F32_WORD[15] = F32_WORD[15]! + 128;
  return sign | (I32_WORD[15]! - 0x43000000);
}

export const ENCODERS: Readonly<Record<NarrowFloat, (float32Bits: number) => number>> = {
  f16: f16FromBits,
  bf16: bf16FromBits,
  f8e4m3: f8e4m3FromBits,
  f8e5m2: f8e5m2FromBits,
};

/** Value of a code, from the definition of the format. Slow; fills the tables below. */
function decodeCode(code: number, exponentBits: number, mantissaBits: number, infinities: boolean): number {
  const sign = code >>> (exponentBits + mantissaBits) === 1 ? -1 : 1;
  const top = (1 << exponentBits) - 1;
  const exponent = (code >>> mantissaBits) & top;
  const mantissa = code & ((1 << mantissaBits) - 1);
  const bias = top >> 1;
  if (exponent === top && infinities) return mantissa === 0 ? sign * Infinity : NaN;
  if (exponent === top && mantissa === (1 << mantissaBits) - 1) return NaN;
  if (exponent === 0) return sign * mantissa * 2 ** (1 - bias - mantissaBits);
  return sign * (1 + mantissa / (1 << mantissaBits)) * 2 ** (exponent - bias);
}

function table(codes: number, exponentBits: number, mantissaBits: number, infinities: boolean): Float32Array {
  const values = new Float32Array(codes);
  for (let code = 0; code < codes; code++) values[code] = decodeCode(code, exponentBits, mantissaBits, infinities);
  return values;
}

/** The upper halves of float32. */
function bf16Table(): Float32Array {
  const bits = new Uint32Array(65536);
  for (let code = 0; code < bits.length; code++) bits[code] = code << 16;
  return new Float32Array(bits.buffer);
}

let f16Values: Float32Array | undefined;
let bf16Values: Float32Array | undefined;
let e4m3Values: Float32Array | undefined;
let e5m2Values: Float32Array | undefined;

/** All values of a format, indexed by code: 65536 or 256 entries. Made on first use. */
export function valuesOf(format: NarrowFloat): Float32Array {
  switch (format) {
    case "f16":
      return (f16Values ??= table(65536, 5, 10, true));
    case "bf16":
      return (bf16Values ??= bf16Table());
    case "f8e4m3":
      return (e4m3Values ??= table(256, 4, 3, false));
    case "f8e5m2":
      return (e5m2Values ??= table(256, 5, 2, true));
  }
}

export function isNarrowFloat(dtype: string): dtype is NarrowFloat {
  return dtype === "f16" || dtype === "bf16" || dtype === "f8e4m3" || dtype === "f8e5m2";
}

/**
 * Bits of the float32 next to `x` towards zero, the last bit set when that lost anything ("round to odd").
 * Rounding this to a format at least two bits narrower equals rounding `x` itself: no double rounding.
 */
export function oddBits(x: number): number {
  F32_WORD[0] = x;
  const y = F32_WORD[0]!;
  let u = I32_WORD[0]!;
  if (y !== x && x === x) {
    if (Math.abs(y) > Math.abs(x)) u -= 1;
    u |= 1;
  }
  return u;
}

const MOST_I64 = 2n ** 63n - 1n;

/** A number as a whole one of 64 bits, as casts make it: cut towards zero, saturated, and 0 of NaN. So infinities are the ends of the range. */
export function toI64(x: number): bigint {
  return x >= 2 ** 63 ? MOST_I64 : x <= -(2 ** 63) ? -MOST_I64 - 1n : x === x ? BigInt(Math.trunc(x)) : 0n;
}

/** A float as an integer of 32 bits: its fraction is cut off, it stays at the ends of the range, and of NaN it is 0. */
export function toI32(x: number): number {
  return x >= 2 ** 31 ? 2 ** 31 - 1 : x <= -(2 ** 31) ? -(2 ** 31) : x | 0;
}

/** The float32 nearest to a whole number of 64 bits, rounded once. */
export function wideToF32(x: bigint): number {
  const near = Number(x);
  if (Number.isSafeInteger(near)) return Math.fround(near);
  // What float64 would round away is kept as one odd bit, far below the last place of a float32.
  const odd = (x >> 11n) | (x % 2048n === 0n ? 0n : 1n);
  return Math.fround(Number(odd) * 2048);
}

/** The element (a code for narrow floats, the number itself otherwise) nearest to `x`. Integers wrap. Not of i64: see `toI64`. */
export function encode(dtype: DType, x: number): number {
  if (isNarrowFloat(dtype)) return ENCODERS[dtype](oddBits(x));
  switch (dtype) {
    case "f32":
      return Math.fround(x);
    case "i64":
      throw new RangeError("elements of i64 are bigints");
    case "i32":
      return x | 0;
    case "u32":
      return x >>> 0;
    case "i8":
      return (x << 24) >> 24;
    case "u8":
      return x & 0xff;
    case "bool":
      return x !== 0 ? 1 : 0;
  }
  return x;
}

/** The number an element stands for. */
export function decode(dtype: DType, element: number): number {
  if (dtype === "bool") return element !== 0 ? 1 : 0;
  return isNarrowFloat(dtype) ? valuesOf(dtype)[element]! : element;
}

/** Largest finite value of each float dtype; what f8 saturates to and the others overflow past. */
export const LARGEST_FINITE: Readonly<Record<NarrowFloat | "f32", number>> = {
  f32: (2 - 2 ** -23) * 2 ** 127,
  f16: 65504,
  bf16: (2 - 2 ** -7) * 2 ** 127,
  f8e4m3: 448,
  f8e5m2: 57344,
};

/** Spacing of each float dtype's subnormals: its smallest positive value. */
export const SMALLEST_STEP: Readonly<Record<NarrowFloat | "f32", number>> = {
  f32: 2 ** -149,
  f16: 2 ** -24,
  bf16: 2 ** -133,
  f8e4m3: 2 ** -9,
  f8e5m2: 2 ** -16,
};
