/** Waiting for streams with a bound, and timing with events. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { RuntimeError } from "../errors.js";
import { native, type EventHandle, type StreamHandle } from "../native.js";

/** How long work that is always done already may keep timers and sockets of this process waiting, in milliseconds. */
const longestTurn = 5;
let turnBegan = 0;

/**
 * Waits until the stream is done. A loop of launches that are done at once must not starve the rest of the process, which
 * hears of lost ranks: it gives way every few milliseconds.
 * @param timeoutMs bound in milliseconds.
 * @param what is waited for, for the message.
 * @throws RuntimeError `timeout`; NativeError when a kernel failed.
 */
export async function waitForStream(stream: StreamHandle, timeoutMs: number, what: string): Promise<void> {
  if (native().streamQuery(stream)) {
    if (performance.now() - turnBegan < longestTurn) return;
    await nextTurn();
    turnBegan = performance.now();
    return;
  }
  const isDone = await native().streamSynchronize(stream, timeoutMs);
  turnBegan = performance.now();
  if (isDone) return;
  throw new RuntimeError(
    `${what} did not finish within ${timeoutMs} ms`,
    "raise COLLC_TIMEOUT_MS if it is slow",
    "timeout",
  );
}

/** Two events on one stream and the time between them. */
export class EventTimer {
  readonly #start: EventHandle;
  readonly #stop: EventHandle;

  constructor(device: number) {
    this.#start = native().eventCreate(device);
    try {
      this.#stop = native().eventCreate(device);
    } catch (error) {
      native().eventDestroy(this.#start);
      throw error;
    }
  }

  start(stream: StreamHandle): void {
    native().eventRecord(this.#start, stream);
  }

  stop(stream: StreamHandle): void {
    native().eventRecord(this.#stop, stream);
  }

  /** Microseconds from `start` to `stop`; both must have passed, so wait for the stream first. */
  elapsedUs(): number {
    return native().eventElapsedMs(this.#start, this.#stop) * 1000;
  }

  destroy(): void {
    native().eventDestroy(this.#start);
    native().eventDestroy(this.#stop);
  }
}
