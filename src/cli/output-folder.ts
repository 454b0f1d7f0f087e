/** Writes many files so that they appear together or not at all. */
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { chmod, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isProcessAlive, makeDirectoryAtomic } from "../runtime/atomic-file.js";
import { MachineError, messageOf, systemCode, UsageError } from "../runtime/errors.js";

/** A folder is locked for as long as its files take to be written. */
const LONGEST_WAIT_MS = 300_000;

/**
 * Keeps other builds of this machine from writing into a folder, so that none forgets what another has written. Waits for them.
 * @returns what ends it
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const id = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  const path = join(tmpdir(), `collc-build-${process.getuid?.() ?? 0}-${id}.lock`);
  for (const began = Date.now(); ;) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx", mode: 0o600 });
      return () => rm(path, { force: true });
    } catch (error) {
      if (systemCode(error) !== "EEXIST")
        throw new MachineError(`${path} cannot be written: ${messageOf(error)}`, "set TMPDIR to a folder of your own");
    }
    const owner = Number(await readFile(path, "utf8").catch(() => ""));
    // Of a build that was killed.
    if (owner > 0 && !isProcessAlive(owner)) await rm(path, { force: true });
    else if (Date.now() - began > LONGEST_WAIT_MS)
      throw new MachineError(
        `process ${owner} has been writing into ${folder} for minutes`,
        `if it is no build of collc, remove ${path}`,
      );
    else await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

type Contents = ReadonlyMap<string, Uint8Array | string>;

/**
 * Writes `contents` (name → bytes) into `folder`. A new folder appears whole; in one that is there, the files are
 * written aside and renamed in one after the other once all are written.
 * @throws UsageError when `folder` is a file, MachineError when the disk is full or read-only. Nothing stays behind.
 */
export async function writeTogether(folder: string, contents: Contents): Promise<void> {
  const existing = await stat(folder).catch(() => null);
  if (existing !== null && !existing.isDirectory())
    throw new UsageError(`${folder} is a file, not a folder`, "name another folder");
  const made = await missingParent(folder);
  try {
    if (existing === null && (await makeWhole(folder, contents))) return;
    await replaceInside(folder, contents);
  } catch (error) {
    if (made !== null) await removeEmpty(dirname(folder), made);
    if (systemCode(error) === undefined) throw error;
    const why = systemCode(error) === "ENOSPC" ? "the disk is full" : messageOf(error);
    throw new MachineError(`${folder} cannot be written: ${why}`, "name another folder");
  }
}

/** False when another process made the folder meanwhile. */
async function makeWhole(folder: string, contents: Contents): Promise<boolean> {
  await makeDirectoryAtomic(dirname(folder), async (aside) => {
    for (const [name, data] of contents) await writeFile(join(aside, name), data);
    await chmod(aside, 0o777 & ~process.umask()); // it was made for its owner alone
    return basename(folder);
  });
  const [name, data] = [...contents].at(-1)!;
  return Buffer.from(data).equals(await readFile(join(folder, name)).catch(() => Buffer.alloc(0)));
}

const stagingName = /^\.collc-build-(\d+)$/;

async function replaceInside(folder: string, contents: Contents): Promise<void> {
  // What builds that were killed here had set aside.
  for (const name of await readdir(folder)) {
    const pid = stagingName.exec(name)?.[1];
    if (pid !== undefined && !isProcessAlive(Number(pid)))
      await rm(join(folder, name), { recursive: true, force: true });
  }
  const staging = join(folder, `.collc-build-${process.pid}`);
  await mkdir(staging);
  try {
    for (const [name, data] of contents) await writeFile(join(staging, name), data);
    for (const name of contents.keys()) await rename(join(staging, name), join(folder, name));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The topmost folder on the way to `folder`'s parent that is not there yet, or null. */
async function missingParent(folder: string): Promise<string | null> {
  let missing: string | null = null;
  for (let at = dirname(folder); at !== dirname(at); at = dirname(at)) {
    if ((await stat(at).catch(() => null)) !== null) break;
    missing = at;
  }
  return missing;
}

/** Removes folders that this build made and left empty, from `from` up to `top`. */
async function removeEmpty(from: string, top: string): Promise<void> {
  for (let at = from; at.length >= top.length; at = dirname(at)) {
    try {
      await rmdir(at);
    } catch {
      return;
    }
  }
}
