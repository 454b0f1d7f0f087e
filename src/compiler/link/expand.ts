/**
 * Constants and functions, put in place: a constant's name becomes its number, a call of a function becomes the
 * function's expression with its parameters bound to the arguments. What is left knows neither, so checking and
 * lowering need not either. Trees without them come back as they are.
 *
 * So are numbers that are computed of numbers of the launch, where tensors are spoken of: a number has no type until it meets a tensor,
 * so a function's argument and a `let` of one stand where they are used, each time anew.
 */
import type { Collective, Domain, Expression, Name, RangeExpression, Statement } from "../ast/nodes.js";
import { someParts } from "../ast/visit.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import type { Span } from "../source.js";
import { Budget } from "./budget.js";
import { type ConstantValue, evaluateConstant } from "./constants.js";
import type { Definition, FileScope } from "./scope.js";

/** A number of ranks along each axis of the mesh, the outermost first. */
export type MeshAxes = readonly { readonly name: string; readonly size: number }[];

export interface Expansion {
  readonly world: number;
  readonly axes: MeshAxes;
  readonly report: (d: Diagnostic) => void;
}

/** The collective without constants and calls of functions. */
export function expandCollective(c: Collective, scope: FileScope, expansion: Expansion): Collective {
  const scalars = new Set(c.scalars.map((s) => s.name.text));
  const hasNumbers = c.body.some((s) => s.kind === "let" && isOfNumbers(s.value, scalars));
  if (scope.definitions.size <= 1 && c.mesh.length === 0 && !hasNumbers && !usesLogarithm(c)) return c;
  const own = new Set([...c.inputs, ...c.outputs, ...c.scalars].map((t) => t.name.text));
  const e = new Expander(scope, expansion, new Budget(expansion.report), own, [], scalars);
  const tensor = <T extends { readonly shape: readonly Expression[] }>(t: T): T => ({
    ...t,
    shape: t.shape.map((x) => e.expression(x)),
  });
  return {
    ...c,
    inputs: c.inputs.map(tensor),
    outputs: c.outputs.map(tensor),
    requires: c.requires.map((r) => (r.condition === null ? r : { ...r, condition: e.expression(r.condition) })),
    limits: c.limits.map((l) => ({ ...l, from: e.expression(l.from), to: e.expression(l.to) })),
    ensures: c.ensures.map((x) => ({ ...x, value: e.expression(x.value) })),
    body: withNumbersInPlace(e.statements(c.body), scalars, own),
  };
}

/** Whether an expression is made of numbers alone: written ones, the number of ranks, and those of the launch. */
function isOfNumbers(e: Expression, scalars: ReadonlySet<string>): boolean {
  switch (e.kind) {
    case "number":
      return true;
    case "name":
      return e.name === "world" || scalars.has(e.name);
    case "unary":
      return e.operator === "-" && isOfNumbers(e.operand, scalars);
    case "binary":
      return ["+", "-", "*", "/"].includes(e.operator) && [e.left, e.right].every((x) => isOfNumbers(x, scalars));
    case "call":
      return e.arguments.length > 0 && e.named.length === 0 && e.arguments.every((x) => isOfNumbers(x, scalars));
    case "inlined":
      return e.bindings.length === 0 && isOfNumbers(e.body, scalars);
    default:
      return false;
  }
}

/** Statements on tensors with the numbers that lets above them stand for; such a let goes where nothing else names it. */
function withNumbersInPlace(
  body: readonly Statement[],
  scalars: ReadonlySet<string>,
  own: ReadonlySet<string>,
): Statement[] {
  const lets = body.flatMap((s) => (s.kind === "let" ? [s.name.text] : []));
  // Of a name that is given twice, checking says so.
  const isOne = (name: string): boolean => !own.has(name) && lets.filter((l) => l === name).length === 1;
  const numbers = new Map<string, Expression>();
  const used = new Set<string>();
  const placed = (e: Expression): Expression => {
    if (numbers.size === 0) return e;
    someParts(e, (p) => {
      if (p.kind === "name" && numbers.has(p.name)) used.add(p.name);
      return false;
    });
    return substitute(e, numbers);
  };
  const found = body.map((s): Statement => {
    if (s.kind === "let") {
      const value = placed(s.value);
      if (isOne(s.name.text) && isOfNumbers(value, scalars)) numbers.set(s.name.text, value);
      return { ...s, value };
    }
    const isWhole = s.kind === "assign" && s.indices === null && s.peer === null;
    return isWhole ? { ...s, value: placed(s.value) } : s;
  });
  const names = new Set<string>();
  copied(found, (node) => {
    if (node.kind === "name") names.add(node.name as string);
    return node;
  });
  return found.filter((s) => s.kind !== "let" || !used.has(s.name.text) || names.has(s.name.text));
}

/** The same where calls of functions in it are given such numbers. */
function withArgumentsInPlace(e: Expression, scalars: ReadonlySet<string>): Expression {
  return copied(e, (node) => {
    if (node.kind !== "inlined") return node;
    const { bindings, body, ...call } = node as unknown as Extract<Expression, { kind: "inlined" }>;
    const isNumber = bindings.map((b) => isOfNumbers(b.value, scalars));
    if (!isNumber.includes(true)) return node;
    const numbers = new Map(bindings.filter((_, i) => isNumber[i]).map((b) => [b.name.text, b.value]));
    const kept = bindings.filter((_, i) => !isNumber[i]);
    // What calls within are given may be numbers now.
    return { ...call, bindings: kept, body: withArgumentsInPlace(substitute(body, numbers), scalars) };
  });
}

/** The number that a constant stands for; null, and reported, if it stands for none. */
export function valueOfConstant(
  found: Extract<Definition, { kind: "constant" }>,
  expansion: Expansion,
): ConstantValue | null {
  const e = new Expander(found.scope, expansion, new Budget(expansion.report), new Set(), [found]);
  return evaluateConstant(e.expression(found.node.value), expansion.world);
}

/** `log2` of a constant is one, too. */
function usesLogarithm(c: Collective): boolean {
  return JSON.stringify(c).includes('"text":"log2"');
}

let inlined = 0;

class Expander {
  constructor(
    private readonly scope: FileScope,
    private readonly expansion: Expansion,
    private readonly budget: Budget,
    /** Names that mean something else here than in the file. */
    private readonly hidden: ReadonlySet<string>,
    /** Definitions that are being put in place, so that one that needs itself is found out. */
    private readonly open: readonly Definition[],
    /** Numbers of the launch. */
    private readonly scalars: ReadonlySet<string> = new Set(),
  ) {}

  // -- statements ----------------------------------------------------------------------------------

  statements(body: readonly Statement[]): Statement[] {
    return body.map((s) => this.statement(s));
  }

  private statement(s: Statement): Statement {
    switch (s.kind) {
      case "let":
        return { ...s, value: this.expression(s.value) };
      case "scratch":
        return { ...s, shape: s.shape.map((x) => this.expression(x)) };
      case "assign":
        return {
          ...s,
          peer: this.optional(s.peer),
          indices: s.indices?.map((x) => this.expression(x)) ?? null,
          value: this.expression(s.value),
        };
      case "for":
        return { ...s, over: this.domain(s.over), body: this.statements(s.body) };
      case "if":
        return {
          ...s,
          condition: this.expression(s.condition),
          then: this.statements(s.then),
          otherwise: this.statements(s.otherwise),
        };
      case "signal":
      case "wait":
        return { ...s, peer: this.expression(s.peer) };
      case "barrier":
        return s;
    }
  }

  // -- expressions ---------------------------------------------------------------------------------

  expression(e: Expression): Expression {
    if (this.open.length > 0 && !this.budget.part(e.span)) return e;
    return this.budget.deeper(e.span, () => this.expand(e)) ?? e;
  }

  private expand(e: Expression): Expression {
    switch (e.kind) {
      case "number":
      case "inlined":
        return e;
      case "axis":
        return this.axis(e);
      case "name":
        return this.name(e);
      case "element":
        return { ...e, peer: this.optional(e.peer), indices: e.indices.map((x) => this.expression(x)) };
      case "slice":
        return {
          ...e,
          operand: this.expression(e.operand),
          ranges: e.ranges.map((r) => ({ ...r, from: this.optional(r.from), to: this.optional(r.to) })),
        };
      case "member":
        return { ...e, range: this.range(e.range) };
      case "unary":
        return { ...e, operand: this.expression(e.operand) };
      case "binary":
      case "matmul":
        return { ...e, left: this.expression(e.left), right: this.expression(e.right) };
      case "call":
        return this.call(e);
      case "reduce":
        return { ...e, over: this.domain(e.over), body: this.expression(e.body) };
    }
  }

  private optional(e: Expression | null): Expression | null {
    return e === null ? null : this.expression(e);
  }

  private domain(d: Domain): Domain {
    if (d.kind === "tiles") return { ...d, ranges: d.ranges.map((r) => this.range(r)) };
    return d.kind === "serial" ? { ...d, range: this.range(d.range) } : d;
  }

  private range(r: RangeExpression): RangeExpression {
    if (r.kind === "bounds") return { ...r, from: this.optional(r.from), to: this.expression(r.to) };
    const [length, rank] = [this.expression(r.length), this.expression(r.rank)];
    return { ...r, length, rank, parts: this.optional(r.parts) };
  }

  /** The length of an axis is known; the place along it is not. */
  private axis(e: Extract<Expression, { kind: "axis" }>): Expression {
    const found = this.expansion.axes.find((a) => a.name === e.axis.text);
    if (e.base.text !== "world" || found === undefined) return e;
    return { kind: "number", value: found.size, isInteger: true, span: e.span };
  }

  private name(e: Extract<Expression, { kind: "name" }>): Expression {
    const found = this.find(e.name);
    if (found?.kind !== "constant") return e;
    const value = this.constant(found, e.span);
    return value ?? e;
  }

  private find(name: string): Definition | undefined {
    return this.hidden.has(name) ? undefined : this.scope.definitions.get(name);
  }

  private constant(found: Extract<Definition, { kind: "constant" }>, span: Span): Expression | null {
    if (this.isOpen(found, span, found.node.name.text)) return null;
    const known = this.budget.constants.get(found.node);
    if (known === null) return { kind: "number", value: 1, isInteger: true, span }; // has been reported
    let value = known ?? null;
    if (value === null) {
      const inner = new Expander(found.scope, this.expansion, this.budget, new Set(), [...this.open, found]);
      value = evaluateConstant(inner.expression(found.node.value), this.expansion.world);
      this.budget.constants.set(found.node, value);
    }
    if (value !== null) return { kind: "number", value: value.value, isInteger: value.isInteger, span };
    const what = `'${found.node.name.text}'`;
    this.expansion.report(diagnostic("not-constant", found.node.value.span, { what }));
    return { kind: "number", value: 1, isInteger: true, span };
  }

  private call(e: Extract<Expression, { kind: "call" }>): Expression {
    const values = e.arguments.map((a) => this.expression(a));
    const named = e.named.map((n) => ({ ...n, value: this.expression(n.value) }));
    const call: Expression = { ...e, arguments: values, named };
    if (e.callee.text === "log2") return this.logarithm(call, values);
    const found = this.find(e.callee.text);
    if (found?.kind !== "function") return call;
    const { parameters, value, name } = found.node;
    if (this.isOpen(found, e.callee.span, name.text))
      return { kind: "number", value: 1, isInteger: true, span: e.span };
    if (named.length > 0 || parameters.length !== values.length) {
      const wanted = `${parameters.length} argument${parameters.length === 1 ? "" : "s"}`;
      const found = named.length > 0 ? "named ones" : String(values.length);
      this.expansion.report(diagnostic("wrong-arity", e.span, { name: name.text, wanted, found }));
      return { kind: "number", value: 1, isInteger: true, span: e.span };
    }
    return this.inline(e, found, parameters, values, value);
  }

  private inline(
    call: Extract<Expression, { kind: "call" }>,
    found: Definition,
    parameters: readonly Name[],
    values: readonly Expression[],
    body: Expression,
  ): Expression {
    const inner = new Expander(found.scope, this.expansion, this.budget, new Set(parameters.map((p) => p.text)), [
      ...this.open,
      found,
    ]);
    // Names of the function's own, which no program can write: two calls in one expression stay apart.
    const id = ++inlined;
    const rename = new Map<string, Expression | string>();
    const bindings = parameters.flatMap((p, i) => {
      const value = values[i]!;
      // A number has no type of its own yet, it gets one where it is used; and a tensor's name is no value.
      if (value.kind === "name" || evaluateConstant(value, this.expansion.world) !== null) {
        rename.set(p.text, value.kind === "name" ? value.name : value);
        return [];
      }
      const name = `${p.text}'${id}`;
      rename.set(p.text, name);
      return [{ name: { text: name, span: p.span }, value }];
    });
    for (const variable of variablesOf(body)) rename.set(variable, `${variable}'${id}`);
    const value = substitute(inner.expression(body), rename);
    const made: Expression = { kind: "inlined", callee: call.callee, bindings, body: value, span: call.span };
    return this.open.length === 0 && bindings.length > 0 ? withArgumentsInPlace(made, this.scalars) : made;
  }

  private isOpen(found: Definition, span: Span, name: string): boolean {
    if (!this.open.some((d) => d.node === found.node)) return false;
    this.expansion.report(diagnostic("recursive", span, { name }));
    return true;
  }

  private logarithm(call: Expression, values: readonly Expression[]): Expression {
    const [only] = values;
    const known = only === undefined ? null : evaluateConstant(only, this.expansion.world);
    if (values.length !== 1) {
      const parameters = { name: "log2", wanted: "1 argument", found: values.length };
      this.expansion.report(diagnostic("wrong-arity", call.span, parameters));
    } else if (known === null || known.value < 1)
      this.expansion.report(diagnostic("not-constant", only!.span, { what: "the argument of log2" }));
    const value = known === null || known.value < 1 ? 0 : Math.floor(Math.log2(known.value));
    return { kind: "number", value, isInteger: true, span: call.span };
  }
}

/** The help for a call of nothing, among the functions of the file. */
export function nearestFunction(name: string, scope: FileScope): string | null {
  const names = [...scope.definitions].flatMap(([n, d]) => (d.kind === "function" ? [n] : []));
  return suggestion(name, names);
}

/** Variables of reductions in an expression. */
function variablesOf(e: Expression): string[] {
  const found: string[] = [];
  someParts(e, (p) => {
    if (p.kind === "reduce") found.push(p.variable.text);
    return false;
  });
  return found;
}

/** A copy of the expression with names replaced: every call has nodes of its own, which get types of their own. */
function substitute(e: Expression, names: ReadonlyMap<string, Expression | string>): Expression {
  /** Another name for one that stands for a name. */
  const renamed = (name: Name): Name => {
    const to = names.get(name.text);
    return typeof to === "string" ? { ...name, text: to } : name;
  };
  return copied(e, (node) => {
    // A parameter may stand for a tensor whose elements the function names.
    if (node.kind === "element") return { ...node, tensor: renamed(node.tensor as Name) };
    if (node.kind === "reduce") return { ...node, variable: renamed(node.variable as Name) };
    const to = node.kind === "name" ? names.get(node.name as string) : undefined;
    if (to === undefined) return node;
    return typeof to === "string" ? { ...node, name: to } : structuredClone(to);
  });
}

/** A copy of a tree, in which `change` has the last word on each node, after those below it. */
function copied<T>(tree: T, change: (node: Readonly<Record<string, unknown>>) => unknown): T {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== "object" || value === null) return value;
    return change(Object.fromEntries(Object.entries(value).map(([k, v]) => [k, k === "span" ? v : copy(v)])));
  };
  return copy(tree) as T;
}
