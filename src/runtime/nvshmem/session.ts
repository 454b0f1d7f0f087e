/**
 * NVSHMEM in this process. It has one world, which is set up once, explicitly, by all of its ranks, shared by every
 * group on it, and finalised when the last of them lets go: nothing of that hides in an allocation or a garbage
 * collection.
 */
import { together, within } from "../bounded.js";
import { agreeOnLibrary } from "../capabilities/multicast.js";
import { requireDevice } from "../cuda/device.js";
import type { ExchangeChannel } from "../cuda/fd-exchange.js";
import { skipDestructors } from "../end-at-once.js";
import { defaultTimeoutMs, type Environment, readEnvInteger } from "../env.js";
import { RuntimeError } from "../errors.js";
import { type DevicePointer, native } from "../native.js";
import { gpuIdentity, requireOwnGpus } from "../own-gpus.js";
import { Arena } from "./arena.js";
import { type NvshmemLibrary, openNvshmem } from "./library.js";

/** What a group brings; the first makes the world of its members. */
export interface NvshmemOptions {
  readonly device: number;
  /** Index of this process in the group, and the group's size. */
  readonly rank: number;
  readonly world: number;
  /** Over the group, in its order. */
  readonly exchange: ExchangeChannel;
  /** The group's members by their rank in the run. */
  readonly ranks: readonly number[];
  /** Bound of each collective step; default COLLC_TIMEOUT_MS or 60 s. */
  readonly timeoutMs?: number | undefined;
  readonly env?: Environment | undefined;
}

const lostHelp = "a rank failed or left; its own message, and NVSHMEM_DEBUG=WARN, say more";

/** See the file's head. */
export class NvshmemSession {
  readonly library: NvshmemLibrary;
  readonly device: number;
  /** The world's members by their rank in the run; a PE is an index of it. */
  readonly ranks: readonly number[];
  readonly timeoutMs: number;
  /** For groups of some of the ranks; empty in a world of one. */
  readonly arena: Arena;
  arenaPointer: DevicePointer = 0n;
  readonly #runDestructors = skipDestructors();
  #holders = 1;
  /** Set when a collective call never ended: NVSHMEM is then of no more use to this process. */
  #lost = false;

  private constructor(library: NvshmemLibrary, options: NvshmemOptions, timeoutMs: number, arena: Arena) {
    this.library = library;
    this.device = options.device;
    this.ranks = options.ranks;
    this.timeoutMs = timeoutMs;
    this.arena = arena;
  }

  /**
   * The session, set up now if there is none: then collective over the group, which becomes NVSHMEM's world.
   * Give it back with {@link release}.
   * @throws MachineError when NVSHMEM is missing; RuntimeError when this group's ranks are not all in the world that
   *   was set up, or on another device; `timeout`; what failed on any rank, on all of them.
   */
  static async acquire(options: NvshmemOptions): Promise<NvshmemSession> {
    if (current !== null) {
      current.#join(options);
      return current;
    }
    const { device, rank, world, exchange, ranks, env, timeoutMs = defaultTimeoutMs(env) } = options;
    if (ranks.length !== world || ranks[rank] === undefined) {
      throw new RuntimeError(`${ranks.length} ranks and index ${rank} do not describe a group of ${world}`);
    }
    const multicast = await agreeOnLibrary(exchange, "nvshmem", device, env);
    const library = await together(exchange, rank, "nvshmem: opening", async () => {
      requireDevice(device);
      return openNvshmem({ env, multicast });
    });
    const own = await together(exchange, rank, "nvshmem: unique id", () =>
      rank === 0 ? Buffer.from(native().nvshmemUniqueId()).toString("hex") : "",
    );
    const megabytes = readEnvInteger("COLLC_NVSHMEM_ARENA_MB", env, { max: 1 << 20 }) ?? 64;
    const hellos = await exchange.allGather("nvshmem: version", {
      id: own,
      version: library.version,
      megabytes,
      gpu: gpuIdentity(device),
    });
    const other = hellos.findIndex((hello) => hello.version !== library.version || hello.megabytes !== megabytes);
    if (other >= 0) {
      const text = ({ version, megabytes }: { version: string; megabytes: number }): string =>
        `NVSHMEM ${version} with an arena of ${megabytes} MiB`;
      throw new RuntimeError(
        `ranks differ: rank ${rank} has ${text(hellos[rank]!)}, rank ${other} ${text(hellos[other]!)}`,
        "COLLC_NVSHMEM and COLLC_NVSHMEM_ARENA_MB must be the same everywhere",
        "mismatch",
      );
    }
    requireOwnGpus(
      "NVSHMEM",
      hellos.map(({ gpu }) => gpu),
    );
    const id = Buffer.from(hellos[0]!.id, "hex");
    const session = new NvshmemSession(library, options, timeoutMs, new Arena(world === 1 ? 0 : megabytes * 2 ** 20));
    await together(exchange, rank, "nvshmem: initialisation", () =>
      session.collective("NVSHMEM's initialisation", () => native().nvshmemInit(device, rank, world, id)),
    );
    current = session;
    try {
      await session.#makeArena(exchange, rank);
    } catch (error) {
      await session.release();
      throw error;
    }
    return session;
  }

  async #makeArena(exchange: ExchangeChannel, rank: number): Promise<void> {
    if (this.arena.bytes === 0) return;
    await together(exchange, rank, "nvshmem: arena", async () => {
      this.arenaPointer = await this.collective("allocating NVSHMEM's arena", () =>
        native().nvshmemAllocate(this.arena.bytes),
      );
      if (this.arenaPointer === 0n) throw heapFull(this.arena.bytes, "its arena");
    });
  }

  /** The session, if there is one. */
  static get current(): NvshmemSession | null {
    return current;
  }

  #join({ ranks, device }: NvshmemOptions): void {
    this.requireWhole();
    const outside = ranks.filter((rank) => !this.ranks.includes(rank));
    if (outside.length > 0) {
      throw new RuntimeError(
        `NVSHMEM was set up over ranks ${this.ranks.join(", ")}, and rank ${outside.join(", ")} is not among them`,
        "it has one world a process: make the group of all ranks first",
      );
    }
    if (device !== this.device) {
      throw new RuntimeError(`NVSHMEM was set up on GPU ${this.device}, not on GPU ${device}: it has one a process`);
    }
    this.#holders++;
  }

  /** PE of a rank of the run. */
  peOf(rank: number): number {
    return this.ranks.indexOf(rank);
  }

  /** Whether these ranks, in this order, are NVSHMEM's whole world. */
  isWorld(ranks: readonly number[]): boolean {
    return ranks.length === this.ranks.length && ranks.every((rank, i) => rank === this.ranks[i]);
  }

  /**
   * Runs a call of NVSHMEM that waits for other ranks.
   * @throws RuntimeError `timeout`; every call after that throws at once.
   */
  async collective<T>(what: string, call: () => Promise<T>): Promise<T> {
    this.requireWhole();
    try {
      return await within(call(), this.timeoutMs, what, lostHelp);
    } catch (error) {
      if (error instanceof RuntimeError && error.code === "timeout") this.#lost = true;
      throw error;
    }
  }

  /** @throws RuntimeError after a collective call that never ended. */
  requireWhole(): void {
    if (!this.#lost) return;
    throw new RuntimeError(
      "NVSHMEM waits for a rank that never came and cannot be used any more",
      "start the run again",
    );
  }

  /**
   * Collective for the last holder, which finalises NVSHMEM. Never throws: what cannot be given back is left.
   * @param together false where the ranks are known not to come together any more: then nothing waits for them.
   */
  async release(together = true): Promise<void> {
    if (--this.#holders > 0) return;
    if (current === this) current = null;
    if (this.#lost || !together) return;
    try {
      if (this.arenaPointer !== 0n) {
        await this.collective("freeing NVSHMEM's arena", () => native().nvshmemFree(this.arenaPointer));
      }
      await this.collective("finalising NVSHMEM", () => native().nvshmemFinalize());
      this.#runDestructors();
    } catch {
      // A peer is gone; the process ends without a finalised NVSHMEM.
    }
  }
}

let current: NvshmemSession | null = null;

/** What a full heap is told as. */
export function heapFull(bytes: number, what: string): RuntimeError {
  return new RuntimeError(
    `NVSHMEM's heap has no ${bytes} bytes for ${what}`,
    "raise NVSHMEM_SYMMETRIC_SIZE (or NVSHMEM_MAX_MEMORY_PER_GPU, where the heap grows), or use smaller sizes",
  );
}
