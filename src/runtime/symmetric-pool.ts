/**
 * Recycling of symmetric memory. Freed blocks are kept and given out again, on every rank the same one: the ranks compare
 * what they are about to hand out before any of them does, so an order that differs between ranks is an error and
 * never two tensors in one place.
 */
import type { ExchangeChannel, SymmetricAllocation } from "./cuda/index.js";
import { RuntimeError, messageOf } from "./errors.js";
import { native } from "./native.js";
import type { SymmetricProvider } from "./symmetric-provider.js";

interface Block {
  /** In order of creation, the same on all ranks. */
  readonly id: number;
  readonly allocation: SymmetricAllocation;
}

export interface SymmetricPoolOptions {
  readonly provider: SymmetricProvider;
  readonly exchange: ExchangeChannel;
  readonly rank: number;
  /** Bytes of free blocks that are kept, default 1 GiB. The oldest go first. */
  readonly keepBytes?: number;
}

/** Symmetric memory of one group. All ranks make the same calls in the same order. */
export class SymmetricPool {
  readonly #options: SymmetricPoolOptions;
  readonly #keepBytes: number;
  /** Free blocks, in the order in which they were freed. */
  readonly #free: Block[] = [];
  #made = 0;
  #steps = 0;

  constructor(options: SymmetricPoolOptions) {
    this.#options = options;
    this.#keepBytes = options.keepBytes ?? 2 ** 30;
  }

  /** Bytes of free blocks. */
  get idleBytes(): number {
    return this.#free.reduce((sum, { allocation }) => sum + allocation.mappedBytes, 0);
  }

  /**
   * Zeroed memory, new or recycled. Collective.
   * @param name for messages.
   * @throws RuntimeError `mismatch` when the ranks ask for different sizes or would get different blocks.
   */
  async allocate(bytes: number, name = "memory"): Promise<SymmetricAllocation> {
    const { provider, exchange, rank } = this.#options;
    const block = this.#candidate(bytes);
    let failure = "";
    if (block !== undefined) {
      try {
        native().memorySet(block.allocation.device, block.allocation.localPointer, 0, bytes);
      } catch (error) {
        failure = messageOf(error);
      }
    }
    const own = { bytes, block: block?.id ?? -1, failure };
    const all = await exchange.allGather(`allocation #${this.#steps++} (${name})`, own);
    const failed = all.findIndex((ask) => ask.failure !== "");
    if (failed >= 0) throw new RuntimeError(`rank ${failed} failed to allocate ${name}: ${all[failed]!.failure}`);
    const other = all.findIndex((ask) => ask.bytes !== own.bytes || ask.block !== own.block);
    if (other >= 0)
      throw new RuntimeError(
        `ranks do not allocate in step: for ${name}, rank ${rank} takes ${describe(own)}, rank ${other} takes ${describe(all[other]!)}`,
        "every rank must allocate and free the same symmetric tensors in the same order",
        "mismatch",
      );
    if (block === undefined)
      return this.#give({ id: this.#made++, allocation: await provider.allocate(bytes, name) }, bytes, name);
    this.#free.splice(this.#free.indexOf(block), 1);
    return this.#give(block, bytes, name);
  }

  /** The smallest free block that holds `bytes` without wasting more than as much again. */
  #candidate(bytes: number): Block | undefined {
    return this.#free
      .filter(({ allocation: { mappedBytes } }) => mappedBytes >= bytes && mappedBytes <= Math.max(2 * bytes, 2 ** 21))
      .sort((a, b) => a.allocation.mappedBytes - b.allocation.mappedBytes || a.id - b.id)[0];
  }

  #give(block: Block, bytes: number, name: string): SymmetricAllocation {
    let isFree = false;
    const free = async (): Promise<void> => {
      if (isFree) throw new RuntimeError(`symmetric ${name} was freed before`);
      isFree = true;
      try {
        await this.#options.exchange.barrier(`free of block ${block.id} (${name})`);
      } catch (error) {
        // A peer is gone: nothing here will be recycled.
        await block.allocation.free().catch(() => {});
        throw error;
      }
      this.#free.push(block);
      await this.#shrink(this.#keepBytes);
    };
    return { ...block.allocation, bytes, free };
  }

  /** Unmaps free blocks until at most `keepBytes` are kept. Collective. */
  async #shrink(keepBytes: number): Promise<void> {
    const errors: unknown[] = [];
    while (this.#free.length > 0 && this.idleBytes > keepBytes)
      await this.#free
        .shift()!
        .allocation.free()
        .catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  /** Unmaps every free block. Collective. */
  trim(): Promise<void> {
    return this.#shrink(0);
  }
}

function describe({ bytes, block }: { bytes: number; block: number }): string {
  return `${bytes} bytes in ${block < 0 ? "a new block" : `block ${block} again`}`;
}
