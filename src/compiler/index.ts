/**
 * The compiler's only door. Pure: text in; diagnostics, CUDA text and launch manifest out. It reads no file,
 * starts no process and needs no GPU.
 */
export {
  type CompileResult,
  packed,
  type Packed,
  type PrintedKernel,
  type Snapshot,
  unpacked,
  type Variant,
  withMapping,
} from "./compiled.js";
export { compile, withNamedLengths } from "./driver.js";
export { type CompileOptions, DEFAULT_ARCH, MAX_WORLD } from "./options.js";
export { DEFAULT_PASS_OPTIONS, type PassOptions } from "./passes/options.js";
export { PIPELINE } from "./passes/pipeline.js";
export type { Pass } from "./passes/runner.js";
export { checkCollective, constantOf, parseProgram } from "./front-end.js";
export type { ResolveImport } from "./link/link.js";
export { type Library, type LibraryFile, libraryStepOf, NCCL_WAY, soleConversion } from "./program/library.js";
export { dimsOf, type Tuned, type TunedChoice } from "./program/plan.js";
export { CONVERSIONS, UNARY_NAMES } from "./check/functions.js";
export { usageOf } from "./check/usage.js";
export type { CheckedCollective, ExpressionType } from "./check/checked.js";
export type * as Ast from "./ast/nodes.js";
export { printProgram } from "./ast/print.js";
export { InternalCompilerError } from "./diagnostics/ice.js";
export { printKernel } from "./ir/print.js";
export { parseKernel } from "./ir/parse.js";
export { problemsOf, verify } from "./ir/verify.js";
export { emitCuda } from "./emit/cuda.js";
export { preludeText } from "./emit/prelude.js";
export { manifestOf } from "./emit/manifest.js";
export type { Attribute, Buffer, Kernel, Op, Region, Value } from "./ir/module.js";
export { bufferOf, isGlobal, isParameter, isRemote, memoryOperands, text } from "./ir/module.js";
export { LEVELS, type Level, OPS, type OpDefinition, type OpName } from "./ir/ops.js";
export { carriedErrors, erf, maximum, minimum, power, REDUCE, UNARY } from "./ir/functions.js";
export type { BinaryFunction, Comparison, Reduction, UnaryFunction } from "./ir/ops.js";
export {
  decode,
  encode,
  ENCODERS,
  F32_WORD,
  I32_WORD,
  isNarrowFloat,
  LARGEST_FINITE,
  type NarrowFloat,
  oddBits,
  SMALLEST_STEP,
  valuesOf,
  toI32,
  toI64,
  wideToF32,
} from "./types/formats.js";
export { lanesOf, printType, scalarOf, type Type } from "./ir/types.js";
export { walkKernel } from "./ir/visit.js";
export * from "./manifest.js";
export * from "./manifest-steps.js";
export { type Cluster, CLUSTER_NAMES, clusterFromJson, clusterNamed, clusterSchema } from "./machine/cluster.js";
export {
  leastTime,
  type LinkUse,
  playFastest,
  Player,
  scheduleProgram,
  type Schedule,
  type Simulation,
} from "./simulate/index.js";
export {
  partsOfExpression,
  partsOfSpecification,
  shapeOfSpecification,
  freeVariables,
  sharedParts,
  someSpecification,
} from "./specification-shape.js";
export { hasProduct, specificationsOf, tableOf } from "./specification-table.js";
export { type ComputeDType, DTYPE_NAMES, DTYPES, isDType, LAUNCH_DTYPES, type LaunchDType } from "./types/dtype.js";
export {
  elementsOf,
  evaluateExtent,
  extent,
  extentNames,
  printExtent,
  productOf,
  type DimValues,
} from "./types/extent.js";
export { isCut, partialOf, printLayout, REDUCTION_OPS } from "./types/layout.js";
export {
  coordinateOf,
  cutsOf,
  hasAxes,
  isHolder,
  leaderOf,
  membersOf,
  partsOfRank,
  placementsOf,
  sourcesOf,
} from "./types/mesh.js";
export {
  brokenRequirement,
  fitDims,
  greatestCommon,
  nearestFit,
  RELATION_SIGNS,
  requirementHolds,
  type BrokenRequirement,
} from "./types/requirement.js";
export type * as Execution from "./execute/index.js";
export {
  CannotTell,
  blockedIn,
  Clocks,
  firstWhere,
  isReady,
  KnowledgeTable,
  NEAR,
  newBlock,
  NOTHING,
  NUMBER_TILES,
  NUMBERS,
  plainSetting,
  type Executable,
  executableOf,
  Races,
  READ,
  READY,
  resumeAll,
  Trace,
  waitKind,
  wordOf,
  WRITE,
} from "./execute/index.js";
export { SourceFile, type Position, type Span } from "./source.js";
export {
  type Answer,
  type Claims,
  claimsOf,
  claimsToJson,
  claimText,
  describeOutside,
  CLAIM_HELP,
  executionWork,
  FUNCTION_ULPS,
  LAMBDA,
  roundedOutputs,
  type RoundedOutputs,
  U32,
  findings,
  everyLine,
  type Everywhere,
  idleLine,
  openLine,
  outsideDimension,
  type Proof,
  prove,
  proveAnswers,
  proveEverywhere,
  proveFurtherAnswers,
  type ProveOptions,
  programOf,
  proveOrderings,
  PROOF_MAPPING,
  isLightExecution,
  plainShapes,
  withElements,
  proofShapes,
  relaxedOf,
  needsOtherLengths,
  rowDimension,
  proveResidency,
  summaryLine,
} from "./prove/index.js";
export { type Diagnostic, type JsonDiagnostic, type Printable, printDiagnostics, toJson } from "./diagnostics/index.js";
export { sharedLayout } from "./emit/shared-layout.js";
export { nearest } from "./diagnostics/suggest.js";
export {
  explain,
  predictTime,
  type Explanation,
  type LayoutStep,
  type MoveStep,
  type PartyStep,
  type SyncStep,
  wayAt,
} from "./explain/explain.js";
export { type Prediction, predictOperation, predictWork } from "./machine/cost.js";
export {
  DEFAULT_MACHINE,
  type Machine,
  machineFor,
  MACHINES,
  machinesOf,
  type Rates,
  type Sourced,
} from "./machine/machines.js";
export { requireOrderBetweenMessages } from "./program/between-messages.js";
export type { MessagesStep, TimedStep } from "./explain/steps.js";
export { besideOf, scheduleSteps } from "./program/step-schedule.js";
export { isFasterAsBroadcast } from "./machine/messages.js";
export { domainOf, isNear, isWhole, parseReach, type Reach } from "./machine/reach.js";
export { type Architecture, architectureOf, ARCHITECTURES } from "./machine/architectures.js";
export type { RankWork } from "./machine/stretches.js";
export { gridOf } from "./machine/rows.js";
export { workOfRank } from "./machine/work.js";
