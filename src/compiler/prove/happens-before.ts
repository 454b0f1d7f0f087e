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
import { guaranteed, Knowledge } from "./knowledge.js";
import { CannotTell, Fails } from "./results.js";
import type { Signal, Strand, Trace, Wait } from "./trace.js";

const MOST_ROUNDS = 20;

export class HappensBefore {
  /** What is known in each segment. */
  readonly segments: Knowledge[];
  /** What the signalling strand knew at each signal, and what it handed on. */
  private knownAt = new Map<Signal, Knowledge>();
  private handedOn = new Map<Signal, Knowledge | null>();
  private atWait = new Map<Wait, Knowledge>();
  private readonly seen = new Set<Signal>();

  constructor(private readonly trace: Trace) {
    this.segments = new Array<Knowledge>(trace.segmentStrands.length);
    for (const flag of trace.flags.values())
      if (flag.signals.some((s) => s.add) && flag.signals.some((s) => !s.add))
        throw new CannotTell(`flag '${flag.buffer}'[${flag.slot}] is both set and added to`);
    for (let round = 0; ; round++) {
      if (round === MOST_ROUNDS) throw new CannotTell("the order of signals did not settle");
      if (!this.round(round === 0)) break;
    }
    for (const event of trace.events) if (event.kind === "wait") this.checkLost(event);
  }

  /** Whether segment `a` happened before segment `b`; within a strand as numbered. */
  isBefore(a: number, b: number): boolean {
    const { segmentStrands, segmentNumbers } = this.trace;
    const strand = segmentStrands[a]!;
    if (strand === segmentStrands[b]) return segmentNumbers[a]! <= segmentNumbers[b]!;
    return this.segments[b]!.knows(strand, segmentNumbers[a]!);
  }

  /** One pass over all events; whether any wait came to know less than before. */
  private round(isFirst: boolean): boolean {
    const { trace } = this;
    const { grid, entities } = trace;
    const bases = new Array<Knowledge>(entities).fill(Knowledge.nothing(entities));
    const strands = new Map<Strand, Knowledge>();
    const phases = new Int32Array(entities);
    /** Strands of each entity's phase that know more than its start. */
    const active: Set<Strand>[] = Array.from({ length: entities }, () => new Set());
    const endPhase = (entity: number): Knowledge => {
      let known = bases[entity]!;
      for (const s of active[entity]!) known = known.join(strands.get(s)!);
      active[entity]!.clear();
      return (bases[entity] = known.withPhase(entity, ++phases[entity]!));
    };
    const knownTo = (s: Strand): Knowledge => strands.get(s) ?? bases[s.entity]!;
    let changed = false;
    for (const event of trace.events) {
      switch (event.kind) {
        case "segments":
          for (let id = event.first; id < event.end; id++) this.segments[id] = knownTo(trace.segmentStrands[id]!);
          break;
        case "phase":
          endPhase(event.entity);
          break;
        case "start": {
          const host = trace.host(event.rank);
          const known = endPhase(host);
          for (let b = 0; b < grid; b++) {
            const e = trace.entity(event.rank, b);
            bases[e] = bases[e]!.join(known);
          }
          break;
        }
        case "end": {
          const host = trace.host(event.rank);
          for (let b = 0; b < grid; b++) bases[host] = bases[host]!.join(endPhase(trace.entity(event.rank, b)));
          break;
        }
        case "signal": {
          const own = knownTo(event.strand);
          const known = event.acted ? own.withStrand(event.strand, event.segment + 1) : own;
          this.knownAt.set(event, own);
          this.handedOn.set(event, event.release ? known : null);
          this.seen.add(event);
          break;
        }
        case "wait": {
          const own = knownTo(event.strand);
          const gained = this.gainedBy(event, isFirst);
          const known = own.join(gained);
          const before = this.atWait.get(event);
          if (before === undefined || !before.equals(gained)) changed = true;
          this.atWait.set(event, gained);
          strands.set(event.strand, known);
          active[event.strand.entity]!.add(event.strand);
        }
      }
    }
    return changed;
  }

  /** Signals that a wait could have seen: those that do not themselves come after it. */
  private candidates(wait: Wait, isFirst: boolean): Signal[] {
    return wait.flag.signals.filter((s) => (isFirst ? this.seen.has(s) : !this.isAfter(s, wait)));
  }

  private isAfter(signal: Signal, wait: Wait): boolean {
    if (signal.strand === wait.strand) return signal.segment > wait.segment;
    return this.knownAt.get(signal)!.knows(wait.strand, wait.segment);
  }

  private gainedBy(wait: Wait, isFirst: boolean): Knowledge {
    const { entities } = this.trace;
    const candidates = this.candidates(wait, isFirst);
    const carried = (s: Signal): Knowledge | null => (this.synchronises(s, wait) ? this.handedOn.get(s)! : null);
    if (candidates.some((s) => s.add)) {
      const contributions = candidates.map((s) => ({ knowledge: carried(s), amount: s.value }));
      return guaranteed(contributions, wait.value, entities);
    }
    // The flag starts at zero: a wait for that needs nobody.
    if ((-wait.value | 0) >= 0) return Knowledge.nothing(entities);
    const enough = candidates.filter((s) => ((s.value - wait.value) | 0) >= 0);
    return guaranteed(
      enough.map((s) => ({ knowledge: carried(s), amount: 1 })),
      1,
      entities,
    );
  }

  /** Release and acquire, each with a scope that includes the other's thread. */
  private synchronises(signal: Signal, wait: Wait): boolean {
    if (!signal.release || !wait.acquire) return false;
    const sameRank = this.rankOf(signal.strand) === this.rankOf(wait.strand);
    return sameRank || (signal.sys && wait.sys);
  }

  private rankOf(strand: Strand): number {
    return Math.floor(strand.entity / (this.trace.grid + 1));
  }

  /** A `set` to a lower value that may come last hides the one a wait is for. */
  private checkLost(wait: Wait): void {
    const { signals, buffer, slot, owner } = wait.flag;
    if (signals.length === 0 || signals[0]!.add) return;
    const [enough, lower] = [true, false].map((suffices) =>
      signals.filter((s) => ((s.value - wait.value) | 0) >= 0 === suffices),
    ) as [Signal[], Signal[]];
    for (const low of lower) {
      if (this.isAfter(low, wait)) continue;
      const isOverwritten = enough.some((s) =>
        s.strand === low.strand ? s.segment > low.segment : this.knownAt.get(s)!.knows(low.strand, low.segment),
      );
      if (isOverwritten) continue;
      const place = (s: Signal | Wait, what: string) => ({
        rank: this.rankOf(s.strand),
        block: s.strand.entity % (this.trace.grid + 1),
        launch: s.strand.launch,
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
}
