/** The synchronisation that a kernel is to get: before which ops, in which iterations of the loops around them. */
import type { Op, Region, Value } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import { Builder } from "../../ir/builder.js";
import type { Sync } from "./order.js";

/** Before an op, or at the end of the kernel's body. */
export type Place = Op | Region;

export interface PlannedSync {
  readonly place: Place;
  /** Iterations of the loops around, the outermost first: `/0/2`; `/*` for any iteration of a loop that is not followed iteration by iteration. */
  readonly iteration: string;
  readonly sync: Sync;
}

/** What a plan is made with. */
export interface SyncChoices {
  /** Scratch that successive launches have two copies of, one for every other launch. */
  readonly rotated?: ReadonlySet<string>;
  /** Pairs of which the second rank learns, by the end of a launch, that the first has begun it; null for none. */
  readonly around?: RankPairs | null;
  /** Whether ranks meet above waits whose signals are below them. */
  readonly isEarly?: boolean;
  /** Whether all ranks go on where one waits for a signal that is given further down: the wait then orders nothing. */
  readonly isInStep?: boolean;
}

export class SyncPlan {
  private readonly places = new Map<Place, Map<string, Sync>>();
  readonly rotated: ReadonlySet<string>;
  around: RankPairs | null;
  readonly isEarly: boolean;
  readonly isInStep: boolean;

  constructor({ rotated, around, isEarly, isInStep }: SyncChoices = {}) {
    this.rotated = rotated ?? new Set();
    this.around = around ?? null;
    this.isEarly = isEarly ?? false;
    this.isInStep = isInStep ?? false;
  }

  get(place: Place, iteration: string): Sync | undefined {
    return this.places.get(place)?.get(iteration);
  }

  has(place: Place): boolean {
    return (this.places.get(place)?.size ?? 0) > 0;
  }

  set(place: Place, iteration: string, sync: Sync | undefined): void {
    const iterations = this.places.get(place) ?? new Map<string, Sync>();
    this.places.set(place, iterations);
    if (sync === undefined) iterations.delete(iteration);
    else iterations.set(iteration, sync);
  }

  all(): PlannedSync[] {
    return [...this.places].flatMap(([place, iterations]) =>
      [...iterations].map(([iteration, sync]) => ({ place, iteration, sync })),
    );
  }

  /** Grows with everything that is added. */
  get size(): number {
    return this.all().reduce((n, { sync }) => n + sizeOf(sync), 0);
  }

  /**
   * The barriers of a place, as ops.
   * @param loop the innermost loop around it that is followed iteration by iteration, and its iterations in order; null if there is none
   */
  barriers(place: Place, at: Op, loop: { readonly op: Op; readonly iterations: readonly number[] } | null): Op[] {
    const planned = [...(this.places.get(place) ?? [])];
    if (planned.length === 0) return [];
    const build = new Builder(at.span);
    const iterationOf = (iteration: string): number => Number(iteration.slice(iteration.lastIndexOf("/") + 1));
    if (loop === null || planned.some(([iteration]) => Number.isNaN(iterationOf(iteration))))
      emit(build, planned.map(([, sync]) => sync).reduce(both));
    else {
      const byIteration = loop.iterations.map((t) =>
        planned.filter(([iteration]) => iterationOf(iteration) === t).map(([, sync]) => sync),
      );
      const runs = runsOf(byIteration.map((syncs) => (syncs.length === 0 ? null : syncs.reduce(both))));
      emitRuns(build, runs, loop.op.regions[0]!.arguments[0]!, loop.iterations);
    }
    return build.ops;
  }
}

/** Successive iterations with one synchronisation. */
interface Run {
  readonly iterations: number;
  readonly sync: Sync | null;
}

/** More differences between iterations than this are not worth the code. */
const MOST_RUNS = 3;

function runsOf(syncs: readonly (Sync | null)[]): Run[] {
  const runs: Run[] = [];
  for (const sync of syncs) {
    const last = runs.at(-1);
    if (last !== undefined && excess(last.sync, sync) + excess(sync, last.sync) === 0)
      runs[runs.length - 1] = { iterations: last.iterations + 1, sync: eitherOf(last.sync, sync) };
    else runs.push({ iterations: 1, sync });
  }
  while (runs.length > MOST_RUNS) {
    // Those two neighbours become one that then wait for the least that they need not.
    const costs = runs.slice(1).map((b, i) => {
      const a = runs[i]!;
      return a.iterations * excess(b.sync, a.sync) + b.iterations * excess(a.sync, b.sync);
    });
    const i = costs.indexOf(Math.min(...costs));
    const [a, b] = [runs[i]!, runs[i + 1]!];
    runs.splice(i, 2, { iterations: a.iterations + b.iterations, sync: eitherOf(a.sync, b.sync) });
  }
  return runs;
}

function eitherOf(a: Sync | null, b: Sync | null): Sync | null {
  return a === null || b === null ? (a ?? b) : both(a, b);
}

/** What `more` asks for beyond `less`: pairs, and much for a meeting of all blocks, or for one where there was none. */
function excess(more: Sync | null, less: Sync | null): number {
  if (more === null || costOf(more) === 0) return 0;
  const { world } = more.pairs;
  if (less === null || costOf(less) === 0) return world * world + more.pairs.between;
  const pairs = more.pairs.list().filter(([from, to]) => !less.pairs.has(from, to)).length;
  return pairs + (more.isGrid && !less.isGrid ? world * world : 0);
}

function emitRuns(build: Builder, runs: readonly Run[], variable: Value, iterations: readonly number[]): void {
  const [first, ...rest] = runs;
  if (rest.length === 0) return void (first!.sync && emit(build, first!.sync));
  const left = iterations.slice(first!.iterations);
  build.if(
    build.compare("lt", variable, build.constant(left[0]!)),
    () => first!.sync && emit(build, first!.sync),
    () => emitRuns(build, rest, variable, left),
  );
}

function emit(build: Builder, { pairs, isGrid }: Sync): void {
  build.op("barrier", [], { scope: isGrid ? "grid" : "block", ranks: pairs.print() }, null);
}

/** Synchronisation that does what either does. */
export function both(a: Sync, b: Sync): Sync {
  return { pairs: a.pairs.union(b.pairs), isGrid: a.isGrid || b.isGrid };
}

/** Of one that does more, more. */
export function sizeOf({ pairs, isGrid }: Sync): number {
  return 2 * pairs.count + Number(isGrid);
}

/** What a synchronisation costs, roughly, in trips between GPUs; within a block it is nearly free. */
export function costOf({ pairs, isGrid }: Sync): number {
  if (pairs.between === 0) return isGrid ? 1 : 0;
  return isGrid ? 3 : 2;
}

/** A barrier between all ranks where that is hardly more than the pairs: no rank then has to look up whom it tells. */
export function rounded({ pairs, isGrid }: Sync): Sync {
  const { world } = pairs;
  if (4 * pairs.between >= 3 * world * (world - 1) && (world > 1 || isGrid))
    return { pairs: RankPairs.all(world), isGrid };
  const withSelf = isGrid && pairs.hasSelf;
  const clean = RankPairs.where(world, (from, to) => (from === to ? withSelf : pairs.has(from, to)));
  return { pairs: clean.between === 0 ? RankPairs.self(world) : clean, isGrid };
}
