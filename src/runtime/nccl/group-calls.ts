/**
 * NCCL's collectives on a group's tensors, whatever backend the group is on: for sizes where NCCL wins, and between nodes.
 * A call is checked whole before any of it is enqueued, because half a group of NCCL's calls hangs the peers.
 */
import type { DType } from "../../compiler/index.js";
import { requireNoCapture } from "../cuda/index.js";
import { ownTensor } from "../device-copies.js";
import { UsageError } from "../errors.js";
import { DeviceGroup } from "../group-device.js";
import type { Group, GroupStream, Tensor } from "../group.js";
import type { StreamHandle } from "../native.js";
import { requireContiguous } from "../tensor-shape.js";
import type { NcclCommunicator } from "./communicator.js";
import { dtypeCode, ncclDTypes, type NcclDType, ncclGroup, ncclLibrary, type NcclOp, ncclOps } from "./library.js";
import { communicatorOf, type GroupCommunicator } from "./of-group.js";

export interface NcclCallOptions {
  /** Where to enqueue it. Without one it is done on return, and fails here. */
  readonly stream?: GroupStream;
}

export interface NcclReduceOptions extends NcclCallOptions {
  /** Default `sum`. */
  readonly op?: NcclOp;
}

/**
 * What {@link GroupNccl.run} collects. Methods check and note the call. All throw UsageError for tensors that are not
 * contiguous, of another group's GPU, of different dtypes or whose lengths do not fit, for ranks outside the group and
 * for reductions NCCL does not have; RuntimeError for dtypes that the library is too old for.
 */
export interface NcclCalls {
  /** Element by element over all ranks. May be in place. */
  allReduce(source: Tensor, target: Tensor, op?: NcclOp): void;
  /** As allReduce, but only `target` of `root` receives; the others may pass none. */
  reduce(source: Tensor, target: Tensor | null, root: number, op?: NcclOp): void;
  /** `source` of `root` to every `target`; the others may pass none. */
  broadcast(source: Tensor | null, target: Tensor, root: number): void;
  /** `target` is `world` times as long as `source`. */
  allGather(source: Tensor, target: Tensor): void;
  /** `source` is `world` times as long as `target`. */
  reduceScatter(source: Tensor, target: Tensor, op?: NcclOp): void;
  /** Both of `world` equal blocks: block p goes to rank p. */
  allToAll(source: Tensor, target: Tensor): void;
  /** The peer receives as many in the same {@link GroupNccl.run}. */
  send(source: Tensor, peer: number): void;
  receive(target: Tensor, peer: number): void;
}

type Call = (comm: NcclCommunicator, stream: StreamHandle) => void;

/** See the file's head. Made by {@link ncclOf}. */
export class GroupNccl {
  /** NCCL's: "2.28.9". */
  readonly version: string;
  #open = true;

  private constructor(
    readonly group: DeviceGroup,
    private readonly own: GroupCommunicator,
  ) {
    this.version = ncclLibrary().version;
  }

  /** Collective. See {@link ncclOf}. */
  static async create(group: Group): Promise<GroupNccl> {
    if (!(group instanceof DeviceGroup))
      throw new UsageError(
        `NCCL needs GPUs, and this group is on the ${group.backend} backend`,
        "use --backend cuda, nvshmem or nccl",
      );
    requireNoCapture("making an NCCL communicator");
    return new GroupNccl(group, await communicatorOf(group, "NCCL unique id"));
  }

  /**
   * Enqueues what `collect` notes as one group of NCCL's calls; needed for sends with receives. All ranks make matching
   * calls in the same order.
   * @throws as {@link NcclCalls}, before anything is enqueued; RuntimeError `timeout` when peers do not come.
   */
  async run(collect: (calls: NcclCalls) => void, { stream }: NcclCallOptions = {}): Promise<void> {
    const { group } = this;
    const { communicator: comm } = this.own;
    if (!this.#open) throw new UsageError("NCCL of this group was closed before");
    const calls: Call[] = [];
    collect(new Collector(group, calls));
    if (calls.length === 0) return;
    const own = stream === undefined ? group.defaultStream : group.ownStream(stream);
    if (stream === undefined) requireNoCapture("waiting for NCCL (give it the capture's stream)");
    // NCCL's kernels wait for peers as ours do, so they take turns with them.
    group.turns.pass(own, own.isRecording, () =>
      ncclGroup(() => {
        for (const call of calls) call(comm, own.handle);
      }),
    );
    if (stream !== undefined) return;
    await own.synchronize("NCCL");
    comm.check();
  }

  allReduce(source: Tensor, target: Tensor, { op, ...options }: NcclReduceOptions = {}): Promise<void> {
    return this.run((calls) => calls.allReduce(source, target, op), options);
  }

  reduce(
    source: Tensor,
    target: Tensor | null,
    root: number,
    { op, ...options }: NcclReduceOptions = {},
  ): Promise<void> {
    return this.run((calls) => calls.reduce(source, target, root, op), options);
  }

  broadcast(source: Tensor | null, target: Tensor, root: number, options: NcclCallOptions = {}): Promise<void> {
    return this.run((calls) => calls.broadcast(source, target, root), options);
  }

  allGather(source: Tensor, target: Tensor, options: NcclCallOptions = {}): Promise<void> {
    return this.run((calls) => calls.allGather(source, target), options);
  }

  reduceScatter(source: Tensor, target: Tensor, { op, ...options }: NcclReduceOptions = {}): Promise<void> {
    return this.run((calls) => calls.reduceScatter(source, target, op), options);
  }

  allToAll(source: Tensor, target: Tensor, options: NcclCallOptions = {}): Promise<void> {
    return this.run((calls) => calls.allToAll(source, target), options);
  }

  /** Collective; the group's `close` does it too. Twice is fine. */
  readonly close = async (): Promise<void> => {
    if (!this.#open) return;
    this.#open = false;
    await this.own.close();
  };
}

class Collector implements NcclCalls {
  constructor(
    private readonly group: DeviceGroup,
    private readonly calls: Call[],
  ) {}

  allReduce(source: Tensor, target: Tensor, op: NcclOp = "sum"): void {
    const { dtype, count, from, to } = this.pair(source, target);
    const checked = requireOp(op, source.dtype);
    this.calls.push((comm, stream) => comm.allReduce(stream, from, to, count, dtype, checked));
  }

  reduce(source: Tensor, target: Tensor | null, root: number, op: NcclOp = "sum"): void {
    this.group.requirePeer(root);
    const { dtype, count, from, to } = this.pair(source, this.orElse(target, source, root, "target"));
    const checked = requireOp(op, source.dtype);
    this.calls.push((comm, stream) => comm.reduce(stream, from, to, count, dtype, checked, root));
  }

  broadcast(source: Tensor | null, target: Tensor, root: number): void {
    this.group.requirePeer(root);
    const { dtype, count, from, to } = this.pair(this.orElse(source, target, root, "source"), target);
    this.calls.push((comm, stream) => comm.broadcast(stream, from, to, count, dtype, root));
  }

  allGather(source: Tensor, target: Tensor): void {
    const { dtype, count, from, to } = this.pair(source, target, 1, this.group.world);
    this.calls.push((comm, stream) => comm.allGather(stream, from, to, count, dtype));
  }

  reduceScatter(source: Tensor, target: Tensor, op: NcclOp = "sum"): void {
    const { world } = this.group;
    const { dtype, count, from, to } = this.pair(source, target, world, 1);
    const checked = requireOp(op, source.dtype);
    this.calls.push((comm, stream) => comm.reduceScatter(stream, from, to, count / world, dtype, checked));
  }

  allToAll(source: Tensor, target: Tensor): void {
    const { world } = this.group;
    const { dtype, count, from, to } = this.pair(source, target);
    if (count % world !== 0) throw new UsageError(`${count} elements do not divide into ${world} equal blocks`);
    this.calls.push((comm, stream) => comm.allToAll(stream, from, to, count / world, dtype));
  }

  send(source: Tensor, peer: number): void {
    this.group.requirePeer(peer);
    const { dtype, count, pointer } = this.one(source, "the source");
    this.calls.push((comm, stream) => comm.send(stream, pointer, count, dtype, peer));
  }

  receive(target: Tensor, peer: number): void {
    this.group.requirePeer(peer);
    const { dtype, count, pointer } = this.one(target, "the target");
    this.calls.push((comm, stream) => comm.receive(stream, pointer, count, dtype, peer));
  }

  /** The tensor that counts on the root alone; elsewhere NCCL looks at no more than its place. */
  private orElse(tensor: Tensor | null, other: Tensor, root: number, name: string): Tensor {
    if (tensor === null && this.group.rank === root) throw new UsageError(`rank ${root}, the root, needs a ${name}`);
    return tensor ?? other;
  }

  /** @param sourceParts, targetParts how the lengths are to each other. */
  private pair(
    source: Tensor,
    target: Tensor,
    sourceParts = 1,
    targetParts = 1,
  ): { readonly dtype: NcclDType; readonly count: number; readonly from: bigint; readonly to: bigint } {
    const from = this.one(source, "the source");
    const to = this.one(target, "the target");
    if (from.dtype !== to.dtype) throw new UsageError(`the source is ${from.dtype}, the target ${to.dtype}`);
    if (from.count * targetParts !== to.count * sourceParts)
      throw new UsageError(
        `a source of ${from.count} and a target of ${to.count} elements are not as ${sourceParts} to ${targetParts}`,
      );
    return { dtype: from.dtype, count: from.count, from: from.pointer, to: to.pointer };
  }

  private one(
    tensor: Tensor,
    name: string,
  ): { readonly dtype: NcclDType; readonly count: number; readonly pointer: bigint } {
    const own = ownTensor(this.group, tensor, name);
    requireContiguous(own.layout, name);
    // Truth values are bytes to NCCL: 0 and 1, of which `max` is whether any is 1.
    const dtype = own.dtype === "bool" ? "u8" : own.dtype;
    if (!(dtype in ncclDTypes)) throw new UsageError(`NCCL has no ${dtype}`);
    dtypeCode(dtype as NcclDType);
    return { dtype: dtype as NcclDType, count: own.length, pointer: own.pointer };
  }
}

function requireOp(op: NcclOp, dtype: DType): NcclOp {
  if (dtype === "bool" && op !== "min" && op !== "max")
    throw new UsageError(`truth values have no '${op}'`, "max is whether any rank's is true, min whether all are");
  if (op in ncclOps) return op;
  throw new UsageError(`NCCL has no reduction "${String(op)}"`, `choose one of ${Object.keys(ncclOps).join(", ")}`);
}

/**
 * NCCL over a group's GPUs and tensors. Collective. On the nccl backend it is the communicator whose windows hold the
 * group's symmetric memory; elsewhere one is made, and given back by `close` of it or of the group.
 * @throws UsageError on the cpu backend; MachineError when there is no NCCL; RuntimeError `timeout`.
 */
export function ncclOf(group: Group): Promise<GroupNccl> {
  return GroupNccl.create(group);
}
