/**
 * Follows all ranks of a rank-level kernel through its control structure in step, launch after launch, with what is ordered
 * at each point. Either finds the synchronisation that is missing and adds it to a plan, or says where some is missing.
 *
 * A loop with a constant number of turns is followed turn by turn; its body's places for synchronisation then serve all
 * turns. Others are walked until nothing changes. What no synchronisation can stand in, such as a tile loop or a condition
 * that differs from rank to rank, is one step.
 */
import type { Kernel, Op, Region, Value } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import { type Access, AccessCollector, accessOf, turnsOf } from "./accesses.js";
import { Definitions, rankVarying } from "./analysis.js";
import { type Conflict, type Need, Order, type Sync } from "./order.js";
import { RankValues } from "./rank-values.js";

/** Synchronisation to stand before an op, or at the end of the kernel's body. */
export type SyncPlan = Map<Op | Region, Sync>;

export interface Missing {
  readonly place: Op | Region;
  readonly conflict: Conflict;
}

const MOST_ROUNDS = 8;

/** What the walks over one kernel share. */
export class SyncKernel {
  readonly definitions: Definitions;
  readonly varying: ReadonlySet<Value>;
  readonly collector: AccessCollector;
  readonly values: readonly RankValues[];
  /** Loops whose turns need order among themselves. */
  readonly ordered = new Set<Op>();

  constructor(readonly kernel: Kernel) {
    this.definitions = new Definitions(kernel);
    this.varying = rankVarying(kernel);
    this.collector = new AccessCollector(kernel.world);
    this.values = Array.from({ length: kernel.world }, (_, r) => RankValues.of(this.definitions, r));
  }

  /** A loop that all blocks of all ranks run in step, so that they may synchronise in it. */
  isUniformLoop(op: Op): boolean {
    const map = op.attributes["map"];
    return op.name === "for" && (map === "serial" || map === "ranks") && !op.operands.some((v) => this.varying.has(v));
  }

  isUniformIf(op: Op): boolean {
    return op.name === "if" && !this.varying.has(op.operands[0]!);
  }
}

/** `place` adds what is missing to the plan; `check` lists it; `probe` stops at the first. */
type Mode = "place" | "check" | "probe";

export class SyncWalk {
  readonly missing: Missing[] = [];
  private order: Order;

  constructor(
    private readonly shared: SyncKernel,
    private readonly plan: SyncPlan,
    private readonly mode: Mode,
  ) {
    this.order = new Order(shared.kernel.world);
  }

  /** Follows launches until one begins like the one before. */
  launches(): void {
    const { kernel, values } = this.shared;
    const scratch = new Set(kernel.buffers.filter((b) => b.role === "scratch").map((b) => b.name));
    let [before, planned] = ["", -1];
    for (let round = 0; round < MOST_ROUNDS; round++) {
      for (const access of this.callers()) this.order.addExternal(access);
      const size = this.planSize();
      if (this.order.key === before && size === planned) return;
      [before, planned] = [this.order.key, size];
      this.sequence(kernel.body.ops, values);
      this.settle(kernel.body, this.callers(), true);
      if (this.missing.length > 0) return;
      this.order.nextLaunch(scratch);
    }
  }

  private planSize(): number {
    return [...this.plan.values()].reduce((n, { pairs, isGrid }) => n + 2 * pairs.list().length + Number(isGrid), 0);
  }

  /** Around a launch the caller of each rank does with that rank's tensors what it likes. */
  private callers(): Access[] {
    const { buffers, world } = this.shared.kernel;
    const tensors = buffers.filter((b) => b.role === "input" || b.role === "output");
    return tensors.flatMap(({ name: buffer }) =>
      Array.from({ length: world }, (_, rank) =>
        accessOf({ rank, owner: rank, buffer, part: null, writes: true, position: null }),
      ),
    );
  }

  private get isDone(): boolean {
    return this.mode === "probe" && this.missing.length > 0;
  }

  sequence(ops: readonly Op[], values: readonly RankValues[]): void {
    for (const op of ops) {
      if (this.isDone) return;
      if (op.name === "barrier") this.order.sync(meaningOf(op, this.shared.kernel.world));
      else if (op.name === "notify" || op.name === "await") this.words([[op, values]]);
      else if (this.shared.isUniformLoop(op)) this.loop(op, values);
      else if (this.shared.isUniformIf(op)) this.branches(op, values);
      else if (op.name === "if" && hasSync(op)) this.wordsIn(op, values);
      else if (op.regions.length > 0 || op.name === "load" || op.name === "store") this.step(op, values);
    }
  }

  private step(op: Op, values: readonly RankValues[]): void {
    const accesses = values.flatMap((v) => this.shared.collector.of(op, v));
    this.settle(op, accesses, false);
    for (const a of accesses) this.order.add(a);
  }

  /** Applies what is planned for a place, and more of it if these accesses need more. */
  private settle(place: Op | Region, accesses: readonly Access[], isAfter: boolean): void {
    const planned = this.plan.get(place);
    const before = planned !== undefined && this.mode === "place" ? this.order.copy() : this.order;
    if (planned !== undefined) this.order.sync(planned);
    const need = isAfter ? this.order.needAfter(accesses) : this.order.need(accesses);
    if (need === null) return;
    if (this.mode !== "place") return void this.missing.push({ place, conflict: need.conflict });
    const grown: Sync = planned === undefined ? need : bothOf(planned, need);
    this.plan.set(place, grown);
    this.order = before;
    this.order.sync(grown);
  }

  private loop(op: Op, values: readonly RankValues[]): void {
    if (!this.ordersItself(op, values)) return this.step(op, values);
    const planned = this.plan.get(op);
    if (planned !== undefined) this.order.sync(planned);
    const [body] = op.regions as [Region];
    const turns = turnsOf(op, values[0]!);
    if (turns !== null)
      return void turns.forEach((turn) =>
        this.sequence(
          body.ops,
          values.map((v) => v.inTurn(op, turn)),
        ),
      );
    this.anyTurns(op, values);
  }

  /** Turns of unknown number: none, or any. */
  private anyTurns(op: Op, values: readonly RankValues[]): void {
    const [body] = op.regions as [Region];
    const inside = values.map((v) => v.insideLoop(op)).filter((v) => v !== null);
    if (inside.length < values.length) return; // no rank takes a turn: bounds are the same on all
    const turns = turnsOf(op, values[0]!, Infinity);
    if (this.order.hasOpenNotifies) this.order.giveUpMatching();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const before = this.order.copy();
      this.sequence(body.ops, inside);
      if (this.order.hasOpenNotifies) this.order.giveUpMatching();
      const after = this.order.copy();
      this.order.merge(before);
      if (this.order.key !== before.key) continue;
      if (turns !== null && turns.length > 0) this.order = after;
      return;
    }
  }

  /** Whether turns must meet each other in order, or synchronise anyway; if not, the whole loop is one step. */
  private ordersItself(op: Op, values: readonly RankValues[]): boolean {
    const { ordered } = this.shared;
    if (ordered.has(op)) return true;
    const needs = hasSync(op) || this.isPlannedInside(op) || this.needsInside(op, values);
    if (needs) ordered.add(op);
    return needs;
  }

  private isPlannedInside(op: Op): boolean {
    return op.regions.some((r) => r.ops.some((o) => this.plan.has(o) || this.isPlannedInside(o)));
  }

  private needsInside(op: Op, values: readonly RankValues[]): boolean {
    const [body] = op.regions as [Region];
    const probe = new SyncWalk(this.shared, this.plan, "probe");
    const turns = turnsOf(op, values[0]!);
    if (turns === null) {
      const inside = values.map((v) => v.insideLoop(op)).filter((v) => v !== null);
      if (inside.length < values.length) return false;
      for (let round = 0; round < (op.attributes["map"] === "ranks" ? 1 : 2); round++) probe.sequence(body.ops, inside);
    } else
      for (const turn of turns) {
        // Turns in any order promise not to touch what others write.
        if (op.attributes["map"] === "ranks") probe.order = new Order(this.shared.kernel.world);
        probe.sequence(
          body.ops,
          values.map((v) => v.inTurn(op, turn)),
        );
      }
    return probe.missing.length > 0;
  }

  private branches(op: Op, values: readonly RankValues[]): void {
    const planned = this.plan.get(op);
    if (planned !== undefined) this.order.sync(planned);
    const condition = values[0]!.number(op.operands[0]!);
    if (condition !== null) return this.sequence(op.regions[condition !== 0 ? 0 : 1]!.ops, values);
    const before = this.order.copy();
    this.sequence(op.regions[0]!.ops, values);
    const then = this.order;
    this.order = before;
    this.sequence(op.regions[1]!.ops, values);
    this.order.merge(then);
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
    this.words(found);
  }

  private unclear(op: Op, values: readonly RankValues[]): void {
    this.order.giveUpMatching();
    this.step(op, values);
  }

  /** In one step all ranks speak before any listens. */
  private words(ops: readonly [Op, readonly RankValues[]][]): void {
    for (const name of ["notify", "await"] as const)
      for (const [op, values] of ops)
        for (const v of op.name === name ? values : []) {
          const peer = v.number(op.operands[0]!);
          if (peer === null) this.order.giveUpMatching();
          else this.order[name](v.rank, peer);
        }
  }
}

export function hasSync(op: Op): boolean {
  return ["barrier", "notify", "await"].includes(op.name) || op.regions.some((r) => r.ops.some(hasSync));
}

/** Synchronisation that does what either does. */
function bothOf(a: Sync, b: Need): Sync {
  return { pairs: a.pairs.union(b.pairs), isGrid: a.isGrid || b.isGrid };
}

function meaningOf(barrier: Op, world: number): Sync {
  return {
    pairs: RankPairs.parse(barrier.attributes["ranks"] as string, world)!,
    isGrid: barrier.attributes["scope"] === "grid",
  };
}
