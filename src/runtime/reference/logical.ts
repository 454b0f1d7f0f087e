/** Logical tensors, put together from what each rank holds, a range of rows (indices of dimension 0) at a time. */
import {
  coordinateOf,
  type DType,
  DTYPES,
  evaluateExtent,
  InternalCompilerError,
  LAMBDA,
  maximum,
  membersOf,
  minimum,
  partialOf,
  partsOfRank,
  placementsOf,
  REDUCE,
  sourcesOf,
  U32,
  type Manifest,
  type DimValues,
  type ReductionOp,
  type SignatureTensor,
} from "../../compiler/index.js";
import { decodeInto, type TypedArray } from "../numbers/index.js";
import { wideBinary, wideRows } from "./wide.js";

/** Whole numbers that float64 holds; 8-bit ones are kept as they come out, and wrap when they are stored. */
export type Whole32 = "i32" | "u32";

/** The whole numbers that are computed with; those of `i64` are bigints (see `wide.ts`). */
export type Whole = Whole32 | "i64";

/** How elements of a dtype are computed with; null for floats. Truth values are 0 and 1, which any whole number does for. */
export function wholeKind(dtype: DType): Whole | null {
  const { compute } = DTYPES[dtype];
  return compute === "f32" ? null : compute === "bool" ? "i32" : compute;
}

/** A whole number as 32 bits hold it; exact below 2^53. */
export function wrap(whole: Whole32, value: number): number {
  return whole === "i32" ? value | 0 : value >>> 0;
}

/** The product of two whole numbers, which float64 cannot hold. */
export function timesWhole(whole: Whole32, a: number, b: number): number {
  return wrap(whole, Math.imul(a, b));
}

/** The longest stride at which partial sums are looked at. */
const LONGEST_STRIDE = 4096;

/** Terms of a sum, fewer than which are bounded well enough by their magnitudes. */
const FEW = 512;

/**
 * A bound on the magnitude of the partial sums of a float32 sum, in whatever order it is added up: those in the order of the
 * terms and those of every 2^j-th term, which threads and lanes add up, as they are; and by what others, whose order the terms
 * know nothing of, may exceed |Σ x|: LAMBDA/2·‖x‖₂, with the probability that `LAMBDA` stands for (Serfling, "Probability
 * inequalities for the sum in sampling without replacement", 1974: within t·√n·σ/2 but with 2·exp(-t²/2)).
 */
export class PartialSums {
  private readonly residues: Float64Array | null;
  private count = 0;
  private total = 0;
  private largest = 0;
  private squares = 0;
  private magnitudes = 0;

  /** @param length how many terms there will be */
  constructor(length: number) {
    const stride = Math.min(LONGEST_STRIDE, 2 ** Math.floor(Math.log2(length)));
    this.residues = length < FEW ? null : new Float64Array(stride);
  }

  add(x: number): void {
    this.magnitudes += Math.abs(x);
    if (this.residues === null) return;
    this.total += x;
    this.largest = Math.max(this.largest, Math.abs(this.total));
    this.squares += x * x;
    const at = this.count++ % this.residues.length;
    this.residues[at] = this.residues[at]! + x;
  }

  get bound(): number {
    const { residues } = this;
    if (residues === null) return this.magnitudes;
    let largest = this.largest;
    for (let stride = residues.length; stride >= 1; stride /= 2) {
      for (let i = 0; i < stride; i++) largest = Math.max(largest, Math.abs(residues[i]!));
      for (let i = 0; i < stride / 2; i++) residues[i] = residues[i]! + residues[i + stride / 2]!;
    }
    return Math.min(this.magnitudes, largest + (LAMBDA / 2) * Math.sqrt(this.squares));
  }
}

/** What float32 may err by in a sum of `terms`, of magnitudes Σ|x| and partial sums up to `reach`; see `LAMBDA`. */
export function sumError(terms: number, magnitudes: number, reach: number): number {
  return terms > 1
    ? U32 * Math.min((terms - 1) * magnitudes, LAMBDA * Math.sqrt(terms) * Math.min(reach, magnitudes))
    : 0;
}

/** Rows of a tensor in float64, with a bound on how far correct float32 arithmetic may be from them. */
export interface Rows {
  readonly values: Float64Array;
  /** Bound per element on the error before the last rounding; null if there is none. */
  readonly error: Float64Array | null;
  /** The values are elements of an input, untouched. */
  readonly copied: boolean;
  /** Of a sum over ranks: the sum of its parts' magnitudes, as parts may be rounded before they meet. Else |values|. */
  readonly sizes?: Float64Array;
  /** Of 64-bit whole numbers: the values, of which `values` has the nearest float64. */
  readonly wide?: BigInt64Array;
}

export function shapeOf(tensor: SignatureTensor, dims: DimValues): number[] {
  return tensor.shape.map((e) => evaluateExtent(e, dims));
}

const product = (shape: readonly number[]): number => shape.reduce((a, n) => a * n, 1);

/** Elements in one row of a shape: all dimensions but the first. */
export function rowLength(shape: readonly number[]): number {
  return product(shape.slice(1));
}

/** The ranks a tensor of the signature lies on, in the order of its layout, as `self` sees it. */
export function membersFor(
  tensor: SignatureTensor,
  manifest: Pick<Manifest, "mesh" | "ranks">,
  self: number,
): readonly number[] {
  return membersOf(tensor.layout, manifest.mesh, manifest.ranks, self);
}

/**
 * Calls `visit` for each run of neighbouring elements in rows `first` … `last` (exclusive) that `rank` holds:
 * offset in those rows, offset in the rank's array, length. Nothing for a rank that holds none of them.
 *
 * @param rank its place among the ranks that the layout is about.
 */
export function visitSegments(
  tensor: SignatureTensor,
  dims: DimValues,
  rank: number,
  first: number,
  last: number,
  visit: Visit,
): void {
  const shape = shapeOf(tensor, dims);
  const row = rowLength(shape);
  const { layout } = tensor;
  if (layout.kind === "grid") throw new InternalCompilerError("a tensor of several axes has no one order of ranks");
  if (layout.kind === "on" && layout.rank !== rank) return;
  if (layout.kind !== "sharded") return visit(0, first * row, (last - first) * row);
  const own = evaluateExtent(tensor.localShape[layout.dim]!, dims);
  if (layout.dim === 0) {
    const from = Math.max(first, rank * own);
    const to = Math.min(last, (rank + 1) * own);
    if (to > from) visit((from - first) * row, (from - rank * own) * row, (to - from) * row);
    return;
  }
  const inner = product(shape.slice(layout.dim + 1));
  const outer = product(shape.slice(1, layout.dim)) * (last - first);
  const before = product(shape.slice(1, layout.dim)) * first;
  const width = own * inner;
  const whole = shape[layout.dim]! * inner;
  for (let o = 0; o < outer; o++) visit(o * whole + rank * width, (before + o) * width, width);
}

/** The same of a tensor that lies along several axes; `parts` says which part of each dimension the rank holds. */
export function visitGridSegments(
  tensor: SignatureTensor,
  dims: DimValues,
  parts: readonly number[],
  first: number,
  last: number,
  visit: Visit,
): void {
  const shape = shapeOf(tensor, dims);
  const own = tensor.localShape.map((e) => evaluateExtent(e, dims));
  const width = own.at(-1)!;
  const row = rowLength(shape);
  const lines = product(own.slice(0, -1));
  for (let line = 0; line < lines; line++) {
    // Where the line lies in the whole: its index, dimension by dimension from the last but one.
    let [rest, place, stride] = [line, parts.at(-1)! * width, shape.at(-1)!];
    for (let d = shape.length - 2; d >= 0; d--) {
      place += (parts[d]! * own[d]! + (rest % own[d]!)) * stride;
      stride *= shape[d]!;
      rest = Math.floor(rest / own[d]!);
    }
    const [from, to] = [Math.max(place, first * row), Math.min(place + width, last * row)];
    if (to > from) visit(from - first * row, line * width + (from - place), to - from);
  }
}

/** So many neighbouring places of the last dimension. */
export interface Columns {
  readonly from: number;
  readonly count: number;
}

type Visit = (logical: number, local: number, length: number) => void;

/** Of runs of a tensor with rows of `width`, what lies in the columns, counted among these alone. All of it for null. */
export function inColumns(visit: Visit, width: number, columns: Columns | null): Visit {
  if (columns === null) return visit;
  const { from, count } = columns;
  return (logical, local, length) => {
    const end = logical + length;
    for (let line = Math.floor(logical / width); line * width < end; line++) {
      const start = line * width + from;
      const [lo, hi] = [Math.max(logical, start), Math.min(end, start + count)];
      if (hi > lo) visit(line * count + lo - start, local + lo - logical, hi - lo);
    }
  };
}

/** Reads elements of the tensor from one rank's array. */
export type Reader = (rank: number, from: number, to: number) => TypedArray;

/**
 * Rows `first` … `last` of the logical tensor. `self` is the rank whose values a `local` tensor, or whose row, is meant.
 *
 * @param columns of a tensor of two dimensions and more, these alone
 */
export function readRows(
  tensor: SignatureTensor,
  dims: DimValues,
  manifest: Pick<Manifest, "mesh" | "ranks">,
  read: Reader,
  first: number,
  last: number,
  self: number,
  columns: Columns | null = null,
): Rows {
  const shape = shapeOf(tensor, dims);
  const width = shape.at(-1)!;
  const whole = (last - first) * rowLength(shape);
  const n = columns === null ? whole : (whole / width) * columns.count;
  const { layout, dtype } = tensor;
  if (layout.kind === "grid") return readGrid(tensor, dims, manifest, read, [first, last], self, n, columns);
  const members = membersFor(tensor, manifest, self);
  const world = members.length;
  const gather = <A extends Float64Array | BigInt64Array>(place: number, into: A): A => {
    const rank = members[place]!;
    const visit: Visit = (logical, local, length) =>
      take(dtype, read(rank, local, local + length), into.subarray(logical, logical + length));
    visitSegments(tensor, dims, place, first, last, inColumns(visit, width, columns));
    return into;
  };
  if (dtype === "i64") {
    const place = layout.kind === "on" ? layout.rank : layout.kind === "local" ? self : 0;
    if (layout.kind === "partial") return foldedWide(layout.op, world, gather, n);
    const wide = gather(place, new BigInt64Array(n));
    if (layout.kind === "sharded") for (let rank = 1; rank < world; rank++) gather(rank, wide);
    return { ...wideRows(wide), copied: true };
  }
  const values = new Float64Array(n);
  switch (layout.kind) {
    case "replicated":
      return { values: gather(0, values), error: null, copied: true };
    case "on":
      return { values: gather(layout.rank, values), error: null, copied: true };
    case "local":
      return { values: gather(self, values), error: null, copied: true };
    case "sharded":
      for (let rank = 0; rank < world; rank++) gather(rank, values);
      return { values, error: null, copied: true };
    case "partial":
      return folded(tensor, layout.op, world, (place, into) => void gather(place, into), values);
  }
}

/** Elements as they are in an array of their own. */
function take(dtype: DType, elements: TypedArray, into: Float64Array | BigInt64Array): void {
  if (into instanceof BigInt64Array) into.set(elements as BigInt64Array);
  else decodeInto(dtype, elements, into);
}

function foldedWide(
  op: ReductionOp,
  count: number,
  gather: (place: number, into: BigInt64Array) => void,
  n: number,
): Rows {
  const wide = new BigInt64Array(n);
  gather(0, wide);
  const next = new BigInt64Array(n);
  const f = wideBinary(REDUCE[op === "avg" ? "sum" : op].fn);
  for (let place = 1; place < count; place++) {
    gather(place, next);
    for (let i = 0; i < n; i++) wide[i] = f(wide[i]!, next[i]!);
  }
  if (op === "avg") for (let i = 0; i < n; i++) wide[i] = wide[i]! / BigInt(count);
  return wideRows(wide);
}

/** What `count` summands come to, each put into an array by `gather`. */
function folded(
  { dtype }: SignatureTensor,
  op: ReductionOp,
  count: number,
  gather: (place: number, into: Float64Array) => void,
  values: Float64Array,
): Rows {
  const n = values.length;
  gather(0, values);
  const next = new Float64Array(n);
  const whole = wholeKind(dtype) as Whole32 | null;
  const float = whole === null;
  const error = float && count > 1 ? values.map(Math.abs) : null;
  for (let place = 1; place < count; place++) {
    gather(place, next);
    accumulate(op, values, error, next, whole);
  }
  const parts = op === "avg" ? count : 1;
  const isSum = op === "sum" || op === "avg";
  const sizes = isSum && error !== null ? { sizes: error.map((size) => size / parts) } : {};
  if (whole !== null) for (let i = 0; i < n; i++) values[i] = wrap(whole, values[i]!);
  finish(op, values, error, count, float);
  return { values, error: op === "min" || op === "max" ? null : error, copied: false, ...sizes };
}

/** A tensor of several axes: summands by summands, each put together from its parts. */
function readGrid(
  tensor: SignatureTensor,
  dims: DimValues,
  { mesh }: Pick<Manifest, "mesh">,
  read: Reader,
  [first, last]: readonly [number, number],
  self: number,
  n: number,
  columns: Columns | null,
): Rows {
  const { layout, dtype, shape } = tensor;
  const width = shapeOf(tensor, dims).at(-1)!;
  const summands = new Map<string, { readonly rank: number; readonly parts: readonly number[] }[]>();
  for (const rank of sourcesOf(layout, mesh, self)) {
    const key = placementsOf(layout, mesh)
      .map((p, at) => (p.kind === "partial" ? coordinateOf(rank, mesh, at) : 0))
      .join();
    const parts = partsOfRank(layout, mesh, rank, shape.length);
    summands.set(key, [...(summands.get(key) ?? []), { rank, parts }]);
  }
  const all = [...summands.values()];
  const gather = (place: number, into: Float64Array | BigInt64Array): void => {
    for (const { rank, parts } of all[place]!) {
      const visit: Visit = (logical, local, length) =>
        take(dtype, read(rank, local, local + length), into.subarray(logical, logical + length));
      visitGridSegments(tensor, dims, parts, first, last, inColumns(visit, width, columns));
    }
  };
  const op = partialOf(layout);
  if (dtype === "i64") {
    if (op !== null) return foldedWide(op, all.length, gather, n);
    const wide = new BigInt64Array(n);
    gather(0, wide);
    return { ...wideRows(wide), copied: true };
  }
  const values = new Float64Array(n);
  if (op !== null) return folded(tensor, op, all.length, gather, values);
  gather(0, values);
  return { values, error: null, copied: true };
}

/** How many summands a tensor's values are made of, as `self` sees them. */
export function summandsOf(tensor: SignatureTensor, manifest: Pick<Manifest, "mesh" | "ranks">, self: number): number {
  if (tensor.layout.kind !== "grid") return membersFor(tensor, manifest, self).length;
  return placementsOf(tensor.layout, manifest.mesh).reduce(
    (n, p, at) => (p.kind === "partial" ? n * manifest.mesh[at]!.size : n),
    1,
  );
}

/** Folds one more rank into `values`; `sizes` sums up magnitudes. */
function accumulate(
  op: ReductionOp,
  values: Float64Array,
  sizes: Float64Array | null,
  next: Float64Array,
  whole: Whole32 | null,
): void {
  const n = values.length;
  if (op === "sum" || op === "avg") {
    for (let i = 0; i < n; i++) values[i] = values[i]! + next[i]!;
    if (sizes !== null) for (let i = 0; i < n; i++) sizes[i] = sizes[i]! + Math.abs(next[i]!);
  } else if (op === "prod") {
    const times = whole === null ? (a: number, b: number) => a * b : (a: number, b: number) => timesWhole(whole, a, b);
    for (let i = 0; i < n; i++) values[i] = times(values[i]!, next[i]!);
  } else {
    const better = op === "min" ? minimum : maximum;
    for (let i = 0; i < n; i++) values[i] = better(values[i]!, next[i]!);
  }
}

/**
 * Turns magnitudes into error bounds. world - 1 float32 additions err by at most (world - 1)·u·Σ|x_r|, in any
 * order; products by (world - 1)·u relative; an average by two more roundings (of 1/world, and of the product).
 * Integer averages are cut towards zero.
 */
function finish(
  op: ReductionOp,
  values: Float64Array,
  sizes: Float64Array | null,
  world: number,
  float: boolean,
): void {
  if (op === "avg")
    for (let i = 0; i < values.length; i++) values[i] = float ? values[i]! / world : Math.trunc(values[i]! / world);
  if (sizes === null) return;
  for (let i = 0; i < values.length; i++) {
    if (op === "sum") sizes[i] = (world - 1) * U32 * sizes[i]!;
    else if (op === "avg") sizes[i] = ((world + 1) * U32 * sizes[i]!) / world;
    else sizes[i] = (world - 1) * U32 * Math.abs(values[i]!) * 1.01 + 2 ** -149;
  }
}

/** A number that the launch was given, as kernels have it. */
export function givenTo(name: string, { scalars }: Manifest, given: DimValues): number {
  const { dtype } = scalars.find((s) => s.name === name)!;
  return dtype === "f32" ? Math.fround(given[name]!) : given[name]!;
}
