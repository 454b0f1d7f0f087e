/**
 * NCCL, which kernels are measured against in the same processes and the same run: absolute times drift from machine to
 * machine, ratios within one run count. `torch-peer.ts` has the peer that brings processes of its own.
 */
import { DTYPES, type DType } from "../compiler/index.js";
import { RuntimeError } from "../runtime/errors.js";
import { DeviceGroup } from "../runtime/group-device.js";
import { timeGraph } from "../runtime/time-graph.js";
import type { Group, TimingOptions } from "../runtime/group.js";
import { waitForStream } from "../runtime/cuda/index.js";
import { type DevicePointer, native, type StreamHandle } from "../runtime/native.js";
import { type NcclCommunicator, type NcclDType, NcclWindowProvider } from "../runtime/nccl/index.js";
import { allocate as randomArray, bytesOf, fillRandom, randomKey } from "../runtime/numbers/index.js";
import { type Cell, cellTiming } from "./cells.js";
import type { BenchCase, NcclCall, Suite } from "./suites.js";

/** What one peer is called and which version of it ran. */
export interface PeerName {
  readonly name: string;
  /** "2.28.9" */
  readonly version: string;
}

/** NCCL in a group's processes. */
export interface NcclPeer {
  /** `nccl` over plain memory; `nccl symmetric` over windows, where this NCCL has them. */
  readonly names: readonly PeerName[];
  /** Times one case, the way kernels are timed. Collective. */
  time(name: string, suite: Suite, one: BenchCase, dtype: DType, timing: Required<TimingOptions>): Promise<Cell>;
  /** Collective. */
  close(): Promise<void>;
  /** Not collective: for when a rank has failed. */
  abort(): Promise<void>;
}

/**
 * NCCL over the group's GPUs. Collective.
 * @throws MachineError when there is no NCCL; RuntimeError on a backend without GPUs.
 */
export async function ncclPeer(group: Group): Promise<NcclPeer> {
  if (!(group instanceof DeviceGroup))
    throw new RuntimeError("NCCL needs GPUs", "add --backend cuda, or leave --peers out");
  const { device, rank, world, exchangeChannel: exchange, timeoutMs } = group;
  const ranks = Array.from({ length: world }, (_, r) => r);
  // NCCL finds its peers by itself: nobody here needs their addresses.
  const options = { device, rank, world, exchange, ranks, timeoutMs, pretendUnreachable: true };
  const provider = await NcclWindowProvider.create(options);
  const { version, symbols } = provider.library;
  const names = ["nccl", ...(symbols.windows ? ["nccl symmetric"] : [])];
  return {
    names: names.map((name) => ({ name, version })),
    time: (name, suite, one, dtype, timing) => {
      const allocate = name === "nccl" ? plainMemory(group) : windowMemory(provider);
      return timeNccl(group, provider.communicator, allocate, suite, one, dtype, timing);
    },
    close: () => provider.close(),
    abort: () => provider.stop(),
  };
}

interface Memory {
  readonly pointer: DevicePointer;
  readonly free: () => Promise<void>;
}
type Allocate = (bytes: number) => Promise<Memory>;

function plainMemory(group: DeviceGroup): Allocate {
  return (bytes) => {
    const { memory, free } = group.allocateLocal(bytes);
    return Promise.resolve({ pointer: memory.pointer, free });
  };
}

function windowMemory(provider: NcclWindowProvider): Allocate {
  return async (bytes) => {
    const { localPointer, free } = await provider.allocate(bytes, "bench");
    return { pointer: localPointer, free };
  };
}

async function timeNccl(
  group: DeviceGroup,
  comm: NcclCommunicator,
  allocate: Allocate,
  suite: Suite,
  one: BenchCase,
  dtype: DType,
  timing: Required<TimingOptions>,
): Promise<Cell> {
  if (suite.nccl === null) return { problem: `NCCL alone has no counterpart of ${suite.title}` };
  const { world, device, rank, timeoutMs } = group;
  const stream = group.defaultStream.handle;
  // all_to_all's dimensions are those of the tensor on all ranks together.
  const logical = Object.values(one.dims).reduce((a, b) => a * b, 1);
  const count = suite.nccl === "allToAll" ? logical / world : logical;
  const bytes = count * DTYPES[dtype].bytes;
  const data = fillRandom(dtype, randomArray(dtype, count), randomKey(1, rank));
  const source = await allocate(bytes);
  const target = await allocate(bytes);
  try {
    native().copyToDevice(device, source.pointer, bytesOf(data));
    const enqueue = callOf(suite.nccl, comm, stream, source.pointer, target.pointer, count, dtype as NcclDType);
    const finish = (): Promise<void> => waitForStream(stream, timeoutMs, `NCCL's ${suite.title}`);
    return { us: cellTiming(await timeGraph(group, device, stream, enqueue, timing, finish)), maxError: null };
  } finally {
    await source.free();
    await target.free();
  }
}

/** `count` is the elements of the full tensor, of which each rank has a part where it is sharded. */
function callOf(
  call: NcclCall,
  comm: NcclCommunicator,
  stream: StreamHandle,
  source: bigint,
  target: bigint,
  count: number,
  dtype: NcclDType,
): () => void {
  const part = count / comm.world;
  switch (call) {
    case "allReduce":
      return () => comm.allReduce(stream, source, target, count, dtype, "sum");
    case "allGather":
      return () => comm.allGather(stream, source, target, part, dtype);
    case "reduceScatter":
      return () => comm.reduceScatter(stream, source, target, part, dtype, "sum");
    case "allToAll":
      return () => comm.allToAll(stream, source, target, part, dtype);
    case "broadcast":
      return () => comm.broadcast(stream, source, target, count, dtype, 0);
  }
}
