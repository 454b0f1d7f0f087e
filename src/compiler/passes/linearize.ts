/** linearize: one row-major index in place of one index a dimension, from the buffer's shape. */
import { Builder } from "../ir/builder.js";
import { bufferOf, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { rewriteOps, Substitution } from "../ir/visit.js";

const INDEXED = new Set<Op["name"]>(["load", "store"]);

export function linearize(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (!INDEXED.has(op.name)) return false;
    const { shape, name } = bufferOf(kernel, text(op, "buffer"));
    const { value, peer, indices } = memoryOperands(op);
    if (indices.length <= 1) return false;
    const at = indices
      .map((v) => values.get(v))
      .reduce((sum: Value | null, v, d) => (sum === null ? v : b.add(b.mul(sum, b.extent(shape[d]!)), v)), null)!;
    const to = peer === null ? null : values.get(peer);
    if (op.name === "store") b.store(name, values.get(value!), [at], to);
    else values.set(op.results[0]!, b.load(name, [at], op.results[0]!.type, to));
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}
