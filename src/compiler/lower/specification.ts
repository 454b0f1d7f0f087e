/** What a collective's outputs must be, from its `ensures` clauses, its tensor expressions, or its signature. */
import type { Expression } from "../ast/nodes.js";
import { type CheckedCollective, isTensorAssignment } from "../check/checked.js";
import { CONVERSIONS } from "../check/functions.js";
import type { OutputSpecification, Specification } from "../manifest.js";
import { elementSpecification } from "./element-specification.js";
import { type DType, DTYPES, isDType } from "../types/dtype.js";
import { sameExtent } from "../types/extent.js";

const BINARY: Record<string, string> = { "+": "add", "-": "sub", "*": "mul", "/": "div" };

/**
 * One specification per output. Conversions are the identity on logical tensors. A body of explicit steps
 * with one input and one output of the same shape moves data and changes no value, so the output is the input.
 */
export function specificationOf(checked: CheckedCollective): (OutputSpecification | null)[] {
  const { syntax } = checked;
  const tensors = [...checked.tensors.values()];
  const inputs = tensors.filter((t) => t.role === "input");
  const outputs = tensors.filter((t) => t.role === "output");
  const lets = new Map<string, Expression>();
  for (const s of syntax.body)
    if (s.kind === "let") lets.set(s.name.text, s.value);
    else if (isTensorAssignment(s)) lets.set(s.target.text, s.value);
  return outputs.map((output) => {
    const ensured = syntax.ensures.find((e) => e.output.text === output.name);
    if (ensured !== undefined && ensured.variables !== null)
      return {
        kind: "elements",
        variables: ensured.variables.map((v) => v.text),
        value: elementSpecification(ensured.value, checked),
      };
    if (ensured !== undefined) return translate(ensured.value, checked, lets);
    const assigned = syntax.body.filter(isTensorAssignment).find((s) => s.target.text === output.name);
    if (assigned !== undefined) return translate(assigned.value, checked, lets);
    const [only] = inputs;
    const movesOneTensor = inputs.length === 1 && outputs.length === 1 && only!.shape.length === output.shape.length;
    const comparable = movesOneTensor && only!.layout.kind !== "local" && output.layout.kind !== "local";
    return comparable && only!.shape.every((e, d) => sameExtent(e, output.shape[d]!))
      ? { kind: "input", name: only!.name }
      : null;
  });
}

function translate(
  e: Expression,
  checked: CheckedCollective,
  lets: ReadonlyMap<string, Expression>,
): Specification | null {
  const both = (
    l: Expression,
    r: Expression,
    make: (a: Specification, b: Specification) => Specification,
  ): Specification | null => {
    const a = translate(l, checked, lets);
    const b = translate(r, checked, lets);
    return a === null || b === null ? null : make(a, b);
  };
  switch (e.kind) {
    case "number":
      return { kind: "constant", value: e.value };
    case "name": {
      const bound = lets.get(e.name);
      if (bound !== undefined) return translate(bound, checked, lets);
      return checked.tensors.get(e.name)?.role === "input" ? { kind: "input", name: e.name } : null;
    }
    case "matmul":
      return both(e.left, e.right, (a, b) => ({ kind: "matmul", a, b }));
    case "binary": {
      const fn = BINARY[e.operator];
      return fn === undefined ? null : both(e.left, e.right, (a, b) => ({ kind: "binary", fn, a, b }));
    }
    case "unary": {
      const a = translate(e.operand, checked, lets);
      return a === null || e.operator !== "-" ? null : { kind: "unary", fn: "neg", a };
    }
    case "inlined": {
      const inner = new Map(lets);
      for (const { name, value } of e.bindings) inner.set(name.text, value);
      return translate(e.body, checked, inner);
    }
    case "call": {
      const [first, second] = e.arguments;
      if (first === undefined) return null;
      if (second !== undefined) return both(first, second, (a, b) => ({ kind: "binary", fn: e.callee.text, a, b }));
      const a = translate(first, checked, lets);
      if (a === null || CONVERSIONS.has(e.callee.text)) return a;
      const dtype = checked.dtypes[e.callee.text] ?? e.callee.text;
      if (isDType(dtype)) return isFaithful(first, dtype, checked) ? a : null;
      return { kind: "unary", fn: e.callee.text, a };
    }
    default:
      return null;
  }
}

/** Whether a cast keeps the value, up to the rounding that the inputs' dtypes allow anyway. */
function isFaithful(operand: Expression, to: DType, checked: CheckedCollective): boolean {
  const type = checked.types.get(operand);
  if (type?.kind !== "tensor") return false;
  const from = DTYPES[type.dtype];
  const { kind, bytes, epsilon } = DTYPES[to];
  if (kind === "int") return from.kind === "int" && bytes >= from.bytes;
  const inputs = [...checked.tensors.values()].filter((t) => t.role === "input");
  return epsilon <= Math.max(...inputs.map((t) => DTYPES[t.dtype].epsilon));
}
