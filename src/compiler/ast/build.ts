/** Concrete tree → abstract syntax. What recovery from a syntax error left incomplete is left out. */
import type { CstNode } from "chevrotain";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { DTYPE_NAMES, isDType } from "../types/dtype.js";
import { buildDomain, buildExpression, buildIndices, buildPeer } from "./build-expressions.js";
import { each, has, Incomplete, nameOf, node, nodes, spanOf, token, tokens, tokenSpan } from "./cst.js";
import type * as Ast from "./nodes.js";

type Report = (d: Diagnostic) => void;

/** @param report gets what the grammar lets through and the syntax tree cannot say: dtypes of a `where` that are none. */
export function buildProgram(cst: CstNode, report: Report): Ast.Program {
  return { collectives: each(cst, "collective", (n) => buildCollective(n, report)) };
}

function buildCollective(n: CstNode, report: Report): Ast.Collective {
  const lists = (key: string): Ast.TensorDeclaration[] => nodes(n, key).flatMap((l) => each(l, "tensor", buildTensor));
  const doc = tokens(n, "DocComment").map((t) => t.image.slice(3).replace(/^ /, "").trimEnd());
  return {
    name: nameOf(token(n, "Name")),
    doc: doc.join("\n"),
    inputs: lists("inputs"),
    outputs: [...each(n, "output", buildTensor), ...lists("outputs")],
    where: each(n, "where", (w) => buildWhere(w, report)),
    ensures: each(n, "ensures", (e) => ({
      output: nameOf(token(e, "Name")),
      value: buildExpression(node(e, "expression")),
      span: spanOf(e),
    })),
    body: buildBlock(node(n, "block")),
    span: spanOf(n),
  };
}

function buildWhere(n: CstNode, report: Report): Ast.DTypeConstraint {
  const dtypes = tokens(n, "dtypes").flatMap((t) => {
    const name = t.image;
    if (isDType(name)) return [{ dtype: name, span: tokenSpan(t) }];
    const help = suggestion(name, DTYPE_NAMES) ?? undefined;
    report(diagnostic("unknown-dtype", tokenSpan(t), { name, known: DTYPE_NAMES.join(", ") }, { help }));
    return [];
  });
  return { variable: nameOf(token(n, "Name")), dtypes, span: spanOf(n) };
}

function buildTensor(n: CstNode): Ast.TensorDeclaration {
  const { dtype, shape } = buildShapedType(node(n, "shapedType"));
  return {
    name: nameOf(token(n, "Name")),
    dtype,
    shape,
    layout: buildLayout(node(n, "layout")),
    span: spanOf(n),
  };
}

function buildShapedType(n: CstNode): { dtype: Ast.DTypeReference; shape: Ast.Expression[] } {
  const t = token(n, "Name");
  return { dtype: { name: t.image, span: tokenSpan(t) }, shape: each(n, "expression", buildExpression) };
}

function buildLayout(n: CstNode): Ast.LayoutReference {
  return { name: token(n, "Name").image, argument: tokens(n, "argument")[0]?.image ?? null, span: spanOf(n) };
}

// -- statements ------------------------------------------------------------------------------------

function buildBlock(block: CstNode): Ast.Statement[] {
  return each(block, "statement", buildStatement);
}

function buildStatement(n: CstNode): Ast.Statement {
  const span = spanOf(n);
  if (has(n, "Barrier")) return { kind: "barrier", span };
  const [key] = Object.keys(n.children);
  const s = node(n, key ?? "");
  switch (key) {
    case "letStatement":
      return { kind: "let", name: nameOf(token(s, "Name")), value: buildExpression(node(s, "expression")), span };
    case "scratchStatement":
      return { kind: "scratch", name: nameOf(token(s, "Name")), ...buildShapedType(node(s, "shapedType")), span };
    case "forStatement":
      return {
        kind: "for",
        variables: tokens(s, "Name").map(nameOf),
        over: buildDomain(node(s, "domain")),
        body: buildBlock(node(s, "block")),
        span,
      };
    case "ifStatement":
      return buildIf(s);
    case "assignment": {
      const [index] = nodes(s, "index");
      const [remote] = nodes(s, "remote");
      return {
        kind: "assign",
        target: nameOf(token(s, "Name")),
        peer: remote === undefined ? null : buildPeer(remote),
        indices: index === undefined ? null : buildIndices(index),
        value: buildExpression(node(s, "expression")),
        span,
      };
    }
    default:
      throw new Incomplete();
  }
}

function buildIf(n: CstNode): Ast.Statement {
  const [elseIf] = nodes(n, "elseIf");
  const [otherwise] = nodes(n, "otherwise");
  return {
    kind: "if",
    condition: buildExpression(node(n, "expression")),
    then: buildBlock(node(n, "then")),
    otherwise: elseIf !== undefined ? [buildIf(elseIf)] : otherwise === undefined ? [] : buildBlock(otherwise),
    span: spanOf(n),
  };
}
