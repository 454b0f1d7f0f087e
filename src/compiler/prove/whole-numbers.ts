/**
 * Quotients without their fractions, of whole numbers: (16 · x + 3) / 16 is x where x is not negative, for 3 is too little to
 * count. What sums are made of, and where they lie, decides it.
 */
import { type Algebra, fractionOf, type Number_ } from "./algebra.js";
import { Applied, Leaf, partsOfTerm, Poison, Product, Sum } from "./terms.js";

/** What an element of an input may be: whole numbers from the first up to, but without, the second; null: any float. */
export type RangeOf = (leaf: Leaf) => readonly [number, number] | null;

type Limits = readonly [lo: number, hi: number];
const ANYTHING: Limits = [-Infinity, Infinity];

/** Functions whose value is a whole number, whatever they are given. */
const GIVES_WHOLE = new Set(["quotient", "truncate", "to i8", "to u8", "eq", "ne", "lt", "le", "gt", "ge"]);

/** Functions that give whole numbers of whole numbers. */
const KEEPS_WHOLE = new Set(["min", "max", "select", "and", "or", "xor", "rem"]);

const COMPARISONS = new Set(["eq", "ne", "lt", "le", "gt", "ge"]);

export class WholeNumbers {
  constructor(
    private readonly algebra: Pick<Algebra, "quotient" | "accumulator" | "mul">,
    private readonly rangeOf: RangeOf,
  ) {}

  private isWhole(x: Number_): boolean {
    if (typeof x === "number") return Number.isInteger(x);
    if (x instanceof Leaf) return this.rangeOf(x) !== null;
    if (x instanceof Sum)
      return [x.constant, ...x.coefficients].every((c) => Number.isInteger(c)) && x.terms.every((t) => this.isWhole(t));
    if (x instanceof Product) return x.factors.every((t) => this.isWhole(t));
    if (!(x instanceof Applied)) return false;
    if (GIVES_WHOLE.has(x.fn)) return true;
    const parts = partsOfTerm(x);
    return KEEPS_WHOLE.has(x.fn) && (x.fn === "select" ? parts.slice(1) : parts).every((t) => this.isWhole(t));
  }

  /** Numbers between which a value lies, both included. */
  private limits(x: Number_): Limits {
    if (typeof x === "number") return [x, x];
    if (x instanceof Leaf) {
      const range = this.rangeOf(x);
      return range === null ? ANYTHING : [range[0], Math.max(range[0], range[1] - 1)];
    }
    if (x instanceof Sum)
      return x.terms.reduce<Limits>(
        (all, t, i) => plus(all, times(this.limits(t), [x.coefficients[i]!, x.coefficients[i]!])),
        [x.constant, x.constant],
      );
    if (x instanceof Product) return x.factors.map((t) => this.limits(t)).reduce(times);
    if (x instanceof Poison || !(x instanceof Applied)) return ANYTHING;
    if (COMPARISONS.has(x.fn)) return [0, 1];
    const of = (all: readonly Number_[]): Limits[] => all.map((t) => this.limits(t));
    const [a = ANYTHING, b = ANYTHING, c = ANYTHING] = of(x.args);
    switch (x.fn) {
      case "min":
      case "max":
        return of(x.args).reduce((p, q) => [Math[x.fn as "min"](p[0], q[0]), Math[x.fn as "min"](p[1], q[1])]);
      case "select":
        return [Math.min(b[0], c[0]), Math.max(b[1], c[1])];
      case "truncate":
        return [Math.trunc(a[0]), Math.trunc(a[1])];
      case "quotient":
        // By at least 1: the end is nearer to 0 the larger the divisor, and stays infinite only where the dividend is.
        if (!(b[0] >= 1)) return ANYTHING;
        return [Math.trunc(a[0] / (a[0] < 0 ? b[0] : b[1])), Math.trunc(a[1] / (a[1] > 0 ? b[0] : b[1]))];
      case "to i8":
        return [-128, 127];
      case "to u8":
        return [0, 255];
      default:
        return ANYTHING;
    }
  }

  /** A value without its fraction; null where no rule says what that is. */
  truncated(x: Number_): Number_ | null {
    if (this.isWhole(x)) return x;
    if (!(x instanceof Sum) || !x.terms.every((t) => this.isWhole(t))) return null;
    // Fractions of whole numbers: the quotient of a whole number.
    const fractions = [x.constant, ...x.coefficients].map((c) => fractionOf(c));
    const bottom = fractions.reduce((all, f) => (f === null ? Infinity : leastCommon(all, f[1])), 1);
    if (!Number.isSafeInteger(bottom) || bottom > LARGEST_DENOMINATOR) return null;
    const top = this.algebra.accumulator();
    const scaled = fractions.map((f) => f![0] * (bottom / f![1]));
    top.add(scaled[0]!);
    x.terms.forEach((t, i) => top.add(t, scaled[i + 1]!));
    return this.algebra.quotient(top.build(), bottom);
  }

  /** A quotient without its fraction; null where no rule says what that is. */
  quotient(a: Number_, by: Number_): Number_ | null {
    if (typeof by !== "number" || !Number.isInteger(by) || by < 1) return null;
    if (by === 1) return a;
    const limits = this.limits(a);
    if (limits[0] > -by && limits[1] < by) return 0;
    // What is cut off twice is cut off once.
    if (a instanceof Applied && a.fn === "quotient" && typeof a.args[1] === "number" && a.args[1] > 0)
      return this.algebra.quotient(a.args[0]!, a.args[1] * by);
    if (!(a instanceof Sum) || !this.isWhole(a)) return null;
    const [multiples, rest] = [this.algebra.accumulator(), this.algebra.accumulator()];
    const over = Math.floor(a.constant / by);
    multiples.add(over);
    rest.add(a.constant - over * by);
    let hasMultiples = over !== 0;
    a.terms.forEach((t, i) => {
      const times = a.coefficients[i]!;
      if (times % by === 0) {
        multiples.add(t, times / by);
        hasMultiples = true;
      } else rest.add(t, times);
    });
    if (!hasMultiples) return null;
    const [whole, left] = [multiples.build(), rest.build()];
    if (left === 0) return whole;
    // Of numbers that are not negative, multiples of the divisor may be divided first.
    if (!(this.limits(whole)[0] >= 0 && this.limits(left)[0] >= 0)) return null;
    const sum = this.algebra.accumulator();
    sum.add(whole);
    sum.add(this.algebra.quotient(left, by));
    return sum.build();
  }
}

const LARGEST_DENOMINATOR = 2 ** 20;

const plus = (a: Limits, b: Limits): Limits => [a[0] + b[0], a[1] + b[1]];

function times(a: Limits, b: Limits): Limits {
  return hull([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]].map((x) => (Number.isNaN(x) ? 0 : x)));
}

function hull(ends: readonly number[]): Limits {
  return [Math.min(...ends), Math.max(...ends)];
}

function leastCommon(a: number, b: number): number {
  const greatest = (x: number, y: number): number => (y === 0 ? x : greatest(y, x % y));
  return (a / greatest(a, b)) * b;
}
