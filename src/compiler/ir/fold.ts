/** Arithmetic on constants, as the machine does it. */
import type { BinaryFunction, Comparison } from "./ops.js";

/** Value of an index or bool operation; undefined where it has none (division by zero). */
export function foldBinary(fn: BinaryFunction, a: number, b: number): number | undefined {
  switch (fn) {
    case "add":
      return a + b;
    case "sub":
      return a - b;
    case "mul":
      return a * b;
    case "div":
      return b === 0 ? undefined : Math.trunc(a / b);
    case "rem":
      return b === 0 ? undefined : a % b;
    case "min":
      return Math.min(a, b);
    case "max":
      return Math.max(a, b);
    case "and":
      return Number(BigInt(a) & BigInt(b));
    case "or":
      return Number(BigInt(a) | BigInt(b));
    case "xor":
      return Number(BigInt(a) ^ BigInt(b));
    case "shl":
      return a * 2 ** b;
    case "shr":
      return Math.floor(a / 2 ** b);
  }
}

export function foldCompare(fn: Comparison, a: number, b: number): boolean {
  switch (fn) {
    case "eq":
      return a === b;
    case "ne":
      return a !== b;
    case "lt":
      return a < b;
    case "le":
      return a <= b;
    case "gt":
      return a > b;
    case "ge":
      return a >= b;
  }
}
