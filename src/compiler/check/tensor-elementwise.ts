/** Elementwise operations on whole tensors: shapes are broadcast, dtypes must agree, layouts must go together. */
import type { Expression } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { partsOf, someParts } from "../ast/visit.js";
import { diagnostic, type Label } from "../diagnostics/create.js";
import { type ComputeDType, DTYPES } from "../types/dtype.js";
import { type Extent, sameExtent } from "../types/extent.js";
import { type AxisPlacement, type Layout, partialOf, type Placement, printLayout } from "../types/layout.js";
import { castDType } from "./calls.js";
import { isInRange } from "./elements.js";
import { reduceFirst } from "./fixes.js";
import { cutAlong, showShape } from "./extents.js";
import {
  elementwiseHelp,
  leftOutHelp,
  elementwiseLayout,
  isDivisible,
  isLinear,
  isOfSummands,
  nests,
  perAxis,
} from "./layout-rules.js";
import type { Checking } from "./scope.js";
import { checkTensor, type Operand, ranksIn, settle, type TensorContext, type TensorType } from "./tensors.js";

type Binary = Extract<Expression, { kind: "binary" }>;
/** An operand with its place. */
export type Placed = readonly [e: Expression, type: TensorType];

const ARITHMETIC = ["+", "-", "*", "/"];
const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="];

/** `a + b`, `a < b`, `a and b`. */
export function checkBinary(e: Binary, context: TensorContext): Operand {
  const { c } = context;
  const a = checkTensor(e.left, context);
  const b = checkTensor(e.right, context);
  if (a === null || b === null) return null;
  const isLogic = e.operator === "and" || e.operator === "or";
  if (!ARITHMETIC.includes(e.operator) && !COMPARISONS.includes(e.operator) && !isLogic) {
    const what = `the result of \`${e.operator}\``;
    const help = "operations on whole tensors are + - * / and comparisons, and the matrix product @";
    return c.report(diagnostic("not-a-whole-tensor", e.span, { what }, { help }));
  }
  const isSame = (e.operator === "==" || e.operator === "!=") && [a, b].every((t) => t !== "literal" && t.dtype === "bool"); // prettier-ignore
  for (const [t, operand] of [
    [a, e.left],
    [b, e.right],
  ] as const)
    if (!isSame && !(isLogic ? requireCondition(t, operand, c) : requireNumbers(t, operand, c))) return null;
  const isCondition = isLogic || COMPARISONS.includes(e.operator);
  if (a === "literal" && b === "literal" && isCondition)
    return c.report(diagnostic("not-a-whole-tensor", e.span, { what: "a comparison of two numbers" }));
  const joined = join(e, `\`${e.operator}\``, e.operator, [e.left, a], [e.right, b], c);
  return joined === null || joined === "literal" || !isCondition ? joined : { ...joined, dtype: "bool" };
}

/** `min(a, b)`, `max(a, b)` and `pow(a, b)`. */
export function checkPair(e: Extract<Expression, { kind: "call" }>, a: Operand, b: Operand, c: Checking): Operand {
  const [left, right] = [e.arguments[0]!, e.arguments[1]!];
  if (a === null || b === null || !requireNumbers(a, left, c) || !requireNumbers(b, right, c)) return null;
  if (a === "literal" && b === "literal") {
    // Of numbers of the launch and of ranks, it is another number.
    if (c.scalarIn(e) !== null || someParts(e, (p) => ranksIn(p, c) !== null)) return "literal";
    return c.report(diagnostic("not-a-whole-tensor", e.span, { what: "a function of two numbers" }));
  }
  const joined = join(e, `'${e.callee.text}'`, e.callee.text, [left, a], [right, b], c);
  if (e.callee.text !== "pow" || joined === null || joined === "literal") return joined;
  if (DTYPES[joined.dtype].kind === "float") return joined;
  return c.report(diagnostic("needs-float", e.span, { name: "pow", found: `a ${joined.dtype} tensor` }));
}

/** `where(condition, a, b)`. */
export function checkWhere(e: Extract<Expression, { kind: "call" }>, types: readonly Operand[], c: Checking): Operand {
  const [condition, a, b] = types as [Operand, Operand, Operand];
  const [first, left, right] = e.arguments as [Expression, Expression, Expression];
  if (condition === null || a === null || b === null || !requireCondition(condition, first, c)) return null;
  if (condition === "literal") return null;
  const values = join(e, "'where'", "where", [left, a], [right, b], c);
  if (values === null) return null;
  if (values === "literal") {
    const dtype = isWhole(left, c) && isWhole(right, c) ? "i32" : "f32";
    const type: TensorType = { ...condition, dtype };
    for (const x of [left, right]) settle(x, type, c);
    return type;
  }
  // A condition that is the same on every rank picks summands like any other linear operation.
  const whole: Placed = [left, { ...values, dtype: "bool" }];
  const joined = joinTensors(e, "'where'", "mask", [first, condition], whole, c);
  return joined === null || joined === "literal" ? null : { ...joined, dtype: values.dtype };
}

/** The type of two operands together; literals take the type of the other. */
function join(
  e: Expression,
  operation: string,
  operator: string,
  [left, a]: readonly [Expression, TensorType | "literal"],
  [right, b]: readonly [Expression, TensorType | "literal"],
  c: Checking,
): Operand {
  if (a === "literal" && b === "literal") return "literal";
  if (a !== "literal" && b !== "literal") return joinTensors(e, operation, operator, [left, a], [right, b], c);
  const [t, operand, literal] = a === "literal" ? [b as TensorType, right, left] : [a, left, right];
  const scales = operator === "*" && isLinear(t.layout, t.dtype);
  const divides = operator === "/" && b === "literal" && isDivisible(t.layout, t.dtype);
  const masks = operator === "where" && literal.kind === "number" && literal.value === 0 && isOfSummands(t.layout);
  if (partialOf(t.layout) !== null && !(scales || divides || masks))
    return reportNotLinear(operator === "where" ? operation : `${operation} with a number`, t, operand, e, c);
  const misfit = misfitOf(literal, DTYPES[t.dtype].compute, c);
  if (misfit !== null) return c.report(diagnostic("dtype-mismatch", e.span, { left: t.dtype, right: misfit }));
  if (!isInRange(literal, DTYPES[t.dtype].compute, c)) return null;
  settle(literal, t, c);
  return t;
}

/** Whether an expression of numbers is a whole one: written so, the number of ranks, or of the launch with such a dtype. */
function isWhole(e: Expression, c: Checking): boolean {
  if (e.kind === "number") return e.isInteger;
  const own = givenDType(e, c);
  return own !== null ? own !== "f32" : partsOf(e).every((p) => isWhole(p as Expression, c));
}

/** The dtype of a number that a computation in `kind` cannot take; null if all fit. Whole numbers that are written fit any. */
export function misfitOf(e: Expression, kind: ComputeDType, c: Checking): ComputeDType | null {
  if (e.kind === "number") return kind === "f32" || e.isInteger ? null : "f32";
  const own = givenDType(e, c);
  if (own !== null) return own === kind ? null : own;
  for (const p of partsOf(e)) {
    const misfit = misfitOf(p as Expression, kind, c);
    if (misfit !== null) return misfit;
  }
  return null;
}

/** The dtype of a cast, and of a number of the launch; null for what has none of its own. */
function givenDType(e: Expression, c: Checking): ComputeDType | null {
  const cast = e.kind === "call" ? castDType(e.callee.text, c) : null;
  if (cast !== null) return DTYPES[cast].compute;
  const type = e.kind === "name" ? c.find(e.name)?.type : null;
  return type?.kind === "value" ? type.dtype : null;
}

/** The type of two tensors together, element by element. @param operator decides what is allowed on parts. */
export function joinTensors(
  e: Expression,
  operation: string,
  operator: string,
  [left, a]: Placed,
  [right, b]: Placed,
  c: Checking,
): Operand {
  const describe = (t: TensorType): string =>
    `${a.shape.length === b.shape.length ? "" : `${showShape(t.shape)} `}${printLayout(t.layout)}${cutAlong(t, ", ")}`;
  const shape = broadcast(a.shape, b.shape);
  if (shape === null) {
    const parameters = { left: showShape(a.shape), right: showShape(b.shape), reason: whyNot(a.shape, b.shape) };
    const labels = [
      { span: left.span, text: showShape(a.shape) },
      { span: right.span, text: showShape(b.shape) },
    ];
    return c.report(diagnostic("shape-mismatch", e.span, parameters, { labels }));
  }
  if (operator !== "mask" && a.dtype !== b.dtype) return reportDTypes([left, a], [right, b], e, c);
  for (const [t, operand] of [
    [a, left],
    [b, right],
  ] as const)
    if (partialOf(t.layout) !== null && !canActOnParts(operator)) return reportNotLinear(operation, t, operand, e, c);
  const layouts = [alignLayout(a, shape), alignLayout(b, shape)] as const;
  const found = perAxis(c.mesh, layouts, (l, r) =>
    elementwiseLayout(operator, l, r, operator === "mask" ? b.dtype : a.dtype),
  );
  const layout = found !== null && layouts.every((l) => nests(l, found, c.mesh)) ? found : null;
  if (layout !== null) return { ...a, shape, layout };
  const parameters = { operation, left: printLayout(a.layout), right: printLayout(b.layout) };
  const labels: Label[] = [
    { span: left.span, text: describe(a) },
    { span: right.span, text: describe(b) },
  ];
  const [first, second] = [printExpression(left), printExpression(right)];
  const help =
    leftOutHelp(c.mesh, { layout: a.layout, name: first }, { layout: b.layout, name: second }) ??
    elementwiseHelp(operator, a.layout, b.layout, first, second);
  return c.report(diagnostic("operand-layouts", e.span, parameters, { labels, help }));
}

/** Others, such as `max` or a comparison, need whole values. */
function canActOnParts(operator: string): boolean {
  return ARITHMETIC.includes(operator) || operator === "where" || operator === "mask";
}

/** The shape that both broadcast to: dimensions are matched from the last one, and one of length 1 repeats. */
export function broadcast(a: readonly Extent[], b: readonly Extent[]): Extent[] | null {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  const missing = long.length - short.length;
  const shape: Extent[] = [];
  for (const [d, length] of long.entries()) {
    const other = d < missing ? 1 : short[d - missing]!;
    if (other === 1 || sameExtent(length, other)) shape.push(length);
    else if (length === 1) shape.push(other);
    else return null;
  }
  return shape;
}

function whyNot(a: readonly Extent[], b: readonly Extent[]): string {
  for (let d = 1; d <= Math.min(a.length, b.length); d++) {
    const [x, y] = [a.at(-d)!, b.at(-d)!];
    if (x === 1 || y === 1 || sameExtent(x, y)) continue;
    const last = d === 1 ? "the last dimensions are" : `the dimensions ${d} from the end are`;
    return `${last} ${showShape([x]).slice(1, -1)} and ${showShape([y]).slice(1, -1)}, and neither is 1`;
  }
  return "the shapes differ";
}

/** The layout of an operand in the numbering of dimensions that a broadcast to a shape has. Where a dimension repeats, every rank has its one index. */
export function alignLayout(t: TensorType, to: readonly Extent[]): Layout {
  const { layout, shape } = t;
  const moved = <P extends Placement>(p: P): P | { readonly kind: "replicated"; readonly axis?: string } => {
    if (p.kind !== "sharded") return p;
    const { axis } = p as { readonly axis?: string };
    const dim = p.dim + to.length - shape.length;
    if (shape[p.dim] === 1 && to[dim] !== 1)
      return axis === undefined ? { kind: "replicated" } : { kind: "replicated", axis };
    return { ...p, dim };
  };
  return layout.kind === "grid" ? { kind: "grid", parts: layout.parts.map(moved) as AxisPlacement[] } : moved(layout);
}

// -- reports ---------------------------------------------------------------------------------------

/** False after a report: conditions are no numbers. */
export function requireNumbers(t: TensorType | "literal", e: Expression, c: Checking): boolean {
  if (t === "literal" || t.dtype !== "bool") return true;
  const help = "choose numbers by it: where(condition, 1, 0)";
  c.report(diagnostic("type-mismatch", e.span, { wanted: "a tensor of numbers", found: "a condition" }, { help }));
  return false;
}

function requireCondition(t: TensorType | "literal", e: Expression, c: Checking): boolean {
  if (t !== "literal" && t.dtype === "bool") return true;
  const found = t === "literal" ? "a number" : `a tensor of ${t.dtype}`;
  const help = "compare it, as in `x > 0`";
  c.report(diagnostic("type-mismatch", e.span, { wanted: "a condition", found }, { help }));
  return false;
}

/** @param whole the operation on parts, of which the help shows the mended form. */
export function reportNotLinear(
  operation: string,
  t: TensorType,
  operand: Expression,
  whole: Expression,
  c: Checking,
): null {
  const op = partialOf(t.layout);
  if (op === null) return null;
  const labels = [{ span: operand.span, text: printLayout(t.layout) }];
  const help = `reduce it first: ${reduceFirst(whole, operand, axisOf(t.layout))}`;
  return c.report(diagnostic("not-linear", whole.span, { operation, op }, { labels, help }));
}

/** The axis whose ranks hold summands; null for all ranks. */
function axisOf(layout: Layout): string | null {
  if (layout.kind === "grid") return layout.parts.find((p) => p.kind === "partial")?.axis ?? null;
  return layout.axis ?? null;
}

export function reportDTypes([left, a]: Placed, [right, b]: Placed, e: Expression, c: Checking): null {
  const labels = [
    { span: left.span, text: a.dtype },
    { span: right.span, text: b.dtype },
  ];
  return c.report(diagnostic("dtype-mismatch", e.span, { left: a.dtype, right: b.dtype }, { labels }));
}
