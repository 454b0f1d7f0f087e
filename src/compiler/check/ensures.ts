/** `ensures y == a @ b`: what an output must equal, over the inputs' values. */
import type { Ensures, Expression, Name } from "../ast/nodes.js";
import { someParts } from "../ast/visit.js";
import { diagnostic } from "../diagnostics/create.js";
import type { CheckedTensor } from "./checked.js";
import { BOOL, checkElement, INDEX } from "./elements.js";
import { showShape } from "./extents.js";
import type { Checking } from "./scope.js";
import { checkStored } from "./statements.js";
import { checkTensor, sameShape, settle } from "./tensors.js";

/** Checks all clauses of a collective. */
export function checkAllEnsures(clauses: readonly Ensures[], c: Checking): void {
  const seen = new Map<string, Ensures>();
  for (const e of clauses) {
    const { text: name, span } = e.output;
    const first = seen.get(name);
    if (first === undefined && e.variables !== null) checkElements(e, e.variables, c);
    else if (first === undefined) checkEnsures(e, c);
    else {
      const labels = [{ span: first.output.span, text: "the first" }];
      c.report(diagnostic("duplicate-ensures", span, { name }, { labels }));
    }
    seen.set(name, first ?? e);
  }
}

/** The output that a clause speaks of; null after a reported error. */
function outputOf(e: Ensures, c: Checking): CheckedTensor | null {
  const { text: name, span } = e.output;
  const output = c.tensors.get(name);
  if (output?.role === "output" || output?.role === "inout") return { ...output, ...output.after };
  if (output === undefined) return c.unknownName(name, span);
  const found = output.role === "input" ? "an input" : "a scratch array";
  const help = "`ensures` speaks of outputs";
  return c.report(diagnostic("type-mismatch", span, { wanted: "an output", found }, { help }));
}

/** `ensures y[i] == …`: each rank's element, of what the ranks' inputs hold. */
function checkElements(e: Ensures, variables: readonly Name[], c: Checking): void {
  const output = outputOf(e, c);
  const read = new Set(c.read);
  c.inScope(() => {
    for (const v of variables) {
      if (c.isKnown(v.text)) c.report(diagnostic("ensures-index", v.span, { name: v.text }));
      else c.define(v, { kind: "loop variable", type: INDEX, varies: true });
    }
    const type = checkElement(e.value, c);
    if (output !== null) checkStored(e.value, type, output.dtype, c);
  });
  if (output === null) return;
  const { text: name, span } = e.output;
  const count = output.localShape.length;
  if (variables.length !== count) {
    const wanted = `${count} dimension${count === 1 ? "" : "s"}`;
    const found = variables.length === 1 ? "1 index" : `${variables.length} indices`;
    c.report(diagnostic("wrong-index-count", span, { name, wanted, found }));
  }
  refuseComputed(e.value, c);
  // A claim does not use an input up: whether the body reads it is for the body to say.
  for (const used of [...c.read]) if (!read.has(used)) c.read.delete(used);
}

/** Claims are about inputs: outputs and scratch are what they check. Says whether there was something to refuse. */
function refuseComputed(e: Expression, c: Checking): boolean {
  let refused = false;
  someParts(e, (p) => {
    const name = p.kind === "element" ? p.tensor : p.kind === "name" ? { text: p.name, span: p.span } : null;
    const tensor = name === null ? undefined : c.tensors.get(name.text);
    if (name === null || tensor === undefined || tensor.role === "input" || tensor.role === "inout") return false;
    const found = tensor.role === "output" ? "an output" : "a scratch array";
    const help = "say what it holds in terms of the inputs";
    c.report(diagnostic("type-mismatch", name.span, { wanted: "an input", found }, { help }));
    refused = true;
    return false;
  });
  return refused;
}

function checkEnsures(e: Ensures, c: Checking): void {
  if (refuseComputed(e.value, c)) return;
  const found = checkTensor(e.value, { c, isLogical: true });
  const { text: name } = e.output;
  const output = outputOf(e, c);
  if (output === null) return;
  if (found === null || c.faulty.has(name)) return;
  if (found !== "literal" && (found.dtype === "bool") !== (output.dtype === "bool"))
    return checkStored(e.value, found.dtype === "bool" ? BOOL : found, output.dtype, c);
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
