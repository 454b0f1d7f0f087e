/** Tiles of other ranks that wait in a block's own memory until its movers have sent them, so that consumers go on multiplying. */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, freshName, type Value } from "../../ir/module.js";
import { INDEX } from "../../ir/types.js";
import type { Substitution } from "../../ir/visit.js";
import type { OwnerSums } from "./owner-sums.js";
import type { Places } from "./product-places.js";
import { elementAt, type TileAt } from "./role-elements.js";

interface Outgoing {
  /** [block, slot, row, column] */
  readonly box: string;
  readonly ring: string;
}

/** Tiles of a block that may wait: while one is sent, the next is stored. */
const SLOTS = 2;

interface TileSizes {
  readonly m: number;
  readonly n: number;
}

export function outgoingTiles({ store }: OwnerSums, { m, n }: TileSizes, blocks: number, buffers: Buffer[]): Outgoing {
  const dtype = buffers.find((b) => b.name === store.attributes["buffer"])!.dtype;
  const declare = (wanted: string, role: Buffer["role"], of: Buffer["dtype"], sizes: readonly number[]): string => {
    const name = freshName({ buffers }, wanted);
    buffers.push({ name, role, dtype: of, shape: sizes, symmetric: false });
    return name;
  };
  return {
    box: declare("outgoing_tiles", "scratch", dtype, [blocks, SLOTS, m, n]),
    ring: declare(`outgoing_${SLOTS}`, "ring", "u32", [SLOTS]),
  };
}

/** Where the element in row `i` and column `j` of the block's tile number `turn` waits to be sent. */
export function waitingAt(turn: Value, i: Value, j: Value, build: Builder): Value[] {
  return [build.op("block", [], {}, INDEX)!, build.rem(turn, build.constant(SLOTS)), i, j];
}

/** Stores a tile that waits where the product's loop would have stored it. */
export function sendTile(
  { store, variable: owned, share }: OwnerSums,
  { box, ring }: Outgoing,
  { place, at, turn }: { readonly place: Places; readonly at: TileAt; readonly turn: Value },
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
}
