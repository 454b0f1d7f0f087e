/** How long the caller's own way takes, node by node: a library's product, a kernel for each elementwise operation, collectives of NCCL. */
import type { Machine } from "../../machine/machines.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { CONVERTS, type Core, type CoreNode, VIEW_OPS } from "./core.js";

/** Seconds of FX nodes as measured by the caller, by name: they go before the model. */
export type Measured = Readonly<Record<string, number>>;

const bytesOf = ({ shape, dtype }: CoreNode): number =>
  shape.reduce((a, b) => a * b, 1) * (isDType(dtype) ? DTYPES[dtype].bytes : dtype === "i64" ? 8 : 1);

/**
 * Seconds of one FX node as a kernel of its own: a launch and a round trip to memory, and then what takes longer, its bytes at the
 * rate of memory or its products at the rate of the vendor's library, as the machine's numbers have them. Views take none. Of a
 * conversion, the floor: what its bytes need on the wire, and an exchange of flags; who can compile it asks the model of its program.
 */
export function nodeSeconds(fx: string, core: Core, machine: Machine, ranks: number): number {
  const own = [...core.nodes.values()].filter((n) => n.fx === fx && !VIEW_OPS.has(n.op) && n.op !== "placeholder");
  if (own.length === 0) return 0;
  const made = new Set(own.map((n) => n.id));
  const reads = new Set(own.flatMap((n) => n.inputs.filter((x): x is string => typeof x === "string" && !made.has(x))));
  const value = own.at(-1)!;
  const bytes = [...reads].reduce((sum, x) => sum + bytesOf(core.nodes.get(x)!), bytesOf(value));
  const start = machine.launch.value + machine.ownLoad.value;
  const conversion = own.find((n) => CONVERTS.has(n.op));
  if (conversion !== undefined) {
    const larger = Math.max(bytesOf(conversion), bytesOf(core.nodes.get(conversion.inputs[0] as string)!));
    const share = (ranks - 1) / ranks;
    const wire = (larger * share * (conversion.op === "all_reduce" ? 2 : 1)) / machine.peak.value;
    return machine.launch.value + 2 * machine.exchange.value + machine.peerLoad.value + wire;
  }
  const products = own.reduce((sum, n) => {
    if (n.op !== "matmul") return sum;
    const a = core.nodes.get(n.inputs[0] as string)!;
    const operations = 2 * n.shape.reduce((x, y) => x * y, 1) * a.shape.at(-1)!;
    const narrow = isDType(n.dtype) && DTYPES[n.dtype].bytes <= 2;
    return sum + operations / (narrow ? machine.tensor.value : 2 * machine.scalar.value);
  }, 0);
  return start + Math.max(bytes / machine.memory.value, products);
}
