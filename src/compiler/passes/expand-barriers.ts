/**
 * expand-barriers: barriers, notify and await become signals and waits on flags in the signal pad.
 *
 * Flags only grow. One epoch a block, in `state` memory that outlives the launch: a block takes it into a register when it
 * starts, advances it at each barrier that leaves the block, and puts it back when it ends. Every rank passes the same
 * barriers, so epochs agree without being exchanged, and nothing is ever reset: a replayed graph needs no host.
 * At a barrier block b of rank r sets flags[b, r] to the epoch on every rank it tells (release); blocks that are told wait
 * for the flag of the same number (`block`) or for those of all blocks (`grid`), each flag by a thread of its own (acquire).
 *
 * A barrier around the launch is told of by the last block as it starts, and waited for as it ends, by its last threads: blocks
 * of this launch come after all of the last one, by the rank's stream, and those of the next one after this block. The grid
 * has one block more for it as long as it is not full.
 *
 * What a rank says before its launch has touched memory speaks of launches before it, and the stream has ended those: it takes no
 * release (`order="launch"`), whose fence takes 1.0 µs on H200s and 1.7 on H100s (2026-11). NCCL's symmetric
 * kernels begin with such a barrier, too (`bar.arrive(…, memory_order_relaxed)`, src/device/symmetric/all_gather.cuh). The end of a launch
 * sees to what it loaded, and to what it stored in its rank's own memory; what it stored to peers, its last barrier has to release.
 */
import { Builder } from "../ir/builder.js";
import { type Attributes, type Buffer, freshName, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { definitionOf, type OpName } from "../ir/ops.js";
import { INDEX, scalar } from "../ir/types.js";
import { rewriteOps, Substitution, walk, walkKernel } from "../ir/visit.js";
import { extent } from "../types/extent.js";
import { arrivalOf, ArrivalsExpansion } from "./support/arrivals-expansion.js";
import { Definitions } from "./support/analysis.js";
import { NotifyExpansion } from "./support/notify-expansion.js";
import { isSynced, isUntouched, surelyMeets } from "./support/block-sync.js";
import { receiversOf, sendersOf } from "./support/peer-lists.js";

export function expandBarriers(kernel: Kernel): Kernel {
  const expansion = new Expansion(kernel);
  const ops = expansion.run();
  const { buffers, work } = expansion;
  return { ...kernel, work, buffers: [...kernel.buffers, ...buffers], body: { arguments: [], ops } };
}

/** Ops for which blocks count launches. */
const LAUNCHES: ReadonlySet<OpName> = new Set<OpName>(["launch_parity", "launch_epoch", "piece_put", "tile_sent"]);

function isAround(op: Op): boolean {
  return op.name === "barrier" && op.attributes["scope"] === "launch";
}

/** Whether ops store to peers' memory but in packets, each of which its receiver waits for. */
function storesToPeers(ops: readonly Op[]): boolean {
  let stores = false;
  walk({ arguments: [], ops: [...ops] }, (op) => {
    const isWord = op.name === "packet_store" || op.name === "signal";
    stores ||= !isWord && op.attributes["remote"] === true && definitionOf(op.name).effect !== "read";
  });
  return stores;
}

class Expansion {
  readonly buffers: Buffer[] = [];
  work: Kernel["work"];
  private readonly build: Builder;
  /** The kernel's own list of ops, as far as it is built. */
  private readonly top: readonly Op[];
  private readonly block: Value;
  private readonly grid: Value;
  private readonly zero: Value;
  private readonly world: Value;
  private readonly names;
  private readonly notifications: NotifyExpansion;
  /** The barrier after which the block does nothing. */
  private readonly last: Op | undefined;
  /** Whether a launch's end sees to all that it did. */
  private readonly endsDone: boolean;
  /** The barriers of the movers of the roles at hand, and the one at which what all movers have sent has arrived. */
  private ofMovers: readonly Op[] = [];
  private arrival: Op | null = null;
  /** Parts of a rank's shard that are told apart, at most. */
  private parts = 0;
  private readonly arrivals: ArrivalsExpansion;

  constructor(private readonly kernel: Kernel) {
    const build = (this.build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 }));
    this.top = build.ops;
    this.work = kernel.work;
    this.names = {
      flags: freshName(kernel, "flags"),
      epochs: freshName(kernel, "epochs"),
      now: freshName(kernel, "epoch"),
      launches: freshName(kernel, "launches"),
      began: freshName(kernel, "began"),
    };
    this.block = build.op("block", [], {}, INDEX)!;
    this.grid = build.op("grid", [], {}, INDEX)!;
    this.zero = build.constant(0);
    this.world = build.constant(kernel.world);
    this.notifications = new NotifyExpansion(kernel, build, { block: this.block, grid: this.grid });
    this.arrivals = new ArrivalsExpansion(kernel, build, { block: this.block, grid: this.grid, zero: this.zero });
    this.last = kernel.body.ops.at(-1);
    this.endsDone = this.releasesStores(kernel.body.ops);
  }

  run(): readonly Op[] {
    const { build, kernel } = this;
    let leavesBlock = false;
    let reachesPeers = false;
    let countsLaunches = false;
    let around: Op | null = null;
    walkKernel(kernel, (op) => {
      if (isAround(op)) around = op;
      countsLaunches ||= LAUNCHES.has(op.name) || isAround(op);
      if (op.name === "roles") this.parts = Math.max(this.parts, arrivalOf(op)?.parts ?? 0);
      if (op.name !== "barrier" || isAround(op)) return;
      const { pairs, isGrid } = this.meaning(op);
      leavesBlock ||= isGrid || pairs.between > 0;
      reachesPeers ||= pairs.between > 0;
    });
    if (leavesBlock) {
      const shape = [kernel.maxBlocks, kernel.world];
      this.buffers.push(
        { name: this.names.flags, role: "signal", dtype: "u32", shape, symmetric: reachesPeers },
        { name: this.names.epochs, role: "state", dtype: "u32", shape: [kernel.maxBlocks], symmetric: false },
        { name: this.names.now, role: "register", dtype: "u32", shape: [1], symmetric: false },
      );
      build.store(this.names.now, build.load(this.names.epochs, [this.block], scalar("u32")), [this.zero]);
    }
    const sendsShards = this.parts > 0;
    if (sendsShards) this.buffers.push(...this.arrivals.declare(this.parts));
    const launches = countsLaunches ? this.launches() : null;
    rewriteOps(kernel.body.ops, build, new Substitution(), (op, _, values) => {
      if (op.name === "roles") this.beginRoles(op);
      if (op.name === "launch_parity") values.set(op.results[0]!, launches!.parity);
      else if (op.name === "launch_epoch") values.set(op.results[0]!, launches!.next);
      else if (isAround(op)) this.tellOfLaunch(op, launches!.next);
      else if (op.name === "barrier") this.barrier(op, values);
      else if (this.arrivals.take(op, values)) return true;
      else if (op.name === "tile_sent")
        this.tileSent(
          text(op, "told"),
          op.operands.map((v) => values.get(v)),
        );
      else if (op.name === "await_tile") this.awaitTile(text(op, "told"), values.get(op.operands[0]!));
      else if (op.name === "piece_put") this.piecePut(text(op, "told"), values.get(op.operands[0]!));
      else if (op.name === "await_pieces")
        this.awaitPieces(
          text(op, "told"),
          op.operands.map((v) => values.get(v)),
        );
      else if (op.name === "notify") this.notifications.notify(values.get(op.operands[0]!));
      else if (op.name === "await") this.notifications.await(values.get(op.operands[0]!));
      else return false;
      return true;
    });
    if (around !== null) this.awaitLaunches(around, launches!.next);
    const kept: [string, () => Value][] = leavesBlock ? [[this.names.epochs, () => this.now()]] : [];
    if (sendsShards) kept.push([this.arrivals.state, () => this.arrivals.expected()]);
    if (launches !== null) kept.push([this.names.launches, () => launches.next]);
    // All threads have read what is kept before one of them stores it: a loop may have no iteration, and its barriers none to pass.
    if (kept.length > 0) {
      if (!surelyMeets(kernel.body.ops, new Definitions(kernel))) build.op("block_sync", [], {}, null);
      this.keep(kept);
    }
    this.buffers.push(...this.notifications.finish());
    return build.ops;
  }

  /** The number of earlier launches, which each block counts for itself. */
  private launches(): { parity: Value; next: Value } {
    const { build, names } = this;
    const shape = [this.kernel.maxBlocks];
    this.buffers.push({ name: names.launches, role: "state", dtype: "u32", shape, symmetric: false });
    const count = build.load(names.launches, [this.block], scalar("u32"));
    const two = build.constant(2);
    return {
      parity: build.rem(build.cast(count, "index"), two),
      next: build.add(count, build.constant(1, scalar("u32"))),
    };
  }

  private tellOfLaunch(op: Op, epoch: Value): void {
    const { build, names } = this;
    const { world } = this.kernel;
    const order = this.orderHere();
    this.work = this.work.map((e) => extent("add", e, 1));
    this.buffers.push({ name: names.began, role: "signal", dtype: "u32", shape: [world], symmetric: true });
    this.lastThreads(
      op,
      receiversOf,
      (peer) =>
      build.op("signal", [epoch, peer, build.rank()], { buffer: names.began, mode: "set", scope: "sys", order, remote: true }, null), // prettier-ignore
    );
  }

  private awaitLaunches(op: Op, epoch: Value): void {
    const { build, names } = this;
    build.span = op.span;
    this.lastThreads(op, sendersOf, (peer) =>
      build.op("wait", [epoch, peer, peer], { buffer: names.began, scope: "sys", order: "acquire" }, null),
    );
  }

  /** What a signal here has to say of what was before it: only of earlier launches, where this one has touched no memory yet. */
  private orderHere(): "launch" | "release" {
    const { build, names } = this;
    const isFirst = build.ops === this.top && isUntouched(build.ops, [names.epochs, names.now, names.launches]);
    return isFirst && this.endsDone ? "launch" : "release";
  }

  /** Whether all stores to peers are behind them when ops get to a barrier at which each rank tells some other of all that its blocks did. */
  private releasesStores(ops: readonly Op[]): boolean {
    for (const op of ops.toReversed()) {
      if (this.releases(op)) return true;
      if (!storesToPeers([op])) continue;
      // A loop that has no iteration stores nothing either.
      const isBlockWide = op.name === "if" || (op.name === "for" && op.attributes["map"] !== "threads");
      if (isBlockWide && op.regions.every((r) => this.releasesStores(r.ops))) continue;
      if (op.name !== "roles" || op.attributes["movers"] === undefined) return false;
      const [consumers, producers, movers] = op.regions;
      if (storesToPeers([...consumers!.ops, ...producers!.ops])) return false;
      // A shard's last part is told of by one block, for all.
      if (arrivalOf(op) !== null || !this.releasesStores(movers!.ops)) return false;
    }
    return true;
  }

  private releases(op: Op): boolean {
    if (op.name === "tile_sent") return true;
    if (op.name !== "barrier" || isAround(op) || op.attributes["half"] === "wait") return false;
    const { pairs } = this.meaning(op);
    const ranks = Array.from({ length: this.kernel.world }, (_, r) => r);
    return ranks.every((r) => ranks.some((p) => p !== r && pairs.has(r, p)));
  }

  private lastThreads(op: Op, listOf: typeof receiversOf, body: (peer: Value) => void): void {
    const { build, zero } = this;
    const { blockThreads } = this.kernel;
    const peers = listOf(this.meaning(op).pairs, build, build.rank());
    const first = build.constant(Math.max(0, blockThreads - peers.count));
    build.if(build.compare("eq", build.add(this.block, build.constant(1)), this.grid), () =>
      build.for("threads", [[zero, build.constant(Math.max(blockThreads, peers.count))]], ([t]) =>
        build.if(build.compare("ge", t!, first), () => peers.each(build.sub(t!, first), body)),
      ),
    );
  }

  /** The next launch may have more blocks: entry i is kept by block i modulo the grid. */
  private keep(values: readonly (readonly [state: string, value: () => Value])[]): void {
    const { build } = this;
    build.for("threads", [[this.zero, build.constant(this.kernel.maxBlocks)]], ([i]) =>
      build.if(build.compare("eq", build.rem(i!, this.grid), this.block), () => {
        for (const [state, value] of values) build.store(state, value(), [i!]);
      }),
    );
  }

  private now(): Value {
    return this.build.load(this.names.now, [this.zero], scalar("u32"));
  }

  private meaning(op: Op): { pairs: RankPairs; isGrid: boolean } {
    return {
      pairs: RankPairs.parse(op.attributes["ranks"] as string, this.kernel.world)!,
      isGrid: op.attributes["scope"] === "grid",
    };
  }

  /** All threads of a block count the barriers of its movers, each in a register of its own; the movers carry them out. What arrives in place of a barrier is counted apart. */
  private beginRoles(op: Op): void {
    const arrival = arrivalOf(op)?.barrier ?? null;
    this.arrival = arrival;
    this.ofMovers = op.regions[2]!.ops.filter((o) => o.name === "barrier" && o !== arrival);
    if (this.ofMovers.length > 0) this.advance(this.ofMovers.length);
    if (arrival !== null) this.arrivals.expectMore();
  }

  /** Sets this rank's word of a tile, at its owner, to the number of the launch. */
  private tileSent(told: string, [owner, tile]: readonly Value[]): void {
    const { build } = this;
    const epoch = this.launchHere();
    build.op("block_sync", [], {}, null);
    build.for("threads", [[this.zero, build.constant(1)]], () => {
      const slot = build.add(build.mul(tile!, this.world), build.rank());
      build.op("signal", [epoch, owner!, slot], { buffer: told, mode: "set", scope: "sys", order: "release", remote: true }, null); // prettier-ignore
    });
  }

  /** Waits for the words of all other ranks of a tile, each by a thread. */
  private awaitTile(told: string, tile: Value): void {
    const { build } = this;
    const epoch = this.launchHere();
    build.for("threads", [[this.zero, this.world]], ([peer]) =>
      build.if(build.compare("ne", peer!, build.rank()), () => {
        const slot = build.add(build.mul(tile, this.world), peer!);
        build.op("wait", [epoch, slot, peer!], { buffer: told, scope: "sys", order: "acquire" }, null);
      }),
    );
    build.op("block_sync", [], {}, null);
  }

  /** The number of this launch, as a role reads it: it has few registers to keep what the block began with. */
  private launchHere(): Value {
    const { build, names } = this;
    const earlier = build.load(names.launches, [this.block], scalar("u32"));
    return build.add(earlier, build.constant(1, scalar("u32")));
  }

  private piecePut(told: string, piece: Value): void {
    const { build } = this;
    const epoch = this.launchHere();
    build.op("block_sync", [], {}, null);
    build.for("threads", [[this.zero, build.constant(1)]], () =>
      build.op("signal", [epoch, piece], { buffer: told, mode: "set", scope: "gpu", order: "release" }, null),
    );
  }

  private awaitPieces(told: string, [first, step, count]: readonly Value[]): void {
    const { build } = this;
    const epoch = this.launchHere();
    build.for("threads", [[this.zero, count!]], ([k]) => {
      const piece = build.add(first!, build.mul(k!, step!));
      build.op("wait", [epoch, piece], { buffer: told, scope: "gpu", order: "acquire" }, null);
    });
    build.op("block_sync", [], {}, null);
  }

  private advance(by = 1): Value {
    const { build } = this;
    const epoch = build.add(this.now(), build.constant(by, scalar("u32")));
    build.store(this.names.now, epoch, [this.zero]);
    return epoch;
  }

  private barrier(op: Op, values: Substitution): void {
    const { build } = this;
    if (op === this.arrival) return this.arrivals.awaitAll();
    const { pairs, isGrid } = this.meaning(op);
    const half = op.attributes["half"];
    if (!isGrid && pairs.between === 0) return void build.op("block_sync", [], {}, null);
    const isSyncedBefore = isSynced(build.ops, build.ops === this.top, [
      this.names.epochs,
      this.names.now,
      this.names.launches,
    ]);
    if (!isSyncedBefore && half !== "wait") build.op("block_sync", [], {}, null);
    let epoch: Value;
    if (half === "wait") {
      const [behind] = op.operands.map((v) => values.get(v));
      epoch = behind === undefined ? this.now() : build.sub(this.now(), build.cast(behind, "u32"));
    } else if (this.ofMovers.includes(op)) {
      const later = this.ofMovers.length - 1 - this.ofMovers.indexOf(op);
      epoch = later === 0 ? this.now() : build.sub(this.now(), build.constant(later, scalar("u32")));
    } else epoch = this.advance();
    const scope = pairs.between === 0 ? "gpu" : "sys";
    if (half !== "wait") this.arrive(pairs, epoch, scope, this.orderHere());
    if (half === "arrive") return;
    this.wait(pairs, isGrid, epoch, scope);
    // All threads have read the epoch before one of them stores it.
    if (op !== this.last || isSyncedBefore) build.op("block_sync", [], {}, null);
  }

  private arrive(pairs: RankPairs, epoch: Value, scope: "gpu" | "sys", order: "launch" | "release" = "release"): void {
    const { build } = this;
    const own = this.ownFlag();
    const receivers = receiversOf(pairs, build, own.rank);
    build.for("threads", [[this.zero, build.constant(receivers.count)]], ([k]) =>
      receivers.each(k!, (peer) => this.tell(peer, own, epoch, scope, order)),
    );
  }

  /** Where the flag of this block and rank is, as the block's row and the rank's column. */
  private ownFlag(): { readonly rank: Value; readonly row: Value } {
    return { rank: this.build.rank(), row: this.build.mul(this.block, this.world) };
  }

  /** Sets this block's flag on a rank. */
  private tell(
    peer: Value,
    { rank, row }: ReturnType<Expansion["ownFlag"]>,
    epoch: Value,
    scope: "gpu" | "sys",
    order: "launch" | "release",
  ): void {
    const to = this.kernel.world === 1 || scope === "gpu" ? [] : [peer];
    const remote: Attributes = to.length > 0 ? { remote: true } : {};
    this.build.op("signal", [epoch, ...to, this.build.add(row, rank)], { buffer: this.names.flags, mode: "set", scope, order, ...remote }, null); // prettier-ignore
  }

  private wait(pairs: RankPairs, isGrid: boolean, epoch: Value, scope: "gpu" | "sys"): void {
    const { build } = this;
    const row = build.mul(this.block, this.world);
    const senders = sendersOf(pairs, build, build.rank());
    const count = build.constant(senders.count);
    build.for("threads", [[this.zero, isGrid ? build.mul(this.grid, count) : count]], ([t]) =>
      senders.each(isGrid ? build.rem(t!, count) : t!, (peer) => {
        const from = isGrid ? build.mul(build.div(t!, count), this.world) : row;
        build.op(
          "wait",
          [epoch, build.add(from, peer), peer],
          { buffer: this.names.flags, scope, order: "acquire" },
          null,
        );
      }),
    );
  }
}
