/** Scalar operations on numbers, where they are known, and on terms, where they stand for data. */
import { BINARY, foldBinary, foldCompare, REDUCE, UNARY } from "../ir/functions.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import type { ScalarKind } from "../types/dtype.js";
import type { Algebra, Number_, Term } from "./algebra.js";

/** Any data, where only the ordering of accesses is asked for. */
export const OPAQUE: Term = { id: 0 };

function isInteger(kind: ScalarKind): boolean {
  switch (kind) {
    case "i32":
    case "u32":
    case "i8":
    case "u8":
      return true;
    default:
      return false;
  }
}

/** Arithmetic of a known number in an integer kind wraps. */
export function wrap(kind: ScalarKind, x: number): number {
  switch (kind) {
    case "u32":
      return x >>> 0;
    case "i32":
      return x | 0;
    case "i8":
      return (x << 24) >> 24;
    case "u8":
      return x & 0xff;
    default:
      return x;
  }
}

function known(fn: BinaryFunction, kind: ScalarKind, a: number, b: number): number {
  if (kind === "index" && fn !== "and" && fn !== "or") return foldBinary(fn, a, b) ?? NaN;
  if (isInteger(kind)) {
    if (fn === "mul") return wrap(kind, Math.imul(a, b));
    if (fn === "div") return wrap(kind, Math.trunc(a / b));
  } else if (kind !== "index" && kind !== "bool" && fn === "div") return a / b;
  else if (fn === "and") return a & b;
  else if (fn === "or") return a | b;
  return wrap(kind, foldBinary(fn, a, b) ?? NaN);
}

export function binaryOf(data: Algebra | null, fn: BinaryFunction, kind: ScalarKind, a: Number_, b: Number_): Number_ {
  if (typeof a === "number" && typeof b === "number") return known(fn, kind, a, b);
  if (data === null) return OPAQUE;
  const algebra = isInteger(kind) ? data.integers : data;
  switch (fn) {
    case "add":
      return algebra.add(a, b);
    case "sub":
      return algebra.sub(a, b);
    case "mul":
      return algebra.mul(a, b);
    case "div":
      return isInteger(kind) ? algebra.apply("quotient", [a, b]) : algebra.div(a, b);
    case "min":
    case "max": {
      // No value of the kind lies beyond the start of a fold, so it changes nothing.
      const neutral = REDUCE[fn].identity(kind);
      if (a === neutral) return b;
      if (b === neutral) return a;
      return algebra.extreme(fn, a, b);
    }
    default:
      return algebra.apply(fn, [a, b], BINARY[fn].commutes);
  }
}

export function unaryOf(algebra: Algebra | null, fn: UnaryFunction, kind: ScalarKind, a: Number_): Number_ {
  const { value, whole, law } = UNARY[fn];
  if (typeof a === "number")
    return kind === "index" || kind === "bool" || isInteger(kind) ? wrap(kind, (whole ?? value)(a)) : value(a);
  if (algebra === null) return OPAQUE;
  return law === undefined ? algebra.apply(fn, [a]) : law<Number_>(algebra, a, kind);
}

export function compareOf(algebra: Algebra | null, fn: Comparison, a: Number_, b: Number_): Number_ {
  if (typeof a === "number" && typeof b === "number") return foldCompare(fn, a, b) ? 1 : 0;
  return algebra === null ? OPAQUE : algebra.compare(fn, a, b);
}

export function selectOf(algebra: Algebra | null, condition: Number_, a: Number_, b: Number_): Number_ {
  if (typeof condition === "number") return condition !== 0 ? a : b;
  if (algebra === null) return OPAQUE;
  return a === b ? a : algebra.select(condition, a, b);
}

export function castOf(algebra: Algebra | null, from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
  if (typeof a === "number") return isInteger(to) || to === "index" ? wrap(to, Math.trunc(a)) : a;
  return algebra === null ? OPAQUE : algebra.cast(from, to, a);
}
