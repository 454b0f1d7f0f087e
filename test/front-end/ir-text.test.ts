/** The text form of the IR is complete: every kernel, after every pass, prints, parses and prints to the same text. */
import { describe, expect, test } from "vitest";
import { type CompileResult, parseKernel, printKernel } from "../../src/compiler/index.js";
import { isAll, pairs, turned } from "../scope.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { COLLECTIVES } from "./collectives.js";
import { compileAll } from "./helpers.js";
import { EXAMPLES } from "./language.js";

function expectRoundTrips(results: readonly CompileResult[]): void {
  for (const { snapshots, diagnostics } of results) {
    expect(diagnostics).toEqual([]);
    for (const { pass, kernel } of snapshots)
      for (const spans of [true, false]) {
        const printed = printKernel(kernel, { spans });
        expect(printKernel(parseKernel(printed), { spans }), `after ${pass}, spans ${spans ? "on" : "off"}`).toBe(
          printed,
        );
      }
  }
}

const FEW = [
  [2, "f32"],
  [4, "bf16"],
] as const;

describe("kernels of the library", () => {
  for (const [turn, file] of LIBRARY.entries())
    test(file.name, () => {
      // Of a kernel on one rank and on two there is little that one on four has not.
      for (const [ranks, dtype] of isAll ? pairs([1, 2, 4], ["f32", "bf16"] as const, 0) : turned(FEW, turn))
        expectRoundTrips([compileFile(file, { ranks, dtype })]);
    });
});

describe("collectives of the tests", () => {
  for (const [name, text] of Object.entries(COLLECTIVES))
    test(name, () => expectRoundTrips(compileAll(text, 3, "f16")));
});

describe("examples of LANGUAGE.md", () => {
  for (const e of EXAMPLES)
    if (e.error === null) test(`line ${e.line}: ${e.section}`, () => expectRoundTrips(compileAll(e.text, 2)));
});
