/** Products of models' layers under tensor parallelism, as data: what `collc bench matmul --layers` measures. */
import type { BenchCase } from "./suites.js";

/** Columns and depth of the whole product: N and K of M×N×K, of which each rank has its part. */
type Weights = Readonly<Record<string, readonly [n: number, k: number]>>;

interface Model {
  /** What multiplies rows that are gathered: each rank has some of the columns. */
  readonly gathered: Weights;
  /** What multiplies each rank's part of the depth: the sum over ranks is scattered, or left on all. */
  readonly summed: Weights;
}

/** Dimensions from the models' published configurations. An expert of Mixtral 8x7B, and its attention, are of Llama 3 8B's sizes. */
const models = {
  "llama3-8b": {
    gathered: { qkv: [6144, 4096], "gate and up": [28672, 4096] },
    summed: { out: [4096, 4096], down: [4096, 14336] },
  },
  "llama3-70b": {
    gathered: { qkv: [10240, 8192], "gate and up": [57344, 8192] },
    summed: { out: [8192, 8192], down: [8192, 28672] },
  },
  "deepseek-v3": {
    gathered: { q: [24576, 1536], "gate and up": [36864, 7168] },
    summed: { out: [7168, 16384], down: [7168, 18432] },
  },
} as const satisfies Record<string, Model>;

export type ModelName = keyof typeof models;

export const modelNames = Object.keys(models) as readonly ModelName[];

/** Rows of an activation: one token, a few sequences' next tokens, a prompt. */
export const layerRows = [1, 16, 64, 256, 1024, 4096, 16384];

/** Products of the models' layers that a suite is for, with so many rows. */
export function layerCases(
  names: readonly ModelName[],
  kind: keyof Model,
  rows: readonly number[],
  world: number,
): BenchCase[] {
  const weights = names.flatMap((name) =>
    Object.entries(models[name][kind]).map(([layer, size]) => ({ layer: `${name} ${layer}`, size })),
  );
  // A gathered row lies on one rank; sums go with any number of rows.
  return weights.flatMap(({ layer, size: [n, k] }) =>
    rows
      .filter((m) => kind === "summed" || m % world === 0)
      .map((m) => ({ label: `${m}×${n}×${k}`, size: m * n * k, dims: { m, n, k }, layer })),
  );
}
