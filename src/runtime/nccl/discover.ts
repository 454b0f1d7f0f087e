/** Finds libnccl.so.2: COLLC_NCCL, the Python packages of the active interpreter, the loader's path. */
import type { Environment } from "../env.js";
import { type LibraryCandidate, libraryCandidates } from "../library-candidates.js";

/** Where NCCL may be, best first. @throws MachineError when COLLC_NCCL names nothing. */
export function ncclCandidates(env?: Environment): Promise<LibraryCandidate[]> {
  return libraryCandidates({ fileName: "libnccl.so.2", variable: "COLLC_NCCL", pythonFolder: "nvidia/nccl/lib" }, env);
}
