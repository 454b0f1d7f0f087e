/** What becomes of a tile's sums: each element that is there is stored in its place, once, as the same function of its sum and of inputs there. */
import { bufferOf, isRemote, type Op, text, type Value } from "../../../ir/module.js";
import { lanesOf, scalarOf } from "../../../ir/types.js";
import { WIDEST_ACCESS } from "../../../machine/architectures.js";
import type { Specification } from "../../../manifest.js";
import { type DType, DTYPES } from "../../../types/dtype.js";
import { NotShown } from "../conditions.js";
import { constant, equal, type Form, keyOf, minus, plus, product, scaled, ZERO } from "../forms.js";
import { argumentOf, expect, type Follow, refuse, Steps } from "./follow.js";

/** A tile of the product, and the output that it is of. */
export interface Tile {
  readonly accumulator: string;
  /** Rows and columns of the accumulator. */
  readonly height: number;
  readonly width: number;
  /** Columns of the tile, from the first on; the others are of its neighbour. */
  readonly columns: number;
  /** Where it begins. */
  readonly row: Form;
  readonly column: Form;
  /** Rows and columns of the output. */
  readonly rows: Form;
  readonly all: Form;
}

/** What an element is made of, as a text: alike for what is alike. */
export type Made = string;

/** The sum of an element, in such a text. */
export const SUM: Made = "sum";

/** Looks at the loop that stores a tile. */
export function stored(follow: Follow, steps: Steps, output: string, tile: Tile): Made {
  const { numbers } = follow;
  const { accumulator, height, width, columns, rows, all } = tile;
  const loop = steps.next("for", "fragment");
  const lanes = (loop.attributes["lanes"] as number | undefined) ?? 1;
  const isOwn = loop.attributes["fragment"] === accumulator && loop.attributes["twin"] === undefined;
  expect(isOwn, "elements of another accumulator are stored", loop);
  expect(equal(follow.length(loop), constant((height * width) / lanes)), "a loop does not store all of a tile", loop);
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

  const place = plus(product(plus(tile.row, row), all), plus(tile.column, column));
  const values = new Elements(follow, tile, lanes, {
    [keyOf(place)]: "place",
    [keyOf(plus(tile.column, column))]: "column",
    [keyOf(plus(scaled(row, width), column))]: "accumulator",
  });
  const ops = follow.effects(choice.regions[0]!);
  const store = ops.at(-1);
  expect(
    store?.name === "store" && text(store, "buffer") === output,
    "something else is stored than the output",
    choice,
  );
  for (const op of ops.slice(0, -1)) if (op.name !== "load") refuse(op);
  expect(!isRemote(store) && store.operands.length === 2, "an element is stored elsewhere", store);
  expect(equal(follow.of(store.operands[1]!), place), "an element is stored in another place", store);
  expect(lanesOf(store.operands[0]!.type) === lanes, "an element is stored in another place", store);
  values.checkLanes(store, output);
  return values.of(store.operands[0]!);
}

/** What elements are made of, lane by lane. */
class Elements {
  private readonly known = new Map<Value, Made>();

  /** @param places by the text of an index, what it is the index of */
  constructor(
    private readonly follow: Follow,
    private readonly tile: Tile,
    private readonly lanes: number,
    private readonly places: Readonly<Record<string, "place" | "column" | "accumulator">>,
  ) {}

  /** Lanes are neighbours in a row, all of them there or none, where vectors may lie. */
  checkLanes(op: Op, buffer: string): void {
    const { follow, tile, lanes } = this;
    if (lanes === 1) return;
    const isWhole = tile.columns % lanes === 0 && tile.width % lanes === 0;
    const isRest = equal(follow.numbers.apply("rem", tile.all, constant(lanes)), ZERO);
    expect(isWhole && isRest, "a row may end within a vector", op);
    // A longer one is printed as several.
    const bytes = Math.min(lanes * DTYPES[bufferOf(follow.kernel, buffer).dtype].bytes, WIDEST_ACCESS);
    const begins = [bytes, WIDEST_ACCESS].some((n) => equal(follow.begins(buffer, n), constant(1)));
    expect(begins, "a vector may lie where none may", op);
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
        return constantOf(attributes["value"] as number);
      case "scalar":
        return `scalar ${text(op, "name")}`;
      case "splat":
        return this.of(of[0]!);
      case "cast": {
        const isAlike = [of[0]!, v].every((x) => isRounded(scalarOf(x.type)));
        if (!isAlike) refuse(op);
        return this.of(of[0]!);
      }
      case "unary":
        return unary(text(op, "fn"), this.of(of[0]!));
      case "binary":
        return binary(text(op, "fn"), this.of(of[0]!), this.of(of[1]!));
      case "load":
        return this.loaded(op);
      default:
        return refuse(op);
    }
  }

  private loaded(op: Op): Made {
    const { follow, lanes, tile } = this;
    const buffer = text(op, "buffer");
    const { role } = bufferOf(follow.kernel, buffer);
    expect(!isRemote(op) && op.operands.length === 1, "an element is read elsewhere", op);
    const place = this.places[keyOf(follow.of(op.operands[0]!))];
    expect(lanesOf(op.results[0]!.type) === lanes, "lanes are not of one width", op);
    if (buffer === tile.accumulator) {
      expect(place === "accumulator", "an element is made of another one's sum", op);
      return SUM;
    }
    expect(role === "input", "an element is made of what is no input", op);
    const shape = follow.shape(buffer);
    const isPlace =
      shape.length === 2 && place === "place" && equal(shape[0]!, tile.rows) && equal(shape[1]!, tile.all);
    const isColumn = shape.length === 1 && place === "column" && equal(shape[0]!, tile.all);
    expect(isPlace || isColumn, "an element is made of an input's in another place", op);
    this.checkLanes(op, buffer);
    return input(buffer);
  }
}

/** Dtypes between which a cast does nothing but round: what comes of that, a claim about the answer leaves out. */
function isRounded(kind: string): boolean {
  return kind === "f32" || kind === "f16" || kind === "bf16";
}

const constantOf = (value: number): Made => `${value}`;
const input = (name: string): Made => `input ${name}`;
const unary = (fn: string, a: Made): Made => `${fn}(${a})`;

const COMMUTES = new Set(["add", "mul", "min", "max"]);

function binary(fn: string, a: Made, b: Made): Made {
  const of = COMMUTES.has(fn) ? [a, b].sort() : [a, b];
  return `${fn}(${of.join(", ")})`;
}

/**
 * What is specified of an element, in the same words.
 * @param factors inputs that are multiplied
 * @param has whether an input has an element for each place, or for each column
 * @throws NotShown for what is not followed
 */
export function specified(
  s: Specification,
  factors: readonly [string, string],
  has: (name: string) => boolean,
  op: Op,
): Made {
  const of = (x: Specification): Made => specified(x, factors, has, op);
  switch (s.kind) {
    case "constant":
      return constantOf(s.value);
    case "scalar":
      return `scalar ${s.name}`;
    case "input":
      if (!has(s.name)) break;
      return input(s.name);
    case "rounded":
    case "cast":
      if (!isRounded(s.dtype satisfies DType)) break;
      return of(s.a);
    case "unary":
      return unary(s.fn, of(s.a));
    case "binary":
      return binary(s.fn, of(s.a), of(s.b));
    case "matmul":
      if (s.a.kind !== "input" || s.b.kind !== "input") break;
      if (s.a.name !== factors[0] || s.b.name !== factors[1]) break;
      return SUM;
    default:
  }
  throw new NotShown(`the answer has a '${s.kind}' that goes by places`, op.span);
}
