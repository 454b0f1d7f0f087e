/** Programs as they would be right, for help lines. */
import type { Expression } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";

/** The expression with `all_reduce(…)` around one of its operands. @param axis over which; null for all ranks */
export function reduceFirst(whole: Expression, operand: Expression, axis: string | null): string {
  const { span } = operand;
  const callee = { text: "all_reduce", span };
  const over =
    axis === null ? [] : [{ name: { text: "over", span }, value: { kind: "name", name: axis, span } as const }];
  const fixed: Expression = { kind: "call", callee, arguments: [operand], named: over, span };
  const swap = (e: Expression): Expression => (e === operand ? fixed : e);
  switch (whole.kind) {
    case "call":
      return printExpression({ ...whole, arguments: whole.arguments.map(swap) });
    case "unary":
      return printExpression({ ...whole, operand: swap(whole.operand) });
    case "binary":
    case "matmul":
      return printExpression({ ...whole, left: swap(whole.left), right: swap(whole.right) });
    default:
      return printExpression(fixed);
  }
}
