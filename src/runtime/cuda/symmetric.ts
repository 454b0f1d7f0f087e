/**
 * Symmetric memory: the same number of bytes on every rank, mapped by all of them, so that kernels read and write
 * peers' memory with plain loads and stores. One process a rank, or all ranks in one process. Between processes of one host
 * descriptors travel through {@link FdExchange}; between hosts of one NVLink domain fabric handles go through the store.
 */
import { together } from "../bounded.js";
import { MachineError, messageOf, RuntimeError } from "../errors.js";
import { native, type DevicePointer, type PhysicalHandle } from "../native.js";
import type { SymmetricProvider } from "../symmetric-provider.js";
import { explain, requireCapable } from "./device.js";
import type { ExchangeChannel, FdExchange } from "./fd-exchange.js";

/** One rank's part of a symmetric allocation. Zeroed when made. */
export interface SymmetricAllocation {
  /** Bytes asked for. */
  readonly bytes: number;
  /** Bytes mapped: rounded up to the granularity, usually 2 MiB. */
  readonly mappedBytes: number;
  readonly device: number;
  readonly localPointer: DevicePointer;
  /** Every rank's memory as this rank's kernels address it; the own entry is `localPointer`. */
  readonly peerPointers: readonly DevicePointer[];
  /**
   * Unmaps it everywhere. Collective when ranks are processes: nobody unmaps before everybody has called, so finish
   * the kernels that use it, then call. Unmaps here even when a peer is gone, and then throws.
   */
  free(): Promise<void>;
}

export interface SymmetricHeapOptions {
  readonly device: number;
  readonly rank: number;
  readonly world: number;
  readonly exchange: ExchangeChannel;
  /** Not needed for a world of 1, nor with fabric handles. */
  readonly fds: FdExchange | null;
  /** Fabric handles instead of descriptors: for ranks on several hosts of one NVLink domain. */
  readonly fabric?: boolean | undefined;
}

/** Allocates symmetric memory for one rank of a group of processes. All ranks make the same calls in order. */
export class SymmetricHeap implements SymmetricProvider {
  readonly name = "cuda";
  readonly #options: SymmetricHeapOptions;
  #count = 0;

  /** @throws MachineError when the device cannot do it. */
  constructor(options: SymmetricHeapOptions) {
    requireCapable(options.device);
    if (options.world > 1 && options.fds === null && options.fabric !== true)
      throw new RuntimeError("several ranks need a descriptor exchange");
    this.#options = options;
  }

  /** Holds nothing beyond its allocations. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Collective.
   * @param name for messages.
   * @throws RuntimeError `mismatch` when the ranks ask for different sizes; what failed on any rank, on all of them.
   */
  async allocate(bytes: number, name = "memory"): Promise<SymmetricAllocation> {
    const { device, rank, world, exchange, fds, fabric = false } = this.#options;
    if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new RuntimeError(`cannot allocate ${bytes} bytes`);
    const label = `symmetric ${name} #${this.#count++}`;
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

    // A rank that fails must not leave the others waiting: each phase ends by telling everybody how it went.
    const mappings = new MappingSet();
    try {
      const own = await together(exchange, rank, `${label}: allocation`, () => {
        const physical = mappings.create(device, mappedBytes, fabric);
        const pointer = mappings.map(physical, mappedBytes, alignment, [device]);
        native().memorySet(device, pointer, 0, mappedBytes);
        if (world > 1 && !fabric) mappings.export(physical);
        const handle = fabric ? Buffer.from(native().physicalExportFabric(physical)).toString("hex") : "";
        return { pointer, handle };
      });
      const handles = fabric ? await exchange.allGather(`${label}: fabric handles`, own.handle) : [];
      const peerPointers = await together(exchange, rank, `${label}: mapping`, async () => {
        if (world > 1 && !fabric) mappings.received(await fds!.allGather(mappings.exported));
        return asks.map((_, peer) => {
          if (peer === rank) return own.pointer;
          const physical = mappings.import(device, peer, handles[peer]);
          return mappings.map(physical, mappedBytes, alignment, [device]);
        });
      });
      mappings.releasePhysical();
      const free = once(label, async () => {
        try {
          await exchange.barrier(`${label}: free`);
        } finally {
          mappings.unmapAll();
        }
      });
      return { bytes, mappedBytes, device, localPointer: own.pointer, peerPointers, free };
    } catch (error) {
      mappings.abandon();
      throw error;
    }
  }
}

/**
 * Symmetric memory for ranks that share this process: entry r is rank r's, on `devices[r]`. Ranks may share a device.
 * @throws MachineError when two of the devices cannot reach each other.
 */
export function allocateInProcess(devices: readonly number[], bytes: number): SymmetricAllocation[] {
  if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new RuntimeError(`cannot allocate ${bytes} bytes`);
  const distinct = [...new Set(devices)];
  for (const device of distinct) requireCapable(device);
  for (const a of distinct) for (const b of distinct) if (a !== b) requirePeerAccess(a, b);

  const alignment = Math.max(...distinct.map((device) => native().memoryGranularity(device)));
  const mappedBytes = Math.ceil(bytes / alignment) * alignment;
  const sets = devices.map(() => new MappingSet());
  try {
    const peerPointers = devices.map((device, rank) => {
      const physical = sets[rank]!.create(device, mappedBytes);
      const pointer = sets[rank]!.map(physical, mappedBytes, alignment, distinct);
      native().memorySet(device, pointer, 0, mappedBytes);
      sets[rank]!.releasePhysical();
      return pointer;
    });
    return devices.map((device, rank) => ({
      bytes,
      mappedBytes,
      device,
      localPointer: peerPointers[rank]!,
      peerPointers,
      free: once(`rank ${rank}'s symmetric memory`, () => Promise.resolve(sets[rank]!.unmapAll())),
    }));
  } catch (error) {
    for (const set of sets) set.abandon();
    throw error;
  }
}

function requirePeerAccess(device: number, peer: number): void {
  if (native().canAccessPeer(device, peer)) return;
  throw new MachineError(
    `GPU ${device} cannot reach the memory of GPU ${peer}`,
    "the cuda backend needs NVLink or PCIe peer access between all GPUs of a run",
  );
}

/** Descriptors, physical memory and mappings of one allocation, taken back in one place whatever went wrong where. */
class MappingSet {
  readonly #physical: PhysicalHandle[] = [];
  readonly #pointers: DevicePointer[] = [];
  /** Ours, to give away. */
  #exported = -1;
  /** By rank; -1 for none, or no longer open. */
  #received: number[] = [];

  create(device: number, bytes: number, fabric = false): PhysicalHandle {
    const physical = explain(() => native().physicalCreate(device, bytes, fabric));
    this.#physical.push(physical);
    return physical;
  }

  export(physical: PhysicalHandle): void {
    this.#exported = native().physicalExport(physical);
  }

  get exported(): number {
    return this.#exported;
  }

  /** Takes over the peers' descriptors. */
  received(descriptors: readonly number[]): void {
    this.#received = [...descriptors];
  }

  /** Takes in the memory behind a peer's descriptor, or behind its fabric handle. */
  import(device: number, peer: number, handle?: string): PhysicalHandle {
    try {
      const physical =
        handle === undefined
          ? native().physicalImport(device, this.#received[peer]!)
          : native().physicalImportFabric(device, Buffer.from(handle, "hex"));
      this.#physical.push(physical);
      return physical;
    } catch (error) {
      throw new RuntimeError(
        `GPU ${device} cannot take rank ${peer}'s memory: ${messageOf(error)}`,
        "all ranks need GPUs with peer access, in one container or with shared IPC",
      );
    }
  }

  map(physical: PhysicalHandle, bytes: number, alignment: number, devices: readonly number[]): DevicePointer {
    const pointer = explain(() => native().memoryMap(physical, bytes, alignment, devices));
    this.#pointers.push(pointer);
    return pointer;
  }

  /** The mappings alone keep the memory from here on. */
  releasePhysical(): void {
    for (const fd of [this.#exported, ...this.#received.splice(0)]) if (fd >= 0) native().fdClose(fd);
    this.#exported = -1;
    for (const physical of this.#physical.splice(0)) native().physicalRelease(physical);
  }

  /** Unmaps everything, also after a failure; throws the first one. */
  unmapAll(): void {
    const errors: unknown[] = [];
    for (const pointer of this.#pointers.splice(0).reverse()) attempt(errors, () => native().memoryUnmap(pointer));
    for (const physical of this.#physical.splice(0)) attempt(errors, () => native().physicalRelease(physical));
    for (const fd of [this.#exported, ...this.#received.splice(0)]) {
      if (fd >= 0) attempt(errors, () => native().fdClose(fd));
    }
    this.#exported = -1;
    if (errors.length > 0) throw errors[0];
  }

  /** {@link unmapAll} on the way out of a failure, whose error is the one to report. */
  abandon(): void {
    try {
      this.unmapAll();
    } catch {
      // The first failure is already on its way.
    }
  }
}

function attempt(errors: unknown[], action: () => void): void {
  try {
    action();
  } catch (error) {
    errors.push(error);
  }
}

function once(what: string, action: () => Promise<void>): () => Promise<void> {
  let done = false;
  return async () => {
    if (done) throw new RuntimeError(`${what} was freed before`);
    done = true;
    await action();
  };
}
