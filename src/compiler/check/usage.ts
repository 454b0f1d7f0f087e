/** How functions are written, and what those of other systems are called here: for messages, and for the editor. */
import { DTYPE_NAMES } from "../types/dtype.js";
import { type Conversion, CONVERSION_NAMES, CONVERSIONS, UNARY_NAMES } from "./functions.js";

const WRITTEN: Readonly<Record<string, string>> = {
  where: "where(c, a, b)",
  min: "min(a, b), or along a dimension min(t, dim: d)",
  max: "max(a, b), or along a dimension max(t, dim: d)",
  sum: "sum(t, dim: d)",
  prod: "prod(t, dim: d)",
  mean: "mean(t, dim: d)",
  pow: "pow(a, b)",
  index: "index(v)",
  log2: "log2(c)",
  transpose: "transpose(t)",
  permute: "permute(t, d, …)",
  reshape: "reshape(t, n, …)",
  repeat: "repeat(t, dim: d, times: n)",
  concat: "concat(t, u, …, dim: d)",
  iota: "iota(n), iota(m, n, dim: d)",
};

/** `reduce_scatter(t, dim: d)` */
function conversionUsage(name: string, { argument }: Conversion): string {
  return argument === null ? `${name}(t)` : `${name}(t, ${argument}: ${argument === "dim" ? "d" : "r"})`;
}

/** How a function is written, `t` a tensor, `v` an element, `d` a dimension's number, `r` a rank; null of what is no function. */
export function usageOf(name: string): string | null {
  const conversion = CONVERSIONS.get(name);
  if (conversion !== undefined) return conversionUsage(name, conversion);
  if (Object.hasOwn(WRITTEN, name)) return WRITTEN[name]!;
  const isOfOne =
    (UNARY_NAMES as readonly string[]).includes(name) || (DTYPE_NAMES as readonly string[]).includes(name);
  return isOfOne ? `${name}(v)` : null;
}

/** What those who know other systems have to be told besides. */
const NOTES: Readonly<Record<string, string>> = {
  transpose: ", of the last two dimensions; permute(t, d, …) takes any order",
  broadcast: ", from one rank to all; a length of 1 goes with any length by itself",
};

/** "written transpose(t), of the last two dimensions; …" for a call with other arguments than a function has; null of what is no function. */
export function writtenAs(name: string): string | null {
  const usage = usageOf(name);
  if (usage === null) return null;
  const isOfParts = CONVERSIONS.get(name)?.from === "partial";
  const which =
    "; which reduction it is the tensor says: it is partial(max) in the signature, or made by max(…, dim: d)";
  return `written ${usage}${isOfParts ? which : ""}${Object.hasOwn(NOTES, name) ? NOTES[name]! : ""}`;
}

const RESHAPED = "it is reshape(t, n, …), with all lengths";

/** What others have as a function. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ...{ matmul: "a product of matrices is a @ b", mm: "a product of matrices is a @ b" },
  ...{
    bmm: "a product of matrices is a @ b, dimensions before the last two go along",
    dot: "a product of matrices is a @ b",
  },
  einsum: "a product of matrices is a @ b, and permute(t, d, …) puts dimensions in order",
  linear: "it is x @ transpose(w) + bias",
  ...{ cat: "it is concat(t, u, dim: d)", concatenate: "it is concat(t, u, dim: d)" },
  stack: "reshape each to a length of 1 along the new dimension, then concat(t, u, dim: d)",
  ...{ view: RESHAPED, flatten: RESHAPED, squeeze: RESHAPED, unsqueeze: RESHAPED },
  ...{
    expand: "nothing is needed: a length of 1 goes with any length beside it",
    tile: "repeat(t, dim: d, times: n) has each index n times",
  },
  ...{ clamp: "it is max(min(t, most), least)", clip: "it is max(min(t, most), least)" },
  ...{ amax: "it is max(t, dim: d)", amin: "it is min(t, dim: d)" },
  argmax: "the first index of the largest is min(where(t == max(t, dim: d), iota(…, dim: d), 2147483647), dim: d)",
  argmin: "the first index of the smallest is min(where(t == min(t, dim: d), iota(…, dim: d), 2147483647), dim: d)",
  softmax: "with e = exp(t - max(t, dim: d)) it is e / sum(e, dim: d)",
  logsumexp: "with top = max(t, dim: d) it is top + log(sum(exp(t - top), dim: d))",
  rms_norm: 'the library has it: import rms_norm from "common/norm.coll"',
  layer_norm: "with u = t - mean(t, dim: d) it is u * rsqrt(mean(u * u, dim: d) + eps)",
  var: "with u = t - mean(t, dim: d) it is mean(u * u, dim: d)",
  std: "with u = t - mean(t, dim: d) it is sqrt(mean(u * u, dim: d))",
  arange: "it is iota(n)",
  swish: "it is silu(v)",
  square: "it is v * v",
  reciprocal: "it is 1 / v",
  neg: "it is -v",
  avg: "along a dimension, it is mean(x, dim: d)",
  ...{ allreduce: "it is all_reduce(t)", psum: "it is all_reduce(t)", allgather: "it is all_gather(t)" },
};

/** What a function of another system is here; null where nothing is known of it. */
export function elsewhere(name: string): string | null {
  return Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name]! : null;
}

/** The functions there are, where nothing is near the one that was written. */
export function functionsHelp(isOfTensors: boolean): string {
  const ofTensors = [
    ...CONVERSION_NAMES,
    ...Object.keys(WRITTEN).filter((name) => name !== "index" && name !== "log2"),
  ];
  const names = isOfTensors ? ofTensors : ["where", "min", "max", "pow", "index", "log2"];
  return `functions are ${[...names, ...UNARY_NAMES].join(", ")}, and dtypes`;
}
