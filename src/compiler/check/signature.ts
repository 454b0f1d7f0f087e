/** Declarations: dtype variables, dimensions, parameters and scratch arrays. */
import type {
  Collective,
  DTypeReference,
  Expression,
  ScalarDeclaration,
  Statement,
  TensorDeclaration,
} from "../ast/nodes.js";
import { someParts } from "../ast/visit.js";
import { diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { DTYPE_NAMES, type DType, DTYPES, isDType, LAUNCH_DTYPES } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import { isCut, type Layout, partialOf, printLayout } from "../types/layout.js";
import { cutsOf, localShapeOf } from "../types/mesh.js";
import type { CheckedTensor } from "./checked.js";
import { showExtent, showShape } from "./extents.js";
import { resolveLayout } from "./layouts.js";
import type { Checking } from "./scope.js";
import { sameShape } from "./tensors.js";

/** Enters everything that the signature and the scratch declarations define. */
export function declareAll(syntax: Collective, given: Readonly<Record<string, DType>>, c: Checking): void {
  const parameters = [...syntax.inputs, ...syntax.outputs];
  const scratch = scratchIn(syntax.body);
  bindDTypes(syntax, [...parameters, ...syntax.scalars, ...scratch].map((d) => d.dtype), given, c); // prettier-ignore
  for (const d of parameters) defineDimensions(d, c);
  for (const d of syntax.scalars) declareScalar(d, c);
  for (const d of syntax.inputs) declareTensor(d, "input", c);
  for (const d of syntax.outputs) declareTensor(d, "output", c);
  for (const s of scratch) declareTensor(s, "scratch", c);
}

// -- dtypes ----------------------------------------------------------------------------------------

/** A variable takes what the caller gives, else the first dtype its `where` allows, else f32. */
function bindDTypes(
  syntax: Collective,
  references: readonly DTypeReference[],
  given: Readonly<Record<string, DType>>,
  c: Checking,
): void {
  for (const { name, span, wrapper } of references) {
    if (wrapper !== undefined && wrapper.text !== ACCUMULATOR) {
      const help = suggestion(wrapper.text, [ACCUMULATOR]) ?? `write ${name}, or ${ACCUMULATOR}(${name})`;
      const known = [...DTYPE_NAMES, `${ACCUMULATOR}(T)`].join(", ");
      c.report(diagnostic("unknown-dtype", wrapper.span, { name: wrapper.text, known }, { help }));
    }
    if (isDType(name) || Object.hasOwn(c.dtypes, name)) continue;
    if (!/^[A-Z]/.test(name)) {
      const help = suggestion(name, DTYPE_NAMES) ?? undefined;
      c.report(diagnostic("unknown-dtype", span, { name, known: DTYPE_NAMES.join(", ") }, { help }));
      continue;
    }
    const where = syntax.where.find((w) => w.variable.text === name);
    const allowed = where?.dtypes.map((d) => d.dtype) ?? [];
    const bound = given[name] ?? allowed[0] ?? "f32";
    c.dtypes[name] = bound;
    if (where !== undefined && allowed.length > 0 && !allowed.includes(bound)) {
      const labels = [{ span: where.span, text: "limited here" }];
      const parameters = { variable: name, dtype: bound, allowed: allowed.join(", ") };
      c.report(diagnostic("dtype-not-allowed", span, parameters, { labels }));
    }
  }
  const seen = new Set<string>();
  for (const { variable } of syntax.where) {
    const { text: name, span } = variable;
    const known = Object.keys(c.dtypes).join(", ") || "none";
    if (!Object.hasOwn(c.dtypes, name)) c.report(diagnostic("unknown-dtype-variable", span, { name, known }));
    else if (seen.has(name)) c.report(diagnostic("duplicate-name", span, { name }, { help: "limit it once" }));
    seen.add(name);
  }
}

/** In a type, the dtype that sums of another are computed in. */
const ACCUMULATOR = "accumulator";

function isBound({ name, wrapper }: DTypeReference, c: Checking): boolean {
  const isKnown = wrapper === undefined || wrapper.text === ACCUMULATOR;
  return isKnown && (isDType(name) || Object.hasOwn(c.dtypes, name));
}

function dtypeOf({ name, wrapper }: DTypeReference, c: Checking): DType {
  const dtype = isDType(name) ? name : (c.dtypes[name] ?? "f32");
  if (wrapper === undefined) return dtype;
  const { kind, compute } = DTYPES[dtype];
  // Whole numbers that wrapped are no sums any more.
  return c.roundPartialSums && kind === "float" ? dtype : compute;
}

// -- shapes ----------------------------------------------------------------------------------------

/** Names in the shapes of parameters are dimensions. */
function defineDimensions(d: TensorDeclaration, c: Checking): void {
  for (const e of d.shape)
    someParts(e, (p) => {
      if (p.kind === "name" && p.name !== "world" && p.name !== "rank")
        c.defineDimension({ text: p.name, span: p.span });
      return false;
    });
}

function shapeExtent(e: Expression, c: Checking): Extent {
  const bad = (what: string): Extent => {
    c.report(diagnostic("bad-dimension", e.span, { what }));
    return 1;
  };
  const found = c.extentOf(e);
  if (typeof found === "number" && found < 1) return bad(`the length ${found}`);
  if (found !== null) {
    requireLength(found, found, c);
    return found;
  }
  if (someParts(e, (p) => p.kind === "name" && p.name === "rank")) return bad("what differs from rank to rank");
  let unknown = false;
  someParts(e, (p) => {
    if (p.kind !== "name" || p.name === "world" || c.find(p.name) !== undefined) return false;
    if (c.tensors.has(p.name)) return false;
    unknown = true;
    c.unknownName(p.name, p.span);
    return false;
  });
  return unknown ? 1 : bad("this");
}

/** Lengths are numbers, and none is negative: launches with dimensions that make one so are refused. */
function requireLength(e: Extent, whole: Extent, c: Checking): void {
  if (typeof e !== "object") return;
  const text = showExtent(whole);
  if (e.op === "sub")
    c.require({ left: e, relation: "ge", right: 0, reason: `no length is negative, as in [${text}]` });
  const isDivision = e.op === "div" || e.op === "ceildiv" || e.op === "mod";
  if (isDivision && typeof e.b !== "number")
    c.require({ left: e.b, relation: "ge", right: 1, reason: `[${text}] divides by ${showExtent(e.b)}` });
  requireLength(e.a, whole, c);
  requireLength(e.b, whole, c);
}

// -- numbers -------------------------------------------------------------------------------------------

/** A number that is given at each launch: the same on every rank. */
function declareScalar({ name, dtype: written, span }: ScalarDeclaration, c: Checking): void {
  const isFixed = isDType(written.name);
  const held = LAUNCH_DTYPES.find((name) => name === written.name);
  if (held === undefined && (isFixed || Object.hasOwn(c.dtypes, written.name)))
    c.report(diagnostic("scalar-dtype", span, { name: name.text, dtype: written.name }));
  const kind = held ?? "f32";
  c.scalars.push({ name: name.text, dtype: kind });
  const type = held !== undefined ? ({ kind: "value", dtype: kind } as const) : null;
  c.define(name, { kind: "number of the launch", type, scalar: name.text });
}

// -- parameters and scratch ------------------------------------------------------------------------

type Scratch = Extract<Statement, { kind: "scratch" }>;

function declareTensor(d: TensorDeclaration | Scratch, role: CheckedTensor["role"], c: Checking): void {
  const before = c.diagnostics.length;
  const shape = d.shape.map((e) => shapeExtent(e, c));
  const layout: Layout = d.layout === null ? { kind: "local" } : resolveLayout(d.layout, d.name.text, shape.length, c);
  const { span } = d;
  for (const [dim, parts] of cutsOf(layout, c.mesh, c.world, shape.length).entries()) {
    const length = shape[dim]!;
    const reason = `'${d.name.text}' is ${printLayout(layout)}, so ${showExtent(length)} must divide by the ${parts} ranks`;
    if (isCut(layout, dim)) c.requireDivisible(length, parts, reason, d.shape[dim]!.span);
  }
  if (role === "output" && layout.kind === "grid" && partialOf(layout) !== null) {
    const parameters = { layout: printLayout(layout), reason: "what lies along several axes is given whole" };
    c.report(diagnostic("bad-layout-argument", d.layout!.span, { ...parameters, fix: "reduce it: all_reduce(…, over: …)" })); // prettier-ignore
  }
  const localShape = localShapeOf(shape, layout, c.mesh, c.world);
  const dtype = dtypeOf(d.dtype, c);
  const op = partialOf(layout);
  if (dtype === "bool" && op !== null && op !== "min" && op !== "max") {
    const reason = `truth values have no '${op}'`;
    c.report(diagnostic("bad-layout-argument", d.layout!.span, { layout: printLayout(layout), reason, fix: "write partial(max) for whether any holds, partial(min) for whether all do" })); // prettier-ignore
  }
  const input = role === "output" ? c.tensors.get(d.name.text) : undefined;
  if (input?.role === "input") return declareInPlace(input, { dtype, shape, localShape, layout, span }, c);
  if (c.diagnostics.length > before || !isBound(d.dtype, c)) c.faulty.add(d.name.text);
  c.defineTensor(d.name, { name: d.name.text, role, dtype, shape, localShape, layout, span });
}

/** An output of an input's name is that input, changed in place: on each rank the same memory. */
function declareInPlace(
  input: CheckedTensor,
  after: Pick<CheckedTensor, "dtype" | "shape" | "localShape" | "layout" | "span">,
  c: Checking,
): void {
  const { name } = input;
  const { shape, layout, span } = after;
  c.tensors.set(name, { ...input, role: "inout", after: { shape, layout, span } });
  const held = (t: Pick<CheckedTensor, "dtype" | "localShape">): string => `${t.dtype}${showShape(t.localShape)}`;
  if (c.faulty.has(name) || (input.dtype === after.dtype && sameShape(input.localShape, after.localShape))) return;
  const labels = [{ span: input.span, text: `${held(input)} on each rank` }];
  c.report(diagnostic("not-in-place", span, { name, before: held(input), after: held(after) }, { labels }));
}

/** All scratch declarations; also those at places where they may not be, so that their names are known. */
function scratchIn(body: readonly Statement[]): Scratch[] {
  return body.flatMap((s) => {
    if (s.kind === "scratch") return [s];
    if (s.kind === "for") return scratchIn(s.body);
    return s.kind === "if" ? scratchIn([...s.then, ...s.otherwise]) : [];
  });
}
