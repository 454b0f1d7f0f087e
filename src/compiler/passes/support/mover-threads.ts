/** Ops that movers carry out, and how many threads those are. */
import type { Kernel, Op } from "../../ir/module.js";
import { walkKernel } from "../../ir/visit.js";

export function moverThreads(kernel: Kernel): ReadonlyMap<Op, number> {
  const found = new Map<Op, number>();
  walkKernel(kernel, (op, parents) => {
    const count = parents.find((p) => p.name === "roles")?.attributes["movers"];
    if (typeof count === "number") found.set(op, count);
  });
  return found;
}
