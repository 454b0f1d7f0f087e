/** How a value lies over the ranks while a region becomes a graph. */
import type { GraphOperand } from "../graph.js";

/** Why a region is no graph, in words that follow "not fused because". */
export class Unfusable extends Error {}

/**
 * `replicated`, `local`, `sharded` along a dimension, `partial` by a reduction, `on` a rank; `stacked`: the ranks' own tensors as the
 * rows of one, which is sharded along the dimension in front.
 */
export type Mode = "replicated" | "local" | "stacked" | `sharded(${number})` | `partial(${string})` | `on(${number})`;
/** `any`: whatever it comes out as. */
export type Wanted = Mode | "any";

/** A value of the graph, and how it lies. */
export interface Realized {
  readonly id: GraphOperand;
  readonly mode: Mode;
}

export const dimOf = (mode: Mode): number => Number(/\d+/.exec(mode)![0]);
export const isSharded = (mode: Mode): boolean => mode.startsWith("sharded");
export const isPartial = (mode: Mode): boolean => mode.startsWith("partial");
export const sharded = (dim: number): Mode => `sharded(${dim})`;

/** As the language writes it. */
export const layoutOf = (mode: Mode): string => (mode === "stacked" ? sharded(0) : mode);

export function described(mode: Mode): string {
  if (isSharded(mode)) return `cut along dimension ${dimOf(mode)}`;
  if (isPartial(mode)) return "as each rank's summand";
  return mode === "replicated" ? "the same on every rank" : mode === "local" || mode === "stacked" ? "as each rank's own tensor" : `on rank ${dimOf(mode)}`; // prettier-ignore
}

export function wantedAs(mode: Mode): string {
  if (isSharded(mode)) return `a tensor that is cut along dimension ${dimOf(mode)}`;
  if (isPartial(mode)) return "a summand of each rank";
  return mode === "replicated" ? "one that all ranks have" : mode === "local" || mode === "stacked" ? "each rank's own" : `one on rank ${dimOf(mode)}`; // prettier-ignore
}
