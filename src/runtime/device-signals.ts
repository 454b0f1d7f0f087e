/**
 * Signals of a device group: one pad a rank and group, so that groups never meet in a slot. Per channel the pad holds a
 * counter of signals and a counter of meetings from each rank; what this rank has taken is counted in its own memory.
 */
import { DeviceMemory, Primitives, requireNoCapture, type SymmetricAllocation, waitKinds } from "./cuda/index.js";
import type { DeviceStream, Watched } from "./device-stream.js";
import { notReachable } from "./device-tensor.js";
import { RuntimeError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { DevicePointer } from "./native.js";
import { channelsOf, slotOf } from "./signal-pad.js";

export class DeviceSignals {
  private constructor(
    private readonly group: DeviceGroup,
    readonly pad: SymmetricAllocation,
    /** Signals taken by channel and rank, then meetings by channel. */
    private readonly counters: DeviceMemory,
    /** Every rank's pad, for the device. */
    private readonly table: DeviceMemory,
    private readonly channels: number,
  ) {}

  private primitives: Primitives | null = null;

  /** Collective. */
  static async open(group: DeviceGroup, padBytes: number): Promise<DeviceSignals> {
    const { world, device } = group;
    const channels = channelsOf(padBytes, world);
    const pad = await group.pool.allocate(padBytes, "signal pad");
    const counters = DeviceMemory.allocate(device, (channels * world + channels) * 4);
    counters.fill(0);
    const table = DeviceMemory.allocate(device, 8 * world);
    table.write(BigUint64Array.from(pad.peerPointers));
    return new DeviceSignals(group, pad, counters, table, channels);
  }

  /** Loads the kernels, which the methods below need. Not collective. @throws MachineError without NVRTC. */
  async prepare(): Promise<void> {
    if (this.primitives !== null) return;
    requireNoCapture("loading the kernels of signals");
    this.primitives = await Primitives.load(this.group.device);
  }

  put(stream: DeviceStream, peer: number, channel: number): void {
    const { world, rank } = this.group;
    const pad = this.reach(peer);
    this.primitives!.putSignal(stream.handle, pad + BigInt(4 * slotOf("signal", channel, rank, world)));
  }

  wait(stream: DeviceStream, peer: number, channel: number, timeoutMs: number): void {
    const { world, rank } = this.group;
    const index = slotOf("signal", channel, peer, world);
    this.primitives!.waitSignal(stream.handle, {
      slot: this.pad.localPointer + BigInt(4 * index),
      taken: this.counters.pointer + BigInt(4 * (channel * world + peer)),
      peer,
      index,
      rank,
      timeoutNs: BigInt(timeoutMs) * 1_000_000n,
      status: stream.status.pointer,
    });
    stream.watch(this.watch(stream, timeoutMs), timeoutMs);
  }

  barrier(stream: DeviceStream, channel: number, timeoutMs: number): void {
    const { world, rank } = this.group;
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
    if (pad === 0n) throw notReachable(peer, this.group.rank);
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
        const kind = waitKinds[buffer] ?? "signal";
        const channel = Math.floor(slot / (2 * world));
        const what = kind === "signal" ? `a signal of rank ${peer}` : `rank ${peer} at a barrier`;
        return new RuntimeError(
          `rank ${rank} waited ${timeoutMs} ms for ${what} on channel ${channel} of group "${this.group.name}" (slot ${slot}: wanted ${wanted}, saw ${seen})`,
          `see whether rank ${peer} came to it, or raise the timeout`,
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
  async free(): Promise<void> {
    await this.pad.free();
    this.counters.free();
    this.table.free();
    this.primitives?.unload();
  }
}
