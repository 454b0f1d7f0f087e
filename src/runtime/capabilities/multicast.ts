/**
 * NVLink multicast: reported, never assumed. collc creates no multicast object itself; this decides what the libraries
 * it opens may do. A crash of a process that uses multicast can put the GPUs of a shared machine out of service.
 */
import type { ExchangeChannel } from "../cuda/fd-exchange.js";
import { type Environment, readEnv } from "../env.js";

/** What a library that is being opened may do; see native/multicast.h. */
export type MulticastChoice = "allow" | "default-off" | "off";

/** Whether COLLC_DISABLE_MULTICAST is set to anything but 0. */
export function multicastDisabled(env?: Environment): boolean {
  const text = readEnv("COLLC_DISABLE_MULTICAST", env);
  return text !== undefined && text !== "0";
}

/** @param allow the caller asks for multicast. COLLC_DISABLE_MULTICAST is stronger. */
export function multicastChoice(allow: boolean, env?: Environment): MulticastChoice {
  if (multicastDisabled(env)) return "off";
  return allow ? "allow" : "default-off";
}

/** Whether a whole group may use multicast, and if not, why: one rank without it takes it from all. */
export interface GroupMulticast {
  readonly usable: boolean;
  /** One line a rank that lacks it. */
  readonly reasons: readonly string[];
}

/**
 * Agrees on multicast in a group. Collective, so that all downgrade together; called again after set-up failed anywhere.
 * @param rank's own answer: null when it can, else why not.
 */
export async function agreeOnMulticast(exchange: ExchangeChannel, reason: string | null): Promise<GroupMulticast> {
  const answers = await exchange.allGather("multicast", reason);
  const reasons = answers.flatMap((answer, rank) => (answer === null ? [] : [`rank ${rank}: ${answer}`]));
  return { usable: reasons.length === 0, reasons };
}

/** Why this device cannot take part in multicast, or null. */
export function multicastObstacle(device: { readonly multicast: boolean }, env?: Environment): string | null {
  if (multicastDisabled(env)) return "COLLC_DISABLE_MULTICAST is set";
  return device.multicast ? null : "the device has no multicast";
}
