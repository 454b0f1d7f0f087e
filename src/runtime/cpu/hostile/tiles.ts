/** Tiles under a hostile schedule: the same functions as `../tiles.ts`, with every element watched. */
import type { Launch } from "../launch.js";
import * as plain from "../tiles.js";
import type { HostileBlock, Watch } from "./watch.js";

export { commit, land } from "../tiles.js";

function watchOf(L: Launch): Watch {
  return L.watch as Watch;
}

/** The source is read when the copy starts and when it lands: a write in between is a race. */
export function copy(
  L: Launch,
  K: HostileBlock,
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
  const { world } = L.kernel;
  if (!(peer >= 0 && peer < world)) L.faults.peer(site, rank, block, peer, world);
  const [stages, rows, cols] = L.shapes[to]! as [number, number, number];
  if (!(stage >= 0 && stage < stages)) L.faults.dimension(site, rank, block, 0, stage, stages);
  const [height, width] = L.shapes[from]! as [number, number];
  const watch = watchOf(L);
  // The columns that lie in the source, in the rows that do.
  const [left, right] = [Math.max(0, -col), Math.min(cols, width - col)];
  const isInside = (r: number): boolean => row + r >= 0 && row + r < height && left < right;
  const start = watch.strand(K);
  for (let r = 0; r < rows; r++)
    if (isInside(r)) watch.readRun(site, K, start, from, peer, (row + r) * width + col + left, right - left);
  K.open.push(() => {
    const end = watch.strand(K);
    for (let r = 0; r < rows; r++) {
      const target = (stage * rows + r) * cols;
      const source = (row + r) * width + col;
      for (let c = 0; c < cols; c++) {
        const value = isInside(r) && c >= left && c < right ? watch.read(site, K, end, from, peer, source + c) : 0;
        watch.write(site, K, end, to, rank, target + c, value);
      }
    }
  });
}

export function multiply(
  L: Launch,
  K: HostileBlock,
  site: number,
  rank: number,
  block: number,
  accumulator: number,
  a: number,
  b: number,
  stage: number,
): void {
  const watch = watchOf(L);
  const strand = watch.strand(K);
  for (const j of [a, b]) {
    const [stages, rows, cols] = L.shapes[j]! as [number, number, number];
    if (!(stage >= 0 && stage < stages)) L.faults.dimension(site, rank, block, 0, stage, stages);
    watch.readRun(site, K, strand, j, rank, stage * rows * cols, rows * cols);
  }
  plain.multiply(L, K, site, rank, block, accumulator, a, b, stage);
}

export function storeFragment(L: Launch, K: HostileBlock, from: number, to: number, site: number): void {
  const watch = watchOf(L);
  const strand = watch.strand(K);
  const source = K.memory[from]!;
  for (let i = 0; i < source.length; i++) watch.write(site, K, strand, to, K.agent.rank, i, source[i]!);
}
