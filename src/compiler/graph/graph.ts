/**
 * A graph: one collective of tensor expressions as plain data, which a program builds (`builder.ts`) or reads from JSON
 * (`schema.ts`). Its operations are those of the language, so the table below is made of the tables that the checker and the
 * lowering read: what the language learns, graphs can say.
 */
import { CONVERSIONS, PAIRS, UNARY_NAMES } from "../check/functions.js";
import { FOLDS } from "../check/tensor-folds.js";
import { VIEWS } from "../check/tensor-views.js";
import { BINARY, COMPARE } from "../lower/tensors.js";
import type { DType } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import type { Relation } from "../types/requirement.js";

/** `{ "op": "relu", "inputs": ["h"] }`: what a node is made of is a node, an input or a number of the launch by its id, or a number. */
export type GraphOperand = string | number;

/** A length: a number, the name of a dimension, `"world"` for the number of ranks, or arithmetic, as in manifests. */
export type GraphExtent = Extent;

/** A tensor of the signature, of whole (logical) shape; `layout` as the language writes it: `sharded(0)`, `partial(sum)`, `sharded(0, dp) replicated(tp)`. */
export interface GraphTensor {
  readonly id: string;
  /** A dtype, or a variable that begins with a capital letter and is chosen when the graph is compiled. */
  readonly dtype: string;
  readonly shape: readonly GraphExtent[];
  readonly layout: string;
  /** Limits of an input's elements: at least `from`, below `to`. */
  readonly values?: { readonly from: GraphExtent; readonly to: GraphExtent };
}

/** A number that each launch is given, the same on every rank. */
export interface GraphScalar {
  readonly id: string;
  /** `f32`, `i32` or `u32`. */
  readonly dtype: string;
}

/** Part of a dimension that a slice takes; a side that is left out is that of the tensor. */
export interface GraphRange {
  readonly from?: GraphExtent;
  readonly to?: GraphExtent;
}

export interface GraphNode {
  readonly id: string;
  /** A row of {@link GRAPH_OPS}. */
  readonly op: string;
  readonly inputs: readonly GraphOperand[];
  /** The dimension of a reduction, a concatenation, or a conversion. */
  readonly dim?: number;
  /** The rank that a conversion gives the tensor to. */
  readonly to?: number;
  /** The axis of the mesh that a conversion is over. */
  readonly over?: string;
  /** Of a reshape, and of indices. */
  readonly shape?: readonly GraphExtent[];
  /** Of a permutation: dimension d of the result is the operand's dimension `order[d]`. */
  readonly order?: readonly number[];
  /** Of a repeat: how often it has each index of its dimension. */
  readonly times?: number;
  /** Of a slice: one for each dimension. */
  readonly ranges?: readonly GraphRange[];
  /** Of a cast: a dtype, or a dtype variable. */
  readonly dtype?: string;
}

/** An output and what it is; one with an input's id is that input, changed in place when all nodes have read it. What is left out of its dtype, shape and layout is that of the value. */
export interface GraphOutput extends Partial<Omit<GraphTensor, "id" | "values">> {
  readonly id: string;
  readonly value: GraphOperand;
}

/** A condition on the dimensions of a launch, as in manifests. */
export interface GraphRequirement {
  readonly left: GraphExtent;
  readonly relation: Relation;
  readonly right: GraphExtent;
}

export interface Graph {
  readonly format: typeof GRAPH_FORMAT;
  /** Of the collective: letters, digits and `_`. */
  readonly name: string;
  /** Lines of text for whoever reads it. */
  readonly doc?: string;
  /** Axes of the grid of ranks, the outermost first. */
  readonly mesh?: readonly string[];
  /** What dtype variables may stand for. */
  readonly dtypes?: Readonly<Record<string, readonly DType[]>>;
  readonly requires?: readonly GraphRequirement[];
  /** Numbers of ranks that it is for; any, if left out. */
  readonly ranks?: readonly number[];
  readonly inputs: readonly GraphTensor[];
  /** Numbers of the launch, which stand wherever a number may. */
  readonly scalars?: readonly GraphScalar[];
  /** Each after those that it names. */
  readonly nodes: readonly GraphNode[];
  readonly outputs: readonly GraphOutput[];
}

export const GRAPH_FORMAT = "collc-graph-1";

export type GraphAttribute = "dim" | "to" | "over" | "shape" | "order" | "ranges" | "times" | "dtype";

/** An operation of graphs, and how the language writes it. */
export interface GraphOp {
  /** Fewest and most operands. */
  readonly operands: readonly [number, number];
  readonly needs: readonly GraphAttribute[];
  readonly mayHave: readonly GraphAttribute[];
  /** A sign between operands, a prefix before one, a call with named arguments, or a form of its own. */
  readonly written: "infix" | "prefix" | "call" | "own";
  /** The sign or the name. */
  readonly as: string;
}

const MANY = 1024;

function row(
  written: GraphOp["written"],
  as: string,
  operands: number | readonly [number, number],
  needs: readonly GraphAttribute[] = [],
  mayHave: readonly GraphAttribute[] = [],
): GraphOp {
  return { written, as, operands: typeof operands === "number" ? [operands, operands] : operands, needs, mayHave };
}

function rows(names: readonly string[], make: (name: string) => GraphOp): Record<string, GraphOp> {
  return Object.fromEntries(names.map((name) => [name, make(name)]));
}

const INFIX = Object.fromEntries(
  [...Object.entries(BINARY), ...Object.entries(COMPARE)].map(([sign, name]) => [name, row("infix", sign, 2)]),
);

/** Views with arguments of their own; all others are calls of one tensor. */
const OWN_VIEWS: Readonly<Record<string, GraphOp>> = {
  permute: row("own", "permute", 1, ["order"]),
  reshape: row("own", "reshape", 1, ["shape"]),
  repeat: row("call", "repeat", 1, ["dim", "times"]),
  concat: row("call", "concat", [2, MANY], ["dim"]),
};

/** Every operation. `min` and `max` of two tensors are elementwise; of one, with `dim`, they are reductions. */
export const GRAPH_OPS: Readonly<Record<string, GraphOp>> = {
  ...INFIX,
  neg: row("prefix", "-", 1),
  not: row("prefix", "not", 1),
  ...rows(UNARY_NAMES, (name) => row("call", name, 1)),
  ...rows(PAIRS, (name) => row("call", name, 2)),
  where: row("call", "where", 3),
  cast: row("own", "cast", 1, ["dtype"]),
  matmul: row("own", "@", 2),
  ...rows(FOLDS, (name) =>
    name === "min" || name === "max" ? row("call", name, [1, 2], [], ["dim"]) : row("call", name, 1, ["dim"]),
  ),
  ...rows(Object.keys(VIEWS), (name) => OWN_VIEWS[name] ?? row("call", name, 1)),
  slice: row("own", "slice", 1, ["ranges"]),
  iota: row("own", "iota", 0, ["shape"], ["dim"]),
  ...rows([...CONVERSIONS.keys()], (name) => {
    const { argument, mayNameDim } = CONVERSIONS.get(name)!;
    const optional: GraphAttribute[] = mayNameDim && argument !== "dim" ? ["dim", "over"] : ["over"];
    return row("call", name, 1, argument === null ? [] : [argument], optional);
  }),
};
