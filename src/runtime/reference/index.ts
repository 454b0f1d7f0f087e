/** The float64 reference of a collective, made from its signature alone, and the check against it. */
export { type CheckOptions, checkOutputs, type CheckResult, type RankOutputs } from "./check.js";
export {
  generatedInputs,
  heldInputs,
  type InputReader,
  localLength,
  makeInputs,
  makeRankInputs,
  type RankTensors,
} from "./inputs.js";
export { isCarriedOut, programElements } from "./program-roundings.js";
export { OutsideClaim } from "./element-operations.js";
export type { Mismatch } from "./tally.js";
