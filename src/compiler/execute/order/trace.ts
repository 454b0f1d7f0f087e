/**
 * What a run did, in the order it did it, for the analysis of ordering.
 *
 * A *strand* is what one thread does between two synchronisations of its block: an iteration of a loop over threads,
 * or one block-wide op. Iterations are not tied to threads here: the IR promises nothing about that, so no two strands
 * of a block are ordered before the block synchronises. A *segment* is a strand's stretch between flag operations.
 * An *entity* is a block number of a rank, over all launches, or the movers of such blocks, or a rank's caller; its time
 * is counted in *phases*, which end where the block, or its movers, synchronise.
 */
import { isGlobal, type Kernel, type Op } from "../../ir/module.js";
import { walkKernel } from "../../ir/visit.js";
import { TooMuch } from "../failures.js";
import { FarStores } from "./far-stores.js";
import { type Flag, type Signal, signalKind, type SignalKind, type Strand, type StrandOf, type Wait, waitKind, type WaitKind } from "./flags.js"; // prettier-ignore
import { type SharedLayout, SharedPlaces } from "./shared-places.js";

/** Numbers that a row of `Trace.segments` has: strand, number in the strand, entity and phase of the strand. */
export const SEGMENT_FIELDS = 4;

/** Numbers that a row of `Trace.strands` has. */
export const STRAND_FIELDS = 7;
/** Columns of `Trace.strands`. */
export const ENTITY = 0;
export const PHASE = 1;
const LAUNCH = 2;
/** Number of its current segment, from 0. */
const SEGMENT = 3;
/** Number of the current segment among all; -1 until something happens in it. */
const SEGMENT_ID = 4;
/** 1 when it did something that a later release of its own must carry along. */
const ACTED = 5;
/** 1 when it has stored to a peer's memory, and has not released that. */
const FAR = 6;

export interface Segment extends StrandOf {
  readonly id: number;
  /** Its number in its strand. */
  readonly number: number;
}

/** Kinds of events. What each is about: an entity whose phase ends; a rank, twice; the number of a signal; of a wait; the entity of a block, twice. */
export const ENDS_PHASE = 0;
export const STARTS = 1;
export const ENDS = 2;
export const SIGNALS = 3;
export const WAITS = 4;
export const MOVERS_BEGIN = 5;
export const MOVERS_END = 6;

/** Numbers that a row of `Trace.events` has: kind, what it is about, segments that had started before it. */
export const EVENT_FIELDS = 3;

export const READ = 0;
export const WRITE = 1;
/** Added to READ or WRITE: the access lasts from here, to the one of the same `copy` with CLOSE. */
export const OPEN = 2;
export const CLOSE = 4;

/** Numbers that an access has in `Trace.tables`: segment, memory, first element, elements, kind, copy, op. */
export const FIELDS = 7;

/** Accesses in one of `Trace.tables`: a power of two, so that shifts find the table and the row. */
const TABLE_BITS = 15;
export const TABLE_ROWS = 1 << TABLE_BITS;
/** Accesses that the first table has room for at first. */
const FIRST_ROWS = 1 << 11;

function holdsMovers(kernel: Kernel): boolean {
  let holds = false;
  walkKernel(kernel, (op) => void (holds ||= op.name === "roles" && op.attributes["movers"] !== undefined));
  return holds;
}

/** Beyond, memory would run out. */
const MOST_ACCESSES = 40_000_000;
const MOST_EVENTS = 2_000_000;

/** Up to this length lists grow fast: what is copied as they grow takes more time than what is left over takes memory. */
const SHORT_LIST = 1 << 18;

/** A longer list with the same start; the rest is zero. */
export function longer(a: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(a.length * (a.length < SHORT_LIST ? 4 : 2));
  larger.set(a);
  return larger;
}

/** What accesses go to. */
export interface Memory {
  readonly buffer: string;
  /** In words: a rank, or a block of one. */
  readonly owner: string;
  readonly rank: number;
  /** Whether it is a block's own. */
  readonly isOwn: boolean;
  readonly length: number;
}

/**
 * `memory` numbers what is accessed: a buffer of a rank, or of a block of a launch. What there is much of lies in tables
 * of numbers: objects for each strand or access would keep the garbage collector busy.
 */
export class Trace {
  /** `EVENT_FIELDS` numbers for each event, in order. */
  events = new Int32Array(EVENT_FIELDS * 1024);
  eventCount = 0;
  readonly signals: Signal[] = [];
  readonly waits: Wait[] = [];
  /** `STRAND_FIELDS` numbers for each strand. */
  strands = new Int32Array(STRAND_FIELDS * 1024);
  strandCount = 0;
  /** `SEGMENT_FIELDS` numbers for each segment. */
  segments = new Int32Array(SEGMENT_FIELDS * 1024);
  segmentCount = 0;
  /** By number; null stands for the caller. */
  private readonly ops: (Op | null)[] = [null];
  private readonly opNumbers = new Map<Op, number>();
  /** `FIELDS` numbers for each access, in order; one table follows another, since a long one that grows would have to move. */
  readonly tables: Int32Array[] = [];
  accesses = 0;
  readonly memories: Memory[] = [];
  /** In the order of their first use. */
  readonly flags: Flag[] = [];
  /** By buffer, then by slot and owner. */
  private readonly flagsOf = new Map<string, Map<number, Flag>>();
  /** The buffer whose flag was asked for last, as the next is of it most often, and its flags. */
  private lastBuffer = "";
  private flagsOfLast = new Map<number, Flag>();
  private readonly phases: Int32Array;
  /** By memory: one more than the number of its last access; 0 for none. */
  private latest = new Int32Array(256);
  private readonly farStores: FarStores;
  /** By rank: whether all stores to peers' memory were released when its launch began. */
  private readonly areLaunchesDone: boolean[] = [];
  private copies = 0;
  readonly world: number;
  private readonly perRank: number;
  private readonly shared: SharedPlaces | null;
  /** By buffer: the number of rank 0's memory. */
  private readonly globals: number[] = [];

  /**
   * @param grid blocks of the largest launch, on each rank
   * @param lengths elements of each buffer
   * @param layout where shared buffers lie; without it each has memory of its own
   */
  constructor(
    private readonly kernel: Kernel,
    readonly grid: number,
    private readonly lengths: readonly number[],
    layout: SharedLayout | null = null,
  ) {
    this.world = kernel.world;
    this.shared = layout === null ? null : new SharedPlaces(kernel, layout);
    this.perRank = (holdsMovers(kernel) ? 2 : 1) * grid + 1;
    this.phases = new Int32Array(kernel.world * this.perRank);
    this.farStores = new FarStores(this.phases.length);
    kernel.buffers.forEach((b, j) => {
      if (!isGlobal(b)) return;
      this.globals[j] = this.memories.length;
      for (let r = 0; r < kernel.world; r++)
        this.memories.push({ buffer: b.name, owner: `rank ${r}`, rank: r, isOwn: false, length: lengths[j]! });
    });
  }

  /** Number of a buffer of a rank. */
  memoryOf(buffer: number, rank: number): number {
    return this.globals[buffer]! + rank;
  }

  /** Numbers of a new block's shared buffers. */
  ownMemoryOf(rank: number, block: number): number[] {
    const owner = `block ${block} of rank ${rank}`;
    let whole = -1;
    return this.kernel.buffers.map((b, j) => {
      if (b.role !== "shared") return -1;
      if (this.shared === null)
        return this.memories.push({ buffer: b.name, owner, rank, isOwn: true, length: this.lengths[j]! }) - 1;
      // Granules of the shared memory stand for elements.
      if (whole < 0)
        whole =
          this.memories.push({ buffer: "shared memory", owner, rank, isOwn: true, length: this.shared.length }) - 1;
      return whole;
    });
  }

  get entities(): number {
    return this.phases.length;
  }

  /** A block's. */
  entity(rank: number, block: number): number {
    return rank * this.perRank + block;
  }

  /** That of the movers of a block, whose phases are their own. */
  moversOf(entity: number): number {
    return entity + this.grid;
  }

  rankOf(entity: number): number {
    return Math.floor(entity / this.perRank);
  }

  /** A block's number, of its movers too; that of the caller is the grid. */
  blockOf(entity: number): number {
    return this.isHost(entity) ? this.grid : (entity % this.perRank) % this.grid;
  }

  /** The caller of a rank. */
  host(rank: number): number {
    return (rank + 1) * this.perRank - 1;
  }

  isHost(entity: number): boolean {
    return entity % this.perRank === this.perRank - 1;
  }

  strand(entity: number, launch: number): Strand {
    const strand = this.strandCount++;
    const at = strand * STRAND_FIELDS;
    if (at + STRAND_FIELDS > this.strands.length) this.strands = longer(this.strands);
    const { strands } = this;
    strands[at + ENTITY] = entity;
    strands[at + PHASE] = this.phases[entity]!;
    strands[at + LAUNCH] = launch;
    strands[at + SEGMENT_ID] = -1;
    return strand;
  }

  /** @param _op what ends the phase, for those who tell people */
  endPhase(entity: number, _op?: Op): void {
    this.event(ENDS_PHASE, entity);
    this.nextPhase(entity);
  }

  private nextPhase(entity: number): void {
    this.phases[entity]!++;
    this.farStores.endPhase(entity);
  }

  /** The movers of a block begin, after all that it has done. */
  beginMovers(entity: number): void {
    this.event(MOVERS_BEGIN, entity);
  }

  /** The movers of a block are done: it goes on after all that they have done. */
  endMovers(entity: number): void {
    this.event(MOVERS_END, entity);
    const movers = this.moversOf(entity);
    this.nextPhase(movers);
    this.farStores.passOn(movers, entity);
  }

  /** A launch starts: the caller's accesses before it are over. */
  start(rank: number): void {
    this.event(STARTS, rank);
    this.nextPhase(this.host(rank));
    const first = this.entity(rank, 0);
    this.areLaunchesDone[rank] = this.farStores.areNone(first, first + this.perRank);
  }

  /** A launch ends: all its blocks are over. */
  end(rank: number): void {
    this.event(ENDS, rank);
    for (let b = 0; b < this.grid; b++) this.nextPhase(this.entity(rank, b));
  }

  private event(kind: number, about: number): void {
    if (this.eventCount === MOST_EVENTS)
      throw new TooMuch("there are too many signals, waits and barriers of blocks at this shape to hold them all");
    const at = this.eventCount++ * EVENT_FIELDS;
    if (at + EVENT_FIELDS > this.events.length) this.events = longer(this.events);
    this.events[at] = kind;
    this.events[at + 1] = about;
    this.events[at + 2] = this.segmentCount;
  }

  entityOf(strand: Strand): number {
    return this.strands[strand * STRAND_FIELDS + ENTITY]!;
  }

  launchOf(strand: Strand): number {
    return this.strands[strand * STRAND_FIELDS + LAUNCH]!;
  }

  segment(id: number): Segment {
    const [strand, number, entity, phase] = this.segments.subarray(id * SEGMENT_FIELDS);
    const launch = this.strands[strand! * STRAND_FIELDS + LAUNCH]!;
    return { id, strand: strand!, number: number!, entity: entity!, phase: phase!, launch };
  }

  newCopy(): number {
    return ++this.copies;
  }

  access(strand: Strand, op: number, memory: number, start: number, length: number, kind: number, copy: number): void {
    const { strands } = this;
    const at = strand * STRAND_FIELDS;
    strands[at + ACTED] = 1;
    let segment = strands[at + SEGMENT_ID]!;
    if (segment < 0) segment = this.startSegment(strand);
    while (memory >= this.latest.length) this.latest = longer(this.latest);
    if (copy === 0 && this.goesOn(segment, op, memory, start, length, kind)) return;
    let row = (this.accesses & (TABLE_ROWS - 1)) * FIELDS;
    let table = this.tables[this.accesses >> TABLE_BITS];
    if (table === undefined || row === table.length) table = this.nextTable(table);
    table[row++] = segment;
    table[row++] = memory;
    table[row++] = start;
    table[row++] = length;
    table[row++] = kind;
    table[row++] = copy;
    table[row] = op;
    this.latest[memory] = ++this.accesses;
    if ((kind & WRITE) !== 0 && strands[at + FAR] === 0) {
      const entity = strands[at + ENTITY]!;
      if (this.memories[memory]!.rank === this.rankOf(entity)) return;
      strands[at + FAR] = 1;
      this.farStores.count(entity, 1);
    }
  }

  /** An access to a block's shared buffer, by the number of its memory and of the buffer. */
  accessOwn(
    strand: Strand,
    op: number,
    memory: number,
    buffer: number,
    start: number,
    length: number,
    kind: number,
    copy: number,
  ): void {
    if (this.shared === null) return this.access(strand, op, memory, start, length, kind, copy);
    this.shared.each(buffer, start, length, (from, count) => this.access(strand, op, memory, from, count, kind, copy));
  }

  protected startSegment(strand: Strand): number {
    const id = this.segmentCount++;
    let row = id * SEGMENT_FIELDS;
    if (row === this.segments.length) this.segments = longer(this.segments);
    const { segments, strands } = this;
    const at = strand * STRAND_FIELDS;
    segments[row++] = strand;
    segments[row++] = strands[at + SEGMENT]!;
    segments[row++] = strands[at + ENTITY]!;
    segments[row] = strands[at + PHASE]!;
    return (strands[at + SEGMENT_ID] = id);
  }

  /** The number that stands for an op in `access`; 0 for the caller. */
  numberOf(op: Op): number {
    let number = this.opNumbers.get(op);
    if (number === undefined) this.opNumbers.set(op, (number = this.ops.push(op) - 1));
    return number;
  }

  /** The op that a number stands for; null for the caller's. */
  opNumbered(number: number): Op | null {
    return this.ops[number]!;
  }

  /** What makes an access; null for the caller's. */
  opOf(access: number): Op | null {
    return this.ops[this.field(access, 6)]!;
  }

  /** The number of the last access to a memory. */
  protected lastOf(memory: number): number {
    return this.latest[memory]! - 1;
  }

  /** The number of a strand's current segment among all. */
  protected segmentOf(strand: Strand): number {
    return this.strands[strand * STRAND_FIELDS + SEGMENT_ID]!;
  }

  /** One of the `FIELDS` numbers of an access. */
  field(access: number, field: number): number {
    return this.tables[access >> TABLE_BITS]![(access & (TABLE_ROWS - 1)) * FIELDS + field]!;
  }

  /**
   * Lengthens the last access to a memory, if this is the same op's to the elements that follow. Nothing orders accesses of
   * one segment, and others have none in between: a segment runs without a pause.
   */
  private goesOn(segment: number, op: number, memory: number, start: number, length: number, kind: number): boolean {
    const latest = this.latest[memory]!;
    if (latest === 0) return false;
    const table = this.tables[(latest - 1) >> TABLE_BITS]!;
    const at = ((latest - 1) & (TABLE_ROWS - 1)) * FIELDS;
    if (table[at] !== segment || table[at + 2]! + table[at + 3]! !== start) return false;
    if (table[at + 4] !== kind || table[at + 6] !== op) return false;
    table[at + 3]! += length;
    return true;
  }

  /** A new table, or the first one as long as others: most traces need a small part of that. */
  private nextTable(last: Int32Array | undefined): Int32Array {
    if (this.accesses > MOST_ACCESSES)
      throw new TooMuch("there are too many accesses at this shape to hold them all; try a smaller one");
    if (last !== undefined) {
      const whole = new Int32Array(FIELDS * TABLE_ROWS);
      whole.set(last);
      return (this.tables[this.tables.length - 1] = whole);
    }
    const table = new Int32Array(FIELDS * (this.tables.length === 0 ? FIRST_ROWS : TABLE_ROWS));
    this.tables.push(table);
    return table;
  }

  flag(buffer: string, owner: number, slot: number): Flag {
    let ofBuffer = this.flagsOfLast;
    if (buffer !== this.lastBuffer) {
      ofBuffer = this.flagsOf.get(buffer) ?? new Map<number, Flag>();
      this.flagsOf.set(buffer, ofBuffer);
      this.lastBuffer = buffer;
      this.flagsOfLast = ofBuffer;
    }
    const key = slot * this.world + owner;
    let flag = ofBuffer.get(key);
    if (flag === undefined) {
      ofBuffer.set(key, (flag = { buffer, owner, slot, signals: [] }));
      this.flags.push(flag);
    }
    return flag;
  }

  /** @param kind by default as the op's `mode`, `scope` and `order` say */
  signal(strand: Strand, flag: Flag, value: number, op: Op, kind: SignalKind = signalKind(op)): void {
    const hands = this.handedBy(strand, kind);
    const { strands } = this;
    const row = strand * STRAND_FIELDS;
    // Written out here and in `wait`, as there are many: an object that is put together from others takes several times as long.
    const signal: Signal = {
      id: this.signals.length,
      strand,
      entity: strands[row + ENTITY]!,
      phase: strands[row + PHASE]!,
      launch: strands[row + LAUNCH]!,
      segment: strands[row + SEGMENT]!,
      flag,
      value,
      op,
      at: this.eventCount,
      before: this.segmentCount,
      acted: strands[row + ACTED] === 1,
      add: kind.add,
      sys: kind.sys,
      hands,
      release: hands !== "nothing",
    };
    flag.signals.push(signal);
    this.signals.push(signal);
    this.event(SIGNALS, signal.id);
    this.endSegment(strand);
  }

  /**
   * What a signal hands on. The end of a launch sees to what it did in its rank's own memory, and to what it loaded; that its stores have
   * reached a peer, a release has to see to: where none does, word of the launch says nothing.
   */
  private handedBy(strand: Strand, { sys, hands }: SignalKind): SignalKind["hands"] {
    const at = strand * STRAND_FIELDS;
    const entity = this.strands[at + ENTITY]!;
    if (hands === "launches") return this.areLaunchesDone[this.rankOf(entity)] === true ? hands : "nothing";
    const isOwnDone = hands === "itself" || (hands === "everything" && sys);
    if (isOwnDone && this.strands[at + FAR] === 1) {
      this.strands[at + FAR] = 0;
      this.farStores.count(entity, -1);
    }
    if (hands === "everything" && sys) this.farStores.release(entity);
    return hands;
  }

  /** @param kind by default as the op's `scope` and `order` say */
  wait(strand: Strand, flag: Flag, value: number, op: Op, kind: WaitKind = waitKind(op)): void {
    const { strands } = this;
    const row = strand * STRAND_FIELDS;
    const wait: Wait = {
      id: this.waits.length,
      strand,
      entity: strands[row + ENTITY]!,
      phase: strands[row + PHASE]!,
      launch: strands[row + LAUNCH]!,
      segment: strands[row + SEGMENT]!,
      flag,
      value,
      op,
      at: this.eventCount,
      before: this.segmentCount,
      sys: kind.sys,
      acquire: kind.acquire,
      isAside: kind.isAside,
    };
    this.waits.push(wait);
    this.event(WAITS, wait.id);
    this.pass(strand);
  }

  /** A strand has waited. */
  protected pass(strand: Strand): void {
    this.strands[strand * STRAND_FIELDS + ACTED] = 1;
    this.endSegment(strand);
  }

  private endSegment(strand: Strand): void {
    this.strands[strand * STRAND_FIELDS + SEGMENT]!++;
    this.strands[strand * STRAND_FIELDS + SEGMENT_ID] = -1;
  }
}
