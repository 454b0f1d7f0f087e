/** What a collective's outputs must be, from its `ensures` clauses, its tensor expressions, or its signature. */
import type { Expression } from "../ast/nodes.js";
import { type CheckedCollective, isTensorAssignment } from "../check/checked.js";
import type { Specification } from "../manifest.js";
import { sameExtent } from "../types/extent.js";

const CONVERSIONS = new Set([
  "all_reduce",
  "all_gather",
  "reduce_scatter",
  "all_to_all",
  "broadcast",
  "reduce",
  "gather",
  "scatter",
]);
const BINARY: Record<string, string> = { "+": "add", "-": "sub", "*": "mul", "/": "div" };

/**
 * One specification per output. Conversions are the identity on logical tensors. A body of explicit steps
 * with one input and one output of the same shape moves data and changes no value, so the output is the input.
 */
export function specificationOf(checked: CheckedCollective): (Specification | null)[] {
  const { syntax } = checked;
  const tensors = [...checked.tensors.values()];
  const inputs = tensors.filter((t) => t.role === "input");
  const outputs = tensors.filter((t) => t.role === "output");
  const lets = new Map<string, Expression>();
  for (const s of syntax.body) if (s.kind === "let") lets.set(s.name.text, s.value);
  return outputs.map((output) => {
    const ensured = syntax.ensures.find((e) => e.output.text === output.name);
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
    case "call": {
      const [first, second] = e.arguments;
      if (first === undefined) return null;
      if (second !== undefined) return both(first, second, (a, b) => ({ kind: "binary", fn: e.callee.text, a, b }));
      const a = translate(first, checked, lets);
      return a === null || CONVERSIONS.has(e.callee.text) ? a : { kind: "unary", fn: e.callee.text, a };
    }
    default:
      return null;
  }
}
