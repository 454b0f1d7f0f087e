/**
 * Messages by NVSHMEM: puts with signals, on the stream of the program's step.
 *
 * All that messages touch lies in the symmetric heap, so a put names its place at the other side by what lies there on this rank. In each
 * program and step, each rank has two words of 64 bits for each peer, which that peer alone adds to:
 *
 *   ready   the peer has come to the step as one that receives: what this rank puts there now overwrites nothing that is still needed
 *   come    the peer's data of this step lies here
 *
 * A step enqueues, in this order: a `ready` to everybody it receives from; a wait for the `ready` of everybody it sends to; the puts, the last
 * of each peer with `come`; a wait for the `come` of everybody it receives from.
 *
 * - No put is too early: it follows a `ready` that was given after all that the receiver had enqueued before, and nothing that the receiver
 *   enqueues behind touches what it receives before its `come`. This is what a receive of NCCL says, too; no second buffer is needed.
 * - No signal comes before its data: a put's own does not, by the library's word; the other puts of a peer are completed by a quiet before the
 *   last is enqueued, as nothing else orders them.
 * - Words only grow, by one a step. The n-th `ready` follows the (n−1)-th `come`, which follows the (n−1)-th `ready` and its wait: so of
 *   each word there is at most one addition on its way, and a word that has reached n says that the n-th has come, no other.
 * - Nothing is fixed to a number: signals add one, and the wait counts on the device. So a graph can be replayed.
 * - No rank waits for another that waits for it: `ready`s are given before anything is waited for, and every rank comes to the steps in one
 *   order. It is the order that the compiler has proved for sends that end no sooner than their receive has begun.
 *
 * A wait is collc's own kernel, because NVSHMEM's have no bound. When the time is over it says who is missing, and holds its stream: a put
 * without `ready` would overwrite what a slow peer still reads, and what is computed without `come` would be handed on to others. It goes on
 * when the word comes after all, or when `recover` lets go of it on all ranks, none of which reads anything by then; words are zeroed after
 * that, with nothing on its way. A group that is closed instead leaves such a stream to the end of the process.
 *
 * Behind the wait for data stands one of NVSHMEM's own on a word that it finds there, for what the library does to make the data of network
 * adapters visible: a flush, where the driver has one.
 */
import { DeviceMemory, MOST_AWAITED, Primitives, requireNoCapture, StatusRecord } from "../cuda/index.js";
import { RuntimeError } from "../errors.js";
import type { DeviceGroup } from "../group-device.js";
import { ranksText } from "../hosts.js";
import type { HeldMemory, MessageCarrier, Parcel, PreparedCall } from "../message-carrier.js";
import type { DevicePointer, StreamHandle } from "../native.js";
import { SymmetricPool } from "../symmetric-pool.js";
import type { NvshmemOperations } from "./operations.js";
import { NvshmemProvider } from "./provider.js";

/** Kinds of words, in the order in which they lie. */
const KINDS = ["ready", "come"] as const;
const [READY, COME] = [0, 1];
const WORD_BYTES = 8;

/** What the programs of a group send with: NVSHMEM's calls, their memory, and the kernels that wait. */
export class NvshmemPost {
  private constructor(
    readonly group: DeviceGroup,
    readonly calls: NvshmemOperations,
    readonly primitives: Primitives,
    private readonly pool: SymmetricPool,
  ) {}

  /**
   * Sets NVSHMEM up where the group's backend is another, and has all ranks write to each other once. Collective.
   * @throws MachineError without NVSHMEM or NVRTC; UsageError for more ranks than a wait is for; RuntimeError where ranks do not reach each
   *   other, or NVSHMEM has another world than this group
   */
  static async open(group: DeviceGroup): Promise<NvshmemPost> {
    requireNoCapture("opening NVSHMEM for messages");
    const { world } = group;
    if (world > MOST_AWAITED)
      throw new RuntimeError(
        `messages by NVSHMEM are for up to ${MOST_AWAITED} ranks, not for ${world}`,
        "set COLLC_MESSAGES=nccl on all ranks",
      );
    const { provider, pool } = await placeOf(group);
    const calls = await provider.operations();
    const primitives = await Primitives.load(group.device);
    group.own(() => Promise.resolve(primitives.unload()));
    const post = new NvshmemPost(group, calls, primitives, pool);
    await post.greet();
    return post;
  }

  /**
   * Two parts to everybody and from everybody, as a program sends them: so that a network that carries nothing is found here, and that the
   * driver loads the library's kernels now. At their first launch later it would wait for kernels that run, which may wait for messages.
   */
  private async greet(): Promise<void> {
    const { group } = this;
    const { rank, world } = group;
    const carrier = await this.carrier("NVSHMEM's greeting", 1);
    const memory = await carrier.allocate(2 * world * WORD_BYTES, "greeting", false);
    const at = (index: number): DevicePointer => memory.pointer + BigInt(index * WORD_BYTES);
    const peers = Array.from({ length: world }, (_, peer) => peer).filter((peer) => peer !== rank);
    const part = (address: number, counterpart: number) => {
      return { address: at(address), counterpart: at(counterpart), bytes: WORD_BYTES };
    };
    const sends = peers.map((peer) => ({ peer, parts: [0, 1].map((k) => part(2 * rank + k, 2 * rank + k)) }));
    const receives = peers.map((peer) => ({ peer, parts: [0, 1].map((k) => part(2 * peer + k, 2 * peer + k)) }));
    const call = carrier.prepare(0, sends, receives);
    const stream = group.defaultStream;
    call.enqueue(stream.handle);
    stream.watch(carrier);
    await stream.synchronize("NVSHMEM's greeting");
    call.release();
    for (const free of [memory.free, ...carrier.free()]) await free();
  }

  /** For a program with this many steps of messages. Collective. */
  async carrier(program: string, steps: number): Promise<NvshmemCarrier> {
    const words = await this.allocate(steps * KINDS.length * this.group.world * WORD_BYTES, `${program}: signals`);
    return new NvshmemCarrier(this, program, words);
  }

  /** Zeroed, in NVSHMEM's heap. Collective, as is freeing. */
  async allocate(bytes: number, name: string): Promise<HeldMemory> {
    const { localPointer, peerPointers, free } = await this.group.allocateSymmetric(bytes, name, this.pool);
    return { pointer: localPointer, peers: peerPointers, bytes, free };
  }

  quiet(stream: StreamHandle): void {
    this.calls.quiet(stream);
  }
}

/** NVSHMEM's memory for a group: that of its backend, or of a provider for messages alone. */
async function placeOf(group: DeviceGroup): Promise<{ provider: NvshmemProvider; pool: SymmetricPool }> {
  if (group.provider instanceof NvshmemProvider) return { provider: group.provider, pool: group.pool };
  const { device, rank, world, ranks, timeoutMs, exchangeChannel: exchange } = group;
  const provider = await NvshmemProvider.create({ device, rank, world, ranks, exchange, timeoutMs });
  const pool = new SymmetricPool({ provider, exchange, rank });
  group.own(async () => {
    await pool.trim();
    await provider.close();
  });
  return { provider, pool };
}

/** See the file's head. */
export class NvshmemCarrier implements MessageCarrier {
  readonly name = "nvshmem";
  private readonly status: StatusRecord;
  private isLetGo = false;
  /** How far this rank has counted each of its words. */
  private readonly taken: { readonly memory: DeviceMemory; readonly free: () => Promise<void> };

  constructor(
    private readonly post: NvshmemPost,
    private readonly program: string,
    private readonly words: HeldMemory,
  ) {
    this.status = new StatusRecord(post.group.device);
    this.taken = post.group.allocateLocal(words.bytes);
    this.taken.memory.fill(0);
  }

  async allocate(bytes: number, name: string, symmetric: boolean): Promise<HeldMemory> {
    const memory = await this.post.allocate(bytes, name);
    return symmetric ? memory : { ...memory, peers: [] };
  }

  prepare(step: number, sends: readonly Parcel[], receives: readonly Parcel[]): PreparedCall {
    const { calls, group } = this.post;
    const [goes, comes] = [sends, receives].map((parcels) => parcels.map(({ peer }) => peer)) as [number[], number[]];
    const readiness = this.prepareWait(step, READY, goes);
    const arrival = this.prepareWait(step, COME, comes);
    const first = sends.flatMap(({ peer, parts }) => parts.slice(0, -1).map((part) => ({ peer, ...part })));
    const last = sends.map(({ peer, parts }) => ({ peer, ...parts.at(-1)! }));
    const [ready, come] = [READY, COME].map((kind) => this.wordOf(step, kind, group.rank)) as [bigint, bigint];
    const enqueue = (stream: StreamHandle): void => {
      for (const peer of comes) calls.signal(stream, ready, 1n, peer, "add");
      readiness?.enqueue(stream);
      for (const { peer, address, counterpart, bytes } of first) calls.put(stream, counterpart, address, bytes, peer);
      if (first.length > 0) calls.quiet(stream);
      for (const { peer, address, counterpart, bytes } of last)
        calls.putSignal(stream, counterpart, address, bytes, come, 1n, peer, "add");
      if (arrival === null) return;
      arrival.enqueue(stream);
      calls.enqueueWait(stream, this.wordOf(step, COME, comes[0]!), 0n);
    };
    const release = (): void => {
      readiness?.release();
      arrival?.release();
    };
    return { enqueue, release };
  }

  /** The word that `rank` adds to, on whatever rank. */
  private wordOf(step: number, kind: number, rank: number): DevicePointer {
    return this.words.pointer + BigInt(this.offsetOf(step, kind) + rank * WORD_BYTES);
  }

  private offsetOf(step: number, kind: number): number {
    return (step * KINDS.length + kind) * this.post.group.world * WORD_BYTES;
  }

  private prepareWait(step: number, kind: number, peers: readonly number[]): PreparedCall | null {
    if (peers.length === 0) return null;
    const { primitives, group } = this.post;
    return primitives.prepareAwait({
      words: this.wordOf(step, kind, 0),
      taken: this.taken.memory.pointer + BigInt(this.offsetOf(step, kind)),
      peers,
      kind,
      step,
      rank: group.rank,
      timeoutNs: BigInt(group.timeoutMs) * 1_000_000n,
      status: this.status.pointer,
    });
  }

  get isHolding(): boolean {
    return !this.isLetGo && this.status.isWritten;
  }

  takeFailure(): RuntimeError | null {
    const failure = this.status.read();
    if (failure === null) return null;
    this.status.clear();
    const { rank, timeoutMs, name } = this.post.group;
    const missing = ranksText(failure.missing);
    const what = failure.buffer === COME ? `the messages of ${missing}` : `${missing} to receive its messages`;
    return new RuntimeError(
      `rank ${rank} waited ${timeoutMs} ms in ${this.program} for ${what} (step ${failure.slot} of its messages, by NVSHMEM)`,
      `see whether ${missing} launched the program, or raise COLLC_TIMEOUT_MS; before group "${name}" is used again, call group.recover() on all ranks`,
      "timeout",
    );
  }

  letGo(): void {
    this.isLetGo = true;
    this.status.letGo(true);
  }

  reset(): void {
    const { device } = this.post.group;
    DeviceMemory.view(device, this.words.pointer, this.words.bytes).fill(0);
    this.taken.memory.fill(0);
    this.status.clear();
    this.status.letGo(false);
    this.isLetGo = false;
  }

  free(): (() => Promise<void> | void)[] {
    return [this.words.free, this.taken.free, () => this.status.free()];
  }
}
