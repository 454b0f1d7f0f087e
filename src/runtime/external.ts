/**
 * Memory, streams and descriptions of tensors that somebody else owns: a framework's tensors as parameters of kernels, its streams to
 * launch on, and DLPack's fields in both directions.
 *
 * Lifetime: memory stays its owner's. It must be mapped until what was enqueued with it is done; `free` of the tensor waits for that,
 * calls `release`, and gives back nothing itself. Alignment: an address is a multiple of its elements' bytes; kernels find out how
 * much more there is. Peers' addresses are of the same bytes on every rank: the same place of the same allocation.
 */
import { DTYPES, type DType } from "../compiler/index.js";
import { DeviceMemory, requireNoCapture, type SymmetricAllocation } from "./cuda/index.js";
import { DeviceTensor, type TensorMemory } from "./device-tensor.js";
import { UsageError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import { type DevicePointer, native } from "./native.js";
import type { TypedArray } from "./numbers/index.js";
import { requireDType } from "./shapes.js";
import { type ShapeLike, tensorShape } from "./tensor-shape.js";

export interface ExternalMemory {
  /** This rank's address of the first element on a GPU; on the cpu backend, an array for each rank. */
  readonly memory: bigint | readonly TypedArray[];
  readonly dtype: DType;
  readonly shape: ShapeLike;
  /**
   * On GPUs, every rank's copy as mapped here, in the group's order, for parameters that peers reach, such as `buffer_ptrs` of
   * torch's symmetric memory. Without them, only this rank reaches it.
   */
  readonly peers?: readonly bigint[];
  /** On the cpu backend: peers reach the arrays. */
  readonly symmetric?: boolean;
  /** Called once, when the tensor is freed and nothing uses the memory any more. */
  readonly release?: () => void;
}

/** A tensor on memory of the caller's on a GPU. @throws UsageError for addresses that cannot be */
export function externalTensor(group: DeviceGroup, external: ExternalMemory): DeviceTensor {
  requireNoCapture("taking in memory");
  const { memory: pointer, dtype, peers, release } = external;
  requireDType(dtype);
  const layout = tensorShape(external.shape);
  const bytes = layout.extent * DTYPES[dtype].bytes;
  if (typeof pointer !== "bigint") throw new UsageError("on a GPU, memory is an address, a bigint", "arrays are for the cpu backend"); // prettier-ignore
  requireAddress(group.device, pointer, bytes, dtype);
  const memory = DeviceMemory.view(group.device, pointer, bytes);
  const allocation = peers === undefined ? null : shared(group, pointer, bytes, dtype, peers);
  const held: TensorMemory = {
    memory,
    allocation,
    isFreed: false,
    release: () => group.settle().finally(() => release?.()),
  };
  return new DeviceTensor(group, dtype, layout, held, 0, true);
}

/** Inside one allocation of this GPU, as far as the driver knows. */
function requireAddress(device: number, pointer: DevicePointer, bytes: number, dtype: DType): void {
  requireAligned(pointer, dtype, "the memory");
  if (bytes === 0) return;
  const range = pointer <= 0n ? null : native().memoryRange(device, pointer);
  const shown = `0x${pointer.toString(16)}`;
  if (range === null)
    throw new UsageError(`${shown} is no address of GPU memory`, "pass the data pointer of a tensor on this GPU, as a bigint"); // prettier-ignore
  if (range.device !== device)
    throw new UsageError(`the memory at ${shown} is GPU ${range.device}'s; this rank is on GPU ${device}`);
  const room = range.start + BigInt(range.bytes) - pointer;
  if (room < BigInt(bytes))
    throw new UsageError(`the tensor needs ${bytes} bytes; the allocation at ${shown} has ${room} from there on`);
}

function requireAligned(pointer: DevicePointer, dtype: DType, what: string): void {
  const width = BigInt(DTYPES[dtype].bytes);
  if (pointer % width !== 0n)
    throw new UsageError(`${what} begins at 0x${pointer.toString(16)}, no multiple of the ${width} bytes of ${dtype}`);
}

function shared(
  group: DeviceGroup,
  pointer: DevicePointer,
  bytes: number,
  dtype: DType,
  peers: readonly DevicePointer[],
): SymmetricAllocation {
  const { world, rank, device } = group;
  if (peers.length !== world) throw new UsageError(`${peers.length} addresses of peers for ${world} ranks`);
  if (peers[rank] !== pointer)
    throw new UsageError(`rank ${rank}'s own address among the peers' is not the memory's`, "list all ranks' addresses in the order of the group"); // prettier-ignore
  // An address of 0 is a rank that cannot be reached.
  peers.forEach((p, r) => requireAligned(p, dtype, `rank ${r}'s memory`));
  return {
    bytes,
    mappedBytes: bytes,
    device,
    localPointer: pointer,
    peerPointers: peers,
    free: () => Promise.resolve(),
  };
}

// -- DLPack ----------------------------------------------------------------------------------------

/** The fields of a `DLTensor`, one for one. Whoever has a capsule reads them from it, as `dlpack.h` lays them out. */
export interface DLTensor {
  readonly data: bigint;
  readonly device: { readonly type: number; readonly id: number };
  readonly dtype: { readonly code: number; readonly bits: number; readonly lanes: number };
  readonly shape: readonly number[];
  /** In elements; null for a dense, row-major tensor. */
  readonly strides: readonly number[] | null;
  /** In bytes, from `data`. */
  readonly byteOffset: bigint;
}

const CUDA = 2;
const CUDA_MANAGED = 13;

/** `DLDataTypeCode` and bits of each dtype, as DLPack 1.1 numbers them. */
const DLPACK: Readonly<Record<DType, readonly [code: number, bits: number]>> = {
  i8: [0, 8], i32: [0, 32], i64: [0, 64], u8: [1, 8], u32: [1, 32], bool: [6, 8],
  f16: [2, 16], f32: [2, 32], bf16: [4, 16], f8e4m3: [10, 8], f8e5m2: [12, 8],
}; // prettier-ignore

/** What `Group.external` takes, of a tensor that DLPack describes. @throws UsageError for what collc has no tensors of */
export function fromDLPack({ data, device, dtype, shape, strides, byteOffset }: DLTensor): ExternalMemory {
  if (device.type !== CUDA && device.type !== CUDA_MANAGED)
    throw new UsageError(`DLPack's device ${device.type} is no GPU of CUDA`, "devices 2 (CUDA) and 13 (managed) are");
  const found = (Object.keys(DLPACK) as DType[]).find(
    (name) => DLPACK[name][0] === dtype.code && DLPACK[name][1] === dtype.bits,
  );
  if (found === undefined || dtype.lanes !== 1)
    throw new UsageError(`collc has no dtype of DLPack's code ${dtype.code} with ${dtype.bits} bits and ${dtype.lanes} lanes`); // prettier-ignore
  return { memory: data + byteOffset, dtype: found, shape: strides === null ? shape : { shape, strides } };
}

/** A tensor of a device group as DLPack describes it. The memory lives as long as the tensor. @throws UsageError on the cpu backend */
export function toDLPack(tensor: Tensor): DLTensor {
  if (!(tensor instanceof DeviceTensor))
    throw new UsageError("DLPack describes tensors on GPUs", "on the cpu backend, read and write them");
  const [code, bits] = DLPACK[tensor.dtype];
  return {
    data: tensor.pointer,
    device: { type: CUDA, id: tensor.group.device },
    dtype: { code, bits, lanes: 1 },
    shape: tensor.shape,
    strides: tensor.strides,
    byteOffset: 0n,
  };
}
