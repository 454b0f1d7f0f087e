/** Reads a `.coll` file, and says what is wrong with a file that is none. */
import { closeSync, type Dirent, existsSync, fstatSync, openSync, readdirSync, statSync } from "node:fs";
import { isatty } from "node:tty";
import { basename, dirname, extname, join } from "node:path";
import { UsageError, messageOf, systemCode } from "../runtime/errors.js";
import { packageRoot } from "../runtime/native.js";
import { type Io, maxInputBytes, readAtMost } from "./io.js";
import { nearest } from "./suggest.js";

export interface ProgramText {
  /** Path as it is shown in messages. */
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a program. `-` is standard input. A path that is not there is also looked for among the kernels that come
 * with collc, so that `kernels/all_reduce/one_shot.coll` works from any folder.
 * @throws UsageError for what is no text file.
 */
export function readProgram(path: string, io: Io): ProgramText {
  if (path === "-") return { file: "<stdin>", text: decode("<stdin>", bounded("<stdin>", io.readStdin())) };
  const found = existsSync(path) ? path : (shippedFile(path) ?? path);
  return { file: found, text: decode(path, readBytes(found, path)) };
}

/** Files and folders below a folder that are looked at: a whole disk is a slip of the keyboard. */
const MOST_ENTRIES = 200_000;

/**
 * The file itself, or the programs below a folder in order of their names; hidden folders and other people's packages are not looked
 * into. Folders below it that may not be read, or are gone by then, are left out, and a line to `io.err` says so.
 * @throws UsageError for what is not there, and for a folder that has a whole disk below it
 */
export function programFiles(path: string, io: Io, mostEntries = MOST_ENTRIES): string[] {
  if (!existsSync(path)) throw new UsageError(`there is no file or folder ${path}`);
  if (!isFolder(path)) return [path];
  const walk: Walk = { top: path, unread: [], entries: 0, mostEntries };
  const found = programsBelow(path, walk);
  const { unread } = walk;
  if (unread.length > 0) {
    const folders = unread.length === 1 ? "1 folder" : `${unread.length} folders`;
    io.err.write(`warning: ${folders} could not be read and were left out: ${unread.slice(0, 3).join(", ")}\n`);
  }
  return found;
}

/** Files as they are, each once, and the programs in and below the folders among `paths`. @throws UsageError as {@link programFiles} */
export function filesOf(paths: readonly string[], io: Io): string[] {
  return [...new Set(paths.flatMap((path) => (isFolder(path) ? programsInFolder(path, io) : [path])))];
}

/** What a command line names that takes several programs, and a collective of one. */
export interface NamedPrograms {
  readonly files: readonly string[];
  readonly name: string | undefined;
}

/**
 * Tells files and folders from the name of a collective, which only the last argument is, and only where no file or folder has that
 * name: shells write out what a `*` stands for, so that any number of files may come before it.
 * @throws UsageError for a name that no single file comes before
 */
export function namedPrograms(given: readonly string[], io: Io): NamedPrograms {
  const last = given.at(-1)!;
  const isName = given.length > 1 && /^[A-Za-z_]\w*$/.test(last) && !existsSync(last);
  const paths = isName ? given.slice(0, -1) : given;
  if (isName && paths.length > 1)
    throw new UsageError(
      `there is no file or folder ${last}, and a collective's name stands behind one file, not behind ${paths.length}`,
      `name the file that has '${last}' alone, or leave '${last}' out`,
    );
  if (isName && isFolder(paths[0]!))
    throw new UsageError(`${paths[0]} is a folder`, "name the file that has the collective");
  return { files: filesOf(paths, io), name: isName ? last : undefined };
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function programsInFolder(path: string, io: Io): string[] {
  const files = programFiles(path, io);
  if (files.length > 0) return files;
  throw new UsageError(`${path} has no .coll files`, "name a file or a folder with Coll programs");
}

/** What was seen below a folder. */
interface Walk {
  readonly top: string;
  readonly unread: string[];
  readonly mostEntries: number;
  entries: number;
}

function programsBelow(path: string, walk: Walk): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    walk.unread.push(path);
    return [];
  }
  walk.entries += entries.length;
  if (walk.entries > walk.mostEntries)
    throw new UsageError(
      `there are more than ${walk.mostEntries} files and folders below ${walk.top}`,
      "name the folder that has the programs",
    );
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.name.startsWith(".") || entry.name === "node_modules") return [];
      if (entry.isDirectory()) return programsBelow(join(path, entry.name), walk);
      return entry.isFile() && entry.name.endsWith(".coll") ? [join(path, entry.name)] : [];
    });
}

function shippedFile(path: string): string | null {
  const root = packageRoot();
  const tries = [join(root, path), join(root, "kernels", path), join(root, "kernels", `${path}.coll`)];
  return tries.find((file) => extname(file) === ".coll" && existsSync(file)) ?? null;
}

function readBytes(file: string, shown: string): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR")
      throw new UsageError(`there is no file ${shown}`, similarFile(shown));
    if (systemCode(error) === "EACCES") throw new UsageError(`${shown} may not be read`, "check its permissions");
    throw new UsageError(`${shown} cannot be read: ${messageOf(error)}`);
  }
  try {
    const entry = fstatSync(descriptor);
    if (entry.isDirectory()) throw new UsageError(`${shown} is a folder, not a file`, describeFolder(shown));
    if (entry.isCharacterDevice() || entry.isBlockDevice()) {
      const isTerminal = isatty(descriptor);
      if (!isTerminal) throw new UsageError(`${shown} is a device, not a file`, "name a .coll file");
    }
    return bounded(shown, readAtMost(descriptor, maxInputBytes));
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    throw new UsageError(`${shown} cannot be read: ${messageOf(error)}`);
  } finally {
    closeSync(descriptor);
  }
}

/** @throws UsageError for more than any program has. */
function bounded(shown: string, bytes: Buffer): Buffer {
  if (bytes.length <= maxInputBytes) return bytes;
  throw new UsageError(
    `${shown} is longer than ${maxInputBytes / 2 ** 20} MiB, which no Coll program is`,
    "is it the right file?",
  );
}

/** Text of the bytes, which must be UTF-8 without zeros; a byte order mark is dropped. */
function decode(shown: string, bytes: Buffer): string {
  const notText = new UsageError(`${shown} is not a text file`, "a Coll program is UTF-8 text, usually named *.coll");
  if (bytes.includes(0)) throw notText;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notText;
  }
}

function similarFile(path: string): string | undefined {
  const folder = dirname(path);
  const names = existsSync(folder) ? collFilesIn(folder) : [];
  const near = nearest(basename(path), names);
  if (near !== null) return `did you mean ${join(folder, near)}?`;
  return names.length > 0
    ? `${folder} has ${names.slice(0, 8).join(", ")}`
    : "collc's own kernels are named like kernels/all_reduce/one_shot.coll";
}

function describeFolder(path: string): string {
  const names = collFilesIn(path);
  return names.length === 0 ? "name a .coll file" : `name a file in it: ${names.slice(0, 8).join(", ")}`;
}

function collFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".coll"))
      .sort();
  } catch {
    return [];
  }
}
