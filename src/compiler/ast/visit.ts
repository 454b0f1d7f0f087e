/** Walking expressions without knowing what they mean. */
import type { Domain, Expression, RangeExpression } from "./nodes.js";

/** Anything that holds expressions and stands inside one. */
export type Part = Expression | Domain | RangeExpression;

/** The parts directly inside a part, from left to right. */
export function partsOf(p: Part): readonly Part[] {
  switch (p.kind) {
    case "number":
    case "name":
    case "axis":
    case "ranks":
      return [];
    case "slice":
      return [p.operand, ...p.ranges.flatMap((r) => [r.from, r.to].filter((e) => e !== null))];
    case "element":
      return p.peer === null ? p.indices : [p.peer, ...p.indices];
    case "member":
    case "serial":
      return [p.range];
    case "unary":
      return [p.operand];
    case "binary":
    case "matmul":
      return [p.left, p.right];
    case "call":
      return [...p.arguments, ...p.named.map((n) => n.value)];
    case "inlined":
      return [...p.bindings.map((b) => b.value), p.body];
    case "reduce":
      return [p.over, p.body];
    case "tiles":
      return p.ranges;
    case "bounds":
      return p.from === null ? [p.to] : [p.from, p.to];
    case "shard":
    case "chunk":
      return p.parts === null ? [p.length, p.rank] : [p.length, p.rank, p.parts];
  }
}

/** Whether the predicate holds for the part or any part inside it. */
export function someParts(p: Part, predicate: (p: Part) => boolean): boolean {
  return predicate(p) || partsOf(p).some((inner) => someParts(inner, predicate));
}
