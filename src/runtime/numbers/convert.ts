/** Conversion between numbers and element bits, one value or whole arrays at a time. One rounding each. */
import { allocate, type Element, type NumberArray, type TypedArray } from "./arrays.js";
import {
  decode as decodeNumber,
  type DType,
  encode,
  ENCODERS,
  isNarrowFloat,
  oddBits,
  toI32,
  toI64,
  valuesOf,
} from "../../compiler/index.js";

export { encode, toI32 };

/** The element nearest to a number; of i64 the whole one, saturated. */
export function elementOf(dtype: DType, x: number): Element {
  return dtype === "i64" ? toI64(x) : encode(dtype, x);
}

/** The number an element stands for; of i64 the nearest float64. */
export function decode(dtype: DType, element: Element): number {
  return typeof element === "bigint" ? Number(element) : decodeNumber(dtype, element);
}

/** Encodes many numbers. `into` must be of the dtype's class and as long as `numbers`; made if absent. */
export function encodeArray(
  dtype: DType,
  numbers: Float32Array | Float64Array | readonly number[],
  into: TypedArray = allocate(dtype, numbers.length),
): TypedArray {
  if (into instanceof BigInt64Array) {
    for (let i = 0; i < into.length; i++) into[i] = toI64(numbers[i]!);
    return into;
  }
  if (dtype === "bool") {
    for (let i = 0; i < into.length; i++) into[i] = numbers[i] !== 0 ? 1 : 0;
    return into;
  }
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
 * Exact, but for 32-bit integers into a Float32Array, and for 64-bit ones.
 */
export function decodeInto<F extends Float32Array | Float64Array>(
  dtype: DType,
  elements: TypedArray,
  into: F,
  from = 0,
): F {
  const n = into.length;
  if (elements instanceof BigInt64Array || dtype === "bool") {
    for (let i = 0; i < n; i++) into[i] = decode(dtype, elements[from + i]!);
    return into;
  }
  if (!isNarrowFloat(dtype)) {
    into.set(elements.subarray(from, from + n));
    return into;
  }
  const values = valuesOf(dtype);
  const codes: NumberArray = elements;
  for (let i = 0; i < n; i++) into[i] = values[codes[from + i]!]!;
  return into;
}

/** All elements as float32. */
export function decodeArray(dtype: DType, elements: TypedArray): Float32Array {
  return decodeInto(dtype, elements, new Float32Array(elements.length));
}
