/** How V8 runs what takes a second or two and makes much that is soon of no use. */
import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 optimise later, in all threads, and collect less often in those that begin after this.
 *
 * A check runs a lot of code for a second or two, each part of it once; the optimising
 * compiler, whose threads take the cores that the check is for, is hardly done when its code is no longer needed. Measured
 * on two cores: all_gather_qkv on 8 ranks 1.8 s → 1.4 s, the whole library on 2, 4 and 8 ranks 19 s → 14 s.
 * The flag is that of Node 20, whose default is 67584 (`node --v8-options`). Later ones have a quick compiler in between
 * and need nothing.
 *
 * A thread that proves a program of several ways makes some gigabytes of small objects. With a nursery of 16 MB, V8's own, what a proof
 * still uses is copied again and again: all_reduce.coll on 2, 4 and 8 ranks takes 11.0 s of processor in one thread with it, 9.5 s with 64 MB.
 */
export function expectShortRun(): void {
  setFlagsFromString("--max-semi-space-size=64");
  if (Number(process.versions.node.split(".")[0]) < 22) setFlagsFromString("--interrupt-budget=1000000");
}
