/**
 * What a framework works with: a group of ranks, tensors in its memory, and kernels loaded for it.
 * One interface for every backend; kernels and callers do not change with it.
 */
import type { CompileResult, DimValues, DType, Manifest } from "../compiler/index.js";
import type { TypedArray } from "./numbers/index.js";

export type BackendName = "cpu" | "cuda";

/**
 * An array of one dtype and shape on every rank of the group. `ranks` of the methods must live in this process
 * (see {@link Group.localRanks}); it defaults to the first that does.
 */
export interface Tensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Elements on one rank. */
  readonly length: number;
  /** Peers can reach it, so kernels may take it for parameters that the manifest calls symmetric. */
  readonly symmetric: boolean;
  /** Copies elements in; complete on return. Throws UsageError when the length or kind of array differs. */
  write(values: TypedArray, rank?: number): void;
  /** Copies the elements out, after what was enqueued before. */
  read(rank?: number): Promise<TypedArray>;
  /** Part of it, sharing memory: `length` elements from element `offset` on. */
  view(offset: number, shape: readonly number[]): Tensor;
  /** Whether any element lies in memory that `other` holds too. */
  overlaps(other: Tensor): boolean;
  /** Gives the memory back. Collective for symmetric tensors. Views have nothing to free. */
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
   * Launches on all ranks of this process and waits. `tensors` has an entry for every input and output.
   * @throws RuntimeError when a wait ran out (rank, peer, slot and source line in the message), UsageError for
   *   tensors that do not fit the signature.
   */
  run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void>;
  /** Times launches the way the baselines do: a graph of `inner` launches, replayed `outer` times. Collective. */
  time(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, options?: TimingOptions): Promise<Timing>;
  /** Frees scratch, signal pads and code. Collective. */
  unload(): Promise<void>;
}

export interface LoadOptions {
  /** Told what happens while it takes long: "compiling", "from the cache". */
  readonly onProgress?: (what: string) => void;
}

export interface Group {
  readonly backend: BackendName;
  readonly world: number;
  /** The ranks that live in this process: all on the cpu backend, one where every rank is a process. */
  readonly localRanks: readonly number[];
  /** Tensor that peers can reach. Collective: all ranks ask for the same, in the same order. */
  symmetric(dtype: DType, shape: readonly number[]): Promise<Tensor>;
  /** Tensor that only its own rank reaches. */
  local(dtype: DType, shape: readonly number[]): Tensor;
  /** Makes a compiled kernel launchable. Collective; refuses when ranks hold different kernels. */
  load(compiled: CompileResult, options?: LoadOptions): Promise<LoadedKernel>;
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
  /** Options of the emulation, see CpuOptions. */
  readonly cpu?: { readonly seed?: number; readonly detectUnwritten?: boolean };
}
