/** Lengths at which the loops of a kernel take their main, remainder and tail paths, as its mapping and its conditions have it. */
import { type Attributes, type Kernel, multiplies } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { SignatureTensor } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, elementsOf, evaluateExtent, extentNames } from "../types/extent.js";
import { divisorOf, fitDims, greatestCommon, requirementHolds } from "../types/requirement.js";
import { outerTensors } from "./work.js";

/** Wide rows that a thread of an interleaved loop has under way; see `passes/options.ts`. */
const ROWS_IN_FLIGHT = 4;

/** Into as many pieces kernels cut tensors, if not into one for each rank. */
const MOST_PIECES = 8;

/** Of dimensions before the last one, where that is long. */
const FEW_ROWS = 3;

/** Of more dimensions, the outer ones are shorter still. */
const MOST_DIMENSIONS = 3;

/**
 * Whether data exists that a launch may be given: the conditions hold, and what must be in a range, as in
 * `where target in 0..v`, is of a range that has numbers, or has no elements.
 */
export function canBeLaunched({ requirements, inputs }: Kernel, dims: DimValues): boolean {
  const hasData = ({ values, shape }: SignatureTensor): boolean =>
    values === undefined ||
    evaluateExtent(values.from, dims) < evaluateExtent(values.to, dims) ||
    elementsOf(shape, dims) === 0;
  return requirements.every((r) => requirementHolds(r, dims)) && inputs.every(hasData);
}

/**
 * The dimensions, moved to the nearest that the kernel takes; null if none are found. The row moves up by whole rows of
 * blocks where it can, and so keeps the rest that it was chosen for.
 */
export function fitting(kernel: Kernel, wanted: DimValues): DimValues | null {
  const { requirements, dims: names } = kernel;
  const isAllowed = (dims: DimValues): boolean => canBeLaunched(kernel, dims);
  if (isAllowed(wanted)) return wanted;
  const dims = fitDims(requirements, wanted, new Set(names));
  if (!isAllowed(dims)) return null;
  const name = rowDimension(kernel);
  if (name === undefined || wanted[name]! <= 1 || dims[name]! <= wanted[name]!) return dims;
  const row = rowOf(kernel) * stepOf(kernel, name);
  const moved = { ...dims, [name]: wanted[name]! + Math.ceil((dims[name]! - wanted[name]!) / row) * row };
  return isAllowed(moved) ? moved : dims;
}

/** Elements that the threads of a block take together, with the widest vectors. */
function rowOf(kernel: Kernel): number {
  return Math.max(kernel.blockThreads, 1) * Math.max(...vectorLanes(kernel));
}

interface WantedShapes {
  readonly basic: readonly DimValues[];
  readonly further: readonly DimValues[];
}

/** Shapes at which a claim is proved if the conditions allow them: `further` where some path was not taken at the others. */
export function wantedShapes(kernel: Kernel, claim: "answer" | "ordering"): WantedShapes {
  const { dims, world } = kernel;
  const steps = new Map(dims.map((d) => [d, stepOf(kernel, d)]));
  const shape = (lengths: (dim: string, d: number) => number): DimValues =>
    Object.fromEntries(dims.map((name, d) => [name, roundUp(lengths(name, d), steps.get(name)!)]));
  if (dims.length === 0) return { basic: [{}], further: [] };
  const threads = Math.max(kernel.blockThreads, 1);
  const lanes = vectorLanes(kernel);
  const row = rowOf(kernel);
  /** Elements after which a loop over them has taken its main path. */
  const main = ROWS_IN_FLIGHT * kernel.maxBlocks * row;
  const last = rowDimension(kernel);
  const isProduct = multiplies(kernel);
  if (dims.length === 1 && last !== undefined && !isProduct) {
    const parts = partsOf(kernel, dims[0]!);
    const lengths = [1, restFrom(main + row, threads, lanes, false), restFrom(main + row, threads, lanes, true)];
    // Of 64 and of 16, which chunks and vectors go by; the one before is a multiple of neither where vectors are short.
    const multiples = [64, 16].map((of) => (Math.ceil(main / of) | (of === 64 ? 0 : 1)) * of);
    const all = [...lengths, ...multiples].map((n) => shape(() => n * parts));
    // A kernel that works on a share, or on one piece of several, of what is not sharded needs that many times as much.
    return {
      basic: all,
      further: parts === world ? [] : [shape(() => (main + row) * Math.max(world, MOST_PIECES) + 5)],
    };
  }
  const few = (n: number): DimValues => shape((name) => n * (isSharded(kernel, name) ? world : 1));
  if (last === undefined) {
    // Rows have a length of their own, as in `T[m, 7168]`: few of long ones, and of short ones as many as lead loops over
    // all elements to their main paths.
    const length = lengthOfRows(kernel, few(1));
    // One long row takes all paths by itself; of more, there is one more than blocks take at a time.
    if (length >= mainPath(kernel)) return { basic: [few(1), few(FEW_ROWS + 1), few(13)], further: [] };
    const rows = Math.max(FEW_ROWS, Math.ceil((main + row) / length));
    return { basic: [few(1), few(rows), few(rows + 1), few(13)], further: [] };
  }
  if (!isProduct) {
    // Of many dimensions, the outer ones have two indices each: what goes wrong with strides shows there.
    const rowsOf = (d: number): number => (d < dims.length - MOST_DIMENSIONS ? 2 : FEW_ROWS);
    const longOf =
      (pieces: (name: string) => number) =>
      (n: number): DimValues =>
        shape((name, d) => (name === last ? n : rowsOf(d)) * pieces(name));
    const long = longOf((name) => partsOf(kernel, name));
    // Of one to three rows, neither is a multiple of the elements that blocks have in flight.
    // A block may take several short rows at once, and more than once.
    const short = shape((name) => (name === last ? 8 : 13) * partsOf(kernel, name));
    const basic = [shape(() => 1), long(235), long(232), short, long(192), long(208)];
    // What is cut along one axis may be cut along the others on the way.
    const isCutFurther = dims.some((name) => isSharded(kernel, name) && partsOf(kernel, name) < world);
    return { basic, further: isCutFurther ? [longOf((name) => (isSharded(kernel, name) ? world : 1))(235)] : [] };
  }
  // Products: several tiles with ragged edges, and a depth that fills the pipeline and empties it.
  const summed = summedDimensions(kernel);
  const squares = squareDimensions(kernel);
  const isDepth = (name: string): boolean => summed.has(name);
  const cut = (piecesOf: (name: string) => number) => (rows: number, columns: number, k: number, middle: number) =>
    shape((name, d) => {
      const parts = piecesOf(name);
      if (isDepth(name) || (d > 0 && name !== last))
        return Math.min(isDepth(name) ? k : middle, parts > 4 ? 18 : Infinity) * parts;
      if (name === last) return columns * parts;
      return d === 0 && parts > 1 ? Math.max(2, Math.ceil(rows / parts)) * parts : rows;
    });
  const whole = cut((name) => partsOf(kernel, name));
  // The rows of a square are not cut where its columns are: few of them are few tiles.
  const ofSquares = cut((name) => (squares.has(name) ? 1 : partsOf(kernel, name)));
  const part = (rows: number, columns: number, k: number, middle = k): DimValues[] =>
    // Of squares alone, one length is all three.
    dims.length === 1 ? [rows, columns, k].map((n) => shape(() => n)) : [ofSquares(rows, columns, k, middle)];
  // Then one tile, so deep that blocks share its depth.
  const basic = [shape(() => 1), ...[part(19, 19, 27), part(16, 24, 24), part(5, 7, 43), part(4, 8, 40)].flat()];
  if (squares.size > 0 && dims.length > 1) basic.push(whole(19, 19, 27, 27), whole(16, 24, 24, 24));
  const { wide, narrow, least, isGathered, isHandedOver } = tilesOfRoles(kernel);
  // Two rows of the widest tiles; and of lengths that the copy engine takes, so that launches choose, a row of two tiles, whichever they are, and of
  // tiles that are each of one owner as many of the one as of the other.
  if (least < wide.n) {
    basic.push(...part(wide.m + 3, least + 5, 27), ...part(wide.m - 3, 2 * least - 8, 32));
    if (isHandedOver) basic.push(...part(wide.m * world, (kernel.maxBlocks + 1) * least, 24));
  }
  // Where rows are gathered while the product goes on, some tiles are one rank's own, and more than one block sends.
  if (isGathered) basic.push(...part(wide.m * world, wide.n / 2, Math.ceil(row / wide.m) + 8));
  // Where owners complete their tiles, each is of one owner, and blocks have several of their own, and several of others. With a row
  // of one tile, some have none of their own; two ranks have then no more tiles than blocks, and do not complete any.
  if (isHandedOver) basic.push(...part(wide.m * world, (kernel.maxBlocks + 1) * wide.n - 8, 24));
  if (isHandedOver && world > kernel.maxBlocks) basic.push(...part(wide.m * world, wide.n, 24));
  // As many narrow tiles as blocks, with ragged edges; more of those, of so few rows that blocks have two; and of more rows, which are one wide
  // tile whose depth is shared.
  if (narrow !== null)
    basic.push(
      ...part(narrow.m - 3, kernel.maxBlocks * narrow.n - 3, 43),
      ...part(5, 2 * kernel.maxBlocks * narrow.n - 1, 43),
      ...part(narrow.m - 3, wide.n - 1, 43),
    );
  if (claim === "answer" && (world > 2 || dims.length > 3)) return { basic, further: [] };
  // As deep as the others, but with no more columns than one tile has: what more of them do is known from those.
  const deep = 24;
  const columns = isSharded(kernel, last) ? Math.ceil(deep / world) : deep;
  return { basic, further: part(Math.ceil((main + row) / deep) * world, columns, deep, columns) };
}

/** Dimensions that products sum over: those that no output has, and where there are none, those that all inputs have. */
function summedDimensions({ dims, inputs, outputs }: Kernel): ReadonlySet<string> {
  const has = ({ shape }: SignatureTensor, name: string): boolean => shape.some((e) => extentNames(e).has(name));
  const gone = dims.filter(
    (name) => !outputs.some((t) => has(t, name)) && inputs.filter((t) => has(t, name)).length > 1,
  );
  return new Set(gone.length > 0 ? gone : dims.filter((name) => inputs.every((t) => has(t, name))));
}

/** Dimensions that some tensor has twice. */
function squareDimensions({ dims, inputs, outputs }: Kernel): ReadonlySet<string> {
  const tensors = [...inputs, ...outputs];
  return new Set(dims.filter((name) => tensors.some(({ shape }) => shape.filter((e) => e === name).length > 1)));
}

interface TilesOfRoles {
  /** Rows and columns of tiles; 0 where products have no roles. */
  readonly wide: { readonly m: number; readonly n: number };
  /** Columns of the least wide tiles that a launch may choose. */
  readonly least: number;
  /** Those that products of few tiles have; null where they have the same. */
  readonly narrow: { readonly m: number; readonly n: number } | null;
  /** Whether movers gather an operand, and whether consumers hand them tiles for other ranks. */
  readonly isGathered: boolean;
  readonly isHandedOver: boolean;
}

function tilesOfRoles(kernel: Kernel): TilesOfRoles {
  const roles: Attributes[] = [];
  const chosen: number[] = [];
  walkKernel(kernel, (op) => {
    if (op.name === "roles") roles.push(op.attributes);
    if (op.name === "mma" && "columns" in op.attributes) chosen.push(op.attributes["columns"] as number);
  });
  const fragments = kernel.buffers.filter((b) => roles.length > 0 && b.role === "fragment");
  const tiles = fragments.map(({ shape }) => ({ m: shape[0] as number, n: shape[1] as number }));
  const wide = tiles.reduce((a, b) => (b.n > a.n ? b : a), { m: 0, n: 0 });
  const narrow = tiles.find(({ m, n }) => m === wide.m && n < wide.n) ?? null;
  const isHandedOver = roles.some((r) => "outgoing" in r);
  const least = Math.min(wide.n, ...chosen);
  return { wide, narrow, least, isGathered: roles.some((r) => "movers" in r && !("outgoing" in r)), isHandedOver };
}

/** The most elements that a tensor has at some lengths. */
function lengthOfRows(kernel: Kernel, dims: DimValues): number {
  return Math.max(1, ...outerTensors(kernel).map((t) => elementsOf(t.localShape, dims)));
}

/** Elements after which a loop over them has taken its main path and begun the next round. */
function mainPath(kernel: Kernel): number {
  return (ROWS_IN_FLIGHT * kernel.maxBlocks + 1) * rowOf(kernel);
}

/** Elements of the vectors of 16 bytes that a kernel may work on. */
function vectorLanes({ buffers }: Kernel): number[] {
  return [...new Set(buffers.map((b) => 16 / DTYPES[b.dtype].bytes))];
}

/**
 * A length, at least `least`, that leaves a rest of vectors after whole rows of a block, for vectors of each of `lanes`
 * if there is such a length. With `even` a multiple of all vectors, else a length that leaves a rest of elements, too.
 */
function restFrom(least: number, threads: number, lanes: readonly number[], even: boolean): number {
  const [widest, narrowest] = [Math.max(...lanes), Math.min(...lanes)];
  const isWanted = (n: number): boolean => (even ? n % widest === 0 : n % narrowest === narrowest - 1);
  const score = (n: number): number => lanes.filter((l) => n % (threads * l) >= l).length;
  const candidates = Array.from({ length: threads * widest }, (_, i) => least + i).filter(isWanted);
  return candidates.reduce((best, n) => (score(n) > score(best) ? n : best));
}

/** The dimension that neighbours in memory differ in: the last one of most tensors. Undefined if that has no name. */
export function rowDimension({ dims, inputs, outputs }: Kernel): string | undefined {
  const rows = [...inputs, ...outputs].map((t) => t.shape.at(-1));
  const count = (dim: string): number => rows.filter((e) => e !== undefined && extentNames(e).has(dim)).length;
  return dims.reduce<string | undefined>(
    (best, d) => (count(d) > 0 && (best === undefined || count(d) >= count(best)) ? d : best),
    undefined,
  );
}

/** Whether each rank has a part of a dimension; or elements that steer are limited by one, perhaps by such a part. */
const isSharded = (kernel: Kernel, dim: string): boolean => partsOf(kernel, dim) > 1;

/** How many parts a dimension is cut into among ranks; 1 where it is not. */
function partsOf({ requirements, world, mesh, inputs }: Kernel, dim: string): number {
  const limits = inputs.flatMap(({ values }) => (values === undefined ? [] : [values.from, values.to]));
  if (limits.some((e) => extentNames(e).has(dim))) return world;
  const parts = [world, ...mesh.map((axis) => axis.size)];
  const divisors = requirements.flatMap((r) => divisorOf(r) ?? []).filter((r) => extentNames(r.length).has(dim));
  return Math.max(1, ...divisors.map((r) => r.divisor).filter((n) => parts.includes(n)));
}

function stepOf(kernel: Kernel, dim: string): number {
  return kernel.requirements
    .flatMap((r) => divisorOf(r) ?? [])
    .filter((r) => extentNames(r.length).has(dim))
    .reduce((step, r) => (step * r.divisor) / greatestCommon(step, r.divisor), 1);
}

function roundUp(n: number, step: number): number {
  return Math.max(1, Math.ceil(n / step)) * step;
}

/** A few elements of a few rows. */
export function shortShape(kernel: Kernel): DimValues {
  const row = rowDimension(kernel);
  return Object.fromEntries(kernel.dims.map((d) => [d, roundUp(d === row ? 8 : FEW_ROWS, stepOf(kernel, d))]));
}

/**
 * Where buffers start at odd addresses: the ragged shape, or one as much shorter as scalar loops reach their main paths
 * sooner than vector loops. Not for blocks that share memory: products go by tiles, whatever their addresses, and what
 * folds rows goes through long ones otherwise than through short ones. Of rows that are as long as loops need, one is enough.
 * @param shortest the shape with the fewest rows
 */
export function oddShape(kernel: Kernel, ragged: DimValues, shortest = ragged): DimValues {
  const row = rowDimension(kernel);
  if (row === undefined && lengthOfRows(kernel, shortest) >= mainPath(kernel)) return shortest;
  if (row === undefined || kernel.buffers.some((b) => b.role === "shared")) return ragged;
  const threads = Math.max(kernel.blockThreads, 1);
  const parts = isSharded(kernel, row) ? kernel.world : 1;
  const shorter = Math.ceil(ragged[row]! / parts / Math.min(...vectorLanes(kernel)));
  const wanted = { ...ragged, [row]: roundUp(restFrom(shorter, threads, [1], false) * parts, stepOf(kernel, row)) };
  const dims = fitting(kernel, wanted);
  return dims !== null && dims[row]! < ragged[row]! ? dims : ragged;
}
