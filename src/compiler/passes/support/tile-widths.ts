/**
 * How wide the tiles of a product are. Blocks take tiles in rounds, and the last round takes as long as the others however few tiles
 * it has: 160 tiles of 256 columns take 132 multiprocessors two rounds, and so do 256 of 160 columns, in less time. So a launch has the
 * width of which the rounds together are the shortest, which follows from its lengths.
 *
 * On an H200, 2026-11, µs with tiles of 256 columns, with those of 160, and cuBLAS: 1024×2560×8192 90.6, 60.7, 58.7; 2048×2560×8192 188, 119, 114;
 * 1280×4096×4096 93.6, 61.5 to 66.5, 58; 1024×5120×4096 94.7, 62.5, 57.9; with 192 768×3584×8192 88.5, 68.2, 60.6 to 68.4; with 128 512×4096×8192 87.3, 50.6, 46.9.
 */
import type { Builder } from "../../ir/builder.js";
import { bufferOf, type Kernel, type Value } from "../../ir/module.js";
import { DTYPES } from "../../types/dtype.js";
import { extent, type Extent, sumOf } from "../../types/extent.js";
import type { Contraction } from "./contraction.js";
import type { OwnerSums } from "./owner-sums.js";
import type { Movers } from "./product-movers.js";
import type { RoleShape } from "./role-shape.js";

/** The widths that a launch has to choose from, and which one it has. */
export interface TileWidths {
  /** In columns, the widest first. */
  readonly all: readonly number[];
  /** The one of this launch, and how often it has what all of them are multiples of. */
  readonly columns: Value;
  readonly units: Value;
}

/** Columns that a tile could have in the time that a step takes however wide it is: steps of 256, 192, 160 and 128 columns take 0.67, 0.50, 0.44 and 0.36 µs. */
const COLUMNS_BESIDE = 12;

/** How long a step of tiles of so many columns takes, in the time that it has for a column. */
export function stepOf(columns: number): number {
  return columns + COLUMNS_BESIDE;
}

/** What is won by narrower tiles is this part of the time, or not worth what they load more often. */
const WORTHWHILE = 0.04;
/** Costs are whole numbers of this part of a column, and multiples of `ROOM`, in which there is room for what tells the width. */
const FINE = 16;
const ROOM = 1024;
/** Longer than a step of any width. */
const FAR = 2 ** 20;

/** What follows from a launch's lengths. */
export interface ShortestRounds {
  /** Columns of its tiles, in units of what all widths are multiples of. */
  readonly units: Extent;
  /** How long all rounds take together, in `parts` of a step of the widest tiles for each step. */
  readonly time: (parts: number) => Extent;
}

/**
 * The width with which all rounds together take the shortest.
 * @param tiles of so many columns each @param blocks that take a tile each in a round
 * @param isAlone 1 for launches that have the widest whatever takes how long, else 0
 */
export function shortestRounds(
  widths: readonly number[],
  tiles: (columns: number) => Extent,
  blocks: number,
  isAlone: Extent,
): ShortestRounds {
  const [widest] = widths as readonly [number, ...number[]];
  const unit = unitOf(widths);
  const best = widths
    .map((columns) => {
      const part = columns === widest ? 1 : 1 + WORTHWHILE;
      const step = Math.round((columns + COLUMNS_BESIDE) * part * FINE) * ROOM;
      const round = columns === widest ? step : extent("add", step, extent("mul", isAlone, FAR * ROOM));
      // Of two that take as long, the wider.
      return extent("add", extent("mul", extent("ceildiv", tiles(columns), blocks), round), (widest - columns) / unit);
    })
    .reduce((a, b) => extent("min", a, b));
  const step = Math.round((widest + COLUMNS_BESIDE) * FINE) * ROOM;
  return {
    // At least 1 by its form, too, so that places of tiles are seen not to lie before 0.
    units: extent("max", extent("sub", widest / unit, extent("mod", best, ROOM)), 1),
    time: (parts) => extent("div", best, Math.round(step / parts)),
  };
}

/** Greatest number of columns that all widths are multiples of. */
export function unitOf(widths: readonly number[]): number {
  const common = (a: number, b: number): number => (b === 0 ? a : common(b, a % b));
  return widths.reduce(common);
}

/** The widths that tiles of products which blocks take together may have, the widest first. */
export function widthsFor(
  products: readonly Contraction[],
  { n, narrower }: RoleShape,
  movers: Movers | null,
  sums: OwnerSums | null,
): readonly number[] {
  const isChosen = (columns: number): boolean =>
    products.every(({ scales, twin, column }) => {
      // Where columns are ranks', tiles begin where those of one do; and a pair's two tiles lie one after the other, however wide.
      if (twin !== null || movers?.operand === "b" || sums?.variable === column) return false;
      const per = scales.b?.per ?? 0;
      const isAlike = per <= 1 || columns % per === 0 || per % columns === 0;
      return columns < n && isAlike;
    });
  return [n, ...narrower.filter(isChosen)];
}

/**
 * 1 where the rows of an operand begin at addresses that the copy engine does not take: what threads copy takes longer than what is
 * multiplied, and narrow tiles have more of it (513×3001×4097 on an H200: 0.8 ms with tiles of 256 columns, 2.2 with those of 128).
 */
export function isUnaligned(products: readonly Contraction[], kernel: Kernel): Extent {
  const operands = products.flatMap(({ a, b }) => [a, b]);
  const rest = operands.map(({ buffer, dtype }) =>
    extent("mod", bufferOf(kernel, buffer).shape.at(-1)!, 16 / DTYPES[dtype].bytes),
  );
  return extent("min", 1, sumOf(rest));
}

/** The width of a launch; where the depth is cut, the widest. */
export function widthsOf(
  all: readonly number[],
  { units }: ShortestRounds,
  isCut: Value | null,
  build: Builder,
): TileWidths {
  const unit = unitOf(all);
  const shortest = build.extent(units);
  const chosen = isCut === null ? shortest : build.select(isCut, build.constant(all[0]! / unit), shortest);
  return { all, units: chosen, columns: build.mul(chosen, build.constant(unit)) };
}

/** Emits what is done with tiles of each width. */
export function eachWidth(widths: TileWidths, build: Builder, then: (columns: number) => void, i = 0): void {
  const width = widths.all[i]!;
  if (i === widths.all.length - 1) return then(width);
  build.if(
    build.compare("eq", widths.columns, build.constant(width)),
    () => then(width),
    () => eachWidth(widths, build, then, i + 1),
  );
}
