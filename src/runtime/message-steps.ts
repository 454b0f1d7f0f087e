/** Memory that the kernels of a program share, and its steps that send messages: which bytes go where. */
import {
  type DimValues,
  DTYPES,
  elementsOf,
  InternalCompilerError,
  isFasterAsBroadcast,
  type MessageStep,
  type ProgramMemory,
  type Run,
  runsOf,
} from "../compiler/index.js";
import { DeviceMemory, requireNoCapture } from "./cuda/index.js";
import type { DeviceGroup } from "./group-device.js";
import {
  allocateOwn,
  type HeldMemory,
  type MessageCarrier,
  type Parcel,
  type PlacedMemory,
  type PreparedCall,
} from "./message-carrier.js";
import type { DevicePointer } from "./native.js";

/** Memory of one program; grows when a launch asks for more. */
export class SharedMemory {
  private readonly held = new Map<string, HeldMemory>();

  constructor(
    private readonly group: DeviceGroup,
    private readonly collective: string,
    private readonly wanted: readonly ProgramMemory[],
    /** Of the program's messages; null where it has none. */
    private readonly carrier: MessageCarrier | null,
  ) {}

  /** Makes room for these dimensions. Collective, as all ranks are given the same. */
  async place(dims: DimValues): Promise<void> {
    const { group, carrier } = this;
    for (const { name, dtype, shape, symmetric, counts } of this.wanted) {
      const elements = elementsOf(shape, dims);
      const bytes = Math.max(1, elements) * DTYPES[dtype].bytes;
      const before = this.held.get(name);
      if (before !== undefined && before.bytes >= bytes) continue;
      requireNoCapture(`allocating ${bytes} bytes for ${this.collective} (launch it once before)`);
      await group.settle();
      await before?.free();
      this.held.delete(name);
      const made = await (carrier === null
        ? allocateOwn(group, bytes, name, symmetric)
        : carrier.allocate(bytes, name, symmetric));
      this.held.set(name, made);
      // Symmetric memory comes as zeros, before any peer can reach it.
      if (counts === true && !symmetric) this.zero(made);
    }
  }

  /** What counts begins anew. Nothing may be in flight on any rank. */
  reset(): void {
    for (const { name, counts } of this.wanted) {
      const held = this.held.get(name);
      if (counts === true && held !== undefined) this.zero(held);
    }
  }

  private zero({ pointer, bytes }: HeldMemory): void {
    DeviceMemory.view(this.group.device, pointer, bytes).fill(0);
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

/** Both sides of what one rank sends to another in a step, in order. */
function runsBetween(
  { ranks }: MessageStep,
  from: number,
  to: number,
  dims: DimValues,
): readonly { readonly sent: Run; readonly received: Run }[] {
  const sends = runsOf(ranks[from]!.sends, dims).filter(({ peer }) => peer === to);
  const receives = runsOf(ranks[to]!.receives, dims).filter(({ peer }) => peer === from);
  if (sends.length !== receives.length || sends.some(({ length }, k) => length !== receives[k]!.length)) {
    const text = (runs: readonly Run[]): string => `[${runs.map(({ length }) => length).join(", ")}]`;
    throw new InternalCompilerError(
      `in one step rank ${from} sends ${text(sends)} elements to rank ${to}, which receives ${text(receives)}`,
    );
  }
  return sends.map((sent, k) => ({ sent, received: receives[k]! }));
}

/**
 * Fixes what this rank sends and receives in a step.
 * @param number of the step among the program's steps of messages
 * @throws InternalCompilerError for messages whose two sides do not fit
 */
export function prepareMessages(
  { rank }: DeviceGroup,
  carrier: MessageCarrier,
  step: MessageStep,
  number: number,
  memory: SharedMemory,
  dims: DimValues,
): PreparedCall {
  const parcels = (side: "sends" | "receives"): Parcel[] => {
    const peers = new Set(runsOf(step.ranks[rank]![side], dims).map(({ peer }) => peer));
    return [...peers].map((peer) => {
      const pairs = side === "sends" ? runsBetween(step, rank, peer, dims) : runsBetween(step, peer, rank, dims);
      const parts = pairs.map(({ sent, received }) => {
        const [own, theirs] = side === "sends" ? [sent, received] : [received, sent];
        const bytes = own.length * memory.bytesOf(own.memory);
        return { address: memory.addressOf(own), counterpart: memory.addressOf(theirs), bytes };
      });
      return { peer, parts };
    });
  };
  const [sends, receives] = [parcels("sends"), parcels("receives")];
  const set = step.broadcasts?.find((ranks) => ranks.includes(rank));
  // Every rank of a set has the same parts, so all of them find the same.
  const bytes = (sends[0] ?? receives[0])?.parts.map((part) => part.bytes) ?? [];
  const isBroadcast = set !== undefined && isFasterAsBroadcast(set.length, bytes);
  return carrier.prepare(number, sends, receives, isBroadcast ? step.broadcasts! : null);
}
