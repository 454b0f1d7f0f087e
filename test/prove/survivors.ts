/** Why mutants that the prover accepts behave no differently. A survivor that stands here for no reason is a failure. */
import type { Mutant } from "./mutants.js";

const FIRST_SYNC =
  "the first block_sync has nothing before it but every thread's own load of the epoch; what the rank did before, the stream has ordered";
const LAST_SYNC =
  "after the last wait one thread stores the epoch, which all threads read before an earlier block_sync; the kernel's end joins the rest";
const FLAGS_TURNED =
  "the threads of a grid barrier wait for the flags of all ranks together, so it does not matter which flag is whose";
const EMPTY_GROUPS =
  "the loop commits an empty group for each step past the end, so that its own copy_wait has landed every real copy";
const RING_START =
  "what this wait orders is ordered already: the inbox by the last barrier of the launch before, and each output by the barriers of the steps before its first store to a peer";

const EXCUSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "all_reduce/ring": {
    "drop wait #1": RING_START,
    "relax wait #1": RING_START,
    "narrow wait #1": RING_START,
    "drop block_sync #2": RING_START,
    "drop block_sync #8": LAST_SYNC,
  },
  "matmul/all_gather": {
    "next slot of signal #2": FLAGS_TURNED,
    "next slot of wait #2": FLAGS_TURNED,
    "drop copy_wait #2": EMPTY_GROUPS,
  },
  "matmul/reduce_scatter": {
    "drop block_sync #2":
      "after the first wait a block copies its own rank's operands only; the pipeline synchronises before the first store to a peer",
    "drop copy_wait #2": EMPTY_GROUPS,
    "drop block_sync #7":
      "each turn of the loop over tiles ends with a block_sync, and nothing stands between the last one and this",
    "next slot of signal #2": FLAGS_TURNED,
    "next slot of wait #2": FLAGS_TURNED,
  },
};

export function excuseOf(file: string, mutant: Mutant): string | null {
  const own = EXCUSES[file]?.[mutant.name];
  if (own !== undefined) return own;
  if (mutant.name === "drop block_sync #1") return FIRST_SYNC;
  return mutant.name === "drop block_sync #4" && !file.startsWith("matmul") ? LAST_SYNC : null;
}
