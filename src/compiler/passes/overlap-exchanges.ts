/**
 * overlap-exchanges: what lies before a barrier of namesakes and what lies after it run slab by slab, one slab apart.
 *
 * A stretch of tile loops that sends, a barrier, a stretch that uses what arrived: the wire rests while arithmetic runs and
 * the other way round. Here both become one loop over slabs of their tiles,
 *
 *   for c in 0..slabs + 1 { if c < slabs { first(c); arrive }  if c > 0 { wait for the peers' slab c - 1; second(c - 1) } }
 *
 * so that slab c + 1 is on its way while slab c is used. The barrier falls apart into its two halves, `arrive` and `wait`.
 *
 * Why that is right. derive-sync gives a barrier the scope `block` only where each access after it conflicts with accesses
 * before it at the same offset of their loops, or with some that all blocks of their rank had behind them anyway. The
 * former are in the same slab of both stretches, because slabs are cut by offset; the latter are behind every arrival. Two
 * accesses of one stretch do not conflict at all, or there would be a barrier between them. So slab c needs slab c alone, and
 * whatever follows the second stretch comes after the wait for the last slab, which orders all that the barrier did. What lies beyond
 * the two stretches is ordered with them for all blocks, or touches nothing: slabs have offsets in other blocks than whole loops have.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel, Op, Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { rewriteOps, Substitution, walk } from "../ir/visit.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { movingBlocks } from "./support/busy.js";
import { Definitions } from "./support/analysis.js";
import { knownElements } from "./support/upper-bound.js";
import { vectorLanes } from "./support/vector-lanes.js";

type OverlapOptions = Pick<PassOptions, "slabRows" | "elementThreads" | "elementBlocks" | "loadBlocks" | "accessBytes">;

export function overlapExchanges(kernel: Kernel, options: OverlapOptions): Kernel {
  if (options.slabRows === 0 || kernel.world === 1) return kernel;
  const { ops } = kernel.body;
  const definitions = new Definitions(kernel);
  const at = ops.findIndex((op, i) => isBetweenNamesakes(op, kernel.world) && isCuttable(ops, i, definitions));
  if (at < 0) return kernel;
  const overlap = new Overlap(kernel, definitions, options);
  return { ...kernel, body: { arguments: [], ops: overlap.around(at) } };
}

/** A barrier that leaves the GPU, of blocks of one number. */
function isBetweenNamesakes({ name, attributes }: Op, world: number): boolean {
  if (name !== "barrier" || attributes["scope"] !== "block") return false;
  return RankPairs.parse(attributes["ranks"] as string, world)!.between > 0;
}

/** The ops before and after the barrier at `at`, as far as the next synchronisation or the kernel's ends. */
function stretchesAround(ops: readonly Op[], at: number): { readonly from: number; readonly to: number } {
  const before = ops.slice(0, at).findLastIndex(synchronises);
  const after = ops.slice(at + 1).findIndex(synchronises);
  return { from: before + 1, to: after < 0 ? ops.length : at + 1 + after };
}

function synchronises(op: Op): boolean {
  return definitionOf(op.name).effect === "sync" || op.regions.some((r) => r.ops.some(synchronises));
}

/** Whether both stretches are made of tile loops, which can be cut by offset into slabs of which it is known how many there are, and of what computes their bounds. */
function isCuttable(ops: readonly Op[], at: number, definitions: Definitions): boolean {
  const { from, to } = stretchesAround(ops, at);
  if (isSharedByBlocks(ops.slice(0, from), "last") || isSharedByBlocks(ops.slice(to), "first")) return false;
  return [ops.slice(from, at), ops.slice(at + 1, to)].every(
    (stretch) =>
      stretch.some((op) => op.regions.length > 0) && stretch.every((op) => isPure(op) || isLoops(op, definitions)),
  );
}

/**
 * Whether what lies on the other side of a stretch's end touches memory, and is ordered with it for blocks of one number alone: an offset's
 * block is another one in a slab, which begins anew with the first block.
 */
function isSharedByBlocks(beyond: readonly Op[], nearest: "first" | "last"): boolean {
  const end = nearest === "first" ? beyond[0] : beyond.at(-1);
  return end?.attributes["scope"] !== "grid" && beyond.some(touchesMemory);
}

function touchesMemory(op: Op): boolean {
  return ["read", "write"].includes(definitionOf(op.name).effect) || op.regions.some((r) => r.ops.some(touchesMemory));
}

function isPure(op: Op): boolean {
  return definitionOf(op.name).effect === "pure";
}

/** Tile loops of one variable, in loops and conditions that touch no memory themselves. */
function isLoops(op: Op, definitions: Definitions): boolean {
  if (isTiles(op)) return op.operands.length === 2 && knownElements(op, definitions) !== null;
  const isAround =
    op.name === "if" || (op.name === "for" && ["ranks", "serial"].includes(op.attributes["map"] as string));
  return isAround && op.regions.every((r) => r.ops.every((inner) => isPure(inner) || isLoops(inner, definitions)));
}

class Overlap {
  private readonly build: Builder;
  /** Elements of a slab. */
  private readonly slab: number;

  constructor(
    private readonly kernel: Kernel,
    private readonly definitions: Definitions,
    options: OverlapOptions,
  ) {
    this.build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
    const threads = kernel.blockThreads > 0 ? kernel.blockThreads : options.elementThreads;
    const blocks = kernel.maxBlocks > 0 ? kernel.maxBlocks : movingBlocks(kernel, options);
    this.slab = threads * vectorLanes(kernel, options) * blocks * options.slabRows;
  }

  around(at: number): Op[] {
    const { build, kernel } = this;
    const { ops } = kernel.body;
    const { from, to } = stretchesAround(ops, at);
    const values = new Substitution();
    const stretches = [ops.slice(from, at), ops.slice(at + 1, to)] as const;
    rewriteOps(ops.slice(0, from), build, values);
    // Bounds are computed once, before all slabs.
    for (const stretch of stretches) rewriteOps(stretch.filter(isPure), build, values);
    const [first, second] = stretches.map((stretch) => stretch.filter((op) => !isPure(op)));
    const barrier = ops[at]!;
    build.span = barrier.span;
    const one = build.constant(1);
    const most = this.longest([...first!, ...second!]);
    const slabs = build.extent(extent("max", extent("ceildiv", most, this.slab), 1));
    build.for("serial", [[build.constant(0), build.add(slabs, one)]], ([c]) => {
      const isMore = build.compare("lt", c!, slabs);
      build.if(isMore, () => {
        this.cut(first!, values, c!);
        build.span = barrier.span;
        build.op("barrier", [], { ...barrier.attributes, half: "arrive" }, null);
      });
      build.if(build.compare("gt", c!, build.constant(0)), () => {
        // The newest arrival is that of slab c, if there is one: the wait is for the one before.
        const behind = build.select(isMore, one, build.constant(0));
        build.op("barrier", [behind], { ...barrier.attributes, half: "wait" }, null);
        this.cut(second!, values, build.sub(c!, one));
      });
    });
    rewriteOps(ops.slice(to), build, values);
    return build.ops;
  }

  /** The same number on every rank, whichever has the most to do. */
  private longest(ops: readonly Op[]): Extent {
    const lengths: Extent[] = [];
    walk({ arguments: [], ops }, (op) => {
      if (isTiles(op)) lengths.push(knownElements(op, this.definitions)!);
    });
    return lengths.reduce((a, b) => extent("max", a, b));
  }

  /** The stretch with its tile loops cut to slab `c`. */
  private cut(ops: readonly Op[], outer: Substitution, c: Value): void {
    const { slab } = this;
    rewriteOps(ops, this.build, new Substitution(outer), (op, build, values) => {
      if (!isTiles(op)) return false;
      const [lo, hi] = op.operands.map((v) => values.get(v)) as [Value, Value];
      const length = build.constant(slab);
      const start = build.add(lo, build.mul(c, length));
      const end = build.binary("min", hi, build.add(start, length));
      build.for(
        "tiles",
        [[start, end]],
        ([i]) => {
          const inner = new Substitution(values);
          inner.set(op.regions[0]!.arguments[0]!, i!);
          rewriteOps(op.regions[0]!.ops, build, inner);
        },
        attributesBesidesMap(op),
      );
      return true;
    });
  }
}

function isTiles(op: Op): boolean {
  return op.name === "for" && op.attributes["map"] === "tiles";
}

function attributesBesidesMap({ attributes }: Op): Op["attributes"] {
  const { map: _, ...rest } = attributes;
  return rest;
}
