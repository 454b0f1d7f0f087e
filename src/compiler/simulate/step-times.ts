/** What a step takes whatever its bytes and its peers, for plays and for bounds. */
import type { Cluster } from "../machine/cluster.js";
import type { Flows, Lists } from "./flows.js";
import type { Followed } from "./followed.js";

/** Of each step. */
export interface StepTimes {
  /** Seconds until the first bytes are there. */
  readonly first: Float64Array;
  /** Seconds from its end until others can be told of it. */
  readonly drain: Float64Array;
  /** Seconds from the last flag of its kind until it begins: ranks of the domain are looked at one after the other, others in rounds. */
  readonly near: Float64Array;
  readonly words: Float64Array;
}

/** The times of all steps on a cluster. */
export function stepTimes(follow: Followed, cluster: Cluster): StepTimes {
  const { nearLoads, nearStores, ownLoaded, ownStored, nearAwaits, wordAwaits } = follow;
  const { ownLoad, peerLoad, drain, ownDrain, flagRank } = cluster.machine;
  const has = ({ at }: Lists, step: number): boolean => at[step + 1]! > at[step]!;
  return {
    first: ownLoaded.map((bytes, step) => Math.max(bytes > 0 ? ownLoad.value : 0, has(nearLoads, step) ? peerLoad.value : 0)), // prettier-ignore
    drain: ownStored.map((bytes, step) => (has(nearStores, step) ? drain.value : bytes > 0 ? ownDrain.value : 0)),
    near: Float64Array.from(nearAwaits, (n) => flagRank.value * Math.max(0, n - 1)),
    words: Float64Array.from(wordAwaits, (n) => (n === 0 ? 0 : wordTime(n, cluster))),
  };
}

/** Bytes of all that each step has in a flow. */
export function bytesOf({ at, bytes }: Flows): Float64Array {
  const sums = new Float64Array(at.length - 1);
  for (let step = 0; step < sums.length; step++)
    for (let k = at[step]!; k < at[step + 1]!; k++) sums[step]! += bytes[k]!;
  return sums;
}

/**
 * Until signals of so many ranks of other domains are seen, from the last one's start on. A rank that waits for so many tells as
 * many: one after the other, or, where that is faster, in as many rounds as it takes to double who knows.
 */
function wordTime(ranks: number, { latency, switchLatency, messageTime }: Cluster): number {
  const once = latency.value + 2 * switchLatency.value;
  return Math.min(once + (ranks - 1) * messageTime.value, once * Math.ceil(Math.log2(ranks + 1)));
}
