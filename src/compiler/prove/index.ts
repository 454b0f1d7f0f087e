/**
 * The prover's one door. It looks at the device-level kernel, the one that is printed as CUDA, and answers for
 * concrete world sizes and shapes, against our model of the PTX memory rules.
 */
import { definitionOf, type OpName } from "../ir/ops.js";
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { DimValues } from "../types/extent.js";
import { proveAnswer } from "./answer.js";
import { SAMPLE_NAMES } from "./inputs.js";
import type { SharedLayout } from "./machine.js";
import { proveOrdering } from "./ordering.js";
import type { Answer } from "./results.js";
import { proofShapes } from "./shapes.js";
import { steeringOf } from "./steering.js";

export { proveAnswer, type AnswerOptions } from "./answer.js";
export { proveOrdering, type OrderingOptions } from "./ordering.js";
export type { Answer, Claim, Place, Proved, Unknown, Wrong, WrongKind } from "./results.js";
export type { SharedLayout } from "./machine.js";
export { claimText, findings, summaryLine } from "./report.js";
export { proveResidency } from "./ordering.js";
export { PROOF_MAPPING, proofShapes } from "./shapes.js";

export interface ProveOptions {
  /** Shapes to prove; by default some that take every path of the kernel. */
  readonly shapes?: readonly DimValues[];
  /** Successive launches looked at together; 2 by default. */
  readonly launches?: number;
  readonly residentBlocks?: number;
  /** Where shared buffers lie: `sharedLayout(kernel)` of the printer, which lays some over each other. */
  readonly shared?: SharedLayout;
  /** Also prove the paths for buffers that start at odd addresses; true by default. */
  readonly misaligned?: boolean;
}

/** What is claimed of one kernel, which is of one world size. */
export interface Claims {
  readonly collective: string;
  readonly ranks: number;
  /** How many outputs it has. */
  readonly outputs: number;
  /** Inputs whose values decide what is accessed; sampled values stand for all. */
  readonly steering: readonly string[];
  /** One for each shape and alignment, in order; ends with the first that is not proved. */
  readonly answers: readonly Answer[];
  readonly orderings: readonly Answer[];
  /** The worst of the answers: wrong, else unknown, else proved. */
  readonly answer: Answer;
  readonly ordering: Answer;
  /** Ops that touch memory or flags: how many there are, and how many ran in some proof. */
  readonly coverage: { readonly total: number; readonly ran: number };
}

/**
 * Proves a compiled kernel. Compile it with `mapping: PROOF_MAPPING` (or one of your own): the number of threads
 * decides how large a shape is that takes every path.
 *
 * @throws RangeError for a kernel that did not reach the device level
 */
export function prove(compiled: { readonly kernel: Kernel | null }, options: ProveOptions = {}): Claims {
  const { kernel } = compiled;
  if (kernel === null) throw new RangeError("only a kernel that was compiled to the end can be proved");
  const executed = new Set<object>();
  const steering = [...steeringOf(kernel).inputs];
  const samples = steering.length > 0 ? SAMPLE_NAMES.length : 0;
  const run = (shapes: readonly DimValues[], one: (setting: Setting) => Answer): Answer[] => {
    const answers: Answer[] = [];
    for (const setting of settingsOf(shapes, options.misaligned !== false, samples)) {
      const answer = one(setting);
      answers.push(answer.status === "proved" ? { ...answer, samples } : answer);
      if (answer.status === "wrong") break;
      if (answer.status === "proved") for (const op of answer.executed) executed.add(op);
    }
    return answers;
  };
  const { launches, residentBlocks, shared } = options;
  const answers = run(options.shapes ?? proofShapes(kernel), (setting) =>
    proveAnswer(kernel, { ...setting, launches }),
  );
  const orderings = run(options.shapes ?? proofShapes(kernel, "ordering"), (setting) =>
    proveOrdering(kernel, { ...setting, launches, residentBlocks, shared }),
  );
  let total = 0;
  walkKernel(kernel, (op) => void (isCounted(op.name) && total++));
  return {
    collective: kernel.name,
    ranks: kernel.world,
    outputs: kernel.outputs.length,
    steering,
    answers,
    orderings,
    answer: worst(answers),
    ordering: worst(orderings),
    coverage: { total, ran: executed.size },
  };
}

interface Setting {
  readonly dims: DimValues;
  readonly aligned: boolean;
  readonly sample: number;
}

/** What is proved of the shapes: all aligned, and the ragged one otherwise, too; each set of values at the ragged one. */
function settingsOf(shapes: readonly DimValues[], misaligned: boolean, samples: number): Setting[] {
  const ragged = shapes[Math.min(1, shapes.length - 1)]!;
  const last = Math.max(0, samples - 1);
  const settings = shapes.map((dims): Setting => ({ dims, aligned: true, sample: last }));
  // Starting at odd addresses leaves only the scalar paths; the ragged shape takes all of those.
  if (misaligned) settings.push({ dims: ragged, aligned: false, sample: last });
  for (let sample = 0; sample < last; sample++) settings.push({ dims: ragged, aligned: true, sample });
  return settings;
}

const UNCOUNTED = new Set<OpName>(["block_sync", "copy_commit", "fragment_clear"]);

function isCounted(name: OpName): boolean {
  const { effect } = definitionOf(name);
  return (effect === "read" || effect === "write" || effect === "sync") && !UNCOUNTED.has(name);
}

function worst(answers: readonly Answer[]): Answer {
  return answers.find((a) => a.status === "wrong") ?? answers.find((a) => a.status === "unknown") ?? answers.at(-1)!;
}
