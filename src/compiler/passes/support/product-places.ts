/** Where the tiles of products lie that a block's roles take together. */
import type { Builder } from "../../ir/builder.js";
import type { Op, Value } from "../../ir/module.js";
import type { Substitution } from "../../ir/visit.js";
import type { Contraction } from "./contraction.js";
import type { Movers } from "./product-movers.js";
import type { TileAt } from "./role-elements.js";
import { rotatedNumber, rotatedVariable } from "./tile-rotation.js";
import { type TileWidths, unitOf } from "./tile-widths.js";

/** One of the products that a block's roles take together: they multiply the same rows, and what they store is apart. */
export interface Product {
  readonly op: Op;
  readonly match: Contraction;
}

/** Sizes of a tile, and the rows of tiles that blocks go through together. */
interface TileSizes {
  readonly m: number;
  readonly n: number;
  readonly group: number;
  /** What a launch chooses in place of n columns; null where it has no choice. */
  readonly widths: TileWidths | null;
}

/** What decides the order in which a rank takes its tiles. */
export interface TileOrder {
  readonly movers: Movers | null;
  readonly world: number;
}

/** A product's loop, and how its tiles are counted. Each role computes its own: it has few registers to keep them in. */
export class Places {
  readonly variables: readonly Value[];
  readonly low: readonly Value[];
  readonly high: readonly Value[];

  constructor(
    readonly product: Product,
    private readonly shape: TileSizes,
    private readonly build: Builder,
    values: Substitution,
  ) {
    const { operands, regions } = product.op;
    this.variables = regions[0]!.arguments;
    this.low = this.variables.map((_, d) => values.get(operands[2 * d]!));
    this.high = this.variables.map((_, d) => values.get(operands[2 * d + 1]!));
  }

  number(v: Value): number {
    return this.variables.indexOf(v);
  }

  size(v: Value): Value {
    const { row, column } = this.product.match;
    const { m, n, widths } = this.shape;
    if (v === column && widths !== null) return widths.columns;
    return this.build.constant(v === row ? m : v === column ? n : 1);
  }

  /** A tile's first value of a variable. The product with a constant lies outside, so that what it is a multiple of shows. */
  private begin(v: Value, number: Value): Value {
    const { build } = this;
    const { widths } = this.shape;
    const isWide = v === this.product.match.column && widths !== null;
    const [count, size] = isWide
      ? [build.mul(number, widths.units), build.constant(unitOf(widths.all))]
      : [number, this.size(v)];
    return build.add(this.low[this.number(v)]!, build.mul(count, size));
  }

  /** How to tell whether an element is one of the tile, by its row and its column there. */
  inside(at: TileAt): (i: Value, j: Value) => Value {
    const { build, high } = this;
    const { row, column } = this.product.match;
    const [rows, columns] = [row, column].map((v) => build.sub(high[this.number(v)]!, at.get(v)!)) as [Value, Value];
    const { widths } = this.shape;
    return (i, j) => {
      const isInside = build.binary("and", build.compare("lt", i, rows), build.compare("lt", j, columns));
      return widths === null ? isInside : build.binary("and", isInside, build.compare("lt", j, widths.columns));
    };
  }

  /** Numbers of tiles along each variable. */
  counts(): Value[] {
    const { build, low, high } = this;
    return this.variables.map((v, d) =>
      build.ceilDiv(build.binary("max", build.sub(high[d]!, low[d]!), build.constant(0)), this.size(v)),
    );
  }

  /** From where to where the rows of a tile are inside, or its columns. */
  rowsOf(v: Value, at: TileAt): readonly [Value, Value] {
    const { build } = this;
    const first = at.get(v)!;
    return [first, build.binary("min", build.add(first, this.size(v)), this.high[this.number(v)]!)];
  }

  /**
   * Where a tile lies: batch by batch, and in one in groups of a few rows of tiles, column by column.
   * @param counts numbers of tiles along each variable @param numbered of a tile along a variable, in the order of this rank
   */
  tileAt(tile: Value, counts: readonly Value[], numbered: (v: Value, inOrder: Value) => Value): TileAt {
    const { build, variables } = this;
    const { row, column } = this.product.match;
    const at = new Map<Value, Value>();
    const [down, across] = [counts[this.number(row)]!, counts[this.number(column)]!];
    const plane = build.mul(down, across);
    const group = build.constant(this.shape.group);
    const batches = variables.filter((v) => v !== row && v !== column).reverse();
    const inPlane = batches.length === 0 ? tile : build.rem(tile, plane);
    const perGroup = build.mul(group, across);
    const first = build.mul(build.div(inPlane, perGroup), group);
    const height = build.binary("min", group, build.sub(down, first));
    const inGroup = build.rem(inPlane, perGroup);
    const place = (v: Value, inOrder: Value): void => void at.set(v, this.begin(v, numbered(v, inOrder)));
    place(row, build.add(first, build.rem(inGroup, height)));
    place(column, build.div(inGroup, height));
    let rest = batches.length === 0 ? build.constant(0) : build.div(tile, plane);
    batches.forEach((v, i) => {
      const isLast = i === batches.length - 1;
      place(v, isLast ? rest : build.rem(rest, counts[this.number(v)]!));
      if (!isLast) rest = build.div(rest, counts[this.number(v)]!);
    });
    return at;
  }

  /** A tile's number among those of the loop, which is the same on all ranks. @param counts numbers of tiles along each variable */
  numberOf(at: TileAt, counts: readonly Value[]): Value {
    const { build, variables, low } = this;
    return variables
      .map((v, d) => build.div(build.sub(at.get(v)!, low[d]!), this.size(v)))
      .reduce((number, along, d) => build.add(build.mul(number, counts[d]!), along));
  }

  /** The order in which this rank takes the tiles along a variable. */
  rotation(counts: readonly Value[], { movers, world }: TileOrder): (v: Value, inOrder: Value) => Value {
    const { op, match } = this.product;
    const rotated = movers === null ? rotatedVariable(op, world) : gatheredRows(movers, match);
    const begins = movers === null ? "next" : "own";
    return (v, inOrder) =>
      v === rotated ? rotatedNumber(this.build, inOrder, counts[this.number(v)]!, world, begins) : inOrder;
  }
}

/** The variable that counts the rows that movers gather. */
export function gatheredRows({ operand }: Movers, { row, column }: Contraction): Value {
  return operand === "a" ? row : column;
}

/** The tiles of products, one product's after the other's. */
export class ProductTiles {
  /** Of each product, along each of its variables. */
  readonly counts: readonly (readonly Value[])[];
  readonly total: Value;
  private readonly each: readonly Value[];

  constructor(
    private readonly places: readonly Places[],
    private readonly order: TileOrder,
    private readonly build: Builder,
  ) {
    this.counts = places.map((p) => p.counts());
    this.each = this.counts.map((c) => c.reduce((a, b) => build.mul(a, b)));
    this.total = this.each.reduce((a, b) => build.add(a, b));
  }

  /** Emits what is done with a tile, by the product that it is one of. */
  with(tile: Value, body: (product: Places, at: TileAt) => void, i = 0): void {
    const { build, each } = this;
    const place = this.places[i]!;
    const counts = this.counts[i]!;
    const here = (): void => body(place, place.tileAt(tile, counts, place.rotation(counts, this.order)));
    if (i === this.places.length - 1) return here();
    build.if(build.compare("lt", tile, each[i]!), here, () => this.with(build.sub(tile, each[i]!), body, i + 1));
  }
}
