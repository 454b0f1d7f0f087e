/** Parts and arrangements of whole tensors: slices, transpose, permute, reshape, repeat, concat. */
import type { Expression } from "../ast/nodes.js";
import { INDEX_PRECEDENCE } from "../ast/precedence.js";
import { printExpression } from "../ast/print.js";
import { diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { type Extent, extent, productOf, sameExtent } from "../types/extent.js";
import { isCut, printLayout, withDims } from "../types/layout.js";
import { cutsOf } from "../types/mesh.js";
import { constantDifference, extentKey, isPolynomial } from "../types/normal-form.js";
import { refuseNamed, reportArity } from "./calls.js";
import { showExtent, showShape } from "./extents.js";
import { gatherOf } from "./functions.js";
import { concatHelp, concatLayout, nests, perAxis } from "./layout-rules.js";
import type { Checking } from "./scope.js";
import { checkDim, reportMissing } from "./tensor-arguments.js";
import { reportDTypes } from "./tensor-elementwise.js";
import { checkTensor, type Operand, type TensorContext, type TensorType } from "./tensors.js";

type Call = Extract<Expression, { kind: "call" }>;
type View = (e: Call, context: TensorContext) => Operand;

export const VIEWS: Readonly<Record<string, View>> = { transpose, permute, reshape, repeat, concat };

/** The tensor a view is of; null after a reported error. */
function operandOf(e: Call, context: TensorContext, names: readonly string[] = []): TensorType | null {
  const { c } = context;
  const [first] = e.arguments;
  if (refuseNamed(e, names, c)) return null;
  if (first === undefined) return reportArity(e, 1, "tensor", c);
  const t = checkTensor(first, context);
  if (t !== "literal") return t;
  return c.report(diagnostic("not-a-whole-tensor", first.span, { what: "a number" }));
}

// -- slices ----------------------------------------------------------------------------------------

/** `t[a..b, ..]`: every dimension has a range; one index is the range of length 1 that it begins. */
export function checkSlice(e: Extract<Expression, { kind: "slice" }>, context: TensorContext): Operand {
  const { c } = context;
  const t = checkTensor(e.operand, context);
  if (t === null) return null;
  if (t === "literal") return c.report(diagnostic("not-a-whole-tensor", e.operand.span, { what: "a number" }));
  const name = printExpression(e.operand);
  if (e.ranges.every((r) => r.isIndex)) return reportElement(e, e.operand, e.ranges.length, c);
  const count = t.shape.length;
  if (e.ranges.length !== count) {
    const wanted = `${count} dimension${count === 1 ? "" : "s"}`;
    const found = e.ranges.length === 1 ? "1 range" : `${e.ranges.length} ranges`;
    return c.report(diagnostic("wrong-index-count", e.span, { name, wanted, found }));
  }
  const shape: Extent[] = [];
  for (const [d, range] of e.ranges.entries()) {
    const length = t.shape[d]!;
    const from = range.from === null ? 0 : boundOf(range.from, c);
    const to = range.to === null ? length : boundOf(range.to, c);
    if (from === null || to === null) return null;
    const isWhole = from === 0 && sameExtent(to, length);
    if (!isWhole && isCut(t.layout, d)) return reportCut("a slice", d, name, t, range.span, c);
    if (!isWhole && !requireWithin(from, to, length, d, name, range.span, c)) return null;
    shape.push(isWhole ? length : (constantDifference(to, from) ?? extent("sub", to, from)));
  }
  return { ...t, shape };
}

/** `t[i, j]` without a range. */
export function reportElement(e: Expression, operand: Expression, indices: number, c: Checking): null {
  const ranges = Array.from({ length: indices }, () => "0..1").join(", ");
  const help = `a part keeps its dimensions: write ranges, as in ${printExpression(operand, INDEX_PRECEDENCE)}[${ranges}]`;
  return c.report(diagnostic("not-a-whole-tensor", e.span, { what: "a single element" }, { help }));
}

function boundOf(e: Expression, c: Checking): Extent | null {
  const found = c.extentOf(e);
  if (found !== null) return found;
  return c.report(diagnostic("bad-slice", e.span, { reason: "a bound must be known before a launch" }));
}

/** 0 ≤ from < to ≤ length: decided now where that is known, else at each launch. */
function requireWithin(
  from: Extent,
  to: Extent,
  length: Extent,
  dim: number,
  name: string,
  span: Span,
  c: Checking,
): boolean {
  const [size, rest] = [constantDifference(to, from), constantDifference(length, to)];
  const range = `${showExtent(from)}..${showExtent(to)}`;
  const bad = (reason: string): false => {
    c.report(diagnostic("bad-slice", span, { reason }));
    return false;
  };
  if (typeof from === "number" && from < 0) return bad(`${range} begins before 0`);
  if (size !== null && size < 1) return bad(`${range} holds nothing`);
  if (rest !== null && rest < 0)
    return bad(`dimension ${dim} of '${name}' ends at ${showExtent(length)}, before ${showExtent(to)}`);
  const reason = `the slice ${range} of dimension ${dim} of '${name}'`;
  if (mayBeNegative(from)) c.require({ left: 0, relation: "le", right: from, reason });
  if (size === null) c.require({ left: from, relation: "lt", right: to, reason });
  if (rest === null) c.require({ left: to, relation: "le", right: length, reason });
  return true;
}

/** Whether nothing in the form of an extent says that it is 0 or more; dimensions are. */
function mayBeNegative(e: Extent): boolean {
  if (typeof e === "number") return e < 0;
  if (typeof e === "string" || e.op === "mod") return false;
  if (e.op === "max") return mayBeNegative(e.a) && mayBeNegative(e.b);
  if (e.op === "sub") return !((constantDifference(e.a, e.b) ?? -1) >= 0);
  return mayBeNegative(e.a) || mayBeNegative(e.b);
}

function reportCut(what: string, dim: number, operand: string, t: TensorType, span: Span, c: Checking): null {
  const fix = gatherOf(t.layout, operand) ?? operand;
  return c.report(diagnostic("across-shards", span, { what, dim, layout: printLayout(t.layout), fix }));
}

// -- order of dimensions ---------------------------------------------------------------------------

/** `transpose(x)` swaps the last two dimensions. */
function transpose(e: Call, context: TensorContext): Operand {
  const { c } = context;
  if (e.arguments.length !== 1) return reportArity(e, 1, "tensor", c);
  const t = operandOf(e, context);
  if (t === null) return null;
  const rank = t.shape.length;
  if (rank < 2) {
    const reason = `it swaps the last two dimensions, and the tensor has ${rank}`;
    const fix = "leave it out: a vector is the same either way";
    return c.report(diagnostic("bad-layout-argument", e.span, { layout: "transpose", reason, fix }));
  }
  return reordered(t, swapLast(rank));
}

export function swapLast(rank: number): number[] {
  return [...Array.from({ length: rank - 2 }, (_, d) => d), rank - 1, rank - 2];
}

/** `permute(x, 1, 0, 2)`: dimension d of the result is the d-th one named. */
function permute(e: Call, context: TensorContext): Operand {
  const t = operandOf(e, context);
  if (t === null) return null;
  const order = orderOf(e);
  const isOrder = order.length === t.shape.length && t.shape.every((_, d) => order.includes(d));
  if (isOrder) return reordered(t, order);
  const count = t.shape.length;
  return context.c.report(diagnostic("bad-permutation", e.span, { count, last: count - 1 }));
}

export function orderOf(e: Call): number[] {
  return e.arguments.slice(1).map((a) => (a.kind === "number" && a.isInteger ? a.value : -1));
}

function reordered(t: TensorType, order: readonly number[]): TensorType {
  const layout = withDims(t.layout, (dim) => order.indexOf(dim))!;
  return { ...t, shape: order.map((d) => t.shape[d]!), layout };
}

// -- shape -----------------------------------------------------------------------------------------

/** `reshape(x, m, n / 2, 2)`: the same elements, counted row-major. */
function reshape(e: Call, context: TensorContext): Operand {
  const { c } = context;
  const t = operandOf(e, context);
  const shape = lengthsOf(e.arguments.slice(1), c);
  if (t === null || shape === null) return null;
  if (shape.length === 0) return reportMissing("reshape", "n", "the lengths of the result, one after the other", e, c);
  if (!requireSameSize(t.shape, shape, e, c)) return null;
  const layout = withDims(t.layout, (d) => shardAfter(t.shape, d, shape));
  if (layout === null) {
    const lost = t.shape.findIndex((_, d) => isCut(t.layout, d) && shardAfter(t.shape, d, shape) === null);
    return reportCut("this reshape", lost, printExpression(e.arguments[0]!), t, e.span, c);
  }
  for (const [dim, parts] of cutsOf(layout, c.mesh, c.world, shape.length).entries()) {
    const reason = `'reshape' keeps the shards along dimension ${dim}`;
    if (isCut(layout, dim)) c.requireDivisible(shape[dim]!, parts, reason, e.span);
  }
  return { ...t, shape, layout };
}

/** `iota(m, 1, dim: 0)`: of each element its index along a dimension, on every rank; of a vector, the dimension is known. */
export function checkIota(e: Call, c: Checking): Operand {
  if (refuseNamed(e, ["dim"], c)) return null;
  if (e.arguments.length === 0) return reportMissing("iota", "n", "its lengths, one after the other", e, c);
  const shape = lengthsOf(e.arguments, c);
  if (shape === null) return null;
  const t: TensorType = { kind: "tensor", dtype: "i32", shape, layout: { kind: "replicated" } };
  const dim = checkDim(e, t, c);
  if (dim === undefined) return null;
  return dim !== null || shape.length === 1
    ? t
    : reportMissing("iota", "dim", "the dimension along which it counts", e, c);
}

/** Lengths that are known before a launch; null after a reported error. */
function lengthsOf(written: readonly Expression[], c: Checking): Extent[] | null {
  const shape: Extent[] = [];
  for (const a of written) {
    const length = c.extentOf(a);
    if (length === null || (typeof length === "number" && length < 1))
      return c.report(
        diagnostic("bad-dimension", a.span, { what: length === null ? "this" : `the length ${showExtent(length)}` }),
      );
    shape.push(length);
  }
  return shape;
}

function requireSameSize(from: readonly Extent[], to: readonly Extent[], e: Call, c: Checking): boolean {
  const [a, b] = [productOf(from), productOf(to)];
  if (sameExtent(a, b)) return true;
  if (isPolynomial(a) && isPolynomial(b)) {
    const reason = `they hold ${showExtent(a)} and ${showExtent(b)} elements`;
    c.report(diagnostic("shape-mismatch", e.span, { left: showShape(from), right: showShape(to), reason }));
    return false;
  }
  const reason = `'reshape' from ${showShape(from)} to ${showShape(to)} keeps all elements`;
  c.require({ left: a, relation: "eq", right: b, reason });
  return true;
}

/** The dimension of the new shape that has the elements before it, and so may be cut at the same places; null if none. */
function shardAfter(from: readonly Extent[], dim: number, to: readonly Extent[]): number | null {
  const before = extentKey(productOf(from.slice(0, dim)));
  const found = to.findIndex((n, d) => n !== 1 && extentKey(productOf(to.slice(0, d))) === before);
  return found < 0 ? null : found;
}

// -- repeat ----------------------------------------------------------------------------------------

/** `repeat(x, dim: 1, times: 128)`: each index of a dimension, so often after itself. */
function repeat(e: Call, context: TensorContext): Operand {
  const { c } = context;
  if (e.arguments.length > 1) return reportArity(e, 1, "tensor", c);
  const t = operandOf(e, context, ["dim", "times"]);
  if (t === null) return null;
  const dim = checkDim(e, t, c);
  if (dim === undefined) return null;
  if (dim === null) return reportMissing("repeat", "dim", "the dimension whose indices are repeated", e, c);
  const written = e.named.find((n) => n.name.text === "times")?.value;
  if (written === undefined) return reportMissing("repeat", "times", "how often each index stands there", e, c);
  const times = c.extentOf(written);
  if (typeof times !== "number" || times < 1) {
    const what = times === null ? "this" : `${showExtent(times)} times`;
    return c.report(diagnostic("bad-dimension", written.span, { what }));
  }
  const length = t.shape[dim]!;
  const isPart = typeof length === "object" && length.op === "div" && length.b === times;
  if (!isPart) return { ...t, shape: t.shape.with(dim, extent("mul", length, times)) };
  // So many parts of a length, each as long, are the length, where it has no more than these.
  const reason = `'repeat' of ${showExtent(length)} indices makes ${showExtent(length.a)} of them`;
  c.requireDivisible(length.a, times, reason, e.span);
  return { ...t, shape: t.shape.with(dim, length.a) };
}

// -- concat ----------------------------------------------------------------------------------------

/** `concat(a, b, dim: 0)`: one after the other along a dimension. */
function concat(e: Call, context: TensorContext): Operand {
  const { c } = context;
  const types = e.arguments.map((a) => checkTensor(a, context));
  if (refuseNamed(e, ["dim"], c)) return null;
  if (types.length < 2) return reportArity(e, 2, "tensor", c);
  if (types.includes(null)) return null;
  const literal = types.indexOf("literal");
  if (literal >= 0) return c.report(diagnostic("not-a-whole-tensor", e.arguments[literal]!.span, { what: "a number" }));
  const parts = types as TensorType[];
  const dim = checkDim(e, parts[0]!, c);
  if (dim === undefined) return null;
  if (dim === null)
    return reportMissing("concat", "dim", "the dimension along which the tensors follow each other", e, c);
  return parts.slice(1).reduce<TensorType | null>((whole, t, i) => {
    return whole === null ? null : append(e, whole, t, [e.arguments[0]!, e.arguments[i + 1]!], dim, c);
  }, parts[0]!);
}

function append(
  e: Call,
  a: TensorType,
  b: TensorType,
  [left, right]: readonly [Expression, Expression],
  dim: number,
  c: Checking,
): TensorType | null {
  const fits = a.shape.length === b.shape.length && a.shape.every((n, d) => d === dim || sameExtent(n, b.shape[d]!));
  const labels = [a, b].map((t, i) => ({
    span: [left, right][i]!.span,
    text: `${showShape(t.shape)} ${printLayout(t.layout)}`,
  }));
  if (!fits) {
    const reason = `all dimensions but ${dim} must be equal`;
    const parameters = { left: showShape(a.shape), right: showShape(b.shape), reason };
    return c.report(diagnostic("shape-mismatch", e.span, parameters, { labels })) as null;
  }
  if (a.dtype !== b.dtype) return reportDTypes([left, a], [right, b], e, c);
  for (const [t, operand] of [
    [a, left],
    [b, right],
  ] as const)
    if (isCut(t.layout, dim)) return reportCut("'concat'", dim, printExpression(operand), t, operand.span, c);
  const found = perAxis(c.mesh, [a.layout, b.layout], concatLayout);
  const layout = found !== null && [a, b].every((t) => nests(t.layout, found, c.mesh)) ? found : null;
  if (layout === null) {
    const help = concatHelp(a.layout, b.layout, printExpression(left), printExpression(right));
    const parameters = { operation: "'concat'", left: printLayout(a.layout), right: printLayout(b.layout) };
    return c.report(diagnostic("operand-layouts", e.span, parameters, { labels, help }));
  }
  return { ...a, layout, shape: a.shape.with(dim, extent("add", a.shape[dim]!, b.shape[dim]!)) };
}
