/** Claims about single elements, `ensures y[i, j] == …`, as the reference evaluates them. */
import { expect, test } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

function isRight(text: string): boolean {
  const { kernel, manifest, diagnostics } = compile(text, { ranks: 2, dtype: "f32" });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const dims = { m: 3, n: 5 };
  const ranks = makeInputs(manifest!, dims, 1);
  new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(ranks, dims);
  return checkOutputs(manifest!, dims, ranks, ranks).correct;
}

const claimed = (claim: string): string => `
collective f(x: T[m, n] local) -> y: T[m, n] local
  ensures y[i, j] == ${claim} {
  for i, j in tiles(m, n) {
    y[i, j] = x[i, j] - (sum(p in ranks) (max(k in 0..n) x@p[i, k]))
  }
}`;

test("what some indices decide is folded for each value of those", () => {
  const norm = (fold: string): string => claimed(`x[i, j] - (sum(p in ranks) (max(k in 0..n) ${fold}))`);
  expect(isRight(norm("x@p[i, k]"))).toBe(true);
  for (const wrong of ["x@p[0, k]", "x[i, k]", "x@p[i, j]"]) expect(isRight(norm(wrong)), wrong).toBe(false);
});

test("of an output on one rank, that rank's elements are claimed", () => {
  const text = (claim: string): string => `
collective f(x: T[m, n] partial(sum)) -> y: T[m, n] on(1)
  ensures y[i, j] == ${claim} {
  if rank == 1 {
    for i, j in tiles(m, n) {
      y[i, j] = sum(p in ranks) x@p[i, j]
    }
  }
}`;
  expect(isRight(text("sum(p in ranks) x@p[i, j]"))).toBe(true);
  expect(isRight(text("x[i, j]"))).toBe(false);
});

test("an index has 64 bits, whatever integer it is made of", () => {
  const text = (claim: string): string => `
collective f(x: i32[m, n] local) -> y: i64[m, n] local
  where x in 2000000000..2100000000
  ensures y[i, j] == i64(${claim}) {
  for i, j in tiles(m, n) {
    y[i, j] = i64(index(x[i, j]) * 3)
  }
}`;
  expect(isRight(text("index(x[i, j]) * 3"))).toBe(true);
  expect(isRight(text("x[i, j] * 3"))).toBe(false);
});

test("a fraction is cut off where it is, or where rounding has put it: of 47 forty-sevenths f32 may have less than 1", () => {
  const text = (made: string, claim = made): string => `
collective f(x: i32[m, n] local) -> (y: i32[m, n] local, z: f32[m, n] local)
  where x in 0..2
  ensures y[i, j] == ${claim}
  ensures z[i, j] == f32(${claim}) * 0.25 {
  for i, j in tiles(m, n) {
    y[i, j] = ${made}
    z[i, j] = f32(${made}) * 0.25
  }
}`;
  const whole = "i32(f32(i * n + j + 1) / 47.0 * 47.0 + f32(x[i, j]))";
  expect(isRight(text(whole))).toBe(true);
  expect(isRight(text("i32(f32(i * n + j + 1) + f32(x[i, j]) + 0.5)", whole))).toBe(true);
  const half = "i32(f32(i * n + j + 1) / 47.0 * 47.0 + f32(x[i, j]) + 0.5)";
  expect(isRight(text(half))).toBe(true);
  expect(isRight(text(`${half} + 1`, half))).toBe(false);
});
