/** Is the synchronisation in a kernel enough? The same analysis that places it, as a check. */
import type { Kernel } from "../../ir/module.js";
import type { Conflict } from "./order.js";
import { distributeConditions } from "./rank-conditions.js";
import { SyncPlan } from "./sync-plan.js";
import { SyncKernel } from "./sync-kernel.js";
import { SyncWalk } from "./sync-walk.js";

/** For each place of a rank-level kernel that lacks order, in the first launch where one does, a pair of accesses: of the first domain that lacks any. */
export function verifySync(kernel: Kernel): readonly Conflict[] {
  const shared = new SyncKernel(distributeConditions(kernel).kernel);
  for (let domain = 0; domain < shared.domains; domain++) {
    const walk = new SyncWalk(shared, shared.domain(domain), new SyncPlan(), "check");
    walk.launches();
    if (walk.missing.length > 0) return walk.missing.map((m) => m.conflict);
  }
  return [];
}
