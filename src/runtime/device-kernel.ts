/** Kernels of a device group: their own memory, launches, and waits that ran out. */
import { DTYPES, evaluateExtent, type DimValues, type Manifest } from "../compiler/index.js";
import { allOf } from "./all-of.js";
import {
  DeviceMemory,
  isRecording,
  Kernel,
  type PreparedLaunch,
  requireNoCapture,
  StatusRecord,
} from "./cuda/index.js";
import { ownTensor } from "./device-copies.js";
import type { DeviceStream, Watched } from "./device-stream.js";
import { notReachable } from "./device-tensor.js";
import { RuntimeError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { GroupStream, LoadedKernel, Tensor, Timing, TimingOptions } from "./group.js";
import type { DevicePointer } from "./native.js";
import { checkTensors, requireSameRanks, elementsOf } from "./shapes.js";
import { freeBehind } from "./stuck-work.js";
import { requireContiguous } from "./tensor-shape.js";
import { timeGraph } from "./time-graph.js";

interface Addresses {
  readonly pointers: Record<string, DevicePointer>;
  readonly peers: Record<string, readonly DevicePointer[]>;
}

/** Memory of a kernel's own. */
interface Placed {
  readonly memory: DeviceMemory;
  readonly free: () => Promise<void>;
}

export class DeviceKernel implements LoadedKernel, Watched {
  /** Scratch by buffer; grows when a launch asks for more. */
  private readonly scratch = new Map<string, Placed>();
  private readonly fixed: Addresses = { pointers: {}, peers: {} };
  /** Pads and counters, which launches on all ranks advance in step. */
  private readonly counters: Placed[] = [];
  /** A wait ran out, so the counters differ between ranks until the group recovers. */
  private isOutOfStep = false;
  private isUnloaded = false;

  private constructor(
    private readonly group: DeviceGroup,
    readonly manifest: Manifest,
    private readonly kernel: Kernel,
    private readonly status: StatusRecord,
  ) {}

  static async load(group: DeviceGroup, manifest: Manifest, cubin: Uint8Array): Promise<DeviceKernel> {
    const kernel = new Kernel(group.device, manifest, cubin);
    const loaded = new DeviceKernel(group, manifest, kernel, new StatusRecord(group.device));
    for (const buffer of manifest.buffers) {
      if (buffer.role !== "signal" && buffer.role !== "state") continue;
      const bytes = elementsOf(buffer.shape, {}) * DTYPES[buffer.dtype].bytes;
      loaded.counters.push(await loaded.place(buffer.name, bytes, buffer.symmetric));
    }
    return loaded;
  }

  /** Zeroed memory for a buffer of the kernel's own. */
  private async place(name: string, bytes: number, symmetric: boolean): Promise<Placed> {
    const { group } = this;
    if (!symmetric) {
      const { memory, free } = group.allocateLocal(bytes);
      memory.fill(0);
      this.fixed.pointers[name] = memory.pointer;
      return { memory, free };
    }
    const { localPointer, peerPointers, free } = await group.allocateSymmetric(
      bytes,
      `${this.manifest.collective}.${name}`,
    );
    this.fixed.peers[name] = peerPointers;
    return { memory: DeviceMemory.view(group.device, localPointer, bytes), free };
  }

  private async placeScratch(dims: DimValues): Promise<void> {
    for (const buffer of this.manifest.buffers) {
      if (buffer.role !== "scratch") continue;
      const bytes = buffer.shape.reduce<number>((n, e) => n * evaluateExtent(e, dims), 1) * DTYPES[buffer.dtype].bytes;
      const held = this.scratch.get(buffer.name);
      if (held !== undefined && held.memory.bytes >= bytes) continue;
      requireNoCapture(`allocating ${bytes} bytes of scratch for ${this.manifest.collective} (launch it once before)`);
      await this.group.settle();
      await held?.free();
      this.scratch.set(buffer.name, await this.place(buffer.name, bytes, buffer.symmetric));
    }
  }

  private async prepare(
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
  ): Promise<ReturnType<Kernel["prepare"]>> {
    if (this.isUnloaded) throw new RuntimeError(`${this.manifest.collective} was unloaded`);
    if (this.isOutOfStep)
      throw new RuntimeError(
        `a wait of ${this.manifest.collective} ran out before, so the ranks are out of step`,
        "call group.recover() on all ranks, or load the kernel again",
      );
    checkTensors(this.manifest, tensors, dims);
    await this.placeScratch(dims);
    const pointers = { ...this.fixed.pointers };
    const peers = { ...this.fixed.peers };
    for (const [name, tensor] of Object.entries(tensors)) {
      const own = ownTensor(this.group, tensor, `'${name}'`);
      requireContiguous(own.layout, `'${name}'`);
      if (this.manifest.buffers.some((b) => b.name === name && b.symmetric))
        requireSameRanks(this.group, own.group, `'${name}'`);
      pointers[name] = own.pointer;
      peers[name] = own.peerPointers;
    }
    for (const parameter of this.manifest.parameters) {
      if (parameter.kind !== "peers") continue;
      const far = peers[parameter.buffer]?.indexOf(0n) ?? -1;
      if (far >= 0) throw notReachable(far, this.group.rank);
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

  /** What a wait that ran out left. The context lives on, the counters are out of step. */
  takeFailure(): RuntimeError | null {
    if (this.isUnloaded) return null;
    const failure = this.status.read();
    if (failure === null) return null;
    this.status.clear();
    this.isOutOfStep = true;
    const { rank, peer, slot, wanted, seen, line } = failure;
    const buffer = this.manifest.buffers[failure.buffer]?.name ?? "?";
    return new RuntimeError(
      `rank ${rank} waited ${this.group.timeoutMs} ms for rank ${peer} in ${this.manifest.collective} (line ${line}, ${buffer}[${slot}]: wanted ${wanted}, saw ${seen})`,
      `see whether rank ${peer} launched the kernel, or raise COLLC_TIMEOUT_MS; before it is used again, call group.recover() on all ranks`,
      "timeout",
    );
  }

  /** Enqueues a prepared launch behind the group's last one. */
  private enqueue(launch: PreparedLaunch, stream: DeviceStream): void {
    this.group.turns.pass(stream, isRecording(stream.handle), () => launch.enqueue(stream.handle));
    stream.watch(this);
  }

  async run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void> {
    requireNoCapture(`waiting for ${this.manifest.collective} (use launch)`);
    const stream = this.group.defaultStream;
    await this.launch(tensors, dims, stream);
    await stream.synchronize(this.manifest.symbol);
  }

  async launch(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, stream: GroupStream): Promise<void> {
    const own = this.group.ownStream(stream);
    const launch = await this.prepare(tensors, dims);
    try {
      this.enqueue(launch, own);
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
    const stream = this.group.defaultStream;
    const run = (): void => launch.enqueue(stream.handle);
    const finish = (): Promise<void> => {
      stream.watch(this);
      return stream.synchronize(this.manifest.symbol);
    };
    try {
      await this.group.settle();
      return await timeGraph(this.group, this.group.device, stream.handle, run, { inner, outer }, finish);
    } finally {
      launch.release();
    }
  }

  /** Zeroes pads and counters of this rank. Nothing may be in flight on any rank. */
  reset(): void {
    for (const { memory } of this.counters) memory.fill(0);
    this.status.clear();
    this.isOutOfStep = false;
  }

  readonly unload = async (): Promise<void> => {
    if (this.isUnloaded) return;
    requireNoCapture(`unloading ${this.manifest.collective}`);
    this.isUnloaded = true;
    this.group.forget(this);
    const memory = [...this.scratch.values(), ...this.counters].map(({ free }) => free);
    const free = (): Promise<void> => allOf([...memory, () => this.status.free(), () => this.kernel.unload()]);
    await freeBehind(() => this.group.settle(), free);
  };
}
