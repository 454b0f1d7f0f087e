/** Intervals hold what the machine computes, and keep the distance from 0 that its results keep. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
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
  rounded,
  SMALLEST_F32,
  square,
  sum,
  within,
} from "../../src/compiler/prove/intervals.js";

/** Numbers near the ends of f32, near 0, and between. */
const number = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc
    .constantFrom(0, 1, -1, 0.5, -3, 1e-30, -1e-30, 2 ** -140, SMALLEST_F32, -SMALLEST_F32, 1e38, -1e38)
    .map(Math.fround),
);

/** A value that is one of a few numbers. */
const value = fc.array(number, { minLength: 1, maxLength: 3 }).map((numbers) => ({
  number: numbers[0]!,
  at: numbers.map((x) => interval(x, x)).reduce(hull),
}));

const holds = ({ lo, hi, nearest }: Interval, x: number): boolean => lo <= x && x <= hi && Math.abs(x) >= nearest;

const rounding = (at: Interval): Interval => within(rounded(at, "f32"), "f32");

const RESULTS: readonly (readonly [
  string,
  (a: number, b: number) => number,
  (a: Interval, b: Interval) => Interval,
])[] = [
  ["a + b", (a, b) => Math.fround(a + b), (a, b) => rounding(sum(a, b))],
  ["a · b", (a, b) => Math.fround(a * b), (a, b) => rounding(product(a, b))],
  ["a / b", (a, b) => Math.fround(a / b), (a, b) => rounding(quotient(a, b, SMALLEST_F32))],
  ["a · a", (a) => Math.fround(a * a), (a) => rounding(square(a))],
  ["min", (a, b) => Math.min(a, b), least],
  ["max", (a, b) => Math.max(a, b), greatest],
  ["|a|", (a) => Math.abs(a), magnitude],
  ["-a", (a) => -a, negative],
  ["a, or b", (a) => a, hull],
];

describe("the interval", () => {
  it.each(RESULTS)("of %s holds each result that is a number", (_, compute, of) => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const result = compute(a.number, b.number);
        fc.pre(Number.isFinite(result));
        expect(holds(of(a.at, b.at), result), JSON.stringify([a, b, result])).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it("of what lies in two holds what lies in both", () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        fc.pre(holds(b.at, a.number));
        expect(holds(overlap(a.at, b.at), a.number)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it("keeps its distance from 0 through a choice of two signs, and loses it where a result may be rounded to 0", () => {
    const either = hull(interval(-3, -2), interval(1e-30, 1e-30));
    expect(isNeverZero(either)).toBe(true);
    expect(isNeverZero(rounding(product(either, interval(2, 2))))).toBe(true);
    expect(isNeverZero(rounding(product(either, interval(1e-30, 1))))).toBe(false);
    expect(overlap(interval(0, 9), interval(-Infinity, Infinity, 1)).lo).toBe(1);
  });
});
