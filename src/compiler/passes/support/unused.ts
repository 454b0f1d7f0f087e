/** What is left when nobody needs a value or a buffer any more. */
import { isParameter, type Kernel, type Op, type Region, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { buffersNamed } from "../../ir/visit.js";

/** Drops values nobody uses and empty control, until nothing changes. What is sent as a packet is taken, used or not. */
export function dropUnused(kernel: Kernel): Kernel {
  const packets = new Set(kernel.buffers.filter((b) => b.role === "packet").map((b) => b.name));
  const used = new Set<Value>();
  const sweep = (r: Region): Region => {
    const kept: Op[] = [];
    for (const op of [...r.ops].reverse()) {
      const { effect } = definitionOf(op.name);
      const isRead = op.name === "load" || op.name === "reduce" || op.name === "contract";
      const isValue = effect === "pure" || (isRead && !takes(op, packets));
      if (isValue && op.results.length > 0 && !used.has(op.results[0]!)) continue;
      const regions = op.regions.map(sweep);
      if ((op.name === "for" || op.name === "if") && regions.every((inner) => inner.ops.length === 0)) continue;
      for (const v of op.operands) used.add(v);
      kept.push({ ...op, regions });
    }
    return { arguments: r.arguments, ops: kept.reverse() };
  };
  return { ...kernel, body: sweep(kernel.body) };
}

/**
 * Drops buffers that no op names, of which a launch would have memory for nothing: of lengths that are known, a pass may have declared
 * what no size needs. A caller's tensors stay, and memory that other steps use.
 */
export function dropUnusedBuffers(kernel: Kernel): Kernel {
  const named = new Set(kernel.body.ops.flatMap(buffersNamed));
  return {
    ...kernel,
    buffers: kernel.buffers.filter((b) => isParameter(b) || b.memory !== undefined || named.has(b.name)),
  };
}

/** Whether an op loads packets, or some op in it. */
function takes(op: Op, packets: ReadonlySet<string>): boolean {
  return packets.has(String(op.attributes["buffer"])) || op.regions.some((r) => r.ops.some((o) => takes(o, packets)));
}
