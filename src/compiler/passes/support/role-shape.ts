/** Sizes of the tiles of products by roles, and how a block is divided among the roles. */
import { DTYPES } from "../../types/dtype.js";
import type { Contraction } from "./contraction.js";
import type { ShardOptions } from "./product-movers.js";
import type { TileWidths } from "./tile-widths.js";

interface Registers {
  readonly consumer: number;
  readonly producer: number;
}

/** Sizes of a tile, and how a block's threads and registers are divided. */
export interface RoleShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly stages: number;
  readonly consumers: number;
  readonly producers: number;
  /** Registers of a thread of each role, where the even share would not do. */
  readonly registers: Registers | null;
  /** The same where movers send shards, who divide offsets by lengths. */
  readonly gathering: Registers | null;
  /** Rows of tiles that blocks go through together, so that what they load of the other operand is still in the cache. */
  readonly group: number;
  /**
   * Columns and stages of the tiles of a product with few of them: so narrow that all blocks have some without a
   * depth that is cut. Of products of no more than `rows` rows, blocks may have two. Null where all have the same.
   */
  readonly few: { readonly n: number; readonly stages: number; readonly rows: number } | null;
  /** Columns that tiles may have in place of n, the widest first: a launch has those with which its rounds of blocks are the shortest. */
  readonly narrower: readonly number[];
  /** In how many parts movers send what is gathered. */
  readonly shards: ShardOptions;
}

/**
 * The shape of tiles of two products, and how many columns each of them has: together as many as one, so that stages, registers and
 * instructions are the same. Narrow tiles have as many of each as those of one product, since columns lie in memory so many together.
 */
export function pairShape(shape: RoleShape): RoleShape {
  const { m, few } = shape;
  const n = shape.n / 2;
  if (few === null || few.n >= n) return { ...shape, n, few: null };
  const stages = Math.floor((few.stages * (m + few.n)) / (m + 2 * few.n));
  return { ...shape, n, few: { ...few, stages } };
}

/** The shape of the tiles of one place in a kernel. */
export interface TileRoles extends RoleShape {
  /** What a launch chooses in place of n columns; null where it has no choice. */
  readonly widths: TileWidths | null;
}

/** The shape of a product's tiles: a stage has as many bytes of each row, whatever the operands: what the copy engine swizzles. Two products share the columns. */
export function roleShape({ a, twin }: Contraction, roles: RoleShape): RoleShape {
  return { ...(twin === null ? roles : pairShape(roles)), k: (roles.k * 2) / DTYPES[a.dtype].bytes };
}
