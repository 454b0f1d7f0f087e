/**
 * Kernels that are for long tensors alone. Where conditions on lengths leave no shape that an execution could go through, or none
 * that it is soon through with, the kernel is proved without them: what holds for every length holds for those that the conditions allow.
 * What holds at shapes alone is claimed of these, and only where no shape that they allow could be executed.
 */
import { type Kernel, multiplies } from "../ir/module.js";
import { type Requirement, requirementHolds } from "../types/requirement.js";
import type { Everywhere } from "./claims.js";
import { fitting, shortShape, wantedShapes } from "./lengths.js";
import { type Answer, placeOfLengths } from "./results.js";
import { shapesToProve } from "./shapes.js";
import { workOf } from "./work.js";

/** A kernel that takes shorter tensors, too. */
export interface Relaxed {
  readonly kernel: Kernel;
  /** The conditions that it lacks. */
  readonly without: readonly Requirement[];
  /** Whether the conditions allow nothing that could be executed in reasonable time. Else it is looked at in place of the kernel only where all holds for every length. */
  readonly isNeeded: boolean;
}

/** Elements that an execution goes through at the shortest shape, on all ranks, from which on it takes a minute and more. */
const LONG = 2 ** 18;

/** The same at the shape of a product that has ragged edges and several tiles: 2 ** 17.5 where the lengths are free, on 8 ranks. */
const LONG_PRODUCT = 2 ** 19;

/** Made once for each kernel: every proof asks. */
const known = new WeakMap<Kernel, Relaxed | null>();

/** The kernel without the conditions that keep it from what a proof can look at; null where it needs no such thing, or it is no help. */
export function relaxedOf(kernel: Kernel): Relaxed | null {
  let found = known.get(kernel);
  if (found === undefined) known.set(kernel, (found = relax(kernel)));
  return found;
}

function relax(kernel: Kernel): Relaxed | null {
  if (kernel.dims.length === 0) return null;
  const time = timeOf(kernel);
  if (time === "short") return null;
  const short = shortShape(kernel);
  // Where no lengths are found that the conditions allow, there may be none, and a claim would be about nothing.
  if (fitting(kernel, short) === null) return null;
  const without = kernel.requirements.filter((r) => !requirementHolds(r, short));
  if (without.length === 0) return null;
  const relaxed = lacking(kernel, without);
  const [shorter] = shapesToProve(relaxed, "answer", null);
  return shorter === undefined || workOf(relaxed, shorter.dims) >= LONG
    ? null
    : { kernel: relaxed, without, isNeeded: time === "endless" };
}

/**
 * How long it takes to execute what conditions allow. Products are nowhere shown of every length, and at the few lengths that end in time
 * most of what they consist of has no part: what is long for others is as good as endless for them, at the shape that has all parts.
 */
function timeOf(kernel: Kernel): "short" | "long" | "endless" {
  const [shortest] = shapesToProve(kernel, "answer", null);
  if (shortest === undefined) return "endless";
  if (!multiplies(kernel)) return workOf(kernel, shortest.dims) < LONG ? "short" : "long";
  const [, ragged] = wantedShapes(kernel, "answer").basic;
  const dims = ragged === undefined ? shortest.dims : fitting(kernel, ragged);
  return dims === null || workOf(kernel, dims) < LONG_PRODUCT ? "short" : "endless";
}

/** Whether only a form of the program that has other lengths can be executed: not even conditions keep this one from those. */
export function needsOtherLengths(kernel: Kernel): boolean {
  return timeOf(kernel) === "endless" && relaxedOf(kernel) === null;
}

/** By what is left out and kernel: what is kept about one is kept about this one, too. */
const lackingOf = new WeakMap<readonly Requirement[], WeakMap<Kernel, Kernel>>();

/** Another form of the kernel, or its program, without the same conditions. */
export function lacking(kernel: Kernel, without: readonly Requirement[]): Kernel {
  let kernels = lackingOf.get(without);
  if (kernels === undefined) lackingOf.set(without, (kernels = new WeakMap<Kernel, Kernel>()));
  let made = kernels.get(kernel);
  if (made === undefined) {
    const missing = new Set(without.map((r) => JSON.stringify(r)));
    made = { ...kernel, requirements: kernel.requirements.filter((r) => !missing.has(JSON.stringify(r))) };
    kernels.set(kernel, made);
  }
  return made;
}

/** Whether all that is claimed is shown of every length; only then do shapes that the conditions exclude say anything. */
export function holdsEverywhere({ every }: Everywhere): boolean {
  return every?.answer.holds === true && every.ordering.holds;
}

/** What stands in the way where it is not. */
export function stopOf({ every }: Everywhere): string | null {
  if (every === null) return null;
  const stop = every.ordering.holds ? every.answer : every.ordering;
  return stop.holds ? null : stop.reason;
}

/** What is wrong at a length that the conditions exclude is no fault of the program's: nothing is known then. */
export function withinConditions(kernel: Kernel, answer: Answer, { without }: Relaxed): Answer {
  if (answer.status === "proved") return answer;
  const what = answer.status === "wrong" ? answer.message : answer.reason;
  const at = Object.entries(answer.claim.dims).map(([name, n]) => `${name}=${n}`);
  return {
    status: "unknown",
    claim: answer.claim,
    reason: `the shapes that ${conditionsOf(without)} allows are too long to be looked at, and at ${at.join(" ")}, which is shorter, it does not hold: ${what}`,
    span: placeOfLengths(kernel),
    isTooMuch: false,
  };
}

/** "'where m * n >= 1000000'". */
export function conditionsOf(without: readonly Requirement[]): string {
  return without.map(({ reason }) => `'${reason}'`).join(" and ");
}
