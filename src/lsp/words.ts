/** What the language itself names, with a line on each for hovers and completion. */
import { type TokenRow, VOCABULARY } from "../../grammar/tokens.js";
import { CONVERSIONS, DTYPE_NAMES, DTYPES, REDUCTION_OPS, UNARY_NAMES, usageOf } from "../compiler/index.js";

export type WordKind = "keyword" | "function" | "conversion" | "reduction" | "dtype" | "layout" | "value";

export interface Word {
  readonly name: string;
  readonly kind: WordKind;
  /** How it is written. */
  readonly usage: string;
  readonly doc: string;
}

const FUNCTIONS: Readonly<Record<string, string>> = {
  exp: "e to the power of v.",
  exp2: "2 to the power of v.",
  expm1: "exp(v) - 1, without losing what is left of it near 0.",
  log: "The natural logarithm.",
  log1p: "log(1 + v), without losing v where it is small.",
  sqrt: "The square root.",
  rsqrt: "1 / sqrt(v).",
  sin: "The sine of v, in radians.",
  cos: "The cosine of v, in radians.",
  tanh: "The hyperbolic tangent.",
  erf: "The error function, 2/√π · ∫ exp(-t²) from 0 to v.",
  gelu: "GELU, v · Φ(v), with the exact error function.",
  silu: "v · σ(v), also called swish.",
  sigmoid: "σ(v) = 1 / (1 + exp(-v)).",
  floor: "The largest whole number that is no more than v; a float.",
  ceil: "The smallest whole number that is no less than v; a float.",
  round: "The nearest whole number, of two the even one; a float.",
  trunc: "v without its fraction; a float.",
  abs: "The absolute value; of integers, too.",
  relu: "v, and 0 where v is below 0; of integers, too.",
};

/** Functions of whole tensors, and those that are no function of one element. */
const MORE: Readonly<Record<string, string>> = {
  index: "An integer element as an index; what it is, only the launch knows.",
  log2: "The logarithm of a constant, rounded down.",
  transpose: "Rows become columns; the layout goes with its dimension.",
  permute: "The dimensions in another order.",
  reshape: "The same elements in another shape.",
  repeat: "Each index of a dimension n times, one after the other.",
  concat: "One after the other along a dimension.",
  pow: "a to the power of b; of floats.",
  iota: "Of each element its index along a dimension, an i32 tensor on every rank.",
  mean: "The mean along a dimension; `sum`, `min`, `max` and `prod` fold in the same way.",
  where: "a where the condition c holds, else b; both are evaluated.",
};

const REDUCTIONS: Readonly<Record<string, string>> = {
  sum: "The sum of what follows, for each value of the variable, in increasing order.",
  avg: "The sum, divided by the count once.",
  min: "The smallest; min(a, b) of two elements or indices.",
  max: "The largest; max(a, b) of two elements or indices.",
  prod: "The product.",
};

const LAYOUTS: Readonly<Record<string, readonly [usage: string, doc: string]>> = {
  replicated: ["replicated", "Every rank holds the whole, equal bit for bit."],
  sharded: ["sharded(d)", "Rank r holds the r-th equal slice of dimension d."],
  partial: [
    "partial(op)",
    "The tensor is the op (sum, avg, min, max, prod) of all ranks' tensors, element by element.",
  ],
  on: ["on(r)", "Rank r holds the whole; the others' memory means nothing."],
  local: ["local", "Each rank has a tensor of its own; the ranks' tensors are unrelated."],
};

/** `reduce_scatter(t, dim: d)` changes partial to sharded. */
function conversionWord(name: string): Word {
  const { from, to } = CONVERSIONS.get(name)!;
  return { name, kind: "conversion", usage: usageOf(name)!, doc: `From ${layoutUsage(from)} to ${layoutUsage(to)}; the logical tensor stays.` }; // prettier-ignore
}

function layoutUsage(kind: string): string {
  return `\`${LAYOUTS[kind]?.[0] ?? kind}\``;
}

function keywords(): Word[] {
  const rows: readonly TokenRow[] = Object.values(VOCABULARY);
  return rows.flatMap((row) =>
    row.category === "keyword" && typeof row.pattern === "string"
      ? [{ name: row.pattern, kind: "keyword" as const, usage: row.pattern, doc: row.doc }]
      : [],
  );
}

const dtypeDoc = (name: (typeof DTYPE_NAMES)[number]): string => {
  const { bytes, compute } = DTYPES[name];
  return `${bytes} byte${bytes === 1 ? "" : "s"}; arithmetic in ${compute}. As a function, rounds an element to it.`;
};

/** All of them; a name may be here twice, as `where` and `min` mean two things. */
export const WORDS: readonly Word[] = [
  ...keywords(),
  ...UNARY_NAMES.map((name): Word => ({ name, kind: "function", usage: usageOf(name)!, doc: FUNCTIONS[name] ?? "A function of one value." })),
  ...Object.entries(MORE).map(([name, doc]): Word => ({ name, kind: "function", usage: usageOf(name)!, doc })),
  ...[...CONVERSIONS.keys()].map(conversionWord),
  ...REDUCTION_OPS.map((name): Word => ({ name, kind: "reduction", usage: `${name}(p in ranks) …`, doc: REDUCTIONS[name] ?? "A reduction." })),
  ...DTYPE_NAMES.map((name): Word => ({ name, kind: "dtype", usage: name, doc: dtypeDoc(name) })),
  ...Object.entries(LAYOUTS).map(([name, [usage, doc]]): Word => ({ name, kind: "layout", usage, doc })),
  { name: "rank", kind: "value", usage: "rank", doc: "This rank's number, from 0." },
  { name: "world", kind: "value", usage: "world", doc: "The number of ranks, a constant of the compiled kernel." },
]; // prettier-ignore

/** Names that no author may take. Layouts are free: they stand where nothing else can. */
export const RESERVED: ReadonlySet<string> = new Set(WORDS.filter((w) => w.kind !== "layout").map((w) => w.name));

export const KEYWORDS: ReadonlySet<string> = new Set(WORDS.filter((w) => w.kind === "keyword").map((w) => w.name));
