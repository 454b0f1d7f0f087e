/** What softmax, variances and norms of an FX graph mean, in float64: of the reference, and plain loops as all of it. */
import { type Dense, map, PAIRS, reduction, reshaped, scalar } from "../arrays.js";
import type { FxArgument, FxNode } from "./fx.js";

/** The value of a node that is positional, or the list that torch's own gives; null for one that is no norm. @param value of an argument that is a tensor */
export function normOf(
  { args = [], shape }: FxNode<number>,
  name: string,
  value: (a: FxArgument | undefined) => Dense,
): Dense | readonly Dense[] | null {
  const [a, b, c, d, e] = args;
  const last = (x: Dense): number[] => (b as readonly number[]).map((_, i, all) => x.shape.length - all.length + i);
  switch (name) {
    case "_softmax":
    case "softmax": {
      // prettier-ignore
      const x = value(a);
      const [dim] = dimsOf(x, b) as [number];
      const powers = map((v, most) => Math.exp(v - most), x, reduction("max", x, dim));
      return map(PAIRS["div"]!, powers, reduction("sum", powers, dim));
    }
    case "_log_softmax":
    case "log_softmax": {
      // prettier-ignore
      const x = value(a);
      const total = reduction("sum", map(Math.exp, x), dimsOf(x, b)[0]!);
      return map((v, sum) => v - Math.log(sum), x, total);
    }
    case "var":
    case "var_mean": {
      // prettier-ignore
      const x = value(a);
      const along = dimsOf(x, b);
      const count = along.reduce((n, dim) => n * x.shape[dim]!, 1);
      const { mean, squares } = spread(x, along);
      const kept = (y: Dense): Dense => (d === true ? y : reshaped(y, y.shape.filter((_, n) => !along.includes(n)))); // prettier-ignore
      const variance = kept(map((s) => s / (count - Number(c ?? 1)), squares));
      return name === "var" ? variance : [variance, kept(mean)];
    }
    case "rms_norm":
    case "_fused_rms_norm": {
      // prettier-ignore
      const x = value(a);
      const mean = last(x).reduce((y, n) => reduction("mean", y, n), map((v) => v * v, x)); // prettier-ignore
      const scale = map((m) => 1 / Math.sqrt(m + Number(d ?? 2 ** -23)), mean);
      const y = map((v, by, w) => v * by * w, x, scale, c == null ? scalar(1) : value(c));
      // Torch's own is a tuple, which has no shape.
      return name === "_fused_rms_norm" && shape === undefined ? [y, scale] : y;
    }
    case "layer_norm":
    case "native_layer_norm": {
      // prettier-ignore
      const x = value(a);
      const count = last(x).reduce((n, dim) => n * x.shape[dim]!, 1);
      const { mean, squares } = spread(x, last(x));
      const scale = map((s) => 1 / Math.sqrt(s / count + Number(e ?? 1e-5)), squares);
      const [weight, bias] = [c == null ? scalar(1) : value(c), d == null ? scalar(0) : value(d)];
      const y = map((v, m, by, w, plus) => (v - m) * by * w + plus, x, mean, scale, weight, bias);
      return name === "layer_norm" ? y : [y, mean, scale];
    }
    default:
      return null;
  }
}

/** The mean over some dimensions, and the sum of the squares of what is left without it; both keep the dimensions. */
function spread(x: Dense, along: readonly number[]): { readonly mean: Dense; readonly squares: Dense } {
  const mean = along.reduce((y, n) => reduction("mean", y, n), x);
  const squares = along.reduce((y, n) => reduction("sum", y, n), map((v, m) => (v - m) ** 2, x, mean)); // prettier-ignore
  return { mean, squares };
}

/** Dimensions as a node names them, from 0 on; all of them where it names none. */
export function dimsOf({ shape }: Dense, given: FxArgument | undefined): number[] {
  const list = given == null ? [] : Array.isArray(given) ? given.map(Number) : [Number(given)];
  return list.length === 0 ? [...shape.keys()] : list.map((n) => (n < 0 ? n + shape.length : n));
}
