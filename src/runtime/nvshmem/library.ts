/** Opening NVSHMEM's host library. */
import { type MulticastChoice, multicastChoice } from "../capabilities/multicast.js";
import type { Environment } from "../env.js";
import { MachineError } from "../errors.js";
import { isNativeError, native } from "../native.js";
import { nvshmemCandidates } from "./discover.js";

export interface NvshmemLibrary {
  readonly path: string;
  /** NVIDIA's: "3.4.5". */
  readonly version: string;
  /** Of the OpenSHMEM interface it follows: "1.3". */
  readonly specification: string;
  /** Teams of any ranks, made by those ranks alone. Without it a team takes the whole run to make. */
  readonly memberTeams: boolean;
}

/**
 * Opens NVSHMEM, once a process. Does not initialise it: see {@link NvshmemSession}.
 * @param options.multicast what NVSHMEM may do with NVLink SHARP. By default off unless NVSHMEM_DISABLE_NVLS is set to 0,
 *   and in any case with COLLC_DISABLE_MULTICAST.
 * @throws MachineError with every path tried, or when it is older than 3.0.
 */
export async function openNvshmem(
  options: { readonly env?: Environment | undefined; readonly multicast?: MulticastChoice } = {},
): Promise<NvshmemLibrary> {
  const paths = (await nvshmemCandidates(options.env)).map((candidate) => candidate.path);
  try {
    const opened = native().openNvshmem(paths, multicastChoice(options.multicast, options.env));
    const { path, version, specification, memberTeams } = opened;
    return {
      path,
      version: `${Math.floor(version / 10_000)}.${Math.floor((version % 10_000) / 100)}.${version % 100}`,
      specification: `${Math.floor(specification / 100)}.${specification % 100}`,
      memberTeams,
    };
  } catch (error) {
    if (!isNativeError(error) || error.library !== "nvshmem") throw error;
    throw new MachineError(
      error.message,
      "install it (`pip install nvidia-nvshmem-cu13`, or cu12 for CUDA 12), or set COLLC_NVSHMEM to libnvshmem_host.so.3",
    );
  }
}
