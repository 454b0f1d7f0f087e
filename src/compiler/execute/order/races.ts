/** Finds conflicting accesses that nothing orders, cell by cell: over a whole trace, or as accesses come. */
import { CELL_FIELDS, Cells, NONE } from "./cells.js";
import type { Order } from "./clocks.js";
import { CLOSE, FIELDS, OPEN, SEGMENT_FIELDS, TABLE_ROWS, type Trace, WRITE } from "./trace.js";

/** Part of a copy that is under way. */
interface Going {
  readonly access: number;
  readonly start: number;
  readonly end: number;
}

/** Copies under way at one memory: by copy, what it reads, and what it writes. */
interface Copies {
  readonly reads: Map<number, Going[]>;
  readonly writes: Map<number, Going[]>;
}

/** What is thrown for two unordered accesses, by their numbers, to an element of a memory. */
export type RaceOf = (earlier: number, later: number, element: number) => Error;

/**
 * Throws for the first unordered pair. Relies on the trace's own order being one that could happen:
 * it is enough to hold each access against the last write and the reads since.
 */
export function checkRaces(trace: Trace, order: Order, raceOf: RaceOf): void {
  const races = new Races(trace, order, raceOf);
  for (let first = 0; first < trace.accesses; first += TABLE_ROWS) {
    const table = trace.tables[first / TABLE_ROWS]!;
    const end = Math.min(trace.accesses, first + TABLE_ROWS);
    for (let i = first, row = 0; i < end; i++, row += FIELDS)
      races.check(i, table[row]!, table[row + 1]!, table[row + 2]!, table[row + 3]!, table[row + 4]!);
  }
}

/** What the accesses so far have left. */
export class Races {
  private readonly cells: Cells;
  /** By memory; absent where there was no copy. */
  private readonly copies: (Copies | undefined)[];

  constructor(
    private readonly trace: Trace,
    private readonly order: Order,
    private readonly raceOf: RaceOf,
  ) {
    this.cells = new Cells(trace);
    this.copies = new Array<Copies | undefined>(trace.memories.length).fill(undefined);
  }

  /** Holds access number `i`, or what it has grown by, against those before it. */
  check(i: number, segment: number, memory: number, start: number, length: number, kind: number): void {
    const from = this.cells.baseOf(memory) + start;
    this.checkCells(i, segment, from, from + length, (kind & WRITE) !== 0);
    if ((kind & (OPEN | CLOSE)) !== 0 || this.copies[memory] !== undefined) this.checkCopies(i, memory, kind);
  }

  /** Copies to and from a memory that are under way never land. */
  forgetCopies(memory: number): void {
    this.copies[memory] = undefined;
  }

  /** Holds access `i`, by a segment, against the earlier ones of the cells from one place to before another. */
  private checkCells(i: number, segment: number, start: number, end: number, writes: boolean): void {
    const { cells, trace, order } = this;
    const { table } = cells;
    const { segments } = trace;
    const { phases, rows } = order.knowledge;
    const known = rows[order.segments[segment]!]!;
    const entity = segments[segment * SEGMENT_FIELDS + 2]!;
    const phase = segments[segment * SEGMENT_FIELDS + 3]!;
    if (table[start * CELL_FIELDS] === 0) cells.startAt(start);
    if (table[end * CELL_FIELDS] === 0) cells.startAt(end);
    for (let at = start; at < end; at = table[at * CELL_FIELDS]!) {
      const cell = at * CELL_FIELDS;
      const write = table[cell + 1]!;
      if (write !== NONE && table[cell + 2] !== segment) {
        // Most are of a phase that is known, or of an earlier one of the block; this is `isBefore` for those.
        const row = table[cell + 2]! * SEGMENT_FIELDS;
        const by = segments[row + 2]!;
        const then = segments[row + 3]!;
        if (phases[known + by]! <= then && (by !== entity || phase <= then)) this.compare(write - 1, i, at);
      }
      let node = table[cell + 3]!;
      if (writes) {
        table[cell + 1] = i + 1;
        table[cell + 2] = segment;
        table[cell + 3] = NONE;
        for (; node !== NONE; node = cells.remove(node)) {
          const { nodes } = cells;
          const reader = nodes[node * CELL_FIELDS + 1]!;
          const row = reader * SEGMENT_FIELDS;
          const by = segments[row + 2]!;
          const then = segments[row + 3]!;
          if (reader !== segment && phases[known + by]! <= then && (by !== entity || phase <= then))
            this.compare(nodes[node * CELL_FIELDS]!, i, at);
        }
      } else if (node === NONE || cells.nodes[node * CELL_FIELDS + 1] !== segment)
        // One for each segment in a row that reads.
        table[cell + 3] = cells.node(i, segment, node);
    }
  }

  /** Parts of one copy may touch the same place. */
  private compare(earlier: number, i: number, place: number): void {
    const { trace, order } = this;
    if (order.isBefore(trace.field(earlier, 0), trace.field(i, 0))) return;
    const copy = trace.field(i, 5);
    if (copy !== 0 && trace.field(earlier, 5) === copy) return;
    throw this.raceOf(earlier, i, place - this.cells.baseOf(trace.field(i, 1)));
  }

  /** Nothing else may touch what a copy under way writes, nor write what it reads. */
  private checkCopies(i: number, memory: number, kind: number): void {
    const start = this.trace.field(i, 2);
    const end = start + this.trace.field(i, 3);
    const copy = this.trace.field(i, 5);
    const copies = (this.copies[memory] ??= { reads: new Map(), writes: new Map() });
    const writes = (kind & WRITE) !== 0;
    if (writes) this.checkOpen(copies.reads, i, start, end, copy);
    this.checkOpen(copies.writes, i, start, end, copy);
    const own = writes ? copies.writes : copies.reads;
    if ((kind & OPEN) !== 0) {
      const part = { access: i, start, end };
      const parts = own.get(copy);
      if (parts === undefined) own.set(copy, [part]);
      else parts.push(part);
    } else if ((kind & CLOSE) !== 0) own.delete(copy);
  }

  private checkOpen(open: Map<number, Going[]>, i: number, start: number, end: number, copy: number): void {
    if (open.size === 0) return;
    for (const [other, parts] of open)
      if (other !== copy)
        for (const g of parts)
          if (g.start < end && start < g.end) throw this.raceOf(g.access, i, Math.max(start, g.start));
  }
}
