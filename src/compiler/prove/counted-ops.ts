/** The ops of which proofs say how many took part: those that touch memory or flags. */
import type { Kernel, Op } from "../ir/module.js";
import { definitionOf, type OpName } from "../ir/ops.js";
import { walkKernel } from "../ir/visit.js";

const UNCOUNTED = new Set<OpName>(["block_sync", "copy_commit", "fragment_clear"]);

function isCounted(name: OpName): boolean {
  const { effect } = definitionOf(name);
  return (effect === "read" || effect === "write" || effect === "sync") && !UNCOUNTED.has(name);
}

/** Found once for each kernel: every run asks. */
const found = new WeakMap<Kernel, ReadonlyMap<Op, number>>();

/** Each with its number, in the order of the kernel. */
export function countedOps(kernel: Kernel): ReadonlyMap<Op, number> {
  let counted = found.get(kernel);
  if (counted === undefined) {
    const all = new Map<Op, number>();
    walkKernel(kernel, (op) => void (isCounted(op.name) && all.set(op, all.size)));
    found.set(kernel, (counted = all));
  }
  return counted;
}
