/** Functions and conversions of the language, as data. */
import type { Layout } from "../types/layout.js";

/** Elementwise functions of one value. */
export const UNARY_NAMES = ["exp", "log", "sqrt", "rsqrt", "tanh", "abs", "relu", "gelu", "silu"] as const;

export interface Conversion {
  /** Layout it starts from. */
  readonly from: Layout["kind"];
  /** What it needs besides the tensor. */
  readonly argument: "dim" | "to" | null;
  /** Kind of layout it gives. */
  readonly to: Layout["kind"];
}

export const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  all_reduce: { from: "partial", argument: null, to: "replicated" },
  reduce_scatter: { from: "partial", argument: "dim", to: "sharded" },
  all_gather: { from: "sharded", argument: null, to: "replicated" },
  all_to_all: { from: "sharded", argument: "dim", to: "sharded" },
  broadcast: { from: "on", argument: null, to: "replicated" },
  reduce: { from: "partial", argument: "to", to: "on" },
  gather: { from: "sharded", argument: "to", to: "on" },
  scatter: { from: "on", argument: "dim", to: "sharded" },
};

export const CONVERSION_NAMES = Object.keys(CONVERSIONS);

/** The conversion that leads from one layout to another, as it would be written; null if there is none. */
export function conversionBetween(from: Layout, to: Layout): string | null {
  if (from.kind === "replicated" && to.kind === "sharded") return null; // implied where it is used
  for (const [name, c] of Object.entries(CONVERSIONS)) {
    if (c.from !== from.kind || c.to !== to.kind) continue;
    if (to.kind === "sharded") return `${name}(…, dim: ${to.dim})`;
    if (to.kind === "on") return `${name}(…, to: ${to.rank})`;
    return `${name}(…)`;
  }
  return null;
}
