/**
 * Products of few tiles that are kept for a loop after them (`kept-products.ts`): each tile's depth is cut into slices, so that all blocks have one, or, where two of each tile were too many
 * for that, three of each in two rounds. A slice's sum goes to memory of this rank; when all blocks have met, elements add theirs up,
 * slice by slice, always in the same order. How many slices a launch has follows from its lengths, which all ranks share: most
 * launches have tiles enough, and one slice.
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, freshName, type Op, type Value } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import { scalar } from "../../ir/types.js";
import { rewriteOps, type Substitution } from "../../ir/visit.js";
import type { DType } from "../../types/dtype.js";
import { extent, type Extent, productOf } from "../../types/extent.js";
import { type Contraction, contractsOf } from "./contraction.js";

/** When slices are worth it, in steps: the time of a block for one stage of its ring. */
export interface SliceOptions {
  /** Most slices of a depth. */
  readonly most: number;
  /** Elements that all blocks together store, and load again, in the time of a step. */
  readonly elements: number;
}

/** The lengths behind a product, as far as all ranks share them. */
export interface ProductLengths {
  /** Of the loop's variables. */
  readonly loop: readonly Extent[];
  /** Tiles of the result. */
  readonly tiles: Extent;
  /** Of the product's left operand. */
  readonly rows: Extent;
  /** Stages that a tile's operands take. */
  readonly steps: Extent;
  /** Products of the loop, each of which has sums. */
  readonly products: number;
}

export interface Slices {
  /** Slices of a tile, 1 or more. */
  readonly count: Value;
  /** Steps of a slice; the last one's may lie beyond the depth in part, where operands are zero. */
  readonly steps: Value;
  readonly isCut: Value;
  readonly sums: SliceSums;
}

/** Where sums of slices go: of each loop, memory of each of its products', [slice, …variables of the loop], and their dtype. */
export interface SliceSums {
  readonly buffers: readonly (readonly string[])[];
  readonly dtype: DType;
}

/** Costs are whole numbers of this part of a step. */
const UNIT = 64;

/**
 * Most slices of a launch.
 * @param products of one depth, which blocks take together @param blocks most of a launch
 * @param fit 1 for launches of which the depth may be cut, else 0
 */
export function mostSlices(
  products: readonly ProductLengths[],
  blocks: number,
  options: SliceOptions,
  fit: Extent,
): Extent {
  const some = extent("max", sumOf(products.map((p) => p.tiles)), 1);
  const room = extent("div", blocks, some);
  const isRoom = extent("min", 1, extent("div", room, 2));
  // Where two slices of each tile are too many for one round of blocks, three may be few enough for two.
  const isRoomInTwo = extent("min", 1, extent("div", Math.floor((2 * blocks) / 3), some));
  const slices = extent("max", extent("mul", isRoom, room), extent("mul", extent("sub", isRoomInTwo, isRoom), 3));
  return extent("mul", fit, extent("min", extent("min", products[0]!.steps, options.most), slices));
}

/** Declares the memory of the products' sums. @param mosts slices of a launch, with tiles of each shape @param dtype of the sums */
export function declareSums(
  products: readonly ProductLengths[],
  mosts: readonly Extent[],
  dtype: DType,
  buffers: Buffer[],
): SliceSums {
  const most = mosts.reduce((a, b) => extent("max", a, b));
  const names = products.map(({ loop, products: count }) =>
    Array.from({ length: count }, () => {
      const name = freshName({ buffers }, "slices");
      buffers.push({ name, role: "scratch", dtype, shape: [most, ...loop], symmetric: false });
      return name;
    }),
  );
  return { buffers: names, dtype };
}

/**
 * Computes how a launch cuts the depth of products.
 * @param most slices
 * @param whole how long a step of all tiles takes where the depth is not cut, in so many parts of a step: tiles may be narrower then; null for 1
 */
export function cutDepth(
  products: readonly ProductLengths[],
  most: Extent,
  whole: ((parts: number) => Extent) | null,
  sums: SliceSums,
  blocks: number,
  options: SliceOptions,
  build: Builder,
): Slices {
  const { steps } = products[0]!;
  const tiles = sumOf(products.map((p) => p.tiles));
  const one = build.constant(1);
  const unit = build.constant(UNIT);
  const all = build.extent(steps);
  const wanted = build.binary("max", build.extent(most), one);
  const deep = build.ceilDiv(all, wanted);
  const part = build.constant(Math.max(1, Math.round(options.elements / UNIT)));
  const elements = products.map(({ loop, products: count }) => extent("mul", productOf(loop), count));
  const traffic = build.div(build.mul(wanted, build.extent(sumOf(elements))), part);
  const units = build.mul(build.extent(tiles), wanted);
  const rounds = build.ceilDiv(units, build.constant(blocks));
  const busy = build.mul(deep, build.binary("max", rounds, one));
  const cost = build.add(build.mul(busy, unit), traffic);
  const uncut = build.mul(all, whole === null ? unit : build.extent(whole(UNIT)));
  const cut = build.select(build.compare("lt", cost, uncut), deep, all);
  const count = build.binary("max", build.ceilDiv(all, build.binary("max", cut, one)), one);
  return { count, steps: cut, isCut: build.compare("gt", count, one), sums };
}

/** How many slices a launch has: with few tiles those of narrow ones, else those of wide ones, if they are cut at all. */
export function eitherSlices(isFew: Value, few: Slices, many: Slices | null, build: Builder): Slices {
  if (many === null) return { ...few, isCut: build.binary("and", isFew, few.isCut) };
  const either = (key: "count" | "steps" | "isCut"): Value => build.select(isFew, few[key], many[key]);
  return { count: either("count"), steps: either("steps"), isCut: either("isCut"), sums: many.sums };
}

export function sumOf(extents: readonly Extent[]): Extent {
  return extents.reduce((a, b) => extent("add", a, b));
}

/** All blocks of this rank have stored the sums of their slices. */
export function emitMeeting(world: number, build: Builder): void {
  build.op("barrier", [], { scope: "grid", ranks: RankPairs.self(world).print(), sums: true }, null);
}

/** Ops of a product's loop for the element at these places, each product replaced by the sum over its slices. @param otherwise takes what it emits itself */
export function sumsInPlace(
  ops: readonly Op[],
  match: Contraction,
  { count, sums: { dtype } }: Slices,
  sums: readonly string[],
  places: readonly Value[],
  build: Builder,
  values: Substitution,
  otherwise: (op: Op, values: Substitution) => boolean = () => false,
): void {
  rewriteOps(ops, build, values, (o, b, v) => {
    const own = contractsOf(match).indexOf(o);
    if (own < 0) return otherwise(o, v);
    const sum = b.reduce("sum", b.constant(0), count, (s) => b.load(sums[own]!, [s, ...places], scalar(dtype)));
    v.set(o.results[0]!, sum);
    return true;
  });
}
