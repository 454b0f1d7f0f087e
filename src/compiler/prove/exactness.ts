/**
 * Whether floats are still the numbers that they are in mathematics. Whole numbers are, up to 2²⁴ in f32 and up to 256 in bf16, and so are
 * their sums and products, and quotients by powers of 2: multiples of a grain, as long as there are few enough. Where a fraction is cut off what was
 * rounded before, the result may be another whole number, and a comparison of what was rounded may come out differently, which no bound on an
 * error covers.
 */
import { CUTS_FRACTIONS } from "../ir/functions.js";
import type { Op } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { type DType, DTYPES, isDType, isFloat, type ScalarKind } from "../types/dtype.js";
import { type Interval, smallestOf } from "./intervals.js";

export interface Exactness {
  /** A power of 2 of which every value is a multiple; 0 where none is known. */
  readonly grain: number;
  /** The operation that may have rounded a value; null while it is exact. */
  readonly inexact: Op | null;
  /** The narrowest float dtype whose numbers all values are known to be; null for any number of f32, and of integers. */
  readonly holds: DType | null;
}

/** A number of an input, or an integer. */
export const EXACT: Exactness = { grain: 0, inexact: null, holds: null };

/** The largest power of 2 that divides a number. */
export function grainOf(x: number): number {
  if (x === 0) return Infinity;
  if (!Number.isFinite(x)) return 0;
  let grain = 2 ** Math.max(-1022, Math.floor(Math.log2(Math.abs(x))));
  while (!Number.isInteger(x / grain)) grain /= 2;
  return grain;
}

const isWholeKind = (kind: ScalarKind): boolean =>
  kind === "index" || kind === "bool" || (isDType(kind) && DTYPES[kind].kind === "int");

/** Whether all multiples of a grain in an interval are numbers of a float dtype. */
function areNumbersOf(dtype: DType, { lo, hi }: Interval, grain: number): boolean {
  return grain >= smallestOf(dtype) && Math.max(-lo, hi) / grain <= 1 / DTYPES[dtype].epsilon;
}

/** What is known of a result of a float operation whose exact value is a multiple of `grain`. */
function rounded(op: Op, at: Interval, grain: number, before: Op | null): Exactness {
  const kind = scalarOf(op.results[0]!.type) as DType;
  const holds = op.name === "cast" ? kind : null;
  if (before !== null) return { grain: 0, inexact: before, holds };
  return areNumbersOf(kind, at, grain) ? { grain, inexact: null, holds } : { grain: 0, inexact: op, holds };
}

/**
 * Of what a unary, binary, compare, select or cast gives.
 * @param at where its result lies
 */
export function exactnessOf(
  op: Op,
  operands: readonly (Exactness & { readonly at: Interval })[],
  at: Interval,
): Exactness {
  const kind = scalarOf(op.results[0]!.type);
  if (!isFloat(kind)) return EXACT;
  const [a, b, c] = operands as [
    Exactness & { at: Interval },
    Exactness & { at: Interval },
    Exactness & { at: Interval },
  ];
  const fn = op.attributes["fn"];
  switch (op.name) {
    case "cast": {
      const from = scalarOf(op.operands[0]!.type);
      if (isWholeKind(from)) return rounded(op, at, 1, null);
      if (from === kind || DTYPES[from as DType].bytes < DTYPES[kind as DType].bytes)
        return { ...either(a, a), holds: a.holds ?? (from as DType) };
      return a.holds === kind ? either(a, a) : rounded(op, at, a.grain, a.inexact);
    }
    case "select":
      return either(b, c);
    case "unary":
      // A fraction less is a number of the same dtype.
      if (CUTS_FRACTIONS.has(fn as string))
        return { ...either(a, a), grain: a.inexact === null ? Math.max(1, a.grain) : 0 };
      return fn === "neg" || fn === "abs" || fn === "relu"
        ? either(a, a)
        : { grain: 0, inexact: a.inexact ?? op, holds: null };
    case "binary":
      break;
    default:
      return EXACT;
  }
  const before = a.inexact ?? b.inexact;
  switch (fn) {
    case "min":
    case "max":
      return either(a, b);
    case "add":
    case "sub":
      return rounded(op, at, Math.min(a.grain, b.grain), before);
    case "mul":
      return rounded(op, at, product(a.grain, b.grain), before);
    case "div": {
      const divisor = b.at.lo === b.at.hi ? Math.abs(b.at.lo) : 0;
      return rounded(op, at, grainOf(divisor) === divisor ? a.grain / divisor : 0, before);
    }
    default:
      return { grain: 0, inexact: before ?? op, holds: null };
  }
}

const product = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

/** One or the other. */
export function either(a: Exactness, b: Exactness): Exactness {
  return {
    grain: Math.min(a.grain, b.grain),
    inexact: a.inexact ?? b.inexact,
    holds: a.holds === b.holds ? a.holds : null,
  };
}

/** Of a sum whose terms have this exactness. */
export const ofSum = (op: Op, at: Interval, term: Exactness): Exactness => rounded(op, at, term.grain, term.inexact);
