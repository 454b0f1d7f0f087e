/** Checks one collective for one world size and choice of dtypes. */
import type { Collective, Statement, TensorDeclaration } from "../ast/nodes.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { DType } from "../types/dtype.js";
import { extent, type Extent } from "../types/extent.js";
import { type Layout, printLayout, REDUCTION_OPS } from "../types/layout.js";
import type { CheckedCollective, CheckedTensor } from "./checked.js";
import { checkStatements } from "./statements.js";
import { checkTensor, checkTensorBody } from "./tensors.js";
import { extentOf } from "./extents.js";
import { requireDivisible } from "./elements.js";
import { Checking } from "./scope.js";

export function checkOne(
  syntax: Collective,
  world: number,
  dtypes: Readonly<Record<string, DType>>,
): { checked: CheckedCollective | null; diagnostics: Diagnostic[] } {
  const c = new Checking(world, dtypes);
  for (const d of syntax.inputs) declare(d, "input", syntax, c);
  for (const d of syntax.outputs) declare(d, "output", syntax, c);
  declareScratch(syntax.body, syntax, c);
  const assigned = new Set<string>();
  if (isTensorBody(syntax.body, c)) checkTensorBody(syntax.body, c, assigned);
  else checkStatements(syntax.body, c, assigned);
  for (const e of syntax.ensures) {
    checkTensor(e.value, c);
    if (c.tensors.get(e.output.text)?.role !== "output") c.unknownName(e.output.text, e.output.span);
  }
  for (const t of c.tensors.values()) {
    if (t.role === "output" && !assigned.has(t.name))
      c.report(diagnostic("output-not-assigned", t.span, { name: t.name }));
    if (t.role !== "output" && !c.used.has(t.name)) c.report(diagnostic("unused", t.span, { name: t.name }));
  }
  const diagnostics = unique(c.diagnostics).sort((a, b) => a.span.start - b.span.start);
  if (diagnostics.some((d) => d.severity === "error")) return { checked: null, diagnostics };
  const { tensors, types, divisibility, dims } = c;
  return { checked: { syntax, world, dtypes: c.dtypes, dims, tensors, types, divisibility }, diagnostics };
}

/** A body is of tensor expressions when it assigns a whole tensor, or names one in a let. */
function isTensorBody(body: readonly Statement[], c: Checking): boolean {
  return body.some(
    (s) => (s.kind === "assign" && s.indices === null && s.peer === null && c.tensors.has(s.target.text)) || false,
  );
}

function declare(d: TensorDeclaration, role: "input" | "output", syntax: Collective, c: Checking): void {
  c.define(d.name, null);
  const allowed = syntax.where.find((w) => w.variable.text === d.dtype.name)?.dtypes.map((x) => x.dtype);
  const dtype = c.dtype(d.dtype.name, d.dtype.span, allowed) ?? "f32";
  const shape = d.shape.map((e) => shapeExtent(e, c));
  checkLayout(d, shape, c);
  const localShape = shape.map((e, dim) =>
    d.layout.kind === "sharded" && d.layout.dim === dim ? extent("div", e, c.world) : e,
  );
  c.tensors.set(d.name.text, { name: d.name.text, role, dtype, shape, localShape, layout: d.layout, span: d.span });
}

function shapeExtent(e: TensorDeclaration["shape"][number], c: Checking): Extent {
  return (
    extentOf(e, c.world, c.dims) ??
    (c.report(
      diagnostic("type-mismatch", e.span, {
        wanted: "a length made of dimensions and whole numbers",
        found: "something else",
      }),
    ),
    1)
  );
}

function checkLayout(d: TensorDeclaration, shape: readonly Extent[], c: Checking): void {
  const { layout } = d;
  const bad = (reason: string, fix: string): void =>
    void c.report(diagnostic("bad-layout-argument", d.layoutSpan, { layout: printLayout(layout), reason, fix }));
  if (layout.kind === "sharded") {
    if (layout.dim >= shape.length)
      bad(
        `'${d.name.text}' has ${shape.length} dimension${shape.length === 1 ? "" : "s"}`,
        `dimensions count from 0: choose 0 to ${shape.length - 1}`,
      );
    else
      requireDivisible(
        shape[layout.dim]!,
        `'${d.name.text}' is ${printLayout(layout)} over ${c.world} ranks`,
        d.span,
        c,
      );
  }
  if (layout.kind === "on" && layout.rank >= c.world)
    bad(`there are ${c.world} ranks`, `ranks count from 0: choose 0 to ${c.world - 1}`);
  if (layout.kind === "partial" && !REDUCTION_OPS.includes(layout.op))
    bad(`there is no reduction '${layout.op}'`, `choose one of ${REDUCTION_OPS.join(", ")}`);
}

function declareScratch(body: readonly Statement[], syntax: Collective, c: Checking): void {
  for (const s of body) {
    if (s.kind === "for") declareScratch(s.body, syntax, c);
    if (s.kind === "if") declareScratch([...s.then, ...s.otherwise], syntax, c);
    if (s.kind !== "scratch") continue;
    c.define(s.name, null);
    const allowed = syntax.where.find((w) => w.variable.text === s.dtype.name)?.dtypes.map((x) => x.dtype);
    const dtype = c.dtype(s.dtype.name, s.dtype.span, allowed) ?? "f32";
    const shape = s.shape.map((e) => shapeExtent(e, c));
    const local: Layout = { kind: "local" };
    const tensor: CheckedTensor = {
      name: s.name.text,
      role: "scratch",
      dtype,
      shape,
      localShape: shape,
      layout: local,
      span: s.span,
    };
    c.tensors.set(s.name.text, tensor);
  }
}

/** One problem is said once: recovery and repeated look-ups may find it again. */
function unique(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Map(diagnostics.map((d) => [`${d.code} ${d.span.start} ${d.span.end} ${d.message}`, d]));
  return [...seen.values()];
}
