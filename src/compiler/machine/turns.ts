/** How often a region runs, and with which values of its loop's variables. */
import { Unwinding } from "../unwinding.js";

/** What is known of a value: a number, that it depends on a loop that was taken as a whole, or on data. */
export type Known = number | "loop" | "data";

/** Thrown inside a loop that was taken as a whole where its variable decides something; it is then gone through. */
export class NeedsTurns extends Unwinding {}

/** Most turns that are looked at one by one; of more, as many as `picked` are picked evenly, and each stands for its neighbours. */
export const MANY_TURNS = { most: 512, picked: 128 } as const;
export const FEW_TURNS = { most: 16, picked: 8 } as const;

export interface Turn {
  readonly values: readonly number[];
  /** How many turns it stands for. */
  readonly weight: number;
}

/**
 * The turns of a loop over ranges of several variables, the last one fastest.
 * @param mayPick false if each turn has to be looked at.
 */
export function turnsOf(
  ranges: readonly (readonly [lo: number, hi: number])[],
  mayPick: boolean,
  { most, picked }: { readonly most: number; readonly picked: number } = MANY_TURNS,
): Turn[] {
  const lengths = ranges.map(([lo, hi]) => Math.max(0, hi - lo));
  const total = lengths.reduce((a, b) => a * b, 1);
  const isPicked = mayPick && total > most;
  const count = isPicked ? picked : total;
  return Array.from({ length: count }, (_, i) => {
    // Not at the same place of each part: turns in order often go to one rank after the other.
    const part = Math.floor(total / count);
    let rest = isPicked ? Math.floor((i * total) / count) + ((Math.floor(part / 2) + i) % part) : i;
    const values = new Array<number>(ranges.length);
    for (let d = ranges.length - 1; d >= 0; d--) {
      values[d] = ranges[d]![0] + (rest % lengths[d]!);
      rest = Math.floor(rest / lengths[d]!);
    }
    return { values, weight: total / count };
  });
}
