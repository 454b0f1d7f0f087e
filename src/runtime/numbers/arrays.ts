/** Host memory of each dtype: which typed array holds it, and how it is allocated and poisoned. */
import { DTYPES, type DType } from "../../compiler/index.js";

/** Arrays whose elements are numbers of JavaScript: all but those of 64-bit integers. */
export type NumberArray = Float32Array | Uint16Array | Uint8Array | Int8Array | Int32Array | Uint32Array;

/** Elements on the host. 16- and 8-bit floats are held as their bit patterns, truth values as bytes, 64-bit integers as bigints. */
export type TypedArray = NumberArray | BigInt64Array;

/** The arrays that elements of a dtype can lie in, as far as types tell them apart. */
export type ArrayOf<D extends DType> = D extends "i64" ? BigInt64Array : NumberArray;

/** What one element of an array is. */
export type Element = number | bigint;

type TypedArrayClass = {
  new (length: number): TypedArray;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray;
  readonly BYTES_PER_ELEMENT: number;
};

const CLASSES: Readonly<Record<DType, TypedArrayClass>> = {
  f32: Float32Array,
  f16: Uint16Array,
  bf16: Uint16Array,
  f8e4m3: Uint8Array,
  f8e5m2: Uint8Array,
  i64: BigInt64Array,
  i32: Int32Array,
  u32: Uint32Array,
  i8: Int8Array,
  u8: Uint8Array,
  bool: Uint8Array,
};

/** The typed array class that holds elements of this dtype. */
export function arrayClass(dtype: DType): TypedArrayClass {
  return CLASSES[dtype];
}

/** A zeroed array of `length` elements. */
export function allocate<D extends DType>(dtype: D, length: number): ArrayOf<D> {
  return new CLASSES[dtype](length) as ArrayOf<D>;
}

/** Whether `array` can hold elements of `dtype` (its class is the right one). */
export function holds(array: TypedArray, dtype: DType): boolean {
  return array instanceof CLASSES[dtype];
}

/** Copies elements of one array to the start of another of the same class. */
export function copyInto(into: TypedArray, from: TypedArray): void {
  // Both hold one dtype; to TypeScript, they might be of numbers and of bigints.
  (into as NumberArray).set(from as NumberArray);
}

/** The bytes under an array, as a view: no copy. */
export function bytesOf(array: TypedArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/**
 * Sets every byte to 0xFF: a NaN in every float dtype, -1 or the largest value in an integer one.
 * Memory that is read before it is written then spoils a result instead of looking right by luck.
 */
export function fillPoison<A extends TypedArray>(array: A): A {
  bytesOf(array).fill(0xff);
  return array;
}

/** Bytes of `length` elements. */
export function byteLength(dtype: DType, length: number): number {
  return DTYPES[dtype].bytes * length;
}

/** Whether two arrays hold the same bytes (NaNs included). Arrays of different length differ. */
export function sameBytes(a: TypedArray, b: TypedArray): boolean {
  return a.byteLength === b.byteLength && Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
}
