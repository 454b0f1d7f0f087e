/**
 * What a run did, in the order it did it, for the analysis of ordering.
 *
 * A *strand* is what one thread does between two synchronisations of its block: an iteration of a loop over threads,
 * or one block-wide op. Iterations are not tied to threads here: the IR promises nothing about that, so no two strands
 * of a block are ordered before the block synchronises. A *segment* is a strand's stretch between flag operations.
 * An *entity* is a block number of a rank, over all launches, or a rank's caller; its time is counted in *phases*,
 * which end where the block synchronises.
 */
import type { Op } from "../ir/module.js";
import { CannotTell } from "./results.js";

export interface Strand {
  readonly entity: number;
  readonly phase: number;
  readonly launch: number;
  /** Number of its current segment, from 0. */
  segment: number;
  /** Index of the current segment among all; -1 until something happens in it. */
  segmentId: number;
  /** Did something that a later release of its own must carry along. */
  acted: boolean;
}

export interface Segment {
  readonly id: number;
  readonly strand: Strand;
  /** Its number in its strand. */
  readonly number: number;
}

export type SyncEvent =
  /** Segments start, numbered from `first` to before `end`. */
  | { readonly kind: "segments"; readonly first: number; end: number }
  | {
      readonly kind: "signal";
      readonly strand: Strand;
      readonly segment: number;
      readonly acted: boolean;
      readonly flag: Flag;
      readonly value: number;
      readonly add: boolean;
      readonly sys: boolean;
      readonly release: boolean;
      readonly op: Op;
    }
  | {
      readonly kind: "wait";
      readonly strand: Strand;
      readonly segment: number;
      readonly flag: Flag;
      readonly value: number;
      readonly sys: boolean;
      readonly acquire: boolean;
      readonly op: Op;
    }
  | { readonly kind: "phase"; readonly entity: number }
  | { readonly kind: "start"; readonly rank: number; readonly launch: number }
  | { readonly kind: "end"; readonly rank: number; readonly launch: number };

export type Signal = Extract<SyncEvent, { kind: "signal" }>;
export type Wait = Extract<SyncEvent, { kind: "wait" }>;

/** One flag of one rank. */
export interface Flag {
  readonly buffer: string;
  readonly owner: number;
  readonly slot: number;
  readonly signals: Signal[];
}

export const READ = 0;
export const WRITE = 1;
/** Added to READ or WRITE: the access lasts from here, to the one of the same `copy` with CLOSE. */
export const OPEN = 2;
export const CLOSE = 4;

/** Numbers that a row of `Trace.table` has: segment, memory, first element, elements, kind, copy, op. */
export const FIELDS = 7;

/** Beyond, memory would run out. */
const MOST_ACCESSES = 40_000_000;

/** `memory` numbers what is accessed: a buffer of a rank, or of a block of a launch. */
export class Trace {
  readonly events: SyncEvent[] = [];
  /** By segment: its strand, and its number there. Two lists, since there are as many as turns of loops over threads. */
  readonly segmentStrands: Strand[] = [];
  readonly segmentNumbers: number[] = [];
  /** By number; null stands for the caller. */
  private readonly ops: (Op | null)[] = [null];
  private readonly opNumbers = new Map<Op | null, number>([[null, 0]]);
  private lastOp: Op | null = null;
  private lastOpNumber = 0;
  /** Accesses, `FIELDS` numbers each. */
  private columns = new Int32Array(FIELDS * 4096);
  accesses = 0;
  /** Name, owner and length of each memory. */
  readonly memories: { readonly buffer: string; readonly owner: string; readonly length: number }[] = [];
  readonly flags = new Map<string, Flag>();
  private readonly phases: number[];
  /** By memory: its last access. */
  private readonly latest: number[] = [];
  private copies = 0;

  constructor(
    readonly world: number,
    readonly grid: number,
  ) {
    this.phases = new Array<number>(world * (grid + 1)).fill(0);
  }

  get entities(): number {
    return this.phases.length;
  }

  entity(rank: number, block: number): number {
    return rank * (this.grid + 1) + block;
  }

  /** The caller of a rank. */
  host(rank: number): number {
    return this.entity(rank, this.grid);
  }

  strand(entity: number, launch: number): Strand {
    return { entity, phase: this.phases[entity]!, launch, segment: 0, segmentId: -1, acted: false };
  }

  endPhase(entity: number): void {
    this.events.push({ kind: "phase", entity });
    this.phases[entity] = this.phases[entity]! + 1;
  }

  /** A launch starts: the caller's accesses before it are over. */
  start(rank: number, launch: number): void {
    this.events.push({ kind: "start", rank, launch });
    this.phases[this.host(rank)]!++;
  }

  /** A launch ends: all its blocks are over. */
  end(rank: number, launch: number): void {
    this.events.push({ kind: "end", rank, launch });
    for (let b = 0; b < this.grid; b++) this.phases[this.entity(rank, b)]!++;
  }

  segment(id: number): Segment {
    return { id, strand: this.segmentStrands[id]!, number: this.segmentNumbers[id]! };
  }

  newCopy(): number {
    return ++this.copies;
  }

  access(strand: Strand, op: Op | null, memory: number, start: number, length: number, kind: number, copy = 0): void {
    strand.acted = true;
    if (strand.segmentId < 0) {
      const id = (strand.segmentId = this.segmentStrands.length);
      this.segmentStrands.push(strand);
      this.segmentNumbers.push(strand.segment);
      const last = this.events.at(-1);
      if (last?.kind === "segments") last.end = id + 1;
      else this.events.push({ kind: "segments", first: id, end: id + 1 });
    }
    const number = op === this.lastOp ? this.lastOpNumber : this.numberOf(op);
    if (copy === 0 && this.goesOn(strand.segmentId, number, memory, start, length, kind)) return;
    this.latest[memory] = this.accesses;
    let at = this.accesses++ * FIELDS;
    if (at === this.columns.length) this.grow();
    const { columns } = this;
    columns[at++] = strand.segmentId;
    columns[at++] = memory;
    columns[at++] = start;
    columns[at++] = length;
    columns[at++] = kind;
    columns[at++] = copy;
    columns[at] = number;
  }

  private numberOf(op: Op | null): number {
    let number = this.opNumbers.get(op);
    if (number === undefined) this.opNumbers.set(op, (number = this.ops.push(op) - 1));
    this.lastOp = op;
    return (this.lastOpNumber = number);
  }

  /** What makes an access; null for the caller's. */
  opOf(access: number): Op | null {
    return this.ops[this.columns[access * FIELDS + 6]!]!;
  }

  /**
   * Lengthens the last access to a memory, if this is the same op's to the elements that follow. Nothing orders accesses of
   * one segment, and others have none in between: a segment runs without a pause.
   */
  private goesOn(segment: number, op: number, memory: number, start: number, length: number, kind: number): boolean {
    const access = this.latest[memory];
    if (access === undefined) return false;
    const { columns } = this;
    const at = access * FIELDS;
    if (columns[at] !== segment || columns[at + 2]! + columns[at + 3]! !== start) return false;
    if (columns[at + 4] !== kind || columns[at + 6] !== op) return false;
    columns[at + 3]! += length;
    return true;
  }

  private grow(): void {
    if (this.accesses > MOST_ACCESSES)
      throw new CannotTell("there are too many accesses at this shape to hold them all; try a smaller one");
    const larger = new Int32Array(this.columns.length * 2);
    larger.set(this.columns);
    this.columns = larger;
  }

  /** `FIELDS` numbers for each access, in order. */
  get table(): Int32Array {
    return this.columns;
  }

  flag(buffer: string, owner: number, slot: number): Flag {
    const key = `${buffer}:${owner}:${slot}`;
    let flag = this.flags.get(key);
    if (flag === undefined) this.flags.set(key, (flag = { buffer, owner, slot, signals: [] }));
    return flag;
  }

  signal(strand: Strand, flag: Flag, value: number, op: Op): void {
    const { mode, scope, order } = op.attributes;
    const event: Signal = {
      kind: "signal",
      strand,
      segment: strand.segment,
      acted: strand.acted,
      flag,
      value,
      add: mode === "add",
      sys: scope === "sys",
      release: order === "release",
      op,
    };
    flag.signals.push(event);
    this.events.push(event);
    this.advance(strand);
  }

  wait(strand: Strand, flag: Flag, value: number, op: Op): void {
    const { scope, order } = op.attributes;
    const sys = scope === "sys";
    this.events.push({
      kind: "wait",
      strand,
      segment: strand.segment,
      flag,
      value,
      sys,
      acquire: order === "acquire",
      op,
    });
    strand.acted = true;
    this.advance(strand);
  }

  private advance(strand: Strand): void {
    strand.segment++;
    strand.segmentId = -1;
  }
}
