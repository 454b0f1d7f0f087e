/** Statements of tensor expressions: lets and whole-tensor assignments. */
import type { Expression, Name, Statement } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { type Part, partsOf } from "../ast/visit.js";
import { diagnostic, type Label } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { type Layout, partialOf, type Placement, printLayout, sameLayout } from "../types/layout.js";
import { localShapeOf, type MeshAxis } from "../types/mesh.js";
import type { CheckedTensor } from "./checked.js";
import { BOOL } from "./elements.js";
import { cutAlong, showShape } from "./extents.js";
import { conversionBetween } from "./functions.js";
import { nests, perAxis } from "./layout-rules.js";
import type { Checking } from "./scope.js";
import { checkStored, checkWritable, reportNoTarget } from "./statements.js";
import { checkTensor, sameShape, settle, type TensorType } from "./tensors.js";

type Assignment = Extract<Statement, { kind: "assign" }>;

/** Operations on the way from memory to a value: one loop computes them all, and every stage follows them down. */
const MAX_OPERATIONS_DEEP = 512;

/** How many operations a value is away from memory. */
function depthOf(e: Part, c: Checking): number {
  if (e.kind === "name") return c.tensorDepths.get(e.name) ?? 0;
  return partsOf(e).reduce((most, p) => Math.max(most, 1 + depthOf(p, c)), 0);
}

/** Whether a value is computed in too many steps; says so. */
function isTooDeep(e: Expression, c: Checking): boolean {
  if (depthOf(e, c) <= MAX_OPERATIONS_DEEP) return false;
  const help =
    "store a value on the way in a scratch array with a layout, as in 'scratch t: T[n] replicated', and go on from there";
  c.report(diagnostic("too-deep", e.span, { limit: MAX_OPERATIONS_DEEP }, { help }));
  return true;
}

/** @param later what is asked when the whole body is known: a number that is left here is none that anything could have used. */
export function checkTensorLet(
  s: Extract<Statement, { kind: "let" }>,
  c: Checking,
  later: (question: () => void) => void,
): void {
  const found = checkTensor(s.value, { c, isLogical: false });
  if (found === "literal")
    later(() => {
      if (!c.isUsed(s.name.text)) return;
      const help = "write the number where it is used";
      c.report(diagnostic("not-a-whole-tensor", s.value.span, { what: "a number" }, { help }));
    });
  if (found !== null && found !== "literal" && isTooDeep(s.value, c))
    return c.define(s.name, { kind: "let", type: null });
  c.tensorDepths.set(s.name.text, depthOf(s.value, c));
  c.define(s.name, { kind: "let", type: found === "literal" ? null : found });
  if (found !== null && found !== "literal") c.tensorLets.set(s.name.text, arrayOf(s.name, found, c));
}

/** What a rank has of a named tensor value, as the array that loops index. */
function arrayOf({ text: name, span }: Name, { dtype, shape, layout }: TensorType, c: Checking): CheckedTensor {
  const localShape = localShapeOf(shape, layout, c.mesh, c.world);
  return { name, role: "scratch", dtype, shape, localShape, layout, span };
}

/** @param places where outputs have been assigned. */
export function checkTensorAssignment(s: Assignment, places: Map<string, Span>, c: Checking): void {
  const found = checkTensor(s.value, { c, isLogical: false });
  const { text: name } = s.target;
  const declared = c.tensors.get(name);
  if (declared === undefined) return reportNoTarget(s, c);
  const target = { ...declared, ...declared.after };
  const first = places.get(name);
  if (first !== undefined) {
    const labels = [{ span: first, text: "assigned here first" }];
    return void c.report(diagnostic("assigned-twice", s.target.span, { name }, { labels }));
  }
  places.set(name, s.target.span);
  if (!checkWritable(target, s, c) || found === null || c.faulty.has(name)) return;
  if (isTooDeep(s.value, c)) return;
  if (found !== "literal" && (found.dtype === "bool") !== (target.dtype === "bool"))
    return checkStored(s.value, found.dtype === "bool" ? BOOL : found, target.dtype, c);
  const labels = [{ span: target.span, text: `'${name}' is declared here` }];
  if (found === "literal") {
    const whole: TensorType = { kind: "tensor", dtype: target.dtype, shape: target.shape, layout: target.layout };
    settle(s.value, whole, c);
    // A number on every rank would be reduced to another one.
    const replicated: TensorType = { ...whole, layout: { kind: "replicated" } };
    if (partialOf(target.layout) !== null) reportLayout(s.value, replicated, target, labels, c);
    return;
  }
  if (!sameShape(found.shape, target.shape)) {
    const left = `${name}: ${showShape(target.shape)}`;
    const parameters = { left, right: showShape(found.shape), reason: "the shapes differ" };
    c.report(diagnostic("shape-mismatch", s.value.span, parameters, { labels }));
  } else if (!isAssignable(found.layout, target.layout, c.mesh)) reportLayout(s.value, found, target, labels, c);
}

/** Equal layouts; and where every rank has all of a tensor, each has its own slice of it, and rank r has it. */
function isAssignable(from: Layout, to: Layout, mesh: readonly MeshAxis[]): boolean {
  const isPart = (whole: Layout, part: Layout): boolean =>
    sameLayout(whole, part) || (whole.kind === "replicated" && (part.kind === "sharded" || part.kind === "on"));
  const rule = (whole: Placement, part: Placement): Placement | null => (isPart(whole, part) ? part : null);
  return perAxis(mesh, [from, to], rule) !== null && nests(from, to, mesh);
}

function reportLayout(value: Expression, found: TensorType, target: CheckedTensor, labels: Label[], c: Checking): void {
  const { name, layout } = target;
  const fix = conversionBetween(found.layout, layout, printExpression(value));
  const help = fix === null ? `declare '${name}' as ${printLayout(found.layout)}` : `convert it: ${name} = ${fix}`;
  const parameters = { name, declared: printLayout(layout), found: printLayout(found.layout) };
  const places = [
    ...labels.map(({ span, text }) => ({ span, text: `${text}${cutAlong(target, ", ")}` })),
    ...(found.layout.kind === "sharded" ? [{ span: value.span, text: cutAlong(found) }] : []),
  ];
  c.report(diagnostic("layout-mismatch", value.span, parameters, { labels: places, help }));
}
