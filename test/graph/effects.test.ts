/** FX nodes that change tensors in place: what others see of it they see in the graph's order, and what nobody returns is carried out all the same. */
import { describe, expect, test } from "vitest";
import { FxReference } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import { type FxGraph, lower, type Lowered } from "../../src/compiler/graph/index.js";
import { Dump, expectLowered, lengthArgument } from "./fx-support.js";

const LEGAL = { ranks: 2, fuse: "legal" } as const;
const reduceIn = (d: Dump, x: string): string => d.wait(d.call("_c10d_functional.all_reduce_.default", [x, "sum", "tp"], d.shapeOf(x))); // prettier-ignore
const gatherInto = (d: Dump, x: string, out: string): string => d.wait(d.call("_c10d_functional.all_gather_into_tensor_out.default", [x, 2, "tp"], d.shapeOf(out), { kwargs: { out } })); // prettier-ignore
const copy = (d: Dump, to: string, from: string): string => d.call("aten.copy_.default", [to, from], d.shapeOf(to));
const part = (d: Dump, x: string, from: number, to: number): string => d.call("aten.slice.Tensor", [x, 0, from, to], d.shapeOf(x).with(0, to - from)); // prettier-ignore

/** Steps: programs by their nodes, others by whom and what. */
const steps = (l: Lowered): string[] => l.parts.map((p) => `${p.kind === "program" ? "program" : p.by} ${p.nodes.join(" + ")}`); // prettier-ignore

interface Form {
  readonly name: string;
  readonly make: (d: Dump) => readonly string[];
  readonly becomes: readonly string[];
}

const FORMS: readonly Form[] = [
  {
    name: "a sum in place of what is given, which is used afterwards",
    make: (d) => {
      const x = d.input("x", [4, 6]);
      reduceIn(d, x);
      return [d.pointwise("relu", x)];
    },
    becomes: ["nccl all_reduce__1", "caller relu_1"],
  },
  {
    name: "a sum in place of what is made here, which is used before and afterwards",
    make: (d) => {
      const y = d.pointwise("relu", d.input("x", [4, 6]));
      const before = d.pointwise("exp", y);
      const sum = reduceIn(d, y);
      return [before, sum, d.pointwise("neg", y)];
    },
    becomes: ["caller relu_1", "caller exp_1", "nccl all_reduce__1", "caller neg_1"],
  },
  {
    name: "a sum in place of what nobody else looks at is one of a new tensor",
    make: (d) => [d.pointwise("relu", reduceIn(d, d.pointwise("mul", d.input("x", [4, 6]), 2)))],
    becomes: ["program mul_1 + all_reduce__1 + relu_1"],
  },
  {
    name: "gathered into a tensor that is given, which is used afterwards",
    make: (d) => {
      const out = d.input("out", [8, 6]);
      gatherInto(d, d.input("x", [4, 6]), out);
      return [d.pointwise("relu", out)];
    },
    becomes: ["nccl all_gather_into_tensor_out_1", "caller relu_1"],
  },
  {
    name: "gathered into a part of one",
    make: (d) => {
      const all = d.input("all", [16, 6]);
      gatherInto(d, d.input("x", [4, 6]), part(d, all, 8, 16));
      return [d.pointwise("relu", d.reduce(all))];
    },
    becomes: ["nccl all_gather_into_tensor_out_1", "program all_reduce_1 + relu_1"],
  },
  {
    name: "what a stream becomes is stored in its place, and nobody returns that",
    make: (d) => {
      const stream = d.input("stream", [4, 6]);
      const h = d.pointwise("add", stream, d.reduce(d.input("x", [4, 6])));
      copy(d, stream, h);
      return [d.pointwise("relu", h)];
    },
    // The sum is a result of the program, for it is stored.
    becomes: ["program all_reduce_1 + add_1", "caller copy__1", "caller relu_1"],
  },
  {
    name: "a sum is stored in the place of what was added, and nothing is returned of it",
    make: (d) => {
      const x = d.input("x", [4, 6]);
      copy(d, x, d.reduce(x));
      return [d.pointwise("relu", d.input("z", [4, 6]))];
    },
    becomes: ["program all_reduce_1", "caller copy__1", "caller relu_1"],
  },
  {
    name: "rows of a cache, which is multiplied afterwards, and was added to before",
    make: (d) => {
      const cache = d.input("cache", [10, 6]);
      const before = d.pointwise("add", d.reduce(d.input("y", [10, 6])), cache);
      copy(d, part(d, cache, 2, 10), d.gather(d.input("k", [4, 6])));
      return [d.reduce(d.mm(d.input("q", [3, 10]), cache)), before];
    },
    becomes: [
      "program all_reduce_1 + add_1",
      "program all_gather_into_tensor_1",
      "caller copy__1",
      "program mm_1 + all_reduce_2",
    ],
  },
  {
    name: "a copy that is made before keeps what was there",
    make: (d) => {
      const x = d.input("x", [4, 6]);
      const old = d.call("aten.clone.default", [x], [4, 6]);
      copy(d, x, d.reduce(d.input("y", [4, 6])));
      return [d.reduce(d.pointwise("sub", old, x))];
    },
    becomes: ["caller clone_1", "program all_reduce_1", "caller copy__1", "program sub_1 + all_reduce_2"],
  },
  {
    name: "views that were taken before see what is stored afterwards",
    make: (d) => {
      const x = d.input("x", [4, 6]);
      const turned = d.call("aten.t.default", [x], [6, 4]);
      copy(d, x, d.reduce(d.input("y", [4, 6])));
      return [d.pointwise("relu", d.reduce(turned))];
    },
    becomes: ["program all_reduce_1", "caller copy__1", "program all_reduce_2 + relu_1"],
  },
  {
    name: "rows that are cut for a gather along them, and change before they are joined",
    make: (d) => {
      const x = d.input("x", [2, 6]);
      const parts = d.split(d.gather(x), 2, 0);
      copy(d, x, d.pointwise("neg", d.input("y", [2, 6])));
      return [d.pointwise("relu", d.cat(parts, 1))];
    },
    becomes: ["program all_gather_into_tensor_1", "caller neg_1", "caller copy__1", "caller cat_1", "caller relu_1"],
  },
  {
    name: "a weight that every rank had, until each stored its own",
    make: (d) => {
      const w = d.input("w", [4], { replicated: true });
      copy(d, w, d.input("own", [4]));
      return [d.pointwise("mul", d.scatter(d.input("x", [8, 4])), w)];
    },
    becomes: ["caller copy__1", "program reduce_scatter_tensor_1", "caller mul_1"],
  },
  {
    name: "out- and in-variants one after the other, in memory that is made here",
    make: (d) => {
      const out = d.call("aten.empty.memory_format", [[8, 6]], [8, 6]);
      return [reduceIn(d, gatherInto(d, d.input("x", [4, 6]), out))];
    },
    becomes: ["program empty_1 + all_gather_into_tensor_out_1", "program all_reduce__1"],
  },
];

describe.for(["nodes", "kernels"] as const)("what is changed in place, for a caller by %s", (caller) => {
  test.for(FORMS)("$name", ({ make, becomes }) => {
    const d = new Dump(2);
    const lowered = expectLowered(d.graph(...make(d)), { ...LEGAL, caller });
    const isOwn = (step: string): boolean => !step.startsWith("caller");
    // A caller's kernels may be made of several nodes.
    if (caller === "nodes") expect(steps(lowered)).toEqual(becomes);
    else expect(steps(lowered).filter(isOwn)).toEqual(becomes.filter(isOwn));
  });
});

describe("what nobody returns stays", () => {
  test("an index_put_ into a cache, before what reads it", () => {
    const d = new Dump(2);
    const cache = d.input("cache", [8, 6]);
    d.call("aten.index_put_.default", [cache, [d.input("at", [8], { dtype: "int64" })], d.gather(d.input("k", [4, 6]))], [8, 6]); // prettier-ignore
    const lowered = lower(d.graph(d.mm(d.input("q", [2, 8]), cache)), LEGAL);
    expect(steps(lowered)).toEqual(["program all_gather_into_tensor_1", "caller index_put__1", "caller mm_1"]);
    const [gather, put] = lowered.parts;
    expect(gather).toMatchObject({ outputs: [{ tensor: "all_gather_into_tensor_1" }] });
    expect(put).toMatchObject({ why: "it changes 'cache', which others see" });
    expect(lowered.edges).toMatchObject([{ isFused: false, why: "of 'index_put__1': it changes 'cache', which others see" }]); // prettier-ignore
  });

  test("a call of another library that has neither result nor user, and what it is given", () => {
    const d = new Dump(2);
    const [cache, k] = [d.input("cache", [8, 6]), d.gather(d.input("k", [4, 6]))];
    d.call("vllm.reshape_and_cache.default", [k, cache], null);
    const lowered = lower(d.graph(d.pointwise("relu", k)), LEGAL);
    expect(steps(lowered)).toEqual(["program all_gather_into_tensor_1", "caller reshape_and_cache_1", "caller relu_1"]);
  });

  test("what a node says that it changes, its target being another library's", () => {
    const graph = (mutates: readonly string[]): FxGraph => {
      const d = new Dump(2);
      const x = d.reduce(d.input("x", [4, 6]));
      const y = d.call("mine.scale.default", [x], [4, 6]);
      const fx = d.graph(d.pointwise("relu", x), y);
      return { ...fx, nodes: fx.nodes.map((n) => (n.name === y ? { ...n, mutates } : n)) };
    };
    expect(steps(lower(graph([]), LEGAL))).toEqual(["program all_reduce_1 + relu_1", "caller scale_1"]);
    expect(steps(lower(graph(["wait_tensor_1"]), LEGAL))).toEqual(["program all_reduce_1", "caller scale_1", "caller relu_1"]); // prettier-ignore
    expect(() => lower(graph(["x"]), LEGAL)).toThrow("node 'scale_1' changes 'x', which is none of its arguments");
  });

  test("a check is carried out, and nothing waits for it: programs reach over it, and what the host does takes no time on the GPU, and no memory there", () => {
    const d = new Dump(2, "float32", "region", { s: { min: 2, max: 64, hint: 8 } });
    const x = d.input("x", ["s", 6]);
    const scaled = d.pointwise("mul", x, 2);
    const isEnough = d.call("_operator.ge", [lengthArgument("s"), 4], null);
    const check = d.call("aten._assert_scalar.default", [isEnough, "too few rows"], null);
    const async = d.call("aten._assert_async.msg", [d.call("aten.any.default", [x], [], { dtype: "bool" }), "no rows"], null); // prettier-ignore
    const sum = d.reduce(scaled);
    const lowered = lower(d.graph(sum), LEGAL);
    expect(steps(lowered).sort()).toEqual(["caller _assert_async_1", "caller _assert_scalar_1", "caller any_1", "caller ge_1", "program mul_1 + all_reduce_1"]); // prettier-ignore
    const seconds = new Map(lowered.parts.map((p) => [p.nodes[0], [p.seconds, p.baseline]]));
    for (const name of [isEnough, check]) expect(seconds.get(name)).toEqual([0, 0]);
    expect(seconds.get(async)![0]).toBeGreaterThan(0);
    expect(lowered.buffers.tensors.map((t) => t.tensor).sort()).toEqual(["all_reduce_1", "any_1"]);
  });

  test("but what is made for nobody goes", () => {
    const d = new Dump(2);
    const x = d.reduce(d.input("x", [4, 6]));
    d.pointwise("exp", x);
    d.split(x, 2, 0);
    d.call("aten.cumsum.default", [x, 0], [4, 6]);
    expect(steps(lower(d.graph(x), LEGAL))).toEqual(["program all_reduce_1"]);
  });
});

test("the float64 reference stores through views, and views see it: by hand", () => {
  const d = new Dump(1);
  const x = d.input("x", [2, 2]);
  const turned = d.call("aten.t.default", [x], [2, 2]);
  const old = d.call("aten.clone.default", [x], [2, 2]);
  const gone = d.call("aten.reshape.default", [turned, [4]], [4]);
  const row = d.call("aten.select.int", [turned, 0, 1], [2]);
  d.call("aten.copy_.default", [row, d.input("y", [2])], [2]);
  const results = new FxReference(atSizes(d.graph(x, turned, old, gone, row), {})).run({ x: [[1, 2, 3, 4]], y: [[8, 9]] }); // prettier-ignore
  expect(results.map(([r]) => [...r!.data])).toEqual([
    [1, 8, 3, 9],
    [1, 3, 8, 9],
    [1, 2, 3, 4],
    [1, 3, 2, 4],
    [8, 9],
  ]);
});
