/** Terms that are compared by what they come to for all data, where there is little of it, else for all orders of it. */
import type { Kernel } from "../ir/module.js";
import type { DimValues } from "../types/extent.js";
import type { Number_ } from "./algebra.js";
import { AllData } from "./all-data.js";
import { Cases } from "./cases.js";
import { ExactAlgebra } from "./exact.js";
import { ExponentialAlgebra } from "./exponentials.js";
import { computedInOf, dtypesOf, isOfFewIntegers, positiveInputsOf, randomPlaces, rangesOf } from "./facts.js";
import { Remade } from "./remade.js";
import { Leaf } from "./terms.js";

/** An algebra for a kernel at some lengths, in which terms of two forms are the same if they are equal for all data. */
export function termsForAllData(
  kernel: Kernel,
  options: { readonly dims: DimValues; readonly seed?: number },
): ExactAlgebra {
  const rangeOf = rangesOf(kernel, options.dims);
  const data = isOfFewIntegers(kernel) ? new AllData(rangeOf, computedInOf(kernel)) : null;
  const isSame = sameForAllData(kernel, options.seed ?? 0);
  const cases: Cases = new Cases((): ExactAlgebra => algebra, { rangeOf, isSame });
  const algebra: ExactAlgebra = new ExactAlgebra(
    dtypesOf(kernel),
    (a, b) => data?.areEqual(a, b) ?? cases.areEqual(a, b),
    rangeOf,
  );
  return algebra;
}

/** Says of terms without choices whether they are equal, by the random members that stand for them. */
function sameForAllData(kernel: Kernel, seed: number): (a: Number_, b: Number_) => boolean {
  const algebra = new ExponentialAlgebra(dtypesOf(kernel), randomPlaces(kernel, seed), positiveInputsOf(kernel));
  const members = new Remade(algebra, (t) =>
    t instanceof Leaf ? algebra.leaf(t.launch, t.buffer, t.rank, t.index) : algebra.poison(t.buffer, t.rank, t.index),
  );
  return (a, b) => algebra.isSame(members.value(a), members.value(b));
}
