/** What the accesses so far have left at each element of all memories: the last write, and the reads since. */
import { type Trace, longer } from "./trace.js";

/** For no write and no list of reads: accesses and nodes are numbered from 1 here, so that new tables need no filling. */
export const NONE = 0;

/** No cell is longer, so that the one an element is in is found in few steps. */
const LONGEST = 128;

/** Numbers that a row of `Cells.table`, and of `Cells.nodes`, has. */
export const CELL_FIELDS = 4;

/**
 * Elements lie in cells. All elements of a cell have been in the same accesses; an access that cuts a cell splits it.
 * Memories follow each other in one row of places.
 */
export class Cells {
  /** By memory: the place of its first element. */
  private readonly bases: number[] = [];
  private places = 0;
  /** By the place where a cell starts: where it ends, its last write, segment of that, list of reads since. 0 elsewhere. */
  table: Int32Array;
  /** Nodes of lists: access, its segment, next node. Nodes that are freed are used again. */
  nodes = new Int32Array(CELL_FIELDS * 1024);
  private used = 1;
  private free = NONE;

  constructor(private readonly trace: Trace) {
    const places = trace.memories.reduce((n, { length }) => n + length + 1, 0);
    this.table = new Int32Array(places * CELL_FIELDS);
  }

  /** The place of a memory's first element. */
  baseOf(memory: number): number {
    return this.bases[memory] ?? this.grow(memory);
  }

  /** Adds the memories up to this one. */
  private grow(memory: number): number {
    for (let m = this.bases.length; m <= memory; m++) {
      const { length } = this.trace.memories[m]!;
      const base = (this.bases[m] = this.places);
      this.places += length + 1;
      while (this.places * CELL_FIELDS > this.table.length) this.table = longer(this.table);
      for (let i = 0; i < length; i += LONGEST)
        this.table[(base + i) * CELL_FIELDS] = base + Math.min(length, i + LONGEST);
      // Behind the last element: a place that no access splits.
      this.table[(base + length) * CELL_FIELDS] = -1;
    }
    return this.bases[memory]!;
  }

  /** Splits a cell, so that one starts at a place where none does. */
  startAt(place: number): void {
    const { table } = this;
    const to = place * CELL_FIELDS;
    let from = to;
    while (table[from] === 0) from -= CELL_FIELDS;
    table[to] = table[from]!;
    table[to + 1] = table[from + 1]!;
    table[to + 2] = table[from + 2]!;
    table[to + 3] = this.copy(table[from + 3]!);
    table[from] = place;
  }

  private copy(list: number): number {
    const nodes: number[] = [];
    for (let n = list; n !== NONE; n = this.nodes[n * CELL_FIELDS + 2]!) nodes.push(n * CELL_FIELDS);
    let copy = NONE;
    for (const n of nodes.reverse()) copy = this.node(this.nodes[n]!, this.nodes[n + 1]!, copy);
    return copy;
  }

  /** @returns a node of a list that starts with an access and goes on with `next` */
  node(access: number, segment: number, next: number): number {
    let node = this.free;
    if (node !== NONE) this.free = this.nodes[node * CELL_FIELDS + 2]!;
    else {
      node = this.used++;
      if (node * CELL_FIELDS === this.nodes.length) this.nodes = longer(this.nodes);
    }
    const { nodes } = this;
    let row = node * CELL_FIELDS;
    nodes[row++] = access;
    nodes[row++] = segment;
    nodes[row] = next;
    return node;
  }

  /** Frees a node; @returns the one after it */
  remove(node: number): number {
    const { nodes } = this;
    const next = nodes[node * CELL_FIELDS + 2]!;
    nodes[node * CELL_FIELDS + 2] = this.free;
    this.free = node;
    return next;
  }
}
