/** Conversion between numbers and element bits, one value or whole arrays at a time. One rounding each. */
import type { DType } from "../../compiler/index.js";
import { allocate, type TypedArray } from "./arrays.js";
import { ENCODERS, F32_WORD, I32_WORD, isNarrowFloat, valuesOf } from "./formats.js";

/**
 * Bits of the float32 next to `x` towards zero, the last bit set when that lost anything ("round to odd").
 * Rounding this to a format at least two bits narrower equals rounding `x` itself: no double rounding.
 */
function oddBits(x: number): number {
  F32_WORD[0] = x;
  const y = F32_WORD[0]!;
  let u = I32_WORD[0]!;
  if (y !== x && x === x) {
    if (Math.abs(y) > Math.abs(x)) u -= 1;
    u |= 1;
  }
  return u;
}

/** The element (a code for narrow floats, the number itself otherwise) nearest to `x`. Integers wrap. */
export function encode(dtype: DType, x: number): number {
  if (isNarrowFloat(dtype)) return ENCODERS[dtype](oddBits(x));
  switch (dtype) {
    case "f32":
      return Math.fround(x);
    case "i32":
      return x | 0;
    case "u32":
      return x >>> 0;
    case "i8":
      return (x << 24) >> 24;
    case "u8":
      return x & 0xff;
  }
  return x;
}

/** The number an element stands for. */
export function decode(dtype: DType, element: number): number {
  return isNarrowFloat(dtype) ? valuesOf(dtype)[element]! : element;
}

/** Encodes many numbers. `into` must be of the dtype's class and as long as `numbers`; made if absent. */
export function encodeArray(
  dtype: DType,
  numbers: Float32Array | Float64Array | readonly number[],
  into: TypedArray = allocate(dtype, numbers.length),
): TypedArray {
  if (!isNarrowFloat(dtype)) {
    into.set(numbers);
    return into;
  }
  const fromBits = ENCODERS[dtype];
  if (numbers instanceof Float32Array) {
    const bits = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length);
    for (let i = 0; i < bits.length; i++) into[i] = fromBits(bits[i]!);
  } else for (let i = 0; i < numbers.length; i++) into[i] = fromBits(oddBits(numbers[i]!));
  return into;
}

/**
 * Decodes elements `from` … `from + into.length` of an array into floats.
 * Exact, but for 32-bit integers into a Float32Array.
 */
export function decodeInto<F extends Float32Array | Float64Array>(
  dtype: DType,
  elements: TypedArray,
  into: F,
  from = 0,
): F {
  const n = into.length;
  if (!isNarrowFloat(dtype)) {
    into.set(elements.subarray(from, from + n));
    return into;
  }
  const values = valuesOf(dtype);
  for (let i = 0; i < n; i++) into[i] = values[elements[from + i]!]!;
  return into;
}

/** All elements as float32. */
export function decodeArray(dtype: DType, elements: TypedArray): Float32Array {
  return decodeInto(dtype, elements, new Float32Array(elements.length));
}
