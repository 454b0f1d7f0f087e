/**
 * The vocabulary of Coll, as one table: the lexer, the parser, the messages and the editor grammar read it.
 */
import { createToken, type CustomPatternMatcherFunc, Lexer, type TokenType } from "chevrotain";

/** What an editor would colour a token as. */
export type TokenCategory =
  "comment" | "keyword" | "layout" | "operator" | "punctuation" | "number" | "string" | "name";

interface TokenRow {
  readonly pattern: RegExp | string | CustomPatternMatcherFunc;
  readonly category: TokenCategory;
  /** How messages call it. */
  readonly label: string;
  readonly skipped?: boolean;
}

const isSpace = (c: string | undefined): boolean => c === undefined || /\s/.test(c);

/** `@` with nothing but names around it reads a peer: `x@p[i]`. With space on a side it is the matrix product. */
const remoteAt: CustomPatternMatcherFunc = (text, offset) =>
  text[offset] === "@" && offset > 0 && !isSpace(text[offset - 1]) && !isSpace(text[offset + 1])
    ? (["@"] as [string] & RegExpExecArray)
    : null;

const keyword = (word: string, category: TokenCategory = "keyword"): TokenRow => ({
  pattern: word,
  category,
  label: `\`${word}\``,
});
const sign = (text: string, category: TokenCategory = "operator"): TokenRow => ({
  pattern: text,
  category,
  label: `\`${text}\``,
});

export const VOCABULARY = {
  Space: { pattern: /\s+/, category: "comment", label: "space", skipped: true },
  DocComment: { pattern: /\/\/\/[^\n]*/, category: "comment", label: "a `///` comment" },
  Comment: { pattern: /\/\/[^\n]*/, category: "comment", label: "a comment", skipped: true },
  Collective: keyword("collective"),
  Ensures: keyword("ensures"),
  Where: keyword("where"),
  Let: keyword("let"),
  Scratch: keyword("scratch"),
  For: keyword("for"),
  In: keyword("in"),
  If: keyword("if"),
  Else: keyword("else"),
  Barrier: keyword("barrier"),
  Tiles: keyword("tiles"),
  Ranks: keyword("ranks"),
  Peers: keyword("peers"),
  Shard: keyword("shard"),
  Chunk: keyword("chunk"),
  And: keyword("and"),
  Or: keyword("or"),
  Not: keyword("not"),
  Number: { pattern: /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)/, category: "number", label: "a number" },
  Integer: { pattern: /\d+/, category: "number", label: "a whole number" },
  Name: { pattern: /[A-Za-z_][A-Za-z_0-9]*/, category: "name", label: "a name" },
  Arrow: sign("->"),
  DotDot: sign(".."),
  Dot: sign(".", "punctuation"),
  Equal: sign("=="),
  NotEqual: sign("!="),
  LessEqual: sign("<="),
  GreaterEqual: sign(">="),
  Less: sign("<"),
  Greater: sign(">"),
  Assign: sign("="),
  Plus: sign("+"),
  Minus: sign("-"),
  Star: sign("*"),
  Slash: sign("/"),
  Percent: sign("%"),
  Caret: sign("^"),
  RemoteAt: { pattern: remoteAt, category: "operator", label: "`@`" },
  MatMul: sign("@"),
  LeftParen: sign("(", "punctuation"),
  RightParen: sign(")", "punctuation"),
  LeftBracket: sign("[", "punctuation"),
  RightBracket: sign("]", "punctuation"),
  LeftBrace: sign("{", "punctuation"),
  RightBrace: sign("}", "punctuation"),
  Comma: sign(",", "punctuation"),
  Colon: sign(":", "punctuation"),
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
    const isWord = typeof pattern === "string" && /^[a-z]/.test(pattern);
    made[key] =
      key === "Name"
        ? name
        : createToken({
            name: key,
            pattern,
            label: row.label,
            ...(isWord ? { longer_alt: name } : {}),
            ...(typeof pattern === "function" ? { start_chars_hint: ["@"], line_breaks: false } : {}),
            ...(row.skipped === true ? { group: Lexer.SKIPPED } : {}),
          });
  }
  return made as Record<TokenName, TokenType>;
}

export const collLexer = new Lexer(Object.values(TOKENS), { positionTracking: "full", ensureOptimizations: false });
