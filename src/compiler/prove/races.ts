/** Finds conflicting accesses that nothing orders: one pass over a trace, element by element. */
import type { HappensBefore } from "./happens-before.js";
import { NO_SPAN } from "../source.js";
import { Fails, type Place } from "./results.js";
import { CLOSE, OPEN, type Trace, WRITE } from "./trace.js";

/** Accesses to one memory: per element the last write, the reads since then, and copies under way. */
class Cells {
  readonly lastWrite: Int32Array;
  readonly reads: (number[] | undefined)[];
  readonly open: (number[] | undefined)[];

  constructor(length: number) {
    this.lastWrite = new Int32Array(length).fill(-1);
    this.reads = new Array<number[] | undefined>(length).fill(undefined);
    this.open = new Array<number[] | undefined>(length).fill(undefined);
  }
}

/**
 * Throws Fails("race") for the first unordered pair. Relies on the trace's own order being one that could happen:
 * it is enough to hold each access against the last write and the reads since.
 */
export function checkRaces(trace: Trace, order: HappensBefore): void {
  const cells = trace.memories.map((m) => new Cells(m.length));
  const { accessSegment, accessMemory, accessStart, accessLength, accessKind, accessCopy } = trace;
  // Accesses come in runs of the same pair of segments.
  let [lastA, lastB, lastResult] = [-1, -1, false];
  const isBefore = (a: number, b: number): boolean => {
    const [x, y] = [accessSegment[a]!, accessSegment[b]!];
    if (x === lastA && y === lastB) return lastResult;
    [lastA, lastB] = [x, y];
    return (lastResult = order.isBefore(x, y));
  };
  for (let i = 0; i < accessSegment.length; i++) {
    const { lastWrite, reads, open } = cells[accessMemory[i]!]!;
    const kind = accessKind[i]!;
    const writes = (kind & WRITE) !== 0;
    const copy = accessCopy[i]!;
    const end = accessStart[i]! + accessLength[i]!;
    for (let e = accessStart[i]!; e < end; e++) {
      const w = lastWrite[e]!;
      if (w >= 0 && (copy === 0 || accessCopy[w] !== copy) && !isBefore(w, i)) throw race(trace, order, w, i, e);
      const since = reads[e];
      if (writes && since !== undefined)
        for (const r of since)
          if ((copy === 0 || accessCopy[r] !== copy) && !isBefore(r, i)) throw race(trace, order, r, i, e);
      const going = open[e];
      if (going !== undefined)
        for (const c of going)
          if (accessCopy[c] !== copy && (writes || (accessKind[c]! & WRITE) !== 0)) throw race(trace, order, c, i, e);
      if (writes) {
        lastWrite[e] = i;
        if (since !== undefined) reads[e] = undefined;
      } else if (since === undefined) reads[e] = [i];
      else if (accessSegment[since.at(-1)!] !== accessSegment[i]) since.push(i);
      if ((kind & OPEN) !== 0) (open[e] ??= []).push(i);
      else if ((kind & CLOSE) !== 0) open[e] = open[e]?.filter((c) => accessCopy[c] !== copy);
    }
  }
}

function race(trace: Trace, order: HappensBefore, a: number, b: number, element: number): Fails {
  const { buffer, owner } = trace.memories[trace.accessMemory[a]!]!;
  const [first, second] = [placeOf(trace, a, buffer, owner, element), placeOf(trace, b, buffer, owner, element)];
  const describe = (p: Place): string =>
    p.block < 0
      ? `the caller of rank ${p.rank} (before launch ${p.launch})`
      : `rank ${p.rank}, block ${p.block}, launch ${p.launch}`;
  const isReverse = order.isBefore(trace.accessSegment[b]!, trace.accessSegment[a]!);
  const witness = [
    `${describe(first)}: ${first.what}`,
    `${describe(second)}: ${second.what}`,
    isReverse
      ? "the copy is still under way when the other access happens"
      : `nothing that ${describe(second)} has waited for says that the first has happened, so either may come first:`,
    ...(isReverse
      ? []
      : [`  ${describe(second)} runs ahead to the ${second.what} while the other is still on its way`]),
  ];
  return new Fails(
    "race",
    `data race on '${buffer}'[${element}] of ${owner}: the ${first.what} by ${describe(first)} and the ${second.what} by ${describe(second)} are not ordered`,
    [first, second],
    witness,
  );
}

function placeOf(trace: Trace, access: number, buffer: string, owner: string, element: number): Place {
  const { strand } = trace.segments[trace.accessSegment[access]!]!;
  const block = strand.entity % (trace.grid + 1);
  const op = trace.ops[access];
  const verb = (trace.accessKind[access]! & WRITE) !== 0 ? "write" : "read";
  return {
    rank: Math.floor(strand.entity / (trace.grid + 1)),
    block: block === trace.grid ? -1 : block,
    launch: strand.launch,
    span: op?.span ?? NO_SPAN,
    what: `${op == null ? verb : `${verb} (${op.name})`} of '${buffer}'[${element}] of ${owner}`,
  };
}
