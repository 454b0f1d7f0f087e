/** Arguments of FX nodes: by place or by name, they mean the same; what collc does not know of them leaves the node to the caller. */
import { describe, expect, test } from "vitest";
import { sizeOf } from "../../src/compiler/graph/arrays.js";
import { FxReference } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import { type FxGraph, lower, type Lowered } from "../../src/compiler/graph/index.js";
import { Dump, expectLowered, fused } from "./fx-support.js";
import { eighths } from "./support.js";

const LEGAL = { ranks: 2, fuse: "legal" } as const;
const AR = "_c10d_functional.all_reduce.default";

/** The last call of a graph as programs may write it: its arguments by place, and some of them by name. */
interface Call {
  readonly target: string;
  readonly shape: readonly number[];
  readonly placed: readonly unknown[];
  readonly args: readonly unknown[];
  readonly kwargs: Record<string, unknown>;
}

/** `h` is [4, 6], and what a conversion gives; `y` is [4, 6], `w` [6], `m` [5, 6], `b` [5]; `g` has 8 rows, gathered. */
const CALLS: readonly Call[] = [
  { target: "aten.rms_norm.default", shape: [4, 6], placed: ["h", [6], null, 0.5], args: ["h", [6]], kwargs: { eps: 0.5 } },
  { target: "aten.rms_norm.default", shape: [4, 6], placed: ["h", [6], "w", 0.5], args: ["h", [6]], kwargs: { eps: 0.5, weight: "w" } },
  { target: "aten.linear.default", shape: [8, 5], placed: ["g", "m", "b"], args: ["g", "m"], kwargs: { bias: "b" } },
  { target: "aten.linear.default", shape: [8, 5], placed: ["g", "m", "b"], args: [], kwargs: { bias: "b", weight: "m", input: "g" } },
  { target: "aten.addmm.default", shape: [8, 5], placed: ["b", "g", "n", 2, 0.5], args: ["b", "g"], kwargs: { alpha: 0.5, mat2: "n", beta: 2 } },
  { target: "aten.slice.Tensor", shape: [4, 4], placed: ["h", 1, 2], args: ["h"], kwargs: { dim: 1, start: 2 } },
  { target: "aten.slice.Tensor", shape: [4, 3], placed: ["h", 1, 1, 4], args: ["h", 1], kwargs: { end: 4, start: 1 } },
  { target: "aten.slice.Tensor", shape: [4, 3], placed: ["h", 1, 0, 6, 2], args: ["h", 1], kwargs: { step: 2 } },
  { target: "aten.select.int", shape: [4], placed: ["h", 1, 2], args: ["h"], kwargs: { index: 2, dim: 1 } },
  { target: "aten.transpose.int", shape: [6, 4], placed: ["h", 0, 1], args: ["h"], kwargs: { dim0: 0, dim1: 1 } },
  { target: "aten.permute.default", shape: [6, 4], placed: ["h", [1, 0]], args: ["h"], kwargs: { dims: [1, 0] } },
  { target: "aten._softmax.default", shape: [4, 6], placed: ["h", 0, false], args: ["h"], kwargs: { dim: 0, half_to_float: false } },
  { target: "aten.cat.default", shape: [4, 12], placed: [["h", "y"], 1], args: [], kwargs: { tensors: ["h", "y"], dim: 1 } },
  { target: "aten.add.Tensor", shape: [4, 6], placed: ["h", "y", 3], args: ["h"], kwargs: { other: "y", alpha: 3 } },
  { target: "aten.div.Tensor_mode", shape: [4, 6], placed: ["h", 4, "floor"], args: ["h", 4], kwargs: { rounding_mode: "floor" } },
  { target: "aten.gelu.default", shape: [4, 6], placed: ["h", "tanh"], args: ["h"], kwargs: { approximate: "tanh" } },
  { target: "aten.sum.dim_IntList", shape: [4, 1], placed: ["h", [1], true], args: ["h"], kwargs: { keepdim: true, dim: [1] } },
  { target: "aten.where.self", shape: [4, 6], placed: ["k", "h", "y"], args: ["k"], kwargs: { other: "y", self: "h" } },
  { target: AR, shape: [4, 6], placed: ["y", "max", "tp"], args: ["y"], kwargs: { reduce_op: "max", group_name: "tp" } },
  { target: AR, shape: [4, 6], placed: ["y", "min", "tp"], args: [], kwargs: { group_name: "tp", input: "y", reduce_op: "min" } },
  { target: "_c10d_functional.reduce_scatter_tensor.default", shape: [2, 6], placed: ["y", "avg", 2, "tp"], args: ["y"], kwargs: { group_name: "tp", group_size: 2, reduce_op: "avg" } },
  { target: "_c10d_functional.broadcast.default", shape: [4, 6], placed: ["y", 1, "tp"], args: ["y"], kwargs: { group_name: "tp", src: 1 } },
]; // prettier-ignore

function graphOf({ target, shape }: Call, args: readonly unknown[], kwargs: Record<string, unknown> = {}): FxGraph {
  const d = new Dump(2);
  const h = d.reduce(d.input("x", [4, 6]));
  const g = d.gather(d.input("z", [4, 6]));
  for (const [name, own] of [["y", [4, 6]], ["w", [6]], ["m", [5, 6]], ["n", [6, 5]], ["b", [5]]] as const) d.input(name, own); // prettier-ignore
  d.input("k", [4, 6], { dtype: "bool" });
  const names: Record<string, string> = { h, g };
  const put = (a: unknown): unknown => (Array.isArray(a) ? a.map(put) : typeof a === "string" ? (names[a] ?? a) : a);
  const given = Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, put(value)]));
  return d.graph(d.call(target, args.map(put), shape, { kwargs: given }));
}

const graphs = (l: Lowered): unknown[] => l.parts.map((p) => (p.kind === "program" ? p.graph : [p.nodes, p.why]));

const reference = (fx: FxGraph): number[][] => {
  const fixed = atSizes(fx, {});
  const inputs = fixed.nodes.filter((n) => n.op === "placeholder");
  const held = Object.fromEntries(inputs.map((n, i) => [n.name, [0, 1].map((rank) => eighths(7 * i + rank, sizeOf(n.shape!)))])); // prettier-ignore
  return new FxReference(fixed).run(held).flatMap((ranks) => ranks.map((r) => [...r.data]));
};

describe("arguments by name mean what they mean by place", () => {
  test.for(CALLS.map((c) => [`${c.target}: ${Object.keys(c.kwargs).join(", ")}`, c] as const))("%s", ([, call]) => {
    const [placed, named] = [graphOf(call, call.placed), graphOf(call, call.args, call.kwargs)];
    expect(reference(named)).toEqual(reference(placed));
    expect(graphs(expectLowered(named, LEGAL))).toEqual(graphs(lower(placed, LEGAL)));
  });
});

test("what the float64 reference makes of arguments, by hand", () => {
  const d = new Dump(1);
  const x = d.input("x", [1, 4]);
  const graph = d.graph(
    d.call("aten.slice.Tensor", [x], [1, 2], { kwargs: { step: 2, dim: 1, start: 1 } }),
    d.call("aten.rms_norm.default", [x, [4]], [1, 4], { kwargs: { eps: 1.5 } }),
    d.call("aten.sub.Tensor", [x], [1, 4], { kwargs: { alpha: 3, other: x } }),
    d.call("aten.div.Tensor_mode", [x, 3], [1, 4], { kwargs: { rounding_mode: "floor" } }),
  );
  const results = new FxReference(atSizes(graph, {})).run({ x: [[1, -1, 3, 5]] }).map(([r]) => [...r!.data]);
  const scale = 1 / Math.sqrt(9 + 1.5);
  expect(results).toEqual([[-1, 5], [1, -1, 3, 5].map((v) => v * scale), [-2, 2, -6, -10], [0, -1, 1, 1]]);
});

describe("what collc does not know of arguments leaves the node to the caller", () => {
  test.for<[string, string, readonly unknown[], Record<string, unknown>, string]>([
    ["a name that it does not know", "aten.relu.default", ["h"], { leak: 0.5 }, "collc does not know the argument 'leak' of aten.relu"],
    ["more arguments than it knows", "aten.relu.default", ["h", 1], {}, "collc knows 1 arguments of aten.relu, and it has 2"],
    ["an argument twice", "aten.mul.Tensor", ["h", 2], { other: 3 }, "it has the argument 'other' of aten.mul twice"],
    ["one that is missing", "aten.select.int", ["h", 1], {}, "it has no 'index', which aten.select needs"],
    ["an operation of prims with other parameters", "prims.transpose.default", ["h", [1, 0]], {}, "collc has no prims.transpose"],
    ["a slice with steps", "aten.slice.Tensor", ["h", 1], { step: 2 }, "collc has no slices with steps"],
  ])("%s", ([, target, args, kwargs, why]) => {
    const call = { target, shape: [4, 6], placed: [], args, kwargs };
    const { parts } = lower(graphOf(call, args, kwargs), LEGAL);
    expect(parts.map((p) => (p.kind === "program" ? p.nodes : p.why))).toEqual([["all_reduce_1"], why]);
  }); // prettier-ignore

  test("where and how a result is made says nothing of what it is", () => {
    const call = { target: "aten.clone.default", shape: [4, 6], placed: [], args: [], kwargs: {} };
    const d = graphOf(call, ["h"], { memory_format: "torch.contiguous_format" });
    expect(fused(lower(d, LEGAL))).toEqual(["all_reduce_1"]);
  });
});

describe("process groups and reductions", () => {
  test("have their places, whatever groups are called", () => {
    const reduced = (group: string): FxGraph => {
      const d = new Dump(2, "float32", "region", {}, { max: 2, sum: 2 });
      return d.graph(d.wait(d.call(AR, [d.input("x", [4, 6]), "sum", group], [4, 6])));
    };
    for (const group of ["max", "sum"]) {
      const lowered = expectLowered(reduced(group), LEGAL);
      const [part] = lowered.parts;
      expect(part).toMatchObject({ kind: "program", group, graph: { inputs: [{ layout: "partial(sum)" }] } });
    }
  });

  test("say what is wrong with them", () => {
    const reduced = (reduce: string, group: string): string => {
      const d = new Dump(2);
      const [part] = lower(d.graph(d.wait(d.call(AR, [d.input("x", [4, 6]), reduce, group], [4, 6]))), LEGAL).parts;
      return (part as { why: string }).why;
    };
    expect(reduced("bor", "tp")).toBe('collc has no reduction "bor"');
    expect(reduced("sum", "ep")).toBe(`its process group "ep" is not among the graph's groups (tp)`);
    const d = new Dump(2);
    const x = d.call("_c10d_functional.all_gather_into_tensor.default", [d.input("x", [4, 6]), 4, "tp"], [16, 6]);
    expect(() => lower(d.graph(x), LEGAL)).toThrow("is among 4 ranks of process group tp, which has 2");
  });
});
