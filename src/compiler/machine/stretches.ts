/** What a rank does in a launch, as the model takes it: stretches of work between meetings. */
import { NONE, type Trips } from "./trips.js";

/** What a rank does between two waits. */
export interface Stretch {
  /** Bytes that all blocks load from, and store to, the memory of each rank, this one's included. */
  readonly loaded: readonly number[];
  readonly stored: readonly number[];
  /** Bytes that all blocks copy of this rank's memory in tiles, and those of them in `loaded`: the second-level cache has the rest. */
  readonly tiles?: { readonly all: number; readonly loaded: number };
  /** Of the bytes of own memory, those of outermost loops that touch no peer's: all blocks are in such a loop at one time, and the wire rests. */
  readonly apart?: number;
  readonly trips: Trips;
  /** Parts of shards that movers send and tell of, one after the other. */
  readonly sent?: number;
  /**
   * Of all blocks: operations on elements, counted as additions, and those of products of tiles, as many as if each block had those of
   * the one that has most.
   */
  readonly scalarOps: number;
  readonly tensorOps: number;
  /** Of the busiest block, times all blocks: elements that consumers load, compute with and store in loops over their accumulators, while nobody multiplies. */
  readonly accumulatorOps?: number;
  /** Tiles that the busiest block multiplies one after the other, where what it stores to peers follows each; 0 for other stores. */
  readonly rounds?: number;
  /** Whether its own tiles come last, and the first of them waits for all that others send. */
  readonly completes?: boolean;
}

/** A stretch that is still counted. */
export interface OpenStretch extends Stretch {
  loaded: number[];
  stored: number[];
  tiles: { all: number; loaded: number };
  apart: number;
  sent: number;
  scalarOps: number;
  tensorOps: number;
  accumulatorOps: number;
  rounds: number;
  completes: boolean;
  trips: Trips;
}

/** One of a launch with so many ranks, in which nothing has happened yet. */
export function openStretch(world: number): OpenStretch {
  const zeros = (): number[] => new Array<number>(world).fill(0);
  return {
    ...{ loaded: zeros(), stored: zeros(), tiles: { all: 0, loaded: 0 }, apart: 0, sent: 0 },
    ...{ scalarOps: 0, tensorOps: 0, accumulatorOps: 0, rounds: 0, completes: false, trips: NONE },
  };
}

/** Where a rank may wait for flags. All ranks come to the same places, so that the stretches between them are of one number. */
export interface Meeting {
  /** Other ranks whose flags are set since the place before, after what was stored to them has arrived. */
  readonly tells: readonly number[];
  /** Other ranks whose flags are waited for; null for the packets of all who sent some. */
  readonly awaits: readonly number[] | null;
  /** Flags of all blocks are waited for, and not of the block's namesakes alone. */
  readonly isGrid: boolean;
  /** The flags say no more than what launches before this one did. */
  readonly isOfLaunches?: boolean;
}

export interface RankWork {
  /** One more than there are meetings. */
  readonly stretches: readonly Stretch[];
  readonly meetings: readonly Meeting[];
  readonly grid: number;
}
