/**
 * Files of a build under names that are the same wherever they lie: those of collc's library begin with `kernels/`, others at the
 * root of the build. Remembers all that was read.
 */
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import type { Library, ResolveImport } from "../../compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../runtime/imports.js";
import { packageRoot } from "../../runtime/native.js";
import { UsageError } from "../../runtime/errors.js";

const STDIN = "<stdin>";

export class Sources {
  private readonly root: string;
  private readonly own = realpathSync(packageRoot());
  /** Files by their names. */
  private readonly files = new Map<string, string>();
  /** All that was read: for make. */
  readonly read = new Set<string>();
  /** Names and texts that the program at hand has read besides its own. */
  private parts: (readonly [string, string])[] = [];

  /**
   * @param paths of the programs, as they were found
   * @param root folder that names begin at; the deepest that holds all programs where nobody says
   */
  constructor(paths: readonly string[], root: string | undefined) {
    const outside = paths.filter((path) => path !== STDIN).map((path) => realpathSync(path));
    const folders = outside.filter((path) => !this.isShipped(path)).map((path) => dirname(path));
    if (root !== undefined && !existsSync(root))
      throw new UsageError(`there is no folder ${root}`, "name with --root a folder that holds all programs");
    this.root = root === undefined ? commonFolder(folders) : realpathSync(resolve(root));
    const stray = outside.find((path) => !this.isShipped(path) && relative(this.root, path).startsWith(".."));
    if (stray !== undefined)
      throw new UsageError(
        `${stray} does not lie in ${this.root}`,
        "name with --root a folder that holds all programs",
      );
  }

  private isShipped(file: string): boolean {
    return file.startsWith(join(this.own, "kernels") + sep);
  }

  /** The name of a file. */
  nameOf(path: string): string {
    if (path === STDIN) return STDIN;
    const file = realpathSync(path);
    const name = relative(this.isShipped(file) ? this.own : this.root, file)
      .split(sep)
      .join("/");
    this.files.set(name, file);
    this.read.add(file);
    return name;
  }

  /** What a program of that name is called, without folders that say nothing: `all_reduce/one_shot`. */
  pathOf(name: string): string {
    if (name === STDIN) return "stdin";
    const path = name.slice(0, name.length - extname(name).length);
    return this.isShipped(this.files.get(name)!) ? path.slice("kernels/".length) : path;
  }

  /** Imports, by the names of files. */
  readonly resolve: ResolveImport = (path, from) => {
    const found = importsFromDisk(path, this.files.get(from) ?? from);
    if (found === null) return null;
    const name = this.nameOf(found.name);
    this.parts.push([name, found.text]);
    return { name, text: found.text };
  };

  readonly library: Library = (conversion) => {
    const files = libraryFromDisk(conversion);
    for (const { file, text } of files) {
      this.files.set(file, join(this.own, file));
      this.read.add(join(this.own, file));
      this.parts.push([file, text]);
    }
    return files;
  };

  /** Another compilation begins: what was read for the last one is not of it. */
  begin(): void {
    this.parts = [];
  }

  /** Digest of a program's text and of all that its compilation has read. */
  digestOf(text: string): string {
    const parts = [...new Map(this.parts)].sort(([a], [b]) => (a < b ? -1 : 1));
    return createHash("sha256")
      .update(JSON.stringify([text, parts]))
      .digest("hex");
  }
}

function commonFolder(folders: readonly string[]): string {
  const [first, ...rest] = folders.map((folder) => folder.split(sep));
  if (first === undefined) return process.cwd();
  let length = first.length;
  for (const parts of rest) while (first.slice(0, length).join(sep) !== parts.slice(0, length).join(sep)) length--;
  return first.slice(0, length).join(sep) || sep;
}
