/**
 * An order of units in which packets are stored before they are waited for: blocks that do one thing after the other in this order come to
 * their ends. What is waited for stays there until then, so blocks come to their ends in whatever order they run.
 *
 * Who waits for whom is not what happens before what: a wait needs its signal, whatever that hands on.
 */
import type { Flag, Signal } from "../../execute/order/flags.js";
import { EVENT_FIELDS, SEGMENT_FIELDS, SIGNALS, STARTS, ENDS, WAITS } from "../../execute/order/trace.js";
import type { Kernel } from "../../ir/module.js";
import { placeOf } from "../results.js";
import { demand } from "./conditions.js";
import type { Unit } from "./lengths.js";
import { packetsAt, TAKEN } from "./packets.js";
import { inOneOrder } from "./repeats.js";
import type { StretchOrder } from "./skeleton.js";

/**
 * Units of one launch after those of another, and each after what it waits for.
 * @param units in an order in which they could come if nobody waited for packets
 * @param orders of one block, of two, and of as many as stand for all
 * @throws NotShown where some wait for each other, or where who waits for whom is not followed
 */
export function inOrderOfPackets(kernel: Kernel, units: readonly Unit[], orders: readonly StretchOrder[]): Unit[] {
  const waiting = orders.map((order) => new Waiting(order, units));
  /** Whether a block may wait for something of one unit before it comes to another, or does them one after the other. */
  const mayComeBefore = (a: number, b: number): boolean => {
    const [first, second] = [units[a]!, units[b]!];
    if (first.rank === second.rank && first.launch === second.launch) return first.stretch < second.stretch;
    return waiting.some((w) => w.isFor(a, b));
  };
  const packets = units.map((u) => new UnitPackets(u));
  const isAlone = packets.some((p) => p.goTo(p));
  demand("progress", !isAlone, "packets are stored and taken in one loop", placeOf(kernel));
  const comesFirst = (a: number, b: number): boolean => packets[a]!.goTo(packets[b]!) || mayComeBefore(a, b);
  const sorted = inOneOrder(units, comesFirst, () =>
    demand("progress", false, "packets are waited for in a circle", placeOf(kernel)),
  );
  const isForwards = units.every(({ launch }, a) => units.every((b, i) => launch <= b.launch || !mayComeBefore(a, i)));
  demand("progress", isForwards, "a launch waits for a later one", placeOf(kernel));
  return sorted;
}

/** Which packets a unit takes, and stores, by the rank that has their slots. */
class UnitPackets {
  private readonly taken = new Set<string>();
  private readonly stored = new Set<string>();

  constructor({ rank, movements }: Unit) {
    for (const { text, buffer, owner } of movements) {
      const packets = packetsAt(buffer);
      if (packets !== null)
        (text === TAKEN ? this.taken : this.stored).add(`${owner < 0 ? rank : owner} ${packets.buffer}`);
    }
  }

  /** Whether a unit may store what another takes. */
  goTo(other: UnitPackets): boolean {
    return [...this.stored].some((p) => other.taken.has(p));
  }
}

/**
 * Who waits for whom with so many blocks: each block does one thing after the other, as in the execution of the marked kernel, launches of a
 * rank come one after the other, and a wait needs the first signal that suffices. Each flag that is waited for is set by one block, higher and
 * higher, so that signal comes before all others that suffice, and none that does not comes after it. Scopes, releases and acquires have no part in it.
 */
class Waiting {
  /** By unit and block: the segment of the mark, the entity, and for each entity, how many of its events must have been. */
  private readonly marks: { readonly segment: number; readonly entity: number; readonly known: Int32Array }[] = [];

  /** @throws NotShown for a flag that is added to, or set by several blocks */
  constructor(
    private readonly order: StretchOrder,
    units: readonly Unit[],
  ) {
    const { trace, grid } = order;
    const known: Int32Array[] = [];
    new Set(trace.waits.map((w) => w.flag)).forEach(checkClimbs);
    const clocks = Array.from({ length: trace.entities }, () => new Int32Array(trace.entities));
    const signalled: Int32Array[] = [];
    const happens = (entity: number, ...others: readonly Int32Array[]): void => {
      const clock = clocks[entity]!.slice();
      for (const other of others) other.forEach((n, e) => (clock[e] = Math.max(clock[e]!, n)));
      clock[entity]!++;
      clocks[entity] = clock;
    };
    for (let at = 0; at <= trace.eventCount; at++) {
      const isOver = at === trace.eventCount;
      const [kind, about, before] = trace.events.subarray(at * EVENT_FIELDS) as unknown as [number, number, number];
      while (known.length < (isOver ? trace.segmentCount : before))
        known.push(clocks[trace.segments[known.length * SEGMENT_FIELDS + 2]!]!);
      if (isOver) break;
      if (kind === SIGNALS) {
        const { entity } = trace.signals[about]!;
        happens(entity);
        signalled[about] = clocks[entity]!;
      } else if (kind === WAITS) {
        const { flag, value, entity } = trace.waits[about]!;
        const first = (-value | 0) >= 0 ? undefined : flag.signals.find((s) => ((s.value - value) | 0) >= 0);
        happens(entity, ...(first === undefined ? [] : [signalled[first.id]!]));
      } else if (kind === STARTS || kind === ENDS) {
        const host = trace.host(about);
        const blocks = Array.from({ length: trace.grid }, (_, block) => trace.entity(about, block));
        if (kind === ENDS) blocks.forEach((b) => happens(b));
        happens(host, ...(kind === ENDS ? blocks.map((b) => clocks[b]!) : []));
        if (kind === STARTS) blocks.forEach((b) => happens(b, clocks[host]!));
      }
    }
    for (const unit of units)
      for (let block = 0; block < grid; block++) {
        const segment = order.mark({ ...unit, block });
        this.marks.push({ segment, entity: trace.entity(unit.rank, block), known: known[segment]! });
      }
  }

  /** Whether some block comes to one unit only when some block has come to another. */
  isFor(a: number, b: number): boolean {
    const { grid } = this.order;
    for (let p = a * grid; p < (a + 1) * grid; p++)
      for (let q = b * grid; q < (b + 1) * grid; q++) {
        const [first, second] = [this.marks[p]!, this.marks[q]!];
        const isSo =
          first.entity === second.entity
            ? first.segment < second.segment
            : second.known[first.entity]! > first.known[first.entity]!;
        if (isSo) return true;
      }
    return false;
  }
}

/** @throws NotShown where a wait for a flag may find what is too low after it could have found what suffices */
function checkClimbs({ signals, buffer }: Flag): void {
  let before: Signal | null = null;
  for (const s of signals) {
    const isNext =
      before === null ||
      (s.entity === before.entity &&
        (s.phase > before.phase || s.strand === before.strand) &&
        ((s.value - before.value) | 0) > 0);
    demand("one signaller", isNext && !s.add, `flag '${buffer}' is not set by one block alone, higher each time, and packets are waited for`, s.op.span); // prettier-ignore
    before = s;
  }
}
