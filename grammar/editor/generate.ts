/**
 * The TextMate grammar, from the table of tokens. `coll.tmLanguage.json` is what it gives; a test sees to it that the
 * file is fresh, and writes it with UPDATE_GOLDENS=1 npx vitest run test/lsp/textmate.test.ts
 */
import { type TokenCategory, type TokenName, type TokenRow, VOCABULARY } from "../tokens.js";

/** Words that are no tokens of their own, but have a meaning: an editor colours them, too. */
export interface EditorWords {
  readonly functions: readonly string[];
  readonly types: readonly string[];
  readonly layouts: readonly string[];
  readonly values: readonly string[];
}

interface Pattern {
  readonly name: string;
  readonly match: string;
}

const SCOPES: Readonly<Record<TokenCategory, string>> = {
  comment: "comment.line.double-slash.coll",
  keyword: "keyword.control.coll",
  operator: "keyword.operator.coll",
  punctuation: "punctuation.separator.coll",
  number: "constant.numeric.coll",
  string: "string.quoted.double.coll",
  name: "variable.other.coll",
};

/** Keywords that are operators to a reader, or begin a declaration. */
const KEYWORD_SCOPES: Readonly<Partial<Record<TokenName, string>>> = {
  And: "keyword.operator.word.coll",
  Or: "keyword.operator.word.coll",
  Not: "keyword.operator.word.coll",
  Collective: "storage.type.coll",
  Const: "storage.type.coll",
  Fn: "storage.type.coll",
  Let: "storage.type.coll",
  Scratch: "storage.type.coll",
};

/** The grammar as the JSON that editors read. */
export function textMateGrammar(words: EditorWords): object {
  return {
    $schema: "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
    name: "Coll",
    scopeName: "source.coll",
    fileTypes: ["coll"],
    patterns: [
      { name: "comment.line.documentation.coll", match: VOCABULARY.DocComment.pattern.source },
      { name: SCOPES.comment, match: VOCABULARY.Comment.pattern.source },
      {
        match: `\\b(${["Collective", "Fn"].map((k) => String(VOCABULARY[k as TokenName].pattern)).join("|")})\\s+(${VOCABULARY.Name.pattern.source})`,
        captures: { 1: { name: "storage.type.coll" }, 2: { name: "entity.name.function.coll" } },
      },
      ...keywordPatterns(),
      { name: "entity.name.type.coll", match: anyWord(words.types) },
      // A dtype variable is a capitalised name before a shape or a cast.
      { name: "entity.name.type.parameter.coll", match: "\\b[A-Z][A-Za-z_0-9]*\\b(?=\\s*[\\[(])" },
      { name: "support.function.coll", match: `${anyWord(words.functions)}(?=\\s*\\()` },
      // Editors' engine looks back over a fixed length only, so not for the shape before it.
      { name: "storage.modifier.layout.coll", match: `${anyWord(words.layouts)}(?!\\s*[:=@\\[])` },
      { name: "variable.language.coll", match: anyWord(words.values) },
      ...rows("string").map(([, row]) => ({ name: SCOPES.string, match: patternText(row) })),
      ...rows("number").map(([, row]) => ({ name: SCOPES.number, match: `(?<![A-Za-z_0-9])${patternText(row)}` })),
      ...signPatterns("operator"),
      ...signPatterns("punctuation"),
    ],
  };
}

function rows(category: TokenCategory): [TokenName, TokenRow][] {
  return (Object.entries(VOCABULARY) as [TokenName, TokenRow][]).filter(([, row]) => row.category === category);
}

/** One pattern for each scope that keywords have. */
function keywordPatterns(): Pattern[] {
  const byScope = new Map<string, string[]>();
  for (const [name, row] of rows("keyword")) {
    const scope = KEYWORD_SCOPES[name] ?? SCOPES.keyword;
    byScope.set(scope, [...(byScope.get(scope) ?? []), String(row.pattern)]);
  }
  return [...byScope].map(([name, words]) => ({ name, match: anyWord(words) }));
}

/** Signs, the longest first, so that `<=` is not taken for `<`. */
function signPatterns(category: "operator" | "punctuation"): Pattern[] {
  const signs = rows(category).flatMap(([, { pattern }]) => (typeof pattern === "string" ? [pattern] : []));
  const all = [...new Set(signs)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).map(escape);
  return [{ name: SCOPES[category], match: all.join("|") }];
}

function patternText({ pattern }: TokenRow): string {
  return pattern instanceof RegExp ? pattern.source : escape(String(pattern));
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
const anyWord = (all: readonly string[]): string => `\\b(?:${all.join("|")})\\b`;
