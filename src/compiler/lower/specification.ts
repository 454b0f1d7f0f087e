/** What a collective's outputs must be, from its `ensures` clauses, its tensor expressions, or its signature. */
import { type CheckedCollective, isTensorAssignment } from "../check/checked.js";
import type { OutputSpecification } from "../manifest.js";
import { sameExtent } from "../types/extent.js";
import { expressedNames } from "./facts.js";
import { elementSpecification } from "./element-specification.js";
import { asStored, storedSpecification, tensorSpecification } from "./tensor-specification.js";

/**
 * One specification per output. Conversions are the identity on logical tensors. Explicit steps from one input to one
 * output of the same shape move data and change no value, so the output is the input; an output that tensor expressions
 * compute from what explicit steps stored is theirs, too.
 */
export function specificationOf(checked: CheckedCollective): (OutputSpecification | null)[] {
  const { syntax } = checked;
  const tensors = [...checked.tensors.values()];
  const inputs = tensors.filter((t) => t.role === "input" || t.role === "inout");
  const outputs = tensors.filter((t) => t.role === "output" || t.role === "inout").map((t) => ({ ...t, ...t.after }));
  const expressed = expressedNames(checked);
  return outputs.map((output) => {
    const ensured = syntax.ensures.find((e) => e.output.text === output.name);
    if (ensured !== undefined && ensured.variables !== null)
      return {
        kind: "elements",
        variables: ensured.variables.map((v) => v.text),
        value: elementSpecification(ensured.value, checked),
      };
    if (ensured !== undefined) return tensorSpecification(ensured.value, checked);
    const assigned = syntax.body.filter(isTensorAssignment).find((s) => s.target.text === output.name);
    if (assigned !== undefined && expressed.has(output.name))
      return storedSpecification(assigned.value, output.dtype, checked);
    const [only] = inputs;
    const movesOneTensor = inputs.length === 1 && outputs.length === 1 && only!.shape.length === output.shape.length;
    const comparable = movesOneTensor && only!.layout.kind !== "local" && output.layout.kind !== "local";
    return comparable && only!.shape.every((e, d) => sameExtent(e, output.shape[d]!))
      ? asStored({ kind: "input", name: only!.name }, only!.dtype, output.dtype)
      : null;
  });
}
