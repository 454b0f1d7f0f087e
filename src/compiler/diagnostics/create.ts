/** Diagnostics: what is wrong with a user's program, where, and what to do. Made from rows of `codes.ts` only. */
import type { Span } from "../source.js";
import { CODES, type DiagnosticCode } from "./codes.js";

export type Severity = "error" | "warning";

/** A second place that a diagnostic points at, with what it has to say there. */
export interface Label {
  readonly span: Span;
  readonly text: string;
}

export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: Severity;
  readonly message: string;
  readonly span: Span;
  readonly labels: readonly Label[];
  /** What to do about it; null where the message says it all. */
  readonly help: string | null;
}

/** Names in braces of a template, as a type. */
type Names<T extends string> = T extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
type Row<C extends DiagnosticCode> = (typeof CODES)[C];

/** The parameters a row's message and help ask for. */
export type ParametersOf<C extends DiagnosticCode> = Record<
  Names<Row<C>["message"]> | (Row<C> extends { help: infer H extends string } ? Names<H> : never),
  string | number
>;

export interface Extras {
  readonly labels?: readonly Label[];
  /** In place of the row's own help; null for none. */
  readonly help?: string | null;
}

/** Makes a diagnostic; an unknown code or a missing parameter does not compile. */
export function diagnostic<C extends DiagnosticCode>(
  code: C,
  span: Span,
  parameters: ParametersOf<C>,
  extras: Extras = {},
): Diagnostic {
  const row = CODES[code] as { severity: Severity; message: string; help?: string };
  const values = parameters as Readonly<Record<string, string | number>>;
  const fill = (template: string): string =>
    template.replace(/\{(\w+)\}/g, (_whole, name: string) => String(values[name]));
  const help = extras.help !== undefined ? extras.help : row.help === undefined ? null : fill(row.help);
  return { code, severity: row.severity, message: fill(row.message), span, labels: extras.labels ?? [], help };
}

/** Sorted by place, each said once: two ways of looking at a fault may find it twice. */
export function byPlace(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const unique = new Map<string, Diagnostic>();
  for (const d of diagnostics) {
    const key = `${d.code} ${d.span.start} ${d.span.end} ${d.message}`;
    if (!unique.has(key)) unique.set(key, d);
  }
  return [...unique.values()].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
}
