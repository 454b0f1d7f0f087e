/** The tolerance of long sums: what an order makes of their roundings is right, and a term that is lost is not. */
import { expect, test } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const claims = [
  `collective f(x: f32[m, n] local) -> y: f32[m] local
  ensures y[i] == sum(k in 0..n) x[i, k] {
  for i in tiles(m) { y[i] = sum(k in 0..n) x[i, k] }
}`,
  `collective f(x: f32[m, n] replicated) -> y: f32[m, 1] replicated {
  y = sum(x, dim: 1)
}`,
];

const dims = { m: 4, n: 100_000 };

/** Adds up numbers in float32, each order of `orders` in turn. */
const orders: Record<string, (x: Float32Array) => number> = {
  "one after the other": (x) => x.reduce((sum, v) => Math.fround(sum + v), 0),
  "from the last on": (x) => x.reduceRight((sum, v) => Math.fround(sum + v), 0),
  "by 128 threads": (x) => {
    const sums = new Float32Array(128);
    x.forEach((v, k) => void (sums[k % 128]! += v));
    return sums.reduce((sum, v) => Math.fround(sum + v), 0);
  },
};

/** Rows whose sums are `sum` of what `change` makes of them. */
function isRight(text: string, sum: (x: Float32Array) => number, change: (v: number, k: number) => number): boolean {
  const { manifest, diagnostics } = compile(text, { ranks: 1 });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const ranks = makeInputs(manifest!, dims, 3);
  const [{ inputs, outputs }] = ranks as [(typeof ranks)[0]];
  const x = inputs["x"] as Float32Array;
  for (let i = 0; i < dims.m; i++)
    (outputs["y"] as Float32Array)[i] = sum(x.subarray(i * dims.n, (i + 1) * dims.n).map(change));
  return checkOutputs(manifest!, dims, ranks, ranks).correct;
}

const same = (v: number): number => v;
const without12345 = (v: number, k: number): number => (k === 12_345 ? 0 : v);

test.each(claims)("%s", (text) => {
  for (const name of ["one after the other", "from the last on", "by 128 threads"]) {
    expect(isRight(text, orders[name]!, same), name).toBe(true);
    expect(isRight(text, orders[name]!, without12345), name).toBe(false);
  }
});

test("terms whose signs go with their numbers have partial sums that cancel late", () => {
  // Each thread adds up terms of one sign, and 100000 of these are as large as the sum of all magnitudes.
  const text = `collective f(x: f32[m, n] local) -> y: f32[m] local
  ensures y[i] == sum(k in 0..n) where(k % 2 == 0, abs(x[i, k]), 0 - abs(x[i, k])) {
  for i in tiles(m) { y[i] = sum(k in 0..n) where(k % 2 == 0, abs(x[i, k]), 0 - abs(x[i, k])) }
}`;
  const signed = (v: number, k: number): number => (k % 2 === 0 ? Math.abs(v) : -Math.abs(v));
  expect(isRight(text, orders["by 128 threads"]!, signed)).toBe(true);
  expect(isRight(text, orders["one after the other"]!, signed)).toBe(true);
});
