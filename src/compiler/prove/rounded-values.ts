/**
 * What a program's own roundings come to at given data: the kernel is carried out once more, in float64, and each value bears a
 * bound on how far a computation in the kernel's dtypes may be from it (running error analysis: Higham, "Accuracy and Stability
 * of Numerical Algorithms", 3.3). The bound goes with the operations that are carried out and with the sizes of what they meet:
 * half an ulp each, functions `FUNCTION_ULPS`, what is open in a comparison as far as the choice goes.
 */
import { carriedErrors, foldBinary, foldCompare, UNARY } from "../ir/functions.js";
import { isParameter, type Kernel } from "../ir/module.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import { type DType, DTYPES, isDType, isFloat, type ScalarKind } from "../types/dtype.js";
import type { DimValues } from "../types/extent.js";
import { isNarrowFloat, LARGEST_FINITE, type NarrowFloat, SMALLEST_STEP } from "../types/formats.js";
import type { Accumulator, Algebra, Factors, Number_, Term } from "./algebra.js";
import { execute } from "./execute.js";
import type { GivenNumbers as Given } from "./inputs.js";
import { predicated } from "./predicated.js";
import { CannotTell, Fails } from "./results.js";

/** Unit roundoff of float32, which all accumulation is done in. */
export const U32 = 2 ** -24;

/** Errors a float32 implementation of a function may make, in units of u: of its argument and of its result. */
export const FUNCTION_ULPS = 16;

/**
 * Factor on what independent rounding errors come to. They behave like a random walk (Higham and Mary, "A new approach to
 * probabilistic rounding error analysis", 2019): Σ δ_k·s_k with |δ_k| ≤ u stays within λ·u·√(Σ s_k²) with probability
 * 1 - 2·exp(-λ²/2) for each element. λ = 6 leaves one in 3·10^7.
 */
export const LAMBDA = 6;

/** A number, and how far the machine's may be from it. */
export class Rounded implements Term {
  readonly id = 0;

  /**
   * @param known error but for the additions of the sum that this is
   * @param worst Σ |s_k| of the partial sums s_k, each of which was rounded
   * @param squares Σ s_k²
   */
  constructor(
    readonly value: number,
    readonly known: number,
    readonly worst = 0,
    readonly squares = 0,
  ) {}

  get error(): number {
    return this.known + U32 * Math.min(this.worst, LAMBDA * Math.sqrt(this.squares));
  }
}

const valueOf = (x: Number_): number => (typeof x === "number" ? x : (x as Rounded).value);
const errorOf = (x: Number_): number => (typeof x === "number" ? 0 : (x as Rounded).error);

/** Error of one float32 operation: half an ulp, or half the smallest step. */
const unit = (value: number): number => U32 * Math.abs(value) + 2 ** -150;

/**
 * Whether nothing bounds what a cast to `to` makes of x. Dtypes of 8 bits are cut off at their largest number, which moves the machine's
 * number towards x unless all that it may be lies beyond; of others, what comes to half a step more than the largest is rounded to it.
 */
function overflows(x: number, off: number, to: NarrowFloat | "f32"): boolean {
  const largest = LARGEST_FINITE[to];
  const isCutOff = to === "f8e4m3" || to === "f8e5m2";
  return isCutOff ? !(Math.abs(x) - off <= largest) : !(Math.abs(x) + off <= largest * (1 + DTYPES[to].epsilon / 2));
}

class RoundedSum implements Accumulator {
  private total: Number_ = 0;

  constructor(private readonly algebra: RoundedAlgebra) {}

  add(x: Number_, times = 1): void {
    this.total = this.algebra.add(this.total, times === 1 ? x : this.algebra.mul(times, x));
  }

  addProduct(a: Number_, b: Number_): void {
    this.add(this.algebra.mul(a, b));
  }

  addProducts(a: Factors, b: Factors): void {
    for (let k = 0; k < a.length; k++) this.addProduct(a[k]!, b[k]!);
  }

  build(): Number_ {
    return this.total;
  }
}

class RoundedAlgebra implements Algebra {
  readonly overflows: ReadonlySet<DType> = new Set();
  readonly integers: Algebra;

  /** @param isExact whether it is that of integers, in which nothing is rounded */
  constructor(
    private readonly given: Given,
    private readonly isExact = false,
  ) {
    this.integers = isExact ? this : new RoundedAlgebra(given, true);
  }

  leaf(launch: number, buffer: string, rank: number, index: number): Term {
    return new Rounded(this.given(launch, buffer, rank, index), 0);
  }

  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Term {
    return (index) => this.leaf(launch, buffer, rank, index);
  }

  poison(): Term {
    return new Rounded(NaN, Infinity);
  }

  add(a: Number_, b: Number_): Number_ {
    if (a === 0) return b;
    if (b === 0) return a;
    const value = valueOf(a) + valueOf(b);
    if (this.isExact) return new Rounded(value, errorOf(a) + errorOf(b));
    const [x, y] = [a, b].map((n) => (typeof n === "number" ? new Rounded(n, 0) : (n as Rounded))) as [
      Rounded,
      Rounded,
    ];
    // One walk goes on. What the other has come to may be in many terms of it, so it is taken at its full size.
    const [long, short] = x.squares >= y.squares ? [x, y] : [y, x];
    const size = Math.abs(value);
    return new Rounded(value, long.known + short.error, long.worst + size, long.squares + size * size);
  }

  sub(a: Number_, b: Number_): Number_ {
    return this.add(a, this.negated(b));
  }

  private negated(x: Number_): Number_ {
    if (typeof x === "number") return -x;
    const { value, known, worst, squares } = x as Rounded;
    return new Rounded(-value, known, worst, squares);
  }

  mul(a: Number_, b: Number_): Number_ {
    if (a === 1) return b;
    if (b === 1) return a;
    const [x, ea, y, eb] = [valueOf(a), errorOf(a), valueOf(b), errorOf(b)];
    const carried = (eb === 0 ? 0 : Math.abs(x) * eb) + (ea === 0 ? 0 : Math.abs(y) * ea + ea * eb);
    return this.made(x * y, carried, 1);
  }

  div(a: Number_, b: Number_): Number_ {
    const [x, ea, y, eb] = [valueOf(a), errorOf(a), valueOf(b), errorOf(b)];
    const value = x / y;
    const size = Math.abs(value);
    if (Math.abs(y) > eb) return this.made(value, (ea + size * eb) / (Math.abs(y) - eb), 4);
    return this.made(value, ea === 0 && eb === 0 ? 0 : Infinity, 4);
  }

  /** @param units half ulps that the operation itself may err by */
  private made(value: number, carried: number, units: number): Rounded {
    return new Rounded(value, this.isExact ? carried : carried + units * unit(value));
  }

  quotient(a: Number_, b: Number_): Number_ {
    const off = errorOf(a) + errorOf(b) > 0 ? Infinity : 0;
    return new Rounded(Math.trunc(valueOf(a) / valueOf(b)), off);
  }

  extreme(fn: "min" | "max", a: Number_, b: Number_): Number_ {
    return new Rounded(Math[fn](valueOf(a), valueOf(b)), Math.max(errorOf(a), errorOf(b)));
  }

  cast(from: ScalarKind, to: ScalarKind, a: Number_): Number_ {
    const [x, off] = [valueOf(a), errorOf(a)];
    if (isFloat(to)) {
      if (to === "f32" && isFloat(from)) return a;
      if (!isDType(to) || (to !== "f32" && !isNarrowFloat(to))) return new Rounded(x, Infinity);
      const most = Math.abs(x) + off;
      if (overflows(x, off, to)) return new Rounded(x, Infinity);
      // A whole number that the dtype has is not rounded.
      if (off === 0 && Number.isInteger(x) && most * DTYPES[to].epsilon <= 1) return new Rounded(x, 0);
      return new Rounded(x, off + DTYPES[to].epsilon * most + SMALLEST_STEP[to] / 2);
    }
    if (!isFloat(from)) return new Rounded(x, off);
    return new Rounded(Math.trunc(x), off === 0 ? 0 : Math.ceil(off));
  }

  compare(fn: Comparison, a: Number_, b: Number_): Number_ {
    const [x, y, off] = [valueOf(a), valueOf(b), errorOf(a) + errorOf(b)];
    const isOpen = off > 0 && !(Math.abs(x - y) > off);
    return new Rounded(foldCompare(fn, x, y) ? 1 : 0, isOpen ? 1 : 0);
  }

  select(condition: Number_, a: Number_, b: Number_): Number_ {
    const [chosen, other] = valueOf(condition) !== 0 ? [a, b] : [b, a];
    if (errorOf(condition) === 0) return chosen;
    const value = valueOf(chosen);
    return new Rounded(value, Math.abs(value - valueOf(other)) + Math.max(errorOf(a), errorOf(b)));
  }

  apply(fn: string, args: readonly Number_[]): Term {
    const [x, off] = [valueOf(args[0]!), errorOf(args[0]!)];
    if (args.length === 1) return this.unary(fn as UnaryFunction, x, off);
    const [y, eb] = [valueOf(args[1]!), errorOf(args[1]!)];
    const value = foldBinary(fn as BinaryFunction, x, y) ?? NaN;
    if (fn !== "pow") return new Rounded(value, off + eb > 0 ? Infinity : 0);
    if (!(x > off)) return new Rounded(value, Infinity);
    const logarithm = Math.abs(Math.log(x));
    const ulps = FUNCTION_ULPS * (1 + Math.abs(y) * (1 + logarithm));
    return this.made(value, Math.abs(value) * (Math.abs(y) * (off / (x - off)) + logarithm * eb), ulps);
  }

  /** What an error of the argument makes of the result is seen at both ends of it. */
  private unary(fn: UnaryFunction, x: number, off: number): Rounded {
    const { value: f, isExact } = UNARY[fn];
    const value = f(x);
    const spread = Math.max(...carriedErrors(fn, x, value, off, FUNCTION_ULPS * U32));
    return this.made(value, spread === spread ? spread : Infinity, isExact === true ? 0 : FUNCTION_ULPS);
  }

  accumulator(): Accumulator {
    return new RoundedSum(this);
  }

  factors(values: readonly Number_[]): Factors {
    return values;
  }

  isSame(a: Number_, b: Number_): boolean {
    return valueOf(a) === valueOf(b);
  }
}

export interface RoundedOptions {
  readonly dims: DimValues;
  readonly launches: number;
  readonly given: Given;
}

/** What a rank's output holds after a launch. */
export type RoundedOutputs = (
  launch: number,
  output: string,
  rank: number,
  index: number,
) => Pick<Rounded, "value" | "error"> | null;

/** Carries the kernel out at the data that is given; null where it cannot be followed to its end. */
export function roundedOutputs(kernel: Kernel, { dims, launches, given }: RoundedOptions): RoundedOutputs | null {
  const ended: Map<string, readonly Number_[]>[][] = [];
  try {
    execute(predicated(kernel), { dims, launches, given }, new RoundedAlgebra(given), false, (m, rank, launch) => {
      const outputs = m.kernel.buffers.filter((b) => isParameter(b) && b.role !== "input");
      (ended[launch] ??= [])[rank] = new Map(
        outputs.map(({ name }) => [name, m.memory[m.bufferNumber(name)]![rank]!.slice()]),
      );
    });
  } catch (e) {
    if (e instanceof CannotTell || e instanceof Fails) return null;
    throw e;
  }
  return (launch, output, rank, index) => {
    const held = ended[launch]?.[rank]?.get(output)?.[index];
    return held === undefined ? null : { value: valueOf(held), error: errorOf(held) };
  };
}
