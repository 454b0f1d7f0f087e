/**
 * Files and folders that appear whole or not at all: written aside, synced, renamed into place.
 * What a killed process left aside is recognised by its name and swept by the next one.
 */
import { randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { systemCode } from "./errors.js";

const prefix = ".collc-tmp";
/** Age in milliseconds after which something set aside is taken for abandoned even if its pid is in use again. */
const abandonedAfterMs = 24 * 3600_000;

/** A name next to `path` that says which process of which host owns it. */
function asideName(path: string): string {
  const host = hostname().replace(/[^A-Za-z0-9-]/g, "-");
  return join(dirname(path), `${prefix}~${host}~${process.pid}~${randomBytes(6).toString("hex")}~${basename(path)}`);
}

/** True when a process with that id is there, whoever owns it. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

/** Makes a folder and those above it that are missing. Node's own `recursive` never returns where a file system has no new folders, as in /proc. */
async function makeFolders(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return;
    if (systemCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolders(dirname(path));
    await mkdir(path).catch((again: unknown) => {
      if (systemCode(again) !== "EEXIST") throw again;
    });
  }
}

/** Makes a rename durable. Not every file system can; then the rename is still atomic, so errors are ignored. */
async function syncDirectory(path: string): Promise<void> {
  try {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // see above
  }
}

/** How {@link writeFileAtomic} treats a file that is there already. */
export interface AtomicWriteOptions {
  /** Permission bits of the new file, default 0o644. */
  readonly mode?: number;
  /** `replace` (default) takes its place; `keep` leaves the first writer's file. */
  readonly existing?: "replace" | "keep";
}

/**
 * Writes `data` to `path` so that readers see the old content or all of the new. Missing folders are made.
 * Nothing stays behind on failure.
 * @returns false when `existing` is `keep` and somebody else's file is there, else true.
 * @throws the system's error (ENOSPC, EACCES, …).
 */
export async function writeFileAtomic(
  path: string,
  data: Uint8Array | string,
  options: AtomicWriteOptions = {},
): Promise<boolean> {
  await makeFolders(dirname(path));
  const aside = asideName(path);
  try {
    const handle = await open(aside, "wx", options.mode ?? 0o644);
    try {
      await handle.writeFile(data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const won =
      options.existing === "keep" ? await linkOrRename(aside, path) : await rename(aside, path).then(() => true);
    await syncDirectory(dirname(path));
    return won;
  } finally {
    await rm(aside, { force: true });
  }
}

/** link(2) fails when the target exists, which rename(2) cannot do; not all file systems have links. */
async function linkOrRename(aside: string, path: string): Promise<boolean> {
  try {
    await link(aside, path);
    await unlink(aside);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    await rename(aside, path);
  }
  return true;
}

/**
 * Makes a folder in `parent` whole: `fill` gets an empty folder (mode 0700) to write into and says by which name
 * it takes its place. If that name exists by then, the first folder stays and this one is dropped.
 * @returns the folder's path.
 * @throws what `fill` throws, or the system's error; nothing stays behind.
 */
export async function makeDirectoryAtomic(
  parent: string,
  fill: (directory: string) => Promise<string>,
): Promise<string> {
  await makeFolders(parent);
  const aside = asideName(join(parent, "folder"));
  await mkdir(aside, { mode: 0o700 });
  try {
    const path = join(parent, await fill(aside));
    try {
      await rename(aside, path);
    } catch (error) {
      // rename(2) onto a folder that is not empty: another process was faster.
      if (systemCode(error) !== "ENOTEMPTY" && systemCode(error) !== "EEXIST") throw error;
    }
    await syncDirectory(parent);
    return path;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/**
 * Removes from `directory` what processes that are gone had set aside: those of this host whose pid is free,
 * and anything older than a day. Never throws.
 * @returns how many were removed.
 */
export async function sweepAbandoned(directory: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(directory).catch(() => [])) {
    if (!name.startsWith(`${prefix}~`)) continue;
    const [, host, pid] = name.split("~");
    const path = join(directory, name);
    try {
      const isOurHost = host === hostname().replace(/[^A-Za-z0-9-]/g, "-");
      const isGone = isOurHost && !isProcessAlive(Number(pid));
      if (!isGone && Date.now() - (await stat(path)).mtimeMs < abandonedAfterMs) continue;
      await rm(path, { recursive: true, force: true });
      removed++;
    } catch {
      // Swept by another process meanwhile, or not ours to remove.
    }
  }
  return removed;
}
