/** The lexer's and the parser's complaints, in words: what would have fitted, what stands there, what was left open. */
import type { ILexingError, IRecognitionException, IToken, TokenType } from "chevrotain";
import { EOF } from "../../../grammar/chevrotain.js";
import { TOKENS as T, type TokenName, VOCABULARY } from "../../../grammar/tokens.js";
import { diagnostic, type Diagnostic, type Label } from "../diagnostics/create.js";
import { nearest } from "../diagnostics/suggest.js";
import type { SourceFile, Span } from "../source.js";
import { tokenSpan } from "./cst.js";

/** After this many errors of one kind the rest is not worth reading. */
export const MAX_ERRORS = 20;

const CHARACTER_HELP: Readonly<Record<string, string>> = {
  ";": "statements end with their line: remove it",
  "&": "write `and`",
  "|": "write `or`",
  "!": "write `not`",
  "#": "comments begin with `//`",
  "\\": "expressions may go on over several lines without a mark",
  '"': "Coll has no texts",
  "'": "Coll has no texts",
  ".": "a number has digits on both sides of its point",
};

function lexicalError(e: ILexingError, file: SourceFile): Diagnostic {
  const text = file.text.slice(e.offset, e.offset + Math.min(e.length, 20));
  const span = { start: e.offset, end: e.offset + e.length };
  const help = CHARACTER_HELP[text[0] ?? ""];
  return diagnostic("unknown-character", span, { text: JSON.stringify(text) }, help === undefined ? {} : { help });
}

/** The lexer's errors; a character that stands several times on a line is named once. */
export function lexicalErrors(errors: readonly ILexingError[], file: SourceFile): Diagnostic[] {
  const seen = new Set<string>();
  const first = errors.filter((e) => {
    const key = `${file.position(e.offset).line} ${file.text.slice(e.offset, e.offset + e.length)}`;
    return !seen.has(key) && seen.add(key);
  });
  return first.slice(0, MAX_ERRORS).map((e) => lexicalError(e, file));
}

/**
 * All syntax errors, but of those on one line only the first: the others mostly follow from it.
 * @param lexical errors that have been reported: nothing more is said about their lines.
 */
export function syntaxErrors(
  errors: readonly IRecognitionException[],
  tokens: readonly IToken[],
  file: SourceFile,
  lexical: readonly Diagnostic[],
): Diagnostic[] {
  const out: Diagnostic[] = [];
  // What the lexer left out may show on the next line only.
  const lines = new Set(lexical.map((d) => file.position(d.span.start).line).flatMap((line) => [line, line + 1]));
  const count = (type: TokenType): number => tokens.filter((t) => t.tokenType === type).length;
  const balance = errors.length === 0 ? 0 : count(T.LeftBrace) - count(T.RightBrace);
  const offset = (e: IRecognitionException): number =>
    Number.isNaN(e.token.startOffset) ? file.text.length : e.token.startOffset;
  for (const e of [...errors].sort((a, b) => offset(a) - offset(b))) {
    const { line } = file.position(offset(e));
    const isEcho = lines.has(line) || (out.length > 0 && followsFrom(e, lines.has(line - 1), balance));
    if (!isEcho) out.push(syntaxError(e, tokens, file));
    if (out.length === MAX_ERRORS) break;
    lines.add(line);
  }
  return out;
}

/**
 * Whether an error after another one is likely its echo: a brace or the end of the file where recovery, having
 * skipped or made up something, did not expect it, or what it left over between collectives. A bracket that is not closed is a fault of its own.
 *
 * @param balance how many braces more are opened than closed.
 */
function followsFrom(e: IRecognitionException, isNear: boolean, balance: number): boolean {
  if (e.token.tokenType === EOF) return balance <= 0;
  const isBetweenCollectives = e.context.ruleStack.length <= 1;
  if (isBetweenCollectives) return nearest(e.token.image, ["collective"]) === null;
  if (e.token.tokenType !== T.RightBrace) return false;
  const wantsBracket = e.message === "RightParen" || e.message === "RightBracket";
  return isNear && !wantsBracket;
}

function syntaxError(e: IRecognitionException, tokens: readonly IToken[], file: SourceFile): Diagnostic {
  const place = tokens.indexOf(e.token);
  const index = place === -1 ? tokens.length : place;
  const found = tokens[index];
  const span = found === undefined ? endOf(tokens[index - 1], file) : tokenSpan(found);
  const opener = openerBefore(tokens, index);
  const { expected, labels } = expectation(e, tokens, opener);
  return diagnostic(
    "syntax",
    span,
    { expected, found: found === undefined ? "the end of the file" : describe(found) },
    { labels, help: helpFor(e, tokens, index) },
  );
}

/** Just behind the last token: where the missing text would go. */
function endOf(last: IToken | undefined, file: SourceFile): Span {
  const start = last === undefined ? file.text.length : tokenSpan(last).end;
  return { start, end: start + 1 };
}

function describe(t: IToken): string {
  const row = Object.hasOwn(VOCABULARY, t.tokenType.name) ? VOCABULARY[t.tokenType.name as TokenName] : undefined;
  const text = t.image.length > 20 ? `${t.image.slice(0, 20)}…` : t.image;
  return row?.category === "keyword" ? `the keyword \`${text}\`` : `\`${text}\``;
}

/** What a missing token would have been for, by rule and token. */
const PURPOSE: Readonly<Record<string, string>> = {
  "collective.Name": "a name for the collective",
  "collective.LeftParen": "`(` and the inputs",
  "collective.Arrow": "`->` and the outputs",
  "tensor.Name": "the name of a tensor",
  "tensor.Colon": "`:` and the tensor's type, such as T[n]",
  "shapedType.Name": "a dtype, such as f32 or T",
  "shapedType.LeftBracket": "`[` and the tensor's shape",
  "layout.Name": "a layout, such as replicated, sharded(0) or partial(sum)",
  "clause.Name": "a dtype variable",
  "clause.In": "`in` and the dtypes it may be",
  "ensures.Name": "the name of an output",
  "ensures.Equal": "`==` and what the output equals",
  "letStatement.Name": "a name",
  "letStatement.Assign": "`=` and a value",
  "scratchStatement.Name": "a name",
  "scratchStatement.Colon": "`:` and a type, such as f32[n]",
  "forStatement.Name": "a loop variable",
  "forStatement.In": "`in` and what to loop over",
  "block.LeftBrace": "`{`",
  "assignment.Assign": "`=` and the value to store",
  "piece.Comma": "`,` and a rank: shard(n, r)",
  "primary.Dot": "`.start`, `.end` or `.length`",
  "primary.Name": "start, end or length",
};

const RULE_WORDS: Readonly<Record<string, string>> = {
  program: "`collective`",
  collective: "the output: a tensor, or several in parentheses",
  statement: "a statement",
  primary: "an expression",
  operand: "an expression",
  expression: "an expression",
  layout: "a number or the name of a reduction",
  domain: "what to loop over: tiles(…), ranks, peers or a..b",
  range: "a range, such as n or a..b",
  tensors: "a tensor, such as x: T[n] replicated",
  shapedType: "a length",
  index: "an index",
  clause: "a condition",
  choices: "a dtype or a number of ranks",
  forStatement: "a loop variable",
  remote: "a peer: a name, a number, or an expression in parentheses",
  ifStatement: "`if` or `{`",
  argument: "an argument",
};

function expectation(
  e: IRecognitionException,
  tokens: readonly IToken[],
  opener: number,
): { expected: string; labels: Label[] } {
  const rule = e.context.ruleStack.at(-1) ?? "";
  if (e.name === "NotAllInputParsedException" || e.message === "EOF")
    return { expected: "`collective` or the end of the file", labels: [] };
  if (e.name !== "MismatchedTokenException") return { expected: RULE_WORDS[rule] ?? "something else", labels: [] };
  const name = e.message as TokenName; // see the grammar's message provider
  const known = PURPOSE[`${rule}.${name}`];
  if (known !== undefined) return { expected: known, labels: [] };
  const label = Object.hasOwn(VOCABULARY, name) ? VOCABULARY[name].label : "something else";
  const isCloser = name === "RightParen" || name === "RightBracket" || name === "RightBrace";
  if (!isCloser || tokens[opener] === undefined) return { expected: label, labels: [] };
  const choice = name === "RightBrace" ? "a statement or " : "";
  return {
    expected: `${choice}${label} to close ${constructOf(rule, tokens, opener)}`,
    labels: [{ span: tokenSpan(tokens[opener]), text: "opened here" }],
  };
}

/** What the bracket at `opener` belongs to. */
function constructOf(rule: string, tokens: readonly IToken[], opener: number): string {
  const owner = tokens[opener - 1];
  const quoted = owner === undefined ? "" : `\`${owner.image}\``;
  switch (rule) {
    case "index":
      return `the index${ownerOfIndex(tokens, opener)}`;
    case "shapedType":
      return "the shape";
    case "collective":
      return owner?.tokenType === T.Arrow ? "the outputs" : `the inputs of ${quoted}`;
    case "block":
      return "the block";
    case "call":
    case "piece":
      return `the arguments of ${quoted}`;
    case "fold":
      return `the head of the reduction ${quoted}`;
    case "domain":
      return "the ranges of `tiles`";
    case "choices":
      return "the list of choices";
    case "layout":
      return `the layout ${quoted}`;
    default:
      return "the parentheses";
  }
}

/** The tensor whose index opens there, past an `@p` between them; nothing where it is not a name's. */
function ownerOfIndex(tokens: readonly IToken[], opener: number): string {
  let at = opener - 1;
  if (tokens[at]?.tokenType === T.RightParen) at = openerBefore(tokens, at);
  if (tokens[at - 1]?.tokenType === T.RemoteAt) at -= 2;
  const owner = tokens[at];
  return owner?.tokenType === T.Name ? ` of \`${owner.image}\`` : "";
}

/** Index of the innermost bracket that is still open before the token at `index`; -1 if there is none. */
function openerBefore(tokens: readonly IToken[], index: number): number {
  let closed = 0;
  for (let i = index - 1; i >= 0; i--) {
    const { tokenType } = tokens[i]!;
    if (tokenType === T.RightParen || tokenType === T.RightBracket || tokenType === T.RightBrace) closed++;
    else if (tokenType === T.LeftParen || tokenType === T.LeftBracket || tokenType === T.LeftBrace)
      if (closed-- === 0) return i;
  }
  return -1;
}

/** Whether no condition stands between the arrow and a token. */
function isAmongOutputs(at: IToken, tokens: readonly IToken[]): boolean {
  const before = tokens.slice(0, tokens.indexOf(at));
  return before.findLast(({ tokenType }) => tokenType === T.Arrow || tokenType === T.Where)?.tokenType === T.Arrow;
}

/** Habits from other languages. */
function helpFor(e: IRecognitionException, tokens: readonly IToken[], index: number): string | null {
  const [before, found] = [tokens[index - 1], tokens[index]];
  const rule = e.context.ruleStack.at(-1);
  if (found?.tokenType === T.Name && rule === "program" && nearest(found.image, ["collective"]) !== null)
    return "did you mean `collective`?";
  if (rule === "assignment" && found !== undefined && /^[-+*/]$/.test(found.image))
    return `Coll has no \`${found.image}=\`: write the target again, y[i] = y[i] ${found.image} …`;
  if (rule === "assignment" && found?.tokenType === T.LeftParen) return "calls stand inside expressions";
  if (rule === "assignment" && found?.tokenType === T.Colon)
    return "workspace is declared with `scratch`, a value with `let`";
  if (rule === "layout" && e.message === "Name") return "every parameter says how it lies over the ranks";
  if (before?.tokenType === T.Assign && found?.tokenType === T.Assign) return "compare with `==` in a condition";
  if (found?.tokenType === T.Assign && rule === "block") return "compare with `==`";
  if (found?.tokenType === T.Comma && rule === "block" && e.context.ruleStack.at(-2) === "collective")
    return isAmongOutputs(found, tokens)
      ? "several outputs stand in parentheses: -> (y: …, z: …)"
      : "several conditions are joined with `and`, or have a `where` each";
  if ((e.message === "Name" || rule === "forStatement") && found !== undefined && isKeyword(found))
    return "keywords cannot be names: choose another";
  if (rule === "primary" && found?.tokenType === T.Ranks)
    return "`ranks` stands after `in`; the number of ranks is `world`";
  if (rule === "primary" && found !== undefined && (found.tokenType === T.If || found.tokenType === T.Tiles))
    return found.tokenType === T.If ? "choose between values with where(condition, a, b)" : "`tiles` stands after `in`";
  return null;
}

function isKeyword(t: IToken): boolean {
  return (
    Object.hasOwn(VOCABULARY, t.tokenType.name) && VOCABULARY[t.tokenType.name as TokenName].category === "keyword"
  );
}
