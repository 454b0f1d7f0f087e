/** Where the threads of a block stand together already, so that a block_sync would order nothing. */
import { type Op, text } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";

/**
 * Whether after these ops no thread has touched memory since the block last met. `fromStart`: the ops are the first of
 * the kernel; what the rank did before it, the stream has ordered. `counters`: registers, and state that each thread reads for itself.
 */
export function isSynced(ops: readonly Op[], fromStart: boolean, counters: readonly string[]): boolean {
  const isQuiet = (op: Op): boolean =>
    op.name === "load" || op.name === "store"
      ? counters.includes(text(op, "buffer"))
      : definitionOf(op.name).effect === "pure";
  for (const op of [...ops].reverse()) {
    if (op.name === "block_sync") return true;
    if (isQuiet(op)) continue;
    const isBlockWide = op.name === "if" || (op.name === "for" && op.attributes["map"] !== "threads");
    // A loop may have no turn, and a branch no op: then what stands before counts.
    if (!isBlockWide || !op.regions.every((r) => r.ops.every(isQuiet) || isSynced(r.ops, false, counters)))
      return false;
  }
  return fromStart;
}
