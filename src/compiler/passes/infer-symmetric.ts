/** infer-symmetric: a buffer that some access reaches on a peer must lie in symmetric memory. */
import { isRemote, type Kernel, text } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";

export function inferSymmetric(kernel: Kernel): Kernel {
  const reached = new Set<string>();
  walkKernel(kernel, (op) => {
    if (isRemote(op)) reached.add(text(op, op.name === "copy_tile" ? "from" : "buffer"));
  });
  return { ...kernel, buffers: kernel.buffers.map((b) => ({ ...b, symmetric: b.symmetric || reached.has(b.name) })) };
}
