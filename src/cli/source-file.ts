/** Reads programs and other texts that a command line names, and says what is wrong with a file that is none. */
import { closeSync, type Dirent, existsSync, fstatSync, openSync, readdirSync, statSync } from "node:fs";
import { isatty } from "node:tty";
import { basename, dirname, extname, join } from "node:path";
import { UsageError, messageOf, systemCode } from "../runtime/errors.js";
import { packageRoot } from "../runtime/native.js";
import { type Io, maxInputBytes, maxJsonBytes, readAtMost } from "./io.js";
import { nearest } from "./suggest.js";

/** What a file should hold, for messages. */
export interface TextKind {
  readonly what: string;
  readonly extension: string;
  /** Bytes that it has at most. */
  readonly most: number;
  /** Where such a file may be found, if none is near. */
  readonly example?: string;
}

const PROGRAM: TextKind = {
  what: "a Coll program",
  extension: ".coll",
  most: maxInputBytes,
  example: "collc's own kernels are named like kernels/all_reduce/one_shot.coll",
};

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
  const found = path === "-" || existsSync(path) ? path : (shippedFile(path) ?? path);
  return readText(found, path, io, PROGRAM);
}

/** Reads JSON. `-` is standard input. @param what it should hold: "an FX graph" @throws UsageError for what is no JSON */
export function readJson(path: string, io: Io, what: string): unknown {
  const { file, text } = readText(path, path, io, { what, extension: ".json", most: maxJsonBytes });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file} is no JSON: ${messageOf(error)}`, `it must hold ${what}`);
  }
  if (isDeep(value))
    throw new UsageError(`${file} is nested more than ${MOST_NESTED} deep`, `that is too deep for ${what}`);
  return value;
}

/** Deeper than anything that people or compilers write; shallow enough for whatever looks into it. */
const MOST_NESTED = 500;

function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_NESTED) return true;
    level = level.flatMap((v) => (typeof v === "object" && v !== null ? (Object.values(v) as unknown[]) : []));
  }
  return false;
}

function readText(path: string, shown: string, io: Io, kind: TextKind): ProgramText {
  if (path === "-")
    return { file: "<stdin>", text: decode("<stdin>", bounded("<stdin>", io.readStdin(kind.most), kind), kind) };
  return { file: path, text: decode(shown, readBytes(path, shown, kind), kind) };
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

function readBytes(file: string, shown: string, kind: TextKind): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR")
      throw new UsageError(`there is no file ${shown}`, similarFile(shown, kind));
    if (systemCode(error) === "EACCES") throw new UsageError(`${shown} may not be read`, "check its permissions");
    throw new UsageError(`${shown} cannot be read: ${messageOf(error)}`);
  }
  try {
    const entry = fstatSync(descriptor);
    if (entry.isDirectory()) throw new UsageError(`${shown} is a folder, not a file`, describeFolder(shown, kind));
    if (entry.isCharacterDevice() || entry.isBlockDevice()) {
      const isTerminal = isatty(descriptor);
      if (!isTerminal) throw new UsageError(`${shown} is a device, not a file`, `name a ${kind.extension} file`);
    }
    return bounded(shown, readAtMost(descriptor, kind.most), kind);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    throw new UsageError(`${shown} cannot be read: ${messageOf(error)}`);
  } finally {
    closeSync(descriptor);
  }
}

/** @throws UsageError for more than any such text has. */
function bounded(shown: string, bytes: Buffer, { what, most }: TextKind): Buffer {
  if (bytes.length <= most) return bytes;
  throw new UsageError(`${shown} is longer than ${most / 2 ** 20} MiB, too long for ${what}`, "is it the right file?");
}

/** Text of the bytes, which must be UTF-8 without zeros; a byte order mark is dropped. */
function decode(shown: string, bytes: Buffer, { what, extension }: TextKind): string {
  const notText = new UsageError(`${shown} is not a text file`, `${what} is UTF-8 text, usually named *${extension}`);
  if (bytes.includes(0)) throw notText;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notText;
  }
}

function similarFile(path: string, kind: TextKind): string | undefined {
  const folder = dirname(path);
  const names = existsSync(folder) ? filesIn(folder, kind) : [];
  const near = nearest(basename(path), names);
  if (near !== null) return `did you mean ${join(folder, near)}?`;
  return names.length > 0 ? `${folder} has ${names.slice(0, 8).join(", ")}` : kind.example;
}

function describeFolder(path: string, kind: TextKind): string {
  const names = filesIn(path, kind);
  return names.length === 0 ? `name a ${kind.extension} file` : `name a file in it: ${names.slice(0, 8).join(", ")}`;
}

function filesIn(folder: string, { extension }: TextKind): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(extension))
      .sort();
  } catch {
    return [];
  }
}
