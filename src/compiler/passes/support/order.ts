/**
 * Which accesses happened before the point where each rank stands: the state of the analysis that finds and checks
 * synchronisation.
 *
 * Of an access by rank e it is known for each rank q whether it happened before what q does next, from blocks of the same
 * number only (`near`) or from all blocks (`far`). Sets of ranks are bit masks. An access that is carried out again
 * stands for the earlier time as well: whoever waits for the later one waits for both.
 */
import { RankPairs } from "../../ir/rank-pairs.js";
import { type Access, accessOf, mayConflict } from "./accesses.js";

type Ranks = bigint;

interface Pending {
  readonly access: Access;
  /** Tells this time from others. */
  readonly time: number;
  readonly near: Ranks;
  readonly far: Ranks;
  /** Ranks that it happened before when the launch began; none of an access of this launch. */
  readonly before: Ranks;
  /** Number of the step of messages that it is of and that may still be under way: it then happened before nothing but later messages. */
  readonly underWay: number | null;
}

type Known = Pick<Pending, "near" | "far" | "before" | "underWay">;

/** An unordered pair of accesses, for messages. */
export type Conflict = readonly [earlier: Access, later: Access];

/** A synchronisation: who tells whom, and whether between all blocks. */
export interface Sync {
  readonly pairs: RankPairs;
  readonly isGrid: boolean;
}

export interface Need extends Sync {
  readonly conflict: Conflict;
  /** The earlier one is of messages under way: no synchronisation orders it, only a wait for them does. */
  readonly isUnderWay: boolean;
}

export class Order {
  /** By buffer and owner, so that only what may conflict is compared. */
  private pending = new Map<string, Map<string, Pending>>();
  /** For each pair of ranks what each notify that no await has taken yet knew. */
  private readonly notified = new Map<string, ReadonlySet<number>[]>();
  private times = 0;
  /** Steps of messages that have begun. */
  private messages = 0;
  /** Where notifies and awaits can no longer be matched, an await orders nothing. */
  private isUnmatched = false;

  private readonly everybody: Ranks;

  /** @param isPacket whether loads of a buffer wait for what they read */
  constructor(
    private readonly world: number,
    private readonly isPacket: (buffer: string) => boolean = () => false,
  ) {
    this.everybody = (1n << BigInt(world)) - 1n;
  }

  copy(): Order {
    const copy = new Order(this.world, this.isPacket);
    for (const [place, entries] of this.pending) copy.pending.set(place, new Map(entries));
    for (const [pair, queue] of this.notified) copy.notified.set(pair, [...queue]);
    copy.isUnmatched = this.isUnmatched;
    copy.times = this.times;
    copy.messages = this.messages;
    return copy;
  }

  /** What holds whichever of the two ways was taken. */
  merge(other: Order): void {
    for (const [place, entries] of other.pending) {
      const own = this.pending.get(place) ?? new Map<string, Pending>();
      this.pending.set(place, own);
      for (const [key, p] of entries) {
        const mine = own.get(key);
        const least = mine ?? p;
        own.set(key, { ...p, near: p.near & least.near, far: p.far & least.far, before: p.before & least.before });
      }
    }
    this.times = Math.max(this.times, other.times);
    this.isUnmatched ||= other.isUnmatched || this.hasOpenNotifies || other.hasOpenNotifies;
  }

  /** Equal texts, equal states; notifies apart, as long as they match. */
  get key(): string {
    const entries = [...this.pending.values()].flatMap((m) =>
      [...m].map(([k, p]) => `${k}:${p.near}:${p.far}:${p.underWay ?? ""}`),
    );
    return [...entries.sort(), this.isUnmatched].join("\n");
  }

  get hasOpenNotifies(): boolean {
    return [...this.notified.values()].some((queue) => queue.length > 0);
  }

  /** From here on no await is taken to match a notify. */
  giveUpMatching(): void {
    this.isUnmatched = true;
  }

  add(access: Access, known: Known = { near: 0n, far: 0n, before: 0n, underWay: null }): void {
    const place = access.place;
    const entries = this.pending.get(place) ?? new Map<string, Pending>();
    this.pending.set(place, entries);
    // What messages touch beside a rank's kernels stands for nothing that those have touched.
    const key = known.underWay === null ? access.key : `${access.key} in messages ${known.underWay}`;
    entries.set(key, { access, time: this.times++, ...known });
  }

  /** An access outside the kernel, in the rank's stream: all blocks of the rank come after it. */
  addExternal(access: Access): void {
    const own = bit(access.rank);
    this.add(access, { near: own, far: own, before: own, underWay: null });
  }

  /** Accesses of a step of messages that goes on beside what its ranks do next. */
  addMessages(accesses: readonly Access[]): void {
    const underWay = this.messages++;
    for (const access of accesses) this.add(access, { near: 0n, far: 0n, before: 0n, underWay });
  }

  /** What messages touched, but for the `pending` newest steps of them, each rank has waited for. */
  awaitMessages(pending: number): void {
    const first = this.messages - pending;
    for (const entries of this.pending.values())
      for (const [key, p] of entries)
        if (p.underWay !== null && p.underWay < first)
          entries.set(key, { ...p, underWay: null, far: p.far | bit(p.access.rank) });
  }

  /**
   * What of these accesses nothing orders yet, and the weakest order told by the earlier accesses' own ranks.
   * @param isMessage whether they are of messages, which each rank sends and receives one step after the other
   */
  need(later: Iterable<Access>, isMessage = false): Need | null {
    return this.unordered(later, ({ access: earlier, near, far, underWay }, access) => {
      if (underWay !== null) return isMessage && earlier.rank === access.rank ? null : "grid";
      if ((far & bit(access.rank)) !== 0n) return null;
      const sameBlock = access.position !== null && access.position === earlier.position;
      if (sameBlock && (near & bit(access.rank)) !== 0n) return null;
      return sameBlock || (far & bit(earlier.rank)) !== 0n ? "block" : "grid";
    });
  }

  /** The same for what callers do after the launch on their rank, when all of its blocks have ended. */
  needAfter(later: Iterable<Access>): Need | null {
    return this.unordered(later, ({ access: earlier, near, far }, access) =>
      earlier.rank === access.rank || ((near | far) & bit(access.rank)) !== 0n ? null : "block",
    );
  }

  private unordered(
    later: Iterable<Access>,
    order: (p: Pending, later: Access) => "block" | "grid" | null,
  ): Need | null {
    const pairs = new RankPairs(this.world);
    let isGrid = false;
    let [conflict, isUnderWay]: [Conflict | null, boolean] = [null, false];
    for (const access of later) {
      const entries = this.pending.get(access.place);
      if (entries === undefined) continue;
      for (const p of entries.values()) {
        if (!(p.access.writes || access.writes)) continue;
        // The load waits for the packet itself.
        if (!access.writes && this.isPacket(access.buffer)) continue;
        const scope = order(p, access);
        if (scope === null || !mayConflict(p.access, access)) continue;
        pairs.add(p.access.rank, access.rank);
        isGrid ||= scope === "grid";
        isUnderWay ||= p.underWay !== null;
        conflict ??= [p.access, access];
      }
    }
    return conflict === null ? null : { pairs, isGrid, conflict, isUnderWay };
  }

  sync({ pairs, isGrid }: Sync): void {
    const targets = targetsOf(pairs);
    const told = (ranks: Ranks): Ranks => {
      let all = 0n;
      for (let from = 0; from < this.world; from++) if ((ranks & bit(from)) !== 0n) all |= targets[from]!;
      return all;
    };
    // Few sets of ranks occur, each at many accesses.
    const known = new Map<Ranks, Ranks>();
    const toldBy = (ranks: Ranks): Ranks => {
      let all = known.get(ranks);
      if (all === undefined) known.set(ranks, (all = told(ranks)));
      return all;
    };
    this.update((p) => {
      // Every block meets itself first; then it tells, and hears.
      const met = p.near | bit(p.access.rank);
      const told = p.far | toldBy(p.far);
      return isGrid ? changed(p, met, told | toldBy(met)) : changed(p, met | toldBy(met), told);
    });
  }

  notify(from: number, to: number): void {
    const knew = new Set<number>();
    this.update((p) => {
      const near = p.access.rank === from ? p.near | bit(from) : p.near;
      if (((near | p.far) & bit(from)) !== 0n) knew.add(p.time);
      return changed(p, near, p.far);
    });
    const queue = this.notified.get(`${from}>${to}`) ?? [];
    queue.push(knew);
    this.notified.set(`${from}>${to}`, queue);
  }

  await(to: number, from: number): void {
    const knew = this.notified.get(`${from}>${to}`)?.shift();
    if (knew === undefined || this.isUnmatched) return this.giveUpMatching();
    this.update((p) => (knew.has(p.time) ? changed(p, p.near, p.far | bit(to)) : p));
  }

  /**
   * The end of a launch and the start of the next: of this one, what touched `kept` buffers is left, wherever it did.
   * @param around what happened before the launch on the first rank of a pair comes before what the second does after it
   */
  nextLaunch(kept: ReadonlySet<string>, around: RankPairs | null): void {
    const before = [...this.pending.values()].flatMap((m) => [...m.values()]);
    this.pending = new Map();
    for (const p of before) {
      const { access } = p;
      // A packet is read in the launch that wrote it, so whoever comes after the load comes after the store.
      if (!kept.has(access.buffer) || (access.writes && this.isPacket(access.buffer))) continue;
      let known = p.near | p.far | bit(access.rank);
      for (const [from, to] of around?.list() ?? []) if ((p.before & bit(from)) !== 0n) known |= bit(to);
      // Another launch may have other dimensions, so that its parts and its blocks compare with none of this one's.
      const whole = wholeOf(access);
      const twin = this.pending.get(whole.place)?.get(whole.key);
      const both = twin === undefined ? known : known & twin.far;
      this.add(whole, { near: both, far: both, before: both, underWay: null });
    }
    this.update((p) => p);
    if (this.hasOpenNotifies) this.giveUpMatching();
  }

  /** What comes before all that any rank does next is forgotten. */
  private update(change: (p: Pending) => Pending): void {
    for (const entries of this.pending.values())
      for (const [key, p] of entries) {
        // No rank has seen the end of what is under way.
        const next = p.underWay === null ? change(p) : p;
        if (next.far === this.everybody) entries.delete(key);
        else if (next !== p) entries.set(key, next);
      }
  }
}

/** The same if nothing is new. */
function changed(p: Pending, near: Ranks, far: Ranks): Pending {
  return near === p.near && far === p.far ? p : { ...p, near, far };
}

/** What accesses are called in the launch after theirs. */
const wholes = new WeakMap<Access, Access>();

function wholeOf(access: Access): Access {
  let whole = wholes.get(access);
  if (whole === undefined)
    wholes.set(access, (whole = accessOf({ ...access, part: null, position: null, isEarlier: true })));
  return whole;
}

const BITS: Ranks[] = [];

function bit(rank: number): Ranks {
  return (BITS[rank] ??= 1n << BigInt(rank));
}

const knownTargets = new WeakMap<RankPairs, readonly Ranks[]>();

/** Whom each rank tells. A plan is followed many times, and its pairs stay as they are. */
function targetsOf(pairs: RankPairs): readonly Ranks[] {
  let masks = knownTargets.get(pairs);
  if (masks === undefined) {
    const all = Array.from({ length: pairs.world }, () => 0n);
    for (const [from, to] of pairs.list()) all[from]! |= bit(to);
    knownTargets.set(pairs, (masks = all));
  }
  return masks;
}
