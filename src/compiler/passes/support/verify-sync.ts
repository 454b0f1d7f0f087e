/** Is the synchronisation in a kernel enough? The same analysis that places it, as a check. */
import type { Kernel } from "../../ir/module.js";
import type { Conflict } from "./order.js";
import { distributeConditions } from "./rank-conditions.js";
import { SyncPlan } from "./sync-plan.js";
import { SyncKernel, SyncWalk } from "./sync-walk.js";

/** For each place of a rank-level kernel that lacks order, in the first launch where one does, a pair of accesses. */
export function verifySync(kernel: Kernel): readonly Conflict[] {
  const walk = new SyncWalk(new SyncKernel(distributeConditions(kernel).kernel), new SyncPlan(), "check");
  walk.launches();
  return walk.missing.map((m) => m.conflict);
}
