/** Tensors in GPU memory, of one's own or of a peer. */
import { DTYPES, type DType } from "../compiler/index.js";
import { type DeviceMemory, DeviceMemory as Memory, requireNoCapture, type SymmetricAllocation } from "./cuda/index.js";
import { RuntimeError, UsageError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import { type HostRanks, hostsText, reachHelp } from "./hosts.js";
import type { DevicePointer } from "./native.js";
import { allocate, holds, type TypedArray } from "./numbers/index.js";
import { placesOf, requireInside, tensorShape, type TensorShape } from "./tensor-shape.js";

/** Memory that tensors and their views share. */
export interface TensorMemory {
  readonly memory: DeviceMemory;
  /** Null for memory that peers do not reach. */
  readonly allocation: SymmetricAllocation | null;
  /** Once freed, no view of it may be used. */
  isFreed: boolean;
  /** What the owner does to give it back. */
  readonly release: () => Promise<void>;
}

/** Where a tensor lies: this rank's address, and every rank's as mapped here. */
export class DeviceTensor implements Tensor {
  constructor(
    readonly group: DeviceGroup,
    readonly dtype: DType,
    /** Its elements, from `offset` on. */
    readonly layout: TensorShape,
    private readonly held: TensorMemory,
    /** Bytes from the start of the memory. */
    private readonly offset: number,
    private readonly isOwner: boolean,
  ) {}

  get shape(): readonly number[] {
    return this.layout.shape;
  }

  get strides(): readonly number[] {
    return this.layout.strides;
  }

  get length(): number {
    return this.layout.length;
  }

  get symmetric(): boolean {
    return this.held.allocation !== null;
  }

  /** Bytes from the first element to the last. */
  get bytes(): number {
    return this.layout.extent * DTYPES[this.dtype].bytes;
  }

  get pointer(): DevicePointer {
    this.requireAlive();
    return this.held.memory.pointer + BigInt(this.offset);
  }

  /** 0n for a rank whose memory is not reachable. */
  get peerPointers(): readonly DevicePointer[] {
    this.requireAlive();
    const { allocation } = this.held;
    if (allocation === null) return [this.pointer];
    return allocation.peerPointers.map((p) => (p === 0n ? 0n : p + BigInt(this.offset)));
  }

  /** @throws UsageError once the memory is freed. */
  requireAlive(): void {
    if (this.held.isFreed) throw new UsageError(`a tensor ${this.dtype}[${this.shape.join(", ")}] was freed before`);
  }

  /** Whether it may still be used. */
  get isAlive(): boolean {
    return !this.held.isFreed;
  }

  write(values: TypedArray, rank = this.group.rank): void {
    this.group.requireLocal(rank);
    this.requireAlive();
    requireNoCapture("writing a tensor");
    if (!holds(values, this.dtype) || values.length !== this.length)
      throw new UsageError(
        `an array of ${values.length} elements does not fit a tensor of ${this.length} ${this.dtype}`,
      );
    if (values.length === 0) return;
    if (this.layout.isContiguous) return this.held.memory.write(values, this.offset);
    const all = this.held.memory.read(allocate(this.dtype, this.layout.extent), this.offset);
    let i = 0;
    for (const place of placesOf(this.layout)) all[place] = values[i++]!;
    this.held.memory.write(all, this.offset);
  }

  async read(rank = this.group.rank): Promise<TypedArray> {
    this.group.requireLocal(rank);
    this.requireAlive();
    await this.group.settle();
    const values = allocate(this.dtype, this.length);
    if (values.length === 0) return values;
    if (this.layout.isContiguous) return this.held.memory.read(values, this.offset);
    const all = this.held.memory.read(allocate(this.dtype, this.layout.extent), this.offset);
    let i = 0;
    for (const place of placesOf(this.layout)) values[i++] = all[place]!;
    return values;
  }

  view(offset: number, shape: readonly number[]): DeviceTensor {
    const layout = tensorShape(shape);
    requireInside("a view", offset, layout.extent, this.layout.extent);
    const start = this.offset + offset * DTYPES[this.dtype].bytes;
    return new DeviceTensor(this.group, this.dtype, layout, this.held, start, false);
  }

  getBuffer(rank: number, shape?: readonly number[], dtype: DType = this.dtype, offset = 0): DeviceTensor {
    const { allocation } = this.held;
    if (allocation === null)
      throw new UsageError("only symmetric tensors have parts on other ranks", "make it with group.symmetric");
    this.group.requirePeer(rank);
    const layout = shape === undefined ? this.layout : tensorShape(shape);
    const width = DTYPES[dtype].bytes;
    requireInside(`the buffer of rank ${rank}`, offset, layout.extent, Math.floor(this.bytes / width));
    const start = this.offset + offset * width;
    if (start % width !== 0)
      throw new UsageError(`${dtype} elements cannot begin ${start} bytes into an allocation`, "align the view");
    const pointer = allocation.peerPointers[rank]!;
    if (pointer === 0n) throw notReachable(rank, this.group.rank, this.group.hosts);
    const memory = Memory.view(this.group.device, pointer, allocation.bytes);
    const { held } = this;
    const part: TensorMemory = {
      memory,
      allocation: null,
      get isFreed() {
        return held.isFreed;
      },
      release: () => Promise.resolve(),
    };
    return new DeviceTensor(this.group, dtype, layout, part, start, false);
  }

  overlaps(other: Tensor): boolean {
    if (!(other instanceof DeviceTensor)) return false;
    const end = (t: DeviceTensor): DevicePointer => t.pointer + BigInt(t.bytes);
    return this.pointer < end(other) && other.pointer < end(this);
  }

  async free(): Promise<void> {
    if (!this.isOwner) return;
    requireNoCapture("freeing a tensor");
    this.requireAlive();
    this.held.isFreed = true;
    await this.held.release();
  }
}

/** @param hosts of the ranks' group */
export function notReachable(peer: number, rank: number, hosts: readonly HostRanks[]): RuntimeError {
  const isOneHost = hosts.some(({ ranks }) => ranks.includes(peer) && ranks.includes(rank));
  if (!isOneHost)
    return new RuntimeError(
      `the memory of rank ${peer} is not reachable from rank ${rank}: ${hostsText(hosts)}`,
      reachHelp(hosts),
    );
  return new RuntimeError(
    `the memory of rank ${peer} is not reachable from rank ${rank}`,
    "only ranks with peer access (NVLink or PCIe, one host) address each other's memory; `collc doctor` shows which",
  );
}
