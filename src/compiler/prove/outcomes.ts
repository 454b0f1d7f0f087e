/**
 * Shapes at which a program does what it does at no other that is looked at: conditions on lengths, as `m == 2 * n` or two moduli
 * together, hold at few. Nothing is executed to find them; intervals say what is entered and chosen.
 */
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { DimValues } from "../types/extent.js";
import { reachedAt } from "./dimension-bounds.js";

/** Lengths of which most of what conditions lead to happens at some. */
export const FAR = [1, 2, 3, 5, 8, 13, 64, 100, 127, 1000, 4096, 65_537, 2 ** 20 + 1, 2 ** 30];

/** Lengths of a single dimension that are looked through, and of each of several. */
const [MOST_OF_ONE, MOST_OF_EACH] = [1024, 20];

/** Work, in ops that are looked at, that goes into the search. */
const MOST_OPS = 400_000;

/** Dimensions of each length alike, and the first or the last one alone. */
export function manyLengths(names: readonly string[], lengths: readonly number[]): DimValues[] {
  const shape = (of: (d: number) => number): DimValues => Object.fromEntries(names.map((name, d) => [name, of(d)]));
  const last = names.length - 1;
  return lengths.flatMap((n) =>
    names.length < 2
      ? [shape(() => n)]
      : [shape(() => n), shape((d) => (d === last ? n : 3)), shape((d) => (d === 0 ? n : 1))],
  );
}

/** All lengths of a single dimension, all pairs of two; of more, neighbours of each other. */
function* candidates(names: readonly string[]): Generator<DimValues> {
  const [first, second, ...more] = names;
  if (first === undefined) return;
  if (second === undefined) {
    for (let n = 1; n <= MOST_OF_ONE; n++) yield { [first]: n };
    return;
  }
  const rest = Object.fromEntries(more.map((name) => [name, 3]));
  for (let sum = 2; sum <= 2 * MOST_OF_EACH; sum++)
    for (let a = Math.max(1, sum - MOST_OF_EACH); a < sum && a <= MOST_OF_EACH; a++)
      yield { [first]: a, [second]: sum - a, ...rest };
}

/**
 * Shapes at which something is entered or chosen that none of the known ones comes to.
 * @param allow the nearest shape that the conditions of the signature allow, if it may be executed
 */
export function shapesOfOutcomes(
  program: Kernel,
  known: readonly DimValues[],
  allow: (dims: DimValues) => DimValues | null,
): DimValues[] {
  let ops = 0;
  let decides = false;
  walkKernel(program, ({ name }) => {
    ops++;
    decides ||= name === "if" || name === "select";
  });
  if (!decides) return [];
  const met = new Set<string>();
  const numbers = new Map<object, number>();
  const outcomesOf = (dims: DimValues): string[] => {
    const { accesses, holds, fails } = reachedAt(program, dims);
    const number = (op: object): number => {
      if (!numbers.has(op)) numbers.set(op, numbers.size);
      return numbers.get(op)!;
    };
    return [[accesses, "a"] as const, [holds, "h"] as const, [fails, "f"] as const].flatMap(([set, kind]) =>
      [...set].map((op) => `${kind}${number(op)}`),
    );
  };
  for (const dims of known) outcomesOf(dims).forEach((o) => met.add(o));
  const found: DimValues[] = [];
  let left = MOST_OPS;
  for (const wanted of candidates(program.dims)) {
    left -= ops * program.world;
    if (left < 0) break;
    const fresh = outcomesOf(wanted).filter((o) => !met.has(o));
    if (fresh.length === 0) continue;
    const dims = allow(wanted);
    if (dims === null) continue;
    const now = outcomesOf(dims);
    if (now.every((o) => met.has(o))) continue;
    now.forEach((o) => met.add(o));
    found.push(dims);
  }
  return found;
}
