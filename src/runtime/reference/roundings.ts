/** The error that inputs bear where a kernel sends them through a narrower dtype. */
import { type DType, DTYPES, partialOf, type SignatureTensor, U32 } from "../../compiler/index.js";
import { isNarrowFloat, SMALLEST_STEP } from "../numbers/index.js";
import { type Rows } from "./logical.js";

/**
 * Rows of an input whose elements were each rounded once to every dtype of `roundings` that is narrower than their own:
 * ε·|x_r| + half the dtype's smallest step, for each rank's x_r that is folded in, and two u for the scale.
 *
 * @param members how many ranks' elements are folded into one of a partial input
 */
export function withRoundings(rows: Rows, tensor: SignatureTensor, roundings: readonly DType[], members: number): Rows {
  const own = DTYPES[tensor.dtype];
  const narrower = roundings.filter((d) => own.kind === "float" && DTYPES[d].epsilon > own.epsilon);
  if (narrower.length === 0) return rows;
  const epsilon = narrower.reduce((sum, d) => sum + DTYPES[d].epsilon + 2 * U32, 0);
  const half = narrower.reduce((sum, d) => sum + (isNarrowFloat(d) ? SMALLEST_STEP[d] / 2 : 0), 0);
  const op = partialOf(tensor.layout);
  const isProduct = op === "prod"; // relative errors add up
  const count = op === "sum" ? members : 1;
  const sizes = rows.sizes ?? rows.values.map((v) => Math.abs(v) * (isProduct ? members : 1));
  const error = rows.values.map((_, i) => (rows.error?.[i] ?? 0) + epsilon * sizes[i]! + count * half);
  return { ...rows, error, copied: false };
}
