/** Files that a document imports: as they stand in the editor if they are open there, else as they lie on the disk. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import type { ResolveImport } from "../compiler/index.js";

/** Programs are small; what is larger is something else. */
const MAX_BYTES = 8 * 2 ** 20;
/** Most files that are looked through for uses of a name. */
const MOST_FILES = 2000;
const SKIPPED = new Set(["node_modules", "dist", "build"]);

/** Text of a document that is open, by its path; undefined if it is not. */
export type OpenText = (path: string) => string | undefined;

/** Finds imported files for a session. */
export function resolver(openText: OpenText): ResolveImport {
  return (path, from) => {
    if (path === "") return null;
    const library = libraryFolder();
    const candidates = isAbsolute(path) ? [path] : [normalize(join(dirname(from), path))];
    if (!isAbsolute(path) && library !== null) candidates.push(join(library, path));
    for (const name of candidates) {
      const text = openText(name) ?? textOf(name);
      if (text !== null) return { name, text };
    }
    return null;
  };
}

/** Text of a file; null where there is none. */
export function textOf(path: string): string | null {
  try {
    const entry = statSync(path);
    return entry.isFile() && entry.size <= MAX_BYTES ? readFileSync(path, "utf8") : null;
  } catch {
    return null;
  }
}

let library: string | null | undefined;

/** The folder `kernels` of this package. */
function libraryFolder(): string | null {
  if (library !== undefined) return library;
  let at = dirname(fileURLToPath(import.meta.url));
  while (!(existsSync(join(at, "package.json")) && existsSync(join(at, "kernels"))) && dirname(at) !== at)
    at = dirname(at);
  const folder = join(at, "kernels");
  return (library = existsSync(folder) ? folder : null);
}

/** Programs below some folders, each once. */
export function programsBelow(folders: readonly string[]): string[] {
  const found = new Set<string>();
  const work = [...folders];
  for (let folder = work.pop(); folder !== undefined && found.size < MOST_FILES; folder = work.pop()) {
    let entries;
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      continue;
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith(".") && !SKIPPED.has(entry.name)) work.push(path);
      else if (entry.isFile() && entry.name.endsWith(".coll")) found.add(path);
    }
  }
  return [...found].sort();
}
