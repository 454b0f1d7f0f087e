/** Finds conflicting accesses that nothing orders: one pass over a trace, element by element. */
import type { HappensBefore } from "./happens-before.js";
import { NO_SPAN } from "../source.js";
import { Fails, type Place } from "./results.js";
import { CLOSE, FIELDS, OPEN, type Segment, type Signal, type Strand, type Trace, type Wait, WRITE } from "./trace.js";

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
        throw race(trace, order, earlier, i, element);
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
            if (g.start < end && start < g.end) throw race(trace, order, g.access, i, Math.max(start, g.start));
    if ((kind & OPEN) !== 0) {
      const open = writes ? openWrites : openReads;
      const part = { access: i, start, end };
      const parts = open.get(copy);
      if (parts === undefined) open.set(copy, [part]);
      else parts.push(part);
    } else if ((kind & CLOSE) !== 0) (writes ? openWrites : openReads).delete(copy);
  }
}

function race(trace: Trace, order: HappensBefore, a: number, b: number, element: number): Fails {
  const { buffer, owner } = trace.memories[trace.table[a * FIELDS + 1]!]!;
  const [first, second] = [placeOf(trace, a, buffer, owner, element), placeOf(trace, b, buffer, owner, element)];
  const isReverse = order.isBefore(trace.table[b * FIELDS]!, trace.table[a * FIELDS]!);
  const witness = isReverse
    ? [`the copy by ${describe(first)} is under way until it is waited for; the other access comes before that`]
    : interleaving(trace, a, b, first, second);
  return new Fails(
    "race",
    `data race on '${buffer}'[${element}] of ${owner}: the ${first.what} by ${describe(first)} and the ${second.what} by ${describe(second)} are not ordered`,
    [first, second],
    witness,
  );
}

function describe(p: Place): string {
  return p.block < 0
    ? `the caller of rank ${p.rank} (before launch ${p.launch})`
    : `rank ${p.rank}, block ${p.block}, launch ${p.launch}`;
}

/** A schedule in which the second access comes while the first is still on its way. */
function interleaving(trace: Trace, a: number, b: number, first: Place, second: Place): string[] {
  const [x, y] = [a, b].map((access) => trace.segments[trace.table[access * FIELDS]!]!) as [Segment, Segment];
  const at = (s: Segment): number => trace.events.findIndex((e) => e.kind === "segment" && trace.segments[e.id] === s);
  const isLater = (s: Strand, than: Segment): boolean =>
    s === than.strand || (s.entity === than.strand.entity && s.phase > than.strand.phase);
  const isEarlier = (s: Strand, than: Segment): boolean =>
    s === than.strand || (s.entity === than.strand.entity && s.phase < than.strand.phase);
  const waited = trace.events.slice(0, at(y)).findLast((e): e is Wait => e.kind === "wait" && isEarlier(e.strand, y));
  const told = trace.events.slice(at(x)).find((e): e is Signal => e.kind === "signal" && isLater(e.strand, x));
  const flag = (e: Wait | Signal): string => `'${e.flag.buffer}'[${e.flag.slot}] of rank ${e.flag.owner}`;
  const how = (e: Signal): string => `${e.release ? "release" : "relaxed"}, scope ${e.sys ? "sys" : "gpu"}`;
  return [
    "an interleaving in which they meet:",
    waited === undefined
      ? `  1. ${describe(second)} starts; it has waited for nobody`
      : `  1. ${describe(second)}: its last wait before is for ${flag(waited)} to reach ${waited.value} (launch ${waited.strand.launch})`,
    `  2. ${describe(first)}: the ${first.what} is under way`,
    `  3. ${describe(second)}: the ${second.what} happens meanwhile`,
    told === undefined
      ? `  ${describe(first)} sends no signal after its ${first.what} that could tell`
      : `  the first signal after 2. is ${flag(told)} = ${told.value} (${how(told)}, launch ${told.strand.launch}); ${unheard(trace, told, x, y)}`,
  ];
}

/** Why a signal that comes after the first access does not order it before the second. */
function unheard(trace: Trace, told: Signal, x: Segment, y: Segment): string {
  const { flag } = told;
  const waits = trace.events.filter(
    (e): e is Wait =>
      e.kind === "wait" && e.flag === flag && e.strand.entity === y.strand.entity && e.strand.launch <= y.strand.launch,
  );
  const heard = waits.find((w) => ((told.value - w.value) | 0) >= 0 && w.strand.launch === y.strand.launch);
  if (heard === undefined) return "the other does not wait for it";
  if (!told.release) return "it is waited for, but it is relaxed and carries nothing";
  if (!heard.acquire) return "it is waited for, but the wait is relaxed and learns nothing";
  const isFar = flag.owner !== Math.floor(told.strand.entity / (trace.grid + 1));
  if (isFar && !(told.sys && heard.sys)) return "it is waited for, but scope gpu does not reach another rank";
  if (told.strand !== x.strand && told.strand.phase === x.strand.phase)
    return "it speaks for the thread that sends it, which has not met the others since";
  if (heard.strand !== y.strand && heard.strand.phase === y.strand.phase)
    return "one thread waits for it, and the others have not met that thread since";
  return "the other does not wait for it before";
}

function placeOf(trace: Trace, access: number, buffer: string, owner: string, element: number): Place {
  const { strand } = trace.segments[trace.table[access * FIELDS]!]!;
  const block = strand.entity % (trace.grid + 1);
  const op = trace.ops[access];
  const verb = (trace.table[access * FIELDS + 4]! & WRITE) !== 0 ? "write" : "read";
  return {
    rank: Math.floor(strand.entity / (trace.grid + 1)),
    block: block === trace.grid ? -1 : block,
    launch: strand.launch,
    span: op?.span ?? NO_SPAN,
    what: `${op == null ? verb : `${verb} (${op.name})`} of '${buffer}'[${element}] of ${owner}`,
  };
}
