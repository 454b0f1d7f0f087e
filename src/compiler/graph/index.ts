/** The compiler's second door: graphs in, programs out. Pure, as the first one is; apart from it, for it loads a validator. */
export { dim, graph, GraphBuilder, GraphValue, type Operand } from "./builder.js";
export { compileGraph, type GraphCompileOptions, graphToText } from "./compile.js";
export { graphFromText, type GraphFromText, type GraphFromTextOptions } from "./from-text.js";
export * from "./graph.js";
export { asGraph, graphSchema } from "./schema.js";
export { asFx, FX_FORMAT, type FxArgument, type FxGraph, type FxNode, fxSchema, type FxSizeRange } from "./fx/fx.js";
export type { ConversionSeconds, MeasuredConversions } from "./fx/baseline.js";
export { lower, type LowerOptions } from "./fx/lower.js";
export type { Binding, EdgeVerdict, Lowered, Part, ProgramPart } from "./fx/partition.js";
export { loweredToJson, partitionReport } from "./fx/report.js";
export { shapeOf } from "./fx/partition.js";
