/** The part of a device group that signals, copies and writes words. */
import { DeviceMemory, requireNoCapture } from "./cuda/index.js";
import { copyParts, enqueueCopy, ownTensor } from "./device-copies.js";
import { DeviceSignals } from "./device-signals.js";
import type { DeviceStream } from "./device-stream.js";
import { DeviceTensor } from "./device-tensor.js";
import { UsageError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { CopyOptions, GroupPrimitives, SignalOptions, StepOptions, Tensor } from "./group.js";
import { type EventHandle, native } from "./native.js";
import {
  channelsOf,
  checkChannel,
  checkSignalPadBytes,
  defaultSignalPadBytes,
  noPadYet,
  padIsMade,
} from "./signal-pad.js";
import { checkWords, tensorShape } from "./tensor-shape.js";

export abstract class DevicePrimitives implements GroupPrimitives {
  private padBytes: number;
  private signals: DeviceSignals | null = null;
  /** Streams for steps that are waited for at once, so that one that waits for a peer holds up no other. */
  private readonly idle: DeviceStream[] = [];

  constructor(
    private readonly members: number,
    padBytes: number = defaultSignalPadBytes,
  ) {
    checkSignalPadBytes(padBytes, members);
    this.padBytes = padBytes;
  }

  private get group(): DeviceGroup {
    return this as unknown as DeviceGroup;
  }

  get signalPadBytes(): number {
    return this.padBytes;
  }

  get channels(): number {
    return channelsOf(this.padBytes, this.members);
  }

  setSignalPadBytes(bytes: number): void {
    checkSignalPadBytes(bytes, this.members);
    if (this.signals !== null) throw padIsMade(this.group.name, this.padBytes);
    this.padBytes = bytes;
  }

  /** Makes the pad, with the first symmetric allocation. Collective. */
  protected async openSignals(): Promise<void> {
    this.signals ??= await DeviceSignals.open(this.group, this.padBytes);
  }

  protected async closeSignals(): Promise<void> {
    await this.signals?.free();
    this.signals = null;
  }

  /** Loads what signals need, before a capture that could not. */
  async prepareSignals(): Promise<void> {
    await this.signals?.prepare();
  }

  protected resetSignals(): void {
    this.signals?.reset();
  }

  /** The signals, ready to be enqueued. */
  private async ready(): Promise<DeviceSignals> {
    const { open } = this;
    await open.prepare();
    return open;
  }

  private get open(): DeviceSignals {
    if (this.signals !== null) return this.signals;
    throw noPadYet(this.group.name);
  }

  signalPad(rank: number, shape?: readonly number[], offset = 0): Tensor {
    const { pad } = this.open;
    const memory = DeviceMemory.view(this.group.device, pad.localPointer, pad.bytes);
    const held = { memory, allocation: pad, isFreed: false, release: () => Promise.resolve() };
    const whole = new DeviceTensor(this.group, "u32", tensorShape([pad.bytes / 4]), held, 0, false);
    return whole.getBuffer(rank, shape, "u32", offset);
  }

  async putSignal(peer: number, options: SignalOptions = {}): Promise<void> {
    const channel = this.channelOf(options);
    this.group.requirePeer(peer);
    const signals = await this.ready();
    await this.step(options, (stream) => signals.put(stream, peer, channel));
  }

  async waitSignal(peer: number, options: SignalOptions = {}): Promise<void> {
    const channel = this.channelOf(options);
    this.group.requirePeer(peer);
    const timeoutMs = this.boundOf(options);
    const signals = await this.ready();
    await this.step(options, (stream) => signals.wait(stream, peer, channel, timeoutMs));
  }

  async signalBarrier(options: SignalOptions = {}): Promise<void> {
    const channel = this.channelOf(options);
    const timeoutMs = this.boundOf(options);
    const signals = await this.ready();
    await this.step(options, (stream) => signals.barrier(stream, channel, timeoutMs));
  }

  async put(target: Tensor, source: Tensor, peer: number, options: CopyOptions = {}): Promise<void> {
    const { own, part, bytes, far } = copyParts(this.group, source, target, peer, options.offset ?? 0);
    await this.step(options, (stream) => {
      if (far === null) enqueueCopy(stream, part, own, bytes);
      else far.put(stream.handle, part.pointer, own.pointer, bytes, peer);
    });
  }

  async get(target: Tensor, source: Tensor, peer: number, options: CopyOptions = {}): Promise<void> {
    const { own, part, bytes, far } = copyParts(this.group, target, source, peer, options.offset ?? 0);
    await this.step(options, (stream) => {
      if (far === null) enqueueCopy(stream, own, part, bytes);
      else far.get(stream.handle, own.pointer, part.pointer, bytes, peer);
    });
  }

  async putWithSignal(
    target: Tensor,
    source: Tensor,
    peer: number,
    options: CopyOptions & SignalOptions = {},
  ): Promise<void> {
    const channel = this.channelOf(options);
    const { own, part, bytes, far } = copyParts(this.group, source, target, peer, options.offset ?? 0);
    const signals = await this.ready();
    await this.step(options, (stream) => {
      if (far === null) enqueueCopy(stream, part, own, bytes);
      else far.put(stream.handle, part.pointer, own.pointer, bytes, peer);
      signals.put(stream, peer, channel);
    });
  }

  async streamWriteValue32(tensor: Tensor, offset: number, value: number, options: StepOptions = {}): Promise<void> {
    checkWords(tensor, offset, value, 1);
    const { pointer } = ownTensor(this.group, tensor, "the tensor of words");
    await this.step(options, (stream) =>
      native().streamWriteValue32(stream.handle, pointer + BigInt(4 * offset), value),
    );
  }

  async memset32(
    tensor: Tensor,
    offset: number,
    value: number,
    count: number,
    options: StepOptions = {},
  ): Promise<void> {
    checkWords(tensor, offset, value, count);
    const { pointer } = ownTensor(this.group, tensor, "the tensor of words");
    await this.step(options, (stream) =>
      native().memorySet32Async(stream.handle, pointer + BigInt(4 * offset), value, count),
    );
  }

  private channelOf({ channel = 0 }: SignalOptions): number {
    checkChannel(channel, this.channels);
    return channel;
  }

  private boundOf({ timeoutMs = this.group.timeoutMs }: SignalOptions): number {
    if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 0 && timeoutMs < 2 ** 31) return timeoutMs;
    throw new UsageError(`${timeoutMs} is no timeout`, "timeouts are whole milliseconds; 0 waits for ever");
  }

  /** Enqueues on the stream asked for; without one, behind the group's default stream, and waits. */
  private async step(options: StepOptions, enqueue: (stream: DeviceStream) => void): Promise<void> {
    const { group } = this;
    if (options.rank !== undefined) group.requireLocal(options.rank);
    if (options.stream !== undefined) return enqueue(group.ownStream(options.stream));
    requireNoCapture("waiting for a step (give it the capture's stream)");
    const stream = this.idle.pop() ?? group.stream();
    const event: EventHandle = native().eventCreate(group.device, false);
    try {
      native().eventRecord(event, group.defaultStream.handle);
      native().streamWaitEvent(stream.handle, event);
      enqueue(stream);
      await stream.synchronize();
    } finally {
      native().eventDestroy(event);
      this.idle.push(stream);
    }
  }
}
