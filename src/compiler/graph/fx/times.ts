/** Times of programs whose sizes only a launch knows: over a range of each size, and where the caller's own way becomes the faster one. */
import { type DimValues, type Extent, extentNames } from "../../types/extent.js";
import { type Requirement, requirementHolds } from "../../types/requirement.js";
import type { FxSizeRange } from "./fx.js";
import type { Dimensions } from "./sizes.js";

/** Predicted seconds of a program, and of the caller's own way. */
export interface TimesAt {
  readonly at: DimValues;
  readonly seconds: number;
  readonly baseline: number;
}

/** Times over a range of one size. */
export interface SizeTimes {
  readonly size: string;
  /** From small to large; others of the graph's sizes stay as they are. */
  readonly times: readonly TimesAt[];
  /** Around the usual size, where the program is predicted to be no slower; null where nothing is known to be beyond. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Sizes double this often on either side of the usual one. */
const DOUBLINGS = 6;
/** Halvings of the step in which the own way becomes faster. */
const HALVINGS = 3;

/**
 * Goes from the usual sizes up and down, one size after the other, until the caller's own way is faster.
 * @param timesAt what both take at all of the graph's sizes; null where the program is not for them
 */
export function timesOf(
  launch: { readonly dims: Readonly<Record<string, Extent>>; readonly guards: readonly Requirement[] },
  { at }: Dimensions,
  ranges: Readonly<Record<string, FxSizeRange>>,
  timesAt: (sizes: DimValues) => TimesAt | null,
): SizeTimes[] {
  const names = [...new Set(Object.values(launch.dims).flatMap((e) => [...extentNames(e)]))];
  return names.map((size): SizeTimes => {
    const usual = at[size]!;
    const { min = 1, max = Infinity } = ranges[size] ?? {};
    const known = new Map<number, TimesAt | null>();
    const of = (n: number): TimesAt | null => {
      const sizes = { ...at, [size]: n };
      if (!known.has(n)) known.set(n, launch.guards.every((g) => requirementHolds(g, sizes)) ? timesAt(sizes) : null);
      return known.get(n)!;
    };
    const isFaster = (n: number): boolean | null => {
      const times = of(n);
      return times === null ? null : times.seconds <= times.baseline;
    };
    /** The last size in a direction at which the program is still faster, if another one behind it is known where it is not. */
    const last = (next: (n: number) => number): number | null => {
      let good = usual;
      for (let i = 0; i < DOUBLINGS; i++) {
        const n = next(good);
        if (n === good || n < Math.max(1, min) || n > max || isFaster(n) === null) return null;
        if (isFaster(n) === true) {
          good = n;
          continue;
        }
        let bad = n;
        // A middle that is no multiple of what must divide tells nothing.
        for (let j = 0; j < HALVINGS; j++) {
          const middle = Math.round((good + bad) / 2);
          const found = middle === good || middle === bad ? null : isFaster(middle);
          if (found === null) break;
          if (found) good = middle;
          else bad = middle;
        }
        return good;
      }
      return null;
    };
    const wins = isFaster(usual) === true;
    const from = wins ? last((n) => Math.floor(n / 2)) : null;
    const to = wins ? last((n) => n * 2) : null;
    const times = [...known].sort(([a], [b]) => a - b).flatMap(([, t]) => t ?? []);
    return { size, times, from, to };
  });
}

/** Guards that leave the sizes to the caller at which its own way is predicted to be faster. */
export function fasterWithin({ size, from, to }: SizeTimes): Requirement[] {
  const reason = (where: string): string => `${where}, the caller's own way is predicted to be faster`;
  return [
    ...(from === null ? [] : [{ left: size, relation: "ge" as const, right: from, reason: reason("below it") }]),
    ...(to === null ? [] : [{ left: size, relation: "le" as const, right: to, reason: reason("above it") }]),
  ];
}
