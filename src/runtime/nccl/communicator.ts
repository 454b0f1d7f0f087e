/**
 * NCCL over device memory, typed. Collectives are enqueued on a stream and capture into graphs. Counts are elements.
 * The fallback for sizes where NCCL wins and for several nodes, and the peer to measure against.
 */
import { within } from "../bounded.js";
import { requireDevice } from "../cuda/device.js";
import { skipDestructors } from "../end-at-once.js";
import { defaultTimeoutMs } from "../env.js";
import { RuntimeError } from "../errors.js";
import { native, type DevicePointer, type NcclCommHandle, type StreamHandle } from "../native.js";
import { dtypeCode, ncclBytes, type NcclDType, ncclGroup, type NcclOp, ncclOps, openNccl } from "./library.js";

/** One rank of a communicator. Methods throw RuntimeError for a root or peer outside the world and after closing. */
export class NcclCommunicator {
  readonly device: number;
  readonly rank: number;
  readonly world: number;
  readonly #comm: NcclCommHandle;
  readonly #nativeAllToAll: boolean;
  readonly #runDestructors: () => void;
  #open = true;

  private constructor(
    comm: NcclCommHandle,
    device: number,
    rank: number,
    world: number,
    nativeAllToAll: boolean,
    runDestructors: () => void,
  ) {
    this.#runDestructors = runDestructors;
    this.#comm = comm;
    this.device = device;
    this.rank = rank;
    this.world = world;
    this.#nativeAllToAll = nativeAllToAll;
  }

  /**
   * Collective: settles when every rank calls it, each on its own device.
   * @param options.timeoutMs default COLLC_TIMEOUT_MS or 60 s.
   * @throws RuntimeError when the unique id is not 128 bytes, for a rank outside the world, and `timeout`.
   */
  static async create(options: {
    readonly device: number;
    readonly rank: number;
    readonly world: number;
    readonly uniqueId: Uint8Array;
    readonly timeoutMs?: number | undefined;
  }): Promise<NcclCommunicator> {
    const { device, rank, world, uniqueId, timeoutMs = defaultTimeoutMs() } = options;
    requireDevice(device);
    if (!Number.isInteger(rank) || rank < 0 || rank >= world) throw new RuntimeError(`no rank ${rank} of ${world}`);
    if (uniqueId.length !== 128) {
      throw new RuntimeError(
        `an NCCL unique id is 128 bytes, not ${uniqueId.length}`,
        "rank 0 makes it: ncclUniqueId()",
      );
    }
    const { symbols } = await openNccl();
    const runDestructors = skipDestructors();
    const comm = await within(
      native().ncclCommInit(device, world, rank, uniqueId),
      timeoutMs,
      `NCCL's initialisation of rank ${rank} of ${world}`,
      "a rank never came, or cannot reach the others; NCCL_DEBUG=WARN says more",
    );
    return new NcclCommunicator(comm, device, rank, world, symbols.allToAll, runDestructors);
  }

  /** For windows; see window-provider.ts. */
  get handle(): NcclCommHandle {
    this.#requireOpen();
    return this.#comm;
  }

  allReduce(
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: NcclDType,
    op: NcclOp,
  ): void {
    native().ncclAllReduce(this.handle, s, source, target, count, dtypeCode(dtype), ncclOps[op]);
  }

  /** `target` receives `world * sendCount` elements. */
  allGather(s: StreamHandle, source: DevicePointer, target: DevicePointer, sendCount: number, dtype: NcclDType): void {
    native().ncclAllGather(this.handle, s, source, target, sendCount, dtypeCode(dtype));
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
    native().ncclReduceScatter(this.handle, s, source, target, receiveCount, dtypeCode(dtype), ncclOps[op]);
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
    this.#requireRank(root, "root");
    native().ncclBroadcast(this.handle, s, source, target, count, dtypeCode(dtype), root);
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
    this.#requireRank(root, "root");
    native().ncclReduce(this.handle, s, source, target, count, dtypeCode(dtype), ncclOps[op], root);
  }

  /**
   * Of `world` equal blocks, block p of `source` goes to rank p, whose block `rank` of `target` it becomes. NCCL's own
   * call from 2.28 on, else sends and receives in a group.
   */
  allToAll(s: StreamHandle, source: DevicePointer, target: DevicePointer, blockCount: number, dtype: NcclDType): void {
    if (this.#nativeAllToAll) {
      native().ncclAllToAll(this.handle, s, source, target, blockCount, dtypeCode(dtype));
      return;
    }
    const bytes = BigInt(blockCount) * BigInt(ncclBytes[dtype]);
    ncclGroup(() => {
      for (let peer = 0; peer < this.world; peer++) {
        this.send(s, source + BigInt(peer) * bytes, blockCount, dtype, peer);
        this.receive(s, target + BigInt(peer) * bytes, blockCount, dtype, peer);
      }
    });
  }

  /** Inside `ncclGroup` where the other side sends too. */
  send(s: StreamHandle, source: DevicePointer, count: number, dtype: NcclDType, peer: number): void {
    this.#requireRank(peer, "peer");
    native().ncclSend(this.handle, s, source, count, dtypeCode(dtype), peer);
  }

  receive(s: StreamHandle, target: DevicePointer, count: number, dtype: NcclDType, peer: number): void {
    this.#requireRank(peer, "peer");
    native().ncclRecv(this.handle, s, target, count, dtypeCode(dtype), peer);
  }

  /** Throws what went wrong in the background, such as a peer that died. */
  check(): void {
    native().ncclCommAsyncError(this.handle);
  }

  /** Collective: returns when all ranks' operations are done. Only {@link destroy} or {@link abort} may follow. */
  async finalize(): Promise<void> {
    await native().ncclCommFinalize(this.handle);
  }

  /**
   * Collective; finish the streams first.
   * @param timeoutMs default: no bound.
   * @throws RuntimeError the second time; `timeout`.
   */
  async destroy(timeoutMs?: number): Promise<void> {
    this.#requireOpen();
    this.#open = false;
    await this.#end(native().ncclCommDestroy(this.#comm), timeoutMs, "closing NCCL's communicator");
  }

  /** Not collective: for when a peer is gone. @throws as {@link destroy}. */
  async abort(timeoutMs?: number): Promise<void> {
    this.#requireOpen();
    this.#open = false;
    await this.#end(native().ncclCommAbort(this.#comm), timeoutMs, "aborting NCCL's communicator");
  }

  async #end(work: Promise<void>, timeoutMs: number | undefined, what: string): Promise<void> {
    await (timeoutMs === undefined ? work : within(work, timeoutMs, what, "a rank failed or left"));
    this.#runDestructors();
  }

  #requireOpen(): void {
    if (!this.#open) throw new RuntimeError("the NCCL communicator was closed before");
  }

  #requireRank(rank: number, what: string): void {
    if (Number.isInteger(rank) && rank >= 0 && rank < this.world) return;
    throw new RuntimeError(`${what} ${rank} is not a rank of this communicator of ${this.world}`);
  }
}
