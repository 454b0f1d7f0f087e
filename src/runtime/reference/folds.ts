/** Folds along a dimension in float64, with the error that float32 sums in any order may make. */
import { InternalCompilerError, type Specification, U32 } from "../../compiler/index.js";
import { maximum, minimum, REDUCE } from "../../compiler/index.js";
import { type Context, evaluateRows, evaluateWhole, specificationShape, wholeOf } from "./evaluate.js";
import { PartialSums, type Rows, sumError, timesWhole, type Whole32, wrap } from "./logical.js";
import { epsilonOf, isSharded } from "./over-ranks.js";
import { startsOf } from "./starts.js";
import { WIDE_STARTS, wideBinary, wideOf, wideRows } from "./wide.js";

type Fold = Extract<Specification, { kind: "fold" }>;

/**
 * Rows of a fold. Sums of n float32 numbers err by at most (n - 1)·u·Σ|x| in any order; as rounding errors behave like a
 * random walk, 6·√n·u·s holds but once in 3·10^7 (see `LAMBDA`), where s bounds the partial sums, so the smaller is allowed. What each rank folds
 * of a dimension that lies over all of them is rounded before it is added to others'.
 */
export function foldRows(s: Fold, c: Context, first: number, last: number, self: number): Rows {
  const own = specificationShape(s.a, c);
  const rows = s.dim === 0 ? evaluateWhole(s.a, c, self) : evaluateRows(s.a, c, first, last, self);
  const length = own[s.dim]!;
  const inner = own.slice(s.dim + 1).reduce((a, n) => a * n, 1);
  const outer = s.dim === 0 ? 1 : own.slice(1, s.dim).reduce((a, n) => a * n, last - first);
  const whole = wholeOf(s, c);
  if (whole === "i64") return wideFold(s.fn, wideOf(rows), outer, length, inner);
  const values = new Float64Array(outer * inner);
  const error = new Float64Array(outer * inner);
  const isSum = s.fn === "sum" || s.fn === "mean";
  const parts = isSum && whole === null ? partsOf(s, length, c) : null;
  const sizes = isSum && (rows.sizes !== undefined || parts !== null) ? new Float64Array(outer * inner) : null;
  const start = whole === null ? 0 : startsOf(s.a, whole, c.manifest)(s.fn);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      const at = (k: number): number => (o * length + k) * inner + i;
      const to = o * inner + i;
      if (whole !== null) {
        values[to] = foldWhole(s.fn, whole, start, length, (k) => rows.values[at(k)]!);
        // Nothing is rounded, but terms that roundings have left open are.
        if (rows.error !== null)
          error[to] = wholeError(s.fn, length, (k) => [Math.abs(rows.values[at(k)]!), rows.error![at(k)]!]);
        continue;
      }
      [values[to], error[to]] = foldOne(s.fn, length, (k) => [rows.values[at(k)]!, rows.error?.[at(k)] ?? 0]);
      if (sizes === null) continue;
      const divisor = s.fn === "mean" ? length : 1;
      if (rows.sizes !== undefined) {
        for (let k = 0; k < length; k++) sizes[to] = sizes[to]! + rows.sizes[at(k)]! / divisor;
        continue;
      }
      for (let from = 0; from < length; from += parts!.each) {
        let part = 0;
        for (let k = from; k < from + parts!.each; k++) part += rows.values[at(k)]! / divisor;
        sizes[to] = sizes[to]! + Math.abs(part);
      }
      error[to] = error[to]! + parts!.epsilon * sizes[to]!;
    }
  const isExact =
    (whole !== null && error.every((e) => e === 0)) || ((s.fn === "min" || s.fn === "max") && rows.error === null);
  return { values, error: isExact ? null : error, copied: false, ...(sizes === null ? {} : { sizes }) };
}

/**
 * Of a fold along a dimension that lies over the ranks, each rank folds a part, which is rounded once before ranks meet, as that of a product is.
 * @returns how many indices each rank has, and the part that each may be off by; null where no rank has a part of its own
 */
function partsOf(s: Fold, length: number, c: Context): { readonly each: number; readonly epsilon: number } | null {
  const { ranks } = c.manifest;
  if (ranks === 1 || length === 0 || length % ranks !== 0 || !isSharded(s.a, s.dim, c)) return null;
  return { each: length / ranks, epsilon: epsilonOf(s, c) };
}

function wideFold(fn: Fold["fn"], elements: BigInt64Array, outer: number, length: number, inner: number): Rows {
  if (fn === "mean") throw new InternalCompilerError("there is no mean of i64");
  const f = wideBinary(REDUCE[fn].fn);
  const wide = new BigInt64Array(outer * inner).fill(WIDE_STARTS[fn]);
  for (let o = 0; o < outer; o++)
    for (let k = 0; k < length; k++)
      for (let i = 0; i < inner; i++)
        wide[o * inner + i] = f(wide[o * inner + i]!, elements[(o * length + k) * inner + i]!);
  return wideRows(wide);
}

function foldWhole(
  fn: Fold["fn"],
  whole: Whole32,
  start: number,
  length: number,
  element: (k: number) => number,
): number {
  let total = start;
  for (let k = 0; k < length; k++) {
    const x = element(k);
    if (fn === "min") total = Math.min(total, x);
    else if (fn === "max") total = Math.max(total, x);
    else total = fn === "prod" ? timesWhole(whole, total, x) : wrap(whole, total + x);
  }
  return fn === "mean" ? Math.trunc(total / length) : total;
}

/** How far a fold of whole numbers may be from what it is of the numbers given. @param element its size, and how far it may be off */
function wholeError(fn: Fold["fn"], length: number, element: (k: number) => readonly [number, number]): number {
  let [size, error] = [1, 0];
  for (let k = 0; k < length; k++) {
    const [x, e] = element(k);
    if (fn === "min" || fn === "max") error = Math.max(error, e);
    else if (fn === "prod") [size, error] = [size * x, x * error + size * e + error * e];
    else error += e;
  }
  return fn === "mean" ? Math.ceil(error / length) : error;
}

function foldOne(fn: Fold["fn"], length: number, element: (k: number) => readonly [number, number]): [number, number] {
  if (length === 0) return [fn === "mean" ? NaN : REDUCE[fn].identity("f32"), 0];
  if (fn === "min" || fn === "max") {
    let [value, error] = element(0);
    for (let k = 1; k < length; k++) {
      const [x, e] = element(k);
      value = fn === "min" ? minimum(value, x) : maximum(value, x);
      error = Math.max(error, e);
    }
    return [value, error];
  }
  if (fn === "prod") {
    let [value, error] = element(0);
    for (let k = 1; k < length; k++) {
      const [x, e] = element(k);
      error = Math.abs(x) * error + Math.abs(value) * e + error * e + U32 * Math.abs(value * x);
      value *= x;
    }
    return [value, error];
  }
  let [value, size, error] = [0, 0, 0];
  const partial = new PartialSums(length);
  for (let k = 0; k < length; k++) {
    const [x, e] = element(k);
    value += x;
    size += Math.abs(x);
    error += e;
    partial.add(x);
  }
  error += sumError(length, size, partial.bound);
  return fn === "sum" ? [value, error] : [value / length, error / length + (3 * U32 * size) / length];
}
