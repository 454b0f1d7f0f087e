/** Imported files and the library from disk, for the options `resolve` and `library` of a compilation. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize } from "node:path";
import type { Library, ResolveImport } from "../compiler/index.js";
import { packageRoot } from "./native.js";

/** Programs are small; what is larger is something else. */
const maxBytes = 8 * 2 ** 20;

/**
 * Reads what an import names: a path relative to the importing file, or else a file of the library that comes with
 * collc, as in `import ring from "all_reduce/ring.coll"`. Null where there is no such text file.
 */
export const importsFromDisk: ResolveImport = (path, from) => {
  const library = join(packageRoot(), "kernels", path);
  const candidates = isAbsolute(path) ? [path] : [normalize(join(dirname(from), path)), library];
  const name = candidates.find(
    (file) => existsSync(file) && statSync(file).isFile() && statSync(file).size <= maxBytes,
  );
  return name === undefined ? null : { name, text: readFileSync(name, "utf8") };
};

const read = new Map<string, ReturnType<Library>>();

/** The files of a folder of the library that comes with collc; see {@link CompileOptions.library}. Read once a process. */
export const libraryFromDisk: Library = (conversion) => {
  let files = read.get(conversion);
  if (files === undefined) {
    const folder = join(packageRoot(), "kernels", conversion);
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".coll")) : [];
    files = names.sort().map((name) => ({
      file: `kernels/${conversion}/${name}`,
      text: readFileSync(join(folder, name), "utf8"),
    }));
    read.set(conversion, files);
  }
  return files;
};
