/** The addon's NCCL functions, part of `Native` in `native.ts`; native/nccl.cc implements them. */
import type { DevicePointer, Handle, OpenedLibrary, StreamHandle } from "./native.js";

export type NcclCommHandle = Handle<"NCCL communicator">;
export type NcclWindowHandle = Handle<"NCCL window">;

/** Which optional functions the open library has. They came one by one; native/api/nccl.h says since when. */
export interface NcclSymbols {
  readonly memAlloc: boolean;
  readonly finalize: boolean;
  readonly windows: boolean;
  readonly peerPointers: boolean;
  readonly allToAll: boolean;
}

export interface NcclNative {
  /**
   * `multicast` is what NCCL may do with NVLink multicast: `allow` leaves the environment alone, `default-off` sets
   * NCCL_NVLS_ENABLE=0 unless it is set, `off` sets it whatever it was.
   */
  openNccl(paths: readonly string[], multicast: "allow" | "default-off" | "off"): OpenedLibrary;
  ncclSymbols(): NcclSymbols;
  /** 128 bytes. */
  ncclUniqueId(): Uint8Array;
  ncclCommInit(device: number, ranks: number, rank: number, uniqueId: Uint8Array): Promise<NcclCommHandle>;
  /** Waits for all ranks' operations to be done; afterwards only destroy or abort. */
  ncclCommFinalize(comm: NcclCommHandle): Promise<void>;
  ncclCommDestroy(comm: NcclCommHandle): Promise<void>;
  ncclCommAbort(comm: NcclCommHandle): Promise<void>;
  ncclCommAsyncError(comm: NcclCommHandle): void;
  ncclAllReduce(
    c: NcclCommHandle,
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: number,
    op: number,
  ): void;
  ncclAllGather(
    c: NcclCommHandle,
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    sendCount: number,
    dtype: number,
  ): void;
  ncclReduceScatter(
    c: NcclCommHandle,
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    receiveCount: number,
    dtype: number,
    op: number,
  ): void;
  ncclBroadcast(
    c: NcclCommHandle,
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: number,
    root: number,
  ): void;
  ncclReduce(
    c: NcclCommHandle,
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    count: number,
    dtype: number,
    op: number,
    root: number,
  ): void;
  ncclSend(c: NcclCommHandle, s: StreamHandle, source: DevicePointer, count: number, dtype: number, peer: number): void;
  ncclRecv(c: NcclCommHandle, s: StreamHandle, target: DevicePointer, count: number, dtype: number, peer: number): void;
  ncclGroupStart(): void;
  ncclGroupEnd(): void;
  /** Block p of `source` goes to rank p; only where {@link NcclSymbols.allToAll}. */
  ncclAllToAll(
    c: NcclCommHandle,
    s: StreamHandle,
    source: DevicePointer,
    target: DevicePointer,
    blockCount: number,
    dtype: number,
  ): void;

  /** Memory that can be a window; not zeroed. */
  ncclMemAlloc(device: number, bytes: number): DevicePointer;
  ncclMemFree(device: number, pointer: DevicePointer): void;
  /** Collective. Null: NCCL takes no symmetric windows on this machine. */
  ncclWindowRegister(comm: NcclCommHandle, pointer: DevicePointer, bytes: number): Promise<NcclWindowHandle | null>;
  /** Before the memory is freed and the communicator destroyed. */
  ncclWindowDeregister(window: NcclWindowHandle): Promise<void>;
  /** Peer's memory at byte `offset`, or 0n where kernels cannot reach it. */
  ncclPeerPointer(window: NcclWindowHandle, offset: number, peer: number): DevicePointer;
}
