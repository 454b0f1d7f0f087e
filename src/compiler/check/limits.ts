/**
 * How much a collective may be. What is larger would take hours or all memory in some later stage, so it gets an answer
 * before any of them begins. People stay far below these numbers.
 */
import type { Collective, Domain, Expression, Statement } from "../ast/nodes.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";

/** Words and signs of a file. Far above what people write, and parsed in seconds. */
export const MAX_TOKENS = 500_000;
/** Statements of a body, functions put in place. */
export const MAX_STATEMENTS = 5000;
/** Dimensions of a tensor; loops over the elements are over as many variables. */
export const MAX_DIMENSIONS = 8;
/** Elements of a tensor whose lengths are numbers: what indices of 64 bits address in bytes, with room to spare. */
export const MAX_ELEMENTS = 2 ** 48;
/** Iterations of loops and reductions one inside the other whose lengths are numbers; others have dimensions for lengths. */
export const MAX_ITERATIONS = 2 ** 16;

type Report = (d: Diagnostic) => void;

/** Reports shapes and loops that are too much, each kind once. @returns whether none was. */
export function checkSize(syntax: Collective, report: Report): boolean {
  let isFine = true;
  const seen = new Set<string>();
  const refuse = (d: Diagnostic): void => {
    isFine = false;
    if (!seen.has(d.code)) report(d);
    seen.add(d.code);
  };
  for (const { shape, span } of [...syntax.inputs, ...syntax.outputs]) checkShape(shape, span, refuse);
  walk(syntax.body, 1, (node, iterations) => {
    if (node.kind === "scratch") checkShape(node.shape, node.span, refuse);
    if (node.kind !== "for" && node.kind !== "reduce") return iterations;
    const all = iterations * lengthOf(node.over);
    if (all > MAX_ITERATIONS)
      refuse(diagnostic("loop-too-long", node.over.span, { count: all, limit: MAX_ITERATIONS }));
    return all > MAX_ITERATIONS ? 1 : all;
  });
  return isFine;
}

/** The statement that is one too many to be compiled, or null. */
export function statementBeyondLimit(syntax: Collective): Diagnostic | null {
  let beyond: Diagnostic | null = null;
  let statements = 0;
  walk(syntax.body, 1, (node) => {
    if (isStatement(node) && ++statements > MAX_STATEMENTS)
      beyond ??= diagnostic("too-many-statements", node.span, { limit: MAX_STATEMENTS });
    return 1;
  });
  return beyond;
}

type Node = Statement | Expression;

/** Visits the nodes below in the order of the text, without recursion. `visit` says what those inside a node get. */
function walk(root: object, start: number, visit: (node: Node, inherited: number) => number): void {
  const work: { readonly value: object; readonly inherited: number }[] = [{ value: root, inherited: start }];
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    const inner = "kind" in item.value ? visit(item.value as Node, item.inherited) : item.inherited;
    for (const [key, value] of Object.entries(item.value).reverse()) {
      if (typeof value === "object" && value !== null && key !== "span")
        work.push({ value: value as object, inherited: inner });
    }
  }
}

const STATEMENTS: ReadonlySet<unknown> = new Set<Statement["kind"]>(["let", "scratch", "assign", "for", "if", "barrier", "signal", "wait"]); // prettier-ignore

function isStatement(node: object): node is Statement {
  return STATEMENTS.has((node as Partial<Statement>).kind);
}

function checkShape(shape: readonly Expression[], span: Span, refuse: Report): void {
  if (shape.length > MAX_DIMENSIONS) {
    refuse(diagnostic("too-many-dimensions", span, { count: shape.length, limit: MAX_DIMENSIONS }));
  }
  const elements = shape.reduce((n, length) => n * (numberOf(length) ?? 1), 1);
  if (elements > MAX_ELEMENTS) {
    refuse(diagnostic("tensor-too-large", span, { count: elements, limit: MAX_ELEMENTS }));
  }
}

/** Iterations where they are a number; else 1, for a dimension is as long as its user says. */
function lengthOf(over: Domain): number {
  if (over.kind !== "serial" || over.range.kind !== "bounds") return 1;
  const { from, to } = over.range;
  const [first, end] = [from === null ? 0 : numberOf(from), numberOf(to)];
  return first === null || end === null ? 1 : Math.max(1, end - first);
}

/** The value of an expression of numbers; null for others. */
function numberOf(e: Expression): number | null {
  if (e.kind === "number") return e.value;
  if (e.kind !== "binary") return null;
  const [left, right] = [numberOf(e.left), numberOf(e.right)];
  if (left === null || right === null) return null;
  switch (e.operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return right === 0 ? null : Math.floor(left / right);
    default:
      return null;
  }
}
