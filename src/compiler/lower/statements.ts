/** Statements of an explicit algorithm → rank-level ops. */
import type { RangeExpression, Statement } from "../ast/nodes.js";
import type { CheckedCollective } from "../check/checked.js";
import type { Builder } from "../ir/builder.js";
import type { Value } from "../ir/module.js";
import { coerce, lowerExpression, lowerRange, ranksOver } from "./expressions.js";

export interface LoweringContext {
  readonly checked: CheckedCollective;
  readonly build: Builder;
  /** Loop variables and `let` names in scope. */
  readonly scope: ReadonlyMap<string, Value>;
}

export function lowerStatements(statements: readonly Statement[], outer: LoweringContext): void {
  let context = outer;
  for (const s of statements) context = lowerStatement(s, context);
}

/** @returns the context for the statements after this one. */
export function lowerStatement(s: Statement, context: LoweringContext): LoweringContext {
  context.build.span = s.span;
  if (s.kind === "let") return bind(context, s.name.text, lowerExpression(s.value, context));
  lowerAction(s, context);
  return context;
}

export function bind(context: LoweringContext, name: string, value: Value): LoweringContext {
  return { ...context, scope: new Map(context.scope).set(name, value) };
}

function lowerAction(s: Exclude<Statement, { kind: "let" }>, context: LoweringContext): void {
  const { build, checked } = context;
  switch (s.kind) {
    case "scratch": // declared by the kernel's buffer list
      return;
    case "barrier":
      build.span = s.span;
      build.op("barrier", [], { scope: "grid", ranks: "all" }, null);
      return;
    case "signal":
    case "wait": {
      const peer = lowerExpression(s.peer, context);
      build.span = s.span;
      build.op(s.kind === "signal" ? "notify" : "await", [peer], {}, null);
      return;
    }
    case "assign": {
      const tensor = checked.tensors.get(s.target.text)!;
      const peer = s.peer === null ? null : lowerExpression(s.peer, context);
      const indices = s.indices!.map((e) => lowerExpression(e, context));
      const value = coerce(build, lowerExpression(s.value, context), tensor.dtype);
      build.span = s.span;
      build.store(tensor.name, value, indices, peer);
      return;
    }
    case "if": {
      const condition = lowerExpression(s.condition, context);
      build.span = s.span;
      build.if(
        condition,
        () => lowerStatements(s.then, context),
        () => lowerStatements(s.otherwise, context),
      );
      return;
    }
    case "for":
      lowerLoop(s, context);
  }
}

function lowerLoop(s: Extract<Statement, { kind: "for" }>, context: LoweringContext): void {
  const { build } = context;
  const names = s.variables.map((v) => v.text);
  const inner = (values: readonly Value[]): LoweringContext =>
    names.reduce((c, name, i) => bind(c, name, values[i]!), context);
  if (s.over.kind === "ranks") {
    const { count, number } = ranksOver(s.over, context);
    build.span = s.span;
    build.for("ranks", [[build.constant(0), build.constant(count)]], ([k]) =>
      lowerStatements(s.body, inner([number(k!)])),
    );
    return;
  }
  const ranges: readonly RangeExpression[] = s.over.kind === "tiles" ? s.over.ranges : [s.over.range];
  const bounds = ranges.map((r) => lowerRange(r, context)).map((r) => [r.start, r.end] as const);
  build.span = s.span;
  build.for(s.over.kind, bounds, (values) => lowerStatements(s.body, inner(values)));
}
