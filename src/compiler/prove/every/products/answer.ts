/** Whether the output of ranks that each compute a product alone is as specified. */
import type { Kernel, Op } from "../../../ir/module.js";
import type { SignatureTensor } from "../../../manifest.js";
import type { Layout } from "../../../types/layout.js";
import { NotShown } from "../conditions.js";
import { expect } from "./follow.js";
import { type Factor, type Factors, type Made, specified, SUM, wordsOf } from "./made.js";
import { turnedBack } from "./rings.js";

/**
 * The output is as specified: the same function of the sum, where the factors and all else that it is made of lie as it does.
 * @param isGathered whether each rank multiplies all rows of the left factor, of which it has its own
 */
export function checkAnswer(
  kernel: Kernel,
  output: SignatureTensor,
  loop: Op,
  made: Made,
  factors: Factors,
  isGathered: boolean,
): void {
  const [left, right, twin = right] = factors;
  /** Of a factor: the dimension of the result that its rows go along, and its columns. */
  const along = (rows: number | null, columns: number | null, { isTurned }: Factor): readonly (number | null)[] =>
    turnedBack<number | null>([rows, columns], isTurned);
  const specification = kernel.specification[kernel.outputs.indexOf(output)];
  if (specification == null) return;
  if (specification.kind === "elements") throw new NotShown("what an element must be is said of ranks", loop.span);
  const { layout, shape } = output;
  const inputOf = (name: string): SignatureTensor => kernel.inputs.find((t) => t.name === name)!;
  const liesAs = (name: string, dims: readonly (number | null)[]): boolean =>
    isLikewise(layout, inputOf(name).layout, dims);
  // Each rank has a part of the depth, and what they have is added up.
  const isPart =
    layout.kind === "partial" && layout.op === "sum" && layout.axis === undefined && wordsOf(made) === wordsOf(SUM);
  if (isGathered) {
    // Ranks go through tiles in orders of their own, so what all have may differ in roundings.
    const isCut = layout.axis === undefined && layout.kind === "sharded" && layout.dim === 1;
    const { layout: rows } = inputOf(left.name);
    const isOfRows = rows.axis === undefined && rows.kind === "sharded" && rows.dim === 0;
    expect(
      isCut && isOfRows && !left.isTurned && [right, twin].every((f) => liesAs(f.name, along(null, 1, f))),
      "the factors do not lie as the product does",
      loop,
    );
  }
  const lies = isPart
    ? isPartOfDepth(kernel, [left, right])
    : liesAs(left.name, along(0, null, left)) && [right, twin].every((f) => liesAs(f.name, along(null, 1, f)));
  expect(isGathered || lies, "the factors do not lie as the product does", loop);
  const has = (name: string): boolean => {
    const input = inputOf(name);
    return liesAs(name, input.shape.length === 1 ? [1] : [0, 1]) && input.shape.length <= shape.length;
  };
  const wanted = specified(specification, factors, has, loop);
  expect(wordsOf(wanted) === wordsOf(made), "an element is made in another way than is specified", loop);
}

/** Whether each rank has a part of the depth of a product. */
export function isPartOfDepth({ inputs }: Kernel, [left, right]: readonly [Factor, Factor]): boolean {
  const isCut = ({ name, isTurned }: Factor, dim: number): boolean => {
    const { layout } = inputs.find((t) => t.name === name)!;
    return layout.axis === undefined && layout.kind === "sharded" && layout.dim === (isTurned ? 1 - dim : dim);
  };
  return isCut(left, 1) && isCut(right, 0);
}

/**
 * Whether an input lies on ranks as an output does: cut where that is cut, and else the same on all.
 * @param dims by dimension of the input, that of the output which it goes along; null of one that the output has not
 */
function isLikewise(output: Layout, input: Layout, dims: readonly (number | null)[]): boolean {
  if (output.axis !== undefined || input.axis !== undefined) return false;
  if (output.kind === "local") return input.kind === "local" || input.kind === "replicated";
  if (output.kind !== "replicated" && output.kind !== "sharded") return false;
  const cut = output.kind === "sharded" ? dims.indexOf(output.dim) : -1;
  return cut < 0 ? input.kind === "replicated" : input.kind === "sharded" && input.dim === cut;
}
