/**
 * Tiles and block-wide matrix products. Copies land as late as the program allows: at the `copy_wait` that
 * needs them, not when they start, so that a pipeline that reads a stage too early is seen to do so.
 */
import { DTYPES, type DType } from "../../compiler/index.js";
import { decodeInto, type TypedArray } from "../numbers/index.js";
import type { BlockState, Launch } from "./launch.js";

/** A tile copy that has been started. Performed when it lands. */
export type Copy = () => void;

/** `copy_tile`: the [rows, cols] tile at (row, col) of `from` on `peer` into stage `stage` of shared `to`. */
export function copy(
  L: Launch,
  K: BlockState,
  site: number,
  rank: number,
  block: number,
  from: number,
  to: number,
  peer: number,
  row: number,
  col: number,
  stage: number,
): void {
  const world = L.kernel.world;
  if (!(peer >= 0 && peer < world)) L.faults.peer(site, rank, block, peer, world);
  const [stages, rows, cols] = L.shapes[to]! as [number, number, number];
  if (!(stage >= 0 && stage < stages)) L.faults.dimension(site, rank, block, 0, stage, stages);
  const [height, width] = L.shapes[from]! as [number, number];
  const source = L.arrays[from]![peer]!;
  const written = L.shadows[from]![peer];
  const target = K.memory[to]!;
  const landed = K.shadows[to];
  const base = stage * rows * cols;
  K.open.push(() => {
    // Columns of the tile that exist in the source, as a range of the tile's own columns.
    const first = Math.min(Math.max(-col, 0), cols);
    const last = Math.max(Math.min(width - col, cols), first);
    for (let r = 0; r < rows; r++) {
      const at = base + r * cols;
      const inside = row + r >= 0 && row + r < height;
      target.fill(0, at, at + cols);
      if (!inside || last === first) continue;
      const start = (row + r) * width + col;
      if (written !== undefined) {
        const hole = written.subarray(start + first, start + last).indexOf(0);
        if (hole >= 0) L.faults.unwritten(site, rank, block, peer, start + first + hole);
      }
      target.set(source.subarray(start + first, start + last), at + first);
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
  stage: number,
): void {
  const [stages, m, k] = L.shapes[a]! as [number, number, number];
  const n = L.shapes[b]![2]!;
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
    const x = K.memory[a]!.subarray(stage * m * k, (stage + 1) * m * k);
    const y = K.memory[b]!.subarray(stage * k * n, (stage + 1) * k * n);
    for (let i = 0; i < m; i++)
      for (let p = 0; p < k; p++)
        for (let j = 0; j < n; j++) c[i * n + j] = c[i * n + j]! + Math.imul(x[i * k + p]!, y[p * n + j]!);
    return;
  }
  left = decodeStage(kind, K.memory[a]!, stage * m * k, m * k, left);
  right = decodeStage(other, K.memory[b]!, stage * k * n, k * n, right);
  addProduct(c as Float32Array, left, right, m, n, k);
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
