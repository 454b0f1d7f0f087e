/**
 * Groups whose ranks are processes with a GPU each: symmetric memory from a provider, kernels launched on this rank's
 * GPU. The backends differ in the provider alone.
 */
import { type CompileResult, DTYPES, type DType, type Reach } from "../compiler/index.js";
import type { BootstrapGroup } from "./bootstrap.js";
import {
  archOf,
  describeDevice,
  DeviceMemory,
  FdExchange,
  isRecording,
  requireNoCapture,
  allocateInProcess,
  type SymmetricAllocation,
} from "./cuda/index.js";
import { captureGraph } from "./device-capture.js";
import { DeviceKernel } from "./device-kernel.js";
import { DevicePrimitives } from "./device-primitives.js";
import { DeviceStream, Turnstile } from "./device-stream.js";
import { DeviceTensor, type TensorMemory } from "./device-tensor.js";
import { type ExternalMemory, externalTensor } from "./external.js";
import { skipDestructors } from "./end-at-once.js";
import { MachineError, UsageError } from "./errors.js";
import { Exchange, type Json } from "./exchange.js";
import type {
  CapturedGraph,
  Group,
  GroupStream,
  LoadedKernel,
  LoadOptions,
  SubgroupOptions,
  SymmetricOptions,
  Tensor,
} from "./group.js";
import { CopyLanes } from "./copy-steps.js";
import { MessageLane } from "./message-lane.js";
import { requireReach } from "./host-reach.js";
import { type HostRanks, hostsAmong, reachAmong } from "./hosts.js";
import { LibrarySteps } from "./library-steps.js";
import { MessageCarriers } from "./message-carrier.js";
import { type DevicePointer, native } from "./native.js";
import { type DeviceBackend, openProvider } from "./open-provider.js";
import { PersistentMemory } from "./persistent-memory.js";
import { requireOneDomain } from "./nvlink-domain.js";
import { cubinOf } from "./program.js";
import { freeBehind, Stops } from "./stuck-work.js";
import { requireLoadable } from "./same-program.js";
import { checkMembers, GroupNames } from "./subgroups.js";
import { SymmetricPool } from "./symmetric-pool.js";
import type { RemoteCalls, SymmetricProvider } from "./symmetric-provider.js";
import { requireDType } from "./shapes.js";
import { type ShapeLike, tensorShape } from "./tensor-shape.js";

export interface DeviceGroupOptions {
  readonly backend: DeviceBackend;
  /** Bound of every wait, in milliseconds. */
  readonly timeoutMs: number;
  readonly signalPadBytes?: number | undefined;
  /** Lets ranks share a GPU. */
  readonly allowOverlappingDevices?: boolean | undefined;
}

/** A group's place in the run. */
interface Seat {
  readonly name: string;
  /** The run's ranks, in the group's order. */
  readonly ranks: readonly number[];
  readonly rank: number;
  readonly exchange: Exchange;
}

/** For the others to leave after a close that has used up its time, in milliseconds. */
const lastWordsMs = 250;

export class DeviceGroup extends DevicePrimitives implements Group {
  readonly backend: DeviceBackend;
  readonly name: string;
  readonly world: number;
  readonly rank: number;
  readonly ranks: readonly number[];
  /** The hosts that the group is on, with its own ranks, in the order of their first. */
  readonly hosts: readonly HostRanks[];
  readonly localRanks: readonly number[];
  readonly exchangeChannel: Exchange;
  readonly defaultStream: DeviceStream;
  readonly turns: Turnstile;
  readonly pool: SymmetricPool;
  readonly reach: Reach | undefined;
  private readonly streams = new Set<DeviceStream>();
  readonly librarySteps = new LibrarySteps(this);
  readonly messageCarriers = new MessageCarriers(this);
  readonly copyLanes = new CopyLanes(this);
  readonly messageLane = new MessageLane(this);
  /** What close() must free, newest first. */
  private readonly owned = new Set<() => Promise<void>>();
  private readonly kernels = new Set<DeviceKernel>();
  private readonly subgroups = new Set<DeviceGroup>();
  private readonly persistent: PersistentMemory;
  /** A kernel may spin for a rank that is gone for as long as the group is open. */
  private readonly runDestructors = skipDestructors();
  /** What `close` calls when streams do not come back. */
  readonly stops = new Stops();
  private isClosed = false;
  /** A stream of this group, or of one of its subgroups, never came back. */
  private isStuck = false;

  private constructor(
    readonly boot: BootstrapGroup,
    readonly device: number,
    seat: Seat,
    /** Where its symmetric memory comes from. */
    readonly provider: SymmetricProvider,
    private readonly fds: FdExchange | null,
    private readonly options: DeviceGroupOptions,
    private readonly names: GroupNames,
    private readonly parent: DeviceGroup | null,
  ) {
    super(seat.ranks.length, options.signalPadBytes);
    this.backend = options.backend;
    this.name = seat.name;
    this.world = seat.ranks.length;
    this.rank = seat.rank;
    this.ranks = seat.ranks;
    this.hosts = hostsAmong(boot.hosts, seat.ranks);
    this.reach = options.backend === "cuda" ? undefined : reachAmong(this.hosts);
    this.localRanks = [seat.rank];
    this.exchangeChannel = seat.exchange;
    this.pool = new SymmetricPool({ provider, exchange: seat.exchange, rank: seat.rank });
    this.persistent = new PersistentMemory(this.pool, seat.exchange, seat.rank);
    if (provider.stop !== undefined) this.stops.add(() => provider.stop!());
    this.defaultStream = this.stream();
    this.turns = new Turnstile(device);
  }

  /** Collective. @throws MachineError when this host has fewer GPUs than ranks, or the backend lacks something. */
  static async connect(boot: BootstrapGroup, options: DeviceGroupOptions): Promise<DeviceGroup> {
    const { rank, world, exchange } = boot;
    const count = native().deviceCount();
    if (boot.localRanks.length > count && options.allowOverlappingDevices !== true)
      throw new MachineError(
        `${boot.localRanks.length} ranks need as many GPUs; this machine has ${count}`,
        `run with --ranks ${count}, or --backend cpu; COLLC_ALLOW_OVERLAPPING_DEVICES=1 lets ranks share a GPU`,
      );
    if (count === 0) throw new MachineError("this machine has no GPU", "run with --backend cpu");
    const ranks = Array.from({ length: world }, (_, r) => r);
    return DeviceGroup.open(boot, boot.localRank % count, { name: "world", ranks, rank, exchange }, options, null);
  }

  private static async open(
    boot: BootstrapGroup,
    device: number,
    seat: Seat,
    options: DeviceGroupOptions,
    parent: DeviceGroup | null,
  ): Promise<DeviceGroup> {
    const { exchange, rank, ranks } = seat;
    const world = ranks.length;
    const hosts = hostsAmong(boot.hosts, ranks);
    const fabric = hosts.length > 1 && options.backend === "cuda";
    if (fabric)
      await requireOneDomain(exchange, device, `the ranks of group "${seat.name}" are on ${hosts.length} hosts`, hosts);
    const { timeoutMs } = options;
    const directory = boot.runDirectory;
    // Descriptors do not leave a host: each has an exchange of its own, and all ranks know alike whether there is one.
    const near = hosts.find((host) => host.ranks.includes(rank))!.ranks;
    const fds =
      world === 1 || (hosts.length > 1 && options.backend !== "nccl")
        ? null
        : await FdExchange.connect({ exchange, rank, world, near, directory, timeoutMs });
    try {
      const provider = await openProvider(options.backend, {
        device,
        rank,
        world,
        exchange,
        ranks,
        fds,
        fabric,
        timeoutMs,
      });
      return new DeviceGroup(boot, device, seat, provider, fds, options, parent?.names ?? new GroupNames(), parent);
    } catch (error) {
      fds?.close();
      throw error;
    }
  }

  /** Whether ranks of this host may be on one GPU. */
  get sharesDevices(): boolean {
    return this.boot.localRanks.length > native().deviceCount();
  }

  get timeoutMs(): number {
    return this.options.timeoutMs;
  }

  async subgroup(members: readonly number[], options: SubgroupOptions = {}): Promise<Group> {
    requireNoCapture("making a group");
    const own = checkMembers(this.name, this.world, members, this.rank);
    const ranks = members.map((member) => this.ranks[member]!);
    const { name, key } = this.names.next(options.name, ranks);
    const timeoutMs = options.timeoutMs ?? this.timeoutMs;
    const exchange = new Exchange(this.boot.store, key, { ranks, timeoutMs });
    const seat: Seat = { name, ranks, rank: own, exchange };
    const signalPadBytes = options.signalPadBytes ?? this.signalPadBytes;
    const group = await DeviceGroup.open(
      this.boot,
      this.device,
      seat,
      { ...this.options, signalPadBytes, timeoutMs },
      this,
    );
    this.subgroups.add(group);
    return group;
  }

  /** What reaches peers whose memory has no address here, or null. */
  get remote(): RemoteCalls | null {
    return this.provider.remote ?? null;
  }

  requireLocal(rank: number): void {
    if (rank !== this.rank) throw new UsageError(`rank ${rank} lives in another process than rank ${this.rank}`);
  }

  requirePeer(rank: number): void {
    if (Number.isInteger(rank) && rank >= 0 && rank < this.world) return;
    throw new UsageError(`there is no rank ${rank} in group "${this.name}" of ${this.world}`);
  }

  /** Waits for everything this group has enqueued, without asking how it went. */
  async settle(boundMs?: number): Promise<void> {
    for (const stream of this.streams) await stream.settle(`the work of group "${this.name}"`, boundMs);
  }

  stream(): DeviceStream {
    requireNoCapture("making a stream");
    const stream = new DeviceStream(this.device, this.timeoutMs, (gone) => this.streams.delete(gone));
    this.streams.add(stream);
    return stream;
  }

  external(external: ExternalMemory): Tensor {
    return externalTensor(this, external);
  }

  externalStream(pointer: bigint): DeviceStream {
    requireNoCapture("taking in a stream");
    const gone = (stream: DeviceStream): boolean => this.streams.delete(stream);
    const stream = new DeviceStream(this.device, this.timeoutMs, gone, pointer);
    this.streams.add(stream);
    return stream;
  }

  ownStream(stream: GroupStream): DeviceStream {
    if (stream instanceof DeviceStream && (this.streams.has(stream) || isRecording(stream.handle))) return stream;
    throw new UsageError(`the stream is not one of group "${this.name}", or was destroyed`);
  }

  capture(record: (stream: GroupStream) => void | Promise<void>): Promise<CapturedGraph> {
    return captureGraph(this, record);
  }

  async symmetric(dtype: DType, shape: ShapeLike, { id }: SymmetricOptions = {}): Promise<Tensor> {
    requireNoCapture("allocating symmetric memory");
    requireDType(dtype);
    const layout = tensorShape(shape);
    const bytes = Math.max(layout.extent * DTYPES[dtype].bytes, 16);
    const name = `tensor ${dtype}[${layout.shape.join(", ")}]`;
    await this.openSignals();
    const allocation = id === undefined ? await this.allocateSymmetric(bytes, name) : await this.persist(id, bytes);
    const memory = DeviceMemory.view(this.device, allocation.localPointer, bytes);
    const release = (): Promise<void> => this.settle().finally(() => allocation.free());
    const held: TensorMemory = { memory, allocation, isFreed: false, release };
    return new DeviceTensor(this, dtype, layout, held, 0, true);
  }

  private async persist(id: number, bytes: number): Promise<SymmetricAllocation> {
    const { allocation, isNew, free } = await this.persistent.take(id, bytes);
    if (isNew) this.owned.add(() => allocation.free());
    return { ...allocation, free };
  }

  nextAllocationId(): number {
    return this.persistent.nextId();
  }

  /** Symmetric memory that close() frees if its owner has not. @param pool another than the group's own, of the same ranks */
  async allocateSymmetric(bytes: number, name: string, pool = this.pool): Promise<SymmetricAllocation> {
    requireNoCapture("allocating symmetric memory");
    const allocation = await pool.allocate(Math.max(bytes, 16), name);
    const free = async (): Promise<void> => {
      this.owned.delete(free);
      await allocation.free();
    };
    this.owned.add(free);
    return { ...allocation, free };
  }

  local(dtype: DType, shape: ShapeLike): Tensor {
    requireDType(dtype);
    const layout = tensorShape(shape);
    const { memory, free } = this.allocateLocal(layout.extent * DTYPES[dtype].bytes);
    const release = (): Promise<void> => freeBehind(() => this.settle(), free);
    return new DeviceTensor(this, dtype, layout, { memory, allocation: null, isFreed: false, release }, 0, true);
  }

  allocateLocal(bytes: number): { memory: DeviceMemory; free: () => Promise<void> } {
    requireNoCapture("allocating memory");
    const memory = DeviceMemory.allocate(this.device, Math.max(bytes, 16));
    const free = (): Promise<void> => {
      if (this.owned.delete(free)) memory.free();
      return Promise.resolve();
    };
    this.owned.add(free);
    return { memory, free };
  }

  /** Memory of this rank alone, zeroed, that can be handed to other processes. */
  allocateExportable(bytes: number): { readonly pointer: DevicePointer; readonly free: () => Promise<void> } {
    requireNoCapture("allocating memory");
    const [{ localPointer: pointer, free: unmap }] = allocateInProcess([this.device], bytes) as [SymmetricAllocation];
    const free = async (): Promise<void> => {
      if (this.owned.delete(free)) await unmap();
    };
    this.owned.add(free);
    return { pointer, free };
  }

  async load(compiled: CompileResult, options: LoadOptions = {}): Promise<LoadedKernel> {
    requireNoCapture("loading a kernel");
    const manifest = await requireLoadable(compiled, this);
    await requireReach(this, manifest);
    const texts = compiled.kernels.map(({ cuda }) => cuda);
    const arch = archOf(describeDevice(this.device));
    const cubins = await Promise.all(texts.map((cuda) => cubinOf(cuda, arch, options.onProgress)));
    const loaded = await DeviceKernel.load(this, manifest, cubins);
    this.kernels.add(loaded);
    this.owned.add(loaded.unload);
    return loaded;
  }

  /** Has `close` release something that nobody released before. */
  own(release: () => Promise<void>): void {
    this.owned.add(release);
  }

  disown(release: () => Promise<void>): void {
    this.owned.delete(release);
  }

  forget(kernel: DeviceKernel): void {
    this.kernels.delete(kernel);
    this.owned.delete(kernel.unload);
  }

  async recover(): Promise<void> {
    requireNoCapture("recovering");
    const finish = async (): Promise<void> => {
      for (const stream of this.streams) await stream.synchronize().catch(() => {});
    };
    await finish();
    await this.exchangeChannel.barrier("recover: all idle");
    // A wait for messages that ran out holds its stream, for the sake of ranks that were slow. Now none of them reads what may be overwritten.
    for (const kernel of this.kernels) kernel.letGo();
    for (const stream of this.streams) stream.forgive();
    await finish();
    await this.messageCarriers.quiet(this.defaultStream.handle);
    await finish();
    // Between these barriers no rank has anything in flight, so nobody's signal is wiped or comes too late.
    await this.exchangeChannel.barrier("recover: all at rest");
    for (const kernel of this.kernels) kernel.reset();
    this.resetSignals();
    await this.exchangeChannel.barrier("recover: all reset");
  }

  barrier(): Promise<void> {
    return this.exchangeChannel.barrier("group barrier");
  }

  async exchange<T>(name: string, value: T): Promise<T[]> {
    return (await this.exchangeChannel.allGather(name, value as Json)) as T[];
  }

  close(): Promise<void> {
    return this.closeBy(performance.now() + this.timeoutMs);
  }

  /**
   * All waits together end at `deadline`, about: a rank that stands still costs one time-out, not one for each thing that is
   * given back, nor one for each subgroup.
   */
  private async closeBy(deadline: number): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.parent === null) this.boot.beginToLeave();
    this.exchangeChannel.endBy(deadline);
    for (const group of [...this.subgroups].reverse()) {
      await group.closeBy(deadline);
      this.isStuck ||= group.isStuck;
    }
    this.parent?.subgroups.delete(this);
    let isWhole = true;
    // One wait for a rank that is gone or hangs is enough; the rest is then freed without asking.
    const attempt = (action: () => unknown): Promise<void> =>
      Promise.resolve()
        .then(action)
        .then(
          () => {},
          (error: unknown) => {
            isWhole = false;
            this.exchangeChannel.giveUp(error);
          },
        );
    if (!this.isStuck) {
      const { error, isStuck } = await this.stops.settle((boundMs) => this.settle(boundMs));
      this.isStuck = isStuck;
      if (error !== null) await attempt(() => Promise.reject(error as Error));
    }
    // With a kernel that never ends the driver would not come back from freeing: that is left to the process's end.
    if (!this.isStuck) {
      await attempt(() => this.closeSignals());
      for (const release of [...this.owned].reverse()) await attempt(release);
      this.owned.clear();
      await attempt(() => this.pool.trim());
      await attempt(() => this.provider.close());
      for (const stream of [...this.streams]) await stream.destroy();
      await attempt(() => this.turns.destroy());
    }
    await attempt(() => this.fds?.close());
    // Together, so that nobody's end is taken for the loss of a rank that others still need.
    await attempt(() => this.exchangeChannel.barrier("group close"));
    if (isWhole) this.runDestructors();
    if (this.parent === null) await this.boot.close(Math.max(lastWordsMs, deadline - performance.now()));
  }
}
