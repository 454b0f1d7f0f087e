/**
 * Answers of elements and of numbers that a rank has for each row, or for each column, at every length (7 and 8 of "Every length" in docs/PROOF.md): programs of
 * which they are proved, and programs with one thing wrong, of which nothing is claimed that an execution refutes.
 */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { without } from "../../src/compiler/prove/every/conditions.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

function compiled(text: string): Kernel {
  const { kernel, diagnostics } = compile(text, { ranks: 2, dtype: "f32", mapping: { ...PROOF_MAPPING } });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
}

type Shapes = readonly DimValues[];
const RECTANGLES: Shapes = [[1, 1], [3, 5], [4, 64], [13, 35], [9, 235], [600, 2]].map(([m, n]) => ({ m: m!, n: n! })); // prettier-ignore
const SQUARES: Shapes = [1, 3, 4, 13, 64].map((n) => ({ n }));
const BOXES: Shapes = [[1, 2, 3], [2, 3, 5], [3, 4, 16], [2, 7, 33]].map(([b, m, n]) => ({ b: b!, m: m!, n: n! })); // prettier-ignore

function reasonOf(kernel: Kernel, shapes: Shapes): string | null {
  const { answer } = everyLength(kernel, shapes, (dims) => proveAnswer(kernel, { dims }));
  return answer.holds ? null : answer.reason;
}

const isWrong = (kernel: Kernel, shapes: Shapes): boolean =>
  shapes.some((dims) => proveAnswer(kernel, { dims }).status === "wrong");

const rectangle = (says: string, does = says): string => `
collective f(x: f32[m, n] local, r: f32[m] local, c: f32[n] local) -> y: f32[m, n] local
  ensures y[i, j] == ${says} {
  for i, j in tiles(m, n) { y[i, j] = ${does} }
}`;
const square = (says: string, does = says): string => `
collective f(x: f32[n, n] local, v: f32[n] local) -> y: f32[n, n] local
  ensures y[i, j] == ${says} {
  for i, j in tiles(n, n) { y[i, j] = ${does} }
}`;
const box = (says: string, does = says): string => `
collective f(x: f32[b, m, n] local, r: f32[b, m] local, s: f32[b] local, c: f32[m, n] local) -> y: f32[b, m, n] local
  ensures y[h, i, j] == ${says} {
  for h, i, j in tiles(b, m, n) { y[h, i, j] = ${does} }
}`;

describe("numbers of rows and of columns", () => {
  it.each([
    ["of rows", rectangle("x[i, j] * r[i]"), RECTANGLES],
    ["of other ranks' rows", rectangle("sum(p in ranks) x@p[i, j] * r@p[i]"), RECTANGLES],
    ["of columns", rectangle("x[i, j] + c@((rank + 1) % world)[j]"), RECTANGLES],
    ["of both", rectangle("x[i, j] * r[i] + c[j]"), RECTANGLES],
    ["alone", rectangle("r[i]"), RECTANGLES],
    ["of a square", square("x[i, j] * v[i]"), SQUARES],
    ["of a square's columns", square("x[i, j] * v[j]"), SQUARES],
    ["of three dimensions", box("x[h, i, j] * r[h, i] + c[i, j]"), BOXES],
    ["of the first of three dimensions", box("x[h, i, j] * s[h]"), BOXES],
  ] as const)("%s: proved for every length", (_, text, shapes) => {
    expect(reasonOf(compiled(text), shapes)).toBe(null);
  });

  it.each([
    ["a row's for a column's", square("x[i, j] * v[j]", "x[i, j] * v[i]"), SQUARES],
    ["a column's for a row's", square("x[i, j] * v[i]", "x[i, j] * v[j]"), SQUARES],
    ["both in exchange", square("v[i] * 2 + v[j]", "v[j] * 2 + v[i]"), SQUARES],
    ["of another row, far out", rectangle("x[i, j] * r[i]", "x[i, j] * r[min(i, 500)]"), RECTANGLES],
    ["of another column", rectangle("x[i, j] * c[j]", "x[i, j] * c[max(j, 1) - 1]"), RECTANGLES],
    ["of the first row", rectangle("x[i, j] * r[i]", "x[i, j] * r[0]"), RECTANGLES],
    ["of another rank", rectangle("x[i, j] * r[i]", "x[i, j] * r@0[i]"), RECTANGLES],
    ["of a row counted from the end", rectangle("x[i, j] * r[i]", "x[i, j] * r[m - 1 - i]"), RECTANGLES],
    ["of another of three", box("x[h, i, j] * r[h, i]", "x[h, i, j] * r[h, 0]"), BOXES],
  ] as const)("%s: refused", (_, text, shapes) => {
    const kernel = compiled(text);
    expect(reasonOf(kernel, shapes)).not.toBe(null);
    expect(isWrong(kernel, shapes)).toBe(true);
  });

  // What is said of a row and a column cancels in a single element, of which the other has nothing.
  it.each([
    ["said", square("x[i, j] + v[i] - v[j]", "x[i, j]")],
    ["done", square("x[i, j]", "x[i, j] + v[i] - v[j]")],
  ])("what cancels at a proved length alone is not proved: where it is %s", (_, text) => {
    const kernel = compiled(text);
    const prove = (dims: DimValues): ReturnType<typeof proveAnswer> => proveAnswer(kernel, { dims });
    expect(prove({ n: 1 }).status).toBe("proved");
    expect(prove({ n: 2 }).status).toBe("wrong");
    expect(everyLength(kernel, [{ n: 1 }], prove).answer.holds).toBe(false);
    expect(without("told apart", () => everyLength(kernel, [{ n: 1 }], prove)).answer.holds).toBe(true);
  });

  it("a single element does not tell a row's from a column's", () => {
    const kernel = compiled(square("v[i]", "v[j]"));
    const prove = (dims: DimValues): ReturnType<typeof proveAnswer> => proveAnswer(kernel, { dims });
    const shapes = [{ n: 1 }];
    expect(prove(shapes[0]!).status).toBe("proved");
    expect(everyLength(kernel, shapes, prove).answer.holds).toBe(false);
    expect(without("told apart", () => everyLength(kernel, shapes, prove)).answer.holds).toBe(true);
  });
});
