/** Whether operands of two products are the same matrix, whichever loops the products stand in. */
import type { Op, Value } from "../../ir/module.js";
import type { Definitions } from "./analysis.js";
import type { Contraction, OperandView } from "./contraction.js";

/** An operand's view, the loop's variables by their place, the product's by what it counts: equal texts mean equal matrices. */
export function viewText(view: OperandView, loop: Op, { contract }: Contraction, definitions: Definitions): string {
  const variables = loop.regions[0]!.arguments.map((v, d) => [v, `variable ${d}`] as const);
  const depth = [contract.regions[0]!.arguments[0]!, "depth"] as const;
  const names = new Map<Value | null, string>([...variables, depth, [null, "none"]]);
  const indices = view.indices.map(({ along, per, terms }) => {
    const added = terms.map(({ fn, value }) => `${fn} ${typeof value === "number" ? value : definitions.key(value)}`);
    return `${names.get(along)!}/${per} ${added.join(" ")}`;
  });
  const peer = view.peer === null ? "" : definitions.key(view.peer);
  return [view.buffer, peer, view.rows, view.isDeep, view.isCut, ...indices].join("; ");
}
