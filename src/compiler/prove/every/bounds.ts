/** Bounds of polynomials in what loops count, for all iterations at once; and quotients of polynomials that leave nothing. */
import {
  constant,
  factors,
  type Form,
  isAtLeastZero,
  isConstant,
  minus,
  ONE,
  parameter,
  plus,
  product,
  rangeOf,
  type Ranges,
  substituted,
  Undecided,
  withoutFactors,
  ZERO,
} from "./forms.js";
import { Unwinding } from "../../unwinding.js";

/** The box has no lengths. */
export class NoLengths extends Unwinding {}

/** What a loop counts from 0 on: each k has `times` · (k + 1) ≤ `limit`. */
export interface Counter {
  readonly name: string;
  readonly times: Form;
  readonly limit: Form;
  /** Whether the limit is known to be a multiple of `times`, where that is no number or not 1. */
  readonly isWhole?: boolean;
}

/** What a number of a row and of a place in it is called, after the loop that counts it. */
const [ROW, PLACE] = ["/", "%"];

/** What counts the rows, and what the places, of a number that a loop counts. */
export function digitsOf(name: string, rows: Form, row: Form): readonly [row: Counter, place: Counter] {
  return [
    { name: `${name}${ROW}`, times: ONE, limit: rows },
    { name: `${name}${PLACE}`, times: ONE, limit: row },
  ];
}

/** Whether it counts the rows of such a number. */
export function isRowCounter({ name }: Counter): boolean {
  return name.endsWith(ROW);
}

/**
 * The least, or the most, that a polynomial may be in all iterations, as one in what is outside of the loops; where there is no iteration it says nothing.
 * @param counters outer ones first: limits are over those before
 * @throws Cut, Undecided
 */
export function boundOf(f: Form, counters: readonly Counter[], most: boolean, ranges: Ranges): Form {
  let bound = f;
  for (let i = counters.length - 1; i >= 0; i--) {
    const { name, times, limit } = counters[i]!;
    const { slope, rest } = parted(bound, name);
    if (slope.size === 0) continue;
    const isUp = isNeverNegative(slope, counters.slice(0, i), ranges);
    if (isUp !== most) {
      bound = rest;
      continue;
    }
    const by = exactQuotient(slope, times);
    if (by === null) throw new Undecided();
    bound = plus(rest, product(by, minus(limit, times)));
  }
  return bound;
}

/** Whether a polynomial is 0 or more in all iterations, or 0 or less in all. @throws Cut, Undecided */
function isNeverNegative(f: Form, counters: readonly Counter[], ranges: Ranges): boolean {
  // Parameters and counters are not negative.
  if ([...f.values()].every((n) => n > 0)) return true;
  if ([...f.values()].every((n) => n < 0)) return false;
  if (isAtLeastZero(boundOf(f, counters, false, ranges), ranges)) return true;
  if (isAtLeastZero(minus(ZERO, boundOf(f, counters, true, ranges)), ranges)) return false;
  throw new Undecided();
}

/** A polynomial as `slope` times a parameter, plus what has no such. @throws Undecided where it has a square of it */
export function parted(f: Form, name: string): { readonly slope: Form; readonly rest: Form } {
  const slope = new Map<string, number>();
  const rest = new Map<string, number>();
  for (const [key, n] of f) {
    const all = factors(key);
    const at = all.indexOf(name);
    if (at < 0) rest.set(key, n);
    else {
      const others = [...all.slice(0, at), ...all.slice(at + 1)];
      if (others.includes(name)) throw new Undecided();
      slope.set(others.join("*"), n);
    }
  }
  return { slope, rest };
}

/** A polynomial over another, where that leaves nothing; else null. */
export function exactQuotient(f: Form, by: Form): Form | null {
  if (by.size === 0) return null;
  if (isConstant(by) || by.size === 1) {
    const [[divisor, n]] = by as unknown as readonly [readonly [string, number]];
    const whole = new Map<string, number>();
    for (const [key, m] of f) {
      const left = withoutFactors(key, divisor);
      if (left === null || m % n !== 0) return null;
      whole.set(left, m / n);
    }
    return whole;
  }
  const [divisor, n] = leading(by);
  let whole: Form = ZERO;
  let rest = f;
  while (rest.size > 0) {
    const [key, m] = leading(rest);
    const left = withoutFactors(key, divisor);
    if (left === null || m % n !== 0) return null;
    const term: Form = new Map([[left, m / n]]);
    whole = plus(whole, term);
    rest = minus(rest, product(term, by));
  }
  return whole;
}

/** The term of the most factors; of those, the first of an order that products keep. */
function leading(f: Form): readonly [string, number] {
  let best: readonly [string, number] | null = null;
  for (const term of f) if (best === null || isBefore(factors(term[0]), factors(best[0]))) best = term;
  return best!;
}

/** Factors are in order. */
function isBefore(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return a.length > b.length;
  const at = a.findIndex((name, i) => name !== b[i]);
  return at >= 0 && a[at]! < b[at]!;
}

/** Whether a polynomial is 0 or more, without a cut. */
export function isSurely(f: Form, ranges: Ranges): boolean {
  const lows = new Map<string, Form>();
  const left = new Map<string, { low: number; high: number }>();
  for (const key of f.keys())
    for (const name of factors(key)) {
      const range = ranges.get(name);
      if (range === undefined) return false;
      if (range.low > 0) lows.set(name, plus(parameter(name), constant(range.low)));
      left.set(name, { low: 0, high: range.high - range.low });
    }
  return rangeOf(substituted(f, lows), left).low >= 0;
}

/**
 * Whether a polynomial is 0 or more where others are. One of these, so many times, may leave nothing of a parameter; or one, times what a
 * parameter is taken in the first, and the first, times what it is taken in that.
 * @throws NoLengths where the others are not
 */
export function isAtLeastZeroWhere(f: Form, facts: readonly Form[], ranges: Ranges): boolean {
  if (isSurely(f, ranges) || facts.some((fact) => isSurely(minus(f, fact), ranges))) return true;
  for (const fact of facts)
    for (const name of new Set([...fact.keys()].flatMap((key) => [...factors(key)]))) {
      const [own, other] = [slopeOf(f, name), slopeOf(fact, name)];
      if (own === null || other === null) continue;
      const [less, by] = [minus(ZERO, own), minus(ZERO, other)];
      if (!isSurely(less, ranges) || !isSurely(minus(by, constant(1)), ranges)) continue;
      const times = exactQuotient(less, by);
      if (times !== null && isSurely(times, ranges) && isSurely(minus(f, product(times, fact)), ranges)) return true;
      if (isSurely(minus(product(f, by), product(less, fact)), ranges)) return true;
    }
  if (isAtLeastZero(f, ranges)) return true;
  if (!facts.every((fact) => isAtLeastZero(fact, ranges))) throw new NoLengths();
  return false;
}

/** How much a polynomial grows by with a parameter; null of one that has a square of it. */
export function slopeOf(f: Form, name: string): Form | null {
  try {
    return parted(f, name).slope;
  } catch (x) {
    if (x instanceof Undecided) return null;
    throw x;
  }
}
