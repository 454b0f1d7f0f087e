/** Signals, copies and writes of words of the emulation: the same rules as on a GPU, on arrays. */
import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeError, UsageError } from "./errors.js";
import type { CopyOptions, GroupPrimitives, SignalOptions, StepOptions, Tensor } from "./group.js";
import { HostStream, requireNoRecording } from "./host-stream.js";
import { type HostLife, HostTensor } from "./host-tensor.js";
import {
  channelsOf,
  checkChannel,
  checkSignalPadBytes,
  defaultSignalPadBytes,
  noPadYet,
  padIsMade,
  slotOf,
} from "./signal-pad.js";
import { copyInto } from "./numbers/index.js";
import { checkWords, requireContiguous, tensorShape } from "./tensor-shape.js";

/** One rank's pad, and what it has taken. */
interface RankSignals {
  readonly pad: Uint32Array;
  /** By channel and rank. */
  readonly taken: Uint32Array;
  /** By channel. */
  readonly meetings: Uint32Array;
}

export abstract class HostPrimitives implements GroupPrimitives {
  abstract readonly name: string;
  abstract readonly ranks: readonly number[];
  private padBytes: number;
  private signals: RankSignals[] | null = null;
  readonly defaultStream: HostStream;

  constructor(
    readonly world: number,
    readonly timeoutMs: number,
    padBytes: number = defaultSignalPadBytes,
  ) {
    checkSignalPadBytes(padBytes, world);
    this.padBytes = padBytes;
    this.defaultStream = new HostStream(world);
  }

  get signalPadBytes(): number {
    return this.padBytes;
  }

  get channels(): number {
    return channelsOf(this.padBytes, this.world);
  }

  setSignalPadBytes(bytes: number): void {
    checkSignalPadBytes(bytes, this.world);
    if (this.signals !== null) throw padIsMade(this.name, this.padBytes);
    this.padBytes = bytes;
  }

  /** Of memory that this group's streams work on. */
  protected life(release: () => void = () => {}): HostLife {
    return { isFreed: false, owner: this, release, settle: (rank) => this.settle(rank) };
  }

  /** Waits for what a rank, or every rank, has enqueued on streams of this group. */
  protected abstract settle(rank?: number): Promise<void>;

  protected openSignals(): void {
    const { channels, world } = this;
    this.signals ??= Array.from({ length: world }, () => ({
      pad: new Uint32Array(this.padBytes / 4),
      taken: new Uint32Array(channels * world),
      meetings: new Uint32Array(channels),
    }));
  }

  protected resetSignals(): void {
    for (const arrays of this.signals ?? []) for (const array of Object.values(arrays)) (array as Uint32Array).fill(0);
  }

  private of(rank: number): RankSignals {
    if (this.signals === null) throw noPadYet(this.name);
    return this.signals[rank]!;
  }

  requirePeer(rank: number): void {
    if (Number.isInteger(rank) && rank >= 0 && rank < this.world) return;
    throw new UsageError(`there is no rank ${rank} in group "${this.name}" of ${this.world}`);
  }

  signalPad(rank: number, shape?: readonly number[], offset = 0): Tensor {
    this.requirePeer(rank);
    this.of(rank);
    const pads = this.signals!.map(({ pad }) => pad);
    const whole = new HostTensor("u32", tensorShape([pads[0]!.length]), true, pads, 0, this.life(), false);
    return whole.getBuffer(rank, shape, "u32", offset);
  }

  async putSignal(peer: number, options: SignalOptions = {}): Promise<void> {
    const channel = this.channelOf(options);
    this.requirePeer(peer);
    this.of(peer);
    await this.step(options, (rank) => this.send(rank, peer, channel));
  }

  private send(rank: number, peer: number, channel: number): void {
    this.of(peer).pad[slotOf("signal", channel, rank, this.world)]!++;
  }

  async waitSignal(peer: number, options: SignalOptions = {}): Promise<void> {
    const channel = this.channelOf(options);
    this.requirePeer(peer);
    const bound = this.boundOf(options);
    this.of(peer);
    await this.step(options, async (rank, stream) => {
      const { pad, taken } = this.of(rank);
      const slot = slotOf("signal", channel, peer, this.world);
      const ticket = ++taken[channel * this.world + peer]!;
      const what = `a signal of rank ${peer} on channel ${channel}`;
      await this.arrive(pad, slot, ticket, stream, bound, rank, what).catch((error: unknown) => {
        taken[channel * this.world + peer]!--;
        throw error;
      });
    });
  }

  async signalBarrier(options: SignalOptions = {}): Promise<void> {
    const channel = this.channelOf(options);
    const bound = this.boundOf(options);
    this.of(0);
    await this.step(options, async (rank, stream) => {
      const { pad, meetings } = this.of(rank);
      const meeting = meetings[channel]! + 1;
      for (let peer = 0; peer < this.world; peer++)
        this.of(peer).pad[slotOf("barrier", channel, rank, this.world)] = meeting;
      for (let peer = 0; peer < this.world; peer++) {
        const slot = slotOf("barrier", channel, peer, this.world);
        const what = `rank ${peer} at a barrier on channel ${channel}`;
        await this.arrive(pad, slot, meeting, stream, bound, rank, what);
      }
      meetings[channel] = meeting;
    });
  }

  /** Returns once the slot has reached `wanted`. */
  private async arrive(
    pad: Uint32Array,
    slot: number,
    wanted: number,
    stream: HostStream,
    boundMs: number,
    rank: number,
    what: string,
  ): Promise<void> {
    const deadline = boundMs === 0 ? Infinity : performance.now() + boundMs;
    while (((pad[slot]! - wanted) | 0) < 0) {
      if (stream.hasFailed || performance.now() >= deadline)
        throw new RuntimeError(
          `rank ${rank} waited ${boundMs} ms for ${what} of group "${this.name}" (slot ${slot}: wanted ${wanted}, saw ${pad[slot]})`,
          "see whether that rank came to it, or raise the timeout",
          "timeout",
        );
      await sleep(1);
    }
  }

  async put(target: Tensor, source: Tensor, peer: number, options: CopyOptions = {}): Promise<void> {
    await this.step(options, this.copy(source, target, peer, options.offset ?? 0, "put"));
  }

  async get(target: Tensor, source: Tensor, peer: number, options: CopyOptions = {}): Promise<void> {
    await this.step(options, this.copy(target, source, peer, options.offset ?? 0, "get"));
  }

  async putWithSignal(
    target: Tensor,
    source: Tensor,
    peer: number,
    options: CopyOptions & SignalOptions = {},
  ): Promise<void> {
    const channel = this.channelOf(options);
    const copy = this.copy(source, target, peer, options.offset ?? 0, "put");
    this.of(peer);
    await this.step(options, (rank) => {
      copy(rank);
      this.send(rank, peer, channel);
    });
  }

  /** Checks a copy between a tensor of one's own and a peer's part of a symmetric one, and gives what does it. */
  private copy(own: Tensor, remote: Tensor, peer: number, offset: number, way: "put" | "get"): (rank: number) => void {
    const [mine, theirs] = [hostTensor(own), hostTensor(remote)];
    this.requirePeer(peer);
    requireContiguous(mine.layout, "the tensor");
    requireContiguous(theirs.layout, "the symmetric tensor");
    if (mine.dtype !== theirs.dtype)
      throw new UsageError(`a copy between ${mine.dtype} and ${theirs.dtype} would change what the bytes mean`);
    const part = theirs.getBuffer(peer, [mine.length], theirs.dtype, offset).of(0);
    return (rank) => (way === "put" ? copyInto(part, mine.of(rank)) : copyInto(mine.of(rank), part));
  }

  async streamWriteValue32(tensor: Tensor, offset: number, value: number, options: StepOptions = {}): Promise<void> {
    await this.words(tensor, offset, value, 1, options);
  }

  async memset32(
    tensor: Tensor,
    offset: number,
    value: number,
    count: number,
    options: StepOptions = {},
  ): Promise<void> {
    await this.words(tensor, offset, value, count, options);
  }

  private async words(
    tensor: Tensor,
    offset: number,
    value: number,
    count: number,
    options: StepOptions,
  ): Promise<void> {
    checkWords(tensor, offset, value, count);
    const own = hostTensor(tensor);
    await this.step(options, (rank) => void (own.of(rank) as Uint32Array).fill(value, offset, offset + count));
  }

  private channelOf({ channel = 0 }: SignalOptions): number {
    checkChannel(channel, this.channels);
    return channel;
  }

  private boundOf({ timeoutMs = this.timeoutMs }: SignalOptions): number {
    if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 0 && timeoutMs < 2 ** 31) return timeoutMs;
    throw new UsageError(`${timeoutMs} is no timeout`, "timeouts are whole milliseconds; 0 waits for ever");
  }

  /** Enqueues a rank's step on the stream asked for; without one, does it now. */
  private async step(
    { stream, rank = 0 }: StepOptions,
    run: (rank: number, stream: HostStream) => void | Promise<void>,
  ): Promise<void> {
    this.requirePeer(rank);
    if (stream === undefined) requireNoRecording("waiting for a step (give it the capture's stream)");
    const on = stream === undefined ? new HostStream(this.world) : hostStream(stream);
    on.enqueue({ ranks: [rank], run: () => run(rank, on) });
    if (stream === undefined) await on.synchronize();
  }
}

/** @throws UsageError for a tensor of another backend. */
export function hostTensor(tensor: Tensor): HostTensor {
  if (tensor instanceof HostTensor) return tensor;
  throw new UsageError("the tensor belongs to another backend than cpu");
}

/** @throws UsageError for a stream of another backend. */
export function hostStream(stream: unknown): HostStream {
  if (stream instanceof HostStream) return stream;
  throw new UsageError("the stream belongs to another backend than cpu");
}
