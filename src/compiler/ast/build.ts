/** Concrete tree → abstract syntax. Nodes that the parser had to make up while recovering are left out. */
import type { CstElement, CstNode, IToken } from "chevrotain";
import { InternalCompilerError } from "../diagnostics/ice.js";
import { joinSpans, type Span } from "../source.js";
import { isDType } from "../types/dtype.js";
import type { Layout, ReductionOp } from "../types/layout.js";
import type * as Ast from "./nodes.js";

/** A layout as written, checked for meaning later. */
export interface WrittenLayout {
  readonly kind: string;
  readonly argument: string | null;
}

/** Thrown inside a subtree that recovery left incomplete; the nearest list drops the item. */
class Incomplete extends Error {}

export interface BuildResult {
  readonly program: Ast.Program;
  /** Layouts that are none, by declaration: the builder puts `local` in their place. */
  readonly badLayouts: readonly { readonly written: WrittenLayout; readonly span: Span }[];
  readonly badDTypes: readonly { readonly name: string; readonly span: Span }[];
}

export function buildProgram(cst: CstNode): BuildResult {
  const builder = new AstBuilder();
  const collectives = builder.each(cst, "collective", (n) => builder.collective(n));
  return { program: { collectives }, badLayouts: builder.badLayouts, badDTypes: builder.badDTypes };
}

const isNode = (e: CstElement): e is CstNode => "children" in e;

class AstBuilder {
  readonly badLayouts: { written: WrittenLayout; span: Span }[] = [];
  readonly badDTypes: { name: string; span: Span }[] = [];

  // -- access to the tree --------------------------------------------------------------------------

  private nodes(n: CstNode, key: string): CstNode[] {
    return (n.children[key] ?? []).filter(isNode);
  }
  private node(n: CstNode, key: string): CstNode {
    const found = this.nodes(n, key)[0];
    if (found === undefined) throw new Incomplete();
    return found;
  }
  private tokens(n: CstNode, key: string): IToken[] {
    return (n.children[key] ?? []).filter((e): e is IToken => !isNode(e) && !(e.isInsertedInRecovery ?? false));
  }
  private token(n: CstNode, key: string): IToken {
    const found = this.tokens(n, key)[0];
    if (found === undefined) throw new Incomplete();
    return found;
  }
  private has(n: CstNode, key: string): boolean {
    return (n.children[key]?.length ?? 0) > 0;
  }
  /** Builds every subtree of a kind, leaving out incomplete ones. */
  each<X>(n: CstNode, key: string, build: (child: CstNode) => X): X[] {
    const out: X[] = [];
    for (const child of this.nodes(n, key)) {
      try {
        out.push(build(child));
      } catch (e) {
        if (!(e instanceof Incomplete)) throw e;
      }
    }
    return out;
  }
  private span(n: CstNode): Span {
    const l = n.location;
    if (l === undefined || Number.isNaN(l.startOffset)) throw new Incomplete();
    return { start: l.startOffset, end: (l.endOffset ?? l.startOffset) + 1 };
  }
  private tokenSpan(t: IToken): Span {
    return { start: t.startOffset, end: (t.endOffset ?? t.startOffset) + 1 };
  }
  private name(t: IToken): Ast.Name {
    return { text: t.image, span: this.tokenSpan(t) };
  }

  // -- declarations --------------------------------------------------------------------------------

  collective(n: CstNode): Ast.Collective {
    const tensors = (key: string): Ast.TensorDeclaration[] =>
      this.nodes(n, key).flatMap((l) => this.each(l, "tensor", (t) => this.tensor(t)));
    const single = this.each(n, "output", (t) => this.tensor(t));
    const doc = this.tokens(n, "DocComment").map((t) => t.image.slice(3).replace(/^ /, "").trimEnd());
    return {
      name: this.name(this.token(n, "Name")),
      doc: doc.join("\n"),
      inputs: tensors("inputs"),
      outputs: [...single, ...tensors("outputs")],
      where: this.each(n, "where", (w) => this.where(w)),
      ensures: this.each(n, "ensures", (e) => ({
        output: this.name(this.token(e, "Name")),
        value: this.expression(this.node(e, "sum")),
        span: this.span(e),
      })),
      body: this.statements(this.node(n, "block")),
      span: this.span(n),
    };
  }

  private where(n: CstNode): Ast.DTypeConstraint {
    const dtypes = this.tokens(n, "dtypes").flatMap((t) => {
      if (isDType(t.image)) return [{ dtype: t.image, span: this.tokenSpan(t) }];
      this.badDTypes.push({ name: t.image, span: this.tokenSpan(t) });
      return [];
    });
    return { variable: this.name(this.token(n, "Name")), dtypes, span: this.span(n) };
  }

  private tensor(n: CstNode): Ast.TensorDeclaration {
    const { dtype, shape } = this.shapedType(this.node(n, "shapedType"));
    const written = this.node(n, "layout");
    return {
      name: this.name(this.token(n, "Name")),
      dtype,
      shape,
      layout: this.layout(written),
      layoutSpan: this.span(written),
      span: this.span(n),
    };
  }

  private shapedType(n: CstNode): { dtype: Ast.DTypeReference; shape: Ast.Expression[] } {
    const t = this.token(n, "Name");
    return {
      dtype: { name: t.image, span: this.tokenSpan(t) },
      shape: this.each(n, "expression", (e) => this.expression(e)),
    };
  }

  private layout(n: CstNode): Layout {
    const kind = this.token(n, "Name").image;
    const argument = this.tokens(n, "argument")[0]?.image ?? null;
    const number = argument !== null && /^\d+$/.test(argument) ? Number(argument) : null;
    if (argument === null && (kind === "replicated" || kind === "local")) return { kind };
    if (number !== null && kind === "sharded") return { kind, dim: number };
    if (number !== null && kind === "on") return { kind, rank: number };
    if (argument !== null && number === null && kind === "partial") return { kind, op: argument as ReductionOp };
    this.badLayouts.push({ written: { kind, argument }, span: this.span(n) });
    return { kind: "local" };
  }

  // -- statements ----------------------------------------------------------------------------------

  private statements(block: CstNode): Ast.Statement[] {
    return this.each(block, "statement", (s) => this.statement(s));
  }

  private statement(n: CstNode): Ast.Statement {
    const span = this.span(n);
    if (this.has(n, "Barrier")) return { kind: "barrier", span };
    const [key] = Object.keys(n.children);
    const s = this.node(n, key ?? "");
    switch (key) {
      case "letStatement":
        return {
          kind: "let",
          name: this.name(this.token(s, "Name")),
          value: this.expression(this.node(s, "expression")),
          span,
        };
      case "scratchStatement":
        return {
          kind: "scratch",
          name: this.name(this.token(s, "Name")),
          ...this.shapedType(this.node(s, "shapedType")),
          span,
        };
      case "forStatement":
        return {
          kind: "for",
          variables: this.tokens(s, "Name").map((t) => this.name(t)),
          over: this.domain(this.node(s, "domain")),
          body: this.statements(this.node(s, "block")),
          span,
        };
      case "ifStatement":
        return this.ifStatement(s);
      case "assignment": {
        const index = this.nodes(s, "index")[0];
        const remote = this.nodes(s, "remote")[0];
        return {
          kind: "assign",
          target: this.name(this.token(s, "Name")),
          peer: remote === undefined ? null : this.peer(remote),
          indices: index === undefined ? null : this.each(index, "expression", (e) => this.expression(e)),
          value: this.expression(this.node(s, "expression")),
          span,
        };
      }
      default:
        throw new Incomplete();
    }
  }

  private ifStatement(n: CstNode): Ast.Statement {
    const elseIf = this.nodes(n, "elseIf")[0];
    const otherwise = this.nodes(n, "otherwise")[0];
    return {
      kind: "if",
      condition: this.expression(this.node(n, "expression")),
      then: this.statements(this.node(n, "then")),
      otherwise:
        elseIf !== undefined ? [this.ifStatement(elseIf)] : otherwise === undefined ? [] : this.statements(otherwise),
      span: this.span(n),
    };
  }

  private domain(n: CstNode): Ast.Domain {
    const span = this.span(n);
    if (this.has(n, "Ranks") || this.has(n, "Peers")) return { kind: "ranks", includeSelf: this.has(n, "Ranks"), span };
    if (this.has(n, "Tiles")) return { kind: "tiles", ranges: this.each(n, "tileRange", (r) => this.range(r)), span };
    return { kind: "serial", range: this.range(this.node(n, "serialRange")), span };
  }

  private range(n: CstNode): Ast.RangeExpression {
    const piece = this.nodes(n, "piece")[0];
    if (piece !== undefined) return this.piece(piece);
    const first = this.expression(this.node(n, "expression"));
    const to = this.nodes(n, "to")[0];
    return to === undefined
      ? { kind: "bounds", from: null, to: first, span: this.span(n) }
      : { kind: "bounds", from: first, to: this.expression(to), span: this.span(n) };
  }

  private piece(n: CstNode): Ast.RangeExpression {
    const kind = this.has(n, "Shard") ? "shard" : "chunk";
    return {
      kind,
      length: this.expression(this.node(n, "length")),
      rank: this.expression(this.node(n, "rank")),
      span: this.span(n),
    };
  }

  // -- expressions ---------------------------------------------------------------------------------

  private expression(n: CstNode): Ast.Expression {
    switch (n.name) {
      case "expression":
        return this.chain(n, "conjunction", () => "or");
      case "conjunction":
        return this.chain(n, "comparison", () => "and");
      case "comparison":
        return this.chain(n, "sum", (t) => t.image as Ast.BinaryOperator);
      case "sum":
        return this.chain(n, "product", (t) => t.image as Ast.BinaryOperator);
      case "product":
        return this.chain(n, "unary", (t) => t.image as Ast.BinaryOperator | "@");
      case "unary":
        return this.unary(n);
      case "primary":
        return this.primary(n);
      default:
        throw new InternalCompilerError(`'${n.name}' is no expression`);
    }
  }

  /** Operands of one level of precedence, joined from left to right. */
  private chain(n: CstNode, operand: string, operatorOf: (t: IToken) => Ast.BinaryOperator | "@"): Ast.Expression {
    const operands = this.nodes(n, operand).map((o) => this.expression(o));
    const written = this.tokens(n, "operator");
    const [first, ...rest] = operands;
    if (first === undefined) throw new Incomplete();
    return rest.reduce((left, right, i) => {
      const operator = written.length > 0 ? operatorOf(written[i]!) : operatorOf(undefined as never);
      const span = joinSpans(left.span, right.span);
      return operator === "@" ? { kind: "matmul", left, right, span } : { kind: "binary", operator, left, right, span };
    }, first);
  }

  private unary(n: CstNode): Ast.Expression {
    const primary = this.nodes(n, "primary")[0];
    if (primary !== undefined) return this.primary(primary);
    const operator = this.token(n, "operator").image as "-" | "not";
    return { kind: "unary", operator, operand: this.expression(this.node(n, "operand")), span: this.span(n) };
  }

  private primary(n: CstNode): Ast.Expression {
    const span = this.span(n);
    for (const key of ["Number", "Integer"] as const) {
      const t = this.tokens(n, key)[0];
      if (t !== undefined) return { kind: "number", value: Number(t.image), isInteger: key === "Integer", span };
    }
    const member = this.tokens(n, "member")[0];
    if (member !== undefined)
      return { kind: "member", range: this.piece(this.node(n, "piece")), member: this.name(member), span };
    const fold = this.nodes(n, "fold")[0];
    if (fold !== undefined) return this.fold(fold);
    const call = this.nodes(n, "call")[0];
    if (call !== undefined) return this.call(call);
    const place = this.nodes(n, "place")[0];
    if (place !== undefined) return this.place(place);
    return this.expression(this.node(n, "expression"));
  }

  private place(n: CstNode): Ast.Expression {
    const name = this.name(this.token(n, "Name"));
    const remote = this.nodes(n, "remote")[0];
    const index = this.nodes(n, "index")[0];
    if (remote === undefined && index === undefined) return { kind: "name", name: name.text, span: name.span };
    const indices = index === undefined ? [] : this.each(index, "expression", (e) => this.expression(e));
    return {
      kind: "element",
      tensor: name,
      peer: remote === undefined ? null : this.peer(remote),
      indices,
      span: this.span(n),
    };
  }

  private peer(n: CstNode): Ast.Expression {
    const t = this.tokens(n, "peer")[0];
    if (t === undefined) return this.expression(this.node(n, "expression"));
    const span = this.tokenSpan(t);
    return /^\d/.test(t.image)
      ? { kind: "number", value: Number(t.image), isInteger: true, span }
      : { kind: "name", name: t.image, span };
  }

  private fold(n: CstNode): Ast.Expression {
    return {
      kind: "reduce",
      op: this.token(n, "op").image as ReductionOp,
      variable: this.name(this.token(n, "variable")),
      over: this.domain(this.node(n, "domain")),
      body: this.expression(this.node(n, "product")),
      span: this.span(n),
    };
  }

  private call(n: CstNode): Ast.Expression {
    const values = this.each(n, "argument", (a) => {
      const name = this.tokens(a, "Name")[0];
      return { name: name === undefined ? null : this.name(name), value: this.expression(this.node(a, "expression")) };
    });
    return {
      kind: "call",
      callee: this.name(this.token(n, "Name")),
      arguments: values.filter((v) => v.name === null).map((v) => v.value),
      named: values.flatMap((v) => (v.name === null ? [] : [{ name: v.name, value: v.value }])),
      span: this.span(n),
    };
  }
}
