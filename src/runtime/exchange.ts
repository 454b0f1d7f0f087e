/**
 * Small collectives of the host side over a store: who is where, which file descriptor is whose. For setting
 * things up; the tensors go another way.
 *
 * Every call takes the next sequence number of its group, and the ranks meet under `group/number`. So a name
 * may be used any number of times, and ranks that make different calls learn both names instead of waiting.
 */
import { RuntimeError } from "./errors.js";
import type { Store, StoreValue, WaitOptions } from "./store.js";

/** What can be exchanged: anything that JSON keeps. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A call waits so long even after the deadline of its group, in milliseconds. */
const LAST_MS = 50;

/** See the file's head. All members of a group must make the same calls in the same order. */
export class Exchange {
  /** Ranks of the run that take part, in the order of results. */
  readonly ranks: readonly number[];
  readonly #store: Store;
  readonly #name: string;
  readonly #timeoutMs: number | undefined;
  #step = 0;
  #failure: unknown = null;
  /** No call waits beyond it; in milliseconds of `performance.now()`. */
  #deadline = Infinity;

  /**
   * @param name of the group; groups that exist at the same time need different names.
   * @param options.ranks default: all.
   * @param options.timeoutMs bound of each call, default COLLC_TIMEOUT_MS or 60 s.
   * @throws RuntimeError when this rank is not among `ranks`.
   */
  constructor(store: Store, name: string, options: { ranks?: readonly number[] } & WaitOptions = {}) {
    this.#store = store;
    this.#name = name;
    this.#timeoutMs = options.timeoutMs;
    this.ranks = [...(options.ranks ?? Array.from({ length: store.world }, (_, rank) => rank))];
    if (!this.ranks.includes(store.rank)) {
      throw new RuntimeError(`rank ${store.rank} is not in group "${name}" of ranks ${this.ranks.join(", ")}`);
    }
  }

  /**
   * Gives `value` and gets everybody's, in the order of `ranks`.
   * @param name what is exchanged, for messages.
   * @throws RuntimeError `timeout` naming the missing ranks, `rank-lost`, `mismatch`, `store-lost`.
   */
  async allGather<T extends Json>(name: string, value: T, options: WaitOptions = {}): Promise<T[]> {
    const values = await this.#meet(`all_gather "${name}"`, JSON.stringify(value), options);
    return values.map((bytes) => JSON.parse(bytes.toString()) as T);
  }

  /** {@link allGather} of bytes, at most 1 MiB from each rank. */
  allGatherBytes(name: string, value: Uint8Array, options: WaitOptions = {}): Promise<Buffer[]> {
    return this.#meet(`all_gather "${name}"`, value, options);
  }

  /** Returns once all ranks have called it. @throws as {@link allGather}. */
  async barrier(name: string, options: WaitOptions = {}): Promise<void> {
    await this.#meet(`barrier "${name}"`, "", options);
  }

  /**
   * Everybody gets the value of `root`; other ranks' `value` is ignored and may be left out.
   * @throws as {@link allGather}; RuntimeError when `root` is not in the group or gives nothing.
   */
  async broadcast<T extends Json>(name: string, root: number, value?: T, options: WaitOptions = {}): Promise<T> {
    const index = this.ranks.indexOf(root);
    if (index < 0) throw new RuntimeError(`rank ${root} is not in group "${this.#name}"`);
    const isRoot = this.#store.rank === root;
    if (isRoot && value === undefined) throw new RuntimeError(`rank ${root} broadcasts "${name}" without a value`);
    const label = `broadcast "${name}" from rank ${root}`;
    // Everybody meets: a root that runs ahead could not tell that a rank never came.
    const values = await this.#meet(label, isRoot ? JSON.stringify(value) : "", options);
    return JSON.parse(values[index]!.toString()) as T;
  }

  /** Lets every later call fail at once: the group is being left, and one wait for a rank that hangs is enough. */
  giveUp(error: unknown): void {
    this.#failure ??= error;
  }

  /** Bounds all later calls together: the group is being left, and whatever still waits then costs one time-out at most. */
  endBy(deadline: number): void {
    this.#deadline = Math.min(this.#deadline, deadline);
  }

  #meet(label: string, value: StoreValue, { timeoutMs = this.#timeoutMs }: WaitOptions): Promise<Buffer[]> {
    if (this.#failure !== null) return Promise.reject(this.#failure as Error);
    const key = `exchange/${this.#name}/${this.#step++}`;
    if (this.#deadline === Infinity) return this.#store.gather(key, value, { label, ranks: this.ranks, timeoutMs });
    // What others have long given arrives within a moment, even when the time is up.
    const left = Math.max(LAST_MS, Math.ceil(this.#deadline - performance.now()));
    const bound = Math.min(timeoutMs ?? Infinity, left);
    return this.#store.gather(key, value, { label, ranks: this.ranks, timeoutMs: bound });
  }
}
