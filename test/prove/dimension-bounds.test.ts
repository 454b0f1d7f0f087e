/** Indices outside their dimension but inside the buffer: linear indices cannot show them. */
import { describe, expect, it } from "vitest";
import { compile, programOf, fitDims, outsideDimension, prove, PROOF_MAPPING } from "../../src/compiler/index.js";
import { connect } from "../../src/index.js";
import { LIBRARY, allows, compileFile } from "../kernels/library.js";

const compiled = (text: string, ranks = 2) => {
  const result = compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
};

const SIGNATURE = "collective f(x: T[m, n] local, t: i32[m] local) -> y: T[m + 1, n] local where t in 0..m";
const body = (lines: string): string => `${SIGNATURE} {\n${lines}\n}`;

/** Name, body, and what is found at m=3, n=5 on two ranks: buffer, dimension, index. */
const WRONG: readonly (readonly [string, string, readonly [string, number, number]])[] = [
  ["one to the right", "for i, j in tiles(m, n) { y[i, j + 1] = 0 }", ["y", 1, 5]],
  ["one to the left", "for i, j in tiles(m, n) { y[i + 1, j - 1] = 0 }", ["y", 1, -1]],
  ["in a load", "for i, j in tiles(m - 1, n) { y[i, j] = x[i, j + 1] }", ["x", 1, 5]],
  ["of a peer", "for i, j in tiles(m - 1, n) { y[i, j] = x@(world - 1 - rank)[i, 2 * j] }", ["x", 1, 6]],
  ["on one rank alone", "for i, j in tiles(m, n) { y[i, j + rank] = 0 }", ["y", 1, 5]],
  ["in one iteration alone", "for i, j in tiles(m, n) { y[i, j + i * j / 8] = 0 }", ["y", 1, 5]],
  ["under a condition that does not help", "for i, j in tiles(m, n) { if i > 0 { y[i, j + 1] = 0 } }", ["y", 1, 5]],
  [
    "where both sides are evaluated",
    "for i, j in tiles(m, n) { y[i, j] = where(j > 0, x[i, j - 1], 0) }",
    ["x", 1, -1],
  ],
  ["in a reduction", "for i in tiles(m - 1) { y[i, 0] = sum(k in 0..n) x[i, k + 1] }", ["x", 1, 5]],
  ["beside an index from data", "for i, j in tiles(m, n) { y[index(t[i]), j + 1] = 0 }", ["y", 1, 5]],
];

const RIGHT: readonly (readonly [string, string])[] = [
  ["guarded", "for i, j in tiles(m, n) { if j + 1 < n { y[i, j + 1] = x[i, j + 1] } }"],
  ["clamped", "for i, j in tiles(m, n) { y[i, j] = where(j > 0, x[i, max(j - 1, 0)], 0) }"],
  ["round", "for i, j in tiles(m, n) { y[i, (j + 3) % n] = x[i, (j - 1) % n] }"],
  ["the other way", "for i, j in tiles(m, n) { y[m - i, n - 1 - j] = x[i, j] }"],
  ["rarely as large as the ends suggest", "for i, j in tiles(m, n) { y[i, j - j / 4] = x[i, min(j + 1, n - 1)] }"],
  ["of rows and places of one number", "for k in tiles(m * n) { y[k / n, k % n] = x[k / n, k % n] }"],
  ["in pieces", "for p in ranks { for i, j in tiles(chunk(m, p), n) { y[i, j] = x[i, j] } }"],
  ["from data", "for i, j in tiles(m, n) { y[index(t[i]), j] = x[i, j] }"],
  ["under a condition on data", "for i, j in tiles(m, n) { if t[i] > 900 { y[i, j + 1] = x[i, j] } }"],
];

describe("an index outside its dimension", () => {
  for (const [name, lines, [buffer, dimension, index]] of WRONG)
    it(`is found: ${name}`, () => {
      const result = compiled(body(lines));
      const elements = programOf(result.snapshots)!;
      expect(outsideDimension(elements, { m: 3, n: 5 })).toMatchObject({ buffer, dimension, index });
      const claims = prove(result, { shapes: [{ m: 3, n: 5 }] });
      for (const answer of [claims.answer, claims.ordering])
        expect(answer).toMatchObject({ status: "wrong", kind: "bounds" });
    });

  for (const [name, lines] of [
    ["from data", "for i, j in tiles(m, n) { y[i, j + index(t[i])] = x[i, j] }"],
    ["of a peer's data", "for i, j in tiles(m, n) { y[i, j + index(t@(world - 1)[i]) / 2] = x[i, j] }"],
    ["under a condition on data", "for i, j in tiles(m, n) { if t[i] == 1 { y[i, j + 1] = x[i, j] } }"],
    ["by a sum of data", "for i, j in tiles(m, n) { y[i, j + sum(k in 0..m) index(t[k])] = x[i, j] }"],
  ] as const)
    it(`is found at sampled data: ${name}`, () => {
      const { answer, ordering } = prove(compiled(body(lines)), { shapes: [{ m: 3, n: 5 }] });
      for (const a of [answer, ordering])
        expect(a).toMatchObject({ status: "wrong", kind: "bounds", message: expect.stringMatching(/of dimension 1 lies outside 'y'/) }); // prettier-ignore
      expect(answer.status === "wrong" && answer.witness.join()).toMatch(/with t = /);
    });

  it("is not found where data keeps it inside", () => {
    const lines = `for i, j in tiles(m, n) {
      if index(t[i]) + j < n { y[index(t[i]), index(t[i]) + j] = x[min(index(t[i]), m - 1), j] }
    }`;
    const { ordering } = prove(compiled(body(lines)), { shapes: [{ m: 3, n: 5 }] });
    expect(ordering.status === "wrong" && ordering.kind).not.toBe("bounds");
  });

  for (const [name, lines] of RIGHT)
    it(`is not seen where there is none: ${name}`, () => {
      for (const [m, n] of [
        [3, 5],
        [1, 1],
        [0, 4],
        [4, 0],
        [2, 300],
      ] as const)
        // prettier-ignore
        expect(outsideDimension(programOf(compiled(body(lines)).snapshots)!, { m, n })).toBeNull();
    });

  it("is not in the library, nor does it take long to see at full size", () => {
    for (const file of LIBRARY.filter((f) => allows(f, 4))) {
      const result = compileFile(file, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
      const elements = programOf(result.snapshots)!;
      for (const n of [4, 64, 4096 * 4]) {
        const wanted = Object.fromEntries(elements.dims.map((d) => [d, n]));
        const dims = fitDims(elements.requirements, wanted, new Set(elements.dims));
        expect(outsideDimension(elements, dims), `${file.name} at ${n}`).toBeNull();
      }
    }
  });

  it("stops a run on the cpu backend before it starts", async () => {
    const group = await connect({ backend: "cpu", ranks: 2 });
    const kernel = await group.load(compiled(body("for i, j in tiles(m, n) { y[i, j + 1] = x[i, j] }")));
    const [x, t, y] = [await group.symmetric("f32", [3, 5]), await group.symmetric("i32", [3]), await group.symmetric("f32", [4, 5])]; // prettier-ignore
    await expect(kernel.run({ x, t, y }, { m: 3, n: 5 })).rejects.toThrow(
      /index 5 of dimension 1 lies outside 'y', which has 5/,
    );
    await group.close();
  });
});
