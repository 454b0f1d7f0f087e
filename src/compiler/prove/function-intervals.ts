/** Functions of floats on intervals: where CUDA's results lie, and which arguments they have none for. */
import { erf, roundToEven } from "../ir/functions.js";
import type { Op } from "../ir/module.js";
import type { UnaryFunction } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import type { DType } from "../types/dtype.js";
import type { Note } from "./interval-arithmetic.js";
import {
  allOf,
  fits,
  greatest,
  type Interval,
  interval,
  isNeverZero,
  isPositive,
  magnitude,
  negative,
  overlap,
  rising,
  rounded,
  SMALLEST_F32,
  truncated,
  within,
} from "./intervals.js";

/** A float result, rounded once or more often. */
export function result(op: Op, exact: Interval, note: Note, roundings = 1): Interval {
  const kind = scalarOf(op.results[0]!.type) as DType;
  const at = rounded(exact, kind, roundings);
  if (!fits(roundings === 1 ? exact : at, kind)) note("overflow", kind, op);
  return within(at, kind);
}

/** Functions of CUDA are right to a few units in the last place. */
const INEXACT = 4;

/** The number of f32 next to -1, from above. */
const MOST_ABOVE_MINUS_1 = -1 + 2 ** -24;

const above = (x: Interval, lo: number): Interval => interval(Math.max(x.lo, lo), Math.max(x.hi, lo));

/** Where a function of floats lies. */
export function floatUnary(op: Op, fn: UnaryFunction, at: Interval, note: Note): Interval {
  switch (fn) {
    case "neg":
      return negative(at);
    case "abs":
      return magnitude(at);
    case "relu":
      return greatest(at, interval(0, 0));
    case "exp":
      return result(op, rising(at, Math.exp), note, INEXACT);
    case "log":
      if (!isPositive(at)) note("domain", "f32", op);
      return result(op, rising(above(at, SMALLEST_F32), Math.log), note, INEXACT);
    case "sqrt":
      if (at.lo < 0) note("domain", "f32", op);
      return result(op, rising(above(at, 0), Math.sqrt), note, INEXACT);
    case "rsqrt": {
      if (at.lo < 0) note("domain", "f32", op);
      if (!isNeverZero(at)) note("divisor", "f32", op);
      const inverse = negative(rising(above(at, SMALLEST_F32), (x) => -1 / Math.sqrt(x)));
      return result(op, inverse, note, INEXACT);
    }
    case "exp2":
      return result(
        op,
        rising(at, (x) => 2 ** x),
        note,
        INEXACT,
      );
    case "expm1":
      return result(op, rising(at, Math.expm1), note, INEXACT);
    case "log1p":
      if (!(at.lo > -1)) note("domain", "f32", op);
      return result(op, rising(above(at, MOST_ABOVE_MINUS_1), Math.log1p), note, INEXACT);
    case "sin":
    case "cos":
    case "erf":
      // CUDA says by how much they err, not that they keep to this.
      return result(op, fn === "erf" ? rising(at, erf) : interval(-1, 1), note, INEXACT);
    case "tanh":
      return interval(-1, 1);
    case "floor":
      return rising(at, Math.floor);
    case "ceil":
      return rising(at, Math.ceil);
    case "round":
      return rising(at, roundToEven);
    case "trunc":
      return truncated(at);
    case "sigmoid":
      return overlap(
        interval(0, 1),
        result(
          op,
          rising(at, (x) => 1 / (1 + Math.exp(-x))),
          note,
          INEXACT,
        ),
      );
    case "silu":
    case "gelu":
      return interval(-0.5, Math.max(0, at.hi));
    default:
      return unknown(op, note);
  }
}

/** Of a function that nothing is known of. */
export function unknown(op: Op, note: Note): Interval {
  const kind = scalarOf(op.results[0]!.type);
  for (const what of ["overflow", "domain"] as const) note(what, kind, op);
  return allOf(kind);
}

/** A power: of what may be negative, only whole exponents that are known give a number. */
export function power(op: Op, base: Interval, exponent: Interval, note: Note): Interval {
  const isWhole = exponent.lo === exponent.hi && Number.isInteger(exponent.lo);
  if (base.lo < 0 && !isWhole) return unknown(op, note);
  if (exponent.lo < 0 && !isNeverZero(base)) note("divisor", scalarOf(op.results[0]!.type), op);
  const size = above(magnitude(base), exponent.lo < 0 ? SMALLEST_F32 : 0);
  const ends = [size.lo, size.hi].flatMap((x) => [x ** exponent.lo, x ** exponent.hi]);
  const most = Math.max(...ends);
  const isSigned = base.lo < 0 && exponent.lo % 2 !== 0;
  return result(op, interval(isSigned ? -most : Math.min(...ends), most, Math.min(...ends)), note, INEXACT);
}
