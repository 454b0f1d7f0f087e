/** Text → syntax tree → checked collective, with everything that is wrong on the way. */
import type { IRecognitionException, IToken } from "chevrotain";
import { CollParser } from "../../grammar/parser.js";
import { collLexer, TOKENS, VOCABULARY, type TokenName } from "../../grammar/tokens.js";
import { buildProgram } from "./ast/build.js";
import type { Program } from "./ast/nodes.js";
import type { CheckedCollective } from "./check/checked.js";
import { checkOne } from "./check/check-collective.js";
import { suggestion } from "./check/scope.js";
import { diagnostic, type Diagnostic } from "./diagnostics/create.js";
import type { SourceFile, Span } from "./source.js";
import { DTYPE_NAMES, type DType } from "./types/dtype.js";

/** Building a parser analyses the grammar, which takes tens of milliseconds: one serves all. */
let parser: CollParser | undefined;

/** Parses a file. After a syntax error the parser goes on, so that one run reports several. */
export function parseProgram(file: SourceFile): { program: Program; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const lexed = collLexer.tokenize(file.text);
  for (const e of lexed.errors) {
    const text = JSON.stringify(file.text.slice(e.offset, e.offset + Math.min(e.length, 20)));
    diagnostics.push(diagnostic("unknown-character", { start: e.offset, end: e.offset + e.length }, { text }));
  }
  parser ??= new CollParser();
  parser.input = lexed.tokens;
  const cst = parser.program();
  for (const e of parser.errors) diagnostics.push(syntaxError(e, file));
  if (cst === undefined) return { program: { collectives: [] }, diagnostics };
  const { program, badLayouts, badDTypes } = buildProgram(cst);
  for (const { written, span } of badLayouts)
    diagnostics.push(
      diagnostic("unknown-layout", span, {
        name: written.argument === null ? written.kind : `${written.kind}(${written.argument})`,
      }),
    );
  for (const { name, span } of badDTypes)
    diagnostics.push(diagnostic("unknown-dtype", span, { name, known: DTYPE_NAMES.join(", ") }));
  const seen = new Map<string, Span>();
  for (const { name } of program.collectives) {
    const first = seen.get(name.text);
    if (first !== undefined)
      diagnostics.push(
        diagnostic(
          "duplicate-collective",
          name.span,
          { name: name.text },
          { labels: [{ span: first, text: "first defined here" }] },
        ),
      );
    seen.set(name.text, name.span);
  }
  return { program, diagnostics: diagnostics.sort((a, b) => a.span.start - b.span.start) };
}

export interface CheckOptions {
  readonly world: number;
  /** What dtype variables stand for. */
  readonly dtypes: Readonly<Record<string, DType>>;
  readonly file: SourceFile;
}

/** Checks the named collective, or the only one of the program. */
export function checkCollective(
  program: Program,
  name: string | undefined,
  options: CheckOptions,
): { checked: CheckedCollective | null; diagnostics: Diagnostic[] } {
  const { collectives } = program;
  const known = collectives.map((c) => c.name.text);
  const fail = (d: Diagnostic): { checked: null; diagnostics: Diagnostic[] } => ({ checked: null, diagnostics: [d] });
  const nowhere = { start: 0, end: 0 };
  if (collectives.length === 0) return fail(diagnostic("empty-file", nowhere, {}));
  if (name === undefined && collectives.length > 1)
    return fail(
      diagnostic("ambiguous-collective", collectives[1]!.name.span, { count: known.length, known: known.join(", ") }),
    );
  const chosen = name === undefined ? collectives[0] : collectives.find((c) => c.name.text === name);
  if (chosen === undefined) {
    const near = suggestion(name!, known);
    return fail(
      diagnostic(
        "unknown-collective",
        nowhere,
        { name: name!, known: known.join(", ") },
        near === null ? {} : { help: near },
      ),
    );
  }
  return checkOne(chosen, options.world, options.dtypes);
}

/** A parser's exception in words: what would have fitted here, and what stands here. */
function syntaxError(e: IRecognitionException, file: SourceFile): Diagnostic {
  const atEnd = Number.isNaN(e.token.startOffset) || e.token.tokenType.name === "EOF";
  const place: IToken = atEnd ? ((e as { previousToken?: IToken }).previousToken ?? e.token) : e.token;
  const start = Number.isNaN(place.startOffset)
    ? file.text.length
    : atEnd
      ? (place.endOffset ?? place.startOffset) + 1
      : place.startOffset;
  const span = { start, end: atEnd ? start + 1 : (place.endOffset ?? place.startOffset) + 1 };
  return diagnostic("syntax", span, {
    expected: expectation(e),
    found: atEnd ? "the end of the file" : `\`${e.token.image}\``,
  });
}

const RULE_WORDS: Record<string, string> = {
  program: "`collective`",
  collective: "the rest of the collective",
  statement: "a statement",
  block: "a statement or `}`",
  primary: "an expression",
  unary: "an expression",
  layout: "a layout, such as replicated or partial(sum)",
  domain: "what to loop over: tiles(…), ranks, peers or a..b",
};

function expectation(e: IRecognitionException): string {
  const token =
    /token of type --> (\w+) <--/.exec(e.message)?.[1] ??
    /Expecting: one of these possible Token sequences/.exec(e.message)?.[0];
  const named = Object.entries(TOKENS).find(([key]) => key === token)?.[0] as TokenName | undefined;
  if (named !== undefined) return VOCABULARY[named].label;
  const byLabel = /--> (.+?) <--/.exec(e.message)?.[1];
  if (byLabel !== undefined && e.name === "MismatchedTokenException") return byLabel;
  if (e.name === "NotAllInputParsedException") return "`collective`, or the end of the file";
  return RULE_WORDS[e.context.ruleStack.at(-1) ?? ""] ?? "something else";
}
