/** Types of index and element expressions inside explicit algorithms. */
import type { Domain, Expression, RangeExpression } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { DTYPES, type DType, isDType } from "../types/dtype.js";
import { printExtent } from "../types/extent.js";
import { REDUCTION_OPS } from "../types/layout.js";
import type { ExpressionType } from "./checked.js";
import { extentOf } from "./extents.js";
import { CONVERSION_NAMES, UNARY_NAMES } from "./functions.js";
import { type Checking, type MaybeType, suggestion } from "./scope.js";

const INDEX: ExpressionType = { kind: "index" };
const BOOL: ExpressionType = { kind: "bool" };
const value = (dtype: DType): ExpressionType => ({ kind: "value", dtype: DTYPES[dtype].compute });

/** Checks an expression and records its type; null after a reported error. */
export function checkElement(e: Expression, c: Checking): MaybeType {
  const type = typeOf(e, c);
  if (type !== null) c.types.set(e, type);
  return type;
}

function typeOf(e: Expression, c: Checking): MaybeType {
  switch (e.kind) {
    case "number":
      return e.isInteger ? INDEX : value("f32");
    case "name":
      return nameType(e.name, e.span, c);
    case "element":
      return elementType(e, c);
    case "member": {
      checkRange(e.range, c);
      const known = ["start", "end", "length"];
      return known.includes(e.member.text)
        ? INDEX
        : c.report(diagnostic("no-such-member", e.member.span, { name: e.member.text }));
    }
    case "unary": {
      const t = checkElement(e.operand, c);
      if (t === null) return null;
      if (e.operator === "not") return t.kind === "bool" ? BOOL : mismatch(c, e.operand.span, "a condition", t);
      return t.kind === "bool" ? mismatch(c, e.operand.span, "a number", t) : t;
    }
    case "binary":
      return binaryType(e, c);
    case "matmul":
      checkElement(e.left, c);
      checkElement(e.right, c);
      return c.report(
        diagnostic(
          "type-mismatch",
          e.span,
          { wanted: "a single value", found: "a matrix product" },
          { help: "write the product as a whole-tensor assignment: c = a @ b" },
        ),
      );
    case "call":
      return callType(e, c);
    case "reduce": {
      if (!(REDUCTION_OPS as readonly string[]).includes(e.op))
        return c.report(diagnostic("fold-not-supported", e.span, { name: e.op }));
      checkDomain(e.over, c);
      let type: MaybeType = null;
      c.inScope(() => {
        c.define(e.variable, { kind: "loop variable", type: INDEX, varies: varies(e.over, c) });
        type = checkElement(e.body, c);
      });
      const t = type as MaybeType;
      return t === null || t.kind === "value" || t.kind === "index" ? t : mismatch(c, e.body.span, "a value", t);
    }
  }
}

function nameType(name: string, span: Span, c: Checking): MaybeType {
  c.used.add(name);
  if (name === "rank" || name === "world") return INDEX;
  const binding = c.find(name);
  if (binding !== undefined) return binding.type;
  if (c.tensors.has(name)) return c.report(diagnostic("tensor-as-value", span, { name }));
  return c.dims.includes(name) ? INDEX : c.unknownName(name, span);
}

function elementType(e: Extract<Expression, { kind: "element" }>, c: Checking): MaybeType {
  const { text, span } = e.tensor;
  c.used.add(text);
  if (e.peer !== null) checkRankNumber(e.peer, c);
  for (const i of e.indices) requireIndex(i, c);
  const tensor = c.tensors.get(text);
  if (tensor === undefined) {
    const isOther = c.find(text) !== undefined || c.dims.includes(text) || text === "rank" || text === "world";
    return isOther ? c.report(diagnostic("not-a-tensor", span, { name: text })) : c.unknownName(text, span);
  }
  if (e.indices.length === 0 && e.peer !== null) {
    const right = e.peer.kind === "name" ? e.peer.name : "…";
    return c.report(diagnostic("missing-matmul-spaces", e.span, { left: text, right }));
  }
  checkIndexCount(text, tensor.shape.length, e.indices.length, e.span, tensor.span, c);
  return value(tensor.dtype);
}

export function checkIndexCount(
  name: string,
  wanted: number,
  found: number,
  span: Span,
  declared: Span,
  c: Checking,
): void {
  if (wanted !== found)
    c.report(
      diagnostic(
        "wrong-index-count",
        span,
        { name, wanted, found },
        { labels: [{ span: declared, text: "declared here" }] },
      ),
    );
}

/** An index that names a rank; a constant one must exist. */
export function checkRankNumber(e: Expression, c: Checking): void {
  requireIndex(e, c);
  const constant = extentOf(e, c.world);
  if (typeof constant === "number" && (constant < 0 || constant >= c.world))
    c.report(diagnostic("no-such-rank", e.span, { rank: constant, world: c.world }));
}

export function requireIndex(e: Expression, c: Checking): void {
  const t = checkElement(e, c);
  if (t !== null && t.kind !== "index") mismatch(c, e.span, "an index", t);
}

function mismatch(c: Checking, span: Span, wanted: string, found: ExpressionType): null {
  const names = { index: "an index", bool: "a condition", value: "an element", tensor: "a whole tensor" };
  return c.report(diagnostic("type-mismatch", span, { wanted, found: names[found.kind] }));
}

function binaryType(e: Extract<Expression, { kind: "binary" }>, c: Checking): MaybeType {
  const l = checkElement(e.left, c);
  const r = checkElement(e.right, c);
  if (l === null || r === null) return null;
  if (e.operator === "and" || e.operator === "or") {
    if (l.kind !== "bool") return mismatch(c, e.left.span, "a condition", l);
    return r.kind === "bool" ? BOOL : mismatch(c, e.right.span, "a condition", r);
  }
  const isComparison = ["==", "!=", "<", "<=", ">", ">="].includes(e.operator);
  const joined = join(e.left, l, e.right, r, e.span, c);
  if (joined === null) return null;
  if ((e.operator === "%" || e.operator === "^") && joined.kind !== "index")
    return mismatch(c, e.span, "an index", joined);
  return isComparison ? BOOL : joined;
}

/** The type of two operands together: equal kinds, or a literal beside an element. */
function join(
  left: Expression,
  l: ExpressionType,
  right: Expression,
  r: ExpressionType,
  span: Span,
  c: Checking,
): MaybeType {
  if (l.kind === "bool" || r.kind === "bool")
    return mismatch(c, (l.kind === "bool" ? left : right).span, "a number", l.kind === "bool" ? l : r);
  if (l.kind === "index" && r.kind === "index") return INDEX;
  if (l.kind === "value" && r.kind === "value") return l.dtype === "f32" || r.dtype !== "f32" ? l : r;
  const index = l.kind === "index" ? left : right;
  if (!isLiteral(index))
    return c.report(diagnostic("needs-cast", span, {}, { labels: [{ span: index.span, text: "this is an index" }] }));
  return l.kind === "value" ? l : r;
}

function isLiteral(e: Expression): boolean {
  return (
    e.kind === "number" ||
    (e.kind === "unary" && isLiteral(e.operand)) ||
    (e.kind === "binary" && isLiteral(e.left) && isLiteral(e.right))
  );
}

function callType(e: Extract<Expression, { kind: "call" }>, c: Checking): MaybeType {
  const callee = e.callee.text;
  const types = e.arguments.map((a) => checkElement(a, c));
  for (const n of e.named)
    c.report(diagnostic("unknown-argument", n.name.span, { callee, name: n.name.text, known: "none" }));
  const arity = (wanted: number): boolean => {
    if (types.length === wanted) return true;
    c.report(
      diagnostic("wrong-arity", e.span, {
        name: callee,
        wanted: `${wanted} argument${wanted === 1 ? "" : "s"}`,
        found: types.length,
      }),
    );
    return false;
  };
  const dtype = c.dtypes[callee] ?? callee;
  if (isDType(dtype)) {
    if (!arity(1) || types[0] == null) return null;
    return types[0].kind === "value" || types[0].kind === "index"
      ? value(dtype)
      : mismatch(c, e.arguments[0]!.span, "a number", types[0]);
  }
  if (callee === "where") {
    if (!arity(3) || types.some((t) => t == null)) return null;
    if (types[0]!.kind !== "bool") return mismatch(c, e.arguments[0]!.span, "a condition", types[0]!);
    return join(e.arguments[1]!, types[1]!, e.arguments[2]!, types[2]!, e.span, c);
  }
  if (callee === "min" || callee === "max") {
    if (!arity(2) || types.some((t) => t == null)) return null;
    return join(e.arguments[0]!, types[0]!, e.arguments[1]!, types[1]!, e.span, c);
  }
  if ((UNARY_NAMES as readonly string[]).includes(callee)) {
    if (!arity(1) || types[0] == null) return null;
    if (types[0].kind === "bool") return mismatch(c, e.arguments[0]!.span, "a number", types[0]);
    return types[0].kind === "index" ? value("f32") : types[0];
  }
  const help = CONVERSION_NAMES.includes(callee)
    ? `conversions work on whole tensors: y = ${callee}(x)`
    : suggestion(callee, ["min", "max", "where", ...UNARY_NAMES]);
  return c.report(diagnostic("unknown-function", e.callee.span, { name: callee }, { help }));
}

/** Checks a range; shards add their rule of divisibility. */
export function checkRange(r: RangeExpression, c: Checking): void {
  if (r.kind === "bounds") {
    if (r.from !== null) requireIndex(r.from, c);
    requireIndex(r.to, c);
    return;
  }
  requireIndex(r.length, c);
  checkRankNumber(r.rank, c);
  const length = extentOf(r.length, c.world);
  if (r.kind === "chunk" || length === null) return;
  requireDivisible(length, `shard(${printExtent(length)}, r) cuts it into ${c.world} equal parts`, r.length.span, c);
}

export function requireDivisible(
  length: import("../types/extent.js").Extent,
  reason: string,
  span: Span,
  c: Checking,
): void {
  if (typeof length === "number") {
    if (length % c.world !== 0) c.report(diagnostic("does-not-divide", span, { length, world: c.world }));
    return;
  }
  const isKnown = c.divisibility.some((d) => printExtent(d.dividend) === printExtent(length));
  if (c.world > 1 && !isKnown) c.divisibility.push({ dividend: length, divisor: c.world, reason });
}

export function checkDomain(d: Domain, c: Checking): void {
  if (d.kind === "tiles") for (const r of d.ranges) checkRange(r, c);
  if (d.kind === "serial") checkRange(d.range, c);
}

/** Whether an expression or domain may differ from rank to rank. */
export function varies(e: Expression | Domain | RangeExpression, c: Checking): boolean {
  switch (e.kind) {
    case "name":
      return e.name === "rank" || (c.find(e.name)?.varies ?? false);
    case "element":
      return true;
    case "number":
    case "ranks":
      return false;
    case "unary":
      return varies(e.operand, c);
    case "binary":
    case "matmul":
      return varies(e.left, c) || varies(e.right, c);
    case "call":
      return e.arguments.some((a) => varies(a, c));
    case "reduce":
      return varies(e.over, c) || varies(e.body, c);
    case "member":
    case "serial":
      return varies(e.range, c);
    case "tiles":
      return e.ranges.some((r) => varies(r, c));
    case "bounds":
      return (e.from !== null && varies(e.from, c)) || varies(e.to, c);
    case "shard":
    case "chunk":
      return varies(e.length, c) || varies(e.rank, c);
  }
}
