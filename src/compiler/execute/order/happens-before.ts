/**
 * Which segments happened before which, in every schedule.
 *
 * Knowledge flows along a block's synchronisations, along a rank's stream, and from releases to the acquires that must
 * have seen them. Which signals a wait must have seen is decided over all signals that could have come before it, not
 * over those of one run: with `set`, one that suffices, whichever; with `add`, some without which the others would not
 * suffice. "Could have come before" itself depends on the order, so this starts from too much order and takes away
 * until nothing changes. What is left holds: the first wait in time that broke it would have seen only signals that
 * are counted here.
 */
import { CannotTell, Fails } from "../failures.js";
import { firstWhere, NEAR } from "./climbing.js";
import { Clocks, type Order } from "./clocks.js";
import { KnowledgeTable, NOTHING } from "./knowledge.js";
import { OpenWaits } from "./open-waits.js";
import type { Flag, Signal, Wait } from "./flags.js";
import {
  ENDS,
  ENDS_PHASE,
  EVENT_FIELDS,
  MOVERS_BEGIN,
  MOVERS_END,
  SIGNALS,
  STARTS,
  type Trace,
  WAITS,
} from "./trace.js";

const MOST_ROUNDS = 20;

/** For a signal that hands nothing on. */
const NONE = -1;

export class HappensBefore implements Order {
  readonly knowledge: KnowledgeTable;
  /** The clocks after the last round. */
  private clocks: Clocks;
  /** By signal: what its strand knew, and what it handed on, which says its own block's phases too. */
  private readonly knownAt: Int32Array;
  private readonly handedOn: Int32Array;
  /** What each wait taught. */
  private readonly gained: Int32Array;
  /** Whether a flag climbs, of those that somebody waits for. */
  private readonly climbing = new Map<Flag, boolean>();

  constructor(private readonly trace: Trace) {
    this.knowledge = new KnowledgeTable(trace);
    this.clocks = new Clocks(trace, this.knowledge);
    this.knownAt = new Int32Array(trace.signals.length);
    this.handedOn = new Int32Array(trace.signals.length);
    this.gained = new Int32Array(trace.waits.length);
    for (const flag of trace.flags)
      if (flag.signals.some((s) => s.add) && flag.signals.some((s) => !s.add))
        throw new CannotTell(`flag '${flag.buffer}'[${flag.slot}] is both set and added to`);
    this.round(true);
    for (let rounds = 1; !this.isSettled(); rounds++) {
      if (rounds === MOST_ROUNDS - 1) throw new CannotTell("the order of signals did not settle");
      this.round(false);
    }
    this.checkLost();
  }

  get segments(): Int32Array {
    return this.clocks.segments;
  }

  isBefore(a: number, b: number): boolean {
    return this.clocks.isBefore(a, b);
  }

  /**
   * Whether another round would find what the last has found. If each wait would gain the same from signals as they now
   * are, then event by event the next round does as the last one did: up to a wait nothing has changed, and from signals
   * behind it the wait takes what the last round has left of them.
   */
  private isSettled(): boolean {
    return this.trace.waits.every((w) => this.knowledge.equals(this.gainedBy(w, false, true), this.gained[w.id]!));
  }

  /** One pass over all events. */
  private round(isFirst: boolean): void {
    const { trace, knowledge } = this;
    const { events } = trace;
    const clocks = (this.clocks = new Clocks(trace, knowledge));
    let segment = 0;
    const enterTo = (end: number): void => {
      for (; segment < end; segment++) clocks.enter(segment);
    };
    for (let at = 0; at < trace.eventCount; at++) {
      const row = at * EVENT_FIELDS;
      const about = events[row + 1]!;
      enterTo(events[row + 2]!);
      switch (events[row]) {
        case ENDS_PHASE:
          clocks.endPhase(about);
          break;
        case MOVERS_BEGIN:
          clocks.beginMovers(about);
          break;
        case MOVERS_END:
          clocks.endMovers(about);
          break;
        case STARTS:
          clocks.start(about);
          break;
        case ENDS:
          clocks.end(about);
          break;
        case SIGNALS: {
          const signal = trace.signals[about]!;
          this.knownAt[about] = clocks.known(signal.strand, signal.entity);
          this.handedOn[about] = signal.release ? clocks.handOn(signal) : NONE;
          break;
        }
        case WAITS: {
          const wait = trace.waits[about]!;
          const gained = this.gainedBy(wait, isFirst, isFirst);
          this.gained[about] = gained;
          clocks.learn(wait.strand, wait.entity, gained, wait.isAside);
        }
      }
    }
    enterTo(trace.segmentCount);
  }

  /** Whether a wait could have seen a signal: if it does not itself come after the wait. */
  private isCandidate(signal: Signal, wait: Wait, isFirst: boolean): boolean {
    return isFirst ? signal.at < wait.at : !this.isAfter(signal, wait);
  }

  private isAfter(signal: Signal, wait: Wait): boolean {
    return this.knowsOf(signal, wait.strand, wait.entity, wait.phase, wait.segment);
  }

  /** Whether a segment of a strand comes before a signal; within a strand, not the segment that the signal ends. */
  private knowsOf(signal: Signal, strand: number, entity: number, phase: number, segment: number): boolean {
    if (signal.strand === strand) return signal.segment > segment;
    if (signal.entity === entity && signal.phase > phase) return true;
    return this.knowledge.knows(this.knownAt[signal.id]!, strand, segment);
  }

  /** @param areOfOneRound whether what signals hand on is all of the same round, and none is still of the one before */
  private gainedBy(wait: Wait, isFirst: boolean, areOfOneRound: boolean): number {
    const { flag, value } = wait;
    if (flag.signals.length > 0 && flag.signals[0]!.add) {
      const candidates = flag.signals.filter((s) => this.isCandidate(s, wait, isFirst));
      const amounts = candidates.map((s) => s.value);
      return this.knowledge.guaranteed(
        candidates.map((s) => (this.synchronises(s, wait) ? this.handedOn[s.id]! : NONE)),
        amounts,
        value,
      );
    }
    // The flag starts at zero: a wait for that needs nobody.
    if ((-value | 0) >= 0) return NOTHING;
    if (this.climbs(flag) && Math.abs((flag.signals[0]!.value - value) | 0) < NEAR)
      return this.gainedFromClimb(wait, isFirst, areOfOneRound);
    // Any one that suffices may be the one that was seen.
    let least: Signal | null = null;
    let gained = NOTHING;
    for (const s of flag.signals) {
      if (isFirst && s.at > wait.at) break;
      if (!suffices(s, wait) || !this.isCandidate(s, wait, isFirst)) continue;
      if (!this.synchronises(s, wait)) return NOTHING;
      if (least === null) gained = this.handedOn[(least = s).id]!;
      // A block hands on all that it has handed on in earlier phases.
      else if (!areOfOneRound || s.entity !== least.entity || s.phase <= least.phase || !handsOnAsMuch(least, s))
        gained = this.knowledge.meet(gained, this.handedOn[s.id]!);
    }
    return gained;
  }

  private climbs(flag: Flag): boolean {
    let climbs = this.climbing.get(flag);
    if (climbs === undefined) this.climbing.set(flag, (climbs = isClimbing(flag)));
    return climbs;
  }

  /**
   * The same for a flag that climbs, without looking at each of its signals: those that suffice are the last ones, those that a wait could
   * have seen are the first ones, and of those that are of one round the first hands on the least.
   */
  private gainedFromClimb(wait: Wait, isFirst: boolean, areOfOneRound: boolean): number {
    const { signals } = wait.flag;
    const least = firstWhere(signals.length, (at) => suffices(signals[at]!, wait));
    if (least === signals.length || !this.isCandidate(signals[least]!, wait, isFirst)) return NOTHING;
    if (!this.synchronises(signals[least]!, wait)) return NOTHING;
    const gained = this.handedOn[signals[least]!.id]!;
    if (areOfOneRound) return gained;
    const ahead = firstWhere(signals.length, (at) => signals[at]!.at > wait.at);
    if (ahead <= least || ahead === signals.length || !this.isCandidate(signals[ahead]!, wait, isFirst)) return gained;
    return this.knowledge.meet(gained, this.handedOn[signals[ahead]!.id]!);
  }

  /** Release and acquire, each with a scope that includes the other's thread. */
  private synchronises(signal: Signal, wait: Wait): boolean {
    if (!signal.release || !wait.acquire) return false;
    return (signal.sys && wait.sys) || this.trace.rankOf(signal.entity) === this.trace.rankOf(wait.entity);
  }

  /**
   * A `set` to a lower value hides the one that a wait is for, if none that suffices always follows it. What follows it must come,
   * too: a signal is sure when each wait before it is. Two waits that are saved by signals behind each other are lost together. So waits
   * become sure one after the other, each by signals that are sure already; the first in time that does not is reported.
   */
  private checkLost(): void {
    const { waits, flags } = this.trace;
    const rising = new Set(flags.filter((f) => f.signals[0]?.add === true || isRising(f)));
    const mayFall = (w: Wait): boolean => !rising.has(w.flag) || !this.isNear(w);
    if (!waits.some(mayFall)) return;
    // In the order of the trace a wait comes before all that is after it: signals before the first need not be asked about.
    const open = new OpenWaits(waits);
    const isSure = (s: Signal): boolean => open.everyBefore(s.at, (w) => !this.isAfter(s, w));
    for (let before = 0; before !== open.size;) {
      before = open.size;
      for (const w of open) {
        const isSaved = this.isReached(w, isSure) && !(mayFall(w) && this.hiding(w, isSure) !== null);
        if (isSaved) open.close(w);
      }
      open.tidy();
    }
    for (const w of open) {
      const low = this.hiding(w, isSure);
      if (low !== null) this.failLost(w, low);
    }
  }

  /** Whether values of a flag are so near to what a wait is for that they can be compared: they wrap. */
  private isNear({ flag, value }: Wait): boolean {
    const [first] = flag.signals;
    return first === undefined || first.add || Math.abs((first.value - value) | 0) < NEAR;
  }

  /** Whether signals that are sure raise a flag to what a wait is for. */
  private isReached(wait: Wait, isSure: (s: Signal) => boolean): boolean {
    const { flag, value } = wait;
    if ((-value | 0) >= 0) return true;
    const comes = (s: Signal): boolean => !this.isAfter(s, wait) && isSure(s);
    if (!flag.signals[0]!.add) return flag.signals.some((s) => suffices(s, wait) && comes(s));
    return ((flag.signals.reduce((sum, s) => (comes(s) ? sum + s.value : sum), 0) - value) | 0) >= 0;
  }

  /**
   * The signal that may hide what a wait is for; null where one that suffices, and is sure, follows each. One that comes after the wait
   * follows nothing that the wait has not seen.
   */
  private hiding(wait: Wait, isSure: (s: Signal) => boolean): Signal | null {
    const { signals } = wait.flag;
    for (const low of signals) {
      if (suffices(low, wait) || this.isAfter(low, wait)) continue;
      const { strand, entity, phase, segment } = low;
      const saves = (s: Signal): boolean =>
        suffices(s, wait) && this.knowsOf(s, strand, entity, phase, segment) && !this.isAfter(s, wait) && isSure(s);
      if (!signals.some(saves)) return low;
    }
    return null;
  }

  private failLost(wait: Wait, low: Signal): never {
    const { buffer, slot, owner } = wait.flag;
    const place = (s: Signal | Wait, what: string) => ({
      rank: this.trace.rankOf(s.entity),
      block: this.trace.blockOf(s.entity),
      launch: s.launch,
      span: s.op.span,
      what,
    });
    const name = `'${buffer}'[${slot}] of rank ${owner}`;
    throw new Fails(
      "lost-signal",
      `flag ${name} may be set back to ${low.value} before a wait for ${wait.value} sees it`,
      [place(low, `signal of ${name}`), place(wait, `wait for ${name}`)],
    );
  }
}

/** Whether one block sets a flag higher and higher, in a phase of its own each time, and none hands on less than those before it. */
function isClimbing({ signals }: Flag): boolean {
  const [first] = signals;
  let climbed = 0;
  let before: Signal | null = null;
  for (const s of signals) {
    if (s.entity !== first!.entity || s.release !== first!.release || s.sys !== first!.sys) return false;
    if (before !== null) {
      if (!handsOnAsMuch(before, s)) return false;
      const step = (s.value - before.value) | 0;
      if (step <= 0 || s.phase <= before.phase || s.at <= before.at) return false;
      climbed += step;
    }
    before = s;
  }
  // Values wrap: those that are compared are near to each other.
  return first !== undefined && climbed < NEAR;
}

/** Whether a signal of a block hands on all that one of an earlier phase of it does. */
function handsOnAsMuch(before: Signal, s: Signal): boolean {
  if (s.hands === before.hands) return true;
  const areOfAll = [before, s].every(({ hands }) => hands === "launches" || hands === "everything");
  return areOfAll && (s.hands === "everything" || s.launch > before.launch);
}

/** Whether the value of a signal that sets is as high as a wait wants it. */
function suffices(signal: Signal, wait: Wait): boolean {
  return ((signal.value - wait.value) | 0) >= 0;
}

/** Whether one block makes all signals of a flag, none lower than the one before, in a phase of its own where it is higher. */
function isRising({ signals }: Flag): boolean {
  let climbed = 0;
  return signals.every((s, k) => {
    const before = signals[k - 1];
    if (before === undefined) return true;
    const step = (s.value - before.value) | 0;
    climbed += step;
    const isApart = s.phase > before.phase && s.at > before.at;
    return s.entity === before.entity && step >= 0 && (step === 0 || isApart) && climbed < NEAR;
  });
}
