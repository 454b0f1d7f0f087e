/** Comparing two arrays of one dtype. */
import type { DType } from "../../compiler/index.js";
import { bytesOf, sameBytes, type TypedArray } from "./arrays.js";
import { decode } from "./convert.js";

/** Largest difference between two arrays. */
export interface Difference {
  /** Largest |actual - expected|; Infinity where only one of them is NaN, or infinities differ. */
  readonly maxError: number;
  /** `maxError` divided by the largest finite |expected|; 0 when both are zero. */
  readonly relativeToScale: number;
  /** Index of the largest difference, or -1 if there is none. */
  readonly worst: number;
}

/** |actual - expected|, where two NaNs are equal and any other disagreement about NaN or infinity is infinite. */
export function distance(actual: number, expected: number): number {
  if (actual === expected) return 0;
  const d = Math.abs(actual - expected);
  if (d === d) return d;
  return actual !== actual && expected !== expected ? 0 : Infinity;
}

/** Largest error of `actual` against `expected`, which may be elements of the dtype or float64 values. */
export function largestError(dtype: DType, actual: TypedArray, expected: TypedArray | Float64Array): Difference {
  if (actual.length !== expected.length)
    throw new RangeError(`arrays of ${actual.length} and ${expected.length} elements`);
  let maxError = 0;
  let scale = 0;
  let worst = -1;
  for (let i = 0; i < actual.length; i++) {
    const e = expected instanceof Float64Array ? expected[i]! : decode(dtype, expected[i]!);
    const [x, y] = [actual[i]!, expected[i]!];
    // Of bigints, the difference is exact before it becomes a float.
    const d = typeof x === "bigint" && typeof y === "bigint" ? Math.abs(Number(x - y)) : distance(decode(dtype, x), e);
    if (d > maxError) {
      maxError = d;
      worst = i;
    }
    const a = Math.abs(e);
    if (a > scale && a < Infinity) scale = a;
  }
  return { maxError, relativeToScale: maxError === 0 ? 0 : maxError / scale, worst };
}

/** Index of the first element whose bits differ, or -1. Arrays must be equally long. */
export function firstDifference(a: TypedArray, b: TypedArray): number {
  if (a.length !== b.length) throw new RangeError(`arrays of ${a.length} and ${b.length} elements`);
  if (sameBytes(a, b)) return -1;
  const left = bytesOf(a);
  const right = bytesOf(b);
  let i = 0;
  while (left[i] === right[i]) i++;
  return Math.floor(i / a.BYTES_PER_ELEMENT);
}
