/** Records in pinned host memory, in which kernels say that a wait ran out. */
import { RuntimeError } from "../errors.js";
import { native, type DevicePointer, type HostAllocation } from "../native.js";
import { explain, requireDevice } from "./device.js";

/** What a kernel wrote when a wait ran out; see the manifest's `status` parameter. */
export interface WaitFailure {
  readonly rank: number;
  readonly peer: number;
  /** Index into the manifest's buffers. */
  readonly buffer: number;
  readonly slot: number;
  readonly wanted: number;
  readonly seen: number;
  /** Line in the `.coll` file. */
  readonly line: number;
  /** Every peer that had not come, where one wait is for several: see `collc_await_messages`. Else empty. */
  readonly missing: readonly number[];
}

/** Records a page holds: 64 of 64 bytes. */
const pageRecords = 64;

/**
 * One pinned allocation for many records. Pinning memory may wait for the whole GPU, and a stream that is made while a
 * kernel waits for a peer must not: the peer might be waiting for what that stream is for.
 */
class Page {
  readonly words: Uint32Array;
  readonly pointer: DevicePointer;
  readonly #allocation: HostAllocation;
  readonly #free: number[];

  constructor(device: number, recordBytes: number) {
    this.#allocation = explain(() => native().hostAlloc(device, pageRecords * recordBytes));
    this.words = new Uint32Array(this.#allocation.buffer);
    this.pointer = this.#allocation.pointer;
    this.#free = Array.from({ length: pageRecords }, (_, i) => pageRecords - 1 - i);
  }

  take(): number | undefined {
    return this.#free.pop();
  }

  /** @returns whether the page is gone with its last record. */
  give(index: number): boolean {
    this.#free.push(index);
    if (this.#free.length < pageRecords) return false;
    native().hostFree(this.#allocation.handle);
    return true;
  }
}

/** Pages by device. */
const pages = new Map<number, Page[]>();

/** The 16-word record that kernels write when a wait runs out: pinned host memory, readable at any time. */
export class StatusRecord {
  static readonly words = 16;
  /** Index of the two words that have a bit for each peer that has not come. */
  static readonly missingWord = 8;
  /** Index of the word that ends waits which ran out and wait on. */
  static readonly letGoWord = 15;
  readonly pointer: DevicePointer;
  readonly #device: number;
  readonly #index: number;
  #page: Page | null;

  constructor(device: number) {
    requireDevice(device);
    const held = pages.get(device) ?? [];
    pages.set(device, held);
    let page = held.at(-1);
    let index = page?.take();
    if (page === undefined || index === undefined) {
      // A free record of an older page is not looked for: pages go when they are empty.
      page = new Page(device, StatusRecord.words * 4);
      held.push(page);
      index = page.take()!;
    }
    this.#device = device;
    this.#page = page;
    this.#index = index;
    this.pointer = page.pointer + BigInt(index * StatusRecord.words * 4);
    this.clear();
    this.letGo(false);
  }

  /** @throws RuntimeError once it is freed. */
  get #words(): Uint32Array {
    if (this.#page === null) throw new RuntimeError("the status record was freed before");
    return this.#page.words.subarray(this.#index * StatusRecord.words, (this.#index + 1) * StatusRecord.words);
  }

  /** Whether a failure is recorded in full; while one is being written, the first word is 2. */
  get isWritten(): boolean {
    return this.#words[0] === 1;
  }

  /** The failure that was recorded, or null. Read it when the stream is done, or held. */
  read(): WaitFailure | null {
    if (!this.isWritten) return null;
    const [, rank, peer, buffer, slot, wanted, seen, line] = this.#words;
    const isMissing = (p: number): boolean =>
      ((this.#words[StatusRecord.missingWord + (p >> 5)]! >>> (p & 31)) & 1) === 1;
    return {
      rank: rank! | 0,
      peer: peer! | 0,
      buffer: buffer! | 0,
      slot: slot!,
      wanted: wanted!,
      seen: seen!,
      line: line!,
      missing: Array.from({ length: 64 }, (_, p) => p).filter(isMissing),
    };
  }

  /** Zero again, as every launch needs it. Whether waits are let go of stays as it is. */
  clear(): void {
    this.#words.fill(0, 0, StatusRecord.letGoWord);
  }

  /** Whether waits that ran out, and hold their stream, end all the same. */
  letGo(ends: boolean): void {
    this.#words[StatusRecord.letGoWord] = ends ? 1 : 0;
  }

  /** Nothing may be running that writes it. @throws RuntimeError the second time. */
  free(): void {
    const page = this.#page;
    if (page === null) throw new RuntimeError("the status record was freed before");
    this.#page = null;
    if (!page.give(this.#index)) return;
    const held = pages.get(this.#device)!;
    held.splice(held.indexOf(page), 1);
  }
}
