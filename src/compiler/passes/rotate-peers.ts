/**
 * rotate-peers: loops over ranks in any order begin, on rank r in block b, at rank r + 1 + b.
 *
 * If all ranks began with rank 0, its links would carry everybody's traffic while the others idle. With each rank and
 * block beginning elsewhere, all links are busy all the time, without the ranks having to keep in step.
 * The loop becomes serial: its order is chosen now.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel } from "../ir/module.js";
import { INDEX } from "../ir/types.js";
import { rewriteOps, Substitution } from "../ir/visit.js";

export function rotatePeers(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const world = kernel.world;
  rewriteOps(kernel.body.ops, build, new Substitution(), function rotate(op, b, values): boolean {
    if (op.name !== "for" || op.attributes["map"] !== "ranks") return false;
    const [lo, hi] = op.operands.map((v) => values.get(v));
    const trips = b.constantOf(hi!);
    const [body] = op.regions;
    // Loops over the peers without this rank number them 0..world-2 and skip it in the body: their order stays.
    const isWhole = trips === world && world > 1;
    const first = isWhole ? b.add(b.add(b.rank(), b.constant(1)), b.op("block", [], {}, INDEX)!) : null;
    b.for("serial", [[lo!, hi!]], ([k]) => {
      const inner = new Substitution(values);
      inner.set(body!.arguments[0]!, first === null ? k! : b.rem(b.add(first, k!), b.constant(world)));
      rewriteOps(body!.ops, b, inner, rotate);
    });
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}
