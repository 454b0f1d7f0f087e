/**
 * Whole numbers of 64 bits, exactly: bigints that wrap as elements of i64 do. Rows of them carry the nearest float64 numbers
 * beside, for those who report sizes of errors; nothing is decided by these.
 */
import { type BinaryFunction, type DType, InternalCompilerError, type UnaryFunction } from "../../compiler/index.js";
import { toI64, wideToF32 } from "../../compiler/index.js";
import { decode, encode } from "../numbers/index.js";
import type { Rows } from "./logical.js";

export const wrapWide = (x: bigint): bigint => BigInt.asIntN(64, x);

/** The ends of the range, which folds by `min` and `max` start from. */
export const WIDE_STARTS = { sum: 0n, prod: 1n, min: 2n ** 63n - 1n, max: -(2n ** 63n) } as const;

export function wideRows(wide: BigInt64Array): Rows {
  return { values: Float64Array.from(wide, Number), error: null, copied: false, wide };
}

/** Rows as whole numbers of 64 bits; of constants and smaller integers, which float64 holds, the same numbers. */
export function wideOf({ wide, values }: Pick<Rows, "wide" | "values">): BigInt64Array {
  return wide ?? BigInt64Array.from(values, toI64);
}

const UNARY: Partial<Record<UnaryFunction, (x: bigint) => bigint>> = {
  neg: (x) => -x,
  abs: (x) => (x < 0n ? -x : x),
  relu: (x) => (x > 0n ? x : 0n),
};

export function wideUnary(fn: string): (x: bigint) => bigint {
  const f = UNARY[fn as UnaryFunction];
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${fn}' of i64`);
  return (x) => wrapWide(f(x));
}

const BINARY: Partial<Record<BinaryFunction, (a: bigint, b: bigint) => bigint>> = {
  add: (a, b) => wrapWide(a + b),
  sub: (a, b) => wrapWide(a - b),
  mul: (a, b) => wrapWide(a * b),
  // What nothing divides is left open; 0 keeps the reference going.
  div: (a, b) => (b === 0n ? 0n : wrapWide(a / b)),
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
};

export function wideBinary(fn: string): (a: bigint, b: bigint) => bigint {
  const f = BINARY[fn as BinaryFunction];
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${fn}' of i64`);
  return f;
}

/** One of 64 bits as an element of another dtype; to narrow floats by way of float32, as kernels convert. */
export function wideCast(dtype: DType, x: bigint): number {
  switch (dtype) {
    case "bool":
      return x === 0n ? 0 : 1;
    case "i32":
    case "u32":
    case "i8":
    case "u8":
      return encode(dtype, Number(BigInt.asIntN(32, x)));
    default:
      return decode(dtype, encode(dtype, wideToF32(x)));
  }
}

/** Rows as an array of that dtype holds them, as far as 64-bit numbers are among either: the store casts them. */
export function heldRows(dtype: DType, rows: Rows): Rows {
  const { wide } = rows;
  if ((dtype === "i64") === (wide !== undefined)) return rows;
  if (wide === undefined) return { ...rows, wide: wideOf(rows) };
  return { values: Float64Array.from(wide, (x) => wideCast(dtype, x)), error: null, copied: false };
}
