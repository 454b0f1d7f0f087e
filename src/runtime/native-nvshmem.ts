/**
 * The addon's NVSHMEM functions, part of `Native` in `native.ts`; native/nvshmem.cc implements them.
 *
 * NVSHMEM ends the process on many misuses, so each function checks first and throws `NOT_INITIALISED`. The library is
 * not safe for threads: while a promise of it is pending, the others throw `BUSY`.
 */
import type { DevicePointer, OpenedLibrary, StreamHandle } from "./native.js";

/** nvshmem_team_t: 0 is everybody. */
export type NvshmemTeam = number & { readonly team?: never };

export interface NvshmemNative {
  /**
   * Opens the first library that loads. `multicast` is what NVSHMEM may do with NVLink multicast: `default-off` sets
   * NVSHMEM_DISABLE_NVLS=1 unless it is set, `off` sets it whatever it was.
   */
  openNvshmem(
    paths: readonly string[],
    multicast: "allow" | "default-off" | "off",
  ): OpenedLibrary & {
    /** Of the OpenSHMEM interface: 1.3 is 103. */
    readonly specification: number;
    /** {@link nvshmemTeamCreate} is there. */
    readonly memberTeams: boolean;
  };
  /** 128 bytes; makes this process the one that the others meet at. */
  nvshmemUniqueId(): Uint8Array;
  /** Collective over the world: settles when every rank calls it. */
  nvshmemInit(device: number, rank: number, world: number, uniqueId: Uint8Array): Promise<void>;
  /** Collective. */
  nvshmemFinalize(): Promise<void>;

  /** Zeroed; collective over the world, as is freeing. 0n: the heap is full. */
  nvshmemAllocate(bytes: number): Promise<DevicePointer>;
  nvshmemFree(pointer: DevicePointer): Promise<void>;
  /** PE `pe`'s counterpart of the address, or 0n where kernels cannot reach it. */
  nvshmemPeerPointer(pointer: DevicePointer, pe: number): DevicePointer;

  /** PEs start, start + stride, … of `parent`, all of whose members call; -1 for those outside the new one. */
  nvshmemTeamSplit(parent: NvshmemTeam, start: number, stride: number, size: number): Promise<NvshmemTeam>;
  /** For {@link nvshmemTeamCreate}, from one member to all. */
  nvshmemTeamUniqueId(): bigint;
  /** A team of any PEs, which alone call, each with its own index. */
  nvshmemTeamCreate(uniqueId: bigint, size: number, index: number): Promise<NvshmemTeam>;
  nvshmemTeamDestroy(team: NvshmemTeam): Promise<void>;
  nvshmemTeamSize(team: NvshmemTeam): number;

  // Enqueued. Remote addresses are given as the local counterpart; `pe` counts in the world.
  nvshmemPut(s: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number, pe: number): void;
  nvshmemGet(s: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number, pe: number): void;
  /** `signal` is a 64-bit word in the heap, changed at `pe` after the bytes are there. */
  nvshmemPutSignal(
    s: StreamHandle,
    target: DevicePointer,
    source: DevicePointer,
    bytes: number,
    signal: DevicePointer,
    value: bigint,
    add: boolean,
    pe: number,
  ): void;
  nvshmemSignal(s: StreamHandle, signal: DevicePointer, value: bigint, add: boolean, pe: number): void;
  /** Holds the stream until the word here is at least `value`. */
  nvshmemWaitSignal(s: StreamHandle, signal: DevicePointer, value: bigint): void;
  /** Completes this rank's puts. */
  nvshmemQuiet(s: StreamHandle): void;
  nvshmemBarrier(s: StreamHandle, team: NvshmemTeam): void;
  /** `root` counts in the team. Both addresses are in the heap. */
  nvshmemBroadcast(
    s: StreamHandle,
    team: NvshmemTeam,
    target: DevicePointer,
    source: DevicePointer,
    bytes: number,
    root: number,
  ): void;
  /** `bytes` for each peer. */
  nvshmemAllToAll(
    s: StreamHandle,
    team: NvshmemTeam,
    target: DevicePointer,
    source: DevicePointer,
    bytes: number,
  ): void;
  /** `bytes` from each peer. */
  nvshmemAllGather(
    s: StreamHandle,
    team: NvshmemTeam,
    target: DevicePointer,
    source: DevicePointer,
    bytes: number,
  ): void;
}
