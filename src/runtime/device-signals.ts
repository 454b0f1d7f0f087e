/**
 * Signals of a device group: one pad a rank and group, so that groups never meet in a slot. Per channel the pad holds a
 * counter of signals and a counter of meetings from each rank; what this rank has taken is counted in its own memory.
 *
 * Where a rank is out of reach of another, all signals of the group go through the provider's calls. Those add to 64-bit
 * words, so the pad is twice as wide; the waits look at the lower halves. A barrier then is a signal to everybody and a
 * wait for everybody's, which after a timeout are out of step until the group recovers.
 */
import { allOf } from "./all-of.js";
import { DeviceMemory, Primitives, requireNoCapture, type SymmetricAllocation, waitKinds } from "./cuda/index.js";
import type { DeviceStream, Watched } from "./device-stream.js";
import { notReachable } from "./device-tensor.js";
import { RuntimeError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { DevicePointer } from "./native.js";
import type { RemoteCalls } from "./symmetric-provider.js";
import { channelsOf, slotOf } from "./signal-pad.js";

export class DeviceSignals {
  private constructor(
    private readonly group: DeviceGroup,
    readonly pad: SymmetricAllocation,
    /** Signals taken by channel and rank, then meetings by channel; where ranks are far, meetings by channel and rank. */
    private readonly counters: DeviceMemory,
    /** Every rank's pad, for the device. */
    private readonly table: DeviceMemory,
    private readonly channels: number,
    /** What reaches the peers, or null where all of them have addresses. */
    private readonly far: RemoteCalls | null,
  ) {}

  private primitives: Primitives | null = null;

  /** Collective. */
  static async open(group: DeviceGroup, padBytes: number): Promise<DeviceSignals> {
    const { world, device } = group;
    const channels = channelsOf(padBytes, world);
    let pad = await group.pool.allocate(padBytes, "signal pad");
    const sees = await group.exchangeChannel.allGather("signal pad: addresses", !pad.peerPointers.includes(0n));
    const far = sees.every(Boolean) ? null : group.remote;
    if (far !== null) {
      await pad.free();
      pad = await group.pool.allocate(2 * padBytes, "signal pad");
    }
    const counters = DeviceMemory.allocate(device, channels * world * 2 * 4);
    counters.fill(0);
    const table = DeviceMemory.allocate(device, 8 * world);
    table.write(BigUint64Array.from(pad.peerPointers));
    return new DeviceSignals(group, pad, counters, table, channels, far);
  }

  /** Loads the kernels, which the methods below need. Not collective. @throws MachineError without NVRTC. */
  async prepare(): Promise<void> {
    if (this.primitives !== null) return;
    requireNoCapture("loading the kernels of signals");
    this.primitives = await Primitives.load(this.group.device);
  }

  put(stream: DeviceStream, peer: number, channel: number): void {
    const { world, rank } = this.group;
    const slot = slotOf("signal", channel, rank, world);
    if (this.far !== null) this.far.signal(stream.handle, this.word(slot), peer);
    else this.primitives!.putSignal(stream.handle, this.reach(peer) + BigInt(4 * slot));
  }

  wait(stream: DeviceStream, peer: number, channel: number, timeoutMs: number): void {
    this.take("signal", stream, peer, channel, timeoutMs);
    stream.watch(this.watch(stream, timeoutMs), timeoutMs);
  }

  /** This rank's own word. */
  private word(slot: number): DevicePointer {
    return this.pad.localPointer + BigInt((this.far === null ? 4 : 8) * slot);
  }

  private take(
    kind: "signal" | "barrier",
    stream: DeviceStream,
    peer: number,
    channel: number,
    timeoutMs: number,
  ): void {
    const { world, rank } = this.group;
    const index = slotOf(kind, channel, peer, world);
    const counter = (kind === "barrier" ? this.channels * world : 0) + channel * world + peer;
    this.primitives!.waitSignal(stream.handle, {
      slot: this.word(index),
      taken: this.counters.pointer + BigInt(4 * counter),
      peer,
      index,
      rank,
      timeoutNs: BigInt(timeoutMs) * 1_000_000n,
      status: stream.status.pointer,
    });
  }

  barrier(stream: DeviceStream, channel: number, timeoutMs: number): void {
    const { world, rank } = this.group;
    if (this.far !== null) {
      const own = this.word(slotOf("barrier", channel, rank, world));
      for (let peer = 0; peer < world; peer++) this.far.signal(stream.handle, own, peer);
      for (let peer = 0; peer < world; peer++) this.take("barrier", stream, peer, channel, timeoutMs);
      stream.watch(this.watch(stream, timeoutMs), timeoutMs);
      return;
    }
    for (let peer = 0; peer < world; peer++) this.reach(peer);
    this.primitives!.barrier(stream.handle, {
      pads: this.table.pointer,
      epoch: this.counters.pointer + BigInt(4 * (this.channels * world + channel)),
      offset: slotOf("barrier", channel, 0, world),
      rank,
      world,
      timeoutNs: BigInt(timeoutMs) * 1_000_000n,
      status: stream.status.pointer,
    });
    stream.watch(this.watch(stream, timeoutMs), timeoutMs);
  }

  private reach(peer: number): DevicePointer {
    const pad = this.pad.peerPointers[peer]!;
    if (pad === 0n) throw notReachable(peer, this.group.rank, this.group.hosts);
    return pad;
  }

  /** Turns what a wait left in the stream's record into an error. */
  private watch(stream: DeviceStream, timeoutMs: number): Watched {
    const { world } = this.group;
    return {
      takeFailure: () => {
        const failure = stream.status.read();
        if (failure === null) return null;
        stream.status.clear();
        const { rank, peer, buffer, slot, wanted, seen } = failure;
        const channel = Math.floor(slot / (2 * world));
        const kind = this.far !== null && slot % (2 * world) >= world ? "barrier" : (waitKinds[buffer] ?? "signal");
        const what = kind === "signal" ? `a signal of rank ${peer}` : `rank ${peer} at a barrier`;
        return new RuntimeError(
          `rank ${rank} waited ${timeoutMs} ms for ${what} on channel ${channel} of group "${this.group.name}" (slot ${slot}: wanted ${wanted}, saw ${seen})`,
          `see whether rank ${peer} came to it, or raise the timeout` +
            (this.far === null ? "" : "; before the next barrier, call group.recover() on all ranks"),
          "timeout",
        );
      },
    };
  }

  /** Zeroes this rank's pad and counters. Nothing may be in flight on any rank. */
  reset(): void {
    DeviceMemory.view(this.group.device, this.pad.localPointer, this.pad.bytes).fill(0);
    this.counters.fill(0);
  }

  /** Collective. */
  free(): Promise<void> {
    return allOf([
      () => this.pad.free(),
      () => this.counters.free(),
      () => this.table.free(),
      () => this.primitives?.unload(),
    ]);
  }
}
