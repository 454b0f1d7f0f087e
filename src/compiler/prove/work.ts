/** How much an execution of a kernel goes through. Who only launches kernels asks this, too, and loads nothing else for it. */
import { type Buffer, type Kernel, multiplies } from "../ir/module.js";
import type { SignatureTensor } from "../manifest.js";
import { type DimValues, elementsOf, type Extent } from "../types/extent.js";

/**
 * Elements that an execution goes through on all ranks, about: those of all tensors, and those of the largest product that
 * three of them can be the factors and the result of. Where callers give two matrices, one is a factor twice. Scratch for tiles is left
 * out: it is as long as the largest product needs, and of it an execution goes through no more than of the tiles of the product.
 */
export function workOf(kernel: Kernel, dims: DimValues): number {
  const scratch = kernel.buffers.filter((b) => b.role === "scratch" && !holdsTiles(kernel, b)).map((b) => b.shape);
  const elements = [...outerTensors(kernel).map((t) => t.localShape), ...scratch].map((s) => elementsOf(s, dims));
  const moved = elements.reduce((a, b) => a + b, 0);
  if (!multiplies(kernel)) return moved * kernel.world;
  const sorted = elements.toSorted((x, y) => y - x);
  const isOfThree = outerTensors(kernel).filter((t) => t.localShape.length > 1).length > 2;
  const [a, b, c] = isOfThree ? sorted : [sorted[0], ...sorted];
  return (moved + Math.sqrt(a! * b! * c!)) * kernel.world;
}

/** The tensors that callers give. */
export function outerTensors({ inputs, outputs }: Kernel): readonly SignatureTensor[] {
  return [...inputs, ...outputs];
}

export function scratchShapes({ buffers }: Kernel): readonly (readonly Extent[])[] {
  return buffers.filter((b) => b.role === "scratch").map((b) => b.shape);
}

/** Whether a rank's own memory is made of whole accumulators, one after the other: sums that blocks hand on, and tiles that wait to be sent. */
function holdsTiles({ buffers }: Kernel, { shape, symmetric }: Buffer): boolean {
  if (symmetric) return false;
  const [rows, columns] = shape.slice(-2);
  return buffers.some(
    ({ role, shape: [height, width] }) =>
      role === "fragment" && ((rows === height && columns === width) || columns === Number(height) * Number(width)),
  );
}
