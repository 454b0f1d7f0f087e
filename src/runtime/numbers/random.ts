/**
 * Seeded random data. Counter-based: element i depends on (key, i) alone, so that every process of a group
 * can make any rank's data, or a piece of it, without making the rest.
 *
 * Distribution: floats are uniform in [-1, 1), rounded once to the dtype (16- and 8-bit floats take one of
 * 65536 equally spaced values first). Whole numbers are uniform over all of their dtype, or near enough: what wraps on the way
 * has to wrap as it does in the reference. Truth values are as often true as false.
 */
import type { DType } from "../../compiler/index.js";
import type { TypedArray } from "./arrays.js";
import { encode } from "./convert.js";
import { isNarrowFloat } from "../../compiler/index.js";

/** A 32-bit mixing function (murmur3's finaliser): every input bit moves every output bit. */
export function mix32(h: number): number {
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A key from several integers (seed, tensor number, rank, …). */
export function randomKey(...parts: readonly number[]): number {
  let h = 0x9e3779b9;
  for (const part of parts) h = mix32((h ^ mix32(part + 0x7f4a7c15)) + 0x9e3779b9);
  return h;
}

/** A key from a text. */
export function textKey(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = mix32(h ^ text.charCodeAt(i)) + 0x9e3779b9;
  return h >>> 0;
}

/** A stream of 32-bit numbers from a key, for schedules and sampling. */
export function randomStream(key: number): () => number {
  let i = 0;
  return () => mix32(key ^ Math.imul(++i, 0x9e3779b9));
}

const quantiles = new Map<DType, Uint16Array>();

/** Codes of the 65536 values (i - 32768) / 32768. */
function quantilesOf(dtype: DType): Uint16Array {
  let codes = quantiles.get(dtype);
  if (codes === undefined) {
    codes = Uint16Array.from({ length: 65536 }, (_, i) => encode(dtype, (i - 32768) / 32768));
    quantiles.set(dtype, codes);
  }
  return codes;
}

/** Whole numbers from 32 random bits. */
const WHOLE: Readonly<Record<"i32" | "u32" | "i8" | "u8" | "bool", (bits: number) => number>> = {
  i32: (bits) => bits | 0,
  u32: (bits) => bits,
  i8: (bits) => bits >> 24,
  u8: (bits) => bits >>> 24,
  bool: (bits) => bits >>> 31,
};

/**
 * Fills an array with elements `from`, `from + 1`, … of the key's sequence. `from` must be even.
 */
export function fillRandom<A extends TypedArray>(dtype: DType, array: A, key: number, from = 0): A {
  const n = array.length;
  const k = key | 0;
  if (isNarrowFloat(dtype)) {
    const codes = quantilesOf(dtype);
    let counter = from / 2;
    for (let i = 0; i < n; i += 2) {
      const h = mix32(k ^ Math.imul(++counter, 0x9e3779b9));
      array[i] = codes[h & 0xffff]!;
      if (i + 1 < n) array[i + 1] = codes[h >>> 16]!;
    }
    return array;
  }
  for (let i = 0; i < n; i++) {
    const h = mix32(k ^ Math.imul(from + i + 1, 0x9e3779b9));
    if (dtype === "i64") array[i] = BigInt.asIntN(64, (BigInt(h) << 32n) | BigInt(mix32(h ^ 0x5bd1e995)));
    else array[i] = dtype === "f32" ? (h | 0) * 2 ** -31 : WHOLE[dtype](h);
  }
  return array;
}
