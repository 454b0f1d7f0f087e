/**
 * Iterations of loops as a rank comes to them, without those in which it does nothing.
 *
 * A loop that looks for a peer goes through all ranks, and all but a few of its iterations end at an equality that does not hold. Which hold is
 * found without going there: an equality of numbers that grow with the loop's variable is solved, and one of numbers that are the same on all
 * ranks is looked up among those that were worked out once for all of them. So of many ranks, each takes as long as it has peers.
 */
import type { Op, Region, Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import type { CommonValues, RankValues } from "./rank-values.js";

/** Whether iterations of a loop are spread over blocks and threads. */
export function isSpread(op: Op): boolean {
  return op.attributes["map"] === "tiles" || op.attributes["map"] === "rows";
}

/** Most iterations of a constant loop that are looked at one by one, but for one for each rank; longer ones are taken as a whole. */
const MOST_ITERATIONS = 64;

/** Numbers that the variable of a one-dimensional loop or fold takes, in order; null if there are many or it is not known. */
export function iterationsOf(
  op: Op,
  values: RankValues,
  most = Math.max(MOST_ITERATIONS, values.world),
): number[] | null {
  if (op.operands.length !== 2) return null;
  const [lo, hi] = op.operands.map((v) => values.number(v));
  if (lo == null || hi == null || hi - lo > most) return null;
  return Array.from({ length: Math.max(0, hi - lo) }, (_, k) => lo + k);
}

/** A scope for each iteration of a loop or fold that may do something, where iterations are known and few; else one for any of them, or none. */
export function scopesInside(op: Op, values: RankValues): readonly RankValues[] {
  const iterations = isSpread(op) ? null : iterationsOf(op, values);
  if (iterations !== null) return actingIterations(op, values, iterations).map((i) => values.atIteration(op, i));
  const inside = values.insideLoop(op);
  return inside === null ? [] : [inside];
}

/** Those of a loop's iterations in which a rank may do something. @param all its iterations, in order */
export function actingIterations(loop: Op, values: RankValues, all: readonly number[]): readonly number[] {
  const guards = all.length < 2 || loop.name !== "for" ? null : guardsOf(loop.regions[0]!);
  if (guards === null) return all;
  const acting = new Set<number>();
  for (const guard of guards) {
    const found = whereEqual(loop, guard, values, all);
    if (found === null) return all;
    for (const iteration of found) acting.add(iteration);
  }
  return [...acting].sort((a, b) => a - b);
}

/** An equality without which something is not done, and the loops around it inside the region. */
interface Guard {
  readonly sides: readonly [Value, Value];
  readonly loops: readonly Op[];
}

const knownGuards = new WeakMap<Region, readonly Guard[] | null>();

/** Equalities of which one must hold for a region to do anything; null where it does something without. */
function guardsOf(region: Region): readonly Guard[] | null {
  let known = knownGuards.get(region);
  if (known === undefined) knownGuards.set(region, (known = findGuards(region)));
  return known;
}

function findGuards({ ops }: Region): readonly Guard[] | null {
  const found: Guard[] = [];
  for (const op of ops) {
    if (definitionOf(op.name).effect === "pure") continue;
    const guards = op.name === "if" ? guardsOfCondition(op, ops) : op.name === "for" ? guardsOfLoop(op) : null;
    if (guards === null) return null;
    found.push(...guards);
  }
  return found;
}

function guardsOfCondition({ operands, regions }: Op, around: readonly Op[]): readonly Guard[] | null {
  const condition = around.find((op) => op.results[0] === operands[0]);
  const [then, otherwise] = regions.map(guardsOf);
  let first = then!;
  if (condition?.name === "compare" && condition.attributes["fn"] === "eq" && first === null)
    first = [{ sides: condition.operands as [Value, Value], loops: [] }];
  return first === null || otherwise === null ? null : [...first, ...otherwise!];
}

function guardsOfLoop(loop: Op): readonly Guard[] | null {
  const guards = guardsOf(loop.regions[0]!);
  return loop.operands.length === 2 ? (guards?.map(({ sides, loops }) => ({ sides, loops: [loop, ...loops] })) ?? null) : null; // prettier-ignore
}

/** Iterations in which the two sides may be equal, perhaps with others; null if nobody knows. */
function whereEqual(loop: Op, guard: Guard, values: RankValues, all: readonly number[]): readonly number[] | null {
  const { definitions } = values;
  const isOf = (v: Value, op: Op): boolean => definitions.argumentsOf(v).includes(op.regions[0]!.arguments[0]!);
  const around = (v: Value): readonly Op[] => guard.loops.filter((op) => isOf(v, op));
  const [sought, target] = isOf(guard.sides[0], loop) ? guard.sides : [guard.sides[1], guard.sides[0]];
  if (!isOf(sought, loop) || isOf(target, loop)) return null;
  const targets = numbersOf(target, around(target), values);
  if (targets === null) return null;
  const solved = around(sought).length > 0 ? null : solutions(loop, sought, targets, values);
  if (solved !== null) return solved.filter((i) => i >= all[0]! && i <= all.at(-1)!);
  const places = values.common === null ? null : placesOf(loop, sought, around(sought), values.common, all);
  return places === null ? null : [...targets].flatMap((n) => places.get(n) ?? []);
}

/** Iterations in which a value that grows evenly with the loop's variable is one of the targets; null where it does not. */
function solutions(loop: Op, sought: Value, targets: ReadonlySet<number>, values: RankValues): number[] | null {
  const form = values.insideLoop(loop)?.form(sought) ?? null;
  const factor = form?.terms.get(values.symbolOf(loop.regions[0]!.arguments[0]!));
  if (form === null || form.terms.size !== 1 || factor === undefined) return null;
  return [...targets].map((n) => (n - form.constant) / factor).filter(Number.isInteger);
}

/** The numbers that a value takes in all iterations of some loops; null if one is not known. */
function numbersOf(v: Value, [loop, ...inside]: readonly Op[], values: RankValues): ReadonlySet<number> | null {
  if (loop === undefined) {
    const number = values.number(v);
    return number === null ? null : new Set([number]);
  }
  const found = new Set<number>();
  for (const iteration of iterationsOf(loop, values) ?? [null]) {
    const numbers = iteration === null ? null : numbersOf(v, inside, values.atIteration(loop, iteration));
    if (numbers === null) return null;
    for (const n of numbers) found.add(n);
  }
  return found;
}

/** For each number the iterations of a loop in which a value of its body is that number, the same on all ranks; null where it is not. */
function placesOf(
  loop: Op,
  v: Value,
  inside: readonly Op[],
  { values, places }: CommonValues,
  all: readonly number[],
): ReadonlyMap<number, readonly number[]> | null {
  const { varying } = values.definitions;
  if (varying.has(v) || [loop, ...inside].some((op) => op.operands.some((o) => varying.has(o)))) return null;
  let known = places.get(v);
  if (known === undefined) {
    const found = new Map<number, number[]>();
    known = found;
    for (const iteration of all) {
      const numbers = numbersOf(v, inside, values.atIteration(loop, iteration));
      if (numbers === null) known = null;
      for (const n of numbers ?? []) found.set(n, [...(found.get(n) ?? []), iteration]);
      if (known === null) break;
    }
    places.set(v, known);
  }
  return known;
}
