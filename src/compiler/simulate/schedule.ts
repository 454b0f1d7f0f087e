/**
 * What the ranks of a compiled program do, as a simulator plays it: phases, who sends how many bytes to whom in each, and whom a
 * rank waits for before it.
 *
 * Phases and traffic are counted on the program's own IR at its world size, before derive-sync, which takes hours for thousands of
 * ranks. Where ranks wait, and for whom, is derive-sync's at smaller worlds: each place is described by the traffic around it, such
 * as "for those who stored here in the phase before", so that the same description holds at any size. Worlds that are compiled
 * themselves need no description. Bytes are those of a tensor that every cut divides evenly, and grow with its size.
 */
import type { Kernel, Op, Region } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { walkKernel } from "../ir/visit.js";
import { type Move, type RankTraffic, trafficOfRank } from "../explain/traffic.js";
import { UsageError } from "../../errors.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import { distributeConditions } from "../passes/support/rank-conditions.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, elementsOf } from "../types/extent.js";
import { fitDims } from "../types/requirement.js";

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
  /** Rank r does what rank r mod period does, among ranks further on by as many; the world where ranks are not alike. */
  readonly period: number;
  /** Phases of ranks 0 to period - 1. */
  readonly ranks: readonly (readonly Phase[])[];
  /** World sizes whose synchronisation was derived, and verified, by the compiler. */
  readonly derivedAt: readonly number[];
  /** Ranks that were counted. */
  readonly counted: number;
}

/** Elements of what `chunk` cuts at. */
const CUT = 64;

/** Sizes at which every cut is even, into as many parts as there are ranks, or pairs of them: shares are in proportion there. */
function evenDims(kernel: Kernel): DimValues {
  const parts = kernel.dims.length === 1 ? kernel.world ** 2 : kernel.world;
  const dims = Object.fromEntries(kernel.dims.map((name) => [name, CUT * parts]));
  return fitDims(kernel.requirements, dims, new Set(kernel.dims));
}

/** The traffic around a point of synchronisation, from which the ranks can be told that one waits for there. */
const NEAR = ["loads", "stores", "loaded", "stored"] as const;
/** The same at any point of the program: a launch comes after another, and turns of a loop share what is written for it. */
const ANYWHERE = ["loadsAnywhere", "storesAnywhere", "loadedAnywhere", "storedAnywhere"] as const;
const RELATIONS = [...NEAR, ...ANYWHERE] as const;
type Relation = (typeof RELATIONS)[number];

interface Place {
  readonly relations: readonly Relation[];
  /** No description was found: ranks wait for all. */
  readonly isAll: boolean;
  readonly isGrid: boolean;
}

/** What an op is known by at any world size. */
const keyOf = ({ span }: Op): string => `${span.start}:${span.end}`;
const END = "end";

interface Traffic {
  readonly ranks: readonly RankTraffic[];
  /** Ranks that rank r loads from, and stores to, in each stretch; and who loads from it and stores to it. */
  readonly relation: (relation: Relation, rank: number, stretch: number) => ReadonlySet<number>;
}

function peersIn(stretch: { readonly moves: readonly Move[] }, kind: Move["kind"]): number[] {
  return stretch.moves.flatMap((m) => (m.kind === kind ? [...m.bytesAt.keys()] : []));
}

/** Who has to do with whom, of all ranks. */
function trafficOf(kernel: Kernel, dims: DimValues, parts?: ReadonlySet<Op>): Traffic {
  const ranks = Array.from({ length: kernel.world }, (_, r) => trafficOfRank(kernel, r, dims, parts));
  const count = ranks[0]!.stretches.length;
  if (ranks.some((r) => r.stretches.length !== count)) throw unevenRanks();
  const sets = (): Set<number>[][] => ranks.map(() => Array.from({ length: count }, () => new Set<number>()));
  const known = { loads: sets(), stores: sets(), loaded: sets(), stored: sets() };
  ranks.forEach(({ stretches }, rank) =>
    stretches.forEach((stretch, i) => {
      for (const peer of peersIn(stretch, "load")) {
        known.loads[rank]![i]!.add(peer);
        known.loaded[peer]![i]!.add(rank);
      }
      for (const peer of peersIn(stretch, "store")) {
        known.stores[rank]![i]!.add(peer);
        known.stored[peer]![i]!.add(rank);
      }
    }),
  );
  const anywhere = ANYWHERE.map((_, k) => known[NEAR[k]!].map((own) => new Set(own.flatMap((s) => [...s]))));
  return {
    ranks,
    relation: (relation, rank, stretch) => {
      const k = (ANYWHERE as readonly string[]).indexOf(relation);
      return k >= 0 ? anywhere[k]![rank]! : (known[relation as (typeof NEAR)[number]][rank]![stretch] ?? NONE);
    },
  };
}

const NONE: ReadonlySet<number> = new Set();

function unevenRanks(): UsageError {
  return new UsageError(
    "ranks come to different numbers of points of synchronisation",
    "the simulator follows programs whose ranks synchronise in step",
  );
}

/** Whether a relation is with the phase before a point of synchronisation, and not with the one after it. */
const isBefore = (relation: Relation): boolean => relation === "loaded" || relation === "stored";

/** Combinations that are tried, simple ones first. */
const COMBINATIONS: readonly (readonly Relation[])[] = [
  [],
  ["loads"],
  ["stored"],
  ["stores"],
  ["loaded"],
  ["loads", "stored"],
  ["loads", "stores"],
  ["stored", "stores"],
  ["stored", "loaded"],
  ["stores", "loaded"],
  ["loads", "stored", "stores"],
  ["loads", "stored", "stores", "loaded"],
  ["loadsAnywhere"],
  ["storesAnywhere"],
  ["loadedAnywhere"],
  ["storedAnywhere"],
  ["loadsAnywhere", "loadedAnywhere"],
  ["storesAnywhere", "storedAnywhere"],
  ["loadsAnywhere", "storesAnywhere"],
  ["loadsAnywhere", "storedAnywhere"],
  ["loadedAnywhere", "storedAnywhere"],
  ANYWHERE,
];

/** Describes the places where a kernel that was ordered synchronises. */
export function placesOf(ordered: Kernel): ReadonlyMap<string, Place> {
  const { world } = ordered;
  walkKernel(ordered, (op) => {
    if (op.name === "notify" || op.name === "await")
      throw new UsageError(
        "the program has signals and waits of its own, which the simulator does not follow",
        "let the compiler derive them",
      );
  });
  const traffic = trafficOf(ordered, evenDims(ordered));
  const last = ordered.body.ops.at(-1);
  const followers = followersOf(ordered.body, new Map());
  const found = new Map<string, { isGrid: boolean; at: { index: number; pairs: RankPairs }[] }>();
  traffic.ranks[0]!.syncs.forEach((op, index) => {
    if (op.attributes["scope"] === "launch") return;
    const key = op === last ? END : keyOf(followers.get(op) ?? op);
    const place = found.get(key) ?? { isGrid: false, at: [] };
    found.set(key, place);
    place.isGrid ||= op.attributes["scope"] === "grid";
    place.at.push({ index, pairs: RankPairs.parse(op.attributes["ranks"] as string, world)! });
  });
  const describe = ({ isGrid, at }: { isGrid: boolean; at: { index: number; pairs: RankPairs }[] }): Place => {
    const extra = (relations: readonly Relation[]): number | null => {
      let more = 0;
      for (const { index, pairs } of at)
        for (let rank = 0; rank < world; rank++) {
          const told = new Set<number>();
          for (const relation of relations)
            for (const p of traffic.relation(relation, rank, isBefore(relation) ? index : index + 1)) told.add(p);
          for (let p = 0; p < world; p++)
            if (p !== rank) {
              if (pairs.has(p, rank) && !told.has(p)) return null;
              if (!pairs.has(p, rank) && told.has(p)) more++;
            }
        }
      return more;
    };
    const fits = COMBINATIONS.map((relations) => ({ relations, extra: extra(relations) })).filter(
      (f): f is { relations: readonly Relation[]; extra: number } => f.extra !== null,
    );
    fits.sort((a, b) => a.extra - b.extra);
    return { relations: fits[0]?.relations ?? [], isAll: fits.length === 0, isGrid };
  };
  return new Map([...found].map(([key, place]) => [key, describe(place)]));
}

/** The op that a barrier stands before; conditions around a barrier alone stand before what comes after them. */
function followersOf(region: Region, into: Map<Op, Op>): Map<Op, Op> {
  const barriers = (op: Op): Op[] =>
    op.name === "barrier" ? [op] : op.regions.flatMap((r) => r.ops.flatMap(barriers));
  const isOnlyBarriers = (op: Op): boolean =>
    op.name === "barrier" || (op.name === "if" && op.regions.every((r) => r.ops.every((o) => isOnlyBarriers(o) || o.regions.length === 0 && o.name !== "store")) && barriers(op).length > 0); // prettier-ignore
  region.ops.forEach((op, i) => {
    if (isOnlyBarriers(op)) {
      const next = region.ops.slice(i + 1).find((o) => o.regions.length > 0 && !isOnlyBarriers(o));
      for (const barrier of next === undefined ? [] : barriers(op)) into.set(barrier, next!);
    } else for (const inner of op.regions) followersOf(inner, into);
  });
  return into;
}

/** Places of several worlds as one: what either waits for. */
function joined(a: ReadonlyMap<string, Place>, b: ReadonlyMap<string, Place>): ReadonlyMap<string, Place> {
  const both = new Map(a);
  for (const [key, place] of b) {
    const known = both.get(key);
    const relations = RELATIONS.filter((r) => place.relations.includes(r) || known?.relations.includes(r) === true);
    both.set(key, {
      relations,
      isAll: place.isAll || known?.isAll === true,
      isGrid: place.isGrid || known?.isGrid === true,
    });
  }
  return both;
}

/** Ops of a kernel without synchronisation that stand where places are, the outermost of each. */
function partsAt(region: Region, places: ReadonlyMap<string, Place>, into: Set<Op>, around = ""): Set<Op> {
  for (const op of region.ops) {
    if (op.regions.length === 0) continue;
    const key = keyOf(op);
    if (places.has(key) && key !== around) into.add(op);
    for (const inner of op.regions) partsAt(inner, places, into, key);
  }
  return into;
}

const NOBODY = new Int32Array(0);

function peersOf(moves: readonly Move[], kind: Move["kind"], rank: number, world: number): Peers {
  const bytes = new Map<number, number>();
  for (const move of moves)
    if (move.kind === kind)
      for (const [owner, n] of move.bytesAt) if (owner !== rank) bytes.set(owner, (bytes.get(owner) ?? 0) + n);
  const ranks = [...bytes.keys()].filter((p) => bytes.get(p)! > 0);
  // As blocks begin with different peers, so does each rank.
  ranks.sort((a, b) => ((a - rank + world) % world) - ((b - rank + world) % world));
  return { ranks: Int32Array.from(ranks), bytes: Float64Array.from(ranks, (p) => bytes.get(p)!) };
}

function ownOf(moves: readonly Move[], kind: Move["kind"], rank: number): number {
  return moves.reduce((sum, m) => sum + (m.kind === kind ? (m.bytesAt.get(rank) ?? 0) : 0), 0);
}

/** What rank `from + shift` does, of what rank `from` does. */
export function shifted(ranks: Int32Array, shift: number, world: number): Int32Array {
  return shift === 0 ? ranks : ranks.map((p) => (p + shift) % world);
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
  const places = ordered.map(placesOf).reduce(joined);
  const { kernel } = distributeConditions(unordered);
  const parts = partsAt(kernel.body, places, new Set());
  const lost = [...places.keys()].find((key) => key !== END && ![...parts].some((op) => keyOf(op) === key));
  if (lost !== undefined) throw new InternalCompilerError(`no op of ${world} ranks stands where smaller worlds wait (${lost})`); // prettier-ignore
  const dims = evenDims(kernel);
  const known = new Map<number, RankTraffic>();
  const traffic = (rank: number): RankTraffic => {
    let found = known.get(rank);
    if (found === undefined) {
      found = trafficOfRank(kernel, rank, dims, parts);
      if (found.unknown.length > 0)
        throw new UsageError(
          "how much the program moves depends on its data",
          "the simulator needs a program whose traffic its sizes decide",
        );
      known.set(rank, found);
    }
    return found;
  };
  const period = periodOf(world, options.ranksPerDomain, traffic);
  const ranks: (readonly Phase[])[] = [];
  const reverse = new Reverse(world, period);
  for (let rank = 0; rank < period; rank++) {
    reverse.add(rank, traffic(rank));
    options.progress?.(rank + 1, period);
  }
  for (let rank = 0; rank < period; rank++) {
    const { stretches, syncs } = traffic(rank);
    if (stretches.length !== traffic(0).stretches.length) throw unevenRanks();
    const placeAt = (i: number): Place | undefined => {
      const op = syncs[i - 1];
      return op === undefined ? undefined : (places.get(keyOf(op)) ?? EVERYBODY);
    };
    const phases = stretches.map((stretch, i): Phase => {
      const place = placeAt(i);
      return {
        awaits: place === undefined ? NOBODY : reverse.awaits(place, rank, i, traffic(rank)),
        isGrid: place?.isGrid ?? false,
        loads: peersOf(stretch.moves, "load", rank, world),
        stores: peersOf(stretch.moves, "store", rank, world),
        ownLoaded: ownOf(stretch.moves, "load", rank),
        ownStored: ownOf(stretch.moves, "store", rank),
        scalarOps: stretch.scalarOps,
      };
    });
    const end = places.get(END);
    if (end !== undefined) {
      const none: Peers = { ranks: NOBODY, bytes: new Float64Array(0) };
      const awaits = reverse.awaits(end, rank, stretches.length, traffic(rank));
      phases.push({
        awaits,
        isGrid: end.isGrid,
        loads: none,
        stores: none,
        ownLoaded: 0,
        ownStored: 0,
        scalarOps: 0,
      });
    }
    ranks.push(phases);
  }
  const bytes = Math.max(
    ...[...kernel.inputs, ...kernel.outputs].map((t) => elementsOf(t.localShape, dims) * DTYPES[t.dtype].bytes),
  );
  return { world, bytes, period, ranks, derivedAt: ordered.map((k) => k.world), counted: known.size };
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

/** Barriers that the author wrote. */
const EVERYBODY: Place = { relations: [], isAll: true, isGrid: false };

/** Who stored to a rank, and loaded from it, in each phase. */
class Reverse {
  private readonly stored: number[][][];
  private readonly loaded: number[][][];

  constructor(
    private readonly world: number,
    private readonly period: number,
  ) {
    this.stored = Array.from({ length: period }, () => []);
    this.loaded = Array.from({ length: period }, () => []);
  }

  /** Of what rank `rank` does, and all ranks that do the same further on. */
  add(rank: number, { stretches }: RankTraffic): void {
    const { period, world } = this;
    stretches.forEach((stretch, i) => {
      for (const { kind, bytesAt } of stretch.moves)
        for (const owner of bytesAt.keys()) {
          const home = owner % period;
          const by = (rank + home - owner + world) % world;
          const lists = (kind === "store" ? this.stored : this.loaded)[home]!;
          (lists[i] ??= []).push(by);
        }
    });
  }

  awaits({ relations, isAll }: Place, rank: number, phase: number, { stretches }: RankTraffic): Int32Array {
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
        const kind = relation.startsWith("loads") ? "load" : "store";
        for (const stretch of relation.endsWith("Anywhere") ? stretches : stretches.slice(phase, phase + 1))
          add(peersIn(stretch, kind));
      }
    return Int32Array.from(found);
  }
}

/** Pairs of ranks, one period apart, that are compared to find out whether ranks are alike. */
const COMPARED = 4;

/** After how many ranks the program repeats itself: one, or a domain's, as samples show; else after all. */
function periodOf(world: number, ranksPerDomain: number, traffic: (rank: number) => RankTraffic): number {
  for (const period of [1, ranksPerDomain]) {
    if (period >= world || world % period !== 0) continue;
    const ranks = new Set(
      Array.from({ length: COMPARED }, (_, k) => Math.floor(((world - 1) * (k + 1)) / COMPARED)).concat(1, period),
    );
    if ([...ranks].every((rank) => isAlike(traffic(rank % period), rank - (rank % period), traffic(rank), world)))
      return period;
  }
  return world;
}

function isAlike(a: RankTraffic, shift: number, b: RankTraffic, world: number): boolean {
  if (a.stretches.length !== b.stretches.length) return false;
  return a.stretches.every((stretch, i) => {
    const { moves, scalarOps } = b.stretches[i]!;
    return (
      scalarOps === stretch.scalarOps &&
      moves.length === stretch.moves.length &&
      stretch.moves.every((m) => {
        const other = moves.find((o) => o.buffer === m.buffer && o.kind === m.kind && o.span.start === m.span.start);
        if (other === undefined || other.bytesAt.size !== m.bytesAt.size) return false;
        return [...m.bytesAt].every(([owner, n]) => other.bytesAt.get((owner + shift) % world) === n);
      })
    );
  });
}
