/** How many iterations a loop can have at most, on any rank, as an extent a host can evaluate. */
import type { Kernel, Op, Value } from "../../ir/module.js";
import { extent, type Extent, type ExtentOp, productOf } from "../../types/extent.js";
import type { Definitions } from "./analysis.js";

/** Bound of hi - lo; null when it depends on more than dimensions and constants. */
export function upperBound(lo: Value, hi: Value, definitions: Definitions): Extent | null {
  // min(lo + length, limit) - lo ≤ length, and the like for the operands swapped.
  const clamp = definitions.binary(hi, "min");
  if (clamp !== undefined) {
    const bounds = clamp.operands.map((v) => upperBound(lo, v, definitions)).filter((e) => e !== null);
    return bounds.length === 0 ? null : bounds.reduce((a, b) => extent("min", a, b));
  }
  if (definitions.constant(lo) === 0) {
    // A length as stage-transfers writes it: max(end - start, 0), or a product of such.
    const clamped = definitions.binary(hi, "max")?.operands;
    const length = clamped?.find((_, i) => definitions.constant(clamped[1 - i]!) === 0);
    const difference = length === undefined ? undefined : definitions.binary(length, "sub");
    if (difference !== undefined) return upperBound(difference.operands[1]!, difference.operands[0]!, definitions);
    const factors = definitions.binary(hi, "mul")?.operands.map((v) => upperBound(lo, v, definitions));
    if (factors?.every((e) => e !== null)) return productOf(factors);
  }
  const sum = definitions.binary(hi, "add");
  if (sum !== undefined) {
    const [a, b] = sum.operands as [Value, Value];
    if (definitions.key(a) === definitions.key(lo)) return valueExtent(b, definitions);
    if (definitions.key(b) === definitions.key(lo)) return valueExtent(a, definitions);
  }
  return valueExtent(hi, definitions); // lo ≥ 0
}

/** The value itself as an extent; null if it varies by rank, block or iteration. */
export function valueExtent(v: Value, definitions: Definitions): Extent | null {
  const op = definitions.of(v);
  if (op === undefined) return null;
  if (op.name === "const") return op.attributes["value"] as number;
  if (op.name === "dim") return op.attributes["name"] as string;
  if (op.name !== "binary") return null;
  const fn = op.attributes["fn"] as string;
  const [a, b] = op.operands.map((o) => valueExtent(o, definitions));
  if (a == null || b == null || !["add", "sub", "mul", "div", "min", "max"].includes(fn)) return null;
  return extent(fn as ExtentOp, a, b);
}

/** The most elements a loop over several variables can have, as an extent. */
export function mostElements(op: Op, kernel: Kernel, definitions: Definitions): Extent {
  const lengths: (Extent | null)[] = [];
  for (let i = 0; i < op.operands.length; i += 2)
    lengths.push(upperBound(op.operands[i]!, op.operands[i + 1]!, definitions));
  if (lengths.every((e) => e !== null)) return productOf(lengths);
  // No bound found: no loop over elements of tensors is longer than the largest of them.
  return kernel.buffers.map((b) => productOf(b.shape)).reduce<Extent>((a, b) => extent("max", a, b), 1);
}
