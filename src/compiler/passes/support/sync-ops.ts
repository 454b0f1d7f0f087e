/** Ops that synchronise ranks, and what they mean. */
import type { Op } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import type { Sync } from "./order.js";

export function isWord({ name }: Op): boolean {
  return name === "notify" || name === "await";
}

export function hasSync(op: Op): boolean {
  return op.name === "barrier" || isWord(op) || op.regions.some((r) => r.ops.some(hasSync));
}

/** A barrier is met in many walks. */
const knownPairs = new WeakMap<Op, RankPairs>();

export function pairsOf(barrier: Op, world: number): RankPairs {
  let pairs = knownPairs.get(barrier);
  if (pairs === undefined)
    knownPairs.set(barrier, (pairs = RankPairs.parse(barrier.attributes["ranks"] as string, world)!));
  return pairs;
}

export function meaningOf(barrier: Op, world: number): Sync {
  return {
    pairs: pairsOf(barrier, world),
    isGrid: barrier.attributes["scope"] === "grid",
  };
}
