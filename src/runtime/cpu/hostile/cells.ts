/** Who touched each element of a memory last, for the detection of races. */
import { type Strand, type Clock } from "./clock.js";

// Numbers of a row, which follow each other.
const STRAND = 0;
const AGENT = 1;
const PHASE = 2;
const SEQUENCE = 3;
const SITE = 4;
const LAUNCH = 5;
const WIDTH = 6;

/** Rows of all accesses of a run. A row is shared by neighbouring accesses of one strand at one place. */
export class AccessLog {
  /** Numbers rather than strands: there is one for nearly every iteration, and they would all be kept. */
  private fields = new Int32Array(1024 * WIDTH);
  private rows = 0;
  /** Lists of rows: a row, then the number of the link before it; 0 is no link. */
  private links = new Int32Array(1024);
  private linkCount = 1;
  private lastStrand: Strand | null = null;
  private lastSequence = -1;
  private lastSite = -1;

  /** Begins another run in the same memory, whose pages are there already. */
  clear(): void {
    this.rows = 0;
    this.linkCount = 1;
    this.lastStrand = null;
  }

  /** Number of a row; `site` is -1 for the caller. */
  row(strand: Strand, site: number): number {
    if (this.lastStrand === strand && this.lastSequence === strand.sequence && this.lastSite === site)
      return this.rows - 1;
    this.lastStrand = strand;
    this.lastSequence = strand.sequence;
    this.lastSite = site;
    const at = this.rows * WIDTH;
    if (at === this.fields.length) this.fields = doubled(this.fields);
    const { fields } = this;
    fields[at + STRAND] = strand.id;
    fields[at + AGENT] = strand.agent;
    fields[at + PHASE] = strand.phase;
    fields[at + SEQUENCE] = strand.sequence;
    fields[at + SITE] = site;
    fields[at + LAUNCH] = strand.launch;
    return this.rows++;
  }

  /** A list with a row before those of `rest`, which is 0 or a list. */
  linked(row: number, rest: number): number {
    const link = this.linkCount++;
    if (2 * link === this.links.length) this.links = doubled(this.links);
    this.links[2 * link] = row;
    this.links[2 * link + 1] = rest;
    return link;
  }

  firstOf(link: number): number {
    return this.links[2 * link]!;
  }

  restOf(link: number): number {
    return this.links[2 * link + 1]!;
  }

  agentOf(row: number): number {
    return this.fields[row * WIDTH + AGENT]!;
  }

  launchOf(row: number): number {
    return this.fields[row * WIDTH + LAUNCH]!;
  }

  siteOf(row: number): number {
    return this.fields[row * WIDTH + SITE]!;
  }

  isOf(row: number, strand: Strand): boolean {
    return this.fields[row * WIDTH + STRAND] === strand.id;
  }

  /** Whether the access in `row` happened before what `strand`, who knows `clock`, does now. */
  isBefore(row: number, strand: Strand, clock: Clock): boolean {
    const { fields } = this;
    const at = row * WIDTH;
    const id = fields[at + STRAND]!;
    if (id === strand.id) return true;
    return clock.covers(id, fields[at + AGENT]!, fields[at + PHASE]!, fields[at + SEQUENCE]!);
  }
}

function doubled(a: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * a.length);
  larger.set(a);
  return larger;
}

/** Two accesses that nothing orders. */
export interface Conflict {
  readonly earlier: number;
  readonly earlierWrites: boolean;
}

export class Cells {
  private readonly lastWrite: Int32Array;
  private readonly firstRead: Int32Array;
  /** Of each element, as a list with the latest first; null as long as there are none. */
  private furtherReads: Int32Array | null = null;

  constructor(length: number) {
    this.lastWrite = new Int32Array(length).fill(-1);
    this.firstRead = new Int32Array(length).fill(-1);
  }

  isWritten(element: number): boolean {
    return this.lastWrite[element]! >= 0;
  }

  read(log: AccessLog, element: number, row: number, strand: Strand, clock: Clock): Conflict | null {
    const w = this.lastWrite[element]!;
    if (w >= 0 && !log.isBefore(w, strand, clock)) return { earlier: w, earlierWrites: true };
    const first = this.firstRead[element]!;
    // Of one strand's reads the latest counts: what comes after it comes after those before it.
    if (first < 0 || log.isOf(first, strand)) this.firstRead[element] = row;
    else if (first !== row) {
      this.furtherReads ??= new Int32Array(this.firstRead.length);
      const before = this.furtherReads[element]!;
      if (before === 0 || log.firstOf(before) !== row) this.furtherReads[element] = log.linked(row, before);
    }
    return null;
  }

  write(log: AccessLog, element: number, row: number, strand: Strand, clock: Clock): Conflict | null {
    const w = this.lastWrite[element]!;
    if (w >= 0 && !log.isBefore(w, strand, clock)) return { earlier: w, earlierWrites: true };
    const first = this.firstRead[element]!;
    if (first >= 0) {
      if (!log.isBefore(first, strand, clock)) return { earlier: first, earlierWrites: false };
      this.firstRead[element] = -1;
      const further = this.furtherReads === null ? 0 : this.furtherReads[element]!;
      if (further !== 0) {
        const unordered = oldestUnordered(further, log, strand, clock);
        if (unordered !== null) return { earlier: unordered, earlierWrites: false };
        this.furtherReads![element] = 0;
      }
    }
    this.lastWrite[element] = row;
    return null;
  }
}

function oldestUnordered(latest: number, log: AccessLog, strand: Strand, clock: Clock): number | null {
  let found: number | null = null;
  for (let link = latest; link !== 0; link = log.restOf(link)) {
    const row = log.firstOf(link);
    if (!log.isBefore(row, strand, clock)) found = row;
  }
  return found;
}
