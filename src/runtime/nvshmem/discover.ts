/**
 * Finds libnvshmem_host.so.3: COLLC_NVSHMEM, NVSHMEM_HOME, the CUDA toolkit, the Python packages of the active
 * interpreter, distributions' folders, the loader's path. Its bootstrap plugins lie beside it and it finds them there.
 */
import type { Environment } from "../env.js";
import { type LibraryCandidate, libraryCandidates } from "../library-candidates.js";

const distribution = "/usr/lib/x86_64-linux-gnu/nvshmem";

/** Where NVSHMEM may be, best first. @throws MachineError when COLLC_NVSHMEM names nothing. */
export function nvshmemCandidates(env?: Environment): Promise<LibraryCandidate[]> {
  return libraryCandidates(
    {
      fileName: "libnvshmem_host.so.3",
      variable: "COLLC_NVSHMEM",
      homes: ["NVSHMEM_HOME", "CUDA_HOME", "CUDA_PATH"],
      pythonFolder: "nvidia/nvshmem/lib",
      folders: ["/usr/local/cuda/lib64", `${distribution}/13`, `${distribution}/12`, "/usr/local/nvshmem/lib"],
    },
    env,
  );
}
