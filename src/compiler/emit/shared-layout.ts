/** Where shared buffers lie in a block's dynamic shared memory; those that are never in use together overlap. */
import { type Buffer, type Kernel, type Region, text } from "../ir/module.js";
import { buffersNamed, walkKernel } from "../ir/visit.js";
import { DTYPES } from "../types/dtype.js";

export interface SharedPlace {
  readonly buffer: Buffer;
  /** Bytes from the start; a multiple of 128. */
  readonly offset: number;
  /** Elements from one row (last dimension) to the next: rows of operand tiles are padded. */
  readonly rowStride: number;
  /** Elements from one stage (first of three dimensions) to the next. */
  readonly stageStride: number;
}

/**
 * Rows of operand tiles are padded by 16 bytes: eight rows of a matrix load then fall into eight different
 * groups of banks, and rows stay 16-byte aligned for asynchronous copies.
 */
const PAD_BYTES = 16;

/** The pattern in which the copy engine and the instructions for matrices permute a tile's 16-byte pieces repeats after so many. */
const SWIZZLE_BYTES = 1024;

/** Two barriers in shared memory for each stage of a ring: it is full, it is free. */
const RING_BYTES = 16;

export function sharedLayout(kernel: Kernel): { places: ReadonlyMap<string, SharedPlace>; bytes: number } {
  const places = new Map<string, SharedPlace & { end: number }>();
  const uses = lifetimes(kernel);
  const tiles = new Set<string>();
  const swizzled = new Set<string>();
  walkKernel(kernel, (op) => {
    if (op.name === "copy_tile") ("ring" in op.attributes ? swizzled : tiles).add(text(op, "to"));
  });
  let total = 0;
  for (const buffer of kernel.buffers) {
    if (buffer.role !== "shared" && buffer.role !== "ring") continue;
    const bytes = buffer.role === "ring" ? RING_BYTES : DTYPES[buffer.dtype].bytes;
    const shape = buffer.shape as readonly number[]; // shared memory is sized at compile time
    const isOperand = tiles.has(buffer.name);
    const rowStride = shape.at(-1)! + (isOperand ? PAD_BYTES / bytes : 0);
    const isStaged = isOperand || swizzled.has(buffer.name);
    const stageStride = isStaged ? shape[1]! * rowStride : 0;
    const elements = isStaged ? shape[0]! * stageStride : shape.reduce((a, b) => a * b, 1);
    // The first place that nothing which is in use at the same time reaches into.
    const neighbours = [...places.values()].filter((p) => overlap(uses.get(p.buffer.name), uses.get(buffer.name)));
    const grain = swizzled.has(buffer.name) ? SWIZZLE_BYTES : 128;
    const length = Math.ceil((elements * bytes) / 128) * 128;
    const offset = [0, ...neighbours.map((p) => Math.ceil(p.end / grain) * grain)]
      .sort((a, b) => a - b)
      .find((at) => neighbours.every((p) => p.end <= at || at + length <= p.offset))!;
    const end = offset + length;
    places.set(buffer.name, { buffer, offset, rowStride, stageStride, end });
    total = Math.max(total, end);
  }
  return { places, bytes: total };
}

/** Places of the first and last use of a buffer in the iteration of each loop over blocks that uses it, or in each op of roles. */
type Lifetimes = ReadonlyMap<Region, { readonly first: number; readonly last: number }>;

/** Whether both are in use at the same time, in an iteration of some loop, or in some op of roles; null stands for a use outside of them. */
function overlap(a: Lifetimes | null | undefined, b: Lifetimes | null | undefined): boolean {
  if (a == null || b == null) return true;
  return [...a].some(([iteration, x]) => {
    const y = b.get(iteration);
    return y !== undefined && x.first <= y.last && y.first <= x.last;
  });
}

/**
 * Contents of shared memory serve one iteration of a loop over blocks: each iteration writes before it reads. So inside the
 * iteration a buffer is in use from the first op that touches it to the last, and passes synchronise between the two uses,
 * and at the end of each iteration.
 */
function lifetimes(kernel: Kernel): Map<string, Lifetimes | null> {
  const shared = new Set(kernel.buffers.filter((b) => b.role === "shared" || b.role === "ring").map((b) => b.name));
  const found = new Map<string, Map<Region, { first: number; last: number }> | null>();
  const note = (name: string, iteration: Region, at: number): void => {
    if (!shared.has(name) || found.get(name) === null) return;
    const iterations = found.get(name) ?? new Map<Region, { first: number; last: number }>();
    found.set(name, iterations.set(iteration, { first: iterations.get(iteration)?.first ?? at, last: at }));
  };
  const visit = (region: Region): void => {
    for (const op of region.ops) {
      if (op.name === "for" && op.attributes["map"] === "blocks") {
        const iteration = op.regions[0]!;
        iteration.ops.forEach((inner, at) => buffersNamed(inner).forEach((name) => note(name, iteration, at)));
        continue;
      }
      // In roles the producer is iterations ahead: what they use, they use all the time, and the block meets before others do.
      if (op.name === "roles") {
        for (const name of buffersNamed(op)) note(name, op.regions[0]!, 0);
        continue;
      }
      // A use that no iteration bounds lasts.
      const lasts = op.regions.length === 0;
      if (lasts) for (const name of buffersNamed(op)) if (shared.has(name)) found.set(name, null);
      if (!lasts) for (const inner of op.regions) visit(inner);
    }
  };
  visit(kernel.body);
  return found;
}
