/** Places that somebody has named to write to: what cannot be written is refused before the work, and said after it. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { writeFileAtomic } from "./atomic-file.js";
import { MachineError, messageOf, systemCode, UsageError } from "./errors.js";

/** @throws UsageError for what is no place for a folder; folders that are missing are made when they are written to */
export function refuseFolder(folder: string): void {
  let at = resolve(folder);
  while (!existsSync(at)) at = dirname(at);
  if (!statSync(at).isDirectory()) {
    const taken = at === resolve(folder) ? folder : at;
    throw new UsageError(`${taken} is a file, not a folder`, "name another folder");
  }
}

/** @param example a name that such a file may have @throws UsageError for what is no place for a file */
export function refuseTarget(file: string, example: string): void {
  if (existsSync(file) && statSync(file).isDirectory())
    throw new UsageError(`${file} is a folder, not a file`, `name a file in it, such as ${example}`);
  refuseFolder(dirname(file));
}

/**
 * Writes a file whole or not at all. A link stays a link, a file keeps its permissions, and a device or a pipe takes what is written: no file
 * takes its place.
 * @throws MachineError where the system refuses
 */
export async function writeOutput(file: string, data: string): Promise<void> {
  try {
    const there = existsSync(file) ? statSync(file) : null;
    if (there === null) await writeFileAtomic(file, data);
    else if (there.isFile()) await writeFileAtomic(realpathSync(file), data, { mode: there.mode & 0o777 });
    else await writeFile(file, data);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    const why = systemCode(error) === "ENOSPC" ? "the disk is full" : messageOf(error);
    throw new MachineError(`${file} cannot be written: ${why}`, "name another file");
  }
}
