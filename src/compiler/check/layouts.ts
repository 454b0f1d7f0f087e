/** Layouts as they are written → layouts that are. */
import type { LayoutReference } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { type Layout, type Placement, printLayout, REDUCTION_OPS } from "../types/layout.js";
import { layoutOf } from "../types/mesh.js";
import type { Checking } from "./scope.js";

/** What each layout takes in parentheses, with an example. */
const ARGUMENTS: Readonly<Record<Placement["kind"], { readonly argument: string; readonly example: string }>> = {
  replicated: { argument: "nothing", example: "replicated" },
  local: { argument: "nothing", example: "local" },
  sharded: { argument: "the number of a dimension", example: "sharded(0)" },
  on: { argument: "the number of a rank", example: "on(0)" },
  partial: { argument: "a reduction", example: "partial(sum)" },
};

function isLayout(name: string): name is Placement["kind"] {
  return Object.hasOwn(ARGUMENTS, name);
}

/**
 * What a reference means for a tensor of that many dimensions. A layout that is none is reported, and `local`,
 * which asks nothing of anybody, stands in for it.
 */
export function resolveLayout(written: LayoutReference, tensor: string, rank: number, c: Checking): Layout {
  const { further = [] } = written;
  const all = [written, ...further].map((one) => resolveOne(one, tensor, rank, c));
  if (all.length === 1) return all[0]!;
  const refuse = (at: number, reason: string, fix: string): Layout => {
    const { span } = [written, ...further][at]!;
    c.report(diagnostic("bad-layout-argument", span, { layout: printLayout(all[at]!), reason, fix }));
    return { kind: "local" };
  };
  const seen = new Map<string, Placement>();
  for (const [at, layout] of all.entries()) {
    if (layout.axis === undefined)
      return layout.kind === "local" ? layout : refuse(at, "each of several layouts is of one axis", "name the axis, as in sharded(0, gpu)"); // prettier-ignore
    if (seen.has(layout.axis)) return refuse(at, `'${layout.axis}' has a layout already`, "name another axis");
    const other = [...seen.values()].find((p) => p.kind === "partial");
    if (layout.kind === "partial" && other?.kind === "partial" && other.op !== layout.op)
      return refuse(at, "summands of several axes have one reduction", `write partial(${other.op}, ${layout.axis})`);
    seen.set(layout.axis, layout);
  }
  return layoutOf(
    c.mesh.map(({ name }): Placement => {
      const { axis: _, ...placement } = { axis: "", ...(seen.get(name) ?? { kind: "local" }) };
      return placement as Placement;
    }),
    c.mesh,
  );
}

function resolveOne(
  written: Omit<LayoutReference, "further">,
  tensor: string,
  rank: number,
  c: Checking,
): Placement & { readonly axis?: string } {
  const { name, span } = written;
  const nothing: Placement = { kind: "local" };
  const bad = (reason: string, fix: string): Placement => {
    const layout = written.arguments.length === 0 ? name : `${name}(${written.arguments.join(", ")})`;
    c.report(diagnostic("bad-layout-argument", span, { layout, reason, fix }));
    return nothing;
  };
  if (!isLayout(name)) {
    const help = suggestion(name, Object.keys(ARGUMENTS)) ?? undefined;
    c.report(diagnostic("unknown-layout", span, { name }, { help }));
    return nothing;
  }
  const last = written.arguments.at(-1);
  const takesOne = name !== "replicated" && name !== "local";
  const axis = written.arguments.length === (takesOne ? 2 : 1) ? last : undefined;
  const [argument = null, ...more] = axis === undefined ? written.arguments : written.arguments.slice(0, -1);
  if (more.length > 0)
    return bad(`'${name}' takes ${ARGUMENTS[name].argument}, and an axis`, `write ${ARGUMENTS[name].example}`);
  if (axis !== undefined) {
    if (name === "local" || /^\d+$/.test(axis))
      return bad(`'${name}' takes ${ARGUMENTS[name].argument}`, `write ${ARGUMENTS[name].example}`);
    if (c.axis({ text: axis, span }) === null) return nothing;
    const along = resolveOne({ name, arguments: argument === null ? [] : [argument], span }, tensor, rank, c);
    return { ...along, axis };
  }
  const number = argument !== null && /^\d+$/.test(argument) ? Number(argument) : null;
  const takes = (): Placement => bad(`'${name}' takes ${ARGUMENTS[name].argument}`, `write ${ARGUMENTS[name].example}`);
  switch (name) {
    case "replicated":
    case "local":
      return argument === null ? { kind: name } : takes();
    case "sharded": {
      if (number === null) return takes();
      if (number < rank) return { kind: name, dim: number };
      const dimensions = `${rank} dimension${rank === 1 ? "" : "s"}`;
      return bad(`'${tensor}' has ${dimensions}`, `dimensions count from 0: the last is ${rank - 1}`);
    }
    case "on":
      if (number === null) return takes();
      if (number < c.world) return { kind: name, rank: number };
      return bad(`there are ${c.world} ranks`, `ranks count from 0: the last is ${c.world - 1}`);
    case "partial": {
      if (argument === null || number !== null) return takes();
      const op = REDUCTION_OPS.find((o) => o === argument);
      if (op !== undefined) return { kind: name, op };
      const fix = suggestion(argument, REDUCTION_OPS) ?? `choose one of ${REDUCTION_OPS.join(", ")}`;
      return bad(`there is no reduction '${argument}'`, fix);
    }
  }
}
