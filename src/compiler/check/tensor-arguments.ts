/** Named arguments of calls on whole tensors: dimensions and ranks, as literals. */
import type { Expression } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import type { Checking } from "./scope.js";
import type { TensorType } from "./tensors.js";

type Call = Extract<Expression, { kind: "call" }>;

/** The dimension that is named; null if none is, undefined after a reported error. */
export function checkDim(e: Call, t: TensorType, c: Checking): number | null | undefined {
  const dim = literalArgument(e, "dim");
  if (dim === null || dim < t.shape.length) return dim;
  reportNoDimension(`dim: ${dim}`, t, e, c);
  return undefined;
}

function reportNoDimension(what: string, t: TensorType, e: Expression, c: Checking): null {
  const reason = `the tensor has ${t.shape.length} dimension${t.shape.length === 1 ? "" : "s"}`;
  const fix = `dimensions count from 0: the last is ${t.shape.length - 1}`;
  return c.report(diagnostic("bad-layout-argument", e.span, { layout: what, reason, fix }));
}

export function literalArgument(e: Call, name: string): number | null {
  const value = e.named.find((n) => n.name.text === name)?.value;
  return value?.kind === "number" && value.isInteger ? value.value : null;
}

export function reportMissing(callee: string, argument: string, what: string, e: Call, c: Checking): null {
  return c.report(diagnostic("missing-argument", e.span, { callee, argument, what }));
}
