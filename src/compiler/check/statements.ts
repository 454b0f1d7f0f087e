/** Statements of explicit algorithms. */
import type { Statement } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import type { CheckedTensor } from "./checked.js";
import { checkDomain, checkElement, checkIndexCount, checkRankNumber, requireIndex, varies } from "./elements.js";
import type { Checking } from "./scope.js";

/** Where a statement stands. */
interface Place {
  readonly inTiles: boolean;
  /** Some enclosing condition or loop differs from rank to rank. */
  readonly varies: boolean;
  readonly assigned: Set<string>;
}

export function checkStatements(body: readonly Statement[], c: Checking, assigned: Set<string>): void {
  statements(body, c, { inTiles: false, varies: false, assigned });
}

function statements(body: readonly Statement[], c: Checking, at: Place): void {
  c.inScope(() => {
    for (const s of body) statement(s, c, at);
  });
}

function statement(s: Statement, c: Checking, at: Place): void {
  switch (s.kind) {
    case "let": {
      const type = checkElement(s.value, c);
      c.define(s.name, { kind: "let", type, varies: varies(s.value, c) });
      return;
    }
    case "scratch": // entered before the body is looked at
      return;
    case "barrier":
      if (at.inTiles) c.report(diagnostic("barrier-in-tiles", s.span, {}));
      else if (at.varies) c.report(diagnostic("barrier-may-hang", s.span, {}));
      return;
    case "if": {
      const type = checkElement(s.condition, c);
      if (type !== null && type.kind !== "bool")
        c.report(
          diagnostic("type-mismatch", s.condition.span, {
            wanted: "a condition",
            found: type.kind === "index" ? "an index" : "an element",
          }),
        );
      const inside = { ...at, varies: at.varies || varies(s.condition, c) };
      statements(s.then, c, inside);
      statements(s.otherwise, c, inside);
      return;
    }
    case "for":
      return loop(s, c, at);
    case "assign":
      return assignment(s, c, at);
  }
}

function loop(s: Extract<Statement, { kind: "for" }>, c: Checking, at: Place): void {
  checkDomain(s.over, c);
  const isTiles = s.over.kind === "tiles";
  if (isTiles && at.inTiles) c.report(diagnostic("nested-tiles", s.over.span, {}));
  const wanted = s.over.kind === "tiles" ? s.over.ranges.length : 1;
  if (wanted !== s.variables.length)
    c.report(diagnostic("wrong-variable-count", s.span, { wanted, found: s.variables.length }));
  const boundsVary = varies(s.over, c);
  c.inScope(() => {
    for (const v of s.variables)
      c.define(v, {
        kind: "loop variable",
        type: { kind: "index" },
        varies: boundsVary || isTiles || s.over.kind === "ranks",
      });
    statements(s.body, c, { ...at, inTiles: at.inTiles || isTiles, varies: at.varies || boundsVary });
  });
}

function assignment(s: Extract<Statement, { kind: "assign" }>, c: Checking, at: Place): void {
  const { text: name, span } = s.target;
  const type = checkElement(s.value, c);
  if (s.peer !== null) checkRankNumber(s.peer, c);
  for (const i of s.indices ?? []) requireIndex(i, c);
  const tensor = c.tensors.get(name);
  if (tensor === undefined) {
    const binding = c.find(name);
    if (binding !== undefined)
      c.report(
        diagnostic(
          "assign-to-value",
          span,
          { name, kind: `a ${binding.kind}` },
          { labels: [{ span: binding.span, text: "defined here" }] },
        ),
      );
    else c.unknownName(name, span);
    return;
  }
  writable(tensor, s, c, at);
  if (s.indices === null) {
    c.report(
      diagnostic(
        "missing-matmul-spaces",
        s.span,
        { left: name, right: "…" },
        { help: `give the element an index: ${name}[…]` },
      ),
    );
    return;
  }
  checkIndexCount(name, tensor.shape.length, s.indices.length, s.span, tensor.span, c);
  if (!at.inTiles) c.report(diagnostic("tiles-without-memory", s.span, {}));
  if (type !== null && type.kind === "bool")
    c.report(diagnostic("type-mismatch", s.value.span, { wanted: "a value", found: "a condition" }));
}

/** Reports an assignment to an input; notes what is assigned. */
export function writable(
  tensor: CheckedTensor,
  s: Extract<Statement, { kind: "assign" }>,
  c: Checking,
  at: Pick<Place, "assigned">,
): void {
  at.assigned.add(tensor.name);
  if (tensor.role === "input")
    c.report(
      diagnostic(
        "assign-to-input",
        s.target.span,
        { name: tensor.name },
        { labels: [{ span: tensor.span, text: "declared as an input" }] },
      ),
    );
}
