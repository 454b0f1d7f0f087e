/** How long a kernel should take on a machine, by term, from what its ranks move and compute. */
import type { Op } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import type { Machine } from "./machines.js";
import type { RankTraffic } from "./traffic.js";

/** Seconds. */
export interface Prediction {
  /** Launch, points of synchronisation, and the first answer of loads from peers. */
  readonly latency: number;
  /** The busiest rank's links, each stretch between two points of synchronisation for itself, added up. */
  readonly wire: number;
  readonly memory: number;
  readonly arithmetic: number;
  /** Latency, and of each stretch the longest of the other three, which overlap. */
  readonly total: number;
}

/** Bytes that go from rank to rank: `[from][to]`, zero from a rank to itself. */
export type Wire = readonly (readonly number[])[];

/** Who sends whom how much, whether it is stored there or loaded from here. */
export function wireOf(ranks: readonly RankTraffic[]): Wire {
  const wire = ranks.map(() => new Array<number>(ranks.length).fill(0));
  ranks.forEach(({ stretches }, rank) => {
    for (const { moves } of stretches)
      for (const { kind, bytesAt } of moves)
        bytesAt.forEach((bytes, owner) => {
          if (owner !== rank) wire[kind === "store" ? rank : owner]![kind === "store" ? owner : rank]! += bytes;
        });
  });
  return wire;
}

export function predict(ranks: readonly RankTraffic[], machine: Machine): Prediction {
  const count = Math.max(...ranks.map((r) => r.stretches.length));
  let latency = machine.launch.value;
  const sums = { wire: 0, memory: 0, arithmetic: 0 };
  let overlapped = 0;
  for (let i = 0; i < count; i++) {
    const terms = stretchTerms(ranks, i, machine);
    for (const key of ["wire", "memory", "arithmetic"] as const) sums[key] += terms[key];
    overlapped += Math.max(terms.wire, terms.memory, terms.arithmetic);
    latency += terms.waits;
    // Ranks pass their points of synchronisation together; where they differ, the slowest counts.
    if (i < count - 1) latency += Math.max(...ranks.map((r) => syncCost(r.syncs[i], ranks.length, machine)));
  }
  return { latency, ...sums, total: latency + overlapped };
}

interface Terms {
  readonly wire: number;
  readonly memory: number;
  readonly arithmetic: number;
  readonly waits: number;
}

function stretchTerms(ranks: readonly RankTraffic[], i: number, m: Machine): Terms {
  const zero = (): number[] => ranks.map(() => 0);
  const [sent, received, held] = [zero(), zero(), zero()];
  let pulls = false;
  ranks.forEach(({ stretches }, rank) => {
    for (const { kind, bytesAt } of stretches[i]?.moves ?? [])
      bytesAt.forEach((bytes, owner) => {
        held[owner]! += bytes / m.memory.value;
        if (owner === rank || bytes === 0) return;
        const [from, to, rate] = kind === "store" ? [rank, owner, m.push.value] : [owner, rank, m.pull.value];
        sent[from]! += bytes / rate;
        received[to]! += bytes / rate;
        pulls ||= kind === "load";
      });
  });
  const work = ranks.map((r) => {
    const s = r.stretches[i];
    return s === undefined ? 0 : s.scalarOps / m.scalar.value + s.tensorOps / m.tensor.value;
  });
  return {
    wire: Math.max(...sent, ...received),
    memory: Math.max(...held),
    arithmetic: Math.max(...work),
    waits: pulls ? m.remoteLoad.value : 0,
  };
}

/** What passing a point of synchronisation costs when everybody is there. */
function syncCost(op: Op | undefined, world: number, m: Machine): number {
  if (op === undefined || op.name === "notify") return 0;
  if (op.name === "await") return m.flag.value;
  const ranks = op.attributes["ranks"] as string;
  const isBetween = (RankPairs.parse(ranks, world)?.between ?? 0) > 0;
  const met = !isBetween ? 0 : ranks === "all" ? m.barrier.value : m.flag.value;
  return met + (op.attributes["scope"] === "grid" ? m.grid.value : 0);
}
