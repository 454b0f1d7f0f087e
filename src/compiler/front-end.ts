/** Text → syntax tree → checked collective, with everything that is wrong on the way. */
import type { CstNode, IToken } from "chevrotain";
import { CollParser } from "../../grammar/parser.js";
import { collLexer, TOKENS } from "../../grammar/tokens.js";
import { buildProgram } from "./ast/build.js";
import { tokenSpan } from "./ast/cst.js";
import { MAX_DEPTH, MAX_NESTING, tooDeepNode, tooDeepToken } from "./ast/depth.js";
import type { Collective, Program } from "./ast/nodes.js";
import { lexicalErrors, syntaxErrors } from "./ast/syntax-errors.js";
import { checkOne } from "./check/check-collective.js";
import type { CheckedCollective } from "./check/checked.js";
import { byPlace, diagnostic, type Diagnostic } from "./diagnostics/create.js";
import { suggestion } from "./diagnostics/suggest.js";
import { NO_SPAN, type SourceFile, type Span } from "./source.js";
import type { DType } from "./types/dtype.js";

/** Building a parser analyses the grammar, which takes tens of milliseconds: one serves all. */
let parser: CollParser | undefined;

const NOTHING: Program = { collectives: [] };

/**
 * Parses a file. After a syntax error the parser goes on, so that one run reports several; the program then holds
 * what could be made out.
 */
export function parseProgram(file: SourceFile): { program: Program; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const report = (d: Diagnostic): void => void diagnostics.push(d);
  const lexed = collLexer.tokenize(file.text);
  diagnostics.push(...lexicalErrors(lexed.errors, file));
  const tokens = withoutStrayDocs(lexed.tokens);
  const deep = tooDeepToken(tokens);
  if (deep !== null) {
    report(diagnostic("too-deep", tokenSpan(deep), { limit: MAX_NESTING }));
    return { program: NOTHING, diagnostics: byPlace(diagnostics) };
  }
  parser ??= new CollParser();
  parser.input = tokens;
  const cst: CstNode | undefined = parser.program();
  diagnostics.push(...syntaxErrors(parser.errors, tokens, file, diagnostics));
  const program = cst === undefined ? NOTHING : buildProgram(cst, report);
  const tooDeep = tooDeepNode(program);
  if (tooDeep !== null) {
    report(diagnostic("too-deep", tooDeep, { limit: MAX_DEPTH }));
    return { program: NOTHING, diagnostics: byPlace(diagnostics) };
  }
  duplicates(program.collectives, report);
  return { program, diagnostics: byPlace(diagnostics) };
}

/** A `///` that stands above no collective is a plain comment. */
function withoutStrayDocs(tokens: readonly IToken[]): IToken[] {
  const out: IToken[] = [];
  let next: IToken | undefined;
  for (let i = tokens.length - 1; i >= 0; i--) {
    const t = tokens[i]!;
    const isDoc = t.tokenType === TOKENS.DocComment;
    if (!isDoc) next = t;
    if (!isDoc || next?.tokenType === TOKENS.Collective) out.push(t);
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
  if (chosen !== undefined) return checkOne(chosen, options.world, options.dtypes);
  const help = suggestion(name!, known) ?? undefined;
  return fail(diagnostic("unknown-collective", NO_SPAN, { name: name!, known: known.join(", ") }, { help }));
}
