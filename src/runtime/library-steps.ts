/** Steps of programs that a library does: NCCL's own collectives on the tensors of a launch. */
import { DTYPES, type LibraryStep, type Manifest } from "../compiler/index.js";
import { ownTensor } from "./device-copies.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import type { PreparedCall } from "./message-carrier.js";
import type { StreamHandle } from "./native.js";
import type { NcclCommunicator } from "./nccl/communicator.js";
import { communicatorOf } from "./nccl/of-group.js";
import { requireContiguous } from "./tensor-shape.js";

/** A group's communicator for such steps, made with the first program that has one. */
export class LibrarySteps {
  private made: Promise<NcclCommunicator> | null = null;

  constructor(private readonly group: DeviceGroup) {}

  /**
   * Makes what the plan's steps need; null where it has none. Collective, as all ranks have the same plan.
   * @throws MachineError where there is no NCCL; RuntimeError `timeout`.
   */
  async open({ plan }: Pick<Manifest, "plan">): Promise<NcclCommunicator | null> {
    if (!plan.choices.some(({ steps }) => steps.some(({ kind }) => kind === "library"))) return null;
    this.made ??= communicatorOf(this.group, "NCCL unique id of library steps").then((made) => made.communicator);
    return this.made;
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
