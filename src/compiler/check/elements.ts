/** Types of index and element expressions inside explicit algorithms. */
import type { BinaryOperator, Expression } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { numberProblem } from "../ast/numbers.js";
import { diagnostic, type Label } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import type { Span } from "../source.js";
import { type ComputeDType, DTYPES, type DType, HIGHEST, LOWEST } from "../types/dtype.js";
import { printLayout, REDUCTION_OPS } from "../types/layout.js";
import { checkCall } from "./calls.js";
import type { CheckedTensor, ExpressionType } from "./checked.js";
import { showExtent } from "./extents.js";
import { checkDomain, checkRange, checkRankNumber } from "./ranges.js";
import type { Checking, MaybeType } from "./scope.js";

export const INDEX: ExpressionType = { kind: "index" };
export const BOOL: ExpressionType = { kind: "bool" };

/** The type of an element of that dtype in a register; those of `bool` are conditions. */
export function valueOf(dtype: DType): ExpressionType {
  return dtype === "bool" ? BOOL : { kind: "value", dtype: DTYPES[dtype].compute };
}

/** Checks an expression and records its type; null after a reported error. */
export function checkElement(e: Expression, c: Checking): MaybeType {
  const type = typeOf(e, c);
  if (type !== null) c.types.set(e, type);
  return type;
}

function typeOf(e: Expression, c: Checking): MaybeType {
  switch (e.kind) {
    case "number":
      return checkNumber(e, c) ? (e.isInteger ? INDEX : valueOf("f32")) : null;
    case "name":
      return nameType(e.name, e.span, c);
    case "element":
      return elementType(e, c);
    case "slice":
      return refuseSlice(e, c);
    case "axis":
      if (e.base.text === "rank" || e.base.text === "world") return c.axis(e.axis) === null ? null : INDEX;
      if (!c.isKnown(e.base.text)) return c.unknownName(e.base.text, e.base.span);
      return c.report(diagnostic("no-such-member", e.axis.span, { name: e.axis.text }));
    case "inlined":
      return inlinedType(e, c);
    case "member":
      checkRange(e.range, c);
      if (["start", "end", "length"].includes(e.member.text)) return INDEX;
      return c.report(diagnostic("no-such-member", e.member.span, { name: e.member.text }));
    case "unary":
      return unaryType(e, c);
    case "binary":
      return binaryType(e, c);
    case "matmul":
      return c.report(diagnostic("product-of-elements", e.span, {}));
    case "call":
      return checkCall(e, c);
    case "reduce":
      return reduceType(e, c);
  }
}

export function checkNumber(e: Extract<Expression, { kind: "number" }>, c: Checking): boolean {
  const problem = numberProblem(e.value, e.isInteger, e.span);
  if (problem !== null) c.report(problem);
  return problem === null;
}

// -- names and elements ----------------------------------------------------------------------------

function nameType(name: string, span: Span, c: Checking): MaybeType {
  if (name === "rank" || name === "world") return INDEX;
  const binding = c.use(name);
  if (binding !== undefined && binding.type?.kind !== "tensor") return binding.type;
  if (binding === undefined && !c.tensors.has(name)) return c.unknownName(name, span);
  c.read.add(name);
  return c.report(diagnostic("tensor-as-value", span, { name }));
}

function elementType(e: Extract<Expression, { kind: "element" }>, c: Checking): MaybeType {
  const { text: name, span } = e.tensor;
  const tensor = c.readArray(name);
  if (e.indices.length === 0 && e.peer !== null && tensor !== undefined) return reportMissingSpaces(e, c);
  if (e.peer !== null) checkRankNumber(e.peer, c);
  for (const i of e.indices) requireIndex(i, c);
  if (tensor === undefined) return reportNoTensor(name, span, e.peer !== null, c);
  if (c.faulty.has(name)) return null;
  if (e.peer !== null && !isThere(tensor, e.peer, c)) return null;
  if (!checkIndices(tensor, e.indices, e.span, c)) return null;
  return valueOf(tensor.dtype);
}

/** Explicit loops work on elements of tensors that are named. */
function refuseSlice({ operand, ranges, span }: Extract<Expression, { kind: "slice" }>, c: Checking): null {
  for (const r of ranges)
    for (const side of [r.from, r.isIndex ? null : r.to]) if (side !== null) requireIndex(side, c);
  const isRemote = operand.kind === "element" && operand.indices.length === 0;
  if (operand.kind === "name" || isRemote) {
    const name = operand.kind === "name" ? operand.name : operand.tensor.text;
    if (operand.kind === "name") c.use(name);
    else if (operand.peer !== null) checkRankNumber(operand.peer, c);
    c.read.add(name);
    return c.report(diagnostic("range-as-index", span, {}));
  }
  const type = checkElement(operand, c);
  if (type === null) return null;
  const help = "index the tensors inside it, or store it into a scratch array and index that";
  return c.report(diagnostic("not-a-tensor", span, { name: printExpression(operand), kind: describe(type) }, { help }));
}

/** `a@b` without an index. */
export function reportMissingSpaces(e: Extract<Expression, { kind: "element" }>, c: Checking): null {
  const right = e.peer?.kind === "name" ? e.peer.name : e.peer?.kind === "number" ? String(e.peer.value) : "(…)";
  if (e.peer?.kind === "name") c.read.add(e.peer.name);
  return c.report(diagnostic("missing-matmul-spaces", e.span, { left: e.tensor.text, right }));
}

/** Whether the rank has a part of the tensor, for all that is known; false after a reported error. */
function isThere({ name, role, layout, span }: CheckedTensor, peer: Expression, c: Checking): boolean {
  const rank = c.extentOf(peer);
  if (layout.kind !== "on" || layout.axis !== undefined || role === "output" || role === "inout") return true;
  if (typeof rank !== "number" || rank === layout.rank || rank < 0 || rank >= c.world) return true;
  const labels: Label[] = [{ span, text: `'${name}' is ${printLayout(layout)}` }];
  c.report(diagnostic("nothing-there", peer.span, { name, rank, root: layout.rank }, { labels }));
  return false;
}

/** What a name that is no tensor is, in words; null if it is nothing. */
export function kindOfName(name: string, c: Checking): string | null {
  if (name === "rank" || name === "world") return "an index";
  const binding = c.find(name);
  return binding === undefined ? null : `a ${binding.kind}`;
}

function reportNoTensor(name: string, span: Span, isRemote: boolean, c: Checking): null {
  const kind = kindOfName(name, c);
  const binding = c.use(name);
  if (kind === null) return c.unknownName(name, span);
  const labels = binding === undefined ? [] : [{ span: binding.span, text: "defined here" }];
  return c.report(diagnostic(isRemote ? "not-remote" : "not-a-tensor", span, { name, kind }, { labels }));
}

/** One index a dimension, and constant ones inside it. */
export function checkIndices(tensor: CheckedTensor, indices: readonly Expression[], span: Span, c: Checking): boolean {
  const { name, localShape } = tensor;
  const labels: Label[] = [{ span: tensor.span, text: "declared here" }];
  if (localShape.length !== indices.length) {
    const wanted = `${localShape.length} dimension${localShape.length === 1 ? "" : "s"}`;
    const found = indices.length === 1 ? "1 index" : `${indices.length} indices`;
    c.report(diagnostic("wrong-index-count", span, { name, wanted, found }, { labels }));
    return false;
  }
  let isInside = true;
  indices.forEach((e, dim) => {
    const index = c.extentOf(e);
    const length = localShape[dim]!;
    const isOver = typeof index === "number" && typeof length === "number" && index >= length;
    if (!isOver && !(typeof index === "number" && index < 0)) return;
    isInside = false;
    const parameters = { index, dim, name, length: showExtent(length) };
    c.report(diagnostic("index-out-of-range", e.span, parameters, { labels }));
  });
  return isInside;
}

/** Arguments are bound to the function's own names, then its expression is checked like any other. */
function inlinedType(e: Extract<Expression, { kind: "inlined" }>, c: Checking): MaybeType {
  let type: MaybeType = null;
  c.inScope(() => {
    for (const { name, value } of e.bindings) {
      const bound = checkElement(value, c);
      const extent = bound?.kind === "index" ? c.extentOf(value) : null;
      const scalar = c.scalarIn(value);
      const known = {
        varies: c.varies(value),
        isData: c.readsData(value),
        extent,
        scalar,
        tiles: c.tilesIn(value),
        isLiteral: isLiteral(value, c),
      };
      c.defineHidden(name, { kind: "parameter", type: bound, ...known });
    }
    c.inCall(e.span, () => (type = checkElement(e.body, c)));
  });
  return type;
}

// -- operators -------------------------------------------------------------------------------------

function unaryType(e: Extract<Expression, { kind: "unary" }>, c: Checking): MaybeType {
  const t = checkElement(e.operand, c);
  if (t === null) return null;
  if (e.operator === "not") return t.kind === "bool" ? BOOL : mismatch(c, e.operand.span, "a condition", t);
  return t.kind === "bool" ? mismatch(c, e.operand.span, "a number", t) : t;
}

const COMPARISONS: readonly BinaryOperator[] = ["==", "!=", "<", "<=", ">", ">="];

function binaryType(e: Extract<Expression, { kind: "binary" }>, c: Checking): MaybeType {
  const l = checkElement(e.left, c);
  const r = checkElement(e.right, c);
  if (l === null || r === null) return null;
  if (e.operator === "and" || e.operator === "or") {
    if (l.kind !== "bool") return mismatch(c, e.left.span, "a condition", l);
    return r.kind === "bool" ? BOOL : mismatch(c, e.right.span, "a condition", r);
  }
  if (l.kind === "bool" && r.kind === "bool" && (e.operator === "==" || e.operator === "!=")) return BOOL;
  const type = join(e.left, l, e.right, r, e.span, c);
  if (type === null) return null;
  if (["%", "^", "&", "<<", ">>"].includes(e.operator) && type.kind !== "index") return wantIndex(c, e.span, type);
  const isDivision = (e.operator === "/" || e.operator === "%") && type.kind === "index";
  if (isDivision && c.extentOf(e.right) === 0) return c.report(diagnostic("division-by-zero", e.span, {}));
  return COMPARISONS.includes(e.operator) ? BOOL : type;
}

/** The type of two operands together: equal types, or a literal beside an element. */
export function join(
  left: Expression,
  l: ExpressionType,
  right: Expression,
  r: ExpressionType,
  span: Span,
  c: Checking,
): MaybeType {
  if (l.kind === "bool") return mismatch(c, left.span, "a number", l);
  if (r.kind === "bool") return mismatch(c, right.span, "a number", r);
  if (l.kind === "index" && r.kind === "index") return INDEX;
  if (l.kind === "value" && r.kind === "value" && l.dtype === r.dtype) return l;
  // Whole numbers beside floats become floats, so that a kernel for any T may keep its sums in f32.
  if (l.kind === "value" && r.kind === "value" && (l.dtype === "f32" || r.dtype === "f32")) return valueOf("f32");
  if (l.kind === "index" && isLiteral(left, c)) return besideNumber(r, left, c);
  if (r.kind === "index" && isLiteral(right, c)) return besideNumber(l, right, c);
  const isOne = (dtype: ComputeDType): boolean => [l, r].some((t) => t.kind === "value" && t.dtype === dtype);
  const cast: ComputeDType = isOne("f32") ? "f32" : isOne("i64") ? "i64" : "i32";
  const labels = [
    { span: left.span, text: describe(l) },
    { span: right.span, text: describe(r) },
  ];
  return c.report(diagnostic("needs-cast", span, { left: describe(l), right: describe(r), cast }, { labels }));
}

function besideNumber(t: ExpressionType, literal: Expression, c: Checking): MaybeType {
  return t.kind !== "value" || isInRange(literal, t.dtype, c) ? t : null;
}

/** Whether integers of a kind have a number that stands beside one; false after a reported error. */
export function isInRange(literal: Expression, kind: ComputeDType, c: Checking): boolean {
  if (kind === "f32" || kind === "bool") return true;
  const number = c.extentOf(literal);
  if (typeof number !== "number")
    return literal.kind === "call" ? literal.arguments.every((a) => isInRange(a, kind, c)) : true;
  const [least, greatest] = [LOWEST[kind] ?? -Infinity, HIGHEST[kind] ?? Infinity];
  if (number >= least && number <= greatest) return true;
  const parameters = { number, beside: describe(valueOf(kind)), least, greatest };
  c.report(diagnostic("number-out-of-range", literal.span, parameters));
  return false;
}

/** A number that is written down: it has no type of its own yet. */
export function isLiteral(e: Expression, c: Checking): boolean {
  switch (e.kind) {
    case "number":
      return true;
    case "name":
      return c.find(e.name)?.isLiteral ?? false;
    case "unary":
      return isLiteral(e.operand, c);
    case "inlined":
      return isLiteral(e.body, c);
    case "binary":
      return isLiteral(e.left, c) && isLiteral(e.right, c);
    case "call": {
      const [condition, ...branches] = e.arguments;
      const chosen = e.callee.text === "where" ? branches : [condition, ...branches];
      return ["where", "min", "max"].includes(e.callee.text) && chosen.every((a) => a !== undefined && isLiteral(a, c));
    }
    default:
      return false;
  }
}

function reduceType(e: Extract<Expression, { kind: "reduce" }>, c: Checking): MaybeType {
  const { op, over, variable, body } = e;
  if (!(REDUCTION_OPS as readonly string[]).includes(op)) {
    const span = { start: e.span.start, end: e.span.start + op.length };
    const help = suggestion(op, REDUCTION_OPS) ?? undefined;
    return c.report(diagnostic("unknown-reduction", span, { name: op, known: REDUCTION_OPS.join(", ") }, { help }));
  }
  checkDomain(over, c);
  if (over.kind === "tiles") c.report(diagnostic("tiles-in-reduction", over.span, {}));
  let type: MaybeType = null;
  const check = (): void => {
    const varies = over.kind === "ranks" || c.varies(over);
    c.define(variable, { kind: "loop variable", type: INDEX, varies, tiles: c.tilesIn(over) });
    type = checkElement(body, c);
  };
  c.inScope(check);
  c.reduced.add(variable.text);
  const found = type as MaybeType;
  // Whether any holds is their maximum; whether all do, their minimum.
  return found?.kind === "bool" && op !== "min" && op !== "max" ? mismatch(c, body.span, "a number", found) : found;
}

// -- words -----------------------------------------------------------------------------------------

export function describe(t: ExpressionType): string {
  switch (t.kind) {
    case "index":
      return "an index";
    case "bool":
      return "a condition";
    case "value":
      return `an ${t.dtype} element`.replace("an u32", "a u32");
    case "tensor":
      return "a whole tensor";
  }
}

export function mismatch(c: Checking, span: Span, wanted: string, found: ExpressionType): null {
  return c.report(diagnostic("type-mismatch", span, { wanted, found: describe(found) }));
}

function wantIndex(c: Checking, span: Span, found: ExpressionType): null {
  return c.report(diagnostic("value-as-index", span, { found: describe(found) }));
}

/** Checks that it is an index; false after a reported error. */
export function requireIndex(e: Expression, c: Checking): boolean {
  const t = checkElement(e, c);
  if (t !== null && t.kind !== "index") wantIndex(c, e.span, t);
  return t?.kind === "index";
}
