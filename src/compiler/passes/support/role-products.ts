/**
 * Products by roles: while the consumers of a block multiply, its producer has the next tiles of the operands copied into
 * the stages of a ring. Blocks are persistent: the ring goes on from tile to tile, so that the producer is ahead while the
 * consumers store a tile.
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, type Value } from "../../ir/module.js";
import { DTYPES } from "../../types/dtype.js";
import { PATCH_COLUMNS } from "../../ir/tile-window.js";
import { scalar } from "../../ir/types.js";
import type { Substitution } from "../../ir/visit.js";
import type { Extent } from "../../types/extent.js";
import {
  accumulatedIn,
  type Contraction,
  contractsOf,
  copyTile,
  type OperandView,
  scaleTile,
  transposedOf,
} from "./contraction.js";
import { emitPiece, type Piece, pieceOf, piecesOf, type Shares } from "./depth-shares.js";
import { outgoingTiles, sendTile, waitingAt } from "./outgoing-tiles.js";
import { type OwnerSums, ownTiles } from "./owner-sums.js";
import { gatheredRows, Places, type Product, ProductTiles } from "./product-places.js";
import { awaitRows, declareAwaited, emitArrival } from "./gathered-waits.js";
import { emitMoves, type Movers, ownRows, shardParts } from "./product-movers.js";
import type { RoleShape, TileRoles } from "./role-shape.js";
import { emitSent, type SentProduct } from "./sent-products.js";
import { eachWidth } from "./tile-widths.js";
import { completion, eachElement, type ElementBody, epilogue, type TileAt, unstored } from "./role-elements.js";

/** One warp starts the copies of tiles; where there are movers, they are the others of its group. */
const WARPS_IN_GROUP = 4;

interface RoleBuffers {
  readonly a: string;
  readonly b: string;
  /** One, or two where the loop has two products, for which a stage has two tiles of b. */
  readonly accumulators: readonly string[];
  /** What the accumulators' elements leave them through. */
  readonly patch: string;
  readonly ring: string;
  readonly scaleA: string | null;
  readonly scaleB: string | null;
}

/** Steps of the consumers in one: with one an H200 takes 4 % longer for a product, more than two gain nothing (2026-11). */
const STEPS_WRITTEN = 2;

/** Declares what the product needs; products of one kernel that follow each other share it. */
function roleBuffers(match: Contraction, buffers: Buffer[], shape: RoleShape): RoleBuffers {
  const { a, b } = match;
  const { stages, m, n, k } = shape;
  const products = contractsOf(match).length;
  const kind = accumulatedIn(match);
  const declare = (wanted: string, role: Buffer["role"], dtype: Buffer["dtype"], sizes: readonly number[]): string => {
    const name = `${wanted}_${sizes.join("x")}`;
    if (!buffers.some((x) => x.name === name)) buffers.push({ name, role, dtype, shape: sizes, symmetric: false });
    return name;
  };
  const scale = (of: "a" | "b", size: number): string | null => {
    const view = match.scales[of];
    return view && declare(`scale_${of}`, "shared", view.dtype, [stages, ...scaleTile(view, size)]);
  };
  const scales = { scaleA: scale("a", m), scaleB: scale("b", n) };
  const isScaled = scales.scaleA !== null || scales.scaleB !== null;
  return {
    ...scales,
    a: declare(`ring_a_${a.dtype}`, "shared", a.dtype, a.isDeep ? [stages, m, k] : [stages, k, m]),
    b: declare(`ring_b_${b.dtype}`, "shared", b.dtype, [stages * products, ...(b.isDeep ? [n, k] : [k, n])]),
    // Products of 16 bits share one; those of 8 bits are of whole numbers, or added up in another way.
    accumulators: contractsOf(match).map((_, i) =>
      declare(
        DTYPES[a.dtype].bytes === 2
          ? ["accumulator", "twin"][i]!
          : `accumulator_${a.dtype}${isScaled ? "_scaled" : ""}`,
        "fragment",
        kind,
        [m, n],
      ),
    ),
    patch: declare(kind === "f32" ? "patch" : `patch_${kind}`, "shared", kind, [m, PATCH_COLUMNS]),
    ring: declare("ring", "ring", "u32", [stages]),
  };
}

/** Sums that owners complete as they store their tiles, in the launches where `isApart`. */
export interface Completed {
  readonly sums: OwnerSums;
  readonly isApart: Value;
  /** Most blocks of a launch, and most tiles. */
  readonly blocks: number;
  readonly tiles: Extent;
}

/** What is kept for a loop after the product, and sent by whoever has the tile in the launches where `isWhole`. */
export interface SentFromTiles {
  readonly product: SentProduct;
  readonly isWhole: Value;
}

/** What a role is told of a tile. */
interface Tile {
  /** Emits what is done with it, by the product that it is one of. */
  readonly each: (body: (product: Places, at: TileAt) => void) => void;
  /** The steps that the block takes of it, and how many went through the ring before them. */
  readonly from: Value;
  readonly to: Value;
  readonly before: Value;
  /** Where blocks share steps: the piece that it is. */
  readonly piece: Piece | null;
  /** Tiles that the block has had before it. */
  readonly turn: Value;
  /** Whether it is this rank's own, whose sum it completes, and its number among all; null where there are none. */
  readonly own: { readonly isOwn: Value; readonly number: () => Value } | null;
}

/**
 * @param products of one ring, one accumulator and one depth @param shares how blocks share steps; null where they never do
 * @param keepsOwn whether others than these products read this rank's copy of what it gathers of itself
 */
export function emitRoles(
  products: readonly [Product, ...Product[]],
  shares: Shares | null,
  shape: TileRoles,
  buffers: Buffer[],
  build: Builder,
  values: Substitution,
  movers: Movers | null,
  completed: Completed | null,
  sent: SentFromTiles | null,
  world: number,
  keepsOwn: boolean,
): void {
  const [{ match }] = products;
  const names = roleBuffers(match, buffers, shape);
  const zero = build.constant(0);
  const depth = values.get(match.depth);
  const stages = (): Value => build.constant(shape.stages);
  const steps = (): Value => build.ceilDiv(depth, build.constant(shape.k));
  const places = products.map((p) => new Places(p, shape, build, values));
  const [sole] = places as [Places];
  const order = { movers, world };
  const { shards, widths } = shape;
  /** Tiles, or pieces of them, that blocks take one after the other. */
  const unitsOf = (tiles: Value): Value => (shares === null ? tiles : piecesOf(shares, tiles, build));
  /** Whether no block has a second tile, so that all begin at once. */
  const isInTurn = (): Value => {
    const tiles = new ProductTiles(places, order, build).total;
    return build.compare("le", unitsOf(tiles), build.op("grid", [], {}, zero.type)!);
  };
  const partsOf = (of: Movers, inTurn: Value) =>
    shardParts(of, shards, { k: shape.k, depth, isInTurn: inTurn }, build, values);

  /**
   * @param body of a tile, or of a piece of one
   * @param isOfOthers only the tiles of other ranks, where tiles are each of one owner
   */
  const eachTile = (body: (tile: Tile) => void, isOfOthers = false): void => {
    const tiles = new ProductTiles(places, order, build);
    const owners = completed === null ? null : ownersTiles(completed, tiles.counts[0]!, tiles.total);
    const last = isOfOthers ? build.select(completed!.isApart, owners!.begin, zero) : unitsOf(tiles.total);
    build.for("blocks", [[zero, last]], ([number]) => {
      const grid = build.op("grid", [], {}, zero.type)!;
      const turn = build.div(number!, grid);
      const piece = shares === null ? null : pieceOf(shares, number!, turn, steps(), build);
      const { tile, from, to, before } =
        piece ?? { tile: number!, from: zero, to: steps(), before: build.mul(turn, steps()) }; // prettier-ignore
      const taken = { from, to, before, turn, piece };
      if (owners === null) return body({ ...taken, each: (then) => tiles.with(tile, then), own: null });
      const isOwn = build.compare("ge", number!, owners.begin);
      const at = owners.tileAt(tile, isOwn, sole.rotation(tiles.counts[0]!, order));
      // Computed where it is used, so that no register keeps it while the tile is multiplied.
      const numberOf = (): Value => sole.numberOf(at, tiles.counts[0]!);
      body({ ...taken, each: (then) => then(sole, at), own: { isOwn, number: numberOf } });
    });
  };

  /** The order of tiles of which a rank's own come last, all together; where they are not apart, the order that all have. */
  const ownersTiles = ({ sums, isApart }: Completed, counts: readonly Value[], tiles: Value) => {
    const v = sums.variable;
    const along = counts[sole.number(v)]!;
    const of = { size: sole.size(v), count: along, end: sole.high[sole.number(v)]! };
    const { others, first } = ownTiles(sums, of, build, values);
    const across = build.div(tiles, build.binary("max", along, build.constant(1)));
    // Without tiles of its own, a rank's begin where all end.
    const begin = build.select(isApart, build.mul(others, across), build.binary("max", unitsOf(tiles), zero));
    return {
      begin,
      tileAt: (tile: Value, isOwn: Value, inTurn: (v: Value, inOrder: Value) => Value): TileAt => {
        const among = build.select(isApart, build.select(isOwn, build.sub(along, others), others), along);
        const inOrder = build.select(isOwn, build.sub(tile, begin), tile);
        const skipped = build.select(isOwn, others, zero);
        const numbered = (u: Value, n: Value): Value => {
          if (u !== v) return n;
          const mine = build.rem(build.add(build.add(n, skipped), first), along);
          return build.select(isApart, mine, inTurn(v, n));
        };
        const all = counts.map((c, d) => (d === sole.number(v) ? among : c));
        return sole.tileAt(inOrder, all, numbered);
      },
    };
  };

  const scales = ([["a", "scaleA"], ["b", "scaleB"]] as const).flatMap(([of, name]) => {
    const [view, buffer] = [match.scales[of], names[name]];
    return view === null || buffer === null ? [] : [[view, buffer] as const];
  }); // prettier-ignore
  const remembered = movers === null ? null : declareAwaited(buffers, world);
  const producer = build.region(0, () => {
    if (remembered !== null) build.store(remembered, build.constant(0, scalar("u32")), [build.constant(0)]);
    const parts = movers === null ? null : partsOf(movers, isInTurn());
    eachTile(({ each, before, from: first, to: end, piece }) =>
      each((product, at) => {
        const { match: own } = product.product;
        const along = contractsOf(own).map(({ regions }) => regions[0]!.arguments[0]!);
        const copy = (name: "a" | "b", view: OperandView, here: TileAt, stage: Value): void =>
          copyTile(build, view, names[name], here, stage, depth, values, {
            ring: names.ring,
            ...(name === "b" && widths !== null ? { columns: widths.columns } : {}),
          });
        const rows =
          movers === null
            ? null
            : awaitRows(
                movers,
                product.rowsOf(gatheredRows(movers, own), at),
                { remembered, most: shards.most },
                build,
                values,
              );
        const isOwn = rows?.isOwn ?? null;
        const fetch = (name: "a" | "b", here: TileAt, stage: Value): void => {
          const gathered = (): void => copy(name, own[name], here, stage);
          if (isOwn === null || movers!.operand !== name) return gathered();
          build.if(isOwn, () => copy(name, ownRows(movers!, own[name]), here, stage), gathered);
        };
        const fill = (deep: Value): void => {
          const position = build.add(before, build.sub(deep, first));
          const stage = build.rem(position, stages());
          const from = build.mul(deep, build.constant(shape.k));
          const here = new Map([...at, ...along.map((v) => [v, from] as const)]);
          build.op("ring_acquire", [position], { ring: names.ring }, null);
          fetch("a", here, stage);
          const stageOfB = own.twin === null ? stage : build.mul(stage, build.constant(2));
          fetch("b", here, stageOfB);
          if (own.twin !== null) copy("b", own.twin.b, here, build.add(stageOfB, build.constant(1)));
          for (const [view, name] of scales)
            copyTile(build, view, name, here, stage, depth, values, { ring: names.ring, plain: true });
          build.op("ring_fill", [position], { ring: names.ring, ...(scales.length > 0 ? { plain: true } : {}) }, null);
        };
        const fillAll = (from: Value, to: Value): void =>
          void build.for("serial", [[from, to]], ([deep]) => fill(deep!));
        if (rows === null || parts === null) return fillAll(first, end);
        const reached = build.binary("min", build.ceilDiv(end, parts.steps), parts.count);
        build.for("serial", [[build.div(first, parts.steps), reached]], ([part]) => {
          rows.part(part!);
          const [next, begin] = [build.add(part!, build.constant(1)), build.mul(part!, parts.steps)];
          const isLast = build.compare("ge", next, reached);
          fillAll(build.binary("max", first, begin), build.select(isLast, end, build.mul(next, parts.steps)));
        });
        const isCut = piece === null ? null : build.compare("eq", piece.isWhole, build.bool(false));
        if (isCut === null) rows.all();
        else build.if(isCut, () => undefined, rows.all);
      }),
    );
  });

  const { accumulators, a, b, patch, ring, scaleA, scaleB } = names;
  const [accumulator, twin] = accumulators as [string, string?];
  const summed = { accumulator, ...(twin === undefined ? {} : { twin }) };
  const scaledBy = { ...(scaleA === null ? {} : { scaleA }), ...(scaleB === null ? {} : { scaleB }) };
  const outgoing = completed === null ? null : outgoingTiles(completed.sums, shape, { ...completed, world }, buffers);
  const consumer = build.region(0, () =>
    eachTile(({ each, before, from, to, turn, piece, own }) => {
      const count = build.sub(to, from);
      for (const buffer of accumulators) build.op("fragment_clear", [], { buffer }, null);
      const multiply = (of: { readonly columns?: number }, [step]: readonly Value[]): void => {
        const position = build.add(before, step!);
        build.op("ring_wait", [position], { ring }, null);
        const stage = build.rem(position, stages());
        build.op("mma", [stage], { ...summed, a, b, ...transposedOf(match), async: true, ...of, ...scaledBy }, null);
        // The product before this one has ended, so its stage is free; this one goes on while the next stage is awaited.
        build.op("mma_wait", [], { ...summed, ...of, pending: 1 }, null);
        build.if(build.compare("gt", step!, zero), () =>
          build.op("ring_release", [build.sub(position, build.constant(1))], { ring }, null),
        );
      };
      const multiplyAll = (of: { readonly columns?: number }): void => {
        build.for("serial", [[zero, count]], (variables) => multiply(of, variables), { unroll: STEPS_WRITTEN });
        build.op("mma_wait", [], { ...summed, ...of, pending: 0 }, null);
      };
      if (widths === null) multiplyAll({});
      else eachWidth(widths, build, (columns) => multiplyAll(columns === shape.n ? {} : { columns }));
      const last = build.sub(build.add(before, count), build.constant(1));
      build.if(build.compare("gt", count, zero), () => build.op("ring_release", [last], { ring }, null));
      each((place, at) => {
        const { op: loop, match: of } = place.product;
        const all = (body: ElementBody): void => {
          const isInside = place.inside(at);
          const elements = { accumulators, patch, shape, at, isInside, columns: widths?.columns ?? null };
          eachElement(loop, of, elements, build, values, body);
        };
        const keep = (): void => all(epilogue(loop, of, accumulators));
        const send = (): void => {
          if (sent === null) return keep();
          const body = unstored(loop, of, accumulators, sent.product, (v, b, at) => emitSent(sent.product, v, b, at));
          build.if(sent.isWhole, () => all(body), keep);
        };
        const complete = (): void => {
          build.op("await_tile", [own!.number()], { told: outgoing!.told }, null);
          all(completion(loop, of, accumulators, completed!.sums, world));
        };
        const handOver = (): void => {
          build.op("ring_acquire", [turn], { ring: outgoing!.ring }, null);
          const put = unstored(loop, of, accumulators, completed!.sums, (value, b, _, i, j) =>
            b.store(outgoing!.box, value, waitingAt(turn, i, j, b)),
          );
          all(put);
          build.op("ring_fill", [turn], { ring: outgoing!.ring }, null);
        };
        const store = (): void =>
          own === null ? send() : build.if(own.isOwn, complete, () => build.if(completed!.isApart, handOver, send));
        if (piece !== null) {
          const [low, high] = place.rowsOf(of.row, at);
          return emitPiece(shares!, piece, build.sub(high, low), accumulators, build, store);
        }
        store();
      });
    }),
  );
  const move = (of: Movers): void => {
    if (of.words !== null) return emitArrival(of, world, build);
    const inTurn = isInTurn();
    const parts = partsOf(of, inTurn);
    const size = build.constant(of.operand === "a" ? shape.m : shape.n);
    // No tile has rows of two ranks where their shards, and the first tile, begin at a multiple of its size.
    const isAtBegin = (v: Value): Value => build.compare("eq", build.rem(v, size), zero);
    const first = sole.low[sole.number(gatheredRows(of, match))]!;
    const isWhole = build.binary("and", isAtBegin(values.get(of.shard)), isAtBegin(first));
    const moving = {
      ...{ world, parts, most: shards.most },
      columns: build.mul(parts.steps, build.constant(shape.k)),
      isInTurn: inTurn,
      leavesOwn: keepsOwn || of.own === null ? build.bool(false) : isWhole,
    };
    emitMoves(of, moving, build, values);
  };
  const moving = build.region(0, () => {
    if (movers !== null) move(movers);
    if (completed === null) return;
    const send = ({ each, turn, own }: Tile): void =>
      each((place, at) =>
        sendTile(completed.sums, outgoing!, { place, at, turn, number: own!.number() }, shape, build, values),
      );
    eachTile(send, true);
  });
  const { consumers } = shape;
  const registers = movers === null ? shape.registers : shape.gathering;
  const producers = movers === null && outgoing === null ? shape.producers : shape.producers / WARPS_IN_GROUP;
  const others = {
    ...(producers < shape.producers ? { movers: shape.producers - producers } : {}),
    ...(outgoing === null ? {} : { outgoing: outgoing.ring }),
  };
  const even = { consumers, producers, ...others, ring };
  const divided =
    registers === null
      ? even
      : { ...even, consumerRegisters: registers.consumer, producerRegisters: registers.producer };
  build.op("roles", [], divided, null, [consumer, producer, moving]);
}
