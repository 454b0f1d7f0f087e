/** Order statistics of times. */
import type { Timing } from "./group.js";

/** Median, smallest and largest of samples in microseconds. Throws RangeError for none. */
export function summarize(samplesUs: readonly number[]): Timing {
  if (samplesUs.length === 0) throw new RangeError("no times were measured");
  const sorted = [...samplesUs].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)!, samples: sorted.length };
}
