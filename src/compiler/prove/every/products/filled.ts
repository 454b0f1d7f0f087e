/**
 * An operand that lies in scratch, which is filled before blocks multiply it: with packets of all ranks, or with what ranks store. What fills it is looked at in a kernel
 * without products, in which any block may read any of its elements where blocks multiply. See docs/PROOF.md, "Products of what was gathered before".
 */
import { Builder } from "../../../ir/builder.js";
import { bufferOf, freshName, type Kernel, type Op, text, type Value } from "../../../ir/module.js";
import { definitionOf } from "../../../ir/ops.js";
import { printKernel } from "../../../ir/print.js";
import { scalar } from "../../../ir/types.js";
import { problemsOf } from "../../../ir/verify.js";
import { buffersNamed, walk, walkKernel } from "../../../ir/visit.js";
import type { SignatureTensor } from "../../../manifest.js";
import { NotShown } from "../conditions.js";
import { packetsIn } from "../packets.js";
import { expect } from "./follow.js";
import type { WithoutProducts } from "./replaced.js";
import type { Through } from "./shared.js";

/** Where an operand lies that was filled before. */
export interface Filled {
  readonly buffer: string;
  /** The input whose rows, of all ranks, it has. */
  readonly own: string;
}

/** What a kernel fills before it multiplies it; null where it multiplies inputs alone, or while it gathers. @throws NotShown where that is not followed */
export function filledBy(kernel: Kernel): Filled | null {
  let copy: Op | null = null;
  let hasMovers = false;
  walkKernel(kernel, (op) => {
    hasMovers ||= op.attributes["movers"] !== undefined;
    if (op.name === "copy_tile" && bufferOf(kernel, text(op, "from")).role === "scratch") copy ??= op;
  });
  if (copy === null || hasMovers) return null;
  const buffer = text(copy, "from");
  const { shape, dtype } = bufferOf(kernel, buffer);
  const read = readBeside(kernel);
  // Which input that is only has to be guessed: that its rows are there is shown of the kernel without products.
  const own = kernel.inputs.find(
    (t) =>
      t.layout.kind === "sharded" &&
      t.layout.dim === 0 &&
      t.layout.axis === undefined &&
      t.dtype === dtype &&
      JSON.stringify(t.shape) === JSON.stringify(shape) &&
      read.has(t.name),
  );
  expect(own !== undefined, `what is multiplied comes from other ranks, in '${buffer}'`, copy);
  return { buffer, own: own.name };
}

/** Buffers that are loaded from outside of roles. */
function readBeside({ body }: Kernel): ReadonlySet<string> {
  const read = new Set<string>();
  walk(body, (op, parents) => {
    if (op.name === "load" && !parents.some((p) => p.name === "roles")) read.add(text(op, "buffer"));
  });
  return read;
}

/** Ways through launches whose blocks multiply what was filled before. */
export class Fillings {
  private readonly ways = new Map<string, Through>();

  constructor(
    private readonly kernel: Kernel,
    private readonly filled: Filled,
  ) {}

  /** Some case goes a way. */
  goes(way: Through): void {
    if (!this.ways.has(way.key)) this.ways.set(way.key, way);
  }

  /** The kernels that are left without products, of ways that leave the same one. @param owned what nothing but tiles may touch */
  kernels(owned: ReadonlyMap<string, string>): readonly WithoutProducts[] {
    const { kernel, filled } = this;
    const ofTiles = new Set([...owned.keys(), ...kernel.outputs.map(({ name }) => name)]);
    const left = new Map<string, WithoutProducts>();
    for (const { ops, roles } of this.ways.values()) {
      const beside = ops.filter((op) => op !== roles);
      const again = beside.flatMap(buffersNamed).find((name) => ofTiles.has(name));
      expect(again === undefined, `'${again ?? ""}' is there for several things`, roles);
      checkBefore(ops, roles);
      const made = withoutProducts(kernel, filled, ops, roles);
      left.set(printKernel(made), { kernel: made, product: null, ofAnyBlock: filled.buffer });
    }
    return [...left.values()];
  }
}

/**
 * What blocks wait for before their tiles is told, and sent, before tiles alone: so all blocks come to their tiles in a launch, where those may wait for tiles of each other.
 */
function checkBefore(ops: readonly Op[], roles: Op): void {
  const at = ops.indexOf(roles);
  const awaited = new Set<string>();
  const isBefore = (op: Op, i: number): void => {
    if (op.name === "wait") awaited.add(text(op, "buffer"));
    op.regions.forEach((r) => r.ops.forEach((o) => isBefore(o, i)));
  };
  ops.slice(0, at).forEach(isBefore);
  const isBehind = (op: Op): void => {
    const isLate = op.name === "signal" && awaited.has(text(op, "buffer"));
    expect(!isLate && packetsIn(op, "packet_store").size === 0, "blocks wait before their tiles for what comes behind tiles", op); // prettier-ignore
    op.regions.forEach((r) => r.ops.forEach(isBehind));
  };
  ops.slice(at + 1).forEach(isBehind);
}

/** The kernel in which an output takes all that was filled, where blocks multiply it; any block may take any element. */
function withoutProducts(kernel: Kernel, { buffer, own }: Filled, ops: readonly Op[], roles: Op): Kernel {
  const { shape, dtype } = bufferOf(kernel, buffer);
  const name = freshName(kernel, "taken");
  const b = new Builder(roles.span);
  const zero = b.constant(0);
  const count = shape.map((e) => b.extent(e)).reduce((x, y) => b.mul(x, y));
  b.for("blocks", [[zero, b.binary("max", count, zero)]], ([o]) => {
    b.for("threads", [[zero, b.constant(1)]], ([t]) => {
      const i = b.add(o!, t!);
      b.store(name, b.load(buffer, [i], scalar(dtype)), [i]);
    });
  });
  // All threads of a block meet behind its roles.
  b.op("block_sync", [], {}, null);
  const body = { arguments: [], ops: needed(ops.flatMap((op) => (op === roles ? b.ops : [op]))) };
  const used = new Set(body.ops.flatMap(buffersNamed));
  const output: SignatureTensor = { name, dtype, layout: { kind: "replicated" }, shape, localShape: shape };
  const inputs = kernel.inputs.filter((t) => used.has(t.name));
  const made: Kernel = {
    ...kernel,
    inputs,
    outputs: [output],
    specification: [{ kind: "input", name: own }],
    buffers: [
      ...kernel.buffers.filter((o) => used.has(o.name)),
      { name, role: "output", dtype, shape, symmetric: false },
    ],
    body,
  };
  const [problem] = problemsOf(made);
  if (problem !== undefined) throw new NotShown(`what is left without products is no kernel: ${problem.message}`, roles.span); // prettier-ignore
  return made;
}

/** Ops without the pure ones that nothing is made of. */
function needed(ops: readonly Op[]): readonly Op[] {
  const used = new Set<Value>();
  const use = (op: Op): void => {
    for (const v of op.operands) used.add(v);
    op.regions.forEach((r) => r.ops.forEach(use));
  };
  const kept: Op[] = [];
  for (const op of ops.toReversed()) {
    const isPure = definitionOf(op.name).effect === "pure";
    if (isPure && !op.results.some((v) => used.has(v))) continue;
    use(op);
    kept.push(op);
  }
  return kept.reverse();
}
