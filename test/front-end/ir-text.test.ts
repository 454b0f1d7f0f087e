/** The text form of the IR is complete: every kernel, after every pass, prints, parses and prints to the same text. */
import { describe, expect, test } from "vitest";
import { type CompileResult, parseKernel, printKernel } from "../../src/compiler/index.js";
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

describe("kernels of the library", () => {
  for (const file of LIBRARY)
    test(file.name, () => {
      for (const ranks of [1, 2, 4])
        for (const dtype of ["f32", "bf16"] as const) expectRoundTrips([compileFile(file, { ranks, dtype })]);
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
