/** Movements that store to columns: parts of rows, as what is gathered or exchanged along another dimension than the first has them. */
import { constant, equal, type Form, isAtLeastZero, minus, plus, product, type Ranges, scaled, ZERO } from "./forms.js";
import type { Lengths, MovementPart } from "./lengths.js";
import { BY_TURN, type Movement, type Source } from "./pieces.js";
import { type Counted, type InColumns, numberAfter, parted, ratio, slopeAfter } from "./places.js";

/** Rows that are made of parts, as many as there may be ranks, of which each has its own sources: columns for each. Null of others. */
export function partsOfRows(
  movement: Movement,
  base: Form,
  length: Form,
  sources: readonly Source[],
  lengths: Lengths,
): readonly MovementPart[] | null {
  const [first, ...further] = sources.flatMap(({ place }) => place.turns);
  const few = first === undefined ? null : ratio(length, first.by);
  // One row alone is as many turns.
  if (first === undefined || (few !== null && few <= lengths.program.kernel.world)) return null;
  if (!further.every((t) => equal(t.by, first.by) && equal(t.shift, first.shift)) || plus(base, first.shift).size > 0) return null; // prettier-ignore
  const parts = [first, ...further].flatMap(({ steps }) => steps.flatMap(({ fn, by }) => (fn === "rem" ? [by] : [])))[0]; // prettier-ignore
  const by = parts === undefined || parts > lengths.program.kernel.world ? null : product(first.by, constant(parts));
  const rows = by === null ? null : lengths.over(length, by);
  if (by === null || rows === null || base.size > 0) return null;
  const made: MovementPart[] = [];
  for (let part = 0; part < parts!; part++) {
    const from = scaled(first.by, part);
    const own = { times: minus(by, first.by), shift: minus(ZERO, from), by: first.by, steps: [] };
    const there = sources.map((s) => sourceOfPart(s, part, parts!, by, own));
    if (there.some((s) => s !== null && s.owner >= lengths.program.kernel.world)) return null;
    if (!there.every((s): s is Source => s !== null)) return null;
    const columns = { by, from, to: plus(from, first.by) };
    made.push({
      movement,
      // Its elements are not those of the first iterations, as those of a first turn are, nor those of any turn.
      turn: lengths.program.kernel.world + part,
      base: lengths.normal(from),
      length: lengths.normal(product(rows, first.by)),
      sources: there,
      inColumns: { columns, own, more: ZERO },
    });
  }
  return made;
}

/** What is counted row by row and stored in longer rows. Null of others. */
export function inLongerRows(own: Counted, ranges: Ranges): InColumns | null {
  if (own.steps.length > 0) return null;
  const by = plus(own.by, own.times);
  const at = parted(minus(ZERO, own.shift), by);
  if (at === null) return null;
  const to = plus(at.rest, own.by);
  if (!isAtLeastZero(at.rest, ranges) || !isAtLeastZero(minus(by, to), ranges)) return null;
  return { columns: { by, from: at.rest, to }, own, more: at.whole };
}

/** A source as one part of each row sees it, from where that part's elements are counted row by row. Null where it changes from row to row in another way. */
function sourceOfPart(s: Source, part: number, parts: number, by: Form, own: Counted): Source | null {
  const { apart, distance, rows, turns } = s.place;
  if (rows !== null && !(equal(rows.by, by) && rows.shift.size === 0 && rows.steps.length === 0)) return null;
  let [there, times] = [distance, plus(rows?.times ?? ZERO, product(apart, own.times))];
  for (const t of turns) {
    const [number, slope] = [numberAfter(t.steps, part), slopeAfter(t.steps, parts)];
    if (number === null || slope === null) return null;
    there = plus(there, t.times, number);
    times = plus(times, t.times, slope);
  }
  const owner = s.owner === BY_TURN ? numberAfter(turns[0]!.steps, part) : s.owner;
  if (owner === null || (s.owner === BY_TURN && slopeAfter(turns[0]!.steps, parts) !== 0)) return null;
  const place = { apart, distance: there, rows: times.size === 0 ? null : { times, shift: own.shift, by: own.by, steps: [] }, turns: [] }; // prettier-ignore
  return { ...s, owner, place };
}
