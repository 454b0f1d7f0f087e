/** The kernels in `kernels/`, for suites that run over all of them. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

export const KERNEL_FOLDER = join(import.meta.dirname, "../../kernels");

export interface LibraryFile {
  /** `all_reduce/one_shot`. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

export const LIBRARY: readonly LibraryFile[] = readdirSync(KERNEL_FOLDER, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".coll"))
  .sort()
  .map((f) => {
    const path = join(KERNEL_FOLDER, f);
    return { name: relative(KERNEL_FOLDER, path).replace(/\.coll$/, ""), path, text: readFileSync(path, "utf8") };
  });
