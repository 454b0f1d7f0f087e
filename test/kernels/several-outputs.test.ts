/** Several outputs of several shapes, dtypes and layouts, of tensor expressions and of loops, in one kernel. */
import { expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const TEXT = `collective f(x: T[m, n] partial(sum), w: T[n, 3] replicated)
  -> (
    whole: T[m, n] replicated,
    rows: f32[m, 1] replicated,
    mine: T[m, n] sharded(0),
    small: T[m, 3] replicated,
    places: i32[m, n] replicated,
    turned: T[2, n, m] sharded(2),
    first: f32[m] local,
    count: i32[1] local
  )
  ensures first[i] == sum(p in ranks) f32(x@p[i, 0])
  ensures count[i] == i32(rank) {
  let h = all_reduce(x)
  whole = h
  rows = max(f32(h), dim: 1)
  mine = reduce_scatter(x, dim: 0) * 2
  small = h @ w
  places = where(h > 0, iota(m, n, dim: 1), -1)
  turned = reshape(concat(transpose(h), -transpose(h), dim: 0), 2, n, m)
  for i in tiles(m) {
    first[i] = sum(p in ranks) f32(x@p[i, 0])
  }
  for i in tiles(1) {
    count[i] = i32(rank)
  }
}
`;

it.each([1, 2, 3])("are all right on %i ranks", (ranks) => {
  for (const dtype of ["f32", "bf16"] as const) {
    const program = compile(TEXT, { ranks, dtype });
    expect(program.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    for (const { kernel, manifest } of program.variants.length > 0
      ? program.variants.map((v) => v.compiled)
      : [program])
      for (const dims of [
        { m: 6, n: 20 },
        { m: 12, n: 7 },
      ]) {
        const tensors = makeInputs(manifest!, dims, 1);
        new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
        expect(checkOutputs(manifest!, dims, tensors, tensors)).toMatchObject({ correct: true, unspecified: [] });
      }
  }
});

it("are proved", () => {
  const { kernel } = compile(TEXT, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  const claims = prove({ kernel }, { shared: sharedLayout(kernel!), shapes: [{ m: 6, n: 5 }] });
  expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
});
