/** Waits that end. */
import { messageOf, RuntimeError } from "./errors.js";
import { machineErrorOf } from "./cuda/device.js";
import type { ExchangeChannel } from "./cuda/fd-exchange.js";

/** A promise of the addon for a call that waits for peers: after `unref` the process does not stay alive for it. */
interface Leavable {
  readonly unref?: () => void;
}

/**
 * `work`, or an error once `timeoutMs` has passed. What it waited for is not stopped: nothing can stop a thread in a
 * library's collective call. But the process may end without it.
 * @throws RuntimeError `timeout` with `what` and `help`.
 */
export async function within<T>(work: Promise<T>, timeoutMs: number, what: string, help: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      (work as Leavable).unref?.();
      reject(new RuntimeError(`${what} did not end within ${timeoutMs} ms`, help, "timeout"));
    }, timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined); // it may still fail, later and to nobody
  }
}

/**
 * Runs `action` on every rank, lets all know how it went, and throws on every rank if it failed on any: a rank that
 * fails alone must not leave the others waiting.
 * @param rank of this process in the order of `exchange`.
 * @throws what failed here; else RuntimeError naming the rank that failed.
 */
export async function together<T>(
  exchange: ExchangeChannel,
  rank: number,
  label: string,
  action: () => T | Promise<T>,
): Promise<T> {
  let outcome: { readonly value: T } | { readonly error: unknown };
  try {
    outcome = { value: await action() };
  } catch (error) {
    outcome = { error };
  }
  const messages = await exchange.allGather(
    label,
    "error" in outcome ? messageOf(outcome.error) || "unknown failure" : "",
  );
  if ("error" in outcome) throw machineErrorOf(outcome.error) ?? outcome.error;
  const other = messages.findIndex((message, peer) => peer !== rank && message !== "");
  if (other >= 0) throw new RuntimeError(`rank ${other} failed in ${label}: ${messages[other]}`);
  return outcome.value;
}
