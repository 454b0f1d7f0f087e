/** Finds conflicting accesses that nothing orders: one pass over a trace, cell by cell. */
import { Cells, NONE } from "./cells.js";
import type { HappensBefore } from "./happens-before.js";
import { raceOf } from "./race-witness.js";
import { CLOSE, FIELDS, OPEN, type Trace, WRITE } from "./trace.js";

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

/**
 * Throws Fails("race") for the first unordered pair. Relies on the trace's own order being one that could happen:
 * it is enough to hold each access against the last write and the reads since.
 */
export function checkRaces(trace: Trace, order: HappensBefore): void {
  new Check(trace, order).run();
}

class Check {
  private readonly cells: Cells;
  /** By memory; absent where there was no copy. */
  private readonly copies: (Copies | undefined)[];
  /** By segment: the last one that was found to come after it. Neighbouring elements ask the same again. */
  private readonly after: Int32Array;

  constructor(
    private readonly trace: Trace,
    private readonly order: HappensBefore,
  ) {
    this.cells = new Cells(trace);
    this.copies = new Array<Copies | undefined>(trace.memories.length).fill(undefined);
    this.after = new Int32Array(trace.segmentCount).fill(-1);
  }

  run(): void {
    const { trace, cells } = this;
    const { table, accesses } = trace;
    const { bases } = cells;
    for (let i = 0; i < accesses; i++) {
      const row = i * FIELDS;
      const memory = table[row + 1]!;
      const length = table[row + 3]!;
      const kind = table[row + 4]!;
      const base = bases[memory]!;
      const start = base + table[row + 2]!;
      if ((kind & WRITE) !== 0) this.write(i, start, start + length, base);
      else this.read(i, start, start + length, base);
      if ((kind & (OPEN | CLOSE)) !== 0 || this.copies[memory] !== undefined) this.checkCopies(i, memory, kind);
    }
  }

  private read(i: number, start: number, end: number, base: number): void {
    const { cells } = this;
    const { table } = this.trace;
    const { ends, writes, reads } = cells;
    const segment = table[i * FIELDS]!;
    if (start < end && ends[start] === 0) cells.startAt(start);
    for (let at = start; at < end; at = ends[at]!) {
      if (ends[at]! > end) cells.split(at, end);
      const write = writes[at]!;
      if (write !== NONE) this.check(write - 1, i, at - base);
      const node = reads[at]!;
      // One for each segment in a row that reads.
      if (node === NONE || table[(cells.accesses[node]! - 1) * FIELDS] !== segment) reads[at] = cells.node(i + 1, node);
    }
  }

  private write(i: number, start: number, end: number, base: number): void {
    const { cells } = this;
    const { ends, writes, reads } = cells;
    if (start < end && ends[start] === 0) cells.startAt(start);
    for (let at = start; at < end; at = ends[at]!) {
      if (ends[at]! > end) cells.split(at, end);
      const write = writes[at]!;
      if (write !== NONE) this.check(write - 1, i, at - base);
      writes[at] = i + 1;
      let node = reads[at]!;
      if (node === NONE) continue;
      for (; node !== NONE; node = cells.remove(node)) this.check(cells.accesses[node]! - 1, i, at - base);
      reads[at] = NONE;
    }
  }

  private check(earlier: number, i: number, element: number): void {
    const { table } = this.trace;
    const before = table[earlier * FIELDS]!;
    const segment = table[i * FIELDS]!;
    if (before === segment || this.after[before] === segment) return;
    if (this.order.isBefore(before, segment)) this.after[before] = segment;
    else if (table[i * FIELDS + 5] === 0 || table[earlier * FIELDS + 5] !== table[i * FIELDS + 5])
      throw raceOf(this.trace, this.order, earlier, i, element);
  }

  /** Nothing else may touch what a copy under way writes, nor write what it reads. */
  private checkCopies(i: number, memory: number, kind: number): void {
    const { table } = this.trace;
    const row = i * FIELDS;
    const start = table[row + 2]!;
    const end = start + table[row + 3]!;
    const copy = table[row + 5]!;
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
          if (g.start < end && start < g.end)
            throw raceOf(this.trace, this.order, g.access, i, Math.max(start, g.start));
  }
}
