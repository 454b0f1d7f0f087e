/**
 * The native addon: its typed surface and the only place that loads the `.node` file. Loading is lazy, so nothing
 * here costs anything until a GPU library is needed, and no GPU library is needed to load it.
 *
 * Functions throw {@link NativeError}s; those that return promises reject with them. Argument checks here are those that prevent crashes; meaning is checked in
 * `src/runtime/cuda` and `src/runtime/nccl`. "Enqueued" means: done when the stream gets there.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { readEnv, type Environment } from "./env.js";
import { MachineError, messageOf } from "./errors.js";
import type { NcclNative } from "./native-nccl.js";
import type { NvmlNative } from "./native-nvml.js";
import type { NvshmemNative } from "./native-nvshmem.js";

export type { NcclCommHandle, NcclSymbols, NcclWindowHandle } from "./native-nccl.js";
export type { NvmlDevice, NvmlFabric, NvmlLink } from "./native-nvml.js";
export type { NvshmemTeam } from "./native-nvshmem.js";

declare const kind: unique symbol;
/** Handles are numbers that are never used twice: a stale one, or one of another kind, throws `NOT_OPEN`. */
export type Handle<Kind extends string> = number & { readonly [kind]: Kind };

export type StreamHandle = Handle<"stream">;
export type EventHandle = Handle<"event">;
export type GraphHandle = Handle<"graph">;
export type GraphExecHandle = Handle<"graph executable">;
export type ModuleHandle = Handle<"module">;
export type FunctionHandle = Handle<"function">;
export type LaunchHandle = Handle<"prepared launch">;
export type PhysicalHandle = Handle<"physical memory">;
export type HostHandle = Handle<"host allocation">;
export type FdChannelHandle = Handle<"descriptor channel">;

/** An address in a device's memory, as kernels see it. */
export type DevicePointer = bigint;

/** What a failed call throws. `code` is the library's own number (errno for `system`, 0 for `collc`). */
export interface NativeError extends Error {
  readonly library: "cuda" | "nvrtc" | "nccl" | "nvshmem" | "nvml" | "system" | "collc";
  /** The function that failed: `cuMemMap`. */
  readonly call: string;
  readonly code: number;
  /** `CUDA_ERROR_OUT_OF_MEMORY`, `ENOENT`, `NOT_OPEN`, `DLOPEN_FAILED`, … */
  readonly codeName: string;
}

/** Whether something thrown came from the addon. */
export function isNativeError(error: unknown): error is NativeError {
  return error instanceof Error && "library" in error && "call" in error && "codeName" in error;
}

export interface OpenedLibrary {
  /** The path that loaded. */
  readonly path: string;
  /** CUDA driver: 1000 * major + 10 * minor. NCCL: 10000 * major + 100 * minor + patch. */
  readonly version: number;
}

export interface DeviceDescription {
  readonly ordinal: number;
  readonly name: string;
  readonly totalBytes: number;
  readonly computeMajor: number;
  readonly computeMinor: number;
  readonly multiprocessors: number;
  readonly maxThreadsPerBlock: number;
  /** Shared memory a block may ask for, static and dynamic, in bytes. */
  readonly maxSharedBytes: number;
  readonly pciDomain: number;
  readonly pciBus: number;
  readonly pciDevice: number;
  readonly canMapHost: boolean;
  readonly cooperativeLaunch: boolean;
  readonly virtualMemory: boolean;
  /** Physical memory can be given to another process as a file descriptor. */
  readonly posixFd: boolean;
  readonly fabricHandle: boolean;
  /** Reported only; collc creates no multicast object. */
  readonly multicast: boolean;
}

export interface FunctionAttributes {
  readonly registers: number;
  readonly localBytes: number;
  readonly staticSharedBytes: number;
  readonly constantBytes: number;
  readonly maxThreadsPerBlock: number;
  readonly maxDynamicSharedBytes: number;
  /** 10 * major + minor of the architecture the code is for. */
  readonly binaryVersion: number;
}

export interface NvrtcResult {
  readonly ok: boolean;
  readonly code: number;
  /** `NVRTC_SUCCESS`, `NVRTC_ERROR_COMPILATION`, … */
  readonly codeName: string;
  /** The compiler's messages; warnings also when `ok`. */
  readonly log: string;
  readonly ptx?: string;
  /** Absent for a virtual architecture (`-arch=compute_90`). */
  readonly cubin?: Uint8Array;
}

export interface ReceivedFd {
  readonly sender: number;
  readonly sequence: number;
  /** Belongs to the receiver, who closes it. */
  readonly fd: number;
}

type Dimensions = readonly [number, number, number];

/** The addon's functions. Device ordinals count from 0; sizes are bytes unless named otherwise. */
export interface Native extends NcclNative, NvshmemNative, NvmlNative {
  /** Opens the first driver that loads and initialises it; a process has one. */
  openCuda(paths: readonly string[]): OpenedLibrary;
  deviceCount(): number;
  describeDevice(device: number): DeviceDescription;
  /** Any `CU_DEVICE_ATTRIBUTE_*` by number. */
  deviceAttribute(device: number, attribute: number): number;
  canAccessPeer(device: number, peer: number): boolean;
  /** `CU_DEVICE_P2P_ATTRIBUTE_*` by number, of a pair of different devices. */
  peerAttribute(device: number, peer: number, attribute: number): number;
  memoryInfo(device: number): { readonly freeBytes: number; readonly totalBytes: number };

  /** Aligned to at least 256 bytes; not zeroed. */
  memoryAlloc(device: number, bytes: number): DevicePointer;
  /** Waits for the device to be idle. */
  memoryFree(pointer: DevicePointer): void;
  /** The allocation that an address lies in, and whose device's it is; null where the driver knows none. */
  memoryRange(
    device: number,
    pointer: DevicePointer,
  ): { readonly start: DevicePointer; readonly bytes: number; readonly device: number } | null;
  /** Zeroed pinned memory that JavaScript and every GPU see at once. */
  hostAlloc(device: number, bytes: number): HostAllocation;
  /** Detaches the buffer first: its views become empty. */
  hostFree(handle: HostHandle): void;

  memoryGranularity(device: number): number;
  /** Exportable, pinned; `bytes` must be a multiple of the granularity. Not zeroed. */
  physicalCreate(device: number, bytes: number, fabric?: boolean): PhysicalHandle;
  /** A new descriptor; the caller closes it. */
  physicalExport(physical: PhysicalHandle): number;
  /** The 64 bytes of a fabric handle, of memory created for it; good in the whole NVLink domain while the memory lives. */
  physicalExportFabric(physical: PhysicalHandle): Uint8Array;
  physicalImportFabric(device: number, handle: Uint8Array): PhysicalHandle;
  /** The physical memory behind an address that something else mapped, to export it. */
  physicalRetain(device: number, pointer: DevicePointer): PhysicalHandle;
  /** `device` is where it will be used from. The descriptor stays the caller's. */
  physicalImport(device: number, fd: number): PhysicalHandle;
  /** Mappings stay valid; the memory goes with the last of them. */
  physicalRelease(physical: PhysicalHandle): void;
  /** One address range, readable and writable by every device named. */
  memoryMap(physical: PhysicalHandle, bytes: number, alignment: number, devices: readonly number[]): DevicePointer;
  /** The caller has made sure that no kernel uses it. */
  memoryUnmap(pointer: DevicePointer): void;

  /** Complete on return. Not ordered after work on any stream: synchronise first. */
  copyToDevice(device: number, target: DevicePointer, source: ArrayBufferView): void;
  copyFromDevice(device: number, target: ArrayBufferView, source: DevicePointer): void;
  /** Enqueued; the promise settles when it is done, and the view is kept until then. Do not touch it meanwhile. */
  copyToDeviceAsync(stream: StreamHandle, target: DevicePointer, source: ArrayBufferView): Promise<void>;
  copyFromDeviceAsync(stream: StreamHandle, target: ArrayBufferView, source: DevicePointer): Promise<void>;
  /** Enqueued. Either side may be a peer's memory that is mapped here. */
  copyOnDevice(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number): void;
  /** The same for `rows` runs of `width` bytes, which begin a pitch apart on either side. */
  copyRowsOnDevice(
    stream: StreamHandle,
    target: DevicePointer,
    targetPitch: number,
    source: DevicePointer,
    sourcePitch: number,
    width: number,
    rows: number,
  ): void;
  /** Enqueued, between contexts of two devices in this process. */
  copyPeer(
    stream: StreamHandle,
    target: DevicePointer,
    targetDevice: number,
    source: DevicePointer,
    sourceDevice: number,
    bytes: number,
  ): void;
  /** Complete on return. */
  memorySet(device: number, target: DevicePointer, byte: number, bytes: number): void;
  memorySetAsync(stream: StreamHandle, target: DevicePointer, byte: number, bytes: number): void;
  /** Enqueued; `count` words of 32 bits at a multiple of 4. */
  memorySet32Async(stream: StreamHandle, target: DevicePointer, value: number, count: number): void;
  /** Enqueued by the front end of the GPU, without a multiprocessor; what came before it is visible first. */
  streamWriteValue32(stream: StreamHandle, target: DevicePointer, value: number): void;

  /** Does not synchronise with the default stream. */
  streamCreate(device: number): StreamHandle;
  /** A CUstream that something else made, and destroys: `streamDestroy` only forgets it. */
  streamBorrow(device: number, pointer: bigint): StreamHandle;
  /** Whether somebody records what is enqueued on it. */
  streamIsCapturing(stream: StreamHandle): boolean;
  streamDestroy(stream: StreamHandle): void;
  /** Whether all enqueued work is done. Throws what a kernel died of. */
  streamQuery(stream: StreamHandle): boolean;
  /** True when done, false when `timeoutMs` (negative: none) ran out. JavaScript goes on meanwhile. */
  streamSynchronize(stream: StreamHandle, timeoutMs: number): Promise<boolean>;
  /** The same on this thread, for measurements. */
  streamSynchronizeBlocking(stream: StreamHandle, timeoutMs: number): boolean;
  /** The raw CUstream. */
  streamPointer(stream: StreamHandle): bigint;
  streamWaitEvent(stream: StreamHandle, event: EventHandle): void;
  eventCreate(device: number, timing?: boolean): EventHandle;
  eventDestroy(event: EventHandle): void;
  eventRecord(event: EventHandle, stream: StreamHandle): void;
  eventQuery(event: EventHandle): boolean;
  /** Both must be complete and of one device. */
  eventElapsedMs(start: EventHandle, end: EventHandle): number;

  captureBegin(stream: StreamHandle): void;
  captureEnd(stream: StreamHandle): GraphHandle;
  /** What was enqueued last on a stream that is being captured, as a node of its graph; 0n for nothing. */
  captureNode(stream: StreamHandle): bigint;
  graphNodeCount(graph: GraphHandle): number;
  graphInstantiate(graph: GraphHandle): GraphExecHandle;
  graphDestroy(graph: GraphHandle): void;
  graphLaunch(exec: GraphExecHandle, stream: StreamHandle): void;
  graphExecDestroy(exec: GraphExecHandle): void;
  /** A CUgraphExec of the caller's, by its address; `graphExecDestroy` forgets it. */
  graphExecBorrow(device: number, pointer: bigint): GraphExecHandle;
  graphExecPointer(exec: GraphExecHandle): bigint;

  /** Loads the builtins first, by full path, or compiling fails with NVRTC_ERROR_BUILTIN_OPERATION_FAILURE. */
  openNvrtc(path: string, builtinsPath?: string): { readonly major: number; readonly minor: number };
  nvrtcVersion(): { readonly major: number; readonly minor: number };
  /** 90 for sm_90. */
  nvrtcSupportedArchs(): number[];
  /**
   * Whether programs that this thread starts from now on have their memory at the same addresses each time. Says whether they had before.
   * Where a container forbids that, nothing changes.
   */
  fixAddresses(on: boolean): boolean;
  /** A program that does not compile resolves with `ok: false`. */
  nvrtcCompile(source: string, name: string, options: readonly string[]): Promise<NvrtcResult>;

  /** A whole cubin or PTX text. */
  moduleLoad(device: number, image: Uint8Array): ModuleHandle;
  moduleUnload(module: ModuleHandle): void;
  functionGet(module: ModuleHandle, name: string): FunctionHandle;
  functionAttributes(fn: FunctionHandle): FunctionAttributes;
  functionSetMaxDynamicShared(fn: FunctionHandle, bytes: number): void;
  /** Resident blocks per multiprocessor. */
  functionOccupancy(fn: FunctionHandle, blockThreads: number, sharedBytes: number): number;

  /**
   * `offsets[i]` is where parameter i begins in `parameters`, which is copied.
   * @param early the kernel waits by itself for the launch before it in the stream, so that its blocks may take their places before that has ended
   */
  launchPrepare(
    fn: FunctionHandle,
    grid: Dimensions,
    block: Dimensions,
    sharedBytes: number,
    cooperative: boolean,
    parameters: Uint8Array,
    offsets: readonly number[],
    early?: boolean,
  ): LaunchHandle;
  /** Overwrites parameter bytes for later launches; earlier ones and captured graphs keep theirs. */
  launchUpdate(launch: LaunchHandle, offset: number, bytes: ArrayBufferView): void;
  launchPrepared(launch: LaunchHandle, stream: StreamHandle): void;
  /** From the next replay on, the node launches with the parameters that the launch has now. The node's graph must be alive. */
  launchIntoGraph(launch: LaunchHandle, exec: GraphExecHandle, node: bigint): void;
  launchRelease(launch: LaunchHandle): void;
  /**
   * The 128 bytes of a tensor map of boxes swizzled by 128 bytes, for a kernel parameter.
   * @param type the driver's CUtensorMapDataType
   * @param sizes innermost dimension first, as everything here; strides in bytes, of all dimensions but the innermost
   */
  tensorMapEncode(
    type: number,
    address: DevicePointer,
    sizes: readonly number[],
    strides: readonly number[],
    box: readonly number[],
  ): Uint8Array;

  /** `secret`: 32 bytes. The path must not exist; at most 107 bytes. */
  fdChannelOpen(path: string, secret: Uint8Array): FdChannelHandle;
  /** Retries until the peer is there. The descriptor stays the caller's and may be closed at once. */
  fdChannelSend(
    channel: FdChannelHandle,
    peerPath: string,
    sender: number,
    sequence: number,
    fd: number,
    timeoutMs: number,
  ): Promise<void>;
  /** Null when the time ran out. */
  fdChannelReceive(channel: FdChannelHandle, timeoutMs: number): Promise<ReceivedFd | null>;
  /** Removes the socket file; returns how many foreign or broken messages were dropped. */
  fdChannelClose(channel: FdChannelHandle): number;
  fdClose(fd: number): void;

  /** For an "exit" listener: the exit() that follows flushes C's stdout and stderr and ends, with the code it was given. */
  skipDestructors(): void;
}

export interface HostAllocation {
  readonly handle: HostHandle;
  /** The address for kernels. */
  readonly pointer: DevicePointer;
  /** The same memory for JavaScript. */
  readonly buffer: ArrayBuffer;
}

/** What native/addon.cc exports as `interfaceVersion`. */
const interfaceVersion = 2;

/** The folder that holds collc's package.json: two levels up from src/runtime, three from dist/src/runtime. */
export function packageRoot(from: string = path.dirname(fileURLToPath(import.meta.url))): string {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const file = path.join(folder, "package.json");
    if (existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: string }).name === "collc") {
      return folder;
    }
    if (folder === path.dirname(folder)) throw new MachineError(`no collc package above ${from}`, "reinstall collc");
  }
}

/** Where the addon is looked for, in order. COLLC_ADDON alone when it is set. */
export function addonCandidates(env?: Environment): string[] {
  const chosen = readEnv("COLLC_ADDON", env);
  return chosen === undefined ? [path.join(packageRoot(), "build", "Release", "collc.node")] : [path.resolve(chosen)];
}

/**
 * Loads the first addon of `candidates` that works.
 * @throws MachineError with every attempt, and how to build the addon.
 */
export function loadAddon(candidates: readonly string[]): Native {
  const attempts: string[] = [];
  const require = createRequire(import.meta.url);
  for (const candidate of candidates) {
    if (!existsSync(candidate)) {
      attempts.push(`${candidate}: not there`);
      continue;
    }
    try {
      const addon = require(candidate) as Native & { readonly interfaceVersion?: number };
      if (addon.interfaceVersion === interfaceVersion) return addon;
      attempts.push(`${candidate}: built for another version of collc`);
    } catch (error) {
      attempts.push(`${candidate}: ${messageOf(error)}`);
    }
  }
  throw new MachineError(
    `collc's native addon could not be loaded:\n  ${attempts.join("\n  ")}`,
    "build it with `npm run build:native` (a C++17 compiler and CMake, no CUDA), or set COLLC_ADDON to a built collc.node",
  );
}

let loaded: Native | undefined;

/** The addon, loaded at the first call. @throws MachineError as {@link loadAddon}. */
export function native(): Native {
  loaded ??= loadAddon(addonCandidates());
  return loaded;
}
