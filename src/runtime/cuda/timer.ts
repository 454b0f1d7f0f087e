/** Waiting for streams with a bound, and timing with events. */
import { RuntimeError } from "../errors.js";
import { native, type EventHandle, type StreamHandle } from "../native.js";

/**
 * Waits until the stream is done.
 * @param timeoutMs bound in milliseconds.
 * @param what is waited for, for the message.
 * @throws RuntimeError `timeout`; NativeError when a kernel failed.
 */
export async function waitForStream(stream: StreamHandle, timeoutMs: number, what: string): Promise<void> {
  if (native().streamQuery(stream)) return;
  if (await native().streamSynchronize(stream, timeoutMs)) return;
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
