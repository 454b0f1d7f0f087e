/** Waiting for streams with a bound, and timing with events. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { RuntimeError } from "../errors.js";
import { native, type EventHandle, type StreamHandle } from "../native.js";

/** How long work that is always done already may keep timers and sockets of this process waiting, in milliseconds. */
const longestTurn = 5;
let turnBegan = 0;

/** How often it is looked whether a stream is held, in milliseconds. */
const lookMs = 100;

/**
 * Waits until the stream is done. A loop of launches that are done at once must not starve the rest of the process, which
 * hears of lost ranks: it gives way every few milliseconds.
 * @param timeoutMs bound in milliseconds.
 * @param what is waited for, for the message.
 * @param isHeld whether it is known by now that the stream does not go on; left out where nothing knows it.
 * @throws RuntimeError `timeout`, also once the stream is held; NativeError when a kernel failed.
 */
export async function waitForStream(
  stream: StreamHandle,
  timeoutMs: number,
  what: string,
  isHeld?: () => boolean,
): Promise<void> {
  if (native().streamQuery(stream)) {
    if (performance.now() - turnBegan < longestTurn) return;
    await nextTurn();
    turnBegan = performance.now();
    return;
  }
  const end = performance.now() + timeoutMs;
  let leftMs = timeoutMs;
  do {
    const isDone = await native().streamSynchronize(stream, isHeld === undefined ? leftMs : Math.min(leftMs, lookMs));
    turnBegan = performance.now();
    if (isDone) return;
    leftMs = end - turnBegan;
  } while (isHeld?.() === false && leftMs > 0);
  if (isHeld?.() === true)
    throw new RuntimeError(
      `${what} stands behind messages that did not come in time`,
      "call group.recover() on all ranks",
      "timeout",
    );
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
