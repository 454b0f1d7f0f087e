/** `pow`, `iota`, numbers, and masks made of them: on the cpu backend against the float64 reference, proved, and refuted where wrong. */
import { describe, expect, it, test } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type DimValues } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const PROGRAMS: Readonly<Record<string, readonly [text: string, dims: DimValues]>> = {
  "causal attention whose keys lie over the ranks": [
    `collective f(q: T[m, k] replicated, keys: T[n, k] sharded(0)) -> w: T[m, n] sharded(1) {
  let s = q @ transpose(keys)
  let masked = where(iota(m, 1, dim: 0) >= iota(n), s, -1e30)
  let e = exp(masked - all_reduce(max(masked, dim: 1)))
  w = e / all_reduce(sum(e, dim: 1))
}`,
    { m: 12, n: 24, k: 8 },
  ],
  "a band, counted in rows that lie over the ranks, kept as a mask of loops": [
    `collective f(x: T[m, n] sharded(0)) -> (y: T[m, n] sharded(0), z: T[m, n] sharded(0))
  ensures z == where(iota(m, 1, dim: 0) < iota(1, n, dim: 1) + 3, x, 0) {
  let near = iota(m, 1, dim: 0) < iota(n) + 3
  y = where(near and iota(m, n, dim: 1) != 2, x, 0) + f32(iota(m, 1, dim: 0)) * 0.5
  for i, j in tiles(m / world, n) {
    z[i, j] = where(rank * (m / world) + i < j + 3, x[i, j], 0)
  }
}`,
    { m: 12, n: 20 },
  ],
  "powers of elements, of whole tensors, of numbers of the launch": [
    `collective f(x: f32[n] partial(sum), base: f32) -> (y: f32[n] replicated, z: f32[n] replicated)
  ensures z[i] == pow(abs(sum(p in ranks) x@p[i]), 1.5) + f32(i) {
  for i in tiles(n) {
    z[i] = pow(abs(sum(p in ranks) x@p[i]), 1.5) + f32(i)
  }
  y = pow(abs(all_reduce(x)), 0.5) + pow(base, -2 * f32(iota(n)) / f32(n8() + iota(n))) * pow(base, 2)
}`.replace("n8() + iota(n)", "iota(n) + 64"),
    { n: 100, base: 3 },
  ],
  "the number of ranks beside whole tensors, and numbers of the launch that a mask chooses": [
    `collective f(g: f32[n] partial(sum), ids: i32[n] replicated, lr: f32) -> (y: f32[n] replicated, z: i32[n] replicated)
  ensures y == where(ids > world, lr, 0) - lr * g / world + max(world, 3) {
  y = where(ids > world, lr, 0) - lr * all_reduce(g / world) + max(world, 3)
  z = where(ids > world, world, ids * (2 * world - 1))
}`,
    { n: 100, lr: 0.375 },
  ],
};

const f32 = (text: string): string => text.replaceAll("T[", "f32[");

describe.each(Object.entries(PROGRAMS))("%s", (_, [text, dims]) => {
  it.each([1, 2, 4])("computes what it says on %i ranks", (ranks) => {
    const program = compile(f32(text), { ranks, dtype: "f32" });
    expect(program.diagnostics).toEqual([]);
    for (const { kernel, manifest } of program.variants.length > 0
      ? program.variants.map((v) => v.compiled)
      : [program]) {
      const tensors = makeInputs(manifest!, dims, ranks);
      new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
      expect(checkOutputs(manifest!, dims, tensors, tensors)).toMatchObject({ correct: true, unspecified: [] });
    }
  });

  it("is proved", () => {
    const { kernel } = compile(f32(text), { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
    const claims = prove({ kernel }, { shared: sharedLayout(kernel!) });
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
  });
});

describe("what is off by one, or another power, is found", () => {
  const band = (
    condition: string,
    value: string,
  ): string => `collective f(x: f32[m, n] sharded(0)) -> y: f32[m, n] sharded(0)
  ensures y == where(iota(m, 1, dim: 0) >= iota(n), pow(x, 2), 0) {
  for i, j in tiles(m / world, n) {
    y[i, j] = where(${condition}, ${value}, 0)
  }
}`;
  test.each([
    ["rank * (m / world) + i >= j", "pow(x[i, j], 2)", "proved"],
    ["rank * (m / world) + i > j", "pow(x[i, j], 2)", "wrong"],
    ["i >= j", "pow(x[i, j], 2)", "wrong"],
    ["rank * (m / world) + i >= j", "pow(x[i, j], 3)", "wrong"],
    ["rank * (m / world) + i >= j", "pow(2, x[i, j])", "wrong"],
  ])("%s, %s: %s", (condition, value, status) => {
    const { kernel, diagnostics } = compile(band(condition, value), { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
    expect(diagnostics).toEqual([]);
    expect(prove({ kernel }, { shared: sharedLayout(kernel!) }).answer.status).toBe(status);
  });
});

describe("a count of what a comparison of rounded values leaves open", () => {
  const text = `collective f(x: bf16[n] partial(sum), t: f32) -> (y: bf16[n] replicated, c: i32[1] replicated) {
  let s = all_reduce(x)
  y = where(f32(s) > t, s, 0)
  c = sum(i32(f32(s) > t), dim: 0)
}`;
  it.each([500, 200_000])("may be off by as many as are open, and no more, of %i", (n) => {
    const { kernel, manifest, variants } = compile(text, { ranks: 4, mapping: { algorithm: "two_shot" } });
    expect(variants.length).toBeLessThan(2);
    const dims = { n, t: 0.5 };
    const tensors = makeInputs(manifest!, dims, 4);
    new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
    expect(checkOutputs(manifest!, dims, tensors, tensors).correct).toBe(true);
    for (const rank of tensors) {
      const count = rank.outputs["c"] as Int32Array;
      count[0] = count[0]! - n / 50;
    }
    expect(checkOutputs(manifest!, dims, tensors, tensors).correct).toBe(false);
  });
});

test("what does not fit is said", () => {
  const said = (value: string, T = "f32"): (string | null | undefined)[] => {
    const text = `collective f(x: ${T}[n] replicated) -> y: ${T}[n] replicated {\n  y = ${value}\n}`;
    const [first] = compile(text, { ranks: 2, dtype: "f32" }).diagnostics;
    return [first?.code, first?.help];
  };
  expect(said("pow(x, 2)", "i32")).toEqual(["needs-float", "cast it: f32(…)"]);
  expect(said("x + iota(n)")).toEqual(["dtype-mismatch", "cast one of them: f32(…) or i32(…)"]);
  expect(said("x + f32(iota(n, 1))")).toEqual(["missing-argument", "add it: iota(…, dim: 0)"]);
  expect(said("x + f32(iota(rank))")).toEqual(["bad-dimension", "a shape is made of dimension names, whole numbers, `world`, and + - * / of them"]); // prettier-ignore
  expect(said("pow(x)")[0]).toBe("wrong-arity");
});
