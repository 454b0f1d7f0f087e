/** Kernels of the cuda backend: their own memory, launches, and waits that ran out. */
import { DTYPES, evaluateExtent, type DimValues, type Manifest } from "../compiler/index.js";
import { Kernel, StatusRecord, waitForStream } from "./cuda/index.js";
import { DeviceTensor } from "./device-tensor.js";
import { RuntimeError, UsageError } from "./errors.js";
import type { ProcessGroup } from "./group-cuda.js";
import type { LoadedKernel, Tensor, Timing, TimingOptions } from "./group.js";
import type { DevicePointer } from "./native.js";
import { checkTensors, elementsOf } from "./shapes.js";
import { timeGraph } from "./time-graph.js";

interface Addresses {
  readonly pointers: Record<string, DevicePointer>;
  readonly peers: Record<string, readonly DevicePointer[]>;
}

export class DeviceKernel implements LoadedKernel {
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
