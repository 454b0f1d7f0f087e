/** How long messages between domains take, as sends and as broadcasts. */
import { type MessageStep, type Run, runsOf } from "../manifest-steps.js";
import type { DimValues } from "../types/extent.js";
import type { Prediction } from "./cost.js";

/**
 * What messages between domains take, in seconds and in bytes a second for each GPU and direction; `each` is the least of one message.
 *
 * A cluster's numbers (`cluster.ts`) are others, for they are of something else. Here a step is a kernel's end, a group of NCCL's sends
 * and receives on its protocol for long messages, and the next kernel's start: what runs today. There a message is a put with a signal
 * out of a kernel that goes on, for which NCCL's tree with its short protocol stands. The rate here is the adapter's line rate, there
 * what NCCL's maintainers say that one reaches. None was measured here. Messages by NVSHMEM have no numbers of their own.
 */
const MESSAGES = {
  start: {
    value: 8.4e-6,
    source: "NCCL's own constant of a collective's start, protocol simple (src/graph/tuning.cc, 2.19 on)",
  },
  hop: {
    value: 14e-6,
    source: "NCCL's own constant of a step over the network, protocol simple (src/graph/tuning.cc, 2.19 on)",
  },
  each: {
    value: 1e-6,
    source: "NCCL's own constant for posting to an Intel host's adapter (getNetOverhead, src/graph/tuning.cc)",
  },
  rate: { value: 50e9, source: "published: one adapter of 400 Gb/s for each GPU, as in a DGX H100" },
} as const;

/** What an adapter takes for one message. */
function sendingTime(bytes: number): number {
  return Math.max(MESSAGES.each.value, bytes / MESSAGES.rate.value);
}

/** What messages take at the least of which one adapter sends these, in bytes, however many steps they are of. */
export function leastMessageSeconds(bytes: readonly number[]): number {
  const { start, hop } = MESSAGES;
  return bytes.length === 0 ? 0 : start.value + hop.value + bytes.reduce((sum, n) => sum + sendingTime(n), 0);
}

/** Seconds that a ring of so many ranks takes more than one hop: NCCL counts a hop a rank for a broadcast, which has no other algorithm. */
function ringTime(ranks: number): number {
  return (ranks - 1) * MESSAGES.hop.value;
}

/**
 * Whether a library's broadcast takes less time than sends of the same. Sends leave the root's adapter once for each rank, in one hop; of a
 * broadcast every adapter carries each byte once, and it goes from rank to rank in a ring. All ranks of a set find the same.
 * @param ranks with the root @param bytes of each message to one of the others
 */
export function isFasterAsBroadcast(ranks: number, bytes: readonly number[]): boolean {
  const once = bytes.reduce((sum, n) => sum + sendingTime(n), 0);
  return ringTime(ranks) + once < (ranks - 1) * once;
}

/** Those of a step's broadcasts that are faster than sends at these dimensions. @param bytesOf of an element of the program's memory */
export function fasterBroadcasts(
  { ranks, broadcasts = [] }: MessageStep,
  bytesOf: (memory: string) => number,
  dims: DimValues,
): readonly (readonly number[])[] {
  return broadcasts.filter((set) => {
    const received = runsOf(ranks[set[1]!]!.receives, dims);
    return isFasterAsBroadcast(set.length, received.map(({ memory, length }) => length * bytesOf(memory))); // prettier-ignore
  });
}

/**
 * The time of messages between domains: a start, and then what the busiest adapter takes, message by message, in either direction.
 * @param bytesOf of an element of the program's memory
 */
export function predictMessages(step: MessageStep, bytesOf: (memory: string) => number, dims: DimValues): Prediction {
  const took = (runs: readonly Run[]): number =>
    runs.reduce((sum, { memory, length }) => sum + sendingTime(length * bytesOf(memory)), 0);
  const sets = fasterBroadcasts(step, bytesOf, dims);
  const isInSet = (rank: number): boolean => sets.some((set) => set.includes(rank));
  const alone = step.ranks.flatMap(({ sends, receives }, rank) => {
    return isInSet(rank) ? [] : [took(runsOf(sends, dims)), took(runsOf(receives, dims))];
  });
  const parts = [
    ...alone.map((wire) => ({ wire, ring: 0 })),
    ...sets.map((set) => ({ wire: took(runsOf(step.ranks[set[1]!]!.receives, dims)), ring: ringTime(set.length) })),
  ];
  const none = { wire: 0, ring: 0 };
  const { wire, ring } = parts.reduce((a, b) => (b.wire + b.ring > a.wire + a.ring ? b : a), none);
  const latency = wire === 0 ? 0 : MESSAGES.start.value + MESSAGES.hop.value + ring;
  return { total: latency + wire, latency, wire, memory: 0, arithmetic: 0, blocks: 0 };
}
