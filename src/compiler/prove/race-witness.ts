/** Words for a data race: both places, and an interleaving in which the two accesses meet. */
import { NO_SPAN } from "../source.js";
import type { Order } from "../execute/order/clocks.js";
import { type Signal, type Wait, wordOf } from "../execute/order/flags.js";
import { type Memory, type Segment, type Trace, WRITE } from "../execute/order/trace.js";
import { Fails, type Place } from "./results.js";

type Doer = Segment | Signal | Wait;

/** The failure for access `a`, earlier in the trace, and access `b`, which nothing orders. */
export function raceOf(trace: Trace, order: Order, a: number, b: number, element: number): Fails {
  const memory = trace.memories[trace.field(a, 1)]!;
  const { buffer, owner } = memory;
  const [first, second] = [placeOf(trace, a, memory, element), placeOf(trace, b, memory, element)];
  const [x, y] = [a, b].map((access) => trace.field(access, 0)) as [number, number];
  const witness =
    trace.field(a, 5) !== 0 && (order.isBefore(x, y) || order.isBefore(y, x) || isSameBlock(first, second))
      ? copyWitness(first, second)
      : new Interleaving(trace, trace.segment(x), trace.segment(y), first, second).lines();
  return new Fails(
    "race",
    `data race on '${buffer}'[${element}] of ${owner}: the ${verb(first)} by ${who(first)} and the ${verb(second)} by ${who(second)} are not ordered`,
    [first, second],
    witness,
  );
}

function isSameBlock(a: Place, b: Place): boolean {
  return a.rank === b.rank && a.block === b.block && a.launch === b.launch;
}

function copyWitness(first: Place, second: Place): string[] {
  return [
    `the copy that ${who(first)} has started is under way until copy_wait says that it has landed, and until the block synchronises after that;`,
    `the ${verb(second)} comes before`,
  ];
}

/** "rank 1, block 0, launch 2". */
function who(p: Place): string {
  if (p.block < 0) return `the caller of rank ${p.rank} before launch ${p.launch}`;
  return `rank ${p.rank}, block ${p.block}, launch ${p.launch}`;
}

function verb(p: Place): string {
  return p.what.slice(0, p.what.indexOf(" "));
}

function placeOf(trace: Trace, access: number, { buffer, rank, isOwn }: Memory, element: number): Place {
  const segment = trace.segment(trace.field(access, 0));
  const block = trace.blockOf(segment.entity);
  const writes = (trace.field(access, 4) & WRITE) !== 0;
  return {
    rank: rankOf(trace, segment),
    block: block === trace.grid ? -1 : block,
    launch: segment.launch,
    span: trace.opOf(access)?.span ?? NO_SPAN,
    what: `${writes ? "write" : "read"} of '${buffer}'[${element}]`,
    ...(isOwn ? {} : { element: { buffer, owner: rank, index: element } }),
  };
}

function rankOf(trace: Trace, s: Doer): number {
  return trace.rankOf(s.entity);
}

/** A schedule in which the second access comes while the first is still on its way. */
class Interleaving {
  constructor(
    private readonly trace: Trace,
    private readonly x: Segment,
    private readonly y: Segment,
    private readonly first: Place,
    private readonly second: Place,
  ) {}

  lines(): string[] {
    const { trace, first, second } = this;
    const { x, y } = this;
    const waited = trace.waits.findLast((w) => w.before <= y.id && this.isKnownTo(w, y));
    const after = trace.signals.filter((s) => s.before > x.id && this.speaksFor(s, x));
    // One to the other's rank says most.
    const told = after.find((e) => e.flag.owner === rankOf(trace, y)) ?? after[0];
    const before =
      waited === undefined
        ? "has waited for nobody"
        : `has waited for ${this.flag(waited)} to reach ${waited.value} (launch ${waited.launch}), and for nothing after that`;
    return [
      "they meet when",
      `  1. ${who(second)}, ${before};`,
      `  2. the ${verb(first)} by ${who(first)} is on its way;`,
      `  3. the ${verb(second)} by ${who(second)} happens.`,
      told === undefined
        ? "nothing is signalled after the first that could tell the other"
        : `the first signal after the first access sets ${this.flag(told)} to ${told.value} (${wordOf(told)}, scope ${told.sys ? "sys" : "gpu"}, launch ${told.launch}): ${this.unheard(told)}`,
    ];
  }

  private isCaller(s: Doer): boolean {
    return this.trace.isHost(s.entity);
  }

  /** Whether what a strand learns is known in a segment: of its own block and earlier, or of a launch that has ended. */
  private isKnownTo(s: Doer, segment: Segment): boolean {
    if (s.strand === segment.strand) return true;
    if (this.isCaller(segment))
      return rankOf(this.trace, s) === rankOf(this.trace, segment) && s.launch < segment.launch;
    return s.entity === segment.entity && s.phase < segment.phase;
  }

  /** Whether a strand comes after a segment on its block, or on the rank whose caller it is of. */
  private speaksFor(s: Doer, segment: Segment): boolean {
    if (s.strand === segment.strand) return true;
    if (this.isCaller(segment))
      return rankOf(this.trace, s) === rankOf(this.trace, segment) && s.launch >= segment.launch;
    return s.entity === segment.entity && s.phase >= segment.phase;
  }

  private flag({ flag }: Wait | Signal): string {
    return `'${flag.buffer}'[${flag.slot}] of rank ${flag.owner}`;
  }

  /** Why a signal that comes after the first access does not order it before the second. */
  private unheard(told: Signal): string {
    const { trace, x, y } = this;
    const { flag } = told;
    const block = (w: Wait): boolean =>
      this.isCaller(y) ? this.isKnownTo(w, y) : w.entity === y.entity && w.launch === y.launch;
    const heard = trace.waits.find((w) => w.flag === flag && block(w) && ((told.value - w.value) | 0) >= 0);
    if (heard === undefined) return "the other has not waited for it";
    if (!told.release && wordOf(told) === "launch")
      return "it is waited for, but of what launches before it stored to peers, something was released by nobody";
    if (!told.release) return "it is waited for, but it is relaxed and carries nothing";
    if (told.hands === "launches") return "it is waited for, but it speaks of launches before its own alone";
    if (!heard.acquire) return "it is waited for, but the wait is relaxed and learns nothing";
    if (rankOf(trace, told) !== rankOf(trace, heard) && !(told.sys && heard.sys))
      return "it is waited for, but scope gpu does not reach another rank";
    if (told.strand !== x.strand && told.entity === x.entity && told.phase === x.phase)
      return "it speaks for the thread that sends it, which has not met the others since";
    if (heard.strand !== y.strand && heard.entity === y.entity && heard.phase === y.phase)
      return "one thread waits for it, and the others have not met that thread since";
    return "the other has not waited for it before";
  }
}
