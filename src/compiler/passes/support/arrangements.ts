/** Tensor ops that move elements and compute nothing, one after the other, as one. */
import { type Op, text, type Value } from "../../ir/module.js";
import { sameType } from "../../ir/types.js";

/**
 * What an op does with what it is given: a permute of a permute is one, of their orders, and a reshape of a reshape is the later one.
 * @param producers the ops that make the operands, where they are known
 * @returns the op with its operands, or the value that has each element where the op would put it
 */
export function arranged(
  op: Op,
  operands: readonly Value[],
  producers: ReadonlyMap<Value, Op>,
): { readonly op: Op; readonly operands: readonly Value[] } | Value {
  if (op.name !== "permute" && op.name !== "reshape") return { op, operands };
  const before = producers.get(operands[0]!);
  const first = before?.name === op.name ? before : null;
  const source = first?.operands[0] ?? operands[0]!;
  if (op.name === "reshape") return sameType(source.type, op.results[0]!.type) ? source : { op, operands: [source] };
  const order = first === null ? orderOf(op) : orderOf(op).map((d) => orderOf(first)[d]!);
  if (order.every((d, at) => d === at)) return source;
  return { op: { ...op, attributes: { ...op.attributes, order: order.join(",") } }, operands: [source] };
}

/** Of each dimension of the result, the dimension of the operand that it is. */
function orderOf(op: Op): number[] {
  return text(op, "order").split(",").map(Number);
}
