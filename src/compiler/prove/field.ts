/**
 * Equality of values for all data, by their residues. Every input element is a random member of three prime fields, and
 * sums, products and quotients are computed there. Two rational expressions of degree d that differ agree in all three
 * with a chance of at most (d / 2^26)^3, so under 2^-70 for the degrees that kernels have (Schwartz and Zippel, 1979 and
 * 1980); those that are equal agree always, in whatever form they are written. Functions that are not rational are new
 * random members for each distinct list of arguments. Roundings are the identity: the claim is about the mathematics.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Accumulator, type Algebra, fractionOf, type Number_, Term } from "./algebra.js";

/** The three largest primes below 2^26: products of residues are exact in a double, and residues are small integers. */
const [P, Q, R] = [67108859, 67108837, 67108819] as const;

/** A value's residues. */
class Residues extends Term {
  /** In words, once it has been asked for. */
  key: string | null = null;
  /** 1 / this, once it has been asked for. */
  inverse: Residues | null = null;

  constructor(
    readonly p: number,
    readonly q: number,
    readonly r: number,
  ) {
    super(0);
  }
}

/** A `min` or `max`; its residues are made when they are asked for, since a fold asks for those of the last alone. */
class Extremum extends Term {
  residues: Residues | null = null;

  constructor(readonly of: Extreme) {
    super(0);
  }
}

/**
 * The values that a `min` or `max` is of: the first `size` members of a set. A fold shares the set that it lets grow.
 * Sets are told apart by the sum of random numbers that stand for their members.
 */
interface Extreme {
  readonly fn: "min" | "max";
  readonly members: Map<string, { readonly place: number; readonly value: Number_; readonly stands: Residues }>;
  readonly size: number;
  readonly sum: Residues;
}

function nameOf({ fn, sum }: Extreme): string {
  return `${fn}{${sum.p}.${sum.q}.${sum.r}}`;
}

function times(a: number, b: number, m: number): number {
  const product = a * b;
  const rest = product - Math.floor(product / m) * m;
  return (rest < 0 ? rest + m : rest >= m ? rest - m : rest) | 0;
}

const plus = (a: number, b: number, m: number): number => {
  const s = (a + b) | 0;
  return s >= m ? (s - m) | 0 : s;
};

/** a^(m-2) = 1/a. */
function inverse(a: number, m: number): number {
  let [result, square] = [1, a];
  for (let e = m - 2; e > 0; e = Math.floor(e / 2)) {
    if (e % 2 === 1) result = times(result, square, m);
    square = times(square, square, m);
  }
  return result;
}

const residue = (x: number, m: number): number => (((x % m) + m) % m) | 0;

export class FieldAlgebra implements Algebra {
  /** By input, launch, rank + 1 and index. */
  private readonly leaves = new Map<string, Residues[][][]>();
  private readonly constants = new Map<number, Residues>();
  private readonly applied = new Map<string, Residues>();
  private state: number;

  /** @param seed of the random members; any will do */
  constructor(seed = 1) {
    this.state = seed;
  }

  private fresh(): Residues {
    return new Residues(this.random(P), this.random(Q), this.random(R));
  }

  /** From 1 to m - 1; SplitMix32. */
  private random(m: number): number {
    this.state = (this.state + 0x9e3779b9) | 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return 1 + (((z ^ (z >>> 15)) >>> 0) % (m - 1));
  }

  leaf(launch: number, buffer: string, rank: number, index: number): Residues {
    let launches = this.leaves.get(buffer);
    if (launches === undefined) this.leaves.set(buffer, (launches = []));
    const all = ((launches[launch] ??= [])[rank + 1] ??= []);
    return (all[index] ??= this.fresh());
  }

  poison(buffer: string, rank: number, index: number): Residues {
    return this.named(`poison:${buffer}:${rank}:${index}`);
  }

  private named(key: string): Residues {
    let value = this.applied.get(key);
    if (value === undefined) this.applied.set(key, (value = this.fresh()));
    return value;
  }

  /** The residues of a value. */
  private of(x: Number_): Residues {
    if (x instanceof Residues) return x;
    if (x instanceof Extremum) return (x.residues ??= this.named(nameOf(x.of)));
    if (typeof x !== "number") throw new InternalCompilerError("a value of another algebra");
    let value = this.constants.get(x);
    if (value === undefined) this.constants.set(x, (value = this.constant(x)));
    return value;
  }

  private constant(x: number): Residues {
    const fraction = fractionOf(x);
    if (fraction === null) {
      const value = this.named(`constant ${Math.fround(Math.abs(x))}`);
      return x > 0 ? value : (this.sub(0, value) as Residues);
    }
    const of = (m: number): number => times(residue(fraction[0], m), inverse(residue(fraction[1], m), m), m);
    return new Residues(of(P), of(Q), of(R));
  }

  add(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a + b;
    if (a === 0) return b;
    if (b === 0) return a;
    const [x, y] = [this.of(a), this.of(b)];
    return new Residues(plus(x.p, y.p, P), plus(x.q, y.q, Q), plus(x.r, y.r, R));
  }

  sub(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a - b;
    const [x, y] = [this.of(a), this.of(b)];
    return new Residues(plus(x.p, P - y.p, P), plus(x.q, Q - y.q, Q), plus(x.r, R - y.r, R));
  }

  mul(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (a === 0 || b === 0) return 0;
    const [x, y] = [this.of(a), this.of(b)];
    return new Residues(times(x.p, y.p, P), times(x.q, y.q, Q), times(x.r, y.r, R));
  }

  div(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a / b;
    const y = this.of(b);
    y.inverse ??= new Residues(inverse(y.p, P), inverse(y.q, Q), inverse(y.r, R));
    return this.mul(a, y.inverse);
  }

  extreme(fn: "min" | "max", a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return fn === "min" ? Math.min(a, b) : Math.max(a, b);
    const neutral = fn === "min" ? Infinity : -Infinity;
    if (a === neutral) return b;
    if (b === neutral) return a;
    const [x, y] = [this.setOf(fn, a), this.setOf(fn, b)];
    const [large, small] = x.size >= y.size ? [x, y] : [y, x];
    let joined = large;
    for (const [key, { place, value, stands }] of small.members)
      if (place < small.size) joined = this.withMember(joined, key, value, stands);
    if (joined === large && joined.size === 1) return joined.members.values().next().value!.value;
    return joined === x && a instanceof Extremum ? a : joined === y && b instanceof Extremum ? b : new Extremum(joined);
  }

  private setOf(fn: "min" | "max", x: Number_): Extreme {
    if (x instanceof Extremum && x.of.fn === fn) return x.of;
    const key = this.key(x);
    const stands = this.named(`member ${key}`);
    return { fn, members: new Map([[key, { place: 0, value: x, stands }]]), size: 1, sum: stands };
  }

  private withMember(set: Extreme, key: string, value: Number_, stands: Residues): Extreme {
    const { fn, size } = set;
    const known = set.members.get(key);
    if (known !== undefined && known.place < size) return set;
    // Another fold has let the set grow already.
    const members = set.members.size === size ? set.members : new Map([...set.members].slice(0, size));
    members.set(key, { place: size, value, stands });
    return { fn, members, size: size + 1, sum: this.add(set.sum, stands) as Residues };
  }

  private key(x: Number_): string {
    const residues = this.of(x);
    return (residues.key ??= `${residues.p}.${residues.q}.${residues.r}`);
  }

  apply(fn: string, args: readonly Number_[], commutes = false): Residues {
    const keys = args.map((a) => this.key(a));
    if (commutes) keys.sort();
    return this.named(`${fn}(${keys.join(",")})`);
  }

  accumulator(): Accumulator {
    return new Total(this);
  }

  isSame(a: Number_, b: Number_): boolean {
    if (a === b) return true;
    const [x, y] = [this.of(a), this.of(b)];
    return x.p === y.p && x.q === y.q && x.r === y.r;
  }

  /** For `Total`. */
  residuesOf(x: Number_): { readonly p: number; readonly q: number; readonly r: number } {
    return this.of(x);
  }
}

class Total implements Accumulator {
  private p = 0;
  private q = 0;
  private r = 0;
  private isZero = true;

  constructor(private readonly algebra: FieldAlgebra) {}

  add(x: Number_, by = 1): void {
    this.addProduct(x, by);
  }

  addProduct(a: Number_, b: Number_): void {
    if (a === 0 || b === 0) return;
    this.isZero = false;
    const [x, y] = [this.algebra.residuesOf(a), this.algebra.residuesOf(b)];
    this.p = plus(this.p, times(x.p, y.p, P), P);
    this.q = plus(this.q, times(x.q, y.q, Q), Q);
    this.r = plus(this.r, times(x.r, y.r, R), R);
  }

  build(): Number_ {
    return this.isZero ? 0 : new Residues(this.p, this.q, this.r);
  }
}
