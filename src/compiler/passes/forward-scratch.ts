/**
 * forward-scratch: where a value is kept in scratch from one loop to the next alone, element by element, the two loops are one,
 * and the value stays in a register.
 *
 * Whoever lowers keeps a value because peers still read what the next loop stores to: in place, `x = all_reduce(x)`. Once what
 * peers read has been sent to them (`stage-transfers`, packets), nobody does, and the copy is a detour through memory.
 */
import type { Kernel } from "../ir/module.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { fused, loopsAround } from "./support/loop-fusion.js";

export function forwardScratch(kernel: Kernel, { protocol }: Pick<PassOptions, "protocol">): Kernel {
  if (protocol !== "packet") return kernel;
  const definitions = new Definitions(kernel);
  for (const buffer of kernel.buffers) {
    const pair = buffer.role === "scratch" ? loopsAround(buffer, kernel, definitions, ["reduce"]) : null;
    // What one has changed may make another possible.
    if (pair !== null) return forwardScratch(fused(kernel, buffer, ...pair), { protocol });
  }
  return kernel;
}
