/** Products of programs in tests, compiled for two ranks, and the ops that came of them. */
import { expect } from "vitest";
import { compile, type CompileResult, type DType } from "../../src/compiler/index.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";

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
