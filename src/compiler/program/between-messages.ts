/** A check of kernels that are cut at messages: whether what messages do not order is ordered without them. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel } from "../ir/module.js";
import { verifySync } from "../passes/support/verify-sync.js";

/**
 * The proof takes a message for loops between two barriers of its ranks, which order more than a message does. So derive-sync's own walk,
 * in which a message orders nothing but its own data, goes through the kernel once more.
 * @param snapshots of the kernel that is proved; one without messages has nothing to look at
 * @throws InternalCompilerError naming two accesses without an order: flags are the compiler's to place
 */
export function requireOrderBetweenMessages(
  snapshots: readonly { readonly pass: string; readonly kernel: Kernel }[],
): void {
  const ordered = snapshots.find(({ pass }) => pass === "derive-sync")?.kernel;
  if (ordered?.body.ops.some(({ name }) => name === "message") !== true) return;
  const [conflict] = verifySync(ordered);
  if (conflict === undefined) return;
  const [a, b] = conflict;
  throw new InternalCompilerError(
    `beside the messages of ${ordered.name}, nothing orders what ranks ${a.rank} and ${b.rank} do to '${b.buffer}' of rank ${b.owner}`,
  );
}
