/**
 * The collectives that the tests of PyTorch's symmetric memory run, at their shapes, dtypes and alignments, on the cpu
 * backend: `test/COVERAGE.md` says which is which. The answer is checked against float64, with accumulation in f32 and
 * one rounding, where those tests allow 0.1.
 */
import { describe, expect, it } from "vitest";
import { compile, type DimValues, type DType } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { pairs, turned } from "../scope.js";
import { LIBRARY } from "./library.js";

const kernel = (name: string) => LIBRARY.find((file) => file.name === name)!.text;
const expression = (rest: string) => `collective e${rest}`;
const BYTES: Partial<Record<DType, number>> = { f32: 4, bf16: 2, f16: 2, f8e4m3: 1 };

interface Job {
  readonly source: string;
  readonly worlds: readonly number[];
  readonly dtypes: readonly DType[];
  readonly dims: (world: number, bytes: number) => DimValues[];
  /** Element offset of every tensor, by bytes an element. */
  readonly offsets?: (bytes: number) => number[];
  readonly launches?: number;
  /** It takes seconds: `npm run test:long` has it with one number of ranks and one dtype, and with others the next such job. */
  readonly isLong?: boolean;
}

/** Jobs so far. */
let turn = 0;

function check({ source, worlds, dtypes, dims, offsets = () => [0], launches = 2, isLong = false }: Job): void {
  const all = pairs(worlds, dtypes, turn++);
  for (const [world, dtype] of isLong ? turned(all, turn) : all) {
    const compiled = compile(source, { ranks: world, dtype });
    expect(compiled.diagnostics).toEqual([]);
    const manifest = compiled.manifest!;
    const names = [...manifest.inputs, ...manifest.outputs].map(({ name }) => name);
    for (const offset of offsets(BYTES[dtype]!)) {
      const elementOffset = Object.fromEntries(names.map((name) => [name, offset]));
      const group = new CpuGroup(compiled.kernel!, manifest, {
        source: compiled.source,
        detectUnwritten: true,
        elementOffset,
      });
      for (const values of dims(world, BYTES[dtype]!))
        for (let launch = 0; launch < launches; launch++) {
          const ranks = makeInputs(manifest, values, launch + 1);
          group.run(ranks, values);
          const result = checkOutputs(manifest, values, ranks, ranks);
          const what = `${dtype}, ${world} ranks, ${JSON.stringify(values)}, offset ${offset}`;
          expect(result, what).toMatchObject({ correct: true });
          if (manifest.outputs.every((output) => output.layout.kind === "replicated") && world > 1)
            expect(result.bitwiseEqualAcrossRanks, what).toBe(true);
        }
    }
  }
}

const sizes =
  (...bytes: number[]) =>
  (_world: number, width: number) =>
    bytes.map((b) => ({ n: Math.ceil(b / width) }));
const aligned = (width: number) => [0, 16 / width];

describe("all-reduce", () => {
  it.each([
    ["one_shot", kernel("all_reduce/one_shot")],
    ["two_shot", kernel("all_reduce/two_shot")],
    ["what the compiler chooses", expression("(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }")],
  ])("%s: 4, 8192 and 8196 bytes, offsets 0 and 16 bytes", (_, source) => {
    check({ source, worlds: [2, 4], dtypes: ["f32", "bf16"], dims: sizes(4, 8192, 8196), offsets: aligned });
  });

  it("alignments of 4, 8 and 16 bytes, in every 16-bit and 8-bit dtype", () => {
    for (const align of [4, 8, 16])
      check({
        source: kernel("all_reduce/one_shot"),
        worlds: [4],
        dtypes: ["f32", "bf16", "f16", "f8e4m3"],
        dims: sizes(8192 + align),
        offsets: (width) => [align / width],
      });
  });

  it("of an ordinary input, copied into reach first", () => {
    const source = expression(`(x: T[n] partial(sum)) -> y: T[n] replicated {
      scratch reach: T[n]
      for i in tiles(n) { reach[i] = x[i] }
      for i in tiles(n) { y[i] = sum(p in ranks) reach@p[i] } }`);
    const { manifest } = compile(source, { ranks: 4, dtype: "bf16" });
    expect(manifest!.symmetric).not.toContain("x");
    check({ source, worlds: [2, 4], dtypes: ["f32", "bf16"], dims: sizes(4, 8192, 8196), offsets: aligned });
  });

  it("of nothing", () =>
    check({ source: kernel("all_reduce/one_shot"), worlds: [4], dtypes: ["f32"], dims: () => [{ n: 0 }] }));

  it("to one root", () => {
    const source = expression("(x: T[n] partial(sum)) -> y: T[n] on(0) { y = reduce(x, to: 0) }");
    check({ source, worlds: [2, 4], dtypes: ["f32", "bf16"], dims: sizes(4, 8192, 8196), offsets: aligned });
  });
});

describe("reduce-scatter", () => {
  it.each([128, 8192, 36 * 1024 * 16])("%i bytes, 1-D", (bytes) => {
    check({
      source: kernel("reduce_scatter/pull"),
      worlds: [2, 4, 8],
      dtypes: ["f32", "bf16"],
      dims: sizes(bytes),
      launches: 1,
    });
  });

  it.each([128, 8192, 36 * 1024 * 16])("%i bytes, the last dimension of 128 bytes split", (bytes) => {
    check({
      source: expression("(x: T[m, n] partial(sum)) -> y: T[m, n] sharded(1) { y = reduce_scatter(x, dim: 1) }"),
      worlds: [2, 4, 8],
      dtypes: ["f32", "bf16"],
      dims: (_world, width) => [{ m: bytes / 128, n: 128 / width }],
      launches: 1,
    });
  });

  it("of nothing", () =>
    check({ source: kernel("reduce_scatter/pull"), worlds: [4], dtypes: ["bf16"], dims: () => [{ n: 0 }] }));

  it("48 elements on 4 ranks work at any alignment; what cannot be cut is refused", () => {
    check({
      source: kernel("reduce_scatter/pull"),
      worlds: [4],
      dtypes: ["bf16"],
      dims: () => [{ n: 48 }],
      offsets: () => [0, 1],
    });
    const compiled = compile(kernel("reduce_scatter/pull"), { ranks: 4, dtype: "bf16" });
    const group = new CpuGroup(compiled.kernel!, compiled.manifest!, { source: compiled.source });
    expect(() => group.run(makeInputs(compiled.manifest!, { n: 48 }, 1), { n: 46 })).toThrow(/divi/);
  });

  it.each(["sum", "avg"])("(64, 64) by %s", (op) => {
    check({
      source: expression(`(x: T[m, n] partial(${op})) -> y: T[m, n] sharded(0) { y = reduce_scatter(x, dim: 0) }`),
      worlds: [2, 4],
      dtypes: ["f32"],
      dims: () => [{ m: 64, n: 64 }],
    });
  });
});

describe("all-gather", () => {
  it.each(["pull", "push"])("%s: one element a rank, (64, 64), 32 elements at alignments 4, 8 and 16", (name) => {
    const source = kernel(`all_gather/${name}`);
    check({ source, worlds: [2, 4], dtypes: ["f32"], dims: (world) => [{ n: world }, { n: 64 * 64 * world }] });
    const offsets = (width: number) => [4, 8, 16].map((align) => align / width);
    check({ source, worlds: [4], dtypes: ["f32", "bf16"], dims: (world) => [{ n: 32 * world }], offsets, launches: 4 });
  });
});

describe("all-to-all", () => {
  it("10 elements a peer, and 8 × 4 in both directions", () => {
    const source = kernel("all_to_all/push");
    check({
      source,
      worlds: [2, 4],
      dtypes: ["f32"],
      dims: (world) => [
        { m: world, n: 10 * world },
        { m: 8, n: 4 },
      ],
    });
    const back = expression("(x: T[m, n] sharded(1)) -> y: T[m, n] sharded(0) { y = all_to_all(x, dim: 0) }");
    check({ source: back, worlds: [2, 4], dtypes: ["f32", "bf16"], dims: () => [{ m: 8, n: 4 }] });
  });
});

describe("products", () => {
  // Batches of 8 × 64 rows are rows here: a product has two dimensions.
  const shapes = () => [{ m: 8 * 64, n: 16, k: 32 }];

  it("all-gather, then three products of it", () => {
    const source =
      expression(`(a: T[m, k] sharded(0), b0: T[k, n] replicated, b1: T[k, n] replicated, b2: T[k, n] replicated)
      -> (c0: T[m, n] replicated, c1: T[m, n] replicated, c2: T[m, n] replicated) {
      let whole = all_gather(a)
      c0 = whole @ b0
      c1 = whole @ b1
      c2 = whole @ b2 }`);
    check({ source, worlds: [2, 4], dtypes: ["f32", "bf16"], dims: shapes, launches: 1 });
  });

  it.each([0, 1, 2])("all-gather along dimension %i of a batch of 8, then three products", (dim) => {
    const source =
      expression(`(a: T[b, m, k] sharded(${dim}), b0: T[k, n] replicated, b1: T[k, n] replicated, b2: T[k, n] replicated)
      -> (c0: T[b, m, n] replicated, c1: T[b, m, n] replicated, c2: T[b, m, n] replicated) {
      let whole = all_gather(a)
      c0 = whole @ b0
      c1 = whole @ b1
      c2 = whole @ b2 }`);
    check({
      source,
      worlds: [2, 4],
      dtypes: ["f32", "bf16"],
      dims: () => [{ b: 8, m: 64, n: 16, k: 32 }],
      launches: 1,
      isLong: true,
    });
  });

  it.each([0, 1, 2])("a product of a batch of 8, then its average scattered along dimension %i", (dim) => {
    const source = expression(`(a: T[b, m, k] partial(avg), w: T[k, n] replicated) -> c: T[b, m, n] sharded(${dim}) {
      c = reduce_scatter(a @ w, dim: ${dim}) }`);
    check({
      source,
      worlds: [2, 4],
      dtypes: ["f32", "bf16"],
      dims: () => [{ b: 8, m: 64, n: 16, k: 1024 }],
      launches: 1,
      isLong: true,
    });
  });

  it("all-gather along the last dimension, then a product", () => {
    const source = expression(
      "(a: T[m, k] sharded(1), b: T[k, n] replicated) -> c: T[m, n] replicated { c = all_gather(a) @ b }",
    );
    check({ source, worlds: [2, 4], dtypes: ["f32", "bf16"], dims: shapes, launches: 1 });
  });

  it.each([0, 1])("a product, then its average scattered along dimension %i", (dim) => {
    const source = expression(`(a: T[m, k] partial(avg), b: T[k, n] replicated) -> c: T[m, n] sharded(${dim}) {
      c = reduce_scatter(a @ b, dim: ${dim}) }`);
    const dims = () => [{ m: 64, n: 32, k: 128 }];
    check({ source, worlds: [2, 4], dtypes: ["f32", "bf16"], dims, launches: 1 });
  });

  it("a product over shards of the contracted dimension, scattered", () => {
    check({
      source: kernel("matmul/reduce_scatter"),
      worlds: [2, 4],
      dtypes: ["bf16"],
      dims: () => [{ m: 64, n: 32, k: 1024 }],
      launches: 1,
    });
  });
});

describe("what a compiler of graphs is asked", () => {
  const choose = (body: string, inputs = "x: T[m, n] partial(sum)") =>
    compile(expression(`(${inputs}) -> y: T[m, n] replicated { ${body} }`), { ranks: 4, dtype: "f32" });

  it("all-reduce of a computed value, of an input, and of a product: each one kernel, reached where it must be", () => {
    check({
      source: expression("(x: T[m, n] partial(sum)) -> y: T[m, n] replicated { y = all_reduce(x * 2) }"),
      worlds: [4],
      dtypes: ["f32"],
      dims: () => [{ m: 4, n: 4 }],
    });
    for (const compiled of [
      choose("y = all_reduce(x * 2)"),
      choose("y = all_reduce(x)"),
      choose("y = all_reduce(a @ b)", "a: T[m, k] sharded(1), b: T[k, n] sharded(0)"),
    ]) {
      expect(compiled.diagnostics).toEqual([]);
      // One launch, and something that peers reach besides the flags: a parameter or memory of the kernel's own.
      const reached = compiled.manifest!.kernels[0]!.buffers.filter(
        ({ symmetric, role }) => symmetric && role !== "signal",
      );
      expect(reached.length).toBeGreaterThan(0);
    }
  });
});
