/** Where shared buffers lie in a block's dynamic shared memory. */
import type { Buffer, Kernel } from "../ir/module.js";
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

export function sharedLayout(kernel: Kernel): { places: ReadonlyMap<string, SharedPlace>; bytes: number } {
  const places = new Map<string, SharedPlace>();
  let offset = 0;
  for (const buffer of kernel.buffers) {
    if (buffer.role !== "shared") continue;
    const { bytes } = DTYPES[buffer.dtype];
    const shape = buffer.shape as readonly number[]; // shared memory is sized at compile time
    const isOperand = shape.length === 3;
    const rowStride = shape.at(-1)! + (isOperand ? PAD_BYTES / bytes : 0);
    const stageStride = isOperand ? shape[1]! * rowStride : 0;
    places.set(buffer.name, { buffer, offset, rowStride, stageStride });
    const elements = isOperand ? shape[0]! * stageStride : shape.reduce((a, b) => a * b, 1);
    offset += Math.ceil((elements * bytes) / 128) * 128;
  }
  return { places, bytes: offset };
}
