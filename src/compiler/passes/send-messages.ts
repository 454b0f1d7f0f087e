/**
 * send-messages: what goes to ranks that share no addresses with this one goes there in messages between kernels.
 *
 * A store `y@p[g(i)] = v` in a nest of loops becomes `outbox[p, k] = v` where p is beyond, k the position of the iteration among
 * those that p gets. After the nest one message brings each peer its part of the outbox, into `inbox@p[rank, k]`, and every rank
 * goes through the nests of all senders and takes what was meant for it: `y[g(i)] = inbox[q, k]`. A load `x@p[f(i)]` becomes one
 * of `inbox[p, k]`; before the nest every rank goes through the nests of all readers and stores what they will ask for, for
 * readers of its domain where they look for it, for those beyond in an outbox, whose messages come before the nest.
 *
 * What both sides do is the program's own loops, so nothing is known here of any collective. Loops in order that messages stand in
 * are written out iteration by iteration. Barriers, signals and waits keep what they say between ranks of one domain: between domains the
 * messages are the order that their data needs, and derive-sync finds whatever else there is.
 */
import { Builder } from "../ir/builder.js";
import { type Buffer, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { rewriteOps, Substitution } from "../ir/visit.js";
import { isNear, isWhole, type Reach } from "../machine/reach.js";
import type { Span } from "../source.js";
import type { PassOptions } from "./options.js";
import { Definitions, rankVarying } from "./support/analysis.js";
import { MOST_RANKS } from "./support/copies.js";
import { type FarOps, farOps } from "./support/far.js";
import { accessesIn, boundsOf, type Step } from "./support/nests.js";
import { OutOfReach, type Plan, Planner, type Refusal } from "./support/message-plans.js";
import { OtherRank, Refused } from "./support/other-side.js";
import { Positions, type Walk } from "./support/positions.js";
import { distributeConditions } from "./support/rank-conditions.js";
import { beforeLoop } from "./support/same-for-all.js";
import { writtenOut } from "./support/written-out.js";

export function sendMessages(kernel: Kernel, { ranksPerDomain }: Pick<PassOptions, "ranksPerDomain">): Kernel {
  const reach: Reach = { ranksPerDomain };
  if (isWhole(kernel.world, reach)) return kernel;
  const first = farOps(kernel, reach);
  requireListed(kernel, first, reach);
  const { kernel: apart } = distributeConditions(writtenOut(kernel, first.far));
  return new Messages(apart, reach).finished();
}

/** Refuses ranks that no messages are listed for before anything is made of them, which takes long. @throws OutOfReach */
function requireListed({ world }: Kernel, { far }: FarOps, { ranksPerDomain }: Reach): void {
  const access = [...far].find(isRemote);
  if (world <= MOST_RANKS || access === undefined) return;
  throw new OutOfReach([
    {
      span: access.span,
      kind: access.name === "load" ? "load" : "store",
      buffer: "",
      messages: null,
      bytes: 0,
      reason: `there are ${world} ranks, and messages are listed rank by rank for ${MOST_RANKS} at most`,
      help: `take ${MOST_RANKS} ranks or fewer, such as --reach ${Math.max(1, Math.floor(MOST_RANKS / ranksPerDomain))}x${Math.min(ranksPerDomain, MOST_RANKS)}; or --reach 1x${world} where all of them share addresses`,
      isOfRanks: true,
    },
  ]);
}

class Messages {
  private readonly buffers: Buffer[] = [];
  private readonly refusals: Refusal[] = [];
  private readonly definitions: Definitions;
  private readonly ops: FarOps;
  private readonly build: Builder;
  private readonly planner: Planner;
  private readonly outside = new Substitution();
  private readonly positions: Positions;

  constructor(
    private readonly kernel: Kernel,
    private readonly reach: Reach,
  ) {
    this.definitions = new Definitions(kernel);
    this.ops = farOps(kernel, reach);
    this.build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
    const varying = rankVarying(kernel);
    this.planner = new Planner(kernel, this.definitions, varying);
    this.positions = new Positions(this.build, new OtherRank(this.build, this.definitions, varying, this.outside));
  }

  /** @throws OutOfReach naming every access that no message can stand for */
  finished(): Kernel {
    for (const op of this.kernel.body.ops) {
      this.build.span = op.span;
      const isFar = accessesIn(op).some(({ access }) => this.ops.far.has(access));
      if (isFar) this.nest(op);
      else rewriteOps([op], this.build, this.outside, (o, _, values) => this.inDomain(o, values));
    }
    if (this.refusals.length > 0) throw new OutOfReach(this.refusals);
    const buffers = [...this.kernel.buffers, ...this.buffers];
    const { ranksPerDomain } = this.reach;
    return { ...this.kernel, ranksPerDomain, buffers, body: { arguments: [], ops: this.build.ops } };
  }

  // -- synchronisation ----------------------------------------------------------------------------------------------

  /** Barriers and words that stay between ranks of one domain. */
  private inDomain(op: Op, values: Substitution): boolean {
    const { build, kernel } = this;
    if (op.name === "barrier") {
      const pairs = RankPairs.parse(text(op, "ranks"), kernel.world)!;
      const isGrid = op.attributes["scope"] === "grid";
      const left = RankPairs.where(kernel.world, (a, b) => pairs.has(a, b) && isNear(a, b, this.reach));
      const ranks = left.between > 0 ? left : RankPairs.self(kernel.world);
      if (left.between > 0 || isGrid) build.op("barrier", [], { ...op.attributes, ranks: ranks.print() }, null);
      return true;
    }
    if (!this.ops.far.has(op) || (op.name !== "notify" && op.name !== "await")) return false;
    if (!this.ops.near.has(op)) return true;
    const peer = values.get(op.operands[0]!);
    build.if(this.isNear(build.rank(), peer), () => build.op(op.name, [peer], op.attributes, null));
    return true;
  }

  /** A rank of this domain, as a store goes there: where domains have one rank, to own memory. */
  private nearPeer(peer: Value): Value | null {
    return this.reach.ranksPerDomain === 1 ? null : peer;
  }

  private isNear(a: Value, b: Value): Value {
    const { build } = this;
    const size = build.constant(this.reach.ranksPerDomain);
    return build.compare("eq", build.div(a, size), build.div(b, size));
  }

  // -- nests --------------------------------------------------------------------------------------------------------

  private nest(nest: Op): void {
    const { build } = this;
    const plans = accessesIn(nest).flatMap(({ access, path }) => {
      if (!this.ops.far.has(access)) return [];
      try {
        const plan = this.planner.plan(nest, access, path);
        this.buffers.push(plan.outbox, plan.inbox);
        return [plan];
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.refuse(access, path, error);
        return [];
      }
    });
    const of = (name: string): Plan[] => plans.filter(({ access }) => access.name === name);
    const [loads, stores] = [of("load"), of("store")];
    for (const plan of loads) this.attempt(plan, () => this.provide(plan));
    this.message(loads, nest.span);
    build.span = nest.span;
    this.rewritten(nest, plans);
    this.message(stores, nest.span);
    for (const plan of stores) this.attempt(plan, () => this.take(plan));
  }

  private attempt(plan: Plan, body: () => void): void {
    try {
      body();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(plan.access, plan.path, error);
    }
  }

  private refuse(access: Op, path: readonly Step[], refused: Refused): void {
    if (this.refusals.some(({ span }) => span.start === access.span.start)) return;
    this.refusals.push(this.planner.refusal(access, path, refused));
  }

  // -- the two sides ------------------------------------------------------------------------------------------------

  /** Every rank stores what readers will ask for: near ones where they look for it, others in the outbox. */
  private provide(plan: Plan): void {
    const { build } = this;
    const { access, inbox, outbox, same } = plan;
    const owner = build.rank();
    const walked = (actor: Value, store: (value: Value, leads: readonly Value[], k: Value) => void): void =>
      this.through(plan, { actor, owner, values: new Substitution() }, (at, leads, k) => {
        const places = memoryOperands(access).indices.map((v) => this.positions.value(v, at));
        store(build.load(text(access, "buffer"), places, access.results[0]!.type), leads, k);
      });
    if (same !== null) walked(owner, (value, leads, k) => build.store(outbox.name, value, [...leads, k]));
    this.others((actor) =>
      build.if(
        this.isNear(actor, owner),
        () => walked(actor, (value, leads, k) => build.store(inbox.name, value, [...leads, owner, k], this.nearPeer(actor))), // prettier-ignore
        () => {
          if (same === null) walked(actor, (value, leads, k) => build.store(outbox.name, value, [...leads, actor, k]));
        },
      ),
    );
  }

  /** Every rank takes from its inbox what senders of other domains have stored for it. */
  private take(plan: Plan): void {
    const { build } = this;
    const { access, inbox } = plan;
    const owner = build.rank();
    const { type } = access.operands[0]!;
    this.others((actor) =>
      build.if(
        this.isNear(actor, owner),
        () => {},
        () =>
          this.through(plan, { actor, owner, values: new Substitution() }, (at, leads, k) => {
            const places = memoryOperands(access).indices.map((v) => this.positions.value(v, at));
            build.store(text(access, "buffer"), build.load(inbox.name, [...leads, actor, k], type), places);
          }),
      ),
    );
  }

  private others(body: (other: Value) => void): void {
    const { build } = this;
    build.for("ranks", [[build.constant(0), build.constant(this.kernel.world)]], ([other]) => body(other!));
  }

  /** One message to each peer beyond, of what these plans have for it. */
  private message(plans: readonly Plan[], span: Span): void {
    if (plans.length === 0) return;
    const { build } = this;
    build.span = span;
    const region = build.region(0, () => {
      for (const plan of plans) this.attempt(plan, () => this.sent(plan));
    });
    build.op("message", [], {}, null, [region]);
  }

  private sent(plan: Plan): void {
    const { build } = this;
    const { access, inbox, outbox, same } = plan;
    const own = build.rank();
    this.others((other) =>
      build.if(
        this.isNear(own, other),
        () => {},
        () => {
          const isLoad = access.name === "load";
          const walked: Walk = { actor: isLoad ? other : own, owner: isLoad ? own : other, values: new Substitution() };
          this.toPeer(plan, walked, 0, (at, leads) => {
            build.span = access.span;
            const count = this.positions
              .ranges(plan, at)
              .map(({ length }) => length)
              .reduce((a, b) => build.mul(a, b), build.constant(1));
            build.for("tiles", [[build.constant(0), count]], ([k]) => {
              const type = isLoad ? access.results[0]!.type : access.operands[0]!.type;
              const from = same === null ? [...leads, other, k!] : [...(isLoad ? leads : []), k!];
              build.store(inbox.name, build.load(outbox.name, from, type), [...leads, own, k!], other);
            });
          });
        },
      ),
    );
  }

  /** Goes through all iterations of the actor in which the access goes to the owner. */
  private through(plan: Plan, walked: Walk, leaf: (at: Walk, leads: readonly Value[], k: Value) => void): void {
    const { build } = this;
    this.toPeer(plan, walked, 0, (at, leads) => {
      build.span = plan.access.span;
      const ranges = this.positions.ranges(plan, at);
      const bounds = ranges.map(({ lo, hi }) => [lo, hi] as const);
      const counted = bounds.length > 0 ? bounds : [[build.constant(0), build.constant(1)] as const];
      build.for("tiles", counted, (variables) => {
        const values = new Substitution(at.values);
        plan.variables.forEach(({ loop, d }, i) => values.set(loop.regions[0]!.arguments[d]!, variables[i]!));
        const inside = { ...at, values };
        const k = this.positions.position(ranges, variables);
        this.under(plan, inside, 0, (last) => leaf(last, leads, k));
      });
    });
  }

  /** Loops and conditions that the access stands in and that say which rank it goes to, and the test that it is the owner. */
  private toPeer(plan: Plan, at: Walk, step: number, body: (at: Walk, leads: readonly Value[]) => void): void {
    const { build } = this;
    const { path, collapsed, leads, access, variables } = plan;
    const inner = { ...at, values: new Substitution(at.values) };
    const next = path[step];
    if (next === undefined) {
      const indices = leads.map((op) =>
        build.sub(this.positions.value(op.regions[0]!.arguments[0]!, at), this.positions.value(op.operands[0]!, at)),
      );
      if (collapsed !== null || variables.some(({ part }) => part !== null)) return body(inner, indices);
      const peer = this.positions.value(memoryOperands(access).peer!, inner);
      return build.if(build.compare("eq", peer, at.owner), () => body(inner, indices));
    }
    const { op, region } = next;
    if (op === collapsed) {
      inner.values.set(op.regions[0]!.arguments[0]!, at.owner);
      return this.toPeer(plan, inner, step + 1, body);
    }
    if (leads.includes(op)) {
      const [lo, hi] = op.operands.map((v) => this.positions.value(v, inner)) as [Value, Value];
      return build.for("serial", [[lo, hi]], ([iteration]) => {
        inner.values.set(op.regions[0]!.arguments[0]!, iteration!);
        this.toPeer(plan, inner, step + 1, body);
      });
    }
    if (op.name !== "if" || this.isInside(plan, op)) return this.toPeer(plan, inner, step + 1, body);
    this.condition(op, region, inner, () => this.toPeer(plan, inner, step + 1, body));
  }

  /** The conditions that change from element to element, and loops whose iterations store to the same element, if any. */
  private under(plan: Plan, at: Walk, step: number, leaf: (at: Walk) => void): void {
    const next = plan.path[step];
    if (next === undefined) return leaf(at);
    const { op, region } = next;
    const inner = { ...at, values: new Substitution(at.values) };
    const further = (): void => this.under(plan, inner, step + 1, leaf);
    if (op.name === "if") return this.isInside(plan, op) ? this.condition(op, region, inner, further) : further();
    if (plan.access.name === "load" || op === plan.collapsed || plan.leads.includes(op)) return further();
    // Where a variable that nothing is counted by has no iteration, nothing was stored.
    const { build, definitions } = this;
    const test = (d: number): void => {
      if (d === op.regions[0]!.arguments.length) return further();
      const bounds = boundsOf(op, d);
      const [from, to] = bounds.map((v) => definitions.constant(v));
      if (plan.variables.some((v) => v.loop === op && v.d === d) || (from !== undefined && to !== undefined && from < to)) return test(d + 1); // prettier-ignore
      const [lo, hi] = bounds.map((v) => this.positions.value(v, inner)) as [Value, Value];
      build.if(build.compare("lt", lo, hi), () => test(d + 1));
    };
    test(0);
  }

  private condition(op: Op, region: number, at: Walk, body: () => void): void {
    const condition = this.positions.value(op.operands[0]!, at);
    if (region === 0) this.build.if(condition, body);
    else this.build.if(condition, () => {}, body); // prettier-ignore
  }

  /** Whether a condition depends on variables that positions are counted by. */
  private isInside(plan: Plan, op: Op): boolean {
    const reached = this.definitions.argumentsOf(op.operands[0]!);
    return plan.variables.some(({ loop, d }) => reached.includes(loop.regions[0]!.arguments[d]!));
  }

  /** The nest with its accesses to ranks beyond in boxes of this rank's own. */
  private rewritten(nest: Op, plans: readonly Plan[]): void {
    const { build } = this;
    rewriteOps([nest], build, this.outside, (op, _, values): boolean => {
      for (const plan of plans) if (plan.same?.before === op) this.storeForAll(plan, op, values);
      const plan = plans.find(({ access }) => access === op);
      if (plan === undefined) return this.inDomain(op, values);
      const { value, peer, indices } = memoryOperands(op);
      const to = values.get(peer!);
      const leads = plan.leads.map((lead) =>
        build.sub(values.get(lead.regions[0]!.arguments[0]!), values.get(lead.operands[0]!)),
      );
      const k = this.ownPosition(plan, to, values);
      if (op.name === "load") {
        values.set(op.results[0]!, build.load(plan.inbox.name, [...leads, to, k], op.results[0]!.type));
        return true;
      }
      const near = (): void => build.store(text(op, "buffer"), values.get(value!), indices.map((v) => values.get(v)), this.nearPeer(to)); // prettier-ignore
      const far = (): void => {
        if (plan.same === null) build.store(plan.outbox.name, values.get(value!), [...leads, to, k]);
      };
      if (this.ops.near.has(op)) build.if(this.isNear(build.rank(), to), near, far);
      else far();
      return true;
    });
  }

  /** Where this rank is in its own nest. */
  private ownPosition(plan: Plan, owner: Value, values: Substitution): Value {
    const variables = plan.variables.map(({ loop, d }) => values.get(loop.regions[0]!.arguments[d]!));
    const at: Walk = { actor: this.build.rank(), owner, values };
    return this.positions.position(this.positions.ranges(plan, at), variables);
  }

  /** What every peer gets of a store, before the loop over them. */
  private storeForAll(plan: Plan, loop: Op, values: Substitution): void {
    const { build } = this;
    const inner = new Substitution(values);
    const value = beforeLoop(memoryOperands(plan.access).value!, loop, this.definitions, build, inner);
    build.store(plan.outbox.name, value, [this.ownPosition(plan, build.rank(), inner)]);
  }
}
