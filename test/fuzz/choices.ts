/** Decisions of a generator, drawn one after the other; what comes first in a list is the simplest. */
import fc from "fast-check";

export interface Choices {
  /** A whole number from 0 up to, but without, n. */
  below(n: number): number;
  pick<T>(from: readonly T[]): T;
  /** True with this probability. */
  chance(probability: number): boolean;
}

/** Whatever a function makes of its decisions. */
export function drawn<T>(make: (choices: Choices) => T): fc.Arbitrary<T> {
  return fc.gen().map((g) => {
    const below = (n: number): number => (n <= 1 ? 0 : g(fc.nat, n - 1));
    return make({
      below,
      pick: (from) => from[below(from.length)]!,
      chance: (probability) => below(1000) >= 1000 * (1 - probability),
    });
  });
}
