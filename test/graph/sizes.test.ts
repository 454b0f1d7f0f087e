/** FX graphs with sizes that only a launch knows: one program for all of them, what it asks of them, and what it is predicted at. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FxGraph,
  type FxSizeRange,
  lower,
  type Lowered,
  loweredToJson,
  partitionReport,
} from "../../src/compiler/graph/index.js";
import type { DimValues, Extent } from "../../src/compiler/index.js";
import { extent } from "../../src/compiler/types/extent.js";
import { fxRegions } from "./fx-regions.js";
import type { SizeTimes } from "../../src/compiler/graph/fx/times.js";
import { Dump, expectRuns, fused } from "./fx-support.js";
import { isAll } from "../scope.js";

const RANKS = 2;
const mul = (a: Extent, b: Extent): Extent => extent("mul", a, b);
const add = (a: Extent, b: Extent): Extent => extent("add", a, b);
const div = (a: Extent, b: Extent): Extent => extent("div", a, b);
const at = (...s0: number[]): DimValues[] => s0.map((n) => ({ s0: n }));

interface Form {
  readonly name: string;
  readonly sizes?: Readonly<Record<string, FxSizeRange>>;
  readonly make: (d: Dump) => readonly string[];
  /** Programs, each as the operations of its graph. */
  readonly becomes: readonly (readonly string[])[];
  readonly runs: readonly DimValues[];
  /** Sizes at which a guard is broken, and what stays instead is carried out. */
  readonly stays?: readonly DimValues[];
}

const FORMS: readonly Form[] = [
  {
    name: "tokens are gathered and multiplied",
    make: (d) => [d.mm(d.gather(d.input("x", ["s0", 8])), d.input("w", [8, 6]))],
    becomes: [["all_gather", "matmul"]],
    runs: at(0, 1, 2, 7),
  },
  {
    name: "rows that a reduce_scatter cuts, and what lies beside them: lengths that are rounded",
    make: (d) => {
      const h = d.pointwise("add", d.scatter(d.input("x", ["s0", 8])), d.input("residual", [div("s0", 2), 8]));
      return [d.pointwise("add", d.gather(h), d.input("whole", [mul(2, div("s0", 2)), 8]))];
    },
    becomes: [["reduce_scatter", "add", "all_gather", "add"]],
    runs: at(0, 2, 6),
  },
  {
    name: "two sizes in one length: reshaped, multiplied, reshaped",
    sizes: { s0: { hint: 2 }, s1: { hint: 3 } },
    make: (d) => {
      const flat = d.view(d.gather(d.input("x", ["s0", "s1", 8])), [mul(2, mul("s0", "s1")), 8]);
      return [d.view(d.mm(flat, d.input("w", [8, 6])), [mul(2, "s0"), "s1", 6])];
    },
    becomes: [["all_gather", "reshape", "matmul"]],
    runs: [{ s0: 1, s1: 1 }, { s0: 2, s1: 3 }, { s0: 4, s1: 1 }, { s0: 0, s1: 3 }], // prettier-ignore
  },
  {
    name: "a dimension split by what the caller says divides it",
    make: (d) => [d.pointwise("relu", d.view(d.reduce(d.input("x", ["s0", 8])), [div("s0", 3), 3, 8]))],
    becomes: [["all_reduce", "reshape", "relu"]],
    runs: at(3, 9),
  },
  {
    name: "a part that ends at a quotient, which must hold something",
    make: (d) => [d.pointwise("relu", d.call("aten.slice.Tensor", [d.reduce(d.input("x", ["s0", 8])), 0, 0, { size: div("s0", 2) }], [div("s0", 2), 8]))], // prettier-ignore
    becomes: [["all_reduce", "slice", "relu"]],
    runs: at(2, 3, 7),
    stays: at(0, 1),
  },
  {
    name: "parts counted from the end, and one row of them",
    sizes: { s0: { min: 3, hint: 8 } },
    make: (d) => {
      const x = d.reduce(d.input("x", ["s0", 8]));
      const last = d.call("aten.slice.Tensor", [x, 0, -3, 2 ** 53 - 1], [3, 8]);
      return [d.pointwise("relu", last), d.pointwise("exp", d.call("aten.select.int", [x, 0, -1], [8]))];
    },
    becomes: [["all_reduce", "slice", "relu", "slice", "reshape", "exp"]],
    runs: at(3, 4, 9),
  },
  {
    name: "joined to what else there is, as long as the sum",
    make: (d) => [d.pointwise("mul", d.cat([d.reduce(d.input("x", ["s0", 8])), d.input("y", [3, 8])], 0), d.input("z", [add("s0", 3), 1]))], // prettier-ignore
    becomes: [["all_reduce", "concat", "mul"]],
    runs: at(1, 5),
  },
  {
    name: "split into as many parts for every size, and gathered along the other dimension",
    make: (d) => [d.mm(d.cat(d.split(d.gather(d.input("x", ["s0", 8])), "s0", 0), 1), d.input("w", [16, 6]))],
    becomes: [["all_gather", "matmul"]],
    runs: at(1, 4, 5),
  },
  {
    name: "a tensor that lies turned, its strides a size",
    make: (d) => [d.pointwise("add", d.reduce(d.input("x", [8, "s0"])), d.input("y", [8, "s0"], { strides: [1, 8] }))],
    becomes: [["all_reduce", "permute", "add"]],
    runs: at(1, 2, 5),
  },
  {
    name: "a tensor that lies turned and is square at the hint",
    sizes: { s0: { hint: 8 } },
    make: (d) => [d.pointwise("add", d.reduce(d.input("x", [8, "s0"])), d.input("y", [8, "s0"], { strides: [1, 8] }))],
    becomes: [["all_reduce", "permute", "add"]],
    runs: at(8, 5),
  },
  {
    name: "rows exchanged by all_to_all",
    make: (d) => {
      const y = d.call("_c10d_functional.all_to_all_single.default", [d.input("x", ["s0", 6]), [{ size: div("s0", 2) }, { size: div("s0", 2) }], [], "tp"], ["s0", 6]); // prettier-ignore
      return [d.pointwise("relu", d.wait(y))];
    },
    becomes: [["reshape", "all_to_all", "permute", "reshape", "relu"]],
    runs: at(2, 8),
  },
];

const operations = (l: Lowered): string[][] =>
  l.parts.flatMap((p) => (p.kind === "program" ? [p.graph.nodes.map((n) => n.op)] : []));

const dumped = ({ name, sizes = { s0: { hint: 12 } }, make }: Form): FxGraph => {
  const d = new Dump(RANKS, "float32", "region", sizes);
  const fx = d.graph(...make(d));
  const says = name.includes("the caller says");
  return says ? { ...fx, holds: [{ left: { op: "mod", a: "s0", b: 3 }, relation: "eq", right: 0 }] } : fx;
};

describe("forms with sizes compute what the region says, one program for all of them", () => {
  test.for(FORMS)("$name", (form) => {
    const fx = dumped(form);
    const lowered = lower(fx, { ranks: RANKS, fuse: "legal" });
    expect(operations(lowered)).toEqual(form.becomes);
    const launched = (all: readonly DimValues[]): number[] => all.map((s) => expectRuns(fx, lowered, s));
    expect(launched(form.runs)).toEqual(form.runs.map(() => form.becomes.length));
    expect(launched(form.stays ?? [])).toEqual((form.stays ?? []).map(() => 0));
  });
});

describe("says why not", () => {
  const why = (make: (d: Dump) => string, sizes: Record<string, FxSizeRange> = { s0: {}, s1: {} }): string => {
    const d = new Dump(RANKS, "float32", "region", sizes);
    const { edges } = lower(d.graph(make(d)), { ranks: RANKS, fuse: "legal" });
    return edges.filter((e) => !e.isFused).map((e) => e.why).join("; "); // prettier-ignore
  };
  test.for<[string, (d: Dump) => string, RegExp]>([
    [
      "a size that no conversion has",
      (d) => d.mm(d.reduce(d.input("x", ["s0", 8])), d.input("w", [8, "s1"])),
      /s1 may be another on each rank, for no conversion is of a tensor that long/,
    ],
    [
      "sizes of which only the product is known to be the same",
      (d) =>
        d.view(d.pointwise("relu", d.view(d.reduce(d.input("x", [mul("s0", "s1")])), ["s0", "s1"])), [mul("s0", "s1")]),
      /s[01] may be another on each rank/,
    ],
    [
      "a length that is the smaller of two",
      (d) => d.pointwise("relu", d.call("aten.slice.Tensor", [d.reduce(d.input("x", ["s0", 8])), 0, 0, 4], [{ op: "min", a: "s0", b: 4 }, 8])), // prettier-ignore
      /a length is min\(s0, 4\), and lengths of programs are sums, products and quotients/,
    ],
    [
      "a size among elements",
      (d) => d.call("aten.mul.Tensor", [d.reduce(d.input("x", ["s0", 8])), { size: "s0" }], ["s0", 8]),
      /a size is a number among the elements of aten.mul.Tensor/,
    ],
    ...["alpha", "beta"].map((factor): [string, (d: Dump) => string, RegExp] => [
      `a size as addmm's ${factor}`,
      (d) => d.call("aten.addmm.default", [d.input("b", [6]), d.reduce(d.input("x", ["s0", 8])), d.input("w", [8, 6])], ["s0", 6], { kwargs: { [factor]: { size: "s0" } } }), // prettier-ignore
      /collc has factors that are numbers, and no others/,
    ]),
    ...[{ size: "s0" }, "inf", "f"].map((alpha): [string, (d: Dump) => string, RegExp] => [
      `a sum whose alpha is ${JSON.stringify(alpha)}`,
      (d) => {
        d.input("f", []);
        const x = d.reduce(d.input("x", ["s0", 8]));
        return d.call("aten.add.Tensor", [x, x], ["s0", 8], { kwargs: { alpha } }); // prettier-ignore
      },
      /collc has factors that are numbers, and no others/,
    ]),
    [
      "as many parts as a size says",
      (d) =>
        d.call("getitem", [d.call("aten.split.Tensor", [d.reduce(d.input("x", ["s0", 8])), 4, 0], null), 0], [4, 8]),
      /how many parts it has, depends on s0/,
    ],
    [
      "lengths of which nothing says that they are equal",
      (d) => d.pointwise("add", d.reduce(d.input("x", ["s0", 8])), d.input("y", ["s1", 8])),
      /nothing says that its lengths s0 and s1 are equal/,
    ],
  ])("%s", ([, make, message]) => expect(why(make)).toMatch(message));
});

describe("verdicts are at the hint, and say so", () => {
  const product = (hint?: number): Lowered => {
    const d = new Dump(4, "bfloat16", "region", {
      s0: { min: 2, max: 65536, ...(hint === undefined ? {} : { hint }) },
    });
    const y = d.scatter(d.mm(d.input("x", [mul(4, "s0"), 512]), d.input("w", [512, 1024])));
    return lower(d.graph(d.pointwise("add", y, d.input("residual", ["s0", 1024]))), { ranks: 4 });
  };

  test("the same graph, other times", () => {
    const [few, many] = [product(4), product(16384)];
    expect([few.at, many.at, product().at]).toEqual([{ s0: 4 }, { s0: 16384 }, { s0: 1024 }]);
    expect(many.seconds).toBeGreaterThan(10 * few.seconds);
    for (const l of [few, many]) {
      expect(fused(l).length).toBeGreaterThan(0);
      const time = `s0 = ${l.at["s0"]}`;
      expect(partitionReport(l)).toContain(`sizes that the launch knows: s0 from 2 to 65536; times and memory are for ${time}, the hint`); // prettier-ignore
    }
    expect(partitionReport(product())).toContain("times and memory are for s0 = 1024\n");
  });

  test("the result has limits and divisions as guards, with their reasons, and what dimensions are", () => {
    const d = new Dump(4, "float32", "region", { s0: { min: 4, max: 64, hint: 10 } });
    const lowered = lower(d.graph(d.pointwise("relu", d.scatter(d.input("x", ["s0", 8])))), {
      ranks: 4,
      fuse: "legal",
    });
    // The hint is none that can be: the nearest one is taken.
    expect(lowered.at).toEqual({ s0: 12 });
    const [part] = (loweredToJson(lowered) as { parts: unknown[] }).parts;
    expect(part).toMatchObject({
      dims: { s0_by_4: { op: "div", a: "s0", b: 4 } },
      guards: [
        { left: "s0", relation: "ge", right: 4, reason: "the graph is for s0 >= 4" },
        { left: "s0", relation: "le", right: 64, reason: "the graph is for s0 <= 64" },
        { left: { op: "mod", a: "s0", b: 4 }, relation: "eq", right: 0, reason: "'reduce_scatter_tensor_1' cuts it among 4 ranks" }, // prettier-ignore
      ],
      inputs: [{ tensor: "x", shape: [{ op: "mul", a: 4, b: "s0_by_4" }, 8] }],
      outputs: [{ tensor: "relu_1", shape: ["s0_by_4", 8] }],
    });
    expect(partitionReport(lowered)).toContain("if s0 % 4 == 0: 'reduce_scatter_tensor_1' cuts it among 4 ranks\n");
  });
});

describe("the FX format", () => {
  const graph = (sizes: Record<string, FxSizeRange>, length: Extent = "s0"): FxGraph => {
    const d = new Dump(RANKS, "float32", "region", sizes);
    return d.graph(d.reduce(d.input("x", [length, 4])));
  };
  test.for<[string, FxGraph, RegExp]>([
    ["a size that is not listed", graph({ s1: {} }), /node 'x' has the size 's0', which the graph does not list/],
    ["a size with a node's name", graph({ x: {}, s0: {} }), /a size cannot be called 'x'/],
    ["a size with a keyword's name", graph({ world: {} }, "world"), /a size cannot be called 'world'/],
    ["a hint that is out of range", graph({ s0: { max: 4, hint: 5 } }), /5 is the hint, and 0 to 4 the range/],
    ["sizes that cannot be", { ...graph({ s0: { min: 5, max: 5 } }), holds: [{ left: { op: "mod", a: "s0", b: 2 }, relation: "eq", right: 0 }] }, /the graph's sizes can be none/], // prettier-ignore
  ])("refuses %s", ([, fx, message]) => expect(() => lower(fx, { ranks: RANKS })).toThrow(message));
});

test("generated regions with sizes: one lowering, several launches, 0 and 1 among them", () => {
  let [launched, programs, empty] = [0, 0, 0];
  for (const { ranks, fx, launches } of fc.sample(fxRegions(true), { numRuns: isAll ? 60 : 25, seed: 11 })) {
    const lowered = lower(fx, { ranks, fuse: "legal" });
    for (const sizes of launches) {
      launched += expectRuns(fx, lowered, sizes);
      programs += lowered.parts.filter((p) => p.kind === "program").length;
      if (sizes["s0"] === 0) empty++;
    }
  }
  expect(launched).toBeGreaterThan(isAll ? 150 : 60);
  expect(empty).toBeGreaterThan(isAll ? 20 : 8);
  // Guards are for parts that hold nothing, and for little else.
  expect(launched).toBeGreaterThan(0.95 * programs);
});

describe("over a range of a size", () => {
  const gathered = (): FxGraph => {
    const d = new Dump(2, "bfloat16", "region", { s0: { min: 2, max: 65536, hint: 4096 } });
    return d.graph(d.mm(d.gather(d.input("x", ["s0", 4096])), d.input("w", [4096, 4096])));
  };

  test("both ways have times, and sizes at which the caller's own is faster stay with it", () => {
    const lowered = lower(gathered(), { ranks: 2 });
    const [part] = lowered.parts;
    if (part?.kind !== "program") throw new Error("it is not fused");
    const [{ size, times, from, to }] = part.times as [SizeTimes];
    expect([size, to]).toEqual(["s0", null]);
    expect(times.map((t) => t.at["s0"])).toEqual(times.map((t) => t.at["s0"]!).sort((a, b) => a - b));
    expect(times.find((t) => t.at["s0"] === 4096)).toMatchObject({ seconds: part.seconds, baseline: part.baseline });
    expect(times.length).toBeGreaterThan(6);
    for (const t of times) expect(t.seconds <= t.baseline, `s0 = ${t.at["s0"]}`).toBe(t.at["s0"]! >= from!);
    const own = part.guards.filter((g) => /own way/.test(g.reason));
    expect(own).toEqual([{ left: "s0", relation: "ge", right: from, reason: "below it, the caller's own way is predicted to be faster" }]); // prettier-ignore
    expect(partitionReport(lowered)).toMatch(new RegExp(`if s0 >= ${from}: below it, .*\\n +by s0, and the own way: \\d+: [\\d.]+ µs \\([\\d.]+ µs\\),`)); // prettier-ignore
  });

  test("whatever can be one program is one at every size, where that is asked for", () => {
    const [part] = lower(gathered(), { ranks: 2, fuse: "legal" }).parts;
    if (part?.kind !== "program") throw new Error("it is not fused");
    expect(part.guards.filter((g) => /own way/.test(g.reason))).toEqual([]);
    expect(part.times).toHaveLength(1);
  });

  test("what was measured at the usual size grows as the model says", () => {
    const measured = { all_gather_into_tensor_1: 1e-3 };
    const [part] = lower(gathered(), { ranks: 2, measured }).parts;
    if (part?.kind !== "program") throw new Error("it is not fused");
    const at = (n: number): number => part.times[0]!.times.find((t) => t.at["s0"] === n)!.baseline;
    expect(at(8192) / at(4096)).toBeGreaterThan(1.8);
    expect(at(8192) / at(4096)).toBeLessThan(2.2);
  });
});
