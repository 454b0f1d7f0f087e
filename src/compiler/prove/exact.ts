/**
 * Symbolic values that can be read: equal terms are one object.
 *
 * Sums of products are kept multiplied out, as maps from products to how often they occur, so that addition and
 * multiplication are commutative, associative and distributive by construction, and a contribution that is missing or
 * counted twice is seen as a coefficient. `min` and `max` are sets. Everything else is a function of terms.
 * Roundings are the identity: the claim is about the mathematics, as the signature is.
 */

import type { Comparison } from "../ir/ops.js";
import { type DType, DTYPES, isDType, isNarrow, type ScalarKind } from "../types/dtype.js";
import { type Accumulator, type Algebra, type Factors, type Number_, type Term, tidy } from "./algebra.js";
import { CannotTell } from "./results.js";
import { Applied, Leaf, Poison, Product, Sum } from "./terms.js";
import { type RangeOf, WholeNumbers } from "./whole-numbers.js";

/** Past this many products, sums are not multiplied out: they stay factors, which is enough where both sides do so. */
const LARGEST_EXPANSION = 64;

/** Summands of all sums together; beyond, memory would run out. */
const LARGEST_TOTAL = 5_000_000;

/** Factors of one product; random members tell no longer ones apart (`Fields.isWeak`). */
const LONGEST_PRODUCT = 5000;

/** Thrown when memory would run out. */
export class TooLarge extends Error {}

/** A growing linear combination; sums over many terms are made with one of these instead of pairwise. */
class Combination implements Accumulator {
  private constant = 0;
  private readonly parts = new Map<Term, number>();

  constructor(private readonly algebra: ExactAlgebra) {}

  add(x: Number_, times = 1): void {
    if (typeof x === "number") this.constant += x * times;
    else if (x instanceof Sum) {
      this.constant += x.constant * times;
      for (let i = 0; i < x.terms.length; i++) this.bump(x.terms[i]!, x.coefficients[i]! * times);
    } else this.bump(x, times);
  }

  addProduct(a: Number_, b: Number_): void {
    this.add(this.algebra.mul(a, b));
  }

  addProducts(a: Factors, b: Factors): void {
    for (let k = 0; k < a.length; k++) this.addProduct(a[k]!, b[k]!);
  }

  private bump(t: Term, by: number): void {
    const now = (this.parts.get(t) ?? 0) + by;
    if (now === 0) this.parts.delete(t);
    else this.parts.set(t, now);
  }

  build(): Number_ {
    const terms = [...this.parts.keys()].sort((a, b) => a.id - b.id);
    return this.algebra.sum(
      this.constant,
      terms,
      terms.map((t) => this.parts.get(t)!),
    );
  }
}

/** Makes terms, each distinct one once. */
export class ExactAlgebra implements Algebra {
  private next = 1;
  private readonly table = new Map<string, Term>();
  /** Of each launch, buffer and rank by index: a text for each leaf took longer than all that is done with it. */
  private readonly leaves = new Map<string, Map<number, Leaf>>();
  private readonly pairs = new Map<string, Map<number, Number_>>();
  private total = 0;

  /**
   * @param dtypes of the inputs: what has one keeps its value in it
   * @param areEqual says of values of different forms whether they are equal for all data
   * @param rangeOf what elements of inputs may be, for what is known of quotients of whole numbers
   */
  constructor(
    private readonly dtypes: ReadonlyMap<string, DType> = new Map(),
    private readonly areEqual: (a: Number_, b: Number_) => boolean = () => false,
    rangeOf: RangeOf = () => null,
  ) {
    this.whole = new WholeNumbers(this, rangeOf);
  }

  private readonly whole: WholeNumbers;

  private intern<T extends Term>(key: string, make: (id: number) => T): T {
    let t = this.table.get(key);
    if (t === undefined) {
      t = make(this.next++);
      this.table.set(key, t);
    }
    return t as T;
  }

  leaf(launch: number, buffer: string, rank: number, index: number): Leaf {
    return this.leavesOf(launch, buffer, rank)(index);
  }

  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Leaf {
    const key = `${launch}:${buffer}:${rank}`;
    const leaves = this.leaves.get(key) ?? new Map<number, Leaf>();
    this.leaves.set(key, leaves);
    return (index) => {
      let leaf = leaves.get(index);
      if (leaf === undefined) leaves.set(index, (leaf = new Leaf(this.next++, launch, buffer, rank, index)));
      return leaf;
    };
  }

  poison(buffer: string, rank: number, index: number): Poison {
    return this.intern(`p${buffer}:${rank}:${index}`, (id) => new Poison(id, buffer, rank, index));
  }

  sum(constant: number, terms: readonly Term[], coefficients: readonly number[]): Number_ {
    if (terms.length === 0) return constant;
    if (constant === 0 && terms.length === 1 && coefficients[0] === 1) return terms[0]!;
    this.total += terms.length;
    if (this.total > LARGEST_TOTAL) throw new TooLarge();
    const tidied = coefficients.map(tidy);
    let key = `s${constant}`;
    for (let i = 0; i < terms.length; i++) key += `,${terms[i]!.id}*${tidied[i]!}`;
    return this.intern(key, (id) => new Sum(id, constant, terms, tidied));
  }

  apply(fn: string, given: readonly Number_[], commutes = false): Term {
    const args = commutes ? [...given].sort(inOrder) : given;
    const key = `f${fn}(${args.map((a) => (typeof a === "number" ? a : `#${a.id}`)).join(",")})`;
    return this.intern(key, (id) => new Applied(id, fn, args));
  }

  add(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a + b;
    return this.remembered("add", a, b, () => this.combine(a, 1, b, 1));
  }

  sub(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return this.combine(a, 1, b, -1);
  }

  private combine(a: Number_, times: number, b: Number_, otherTimes: number): Number_ {
    const c = new Combination(this);
    c.add(a, times);
    c.add(b, otherTimes);
    return c.build();
  }

  mul(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (a === 0 || b === 0) return 0;
    if (a === 1) return b;
    if (b === 1) return a;
    return this.remembered("mul", a, b, () => this.multiply(a, b));
  }

  private multiply(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" || typeof b === "number") {
      const [factor, term] = typeof a === "number" ? [a, b] : [b as number, a];
      return this.combine(term, factor, 0, 1);
    }
    const width = (t: Term): number => (t instanceof Sum ? t.terms.length + 1 : 1);
    if (width(a) * width(b) > LARGEST_EXPANSION) return this.product(a, b);
    if (!(a instanceof Sum) && !(b instanceof Sum)) return this.product(a, b);
    const c = new Combination(this);
    for (const [x, i] of partsOf(a)) for (const [y, j] of partsOf(b)) c.add(this.mul(x, y), i * j);
    return c.build();
  }

  private product(a: Term, b: Term): Term {
    const factors = [...(a instanceof Product ? a.factors : [a]), ...(b instanceof Product ? b.factors : [b])];
    if (factors.length > LONGEST_PRODUCT)
      throw new CannotTell(`a product of more than ${LONGEST_PRODUCT} factors is not looked through`);
    factors.sort((x, y) => x.id - y.id);
    return this.intern(`m${factors.map((f) => f.id).join("*")}`, (id) => new Product(id, factors));
  }

  div(a: Number_, b: Number_): Number_ {
    if (typeof b === "number") return this.mul(a, typeof a === "number" ? 1 / b : tidy(1 / b));
    return this.mul(a, this.apply("reciprocal", [b]));
  }

  quotient(a: Number_, b: Number_): Number_ {
    return this.whole.quotient(a, b) ?? this.apply("quotient", [a, b]);
  }

  readonly overflows = new Set<DType>();

  get integers(): Algebra {
    return this;
  }

  cast(from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
    const isFraction =
      isDType(from) && DTYPES[from].kind === "float" && (isDType(to) ? DTYPES[to].kind === "int" : true);
    const whole = isFraction ? (this.whole.truncated(a) ?? this.apply("truncate", [a])) : a;
    if (typeof whole === "number") return whole;
    if (!isNarrow(to) || (whole instanceof Leaf && this.dtypes.get(whole.buffer) === to)) return whole;
    return this.apply(`to ${to}`, [whole]);
  }

  compare(fn: Comparison, a: Number_, b: Number_): Number_ {
    return this.apply(fn, [a, b]);
  }

  select(condition: Number_, a: Number_, b: Number_): Number_ {
    if (condition instanceof Applied) {
      const [x, y] = condition.args;
      const isChosen = {
        gt: a === x && b === y,
        ge: a === x && b === y,
        lt: a === y && b === x,
        le: a === y && b === x,
      };
      const isOther = {
        lt: a === x && b === y,
        le: a === x && b === y,
        gt: a === y && b === x,
        ge: a === y && b === x,
      };
      if (isChosen[condition.fn as "gt"]) return this.extreme("max", a, b);
      if (isOther[condition.fn as "gt"]) return this.extreme("min", a, b);
    }
    return a === b ? a : this.apply("select", [condition, a, b]);
  }

  accumulator(): Accumulator {
    return new Combination(this);
  }

  factors(values: readonly Number_[]): Factors {
    return values;
  }

  isSame(a: Number_, b: Number_): boolean {
    return a === b || this.areEqual(a, b);
  }

  extreme(fn: "min" | "max", a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return fn === "min" ? Math.min(a, b) : Math.max(a, b);
    const neutral = fn === "min" ? Infinity : -Infinity;
    if (a === neutral) return b;
    if (b === neutral) return a;
    return this.remembered(fn, a, b, () => {
      const args = new Set<Number_>();
      for (const x of [a, b]) for (const y of x instanceof Applied && x.fn === fn ? x.args : [x]) args.add(y);
      const ordered = [...args].sort(inOrder);
      return ordered.length === 1 ? ordered[0]! : this.apply(fn, ordered);
    });
  }

  private remembered(fn: string, a: Number_, b: Number_, make: () => Number_): Number_ {
    if (typeof a === "number" || typeof b === "number") return make();
    let table = this.pairs.get(fn);
    if (table === undefined) this.pairs.set(fn, (table = new Map<number, Number_>()));
    const key = Math.min(a.id, b.id) * 2 ** 26 + Math.max(a.id, b.id);
    let result = table.get(key);
    if (result === undefined) table.set(key, (result = make()));
    return result;
  }
}

function inOrder(x: Number_, y: Number_): number {
  if (typeof x === "number") return typeof y === "number" ? x - y : -1;
  return typeof y === "number" ? 1 : x.id - y.id;
}

function partsOf(t: Term): (readonly [Number_, number])[] {
  if (!(t instanceof Sum)) return [[t, 1]];
  const parts: (readonly [Number_, number])[] = t.terms.map((x, i) => [x, t.coefficients[i]!] as const);
  if (t.constant !== 0) parts.push([t.constant, 1]);
  return parts;
}
