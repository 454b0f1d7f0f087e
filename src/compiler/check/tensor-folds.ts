/** `sum(x, dim: 1)` and the like: folds along one dimension, which has length 1 afterwards. */
import type { Expression } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import type { FoldFunction } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import { refuseNamed, reportArity } from "./calls.js";
import { foldLayout, perAxis } from "./layout-rules.js";
import { reportNotLinear, requireNumbers } from "./tensor-elementwise.js";
import { checkDim, reportMissing } from "./tensor-arguments.js";
import { checkTensor, type Operand, type TensorContext } from "./tensors.js";

type Call = Extract<Expression, { kind: "call" }>;

/** Reductions along a dimension. */
export const FOLDS: readonly FoldFunction[] = ["sum", "mean", "min", "max", "prod"];

/** The fold a call means; null if it is none. `max(a, b)` is none: it names no dimension. */
export function foldOf(e: Call): FoldFunction | null {
  const fn = FOLDS.find((f) => f === e.callee.text) ?? null;
  const isPair =
    (fn === "min" || fn === "max") && !e.named.some((n) => n.name.text === "dim") && e.arguments.length > 1;
  return isPair ? null : fn;
}

export function checkFold(e: Call, fn: FoldFunction, context: TensorContext): Operand {
  const { c } = context;
  const types = e.arguments.map((a) => checkTensor(a, context));
  if (refuseNamed(e, ["dim"], c)) return null;
  if (types.length !== 1) return reportArity(e, 1, "tensor", c);
  const [t] = types;
  const [operand] = e.arguments as [Expression];
  if (t === null || t === undefined || t === "literal") {
    const help = "a fold is of a tensor, along one of its dimensions";
    if (t === "literal") c.report(diagnostic("not-a-whole-tensor", operand.span, { what: "a number" }, { help }));
    return null;
  }
  // Whether any holds is their maximum; whether all do, their minimum.
  if (fn !== "min" && fn !== "max" && !requireNumbers(t, operand, c)) return null;
  const dim = checkDim(e, t, c);
  if (dim === undefined) return null;
  if (dim === null) return reportMissing(fn, "dim", "the dimension it folds", e, c);
  if (fn === "mean" && DTYPES[t.dtype].kind === "int")
    return c.report(diagnostic("needs-float", e.span, { name: fn, found: `a ${t.dtype} tensor` }));
  const layout = perAxis(c.mesh, [t.layout], (l) => foldLayout(fn, dim, l, t.dtype));
  if (layout === null) return reportNotLinear(`'${fn}'`, t, operand, e, c);
  return { ...t, shape: t.shape.with(dim, 1), layout };
}
