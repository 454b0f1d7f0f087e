/**
 * Where an element lies that a movement reads, by where the one lies that it stores: at a fixed distance; or, where a loop has
 * two dimensions, in a row and a column that go with those of what is stored.
 */
import { constantOf, divided, equal, type Form, isConstant, keyOf, minus, plus, product, ZERO } from "./forms.js";

/** `times` · ⌊(P + `shift`) / `by`⌋, of what is stored at P. */
interface Counted {
  readonly times: Form;
  readonly shift: Form;
  readonly by: Form;
}

/**
 * For what is stored at P, the place is `apart` · P + `distance` + `rows` + `turns`. The number of the turn is that of the rank that has the element.
 * Forms over expressions, each named `@` and its number; or, of one box, over its parameters.
 */
export interface Place {
  readonly apart: Form;
  readonly distance: Form;
  readonly rows: Counted | null;
  readonly turns: Counted | null;
}

/** Each form of a place as another. */
export function renamedPlace({ apart, distance, rows, turns }: Place, by: (f: Form) => Form): Place {
  const renamed = (c: Counted | null): Counted | null =>
    c === null ? null : { times: by(c.times), shift: by(c.shift), by: by(c.by) };
  return { apart: by(apart), distance: by(distance), rows: renamed(rows), turns: renamed(turns) };
}

/** The place in one turn. */
export function placeInTurn(place: Place, turn: number): Place {
  if (place.turns === null) return place;
  return { ...place, distance: plus(place.distance, place.turns.times, turn), turns: null };
}

/** One text for equal places. */
export function keyOfPlace({ apart, distance, rows, turns }: Place): string {
  const keyOfCounted = (c: Counted | null): string =>
    c === null ? "" : `${keyOf(c.times)} (${keyOf(c.shift)}) / ${keyOf(c.by)}`;
  return `${keyOf(apart)}:${keyOf(distance)} ${keyOfCounted(rows)} ${keyOfCounted(turns)}`;
}

/** The distance, where it is the same for all elements; null elsewhere. */
export function distanceOf({ apart, distance, rows, turns }: Place): Form | null {
  return rows === null && turns === null && isConstant(apart) && constantOf(apart) === 1 ? distance : null;
}

/** The place of what is read for what is stored at P + `by`. */
export function movedPlace({ apart, distance, rows, turns }: Place, by: Form): Place {
  const moved = (c: Counted | null): Counted | null => (c === null ? null : { ...c, shift: plus(c.shift, by) });
  return { apart, distance: plus(distance, product(apart, by)), rows: moved(rows), turns: moved(turns) };
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
  if (rows === null || turns !== null) return null;
  return {
    first: minus(distance, product(apart, rows.shift)),
    row: plus(product(apart, rows.by), rows.times),
    column: apart,
    shift: rows.shift,
    by: rows.by,
  };
}

/** A form over another; null where nothing shows that it is a multiple. */
export function over(f: Form, by: Form): Form | null {
  if (by.size !== 1) return null;
  const whole = divided(f, by);
  return equal(product(whole, by), f) ? whole : null;
}

/** A form as a multiple of another, and a rest in which no such multiple is left. */
export function parted(f: Form, by: Form): { readonly whole: Form; readonly rest: Form } | null {
  if (by.size !== 1) return null;
  const [[key, n]] = by as unknown as readonly [readonly [string, number]];
  const part = f.get(key) ?? 0;
  const whole = plus(divided(minus(f, new Map(part === 0 ? [] : [[key, part]])), by), constantFloor(part, n));
  return { whole, rest: minus(f, product(whole, by)) };
}

function constantFloor(a: number, b: number): Form {
  const q = Math.floor(a / b);
  return q === 0 ? ZERO : new Map([["", q]]);
}
