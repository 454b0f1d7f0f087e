/** Text → syntax tree → checked collective, with everything that is wrong on the way. */
import type { CstNode, IToken } from "chevrotain";
import { CollParser } from "../../grammar/parser.js";
import { collLexer, TOKENS } from "../../grammar/tokens.js";
import { buildProgram } from "./ast/build.js";
import { tokenSpan } from "./ast/cst.js";
import { MAX_DEPTH, MAX_NESTING, tooDeepNode, tooDeepToken } from "./ast/depth.js";
import type { Collective, Program } from "./ast/nodes.js";
import { largeNumbers } from "./ast/numbers.js";
import { lexicalErrors, syntaxErrors } from "./ast/syntax-errors.js";
import { checkOne } from "./check/check-collective.js";
import type { CheckedCollective } from "./check/checked.js";
import { checkSize, MAX_TOKENS, statementBeyondLimit } from "./check/limits.js";
import { byPlace, diagnostic, type Diagnostic } from "./diagnostics/create.js";
import { suggestion } from "./diagnostics/suggest.js";
import type { ConstantValue } from "./link/constants.js";
import { expandCollective, valueOfConstant } from "./link/expand.js";
import { linkProgram, type ParsedFile, type ResolveImport } from "./link/link.js";
import { meshOf } from "./link/mesh.js";
import type { FileScope } from "./link/scope.js";
import { NO_SPAN, type SourceFile, type Span } from "./source.js";
import type { DType } from "./types/dtype.js";

/** Building a parser analyses the grammar, which takes tens of milliseconds: one serves all. */
let parser: CollParser | undefined;

const NOTHING: Program = { imports: [], constants: [], functions: [], collectives: [] };

/**
 * Parses a file. After a syntax error the parser goes on, so that one run reports several; the program then holds
 * what could be made out.
 */
export function parseProgram(file: SourceFile): { program: Program; diagnostics: Diagnostic[] } {
  return parseText(file, file.text, 0);
}

/** @param base offset of the text's first character. */
function parseText(file: SourceFile, text: string, base: number): { program: Program; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const report = (d: Diagnostic): void => void diagnostics.push(d);
  const lexed = collLexer.tokenize(text);
  for (const t of base === 0 ? [] : lexed.tokens) {
    t.startOffset += base;
    if (t.endOffset !== undefined) t.endOffset += base;
  }
  const lexical = lexicalErrors(lexed.errors, file);
  diagnostics.push(...lexical);
  if (lexed.tokens.length > MAX_TOKENS) {
    report(diagnostic("program-too-long", tokenSpan(lexed.tokens[MAX_TOKENS]!), { limit: MAX_TOKENS }));
    return { program: NOTHING, diagnostics: byPlace(diagnostics) };
  }
  const tokens = withoutStrayDocs(lexed.tokens);
  diagnostics.push(...largeNumbers(tokens));
  const deep = tooDeepToken(tokens);
  if (deep !== null) {
    report(diagnostic("too-deep", tokenSpan(deep), { limit: MAX_NESTING }));
    return { program: NOTHING, diagnostics: byPlace(diagnostics) };
  }
  parser ??= new CollParser();
  parser.input = tokens;
  const cst: CstNode | undefined = parser.program();
  diagnostics.push(...syntaxErrors(parser.errors, tokens, file, lexical));
  const program = cst === undefined ? NOTHING : buildProgram(cst, report);
  const tooDeep = tooDeepNode(program);
  if (tooDeep !== null) {
    report(diagnostic("too-deep", tooDeep, { limit: MAX_DEPTH }));
    return { program: NOTHING, diagnostics: byPlace(diagnostics) };
  }
  duplicates(program.collectives, report);
  return { program, diagnostics: byPlace(diagnostics) };
}

const DOCUMENTED = new Set([TOKENS.Collective, TOKENS.Const, TOKENS.Fn]);

/** A `///` that stands above no definition is a plain comment. */
function withoutStrayDocs(tokens: readonly IToken[]): IToken[] {
  const out: IToken[] = [];
  let next: IToken | undefined;
  for (let i = tokens.length - 1; i >= 0; i--) {
    const t = tokens[i]!;
    const isDoc = t.tokenType === TOKENS.DocComment;
    if (!isDoc) next = t;
    if (!isDoc || (next !== undefined && DOCUMENTED.has(next.tokenType))) out.push(t);
  }
  return out.reverse();
}

function duplicates(collectives: readonly Collective[], report: (d: Diagnostic) => void): void {
  const seen = new Map<string, Span>();
  for (const { name } of collectives) {
    const first = seen.get(name.text);
    if (first === undefined) seen.set(name.text, name.span);
    else {
      const labels = [{ span: first, text: "first defined here" }];
      report(diagnostic("duplicate-collective", name.span, { name: name.text }, { labels }));
    }
  }
}

export interface CheckOptions {
  /** Number of ranks, 1 or more. */
  readonly world: number;
  /** What dtype variables stand for. */
  readonly dtypes: Readonly<Record<string, DType>>;
  readonly file: SourceFile;
  /** The program's own path, where its text lies behind that of the file; see {@link parseIncluded}. */
  readonly path?: string;
  /** Finds imported files; without it there are none. */
  readonly resolve?: ResolveImport;
  /** Ranks along each axis of a mesh; see `meshOf`. */
  readonly mesh?: Readonly<Record<string, number>>;
  /** See `CompileOptions`. */
  readonly roundPartialSums?: boolean | undefined;
}

/** Checks the named collective, or the only one of the program. `checked` is null where there is an error. */
export function checkCollective(
  program: Program,
  name: string | undefined,
  options: CheckOptions,
): { checked: CheckedCollective | null; diagnostics: Diagnostic[] } {
  const { collectives } = program;
  const known = collectives.map((c) => c.name.text);
  const fail = (d: Diagnostic): { checked: null; diagnostics: Diagnostic[] } => ({ checked: null, diagnostics: [d] });
  if (collectives.length === 0) return fail(diagnostic("empty-file", NO_SPAN, {}));
  if (name === undefined && collectives.length > 1) {
    const second = collectives[1]!.name.span;
    return fail(diagnostic("ambiguous-collective", second, { count: known.length, known: known.join(", ") }));
  }
  const chosen = name === undefined ? collectives[0] : collectives.find((c) => c.name.text === name);
  if (chosen !== undefined) return checkChosen(program, chosen, options);
  const help = suggestion(name!, known) ?? undefined;
  return fail(diagnostic("unknown-collective", NO_SPAN, { name: name!, known: known.join(", ") }, { help }));
}

/** The value of a constant of the program, or of one that it imports; null if it has none. */
export function constantOf(
  program: Program,
  name: string,
  options: Pick<CheckOptions, "world" | "file" | "resolve">,
): ConstantValue | null {
  const report = (): void => undefined;
  const found = scopeOf(program, options, report).definitions.get(name);
  return found?.kind === "constant" ? valueOfConstant(found, { world: options.world, axes: [], report }) : null;
}

function scopeOf(
  program: Program,
  { file, path, resolve }: Pick<CheckOptions, "file" | "path" | "resolve">,
  report: (d: Diagnostic) => void,
): FileScope {
  const parse = (path: string, from: string): ParsedFile | null => {
    const found = resolve?.(path, from) ?? null;
    return found === null ? null : parseIncluded(found, file);
  };
  return linkProgram({ name: path ?? file.name, program, hasErrors: false }, parse, report);
}

function checkChosen(
  program: Program,
  chosen: Collective,
  options: CheckOptions,
): { checked: CheckedCollective | null; diagnostics: Diagnostic[] } {
  const { world, dtypes } = options;
  const diagnostics: Diagnostic[] = [];
  const report = (d: Diagnostic): void => void diagnostics.push(d);
  const scope = scopeOf(program, options, report);
  const axes = meshOf(chosen.mesh, world, options.mesh, report);
  const expanded = expandCollective(chosen, scope, { world, axes, report });
  if (diagnostics.some((d) => d.severity === "error")) return { checked: null, diagnostics: byPlace(diagnostics) };
  if (!checkSize(expanded, report)) return { checked: null, diagnostics: byPlace(diagnostics) };
  const result = checkOne(expanded, world, dtypes, axes, options.roundPartialSums);
  const beyond = result.checked === null ? null : statementBeyondLimit(expanded);
  if (beyond !== null) return { checked: null, diagnostics: byPlace([...diagnostics, ...result.diagnostics, beyond]) };
  return { ...result, diagnostics: byPlace([...diagnostics, ...result.diagnostics]) };
}

const imported = new WeakMap<SourceFile, Map<string, ParsedFile>>();

/** Another file, parsed behind the text of the one that is being compiled, for places in it; once for each. */
export function parseIncluded(
  { name, text }: { readonly name: string; readonly text: string },
  file: SourceFile,
): ParsedFile {
  const known = imported.get(file) ?? new Map<string, ParsedFile>();
  imported.set(file, known);
  let parsed = known.get(name);
  if (parsed === undefined) {
    const { program, diagnostics } = parseText(file, text, file.include(name, text));
    parsed = { name, program, hasErrors: diagnostics.some((d) => d.severity === "error") };
    known.set(name, parsed);
  }
  return parsed;
}
