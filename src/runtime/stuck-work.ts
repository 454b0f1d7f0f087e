/** The end of a group whose streams may never come back: kernels of libraries wait for peers without a bound. */
import { RuntimeError } from "./errors.js";

/** For streams to come back after what held them was stopped, in milliseconds. */
const stoppedMs = 5000;

/** What ends such kernels, where anything can. */
export class Stops {
  readonly #stops = new Set<() => Promise<void>>();

  /** @param stop not collective, and bounded. */
  add(stop: () => Promise<void>): void {
    this.#stops.add(stop);
  }

  /**
   * Waits for the last time: what does not come back is stopped.
   * @param settle waits for all streams, for as long as it is told or as it finds right.
   * @returns what went wrong, or null, and whether a stream stands still for good.
   */
  async settle(settle: (boundMs?: number) => Promise<void>): Promise<{ error: unknown; isStuck: boolean }> {
    const outcome = (boundMs?: number): Promise<unknown> =>
      settle(boundMs).then(
        () => null,
        (error: unknown) => error,
      );
    const error = await outcome();
    if (!isTimeout(error)) return { error, isStuck: false };
    await Promise.allSettled([...this.#stops].map((stop) => stop()));
    return { error, isStuck: isTimeout(await outcome(stoppedMs)) };
  }
}

/**
 * Frees device memory or code behind all work. While a stream stands still nothing is freed: the driver would hold this
 * thread until the stream goes on.
 * @throws what `settle` threw, after freeing unless it is a `timeout`; what `free` threw.
 */
export async function freeBehind(settle: () => Promise<void>, free: () => Promise<void>): Promise<void> {
  const error: unknown = await settle().then(
    () => null,
    (failure: unknown) => failure,
  );
  if (!isTimeout(error)) await free();
  if (error !== null) throw error as Error;
}

function isTimeout(error: unknown): boolean {
  return error instanceof RuntimeError && error.code === "timeout";
}
