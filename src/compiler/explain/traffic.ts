/**
 * What a kernel moves and computes at given sizes, counted on its rank-level IR: who reads and stores how many bytes of
 * whose memory, how much arithmetic there is, and where ranks wait, in the order in which a rank comes to it.
 *
 * Nothing here knows a collective. A loop whose variable decides nothing is counted once and multiplied; others are gone
 * through iteration by iteration, long ones by samples. What depends on data is left out and said so.
 */
import { bufferOf, isGlobal, isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js"; // prettier-ignore
import { tileOperands, tileSource, tileWindow } from "../ir/tile-window.js";
import { lanesOf, scalarOf } from "../ir/types.js";
import { UsageError } from "../../errors.js";
import type { Span } from "../source.js";
import { productOps } from "../machine/op-facts.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import {
  inTurns,
  isOfIndices,
  iterationsOf,
  KnownValues,
  manyIterations,
  NeedsIterations,
} from "../machine/iterations.js";

/** Bytes that one line of the program moves, in one stretch between two points of synchronisation. */
export interface Move {
  readonly buffer: string;
  readonly kind: "load" | "store";
  readonly span: Span;
  /** Bytes of the memory of each rank that it touches, this rank's own included. */
  readonly bytesAt: Map<number, number>;
}

/** What a rank does between two points of synchronisation. */
export interface Stretch {
  readonly moves: readonly Move[];
  /** Arithmetic on elements, and multiplications and additions inside products of tiles. */
  readonly scalarOps: number;
  readonly tensorOps: number;
}

export interface RankTraffic {
  /** One more than there are points of synchronisation. */
  readonly stretches: readonly Stretch[];
  /** The ops that part them. */
  readonly syncs: readonly Op[];
  /** Long loops were sampled. */
  readonly isSampled: boolean;
  /** Places whose traffic only the data decides. */
  readonly unknown: readonly Span[];
}

/** Points of synchronisation of one rank that are followed at most: more tell nobody anything. */
const MOST_SYNCS = 10_000;

/** Ops that part stretches. */
const SYNCS: ReadonlySet<string> = new Set(["barrier", "notify", "await"]);

/** Ops that are counted, beside loads and stores of ranks' memory. */
const COUNTED: ReadonlySet<string> = new Set([
  ...SYNCS,
  "copy_tile",
  "mma",
  "fragment_put",
  "fragment_add",
  "reduce",
  "unary",
]);

/**
 * Counts what one rank does.
 * @param kernel at the rank level, with its synchronisation derived, or with `parts`
 * @param parts of a kernel without synchronisation: the ops before which there is to be some
 * @param isAtMost where data decides about a rank's own memory alone, count the side that moves more
 * @throws UsageError for more points of synchronisation than are followed
 */
export function trafficOfRank(
  kernel: Kernel,
  rank: number,
  dims: DimValues,
  parts: ReadonlySet<Op> = new Set(),
  isAtMost = false,
): RankTraffic {
  return new Counter(kernel, rank, dims, parts, isAtMost).run();
}

interface OpenStretch {
  moves: Map<string, Move>;
  scalarOps: number;
  tensorOps: number;
}

class Counter {
  private readonly values: KnownValues;
  private stretches: OpenStretch[] = [newStretch()];
  private readonly syncs: Op[] = [];
  private isSampled = false;
  private readonly unknown = new Map<number, Span>();
  /** Ops with regions that have synchronisation in them, or have none. */
  private readonly synchronising = new Map<Op, boolean>();
  /** Ops with regions in which something is counted, or nothing is. */
  private readonly counted = new Map<Op, boolean>();

  constructor(
    private readonly kernel: Kernel,
    private readonly rank: number,
    private readonly dims: DimValues,
    private readonly parts: ReadonlySet<Op>,
    private readonly isAtMost: boolean,
  ) {
    // How many blocks share the tiles decides where in the ring they go, and nothing that is counted: one has them all.
    this.values = new KnownValues(rank, dims, 1);
  }

  run(): RankTraffic {
    this.region(this.kernel.body, 1);
    const stretches = this.stretches.map((s) => ({ ...s, moves: [...s.moves.values()] }));
    return { stretches, syncs: this.syncs, isSampled: this.isSampled, unknown: [...this.unknown.values()] };
  }

  private region(region: Region, weight: number): void {
    for (const op of region.ops) this.op(op, weight);
  }

  /** A number that decides what is counted; null if only the data knows, which is said. @throws NeedsIterations */
  private deciding(v: Value, span: Span): number | null {
    const known = this.values.deciding(v);
    if (known === null) this.unknown.set(span.start, span);
    return known;
  }

  private part(op: Op): void {
    this.syncs.push(op);
    if (this.syncs.length > MOST_SYNCS)
      throw new UsageError(
        `ranks come to more than ${MOST_SYNCS} points of synchronisation`,
        "choose fewer ranks, or a program whose rounds are fewer",
      );
    this.stretches.push(newStretch());
  }

  private op(op: Op, weight: number): void {
    if (this.parts.has(op)) this.part(op);
    switch (op.name) {
      case "const":
      case "dim":
      case "rank":
      case "grid":
      case "block":
      case "launch_parity":
        return this.values.enter(op);
      case "binary":
      case "compare":
        if (isOfIndices(op)) this.values.enter(op);
        else this.stretch.scalarOps += weight;
        return;
      case "select":
        if (scalarOf(op.results[0]!.type) !== "index") this.stretch.scalarOps += weight;
        return this.values.enter(op);
      case "unary":
        this.stretch.scalarOps += weight;
        return;
      case "cast":
        if (scalarOf(op.results[0]!.type) === "index") this.values.set(op.results[0]!, this.values.of(op.operands[0]!));
        return;
      case "load":
      case "store":
        return this.access(op, weight);
      case "copy_tile":
        return this.tile(op, weight);
      case "mma":
        return this.product(op, weight);
      case "fragment_put":
      case "fragment_add":
        return this.piece(op, weight);
      case "if": {
        if (!this.isCounted(op)) return;
        if (this.isAtMost && this.staysHere(op) && this.values.deciding(op.operands[0]!) === null)
          return this.larger(op.regions, weight);
        const condition = this.deciding(op.operands[0]!, op.span);
        if (condition !== null) this.region(op.regions[condition !== 0 ? 0 : 1]!, weight);
        return;
      }
      case "roles":
        // What producers load, consumers use.
        return [...op.regions].reverse().forEach((region) => this.region(region, weight));
      case "for":
      case "reduce":
        return this.loop(op, weight);
      case "barrier":
      case "notify":
      case "await":
        this.part(op);
    }
  }

  private get stretch(): OpenStretch {
    return this.stretches.at(-1)!;
  }

  private loop(op: Op, weight: number): void {
    if (op.name === "for" && !this.isCounted(op)) return;
    const bounds = op.operands.map((v) => this.deciding(v, op.span));
    if (bounds.includes(null)) return;
    const [body] = op.regions as [Region];
    const ranges = body.arguments.map((_, i) => [bounds[2 * i]!, bounds[2 * i + 1]!] as const);
    const total = ranges.reduce((n, [lo, hi]) => n * Math.max(0, hi - lo), 1);
    if (total === 0) return;
    const isOrdered = this.synchronises(op);
    if (total > 1 && !isOrdered && this.taken(body, weight * total)) return this.folds(op, weight * total);
    // Loops over ranks are gone through rank by rank: each has memory of its own.
    const iterations = iterationsOf(
      ranges,
      !isOrdered,
      inTurns(body, manyIterations(this.kernel.world), (v) => this.values.of(v)),
    );
    this.isSampled ||= iterations.length < total;
    for (const iteration of iterations) {
      body.arguments.forEach((a, i) => this.values.set(a, iteration.values[i]!));
      this.region(body, weight * iteration.weight);
    }
    this.folds(op, weight * total);
  }

  /** A reduction's own arithmetic: one operation an iteration. */
  private folds(op: Op, iterations: number): void {
    if (op.name === "reduce" && scalarOf(op.results[0]!.type) !== "index") this.stretch.scalarOps += iterations;
  }

  /** Counts the one of some regions that moves most. */
  private larger(regions: readonly Region[], weight: number): void {
    const before = this.stretches.pop()!;
    const depth = this.stretches.length;
    const sides: OpenStretch[] = [];
    try {
      for (const region of regions) {
        this.stretches.push(newStretch());
        this.region(region, weight);
        sides.push(this.stretches.pop()!);
      }
    } finally {
      this.stretches.length = depth;
      this.stretches.push(before);
    }
    addTo(
      before,
      sides.reduce((a, b) => (bytesOf(b) > bytesOf(a) ? b : a)),
    );
  }

  /** Whether all that is done under an op is done with the memory of the own rank, without synchronisation. */
  private staysHere(op: Op): boolean {
    if (isRemote(op) || SYNCS.has(op.name) || this.parts.has(op)) return false;
    return op.regions.every((r) => r.ops.every((o) => this.staysHere(o)));
  }

  /** Counts all iterations at once. @returns false, with nothing counted, if the variables decide something. */
  private taken(body: Region, weight: number): boolean {
    const before = this.stretches.pop()!;
    const unknown = new Map(this.unknown);
    const counted = newStretch();
    this.stretches.push(counted);
    for (const a of body.arguments) this.values.set(a, "loop");
    try {
      this.region(body, weight);
      this.stretches[this.stretches.length - 1] = before;
      addTo(before, counted);
      return true;
    } catch (error) {
      if (!(error instanceof NeedsIterations)) throw error;
      this.stretches[this.stretches.length - 1] = before;
      for (const key of this.unknown.keys()) if (!unknown.has(key)) this.unknown.delete(key);
      return false;
    }
  }

  private access(op: Op, weight: number): void {
    const buffer = bufferOf(this.kernel, text(op, "buffer"));
    if (!isGlobal(buffer)) return;
    const { peer } = memoryOperands(op);
    const owner = isRemote(op) ? this.deciding(peer!, op.span) : this.rank;
    if (owner === null) return;
    const type = op.name === "store" ? op.operands[0]!.type : op.results[0]!.type;
    this.move(op, buffer.name, op.name === "store" ? "store" : "load", owner, weight * lanesOf(type) * DTYPES[buffer.dtype].bytes); // prettier-ignore
  }

  /** A tile is cut off where its source ends. */
  private tile(op: Op, weight: number): void {
    const from = bufferOf(this.kernel, text(op, "from"));
    const to = bufferOf(this.kernel, text(op, "to"));
    const numbers = op.operands.map((v) => this.deciding(v, op.span));
    if (numbers.includes(null)) return;
    const operands = tileOperands(op, from.shape.length, numbers as number[]);
    const [shape, target] = [from.shape, to.shape].map((s) => s.map((e) => evaluateExtent(e, this.dims)));
    const source = tileSource(op, shape!, target!);
    const { left, right, start } = tileWindow(source, operands);
    const rows = Array.from({ length: source.tile[0] }, (_, r) => start(r)).filter((at) => at !== null).length;
    this.move(
      op,
      from.name,
      "load",
      operands.peer ?? this.rank,
      weight * rows * Math.max(0, right - left) * DTYPES[from.dtype].bytes,
    );
  }

  /** Sums of a tile, of which rows outside are left out. */
  private piece(op: Op, weight: number): void {
    const { shape, dtype } = bufferOf(this.kernel, text(op, "buffer"));
    const [m, n] = shape as readonly [number, number];
    const inside = this.deciding(op.operands[1]!, op.span);
    if (inside === null) return;
    const bytes = weight * Math.min(m, Math.max(0, inside)) * n * DTYPES[dtype].bytes;
    const isPut = op.name === "fragment_put";
    this.move(op, text(op, isPut ? "to" : "from"), isPut ? "store" : "load", this.rank, bytes);
  }

  private product(op: Op, weight: number): void {
    const { scalar, tensor } = productOps(op, this.kernel);
    this.stretch.scalarOps += weight * scalar;
    this.stretch.tensorOps += weight * tensor;
  }

  private move(op: Op, buffer: string, kind: Move["kind"], owner: number, bytes: number): void {
    if (owner < 0 || owner >= this.kernel.world) return; // the language forbids it; `collc check` reports it
    const key = `${buffer} ${kind} ${op.span.start}`;
    const { moves } = this.stretch;
    const move = moves.get(key) ?? {
      buffer,
      kind,
      span: op.span,
      bytesAt: new Map<number, number>(),
    };
    moves.set(key, move);
    move.bytesAt.set(owner, (move.bytesAt.get(owner) ?? 0) + bytes);
  }

  /** Whether anything in the regions of an op is counted. Where ranks only wait for what has come, counters in memory decide how often. */
  private isCounted(op: Op): boolean {
    let known = this.counted.get(op);
    if (known === undefined) {
      known = op.regions.some((r) =>
        r.ops.some((o) => COUNTED.has(o.name) || this.parts.has(o) || this.accesses(o) || this.isCounted(o)),
      );
      if (op.regions.length > 0) this.counted.set(op, known);
    }
    return known;
  }

  /** Whether an op loads from the memory of a rank, or stores to it. */
  private accesses(op: Op): boolean {
    return (op.name === "load" || op.name === "store") && isGlobal(bufferOf(this.kernel, text(op, "buffer")));
  }

  private synchronises(op: Op): boolean {
    let known = this.synchronising.get(op);
    if (known === undefined) {
      known =
        SYNCS.has(op.name) || op.regions.some((r) => r.ops.some((o) => this.parts.has(o) || this.synchronises(o)));
      if (op.regions.length > 0) this.synchronising.set(op, known);
    }
    return known;
  }
}

const newStretch = (): OpenStretch => ({ moves: new Map(), scalarOps: 0, tensorOps: 0 });

function bytesOf({ moves }: OpenStretch): number {
  return [...moves.values()].reduce((sum, { bytesAt }) => [...bytesAt.values()].reduce((a, b) => a + b, sum), 0);
}

function addTo(sum: OpenStretch, more: OpenStretch): void {
  for (const [key, { bytesAt, ...move }] of more.moves) {
    const known = sum.moves.get(key);
    if (known === undefined) sum.moves.set(key, { ...move, bytesAt });
    else for (const [owner, bytes] of bytesAt) known.bytesAt.set(owner, (known.bytesAt.get(owner) ?? 0) + bytes);
  }
  sum.scalarOps += more.scalarOps;
  sum.tensorOps += more.tensorOps;
}
