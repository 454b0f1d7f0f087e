/** Which machine of the compiler's table the GPUs at hand make: plans for them are made by its numbers. */
import { type Machine, machineFor } from "../compiler/index.js";
import { archOf, describeDevices } from "./cuda/device.js";
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

/** The same as an option of a compilation for a backend; the compiler's own choice where it emulates, or knows no GPU. */
export function machineOption(backend: string, ranks: number): { readonly machine?: Machine } {
  const machine = backend === "cpu" ? null : machineAtHand(ranks);
  return machine === null ? {} : { machine };
}
