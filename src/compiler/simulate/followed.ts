/**
 * Which ranks of a schedule a player follows on a cluster, and what each of their phases is there: what moves inside a domain and what
 * goes to others, and whom a phase is waited for by, in which way.
 */
import type { Cluster } from "../machine/cluster.js";
import { domainOf } from "../machine/reach.js";
import { AnyOrder, type Flows, InOrder, type Lists } from "./flows.js";
import { isPossible, type Likeness, moved, movedBack } from "./likeness.js";
import type { Schedule } from "./schedule.js";

/**
 * A schedule as it is played. A step is a phase of a rank, and has the number phase × unit + rank. Ranks a whole number of units
 * further do the same among ranks that are moved as far (`likeness.ts`), and all ranks here are as the first of those names them.
 */
export interface Followed {
  readonly world: number;
  readonly likeness: Likeness;
  /** Ranks whose events are followed; all others are like them. */
  readonly followed: number;
  /** Steps of the first so many ranks; others have those of the rank so many before. */
  readonly unit: number;
  /** Phases of each rank. */
  readonly count: number;
  readonly nearLoads: Flows;
  readonly nearStores: Flows;
  /** Puts to other domains, and whether the rank there waits for the signal behind each. */
  readonly puts: Flows;
  readonly isAwaited: Uint8Array;
  /** Loads from other domains, which their owners put on the way as they end the phase before. */
  readonly farLoads: Int32Array;
  /** What others load from here in the phase after. */
  readonly pulls: Flows;
  /** By rank: what others load from it before anybody has waited for anything. */
  readonly firstPulls: Flows;
  /** Ranks of this domain that wait for the end of a step, and ranks of others to which nothing is put. */
  readonly near: Lists;
  readonly words: Lists;
  /** How many are waited for before a step: of this domain, of others without bytes, and of others with a put. */
  readonly nearAwaits: Int32Array;
  readonly wordAwaits: Int32Array;
  readonly putAwaits: Int32Array;
  /** All blocks of a rank wait for all blocks. */
  readonly isGrid: Uint8Array;
  /** Bytes loaded from and stored to the rank's own memory, and arithmetic on elements. */
  readonly ownLoaded: Float64Array;
  readonly ownStored: Float64Array;
  readonly scalarOps: Float64Array;
}

/** Ranks to follow so that all others are like them: a pod's, where the program and the switches repeat; else all. */
function ranksToFollow({ world, period, likeness }: Schedule, { ranksPerDomain, domainsPerPod }: Cluster): number {
  const pod = ranksPerDomain * domainsPerPod;
  for (const unit of world <= pod ? [ranksPerDomain, world] : [pod, world])
    if (world % unit === 0 && unit % period === 0 && isPossible(likeness, world, unit)) return unit;
  return world;
}

/** Sorts what a schedule says of ranks by where it goes on the cluster, and by who does something for it. */
export function followedOf(schedule: Schedule, cluster: Cluster): Followed {
  const { world, period, likeness, ranks } = schedule;
  const { ranksPerDomain } = cluster;
  const followed = ranksToFollow(schedule, cluster);
  const count = ranks[0]!.length;
  const isEven = world % ranksPerDomain === 0 && ranksPerDomain % period === 0 && isPossible(likeness, world, ranksPerDomain); // prettier-ignore
  const unit = isEven ? Math.min(ranksPerDomain, followed) : followed;
  const steps = unit * count;
  const domains = Int32Array.from({ length: world }, (_, rank) => domainOf(rank, cluster));
  const nearLoads = new InOrder();
  const nearStores = new InOrder();
  const puts = new InOrder();
  const [pulls, near, words] = [new AnyOrder(steps), new AnyOrder(steps), new AnyOrder(steps)];
  const firstPulls = new AnyOrder(unit);
  const integers = (): Int32Array => new Int32Array(steps);
  const numbers = (): Float64Array => new Float64Array(steps);
  const [farLoads, nearAwaits, wordAwaits, putAwaits] = [integers(), integers(), integers(), integers()];
  const [ownLoaded, ownStored, scalarOps, isGrid] = [numbers(), numbers(), numbers(), new Uint8Array(steps)];
  /** To whom each step of a phase puts, and which of these wait for it; those of the phase before are asked for. */
  let putTo: (Set<number> | null)[] = [];
  const awaited = new Set<number>();
  for (let i = 0; i < count; i++) {
    const before = putTo;
    putTo = new Array<Set<number> | null>(unit).fill(null);
    for (let rank = 0; rank < unit; rank++) {
      const step = i * unit + rank;
      const phase = ranks[rank % period]![i]!;
      const { loads, stores, awaits } = phase;
      /** What rank `rank` has of what the first rank that does the same has. */
      const by = rank - (rank % period);
      [ownLoaded[step], ownStored[step]] = [phase.ownLoaded, phase.ownStored];
      [scalarOps[step], isGrid[step]] = [phase.scalarOps, +phase.isGrid];
      const sources = loads.ranks.length === 0 ? null : new Set<number>();
      for (let k = 0; k < loads.ranks.length; k++) {
        const p = moved(loads.ranks[k]!, by, world, likeness);
        if (domains[p] === domains[rank]) {
          nearLoads.add(p, loads.bytes[k]!);
          continue;
        }
        sources!.add(p);
        farLoads[step]!++;
        const home = p % unit;
        const reader = movedBack(rank, p - home, world, likeness);
        if (i === 0) firstPulls.add(home, reader, loads.bytes[k]!);
        else pulls.add(step - unit - rank + home, reader, loads.bytes[k]!);
      }
      for (let k = 0; k < stores.ranks.length; k++) {
        const p = moved(stores.ranks[k]!, by, world, likeness);
        if (domains[p] === domains[rank]) nearStores.add(p, stores.bytes[k]!);
        else {
          puts.add(p, stores.bytes[k]!);
          (putTo[rank] ??= new Set()).add(p);
        }
      }
      nearLoads.next();
      nearStores.next();
      puts.next();
      if (i === 0) continue;
      for (let k = 0; k < awaits.length; k++) {
        const p = moved(awaits[k]!, by, world, likeness);
        const home = p % unit;
        const waiter = movedBack(rank, p - home, world, likeness);
        const told = step - unit - rank + home;
        if (domains[p] === domains[rank]) {
          nearAwaits[step]!++;
          near.add(told, waiter);
        } else if (before[home]?.has(waiter) === true) {
          putAwaits[step]!++;
          awaited.add(told * world + waiter);
        } else if (sources?.has(p) !== true) {
          wordAwaits[step]!++;
          words.add(told, waiter);
        }
      }
    }
  }
  // Owners begin with different readers, as readers would with different owners.
  const turned = (step: number, rank: number): number => (rank - (step % unit) + world) % world;
  const put = puts.lists();
  const isAwaited = new Uint8Array(put.ranks.length);
  for (let step = 0; awaited.size > 0 && step < steps; step++)
    for (let k = put.at[step]!; k < put.at[step + 1]!; k++) isAwaited[k] = +awaited.has(step * world + put.ranks[k]!);
  return {
    ...{ world, likeness, followed, unit, count },
    ...{ nearLoads: nearLoads.lists(), nearStores: nearStores.lists(), puts: put, isAwaited },
    ...{ farLoads, pulls: pulls.lists(turned), firstPulls: firstPulls.lists(turned) },
    ...{ near: near.lists(), words: words.lists(), nearAwaits, wordAwaits, putAwaits },
    ...{ isGrid, ownLoaded, ownStored, scalarOps },
  };
}
