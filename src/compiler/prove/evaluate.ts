/** Symbolic values at data: whether two that differ in form differ in fact, or are equal for all data there is. */
import { UNARY } from "../ir/functions.js";
import { type Comparison, COMPARISONS } from "../ir/ops.js";
import type { Number_, Term } from "./algebra.js";
import { Applied, Leaf, partsOfTerm, Poison, Product, Sum } from "./terms.js";
import type { ComputeDType } from "../types/dtype.js";
import type { RangeOf } from "./whole-numbers.js";

const FUNCTIONS: Readonly<Record<string, (...x: number[]) => number>> = {
  reciprocal: (x) => 1 / x!,
  quotient: (x, y) => Math.trunc(x! / y!),
  rem: (x, y) => x! % y!,
  truncate: (x) => Math.trunc(x!),
  "to i8": (x) => (x! << 24) >> 24,
  "to u8": (x) => x! & 0xff,
  pow: (x, y) => x! ** y!,
  min: Math.min,
  max: Math.max,
  and: (x, y) => x! & y!,
  or: (x, y) => x! | y!,
  xor: (x, y) => x! ^ y!,
  eq: (x, y) => Number(x === y),
  ne: (x, y) => Number(x !== y),
  lt: (x, y) => Number(x! < y!),
  le: (x, y) => Number(x! <= y!),
  gt: (x, y) => Number(x! > y!),
  ge: (x, y) => Number(x! >= y!),
  select: (c, x, y) => (c !== 0 ? x! : y!),
  ...Object.fromEntries(Object.entries(UNARY).map(([fn, { value }]) => [fn, (x: number) => value(x)])),
};

/** Of numbers; undefined for what is not known. */
export function functionOf(fn: string): ((...x: number[]) => number) | undefined {
  return Object.hasOwn(FUNCTIONS, fn) ? FUNCTIONS[fn] : undefined;
}

/** Beyond, integers wrap, which values do not tell. */
export const LARGEST_INTEGER = 2 ** 31;

function hash(id: number, sample: number): number {
  let z = (Math.imul(id, 0x9e3779b9) + Math.imul(sample, 0x85ebca6b)) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
}

/** Integers of 32 bits, as whole numbers. */
export type Wrapped = (x: number) => number;
const WRAPPED: Readonly<Partial<Record<ComputeDType, Wrapped>>> = { i32: (x) => x | 0, u32: (x) => x >>> 0 };

/** Evaluates terms at what `datum` says of their leaves and of memory that nobody has written. */
class Sample {
  private readonly known = new Map<Term, number>();
  /** The largest number that was met on the way. */
  largest = 0;

  /** @param wrapped where all is computed in integers of 32 bits, which wrap; null: in numbers */
  constructor(
    private readonly datum: (t: Leaf | Poison) => number,
    private readonly wrapped: Wrapped | null = null,
  ) {}

  value(x: Number_): number {
    if (typeof x === "number") return x;
    let value = this.known.get(x);
    if (value === undefined) this.known.set(x, (value = this.compute(x)));
    if (!(Math.abs(value) <= this.largest)) this.largest = Number.isNaN(value) ? Infinity : Math.abs(value);
    return value;
  }

  private compute(t: Term): number {
    if (t instanceof Leaf || t instanceof Poison) return this.datum(t);
    return this.wrapped === null ? this.number(t) : this.wrapped(this.bits(t));
  }

  /** A value of which 32 bits count. */
  private bits(t: Term): number {
    if (t instanceof Product) return t.factors.reduce((a, f) => Math.imul(a, this.value(f)), 1);
    if (!(t instanceof Sum)) return this.number(t);
    return t.terms.reduce((a, x, i) => (a + Math.imul(t.coefficients[i]!, this.value(x))) | 0, t.constant);
  }

  private number(t: Term): number {
    if (t instanceof Product) return t.factors.reduce((a, f) => a * this.value(f), 1);
    if (t instanceof Sum) return t.terms.reduce((a, x, i) => a + t.coefficients[i]! * this.value(x), t.constant);
    if (t instanceof Applied) return functionOf(t.fn)?.(...t.args.map((a) => this.value(a))) ?? NaN;
    return NaN;
  }
}

/** Says what an element of an input is computed in. */
export type ComputedIn = (leaf: Leaf) => ComputeDType;

/** What wraps where all elements are computed in one kind of integers; what is made wider on the way is not told from what is not. */
export function wrappedOf(values: readonly Number_[], computedIn: ComputedIn): Wrapped | null {
  const kinds = new Set<ComputeDType>();
  const seen = new Set<Number_>();
  const look = (x: Number_): void => {
    if (typeof x === "number" || seen.has(x)) return;
    seen.add(x);
    if (x instanceof Leaf) kinds.add(computedIn(x));
    if (x instanceof Sum && ![x.constant, ...x.coefficients].every(Number.isSafeInteger)) kinds.add("f32");
    partsOfTerm(x).forEach(look);
  };
  values.forEach(look);
  const [kind] = kinds;
  return kinds.size === 1 ? (WRAPPED[kind!] ?? null) : null;
}

/** Samples of numbers that are easy to compute with; of numbers that values are compared with; of the ends of what data may be. */
const [PLAIN, COMPARED, EXTREME] = [16, 8, 8];

/** Of every four samples, one has many equal elements and one no other: choices between equals differ there alone. */
function valueOf(random: number, sample: number, [from, to]: readonly [number, number], isWhole: boolean): number {
  const few = sample % 4 === 0 ? 1 : sample % 4 === 1 ? 2 : null;
  if (!isWhole) return few === null ? from + random * (to - from) : from + Math.floor(random * few) + 0.5;
  return from + Math.floor(random * Math.min(to - from, few ?? Infinity));
}

/** The ends of what an element may be: all the greatest, all the least, then one or the other. Floats are of 10³⁰. */
function extremeOf(random: number, extreme: number, range: readonly [number, number] | null): number {
  const [least, most] = range === null ? [-1, 1] : [range[0], Math.max(range[0], range[1] - 1)];
  const end = extreme === 0 ? most : extreme === 1 ? least : random < 0.5 ? least : most;
  return range === null ? end * 1e30 * (1 + Math.floor(random * 7)) : end;
}

/** A float between two limits: anywhere, one of the numbers that values are compared with, or next to a limit. */
function limitedOf(
  random: number,
  sample: number,
  [from, to]: readonly [number, number],
  constants: readonly number[],
): number {
  const beside = (share: number): number => from + share * Math.max(0, to - from);
  if (sample <= PLAIN) return sample % 4 === 0 ? beside(0.5) : beside(random);
  if (sample > PLAIN + COMPARED) return beside(random < 0.5 ? 0 : 0.999);
  const near = constants.filter((c) => from <= c && c < to);
  return near.length === 0 ? beside(random) : near[Math.floor(random * near.length)]!;
}

/** What is left of the precision of numbers that are larger than the result. */
const PRECISION = 1e-9;

/** The same where a number of the program stands for one that f32 does not have, as 0.1 does, or ln 2. */
const ROUNDED_PRECISION = 1e-6;

/** Fractions that are what they stand for have no more binary digits than so. */
const isRounded = (x: number): boolean => Number.isFinite(x) && !Number.isInteger(x * 2 ** 12);

/**
 * Whether two values are the same at some random data where the second is a number (`differs`: at some they are not; `agree`:
 * at all; `unknown`: there was no such data). Integers are whole, in their range, and differ only where they do so when they wrap, too.
 */
export function compareAtData(
  a: Number_,
  b: Number_,
  rangeOf: RangeOf,
  computedIn: ComputedIn,
  seed = 0,
  limitsOf: RangeOf = () => null,
): "differ" | "agree" | "unknown" {
  let compared = 0;
  const wrapped = wrappedOf([a, b], computedIn);
  const { constants, roots, hasWhole, hasRounded } = metIn([a, b], rangeOf);
  for (let s = 1; s <= PLAIN + COMPARED + EXTREME; s++) {
    const isPlain = s <= PLAIN;
    let isWhole = true;
    const datum = (t: Leaf | Poison): number => {
      const random = hash(t.id ^ Math.imul(seed, 0x2c1b3c6d), s);
      isWhole &&= t instanceof Leaf && rangeOf(t) !== null;
      if (t instanceof Poison) return 1e3 * (4 * random - 2);
      const range = rangeOf(t);
      const limits = range === null ? limitsOf(t) : null;
      if (limits !== null) return limitedOf(random, s, limits, constants);
      if (s > PLAIN + COMPARED) return extremeOf(random, s - PLAIN - COMPARED - 1, range);
      if (!isPlain) {
        const among = roots.length > 0 && s % 2 === 0 ? roots : constants;
        const value = among[Math.floor(random * among.length)]!;
        return range === null ? value : Math.max(range[0], Math.min(range[1] - 1, Math.round(value)));
      }
      if (range === null) return valueOf(random, s, [-2, 2], false);
      const [from, to] = [Math.max(range[0], -1000), Math.min(range[1], 1000)];
      return from < to ? valueOf(random, s, [from, to], true) : range[0];
    };
    const sample = new Sample(datum);
    const [x, y] = [sample.value(a), sample.value(b)];
    if (!Number.isFinite(y)) continue;
    // What wraps, or is no number on the way, says nothing.
    if (!isPlain && !(sample.largest < (hasWhole ? LARGEST_INTEGER : Infinity))) continue;
    compared++;
    if (x !== y && isEqualWrapped(a, b, datum, wrapped)) continue;
    // Whole numbers that are held exactly are equal or not; floats bear the error of their coefficients.
    if (isWhole && x !== y && Number.isSafeInteger(x) && Number.isSafeInteger(y)) return "differ";
    const precision = hasRounded ? ROUNDED_PRECISION : PRECISION;
    const slack = isPlain ? 1e-6 * Math.max(1, Math.abs(x), Math.abs(y)) : precision * Math.max(1, sample.largest);
    if (!(Math.abs(x - y) <= slack)) return "differ";
  }
  return compared === 0 ? "unknown" : "agree";
}

function isEqualWrapped(a: Number_, b: Number_, datum: (t: Leaf | Poison) => number, wrapped: Wrapped | null): boolean {
  if (wrapped === null) return false;
  const sample = new Sample(datum, wrapped);
  return wrapped(sample.value(a)) === wrapped(sample.value(b));
}

interface Met {
  readonly constants: readonly number[];
  /** Elements at which two sides of a comparison are equal, of which one is a number. */
  readonly roots: readonly number[];
  readonly hasWhole: boolean;
  readonly hasRounded: boolean;
}

/** Numbers in values, by which they may choose, and whether they are made of whole numbers, or of rounded ones, among others. */
function metIn(values: readonly Number_[], rangeOf: RangeOf): Met {
  const [constants, roots] = [new Set([0, 1]), new Set<number>()];
  const seen = new Set<Term>();
  let [hasWhole, hasRounded] = [false, false];
  const look = (x: Number_): void => {
    if (typeof x === "number") {
      hasRounded ||= isRounded(x);
      return void constants.add(x);
    }
    if (seen.has(x)) return;
    seen.add(x);
    if (x instanceof Leaf) hasWhole ||= rangeOf(x) !== null;
    if (x instanceof Sum) {
      hasRounded ||= [x.constant, ...x.coefficients].some(isRounded);
      constants.add(x.constant).add(-x.constant);
    }
    if (x instanceof Applied && COMPARISONS.includes(x.fn as Comparison)) roots.add(rootOf(x.args[0]!, x.args[1]!));
    partsOfTerm(x).forEach(look);
  };
  values.forEach(look);
  const finite = (all: ReadonlySet<number>): number[] => [...all].filter((c) => Number.isFinite(c));
  return { constants: finite(constants), roots: finite(roots), hasWhole, hasRounded };
}

/** The element at which two sides are equal, of which one is a number and the other the sum of one and a multiple of the element; else NaN. */
function rootOf(a: Number_, b: Number_): number {
  if (typeof a === "number") return typeof b === "number" ? NaN : rootOf(b, a);
  if (typeof b !== "number" || !(a instanceof Sum) || a.terms.length !== 1) return NaN;
  return (b - a.constant) / a.coefficients[0]!;
}
