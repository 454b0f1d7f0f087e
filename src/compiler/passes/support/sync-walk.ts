/**
 * Follows the ranks of a domain through a rank-level kernel's control structure in step, launch after launch, with what is ordered
 * at each point. Either finds the synchronisation that is missing and adds it to a plan, or says where some is missing.
 *
 * A loop with a constant number of iterations is followed iteration by iteration; its body's places for synchronisation then serve all
 * iterations. Others are walked until nothing changes. What no synchronisation can stand in, such as a tile loop or a condition
 * that differs from rank to rank, is one step.
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import type { Op, Region } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import type { Access } from "./accesses.js";
import { EarlyWaits } from "./early-waits.js";
import { actingIterations, iterationsOf } from "./iterations.js";
import { type Conflict, type Need, Order, type Sync } from "./order.js";
import type { RankValues } from "./rank-values.js";
import { otherName, type SyncDomain, type SyncKernel } from "./sync-kernel.js";
import { both, costOf, type Place, sizeOf, type SyncPlan } from "./sync-plan.js";

export interface Missing {
  readonly place: Place;
  readonly conflict: Conflict;
}

const MOST_ROUNDS = 16;
/** What it costs that ranks learn of each other's launches, which nothing waits for until the end; see `costOf`. */
const AROUND_COST = 1;

/** `place` adds what is missing to the plan; `check` lists it; `probe` stops at the first. */
type Mode = "place" | "check" | "probe";

export class SyncWalk {
  readonly missing: Missing[] = [];
  /** Of the synchronisation in the last launch that was followed to its end. */
  cost = 0;
  /** How often ranks meet in that launch in a circle with waits that are open. */
  circles = 0;
  private order: Order;
  private waits = new EarlyWaits();
  /** Where in the loops around, as in `PlannedSync`. */
  private iteration = "";
  private isOdd = false;
  private launch = 0;
  /** Who learns in a launch that the others have begun it. */
  private around: RankPairs | null;

  constructor(
    private readonly shared: SyncKernel,
    private readonly domain: SyncDomain,
    private readonly plan: SyncPlan,
    private readonly mode: Mode,
  ) {
    this.order = this.newOrder();
    this.around = plan.around;
  }

  private newOrder(): Order {
    const { kernel, packets } = this.shared;
    return new Order(kernel.world, this.domain.ranks, (buffer) => packets.has(buffer));
  }

  /** Follows launches until one begins like an earlier one that had the same copies of scratch. */
  launches(): void {
    const { kernel } = this.shared;
    const scratch = kernel.buffers.filter((b) => b.role === "scratch" || b.role === "packet").map((b) => b.name);
    const kept = new Set([...scratch, ...scratch.map(otherName)]);
    const period = this.plan.rotated.size > 0 ? 2 : this.shared.period;
    const states: string[] = [];
    for (let round = 0; round < MOST_ROUNDS; round++) {
      this.isOdd = round % period === 1;
      this.launch = round;
      this.order.addExternal(this.domain.callers);
      states.push(`${this.plan.size} ${this.order.key}`);
      if (states[round] === states[round - period]) return;
      this.cost = this.around === null ? 0 : AROUND_COST;
      this.circles = 0;
      this.waits.clear();
      this.sequence(kernel.body.ops, this.domain.values[round % this.shared.period]!);
      this.order.awaitMessages(0);
      this.settle(kernel.body, this.domain.callers, true);
      if (this.missing.length > 0) return;
      this.order.nextLaunch(kept, this.around);
    }
  }

  private get isDone(): boolean {
    return this.mode === "probe" && this.missing.length > 0;
  }

  sequence(ops: readonly Op[], values: readonly RankValues[]): void {
    for (const op of ops) {
      if (this.isDone) return;
      if (op.name === "barrier" && op.attributes["scope"] === "launch")
        this.around = pairsOf(op, this.shared.kernel.world);
      else if (op.name === "barrier") this.sync(meaningOf(op, this.shared.kernel.world));
      else if (op.name === "notify" || op.name === "await") this.words(op, [[op, values]]);
      else if (op.name === "message") this.message(op, values);
      else if (op.name === "message_wait") this.awaitMessages(op);
      else if (this.shared.isUniformLoop(op)) this.loop(op, values);
      else if (this.shared.isUniformIf(op)) this.branches(op, values);
      else if (op.name === "if" && hasSync(op)) this.wordsIn(op, values);
      else if (op.regions.length > 0 || op.name === "load" || op.name === "store") this.step(op, values);
    }
  }

  private sync(sync: Sync): void {
    this.order.sync(sync);
    this.cost += costOf(sync);
    if (this.waits.areOpen && this.waits.areCircleWith(sync.pairs)) this.circles++;
  }

  private planned(place: Place): void {
    const planned = this.plan.get(place, this.iteration);
    if (planned !== undefined) this.sync(planned);
  }

  /**
   * A step of each rank's stream between two kernels: a rank sends what it has, and what arrives is written in the stream of the rank that
   * receives it. No message says anything of other memory, for one of no elements is not sent.
   */
  private message(op: Op, values: readonly RankValues[]): void {
    this.order.sync(this.shared.onStream);
    this.step(op, values);
    if (op.attributes["beside"] !== true) this.order.sync(this.shared.onStream);
  }

  private awaitMessages(op: Op): void {
    this.order.awaitMessages(op.attributes["pending"] as number);
    this.order.sync(this.shared.onStream);
  }

  private step(op: Op, values: readonly RankValues[]): void {
    const { rotated } = this.plan;
    const accesses = op.name === "message" ? this.ofMessage(op) : this.ofRanks(op, values);
    const { packets } = this.shared;
    const hasCopies = (a: Access): boolean => rotated.has(a.buffer) || packets.has(a.buffer);
    const named = this.isOdd ? accesses.map((a) => (hasCopies(a) ? this.shared.otherCopy(a) : a)) : accesses;
    this.shared.looks += named.length;
    this.settle(op, named, false);
    if (op.name === "message" && op.attributes["beside"] === true) this.order.addMessages(named);
    else this.order.add(named);
  }

  private ofMessage(op: Op): readonly Access[] {
    if (this.iteration !== "") throw new InternalCompilerError("a message stands in a loop");
    return this.shared.messageAccesses(op, this.launch, this.domain);
  }

  private ofRanks(op: Op, values: readonly RankValues[]): readonly Access[] {
    const { ranks } = this.domain;
    const accesses = values.flatMap((v) => this.shared.collector.of(op, v));
    const beyond = accesses.find(({ owner }) => owner < ranks[0]! || owner > ranks.at(-1)!);
    if (beyond !== undefined) throw new InternalCompilerError(`no address reaches there: ${beyond.key}`);
    return accesses;
  }

  /** Applies what is planned for a place, and more of it if these accesses need more. */
  private settle(place: Place, accesses: readonly Access[], isAfter: boolean): void {
    const isMessage = !isAfter && "name" in place && place.name === "message";
    const need = (): Need | null => (isAfter ? this.order.needAfter(accesses) : this.order.need(accesses, isMessage));
    let planned = this.plan.get(place, this.iteration);
    const before = this.mode === "place" ? this.order.copy() : this.order;
    if (planned !== undefined) this.sync(planned);
    for (let more = need(); more !== null; more = need()) {
      if (this.mode !== "place") return void this.missing.push({ place, conflict: more.conflict });
      if (more.isUnderWay) throw new InternalCompilerError(`what goes on beside messages touches what they do: ${more.conflict.map((a) => a.key).join(" and ")}`); // prettier-ignore
      const grown: Sync = planned === undefined ? more : both(planned, more);
      // Blocks of one number would do after what is planned, but it is all one synchronisation.
      const isSame = planned !== undefined && sizeOf(grown) === sizeOf(planned);
      planned = isSame ? { ...grown, isGrid: true } : grown;
      this.plan.set(place, this.iteration, planned);
      this.order = before.copy();
      this.sync(planned);
    }
  }

  private loop(op: Op, values: readonly RankValues[]): void {
    if (!this.ordersItself(op, values)) return this.step(op, values);
    this.planned(op);
    const iterations = iterationsOf(op, values[0]!);
    if (iterations === null) return this.anyIterations(op, values);
    const seen = this.shared.iterations.get(op) ?? new Set<number>();
    this.shared.iterations.set(op, seen);
    for (const iteration of iterations) {
      seen.add(iteration);
      this.oneIteration(op, values, iteration);
    }
  }

  private oneIteration(op: Op, values: readonly RankValues[], iteration: number): void {
    const inside = values.map((v) => v.inIteration(op, iteration));
    this.within(`/${iteration}`, () => this.sequence(op.regions[0]!.ops, inside));
  }

  private within(iteration: string, body: () => void): void {
    const outside = this.iteration;
    this.iteration += iteration;
    body();
    this.iteration = outside;
  }

  /** Iterations of unknown number: none, or any. */
  private anyIterations(op: Op, values: readonly RankValues[]): void {
    const [body] = op.regions as [Region];
    const inside = values.map((v) => v.insideLoop(op)).filter((v) => v !== null);
    if (inside.length < values.length) return; // no rank takes an iteration: bounds are the same on all
    const iterations = iterationsOf(op, values[0]!, Infinity);
    if (this.order.hasOpenNotifies) this.order.giveUpMatching();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const before = this.order.copy();
      this.within("/*", () => this.sequence(body.ops, inside));
      if (this.order.hasOpenNotifies) this.order.giveUpMatching();
      const after = this.order.copy();
      this.order.merge(before);
      if (this.order.key !== before.key) continue;
      if (iterations !== null && iterations.length > 0) this.order = after;
      return;
    }
  }

  /** Whether iterations must meet each other in order, or synchronise anyway; if not, the whole loop is one step. */
  private ordersItself(op: Op, values: readonly RankValues[]): boolean {
    const { ordered } = this.shared;
    if (ordered.has(op)) return true;
    const needs = hasSync(op) || this.isPlannedInside(op) || this.isNeededInside(op, values);
    if (needs) ordered.add(op);
    return needs;
  }

  /** What is found of a loop without synchronisation is the same in every walk, and so is what it took to look at. */
  private isNeededInside(op: Op, values: readonly RankValues[]): boolean {
    const { shared } = this;
    const known = shared.loopsIn(values[0]!);
    let found = known.get(op);
    if (found !== undefined) shared.looks += found.looks;
    else {
      const before = shared.looks;
      const needs = this.needsInside(op, values);
      known.set(op, (found = { needs, looks: shared.looks - before }));
    }
    return found.needs;
  }

  private isPlannedInside(op: Op): boolean {
    return op.regions.some((r) => r.ops.some((o) => this.plan.has(o) || this.isPlannedInside(o)));
  }

  private needsInside(op: Op, values: readonly RankValues[]): boolean {
    const [body] = op.regions as [Region];
    const probe = new SyncWalk(this.shared, this.domain, this.plan, "probe");
    [probe.iteration, probe.isOdd, probe.launch] = [this.iteration, this.isOdd, this.launch];
    const iterations = iterationsOf(op, values[0]!);
    if (iterations === null) {
      const inside = values.map((v) => v.insideLoop(op)).filter((v) => v !== null);
      if (inside.length < values.length) return false;
      for (let round = 0; round < (op.attributes["map"] === "ranks" ? 1 : 2); round++)
        probe.within("/*", () => probe.sequence(body.ops, inside));
    } else {
      // Ranks that do nothing in an iteration need nothing there, and what is seen of the others is not kept: most loops are then one step.
      const acting = new Map<number, RankValues[]>(iterations.map((iteration) => [iteration, []]));
      for (const v of values) for (const i of actingIterations(op, v, iterations)) acting.get(i)!.push(v);
      for (const [iteration, ranks] of acting) {
        if (ranks.length === 0) continue;
        // Iterations in any order promise not to touch what others write.
        if (op.attributes["map"] === "ranks") probe.order = this.newOrder();
        const inside = ranks.map((v) => v.atIteration(op, iteration));
        probe.within(`/${iteration}`, () => probe.sequence(body.ops, inside));
      }
    }
    return probe.missing.length > 0;
  }

  private branches(op: Op, values: readonly RankValues[]): void {
    this.planned(op);
    const condition = values[0]!.number(op.operands[0]!);
    if (condition !== null) return this.sequence(op.regions[condition !== 0 ? 0 : 1]!.ops, values);
    const [before, open] = [this.order.copy(), this.waits.copy()];
    this.sequence(op.regions[0]!.ops, values);
    const [then, left] = [this.order, this.waits];
    [this.order, this.waits] = [before, open];
    this.sequence(op.regions[1]!.ops, values);
    this.order.merge(then);
    this.waits.merge(left);
  }

  /** notify and await under a condition that differs from rank to rank, and nothing else. */
  private wordsIn(op: Op, values: readonly RankValues[]): void {
    const found: [Op, readonly RankValues[]][] = [];
    for (const v of values) {
      const condition = v.number(op.operands[0]!);
      if (condition === null) return this.unclear(op, values);
      for (const inner of op.regions[condition !== 0 ? 0 : 1]!.ops) {
        if (inner.name !== "notify" && inner.name !== "await") return this.unclear(op, values);
        found.push([inner, [v]]);
      }
    }
    this.words(op, found);
  }

  private unclear(op: Op, values: readonly RankValues[]): void {
    this.order.giveUpMatching();
    this.step(op, values);
  }

  /** In one step all ranks speak before any listens. */
  private words(place: Op, ops: readonly [Op, readonly RankValues[]][]): void {
    const said = ops.flatMap(([{ name, operands }, values]) =>
      values.map((v) => ({ name, rank: v.rank, peer: v.number(operands[0]!) })),
    );
    this.meetBefore(place, said);
    for (const name of SPOKEN)
      for (const { rank, peer } of said.filter((word) => word.name === name))
        if (peer === null) this.order.giveUpMatching();
        else this.order[name](rank, peer);
    this.waits = this.waitsAfter(said);
  }

  private waitsAfter(said: readonly Said[]): EarlyWaits {
    const waits = this.waits.copy();
    for (const { name, rank, peer } of said)
      if (peer !== null && name === "notify") waits.signal({ from: rank, to: peer });
    for (const { name, rank, peer } of said)
      if (peer !== null && name === "await") waits.wait({ from: peer, to: rank });
    return waits;
  }

  /**
   * Where waits come before their signals, ranks that meet below may wait in a circle, so they meet here, if the plan asks for it. While
   * a wait is open already, they would here, too.
   */
  private meetBefore(place: Op, said: readonly Said[]): void {
    const { plan, iteration } = this;
    const isAsked = plan.isEarly && this.mode === "place" && plan.get(place, iteration) === undefined;
    if (isAsked && !this.waits.areOpen && this.waitsAfter(said).areOpen)
      plan.set(place, iteration, { pairs: RankPairs.all(this.shared.kernel.world), isGrid: true });
    this.planned(place);
  }
}

/** What is said before what is heard. */
const SPOKEN = ["notify", "await"] as const;

/** A word of a rank to a peer, or one that it waits for. */
interface Said {
  readonly name: string;
  readonly rank: number;
  readonly peer: number | null;
}

export function hasSync(op: Op): boolean {
  return ["barrier", "notify", "await"].includes(op.name) || op.regions.some((r) => r.ops.some(hasSync));
}

/** A barrier is met in many walks. */
const knownPairs = new WeakMap<Op, RankPairs>();

function pairsOf(barrier: Op, world: number): RankPairs {
  let pairs = knownPairs.get(barrier);
  if (pairs === undefined)
    knownPairs.set(barrier, (pairs = RankPairs.parse(barrier.attributes["ranks"] as string, world)!));
  return pairs;
}

function meaningOf(barrier: Op, world: number): Sync {
  return {
    pairs: pairsOf(barrier, world),
    isGrid: barrier.attributes["scope"] === "grid",
  };
}
