/**
 * pair-products: where an expression has two products of the same rows, as `silu(x @ gate) * (x @ up)` has, the loop that keeps the one
 * in scratch and the loop that computes the other and takes it from there become one loop with two products.
 *
 * Its tiles then have an accumulator for each: rows are copied once for both, nothing goes through memory in between, blocks do not have
 * to meet there, and where a depth is cut, they meet once for both.
 */
import type { Kernel } from "../ir/module.js";
import { Definitions } from "./support/analysis.js";
import { contractsIn } from "./support/contraction.js";
import { findProducts } from "./support/found-products.js";
import { fused, loopsAround } from "./support/loop-fusion.js";

export function pairProducts(kernel: Kernel, has: { readonly roles: boolean }): Kernel {
  const loops = kernel.body.ops.filter((op) => contractsIn(op).length > 0);
  if (!has.roles || loops.length < 2) return kernel;
  const definitions = new Definitions(kernel);
  for (const buffer of kernel.buffers) {
    const around = buffer.role === "scratch" ? loopsAround(buffer, kernel, definitions, ["reduce", "contract"]) : null;
    if (around === null || around.some((loop) => contractsIn(loop).length !== 1)) continue;
    const one = fused(kernel, buffer, ...around);
    // There may be further pairs.
    if (isOfPairs(one)) return pairProducts(one, has);
  }
  return kernel;
}

/** Whether roles take the products of each loop that has two. */
function isOfPairs(kernel: Kernel): boolean {
  const { found } = findProducts(kernel, new Definitions(kernel), { tiles: true, roles: true });
  return kernel.body.ops.every((op) => contractsIn(op).length < 2 || (found.get(op)?.twin ?? null) !== null);
}
