/**
 * Any text gets an answer: diagnostics or a kernel, quickly, and no internal error. What can be read comes out of the
 * formatter and of the printers of tree and kernels as it went in.
 */
import { expect, test } from "vitest";
import fc from "fast-check";
import { parseProgram, SourceFile } from "../../src/compiler/index.js";
import { COLLECTIVES } from "../front-end/collectives.js";
import { EXAMPLES } from "../front-end/language.js";
import { LIBRARY } from "../kernels/library.js";
import { explore } from "./explore.js";
import { grammarPrograms, grammarTexts } from "./grammar-texts.js";
import { mutants } from "./mutants.js";
import { compileEach, expectFormats, expectKernelsPrint, expectTreePrints } from "./properties.js";

const SOURCES = [...LIBRARY.map((f) => f.text), ...Object.values(COLLECTIVES), ...EXAMPLES.map((e) => e.text)];
const DTYPES = ["f32", "bf16", "f8e4m3", "i32", "u8"] as const;

const answered = fc.record({
  text: fc.constant(""),
  ranks: fc.integer({ min: 1, max: 4 }),
  dtype: fc.constantFrom(...DTYPES),
  width: fc.constantFrom(100, 30, 120, 1),
});

/** How many were read, and how many compiled: else the generator makes nothing but errors. */
const counts = { read: 0, compiled: 0 };

// The last number: how many of those that can be read compile, at least.
for (const [name, texts, share, runs, least, compiles] of [
  ["texts that follow the grammar", grammarTexts(), 0.1, 2000, 100, 0],
  ["programs with expressions that the grammar makes", grammarPrograms(SOURCES), 0.15, 2000, 100, 0.01],
  ["programs with accidents", mutants(SOURCES), 0.25, 3000, 200, 0.1],
] as const)
  test(`${name} get an answer`, { timeout: 3_600_000 }, async () => {
    counts.read = counts.compiled = 0;
    await explore({
      share,
      runs,
      least,
      inputs: fc.tuple(texts, answered).map(([text, how]) => ({ ...how, text })),
      show: ({ text, ranks, dtype, width }) => `${ranks} ranks, ${dtype}, width ${width}\n${text}`,
      check: async ({ text, ranks, dtype, width }) => {
        const { diagnostics } = parseProgram(new SourceFile("f.coll", text));
        if (!diagnostics.some((d) => d.severity === "error")) counts.read++;
        for (const compiled of compileEach(text, ranks, dtype)) {
          if (compiled.kernel !== null) counts.compiled++;
          expectKernelsPrint(compiled);
        }
        expectTreePrints(text);
        await expectFormats(text, width);
      },
    });
    console.log(`${name}: ${counts.read} could be read, ${counts.compiled} collectives compiled`);
    expect(counts.read).toBeGreaterThan(least / 4);
    // Else errors are all that is tried.
    expect(counts.compiled).toBeGreaterThanOrEqual(counts.read * compiles);
  });
