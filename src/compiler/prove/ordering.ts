/** Is it ordered? Races, deadlocks and lost signals over all ranks and blocks, and over successive launches. */
import type { Kernel } from "../ir/module.js";
import { NO_SPAN } from "../source.js";
import type { DimValues } from "../types/extent.js";
import { execute } from "./execute.js";
import { HappensBefore } from "./happens-before.js";
import { gridOf, type SharedLayout } from "./machine.js";
import { checkRaces } from "./races.js";
import { type Answer, CannotTell, Fails } from "./results.js";
import { walkKernel } from "../ir/visit.js";

export interface OrderingOptions {
  readonly dims: DimValues;
  /** Successive launches on each rank's stream; 2 by default, so that reuse of flags and scratch is seen. */
  readonly launches?: number;
  readonly aligned?: boolean;
  /** Where shared buffers lie, if some lie over each other: `sharedLayout(kernel)` of the printer. */
  readonly shared?: SharedLayout;
  /** Blocks that are resident at once on one GPU; 132 by default, one for each multiprocessor of an H200. */
  readonly residentBlocks?: number;
}

/**
 * Proves that every conflicting pair of accesses is ordered and every wait satisfied, in every schedule, against our
 * model of the PTX memory rules.
 */
export function proveOrdering(kernel: Kernel, options: OrderingOptions): Answer {
  const launches = options.launches ?? 2;
  const grid = gridOf(kernel, options.dims);
  const claim = { ranks: kernel.world, dims: options.dims, grid, launches };
  try {
    const resident = options.residentBlocks ?? 132;
    let waits = false;
    walkKernel(kernel, (op) => void (waits ||= op.name === "wait"));
    if (waits && grid > resident)
      throw new Fails(
        "residency",
        `blocks wait for each other, but only ${resident} of the ${grid} are resident at once`,
        [{ rank: 0, block: resident, launch: 0, span: NO_SPAN, what: "a block that may start only when another ends" }],
      );
    const machine = execute(kernel, { ...options, launches }, null, true);
    const trace = machine.trace!;
    checkRaces(trace, new HappensBefore(trace));
    return { status: "proved", claim, checked: trace.accesses, executed: machine.executed };
  } catch (e) {
    if (e instanceof CannotTell) return { status: "unknown", claim, reason: e.message };
    if (!(e instanceof Fails)) throw e;
    const { kind, message, places, witness } = e;
    return { status: "wrong", claim, kind, message, places, witness };
  }
}
