/**
 * Tensor ops that leave each element where it is: reshapes that only add or drop dimensions of one element, and folds along a dimension
 * of which each rank has one index. Rows that ranks have one by one are summands of the fold over them, so an element of the
 * result is the operand's element there, and only the layout says that it is to be reduced.
 */
import type { Kernel, Op, Value } from "../../ir/module.js";
import { ELEMENTWISE } from "./tensor-uses.js";
import type { TensorType } from "./tensor-values.js";
import { type Extent, sameExtent } from "../../types/extent.js";
import { hasAxes, localShapeOf, placementsOf } from "../../types/mesh.js";

/** Whether a fold is over ranks alone: the dimension that it folds is cut among them, and each has one index of it. */
export function isFoldOverRanks({ name, operands, attributes }: Op, kernel: Kernel): boolean {
  if (name !== "fold") return false;
  const { shape, layout } = operands[0]!.type as TensorType;
  const dim = attributes["dim"] as number;
  const placements = hasAxes(layout) ? placementsOf(layout, kernel.mesh) : [layout];
  const isCut = placements.some((p) => p.kind === "sharded" && p.dim === dim);
  return isCut && localShapeOf(shape, layout, kernel.mesh, kernel.world)[dim] === 1;
}

/** Of each dimension of a shape, the dimension of another that it is; null for those of one element. Null where the shapes differ in more. */
export function dimsIn(of: readonly Extent[], other: readonly Extent[]): readonly (number | null)[] | null {
  const long = [...other.keys()].filter((d) => other[d] !== 1);
  const places = of.map((n) => (n === 1 ? null : (long.shift() ?? -1)));
  const isSame = long.length === 0 && places.every((d, own) => d === null || (d >= 0 && sameExtent(of[own]!, other[d]!))); // prettier-ignore
  return isSame ? places : null;
}

/** Whether each element of an op's result is computed of the operands' elements at the same place. */
export function keepsPlaces(op: Op, kernel: Kernel): boolean {
  if (op.name !== "reshape") return isFoldOverRanks(op, kernel);
  const local = ({ type }: Value): Extent[] => localShapeOf((type as TensorType).shape, (type as TensorType).layout, kernel.mesh, kernel.world); // prettier-ignore
  return dimsIn(local(op.operands[0]!), local(op.results[0]!)) !== null;
}

/** What some ops make, and what is computed of that element by element. */
export function carriedFrom(kernel: Kernel, begins: (op: Op) => boolean): ReadonlySet<Value> {
  const found = new Set<Value>();
  for (const op of kernel.body.ops) {
    const isCarried = (): boolean => ELEMENTWISE.has(op.name) || keepsPlaces(op, kernel);
    if (begins(op) || (op.operands.some((o) => found.has(o)) && isCarried())) for (const v of op.results) found.add(v);
  }
  return found;
}
