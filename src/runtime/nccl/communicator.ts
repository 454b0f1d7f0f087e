/**
 * NCCL over device memory, typed: a peer to measure against. Collectives are enqueued on a stream and capture into
 * graphs. Counts are elements.
 */
import type { Environment } from "../env.js";
import { MachineError, RuntimeError } from "../errors.js";
import { isNativeError, native, type DevicePointer, type NcclCommHandle, type StreamHandle } from "../native.js";
import { requireDevice } from "../cuda/device.js";
import { ncclCandidates } from "./discover.js";

/** ncclDataType_t. */
export const ncclDTypes = {
  i8: 0,
  u8: 1,
  i32: 2,
  u32: 3,
  i64: 4,
  u64: 5,
  f16: 6,
  f32: 7,
  f64: 8,
  bf16: 9,
  f8e4m3: 10,
  f8e5m2: 11,
} as const;
export type NcclDType = keyof typeof ncclDTypes;

/** ncclRedOp_t. */
export const ncclOps = { sum: 0, prod: 1, max: 2, min: 3, avg: 4 } as const;
export type NcclOp = keyof typeof ncclOps;

export interface NcclLibrary {
  readonly path: string;
  /** "2.27.3". */
  readonly version: string;
}

/**
 * Opens NCCL, once a process.
 * @param options.multicast lets NCCL use NVLink SHARP. Off unless NCCL_NVLS_ENABLE is set: a crash of a process that
 *   uses multicast can put the GPUs of a shared machine out of service.
 * @throws MachineError with every path tried.
 */
export async function openNccl(
  options: { readonly env?: Environment; readonly multicast?: boolean } = {},
): Promise<NcclLibrary> {
  const paths = (await ncclCandidates(options.env)).map((candidate) => candidate.path);
  try {
    const { path, version } = native().openNccl(paths, options.multicast ?? false);
    return { path, version: versionText(version) };
  } catch (error) {
    if (!isNativeError(error) || error.library !== "nccl") throw error;
    throw new MachineError(
      error.message,
      "install it (`pip install nvidia-nccl-cu13`, or cu12 for CUDA 12), or set COLLC_NCCL to libnccl.so.2",
    );
  }
}

/** NCCL's version number as people write it; before 2.9 it counted in thousands. */
export function versionText(version: number): string {
  const base = version < 10_000 ? 1000 : 10_000;
  return `${Math.floor(version / base)}.${Math.floor((version % base) / 100)}.${version % 100}`;
}

/** What names a communicator before it exists; rank 0 makes it and gives it to the others. 128 bytes. */
export async function ncclUniqueId(): Promise<Uint8Array> {
  await openNccl();
  return native().ncclUniqueId();
}

/** Runs `enqueue` as one group: needed for several ranks of one process, and for sends with receives. */
export function ncclGroup(enqueue: () => void): void {
  native().ncclGroupStart();
  try {
    enqueue();
  } finally {
    native().ncclGroupEnd();
  }
}

/** One rank of a communicator. */
export class NcclCommunicator {
  readonly device: number;
  readonly rank: number;
  readonly world: number;
  readonly #comm: NcclCommHandle;
  #open = true;

  private constructor(comm: NcclCommHandle, device: number, rank: number, world: number) {
    this.#comm = comm;
    this.device = device;
    this.rank = rank;
    this.world = world;
  }

  /** Collective: settles when every rank calls it, each on its own device. */
  static async create(options: {
    readonly device: number;
    readonly rank: number;
    readonly world: number;
    readonly uniqueId: Uint8Array;
  }): Promise<NcclCommunicator> {
    const { device, rank, world, uniqueId } = options;
    requireDevice(device);
    if (!Number.isInteger(rank) || rank < 0 || rank >= world) throw new RuntimeError(`no rank ${rank} of ${world}`);
    if (uniqueId.length !== 128) throw new RuntimeError("an NCCL unique id is 128 bytes");
    await openNccl();
    const comm = await native().ncclCommInit(device, world, rank, uniqueId);
    return new NcclCommunicator(comm, device, rank, world);
  }

  allReduce(
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: NcclDType,
    op: NcclOp,
  ): void {
    native().ncclAllReduce(this.#comm, s, source, target, count, ncclDTypes[dtype], ncclOps[op]);
  }

  /** `target` receives `world * sendCount` elements. */
  allGather(s: StreamHandle, source: DevicePointer, target: DevicePointer, sendCount: number, dtype: NcclDType): void {
    native().ncclAllGather(this.#comm, s, source, target, sendCount, ncclDTypes[dtype]);
  }

  /** `source` holds `world * receiveCount` elements. */
  reduceScatter(
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    receiveCount: number,
    dtype: NcclDType,
    op: NcclOp,
  ): void {
    native().ncclReduceScatter(this.#comm, s, source, target, receiveCount, ncclDTypes[dtype], ncclOps[op]);
  }

  /** `source` counts on `root` only. */
  broadcast(
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: NcclDType,
    root: number,
  ): void {
    native().ncclBroadcast(this.#comm, s, source, target, count, ncclDTypes[dtype], root);
  }

  /** `target` counts on `root` only. */
  reduce(
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: NcclDType,
    op: NcclOp,
    root: number,
  ): void {
    native().ncclReduce(this.#comm, s, source, target, count, ncclDTypes[dtype], ncclOps[op], root);
  }

  /** Of `world` equal blocks, block p of `source` goes to rank p, whose block `rank` of `target` it becomes. */
  allToAll(s: StreamHandle, source: DevicePointer, target: DevicePointer, blockCount: number, dtype: NcclDType): void {
    const bytes = BigInt(blockCount) * BigInt(bytesOf[dtype]);
    ncclGroup(() => {
      for (let peer = 0; peer < this.world; peer++) {
        this.send(s, source + BigInt(peer) * bytes, blockCount, dtype, peer);
        this.receive(s, target + BigInt(peer) * bytes, blockCount, dtype, peer);
      }
    });
  }

  /** Inside {@link ncclGroup} where the other side sends too. */
  send(s: StreamHandle, source: DevicePointer, count: number, dtype: NcclDType, peer: number): void {
    native().ncclSend(this.#comm, s, source, count, ncclDTypes[dtype], peer);
  }

  receive(s: StreamHandle, target: DevicePointer, count: number, dtype: NcclDType, peer: number): void {
    native().ncclRecv(this.#comm, s, target, count, ncclDTypes[dtype], peer);
  }

  /** Throws what went wrong in the background, such as a peer that died. */
  check(): void {
    native().ncclCommAsyncError(this.#comm);
  }

  /** Collective; finish the streams first. @throws RuntimeError the second time. */
  async destroy(): Promise<void> {
    this.#close();
    await native().ncclCommDestroy(this.#comm);
  }

  /** Not collective: for when a peer is gone. */
  async abort(): Promise<void> {
    this.#close();
    await native().ncclCommAbort(this.#comm);
  }

  #close(): void {
    if (!this.#open) throw new RuntimeError("the NCCL communicator was closed before");
    this.#open = false;
  }
}

const bytesOf: Readonly<Record<NcclDType, number>> = {
  i8: 1,
  u8: 1,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
  f16: 2,
  f32: 4,
  f64: 8,
  bf16: 2,
  f8e4m3: 1,
  f8e5m2: 1,
};
