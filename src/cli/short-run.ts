/** How V8 runs a command that takes a second or two and makes much that is soon of no use. */
import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 optimise later, in all threads, and collect less often in those that begin after this.
 *
 * A compilation or a check runs a lot of code for a second or two, each part of it a few times; the optimising
 * compiler, whose threads take the cores that the command is for, is hardly done when its code is no longer needed. Measured
 * on two cores: a check of all_gather_qkv on 8 ranks 1.8 s → 1.4 s; on cores that others used, too, in seconds of processor (2026-11-29): `explain` of
 * matmul/reduce_scatter 3.3 → 2.2, `run` of it on 4 emulated ranks 4.4 → 2.7, `lower` of a layer 9.7 → 7. What runs one loop for long, such as
 * `run` of 4 million elements, takes as long with it as without.
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
