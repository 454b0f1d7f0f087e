/**
 * The door for compilers: a graph in, a program out. A graph becomes the abstract syntax that the parser makes of a text, and goes
 * the same way from there; `compile(text)` is this door behind a parser. No text is parsed and no second lowering exists. What
 * a graph cannot say is what the language says with loops; what the language cannot say, no graph can.
 */
import type { CheckedCollective } from "../check/checked.js";
import { checkOne } from "../check/check-collective.js";
import { type CompileResult } from "../compiled.js";
import { compileParsed } from "../driver.js";
import type { Diagnostic } from "../diagnostics/create.js";
import { meshOf } from "../link/mesh.js";
import { checkOptions, type CompileOptions } from "../options.js";
import { everyVariable } from "../program/library.js";
import { printLayout } from "../types/layout.js";
import type { Graph, GraphOperand } from "./graph.js";
import { asGraph } from "./schema.js";
import { type Declared, type GraphSyntax, namesOf, syntaxOf } from "./syntax.js";

/** Options of a compilation that a graph does not say itself. */
export type GraphCompileOptions = Omit<CompileOptions, "file" | "collective">;

/**
 * Compiles a graph. Diagnostics are in the result, and point into `result.source`, the graph as a text;
 * `result.source.nodeAt(diagnostic.span)` and `toJson` say which node each is about.
 *
 * @param graph checked as {@link asGraph} does
 * @throws UsageError for what is no graph, and for options that are unknown or cannot be; InternalCompilerError for a bug
 */
export function compileGraph(graph: Graph, options: GraphCompileOptions): CompileResult {
  checkOptions(options);
  const { syntax, diagnostics } = completed(asGraph(graph), options);
  const program = { imports: [], constants: [], functions: [], collectives: [syntax.collective] };
  return compileParsed(syntax.source, { program, diagnostics }, options);
}

/**
 * The graph as a text that a person can read and `compile` takes: one line a node. `graphFromText` gives the graph back, with the
 * outputs in full, and with ids that the language has no name for, and those of numbers inside a line, as they come out there.
 * @throws UsageError as {@link compileGraph} does
 */
export function graphToText(graph: Graph, options: GraphCompileOptions): string {
  checkOptions(options);
  return completed(asGraph(graph), options).syntax.source.text;
}

/** The syntax, with the types of outputs found where the graph leaves them out; and why they could not be found. */
function completed(graph: Graph, options: GraphCompileOptions): { syntax: GraphSyntax; diagnostics: Diagnostic[] } {
  const isDeclared = (o: Graph["outputs"][number]): o is Declared =>
    o.dtype !== undefined && o.shape !== undefined && o.layout !== undefined;
  if (graph.outputs.every(isDeclared)) return { syntax: syntaxOf(graph, graph.outputs), diagnostics: [] };
  // The values alone have types already.
  const bare = syntaxOf(graph, graph.outputs.filter(isDeclared));
  const { ranks, dtype } = options;
  const dtypes = typeof dtype === "string" ? everyVariable(dtype) : (dtype ?? {});
  const diagnostics: Diagnostic[] = [];
  const mesh = meshOf(bare.collective.mesh, ranks, options.mesh, (d) => void diagnostics.push(d));
  const { checked, diagnostics: found } = checkOne(bare.collective, ranks, dtypes, mesh);
  const errors = [...diagnostics, ...found].filter((d) => d.severity === "error");
  if (checked === null || errors.length > 0) return { syntax: bare, diagnostics: errors };
  const names = namesOf(graph, graph.outputs);
  const outputs = graph.outputs.map((o): Declared => {
    const type = typeOfOperand(o.value, graph, names, checked);
    const { id, value, dtype = type.dtype, shape = type.shape, layout = type.layout } = o;
    return { id, value, dtype, shape, layout };
  });
  return { syntax: syntaxOf(graph, outputs), diagnostics: [] };
}

function typeOfOperand(
  value: GraphOperand,
  graph: Graph,
  names: ReadonlyMap<string, string>,
  checked: CheckedCollective,
): Pick<Declared, "dtype" | "shape" | "layout"> {
  // A number has no shape: the output must say it, and the checker says so.
  if (typeof value === "number") return { dtype: "f32", shape: [1], layout: "replicated" };
  const declared = [...graph.inputs, ...graph.outputs].find((t) => t.id === value && t.shape !== undefined);
  if (declared !== undefined) return declared as Declared;
  const statement = checked.syntax.body.find((s) => s.kind === "let" && s.name.text === names.get(value));
  const type = statement?.kind === "let" ? checked.types.get(statement.value) : undefined;
  if (type?.kind !== "tensor") return { dtype: "f32", shape: [1], layout: "replicated" };
  const dtype = type.dtype === "bool" ? "bool" : (writtenDType(value, graph) ?? type.dtype);
  return { dtype, shape: type.shape, layout: printLayout(type.layout) };
}

/** The dtype as the graph writes it, which may be a variable: all operations but casts keep that of their operands. */
function writtenDType(value: GraphOperand, graph: Graph): string | null {
  const dtypes = new Map<GraphOperand, string>();
  for (const { id, dtype } of [...graph.inputs, ...graph.outputs]) if (dtype !== undefined) dtypes.set(id, dtype);
  for (const { id, op, inputs, dtype } of graph.nodes) {
    const operands = op === "where" ? inputs.slice(1) : inputs;
    const own = op === "iota" ? "i32" : (dtype ?? operands.flatMap((x) => dtypes.get(x) ?? [])[0]);
    if (own !== undefined) dtypes.set(id, own);
  }
  return dtypes.get(value) ?? null;
}
