/** How many neighbouring elements one thread takes at once; one number for all loops of a kernel. */
import type { Buffer, Kernel } from "../../ir/module.js";
import { PACKET_BYTES, type PACKET_FORMATS } from "../../ir/ops.js";
import { DTYPES } from "../../types/dtype.js";
import { type Extent, extentNames, productOf } from "../../types/extent.js";
import type { PassOptions } from "../options.js";

/**
 * Elements of the widest dtype in global memory that fill one access. Of narrower ones a thread then takes less
 * than it could, but the accesses of a warp stay contiguous: were a thread to take two accesses' worth of the
 * widest, each store of the warp would fill every second half of a sector, and cross NVLink as twice the packets.
 */
export function vectorLanes(kernel: Kernel, options: Pick<PassOptions, "accessBytes">): number {
  const moved = ["input", "output", "inout", "scratch", "packet"];
  const buffers = kernel.buffers.filter((b) => moved.includes(b.role));
  const bytes = packetFormat(kernel) === null ? options.accessBytes : PACKET_BYTES[packetFormat(kernel)!];
  // Tables of a few elements, such as one of splits, are not what the kernel moves.
  const isLong = (e: Extent | undefined): boolean =>
    typeof e === "number" ? e >= LONG : e !== undefined && extentNames(e).size > 0;
  const most = Math.max(0, ...buffers.map(({ shape }) => countOf(shape) ?? 0));
  const isPart = (shape: readonly Extent[]): boolean => (countOf(shape) ?? Infinity) * MANY <= most;
  // Nor is a number for each row, or for many elements: its neighbours are elsewhere, and it is asked for seldom.
  const isNarrow = ({ role, shape }: Buffer): boolean =>
    (shape.length > 1 && !isLong(shape.at(-1))) || (role === "scratch" && (shape.some(isShare) || isPart(shape)));
  const far = buffers.filter((b) => b.shape.some(isLong) && !isNarrow(b));
  // Scratch that no peer touches crosses no link, and whole sectors of it are as good as whole accesses.
  const near = (b: Buffer): boolean => b.role === "scratch" && !b.symmetric;
  const long = far.some((b) => !near(b)) ? far.filter((b) => !near(b)) : far;
  // Each vector of a packet is one's, however few there are.
  const packets = buffers.filter((b) => b.role === "packet");
  const sizes = [...(long.length > 0 ? long : buffers), ...packets].map((b) => DTYPES[b.dtype].bytes);
  return bytes / Math.max(...sizes, 1);
}

/** A thread's vector is what a packet holds. */
export const MOST_PACKET_BYTES = Math.max(...Object.values(PACKET_BYTES));

/**
 * What tells that a packet has arrived, one format for a kernel; null if it has none. Floats have patterns that stand for the
 * same, so that one can be spared; integers have not.
 */
export function packetFormat(kernel: Kernel): (typeof PACKET_FORMATS)[number] | null {
  const packets = kernel.buffers.filter((b) => b.role === "packet");
  if (packets.length === 0) return null;
  return packets.every((b) => DTYPES[b.dtype].kind === "float") ? "inverted" : "epoch";
}

/** Elements, where the lengths are known. */
function countOf(shape: readonly Extent[]): number | null {
  const count = productOf(shape);
  return typeof count === "number" ? count : null;
}

/** So many elements are as good as a length that nobody knows yet: models' lengths are written as numbers, too. */
const LONG = 64;

/** Elements of something, to which a length of so many times fewer has one. */
const MANY = 16;

function isShare(e: Extent): boolean {
  return typeof e === "object" && e.op === "div" && typeof e.b === "number" && e.b >= MANY;
}
