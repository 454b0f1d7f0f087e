/**
 * collc as a library.
 *
 *   import { compile, connect } from "collc";
 *   const group = await connect({ backend: "cpu", ranks: 4 });
 *   const kernel = await group.load(compile(source, { ranks: group.world, dtype: "bf16" }));
 */
export {
  compile,
  type CompileOptions,
  type CompileResult,
  type Diagnostic,
  InternalCompilerError,
  type JsonDiagnostic,
  PIPELINE,
  printDiagnostics,
  printKernel,
  toJson,
} from "./compiler/index.js";
export {
  asGraph,
  compileGraph,
  dim,
  type Graph,
  graph,
  type GraphBuilder,
  type GraphCompileOptions,
  GRAPH_OPS,
  type GraphExtent,
  graphFromText,
  type GraphNode,
  type GraphOp,
  type GraphOutput,
  graphSchema,
  type GraphTensor,
  graphToText,
  type GraphValue,
} from "./compiler/graph/index.js";
export {
  asFx,
  type Binding,
  type EdgeVerdict,
  type FxGraph,
  type FxNode,
  type FxSizeRange,
  fxSchema,
  lower,
  type Lowered,
  loweredToJson,
  type LowerOptions,
  type Part,
  partitionReport,
} from "./compiler/graph/index.js";
export type { Manifest, DType, Layout, Extent, Specification } from "./compiler/manifest.js";
export { importsFromDisk, libraryFromDisk } from "./runtime/imports.js";
export { fromDLPack, toDLPack } from "./runtime/external.js";
export { connect } from "./runtime/connect.js";
export type * from "./runtime/group.js";
export { capabilities, type Capabilities } from "./runtime/capabilities/index.js";
export { capabilitiesOf, type GroupCapabilities } from "./runtime/capabilities/group.js";
export { CollcError, MachineError, RuntimeError, UsageError } from "./runtime/errors.js";
