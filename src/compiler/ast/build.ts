/** Concrete tree → abstract syntax. What recovery from a syntax error left incomplete is left out. */
import type { CstNode } from "chevrotain";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { DTYPE_NAMES, isDType } from "../types/dtype.js";
import { buildDomain, buildExpression, buildIndices, buildPeer, isSlice } from "./build-expressions.js";
import { attempt, each, has, Incomplete, nameOf, node, nodes, spanOf, token, tokens, tokenSpan } from "./cst.js";
import type * as Ast from "./nodes.js";

type Report = (d: Diagnostic) => void;

/**
 * @param report gets what the grammar lets through and the syntax tree cannot say: dtypes of a `where` that are none, and
 *   parts of tensors that are assigned to.
 */
export function buildProgram(cst: CstNode, report: Report): Ast.Program {
  const definitions = nodes(cst, "definition");
  const all = <X>(key: string, build: (n: CstNode, doc: string) => X): X[] =>
    definitions.flatMap((d) => each(d, key, (n) => build(n, docOf(d))));
  return {
    imports: each(cst, "importClause", buildImport),
    constants: all("constant", (n, doc) => ({
      name: nameOf(token(n, "Name")),
      doc,
      value: buildExpression(node(n, "expression")),
      span: spanOf(n),
    })),
    functions: all("func", (n, doc) => ({
      name: nameOf(token(n, "Name")),
      doc,
      parameters: tokens(n, "parameter").map(nameOf),
      value: buildExpression(node(n, "expression")),
      span: spanOf(n),
    })),
    collectives: all("collective", (n, doc) => buildCollective(n, doc, report)),
  };
}

/** Text of the `///` lines directly above a definition: those before an empty line are about something else. */
function docOf(definition: CstNode): string {
  const comments = tokens(definition, "DocComment");
  const lineOf = (i: number): number => comments[i]!.startLine!;
  const first = comments.findLastIndex((_, i) => i === 0 || lineOf(i) !== lineOf(i - 1) + 1);
  // A carriage return amid a line is a space, as it is to the formatter.
  const text = (image: string): string => image.slice(3).replaceAll("\r", " ").replace(/^ /, "").trimEnd();
  const lines = comments.slice(Math.max(first, 0)).map((t) => text(t.image));
  return lines.join("\n");
}

function buildImport(n: CstNode): Ast.Import {
  const text = token(n, "Text");
  const path = text.image.slice(1, -1);
  return { names: tokens(n, "Name").map(nameOf), path, pathSpan: tokenSpan(text), span: spanOf(n) };
}

function buildCollective(n: CstNode, doc: string, report: Report): Ast.Collective {
  const written = (key: string): CstNode[] => nodes(n, key).flatMap((l) => nodes(l, "tensor"));
  const lists = (key: string): Ast.TensorDeclaration[] =>
    written(key)
      .filter((t) => !has(t, "scalar"))
      .flatMap((t) => attempt(() => buildTensor(t)));
  for (const t of written("outputs").filter((o) => has(o, "scalar")))
    report(diagnostic("scalar-output", spanOf(t), { name: token(t, "Name").image, dtype: token(t, "scalar").image }));
  const where = nodes(n, "where").flatMap((w) => nodes(w, "clause"));
  return {
    name: nameOf(token(n, "Name")),
    doc,
    inputs: lists("inputs"),
    outputs: [...each(n, "output", buildTensor), ...lists("outputs")],
    scalars: written("inputs")
      .filter((t) => has(t, "scalar"))
      .map(buildScalar),
    mesh: nodes(n, "mesh").flatMap((m) => tokens(m, "Name").map(nameOf)),
    where: where.filter((w) => kindOfWhere(w) === "dtype").flatMap((w) => attempt(() => buildWhere(w, report))),
    requires: where
      .filter((w) => kindOfWhere(w) === "requirement")
      .flatMap((w) => attempt(() => buildRequirement(w, report))),
    limits: where.filter((w) => kindOfWhere(w) === "values").flatMap((w) => attempt(() => buildLimit(w))),
    ensures: each(n, "ensures", (e) => ({
      output: nameOf(token(e, "Name")),
      variables: has(e, "variable") ? tokens(e, "variable").map(nameOf) : null,
      value: buildExpression(node(e, "expression")),
      span: spanOf(e),
    })),
    body: buildBlock(node(n, "block"), report),
    span: spanOf(n),
  };
}

function kindOfWhere(n: CstNode): "dtype" | "values" | "requirement" {
  if (!has(n, "In") || tokens(n, "Name")[0]?.image === "world") return "requirement";
  return has(n, "choices") ? "dtype" : "values";
}

function buildLimit(n: CstNode): Ast.ValueLimit {
  const [from, to] = [buildExpression(node(n, "from")), buildExpression(node(n, "to"))];
  return { input: nameOf(token(n, "Name")), from, to, span: spanOf(n) };
}

function buildRequirement(n: CstNode, report: Report): Ast.Requirement {
  const span = spanOf(n);
  if (!has(n, "In")) return { choices: null, condition: buildExpression(node(n, "condition")), span };
  const choices = tokens(node(n, "choices"), "choice").flatMap((t) => {
    if (t.tokenType.name === "Integer") return [Number(t.image)];
    report(diagnostic("bad-choice", tokenSpan(t), { name: t.image }));
    return [];
  });
  return { choices, condition: null, span };
}

function buildWhere(n: CstNode, report: Report): Ast.DTypeConstraint {
  const dtypes = tokens(node(n, "choices"), "choice").flatMap((t) => {
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
    layout: buildLayouts(nodes(n, "layout")),
    span: spanOf(n),
  };
}

function buildScalar(n: CstNode): Ast.ScalarDeclaration {
  const dtype = token(n, "scalar");
  return { name: nameOf(token(n, "Name")), dtype: { name: dtype.image, span: tokenSpan(dtype) }, span: spanOf(n) };
}

function buildShapedType(n: CstNode): { dtype: Ast.DTypeReference; shape: Ast.Expression[] } {
  const t = token(n, "Name");
  const [of] = tokens(n, "of");
  const dtype =
    of === undefined
      ? { name: t.image, span: tokenSpan(t) }
      : { name: of.image, span: tokenSpan(of), wrapper: nameOf(t) };
  return { dtype, shape: each(n, "expression", buildExpression) };
}

function buildLayouts([first, ...rest]: readonly CstNode[]): Ast.LayoutReference {
  if (first === undefined) throw new Incomplete();
  const layout = buildLayout(first);
  return rest.length === 0 ? layout : { ...layout, further: rest.map(buildLayout) };
}

function buildLayout(n: CstNode): Ast.LayoutReference {
  return { name: token(n, "Name").image, arguments: tokens(n, "argument").map((t) => t.image), span: spanOf(n) };
}

// -- statements ------------------------------------------------------------------------------------

function buildBlock(block: CstNode, report: Report): Ast.Statement[] {
  return each(block, "statement", (n) => buildStatement(n, report));
}

function buildStatement(n: CstNode, report: Report): Ast.Statement {
  const span = spanOf(n);
  if (has(n, "Barrier")) return { kind: "barrier", span };
  const [key] = Object.keys(n.children);
  const s = node(n, key ?? "");
  switch (key) {
    case "letStatement":
      return { kind: "let", name: nameOf(token(s, "Name")), value: buildExpression(node(s, "expression")), span };
    case "signalStatement":
      return { kind: "signal", peer: buildExpression(node(s, "expression")), span };
    case "waitStatement":
      return { kind: "wait", peer: buildExpression(node(s, "expression")), span };
    case "scratchStatement":
      return {
        kind: "scratch",
        name: nameOf(token(s, "Name")),
        ...buildShapedType(node(s, "shapedType")),
        layout: has(s, "layout") ? buildLayouts(nodes(s, "layout")) : null,
        span,
      };
    case "forStatement":
      return {
        kind: "for",
        variables: tokens(s, "Name").map(nameOf),
        over: buildDomain(node(s, "domain")),
        body: buildBlock(node(s, "block"), report),
        span,
      };
    case "ifStatement":
      return buildIf(s, report);
    case "assignment": {
      const [index] = nodes(s, "index");
      const [remote] = nodes(s, "remote");
      if (index !== undefined && isSlice(index)) {
        report(diagnostic("range-as-index", spanOf(index), {}));
        throw new Incomplete();
      }
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

function buildIf(n: CstNode, report: Report): Ast.Statement {
  const [elseIf] = nodes(n, "elseIf");
  const [otherwise] = nodes(n, "otherwise");
  return {
    kind: "if",
    condition: buildExpression(node(n, "expression")),
    then: buildBlock(node(n, "then"), report),
    otherwise:
      elseIf !== undefined ? [buildIf(elseIf, report)] : otherwise === undefined ? [] : buildBlock(otherwise, report),
    span: spanOf(n),
  };
}
