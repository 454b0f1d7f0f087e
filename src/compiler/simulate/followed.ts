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

interface Entry {
  readonly rank: number;
  readonly bytes: number;
}

/** What others do for a rank's phase; null where nobody does, as in most phases of thousands of ranks. */
interface OpenStep {
  pulls: Entry[] | null;
  near: number[] | null;
  words: number[] | null;
  awaited: Set<number> | null;
}

const NOBODY = new Int32Array(0);
const NO_FLOW: Flow = { ranks: NOBODY, bytes: new Float64Array(0) };

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

/** A part of a flow: the ranks that belong to it. Itself where all do, as with most phases of thousands of ranks. */
function partOf(flow: Flow, isIn: (rank: number) => boolean): Flow {
  const { ranks, bytes } = flow;
  const kept = [...ranks.keys()].filter((k) => isIn(ranks[k]!));
  if (kept.length === ranks.length) return flow;
  if (kept.length === 0) return NO_FLOW;
  return { ranks: Int32Array.from(kept, (k) => ranks[k]!), bytes: Float64Array.from(kept, (k) => bytes[k]!) };
}

/** Sorts what a schedule says of ranks by where it goes on the cluster, and by who does something for it. */
export function followedOf(schedule: Schedule, cluster: Cluster): Followed {
  const { world, period, ranks } = schedule;
  const { ranksPerDomain } = cluster;
  const followed = ranksToFollow(schedule, cluster);
  const count = ranks[0]!.length;
  const isEven = world % ranksPerDomain === 0 && ranksPerDomain % period === 0;
  const unit = isEven ? Math.min(ranksPerDomain, followed) : followed;
  const all = Array.from({ length: unit }, (_, r) => r);
  /** What rank `rank` has of what the first rank that does the same has. */
  const at = (list: Int32Array, rank: number): Int32Array => {
    const shift = rank - (rank % period);
    return shift === 0 || list.length === 0 ? list : list.map((p) => (p + shift) % world);
  };
  const ofRank = (rank: number): readonly Phase[] => ranks[rank % period]!;
  const flows = all.map((rank) =>
    ofRank(rank).map(({ loads, stores }) => {
      const own = (flow: Flow): Flow => ({ ...flow, ranks: at(flow.ranks, rank) });
      const near = (p: number): boolean => isNear(rank, p, cluster);
      const far = (p: number): boolean => !isNear(rank, p, cluster);
      return {
        nearLoads: partOf(own(loads), near),
        farLoads: partOf(own(loads), far),
        nearStores: partOf(own(stores), near),
        puts: partOf(own(stores), far),
      };
    }),
  );
  const putsOf = flows.map((of) => of.map(({ puts }) => (puts.ranks.length === 0 ? null : new Set(puts.ranks))));
  const open = all.map(() => Array.from({ length: count }, (): OpenStep => ({ pulls: null, near: null, words: null, awaited: null }))); // prettier-ignore
  const firstPulls = all.map((): Entry[] => []);
  const counts = all.map((rank) =>
    ofRank(rank).map((phase, i) => {
      const found = { nearAwaits: 0, wordAwaits: 0, putAwaits: 0 };
      const { farLoads } = flows[rank]![i]!;
      farLoads.ranks.forEach((p, k) => {
        const home = p % unit;
        const reader = { rank: (rank + home - p + world) % world, bytes: farLoads.bytes[k]! };
        (i === 0 ? firstPulls[home]! : (open[home]![i - 1]!.pulls ??= [])).push(reader);
      });
      if (i === 0) return found;
      const sources = new Set(farLoads.ranks);
      for (const p of at(phase.awaits, rank)) {
        const home = p % unit;
        const waiter = (rank + home - p + world) % world;
        const step = open[home]![i - 1]!;
        if (isNear(rank, p, cluster)) {
          found.nearAwaits++;
          (step.near ??= []).push(waiter);
        } else if (putsOf[home]![i - 1]?.has(waiter) === true) {
          found.putAwaits++;
          (step.awaited ??= new Set()).add(waiter);
        } else if (!sources.has(p)) {
          found.wordAwaits++;
          (step.words ??= []).push(waiter);
        }
      }
      return found;
    }),
  );
  // Owners begin with different readers, as readers would with different owners.
  const turned = (list: Entry[] | null, rank: number): Flow => {
    if (list === null || list.length === 0) return NO_FLOW;
    list.sort((a, b) => ((a.rank - rank + world) % world) - ((b.rank - rank + world) % world));
    return { ranks: Int32Array.from(list, (e) => e.rank), bytes: Float64Array.from(list, (e) => e.bytes) };
  };
  const listOf = (list: number[] | null): Int32Array => (list === null ? NOBODY : Int32Array.from(list));
  const steps = all.map((rank) =>
    ofRank(rank).map((phase, i): Step => {
      const { pulls, near, words, awaited } = open[rank]![i]!;
      const { farLoads, ...flow } = flows[rank]![i]!;
      return {
        phase,
        ...flow,
        farLoads: farLoads.ranks.length,
        isAwaited: Uint8Array.from(flow.puts.ranks, (p) => +(awaited?.has(p) === true)),
        pulls: turned(pulls, rank),
        near: listOf(near),
        words: listOf(words),
        ...counts[rank]![i]!,
      };
    }),
  );
  return { followed, unit, steps, firstPulls: firstPulls.map(turned) };
}
