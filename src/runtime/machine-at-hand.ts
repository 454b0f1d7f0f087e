/** What programs are compiled for: which machine of the compiler's table the GPUs at hand make, by whose numbers plans are made, and what carries messages. */
import { type CompileOptions, type Machine, machineFor } from "../compiler/index.js";
import { archOf, describeDevices } from "./cuda/device.js";
import { readEnv } from "./env.js";
import { CollcError } from "./errors.js";

/**
 * The machine of this host's first GPU, for so many ranks; null without a driver or a GPU. All ranks of a group must plan by the same
 * one: those of hosts with other GPUs make other programs, and are told so when a kernel is loaded.
 */
export function machineAtHand(ranks: number): Machine | null {
  try {
    const [first] = describeDevices();
    return first === undefined ? null : machineFor(archOf(first), ranks, first.name);
  } catch (error) {
    if (error instanceof CollcError) return null;
    throw error;
  }
}

/** Name of what carries messages on a backend: COLLC_MESSAGES as it is, or what the backend has. */
export function carrierOn(backend: string): string {
  return readEnv("COLLC_MESSAGES") ?? (backend === "nvshmem" ? "nvshmem" : "nccl");
}

/**
 * Options of a compilation for a backend: the machine, but for the compiler's own choice where it emulates, or knows no GPU; and whether
 * messages may be broadcasts, which NVSHMEM's puts are not.
 */
export function backendOptions(backend: string, ranks: number): Pick<CompileOptions, "machine" | "broadcasts"> {
  const machine = backend === "cpu" ? null : machineAtHand(ranks);
  return { ...(machine === null ? {} : { machine }), broadcasts: carrierOn(backend) !== "nvshmem" };
}
