/** Types and layouts of whole-tensor expressions. */
import type { Expression } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { partsOf } from "../ast/visit.js";
import { diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { DTYPES } from "../types/dtype.js";
import { type Extent, sameExtent } from "../types/extent.js";
import { printLayout } from "../types/layout.js";
import type { ExpressionType } from "./checked.js";
import { checkNumber, kindOfName, reportMissingSpaces } from "./elements.js";
import { showExtent, showShape } from "./extents.js";
import { elementwiseHelp, elementwiseLayout, isLinear, productHelp, productLayout } from "./layout-rules.js";
import type { Checking } from "./scope.js";
import { checkTensorCall } from "./tensor-calls.js";

export type TensorType = Extract<ExpressionType, { kind: "tensor" }>;
/** A literal fits any tensor; null after a reported error. */
export type Operand = TensorType | "literal" | null;

export interface TensorContext {
  readonly c: Checking;
  /** Tensors are taken as the values they stand for, however they lie over the ranks: in `ensures`. */
  readonly isLogical: boolean;
}

/** Checks a tensor expression and records its type. */
export function checkTensor(e: Expression, context: TensorContext): Operand {
  const type = typeOf(e, context);
  if (type !== null && type !== "literal") context.c.types.set(e, type);
  return type;
}

/** Gives a literal, or an expression of literals, the type its place asks for. */
export function settle(e: Expression, type: TensorType, c: Checking): void {
  c.types.set(e, type);
  for (const p of partsOf(e)) if (p.kind === "number" || p.kind === "unary" || p.kind === "binary") settle(p, type, c);
}

function typeOf(e: Expression, context: TensorContext): Operand {
  const { c } = context;
  const refuse = (what: string): null => c.report(diagnostic("not-a-whole-tensor", e.span, { what }));
  switch (e.kind) {
    case "number":
      return checkNumber(e, c) ? "literal" : null;
    case "name":
      return nameType(e, context);
    case "matmul":
      return productType(e, context);
    case "binary":
      return elementwiseType(e, context);
    case "unary": {
      if (e.operator === "not") return refuse("a condition");
      const t = checkTensor(e.operand, context);
      if (t === null || t === "literal" || t.layout.kind !== "partial" || isLinear(t.layout)) return t;
      return reportNotLinear("negation", t, e.operand, e.span, c);
    }
    case "call":
      return checkTensorCall(e, context);
    case "element":
      if (e.peer !== null && e.indices.length === 0 && c.tensors.has(e.tensor.text)) return reportMissingSpaces(e, c);
      c.read.add(e.tensor.text);
      return refuse("a single element");
    case "slice":
      return refuse("a part of a tensor");
    case "inlined":
      return inlinedType(e, context);
    case "axis":
    case "member":
      return refuse("an index");
    case "reduce":
      return refuse("a reduction over elements");
  }
}

function nameType(e: Extract<Expression, { kind: "name" }>, { c, isLogical }: TensorContext): Operand {
  const bound = c.use(e.name);
  if (bound?.type === null) return null; // its definition is at fault
  if (bound?.type.kind === "tensor") return bound.type;
  const t = c.tensors.get(e.name);
  if (t !== undefined) {
    if (!isLogical) c.read.add(e.name);
    if (c.faulty.has(e.name)) return null;
    if (t.role === "output" && !isLogical && !c.assigned.has(e.name))
      return c.report(diagnostic("read-before-assigned", e.span, { name: e.name }));
    const layout = isLogical ? ({ kind: "replicated" } as const) : t.layout;
    return { kind: "tensor", dtype: t.dtype, shape: t.shape, layout };
  }
  const kind = kindOfName(e.name, c);
  if (kind === null) return c.unknownName(e.name, e.span);
  return c.report(diagnostic("not-a-whole-tensor", e.span, { what: `'${e.name}', ${kind},` }));
}

function inlinedType(e: Extract<Expression, { kind: "inlined" }>, context: TensorContext): Operand {
  const { c } = context;
  let type: Operand = null;
  c.inScope(() => {
    for (const { name, value } of e.bindings) {
      const bound = checkTensor(value, context);
      c.defineHidden(name, { kind: "parameter", type: bound === "literal" ? null : bound });
    }
    c.inCall(e.span, () => (type = checkTensor(e.body, context)));
  });
  return type;
}

// -- matrix products -------------------------------------------------------------------------------

function productType(e: Extract<Expression, { kind: "matmul" }>, context: TensorContext): Operand {
  const { c } = context;
  const a = checkTensor(e.left, context);
  const b = checkTensor(e.right, context);
  if (a === null || b === null) return null;
  if (a === "literal" || b === "literal") {
    const { span } = a === "literal" ? e.left : e.right;
    return c.report(diagnostic("not-a-whole-tensor", span, { what: "a number" }, { help: "scale with `*`" }));
  }
  const labels = [
    { span: e.left.span, text: `${showShape(a.shape)} ${printLayout(a.layout)}` },
    { span: e.right.span, text: `${showShape(b.shape)} ${printLayout(b.layout)}` },
  ];
  for (const t of [a, b])
    if (t.shape.length !== 2) return c.report(diagnostic("not-a-matrix", e.span, { rank: t.shape.length }, { labels }));
  const [contracted, rows] = [a.shape[1]!, b.shape[0]!];
  if (!sameExtent(contracted, rows)) {
    const reason = `${showExtent(contracted)} columns meet ${showExtent(rows)} rows`;
    const parameters = { left: showShape(a.shape), right: showShape(b.shape), reason };
    return c.report(diagnostic("shape-mismatch", e.span, parameters, { labels }));
  }
  if (a.dtype !== b.dtype) return reportDTypes(a, b, e, c);
  const layout = productLayout(a.layout, b.layout);
  if (layout !== null) return { kind: "tensor", dtype: a.dtype, shape: [a.shape[0]!, b.shape[1]!], layout };
  const [left, right] = [printExpression(e.left), printExpression(e.right)];
  const help = productHelp(a.layout, b.layout, left, right, showExtent(contracted));
  const parameters = { operation: "a matrix product", left: printLayout(a.layout), right: printLayout(b.layout) };
  return c.report(diagnostic("operand-layouts", e.span, parameters, { labels, help }));
}

// -- elementwise operations ------------------------------------------------------------------------

function elementwiseType(e: Extract<Expression, { kind: "binary" }>, context: TensorContext): Operand {
  const { c } = context;
  const a = checkTensor(e.left, context);
  const b = checkTensor(e.right, context);
  if (a === null || b === null) return null;
  if (!["+", "-", "*", "/"].includes(e.operator)) {
    const what = `the result of \`${e.operator}\``;
    const help = "operations on whole tensors are + - * / and the matrix product @";
    return c.report(diagnostic("not-a-whole-tensor", e.span, { what }, { help }));
  }
  if (a === "literal" || b === "literal") return withLiteral(e, a, b, c);
  return joinTensors(e, `\`${e.operator}\``, e.operator, [e.left, a], [e.right, b], c);
}

function withLiteral(
  e: Extract<Expression, { kind: "binary" }>,
  a: TensorType | "literal",
  b: TensorType | "literal",
  c: Checking,
): Operand {
  if (a === "literal" && b === "literal") return "literal";
  const [t, operand, literal] = a === "literal" ? [b as TensorType, e.right, e.left] : [a, e.left, e.right];
  const scales = e.operator === "*" || (e.operator === "/" && b === "literal");
  if (t.layout.kind === "partial" && !(scales && isLinear(t.layout)))
    return reportNotLinear(`\`${e.operator}\` with a number`, t, operand, e.span, c);
  if (DTYPES[t.dtype].kind === "int" && !isWhole(literal))
    return c.report(diagnostic("dtype-mismatch", e.span, { left: t.dtype, right: "f32" }));
  settle(literal, t, c);
  return t;
}

function isWhole(e: Expression): boolean {
  return e.kind === "number" ? Number.isInteger(e.value) : partsOf(e).every((p) => isWhole(p as Expression));
}

/** The type of two tensors together, element by element. @param operator decides what is allowed on parts. */
export function joinTensors(
  e: Expression,
  operation: string,
  operator: string,
  [left, a]: readonly [Expression, TensorType],
  [right, b]: readonly [Expression, TensorType],
  c: Checking,
): Operand {
  if (!sameShape(a.shape, b.shape)) {
    const parameters = {
      left: showShape(a.shape),
      right: showShape(b.shape),
      reason: `${operation} needs equal shapes`,
    };
    const labels = [
      { span: left.span, text: showShape(a.shape) },
      { span: right.span, text: showShape(b.shape) },
    ];
    return c.report(diagnostic("shape-mismatch", e.span, parameters, { labels }));
  }
  if (a.dtype !== b.dtype) return reportDTypes(a, b, { left, right, span: e.span }, c);
  const layout = elementwiseLayout(operator, a.layout, b.layout);
  if (layout !== null) return { ...a, layout };
  const parameters = { operation, left: printLayout(a.layout), right: printLayout(b.layout) };
  const labels = [
    { span: left.span, text: printLayout(a.layout) },
    { span: right.span, text: printLayout(b.layout) },
  ];
  const help = elementwiseHelp(operator, a.layout, b.layout, printExpression(left), printExpression(right));
  return c.report(diagnostic("operand-layouts", e.span, parameters, { labels, help }));
}

// -- reports ---------------------------------------------------------------------------------------

export function reportNotLinear(operation: string, t: TensorType, operand: Expression, span: Span, c: Checking): null {
  if (t.layout.kind !== "partial") return null;
  const labels = [{ span: operand.span, text: printLayout(t.layout) }];
  const help = `convert it first: all_reduce(${printExpression(operand)})`;
  return c.report(diagnostic("not-linear", span, { operation, op: t.layout.op }, { labels, help }));
}

function reportDTypes(
  a: TensorType,
  b: TensorType,
  e: { readonly left: Expression; readonly right: Expression; readonly span: Span },
  c: Checking,
): null {
  const labels = [
    { span: e.left.span, text: a.dtype },
    { span: e.right.span, text: b.dtype },
  ];
  return c.report(diagnostic("dtype-mismatch", e.span, { left: a.dtype, right: b.dtype }, { labels }));
}

export function sameShape(a: readonly Extent[], b: readonly Extent[]): boolean {
  return a.length === b.length && a.every((e, d) => sameExtent(e, b[d]!));
}
