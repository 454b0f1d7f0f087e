/**
 * rotate-peers: a loop over ranks in any order starts, on rank r, at rank r + 1.
 *
 * If all ranks began with rank 0, its links would carry everybody's traffic while the others idle. Rotated,
 * step k pairs each rank with another one. The loop becomes serial: its order is chosen now.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel } from "../ir/module.js";
import { rewriteOps, Substitution } from "../ir/visit.js";

export function rotatePeers(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const world = kernel.world;
  rewriteOps(kernel.body.ops, build, new Substitution(), function rotate(op, b, values): boolean {
    if (op.name !== "for" || op.attributes["map"] !== "ranks") return false;
    const [lo, hi] = op.operands.map((v) => values.get(v));
    const trips = b.constantOf(hi!);
    const [body] = op.regions;
    b.for("serial", [[lo!, hi!]], ([k]) => {
      const inner = new Substitution(values);
      // Loops over the peers without this rank number them 0..world-1 and skip it in the body: leave those.
      const rotated = trips === world ? b.rem(b.add(b.add(b.rank(), k!), b.constant(1)), b.constant(world)) : k!;
      inner.set(body!.arguments[0]!, rotated);
      rewriteOps(body!.ops, b, inner, rotate);
    });
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}
