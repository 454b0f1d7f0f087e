/** What the fuzzers have found, as small as it gets: all of it ended in an internal error, in CUDA that does not compile, or was refused. */
import { describe, expect, test } from "vitest";
import { NUMBERS } from "../../src/compiler/execute/domains/numbers.js";
import { asFx, asGraph, lower } from "../../src/compiler/graph/index.js";
import { CollcError } from "../../src/runtime/errors.js";
import { expectAnswer } from "./kinds.js";
import { expectRunsAgree } from "./properties.js";

const SHAPES = [
  { n: 12, m: 24 },
  { n: 72, m: 12 },
];

test.each([
  [
    "a fold of indices along a row of unknown length",
    `collective f(x: i32[n, m] local) -> y: i32[n, m] local {
      for i, j in tiles(n, m) { y[i, j] = x[(max(k in 0..m) k * i % 7) % n, j] }
    }`,
  ],
  [
    "the greatest and the least of no indices",
    `collective f(x: i32[n] local) -> (y: i32[n] local, z: i32[m] local) {
      for i in tiles(n) { y[i] = x[(max(k in rank..0) k) % n] + x[(min(k in rank..0) k) % n] }
      for i in tiles(m) { z[i] = 0 }
    }`,
  ],
  [
    "lengths that are equal but written otherwise",
    `collective f(a: T[2, m, 2] sharded(1), b: T[n, m, 2] sharded(1), x: T[n, m, 2] replicated) -> y: T[n, m, 2] replicated {
      y = x - all_reduce(sum(concat(a, b[2..n, .., ..], dim: 0), dim: 1))
    }`,
  ],
  [
    "conditions that are moved",
    `collective f(a: bool[n, m] sharded(0), b: bool[m] replicated) -> (y: bool[m, n] replicated, z: bool[2 * m] replicated) {
      let turned = transpose(all_gather(a))
      y = turned and not permute(reshape(turned, n, m), 1, 0)
      z = concat(b, b, dim: 0)
    }`,
  ],
])("%s", async (_, text) => {
  const compiled = await expectAnswer({ text, ranks: 3, dtype: "f32", width: 100 });
  expect(compiled.flatMap((one) => one.diagnostics).filter((d) => d.severity === "error")).toEqual([]);
  for (const one of compiled) {
    expect(one.kernels.map((k) => k.cuda).join("\n")).not.toMatch(/Infinity|NaN/);
    expectRunsAgree(one, SHAPES, 1);
  }
});

describe("graphs that mean nothing are refused in words:", () => {
  const placeholder = { name: "x0", op: "placeholder", shape: [6, 4], dtype: "torch.float32" };
  const output = (name: string): object => ({ name: "output", op: "output", args: [[{ node: name }]] });
  const call = (target: string, args: unknown, shape: unknown): object => ({ name: "c_1", op: "call_function", target, args, shape, dtype: "torch.float32" }); // prettier-ignore
  const fx = (nodes: readonly unknown[], more = {}): unknown => ({ format: "collc-fx-1", name: "region", groups: { tp: 3 }, nodes, ...more }); // prettier-ignore
  const x = { node: "x0" };
  test.each([
    ["a node that is null", fx([placeholder, null]), /entry 1 of the FX graph's nodes: it must be an object/],
    ["a hint beyond all numbers", fx([{ ...placeholder, shape: ["s0", 4] }, output("x0")], { sizes: { s0: { hint: 1e308 } } }), /hint/], // prettier-ignore
    ["a slice of a dimension that is not there", fx([placeholder, call("aten.slice.Tensor", [x, 6, 1, 3], [6, 2]), output("c_1")]), /node 'c_1' names dimension 6 of a tensor that has 2/], // prettier-ignore
    ["a slice of another shape", fx([placeholder, call("aten.slice.Tensor", [x, 1, 1, 3], [6]), output("c_1")]), /node 'c_1', a slice of a tensor with 2 dimensions, says that it has 1/], // prettier-ignore
    ["a fold along one", fx([placeholder, call("aten.amax.default", [x, 1e308, true], [6, 1]), output("c_1")]), /names dimension 1e\+308/], // prettier-ignore
    ["what is joined but no list", fx([placeholder, call("aten.cat.default", [1], [6, 4]), output("c_1")]), /node 'c_1' joins no list of tensors/], // prettier-ignore
    ["a length beyond all numbers", fx([{ ...placeholder, shape: [1e308, 4] }, output("x0")]), /node 'x0': shape\.0/], // prettier-ignore
    ["a factor of a length beyond them", fx([{ ...placeholder, shape: [{ op: "mul", a: 1e308, b: "s0" }, 4] }, output("x0")], { sizes: { s0: {} } }), /node 'x0': shape/], // prettier-ignore
    ["elements beyond them", fx([{ ...placeholder, shape: [2 ** 52, 4] }, output("x0")]), /node 'x0' has 18014398509481984 elements, more/], // prettier-ignore
    ["elements beyond them at a hint", fx([{ ...placeholder, shape: ["s0", 4] }, output("x0")], { sizes: { s0: { hint: 2 ** 52 } } }), /elements at s0 = 4503599627370496, more/], // prettier-ignore
    ["a product of two numbers with a shape", fx([placeholder, call("aten.mul.Tensor", [2, 1], [6, 4]), output("c_1")]), /node 'c_1' says that it has 2 dimensions; aten.mul.Tensor of its arguments has 0/], // prettier-ignore
    ["a conversion of one", fx([placeholder, call("aten.mul.Tensor", [2, 1], []), { ...call("_c10d_functional.reduce_scatter_tensor.default", [{ node: "c_1" }, "sum", 3, "tp"], ["s0"]), name: "r_1" }, output("r_1")], { sizes: { s0: {} } }), /node 'r_1' is reduce_scatter of a tensor without dimensions/], // prettier-ignore
    ["a matrix without dimensions", fx([{ ...placeholder, shape: [] }, call("aten.mm.default", [x, x], [6, 6]), output("c_1")]), /node 'c_1' multiplies a tensor without dimensions/], // prettier-ignore
  ])("%s", (_, graph, message) => {
    const run = (): unknown => lower(asFx(graph), { ranks: 3, fuse: "legal" });
    expect(run).toThrow(CollcError);
    expect(run).toThrow(message);
  });

  test("a tensor without dimensions", () => {
    const input = { id: "x0", dtype: "T", shape: [], layout: "replicated" };
    const graph = { format: "collc-graph-1", name: "f", inputs: [input], nodes: [{ id: "t1", op: "neg", inputs: ["x0"] }], outputs: [{ id: "y0", dtype: "T", shape: ["n"], layout: "replicated", value: "t1" }] }; // prettier-ignore
    expect(() => asGraph(graph)).toThrow(CollcError);
  });
});

test("no function in the executor's text has a name that indices get, as i64 is that of the 64th", () => {
  const names = Object.keys(NUMBERS.helpers(""));
  expect(names).toContain("int64");
  expect(names.filter((name) => /^[a-z]\d+$/.test(name))).toEqual([]);
});
