/**
 * tile-contractions: a loop over elements with a `contract` becomes tiles of a matrix product, on the units that multiply
 * matrices; a `contract` that they cannot take becomes a fold, which says why.
 *
 * Each block takes tiles of the result. Per tile: the operands' tiles stream through shared memory in a
 * pipeline of stages, the accumulator stays in registers, then goes to a shared tile from where the rest of the
 * loop's body, whatever it is, reads it element by element. Nothing here knows what the result is for.
 */
import { Builder } from "../ir/builder.js";
import { type Buffer, type Kernel, type Op, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { copyRegion, rewriteOps, Substitution } from "../ir/visit.js";
import { extent, type Extent, productOf, sumOf } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import {
  accumulatedIn,
  type Contraction,
  contractsOf,
  misfitOf,
  needsRoles,
  type Refusal,
} from "./support/contraction.js";
import {
  blocksOfPieces,
  declareShares,
  isLess,
  isWorthIt,
  shareLimits,
  sharePlan,
  type SharePlan,
  type Shares,
  sharesOf,
} from "./support/depth-shares.js";
import { findProducts } from "./support/found-products.js";
import { isOneOwners, ownerSumsOf } from "./support/owner-sums.js";
import { isReadElsewhere, type Movers, moversFor } from "./support/product-movers.js";
import { productGroups } from "./support/product-groups.js";
import type { Product } from "./support/product-places.js";
import { type Completed, emitRoles, type SentFromTiles } from "./support/role-products.js";
import { roleShape, type RoleShape, type TileRoles } from "./support/role-shape.js";
import { isWhole, sentFor } from "./support/sent-products.js";
import { emitTiles, shapeFor, tileBuffers } from "./support/staged-products.js";
import { isUnaligned, shortestRounds, stepOf, unitOf, widthsFor, widthsOf } from "./support/tile-widths.js";
import { clamped, upperBound, valueExtent } from "./support/upper-bound.js";

type TileOptions = Pick<PassOptions, "tile" | "tileThreads" | "tileBlocks" | "roles" | "shares">;

export function tileContractions(kernel: Kernel, options: TileOptions): Kernel {
  const definitions = new Definitions(kernel);
  const { found, refused, byRoles } = findProducts(kernel, definitions, {
    tiles: options.tile !== null,
    roles: options.roles !== null,
  });
  const roles = byRoles ? options.roles : null;
  if (found.size === 0 && refused.size === 0) return kernel;
  for (const [loop, match] of roles === null ? found : [])
    if (needsRoles(match)) {
      found.delete(loop);
      refused.set(match.contract, {
        reason: `another product of the kernel has no tiles for warp groups, which those of ${match.a.dtype} need; cast its operands to bf16 or f16`,
      });
    }
  for (const [loop, match] of roles === null ? [] : found) {
    const first = (v: Value): number | undefined =>
      definitions.constant(loop.operands[2 * loop.regions[0]!.arguments.indexOf(v)]!);
    const misfit = misfitOf(match, roleShape(match, roles!), first);
    if (misfit === null) continue;
    found.delete(loop);
    refused.set(match.contract, misfit);
  }
  const movers = new Map<Op, Movers>();
  for (const [loop, match] of roles === null ? [] : found) {
    const moved = moversFor(loop, match, kernel, definitions);
    if (moved !== null) movers.set(loop, moved);
  }
  const groups = roles === null ? [] : productGroups(kernel, found, movers, definitions);
  const [product] = found;
  // With several products, or movers, there are not the registers, nor the epochs.
  const sums =
    roles === null || found.size !== 1 || movers.size > 0 || kernel.world === 1
      ? null
      : ownerSumsOf(product![0], kernel, definitions);
  let completed: Completed | null = null;
  let sent: SentFromTiles | null = null;
  const moved = new Set([...movers.values()].flatMap(({ begin, send, barrier }) => [begin, send, barrier]));
  const buffers: Buffer[] = [...kernel.buffers];
  const work: Extent[] = [...kernel.work];
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (moved.has(op)) return true;
    if (refused.has(op)) {
      values.set(op.results[0]!, foldOf(op, refused.get(op)!, b, values));
      return true;
    }
    if (op === sent?.product.barrier) return true;
    if (sent !== null && op === sent.product.loop) {
      const { product, isWhole: isSent } = sent;
      b.if(
        isSent,
        () => {},
        () => rewriteOps([product.barrier, product.loop], b, values),
      );
      return true;
    }
    if (completed !== null && op === completed.sums.barrier) return true;
    if (completed !== null && op === completed.sums.loop) {
      const { sums, isApart } = completed;
      // Where tiles are not each of one owner, the loops stay as they were.
      b.if(
        isApart,
        () => {},
        () => rewriteOps([sums.barrier, sums.loop], b, values),
      );
      return true;
    }
    const match = found.get(op);
    if (match === undefined) return false;
    if (roles === null) {
      // Without tiles nothing is found.
      const shape = shapeFor(match, found.size, options.tile!);
      emitTiles(op, match, { ...tileBuffers(match, buffers, shape), shape }, b, values, kernel.world);
      work.push(lengthsOf(op, match, shape, definitions).tiles);
      return true;
    }
    const group = groups.find((g) => g.includes(op))!;
    if (group[0] !== op) return true;
    const [last] = group.slice(-1) as [Op];
    // Blocks meet where all ranks do the same, and as often.
    const isTop = kernel.body.ops.includes(op) && options.tileBlocks > 1;
    const taken = group.length === 1 && isTop && sums === null ? sentFor(op, kernel, definitions) : null;
    const end = sums?.loop ?? taken?.loop ?? last;
    if (end !== op) rewriteOps(betweenOps(kernel, op, end), b, values);
    sent = taken === null ? null : { product: taken, isWhole: isWhole(taken, b, values) };
    const shape = roleShape(match, roles);
    const lengthsAt = (n: Extent) =>
      group.map((loop) => lengthsOf(loop, found.get(loop)!, { ...shape, n }, definitions));
    const lengths = lengthsAt(shape.n);
    const isShared = lengths.every((l) => l.isShared);
    const isEven = isShared && isTop;
    // A gather of few rows goes as packets before the product; and each shape makes a long text longer.
    const hasNarrow = isTop && movers.size === 0 && found.size === group.length;
    const few = hasNarrow ? narrowTiles(group, found, shape, options.tileBlocks, definitions) : null;
    const tilesAt = (n: Extent): Extent => sumOf(lengthsAt(n).map((l) => l.tiles));
    const matches = group.map((loop) => found.get(loop)!);
    const unaligned = isUnaligned(matches, kernel);
    const allWidths = isShared ? widthsFor(matches, shape, movers.get(op) ?? null, sums) : [shape.n];
    const rounds = allWidths.length === 1 ? null : shortestRounds(allWidths, tilesAt, options.tileBlocks, unaligned);
    const roundTiles = rounds === null ? null : tilesAt(extent("mul", rounds.units, unitOf(allWidths)));
    const shapes = [{ lengths, shape }, ...(few === null ? [] : [few])].map((tiled, i) => {
      const tiles = sumOf(tiled.lengths.map((l) => l.tiles));
      const whole = i === 0 && rounds !== null ? rounds.time : null;
      return { ...tiled, tiles, whole, ...timesOf(tiled, tiles, whole, unaligned, options) };
    });
    const fits = fitsOf(shapes, few);
    const limits = shareLimits(options.tileBlocks, movers.has(op));
    const known = new Map<Extent, Value>();
    const plans = shapes.map(({ shape: { m, n }, tiles, plan, uncut }, i) => {
      if (plan === null || !isEven) return null;
      const fit = extent("mul", fits[i]!, isWorthIt(plan, uncut, tiles, limits));
      const room = declareShares(tiles, { m, n }, contractsOf(match).length, accumulatedIn(match), limits, buffers); // prettier-ignore
      return { fit, shares: sharesOf(plan, fit, options.tileBlocks, room, b, known) };
    });
    const [shares = null, fewShares = null] = plans.map((plan) => plan?.shares ?? null);
    const widths = rounds === null ? null : widthsOf(allWidths, rounds, shares?.isShared ?? null, b);
    if (roundTiles !== null) work.push(roundTiles);
    // More blocks than have work do no harm, and what says exactly how many have some is long.
    shapes.forEach(({ tiles, lengths: [first] }, i) => {
      const may = i === 0 ? 1 : extent("max", few!.fit, few!.isFewEach);
      work.push(extent("mul", may, tiles));
      if (plans[i] != null) work.push(blocksOfPieces(tiles, first!.steps, limits));
    });
    const isFew = few === null ? null : b.compare("gt", b.extent(fits[1]!, known), b.constant(0));
    if (sums !== null) {
      const size = sums.variable === match.row ? shape.m : sums.variable === match.column ? shape.n : 1;
      const isMany = b.compare("gt", b.extent(roundTiles ?? lengths[0]!.tiles), b.constant(options.tileBlocks));
      const isOne = b.binary("and", isOneOwners(sums, size, b, values), isMany);
      const isCut = shares?.isShared ?? null;
      const uncut = isCut === null ? isOne : b.select(isCut, b.bool(false), isOne);
      const isApart = isFew === null ? uncut : b.select(isFew, b.bool(false), uncut);
      // Of lengths that are known, no launch may be one of these.
      if (isShared && b.constantOf(isApart) !== 0)
        completed = { sums, isApart, blocks: options.tileBlocks, tiles: tilesAt(allWidths.at(-1)!) };
    }
    const gathered = movers.get(op);
    const keepsOwn = gathered !== undefined && isReadElsewhere(gathered, match, group, kernel);
    const products = group.map((loop): Product => ({ op: loop, match: found.get(loop)! })) as [Product, ...Product[]];
    const emit = (shared: Shares | null, as: TileRoles, own: Movers | null, apart: Completed | null): void =>
      emitRoles(products, shared, as, buffers, b, values, own, apart, sent, kernel.world, keepsOwn);
    const many = (): void => emit(shares, { ...shape, widths }, movers.get(op) ?? null, completed);
    if (few === null) many();
    else b.if(isFew!, () => emit(fewShares, { ...few.shape, widths: null }, null, null), many);
    return true;
  });
  const blockThreads = roles === null ? options.tileThreads : roles.consumers + roles.producers;
  const mapped = { blockThreads, maxBlocks: options.tileBlocks };
  return {
    ...kernel,
    ...(found.size > 0 ? mapped : {}),
    buffers,
    work,
    body: { arguments: [], ops: build.ops },
  };
}

/** What only computes values between two ops of the kernel, which what stands before them may use, too. */
function betweenOps({ body: { ops } }: Kernel, first: Op, last: Op): readonly Op[] {
  const between = ops.slice(ops.indexOf(first) + 1, ops.indexOf(last));
  return between.filter((o) => definitionOf(o.name).effect === "pure");
}

/** The lengths behind a product, as far as all ranks share them. */
interface ProductLengths {
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

interface NarrowTiles {
  readonly shape: RoleShape;
  /** Of each product. */
  readonly lengths: readonly ProductLengths[];
  /** 1 for launches of which no block has two, or of few rows, else 0; and for those of which none has three. */
  readonly fit: Extent;
  readonly isFewEach: Extent;
}

/**
 * Narrow tiles where no block has two of them: a depth is cut into fewer pieces, whose sums travel. Of no more rows than a tile has, which take as long as
 * their weights take to come, blocks may have two. On an H200 (2026-11), µs with narrow tiles and with wide ones: 16×8192 with a depth of
 * 2048 9.3 and 15.8, of 8192 36 and 43; 128×2560 18.5 and 26, 512×2048 28.8 and 34.2, 256×2048 20.7 and 25.4 with one of 8192; 384×2560 15.0 and 22.9,
 * 256×4096 16.3 and 24.0 with one of 4096. Two for a block, with one of 8192: 16×14336 64 and 67, 128×14336 73 and 83; four: 16×28672 131 and 128.
 */
function narrowTiles(
  group: readonly Op[],
  found: ReadonlyMap<Op, Contraction>,
  wide: RoleShape,
  blocks: number,
  definitions: Definitions,
): NarrowTiles | null {
  if (wide.few === null) return null;
  const shape = { ...wide, ...wide.few };
  const lengths = group.map((loop) => lengthsOf(loop, found.get(loop)!, shape, definitions));
  if (lengths.some((l) => !l.isShared)) return null;
  const isAtMost = (a: Extent, most: number): Extent => extent("min", 1, extent("div", most, extent("max", a, 1)));
  const tiles = sumOf(lengths.map((l) => l.tiles));
  const isFewEach = isAtMost(tiles, 2 * blocks);
  const fewRows = extent("mul", isAtMost(lengths[0]!.rows, wide.few.rows), isFewEach);
  const fit = extent("max", isAtMost(tiles, blocks), fewRows);
  return { shape, lengths, fit, isFewEach };
}

/** How long tiles of a shape take, in the time that a step has for a column. */
interface Times {
  /** With no depth cut, and how it would be cut; null if it never is. */
  readonly uncut: Extent;
  readonly plan: SharePlan | null;
}

/** Columns in whose time this many bytes of operands for a step come from memory: rows and columns of 128 bytes, at some 4.3 TB/s. */
const FROM_MEMORY = 84;
/** How long a step takes whose operands threads copy, for each row and column. */
const UNALIGNED = 8;

/** @param whole how long all rounds take, for a step of the widest; null where tiles have one width @param unaligned 1 where threads copy operands, else 0 */
function timesOf(
  { lengths, shape }: { readonly lengths: readonly ProductLengths[]; readonly shape: RoleShape },
  tiles: Extent,
  whole: ((step: number) => Extent) | null,
  unaligned: Extent,
  { shares, tileBlocks }: TileOptions,
): Times {
  const [{ steps, rows, products }] = lengths as [ProductLengths];
  const { m } = shape;
  // A pair's two tiles are multiplied, put and added one after the other.
  const n = shape.n * products;
  const more = extent("mul", unaligned, (m + n) * UNALIGNED);
  const columns = sumOf(lengths.map((l) => extent("mul", extent("div", productOf(l.loop), extent("max", l.rows, 1)), l.products))); // prettier-ignore
  const floor = extent("div", extent("mul", steps, extent("add", rows, columns)), FROM_MEMORY);
  const rounds = extent("ceildiv", tiles, tileBlocks);
  // Where threads copy, tiles have the width of the shape.
  const all = extent("add", whole?.(stepOf(n)) ?? extent("mul", rounds, stepOf(n)), extent("mul", rounds, more));
  const step = extent("add", stepOf(n), more);
  return {
    uncut: extent("max", extent("mul", steps, all), floor),
    plan: shares === null ? null : sharePlan({ tiles, rows, steps, step, floor }, tileBlocks, { m, n }, shares),
  };
}

/** For tiles of each shape, 1 in launches that have such, else 0. */
function fitsOf(shapes: readonly Times[], few: NarrowTiles | null): readonly Extent[] {
  if (few === null) return [1];
  const [wide, narrow] = shapes.map(({ uncut, plan }) => (plan === null ? uncut : extent("min", uncut, plan.time)));
  return [1, extent("max", few.fit, extent("mul", few.isFewEach, isLess(narrow!, wide!)))];
}

/** The lengths of a product, and whether they are the same on all ranks. */
function lengthsOf(
  op: Op,
  match: Contraction,
  { m, n, k }: { readonly m: number; readonly n: Extent; readonly k: number },
  definitions: Definitions,
): ProductLengths & { readonly isShared: boolean } {
  const depth = valueExtent(match.depth, definitions);
  const variables = op.regions[0]!.arguments;
  const bounds = variables.map((_, d) => upperBound(op.operands[2 * d]!, op.operands[2 * d + 1]!, definitions));
  const loop = bounds.map((bound) => (bound === null ? 1 : clamped(bound)));
  const tiles = variables.map((v, d) =>
    v === match.row || v === match.column ? extent("ceildiv", loop[d]!, v === match.row ? m : n) : loop[d]!,
  );
  return {
    loop,
    tiles: productOf(tiles),
    rows: loop[variables.indexOf(match.row)]!,
    steps: extent("ceildiv", depth ?? 1, k),
    products: contractsOf(match).length,
    isShared: depth !== null && !bounds.includes(null),
  };
}

/** The same sum in scalar arithmetic, one term after the other. */
function foldOf(op: Op, { reason }: Refusal, build: Builder, values: Substitution): Value {
  const [from, to] = op.operands.map((v) => values.get(v)) as [Value, Value];
  const [region] = op.regions;
  const inner = copyRegion(region!, build, values);
  const factors = inner.ops.at(-1)!.operands;
  const body = build.region(1, ([k]) => {
    const renamed = new Substitution();
    renamed.set(inner.arguments[0]!, k!);
    rewriteOps(inner.ops.slice(0, -1), build, renamed);
    build.op("yield", [factors.map((v) => renamed.get(v)).reduce((x, y) => build.mul(x, y))], {}, null);
  });
  return build.op("reduce", [from, to], { fn: "sum", product: reason }, op.results[0]!.type, [body])!;
}
