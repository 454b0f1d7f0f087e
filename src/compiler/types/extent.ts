/**
 * Extents: lengths that are known only when a kernel is launched, as small expressions over
 * the dimension names of a collective's signature. The world size is folded in as a number.
 */

import { extentKey } from "./normal-form.js";

export type Extent =
  | number
  | string
  | {
      readonly op: "add" | "sub" | "mul" | "div" | "ceildiv" | "mod" | "min" | "max";
      readonly a: Extent;
      readonly b: Extent;
    };

export type ExtentOp = Exclude<Extent, number | string>["op"];

/** Values of the dimension names at a launch. */
export type DimValues = Readonly<Record<string, number>>;

const fold: Record<ExtentOp, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => Math.floor(a / b),
  ceildiv: (a, b) => Math.ceil(a / b),
  mod: (a, b) => ((a % b) + b) % b,
  min: Math.min,
  max: Math.max,
};

/** Builds `a op b`, folding constants and the units of `mul`, `div` and `add`. */
export function extent(op: ExtentOp, a: Extent, b: Extent): Extent {
  if (typeof a === "number" && typeof b === "number") return fold[op](a, b);
  if ((op === "mul" || op === "div" || op === "ceildiv") && b === 1) return a;
  if (op === "mul" && a === 1) return b;
  if (op === "mul" && (a === 0 || b === 0)) return 0;
  if ((op === "add" || op === "sub") && b === 0) return a;
  if (op === "add" && a === 0) return b;
  return { op, a, b };
}

/** The extent's value for given dimensions. Throws RangeError on an unknown dimension name. */
export function evaluateExtent(e: Extent, dims: DimValues): number {
  if (typeof e === "number") return e;
  if (typeof e === "string") {
    const value = dims[e];
    if (value === undefined) throw new RangeError(`no value for dimension '${e}'`);
    return value;
  }
  return fold[e.op](evaluateExtent(e.a, dims), evaluateExtent(e.b, dims));
}

/** Elements of an array of this shape. Throws as {@link evaluateExtent}. */
export function elementsOf(shape: readonly Extent[], dims: DimValues): number {
  return shape.reduce<number>((n, e) => n * evaluateExtent(e, dims), 1);
}

/** All dimension names in the extent. */
export function extentNames(e: Extent, into: Set<string> = new Set()): Set<string> {
  if (typeof e === "string") into.add(e);
  else if (typeof e === "object") {
    extentNames(e.a, into);
    extentNames(e.b, into);
  }
  return into;
}

/** Text form, readable back by `parseExtent`: prefix calls for every operator, `ceildiv(n, 4)`. */
export function printExtent(e: Extent): string {
  if (typeof e !== "object") return String(e);
  return `${e.op}(${printExtent(e.a)}, ${printExtent(e.b)})`;
}

/** Whether two extents are equal for all dimensions, as far as their normal forms say. */
export function sameExtent(a: Extent, b: Extent): boolean {
  return a === b || extentKey(a) === extentKey(b);
}

/** Sum of extents, of one at least. */
export function sumOf(extents: readonly Extent[]): Extent {
  return extents.reduce((a, b) => extent("add", a, b));
}

/** Product of extents; 1 for none. */
export function productOf(extents: readonly Extent[]): Extent {
  return extents.reduce<Extent>((a, b) => extent("mul", a, b), 1);
}
