/**
 * What the ranks of a compiled program do, as a simulator plays it: phases, who sends how many bytes to whom in each, and whom a
 * rank waits for before it.
 *
 * Phases and traffic are counted on the program's own IR at its world size, before derive-sync, which takes hours for thousands of
 * ranks. Where ranks wait, and for whom, is derive-sync's at smaller worlds: each place is described by the traffic around it, such
 * as "for those who stored here in the phase before", so that the same description holds at any size. Worlds that are compiled
 * themselves need no description. Bytes are those of a tensor that every cut divides evenly, and grow with its size.
 */
import type { Kernel, Op, Value } from "../ir/module.js";
import { walk, walkKernel } from "../ir/visit.js";
import { type Move, type RankTraffic, trafficOfRank } from "../explain/traffic.js";
import { UsageError } from "../../errors.js";
import { dependents } from "../passes/support/analysis.js";
import { distributeConditions } from "../passes/support/rank-conditions.js";
import { DTYPES } from "../types/dtype.js";
import { elementsOf } from "../types/extent.js";
import { isPossible, type Likeness, moved, movedBack } from "./likeness.js";
import { END, evenDims, joined, keyOf, partsAt, type Place, placesOf, unevenRanks } from "./places.js";

/** Bytes to or from other ranks, in the order of their numbers from this rank's on. */
export interface Peers {
  readonly ranks: Int32Array;
  readonly bytes: Float64Array;
}

/** What a rank does between two points of synchronisation. */
export interface Phase {
  /** Whom it waits for before it. */
  readonly awaits: Int32Array;
  /** All blocks wait for all blocks, and not each for its namesakes. */
  readonly isGrid: boolean;
  readonly loads: Peers;
  readonly stores: Peers;
  /** Bytes loaded from and stored to the rank's own memory. */
  readonly ownLoaded: number;
  readonly ownStored: number;
  readonly scalarOps: number;
}

export interface Schedule {
  readonly world: number;
  /** Bytes of the largest tensor that a rank has, for which the phases are counted: what nccl-tests call the size. */
  readonly bytes: number;
  /** Rank r does what rank r mod period does, among ranks that are moved as far; the world where ranks are not alike. */
  readonly period: number;
  readonly likeness: Likeness;
  /** Phases of ranks 0 to period - 1. */
  readonly ranks: readonly (readonly Phase[])[];
  /** World sizes whose synchronisation was derived, and verified, by the compiler. */
  readonly derivedAt: readonly number[];
  /** Ranks that were counted. */
  readonly counted: number;
}

const NOBODY = new Int32Array(0);
/** Most phases of thousands of ranks have no peers: they share these. */
const NO_PEERS: Peers = { ranks: NOBODY, bytes: new Float64Array(0) };

function peersOf(moves: readonly Move[], kind: Move["kind"], rank: number, world: number): Peers {
  const bytes = new Map<number, number>();
  for (const move of moves)
    if (move.kind === kind)
      for (const [owner, n] of move.bytesAt) if (owner !== rank) bytes.set(owner, (bytes.get(owner) ?? 0) + n);
  const ranks = [...bytes.keys()].filter((p) => bytes.get(p)! > 0);
  if (ranks.length === 0) return NO_PEERS;
  // As blocks begin with different peers, so does each rank.
  ranks.sort((a, b) => ((a - rank + world) % world) - ((b - rank + world) % world));
  return { ranks: Int32Array.from(ranks), bytes: Float64Array.from(ranks, (p) => bytes.get(p)!) };
}

function ownOf(moves: readonly Move[], kind: Move["kind"], rank: number): number {
  return moves.reduce((sum, m) => sum + (m.kind === kind ? (m.bytesAt.get(rank) ?? 0) : 0), 0);
}

/** A phase before it is known whom its rank waits for, and the op that it begins at. */
interface OpenPhase extends Omit<Phase, "awaits" | "isGrid"> {
  readonly sync: Op | null;
}

/** What is kept of a rank's traffic: that itself takes gigabytes for thousands of ranks. */
function openPhasesOf({ stretches, syncs }: RankTraffic, rank: number, world: number): OpenPhase[] {
  return stretches.map(({ moves, scalarOps }, i) => ({
    sync: syncs[i - 1] ?? null,
    loads: peersOf(moves, "load", rank, world),
    stores: peersOf(moves, "store", rank, world),
    ownLoaded: ownOf(moves, "load", rank),
    ownStored: ownOf(moves, "store", rank),
    scalarOps,
  }));
}

interface ScheduleOptions {
  /** Ranks of a domain, after which ranks may be alike. */
  readonly ranksPerDomain: number;
  /** Called with what goes on, when it takes long. */
  readonly progress?: (done: number, all: number) => void;
}

/**
 * The schedule of a program.
 * @param unordered the kernel at its world size, as it comes to derive-sync
 * @param ordered the kernel of the same program at smaller worlds, or at this one, as derive-sync left it
 * @throws UsageError for programs whose traffic data decides, for those with products of matrices, and for those whose ranks do not
 * synchronise in step
 */
export function scheduleOf(unordered: Kernel, ordered: readonly Kernel[], options: ScheduleOptions): Schedule {
  const { world } = unordered;
  refuseProducts(unordered);
  refuseLengths(unordered);
  const places = ordered.map(placesOf).reduce(joined);
  const { kernel } = distributeConditions(unordered);
  const parts = partsAt(kernel.body, places, new Set());
  // Barriers that the author wrote are places of their own.
  const known = new Set([END, ...[...parts].map(keyOf)]);
  walkKernel(kernel, (op) => void (op.name === "barrier" && known.add(keyOf(op))));
  if ([...places.keys()].some((key) => !known.has(key)))
    throw new UsageError(
      "ranks wait for each other at the end of a loop, which the simulator does not follow",
      "write a 'barrier' there",
    );
  const dims = evenDims(kernel);
  const samples = new Map<number, RankTraffic>();
  const traffic = (rank: number): RankTraffic => {
    const found = samples.get(rank) ?? trafficOfRank(kernel, rank, dims, parts, true);
    if (found.unknown.length > 0)
      throw new UsageError(
        "how much the program moves depends on its data",
        "the simulator needs a program whose traffic its sizes decide",
      );
    return found;
  };
  const { period, likeness } = periodOf(world, options.ranksPerDomain, (rank) => {
    const found = traffic(rank);
    samples.set(rank, found);
    return found;
  });
  const counted = new Set([...samples.keys(), ...Array.from({ length: period }, (_, rank) => rank)]).size;
  if (period === world && world > SPREAD) refuseMany(world, spread(world, SPREAD).map(traffic));
  const reverse = new Reverse(world, period, likeness);
  const open: OpenPhase[][] = [];
  for (let rank = 0; rank < period; rank++) {
    open.push(openPhasesOf(traffic(rank), rank, world));
    samples.delete(rank);
    if (open[rank]!.length !== open[0]!.length) throw unevenRanks();
    reverse.add(rank, open[rank]!);
    options.progress?.(rank + 1, period);
  }
  const end = places.get(END);
  const ranks = open.map((phases, rank): Phase[] => {
    const all = phases.map(({ sync, ...phase }, i): Phase => {
      const place = sync === null ? undefined : (places.get(keyOf(sync)) ?? EVERYBODY);
      const awaits = place === undefined ? NOBODY : reverse.awaits(place, rank, i, phases);
      return { ...phase, awaits, isGrid: place?.isGrid ?? false };
    });
    if (end === undefined) return all;
    const awaits = reverse.awaits(end, rank, phases.length, phases);
    return [...all, { ...NOTHING, awaits, isGrid: end.isGrid }];
  });
  const bytes = Math.max(
    ...[...kernel.inputs, ...kernel.outputs].map((t) => elementsOf(t.localShape, dims) * DTYPES[t.dtype].bytes),
  );
  return { world, bytes, period, likeness, ranks, derivedAt: ordered.map((k) => k.world), counted };
}

/** Traffic grows in proportion to a tensor's size; the work of a product does not. @throws UsageError */
function refuseProducts(kernel: Kernel): void {
  walkKernel(kernel, (op) => {
    if (op.name === "contract")
      throw new UsageError(
        "the program multiplies matrices, which takes time that the simulator does not count",
        "`collc explain` with one number of ranks counts products",
      );
  });
}

/** Phases are counted once, for all sizes. @throws UsageError where a length says how many there are */
function refuseLengths({ body }: Kernel): void {
  const lengths: Value[] = [];
  walk(body, (op) => void (op.name === "dim" && lengths.push(...op.results)));
  const decided = dependents(body, lengths);
  walk(body, (op) => {
    if (op.name !== "for" || op.attributes["map"] !== "serial" || !op.operands.some((v) => decided.has(v))) return;
    let hasPhases = false;
    walk(
      { arguments: [], ops: [op] },
      (inner) => (hasPhases ||= inner.name === "barrier" || inner.attributes["map"] === "tiles"),
    );
    if (hasPhases)
      throw new UsageError(
        "how often ranks go through a loop depends on a length, and the simulator counts phases once for all sizes",
        "`collc explain` with one size follows it",
      );
  });
}

/** Phases, and peers in them, of all ranks together that are followed where no two ranks are alike: more take minutes and gigabytes. */
const MOST_UNLIKE = 2 ** 22;

/** Ranks that are counted first, to find out. */
const SPREAD = 8;

const sizeOf = ({ stretches }: RankTraffic): number =>
  stretches.reduce((sum, { moves }) => sum + 1 + moves.reduce((n, { bytesAt }) => n + bytesAt.size, 0), 0);

/** @param samples of what ranks do; the largest may be that of a root, who is alone with it @throws UsageError */
function refuseMany(world: number, samples: readonly RankTraffic[]): void {
  const sizes = samples.map(sizeOf).sort((a, b) => a - b);
  const all = (world * sizes.slice(0, -1).reduce((a, b) => a + b, 0)) / (sizes.length - 1);
  if (all <= MOST_UNLIKE) return;
  throw new UsageError(
    `no two of ${world} ranks do the same, and all of them have about ${Math.round(all / 1e6)} million phases and messages: more than ${Math.round(MOST_UNLIKE / 1e6)} million are not followed`,
    "choose fewer ranks",
  );
}

/** Barriers that the author wrote. */
const EVERYBODY: Place = { relations: [], isAll: true, isGrid: false };

const NOTHING = { loads: NO_PEERS, stores: NO_PEERS, ownLoaded: 0, ownStored: 0, scalarOps: 0 };

/** Who stored to a rank, and loaded from it, in each phase. */
class Reverse {
  private readonly stored: number[][][];
  private readonly loaded: number[][][];

  constructor(
    private readonly world: number,
    private readonly period: number,
    private readonly likeness: Likeness,
  ) {
    this.stored = Array.from({ length: period }, () => []);
    this.loaded = Array.from({ length: period }, () => []);
  }

  /** Of what rank `rank` does, and all ranks that do the same further on. */
  add(rank: number, phases: readonly OpenPhase[]): void {
    const { period, world, likeness } = this;
    phases.forEach(({ loads, stores }, i) => {
      for (const [lists, { ranks }] of [
        [this.stored, stores],
        [this.loaded, loads],
      ] as const)
        for (const owner of ranks) {
          const home = owner % period;
          (lists[home]![i] ??= []).push(movedBack(rank, owner - home, world, likeness));
        }
    });
  }

  awaits({ relations, isAll }: Place, rank: number, phase: number, phases: readonly OpenPhase[]): Int32Array {
    const { world } = this;
    if (isAll) return Int32Array.from({ length: world - 1 }, (_, k) => (rank + 1 + k) % world);
    const found = new Set<number>();
    const add = (list: Iterable<number> | undefined): void => {
      for (const p of list ?? []) if (p !== rank) found.add(p);
    };
    for (const relation of relations)
      if (relation === "stored") add(this.stored[rank]![phase - 1]);
      else if (relation === "loaded") add(this.loaded[rank]![phase - 1]);
      else if (relation === "storedAnywhere") this.stored[rank]!.forEach(add);
      else if (relation === "loadedAnywhere") this.loaded[rank]!.forEach(add);
      else {
        const kind = relation.startsWith("loads") ? "loads" : "stores";
        for (const own of relation.endsWith("Anywhere") ? phases : phases.slice(phase, phase + 1)) add(own[kind].ranks);
      }
    return found.size === 0 ? NOBODY : Int32Array.from(found);
  }
}

/** Pairs of ranks, one period apart, that are compared to find out whether ranks are alike. */
const COMPARED = 4;

/** So many ranks from all over the world, the last among them. */
function spread(world: number, count: number): number[] {
  return Array.from({ length: count }, (_, k) => Math.floor(((world - 1) * (k + 1)) / count));
}

/** After how many ranks the program repeats itself, and how: one, or a domain's, as samples show; else after all. */
function periodOf(
  world: number,
  ranksPerDomain: number,
  traffic: (rank: number) => RankTraffic,
): { period: number; likeness: Likeness } {
  for (const likeness of ["shift", "flip"] as const)
    for (const period of [1, ranksPerDomain]) {
      if (period >= world || world % period !== 0 || !isPossible(likeness, world, period)) continue;
      const isAsFirst = (rank: number): boolean => {
        const first = rank % period;
        return isAlike(traffic(first), traffic(rank), (p) => moved(p, rank - first, world, likeness));
      };
      if ([...new Set([...spread(world, COMPARED), 1, period])].every(isAsFirst)) return { period, likeness };
    }
  return { period: world, likeness: "shift" };
}

/** @param like the peer of the second rank that is to it what a peer of the first is to that one */
function isAlike(a: RankTraffic, b: RankTraffic, like: (peer: number) => number): boolean {
  if (a.stretches.length !== b.stretches.length) return false;
  return a.stretches.every((stretch, i) => {
    const { moves, scalarOps } = b.stretches[i]!;
    return (
      scalarOps === stretch.scalarOps &&
      moves.length === stretch.moves.length &&
      stretch.moves.every((m) => {
        const other = moves.find((o) => o.buffer === m.buffer && o.kind === m.kind && o.span.start === m.span.start);
        if (other === undefined || other.bytesAt.size !== m.bytesAt.size) return false;
        return [...m.bytesAt].every(([owner, n]) => other.bytesAt.get(like(owner)) === n);
      })
    );
  });
}
