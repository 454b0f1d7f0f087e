/** The cpu backend: all ranks of the group emulated in this process, executing the IR that is printed as CUDA. */
import type { CompileResult, DimValues, DType, Manifest } from "../compiler/index.js";
import { CpuGroup, type CpuOptions } from "./cpu/index.js";
import { UsageError } from "./errors.js";
import type { Group, LoadedKernel, Tensor, Timing, TimingOptions } from "./group.js";
import { allocate, holds, type TypedArray } from "./numbers/index.js";
import { checkTensors } from "./shapes.js";
import { summarize } from "./summary.js";

/** A tensor of the emulation: one array a rank. */
class HostTensor implements Tensor {
  constructor(
    readonly dtype: DType,
    readonly shape: readonly number[],
    readonly symmetric: boolean,
    readonly arrays: readonly TypedArray[],
    /** Elements from the start of the allocation, for the alignment that kernels see. */
    readonly offset: number,
  ) {}

  get length(): number {
    return this.arrays[0]!.length;
  }

  private of(rank: number): TypedArray {
    const array = this.arrays[rank];
    if (array === undefined) throw new UsageError(`there is no rank ${rank} in a group of ${this.arrays.length}`);
    return array;
  }

  write(values: TypedArray, rank = 0): void {
    const array = this.of(rank);
    if (!holds(values, this.dtype) || values.length !== array.length)
      throw new UsageError(
        `an array of ${values.length} elements does not fit a tensor of ${array.length} ${this.dtype}`,
      );
    array.set(values);
  }

  read(rank = 0): Promise<TypedArray> {
    return Promise.resolve(this.of(rank).slice());
  }

  view(offset: number, shape: readonly number[]): Tensor {
    const length = shape.reduce((a, b) => a * b, 1);
    if (offset < 0 || offset + length > this.length)
      throw new UsageError(`a view of ${length} elements at ${offset} lies outside a tensor of ${this.length}`);
    return new HostTensor(
      this.dtype,
      shape,
      this.symmetric,
      this.arrays.map((a) => a.subarray(offset, offset + length)),
      this.offset + offset,
    );
  }

  overlaps(other: Tensor): boolean {
    const [a, b] = [this.arrays[0]!, other instanceof HostTensor ? other.arrays[0]! : null];
    if (b === null || a.buffer !== b.buffer) return false;
    return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
  }

  free(): Promise<void> {
    return Promise.resolve();
  }
}

export class EmulatedGroup implements Group {
  readonly backend = "cpu";
  readonly localRanks: readonly number[];

  constructor(
    readonly world: number,
    private readonly options: Pick<CpuOptions, "seed" | "detectUnwritten"> = {},
  ) {
    if (!Number.isInteger(world) || world < 1 || world > 64)
      throw new UsageError(`${world} ranks cannot be emulated`, "the cpu backend takes 1 to 64");
    this.localRanks = Array.from({ length: world }, (_, r) => r);
  }

  symmetric(dtype: DType, shape: readonly number[]): Promise<Tensor> {
    return Promise.resolve(this.make(dtype, shape, true));
  }

  local(dtype: DType, shape: readonly number[]): Tensor {
    return this.make(dtype, shape, false);
  }

  private make(dtype: DType, shape: readonly number[], symmetric: boolean): Tensor {
    const length = shape.reduce((a, b) => a * b, 1);
    return new HostTensor(
      dtype,
      shape,
      symmetric,
      this.localRanks.map(() => allocate(dtype, length)),
      0,
    );
  }

  async load(compiled: CompileResult): Promise<LoadedKernel> {
    const { kernel, manifest, source } = compiled;
    if (kernel === null || manifest === null)
      throw new UsageError(
        "the program has errors, so there is no kernel to load",
        "look at the diagnostics of the compilation",
      );
    if (manifest.ranks !== this.world)
      throw new UsageError(`the kernel was compiled for ${manifest.ranks} ranks; this group has ${this.world}`);
    const make = (elementOffset: Record<string, number>): CpuGroup =>
      new CpuGroup(kernel, manifest, { ...this.options, elementOffset, source });
    return new EmulatedKernel(manifest, make, this.localRanks);
  }

  barrier(): Promise<void> {
    return Promise.resolve();
  }

  exchange<T>(_name: string, value: T): Promise<T[]> {
    return Promise.resolve(this.localRanks.map(() => value));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class EmulatedKernel implements LoadedKernel {
  /** One instance per alignment of the tensors: the emulation fixes it when a kernel is loaded. */
  private readonly instances = new Map<string, CpuGroup>();

  constructor(
    readonly manifest: Manifest,
    private readonly make: (elementOffset: Record<string, number>) => CpuGroup,
    private readonly ranks: readonly number[],
  ) {}

  // async, so that what is wrong with the arguments rejects, as on the other backends
  async run(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): Promise<void> {
    this.launch(tensors, dims);
  }

  private launch(tensors: Readonly<Record<string, Tensor>>, dims: DimValues): void {
    checkTensors(this.manifest, tensors, dims);
    const named = Object.entries(tensors) as [string, HostTensor][];
    const offsets = Object.fromEntries(named.map(([name, t]) => [name, t.offset]));
    const key = JSON.stringify(offsets);
    let instance = this.instances.get(key);
    if (instance === undefined) this.instances.set(key, (instance = this.make(offsets)));
    const pick = (parameters: Manifest["inputs"], rank: number): Record<string, TypedArray> =>
      Object.fromEntries(parameters.map((p) => [p.name, (tensors[p.name] as HostTensor).arrays[rank]!]));
    instance.run(
      this.ranks.map((rank) => ({
        inputs: pick(this.manifest.inputs, rank),
        outputs: pick(this.manifest.outputs, rank),
      })),
      dims,
    );
  }

  /** Wall time of the emulation: says how long a test takes, nothing about a GPU. */
  time(tensors: Readonly<Record<string, Tensor>>, dims: DimValues, { outer = 5 }: TimingOptions = {}): Promise<Timing> {
    const samples: number[] = [];
    for (let i = 0; i < outer; i++) {
      const start = performance.now();
      this.launch(tensors, dims);
      samples.push((performance.now() - start) * 1000);
    }
    return Promise.resolve(summarize(samples));
  }

  unload(): Promise<void> {
    return Promise.resolve();
  }
}
