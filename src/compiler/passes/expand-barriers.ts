/**
 * expand-barriers: barriers become signals and waits on flags in the signal pad.
 *
 * Flags only grow. Each kind of barrier has a counter in `state` memory that outlives the launch: a block takes it into a
 * register when it starts, advances it at each barrier, and puts it back when it ends. Nothing is reset, so a replayed
 * graph needs no host. Every rank passes the same barriers, so the counters agree without being exchanged.
 *   block, all ranks   block b tells block b of each rank: flag[b, me] = n     (store, release, system scope)
 *   grid, all ranks    every block adds 1 to flag[me] of each rank; all wait for n × grid
 *   grid, this rank    the same with one counter, at GPU scope
 *   block, this rank   the block's own barrier
 */
import { Builder } from "../ir/builder.js";
import type { Attributes, Buffer, Kernel, Op, Value } from "../ir/module.js";
import { INDEX, scalar } from "../ir/types.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";

type Kind = "block" | "grid" | "local";
const KINDS: readonly Kind[] = ["block", "grid", "local"];
const EPOCHS = "epochs";
const NOW = "epochs_now";
const FLAGS: Record<Kind, string> = { block: "block_flags", grid: "grid_flags", local: "local_flags" };

export function expandBarriers(kernel: Kernel): Kernel {
  const kinds = new Set<Kind>();
  walkKernel(kernel, (op) => {
    const kind = kindOf(op, kernel.world);
    if (kind !== null) kinds.add(kind);
  });
  const expansion = new Expansion(kernel, kinds);
  const ops = expansion.run();
  return { ...kernel, buffers: [...kernel.buffers, ...expansion.buffers()], body: { arguments: [], ops } };
}

/** Which counter a barrier uses; null for other ops and for a barrier of one block alone. */
function kindOf(op: Op, world: number): Kind | null {
  if (op.name !== "barrier") return null;
  const isLocal = op.attributes["ranks"] === "self" || world === 1;
  if (op.attributes["scope"] === "grid") return isLocal ? "local" : "grid";
  return isLocal ? null : "block";
}

class Expansion {
  private readonly build: Builder;
  private readonly block: Value;
  private readonly grid: Value;
  private readonly zero: Value;

  constructor(
    private readonly kernel: Kernel,
    private readonly kinds: ReadonlySet<Kind>,
  ) {
    this.build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
    this.block = this.build.op("block", [], {}, INDEX)!;
    this.grid = this.build.op("grid", [], {}, INDEX)!;
    this.zero = this.build.constant(0);
  }

  buffers(): Buffer[] {
    const { maxBlocks, world } = this.kernel;
    const flags = (kind: Kind, shape: number[], symmetric: boolean): Buffer => ({
      name: FLAGS[kind],
      role: "signal",
      dtype: "u32",
      shape,
      symmetric,
    });
    const all: Record<Kind, Buffer> = {
      block: flags("block", [maxBlocks, world], true),
      grid: flags("grid", [world], true),
      local: flags("local", [1], false),
    };
    if (this.kinds.size === 0) return [];
    // One counter a block, then one for each kind that spans the grid.
    const epochs: Buffer = { name: EPOCHS, role: "state", dtype: "u32", shape: [maxBlocks + 2], symmetric: false };
    const now: Buffer = { name: NOW, role: "register", dtype: "u32", shape: [KINDS.length], symmetric: false };
    return [...KINDS.filter((k) => this.kinds.has(k)).map((k) => all[k]), epochs, now];
  }

  run(): readonly Op[] {
    const { build } = this;
    for (const kind of this.kinds) this.setNow(kind, build.load(EPOCHS, [this.counter(kind)], scalar("u32")));
    rewriteOps(this.kernel.body.ops, build, new Substitution(), (op) => {
      if (op.name !== "barrier") return false;
      this.barrier(op);
      return true;
    });
    for (const kind of this.kinds) {
      const store = (): void =>
        build.for("threads", [[this.zero, build.constant(1)]], () =>
          build.store(EPOCHS, this.now(kind), [this.counter(kind)]),
        );
      if (kind === "block") store();
      else build.if(build.compare("eq", this.block, this.zero), store);
    }
    return build.ops;
  }

  /** Where the counter of a kind outlives the launch. */
  private counter(kind: Kind): Value {
    if (kind === "block") return this.block;
    return this.build.constant(this.kernel.maxBlocks + (kind === "grid" ? 0 : 1));
  }

  private now(kind: Kind): Value {
    return this.build.load(NOW, [this.build.constant(KINDS.indexOf(kind))], scalar("u32"));
  }

  private setNow(kind: Kind, value: Value): void {
    this.build.store(NOW, value, [this.build.constant(KINDS.indexOf(kind))]);
  }

  private barrier(op: Op): void {
    const { build } = this;
    const kind = kindOf(op, this.kernel.world);
    build.op("block_sync", [], {}, null);
    if (kind === null) return;
    // Barriers across the grid count the arrival of every block.
    const step = kind === "block" ? build.constant(1, scalar("u32")) : build.cast(this.grid, "u32");
    const value = build.add(this.now(kind), step);
    this.setNow(kind, value);
    const buffer = FLAGS[kind];
    const scope = kind === "local" ? "gpu" : "sys";
    const world = build.constant(kind === "local" ? 1 : this.kernel.world);
    const rank = build.rank();
    const slot = (from: Value): Value =>
      kind === "block" ? build.add(build.mul(this.block, world), from) : kind === "grid" ? from : this.zero;
    build.for("threads", [[this.zero, world]], ([p]) => {
      const remote: Attributes = kind === "local" ? {} : { remote: true };
      const peer = kind === "local" ? [] : [p!];
      const amount = kind === "block" ? value : build.constant(1, scalar("u32"));
      const mode = kind === "block" ? "set" : "add";
      build.op("signal", [amount, ...peer, slot(rank)], { buffer, mode, scope, order: "release", ...remote }, null);
    });
    build.for("threads", [[this.zero, world]], ([p]) => {
      const peer = kind === "local" ? rank : p!;
      build.op("wait", [value, slot(p!), peer], { buffer, scope, order: "acquire" }, null);
    });
    build.op("block_sync", [], {}, null);
  }
}
