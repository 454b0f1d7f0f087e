/**
 * choose-algorithms: says of each conversion that can be done in two ways which one is taken, and why.
 *
 * A value that every rank gets from what all, or one, of them hold can be read by each whole (`one_shot`: w - 1 copies
 * come in), or each rank computes a w-th and gives it to all (`two_shot`: 2(w - 1)/w copies pass, and the ranks meet
 * once more). So it depends on the bytes, which may be known when the kernel is compiled: from the shape, or from a
 * `where` that bounds it. Where they are not, more than two ranks take `two_shot`: what it can lose is one meeting, what
 * the other can lose grows with the tensor. One number a row, as folds leave, counts as small.
 */
import type { Kernel, Op } from "../ir/module.js";
import { DTYPES } from "../types/dtype.js";
import { extentNames, type Extent, evaluateExtent, productOf, sameExtent } from "../types/extent.js";
import { isPolynomial, polynomialOf } from "../types/normal-form.js";
import type { PassOptions } from "./options.js";
import { printLayout } from "../types/layout.js";

export function chooseAlgorithms(kernel: Kernel, options: Pick<PassOptions, "oneShotBytes">): Kernel {
  const ops = kernel.body.ops.map((op) => (op.name === "convert" ? decided(op, kernel, options) : op));
  return { ...kernel, body: { arguments: [], ops } };
}

function decided(op: Op, kernel: Kernel, options: Pick<PassOptions, "oneShotBytes">): Op {
  const [from, to] = [op.operands[0]!.type, op.results[0]!.type];
  if (from.kind !== "tensor" || to.kind !== "tensor" || to.layout.kind !== "replicated") return op;
  if (from.layout.kind !== "partial" && from.layout.kind !== "on") return op;
  const { world } = kernel;
  const bytes = from.dtype === "bool" ? 1 : DTYPES[from.dtype].bytes;
  const most = largest(productOf(from.shape), kernel);
  const what = `${printLayout(from.layout)} to replicated on ${world} ranks`;
  const limit = options.oneShotBytes;
  const choose = (algorithm: "one_shot" | "two_shot", why: string): Op => ({
    ...op,
    attributes: { ...op.attributes, algorithm, why: `${what}: ${why}` },
  });
  if (world <= 2) return choose("one_shot", "each rank reads as much as it would receive in two steps");
  if (from.shape.length > 1 && from.shape.at(-1) === 1)
    return choose("one_shot", "one number a row is little to read, and saves a meeting of the ranks");
  if (most === null) return choose("two_shot", "the size is known at the launch alone, and large tensors lose more");
  const size = `${most * bytes} bytes at most`;
  return most * bytes <= limit
    ? choose("one_shot", `${size}, up to ${limit} another meeting of the ranks costs more than the bytes`)
    : choose("two_shot", `${size}, above ${limit} the bytes cost more than another meeting of the ranks`);
}

/** The most elements that a launch may have, from the extent itself or the requirements; null if they do not say. */
function largest(elements: Extent, { requirements }: Kernel): number | null {
  if (typeof elements === "number") return elements;
  const bounds = requirements.flatMap(({ left, relation, right }) => {
    if (typeof right !== "number") return [];
    if (relation === "le" || relation === "eq") return [{ left, most: right }];
    return relation === "lt" ? [{ left, most: right - 1 }] : [];
  });
  const direct = bounds.filter((b) => sameExtent(b.left, elements)).map((b) => b.most);
  if (direct.length > 0) return Math.min(...direct);
  const isIncreasing = isPolynomial(elements) && [...polynomialOf(elements).values()].every((c) => c >= 0);
  if (!isIncreasing) return null;
  const dims: Record<string, number> = {};
  for (const name of extentNames(elements)) {
    const own = bounds.filter((b) => sameExtent(b.left, name)).map((b) => b.most);
    if (own.length === 0) return null;
    dims[name] = Math.min(...own);
  }
  return evaluateExtent(elements, dims);
}
