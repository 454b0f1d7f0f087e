/** Symmetric memory by id: what is freed under an id is found again under it, content included. */
import type { ExchangeChannel, SymmetricAllocation } from "./cuda/index.js";
import { RuntimeError, UsageError } from "./errors.js";
import type { SymmetricPool } from "./symmetric-pool.js";

interface Entry {
  readonly bytes: number;
  readonly allocation: SymmetricAllocation;
  isAlive: boolean;
}

export class PersistentMemory {
  readonly #entries = new Map<number, Entry>();
  #next = 0;

  constructor(
    private readonly pool: SymmetricPool,
    private readonly exchange: ExchangeChannel,
    private readonly rank: number,
  ) {}

  /** A number not given before. A counter: random ids of several ranks would meet or part by chance. */
  nextId(): number {
    while (this.#entries.has(this.#next)) this.#next++;
    return this.#next++;
  }

  /**
   * The memory of `id`, made when there is none. Collective. `free` keeps the memory; `allocation.free` gives it back.
   * @throws UsageError when the previous tensor of the id is alive, or had another size; RuntimeError `mismatch` when
   *   the ranks do not ask for the same.
   */
  async take(
    id: number,
    bytes: number,
  ): Promise<{ allocation: SymmetricAllocation; isNew: boolean; free: () => Promise<void> }> {
    if (!Number.isSafeInteger(id) || id < 0) throw new UsageError(`${id} is no allocation id`, "ids count from 0");
    const held = this.#entries.get(id);
    const own = { id, bytes, held: held === undefined ? "none" : held.isAlive ? "alive" : `${held.bytes}` };
    const all = await this.exchange.allGather(`memory of id ${id}`, own);
    const other = all.findIndex((ask) => ask.id !== id || ask.bytes !== bytes || ask.held !== own.held);
    if (other >= 0)
      throw new RuntimeError(
        `ranks are not in step: rank ${this.rank} asks for ${bytes} bytes of id ${id} (there: ${own.held}), rank ${other} for ${all[other]!.bytes} bytes of id ${all[other]!.id} (there: ${all[other]!.held})`,
        "every rank must ask for the same persistent memory in the same order",
        "mismatch",
      );
    if (held?.isAlive === true)
      throw new UsageError(`the tensor of id ${id} is alive`, "free it first, or take another id");
    if (held !== undefined && held.bytes !== bytes)
      throw new UsageError(`the memory of id ${id} has ${held.bytes} bytes, not ${bytes}`, "take another id");
    const entry = held ?? { bytes, allocation: await this.pool.allocate(bytes, `id ${id}`), isAlive: true };
    entry.isAlive = true;
    this.#entries.set(id, entry);
    const free = (): Promise<void> => {
      entry.isAlive = false;
      return Promise.resolve();
    };
    return { allocation: entry.allocation, isNew: held === undefined, free };
  }
}
