/** Diagnostics for a person: a frame of source lines, the places involved underlined, and what to do. */
import type { SourceFile, Span } from "../source.js";
import type { Diagnostic } from "./create.js";

/** Colours, if the place of output has any. Each takes text and returns text. */
export interface Palette {
  readonly error: (s: string) => string;
  readonly warning: (s: string) => string;
  readonly note: (s: string) => string;
  readonly faint: (s: string) => string;
  readonly bold: (s: string) => string;
}

const same = (s: string): string => s;
export const NO_COLOUR: Palette = { error: same, warning: same, note: same, faint: same, bold: same };

/** All diagnostics as text, a blank line after each. */
export function printDiagnostics(
  diagnostics: readonly Diagnostic[],
  source: SourceFile,
  palette: Palette = NO_COLOUR,
): string {
  return diagnostics.map((d) => printDiagnostic(d, source, palette)).join("\n");
}

export function printDiagnostic(d: Diagnostic, source: SourceFile, palette: Palette = NO_COLOUR): string {
  const strong = d.severity === "error" ? palette.error : palette.warning;
  const at = source.position(d.span.start);
  const marks = [{ span: d.span, text: "", isMain: true }, ...d.labels.map((l) => ({ ...l, isMain: false }))];
  const lines = [...new Set(marks.map((m) => source.position(m.span.start).line))].sort((a, b) => a - b);
  const width = String(lines.at(-1)!).length;
  const gutter = (n: number | null): string => palette.faint(`${(n === null ? "" : String(n)).padStart(width)} |`);
  const out = [
    `${strong(`${d.severity}[${d.code}]`)}${palette.bold(`: ${d.message}`)}`,
    `${" ".repeat(width)}${palette.faint("-->")} ${source.name}:${at.line}:${at.column}`,
    gutter(null),
  ];
  lines.forEach((line, i) => {
    if (i > 0 && line > lines[i - 1]! + 1) out.push(palette.faint(`${".".repeat(width)}`));
    out.push(`${gutter(line)} ${source.line(line)}`);
    for (const m of marks)
      if (source.position(m.span.start).line === line)
        out.push(
          `${gutter(null)} ${underline(source, m.span, m.isMain ? "^" : "-", m.isMain ? strong : palette.note)}${m.text === "" ? "" : ` ${palette.note(m.text)}`}`,
        );
  });
  if (d.help !== null) out.push(`${gutter(null)}`, `${" ".repeat(width)} ${palette.note("= help:")} ${d.help}`);
  return out.join("\n") + "\n";
}

function underline(source: SourceFile, span: Span, mark: string, colour: (s: string) => string): string {
  const { line, column } = source.position(span.start);
  const text = source.line(line);
  const length = Math.max(1, Math.min(span.end - span.start, text.length - column + 1));
  const lead = text.slice(0, column - 1).replace(/[^\t]/g, " "); // tabs keep their width
  return lead + colour(mark.repeat(length));
}
