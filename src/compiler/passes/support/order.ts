/**
 * Which accesses happened before the point where each rank stands: the state of the analysis that finds and checks
 * synchronisation.
 *
 * Of an access by rank e it is known for each rank q whether it happened before what q does next, from blocks of the same
 * number only (`near`) or from all blocks (`far`). Sets of ranks are bit masks. An access that is carried out again
 * stands for the earlier time as well: whoever waits for the later one waits for both.
 *
 * What a rank touches in one step is known alike, and stays so: it is one group, and so are groups from where they are known alike.
 * Synchronisation changes groups, which are few where accesses are many.
 */
import { RankPairs } from "../../ir/rank-pairs.js";
import { type Access, accessOf, mayConflict } from "./accesses.js";
import { bit, type Ranks, targetsOf } from "./rank-sets.js";

/** What is known of accesses of one rank. */
interface Group {
  readonly rank: number;
  readonly near: Ranks;
  readonly far: Ranks;
  /** Ranks that it happened before when the launch began; none of an access of this launch. */
  readonly before: Ranks;
  /** Number of the step of messages that it is of and that may still be under way: it then happened before nothing but later messages. */
  readonly underWay: number | null;
}

/** Null for what comes before all that any rank does next, which is forgotten. */
type State = Group | null;

interface Pending {
  readonly access: Access;
  /** Number of its group, which another may have become part of; see `Order.known`. */
  readonly group: number;
}

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

/** Numbers of the groups that a rank has seen, from blocks of the same number and from all. */
export interface Arrival {
  readonly near: ReadonlySet<number>;
  readonly far: ReadonlySet<number>;
}

export class Order {
  /** By buffer and owner, so that only what may conflict is compared. */
  private pending = new Map<string, Map<string, Pending>>();
  private groups: State[] = [];
  /** For the number of a group the one that it is part of: its own, until it is known alike. */
  private parts: number[] = [];
  /** Numbers of groups that are part of no other, and not forgotten. */
  private live: number[] = [];
  /** For each pair of ranks the groups that each notify that no await has taken yet knew. */
  private readonly notified = new Map<string, ReadonlySet<number>[]>();
  /** Steps of messages that have begun. */
  private messages = 0;
  /** Where notifies and awaits can no longer be matched, an await orders nothing. */
  private isUnmatched = false;
  /** Whether somebody keeps numbers of groups, as he who looks back at what a rank knew does. */
  keepsNumbers = false;

  private readonly everybody: Ranks;

  /**
   * @param ranks those that are followed; no other touches what they do
   * @param isPacket whether loads of a buffer wait for what they read
   */
  constructor(
    private readonly world: number,
    private readonly ranks: readonly number[],
    private readonly isPacket: (buffer: string) => boolean = () => false,
  ) {
    this.everybody = ranks.reduce((all, rank) => all | bit(rank), 0n);
  }

  copy(): Order {
    const copy = new Order(this.world, this.ranks, this.isPacket);
    for (const [place, entries] of this.pending) copy.pending.set(place, new Map(entries));
    for (const [pair, queue] of this.notified) copy.notified.set(pair, [...queue]);
    copy.groups = [...this.groups];
    copy.parts = [...this.parts];
    copy.live = [...this.live];
    copy.isUnmatched = this.isUnmatched;
    copy.messages = this.messages;
    return copy;
  }

  /** What holds whichever of the two ways was taken. */
  merge(other: Order): void {
    const merged = new Map<string, number>();
    for (const [place, entries] of other.pending) {
      const own = this.pending.get(place) ?? new Map<string, Pending>();
      this.pending.set(place, own);
      for (const [key, { access, group }] of entries) {
        const theirs = other.known(group)!;
        const mine = own.get(key);
        const pair = `${mine?.group ?? ""} ${group}`;
        let both = merged.get(pair);
        if (both === undefined) {
          const least = mine === undefined ? theirs : this.known(mine.group)!;
          const [near, far, before] = [theirs.near & least.near, theirs.far & least.far, theirs.before & least.before];
          merged.set(pair, (both = this.newGroup({ ...theirs, near, far, before })));
        }
        own.set(key, { access, group: both });
      }
    }
    this.isUnmatched ||= other.isUnmatched || this.hasOpenNotifies || other.hasOpenNotifies;
  }

  /** Equal texts, equal states; notifies apart, as long as they match. */
  get key(): string {
    const known = new Map(
      this.live.map((number) => {
        const { near, far, underWay } = this.groups[number]!;
        return [number, `${near}:${far}:${underWay ?? ""}`];
      }),
    );
    const entries = [...this.pending.values()].flatMap((m) =>
      [...m].map(([k, { group }]) => `${k}:${known.get(this.whole(group))}`),
    );
    return [...entries.sort(), this.isUnmatched].join("\n");
  }

  get hasOpenNotifies(): boolean {
    return [...this.notified.values()].some((queue) => queue.length > 0);
  }

  /** Notifies of one rank to another that no await has taken; null where they cannot be matched. */
  openNotifies(from: number, to: number): number | null {
    return this.isUnmatched ? null : (this.notified.get(`${from}>${to}`)?.length ?? 0);
  }

  /** From here on no await is taken to match a notify. */
  giveUpMatching(): void {
    this.isUnmatched = true;
  }

  /** What ranks touch in one step. */
  add(accesses: Iterable<Access>): void {
    this.addGroups(accesses, (rank) => ({ rank, near: 0n, far: 0n, before: 0n, underWay: null }));
  }

  /** Accesses outside the kernel, in their ranks' streams: all blocks of a rank come after its own. */
  addExternal(accesses: Iterable<Access>): void {
    this.addGroups(accesses, (rank) => {
      const own = bit(rank);
      return { rank, near: own, far: own, before: own, underWay: null };
    });
  }

  /** Accesses of a step of messages that goes on beside what its ranks do next. */
  addMessages(accesses: Iterable<Access>): void {
    const underWay = this.messages++;
    this.addGroups(accesses, (rank) => ({ rank, near: 0n, far: 0n, before: 0n, underWay }));
  }

  private addGroups(accesses: Iterable<Access>, known: (rank: number) => Group): void {
    const groups = new Map<number, number>();
    for (const access of accesses) {
      let group = groups.get(access.rank);
      if (group === undefined) groups.set(access.rank, (group = this.newGroup(known(access.rank))));
      this.put(access, group);
    }
  }

  private newGroup(group: Group): number {
    const number = this.groups.push(group) - 1;
    this.parts.push(number);
    this.live.push(number);
    return number;
  }

  /** The group that one of this number is part of. */
  private whole(group: number): number {
    let whole = group;
    while (this.parts[whole] !== whole) whole = this.parts[whole]!;
    // The next way there is shorter.
    for (let part = group; part !== whole;) [part, this.parts[part]] = [this.parts[part]!, whole];
    return whole;
  }

  private known(group: number): State {
    return this.groups[this.whole(group)]!;
  }

  private put(access: Access, group: number): void {
    const { place } = access;
    let entries = this.pending.get(place);
    if (entries === undefined) this.pending.set(place, (entries = new Map()));
    // What messages touch beside a rank's kernels stands for nothing that those have touched.
    const { underWay } = this.known(group)!;
    entries.set(underWay === null ? access.key : `${access.key} in messages ${underWay}`, { access, group });
  }

  /** What messages touched, but for the `pending` newest steps of them, each rank has waited for. */
  awaitMessages(pending: number): void {
    const first = this.messages - pending;
    for (const number of this.live) {
      const group = this.groups[number]!;
      if (group.underWay !== null && group.underWay < first)
        this.groups[number] = { ...group, underWay: null, far: group.far | bit(group.rank) };
    }
  }

  /**
   * What of these accesses nothing orders yet, and the weakest order told by the earlier accesses' own ranks.
   * @param isMessage whether they are of messages, which each rank sends and receives one step after the other
   */
  need(later: Iterable<Access>, isMessage = false): Need | null {
    return this.unordered(later, (earlier, rank) => {
      if (earlier.underWay !== null) return isMessage && earlier.rank === rank ? [null, null] : ["grid", "grid"];
      if ((earlier.far & bit(rank)) !== 0n) return [null, null];
      const isNear = (earlier.near & bit(rank)) !== 0n;
      return [isNear ? null : "block", (earlier.far & bit(earlier.rank)) !== 0n ? "block" : "grid"];
    });
  }

  /** The same for what callers do after the launch on their rank, when all of its blocks have ended. */
  needAfter(later: Iterable<Access>): Need | null {
    return this.unordered(later, ({ rank: earlier, near, far }, rank) => {
      const needed = earlier === rank || ((near | far) & bit(rank)) !== 0n ? null : "block";
      return [needed, needed];
    });
  }

  /** @param needs what a rank's later accesses need of a group, where blocks of one number do both, and elsewhere */
  private unordered(later: Iterable<Access>, needs: (earlier: Group, rank: number) => Needs): Need | null {
    let need: { -readonly [key in keyof Need]: Need[key] } | null = null;
    let [rank, ofRank]: [number, Needs[]] = [-1, []];
    for (const access of later) {
      const entries = this.pending.get(access.place);
      if (entries === undefined) continue;
      if (access.rank !== rank) [rank, ofRank] = [access.rank, []];
      // The load waits for the packet itself.
      if (!access.writes && this.isPacket(access.buffer)) continue;
      for (const { access: earlier, group } of entries.values()) {
        if (!(earlier.writes || access.writes)) continue;
        const [ofBlock, ofGrid] = (ofRank[group] ??= needs(this.known(group)!, rank));
        const scope = access.position !== null && access.position === earlier.position ? ofBlock : ofGrid;
        if (scope === null || !mayConflict(earlier, access)) continue;
        need ??= { pairs: new RankPairs(this.world), isGrid: false, conflict: [earlier, access], isUnderWay: false };
        need.pairs.add(earlier.rank, rank);
        need.isGrid ||= scope === "grid";
        need.isUnderWay ||= this.known(group)!.underWay !== null;
      }
    }
    return need;
  }

  sync({ pairs, isGrid }: Sync): void {
    const targets = targetsOf(pairs);
    const told = (ranks: Ranks): Ranks => {
      let all = 0n;
      for (const from of this.ranks) if ((ranks & bit(from)) !== 0n) all |= targets[from]!;
      return all & this.everybody;
    };
    // Few sets of ranks occur, each in many groups.
    const known = new Map<Ranks, Ranks>();
    const toldBy = (ranks: Ranks): Ranks => {
      let all = known.get(ranks);
      if (all === undefined) known.set(ranks, (all = told(ranks)));
      return all;
    };
    this.update((g) => {
      // Every block meets itself first; then it tells, and hears.
      const met = g.near | bit(g.rank);
      const told = g.far | toldBy(g.far);
      return isGrid ? { ...g, near: met, far: told | toldBy(met) } : { ...g, near: met | toldBy(met), far: told };
    });
  }

  notify(from: number, to: number): void {
    const { near, far } = this.arrival(from);
    const queue = this.notified.get(`${from}>${to}`) ?? [];
    queue.push(new Set([...near, ...far]));
    this.notified.set(`${from}>${to}`, queue);
  }

  /** What a rank knows whose blocks have come to some synchronisation: each has met itself. */
  arrival(rank: number): Arrival {
    const [near, far] = [new Set<number>(), new Set<number>()];
    this.update((g, number) => {
      const met = g.rank === rank ? g.near | bit(rank) : g.near;
      if ((met & bit(rank)) !== 0n) near.add(number);
      if ((g.far & bit(rank)) !== 0n) far.add(number);
      return met === g.near ? g : { ...g, near: met };
    });
    return { near, far };
  }

  /**
   * A rank leaves a synchronisation that ranks come to one after the other: `sync` is the same for all that come together.
   * @param tellers what those knew who tell it something there
   */
  leave(to: number, tellers: readonly Arrival[], isGrid: boolean): void {
    this.update((g, number) => {
      const isNear = tellers.some(({ near }) => near.has(number));
      const isFar = tellers.some(({ far }) => far.has(number)) || (isGrid && isNear);
      return { ...g, near: isNear ? g.near | bit(to) : g.near, far: isFar ? g.far | bit(to) : g.far };
    });
  }

  await(to: number, from: number): void {
    const knew = this.notified.get(`${from}>${to}`)?.shift();
    if (knew === undefined || this.isUnmatched) return this.giveUpMatching();
    this.update((g, number) => (knew.has(number) ? { ...g, far: g.far | bit(to) } : g));
  }

  /**
   * The end of a launch and the start of the next: of this one, what touched `kept` buffers is left, wherever it did.
   * @param around what happened before the launch on the first rank of a pair comes before what the second does after it
   */
  nextLaunch(kept: ReadonlySet<string>, around: RankPairs | null): void {
    const told = around?.list() ?? [];
    const known = new Map(
      this.live.map((number): [number, Ranks] => {
        const g = this.groups[number]!;
        let all = g.near | g.far | bit(g.rank);
        for (const [from, to] of told) if ((g.before & bit(from)) !== 0n) all |= bit(to);
        return [number, all];
      }),
    );
    const left = new Map<string, { access: Access; known: Ranks }>();
    for (const entries of this.pending.values())
      for (const { access, group } of entries.values()) {
        // A packet is read in the launch that wrote it, so whoever comes after the load comes after the store.
        if (!kept.has(access.buffer) || (access.writes && this.isPacket(access.buffer))) continue;
        // Another launch may have other dimensions, so that its parts and its blocks compare with none of this one's.
        const name = `${access.place} ${access.writes ? "w" : "r"} ${access.rank}`;
        const twin = left.get(name);
        const whole = twin?.access ?? accessOf({ ...access, part: null, position: null, isEarlier: true });
        left.set(name, { access: whole, known: known.get(this.whole(group))! & (twin?.known ?? this.everybody) });
      }
    [this.pending, this.groups, this.parts, this.live] = [new Map(), [], [], []];
    const groups = new Map<string, number>();
    for (const { access, known: both } of left.values()) {
      const { rank } = access;
      const name = `${rank} ${both}`;
      let group = groups.get(name);
      if (group === undefined)
        groups.set(name, (group = this.newGroup({ rank, near: both, far: both, before: both, underWay: null })));
      this.put(access, group);
    }
    this.update((g) => g);
    if (this.hasOpenNotifies) this.giveUpMatching();
  }

  /** What comes before all that any rank does next is forgotten. */
  private update(change: (group: Group, number: number) => Group): void {
    // What a notify knew is named by numbers of groups, which tell groups that are known alike apart.
    const alike = this.hasOpenNotifies || this.keepsNumbers ? null : new Map<string, number>();
    let areSomeForgotten = false;
    this.live = this.live.filter((number) => {
      const group = this.groups[number]!;
      // No rank has seen the end of what is under way.
      if (group.underWay !== null) return true;
      const next = change(group, number);
      const isForgotten = next.far === this.everybody;
      this.groups[number] = isForgotten ? null : next;
      areSomeForgotten ||= isForgotten;
      if (isForgotten || alike === null) return !isForgotten;
      const name = `${next.rank} ${next.near} ${next.far} ${next.before}`;
      const first = alike.get(name);
      if (first === undefined) alike.set(name, number);
      else this.parts[number] = first;
      return first === undefined;
    });
    if (!areSomeForgotten) return;
    for (const entries of this.pending.values())
      for (const [key, { group }] of entries) if (this.known(group) === null) entries.delete(key);
  }
}

/** Of one number's blocks, and of all; null where nothing is needed. */
type Needs = readonly [ofBlock: Scope | null, ofGrid: Scope | null];
type Scope = "block" | "grid";
