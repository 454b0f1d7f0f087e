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

/** What can be shown: a diagnostic, or a finding of another kind with a code of its own and lines of notes. */
export interface Printable extends Omit<Diagnostic, "code"> {
  readonly code: string;
  readonly notes?: readonly string[];
}

/** All diagnostics as text, a blank line after each. */
export function printDiagnostics(
  diagnostics: readonly Printable[],
  source: SourceFile,
  palette: Palette = NO_COLOUR,
): string {
  return diagnostics.map((d) => printDiagnostic(d, source, palette)).join("\n");
}

interface Mark {
  readonly span: Span;
  readonly text: string;
  readonly sign: "^" | "-";
  readonly colour: (s: string) => string;
}

/**
 * One diagnostic:
 *
 *     error[operand-layouts]: `+` of partial(sum) and replicated is not possible
 *      --> bias.coll:2:18
 *       |
 *     2 |   y = all_reduce(x + bias)
 *       |                  ^^^^^^^^
 *       |                  - partial(sum)
 *       |                      ---- replicated
 *       = help: convert the left side first, all_reduce(x): …
 */
export function printDiagnostic(d: Printable, source: SourceFile, palette: Palette = NO_COLOUR): string {
  const strong = d.severity === "error" ? palette.error : palette.warning;
  const title = `${strong(`${d.severity}[${d.code}]`)}${palette.bold(`: ${d.message}`)}`;
  const help = (margin: string): string[] => [
    ...(d.notes ?? []).map((n) => `${margin}${palette.note("=")} ${n}`),
    ...(d.help === null ? [] : [`${margin}${palette.note("= help:")} ${d.help}`]),
  ];
  // An empty span at the start is about the file as a whole.
  if (d.span.end === 0) return [title, ` ${palette.faint("-->")} ${source.name}`, ...help(" "), ""].join("\n");

  const here = d.labels.find((l) => l.span.start === d.span.start && l.span.end === d.span.end);
  const main: Mark = { span: d.span, text: here?.text ?? "", sign: "^", colour: strong };
  const others = d.labels.filter((l) => l !== here).map((l): Mark => ({ ...l, sign: "-", colour: palette.note }));
  const marks = [main, ...others];
  const width = String(Math.max(...marks.map((m) => source.position(m.span.start).line))).length;
  // What lies in another file, an imported one or the one that imports, has a frame of its own.
  const files = [...new Set(marks.map((m) => source.fileOf(m.span.start)))];
  const frames = files.flatMap((file, i) => {
    const inFile = marks.filter((m) => source.fileOf(m.span.start) === file);
    return frame(file, i === 0 ? "-->" : ":::", inFile, source, width, palette);
  });
  return [title, ...frames, ...help(`${" ".repeat(width)} `), ""].join("\n");
}

/** The marked lines of one file. */
function frame(
  file: string,
  arrow: string,
  marks: readonly Mark[],
  source: SourceFile,
  width: number,
  palette: Palette,
): string[] {
  const lineOf = (m: Mark): number => source.position(m.span.start).line;
  const lines = [...new Set(marks.map(lineOf))].sort((a, b) => a - b);
  const gutter = (n: number | null): string => palette.faint(`${(n === null ? "" : String(n)).padStart(width)} |`);
  const { start } = marks[0]!.span;
  const at = source.position(start);
  const node = source.nodeAt(marks[0]!.span);
  const place = `${file}:${at.line}:${at.column}${node === null ? "" : ` (node '${node}')`}`;
  const out = [`${" ".repeat(width)}${palette.faint(arrow)} ${place}`, gutter(null)];
  lines.forEach((line, i) => {
    if (i > 0 && line > lines[i - 1]! + 1) out.push(palette.faint(".".repeat(width + 2)));
    const onLine = marks.filter((m) => lineOf(m) === line);
    const text = source.line(line, start);
    const from = windowStart(text, source, onLine);
    out.push(`${gutter(line)} ${cut(text, from)}`.trimEnd());
    for (const m of onLine) out.push(`${gutter(null)} ${underline(text, source, m, from, palette)}`);
  });
  return out;
}

/** Lines longer than this are shown in part. */
const MAX_WIDTH = 160;

/** Where the part of a long line begins that shows the first mark; 0 for lines that fit. */
function windowStart(text: string, source: SourceFile, marks: readonly Mark[]): number {
  if (text.length <= MAX_WIDTH) return 0;
  const first = Math.min(...marks.map((m) => source.position(m.span.start).column));
  return Math.max(0, first - 1 - MAX_WIDTH / 4);
}

function cut(text: string, from: number): string {
  const shown = text.slice(from, from + MAX_WIDTH);
  return `${from > 0 ? "…" : ""}${shown}${from + MAX_WIDTH < text.length ? "…" : ""}`;
}

/** The line below: blanks up to the mark, its signs, its text. A span of several lines is marked on its first. */
function underline(text: string, source: SourceFile, m: Mark, from: number, palette: Palette): string {
  const { column } = source.position(m.span.start);
  const start = column - 1 - from;
  if (start > MAX_WIDTH) return palette.note(`… ${m.text}`.trimEnd()); // beyond the part that is shown
  const length = Math.max(1, Math.min(m.span.end - m.span.start, text.length - column + 1, MAX_WIDTH - start));
  const lead = (from > 0 ? " " : "") + text.slice(from, column - 1).replace(/[^\t]/g, " "); // tabs keep their width
  const signs = m.colour(m.sign.repeat(length));
  return m.text === "" ? `${lead}${signs}` : `${lead}${signs} ${m.colour(m.text)}`;
}
