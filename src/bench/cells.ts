/** What was measured of one kernel or peer at one size, and what to make of several. */
import type { Timing } from "../runtime/group.js";

/** Microseconds of one call: of each rank the median, of the ranks the slowest; `min` and `max` of that rank's replays. */
export type CellTiming = Pick<Timing, "median" | "min" | "max">;

/** A time, with the largest error against the reference where it was compared; or why there is none. */
export type Cell =
  | {
      readonly us: CellTiming;
      readonly maxError: number | null;
      /** What the size took, of a program that has several ways: `all_reduce/one_shot+packets`, or a library. */
      readonly way?: string;
    }
  | { readonly problem: string };

export type Cells = Readonly<Record<string, Cell>>;

/** Rounded to nanoseconds, which is more than the events of a GPU tell apart. */
export function cellTiming({ median, min, max }: CellTiming): CellTiming {
  const round = (us: number): number => Math.round(us * 1000) / 1000;
  return { median: round(median), min: round(min), max: round(max) };
}

/** Median of a cell, or null. */
export const medianOf = (cell: Cell | undefined): number | null =>
  cell !== undefined && "us" in cell ? cell.us.median : null;

export interface Best {
  readonly name: string;
  readonly us: number;
}

/** The fastest of some kernels or peers; null where none has a time. */
export function bestOf(cells: Cells): Best | null {
  const timed = Object.entries(cells).flatMap(([name, cell]) => ("us" in cell ? [{ name, us: cell.us.median }] : []));
  return timed.reduce<Best | null>((best, one) => (best === null || one.us < best.us ? one : best), null);
}

/**
 * What a user gets: the program of one name, which has no folder, and where there is none the fastest kernel. Ways that are
 * timed beside a program do not count for it.
 */
export function oursOf(kernels: Cells): Best | null {
  const programs = Object.entries(kernels).filter(([name]) => !name.includes("/"));
  return bestOf(programs.length > 0 ? Object.fromEntries(programs) : kernels);
}

/** Time of the fastest peer over ours: above 1 collc is ahead. Null where either is missing. */
export function ratioOf({ kernels, peers }: { readonly kernels: Cells; readonly peers: Cells }): number | null {
  const [ours, theirs] = [oursOf(kernels), bestOf(peers)];
  return ours === null || theirs === null ? null : theirs.us / ours.us;
}

/** Null for no numbers. */
export function geometricMean(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  return Math.exp(values.reduce((sum, v) => sum + Math.log(v), 0) / values.length);
}
