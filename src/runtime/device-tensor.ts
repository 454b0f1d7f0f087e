/** Tensors of the cuda backend. */
import { DTYPES, type DType } from "../compiler/index.js";
import type { DeviceMemory, SymmetricAllocation } from "./cuda/index.js";
import { UsageError } from "./errors.js";
import type { ProcessGroup } from "./group-cuda.js";
import type { Tensor } from "./group.js";
import type { DevicePointer } from "./native.js";
import { allocate, holds, type TypedArray } from "./numbers/index.js";

/** Where a tensor lies: this rank's address, and every rank's as mapped here. */
export class DeviceTensor implements Tensor {
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

  overlaps(other: Tensor): boolean {
    if (!(other instanceof DeviceTensor)) return false;
    const end = (t: DeviceTensor): DevicePointer => t.pointer + BigInt(t.length * DTYPES[t.dtype].bytes);
    return this.pointer < end(other) && other.pointer < end(this);
  }

  async free(): Promise<void> {
    await this.release?.();
  }
}
