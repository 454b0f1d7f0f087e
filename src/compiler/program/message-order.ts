/**
 * Whether all ranks come to each other's messages: a check of the steps that are launched, whoever cut them.
 *
 * Each rank goes through its steps in order. A step of messages ends when each of its sends has met the receive at the other side, the
 * k-th from one rank to another the k-th: no send is taken to end before, for a library may wait for the other side. One that is a broadcast
 * goes from rank to rank, so it ends when all its ranks have come. Where no rank can go on, they wait on each other for ever.
 */
import type { MessageEnd } from "../manifest-steps.js";
import { printExtent, sameExtent } from "../types/extent.js";
import type { KernelStep } from "./steps.js";

/** What one rank sends and receives in a step, and the other ranks of its broadcast. */
interface Messages {
  readonly sends: readonly MessageEnd[];
  readonly receives: readonly MessageEnd[];
  readonly company: readonly number[];
}
type Side = "sends" | "receives";

/** One rank on its way through its steps. */
interface Rank {
  readonly messages: readonly Messages[];
  /** Steps of messages that it has begun. */
  begun: number;
}

/**
 * Who waits for whom where nobody can go on, and messages whose two sides are not of one length; in words, empty if all is well.
 * @param programs steps of each rank, from rank 0 on: the same for all of them, unless somebody has mixed them up
 */
export function messageProblems(programs: readonly (readonly KernelStep[])[]): readonly string[] {
  const ranks = programs.map((steps, rank): Rank => {
    const messages = steps.flatMap((step) => {
      if (step.kind !== "message") return [];
      const set = step.broadcasts?.find((own) => own.includes(rank)) ?? [];
      return [{ ...step.ranks[rank]!, company: set.filter((peer) => peer !== rank) }];
    });
    return { messages, begun: 0 };
  });
  const posted = new Map<string, MessageEnd[]>();
  const listOf = (side: Side, from: number, to: number): MessageEnd[] => {
    const key = `${side} ${from} ${to}`;
    const list = posted.get(key) ?? [];
    posted.set(key, list);
    return list;
  };
  /** How often a rank has come to a broadcast with another. */
  const met = new Map<string, number>();
  const meetings = (rank: number, peer: number): number => met.get(`${rank} ${peer}`) ?? 0;
  const post = (rank: number, { sends, receives, company }: Messages): void => {
    for (const end of sends) listOf("sends", rank, end.peer).push(end);
    for (const end of receives) listOf("receives", end.peer, rank).push(end);
    for (const peer of company) met.set(`${rank} ${peer}`, meetings(rank, peer) + 1);
  };
  /** Peers that have not come to the other side of what a rank has begun. */
  const missing = (rank: number): number[] =>
    programs.flatMap((_, peer) => {
      const isLate =
        listOf("sends", rank, peer).length > listOf("receives", rank, peer).length ||
        listOf("receives", peer, rank).length > listOf("sends", peer, rank).length ||
        meetings(rank, peer) > meetings(peer, rank);
      return isLate ? [peer] : [];
    });
  for (let isMoving = true; isMoving;) {
    isMoving = false;
    for (const [number, rank] of ranks.entries()) {
      if (rank.begun === rank.messages.length || missing(number).length > 0) continue;
      post(number, rank.messages[rank.begun++]!);
      isMoving = true;
    }
  }
  const stuck = ranks.flatMap(({ begun, messages }, number) => {
    const waits = missing(number);
    const place = `step ${begun} of its ${messages.length} with messages`;
    return waits.length === 0 ? [] : [`rank ${number} waits for rank ${waits.join(" and ")} in ${place}`];
  });
  if (stuck.length > 0) return [`deadlock: ${stuck.join("; ")}`];
  const pairs = programs.flatMap((_, from) => programs.map((__, to) => [from, to] as const));
  return pairs.flatMap(([from, to]) =>
    listOf("sends", from, to).flatMap((send, k) => {
      const receive = listOf("receives", from, to)[k]!;
      if (sameExtent(send.length, receive.length)) return [];
      const [sent, received] = [printExtent(send.length), printExtent(receive.length)];
      return [`rank ${from} sends ${sent} elements to rank ${to}, which receives ${received}`];
    }),
  );
}
