/** Index and element expressions → pure ops and loads. */
import type { BinaryOperator, Domain, Expression, RangeExpression } from "../ast/nodes.js";
import type { Builder } from "../ir/builder.js";
import type { Value } from "../ir/module.js";
import {
  type BinaryFunction,
  type Comparison,
  type Reduction,
  UNARY_FUNCTIONS,
  type UnaryFunction,
} from "../ir/ops.js";
import { INDEX, scalar, scalarOf } from "../ir/types.js";
import { DTYPES, isDType, type ScalarKind } from "../types/dtype.js";
import { bind, type LoweringContext } from "./statements.js";

const ARITHMETIC: Partial<Record<BinaryOperator, BinaryFunction>> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "rem",
  "^": "xor",
  "&": "and",
  "<<": "shl",
  ">>": "shr",
  and: "and",
  or: "or",
};
const COMPARISON: Partial<Record<BinaryOperator, Comparison>> = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};

export function lowerExpression(e: Expression, context: LoweringContext): Value {
  const { build, checked, scope } = context;
  build.span = e.span;
  switch (e.kind) {
    case "number": {
      const type = checked.types.get(e);
      return build.constant(e.value, type?.kind === "value" ? scalar(type.dtype) : e.isInteger ? INDEX : scalar("f32"));
    }
    case "name":
      return scope.get(e.name) ?? builtinName(e.name, context);
    case "element": {
      const { text: name } = e.tensor;
      const { dtype } = checked.tensors.get(name) ?? checked.stored.get(name)!;
      const peer = e.peer === null ? null : lowerExpression(e.peer, context);
      const indices = e.indices.map((i) => lowerExpression(i, context));
      build.span = e.span;
      return build.cast(build.load(name, indices, scalar(dtype), peer), DTYPES[dtype].compute);
    }
    case "member": {
      const range = lowerRange(e.range, context);
      if (e.member.text === "length") return build.sub(range.end, range.start);
      return e.member.text === "start" ? range.start : range.end;
    }
    case "unary": {
      const a = lowerExpression(e.operand, context);
      if (e.operator === "not") return build.unary("not", a);
      return scalarOf(a.type) === "index" ? build.sub(build.constant(0), a) : build.unary("neg", a);
    }
    case "binary":
      return lowerBinary(e, context);
    case "call":
      return lowerCall(e, context);
    case "reduce":
      return lowerReduce(e, context);
    case "inlined": {
      let inner = context;
      for (const { name, value } of e.bindings) inner = bind(inner, name.text, lowerExpression(value, context));
      return lowerExpression(e.body, inner);
    }
    case "axis":
      return e.base.text === "world"
        ? build.constant(axisOf(e.axis.text, context).size)
        : coordinate(axisOf(e.axis.text, context), context);
    case "slice":
    case "matmul":
      throw new RangeError("a matrix product inside an element expression passed the checker");
  }
}

interface Axis {
  readonly size: number;
  /** How far apart in rank numbers neighbours along the axis are. */
  readonly stride: number;
}

function axisOf(name: string, { checked }: LoweringContext): Axis {
  const at = checked.mesh.findIndex((a) => a.name === name);
  const stride = checked.mesh.slice(at + 1).reduce((n, a) => n * a.size, 1);
  return { size: checked.mesh[at]!.size, stride };
}

/** This rank's place along the axis. */
function coordinate({ size, stride }: Axis, { build }: LoweringContext): Value {
  return build.rem(build.div(build.rank(), build.constant(stride)), build.constant(size));
}

function builtinName(name: string, { build, checked }: LoweringContext): Value {
  // What a rank that is alone never does is not lowered, as where it would speak to others.
  if (name === "rank") return checked.world === 1 ? build.constant(0) : build.rank();
  if (name === "world") return build.constant(checked.world);
  const number = checked.scalars.find((s) => s.name === name);
  return number === undefined ? build.dim(name) : build.scalar(name, number.dtype);
}

/** A value as the element kind `kind`; integer literals become literals of it. */
export function coerce(build: Builder, v: Value, kind: ScalarKind): Value {
  const literal = build.constantOf(v);
  if (literal !== undefined && scalarOf(v.type) === "index" && kind !== "index")
    return build.constant(literal, scalar(kind));
  return build.cast(v, kind);
}

/** Both operands as the more general of their kinds: an index beside an element becomes an element. */
function unify(build: Builder, a: Value, b: Value): [Value, Value] {
  const ka = scalarOf(a.type);
  const kb = scalarOf(b.type);
  if (ka === kb) return [a, b];
  if (ka === "index") return [coerce(build, a, kb), b];
  if (kb === "index") return [a, coerce(build, b, ka)];
  const kind = ka === "f32" || kb === "f32" ? "f32" : ka;
  return [coerce(build, a, kind), coerce(build, b, kind)];
}

function lowerBinary(e: Extract<Expression, { kind: "binary" }>, context: LoweringContext): Value {
  const { build } = context;
  const [a, b] = unify(build, lowerExpression(e.left, context), lowerExpression(e.right, context));
  build.span = e.span;
  const comparison = COMPARISON[e.operator];
  if (comparison !== undefined) return build.compare(comparison, a, b);
  const isExact = scalarOf(a.type) === "index" && (e.operator === "/" || e.operator === "%");
  return isExact && !build.isNatural(a)
    ? floored(build, e.operator, a, b)
    : build.binary(ARITHMETIC[e.operator]!, a, b);
}

/** The machine rounds towards zero; Coll's `/` of indices rounds down, and its `%` is never negative. */
function floored(build: Builder, operator: BinaryOperator, a: Value, b: Value): Value {
  const rest = build.rem(a, b);
  const isBelow = build.compare("lt", rest, build.constant(0));
  if (operator === "%") return build.select(isBelow, build.add(rest, b), rest);
  const quotient = build.div(a, b);
  return build.select(isBelow, build.sub(quotient, build.constant(1)), quotient);
}

function lowerCall(e: Extract<Expression, { kind: "call" }>, context: LoweringContext): Value {
  const { build, checked } = context;
  const callee = e.callee.text;
  const values = e.arguments.map((a) => lowerExpression(a, context));
  build.span = e.span;
  const dtype = checked.dtypes[callee] ?? callee;
  if (callee === "index") return build.cast(values[0]!, "index");
  if (isDType(dtype)) {
    // A cast rounds to the dtype; the value goes on in the dtype's compute kind.
    return build.cast(coerce(build, values[0]!, dtype), DTYPES[dtype].compute);
  }
  if (callee === "where") {
    const [a, b] = unify(build, values[1]!, values[2]!);
    return build.select(values[0]!, a, b);
  }
  if (callee === "min" || callee === "max" || callee === "pow") {
    const [a, b] = unify(build, values[0]!, values[1]!);
    return build.binary(callee, a, b);
  }
  if (!(UNARY_FUNCTIONS as readonly string[]).includes(callee))
    throw new RangeError(`function '${callee}' passed the checker`);
  const operand = scalarOf(values[0]!.type) === "index" ? coerce(build, values[0]!, "f32") : values[0]!;
  return build.unary(callee as UnaryFunction, operand);
}

function lowerReduce(e: Extract<Expression, { kind: "reduce" }>, context: LoweringContext): Value {
  const { build } = context;
  const { from, to, variable } = reduceBounds(e.over, context);
  const fn: Reduction = e.op === "avg" ? "sum" : e.op;
  const folded = build.reduce(fn, from, to, (k) =>
    lowerExpression(e.body, bind(context, e.variable.text, variable(k))),
  );
  return e.op === "avg" ? average(build, folded, build.sub(to, from)) : folded;
}

/** total / count, in the total's kind. */
export function average(build: Builder, total: Value, count: Value): Value {
  return build.binary("div", total, coerce(build, count, scalarOf(total.type)));
}

function reduceBounds(
  over: Domain,
  context: LoweringContext,
): { from: Value; to: Value; variable: (k: Value) => Value } {
  const { build } = context;
  if (over.kind === "ranks") {
    const { count, number } = ranksOver(over, context);
    return { from: build.constant(0), to: build.constant(count), variable: number };
  }
  const range = lowerRange(over.kind === "tiles" ? over.ranges[0]! : over.range, context);
  return { from: range.start, to: range.end, variable: (k) => k };
}

/** How many ranks a loop or reduction over ranks has, and the number of the k-th. */
export function ranksOver(
  over: Extract<Domain, { kind: "ranks" }>,
  context: LoweringContext,
): { readonly count: number; readonly number: (k: Value) => Value } {
  const { build, checked } = context;
  const axis = over.axis === null ? null : axisOf(over.axis.text, context);
  const size = axis?.size ?? checked.world;
  const own = (): Value => (axis === null ? build.rank() : coordinate(axis, context));
  const place = (k: Value): Value => {
    if (over.includeSelf) return k;
    const passed = build.compare("ge", k, own());
    return build.add(k, build.select(passed, build.constant(1), build.constant(0)));
  };
  const count = over.includeSelf ? size : size - 1;
  if (axis === null) return { count, number: place };
  // The same rank, with another place along the axis.
  const number = (k: Value): Value => {
    const stride = build.constant(axis.stride);
    return build.add(build.sub(build.rank(), build.mul(own(), stride)), build.mul(place(k), stride));
  };
  return { count, number };
}

/**
 * Chunks start at multiples of this many elements, so that pieces of an aligned tensor are aligned
 * for the widest access and no two ranks write to one 64-byte sector.
 */
const CHUNK_GRANULE = 64;

export function lowerRange(r: RangeExpression, context: LoweringContext): { start: Value; end: Value } {
  const { build, checked } = context;
  if (r.kind === "bounds") {
    const start = r.from === null ? build.constant(0) : lowerExpression(r.from, context);
    return { start, end: lowerExpression(r.to, context) };
  }
  const length = lowerExpression(r.length, context);
  const rank = lowerExpression(r.rank, context);
  const world = r.parts === null ? build.constant(checked.world) : lowerExpression(r.parts, context);
  build.span = r.span;
  if (r.kind === "shard") {
    const piece = build.div(length, world);
    const start = build.mul(rank, piece);
    return { start, end: build.add(start, piece) };
  }
  const granule = build.constant(CHUNK_GRANULE);
  const piece = build.mul(build.ceilDiv(build.ceilDiv(length, world), granule), granule);
  const start = build.binary("min", build.mul(rank, piece), length);
  return { start, end: build.binary("min", build.add(start, piece), length) };
}
