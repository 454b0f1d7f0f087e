/** What a rank's movers send while its product goes on, as stretches of work. */
import { type OpenStretch, type Stretch } from "./stretches.js";
import { add, later, NONE } from "./trips.js";

/** A producer's waits for rows of other ranks, as far as its tiles are looked at. */
export class AwaitedRows {
  /** Waits so far. */
  waits = 0;
  /** Times that the tile at hand waits: parts that its rows come in. */
  parts = 0;
  /** The part of a block's tiles that come before the first one that waits, and of all that is sent what that waits for; null if none waits. */
  private first: { readonly before: number; readonly comes: number } | null = null;
  /** Whether, in a launch of one round, some blocks have tiles of this rank's own. */
  private isSplit = false;

  /** @param grid blocks of the launch @param others ranks whose rows come */
  constructor(
    private readonly grid: number,
    private readonly others: number,
  ) {}

  /** A tile, or several that are alike, of which this is the first. @param before waits that there were before it @param tiles all there are */
  tile(number: number, tiles: number, before: number): void {
    const parts = Math.max(1, this.parts);
    this.parts = 0;
    const isOneRound = tiles <= this.grid;
    if (this.waits === before) {
      this.isSplit ||= isOneRound;
      return;
    }
    const part = Math.floor(number / this.grid) / Math.ceil(tiles / this.grid);
    if (this.first !== null && part >= this.first.before) return;
    // Blocks of one round wait for the same part of all ranks, others for one rank after the other.
    const ranks = isOneRound ? this.others : (this.waits - before) / parts;
    this.first = { before: part, comes: Math.min(1, ranks / Math.max(1, this.others)) / parts };
  }

  /**
   * What is sent travels while others multiply, as far as these need nothing of it: then ranks meet. From the first tile on that waits,
   * what has not come arrives while what is left is multiplied.
   * @param rank whose stretches they are
   * @returns one stretch where nobody waits, else what comes before ranks meet, and after
   */
  stretches(moved: Stretch, product: Stretch, rank: number): readonly [OpenStretch, OpenStretch?] {
    if (this.first === null) return [together(moved, 1, product, 1)];
    const { before, comes } = this.first;
    const first = together(moved, comes, product, before);
    // Blocks of one round load what they share at two times: those with tiles of this rank's own first.
    if (before === 0 && this.isSplit) first.loaded[rank]! += product.loaded[rank]!;
    return [first, together(moved, 1 - comes, product, 1 - before)];
  }
}

/** Parts of two stretches that are done at the same time; of what is on both paths, the longer one. */
function together(a: Stretch, partOfA: number, b: Stretch, partOfB: number): OpenStretch {
  const sum = (x = 0, y = 0): number => x * partOfA + y * partOfB;
  const sums = (x: readonly number[], y: readonly number[]): number[] => x.map((n, i) => sum(n, y[i]));
  return {
    loaded: sums(a.loaded, b.loaded),
    stored: sums(a.stored, b.stored),
    tiles: { all: sum(a.tiles?.all, b.tiles?.all), loaded: sum(a.tiles?.loaded, b.tiles?.loaded) },
    apart: sum(a.apart, b.apart),
    sent: sum(a.sent, b.sent),
    scalarOps: sum(a.scalarOps, b.scalarOps),
    tensorOps: sum(a.tensorOps, b.tensorOps),
    accumulatorOps: sum(a.accumulatorOps, b.accumulatorOps),
    rounds: Math.max(a.rounds ?? 0, b.rounds ?? 0),
    completes: a.completes === true || b.completes === true,
    trips: later(add(NONE, a.trips, partOfA), add(NONE, b.trips, partOfB)),
  };
}
