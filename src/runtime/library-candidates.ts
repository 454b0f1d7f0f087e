/** Where shared libraries may be, for those found alike: a variable that decides, Python packages, folders, the loader. */
import { existsSync, statSync } from "node:fs";
import path from "node:path";

import { type Environment, type EnvironmentName, readEnv } from "./env.js";
import { MachineError } from "./errors.js";
import { findPython } from "./python.js";

/** One place to look, and why. */
export interface LibraryCandidate {
  readonly path: string;
  /** The variable that named it, or what kind of place it is. */
  readonly origin: EnvironmentName | "python" | "folder" | "loader";
}

/** What is looked for. */
export interface LibrarySearch {
  /** `libnccl.so.2`: also what the loader is asked for. */
  readonly fileName: string;
  /** Names the file or its folder; the only candidate when it is set. */
  readonly variable: EnvironmentName;
  /** Under a folder of Python packages: `nvidia/nccl/lib`. */
  readonly pythonFolder?: string;
  /** Variables that name a prefix with `lib` or `lib64` in it. */
  readonly homes?: readonly EnvironmentName[];
  /** Fixed places, absolute. */
  readonly folders?: readonly string[];
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
 * Candidates, best first; all but the loader's exist.
 * @throws MachineError when the variable is set and names nothing: a wrong one is an error, not a hint.
 */
export async function libraryCandidates(search: LibrarySearch, env?: Environment): Promise<LibraryCandidate[]> {
  const { fileName, variable } = search;
  const chosen = readEnv(variable, env);
  if (chosen !== undefined) {
    const isFolder = existsSync(chosen) && statSync(chosen).isDirectory();
    const file = path.resolve(isFolder ? path.join(chosen, fileName) : chosen);
    if (!existsSync(file)) {
      throw new MachineError(
        `${variable}=${chosen}: there is no ${file}`,
        `set it to ${fileName} or the folder that holds it`,
      );
    }
    return [{ path: file, origin: variable }];
  }
  const candidates: LibraryCandidate[] = [];
  const add = (origin: LibraryCandidate["origin"], folder: string): void => {
    const file = path.join(folder, fileName);
    if (existsSync(file)) candidates.push({ path: file, origin });
  };
  for (const home of search.homes ?? []) {
    const prefix = readEnv(home, env);
    if (prefix !== undefined) for (const lib of ["lib", "lib64"]) add(home, path.join(prefix, lib));
  }
  const { pythonFolder } = search;
  if (pythonFolder !== undefined) {
    for (const folder of await packageFolders(env)) add("python", path.join(folder, pythonFolder));
  }
  for (const folder of search.folders ?? []) add("folder", folder);
  return [...candidates, { path: fileName, origin: "loader" }];
}
