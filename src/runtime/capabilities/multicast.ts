/**
 * NVLink multicast: reported, never assumed. collc creates no multicast object itself; this decides what the libraries
 * it opens may do. A crash of a process that uses multicast can put the GPUs of a shared machine out of service.
 */
import { describeDevice } from "../cuda/device.js";
import type { ExchangeChannel } from "../cuda/fd-exchange.js";
import { type Environment, type EnvironmentName, readEnv } from "../env.js";
import { messageOf } from "../errors.js";

/** What a library that is being opened may do; see native/multicast.h. */
export type MulticastChoice = "allow" | "default-off" | "off";

/** Whether COLLC_DISABLE_MULTICAST is set to anything but 0. */
export function multicastDisabled(env?: Environment): boolean {
  const text = readEnv("COLLC_DISABLE_MULTICAST", env);
  return text !== undefined && text !== "0";
}

/** @param asked what the caller wants, default `default-off`. COLLC_DISABLE_MULTICAST is stronger. */
export function multicastChoice(asked: MulticastChoice = "default-off", env?: Environment): MulticastChoice {
  return multicastDisabled(env) ? "off" : asked;
}

/** The variables by which a person lets a library use multicast, and the value that does. */
const switches = {
  nccl: { variable: "NCCL_NVLS_ENABLE", isOn: (value: string) => value !== "0" },
  nvshmem: { variable: "NVSHMEM_DISABLE_NVLS", isOn: (value: string) => value === "0" },
} as const satisfies Record<string, { variable: EnvironmentName; isOn: (value: string) => boolean }>;

/**
 * What a group's library may do: `allow` where all ranks asked for multicast and can, else `off` on all of them. A
 * library that had it on some ranks and not on others would wait for ever. Collective; before the library is opened.
 */
export async function agreeOnLibrary(
  exchange: ExchangeChannel,
  library: keyof typeof switches,
  device: number,
  env?: Environment,
): Promise<MulticastChoice> {
  const { variable, isOn } = switches[library];
  const value = readEnv(variable, env);
  const own = (): string | null => {
    if (value === undefined || !isOn(value)) return `${variable} does not ask for it`;
    try {
      return multicastObstacle(describeDevice(device), env);
    } catch (error) {
      return messageOf(error);
    }
  };
  return (await agreeOnMulticast(exchange, own())).usable ? "allow" : "off";
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
