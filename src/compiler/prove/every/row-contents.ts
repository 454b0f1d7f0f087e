/** What a block's shared memory holds in a round: numbers of places or rows, and folds of parts of rows, of which all together are the whole rows. */
import type { Span } from "../../source.js";
import type { Reduction } from "../../ir/ops.js";
import { type Counter, exactQuotient, isRowCounter, slopeOf } from "./bounds.js";
import { equal, type Form, keyOf, minus, ONE, parameter, plus, product, ZERO } from "./forms.js";
import { NotShown } from "./conditions.js";
import { type Folded, foldedIn, namesInFolded, orderOf, renamedFolded, type Tree } from "./row-trees.js";
import { has, intervalOf, replaced, type Run, runOf } from "./runs.js";

/** Numbers that are folded up: of the places of rows, or of what lies in shared memory for each row. */
export interface Space {
  readonly id: string;
  /** What is folded: of each place of the row. */
  readonly of: Tree;
  /** How what is folded came to be, as a text; empty of the places themselves. */
  readonly order: string;
  /** How many numbers there are for a row. */
  readonly length: Form;
  /** Which row an interval is that is as long; null where it is none. */
  readonly rowOf: (run: Run, counters: readonly Counter[]) => Form | null;
}

export interface Folding {
  readonly kind: "folding";
  /** Null where nothing is folded. */
  readonly fn: Reduction | null;
  readonly of: Folded<Space>;
}

/** One store to shared memory, in all iterations of its loops. */
export interface SharedStore {
  readonly phase: number;
  readonly index: Form;
  readonly counters: readonly Counter[];
  readonly span: Span;
  /** A number of a place, or of a row, which lies so far from the index; or a fold. */
  readonly holds: { readonly kind: "place" | "row"; readonly tree: Tree; readonly shift: Form } | Folding;
}

export type SharedContent =
  | {
      readonly kind: "place" | "row";
      readonly start: Form;
      readonly end: Form;
      readonly tree: Tree;
      /** What the place, or the row, is more than the index. */
      readonly shift: Form;
    }
  | FoldedContent;

/** Folds that lie one after the other; of a grid, those of each row `~q`, which begin `width` elements apart. */
interface FoldedContent {
  readonly kind: "folded";
  readonly fn: Reduction | null;
  readonly pieces: readonly Piece[];
  readonly grid: Grid | null;
  readonly id: string;
}

interface Grid {
  readonly rows: Form;
  readonly width: Form;
}

/** What elements hold from `start` to before `end`, of which `~e` is any; of a grid, those of a row. */
interface Piece {
  readonly start: Form;
  readonly end: Form;
  readonly of: Folded<Space>;
}

function boundsOf({ start, end }: Piece): Run {
  return { counters: [], start, end };
}

const ELEMENT = "~e";
const ROW = "~q";

/** What is asked of polynomials in a box. */
export interface Asking {
  /** Whether a number is 0 or more in all iterations of loops. */
  readonly isAtLeastZero: (f: Form, counters: readonly Counter[]) => boolean;
}

/**
 * What a buffer holds when a phase begins.
 * @param stores to it, in phases before
 * @param isKept whether what it held is looked at where it is stored to in a phase
 * @throws NotShown
 */
export function contentOf(
  buffer: string,
  stores: readonly SharedStore[],
  isKept: (phase: number) => boolean,
  asking: Asking,
): SharedContent {
  let content: SharedContent | null = null;
  for (const phase of [...new Set(stores.map((s) => s.phase))].sort((a, b) => a - b)) {
    const own = stores.filter((s) => s.phase === phase);
    const made = contentIn(`${buffer} ${phase}`, own, asking);
    content = content !== null && isKept(phase) ? over(content, made, own[0]!.span, asking) : made;
  }
  return content!;
}

function notFollowed(span: Span): NotShown {
  return new NotShown("what shared memory holds is not followed", span);
}

function contentIn(id: string, stores: readonly SharedStore[], asking: Asking): SharedContent {
  const [first] = stores as readonly [SharedStore];
  const { holds, span } = first;
  const isZeroUp = (f: Form): boolean => asking.isAtLeastZero(f, []);
  if (holds.kind !== "folding") {
    const isAlike = (s: SharedStore): boolean =>
      s.holds.kind === holds.kind && s.holds.tree.key === holds.tree.key && equal(s.holds.shift, holds.shift);
    const all = intervalOf(stores.map((s) => runOf(s.index, s.counters)), isZeroUp); // prettier-ignore
    if (!stores.every(isAlike) || all === null) throw notFollowed(span);
    return { ...holds, start: all.start, end: all.end };
  }
  const fns = new Set<Reduction>();
  for (const s of stores) {
    if (s.holds.kind !== "folding") throw notFollowed(s.span);
    if (s.holds.fn !== null) fns.add(s.holds.fn);
  }
  if (fns.size > 1) throw notFollowed(span);
  const [fn = null] = fns;
  const made = stores.map((s) => rowPieceOf(s, isZeroUp) ?? pieceOf(s.index, s, null, isZeroUp));
  const one = made[0]!;
  const isAlike = made.every((m) => m !== null && areOneGrid(m.grid, one.grid));
  // Each element is stored once: of two the last would count.
  if (!isAlike || intervalOf(made.map((m) => boundsOf(m!.piece)), isZeroUp) === null) throw notFollowed(span); // prettier-ignore
  return { kind: "folded", fn, pieces: joined(made.map((m) => m!.piece)), grid: one.grid, id };
}

interface PieceOf {
  readonly piece: Piece;
  readonly grid: Grid | null;
}

function areOneGrid(a: Grid | null, b: Grid | null): boolean {
  return a === b || (a !== null && b !== null && equal(a.rows, b.rows) && equal(a.width, b.width));
}

/** A store of folds whose elements lie one after the other, and go by the element alone, and by the row of a grid. */
function pieceOf(
  index: Form,
  { counters, holds }: Pick<SharedStore, "counters" | "holds">,
  grid: Grid | null,
  isZeroUp: (f: Form) => boolean,
): PieceOf | null {
  const all = intervalOf([runOf(index, counters)], isZeroUp);
  if (all === null || holds.kind !== "folding") return null;
  for (const { name } of counters) {
    const slope = slopeOf(index, name);
    if (slope === null || !equal(slope, ONE)) continue;
    // The index is the element.
    const by = plus(minus(parameter(ELEMENT), index), parameter(name));
    const of = renamedFolded(holds.of, new Map([[name, by]]));
    const left = namesInFolded(of);
    if (!counters.some((c) => left.has(c.name))) return { piece: { start: all.start, end: all.end, of }, grid };
  }
  return null;
}

/** A store of folds for each row: as many in each, and as far apart. */
function rowPieceOf({ index, counters, holds }: SharedStore, isZeroUp: (f: Form) => boolean): PieceOf | null {
  const [q, ...inRow] = counters;
  if (q === undefined || !isRowCounter(q) || holds.kind !== "folding" || !equal(q.times, ONE)) return null;
  if (inRow.some((c) => has(c.limit, q.name) || has(c.times, q.name))) return null;
  const width = slopeOf(index, q.name);
  if (width === null || counters.some((c) => has(width, c.name))) return null;
  const place = minus(index, product(width, parameter(q.name)));
  const of = renamedFolded(holds.of, new Map([[q.name, parameter(ROW)]]));
  const made = pieceOf(place, { counters: inRow, holds: { ...holds, of } }, { rows: q.limit, width }, isZeroUp);
  // What is of one row comes before the next.
  const isInRow = made !== null && isZeroUp(made.piece.start) && isZeroUp(minus(width, made.piece.end));
  return isInRow ? made : null;
}

/** Pieces that follow each other are one where they hold the same. */
function joined(pieces: readonly Piece[]): readonly Piece[] {
  for (const a of pieces)
    for (const b of pieces) {
      if (a === b || !equal(a.end, b.start) || orderOf(a.of, orderIn) !== orderOf(b.of, orderIn)) continue;
      return joined([{ ...a, end: b.end }, ...pieces.filter((p) => p !== a && p !== b)]);
    }
  return pieces;
}

/** What is stored from 0 on, and behind it what was there before. */
function over(before: SharedContent, made: SharedContent, span: Span, asking: Asking): SharedContent {
  if (before.kind !== "folded" || made.kind !== "folded") throw notFollowed(span);
  const under = inGrid(before, made.grid);
  if (!areOneGrid(under.grid, made.grid)) throw notFollowed(span);
  const [old, ...more] = under.pieces as readonly [Piece, ...Piece[]];
  const isZeroUp = (f: Form): boolean => asking.isAtLeastZero(f, []);
  const all = intervalOf(made.pieces.map(boundsOf), isZeroUp);
  const isOver = all !== null && equal(all.start, old.start) && isZeroUp(minus(old.end, all.end));
  const fn = made.fn ?? before.fn;
  if (more.length > 0 || !isOver || (before.fn !== null && fn !== before.fn)) throw notFollowed(span);
  const pieces = joined([...made.pieces, { ...old, start: all.end }]);
  return { kind: "folded", fn, id: made.id, grid: made.grid, pieces };
}

/** What holds the same everywhere, as a grid. */
function inGrid(content: FoldedContent, grid: Grid | null): FoldedContent {
  const [piece, ...more] = content.pieces as readonly [Piece, ...Piece[]];
  if (content.grid !== null || grid === null || more.length > 0 || namesInFolded(piece.of).has(ELEMENT)) return content;
  const isAll = piece.start.size === 0 && equal(piece.end, product(grid.rows, grid.width));
  return isAll ? { ...content, grid, pieces: [{ ...piece, end: grid.width }] } : content;
}

/** What an element of shared memory holds. @param counters of loops around @throws NotShown */
export function foldedAt(
  content: FoldedContent,
  index: Form,
  counters: readonly Counter[],
  span: Span,
  asking: Asking,
): Folding {
  const { fn, grid } = content;
  const space = spaceOf(content, asking);
  if (space !== null) return { kind: "folding", fn, of: { kind: "at", at: index, space } };
  const isIn = (f: Form, { start, end }: { readonly start: Form; readonly end: Form }): boolean =>
    asking.isAtLeastZero(minus(f, start), counters) && asking.isAtLeastZero(minus(minus(end, f), ONE), counters);
  // Which row an element of a grid is of a loop over rows says.
  const isRow = ({ name, times, limit }: Counter): boolean => {
    const slope = slopeOf(index, name);
    return slope !== null && equal(slope, grid!.width) && equal(times, ONE) && equal(limit, grid!.rows);
  };
  const row = grid === null ? null : counters.find(isRow);
  if (row === undefined) throw notFollowed(span);
  const place = row === null ? index : minus(index, product(grid!.width, parameter(row.name)));
  const piece = content.pieces.find((p) => isIn(place, p));
  if (piece === undefined) throw notFollowed(span);
  const by = new Map([[ELEMENT, place]]);
  if (row !== null) by.set(ROW, parameter(row.name));
  return { kind: "folding", fn, of: renamedFolded(piece.of, by) };
}

/** A way's contents are its own. */
const spaces = new WeakMap<FoldedContent, Space | null>();

function spaceOf(content: FoldedContent, asking: Asking): Space | null {
  let space = spaces.get(content);
  if (space === undefined) spaces.set(content, (space = spaceIn(content, asking)));
  return space;
}

/** What is held as numbers that come to the whole rows together, each place of a row in one of them; null where that is not seen. */
function spaceIn({ pieces, grid, id }: FoldedContent, asking: Asking): Space | null {
  const isZeroUp = (f: Form): boolean => asking.isAtLeastZero(f, []);
  const outer: Counter[] = grid === null ? [] : [{ name: ROW, times: ONE, limit: grid.rows }];
  const found = pieces.flatMap(({ start, end, of }) => {
    const element: Counter = { name: ELEMENT, times: ONE, limit: minus(end, start) };
    const moved = renamedFolded(of, new Map([[ELEMENT, plus(start, parameter(ELEMENT))]]));
    return foldedIn(moved).map(({ at, space, counters }) => ({ run: runOf(at, [element, ...counters]), space }));
  });
  const space = found[0]?.space;
  if (space === undefined || found.some((f) => f.space.id !== space.id)) return null;
  const whole = intervalOf(found.map(({ run }) => run), isZeroUp); // prettier-ignore
  const width = intervalOf(pieces.map(boundsOf), isZeroUp);
  if (whole === null || width === null || width.start.size > 0) return null;
  if (grid !== null && !equal(width.end, grid.width)) return null;
  const row = equal(minus(whole.end, whole.start), space.length) ? space.rowOf(whole, outer) : null;
  if (row === null) return null;
  const first = replaced(row, ROW);
  if (!equal(row, grid === null ? first : plus(first, parameter(ROW)))) return null;
  const rows = grid === null ? ONE : grid.rows;
  const text = pieces.map((p) => `${orderOf(p.of, orderIn)} up to ${keyOf(p.end)}`).join("; ");
  return {
    id,
    of: space.of,
    order: text,
    length: width.end,
    rowOf: ({ start }, counters) => {
      const q = start.size === 0 ? ZERO : exactQuotient(start, width.end);
      const isRow =
        q !== null && asking.isAtLeastZero(q, counters) && asking.isAtLeastZero(minus(minus(rows, q), ONE), counters);
      return isRow ? plus(first, q) : null;
    },
  };
}

/** How a number of a space came to be. */
export function orderIn({ id, order }: Space): string {
  return order === "" ? id : `[${order}]`;
}
