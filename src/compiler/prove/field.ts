/**
 * Equality of values for all data, by their residues. Every input element is a random member of three prime fields, and
 * sums, products and quotients are computed there. Two rational expressions of degree d that differ agree in all three
 * with a chance of at most (d / 2^26)^3, so under 2^-70 for the degrees that kernels have (Schwartz and Zippel, 1979 and
 * 1980); those that are equal agree always, in whatever form they are written. Functions that are not rational are
 * members as if new and random for each distinct list of arguments: hashes of them, which agree for two lists with a
 * chance of 2^-78. Roundings are the identity: the claim is about the mathematics.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Accumulator, type Algebra, type Factors, fractionOf, type Number_ } from "./algebra.js";
import { type ExtremeFunction, Extremum } from "./extremum.js";
import { inverse, member, P, plus, Q, R, residue, Residues, rest, standIn, times, ZERO } from "./residues.js";

/** As many divisors are remembered with their inverses. */
const INVERSES = 4096;

export class FieldAlgebra implements Algebra {
  /** By input, launch, rank + 1 and index. */
  private readonly leaves = new Map<string, Residues[][][]>();
  private readonly constants = new Map<number, Residues>();
  private readonly tags = new Map<string, number>();
  private readonly inverses = new Array<readonly [of: Residues, is: Residues] | undefined>(INVERSES).fill(undefined);
  /** How many leaves there are. */
  private count = 0;

  leaf(launch: number, buffer: string, rank: number, index: number): Residues {
    return (this.row(launch, buffer, rank)[index] ??= member(this.count++));
  }

  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Residues {
    const row = this.row(launch, buffer, rank);
    return (index) => (row[index] ??= member(this.count++));
  }

  private row(launch: number, buffer: string, rank: number): Residues[] {
    let launches = this.leaves.get(buffer);
    if (launches === undefined) this.leaves.set(buffer, (launches = []));
    return ((launches[launch] ??= [])[rank + 1] ??= []);
  }

  poison(buffer: string, rank: number, index: number): Residues {
    return standIn(this.tag(`poison ${buffer}`), [new Residues(rank, index, 0)]);
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
    if (x instanceof Extremum) return x.residues;
    if (typeof x !== "number") throw new InternalCompilerError("a value of another algebra");
    if (x === 0) return ZERO;
    let value = this.constants.get(x);
    if (value === undefined) this.constants.set(x, (value = this.constant(x)));
    return value;
  }

  private constant(x: number): Residues {
    const fraction = fractionOf(x);
    if (fraction === null) {
      const value = standIn(this.tag(`constant ${Math.fround(Math.abs(x))}`), []);
      return x > 0 ? value : (this.sub(0, value) as Residues);
    }
    const of = (m: number): number => times(residue(fraction[0], m), inverse(residue(fraction[1], m), m), m);
    return new Residues(of(P), of(Q), of(R));
  }

  add(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a + b;
    if (a === 0) return b;
    if (b === 0) return a;
    const x = this.of(a);
    const y = this.of(b);
    return new Residues(plus(x.p, y.p, P), plus(x.q, y.q, Q), plus(x.r, y.r, R));
  }

  sub(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a - b;
    const x = this.of(a);
    const y = this.of(b);
    return new Residues(plus(x.p, P - y.p, P), plus(x.q, Q - y.q, Q), plus(x.r, R - y.r, R));
  }

  mul(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (a === 0 || b === 0) return 0;
    const x = this.of(a);
    const y = this.of(b);
    return new Residues(times(x.p, y.p, P), times(x.q, y.q, Q), times(x.r, y.r, R));
  }

  div(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a / b;
    const y = this.of(b);
    // No member of the fields: neither 0 nor equal to anything else.
    if (y.equals(ZERO)) return this.apply("divided by zero", [a]);
    const slot = y.p & (INVERSES - 1);
    let known = this.inverses[slot];
    if (known === undefined || !known[0].equals(y)) {
      known = [y, new Residues(inverse(y.p, P), inverse(y.q, Q), inverse(y.r, R))];
      this.inverses[slot] = known;
    }
    return this.mul(a, known[1]);
  }

  extreme(fn: ExtremeFunction, a: Number_, b: Number_): Number_ {
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
    return u.equals(v) ? a : Extremum.of(fn, u, v);
  }

  apply(fn: string, args: readonly Number_[], commutes = false): Residues {
    if (args.length === 1) return standIn(this.tag(fn), [this.of(args[0]!)]);
    const of = args.map((a) => this.of(a));
    if (commutes) of.sort((x, y) => x.p - y.p || x.q - y.q || x.r - y.r);
    return standIn(this.tag(fn), of);
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

/** As many products of 39 bits have an exact sum in a double. */
const MOST_PRODUCTS = 2 ** 14;

/** Factors of which each is 0, as those behind the edge of a tile are. */
const NOTHING: Factors = [];

class Total implements Accumulator {
  private p = 0;
  private q = 0;
  private r = 0;
  private isZero = true;

  constructor(private readonly algebra: FieldAlgebra) {}

  add(x: Number_, by = 1): void {
    if (x === 0 || by === 0) return;
    if (by !== 1) return this.addProduct(x, by);
    this.isZero = false;
    const { p, q, r } = this.algebra.of(x);
    this.p = plus(this.p, p, P);
    this.q = plus(this.q, q, Q);
    this.r = plus(this.r, r, R);
  }

  addProduct(a: Number_, b: Number_): void {
    if (a === 0 || b === 0) return;
    this.isZero = false;
    const x = this.algebra.of(a);
    const y = this.algebra.of(b);
    this.p = plus(this.p, times(x.p, y.p, P), P);
    this.q = plus(this.q, times(x.q, y.q, Q), Q);
    this.r = plus(this.r, times(x.r, y.r, R), R);
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
    this.p = whole(this.p, pl, ph, P);
    this.q = whole(this.q, ql, qh, Q);
    this.r = whole(this.r, rl, rh, R);
  }

  build(): Number_ {
    return this.isZero ? 0 : new Residues(this.p, this.q, this.r);
  }
}

/** total + low + 2^13 · high. */
const whole = (total: number, low: number, high: number, m: number): number =>
  rest(low + total + rest(high, m) * 0x2000, m);
