/** Products of programs in tests, compiled for two ranks, and the ops that came of them. */
import { expect } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type CompileResult, type DType } from "../../src/compiler/index.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { prove, summaryLine } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

export function compiled(text: string, dtype: DType | Readonly<Record<string, DType>>, mapping = {}): CompileResult {
  const result = compile(text, { ranks: 2, dtype, mapping });
  expect(result.diagnostics.filter((d) => d.severity === "error").map((d) => d.message)).toEqual([]);
  return result;
}

export function opsOf(result: CompileResult, name: string): Op[] {
  return opsIn(result.kernel!, name);
}

export function opsIn(kernel: Kernel, name: string): Op[] {
  const found: Op[] = [];
  walkKernel(kernel, (op) => void (op.name === name && found.push(op)));
  return found;
}

/** Runs a kernel on emulated ranks, one launch for each of the shapes, every load of what nobody has written an error. */
export function expectRight(
  { kernel, manifest, source }: Pick<CompileResult, "kernel" | "manifest" | "source">,
  shapes: readonly DimValues[],
): void {
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
  for (const dims of shapes) {
    const data = makeInputs(manifest!, dims, 5);
    group.run(data, dims);
    expect([dims, checkOutputs(manifest!, dims, data, data)]).toMatchObject([dims, { correct: true, unspecified: [] }]);
  }
}

export function expectProved({ kernel }: Pick<CompileResult, "kernel">, shapes?: DimValues[]): void {
  const claims = prove({ kernel }, { shared: sharedLayout(kernel!), ...(shapes === undefined ? {} : { shapes }) });
  expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
}

/** Whether depths are cut at some lengths: blocks then hand each other pieces. */
export function isCutAt({ kernel }: CompileResult, dims: DimValues): boolean {
  const { coverage } = prove({ kernel }, { shared: sharedLayout(kernel!), shapes: [dims] });
  return !coverage.idle.some(({ what }) => what.startsWith("fragment_put"));
}
