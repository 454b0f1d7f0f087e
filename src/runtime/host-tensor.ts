/** Tensors of the emulation: one array a rank. */
import { DTYPES, type DType } from "../compiler/index.js";
import { UsageError } from "./errors.js";
import type { ExternalMemory } from "./external.js";
import type { Tensor } from "./group.js";
import { requireNoRecording } from "./host-stream.js";
import { allocate, arrayClass, copyInto, holds, type TypedArray } from "./numbers/index.js";
import { type Ranks, requireDType } from "./shapes.js";
import { placesOf, requireInside, tensorShape, type TensorShape } from "./tensor-shape.js";

/** What tensors and their views share. */
export interface HostLife {
  isFreed: boolean;
  /** Whose memory it is. */
  readonly owner: Ranks;
  /** What the owner does to give the memory back. */
  release(): void;
  /** Waits for what a rank, or without one every rank, has enqueued; never throws. */
  settle(rank?: number): Promise<void>;
}

export class HostTensor implements Tensor {
  constructor(
    readonly dtype: DType,
    readonly layout: TensorShape,
    readonly symmetric: boolean,
    /** Each of `layout.extent` elements. */
    readonly arrays: readonly TypedArray[],
    /** Elements from the start of the allocation, for the alignment that kernels see. */
    readonly offset: number,
    private readonly life: HostLife,
    private readonly isOwner: boolean,
  ) {}

  /** The group that allocated it. */
  get owner(): Ranks {
    return this.life.owner;
  }

  get shape(): readonly number[] {
    return this.layout.shape;
  }

  get strides(): readonly number[] {
    return this.layout.strides;
  }

  get length(): number {
    return this.layout.length;
  }

  get pointer(): null {
    return null;
  }

  /** One rank's memory. */
  of(rank: number): TypedArray {
    this.requireAlive();
    const array = this.arrays[rank];
    if (array === undefined) throw new UsageError(`there is no rank ${rank} in a group of ${this.arrays.length}`);
    return array;
  }

  requireAlive(): void {
    if (this.life.isFreed) throw new UsageError(`a tensor ${this.dtype}[${this.shape.join(", ")}] was freed before`);
  }

  write(values: TypedArray, rank = 0): void {
    const array = this.of(rank);
    requireNoRecording("writing a tensor");
    if (!holds(values, this.dtype) || values.length !== this.length)
      throw new UsageError(
        `an array of ${values.length} elements does not fit a tensor of ${this.length} ${this.dtype}`,
      );
    if (this.layout.isContiguous) return copyInto(array, values);
    let i = 0;
    for (const place of placesOf(this.layout)) array[place] = values[i++]!;
  }

  async read(rank = 0): Promise<TypedArray> {
    const array = this.of(rank);
    requireNoRecording("reading a tensor");
    await this.life.settle(rank);
    if (this.layout.isContiguous) return array.slice();
    const values = allocate(this.dtype, this.length);
    let i = 0;
    for (const place of placesOf(this.layout)) values[i++] = array[place]!;
    return values;
  }

  view(offset: number, shape: readonly number[]): HostTensor {
    const layout = tensorShape(shape);
    requireInside("a view", offset, layout.extent, this.layout.extent);
    const arrays = this.arrays.map((a) => a.subarray(offset, offset + layout.extent));
    return new HostTensor(this.dtype, layout, this.symmetric, arrays, this.offset + offset, this.life, false);
  }

  getBuffer(rank: number, shape?: readonly number[], dtype: DType = this.dtype, offset = 0): HostTensor {
    if (!this.symmetric)
      throw new UsageError("only symmetric tensors have parts on other ranks", "make it with group.symmetric");
    const array = this.of(rank);
    const layout = shape === undefined ? this.layout : tensorShape(shape);
    const width = DTYPES[dtype].bytes;
    requireInside(`the buffer of rank ${rank}`, offset, layout.extent, Math.floor(array.byteLength / width));
    const start = array.byteOffset + offset * width;
    if (start % width !== 0)
      throw new UsageError(`${dtype} elements cannot begin ${start} bytes into an allocation`, "align the view");
    const part = new (arrayClass(dtype))(array.buffer, start, layout.extent);
    return new HostTensor(
      dtype,
      layout,
      false,
      this.arrays.map(() => part),
      this.offset,
      this.life,
      false,
    );
  }

  overlaps(other: Tensor): boolean {
    const [a, b] = [this.arrays[0]!, other instanceof HostTensor ? other.arrays[0]! : null];
    if (b === null || a.buffer !== b.buffer) return false;
    return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
  }

  async free(): Promise<void> {
    if (!this.isOwner) return;
    requireNoRecording("freeing a tensor");
    this.requireAlive();
    this.life.isFreed = true;
    await this.life.settle();
    this.life.release();
  }
}

/** The arrays of a tensor of the emulation. @throws UsageError for arrays that do not fit */
export function externalArrays(
  { memory, dtype, shape, peers }: ExternalMemory,
  world: number,
): { readonly arrays: readonly TypedArray[]; readonly layout: TensorShape } {
  requireDType(dtype);
  const layout = tensorShape(shape);
  if (typeof memory === "bigint" || peers !== undefined)
    throw new UsageError("on the cpu backend, memory is an array for each rank, not an address");
  if (memory.length !== world) throw new UsageError(`${memory.length} arrays for ${world} ranks`);
  for (const array of memory)
    if (!holds(array, dtype) || array.length < layout.extent)
      throw new UsageError(`an array of ${array.length} elements does not hold a tensor of ${layout.extent} ${dtype}`);
  return { arrays: memory.map((array) => array.subarray(0, layout.extent)), layout };
}
