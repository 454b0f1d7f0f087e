/** Elements of i64 and bool: exact above 2^53, wrapping at 2^64; stored conditions. On the cpu backend, as CUDA, proved and refuted. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type CompileResult, type DimValues, type DType } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { libraryFromDisk } from "../../src/runtime/imports.js";
import { openNvrtc } from "../../src/runtime/program.js";
import { checkOutputs, makeInputs, type RankTensors } from "../../src/runtime/reference/index.js";
import { turned } from "../scope.js";
import { compiledCuda } from "./compiled-cuda.js";
import { compileFile, LIBRARY } from "./library.js";

const missing = await openNvrtc().then(
  () => null,
  (e: Error) => e.message,
);

const PROGRAMS: Readonly<Record<string, readonly [text: string, dims: DimValues]>> = {
  "everything there is of them": [
    readFileSync(join(import.meta.dirname, "../gpu/language/wide.coll"), "utf8"),
    { m: 3, n: 37 },
  ],
  "sums, products and extremes over ranks, of shards and by loops": [
    `collective f(x: i64[n] partial(sum), y: i64[n] partial(prod), z: i64[n] partial(min), k: i64[n] local)
  -> (a: i64[n] sharded(0), b: i64[n] replicated, c: i64[n] on(0), d: i64[n] local, e: i64[n] local)
  ensures d[i] == (sum(p in ranks) k@p[i]) * k[i] - (max(p in ranks) k@p[i])
  ensures e[i] == i64(f32(k[i])) + i64(k[i] == 0) {
  a = reduce_scatter(x, dim: 0)
  b = all_reduce(y)
  c = reduce(z, to: 0)
  for i in tiles(n) {
    d[i] = (sum(p in ranks) k@p[i]) * k[i] - (max(p in ranks) k@p[i])
    e[i] = i64(f32(k[i])) + i64(k[i] == 0)
  }
}`,
    { n: 64 },
  ],
  "products of matrices of whole numbers, and folds": [
    `collective f(a: i64[m, k] sharded(1), b: i64[k, n] sharded(0), mask: bool[m, n] replicated)
  -> (c: i64[m, n] replicated, rows: bool[m, 1] replicated, picked: i64[1, n] replicated) {
  let product = all_reduce(a @ b)
  c = product
  rows = min(mask, dim: 1)
  picked = sum(where(mask, product, 0), dim: 0)
}`,
    { m: 5, n: 9, k: 16 },
  ],
  "conditions that are data: a branch, a scratch array, a ring": [
    `collective f(x: bool[n] local, v: i64[n] local) -> (y: bool[n] local, w: i64[n] local)
  ensures y[i] == (x@((rank + 1) % world)[i] != x[i])
  ensures w[i] == where(x[i], v@((rank + 1) % world)[i], -v[i]) {
  scratch box: bool[n]
  let next = (rank + 1) % world
  for i in tiles(n) {
    box[i] = x[i]
  }
  for i in tiles(n) {
    y[i] = box@next[i] != x[i]
    if x[i] {
      w[i] = v@next[i]
    } else {
      w[i] = -v[i]
    }
  }
}`,
    { n: 50 },
  ],
};

/** The kernels of a program: it, or its variants. */
const kernelsOf = (program: CompileResult): readonly CompileResult[] =>
  program.variants.length > 0 ? program.variants.map((v) => v.compiled) : [program];

describe.each(Object.entries(PROGRAMS).map(([name, program], turn) => [name, program, turn] as const))(
  "%s",
  (_, [text, dims], turn) => {
    it.each([1, 2, 4])("computes what it says on %i ranks", (ranks) => {
      const program = compile(text, { ranks });
      expect(program.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
      for (const { kernel, manifest } of kernelsOf(program)) {
        const tensors = makeInputs(manifest!, dims, ranks);
        new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
        const result = checkOutputs(manifest!, dims, tensors, tensors);
        expect(result).toMatchObject({ correct: true, unspecified: [] });
        if (manifest!.outputs.every((t) => t.dtype !== "f32")) expect(result.maxError).toBe(0);
      }
    });

    it.each(turned([2, 4], turn + 1))("is proved on %i ranks", (ranks) => {
      const { kernel } = compile(text, { ranks, mapping: PROOF_MAPPING });
      const claims = prove({ kernel }, { shared: sharedLayout(kernel!) });
      expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
    });

    it.skipIf(missing !== null)("is CUDA", async () => {
      for (const ranks of turned([2, 4], turn)) {
        const { cuda } = compile(text, { ranks });
        expect((await compiledCuda(cuda!, "sm_90a")).cubin.byteLength).toBeGreaterThan(1000);
      }
    });
  },
);

/** Runs one collective on given inputs, one list a rank. */
function run(text: string, dims: DimValues, fill: (rank: number, t: RankTensors) => void, ranks = 2) {
  const { kernel, manifest, diagnostics } = compile(text, { ranks });
  expect(diagnostics).toEqual([]);
  const tensors = makeInputs(manifest!, dims, 1);
  tensors.forEach((t, rank) => fill(rank, t));
  new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
  return { tensors, check: () => checkOutputs(manifest!, dims, tensors, tensors) };
}

describe("whole numbers of 64 bits", () => {
  const sum = `collective f(x: i64[n] partial(sum)) -> y: i64[n] replicated {
  for i in tiles(n) {
    y[i] = sum(p in ranks) x@p[i]
  }
}`;
  const given = [
    [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), -1n],
    [2n, 1n, -1n, 2n ** 62n + 3n],
  ];
  const { tensors, check } = run(sum, { n: 4 }, (rank, t) => (t.inputs["x"] as BigInt64Array).set(given[rank]!));

  it("are exact above 2^53, and wrap at 2^64", () => {
    expect([...tensors[1]!.outputs["y"]!]).toEqual([2n ** 53n + 3n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 62n + 2n]);
    expect(check()).toMatchObject({ correct: true, maxError: 0 });
  });

  it("that are off by one are wrong, where float64 sees no difference", () => {
    const y = tensors[0]!.outputs["y"] as BigInt64Array;
    y[0] = 2n ** 53n + 4n;
    expect(Number(y[0])).toBe(Number(2n ** 53n + 3n));
    expect(check()).toMatchObject({ correct: false, firstMismatch: { rank: 0, index: 0 } });
    y[0] = 2n ** 53n + 3n;
    expect(check().correct).toBe(true);
  });

  it("become the nearest float32, in one rounding, and come back saturated", () => {
    const text = `collective f(x: i64[n] local, v: f32[n] local) -> (y: f32[n] local, z: i64[n] local)
  ensures y[i] == f32(x[i])
  ensures z[i] == i64(v[i]) {
  for i in tiles(n) {
    y[i] = f32(x[i])
    z[i] = i64(v[i])
  }
}`;
    // Half between two floats, and a bit more that float64 rounds away.
    const x = 2n ** 60n + 2n ** 36n + 1n;
    const { tensors, check } = run(text, { n: 4 }, (_, t) => {
      (t.inputs["x"] as BigInt64Array).set([x, -x, 2n ** 63n - 1n, 7n]);
      (t.inputs["v"] as Float32Array).set([3e19, -Infinity, NaN, -2.75]);
    });
    expect(tensors[0]!.outputs["y"]![0]).toBe(2 ** 60 + 2 ** 37);
    expect([...tensors[0]!.outputs["z"]!]).toEqual([2n ** 63n - 1n, -(2n ** 63n), 0n, -2n]);
    expect(check()).toMatchObject({ correct: true });
  });
});

test("of truth values, any byte but 0 is true, and 0 and 1 are stored", () => {
  const text = `collective f(x: bool[n] partial(max)) -> (y: bool[n] replicated, c: i32[n] local)
  ensures c[i] == i32(x[i]) {
  for i in tiles(n) {
    y[i] = max(p in ranks) x@p[i]
    c[i] = i32(x[i])
  }
}`;
  const { tensors, check } = run(text, { n: 4 }, (rank, t) =>
    (t.inputs["x"] as Uint8Array).set(rank === 0 ? [0, 255, 2, 0] : [0, 0, 1, 128]),
  );
  expect([...tensors[1]!.outputs["y"]!]).toEqual([0, 1, 1, 1]);
  expect([...tensors[0]!.outputs["c"]!]).toEqual([0, 1, 1, 0]);
  expect(check()).toMatchObject({ correct: true });
});

describe("what is wrong is found", () => {
  const claim = (T: DType, ensures: string, value: string): string =>
    `collective f(x: ${T}[n] local) -> y: ${T}[n] local
  ensures y[i] == ${ensures} {
  for i in tiles(n) {
    y[i] = ${value}
  }
}`;
  test.each([
    ["i64", "x@0[i] * 4 - x[i]", "x@0[i] + 3 * x@0[i] - x[i]", "proved"],
    ["i64", "x@0[i] * 4 - x[i]", "x@0[i] + 2 * x@0[i] - x[i]", "wrong"],
    ["i64", "x[i] + 4503599627370495", "x[i] + 4503599627370494", "wrong"],
    ["i64", "x[i] * 4503599627370496 * 2", "x[i] * 9007199254740990 + x[i] * 2", "proved"],
    ["bool", "x@0[i] or x[i]", "x[i] or x@0[i]", "proved"],
    ["bool", "x@0[i] or x[i]", "x[i] and x@0[i]", "wrong"],
    ["bool", "not x[i]", "x[i] == bool(0)", "proved"],
    ["bool", "where(x[i], x@0[i], not x@0[i])", "x[i] == x@0[i]", "proved"],
    ["bool", "where(x[i], x@0[i], not x@0[i])", "x[i] != x@0[i]", "wrong"],
  ] as const)("%s: %s by %s: %s", (T, ensures, value, status) => {
    const { kernel, diagnostics } = compile(claim(T, ensures, value), { ranks: 2, mapping: PROOF_MAPPING });
    expect(diagnostics).toEqual([]);
    expect(prove({ kernel }, { shared: sharedLayout(kernel!) }).answer.status).toBe(status);
  });

  test.each([
    ["y: i64[n] replicated", "y = all_reduce(x) > 0", "type-mismatch", "say what number it is: i64(…) makes it 0 or 1"],
    [
      "y: bool[n] replicated",
      "y = all_reduce(x)",
      "type-mismatch",
      "compare it, as in `v > 0`, or cast it: bool(…) is whether it differs from 0",
    ],
    ["y: bool[n] replicated", "y = all_reduce(bool(x))", "not-linear", "reduce it first: bool(all_reduce(x))"],
    [
      "y: i64[n] replicated",
      "y = all_reduce(x) + sum(bool(all_reduce(x)), dim: 0)",
      "type-mismatch",
      "choose numbers by it: where(condition, 1, 0)",
    ],
  ])("%s { %s }: %s", (output, body, code, help) => {
    const text = `collective f(x: i64[n] partial(sum)) -> ${output} {\n  ${body}\n}`;
    const [first] = compile(text, { ranks: 2 }).diagnostics;
    expect([first?.code, first?.help]).toEqual([code, help]);
  });
});

describe("the library's ways, with packets, flags and steps", () => {
  const file = (name: string) => LIBRARY.find((f) => f.name === name)!;
  test.each([
    ["all_reduce", "i64", 2],
    ["all_reduce", "i64", 4],
    ["all_gather", "i64", 4],
    ["all_gather", "bool", 4],
    ["broadcast", "bool", 2],
  ] as const)("%s of %s on %i ranks", (name, dtype, ranks) => {
    const program = compileFile(file(name), { ranks, dtype, library: libraryFromDisk });
    expect(program.diagnostics).toEqual([]);
    const kernels = program.variants.map((v) => v.compiled);
    // What travels in packets has flags beside its halves: an element of 8 bytes lies in both.
    expect(kernels.some(({ kernel }) => kernel!.buffers.some((b) => b.role === "packet"))).toBe(true);
    for (const { kernel, manifest } of kernels)
      for (const n of [8, 1000]) {
        const tensors = makeInputs(manifest!, { n }, 7);
        const group = new CpuGroup(kernel!, manifest!, { detectUnwritten: true });
        for (const _launch of [1, 2, 3]) group.run(tensors, { n });
        expect(checkOutputs(manifest!, { n }, tensors, tensors)).toMatchObject({ correct: true, maxError: 0 });
      }
  });
});
