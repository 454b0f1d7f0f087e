/** Who touched each element of a memory last, for the detection of races. */
import { type Strand, type Clock } from "./clock.js";

/** Rows of all accesses of a run. A row is shared by neighbouring accesses of one strand at one place. */
export class AccessLog {
  private readonly strands: Strand[] = [];
  private sequences = new Int32Array(4096);
  private sites = new Int32Array(4096);
  private rows = 0;

  /** Number of a row; `site` is -1 for the caller. */
  row(strand: Strand, site: number): number {
    const last = this.rows - 1;
    if (
      last >= 0 &&
      this.strands[last] === strand &&
      this.sequences[last] === strand.sequence &&
      this.sites[last] === site
    )
      return last;
    if (this.rows === this.sites.length) {
      this.sequences = doubled(this.sequences);
      this.sites = doubled(this.sites);
    }
    this.strands.push(strand);
    this.sequences[this.rows] = strand.sequence;
    this.sites[this.rows] = site;
    return this.rows++;
  }

  strandOf(row: number): Strand {
    return this.strands[row]!;
  }

  siteOf(row: number): number {
    return this.sites[row]!;
  }

  /** Whether the access in `row` happened before what `strand`, who knows `clock`, does now. */
  isBefore(row: number, strand: Strand, clock: Clock): boolean {
    const earlier = this.strands[row]!;
    return earlier === strand || clock.covers(earlier, this.sequences[row]!);
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
  private readonly furtherReads = new Map<number, number[]>();

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
    if (first < 0) this.firstRead[element] = row;
    else if (log.strandOf(first) !== strand) {
      const further = this.furtherReads.get(element);
      if (further === undefined) this.furtherReads.set(element, [row]);
      else if (further.at(-1) !== row) further.push(row);
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
      for (const r of this.furtherReads.get(element) ?? [])
        if (!log.isBefore(r, strand, clock)) return { earlier: r, earlierWrites: false };
      this.furtherReads.delete(element);
    }
    this.lastWrite[element] = row;
    return null;
  }
}
