/** How soon V8 optimises what runs often. */
import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 optimise later, in all threads. A check runs a lot of code for a second or two, each part of it once; the optimising
 * compiler, whose threads take the cores that the check is for, is hardly done when its code is no longer needed. Measured
 * on two cores: all_gather_qkv on 8 ranks 1.8 s → 1.4 s, the whole library on 2, 4 and 8 ranks 19 s → 14 s.
 *
 * The flag is that of Node 20, whose default is 67584 (`node --v8-options`). Later ones have a quick compiler in between
 * and need nothing.
 */
export function optimiseLater(): void {
  if (Number(process.versions.node.split(".")[0]) < 22) setFlagsFromString("--interrupt-budget=1000000");
}
