/** The ranks that a rank tells, or hears from, at a barrier: a loop over them that is the same program on every rank. */
import type { Builder } from "../../ir/builder.js";
import type { Value } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";

export interface PeerList {
  /** Iterations of the loop. */
  readonly count: number;
  /** Emits iteration `k`: `body` with the peer of that iteration, under a condition where not every rank has one. */
  readonly each: (k: Value, body: (peer: Value) => void) => void;
}

export function receiversOf(pairs: RankPairs, build: Builder, rank: Value): PeerList {
  return peers(pairs, build, rank);
}

export function sendersOf(pairs: RankPairs, build: Builder, rank: Value): PeerList {
  return peers(
    RankPairs.where(pairs.world, (from, to) => pairs.has(to, from)),
    build,
    rank,
  );
}

function peers(pairs: RankPairs, build: Builder, rank: Value): PeerList {
  const { world } = pairs;
  const offsets = pairs.offsets();
  if (offsets?.length === world) return { count: world, each: (k, body) => body(k) };
  if (offsets !== null)
    return {
      count: offsets.length,
      each: (k, body) => body(build.rem(build.add(rank, entry(build, offsets, k)), build.constant(world))),
    };
  const masks = pairs.masks();
  if (masks !== null)
    return { count: masks.length, each: (k, body) => body(build.binary("xor", rank, entry(build, masks, k))) };
  const list = pairs.list();
  return {
    count: world,
    each: (k, body) => {
      const isPair = list.map(([from, to]) => build.binary("and", is(build, rank, from), is(build, k, to)));
      build.if(
        isPair.reduce((a, b) => build.binary("or", a, b)),
        () => body(k),
      );
    },
  };
}

function is(build: Builder, v: Value, number: number): Value {
  return build.compare("eq", v, build.constant(number));
}

/** table[k]; steps of a run of numbers are computed, others chosen one by one. */
function entry(build: Builder, table: readonly number[], k: Value): Value {
  const [first] = table as [number];
  if (table.length === 1) return build.constant(first);
  if (table.every((c, i) => c === first + i)) return build.add(k, build.constant(first));
  return table
    .slice(1)
    .reduce<Value>(
      (chosen, c, i) => build.select(is(build, k, i + 1), build.constant(c), chosen),
      build.constant(first),
    );
}
