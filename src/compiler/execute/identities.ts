/** What reductions start from. */
import type { BinaryFunction, Reduction } from "../ir/ops.js";
import type { ScalarKind } from "../types/dtype.js";

const LOWEST: Partial<Record<ScalarKind, number>> = { i32: -(2 ** 31), u32: 0, i8: -128, u8: 0, bool: 0 };
const HIGHEST: Partial<Record<ScalarKind, number>> = { i32: 2 ** 31 - 1, u32: 2 ** 32 - 1, i8: 127, u8: 255, bool: 1 };

/** The function that a reduction applies again and again. */
export const REDUCES_WITH: Readonly<Record<Reduction, BinaryFunction>> = {
  sum: "add",
  prod: "mul",
  min: "min",
  max: "max",
};

/** What a reduction starts from, and its value over nothing; the CUDA printer starts from the same. */
export function identityOf(fn: Reduction, kind: ScalarKind): number {
  switch (fn) {
    case "sum":
      return 0;
    case "prod":
      return 1;
    case "min":
      return HIGHEST[kind] ?? Infinity;
    case "max":
      return LOWEST[kind] ?? -Infinity;
  }
}
