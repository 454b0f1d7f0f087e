/**
 * Where the numbers of a value lie, as the machine computes them: ends are moved outward by each rounding. Sound for every
 * value between the ends of the operands, so what fits by these fits in every execution.
 */
import { type DType, DTYPES, isDType, type ScalarKind } from "../types/dtype.js";

/** All numbers from `lo` to `hi`, both included; infinite where nothing limits them. */
export interface Interval {
  readonly lo: number;
  readonly hi: number;
  /** No value is nearer to 0; 0 where one may be 0. */
  readonly nearest: number;
}

/**
 * Ends that are no numbers, as ∞ - ∞, limit nothing.
 * @param nearest what is known of it besides the ends: values on both sides of 0 may keep a distance
 */
export function interval(lo: number, hi: number, nearest = 0): Interval {
  let [least, most] = [Number.isNaN(lo) ? -Infinity : lo, Number.isNaN(hi) ? Infinity : hi];
  if (nearest > 0 && least > -nearest) least = Math.max(least, nearest);
  if (nearest > 0 && most < nearest) most = Math.min(most, -nearest);
  return { lo: least, hi: most, nearest: Math.max(nearest > 0 ? nearest : 0, least, -most) };
}

export const UNLIMITED = interval(-Infinity, Infinity);

/** Of 64 bits, the ends are float64 numbers: the upper one is the next beyond. */
const INTEGERS: Partial<Record<ScalarKind, readonly [number, number]>> = {
  i64: [-(2 ** 63), 2 ** 63],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  i8: [-128, 127],
  u8: [0, 255],
  bool: [0, 1],
};

/** The largest finite number of a float dtype, and the distance to the next one that there would be. */
const FLOATS: Partial<Record<DType, { readonly most: number; readonly step: number }>> = {
  f32: { most: 3.4028234663852886e38, step: 2 ** 104 },
  bf16: { most: 3.3895313892515355e38, step: 2 ** 120 },
  f16: { most: 65504, step: 32 },
  f8e5m2: { most: 57344, step: 8192 },
  f8e4m3: { most: 448, step: 32 },
};

/** The smallest positive number of a dtype, below which a result may be 0. */
const SMALLEST: Partial<Record<DType, number>> = {
  f32: 2 ** -149,
  bf16: 2 ** -133,
  f16: 2 ** -24,
  f8e5m2: 2 ** -16,
  f8e4m3: 2 ** -9,
};

const MOST_I64 = 2 ** 63 - 2 ** 24;

/** Indices have 64 bits, and lengths as many elements as there is memory. */
export const MOST_INDEX = 2 ** 63;

/** Every value that a kind has; of floats, every finite one. */
export function allOf(kind: ScalarKind): Interval {
  const ends = INTEGERS[kind];
  if (ends !== undefined) return interval(...ends);
  const most = isDType(kind) ? FLOATS[kind]!.most : MOST_INDEX;
  return interval(-most, most);
}

/** Whether every value is one of the kind: none wraps, none is rounded to infinity or cut off. */
export function fits({ lo, hi }: Interval, kind: ScalarKind): boolean {
  const float = isDType(kind) ? FLOATS[kind] : undefined;
  // Half a step beyond the largest number is where rounding to the nearest leaves the finite ones.
  if (float !== undefined) return lo > -float.most - float.step / 2 && hi < float.most + float.step / 2;
  // Ends this large are themselves rounded, a few times 2^10 at each step on the way: what may fit only just is not said to.
  if (kind === "i64") return lo >= -MOST_I64 && hi <= MOST_I64;
  const ends = INTEGERS[kind];
  return ends === undefined || (lo >= ends[0] && hi <= ends[1]);
}

/** What is left of values in a kind, where they fit and where it is taken for granted that they do. */
export function within(x: Interval, kind: ScalarKind): Interval {
  const all = allOf(kind);
  const [lo, hi] = [Math.min(Math.max(x.lo, all.lo), all.hi), Math.max(Math.min(x.hi, all.hi), all.lo)];
  return interval(lo, hi, Math.min(x.nearest, Math.max(-lo, hi)));
}

/** Whether a number is one of a dtype, and so stays where it is rounded. */
function isNumberOf(dtype: DType, x: number): boolean {
  if (x === 0 || Number.isInteger(x / SMALLEST[dtype]!) === false) return x === 0;
  const step = 2 ** Math.floor(Math.log2(Math.abs(x))) * 2 * DTYPES[dtype].epsilon;
  return Number.isInteger(x / step);
}

/** Values after they were rounded to a float dtype `times` times, perhaps to 0. */
export function rounded(x: Interval, dtype: DType, times = 1): Interval {
  const unit = 2 * times * DTYPES[dtype].epsilon;
  const smallest = SMALLEST[dtype]!;
  const below = (at: number): number => {
    const lo = at - Math.abs(at) * unit - smallest * times;
    if (at === Infinity || (times === 1 && isNumberOf(dtype, at))) return at;
    // To the nearest, what is no less than the smallest number does not become 0.
    return at < 0 ? lo : lo > 0 || (times === 1 && at >= smallest) ? Math.max(lo, smallest) : 0;
  };
  return interval(below(x.lo), -below(-x.hi), below(x.nearest));
}

/** The smallest positive number of f32. */
export const SMALLEST_F32 = 2 ** -149;

/** The smallest positive number of a float dtype. */
export function smallestOf(dtype: DType): number {
  return SMALLEST[dtype]!;
}

/** Whether no value is 0. */
export const isNeverZero = (x: Interval): boolean => x.nearest > 0;

/** Whether all values are greater than 0. */
export const isPositive = (x: Interval): boolean => x.lo > 0;

export function hull(a: Interval, b: Interval): Interval {
  return interval(Math.min(a.lo, b.lo), Math.max(a.hi, b.hi), Math.min(a.nearest, b.nearest));
}

/** The numbers that lie in both; the first, where none does: nothing ever comes there. */
export function overlap(a: Interval, b: Interval): Interval {
  const both = interval(Math.max(a.lo, b.lo), Math.min(a.hi, b.hi), Math.max(a.nearest, b.nearest));
  return both.lo > both.hi ? a : both;
}

export function sum(a: Interval, b: Interval): Interval {
  return interval(a.lo + b.lo, a.hi + b.hi);
}

export const negative = (x: Interval): Interval => interval(-x.hi, -x.lo, x.nearest);

const product1 = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

export function product(a: Interval, b: Interval): Interval {
  const ends = [product1(a.lo, b.lo), product1(a.lo, b.hi), product1(a.hi, b.lo), product1(a.hi, b.hi)];
  return interval(Math.min(...ends), Math.max(...ends), product1(a.nearest, b.nearest));
}

/** Of a value by itself, which is never negative. */
export function square(x: Interval): Interval {
  return interval(product1(x.nearest, x.nearest), Math.max(product1(x.lo, x.lo), product1(x.hi, x.hi)));
}

/** By something that is never 0; `smallest` is the least distance from it where no other is known. */
export function quotient(a: Interval, b: Interval, smallest: number): Interval {
  const isApart = b.lo > 0 || b.hi < 0;
  const most = 1 / (b.nearest || smallest);
  const least = b.lo < 0 || b.hi > 0 ? 1 / Math.max(-b.lo, b.hi) : 0;
  const inverse = isApart
    ? interval(1 / b.hi, 1 / b.lo)
    : interval(b.lo < 0 ? -most : 0, b.hi > 0 ? most : 0, Math.min(least, most));
  return product(a, inverse);
}

export function least(a: Interval, b: Interval): Interval {
  return interval(Math.min(a.lo, b.lo), Math.min(a.hi, b.hi), Math.min(a.nearest, b.nearest));
}

export function greatest(a: Interval, b: Interval): Interval {
  return interval(Math.max(a.lo, b.lo), Math.max(a.hi, b.hi), Math.min(a.nearest, b.nearest));
}

/** Of a number without its sign. */
export function magnitude(x: Interval): Interval {
  return interval(x.nearest, Math.max(-x.lo, x.hi));
}

/** Of a function that never falls. */
export function rising(x: Interval, fn: (x: number) => number): Interval {
  return interval(fn(x.lo), fn(x.hi));
}

/** Fractions are cut off. */
export const truncated = (x: Interval): Interval => interval(Math.trunc(x.lo), Math.trunc(x.hi));
