/** Inputs and tolerances of checks: data that finds faults, bounds that go with the terms, time that stays small. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compile, type DimValues } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, type CheckResult, generatedInputs, makeInputs } from "../../src/runtime/reference/index.js";

const compiled = (text: string, ranks: number, dtype: "f32" | "i32" | "u32" | "bf16" | "i8" = "f32") => {
  const result = compile(text, { ranks, dtype });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return { kernel: result.kernel!, manifest: result.manifest!, source: result.source };
};

/** What a check says of an emulated run. @param change what is done to the inputs before, or to the outputs after it */
function checked(
  program: ReturnType<typeof compiled>,
  dims: DimValues,
  seed: number,
  change: { inputs?: (x: Float32Array, rank: number) => void; outputs?: (y: Float32Array, rank: number) => void } = {},
): CheckResult {
  const { kernel, manifest, source } = program;
  const ranks = makeInputs(manifest, dims, seed);
  ranks.forEach((r, rank) => Object.values(r.inputs).forEach((x) => change.inputs?.(x as Float32Array, rank)));
  new CpuGroup(kernel, manifest, { source, detectUnwritten: true }).run(ranks, dims);
  ranks.forEach((r, rank) => Object.values(r.outputs).forEach((y) => change.outputs?.(y as Float32Array, rank)));
  return checkOutputs(manifest, dims, ranks, ranks);
}

describe("inputs", () => {
  const TWO = `
collective f(src: T[n] local, dst: T[n] local, t: i32[n] local) -> y: T[n] local where t in 0..world
  ensures y[i] == src[i] { for i in tiles(n) { y[i] = src[i] } }`;

  it("have nothing in common: not those of names as long, of other programs, seeds or ranks", () => {
    const of = (text: string, seed: number, name: string, rank: number) =>
      makeInputs(compiled(text, 2, "i32").manifest, { n: 1000 }, seed)[rank]!.inputs[name]!;
    const other = TWO.replace("collective f", "collective g");
    const all = [of(TWO, 1, "src", 0), of(TWO, 1, "dst", 0), of(TWO, 1, "src", 1), of(TWO, 2, "src", 0), of(other, 1, "src", 0)]; // prettier-ignore
    for (const [i, a] of all.entries())
      for (const b of all.slice(i + 1)) expect(a.filter((x, k) => x === b[k]).length).toBeLessThan(3);
    expect(of(TWO, 1, "src", 0)).toEqual(of(TWO, 1, "src", 0));
  });

  it("that route use every rank as soon as there are as many, and some more than once", () => {
    for (const ranks of [1, 2, 3, 5, 8])
      for (const seed of [1, 2, 3])
        for (const r of makeInputs(compiled(TWO, ranks).manifest, { n: 8 * ranks }, seed)) {
          const t = [...(r.inputs["t"] as Int32Array)];
          expect(new Set(t.slice(0, ranks)).size).toBe(ranks);
          expect(Math.min(...t)).toBe(0);
          expect(Math.max(...t)).toBe(ranks - 1);
          if (ranks > 4) expect(new Set(t.slice(ranks, 2 * ranks)).size + new Set(t.slice(3 * ranks, 4 * ranks)).size).toBeLessThan(2 * ranks); // prettier-ignore
        }
  });
});

describe("outliers", () => {
  it("are few, at the ends of runs more often than within, and the same however a tensor is read", () => {
    const { manifest } = compiled("collective f(x: f32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = x[i] } }", 2); // prettier-ignore
    const x = makeInputs(manifest, { n: 64 * 256 }, 3)[1]!.inputs["x"] as Float32Array;
    const at = [...x.keys()].filter((i) => Math.abs(x[i]!) > 1);
    expect(at.length).toBeLessThan(x.length / 50);
    for (const end of [0, 63]) expect(at.filter((i) => i % 64 === end).length).toBeGreaterThan(40);
    expect(at.filter((i) => i % 64 !== 0 && i % 64 !== 63).length).toBeGreaterThan(10);
    expect(Math.max(...x.map(Math.abs))).toBeLessThanOrEqual(8);
    expect([...generatedInputs(manifest, { n: 64 * 256 }, 3)("x", 1, 101, 777)]).toEqual([...x.subarray(101, 777)]);
  });

  it("show a scale that leaves an end of its block out", () => {
    const quantised = readFileSync("kernels/all_reduce/quantised.coll", "utf8");
    const dims = { n: 1024 };
    for (const [from, isRight] of [
      ["0..BLOCK", true],
      ["1..BLOCK", false],
      ["0..BLOCK - 1", false],
    ] as const)
      // prettier-ignore
      for (const seed of [0, 1, 2])
        expect(checked(compiled(quantised.replace("0..BLOCK", from), 4, "bf16"), dims, seed).correct).toBe(isRight);
  });
});

describe("whole numbers", () => {
  const PROGRAMS = {
    "sums and products of tensors": `
collective f(x: T[n] partial(sum), w: T[n] replicated) -> y: T[n] replicated { y = max(all_reduce(x) * w + w, w) }`,
    "matrix products": `
collective f(a: T[m, k] sharded(1), b: T[k, m] sharded(0)) -> y: T[m, m] replicated { y = all_reduce(a @ b) - 3 }`,
    folds: `
collective f(x: T[m, n] replicated) -> (y: T[m, 1] replicated, z: T[1, n] replicated) {
  y = sum(x, dim: 1)
  z = max(x, dim: 0)
}`,
    "claims about elements": `
collective f(x: T[n] local) -> y: T[n] local ensures y[i] == max(x[i] * x[i], (sum(p in ranks) x@p[i])) - x[i] {
  for i in tiles(n) { y[i] = max(x[i] * x[i], (sum(p in ranks) x@p[i])) - x[i] }
}`,
  };
  for (const [name, text] of Object.entries(PROGRAMS))
    it(`wrap as in 32 bits: ${name}`, () => {
      for (const dtype of ["i32", "u32"] as const) {
        const program = compiled(text, 4, dtype);
        const dims = Object.fromEntries(program.manifest.dims.map((d) => [d, { m: 12, n: 130, k: 64 }[d]!]));
        const result = checked(program, dims, 5);
        expect(result).toMatchObject({ correct: true, maxError: 0 });
        const wrong = checked(program, dims, 5, { outputs: (y) => (y[7]! += 1) });
        expect(wrong.correct).toBe(false);
      }
    });
});

describe("tolerances", () => {
  const SCAN = `
collective scan(x: T[n] local) -> y: f32[n] local ensures y[i] == sum(p in 0..rank) x@p[i] {
  for i in tiles(n) { y[i] = sum(q in ranks) where(world - 1 - q < rank, f32(x@(world - 1 - q)[i]), f32(0)) }
}`;

  it("go with the terms of a sum, not with what is left of it", () => {
    const program = compiled(SCAN, 4);
    for (let seed = 0; seed < 10; seed++) expect(checked(program, { n: 4096 }, seed).firstMismatch).toBeNull();
    // A term left out or taken twice is far outside.
    const wrong = checked(program, { n: 4096 }, 1, { outputs: (y) => (y[5]! += 1e-4) });
    expect(wrong.firstMismatch).toMatchObject({ index: 5 });
  });

  it("are a few roundings of the terms, not thousands", () => {
    const sum = `collective f(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }`;
    const program = compiled(sum, 4);
    for (let seed = 0; seed < 4; seed++) {
      let largest = 0;
      const look = (x: Float32Array): void => void (largest = x.reduce((a, b) => Math.max(a, Math.abs(b)), largest));
      const { tolerance } = checked(program, { n: 1000 }, seed, { inputs: look });
      // Of four terms, of which one may be the largest there is.
      expect(tolerance).toBeLessThan(8 * (largest + 3) * 2 ** -24);
    }
  });

  it("allow each part of a sum over ranks its rounding where it is staged", () => {
    const staged = `
collective f(x0: T[m, n] partial(sum), x1: T[m, n] on(0)) -> y: T[m, n] sharded(0) {
  y = reduce_scatter(x0 * broadcast(x1), dim: 0)
}`;
    const split = `
collective f(x1: T[m, k] sharded(1), x2: T[k, n] on(0)) -> y: T[m, n] on(0) {
  y = reduce((x1 @ scatter(x2, dim: 0)), to: 0)
}`;
    for (const text of [staged, split]) {
      const program = compiled(text, 4, "bf16");
      const dims = Object.fromEntries(program.manifest.dims.map((d) => [d, { m: 12, n: 24, k: 36 }[d]!]));
      for (let seed = 0; seed < 10; seed++) expect(checked(program, dims, seed).firstMismatch).toBeNull();
    }
  });

  it("take NaN for NaN, and nothing else for it", () => {
    const program = compiled(`collective f(x: T[n] replicated) -> y: T[n] replicated { y = sqrt(x) }`, 2);
    const inputs = (x: Float32Array): void => void x.set([-1, 4, NaN, Infinity]);
    expect(checked(program, { n: 4 }, 1, { inputs })).toMatchObject({ correct: true, maxError: 0 });
    for (const [index, value] of [[0, 0], [1, NaN], [2, 1e30], [3, 1e30]] as const) // prettier-ignore
      expect(checked(program, { n: 4 }, 1, { inputs, outputs: (y) => (y[index] = value) }).firstMismatch).toMatchObject({ index }); // prettier-ignore
  });

  it("are numbers where infinities cancel", () => {
    const program = compiled(`collective f(x: T[n] replicated) -> y: T[n] replicated { y = exp(x) / exp(x) }`, 2);
    const result = checked(program, { n: 2 }, 1, { inputs: (x) => x.set([1, 1000]) });
    expect(result.tolerance).not.toBeNaN();
    expect(result.correct).toBe(true);
  });

  it("know folds of nothing", () => {
    const program = compiled(
      `collective f(x: T[m, n] replicated) -> (a: T[1, n] replicated, b: T[1, n] replicated, c: T[1, n] replicated) {
        a = sum(x, dim: 0)
        b = max(x, dim: 0)
        c = min(x, dim: 0)
      }`,
      2,
    );
    expect(checked(program, { m: 0, n: 3 }, 1)).toMatchObject({ correct: true, total: 9 });
  });

  it.each(["i32", "u32", "i8"] as const)("know folds and reductions of nothing in %s", (dtype) => {
    const program = compiled(
      `collective f(x: T[m, n] replicated)
        -> (a: T[1, n] replicated, b: T[1, n] replicated, c: T[n] replicated, d: T[n] replicated)
        ensures c[j] == (max(k in 0..m) x[k, j])
        ensures d[j] == (min(k in 0..m) x[k, j] * 2) {
        a = max(x, dim: 0)
        b = min(x, dim: 0)
        for j in tiles(n) {
          c[j] = max(k in 0..m) x[k, j]
          d[j] = min(k in 0..m) x[k, j] * 2
        }
      }`,
      2,
      dtype,
    );
    expect(checked(program, { m: 0, n: 3 }, 1)).toMatchObject({ correct: true, total: 18 });
  });

  it("know that none of nothing holds, and all of it", () => {
    const program = compiled(
      `collective f(x: bool[m, n] replicated, v: i32[m, n] replicated)
        -> (a: bool[1, n] replicated, b: i32[1, n] replicated, c: bool[n] replicated, d: i32[n] replicated)
        ensures c[j] == (max(k in 0..m) x[k, j])
        ensures d[j] == i32(min(k in 0..m) (x[k, j] or v[k, j] > 2)) {
        a = max(not x, dim: 0)
        b = i32(min(x or v > 2, dim: 0))
        for j in tiles(n) {
          c[j] = max(k in 0..m) x[k, j]
          d[j] = i32(min(k in 0..m) (x[k, j] or v[k, j] > 2))
        }
      }`,
      2,
    );
    expect(checked(program, { m: 0, n: 3 }, 1)).toMatchObject({ correct: true, total: 18 });
  });
});

describe("claims with reductions inside reductions", () => {
  it("take time with their terms, not with the product of them", () => {
    // Were the inner one folded anew for each k, this would take minutes.
    const program = compiled(
      `collective argmax(x: T[m, n] replicated) -> y: i32[m] replicated
        ensures y[i] == i32(min(k in 0..n) where(x[i, k] == (max(j in 0..n) x[i, j]), k, n)) {
        for i in tiles(m) {
          let best = max(j in 0..n) x[i, j]
          y[i] = i32(min(k in 0..n) where(x[i, k] == best, k, n))
        }
      }`,
      1,
    );
    expect(checked(program, { m: 40, n: 4000 }, 1)).toMatchObject({ correct: true, checked: 40 });
  });
});
