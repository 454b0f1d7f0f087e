/** Operands of a product that were made wider before it, which tensor cores would have taken as they were. */
import { bufferOf, type Kernel, text } from "../../ir/module.js";
import { scalarOf } from "../../ir/types.js";
import { walkKernel } from "../../ir/visit.js";
import { type DType, isDType } from "../../types/dtype.js";
import type { Definitions } from "./analysis.js";

/** The dtype that all elements of a scratch array are made wider from; null where they are something else, too. */
export function widenedFrom(kernel: Kernel, buffer: string, definitions: Definitions): DType | null {
  if (bufferOf(kernel, buffer).role !== "scratch") return null;
  const from = new Set<DType | null>();
  walkKernel(kernel, (op) => {
    if (!op.name.includes("store") || text(op, "buffer") !== buffer) return;
    const made = op.name === "store" ? definitions.of(op.operands[0]!) : undefined;
    const kind = made?.name === "cast" ? scalarOf(made.operands[0]!.type) : "index";
    from.add(isDType(kind) ? kind : null);
  });
  const [only] = from;
  return from.size === 1 ? only! : null;
}
