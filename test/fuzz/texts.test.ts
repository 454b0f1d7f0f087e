/**
 * Any text gets an answer: diagnostics or a kernel, quickly, and no internal error. What can be read comes out of the
 * formatter and of the printers of tree and kernels as it went in.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkCollective, parseProgram, SourceFile } from "../../src/compiler/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { explore } from "./explore.js";
import { PRODUCTIONS, productionsIn } from "./grammar-coverage.js";
import { grammarPrograms, grammarTexts } from "./grammar-texts.js";
import { expectAnswer, expectTyped, ofText, SOURCES } from "./kinds.js";
import { mutants } from "./mutants.js";
import { type TypedProgram, typedPrograms } from "./typed-programs.js";

// The last numbers: which share of the least can be read, and of those that can be read compiles, at least. Of 60 seeds, 25 to 41 of
// the 60 texts could be read (3.6 the standard deviation), 36 to 59 of the 100 (4.9), and 33 to 64 of the 200 (6.2).
for (const [name, texts, share, runs, least, reads, compiles] of [
  ["texts that follow the grammar alone", grammarTexts(), 0.05, 1000, 60, 1 / 4, 0],
  ["programs with expressions that the grammar makes", grammarPrograms(SOURCES), 0.1, 2000, 100, 1 / 4, 0.01],
  ["programs with accidents", mutants(SOURCES), 0.25, 3000, 200, 1 / 8, 0.1],
] as const)
  test(`${name} get an answer`, { timeout: 3_600_000 }, async () => {
    const counts = { read: 0, compiled: 0 };
    const { inputs, show } = ofText(texts);
    type Input = typeof inputs extends fc.Arbitrary<infer I> ? I : never;
    const check = async (input: Input): Promise<void> => {
      const all = await expectAnswer(input);
      if (parseProgram(new SourceFile("f.coll", input.text)).diagnostics.every((d) => d.severity !== "error")) counts.read++; // prettier-ignore
      counts.compiled += all.filter((one) => one.kernel !== null).length;
    };
    await explore({ share, runs, least, inputs, show, check });
    // One expression in fifty compiles: of the hundred that a slow machine looks at, there may be none. It looks at some more.
    for (let seed = 1; seed <= 20 && counts.compiled < counts.read * compiles; seed++)
      for (const input of fc.sample(inputs, { numRuns: 50, seed })) await check(input);
    console.log(`${name}: ${counts.read} could be read, ${counts.compiled} collectives compiled`);
    expect(counts.read).toBeGreaterThan(least * reads);
    // Else errors are all that is tried.
    expect(counts.compiled).toBeGreaterThanOrEqual(counts.read * compiles);
  });

test(
  "programs that follow the grammar and the rules compile, and compute the same under any schedule",
  { timeout: 3_600_000 },
  async () => {
    const least = 45;
    const counts = { made: 0, compiled: 0, plain: 0, proved: 0 };
    let compiledOfLeast = 0;
    const productions = new Set<string>();
    await explore({
      share: 0.4,
      runs: 300,
      least,
      inputs: typedPrograms(),
      show: (p) => `${p.ranks} ranks, ${p.dtype}\n${p.text}`,
      check: async (p) => {
        counts.made++;
        const { isCompiled, isProved } = await expectTyped(p);
        if (p.noise === 0) counts.plain++;
        if (isProved) counts.proved++;
        if (!isCompiled) return;
        counts.compiled++;
        if (counts.made <= least) compiledOfLeast++;
        for (const one of productionsIn(p.text)) productions.add(one);
      },
    });
    console.log(`typed programs: ${JSON.stringify(counts)}, with ${productions.size} of the grammar's ${PRODUCTIONS.size} productions in those that compile`); // prettier-ignore
    // Two of three do, and of those without noise all: that is checked of each.
    expect(compiledOfLeast).toBeGreaterThan(least / 3);
  },
);

test("every production of the grammar is in a program that is accepted, and the dial makes noise", () => {
  const accepted = ({ text, ranks, dtype }: TypedProgram): boolean => {
    const file = new SourceFile("f.coll", text);
    const { program, diagnostics } = parseProgram(file);
    const options = { world: ranks, dtypes: { T: dtype }, file, resolve: importsFromDisk };
    return [...diagnostics, ...program.collectives.flatMap((c) => checkCollective(program, c.name.text, options).diagnostics)].every((d) => d.severity !== "error"); // prettier-ignore
  };
  const found = new Set<string>();
  for (const p of fc.sample(typedPrograms(0), { seed: 5, numRuns: 300 })) {
    expect(accepted(p), p.text).toBe(true);
    for (const one of productionsIn(p.text)) found.add(one);
  }
  expect([...PRODUCTIONS].filter((one) => !found.has(one))).toEqual([]);
  const noisy = fc.sample(typedPrograms(0.3), { seed: 5, numRuns: 60 }).filter((p) => p.noise > 0);
  expect(noisy.length).toBeGreaterThan(15);
  expect(noisy.filter((p) => accepted(p)).length).toBeLessThan(noisy.length / 2);
});
