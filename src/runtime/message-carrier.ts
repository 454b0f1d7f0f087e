/**
 * What carries messages between ranks that share no addresses: one interface, and two libraries behind it. NCCL's way is here, a group of
 * sends and receives, or of broadcasts; NVSHMEM's, puts with signals, is in nvshmem/message-carrier.ts.
 */
import type { Manifest, MessageStep } from "../compiler/index.js";
import { type RuntimeError, UsageError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import { carrierOn } from "./machine-at-hand.js";
import type { DevicePointer, StreamHandle } from "./native.js";
import type { NcclCommunicator } from "./nccl/communicator.js";
import { ncclGroup } from "./nccl/library.js";
import { communicatorAmong, ownCommunicator } from "./nccl/of-group.js";
import type { NvshmemPost } from "./nvshmem/message-carrier.js";

/** A call with everything decided. */
export interface PreparedCall {
  enqueue(stream: StreamHandle): void;
  release(): void;
}

/** Memory on this rank, and where it lies on the others; an address of 0 where they are not reached. */
export interface PlacedMemory {
  readonly bytes: number;
  readonly pointer: DevicePointer;
  /** Empty where no other rank is to reach it. */
  readonly peers: readonly DevicePointer[];
}

/** Memory, and how it is given back: collective where peers reach it. */
export interface HeldMemory extends PlacedMemory {
  readonly free: () => Promise<void>;
}

/** A run of bytes of a message. */
export interface MessagePart {
  /** On this rank. */
  readonly address: DevicePointer;
  /** Where it lies at the other side, named by what lies there on this rank. */
  readonly counterpart: DevicePointer;
  readonly bytes: number;
}

/** What goes between this rank and a peer in a step, in one direction: the k-th part here is the k-th part there. None is empty. */
export interface Parcel {
  readonly peer: number;
  readonly parts: readonly MessagePart[];
}

/** Carries the messages of one program of one group. */
export interface MessageCarrier {
  readonly name: CarrierName;
  /**
   * Memory of this many bytes for what messages bring and take. Collective.
   * @param symmetric whether kernels reach it on peers, too
   * @throws RuntimeError where there is not enough
   */
  allocate(bytes: number, name: string, symmetric: boolean): Promise<HeldMemory>;
  /**
   * Fixes a step. What it gives can be enqueued any number of times, also in a capture, by all ranks in one order. On its stream everything
   * before comes before what is sent, and what is received before everything after.
   * @param step number among the program's steps of messages, the same on all ranks
   * @param broadcasts of the step, where this rank's messages are better carried as one of them, which they need not be: null where they are not.
   *   All ranks of a set are given it, or none
   */
  prepare(
    step: number,
    sends: readonly Parcel[],
    receives: readonly Parcel[],
    broadcasts: MessageStep["broadcasts"] | null,
  ): PreparedCall;
  /** See `Watched`. */
  takeFailure(): RuntimeError | null;
  /** See `Watched`; left out where a wait that ran out is not noticed by the carrier. */
  readonly isHolding?: boolean;
  /** Ends waits that have run out and hold their stream. To be called when no rank needs any more what they protect. */
  letGo(): void;
  /** Forgets what was enqueued. Nothing may be in flight on any rank. */
  reset(): void;
  /** What is to be given back, one after the other. Collective. */
  free(): (() => Promise<void> | void)[];
}

export const CARRIERS = ["nccl", "nvshmem"] as const;
export type CarrierName = (typeof CARRIERS)[number];

/** What programs of a group send messages with, each library opened with the first program that needs it. */
export class MessageCarriers {
  private communicator: Promise<NcclCommunicator> | null = null;
  /** Of each list of sets that a step has broadcasts in, this rank's; kept, like the other, until the group closes. */
  private readonly among = new Map<string, Promise<NcclCommunicator | null>>();
  private post: Promise<NvshmemPost> | null = null;

  constructor(private readonly group: DeviceGroup) {}

  /**
   * A carrier for a program; null where it sends nothing. Collective, as all ranks have the same plan.
   * @throws MachineError where the library is missing; UsageError where ranks ask for different ones; RuntimeError `timeout`
   */
  async open({ plan, collective }: Pick<Manifest, "plan" | "collective">): Promise<MessageCarrier | null> {
    const steps = plan.choices.flatMap((choice) => choice.steps.filter((step) => step.kind === "message"));
    if (steps.length === 0) return null;
    if ((await this.chosen()) === "nvshmem") return (await this.openPost()).carrier(collective, steps.length);
    // Of a communicator with windows, NCCL 2.28.9 mixes up the data of messages between GPUs of a host where only one side lies in a window.
    this.communicator ??= ownCommunicator(this.group, "NCCL unique id of messages").then((made) => made.communicator);
    const communicator = await this.communicator;
    const among = new Map<string, NcclCommunicator>();
    for (const { broadcasts } of steps) {
      if (broadcasts === undefined) continue;
      const made = await this.communicatorOfSet(broadcasts);
      if (made !== null) among.set(keyOf(broadcasts), made);
    }
    return new NcclCarrier(this.group, communicator, among);
  }

  private communicatorOfSet(sets: NonNullable<MessageStep["broadcasts"]>): Promise<NcclCommunicator | null> {
    const key = keyOf(sets);
    let made = this.among.get(key);
    if (made === undefined) {
      const purpose = `NCCL unique ids of broadcasts among ${key}`;
      made = communicatorAmong(this.group, sets, purpose).then((own) => own?.communicator ?? null);
      this.among.set(key, made);
    }
    return made;
  }

  /** COLLC_MESSAGES, or what the backend has. */
  private async chosen(): Promise<CarrierName> {
    const text = carrierOn(this.group.backend);
    const all = await this.group.exchange("what carries messages", text);
    const name = CARRIERS.find((carrier) => carrier === text);
    if (name === undefined)
      throw new UsageError(`COLLC_MESSAGES is '${text}'`, `set it to ${CARRIERS.join(" or ")}, or unset it`);
    const other = all.findIndex((theirs) => theirs !== text);
    if (other < 0) return name;
    throw new UsageError(
      `messages of rank ${this.group.rank} go by ${text}, those of rank ${other} by ${all[other]}`,
      "set COLLC_MESSAGES to the same on all ranks",
    );
  }

  private openPost(): Promise<NvshmemPost> {
    return (this.post ??= import("./nvshmem/message-carrier.js").then((m) => m.NvshmemPost.open(this.group)));
  }

  /** Enqueues on a stream what completes all that this rank has put. */
  async quiet(stream: StreamHandle): Promise<void> {
    (await this.post?.catch(() => null))?.quiet(stream);
  }
}

function keyOf(sets: NonNullable<MessageStep["broadcasts"]>): string {
  return sets.map((ranks) => ranks.join(" ")).join(", ");
}

/**
 * NCCL's sends and receives, in one group, or its broadcasts. All memory that they touch can be handed to other processes: where a graph is captured, NCCL
 * registers what is sent and received with the peer, and where it could do so on one side alone, its kernels never ended (2.28.9, 4×H100).
 */
class NcclCarrier implements MessageCarrier {
  readonly name = "nccl";

  constructor(
    private readonly group: DeviceGroup,
    private readonly communicator: NcclCommunicator,
    private readonly among: ReadonlyMap<string, NcclCommunicator>,
  ) {}

  allocate(bytes: number, name: string, symmetric: boolean): Promise<HeldMemory> {
    return allocateOwn(this.group, bytes, name, symmetric);
  }

  /** What moves, moves as bytes, so that every dtype can. */
  prepare(
    _step: number,
    sends: readonly Parcel[],
    receives: readonly Parcel[],
    broadcasts: MessageStep["broadcasts"] | null,
  ): PreparedCall {
    if (broadcasts) return this.prepareBroadcast(this.among.get(keyOf(broadcasts))!, sends, receives);
    const { communicator } = this;
    const flat = (parcels: readonly Parcel[], isSend: boolean) =>
      parcels.flatMap(({ peer, parts }) => parts.map((part, turn) => ({ ...part, peer, turn, isSend })));
    // A group takes them in any order; this way none has to wait for more than its own other side.
    const calls = [...flat(sends, true), ...flat(receives, false)].sort((a, b) => a.turn - b.turn);
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

  /** The first of the communicator is the root, which sends every other rank the same. There, what goes stays where it is. */
  private prepareBroadcast(
    communicator: NcclCommunicator,
    [sent]: readonly Parcel[],
    [received]: readonly Parcel[],
  ): PreparedCall {
    const { parts } = (sent ?? received)!;
    const each = (stream: StreamHandle) => (): void => {
      for (const { address, bytes } of parts) communicator.broadcast(stream, address, address, bytes, "u8", 0);
    };
    return { enqueue: (stream) => ncclGroup(each(stream)), release: () => {} };
  }

  takeFailure(): null {
    return null;
  }

  letGo(): void {}

  reset(): void {}

  free(): [] {
    return [];
  }
}

/** Memory of the group's own provider where peers reach it, else of this rank alone. */
export async function allocateOwn(
  group: DeviceGroup,
  bytes: number,
  name: string,
  symmetric: boolean,
): Promise<HeldMemory> {
  if (!symmetric) return { ...group.allocateExportable(bytes), peers: [], bytes };
  const { localPointer: pointer, peerPointers: peers, free } = await group.allocateSymmetric(bytes, name);
  return { pointer, peers, bytes, free };
}
