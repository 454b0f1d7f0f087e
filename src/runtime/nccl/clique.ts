/**
 * NCCL over lists: one process drives several GPUs, entry i of every list is GPU i's. Lists are checked before anything
 * is enqueued, because NCCL given one wrong entry of a group hangs the others.
 */
import { requireDevice } from "../cuda/device.js";
import { waitForStream } from "../cuda/timer.js";
import { defaultTimeoutMs } from "../env.js";
import { RuntimeError } from "../errors.js";
import { type DevicePointer, native, type StreamHandle } from "../native.js";
import { NcclCommunicator } from "./communicator.js";
import { type NcclDType, ncclGroup, type NcclOp, ncclOps, ncclUniqueId } from "./library.js";

/** Elements in one GPU's memory. */
export interface NcclBuffer {
  readonly device: number;
  readonly pointer: DevicePointer;
  /** Elements. */
  readonly count: number;
  readonly dtype: NcclDType;
}

export interface NcclListOptions {
  /** One a GPU; default: the clique's own. */
  readonly streams?: readonly StreamHandle[];
}

/** A communicator a GPU, all in this process. Operations are enqueued; {@link synchronize} waits for them. */
export class NcclClique {
  readonly devices: readonly number[];
  readonly #comms: readonly NcclCommunicator[];
  readonly #streams: readonly StreamHandle[];
  #open = true;

  private constructor(comms: readonly NcclCommunicator[], streams: readonly StreamHandle[]) {
    this.devices = comms.map((comm) => comm.device);
    this.#comms = comms;
    this.#streams = streams;
  }

  /**
   * @throws TypeError when `devices` is no list; RuntimeError when it is empty or names a GPU twice, which NCCL does not
   *   take; MachineError for a GPU that is not there.
   */
  static async create(devices: readonly number[], options: { readonly timeoutMs?: number } = {}): Promise<NcclClique> {
    requireList(devices, "devices");
    for (const device of devices) requireDevice(device);
    if (devices.length === 0 || new Set(devices).size !== devices.length) {
      throw new RuntimeError(`NCCL takes one or more different GPUs, not [${devices.join(", ")}]`);
    }
    const uniqueId = await ncclUniqueId();
    const world = devices.length;
    const outcomes = await Promise.allSettled(
      devices.map((device, rank) =>
        NcclCommunicator.create({ device, rank, world, uniqueId, timeoutMs: options.timeoutMs }),
      ),
    );
    const comms = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure !== undefined) {
      await Promise.allSettled(comms.map((comm) => comm.abort()));
      throw failure.reason;
    }
    return new NcclClique(
      comms,
      devices.map((device) => native().streamCreate(device)),
    );
  }

  get world(): number {
    return this.devices.length;
  }

  /** `outputs` default: in place. @throws as {@link NcclClique.#plan}. */
  allReduce(
    inputs: readonly NcclBuffer[],
    options: NcclListOptions & { readonly outputs?: readonly NcclBuffer[]; readonly op?: NcclOp } = {},
  ): void {
    const { outputs = inputs, op = "sum" } = options;
    const { dtype, count, each } = this.#plan(inputs, outputs, 1, options, op);
    each((comm, stream, i) => comm.allReduce(stream, inputs[i]!.pointer, outputs[i]!.pointer, count, dtype, op));
  }

  /** Only `output`, default the root's own input, receives. */
  reduce(
    inputs: readonly NcclBuffer[],
    options: NcclListOptions & { readonly root?: number; readonly output?: NcclBuffer; readonly op?: NcclOp } = {},
  ): void {
    requireList(inputs, "inputs");
    const { root = 0, op = "sum" } = options;
    this.#requireRoot(root);
    const output = options.output ?? inputs[root];
    const outputs = inputs.map((input, i) => (i === root && output !== undefined ? output : input));
    const { dtype, count, each } = this.#plan(inputs, outputs, 1, options, op);
    each((comm, stream, i) => comm.reduce(stream, inputs[i]!.pointer, outputs[i]!.pointer, count, dtype, op, root));
  }

  /** In place, from `buffers[root]`. */
  broadcast(buffers: readonly NcclBuffer[], options: NcclListOptions & { readonly root?: number } = {}): void {
    const { root = 0 } = options;
    this.#requireRoot(root);
    const { dtype, count, each } = this.#plan(buffers, buffers, 1, options);
    each((comm, stream, i) => comm.broadcast(stream, buffers[i]!.pointer, buffers[i]!.pointer, count, dtype, root));
  }

  /** Every output holds `world` times an input's elements. */
  allGather(inputs: readonly NcclBuffer[], outputs: readonly NcclBuffer[], options: NcclListOptions = {}): void {
    const { dtype, count, each } = this.#plan(inputs, outputs, this.world, options);
    each((comm, stream, i) => comm.allGather(stream, inputs[i]!.pointer, outputs[i]!.pointer, count, dtype));
  }

  /** Every input holds `world` times an output's elements. */
  reduceScatter(
    inputs: readonly NcclBuffer[],
    outputs: readonly NcclBuffer[],
    options: NcclListOptions & { readonly op?: NcclOp } = {},
  ): void {
    const { op = "sum" } = options;
    const { dtype, count, each } = this.#plan(inputs, outputs, 1 / this.world, options, op);
    each((comm, stream, i) =>
      comm.reduceScatter(stream, inputs[i]!.pointer, outputs[i]!.pointer, count / this.world, dtype, op),
    );
  }

  /** Waits for the clique's own streams. @throws RuntimeError `timeout`. */
  async synchronize(timeoutMs: number = defaultTimeoutMs()): Promise<void> {
    for (const stream of this.#streams) await waitForStream(stream, timeoutMs, "NCCL");
  }

  /** Finish the work first. @throws RuntimeError the second time. */
  async close(): Promise<void> {
    this.#requireOpen();
    this.#open = false;
    await Promise.all(this.#comms.map((comm) => comm.destroy()));
    for (const stream of this.#streams) native().streamDestroy(stream);
  }

  /**
   * Checks the lists and gives what enqueues a call on every GPU as one group.
   * @param ratio output elements for one of input.
   * @throws TypeError for what is no list; RuntimeError for wrong numbers of entries or streams, for entries on another
   *   GPU than their place says, and for elements that do not fit.
   */
  #plan(
    inputs: readonly NcclBuffer[],
    outputs: readonly NcclBuffer[],
    ratio: number,
    { streams = this.#streams }: NcclListOptions,
    op?: NcclOp,
  ): {
    readonly dtype: NcclDType;
    readonly count: number;
    readonly each: (call: (comm: NcclCommunicator, stream: StreamHandle, i: number) => void) => void;
  } {
    this.#requireOpen();
    for (const [name, list] of Object.entries({ inputs, outputs, streams })) {
      requireList(list, name);
      if (list.length !== this.world) {
        throw new RuntimeError(`${list.length} ${name} for ${this.world} GPUs: one is needed for each`);
      }
    }
    if (op !== undefined && !(op in ncclOps)) {
      throw new RuntimeError(
        `NCCL has no reduction "${String(op)}"`,
        `choose one of ${Object.keys(ncclOps).join(", ")}`,
      );
    }
    const { dtype, count } = inputs[0]!;
    const wanted = count * ratio;
    if (!Number.isInteger(wanted)) {
      throw new RuntimeError(`${count} elements do not divide into ${this.world} equal parts`);
    }
    const check = (buffer: NcclBuffer, i: number, name: string, elements: number): void => {
      if (buffer.device !== this.devices[i]) {
        throw new RuntimeError(`${name}[${i}] is on GPU ${buffer.device}, not on GPU ${this.devices[i]}`);
      }
      if (buffer.dtype !== dtype) throw new RuntimeError(`${name}[${i}] is ${buffer.dtype}, inputs[0] is ${dtype}`);
      if (buffer.count !== elements) {
        throw new RuntimeError(`${name}[${i}] has ${buffer.count} elements; ${elements} are needed`);
      }
    };
    inputs.forEach((buffer, i) => check(buffer, i, "inputs", count));
    outputs.forEach((buffer, i) => check(buffer, i, "outputs", wanted));
    return {
      dtype,
      count,
      each: (call) => ncclGroup(() => this.#comms.forEach((comm, i) => call(comm, streams[i]!, i))),
    };
  }

  #requireRoot(root: number): void {
    if (Number.isInteger(root) && root >= 0 && root < this.world) return;
    throw new RuntimeError(`root ${root} is not one of the ${this.world} GPUs' places`);
  }

  #requireOpen(): void {
    if (!this.#open) throw new RuntimeError("the clique was closed before");
  }
}

function requireList(value: unknown, name: string): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} must be a list, one entry a GPU`);
}
