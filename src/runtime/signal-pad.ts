/** How a signal pad is laid out: per channel one word of signals and one of barriers from each rank. */
import { UsageError } from "./errors.js";

/** 32 channels for 72 ranks would be 9216 bytes for signals alone; barriers have slots of their own. */
export const defaultSignalPadBytes = 2 * 9216;

/** Channels in a pad: two words of each rank for a channel. */
export function channelsOf(padBytes: number, world: number): number {
  return Math.floor(padBytes / (8 * world));
}

/** @throws UsageError for sizes that hold no channel or no whole words. */
export function checkSignalPadBytes(bytes: number, world: number): void {
  const least = 8 * world;
  if (Number.isSafeInteger(bytes) && bytes % 4 === 0 && bytes >= least && bytes <= 2 ** 30) return;
  throw new UsageError(
    `a signal pad cannot have ${bytes} bytes`,
    `it takes a multiple of 4 from ${least} (one channel of ${world} ranks) to 1 GiB`,
  );
}

/** A pad that is there keeps its size. */
export function padIsMade(group: string, bytes: number): UsageError {
  return new UsageError(
    `the signal pad of group "${group}" has its ${bytes} bytes already`,
    "set its size before the first symmetric allocation",
  );
}

export function noPadYet(group: string): UsageError {
  return new UsageError(
    `group "${group}" has no signal pad yet`,
    "it comes with the first symmetric allocation, which all ranks make together",
  );
}

/** @throws UsageError unless the channel exists. */
export function checkChannel(channel: number, channels: number): void {
  if (Number.isSafeInteger(channel) && channel >= 0 && channel < channels) return;
  throw new UsageError(
    `there is no channel ${channel}: the signal pad holds ${channels}, from 0 to ${channels - 1}`,
    "set a larger pad with setSignalPadBytes before the first allocation",
  );
}

/** Words from the start of a pad: where signals of `from`, or its barriers, are counted. */
export function slotOf(kind: "signal" | "barrier", channel: number, from: number, world: number): number {
  return channel * 2 * world + (kind === "barrier" ? world : 0) + from;
}
