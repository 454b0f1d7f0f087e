/**
 * Ranks that are behind the others where a kernel is followed in step: a rank that hands on what it gets waits above the line that signals the
 * next one, so it stands there until another has come further down. Ranks come to one stop after the other; of those that can go on,
 * the one that is furthest behind goes first, so that ranks are as nearly in step as their waits let them.
 */

/** A step of the ranks' way through a launch, for one rank: a rank that has to stay, and has done nothing, comes to it again. */
export type Stop = (rank: number) => unknown;

export class Laggards {
  /** The stops from the one on at which the last rank stands. */
  private stops: Stop[] = [];
  /** Of each rank that is behind, the number of the stop at which it stands. */
  private readonly places = new Map<number, number>();

  constructor(private readonly ranks: readonly number[]) {}

  /** Whether some rank is behind. */
  get areThere(): boolean {
    return this.places.size > 0;
  }

  /** All that are not behind come to a stop, and everybody goes on as far as possible. */
  come(stop: Stop): void {
    const here = this.stops.push(stop) - 1;
    for (const rank of this.ranks) if (!this.places.has(rank)) this.places.set(rank, here);
    this.advance();
  }

  /** Everybody goes on as far as possible. */
  advance(): void {
    while (this.moveOne());
    if (!this.areThere) this.stops = [];
  }

  clear(): void {
    this.stops = [];
    this.places.clear();
  }

  private moveOne(): boolean {
    const behind = [...this.places].sort(([a, at], [b, bt]) => at - bt || a - b);
    const found = behind.find(([rank, at]) => this.stops[at]!(rank) !== "stays");
    if (found === undefined) return false;
    const [rank, at] = found;
    if (at + 1 === this.stops.length) this.places.delete(rank);
    else this.places.set(rank, at + 1);
    return true;
  }
}
