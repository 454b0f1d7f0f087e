/**
 * Operands of products that are 8-bit floats times a scale: products take the floats as they lie in memory, and the scale
 * beside them. In numbers of a field that is the same; what is computed of the floats in f32 is rounded less often.
 */
import type { Op } from "../../ir/module.js";
import { isAddedApart } from "../../ir/tile-window.js";
import { commonRun, type LocalTensor, type Scaled, type TensorType } from "./tensor-values.js";

/** What an elementwise value is a product of, where that is a tensor of 8-bit floats and a scale. */
export function scaledOf(op: Op, type: TensorType, operands: readonly LocalTensor[]): Scaled | null {
  const [a, b] = operands;
  const isWidened = op.name === "cast" && type.dtype === "f32" && isAddedApart(a!.dtype) && (a!.isExact || a!.isConverted); // prettier-ignore
  if (isWidened) return { of: a!, by: null };
  if (op.name !== "binary" || op.attributes["fn"] !== "mul" || type.dtype !== "f32") return null;
  const of = (narrow: LocalTensor, by: LocalTensor): Scaled | null =>
    narrow.scaled?.by === null && by.runs.some((run) => run !== 1) ? { of: narrow.scaled.of, by } : null;
  return of(a!, b!) ?? of(b!, a!);
}

/** The same arrangement of what a tensor is a product of. */
export function scaledBy({ scaled }: LocalTensor, arranged: (part: LocalTensor) => LocalTensor): Scaled | null {
  return scaled && { of: arranged(scaled.of), by: scaled.by && arranged(scaled.by) };
}

/** What the terms of a product are made of. */
export interface ProductParts {
  readonly factors: readonly [LocalTensor, LocalTensor];
  readonly scales: readonly [LocalTensor | null, LocalTensor | null];
  /** For how many terms the scales stay; 0 for all, and where there are none. */
  readonly run: number;
}

/** The floats and their scales, where both operands have floats alike and a scale stays for a run; else the operands. */
export function partsOfProduct(left: LocalTensor, right: LocalTensor): ProductParts {
  const plain: ProductParts = { factors: [left, right], scales: [null, null], run: 0 };
  const [a, b] = [left.scaled, right.scaled];
  if (a === null || b === null || a.of.dtype !== b.of.dtype || (a.by ?? b.by) === null) return plain;
  const run = commonRun(a.by?.runs.at(-1) ?? 0, b.by?.runs.at(-2) ?? 0);
  // What changes with every term is a factor like others.
  return run === 1 ? plain : { factors: [a.of, b.of], scales: [a.by, b.by], run };
}
