/**
 * The prover's one door. It looks at the device-level kernel, the one that is printed as CUDA, and answers for
 * concrete world sizes and shapes, against our model of the PTX memory rules.
 */
import type { Kernel } from "../ir/module.js";
import {
  type Claims,
  claimsOf,
  proveAnswers,
  proveEverywhere,
  proveFurtherAnswers,
  proveOrderings,
  type ProveOptions,
} from "./claims.js";
import { programOf } from "./program.js";

export { proveAnswer, type AnswerOptions } from "./answer.js";
export {
  type Claims,
  claimsOf,
  type Everywhere,
  type Proof,
  proveAnswers,
  proveEverywhere,
  proveFurtherAnswers,
  type ProveOptions,
  proveOrderings,
} from "./claims.js";
export { describeOutside, type OutsideDimension, outsideDimension } from "./dimension-bounds.js";
export { type EveryClaim, everyLength, type EveryLength } from "./every/index.js";
export { proveOrdering, type OrderingOptions } from "./ordering.js";
export { programOf } from "./program.js";
export {
  type Answer,
  type Claim,
  CLAIM_HELP,
  type Place,
  type Proved,
  type Unknown,
  type Wrong,
  type WrongKind,
} from "./results.js";
export type { SharedLayout } from "../execute/order/shared-places.js";
export { claimsToJson, claimText, everyLine, findings, idleLine, openLine, summaryLine } from "./report.js";
export {
  FUNCTION_ULPS,
  LAMBDA,
  type RoundedOutputs,
  roundedOutputs,
  type RoundedOptions,
  U32,
} from "./rounded-values.js";
export { proveResidency } from "./ordering.js";
export { needsOtherLengths, relaxedOf } from "./relaxed.js";
export { rowDimension } from "./lengths.js";
export { isLight as isLightExecution, plainShapes, withElements, PROOF_MAPPING, proofShapes } from "./shapes.js";
export { workOf as executionWork } from "./work.js";

/**
 * Proves a compiled kernel. Compile it with `mapping: PROOF_MAPPING` (or one of your own): the number of threads
 * decides how large a shape is that takes every path.
 *
 * @throws RangeError for a kernel that did not reach the device level
 */
export function prove(
  compiled: {
    readonly kernel: Kernel | null;
    readonly snapshots?: readonly { readonly pass: string; readonly kernel: Kernel }[];
  },
  asked: ProveOptions = {},
): Claims {
  const { kernel, snapshots = [] } = compiled;
  const options = { program: programOf(snapshots), ...asked };
  if (kernel === null) throw new RangeError("only a kernel that was compiled to the end can be proved");
  const everywhere = proveEverywhere(kernel, options);
  // The ordering says at which shapes an answer is worth its cost.
  const orderings = proveOrderings(kernel, options, everywhere);
  const answers = proveFurtherAnswers(
    kernel,
    options,
    everywhere,
    proveAnswers(kernel, options, everywhere),
    orderings,
  );
  return claimsOf(kernel, options, everywhere, answers, orderings);
}
