/**
 * Which tile of a loop an access touches, as far as the mapping to blocks is concerned.
 *
 * The grid mapping gives offset o = i - lo of a one-dimensional tile loop to block (o / row) mod grid, with one
 * `row` for the whole kernel. So two accesses to one element come from blocks of one number if their
 * offsets agree. They do when both index their buffer by the same start plus the offset, or when both
 * starts are multiples of one length that the loops stay within: r·piece + o names o by itself.
 */
import type { Op, Value } from "../../ir/module.js";
import type { Definitions } from "./analysis.js";

export interface TilePosition {
  /** Structural name of "element minus offset": equal names, equal offsets. */
  readonly start: string;
}

/** Position of an access with these indices inside its enclosing loops; null when the mapping is not known. */
export function tilePosition(
  indices: readonly Value[],
  parents: readonly Op[],
  definitions: Definitions,
): TilePosition | null {
  const loop = parents.find((p) => p.name === "for" && p.attributes["map"] === "tiles");
  if (loop === undefined || loop.operands.length !== 2 || indices.length !== 1 || usesReduce(loop)) return null;
  const variable = loop.regions[0]!.arguments[0]!;
  const [lo, hi] = loop.operands as [Value, Value];
  const index = indices[0]!;
  if (index === variable) {
    const piece = pieceOf(lo, hi, definitions);
    if (piece !== null) return { start: `piece ${piece}` };
    const constant = definitions.constant(lo);
    return constant === undefined ? null : { start: `at ${constant}` };
  }
  // i - lo: the offset itself.
  const difference = definitions.binary(index, "sub");
  if (difference?.operands[0] === variable && definitions.key(difference.operands[1]!) === definitions.key(lo))
    return { start: "at 0" };
  return null;
}

export function sameTile(a: TilePosition | null, b: TilePosition | null): boolean {
  return a !== null && b !== null && a.start === b.start;
}

/** A product in a tile loop is mapped by tiles of the product, not by offsets. */
function usesReduce(loop: Op): boolean {
  const dynamic = (op: Op): boolean => op.name === "reduce" || op.regions.some((r) => r.ops.some(dynamic));
  return loop.regions[0]!.ops.some((op) => dynamic(op) && isContraction(op));
}

function isContraction(op: Op): boolean {
  return op.name === "reduce" && op.regions[0]!.ops.filter((o) => o.name === "load").length === 2;
}

/**
 * The length P such that the loop runs over r·P ≤ i < (r + 1)·P for some r, cut off at some end;
 * null if it does not look like that. Covers `shard` and `chunk` as they are lowered.
 */
function pieceOf(lo: Value, hi: Value, definitions: Definitions): string | null {
  const [start, limit] = unclamp(lo, definitions);
  const factors = definitions.binary(start, "mul")?.operands;
  const end = unclampTo(hi, limit, definitions);
  const sum = definitions.binary(end, "add")?.operands;
  if (sum === undefined || !sum.some((v) => definitions.key(v) === definitions.key(lo))) return null;
  const length = definitions.key(sum[0]!) === definitions.key(lo) ? sum[1]! : sum[0]!;
  const isMultiple =
    factors?.some((f) => definitions.key(f) === definitions.key(length)) ?? definitions.constant(start) === 0;
  return isMultiple ? definitions.key(length) : null;
}

function unclamp(v: Value, definitions: Definitions): [Value, Value | null] {
  const op = definitions.binary(v, "min");
  return op === undefined ? [v, null] : [op.operands[0]!, op.operands[1]!];
}

function unclampTo(v: Value, limit: Value | null, definitions: Definitions): Value {
  const op = definitions.binary(v, "min");
  if (op === undefined || limit === null) return v;
  return definitions.key(op.operands[1]!) === definitions.key(limit) ? op.operands[0]! : v;
}
