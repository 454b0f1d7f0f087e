/** All that is known of one version of a document. */
import {
  type Ast,
  checkCollective,
  type CheckedCollective,
  type ExpressionType,
  parseProgram,
  type ResolveImport,
  SourceFile,
  type Span,
} from "../compiler/index.js";
import { resolveSymbols, type SymbolTable } from "./symbols.js";

export type Diagnostic = ReturnType<typeof parseProgram>["diagnostics"][number];

export interface Analysis {
  readonly source: SourceFile;
  readonly program: Ast.Program;
  readonly symbols: SymbolTable;
  /** What the parser says. */
  readonly syntax: readonly Diagnostic[];
  /** The text was not understood as a whole, so names may be missing. */
  readonly isBroken: boolean;
  /** Finds what it imports. */
  readonly resolve: ResolveImport;
}

/** Numbers of ranks that a program is checked for as it is written; the first is the one that hovers speak of. */
export const WORLDS = [4, 2] as const;

/** @param resolve finds imported files; without it there are none. */
export function analyse(name: string, text: string, resolve: ResolveImport = () => null): Analysis {
  const source = new SourceFile(name, text);
  const { program, diagnostics } = parseProgram(source);
  const isBroken = diagnostics.some((d) => ["syntax", "unknown-character", "too-deep"].includes(d.code));
  return { source, program, symbols: resolveSymbols(program, text), syntax: diagnostics, isBroken, resolve };
}

/** Everything that is wrong, each thing once, in the order of the text. */
export function diagnose(a: Analysis): Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  const keep = (d: Diagnostic): unknown => found.set(`${d.code} ${d.span.start} ${d.span.end}`, d);
  a.syntax.forEach(keep);
  // Of a program that was understood in part, nothing is said but that. A file to import from may have no collective.
  if (!a.syntax.some((d) => d.severity === "error"))
    for (const world of WORLDS) for (const c of a.program.collectives) check(a, c, world).diagnostics.forEach(keep);
  return [...found.values()].sort((x, y) => x.span.start - y.span.start);
}

const checkedBefore = new WeakMap<Ast.Collective, CheckedCollective | { readonly nothing: true }>();

/** The collective with its types, for the first of the worlds; null if it is not right. Checked once a version. */
export function checkedOf(a: Analysis, c: Ast.Collective): CheckedCollective | null {
  let known = checkedBefore.get(c);
  if (known === undefined) checkedBefore.set(c, (known = check(a, c, WORLDS[0]).checked ?? { nothing: true }));
  return "nothing" in known ? null : known;
}

const typesByPlace = new WeakMap<CheckedCollective, Map<string, ExpressionType>>();

/** The type of the expression that covers exactly this span. What was checked may be a copy, so places tell which. */
export function typeAt(checked: CheckedCollective, span: Span): ExpressionType | undefined {
  let known = typesByPlace.get(checked);
  if (known === undefined) {
    known = new Map();
    for (const [e, type] of checked.types) known.set(`${e.span.start}-${e.span.end}`, type);
    typesByPlace.set(checked, known);
  }
  return known.get(`${span.start}-${span.end}`);
}

/** The smallest expression around an offset that has a type, and that type. */
export function expressionAt(
  a: Analysis,
  offset: number,
): { readonly span: Span; readonly type: ExpressionType } | null {
  const c = a.program.collectives.find((c) => c.span.start <= offset && offset < c.span.end);
  const checked = c === undefined ? null : checkedOf(a, c);
  let best: { span: Span; type: ExpressionType } | null = null;
  for (const [{ span }, type] of checked?.types ?? [])
    if (span.start <= offset && offset < span.end && (best === null || lengthOf(span) < lengthOf(best.span)))
      best = { span, type };
  return best;
}

const lengthOf = ({ start, end }: Span): number => end - start;

function check(a: Analysis, c: Ast.Collective, world: number): ReturnType<typeof checkCollective> {
  // Alone: of two with one name, each is looked at.
  const program = { ...a.program, collectives: [c] };
  return checkCollective(program, undefined, { world, dtypes: {}, file: a.source, resolve: a.resolve });
}
