/**
 * What one rank does in a launch, counted on its device-level kernel at given sizes and a given grid: bytes of whose memory,
 * arithmetic, and the path of the busiest thread: of block 0, which has no fewer iterations than any other block of what begins with row 0.
 *
 * Nothing here knows a collective or a machine. A loop whose variable decides nothing is counted once and multiplied; others are
 * gone through iteration by iteration, long ones by samples. Starts are aligned. What data decides goes the first of its two ways.
 */
import { UsageError } from "../../errors.js";
import { type Buffer, bufferOf, isParameter, type Kernel } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { AwaitedRows } from "./beside.js";
import { fewIterations, inTurns, type Iterating, iterationsOf, KnownValues, NeedsIterations } from "./iterations.js"; // prettier-ignore
import { productOps, tileBytes } from "./op-facts.js";
import {
  copiesTiles,
  NumberedValues,
  type PreparedKernel,
  preparedKernel,
  type PreparedOp,
  type PreparedRegion,
} from "./prepared.js";
import { type Meeting, openStretch, type OpenStretch, type RankWork } from "./stretches.js";
import { gridOf, RowsOfBlocks } from "./rows.js";
import { sharesOfTiles } from "./tiles.js";
import { add, Arrivals, later, NONE, OWN, PACKETS, PEER, since, type Trips } from "./trips.js";

/** Meetings of one rank that are followed at most: more tell nobody anything. */
const MOST_MEETINGS = 10_000;
/** Iterations of a sum that the C compiler has in flight together. */
const REDUCED_TOGETHER = 4;
const SLOT_BYTES = 16;

/** By kernel: what was counted, by rank, grid and lengths. */
const counted = new WeakMap<Kernel, Map<string, RankWork>>();

/** Of larger worlds what was counted would fill the memory. */
const MOST_KEPT_RANKS = 8;

/**
 * Counts what one rank does. Plans ask for the same on machines with other numbers, and for the same lengths along several ways.
 * @param kernel at device level, barriers expanded
 */
export function workOfRank(kernel: Kernel, rank: number, dims: DimValues, grid = gridOf(kernel, dims)): RankWork {
  if (kernel.world > MOST_KEPT_RANKS) return new Counter(kernel, rank, dims, grid).run();
  let known = counted.get(kernel);
  if (known === undefined) counted.set(kernel, (known = new Map<string, RankWork>()));
  const key = JSON.stringify([rank, grid, dims]);
  let work = known.get(key);
  if (work === undefined) known.set(key, (work = new Counter(kernel, rank, dims, grid).run()));
  return work;
}

/** Buffers of own memory that were loaded from, by the number of their index. */
type Loaded = Map<number, Set<string>>;

class Counter {
  private readonly prepared: PreparedKernel;
  private readonly values: KnownValues<number>;
  private readonly arrivals: Arrivals;
  /** The innermost loop, counted from outside, whose variable a value depends on; 0 for none. */
  private readonly depends: Uint8Array;
  private depth = 0;
  /** Where the thread has come to. */
  private now: Trips = NONE;
  private readonly stretches: OpenStretch[];
  private readonly meetings: Meeting[] = [];
  private tells = new Set<number>();
  private awaits = new Set<number>();
  /** Flag buffers whose last signal says what launches before this one did; and whether all flags waited for since the last meeting are such. */
  private readonly ofLaunches = new Set<Buffer>();
  private areOfLaunches = true;
  /** Buffers of packets that ranks have stored to since they last waited for what is in them. */
  private readonly sent = new Set<string>();
  /** Flags that the threads of a loop wait for. */
  private flags = 0;
  /** Whether the ops at hand are carried out beside others, whose time covers that of their waits. */
  private isBeside = false;
  /** Whether consumers of a product do what is looked at. */
  private isConsuming = false;
  /** Tiles that the busiest block's consumers have. */
  private rounds = 0;
  /** Whether what is counted is done to elements of an accumulator; and the innermost loop over those, or over tiles, of consumers. */
  private isOfAccumulator = false;
  private tileDepth = 0;
  /** Whether blocks have handed each other pieces of tiles. */
  private hasPieces = false;
  /** Of the producer's tiles, while those are gone through. */
  private awaited: AwaitedRows | null = null;
  /** Threads that share the loops at hand. */
  private threads: number;
  /** Of the tiles of a copy in the loop over blocks at hand, the part that comes from memory. */
  private shares: ReadonlyMap<PreparedOp, number> = new Map();
  /** Iterations of that loop, if each block had as many as the first, over those that there are. */
  private unevenness = 1;
  /** Rows that blocks have gone through. */
  private readonly rows: RowsOfBlocks;
  private readonly hasPackets: boolean;

  constructor(
    private readonly kernel: Kernel,
    private readonly rank: number,
    private readonly dims: DimValues,
    private readonly grid: number,
  ) {
    this.prepared = preparedKernel(kernel);
    const { values } = this.prepared;
    this.values = new KnownValues(rank, dims, grid, new NumberedValues(values));
    this.arrivals = new Arrivals(values);
    this.depends = new Uint8Array(values);
    this.threads = kernel.blockThreads;
    this.stretches = [openStretch(kernel.world)];
    this.rows = new RowsOfBlocks(grid);
    this.hasPackets = kernel.buffers.some(({ role }) => role === "packet");
  }

  run(): RankWork {
    this.region(this.prepared.body, this.grid);
    this.closeStretch();
    return { stretches: this.stretches, meetings: this.meetings, grid: this.grid };
  }

  /** Bytes that the stretch has touched so far, of own memory and of peers'. */
  private touched(): { own: number; peers: number } {
    const { loaded, stored } = this.stretch;
    const own = loaded[this.rank]! + stored[this.rank]!;
    return { own, peers: loaded.concat(stored).reduce((a, b) => a + b, 0) - own };
  }

  private get stretch(): OpenStretch {
    return this.stretches.at(-1)!;
  }

  private closeStretch(): void {
    this.stretch.trips = this.now;
    this.now = NONE;
    this.arrivals.clear();
  }

  /**
   * Goes through ops in order. Loads of one run of ops without loops between them start together, where no value and no store
   * stands between; whoever comes to a loop, or to the end, has all values before it.
   * @param weight how often all blocks and threads together do each of them
   */
  private region(region: PreparedRegion, weight: number): void {
    const stretch = this.stretches.length;
    let front = this.now;
    let stored = this.now;
    let loaded: Loaded | null = null;
    const { ops } = region;
    for (let i = 0; i < ops.length; i++) {
      const op = ops[i]!;
      if (this.hasPackets && this.packetsOf(op)) front = stored = this.now;
      if (op.endsRun) this.now = front;
      this.op(op, weight);
      if (this.hasPackets && op.packets.stored.length > 0) for (const name of op.packets.stored) this.sent.add(name);
      if (op.regions.length > 0) {
        // A wait inside has begun the path anew.
        front = this.stretches.length === stretch ? later(front, this.now) : this.now;
        stored = this.now;
        continue;
      }
      let at = this.arrivals.after(op.operands, this.now);
      if (op.isTrip) {
        if (op.name === "load" && op.isGlobal)
          at = add(later(at, stored), this.isHeld(op, (loaded ??= new Map())) ? NONE : this.tripOf(op));
        if (op.name === "copy_tile") at = add(at, this.tripOf(op), 1 / this.inFlight(op));
        if (op.name === "packet_load") at = add(at, PACKETS);
        if (op.name === "store" && op.isGlobal) stored = later(stored, at);
      }
      if (op.results.length > 0) this.enter(op, at);
      // What is computed of the count of launches is waited for by what it goes into alone.
      const isAwaited = op.results.length === 0 || op.name === "packet_load" || (op.name === "load" && op.buffer?.role !== "state"); // prettier-ignore
      if (at !== front && isAwaited) front = later(front, at);
    }
    this.now = front;
  }

  /** Enters when the results of an op are there, and which loop they depend on. */
  private enter(op: PreparedOp, at: Trips): void {
    const innermost = this.innermost(op);
    const { results } = op;
    for (let i = 0; i < results.length; i++) {
      const v = results[i]!;
      this.arrivals.set(v, at);
      if (innermost > 0) this.depends[v] = innermost;
    }
  }

  /** Before an op that loads packets, stored since, ranks wait for each other's: whether they run it or not, it is a place for all. */
  private packetsOf(op: PreparedOp): boolean {
    const { loaded } = op.packets;
    if (loaded.length === 0 || !loaded.some((name) => this.sent.has(name))) return false;
    this.closeStretch();
    this.meetings.push({ tells: [...this.tells], awaits: null, isGrid: false });
    this.tells.clear();
    this.stretches.push(openStretch(this.kernel.world));
    for (const name of loaded) this.sent.delete(name);
    return true;
  }

  /** What is loaded from own memory again, by every iteration of the loop around it or further down, is in the cache. */
  private isHeld(op: PreparedOp, loaded: Loaded): boolean {
    if (op.peer !== null) return false;
    const index = op.operands.at(-1)!;
    const buffers = loaded.get(index) ?? new Set();
    loaded.set(index, buffers);
    const { name } = op.buffer!;
    if (buffers.has(name)) return true;
    buffers.add(name);
    return this.depth > 0 && this.innermost(op) < this.depth;
  }

  /** The innermost loop that an op's operands depend on; 0 for none. */
  private innermost(op: PreparedOp): number {
    let most = 0;
    const { operands } = op;
    for (let i = 0; i < operands.length; i++) most = Math.max(most, this.depends[operands[i]!]!);
    return most;
  }

  private tripOf({ peer }: PreparedOp): Trips {
    return peer === null || this.values.of(peer) === this.rank ? OWN : PEER;
  }

  /** Copies that a block has on their way at once: as many as a ring has stages. */
  private inFlight(op: PreparedOp): number {
    const ring = op.attributes["ring"] as string | undefined;
    return ring === undefined ? 1 : evaluateExtent(bufferOf(this.kernel, ring).shape[0]!, this.dims);
  }

  private op(op: PreparedOp, weight: number): void {
    if (this.isOfAccumulator) this.stretch.accumulatorOps += weight * this.unevenness * op.accumulatorOps;
    // Most ops are such ones.
    if (op.fold !== null) return this.values.fold(op.results[0]!, op.fold, op.operands[0]!, op.operands[1]!);
    switch (op.name) {
      case "const":
      case "dim":
      case "rank":
      case "grid":
      case "block":
      case "aligned":
      case "launch_parity":
        return this.values.enter(op);
      case "binary":
      case "compare":
        this.stretch.scalarOps += weight * op.elementOps;
        return;
      case "select":
        this.stretch.scalarOps += weight * op.elementOps;
        return this.values.enter(op);
      case "unary":
        this.stretch.scalarOps += weight * op.elementOps;
        return;
      case "cast":
        if (op.isOfIndices) this.values.set(op.results[0]!, this.values.of(op.operands[0]!));
        else this.stretch.scalarOps += weight * op.elementOps;
        return;
      case "load":
      case "store":
        return this.access(op, weight);
      case "copy_tile":
        return this.tile(op, weight);
      case "fragment_put":
      case "fragment_add":
        return this.piece(op, weight);
      case "mma": {
        const { scalar, tensor } = productOps(op.op, this.kernel);
        this.stretch.scalarOps += weight * scalar;
        this.stretch.tensorOps += weight * this.unevenness * tensor;
        return;
      }
      case "if": {
        // Counters that outlive the launch are kept by threads of certain numbers.
        if (op.isBookkeeping) return;
        const condition = this.values.deciding(op.operands[0]!);
        return this.region(op.regions[condition === 0 ? 1 : 0]!, weight);
      }
      case "roles":
        return this.roles(op, weight);
      case "for":
      case "reduce":
        return this.loop(op, weight);
      case "packet_store":
      case "packet_load":
        return this.packet(op, weight);
      case "signal":
        return this.signal(op);
      case "wait":
        return this.flag(op);
    }
  }

  /** Slots are stored to and loaded whole; what is not of an epoch is cleared, too. */
  private packet(op: PreparedOp, weight: number): void {
    const isLoad = op.name === "packet_load";
    for (const [owner, part] of this.ownersOf(op)) {
      if (isLoad) this.stretch.loaded[owner]! += part * weight * SLOT_BYTES;
      if (!isLoad || op.attributes["format"] === "inverted") this.stretch.stored[owner]! += part * weight * SLOT_BYTES;
      if (!isLoad && owner !== this.rank) this.tells.add(owner);
    }
  }

  /**
   * Whose memory an access is of, and what part of it. Where the rows of a product's tiles go to a rank each, every rank has as many: of a few
   * tiles that are looked at, one would have more than its share. Nobody's where only the data knows.
   */
  private ownersOf({ peer }: PreparedOp): readonly (readonly [owner: number, part: number])[] {
    const { world } = this.kernel;
    if (peer === null) return [[this.rank, 1]];
    if (this.depends[peer]! > 0 && this.depends[peer]! <= this.tileDepth)
      return Array.from({ length: world }, (_, rank) => [rank, 1 / world] as const);
    const owner = this.values.deciding(peer);
    return owner === null || owner < 0 || owner >= world ? [] : [[owner, 1]];
  }

  private signal({ peer, buffer, attributes }: PreparedOp): void {
    if (attributes["order"] === "launch") this.ofLaunches.add(buffer!);
    else this.ofLaunches.delete(buffer!);
    const to = peer === null ? this.rank : this.values.deciding(peer);
    if (to !== null && to !== this.rank) this.tells.add(to);
  }

  private flag({ peer, buffer }: PreparedOp): void {
    this.areOfLaunches &&= this.ofLaunches.has(buffer!);
    const from = peer === null ? this.rank : this.values.deciding(peer);
    this.flags++;
    if (from === null || from === this.rank) return;
    this.awaits.add(from);
    if (this.awaited !== null) this.awaited.waits++;
  }

  private roles({ regions, attributes }: PreparedOp, weight: number): void {
    const [consumers, producers, movers] = regions as readonly [PreparedRegion, PreparedRegion, PreparedRegion];
    const as = (role: string, region: PreparedRegion): void => {
      this.threads = (attributes[role] as number | undefined) ?? this.kernel.blockThreads;
      this.region(region, weight);
      this.threads = this.kernel.blockThreads;
    };
    const hasMovers = attributes["movers"] !== undefined;
    const before = this.now;
    this.isBeside = hasMovers;
    if (hasMovers) this.flags = 0;
    as("movers", movers);
    const moved = this.take();
    this.now = before;
    // What producers load, consumers use.
    const awaited = (this.awaited = new AwaitedRows(this.grid, this.kernel.world - 1));
    as("producers", producers);
    this.awaited = null;
    this.isConsuming = true;
    this.rounds = 0;
    const sent = this.touched().peers;
    as("consumers", consumers);
    this.isConsuming = false;
    const completes = attributes["outgoing"] !== undefined;
    const isSending = completes || (!hasMovers && this.touched().peers > sent);
    if (isSending) Object.assign(this.stretch, { rounds: this.rounds, completes });
    this.isBeside = false;
    const [first, rest] = awaited.stretches(moved, this.take(), this.rank);
    this.put(first);
    if (!hasMovers) return this.handOver();
    this.arrivals.clear();
    this.endStretch();
    if (rest !== undefined) this.put(rest);
  }

  /** After the last piece, others are told of it, and what it is added to is stored: about as if all blocks of the rank met. */
  private handOver(): void {
    if (!this.hasPieces) return;
    this.closeStretch();
    this.meetings.push({ tells: [], awaits: [], isGrid: true });
    this.stretches.push(openStretch(this.kernel.world));
    this.now = OWN;
    this.hasPieces = false;
  }

  /** The stretch at hand as it is, in whose place another one begins. */
  private take(): OpenStretch {
    const taken = { ...this.stretch, trips: this.now };
    this.put(openStretch(this.kernel.world));
    return taken;
  }

  private put(stretch: OpenStretch): void {
    this.stretches[this.stretches.length - 1] = stretch;
    this.now = stretch.trips;
  }

  private loop(op: PreparedOp, weight: number): void {
    const bounds = op.operands.map((v) => this.values.deciding(v));
    if (bounds.includes(null)) return;
    const [body] = op.regions as [PreparedRegion];
    const ranges = body.arguments.map((_, i) => [bounds[2 * i]!, bounds[2 * i + 1]!] as const);
    const total = ranges.reduce((n, [lo, hi]) => n * Math.max(0, hi - lo), 1);
    if (total === 0) return;
    if (op.attributes["map"] === "threads" && op.synchronises) return this.meet(body, ranges[0]!, weight);
    const map = op.attributes["map"];
    const own = this.rows.busiest(map, total, this.threads);
    // An iteration of a loop over blocks is one block's.
    const isOfBlocks = map === "blocks";
    const each = isOfBlocks ? weight / this.grid : weight;
    const { shares, unevenness, isOfAccumulator, tileDepth } = this;
    if (map === "fragment") this.isOfAccumulator = true;
    if (this.isConsuming && (isOfBlocks || map === "fragment")) this.tileDepth = this.depth + 1;
    if (isOfBlocks && this.isConsuming) this.rounds = Math.max(this.rounds, own);
    if (isOfBlocks) this.unevenness = (own * this.grid) / total;
    if (isOfBlocks && ranges.length === 1 && copiesTiles(body))
      this.shares = sharesOfTiles(body, ranges[0]!, this.grid, this.values);
    if (op.name === "reduce" && scalarOf(op.op.results[0]!.type) !== "index") this.stretch.scalarOps += each * total;
    const isOutermost = this.depth === 0;
    this.depth++;
    for (const a of body.arguments) this.depends[a] = this.depth;
    const isOrdered = op.synchronises && !this.isBeside && !this.isConsuming;
    const { stretch } = this;
    const before = isOutermost && !this.isBeside ? this.touched() : null;
    const others = isOfBlocks ? this.rows.goingOn(ranges[0]!) : null;
    // Terms of a sum that nothing is stored between are loaded several at a time.
    const path = others?.iterations ?? (op.name === "reduce" ? Math.ceil(own / REDUCED_TOGETHER) : own);
    const begin = this.now;
    const waits = this.awaited?.waits ?? 0;
    try {
      if (total <= 1 || isOrdered || !this.taken(body, each * total, path))
        this.eachIteration(body, ranges, { each, path, total, isOrdered, isOfBlocks });
      else if (isOfBlocks) this.awaited?.tile(0, total, waits);
      if (isOfBlocks && !isOrdered) this.now = this.rows.ended(ranges[0]!, begin, this.now, path, others);
      if (before === null || stretch !== this.stretch) return;
      const after = this.touched();
      if (after.peers === before.peers) this.stretch.apart += after.own - before.own;
    } finally {
      this.depth--;
      this.shares = shares;
      this.unevenness = unevenness;
      this.isOfAccumulator = isOfAccumulator;
      this.tileDepth = tileDepth;
    }
  }

  private eachIteration(
    body: PreparedRegion,
    ranges: readonly (readonly [number, number])[],
    { each, path, total, isOrdered, isOfBlocks }: Iterating,
  ): void {
    const picking = inTurns(body, fewIterations(this.kernel.world), (v) => this.values.of(v));
    for (const iteration of iterationsOf(ranges, !isOrdered, picking)) {
      const before = this.now;
      const waits = this.awaited?.waits ?? 0;
      body.arguments.forEach((a, i) => this.values.set(a, iteration.values[i]!));
      this.region(body, each * iteration.weight);
      if (isOfBlocks) this.awaited?.tile(iteration.values[0]! - ranges[0]![0], total, waits);
      // Of iterations that threads or blocks share, the path has its part.
      if (!isOrdered) this.now = add(before, since(this.now, before), (iteration.weight * path) / total);
    }
  }

  /** Counts all iterations at once. @returns false, with nothing counted, if the variables decide something. */
  private taken(body: PreparedRegion, weight: number, path: number): boolean {
    const { stretch } = this;
    const before = {
      ...stretch,
      loaded: [...stretch.loaded],
      stored: [...stretch.stored],
      tiles: { ...stretch.tiles },
    };
    const { now } = this;
    const tells = new Set(this.tells);
    for (const a of body.arguments) this.values.set(a, "loop");
    try {
      this.region(body, weight);
      this.now = add(now, since(this.now, now), path);
      return true;
    } catch (error) {
      if (!(error instanceof NeedsIterations)) throw error;
      this.stretches[this.stretches.length - 1] = before;
      this.now = now;
      this.tells = tells;
      return false;
    }
  }

  /** Sums of a tile that go to this rank's memory, or come from there. */
  private piece(op: PreparedOp, weight: number): void {
    const { shape, dtype } = bufferOf(this.kernel, op.attributes["buffer"] as string);
    const [m, n] = shape as readonly [number, number];
    const rows = Math.min(m, Math.max(0, this.values.deciding(op.operands[1]!) ?? m));
    this.hasPieces = true;
    this.stretch[op.name === "fragment_put" ? "stored" : "loaded"][this.rank]! +=
      weight * rows * n * DTYPES[dtype].bytes;
  }

  /** A loop whose threads wait for a flag each. */
  private meet(body: PreparedRegion, [lo, hi]: readonly [number, number], weight: number): void {
    // Consumers hear of pieces of their tiles while others multiply: nobody meets.
    if (this.isConsuming && body.ops.every(({ peer }) => peer === null)) return;
    if (!this.isBeside) {
      this.closeStretch();
      this.flags = 0;
    }
    for (let i = lo; i < hi; i++) {
      this.values.set(body.arguments[0]!, i);
      this.region(body, 1);
    }
    if (this.awaited !== null) this.awaited.parts++;
    if (this.isBeside && body.ops.some((op) => op.name === "signal" && op.attributes["mode"] === "add"))
      this.stretch.sent += weight / this.grid;
    if (!this.isBeside) this.endStretch();
  }

  /** All have come to where they wait. */
  private endStretch(): void {
    const isGrid = this.flags > this.awaits.size + 1;
    const isOfLaunches = this.areOfLaunches && this.flags > 0;
    this.meetings.push({ tells: [...this.tells], awaits: [...this.awaits], isGrid, isOfLaunches });
    this.areOfLaunches = true;
    this.tells.clear();
    this.awaits.clear();
    if (this.meetings.length > MOST_MEETINGS)
      throw new UsageError(
        `ranks come to more than ${MOST_MEETINGS} points of synchronisation, and how long that takes cannot be told`,
        "choose fewer ranks, or a program whose rounds are fewer; with 'slabRows' in the mapping, larger slabs",
      );
    this.stretches.push(openStretch(this.kernel.world));
    this.now = NONE;
  }

  private access(op: PreparedOp, weight: number): void {
    const buffer = op.buffer!;
    if (op.name === "load" && buffer.role === "state") return this.values.set(op.results[0]!, 0);
    if (!isParameter(buffer) && buffer.role !== "scratch") return;
    const bytes = this.stretch[op.name === "store" ? "stored" : "loaded"];
    for (const [owner, part] of this.ownersOf(op)) bytes[owner]! += part * weight * op.bytes;
  }

  private tile(op: PreparedOp, weight: number): void {
    const owner = op.peer === null ? this.rank : this.values.deciding(op.peer);
    if (owner === null || owner < 0 || owner >= this.kernel.world) return;
    const limit = "limit" in op.op.attributes ? this.values.deciding(op.operands.at(-1)!) : null;
    const bytes = weight * tileBytes(op.op, this.kernel, this.dims, limit);
    // The second-level cache holds memory of its own GPU.
    const isOwn = owner === this.rank;
    const loaded = isOwn ? bytes * (this.shares.get(op) ?? 1) : bytes;
    this.stretch.loaded[owner]! += loaded;
    if (!isOwn) return;
    this.stretch.tiles.all += bytes;
    this.stretch.tiles.loaded += loaded;
  }
}
