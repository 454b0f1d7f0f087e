/** Both verifiers in order; a failure is a compiler bug and throws with the kernel's text. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel } from "./module.js";
import { printKernel } from "./print.js";
import { verifyMeaning } from "./verify-meaning.js";
import { type Problem, verifyStructure } from "./verify-structure.js";

/** All problems found; meaning is looked at only when the structure is sound. */
export function problemsOf(kernel: Kernel): Problem[] {
  const structural = verifyStructure(kernel);
  return structural.length > 0 ? structural : verifyMeaning(kernel);
}

/** Throws InternalCompilerError if the kernel is not well formed. `when` says where in the pipeline. */
export function verify(kernel: Kernel, when: string): void {
  expectNone(problemsOf(kernel), kernel, when);
}

/** Throws InternalCompilerError if there are problems. */
export function expectNone(problems: readonly Problem[], kernel: Kernel, when: string): void {
  if (problems.length === 0) return;
  const list = problems.slice(0, 8).map((p) => `  - ${p.message}`);
  throw new InternalCompilerError(`the IR is malformed ${when}:\n${list.join("\n")}`, printKernel(kernel));
}
