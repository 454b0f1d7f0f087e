/** Edits that make a wrong twin of a kernel. */
import { expect } from "vitest";
import { type Kernel, type Op, Value } from "../../src/compiler/ir/module.js";
import { INDEX } from "../../src/compiler/ir/types.js";
import { edited } from "./mutants.js";

/** The kernel with each of some ops replaced, which have no regions: they stay the same while others are. */
export function changed(kernel: Kernel, targets: readonly Op[], edit: (op: Op) => readonly Op[]): Kernel {
  expect(targets.length).toBeGreaterThan(0);
  return targets.reduce((k, op) => edited(k, op, edit), kernel);
}

/** An op with more in an operand. */
export function moved(op: Op, operand: number, by: number): readonly Op[] {
  const [more, sum] = [new Value(INDEX), new Value(INDEX)];
  const make = (name: Op["name"], operands: Value[], result: Value, attributes: Op["attributes"]): Op => {
    return { name, operands, results: [result], attributes, regions: [], span: op.span };
  };
  return [
    make("const", [], more, { value: by }),
    make("binary", [op.operands[operand]!, more], sum, { fn: "add" }),
    { ...op, operands: op.operands.map((v, i) => (i === operand ? sum : v)) },
  ];
}

/** An op with other attributes. */
export const withAttributes = (op: Op, attributes: Op["attributes"]): readonly Op[] => [
  { ...op, attributes: { ...op.attributes, ...attributes } },
];
