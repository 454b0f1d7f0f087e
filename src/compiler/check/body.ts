/**
 * Bodies: statements on whole tensors and explicit ones, in any order. Tensor expressions stand at the top of a body alone,
 * where all ranks come to them.
 */
import type { Expression, Statement } from "../ast/nodes.js";
import { someParts } from "../ast/visit.js";
import type { Span } from "../source.js";
import { TENSOR_FUNCTIONS } from "./functions.js";
import type { Checking } from "./scope.js";
import { checkStatement, TOP } from "./statements.js";
import { checkTensorAssignment, checkTensorLet } from "./tensor-body.js";

export function checkBody(body: readonly Statement[], c: Checking): void {
  // Where nothing but tensors is spoken of, a let is one, whatever it looks like.
  const isTensorsOnly = body.some(isWholeAssignment) && body.every((s) => !isExplicit(s));
  const places = new Map<string, Span>();
  const questions: (() => void)[] = [];
  c.inScope(() => {
    for (const s of body) {
      if (s.kind === "let" && (isTensorsOnly || isWhole(s.value, c)))
        checkTensorLet(s, c, (question) => questions.push(question));
      else if (isWholeAssignment(s)) checkTensorAssignment(s, places, c);
      else checkStatement(s, c, TOP);
    }
    for (const question of questions) question();
  });
}

function isWholeAssignment(s: Statement): s is Extract<Statement, { kind: "assign" }> {
  return s.kind === "assign" && s.indices === null && s.peer === null;
}

function isExplicit(s: Statement): boolean {
  return !(s.kind === "let" || s.kind === "scratch" || isWholeAssignment(s));
}

/** Whether an expression speaks of whole tensors. */
function isWhole(e: Expression, c: Checking): boolean {
  const isTensor = (name: string): boolean => c.tensors.has(name) || c.find(name)?.type?.kind === "tensor";
  return someParts(
    e,
    (p) =>
      p.kind === "matmul" ||
      p.kind === "slice" ||
      (p.kind === "name" && isTensor(p.name)) ||
      (p.kind === "call" && TENSOR_FUNCTIONS.has(p.callee.text)),
  );
}
