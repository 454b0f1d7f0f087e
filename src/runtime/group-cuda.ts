/** The cuda backend, one process a rank: symmetric memory over CUDA VMM, kernels launched on this rank's GPU. */
import { createHash } from "node:crypto";
import type { CompileResult, DType, Manifest } from "../compiler/index.js";
import type { BootstrapGroup } from "./bootstrap.js";
import {
  archOf,
  describeDevice,
  DeviceMemory,
  FdExchange,
  SymmetricHeap,
  type SymmetricAllocation,
  waitForStream,
} from "./cuda/index.js";
import { DeviceKernel } from "./device-kernel.js";
import { DeviceTensor } from "./device-tensor.js";
import { MachineError, RuntimeError, UsageError } from "./errors.js";
import type { Json } from "./exchange.js";
import type { Group, LoadedKernel, LoadOptions, Tensor } from "./group.js";
import { native, type StreamHandle } from "./native.js";
import { cubinOf } from "./program.js";
import { bytesOfShape } from "./shapes.js";

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
