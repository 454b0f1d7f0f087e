/**
 * What kernels are measured against, in the same processes and the same run: absolute times drift from machine to
 * machine, ratios within one run count.
 *
 * Hook for matmul: its counterpart is cuBLAS and then NCCL on one stream. A peer is whatever implements {@link Peer};
 * once the addon opens cuBLAS, `cublasPeer` goes beside `ncclPeer` and the suite names it.
 */
import { DTYPES, type DType } from "../compiler/index.js";
import { RuntimeError } from "../runtime/errors.js";
import { DeviceGroup } from "../runtime/group-device.js";
import { timeGraph } from "../runtime/time-graph.js";
import type { Group, Timing, TimingOptions } from "../runtime/group.js";
import { waitForStream } from "../runtime/cuda/index.js";
import type { StreamHandle } from "../runtime/native.js";
import { NcclCommunicator, type NcclDType, ncclUniqueId, openNccl } from "../runtime/nccl/index.js";
import { allocate, fillRandom, randomKey } from "../runtime/numbers/index.js";
import type { BenchCase, NcclCall, Suite } from "./suites.js";

/** Something else that does what a suite's kernels do. */
export interface Peer {
  readonly name: string;
  /** "2.28.9" */
  readonly version: string;
  /** Times one case, the way kernels are timed. Collective. */
  time(suite: Suite, one: BenchCase, dtype: DType, timing: Required<TimingOptions>): Promise<Timing>;
  /** Collective. */
  close(): Promise<void>;
  /** Not collective: for when a rank has failed. */
  abort(): Promise<void>;
}

/**
 * NCCL over the group's GPUs. Collective.
 * @throws MachineError when there is no NCCL; RuntimeError on a backend without GPUs.
 */
export async function ncclPeer(group: Group): Promise<Peer> {
  if (!(group instanceof DeviceGroup))
    throw new RuntimeError("NCCL needs the cuda backend", "add --backend cuda, or leave --peers out");
  const { version } = await openNccl();
  const own = group.rank === 0 ? Buffer.from(await ncclUniqueId()).toString("base64") : "";
  const [id] = await group.exchange("NCCL id", own);
  const uniqueId = new Uint8Array(Buffer.from(id!, "base64"));
  const comm = await NcclCommunicator.create({ device: group.device, rank: group.rank, world: group.world, uniqueId });
  return {
    name: "nccl",
    version,
    time: (suite, one, dtype, timing) => timeNccl(group, comm, suite, one, dtype, timing),
    close: () => comm.destroy(),
    abort: () => comm.abort(),
  };
}

async function timeNccl(
  group: DeviceGroup,
  comm: NcclCommunicator,
  suite: Suite,
  one: BenchCase,
  dtype: DType,
  timing: Required<TimingOptions>,
): Promise<Timing> {
  if (suite.nccl === null) throw new RuntimeError(`NCCL alone has no counterpart of ${suite.title}`);
  const { world, device, timeoutMs } = group;
  const stream = group.defaultStream.handle;
  // all_to_all's dimensions are those of the tensor on all ranks together.
  const logical = Object.values(one.dims).reduce((a, b) => a * b, 1);
  const count = suite.nccl === "allToAll" ? logical / world : logical;
  const bytes = count * DTYPES[dtype].bytes;
  const source = group.allocateLocal(bytes);
  const target = group.allocateLocal(bytes);
  try {
    source.memory.write(fillRandom(dtype, allocate(dtype, count), randomKey(1, group.rank)));
    const enqueue = callOf(
      suite.nccl,
      comm,
      stream,
      source.memory.pointer,
      target.memory.pointer,
      count,
      dtype as NcclDType,
    );
    return await timeGraph(group, device, stream, enqueue, timing, () =>
      waitForStream(stream, timeoutMs, `NCCL's ${suite.title}`),
    );
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
