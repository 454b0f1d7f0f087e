/** Symmetric memory from NVSHMEM's heap, with its peer pointers under our kernels where peers are reachable. */
import { together } from "../bounded.js";
import type { SymmetricAllocation } from "../cuda/symmetric.js";
import { RuntimeError } from "../errors.js";
import { type DevicePointer, native } from "../native.js";
import type { RemoteCalls, SymmetricProvider } from "../symmetric-provider.js";
import { Arena, commonFit } from "./arena.js";
import { NvshmemOperations } from "./operations.js";
import { heapFull, type NvshmemOptions, NvshmemSession } from "./session.js";
import { makeTeam, type NvshmemGroupTeam } from "./teams.js";

export interface NvshmemProviderOptions extends NvshmemOptions {
  /** Leave peers' addresses 0n, as of ranks on another node: for tests of what goes through NVSHMEM's calls then. */
  readonly pretendUnreachable?: boolean;
}

/** See the file's head; {@link operations} has what needs no addresses. */
export class NvshmemProvider implements SymmetricProvider {
  readonly name = "nvshmem";
  readonly session: NvshmemSession;
  readonly remote: RemoteCalls = {
    put: (stream, target, source, bytes, peer) => {
      if (bytes === 0) return;
      native().nvshmemPut(stream, target, source, bytes, this.#pe(peer));
      native().nvshmemQuiet(stream);
    },
    get: (stream, target, source, bytes, peer) => {
      if (bytes > 0) native().nvshmemGet(stream, target, source, bytes, this.#pe(peer));
    },
    signal: (stream, word, peer) => {
      native().nvshmemQuiet(stream);
      native().nvshmemSignal(stream, word, 1n, true, this.#pe(peer));
    },
  };
  readonly #options: NvshmemProviderOptions;
  #operations: NvshmemOperations | null = null;
  #team: NvshmemGroupTeam | null = null;
  #count = 0;
  #closed = false;

  private constructor(session: NvshmemSession, options: NvshmemProviderOptions) {
    this.session = session;
    this.#options = options;
  }

  /**
   * Sets NVSHMEM up over the group, or joins what is set up. Collective.
   * @throws as {@link NvshmemSession.acquire}.
   */
  static async create(options: NvshmemProviderOptions): Promise<NvshmemProvider> {
    return new NvshmemProvider(await NvshmemSession.acquire(options), options);
  }

  async allocate(bytes: number, name = "memory"): Promise<SymmetricAllocation> {
    const { rank, exchange, ranks } = this.#options;
    this.#requireOpen();
    if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new RuntimeError(`cannot allocate ${bytes} bytes`);
    const label = `nvshmem ${name} #${this.#count++}`;
    const asks = await exchange.allGather(`${label}: size`, bytes);
    const other = asks.findIndex((ask) => ask !== bytes);
    if (other >= 0) {
      throw new RuntimeError(
        `ranks ask for different sizes of ${label}: rank ${rank} for ${bytes} bytes, rank ${other} for ${asks[other]}`,
        "symmetric memory has the same size on every rank",
        "mismatch",
      );
    }
    const mappedBytes = Arena.rounded(bytes);
    const whole = this.session.isWorld(ranks);
    const { pointer, giveBack } = whole
      ? await this.#fromHeap(mappedBytes, label)
      : await this.#fromArena(mappedBytes, label);
    let freed = false;
    return {
      bytes,
      mappedBytes,
      device: this.session.device,
      localPointer: pointer,
      peerPointers: ranks.map((peer) => this.#peerPointer(pointer, peer)),
      free: async () => {
        if (freed) throw new RuntimeError(`${label} was freed before`);
        freed = true;
        await exchange.barrier(`${label}: free`);
        await giveBack();
      },
    };
  }

  /**
   * Host-side operations of this group. Collective the first time, because they have signal words of their own.
   * They reach every rank, also those whose `peerPointers` are 0n.
   */
  async operations(): Promise<NvshmemOperations> {
    this.#requireOpen();
    return (this.#operations ??= await NvshmemOperations.create(this, this.#options));
  }

  /**
   * NVSHMEM's team of this group, for its own collectives. Collective the first time.
   * @throws RuntimeError when only the whole run could make it; the message says what works instead.
   */
  async team(): Promise<NvshmemGroupTeam> {
    this.#requireOpen();
    return (this.#team ??= await makeTeam(this.session, this.#options));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { exchange } = this.#options;
    let together = true;
    try {
      await this.#operations?.close();
      await this.#team?.destroy();
      await exchange.barrier("nvshmem: closing");
    } catch {
      together = false; // a peer is gone
    }
    await this.session.release(together);
  }

  #requireOpen(): void {
    if (this.#closed) throw new RuntimeError("the nvshmem provider was closed");
    this.session.requireWhole();
  }

  #pe(peer: number): number {
    return this.session.peOf(this.#options.ranks[peer]!);
  }

  #peerPointer(pointer: DevicePointer, peer: number): DevicePointer {
    const { ranks, rank, pretendUnreachable } = this.#options;
    if (peer === ranks[rank]) return pointer;
    return pretendUnreachable === true ? 0n : native().nvshmemPeerPointer(pointer, this.session.peOf(peer));
  }

  async #fromHeap(bytes: number, label: string): Promise<Stretch> {
    const { rank, exchange } = this.#options;
    const { session } = this;
    const pointer = await together(exchange, rank, `${label}: allocation`, async () => {
      const pointer = await session.collective(`allocating ${label}`, () => native().nvshmemAllocate(bytes));
      if (pointer === 0n) throw heapFull(bytes, label);
      return pointer;
    });
    return { pointer, giveBack: () => session.collective(`freeing ${label}`, () => native().nvshmemFree(pointer)) };
  }

  async #fromArena(bytes: number, label: string): Promise<Stretch> {
    const { exchange } = this.#options;
    const { arena, arenaPointer, device } = this.session;
    const offset = commonFit(
      (await exchange.allGather(
        `${label}: free ranges`,
        arena.free.map(([start, length]) => [start, length]),
      )) as [number, number][][],
      bytes,
    );
    if (offset === null) {
      throw new RuntimeError(
        `NVSHMEM's arena of ${arena.bytes} bytes has no ${bytes} free on all ranks of the group for ${label}`,
        "raise COLLC_NVSHMEM_ARENA_MB, or allocate from the group of all ranks, whose heap grows",
      );
    }
    arena.take(offset, bytes);
    const pointer = arenaPointer + BigInt(offset);
    native().memorySet(device, pointer, 0, bytes);
    // Nobody's peers write before everybody has zeroed.
    await exchange.barrier(`${label}: zeroed`);
    return { pointer, giveBack: () => Promise.resolve(arena.give(offset)) };
  }
}

interface Stretch {
  readonly pointer: DevicePointer;
  readonly giveBack: () => Promise<void>;
}
