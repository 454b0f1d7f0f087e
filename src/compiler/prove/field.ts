/**
 * Equality of values for all data, by their residues. Every input element is a random member of three prime fields, and
 * sums, products and quotients are computed there. Two rational expressions of degree d that differ agree in all three
 * with a chance of at most (d / 2^26)^3, 2^-66 for a degree of 16 (Schwartz and Zippel, 1979 and
 * 1980); those that are equal agree always, in whatever form they are written. Functions that are not rational are
 * members as if new and random for each distinct list of arguments: hashes of them, which agree for two lists with a
 * chance of 2^-78. Roundings are the identity: the claim is about the mathematics.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { foldCompare } from "../ir/functions.js";
import type { Comparison } from "../ir/ops.js";
import { type Accumulator, type Algebra, type Factors, fractionOf, type Number_, type Term } from "./algebra.js";
import { type DType, DTYPES, isDType, isNarrow, type ScalarKind } from "../types/dtype.js";
import { type ExtremeFunction, Extremum } from "./extremum.js";
import { type Fields, inverse, plus, residue, Residues, rest, times, VALUES, ZERO } from "./residues.js";

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
  private readonly quotients = new WeakMap<Term, { readonly dividend: Number_; readonly divisor: Extremum }>();
  /** Dtypes that something was rounded to that may lie beyond their largest number. */
  readonly overflows = new Set<DType>();
  /** How many leaves there are. */
  private count = 0;

  private readonly folds = new Array<{ a: Residues; b: Residues; is: Extremum } | undefined>(FOLDS).fill(undefined);

  /** @param dtypes of the inputs */
  constructor(
    private readonly dtypes: ReadonlyMap<string, DType> = new Map(),
    readonly fields: Fields = VALUES,
  ) {}

  leaf(launch: number, buffer: string, rank: number, index: number): Term {
    return this.leavesOf(launch, buffer, rank)(index);
  }

  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Term {
    const row = this.row(launch, buffer, rank);
    const dtype = this.dtypes.get(buffer);
    const make = (): Term => {
      const member = this.fields.member(this.count++);
      return dtype !== undefined && isNarrow(dtype) ? new Wrapped(member, member, dtype) : member;
    };
    return (index) => (row[index] ??= make());
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
  private tag(fn: string): number {
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
    if (fraction === null) {
      const value = this.fields.standIn(this.tag(`constant ${Math.fround(Math.abs(x))}`), []);
      return x > 0 ? value : this.fields.minus(ZERO, value);
    }
    const of = (m: number): number => times(residue(fraction[0], m), inverse(residue(fraction[1], m), m), m);
    const { p, q, r } = this.fields;
    return new Residues(of(p), of(q), of(r));
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
    if (a === 0 && b instanceof Extremum) return b.times(this.of(-1), true);
    const sum = this.fields.minus(this.of(a), this.of(b));
    return isWrapped(a, b) ? new Wrapped(sum, this.fields.minus(this.unwrapped(a), this.unwrapped(b)), null) : sum;
  }

  mul(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (a === 0 || b === 0) return 0;
    if (a === 1) return b;
    if (b === 1) return a;
    if (typeof a === "number" && b instanceof Extremum) return b.times(this.of(a), a < 0);
    if (typeof b === "number" && a instanceof Extremum) return a.times(this.of(b), b < 0);
    const product = this.fields.times(this.of(a), this.of(b));
    return isWrapped(a, b)
      ? new Wrapped(product, this.fields.times(this.unwrapped(a), this.unwrapped(b)), null)
      : product;
  }

  div(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a / b;
    const y = this.of(b);
    // No member of the fields: neither 0 nor equal to anything else.
    if (y.equals(ZERO)) return this.apply("divided by zero", [a]);
    if (typeof b === "number" && a instanceof Extremum) return a.times(this.fields.inverse(y), b < 0);
    const slot = y.p & (INVERSES - 1);
    let known = this.inverses[slot];
    if (known === undefined || !known[0].equals(y)) {
      known = [y, this.fields.inverse(y)];
      this.inverses[slot] = known;
    }
    const quotient = this.mul(a, known[1]);
    if (typeof quotient !== "number" && b instanceof Extremum && b.fn === "max")
      this.quotients.set(quotient, { dividend: a, divisor: b });
    return quotient;
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
    if (x !== null) return y === null ? x.with(this.of(b)) : x.join(y);
    if (y !== null) return y.with(this.of(a));
    const u = this.of(a);
    const v = this.of(b);
    if (u.equals(v)) return a;
    const slot = (u.p ^ (v.p << 1) ^ (fn === "min" ? 1 : 0)) & (FOLDS - 1);
    let begun = this.folds[slot];
    if (begun === undefined || begun.is.fn !== fn || begun.a !== u || begun.b !== v)
      this.folds[slot] = begun = { a: u, b: v, is: Extremum.of(this.fields, fn, u, v) };
    return begun.is;
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

  /** Whether a value is a quotient that is no larger: some x by a maximum of which ±x / most are members. */
  private isAtMost(a: Number_, most: number): boolean {
    if (typeof a === "number") return Math.abs(a) <= most;
    const quotient = this.quotients.get(a);
    if (quotient === undefined) return false;
    const part = this.of(this.div(quotient.dividend, most));
    return quotient.divisor.has(part) && quotient.divisor.has(this.fields.minus(ZERO, part));
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
    return this.add(b, this.mul(condition, this.sub(a, b)));
  }

  /** `x` if a < b, else `y`: where x - y is a positive multiple of b - a, the larger of them; of a negative one, the smaller. */
  private chosenBySize(a: Number_, b: Number_, x: Number_, y: Number_): Number_ | null {
    if (x === b && y === a) return this.extreme("max", a, b);
    if (x === a && y === b) return this.extreme("min", a, b);
    if ([x, y].some((value) => typeof value === "number" && !Number.isFinite(value))) return null;
    const compared = this.sub(b, a);
    const chosen = this.of(this.sub(x, y));
    for (const times of [1, 2, 0.5]) {
      const multiple = this.mul(compared, times);
      if (chosen.equals(this.of(multiple))) return this.extreme("max", x, y);
      if (chosen.equals(this.of(this.sub(0, multiple)))) return this.extreme("min", x, y);
    }
    return null;
  }

  apply(fn: string, args: readonly Number_[], commutes = false): Residues {
    if (args.length === 1) return this.fields.standIn(this.tag(fn), [this.of(args[0]!)]);
    const of = args.map((a) => this.of(a));
    if (commutes) of.sort((x, y) => x.p - y.p || x.q - y.q || x.r - y.r);
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
    return a === b || this.of(a).equals(this.of(b));
  }
}

/** A whole number that was made 8 bits wide, or something computed from one. */
class Wrapped implements Term {
  constructor(
    readonly residues: Residues,
    /** Equal modulo 2⁸, since wrapping keeps sums and products. */
    readonly unwrapped: Residues,
    /** The dtype that it has. */
    readonly fits: "i8" | "u8" | null,
  ) {}

  get id(): number {
    return 0;
  }
}

const isWrapped = (a: Number_, b: Number_): boolean => a instanceof Wrapped || b instanceof Wrapped;

const fitsOf = (x: Number_): "i8" | "u8" | null => (x instanceof Wrapped || x instanceof Extremum ? x.fits : null);

/** Whether a < b, or a = b; or whether not. */
class Compared implements Term {
  private known: Residues | null = null;

  constructor(
    private readonly algebra: FieldAlgebra,
    readonly fn: "lt" | "eq",
    readonly a: Number_,
    readonly b: Number_,
    readonly isNegated: boolean,
  ) {}

  get id(): number {
    return 0;
  }

  /** Depends on the difference alone; made when it is asked for, since a choice by size never does. */
  get residues(): Residues {
    return (this.known ??= this.find());
  }

  private find(): Residues {
    const { algebra, fn, isNegated } = this;
    const { fields } = algebra;
    let difference = fields.minus(algebra.of(this.b), algebra.of(this.a));
    const holds = difference.equals(ZERO) ? fields.residues(fn === "eq" ? 1 : 0) : null;
    if (fn === "eq" && 2 * difference.p > fields.p) difference = fields.minus(ZERO, difference);
    const value = holds ?? algebra.apply(fn, [difference]);
    return isNegated ? fields.minus(fields.residues(1), value) : value;
  }
}

/** As many products of 39 bits have an exact sum in a double. */
const MOST_PRODUCTS = 2 ** 14;

/** Factors of which each is 0, as those behind the edge of a tile are. */
const NOTHING: Factors = [];

class Total implements Accumulator {
  private p = 0;
  private q = 0;
  private r = 0;
  private isZero = true;
  /** The same sum of what had not wrapped; null while nothing had. */
  private unwrapped: Total | null = null;
  private readonly fields: Fields;

  constructor(private readonly algebra: FieldAlgebra) {
    this.fields = algebra.fields;
  }

  add(x: Number_, by = 1): void {
    if (x === 0 || by === 0) return;
    if (by !== 1) return this.addProduct(x, by);
    this.isZero = false;
    this.noteWrapped(x, x)?.add(this.algebra.unwrapped(x));
    const { p, q, r } = this.algebra.of(x);
    this.p = plus(this.p, p, this.fields.p);
    this.q = plus(this.q, q, this.fields.q);
    this.r = plus(this.r, r, this.fields.r);
  }

  addProduct(a: Number_, b: Number_): void {
    if (a === 0 || b === 0) return;
    this.isZero = false;
    this.noteWrapped(a, b)?.addProduct(this.algebra.unwrapped(a), this.algebra.unwrapped(b));
    const x = this.algebra.of(a);
    const y = this.algebra.of(b);
    this.p = plus(this.p, times(x.p, y.p, this.fields.p), this.fields.p);
    this.q = plus(this.q, times(x.q, y.q, this.fields.q), this.fields.q);
    this.r = plus(this.r, times(x.r, y.r, this.fields.r), this.fields.r);
  }

  addProducts(a: Factors, b: Factors): void {
    if (a === NOTHING || b === NOTHING) return;
    for (let k = 0; k < a.length; k += MOST_PRODUCTS)
      this.addSome(a as readonly Residues[], b as readonly Residues[], k, Math.min(a.length, k + MOST_PRODUCTS));
  }

  /** The second factors are cut into halves of 13 bits, so that only sums have to be reduced. */
  private addSome(a: readonly Residues[], b: readonly Residues[], from: number, to: number): void {
    let pl = 0;
    let ph = 0;
    let ql = 0;
    let qh = 0;
    let rl = 0;
    let rh = 0;
    for (let k = from; k < to; k++) {
      const x = a[k]!;
      const y = b[k]!;
      if (x === ZERO || y === ZERO) continue;
      this.isZero = false;
      pl += x.p * (y.p & 0x1fff);
      ph += x.p * (y.p >>> 13);
      ql += x.q * (y.q & 0x1fff);
      qh += x.q * (y.q >>> 13);
      rl += x.r * (y.r & 0x1fff);
      rh += x.r * (y.r >>> 13);
    }
    this.p = whole(this.p, pl, ph, this.fields.p);
    this.q = whole(this.q, ql, qh, this.fields.q);
    this.r = whole(this.r, rl, rh, this.fields.r);
  }

  /** Where what is unwrapped goes, from the first that had wrapped on. */
  private noteWrapped(a: Number_, b: Number_): Total | null {
    if (this.unwrapped === null && isWrapped(a, b)) {
      this.unwrapped = new Total(this.algebra);
      this.unwrapped.add(new Residues(this.p, this.q, this.r));
    }
    return this.unwrapped;
  }

  build(): Number_ {
    const sum = new Residues(this.p, this.q, this.r);
    if (this.unwrapped !== null) return new Wrapped(sum, this.algebra.of(this.unwrapped.build()), null);
    return this.isZero ? 0 : sum;
  }
}

/** total + low + 2^13 · high. */
const whole = (total: number, low: number, high: number, m: number): number =>
  rest(low + total + rest(high, m) * 0x2000, m);
