/** FX nodes that are others in a row: constants, indices, bounds, masks. Programs compute what the float64 reference says of them. */
import { describe, expect, test } from "vitest";
import { FxReference } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import { type FxGraph, lower, type Lowered } from "../../src/compiler/graph/index.js";
import { type DType } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { allocate, decodeInto, encodeArray, type TypedArray } from "../../src/runtime/numbers/index.js";
import { Dump, expectLowered, expectRuns, fused, lengthArgument } from "./fx-support.js";

const LEGAL = { ranks: 2, fuse: "legal" } as const;
const BOOL = { dtype: "bool" };

const operations = (l: Lowered): string[][] =>
  l.parts.flatMap((p) => (p.kind === "program" ? [p.graph.nodes.map((n) => n.op)] : []));
const reasons = (l: Lowered): string[] => l.parts.flatMap((p) => (p.kind === "external" ? [p.why] : []));

/** Of scores [n, n]: whether one looks back, as `arange(n)[:, None] >= arange(n)[None, :]`. */
function causal(d: Dump, n: number): string {
  const index = d.call("aten.arange.start_step", [0, n], [n], { dtype: "int64" });
  return d.call("aten.ge.Tensor", [d.view(index, [n, 1]), d.view(index, [1, n])], [n, n], BOOL);
}

/** `h` is [4, 6], and what a conversion gives; `k` [4, 6] of bool, and the same on all ranks. */
interface Form {
  readonly name: string;
  readonly dtype?: string;
  readonly make: (d: Dump, h: string, k: string) => readonly string[];
  readonly becomes: readonly string[];
}

const SHAPE = [4, 6];
const FORMS: readonly Form[] = [
  {
    name: "full and scalar_tensor are numbers beside larger tensors",
    make: (d, h) => {
      const [full, one] = [d.call("aten.full.default", [SHAPE, 0.25], SHAPE), d.call("aten.scalar_tensor.default", [3], [])]; // prettier-ignore
      return [d.pointwise("mul", d.pointwise("add", h, full), one)];
    },
    becomes: ["all_reduce", "add", "mul"],
  },
  {
    name: "a constant that is larger than what it stands beside, and is given back",
    make: (d) => {
      const row = d.reduce(d.input("row", [6]));
      const full = d.call("aten.full.default", [SHAPE, 2], SHAPE);
      return [d.pointwise("add", row, full), full];
    },
    becomes: ["all_reduce", "iota", "mul", "cast", "add", "add"],
  },
  {
    name: "constants of truth values and of whole numbers",
    make: (d, h, k) => {
      const yes = d.call("aten.full.default", [[6], true], [6], BOOL);
      const both = d.call("aten.bitwise_and.Tensor", [k, yes], SHAPE, BOOL);
      const whole = d.call("aten.full.default", [[], 3], [], { dtype: "int64" });
      return [d.call("aten.where.self", [both, d.pointwise("mul", h, whole), h], SHAPE)];
    },
    becomes: ["iota", "mul", "eq", "and", "all_reduce", "mul", "where"],
  },
  {
    name: "a causal mask, and softmax behind it",
    make: (d) => {
      const scores = d.reduce(d.input("scores", [5, 5]));
      const least = d.call("aten.scalar_tensor.default", [-60000], []);
      const seen = d.call("aten.where.self", [causal(d, 5), scores, least], [5, 5]);
      return [d.call("aten._softmax.default", [seen, -1, false], [5, 5])];
    },
    becomes: ["iota", "cast", "reshape", "reshape", "ge", "all_reduce", "where", "max", "sub", "exp", "sum", "div"],
  },
  {
    name: "masked_fill with minus infinity, of what is not seen",
    dtype: "bfloat16",
    make: (d) => {
      const scores = d.reduce(d.input("scores", [5, 5]));
      const hidden = d.call("aten.bitwise_not.default", [causal(d, 5)], [5, 5], BOOL);
      const filled = d.call("aten.masked_fill.Scalar", [scores, hidden, "-inf"], [5, 5]);
      return [d.call("aten._softmax.default", [filled, -1, false], [5, 5])];
    },
    becomes: [
      ...["iota", "cast", "reshape", "reshape", "ge", "not", "iota", "mul", "cast", "log", "reshape", "cast"],
      ...["all_reduce", "where", "max", "sub", "exp", "sum", "div"],
    ],
  },
  {
    name: "masked_fill with a tensor",
    make: (d, h, k) => [d.call("aten.masked_fill.Tensor", [h, k, d.call("aten.full.default", [[], -7], [])], SHAPE)],
    becomes: ["all_reduce", "where"],
  },
  {
    name: "rsub, with a factor and without, and square",
    make: (d, h) => {
      const y = d.call("aten.rsub.Scalar", [h, 1], SHAPE);
      return [d.call("aten.square.default", [d.call("aten.rsub.Tensor", [h, y, 3], SHAPE)], SHAPE)];
    },
    becomes: ["all_reduce", "sub", "mul", "sub", "mul"],
  },
  {
    name: "functions of one element, and those that are made of them",
    make: (d, h) => {
      const y = d.pointwise("log1p", d.pointwise("abs", h));
      const z = d.pointwise("expm1", d.pointwise("exp2", y));
      return [d.pointwise("sign", h), d.call("aten.sgn.default", [z], SHAPE), d.pointwise("cos", z)];
    },
    becomes: [
      "all_reduce",
      "gt",
      "cast",
      "lt",
      "cast",
      "sub",
      "abs",
      "log1p",
      "exp2",
      "expm1",
      "gt",
      "cast",
      "lt",
      "cast",
      "sub",
      "cos",
    ],
  },
  {
    name: "fractions that are cut off, of quotients too",
    make: (d, h) => {
      const quarters = d.pointwise("mul", h, 4);
      const rounded = (name: string): string => d.pointwise(name, quarters);
      const [down, even] = [rounded("floor"), rounded("round")];
      return [
        d.pointwise("add", down, d.pointwise("mul", even, rounded("ceil"))),
        d.call("aten.div.Tensor_mode", [quarters, 2], SHAPE, { kwargs: { rounding_mode: "floor" } }),
        d.call("aten.div.Tensor_mode", [quarters, 2, "trunc"], SHAPE),
        d.pointwise("trunc", quarters),
      ];
    },
    becomes: ["all_reduce", "mul", "floor", "round", "ceil", "mul", "add", "div", "floor", "div", "trunc", "trunc"],
  },
  {
    name: "bounds",
    make: (d, h) => {
      const row = d.input("row", [6]);
      const both = d.call("aten.clamp.default", [h, -0.5, 0.75], SHAPE);
      const most = d.call("aten.clamp.default", [h, null, 0.25], SHAPE);
      const least = d.call("aten.clamp_min.default", [both, 0], SHAPE);
      return [least, d.call("aten.clamp_max.Tensor", [most, row], SHAPE)];
    },
    // Of what is no number they leave it so: `max` and `min` would not.
    becomes: ["all_reduce", "lt", "where", "gt", "where", "lt", "where", "gt", "where", "lt", "ne", "or", "where"],
  },
  {
    name: "truth values, bit by bit",
    make: (d, h, k) => {
      const more = d.call("aten.gt.Scalar", [h, 0], SHAPE, BOOL);
      const either = d.call("aten.bitwise_or.Tensor", [d.call("aten.bitwise_not.default", [more], SHAPE, BOOL), k], SHAPE, BOOL); // prettier-ignore
      return [d.call("aten.bitwise_and.Tensor", [either, more], SHAPE, BOOL)];
    },
    becomes: ["all_reduce", "gt", "not", "or", "and"],
  },
  {
    name: "indices from somewhere on, in steps",
    make: (d, h) => {
      const odd = d.call("aten.arange.start_step", [1, 13, 2], [6]);
      const half = d.call("prims.iota.default", [4], [4], { kwargs: { start: 3, step: -1, device: "cuda", requires_grad: false }, dtype: "int64" }); // prettier-ignore
      return [d.pointwise("add", d.pointwise("mul", h, odd), d.view(half, [4, 1]))];
    },
    becomes: [
      "all_reduce",
      "iota",
      "cast",
      "mul",
      "add",
      "mul",
      "iota",
      "cast",
      "mul",
      "add",
      "reshape",
      "cast",
      "add",
    ],
  },
  {
    name: "the logarithm of softmax",
    make: (d, h) => [d.call("aten._log_softmax.default", [h, -1, false], SHAPE), d.call("aten.log_softmax.int", [h, 0], SHAPE)], // prettier-ignore
    becomes: [
      "all_reduce",
      ...["max", "sub", "exp", "sum", "log", "sub"],
      ...["max", "sub", "exp", "sum", "log", "sub"],
    ],
  },
];

describe("rewrites compute what the region says", () => {
  test.for(FORMS)("$name", ({ dtype, make, becomes }) => {
    const d = new Dump(2, dtype);
    const h = d.reduce(d.input("x", SHAPE));
    const k = d.input("k", SHAPE, { dtype: "bool", replicated: true });
    const lowered = expectLowered(d.graph(...make(d, h, k)), LEGAL);
    expect(operations(lowered)).toEqual([becomes]);
  });

  test("in float64, by hand", () => {
    const d = new Dump(1);
    const x = d.input("x", [1, 4]);
    const of = (name: string, ...args: unknown[]): string => d.call(`aten.${name}.default`, args, [1, 4]);
    const mask = d.call("aten.lt.Scalar", [x, 0], [1, 4], BOOL);
    const index = d.call("aten.arange.start_step", [1, 12, 3], [4], { dtype: "int64" });
    const graph = d.graph(of("rsub", x, 1, 2), of("clamp", x, 0, 3), of("clamp", x, null, 3), of("clamp_min", x, 2), of("masked_fill", x, mask, "-inf"), index, of("full_like", x, 7)); // prettier-ignore
    const results = new FxReference(atSizes(graph, {})).run({ x: [[1, -1, 3, 5]] }).map(([r]) => [...r!.data]);
    expect(results).toEqual([
      [-1, 3, -5, -9],
      [1, 0, 3, 3],
      [1, -1, 3, 3],
      [2, 2, 3, 5],
      [1, -Infinity, 3, 5],
      [1, 4, 7, 10],
      [7, 7, 7, 7],
    ]);
  });
});

test("softmax over a dimension that is cut among the ranks: of what each has, the largest and the sum are reduced", () => {
  const d = new Dump(2);
  const x = d.input("x", [4, 6]);
  const most = d.reduce(d.call("aten.amax.default", [x, [-1], true], [4, 1]), "max");
  const powers = d.pointwise("exp", d.pointwise("sub", x, most));
  const sum = d.reduce(d.call("aten.sum.dim_IntList", [powers, [-1], true], [4, 1]));
  const lowered = expectLowered(d.graph(d.pointwise("div", powers, sum)), LEGAL);
  expect(operations(lowered)).toEqual([["max", "all_reduce", "sub", "exp", "sum", "all_reduce", "div"]]);
  const [part] = lowered.parts;
  expect(part).toMatchObject({ graph: { inputs: [{ shape: [4, 12], layout: "sharded(1)" }] } });
});

test("a constant is rounded as its elements are", () => {
  const d = new Dump(2, "bfloat16");
  const h = d.reduce(d.input("x", SHAPE));
  const [part] = lower(d.graph(d.pointwise("sub", h, d.call("aten.full_like.default", [h, 0.1], SHAPE))), LEGAL).parts;
  expect(part).toMatchObject({ graph: { nodes: [{ op: "all_reduce" }, { op: "sub", inputs: ["all_reduce_1", 0.10009765625] }] } }); // prettier-ignore
});

test("indices of a size that only a launch knows", () => {
  const d = new Dump(2, "float32", "region", { s0: { min: 2, max: 64, hint: 6 } });
  const scores = d.reduce(d.input("scores", ["s0", 8]));
  const index = d.call("aten.arange.default", [lengthArgument("s0")], ["s0"], { dtype: "int64" });
  const fx = d.graph(d.pointwise("mul", scores, d.view(index, ["s0", 1])));
  const lowered = lower(fx, LEGAL);
  expect(fused(lowered)).toEqual(["all_reduce_1 + arange_1 + mul_1"]);
  for (const s0 of [2, 5]) expect(expectRuns(fx, lowered, { s0 })).toBe(1);
});

test("indices along the dimension that is cut are each rank's own, others are those of all", () => {
  const scaled = (shape: readonly number[]): Lowered => {
    const d = new Dump(2);
    const index = d.call("aten.arange.default", [4], [4], { dtype: "int64" });
    return expectLowered(d.graph(d.gather(d.pointwise("mul", d.input("x", [4, 4]), d.view(index, shape)))), LEGAL);
  };
  expect(fused(scaled([1, 4]))).toEqual(["arange_1 + mul_1 + all_gather_into_tensor_1"]);
  const apart = scaled([4, 1]);
  expect(fused(apart)).not.toContain("arange_1 + mul_1 + all_gather_into_tensor_1");
  expect(apart.edges.map((e) => e.why).join()).toContain(
    "counts from 0 on every rank, along the dimension that is cut",
  );
});

test("a constant is what is in memory once it is changed", () => {
  const d = new Dump(2);
  const full = d.call("aten.full.default", [SHAPE, 2], SHAPE);
  const before = d.pointwise("mul", d.reduce(d.input("x", SHAPE)), full);
  const changed = d.call("aten.copy_.default", [full, d.input("y", SHAPE)], SHAPE);
  const fx: FxGraph = d.graph(before, d.pointwise("mul", d.reduce(d.input("z", SHAPE)), full), changed);
  expectLowered(fx, LEGAL);
});

describe("what collc has no words for stays with the caller", () => {
  test.for<[string, string, readonly unknown[], string]>([
    ["bits of numbers", "aten.bitwise_and.Tensor", ["h", "h"], "collc has bitwise_and of truth values alone"],
    ["what is not a number", "aten.masked_fill.Scalar", ["h", "k", "nan"], "collc has constants of numbers, and no others"],
    ["quotients of whole numbers that are rounded down", "aten.div.Tensor_mode", ["h", 2, "floor"], "collc has no division of i64 that rounds by 'floor'"],
    ["decimals", "aten.round.decimals", ["h", 2], "collc rounds to whole numbers, not to decimals"],
    ["an end alone by name", "aten.arange.default", [], "it has no 'start', which aten.arange needs"],
  ])("%s", ([, target, args, why]) => {
    const d = new Dump(2, "int64");
    const names: Record<string, string> = { h: d.reduce(d.input("x", SHAPE)), k: d.input("k", SHAPE, BOOL) };
    const y = d.call(target, args.map((a) => names[String(a)] ?? a), args.length === 0 ? [6] : SHAPE, args.length === 0 ? { kwargs: { end: 6 } } : {}); // prettier-ignore
    expect(reasons(lower(d.graph(d.pointwise("add", names["h"]!, y)), LEGAL))).toContain(why);
  }); // prettier-ignore

  test("and counts that the shape contradicts are refused", () => {
    const d = new Dump(2);
    const y = d.call("aten.arange.start_step", [0, 13, 2], [6]);
    expect(() => lower(d.graph(d.pointwise("mul", d.reduce(d.input("x", SHAPE)), y)), LEGAL)).toThrow("node 'arange_1' says that it has 6 elements; from 0 to 13 there are 7"); // prettier-ignore
  });
});

test("what a program folds has the shape of the graph to whoever goes on with it", () => {
  const d = new Dump(2);
  const mean = d.call("aten.mean.dim", [d.reduce(d.input("x", [2, 3])), [1], false], [2]);
  const apart = d.call("aten.cumsum.default", [mean, 0], [2]);
  const lowered = lower(d.graph(apart), LEGAL);
  const program = lowered.parts.find((p) => p.kind === "program")!;
  expect(program.outputs).toMatchObject([{ tensor: mean, shape: [2, 1] }]);
  // [2] and [2, 1] are not alike beside [2, 1].
  const alone = new Dump(1);
  const [x, other] = [alone.input("x", [2, 1]), alone.input("other", [2, 1])];
  const folded = alone.call("aten.mean.dim", [alone.scatter(x), [1], false], [2]);
  expectLowered(alone.graph(alone.call("aten.add.Tensor", [folded, other], [2, 2])), { ranks: 1, fuse: "legal" });
});

describe("numbers by hand", () => {
  /** What rank 0 gets of the one program of a graph, by tensor; every rank is given the same. */
  function computed(fx: FxGraph, given: Readonly<Record<string, readonly number[]>>): Record<string, number[]> {
    const parts = lower(fx, LEGAL).parts.flatMap((p) => (p.kind === "program" ? [p] : []));
    expect(parts).toHaveLength(1);
    const [{ compiled, inputs, outputs }] = parts as [(typeof parts)[0]];
    const held = [0, 1].map(() => ({
      inputs: Object.fromEntries(inputs.map((b): [string, TypedArray] => [b.name, encodeArray(b.dtype as DType, Float64Array.from(given[b.tensor]!))])), // prettier-ignore
      outputs: Object.fromEntries(outputs.map((b): [string, TypedArray] => [b.name, allocate(b.dtype as DType, (b.shape as number[]).reduce((p, n) => p * n, 1))])), // prettier-ignore
    }));
    new CpuGroup(compiled.kernel!, compiled.manifest!, { source: compiled.source }).run(held, {});
    return Object.fromEntries(outputs.map((b) => { const o = held[0]!.outputs[b.name]!; return [b.tensor, [...decodeInto(b.dtype as DType, o, new Float64Array(o.length))]]; })); // prettier-ignore
  }

  test.for<[string, string, readonly [number, number], boolean, boolean]>([
    ["int32", "int64", [2, 2 ** 32 + 4], false, true],
    ["int8", "uint8", [-1, 254], false, true],
    ["uint8", "int8", [127, -2], false, false],
    ["bool", "int32", [1, 3], false, true],
    ["uint32", "int32", [2 ** 31, -1], false, false],
  ])("%s and %s are compared in what has the numbers of both", ([a, b, [x, y], isEqual, isLess]) => {
    const d = new Dump(2);
    const sum = d.reduce(d.input("x", [1], { dtype: a }), a === "bool" ? "max" : "sum");
    const fx = d.graph(...["eq", "lt"].map((fn) => d.call(`aten.${fn}.Tensor`, [sum, d.input(`y${fn}`, [1], { dtype: b, replicated: true })], [1], BOOL))); // prettier-ignore
    const typed = { ...fx, nodes: fx.nodes.map((n) => (/^(all_reduce|wait_tensor)/.test(n.name) ? { ...n, dtype: a } : n)) };
    const found = computed(typed, { x: [x], yeq: [y], ylt: [y] });
    expect(found).toEqual({ eq_1: [Number(isEqual)], lt_1: [Number(isLess)] });
  }); // prettier-ignore

  test.for<[string, number, number]>([
    ["float32", 1, 0],
    ["bfloat16", 0.5, -0.5],
    ["int64", 2 ** 40, 3],
    ["uint8", 200, 7],
  ])("one of two numbers of %s is of that dtype", ([dtype, yes, no]) => {
    const d = new Dump(2);
    const isMore = d.call("aten.gt.Scalar", [d.reduce(d.input("x", [2])), 0], [2], BOOL);
    const [a, b] = [yes, no].map((n) => d.call("aten.scalar_tensor.default", [n], [], { dtype }));
    const y = d.call("aten.where.self", [isMore, a, b], [2], { dtype });
    const z = d.call("aten.where.Scalar", [isMore, yes, no], [2], { dtype });
    const fx = d.graph(y, z);
    const program = lower(fx, LEGAL).parts.find((p) => p.kind === "program")!;
    program.compiled.manifest!.outputs.forEach((o, i) => expect(o.dtype).toBe(program.outputs[i]!.dtype));
    expect(computed(fx, { x: [1, -1] })).toEqual({ [y]: [yes, no], [z]: [yes, no] });
  });

  test("whole numbers of 8 bits wrap before anyone sees what stands above them", () => {
    const d = new Dump(2, "int8");
    const sum = d.reduce(d.input("x", [2]));
    const wide = d.call("prims.convert_element_type.default", [sum, "torch.float32"], [2], { dtype: "float32" });
    const isMore = d.call("aten.gt.Scalar", [sum, 0], [2], BOOL);
    const third = d.call("aten.div.Tensor_mode", [d.call("aten.add.Tensor", [sum, sum], [2]), 3, "trunc"], [2]);
    // 200 is -56; twice that is -112.
    expect(computed(d.graph(wide, isMore, third), { x: [100, 3] })).toEqual({ [wide]: [-56, 6], [isMore]: [0, 1], [third]: [-37, 4] }); // prettier-ignore
  });

  test("what is no number stays none beside the greater and the lesser of two", () => {
    const d = new Dump(2);
    const [x, z] = [d.reduce(d.input("x", [4])), d.input("z", [4])];
    const made = [
      d.call("aten.relu.default", [x], [4]),
      d.call("aten.clamp.default", [x, -1, 1], [4]),
      d.call("aten.maximum.default", [x, z], [4]),
      d.call("aten.minimum.default", [z, x], [4]),
    ];
    expect(computed(d.graph(...made), { x: [NaN, 3, -3, 0], z: [1, NaN, 1, -1] })).toEqual({
      [made[0]!]: [NaN, 6, 0, 0],
      [made[1]!]: [NaN, 1, -1, 0],
      [made[2]!]: [NaN, NaN, 1, 0],
      [made[3]!]: [NaN, NaN, -6, -1],
    });
  });

  test("an average of whole numbers stays with the caller, who is told why", () => {
    const d = new Dump(2);
    const y = d.call("_c10d_functional.all_reduce.default", [d.input("x", [4], { dtype: "i32" }), "avg", "tp"], [4], { dtype: "i32" }); // prettier-ignore
    const { edges, parts } = lower(d.graph(d.call("aten.neg.default", [y], [4], { dtype: "i32" })), LEGAL);
    expect(parts.every((p) => p.kind !== "program")).toBe(true);
    expect(JSON.stringify([edges, parts])).toContain("collc averages floats, and this holds i32");
  });

  test("a bias times 0 is not looked at", () => {
    const d = new Dump(2);
    const y = d.call("aten.addmm.default", [d.input("b", [1]), d.gather(d.input("x", [1, 2])), d.input("w", [2, 1])], [2, 1], { kwargs: { beta: 0 } }); // prettier-ignore
    expect(computed(d.graph(y), { b: [NaN], x: [1, 2], w: [3, 4] })).toEqual({ [y]: [11, 11] });
  });

  test.for<[string, readonly number[], readonly number[], readonly number[]]>([
    ["matmul", [2, 3], [3], [2]],
    ["matmul", [3], [3, 2], [2]],
    ["matmul", [3], [3], []],
    ["linear", [2, 3], [3], [2]],
  ])("%s of %s and %s", ([name, a, b, shape]) => {
    const d = new Dump(2);
    const numbers = (s: readonly number[]): number[] => Array.from({ length: s.reduce((p, n) => p * n, 1) }, (_, i) => i + 1);
    const y = d.reduce(d.call(`aten.${name}.default`, [d.input("a", a), d.input("b", b)], shape));
    const want = shape.length === 0 ? [28] : a.length === 1 ? [44, 56] : [28, 64];
    expect(Object.values(computed(d.graph(y), { a: numbers(a), b: numbers(b) }))).toEqual([want]);
  }); // prettier-ignore
});

describe("what only another node says stays with the caller", () => {
  const own = "an argument of aten";
  test.for<[string, (d: Dump, y: string, k: string) => string, string]>([
    ["where a part begins", (d, y, k) => d.call("aten.slice.Tensor", [y, 0, k, 3], [2, 4]), `${own}.slice.Tensor is a number that only the launch knows`],
    ["which part it is", (d, y, k) => d.call("aten.select.int", [y, 0, k], [4]), `${own}.select.int is a number that only the launch knows`],
    ["how long parts are", (d, y, k) => d.call("getitem", [d.call("aten.split.Tensor", [y, k, 0], null), 1], [2, 4]), `${own}.split.Tensor is a number that only the launch knows`],
    ["how often something is repeated", (d, y, k) => d.call("aten.repeat.default", [y, [k, 1]], [8, 4]), "how often it repeats a dimension, only the launch knows"],
    ["bytes of elements of another size", (d, y) => d.call("aten.view.dtype", [y, "torch.int8"], [4, 16], { dtype: "int8" }), "it sees f32 as i8, which has elements of another size"],
  ])("%s", ([, make, why]) => {
    const d = new Dump(2);
    const y = d.reduce(d.input("x", [4, 4]));
    const k = d.call("aten.item.default", [d.input("n", [1], { dtype: "int64" })], null);
    const z = make(d, y, k);
    expect(reasons(lower(d.graph(d.call("aten.clone.default", [z], d.shapeOf(z), { dtype: d.dtypeOf(z) })), LEGAL))).toContain(why);
  }); // prettier-ignore

  test.for<[string, readonly unknown[], readonly number[], string]>([
    ["stack", [["y", "y"], 5], [2, 4, 4], "node 'stack_1' joins along dimension 5, and says that it has 3"],
    ["glu", ["y", 7], [4, 2], "node 'glu_1' names dimension 7 of a tensor that has 2"],
    ["split", ["y", 0, 0], [4, 4], "node 'split_1' splits into parts of 0"],
  ])("%s of what cannot be is refused", ([name, args, shape, why]) => {
    const d = new Dump(2);
    const y = d.reduce(d.input("x", [4, 4]));
    const put = (a: unknown): unknown => (Array.isArray(a) ? a.map(put) : a === "y" ? y : a);
    const z = d.call(`aten.${name}.default`, args.map(put), name === "split" ? null : shape);
    expect(() => lower(d.graph(name === "split" ? y : z), LEGAL)).toThrow(why);
  });
});
