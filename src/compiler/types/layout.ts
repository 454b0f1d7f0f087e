/**
 * How a tensor lies over the ranks of a group. A collective is a change of layout. With an axis of the mesh, the layout
 * is about the ranks of one row along it, and the rows have nothing to do with each other; a `grid` says it for several axes.
 */

export type ReductionOp = "sum" | "avg" | "min" | "max" | "prod";

export const REDUCTION_OPS: readonly ReductionOp[] = ["sum", "avg", "min", "max", "prod"];

/** What is said of a group of ranks: all, or those of one row of the mesh. */
export type Placement =
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

export type AxisPlacement = Placement & { readonly axis: string };

export type Layout =
  | (Placement & { readonly axis?: string })
  /**
   * Of several axes, each one's, in the order of the mesh; ranks that differ along an axis that is not named have unrelated
   * values. A dimension that several axes cut is cut by the first of them first.
   */
  | { readonly kind: "grid"; readonly parts: readonly AxisPlacement[]; readonly axis?: undefined };

/** The layout as it is written in Coll: `sharded(0)`, `partial(sum)`, `sharded(0, dp) replicated(tp)`, … */
export function printLayout(layout: Layout): string {
  if (layout.kind === "grid") return layout.parts.map(printLayout).join(" ");
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

/** What is said of the axes, or of all ranks. */
function partsIn(layout: Layout): readonly Placement[] {
  return layout.kind === "grid" ? layout.parts : [layout];
}

/** How summands that ranks hold become the value; null where each rank holds values. */
export function partialOf(layout: Layout): ReductionOp | null {
  for (const p of partsIn(layout)) if (p.kind === "partial") return p.op;
  return null;
}

/** Whether a dimension is cut among ranks. */
export function isCut(layout: Layout, dim: number): boolean {
  return partsIn(layout).some((p) => p.kind === "sharded" && p.dim === dim);
}

/** The layout with the dimensions that are cut numbered anew; null where one has no number there. */
export function withDims(layout: Layout, place: (dim: number) => number | null): Layout | null {
  const moved = <P extends Placement>(p: P): P | null => {
    if (p.kind !== "sharded") return p;
    const dim = place(p.dim);
    return dim === null ? null : { ...p, dim };
  };
  if (layout.kind !== "grid") return moved(layout);
  const parts = layout.parts.map(moved);
  return parts.includes(null) ? null : { kind: "grid", parts: parts as AxisPlacement[] };
}
