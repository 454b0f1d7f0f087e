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
  op: plain.CopySite,
  rank: number,
  block: number,
  peer: number,
  ...numbers: readonly number[]
): void {
  const { site, from, to } = op;
  const { left, right, start, base } = plain.windowOf(L, op, rank, block, peer, numbers);
  const [, rows, cols] = L.shapes[to]! as [number, number, number];
  const watch = watchOf(L);
  const begun = watch.strand(K);
  for (let r = 0; r < rows && left < right; r++) {
    const at = start(r);
    if (at !== null) watch.readRun(site, K, begun, from, peer, at + left, right - left);
  }
  K.open.push(() => {
    const end = watch.strand(K);
    for (let r = 0; r < rows; r++) {
      const at = start(r);
      for (let c = 0; c < cols; c++) {
        const isInside = at !== null && c >= left && c < right;
        const value = isInside ? watch.read(site, K, end, from, peer, at + c) : 0;
        watch.write(site, K, end, to, rank, base + r * cols + c, value);
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
  transposed: string,
  stage: number,
): void {
  const watch = watchOf(L);
  const strand = watch.strand(K);
  for (const j of [a, b]) {
    const [stages, rows, cols] = L.shapes[j]! as [number, number, number];
    if (!(stage >= 0 && stage < stages)) L.faults.dimension(site, rank, block, 0, stage, stages);
    watch.readRun(site, K, strand, j, rank, stage * rows * cols, rows * cols);
  }
  plain.multiply(L, K, site, rank, block, accumulator, a, b, transposed, stage);
}

export function storeFragment(L: Launch, K: HostileBlock, from: number, to: number, site: number): void {
  const watch = watchOf(L);
  const strand = watch.strand(K);
  const source = K.memory[from]!;
  for (let i = 0; i < source.length; i++) watch.write(site, K, strand, to, K.agent.rank, i, source[i]!);
}
