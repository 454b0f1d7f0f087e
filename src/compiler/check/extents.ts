/** Shape and length expressions → extents, with the world size folded in; and extents as people write them. */
import type { Expression } from "../ast/nodes.js";
import { extent, type Extent, type ExtentOp } from "../types/extent.js";
import type { Layout } from "../types/layout.js";

const OPERATORS: Partial<Record<string, ExtentOp>> = { "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod" };

/** What a name stands for, if that is known before a launch: a dimension, or a `let` over dimensions. */
export type Lookup = (name: string) => Extent | null;

/** The extent an expression stands for; null when it depends on more than dimensions, whole numbers and `world`. */
export function extentOf(e: Expression, world: number, lookup: Lookup): Extent | null {
  switch (e.kind) {
    case "number":
      return e.isInteger ? e.value : null;
    case "name":
      return e.name === "world" ? world : lookup(e.name);
    case "unary": {
      const a = e.operator === "-" ? extentOf(e.operand, world, lookup) : null;
      return typeof a === "number" ? -a : null;
    }
    case "binary": {
      const a = extentOf(e.left, world, lookup);
      const b = extentOf(e.right, world, lookup);
      if (a === null || b === null || (b === 0 && (e.operator === "/" || e.operator === "%"))) return null;
      const op = OPERATORS[e.operator];
      if (op !== undefined) return extent(op, a, b);
      if (typeof a !== "number" || typeof b !== "number") return null;
      if (e.operator === "<<") return a * 2 ** b;
      if (e.operator === ">>") return Math.floor(a / 2 ** b);
      if (e.operator === "&") return a & b;
      return e.operator === "^" ? a ^ b : null;
    }
    default:
      return null;
  }
}

const SIGNS: Partial<Record<ExtentOp, readonly [sign: string, precedence: number]>> = {
  add: ["+", 1],
  sub: ["-", 1],
  mul: ["*", 2],
  div: ["/", 2],
  mod: ["%", 2],
};

/** The extent as it is written in Coll. */
export function showExtent(e: Extent, outer = 0): string {
  if (typeof e !== "object") return String(e);
  const sign = SIGNS[e.op];
  if (sign === undefined) return `${e.op}(${showExtent(e.a)}, ${showExtent(e.b)})`;
  const text = `${showExtent(e.a, sign[1])} ${sign[0]} ${showExtent(e.b, sign[1] + 1)}`;
  return sign[1] < outer ? `(${text})` : text;
}

/** By name, the dimension that a sharded tensor is cut along: `cut along 'n'`; nothing for other layouts. */
export function cutAlong(
  { shape, layout }: { readonly shape: readonly Extent[]; readonly layout: Layout },
  before = "",
): string {
  return layout.kind === "sharded" ? `${before}cut along '${showExtent(shape[layout.dim]!)}'` : "";
}

export function showShape(shape: readonly Extent[]): string {
  return `[${shape.map((e) => showExtent(e)).join(", ")}]`;
}
