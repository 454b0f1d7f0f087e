/** Folds along a dimension in float64, with the error that float32 sums in any order may make. */
import type { Specification } from "../../compiler/index.js";
import { maximum, minimum } from "../../compiler/index.js";
import { type Context, evaluateRows, evaluateWhole, isInteger, specificationShape } from "./evaluate.js";
import { type Rows, U32 } from "./logical.js";

type Fold = Extract<Specification, { kind: "fold" }>;

/**
 * Rows of a fold. Sums of n float32 numbers err by at most (n - 1)·u·Σ|x| in any order; as rounding errors behave like a
 * random walk, 6·√n·u·Σ|x| holds but once in 3·10^7 (see `product.ts`), so the smaller of the two is allowed.
 */
export function foldRows(s: Fold, c: Context, first: number, last: number, self: number): Rows {
  const own = specificationShape(s.a, c);
  const rows = s.dim === 0 ? evaluateWhole(s.a, c, self) : evaluateRows(s.a, c, first, last, self);
  const length = own[s.dim]!;
  const inner = own.slice(s.dim + 1).reduce((a, n) => a * n, 1);
  const outer = s.dim === 0 ? 1 : own.slice(1, s.dim).reduce((a, n) => a * n, last - first);
  const values = new Float64Array(outer * inner);
  const error = new Float64Array(outer * inner);
  const integer = isInteger(s, c);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      const at = (k: number): number => (o * length + k) * inner + i;
      [values[o * inner + i], error[o * inner + i]] = foldOne(s.fn, length, (k) => [
        rows.values[at(k)]!,
        rows.error?.[at(k)] ?? 0,
      ]);
      if (integer && s.fn === "mean") values[o * inner + i] = Math.trunc(values[o * inner + i]!);
    }
  const isExact = integer || ((s.fn === "min" || s.fn === "max") && rows.error === null);
  return { values, error: isExact ? null : error, copied: false };
}

function foldOne(fn: Fold["fn"], length: number, element: (k: number) => readonly [number, number]): [number, number] {
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
  for (let k = 0; k < length; k++) {
    const [x, e] = element(k);
    value += x;
    size += Math.abs(x);
    error += e;
  }
  error += Math.min(length - 1, 6 * Math.sqrt(length)) * U32 * size;
  return fn === "sum" ? [value, error] : [value / length, error / length + (3 * U32 * size) / length];
}
