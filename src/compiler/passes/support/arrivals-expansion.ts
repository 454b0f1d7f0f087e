/**
 * What is gathered while a product goes on, as signals and waits (`product-movers.ts`, `gathered-waits.ts`): movers tell each rank of each part of their shard by one
 * word, which counts blocks; words of copy engines are told by the engines (`program/fed-products.ts`), and only awaited here. Words only grow.
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, bufferOf, freshName, type Kernel, type Op, type Value } from "../../ir/module.js";
import { scalar } from "../../ir/types.js";
import { type Substitution, walk } from "../../ir/visit.js";

/** The barrier of which each rank is told apart, as soon as what the movers of these roles send it is there, and in how many parts at most. */
export function arrivalOf(roles: Op): { readonly barrier: Op; readonly parts: number } | null {
  let parts = 0;
  walk(roles.regions[2]!, (op) => {
    if (op.name === "shard_sent") parts = op.attributes["parts"] as number;
  });
  return parts > 0 ? { barrier: roles.regions[2]!.ops.at(-1)!, parts } : null;
}

export class ArrivalsExpansion {
  private readonly names;
  private parts = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly build: Builder,
    private readonly machine: { readonly block: Value; readonly grid: Value; readonly zero: Value },
  ) {
    this.names = {
      counted: freshName(kernel, "counted"),
      arrived: freshName(kernel, "arrived"),
      arrivals: freshName(kernel, "arrivals"),
      expected: freshName(kernel, "expected"),
    };
  }

  /** One word for each part of each rank's shard says that all of its blocks have sent theirs, and takes one look. */
  declare(parts: number): readonly Buffer[] {
    const { build, kernel, names } = this;
    const { block, zero } = this.machine;
    this.parts = parts;
    const shape = [kernel.world, parts];
    const buffers: readonly Buffer[] = [
      { name: names.counted, role: "signal", dtype: "u32", shape, symmetric: false },
      { name: names.arrived, role: "signal", dtype: "u32", shape, symmetric: true },
      { name: names.arrivals, role: "state", dtype: "u32", shape: [kernel.maxBlocks], symmetric: false },
      { name: names.expected, role: "register", dtype: "u32", shape: [1], symmetric: false },
    ];
    build.store(names.expected, build.load(names.arrivals, [block], scalar("u32")), [zero]);
    return buffers;
  }

  /** The state that {@link expected} is kept in for the next launch. */
  get state(): string {
    return this.names.arrivals;
  }

  /** Roles begin in which each block of every rank sends. */
  expectMore(): void {
    const { build, names, machine } = this;
    build.store(names.expected, build.add(this.expected(), build.cast(machine.grid, "u32")), [machine.zero]);
  }

  /** Expands an op of what is gathered. @returns whether it was one */
  take(op: Op, values: Substitution): boolean {
    const operands = op.operands.map((v) => values.get(v)) as [Value, Value, Value];
    if (op.name === "shard_sent") this.shardSent(...operands);
    else if (op.name === "await_movers") this.awaitMovers(...operands);
    else if (op.name === "await_copies") this.awaitCopies(op, operands);
    else if (op.name === "count_launch") this.countLaunch(op);
    else return false;
    return true;
  }

  /** What a rank's count comes to when all of its blocks have sent what they send in the roles at hand. */
  expected(): Value {
    return this.build.load(this.names.expected, [this.machine.zero], scalar("u32"));
  }

  /**
   * The movers' last barrier, as far as it tells one rank of some parts, each by a thread: each block counts that it has sent them, and the
   * last one, whose movers move nothing where there are others, tells when all have: no other waits before it goes on. Nothing is added to in a peer's memory, which takes atomics that not every link has.
   */
  private shardSent(peer: Value, from: Value, to: Value): void {
    const { build, names } = this;
    const { block, grid } = this.machine;
    build.op("block_sync", [], {}, null);
    const one = build.constant(1, scalar("u32"));
    const expected = this.expected();
    const tells = build.compare("eq", build.add(block, build.constant(1)), grid);
    build.for("threads", [[from, to]], ([part]) => {
      const slot = this.slotOf(peer, part!);
      build.op("signal", [one, slot], { buffer: names.counted, mode: "add", scope: "gpu", order: "release" }, null);
      build.if(tells, () => {
        build.op(
          "wait",
          [expected, slot, build.rank()],
          { buffer: names.counted, scope: "gpu", order: "acquire" },
          null,
        );
        build.op("signal", [expected, peer, this.slotOf(build.rank(), part!)], { buffer: names.arrived, mode: "set", scope: "sys", order: "release", remote: true }, null); // prettier-ignore
      });
    });
  }

  /** Waits until the movers of all blocks of some ranks have sent a part of their shard, for each rank by a thread. */
  private awaitMovers(first: Value, end: Value, part: Value): void {
    this.build.for("threads", [[first, end]], ([peer]) => this.awaitPart(this.slotOf(peer!, part), peer!));
    this.build.op("block_sync", [], {}, null);
  }

  /** The same for all parts of all ranks. */
  awaitAll(): void {
    const { build, kernel, parts } = this;
    build.for("threads", [[this.machine.zero, build.constant(kernel.world * parts)]], ([slot]) =>
      this.awaitPart(slot!, build.div(slot!, build.constant(parts))),
    );
    build.op("block_sync", [], {}, null);
  }

  private countLaunch({ attributes }: Op): void {
    const { build } = this;
    const { block, zero } = this.machine;
    const name = attributes["sent"] as string;
    const [one, kind] = [build.constant(1), scalar("u32")];
    build.if(build.compare("eq", block, zero), () =>
      build.for("threads", [[zero, one]], ([i]) =>
        build.store(name, build.add(build.load(name, [i!], kind), build.constant(1, kind)), [i!]),
      ),
    );
  }

  /** Waits for words of copy engines, for each rank by a thread. */
  private awaitCopies({ attributes }: Op, [first, end, part]: readonly [Value, Value, Value]): void {
    const { build } = this;
    const { arrived, sent } = attributes as { readonly arrived: string; readonly sent: string };
    const parts = build.constant(bufferOf(this.kernel, arrived).shape[1] as number);
    build.for("threads", [[first, end]], ([peer]) => {
      // What the rank has copied for itself comes before the kernel.
      build.if(build.compare("ne", peer!, build.rank()), () => {
        const slot = build.add(build.mul(peer!, parts), part);
        const count = build.load(sent, [this.machine.zero], scalar("u32"));
        build.op("wait", [count, slot, peer!], { buffer: arrived, scope: "sys", order: "acquire" }, null);
      });
    });
    build.op("block_sync", [], {}, null);
  }

  private awaitPart(slot: Value, peer: Value): void {
    const { names } = this;
    this.build.op("wait", [this.expected(), slot, peer], { buffer: names.arrived, scope: "sys", order: "acquire" }, null); // prettier-ignore
  }

  private slotOf(rank: Value, part: Value): Value {
    return this.build.add(this.build.mul(rank, this.build.constant(this.parts)), part);
  }
}
