/** Is it ordered? Races, deadlocks, lost and unmatched signals over all ranks and blocks, and over successive launches. */
import type { Kernel, Op } from "../ir/module.js";
import { DEFAULT_MACHINE } from "../machine/machines.js";
import type { Span } from "../source.js";
import type { DimValues } from "../types/extent.js";
import { HappensBefore } from "../execute/order/happens-before.js";
import { checkRaces } from "../execute/order/races.js";
import type { SharedLayout } from "../execute/order/shared-places.js";
import { execute } from "./execute.js";
import { launchesOf } from "./launches.js";
import { gridOf } from "./machine.js";
import { raceOf } from "./race-witness.js";
import { isGuarded } from "./predicated.js";
import { type Answer, CannotTell, Fails, type Place, unknownBecause } from "./results.js";
import { checkUnmatched } from "./unmatched.js";
import { walkKernel } from "../ir/visit.js";

export interface OrderingOptions {
  readonly dims: DimValues;
  /** Successive launches on each rank's stream; by default as many as show all reuse of flags and scratch. */
  readonly launches?: number;
  readonly aligned?: boolean;
  /** Number of a set of values for inputs that steer. */
  readonly sample?: number;
  /** What random values of inputs that steer are drawn from; 0 by default. */
  readonly seed?: number;
  /** Whether every other launch has one block; see `MachineOptions`. */
  readonly unevenGrids?: boolean;
  /** Where shared buffers lie, if some lie over each other: `sharedLayout(kernel)` of the printer. */
  readonly shared?: SharedLayout;
  /** Blocks that are resident at once on one GPU; by default, one for each multiprocessor of the default machine. */
  readonly residentBlocks?: number;
}

/** A block on each multiprocessor is resident whatever it needs. */
const RESIDENT = DEFAULT_MACHINE.multiprocessors;

/** A wait spins: the block that it waits for must be running, or it never will. */
function checkResidency(kernel: Kernel, grid: number, resident: number): void {
  const waits: Op[] = [];
  walkKernel(kernel, (op) => void (op.name === "wait" && waits.push(op)));
  if (waits.length === 0 || grid <= resident) return;
  const place = (span: Span): Place => ({
    rank: 0,
    block: resident,
    launch: 0,
    span,
    what: "waits for a block that may start only when another ends",
  });
  throw new Fails("residency", `blocks wait for each other, but only ${resident} of the ${grid} are resident at once`, [
    place(waits[0]!.span),
  ]);
}

/**
 * Holds the largest grid of a kernel against the blocks that are resident at once. Unlike the other proofs it is about
 * the mapping that ships, whatever the shape.
 */
export function proveResidency(kernel: Kernel, residentBlocks = RESIDENT): Answer {
  const claim = { ranks: kernel.world, dims: {}, grid: kernel.maxBlocks, launches: 1, aligned: true };
  try {
    checkResidency(kernel, kernel.maxBlocks, residentBlocks);
    return {
      status: "proved",
      claim,
      checked: kernel.maxBlocks,
      samples: 0,
      unspecified: [],
      overflows: [],
      executed: [],
    };
  } catch (e) {
    if (!(e instanceof Fails)) throw e;
    const { kind, message, places, witness, help } = e;
    return { status: "wrong", claim, kind, message, places, witness, help };
  }
}

/**
 * Proves that every conflicting pair of accesses is ordered and every wait satisfied, in every schedule, against our
 * model of the PTX memory rules.
 */
export function proveOrdering(kernel: Kernel, options: OrderingOptions): Answer {
  // With uneven grids, the third is the first with all blocks again.
  const launches = options.launches ?? Math.max(launchesOf(kernel), options.unevenGrids === true ? 3 : 0);
  const grid = gridOf(kernel, options.dims);
  const claim = { ranks: kernel.world, dims: options.dims, grid, launches, aligned: options.aligned ?? true };
  try {
    checkResidency(kernel, grid, options.residentBlocks ?? RESIDENT);
    const machine = execute(kernel, { ...options, launches }, null, true);
    const trace = machine.trace!;
    const order = new HappensBefore(trace);
    checkRaces(trace, order, (a, b, element) => {
      const race = raceOf(trace, order, a, b, element);
      const condition = [a, b].map((access) => trace.opOf(access)).find((op) => isGuarded(op ?? null));
      if (condition == null) return race;
      throw new CannotTell(
        `nothing says that the conditions on data around them exclude each other: else ${race.message}; order them by a barrier, or let one rank store what it chose with 'where'`,
        condition.span,
      );
    });
    checkUnmatched(trace);
    return {
      status: "proved",
      claim,
      checked: trace.accesses,
      samples: 0,
      unspecified: [],
      overflows: [],
      executed: machine.executed,
    };
  } catch (e) {
    if (e instanceof CannotTell) return unknownBecause(kernel, claim, e);
    if (!(e instanceof Fails)) throw e;
    const { kind, message, places, witness, help } = e;
    return { status: "wrong", claim, kind, message, places, witness, help };
  }
}
