/** What is being written is hardly ever a program: nothing that an editor asks may fail on it. */
import { expect, test } from "vitest";
import { analyse, diagnose } from "../../src/lsp/analysis.js";
import { completionsAt } from "../../src/lsp/complete.js";
import { hoverAt } from "../../src/lsp/hover.js";
import { outlineOf } from "../../src/lsp/outline.js";
import { renameAt, RenameRefused } from "../../src/lsp/rename.js";
import type { Workspace } from "../../src/lsp/workspace.js";
import { EXAMPLES } from "../front-end/language.js";

/** One file, and no others. */
const ALONE: Workspace = { analysisOf: () => null, paths: () => [], uriOf: (path) => path };

function askEverything(text: string, offset: number): void {
  const a = analyse("t.coll", text);
  diagnose(a);
  outlineOf(a);
  for (const at of [0, offset, text.length]) {
    hoverAt(ALONE, a, at);
    completionsAt(ALONE, a, at);
    try {
      renameAt(ALONE, a, at, "renamed");
    } catch (error) {
      expect(error).toBeInstanceOf(RenameRefused);
    }
  }
  for (const s of a.symbols.symbols)
    for (const { start, end } of s.occurrences) expect(text.slice(start, end)).toBe(s.name);
}

test("programs that end anywhere", () => {
  EXAMPLES.forEach(({ text }, i) => {
    for (let end = i % 5; end < text.length; end += 11) askEverything(text.slice(0, end), end);
  });
});

test("programs that lack a piece, or hold one too many", () => {
  const pieces = ["", "(", "}", "{", "@", " let ", " = ", "x", "\n// c\n", "§", "collective "];
  EXAMPLES.forEach(({ text }, i) => {
    for (let at = i % 7; at < text.length; at += 23) {
      const piece = pieces[at % pieces.length]!;
      askEverything(text.slice(0, at) + piece + text.slice(at + 1 + (at % 4)), at);
    }
  });
});

test("renaming everything that has a name, in every example, changes names alone", () => {
  for (const { text, error } of EXAMPLES) {
    if (error !== null) continue;
    const a = analyse("t.coll", text);
    for (const s of a.symbols.symbols) {
      const edits = renameAt(ALONE, a, s.span.start, "Renamed")["t.coll"]!;
      expect(edits.length, `${s.name} in ${text}`).toBe(s.occurrences.length);
    }
  }
});
