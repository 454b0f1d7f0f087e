/** What the generated text of a kernel works on: the state of all ranks, the blocks that run, and who hears of faults. */
import type { Kernel, Op } from "../ir/module.js";
import type { DimValues } from "../types/extent.js";

/** Elements of a buffer: a typed array, or a list of whatever a domain computes with. */
export interface Elements {
  readonly length: number;
  [index: number]: unknown;
}

/** A copy or a product of tiles that has been started; performed when it ends, for the part of the block that waited for it. */
export type Copy = (f: Block) => void;

/** One block of one launch. */
export interface Block {
  readonly rank: number;
  readonly block: number;
  readonly launch: number;
  /** Its number for the observer, the same in every launch; 0 without one. */
  readonly entity: number;
  /** Its own memory by buffer: what is shared, in fragments or in registers. Made by `Machine.enter`. */
  own: (Elements | undefined)[];
  /** Which elements of shared buffers have been written, where that is asked for. */
  written: (Uint8Array | undefined)[];
  /** Numbers of its shared buffers for the observer. */
  memories: readonly number[];
  /** Copies started since the last commit, and committed groups that have not landed. */
  open: Copy[];
  groups: Copy[][];
  /** Asynchronous products that have not ended. */
  products: Copy[];
  /** The strand of the role that this is of a block; null for the whole. */
  readonly strand: number | null;
}

export function newBlock(rank: number, block: number, launch: number, entity: number): Block {
  return {
    rank,
    block,
    launch,
    entity,
    own: [],
    written: [],
    memories: [],
    open: [],
    groups: [],
    products: [],
    strand: null,
  };
}

/** Told of what a kernel must not do; each throws. Buffers by number. */
export interface Faults {
  peer(f: Block, op: Op, buffer: number, peer: number): never;
  /** An index of one dimension, or of a tile's stage. */
  dimension(f: Block, op: Op, buffer: number, dimension: number, index: number): never;
  /** `lanes` elements from a linear index on. */
  bounds(f: Block, op: Op, buffer: number, index: number, lanes: number): never;
  misaligned(f: Block, op: Op, buffer: number, index: number, owner: number, lanes: number): never;
  unwritten(f: Block, op: Op, buffer: number, owner: number, index: number): never;
  arithmetic(f: Block, op: Op, a: number, b: number): never;
}

/** A coroutine that cannot go on. */
export interface Blocked {
  readonly f: Block;
  readonly op: Op;
  readonly buffer: number;
  /** What it waits to see change: elements, and which of them. */
  readonly flags: Elements;
  readonly slot: number;
  readonly wanted: number;
  /** Rank that is expected to signal; -1 if not said. */
  readonly peer: number;
  /** Whether it can go on. A function that many share: there are as many of these as threads that wait. */
  readonly ready: (blocked: Blocked) => boolean;
}

/** `ready` of a wait for a flag. */
export function reached({ flags, slot, wanted }: Blocked): boolean {
  return (((flags[slot] as number) - wanted) | 0) >= 0;
}

/** `ready` of a wait for a packet: of an epoch, or of any. */
export function arrived({ flags, slot, wanted }: Blocked): boolean {
  return flags[slot] === wanted;
}

export function isThere({ flags, slot }: Blocked): boolean {
  return flags[slot] !== 0;
}

const packets = new WeakMap<object, Uint32Array<ArrayBuffer>>();

/** Epochs of the packets in a rank's memory, two for each of so many slots; 0 for none. They last as long as the memory. */
export function packetFlags(memory: Elements, slots: number): Uint32Array {
  const key = ArrayBuffer.isView(memory) ? memory.buffer : memory;
  const held = packets.get(key);
  if (held !== undefined && held.length >= 2 * slots) return held;
  const flags = new Uint32Array(2 * slots);
  flags.set(held ?? []);
  packets.set(key, flags);
  return flags;
}

/** The state of all ranks. The text reads these names. */
export interface Machine {
  readonly kernel: Kernel;
  readonly dims: DimValues;
  /** By buffer. */
  readonly shapes: readonly (readonly number[])[];
  readonly lengths: readonly number[];
  /** Global memory by buffer and rank. */
  readonly memory: readonly (readonly Elements[])[];
  /** Which elements of it have been written, where that is asked for. */
  readonly written: readonly (readonly (Uint8Array | undefined)[])[];
  /** Elements by which a buffer of a rank starts past an aligned address. */
  readonly offsets: readonly (readonly number[])[];
  readonly faults: Faults;
  /** Blocks that a launch starts on each rank. */
  gridAt(launch: number): number;
  /** Whether a buffer of a rank starts at a multiple of so many bytes. */
  isAligned(buffer: number, owner: number, bytes: number): boolean;
  /** A block starts: gives it memory. */
  enter(f: Block): void;
  /** A block ends; copies that it did not wait for never land. */
  leave(f: Block): void;
  /** Whether loops over threads run from the last index to the first, where the text asks. */
  readonly reversesThreads?: boolean;
  /** Whether another block is to go on here. */
  preempts(): boolean;
  /** A wait finds its flag not there yet. */
  blocks(blocked: Blocked): void;
}
