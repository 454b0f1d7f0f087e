/** Functions and conversions of the language, as data. */
import { type Layout, type Placement, printLayout, sameLayout } from "../types/layout.js";

/** Elementwise functions of one value, and whether they work on whole numbers too. */
export const UNARY = {
  exp: { integers: false },
  exp2: { integers: false },
  expm1: { integers: false },
  log: { integers: false },
  log1p: { integers: false },
  sqrt: { integers: false },
  rsqrt: { integers: false },
  sin: { integers: false },
  cos: { integers: false },
  tanh: { integers: false },
  erf: { integers: false },
  gelu: { integers: false },
  silu: { integers: false },
  sigmoid: { integers: false },
  floor: { integers: false },
  ceil: { integers: false },
  round: { integers: false },
  trunc: { integers: false },
  abs: { integers: true },
  relu: { integers: true },
} as const;

export const UNARY_NAMES = Object.keys(UNARY) as (keyof typeof UNARY)[];

export function isUnary(name: string): name is keyof typeof UNARY {
  return Object.hasOwn(UNARY, name);
}

/** Functions of two values. */
export const PAIRS: readonly string[] = ["min", "max", "pow"];

export function isPair(name: string): boolean {
  return PAIRS.includes(name);
}

export interface Conversion {
  /** Kind of layout it starts from. */
  readonly from: Placement["kind"];
  /** Kind of layout it gives. */
  readonly to: Placement["kind"];
  /** What it must be told besides the tensor. */
  readonly argument: "dim" | "to" | null;
  /** It may be told the dimension it starts from, which is known anyway: `all_gather(a, dim: 0)`. */
  readonly mayNameDim: boolean;
}

// prettier-ignore
const TABLE = {
  all_reduce: { from: "partial", to: "replicated", argument: null, mayNameDim: false },
  reduce_scatter: { from: "partial", to: "sharded", argument: "dim", mayNameDim: false },
  all_gather: { from: "sharded", to: "replicated", argument: null, mayNameDim: true },
  all_to_all: { from: "sharded", to: "sharded", argument: "dim", mayNameDim: false },
  broadcast: { from: "on", to: "replicated", argument: null, mayNameDim: false },
  reduce: { from: "partial", to: "on", argument: "to", mayNameDim: false },
  gather: { from: "sharded", to: "on", argument: "to", mayNameDim: true },
  scatter: { from: "on", to: "sharded", argument: "dim", mayNameDim: false },
} as const satisfies Record<string, Conversion>;

export const CONVERSIONS: ReadonlyMap<string, Conversion> = new Map(Object.entries(TABLE));
export const CONVERSION_NAMES: readonly string[] = [...CONVERSIONS.keys()];

/** The conversion that leads from one layout to another, as it would be written; null if there is none. */
export function conversionBetween(from: Layout, to: Layout, operand = "…"): string | null {
  if (from.kind === "grid" || to.kind === "grid" || from.axis !== undefined || to.axis !== undefined)
    return conversionAlong(from, to, operand);
  for (const [name, c] of CONVERSIONS) {
    if (c.from !== from.kind || c.to !== to.kind) continue;
    if (to.kind === "sharded") return `${name}(${operand}, dim: ${to.dim})`;
    return to.kind === "on" ? `${name}(${operand}, to: ${to.rank})` : `${name}(${operand})`;
  }
  return null;
}

/** The same where layouts speak of axes: if they differ along one. */
function conversionAlong(from: Layout, to: Layout, operand: string): string | null {
  const along = (l: Layout, axis: string): Placement => {
    if (l.kind === "grid") return l.parts.find((p) => p.axis === axis) ?? { kind: "local" };
    return l.axis === undefined || l.axis === axis ? l : { kind: "local" };
  };
  const axesOf = (l: Layout): readonly string[] =>
    l.kind === "grid" ? l.parts.map((p) => p.axis) : l.axis === undefined ? [] : [l.axis];
  const plain = (p: Placement & { readonly axis?: string }): Placement => {
    const { axis: _, ...placement } = p;
    return placement;
  };
  const changed = [...new Set([...axesOf(from), ...axesOf(to)])].flatMap((axis) => {
    const [before, after] = [plain(along(from, axis)), plain(along(to, axis))];
    return sameLayout(before, after) ? [] : [{ axis, before, after }];
  });
  if (changed.length !== 1) return null;
  const { axis, before, after } = changed[0]!;
  return conversionBetween(before, after, operand)?.replace(/\)$/, `, over: ${axis})`) ?? null;
}

/** Functions of whole tensors alone; `min` and `max` are these only where they name a dimension. */
export const TENSOR_FUNCTIONS: ReadonlySet<string> = new Set([
  ...CONVERSION_NAMES,
  ...["sum", "prod", "mean", "transpose", "permute", "reshape", "repeat", "concat", "iota"],
]);

/** What leads from a layout to `replicated`; null if nothing does. */
export function gatherOf(from: Layout, operand = "…"): string | null {
  if (from.kind !== "grid") {
    const { axis } = from;
    return conversionBetween(from, axis === undefined ? { kind: "replicated" } : { kind: "replicated", axis }, operand);
  }
  // One axis after the other: the first that has something to give.
  const at = from.parts.findLastIndex((p) => p.kind !== "replicated");
  const parts = from.parts.map((p, i) => (i === at ? { kind: "replicated" as const, axis: p.axis } : p));
  return conversionBetween(from, { kind: "grid", parts }, operand);
}

/** "a partial tensor, such as partial(sum)" */
export function describeKind(kind: Placement["kind"]): string {
  const examples: Partial<Record<Placement["kind"], Placement>> = {
    partial: { kind: "partial", op: "sum" },
    sharded: { kind: "sharded", dim: 0 },
    on: { kind: "on", rank: 0 },
  };
  const example = examples[kind];
  return example === undefined ? `a ${kind} tensor` : `a tensor laid out like ${printLayout(example)}`;
}
