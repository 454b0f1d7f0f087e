/** Types and layouts of whole-tensor expressions. */
import type { Expression } from "../ast/nodes.js";
import { type Part, partsOf } from "../ast/visit.js";
import { diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { type Extent, sameExtent } from "../types/extent.js";
import { partialOf } from "../types/layout.js";
import { castDType } from "./calls.js";
import type { CheckedCollective, ExpressionType } from "./checked.js";
import { checkNumber, kindOfName, reportMissingSpaces } from "./elements.js";
import { isLinear } from "./layout-rules.js";
import type { Checking } from "./scope.js";
import { checkTensorCall } from "./tensor-calls.js";
import { checkBinary, reportNotLinear, requireNumbers } from "./tensor-elementwise.js";
import { checkProduct } from "./tensor-products.js";
import { checkSlice, reportElement } from "./tensor-views.js";

export type TensorType = Extract<ExpressionType, { kind: "tensor" }>;
/** A literal, the number of ranks, or an expression of them and of numbers of the launch, fits any tensor; null after a reported error. */
export type Operand = TensorType | "literal" | null;

export interface TensorContext {
  readonly c: Checking;
  /** Tensors are taken as the values they stand for, however they lie over the ranks: in `ensures`. */
  readonly isLogical: boolean;
}

/** Checks a tensor expression and records its type. */
export function checkTensor(e: Expression, context: TensorContext): Operand {
  const type = typeOf(e, context);
  if (type !== null && type !== "literal") context.c.types.set(e, type);
  return type;
}

/** Gives a literal, or an expression of literals, the type its place asks for. */
export function settle(e: Expression, type: TensorType, c: Checking): void {
  c.types.set(e, type);
  // A cast of a number of the launch gives what the place asks for.
  if (e.kind === "call" && castDType(e.callee.text, c) !== null) return;
  for (const p of partsOf(e))
    if (["number", "name", "axis", "unary", "binary", "call", "inlined"].includes(p.kind))
      settle(p as Expression, type, c);
}

/** The number of ranks, or of those along an axis, which is known as a written number is; null for anything else. */
export function ranksIn(e: Part, { world, mesh }: Pick<CheckedCollective, "world" | "mesh">): number | null {
  if (e.kind === "name") return e.name === "world" ? world : null;
  if (e.kind !== "axis" || e.base.text !== "world") return null;
  return mesh.find(({ name }) => name === e.axis.text)?.size ?? null;
}

function typeOf(e: Expression, context: TensorContext): Operand {
  const { c } = context;
  const refuse = (what: string): null => c.report(diagnostic("not-a-whole-tensor", e.span, { what }));
  switch (e.kind) {
    case "number":
      return checkNumber(e, c) ? "literal" : null;
    case "name":
      return nameType(e.name, e.span, context);
    case "matmul":
      return checkProduct(e, context);
    case "binary":
      return checkBinary(e, context);
    case "unary": {
      const t = checkTensor(e.operand, context);
      if (t === null) return null;
      if (e.operator === "not") {
        if (t !== "literal" && t.dtype === "bool") return t;
        const found = t === "literal" ? "a number" : `a tensor of ${t.dtype}`;
        return c.report(diagnostic("type-mismatch", e.operand.span, { wanted: "a condition", found }));
      }
      if (!requireNumbers(t, e.operand, c)) return null;
      if (t === "literal" || partialOf(t.layout) === null || isLinear(t.layout, t.dtype)) return t;
      return reportNotLinear("negation", t, e.operand, e, c);
    }
    case "call":
      return checkTensorCall(e, context);
    case "element":
      if (e.peer !== null && e.indices.length === 0 && c.tensors.has(e.tensor.text)) return reportMissingSpaces(e, c);
      c.read.add(e.tensor.text);
      if (e.peer !== null) return refuse("a single element");
      return reportElement(e, { kind: "name", name: e.tensor.text, span: e.tensor.span }, e.indices.length, c);
    case "slice":
      return checkSlice(e, context);
    case "inlined":
      return inlinedType(e, context);
    case "axis":
      if (e.base.text === "world") return c.axis(e.axis) === null ? null : "literal";
      return refuse("an index");
    case "member":
      return refuse("an index");
    case "reduce":
      return refuse("a reduction over elements");
  }
}

function nameType(name: string, span: Span, { c, isLogical }: TensorContext): Operand {
  const bound = c.use(name);
  if (bound?.type === null) return null; // its definition is at fault
  if (bound?.kind === "number of the launch") return "literal";
  if (bound?.type.kind === "tensor") return bound.type;
  const t = c.tensors.get(name);
  if (t !== undefined) {
    if (!isLogical) c.read.add(name);
    if (c.faulty.has(name)) return null;
    if ((t.role === "output" || t.role === "scratch") && !isLogical && !c.assigned.has(name))
      return c.report(diagnostic("read-before-assigned", span, { name }));
    if (isLogical) return { kind: "tensor", dtype: t.dtype, shape: t.shape, layout: { kind: "replicated" } };
    const { shape, layout } = c.assigned.has(name) ? (t.after ?? t) : t;
    return { kind: "tensor", dtype: t.dtype, shape, layout };
  }
  if (name === "world") return "literal";
  const kind = kindOfName(name, c);
  if (kind === null) return c.unknownName(name, span);
  const help =
    c.find(name)?.kind === "dimension"
      ? "the mean along a dimension is mean(t, dim: 1); what else goes with a length is computed in a loop over elements: for i in tiles(…) { … }"
      : "what goes with ranks and indices is computed in a loop over elements: for i in tiles(…) { … }";
  return c.report(diagnostic("not-a-whole-tensor", span, { what: `'${name}', ${kind},` }, { help }));
}

function inlinedType(e: Extract<Expression, { kind: "inlined" }>, context: TensorContext): Operand {
  const { c } = context;
  let type: Operand = null;
  c.inScope(() => {
    for (const { name, value } of e.bindings) {
      const bound = checkTensor(value, context);
      c.defineHidden(name, { kind: "parameter", type: bound === "literal" ? null : bound });
    }
    c.inCall(e.span, () => (type = checkTensor(e.body, context)));
  });
  return type;
}

export function sameShape(a: readonly Extent[], b: readonly Extent[]): boolean {
  return a.length === b.length && a.every((e, d) => sameExtent(e, b[d]!));
}
