/** Sets of ranks, as bit masks. */
import type { RankPairs } from "../../ir/rank-pairs.js";

export type Ranks = bigint;

const BITS: Ranks[] = [];

export function bit(rank: number): Ranks {
  return (BITS[rank] ??= 1n << BigInt(rank));
}

const knownTargets = new WeakMap<RankPairs, readonly Ranks[]>();

/** Whom each rank tells. A plan is followed many times, and its pairs stay as they are. */
export function targetsOf(pairs: RankPairs): readonly Ranks[] {
  let masks = knownTargets.get(pairs);
  if (masks === undefined) {
    const all = Array.from({ length: pairs.world }, () => 0n);
    for (const [from, to] of pairs.list()) all[from]! |= bit(to);
    knownTargets.set(pairs, (masks = all));
  }
  return masks;
}
