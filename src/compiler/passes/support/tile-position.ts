/**
 * Which block an element of a tile loop falls to, as far as two accesses to it can be compared.
 *
 * The grid mapping gives offset o = i - lo of a one-dimensional tile loop to block (o / row) mod grid, with one `row` for
 * the whole kernel. An access whose one running index is o + base touches element e from offset e - base; so two accesses of equal base, on
 * whatever ranks and in whatever loops, touch each element from blocks of one number. Loops over rows do the same with
 * rows, as many to a block's iteration in all of them: there all of row r + base falls to the block of row r.
 */
import type { Op, Value } from "../../ir/module.js";
import type { Form } from "./forms.js";
import type { RankValues } from "./rank-values.js";

/** The base of an access with these indices inside `loop`, as text; null when the mapping is not known. */
export function positionIn(loop: Op, indices: readonly Value[], values: RankValues): string | null {
  if (loop.operands.length !== 2 || loop.attributes["spread"] === true || loop.attributes["across"] === true)
    return null;
  const variable = values.form(loop.regions[0]!.arguments[0]!);
  const start = values.form(loop.operands[0]!);
  if (variable === null || start === null) return null;
  const forms = indices.map((v) => values.form(v));
  if (loop.attributes["map"] === "rows") return rowIn(variable, start, forms);
  // One index runs with the loop; with some other loop's variable in the base, it is another one each iteration.
  const running = forms.findIndex((f) => f === null || [...f.terms.keys()].some((s) => s.includes("@")));
  const base = forms[running]?.minus(variable).plus(start);
  const isFixed = (f: Form | null | undefined): boolean =>
    f != null && ![...f.terms.keys()].some((s) => s.includes("@"));
  const others = forms.filter((_, d) => d !== running);
  return isFixed(base) && others.every(isFixed) ? `${running}: ${base!.key}` : null;
}

function rowIn(variable: Form, start: Form, forms: readonly (Form | null)[]): string | null {
  for (const [d, form] of forms.entries()) {
    const base = form?.minus(variable);
    if (base == null || [...base.terms.keys()].some((s) => s.includes("@"))) continue;
    return `row ${d}: ${base.plus(start).key}`;
  }
  return null;
}
