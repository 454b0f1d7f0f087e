/** A typed builder of graphs: each method adds a node and returns it, for others to be made of. */
import { UsageError } from "../../errors.js";
import type { Layout } from "../types/layout.js";
import { printLayout } from "../types/layout.js";
import type { DType } from "../types/dtype.js";
import { extent, type ExtentOp } from "../types/extent.js";
import type { Relation } from "../types/requirement.js";
import { type UNARY_NAMES } from "../check/functions.js";
import { type Graph, GRAPH_FORMAT, type GraphExtent, type GraphNode, type GraphOutput, type GraphRange, type GraphRequirement, type GraphScalar, type GraphTensor } from "./graph.js"; // prettier-ignore
import { asGraph } from "./schema.js";

type Unary = (typeof UNARY_NAMES)[number];

/** A value of the graph. */
export class GraphValue {
  /** @param id of the input or node */
  constructor(readonly id: string) {}
}

/** A value, or a number that stands for a tensor of it. */
export type Operand = GraphValue | number;

/** Arithmetic on lengths: `dim.mul(2, "n")`. */
export const dim = Object.fromEntries(
  (["add", "sub", "mul", "div", "ceildiv", "mod"] as const).map((op) => [op, (a: GraphExtent, b: GraphExtent) => extent(op, a, b)]), // prettier-ignore
) as Readonly<Record<Exclude<ExtentOp, "min" | "max">, (a: GraphExtent, b: GraphExtent) => GraphExtent>>;

interface GraphOptions {
  readonly doc?: string;
  /** Axes of the grid of ranks. */
  readonly mesh?: readonly string[];
  /** What dtype variables may stand for. */
  readonly dtypes?: Readonly<Record<string, readonly DType[]>>;
  /** Numbers of ranks that it is for. */
  readonly ranks?: readonly number[];
}

/** What a node may be told besides its operands; `id` is made where it is left out. */
type Extra = Partial<Omit<GraphNode, "op" | "inputs">>;

/** Begins a graph. @param name of the collective: letters, digits and `_` */
export function graph(name: string, options: GraphOptions = {}): GraphBuilder {
  return new GraphBuilder(name, options);
}

export class GraphBuilder {
  private readonly inputs: GraphTensor[] = [];
  private readonly scalars: GraphScalar[] = [];
  private readonly nodes: GraphNode[] = [];
  private readonly outputs: GraphOutput[] = [];
  private readonly requirements: GraphRequirement[] = [];
  private readonly ids = new Set<string>();

  constructor(
    private readonly name: string,
    private readonly options: GraphOptions,
  ) {}

  /** An input, with its whole shape, and how it lies over the ranks: `"sharded(0)"`, or as the manifest has it. */
  input(id: string, dtype: string, shape: readonly GraphExtent[], layout: string | Layout): GraphValue {
    this.ids.add(id);
    this.inputs.push({ id, dtype, shape, layout: typeof layout === "string" ? layout : printLayout(layout) });
    return new GraphValue(id);
  }

  /** A number of the launch: `f32`, `i32` or `u32`, the same on every rank. */
  scalar(id: string, dtype: string): GraphValue {
    this.ids.add(id);
    this.scalars.push({ id, dtype });
    return new GraphValue(id);
  }

  /** A condition on the dimensions of a launch. */
  require(left: GraphExtent, relation: Relation, right: GraphExtent): this {
    this.requirements.push({ left, relation, right });
    return this;
  }

  /** An output; its dtype, shape and layout are those of the value, where they are left out. */
  output(id: string, value: Operand, declared: Omit<GraphOutput, "id" | "value"> = {}): this {
    this.ids.add(id);
    this.outputs.push({ id, value: typeof value === "number" ? value : value.id, ...declared });
    return this;
  }

  /** Any operation of `GRAPH_OPS`, by name. The methods below are this one, with types. @throws UsageError for a number that is none */
  node(op: string, operands: readonly Operand[], extra: Extra = {}): GraphValue {
    const { id = this.fresh(op), ...attributes } = extra;
    if (operands.some(Number.isNaN))
      throw new UsageError(`node '${id}' takes NaN, which is no number of a graph`, "choose by a mask what is to stand there: 'where'"); // prettier-ignore
    this.ids.add(id);
    this.nodes.push({ id, op, inputs: operands.map((x) => (typeof x === "number" ? x : x.id)), ...attributes });
    return new GraphValue(id);
  }

  private fresh(op: string): string {
    let i = 1;
    while (this.ids.has(`${op}_${i}`)) i++;
    return `${op}_${i}`;
  }

  matmul(a: GraphValue, b: GraphValue, id?: string): GraphValue {
    return this.node("matmul", [a, b], named(id));
  }
  add(a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("add", [a, b], named(id));
  }
  sub(a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("sub", [a, b], named(id));
  }
  mul(a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("mul", [a, b], named(id));
  }
  div(a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("div", [a, b], named(id));
  }
  min(a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("min", [a, b], named(id));
  }
  max(a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("max", [a, b], named(id));
  }
  compare(relation: Relation, a: Operand, b: Operand, id?: string): GraphValue {
    return this.node(relation, [a, b], named(id));
  }
  where(condition: GraphValue, a: Operand, b: Operand, id?: string): GraphValue {
    return this.node("where", [condition, a, b], named(id));
  }
  neg(a: GraphValue, id?: string): GraphValue {
    return this.node("neg", [a], named(id));
  }
  /** `exp`, `relu`, `silu`, … */
  unary(fn: Unary, a: GraphValue, id?: string): GraphValue {
    return this.node(fn, [a], named(id));
  }
  cast(a: GraphValue, dtype: string, id?: string): GraphValue {
    return this.node("cast", [a], { dtype, ...named(id) });
  }
  /** Along one dimension, which has length 1 afterwards. */
  reduce(fn: "sum" | "mean" | "min" | "max" | "prod", a: GraphValue, dim: number, id?: string): GraphValue {
    return this.node(fn, [a], { dim, ...named(id) });
  }
  /** The same elements, row-major, in another shape; the lengths are those of the whole tensor. */
  reshape(a: GraphValue, shape: readonly GraphExtent[], id?: string): GraphValue {
    return this.node("reshape", [a], { shape, ...named(id) });
  }
  permute(a: GraphValue, order: readonly number[], id?: string): GraphValue {
    return this.node("permute", [a], { order, ...named(id) });
  }
  /** The last two dimensions swapped. */
  transpose(a: GraphValue, id?: string): GraphValue {
    return this.node("transpose", [a], named(id));
  }
  /** A part: a range for each dimension, `{}` for all of it. */
  slice(a: GraphValue, ranges: readonly GraphRange[], id?: string): GraphValue {
    return this.node("slice", [a], { ranges, ...named(id) });
  }
  /** Each index of a dimension so often, one after the other. */
  repeat(a: GraphValue, dim: number, times: number, id?: string): GraphValue {
    return this.node("repeat", [a], { dim, times, ...named(id) });
  }
  concat(parts: readonly GraphValue[], dim: number, id?: string): GraphValue {
    return this.node("concat", parts, { dim, ...named(id) });
  }
  allReduce(a: GraphValue, id?: string): GraphValue {
    return this.node("all_reduce", [a], named(id));
  }
  allGather(a: GraphValue, id?: string): GraphValue {
    return this.node("all_gather", [a], named(id));
  }
  reduceScatter(a: GraphValue, dim: number, id?: string): GraphValue {
    return this.node("reduce_scatter", [a], { dim, ...named(id) });
  }
  allToAll(a: GraphValue, dim: number, id?: string): GraphValue {
    return this.node("all_to_all", [a], { dim, ...named(id) });
  }
  broadcast(a: GraphValue, id?: string): GraphValue {
    return this.node("broadcast", [a], named(id));
  }

  /** The graph as data, checked. @throws UsageError */
  build(): Graph {
    const { doc, mesh, dtypes, ranks } = this.options;
    return asGraph({
      format: GRAPH_FORMAT,
      name: this.name,
      ...(doc === undefined ? {} : { doc }),
      ...(mesh === undefined ? {} : { mesh }),
      ...(dtypes === undefined ? {} : { dtypes }),
      ...(this.requirements.length === 0 ? {} : { requires: this.requirements }),
      ...(ranks === undefined ? {} : { ranks }),
      inputs: this.inputs,
      ...(this.scalars.length === 0 ? {} : { scalars: this.scalars }),
      nodes: this.nodes,
      outputs: this.outputs,
    });
  }
}

function named(id: string | undefined): Extra {
  return id === undefined ? {} : { id };
}
