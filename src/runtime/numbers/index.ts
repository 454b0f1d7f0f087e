/** Numbers on the host: dtypes as typed arrays, exact conversions, random data, comparisons. */
export * from "./arrays.js";
export * from "./compare.js";
export * from "./convert.js";
export { isNarrowFloat, LARGEST_FINITE, type NarrowFloat, SMALLEST_STEP, valuesOf } from "../../compiler/index.js";
export { fillRandom, mix32, randomKey, randomStream, textKey } from "./random.js";
