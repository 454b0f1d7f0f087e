/** The error that inputs bear where a kernel sends them through a narrower dtype. */
import { type DType, DTYPES, type SignatureTensor } from "../../compiler/index.js";
import { isNarrowFloat, SMALLEST_STEP } from "../numbers/index.js";
import { type Rows, U32 } from "./logical.js";

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
  const count = tensor.layout.kind === "partial" && tensor.layout.op === "sum" ? members : 1;
  const sizes = magnitudes(rows, tensor, members);
  const error = rows.values.map((_, i) => (rows.error?.[i] ?? 0) + epsilon * sizes[i]! + count * half);
  return { values: rows.values, error, copied: false };
}

/** Σ|x_r| of what was folded into each element, averaged for an average; see the error bounds in `logical.ts`. */
function magnitudes({ values, error }: Rows, { layout }: SignatureTensor, members: number): Float64Array {
  if (layout.kind !== "partial") return values.map(Math.abs);
  if (error !== null && layout.op === "sum") return error.map((e) => e / ((members - 1) * U32));
  if (error !== null && layout.op === "avg") return error.map((e) => e / ((members + 1) * U32));
  // The product's relative errors add up; of a least or greatest, one rank's counts.
  return values.map((v) => Math.abs(v) * (layout.op === "prod" ? members : 1));
}
