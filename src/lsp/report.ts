/** Diagnostics as the protocol has them, also those about imported files. */
import { type Diagnostic as LspDiagnostic, DiagnosticSeverity } from "vscode-languageserver/node";
import type { Ast, Span } from "../compiler/index.js";
import type { Analysis, Diagnostic } from "./analysis.js";
import { rangeOf } from "./places.js";
import { imported, type Workspace } from "./workspace.js";

type Related = NonNullable<LspDiagnostic["relatedInformation"]>[number];

/**
 * A diagnostic of a document. What is wrong inside an imported file is shown at the import, and where it is there.
 * @param uri the document's.
 */
export function toLsp(d: Diagnostic, a: Analysis, uri: string, w: Workspace): LspDiagnostic {
  const isHere = (span: Span): boolean => a.source.fileOf(span.start) === a.source.name;
  const uriOf = (span: Span): string => (isHere(span) ? uri : w.uriOf(a.source.fileOf(span.start)));
  const related: Related[] = d.labels.map((l) => ({
    location: { uri: uriOf(l.span), range: rangeOf(a.source, l.span) },
    message: l.text,
  }));
  const said = d.help === null ? d.message : `${d.message}\nhelp: ${d.help}`;
  const base = {
    severity: d.severity === "error" ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code: d.code,
    source: "collc",
  };
  if (isHere(d.span)) {
    if (d.code === "import-broken") related.push(...firstErrors(d.span, a, w));
    return { ...base, range: rangeOf(a.source, d.span), message: said, relatedInformation: related };
  }
  const file = a.source.fileOf(d.span.start);
  const { line } = a.source.position(d.span.start);
  related.unshift({ location: { uri: uriOf(d.span), range: rangeOf(a.source, d.span) }, message: d.message });
  const message = `in ${file}, line ${line}: ${said}`;
  return { ...base, range: rangeOf(a.source, importOf(a, file, w)), message, relatedInformation: related };
}

/** The path in the import that brings a file in, itself or through others. */
function importOf(a: Analysis, file: string, w: Workspace): Span {
  const brings = (clause: Ast.Import, from: Analysis, hops: number): boolean => {
    const found = imported(w, from, clause.path);
    if (found === null || hops > 20) return false;
    return found.source.name === file || found.program.imports.some((i) => brings(i, found, hops + 1));
  };
  const [first] = a.program.imports;
  return (a.program.imports.find((i) => brings(i, a, 0)) ?? first)?.pathSpan ?? { start: 0, end: 0 };
}

/** What keeps an imported file from being read. */
function firstErrors(span: Span, a: Analysis, w: Workspace): Related[] {
  const clause = a.program.imports.find((i) => i.pathSpan.start === span.start);
  const found = clause === undefined ? null : imported(w, a, clause.path);
  const errors = found?.syntax.filter((d) => d.severity === "error").slice(0, 3) ?? [];
  return errors.map((d) => ({
    location: { uri: w.uriOf(found!.source.name), range: rangeOf(found!.source, d.span) },
    message: d.message,
  }));
}
