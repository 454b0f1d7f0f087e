/**
 * The vocabulary of Coll, as one table: the lexer, the parser, the messages and the editor grammar read it.
 */
import type { CustomPatternMatcherFunc, TokenType } from "chevrotain";
import { createToken, Lexer } from "./chevrotain.js";

/** What an editor would colour a token as. */
export type TokenCategory = "comment" | "keyword" | "string" | "operator" | "punctuation" | "number" | "name";

export interface TokenRow {
  /** A literal text, a regular expression, or a function that looks at the neighbours. */
  readonly pattern: RegExp | string | CustomPatternMatcherFunc;
  readonly category: TokenCategory;
  /** How messages call it. */
  readonly label: string;
  /** One line for a person who hovers over it. */
  readonly doc: string;
  /** The parser never sees it. */
  readonly skipped?: boolean;
}

const isSpace = (c: string | undefined): boolean => c === undefined || /\s/.test(c);

/** `@` with nothing but names around it reads a peer: `x@p[i]`. With space on a side it is the matrix product. */
const remoteAt: CustomPatternMatcherFunc = (text, offset) =>
  text[offset] === "@" && offset > 0 && !isSpace(text[offset - 1]) && !isSpace(text[offset + 1])
    ? (["@"] as [string] & RegExpExecArray)
    : null;

const keyword = (word: string, doc: string): TokenRow => ({
  pattern: word,
  category: "keyword",
  label: `\`${word}\``,
  doc,
});
const sign = (text: string, doc: string, category: TokenCategory = "operator"): TokenRow => ({
  pattern: text,
  category,
  label: `\`${text}\``,
  doc,
});
const mark = (text: string, doc: string): TokenRow => sign(text, doc, "punctuation");

// prettier-ignore
export const VOCABULARY = {
  Space: { pattern: /\s+/, category: "comment", label: "space", doc: "Separates; line breaks are spaces.", skipped: true },
  DocComment: { pattern: /\/\/\/[^\n]*/, category: "comment", label: "a `///` comment", doc: "Describes the collective below it." },
  Comment: { pattern: /\/\/[^\n]*/, category: "comment", label: "a comment", doc: "Runs to the end of the line.", skipped: true },
  Text: { pattern: /"[^"\n]*"/, category: "string", label: "a text", doc: "The path of an imported file." },
  Import: keyword("import", "Makes functions, constants and collectives of another file known here."),
  From: keyword("from", "The file that an import reads."),
  Const: keyword("const", "Names a constant of the file."),
  Fn: keyword("fn", "Names an expression with parameters."),
  Mesh: keyword("mesh", "Names the axes of a grid of ranks, the outermost first."),
  Collective: keyword("collective", "Begins a collective: its name, inputs, outputs and body."),
  Ensures: keyword("ensures", "Says what an output must equal."),
  Where: keyword("where", "Limits a dtype variable; as a function, chooses between two values."),
  Let: keyword("let", "Names a value once."),
  Scratch: keyword("scratch", "Declares workspace: one such array on every rank."),
  For: keyword("for", "A loop over tiles, ranks, peers or a range."),
  In: keyword("in", "What a loop or a reduction runs over."),
  If: keyword("if", "Runs its block if the condition holds."),
  Else: keyword("else", "Runs if the condition before it does not hold."),
  Barrier: keyword("barrier", "All ranks wait for each other here."),
  Signal: keyword("signal", "Tells a rank that everything before this on this rank is done."),
  Wait: keyword("wait", "Waits for the next signal of a rank."),
  Tiles: keyword("tiles", "Every element of the ranges, in any order, spread over the machine."),
  Ranks: keyword("ranks", "Every rank, in any order."),
  Peers: keyword("peers", "Every rank but this one, in any order."),
  Shard: keyword("shard", "shard(n, r): the r-th of `world` equal parts of 0..n."),
  Chunk: keyword("chunk", "chunk(n, r): the r-th of `world` nearly equal parts of 0..n; any n."),
  And: keyword("and", "Both conditions hold."),
  Or: keyword("or", "One condition holds, or both."),
  Not: keyword("not", "The condition does not hold."),
  Number: { pattern: /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)/, category: "number", label: "a number", doc: "A value with a fraction or an exponent." },
  Integer: { pattern: /\d+/, category: "number", label: "a whole number", doc: "An index, or a value beside values." },
  Name: { pattern: /[A-Za-z_][A-Za-z_0-9]*/, category: "name", label: "a name", doc: "A tensor, dimension, dtype, variable or function." },
  Arrow: sign("->", "From inputs to outputs."),
  DotDot: sign("..", "a..b: from a up to, but without, b."),
  Dot: mark(".", "Start, end or length of a range."),
  ShiftLeft: sign("<<", "Index shifted left by bits."),
  ShiftRight: sign(">>", "Index shifted right by bits."),
  Equal: sign("==", "Equal."),
  NotEqual: sign("!=", "Not equal."),
  LessEqual: sign("<=", "At most."),
  GreaterEqual: sign(">=", "At least."),
  Less: sign("<", "Less than."),
  Greater: sign(">", "Greater than."),
  Assign: sign("=", "Stores, or names a value."),
  Plus: sign("+", "Sum."),
  Minus: sign("-", "Difference, or negation."),
  Star: sign("*", "Product of two values, or of two tensors element by element."),
  Slash: sign("/", "Quotient; of indices, rounded down."),
  Percent: sign("%", "Remainder of indices, never negative."),
  Caret: sign("^", "Exclusive or of indices."),
  Ampersand: sign("&", "Bitwise and of indices."),
  RemoteAt: { pattern: remoteAt, category: "operator", label: "`@`", doc: "Without spaces: an element of a peer's tensor, x@p[i]." },
  MatMul: sign("@", "With spaces: the matrix product, a @ b."),
  LeftParen: mark("(", "Opens arguments or a group."),
  RightParen: mark(")", "Closes arguments or a group."),
  LeftBracket: mark("[", "Opens an index or a shape."),
  RightBracket: mark("]", "Closes an index or a shape."),
  LeftBrace: mark("{", "Opens a block."),
  RightBrace: mark("}", "Closes a block."),
  Comma: mark(",", "Separates items of a list."),
  Colon: mark(":", "Between a name and its type, or an argument's name and its value."),
} as const satisfies Record<string, TokenRow>;

export type TokenName = keyof typeof VOCABULARY;

/** Chevrotain's token types, in the order in which the lexer tries them. */
export const TOKENS = makeTokens();

function makeTokens(): Record<TokenName, TokenType> {
  const made: Partial<Record<TokenName, TokenType>> = {};
  const name = createToken({ name: "Name", pattern: VOCABULARY.Name.pattern, label: VOCABULARY.Name.label });
  for (const key of Object.keys(VOCABULARY) as TokenName[]) {
    const row: TokenRow = VOCABULARY[key];
    const { pattern } = row;
    made[key] =
      key === "Name"
        ? name
        : createToken({
            name: key,
            pattern,
            label: row.label,
            // A keyword is one only where the word ends: `format` is a name. Some are names where they are no keywords.
            ...(key === "From" ? { categories: [name] } : {}),
            ...(row.category === "keyword" ? { longer_alt: name } : {}),
            ...(typeof pattern === "function" ? { start_chars_hint: ["@"], line_breaks: false } : {}),
            ...(row.skipped === true ? { group: Lexer.SKIPPED } : {}),
          });
  }
  return made as Record<TokenName, TokenType>;
}

/** Its patterns are validated by a test: that takes half of the time that the lexer takes to make. */
export const collLexer = new Lexer(Object.values(TOKENS), {
  positionTracking: "full",
  ensureOptimizations: false,
  skipValidations: true,
});
