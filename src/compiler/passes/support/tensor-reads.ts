/**
 * Which memory the values of tensor expressions are computed from, and which of them a store would change: a value is
 * computed where it is used, and must be what it was where it was named.
 */
import { type Kernel, type Op, text, type Value } from "../../ir/module.js";
import { walk } from "../../ir/visit.js";

export class TensorReads {
  /** Buffers that each tensor value may be computed from. */
  private readonly buffers = new Map<Value, ReadonlySet<string>>();
  private readonly positions = new Map<Op, number>();
  private readonly lastUse = new Map<Value, number>();

  constructor(private readonly kernel: Kernel) {
    kernel.body.ops.forEach((op, at) => {
      this.positions.set(op, at);
      for (const v of op.operands) this.lastUse.set(v, at);
      const [result] = op.results;
      if (result?.type.kind !== "tensor") return;
      const own = op.name === "input" ? [text(op, "buffer")] : [];
      this.buffers.set(result, new Set([...own, ...op.operands.flatMap((v) => [...(this.buffers.get(v) ?? [])])]));
    });
  }

  /** Values from above that are still to be used, there or below, and that the op's stores would change. */
  lostBy(op: Op): readonly Value[] {
    const stored = storedBy(op);
    if (stored.size === 0) return [];
    const here = this.positions.get(op)!;
    return this.kernel.body.ops.slice(0, here).flatMap(({ results: [v] }) => {
      const isLost = v !== undefined && [...(this.buffers.get(v) ?? [])].some((b) => stored.has(b));
      return isLost && (this.lastUse.get(v) ?? -1) >= here ? [v] : [];
    });
  }
}

/** Buffers that an op, or one inside it, stores to. */
function storedBy(op: Op): ReadonlySet<string> {
  const stored = new Set<string>();
  walk({ arguments: [], ops: [op] }, (inner) => {
    if (inner.name === "store" || inner.name === "output") stored.add(text(inner, "buffer"));
  });
  return stored;
}
