/** The cpu backend: all ranks of the group emulated in this process, executing the IR that is printed as CUDA. */
import {
  choiceOf,
  type CompileResult,
  type CopyStep,
  describeOutside,
  type DimValues,
  type DType,
  programOf,
  type Kernel,
  type LaunchStep,
  type Manifest,
  type MessageStep,
  outsideDimension,
  type SourceFile,
} from "../compiler/index.js";
import { CpuFault, CpuGroup, type CpuOptions, PersistentMemory } from "./cpu/index.js";
import { copyRows } from "./cpu/copies.js";
import { EmulatedLane, exchangeMessages, type MessageTimes } from "./cpu/messages.js";
import { defaultTimeoutMs } from "./env.js";
import { MachineError, UsageError } from "./errors.js";
import type { ExternalMemory } from "./external.js";
import type {
  CapturedGraph,
  Group,
  GroupStream,
  LoadedKernel,
  PreparedRun,
  SubgroupOptions,
  SymmetricOptions,
  Tensor,
  Timing,
  TimingOptions,
} from "./group.js";
import { HostPrimitives, hostStream, hostTensor } from "./host-primitives.js";
import { captureSteps, type HostStep, HostStream, requireNoRecording } from "./host-stream.js";
import { externalArrays, HostTensor } from "./host-tensor.js";
import { allocate, type TypedArray } from "./numbers/index.js";
import { requireManifest } from "./same-program.js";
import { checkTensors, requireDType, requireSameRanks, withNumbers } from "./shapes.js";
import { checkMembers } from "./subgroups.js";
import { summarize } from "./summary.js";
import { requireContiguous, type ShapeLike, tensorShape } from "./tensor-shape.js";

export interface EmulationOptions extends Pick<CpuOptions, "seed" | "detectUnwritten"> {
  readonly timeoutMs?: number | undefined;
  readonly signalPadBytes?: number | undefined;
  /** `early`, if left out; `any` goes by the seed. */
  readonly messages?: MessageTimes;
}

/** Memory of an id, kept from one tensor to the next. */
interface Kept {
  readonly dtype: DType;
  readonly arrays: TypedArray[];
  isAlive: boolean;
}

/** Most ranks that one process emulates. */
const maxRanks = 1024;

export class EmulatedGroup extends HostPrimitives implements Group {
  readonly backend = "cpu";
  /** The emulation reaches everybody. */
  readonly reach = undefined;
  readonly localRanks: readonly number[];
  private readonly kept = new Map<number, Kept>();
  private readonly streams = new Set<HostStream>();
  private nextId = 0;
  private isClosed = false;

  constructor(
    world: number,
    private readonly options: EmulationOptions = {},
    readonly name = "world",
    readonly ranks: readonly number[] = Array.from({ length: Math.min(Math.max(world, 0), maxRanks) }, (_, r) => r),
  ) {
    if (!Number.isInteger(world) || world < 1 || world > maxRanks)
      throw new UsageError(`${world} ranks cannot be emulated`, `the cpu backend takes 1 to ${maxRanks}`);
    super(world, options.timeoutMs ?? defaultTimeoutMs(), options.signalPadBytes);
    this.localRanks = Array.from({ length: world }, (_, r) => r);
  }

  async subgroup(members: readonly number[], options: SubgroupOptions = {}): Promise<Group> {
    requireNoRecording("making a group");
    this.requireOpen();
    checkMembers(this.name, this.world, members, members[0] ?? 0);
    const ranks = members.map((member) => this.ranks[member]!);
    const signalPadBytes = options.signalPadBytes ?? this.signalPadBytes;
    const timeoutMs = options.timeoutMs ?? this.timeoutMs;
    const name = options.name ?? `ranks ${ranks.join(",")}`;
    return new EmulatedGroup(members.length, { ...this.options, signalPadBytes, timeoutMs }, name, ranks);
  }

  async symmetric(dtype: DType, shape: ShapeLike, { id }: SymmetricOptions = {}): Promise<Tensor> {
    requireNoRecording("allocating symmetric memory");
    this.requireOpen();
    requireDType(dtype);
    const layout = tensorShape(shape);
    this.openSignals();
    if (id === undefined) return this.make(dtype, shape, true);
    if (!Number.isSafeInteger(id) || id < 0) throw new UsageError(`${id} is no allocation id`, "ids count from 0");
    const held = this.kept.get(id);
    if (held?.isAlive === true)
      throw new UsageError(`the tensor of id ${id} is alive`, "free it first, or take another id");
    const entry = held ?? { dtype, arrays: this.arrays(dtype, layout.extent), isAlive: true };
    const [first] = entry.arrays as [TypedArray];
    if (entry.dtype !== dtype || first.length !== layout.extent)
      throw new UsageError(
        `the memory of id ${id} is of ${first.length} ${entry.dtype}, not ${layout.extent} ${dtype}`,
        "take another id",
      );
    entry.isAlive = true;
    this.kept.set(id, entry);
    const release = (): void => {
      entry.isAlive = false;
    };
    return new HostTensor(dtype, layout, true, entry.arrays, 0, this.life(release), true);
  }

  nextAllocationId(): number {
    while (this.kept.has(this.nextId)) this.nextId++;
    return this.nextId++;
  }

  external(external: ExternalMemory): Tensor {
    requireNoRecording("taking in memory");
    this.requireOpen();
    const { arrays, layout } = externalArrays(external, this.world);
    return new HostTensor(
      external.dtype,
      layout,
      external.symmetric === true,
      arrays,
      0,
      this.life(external.release),
      true,
    );
  }

  externalStream(): HostStream {
    throw new UsageError("the cpu backend has no streams but its own", "make one with group.stream()");
  }

  local(dtype: DType, shape: ShapeLike): Tensor {
    return this.make(dtype, shape, false);
  }

  private make(dtype: DType, shape: ShapeLike, symmetric: boolean): Tensor {
    requireNoRecording("allocating memory");
    this.requireOpen();
    requireDType(dtype);
    const layout = tensorShape(shape);
    return new HostTensor(dtype, layout, symmetric, this.arrays(dtype, layout.extent), 0, this.life(), true);
  }

  private arrays(dtype: DType, length: number): TypedArray[] {
    try {
      return this.localRanks.map(() => allocate(dtype, length));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new MachineError(
        `this machine has no memory for ${length} elements of ${dtype} on each of ${this.world} ranks`,
        "take a smaller shape, or fewer ranks",
      );
    }
  }

  async load(compiled: CompileResult): Promise<LoadedKernel> {
    requireNoRecording("loading a kernel");
    this.requireOpen();
    const manifest = requireManifest(compiled, this.world);
    const { variants, kernels } = compiled;
    const { seed, detectUnwritten } = this.options;
    const cpu = { ...(seed !== undefined && { seed }), ...(detectUnwritten !== undefined && { detectUnwritten }) };
    const programMemory = new PersistentMemory();
    const make: MakeKernel = (kernel, elementOffset) => {
      const { kernel: ir, variant } = kernels[kernel]!;
      const { source } = variants[variant]!.compiled;
      return new CpuGroup(ir, manifest, { ...cpu, elementOffset, source, programMemory });
    };
    const elements = variants.map(({ compiled: one }) => programOf(one.snapshots));
    const whyOutside = (kernel: number, dims: DimValues): CpuFault | null => {
      const { variant } = kernels[kernel]!;
      return elements[variant] == null ? null : outside(elements[variant], dims, variants[variant]!.compiled.source);
    };
    return new EmulatedKernel(
      manifest,
      make,
      whyOutside,
      this,
      programMemory,
      new EmulatedLane(this.options.messages, seed),
    );
  }

  stream(): HostStream {
    requireNoRecording("making a stream");
    const stream: HostStream = new HostStream(this.world, () => this.streams.delete(stream));
    this.streams.add(stream);
    return stream;
  }

  protected async settle(rank?: number): Promise<void> {
    for (const stream of [this.defaultStream, ...this.streams]) await stream.settle(rank);
  }

  capture(record: (stream: GroupStream) => void | Promise<void>): Promise<CapturedGraph> {
    return captureSteps(new HostStream(this.world), () => this.defaultStream, record);
  }

  async recover(): Promise<void> {
    requireNoRecording("recovering");
    for (const stream of [this.defaultStream, ...this.streams]) await stream.synchronize().catch(() => {});
    this.resetSignals();
  }

  barrier(): Promise<void> {
    return Promise.resolve();
  }

  exchange<T>(_name: string, value: T): Promise<T[]> {
    return Promise.resolve(this.localRanks.map(() => value));
  }

  requireOpen(): void {
    if (this.isClosed) throw new UsageError(`group "${this.name}" is closed`, "close it after all work with it");
  }

  close(): Promise<void> {
    this.isClosed = true;
    return this.settle();
  }
}

/** An access with an index outside its dimension, which a linear index may hide. */
function outside(elements: Kernel, dims: DimValues, source: SourceFile): CpuFault | null {
  const found = outsideDimension(elements, dims);
  if (found === null) return null;
  const { op, rank, buffer, index } = found;
  const { line, column } = source.position(op.span.start);
  const where = `${elements.name}, ${source.fileOf(op.span.start)}:${line}:${column}, rank ${rank}`;
  const places = [{ kernel: elements.name, rank, block: 0, buffer, index, span: op.span }];
  return new CpuFault("bounds", `${where}: ${describeOutside(found)}`, places);
}

type MakeKernel = (kernel: number, elementOffset: Record<string, number>) => CpuGroup;

class EmulatedKernel implements LoadedKernel {
  /** One instance per kernel and alignment of the tensors: the emulation fixes it when a kernel is loaded. */
  private readonly instances = new Map<string, CpuGroup>();
  /** Dimensions at which indices stay inside theirs. */
  private readonly bounded = new Set<string>();

  constructor(
    readonly manifest: Manifest,
    private readonly make: MakeKernel,
    private readonly whyOutside: (kernel: number, dims: DimValues) => CpuFault | null,
    private readonly group: EmulatedGroup,
    private readonly memory: PersistentMemory,
    private readonly lane: EmulatedLane,
  ) {}

  private get ranks(): readonly number[] {
    return this.group.localRanks;
  }

  // async, so that what is wrong with the arguments rejects, as on the other backends
  async run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void> {
    requireNoRecording(`waiting for ${this.manifest.collective} (use launch)`);
    this.check(tensors, dims);
    this.execute(tensors, dims);
  }

  async launch(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, stream: GroupStream): Promise<void> {
    this.check(tensors, dims);
    hostStream(stream).enqueue({ ranks: this.ranks, run: () => this.execute(tensors, dims) });
  }

  private check(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): void {
    this.group.requireOpen();
    for (const [name, tensor] of Object.entries(tensors)) {
      requireContiguous(hostTensor(tensor).layout, `'${name}'`);
      requireSameRanks(this.group, hostTensor(tensor).owner, `'${name}'`);
    }
    checkTensors(this.manifest, tensors, dims);
    const key = JSON.stringify(this.manifest.dims.map((name) => dims[name]));
    if (this.bounded.has(key)) return;
    for (const step of this.steps(dims)) {
      const fault = step.kind === "launch" ? this.whyOutside(step.kernel, dims) : null;
      if (fault !== null) throw fault;
    }
    this.bounded.add(key);
  }

  private steps(dims: DimValues): readonly (LaunchStep | CopyStep | MessageStep)[] {
    return choiceOf(this.manifest, dims).steps.map((step) => {
      if (step.kind !== "library") return step;
      throw new UsageError(
        `the plan of ${this.manifest.collective} takes ${step.library} at this size, which the cpu backend does not have`,
        "compile it without the option `tuned`, or with plans that leave libraries out",
      );
    });
  }

  private execute(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): void {
    const offsets = Object.fromEntries(Object.entries(tensors).map(([name, t]) => [name, hostTensor(t).offset]));
    const pick = (parameters: Manifest["inputs"], rank: number): Record<string, TypedArray> =>
      Object.fromEntries(parameters.map((p) => [p.name, hostTensor(tensors[p.name]!).of(rank)]));
    const ranks = this.ranks.map((rank) => ({
      inputs: pick(this.manifest.inputs, rank),
      outputs: pick(this.manifest.outputs, rank),
      written: new Map(this.manifest.inPlace.map((name) => [name, new Uint8Array(hostTensor(tensors[name]!).of(rank).length).fill(1)])), // prettier-ignore
    }));
    const held = { tensors, memory: this.memory, wanted: this.manifest.memory ?? [] };
    this.lane.reset();
    for (const [i, step] of this.steps(dims).entries()) {
      if (step.kind === "copy") {
        const carriedOut = step.copies.map((list) =>
          list.map((copy) => () => copyRows(copy, held, dims, ranks[copy.to.rank]!.written)),
        );
        if (step.beside === true) this.lane.beginCopies(carriedOut);
        else for (const copy of carriedOut.flat()) copy();
        continue;
      }
      if (step.kind === "message") {
        this.lane.begin(i, () => exchangeMessages(step, this.manifest, this.memory, dims));
        if (step.beside !== true) this.lane.await(i);
        continue;
      }
      if (step.awaits !== undefined) this.lane.await(step.awaits);
      const { kernel, maxBlocks } = step;
      const key = JSON.stringify([kernel, offsets]);
      let instance = this.instances.get(key);
      if (instance === undefined) this.instances.set(key, (instance = this.make(kernel, offsets)));
      instance.run(ranks, dims, maxBlocks, () => this.lane.nextCopies());
      this.lane.goOn();
    }
    this.lane.finish();
  }

  prepare(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<PreparedRun> {
    this.check(tensors, dims);
    let now = dims;
    const run = {
      // What was enqueued keeps the numbers that it was enqueued with.
      step: (): HostStep => {
        const given = now;
        return { ranks: this.ranks, run: () => this.execute(tensors, given), by: run };
      },
      launch: (stream: GroupStream): void => hostStream(stream).enqueue(run.step()),
      set: (numbers: DimValues): void => void (now = withNumbers(this.manifest, now, numbers)),
      record: (): never => {
        throw new UsageError("the cpu backend has no streams but its own", "capture with group.capture");
      },
      release: (): void => {},
    };
    return Promise.resolve(run);
  }

  /** Wall time of the emulation: says how long a test takes, nothing about a GPU. */
  async time(
    tensors: Readonly<Record<string, Tensor>>,
    dims: DimValues,
    { outer = 5 }: TimingOptions = {},
  ): Promise<Timing> {
    this.check(tensors, dims);
    const samples: number[] = [];
    for (let i = 0; i < outer; i++) {
      const start = performance.now();
      this.execute(tensors, dims);
      samples.push((performance.now() - start) * 1000);
    }
    return summarize(samples);
  }

  unload(): Promise<void> {
    return Promise.resolve();
  }
}
