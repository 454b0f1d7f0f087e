/**
 * From a manifest and a cubin to launches: loading, packing parameters, residency. Runs without the compiler, of
 * which only tables of dtypes and extents are imported.
 */
import {
  type DimValues,
  type DType,
  DTYPES,
  evaluateExtent,
  type KernelManifest,
  type ManifestParameter,
} from "../../compiler/index.js";
import { MachineError, RuntimeError } from "../errors.js";
import {
  native,
  type DevicePointer,
  type FunctionAttributes,
  type GraphExecHandle,
  type FunctionHandle,
  type LaunchHandle,
  type ModuleHandle,
  type StreamHandle,
} from "../native.js";
import { describeDevice, explain } from "./device.js";
import { noteLaunch } from "./graph.js";

/** Values of a launch's parameters. */
export interface LaunchArguments {
  readonly rank: number;
  /** Values of all dimensions of the manifest, and its numbers. */
  readonly dims: DimValues;
  /** Local address of each buffer that a `pointer` parameter names. */
  readonly pointers: Readonly<Record<string, DevicePointer>>;
  /** Addresses, by rank, of each buffer that a `peers` parameter names, as this rank maps them. */
  readonly peers: Readonly<Record<string, readonly DevicePointer[]>>;
  /** How long a wait may take, in nanoseconds; 0 for ever. */
  readonly timeoutNs: bigint;
  /** Address of the status record; 0n only for kernels without waits. */
  readonly status: DevicePointer;
}

/** A kernel's parameters as bytes, each at its natural alignment, and where each begins. */
export interface ParameterBlock {
  readonly bytes: Uint8Array;
  readonly offsets: readonly number[];
}

const TENSOR_MAP_BYTES = 128;

type TensorMapParameter = Extract<ManifestParameter, { kind: "tensor-map" }>;

/** Size and alignment of a parameter in bytes, as CUDA lays it out. */
function shapeOf(parameter: ManifestParameter): { size: number; align: number } {
  switch (parameter.kind) {
    case "peers":
      return { size: 8 * parameter.ranks, align: 8 };
    case "scalar":
    case "rank":
      return { size: 4, align: 4 };
    case "tensor-map":
      return { size: TENSOR_MAP_BYTES * Math.max(1, parameter.ranks), align: 64 };
    case "pointer":
    case "dim":
    case "length":
    case "timeout":
    case "status":
      return { size: 8, align: 8 };
  }
}

/**
 * Packs the parameters of a launch in the manifest's order, little-endian.
 * @throws RuntimeError when a buffer has no address, a dimension no value, or the number of peers is wrong.
 */
export function packParameters(
  parameters: readonly ManifestParameter[],
  args: LaunchArguments,
  buffers: KernelManifest["buffers"] = [],
  lengths: KernelManifest["lengths"] = [],
): ParameterBlock {
  const offsets: number[] = [];
  let size = 0;
  for (const parameter of parameters) {
    const shape = shapeOf(parameter);
    const offset = Math.ceil(size / shape.align) * shape.align;
    offsets.push(offset);
    size = offset + shape.size;
  }
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  const known = { ...args, dims: withLengths(lengths, args.dims) };
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "tensor-map") bytes.set(tensorMaps(parameter, args, buffers), offsets[i]!);
    else writeParameter(view, offsets[i]!, parameter, known);
  });
  return { bytes, offsets };
}

/** The dimensions of a launch, and what its kernel takes for granted of them. */
export function withLengths(lengths: KernelManifest["lengths"], dims: DimValues): DimValues {
  if (lengths.length === 0) return dims;
  const all: Record<string, number> = { ...dims };
  for (const { name, value } of lengths) all[name] = evaluateExtent(value, all);
  return all;
}

/** CUtensorMapDataType by dtype. */
const MAP_TYPES: Partial<Record<DType, number>> = { f16: 6, bf16: 9, f8e4m3: 0, f8e5m2: 0, i8: 0, u8: 0 };

/** Bytes that starts and strides of a tensor map are multiples of. */
const MAP_GRAIN = 16;

/** The maps of a parameter one after the other; zeros for what no map can describe, which the kernel copies without. */
function tensorMaps(
  { buffer: name, ranks, box }: TensorMapParameter,
  args: LaunchArguments,
  buffers: KernelManifest["buffers"],
): Uint8Array {
  const buffer = buffers.find((b) => b.name === name);
  const type = buffer === undefined ? undefined : MAP_TYPES[buffer.dtype];
  if (buffer === undefined || type === undefined) throw new RuntimeError(`no tensor map describes buffer "${name}"`);
  const peers = args.peers[name];
  const own = buffer.symmetric ? peers?.[args.rank] : args.pointers[name];
  const addresses = ranks > 0 ? peers : [own];
  if (addresses?.length !== Math.max(1, ranks)) throw new RuntimeError(`no peer addresses for buffer "${name}"`);
  const sizes = buffer.shape.map((e) => evaluateExtent(e, args.dims)).reverse();
  const { bytes } = DTYPES[buffer.dtype];
  const strides = sizes.slice(1).map((_, d) => sizes.slice(0, d + 1).reduce((a, b) => a * b, bytes));
  const maps = new Uint8Array(TENSOR_MAP_BYTES * addresses.length);
  addresses.forEach((address, p) => {
    if (address === undefined) throw new RuntimeError(`no address for buffer "${name}"`);
    const isMapped =
      address % BigInt(MAP_GRAIN) === 0n && strides.every((s) => s % MAP_GRAIN === 0) && !sizes.includes(0);
    if (!isMapped) return;
    const map = explain(() => native().tensorMapEncode(type, address, sizes, strides, [...box].reverse()));
    maps.set(map, p * TENSOR_MAP_BYTES);
  });
  return maps;
}

function writeParameter(
  view: DataView,
  at: number,
  parameter: Exclude<ManifestParameter, TensorMapParameter>,
  args: LaunchArguments,
): void {
  switch (parameter.kind) {
    case "peers": {
      const addresses = args.peers[parameter.buffer];
      if (addresses === undefined) throw new RuntimeError(`no peer addresses for buffer "${parameter.buffer}"`);
      if (addresses.length !== parameter.ranks) {
        throw new RuntimeError(
          `buffer "${parameter.buffer}" has addresses of ${addresses.length} ranks; the kernel was compiled for ${parameter.ranks}`,
        );
      }
      addresses.forEach((address, p) => view.setBigUint64(at + 8 * p, address, true));
      return;
    }
    case "pointer": {
      const address = args.pointers[parameter.buffer];
      if (address === undefined) throw new RuntimeError(`no address for buffer "${parameter.buffer}"`);
      view.setBigUint64(at, address, true);
      return;
    }
    case "dim": {
      const value = args.dims[parameter.name];
      if (value === undefined || !Number.isSafeInteger(value) || value < 0) {
        throw new RuntimeError(`dimension "${parameter.name}" must be a whole number, not ${value}`);
      }
      view.setBigInt64(at, BigInt(value), true);
      return;
    }
    case "length":
      view.setBigInt64(at, BigInt(args.dims[parameter.name]!), true);
      return;
    case "scalar":
      return writeNumber(view, at, parameter, args.dims);
    case "rank":
      view.setInt32(at, args.rank, true);
      return;
    case "timeout":
      view.setBigUint64(at, args.timeoutNs, true);
      return;
    case "status":
      view.setBigUint64(at, args.status, true);
      return;
  }
}

type ScalarParameter = Extract<ManifestParameter, { kind: "scalar" }>;

function writeNumber(view: DataView, at: number, { name, dtype }: ScalarParameter, values: DimValues): void {
  const value = values[name];
  if (value === undefined) throw new RuntimeError(`the number "${name}" has no value`);
  if (dtype === "f32") view.setFloat32(at, value, true);
  else if (dtype === "i32") view.setInt32(at, value, true);
  else view.setUint32(at, value, true);
}

/** A loaded kernel on one device, launched with any number of blocks. `Kernel` chooses that number. */
export class KernelFunction {
  readonly manifest: KernelManifest;
  readonly device: number;
  readonly attributes: FunctionAttributes;
  /** Blocks of this kernel that the whole device holds at once. */
  readonly residentBlocks: number;
  readonly #module: ModuleHandle;
  readonly #function: FunctionHandle;

  /**
   * Loads the kernel.
   * @throws MachineError when the device cannot run it: other architecture, too little shared memory.
   * @throws RuntimeError when the cubin is cut short.
   */
  constructor(device: number, manifest: KernelManifest, cubin: Uint8Array) {
    const description = describeDevice(device);
    checkCubin(cubin);
    this.device = device;
    this.manifest = manifest;
    const addon = native();
    this.#module = explain(() => addon.moduleLoad(device, cubin));
    try {
      this.#function = addon.functionGet(this.#module, manifest.symbol);
      this.attributes = addon.functionAttributes(this.#function);
      const needed = manifest.sharedBytes + this.attributes.staticSharedBytes;
      if (needed > description.maxSharedBytes) {
        throw new MachineError(
          `${manifest.symbol} needs ${needed} bytes of shared memory a block; GPU ${device} (${description.name}) has ${description.maxSharedBytes}`,
          "compile with smaller tiles or for another GPU",
        );
      }
      // Above 48 KiB a kernel must ask.
      if (manifest.sharedBytes > 0) addon.functionSetMaxDynamicShared(this.#function, manifest.sharedBytes);
      const perMultiprocessor = addon.functionOccupancy(this.#function, manifest.blockThreads, manifest.sharedBytes);
      this.residentBlocks = perMultiprocessor * description.multiprocessors;
    } catch (error) {
      addon.moduleUnload(this.#module);
      throw error;
    }
    if (this.residentBlocks === 0) {
      addon.moduleUnload(this.#module);
      throw new MachineError(
        `${manifest.symbol} does not fit on GPU ${device}: not one block of ${manifest.blockThreads} threads with ${this.attributes.registers} registers each`,
        "compile with fewer threads a block",
      );
    }
  }

  /**
   * Fixes the grid and the parameters of a launch, to be launched any number of times.
   * @throws MachineError when blocks that wait on each other cannot all be resident; RuntimeError for bad arguments.
   */
  prepareBlocks(blocks: number, args: LaunchArguments): PreparedLaunch {
    const { manifest } = this;
    if (!Number.isInteger(blocks) || blocks < 1) throw new RuntimeError(`cannot launch ${blocks} blocks`);
    if (manifest.cooperative && blocks > this.residentBlocks) {
      throw new MachineError(
        `${manifest.symbol} launches ${blocks} blocks that wait on each other, but GPU ${this.device} holds only ${this.residentBlocks} at once`,
        `compile with at most ${this.residentBlocks} blocks`,
      );
    }
    const block = packParameters(manifest.parameters, args, manifest.buffers, manifest.lengths);
    const handle = native().launchPrepare(
      this.#function,
      [blocks, 1, 1],
      [manifest.blockThreads, 1, 1],
      manifest.sharedBytes,
      manifest.cooperative,
      block.bytes,
      block.offsets,
      manifest.early,
    );
    const numbers = manifest.parameters.flatMap((p, i) =>
      p.kind === "scalar" ? [[p, block.offsets[i]!] as const] : [],
    );
    return new PreparedLaunch(handle, blocks, numbers);
  }

  /** Unloads the code. Nothing may be running it. */
  unload(): void {
    native().moduleUnload(this.#module);
  }
}

/** A launch with everything decided; `enqueue` costs little more than the driver's own call. */
export class PreparedLaunch {
  readonly blocks: number;
  readonly #handle: LaunchHandle;

  /** @param numbers the parameters that are numbers of the launch, with their offsets among the parameters' bytes */
  constructor(
    handle: LaunchHandle,
    blocks: number,
    private readonly numbers: readonly (readonly [ScalarParameter, number])[],
  ) {
    this.#handle = handle;
    this.blocks = blocks;
  }

  /** Enqueues the kernel on a stream of its device. */
  enqueue(stream: StreamHandle): void {
    native().launchPrepared(this.#handle, stream);
    noteLaunch(this, stream);
  }

  /** Other numbers for later launches; captured graphs keep theirs. @throws RuntimeError for one that has no value */
  setNumbers(values: DimValues): void {
    for (const [parameter, offset] of this.numbers) {
      const view = new DataView(new ArrayBuffer(4));
      writeNumber(view, 0, parameter, values);
      native().launchUpdate(this.#handle, offset, view);
    }
  }

  /** Gives a node of a graph the parameters that the launch has now. */
  intoGraph(exec: GraphExecHandle, node: bigint): void {
    if (this.numbers.length > 0) native().launchIntoGraph(this.#handle, exec, node);
  }

  release(): void {
    native().launchRelease(this.#handle);
  }
}

/** The driver reads as many bytes as the ELF header promises, so a cut-off file must not reach it. */
export function checkCubin(cubin: Uint8Array): void {
  const view = new DataView(cubin.buffer, cubin.byteOffset, cubin.byteLength);
  const isElf = cubin.byteLength >= 64 && view.getUint32(0, false) === 0x7f454c46;
  if (!isElf) throw new RuntimeError("the cubin is not an ELF file", "remove it from the cache and compile again");
  const sectionHeadersEnd = Number(view.getBigUint64(40, true)) + view.getUint16(58, true) * view.getUint16(60, true);
  const programHeadersEnd = Number(view.getBigUint64(32, true)) + view.getUint16(54, true) * view.getUint16(56, true);
  const needed = Math.max(sectionHeadersEnd, programHeadersEnd);
  if (cubin.byteLength < needed) {
    throw new RuntimeError(
      `the cubin is cut short: ${cubin.byteLength} of ${needed} bytes`,
      "remove it from the cache and compile again",
    );
  }
}
