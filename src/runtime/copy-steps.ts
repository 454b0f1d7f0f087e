/** Steps of programs that copy engines carry out, with no multiprocessor: side by side between launches, or one after the other beside them. */
import {
  type Copy,
  COPY_LANES,
  type CopyEnd,
  type CopyStep,
  type DimValues,
  DTYPES,
  copyLanesOf,
  type Manifest,
  rowsOf,
} from "../compiler/index.js";
import { ownTensor } from "./device-copies.js";
import { notReachable } from "./device-tensor.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import type { PlacedMemory, PreparedCall } from "./message-carrier.js";
import type { SharedMemory } from "./message-steps.js";
import { type DevicePointer, type EventHandle, native, type StreamHandle } from "./native.js";
import { requireContiguous } from "./tensor-shape.js";

/** CU_DEVICE_ATTRIBUTE_MAX_PITCH: the largest distance of rows that one call of the driver takes, in bytes. */
const MOST_PITCH = 2 ** 31 - 1;

/** Streams beside the one that a program runs on, made with the first program that has such steps. */
export class CopyLanes {
  private streams: readonly StreamHandle[] = [];
  private ends: readonly EventHandle[] = [];
  private begin: EventHandle | null = null;

  constructor(private readonly group: DeviceGroup) {}

  open({ plan }: Pick<Manifest, "plan">): void {
    if (
      this.begin !== null ||
      !plan.choices.some(({ steps }) => steps.some((s) => s.kind === "copy" && s.beside !== true))
    )
      return;
    const { device } = this.group;
    const addon = native();
    const made: (() => void)[] = [];
    const free = (): void => made.splice(0).forEach((one) => one());
    const event = (): EventHandle => {
      const handle = addon.eventCreate(device, false);
      made.push(() => addon.eventDestroy(handle));
      return handle;
    };
    const lane = (): StreamHandle => {
      const handle = addon.streamCreate(device);
      made.push(() => addon.streamDestroy(handle));
      return handle;
    };
    try {
      const begin = event();
      this.streams = Array.from({ length: COPY_LANES }, lane);
      this.ends = this.streams.map(event);
      this.begin = begin;
    } catch (error) {
      free();
      throw error;
    }
    // Whoever used them waited for them.
    this.group.own(async () => {
      await this.group.settle();
      free();
    });
  }

  /** Enqueues on `stream`: `each` puts what is in a lane on that lane's stream. Nothing is allocated. */
  fork(stream: StreamHandle, lanes: number, each: (lane: number, stream: StreamHandle) => void): void {
    const addon = native();
    // A lane belongs to a capture until that ends. Whatever runs meanwhile has no others, and copies one after the other.
    if (addon.streamIsCapturing(this.streams[0]!) && !addon.streamIsCapturing(stream)) {
      for (let lane = 0; lane < lanes; lane++) each(lane, stream);
      return;
    }
    addon.eventRecord(this.begin!, stream);
    for (let lane = 0; lane < lanes; lane++) {
      const own = this.streams[lane]!;
      addon.streamWaitEvent(own, this.begin!);
      each(lane, own);
      addon.eventRecord(this.ends[lane]!, own);
      addon.streamWaitEvent(stream, this.ends[lane]!);
    }
  }
}

interface Call {
  readonly target: DevicePointer;
  readonly source: DevicePointer;
  readonly targetPitch: number;
  readonly sourcePitch: number;
  readonly width: number;
  readonly rows: number;
}

/**
 * Fixes this rank's copies.
 * @throws RuntimeError where a peer's memory has no address here.
 */
export function prepareCopies(
  group: DeviceGroup,
  { copies, beside }: CopyStep,
  { tensors, memory }: { readonly tensors: Readonly<Record<string, Tensor>>; readonly memory: SharedMemory },
  dims: DimValues,
): PreparedCall {
  const { rank, world } = group;
  const bytesOf = ({ tensor, isMemory }: CopyEnd): number =>
    isMemory === true ? memory.bytesOf(tensor) : DTYPES[tensors[tensor]!.dtype].bytes;
  const addressOf = (end: CopyEnd, offset: number): DevicePointer => {
    const { tensor, rank: owner, isMemory } = end;
    const { pointer, peers } = isMemory === true ? memory.of(tensor) : tensorAt(group, tensors[tensor]!, tensor);
    const start = owner === rank ? pointer : peers[owner]!;
    if (start === 0n) throw notReachable(owner, rank, group.hosts);
    return start + BigInt(offset * bytesOf(end));
  };
  const callsFor = (copy: Copy): Call[] => {
    const rows = rowsOf(copy, dims);
    if (rows === null) return [];
    const bytes = bytesOf(copy.from);
    return callsOf({
      target: addressOf(copy.to, rows.to.offset),
      source: addressOf(copy.from, rows.from.offset),
      targetPitch: rows.to.pitch * bytes,
      sourcePitch: rows.from.pitch * bytes,
      width: rows.length * bytes,
      rows: rows.rows,
    });
  };
  if (beside === true) {
    const inOrder = copies[rank]!.flatMap(callsFor);
    const enqueue = (stream: StreamHandle): void => {
      for (const call of inOrder) enqueueCall(stream, call);
    };
    return { enqueue, release: () => {} };
  }
  const lanes = copyLanesOf(copies[rank]!, rank, world).map((lane) => lane.flatMap(callsFor));
  const used = lanes.filter((calls) => calls.length > 0);
  const each = (lane: number, stream: StreamHandle): void => {
    for (const call of used[lane]!) enqueueCall(stream, call);
  };
  // With nothing beside it, a lane needs no other stream.
  const enqueue = (stream: StreamHandle): void =>
    used.length > 1 ? group.copyLanes.fork(stream, used.length, each) : used.length === 1 ? each(0, stream) : undefined;
  return { enqueue, release: () => {} };
}

/** Where a tensor lies on all ranks. */
function tensorAt(group: DeviceGroup, tensor: Tensor, name: string): Pick<PlacedMemory, "pointer" | "peers"> {
  const own = ownTensor(group, tensor, `'${name}'`);
  requireContiguous(own.layout, `'${name}'`);
  return { pointer: own.pointer, peers: own.peerPointers };
}

/** As many calls as the driver needs for it: it takes rows that follow each other, apart and not too far from each other, in one. */
export function callsOf(call: Call): Call[] {
  const pitches = [call.targetPitch, call.sourcePitch];
  if (call.rows === 1 || pitches.every((pitch) => pitch >= call.width && pitch <= MOST_PITCH)) return [call];
  return Array.from({ length: call.rows }, (_, row) => ({
    ...call,
    target: call.target + BigInt(row * call.targetPitch),
    source: call.source + BigInt(row * call.sourcePitch),
    rows: 1,
  }));
}

function enqueueCall(stream: StreamHandle, { target, source, targetPitch, sourcePitch, width, rows }: Call): void {
  if (rows === 1) native().copyOnDevice(stream, target, source, width);
  else native().copyRowsOnDevice(stream, target, targetPitch, source, sourcePitch, width, rows);
}
