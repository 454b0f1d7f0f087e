/**
 * Which tile, and which slices of its depth, each iteration of the loop over blocks takes. A kernel's numbers are compared with the plans here; that
 * these cover each tile and slice once is shown in docs/PROOF.md, "Products".
 */
import type { Op } from "../../../ir/module.js";
import {
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isConstant,
  keyOf,
  minus,
  numberOf,
  ONE,
  plus,
  product,
  scaled,
  ZERO,
} from "../forms.js";
import { expect } from "./follow.js";
import type { Numbers } from "./numbers.js";

/** Numbers of tiles in each direction. */
export interface Extent2 {
  readonly rows: Form;
  readonly columns: Form;
}

/** What one iteration does. */
export interface Plan {
  /** The tile's number in the order of tiles. */
  readonly tile: Form;
  /** Slices, from one to before another. */
  readonly from: Form;
  readonly to: Form;
  /** The position of the first slice in the ring. */
  readonly base: Form;
  /** Where several blocks share a tile's depth: the block's part of it. */
  readonly piece: Piece | null;
}

export interface Piece {
  /** Its number among those of the tile: the last adds up the others. */
  readonly number: Form;
  /** The tile's number among those that are shared, and how many are. */
  readonly shared: Form;
  readonly tiles: Form;
  readonly isLast: boolean;
  /** A number that there are no more pieces of a tile than. */
  readonly most: Form;
}

/** @param count how many iterations there are; @param t the number of one @param all how many tiles there are @param slices how many each has */
export function planOf(numbers: Numbers, op: Op, count: Form, t: Form, all: Form, slices: Form): Plan {
  const grid = numbers.named("grid");
  if (equal(count, all)) {
    const base = product(numbers.apply("div", t, grid), slices);
    return { tile: t, from: ZERO, to: slices, base, piece: null };
  }
  expect(isConstant(grid), "blocks share tiles whose number is not known", op);
  const waves = numbers.apply("div", all, grid);
  const whole = product(waves, grid);
  const tiles = numbers.apply("rem", all, grid);
  const pieces = quotientBy(minus(count, whole), tiles);
  const division = pieces && numbers.atomOf(pieces);
  expect(division?.fn === "div", "blocks go through tiles in a way that is not followed", op);
  const step = division.of[1]!;
  expect(
    equal(division.of[0]!, minus(plus(slices, step), ONE)) && numbers.least(step) >= 1,
    "the pieces of a tile's depth are not all of it",
    op,
  );
  // Where there is nothing to multiply, no piece would store what comes of it.
  const depth = numbers.atomOf(slices);
  const isDeep = depth === null ? numbers.least(slices) >= 1 : numbers.excludes(new Map([[depth.name, ZERO]]));
  expect(isDeep, "a depth of 0 has no pieces", op);
  const turn = numbers.apply("div", t, grid);
  if (numbers.decided(numbers.apply("lt", t, whole)) !== 0)
    return { tile: t, from: ZERO, to: slices, base: product(turn, slices), piece: null };
  const behind = numbers.apply("max", minus(t, whole), ZERO);
  const number = numbers.apply("div", behind, numbers.apply("max", tiles, ONE));
  const shared = minus(behind, product(number, tiles));
  const from = product(number, step);
  return {
    tile: plus(whole, shared),
    from,
    to: numbers.apply("min", plus(from, step), slices),
    base: plus(product(waves, slices), product(minus(turn, waves), step)),
    piece: {
      number,
      shared,
      tiles,
      isLast: numbers.decided(numbers.apply("eq", plus(number, ONE), pieces!)) !== 0,
      most: mostPieces(numbers, op, step, slices),
    },
  };
}

/** The other factor of a product; null where it is none. */
function quotientBy(f: Form, by: Form): Form | null {
  const [name] = [...by.keys()];
  const [key] = [...f.keys()];
  if (name === undefined || key === undefined || f.size !== 1 || by.size !== 1 || by.get(name) !== 1) return null;
  const left = [...factors(key)];
  const at = left.indexOf(name);
  if (at < 0 || f.get(key) !== 1 || left.length !== 2) return null;
  left.splice(at, 1);
  return new Map([[left[0]!, 1]]);
}

/** What the depth is divided by, rounded up, for the length of a piece: there are no more pieces. */
function mostPieces(numbers: Numbers, op: Op, step: Form, slices: Form): Form {
  const limited = numbers.atomOf(step);
  const division =
    limited?.fn === "max" ? limited.of.map((f) => numbers.atomOf(f)).find((a) => a?.fn === "div") : limited;
  expect(division?.fn === "div", "the length of a piece is not followed", op);
  const most = division.of[1]!;
  numbers.resolved(most);
  const isAll = equal(division.of[0]!, minus(plus(slices, most), ONE)) && numbers.least(most) >= 1;
  expect(isAll, "the length of a piece is not followed", op);
  return most;
}

/** Tiles are taken in bands of so many rows, down each column of a band, as far as there are rows: one of these. */
const BANDS = [1, 2, 4, 8, 16, 32];

/** Row and column of a tile, by its number, where tiles are taken in bands of `band` rows. */
function placeOf(numbers: Numbers, tile: Form, { rows, columns }: Extent2, band: number): readonly [Form, Form] {
  const inBand = scaled(columns, band);
  const first = scaled(numbers.apply("div", tile, inBand), band);
  const height = numbers.apply("min", constant(band), minus(rows, first));
  const rest = numbers.apply("rem", tile, inBand);
  return [plus(first, numbers.apply("rem", rest, height)), numbers.apply("div", rest, height)];
}

/**
 * Orders in which a tile of that number begins in this row and column of the product: one text for each.
 * @param turn how many rows of tiles further they begin, round all of them; null: any number that is the same for all tiles
 * @param all how many rows of tiles there are to go round; by default those that are counted
 */
export function ordersOf(
  numbers: Numbers,
  tile: Form,
  of: Extent2,
  [height, width]: readonly [number, number],
  [row, column]: readonly [Form, Form],
  turn: Form | null = ZERO,
  all: Form = of.rows,
): readonly string[] {
  return BANDS.flatMap((band) => {
    const [i, j] = placeOf(numbers, tile, of, band);
    if (!equal(scaled(j, width), column)) return [];
    if (turn?.size === 0) return equal(scaled(i, height), row) ? [`${band}`] : [];
    const by = turn ?? turnOf(numbers, i, all, height, row);
    const isRow = by !== null && equal(scaled(numbers.apply("rem", plus(i, by), all), height), row);
    return isRow ? [`${band} from ${keyOf(by)}`] : [];
  });
}

/** How far round all rows of tiles a row begins behind the one that is counted; null where that is not the same for all. */
function turnOf(numbers: Numbers, i: Form, all: Form, height: number, row: Form): Form | null {
  const [key] = [...row.keys()];
  const atom = key === undefined || row.get(key) !== height ? null : numbers.atomOf(new Map([[key, 1]]));
  if (atom?.fn !== "rem" || !equal(atom.of[1]!, all)) return null;
  const by = minus(atom.of[0]!, i);
  return numbers.isFixed(by) && numbers.least(by) >= 0 ? by : null;
}

/**
 * Whether pieces, of each shared tile all but the last, have rows of their own in a buffer: for each number of shared tiles that there may be, which is less than the
 * number of blocks.
 */
export function havePiecesRoom(numbers: Numbers, { most, tiles }: Piece, extent: Form): boolean {
  const blocks = constantOf(numbers.named("grid"));
  const name = numbers.atomOf(tiles)?.name;
  if (name === undefined) return false;
  // A factor that is 0 or 1 is 1 where it cannot be 0 in this case.
  const ones = new Map<string, Form>();
  for (const key of extent.keys())
    for (const factor of key === "" ? [] : factors(key))
      if (factor !== name && numbers.excludes(new Map([[factor, ZERO]])) && numbers.isTruth(factor))
        ones.set(factor, ONE);
  // What is known in this case is put in first: mostly one thing is left in all cases, which is asked once.
  const known = numbers.assuming(ones);
  const [pieces, room] = [known(most), known(extent)];
  const isRoom = numbers.once(`room ${name} ${blocks} ${numberOf(pieces)} ${numberOf(room)}`, () =>
    haveRoom(blocks, (n) => numbers.assumingAlone(new Map([[name, constant(n)]])), pieces, room),
  );
  return isRoom || haveRoom(blocks, (n) => numbers.assuming(new Map([...ones, [name, constant(n)]])), most, extent);
}

/** @param at puts in how many shared tiles there are */
function haveRoom(blocks: number, at: (n: number) => (f: Form) => Form, most: Form, extent: Form): boolean {
  for (let n = 0; n < blocks; n++) {
    const known = at(n);
    const [pieces, room] = [known(most), known(extent)];
    if (!isConstant(pieces) || !isConstant(room)) return false;
    if ((constantOf(pieces) - 1) * n > constantOf(room)) return false;
  }
  return true;
}
