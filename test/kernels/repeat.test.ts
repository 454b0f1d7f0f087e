/** `repeat`, and products of what is scaled by blocks: on the cpu backend against the float64 reference, proved, and refuted where wrong. */
import { describe, expect, it, test } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type DimValues } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const PROGRAMS: Readonly<Record<string, readonly [text: string, dims: DimValues]>> = {
  "along rows and columns, cut over the ranks or not": [
    `collective f(x: f32[m, n / 4] sharded(1), v: f32[n] replicated, w: f32[m, n] sharded(1))
  -> (y: f32[m, n] sharded(1), z: f32[3 * n] replicated, s: f32[2 * m, n] sharded(1)) {
  y = w * repeat(x, dim: 1, times: 4)
  z = repeat(v, dim: 0, times: 3)
  s = repeat(w, dim: 0, times: 2)
}`,
    { m: 6, n: 32 },
  ],
  "of sums over ranks, and of what is gathered": [
    `collective f(x: f32[n] partial(sum), v: f32[n] sharded(0)) -> (y: f32[2 * n] replicated, z: f32[2 * n] replicated) {
  y = repeat(all_reduce(x), dim: 0, times: 2) * 0.5
  z = repeat(all_gather(v), dim: 0, times: 2)
}`,
    { n: 12 },
  ],
  "of scales of a product's rows, which leave its sum": [
    `collective f(a: f8e4m3[m, k] replicated, s: f32[m, 1] replicated, b: f8e4m3[n, k] replicated)
  -> y: f32[m, n] replicated {
  y = (f32(a) * s) @ transpose(f32(b))
}`,
    { m: 6, n: 5, k: 32 },
  ],
  "of scales of a product's blocks": [
    `collective f(a: f8e4m3[m, k] sharded(1), s: f32[m, k / 16] sharded(1), b: f8e4m3[n, k] sharded(1), t: f32[n / 16, k / 16] sharded(1))
  -> y: f32[m, n] sharded(0) {
  let w = f32(b) * repeat(repeat(t, dim: 0, times: 16), dim: 1, times: 16)
  y = reduce_scatter((f32(a) * repeat(s, dim: 1, times: 16)) @ transpose(w), dim: 0)
}`,
    { m: 8, n: 32, k: 64 },
  ],
};

describe.each(Object.entries(PROGRAMS))("repeat %s", (_, [text, dims]) => {
  it.each([1, 2, 4])("computes what it says on %i ranks", (ranks) => {
    const { kernel, manifest, diagnostics } = compile(text, { ranks, mapping: PROOF_MAPPING });
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    const tensors = makeInputs(manifest!, dims, ranks);
    new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
    expect(checkOutputs(manifest!, dims, tensors, tensors)).toMatchObject({ correct: true, unspecified: [] });
  });

  it("is proved", () => {
    const { kernel } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
    const claims = prove({ kernel }, { shared: sharedLayout(kernel!) });
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
  });
});

test("a repeat of other elements is refuted", () => {
  const text = `collective f(x: f32[n / 4] replicated) -> y: f32[n] replicated
  ensures y == repeat(x, dim: 0, times: 4) {
  for i in tiles(n) {
    y[i] = x[i % (n / 4)]
  }
}`;
  const { kernel } = compile(text, { ranks: 2 });
  expect(prove({ kernel }).answer.status).toBe("wrong");
});

test("a product takes scales that stay for a run, and an operand in memory where they do not", () => {
  const text = (
    scale: string,
  ) => `collective f(a: f8e4m3[m, k] replicated, s: f32[m, k / 16] replicated, t: f32[m, k] replicated, b: f8e4m3[n, k] replicated)
  -> y: f32[m, n] replicated {
  y = (f32(a) * ${scale}) @ transpose(f32(b)) + sum(t, dim: 1)
}`;
  const buffers = (scale: string): string[] =>
    compile(text(scale), { ranks: 2 }).kernel!.buffers.filter((b) => b.role === "scratch").map((b) => b.name); // prettier-ignore
  expect(buffers("repeat(s, dim: 1, times: 16)")).not.toContain("value");
  expect(buffers("t")).toContain("value");
});

test.each([
  ["repeat(x, times: 2)", "missing-argument"],
  ["repeat(x, dim: 0)", "missing-argument"],
  ["repeat(x, dim: 1, times: 2)", "bad-layout-argument"],
  ["repeat(x, dim: 0, times: n)", "bad-dimension"],
  ["repeat(x, dim: 0, times: 0)", "bad-dimension"],
  ["repeat(x, dim: 0, times: 3)", "shape-mismatch"],
])("%s is an error: %s", (e, code) => {
  const { diagnostics } = compile(`collective f(x: f32[n] replicated) -> y: f32[2 * n] replicated {\n  y = ${e}\n}`, { ranks: 2 }); // prettier-ignore
  expect(diagnostics.map((d) => d.code)).toContain(code);
});
