/**
 * Which ranks of a schedule a player follows on a cluster, and what each of their phases is there: what moves inside a domain and what
 * goes to others, and whom a phase is waited for by, in which way.
 */
import type { Cluster } from "../machine/cluster.js";
import { isNear } from "../machine/reach.js";
import type { Phase, Schedule } from "./schedule.js";

/** Bytes, by rank. */
export interface Flow {
  readonly ranks: Int32Array;
  readonly bytes: Float64Array;
}

/**
 * A rank's phase as it is played. Ranks a whole number of domains further on do the same among ranks as far on, and all ranks here
 * are as the first of those names them.
 */
export interface Step {
  readonly phase: Phase;
  readonly nearLoads: Flow;
  readonly nearStores: Flow;
  /** Puts to other domains, and whether the rank there waits for the signal behind each. */
  readonly puts: Flow;
  readonly isAwaited: Uint8Array;
  /** Loads from other domains, which their owners put on the way as they end the phase before. */
  readonly farLoads: number;
  /** What others load from here in the phase after. */
  readonly pulls: Flow;
  /** Ranks of this domain that wait for the end of this phase, and ranks of others to which nothing is put. */
  readonly near: Int32Array;
  readonly words: Int32Array;
  /** How many are waited for before it: of this domain, of others without bytes, and of others with a put. */
  readonly nearAwaits: number;
  readonly wordAwaits: number;
  readonly putAwaits: number;
}

interface OpenStep {
  readonly pulls: { rank: number; bytes: number }[];
  readonly near: number[];
  readonly words: number[];
  readonly awaited: Set<number>;
}

const flowOf = (entries: readonly { rank: number; bytes: number }[]): Flow => ({
  ranks: Int32Array.from(entries, (e) => e.rank),
  bytes: Float64Array.from(entries, (e) => e.bytes),
});

/** A schedule as it is played. */
export interface Followed {
  /** Ranks whose events are followed; all others are like them. */
  readonly followed: number;
  /** Steps of the first so many ranks; others have those of the rank so many before. */
  readonly unit: number;
  readonly steps: readonly (readonly Step[])[];
  /** By rank: what others load from it before anybody has waited for anything. */
  readonly firstPulls: readonly Flow[];
}

/** Ranks to follow so that all others are like them: a pod's, where the program and the switches repeat; else all. */
function ranksToFollow({ world, period }: Schedule, { ranksPerDomain, domainsPerPod }: Cluster): number {
  const pod = ranksPerDomain * domainsPerPod;
  for (const unit of world <= pod ? [ranksPerDomain, world] : [pod, world])
    if (world % unit === 0 && unit % period === 0) return unit;
  return world;
}

/** What rank `from + shift` does, of what rank `from` does. */
function shifted(ranks: Int32Array, shift: number, world: number): Int32Array {
  return shift === 0 ? ranks : ranks.map((p) => (p + shift) % world);
}

/** Sorts what a schedule says of ranks by where it goes on the cluster, and by who does something for it. */
export function followedOf(schedule: Schedule, cluster: Cluster): Followed {
  const { world, period, ranks } = schedule;
  const { ranksPerDomain } = cluster;
  const followed = ranksToFollow(schedule, cluster);
  const count = ranks[0]!.length;
  const isEven = world % ranksPerDomain === 0 && ranksPerDomain % period === 0;
  const unit = isEven ? Math.min(ranksPerDomain, followed) : followed;
  const isFar = (a: number, b: number): boolean => !isNear(a, b, cluster);
  const all = Array.from({ length: unit }, (_, r) => r);
  const newStep = (): OpenStep => ({ pulls: [], near: [], words: [], awaited: new Set() });
  const open = all.map(() => Array.from({ length: count }, newStep));
  const firstPulls = all.map((): { rank: number; bytes: number }[] => []);
  const ofRank = (rank: number): readonly Phase[] => ranks[rank % period]!;
  const entries = (rank: number, peers: Flow): { rank: number; bytes: number }[] => {
    const list = shifted(peers.ranks, rank - (rank % period), world);
    return [...list].map((p, k) => ({ rank: p, bytes: peers.bytes[k]! }));
  };
  const putsOf = all.map((rank) => ofRank(rank).map((p) => new Set(entries(rank, p.stores).map((e) => e.rank).filter((q) => isFar(rank, q))))); // prettier-ignore
  const counts = all.map((rank) =>
    ofRank(rank).map((phase, i) => {
      const found = { nearAwaits: 0, wordAwaits: 0, putAwaits: 0, farLoads: 0 };
      const sources = new Set<number>();
      for (const { rank: p, bytes } of entries(rank, phase.loads)) {
        if (!isFar(rank, p)) continue;
        sources.add(p);
        found.farLoads++;
        const home = p % unit;
        const reader = { rank: (rank + home - p + world) % world, bytes };
        (i === 0 ? firstPulls[home]! : open[home]![i - 1]!.pulls).push(reader);
      }
      if (i === 0) return found;
      for (const p of shifted(phase.awaits, rank - (rank % period), world)) {
        const home = p % unit;
        const waiter = (rank + home - p + world) % world;
        const step = open[home]![i - 1]!;
        if (!isFar(rank, p)) {
          found.nearAwaits++;
          step.near.push(waiter);
        } else if (putsOf[home]![i - 1]!.has(waiter)) {
          found.putAwaits++;
          step.awaited.add(waiter);
        } else if (!sources.has(p)) {
          found.wordAwaits++;
          step.words.push(waiter);
        }
      }
      return found;
    }),
  );
  // Owners begin with different readers, as readers would with different owners.
  const turned = (list: { rank: number; bytes: number }[], rank: number): Flow =>
    flowOf(list.sort((a, b) => ((a.rank - rank + world) % world) - ((b.rank - rank + world) % world)));
  const steps = all.map((rank) =>
    ofRank(rank).map((phase, i): Step => {
      const { pulls, near, words, awaited } = open[rank]![i]!;
      const stores = entries(rank, phase.stores);
      const puts = flowOf(stores.filter((e) => isFar(rank, e.rank)));
      return {
        phase,
        nearLoads: flowOf(entries(rank, phase.loads).filter((e) => !isFar(rank, e.rank))),
        nearStores: flowOf(stores.filter((e) => !isFar(rank, e.rank))),
        puts,
        isAwaited: Uint8Array.from(puts.ranks, (p) => +awaited.has(p)),
        pulls: turned(pulls, rank),
        near: Int32Array.from(near),
        words: Int32Array.from(words),
        ...counts[rank]![i]!,
      };
    }),
  );
  return { followed, unit, steps, firstPulls: firstPulls.map(turned) };
}
