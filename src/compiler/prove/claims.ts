/**
 * The claims about one kernel: its answer and its ordering, each at all shapes and alignments that are worth it. The two
 * can be proved by different threads; what comes out is plain data.
 */
import type { Kernel } from "../ir/module.js";
import type { Span } from "../source.js";
import type { DimValues } from "../types/extent.js";
import type { Requirement } from "../types/requirement.js";
import type { MeshAxis } from "../types/mesh.js";
import { isRoundedAsClaimed, proveAnswer } from "./answer.js";
import { type Caveats, caveatsOf, saturating, type Saturating } from "./caveats.js";
import { countedOps } from "./counted-ops.js";
import { type Coverage, coverageOf, type Unreached } from "./coverage.js";
import { type EveryClaim, everyLength } from "./every/index.js";
import { execute } from "./execute.js";
import { explained } from "./explained.js";
import { steeringInputs } from "./inputs.js";
import type { SharedLayout } from "../execute/order/shared-places.js";
import { MOST_INDEX } from "./intervals.js";
import { leavingOf } from "./leaving.js";
import type { Lengths } from "./obligations.js";
import { proveOrdering } from "./ordering.js";
import { outsideAt, wrongOutside } from "./outside.js";
import { predicated } from "./predicated.js";
import { holdsEverywhere, lacking, type Relaxed, relaxedOf, stopOf, withinConditions } from "./relaxed.js";
import { type Answer, CannotTell, Fails, placeOfLengths } from "./results.js";
import { keepsState, sampleCount, type Setting, settingsOf } from "./settings.js";
import { shapesToProve, whyNoShape } from "./shapes.js";
import { type Beyond, beyondOf, notLookedAt } from "./unproved.js";

export interface ProveOptions {
  /**
   * The kernel on rank level, as its author wrote it: its constants say which shapes to prove, and
   * its indices have to stay inside their dimensions. See `programOf`.
   */
  readonly program?: Kernel | null;
  /** The kernel that is printed: what the same program becomes with the mapping that runs. Nothing is claimed of it without. */
  readonly printed?: Kernel | null;
  /** Shapes to prove; by default some that take every path of the kernel. */
  readonly shapes?: readonly DimValues[];
  /** Successive launches looked at together; 2 by default. */
  readonly launches?: number;
  readonly residentBlocks?: number;
  /** What random data is drawn from, besides the program; 0 by default. */
  readonly seed?: number;
  /** Where shared buffers lie: `sharedLayout(kernel)` of the printer, which lays some over each other. */
  readonly shared?: SharedLayout;
  /** Also prove the paths for buffers that start at odd addresses; true by default. */
  readonly misaligned?: boolean;
}

/** One claim, at one setting after the other; ends with the first that is wrong. */
export interface Proof {
  readonly answers: readonly Answer[];
  /** Shapes, as JSON, behind the basic ones that took a path that no other had taken. */
  readonly further: readonly string[];
  /** Ops that ran, by number; see `countedOps`. */
  readonly ran: readonly number[];
}

/** What is claimed of one kernel, which is of one world size. */
export interface Claims {
  readonly collective: string;
  readonly ranks: number;
  /** What the dtype variables of the program stood for: the claims are of these dtypes alone. */
  readonly dtypes: Kernel["dtypes"];
  /** How many outputs it has. */
  readonly outputs: number;
  /** Inputs whose values decide what is accessed; sampled values stand for all. */
  readonly steering: readonly string[];
  /** One for each shape and alignment, in order; ends with the first that is wrong. */
  readonly answers: readonly Answer[];
  readonly orderings: readonly Answer[];
  /** The worst of the answers: wrong, else unknown, else proved. */
  readonly answer: Answer;
  readonly ordering: Answer;
  readonly coverage: Coverage;
  /** What was executed: the mapping, and the mesh where there is one. */
  readonly mapping: Mapping;
  /** Of the kernel that is printed, whether the same is shown of it, for every length; null where that was not asked. */
  readonly printed: { readonly mapping: Mapping; readonly every: EveryClaim } | null;
  readonly mesh: readonly MeshAxis[];
  /** What the claim about the answer leaves out of what the machine does. */
  readonly caveats: Caveats;
  /** Where scratch is so narrow that values may not fit. */
  readonly saturating: readonly Saturating[];
  /** Loads and stores of the program that ran at no shape, though there are lengths at which they do. */
  readonly unreached: readonly Unreached[];
  /** Constants of the program that matter only at lengths that were not proved. */
  readonly beyond: readonly Beyond[];
  /** Where the theorem about every length finds an index that may leave its buffer, and no length at which it does is known; null: nowhere. */
  readonly leaving: { readonly span: Span; readonly reason: string } | null;
  /** Conditions that it was proved without, as they allow nothing short enough to be executed; see `relaxed.ts`. */
  readonly without: readonly Requirement[];
  /** Whether what is proved holds for every length; null where that is no question: lengths were asked for, or something is not proved. */
  readonly every: EveryClaim | null;
}

export interface Mapping {
  readonly threads: number;
  readonly blocks: number;
}

/** What is shown of every length, if the proofs at some lengths succeed; see docs/PROOF.md. */
export interface Everywhere extends Pick<Claims, "every" | "printed"> {
  /** Whether it is shown of the kernel without conditions that keep it from short lengths; see `relaxed.ts`. */
  readonly isOfRelaxed?: boolean;
}

/** Shows what holds for every length, before anything is proved at some. */
export function proveEverywhere(given: Kernel, asked: ProveOptions): Everywhere {
  const looked = lookedAt(given, asked, null);
  const found = { ...everywhereOf(looked), isOfRelaxed: looked.relaxed !== null };
  if (looked.relaxed === null || looked.relaxed.isNeeded || holdsEverywhere(found)) return found;
  // It may be executed with its conditions, if not soon.
  return everywhereOf({ kernel: given, options: asked, relaxed: null });
}

function everywhereOf({ kernel, options }: LookedAt): Everywhere {
  const { shapes, printed = null } = options;
  // Of lengths that were asked for, and where there is one shape, the question is only whether it is as printed.
  const isAsked = shapes !== undefined || kernel.dims.length === 0;
  if (isAsked && printed === null) return NOWHERE;
  const settings = settingsOf(predicated(kernel), "answer", options, NOWHERE)
    .filter((s) => s.aligned && !s.isFurther && !s.unevenGrids)
    .sort((a, b) => Number(a.isForConstant) - Number(b.isForConstant));
  const at = settings.map(({ dims }) => dims);
  if (printed === null) return { printed: null, every: everyLength(kernel, at) };
  const mapping = mappingOf(printed);
  const { launches, seed = 0 } = options;
  const executed = predicated(printed);
  const prove = (dims: DimValues): Answer => proveAnswer(executed, { dims, launches, seed });
  if (isAsked) {
    // What is made of elements alike is so at short lengths, too.
    const short = shapesToProve(kernel, "answer", null).map(({ dims }) => dims);
    return { every: null, printed: { mapping, every: everyLength(printed, [...short, ...at], prove, at) } };
  }
  const every = everyLength(printed, at, prove);
  const isAll = every.answer.holds && every.ordering.holds;
  // What is shown of the kernel that is printed need not be shown of the other, nor be proved of it as an example.
  return { every: isAll ? { ...every, examples: [] } : everyLength(kernel, at), printed: { mapping, every } };
}

const NOWHERE: Everywhere = { every: null, printed: null };

/** What is executed: the kernel, or, where its conditions allow nothing that is short enough, the one without them. */
interface LookedAt {
  readonly kernel: Kernel;
  readonly options: ProveOptions;
  readonly relaxed: Relaxed | null;
}

/** @param everywhere what is shown of every length; null where that is the question */
function lookedAt(given: Kernel, options: ProveOptions, everywhere: Everywhere | null): LookedAt {
  const found = options.shapes === undefined ? relaxedOf(given) : null;
  const isUsed = found?.isNeeded === true || everywhere === null || everywhere.isOfRelaxed === true;
  const relaxed = isUsed ? found : null;
  if (relaxed === null) return { kernel: given, options, relaxed };
  const { kernel, without } = relaxed;
  const { program = null, printed = null } = options;
  const of = (k: Kernel | null): Kernel | null => k && lacking(k, without);
  return { kernel, options: { ...options, program: of(program), printed: of(printed) }, relaxed };
}

/** Proves the ordering, at all shapes. */
export function proveOrderings(given: Kernel, asked: ProveOptions, everywhere: Everywhere): Proof {
  const { kernel: looked, options, relaxed } = lookedAt(given, asked, everywhere);
  const kernel = predicated(looked);
  const { launches, residentBlocks, shared } = options;
  const of = (setting: Setting): Answer =>
    outsideAt(kernel, setting, options) ?? proveOrdering(kernel, { ...setting, launches, residentBlocks, shared });
  const settings = settingsOf(kernel, "ordering", options, everywhere).filter(
    (s) => !s.unevenGrids || keepsState(kernel),
  );
  if (settings.length === 0) return unknownOf(kernel, options.program ?? null, everywhere);
  return withConditions(given, relaxed, proofOf(kernel, options, settings, of));
}

/** Proves the answer at the basic shapes; where it is shown of every length, at those that have a part in that, and that lead further. */
export function proveAnswers(given: Kernel, asked: ProveOptions, everywhere: Everywhere): Proof {
  const { kernel: looked, options, relaxed } = lookedAt(given, asked, everywhere);
  const kernel = predicated(looked);
  const settings = settingsOf(kernel, "answer", options, everywhere).filter((s) => !s.unevenGrids && !s.isFurther);
  if (settings.length === 0) return unknownOf(kernel, options.program ?? null, everywhere);
  return withConditions(given, relaxed, proofOf(kernel, options, settings, answerOf(kernel, options)));
}

/** The answers, with those at further shapes where the ordering has shown that they are worth it. */
export function proveFurtherAnswers(
  given: Kernel,
  asked: ProveOptions,
  everywhere: Everywhere,
  answers: Proof,
  orderings: Proof,
): Proof {
  const { kernel: looked, options, relaxed } = lookedAt(given, asked, everywhere);
  if (relaxed !== null && worst(answers.answers).status !== "proved") return answers;
  const kernel = predicated(looked);
  const isWorthIt = ({ dims, isFurther }: Setting): boolean =>
    isFurther && orderings.further.includes(JSON.stringify(dims));
  const settings = settingsOf(kernel, "answer", options, NOWHERE).filter(isWorthIt);
  return withConditions(given, relaxed, proofOf(kernel, options, settings, answerOf(kernel, options), answers));
}

function answerOf(kernel: Kernel, options: ProveOptions): (setting: Setting) => Answer {
  const { launches } = options;
  return (setting) => outsideAt(kernel, setting, options) ?? proveAnswer(kernel, { ...setting, launches });
}

/** Where there is no shape to prove it at. */
function unknownOf(kernel: Kernel, program: Kernel | null, everywhere: Everywhere): Proof {
  const claim = { ranks: kernel.world, dims: {}, grid: null, launches: 0, aligned: true };
  const stop = stopOf(everywhere);
  const why = whyNoShape(kernel, program) ?? "no shape was asked for";
  const reason = stop === null ? why : `${why}; and it is not shown for every length: ${stop}`;
  const unknown = { status: "unknown", claim, reason, span: placeOfLengths(kernel), isTooMuch: false } as const;
  return { answers: [unknown], further: [], ran: [] };
}

/** A proof of a kernel that lacks conditions, as one of the kernel. */
function withConditions(kernel: Kernel, relaxed: Relaxed | null, proof: Proof): Proof {
  if (relaxed === null) return proof;
  return { ...proof, answers: proof.answers.map((answer) => withinConditions(kernel, answer, relaxed)) };
}

/** Shapes that conditions exclude say nothing of one claim where the other is not known. */
function unlessUnknown(proofs: readonly [Proof, Proof]): readonly [Proof, Proof] {
  const unknown = proofs.find(({ answers }) => worst(answers).status !== "proved");
  return unknown === undefined ? proofs : [unknown, unknown];
}

/** Where what is proved is no claim about every length, an index that leaves its dimension at one that was not executed refutes it. */
function unlessLeaving(
  kernel: Kernel,
  { program, shapes, launches = 2 }: ProveOptions,
  everywhere: Everywhere,
  proofs: readonly [Proof, Proof],
): readonly [Proof, Proof] {
  const isProved = proofs.every(({ answers }) => worst(answers).status === "proved");
  if (!isProved || program == null || shapes !== undefined || holdsEverywhere(everywhere)) return proofs;
  const leaving = leavingOf(program);
  if (leaving === null) return proofs;
  const wrong = wrongOutside(kernel, leaving.outside, { dims: leaving.dims, launches, aligned: true });
  return [withAnswer(proofs[0], wrong), withAnswer(proofs[1], wrong)];
}

/** What is not shown of indices at other lengths than those that were proved. */
function mayLeave(every: EveryClaim | null): Claims["leaving"] {
  if (every === null || every.ordering.holds || every.ordering.condition !== "inside") return null;
  const { span, reason } = every.ordering;
  return { span, reason };
}

function withAnswer(proof: Proof, answer: Answer): Proof {
  return { ...proof, answers: [...proof.answers, answer] };
}

/** Both proofs together. */
export function claimsOf(
  given: Kernel,
  options: ProveOptions,
  everywhere: Everywhere,
  ...proofs: readonly [answers: Proof, orderings: Proof]
): Claims {
  const kernel = predicated(given);
  const looked = lookedAt(given, options, everywhere);
  const { relaxed } = looked;
  const known = relaxed === null ? proofs : unlessUnknown(proofs);
  const [answers, orderings] = unlessLeaving(kernel, options, everywhere, known);
  const overflows = new Set(answers.answers.flatMap((a) => (a.status === "proved" ? a.overflows : [])));
  const isProved = [answers, orderings].every((proof) => worst(proof.answers).status === "proved");
  const { every, printed } = isProved ? everywhere : NOWHERE;
  // What fits at lengths that conditions exclude need not fit at those that they allow.
  const isOfAllowed = every?.answer.holds === true || relaxed !== null;
  const lengths = isOfAllowed ? allowedLengths(kernel) : lengthsOf(answers);
  const isEverywhere = every?.ordering.holds === true && every.answer.holds;
  const executed = predicated(looked.kernel);
  const beyond =
    isEverywhere || !isProved
      ? []
      : beyondOf(
          executed,
          looked.options,
          every?.ordering.holds === true ? answers : orderings,
          allowedLengths(kernel),
        );
  const coverage = coverageOf(kernel, new Set([...answers.ran, ...orderings.ran]));
  const asClaimed = (): boolean => roundedAsClaimed(executed, looked.options, answers, everywhere);
  const caveats = caveatsOf(kernel, options.program ?? null, lengths, overflows, asClaimed);
  return {
    collective: kernel.name,
    ranks: kernel.world,
    dtypes: kernel.dtypes,
    outputs: kernel.outputs.length,
    steering: [...steeringInputs(kernel)],
    answers: answers.answers,
    orderings: orderings.answers,
    answer: worst(answers.answers),
    ordering: worst(orderings.answers),
    coverage,
    mapping: mappingOf(kernel),
    printed,
    mesh: kernel.mesh,
    caveats,
    saturating: saturating(kernel, caveats),
    ...(isEverywhere
      ? { unreached: [], beyond: [] }
      : notLookedAt(executed, looked.options, coverage, answers, beyond)),
    leaving: mayLeave(every),
    without: isProved ? (relaxed?.without ?? []) : [],
    every,
  };
}

/** Whether each shape that is proved, or need not be, has outputs that are made as the claim has it, with all roundings. */
function roundedAsClaimed(kernel: Kernel, options: ProveOptions, { answers }: Proof, everywhere: Everywhere): boolean {
  const { seed = 0 } = options;
  const proved = new Map<string, { readonly dims: DimValues; readonly aligned: boolean }>();
  for (const { status, claim } of answers)
    if (status === "proved") proved.set(`${claim.aligned} ${JSON.stringify(claim.dims)}`, claim);
  for (const setting of settingsOf(kernel, "answer", options, everywhere))
    if (setting.isSpare) proved.set(`${setting.aligned} ${JSON.stringify(setting.dims)}`, setting);
  return proved.size > 0 && [...proved.values()].every((at) => isRoundedAsClaimed(kernel, { ...at, seed }));
}

function mappingOf({ blockThreads, maxBlocks }: Kernel): Mapping {
  return { threads: blockThreads, blocks: maxBlocks };
}

/** What the signature says of each dimension by itself: "n >= 4". */
export function allowedLengths({ dims, requirements }: Kernel): Lengths {
  const lengths: Record<string, readonly [number, number]> = {};
  for (const name of dims) {
    let [least, most] = [0, MOST_INDEX];
    for (const { left, relation, right } of requirements) {
      if (left !== name || typeof right !== "number") continue;
      if (relation === "ge" || relation === "eq") least = Math.max(least, right);
      if (relation === "gt") least = Math.max(least, right + 1);
      if (relation === "le" || relation === "eq") most = Math.min(most, right);
      if (relation === "lt") most = Math.min(most, right - 1);
    }
    lengths[name] = [least, Math.max(least, most)];
  }
  return lengths;
}

/** From the shortest to the longest of each dimension that an answer was proved for. */
function lengthsOf({ answers }: Proof): Lengths {
  const lengths: Record<string, readonly [number, number]> = {};
  for (const answer of answers) {
    if (answer.status !== "proved") continue;
    for (const [name, n] of Object.entries(answer.claim.dims)) {
      const [least, most] = lengths[name] ?? [n, n];
      lengths[name] = [Math.min(least, n), Math.max(most, n)];
    }
  }
  return lengths;
}

/** Goes through settings until one is wrong; those of further shapes only while there are ops that have not run. */
function proofOf(
  kernel: Kernel,
  options: ProveOptions,
  settings: readonly Setting[],
  one: (setting: Setting) => Answer,
  before: Proof = { answers: [], further: [], ran: [] },
): Proof {
  const total = countedOps(kernel).size;
  const samples = sampleCount(kernel);
  const answers = [...before.answers];
  const further = [...before.further];
  const ran = new Set(before.ran);
  for (const setting of settings) {
    if (answers.at(-1)?.status === "wrong") break;
    if ((setting.isFurther || setting.isSpare) && ran.size === total) continue;
    if (setting.isSpare && outsideAt(kernel, setting, options) === null && !leadsFurther(kernel, setting, ran))
      continue;
    const known = ran.size;
    const answer = explained(kernel, options.program ?? null, setting.dims, setting.sample, setting.seed, one(setting));
    // Nothing is claimed of a shape that is too long to be followed: what it was there for is said to be left out.
    const isForMore = setting.isFurther || setting.isForConstant;
    if (isForMore && answer.status === "unknown" && answer.isTooMuch) continue;
    answers.push(answer.status === "proved" ? { ...answer, samples } : answer);
    if (answer.status === "proved") for (const op of answer.executed) ran.add(op);
    if (setting.isFurther && ran.size > known) further.push(JSON.stringify(setting.dims));
  }
  return { answers, further, ran: [...ran] };
}

/** Whether ops run that have not: followed without data, which takes a part of the time that a proof does. */
function leadsFurther(kernel: Kernel, setting: Setting, ran: ReadonlySet<number>): boolean {
  try {
    return execute(kernel, { ...setting, launches: 2 }, null, false).executed.some((op) => !ran.has(op));
  } catch (e) {
    // What stands in the way is for the proof to say.
    if (e instanceof Fails || e instanceof CannotTell) return true;
    throw e;
  }
}

function worst(answers: readonly Answer[]): Answer {
  return answers.find((a) => a.status === "wrong") ?? answers.find((a) => a.status === "unknown") ?? answers.at(-1)!;
}
