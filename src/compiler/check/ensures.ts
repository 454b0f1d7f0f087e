/** `ensures y == a @ b`: what an output must equal, over the inputs' values. */
import type { Ensures } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import { showShape } from "./extents.js";
import type { Checking } from "./scope.js";
import { checkTensor, sameShape, settle } from "./tensors.js";

/** Checks all clauses of a collective. */
export function checkAllEnsures(clauses: readonly Ensures[], c: Checking): void {
  const seen = new Map<string, Ensures>();
  for (const e of clauses) {
    const { text: name, span } = e.output;
    const first = seen.get(name);
    if (first === undefined) checkEnsures(e, c);
    else {
      const labels = [{ span: first.output.span, text: "the first" }];
      c.report(diagnostic("duplicate-ensures", span, { name }, { labels }));
    }
    seen.set(name, first ?? e);
  }
}

function checkEnsures(e: Ensures, c: Checking): void {
  const found = checkTensor(e.value, { c, isLogical: true });
  const { text: name, span } = e.output;
  const output = c.tensors.get(name);
  if (output?.role !== "output") {
    const help = output === undefined ? undefined : "`ensures` speaks of outputs";
    if (output === undefined) c.unknownName(name, span);
    else
      c.report(
        diagnostic(
          "type-mismatch",
          span,
          { wanted: "an output", found: output.role === "input" ? "an input" : "a scratch array" },
          { help },
        ),
      );
    return;
  }
  if (found === null || c.faulty.has(name)) return;
  if (found === "literal")
    return settle(e.value, { kind: "tensor", dtype: output.dtype, shape: output.shape, layout: output.layout }, c);
  if (sameShape(found.shape, output.shape)) return;
  const parameters = {
    left: `${name}: ${showShape(output.shape)}`,
    right: showShape(found.shape),
    reason: "the shapes differ",
  };
  const labels = [{ span: output.span, text: `'${name}' is declared here` }];
  c.report(diagnostic("shape-mismatch", e.value.span, parameters, { labels }));
}
