/**
 * Where an element lies that a movement reads, by where the one lies that it stores: at a fixed distance; or, where a loop has
 * two dimensions, in a row and a column that go with those of what is stored.
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
  plus,
  product,
  scaled,
  withoutFactors,
  ZERO,
} from "./forms.js";

/** A number from another, both known: (`times` · the other + `add`) / `by`, or what that leaves. */
export interface Step {
  readonly fn: "div" | "rem";
  readonly times: number;
  readonly add: number;
  readonly by: number;
}

/** `times` · ⌊(P + `shift`) / `by`⌋, of what is counted at P; or, of turns, `times` · what steps make of that quotient. */
export interface Counted {
  readonly times: Form;
  readonly shift: Form;
  readonly by: Form;
  readonly steps: readonly Step[];
}

/** What steps make of a number; null where one is of a number below 0, which machines divide in another way. */
export function numberAfter(steps: readonly Step[], number: number): number | null {
  let at = number;
  for (const { fn, times, add, by } of steps) {
    const of = times * at + add;
    if (of < 0) return null;
    at = fn === "rem" ? of % by : Math.floor(of / by);
  }
  return at;
}

/** By how much what steps make of a number grows where the number does by so much, whatever it is; null where it may be by several. */
export function slopeAfter(steps: readonly Step[], more: number): number | null {
  let slope = more;
  for (const { fn, times, by } of steps) {
    const grown = times * slope;
    if (times < 0 || grown % by !== 0) return null;
    slope = fn === "rem" ? 0 : grown / by;
  }
  return slope;
}

/** One text for equal ones. */
export function keyOfCounted({ times, shift, by, steps }: Counted): string {
  const made = steps.map(({ fn, times, add, by }) => ` ${fn} ${times} ${add} ${by}`);
  return `${keyOf(times)} (${keyOf(shift)}) / ${keyOf(by)}${made.join("")}`;
}

/** Each form of a count as another. */
export function renamedCounted({ times, shift, by, steps }: Counted, to: (f: Form) => Form): Counted {
  return { times: to(times), shift: to(shift), by: to(by), steps };
}

/**
 * For what is counted at P, the place is `apart` · P + `distance` + `rows` + all of `turns`. The number of the turn is that of the rank that has the
 * element, where it is not one rank's. What is counted at P is stored there, where a movement has no turns of its own.
 * Forms over expressions, each named `@` and its number; or, of one box, over its parameters.
 */
export interface Place {
  readonly apart: Form;
  readonly distance: Form;
  readonly rows: Counted | null;
  readonly turns: readonly Counted[];
}

/** Each form of a place as another. */
export function renamedPlace({ apart, distance, rows, turns }: Place, by: (f: Form) => Form): Place {
  const renamed = (c: Counted): Counted => renamedCounted(c, by);
  return {
    apart: by(apart),
    distance: by(distance),
    rows: rows === null ? null : renamed(rows),
    turns: turns.map(renamed),
  };
}

/** What counts come to in one turn; null where a step is of a number below 0. */
export function sumInTurn(turns: readonly Counted[], turn: number): Form | null {
  let sum = ZERO;
  for (const { times, steps } of turns) {
    const number = numberAfter(steps, turn);
    if (number === null) return null;
    sum = plus(sum, times, number);
  }
  return sum;
}

/** The place in one turn; null where a step is of a number below 0. */
export function placeInTurn(place: Place, turn: number): Place | null {
  if (place.turns.length === 0) return place;
  const sum = sumInTurn(place.turns, turn);
  return sum === null ? null : { ...place, distance: plus(place.distance, sum), turns: [] };
}

/** One text for equal places. */
export function keyOfPlace({ apart, distance, rows, turns }: Place): string {
  return `${keyOf(apart)}:${keyOf(distance)} ${rows === null ? "" : keyOfCounted(rows)} ${turns.map(keyOfCounted).join()}`;
}

/** The distance, where it is the same for all elements; null elsewhere. */
export function distanceOf({ apart, distance, rows, turns }: Place): Form | null {
  return rows === null && turns.length === 0 && isConstant(apart) && constantOf(apart) === 1 ? distance : null;
}

/** The place of what is read for what is counted at P + `by`. */
export function movedPlace({ apart, distance, rows, turns }: Place, by: Form): Place {
  const moved = (c: Counted): Counted => ({ ...c, shift: plus(c.shift, by) });
  return {
    apart,
    distance: plus(distance, product(apart, by)),
    rows: rows === null ? null : moved(rows),
    turns: turns.map(moved),
  };
}

/** A place by its row q and its column r, of rows `by` long: `first` + `row` · q + `column` · r, for P + `shift` = `by` · q + r. */
export interface Lattice {
  readonly first: Form;
  readonly row: Form;
  readonly column: Form;
  readonly shift: Form;
  readonly by: Form;
}

export function latticeOf({ apart, distance, rows, turns }: Place): Lattice | null {
  if (rows === null || turns.length > 0) return null;
  return {
    first: minus(distance, product(apart, rows.shift)),
    row: plus(product(apart, rows.by), rows.times),
    column: apart,
    shift: rows.shift,
    by: rows.by,
  };
}

/** Columns of rows: the elements at P with `from` ≤ P mod `by` < `to`. */
export interface Columns {
  readonly by: Form;
  readonly from: Form;
  readonly to: Form;
}

export function areOneColumns(a: Columns, b: Columns): boolean {
  return equal(a.by, b.by) && equal(a.from, b.from) && equal(a.to, b.to);
}

/** How what is counted row by row is stored in columns: P + `own.shift` = q · `own.by` + r in row q + `more`, and in column `columns.from` + r. */
export interface InColumns {
  readonly columns: Columns;
  readonly own: Counted;
  readonly more: Form;
}

/** A place by where elements are stored that was one by where they are counted. Null where it goes by other rows. */
export function placeInColumns(place: Place, { columns, own, more }: InColumns): Place | null {
  const { apart, distance, rows, turns } = place;
  if (turns.length > 0 || (rows !== null && !(equal(rows.by, own.by) && equal(rows.shift, own.shift)))) return null;
  if (rows !== null && rows.steps.length > 0) return null;
  // Each row of what is stored is so much longer.
  const times = minus(rows?.times ?? ZERO, product(apart, own.times));
  return {
    apart,
    distance: minus(distance, product(times, more)),
    rows: { times, shift: ZERO, by: columns.by, steps: [] },
    turns: [],
  };
}

/** A form over another; null where nothing shows that it is a multiple. */
export function over(f: Form, by: Form): Form | null {
  if (by.size > 1) {
    const all = parted(f, by);
    return all === null || all.rest.size > 0 ? null : all.whole;
  }
  if (by.size === 0) return null;
  const whole = divided(f, by);
  return equal(product(whole, by), f) ? whole : null;
}

/** How many times a form is another, where that is one whole number for all lengths, and positive; null elsewhere. */
export function ratio(f: Form, by: Form): number | null {
  const [[key, n] = ["", NaN]] = by;
  const times = (f.get(key) ?? 0) / n;
  return Number.isInteger(times) && times > 0 && equal(scaled(by, times), f) ? times : null;
}

/** A form as a multiple of another, and a rest in which no such multiple is left; null where the other is nothing, or has no such multiples. */
export function parted(f: Form, by: Form): { readonly whole: Form; readonly rest: Form } | null {
  if (by.size > 1) return partedBySum(f, by);
  if (by.size === 0) return null;
  const [[key, n]] = by as unknown as readonly [readonly [string, number]];
  const part = f.get(key) ?? 0;
  const whole = plus(divided(minus(f, new Map(part === 0 ? [] : [[key, part]])), by), constantFloor(part, n));
  return { whole, rest: minus(f, product(whole, by)) };
}

/** More steps than a division of what kernels are made of takes. */
const MOST_STEPS = 64;

/** Division of polynomials: what is left has less than the divisor of its greatest product of parameters; or, where multiples are `exact`, no multiple. */
export function partedBySum(f: Form, by: Form, isExact = false): { readonly whole: Form; readonly rest: Form } | null {
  const [lead, n] = greatestOf(by);
  if (n <= 0) return null;
  const isOpen = (m: number): boolean => (isExact ? m % n === 0 : Math.floor(m / n) !== 0);
  let [whole, rest] = [ZERO, f];
  for (let step = 0; step < MOST_STEPS; step++) {
    const open = [...rest].filter(([key, m]) => isOpen(m) && withoutFactors(key, lead) !== null);
    if (open.length === 0) return { whole, rest };
    const [key, m] = greatestOf(new Map(open));
    const times = new Map([[withoutFactors(key, lead)!, Math.floor(m / n)]]);
    whole = plus(whole, times);
    rest = minus(rest, product(times, by));
  }
  return null;
}

/** The product of the most parameters in a form, and how often it is there. */
function greatestOf(f: Form): readonly [key: string, n: number] {
  const degree = (key: string): number => (key === "" ? 0 : factors(key).length);
  return [...f].reduce((a, b) => (degree(b[0]) > degree(a[0]) ? b : a));
}

function constantFloor(a: number, b: number): Form {
  const q = Math.floor(a / b);
  return q === 0 ? ZERO : new Map([["", q]]);
}
