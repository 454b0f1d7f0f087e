/** Memory that the kernels of a program share, and its steps that send messages: NCCL's sends and receives, in one group. */
import {
  type DimValues,
  DTYPES,
  elementsOf,
  type MessageStep,
  type ProgramMemory,
  type Run,
  runsOf,
} from "../compiler/index.js";
import { DeviceMemory, requireNoCapture } from "./cuda/index.js";
import type { DeviceGroup } from "./group-device.js";
import type { PreparedCall } from "./library-steps.js";
import type { DevicePointer, StreamHandle } from "./native.js";
import type { NcclCommunicator } from "./nccl/communicator.js";
import { ncclGroup } from "./nccl/library.js";

/** Memory on this rank, and where it lies on the others; an address of 0 where they are not reached. */
export interface PlacedMemory {
  readonly bytes: number;
  readonly pointer: DevicePointer;
  readonly peers: readonly DevicePointer[];
}

interface Held extends PlacedMemory {
  readonly free: () => Promise<void>;
}

/**
 * Memory of one program; grows when a launch asks for more. All of it can be handed to other processes: where a graph is captured, NCCL
 * registers what is sent and received with the peer, and where it could do so on one side alone, its kernels never ended (2.28.9, 4×H100).
 */
export class SharedMemory {
  private readonly held = new Map<string, Held>();

  constructor(
    private readonly group: DeviceGroup,
    private readonly collective: string,
    private readonly wanted: readonly ProgramMemory[],
  ) {}

  /** Makes room for these dimensions. Collective, as all ranks are given the same. */
  async place(dims: DimValues): Promise<void> {
    const { group } = this;
    for (const { name, dtype, shape, symmetric } of this.wanted) {
      const elements = elementsOf(shape, dims);
      const bytes = Math.max(1, elements) * DTYPES[dtype].bytes;
      const before = this.held.get(name);
      if (before !== undefined && before.bytes >= bytes) continue;
      requireNoCapture(`allocating ${bytes} bytes for ${this.collective} (launch it once before)`);
      await group.settle();
      await before?.free();
      this.held.delete(name);
      if (symmetric) {
        const { localPointer, peerPointers, free } = await group.allocateSymmetric(bytes, name);
        DeviceMemory.view(group.device, localPointer, bytes).fill(0);
        this.held.set(name, { pointer: localPointer, peers: peerPointers, bytes, free });
      } else this.held.set(name, { ...group.allocateExportable(bytes), peers: [], bytes });
    }
  }

  of(name: string): PlacedMemory {
    return this.held.get(name)!;
  }

  addressOf({ memory, offset }: Run): DevicePointer {
    return this.of(memory).pointer + BigInt(offset * this.bytesOf(memory));
  }

  /** Of an element. */
  bytesOf(name: string): number {
    return DTYPES[this.wanted.find((m) => m.name === name)!.dtype].bytes;
  }

  free(): (() => Promise<void>)[] {
    return [...this.held.values()].map(({ free }) => free);
  }
}

/** Fixes what this rank sends and receives. What moves, moves as bytes, so that every dtype can. */
export function prepareMessages(
  { rank }: DeviceGroup,
  communicator: NcclCommunicator,
  { ranks }: MessageStep,
  memory: SharedMemory,
  dims: DimValues,
): PreparedCall {
  const calls = (["sends", "receives"] as const).flatMap((side) =>
    runsOf(ranks[rank]![side], dims).map((run, i, all) => ({
      isSend: side === "sends",
      /** The how manieth it is to or from this peer. */
      turn: all.slice(0, i).filter(({ peer }) => peer === run.peer).length,
      peer: run.peer,
      address: memory.addressOf(run),
      bytes: run.length * memory.bytesOf(run.memory),
    })),
  );
  // A group takes them in any order; this way none has to wait for more than its own other side.
  calls.sort((a, b) => a.turn - b.turn);
  const each = (stream: StreamHandle) => (): void => {
    for (const { isSend, peer, address, bytes } of calls)
      if (isSend) communicator.send(stream, address, bytes, "u8", peer);
      else communicator.receive(stream, address, bytes, "u8", peer);
  };
  const enqueue = (stream: StreamHandle): void => {
    if (calls.length > 0) ncclGroup(each(stream));
  };
  return { enqueue, release: () => {} };
}
