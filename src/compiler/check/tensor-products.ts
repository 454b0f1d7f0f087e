/** Matrix products of whole tensors, also of batches of matrices. */
import type { Expression } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { PRODUCT } from "../ast/precedence.js";
import { diagnostic } from "../diagnostics/create.js";
import { sameExtent } from "../types/extent.js";
import { type Layout, type Placement, printLayout } from "../types/layout.js";
import { showExtent, showShape } from "./extents.js";
import { leftOutHelp, nests, perAxis, productHelp, productLayout, type Written } from "./layout-rules.js";
import { alignLayout, broadcast, reportDTypes, requireNumbers } from "./tensor-elementwise.js";
import { checkTensor, type Operand, type TensorContext } from "./tensors.js";

/** `a @ b` of `[…, m, k]` and `[…, k, n]`; the dimensions before the last two are batches, and broadcast. */
export function checkProduct(e: Extract<Expression, { kind: "matmul" }>, context: TensorContext): Operand {
  const { c } = context;
  const a = checkTensor(e.left, context);
  const b = checkTensor(e.right, context);
  if (a === null || b === null) return null;
  if (a === "literal" || b === "literal") {
    const { span } = a === "literal" ? e.left : e.right;
    return c.report(diagnostic("not-a-whole-tensor", span, { what: "a number" }, { help: "scale with `*`" }));
  }
  if (!requireNumbers(a, e.left, c) || !requireNumbers(b, e.right, c)) return null;
  const labels = [
    { span: e.left.span, text: `${showShape(a.shape)} ${printLayout(a.layout)}` },
    { span: e.right.span, text: `${showShape(b.shape)} ${printLayout(b.layout)}` },
  ];
  for (const t of [a, b])
    if (t.shape.length < 2) return c.report(diagnostic("not-a-matrix", e.span, { rank: t.shape.length }, { labels }));
  const mismatch = (reason: string): null => {
    const parameters = { left: showShape(a.shape), right: showShape(b.shape), reason };
    return c.report(diagnostic("shape-mismatch", e.span, parameters, { labels }));
  };
  const [contracted, rows] = [a.shape.at(-1)!, b.shape.at(-2)!];
  if (!sameExtent(contracted, rows)) return mismatch(`${showExtent(contracted)} columns meet ${showExtent(rows)} rows`);
  const batches = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  if (batches === null) return mismatch("the batches, dimensions before the last two, differ");
  if (a.dtype !== b.dtype) return reportDTypes([e.left, a], [e.right, b], e, c);
  const shape = [...batches, a.shape.at(-2)!, b.shape.at(-1)!];
  const rule = (l: Placement, r: Placement): Layout | null =>
    productLayout({ ...a, layout: l }, { ...b, layout: r }, shape.length);
  const found = perAxis(c.mesh, [a.layout, b.layout], rule);
  const isNested = (t: typeof a): boolean =>
    nests(alignLayout(t, shape), found!, c.mesh, (dim) => dim < shape.length - 2);
  const layout = found !== null && isNested(a) && isNested(b) ? found : null;
  if (layout !== null) return { kind: "tensor", dtype: a.dtype, shape, layout };
  const written = (side: Expression, precedence: number): Written => ({
    text: printExpression(side),
    factor: printExpression(side, precedence),
    isDeclared: side.kind === "name" && c.tensors.has(side.name),
  });
  const [left, right] = [written(e.left, PRODUCT), written(e.right, PRODUCT + 1)];
  const help =
    leftOutHelp(c.mesh, { layout: a.layout, name: left.text }, { layout: b.layout, name: right.text }) ??
    productHelp(a, b, left, right, showExtent(contracted));
  const parameters = { operation: "a matrix product", left: printLayout(a.layout), right: printLayout(b.layout) };
  return c.report(diagnostic("operand-layouts", e.span, parameters, { labels, help }));
}
