/**
 * What a group does through NVSHMEM's own calls: they reach every rank, on this node or another, and need no address of
 * a peer. Remote memory is named by its local counterpart in a symmetric allocation. Everything is enqueued on a stream.
 *
 * NVSHMEM's waits have no end. {@link NvshmemOperations.waitSignal} and {@link NvshmemOperations.barrier} end all the
 * same: when the time is over the host itself raises the word that the stream waits for, so the stream goes on, the
 * context lives, and the caller gets an error.
 */
import type { ExchangeChannel } from "../cuda/fd-exchange.js";
import type { SymmetricAllocation } from "../cuda/symmetric.js";
import { RuntimeError } from "../errors.js";
import { type DevicePointer, native, type StreamHandle } from "../native.js";
import type { NvshmemProvider } from "./provider.js";

export interface BoundedOptions {
  /** How long the stream may take; default the session's bound. */
  readonly timeoutMs?: number;
}

interface Place {
  readonly rank: number;
  readonly world: number;
  readonly ranks: readonly number[];
  readonly exchange: ExchangeChannel;
}

/** How long a released stream may take to become idle. */
const settleMs = 2000;

/** See the file's head. Peers and roots are indices in the group. */
export class NvshmemOperations {
  readonly #provider: NvshmemProvider;
  readonly #place: Place;
  /** Word p is raised by rank p to the number of the barrier it has reached. */
  readonly #arrivals: SymmetricAllocation;
  #epoch = 0n;

  private constructor(provider: NvshmemProvider, place: Place, arrivals: SymmetricAllocation) {
    this.#provider = provider;
    this.#place = place;
    this.#arrivals = arrivals;
  }

  /** Collective. Called by {@link NvshmemProvider.operations}. */
  static async create(provider: NvshmemProvider, place: Place): Promise<NvshmemOperations> {
    return new NvshmemOperations(provider, place, await provider.allocate(place.world * 8, "arrivals"));
  }

  /** Writes to the peer. The source may be any memory of this device. Done there after {@link quiet}. */
  put(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number, peer: number): void {
    native().nvshmemPut(stream, target, source, bytes, this.#pe(peer));
  }

  /** Reads from the peer. The target may be any memory of this device. */
  get(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number, peer: number): void {
    native().nvshmemGet(stream, target, source, bytes, this.#pe(peer));
  }

  /** {@link put}, then raises the peer's `signal` to `value` (or by it): who sees the word sees the bytes. */
  putSignal(
    stream: StreamHandle,
    target: DevicePointer,
    source: DevicePointer,
    bytes: number,
    signal: DevicePointer,
    value: bigint,
    peer: number,
    how: "set" | "add" = "set",
  ): void {
    const pe = this.#pe(peer);
    native().nvshmemPutSignal(stream, target, source, bytes, signal, value, how === "add", pe);
  }

  /** Raises the peer's 64-bit word. */
  signal(stream: StreamHandle, signal: DevicePointer, value: bigint, peer: number, how: "set" | "add" = "set"): void {
    native().nvshmemSignal(stream, signal, value, how === "add", this.#pe(peer));
  }

  /** Enqueues a wait until this rank's word is at least `value`, without a bound: for streams that are watched. */
  enqueueWait(stream: StreamHandle, signal: DevicePointer, value: bigint): void {
    native().nvshmemWaitSignal(stream, signal, value);
  }

  /**
   * Waits until the stream has seen this rank's word at least `value`. Words only rise, so nothing is reset.
   * @param peer who is expected to raise it, for the message.
   * @throws RuntimeError `timeout` naming the peer; the word is at `value` then and the stream is usable.
   */
  async waitSignal(
    stream: StreamHandle,
    signal: DevicePointer,
    value: bigint,
    peer: number,
    options: BoundedOptions = {},
  ): Promise<void> {
    this.#pe(peer);
    this.enqueueWait(stream, signal, value);
    await this.#settle(stream, [{ signal, value, peer }], "a signal", options);
  }

  /** Completes this rank's puts. */
  quiet(stream: StreamHandle): void {
    native().nvshmemQuiet(stream);
  }

  /**
   * All ranks' work on their streams before this is done, puts included. Collective.
   * @throws RuntimeError `timeout` naming the ranks that did not arrive; the context lives on.
   */
  async barrier(stream: StreamHandle, options: BoundedOptions = {}): Promise<void> {
    const { rank, world } = this.#place;
    const value = ++this.#epoch;
    const word = (of: number): DevicePointer => this.#arrivals.localPointer + BigInt(of * 8);
    this.quiet(stream);
    const peers = Array.from({ length: world }, (_, peer) => peer).filter((peer) => peer !== rank);
    for (const peer of peers) this.signal(stream, word(rank), value, peer);
    for (const peer of peers) this.enqueueWait(stream, word(peer), value);
    await this.#settle(
      stream,
      peers.map((peer) => ({ signal: word(peer), value, peer })),
      `barrier ${value}`,
      options,
    );
  }

  /** NVSHMEM's own barrier of the group's team. Capturable; without a bound. */
  async teamBarrier(stream: StreamHandle): Promise<void> {
    native().nvshmemBarrier(stream, (await this.#provider.team()).id);
  }

  /** NVSHMEM's own broadcast of `bytes` from `root`, target on the root included. Both in symmetric memory. */
  async broadcast(
    stream: StreamHandle,
    target: DevicePointer,
    source: DevicePointer,
    bytes: number,
    root: number,
  ): Promise<void> {
    this.#pe(root);
    native().nvshmemBroadcast(stream, (await this.#provider.team()).id, target, source, bytes, root);
  }

  /** NVSHMEM's own all-to-all: block p of `source`, `bytes` long, becomes block `rank` of rank p's `target`. */
  async allToAll(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number): Promise<void> {
    native().nvshmemAllToAll(stream, (await this.#provider.team()).id, target, source, bytes);
  }

  /** NVSHMEM's own all-gather: rank p's `bytes` become block p of every `target`. */
  async allGather(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number): Promise<void> {
    native().nvshmemAllGather(stream, (await this.#provider.team()).id, target, source, bytes);
  }

  /** Collective. */
  async close(): Promise<void> {
    await this.#arrivals.free();
  }

  async #settle(
    stream: StreamHandle,
    waits: readonly { readonly signal: DevicePointer; readonly value: bigint; readonly peer: number }[],
    what: string,
    { timeoutMs = this.#provider.session.timeoutMs }: BoundedOptions,
  ): Promise<void> {
    if (await native().streamSynchronize(stream, timeoutMs)) return;
    const { device } = this.#provider.session;
    const missing: number[] = [];
    for (const { signal, value, peer } of waits) {
      const word = new BigUint64Array(1);
      native().copyFromDevice(device, word, signal);
      if (word[0]! >= value) continue;
      missing.push(this.#place.ranks[peer]!);
      native().copyToDevice(device, signal, new BigUint64Array([value]));
    }
    const settled = await native().streamSynchronize(stream, settleMs);
    throw new RuntimeError(
      missing.length > 0
        ? `${what} from rank ${missing.join(", ")} did not come within ${timeoutMs} ms`
        : `the stream was busy for ${timeoutMs} ms with what came before ${what}`,
      settled ? "did that rank fail? Its own message says more" : "the stream is still busy: start the run again",
      "timeout",
    );
  }

  #pe(peer: number): number {
    const rank = this.#place.ranks[peer];
    if (rank === undefined) throw new RuntimeError(`${peer} is not a rank of this group of ${this.#place.world}`);
    return this.#provider.session.peOf(rank);
  }
}
