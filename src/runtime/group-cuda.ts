/** The cuda backend, one process a rank: symmetric memory over CUDA VMM, kernels launched on this rank's GPU. */
import { createHash } from "node:crypto";
import {
  DTYPES,
  evaluateExtent,
  type CompileResult,
  type DimValues,
  type DType,
  type Manifest,
} from "../compiler/index.js";
import type { BootstrapGroup } from "./bootstrap.js";
import {
  CudaGraph,
  DeviceMemory,
  EventTimer,
  FdExchange,
  Kernel,
  StatusRecord,
  SymmetricHeap,
  type SymmetricAllocation,
  archOf,
  describeDevice,
  waitForStream,
} from "./cuda/index.js";
import { MachineError, RuntimeError, UsageError } from "./errors.js";
import type { Json } from "./exchange.js";
import type { Group, LoadedKernel, LoadOptions, Tensor, Timing, TimingOptions } from "./group.js";
import { native, type DevicePointer, type StreamHandle } from "./native.js";
import { allocate, holds, type TypedArray } from "./numbers/index.js";
import { cubinOf } from "./program.js";
import { bytesOfShape, checkTensors, elementsOf } from "./shapes.js";
import { summarize } from "./summary.js";

/** Where a tensor lies: this rank's address, and every rank's as mapped here. */
class DeviceTensor implements Tensor {
  constructor(
    private readonly group: ProcessGroup,
    readonly dtype: DType,
    readonly shape: readonly number[],
    private readonly memory: DeviceMemory,
    /** Bytes from the start of the allocation. */
    private readonly offset: number,
    private readonly allocation: SymmetricAllocation | null,
    private readonly release: (() => Promise<void>) | null,
  ) {}

  get length(): number {
    return this.shape.reduce((a, b) => a * b, 1);
  }

  get symmetric(): boolean {
    return this.allocation !== null;
  }

  get pointer(): DevicePointer {
    return this.memory.pointer + BigInt(this.offset);
  }

  get peerPointers(): readonly DevicePointer[] {
    return this.allocation?.peerPointers.map((p) => p + BigInt(this.offset)) ?? [this.pointer];
  }

  write(values: TypedArray, rank = this.group.rank): void {
    this.group.requireLocal(rank);
    if (!holds(values, this.dtype) || values.length !== this.length)
      throw new UsageError(
        `an array of ${values.length} elements does not fit a tensor of ${this.length} ${this.dtype}`,
      );
    if (values.length > 0) this.memory.write(values, this.offset);
  }

  async read(rank = this.group.rank): Promise<TypedArray> {
    this.group.requireLocal(rank);
    await this.group.synchronize("the tensor's last kernel");
    const values = allocate(this.dtype, this.length);
    return values.length === 0 ? values : this.memory.read(values, this.offset);
  }

  view(offset: number, shape: readonly number[]): Tensor {
    const length = shape.reduce((a, b) => a * b, 1);
    if (offset < 0 || offset + length > this.length)
      throw new UsageError(`a view of ${length} elements at ${offset} lies outside a tensor of ${this.length}`);
    return new DeviceTensor(
      this.group,
      this.dtype,
      shape,
      this.memory,
      this.offset + offset * DTYPES[this.dtype].bytes,
      this.allocation,
      null,
    );
  }

  async free(): Promise<void> {
    await this.release?.();
  }
}

export class ProcessGroup implements Group {
  readonly backend = "cuda";
  readonly world: number;
  readonly rank: number;
  readonly localRanks: readonly number[];
  readonly stream: StreamHandle;
  /** What close() must free, newest first. */
  private readonly owned = new Set<() => Promise<void>>();

  private constructor(
    readonly boot: BootstrapGroup,
    readonly device: number,
    private readonly heap: SymmetricHeap,
    private readonly fds: FdExchange | null,
    readonly timeoutMs: number,
  ) {
    this.world = boot.world;
    this.rank = boot.rank;
    this.localRanks = [boot.rank];
    this.stream = native().streamCreate(device);
  }

  /** Collective. @throws MachineError when this host has fewer GPUs than ranks, or ranks are on several hosts. */
  static async connect(boot: BootstrapGroup, timeoutMs: number): Promise<ProcessGroup> {
    const { rank, world, exchange } = boot;
    const count = native().deviceCount();
    if (boot.localRanks.length > count)
      throw new MachineError(
        `${boot.localRanks.length} ranks need as many GPUs; this machine has ${count}`,
        `run with --ranks ${count}, or --backend cpu`,
      );
    if (boot.hosts.length > 1)
      throw new MachineError(
        `the ranks are on ${boot.hosts.length} hosts; the cuda backend reaches peers on one`,
        "start all ranks on one host",
      );
    const device = boot.localRank;
    const fds =
      world === 1 ? null : await FdExchange.connect({ exchange, rank, world, directory: boot.runDirectory, timeoutMs });
    const heap = new SymmetricHeap({ device, rank, world, exchange, fds });
    return new ProcessGroup(boot, device, heap, fds, timeoutMs);
  }

  requireLocal(rank: number): void {
    if (rank !== this.rank) throw new UsageError(`rank ${rank} lives in another process than rank ${this.rank}`);
  }

  synchronize(what: string): Promise<void> {
    return waitForStream(this.stream, this.timeoutMs, what);
  }

  async symmetric(dtype: DType, shape: readonly number[]): Promise<Tensor> {
    const bytes = bytesOfShape(dtype, shape);
    const allocation = await this.allocateSymmetric(bytes, `tensor ${dtype}[${shape.join(", ")}]`);
    return new DeviceTensor(
      this,
      dtype,
      shape,
      DeviceMemory.view(this.device, allocation.localPointer, bytes),
      0,
      allocation,
      allocation.free,
    );
  }

  /** Symmetric memory that close() frees if its owner has not. */
  async allocateSymmetric(bytes: number, name: string): Promise<SymmetricAllocation> {
    const allocation = await this.heap.allocate(Math.max(bytes, 16), name);
    const free = async (): Promise<void> => {
      this.owned.delete(free);
      await allocation.free();
    };
    this.owned.add(free);
    return { ...allocation, free };
  }

  local(dtype: DType, shape: readonly number[]): Tensor {
    const memory = this.allocateLocal(bytesOfShape(dtype, shape));
    return new DeviceTensor(this, dtype, shape, memory.memory, 0, null, memory.free);
  }

  allocateLocal(bytes: number): { memory: DeviceMemory; free: () => Promise<void> } {
    const memory = DeviceMemory.allocate(this.device, Math.max(bytes, 16));
    const free = (): Promise<void> => {
      if (this.owned.delete(free)) memory.free();
      return Promise.resolve();
    };
    this.owned.add(free);
    return { memory, free };
  }

  async load(compiled: CompileResult, options: LoadOptions = {}): Promise<LoadedKernel> {
    const { manifest, cuda } = compiled;
    if (manifest === null || cuda === null)
      throw new UsageError(
        "the program has errors, so there is no kernel to load",
        "look at the diagnostics of the compilation",
      );
    if (manifest.ranks !== this.world)
      throw new UsageError(`the kernel was compiled for ${manifest.ranks} ranks; this group has ${this.world}`);
    await this.requireSameKernel(cuda, manifest);
    const cubin = await cubinOf(cuda, archOf(describeDevice(this.device)), options.onProgress);
    const loaded = await DeviceKernel.load(this, manifest, cubin);
    this.owned.add(loaded.unload);
    return loaded;
  }

  forget(release: () => Promise<void>): void {
    this.owned.delete(release);
  }

  /** Ranks that run different kernels would wait for signals that never come: refuse before anything is launched. */
  private async requireSameKernel(cuda: string, manifest: Manifest): Promise<void> {
    const hash = createHash("sha256").update(cuda).digest("hex").slice(0, 16);
    const all = await this.boot.exchange.allGather("kernel", { symbol: manifest.symbol, hash });
    const other = all.findIndex((k) => k.hash !== hash);
    if (other < 0) return;
    throw new RuntimeError(
      `rank ${this.rank} loads ${manifest.symbol} (${hash}), but rank ${other} loads ${all[other]!.symbol} (${all[other]!.hash})`,
      "all ranks must load the same kernel, from the same source and options, in the same order",
      "mismatch",
    );
  }

  barrier(): Promise<void> {
    return this.boot.exchange.barrier("group barrier");
  }

  async exchange<T>(name: string, value: T): Promise<T[]> {
    return (await this.boot.exchange.allGather(name, value as Json)) as T[];
  }

  async close(): Promise<void> {
    for (const release of [...this.owned].reverse()) await release().catch(() => {});
    this.owned.clear();
    try {
      native().streamDestroy(this.stream);
      this.fds?.close();
    } catch {
      // A device that failed cannot be tidied; the process is about to end anyway.
    }
    await this.boot.close();
  }
}

interface Addresses {
  readonly pointers: Record<string, DevicePointer>;
  readonly peers: Record<string, readonly DevicePointer[]>;
}

class DeviceKernel implements LoadedKernel {
  /** Scratch by buffer, with its size in bytes; grows when a launch asks for more. */
  private readonly scratch = new Map<string, { bytes: number; free: () => Promise<void> }>();
  private readonly fixed: Addresses = { pointers: {}, peers: {} };
  private readonly releases: (() => Promise<void>)[] = [];

  private constructor(
    private readonly group: ProcessGroup,
    readonly manifest: Manifest,
    private readonly kernel: Kernel,
    private readonly status: StatusRecord,
  ) {}

  static async load(group: ProcessGroup, manifest: Manifest, cubin: Uint8Array): Promise<DeviceKernel> {
    const kernel = new Kernel(group.device, manifest, cubin);
    const loaded = new DeviceKernel(group, manifest, kernel, new StatusRecord(group.device));
    for (const buffer of manifest.buffers) {
      if (buffer.role !== "signal" && buffer.role !== "state") continue;
      const bytes = elementsOf(buffer.shape, {}) * DTYPES[buffer.dtype].bytes;
      await loaded.place(buffer.name, bytes, buffer.symmetric, loaded.releases);
    }
    return loaded;
  }

  /** Zeroed memory for a buffer of the kernel's own. */
  private async place(
    name: string,
    bytes: number,
    symmetric: boolean,
    releases: (() => Promise<void>)[],
  ): Promise<void> {
    if (symmetric) {
      const allocation = await this.group.allocateSymmetric(bytes, `${this.manifest.collective}.${name}`);
      this.fixed.peers[name] = allocation.peerPointers;
      releases.push(allocation.free);
    } else {
      const { memory, free } = this.group.allocateLocal(bytes);
      memory.fill(0);
      this.fixed.pointers[name] = memory.pointer;
      releases.push(free);
    }
  }

  private async placeScratch(dims: DimValues): Promise<void> {
    for (const buffer of this.manifest.buffers) {
      if (buffer.role !== "scratch") continue;
      const bytes = buffer.shape.reduce<number>((n, e) => n * evaluateExtent(e, dims), 1) * DTYPES[buffer.dtype].bytes;
      const held = this.scratch.get(buffer.name);
      if (held !== undefined && held.bytes >= bytes) continue;
      await this.group.synchronize("the last kernel");
      await held?.free();
      const releases: (() => Promise<void>)[] = [];
      await this.place(buffer.name, bytes, buffer.symmetric, releases);
      this.scratch.set(buffer.name, { bytes, free: releases[0]! });
    }
  }

  private async prepare(
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
  ): Promise<ReturnType<Kernel["prepare"]>> {
    checkTensors(this.manifest, tensors, dims);
    await this.placeScratch(dims);
    const pointers = { ...this.fixed.pointers };
    const peers = { ...this.fixed.peers };
    for (const [name, tensor] of Object.entries(tensors)) {
      if (!(tensor instanceof DeviceTensor)) throw new UsageError(`'${name}' belongs to another backend`);
      pointers[name] = tensor.pointer;
      peers[name] = tensor.peerPointers;
    }
    const timeoutNs = BigInt(this.group.timeoutMs) * 1_000_000n;
    return this.kernel.prepare({
      rank: this.group.rank,
      dims,
      pointers,
      peers,
      timeoutNs,
      status: this.status.pointer,
    });
  }

  /** Waits for what was enqueued and turns a wait that ran out into an error. The context lives on. */
  private async finish(): Promise<void> {
    await waitForStream(this.group.stream, this.group.timeoutMs + 5000, this.manifest.symbol);
    const failure = this.status.read();
    if (failure === null) return;
    this.status.clear();
    const buffer = this.manifest.buffers[failure.buffer]?.name ?? "?";
    throw new RuntimeError(
      `rank ${failure.rank} waited ${this.group.timeoutMs} ms for rank ${failure.peer} in ${this.manifest.collective} (line ${failure.line}, ${buffer}[${failure.slot}]: wanted ${failure.wanted}, saw ${failure.seen})`,
      `see whether rank ${failure.peer} launched the kernel, or raise COLLC_TIMEOUT_MS; load the kernel again before using it: its epochs are out of step`,
      "timeout",
    );
  }

  async run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void> {
    const launch = await this.prepare(tensors, dims);
    try {
      launch.enqueue(this.group.stream);
      await this.finish();
    } finally {
      launch.release();
    }
  }

  async time(
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
    { inner = 10, outer = 15 }: TimingOptions = {},
  ): Promise<Timing> {
    const launch = await this.prepare(tensors, dims);
    const { stream, device } = this.group;
    const run = (): void => launch.enqueue(stream);
    try {
      return await timeGraph(this.group, device, stream, run, { inner, outer }, () => this.finish());
    } finally {
      launch.release();
    }
  }

  readonly unload = async (): Promise<void> => {
    this.group.forget(this.unload);
    await this.group.synchronize("the last kernel").catch(() => {});
    for (const { free } of this.scratch.values()) await free();
    for (const release of this.releases) await release();
    this.status.free();
    this.kernel.unload();
  };
}

/**
 * Times what `enqueue` puts on the stream as the baselines do: `inner` of it in one graph, warmed up, replayed `outer`
 * times after a barrier of the ranks; of each rank the median, of the ranks the slowest.
 */
export async function timeGraph(
  group: ProcessGroup,
  device: number,
  stream: StreamHandle,
  enqueue: () => void,
  { inner, outer }: Required<TimingOptions>,
  finish: () => Promise<void>,
): Promise<Timing> {
  for (let i = 0; i < 3; i++) enqueue();
  await finish();
  const graph = CudaGraph.capture(stream, () => {
    for (let i = 0; i < inner; i++) enqueue();
  });
  const timer = new EventTimer(device);
  const samples: number[] = [];
  try {
    graph.replay(stream);
    await finish();
    for (let i = 0; i < outer; i++) {
      await group.barrier();
      timer.start(stream);
      graph.replay(stream);
      timer.stop(stream);
      await finish();
      samples.push(timer.elapsedUs() / inner);
    }
  } finally {
    graph.destroy();
    timer.destroy();
  }
  const own = summarize(samples);
  const all = await group.exchange("times", own);
  return all.reduce((slowest, t) => (t.median > slowest.median ? t : slowest));
}
