/**
 * Whose files are read and whose code is loaded: this user's and root's, where nobody else can write, as ssh has it.
 * What lies in folders that others can write to may be put there by them, and a cached kernel or library is code.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { MachineError, systemCode } from "./errors.js";

/** Nothing that collc keeps is larger, in bytes. */
const maxOwnFile = 256 * 2 ** 20;

const groupOrOthersWrite = 0o022;
const groupOrOthersEnter = 0o011;
const sticky = 0o1000;

/** In a user namespace, what belongs to users outside it has this number; folders above one's own often do. */
const unmappedUid = 65534;

let mapsAllUsers: boolean | undefined;
function isUserNamespace(): boolean {
  try {
    mapsAllUsers ??= /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "utf8"));
  } catch {
    mapsAllUsers = true;
  }
  return !mapsAllUsers;
}

/** Why a file or folder itself is not to be trusted, or null. `isHidden`: nobody else can reach it. */
function distrustEntry(path: string, stats: Stats, isHidden: boolean, isAncestor: boolean): string | null {
  const own = process.getuid?.() ?? 0;
  const isUnmapped = isAncestor && stats.uid === unmappedUid && isUserNamespace();
  if (stats.uid !== own && stats.uid !== 0 && !isUnmapped) {
    return `${path} belongs to user ${stats.uid}, not to you (${own})`;
  }
  const isShared = stats.isDirectory() && isAncestor && (stats.mode & sticky) !== 0;
  if (!isHidden && !isShared && !stats.isSymbolicLink() && (stats.mode & groupOrOthersWrite) !== 0) {
    return `others can write to ${path} (mode ${(stats.mode & 0o777).toString(8)})`;
  }
  return null;
}

/** The path and the folders above it, the root first. */
function chain(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [...chain(above), path];
}

function distrustChain(path: string): string | null {
  let isHidden = false;
  const components = chain(path);
  for (const [i, component] of components.entries()) {
    let stats: Stats;
    try {
      stats = lstatSync(component);
    } catch (error) {
      // What is not there yet is made by this user, in a folder that was found fine.
      if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return null;
      return `${component} cannot be looked at (${systemCode(error) ?? "unknown"})`;
    }
    const why = distrustEntry(component, stats, isHidden, i < components.length - 1);
    if (why !== null) return why;
    isHidden ||= stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & groupOrOthersEnter) === 0;
  }
  return null;
}

/**
 * Why what lies at `path` may be somebody else's doing, in a few words; null when it is this user's or root's alone, and
 * so are the folders above it. What is not there is fine.
 */
export function distrust(path: string): string | null {
  const absolute = resolve(path);
  const lexical = distrustChain(absolute);
  if (lexical !== null) return lexical;
  try {
    const real = realpathSync(absolute);
    return real === absolute ? null : distrustChain(real);
  } catch (error) {
    return systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR"
      ? null
      : `${absolute} cannot be followed (${systemCode(error) ?? "unknown"})`;
  }
}

/**
 * Content of a file that collc wrote itself. Never waits: what is no ordinary file, such as a FIFO, is not read.
 * @throws MachineError when it belongs to somebody else, others can write to it, or it is no file; the system's error.
 */
export function readOwnFile(path: string, help: string): Buffer {
  // NONBLOCK: opening a FIFO would wait for a writer. NOFOLLOW: a link leads to files that nobody meant.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new MachineError(`${path} is not a file`, help);
    const why = distrustEntry(path, stats, false, false);
    if (why !== null) throw new MachineError(why, help);
    if (stats.size > maxOwnFile) throw new MachineError(`${path} is larger than anything collc writes`, help);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
