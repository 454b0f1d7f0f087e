/**
 * Follows the ranks of a domain through a rank-level kernel's control structure in step, launch after launch, with what is ordered
 * at each point. Either finds the synchronisation that is missing and adds it to a plan, or says where some is missing.
 *
 * A loop with a constant number of iterations is followed iteration by iteration; its body's places for synchronisation then serve all
 * iterations. Others are walked until nothing changes. What no synchronisation can stand in, such as a tile loop or a condition
 * that differs from rank to rank, is one step.
 *
 * A rank that waits for a signal that is given further down stays behind (`laggards.ts`): what it does then comes after what is above
 * that signal on the rank that gives it. Unless the plan has all ranks in step: then such a wait orders nothing.
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import type { Op, Region } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import type { Access } from "./accesses.js";
import { actingIterations, iterationsOf } from "./iterations.js";
import { Laggards, type Stop } from "./laggards.js";
import { type Arrival, type Conflict, type Need, Order, type Sync } from "./order.js";
import type { RankValues } from "./rank-values.js";
import { otherName, type SyncDomain, type SyncKernel } from "./sync-kernel.js";
import { both, costOf, type Place, type PlannedSync, sizeOf, type SyncPlan } from "./sync-plan.js";
import { hasSync, isWord, meaningOf, pairsOf } from "./sync-ops.js";
import { sayings, type Words, wordsIn, wordsOf, wouldStay } from "./words.js";

export interface Missing {
  readonly place: Place;
  readonly conflict: Conflict;
  /** All pairs of ranks whose accesses lack order there. */
  readonly pairs: RankPairs;
}

const MOST_ROUNDS = 16;
/** What it costs that ranks learn of each other's launches, which nothing waits for until the end; see `costOf`. */
const AROUND_COST = 1;

/** `place` adds what is missing to the plan; `check` lists it; `probe` stops at the first. */
export type Mode = "place" | "check" | "probe";

export class SyncWalk {
  readonly missing: Missing[] = [];
  /** Of the synchronisation in the last launch that was followed to its end. */
  cost = 0;
  /** How often ranks are behind where all have to be there, as where they wait in a circle. */
  circles = 0;
  private order: Order;
  private readonly laggards: Laggards;
  /** Whether what is planned has grown where ranks had gone on already: they are followed once more. */
  private isStale = false;
  private isForced = false;
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
    this.laggards = new Laggards(domain.ranks);
    this.around = plan.around;
  }

  private newOrder(): Order {
    const { kernel, packets } = this.shared;
    return new Order(kernel.world, this.domain.ranks, (buffer) => packets.has(buffer));
  }

  /** Follows launches until one begins like an earlier one that had the same copies of scratch. */
  launches(): void {
    do {
      this.isStale = false;
      this.order = this.newOrder();
      this.around = this.plan.around;
      this.laggards.clear();
      this.circles = 0;
      this.follow();
    } while (this.isStale);
  }

  private follow(): void {
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
      this.sequence(kernel.body.ops, this.domain.values[round % this.shared.period]!);
      this.gather();
      this.order.awaitMessages(0);
      this.settle(kernel.body, this.domain.callers, true);
      if (this.missing.length > 0 || this.isStale) return;
      this.order.nextLaunch(kept, this.around);
    }
  }

  private get isDone(): boolean {
    return this.isStale || (this.mode === "probe" && this.missing.length > 0);
  }

  sequence(ops: readonly Op[], values: readonly RankValues[]): void {
    for (const op of ops) {
      if (this.isDone) return;
      if (op.name === "barrier" && op.attributes["scope"] === "launch")
        this.around = pairsOf(op, this.shared.kernel.world);
      else if (op.name === "barrier") this.sync(meaningOf(op, this.shared.kernel.world));
      else if (isWord(op)) this.words(op, wordsOf(op, values));
      else if (op.name === "message") this.message(op, values);
      else if (op.name === "message_wait") this.awaitMessages(op);
      else if (this.shared.isUniformLoop(op)) this.loop(op, values);
      else if (this.shared.isUniformIf(op)) this.branches(op, values);
      else if (op.name === "if" && hasSync(op)) this.unevenWords(op, values);
      else if (op.regions.length > 0 || op.name === "load" || op.name === "store") this.step(op, values);
    }
  }

  private sync(sync: Sync): void {
    this.cost += costOf(sync);
    if (!this.laggards.areThere) return this.order.sync(sync);
    const { pairs, isGrid } = sync;
    const arrivals = new Map<number, Arrival>();
    this.come((rank) => arrivals.set(rank, this.order.arrival(rank)));
    this.come((rank) => {
      const tellers = this.domain.ranks.filter((from) => pairs.has(from, rank));
      const came = tellers.flatMap((from) => arrivals.get(from) ?? []);
      if (came.length < tellers.length && !this.isForced) return "stays";
      return this.order.leave(rank, came, isGrid);
    });
  }

  private come(stop: Stop): void {
    this.order.keepsNumbers = true;
    this.laggards.come(stop);
    this.order.keepsNumbers = this.laggards.areThere;
  }

  /** Where all have to be there: those that are behind go on, whatever they wait for. */
  private gather(): void {
    if (!this.laggards.areThere || this.isStale) return;
    this.circles++;
    this.goOn();
  }

  private goOn(): void {
    this.order.giveUpMatching();
    this.isForced = true;
    this.laggards.advance();
    this.isForced = false;
    this.order.keepsNumbers = false;
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
    this.gather();
    this.order.sync(this.shared.onStream);
    this.step(op, values);
    if (op.attributes["beside"] !== true) this.order.sync(this.shared.onStream);
  }

  private awaitMessages(op: Op): void {
    this.gather();
    this.order.awaitMessages(op.attributes["pending"] as number);
    this.order.sync(this.shared.onStream);
  }

  private step(op: Op, values: readonly RankValues[]): void {
    if (this.laggards.areThere) return this.eachRank(op, values);
    const named = this.accessesOf(op, values);
    this.settle(op, named, false);
    if (op.name === "message" && op.attributes["beside"] === true) this.order.addMessages(named);
    else this.order.add(named);
  }

  /** The same where ranks come to it one after the other. */
  private eachRank(op: Op, values: readonly RankValues[]): void {
    const { iteration } = this;
    this.planned(op);
    this.come((rank) => {
      const own = values.filter((v) => v.rank === rank);
      const named = this.accessesOf(op, own);
      const need = this.order.need(named);
      if (need !== null) this.lacks({ place: op, iteration }, need);
      this.order.add(named);
    });
  }

  /** What is planned grows if that helps; ranks that have gone on already are followed once more. */
  private lacks({ place, iteration }: Omit<PlannedSync, "sync">, { conflict, ...need }: Need): void {
    const planned = this.plan.get(place, iteration);
    const grown = planned === undefined ? need : both(planned, need);
    if (this.mode !== "place" || (planned !== undefined && sizeOf(grown) === sizeOf(planned)))
      return void this.missing.push({ place, conflict, pairs: need.pairs });
    this.plan.set(place, iteration, grown);
    this.isStale = true;
  }

  private accessesOf(op: Op, values: readonly RankValues[]): readonly Access[] {
    const { rotated } = this.plan;
    const accesses = op.name === "message" ? this.ofMessage(op) : this.ofRanks(op, values);
    const { packets } = this.shared;
    const hasCopies = (a: Access): boolean => rotated.has(a.buffer) || packets.has(a.buffer);
    const named = this.isOdd ? accesses.map((a) => (hasCopies(a) ? this.shared.otherCopy(a) : a)) : accesses;
    this.shared.looks += named.length;
    return named;
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
    if (this.isDone) return;
    const isMessage = !isAfter && "name" in place && place.name === "message";
    const need = (): Need | null => (isAfter ? this.order.needAfter(accesses) : this.order.need(accesses, isMessage));
    let planned = this.plan.get(place, this.iteration);
    const before = this.mode === "place" ? this.order.copy() : this.order;
    if (planned !== undefined) this.sync(planned);
    for (let more = need(); more !== null; more = need()) {
      if (this.mode !== "place") return void this.missing.push({ place, ...more });
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
    this.gather();
    const iterations = iterationsOf(op, values[0]!, Infinity);
    if (this.order.hasOpenNotifies) this.order.giveUpMatching();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const before = this.order.copy();
      this.within("/*", () => this.sequence(body.ops, inside));
      this.gather();
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
    this.gather();
    const before = this.order.copy();
    this.sequence(op.regions[0]!.ops, values);
    this.gather();
    const then = this.order;
    this.order = before;
    this.sequence(op.regions[1]!.ops, values);
    this.gather();
    this.order.merge(then);
  }

  /** notify and await under a condition that differs from rank to rank, and nothing else. */
  private unevenWords(op: Op, values: readonly RankValues[]): void {
    const words = wordsIn(op, values);
    if (words !== null) return this.words(op, words);
    this.gather();
    this.order.giveUpMatching();
    this.step(op, values);
  }

  private words(place: Op, words: Words): void {
    this.meetBefore(place, words);
    for (const say of sayings(words, (rank, { name, peer }) => {
      if (peer === null) return this.order.giveUpMatching();
      if (name === "notify") return this.order.notify(rank, peer);
      if (this.order.openNotifies(peer, rank) === 0 && !this.isForced) return "stays";
      return this.order.await(rank, peer);
    }))
      this.come(say);
    if (this.laggards.areThere && this.plan.isInStep) this.goOn();
  }

  /**
   * Where waits come before their signals, ranks that meet below may wait in a circle, so they meet here, if the plan asks for it. While
   * a rank is behind already, they would here, too.
   */
  private meetBefore(place: Op, words: Words): void {
    const { plan, iteration } = this;
    const isAsked = plan.isEarly && this.mode === "place" && plan.get(place, iteration) === undefined;
    if (isAsked && !this.laggards.areThere && wouldStay(words, this.domain.ranks, this.order))
      plan.set(place, iteration, { pairs: RankPairs.all(this.shared.kernel.world), isGrid: true });
    this.planned(place);
  }
}
