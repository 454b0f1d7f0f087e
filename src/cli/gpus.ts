/** How many GPUs are there, without failing where there is no driver. */
import { describeDevice, openCuda } from "../runtime/cuda/index.js";
import { CollcError, MachineError } from "../runtime/errors.js";

/** Number of visible GPUs; 0 without a driver, or without the addon that would ask it. */
export function gpuCount(): number {
  try {
    return openCuda().deviceCount;
  } catch (error) {
    if (error instanceof CollcError) return 0;
    throw error;
  }
}

/** Whether memory of the first GPU may be mapped on other hosts, by fabric handles. @throws MachineError without a driver */
export function hasFabricHandles(): boolean {
  openCuda();
  return describeDevice(0).fabricHandle;
}

/** @throws MachineError when there are fewer GPUs than ranks. */
export function requireGpus(ranks: number): void {
  const { deviceCount } = openCuda();
  if (ranks <= deviceCount) return;
  const gpus = deviceCount === 1 ? "1 GPU" : `${deviceCount} GPUs`;
  throw new MachineError(
    `${ranks} ranks need ${ranks} GPUs; this machine has ${gpus}`,
    `use --ranks ${deviceCount}, or --backend cpu`,
  );
}
