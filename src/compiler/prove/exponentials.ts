/**
 * Values that know what exponentials do: exp(a + b) = exp(a) · exp(b), log(exp(a)) = a, and what follows from them, such as
 * that a softmax may be shifted.
 *
 * Each value stands in two places at once. In the first it is a member of the fields of p = 2p' + 1, in the second of those of
 * p', and inputs are random in both, independently: as x and exp(x) are, between which no equation holds but those above.
 * The exponential of a value is, in the first place, a base to the power of what it is in the second. The base stands for e: it is a random square, of which
 * all but 1 have the order p', so that no number of a program is a power of it but by chance. The
 * logarithm of something positive is, in the second place, the exponent of the base that gives its square, halved. Of something that
 * may be negative it is more by what stands for its sign, which powers of a square leave as it is: log(exp(a) · b) = a + log(b), and
 * log(-b) is another value. Both keep every law of theirs exactly; where they have no value of their own, they are functions like any other. So values that are
 * equal in either place are equal for all data, but for a chance as small as that of residues alone.
 *
 * The exponential or logarithm of a known number has its laws with what stands for data, and is the number that it is where it has no value of its own.
 */
import type { Accumulator, Algebra, Factors, Number_, Term } from "./algebra.js";
import { foldCompare } from "../ir/functions.js";
import type { Comparison } from "../ir/ops.js";
import { type DType, DTYPES, isDType, type ScalarKind } from "../types/dtype.js";
import { FieldAlgebra } from "./field.js";
import { times } from "./modular.js";
import { type Fields, NO_PROGRAM, type Places, Residues } from "./residues.js";
import { castOf } from "./values.js";

/** A value in both places. */
class Dual implements Term {
  constructor(
    readonly value: Number_,
    readonly exponent: Number_,
    /** Whether it is known to be greater than 0. */
    readonly isPositive: boolean,
    /**
     * Its exponential, where that is known to be more than a power of the base: of the logarithm of a value it is the value, while
     * a power of the base is that or its negative.
     */
    readonly exponential: Residues | null = null,
  ) {}

  get id(): number {
    return 0;
  }
}

const valueOf = (x: Number_): Number_ => (x instanceof Dual ? x.value : x);
const exponentOf = (x: Number_): Number_ => (x instanceof Dual ? x.exponent : x);
const isPositive = (x: Number_): boolean => (x instanceof Dual ? x.isPositive : (x as number) > 0);

const exponentialOf = (x: Number_): Residues | null => (x instanceof Dual ? x.exponential : null);

/** The number that a value is known to be: in the place where the exponential or the logarithm of a number is that number. */
function knownOf(x: Number_): Number_ {
  if (!(x instanceof Dual)) return x;
  if (typeof x.value === "number") return x.value;
  return typeof x.exponent === "number" ? x.exponent : x;
}

const dual = (value: Number_, exponent: Number_, positive: boolean, exponential: Residues | null = null): Number_ =>
  typeof value === "number" && typeof exponent === "number" ? value : new Dual(value, exponent, positive, exponential);

/** Factors in both places. */
class DualFactors extends Array<Number_> {
  inValues: Factors = [];
  inExponents: Factors = [];
  arePositive = true;
}

export class ExponentialAlgebra implements Algebra {
  readonly values: FieldAlgebra;
  readonly exponents: FieldAlgebra;
  /** Of the first place. */
  private readonly fields: Fields;
  /** What stands for e there. */
  private readonly base: Residues;

  /**
   * @param dtypes of the inputs
   * @param arePositive says of an input whether its elements are greater than 0
   */
  constructor(
    dtypes: ReadonlyMap<string, DType>,
    places: Places = NO_PROGRAM,
    private readonly arePositive: (buffer: string) => boolean = () => false,
  ) {
    this.fields = places.values;
    this.base = baseIn(this.fields);
    this.values = new FieldAlgebra(dtypes, places.values);
    this.exponents = new FieldAlgebra(dtypes, places.exponents);
  }

  leaf(launch: number, buffer: string, rank: number, index: number): Dual {
    const [value, exponent] = [this.values, this.exponents].map((a) => a.leaf(launch, buffer, rank, index));
    return new Dual(value!, exponent!, this.arePositive(buffer));
  }

  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Dual {
    const value = this.values.leavesOf(launch, buffer, rank);
    const exponent = this.exponents.leavesOf(launch, buffer, rank);
    const known: Dual[] = [];
    const positive = this.arePositive(buffer);
    return (index) => (known[index] ??= new Dual(value(index), exponent(index), positive));
  }

  poison(buffer: string, rank: number, index: number): Dual {
    const [value, exponent] = [this.values, this.exponents].map((a) => a.poison(buffer, rank, index));
    return new Dual(value!, exponent!, false);
  }

  private both(of: (a: FieldAlgebra, place: (x: Number_) => Number_) => Number_, positive: boolean): Number_ {
    return dual(of(this.values, valueOf), of(this.exponents, exponentOf), positive);
  }

  add(a: Number_, b: Number_): Number_ {
    if (a === 0) return b;
    if (b === 0) return a;
    const exponential = this.hasExponential(a, b) ? this.fields.times(this.power(a), this.power(b)) : null;
    return dual(
      this.values.add(valueOf(a), valueOf(b)),
      this.exponents.add(exponentOf(a), exponentOf(b)),
      isPositive(a) && isPositive(b),
      exponential,
    );
  }

  sub(a: Number_, b: Number_): Number_ {
    if (b === 0) return a;
    const exponential = this.hasExponential(a, b)
      ? this.fields.times(this.power(a), this.fields.inverse(this.power(b)))
      : null;
    return dual(
      this.values.sub(valueOf(a), valueOf(b)),
      this.exponents.sub(exponentOf(a), exponentOf(b)),
      false,
      exponential,
    );
  }

  mul(a: Number_, b: Number_): Number_ {
    return dual(
      this.values.mul(valueOf(a), valueOf(b)),
      this.exponents.mul(exponentOf(a), exponentOf(b)),
      isPositive(a) && isPositive(b),
    );
  }

  div(a: Number_, b: Number_): Number_ {
    return dual(
      this.values.div(valueOf(a), valueOf(b)),
      this.exponents.div(exponentOf(a), exponentOf(b)),
      isPositive(a) && isPositive(b),
    );
  }

  quotient(a: Number_, b: Number_): Number_ {
    return this.apply("quotient", [a, b]);
  }

  extreme(fn: "min" | "max", a: Number_, b: Number_): Number_ {
    const [x, y] = [knownOf(a), knownOf(b)];
    if (typeof x === "number" && typeof y === "number") return x < y === (fn === "min") ? a : b;
    const positive = fn === "max" ? isPositive(a) || isPositive(b) : isPositive(a) && isPositive(b);
    return dual(
      this.values.extreme(fn, valueOf(a), valueOf(b)),
      this.exponents.extreme(fn, exponentOf(a), exponentOf(b)),
      positive,
    );
  }

  get overflows(): ReadonlySet<DType> {
    return this.values.overflows;
  }

  get integers(): Algebra {
    return this;
  }

  cast(from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
    const known = knownOf(a);
    if (typeof known === "number" && to !== "f32") return castOf(this, from, to, known);
    return dual(
      this.values.cast(from, to, valueOf(a)),
      this.exponents.cast(from, to, exponentOf(a)),
      isPositive(a) && !(isDType(to) && DTYPES[to].kind === "int"),
    );
  }

  rounded(to: DType, x: number): number {
    return this.values.rounded(to, x);
  }

  compare(fn: Comparison, a: Number_, b: Number_): Number_ {
    const [x, y] = [knownOf(a), knownOf(b)];
    if (typeof x === "number" && typeof y === "number") return foldCompare(fn, x, y) ? 1 : 0;
    return this.both((f, x) => f.compare(fn, x(a), x(b)), false);
  }

  select(condition: Number_, a: Number_, b: Number_): Number_ {
    return this.both((f, x) => f.select(x(condition), x(a), x(b)), isPositive(a) && isPositive(b));
  }

  lawful(fn: string, x: number): Number_ | null {
    // What f32 has no number for is the end of them.
    const hasPower =
      fn === "exp" && x !== 0 && Math.fround(Math.exp(x)) > 0 && Number.isFinite(Math.fround(Math.exp(x)));
    if (hasPower) return new Dual(this.power(x), Math.exp(x), true);
    if (fn === "log" && x > 0 && x !== 1 && Number.isFinite(x))
      return new Dual(Math.log(x), this.logarithm(x), false, this.values.of(x));
    return null;
  }

  apply(fn: string, of: readonly Number_[], commutes = false): Dual {
    if (fn === "exp") return this.exponential(of[0]!);
    const args = fn === "log" ? of : of.map(knownOf);
    const value = this.values.apply(fn, args.map(valueOf), commutes);
    const exponent = this.exponents.apply(fn, args.map(exponentOf), commutes);
    if (fn === "log" && isPositive(args[0]!))
      return new Dual(value, this.logarithm(args[0]!), false, this.values.of(valueOf(args[0]!)));
    if (fn === "log" && args[0] instanceof Dual && exponentialOf(args[0]) === null)
      return new Dual(value, this.signedLogarithm(args[0]), false);
    return new Dual(value, exponent, fn === "sqrt" && isPositive(args[0]!));
  }

  private exponential(x: Number_): Dual {
    // In the first place it is a power, and of what: that must be told apart there, too.
    this.values.told(valueOf(x));
    const exponent = this.exponents.apply("exp", [exponentOf(x)]);
    return new Dual(this.power(x), exponent, true);
  }

  private hasExponential(a: Number_, b: Number_): boolean {
    return exponentialOf(a) !== null || exponentialOf(b) !== null;
  }

  /** The exponential of a value, in the first place. */
  private power(x: Number_): Residues {
    const known = exponentialOf(x);
    if (known !== null) return known;
    const { p, q, r } = this.exponents.told(exponentOf(x));
    const { base, fields } = this;
    return new Residues(power(p, base.p, fields.p), power(q, base.q, fields.q), power(r, base.r, fields.r));
  }

  private readonly logarithms = new Map<number, Residues>();

  private logarithm(x: Number_): Residues {
    const { p, q, r } = this.values.told(valueOf(x));
    // Two residues tell values apart nearly as well as three, and a logarithm is of what all ranks compute alike.
    const key = p * 2 ** 26 + q;
    let found = this.logarithms.get(key);
    if (found === undefined) {
      const { base, fields } = this;
      found = new Residues(
        logarithm(p, base.p, fields.p),
        logarithm(q, base.q, fields.q),
        logarithm(r, base.r, fields.r),
      );
      this.logarithms.set(key, found);
    }
    return found;
  }

  private signedLogarithm(x: Dual): Number_ {
    const logarithm = this.logarithm(x);
    const { p, q, r } = this.values.of(x.value);
    const { fields, base } = this;
    // The logarithm of a square is that of either root.
    const isRoot = [
      power(logarithm.p, base.p, fields.p) === p,
      power(logarithm.q, base.q, fields.q) === q,
      power(logarithm.r, base.r, fields.r) === r,
    ];
    return this.exponents.add(logarithm, this.exponents.apply("sign", isRoot.map(Number)));
  }

  accumulator(): Accumulator {
    return new DualTotal(this);
  }

  factors(values: readonly Number_[]): Factors {
    const factors = DualFactors.from(values) as DualFactors;
    factors.inValues = this.values.factors(values.map(valueOf));
    factors.inExponents = this.exponents.factors(values.map(exponentOf));
    factors.arePositive = values.length > 0 && values.every(isPositive);
    return factors;
  }

  isSame(a: Number_, b: Number_): boolean {
    return a === b || this.values.isSame(valueOf(a), valueOf(b)) || this.exponents.isSame(exponentOf(a), exponentOf(b));
  }
}

class DualTotal implements Accumulator {
  private readonly value: Accumulator;
  private readonly exponent: Accumulator;
  /** Null where nothing was added yet. */
  private isPositive: boolean | null = null;

  constructor(algebra: ExponentialAlgebra) {
    this.value = algebra.values.accumulator();
    this.exponent = algebra.exponents.accumulator();
  }

  private note(positive: boolean): void {
    this.isPositive = (this.isPositive ?? true) && positive;
  }

  add(x: Number_, times = 1): void {
    if (x === 0 || times === 0) return;
    this.value.add(valueOf(x), times);
    this.exponent.add(exponentOf(x), times);
    this.note(isPositive(x) && times > 0);
  }

  addProduct(a: Number_, b: Number_): void {
    if (a === 0 || b === 0) return;
    this.value.addProduct(valueOf(a), valueOf(b));
    this.exponent.addProduct(exponentOf(a), exponentOf(b));
    this.note(isPositive(a) && isPositive(b));
  }

  addProducts(a: Factors, b: Factors): void {
    const [x, y] = [a as DualFactors, b as DualFactors];
    this.value.addProducts(x.inValues, y.inValues);
    this.exponent.addProducts(x.inExponents, y.inExponents);
    this.note(x.arePositive && y.arePositive);
  }

  build(): Number_ {
    return dual(this.value.build(), this.exponent.build(), this.isPositive === true);
  }
}

/** Bits of an exponent that a table has all powers for. Three tables have those of primes below 2^27. */
const WINDOW = 9;
const WINDOWS = 3;

/** Primes whose tables are kept: those of the programs that were looked at last. */
const MOST_TABLES = 9;

/** A random square other than 1, in each of the fields. */
function baseIn(fields: Fields): Residues {
  const root = fields.standIn(E, []);
  const { p, q, r } = fields.times(root, root);
  const of = (x: number): number => (x === 1 ? 4 : x);
  return new Residues(of(p), of(q), of(r));
}

/** Tells the base's root from members of other functions. */
const E = 0x2718281;

/** What is made once for each base and prime. */
function kept<X>(tables: Map<number, X>, base: number, m: number, make: (base: number, m: number) => X): X {
  const key = base * 2 ** 26 + m;
  let made = tables.get(key);
  if (made === undefined) {
    if (tables.size >= MOST_TABLES) tables.delete(tables.keys().next().value!);
    tables.set(key, (made = make(base, m)));
  }
  return made;
}

/** The base to the power of d · 2^(9 w), by w and d. A softmax over a vocabulary asks for millions of powers. */
const tablesOf = new Map<number, readonly Int32Array[]>();

function tablesFor(first: number, m: number): readonly Int32Array[] {
  let base = first;
  return Array.from({ length: WINDOWS }, () => {
    const table = new Int32Array(2 ** WINDOW);
    let value = 1;
    for (let d = 0; d < table.length; d++, value = times(value, base, m)) table[d] = value;
    base = value;
    return table;
  });
}

/** A base to a power below 2^27, modulo a prime. */
function power(exponent: number, base: number, m: number): number {
  const tables = kept(tablesOf, base, m, tablesFor);
  const last = 2 ** WINDOW - 1;
  const low = times(tables[0]![exponent & last]!, tables[1]![(exponent >> WINDOW) & last]!, m);
  return times(low, tables[2]![exponent >> (2 * WINDOW)]!, m);
}

/** Steps of the one size; those of the other are an exponent's range divided by it. */
const STEPS = 2 ** 17;

interface Steps {
  /** Powers of the base for the first exponents, and those exponents plus 1, in a hash table of twice the size. */
  readonly powers: Int32Array;
  readonly exponents: Int32Array;
  /** The base to the power of -STEPS. */
  readonly large: number;
}

const stepsOf = new Map<number, Steps>();

const SLOTS = 4 * STEPS - 1;
const slotOf = (x: number): number => (Math.imul(x, 0x9e3779b1) >>> 8) & SLOTS;

function stepsFor(base: number, m: number): Steps {
  const powers = new Int32Array(SLOTS + 1);
  const exponents = new Int32Array(SLOTS + 1);
  for (let e = 0, value = 1; e < STEPS; e++, value = times(value, base, m)) {
    let slot = slotOf(value);
    while (exponents[slot] !== 0) slot = (slot + 1) & SLOTS;
    powers[slot] = value;
    exponents[slot] = e + 1;
  }
  return { powers, exponents, large: power((m - 1) / 2 - STEPS, base, m) };
}

/** The exponent of a base that gives the square of x, halved, modulo (m - 1) / 2; 0 of 0. By small steps and large ones. */
function logarithm(x: number, base: number, m: number): number {
  const { powers, exponents, large } = kept(stepsOf, base, m, stepsFor);
  const order = (m - 1) / 2;
  let value = times(x, x, m);
  for (let e = 0; e < order; e += STEPS) {
    for (let slot = slotOf(value); exponents[slot] !== 0; slot = (slot + 1) & SLOTS) {
      if (powers[slot] !== value) continue;
      const exponent = (e + exponents[slot]! - 1) % order;
      return exponent % 2 === 0 ? exponent / 2 : (exponent + order) / 2;
    }
    value = times(value, large, m);
  }
  return 0;
}
