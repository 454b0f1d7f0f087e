/** What holds of any text, and of any program that is accepted. */
import { expect } from "vitest";
import {
  brokenRequirement,
  compile,
  type CompileResult,
  describeOutside,
  type DimValues,
  type DType,
  programOf,
  InternalCompilerError,
  outsideDimension,
  parseKernel,
  parseProgram,
  printKernel,
  printProgram,
  SourceFile,
} from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { type Claims, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { formatColl } from "../../src/formatter/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { checkOutputs, generatedInputs, makeInputs, programElements } from "../../src/runtime/reference/index.js";
import { someScalars } from "../../src/runtime/shapes.js";
import { withoutSpans } from "../front-end/helpers.js";

const treeOf = (text: string): unknown => withoutSpans(parseProgram(new SourceFile("f.coll", text)).program);
const commentsOf = (text: string): string[] => [...text.matchAll(/\/\/[^\n]*/g)].map((m) => m[0].trimEnd());

/** Compiles every collective of a text. Only a bug in the compiler throws. */
export function compileEach(text: string, ranks: number, dtype: DType): CompileResult[] {
  const { program, diagnostics } = parseProgram(new SourceFile("f.coll", text));
  if (diagnostics.some((d) => d.severity === "error")) return [];
  return program.collectives.map((c) => {
    try {
      return compile(text, { file: "f.coll", collective: c.name.text, ranks, dtype, resolve: importsFromDisk });
    } catch (error) {
      const ir = error instanceof InternalCompilerError ? `\n${error.moduleText.slice(0, 3000)}` : "";
      throw new Error(`${ranks} ranks, ${dtype}: ${error instanceof Error ? error.stack : String(error)}${ir}`, { cause: error }); // prettier-ignore
    }
  });
}

/** What is compiled once more is the same, letter by letter. */
export function expectSameAgain(before: readonly CompileResult[], text: string, ranks: number, dtype: DType): void {
  const parts = (all: readonly CompileResult[]): unknown => all.map((one) => [one.kernels.map((k) => k.cuda), one.manifest, one.diagnostics]); // prettier-ignore
  expect(parts(compileEach(text, ranks, dtype))).toEqual(parts(before));
}

/** The formatter keeps a readable program's tree and comments, and is done after one time. */
export async function expectFormats(text: string, printWidth: number): Promise<void> {
  const { diagnostics } = parseProgram(new SourceFile("f.coll", text));
  if (diagnostics.some((d) => d.severity === "error")) return;
  const once = await formatColl(text, { printWidth });
  expect(treeOf(once)).toEqual(treeOf(text));
  expect(commentsOf(once)).toEqual(commentsOf(text.replace(/\r(?!\n)/g, " ")));
  expect(await formatColl(once, { printWidth })).toBe(once);
}

/** The tree prints to a text with the same tree. */
export function expectTreePrints(text: string): void {
  const { program, diagnostics } = parseProgram(new SourceFile("f.coll", text));
  if (diagnostics.some((d) => d.severity === "error")) return;
  expect(treeOf(printProgram(program))).toEqual(withoutSpans(program));
}

/** The kernel after every pass prints to a text that is read back as the same kernel. */
export function expectKernelsPrint({ snapshots }: CompileResult): void {
  let before = "";
  for (const { pass, kernel } of snapshots) {
    const printed = printKernel(kernel, { spans: true });
    // Passes that had nothing to do are not worth reading again.
    if (printed !== before) expect(printKernel(parseKernel(printed), { spans: true }), `after ${pass}`).toBe(printed);
    before = printed;
  }
}

/** No index leaves its dimension. */
function expectInside(compiled: CompileResult, shapes: readonly DimValues[]): void {
  const elements = programOf(compiled.snapshots)!;
  for (const dims of shapes.filter((d) => brokenRequirement(elements.requirements, d) === null)) {
    const found = outsideDimension(elements, dims);
    expect(found === null ? "" : describeOutside(found)).toBe("");
  }
}

/** Two launches on emulated ranks give what the signature says. */
export function expectRuns(compiled: CompileResult, shapes: readonly DimValues[], seed: number): void {
  const { kernel, manifest, source, diagnostics } = compiled;
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, seed });
  expectInside(compiled, shapes);
  for (const dims of shapes.filter((d) => brokenRequirement(manifest!.requirements, d) === null))
    for (const launch of [1, 2]) {
      const given = { ...dims, ...someScalars(manifest!) };
      const ranks = makeInputs(manifest!, dims, seed + launch);
      group.run(ranks, given);
      // What a program rounds on its way, such as the sums of a product that it sends, is no mistake.
      const own = programElements(kernel!, manifest!, given, [generatedInputs(manifest!, dims, seed + launch)])(0);
      const result = checkOutputs(manifest!, given, ranks, ranks, { program: own });
      const of = `${manifest!.ranks} ranks, ${JSON.stringify(manifest!.dtypes)}, ${JSON.stringify(dims)}, launch ${launch}`;
      expect(result, of).toMatchObject({ correct: true, unspecified: [] });
    }
}

/** The same where outputs may have no specification: those are the same under any schedule, on any number of blocks. */
export function expectRunsAgree(compiled: CompileResult, shapes: readonly DimValues[], seed: number): void {
  const { kernel, manifest, source } = compiled;
  const groups = [
    new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, seed }),
    new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, seed: seed + 1, maxBlocks: 2, reverseThreads: true }), // prettier-ignore
  ];
  expectInside(compiled, shapes);
  for (const [launch, dims] of shapes.entries()) {
    const given = { ...dims, ...someScalars(manifest!) };
    const [one, other] = groups.map((group) => {
      const ranks = makeInputs(manifest!, dims, seed + launch);
      group.run(ranks, given);
      return ranks;
    });
    const of = `${manifest!.ranks} ranks, ${JSON.stringify(manifest!.dtypes)}, ${JSON.stringify(dims)}`;
    const result = checkOutputs(manifest!, given, one!, one!);
    expect(result, of).toMatchObject({ correct: true });
    expect(result.bitwiseEqualAcrossRanks, of).not.toBe(false);
    for (const { name, layout } of manifest!.outputs)
      for (const rank of layout.kind === "on" ? [layout.rank] : one!.keys())
        expect(other![rank]!.outputs[name], `${name} of rank ${rank}, ${of}`).toEqual(one![rank]!.outputs[name]);
  }
}

/**
 * The prover finds neither a wrong answer nor a wrong order; what it says.
 * @param shapes without them, those that take every path of the kernel, which takes seconds where much is folded
 */
export function expectNothingWrong(text: string, ranks: number, dtype: DType, shapes?: readonly DimValues[]): Claims {
  const compiled = compile(text, { file: "f.coll", ranks, dtype, mapping: PROOF_MAPPING, resolve: importsFromDisk });
  const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!), ...(shapes && { shapes }) });
  for (const claim of [claims.answer, claims.ordering]) expect(claim.status, summaryLine(claims)).not.toBe("wrong");
  return claims;
}

/** A program that a generator has made, and what it may be compiled and launched with. */
export interface MadeProgram {
  readonly text: string;
  readonly ranks: number;
  readonly dtype: DType;
  readonly shapes: readonly DimValues[];
}

/** A program that says itself what it computes does so, and its text and kernels print as they were. */
export async function expectComputes({ text, ranks, dtype, shapes }: MadeProgram): Promise<void> {
  const [compiled] = compileEach(text, ranks, dtype);
  if (compiled === undefined) throw new Error("the generator made no program");
  expectRuns(compiled, shapes, 1);
  expectKernelsPrint(compiled);
  expectTreePrints(text);
  await expectFormats(text, 100);
}
