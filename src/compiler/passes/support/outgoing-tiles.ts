/** Tiles of other ranks that wait in a block's own memory until its movers have sent them, so that consumers go on multiplying. */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, freshName, type Value } from "../../ir/module.js";
import { INDEX } from "../../ir/types.js";
import type { Substitution } from "../../ir/visit.js";
import type { Extent } from "../../types/extent.js";
import type { OwnerSums } from "./owner-sums.js";
import type { Places } from "./product-places.js";
import { elementAt, type TileAt } from "./role-elements.js";

interface Outgoing {
  /** [block, slot, row, column] */
  readonly box: string;
  readonly ring: string;
  /** [tile, rank]: words of the ranks that have sent a tile. */
  readonly told: string;
}

/** Tiles of a block that may wait: while one is sent, the next is stored. */
const SLOTS = 2;

interface TileSizes {
  readonly m: number;
  readonly n: number;
}

/** @param tiles most of a launch */
export function outgoingTiles(
  { store }: OwnerSums,
  { m, n }: TileSizes,
  { blocks, tiles, world }: { readonly blocks: number; readonly tiles: Extent; readonly world: number },
  buffers: Buffer[],
): Outgoing {
  const dtype = buffers.find((b) => b.name === store.attributes["buffer"])!.dtype;
  const declare = (wanted: string, buffer: Omit<Buffer, "name">): string => {
    const name = freshName({ buffers }, wanted);
    buffers.push({ name, ...buffer });
    return name;
  };
  const ofBlock = { symmetric: false };
  return {
    box: declare("outgoing_tiles", { ...ofBlock, role: "scratch", dtype, shape: [blocks, SLOTS, m, n] }),
    ring: declare(`outgoing_${SLOTS}`, { ...ofBlock, role: "ring", dtype: "u32", shape: [SLOTS] }),
    // A word is one rank's in launches of all lengths: whatever it says of one tile, that rank has said.
    told: declare("tiles_told", { role: "signal", dtype: "u32", shape: [tiles, world], symmetric: true }),
  };
}

/** Where the element in row `i` and column `j` of the block's tile number `turn` waits to be sent. */
export function waitingAt(turn: Value, i: Value, j: Value, build: Builder): Value[] {
  return [build.op("block", [], {}, INDEX)!, build.rem(turn, build.constant(SLOTS)), i, j];
}

/** Stores a tile that waits where the product's loop would have stored it, and tells its owner. @param number of the tile */
export function sendTile(
  { store, variable: owned, share }: OwnerSums,
  { box, ring, told }: Outgoing,
  { place, at, turn, number }: { readonly place: Places; readonly at: TileAt } & Record<"turn" | "number", Value>,
  { m, n }: TileSizes,
  build: Builder,
  values: Substitution,
): void {
  const { variables } = place;
  const { match } = place.product;
  // All of the tile is one rank's.
  const owner = build.div(at.get(owned)!, values.get(share));
  const begin = build.mul(owner, values.get(share));
  const [zero, width, elements] = [build.constant(0), build.constant(n), build.constant(m * n)];
  const isInside = place.inside(at);
  build.op("ring_wait", [turn], { ring }, null);
  build.op("block_sync", [], {}, null);
  build.for("threads", [[zero, elements]], ([e]) => {
    const [i, j] = [build.div(e!, width), build.rem(e!, width)];
    build.if(isInside(i, j), () => {
      const inner = elementAt(match, at, i, j, build, values);
      const value = build.load(box, waitingAt(turn, i, j, build), store.operands[0]!.type);
      const indices = variables.map((v) => (v === owned ? build.sub(inner.get(v), begin) : inner.get(v)));
      build.op("store", [value, owner, build.rank(), ...indices], store.attributes, null);
    });
  });
  build.op("block_sync", [], {}, null);
  build.op("ring_release", [turn], { ring }, null);
  build.op("tile_sent", [owner, number], { told }, null);
}
