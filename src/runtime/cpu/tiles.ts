/**
 * Tiles and block-wide matrix products. Copies land as late as the program allows: at the `copy_wait` that
 * needs them, not when they start, so that a pipeline that reads a stage too early is seen to do so.
 */
import { DTYPES, type DType, tileWindow, type TileWindow } from "../../compiler/index.js";
import { decodeInto, type TypedArray } from "../numbers/index.js";
import type { BlockState, Launch } from "./launch.js";

/** A tile copy that has been started. Performed when it lands. */
export type Copy = () => void;

/** What a copy does wherever it goes, made once for each op. */
export interface CopySite {
  readonly site: number;
  readonly from: number;
  readonly to: number;
  /** Rows go along this dimension of the source, columns along the last. */
  readonly rows: number;
  readonly end: "rows" | "columns" | null;
}

/** The elements of a copy, once its peer and its stage are known to exist. */
export function windowOf(
  L: Launch,
  { site, from, to, rows, end }: CopySite,
  rank: number,
  block: number,
  peer: number,
  numbers: readonly number[],
): TileWindow & { readonly base: number } {
  const { world } = L.kernel;
  if (!(peer >= 0 && peer < world)) L.faults.peer(site, rank, block, peer, world);
  const [stages, height, width] = L.shapes[to]! as [number, number, number];
  const shape = L.shapes[from]!;
  const [stage, last] = numbers.slice(shape.length) as [number, number | undefined];
  if (!(stage >= 0 && stage < stages)) L.faults.dimension(site, rank, block, 0, stage, stages);
  const window = tileWindow({ shape, tile: [height, width], rows, end }, numbers.slice(0, shape.length), last);
  const { outside } = window;
  if (outside !== null) L.faults.dimension(site, rank, block, outside, numbers[outside]!, shape[outside]!);
  return { ...window, base: stage * height * width };
}

/** `copy_tile`: `numbers` are the place in `from` on `peer` that the tile begins at, the stage of `to`, and the end. */
export function copy(
  L: Launch,
  K: BlockState,
  op: CopySite,
  rank: number,
  block: number,
  peer: number,
  ...numbers: readonly number[]
): void {
  const { left, right, start, base } = windowOf(L, op, rank, block, peer, numbers);
  const [, rows, cols] = L.shapes[op.to]! as [number, number, number];
  const source = L.arrays[op.from]![peer]!;
  const written = L.shadows[op.from]![peer];
  const target = K.memory[op.to]!;
  const landed = K.shadows[op.to];
  K.open.push(() => {
    for (let r = 0; r < rows; r++) {
      const to = base + r * cols;
      const at = start(r);
      target.fill(0, to, to + cols);
      if (at === null || right <= left) continue;
      if (written !== undefined) {
        const hole = written.subarray(at + left, at + right).indexOf(0);
        if (hole >= 0) L.faults.unwritten(op.site, rank, block, peer, at + left + hole);
      }
      target.set(source.subarray(at + left, at + right), to + left);
    }
    landed?.fill(1, base, base + rows * cols);
  });
}

export function commit(K: BlockState): void {
  K.groups.push(K.open);
  K.open = [];
}

/** `copy_wait`: performs all committed groups but the `pending` newest. */
export function land(_L: Launch, K: BlockState, pending: number): void {
  while (K.groups.length > pending) for (const c of K.groups.shift()!) c();
}

let left: Float32Array = new Float32Array(0);
let right: Float32Array = new Float32Array(0);

/** A stage of a shared tile as f32 in a reused buffer. */
function decodeStage(dtype: DType, tile: TypedArray, from: number, n: number, buffer: Float32Array): Float32Array {
  const into = buffer.length >= n ? buffer : new Float32Array(n);
  decodeInto(dtype, tile, into.subarray(0, n), from);
  return into;
}

/**
 * `mma`: accumulator[M, N] += a[stage][M, K] · b[stage][K, N]. k increases; the accumulator is
 * rounded to f32 after every four exact products, as tensor cores round after a few (integers wrap).
 */
export function multiply(
  L: Launch,
  K: BlockState,
  site: number,
  rank: number,
  block: number,
  accumulator: number,
  a: number,
  b: number,
  transposed: string,
  stage: number,
): void {
  const [stages, ...rows] = L.shapes[a]! as [number, number, number];
  const [m, k] = transposed.includes("a") ? [rows[1], rows[0]] : rows;
  const n = L.shapes[b]![transposed.includes("b") ? 1 : 2]!;
  if (!(stage >= 0 && stage < stages)) L.faults.dimension(site, rank, block, 0, stage, stages);
  for (const [j, size] of [
    [a, m * k],
    [b, k * n],
  ] as const) {
    const hole = K.shadows[j]?.subarray(stage * size, (stage + 1) * size).indexOf(0) ?? -1;
    if (hole >= 0) L.faults.unwritten(site, rank, block, rank, stage * size + hole);
  }
  const c = K.memory[accumulator]!;
  const kind = L.kernel.buffers[a]!.dtype;
  const other = L.kernel.buffers[b]!.dtype;
  if (DTYPES[kind].kind === "int") {
    const x = upright(K.memory[a]!.subarray(stage * m * k, (stage + 1) * m * k), transposed.includes("a"), m, k);
    const y = upright(K.memory[b]!.subarray(stage * k * n, (stage + 1) * k * n), transposed.includes("b"), k, n);
    for (let i = 0; i < m; i++)
      for (let p = 0; p < k; p++)
        for (let j = 0; j < n; j++) c[i * n + j] = c[i * n + j]! + Math.imul(x[i * k + p]!, y[p * n + j]!);
    return;
  }
  left = decodeStage(kind, K.memory[a]!, stage * m * k, m * k, left);
  right = decodeStage(other, K.memory[b]!, stage * k * n, k * n, right);
  const [x, y] = [upright(left, transposed.includes("a"), m, k), upright(right, transposed.includes("b"), k, n)];
  addProduct(c as Float32Array, x, y, m, n, k);
}

/** A tile as [rows, columns], which may lie as [columns, rows]. */
function upright<A extends TypedArray>(tile: A, isTransposed: boolean, rows: number, columns: number): A {
  if (!isTransposed) return tile;
  const turned = tile.slice(0, rows * columns) as A;
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) turned[i * columns + j] = tile[j * rows + i]!;
  return turned;
}

/** Kept apart from the checks, so that V8 compiles nothing but the loops. */
function addProduct(c: Float32Array, x: Float32Array, y: Float32Array, m: number, n: number, k: number): void {
  const whole = k & ~3;
  for (let i = 0; i < m; i++) {
    const row = i * n;
    for (let p = 0; p < whole; p += 4) {
      const from = i * k + p;
      const [x0, x1, x2, x3] = [x[from]!, x[from + 1]!, x[from + 2]!, x[from + 3]!];
      const [y0, y1, y2, y3] = [p * n, (p + 1) * n, (p + 2) * n, (p + 3) * n];
      for (let j = 0; j < n; j++)
        c[row + j] = c[row + j]! + (x0 * y[y0 + j]! + x1 * y[y1 + j]! + x2 * y[y2 + j]! + x3 * y[y3 + j]!);
    }
    for (let p = whole; p < k; p++) {
      const factor = x[i * k + p]!;
      for (let j = 0; j < n; j++) c[row + j] = c[row + j]! + factor * y[p * n + j]!;
    }
  }
}

/** `fragment_store`: an accumulator to a shared tile of the same shape. */
export function storeFragment(_L: Launch, K: BlockState, from: number, to: number, _site: number): void {
  K.memory[to]!.set(K.memory[from]!);
  K.shadows[to]?.fill(1);
}
