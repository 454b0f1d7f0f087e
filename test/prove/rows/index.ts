/**
 * Kernels whose blocks go through rows in rounds, as texts that mutants name the ops of: one loop over blocks for short rows, several of
 * which are a round, and one for long ones. What the compiler prints has one loop, and test/prove/every-row-mutants.test.ts has mutants of that.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of `norm`, `norm-of-4` ranks, `scattered-norm` or `softmax`; or of one `-of-few-threads`. */
export function rowsKernel(name: string): string {
  return readFileSync(join(import.meta.dirname, `${name}.ir`), "utf8");
}
