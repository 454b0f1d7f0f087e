/** Streams of a device group: waiting with a bound, what went wrong on them, and kernels that take turns. */
import { isRecording, requireNoCapture, StatusRecord, waitForStream } from "./cuda/index.js";
import type { RuntimeError } from "./errors.js";
import type { GroupStream } from "./group.js";
import { type EventHandle, native, type StreamHandle } from "./native.js";

/** Something enqueued that may fail on the device without killing the context. */
export interface Watched {
  /** The failure since it was last asked for, or null. Ask when the stream is done, or held. */
  takeFailure(): RuntimeError | null;
  /** Whether a wait of it has run out that holds its stream until somebody lets go of it. Left out where none does. */
  readonly isHolding?: boolean;
}

/** For a stream on which a wait has run out, in milliseconds. */
const LATE_MS = 1000;

export class DeviceStream implements GroupStream {
  readonly handle: StreamHandle;
  /** Where signals on this stream report. */
  readonly status: StatusRecord;
  readonly #watched = new Set<Watched>();
  readonly #timeoutMs: number;
  readonly #onDestroy: (stream: DeviceStream) => void;
  /** How long what is enqueued may wait for peers, in milliseconds. */
  #allowanceMs = 0;
  #isDestroyed = false;
  /** Whether the last wait ran out. */
  #isLate = false;

  readonly #isBorrowed: boolean;

  /** @param pointer of a stream that somebody else made */
  constructor(device: number, timeoutMs: number, onDestroy: (stream: DeviceStream) => void, pointer?: bigint) {
    this.#isBorrowed = pointer !== undefined;
    // The driver's own name for the stream that 0 means.
    const legacy = 1n;
    this.handle =
      pointer === undefined
        ? native().streamCreate(device)
        : native().streamBorrow(device, pointer === 0n ? legacy : pointer);
    this.status = new StatusRecord(device);
    this.#timeoutMs = timeoutMs;
    this.#onDestroy = onDestroy;
  }

  /** Notes what was enqueued, and for how long it may wait; 0: for ever. */
  watch(watched: Watched, waitMs = this.#timeoutMs): void {
    this.#watched.add(watched);
    this.#allowanceMs += waitMs === 0 ? Infinity : waitMs;
  }

  /** Whether what is enqueued is recorded: by a capture here, or, on a stream of somebody else's, there. */
  get isRecording(): boolean {
    return isRecording(this.handle) || (this.#isBorrowed && native().streamIsCapturing(this.handle));
  }

  /** What watches it now, for a graph that was recorded on it. */
  get watched(): readonly Watched[] {
    return [...this.#watched];
  }

  async synchronize(what = "what was enqueued on the stream"): Promise<void> {
    try {
      await this.settle(what);
    } catch (error) {
      // Who holds the stream knows more of it than that it does not come back.
      throw this.#firstFailure((watched) => watched.isHolding === true) ?? error;
    }
    const failure = this.#firstFailure(() => true);
    this.#watched.clear();
    this.#allowanceMs = 0;
    if (failure !== null) throw failure;
  }

  /** Of those that `isAsked`, each of which then has told its failure. */
  #firstFailure(isAsked: (watched: Watched) => boolean): RuntimeError | null {
    const asked = [...this.#watched].filter(isAsked);
    return asked.map((watched) => watched.takeFailure()).find((failure) => failure !== null) ?? null;
  }

  /** Grants it its time again, as what held it was let go of. */
  forgive(): void {
    this.#isLate = false;
  }

  /** Waits without asking how it went. @throws RuntimeError `timeout` when the GPU itself does not come back. */
  async settle(what = "the stream", boundMs = this.#boundMs): Promise<void> {
    requireNoCapture(`waiting for ${what}`);
    // What had its time gets little more: all that is given back behind it waits, one after the other.
    const ms = this.#isLate ? Math.min(boundMs, LATE_MS) : boundMs;
    try {
      const isHeld = (): boolean => [...this.#watched].some(({ isHolding }) => isHolding === true);
      const canHold = [...this.#watched].some(({ isHolding }) => isHolding !== undefined);
      await waitForStream(this.handle, ms, what, canHold ? isHeld : undefined);
      this.#isLate = false;
    } catch (error) {
      this.#isLate = true;
      throw error;
    }
  }

  /** Kernels give up by themselves; what comes on top is for another stream's kernel before them, and for copies. */
  get #boundMs(): number {
    return Math.min(this.#timeoutMs + this.#allowanceMs + 5000, 2 ** 31 - 1);
  }

  async destroy(): Promise<void> {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#onDestroy(this);
    try {
      await this.settle();
      native().streamDestroy(this.handle);
      this.status.free();
    } catch {
      // A stream that does not come back, or a dead context: the process gives both back when it ends.
    }
  }
}

/**
 * Lets the kernels of a group run one after the other, whatever streams they are on. Their grids wait for peers, and
 * two of them, resident in part each, could wait for ever.
 */
export class Turnstile {
  readonly #event: EventHandle;
  #last: StreamHandle | null = null;

  constructor(device: number) {
    this.#event = native().eventCreate(device, false);
  }

  /** Enqueues `launch` behind the last one. What is recorded into a graph is in the order of its stream. */
  pass(stream: DeviceStream, isCapturing: boolean, launch: () => void): void {
    if (isCapturing) return launch();
    const addon = native();
    if (this.#last !== null && this.#last !== stream.handle) addon.streamWaitEvent(stream.handle, this.#event);
    launch();
    addon.eventRecord(this.#event, stream.handle);
    this.#last = stream.handle;
  }

  destroy(): void {
    native().eventDestroy(this.#event);
  }
}
