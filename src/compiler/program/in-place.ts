/**
 * Whether a way of the library may do its conversion in place: with the output in the memory of the input.
 *
 * A way reads its input as it was given, so nobody may load an element of it that somebody has stored already. What comes in an
 * earlier step of all ranks is ordered before what comes in a later one: both go to one buffer, and derive-sync orders those.
 * Within a step nothing can, so there an element that is stored may be loaded by the same rank alone, in the same iteration, before.
 */
import { isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import { type Access, accessOf, mayConflict } from "../passes/support/accesses.js";
import { Definitions, rankVarying } from "../passes/support/analysis.js";
import { isSpread, iterationsOf } from "../passes/support/iterations.js";
import { RankValues } from "../passes/support/rank-values.js";

/** Pairs of a load and a store that are compared; a way with more of them is left out. */
const MOST_PAIRS = 50_000;

/** An access, and when it happens. */
interface Touch extends Access {
  readonly step: number;
  /** The loop over elements whose variables are its indices, with the iterations of the loops around it; null if it has others. */
  readonly elements: string | null;
}

/** @param way of one input and one output, at rank level, with buffers of their own */
export function mayBeInPlace(way: Kernel): boolean {
  const [input, output] = [way.inputs[0]!.name, way.outputs[0]!.name];
  const touches = new Touches(way, [input, output]);
  if (!touches.collect()) return false;
  const { found } = touches;
  const byOwner = new Map<number, { loads: [Touch, number][]; stores: [Touch, number][] }>();
  for (const [time, touch] of found.entries()) {
    // What is loaded from the output was stored by the way itself.
    if (touch.buffer === output && !touch.writes) continue;
    const of = byOwner.get(touch.owner) ?? { loads: [], stores: [] };
    byOwner.set(touch.owner, of);
    (touch.writes ? of.stores : of.loads).push([touch, time]);
  }
  const all = [...byOwner.values()];
  if (all.reduce((sum, { loads, stores }) => sum + loads.length * stores.length, 0) > MOST_PAIRS) return false;
  return all.every(({ loads, stores }) =>
    loads.every(([load, loaded]) =>
      stores.every(([store, stored]) => {
        if (load.step < store.step || !mayConflict(load, store)) return true;
        const isOneIteration = load.rank === store.rank && load.elements !== null && load.elements === store.elements;
        return isOneIteration && loaded < stored;
      }),
    ),
  );
}

/** What all ranks touch of some buffers, each rank's in the order in which it does so. */
class Touches {
  readonly found: Touch[] = [];
  private readonly varying: ReadonlySet<Value>;
  private readonly numbers = new Map<Op, number>();
  private step = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly buffers: readonly string[],
  ) {
    this.varying = rankVarying(kernel);
  }

  /** @returns false where it is not known */
  collect(): boolean {
    const { kernel } = this;
    const definitions = new Definitions(kernel);
    const ranks = Array.from({ length: kernel.world }, (_, r) => RankValues.of(definitions, r));
    return this.sequence(kernel.body.ops, ranks);
  }

  /** Goes through what all ranks do in step. */
  private sequence(ops: readonly Op[], ranks: readonly RankValues[]): boolean {
    return ops.every((op) => {
      const isUniform = !op.operands.some((v) => this.varying.has(v));
      const iterations = op.name === "for" && isUniform && !isSpread(op) ? iterationsOf(op, ranks[0]!) : null;
      const body = op.regions[0]?.ops ?? [];
      if (iterations !== null)
        return iterations.every((t) =>
          this.sequence(
            body,
            ranks.map((r) => r.inIteration(op, t)),
          ),
        );
      this.step++;
      return ranks.every((values) => this.visit(op, values, null, ""));
    });
  }

  /** @param loop the loop over elements around; `path` names it, and the iterations of loops around it */
  private visit(op: Op, values: RankValues, loop: Op | null, path: string): boolean {
    const within = (region: Region, inner: RankValues, around: Op | null, at: string): boolean =>
      region.ops.every((o) => this.visit(o, inner, around, at));
    switch (op.name) {
      case "load":
      case "store":
        return !this.buffers.includes(text(op, "buffer")) || this.touch(op, values, loop, path);
      case "notify":
      case "await":
        // Ranks that wait for each other by hand have other steps than these.
        return false;
      case "if": {
        const condition = values.number(op.operands[0]!);
        return op.regions.every(
          (r, i) => (condition !== null && (condition !== 0) !== (i === 0)) || within(r, values, loop, path),
        );
      }
      case "for":
      case "reduce":
      case "contract": {
        const [body] = op.regions as readonly [Region];
        const iterations = isSpread(op) ? null : iterationsOf(op, values);
        // Iterations of a loop inside an iteration come one after the other; around it, each has elements of its own.
        if (iterations !== null)
          return iterations.every((t) =>
            within(body, values.inIteration(op, t), loop, loop === null ? `${path} ${t}` : path),
          );
        if (!isSpread(op) || loop !== null) return !this.isTouched(op);
        const inside = values.insideLoop(op);
        return inside === null || within(body, inside, op, `${path} loop ${this.numberOf(op)}`);
      }
      default:
        if (this.isTouched({ ...op, regions: [] })) return false;
        return op.regions.every((r) => within(r, values, loop, path));
    }
  }

  private touch(op: Op, values: RankValues, loop: Op | null, path: string): boolean {
    const { peer, indices } = memoryOperands(op);
    const owner = isRemote(op) ? values.number(peer!) : values.rank;
    if (owner === null) return false;
    if (owner < 0 || owner >= this.kernel.world) return true;
    const intervals = indices.map((v) => values.interval(v));
    const variables = loop?.regions[0]!.arguments ?? [];
    const isElement = indices.length === variables.length && indices.every((v, d) => v === variables[d]);
    const [input] = this.buffers;
    const access = accessOf({
      ...{ rank: values.rank, owner, buffer: text(op, "buffer"), writes: op.name === "store" },
      part: intervals.every(({ lo, hi }) => lo === null && hi === null) ? null : intervals,
      ...{ position: null, span: op.span },
    });
    // The way must not store to what it is given.
    if (access.writes && access.buffer === input) return false;
    this.found.push({ ...access, step: this.step, elements: isElement ? path : null });
    return true;
  }

  private isTouched(op: Op): boolean {
    if (this.buffers.includes((op.attributes["buffer"] as string | undefined) ?? "")) return true;
    return op.regions.some((r) => r.ops.some((o) => this.isTouched(o)));
  }

  private numberOf(loop: Op): number {
    const number = this.numbers.get(loop) ?? this.numbers.size;
    this.numbers.set(loop, number);
    return number;
  }
}
