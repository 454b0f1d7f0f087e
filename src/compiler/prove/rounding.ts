/**
 * Values as the bits they are rounded to: two are equal only where the same operations meet the same operands in the same
 * order. So a tensor is `replicated` bit for bit where all its ranks hold one value of these.
 *
 * What is exact is equal in more forms: operands of + and · may change places, `min` and `max` are sets, as +0 is the greater of two zeros
 * to them, and integers are computed in the ring that they are. A choice of floats by a comparison is no `max`: to a comparison both zeros
 * are equal, so that it is the order of its sides that decides which of them is taken. For -0, `x + 0`
 * is another zero than `x`, and so is `0 - x` than `-x`; a sum is never -0 where one of its terms is not. A product and what it is added to are two operations, since kernels are compiled without
 * contraction (`nvrtcOptions`); in a product of tiles they are one.
 */
import type { UnaryFunction } from "../ir/ops.js";
import type { ScalarKind } from "../types/dtype.js";
import { DTYPES, isDType, isFloat, type DType } from "../types/dtype.js";
import { decode, encode } from "../types/formats.js";
import type { Accumulator, Algebra, Factors, Number_, Term } from "./algebra.js";
import { type ExtremeFunction, Extremum } from "./extremum.js";
import { Compared } from "./field-values.js";
import { FieldAlgebra } from "./field.js";
import { type Fields, NO_PROGRAM, Residues } from "./residues.js";

/** Functions that are never -0. */
const POSITIVE: ReadonlySet<string> = new Set<UnaryFunction>(["exp", "exp2"]);

/** How a value was made, to print it. */
interface Making {
  readonly fn: string;
  readonly args: readonly Number_[];
}

/** A value that is a float. There are many: what is known of them lies in them. */
class Float extends Residues {
  constructor(
    { p, q, r }: Residues,
    /** Which it is known to have. */
    readonly dtype: DType | null,
    /** Whether it may be -0. */
    readonly mayBeNegativeZero: boolean,
    /** Whether it is one of the zeros for all data. */
    readonly isZero: boolean,
    /** What this is the negative of, if that is how it was made. */
    readonly opposite: Number_ | null = null,
  ) {
    super(p, q, r);
  }
}

export class RoundingAlgebra extends FieldAlgebra {
  private readonly whole: FieldAlgebra;
  /** Other values that are floats, or may be. */
  private readonly floats = new WeakSet<Term>();
  private readonly makings: WeakMap<Term, Making> | null;

  /**
   * @param dtypes of the inputs
   * @param explains whether values will be printed
   * @param areBits whether zeros have signs, and numbers are rounded: comparisons do not see the one, and claims have no other numbers
   */
  constructor(
    inputs: ReadonlyMap<string, DType>,
    explains = false,
    fields: Fields = NO_PROGRAM.plain,
    private readonly areBits = true,
  ) {
    super(inputs, fields);
    this.whole = new FieldAlgebra(inputs, fields);
    this.makings = explains ? new WeakMap() : null;
  }

  override get integers(): Algebra {
    return this.whole;
  }

  override leavesOf(launch: number, buffer: string, rank: number): (index: number) => Term {
    const leaf = super.leavesOf(launch, buffer, rank);
    const { makings } = this;
    if (makings === null) return leaf;
    return (index) => {
      const made = leaf(index);
      makings.set(made, { fn: `${rank < 0 ? "" : `rank ${rank}'s `}${buffer}[${index}]`, args: [] });
      return made;
    };
  }

  protected override leafOf(member: Residues, dtype: DType | undefined): Term {
    return dtype !== undefined && DTYPES[dtype].kind === "float"
      ? new Float(member, dtype, true, false)
      : super.leafOf(member, dtype);
  }

  private made(fn: string, args: readonly Number_[], commutes: boolean, is: Partial<Float> = {}): Residues {
    const { dtype = null, mayBeNegativeZero = true, isZero = false, opposite = null } = is;
    const result = new Float(super.apply(fn, args, commutes), dtype, mayBeNegativeZero, isZero, opposite);
    this.makings?.set(result, { fn, args });
    return result;
  }

  override apply(fn: string, args: readonly Number_[], commutes = false): Residues {
    return this.made(fn, args, commutes, { mayBeNegativeZero: !POSITIVE.has(fn) });
  }

  private mayBeNegativeZero(x: Number_): boolean {
    return typeof x === "number" ? Object.is(x, -0) : !(x instanceof Float) || x.mayBeNegativeZero;
  }

  override add(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a + b;
    if (a === b) return this.mul(a, 2);
    return this.unchanged(a, b) ?? this.unchanged(b, a) ?? this.sum("+", [a, b]);
  }

  /** `a` where adding `b` leaves every `a` as it is: a zero does, but for +0 beside -0. */
  private unchanged(a: Number_, b: Number_): Number_ | null {
    const isZero = b === 0 || (b instanceof Float && b.isZero);
    return isZero && (!this.areBits || Object.is(b, -0) || !this.mayBeNegativeZero(a)) ? a : null;
  }

  private sum(fn: "+" | "+ ·", args: readonly [Number_, Number_]): Residues {
    const mayBeNegativeZero = this.mayBeNegativeZero(args[0]) && this.mayBeNegativeZero(args[1]);
    return this.made(fn, args, fn === "+", { mayBeNegativeZero });
  }

  override sub(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return this.add(a, this.negative(b));
  }

  /** With the other sign: exact, whatever it is. */
  private negative(x: Number_): Number_ {
    if (typeof x === "number") return -x;
    if (x instanceof Float && x.opposite !== null) return x.opposite;
    const { dtype = null, isZero = false } = x instanceof Float ? x : ({} as Partial<Float>);
    return this.made("-", [x], false, { dtype, isZero, opposite: x });
  }

  /** Without a sign that goes through products, and whether it had one. */
  private unsigned(x: Number_): readonly [Number_, boolean] {
    if (typeof x === "number") return [Math.abs(x), x < 0 || Object.is(x, -0)];
    return x instanceof Float && x.opposite !== null ? [x.opposite, true] : [x, false];
  }

  private hasSign(x: Number_): boolean {
    return typeof x === "number" ? x < 0 || Object.is(x, -0) : x instanceof Float && x.opposite !== null;
  }

  private signed(isNegative: boolean, x: Number_): Number_ {
    return isNegative ? this.negative(x) : x;
  }

  override mul(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (!this.hasSign(a) && !this.hasSign(b)) return this.product(a, b);
    const [[x, hasSign], [y, hasOther]] = [this.unsigned(a), this.unsigned(b)];
    return this.signed(hasSign !== hasOther, this.product(x, y));
  }

  private product(a: Number_, b: Number_): Number_ {
    if (a === 1) return b;
    if (b === 1) return a;
    const isZero = a === 0 || b === 0;
    if (isZero && !this.areBits) return 0;
    return this.made("·", [a, b], true, { isZero, mayBeNegativeZero: a !== b });
  }

  override rounded(to: DType, x: number): number {
    return this.areBits ? decode(to, encode(to, x)) : x;
  }

  /**
   * Whether a sum stays as it is where a product is added: one of 0, as tiles hold behind the ends of rows, and of what is finite is a zero.
   * @param mayBeNegativeZero whether the sum may be -0
   */
  private isUnchangedBy(mayBeNegativeZero: boolean, a: Number_, b: Number_): boolean {
    if ((a !== 0 && b !== 0) || (this.areBits && mayBeNegativeZero)) return false;
    const other = a === 0 ? b : a;
    return typeof other !== "number" || Number.isFinite(other);
  }

  /** A product that is added without being rounded before. */
  fused(total: Number_, a: Number_, b: Number_): Number_ {
    if (this.isUnchangedBy(this.mayBeNegativeZero(total), a, b)) return total;
    const float = this.fusedInTurn(total, [a], [b], 0);
    if (float !== null) return float;
    const product = this.mul(a, b);
    if (total === 0 || typeof product === "number") return this.add(total, product);
    return this.unchanged(total, product) ?? this.sum("+ ·", [total, product]);
  }

  /**
   * Such products of floats without a sign to take out, and of zeros, added one after the other from a place on; null where one of them has to be looked at by itself. Products of tiles
   * have so many that nothing is made for one.
   */
  fusedInTurn(total: Number_, a: Factors, b: Factors, first: number): Float | null {
    if (!(total instanceof Float) || this.makings !== null) return null;
    let { mayBeNegativeZero } = total;
    let isUnchanged = true;
    for (let k = first; k < a.length; k++) {
      const [x, y] = [a[k]!, b[k]!];
      if (this.isUnchangedBy(mayBeNegativeZero, x, y)) continue;
      if (!(x instanceof Float && y instanceof Float) || x.opposite !== null || y.opposite !== null) return null;
      mayBeNegativeZero &&= x !== y;
      isUnchanged = false;
    }
    if (isUnchanged) return total;
    const [product, sum] = [this.tag("·"), this.tag("+ ·")];
    const { fields } = this;
    return new Float(
      fields.sumInTurn(product, sum, total, a as readonly (Float | 0)[], b as readonly (Float | 0)[], first),
      null,
      mayBeNegativeZero,
      false,
    );
  }

  override div(a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") return a / b;
    // By a power of 2 both are exact.
    if (typeof b === "number" && Number.isInteger(Math.log2(Math.abs(b)))) return this.mul(a, 1 / b);
    if (!this.hasSign(a) && !this.hasSign(b)) return this.made("/", [a, b], false);
    const [[x, hasSign], [y, hasOther]] = [this.unsigned(a), this.unsigned(b)];
    return this.signed(hasSign !== hasOther, this.made("/", [x, y], false));
  }

  override poison(buffer: string, rank: number, index: number): Residues {
    return new Float(super.poison(buffer, rank, index), null, true, false);
  }

  override extreme(fn: ExtremeFunction, a: Number_, b: Number_): Number_ {
    const extreme = super.extreme(fn, a, b);
    if (extreme instanceof Extremum) extreme.isFloat = true;
    else if (typeof extreme !== "number" && !(extreme instanceof Float)) this.floats.add(extreme);
    return extreme;
  }

  override select(condition: Number_, a: Number_, b: Number_): Number_ {
    const isFloat = (x: Number_): boolean =>
      x instanceof Extremum ? x.isFloat : x instanceof Float || (typeof x !== "number" && this.floats.has(x));
    if (!isFloat(a) && !isFloat(b)) return this.whole.select(condition, a, b);
    return condition instanceof Compared && condition.isNegated
      ? this.made("select", [condition.opposite, b, a], false)
      : this.made("select", [condition, a, b], false);
  }

  override cast(from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
    if (!isDType(to) || DTYPES[to].kind !== "float") return super.cast(from, to, a);
    if (typeof a === "number" || (a instanceof Float && a.dtype === to)) return a;
    if (isDType(from) && DTYPES[from].kind === "float" && DTYPES[from].bytes < DTYPES[to].bytes) return a;
    if (a instanceof Float && a.opposite !== null) return this.negative(this.cast(from, to, a.opposite));
    // What is so small that it is rounded to 0 keeps its sign.
    return this.made(`to ${to}`, [a], false, { dtype: to, mayBeNegativeZero: !isDType(from) || isFloat(from) });
  }

  override accumulator(): Accumulator {
    return new OrderedTotal(this);
  }

  override factors(values: readonly Number_[]): Factors {
    return values;
  }

  /** Short text of a value. */
  print(x: Number_, depth = 0): string {
    if (typeof x === "number") return Object.is(x, -0) ? "-0" : String(x);
    if (x instanceof Compared && depth <= 7) {
      const [a, b] = [x.a, x.b].map((side) => this.print(side, depth + 1));
      return `${x.isNegated ? "not " : ""}(${a} ${x.fn === "lt" ? "<" : "=="} ${b})`;
    }
    const making = this.makings?.get(x);
    if (making === undefined) return "…";
    const { fn, args } = making;
    if (args.length === 0) return fn;
    if (depth > 7) return "…";
    const of = args.map((a) => this.print(a, depth + 1));
    if (fn === "-") return `-${of[0]}`;
    return /^([-+·/]|\+ ·)$/.test(fn) ? `(${of.join(` ${fn} `)})` : `${fn}(${of.join(", ")})`;
  }
}

/** Adds in the order in which summands come. */
class OrderedTotal implements Accumulator {
  private total: Number_ = 0;

  constructor(private readonly algebra: RoundingAlgebra) {}

  add(x: Number_, times = 1): void {
    this.total = this.algebra.add(this.total, times === 1 ? x : this.algebra.mul(x, times));
  }

  addProduct(a: Number_, b: Number_): void {
    this.total = this.algebra.fused(this.total, a, b);
  }

  addProducts(a: Factors, b: Factors): void {
    let k = 0;
    for (; k < a.length && this.total === 0; k++) this.addProduct(a[k]!, b[k]!);
    const total = this.algebra.fusedInTurn(this.total, a, b, k);
    if (total !== null) this.total = total;
    else for (; k < a.length; k++) this.addProduct(a[k]!, b[k]!);
  }

  build(): Number_ {
    return this.total;
  }
}
