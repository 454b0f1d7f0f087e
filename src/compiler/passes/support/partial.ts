/** Operations that are not defined for all operands. */
import type { Op } from "../../ir/module.js";
import { scalarOf } from "../../ir/types.js";
import { isInteger } from "../../types/dtype.js";

/** Whether it is a division of whole numbers that stays under the conditions that may keep zero from it. @param divisor where it is known */
export function isPartial(op: Op, divisor: number | undefined): boolean {
  const fn = op.attributes["fn"];
  if (op.name !== "binary" || (fn !== "div" && fn !== "rem")) return false;
  const kind = scalarOf(op.results[0]!.type);
  return (kind === "index" || isInteger(kind)) && !divisor;
}
