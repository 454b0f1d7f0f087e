/**
 * The values that we take from Chevrotain; types come from the package itself. Its entry loads some 700 small files, which
 * is half the time that `collc` takes to start; its build in one file is not among the package's exports, so it is found
 * beside the entry.
 */
import type * as Chevrotain from "chevrotain";

async function load(): Promise<typeof Chevrotain> {
  try {
    return (await import(new URL("../chevrotain.mjs", import.meta.resolve("chevrotain")).href)) as typeof Chevrotain;
  } catch {
    return import("chevrotain");
  }
}

export const chevrotain = await load();
export const { createToken, CstParser, defaultParserErrorProvider, EOF, Lexer, LLkLookaheadStrategy, tokenMatcher } =
  chevrotain;
