/** Steps of programs that a library does: NCCL's own collectives on the tensors of a launch, and its sends and receives. */
import { DTYPES, type LibraryStep, type Manifest } from "../compiler/index.js";
import { ownTensor } from "./device-copies.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import type { StreamHandle } from "./native.js";
import type { NcclCommunicator } from "./nccl/communicator.js";
import { communicatorOf, ownCommunicator } from "./nccl/of-group.js";
import { requireContiguous } from "./tensor-shape.js";

/** A call with everything decided. */
export interface PreparedCall {
  enqueue(stream: StreamHandle): void;
  release(): void;
}

/** Who carries out a program's steps; null where it has none of the kind. */
export interface StepCommunicators {
  readonly library: NcclCommunicator | null;
  readonly message: NcclCommunicator | null;
}

/** A group's communicators for such steps, each made with the first program that has one. */
export class LibrarySteps {
  private readonly made: { library?: Promise<NcclCommunicator>; message?: Promise<NcclCommunicator> } = {};

  constructor(private readonly group: DeviceGroup) {}

  /**
   * Makes what the plan's steps need. Collective, as all ranks have the same plan.
   * @throws MachineError where there is no NCCL; RuntimeError `timeout`.
   */
  async open({ plan }: Pick<Manifest, "plan">): Promise<StepCommunicators> {
    const has = (of: keyof StepCommunicators): boolean =>
      plan.choices.some(({ steps }) => steps.some(({ kind }) => kind === of));
    const library = has("library") ? await this.of("library") : null;
    return { library, message: has("message") ? await this.of("message") : null };
  }

  private of(kind: keyof StepCommunicators): Promise<NcclCommunicator> {
    // Of a communicator with windows, NCCL 2.28.9 mixes up the data of messages between GPUs of a host where only one side lies in a window.
    const open = kind === "message" ? ownCommunicator : communicatorOf;
    return (this.made[kind] ??= open(this.group, `NCCL unique id of ${kind} steps`).then((made) => made.communicator));
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
