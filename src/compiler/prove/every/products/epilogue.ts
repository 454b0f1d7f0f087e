/** What becomes of a tile's sums: each element that is there is stored, once, as the same function of its sum and of what lies as that does. */
import { bufferOf, isRemote, memoryOperands, type Op, text, type Value } from "../../../ir/module.js";
import { lanesOf, scalarOf } from "../../../ir/types.js";
import { WIDEST_ACCESS } from "../../../machine/architectures.js";
import { DTYPES } from "../../../types/dtype.js";
import {
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isConstant,
  minus,
  plus,
  product,
  scaled,
  ZERO,
} from "../forms.js";
import { argumentOf, expect, type Follow, refuse, Steps } from "./follow.js";
import { isRounded, leavesOf, type Made, SUM, textOf, TWIN_SUM } from "./made.js";

/** A tile of the product. */
export interface Tile {
  readonly accumulator: string;
  /** The accumulator of a second product, which has the same places; null where there is none. */
  readonly twin: string | null;
  /** Rows and columns of the accumulator. */
  readonly height: number;
  readonly width: number;
  /** Columns of the tile, from the first on; the others are of its neighbour. */
  readonly columns: number;
  /** Where it begins. */
  readonly row: Form;
  readonly column: Form;
  /** Rows and columns of the product. */
  readonly rows: Form;
  readonly all: Form;
}

/** Where a tile's elements are taken from, other than its accumulator: rows of a buffer that is as wide, from one on. */
export interface Lying {
  readonly buffer: string;
  readonly row: Form;
}

/** Where an element is stored. */
export interface Store {
  readonly op: Op;
  readonly buffer: string;
  /** Whose memory; null of the rank's own. */
  readonly peer: Form | null;
  readonly index: Form;
}

/** What a loop over a tile does with its elements. */
export interface Stored {
  readonly loop: Op;
  readonly stores: readonly Store[];
  readonly made: Made;
  /** The place of any one in the product, and that of its row in the tile. */
  readonly row: Form;
  readonly column: Form;
  readonly inTile: Form;
  /** Asks whether a store may be as wide as it is. @param isInRow it is where rows of the product are, which no vector goes beyond; else where rows of the accumulator are */
  readonly checkLanes: (store: Store, isInRow: boolean) => void;
}

/**
 * Looks at the loop that stores a tile.
 * @param lying where the elements lie; null: in the accumulator
 * @param hasLeft whether they may be made of what ranks have left in scratch
 * @param as the ops that store them: of packets, an index is one of slots
 */
export function stored(
  follow: Follow,
  steps: Steps,
  tile: Tile,
  lying: Lying | null,
  hasLeft: boolean,
  as: "store" | "packet_store" = "store",
): Stored {
  const { numbers } = follow;
  const { accumulator, height, width, columns, rows, all } = tile;
  const loop = steps.next("for", lying === null ? "fragment" : "threads");
  const count = follow.length(loop);
  const lanes =
    lying === null
      ? ((loop.attributes["lanes"] as number | undefined) ?? 1)
      : (height * width) / (isConstant(count) ? Math.max(constantOf(count), 1) : 1);
  const isOwn =
    lying !== null || (loop.attributes["fragment"] === accumulator && (loop.attributes["twin"] ?? null) === tile.twin);
  expect(isOwn, "elements of another accumulator are stored", loop);
  expect(Number.isInteger(lanes) && equal(count, constant((height * width) / lanes)), "a loop does not store all of a tile", loop); // prettier-ignore
  const limit = loop.attributes["limit"] === undefined ? constant(width) : follow.of(loop.operands[2]!);
  expect(equal(limit, constant(columns)) || equal(limit, constant(width)), "a loop does not store all of a tile", loop);
  const e = numbers.named("element");
  follow.set(argumentOf(loop), e);
  const at = scaled(e, lanes);
  const [row, column] = [numbers.apply("div", at, constant(width)), numbers.apply("rem", at, constant(width))];

  const body = new Steps(follow.effects(loop.regions[0]!), loop);
  const choice = body.next("if");
  body.end();
  // Those conditions and no others: an element that is there is stored, and no other.
  const wanted = [
    numbers.apply("lt", row, minus(rows, tile.row)),
    numbers.apply("lt", column, minus(all, tile.column)),
    ...(columns < width ? [numbers.apply("lt", column, constant(columns))] : []),
  ];
  const asked = numbers.partsOf(follow.of(choice.operands[0]!));
  const isAlike = (a: readonly Form[], b: readonly Form[]): boolean => a.every((f) => b.some((g) => equal(f, g)));
  expect(
    isAlike(wanted, asked) && isAlike(asked, wanted),
    "other elements of a tile are stored than there are",
    choice,
  );
  new Steps(follow.effects(choice.regions[1]!), choice).end();

  const values = new Elements(follow, tile, lanes, { row, column }, lying, hasLeft);
  const ops = follow.effects(choice.regions[0]!);
  const first = ops.findIndex((op) => op.name === as);
  expect(first >= 0, "an element is not stored", choice);
  for (const op of ops.slice(0, first)) if (op.name !== "load") refuse(op);
  const stores = ops.slice(first).map((op): Store => {
    if (op.name !== as) refuse(op);
    const [peer, indices] =
      as === "store"
        ? [memoryOperands(op).peer, memoryOperands(op).indices]
        : [isRemote(op) ? op.operands[2]! : null, op.operands.slice(-1)];
    expect(indices.length === 1, "an element is stored in another place", op);
    expect(lanesOf(op.operands[0]!.type) === lanes, "an element is stored in another place", op);
    const index = follow.of(indices[0]!);
    const buffer = text(op, as === "store" ? "buffer" : "even");
    return { op, buffer, peer: peer === null ? null : follow.of(peer), index };
  });
  const [made, ...others] = stores.map(({ op }) => values.of(op.operands[0]!)) as [Made, ...Made[]];
  expect(
    others.every((m) => textOf(m) === textOf(made)),
    "several things are made of an element",
    choice,
  );
  // What is read and not used is read by others, too: so nothing has to be said of it.
  for (const op of ops.slice(0, first)) values.of(op.results[0]!);
  values.checkRead(made, choice);
  return {
    loop,
    stores,
    made,
    row: plus(tile.row, row),
    column: plus(tile.column, column),
    inTile: row,
    checkLanes: ({ op, buffer }, isInRow) => values.checkLanes(op, buffer, isInRow),
  };
}

/** What elements are made of, lane by lane. */
class Elements {
  private readonly known = new Map<Value, Made>();
  private readonly read = new Map<string, Op>();

  constructor(
    private readonly follow: Follow,
    private readonly tile: Tile,
    private readonly lanes: number,
    /** The element's row and column in the tile. */
    private readonly at: { readonly row: Form; readonly column: Form },
    private readonly lying: Lying | null,
    private readonly hasLeft: boolean,
  ) {}

  /** Lanes are neighbours in a row, all of them there or none, where vectors may lie. */
  checkLanes(op: Op, buffer: string, isInRow: boolean): void {
    const { follow, tile, lanes } = this;
    if (lanes === 1) return;
    const isWhole = tile.columns % lanes === 0 && tile.width % lanes === 0;
    const isRest = equal(follow.numbers.apply("rem", tile.all, constant(lanes)), ZERO);
    // A vector that is partly behind the end of the product's row is there as a whole, so rows end between vectors in any buffer.
    expect(isWhole && isRest, "a row may end within a vector", op);
    expect(isInRow || tile.width % lanes === 0, "a row may end within a vector", op);
    // Slots lie where packets may.
    if (op.name === "packet_store") return;
    // A longer one is printed as several.
    const bytes = Math.min(lanes * DTYPES[bufferOf(follow.kernel, buffer).dtype].bytes, WIDEST_ACCESS);
    const begins = [bytes, WIDEST_ACCESS].some((n) => equal(follow.begins(buffer, n), constant(1)));
    expect(begins, "a vector may lie where none may", op);
  }

  /** All that is read of what ranks have left is part of what is made. */
  checkRead(made: Made, op: Op): void {
    const used = new Set(leavesOf(made).map(textOf));
    const isUsed = [...this.read.keys()].every((key) => used.has(key));
    expect(isUsed, "an element is read that nothing is made of", op);
  }

  of(v: Value): Made {
    let made = this.known.get(v);
    if (made === undefined) this.known.set(v, (made = this.made(v)));
    return made;
  }

  private made(v: Value): Made {
    const op = this.follow.maker(v);
    expect(op !== null, "an element is of another loop", this.follow.kernel.body.ops[0]!);
    const { attributes } = op;
    const of = op.operands;
    switch (op.name) {
      case "const":
        return { kind: "constant", value: attributes["value"] as number, of: scalarOf(v.type) };
      case "scalar":
        return { kind: "scalar", name: text(op, "name"), of: scalarOf(v.type) };
      case "splat":
        return this.of(of[0]!);
      case "cast": {
        const isAlike = [of[0]!, v].every((x) => isRounded(scalarOf(x.type)));
        if (!isAlike) refuse(op);
        return { kind: "cast", of: scalarOf(v.type), a: this.of(of[0]!) };
      }
      case "unary":
        return { kind: "unary", fn: text(op, "fn"), a: this.of(of[0]!) };
      case "binary":
        return { kind: "binary", fn: text(op, "fn"), a: this.of(of[0]!), b: this.of(of[1]!) };
      case "select":
        return this.of(of[this.isChosen(of[0]!) ? 1 : 2]!);
      case "load":
        return this.loaded(op);
      default:
        return refuse(op);
    }
  }

  /** Whether a condition holds, which is one of ranks and not of elements. */
  private isChosen(v: Value): boolean {
    const op = this.follow.maker(v);
    if (op?.name === "splat") return this.isChosen(op.operands[0]!);
    return this.follow.numbers.decided(this.follow.of(v), op?.span) !== 0;
  }

  private loaded(op: Op): Made {
    const { follow, lanes, tile, at, lying } = this;
    const buffer = text(op, "buffer");
    const { role } = bufferOf(follow.kernel, buffer);
    expect(!isRemote(op) && op.operands.length === 1, "an element is read elsewhere", op);
    const index = follow.of(op.operands[0]!);
    expect(lanesOf(op.results[0]!.type) === lanes, "lanes are not of one width", op);
    const isTwin = lying === null && buffer === tile.twin;
    if (buffer === (lying?.buffer ?? tile.accumulator) || isTwin) {
      const row = plus(lying?.row ?? ZERO, at.row);
      const isOwn = equal(index, plus(scaled(row, tile.width), at.column));
      expect(isOwn, "an element is made of another one's sum", op);
      if (lying !== null) this.checkLanes(op, buffer, false);
      return isTwin ? TWIN_SUM : SUM;
    }
    const [row, column] = [plus(tile.row, at.row), plus(tile.column, at.column)];
    const place = plus(product(row, tile.all), column);
    if (role === "scratch" && this.hasLeft) {
      const distance = minus(index, place);
      expect(follow.numbers.isFixed(distance), "an element is made of what lies elsewhere", op);
      expect(lanes === 1 || this.isWhole(distance), "a vector may lie where none may", op);
      this.checkLanes(op, buffer, true);
      const left: Made = { kind: "left", buffer, distance };
      this.read.set(textOf(left), op);
      return left;
    }
    expect(role === "input", "an element is made of what is no input", op);
    const shape = follow.shape(buffer);
    const isPlace =
      shape.length === 2 && equal(index, place) && equal(shape[0]!, tile.rows) && equal(shape[1]!, tile.all);
    const isColumn = shape.length === 1 && equal(index, column) && equal(shape[0]!, tile.all);
    expect(isPlace || isColumn, "an element is made of an input's in another place", op);
    this.checkLanes(op, buffer, true);
    return { kind: "input", name: buffer, isColumn };
  }

  /** Whether a number of elements is one of whole vectors, where rows are. */
  private isWhole(distance: Form): boolean {
    const row = this.follow.numbers.atomOf(this.tile.all)?.name;
    const isOfRows = (key: string): boolean => key !== "" && row !== undefined && factors(key).includes(row);
    return [...distance].every(([key, n]) => n % this.lanes === 0 || isOfRows(key));
  }
}
