/**
 * Equality of values for all data, by their residues. Every input element is a random member of three prime fields, and
 * sums, products and quotients are computed there. Two rational expressions of degree d that differ agree in all three
 * with a chance of at most (d / 2^25.5)^3, 2^-64 for a degree of 16 (Schwartz and Zippel, 1979 and
 * 1980), and a little more where coefficients are large: the primes are drawn at random, too, so that few of them divide one. Where the
 * chance is more than 2^-40, nothing is said. Those that are equal agree always, in whatever form they are written. Functions that are not rational are
 * members as if new and random for each distinct list of arguments: hashes of them, which agree for two lists with a
 * chance of 2^-76. Roundings are the identity: the claim is about the mathematics.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { foldCompare } from "../ir/functions.js";
import type { Comparison } from "../ir/ops.js";
import { type Accumulator, type Algebra, type Factors, fractionOf, type Number_, type Term } from "./algebra.js";
import { type DType, DTYPES, isDType, isNarrow, type ScalarKind } from "../types/dtype.js";
import { type ExtremeFunction, Extremum } from "./extremum.js";
import { NOTHING, Total } from "./field-sums.js";
import { Compared, fitsOf, isWrapped, type Quotient, Wrapped } from "./field-values.js";
import { chosen, type Size } from "./degrees.js";
import { type Fields, NO_PROGRAM, Residues, ZERO } from "./residues.js";
import { CannotTell } from "./results.js";

/** The largest finite numbers. */
const LARGEST_F8 = { f8e4m3: 448, f8e5m2: 57344 } as const;

/** As many divisors are remembered with their inverses. */
const INVERSES = 4096;

/** As many folds are remembered by their first two values. */
const FOLDS = 4096;

export class FieldAlgebra implements Algebra {
  /** By input, launch, rank + 1 and index. */
  private readonly leaves = new Map<string, Term[][][]>();
  private readonly constants = new Map<number, Residues>();
  private readonly tags = new Map<string, number>();
  private readonly inverses = new Array<readonly [of: Residues, is: Residues] | undefined>(INVERSES).fill(undefined);
  /** Quotients by a maximum, which may be known to be small. */
  private readonly quotients = new WeakMap<Term, Quotient>();
  private hasQuotients = false;
  /** Dtypes that something was rounded to that may lie beyond their largest number. */
  readonly overflows = new Set<DType>();
  /** How many leaves there are. */
  private count = 0;

  private readonly folds = new Array<Extremum | undefined>(FOLDS).fill(undefined);

  /** @param dtypes of the inputs */
  constructor(
    private readonly dtypes: ReadonlyMap<string, DType> = new Map(),
    readonly fields: Fields = NO_PROGRAM.plain,
  ) {}

  leaf(launch: number, buffer: string, rank: number, index: number): Term {
    return this.leavesOf(launch, buffer, rank)(index);
  }

  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Term {
    const row = this.row(launch, buffer, rank);
    const dtype = this.dtypes.get(buffer);
    return (index) => (row[index] ??= this.leafOf(this.fields.member(this.count++), dtype));
  }

  protected leafOf(member: Residues, dtype: DType | undefined): Term {
    return dtype !== undefined && isNarrow(dtype) ? new Wrapped(member, member, dtype) : member;
  }

  private row(launch: number, buffer: string, rank: number): Term[] {
    let launches = this.leaves.get(buffer);
    if (launches === undefined) this.leaves.set(buffer, (launches = []));
    return ((launches[launch] ??= [])[rank + 1] ??= []);
  }

  poison(buffer: string, rank: number, index: number): Residues {
    return this.fields.standIn(this.tag(`poison ${buffer}`), [new Residues(rank, index, 0)]);
  }

  /** Number of a function; those of `Extremum` are negative. */
  protected tag(fn: string): number {
    let tag = this.tags.get(fn);
    if (tag === undefined) this.tags.set(fn, (tag = this.tags.size));
    return tag;
  }

  /** The residues of a value. */
  of(x: Number_): Residues {
    if (x instanceof Residues) return x;
    if (x instanceof Extremum || x instanceof Compared || x instanceof Wrapped) return x.residues;
    if (typeof x !== "number") throw new InternalCompilerError("a value of another algebra");
    if (x === 0) return ZERO;
    let value = this.constants.get(x);
    if (value === undefined) this.constants.set(x, (value = this.constant(x)));
    return value;
  }

  private constant(x: number): Residues {
    const fraction = fractionOf(x);
    // What is no simple fraction, or as large as -1e30, may as well be any number.
    if (fraction === null || !Number.isSafeInteger(fraction[0])) {
      const value = this.fields.standIn(this.tag(`constant ${Math.fround(Math.abs(x))}`), []);
      return x > 0 ? value : this.fields.minus(ZERO, value);
    }
    return this.fields.residues(...fraction);
  }

  /** @throws CannotTell where values of a size may be equal by accident */
  private require(size: Size): void {
    if (this.fields.isWeak(size))
      throw new CannotTell(
        "it is found by random members of prime fields, and what is computed here has so high a degree, or so large coefficients, that two such expressions may agree there by accident, more often than once in 2⁴⁰ times",
      );
  }

  /** What is told apart from others from now on, by its residues alone. */
  told(x: Number_): Residues {
    const of = this.of(x);
    this.require(of.size);
    return of;
  }

  /** The difference of two values, of which it matters whether it is 0. */
  difference(a: Number_, b: Number_): Residues {
    const difference = this.fields.minus(this.of(a), this.of(b));
    this.require(difference.size);
    return difference;
  }

  add(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a + b;
    if (a === 0) return b;
    if (b === 0) return a;
    const sum = this.fields.plus(this.of(a), this.of(b));
    return isWrapped(a, b) ? new Wrapped(sum, this.fields.plus(this.unwrapped(a), this.unwrapped(b)), null) : sum;
  }

  sub(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (a === 0 && b instanceof Extremum) return b.times(this.of(-1), -1);
    const sum = this.fields.minus(this.of(a), this.of(b));
    return isWrapped(a, b) ? new Wrapped(sum, this.fields.minus(this.unwrapped(a), this.unwrapped(b)), null) : sum;
  }

  mul(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (a === 0 || b === 0) return 0;
    if (a === 1) return b;
    if (b === 1) return a;
    if (typeof a === "number" && b instanceof Extremum) return b.times(this.of(a), a);
    if (typeof b === "number" && a instanceof Extremum) return a.times(this.of(b), b);
    const product = this.fields.times(this.of(a), this.of(b));
    if (this.hasQuotients) this.noteProduct(product, a, b);
    return isWrapped(a, b)
      ? new Wrapped(product, this.fields.times(this.unwrapped(a), this.unwrapped(b)), null)
      : product;
  }

  div(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a / b;
    const y = this.told(b);
    // No member of the fields: neither 0 nor equal to anything else.
    if (y.equals(ZERO)) return this.apply("divided by zero", [a]);
    if (typeof b === "number" && a instanceof Extremum) return a.times(this.fields.inverse(y), 1 / b);
    const slot = y.p & (INVERSES - 1);
    let known = this.inverses[slot];
    if (known === undefined || !known[0].equals(y)) {
      known = [y, this.fields.inverse(y)];
      this.inverses[slot] = known;
    }
    const quotient = this.mul(a, known[1]);
    if (typeof quotient !== "number" && b instanceof Extremum && b.fn === "max") {
      this.quotients.set(quotient, { dividend: a, divisor: b, factor: typeof a === "number" ? a : 1 });
      this.hasQuotients = true;
    }
    return quotient;
  }

  /** By 1 / max is by max. */
  private noteProduct(product: Term, a: Number_, b: Number_): void {
    this.noteMultiple(product, a, b);
    this.noteMultiple(product, b, a);
  }

  private noteMultiple(product: Term, x: Number_, other: Number_): void {
    const known = typeof x === "number" ? undefined : this.quotients.get(x);
    if (known === undefined || typeof known.dividend !== "number") return;
    const dividend = this.fields.times(this.of(other), this.of(known.dividend));
    this.quotients.set(product, { ...known, dividend });
  }

  quotient(a: Number_, b: Number_): Number_ {
    return this.apply("quotient", [a, b]);
  }

  extreme(fn: ExtremeFunction, a: Number_, b: Number_): Number_ {
    const result = this.extremeOf(fn, a, b);
    if (result instanceof Extremum && a !== b) result.fits = fitsOf(a) === fitsOf(b) ? fitsOf(a) : null;
    return result;
  }

  private extremeOf(fn: ExtremeFunction, a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return fn === "min" ? Math.min(a, b) : Math.max(a, b);
    const neutral = fn === "min" ? Infinity : -Infinity;
    if (a === neutral) return b;
    if (b === neutral) return a;
    const x = a instanceof Extremum && a.fn === fn ? a : null;
    const y = b instanceof Extremum && b.fn === fn ? b : null;
    if (x !== null) return y === null ? x.with(this.told(b)) : x.join(y);
    if (y !== null) return y.with(this.told(a));
    const u = this.told(a);
    const v = this.told(b);
    if (u.equals(v)) return a;
    const slot = (u.p ^ (v.p << 1) ^ (fn === "min" ? 1 : 0)) & (FOLDS - 1);
    let begun = this.folds[slot];
    if (begun?.beginsWith(fn, u, v) !== true) this.folds[slot] = begun = Extremum.of(this.fields, fn, u, v);
    return begun;
  }

  get integers(): Algebra {
    return this;
  }

  /** Roundings between floats are the identity; what may be too large for an f8 is noted. */
  cast(from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
    if (to === "f8e4m3" || to === "f8e5m2") {
      if (!this.overflows.has(to) && !this.isAtMost(a, LARGEST_F8[to])) this.overflows.add(to);
      return a;
    }
    if (isDType(to) && DTYPES[to].kind === "float") return a;
    const isFraction = isDType(from) && DTYPES[from].kind === "float";
    const whole = isFraction ? this.apply("truncate", [a]) : a;
    if (!isNarrow(to)) return whole;
    if (whole instanceof Compared) return whole;
    if ((whole instanceof Wrapped || whole instanceof Extremum) && whole.fits === to) return whole;
    const unwrapped = this.unwrapped(whole);
    return new Wrapped(this.apply(`to ${to}`, [unwrapped]), unwrapped, to);
  }

  rounded(to: DType, x: number): number {
    this.cast("f32", to, x);
    return x;
  }

  /** Whether a value is a quotient that is no larger: some x by a maximum of which ±x · f are members, with 1 / f no larger. */
  private isAtMost(a: Number_, most: number): boolean {
    if (typeof a === "number") return Math.abs(a) <= most;
    const quotient = this.quotients.get(a);
    if (quotient === undefined) return false;
    const { dividend, divisor, factor } = quotient;
    return [1 / most, divisor.scale / factor].some((f) => {
      if (!(Math.abs(1 / f) <= most)) return false;
      const part = this.told(this.mul(dividend, f));
      return divisor.has(part) && divisor.has(this.fields.minus(ZERO, part));
    });
  }

  /** A value as if nothing had wrapped before: equal to it modulo 2⁸. */
  unwrapped(x: Number_): Residues {
    return x instanceof Wrapped ? x.unwrapped : this.of(x);
  }

  compare(fn: Comparison, a: Number_, b: Number_): Number_ {
    // Data are finite.
    const isInfinite = (x: Number_): boolean => typeof x === "number" && !Number.isFinite(x);
    if (isInfinite(a) || isInfinite(b)) {
      const [x, y] = [a, b].map((value) => (typeof value === "number" ? value : 0)) as [number, number];
      return foldCompare(fn, x, y) ? 1 : 0;
    }
    // What is 0 or 1 already, held against 0.
    if (a instanceof Compared && b === 0 && (fn === "ne" || fn === "eq"))
      return fn === "ne" ? a : new Compared(this, a.fn, a.a, a.b, !a.isNegated);
    switch (fn) {
      case "lt":
        return new Compared(this, "lt", a, b, false);
      case "gt":
        return new Compared(this, "lt", b, a, false);
      case "le":
        return new Compared(this, "lt", b, a, true);
      case "ge":
        return new Compared(this, "lt", a, b, true);
      default:
        return new Compared(this, "eq", a, b, fn === "ne");
    }
  }

  select(condition: Number_, a: Number_, b: Number_): Number_ {
    if (condition instanceof Compared && condition.fn === "lt") {
      const [x, y] = condition.isNegated ? [b, a] : [a, b];
      const extreme = this.chosenBySize(condition.a, condition.b, x, y);
      if (extreme !== null) return extreme;
    }
    const isInfinite = (x: Number_): boolean => typeof x === "number" && !Number.isFinite(x);
    if (isInfinite(a) || isInfinite(b)) return this.apply("select", [condition, a, b]);
    // A condition is 0 or 1: written as b + condition · (a - b), a choice is seen to pass through sums.
    const choice = this.add(b, this.mul(condition, this.sub(a, b)));
    if (!(choice instanceof Residues)) return choice;
    const { p, q, r } = choice;
    return new Residues(p, q, r, chosen(this.of(condition).size, this.of(a).size, this.of(b).size));
  }

  /** `x` if a < b, else `y`: where x - y is a positive multiple of b - a, the larger of them; of a negative one, the smaller. */
  private chosenBySize(a: Number_, b: Number_, x: Number_, y: Number_): Number_ | null {
    if (x === b && y === a) return this.extreme("max", a, b);
    if (x === a && y === b) return this.extreme("min", a, b);
    if ([x, y].some((value) => typeof value === "number" && !Number.isFinite(value))) return null;
    const compared = this.sub(b, a);
    const between = this.difference(x, y);
    for (const times of [1, 2, 0.5]) {
      const multiple = this.mul(compared, times);
      if (between.equals(this.of(multiple))) return this.extreme("max", x, y);
      if (between.equals(this.of(this.sub(0, multiple)))) return this.extreme("min", x, y);
    }
    return null;
  }

  apply(fn: string, args: readonly Number_[], commutes = false): Residues {
    if (args.length === 1) return this.fields.standIn(this.tag(fn), [this.told(args[0]!)]);
    if (args.length === 2) {
      const x = this.told(args[0]!);
      const y = this.told(args[1]!);
      return commutes && inOrder(x, y) > 0
        ? this.fields.standInOfTwo(this.tag(fn), y, x)
        : this.fields.standInOfTwo(this.tag(fn), x, y);
    }
    const of = args.map((a) => this.told(a));
    if (commutes) of.sort(inOrder);
    return this.fields.standIn(this.tag(fn), of);
  }

  accumulator(): Accumulator {
    return new Total(this);
  }

  factors(values: readonly Number_[]): Factors {
    const factors = new Array<Residues>(values.length);
    let isNothing = true;
    for (let i = 0; i < values.length; i++) {
      const x = this.of(values[i]!);
      factors[i] = x;
      if (x !== ZERO) isNothing = false;
    }
    return isNothing ? NOTHING : factors;
  }

  isSame(a: Number_, b: Number_): boolean {
    if (a === b) return true;
    const [x, y] = [this.of(a), this.of(b)];
    if (!x.equals(y)) return false;
    // What is equal in itself is so by no accident.
    if (x !== y) this.require(x.size.plus(y.size));
    return true;
  }
}

/** One order of residues, whatever they stand for. */
export function inOrder(x: Residues, y: Residues): number {
  return x.p - y.p || x.q - y.q || x.r - y.r;
}
