/** Norms of FX, what is repeated, and lists of parts: programs compute what the float64 reference says of them. */
import { describe, expect, test } from "vitest";
import { lower, type Lowered } from "../../src/compiler/graph/index.js";
import { Dump, expectLowered, expectRuns, fused, lengthArgument } from "./fx-support.js";

const LEGAL = { ranks: 2, fuse: "legal" } as const;
const operations = (l: Lowered): string[][] =>
  l.parts.flatMap((p) => (p.kind === "program" ? [p.graph.nodes.map((n) => n.op)] : []));
const reasons = (l: Lowered): string[] => l.parts.flatMap((p) => (p.kind === "external" ? [p.why] : []));

/** `h` is [4, 6], and what a conversion gives. */
interface Form {
  readonly name: string;
  readonly dtype?: string;
  readonly make: (d: Dump, h: string) => readonly string[];
  /** Operations of the one program. */
  readonly becomes: readonly string[];
}

const SHAPE = [4, 6];
const item = (d: Dump, list: string, i: number, shape: readonly number[], dtype?: string): string => d.call("getitem", [list, i], shape, dtype === undefined ? {} : { dtype }); // prettier-ignore
const VARIANCE = ["all_reduce", "mean", "sub", "mul", "mean"];

const FORMS: readonly Form[] = [
  {
    name: "a layer norm as Inductor writes it out: var_mean, and what follows",
    make: (d, h) => {
      const both = d.call("aten.var_mean.correction", [h, [1]], null, { kwargs: { correction: 0, keepdim: true } });
      const [variance, mean] = [0, 1].map((i) => item(d, both, i, [4, 1])) as [string, string];
      const scale = d.pointwise("rsqrt", d.call("aten.add.Tensor", [variance, 1e-5], [4, 1]));
      const normed = d.pointwise("mul", d.pointwise("sub", h, mean), scale);
      return [d.pointwise("add", d.pointwise("mul", normed, d.input("weight", [6], { replicated: true })), d.input("bias", [6], { replicated: true }))]; // prettier-ignore
    },
    becomes: ["all_reduce", "mean", "sub", "sub", "mul", "mean", "add", "rsqrt", "mul", "mul", "add"],
  },
  {
    name: "a layer norm as one node, in f32 inside",
    dtype: "bfloat16",
    make: (d, h) => {
      const [weight, bias] = [d.input("weight", [6], { replicated: true }), d.input("bias", [6], { replicated: true })];
      return [d.call("aten.layer_norm.default", [h, [6], weight, bias, 1e-3], SHAPE)];
    },
    becomes: ["all_reduce", "cast", "mean", "sub", "mul", "mean", "add", "rsqrt", "mul", "cast", "mul", "cast", "add", "cast"], // prettier-ignore
  },
  {
    name: "a layer norm of the last two dimensions, with what torch gives besides",
    make: (d, h) => {
      const all = d.call("aten.native_layer_norm.default", [d.view(h, [2, 2, 6]), [2, 6], null, null, 1e-5], null);
      return [item(d, all, 0, [2, 2, 6]), item(d, all, 1, [2, 1, 1]), item(d, all, 2, [2, 1, 1])];
    },
    becomes: ["all_reduce", "reshape", "mean", "mean", "sub", "mul", "mean", "mean", "add", "rsqrt", "mul"],
  },
  {
    name: "variances: of a sample, of all, without the dimension, and of everything",
    make: (d, h) => [
      d.call("aten.var.correction", [h, [-1]], [4], { kwargs: { correction: null } }),
      d.call("aten.var.dim", [h, [0], false, true], [1, 6]),
      d.call("aten.var.correction", [h], [], { kwargs: { correction: 2 } }),
    ],
    becomes: [...VARIANCE, "mul", "mean", "sub", "mul", "mean", "mean", "mean", "sub", "mul", "mean", "mean", "mul"], // prettier-ignore
  },
  {
    name: "the gradient of a mean: expanded along the dimension that was folded",
    make: (d, h) => {
      const sum = d.call("aten.sum.dim_IntList", [h, [1], true], [4, 1]);
      const wide = d.call("aten.expand.default", [sum, [4, 6]], SHAPE);
      return [d.pointwise("add", d.call("aten.div.Scalar", [wide, 6], SHAPE), h)];
    },
    becomes: ["all_reduce", "sum", "repeat", "div", "add"],
  },
  {
    name: "heads that queries share: expanded in the middle, and one dimension with them",
    make: (d, h) => {
      const heads = d.view(h, [2, 2, 1, 6]);
      const each = d.call("aten.expand.default", [heads, [2, 2, 3, 6]], [2, 2, 3, 6]);
      return [d.pointwise("neg", d.view(d.call("aten.clone.default", [each], [2, 2, 3, 6]), [2, 6, 6]))];
    },
    becomes: ["all_reduce", "reshape", "repeat", "reshape", "neg"],
  },
  {
    name: "expanded with dimensions in front, where -1 leaves one as it is",
    make: (d, h) => [d.pointwise("exp", d.call("aten.expand.default", [h, [3, -1, 6]], [3, 4, 6]))],
    becomes: ["all_reduce", "reshape", "repeat", "exp"],
  },
  {
    name: "repeated as a whole, along each dimension and in front, and index by index",
    make: (d, h) => [
      d.pointwise("neg", d.call("aten.repeat.default", [h, [2, 1, 3]], [2, 4, 18])),
      d.pointwise("neg", d.call("aten.repeat_interleave.self_int", [h, 3, 0], [12, 6])),
    ],
    becomes: [
      "all_reduce",
      "reshape",
      "reshape",
      "repeat",
      "reshape",
      "reshape",
      "repeat",
      "reshape",
      "neg",
      "repeat",
      "neg",
    ],
  },
  {
    name: "taken apart and stacked again, the other way round",
    make: (d, h) => {
      const rows = d.call("aten.unbind.int", [h], null);
      const [a, b] = [item(d, rows, 3, [6]), item(d, rows, 0, [6])];
      return [d.pointwise("add", d.call("aten.stack.default", [[a, b], -1], [6, 2]), 1)];
    },
    becomes: ["all_reduce", "slice", "reshape", "reshape", "slice", "reshape", "reshape", "concat", "add"],
  },
  {
    name: "sums of products, and a way between two tensors",
    make: (d, h) => {
      const k = d.input("k", SHAPE, { replicated: true });
      const fused = d.call("prims.fma.default", [h, k, h], SHAPE);
      const more = d.call("aten.addcmul.default", [fused, h, k], SHAPE, { kwargs: { value: 0.5 } });
      const less = d.call("aten.addcdiv.default", [more, h, d.pointwise("exp", k)], SHAPE);
      return [d.call("aten.lerp.Scalar", [less, k, 0.25], SHAPE)];
    },
    becomes: ["all_reduce", "mul", "add", "mul", "mul", "add", "exp", "div", "add", "sub", "mul", "add"],
  },
  {
    name: "one half times the sigmoid of the other, of the last dimension and of the first",
    make: (d, h) => [d.call("aten.glu.default", [h], [4, 3]), d.call("aten.glu.default", [h, 0], [2, 6])],
    becomes: ["all_reduce", "slice", "slice", "sigmoid", "mul", "slice", "slice", "sigmoid", "mul"],
  },
];

describe("norms, and what is repeated", () => {
  test.each(FORMS.map((f) => [f.name, f] as const))("%s", (_, { make, becomes, dtype = "float32" }) => {
    const d = new Dump(2, dtype);
    const lowered = expectLowered(d.graph(...make(d, d.reduce(d.input("h", SHAPE)))), LEGAL);
    expect(reasons(lowered)).toEqual([]);
    expect(operations(lowered)).toEqual([becomes]);
  });
});

test("a layer norm of a rank's own rows goes before their gather, whose product comes behind", () => {
  const d = new Dump(2);
  const [x, weight] = [d.input("x", [4, 8]), d.input("weight", [8], { replicated: true })];
  const normed = d.call("aten.layer_norm.default", [x, [8], weight], [4, 8]);
  const lowered = expectLowered(d.graph(d.mm(d.gather(normed), d.input("w", [8, 6]))), LEGAL);
  expect(fused(lowered)).toEqual(["layer_norm_1 + all_gather_into_tensor_1 + mm_1"]);
});

test("what is expanded stays cut among the ranks, summands stay summands, and rows are each rank's own", () => {
  const make = (of: (d: Dump, wide: string) => string): readonly string[] => {
    const d = new Dump(2);
    const wide = d.call("aten.expand.default", [d.input("x", [4, 1]), [4, 6]], [4, 6]);
    return fused(expectLowered(d.graph(of(d, wide)), LEGAL));
  };
  expect(make((d, wide) => d.gather(d.pointwise("exp", wide)))).toEqual(["exp_1 + all_gather_into_tensor_1"]); // prettier-ignore
  expect(make((d, wide) => d.scatter(d.pointwise("neg", wide)))).toEqual(["neg_1 + reduce_scatter_tensor_1"]); // prettier-ignore
  expect(make((d, wide) => d.reduce(d.pointwise("exp", wide)))).toEqual(["exp_1 + all_reduce_1"]);
});

test("one number of each rank's own, expanded, is cut among the ranks, and so is what a rank cuts out of one tensor", () => {
  const d = new Dump(2);
  const one = d.input("one", []);
  const wide = d.call("aten.expand.default", [one, [4, 6]], [4, 6]);
  const lowered = expectLowered(d.graph(d.gather(d.pointwise("mul", wide, d.input("x", [4, 6])))), LEGAL);
  expect(fused(lowered)).toEqual(["mul_1 + all_gather_into_tensor_1"]);
  expect(lowered.parts.flatMap((p) => (p.kind === "program" ? p.inputs.map((b) => b.tensor) : []))).toEqual(["one", "x"]); // prettier-ignore
});

test("a step on the way to a node's value is nobody's tensor: halves of the dimension that is cut stay with the caller, and so does what is made of them", () => {
  const d = new Dump(2);
  const [x, y] = [d.input("x", [4, 6]), d.input("y", [6])];
  const gated = d.call("aten.glu.default", [x, 0], [2, 6]);
  const lowered = expectLowered(
    d.graph(d.gather(gated), d.gather(d.call("aten.repeat.default", [y, [2]], [12]))),
    LEGAL,
  );
  expect(fused(lowered)).toEqual(["all_gather_into_tensor_1", "all_gather_into_tensor_2"]);
  expect(lowered.edges.map((e) => e.why)).toEqual([
    "'glu_1' takes a part of the dimension that is cut among the ranks",
  ]);
  expect(lowered.parts.flatMap((p) => (p.kind === "program" ? p.inputs.map((b) => b.tensor) : []))).toEqual(["glu_1", "y"]); // prettier-ignore
});

test("of a size that only the launch knows: what has it is expanded, what gets it stays with the caller", () => {
  const d = new Dump(2, "float32", "region", { s: { min: 2, max: 64, hint: 8 } });
  const h = d.reduce(d.input("h", ["s", 1]));
  const wide = d.call("aten.expand.default", [h, [lengthArgument("s"), 6]], ["s", 6]);
  const fx = d.graph(d.pointwise("neg", wide));
  expect(expectRuns(fx, lower(fx, LEGAL), { s: 5 })).toBe(1);
  const e = new Dump(2, "float32", "region", { s: { min: 2, max: 64, hint: 8 } });
  const row = e.reduce(e.input("row", [1, 6]));
  const long = e.call("aten.expand.default", [row, [lengthArgument("s"), 6]], ["s", 6]);
  expect(reasons(lower(e.graph(e.pointwise("neg", long)), LEGAL))).toContain("how often it repeats its dimension 0, only the launch knows"); // prettier-ignore
});

test("a variance that is of no more elements than its correction stays with the caller, and so does one by a truth value", () => {
  const cases: readonly (readonly [args: readonly unknown[], shape: readonly number[]])[] = [[[[0], 4], [6]], [[[0, 1], 24], []], [[true], []]]; // prettier-ignore
  for (const [args, shape] of cases) {
    const d = new Dump(2);
    const h = d.reduce(d.input("h", SHAPE));
    const lowered = lower(d.graph(d.call("aten.var.correction", [h, ...args], shape)), LEGAL);
    expect(reasons(lowered).join()).toMatch(/collc has variances (with a correction of|of dimensions)/);
  }
});
