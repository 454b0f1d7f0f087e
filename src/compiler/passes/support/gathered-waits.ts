/**
 * Waits for what is gathered while a product goes on: the producer's, for the rows of a tile part by part, and the last, for all. Movers of all blocks are
 * awaited where those send (`product-movers.ts`), words of copy engines where these do (`program/fed-products.ts`).
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, freshName, type Value } from "../../ir/module.js";
import { scalar } from "../../ir/types.js";
import type { Substitution } from "../../ir/visit.js";
import type { Movers } from "./product-movers.js";

/** Emits the wait for a part of what ranks send. */
function awaitPart(
  { words }: Movers,
  of: readonly [from: Value, to: Value, part: Value],
  most: number,
  build: Builder,
) {
  if (words === null) build.op("await_movers", of, { parts: most }, null);
  else build.op("await_copies", of, words.buffers, null);
}

/** Emits what is left to movers where engines send: what follows the product comes after all copies to this rank. */
export function emitArrival(movers: Movers, world: number, build: Builder): void {
  build.span = movers.barrier.span;
  const [zero, all] = [build.constant(0), build.constant(world)];
  for (let part = 0; part < movers.words!.parts; part++) awaitPart(movers, [zero, all, build.constant(part)], 0, build);
}

/** Ranks that the producer remembers having awaited, a bit for each and one above; of more, it awaits all anew before each tile. */
const MOST_REMEMBERED = 31;

/** The register in which it does. */
export function declareAwaited(buffers: Buffer[], world: number): string | null {
  if (world > MOST_REMEMBERED) return null;
  const name = freshName({ buffers }, "awaited");
  buffers.push({ name, role: "register", dtype: "u32", shape: [1], symmetric: false });
  return name;
}

/** A producer's waits for the rows of a tile. */
export interface RowWaits {
  /** Whether all of them are this rank's own, and are read where they have come from; null if such are not. */
  readonly isOwn: Value | null;
  /** Emits the wait for a part of them. */
  readonly part: (number: Value) => void;
  /** Emits the note that all parts were awaited. */
  readonly all: () => void;
}

/**
 * Emits what the producer has to know of the rows of a tile, which begin at `first`.
 * @param end of the rows that it has
 * @param remembered the register that says of whom it has awaited everything
 */
export function awaitRows(
  movers: Movers,
  [first, end]: readonly [first: Value, end: Value],
  { remembered, most }: { readonly remembered: string | null; readonly most: number },
  build: Builder,
  values: Substitution,
): RowWaits {
  const shard = values.get(movers.shard);
  const [none, one] = [build.constant(0), build.constant(1)];
  const kind = scalar("u32");
  const mine = build.mul(build.rank(), shard);
  const isInside = build.binary(
    "and",
    build.compare("ge", first, mine),
    build.compare("le", end, build.add(mine, shard)),
  );
  // No tile has no rows, and no rows have no shard: it divides.
  const from = build.div(first, shard);
  const to = build.add(build.div(build.sub(end, one), shard), one);
  const below = (rank: Value): Value =>
    build.sub(build.binary("shl", build.constant(1, kind), build.cast(rank, "u32")), build.constant(1, kind));
  const wanted = build.sub(below(to), below(from));
  const known = remembered === null ? null : build.load(remembered, [none], kind);
  const isMissing = known === null ? null : build.compare("ne", build.binary("and", known, wanted), wanted);
  const isOthers = movers.own === null ? null : build.compare("eq", isInside, build.bool(false));
  const needed = [isOthers, isMissing].filter((v) => v !== null);
  const isNeeded = needed.length === 0 ? null : needed.reduce((a, b) => build.binary("and", a, b));
  const where = (then: () => void): void => (isNeeded === null ? then() : build.if(isNeeded, then));
  return {
    isOwn: movers.own === null ? null : isInside,
    part: (number) => where(() => awaitPart(movers, [from, to, number], most, build)),
    all: () => {
      if (known !== null) where(() => build.store(remembered!, build.binary("or", known, wanted), [none]));
    },
  };
}
