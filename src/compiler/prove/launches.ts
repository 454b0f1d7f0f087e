/** How many launches in a row show all that a kernel does with memory that outlives them. */
import { type Kernel, text, type Value } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";

/**
 * Two, so that flags and scratch are seen to be used again; one more where the kernel goes by its number of launches and
 * so takes another part of its scratch each second time.
 */
export function launchesOf(kernel: Kernel): number {
  const state = new Set(kernel.buffers.filter((b) => b.role === "state").map((b) => b.name));
  const counts = new Set<Value>();
  let decides = false;
  walkKernel(kernel, (op) => {
    const isCount = op.operands.some((v) => counts.has(v)) || (op.name === "load" && state.has(text(op, "buffer")));
    if (isCount) for (const v of op.results) counts.add(v);
    if (op.name === "packet_load" || (op.name === "if" && counts.has(op.operands[0]!))) decides = true;
  });
  return decides ? 3 : 2;
}
