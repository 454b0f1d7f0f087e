/**
 * Loops that store to packets, or load from them.
 *
 * The elements of such a loop go into packets of as many lanes as a vector has, whatever the tensors on either side look
 * like: iteration v·V + l is lane l of packet v, and the iterations left over at the end have a packet each. So a loop on one
 * rank and the one on its peer that has the same number of iterations agree on every packet by that number alone.
 */
import { type Builder } from "../../ir/builder.js";
import { type Attributes, type Buffer, freshName, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js"; // prettier-ignore
import { scalar, scalarOf, vector } from "../../ir/types.js";
import { copyOp, rewriteOps, Substitution } from "../../ir/visit.js";
import { extent, productOf } from "../../types/extent.js";
import { dependents } from "./analysis.js";
import { packetFormat } from "./vector-lanes.js";

interface Pair {
  readonly even: string;
  readonly odd: string;
  /** Slots of each rank that writes. */
  readonly share: Value;
}

/** The packets of a kernel, from where they get their slots on. */
export class Packets {
  /** The kernel's buffers, those of packets in two copies of slots. */
  readonly buffers: readonly Buffer[];
  private readonly pairs = new Map<string, Pair>();
  private readonly epoch: Value | null;
  private readonly format: string;

  /** @param build at the start of the kernel's body */
  constructor(
    kernel: Kernel,
    readonly lanes: number,
    private readonly build: Builder,
  ) {
    const packets = kernel.buffers.filter((b) => b.role === "packet");
    this.format = packetFormat(kernel) ?? "epoch";
    this.epoch = packets.length > 0 ? build.op("launch_epoch", [], {}, scalar("u32"))! : null;
    let made: Kernel = kernel;
    for (const b of packets) {
      const share = extent("div", b.shape.at(-1)!, lanes);
      const slots: Buffer = { ...b, shape: [extent("mul", productOf(b.shape.slice(0, -1)), share), lanes] };
      const odd = freshName(made, `${b.name}_odd`);
      made = { ...made, buffers: made.buffers.flatMap((x) => (x === b ? [slots, { ...slots, name: odd }] : [x])) };
      this.pairs.set(b.name, { even: b.name, odd, share: build.extent(share) });
    }
    this.buffers = made.buffers;
  }

  has(buffer: string): boolean {
    return this.pairs.has(buffer);
  }

  isAccess(op: Op): boolean {
    return (op.name === "load" || op.name === "store") && this.has(text(op, "buffer"));
  }

  areIn(op: Op): boolean {
    return this.isAccess(op) || op.regions.some((r) => r.ops.some((o) => this.areIn(o)));
  }

  store(op: Op, value: Value, slot: Value, peer: Value | null): void {
    const { even, odd } = this.pairs.get(text(op, "buffer"))!;
    const to = peer === null ? [] : [peer];
    const attributes: Attributes = { format: this.format, even, odd };
    const remote: Attributes = peer === null ? {} : { remote: true };
    this.build.op("packet_store", [value, this.epoch!, ...to, slot], { ...attributes, ...remote }, null);
  }

  load(op: Op, slot: Value, lanes: number): Value {
    const { even, odd, share } = this.pairs.get(text(op, "buffer"))!;
    const type = vector(scalarOf(op.results[0]!.type), lanes);
    return this.build.op("packet_load", [this.epoch!, slot, share], { format: this.format, even, odd }, type)!;
  }

  /** The slot of a packet whose first lane is the element at this index. */
  slotOf(index: Value): Value {
    return this.build.div(index, this.build.constant(this.lanes));
  }

  /** The iterations from `from` on, each with a packet of its own. */
  single(body: Region, variable: Value, from: Value, values: Substitution): void {
    const { build } = this;
    const past = build.sub(variable, from);
    const inner = new Substitution(values);
    inner.set(body.arguments[0]!, variable);
    rewriteOps(body.ops, build, inner, (op, _, at) => {
      if (!this.isAccess(op)) return false;
      const { value, peer, indices } = memoryOperands(op);
      const slot = build.add(this.slotOf(build.sub(at.get(indices[0]!), past)), past);
      if (op.name === "store") this.store(op, at.get(value!), slot, peer === null ? null : at.get(peer));
      else at.set(op.results[0]!, this.load(op, slot, 1));
      return true;
    });
  }

  /** Iterations `first` and those after it that share its packets, taken lane by lane but for the packets. */
  gathered(body: Region, first: Value, values: Substitution): void {
    const varying = dependents(body, body.arguments);
    const lanes = Array.from({ length: this.lanes }, (_, l) => {
      const inner = new Substitution(values);
      inner.set(body.arguments[0]!, this.build.add(first, this.build.constant(l)));
      return inner;
    });
    this.together(body.ops, lanes, varying);
  }

  private together(ops: readonly Op[], lanes: readonly Substitution[], varying: ReadonlySet<Value>): void {
    const { build } = this;
    for (const op of ops) {
      build.span = op.span;
      if (this.isAccess(op)) this.access(op, lanes);
      else if (op.regions.length > 0 && op.name !== "reduce" && !op.operands.some((v) => varying.has(v)))
        this.structured(op, lanes, varying);
      else for (const [l, inner] of lanes.entries()) copyOp(op, build, inner, (o, _, at) => this.inLane(o, l, at));
    }
  }

  private access(op: Op, lanes: readonly Substitution[]): void {
    const { build } = this;
    const [first] = lanes as [Substitution];
    const { value, peer, indices } = memoryOperands(op);
    const slot = this.slotOf(first.get(indices[0]!));
    if (op.name === "load") {
      const packet = this.load(op, slot, lanes.length);
      lanes.forEach((inner, l) => inner.set(op.results[0]!, this.laneOf(packet, l)));
      return;
    }
    const elements = lanes.map((inner) => inner.get(value!));
    const type = vector(scalarOf(elements[0]!.type), elements.length);
    const data = elements.length === 1 ? elements[0]! : build.op("pack", elements, {}, type)!;
    this.store(op, data, slot, peer === null ? null : first.get(peer));
  }

  /** A load from a packet in code that only one lane runs. */
  private inLane(op: Op, lane: number, values: Substitution): boolean {
    if (!this.isAccess(op) || op.name !== "load") return false;
    const index = values.get(memoryOperands(op).indices[0]!);
    const packet = this.load(op, this.slotOf(index), this.lanes);
    values.set(op.results[0]!, this.laneOf(packet, lane));
    return true;
  }

  private laneOf(packet: Value, lane: number): Value {
    if (this.lanes === 1) return packet;
    return this.build.op("lane", [packet], { lane }, scalar(scalarOf(packet.type)))!;
  }

  private structured(op: Op, lanes: readonly Substitution[], varying: ReadonlySet<Value>): void {
    const { build } = this;
    const operands = op.operands.map((v) => lanes[0]!.get(v));
    const regions = op.regions.map((region) =>
      build.region(region.arguments.length, (args) => {
        const inner = lanes.map((outer) => {
          const values = new Substitution(outer);
          region.arguments.forEach((a, i) => values.set(a, args[i]!));
          return values;
        });
        this.together(region.ops, inner, varying);
      }),
    );
    build.op(op.name, operands, op.attributes, null, regions);
  }
}

/**
 * Brings the loads of packets together that only values computed from others stand between, so that one wait serves all.
 * @param isPure whether an op may as well stand before packets are waited for
 */
export function groupPacketLoads(ops: readonly Op[], isPure: (op: Op) => boolean): readonly Op[] {
  const out: Op[] = [];
  let at = 0;
  while (at < ops.length) {
    if (ops[at]!.name !== "packet_load") {
      out.push(ops[at++]!);
      continue;
    }
    let end = at;
    for (let i = at; i < ops.length && (ops[i]!.name === "packet_load" || isPure(ops[i]!)); i++) end = i + 1;
    const run = ops.slice(at, end);
    const late = new Set<Value>();
    const [early, loads, rest]: [Op[], Op[], Op[]] = [[], [], []];
    for (const op of run) {
      const isLate = op.operands.some((v) => late.has(v));
      const list = isLate ? rest : op.name === "packet_load" ? loads : early;
      list.push(op);
      if (list !== early) for (const r of op.results) late.add(r);
    }
    // What depends on a packet that was loaded may itself be where another lies: those follow.
    out.push(
      ...early,
      ...loads,
      ...(rest.some((op) => op.name === "packet_load") ? groupPacketLoads(rest, isPure) : rest),
    );
    at = end;
  }
  return out;
}
