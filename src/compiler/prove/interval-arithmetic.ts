/** Scalar ops on intervals: where a result lies, and what must be so for it to be what it is in mathematics. */
import { CUTS_FRACTIONS } from "../ir/functions.js";
import type { Op } from "../ir/module.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { type DType, DTYPES, isDType, isFloat, type ScalarKind } from "../types/dtype.js";
import {
  allOf,
  fits,
  greatest,
  hull,
  type Interval,
  interval,
  isNeverZero,
  least,
  magnitude,
  negative,
  overlap,
  product,
  quotient,
  rising,
  SMALLEST_F32,
  square,
  sum,
  truncated,
  UNLIMITED,
} from "./intervals.js";
import { floatUnary, power, result, unknown } from "./function-intervals.js";
import { EXACT, type Exactness, exactnessOf } from "./exactness.js";
import type { Greatest, Peak, Within } from "./maxima.js";

export type ObligationKind =
  /** A result fits in its dtype, where the proof takes it for what it is in mathematics. */
  | "overflow"
  /** A divisor is not 0. */
  | "divisor"
  /** What a root is taken of is not negative; what a logarithm, positive. */
  | "domain"
  /** What a fraction is cut off was not rounded before. */
  | "exactness"
  /** What is compared was not rounded before. */
  | "comparison";

/** A value: where it lies, and what it is the same as. */
export interface Known extends Result {
  /** Values of one number are equal; -1 is no number. */
  readonly number: number;
  /** Of an index that counts a loop. */
  readonly within?: Within;
  /** Which elements it is the greatest of. */
  readonly greatest?: Greatest | undefined;
  /** Greatest ones that it is not less than. */
  readonly above?: readonly Greatest[];
  readonly peak?: Peak | undefined;
}

export interface Result extends Exactness {
  readonly at: Interval;
  /** Of an integer, the operation that may have made it wrap, so that it is not what it is in mathematics. */
  readonly wraps: Op | null;
}

/** Is told of what intervals do not show. */
export type Note = (kind: ObligationKind, dtype: ScalarKind, op: Op) => void;

/** Functions of integers that mean the same modulo 2³², or 2⁶⁴, where they wrap. */
const WRAPPING = new Set<BinaryFunction>(["add", "sub", "mul", "shl"]);

/** An integer is about to be taken for the number that it is in mathematics. */
export function taken({ wraps }: Pick<Result, "wraps">, note: Note): void {
  if (wraps !== null) note("overflow", scalarOf(wraps.results[0]!.type), wraps);
}

/** A fraction is about to be cut off. */
function cutOff({ inexact }: Exactness, note: Note): void {
  if (inexact !== null) note("exactness", scalarOf(inexact.results[0]!.type), inexact);
}

export const isSame = (a: Known, b: Known): boolean => a.number === b.number && a.number >= 0;

export const times = (a: Known, b: Known): Interval => (isSame(a, b) ? square(a.at) : product(a.at, b.at));

type Place = Omit<Result, keyof Exactness>;

const exactly = (at: Interval): Place => ({ at, wraps: null });

/** What a unary, binary, compare, select or cast gives. */
export function evaluate(op: Op, operands: readonly Known[], note: Note): Result {
  const { at, wraps } = placed(op, operands, note);
  return { at, wraps, ...exactnessOf(op, operands, at) };
}

function placed(op: Op, operands: readonly Known[], note: Note): Place {
  const [a, b, c] = operands as [Known, Known, Known];
  const kind = scalarOf(op.results[0]!.type);
  const fn = op.attributes["fn"];
  switch (op.name) {
    case "compare":
      return exactly(comparison(op, fn as Comparison, a, b, note));
    case "select": {
      if (a.at.lo === a.at.hi) return a.at.lo !== 0 ? b : c;
      return { at: hull(b.at, c.at), wraps: b.wraps ?? c.wraps };
    }
    case "cast":
      return cast(op, scalarOf(op.operands[0]!.type), kind, a, note);
    case "unary":
      if (isFloat(kind)) {
        if (CUTS_FRACTIONS.has(fn as string)) cutOff(a, note);
        return exactly(floatUnary(op, fn as UnaryFunction, a.at, note));
      }
      return wholeUnary(op, fn as UnaryFunction, kind, a, note);
    default:
      if (isFloat(kind)) return exactly(floatBinary(op, fn as BinaryFunction, a, b, note));
      if (kind === "bool") return exactly(bools(fn as BinaryFunction, a.at, b.at));
      if (isDType(kind)) return wholeBinary(op, fn as BinaryFunction, kind, a, b, note);
      return exactly(index(fn as BinaryFunction, a, b));
  }
}

/** What a truth value is made by being held against. */
export const KNOWN_ZERO: Known = { at: interval(0, 0), number: -1, wraps: null, ...EXACT };

/** Whether an op makes a truth value of a number, which is the comparison `!= 0`. */
export const isTruth = ({ name, operands, results }: Op): boolean =>
  name === "cast" && scalarOf(results[0]!.type) === "bool" && scalarOf(operands[0]!.type) !== "bool";

/** A comparison, which intervals decide where they lie apart; what was rounded before may lie on the other side of what it is held against. */
function comparison(op: Op, fn: Comparison, a: Known, b: Known, note: Note): Interval {
  taken(a, note);
  taken(b, note);
  const at = compared(fn, a, b);
  const inexact = a.inexact ?? b.inexact;
  if (inexact !== null && at.lo !== at.hi) note("comparison", scalarOf(inexact.results[0]!.type), op);
  return at;
}

/** An integer result, which wraps where it does not fit. */
function whole(op: Op, at: Interval, wraps: Op | null): Place {
  const kind = scalarOf(op.results[0]!.type);
  return fits(at, kind) ? { at, wraps } : { at: allOf(kind), wraps: wraps ?? op };
}

function cast(op: Op, from: ScalarKind, to: ScalarKind, a: Known, note: Note): Place {
  if (isFloat(to)) {
    taken(a, note);
    const isWider = isFloat(from) && DTYPES[from as DType].bytes < DTYPES[to as DType].bytes;
    return exactly(isWider || from === to || from === "bool" ? a.at : result(op, a.at, note));
  }
  if (to === "bool") return exactly(from === "bool" ? a.at : comparison(op, "ne", a, KNOWN_ZERO, note));
  if (isFloat(from)) cutOff(a, note);
  const at = isFloat(from) ? truncated(a.at) : a.at;
  if (!isDType(to)) {
    taken(a, note);
    return exactly(at);
  }
  // What wrapped in 32 bits is not the same modulo 2⁶⁴.
  if (to === "i64" && !isFloat(from) && from !== "i64") {
    taken(a, note);
    return exactly(at);
  }
  // What is made 8 bits wide wraps in the proof, too.
  const isNarrow = DTYPES[to].bytes === 1;
  if (fits(at, to)) return { at, wraps: isNarrow ? null : a.wraps };
  if (isFloat(from)) note("overflow", to, op);
  return { at: allOf(to), wraps: isNarrow || isFloat(from) ? null : (a.wraps ?? op) };
}

function floatBinary(op: Op, fn: BinaryFunction, a: Known, b: Known, note: Note): Interval {
  switch (fn) {
    case "add":
      return result(op, sum(a.at, b.at), note);
    case "sub":
      return result(op, isSame(a, b) ? interval(0, 0) : sum(a.at, negative(b.at)), note);
    case "mul":
      return result(op, times(a, b), note);
    case "div":
      if (!isNeverZero(b.at)) note("divisor", scalarOf(op.results[0]!.type), op);
      return result(op, isSame(a, b) ? interval(1, 1) : quotient(a.at, b.at, SMALLEST_F32), note);
    case "min":
      return least(a.at, b.at);
    case "max":
      return greatest(a.at, b.at);
    case "rem":
      if (!isNeverZero(b.at)) note("divisor", scalarOf(op.results[0]!.type), op);
      return interval(Math.min(0, a.at.lo), Math.max(0, a.at.hi));
    case "pow":
      return power(op, a.at, b.at, note);
    default:
      return unknown(op, note);
  }
}

function wholeUnary(op: Op, fn: UnaryFunction, kind: ScalarKind, a: Known, note: Note): Place {
  if (kind === "bool") return exactly(interval(1 - a.at.hi, 1 - a.at.lo));
  if (fn === "neg") return whole(op, negative(a.at), a.wraps);
  taken(a, note);
  if (fn === "abs") return whole(op, magnitude(a.at), null);
  return exactly(fn === "relu" ? greatest(a.at, interval(0, 0)) : allOf(kind));
}

function wholeBinary(op: Op, fn: BinaryFunction, kind: DType, a: Known, b: Known, note: Note): Place {
  if (!WRAPPING.has(fn)) for (const x of [a, b]) taken(x, note);
  const wraps = a.wraps ?? b.wraps;
  const isDivision = fn === "div" || fn === "rem";
  if (isDivision && !isNeverZero(b.at)) note("divisor", kind, op);
  switch (fn) {
    case "add":
      return whole(op, sum(a.at, b.at), wraps);
    case "sub":
      return whole(op, isSame(a, b) ? interval(0, 0) : sum(a.at, negative(b.at)), wraps);
    case "mul":
      return whole(op, times(a, b), wraps);
    case "shl":
      return whole(
        op,
        product(
          a.at,
          rising(b.at, (x) => 2 ** x),
        ),
        wraps,
      );
    case "div":
      // The least number by -1 is none.
      return whole(op, truncated(quotient(a.at, b.at, 1)), null);
    case "min":
      return exactly(least(a.at, b.at));
    case "max":
      return exactly(greatest(a.at, b.at));
    case "rem":
      return exactly(overlap(allOf(kind), remainder(a.at, b.at)));
    case "and":
      return exactly(a.at.lo >= 0 && b.at.lo >= 0 ? interval(0, Math.min(a.at.hi, b.at.hi)) : allOf(kind));
    case "shr":
      return exactly(a.at.lo >= 0 ? interval(0, a.at.hi) : allOf(kind));
    default:
      return exactly(allOf(kind));
  }
}

/** Indices do not wrap; `/` of them rounds down, and `%` is never negative. */
function index(fn: BinaryFunction, a: Known, b: Known): Interval {
  switch (fn) {
    case "add":
      return sum(a.at, b.at);
    case "sub":
      return isSame(a, b) ? interval(0, 0) : sum(a.at, negative(b.at));
    case "mul":
      return times(a, b);
    case "min":
      return least(a.at, b.at);
    case "max":
      return greatest(a.at, b.at);
    case "div":
      return b.at.lo < 1 ? UNLIMITED : rising(quotient(a.at, b.at, 1), Math.floor);
    case "rem":
      if (b.at.lo < 1) return UNLIMITED;
      return a.at.lo < 0 ? interval(1 - b.at.hi, b.at.hi - 1) : remainder(a.at, b.at);
    default:
      return UNLIMITED;
  }
}

function remainder(a: Interval, b: Interval): Interval {
  const most = Math.max(0, Math.max(Math.abs(b.lo), Math.abs(b.hi)) - 1);
  return interval(a.lo < 0 ? Math.max(a.lo, -most) : 0, a.hi > 0 ? Math.min(a.hi, most) : 0);
}

function bools(fn: BinaryFunction, a: Interval, b: Interval): Interval {
  if (fn === "and" || fn === "min") return least(a, b);
  return fn === "or" || fn === "max" ? greatest(a, b) : interval(0, 1);
}

/** 1 where it always holds, 0 where it never does. */
function compared(fn: Comparison, a: Known, b: Known): Interval {
  const isOne = isSame(a, b);
  const [lo, hi] = isOne ? [0, 0] : [a.at.lo - b.at.hi, a.at.hi - b.at.lo];
  const [holds, fails] = {
    eq: [lo === 0 && hi === 0, lo > 0 || hi < 0],
    ne: [lo > 0 || hi < 0, lo === 0 && hi === 0],
    lt: [hi < 0, lo >= 0],
    ge: [lo >= 0, hi < 0],
    gt: [lo > 0, hi <= 0],
    le: [hi <= 0, lo > 0],
  }[fn] as [boolean, boolean];
  return holds ? interval(1, 1) : fails ? interval(0, 0) : interval(0, 1);
}

/** A sum of so many terms. */
export function total({ lo, hi }: Interval, fewest: number, most: number): Interval {
  const times = (n: number, x: number): number => (n === 0 || x === 0 ? 0 : n * x);
  return interval(lo >= 0 ? times(fewest, lo) : times(most, lo), hi >= 0 ? times(most, hi) : times(fewest, hi));
}

/** Factors that are multiplied one by one; of more nothing is known. */
const MOST_FACTORS = 64;

/** A product of so many factors. */
export function raised(x: Interval, fewest: number, most: number): Interval {
  if (Math.max(-x.lo, x.hi) <= 1) return x.lo >= 0 ? interval(0, 1) : interval(-1, 1);
  if (most > MOST_FACTORS) return UNLIMITED;
  let all = interval(1, 1);
  let result: Interval | null = fewest === 0 ? all : null;
  for (let k = 1; k <= most; k++) {
    all = product(all, x);
    if (k >= fewest) result = result === null ? all : hull(result, all);
  }
  return result!;
}
