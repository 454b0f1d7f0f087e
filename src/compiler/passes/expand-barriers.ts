/**
 * expand-barriers: barriers become signals and waits on flags in the signal pad.
 *
 * Flags only grow. Each kind of barrier has a counter in `state` memory that outlives the launch; the n-th barrier
 * of a launch uses counter + n, computed from the loop variables around it, and the kernel's end stores the new
 * counter. Nothing is reset, so a replayed graph needs no host. Every rank passes the same barriers, so the
 * counters agree without being exchanged.
 *   block, all ranks   block b tells block b of each rank: flag[b, me] = n     (store, release, system scope)
 *   grid, all ranks    every block adds 1 to flag[me] of each rank; all wait for n × grid
 *   grid, this rank    the same with one counter, at GPU scope
 *   block, this rank   the block's own barrier
 */
import type { Builder } from "../ir/builder.js";
import { Builder as IrBuilder } from "../ir/builder.js";
import type { Buffer, Kernel, Op, Value } from "../ir/module.js";
import { INDEX, scalar } from "../ir/types.js";
import { copyOp, Substitution, walkKernel } from "../ir/visit.js";
import { InternalCompilerError } from "../diagnostics/ice.js";

type Kind = "block" | "grid" | "local";
const KINDS: readonly Kind[] = ["block", "grid", "local"];
const EPOCHS = "epochs";
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

type Ticks = Record<Kind, Value>;

class Expansion {
  private readonly build: Builder;
  private readonly block: Value;
  private readonly grid: Value;
  private readonly zero: Value;
  private readonly bases = new Map<Kind, Value>();

  constructor(
    private readonly kernel: Kernel,
    private readonly kinds: ReadonlySet<Kind>,
  ) {
    this.build = new IrBuilder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
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
    return [...KINDS.filter((k) => this.kinds.has(k)).map((k) => all[k]), epochs];
  }

  private counter(kind: Kind): Value {
    if (kind === "block") return this.block;
    return this.build.constant(this.kernel.maxBlocks + (kind === "grid" ? 0 : 1));
  }

  run(): readonly Op[] {
    const { build } = this;
    for (const kind of this.kinds) this.bases.set(kind, build.load(EPOCHS, [this.counter(kind)], scalar("u32")));
    const start: Ticks = { block: this.zero, grid: this.zero, local: this.zero };
    const end = this.sequence(this.kernel.body.ops, start, new Substitution());
    for (const kind of this.kinds) {
      const store = (): void =>
        build.for("threads", [[this.zero, build.constant(1)]], () =>
          build.store(EPOCHS, this.flagValue(kind, end[kind]), [this.counter(kind)]),
        );
      if (kind === "block") store();
      else build.if(build.compare("eq", this.block, this.zero), store);
    }
    return build.ops;
  }

  /** Flag value after `ticks` barriers of this launch: barriers across the grid count every block's arrival. */
  private flagValue(kind: Kind, ticks: Value): Value {
    const { build } = this;
    const arrivals = kind === "block" ? ticks : build.mul(ticks, this.grid);
    return build.add(this.bases.get(kind)!, build.cast(arrivals, "u32"));
  }

  private sequence(ops: readonly Op[], start: Ticks, values: Substitution): Ticks {
    let ticks = start;
    for (const op of ops) {
      this.build.span = op.span;
      if (op.name === "barrier") ticks = this.barrier(op, ticks);
      else if (this.barriersIn(op) === 0) copyOp(op, this.build, values);
      else if (op.name === "for") ticks = this.loop(op, ticks, values);
      else if (op.name === "if") ticks = this.branch(op, ticks, values);
      else throw new InternalCompilerError(`a barrier stands inside a '${op.name}'`);
    }
    return ticks;
  }

  private barriersIn(op: Op): number {
    return op.regions.reduce(
      (n, r) => r.ops.reduce((m, o) => m + (o.name === "barrier" ? 1 : this.barriersIn(o)), n),
      0,
    );
  }

  private loop(op: Op, ticks: Ticks, values: Substitution): Ticks {
    const { build } = this;
    const [lo, hi] = op.operands.map((v) => values.get(v)) as [Value, Value];
    const trips = build.binary("max", build.sub(hi, lo), this.zero);
    const perTurn = this.count(op.regions[0]!.ops);
    const after = (turns: Value): Ticks => {
      const next = { ...ticks };
      for (const kind of KINDS)
        if (perTurn[kind] > 0) next[kind] = build.add(ticks[kind], build.mul(turns, build.constant(perTurn[kind])));
      return next;
    };
    build.for("serial", [[lo, hi]], ([v]) => {
      const inner = new Substitution(values);
      inner.set(op.regions[0]!.arguments[0]!, v!);
      this.sequence(op.regions[0]!.ops, after(build.sub(v!, lo)), inner);
    });
    return after(trips);
  }

  /** Barriers of each kind that one turn of a loop body passes. */
  private count(ops: readonly Op[]): Record<Kind, number> {
    const total: Record<Kind, number> = { block: 0, grid: 0, local: 0 };
    for (const op of ops) {
      const kind = kindOf(op, this.kernel.world);
      if (kind !== null) total[kind]++;
      else if (this.barriersIn(op) > 0)
        throw new InternalCompilerError("a barrier stands two loops deep, or in a branch inside a loop");
    }
    return total;
  }

  private branch(op: Op, ticks: Ticks, values: Substitution): Ticks {
    const { build } = this;
    const condition = values.get(op.operands[0]!);
    const counts = op.regions.map((r) => this.count(r.ops));
    const run = (i: number): void => void this.sequence(op.regions[i]!.ops, ticks, values);
    build.if(
      condition,
      () => run(0),
      () => run(1),
    );
    const next = { ...ticks };
    for (const kind of KINDS) {
      const [a, b] = counts.map((c) => build.constant(c[kind]));
      next[kind] = build.add(ticks[kind], build.select(condition, a!, b!));
    }
    return next;
  }

  private barrier(op: Op, ticks: Ticks): Ticks {
    const { build } = this;
    const kind = kindOf(op, this.kernel.world);
    if (kind === null) {
      build.op("block_sync", [], {}, null);
      return ticks;
    }
    const next: Ticks = { ...ticks, [kind]: build.add(ticks[kind], build.constant(1)) };
    const value = this.flagValue(kind, next[kind]);
    const buffer = FLAGS[kind];
    const scope = kind === "local" ? "gpu" : "sys";
    const world = build.constant(kind === "local" ? 1 : this.kernel.world);
    const rank = build.rank();
    const slot = (from: Value): Value =>
      kind === "block" ? build.add(build.mul(this.block, world), from) : kind === "grid" ? from : this.zero;
    build.op("block_sync", [], {}, null);
    build.for("threads", [[this.zero, world]], ([p]) => {
      if (kind === "block")
        build.op(
          "signal",
          [value, p!, slot(rank)],
          { buffer, mode: "set", scope, order: "release", remote: true },
          null,
        );
      else {
        const one = build.constant(1, scalar("u32"));
        const operands = kind === "grid" ? [one, p!, slot(rank)] : [one, slot(rank)];
        build.op(
          "signal",
          operands,
          { buffer, mode: "add", scope, order: "release", ...(kind === "grid" ? { remote: true } : {}) },
          null,
        );
      }
    });
    build.for("threads", [[this.zero, world]], ([p]) => {
      const peer = kind === "local" ? rank : p!;
      build.op("wait", [value, slot(p!), peer], { buffer, scope, order: "acquire" }, null);
    });
    build.op("block_sync", [], {}, null);
    return next;
  }
}
