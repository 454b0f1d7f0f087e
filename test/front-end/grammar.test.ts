/** What Chevrotain finds wrong with a vocabulary or a grammar, it says when asked, which no command does: it takes time. */
import { describe, expect, test } from "vitest";
import { Lexer } from "../../grammar/chevrotain.js";
import { CollParser } from "../../grammar/parser.js";
import { TOKENS } from "../../grammar/tokens.js";

describe("the grammar is sound", () => {
  test("patterns of tokens", () => {
    const lexer = new Lexer(Object.values(TOKENS), { positionTracking: "full", deferDefinitionErrorsHandling: true });
    expect(lexer.lexerDefinitionErrors).toEqual([]);
  });

  test("alternatives that are told apart, rules without left recursion, loops that go on", () => {
    expect(() => new CollParser(true)).not.toThrow();
  });
});
