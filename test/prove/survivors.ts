/** Why mutants that the prover accepts behave no differently. A survivor that stands here for no reason is a failure. */
import type { Mutant } from "./mutants.js";

const EMPTY_GROUPS =
  "the loop commits an empty group for each step past the end, so that its own copy_wait has landed every real copy";
const RING_START =
  "what this wait orders is ordered already: the inbox by the last barrier of the launch before, and each output by the barriers of the steps before its first store to a peer";

const EXCUSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "all_reduce/ring": {
    "drop wait #1": RING_START,
    "relax wait #1": RING_START,
    "narrow wait #1": RING_START,
    "drop block_sync #1": RING_START,
  },
  "matmul/all_gather": { "drop copy_wait #2": EMPTY_GROUPS },
  "matmul/reduce_scatter": {
    "drop block_sync #1":
      "after the first wait a block copies its own rank's operands only; the pipeline synchronises before the first store to a peer",
    "drop copy_wait #2": EMPTY_GROUPS,
  },
};

export function excuseOf(file: string, mutant: Mutant): string | null {
  return EXCUSES[file]?.[mutant.name] ?? null;
}
