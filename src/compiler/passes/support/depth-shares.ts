/**
 * Products whose tiles do not fill the last round of blocks: the depth of the tiles that are left over is cut into pieces, of which blocks take
 * one after the other, all tiles' first pieces before their second. What a block has of a tile goes to memory, but for the tile's last piece: who has that waits
 * for the others, adds them to its accumulator in the order of the depth, and does with the tile what is to be done. Blocks take pieces in
 * the order of their numbers, and wait for smaller ones alone, so that there is no circle of them. Neighbouring blocks are at the same depth, as they are
 * with whole tiles: what they load, they share in the second-level cache. (Where each block's run of steps begins where the one before ends,
 * as in "Stream-K", Osama et al., 2023, no two are at the same depth: on an H200, 2048×2560×8192 took 210 µs, and 130 without any cut.)
 * How depths are cut follows from the launch's lengths, so that sums are added in the same order each time.
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, freshName, type Value } from "../../ir/module.js";
import type { DType } from "../../types/dtype.js";
import { extent, type Extent } from "../../types/extent.js";

/** What a cut costs, in the time that a step has for a column of a tile. */
export interface ShareOptions {
  /** To tell of a piece, and to hear of it. */
  readonly meeting: number;
  /** To put one, or add one, and besides for each column of a tile, or as much less as it has fewer rows inside. */
  readonly putting: number;
  readonly adding: number;
}

/** The lengths behind the tiles of products that blocks take together. */
export interface SharedLengths {
  /** Tiles of all of them, and rows. */
  readonly tiles: Extent;
  readonly rows: Extent;
  /** Steps of a tile. */
  readonly steps: Extent;
  /** How long a step takes, and what of the operands comes from memory, in the time that a step has for a column. */
  readonly step: Extent;
  readonly floor: Extent;
}

/** What follows from a launch's lengths. */
export interface SharePlan {
  /** How long blocks take, in the time that a step has for a column. */
  readonly time: Extent;
  /** Full rounds, in which blocks take whole tiles, and those tiles. */
  readonly rounds: Extent;
  readonly whole: Extent;
  /** The other tiles, pieces of each, and the steps of a piece; the last one may have fewer. */
  readonly left: Extent;
  readonly pieces: Extent;
  readonly deep: Extent;
}

/** How a launch's blocks share steps. */
export interface Shares {
  /** Whether they do; if not, all else here means nothing. */
  readonly isShared: Value;
  readonly rounds: Value;
  readonly whole: Value;
  readonly left: Value;
  readonly pieces: Value;
  readonly deep: Value;
  readonly memory: ShareMemory;
}

/** Where pieces go: for each accumulator, a tile for each piece; and the launch in which each was last told of. */
export interface ShareMemory {
  readonly put: readonly string[];
  readonly told: string;
}

/** Most pieces of a tile, and of a block. */
const MOST_PIECES = 15;
const MOST_ROUNDS = 2;
/** Fewest steps of a tile that is cut. */
const LEAST_STEPS = 2;
/** Most rounds of whole tiles before the others are cut. */
const MOST_WHOLE = 2;
/** Pieces that are put or added one after the other, about. */
const MOVED = 4;

export function sharePlan(
  { tiles, rows, steps, step, floor }: SharedLengths,
  blocks: number,
  { m, n }: { readonly m: number; readonly n: number },
  { meeting, putting, adding }: ShareOptions,
): SharePlan {
  const rounds = extent("div", tiles, blocks);
  const left = extent("mod", tiles, blocks);
  const one = extent("add", putting, extent("div", extent("mul", extent("min", rows, m), adding * n), m));
  const moved = (own: Extent, pieces: Extent): Extent => extent("mul", extent("add", own, pieces), one);
  const room = MOST_PIECES + 1;
  // As many pieces of each tile as there are blocks for in one round, or in two. Expressions become long soon.
  const ways = Array.from({ length: MOST_ROUNDS }, (_, i) => i + 1).map((own) => {
    const pieces = extent("min", extent("div", own * blocks, extent("max", left, 1)), MOST_PIECES);
    const busy = extent("mul", extent("ceildiv", steps, extent("max", pieces, 1)), extent("mul", step, own));
    return extent("add", extent("mul", extent("add", busy, moved(own, pieces)), room), pieces);
  });
  const best = ways.reduce((a, b) => extent("min", a, b));
  const wanted = extent("max", extent("mod", best, room), 1);
  const deep = extent("max", extent("ceildiv", steps, wanted), 1);
  const whole = extent("mul", extent("mul", rounds, steps), step);
  const cut = extent("add", extent("div", best, room), meeting);
  // What comes from memory takes as long however it is cut.
  const least = extent("add", floor, extent("add", meeting, extent("mul", one, MOVED)));
  return {
    time: extent("max", extent("add", whole, cut), least),
    rounds,
    whole: extent("mul", rounds, blocks),
    left,
    pieces: extent("ceildiv", steps, deep),
    deep,
  };
}

/** 1 for launches that take less time with a cut than `uncut`, else 0. */
export function isWorthIt({ time }: SharePlan, uncut: Extent, tiles: Extent, limits: ShareLimits): Extent {
  return extent("mul", isOfFewRounds(tiles, limits), isLess(time, uncut));
}

/** 1 if `a` is less than `b`, else 0; neither is negative. */
export function isLess(a: Extent, b: Extent): Extent {
  return extent("min", 1, extent("div", b, extent("add", a, 1)));
}

/** Which launches may cut depths. */
export interface ShareLimits {
  readonly blocks: number;
  /** Most rounds of whole tiles before the others are cut. */
  readonly mostWhole: number;
}

/**
 * Rounds of whole tiles that are worth a cut behind them. Where ranks take tiles each in an order of its own, none: what one takes whole another
 * would cut, and they would add in different orders.
 */
export function shareLimits(blocks: number, hasOwnOrder: boolean): ShareLimits {
  return { blocks, mostWhole: hasOwnOrder ? 0 : MOST_WHOLE };
}

/** 1 for launches with few enough rounds that a cut may be worth it, else 0. */
function isOfFewRounds(tiles: Extent, { blocks, mostWhole }: ShareLimits): Extent {
  return extent("min", 1, extent("div", (mostWhole + 1) * blocks - 1, extent("max", tiles, 1)));
}

/** Blocks that launches have whose depths may be cut: all, where tiles are deep enough. */
export function blocksOfPieces(tiles: Extent, steps: Extent, limits: ShareLimits): Extent {
  const isDeep = extent("min", 1, extent("div", steps, LEAST_STEPS));
  return extent("mul", extent("mul", isOfFewRounds(tiles, limits), isDeep), limits.blocks);
}

/** Declares the memory of the pieces: for as many as there may be, so that shapes do not tell all that decides on a cut. */
export function declareShares(
  tiles: Extent,
  { m, n }: { readonly m: number; readonly n: number },
  products: number,
  dtype: DType,
  limits: ShareLimits,
  buffers: Buffer[],
): ShareMemory {
  const { blocks } = limits;
  const declare = (wanted: string, role: Buffer["role"], of: DType, shape: readonly Extent[]): string => {
    const name = freshName({ buffers }, wanted);
    buffers.push({ name, role, dtype: of, shape, symmetric: false });
    return name;
  };
  const left = extent("mod", tiles, blocks);
  const most = extent("min", extent("mul", left, MOST_PIECES), MOST_ROUNDS * blocks);
  const put = extent("mul", isOfFewRounds(tiles, limits), most);
  return {
    put: Array.from({ length: products }, () => declare("pieces", "scratch", dtype, [put, m * n])),
    told: declare("told", "signal", "u32", [MOST_ROUNDS * blocks]),
  };
}

/** @param fit 1 for launches that share steps, else 0: those of fewer blocks do not @param known extents that were emitted before */
export function sharesOf(
  plan: SharePlan,
  fit: Extent,
  blocks: number,
  memory: ShareMemory,
  build: Builder,
  known: Map<Extent, Value>,
): Shares {
  const valueOf = (e: Extent): Value => build.extent(e, known);
  const isWanted = build.compare("gt", valueOf(fit), build.constant(0));
  const grid = build.op("grid", [], {}, build.constant(0).type)!;
  const isShared = build.binary("and", isWanted, build.compare("eq", grid, build.constant(blocks)));
  return {
    isShared,
    rounds: valueOf(plan.rounds),
    whole: valueOf(plan.whole),
    left: valueOf(plan.left),
    pieces: valueOf(plan.pieces),
    deep: valueOf(plan.deep),
    memory,
  };
}

/** The steps of a tile that a block takes. */
export interface Piece {
  readonly tile: Value;
  readonly from: Value;
  readonly to: Value;
  /** Steps that the block has had before it. */
  readonly before: Value;
  /** Whether it is all of the tile. */
  readonly isWhole: Value;
  /** Which of the pieces of its tile it is, and which of the tiles that are cut that one is. */
  readonly number: Value;
  readonly cut: Value;
}

/** What iteration `number` of a loop over blocks takes. @param turn iterations of the block before it @param steps of a tile */
export function pieceOf(
  { isShared, rounds, whole, left, deep }: Shares,
  number: Value,
  turn: Value,
  steps: Value,
  build: Builder,
): Piece {
  const isWhole = build.select(isShared, build.compare("lt", number, whole), build.bool(true));
  const place = build.binary("max", build.sub(number, whole), build.constant(0));
  const piece = build.div(place, build.binary("max", left, build.constant(1)));
  const cut = build.sub(place, build.mul(piece, left));
  const from = build.mul(piece, deep);
  const had = build.add(build.mul(rounds, steps), build.mul(build.sub(turn, rounds), deep));
  return {
    isWhole,
    number: piece,
    cut,
    tile: build.select(isWhole, number, build.add(whole, cut)),
    from: build.select(isWhole, build.constant(0), from),
    to: build.select(isWhole, steps, build.binary("min", build.add(from, deep), steps)),
    before: build.select(isWhole, build.mul(turn, steps), had),
  };
}

/** Iterations of all blocks. */
export function piecesOf({ isShared, whole, left, pieces }: Shares, tiles: Value, build: Builder): Value {
  return build.select(isShared, build.add(whole, build.mul(pieces, left)), tiles);
}

/**
 * What consumers do with the sum of a piece: it goes to who has the tile's last, or what the others have of the tile is added to it.
 * @param rows of the tile that are inside @param then what is done with all of the tile
 */
export function emitPiece(
  { pieces, left, memory }: Shares,
  { isWhole, number, cut }: Piece,
  rows: Value,
  accumulators: readonly string[],
  build: Builder,
  then: () => void,
): void {
  const one = build.constant(1);
  const placeOf = (piece: Value): Value => build.add(build.mul(piece, left), cut);
  const put = (): void => {
    const place = placeOf(number);
    accumulators.forEach((buffer, i) => build.op("fragment_put", [place, rows], { buffer, to: memory.put[i]! }, null));
    build.op("piece_put", [place], { told: memory.told }, null);
  };
  const add = (): void => {
    build.op("await_pieces", [cut, left, number], { told: memory.told }, null);
    build.for("serial", [[build.constant(0), number]], ([piece]) =>
      accumulators.forEach((buffer, i) =>
        build.op("fragment_add", [placeOf(piece!), rows], { buffer, from: memory.put[i]! }, null),
      ),
    );
  };
  const isLast = build.compare("eq", build.add(number, one), pieces);
  build.if(
    build.binary("or", isWhole, isLast),
    () => {
      build.if(isWhole, () => undefined, add);
      then();
    },
    put,
  );
}
