/** Which data decides where a kernel reads and writes, and how often: it must have values before anything can be followed. */
import { type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import { DTYPES } from "../types/dtype.js";

export interface Steering {
  /** Names of integer inputs whose values reach an address, a bound, a condition or a flag. */
  readonly inputs: ReadonlySet<string>;
  /** Names of other buffers that such values pass through. */
  readonly carriers: ReadonlySet<string>;
  /** All values that reach an address, a bound, a condition or a flag. */
  readonly deciding: ReadonlySet<Value>;
}

/** Found once for each kernel: every run asks. */
const found = new WeakMap<Kernel, Steering>();

export function steeringOf(kernel: Kernel): Steering {
  let steering = found.get(kernel);
  if (steering === undefined) found.set(kernel, (steering = find(kernel)));
  return steering;
}

function find(kernel: Kernel): Steering {
  const makers = new Map<Value, Op>();
  const stored = new Map<string, Value[]>();
  const needed: Value[] = [];
  const visit = (region: Region): void => {
    for (const op of region.ops) {
      for (const r of op.results) makers.set(r, op);
      for (const name of op.name === "store" || op.name === "packet_store" ? buffersOf(op) : []) {
        const all = stored.get(name);
        if (all === undefined) stored.set(name, [op.operands[0]!]);
        else all.push(op.operands[0]!);
      }
      needed.push(...decidingOperands(op));
      op.regions.forEach(visit);
    }
  };
  visit(kernel.body);
  const inputs = new Set<string>();
  const carriers = new Set<string>();
  const seen = new Set<Value>();
  for (let v = needed.pop(); v !== undefined; v = needed.pop()) {
    if (seen.has(v)) continue;
    seen.add(v);
    const op = makers.get(v);
    if (op === undefined) continue; // a loop's variable, whose bounds are needed already
    needed.push(...op.operands);
    if (op.name === "reduce") needed.push(op.regions[0]!.ops.at(-1)!.operands[0]!);
    for (const name of op.name === "load" || op.name === "packet_load" ? buffersOf(op) : []) {
      const { role, dtype } = kernel.buffers.find((b) => b.name === name)!;
      if ((role === "input" || role === "inout") && DTYPES[dtype].kind !== "float") inputs.add(name);
      if (role !== "input" && !carriers.has(name)) {
        carriers.add(name);
        needed.push(...(stored.get(name) ?? []));
      }
    }
  }
  return { inputs, carriers, deciding: seen };
}

function buffersOf(op: Op): readonly string[] {
  return op.name === "load" || op.name === "store" ? [text(op, "buffer")] : [text(op, "even"), text(op, "odd")];
}

/** Operands that decide what happens, as opposed to what values come out. */
function decidingOperands(op: Op): readonly Value[] {
  switch (op.name) {
    case "load":
    case "store":
    case "signal": {
      const { value, peer, indices } = memoryOperands(op);
      return [...(op.name === "signal" ? [value!] : []), ...(peer === null ? [] : [peer]), ...indices];
    }
    case "packet_store":
      return op.operands.slice(1);
    case "packet_load":
    case "wait":
    case "for":
    case "if":
    case "reduce":
    case "copy_tile":
    case "mma":
    case "fragment_put":
    case "fragment_add":
    case "ring_acquire":
    case "ring_fill":
    case "ring_wait":
    case "ring_release":
      return op.operands;
    default:
      return [];
  }
}
