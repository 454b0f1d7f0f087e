/** `ensures y[i] == …` → a plain expression that the reference and the prover evaluate. */
import type { BinaryOperator, Domain, Expression, RangeExpression } from "../ast/nodes.js";
import type { CheckedCollective } from "../check/checked.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { ElementExpression } from "../manifest.js";
import { isDType } from "../types/dtype.js";

type E = ElementExpression;

const COMPARISON: Partial<Record<BinaryOperator, string>> = {
  "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}; // prettier-ignore
const ARITHMETIC: Partial<Record<BinaryOperator, string>> = {
  "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "^": "xor", "&": "and", "<<": "shl", ">>": "shr",
  and: "and", or: "or",
}; // prettier-ignore

const constant = (value: number): E => ({ kind: "constant", value });
const binary = (fn: string, a: E, b: E): E => ({ kind: "binary", fn, a, b });

/** @param names what names stand for here: bound arguments of functions, and variables. */
export function elementSpecification(
  e: Expression,
  checked: CheckedCollective,
  names: ReadonlyMap<string, E> = new Map(),
): E {
  const of = (x: Expression): E => elementSpecification(x, checked, names);
  switch (e.kind) {
    case "number":
      return constant(e.value);
    case "name": {
      const bound = names.get(e.name);
      if (bound !== undefined) return bound;
      if (e.name === "rank") return { kind: "rank" };
      if (e.name === "world") return constant(checked.world);
      if (checked.scalars.some((s) => s.name === e.name)) return { kind: "scalar", name: e.name };
      return { kind: checked.dims.includes(e.name) ? "dim" : "variable", name: e.name };
    }
    case "axis":
      return axis(e, checked);
    case "element": {
      const peer = e.peer === null ? null : of(e.peer);
      return { kind: "load", input: e.tensor.text, peer, indices: e.indices.map(of) };
    }
    case "member": {
      const [start, end] = bounds(e.range, checked, names);
      if (e.member.text === "length") return binary("sub", end, start);
      return e.member.text === "start" ? start : end;
    }
    case "unary":
      return { kind: "unary", fn: e.operator === "not" ? "not" : "neg", a: of(e.operand) };
    case "binary": {
      const comparison = COMPARISON[e.operator];
      if (comparison !== undefined) return { kind: "compare", fn: comparison, a: of(e.left), b: of(e.right) };
      const isIndex = checked.types.get(e)?.kind === "index";
      return binary(isIndex && e.operator === "/" ? "floordiv" : ARITHMETIC[e.operator]!, of(e.left), of(e.right));
    }
    case "call": {
      const [first, second, third] = e.arguments.map(of);
      const callee = e.callee.text;
      if (callee === "index") return { kind: "index", a: first! };
      if (callee === "where") return { kind: "select", condition: first!, a: second!, b: third! };
      const dtype = checked.dtypes[callee] ?? callee;
      if (isDType(dtype)) return { kind: "cast", dtype, a: first! };
      return second === undefined ? { kind: "unary", fn: callee, a: first! } : binary(callee, first!, second);
    }
    case "inlined": {
      const inner = new Map(names);
      for (const { name, value } of e.bindings) inner.set(name.text, of(value));
      return elementSpecification(e.body, checked, inner);
    }
    case "reduce":
      return reduction(e, checked, names);
    default:
      throw new InternalCompilerError(`a '${e.kind}' expression among elements passed the checker`);
  }
}

function axis(e: Extract<Expression, { kind: "axis" }>, { mesh }: CheckedCollective): E {
  const at = mesh.findIndex((a) => a.name === e.axis.text);
  if (e.base.text === "world") return constant(mesh[at]!.size);
  return coordinate(at, mesh);
}

function coordinate(at: number, mesh: CheckedCollective["mesh"]): E {
  return binary("mod", binary("floordiv", { kind: "rank" }, constant(strideOf(at, mesh))), constant(mesh[at]!.size));
}

function strideOf(at: number, mesh: CheckedCollective["mesh"]): number {
  return mesh.slice(at + 1).reduce((n, a) => n * a.size, 1);
}

function reduction(
  e: Extract<Expression, { kind: "reduce" }>,
  checked: CheckedCollective,
  names: ReadonlyMap<string, E>,
): E {
  const variable = e.variable.text;
  const { from, to, value } = domain(e.over, { kind: "variable", name: variable }, checked, names);
  const body = elementSpecification(e.body, checked, new Map(names).set(variable, value));
  const fn = e.op === "avg" ? "sum" : e.op;
  const folded: E = { kind: "reduce", fn, variable, from, to, body };
  return e.op === "avg" ? binary("div", folded, binary("sub", to, from)) : folded;
}

/** What a reduction runs over, and what its variable stands for. */
function domain(
  over: Domain,
  variable: E,
  checked: CheckedCollective,
  names: ReadonlyMap<string, E>,
): { from: E; to: E; value: E } {
  if (over.kind !== "ranks") {
    const [from, to] = bounds(over.kind === "tiles" ? over.ranges[0]! : over.range, checked, names);
    return { from, to, value: variable };
  }
  const at = over.axis === null ? -1 : checked.mesh.findIndex((a) => a.name === over.axis!.text);
  const size = at === -1 ? checked.world : checked.mesh[at]!.size;
  const own: E = at === -1 ? { kind: "rank" } : coordinate(at, checked.mesh);
  const passed: E = { kind: "compare", fn: "ge", a: variable, b: own };
  const shifted = binary("add", variable, { kind: "select", condition: passed, a: constant(1), b: constant(0) });
  const place = over.includeSelf ? variable : shifted;
  const to = constant(over.includeSelf ? size : size - 1);
  if (at === -1) return { from: constant(0), to, value: place };
  const stride = constant(strideOf(at, checked.mesh));
  const first = binary("sub", { kind: "rank" }, binary("mul", own, stride));
  return { from: constant(0), to, value: binary("add", first, binary("mul", place, stride)) };
}

function bounds(r: RangeExpression, checked: CheckedCollective, names: ReadonlyMap<string, E>): [E, E] {
  const of = (x: Expression): E => elementSpecification(x, checked, names);
  if (r.kind === "bounds") return [r.from === null ? constant(0) : of(r.from), of(r.to)];
  const [length, rank] = [of(r.length), of(r.rank)];
  const parts = r.parts === null ? constant(checked.world) : of(r.parts);
  if (r.kind === "shard") {
    const piece = binary("floordiv", length, parts);
    const start = binary("mul", rank, piece);
    return [start, binary("add", start, piece)];
  }
  // Chunks are cut at multiples of 64 elements; see `lowerRange`.
  const up = (x: E, by: E): E => binary("floordiv", binary("add", x, binary("sub", by, constant(1))), by);
  const piece = binary("mul", up(up(length, parts), constant(64)), constant(64));
  const start = binary("min", binary("mul", rank, piece), length);
  return [start, binary("min", binary("add", start, piece), length)];
}
