/** Steps of programs that a library does: NCCL's own collectives on the tensors of a launch, and its sends and receives. */
import { DTYPES, type LibraryStep, type Manifest } from "../compiler/index.js";
import { ownTensor } from "./device-copies.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import type { StreamHandle } from "./native.js";
import type { NcclCommunicator } from "./nccl/communicator.js";
import { communicatorOf } from "./nccl/of-group.js";
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
    const isCalled = plan.choices.some(({ steps }) =>
      steps.some(({ kind }) => kind === "library" || kind === "message"),
    );
    if (!isCalled) return null;
    this.communicator ??= communicatorOf(this.group, "NCCL unique id of library steps").then(
      (made) => made.communicator,
    );
    return this.communicator;
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
