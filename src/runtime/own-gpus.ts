/** Libraries that take one rank a GPU: found out before they hang or end the process. */
import { describeDevice } from "./cuda/device.js";
import { MachineError } from "./errors.js";
import { hostIdentity } from "./hosts.js";

/** The same for two ranks exactly when they use the same GPU. */
export function gpuIdentity(device: number): string {
  const { pciDomain, pciBus, pciDevice } = describeDevice(device);
  return `${hostIdentity()} ${pciDomain}:${pciBus}:${pciDevice}`;
}

/**
 * @param gpus identities by rank.
 * @throws MachineError naming two ranks that share a GPU.
 */
export function requireOwnGpus(library: string, gpus: readonly string[]): void {
  const second = gpus.findIndex((gpu, rank) => gpus.indexOf(gpu) !== rank);
  if (second < 0) return;
  throw new MachineError(
    `ranks ${gpus.indexOf(gpus[second]!)} and ${second} share a GPU, and ${library} takes one rank a GPU`,
    "start as many ranks as there are GPUs, or use --backend cuda",
  );
}
