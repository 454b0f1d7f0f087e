/** Conversions of lists of tensors, and all_to_all whose parts are listed: what becomes of them, and why not. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FxReference } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import { asFx, type FxGraph, lower, type Lowered, partitionReport } from "../../src/compiler/graph/index.js";
import type { Extent } from "../../src/compiler/index.js";
import { extent } from "../../src/compiler/types/extent.js";
import { Dump, expectLowered, expectRuns, fused, lengthArgument } from "./fx-support.js";

const LEGAL = { ranks: 2, fuse: "legal" } as const;

const operations = (l: Lowered): string[][] =>
  l.parts.flatMap((p) => (p.kind === "program" ? [p.graph.nodes.map((n) => n.op)] : []));
const steps = (l: Lowered): string[] => l.parts.map((p) => `${p.kind === "program" ? "program" : p.by} ${p.nodes.join(" + ")}`); // prettier-ignore
const reasons = (l: Lowered): string[] => l.parts.flatMap((p) => (p.kind === "external" && p.by === "nccl" ? [p.why] : [])); // prettier-ignore

/** The tensors of a list, waited for, as torch's functional collectives leave them. */
function coalesced(
  d: Dump,
  name: string,
  xs: readonly string[],
  rest: readonly unknown[],
  of: (rows: Extent) => Extent,
): string[] {
  // prettier-ignore
  const list = d.call(`_c10d_functional.${name}.default`, [xs, ...rest], null);
  return xs.map((x, i) => {
    const [rows, ...others] = d.shapeOf(x);
    return d.wait(d.call("getitem", [list, i], [of(rows!), ...others], { dtype: d.dtypeOf(x) }));
  });
}
const gathered = (d: Dump, xs: readonly string[], group = "tp", ranks = d.ranks): string[] => coalesced(d, "all_gather_into_tensor_coalesced", xs, [ranks, group], (n) => extent("mul", ranks, n)); // prettier-ignore
const scattered = (d: Dump, xs: readonly string[], reduce = "sum"): string[] => coalesced(d, "reduce_scatter_tensor_coalesced", xs, [reduce, d.ranks, "tp"], (n) => extent("div", n, d.ranks)); // prettier-ignore
const reduced = (d: Dump, xs: readonly string[], reduce = "sum", name = "all_reduce_coalesced"): string[] => coalesced(d, name, xs, [reduce, "tp"], (n) => n); // prettier-ignore

interface Form {
  readonly name: string;
  readonly make: (d: Dump) => readonly string[];
  readonly becomes: readonly (readonly string[])[];
}

const FORMS: readonly Form[] = [
  {
    name: "gathered together: activations and a weight, and their product",
    make: (d) => {
      const [x, w] = gathered(d, [d.input("x", [3, 8]), d.input("w", [8 / d.ranks, 6])]) as [string, string];
      return [d.mm(x, w)];
    },
    becomes: [["all_gather", "all_gather", "matmul"]],
  },
  {
    name: "scattered together, each behind what it is made by, and averaged",
    make: (d) => {
      const [x, y] = [d.input("x", [4 * d.ranks, 6]), d.input("y", [2 * d.ranks, 3])];
      return scattered(d, [d.pointwise("mul", x, 0.5), y], "avg").map((z) => d.pointwise("tanh", z));
    },
    becomes: [["mul", "reduce_scatter", "mul", "tanh", "reduce_scatter", "mul", "tanh"]],
  },
  {
    name: "reduced together, of several shapes, one of them used twice",
    make: (d) => {
      const xs = [d.input("x", [4, 6]), d.input("y", [5]), d.input("z", [2, 3, 2])];
      const [a, b, c] = reduced(d, xs, "max") as [string, string, string];
      return [d.pointwise("relu", a), d.pointwise("mul", a, 2), b, d.pointwise("neg", c)];
    },
    becomes: [["all_reduce", "relu", "mul", "all_reduce", "all_reduce", "neg"]],
  },
  {
    name: "one tensor, twice in a list, and a list of one",
    make: (d) => {
      const x = d.input("x", [4, 6]);
      const [a, b] = reduced(d, [x, x]) as [string, string];
      return [d.pointwise("add", a, b), ...reduced(d, [d.input("y", [3])])];
    },
    becomes: [["all_reduce", "all_reduce", "add"], ["all_reduce"]],
  },
  {
    name: "in place of what nobody else looks at",
    make: (d) => {
      const xs = [d.pointwise("mul", d.input("x", [4, 6]), 2), d.pointwise("exp", d.input("y", [5]))];
      return reduced(d, xs, "sum", "all_reduce_coalesced_").map((z) => d.pointwise("relu", z));
    },
    // What is not linear is folded over the rows that the ranks make.
    becomes: [["mul", "all_reduce", "relu", "exp", "sum", "reshape", "all_reduce", "relu"]],
  },
];

describe.for([2, 4])("lists of tensors, exchanged together, on %i ranks", (ranks) => {
  test.for(FORMS)("$name", ({ make, becomes }) => {
    const d = new Dump(ranks);
    const lowered = expectLowered(d.graph(...make(d)), { ranks, fuse: "legal" });
    expect(operations(lowered)).toEqual(becomes);
  });
});

test("a list in place of what is given stays one call of the caller's", () => {
  const d = new Dump(2);
  const [x, y] = [d.input("x", [4, 6]), d.input("y", [5])];
  const sums = reduced(d, [x, y], "sum", "all_reduce_coalesced_");
  const lowered = expectLowered(d.graph(d.pointwise("relu", x), sums[1]!), LEGAL);
  expect(steps(lowered)).toEqual(["nccl all_reduce_coalesced__1", "caller relu_1"]);
  expect(reasons(lowered)).toEqual(["it changes 'x', which others see"]);
});

test("a list is exchanged as a whole, by a program or by NCCL: what one of its tensors needs, keeps all of them", () => {
  const d = new Dump(2, "float32", "region", {}, { dp: 4 });
  const [a, b] = gathered(d, [d.input("x", [3, 8]), d.input("y", [4])], "dp", 4) as [string, string];
  const lowered = expectLowered(d.graph(d.reduce(d.pointwise("relu", a)), b), LEGAL);
  expect(steps(lowered)).toEqual(["nccl all_gather_into_tensor_coalesced_1", "program relu_1 + all_reduce_1"]);
  expect(reasons(lowered)).toEqual(["'all_gather_into_tensor_coalesced_1' is of a group of 4 ranks, not 2"]);
  expect(partitionReport(lowered)).toContain("all_gather_into_tensor_coalesced_1 -> relu_1: not fused because 'all_gather_into_tensor_coalesced_1' is of a group of 4 ranks, not 2"); // prettier-ignore
});

test("each neighbour of a list has its verdict, with both times", () => {
  const d = new Dump(4, "bfloat16");
  const [x, y] = gathered(d, [d.input("x", [1024, 4096]), d.input("y", [1024, 4096])]) as [string, string];
  const { edges, baseline } = lower(d.graph(d.mm(x, d.input("w", [4096, 2048])), d.pointwise("relu", y)), { ranks: 4 });
  expect(edges.map((e) => [e.from, e.to])).toEqual([["all_gather_into_tensor_coalesced_1", "mm_1"], ["all_gather_into_tensor_coalesced_1", "relu_1"]]); // prettier-ignore
  for (const { why, together, apart } of edges) expect([why, together! > 0, apart! > 0]).toEqual([expect.stringMatching(/µs together|predicted to take/), true, true]); // prettier-ignore
  // The caller's own way moves both tensors.
  const one = new Dump(4, "bfloat16");
  const alone = lower(one.graph(one.mm(one.gather(one.input("x", [1024, 4096])), one.input("w", [4096, 2048]))), { ranks: 4 }); // prettier-ignore
  expect(baseline).toBeGreaterThan(alone.baseline + 20e-6);
});

// As PyTorch 2.13 for CPUs traces it, with Inductor's decompositions: GELU is written out, and even parts are listed.
test("what torch dumps of lists is lowered, and computes what it says", () => {
  const fx = asFx(JSON.parse(readFileSync(join(import.meta.dirname, "dumps/coalesced.json"), "utf8")));
  const lowered = expectLowered(fx, LEGAL);
  expect(steps(lowered)).toEqual([
    "program all_gather_into_tensor_coalesced + mm + mul",
    "program reduce_scatter_tensor_coalesced + all_reduce_coalesced + mul_1 + mul_2 + erf + add + mul_3 + sin",
    "program all_to_all_single",
    "program all_to_all_single_1",
  ]);
});

describe("all_to_all with its parts listed", () => {
  const exchange = (d: Dump, x: string, received: unknown, sent: unknown, rows = d.shapeOf(x)[0]!): string =>
    d.wait(d.call("_c10d_functional.all_to_all_single.default", [x, received, sent, "tp"], [rows, ...d.shapeOf(x).slice(1)])); // prettier-ignore

  test.for<[string, unknown]>([
    ["as many rows for each rank", [3, 3]],
    ["no list", null],
    ["an empty one", []],
  ])("is the even one: %s", ([, sizes]) => {
    const d = new Dump(2);
    const y = exchange(d, d.pointwise("mul", d.input("x", [6, 5]), 2), sizes, sizes);
    const lowered = expectLowered(d.graph(d.pointwise("relu", y)), LEGAL);
    expect(fused(lowered)).toEqual(["mul_1 + all_to_all_single_1 + relu_1"]);
  });

  test("of sizes that the launch knows", () => {
    const d = new Dump(2, "float32", "region", { s0: { min: 1, max: 64, hint: 6 } });
    const rows = extent("mul", 2, "s0");
    const sizes = [lengthArgument("s0"), lengthArgument("s0")];
    const fx = d.graph(d.pointwise("relu", exchange(d, d.input("x", [rows, 5]), sizes, sizes)));
    const lowered = lower(fx, LEGAL);
    expect(fused(lowered)).toEqual(["all_to_all_single_1 + relu_1"]);
    for (const s0 of [1, 5]) expect(expectRuns(fx, lowered, { s0 })).toBe(1);
  });

  test.for<[string, unknown, unknown, number, string]>([
    ["sent", [2, 2], [3, 1], 4, "it sends parts of 3, 1 rows; collc has all_to_all of equal parts"],
    ["received", [1, 3], [2, 2], 4, "it receives parts of 1, 3 rows; collc has all_to_all of equal parts"],
    ["more than was sent", [3, 3], [2, 2], 6, "it sends 4 rows and receives 6; collc has all_to_all of equal parts"],
    ["only the launch knows", [2, 2], [{ node: "k" }, 2], 4, "how long its parts are, only the launch knows"],
    ["sizes that may be others", [2, 2], [{ size: "s0" }, { size: "s0" }], 4, "whether parts of s0, s0 rows are equal ones of 4, only the launch knows"],
  ])("is NCCL's where parts are not known to be equal: %s", ([, received, sent, rows, why]) => {
    const d = new Dump(2, "float32", "region", { s0: {} });
    const k = d.input("k", [1]);
    const y = exchange(d, d.pointwise("mul", d.input("x", [4, 5]), 2), received, sent, rows);
    const { parts, edges } = lower(d.graph(d.pointwise("relu", y), k), LEGAL);
    expect(parts.map((p) => (p.kind === "external" ? [p.by, p.nodes, p.why] : []))).toEqual([
      ["caller", ["mul_1"], "it moves nothing between ranks"],
      ["nccl", ["all_to_all_single_1"], why],
      ["caller", ["relu_1"], "it moves nothing between ranks"],
    ]);
    // Both neighbours are told why.
    expect(edges).toMatchObject([
      { from: "mul_1", to: "all_to_all_single_1", isFused: false, why: `of 'all_to_all_single_1': ${why}` },
      { from: "all_to_all_single_1", to: "relu_1", isFused: false, why: `of 'all_to_all_single_1': ${why}` },
    ]);
  }); // prettier-ignore

  test.for<[unknown, unknown, string]>([
    [[2, 2, 2], null, "node 'all_to_all_single_1' receives 3 parts among 2 ranks"],
    [null, [3, 3], "node 'all_to_all_single_1' sends parts of 3, 3 rows, of a tensor that has 4"],
    [[1, 1], null, "node 'all_to_all_single_1' receives parts of 1, 1 rows, of a tensor that has 4"],
  ])("is refused where the lists are not those of the tensors: %j, %j", ([received, sent, message]) => {
    const d = new Dump(2);
    const fx = d.graph(exchange(d, d.input("x", [4, 5]), received, sent));
    expect(() => lower(fx, LEGAL)).toThrow(message);
  }); // prettier-ignore
});

test("wrong lists are refused, and what is no list", () => {
  const of = (first: unknown): FxGraph => {
    const d = new Dump(2);
    d.input("x", [4, 6]);
    const list = d.call("_c10d_functional.all_reduce_coalesced.default", [first, "sum", "tp"], null);
    return d.graph(d.call("getitem", [list, 0], [4, 6]));
  };
  for (const wrong of ["x", []]) expect(() => lower(of(wrong), LEGAL)).toThrow("node 'all_reduce_coalesced_1' is a conversion of no list of tensors"); // prettier-ignore
  const one = (index: number): FxGraph => {
    const d = new Dump(2);
    const list = d.call("_c10d_functional.all_reduce_coalesced.default", [[d.input("x", [4, 6])], "sum", "tp"], null);
    return d.graph(d.call("getitem", [list, index], [4, 6]));
  };
  expect(() => lower(one(1), LEGAL)).toThrow("node 'getitem_1' takes part 1 of 'all_reduce_coalesced_1', which has 1");
  expect(fused(lower(one(0), LEGAL))).toEqual(["all_reduce_coalesced_1"]);
});

test("in float64, by hand: each rank's list, and what a change in place leaves", () => {
  const d = new Dump(2);
  const [x, y] = [d.input("x", [2]), d.input("y", [1])];
  const [a, b] = gathered(d, [x, y]) as [string, string];
  const [c] = scattered(d, [a], "avg") as [string];
  const sums = reduced(d, [x, y], "sum", "all_reduce_coalesced_");
  const results = new FxReference(atSizes(d.graph(a, b, c, x, sums[1]!), {})).run({
    x: [[1, 2], [3, 4]],
    y: [[5], [6]],
  }); // prettier-ignore
  expect(results.map((ranks) => ranks.map((r) => [...r.data]))).toEqual([
    [[1, 2, 3, 4], [1, 2, 3, 4]],
    [[5, 6], [5, 6]],
    [[1, 2], [3, 4]],
    [[4, 6], [4, 6]],
    [[11], [11]],
  ]); // prettier-ignore
});
