/** Which elements of a buffer a `copy_tile` takes. Every executor of the op asks here. */
import { type DType, DTYPES } from "../types/dtype.js";
import { type Buffer, bufferOf, isRemote, type Kernel, type Op, text } from "./module.js";

/**
 * Columns of a patch, the f32 buffer that the elements of an accumulator leave a warp through: as many as a line of memory
 * holds, and a gap, so that its rows begin in different banks.
 */
export const PATCH_PAD = 8;
export const PATCH_COLUMNS = 32 + PATCH_PAD;

/** What stays the same of a copy: the source's shape, the tile's, and how it lies in the source. */
export interface TileSource {
  readonly shape: readonly number[];
  /** Rows and columns of the tile. */
  readonly tile: readonly [rows: number, columns: number];
  /** Dimension of the source that rows go along; columns go along the last. */
  readonly rows: number;
  /** What `end` bounds; null where there is none. */
  readonly end: "rows" | "columns" | null;
  /** Of which only the first are copied; null where all are. */
  readonly limit: "rows" | "columns" | null;
}

export function tileSource(op: Op, shape: readonly number[], target: readonly number[]): TileSource {
  const [, rows, columns] = target as [number, number, number];
  const bound = (name: "end" | "limit"): TileSource["end"] =>
    (op.attributes[name] as TileSource["end"] | undefined) ?? null;
  return {
    shape,
    tile: [rows, columns],
    rows: op.attributes["rows"] as number,
    end: bound("end"),
    limit: bound("limit"),
  };
}

/** Operands of a copy, by meaning. */
export interface TileOperands<T> {
  readonly peer: T | null;
  readonly indices: readonly T[];
  readonly stage: T;
  readonly end: T | null;
  readonly limit: T | null;
}

/** Tells the operands of a copy apart. @param operands as many as the op has @param rank dimensions of the source */
export function tileOperands<T>(op: Op, rank: number, operands: readonly T[]): TileOperands<T> {
  const rest = [...operands];
  const next = (isThere: boolean): T | null => (isThere ? rest.shift()! : null);
  const peer = next(isRemote(op));
  const indices = rest.splice(0, rank);
  const stage = rest.shift()!;
  return { peer, indices, stage, end: next("end" in op.attributes), limit: next("limit" in op.attributes) };
}

export interface TileWindow {
  /** Columns of the tile that lie in the source and are copied: from `left`, before `right`. None where `right <= left`. */
  readonly left: number;
  readonly right: number;
  /** Element of the source at column 0 of a row of the tile, which may lie before the source; null for rows outside. */
  readonly start: (row: number) => number | null;
  /** Rows and columns of the tile that are copied, from the first on; the others hold anything. */
  readonly copied: readonly [rows: number, columns: number];
  /** A dimension, neither of rows nor columns, whose index lies outside the source; null where all are inside. */
  readonly outside: number | null;
}

export function tileWindow(
  source: TileSource,
  { indices, end, limit }: Pick<TileOperands<number>, "indices" | "end" | "limit">,
): TileWindow {
  const { shape, tile, rows, end: bounded } = source;
  const last = shape.length - 1;
  const cut = (d: number, which: "rows" | "columns"): number =>
    bounded === which ? Math.min(shape[d]!, end!) : shape[d]!;
  const [height, width] = [cut(rows, "rows"), cut(last, "columns")];
  const strides = shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));
  const isOther = (d: number): boolean => d !== rows && d !== last;
  const base = indices.reduce((sum, at, d) => sum + at * strides[d]!, 0);
  const column = indices[last]!;
  const among = (size: number, which: "rows" | "columns"): number =>
    source.limit === which ? Math.min(size, limit!) : size;
  const copied = [among(tile[0], "rows"), among(tile[1], "columns")] as const;
  const outside = indices.findIndex((at, d) => isOther(d) && !(at >= 0 && at < shape[d]!));
  return {
    left: Math.max(0, -column),
    right: Math.min(copied[1], width - column),
    copied,
    start: (row) => {
      const at = indices[rows]! + row;
      return row < copied[0] && at >= 0 && at < height ? base + row * strides[rows]! : null;
    },
    outside: outside < 0 ? null : outside,
  };
}

/** Sizes of the tiles that an `mma` multiplies, how many products that are, which tiles lie the other way round, and what multiplies them. */
export function productShape(
  op: Op,
  kernel: Kernel,
): {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Columns that are multiplied, the first of the n of the tile. */
  readonly columns: number;
  readonly products: 1 | 2;
  readonly transposed: string;
  readonly unit: "tensor" | "scalar";
} {
  const transposed = (op.attributes["transposed"] as string | undefined) ?? "";
  const [a, b] = ["a", "b"].map((key) => bufferOf(kernel, text(op, key)));
  const [rows, columns] = [a, b].map((buffer) => buffer!.shape.slice(1) as number[]) as [number[], number[]];
  const [m, k] = (transposed.includes("a") ? rows.toReversed() : rows) as [number, number];
  const n = (transposed.includes("b") ? columns[0] : columns[1])!;
  const products = "twin" in op.attributes ? 2 : 1;
  const multiplied = (op.attributes["columns"] as number | undefined) ?? n;
  return { m, n, k, columns: multiplied, products, transposed, unit: a!.dtype === "f32" ? "scalar" : "tensor" };
}

/**
 * Whether the products of a stage are added up apart, and then to the accumulator in f32. Tensor cores of sm_90 add products of f8
 * with 13 bits behind the first of the largest (DeepSeek-V3 technical report, 2024, section 3.3.2); of others they keep what f32 keeps.
 */
export function isAddedApart(dtype: DType): boolean {
  return DTYPES[dtype].kind === "float" && DTYPES[dtype].bytes === 1;
}

/** Columns whose sums of a stage a thread has registers for, besides those of the accumulator: they are added up apart, and scaled alike. */
export const APART_COLUMNS = 128;

/** Columns that are added up apart together, of a tile with so many: equal parts of it, as few as there are registers for. */
export function apartColumns(columns: number): number {
  return columns / Math.ceil(columns / APART_COLUMNS);
}

/** For how many rows of a, or columns of b, of a product's tile a scale in a buffer of theirs serves. */
export function rowsPerScale(rows: number, { shape }: Buffer): number {
  const [, height, width] = shape as readonly [number, number, number];
  return rows / (height * width);
}
