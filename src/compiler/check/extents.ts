/** Shape and length expressions → extents, with the world size folded in. */
import type { Expression } from "../ast/nodes.js";
import { extent, type Extent, type ExtentOp } from "../types/extent.js";

const OPERATORS: Partial<Record<string, ExtentOp>> = { "+": "add", "-": "sub", "*": "mul", "/": "div" };

/**
 * The extent an expression stands for; null when it depends on more than dimensions, literals and `world`.
 * `dims` collects the dimension names in order of mention, if given.
 */
export function extentOf(e: Expression, world: number, dims?: string[]): Extent | null {
  switch (e.kind) {
    case "number":
      return e.isInteger ? e.value : null;
    case "name":
      if (e.name === "world") return world;
      if (e.name === "rank") return null;
      if (dims !== undefined && !dims.includes(e.name)) dims.push(e.name);
      return e.name;
    case "binary": {
      const op = OPERATORS[e.operator];
      const a = extentOf(e.left, world, dims);
      const b = extentOf(e.right, world, dims);
      return op === undefined || a === null || b === null ? null : extent(op, a, b);
    }
    default:
      return null;
  }
}
