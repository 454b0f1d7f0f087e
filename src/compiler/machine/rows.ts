/** Blocks of a launch, and loops over rows that go on where others have ended: rows fall to blocks by their number alone. */
import type { Kernel } from "../ir/module.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { add, length, NONE, since, type Trips } from "./trips.js";

/** Blocks of a launch, as the manifest's rule has it. @param limit fewer than the kernel's own most */
export function gridOf(kernel: Pick<Kernel, "work" | "maxBlocks">, dims: DimValues, limit = Infinity): number {
  const wanted = Math.max(1, ...kernel.work.map((e) => evaluateExtent(e, dims)));
  return Math.max(1, Math.min(wanted, kernel.maxBlocks, limit));
}

type Rows = readonly [begin: number, end: number];

/** What the busiest block has of a loop. */
interface Share {
  readonly iterations: number;
  /** Where the first block has none: another one has these in place of so much of the loop before. */
  readonly instead: Trips | null;
}

export class RowsOfBlocks {
  /** Where the last loop has ended, and the path of one of its iterations. */
  private last: { readonly end: number; readonly each: Trips } | null = null;

  /** @param grid blocks of the launch */
  constructor(private readonly grid: number) {}

  /** Iterations that the busiest block or thread has of so many. @param threads that share a loop of threads */
  busiest(map: unknown, total: number, threads: number): number {
    if (map === "blocks") return Math.ceil(total / this.grid);
    return map === "threads" || map === "fragment" ? Math.ceil(total / threads) : total;
  }

  /** Null for a loop that begins anew: the first block has no fewer iterations than others. */
  goingOn([begin, end]: Rows): Share | null {
    if (this.last?.end !== begin || begin % this.grid === 0) return null;
    const iterations = Math.ceil(end / this.grid) - Math.ceil(begin / this.grid);
    return iterations > 0 ? { iterations, instead: null } : { iterations: 1, instead: this.last.each };
  }

  /**
   * Remembers a loop.
   * @param before where the path was before it @param now and is behind so many iterations
   * @returns where the longest path is behind it
   */
  ended([, end]: Rows, before: Trips, now: Trips, iterations: number, share: Share | null): Trips {
    const all = since(now, before);
    this.last = { end, each: add(NONE, all, 1 / iterations) };
    if (share === null || share.instead === null) return now;
    const more = Math.max(0, length(all) - length(share.instead));
    return more === 0 ? before : add(before, all, more / length(all));
  }
}
