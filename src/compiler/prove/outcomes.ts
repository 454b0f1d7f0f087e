/**
 * Shapes at which a program does what it does at no other that is looked at: conditions on lengths, as `m == 2 * n` or two moduli
 * together, hold at few. Nothing is executed to find them; intervals say what is entered and chosen.
 */
import type { Kernel, Op } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { DimValues } from "../types/extent.js";
import { type Reached, reachedAt, reachedUpTo } from "./reached.js";

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

/** What was met at some lengths or other. */
class Met {
  private readonly accesses = new Set<Op>();
  private readonly holds = new Set<Op>();
  private readonly fails = new Set<Op>();

  add({ accesses, holds, fails }: Reached): void {
    for (const op of accesses) this.accesses.add(op);
    for (const op of holds) this.holds.add(op);
    for (const op of fails) this.fails.add(op);
  }

  /** Whether there is nothing new in it. */
  hasAll({ accesses, holds, fails }: Reached): boolean {
    const has = (known: ReadonlySet<Op>, all: ReadonlySet<Op>): boolean => {
      for (const op of all) if (!known.has(op)) return false;
      return true;
    };
    return has(this.accesses, accesses) && has(this.holds, holds) && has(this.fails, fails);
  }
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
  const met = new Met();
  for (const dims of known) met.add(reachedAt(program, dims));
  const possible = reachedUpTo(program, Math.max(MOST_OF_ONE, MOST_OF_EACH));
  const found: DimValues[] = [];
  let left = MOST_OPS;
  for (const wanted of candidates(program.dims)) {
    left -= ops * program.world;
    if (left < 0 || met.hasAll(possible)) break;
    if (met.hasAll(reachedAt(program, wanted))) continue;
    const dims = allow(wanted);
    if (dims === null) continue;
    const now = reachedAt(program, dims);
    if (met.hasAll(now)) continue;
    met.add(now);
    found.push(dims);
  }
  return found;
}
