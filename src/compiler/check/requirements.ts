/** `where` conditions on the number of ranks and on dimensions. */
import type { BinaryOperator, Expression, Requirement as Clause, ValueLimit } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { diagnostic } from "../diagnostics/create.js";
import { relationHolds, type Relation } from "../types/requirement.js";
import { checkElement, requireIndex } from "./elements.js";
import type { Checking } from "./scope.js";

const RELATIONS: Partial<Record<BinaryOperator, Relation>> = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};

export function checkRequirements(clauses: readonly Clause[], c: Checking): void {
  for (const { choices, condition, span } of clauses) {
    if (choices !== null && !choices.includes(c.world))
      c.report(diagnostic("world-not-allowed", span, { world: c.world }, { help: `it may be ${choices.join(", ")}` }));
    if (condition !== null && checkElement(condition, c) !== null) checkCondition(condition, c);
  }
}

/** `where counts in 0..n + 1`: what callers promise about the elements of an input. */
export function checkLimits(limits: readonly ValueLimit[], c: Checking): void {
  for (const { input, from, to, span } of limits) {
    const tensor = c.tensors.get(input.text);
    if (tensor === undefined) {
      reportNoTensor(input, [from, to], c);
      continue;
    }
    if (tensor.role !== "input" && tensor.role !== "inout") {
      const found = tensor.role === "output" ? "an output" : "a scratch array";
      c.report(diagnostic("type-mismatch", input.span, { wanted: "an input", found }));
      continue;
    }
    const bounds = [from, to].map((e) => (requireIndex(e, c) ? c.extentOf(e) : null));
    const [low, high] = bounds;
    if (low === null || low === undefined || high === null || high === undefined)
      c.report(diagnostic("bad-requirement", span, { what: "this range" }));
    else if (typeof low === "number" && typeof high === "number" && low >= high)
      c.report(diagnostic("empty-range", span, { from: low, to: high, above: low + 1 }));
    else c.tensors.set(input.text, { ...tensor, values: { from: low, to: high } });
  }
}

/** A range of what is no tensor: of a dimension it is written as comparisons, and numbers of a launch have none. */
function reportNoTensor(
  { text, span }: ValueLimit["input"],
  [from, to]: readonly [Expression, Expression],
  c: Checking,
): void {
  if (!c.isKnown(text)) return void c.unknownName(text, span);
  if (c.scalars.some(({ name }) => name === text)) {
    const help = "what depends on its size has to hold for every number: clamp it where it is used, as in max(v, 1)";
    return void c.report(diagnostic("type-mismatch", span, { wanted: "an input", found: "a number of the launch" }, { help })); // prettier-ignore
  }
  const found = text === "rank" ? "the number of a rank" : text === "world" ? "the number of ranks" : "a dimension";
  const help =
    text === "rank" ? undefined : `write ${text} >= ${printExpression(from)} and ${text} < ${printExpression(to)}`;
  c.report(diagnostic("type-mismatch", span, { wanted: "an input", found }, { help }));
}

/** Decides what is known by now, and notes the rest for launches. */
function checkCondition(e: Expression, c: Checking): void {
  if (e.kind === "binary" && e.operator === "and") {
    checkCondition(e.left, c);
    checkCondition(e.right, c);
    return;
  }
  const relation = e.kind === "binary" ? RELATIONS[e.operator] : undefined;
  const left = e.kind === "binary" ? c.extentOf(e.left) : null;
  const right = e.kind === "binary" ? c.extentOf(e.right) : null;
  if (e.kind !== "binary" || relation === undefined || left === null || right === null) {
    c.report(diagnostic("bad-requirement", e.span, { what: "this" }));
  } else if (typeof left === "number" && typeof right === "number") {
    if (relationHolds(relation, left, right)) return;
    const limitsWorld = printExpression(e).includes("world");
    c.report(
      limitsWorld
        ? diagnostic("world-not-allowed", e.span, { world: c.world })
        : diagnostic("requirement-not-met", e.span, { left: printExpression(e.left), value: left }),
    );
  } else c.require({ left, relation, right, reason: `where ${printExpression(e)}` });
}
