/**
 * Steps of programs with messages or copies that go on beside kernels: a stream for those, and events where a step comes after one on the
 * other stream.
 */
import type { Manifest, Step } from "../compiler/index.js";
import type { DeviceGroup } from "./group-device.js";
import type { PreparedCall } from "./message-carrier.js";
import { type EventHandle, native, type StreamHandle } from "./native.js";

/**
 * Most blocks that messages under way may hold on a GPU: NCCL's most channels (MAXCHANNELS, src/include/device.h), one block each. They wait
 * for blocks on other GPUs, as blocks of a kernel beside them may; so that neither waits for the other's place, kernels leave these free.
 * Messages by NVSHMEM take one block at a time, of its kernels and of ours that wait.
 */
export const MESSAGE_BLOCKS = 64;

/** A step with its call, ready to be enqueued. */
export interface PlacedCall {
  readonly call: PreparedCall;
  /** How many steps `beside` there are before it. */
  readonly before: number;
  readonly isBeside: boolean;
  /** Number, among the steps `beside`, of the one to wait for first; −1 for none. */
  readonly awaits: number;
}

/** Whether a step goes on beside launches. */
function isBeside(step: Step): boolean {
  return (step.kind === "message" || step.kind === "copy") && step.beside === true;
}

/** Gives each step of a choice the call that it has become. */
export function placedCalls(steps: readonly Step[], calls: readonly PreparedCall[]): readonly PlacedCall[] {
  const countTo = (end: number): number => steps.slice(0, end).filter(isBeside).length;
  return steps.map((step, i) => ({
    call: calls[i]!,
    before: countTo(i),
    isBeside: isBeside(step),
    awaits: step.kind === "launch" && step.awaits !== undefined ? countTo(step.awaits) : -1,
  }));
}

/** The stream of what a group has beside launches, and its events, made with the first program that has such steps. */
export class MessageLane {
  private lane: StreamHandle | null = null;
  private begin: EventHandle | null = null;
  private readonly ends: EventHandle[] = [];

  constructor(private readonly group: DeviceGroup) {}

  /** Makes what the steps of any choice need. @throws RuntimeError where the driver refuses a stream or an event */
  open({ plan }: Pick<Manifest, "plan">): void {
    const counts = plan.choices.map(({ steps }) => steps.filter(isBeside).length);
    const most = Math.max(0, ...counts);
    const { device } = this.group;
    const addon = native();
    if (most > 0 && this.lane === null) {
      const begin = addon.eventCreate(device, false);
      try {
        this.lane = addon.streamCreate(device);
      } catch (error) {
        addon.eventDestroy(begin);
        throw error;
      }
      this.begin = begin;
      // Whoever used them waited for them.
      this.group.own(async () => {
        await this.group.settle();
        this.free();
      });
    }
    while (this.ends.length < most) this.ends.push(addon.eventCreate(device, false));
  }

  private free(): void {
    const addon = native();
    for (const event of [this.begin!, ...this.ends.splice(0)]) addon.eventDestroy(event);
    addon.streamDestroy(this.lane!);
    [this.lane, this.begin] = [null, null];
  }

  /**
   * Enqueues the steps of a launch: in a capture of `stream`, too, whose graph then has both lanes. What comes on `stream` next comes after all of
   * them. Nothing is allocated.
   */
  enqueue(stream: StreamHandle, steps: readonly PlacedCall[]): void {
    const addon = native();
    const lane = this.lane;
    // The lane belongs to a capture until that ends. What runs meanwhile has none: its steps are in an order that needs none.
    if (lane === null || (addon.streamIsCapturing(lane) && !addon.streamIsCapturing(stream))) {
      for (const { call } of steps) call.enqueue(stream);
      return;
    }
    let last = -1;
    for (const { call, before, isBeside, awaits } of steps)
      if (isBeside) {
        addon.eventRecord(this.begin!, stream);
        addon.streamWaitEvent(lane, this.begin!);
        call.enqueue(lane);
        addon.eventRecord(this.ends[before]!, lane);
        last = before;
      } else {
        if (awaits >= 0) addon.streamWaitEvent(stream, this.ends[awaits]!);
        call.enqueue(stream);
      }
    if (last >= 0) addon.streamWaitEvent(stream, this.ends[last]!);
  }
}
