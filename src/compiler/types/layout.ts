/**
 * How a tensor lies over the ranks of a group. A collective is a change of layout. With an axis of the mesh, the layout
 * is about the ranks of one row along it, and the rows have nothing to do with each other.
 */

export type ReductionOp = "sum" | "avg" | "min" | "max" | "prod";

export const REDUCTION_OPS: readonly ReductionOp[] = ["sum", "avg", "min", "max", "prod"];

export type Layout = { readonly axis?: string } &
  /** Every rank holds the whole, equal value. */
  (
    | { readonly kind: "replicated" }
    /** Rank r holds the r-th equal slice of dimension `dim`. */
    | { readonly kind: "sharded"; readonly dim: number }
    /** The value is the reduction over all ranks' tensors. */
    | { readonly kind: "partial"; readonly op: ReductionOp }
    /** Only rank `rank`'s tensor counts. */
    | { readonly kind: "on"; readonly rank: number }
    /** Unrelated values, one a rank. */
    | { readonly kind: "local" }
  );

/** The layout as it is written in Coll: `sharded(0)`, `partial(sum)`, … */
export function printLayout(layout: Layout): string {
  const own: (string | number)[] =
    layout.kind === "sharded"
      ? [layout.dim]
      : layout.kind === "partial"
        ? [layout.op]
        : layout.kind === "on"
          ? [layout.rank]
          : [];
  const all = layout.axis === undefined ? own : [...own, layout.axis];
  return all.length === 0 ? layout.kind : `${layout.kind}(${all.join(", ")})`;
}

export function sameLayout(a: Layout, b: Layout): boolean {
  return printLayout(a) === printLayout(b);
}
