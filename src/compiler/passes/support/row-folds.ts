/** Folds along a row of which a block's threads can each take a part. */
import type { Op } from "../../ir/module.js";
import type { Definitions } from "./analysis.js";

/** Longest row of known length that one thread folds by itself. */
const SHORT_ROW = 64;

/** Whether the op folds a long row in an order that is the compiler's to choose. */
export function isRowFold(op: Op, definitions: Definitions): boolean {
  if (op.name !== "reduce" || op.attributes["unordered"] !== true) return false;
  const [lo, hi] = op.operands.map((v) => definitions.constant(v));
  return lo === undefined || hi === undefined || hi - lo > SHORT_ROW;
}
