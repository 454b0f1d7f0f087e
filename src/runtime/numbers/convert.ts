/** Conversion between numbers and element bits, one value or whole arrays at a time. One rounding each. */
import { allocate, type TypedArray } from "./arrays.js";
import { type DType, encode, ENCODERS, decode, isNarrowFloat, oddBits, valuesOf } from "../../compiler/index.js";

export { decode, encode };

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
