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

/** Accesses to one memory: per element the last write, the reads since then, and copies under way. */
class Cells {
  readonly lastWrite: Int32Array;
  /** The first read since the last write; most elements have no other. */
  readonly firstRead: Int32Array;
  readonly furtherReads = new Map<number, number[]>();
  /** By copy: what it reads, and what it writes. */
  readonly openReads = new Map<number, Going[]>();
  readonly openWrites = new Map<number, Going[]>();

  constructor(length: number) {
    this.lastWrite = new Int32Array(length).fill(-1);
    this.firstRead = new Int32Array(length).fill(-1);
  }
}

/**
 * Throws Fails("race") for the first unordered pair. Relies on the trace's own order being one that could happen:
 * it is enough to hold each access against the last write and the reads since.
 */
export function checkRaces(trace: Trace, order: HappensBefore): void {
  const cells = trace.memories.map((m) => new Cells(m.length));
  const { table, accesses } = trace;
  // Accesses come in runs of the same pair of segments.
  let [lastA, lastB, lastResult] = [-1, -1, false];
  const isBefore = (a: number, b: number): boolean => {
    const [x, y] = [table[a * FIELDS]!, table[b * FIELDS]!];
    if (x === lastA && y === lastB) return lastResult;
    [lastA, lastB] = [x, y];
    return (lastResult = order.isBefore(x, y));
  };
  const copyOf = (access: number): number => table[access * FIELDS + 5]!;
  for (let i = 0; i < accesses; i++) {
    const row = i * FIELDS;
    const segment = table[row]!;
    const { lastWrite, firstRead, furtherReads, openReads, openWrites } = cells[table[row + 1]!]!;
    const start = table[row + 2]!;
    const end = start + table[row + 3]!;
    const kind = table[row + 4]!;
    const copy = table[row + 5]!;
    const writes = (kind & WRITE) !== 0;
    const check = (earlier: number, element: number): void => {
      if ((copy === 0 || copyOf(earlier) !== copy) && !isBefore(earlier, i))
        throw raceOf(trace, order, earlier, i, element);
    };
    for (let e = start; e < end; e++) {
      const w = lastWrite[e]!;
      if (w >= 0) check(w, e);
      const first = firstRead[e]!;
      if (writes) {
        if (first >= 0) {
          check(first, e);
          firstRead[e] = -1;
          if (furtherReads.size > 0) {
            for (const r of furtherReads.get(e) ?? []) check(r, e);
            furtherReads.delete(e);
          }
        }
        lastWrite[e] = i;
      } else if (first < 0) firstRead[e] = i;
      else if (table[first * FIELDS] !== segment) {
        const further = furtherReads.get(e);
        if (further === undefined) furtherReads.set(e, [i]);
        else if (table[further.at(-1)! * FIELDS] !== segment) further.push(i);
      }
    }
    for (const open of writes ? [openReads, openWrites] : [openWrites])
      for (const [other, parts] of open)
        if (other !== copy)
          for (const g of parts)
            if (g.start < end && start < g.end) throw raceOf(trace, order, g.access, i, Math.max(start, g.start));
    if ((kind & OPEN) !== 0) {
      const open = writes ? openWrites : openReads;
      const part = { access: i, start, end };
      const parts = open.get(copy);
      if (parts === undefined) open.set(copy, [part]);
      else parts.push(part);
    } else if ((kind & CLOSE) !== 0) (writes ? openWrites : openReads).delete(copy);
  }
}
