/**
 * Symmetric memory from NCCL: memory that NCCL allocates, registered as a window so that its own collectives take their
 * symmetric paths, and peers' addresses under which our kernels reach it.
 *
 * The addresses come from NCCL where it has them on the host (ncclGetPeerDevicePointer, since 2.29). Before, its device
 * functions alone knew them, in headers for kernels; then, and where NCCL makes no window, the memory's physical handle
 * is exported and mapped by us, which works from 2.19 on because ncclMemAlloc allocates with the driver's VMM. Such handles
 * do not leave a host: ranks of other hosts have no addresses then.
 */
import { together, within } from "../bounded.js";
import { agreeOnLibrary } from "../capabilities/multicast.js";
import { requireCapable } from "../cuda/device.js";
import { type ExchangeChannel, FdExchange } from "../cuda/fd-exchange.js";
import type { SymmetricAllocation } from "../cuda/symmetric.js";
import { defaultTimeoutMs, type Environment } from "../env.js";
import { MachineError, messageOf, RuntimeError } from "../errors.js";
import { type DevicePointer, native, type NcclWindowHandle } from "../native.js";
import { gpuIdentity, requireOwnGpus } from "../own-gpus.js";
import type { SymmetricProvider } from "../symmetric-provider.js";
import { NcclCommunicator } from "./communicator.js";
import { type NcclLibrary, ncclUniqueId, openNccl } from "./library.js";

/** What every provider is made from. */
export interface NcclProviderOptions {
  readonly device: number;
  /** Index of this process in the group, and the group's size. */
  readonly rank: number;
  readonly world: number;
  /** Over the group, in its order. */
  readonly exchange: ExchangeChannel;
  /** The group's members by their rank in the run, for messages. */
  readonly ranks: readonly number[];
  /**
   * For addresses by exported handles, between the ranks of this host: those elsewhere stay out of reach. Made for all ranks when it
   * is needed and left out.
   */
  readonly fds?: FdExchange | null;
  /** Bound of each collective step; default COLLC_TIMEOUT_MS or 60 s. */
  readonly timeoutMs?: number | undefined;
  readonly env?: Environment;
  /** Take the addresses by exporting handles even where NCCL has them: for tests. */
  readonly exportHandles?: boolean;
  /** Leave peers' addresses 0n, as of ranks on another node: for tests of what goes through NCCL then. */
  readonly pretendUnreachable?: boolean;
}

/** See the file's head. */
export class NcclWindowProvider implements SymmetricProvider {
  readonly name = "nccl";
  readonly library: NcclLibrary;
  /** The group's communicator, for NCCL's own collectives on the same memory. */
  readonly communicator: NcclCommunicator;
  /** How peers' addresses are found. */
  readonly addresses: "nccl" | "exported handles";
  readonly #options: NcclProviderOptions & { readonly timeoutMs: number };
  #ownFds: FdExchange | null = null;
  #count = 0;
  #closed = false;

  private constructor(
    options: NcclProviderOptions & { readonly timeoutMs: number },
    library: NcclLibrary,
    communicator: NcclCommunicator,
    addresses: NcclWindowProvider["addresses"],
  ) {
    this.#options = options;
    this.library = library;
    this.communicator = communicator;
    this.addresses = addresses;
  }

  /**
   * Opens NCCL and makes the group's communicator. Collective.
   * @throws MachineError when NCCL is missing or older than 2.19; RuntimeError when the ranks have different versions,
   *   `timeout`, and what failed on any rank, on all of them.
   */
  static async create(options: NcclProviderOptions): Promise<NcclWindowProvider> {
    const { device, rank, world, exchange, env, timeoutMs = defaultTimeoutMs(env) } = options;
    const multicast = await agreeOnLibrary(exchange, "nccl", device, env);
    const library = await together(exchange, rank, "nccl: opening", async () => {
      requireCapable(device);
      const opened = await openNccl({ env, multicast });
      if (!opened.symbols.memAlloc) {
        throw new MachineError(
          `NCCL ${opened.version} (${opened.path}) has no symmetric memory`,
          "the nccl backend needs NCCL 2.19, and 2.27 for windows: pip install -U nvidia-nccl-cu13",
        );
      }
      return opened;
    });
    const uniqueId = await together(exchange, rank, "nccl: unique id", () => (rank === 0 ? ncclUniqueId() : null));
    const hellos = await exchange.allGather("nccl: version", {
      version: library.version,
      id: uniqueId === null ? "" : Buffer.from(uniqueId).toString("hex"),
      gpu: gpuIdentity(device),
      pointers: library.symbols.windows && library.symbols.peerPointers && options.exportHandles !== true,
    });
    const other = hellos.findIndex((hello) => hello.version !== library.version);
    if (other >= 0) {
      throw new RuntimeError(
        `ranks have different NCCLs: rank ${rank} ${library.version}, rank ${other} ${hellos[other]!.version}`,
        "COLLC_NCCL names the one to use",
        "mismatch",
      );
    }
    requireOwnGpus(
      "NCCL",
      hellos.map(({ gpu }) => gpu),
    );
    const communicator = await together(exchange, rank, "nccl: communicator", () =>
      NcclCommunicator.create({ device, rank, world, uniqueId: Buffer.from(hellos[0]!.id, "hex"), timeoutMs }),
    );
    const addresses = hellos.every((hello) => hello.pointers) ? "nccl" : "exported handles";
    return new NcclWindowProvider({ ...options, timeoutMs }, library, communicator, addresses);
  }

  async allocate(bytes: number, name = "memory"): Promise<SymmetricAllocation> {
    const { device, rank, exchange } = this.#options;
    if (this.#closed) throw new RuntimeError("the nccl provider was closed");
    if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new RuntimeError(`cannot allocate ${bytes} bytes`);
    const label = `nccl ${name} #${this.#count++}`;
    const granularity = native().memoryGranularity(device);
    const asks = await exchange.allGather(`${label}: size`, { bytes, granularity });
    const other = asks.findIndex((ask) => ask.bytes !== bytes);
    if (other >= 0) {
      throw new RuntimeError(
        `ranks ask for different sizes of ${label}: rank ${rank} for ${bytes} bytes, rank ${other} for ${asks[other]!.bytes}`,
        "symmetric memory has the same size on every rank",
        "mismatch",
      );
    }
    const alignment = Math.max(...asks.map((ask) => ask.granularity));
    const mappedBytes = Math.ceil(bytes / alignment) * alignment;
    const held = new Held(device);
    try {
      const localPointer = await together(exchange, rank, `${label}: allocation`, () => {
        const pointer = held.allocate(mappedBytes);
        native().memorySet(device, pointer, 0, mappedBytes);
        return pointer;
      });
      const peerPointers = await this.#peerPointers(held, localPointer, mappedBytes, label);
      return {
        bytes,
        mappedBytes,
        device,
        localPointer,
        peerPointers,
        free: () => this.#free(held, label),
      };
    } catch (error) {
      held.unmap();
      // A window stays registered, and its memory with it: taking it back is collective, and a peer may be gone.
      if (held.window === null) held.release();
      throw error;
    }
  }

  async #peerPointers(
    held: Held,
    local: DevicePointer,
    bytes: number,
    label: string,
  ): Promise<readonly DevicePointer[]> {
    const { rank, world, exchange, timeoutMs, pretendUnreachable } = this.#options;
    if (this.library.symbols.windows) {
      // NCCL's own collectives find the window by the address, whoever supplies peers' addresses to kernels.
      await together(exchange, rank, `${label}: window`, async () => {
        held.window = await within(
          native().ncclWindowRegister(this.communicator.handle, local, bytes),
          timeoutMs,
          `registering the window of ${label}`,
          "a rank failed or left; its own message says more",
        );
      });
    }
    const alone = Array.from({ length: world }, (_, peer) => (peer === rank ? local : 0n));
    if (pretendUnreachable === true) return alone;
    const { window } = held;
    const windows = await exchange.allGather(`${label}: has window`, window !== null);
    if (this.addresses === "nccl" && windows.every(Boolean)) {
      return await together(exchange, rank, `${label}: addresses`, () =>
        windows.map((_, peer) => (peer === rank ? local : native().ncclPeerPointer(window!, 0, peer))),
      );
    }
    if (world === 1 || this.#options.fds === null) return alone;
    const fds = this.#options.fds ?? (this.#ownFds ??= await FdExchange.connect({ exchange, rank, world, timeoutMs }));
    return await together(exchange, rank, `${label}: mapping`, async () => {
      const own = held.export(local);
      let descriptors: readonly number[] = [];
      try {
        descriptors = await fds.allGather(own);
        return descriptors.map((fd, peer) => (peer === rank ? local : fd < 0 ? 0n : held.map(fd, bytes, peer)));
      } finally {
        for (const fd of [own, ...descriptors]) if (fd >= 0) native().fdClose(fd);
      }
    });
  }

  /** Collective; once. Waits until everybody called, then takes everything back even if a peer is gone, and throws. */
  async #free(held: Held, label: string): Promise<void> {
    if (held.freed) throw new RuntimeError(`${label} was freed before`);
    held.freed = true;
    const { exchange, timeoutMs } = this.#options;
    let failure: { readonly error: unknown } | null = null;
    const attempt = async (action: () => void | Promise<void>): Promise<void> => {
      try {
        await action();
      } catch (error) {
        failure ??= { error };
      }
    };
    await attempt(() => exchange.barrier(`${label}: free`));
    await attempt(() => held.unmap());
    // Nobody frees memory that a peer still has mapped through its window.
    const { window } = held;
    if (window !== null && failure === null) {
      await attempt(() =>
        within(
          native().ncclWindowDeregister(window),
          timeoutMs,
          `giving back the window of ${label}`,
          "a rank failed or left; its own message says more",
        ),
      );
      await attempt(() => exchange.barrier(`${label}: windows are gone`));
    }
    if (failure === null || window === null) await attempt(() => held.release());
    if (failure !== null) throw (failure as { readonly error: unknown }).error;
  }

  stop(): Promise<void> {
    return this.communicator.abort(this.#options.timeoutMs);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#ownFds?.close();
    const { exchange, timeoutMs } = this.#options;
    try {
      await exchange.barrier("nccl: closing");
      await this.communicator.destroy(timeoutMs);
    } catch {
      // A peer is gone. Aborting is local, and it may refuse what destroy began.
      await this.communicator.abort(timeoutMs).catch(() => undefined);
    }
  }
}

/** What one allocation holds here. */
class Held {
  window: NcclWindowHandle | null = null;
  freed = false;
  #pointer: DevicePointer | null = null;
  readonly #mappings: DevicePointer[] = [];

  constructor(readonly device: number) {}

  allocate(bytes: number): DevicePointer {
    return (this.#pointer = native().ncclMemAlloc(this.device, bytes));
  }

  /** A descriptor of the memory, the caller's to close. */
  export(pointer: DevicePointer): number {
    const physical = native().physicalRetain(this.device, pointer);
    try {
      return native().physicalExport(physical);
    } finally {
      native().physicalRelease(physical);
    }
  }

  map(fd: number, bytes: number, peer: number): DevicePointer {
    try {
      const physical = native().physicalImport(this.device, fd);
      try {
        const granularity = native().memoryGranularity(this.device);
        const pointer = native().memoryMap(physical, bytes, granularity, [this.device]);
        this.#mappings.push(pointer);
        return pointer;
      } finally {
        native().physicalRelease(physical);
      }
    } catch (error) {
      throw new RuntimeError(`GPU ${this.device} cannot take rank ${peer}'s memory: ${messageOf(error)}`);
    }
  }

  /** Gives up peers' memory. */
  unmap(): void {
    for (const pointer of this.#mappings.splice(0)) native().memoryUnmap(pointer);
  }

  /** Gives up the own. */
  release(): void {
    if (this.#pointer !== null) native().ncclMemFree(this.device, this.#pointer);
    this.#pointer = null;
  }
}
