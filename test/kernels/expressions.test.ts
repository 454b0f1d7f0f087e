/** Tensor expressions that the library does not hold, on the cpu backend against their own reference. */
import { expect, it } from "vitest";
import { compile, type DType } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const P = "T[m, n] partial(sum)";
const R = "T[m, n] replicated";
const EXPRESSIONS: readonly (readonly [string, string])[] = [
  ["scales summands on the way", `(x: ${P}) -> y: ${R} { y = all_reduce(x * 6) }`],
  ["scales by a tensor", `(x: ${P}, s: ${R}) -> y: ${R} { y = all_reduce(x * s) }`],
  ["divides summands", `(x: ${P}) -> y: ${R} { y = all_reduce(x / 3) }`],
  ["adds summands", `(x: ${P}, z: ${P}) -> y: ${R} { y = all_reduce(x + z) }`],
  ["applies functions after the sum", `(x: ${P}, b: ${R}) -> y: ${R} { y = gelu(all_reduce(x) + b) }`],
  ["reduces into shards", `(x: ${P}) -> y: T[m, n] sharded(0) { y = reduce_scatter(x * 2, dim: 0) }`],
  ["reduces into columns", `(x: ${P}) -> y: T[m, n] sharded(1) { y = relu(reduce_scatter(x, dim: 1)) }`],
  ["gathers what it computes", `(x: T[m, n] sharded(0)) -> y: ${R} { y = all_gather(exp(x), dim: 0) }`],
  ["exchanges what it computes", `(x: T[m, n] sharded(0)) -> y: T[m, n] sharded(1) { y = all_to_all(x * x, dim: 1) }`],
  ["broadcasts what it computes", `(x: T[m, n] on(0)) -> y: ${R} { y = broadcast(-x) }`],
  ["takes maxima", `(x: T[m, n] partial(max)) -> y: ${R} { y = all_reduce(x) }`],
  ["averages", `(x: T[m, n] partial(avg)) -> y: ${R} { y = all_reduce(x) }`],
  ["reduces to one rank", `(x: ${P}) -> y: T[m, n] on(0) { y = reduce(x, to: 0) }`],
  [
    "chains a product, a sum and another product",
    `(a: T[m, n] sharded(1), b: T[n, m] sharded(0), c: T[m, n] replicated) -> y: T[m, n] replicated { y = all_reduce(a @ b) @ c }`,
  ],
];

for (const [name, rest] of EXPRESSIONS)
  for (const world of [1, 2, 4])
    it(`${name}, ${world} ranks`, () => {
      for (const dtype of ["f32", "bf16"] as DType[]) {
        const compiled = compile(`collective e${rest}`, { ranks: world, dtype });
        expect(compiled.diagnostics).toEqual([]);
        const { kernel, manifest, source } = compiled;
        const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
        for (const dims of [
          { m: 8 * world, n: 16 * world },
          { m: 3 * world, n: 5 * world },
        ]) {
          const ranks = makeInputs(manifest!, dims, 3);
          group.run(ranks, dims);
          expect(checkOutputs(manifest!, dims, ranks, ranks), dtype).toMatchObject({ correct: true });
        }
      }
    });
