/**
 * Specifications in the IR's text form. What is used more than once has a name, and stands before its uses:
 *
 *   part #0 = binary(mul, input(x), constant(0.5))
 *   specify binary(add, #0, #0)
 */
import type { OutputSpecification, SpecificationNode } from "../manifest.js";
import { operandsOf, tableOf } from "../specification-table.js";
import { type Extent, printExtent } from "../types/extent.js";

/** The rows `part` and `specify` of a kernel; `parse-specification.ts` reads them. */
export function printSpecifications(specification: readonly (OutputSpecification | null)[]): string[] {
  const { nodes, outputs } = tableOf(specification);
  const uses = nodes.map(() => 0);
  for (const node of nodes) for (const operand of operandsOf(node)) uses[operand]!++;
  for (const output of outputs) if (output !== null) uses[output]!++;
  const parts: string[] = [];
  const texts: string[] = [];
  for (const [place, node] of nodes.entries()) {
    const text = printNode(node, (operand) => texts[operand]!);
    const isShared = uses[place]! > 1 && operandsOf(node).length > 0;
    texts.push(isShared ? `#${parts.push(text) - 1}` : text);
  }
  return [
    ...parts.map((text, i) => `part #${i} = ${text}`),
    ...outputs.map((output) => `specify ${output === null ? "nothing" : texts[output]!}`),
  ];
}

function printNode(s: SpecificationNode, use: (operand: number) => string): string {
  const list = (items: readonly (string | number)[]): string => `[${items.join(", ")}]`;
  const shape = (extents: readonly Extent[]): string => list(extents.map(printExtent));
  const call = (...items: (string | number)[]): string => `${s.kind}(${items.join(", ")})`;
  switch (s.kind) {
    case "elements":
      return call(list(s.variables), use(s.value));
    case "input":
    case "scalar":
    case "variable":
    case "dim":
      return call(s.name);
    case "constant":
      return call(s.value);
    case "rank":
      return call();
    case "matmul":
      return call(use(s.a), use(s.b));
    case "unary":
      return call(s.fn, use(s.a));
    case "binary":
    case "compare":
      return call(s.fn, use(s.a), use(s.b));
    case "select":
      return call(use(s.condition), use(s.a), use(s.b));
    case "index":
      return call(use(s.a));
    case "cast":
    case "rounded":
      return call(s.dtype, use(s.a));
    case "fold":
      return call(s.fn, s.dim, use(s.a));
    case "permute":
      return call(list(s.order), use(s.a));
    case "repeat":
      return call(s.dim, s.times, use(s.a));
    case "iota":
      return call(shape(s.shape), s.dim);
    case "reshape":
      return call(shape(s.shape), use(s.a));
    case "slice":
      return call(shape(s.from), shape(s.shape), use(s.a));
    case "concat":
      return call(s.dim, list(s.parts.map(use)));
    case "load":
      return call(s.input, s.peer === null ? "own" : use(s.peer), list(s.indices.map(use)));
    case "reduce":
      return call(s.fn, s.variable, use(s.from), use(s.to), use(s.body));
  }
}
