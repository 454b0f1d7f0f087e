/** Scalar operations on numbers, where they are known, and on terms, where they stand for data. */
import { BINARY, foldBinary, foldCompare, REDUCE, UNARY, wrapped } from "../ir/functions.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import { type DType, DTYPES, HIGHEST, isDType, isFloat, isInteger, LOWEST, type ScalarKind } from "../types/dtype.js";
import type { Algebra, Number_, Term } from "./algebra.js";
import { CannotTell } from "./results.js";

/** Any data, where only the ordering of accesses is asked for. */
export const OPAQUE: Term = { id: 0 };

/** Arithmetic of a known number in an integer kind wraps. */
export function wrap(kind: ScalarKind, x: number): number {
  if (kind !== "i64" || Number.isSafeInteger(x) || Math.abs(x) === Infinity) return wrapped(kind, x);
  throw new CannotTell("it computes with known whole numbers beyond 2^53");
}

const WIDE: Partial<Record<BinaryFunction, (a: bigint, b: bigint) => bigint>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  rem: (a, b) => a % b,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a << b,
  shr: (a, b) => a >> b,
};

/** Of 64 bits: exact, and refused where the result is no number that JavaScript holds. */
function known64(fn: BinaryFunction, a: number, b: number): number {
  const isDivision = fn === "div" || fn === "rem";
  if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b) || (isDivision && b === 0)) return wrap("i64", NaN);
  return wrap("i64", Number(BigInt.asIntN(64, WIDE[fn]!(BigInt(a), BigInt(b)))));
}

function known(fn: BinaryFunction, kind: ScalarKind, a: number, b: number): number {
  if (kind === "index" && fn !== "and" && fn !== "or") return foldBinary(fn, a, b) ?? NaN;
  if (kind === "i64" && fn !== "min" && fn !== "max") return known64(fn, a, b);
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
  const isWhole = isInteger(kind) || kind === "index";
  const algebra = isWhole ? data.integers : data;
  switch (fn) {
    case "add":
      return algebra.add(a, b);
    case "sub":
      return algebra.sub(a, b);
    case "mul":
      return algebra.mul(a, b);
    case "div":
      return isWhole ? algebra.quotient(a, b) : algebra.div(a, b);
    case "min":
    case "max": {
      // No value of the kind lies beyond the start of a fold, so it changes nothing.
      const neutral = REDUCE[fn].identity(kind);
      if (a === neutral) return b;
      if (b === neutral) return a;
      return algebra.extreme(fn, a, b);
    }
    case "pow":
      return powerOf(algebra, a, b);
    default:
      return algebra.apply(fn, [a, b], BINARY[fn].commutes);
  }
}

/** Whole exponents up to this one are written as products. */
const MOST_FACTORS = 16;

/** x² is x · x, and √x is x to the power of a half. */
function powerOf(algebra: Algebra, base: Number_, exponent: Number_): Number_ {
  if (exponent === 0.5) return algebra.apply("sqrt", [base]);
  if (typeof exponent !== "number" || !Number.isInteger(exponent) || Math.abs(exponent) > MOST_FACTORS)
    return algebra.apply("pow", [base, exponent]);
  let product: Number_ = 1;
  for (let k = Math.abs(exponent); k > 0; k--) product = algebra.mul(product, base);
  return exponent < 0 ? algebra.div(1, product) : product;
}

export function unaryOf(algebra: Algebra | null, fn: UnaryFunction, kind: ScalarKind, a: Number_): Number_ {
  const { value, whole, law } = UNARY[fn];
  if (typeof a === "number") {
    if (kind === "index" || kind === "bool" || isInteger(kind)) return wrap(kind, (whole ?? value)(a));
    return algebra?.lawful?.(fn, a) ?? value(a);
  }
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

export const isF8 = (kind: ScalarKind): boolean => kind === "f8e4m3" || kind === "f8e5m2";

/** What a float is as a whole number: without its fraction, and of what is too large the end of what is computed with. */
function saturated(to: ScalarKind, x: number): number {
  const kind = isDType(to) ? DTYPES[to].compute : to;
  if (kind === "index" || kind === "i64") return Number.isFinite(x) ? Math.trunc(x) : wrap("i64", NaN);
  return x === x ? Math.trunc(Math.max(LOWEST[kind]!, Math.min(HIGHEST[kind]!, x))) : 0;
}

export function castOf(algebra: Algebra | null, from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
  // Whatever differs from 0 is true.
  if (to === "bool" && from !== "bool") return compareOf(algebra, "ne", a, 0);
  if (typeof a === "number") {
    if (isInteger(to) || to === "index") return wrap(to, isFloat(from) ? saturated(to, a) : Math.trunc(a));
    // An index has one zero.
    return isFloat(to) ? (algebra?.rounded?.(to as DType, isFloat(from) ? a : a + 0) ?? a) : a;
  }
  return algebra === null ? OPAQUE : algebra.cast(from, to, a);
}
