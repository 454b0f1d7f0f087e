/**
 * A nest of loops whose accesses to peers' memory have become accesses to boxes in the rank's own: `x@p[i]` is the box's element for rank p
 * and the position of the iteration. Where the rank itself is left out, what it has of its own stands in place of what it would have sent itself.
 */
import type { Builder } from "../../ir/builder.js";
import { type Attributes, type Buffer, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js"; // prettier-ignore
import { COMBINES, definitionOf, type Reduction } from "../../ir/ops.js";
import { copyOp, rewriteOps, Substitution } from "../../ir/visit.js";
import { scalarOf } from "../../ir/types.js";
import { isFloat } from "../../types/dtype.js";
import type { Step } from "./nests.js";

/** What becomes of one access. */
export interface Staged {
  readonly access: Op;
  readonly buffer: Buffer;
  readonly path: readonly Step[];
  /** The loop over ranks whose variable is the peer, which the other side need not go through. */
  readonly collapsed: Op | null;
  /** Loops whose iterations have places of their own: those around the nest, then those in it. */
  readonly leads: readonly Op[];
  /** Whether the rank itself is left out of `collapsed`, since it has its own elements at hand. */
  readonly leavesOut: boolean;
}

/** Loops over all ranks of which the rank's own iteration is under way. */
type Own = ReadonlySet<Op>;

export class StagedNest {
  private readonly positions = new Map<Op, Value>();
  /** Loops whose iterations have to be counted from 0. */
  private readonly loops: ReadonlySet<Op>;
  private readonly leftOut: ReadonlySet<Op>;

  /** @param extra of loops over tiles */
  constructor(
    private readonly kernel: Kernel,
    private readonly staged: readonly Staged[],
    private readonly extra: Attributes,
    private readonly build: Builder,
  ) {
    this.loops = new Set(staged.flatMap(({ path }) => path.map(({ op }) => op)));
    this.leftOut = new Set(staged.flatMap(({ collapsed, leavesOut }) => (leavesOut ? [collapsed!] : [])));
  }

  emit(nest: Op, values: Substitution): void {
    this.ops([nest], values, new Set());
  }

  private ops(ops: readonly Op[], values: Substitution, own: Own): void {
    rewriteOps(ops, this.build, values, (op, _, inner) => this.rewrite(op, inner, own));
  }

  private rewrite(op: Op, values: Substitution, own: Own): boolean {
    const { build } = this;
    const one = this.staged.find(({ access }) => access === op);
    if (this.leftOut.has(op) && op.name === "for") this.divided(op, values, own);
    else if (this.leftOut.has(op)) this.added(op, values, own);
    else if (op.attributes["map"] === "tiles" && this.loops.has(op))
      flattened(op, { build, values, get: (v) => values.get(v), extra: this.extra }, (k, body) => {
        this.positions.set(op, k);
        this.ops(op.regions[0]!.ops, body, own);
      });
    else if (one === undefined) return false;
    else if (one.leavesOut && own.has(one.collapsed!)) this.atHand(op, values);
    else this.inBox(one, values);
    return true;
  }

  private inBox(one: Staged, values: Substitution): void {
    const { value, peer } = memoryOperands(one.access);
    const to = values.get(peer!);
    if (one.access.name === "load") values.set(one.access.results[0]!, this.loaded(one, to, values));
    else this.build.store(one.buffer.name, values.get(value!), [...this.leads(one, values), this.build.rank(), this.position(one)], to); // prettier-ignore
  }

  private loaded(one: Staged, from: Value, values: Substitution): Value {
    const places = [...this.leads(one, values), from, this.position(one)];
    return this.build.load(one.buffer.name, places, one.access.results[0]!.type);
  }

  private leads({ leads }: Staged, values: Substitution): readonly Value[] {
    return leads.map((lead) => leadOf(lead, this.build, (v) => values.get(v)));
  }

  private position({ path }: Staged): Value {
    return this.positions.get(path.find((s) => s.op.attributes["map"] === "tiles")!.op)!;
  }

  /** The access as it is written, to the rank's own memory. */
  private atHand(access: Op, values: Substitution): void {
    const { value, indices } = memoryOperands(access);
    const places = indices.map((v) => values.get(v));
    const buffer = text(access, "buffer");
    if (access.name === "store") this.build.store(buffer, values.get(value!), places);
    else values.set(access.results[0]!, this.build.load(buffer, places, access.results[0]!.type));
  }

  /** A loop over all ranks in any order: the rank's own iteration while packets are on their way, and those of the others. */
  private divided(op: Op, values: Substitution, own: Own): void {
    const [body] = op.regions as readonly [Region];
    const iteration = (peer: Value, inside: Own): void => {
      const inner = new Substitution(values);
      inner.set(body.arguments[0]!, peer);
      this.ops(body.ops, inner, inside);
    };
    const inside = new Set([...own, op]);
    // As a loop over ranks, of one: blocks share its tiles as they do those of the others.
    const ofOwn = (): void => forRanks(1, this.build, () => iteration(this.build.rank(), inside));
    const takes = this.staged.some(({ access, collapsed }) => collapsed === op && access.name === "load");
    if (takes) ofOwn();
    forOthers(this.kernel, this.build, (other) => iteration(other, own));
    if (!takes) ofOwn();
  }

  /** A sum over all ranks, or what else is made of one term of each. */
  private added(op: Op, values: Substitution, own: Own): void {
    const fn = op.attributes["fn"] as Reduction;
    const isAnyOrder =
      fn === "min" || fn === "max" || !isFloat(scalarOf(op.results[0]!.type)) || this.kernel.world === 2;
    const terms = isAnyOrder ? this.inAnyOrder(op, values, own) : this.inOrder(op, values, own);
    this.build.span = op.span;
    values.set(
      op.results[0]!,
      terms.reduce((a, b) => this.build.binary(COMBINES[fn], a, b)),
    );
  }

  /** Terms of this rank and of the others from the next one on: their order makes no difference, and of two it never does. */
  private inAnyOrder(op: Op, values: Substitution, own: Own): readonly Value[] {
    const { build, kernel } = this;
    const terms = [this.term(op, build.rank(), new Substitution(values), new Set([...own, op]))];
    for (let j = 1; j < kernel.world; j++) {
      const peer = build.rem(build.add(build.rank(), build.constant(j)), build.constant(kernel.world));
      terms.push(this.term(op, peer, new Substitution(values), own));
    }
    return terms;
  }

  /** Terms of rank 0, 1, … on all ranks: what the others have sent is loaded, and each term chooses among these and the rank's own. */
  private inOrder(op: Op, values: Substitution, own: Own): readonly Value[] {
    const { build } = this;
    const { world } = this.kernel;
    const rank = build.rank();
    const kept = this.staged.filter(({ collapsed, leavesOut }) => leavesOut && collapsed === op);
    const mine = this.ownLoads(op, kept, values);
    const sent = kept.map((one) =>
      Array.from({ length: world - 1 }, (_, j) => {
        const [number, next] = [build.constant(j), build.constant(j + 1)];
        return this.loaded(one, build.select(build.compare("lt", number, rank), number, next), values);
      }),
    );
    return Array.from({ length: world }, (_, p) => {
      const peer = build.constant(p);
      const chosen = new Substitution(values);
      kept.forEach(({ access }, i) => {
        const [before, behind] = [sent[i]![p], sent[i]![p - 1]];
        const isBehind = build.compare("lt", peer, rank);
        const other = before === undefined ? behind! : behind === undefined ? before : build.select(isBehind, before, behind); // prettier-ignore
        chosen.set(access.results[0]!, build.select(build.compare("eq", peer, rank), mine[i]!, other));
      });
      return this.term(op, peer, chosen, own, new Set(kept.map(({ access }) => access)));
    });
  }

  /** What the rank itself loads in its own iteration. */
  private ownLoads(op: Op, kept: readonly Staged[], values: Substitution): readonly Value[] {
    const [body] = op.regions as readonly [Region];
    const inner = new Substitution(values);
    inner.set(body.arguments[0]!, this.build.rank());
    const unknown = new Set<Value>();
    for (const o of body.ops) {
      if (kept.some(({ access }) => access === o)) this.atHand(o, inner);
      else if (definitionOf(o.name).effect === "pure" && !o.operands.some((v) => unknown.has(v)))
        copyOp(o, this.build, inner);
      else o.results.forEach((v) => unknown.add(v));
    }
    return kept.map(({ access }) => inner.get(access.results[0]!));
  }

  /** @param known ops whose results are known */
  private term(op: Op, peer: Value, inner: Substitution, own: Own, known: ReadonlySet<Op> = new Set()): Value {
    const [body] = op.regions as readonly [Region];
    inner.set(body.arguments[0]!, peer);
    this.ops(
      body.ops.slice(0, -1).filter((o) => !known.has(o)),
      inner,
      own,
    );
    return inner.get(body.ops.at(-1)!.operands[0]!);
  }
}

/** Goes through all ranks but this one, from the next one on. */
export function forOthers({ world }: Kernel, build: Builder, body: (other: Value) => void): void {
  forRanks(world - 1, build, (j) =>
    body(build.rem(build.add(build.add(build.rank(), build.constant(1)), j), build.constant(world))),
  );
}

function forRanks(count: number, build: Builder, body: (number: Value) => void): void {
  build.for("ranks", [[build.constant(0), build.constant(count)]], ([j]) => body(j!));
}

export function leadOf(loop: Op, build: Builder, get: (v: Value) => Value): Value {
  return build.sub(get(loop.regions[0]!.arguments[0]!), get(loop.operands[0]!));
}

interface Flattening {
  readonly build: Builder;
  readonly values: Substitution;
  /** The loop's bounds as they are here. */
  readonly get: (v: Value) => Value;
  readonly extra?: Attributes;
}

/** A loop over tiles in one variable from 0; its body's values then include the loop's own variables. */
export function flattened(op: Op, at: Flattening, body: (k: Value, inner: Substitution) => void): void {
  const { build, values, get, extra } = at;
  const zero = build.constant(0);
  const variables = op.regions[0]!.arguments;
  const lows = variables.map((_, d) => get(op.operands[2 * d]!));
  const lengths = variables.map((_, d) => {
    const hi = get(op.operands[2 * d + 1]!);
    const isCount = build.constantOf(lows[d]!) === 0 && build.isNatural(hi);
    return isCount ? hi : build.binary("max", build.sub(hi, lows[d]!), zero);
  });
  const total = lengths.reduce((a, b) => build.mul(a, b));
  build.for(
    "tiles",
    [[zero, total]],
    ([k]) => {
      const inner = new Substitution(values);
      let rest = k!;
      for (let d = variables.length - 1; d >= 0; d--) {
        const within = d === 0 ? rest : build.rem(rest, lengths[d]!);
        inner.set(variables[d]!, build.add(lows[d]!, within));
        if (d > 0) rest = build.div(rest, lengths[d]!);
      }
      body(k!, inner);
    },
    extra,
  );
}
