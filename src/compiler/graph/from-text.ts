/** A text of tensor expressions → graph: the other way of `syntax.ts`. */
import { UsageError } from "../../errors.js";
import type { Collective, Expression, LayoutReference, Statement, TensorDeclaration } from "../ast/nodes.js";
import type { Diagnostic } from "../diagnostics/create.js";
import { checkCollective, parseProgram } from "../front-end.js";
import type { ResolveImport } from "../link/link.js";
import { checkOptions } from "../options.js";
import { everyVariable } from "../program/library.js";
import { SourceFile } from "../source.js";
import type { DType } from "../types/dtype.js";
import { extent, type ExtentOp } from "../types/extent.js";
import { RELATION_SIGNS, type Relation } from "../types/requirement.js";
import { type Graph, GRAPH_FORMAT, type GraphExtent, type GraphNode, GRAPH_OPS, type GraphOperand, type GraphTensor } from "./graph.js"; // prettier-ignore

export interface GraphFromTextOptions {
  /** For which the program's constants are worked out; the graph itself may serve other numbers, too. */
  readonly ranks: number;
  readonly collective?: string;
  readonly file?: string;
  readonly resolve?: ResolveImport;
  readonly dtype?: DType;
}

/** A graph, or what is wrong with the text. */
export type GraphFromText =
  | { readonly graph: Graph; readonly diagnostics: readonly Diagnostic[]; readonly source: SourceFile }
  | { readonly graph: null; readonly diagnostics: readonly Diagnostic[]; readonly source: SourceFile };

/**
 * The graph that a text of tensor expressions says. `let`s of tensors keep their names; what stands inside expressions gets names of its own.
 * @throws UsageError for a correct program that is no graph: with loops, scratch arrays, an `ensures` clause, or `world` among
 *   values; and for wrong options
 */
export function graphFromText(text: string, options: GraphFromTextOptions): GraphFromText {
  checkOptions(options);
  const source = new SourceFile(options.file ?? "<input>", text);
  const { program, diagnostics: syntax } = parseProgram(source);
  const hasError = (all: readonly Diagnostic[]): boolean => all.some((d) => d.severity === "error");
  if (hasError(syntax)) return { graph: null, diagnostics: syntax, source };
  const { ranks: world, resolve, dtype } = options;
  const { checked, diagnostics } = checkCollective(program, options.collective, {
    world,
    dtypes: dtype === undefined ? {} : everyVariable(dtype),
    file: source,
    ...(resolve === undefined ? {} : { resolve }),
  });
  const all = [...syntax, ...diagnostics];
  if (checked === null || hasError(all)) return { graph: null, diagnostics: all, source };
  return { graph: new Reader(checked.syntax).graph(), diagnostics: all, source };
}

const OPS_BY_SIGN = new Map(
  Object.entries(GRAPH_OPS).flatMap(([op, { written, as }]) => (written === "infix" ? [[as, op] as const] : [])),
);
const RELATIONS = new Map(Object.entries(RELATION_SIGNS).map(([relation, sign]) => [sign, relation as Relation]));
const EXTENTS: Readonly<Record<string, ExtentOp>> = { "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod" };

/** Scope of the functions that are put in place: by name, what an argument is. */
type Scope = ReadonlyMap<string, GraphOperand>;

class Reader {
  private readonly nodes: GraphNode[] = [];
  private readonly taken: Set<string>;
  /** Lengths that the body names. */
  private readonly lengths = new Map<string, GraphExtent>();

  constructor(private readonly c: Collective) {
    this.taken = new Set([
      ...[...c.inputs, ...c.scalars, ...c.outputs].map((t) => t.name.text),
      ...c.body.flatMap((s) => (s.kind === "let" ? [s.name.text] : [])),
    ]);
  }

  graph(): Graph {
    const { c } = this;
    if (c.ensures.length > 0) throw notAGraph(c, "has an 'ensures' clause");
    const values = new Map(c.limits.map((l) => [l.input.text, { from: this.length(l.from), to: this.length(l.to) }]));
    const inputs = c.inputs.map((t) => {
      const limits = values.get(t.name.text);
      return { ...this.tensor(t), ...(limits === undefined ? {} : { values: limits }) };
    });
    const assigned = new Map<string, GraphOperand>();
    for (const s of c.body) this.statement(s, assigned);
    const ranks = c.requires.flatMap((r) => (r.choices === null ? [] : [r.choices]));
    const requires = c.requires.flatMap((r) => (r.condition === null ? [] : this.conditions(r.condition)));
    return {
      format: GRAPH_FORMAT,
      name: c.name.text,
      ...(c.doc === "" ? {} : { doc: c.doc }),
      ...(c.mesh.length === 0 ? {} : { mesh: c.mesh.map((a) => a.text) }),
      ...(c.where.length === 0
        ? {}
        : { dtypes: Object.fromEntries(c.where.map((w) => [w.variable.text, w.dtypes.map((d) => d.dtype)])) }),
      ...(requires.length === 0 ? {} : { requires }),
      ...(ranks.length === 0 ? {} : { ranks: ranks.reduce((a, b) => a.filter((r) => b.includes(r))) }),
      inputs,
      ...(c.scalars.length === 0
        ? {}
        : { scalars: c.scalars.map(({ name, dtype }) => ({ id: name.text, dtype: dtype.name })) }),
      nodes: this.nodes,
      outputs: c.outputs.map((t) => ({ ...this.tensor(t), value: assigned.get(t.name.text)! })),
    };
  }

  private tensor({ name, dtype, shape, layout }: TensorDeclaration): GraphTensor {
    return {
      id: name.text,
      dtype: dtype.wrapper === undefined ? dtype.name : `${dtype.wrapper.text}(${dtype.name})`,
      shape: shape.map((e) => this.length(e)),
      layout: layoutText(layout),
    };
  }

  private statement(s: Statement, assigned: Map<string, GraphOperand>): void {
    if (s.kind === "let") {
      const length = this.asLength(s.value);
      if (length !== null) this.lengths.set(s.name.text, length);
      else this.value(s.value, new Map(), s.name.text);
    } else if (s.kind === "assign" && s.indices === null) {
      const value = this.value(s.value, new Map());
      assigned.set(s.target.text, value);
      // From here on the name means the new value.
      if (this.c.inputs.some((t) => t.name.text === s.target.text)) this.aliases.set(s.target.text, value);
    } else throw notAGraph(this.c, s.kind === "scratch" ? "has a scratch array" : "says how the data moves");
  }

  /** Adds the nodes of an expression. @param wanted the id of the last one; without it, an operand may do */
  private value(e: Expression, scope: Scope, wanted?: string): GraphOperand {
    const inner = (x: Expression): GraphOperand => this.value(x, scope);
    const add = (op: string, inputs: readonly GraphOperand[], attributes: Partial<GraphNode> = {}): string => {
      const id = wanted ?? this.fresh();
      this.nodes.push({ id, op, inputs, ...attributes });
      return id;
    };
    switch (e.kind) {
      case "number":
        return e.value;
      case "name": {
        if (e.name === "world")
          throw notAGraph(this.c, "computes with the number of ranks, which graphs know in lengths alone");
        const id = scope.get(e.name) ?? e.name;
        // A second name of a tensor: a node all the same, the reshape to the same shape would be one more to compile.
        if (wanted !== undefined) this.alias(wanted, id);
        return this.aliases.get(id as string) ?? id;
      }
      case "unary": {
        if (e.operator === "-" && e.operand.kind === "number") return -e.operand.value;
        return add(e.operator === "-" ? "neg" : "not", [inner(e.operand)]);
      }
      case "binary":
        return add(OPS_BY_SIGN.get(e.operator)!, [inner(e.left), inner(e.right)]);
      case "matmul":
        return add("matmul", [inner(e.left), inner(e.right)]);
      case "slice": {
        const operand = inner(e.operand);
        const ranges = e.ranges.map((r) => {
          const from = r.from === null ? undefined : this.length(r.from);
          const to = r.isIndex ? extent("add", from!, 1) : r.to === null ? undefined : this.length(r.to);
          return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
        });
        return add("slice", [operand], { ranges });
      }
      case "inlined": {
        const bound = new Map(scope);
        for (const { name, value } of e.bindings) {
          const length = this.asLength(value);
          if (length !== null) this.lengths.set(name.text, length);
          if (length === null || typeof length === "number") bound.set(name.text, inner(value));
        }
        return this.value(e.body, bound, wanted);
      }
      case "call": {
        const callee = e.callee.text;
        const lengths = (): GraphExtent[] => e.arguments.slice(1).map((x) => this.length(x));
        if (callee === "iota") {
          const dim = e.named.find((n) => n.name.text === "dim");
          const shape = e.arguments.map((x) => this.length(x));
          return add(callee, [], { shape, ...(dim === undefined ? {} : { dim: this.length(dim.value) as number }) });
        }
        if (callee === "reshape") return add(callee, [inner(e.arguments[0]!)], { shape: lengths() });
        if (callee === "permute") return add(callee, [inner(e.arguments[0]!)], { order: lengths() as number[] });
        const inputs = e.arguments.map(inner);
        if (!Object.hasOwn(GRAPH_OPS, callee)) return add("cast", inputs, { dtype: callee });
        const named = Object.fromEntries(
          e.named.map(({ name, value }) => [name.text, value.kind === "name" ? value.name : this.length(value)]),
        );
        return add(callee, inputs, named);
      }
      default:
        throw notAGraph(this.c, "has elements and indices");
    }
  }

  private readonly aliases = new Map<string, GraphOperand>();

  private alias(name: string, of: GraphOperand): void {
    this.aliases.set(name, this.aliases.get(of as string) ?? of);
  }

  private fresh(): string {
    let id = "";
    for (let i = this.nodes.length + 1; id === "" || this.taken.has(id); i++) id = `t${i}`;
    this.taken.add(id);
    return id;
  }

  private asLength(e: Expression): GraphExtent | null {
    if (e.kind === "number") return e.isInteger ? e.value : null;
    if (e.kind === "name") {
      const named = this.lengths.get(e.name);
      if (named !== undefined) return named;
      return this.taken.has(e.name) ? null : e.name;
    }
    if (e.kind === "unary" && e.operator === "-" && e.operand.kind === "number") return -e.operand.value;
    if (e.kind !== "binary") return null;
    const [a, b, op] = [this.asLength(e.left), this.asLength(e.right), EXTENTS[e.operator]];
    return a === null || b === null || op === undefined ? null : extent(op, a, b);
  }

  private length(e: Expression): GraphExtent {
    const found = this.asLength(e);
    if (found === null) throw notAGraph(this.c, "has a length that graphs cannot say");
    return found;
  }

  private conditions(e: Expression): { left: GraphExtent; relation: Relation; right: GraphExtent }[] {
    if (e.kind !== "binary") throw notAGraph(this.c, "has a condition that graphs cannot say");
    if (e.operator === "and") return [...this.conditions(e.left), ...this.conditions(e.right)];
    const relation = RELATIONS.get(e.operator);
    if (relation === undefined) throw notAGraph(this.c, "has a condition that graphs cannot say");
    return [{ left: this.length(e.left), relation, right: this.length(e.right) }];
  }
}

function notAGraph(c: Collective, why: string): UsageError {
  return new UsageError(`'${c.name.text}' is no graph: it ${why}`, "graphs are made of tensor expressions alone; compile the text itself"); // prettier-ignore
}

function layoutText(l: LayoutReference): string {
  const own = l.arguments.length === 0 ? l.name : `${l.name}(${l.arguments.join(", ")})`;
  return [own, ...(l.further ?? []).map(layoutText)].join(" ");
}
