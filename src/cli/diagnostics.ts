/** Diagnostics on the terminal. */
import {
  type Diagnostic,
  type Printable,
  printDiagnostics as render,
  type SourceFile,
  toJson,
} from "../compiler/index.js";
import type { Exit } from "./failure.js";
import { type Io, paletteOf } from "./io.js";

/** Whether any is an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((d) => d.severity === "error");
}

/** What `--json` has instead of code frames, for a program that cannot be compiled. */
export function wrongProgram(diagnostics: readonly Diagnostic[], source: SourceFile): NonNullable<Exit["said"]> {
  const errors = diagnostics.filter((d) => d.severity === "error").length;
  return {
    message: `${source.name}: ${errors} error${errors === 1 ? "" : "s"}`,
    diagnostics: diagnostics.map((d) => toJson(d, source)),
  };
}

/** Prints code frames to stderr, so that what a command makes can still be piped. */
export function printDiagnostics(io: Io, diagnostics: readonly Printable[], source: SourceFile): void {
  if (diagnostics.length === 0) return;
  const c = paletteOf(io.err, io.env);
  const palette = {
    error: (s: string) => c.red(c.bold(s)),
    warning: (s: string) => c.yellow(c.bold(s)),
    note: c.cyan,
    faint: c.dim,
    bold: c.bold,
  };
  io.err.write(render(diagnostics, source, palette) + "\n");
}
