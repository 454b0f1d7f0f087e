/**
 * derive-sync: puts a barrier between just those ranks, wherever an access conflicts with an earlier one that nothing orders.
 *
 * All ranks of the group are followed in step, with what each access happened before (`support/sync-walk.ts`). What
 * happened around the launch counts: callers wrote the inputs and used the outputs, and so they will again; the previous
 * launch of this kernel used the scratch. A place that needs order gets it from the ranks of the earlier accesses, between
 * blocks of one number only where both accesses give each element to the same block. Then what turned out to be more than
 * needed is taken away, each time with a check of the whole: barriers, scopes, pairs.
 */
import type { Kernel, Op, Region } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import type { Sync } from "./support/order.js";
import { distributeConditions, fuseConditions } from "./support/rank-conditions.js";
import { hasSync, SyncKernel, type SyncPlan, SyncWalk } from "./support/sync-walk.js";

export function deriveSync(input: Kernel): Kernel {
  const { kernel, origins } = distributeConditions(input);
  const shared = new SyncKernel(kernel);
  const plan: SyncPlan = new Map();
  new SyncWalk(shared, plan, "place").launches();
  for (const [place, sync] of plan) plan.set(place, rounded(sync));
  minimise(shared, plan);
  const ops = new Placement(plan, origins).sequence(kernel.body.ops);
  const last = plan.get(kernel.body);
  const end = last === undefined ? [] : [barrier(last, ops.at(-1)!)];
  return { ...kernel, body: { arguments: [], ops: [...ops, ...end] } };
}

/** Most whole checks for one kernel: with more places than that, some keep more than they need. */
const MOST_CHECKS = 100;

function minimise(shared: SyncKernel, plan: SyncPlan): void {
  let checks = 0;
  const isEnough = (place: Op | Region, sync: Sync | null): boolean => {
    if (checks++ >= MOST_CHECKS) return false;
    const before = new Map(plan);
    if (sync === null) plan.delete(place);
    else plan.set(place, sync);
    const walk = new SyncWalk(shared, plan, "probe");
    walk.launches();
    if (walk.missing.length === 0) return true;
    for (const [p, s] of before) plan.set(p, s);
    return false;
  };
  for (const place of [...plan.keys()]) {
    if (isEnough(place, null)) continue;
    const { pairs, isGrid } = plan.get(place)!;
    if (isGrid) isEnough(place, { pairs, isGrid: false });
    for (const part of pairs.print() === "all" ? [] : partsOf(pairs)) {
      const { pairs: left, isGrid: scope } = plan.get(place)!;
      const fewer = RankPairs.where(left.world, (from, to) => left.has(from, to) && !part.has(from, to));
      if (fewer.between > 0) isEnough(place, { pairs: fewer, isGrid: scope });
    }
  }
}

/** What may be left out on its own: a step round the ring or a mask for all ranks, or else a pair. */
function partsOf(pairs: RankPairs): RankPairs[] {
  const { world } = pairs;
  const steps = pairs.offsets();
  if (steps !== null) return steps.map((c) => RankPairs.where(world, (from, to) => to === (from + c) % world));
  const masks = pairs.masks();
  if (masks !== null) return masks.map((c) => RankPairs.where(world, (from, to) => to === (from ^ c)));
  return pairs.list().map(([a, b]) => RankPairs.where(world, (from, to) => from === a && to === b));
}

/** A barrier between all ranks where that is hardly more than the pairs: no rank then has to look up whom it tells. */
function rounded({ pairs, isGrid }: Sync): Sync {
  const { world } = pairs;
  if (4 * pairs.between >= 3 * world * (world - 1) && (world > 1 || isGrid))
    return { pairs: RankPairs.all(world), isGrid };
  const withSelf = isGrid && pairs.hasSelf;
  const clean = RankPairs.where(world, (from, to) => (from === to ? withSelf : pairs.has(from, to)));
  return { pairs: clean.between === 0 ? RankPairs.self(world) : clean, isGrid };
}

/** Puts what is planned into the kernel. */
class Placement {
  /** Number of parts of a condition that was taken apart. */
  private readonly partsOf = new Map<Op, number>();

  constructor(
    private readonly plan: SyncPlan,
    private readonly origins: ReadonlyMap<Op, Op>,
  ) {
    for (const origin of origins.values()) this.partsOf.set(origin, (this.partsOf.get(origin) ?? 0) + 1);
  }

  sequence(ops: readonly Op[]): Op[] {
    const out: Op[] = [];
    for (let i = 0; i < ops.length;) {
      const origin = this.origins.get(ops[i]!);
      let end = i + 1;
      if (origin !== undefined) while (end < ops.length && this.origins.get(ops[end]!) === origin) end++;
      const parts = ops.slice(i, end);
      // A condition that was taken apart for nothing stays as it was, if all of it is here.
      const isWhole =
        origin !== undefined &&
        parts.length === this.partsOf.get(origin) &&
        !parts.some((p, k) => (k > 0 && this.plan.has(p)) || this.isPlannedInside(p));
      parts.forEach((part, k) => {
        const planned = this.plan.get(part);
        if (planned !== undefined) out.push(barrier(planned, part));
        if (!isWhole) out.push(this.rebuilt(part));
        else if (k === 0) out.push(origin);
      });
      i = end;
    }
    return fuseConditions(out);
  }

  private rebuilt(op: Op): Op {
    const copy = { ...op, regions: op.regions.map((r) => ({ arguments: r.arguments, ops: this.sequence(r.ops) })) };
    // With synchronisation inside, all ranks must take the turns in one order.
    const isOrdered = op.attributes["map"] === "ranks" && hasSync(copy);
    return isOrdered ? { ...copy, attributes: { ...op.attributes, map: "serial" } } : copy;
  }

  private isPlannedInside(op: Op): boolean {
    return op.regions.some((r) => r.ops.some((o) => this.plan.has(o) || this.isPlannedInside(o)));
  }
}

function barrier({ pairs, isGrid }: Sync, at: Op): Op {
  const attributes = { scope: isGrid ? "grid" : "block", ranks: pairs.print() };
  return { name: "barrier", operands: [], results: [], attributes, regions: [], span: at.span };
}
