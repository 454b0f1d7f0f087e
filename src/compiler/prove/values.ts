/** Scalar operations on numbers, where they are known, and on terms, where they stand for data. */
import { identityOf } from "../execute/identities.js";
import { foldBinary, foldCompare } from "../ir/fold.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import type { ScalarKind } from "../types/dtype.js";
import type { Algebra, Number_, Term } from "./algebra.js";

/** Any data, where only the ordering of accesses is asked for. */
export const OPAQUE: Term = { id: 0 };

const COMMUTES = new Set(["and", "or", "xor"]);

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
      const neutral = identityOf(fn, kind);
      if (a === neutral) return b;
      if (b === neutral) return a;
      return algebra.extreme(fn, a, b);
    }
    default:
      return algebra.apply(fn, [a, b], COMMUTES.has(fn));
  }
}

const KNOWN: Partial<Record<UnaryFunction, (x: number) => number>> = {
  neg: (x) => -x,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  tanh: Math.tanh,
  abs: Math.abs,
  relu: (x) => Math.max(x, 0),
};

export function unaryOf(algebra: Algebra | null, fn: UnaryFunction, kind: ScalarKind, a: Number_): Number_ {
  if (typeof a === "number") {
    if (fn === "not") return kind === "bool" ? 1 - a : wrap(kind, ~a);
    const f = KNOWN[fn];
    if (f !== undefined) return wrap(kind, f(a));
  }
  if (algebra === null) return OPAQUE;
  switch (fn) {
    case "not":
      return kind === "bool" ? algebra.sub(1, a) : algebra.apply(fn, [a]);
    case "neg":
      return algebra.sub(0, a);
    case "abs":
      return algebra.extreme("max", a, algebra.sub(0, a));
    case "relu":
      return algebra.extreme("max", a, 0);
    case "silu":
      return algebra.div(a, algebra.add(1, algebra.apply("exp", [algebra.sub(0, a)])));
    case "sigmoid":
      return algebra.div(1, algebra.add(1, algebra.apply("exp", [algebra.sub(0, a)])));
    case "rsqrt":
      return algebra.div(1, algebra.apply("sqrt", [a]));
    default:
      return algebra.apply(fn, [a]);
  }
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
