/** How messages can stand for an access to ranks beyond: which of the loops around it decide about the peer, and which count its elements. */
import { type Buffer, bufferOf, freshName, isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js"; // prettier-ignore
import { walk } from "../../ir/visit.js";
import type { Span } from "../../source.js";
import { DTYPES } from "../../types/dtype.js";
import { extent, type Extent, productOf } from "../../types/extent.js";
import { type Definitions } from "./analysis.js";
import { areDisjoint, type Interval } from "./forms.js";
import { scopesInside } from "./iterations.js";
import { boundsOf, isAllRanks, type Step, tripCount } from "./nests.js";
import { OpenWaits } from "./open-waits.js";
import { Refused } from "./other-side.js";
import { RankValues } from "./rank-values.js";
import { isAskedAlike, loopOverPeers } from "./same-for-all.js";
import { clamped, upperBound, valueExtent } from "./upper-bound.js";

/** Iterations around an access that each have a message of their own, at most. */
const MOST_LEADS = 64;
/** What an outbox or inbox has for one peer is rounded up to so many elements, so that each peer's part begins aligned. */
const ROUND = 64;

const UNEQUAL_LOOP = "the loop over the ranks that it goes to does not run equally often on all ranks";
const ALL_RANKS_HELP =
  "go through all ranks, and let a condition say which are meant: 'sum(q in ranks) where(q < rank, …, 0)', or 'for q in ranks' and 'if q < rank'";
const WAITS_HELP = "let a loop in order say which rank hands on what it has got, without signals and waits";

/** An access to ranks beyond that no message can stand for. */
export interface Refusal {
  readonly span: Span;
  readonly kind: "load" | "store";
  readonly buffer: string;
  readonly reason: string;
  /** Messages that each rank would send as it is written, of so many bytes each; null where nobody knows before a launch. */
  readonly messages: Extent | null;
  readonly bytes: number;
  /** What to do, where there is something better than what is said of all. */
  readonly help?: string;
  /** It is the ranks, and not the line, that are to change. */
  readonly isOfRanks?: boolean;
}

/** The program is not one for ranks that share no addresses. */
export class OutOfReach extends Error {
  constructor(readonly refusals: readonly Refusal[]) {
    super(refusals.map(({ kind, buffer, reason }) => `${kind} of '${buffer}': ${reason}`).join("\n"));
  }
}

/** One variable of a loop around an access. */
export interface Variable {
  readonly loop: Op;
  /** Number of the variable. */
  readonly d: number;
  /** The peer is this variable, or it divided by so much: it then goes through the peer's part of the loop. */
  readonly part: Value | 1 | null;
}

/** What becomes of one access. */
export interface Plan {
  readonly access: Op;
  readonly path: readonly Step[];
  /** The loop over all ranks whose variable is the peer, which the other side need not go through. */
  readonly collapsed: Op | null;
  /** Loops that decide about the peer: each iteration has a message of its own. */
  readonly leads: readonly Op[];
  /** Variables that the position of an iteration is counted by, the outermost first. */
  readonly variables: readonly Variable[];
  /** Where all peers get the same, the outbox has one part for all of them. */
  readonly same: SameForAll | null;
  readonly outbox: Buffer;
  readonly inbox: Buffer;
}

export interface SameForAll {
  /** The loop over peers before which a store's part is stored; null of loads, whose part is stored before the nest. */
  readonly before: Op | null;
}

/** What one rank may touch by one load or store, in one iteration of the loops whose iterations are known. */
interface Touched {
  readonly by: number;
  /** The rank whose memory it is; null where it is not known. */
  readonly owner: number | null;
  readonly part: readonly Interval[];
}

function isTiles(op: Op): boolean {
  return op.attributes["map"] === "tiles";
}

/** Loops whose iterations each go through all tiles. */
function loopsAround(path: readonly Step[]): readonly Op[] {
  const at = path.findIndex(({ op }) => isTiles(op));
  return path.slice(0, at < 0 ? path.length : at).flatMap(({ op }) => (op.name === "if" ? [] : [op]));
}

/** Loops that an access goes through within one iteration over tiles. */
function loopsInside(path: readonly Step[]): readonly Op[] {
  const at = path.findIndex(({ op }) => isTiles(op));
  return at < 0 ? [] : path.slice(at + 1).flatMap(({ op }) => (op.name === "if" ? [] : [op]));
}

export class Planner {
  private readonly buffers: Buffer[] = [];
  private readonly waits: OpenWaits;
  private touched: { readonly nest: Op; readonly by: ReadonlyMap<Op, readonly Touched[]> } | null = null;

  constructor(
    private readonly kernel: Kernel,
    private readonly definitions: Definitions,
    /** Values that differ from rank to rank. */
    private readonly varying: ReadonlySet<Value>,
  ) {
    this.waits = new OpenWaits(kernel, definitions);
  }

  /** @throws Refused where no message can stand for the access */
  plan(nest: Op, access: Op, path: readonly Step[]): Plan {
    const { definitions } = this;
    const { world } = this.kernel;
    if (this.waits.areAt(nest))
      throw new Refused("a wait above it, or in it, is for a signal that is not above it", WAITS_HELP);
    this.requireOrder(nest, access, path);
    const peer = memoryOperands(access).peer!;
    const around = path.map(({ op }) => op).filter((op) => op.name !== "if");
    const collapsed =
      around.find((op) => op.regions[0]!.arguments[0] === peer && isAllRanks(op, world, definitions)) ?? null;
    const { relevant, deciding } = this.reached(access, path, collapsed);
    const leads: Op[] = [];
    const variables: Variable[] = [];
    for (const loop of around) {
      if (loop === collapsed) continue;
      loop.regions[0]!.arguments.forEach((v, d) => {
        if (!relevant.has(v)) return;
        if (!deciding.has(v)) return void variables.push({ loop, d, part: null });
        const quotient = definitions.binary(peer, "div");
        const divisor = quotient?.operands[0] === v ? quotient.operands[1]! : null;
        const isFixed = divisor !== null && !definitions.argumentsOf(divisor).some((a) => relevant.has(a));
        const part = isFixed ? divisor : peer === v && loop.attributes["map"] === "tiles" ? 1 : null;
        if (part !== null) variables.push({ loop, d, part });
        else if (loop.attributes["map"] !== "tiles" && tripCount(loop, definitions, MOST_LEADS) !== null)
          leads.push(loop);
        else if (loop.attributes["map"] === "tiles")
          throw new Refused("which rank it goes to changes from element to element");
        else throw new Refused(UNEQUAL_LOOP, ALL_RANKS_HELP);
      });
    }
    if (access.name === "store") this.requireOneIteration(nest, access, { path, collapsed, leads, variables });
    const counted = new Set(variables.map(({ loop, d }) => loop.regions[0]!.arguments[d]!));
    for (const { loop, d } of variables)
      if (boundsOf(loop, d).some((v) => definitions.argumentsOf(v).some((a) => counted.has(a))))
        throw new Refused("the loops around it bound each other, so its elements are no box");
    const most = variables.map(({ loop, d, part }) => {
      const [lo, hi] = boundsOf(loop, d);
      if (part === 1) return 1;
      return (
        (part === null ? null : valueExtent(part, definitions)) ??
        upperBound(lo, hi, definitions) ??
        this.longest(lo, hi)
      );
    });
    const { dtype } = bufferOf(this.kernel, text(access, "buffer"));
    if (most.some((e) => e === null)) throw new Refused("how often a loop around it runs is not known before a launch");
    const chunk = extent("mul", extent("ceildiv", productOf((most as Extent[]).map(clamped)), ROUND), ROUND);
    const loops = { access, path, collapsed, leads, variables };
    const same = this.sameForAll(loops);
    const each = leads.map((op) => tripCount(op, definitions)!);
    const box = (kind: string, shape: readonly Extent[]): Buffer => {
      const taken = { ...this.kernel, buffers: [...this.kernel.buffers, ...this.buffers] };
      const name = freshName(taken, `${text(access, "buffer")}_${kind}`);
      const made: Buffer = { name, role: "scratch", dtype, shape, symmetric: false };
      this.buffers.push(made);
      return made;
    };
    const parts = same === null ? [...each, world] : access.name === "load" ? each : [];
    return { ...loops, same, outbox: box("outbox", [...parts, chunk]), inbox: box("inbox", [...each, world, chunk]) };
  }

  private sameForAll(loops: Pick<Plan, "access" | "path" | "collapsed" | "leads" | "variables">): SameForAll | null {
    if (loops.access.name === "load") return isAskedAlike(loops, this.varying) ? { before: null } : null;
    const before = loopOverPeers(loops, this.definitions);
    return before === null ? null : { before };
  }

  /** An access that no message can stand for, with what it would take as it is written. */
  refusal(access: Op, path: readonly Step[], { message: reason, help }: Refused): Refusal {
    const name = text(access, "buffer");
    const times = path.flatMap(({ op }) =>
      op.regions[0]!.arguments.map((_, d) => {
        const [lo, hi] = boundsOf(op, d);
        const bound = upperBound(lo, hi, this.definitions);
        return bound === null ? this.longest(lo, hi) : clamped(bound);
      }),
    );
    return {
      span: access.span,
      kind: access.name as Refusal["kind"],
      buffer: name,
      reason,
      messages: times.some((t) => t === null) ? null : productOf(times as Extent[]),
      bytes: DTYPES[bufferOf(this.kernel, name).dtype].bytes,
      ...(help !== undefined && { help }),
    };
  }

  /** What is sent before a nest, or arrives after it, must be what the nest itself would have found or left. */
  private requireOrder(nest: Op, access: Op, path: readonly Step[]): void {
    const name = text(access, "buffer");
    const ownTiles = path.find(({ op }) => isTiles(op))?.op;
    const around = loopsAround(path);
    const insideTiles = new Set(loopsInside(path));
    const isSerial = around.some((op) => op.attributes["map"] === "serial");
    let isPast = false;
    walk({ arguments: [], ops: [nest] }, (op, parents) => {
      if (op === access) isPast = true;
      if (op === access || (op.name !== "load" && op.name !== "store") || text(op, "buffer") !== name) return;
      if (op.name === access.name) {
        if (op.name === "store" && this.mayMeet(nest, access, op))
          throw new Refused(`one loop stores to '${name}' in two places, and messages do not say which of them is last`); // prettier-ignore
        return;
      }
      const isTogether = parents.find(isTiles) === ownTiles;
      const isToPeers = access.name === "load" && isRemote(op);
      // Iterations over tiles do not touch what others store: what one loads before it stores, it finds as it was before the nest.
      if (isToPeers && !(isPast && isTogether && !parents.some((o) => insideTiles.has(o))))
        throw new Refused(`'${name}' is stored to on peers in the same loop, before it is loaded or in other iterations, so its elements have no one value to send`); // prettier-ignore
      // What a rank stores in memory of its own comes in no message.
      const isMeant = (a: Touched): boolean => isToPeers || a.by !== a.owner;
      if (isSerial || !isTogether || (around.length > 0 && this.mayMeet(nest, access, op, isMeant)))
        throw new Refused(
          `'${name}' goes to and fro in one loop, whose iterations would each take messages of their own`,
        );
    });
  }

  /**
   * Peers take what a nest has stored in any order of its iterations, sender by sender. So an iteration of a loop in order must not
   * store where another one has, unless all its iterations share a position, which has what the last of them stored.
   */
  private requireOneIteration(
    nest: Op,
    access: Op,
    plan: Pick<Plan, "path" | "collapsed" | "leads" | "variables">,
  ): void {
    const { definitions } = this;
    const { path, collapsed, leads, variables } = plan;
    const name = text(access, "buffer");
    const around = loopsAround(path);
    const ordered = variables.filter(({ loop }) => !isTiles(loop));
    const turned = new Set([...ordered.map(({ loop }) => loop), ...leads]);
    const isTurned = around.some((op) => turned.has(op));
    // Iterations of a loop over tiles that stands around the iterations have no order between them.
    const counted = (isTurned ? variables : ordered).map(({ loop, d }) => loop.regions[0]!.arguments[d]!);
    const open = new Set(ordered.length > 0 ? [...counted, ...leads.map((op) => op.regions[0]!.arguments[0]!)] : []);
    const { indices } = memoryOperands(access);
    for (let found = true; found;) {
      found = false;
      for (const index of indices) {
        const [v, ...others] = definitions.argumentsOf(index).filter((a) => open.has(a));
        if (v === undefined || others.length > 0 || !this.isSteady(index, v)) continue;
        found = open.delete(v);
      }
    }
    if ([...turned].some((op) => op.regions[0]!.arguments.some((v) => open.has(v))))
      throw new Refused(
        `iterations of a loop may store to one element of '${name}', and messages do not say which is last`,
      );
    const isShared = (op: Op): boolean => op === collapsed || (!turned.has(op) && this.isAlike(op));
    if (around.every(isShared) || !this.mayMeet(nest, access, access, (a, b) => a.by !== b.by)) return;
    throw new Refused(`ranks may store to one element of '${name}' in iterations of one loop, and messages do not say which is last`); // prettier-ignore
  }

  /** Whether an index surely differs wherever this one variable of it does, by its form. */
  private isSteady(index: Value, v: Value): boolean {
    if (index === v) return true;
    const op = this.definitions.of(index);
    if (op?.name !== "binary") return false;
    const [own, ...others] = op.operands.filter((o) => this.definitions.argumentsOf(o).includes(v));
    if (own === undefined || others.length > 0 || !this.isSteady(own, v)) return false;
    const fn = op.attributes["fn"];
    return fn === "add" || fn === "sub" || (fn === "mul" && op.operands.some((o) => (this.definitions.constant(o) ?? 0) !== 0)); // prettier-ignore
  }

  /** Whether a loop surely has the same iterations on all ranks. */
  private isAlike(op: Op): boolean {
    return op.operands.every((v) => {
      const keys = Array.from({ length: this.kernel.world }, (_, r) => RankValues.of(this.definitions, r).form(v)?.key);
      return keys.every((key) => key !== undefined && key === keys[0]);
    });
  }

  /** Whether two accesses of a nest may go to one element, of those pairs of them that are meant. */
  private mayMeet(nest: Op, one: Op, other: Op, isMeant: (a: Touched, b: Touched) => boolean = () => true): boolean {
    if (this.touched?.nest !== nest) this.touched = { nest, by: this.touchedIn(nest) };
    const of = (op: Op): readonly Touched[] => this.touched!.by.get(op) ?? [];
    const isApart = (a: Touched, b: Touched): boolean =>
      (a.owner !== null && b.owner !== null && a.owner !== b.owner) ||
      a.part.some((interval, d) => areDisjoint(interval, b.part[d]!));
    const byOwner = new Map<number | null, Touched[]>();
    for (const b of of(other)) {
      const list = byOwner.get(b.owner);
      if (list === undefined) byOwner.set(b.owner, [b]);
      else list.push(b);
    }
    // Where both owners are known, only what is of one of them can meet.
    const near = ({ owner }: Touched): readonly Touched[] =>
      owner === null ? of(other) : [...(byOwner.get(owner) ?? []), ...(byOwner.get(null) ?? [])];
    return of(one).some((a) => near(a).some((b) => isMeant(a, b) && !isApart(a, b)));
  }

  private touchedIn(nest: Op): ReadonlyMap<Op, readonly Touched[]> {
    const found = new Map<Op, Touched[]>();
    const region = ({ ops }: Region, values: RankValues): void => ops.forEach((op) => visit(op, values));
    const visit = (op: Op, values: RankValues): void => {
      if (op.name === "load" || op.name === "store") {
        const { peer, indices } = memoryOperands(op);
        const owner = isRemote(op) ? values.number(peer!) : values.rank;
        const one = { by: values.rank, owner, part: indices.map((v) => values.interval(v)) };
        const all = found.get(op);
        if (all === undefined) found.set(op, [one]);
        else all.push(one);
      } else if (op.name === "if") {
        const condition = values.number(op.operands[0]!);
        op.regions.forEach((r, i) => {
          if (condition === null || (condition !== 0) === (i === 0)) region(r, values);
        });
      } else if (op.regions.length > 0) {
        for (const inside of scopesInside(op, values)) region(op.regions[0]!, inside);
      }
    };
    const valuesOf = RankValues.ofEach(this.definitions);
    for (let rank = 0; rank < this.kernel.world; rank++) visit(nest, valuesOf(rank));
    return found;
  }

  /** The most iterations of a loop on any rank, where ranks alone decide about them. */
  private longest(lo: Value, hi: Value): number | null {
    const lengths = Array.from({ length: this.kernel.world }, (_, rank) => {
      const values = RankValues.of(this.definitions, rank);
      const [from, to] = [values.number(lo), values.number(hi)];
      return from === null || to === null ? null : to - from;
    });
    return lengths.some((n) => n === null) ? null : Math.max(0, ...(lengths as number[]));
  }

  /** Variables of the loops around an access that matter for it, and those of them that decide which rank it goes to. */
  private reached(
    access: Op,
    path: readonly Step[],
    collapsed: Op | null,
  ): { readonly relevant: ReadonlySet<Value>; readonly deciding: ReadonlySet<Value> } {
    const { definitions } = this;
    const { peer, indices } = memoryOperands(access);
    const conditions = path.filter(({ op }) => op.name === "if").map(({ op }) => op.operands[0]!);
    const closed = (roots: readonly Value[]): Set<Value> => {
      const found = new Set<Value>();
      const work = [...roots];
      for (let v = work.pop(); v !== undefined; v = work.pop())
        for (const a of definitions.argumentsOf(v)) {
          if (found.has(a)) continue;
          found.add(a);
          const step = path.find(({ op }) => op.regions[0]!.arguments.includes(a));
          if (step !== undefined) work.push(...boundsOf(step.op, step.op.regions[0]!.arguments.indexOf(a)));
        }
      return found;
    };
    return {
      relevant: closed([peer!, ...indices, ...conditions]),
      deciding: collapsed === null ? closed([peer!]) : new Set(),
    };
  }
}
