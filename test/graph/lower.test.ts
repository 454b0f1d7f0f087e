/** Regions of FX graphs: why what is one program is one and the rest is not, memory, the format, and that steps of generated ones compute what they say. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FxReference } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import { asFx, type FxGraph, type FxNode, fxSchema, lower } from "../../src/compiler/graph/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { fxRegions } from "./fx-regions.js";
import { Dump, expectLowered, fused } from "./fx-support.js";

const LEGAL = { fuse: "legal" } as const;

describe("verdicts", () => {
  /** A product of gathered rows: of few, the vendor's is faster; many travel while others are multiplied. */
  const product = (rows: number): FxGraph => {
    const d = new Dump(4, "bfloat16");
    const [x, w] = [d.input("x", [rows, 4096]), d.input("w", [4096, 4096])];
    return d.graph(d.mm(d.gather(x), w));
  };
  const small = (): FxGraph => {
    const d = new Dump(4, "bfloat16");
    const [x, residual] = [d.input("x", [16, 1024]), d.input("residual", [16, 1024])];
    return d.graph(d.pointwise("add", d.reduce(x), residual));
  };

  test("what the model says is slower stays apart, with both times", () => {
    const lowered = lower(product(16), { ranks: 4 });
    const [edge] = lowered.edges;
    expect(edge).toMatchObject({ from: "all_gather_into_tensor_1", to: "mm_1", isFused: false });
    expect(edge!.together!).toBeGreaterThan(edge!.apart!);
    expect(edge!.why).toMatch(/^together they are predicted to take [\d.]+ µs, apart [\d.]+ µs$/);
    expect(lowered.parts.map((p) => p.kind)).toEqual(["program", "external"]);
    expect(lowered.parts[1]!.fallback).toEqual([{ node: "mm_1", by: "caller" }]);
  });

  test("what it says is faster becomes one program, and is never slower than apart", () => {
    const lowered = lower(small(), { ranks: 4 });
    expect(fused(lowered)).toEqual(["all_reduce_1 + add_1"]);
    expect(lowered.edges[0]!.together!).toBeLessThan(lowered.edges[0]!.apart!);
    expect(lowered.seconds).toBeLessThan(lowered.baseline);
  });

  test("rows that are gathered while others are multiplied are one program", () => {
    const lowered = lower(product(1024), { ranks: 4 });
    expect(fused(lowered)).toEqual(["all_gather_into_tensor_1 + mm_1"]);
    const { together, apart } = lowered.edges[0]!;
    // The gather is hidden: what is left is little more than the product.
    const [gather, multiply] = [32e-6, 196e-6];
    expect(apart!).toBeGreaterThan(multiply + gather);
    expect(together!).toBeLessThan(apart! - gather);
  });

  test("of two that could be fused with a gather, the one that gains most is", () => {
    const d = new Dump(4, "bfloat16");
    const [x, w] = [d.input("x", [1024, 4096]), d.input("w", [4096, 4096])];
    const centred = d.pointwise("sub", x, d.call("aten.mean.dim", [x, [-1], true], [1024, 1]));
    const lowered = lower(d.graph(d.mm(d.gather(centred), w)), { ranks: 4 });
    // What needs whole rows first could go into the gather's program, too; but then nothing would be multiplied until all have come.
    expect(fused(lowered)).toEqual(["sub_1 + all_gather_into_tensor_1 + mm_1"]);
    const edge = (to: string) => lowered.edges.find((e) => e.to === to)!;
    expect(edge("sub_1")).toMatchObject({ from: "mean_1", isFused: false });
    expect(edge("sub_1").together!).toBeGreaterThan(edge("sub_1").apart! + 30e-6);
    expect(edge("mm_1").apart! - edge("mm_1").together!).toBeGreaterThan(30e-6);
  });

  test("what movers compute on the way goes with a gather into its product's program", () => {
    const d = new Dump(4, "bfloat16");
    const [x, w] = [d.input("x", [1024, 4096]), d.input("w", [4096, 4096])];
    const lowered = lower(d.graph(d.mm(d.gather(d.pointwise("relu", x)), w)), { ranks: 4 });
    expect(fused(lowered)).toEqual(["relu_1 + all_gather_into_tensor_1 + mm_1"]);
  });

  test("what the caller has measured goes before the model", () => {
    const slow = lower(product(16), { ranks: 4, measured: { mm_1: 1 } });
    expect(fused(slow)).toEqual(["all_gather_into_tensor_1 + mm_1"]);
    const fast = lower(small(), { ranks: 4, measured: { all_reduce_1: 1e-9, add_1: 1e-9 } });
    expect(fused(fast)).toEqual([]);
    expect(fast.parts[0]).toMatchObject({ kind: "external", by: "nccl", why: expect.stringMatching(/was measured/) });
  });

  test.for<[string, (d: Dump) => string, RegExp]>([
    [
      "a function of what all ranks have, as a summand",
      (d) => d.scatter(d.pointwise("relu", d.input("x", [8, 4], { replicated: true }))),
      /'relu_1' is the same on every rank, which is no rank's own summand/,
    ],
    [
      "what all ranks have beside each rank's own, as a summand",
      (d) =>
        d.scatter(d.cat([d.pointwise("relu", d.input("x", [4, 4])), d.input("w", [4, 4], { replicated: true })], 0)),
      /'cat_1' joins what all ranks have to each rank's own tensor/,
    ],
    [
      "weights that may differ",
      (d) => d.pointwise("mul", d.scatter(d.input("x", [8, 4])), d.input("w", [4])),
      /'w' may differ from rank to rank.*"replicated": true/,
    ],
    [
      "a part of what is cut",
      (d) => d.pointwise("exp", d.call("aten.slice.Tensor", [d.scatter(d.input("x", [8, 4])), 0, 0, 2], [2, 4])),
      /takes a part of the dimension that is cut among the ranks/,
    ],
    [
      "a sum along what is cut",
      (d) => d.call("aten.sum.dim_IntList", [d.scatter(d.input("x", [8, 4])), [0], true], [1, 4]),
      /reduces the dimension that is cut among the ranks/,
    ],
    [
      "an operation that collc lacks",
      (d) => d.call("aten.cumsum.default", [d.reduce(d.input("x", [8, 4])), 0], [8, 4]),
      /collc has no aten.cumsum/,
    ],
    [
      "a dtype that it lacks",
      (d) => d.call("aten._to_copy.default", [d.reduce(d.input("x", [8, 4]))], [8, 4], { dtype: "float64" }),
      /collc stores no tensors of float64, as '_to_copy_1' is/,
    ],
  ])("says why not: %s", ([, make, why]) => {
    const d = new Dump(2);
    const y = make(d);
    const { edges } = lower(d.graph(y), { ranks: 2, fuse: "legal" });
    expect(edges.filter((e) => !e.isFused).map((e) => e.why).join("; ")).toMatch(why); // prettier-ignore
  });

  test("says that a dtype is missing where one is", () => {
    const d = new Dump(2);
    const x = d.reduce(d.input("x", [8, 4]));
    const graph = d.graph(d.pointwise("relu", x));
    const untold = { ...graph, nodes: graph.nodes.map(({ dtype, ...n }) => (n.name === "relu_1" ? n : { ...n, ...(dtype === undefined ? {} : { dtype }) })) }; // prettier-ignore
    expect(lower(untold, { ranks: 2, fuse: "legal" }).parts.at(-1)).toMatchObject({ why: expect.stringMatching(/^nothing says its dtype.*dump the graph with torch's own dtypes$/) }); // prettier-ignore
  });

  test("another group's conversion stays NCCL's", () => {
    const d = new Dump(2);
    const x = d.reduce(d.input("x", [8, 4]));
    const graph = d.graph(
      d.pointwise("relu", d.wait(d.call("_c10d_functional.all_reduce.default", [x, "sum", "dp"], [8, 4]))),
    );
    const { parts, edges } = lower({ ...graph, groups: { tp: 2, dp: 8 } }, { ranks: 2, fuse: "legal" });
    expect(parts.map((p) => (p.kind === "program" ? "program" : p.by))).toEqual(["program", "nccl", "caller"]);
    expect(edges[0]!.why).toBe("'all_reduce_2' is of a group of 8 ranks, not 2");
  });

  test("a program does not run both before and after another step", () => {
    const d = new Dump(2);
    const x = d.reduce(d.input("x", [8, 4]));
    const y = d.call("aten.cumsum.default", [d.pointwise("exp", x), 0], [8, 4]);
    const { edges } = lower(d.graph(d.pointwise("add", x, y)), { ranks: 2, fuse: "legal" });
    expect(edges.find((e) => e.to === "add_1")!.why).toBe("'cumsum_1' stands between them and is not in the program");
  });
});

describe("memory", () => {
  test("tensors of disjoint lifetimes share memory, peers' tensors lie apart", () => {
    const d = new Dump(2, "bfloat16");
    // Longer than what travels in packets, which would need no symmetric tensors.
    const shape = [16384, 1024];
    let x = d.input("x", shape);
    // What collc does not know keeps the conversions apart.
    for (let i = 0; i < 4; i++) x = d.call("aten.cumsum.default", [d.reduce(x), 0], shape);
    const { buffers, symmetric, parts } = lower(d.graph(x), { ranks: 2, library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
    // Peers store into results and read nothing: with all_reduce/push, what is reduced lies in memory of the kernel.
    expect(symmetric).toEqual(["all_reduce_1", "all_reduce_2", "all_reduce_3", "all_reduce_4"]);
    const pools = Object.values(buffers.pools);
    expect(pools.reduce((sum, p) => sum + p.withoutReuse, 0)).toBe(8 * 2 ** 25);
    expect(pools.reduce((sum, p) => sum + p.bytes, 0)).toBeLessThan(5 * 2 ** 25);
    for (const a of buffers.tensors)
      for (const b of buffers.tensors) {
        const isApart = a === b || a.pool !== b.pool || a.to < b.from || b.to < a.from;
        expect(isApart || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset).toBe(true);
      }
    expect(buffers.tensors.filter((t) => t.pool === "symmetric").map((t) => t.tensor)).toEqual(symmetric);
    expect(parts.at(-1)!.nodes).toEqual(["cumsum_4"]);
  });
});

describe("parts of what collc does not know", () => {
  const attended = (): FxGraph => {
    const d = new Dump(2, "bfloat16");
    const q = d.input("q", [1024, 1024]);
    const both = d.call("aten.attention.default", [q], null);
    const [out, rest] = [d.call("getitem", [both, 0], [1024, 1024]), d.call("getitem", [both, 1], [1024, 4])];
    return d.graph(d.reduce(d.mm(out, d.input("w", [1024, 64]))), rest);
  };

  test("are its maker's: no kernel of their own, and memory from the step on that makes them", () => {
    const { parts, edges, buffers } = lower(attended(), { ranks: 2, measured: { mm_1: 1e-9, all_reduce_1: 1e-9 } });
    expect(parts.map((p) => p.nodes)).toEqual([["attention_1"], ["mm_1"], ["all_reduce_1"]]);
    expect(edges.map((e) => [e.from, e.to])).toEqual([["mm_1", "all_reduce_1"]]);
    const life = buffers.tensors.map(({ tensor, bytes, from, to }) => [tensor, bytes, from, to]);
    expect(life.sort()).toEqual([
      ["all_reduce_1", 2 ** 17, 2, 3],
      ["getitem_1", 2 ** 21, 0, 1],
      ["getitem_2", 2 ** 13, 0, 3],
      ["mm_1", 2 ** 17, 1, 2],
    ]);
  });

  test("are what it stores: it takes as long as one tensor of as many bytes", () => {
    const d = new Dump(2, "bfloat16");
    const one = d.call("aten.attention.default", [d.input("q", [1024, 1024])], [1024, 1028]);
    const time = (fx: FxGraph): number => lower(fx, { ranks: 2 }).parts.find((p) => p.nodes[0] === "attention_1")!.seconds; // prettier-ignore
    expect(time(attended())).toBeCloseTo(time(d.graph(d.reduce(one))), 12);
  });
});

describe("the FX format", () => {
  const graph = (): FxGraph => {
    const d = new Dump(2);
    return d.graph(d.reduce(d.input("x", [8, 4])));
  };
  const multiplied = (a: readonly number[], b: readonly number[], shape: readonly number[]): FxGraph => {
    const d = new Dump(2);
    const product = d.call("aten.mm.default", [d.input("x", a), d.input("w", b)], shape);
    return d.graph(d.reduce(product));
  };
  const changed = (g: FxGraph, name: string, to: Partial<FxNode>): FxGraph => ({ ...g, nodes: g.nodes.map((n) => (n.name === name ? { ...n, ...to } : n)) }); // prettier-ignore
  test.for<[string, (g: FxGraph) => unknown, RegExp]>([
    [
      "a node that is not there",
      (g) => ({ ...g, nodes: g.nodes.slice(1) }),
      /node 'all_reduce_1' is made of 'x', which does not stand before it/,
    ],
    ["two of a name", (g) => ({ ...g, nodes: [g.nodes[0], ...g.nodes] }), /two nodes are called 'x'/],
    ["no output", (g) => ({ ...g, nodes: g.nodes.slice(0, -1) }), /one output node/],
    [
      "a placeholder without shape",
      (g) => ({ ...g, nodes: [{ name: "x", op: "placeholder", dtype: "f32" }, ...g.nodes.slice(1)] }),
      /node 'x': 'shape' is missing/,
    ],
    [
      "fewer strides than dimensions",
      (g) => changed(g, "x", { strides: [4] }),
      /node 'x' has 2 dimensions and 1 strides/,
    ],
    [
      "a sum of another dtype than what is summed",
      (g) => changed(g, "all_reduce_1", { dtype: "torch.bfloat16" }),
      /node 'all_reduce_1' says that it has elements of bf16; _c10d_functional.all_reduce.default of its arguments has f32/,
    ],
    [
      "a sum of another shape",
      (g) => changed(g, "all_reduce_1", { shape: [9, 4] }),
      /'all_reduce_1' says that it has the shape \[9, 4\]; .* has \[8, 4\]/,
    ],
    [
      "a sum of another shape, whatever a launch says",
      (g) => ({ ...changed(changed(g, "x", { shape: ["n", 4] }), "all_reduce_1", { shape: [{ op: "add", a: "n", b: 1 }, 4] }), sizes: { n: {} } }), // prettier-ignore
      /'all_reduce_1' says that it has the shape \[n \+ 1, 4\]; .* has \[n, 4\]/,
    ],
    [
      "a view of more elements than there are",
      () => {
        const d = new Dump(2);
        return d.graph(d.call("aten.view.default", [d.reduce(d.input("x", [8, 4])), [9, 4]], [9, 4]));
      },
      /node 'view_1' sees \[8, 4\] as \[9, 4\], which has another number of elements/,
    ],
    [
      "matrices that do not fit together",
      () => multiplied([8, 4], [6, 2], [8, 2]),
      /node 'mm_1' multiplies \[8, 4\] by \[6, 2\]: 4 columns meet 6 rows/,
    ],
    [
      "a product of another shape",
      () => multiplied([8, 4], [4, 2], [8, 3]),
      /node 'mm_1' says that \[8, 4\] times \[4, 2\] has the shape \[8, 3\]; it has 8 rows of 2/,
    ],
    [
      "no groups of so many ranks",
      (g) => ({ ...g, groups: { tp: 4 } }),
      /no process group of the FX graph has 2 ranks/,
    ],
  ])("refuses %s", ([, change, message]) =>
    expect(() => lower(change(graph()) as FxGraph, { ranks: 2 })).toThrow(message),
  );

  test("has the schema that is published", () => {
    const file = new URL("../../schemas/fx.schema.json", import.meta.url);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(fxSchema());
  });

  test("its float64 reference knows sums by hand", () => {
    const reference = new FxReference(atSizes(asFx(graph()), {}));
    const [result] = reference.run({ x: [new Float64Array(32).fill(1), new Float64Array(32).fill(2)] });
    expect([...result![0]!.data]).toEqual(Array.from({ length: 32 }, () => 3));
  });
});

test("generated regions: the steps, however they are fused, compute what every rank's program says", () => {
  let programs = 0;
  let together = 0;
  for (const { ranks, fx } of fc.sample(fxRegions(), { numRuns: 50, seed: 3 })) {
    const { parts } = expectLowered(fx, { ranks, ...LEGAL });
    for (const p of parts.filter((one) => one.kind === "program")) {
      programs++;
      if (p.nodes.length > 1) together++;
    }
  }
  expect(programs).toBeGreaterThan(25);
  expect(together).toBeGreaterThan(12);
});
