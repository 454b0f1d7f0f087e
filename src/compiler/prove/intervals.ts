/**
 * Where the numbers of a value lie, as the machine computes them: ends are moved outward by each rounding. Sound for every
 * value between the ends of the operands, so what fits by these fits in every execution.
 */
import { type DType, DTYPES, isDType, type ScalarKind } from "../types/dtype.js";

/** All numbers from `lo` to `hi`, both included; infinite where nothing limits them. */
export interface Interval {
  readonly lo: number;
  readonly hi: number;
  /** 0 is between the ends and yet no value: exponentials are positive, however small. */
  readonly isNotZero: boolean;
}

/** Ends that are no numbers, as ∞ - ∞, limit nothing. */
export function interval(lo: number, hi: number, isNotZero = false): Interval {
  return { lo: Number.isNaN(lo) ? -Infinity : lo, hi: Number.isNaN(hi) ? Infinity : hi, isNotZero };
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
  const { lo, hi } = allOf(kind);
  return interval(Math.min(Math.max(x.lo, lo), hi), Math.max(Math.min(x.hi, hi), lo), x.isNotZero);
}

/** Whether a number is one of a dtype, and so stays where it is rounded. */
function isNumberOf(dtype: DType, x: number): boolean {
  if (x === 0 || Number.isInteger(x / SMALLEST[dtype]!) === false) return x === 0;
  const step = 2 ** Math.floor(Math.log2(Math.abs(x))) * 2 * DTYPES[dtype].epsilon;
  return Number.isInteger(x / step);
}

/** Values after they were rounded to a float dtype `times` times; what is rounded to 0 is not said to be different from it. */
export function rounded(x: Interval, dtype: DType, times = 1): Interval {
  const unit = 2 * times * DTYPES[dtype].epsilon;
  const smallest = SMALLEST[dtype]!;
  const below = (at: number): number => {
    const lo = at - Math.abs(at) * unit - smallest * times;
    if (at === Infinity || (times === 1 && isNumberOf(dtype, at))) return at;
    return at >= smallest ? Math.max(lo, smallest) : at >= 0 ? 0 : lo;
  };
  return interval(below(x.lo), -below(-x.hi));
}

/** The smallest positive number of f32. */
export const SMALLEST_F32 = 2 ** -149;

/** The smallest positive number of a float dtype. */
export function smallestOf(dtype: DType): number {
  return SMALLEST[dtype]!;
}

/** Whether no value is 0. */
export const isNeverZero = (x: Interval): boolean => x.lo > 0 || x.hi < 0 || x.isNotZero;

/** Whether all values are greater than 0. */
export const isPositive = (x: Interval): boolean => x.lo > 0 || (x.lo >= 0 && x.isNotZero);

export function hull(a: Interval, b: Interval): Interval {
  return interval(Math.min(a.lo, b.lo), Math.max(a.hi, b.hi), isNeverZero(a) && isNeverZero(b));
}

/** The numbers that lie in both; the first, where none does: nothing ever comes there. */
export function overlap(a: Interval, b: Interval): Interval {
  const [lo, hi] = [Math.max(a.lo, b.lo), Math.min(a.hi, b.hi)];
  return lo > hi ? a : interval(lo, hi, a.isNotZero || b.isNotZero);
}

export function sum(a: Interval, b: Interval): Interval {
  const isNotZero = (isPositive(a) && b.lo >= 0) || (isPositive(b) && a.lo >= 0);
  return interval(a.lo + b.lo, a.hi + b.hi, isNotZero);
}

export const negative = (x: Interval): Interval => interval(-x.hi, -x.lo, x.isNotZero);

const product1 = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

export function product(a: Interval, b: Interval): Interval {
  const ends = [product1(a.lo, b.lo), product1(a.lo, b.hi), product1(a.hi, b.lo), product1(a.hi, b.hi)];
  return interval(Math.min(...ends), Math.max(...ends), isNeverZero(a) && isNeverZero(b));
}

/** Of a value by itself, which is never negative. */
export function square(x: Interval): Interval {
  const [a, b] = [product1(x.lo, x.lo), product1(x.hi, x.hi)];
  return interval(x.lo <= 0 && x.hi >= 0 ? 0 : Math.min(a, b), Math.max(a, b), isNeverZero(x));
}

/** By something that is never 0; `smallest` is the least distance from it. */
export function quotient(a: Interval, b: Interval, smallest: number): Interval {
  const isApart = b.lo > 0 || b.hi < 0;
  const inverse = isApart
    ? interval(1 / b.hi, 1 / b.lo)
    : interval(b.lo < 0 ? -1 / smallest : 0, b.hi > 0 ? 1 / smallest : 0);
  return { ...product(a, inverse), isNotZero: isNeverZero(a) };
}

export function least(a: Interval, b: Interval): Interval {
  return interval(Math.min(a.lo, b.lo), Math.min(a.hi, b.hi), isNeverZero(a) && isNeverZero(b));
}

export function greatest(a: Interval, b: Interval): Interval {
  const isNotZero = isPositive(a) || isPositive(b) || (isNeverZero(a) && isNeverZero(b));
  return interval(Math.max(a.lo, b.lo), Math.max(a.hi, b.hi), isNotZero);
}

/** Of a number without its sign. */
export function magnitude(x: Interval): Interval {
  const { hi } = greatest(x, negative(x));
  return interval(Math.max(0, x.lo, -x.hi), hi, isNeverZero(x));
}

/** Of a function that never falls. */
export function rising(x: Interval, fn: (x: number) => number, isNotZero = false): Interval {
  return interval(fn(x.lo), fn(x.hi), isNotZero);
}

/** Fractions are cut off. */
export const truncated = (x: Interval): Interval => interval(Math.trunc(x.lo), Math.trunc(x.hi));
