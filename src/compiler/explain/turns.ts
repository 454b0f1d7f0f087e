/** How often a region runs, and with which values of its loop's variables. */

/** What is known of a value: a number, that it depends on a loop that was taken as a whole, or on data. */
export type Known = number | "loop" | "data";

/** Thrown inside a loop that was taken as a whole where its variable decides something; it is then gone through. */
export class NeedsTurns extends Error {}

/** Most turns that are looked at one by one; of more, as many are picked evenly, and each stands for its neighbours. */
const MOST_TURNS = 512;
const PICKED = 128;

export interface Turn {
  readonly values: readonly number[];
  /** How many turns it stands for. */
  readonly weight: number;
}

/**
 * The turns of a loop over ranges of several variables, the last one fastest.
 * @param mayPick false if each turn has to be looked at.
 */
export function turnsOf(ranges: readonly (readonly [lo: number, hi: number])[], mayPick: boolean): Turn[] {
  const lengths = ranges.map(([lo, hi]) => Math.max(0, hi - lo));
  const total = lengths.reduce((a, b) => a * b, 1);
  const isPicked = mayPick && total > MOST_TURNS;
  const count = isPicked ? PICKED : total;
  return Array.from({ length: count }, (_, i) => {
    let rest = isPicked ? Math.floor(((i + 0.5) * total) / count) : i;
    const values = new Array<number>(ranges.length);
    for (let d = ranges.length - 1; d >= 0; d--) {
      values[d] = ranges[d]![0] + (rest % lengths[d]!);
      rest = Math.floor(rest / lengths[d]!);
    }
    return { values, weight: total / count };
  });
}
