/** The TextMate grammar is fresh, and colours what the lexer reads as the lexer reads it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { expect, test } from "vitest";
import { textMateGrammar } from "../../grammar/editor/generate.js";
import { collLexer, type TokenName, VOCABULARY } from "../../grammar/tokens.js";
import { WORDS, type WordKind } from "../../src/lsp/words.js";
import { EXAMPLES } from "../front-end/language.js";

const path = join(import.meta.dirname, "../../grammar/editor/coll.tmLanguage.json");
const named = (...kinds: WordKind[]): string[] => WORDS.filter((w) => kinds.includes(w.kind)).map((w) => w.name);

const grammar = textMateGrammar({
  functions: named("function", "conversion", "reduction"),
  types: named("dtype"),
  layouts: named("layout"),
  values: named("value"),
}) as { patterns: { name?: string; match: string }[] };

test("grammar/editor/coll.tmLanguage.json is fresh", async () => {
  const text = await format(JSON.stringify(grammar), { parser: "json", printWidth: 120 });
  if (process.env["UPDATE_GOLDENS"] === "1") writeFileSync(path, text);
  expect(readFileSync(path, "utf8"), "write it with UPDATE_GOLDENS=1 npx vitest run test/lsp/textmate.test.ts").toBe(
    text,
  );
});

/** The scope of the first pattern that matches at each place, as an editor finds it. */
function scopesOf(line: string): Map<number, string> {
  const patterns = grammar.patterns.map((p) => ({
    name: p.name ?? "storage.type.coll",
    regexp: new RegExp(p.match, "y"),
  }));
  const out = new Map<number, string>();
  for (let at = 0; at < line.length;) {
    const hit = patterns.find(({ regexp }) => ((regexp.lastIndex = at), regexp.test(line)));
    if (hit === undefined) at++;
    else {
      out.set(at, hit.name);
      at = Math.max(at + 1, hit.regexp.lastIndex);
    }
  }
  return out;
}

test("every keyword, number, sign and comment of the reference has its colour", () => {
  const prefix: Partial<Record<string, RegExp>> = {
    keyword: /^(keyword|storage|support\.function)/,
    number: /^constant\.numeric/,
    operator: /^keyword\.operator/,
    punctuation: /^punctuation/,
    comment: /^comment/,
  };
  for (const { text } of EXAMPLES)
    for (const line of text.split("\n")) {
      const scopes = scopesOf(line);
      for (const t of collLexer.tokenize(line).tokens) {
        const { category } = VOCABULARY[t.tokenType.name as TokenName];
        if (category !== "name") expect(scopes.get(t.startOffset), `${t.image} in ${line}`).toMatch(prefix[category]!);
      }
    }
});

test("words have one doc each, and none is missing", () => {
  for (const w of WORDS) expect(w.doc, w.name).not.toBe("");
  expect(WORDS.filter((w) => /^(A function of one value|A reduction)\.$/.test(w.doc))).toEqual([]);
});

test("no pattern looks back over more than one character, which Oniguruma could not", () => {
  for (const { match } of grammar.patterns) expect(match.replaceAll("(?<![A-Za-z_0-9])", "")).not.toMatch(/\(\?<[=!]/);
});
