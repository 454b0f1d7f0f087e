/**
 * Which values are the greatest of which: what a maximum is taken off is at most 0, its exponential at most 1, and a sum of those
 * over all that the maximum is of at least 1. So shifted exponentials neither overflow nor add up to 0.
 *
 * A value is followed where it is an element of an input, or the greatest of elements along loops: by the numbers of its indices, with
 * the ends of the loops where it is a maximum.
 */
import type { Op } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { isFloat } from "../types/dtype.js";
import type { Known } from "./interval-arithmetic.js";

/** An index: the number of its value, or all from one to the other, by the numbers of the ends. */
export type Position = number | Within;

/** The greatest of the elements at some positions; an element where each position is one index. */
export interface Greatest {
  readonly buffer: string;
  /** Of the rank, then of each dimension. */
  readonly positions: readonly Position[];
}

/** An index whose loop is known. */
export interface Within {
  readonly from: Known;
  /** Without it. */
  readonly to: Known;
}

/** A value that is at least `least` for some values of the variables that are left. */
export interface Peak {
  readonly least: number;
  /** By the numbers of variables, the ranges in which such a value lies. */
  readonly left: ReadonlyMap<number, Within>;
}

const isSameRange = (a: Within, b: Within): boolean => isSameEnd(a.from, b.from) && isSameEnd(a.to, b.to);

function isSameEnd(a: Known, b: Known): boolean {
  return (
    (a.number >= 0 && a.number === b.number) || (a.at.lo === a.at.hi && b.at.lo === b.at.hi && a.at.lo === b.at.lo)
  );
}

/** Whether an index lies in a range, for certain. */
function isInside(index: Known, range: Within): boolean {
  if (index.within !== undefined && isSameRange(index.within, range)) return true;
  return index.at.lo >= range.from.at.hi && index.at.hi <= range.to.at.lo - 1;
}

/** The number of no variable. */
const NEVER = -2;

/** The variables for some value of which the two are equal, where all of `value` are among what `greatest` is of; else null. */
function inside(
  value: Greatest,
  greatest: Greatest,
  known: (number: number) => Known | undefined,
): Map<number, Within> | null {
  if (value.buffer !== greatest.buffer) return null;
  const left = new Map<number, Within>();
  for (const [d, wanted] of greatest.positions.entries()) {
    const has = value.positions[d]!;
    if (typeof wanted === "number") {
      if (has !== wanted) return null;
    } else if (typeof has !== "number") {
      if (!isSameRange(has, wanted)) return null;
    } else {
      const index = known(has);
      if (index === undefined || !isInside(index, wanted)) return null;
      // Of one variable in two places, not all pairs are met.
      left.set(left.has(has) ? NEVER : has, wanted);
    }
  }
  return left;
}

/** The variables for some value of which a is b, where a is never greater than b; null where that is not known. */
export function belowGreatest(
  a: Known,
  b: Known,
  known: (number: number) => Known | undefined,
): Map<number, Within> | null {
  const { greatest } = a;
  if (greatest === undefined) return null;
  const equal = b.greatest === undefined ? null : inside(greatest, b.greatest, known);
  if (equal !== null) return equal;
  const isBelow = b.above?.some((more) => inside(greatest, more, known) !== null) ?? false;
  return isBelow ? new Map([[NEVER, { from: a, to: a }]]) : null;
}

/** What a value is no less than: the greatest that it is, or is known to lie above. */
export const greatestBelow = (x: Known): readonly Greatest[] => [
  ...(x.greatest === undefined ? [] : [x.greatest]),
  ...(x.above ?? []),
];

/** The greatest of a value's own for all values of a variable. */
export function overAll(value: Greatest | undefined, variable: number, range: Within): Greatest | undefined {
  if (value === undefined) return undefined;
  const count = value.positions.filter((p) => p === variable).length;
  if (count !== 1) return undefined;
  return { ...value, positions: value.positions.map((p) => (p === variable ? range : p)) };
}

/** What is left of a peak in a sum over a variable: at least one of its terms is that large, and none is negative. */
export function summed(peak: Peak | undefined, variable: number, range: Within): Peak | undefined {
  if (peak === undefined) return undefined;
  const own = peak.left.get(variable);
  if (own === undefined || !isSameRange(own, range)) return undefined;
  const left = new Map(peak.left);
  left.delete(variable);
  return { ...peak, left };
}

/** A cast to a wider float is the same number. */
export function sameAs(op: Op, a: Known): Pick<Known, "greatest"> {
  if (op.name !== "cast") return {};
  const [from, to] = [scalarOf(op.operands[0]!.type), scalarOf(op.results[0]!.type)];
  return isFloat(from) && to === "f32" ? { greatest: a.greatest } : {};
}

/** A maximum is not less than its members, and a sum than a member whose other one is not negative. */
export function aboveOf(op: Op, a: Known, b: Known): Pick<Known, "above"> {
  if (op.name !== "binary" || !isFloat(scalarOf(op.results[0]!.type))) return {};
  if (op.attributes["fn"] === "max") return { above: [...greatestBelow(a), ...greatestBelow(b)] };
  if (op.attributes["fn"] !== "add") return {};
  return { above: [...(b.at.lo >= 0 ? greatestBelow(a) : []), ...(a.at.lo >= 0 ? greatestBelow(b) : [])] };
}
