/** Types and layouts of whole-tensor expressions. */
import type { Expression, Statement } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { isDType } from "../types/dtype.js";
import { type Extent, printExtent, sameExtent } from "../types/extent.js";
import { type Layout, printLayout, sameLayout } from "../types/layout.js";
import type { ExpressionType } from "./checked.js";
import { requireDivisible } from "./elements.js";
import { CONVERSION_NAMES, CONVERSIONS, conversionBetween, UNARY_NAMES } from "./functions.js";
import { type Checking, suggestion } from "./scope.js";
import { writable } from "./statements.js";

type TensorType = Extract<ExpressionType, { kind: "tensor" }>;
/** A literal fits any tensor. */
type Operand = TensorType | "literal" | null;

/** Checks a body of tensor expressions: lets and whole-tensor assignments. */
export function checkTensorBody(body: readonly Statement[], c: Checking, assigned: Set<string>): void {
  c.inScope(() => {
    for (const s of body) {
      if (s.kind === "let") {
        const type = check(s.value, c);
        c.define(s.name, { kind: "let", type: type === "literal" ? null : type, varies: false });
      } else if (s.kind === "assign" && s.indices === null && s.peer === null) assignment(s, c, assigned);
      else if (s.kind !== "scratch") c.report(diagnostic("mixed-body", s.span, {}));
    }
  });
}

function assignment(s: Extract<Statement, { kind: "assign" }>, c: Checking, assigned: Set<string>): void {
  const found = check(s.value, c);
  const { text: name, span } = s.target;
  const target = c.tensors.get(name);
  if (target === undefined) return void c.unknownName(name, span);
  writable(target, s, c, { assigned });
  if (found === null || found === "literal") return;
  const declared = [{ span: target.span, text: `'${name}' is declared here` }];
  if (!sameShape(found.shape, target.shape)) {
    c.report(
      diagnostic(
        "shape-mismatch",
        s.span,
        { left: `${name}: ${shapeText(target.shape)}`, right: shapeText(found.shape), reason: "the shapes differ" },
        { labels: declared },
      ),
    );
  } else if (
    !sameLayout(found.layout, target.layout) &&
    !(found.layout.kind === "replicated" && target.layout.kind === "sharded")
  ) {
    const fix = conversionBetween(found.layout, target.layout);
    const help = fix === null ? `declare '${name}' as ${printLayout(found.layout)}` : `convert it: ${name} = ${fix}`;
    c.report(
      diagnostic(
        "layout-mismatch",
        s.value.span,
        { name, declared: printLayout(target.layout), found: printLayout(found.layout) },
        { labels: declared, help },
      ),
    );
  }
}

function check(e: Expression, c: Checking): Operand {
  const type = typeOf(e, c);
  if (type !== null && type !== "literal") c.types.set(e, type);
  return type;
}

function typeOf(e: Expression, c: Checking): Operand {
  switch (e.kind) {
    case "number":
      return "literal";
    case "name": {
      c.used.add(e.name);
      const bound = c.find(e.name);
      if (bound !== undefined) return bound.type?.kind === "tensor" ? bound.type : null;
      const t = c.tensors.get(e.name);
      return t === undefined
        ? c.unknownName(e.name, e.span)
        : { kind: "tensor", dtype: t.dtype, shape: t.shape, layout: t.layout };
    }
    case "matmul":
      return product(e, c);
    case "binary":
      return elementwise(e, c);
    case "unary": {
      const t = check(e.operand, c);
      return e.operator === "-" || t === null
        ? t
        : c.report(diagnostic("type-mismatch", e.operand.span, { wanted: "a condition", found: "a whole tensor" }));
    }
    case "call":
      return call(e, c);
    case "element":
      if (e.peer !== null && e.indices.length === 0)
        return c.report(
          diagnostic("missing-matmul-spaces", e.span, {
            left: e.tensor.text,
            right: e.peer.kind === "name" ? e.peer.name : "…",
          }),
        );
      return c.report(diagnostic("mixed-body", e.span, {}));
    default:
      return c.report(diagnostic("mixed-body", e.span, {}));
  }
}

function product(e: Extract<Expression, { kind: "matmul" }>, c: Checking): Operand {
  const a = check(e.left, c);
  const b = check(e.right, c);
  if (a === null || b === null || a === "literal" || b === "literal") return null;
  for (const t of [a, b])
    if (t.shape.length !== 2) return c.report(diagnostic("not-a-matrix", e.span, { rank: t.shape.length }));
  if (!sameExtent(a.shape[1]!, b.shape[0]!))
    return c.report(
      diagnostic("shape-mismatch", e.span, {
        left: shapeText(a.shape),
        right: shapeText(b.shape),
        reason: `${printExtent(a.shape[1]!)} columns meet ${printExtent(b.shape[0]!)} rows`,
      }),
    );
  if (a.dtype !== b.dtype) return c.report(diagnostic("dtype-mismatch", e.span, { left: a.dtype, right: b.dtype }));
  const layout = productLayout(a.layout, b.layout);
  if (layout === null) {
    const help = productHelp(a.layout, b.layout, printExtent(a.shape[1]!));
    return c.report(
      diagnostic(
        "operand-layouts",
        e.span,
        { operation: "a matrix product", left: printLayout(a.layout), right: printLayout(b.layout) },
        {
          labels: [
            { span: e.left.span, text: printLayout(a.layout) },
            { span: e.right.span, text: printLayout(b.layout) },
          ],
          help,
        },
      ),
    );
  }
  return { kind: "tensor", dtype: a.dtype, shape: [a.shape[0]!, b.shape[1]!], layout };
}

/** Which layout of the product follows from the operands'; null where ranks lack what they need. */
function productLayout(a: Layout, b: Layout): Layout | null {
  const replicated = (l: Layout): boolean => l.kind === "replicated";
  if (replicated(a) && replicated(b)) return { kind: "replicated" };
  if (a.kind === "local" && (replicated(b) || b.kind === "local")) return a;
  if (a.kind === "sharded" && a.dim === 0 && replicated(b)) return a;
  if (replicated(a) && b.kind === "sharded" && b.dim === 1) return b;
  if (a.kind === "sharded" && a.dim === 1 && b.kind === "sharded" && b.dim === 0) return { kind: "partial", op: "sum" };
  if (a.kind === "partial" && a.op === "sum" && replicated(b)) return a;
  if (replicated(a) && b.kind === "partial" && b.op === "sum") return b;
  return null;
}

function productHelp(a: Layout, b: Layout, contracted: string): string {
  if (a.kind === "sharded" && a.dim === 1 && b.kind !== "sharded")
    return `'${contracted}' is cut on the left only: all_gather the left side, or shard the right side by dimension 0`;
  if (b.kind === "sharded" && b.dim === 0)
    return `'${contracted}' is cut on the right only: all_gather the right side, or shard the left side by dimension 1`;
  if (a.kind === "sharded" && b.kind === "sharded") return "all_gather one of them";
  if (a.kind === "partial" || b.kind === "partial") return "all_reduce the partial side first";
  return "convert both to layouts that meet: see LANGUAGE.md, matrix products";
}

function elementwise(e: Extract<Expression, { kind: "binary" }>, c: Checking): Operand {
  const a = check(e.left, c);
  const b = check(e.right, c);
  if (a === null || b === null) return null;
  if (a === "literal" && b === "literal") return "literal";
  if (!["+", "-", "*", "/"].includes(e.operator))
    return c.report(
      diagnostic("type-mismatch", e.span, { wanted: "an operation on tensors (+ - * / @)", found: `'${e.operator}'` }),
    );
  const linear = e.operator === "*" || (e.operator === "/" && b === "literal");
  if (a === "literal" || b === "literal") {
    const t = (a === "literal" ? b : a) as TensorType;
    if (t.layout.kind === "partial" && !(linear && t.layout.op === "sum"))
      return notLinear(`'${e.operator}' with a literal`, t.layout.op, e.span, c);
    return t;
  }
  if (!sameShape(a.shape, b.shape))
    return c.report(
      diagnostic("shape-mismatch", e.span, {
        left: shapeText(a.shape),
        right: shapeText(b.shape),
        reason: "elementwise operations need equal shapes",
      }),
    );
  if (a.dtype !== b.dtype) return c.report(diagnostic("dtype-mismatch", e.span, { left: a.dtype, right: b.dtype }));
  const layout = elementwiseLayout(e.operator, a.layout, b.layout);
  if (layout !== null) return { ...a, layout };
  const partial = a.layout.kind === "partial" ? a.layout : b.layout.kind === "partial" ? b.layout : null;
  const help =
    partial === null
      ? "convert one of them to the other's layout"
      : "all_reduce the partial side first: every rank would add the other once";
  return c.report(
    diagnostic(
      "operand-layouts",
      e.span,
      { operation: `'${e.operator}'`, left: printLayout(a.layout), right: printLayout(b.layout) },
      {
        labels: [
          { span: e.left.span, text: printLayout(a.layout) },
          { span: e.right.span, text: printLayout(b.layout) },
        ],
        help,
      },
    ),
  );
}

function elementwiseLayout(operator: string, a: Layout, b: Layout): Layout | null {
  if (a.kind === "partial" || b.kind === "partial") {
    const isSum = (l: Layout): boolean => l.kind === "partial" && l.op === "sum";
    if ((operator === "+" || operator === "-") && isSum(a) && isSum(b)) return a;
    if (operator === "*" && isSum(a) && b.kind === "replicated") return a;
    if (operator === "*" && isSum(b) && a.kind === "replicated") return b;
    return operator === "/" && isSum(a) && b.kind === "replicated" ? a : null;
  }
  if (sameLayout(a, b)) return a;
  if (a.kind === "replicated" && b.kind !== "on") return b;
  if (b.kind === "replicated" && a.kind !== "on") return a;
  return null;
}

function notLinear(operation: string, op: string, span: Span, c: Checking): null {
  return c.report(diagnostic("not-linear", span, { operation, op }));
}

function call(e: Extract<Expression, { kind: "call" }>, c: Checking): Operand {
  const callee = e.callee.text;
  const conversion = CONVERSIONS[callee];
  const wanted = callee === "min" || callee === "max" ? 2 : 1;
  const operands = e.arguments.map((a) => check(a, c));
  if (conversion === undefined)
    for (const n of e.named)
      c.report(diagnostic("unknown-argument", n.name.span, { callee, name: n.name.text, known: "none" }));
  if (operands.length !== wanted)
    return c.report(
      diagnostic("wrong-arity", e.span, {
        name: callee,
        wanted: `${wanted} tensor${wanted === 1 ? "" : "s"}`,
        found: operands.length,
      }),
    );
  const [t, second] = operands;
  if (t == null || t === "literal" || second === null) return null;
  if (conversion !== undefined) return convert(e, t, c);
  const dtype = c.dtypes[callee] ?? callee;
  if (isDType(dtype)) return { ...t, dtype };
  if (wanted === 2 || (UNARY_NAMES as readonly string[]).includes(callee)) {
    if (t.layout.kind === "partial") return notLinear(callee, t.layout.op, e.span, c);
    return t;
  }
  return c.report(
    diagnostic(
      "unknown-function",
      e.callee.span,
      { name: callee },
      { help: suggestion(callee, [...CONVERSION_NAMES, ...UNARY_NAMES, "min", "max"]) },
    ),
  );
}

function convert(e: Extract<Expression, { kind: "call" }>, t: TensorType, c: Checking): Operand {
  const callee = e.callee.text;
  const { from, to, argument } = CONVERSIONS[callee]!;
  // all_gather may name the dimension it gathers; it is the sharded one anyway.
  const allowed =
    callee === "all_gather" || callee === "gather"
      ? ["dim", ...(argument === "to" ? ["to"] : [])]
      : argument === null
        ? []
        : [argument];
  for (const n of e.named)
    if (!allowed.includes(n.name.text))
      return c.report(
        diagnostic("unknown-argument", n.name.span, { callee, name: n.name.text, known: allowed.join(", ") || "none" }),
      );
  if (t.layout.kind !== from)
    return c.report(
      diagnostic(
        "bad-conversion",
        e.span,
        { callee, wanted: `a ${from} tensor`, found: printLayout(t.layout) },
        { labels: [{ span: e.arguments[0]!.span, text: printLayout(t.layout) }], help: null },
      ),
    );
  const number = (name: string): number | null => {
    const given = e.named.find((n) => n.name.text === name)?.value;
    return given?.kind === "number" && given.isInteger ? given.value : null;
  };
  const dim = number("dim");
  if (dim !== null && dim >= t.shape.length)
    return c.report(
      diagnostic("bad-layout-argument", e.span, {
        layout: `dim: ${dim}`,
        reason: `the tensor has ${t.shape.length} dimensions`,
        fix: `choose 0 to ${t.shape.length - 1}`,
      }),
    );
  if (dim !== null && to === "replicated" && t.layout.kind === "sharded" && t.layout.dim !== dim)
    return c.report(
      diagnostic("bad-conversion", e.span, {
        callee,
        wanted: `a sharded(${dim}) tensor`,
        found: printLayout(t.layout),
      }),
    );
  if (argument !== null && number(argument) === null)
    return c.report(
      diagnostic("wrong-arity", e.span, { name: callee, wanted: `an argument '${argument}: number'`, found: "none" }),
    );
  if (to === "sharded") {
    requireDivisible(t.shape[dim!]!, `${callee}(…, dim: ${dim}) shards it over ${c.world} ranks`, e.span, c);
    return { ...t, layout: { kind: "sharded", dim: dim! } };
  }
  if (to === "on") {
    const rank = number("to")!;
    if (rank >= c.world) return c.report(diagnostic("no-such-rank", e.span, { rank, world: c.world }));
    return { ...t, layout: { kind: "on", rank } };
  }
  return { ...t, layout: { kind: "replicated" } };
}

function sameShape(a: readonly Extent[], b: readonly Extent[]): boolean {
  return a.length === b.length && a.every((e, d) => sameExtent(e, b[d]!));
}

function shapeText(shape: readonly Extent[]): string {
  return `[${shape.map(printExtent).join(", ")}]`;
}

export { check as checkTensor };
