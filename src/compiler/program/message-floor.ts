/**
 * What a program's messages take at the least, seen in what a few ranks send. That is known as soon as there are messages, long before it is known
 * what goes on beside them; a way of doing it that takes too long by this alone need not be made.
 *
 * The adapter of a rank sends its messages one after the other, whatever steps they end up in. The same elements that go to several ranks count
 * once, because a library may broadcast them; but for ranks that get messages where they send some, which are part of no broadcast (`broadcasts.ts`).
 */
import { type Kernel, type Op, bufferOf } from "../ir/module.js";
import { leastMessageSeconds } from "../machine/messages.js";
import { ranksOfDomain } from "../machine/reach.js";
import type { Copy } from "../manifest-steps.js";
import { Definitions } from "../passes/support/analysis.js";
import { copiesOfRank } from "../passes/support/copies.js";
import { RankValues } from "../passes/support/rank-values.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, evaluateExtent, type Extent } from "../types/extent.js";

/** Ranks of the first domains that are looked at. */
const DOMAINS = 2;

interface Sent {
  readonly elementBytes: number;
  readonly length: Extent;
}

/**
 * Seconds that all messages of a kernel take at the least at some dimensions.
 * @param kernel as send-messages left it, or a later pass up to derive-sync
 * @returns null where ranks alone do not decide who sends what to whom
 */
export function messageFloor(kernel: Kernel): ((dims: DimValues) => number) | null {
  const { world, ranksPerDomain = world } = kernel;
  const definitions = new Definitions(kernel);
  const ranks = Array.from({ length: DOMAINS }, (_, d) => ranksOfDomain(d, world, { ranksPerDomain })).flat();
  const sent = new Map<number, Sent[]>(ranks.map((rank) => [rank, []]));
  for (const op of kernel.body.ops) {
    if (op.name !== "message") continue;
    const lists = listsOf(op, ranks, kernel, definitions);
    if (lists === null) return null;
    const receivers = new Set([...lists.values()].flat().map(({ to }) => to.rank));
    for (const [rank, list] of lists) sent.get(rank)!.push(...countedOf(list, receivers.has(rank), kernel));
  }
  return (dims) => Math.max(0, ...[...sent.values()].map((messages) => leastMessageSeconds(bytesAt(messages, dims))));
}

function listsOf(
  op: Op,
  ranks: readonly number[],
  kernel: Kernel,
  definitions: Definitions,
): Map<number, Copy[]> | null {
  const lists = new Map<number, Copy[]>();
  const valuesOf = RankValues.ofEach(definitions);
  for (const rank of ranks) {
    const list = copiesOfRank(
      valuesOf(rank),
      op.regions[0]!.ops,
      kernel,
      definitions,
      ({ role }) => role === "scratch",
    );
    if (list === null) return null;
    lists.set(rank, list);
  }
  return lists;
}

function countedOf(list: readonly Copy[], isAnswered: boolean, kernel: Kernel): readonly Sent[] {
  const counted = isAnswered ? list : [...new Map(list.map((copy) => [sourceOf(copy), copy])).values()];
  return counted.map(({ length, from }) => {
    return { elementBytes: DTYPES[bufferOf(kernel, from.tensor).dtype].bytes, length };
  });
}

function sourceOf({ from, length }: Copy): string {
  return JSON.stringify([from.tensor, from.offset, length]);
}

/** Bytes of those that have elements at these dimensions. */
function bytesAt(messages: readonly Sent[], dims: DimValues): number[] {
  return messages.flatMap(({ elementBytes, length }) => {
    const count = evaluateExtent(length, dims);
    return count > 0 ? [count * elementBytes] : [];
  });
}
