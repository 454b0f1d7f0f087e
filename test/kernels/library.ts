/** The kernels in `kernels/`, for suites that run over all of them. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { checkCollective, parseProgram } from "../../src/compiler/front-end.js";
import { compile, type CompileOptions, type CompileResult, type DType, SourceFile } from "../../src/compiler/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";

export const KERNEL_FOLDER = join(import.meta.dirname, "../../kernels");

export interface LibraryFile {
  /** `all_reduce/one_shot`. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** Files of the library that hold a collective, and not only what others import. */
export const LIBRARY: readonly LibraryFile[] = readdirSync(KERNEL_FOLDER, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".coll"))
  .sort()
  .map((f) => {
    const path = join(KERNEL_FOLDER, f);
    return { name: relative(KERNEL_FOLDER, path).replace(/\.coll$/, ""), path, text: readFileSync(path, "utf8") };
  })
  .filter(({ path, text }) => parseProgram(new SourceFile(path, text)).program.collectives.length > 0);

/** Compiles a file of the library, with its imports. */
export function compileFile(file: LibraryFile, options: Omit<CompileOptions, "file" | "resolve">): CompileResult {
  return compile(file.text, { file: file.path, resolve: importsFromDisk, ...options });
}

/** Whether the kernel may be built for so many ranks and for the dtype: its `where` clause decides. */
export function allows(file: LibraryFile, ranks: number, dtype: DType = "f32"): boolean {
  const source = new SourceFile(file.path, file.text);
  const options = { world: ranks, dtypes: { T: dtype }, file: source, resolve: importsFromDisk };
  const { diagnostics } = checkCollective(parseProgram(source).program, undefined, options);
  // Nobody computes with truth values: kernels that only move elements take them.
  if (dtype === "bool" && diagnostics.some((d) => d.severity === "error")) return false;
  return !diagnostics.some((d) => d.code === "world-not-allowed" || d.code === "dtype-not-allowed");
}
