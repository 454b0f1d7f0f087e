/** Diagnostics for machines. */
import type { SourceFile } from "../source.js";
import type { Printable } from "./render.js";

/** One diagnostic of `collc check --json`. Lines and columns count from 1; the end is exclusive. */
export interface JsonDiagnostic {
  readonly code: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly help: string | null;
  /** Of a graph: the id of the node, input or output that it is about. */
  readonly node?: string;
}

export function toJson(d: Printable, source: SourceFile): JsonDiagnostic {
  const start = source.position(d.span.start);
  const end = source.position(d.span.end);
  const { code, severity, message, help } = d;
  const node = source.nodeAt(d.span);
  return {
    code,
    severity,
    message,
    file: source.fileOf(d.span.start),
    line: start.line,
    column: start.column,
    endLine: end.line,
    endColumn: end.column,
    help,
    ...(node === null ? {} : { node }),
  };
}
