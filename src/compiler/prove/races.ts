/** Finds conflicting accesses that nothing orders: one pass over a trace, element by element. */
import type { HappensBefore } from "./happens-before.js";
import { raceOf } from "./race-witness.js";
import { CLOSE, FIELDS, OPEN, type Trace, WRITE } from "./trace.js";

/** Part of a copy that is under way. */
interface Going {
  readonly access: number;
  readonly start: number;
  readonly end: number;
}

const NONE = -1;

/** Reads since an element's last write: a list for each element, since the last write. Freed nodes are used again. */
class Reads {
  private accesses = new Int32Array(1024);
  private nexts = new Int32Array(1024);
  private used = 0;
  private free = NONE;

  /** @returns the node of a list that starts with `access` and goes on with `next` */
  add(access: number, next: number): number {
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

  access(node: number): number {
    return this.accesses[node]!;
  }

  /** Frees a node; @returns the one after it */
  remove(node: number): number {
    const next = this.nexts[node]!;
    this.nexts[node] = this.free;
    this.free = node;
    return next;
  }
}

function twice(a: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(a.length * 2);
  larger.set(a);
  return larger;
}

/** Accesses to one memory: per element the last write and the reads since then; and copies under way. */
class Cells {
  readonly lastWrite: Int32Array;
  /** Node of the latest read since the last write, one for each segment in a row that reads. */
  readonly lastRead: Int32Array;
  /** By copy: what it reads, and what it writes. */
  readonly openReads = new Map<number, Going[]>();
  readonly openWrites = new Map<number, Going[]>();

  constructor(length: number) {
    this.lastWrite = new Int32Array(length).fill(NONE);
    this.lastRead = new Int32Array(length).fill(NONE);
  }
}

/**
 * Throws Fails("race") for the first unordered pair. Relies on the trace's own order being one that could happen:
 * it is enough to hold each access against the last write and the reads since.
 */
export function checkRaces(trace: Trace, order: HappensBefore): void {
  const cells = trace.memories.map((m) => new Cells(m.length));
  const reads = new Reads();
  const { table, accesses } = trace;
  /** By access: the last one that was found to come after it. Neighbouring elements ask the same again. */
  const after = new Int32Array(accesses).fill(NONE);
  const check = (earlier: number, i: number, copy: number, element: number): void => {
    if (after[earlier] === i) return;
    const isOwn = copy !== 0 && table[earlier * FIELDS + 5] === copy;
    if (!isOwn && !order.isBefore(table[earlier * FIELDS]!, table[i * FIELDS]!))
      throw raceOf(trace, order, earlier, i, element);
    after[earlier] = i;
  };
  for (let i = 0; i < accesses; i++) {
    const row = i * FIELDS;
    const segment = table[row]!;
    const cell = cells[table[row + 1]!]!;
    const { lastWrite, lastRead } = cell;
    const start = table[row + 2]!;
    const end = start + table[row + 3]!;
    const kind = table[row + 4]!;
    const copy = table[row + 5]!;
    const writes = (kind & WRITE) !== 0;
    for (let e = start; e < end; e++) {
      const w = lastWrite[e]!;
      if (w !== NONE) check(w, i, copy, e);
      let read = lastRead[e]!;
      if (writes) {
        lastWrite[e] = i;
        if (read === NONE) continue;
        for (; read !== NONE; read = reads.remove(read)) check(reads.access(read), i, copy, e);
        lastRead[e] = NONE;
      } else if (read === NONE || table[reads.access(read) * FIELDS] !== segment) lastRead[e] = reads.add(i, read);
    }
    for (const open of writes ? [cell.openReads, cell.openWrites] : [cell.openWrites])
      for (const [other, parts] of open)
        if (other !== copy)
          for (const g of parts)
            if (g.start < end && start < g.end) throw raceOf(trace, order, g.access, i, Math.max(start, g.start));
    if ((kind & OPEN) !== 0) {
      const open = writes ? cell.openWrites : cell.openReads;
      const part = { access: i, start, end };
      const parts = open.get(copy);
      if (parts === undefined) open.set(copy, [part]);
      else parts.push(part);
    } else if ((kind & CLOSE) !== 0) (writes ? cell.openWrites : cell.openReads).delete(copy);
  }
}
