/**
 * Where the ranks of a program that derive-sync has ordered wait, and for whom: each place described by the traffic around it, such as
 * "for those who stored here in the phase before", so that the same description holds at any number of ranks.
 */
import { UsageError } from "../../errors.js";
import { type Move, type RankTraffic, trafficOfRank } from "../explain/traffic.js";
import type { Kernel, Op, Region } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { walkKernel } from "../ir/visit.js";
import type { DimValues } from "../types/extent.js";
import { fitDims } from "../types/requirement.js";

/** Elements of what `chunk` cuts at. */
const CUT = 64;

/** Sizes at which every cut is even, into as many parts as there are ranks, or pairs of them: shares are in proportion there. */
export function evenDims(kernel: Kernel): DimValues {
  const parts = kernel.dims.length === 1 ? kernel.world ** 2 : kernel.world;
  const dims = Object.fromEntries(kernel.dims.map((name) => [name, CUT * parts]));
  return fitDims(kernel.requirements, dims, new Set(kernel.dims));
}

/** The traffic around a point of synchronisation, from which the ranks can be told that one waits for there. */
const NEAR = ["loads", "stores", "loaded", "stored"] as const;
/** The same at any point of the program: a launch comes after another, and iterations of a loop share what is written for it. */
const ANYWHERE = ["loadsAnywhere", "storesAnywhere", "loadedAnywhere", "storedAnywhere"] as const;
const RELATIONS = [...NEAR, ...ANYWHERE] as const;
type Relation = (typeof RELATIONS)[number];

/** Whom a rank waits for at one place of the program. */
export interface Place {
  readonly relations: readonly Relation[];
  /** No description was found: ranks wait for all. */
  readonly isAll: boolean;
  readonly isGrid: boolean;
}

/** What an op is known by at any world size. */
export const keyOf = ({ span }: Op): string => `${span.start}:${span.end}`;
/** The key of the end of the program. */
export const END = "end";

interface Traffic {
  readonly ranks: readonly RankTraffic[];
  /** Ranks that rank r loads from, and stores to, in each stretch; and who loads from it and stores to it. */
  readonly relation: (relation: Relation, rank: number, stretch: number) => ReadonlySet<number>;
}

/** Ranks whose memory one rank loads from, or stores to, between two points of synchronisation. */
export function peersIn(stretch: { readonly moves: readonly Move[] }, kind: Move["kind"]): number[] {
  return stretch.moves.flatMap((m) => (m.kind === kind ? [...m.bytesAt.keys()] : []));
}

/** Who has to do with whom, of all ranks. */
function trafficOf(kernel: Kernel, dims: DimValues): Traffic {
  const ranks = Array.from({ length: kernel.world }, (_, r) => trafficOfRank(kernel, r, dims));
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

/** What is thrown where ranks do not synchronise in step. */
export function unevenRanks(): UsageError {
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
export function joined(a: ReadonlyMap<string, Place>, b: ReadonlyMap<string, Place>): ReadonlyMap<string, Place> {
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
export function partsAt(region: Region, places: ReadonlyMap<string, Place>, into: Set<Op>, around = ""): Set<Op> {
  for (const op of region.ops) {
    if (op.regions.length === 0) continue;
    const key = keyOf(op);
    if (places.has(key) && key !== around) into.add(op);
    for (const inner of op.regions) partsAt(inner, places, into, key);
  }
  return into;
}
