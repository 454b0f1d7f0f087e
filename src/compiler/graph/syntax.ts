/**
 * Graph → abstract syntax, the same that the parser makes of a text: from there on there is one compiler. The syntax points into
 * its own print, a text with one line a node, so that whatever points at source code, diagnostics, comments in the CUDA text
 * and reports of the runtime, points at a line that a person can read, and from there to the node.
 */
import { VOCABULARY } from "../../../grammar/tokens.js";
import { UsageError } from "../../errors.js";
import type {
  BinaryOperator,
  Collective,
  Expression,
  LayoutReference,
  Name,
  Statement,
  TensorDeclaration,
} from "../ast/nodes.js";
import { printCollective } from "../ast/print.js";
import { RESERVED } from "../check/scope.js";
import { NO_SPAN, SourceFile, type Span } from "../source.js";
import { RELATION_SIGNS } from "../types/requirement.js";
import {
  type Graph,
  type GraphExtent,
  type GraphNode,
  type GraphOperand,
  GRAPH_OPS,
  type GraphTensor,
} from "./graph.js";

/** A graph as the front end takes it. */
export interface GraphSyntax {
  readonly collective: Collective;
  /** The print of it, which its spans point into. */
  readonly source: SourceFile;
}

/** Outputs as they are declared. */
export type Declared = GraphTensor & { readonly value: GraphOperand };

const KEYWORDS = new Set(
  Object.values(VOCABULARY).flatMap((row) => (row.category === "keyword" ? [String(row.pattern)] : [])),
);
const NAME = /^[A-Za-z_][A-Za-z_0-9]*$/;

/** Whether a text can be the name of a tensor or a dimension. */
export function isFree(name: string): boolean {
  return NAME.test(name) && !KEYWORDS.has(name) && !RESERVED.has(name);
}

/** The name of each input, node and output in the text: its id where that can be a name, else one like it. */
export function namesOf(graph: Graph, outputs: readonly { readonly id: string }[]): ReadonlyMap<string, string> {
  const inPlace = new Set(graph.inputs.map((t) => t.id));
  const ids = [...graph.inputs, ...(graph.scalars ?? []), ...graph.nodes, ...outputs.filter((o) => !inPlace.has(o.id))].map(({ id }) => id); // prettier-ignore
  const taken = new Set([...ids.filter(isFree), ...dimensionsOf(graph), ...(graph.mesh ?? [])]);
  const names = new Map<string, string>();
  for (const id of ids) {
    if (names.has(id)) throw new UsageError(`two of the graph's inputs, nodes and outputs are called '${id}'`, "give each an id of its own"); // prettier-ignore
    if (isFree(id)) {
      names.set(id, id);
      continue;
    }
    const like = `v_${id.replace(/[^A-Za-z_0-9]+/g, "_")}`;
    let name = like;
    for (let i = 2; taken.has(name); i++) name = `${like}_${i}`;
    taken.add(name);
    names.set(id, name);
  }
  return names;
}

function dimensionsOf(graph: Graph): Set<string> {
  const names = new Set<string>();
  const visit = (e: GraphExtent): void => {
    if (typeof e === "string") names.add(e);
    else if (typeof e === "object") [e.a, e.b].forEach(visit);
  };
  for (const t of [...graph.inputs, ...graph.outputs]) (t.shape ?? []).forEach(visit);
  return names;
}

/**
 * The syntax of a graph.
 * @param outputs in full
 * @throws UsageError for what the language has no words for
 */
export function syntaxOf(graph: Graph, outputs: readonly Declared[]): GraphSyntax {
  const names = namesOf(graph, outputs);
  // Once to know the text, once to point into it.
  const text = printCollective(new Writer(graph, outputs, names, () => NO_SPAN).collective(NO_SPAN));
  const places = new Map<string, Span>();
  const lines = text.split("\n");
  const statements = statementsOf(graph, outputs);
  const first = lines.length - 2 - statements.length;
  let at = 0;
  lines.forEach((line, i) => {
    const id = statements[i - first];
    if (id !== undefined) places.set(id, { start: at + 2, end: at + line.length });
    at += line.length + 1;
  });
  const head = lines.findIndex((line) => line.startsWith("collective "));
  const base = lines.slice(0, head).reduce((sum, line) => sum + line.length + 1, 0);
  for (const [role, tensors] of [
    ["in", graph.inputs],
    ["out", outputs],
  ] as const)
    // prettier-ignore
    for (const { id } of tensors) {
      const from = role === "in" ? base : text.indexOf(" -> ", base);
      const start = from + text.slice(from).search(new RegExp(`\\b${names.get(id)!}: `));
      places.set(`${role} ${id}`, { start, end: start + names.get(id)!.length });
    }
  const nodes = [...places].map(([key, span]) => ({ ...span, id: key.replace(/^(in|out) /, "") }));
  const source = new SourceFile(`${graph.name}.coll`, text, nodes);
  const collective = new Writer(graph, outputs, names, (key) => places.get(key)!).collective({ start: base, end: text.length - 1 }); // prettier-ignore
  return { collective, source };
}

/** Ids of what is one number: numbers of the launch, and nodes made of numbers alone. They stand in their users' lines. */
function numbersOf(graph: Graph): ReadonlySet<string> {
  const ids = new Set((graph.scalars ?? []).map((s) => s.id));
  for (const { id, inputs } of graph.nodes)
    if (inputs.length > 0 && inputs.every((x) => typeof x === "number" || ids.has(x))) ids.add(id);
  return ids;
}

/** Ids of nodes and outputs in the order of their statements: an output follows what it is at once. */
function statementsOf(graph: Graph, outputs: readonly Declared[]): string[] {
  const order: string[] = [];
  const inPlace = outputs.filter((o) => graph.inputs.some((t) => t.id === o.id)).map((o) => o.id);
  const add = (id: string): void => {
    for (const o of outputs)
      if (o.value === id && !inPlace.includes(o.id)) {
        order.push(o.id);
        add(o.id);
      }
  };
  for (const o of outputs) if (typeof o.value === "number" && !inPlace.includes(o.id)) { order.push(o.id); add(o.id); } // prettier-ignore
  for (const { id } of graph.inputs) add(id);
  const numbers = numbersOf(graph);
  for (const { id } of graph.scalars ?? []) add(id);
  for (const { id } of graph.nodes) {
    if (!numbers.has(id)) order.push(id);
    add(id);
  }
  return [...order, ...inPlace];
}

class Writer {
  private readonly numbers: ReadonlySet<string>;

  constructor(
    private readonly graph: Graph,
    private readonly outputs: readonly Declared[],
    private readonly names: ReadonlyMap<string, string>,
    private readonly place: (key: string) => Span,
  ) {
    this.numbers = numbersOf(graph);
  }

  collective(span: Span): Collective {
    const { graph, outputs } = this;
    const head = { start: span.start, end: span.start };
    const name = (text: string): Name => ({ text, span: head });
    return {
      name: name(graph.name),
      doc: graph.doc ?? "",
      inputs: graph.inputs.map((t) => this.tensor(t, this.place(`in ${t.id}`))),
      outputs: outputs.map((t) => this.tensor(t, this.place(`out ${t.id}`))),
      scalars: (graph.scalars ?? []).map(({ id, dtype }) => ({ name: name(this.names.get(id)!), dtype: { name: dtype, span: head }, span: head })), // prettier-ignore
      mesh: (graph.mesh ?? []).map(name),
      where: Object.entries(graph.dtypes ?? {}).map(([variable, allowed]) => ({
        variable: name(variable),
        dtypes: allowed.map((dtype) => ({ dtype, span: head })),
        span: head,
      })),
      requires: [
        ...(graph.ranks === undefined ? [] : [{ choices: graph.ranks, condition: null, span: head }]),
        ...(graph.requires ?? []).map(({ left, relation, right }) => ({
          choices: null,
          condition: binary(RELATION_SIGNS[relation] as BinaryOperator, lengthOf(left, head), lengthOf(right, head), head), // prettier-ignore
          span: head,
        })),
      ],
      limits: graph.inputs.flatMap(
        ({ id, values }) =>
        values === undefined
          ? []
          : [{ input: name(this.names.get(id)!), from: lengthOf(values.from, head), to: lengthOf(values.to, head), span: head }], // prettier-ignore
      ),
      ensures: [],
      body: this.statements(),
      span,
    };
  }

  private tensor({ id, dtype, shape, layout }: GraphTensor, span: Span): TensorDeclaration {
    const [, inner] = /^accumulator\((\w+)\)$/.exec(dtype) ?? [];
    return {
      name: { text: this.names.get(id)!, span },
      dtype:
        inner === undefined ? { name: dtype, span } : { name: inner, span, wrapper: { text: "accumulator", span } },
      shape: shape.map((e) => lengthOf(e, span)),
      layout: layoutReference(layout, span),
      span,
    };
  }

  private statements(): Statement[] {
    const nodes = new Map(this.graph.nodes.map((n) => [n.id, n]));
    return statementsOf(this.graph, this.outputs).map((id): Statement => {
      const span = this.place(id);
      const name = { text: this.names.get(id)!, span };
      const node = nodes.get(id);
      if (node !== undefined) return { kind: "let", name, value: this.node(node, span), span };
      const { value } = this.outputs.find((o) => o.id === id)!;
      return { kind: "assign", target: name, peer: null, indices: null, value: this.operand(value, span), span };
    });
  }

  private operand(operand: GraphOperand, span: Span): Expression {
    if (typeof operand === "string") {
      const node = this.numbers.has(operand) ? this.graph.nodes.find((n) => n.id === operand) : undefined;
      return node === undefined ? { kind: "name", name: this.names.get(operand)!, span } : this.node(node, span);
    }
    const value = Math.abs(operand);
    const number: Expression = { kind: "number", value, isInteger: Number.isSafeInteger(value), span };
    return operand < 0 || Object.is(operand, -0) ? { kind: "unary", operator: "-", operand: number, span } : number;
  }

  private node(node: GraphNode, span: Span): Expression {
    const { op, dim, to, over, dtype } = node;
    const row = GRAPH_OPS[op]!;
    const [a, b] = node.inputs.map((x) => this.operand(x, span)) as [Expression, Expression];
    const call = (callee: string, positional: readonly Expression[]): Expression => {
      const number = (value: number): Expression => ({ kind: "number", value, isInteger: true, span });
      const named = [
        ...(dim === undefined ? [] : [{ name: { text: "dim", span }, value: number(dim) }]),
        ...(to === undefined ? [] : [{ name: { text: "to", span }, value: number(to) }]),
        ...(node.times === undefined ? [] : [{ name: { text: "times", span }, value: number(node.times) }]),
        ...(over === undefined ? [] : [{ name: { text: "over", span }, value: { kind: "name", name: over, span } as Expression }]), // prettier-ignore
      ];
      return { kind: "call", callee: { text: callee, span }, arguments: positional, named, span };
    };
    switch (row.written) {
      case "infix":
        return binary(row.as as BinaryOperator, a, b, span);
      case "prefix":
        return { kind: "unary", operator: row.as as "-" | "not", operand: a, span };
      case "call":
        return call(row.as, node.inputs.map((x) => this.operand(x, span))); // prettier-ignore
      case "own":
        if (op === "matmul") return { kind: "matmul", left: a, right: b, span };
        if (op === "cast") return call(dtype!, [a]);
        if (op === "reshape") return call(op, [a, ...node.shape!.map((e) => lengthOf(e, span))]);
        if (op === "iota") return call(op, node.shape!.map((e) => lengthOf(e, span))); // prettier-ignore
        if (op === "permute") return call(op, [a, ...node.order!.map((d) => lengthOf(d, span))]);
        return {
          kind: "slice",
          operand: a,
          ranges: node.ranges!.map(({ from, to: end }) => ({
            from: from === undefined ? null : lengthOf(from, span),
            to: end === undefined ? null : lengthOf(end, span),
            isIndex: false,
            span,
          })),
          span,
        };
    }
  }
}

function binary(operator: BinaryOperator, left: Expression, right: Expression, span: Span): Expression {
  return { kind: "binary", operator, left, right, span };
}

const EXTENT_SIGNS: Readonly<Record<string, BinaryOperator>> = { add: "+", sub: "-", mul: "*", div: "/", mod: "%" };

/** A length as the language writes it. */
function lengthOf(e: GraphExtent, span: Span): Expression {
  if (typeof e === "string") return { kind: "name", name: e, span };
  if (typeof e === "number") {
    const number: Expression = { kind: "number", value: Math.abs(e), isInteger: true, span };
    return e < 0 ? { kind: "unary", operator: "-", operand: number, span } : number;
  }
  const [a, b] = [lengthOf(e.a, span), lengthOf(e.b, span)];
  const sign = EXTENT_SIGNS[e.op];
  if (sign !== undefined) return binary(sign, a, b, span);
  if (e.op === "ceildiv") {
    const less = lengthOf(typeof e.b === "number" ? e.b - 1 : { op: "sub", a: e.b, b: 1 }, span);
    return binary("/", binary("+", a, less, span), b, span);
  }
  throw new UsageError(`a length cannot be a '${e.op}'`, `lengths are made with ${[...Object.keys(EXTENT_SIGNS), "ceildiv"].join(", ")}`); // prettier-ignore
}

function layoutReference(text: string, span: Span): LayoutReference {
  const parts = text.match(/\w+(\s*\([^)]*\))?/g) ?? [text];
  const [first, ...further] = parts.map((part): LayoutReference => {
    const [, name = part, inside = ""] = /^(\w+)\s*(?:\((.*)\))?$/.exec(part.trim()) ?? [];
    return { name, arguments: inside === "" ? [] : inside.split(",").map((a) => a.trim()), span };
  });
  return further.length === 0 ? first! : { ...first!, further };
}
