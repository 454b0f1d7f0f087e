/**
 * Waits that come before their signals where ranks are followed in step: a rank that hands on what it gets waits above the line that
 * signals the next one. While such a wait is open, its rank may stand there, so whoever waits for that rank below may wait in a circle.
 */
import type { RankPairs } from "../../ir/rank-pairs.js";

/** Of one pair of ranks, the first of which signals the second. */
export interface Word {
  readonly from: number;
  readonly to: number;
}

/** How many signals of each pair are ahead of their waits, or waits ahead of their signals, at one point of a launch. */
export class EarlyWaits {
  /** Of each rank that waits, by the rank it waits for: signals less waits. */
  private counts = new Map<number, Map<number, number>>();

  /** Whether a wait has come whose signal has not. */
  get areOpen(): boolean {
    return [...this.counts.keys()].some((to) => this.awaitedBy(to).length > 0);
  }

  /**
   * Whether ranks that meet here would wait in a circle. A rank comes here when those that it waits for have signalled, which they do below: when they
   * have heard of the ranks that tell them something here.
   */
  areCircleWith(pairs: RankPairs): boolean {
    const done = new Set<number>();
    const onTheWay = new Set<number>();
    const leadsBack = (rank: number): boolean => {
      if (onTheWay.has(rank)) return true;
      if (done.has(rank)) return false;
      onTheWay.add(rank);
      const tellers = this.awaitedBy(rank).flatMap((from) => tellersOf(pairs, from));
      const found = tellers.some(leadsBack);
      onTheWay.delete(rank);
      done.add(rank);
      return found;
    };
    return [...this.counts.keys()].some(leadsBack);
  }

  private awaitedBy(to: number): number[] {
    return [...(this.counts.get(to) ?? [])].filter(([, count]) => count < 0).map(([from]) => from);
  }

  clear(): void {
    this.counts.clear();
  }

  copy(): EarlyWaits {
    const copy = new EarlyWaits();
    for (const [to, counts] of this.counts) copy.counts.set(to, new Map(counts));
    return copy;
  }

  /** Of two ways, on each pair the one with more open waits. */
  merge(other: EarlyWaits): void {
    const all = [this, other].flatMap(({ counts }) => [...counts].flatMap(([to, of]) => [...of.keys()].map((from) => ({ from, to })))); // prettier-ignore
    for (const word of all) this.set(word, Math.min(this.count(word), other.count(word)));
  }

  signal(word: Word): void {
    this.add(word, 1);
  }

  wait(word: Word): void {
    this.add(word, -1);
  }

  private add(word: Word, more: number): void {
    this.set(word, this.count(word) + more);
  }

  private count({ from, to }: Word): number {
    return this.counts.get(to)?.get(from) ?? 0;
  }

  private set({ from, to }: Word, count: number): void {
    const counts = this.counts.get(to) ?? new Map<number, number>();
    this.counts.set(to, counts.set(from, count));
  }
}

/** The ranks that tell one something, itself apart. */
function tellersOf(pairs: RankPairs, to: number): number[] {
  return Array.from({ length: pairs.world }, (_, from) => from).filter((from) => from !== to && pairs.has(from, to));
}
