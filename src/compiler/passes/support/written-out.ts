/** Loops in order, iteration by iteration, where ops that are looked for stand in them. */
import { Builder } from "../../ir/builder.js";
import type { Kernel, Op } from "../../ir/module.js";
import { copyOp, rewriteOps, Substitution } from "../../ir/visit.js";

/** Iterations of loops in order that are written out, all together, at most: each has messages of its own. */
const MOST_ITERATIONS = 256;

function hasAny(op: Op, ops: ReadonlySet<Op>): boolean {
  return ops.has(op) || op.regions.some((r) => r.ops.some((o) => hasAny(o, ops)));
}

/** The kernel with loops in order around these ops written out; decided conditions are gone. */
export function writtenOut(kernel: Kernel, ops: ReadonlySet<Op>): Kernel {
  const build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
  let [iterationsLeft, isInTiles] = [MOST_ITERATIONS, false];
  rewriteOps(kernel.body.ops, build, new Substitution(), function rewrite(op, _, values): boolean {
    if (op.name === "if") {
      const condition = build.constantOf(values.get(op.operands[0]!));
      if (condition === undefined) return false;
      rewriteOps(op.regions[condition !== 0 ? 0 : 1]!.ops, build, values, rewrite);
      return true;
    }
    if (op.name !== "for") return false;
    if (op.attributes["map"] === "tiles" && !isInTiles) {
      isInTiles = true;
      copyOp(op, build, values, rewrite);
      isInTiles = false;
      return true;
    }
    if (isInTiles || op.attributes["map"] !== "serial" || op.operands.length !== 2 || !hasAny(op, ops)) return false;
    const [lo, hi] = op.operands.map((v) => build.constantOf(values.get(v)));
    if (lo === undefined || hi === undefined || hi - lo > iterationsLeft) return false;
    iterationsLeft -= Math.max(0, hi - lo);
    for (let iteration = lo; iteration < hi; iteration++) {
      const inner = new Substitution(values);
      inner.set(op.regions[0]!.arguments[0]!, build.constant(iteration));
      rewriteOps(op.regions[0]!.ops, build, inner, rewrite);
    }
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}
