/**
 * Which messages of a step are broadcasts: seen in who sends which elements of which memory to whom, and in nothing else.
 *
 * Where each of several ranks sends the others the same, an all-gather, they stay sends: every adapter receives all blocks but its own
 * whatever carries them, which sends do in one hop (docs/REACH.md has the numbers). Sums are kernels' work: partial sums cross as they
 * are accumulated, and are added up in one order, which no collective of a library promises.
 */
import type { MessageEnd, MessageStep } from "../manifest-steps.js";
import { sameExtent } from "../types/extent.js";

type Ranks = MessageStep["ranks"];

/** Two ranks are a send. */
const FEWEST_RANKS = 3;

/** Sets of ranks as `MessageStep.broadcasts` has them. */
export function broadcastsIn(ranks: Ranks): readonly (readonly number[])[] {
  const sets = ranks.map(({ sends }, root) => [root, ...[...new Set(sends.map(({ peer }) => peer))].sort((a, b) => a - b)]); // prettier-ignore
  return sets.filter((set) => isBroadcast(set, ranks));
}

/** Whether nothing goes between these ranks and any but the same messages from the first to each of the others. */
export function isBroadcast(set: readonly number[], ranks: Ranks): boolean {
  const [root, ...others] = set as readonly [number, ...number[]];
  if (set.length < FEWEST_RANKS || new Set(set).size !== set.length) return false;
  if (!set.every((rank) => ranks[rank] !== undefined)) return false;
  const { sends, receives } = ranks[root]!;
  if (receives.length > 0 || !sends.every(({ peer }) => others.includes(peer))) return false;
  const sentTo = (peer: number): MessageEnd[] => sends.filter((end) => end.peer === peer);
  const first = sentTo(others[0]!);
  return others.every((rank) => {
    const [sent, own] = [sentTo(rank), ranks[rank]!];
    const isAlone = own.sends.length === 0 && own.receives.every(({ peer }) => peer === root);
    return isAlone && sent.length === first.length && own.receives.length === first.length && first.every((end, k) => isSame(end, sent[k]!) && sameExtent(end.length, own.receives[k]!.length)); // prettier-ignore
  });
}

function isSame(a: MessageEnd, b: MessageEnd): boolean {
  return a.memory === b.memory && sameExtent(a.offset, b.offset) && sameExtent(a.length, b.length);
}
