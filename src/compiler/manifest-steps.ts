/** The steps of a program, as its manifest has them: kernels, collectives of libraries, copies and messages. */
import { type DimValues, evaluateExtent, type Extent } from "./types/extent.js";

/** One thing that a rank enqueues. */
export interface LaunchStep {
  readonly kind: "launch";
  /** Index in `kernels`. */
  readonly kernel: number;
  /** Most blocks; at most the kernel's own. */
  readonly maxBlocks: number;
  /**
   * Number, among the steps of its choice, of the last step of messages `beside` that this rank waits for before it begins, and with it for
   * all such steps before that one. None, if left out.
   */
  readonly awaits?: number;
}

/**
 * A collective of a library that moves the tensors as the signature has them, byte for byte. Of groups on GPUs with the library
 * alone: a plan takes it where that was measured to be the fastest.
 */
export interface LibraryStep {
  readonly kind: "library";
  readonly library: "nccl";
  readonly call: LibraryCall;
  /** Names of the signature's tensors. */
  readonly input: string;
  readonly output: string;
  /** The rank that has the input of a broadcast. */
  readonly root: number;
}

export type LibraryCall = "all_gather" | "broadcast";

/** One side of a copy: elements of a tensor of the signature, as a rank holds it, or of the program's memory. */
export interface CopyEnd {
  readonly tensor: string;
  /** The name is that of memory, in `Manifest.memory`. */
  readonly isMemory?: true;
  readonly rank: number;
  /** Of the first element, and how far the rows' first elements lie apart. */
  readonly offset: Extent;
  readonly pitch: Extent;
}

/** `rows` runs of `length` elements each, none where one of them is not above 0. */
export interface Copy {
  readonly rows: Extent;
  readonly length: Extent;
  readonly from: CopyEnd;
  readonly to: CopyEnd;
}

/** A copy at some dimensions, in elements. */
export interface Rows {
  readonly rows: number;
  readonly length: number;
  readonly from: { readonly offset: number; readonly pitch: number };
  readonly to: { readonly offset: number; readonly pitch: number };
}

/** What a copy is at these dimensions; null where it has no element. Rows that are neighbours on both sides are one. */
export function rowsOf({ rows, length, from, to }: Copy, dims: DimValues): Rows | null {
  const [count, width] = [evaluateExtent(rows, dims), evaluateExtent(length, dims)];
  if (count <= 0 || width <= 0) return null;
  const at = ({ offset, pitch }: CopyEnd): Rows["from"] => {
    return { offset: evaluateExtent(offset, dims), pitch: evaluateExtent(pitch, dims) };
  };
  const [source, target] = [at(from), at(to)];
  if (source.pitch !== width || target.pitch !== width || count === 1)
    return { rows: count, length: width, from: source, to: target };
  const all = count * width;
  return { rows: 1, length: all, from: { ...source, pitch: all }, to: { ...target, pitch: all } };
}

/** Copies that a GPU's copy engines carry out, in any order, while no multiprocessor works on them. */
export interface CopyStep {
  readonly kind: "copy";
  /**
   * A rank's copies go on in their order, each after the one before it has ended. They begin after all launches before the step, and go on
   * beside those behind it, up to the end of the program: some of them are words that say how far they have come.
   */
  readonly beside?: true;
  /** What each rank copies, from rank 0 on. */
  readonly copies: readonly (readonly Copy[])[];
}

/** Most copies of a step that go on at a time: one in own memory, and some to peers. */
export const COPY_LANES = 4;

/**
 * What a rank copies in a step that is not `beside`, by lanes, of which some may be empty: lanes go on side by side, and in one of them a
 * copy after the other.
 */
export function copyLanesOf(copies: readonly Copy[], rank: number, world: number): readonly (readonly Copy[])[] {
  const far = ({ from, to }: Copy): number => (from.rank === rank ? to.rank : from.rank);
  const behind = (copy: Copy): number => (far(copy) - rank + world) % world;
  // Each rank begins with the peer behind it, so that no port is everybody's first.
  const ordered = [...copies].sort((a, b) => behind(a) - behind(b));
  const peers = [...new Set(ordered.map(far))].filter((peer) => peer !== rank);
  const lanes: Copy[][] = Array.from({ length: COPY_LANES }, () => []);
  for (const copy of ordered)
    lanes[far(copy) === rank ? 0 : 1 + (peers.indexOf(far(copy)) % (COPY_LANES - 1))]!.push(copy);
  return lanes;
}

/** One side of a message: a run of elements of the program's memory, on the rank that sends or receives it. */
export interface MessageEnd {
  /** The rank at the other side. */
  readonly peer: number;
  /** Name of the memory, in `Manifest.memory`. */
  readonly memory: string;
  /** Of the first element. */
  readonly offset: Extent;
  /** Number of elements; a message of none is not sent. */
  readonly length: Extent;
}

/**
 * Messages between ranks that share no addresses, all of them together. The k-th that a rank sends to a peer is the k-th that the
 * peer receives from it. On each rank's stream everything before the step comes before what it sends, and what it receives before
 * everything after the step.
 */
export interface MessageStep {
  readonly kind: "message";
  /**
   * The step begins after all launches before it and all messages before it, and goes on beside the launches behind it, up to one that awaits
   * it, or the end of the program. Else everything behind it comes after it.
   */
  readonly beside?: true;
  /**
   * Sets of three ranks or more in which nothing goes but the same messages from the first to each of the others: broadcasts, which a library
   * may do as such. No rank is in two of them; messages of ranks in none are sends and receives.
   */
  readonly broadcasts?: readonly (readonly number[])[];
  /** What each rank sends and receives, from rank 0 on. */
  readonly ranks: readonly { readonly sends: readonly MessageEnd[]; readonly receives: readonly MessageEnd[] }[];
}

/** A message at some dimensions, in elements. */
export interface Run {
  readonly peer: number;
  readonly memory: string;
  readonly offset: number;
  readonly length: number;
}

/** Messages that have elements at these dimensions. */
export function runsOf(ends: readonly MessageEnd[], dims: DimValues): Run[] {
  return ends.flatMap(({ peer, memory, offset, length }) => {
    const count = evaluateExtent(length, dims);
    return count <= 0 ? [] : [{ peer, memory, offset: evaluateExtent(offset, dims), length: count }];
  });
}

export type Step = LaunchStep | LibraryStep | CopyStep | MessageStep;
