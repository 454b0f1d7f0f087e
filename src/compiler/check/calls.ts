/** Calls inside explicit algorithms: casts, `where`, `min`, `max` and functions of one value. */
import type { Expression } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { type DType, DTYPE_NAMES, isDType } from "../types/dtype.js";
import type { ExpressionType } from "./checked.js";
import { BOOL, checkElement, describe, isLiteral, join, mismatch, valueOf } from "./elements.js";
import { isPair, isUnary, TENSOR_FUNCTIONS, UNARY, UNARY_NAMES } from "./functions.js";
import type { Checking, MaybeType } from "./scope.js";
import { elsewhere, functionsHelp, writtenAs } from "./usage.js";

type Call = Extract<Expression, { kind: "call" }>;

/** The dtype a cast names; null if the callee is no cast. */
export function castDType(callee: string, c: Checking): DType | null {
  const dtype = Object.hasOwn(c.dtypes, callee) ? c.dtypes[callee]! : callee;
  return isDType(dtype) ? dtype : null;
}

/** Reports arguments with names, where there are none. */
export function refuseNamed(e: Call, known: readonly string[], c: Checking): boolean {
  const bad = e.named.filter((n) => !known.includes(n.name.text));
  for (const { name } of bad) {
    const takes = known.length === 0 ? "it takes none by name" : `it takes ${known.join(" and ")}`;
    const written = writtenAs(e.callee.text);
    const help = written === null ? takes : `${takes}: ${written}`;
    c.report(diagnostic("unknown-argument", name.span, { callee: e.callee.text, name: name.text, known: help }));
  }
  return bad.length > 0;
}

export function reportArity(e: Call, wanted: number, what: string, c: Checking): null {
  const count = `${wanted} ${what}${wanted === 1 ? "" : "s"}`;
  const parameters = { name: e.callee.text, wanted: count, found: e.arguments.length };
  return c.report(diagnostic("wrong-arity", e.span, parameters, { help: writtenAs(e.callee.text) ?? undefined }));
}

export function checkCall(e: Call, c: Checking): MaybeType {
  const callee = e.callee.text;
  const dtype = castDType(callee, c);
  if (callee === "index") return checkIndexCall(e, c);
  const wanted = callee === "where" ? 3 : isPair(callee) ? 2 : dtype !== null || isUnary(callee) ? 1 : 0;
  if (wanted === 0) return reportUnknown(e, c);
  const types = e.arguments.map((a) => checkElement(a, c));
  if (refuseNamed(e, [], c)) return null;
  if (types.length !== wanted) return reportArity(e, wanted, "argument", c);
  if (types.includes(null)) return null;
  const [first, second, third] = types as ExpressionType[];
  const [a, b, d] = e.arguments;
  if (callee === "where") {
    if (first!.kind !== "bool") return mismatch(c, a!.span, "a condition", first!);
    if (second!.kind === "bool" && third!.kind === "bool") return BOOL;
    return join(b!, second!, d!, third!, e.span, c);
  }
  if (wanted === 2) {
    const type = join(a!, first!, b!, second!, e.span, c);
    if (callee !== "pow" || type === null || (type.kind === "value" && type.dtype === "f32")) return type;
    return c.report(diagnostic("needs-float", e.span, { name: callee, found: describe(type) }));
  }
  if (dtype !== null) return valueOf(dtype);
  if (first!.kind === "bool") return mismatch(c, a!.span, "a number", first!);
  return checkUnary(e, callee as keyof typeof UNARY, a!, first!, c);
}

/** `index(v)`: an element of an integer tensor as an index. What it is, only the launch knows. */
function checkIndexCall(e: Call, c: Checking): MaybeType {
  const types = e.arguments.map((a) => checkElement(a, c));
  if (refuseNamed(e, [], c)) return null;
  if (types.length !== 1) return reportArity(e, 1, "argument", c);
  const [t] = types;
  if (t === null || t === undefined) return null;
  c.refuseScalar(e.arguments[0]!, "an index is made of dimensions: let this be the length of a tensor, x: T[n]");
  if (t.kind === "index" || (t.kind === "value" && t.dtype !== "f32")) return { kind: "index" };
  return mismatch(c, e.arguments[0]!.span, "an integer element", t);
}

function checkUnary(e: Call, callee: keyof typeof UNARY, a: Expression, t: ExpressionType, c: Checking): MaybeType {
  if (t.kind === "index") {
    if (isLiteral(a, c)) return valueOf("f32");
    return c.report(diagnostic("needs-float", e.span, { name: callee, found: "an index" }));
  }
  const isInteger = t.kind === "value" && t.dtype !== "f32";
  if (isInteger && !UNARY[callee].integers)
    return c.report(diagnostic("needs-float", e.span, { name: callee, found: describe(t) }));
  return t;
}

function reportUnknown(e: Call, c: Checking): null {
  const name = e.callee.text;
  if (TENSOR_FUNCTIONS.has(name))
    return c.report(diagnostic("mixed-body", e.span, { what: `'${name}', of whole tensors,` }));
  for (const a of e.arguments) checkElement(a, c);
  const help = c.tensors.has(name)
    ? `'${name}' is a tensor: index it with brackets, ${name}[i]`
    : (elsewhere(name) ??
      suggestion(name, [
        "min",
        "max",
        "pow",
        "where",
        "index",
        "log2",
        ...UNARY_NAMES,
        ...DTYPE_NAMES,
        "shard",
        "chunk",
      ]) ??
      functionsHelp(false));
  return c.report(diagnostic("unknown-function", e.callee.span, { name }, { help }));
}
