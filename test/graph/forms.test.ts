/** Forms of FX regions: which operations become one program, and that the steps compute what the region says. */
import { describe, expect, test } from "vitest";
import { type FxGraph, lower, type Lowered } from "../../src/compiler/graph/index.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { Dump, expectLowered } from "./fx-support.js";
import { turned } from "../scope.js";

const operations = (l: Lowered): string[][] =>
  l.parts.flatMap((p) => (p.kind === "program" ? [p.graph.nodes.map((n) => n.op)] : []));

const F8 = { dtype: "float8_e4m3fn" };

interface Form {
  readonly name: string;
  readonly make: (ranks: number) => FxGraph;
  /** Programs, each as the operations of its graph. */
  readonly becomes: readonly (readonly string[])[];
}

/** As PyTorch has it: rows are merged for the product, and what is scattered along the second dimension is joined along the first. */
function batchesScattered(d: Dump, [batches, rows, depth]: readonly [number, number, number], columns: number): string {
  const [x, w] = [d.input("x", [batches, rows, depth]), d.input("w", [depth, columns])];
  const bias = d.input("bias", [columns]);
  const flat = d.view(x, [batches * rows, depth]);
  const y = d.view(d.call("aten.addmm.default", [bias, flat, w], [batches * rows, columns]), [batches, rows, columns]);
  return d.scatter(d.cat(d.split(y, rows / d.ranks, 1), 0));
}

const FORMS: readonly Form[] = [
  {
    name: "all_gather, dim 0, then a product",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [4, 8]), d.input("w", [8, 6])];
      return d.graph(d.mm(d.gather(x), w));
    },
    becomes: [["all_gather", "matmul"]],
  },
  {
    name: "all_gather, dim 1: split, and joined again",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [4, 8]), d.input("w", [8 * ranks, 6])];
      return d.graph(d.mm(d.cat(d.split(d.gather(x), 4, 0), 1), w));
    },
    becomes: [["all_gather", "matmul"]],
  },
  {
    name: "all_gather, dim 1: sliced, and joined again",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [4, 8]), d.input("w", [8 * ranks, 6])];
      const all = d.gather(x);
      const parts = Array.from({ length: ranks }, (_, i) =>
        d.call("aten.slice.Tensor", [all, 0, 4 * i, 4 * i + 4], [4, 8]),
      );
      return d.graph(d.mm(d.cat(parts, 1), w));
    },
    becomes: [["all_gather", "matmul"]],
  },
  {
    name: "all_gather of bytes, dim 0, scaled product by row",
    make: (ranks) => scaledGather(ranks, 0),
    becomes: [["all_gather", "cast", "cast", "matmul", "cast", "all_gather", "mul", "mul", "cast"]],
  },
  {
    name: "all_gather of bytes, dim 1, scaled product by tensor",
    make: (ranks) => scaledGather(ranks, 1),
    becomes: [["all_gather", "cast", "cast", "matmul", "cast", "reshape", "mul", "reshape", "mul", "cast"]],
  },
  {
    name: "all_gather of 8-bit floats, a scaled product with a weight that lies transposed, scales of one element",
    make: (ranks) => {
      const d = new Dump(ranks, "bfloat16");
      const f32 = { dtype: "float32" };
      const x = d.gather(d.input("x", [4, 16], F8));
      const w = d.call("aten.t.default", [d.input("w", [6, 16], F8)], [16, 6], F8);
      const scales = [d.input("sx", [1], f32), d.input("sw", [1], f32)];
      const y = d.call("aten._scaled_mm.default", [x, w, ...scales, null, null, "torch.bfloat16"], [4 * ranks, 6]);
      return d.graph(y, d.pointwise("mul", y, d.pointwise("silu", y)));
    },
    becomes: [["all_gather", "permute", "matmul", "cast", "reshape", "mul", "reshape", "mul", "cast", "silu", "mul"]],
  },
  {
    name: "summands of scaled products, whose scales all ranks have, are not rounded to 8 bits",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [4 * ranks, 32], F8), d.input("w", [32, 6], { ...F8, strides: [1, 32] })];
      const same = { replicated: true };
      const scales = [d.input("sx", [1], same), d.input("sw", [1, 6], same)];
      const y = d.call("aten._scaled_mm.default", [x, w, ...scales, null, null, "torch.float32"], [4 * ranks, 6]);
      return d.graph(d.scatter(y));
    },
    becomes: [["permute", "matmul", "cast", "reshape", "mul", "mul", "reduce_scatter"]],
  },
  {
    name: "several products of one gathered tensor, which is used, too",
    make: (ranks) => {
      const d = new Dump(ranks);
      const x = d.input("x", [4, 8]);
      const all = d.gather(x);
      const products = ["q", "k", "v"].map((n, i) => d.mm(all, d.input(n, [8, 4 + 2 * i])));
      return d.graph(...products, all);
    },
    becomes: [["all_gather", "matmul", "matmul", "matmul"]],
  },
  {
    name: "three dimensions: reshaped, multiplied, reshaped",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [2, 3, 8]), d.input("w", [8, 6])];
      const flat = d.view(d.gather(x), [2 * ranks * 3, 8]);
      return d.graph(d.view(d.mm(flat, w), [2 * ranks, 3, 6]));
    },
    becomes: [["all_gather", "reshape", "matmul"]],
  },
  {
    name: "a sum of batches, dim 1, of a linear layer that merges rows: split, joined again, with a bias",
    make: (ranks) => {
      const d = new Dump(ranks);
      return d.graph(batchesScattered(d, [2, 3 * ranks, 8], 6));
    },
    becomes: [["matmul", "add", "reduce_scatter"]],
  },
  {
    name: "the same where somebody else has the product with its rows merged: it is computed once",
    make: (ranks) => {
      const d = new Dump(ranks);
      const flat = d.view(d.input("x", [2, 2 * ranks, 8]), [4 * ranks, 8]);
      const y = d.mm(flat, d.input("w", [8, 6]));
      const parts = d.split(d.view(y, [2, 2 * ranks, 6]), 2, 1);
      return d.graph(d.pointwise("relu", d.reduce(y)), d.scatter(d.cat(parts, 0)));
    },
    becomes: [["reshape", "matmul", "all_reduce", "relu", "reshape", "reduce_scatter"]],
  },
  {
    name: "bias and GELU behind a product: addmm",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w, bias] = [d.input("x", [4, 8]), d.input("w", [8, 6]), d.input("bias", [6])];
      const y = d.call("aten.addmm.default", [bias, d.gather(x), w], [4 * ranks, 6]);
      return d.graph(d.pointwise("gelu", y));
    },
    becomes: [["all_gather", "matmul", "add", "gelu"]],
  },
  {
    name: "GELU as Inductor writes it out: in f32, with the error function",
    make: (ranks) => {
      const d = new Dump(ranks, "bfloat16");
      const [x, w] = [d.input("x", [4, 8]), d.input("w", [8, 6])];
      const wide = { dtype: "float32" };
      const shape = [4 * ranks, 6];
      const h = d.call("prims.convert_element_type.default", [d.mm(d.gather(x), w), "torch.float32"], shape, wide);
      const erf = d.call("aten.erf.default", [d.call("aten.mul.Tensor", [h, 0.7071067811865476], shape, wide)], shape, wide); // prettier-ignore
      const half = d.call("aten.mul.Tensor", [h, 0.5], shape, wide);
      const y = d.call("aten.mul.Tensor", [half, d.call("aten.add.Tensor", [erf, 1], shape, wide)], shape, wide);
      return d.graph(d.call("prims.convert_element_type.default", [y, "torch.bfloat16"], shape));
    },
    becomes: [["all_gather", "matmul", "cast", "mul", "mul", "erf", "add", "mul", "cast"]],
  },
  {
    name: "rotary embedding of what a product gives: sines and cosines of positions times frequencies",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w, angle] = [d.input("x", [4, 8]), d.input("w", [8, 6]), d.input("angle", [4 * ranks, 3])];
      const q = d.mm(d.gather(x), w);
      const [even, odd] = [0, 3].map((from) => d.call("aten.slice.Tensor", [q, 1, from, from + 3], [4 * ranks, 3])) as [string, string]; // prettier-ignore
      const [cos, sin] = [d.pointwise("cos", angle), d.pointwise("sin", angle)];
      const turn = (a: string, b: string, sign: string): string => d.pointwise(sign, d.pointwise("mul", a, cos), d.pointwise("mul", b, sin)); // prettier-ignore
      return d.graph(d.cat([turn(even, odd, "sub"), turn(odd, even, "add")], 1));
    },
    becomes: [
      ["all_gather", "matmul", "slice", "cos", "mul", "slice", "sin", "mul", "sub", "mul", "mul", "add", "concat"],
    ],
  },
  {
    name: "a weight that lies transposed, and one that is a view",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w, v] = [d.input("x", [4, 8]), d.input("w", [8, 6], { strides: [1, 8] }), d.input("v", [6, 8])];
      const all = d.gather(x);
      return d.graph(d.mm(all, w), d.mm(all, d.call("aten.t.default", [v], [8, 6])));
    },
    becomes: [["all_gather", "permute", "matmul", "permute", "matmul"]],
  },
  {
    name: "a cube whose dimensions lie turned in a circle",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [u, v] = [d.input("u", [4, 4, 4]), d.input("v", [4, 4, 4], { strides: [1, 16, 4] })];
      return d.graph(d.pointwise("add", d.reduce(u), v));
    },
    becomes: [["all_reduce", "permute", "add"]],
  },
  {
    name: "batches of products",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [2, 3, 8]), d.input("w", [2 * ranks, 8, 4])];
      return d.graph(d.call("aten.bmm.default", [d.gather(x), w], [2 * ranks, 3, 4]));
    },
    becomes: [["all_gather", "matmul"]],
  },
  {
    name: "product, then reduce_scatter, dim 0",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [4 * ranks, 8]), d.input("w", [8, 6])];
      return d.graph(d.scatter(d.mm(x, w)));
    },
    becomes: [["matmul", "reduce_scatter"]],
  },
  {
    name: "product, then reduce_scatter, dim 1: cut, and laid one after the other",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [6, 8]), d.input("w", [8, 4 * ranks])];
      return d.graph(d.scatter(d.cat(d.split(d.mm(x, w), 4, 1), 0)));
    },
    becomes: [["matmul", "reduce_scatter"]],
  },
  {
    name: "reshape, product, reshape, reduce_scatter, and an average",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [2 * ranks, 3, 8]), d.input("w", [8, 6])];
      const y = d.view(d.mm(d.view(x, [6 * ranks, 8]), w), [2 * ranks, 3, 6]);
      return d.graph(d.scatter(y, "avg"));
    },
    becomes: [["reshape", "matmul", "reshape", "reduce_scatter", "mul"]],
  },
  {
    name: "a scaled product, then reduce_scatter",
    make: (ranks) => {
      const d = new Dump(ranks, "bfloat16");
      const f8 = { dtype: "float8_e4m3fn" };
      const [x, w] = [d.input("x", [4 * ranks, 8], f8), d.input("w", [8, 6], f8)];
      const scales = [d.input("sx", [4 * ranks, 1], { dtype: "float32" }), d.input("sw", [1, 6], { dtype: "float32" })];
      const y = d.call("aten._scaled_mm.default", [x, w, ...scales, null, null, "torch.bfloat16"], [4 * ranks, 6]);
      return d.graph(d.scatter(y));
    },
    // A scale of each rank is no factor of a sum over ranks, but one of the rank's row.
    becomes: [["cast", "cast", "matmul", "cast", "mul", "mul", "cast", "sum", "reshape", "reduce_scatter"]],
  },
  {
    name: "all_reduce with what follows: bias, residual, norm",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [6, 8]), d.input("w", [8, 8])];
      const [residual, weight] = [d.input("residual", [6, 8]), d.input("weight", [8])];
      const h = d.pointwise("add", d.reduce(d.mm(x, w)), residual);
      return d.graph(d.call("aten.rms_norm.default", [h, [8], weight, 1e-5], [6, 8]), h);
    },
    becomes: [["matmul", "all_reduce", "add", "mul", "mean", "add", "rsqrt", "mul", "mul"]],
  },
  {
    name: "sequence parallel: reduce_scatter, residual, norm, all_gather, product",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, w] = [d.input("x", [4 * ranks, 8]), d.input("w", [8, 8])];
      const [residual, weight] = [d.input("residual", [4, 8]), d.input("weight", [8], { replicated: true })];
      const h = d.pointwise("add", d.scatter(d.mm(x, w)), residual);
      const normed = d.call("aten.rms_norm.default", [h, [8], weight, 1e-5], [4, 8]);
      return d.graph(d.mm(d.gather(normed), d.input("up", [8, 6])), h);
    },
    becomes: [["matmul", "reduce_scatter", "add", "mul", "mean", "add", "rsqrt", "mul", "mul", "all_gather", "matmul"]],
  },
  {
    name: "a gated layer from end to end",
    make: (ranks) => {
      const d = new Dump(ranks);
      const [x, up, gate, down] = [
        d.input("x", [4, 8]),
        d.input("up", [8, 6]),
        d.input("gate", [8, 6]),
        d.input("down", [6, 8]),
      ];
      const all = d.gather(x);
      const h = d.pointwise("mul", d.pointwise("silu", d.mm(all, gate)), d.mm(all, up));
      return d.graph(d.scatter(d.mm(h, down)));
    },
    becomes: [["all_gather", "matmul", "silu", "matmul", "mul", "matmul", "reduce_scatter"]],
  },
  {
    name: "torch's own norm, which gives a tuple, and of which both are used",
    make: (ranks) => {
      const d = new Dump(ranks);
      const h = d.reduce(d.input("x", [4, 8]));
      const both = d.call("aten._fused_rms_norm.default", [h, [8], d.input("w", [8]), 1e-5], null);
      return d.graph(d.call("getitem", [both, 0], [4, 8]), d.call("getitem", [both, 1], [4, 1]));
    },
    becomes: [["all_reduce", "mul", "mean", "add", "rsqrt", "mul", "mul"]],
  },
  {
    name: "a tensor that is called as the program's result would be",
    make: (ranks) => {
      const d = new Dump(ranks);
      const sum = d.reduce(d.input("x", [4, 8]));
      return d.graph(sum, d.pointwise("add", sum, d.input("out_all_reduce_1", [4, 8])));
    },
    becomes: [["all_reduce", "add"]],
  },
  {
    name: "softmax of gathered scores",
    make: (ranks) => {
      const d = new Dump(ranks);
      const x = d.gather(d.input("x", [2, 8]));
      return d.graph(d.call("aten._softmax.default", [x, -1, false], [2 * ranks, 8]));
    },
    becomes: [["all_gather", "max", "sub", "exp", "sum", "div"]],
  },
  {
    name: "all_to_all, scaled before and after",
    make: (ranks) => {
      const d = new Dump(ranks);
      const x = d.pointwise("mul", d.input("x", [2 * ranks, 6]), 0.5);
      const sizes = Array.from({ length: ranks }, () => 2);
      const y = d.wait(d.call("_c10d_functional.all_to_all_single.default", [x, sizes, sizes, "tp"], [2 * ranks, 6]));
      return d.graph(d.pointwise("relu", y));
    },
    becomes: [["mul", "reshape", "all_to_all", "permute", "reshape", "relu"]],
  },
  {
    name: "powers",
    make: (ranks) => {
      const d = new Dump(ranks);
      const h = d.pointwise("abs", d.reduce(d.input("x", [4, 6])));
      return d.graph(
        d.call("aten.pow.Tensor_Scalar", [h, 1.5], [4, 6]),
        d.call("aten.pow.Tensor_Scalar", [h, 2], [4, 6]),
      );
    },
    becomes: [["all_reduce", "abs", "pow", "mul"]],
  },
  {
    name: "broadcast",
    make: (ranks) => {
      const d = new Dump(ranks);
      const y = d.wait(d.call("_c10d_functional.broadcast.default", [d.input("x", [4, 6]), 1, "tp"], [4, 6]));
      return d.graph(d.pointwise("exp", y));
    },
    becomes: [["broadcast", "exp"]],
  },
  {
    name: "tokens of int64, and masks of bool that are gathered",
    make: (ranks) => {
      const d = new Dump(ranks, "int64");
      const [ids, mask] = [d.input("ids", [4, 6]), d.input("mask", [4, 6], { dtype: "bool" })];
      const all = [4 * ranks, 6];
      const [tokens, seen] = [d.gather(ids), d.gather(mask)];
      const known = d.call("aten.gt.Scalar", [tokens, 0], all, { dtype: "bool" });
      const both = d.call("aten.logical_and.default", [known, seen], all, { dtype: "bool" });
      const chosen = d.call("aten.where.self", [both, tokens, d.call("aten.neg.default", [tokens], all)], all);
      return d.graph(chosen, d.call("aten.sum.dim_IntList", [chosen, [0]], [6]));
    },
    becomes: [["all_gather", "gt", "all_gather", "and", "neg", "where", "sum"]],
  },
];

function scaledGather(ranks: number, dim: number): FxGraph {
  const d = new Dump(ranks, "bfloat16");
  const f8 = { dtype: "float8_e4m3fn" };
  const f32 = { dtype: "float32" };
  const x = d.input("x", [4, 8], f8);
  const as = (v: string, dtype: string): string =>
    d.call("aten.view.dtype", [v, `torch.${dtype}`], d.shapeOf(v), { dtype });
  const bytes = d.gather(as(x, "uint8"));
  const whole = dim === 0 ? as(bytes, "float8_e4m3fn") : as(d.cat(d.split(bytes, 4, 0), 1), "float8_e4m3fn");
  const [rows, columns] = d.shapeOf(whole) as [number, number];
  const w = d.input("w", [columns, 6], f8);
  const scale = dim === 0 ? d.gather(d.input("sx", [4, 1], f32)) : d.input("sx", [], f32);
  const other = dim === 0 ? d.input("sw", [1, 6], f32) : d.input("sw", [], f32);
  return d.graph(d.call("aten._scaled_mm.default", [whole, w, scale, other, null, null, "torch.bfloat16"], [rows, 6]));
}

test("scaled products of 8-bit floats go to the tensor cores of those, and what gathers them is worth fusing", () => {
  const lowered = (strides: readonly number[]): { isFused: boolean | undefined; units: unknown[] } => {
    const d = new Dump(4, "bfloat16");
    const x = d.gather(d.input("x", [2048, 4096], F8));
    const scales = ["sx", "sw"].map((name) => d.input(name, [1], { dtype: "float32" }));
    const args = [x, d.input("w", [4096, 1024], { ...F8, strides }), ...scales, null, null, "torch.bfloat16"];
    const { edges, parts } = lower(d.graph(d.call("aten._scaled_mm.default", args, [8192, 1024])), { ranks: 4 });
    const units: unknown[] = [];
    for (const p of parts)
      if (p.kind === "program")
        walkKernel(p.compiled.kernel!, ({ name, attributes }) => {
          if (name === "mma") units.push(p.compiled.kernel!.buffers.find((b) => b.name === attributes["a"])!.dtype);
        });
    return { isFused: edges.at(-1)?.isFused, units };
  };
  const turned = lowered([1, 4096]);
  expect(turned.isFused).toBe(true);
  expect(new Set(turned.units)).toEqual(new Set(["f8e4m3"]));
  // Rows that do not run along the depth are no tensor core's of 8 bits.
  expect(lowered([1024, 1]).isFused).toBe(false);
});

describe("GELU behind a gathered product", () => {
  const bf16 = "torch.bfloat16";
  const ways: Readonly<Record<string, (d: Dump, y: string, shape: readonly number[]) => string>> = {
    exact: (d, y) => d.pointwise("gelu", y),
    "by its approximation": (d, y, shape) => d.call("aten.gelu.default", [y], shape, { kwargs: { approximate: "tanh" } }), // prettier-ignore
    "as Inductor writes it out": (d, y, shape) => {
      const f32 = { dtype: "float32" };
      const wide = d.call("prims.convert_element_type.default", [y, "torch.float32"], shape, f32);
      const half = d.call("aten.mul.Tensor", [wide, 0.5], shape, f32);
      const erf = d.call("aten.erf.default", [d.call("aten.mul.Tensor", [wide, 0.7071067811865476], shape, f32)], shape, f32); // prettier-ignore
      const made = d.call("aten.mul.Tensor", [half, d.call("aten.add.Tensor", [erf, 1], shape, f32)], shape, f32);
      return d.call("prims.convert_element_type.default", [made, bf16], shape);
    },
  };
  test.for(Object.keys(ways))("%s is computed where its tiles are", (name) => {
    const d = new Dump(4, "bfloat16");
    const y = d.mm(d.gather(d.input("x", [2048, 4096])), d.input("w", [4096, 1024]));
    // As Inductor would do it: the elementwise operations are one kernel, or part of the program, where they may be that.
    const { edges, parts } = lower(d.graph(ways[name]!(d, y, [8192, 1024])), { ranks: 4, caller: "kernels", fuse: "legal" }); // prettier-ignore
    expect(edges.filter((e) => !e.isFused)).toEqual([]);
    const [part, ...rest] = parts;
    if (part?.kind !== "program") throw new Error("not fused");
    expect(rest).toEqual([]);
    // Of what is as large as the product, the result alone lies in memory, and the rows that are gathered.
    const { buffers } = part.compiled.kernel!;
    const sizeOf = (b: (typeof buffers)[number]): number => b.shape.reduce<number>((n, e) => n * (typeof e === "number" ? e : NaN), 1); // prettier-ignore
    const large = buffers.filter((b) => b.role !== "input" && !(sizeOf(b) < 2048 * 1024));
    expect(large.map((b) => [b.role, b.shape[1]])).toEqual([
      ["output", 1024],
      ["scratch", 4096],
    ]);
    const names = new Set<string>();
    walkKernel(part.compiled.kernel!, (op) => void names.add(op.name));
    expect(names).toContain("mma");
  });
});

const WORLDS = [2, 4];

describe.for(WORLDS)("forms on %i ranks compute what the region says", (ranks) => {
  test.for(FORMS.filter((_, turn) => turned(WORLDS, turn).includes(ranks)))("$name", ({ make, becomes }) => {
    const lowered = expectLowered(make(ranks), { ranks, fuse: "legal" });
    expect(operations(lowered)).toEqual(becomes);
    // An output with an input's id would change what the caller has given.
    for (const p of lowered.parts) {
      if (p.kind !== "program") continue;
      const given = new Set(p.graph.inputs.map((t) => t.id));
      expect(p.graph.outputs.filter((o) => given.has(o.id))).toEqual([]);
    }
  });
});

// Tiles of rows that are merged are of no one rank: on scalar units the product takes a hundred times as long.
test("a linear layer of batches goes to tensor cores, and with the sum that is scattered", () => {
  const d = new Dump(4, "bfloat16");
  const { edges } = lower(d.graph(batchesScattered(d, [2, 1024, 4096], 4096)), { ranks: 4 });
  expect(edges.map((e) => [e.from, e.to, e.isFused])).toEqual([["addmm_1", "reduce_scatter_tensor_1", true]]);
});
