/** All kinds of inputs, how many of each a long run looks at, and what must hold of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { asFx, asGraph, compileGraph, graphFromText, lower } from "../../src/compiler/graph/index.js";
import { checkCollective, type CompileResult, type DType, parseProgram, SourceFile } from "../../src/compiler/index.js";
import { CollcError } from "../../src/runtime/errors.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { collc } from "../cli/support.js";
import { COLLECTIVES } from "../front-end/collectives.js";
import { EXAMPLES } from "../front-end/language.js";
import { fxRegions } from "../graph/fx-regions.js";
import { expectLowered } from "../graph/fx-support.js";
import { LIBRARY } from "../kernels/library.js";
import { commandLines, withAccidents } from "./accidents.js";
import { drawn } from "./choices.js";
import { explicitPrograms } from "./explicit-programs.js";
import { grammarPrograms, grammarTexts } from "./grammar-texts.js";
import { meshPrograms } from "./mesh-programs.js";
import { mixedPrograms } from "./mixed-programs.js";
import { mutants } from "./mutants.js";
import { compileEach, expectComputes, expectFormats, expectKernelsPrint, expectNothingWrong, expectRunsAgree, expectSameAgain, expectTreePrints } from "./properties.js"; // prettier-ignore
import { tensorPrograms } from "./tensor-programs.js";
import { type TypedProgram, typedPrograms } from "./typed-programs.js";

export const SOURCES = [...LIBRARY.map((f) => f.text), ...Object.values(COLLECTIVES), ...EXAMPLES.map((e) => e.text)];
const DTYPES = ["f32", "bf16", "f8e4m3", "i32", "u8"] as const;

export interface Kind<T = never> {
  readonly name: string;
  /** So many of a thousand inputs. */
  readonly weight: number;
  readonly inputs: fc.Arbitrary<T>;
  readonly show: (input: T) => string;
  readonly check: (input: T) => void | Promise<void>;
}

const how = fc.record({
  ranks: fc.integer({ min: 1, max: 4 }),
  dtype: fc.constantFrom(...DTYPES),
  width: fc.constantFrom(100, 30, 120, 1),
});
interface Text {
  readonly text: string;
  readonly ranks: number;
  readonly dtype: DType;
  readonly width: number;
}
const answered = (texts: fc.Arbitrary<string>): fc.Arbitrary<Text> => fc.tuple(texts, how).map(([text, h]) => ({ ...h, text })); // prettier-ignore
const showText = ({ text, ranks, dtype, width }: Text): string => `${ranks} ranks, ${dtype}, width ${width}\n${text}`;

/** Parsed and checked alone: a tenth of the time. */
async function frontEnd({ text, ranks, dtype, width }: Text): Promise<void> {
  const file = new SourceFile("f.coll", text);
  const { program, diagnostics } = parseProgram(file);
  if (diagnostics.some((d) => d.severity === "error")) return;
  for (const { name } of program.collectives)
    checkCollective(program, name.text, {
      world: ranks,
      dtypes: { T: dtype, U: "f32" },
      file,
      resolve: importsFromDisk,
    });
  if (width > 100) expectTreePrints(text);
  else await expectFormats(text, width);
}

/** A text that need not mean anything gets an answer, and prints as it was; what became of its collectives. */
export async function expectAnswer({ text, ranks, dtype, width }: Text): Promise<readonly CompileResult[]> {
  const all = compileEach(text, ranks, dtype);
  all.forEach(expectKernelsPrint);
  expectTreePrints(text);
  await expectFormats(text, width);
  return all;
}

export const ofText = (texts: fc.Arbitrary<string>): Pick<Kind<Text>, "inputs" | "show" | "check"> => ({
  inputs: answered(texts),
  show: showText,
  check: async (input) => void (await expectAnswer(input)),
});

/** What a program that follows the rules computes does not depend on the schedule; one with noise gets an answer. */
export async function expectTyped(p: TypedProgram): Promise<{ isCompiled: boolean; isProved: boolean }> {
  const { text, ranks, dtype, shapes, noise, also } = p;
  const all = compileEach(text, ranks, dtype);
  if (noise === 0) expect(all.flatMap((one) => one.diagnostics).filter((d) => d.severity === "error")).toEqual([]);
  if (also === "twice") expectSameAgain(all, text, ranks, dtype);
  if (also === "kernels") all.forEach(expectKernelsPrint);
  if (noise === 0) for (const one of all) expectRunsAgree(one, shapes, 1);
  let isProved = false;
  if (noise === 0 && also === "proof" && all.length === 1) {
    const { ordering } = expectNothingWrong(text, ranks, dtype, [shapes[0]!]);
    isProved = ordering.status === "proved";
  }
  expectTreePrints(text);
  await expectFormats(text, 100);
  return { isCompiled: all.length > 0 && all.every((one) => one.kernel !== null), isProved };
}

const showProgram = (p: { ranks: number; dtype: string; text: string }): string =>
  `${p.ranks} ranks, ${p.dtype}\n${p.text}`;

/** What is thrown at a person is in words; all else is a bug. */
function told(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof CollcError)) throw error;
  }
}

const brokenFx = fxRegions(false).chain(({ ranks, fx }) => drawn((c) => ({ ranks, fx: withAccidents(c, fx) })));
const brokenSizes = fxRegions(true).chain(({ ranks, fx }) => drawn((c) => ({ ranks, fx: withAccidents(c, fx) })));
const brokenGraphs = tensorPrograms().chain(({ text, ranks }) =>
  drawn((c) => ({ ranks, graph: withAccidents(c, graphFromText(text, { ranks }).graph!) })),
);

const kind = <T>(k: Kind<T>): Kind => k as unknown as Kind;

export const KINDS: readonly Kind[] = [
  kind({
    name: "accidents, front end",
    weight: 840,
    inputs: answered(mutants(SOURCES)),
    show: showText,
    check: frontEnd,
  }),
  kind({ name: "grammar, front end", weight: 20, inputs: answered(grammarTexts()), show: showText, check: frontEnd }),
  kind({
    name: "expressions, front end",
    weight: 60,
    inputs: answered(grammarPrograms(SOURCES)),
    show: showText,
    check: frontEnd,
  }),
  kind({ name: "accidents", weight: 8, ...ofText(mutants(SOURCES)) }),
  kind({ name: "grammar", weight: 2, ...ofText(grammarTexts()) }),
  kind({ name: "expressions", weight: 7, ...ofText(grammarPrograms(SOURCES)) }),
  kind({
    name: "typed, front end",
    weight: 18,
    inputs: typedPrograms().map((p) => ({ ...p, width: p.also === "kernels" ? 120 : 30 })),
    show: showProgram,
    check: frontEnd,
  }),
  kind({
    name: "typed",
    weight: 4,
    inputs: typedPrograms(),
    show: showProgram,
    check: async (p) => void (await expectTyped(p)),
  }),
  kind({ name: "explicit programs", weight: 1, inputs: explicitPrograms(), show: showProgram, check: expectComputes }),
  kind({ name: "tensor programs", weight: 1, inputs: tensorPrograms(), show: showProgram, check: expectComputes }),
  kind({ name: "mesh programs", weight: 1, inputs: meshPrograms(), show: showProgram, check: expectComputes }),
  kind({
    name: "mixed programs",
    weight: 1,
    inputs: mixedPrograms(),
    show: showProgram,
    check: async ({ text, ranks, dtype, shapes }) => {
      const [compiled] = compileEach(text, ranks, dtype);
      expect(compiled?.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
      expectRunsAgree(compiled!, shapes, 1);
      expectTreePrints(text);
      await expectFormats(text, 100);
    },
  }),
  kind({
    name: "FX regions",
    weight: 1,
    inputs: fxRegions(),
    show: (f) => JSON.stringify(f),
    check: ({ ranks, fx }) => void expectLowered(fx, { ranks, fuse: "legal" }),
  }),
  kind({
    name: "FX regions with accidents",
    weight: 15,
    inputs: fc.oneof(brokenFx, brokenSizes),
    show: (f) => JSON.stringify(f),
    check: ({ ranks, fx }) => told(() => lower(asFx(fx), { ranks, fuse: "legal" })),
  }),
  kind({
    name: "graphs with accidents",
    weight: 14,
    inputs: brokenGraphs,
    show: (f) => JSON.stringify(f),
    check: ({ ranks, graph }) => told(() => compileGraph(asGraph(graph), { ranks, dtype: "f32" })),
  }),
  kind({
    name: "command lines",
    weight: 7,
    inputs: commandLines(mutants(SOURCES)),
    show: ({ argv, text }) => `${argv.map((a) => JSON.stringify(a)).join(" ")}\n${text}`,
    check: async ({ argv, text }) => {
      const folder = mkdtempSync(join(tmpdir(), "collc-fuzz-"));
      const path = join(folder, "f.coll");
      try {
        writeFileSync(path, text);
        const { code, err, out } = await collc(argv.map((a) => (a === "FILE" ? path : a)));
        expect([0, 1, 2, 3], err + out).toContain(code);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  }),
];
