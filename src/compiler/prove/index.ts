/**
 * The prover's one door. It looks at the device-level kernel, the one that is printed as CUDA, and answers for
 * concrete world sizes and shapes, against our model of the PTX memory rules.
 */
import { definitionOf, type OpName } from "../ir/ops.js";
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { DimValues } from "../types/extent.js";
import { requirementHolds } from "../types/requirement.js";
import { proveAnswer } from "./answer.js";
import { SAMPLE_NAMES } from "./inputs.js";
import type { SharedLayout } from "./machine.js";
import { proveOrdering } from "./ordering.js";
import type { Answer } from "./results.js";
import { type ProofShape, rowDimension, shapesToProve } from "./shapes.js";
import { steeringOf } from "./steering.js";

export { proveAnswer, type AnswerOptions } from "./answer.js";
export { proveOrdering, type OrderingOptions } from "./ordering.js";
export type { Answer, Claim, Place, Proved, Unknown, Wrong, WrongKind } from "./results.js";
export type { SharedLayout } from "./machine.js";
export { claimText, findings, summaryLine } from "./report.js";
export { proveResidency } from "./ordering.js";
export { PROOF_MAPPING, proofShapes, rowDimension } from "./shapes.js";

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
  let total = 0;
  walkKernel(kernel, (op) => void (isCounted(op.name) && total++));
  const executed = new Set<object>();
  const steering = [...steeringOf(kernel).inputs];
  const samples = steering.length > 0 ? SAMPLE_NAMES.length : 0;
  /** Shapes behind the basic ones that took a path that no other had taken. */
  const further = new Set<string>();
  const { launches, residentBlocks, shared } = options;
  const run = (claim: "answer" | "ordering", one: (setting: Setting) => Answer): Answer[] => {
    const answers: Answer[] = [];
    const own = new Set<object>();
    const shapes = options.shapes?.map((dims) => ({ dims, isFurther: false })) ?? shapesToProve(kernel, claim);
    for (const setting of settingsOf(kernel, shapes, options.misaligned !== false, samples)) {
      if (setting.unevenGrids && (claim === "answer" || !keepsState(kernel))) continue;
      const { isFurther } = setting;
      const key = JSON.stringify(setting.dims);
      if (isFurther && (own.size === total || (claim === "answer" && !further.has(key)))) continue;
      const before = own.size;
      const answer = one(setting);
      answers.push(answer.status === "proved" ? { ...answer, samples } : answer);
      if (answer.status === "wrong") break;
      if (answer.status === "proved") for (const op of answer.executed) own.add(op);
      if (isFurther && own.size > before) further.add(key);
    }
    for (const op of own) executed.add(op);
    return answers;
  };
  // The ordering first: it costs less, and says which shapes are worth an answer.
  const orderings = run("ordering", (setting) =>
    proveOrdering(kernel, { ...setting, launches, residentBlocks, shared }),
  );
  const answers = run("answer", (setting) => proveAnswer(kernel, { ...setting, launches }));
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

/** Whether something outlives a launch that each block keeps for itself. */
function keepsState({ buffers }: Kernel): boolean {
  return buffers.some((b) => b.role === "state");
}

/** Elements, where only the rows matter. */
const SHORT_ROW = 19;

interface Setting {
  readonly dims: DimValues;
  readonly aligned: boolean;
  readonly sample: number;
  /** Whether every other launch has one block. */
  readonly unevenGrids: boolean;
  /** Only for paths that nothing before has taken. */
  readonly isFurther: boolean;
}

/**
 * What is proved of the shapes: all aligned, and the ragged one otherwise, too; each set of values that steer at the
 * ragged one, with shorter rows where it has rows.
 */
function settingsOf(kernel: Kernel, shapes: readonly ProofShape[], misaligned: boolean, samples: number): Setting[] {
  const ragged = shapes[Math.min(1, shapes.length - 1)]!.dims;
  const names = Object.keys(ragged);
  const row = rowDimension(kernel) ?? "";
  const short = { ...ragged, [row]: Math.min(ragged[row] ?? 0, SHORT_ROW) };
  const sampled = names.length > 1 && kernel.requirements.every((r) => requirementHolds(r, short)) ? short : ragged;
  const last = Math.max(0, samples - 1);
  const basic = { aligned: true, sample: last, unevenGrids: false, isFurther: false };
  const settings = shapes.filter((s) => !s.isFurther).map(({ dims }): Setting => ({ ...basic, dims }));
  // Starting at odd addresses leaves only the scalar paths; the ragged shape takes all of those.
  if (misaligned) settings.push({ ...basic, dims: ragged, aligned: false });
  settings.push({ ...basic, dims: ragged, unevenGrids: true });
  for (let sample = 0; sample < last; sample++) settings.push({ ...basic, dims: sampled, sample });
  for (const { dims, isFurther } of shapes) if (isFurther) settings.push({ ...basic, dims, isFurther });
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
