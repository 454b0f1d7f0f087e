/** Checks one collective for one world size and choice of dtypes. */
import type { Collective } from "../ast/nodes.js";
import { byPlace, diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { MeshAxis } from "../manifest.js";
import type { DType } from "../types/dtype.js";
import { checkBody } from "./body.js";
import type { CheckedCollective } from "./checked.js";
import { checkAllEnsures } from "./ensures.js";
import { checkLimits, checkRequirements } from "./requirements.js";
import { Checking } from "./scope.js";
import { declareAll } from "./signature.js";

/**
 * @param given what dtype variables stand for; those left out take their default.
 * @param roundPartialSums whether memory of `accumulator(T)` is of T where that is a float; see `CompileOptions`
 */
export function checkOne(
  syntax: Collective,
  world: number,
  given: Readonly<Record<string, DType>>,
  mesh: readonly MeshAxis[] = [],
  roundPartialSums = false,
): { checked: CheckedCollective | null; diagnostics: Diagnostic[] } {
  const c = new Checking(world, mesh, roundPartialSums);
  declareAll(syntax, given, c);
  checkRequirements(syntax.requires, c);
  checkLimits(syntax.limits, c);
  checkBody(syntax.body, c);
  for (const t of c.tensors.values()) {
    const { name, span } = t;
    if ((t.role === "output" || t.role === "inout") && !c.assigned.has(name))
      c.report(diagnostic("output-not-assigned", span, { name }));
    const kind = t.role !== "scratch" ? "the input" : "the scratch array";
    if (t.role !== "output" && !c.read.has(name)) c.reportUnused(kind, name, span, c.assigned.has(name));
  }
  for (const { name } of syntax.scalars) if (!c.isUsed(name.text)) c.reportUnused("the number", name.text, name.span);
  checkAllEnsures(syntax.ensures, c);
  const diagnostics = byPlace(c.diagnostics);
  // What is wrong may well be what would have used a name: nothing is called unused beside an error.
  if (diagnostics.some((d) => d.severity === "error"))
    return { checked: null, diagnostics: diagnostics.filter((d) => d.code !== "unused") };
  const { tensors, stored, types, requirements, dims, dtypes, scalars } = c;
  return {
    checked: { syntax, world, mesh, dtypes, dims, scalars, tensors, stored, types, requirements },
    diagnostics,
  };
}
