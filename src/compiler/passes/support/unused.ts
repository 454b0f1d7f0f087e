/** What is left when nobody needs a value any more. */
import type { Kernel, Op, Region, Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";

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

/** Whether an op loads packets, or some op in it. */
function takes(op: Op, packets: ReadonlySet<string>): boolean {
  return packets.has(String(op.attributes["buffer"])) || op.regions.some((r) => r.ops.some((o) => takes(o, packets)));
}
