/**
 * What a framework works with: a group of ranks, tensors in its memory, and kernels loaded for it.
 * One interface for every backend; kernels and callers do not change with it.
 */
import type { CompileResult, DimValues, DType, Manifest, Reach } from "../compiler/index.js";
import type { BackendName } from "./backends.js";
import type { TypedArray } from "./numbers/index.js";
import type { ExternalMemory } from "./external.js";
import type { ShapeLike } from "./tensor-shape.js";

export type { DLTensor, ExternalMemory } from "./external.js";

export type { ShapeLike, StridedShape } from "./tensor-shape.js";

export type { BackendName } from "./backends.js";

/**
 * An array of one dtype and shape on every rank of the group. `ranks` of the methods must live in this process
 * (see {@link Group.localRanks}); it defaults to the first that does.
 */
export interface Tensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Elements from one index of a dimension to the next. */
  readonly strides: readonly number[];
  /** Elements on one rank. */
  readonly length: number;
  /** Peers can reach it, so kernels may take it for parameters that the manifest calls symmetric. */
  readonly symmetric: boolean;
  /** This rank's address of the first element; null on the cpu backend, which has none. */
  readonly pointer: bigint | null;
  /** Copies elements in, row-major; complete on return. Throws UsageError when the length or kind of array differs. */
  write(values: TypedArray, rank?: number): void;
  /** Copies the elements out, row-major, after what was enqueued before. */
  read(rank?: number): Promise<TypedArray>;
  /** Part of it, sharing memory: a dense tensor from element `offset` on. Throws UsageError when it is not inside. */
  view(offset: number, shape: readonly number[]): Tensor;
  /**
   * The same tensor on another rank of its group, as this rank reaches it: read, written and copied like one's own.
   * @param shape default: this tensor's.
   * @param dtype default: this tensor's; another one sees the same bytes.
   * @param offset in elements of `dtype`, from this tensor's first.
   * @throws UsageError when the tensor is not symmetric, there is no such rank, or it would lie outside this tensor;
   *   RuntimeError when the rank's memory is not reachable.
   */
  getBuffer(rank: number, shape?: readonly number[], dtype?: DType, offset?: number): Tensor;
  /** Whether any element lies in memory that `other` holds too. */
  overlaps(other: Tensor): boolean;
  /**
   * Gives the memory back, after the work that was enqueued is done. Collective for symmetric tensors; one with an id
   * keeps its memory for the next tensor of that id. Views have nothing to free.
   */
  free(): Promise<void>;
}

/** Microseconds of launches; the slowest rank's where ranks are processes. */
export interface Timing {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
}

export interface TimingOptions {
  /** Launches in one graph, back to back. Default 10. */
  readonly inner?: number;
  /** Replays that are timed. Default 15. */
  readonly outer?: number;
}

/** A kernel ready to be launched by this group. */
export interface LoadedKernel {
  readonly manifest: Manifest;
  /**
   * Launches on all ranks of this process and waits. `tensors` has an entry for every input and output, `dims` the value of
   * every dimension, and of every number that the signature asks for: `run({ x, y }, { n: 4096, eps: 1e-5 })`. Numbers are
   * the same on all ranks, as dimensions are; other ones need no new kernel.
   * @throws RuntimeError when a wait ran out (rank, peer, slot and source line in the message), UsageError for
   *   tensors that do not fit the signature.
   */
  run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void>;
  /**
   * Launches without waiting; what goes wrong is told by the stream's `synchronize`. The promise is of the launch, which
   * for new dimensions may allocate scratch together with the other ranks. Launches of one group run one after the
   * other, also from several streams: two kernels that wait for peers could keep each other from starting. Groups
   * that share ranks do not know of each other: enqueue their launches in one order on all ranks, or synchronise between.
   */
  launch(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, stream: GroupStream): Promise<void>;
  /**
   * Does now what a launch does once for given tensors and dimensions: checks, scratch, choosing what the program's plan has for
   * the size. What it gives may be launched any number of times, as long as the tensors live and nobody unloads the kernel.
   * Collective where it allocates scratch.
   */
  prepare(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<PreparedRun>;
  /** Times launches the way the baselines do: a graph of `inner` launches, replayed `outer` times. Collective. */
  time(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, options?: TimingOptions): Promise<Timing>;
  /** Frees scratch, signal pads and code. Collective. */
  unload(): Promise<void>;
}

/** A launch with everything decided. */
export interface PreparedRun {
  /** Enqueues it, allocating nothing; as {@link LoadedKernel.launch} otherwise. */
  launch(stream: GroupStream): void;
  /**
   * Gives other values to numbers of the launch, `eps` or `step`, for later launches. Graphs keep those that they recorded, until
   * {@link CapturedGraph.update}. @throws UsageError for what is no such number, or none of its dtype
   */
  set(numbers: DimValues): void;
  /**
   * Launches it on a stream of the caller's that the caller captures into a graph of its own, as {@link launch} does, and notes what
   * becomes of it there, so that its numbers can change in that graph, too.
   * @throws UsageError where nobody captures the stream, inside of {@link Group.capture}, and on the cpu backend
   */
  record(stream: GroupStream): RecordedRun;
  /** Gives up what it holds. What was enqueued runs on. */
  release(): void;
}

/** A run in a graph of the caller's. */
export interface RecordedRun {
  /**
   * Gives it the numbers that the run has now, from the next replay on. Every rank does, before the same replay.
   * @param executable the address of the CUgraphExec that the caller has instantiated from the captured graph. Both must be alive: what
   *   is changed is named by the nodes of the captured graph
   * @throws RuntimeError where the driver refuses it: another graph's, for example
   */
  update(executable: bigint): void;
}

export interface LoadOptions {
  /** Told what happens while it takes long: "compiling", "from the cache". */
  readonly onProgress?: (what: string) => void;
}

/** An order of work. Work on different streams of a group may overlap, launches of kernels excepted. */
export interface GroupStream {
  /**
   * Waits for all that was enqueued.
   * @throws RuntimeError `timeout` when a wait in it ran out, naming peer and slot. The group lives on.
   */
  synchronize(): Promise<void>;
  /** Waits, then gives it up. Never throws. */
  destroy(): Promise<void>;
}

/** Work that was recorded once. */
export interface CapturedGraph {
  /** Operations in it. */
  readonly nodes: number;
  /** Enqueues one replay. Every rank must replay as often. */
  launch(stream: GroupStream): void;
  /**
   * Gives the launches of `run` that were recorded the numbers that it has now: from the next replay on, without recording anew.
   * Every rank does, before the same replay. @throws UsageError where the graph has no launch of it
   */
  update(run: PreparedRun): void;
  /** One replay, waited for. @throws as {@link GroupStream.synchronize}. */
  replay(): Promise<void>;
  destroy(): void;
}

export interface StepOptions {
  /** Where to enqueue it. Without one it is done on return, and fails here. */
  readonly stream?: GroupStream;
  /** The rank that does it, where several live in this process. */
  readonly rank?: number;
}

export interface SignalOptions extends StepOptions {
  /** From 0 to {@link Group.channels} - 1, default 0. A channel serves one stream at a time. */
  readonly channel?: number;
  /** Bound of the wait in milliseconds, default the group's; 0: none. */
  readonly timeoutMs?: number;
}

export interface CopyOptions extends StepOptions {
  /** Where in the peer's tensor, in elements. Default 0. */
  readonly offset?: number;
}

export interface SymmetricOptions {
  /**
   * Names the memory, so that the next tensor of this id, after this one is freed, gets the same memory with the same
   * content. Take ids from {@link Group.nextAllocationId}, or count.
   */
  readonly id?: number;
}

export interface SubgroupOptions {
  /** For messages, and to tell groups of the same ranks apart. May be used again. */
  readonly name?: string;
  /** See {@link Group.setSignalPadBytes}. Default: this group's. */
  readonly signalPadBytes?: number;
  /** Bound of its waits in milliseconds. Default: this group's. */
  readonly timeoutMs?: number;
}

/** Signals, one-sided copies and small writes, on streams or waited for. */
export interface GroupPrimitives {
  /** Channels of signals and barriers: as many as the signal pad holds. */
  readonly channels: number;
  /** Bytes of a rank's signal pad. */
  readonly signalPadBytes: number;
  /** @throws UsageError after the first symmetric allocation, and for sizes that hold no channel. */
  setSignalPadBytes(bytes: number): void;
  /** A rank's pad as words: per channel one counter of signals and one of barriers from each rank. */
  signalPad(rank: number, shape?: readonly number[], offset?: number): Tensor;

  /** Sends one signal to `peer`. Never waits: signals are counted. */
  putSignal(peer: number, options?: SignalOptions): Promise<void>;
  /** Takes one signal of `peer`, waiting for it; what `peer` did before it sent is visible then. */
  waitSignal(peer: number, options?: SignalOptions): Promise<void>;
  /** Meets all ranks of the group, on the device. */
  signalBarrier(options?: SignalOptions): Promise<void>;

  /** Copies `source` into `peer`'s part of the symmetric `target`. */
  put(target: Tensor, source: Tensor, peer: number, options?: CopyOptions): Promise<void>;
  /** Fills `target` from `peer`'s part of the symmetric `source`. */
  get(target: Tensor, source: Tensor, peer: number, options?: CopyOptions): Promise<void>;
  /** {@link put}, then {@link putSignal}: whoever takes the signal sees the data. */
  putWithSignal(target: Tensor, source: Tensor, peer: number, options?: CopyOptions & SignalOptions): Promise<void>;

  /** Writes one word of a contiguous one-dimensional u32 tensor, after all that came before is visible. */
  streamWriteValue32(tensor: Tensor, offset: number, value: number, options?: StepOptions): Promise<void>;
  /** Writes `count` words of a contiguous one-dimensional u32 tensor from `offset` on. */
  memset32(tensor: Tensor, offset: number, value: number, count: number, options?: StepOptions): Promise<void>;
}

export interface Group extends GroupPrimitives {
  readonly backend: BackendName;
  /** "world", or what the subgroup is called. */
  readonly name: string;
  readonly world: number;
  /** The run's rank of each of this group's. */
  readonly ranks: readonly number[];
  /**
   * Which ranks share addresses as far as their hosts say, for `compile(text, { ranks, reach: group.reach })`. Undefined where all do: on
   * one host, on the cpu backend, and on the cuda backend, whose hosts are one NVLink domain; and where hosts are no runs of equally many
   * ranks, where `load` refuses what takes all ranks for near.
   */
  readonly reach: Reach | undefined;
  /** The ranks of this group that live in this process: all on the cpu backend, one where every rank is a process. */
  readonly localRanks: readonly number[];
  /**
   * A group of some of this one's ranks, numbered anew in the order given. Collective over them alone. Groups may
   * overlap, live at the same time, and be made again under the same name.
   */
  subgroup(ranks: readonly number[], options?: SubgroupOptions): Promise<Group>;
  /** Tensor that peers can reach, zeroed. Collective: all ranks ask for the same, in the same order. */
  symmetric(dtype: DType, shape: ShapeLike, options?: SymmetricOptions): Promise<Tensor>;
  /** A number not given before; the same on all ranks that ask as often. */
  nextAllocationId(): number;
  /** Tensor that only its own rank reaches. */
  local(dtype: DType, shape: ShapeLike): Tensor;
  /**
   * Tensor on memory of the caller's, such as a framework's tensor: see {@link ExternalMemory} for lifetime and alignment.
   * @throws UsageError for addresses that the driver knows nothing of, that are another GPU's or not aligned, and for tensors that
   *   are longer than the allocation
   */
  external(external: ExternalMemory): Tensor;
  /** Makes a compiled kernel launchable. Collective; refuses when ranks hold different kernels. */
  load(compiled: CompileResult, options?: LoadOptions): Promise<LoadedKernel>;
  /** A new stream. */
  stream(): GroupStream;
  /**
   * A stream of the caller's, a CUstream by its address; 0 is the legacy default stream. `destroy` waits for it and forgets it. While
   * the caller captures it into a graph of its own, prepared runs can be launched on it, and what they find out about waits that
   * ran out is told by the `synchronize` after a replay.
   * @throws UsageError on the cpu backend, whose streams are its own
   */
  externalStream(pointer: bigint): GroupStream;
  /**
   * Records what `record` enqueues on the stream it is given, without running it. Allocating, loading, reading or
   * waiting meanwhile is an error, which ends the capture.
   */
  capture(record: (stream: GroupStream) => void | Promise<void>): Promise<CapturedGraph>;
  /**
   * Brings the group back in step after a wait ran out: waits for what is enqueued, ends waits for messages that hold their stream, then
   * zeroes every counter of its kernels, messages and signals. Messages by NCCL that ran out stay where they are. Collective.
   */
  recover(): Promise<void>;
  /** All ranks arrive before any leaves (host side). */
  barrier(): Promise<void>;
  /** Everybody's small JSON value, in rank order; with all ranks in one process, that of each is `value`. */
  exchange<T>(name: string, value: T): Promise<T[]>;
  /** Leaves the group and frees what it still holds. Collective. Never throws. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Default: COLLC_BACKEND, else `auto`: cuda where a launcher started this process and GPUs are there, else cpu. */
  readonly backend?: BackendName | "auto";
  /** Ranks of the cpu backend; elsewhere the launcher says. */
  readonly ranks?: number;
  /** How long any wait may take, on the host and in kernels, in milliseconds. Default COLLC_TIMEOUT_MS or 60 s. */
  readonly timeoutMs?: number;
  /** See {@link Group.setSignalPadBytes}. */
  readonly signalPadBytes?: number;
  /** Lets several ranks share a GPU. Default: COLLC_ALLOW_OVERLAPPING_DEVICES=1. */
  readonly allowOverlappingDevices?: boolean;
  /** Options of the emulation, see CpuOptions. */
  readonly cpu?: { readonly seed?: number; readonly detectUnwritten?: boolean };
}
