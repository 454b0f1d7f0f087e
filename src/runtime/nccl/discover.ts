/** Finds libnccl.so.2: COLLC_NCCL, the Python packages of the active interpreter, the loader's path. */
import { existsSync, statSync } from "node:fs";
import path from "node:path";

import { readEnv, type Environment } from "../env.js";
import { MachineError } from "../errors.js";
import { findPython } from "../python.js";

const fileName = "libnccl.so.2";

/** One place to look, and why. */
export interface NcclCandidate {
  readonly path: string;
  readonly origin: "COLLC_NCCL" | "python" | "loader";
}

/** Folders of Python packages; none where there is no Python, which is fine. */
async function packageFolders(env: Environment | undefined): Promise<readonly string[]> {
  try {
    return (await findPython(env)).packageDirectories;
  } catch {
    return [];
  }
}

/**
 * Where NCCL may be, best first. COLLC_NCCL alone when it is set: a wrong one is an error, not a hint.
 * @throws MachineError when COLLC_NCCL names nothing.
 */
export async function ncclCandidates(env?: Environment): Promise<NcclCandidate[]> {
  const chosen = readEnv("COLLC_NCCL", env);
  if (chosen !== undefined) {
    const isFolder = existsSync(chosen) && statSync(chosen).isDirectory();
    const file = path.resolve(isFolder ? path.join(chosen, fileName) : chosen);
    if (!existsSync(file)) {
      throw new MachineError(
        `COLLC_NCCL=${chosen}: there is no ${file}`,
        `set it to ${fileName} or the folder that holds it`,
      );
    }
    return [{ path: file, origin: "COLLC_NCCL" }];
  }
  const fromPython = (await packageFolders(env))
    .map((folder) => path.join(folder, "nvidia", "nccl", "lib", fileName))
    .filter((file) => existsSync(file));
  return [
    ...fromPython.map((file): NcclCandidate => ({ path: file, origin: "python" })),
    { path: fileName, origin: "loader" },
  ];
}
