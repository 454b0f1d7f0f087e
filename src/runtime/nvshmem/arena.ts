/**
 * A stretch of NVSHMEM's heap that groups of some ranks share out among themselves. NVSHMEM's own allocation takes all
 * ranks, so a group of some would wait for the others for ever; here its members agree on an offset that is free on
 * all of them.
 */
import { RuntimeError } from "../errors.js";

/** [offset, length] in bytes, ascending, apart. */
export type Ranges = readonly (readonly [number, number])[];

/** What kernels and copies may rely on. */
export const arenaAlignment = 512;

/**
 * Lowest offset where `bytes` are free in every list, or null. All who call it with the same lists get the same.
 * Every range must start and end at the arena's alignment.
 */
export function commonFit(lists: readonly Ranges[], bytes: number): number | null {
  const common = lists.reduce(intersect);
  return common.find(([, length]) => length >= bytes)?.[0] ?? null;
}

function intersect(a: Ranges, b: Ranges): Ranges {
  const result: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [aStart, aLength] = a[i]!;
    const [bStart, bLength] = b[j]!;
    const start = Math.max(aStart, bStart);
    const end = Math.min(aStart + aLength, bStart + bLength);
    if (end > start) result.push([start, end - start]);
    if (aStart + aLength < bStart + bLength) i++;
    else j++;
  }
  return result;
}

/** This rank's view: what its groups have taken. */
export class Arena {
  readonly bytes: number;
  readonly #taken = new Map<number, number>();

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** Bytes that an allocation of `bytes` takes. */
  static rounded(bytes: number): number {
    return Math.ceil(bytes / arenaAlignment) * arenaAlignment;
  }

  get free(): Ranges {
    const result: [number, number][] = [];
    let at = 0;
    for (const [offset, length] of [...this.#taken].sort(([a], [b]) => a - b)) {
      if (offset > at) result.push([at, offset - at]);
      at = offset + length;
    }
    if (this.bytes > at) result.push([at, this.bytes - at]);
    return result;
  }

  /** @throws RuntimeError when some of it is taken. */
  take(offset: number, bytes: number): void {
    const fits = this.free.some(([start, length]) => offset >= start && offset + bytes <= start + length);
    if (!fits) throw new RuntimeError(`${bytes} bytes at ${offset} of NVSHMEM's arena are not free`);
    this.#taken.set(offset, bytes);
  }

  give(offset: number): void {
    this.#taken.delete(offset);
  }
}
