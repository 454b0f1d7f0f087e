/** What ranks compute by themselves before a reduction, where it is not linear: rows of one tensor, folded over the ranks. */
import { describe, expect, test } from "vitest";
import { lower, type Lowered } from "../../src/compiler/graph/index.js";
import { Dump, expectLowered, fused } from "./fx-support.js";
import { turned } from "../scope.js";

const operations = (l: Lowered): string[][] =>
  l.parts.flatMap((p) => (p.kind === "program" ? [p.graph.nodes.map((n) => n.op)] : []));

interface Form {
  readonly name: string;
  readonly make: (d: Dump) => string[];
  /** Programs, each as the operations of its graph. */
  readonly becomes: readonly (readonly string[])[];
}

const FORMS: readonly Form[] = [
  {
    name: "a function of each rank's own values, all_reduce",
    make: (d) => [d.reduce(d.pointwise("relu", d.input("x", [6, 8])))],
    becomes: [["relu", "sum", "reshape", "all_reduce"]],
  },
  {
    name: "a gate for each row times an expert's output, reduce_scatter",
    make: (d) => {
      const gate = d.pointwise("sigmoid", d.input("gate", [4 * d.ranks, 1]));
      return [d.scatter(d.pointwise("mul", gate, d.input("h", [4 * d.ranks, 6])))];
    },
    becomes: [["sigmoid", "mul", "sum", "reshape", "reduce_scatter"]],
  },
  {
    name: "the largest of what a function gives, and an average",
    make: (d) => {
      const x = d.pointwise("tanh", d.input("x", [4 * d.ranks, 6]));
      return [d.reduce(x, "max"), d.scatter(x, "avg")];
    },
    becomes: [["tanh", "max", "reshape", "all_reduce", "sum", "reshape", "reduce_scatter", "mul"]],
  },
  {
    name: "a number beside summands, and a mask of what is smaller than a bias that all have",
    make: (d) => {
      const [x, bias] = [d.input("x", [6, 8]), d.input("bias", [8], { replicated: true })];
      const mask = d.call("aten.gt.Tensor", [x, bias], [6, 8], { dtype: "bool" });
      return [d.reduce(d.call("aten.where.self", [mask, d.pointwise("add", x, 1), x], [6, 8]))];
    },
    becomes: [["gt", "add", "where", "sum", "reshape", "all_reduce"]],
  },
  {
    name: "8-bit floats with a scale of each rank, and one without dimensions",
    make: (d) => {
      const x = d.call(
        "aten._to_copy.default",
        [d.input("x", [4 * d.ranks, 6], { dtype: "float8_e4m3fn" })],
        [4 * d.ranks, 6],
      );
      const scaled = d.pointwise("mul", x, d.input("rows", [4 * d.ranks, 1]));
      return [d.scatter(d.pointwise("mul", scaled, d.input("scale", [])))];
    },
    becomes: [["cast", "mul", "reshape", "mul", "sum", "reshape", "reduce_scatter"]],
  },
  {
    name: "a product of each rank's own factors, with a function of it",
    make: (d) => {
      const [x, w] = [d.input("x", [4 * d.ranks, 8]), d.input("w", [8, 6])];
      return [d.scatter(d.pointwise("relu", d.mm(x, w)))];
    },
    becomes: [["matmul", "relu", "sum", "reshape", "reduce_scatter"]],
  },
  {
    name: "an expert's output, times its gates",
    make: (d) => {
      const [h, w] = [d.gather(d.input("h", [4, 8])), d.input("w", [8, 6])];
      const gate = d.pointwise("sigmoid", d.mm(h, d.input("router", [8, 1])));
      return [d.scatter(d.pointwise("mul", gate, d.mm(h, w)))];
    },
    becomes: [["all_gather", "matmul", "sigmoid", "matmul", "mul", "sum", "reshape", "reduce_scatter"]],
  },
  {
    name: "batches, weights that lie transposed, and one weight for all",
    make: (d) => {
      const t = d.call("aten.t.default", [d.input("w", [6, 8])], [8, 6]);
      const x = d.input("x", [2 * d.ranks, 3, 8]);
      const batched = d.call("aten.bmm.default", [x, d.input("v", [2 * d.ranks, 8, 6])], [2 * d.ranks, 3, 6]);
      const one = d.call("aten.matmul.default", [x, t], [2 * d.ranks, 3, 6]);
      return [d.scatter(d.pointwise("mul", d.pointwise("tanh", batched), one))];
    },
    becomes: [["matmul", "tanh", "permute", "reshape", "matmul", "mul", "sum", "reshape", "reduce_scatter"]],
  },
  {
    name: "views, folds and parts of each rank's own",
    make: (d) => {
      const x = d.input("x", [6, 8]);
      const e = d.call("aten._softmax.default", [d.call("aten.t.default", [x], [8, 6]), -1, false], [8, 6]);
      const left = d.call("aten.slice.Tensor", [e, 1, 1, 5], [8, 4]);
      return [d.reduce(d.cat([d.view(left, [4, 8]), d.input("more", [2, 8])], 0))];
    },
    becomes: [
      ["permute", "max", "sub", "exp", "sum", "div", "slice", "reshape", "concat", "sum", "reshape", "all_reduce"],
    ],
  },
  {
    name: "a causal mask of each rank's own scores",
    make: (d) => {
      const x = d.input("x", [6, 6]);
      const i = d.call("aten.arange.default", [6], [6], { dtype: "int64" });
      const mask = d.call("aten.ge.Tensor", [d.view(i, [6, 1]), i], [6, 6], { dtype: "bool" });
      return [
        d.reduce(
          d.call("aten.where.self", [mask, d.pointwise("exp", x), d.call("aten.full.default", [[], 0], [])], [6, 6]),
        ),
      ];
    },
    becomes: [["iota", "cast", "reshape", "ge", "exp", "where", "sum", "reshape", "all_reduce"]],
  },
  {
    name: "what a conversion has left on each rank, along either dimension",
    make: (d) => {
      const rows = d.scatter(d.input("x", [4 * d.ranks, 6]));
      const columns = d.scatter(d.cat(d.split(d.input("y", [4, 6 * d.ranks]), 6, 1), 0));
      return [d.reduce(d.pointwise("relu", d.pointwise("add", rows, 1))), d.reduce(d.pointwise("relu", columns))];
    },
    becomes: [
      ["reduce_scatter", "reshape", "add", "relu", "sum", "reshape", "all_reduce"],
      ["reduce_scatter", "reshape", "permute", "relu", "sum", "reshape", "all_reduce"],
    ],
  },
  {
    name: "a value of each rank that is used, too",
    make: (d) => {
      const x = d.pointwise("relu", d.input("x", [4 * d.ranks, 6]));
      return [x, d.scatter(x)];
    },
    becomes: [["relu", "sum", "reshape", "reduce_scatter"]],
  },
];

const WORLDS = [2, 3, 4];

describe.for(WORLDS)("on %i ranks, all is fused", (ranks) => {
  test.for(FORMS.filter((_, turn) => turned(WORLDS, turn).includes(ranks)))("$name", ({ make, becomes }) => {
    const d = new Dump(ranks);
    const lowered = expectLowered(d.graph(...make(d)), { ranks, fuse: "legal" });
    expect(lowered.edges.filter((e) => !e.isFused)).toEqual([]);
    expect(operations(lowered)).toEqual(becomes);
  });
});

test("with several process groups, each program's ranks are the rows", () => {
  const d = new Dump(2, "float32", "region", {}, { dp: 2 });
  const x = d.reduce(d.pointwise("relu", d.input("x", [4, 6])));
  const y = d.scatter(d.pointwise("sigmoid", d.input("y", [4, 6])), "sum", "dp");
  const lowered = expectLowered(d.graph(x, y), { ranks: 2, fuse: "legal" });
  expect(fused(lowered)).toEqual(["relu_1 + all_reduce_1", "sigmoid_1 + reduce_scatter_tensor_1"]);
});

describe("verdicts", () => {
  const edges = (make: (d: Dump) => string, ranks = 4): Lowered["edges"] => {
    const d = new Dump(ranks, "bfloat16");
    return lower(d.graph(make(d)), { ranks }).edges;
  };

  test("an expert's output times its gates leaves while other tiles are computed", () => {
    const found = edges((d) => {
      const product = d.mm(d.input("h", [8192, 2048]), d.input("w", [2048, 4096]));
      return d.scatter(d.pointwise("mul", product, d.input("gate", [8192, 1])));
    });
    expect(found.map((e) => [e.from, e.to, e.isFused])).toEqual([
      ["mm_1", "mul_1", true],
      ["mul_1", "reduce_scatter_tensor_1", true],
    ]);
    // Tiles of eight rounds leave while others are computed; those of one round would leave when all are done.
    expect(found[0]!.apart! - found[0]!.together!).toBeGreaterThan(15e-6);
  });

  test("a function of one tensor travels as that does, and one of two as what it makes of them", () => {
    const [one] = edges((d) => d.scatter(d.pointwise("relu", d.input("x", [8192, 4096]))));
    expect(one).toMatchObject({ from: "relu_1", isFused: true });
    const [two] = edges((d) => d.scatter(d.pointwise("mul", d.input("x", [8192, 4096]), d.input("y", [8192, 4096]))));
    expect(two).toMatchObject({ from: "mul_1", isFused: true });
    // Both tensors come from this rank's memory, and half their bytes leave it: no more than the reduction alone moves.
    expect(two!.together! / one!.together!).toBeLessThan(1.1);
  });

  test("a function of summands takes as long as its reduction, at any size", () => {
    const seconds = (rows: number, fn: (d: Dump, x: string) => string): number => {
      const d = new Dump(4, "bfloat16");
      const { parts } = lower(d.graph(d.reduce(fn(d, d.input("x", [rows, 1024])))), { ranks: 4, fuse: "legal" });
      expect(parts.length).toBe(1);
      return parts[0]!.seconds;
    };
    for (const rows of [16, 256, 8192])
      expect(seconds(rows, (d, x) => d.pointwise("relu", x)) / seconds(rows, (d, x) => d.pointwise("mul", x, 0.5))).toBeCloseTo(1, 2); // prettier-ignore
  });
});
