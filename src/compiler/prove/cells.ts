/** What the accesses so far have left at each element of all memories: the last write, and the reads since. */
import { type Trace, twice } from "./trace.js";

/** For no write and no list of reads: accesses and nodes are numbered from 1 here, so that new tables need no filling. */
export const NONE = 0;

/** No cell is longer, so that the one an element is in is found in few steps. */
const LONGEST = 128;

/**
 * Elements lie in cells. All elements of a cell have been in the same accesses; an access that cuts a cell splits it.
 * Memories follow each other in one row of places.
 */
export class Cells {
  /** By memory: the place of its first element. */
  readonly bases: Int32Array;
  /** By the place where a cell starts: where it ends, its last write, and the list of reads since. 0 elsewhere. */
  readonly ends: Int32Array;
  readonly writes: Int32Array;
  readonly reads: Int32Array;
  /** By node of a list: the access, and the next node. Nodes that are freed are used again. */
  accesses = new Int32Array(1024);
  nexts = new Int32Array(1024);
  private used = 1;
  private free = NONE;

  constructor(trace: Trace) {
    const { memories } = trace;
    this.bases = new Int32Array(memories.length);
    let places = 0;
    memories.forEach(({ length }, m) => {
      this.bases[m] = places;
      places += length;
    });
    this.ends = new Int32Array(places);
    this.writes = new Int32Array(places);
    this.reads = new Int32Array(places);
    memories.forEach(({ length }, m) => {
      const base = this.bases[m]!;
      for (let i = 0; i < length; i += LONGEST) this.ends[base + i] = base + Math.min(length, i + LONGEST);
    });
  }

  /** Makes a cell start at a place. */
  startAt(place: number): void {
    let start = place;
    while (this.ends[start] === 0) start--;
    if (start !== place) this.split(start, place);
  }

  /** Splits the cell that starts at `start`, so that another starts at `place`. */
  split(start: number, place: number): void {
    this.ends[place] = this.ends[start]!;
    this.ends[start] = place;
    this.writes[place] = this.writes[start]!;
    this.reads[place] = this.copy(this.reads[start]!);
  }

  private copy(node: number): number {
    if (node === NONE) return NONE;
    const first = this.node(this.accesses[node]!, NONE);
    let last = first;
    for (let n = this.nexts[node]!; n !== NONE; n = this.nexts[n]!) {
      const next = this.node(this.accesses[n]!, NONE);
      this.nexts[last] = next;
      last = next;
    }
    return first;
  }

  /** @returns a node of a list that starts with `access` and goes on with `next` */
  node(access: number, next: number): number {
    let node = this.free;
    if (node !== NONE) this.free = this.nexts[node]!;
    else {
      node = this.used++;
      if (node === this.accesses.length) [this.accesses, this.nexts] = [twice(this.accesses), twice(this.nexts)];
    }
    this.accesses[node] = access;
    this.nexts[node] = next;
    return node;
  }

  /** Frees a node; @returns the one after it */
  remove(node: number): number {
    const next = this.nexts[node]!;
    this.nexts[node] = this.free;
    this.free = node;
    return next;
  }
}
