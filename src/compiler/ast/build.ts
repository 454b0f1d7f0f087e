/** Concrete tree → abstract syntax. What recovery from a syntax error left incomplete is left out. */
import type { CstNode } from "chevrotain";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { DTYPE_NAMES, isDType } from "../types/dtype.js";
import type { Layout, ReductionOp } from "../types/layout.js";
import { buildDomain, buildExpression, buildIndices, buildPeer } from "./build-expressions.js";
import { each, has, Incomplete, nameOf, node, nodes, spanOf, token, tokens, tokenSpan } from "./cst.js";
import type * as Ast from "./nodes.js";

type Report = (d: Diagnostic) => void;

/** @param report gets what the grammar lets through and the syntax tree cannot say: layouts and dtypes that are none. */
export function buildProgram(cst: CstNode, report: Report): Ast.Program {
  return { collectives: each(cst, "collective", (n) => buildCollective(n, report)) };
}

function buildCollective(n: CstNode, report: Report): Ast.Collective {
  const lists = (key: string): Ast.TensorDeclaration[] =>
    nodes(n, key).flatMap((l) => each(l, "tensor", (t) => buildTensor(t, report)));
  const doc = tokens(n, "DocComment").map((t) => t.image.slice(3).replace(/^ /, "").trimEnd());
  return {
    name: nameOf(token(n, "Name")),
    doc: doc.join("\n"),
    inputs: lists("inputs"),
    outputs: [...each(n, "output", (t) => buildTensor(t, report)), ...lists("outputs")],
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

function buildTensor(n: CstNode, report: Report): Ast.TensorDeclaration {
  const { dtype, shape } = buildShapedType(node(n, "shapedType"));
  const written = node(n, "layout");
  return {
    name: nameOf(token(n, "Name")),
    dtype,
    shape,
    layout: buildLayout(written, report),
    layoutSpan: spanOf(written),
    span: spanOf(n),
  };
}

function buildShapedType(n: CstNode): { dtype: Ast.DTypeReference; shape: Ast.Expression[] } {
  const t = token(n, "Name");
  return { dtype: { name: t.image, span: tokenSpan(t) }, shape: each(n, "expression", buildExpression) };
}

/** What each layout takes in parentheses, with an example. */
const LAYOUT_ARGUMENTS: Readonly<Record<string, { argument: string; example: string }>> = {
  replicated: { argument: "nothing", example: "replicated" },
  local: { argument: "nothing", example: "local" },
  sharded: { argument: "the number of a dimension", example: "sharded(0)" },
  on: { argument: "the number of a rank", example: "on(0)" },
  partial: { argument: "a reduction", example: "partial(sum)" },
};

/** A layout that is none is reported, and `local`, which asks nothing of anybody, stands in for it. */
function buildLayout(n: CstNode, report: Report): Layout {
  const kind = token(n, "Name").image;
  const argument = tokens(n, "argument")[0]?.image ?? null;
  const number = argument !== null && /^\d+$/.test(argument) ? Number(argument) : null;
  if (argument === null && (kind === "replicated" || kind === "local")) return { kind };
  if (number !== null && kind === "sharded") return { kind, dim: number };
  if (number !== null && kind === "on") return { kind, rank: number };
  if (argument !== null && number === null && kind === "partial") return { kind, op: argument as ReductionOp };
  const known = Object.hasOwn(LAYOUT_ARGUMENTS, kind) ? LAYOUT_ARGUMENTS[kind] : undefined;
  if (known === undefined) {
    const help = suggestion(kind, Object.keys(LAYOUT_ARGUMENTS)) ?? undefined;
    report(diagnostic("unknown-layout", spanOf(n), { name: kind }, { help }));
  } else {
    const layout = argument === null ? kind : `${kind}(${argument})`;
    const reason = `'${kind}' takes ${known.argument}`;
    report(diagnostic("bad-layout-argument", spanOf(n), { layout, reason, fix: `write ${known.example}` }));
  }
  return { kind: "local" };
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
