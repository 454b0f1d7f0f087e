/**
 * Which block takes an element, by where the element lies: what is stored by one loop and read by another is one block's where both have the same
 * rows from the same place on. Of packets that are left over, whose slots go with no rows, that says which block reads what they are made of.
 */
import {
  constantOf,
  divided,
  equal,
  factors,
  type Form,
  isConstant,
  keyOf,
  minus,
  ONE,
  plus,
  product,
  rangeOf,
  scaled,
  ZERO,
} from "./forms.js";
import { isAsked } from "./conditions.js";
import { ROTATED, type Access, type Loop } from "./terms.js";
import { GRID, type Way } from "./ways.js";

/** Element e is taken by block ⌊(e - `from`) / `rows`⌋, modulo the number of blocks. */
export interface Taken {
  /** A number; or one text for equal numbers that lengths say. */
  readonly rows: number | string;
  readonly from: Form;
}

/** "one" where there is one block; "own" where each block has memory of its own; null where nothing is known of which block it is. */
export type Taker = Taken | "one" | "own" | null;

/** By which blocks an access takes its elements. @param digits the loops around it, as `digitsOf` has them */
export function takerOf({ index, lanes }: Access, digits: readonly Loop[], way: Way): Taker {
  if (isConstant(way.grid) && constantOf(way.grid) === 1) return "one";
  const place = digits.find((d) => d.map === "blocks" || d.map === "block");
  if (place === undefined || way.quotients.in(index).size > 0) return null;
  const names = new Set(digits.map((d) => d.name));
  const from = new Map<string, number>();
  /** What is neither fixed nor counted by a loop: lengths. */
  const own = new Map<string, number>();
  const times = new Map<string, Form>();
  for (const [key, n] of index) {
    const all = factors(key);
    const [loop, ...more] = all.filter((name) => name === "block" || names.has(name));
    if (loop !== undefined) {
      const rest = all.filter((name) => name !== loop);
      const isCounted = more.length === 0 && names.has(loop) && rest.every((name) => name === GRID);
      if (!isCounted) return null;
      times.set(loop, new Map([...(times.get(loop) ?? ZERO), [rest.join("*"), n]]));
    } else if (all.some((name) => name.startsWith(ROTATED))) return null;
    else if (all.some((name) => name.startsWith("@"))) from.set(key, n);
    else own.set(key, n);
  }
  const step = times.get(place.name) ?? ZERO;
  const rows = constantOf(step);
  if (!isConstant(step) || rows <= 0) return null;
  /** What all blocks take in turn. */
  const round = scaled(way.grid, rows);
  const withoutRounds = (f: Form): Form => minus(f, product(divided(f, round), round));
  let span = 1;
  for (const { name, map, count } of digits) {
    if (name === place.name) continue;
    const apart = map === "lanes" ? ONE : (times.get(name) ?? ZERO);
    if (apart.size === 0 || withoutRounds(apart).size === 0) continue;
    const { high } = rangeOf(count, way.box.ranges);
    if (!isConstant(apart) || constantOf(apart) < 0 || high === Infinity) return null;
    span += constantOf(apart) * (high - 1);
  }
  if (lanes > 1 && !digits.some((d) => d.map === "lanes")) return null;
  const beyond = withoutRounds(place.map === "blocks" ? plus(own, place.low, -rows) : own);
  const within = rangeOf(beyond, way.box.ranges);
  const isInRow = within.low >= 0 && within.high + span <= rows;
  return isInRow || !isAsked("rows") ? { rows, from } : null;
}

/** What is known of two accesses that are one touch. */
export function eitherTaker(a: Taker, b: Taker): Taker {
  if (a === "one" || a === b) return b;
  if (b === "one") return a;
  return isTaken(a) && isTaken(b) && a.rows === b.rows && equal(a.from, b.from) ? a : null;
}

/** Whether two accesses to one element are surely of one block. */
export function areOneTaker(a: Taker, b: Taker): boolean {
  if (a === "own" && b === "own") return true;
  return isTaken(a) && isTaken(b) && a.rows === b.rows && equal(a.from, b.from);
}

function isTaken(taker: Taker): taker is Taken {
  return taker !== null && typeof taker === "object";
}

/** With another form in place of where rows begin. */
export function renamedTaker(taker: Taker, by: (f: Form) => Form): Taker {
  return isTaken(taker) ? { ...taker, from: by(taker.from) } : taker;
}

/** One text for equal ones. */
export function keyOfTaker(taker: Taker): string {
  return isTaken(taker) ? `${taker.rows} from ${keyOf(taker.from)}` : String(taker);
}
