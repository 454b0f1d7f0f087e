/** How a tensor lies over the ranks of a group. A collective is a change of layout. */

export type ReductionOp = "sum" | "avg" | "min" | "max" | "prod";

export const REDUCTION_OPS: readonly ReductionOp[] = ["sum", "avg", "min", "max", "prod"];

export type Layout =
  /** Every rank holds the whole, equal value. */
  | { readonly kind: "replicated" }
  /** Rank r holds the r-th equal slice of dimension `dim`. */
  | { readonly kind: "sharded"; readonly dim: number }
  /** The value is the reduction over all ranks' tensors. */
  | { readonly kind: "partial"; readonly op: ReductionOp }
  /** Only rank `rank`'s tensor counts. */
  | { readonly kind: "on"; readonly rank: number }
  /** Unrelated values, one a rank. */
  | { readonly kind: "local" };

/** The layout as it is written in Coll: `sharded(0)`, `partial(sum)`, … */
export function printLayout(layout: Layout): string {
  switch (layout.kind) {
    case "sharded":
      return `sharded(${layout.dim})`;
    case "partial":
      return `partial(${layout.op})`;
    case "on":
      return `on(${layout.rank})`;
    default:
      return layout.kind;
  }
}

export function sameLayout(a: Layout, b: Layout): boolean {
  return printLayout(a) === printLayout(b);
}
