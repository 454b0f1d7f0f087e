/** Steps of programs that a library does: NCCL's own collectives on the tensors of a launch. */
import { DTYPES, type LibraryStep, type Manifest } from "../compiler/index.js";
import { ownTensor } from "./device-copies.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import type { StreamHandle } from "./native.js";
import { NcclCommunicator } from "./nccl/communicator.js";
import { ncclUniqueId } from "./nccl/library.js";
import { NcclWindowProvider } from "./nccl/window-provider.js";
import { requireContiguous } from "./tensor-shape.js";

/** A call with everything decided. */
export interface PreparedCall {
  enqueue(stream: StreamHandle): void;
  release(): void;
}

/** A group's communicator for such steps, made with the first program that has one. */
export class LibrarySteps {
  private communicator: Promise<NcclCommunicator> | null = null;

  constructor(private readonly group: DeviceGroup) {}

  /**
   * Makes what the plan's steps need. Collective, as all ranks have the same plan.
   * @throws MachineError where there is no NCCL; RuntimeError `timeout`.
   */
  async open({ plan }: Pick<Manifest, "plan">): Promise<NcclCommunicator | null> {
    if (!plan.choices.some(({ steps }) => steps.some(({ kind }) => kind === "library"))) return null;
    return (this.communicator ??= this.connect());
  }

  private async connect(): Promise<NcclCommunicator> {
    const { group } = this;
    const { provider, device, rank, world, timeoutMs } = group;
    // Whose windows hold the group's memory: NCCL is fastest on those.
    if (provider instanceof NcclWindowProvider) return provider.communicator;
    const own = rank === 0 ? Buffer.from(await ncclUniqueId()).toString("base64") : "";
    const [id] = await group.exchange("NCCL unique id of library steps", own);
    const uniqueId = new Uint8Array(Buffer.from(id!, "base64"));
    const made = await NcclCommunicator.create({ device, rank, world, uniqueId, timeoutMs });
    const close = async (): Promise<void> => {
      try {
        await group.settle();
        await made.destroy(timeoutMs);
      } catch (error) {
        // Not collective, and it ends kernels that wait for a peer; it may refuse what destroy began.
        await made.abort(timeoutMs).catch(() => undefined);
        throw error;
      }
    };
    group.own(close);
    group.stops.add(() => made.abort(timeoutMs));
    return made;
  }
}

/** Fixes the tensors of a call. What moves, moves as bytes, so that every dtype can. */
export function prepareCall(
  group: DeviceGroup,
  communicator: NcclCommunicator,
  { call, input, output, root }: LibraryStep,
  tensors: Readonly<Record<string, Tensor>>,
): PreparedCall {
  const [from, to] = [input, output].map((name) => {
    const own = ownTensor(group, tensors[name]!, `'${name}'`);
    requireContiguous(own.layout, `'${name}'`);
    return own;
  }) as [ReturnType<typeof ownTensor>, ReturnType<typeof ownTensor>];
  const bytesOf = ({ length, dtype }: typeof from): number => length * DTYPES[dtype].bytes;
  const enqueue =
    call === "all_gather"
      ? (stream: StreamHandle) => communicator.allGather(stream, from.pointer, to.pointer, bytesOf(from), "u8")
      : (stream: StreamHandle) => communicator.broadcast(stream, from.pointer, to.pointer, bytesOf(to), "u8", root);
  return { enqueue, release: () => {} };
}
