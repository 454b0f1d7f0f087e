/** Long folds inside elements: what a proof of them does is counted. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { ExactAlgebra } from "../../src/compiler/prove/exact.js";
import { Extremum } from "../../src/compiler/prove/extremum.js";
import { FieldAlgebra } from "../../src/compiler/prove/field.js";
import { proveAnswer, proveOrdering, PROOF_MAPPING } from "../../src/compiler/prove/index.js";

const kernelOf = (text: string): Kernel => compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING }).kernel!;

/** Each element of a row divided by the sum of the row, which has so many. */
const divided = (columns: number, row = "i"): Kernel =>
  kernelOf(`collective c(x: f32[n, ${columns}] local) -> y: f32[n, ${columns}] local
    ensures y[i, j] == x[i, j] / sum(k in 0..${columns}) x[i, k] {
    for i, j in tiles(n, ${columns}) { y[i, j] = x[i, j] / sum(k in 0..${columns}) x[${row}, k] } }`);

describe("a sum over a row, in each element of the row", () => {
  afterEach(() => void vi.restoreAllMocks());

  const additions = (kernel: Kernel, n: number): number => {
    const read = vi.spyOn(FieldAlgebra.prototype, "of");
    expect(proveAnswer(kernel, { dims: { n } }).status).toBe("proved");
    const count = read.mock.calls.length;
    vi.restoreAllMocks();
    return count;
  };

  it("is added up about as often as there are elements, not as their square", () => {
    const [short, long] = [additions(divided(256), 3), additions(divided(1024), 3)];
    expect(short).toBeGreaterThan(3 * 256);
    expect(long).toBeLessThan(5 * short);
    // Two ranks, two launches, the proof and its specification, and a handful of copies of the loop.
    expect(long).toBeLessThan(80 * 3 * 1024);
  });

  it("is scaled once for a row, too, where the claim asks for the greatest of it times a number", () => {
    const scaled = (columns: number): Kernel =>
      kernelOf(`collective c(x: f32[n, ${columns}] local) -> y: f32[n, ${columns}] local
        ensures y[i, j] == x[i, j] / max((max(k in 0..${columns}) x[i, k]) / 127, 1e-30) {
        scratch s: f32[n]
        for i in tiles(n) { s[i] = max((max(k in 0..${columns}) x[i, k]) / 127, 1e-30) }
        for i, j in tiles(n, ${columns}) { y[i, j] = x[i, j] / s[i] } }`);
    const multiplied = (columns: number): number => {
      const times = vi.spyOn(Extremum.prototype, "times");
      expect(proveAnswer(scaled(columns), { dims: { n: 3 } }).status).toBe("proved");
      const count = times.mock.calls.length;
      vi.restoreAllMocks();
      return count;
    };
    expect(multiplied(64)).toBe(multiplied(16));
  });

  it("is folded once for a row, too, where the claim asks for it at each term of another fold", () => {
    const first = (columns: number): Kernel =>
      kernelOf(`collective c(x: f32[n, ${columns}] local) -> at: i32[n] local
        ensures at[i] == min(k in 0..${columns}) where(x[i, k] == max(q in 0..${columns}) x[i, q], i32(k), ${columns}) {
        for i in tiles(n) {
          let top = max(k in 0..${columns}) x[i, k]
          at[i] = min(k in 0..${columns}) where(x[i, k] == top, i32(k), ${columns})
        } }`);
    const extremes = (columns: number): number => {
      const extreme = vi.spyOn(FieldAlgebra.prototype, "extreme");
      expect(proveAnswer(first(columns), { dims: { n: 3 } }).status).toBe("proved");
      const count = extreme.mock.calls.length;
      vi.restoreAllMocks();
      return count;
    };
    expect(extremes(64)).toBeGreaterThan(64);
    expect(extremes(256)).toBeLessThan(5 * extremes(64));
  });

  it("costs a term as much in a long sum as in a short one, where it is wrong, too", () => {
    const terms = (length: number): number => {
      const sum = vi.spyOn(ExactAlgebra.prototype, "sum");
      const kernel = kernelOf(`collective c(x: f32[${length}] local) -> y: f32[1] local
        ensures y[i] == sum(k in 0..${length}) x[k] { for i in tiles(1) { y[i] = sum(k in 1..${length}) x[k] } }`);
      expect(proveAnswer(kernel, { dims: {} }).status).toBe("wrong");
      const count = sum.mock.calls.reduce((n, [, parts]) => n + parts.length, 0);
      vi.restoreAllMocks();
      return count;
    };
    expect(terms(64)).toBeGreaterThan(64);
    expect(terms(4096)).toBeLessThan(80 * terms(64));
  });

  it("leaves one access an element to the proof of the ordering", () => {
    const checked = (columns: number): number => {
      const answer = proveOrdering(divided(columns), { dims: { n: 3 } });
      return answer.status === "proved" ? answer.checked : -1;
    };
    expect(checked(256)).toBeGreaterThan(0);
    expect(checked(256)).toBeLessThan(5 * checked(64));
    expect(checked(256)).toBeLessThan(50 * 3 * 256);
  });

  it("is that of its own row, rank and launch", () => {
    const dims = { n: 3 };
    for (const row of ["0", "min(i + 1, n - 1)"])
      expect(proveAnswer(divided(64, row), { dims }).status, row).toBe("wrong");
    const remote = kernelOf(`collective c(x: f32[n, 64] local) -> y: f32[n] local
      ensures y[i] == sum(k in 0..64) x@0[i, k] { for i in tiles(n) { y[i] = sum(k in 0..64) x@0[i, k] } }`);
    expect(proveAnswer(remote, { dims }).status).toBe("proved");
    const own = kernelOf(`collective c(x: f32[n, 64] local) -> y: f32[n] local
      ensures y[i] == sum(k in 0..64) x@0[i, k] { for i in tiles(n) { y[i] = sum(k in 0..64) x[i, k] } }`);
    expect(proveAnswer(own, { dims }).status).toBe("wrong");
  });
});
