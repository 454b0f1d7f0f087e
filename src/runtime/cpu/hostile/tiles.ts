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
  const each = (visit: (target: number, source: number | null) => void): void => {
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < cols; c++) {
        const inside = row + r >= 0 && row + r < height && col + c >= 0 && col + c < width;
        visit((stage * rows + r) * cols + c, inside ? (row + r) * width + col + c : null);
      }
  };
  const start = watch.strand(K);
  each((_, source) => source !== null && watch.read(site, K, start, from, peer, source));
  K.open.push(() => {
    const end = watch.strand(K);
    each((target, source) =>
      watch.write(site, K, end, to, rank, target, source === null ? 0 : watch.read(site, K, end, from, peer, source)),
    );
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
    for (let i = stage * rows * cols; i < (stage + 1) * rows * cols; i++) watch.read(site, K, strand, j, rank, i);
  }
  plain.multiply(L, K, site, rank, block, accumulator, a, b, stage);
}

export function storeFragment(L: Launch, K: HostileBlock, from: number, to: number, site: number): void {
  const watch = watchOf(L);
  const strand = watch.strand(K);
  const source = K.memory[from]!;
  for (let i = 0; i < source.length; i++) watch.write(site, K, strand, to, K.agent.rank, i, source[i]!);
}
