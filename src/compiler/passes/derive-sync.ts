/**
 * derive-sync: puts a barrier between just those ranks, wherever an access conflicts with an earlier one that nothing orders.
 *
 * The ranks of each domain are followed in step, with what each access happened before (`support/sync-walk.ts`). What
 * happened around the launch counts: callers wrote the inputs and used the outputs, and so they will again; the previous
 * launch of this kernel used the scratch. A place that needs order gets it from the ranks of the earlier accesses, between
 * blocks of one number only where both accesses give each element to the same block. Then what turned out to be more than
 * needed is taken away, each time with a check of the whole: barriers, scopes, pairs. Where scratch in two copies saves a
 * trip between GPUs, it gets them (`support/rotation.ts`). Where the author's waits come before their signals, the ranks that wait stay behind
 * (`support/laggards.ts`); if ranks then met in a circle with them, they meet above such waits.
 *
 * Of many domains, one stands for those that are like it while synchronisation is looked for: the first, the last, and the second
 * for all between. What is found is then checked in every domain, and one that lacks order stands for itself.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel, Op } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { domainOf, isNear, sampleDomains } from "../machine/reach.js";
import type { Sync } from "./support/order.js";
import { distributeConditions, fuseConditions } from "./support/rank-conditions.js";
import { rotatable, rotate } from "./support/rotation.js";
import { type PlannedSync, rounded, type SyncChoices, SyncPlan } from "./support/sync-plan.js";
import { type SyncDomain, SyncKernel } from "./support/sync-kernel.js";
import { hasSync } from "./support/sync-ops.js";
import { type Missing, type Mode, SyncWalk } from "./support/sync-walk.js";

export function deriveSync(input: Kernel): Kernel {
  const { kernel, origins } = distributeConditions(input);
  const shared = new SyncKernel(kernel);
  const plan = planOfAll(shared);
  const ops = new Placement(plan, shared, origins).sequence(kernel.body.ops);
  const end = plan.barriers(kernel.body, ops.at(-1) ?? NOTHING, null);
  const start = plan.around === null ? [] : [aroundLaunch(plan.around, ops[0] ?? NOTHING)];
  return rotate({ ...kernel, body: { arguments: [], ops: [...start, ...ops, ...end] } }, plan.rotated);
}

function planOfAll(shared: SyncKernel): SyncPlan {
  const all = Array.from({ length: shared.domains }, (_, number) => number);
  const followed = new Set(sampleDomains(shared.domains));
  for (;;) {
    const plan = bestPlan(new Followed(shared, followed));
    const odd = all.find((number) => !followed.has(number) && lacksOrder(shared, shared.domain(number), plan));
    if (odd === undefined) return plan;
    followed.add(odd);
  }
}

function lacksOrder(shared: SyncKernel, domain: SyncDomain, plan: SyncPlan): boolean {
  return missingIn(shared, domain, plan, "probe").length > 0;
}

function missingIn(shared: SyncKernel, domain: SyncDomain, plan: SyncPlan, mode: Mode): readonly Missing[] {
  const walk = new SyncWalk(shared, domain, plan, mode);
  walk.launches();
  return walk.missing;
}

/** A kernel, and the domains of it that stand for all. */
class Followed {
  readonly domains: readonly SyncDomain[];
  /** For each domain the one that stands for it. */
  private readonly standIns: readonly number[];

  constructor(
    readonly shared: SyncKernel,
    followed: ReadonlySet<number>,
  ) {
    this.domains = [...followed].sort((a, b) => a - b).map((number) => shared.domain(number));
    this.standIns = Array.from({ length: shared.domains }, (_, number) => (followed.has(number) ? number : 1));
  }

  get kernel(): Kernel {
    return this.shared.kernel;
  }

  /** What these pairs say of a domain that is followed, of those as well that it stands for. */
  forAll(pairs: RankPairs): RankPairs {
    const { world, ranksPerDomain = world } = this.kernel;
    if (this.domains.length === this.standIns.length) return pairs;
    const inStandIn = (rank: number): number =>
      this.standIns[domainOf(rank, { ranksPerDomain })]! * ranksPerDomain + (rank % ranksPerDomain);
    const isPair = (a: number, b: number): boolean =>
      isNear(a, b, { ranksPerDomain }) && pairs.has(inStandIn(a), inStandIn(b));
    return RankPairs.where(world, isPair);
  }

  /** Whether a rank is of a domain that is followed. */
  has(rank: number): boolean {
    const { world, ranksPerDomain = world } = this.kernel;
    const number = domainOf(rank, { ranksPerDomain });
    return this.standIns[number] === number;
  }
}

function aroundLaunch(pairs: RankPairs, at: Op): Op {
  return { ...NOTHING, name: "barrier", attributes: { scope: "launch", ranks: pairs.print() }, span: at.span };
}

interface Priced {
  readonly plan: SyncPlan;
  readonly cost: number;
  readonly circles: number;
}

/** With scratch in two copies, and word of launches, where that is cheaper, and no more of it than it takes. */
function bestPlan(followed: Followed): SyncPlan {
  const { kernel, packets } = followed.shared;
  const plain = planFor(followed, {});
  // What is derived must not hang where what is written does not.
  if (plain === null || plain.circles > 0) return (planForWaits(followed) ?? plain ?? planInStep(followed)).plan;
  let best = plain;
  const isBetter = (other: Priced): boolean => other.cost < best.cost;
  if (best.cost > 0 && packets.size > 0) {
    const told = planFor(followed, { around: RankPairs.all(kernel.world) });
    if (told !== null && isBetter(told)) best = told;
  }
  const candidates = best.cost > 0 ? rotatable(kernel) : [];
  if (candidates.length === 0) return best.plan;
  const { around } = best.plan;
  const rotated = planFor(followed, { rotated: new Set(candidates), around });
  if (rotated === null || !isBetter(rotated)) return best.plan;
  best = rotated;
  for (const name of candidates.length > 1 ? candidates : []) {
    const fewer = planFor(followed, { rotated: new Set([...best.plan.rotated].filter((b) => b !== name)), around });
    if (fewer !== null && fewer.cost <= best.cost) best = fewer;
  }
  return best.plan;
}

/** With ranks that meet above waits whose signals are below them; null if they would wait in a circle still. */
function planForWaits(followed: Followed): Priced | null {
  const early = planFor(followed, { isEarly: true });
  return early?.circles === 0 ? early : null;
}

/** For what nothing else orders; if it hangs, `prove` says so. */
function planInStep(followed: Followed): Priced {
  const plan = planFor(followed, { isEarly: true, isInStep: true });
  if (plan === null) throw new InternalCompilerError("derive-sync left accesses unordered");
  return plan;
}

/** Null where no synchronisation at the places for it orders everything. */
function planFor(followed: Followed, choices: SyncChoices): Priced | null {
  const { shared, domains } = followed;
  const plan = new SyncPlan(choices);
  for (const domain of domains) {
    const walk = new SyncWalk(shared, domain, plan, "place");
    walk.launches();
    if (walk.missing.length > 0) return null;
  }
  for (const { place, iteration, sync } of plan.all())
    plan.set(place, iteration, inReach(rounded({ ...sync, pairs: followed.forAll(sync.pairs) }), shared.kernel));
  minimise(followed, plan);
  const last = domains.map((domain) => {
    const walk = new SyncWalk(shared, domain, plan, "probe");
    walk.launches();
    return walk;
  });
  if (last.some(({ missing }) => missing.length > 0)) return null;
  const greatest = (of: "cost" | "circles"): number => Math.max(...last.map((walk) => walk[of]));
  return { plan, cost: greatest("cost"), circles: greatest("circles") };
}

/** Rounding adds pairs; those between domains have no flags. */
function inReach(sync: Sync, { world, ranksPerDomain }: Kernel): Sync {
  if (ranksPerDomain === undefined) return sync;
  const isKept = (a: number, b: number): boolean => sync.pairs.has(a, b) && isNear(a, b, { ranksPerDomain });
  return { ...sync, pairs: RankPairs.where(world, isKept) };
}

/** Most accesses that all checks of one plan look at: where there are more, some places keep more than they need. */
const MOST_LOOKS = 60_000;

function minimise(followed: Followed, plan: SyncPlan): void {
  const { shared, domains } = followed;
  const limit = shared.looks + MOST_LOOKS;
  const isOrdered = (): boolean => !domains.some((domain) => lacksOrder(shared, domain, plan));
  const isEnough = ({ place, iteration }: PlannedSync, sync: Sync | undefined): boolean => {
    if (shared.looks > limit) return false;
    const before = plan.get(place, iteration);
    plan.set(place, iteration, sync);
    if (isOrdered()) return true;
    plan.set(place, iteration, before);
    return false;
  };
  const sharingWithout = ({ place, iteration }: PlannedSync): RankPairs => {
    const before = plan.get(place, iteration);
    plan.set(place, iteration, undefined);
    const found = domains.flatMap((domain) => missingIn(shared, domain, plan, "check"));
    plan.set(place, iteration, before);
    return found.reduce((all, { pairs }) => all.union(pairs), new RankPairs(shared.kernel.world));
  };
  for (const planned of plan.all()) {
    if (isEnough(planned, undefined)) continue;
    const now = (): Sync => plan.get(planned.place, planned.iteration)!;
    const { pairs, isGrid } = now();
    if (isGrid) isEnough(planned, { pairs, isGrid: false });
    const leaveOut = (parts: readonly RankPairs[]): void => {
      for (const part of parts) {
        const { pairs: left, isGrid: scope } = now();
        const fewer = lacking(left, part);
        if (fewer.between > 0) isEnough(planned, { pairs: fewer, isGrid: scope });
      }
    };
    // Where ranks hand on what they get, one that waits for others than those it shares memory with waits for the end of the chain.
    if (plan.isEarly) leaveOut([lacking(pairs, sharingWithout(planned))]);
    if (plan.isEarly || pairs.print() !== "all") leaveOut(partsOf(pairs, followed));
    if (plan.isEarly) leaveOut(singlePairs(now().pairs, followed));
  }
  for (const part of plan.around === null ? [] : [plan.around, ...partsOf(plan.around, followed)]) {
    const before: RankPairs | null = plan.around;
    if (before === null || shared.looks > limit) break;
    const fewer = lacking(before, part);
    plan.around = fewer.between > 0 ? fewer : null;
    if (!isOrdered()) plan.around = before;
  }
}

function lacking(pairs: RankPairs, part: RankPairs): RankPairs {
  return RankPairs.where(pairs.world, (from, to) => pairs.has(from, to) && !part.has(from, to));
}

/** What may be left out on its own: a step round the ring or a mask for all ranks, or else a pair, in all domains that are alike. */
function partsOf(pairs: RankPairs, followed: Followed): RankPairs[] {
  const { world } = pairs;
  const steps = pairs.offsets();
  if (steps !== null) return steps.map((c) => RankPairs.where(world, (from, to) => to === (from + c) % world));
  const masks = pairs.masks();
  if (masks !== null) return masks.map((c) => RankPairs.where(world, (from, to) => to === (from ^ c)));
  return singlePairs(pairs, followed);
}

function singlePairs(pairs: RankPairs, followed: Followed): RankPairs[] {
  return pairs
    .list()
    .filter(([from]) => followed.has(from))
    .map(([a, b]) => followed.forAll(RankPairs.where(pairs.world, (from, to) => from === a && to === b)));
}

/** Where the end of a kernel is that does nothing. */
const NOTHING: Op = {
  name: "const",
  operands: [],
  results: [],
  attributes: {},
  regions: [],
  span: { start: 0, end: 0 },
};

/** Puts what is planned into the kernel. */
class Placement {
  /** Number of parts of a condition that was taken apart. */
  private readonly partsOf = new Map<Op, number>();
  /** The innermost loop around that is followed iteration by iteration. */
  private loop: { readonly op: Op; readonly iterations: readonly number[] } | null = null;

  constructor(
    private readonly plan: SyncPlan,
    private readonly shared: SyncKernel,
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
        out.push(...this.plan.barriers(part, part, this.loop));
        if (!isWhole) out.push(this.rebuilt(part));
        else if (k === 0) out.push(origin);
      });
      i = end;
    }
    return fuseConditions(out);
  }

  private rebuilt(op: Op): Op {
    const outside = this.loop;
    const iterations = this.shared.iterations.get(op);
    if (op.name === "for")
      this.loop = iterations === undefined ? null : { op, iterations: [...iterations].sort((a, b) => a - b) };
    const copy = { ...op, regions: op.regions.map((r) => ({ arguments: r.arguments, ops: this.sequence(r.ops) })) };
    this.loop = outside;
    // With synchronisation inside, all ranks must take the iterations in one order.
    const isOrdered = op.attributes["map"] === "ranks" && hasSync(copy);
    return isOrdered ? { ...copy, attributes: { ...op.attributes, map: "serial" } } : copy;
  }

  private isPlannedInside(op: Op): boolean {
    return op.regions.some((r) => r.ops.some((o) => this.plan.has(o) || this.isPlannedInside(o)));
  }
}
