/** Programs of a device group: their kernels with memory of their own, launches, and waits that ran out. */
import {
  besideOf,
  choiceOf,
  DTYPES,
  elementsOf,
  type DimValues,
  isNear,
  type KernelManifest,
  type Manifest,
  type MessageStep,
  type Reach,
  type Step,
} from "../compiler/index.js";
import { allOf } from "./all-of.js";
import {
  describeDevice,
  DeviceMemory,
  Kernel,
  type PreparedLaunch,
  requireNoCapture,
  StatusRecord,
} from "./cuda/index.js";
import { prepareCopies } from "./copy-steps.js";
import { ownTensor } from "./device-copies.js";
import type { Watched } from "./device-stream.js";
import { notReachable } from "./device-tensor.js";
import { RuntimeError } from "./errors.js";
import { ranksText } from "./hosts.js";
import { prepareCall } from "./library-steps.js";
import type { MessageCarrier, PreparedCall } from "./message-carrier.js";
import { MESSAGE_BLOCKS, placedCalls } from "./message-lane.js";
import { prepareMessages, SharedMemory } from "./message-steps.js";
import type { DeviceGroup } from "./group-device.js";
import type { GroupStream, LoadedKernel, Tensor, Timing, TimingOptions } from "./group.js";
import type { DevicePointer } from "./native.js";
import type { NcclCommunicator } from "./nccl/communicator.js";
import { PreparedProgram } from "./prepared-program.js";
import { checkTensors, requireSameRanks } from "./shapes.js";
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

/** Flags and counts, which launches on all ranks advance in step: zeroed once. */
function isCounter({ role }: KernelManifest["buffers"][number]): boolean {
  return role === "signal" || role === "state";
}

/** Whether a buffer is as long as a launch's dimensions ask. */
function isOfLengths({ shape }: KernelManifest["buffers"][number]): boolean {
  return shape.some((e) => typeof e !== "number");
}

/** One kernel of a program on this rank's GPU. */
class ProgramKernel {
  /** Scratch by buffer; grows when a launch asks for more. */
  private readonly scratch = new Map<string, Placed>();
  private readonly fixed: Addresses = { pointers: {}, peers: {} };
  /** Most blocks of a launch whose blocks wait on each other, on any of the ranks. */
  mostBlocks = Infinity;
  /** The same of a launch beside messages. */
  mostBlocksBeside = Infinity;
  /** Pads and counters, which launches on all ranks advance in step. */
  private readonly counters: Placed[] = [];

  private constructor(
    private readonly group: DeviceGroup,
    readonly manifest: KernelManifest,
    private readonly collective: string,
    private readonly kernel: Kernel,
    private readonly status: StatusRecord,
    private readonly shared: SharedMemory,
    private readonly reach: Reach,
  ) {}

  static async load(
    group: DeviceGroup,
    manifest: KernelManifest,
    collective: string,
    cubin: Uint8Array,
    shared: SharedMemory,
    reach: Reach,
  ): Promise<ProgramKernel> {
    const kernel = new Kernel(group.device, manifest, cubin);
    const loaded = new ProgramKernel(
      group,
      manifest,
      collective,
      kernel,
      new StatusRecord(group.device),
      shared,
      reach,
    );
    for (const buffer of manifest.buffers) {
      if (!isCounter(buffer) || isOfLengths(buffer) || buffer.memory !== undefined) continue;
      const bytes = elementsOf(buffer.shape, {}) * DTYPES[buffer.dtype].bytes;
      loaded.counters.push(await loaded.place(buffer.name, bytes, buffer.symmetric));
    }
    return loaded;
  }

  /** Blocks that this rank's GPU holds at once, where they must all be there. */
  get residentBlocks(): number | null {
    return this.manifest.cooperative ? this.kernel.residentBlocks : null;
  }

  /** The same beside messages, whose blocks need multiprocessors that have none of the kernel's; 0 or less where the GPU has too few. */
  get residentBeside(): number | null {
    return this.manifest.cooperative ? describeDevice(this.group.device).multiprocessors - MESSAGE_BLOCKS : null;
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
    const { localPointer, peerPointers, free } = await group.allocateSymmetric(bytes, `${this.manifest.name}.${name}`);
    this.fixed.peers[name] = peerPointers;
    return { memory: DeviceMemory.view(group.device, localPointer, bytes), free };
  }

  private async placeScratch(dims: DimValues): Promise<void> {
    for (const buffer of this.manifest.buffers) {
      const isScratch = buffer.role === "scratch" || buffer.role === "packet";
      if (!(isScratch || (isCounter(buffer) && isOfLengths(buffer))) || buffer.memory !== undefined) continue;
      const bytes = elementsOf(buffer.shape, dims) * DTYPES[buffer.dtype].bytes;
      const held = this.scratch.get(buffer.name);
      if (held !== undefined && held.memory.bytes >= bytes) continue;
      requireNoCapture(`allocating ${bytes} bytes of scratch for ${this.collective} (launch it once before)`);
      await this.group.settle();
      await held?.free();
      this.scratch.set(buffer.name, await this.place(buffer.name, bytes, buffer.symmetric));
    }
  }

  /** @param tensors checked against the signature */
  async prepare(
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
    maxBlocks: number,
    isBeside: boolean,
  ): Promise<PreparedLaunch> {
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
    for (const { name, memory } of this.manifest.buffers) {
      if (memory === undefined) continue;
      const placed = this.shared.of(memory);
      pointers[name] = placed.pointer;
      peers[name] = placed.peers;
    }
    const { rank: own } = this.group;
    for (const parameter of this.manifest.parameters) {
      if (parameter.kind !== "peers") continue;
      const all = peers[parameter.buffer];
      if (all === undefined) continue;
      const far = all.findIndex((address, peer) => address === 0n && isNear(own, peer, this.reach));
      if (far >= 0) throw notReachable(far, own, this.group.hosts);
      // A kernel has no addresses of ranks beyond its domain, whether or not there are any.
      peers[parameter.buffer] = all.map((address, peer) => (isNear(own, peer, this.reach) ? address : 0n));
    }
    const timeoutNs = BigInt(this.group.timeoutMs) * 1_000_000n;
    const { rank } = this.group;
    return this.kernel.prepare(
      { rank, dims, pointers, peers, timeoutNs, status: this.status.pointer },
      Math.min(maxBlocks, this.mostBlocks, isBeside ? this.mostBlocksBeside : Infinity),
    );
  }

  /** What a wait that ran out left. The context lives on, the counters are out of step. */
  takeFailure(): RuntimeError | null {
    const failure = this.status.read();
    if (failure === null) return null;
    this.status.clear();
    const { rank, peer, slot, wanted, seen, line } = failure;
    const buffer = this.manifest.buffers[failure.buffer]?.name ?? "?";
    return new RuntimeError(
      `rank ${rank} waited ${this.group.timeoutMs} ms for rank ${peer} in ${this.manifest.name} (line ${line}, ${buffer}[${slot}]: wanted ${wanted}, saw ${seen})`,
      `see whether rank ${peer} launched the kernel, or raise COLLC_TIMEOUT_MS; before it is used again, call group.recover() on all ranks`,
      "timeout",
    );
  }

  /** Zeroes pads, packets and counters of this rank. Nothing may be in flight on any rank. */
  reset(): void {
    for (const { memory } of this.counters) memory.fill(0);
    for (const buffer of this.manifest.buffers)
      if (buffer.role === "packet" || isCounter(buffer)) this.scratch.get(buffer.name)?.memory.fill(0);
    this.status.clear();
  }

  free(): (() => Promise<void> | void)[] {
    const memory = [...this.scratch.values(), ...this.counters].map(({ free }) => free);
    return [...memory, () => this.status.free(), () => this.kernel.unload()];
  }
}

/** A program that a group has loaded. */
export class DeviceKernel implements LoadedKernel, Watched {
  /** A wait ran out, so the counters differ between ranks until the group recovers. */
  private isOutOfStep = false;
  private isUnloaded = false;

  private constructor(
    private readonly group: DeviceGroup,
    readonly manifest: Manifest,
    private readonly kernels: readonly ProgramKernel[],
    /** Of its steps that a library does. */
    private readonly communicator: NcclCommunicator | null,
    private readonly carrier: MessageCarrier | null,
    private readonly memory: SharedMemory,
  ) {}

  /** Collective. @param cubins of the manifest's kernels, in order */
  static async load(group: DeviceGroup, manifest: Manifest, cubins: readonly Uint8Array[]): Promise<DeviceKernel> {
    const communicator = await group.librarySteps.open(manifest);
    const carrier = await group.messageCarriers.open(manifest);
    group.copyLanes.open(manifest);
    const kernels: ProgramKernel[] = [];
    const { collective, ranks, ranksPerDomain = ranks, memory = [] } = manifest;
    const shared = new SharedMemory(group, collective, memory, carrier);
    for (const [i, kernel] of manifest.kernels.entries())
      kernels.push(await ProgramKernel.load(group, kernel, collective, cubins[i]!, shared, { ranksPerDomain }));
    // Grids are the same on every rank, so the smallest GPU says how large they may be.
    const resident = await group.exchange(
      "blocks that GPUs hold",
      kernels.map(({ residentBlocks, residentBeside }) => [residentBlocks, residentBeside]),
    );
    const least = (kernel: number, k: 0 | 1): number => Math.min(...resident.map((rank) => rank[kernel]?.[k] ?? Infinity)); // prettier-ignore
    kernels.forEach((kernel, i) => {
      kernel.mostBlocks = least(i, 0);
      kernel.mostBlocksBeside = least(i, 1);
    });
    group.messageLane.open(manifest);
    return new DeviceKernel(group, manifest, kernels, communicator, carrier, shared);
  }

  /** Of all its choices, in the order that numbers them. */
  private get messageSteps(): readonly MessageStep[] {
    return this.manifest.plan.choices.flatMap(({ steps }) => steps.filter((step) => step.kind === "message"));
  }

  /** The steps of the plan for these dimensions, ready to be enqueued. */
  async prepare(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<PreparedProgram> {
    if (this.isUnloaded) throw new RuntimeError(`${this.manifest.collective} was unloaded`);
    if (this.isOutOfStep)
      throw new RuntimeError(
        `a wait of ${this.manifest.collective} ran out before, so the ranks are out of step`,
        "call group.recover() on all ranks, or load the kernel again",
      );
    checkTensors(this.manifest, tensors, dims);
    await this.memory.place(dims);
    const launches: PreparedCall[] = [];
    const { steps } = choiceOf(this.manifest, dims);
    const hasLane = this.hasLane(steps);
    try {
      for (const [i, step] of steps.entries())
        launches.push(await this.prepareStep(step, tensors, dims, hasLane && besideOf(steps, i).length > 0));
    } catch (error) {
      for (const launch of launches) launch.release();
      throw error;
    }
    // Copies within a GPU need multiprocessors, which a launch that waits for them may have all of: those of ranks on one GPU come before it.
    const hasCopies = steps.some((step) => step.kind === "copy" && step.beside === true);
    const isBeside = hasLane || (hasCopies && !this.group.sharesDevices);
    const beside = isBeside ? { lane: this.group.messageLane, placed: placedCalls(steps, launches) } : null;
    return new PreparedProgram(this.group, this, launches, beside, dims);
  }

  /** Whether messages go on beside launches: where some may, and every GPU is large enough for both. */
  private hasLane(steps: readonly Step[]): boolean {
    const isRoom = (step: Step, i: number): boolean =>
      step.kind !== "launch" || besideOf(steps, i).length === 0 || this.kernels[step.kernel]!.mostBlocksBeside > 0;
    return steps.some((step) => step.kind === "message" && step.beside === true) && steps.every(isRoom);
  }

  private async prepareStep(
    step: Step,
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
    isBeside: boolean,
  ): Promise<PreparedCall> {
    if (step.kind === "library") return prepareCall(this.group, this.communicator!, step, tensors);
    if (step.kind === "copy") return prepareCopies(this.group, step, { tensors, memory: this.memory }, dims);
    if (step.kind === "message")
      return prepareMessages(this.group, this.carrier!, step, this.messageSteps.indexOf(step), this.memory, dims);
    return this.kernels[step.kernel]!.prepare(tensors, dims, step.maxBlocks, isBeside);
  }

  /** Whether a wait for messages has run out and holds its stream. */
  get isHolding(): boolean | undefined {
    return this.isUnloaded ? false : this.carrier?.isHolding;
  }

  takeFailure(): RuntimeError | null {
    if (this.isUnloaded) return null;
    let first: RuntimeError | null = null;
    for (const kernel of this.kernels) first = kernel.takeFailure() ?? first;
    // A kernel may be late for the sake of messages, not they for its.
    first = this.carrier?.takeFailure() ?? first;
    this.isOutOfStep ||= first !== null;
    return first;
  }

  async run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void> {
    requireNoCapture(`waiting for ${this.manifest.collective} (use launch)`);
    const stream = this.group.defaultStream;
    await this.launch(tensors, dims, stream);
    await stream.synchronize(this.named);
  }

  /** For an error of a wait that ran out: whose messages the program waits for, as nothing says which of them have come. */
  private get named(): string {
    const { collective } = this.manifest;
    const ends = this.messageSteps.flatMap(({ ranks }) => ranks[this.group.rank]!.receives);
    const peers = [...new Set(ends.map(({ peer }) => peer))].sort((a, b) => a - b);
    return peers.length === 0 ? collective : `${collective}, which waits for messages of ${ranksText(peers)},`;
  }

  async launch(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, stream: GroupStream): Promise<void> {
    const own = this.group.ownStream(stream);
    const prepared = await this.prepare(tensors, dims);
    try {
      prepared.launch(own);
    } finally {
      prepared.release();
    }
  }

  async time(
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
    { inner = 10, outer = 15 }: TimingOptions = {},
  ): Promise<Timing> {
    const prepared = await this.prepare(tensors, dims);
    const stream = this.group.defaultStream;
    const run = (): void => prepared.enqueue(stream);
    const finish = (): Promise<void> => {
      stream.watch(this);
      return stream.synchronize(this.named);
    };
    try {
      await this.group.settle();
      return await timeGraph(this.group, this.group.device, stream.handle, run, { inner, outer }, finish);
    } finally {
      prepared.release();
    }
  }

  /** Ends waits for messages that have run out and hold their streams. No rank may need any more what they protect. */
  letGo(): void {
    this.carrier?.letGo();
  }

  /** Zeroes pads and counters of this rank. Nothing may be in flight on any rank. */
  reset(): void {
    for (const kernel of this.kernels) kernel.reset();
    this.memory.reset();
    this.carrier?.reset();
    this.isOutOfStep = false;
  }

  readonly unload = async (): Promise<void> => {
    if (this.isUnloaded) return;
    requireNoCapture(`unloading ${this.manifest.collective}`);
    this.isUnloaded = true;
    this.group.forget(this);
    const free = (): Promise<void> =>
      allOf([
        ...this.kernels.flatMap((kernel) => kernel.free()),
        ...this.memory.free(),
        ...(this.carrier?.free() ?? []),
      ]);
    await freeBehind(() => this.group.settle(), free);
  };
}
