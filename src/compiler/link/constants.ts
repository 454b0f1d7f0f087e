/** Values of constant expressions: known when a file is compiled for a number of ranks. */
import type { BinaryOperator, Expression } from "../ast/nodes.js";

export interface ConstantValue {
  readonly value: number;
  readonly isInteger: boolean;
}

const INTEGER: Partial<Record<BinaryOperator, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => Math.floor(a / b),
  "%": (a, b) => ((a % b) + b) % b,
  "^": (a, b) => a ^ b,
  "&": (a, b) => a & b,
  "<<": (a, b) => a * 2 ** b,
  ">>": (a, b) => Math.floor(a / 2 ** b),
};

const REAL: typeof INTEGER = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

/** The number an expression of numbers and `world` stands for; null if it holds anything else, or divides by zero. */
export function evaluateConstant(e: Expression, world: number): ConstantValue | null {
  switch (e.kind) {
    case "number":
      return { value: e.value, isInteger: e.isInteger };
    case "name":
      return e.name === "world" ? { value: world, isInteger: true } : null;
    case "unary": {
      const a = e.operator === "-" ? evaluateConstant(e.operand, world) : null;
      return a === null ? null : { ...a, value: -a.value };
    }
    case "binary": {
      const [a, b] = [evaluateConstant(e.left, world), evaluateConstant(e.right, world)];
      if (a === null || b === null) return null;
      const isInteger = a.isInteger && b.isInteger;
      const value = (isInteger ? INTEGER : REAL)[e.operator]?.(a.value, b.value);
      return value === undefined || !Number.isFinite(value) ? null : { value, isInteger };
    }
    default:
      return null;
  }
}
