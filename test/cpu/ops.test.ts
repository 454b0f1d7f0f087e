/** Each op of the device level, from hand-written IR. */
import { describe, expect, test } from "vitest";
import { decodeArray, encode, encodeArray, type TypedArray } from "../../src/runtime/numbers/index.js";
import { blank, load, small, numbers as arrayOf } from "./kernels.js";

/** Runs `result = body(a, b)` on scalars: 4 elements of buffers a and b of one kind, result of another. */
function elementwise(
  kind: string,
  resultKind: string,
  op: string,
  a: readonly number[],
  b: readonly number[] = a,
): TypedArray {
  const n = a.length;
  const group = load(
    small(
      `buffer a: input ${kind}[${n}] buffer b: input ${kind}[${n}] buffer y: output ${resultKind}[${n}]`,
      `%lo = const {value=0} : index
       %hi = const {value=${n}} : index
       for %lo, %hi {map="threads"} (%i) {
         %a = load %i {buffer="a"} : ${kind}
         %b = load %i {buffer="b"} : ${kind}
         ${op}
         store %y, %i {buffer="y"}
       }`,
    ),
  );
  const [rank] = blank(group, {});
  encodeArray(kind as "f32", a, rank!.inputs["a"]);
  encodeArray(kind as "f32", b, rank!.inputs["b"]);
  group.run([rank!], {});
  return rank!.outputs["y"]!;
}

const numbers = (dtype: string, a: TypedArray): number[] => [...decodeArray(dtype as "f32", a)];
const binary = (kind: string, fn: string, a: readonly number[], b: readonly number[]): number[] =>
  numbers(kind, elementwise(kind, kind, `%y = binary %a, %b {fn="${fn}"} : ${kind}`, a, b));
const unary = (kind: string, fn: string, a: readonly number[]): number[] =>
  numbers(kind, elementwise(kind, kind, `%y = unary %a {fn="${fn}"} : ${kind}`, a));
const cast = (from: string, to: string, a: readonly number[]): number[] =>
  numbers(to, elementwise(from, to, `%y = cast %a : ${to}`, a));

describe("arithmetic", () => {
  test("f32 rounds every operation", () => {
    const [x, y] = [Math.fround(0.1), Math.fround(0.7)];
    expect(binary("f32", "add", [x], [y])).toEqual([Math.fround(x + y)]);
    expect(binary("f32", "sub", [x], [y])).toEqual([Math.fround(x - y)]);
    expect(binary("f32", "mul", [x], [y])).toEqual([Math.fround(x * y)]);
    expect(binary("f32", "div", [x], [y])).toEqual([Math.fround(x / y)]);
    expect(binary("f32", "rem", [5.5], [2])).toEqual([1.5]);
    expect(binary("f32", "add", [2 ** 24], [1])).toEqual([2 ** 24]);
    expect(binary("f32", "min", [1, NaN, -0], [2, 3, 0])).toEqual([1, 3, -0]);
    expect(binary("f32", "max", [1, NaN, 3], [2, 3, NaN])).toEqual([2, 3, 3]);
  });

  test("16- and 8-bit floats compute in f32 and round once", () => {
    for (const kind of ["bf16", "f16", "f8e4m3", "f8e5m2"]) {
      const [x, y] = numbers(kind, encodeArray(kind as "bf16", [0.3, 1.7])) as [number, number];
      for (const [fn, value] of [
        ["add", x + y],
        ["mul", x * y],
        ["min", x],
        ["max", y],
      ] as const)
        expect(binary(kind, fn, [x], [y])[0]).toBe(numbers(kind, encodeArray(kind as "bf16", [Math.fround(value)]))[0]);
      expect(unary(kind, "neg", [x])).toEqual([-x]);
    }
  });

  test("integers wrap and divide towards zero", () => {
    const most = 2 ** 31 - 1;
    expect(binary("i32", "add", [most, -1], [1, 1])).toEqual([-(2 ** 31), 0]);
    expect(binary("i32", "mul", [most], [most])).toEqual([1]);
    expect(binary("i32", "div", [-7, 7], [2, -2])).toEqual([-3, -3]);
    expect(binary("i32", "rem", [-7], [2])).toEqual([-1]);
    expect([...elementwise("u32", "u32", '%y = binary %a, %b {fn="sub"} : u32', [0], [1])]).toEqual([2 ** 32 - 1]);
    expect([...elementwise("u32", "u32", '%y = binary %a, %b {fn="mul"} : u32', [2 ** 32 - 1], [2 ** 32 - 1])]).toEqual(
      [1],
    );
    expect(binary("u32", "div", [7], [2])).toEqual([3]);
    expect(binary("i8", "add", [127], [1])).toEqual([-128]);
    expect(binary("u8", "sub", [0], [1])).toEqual([255]);
    expect(binary("i32", "and", [12], [10])).toEqual([8]);
    expect(binary("i32", "or", [12], [10])).toEqual([14]);
    expect(binary("i32", "xor", [12], [10])).toEqual([6]);
    expect(binary("i32", "min", [-3], [2])).toEqual([-3]);
    expect(binary("u32", "max", [3], [2])).toEqual([3]);
    expect(unary("i32", "neg", [5])).toEqual([-5]);
    expect(unary("i32", "abs", [-5, -(2 ** 31)])).toEqual([5, -(2 ** 31)]);
    expect(unary("i32", "relu", [-5, 5])).toEqual([0, 5]);
  });

  test("unary functions of f32", () => {
    const x = [0.25, 1.5, -0.75];
    const f: Record<string, (v: number) => number> = {
      exp: Math.exp, tanh: Math.tanh, abs: Math.abs, neg: (v) => -v, relu: (v) => Math.max(v, 0), silu: (v) => v / (1 + Math.exp(-v)),
      exp2: (v) => 2 ** v, expm1: Math.expm1, log1p: Math.log1p, sin: Math.sin, cos: Math.cos, floor: Math.floor, ceil: Math.ceil, trunc: Math.trunc,
    }; // prettier-ignore
    for (const [fn, g] of Object.entries(f)) expect(unary("f32", fn, x)).toEqual(x.map((v) => Math.fround(g(v))));
    expect(unary("f32", "sqrt", [2])).toEqual([Math.fround(Math.SQRT2)]);
    expect(unary("f32", "rsqrt", [4])).toEqual([0.5]);
    expect(unary("f32", "log", [1])).toEqual([0]);
    expect(unary("f32", "gelu", [1])[0]).toBeCloseTo(0.8413447, 6);
    expect(unary("f32", "erf", [0.5, -1, 9])).toEqual([0.5204998778130465, -0.8427007929497149, 1].map(Math.fround));
    const halves = [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609, -0.25, Infinity];
    expect(unary("f32", "round", halves)).toEqual([0, 2, 2, -0, -2, 0, 8388609, -0, Infinity]);
  });

  test("compare and select", () => {
    for (const [fn, wanted] of [
      ["eq", [0, 1, 0]],
      ["ne", [1, 0, 1]],
      ["lt", [1, 0, 0]],
      ["le", [1, 1, 0]],
      ["gt", [0, 0, 1]],
      ["ge", [0, 1, 1]],
    ] as const)
      for (const kind of ["f32", "bf16", "i32"])
        expect(
          numbers(
            "i32",
            elementwise(
              kind,
              "i32",
              `%c = compare %a, %b {fn="${fn}"} : bool\n%y = cast %c : i32`,
              [1, 2, 3],
              [2, 2, 2],
            ),
          ),
        ).toEqual(wanted);
    expect(
      numbers(
        "f32",
        elementwise(
          "f32",
          "f32",
          '%c = compare %a, %b {fn="lt"} : bool\n%n = unary %c {fn="not"} : bool\n%y = select %n, %a, %b : f32',
          [1, 5],
          [3, 3],
        ),
      ),
    ).toEqual([3, 5]);
  });

  test("casts round once, saturate f8, cut towards zero", () => {
    expect(cast("f32", "bf16", [1 + 2 ** -8, 1 + 3 * 2 ** -8])).toEqual([1, 1 + 2 ** -6]);
    expect(cast("f32", "f8e4m3", [1e6, -Infinity])).toEqual([448, -448]);
    expect(cast("bf16", "f16", [1e6])).toEqual([Infinity]);
    expect(cast("f16", "f32", [0.1])).toEqual([decodeArray("f16", encodeArray("f16", [0.1]))[0]]);
    expect(cast("f32", "i32", [1.9, -1.9, 1e20, NaN])).toEqual([1, -1, 2 ** 31, 0]); // 2^31 - 1, seen as f32
    expect([...elementwise("f32", "u32", "%y = cast %a : u32", [-5, 1e20])]).toEqual([0, 2 ** 32 - 1]);
    expect(cast("f32", "i8", [3.7, -3.7])).toEqual([3, -3]);
    expect(cast("i32", "f32", [2 ** 24 + 1])).toEqual([2 ** 24]);
    expect(cast("i32", "i8", [300])).toEqual([44]);
    expect(cast("i8", "u32", [-1])).toEqual([2 ** 32]);
    expect(cast("i32", "bf16", [257])).toEqual([256]);
  });

  test("copies keep every bit of narrow floats, NaN payloads included", () => {
    const group = load(small("buffer x: input bf16[4] buffer y: output bf16[4]", `%z = const {value=0} : index
      %v = load %z {buffer="x"} : vec<4 x bf16>
      store %v, %z {buffer="y"}`)); // prettier-ignore
    const [rank] = blank(group, {});
    arrayOf(rank!.inputs["x"]).set([0x7f81, 0xffc1, 0x8000, 1]);
    group.run([rank!], {});
    expect([...rank!.outputs["y"]!]).toEqual([0x7f81, 0xffc1, 0x8000, 1]);
  });
});

/** Runs a body on one rank and gives its output y of i32[n]. */
function trace(n: number, body: string, blocks = 1, world = 1): number[][] {
  const group = load(
    small(
      `buffer y: output i32[${n}] symmetric`,
      `%zero = const {value=0} : index\n%one = const {value=1} : index\n${body}`,
      world,
      32,
      blocks,
    ).replace("body {", `work ${blocks}\nbody {`),
  );
  const ranks = blank(group, {});
  for (const r of ranks) arrayOf(r.outputs["y"]).fill(0);
  group.run(ranks, {});
  return ranks.map((r) => [...arrayOf(r.outputs["y"])]);
}

describe("structure", () => {
  test("index arithmetic rounds towards zero, and its bit operations are of 64 bits", () => {
    const body = (fn: string, a: number, b: number): string => `%a = const {value=${a}} : index
      %b = const {value=${b}} : index
      %r = binary %a, %b {fn="${fn}"} : index
      %v = cast %r : i32
      store %v, %zero {buffer="y"}`;
    for (const [fn, a, b, wanted] of [
      ["div", 7, 2, 3],
      ["rem", 7, 2, 1],
      ["div", -7, 2, -3],
      ["rem", -7, 2, -1],
      ["mul", 6, 7, 42],
      ["sub", 2, 5, -3],
      ["min", 2, 5, 2],
      ["max", 2, 5, 5],
      ["and", 6, 3, 2],
      ["or", 6, 3, 7],
      ["xor", 6, 3, 5],
      ["and", 2 ** 40 + 5, 7, 5],
    ] as const)
      expect(trace(1, body(fn, a, b))).toEqual([[wanted]]);
  });

  test("a loop over blocks gives each block the indices that are its number modulo the grid", () => {
    const [y] = trace(12, `%lo = const {value=2} : index
      %hi = const {value=12} : index
      %b = block : index
      %g = grid : index
      for %lo, %hi {map="blocks"} (%i) {
        %ten = const {value=10} : index
        %t = binary %b, %ten {fn="mul"} : index
        %s = binary %t, %g {fn="add"} : index
        %v = cast %s : i32
        store %v, %i {buffer="y"}
      }`, 5); // prettier-ignore
    expect(y).toEqual([0, 0, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1].map((b, i) => (i < 2 ? 0 : b * 10 + 5)));
  });

  test("loops over several variables, serial order, and ranks", () => {
    const count = (map: string): string => `%two = const {value=2} : index
      %three = const {value=3} : index
      for %zero, %two, %zero, %three {map="${map}"} (%i, %j) {
        %r = binary %i, %three {fn="mul"} : index
        %at = binary %r, %j {fn="add"} : index
        %v = cast %at : i32
        store %v, %at {buffer="y"}
      }`;
    for (const map of ["threads", "serial", "ranks", "blocks"])
      expect(trace(6, count(map), 2)).toEqual([[0, 1, 2, 3, 4, 5]]);
    expect(trace(1, `%n = const {value=5} : index
      for %zero, %n {map="serial"} (%i) {
        %v = cast %i : i32
        store %v, %zero {buffer="y"}
      }`)).toEqual([[4]]); // prettier-ignore
  });

  test("if takes one side", () => {
    expect(trace(2, `for %zero, %one {map="threads"} (%t) {
        %c = compare %t, %zero {fn="eq"} : bool
        if %c () {
          %v = const {value=7} : i32
          store %v, %zero {buffer="y"}
        } () {
          %v = const {value=8} : i32
          store %v, %one {buffer="y"}
        }
      }`)).toEqual([[7, 0]]); // prettier-ignore
  });

  test("reductions fold in order, and have an identity", () => {
    const fold = (fn: string, hi: number, kind = "i32"): string => `%hi = const {value=${hi}} : index
      %r = reduce %one, %hi {fn="${fn}"} : ${kind} (%k) {
        %v = cast %k : ${kind}
        yield %v
      }
      %v = cast %r : i32
      store %v, %zero {buffer="y"}`;
    for (const [fn, wanted] of [
      ["sum", 10],
      ["prod", 24],
      ["min", 1],
      ["max", 4],
    ] as const)
      expect(trace(1, fold(fn, 5))).toEqual([[wanted]]);
    for (const [fn, wanted] of [
      ["sum", 0],
      ["prod", 1],
      ["min", 2 ** 31 - 1],
      ["max", -(2 ** 31)],
    ] as const)
      expect(trace(1, fold(fn, 1))).toEqual([[wanted]]);
    expect(trace(1, fold("sum", 5, "f32"))).toEqual([[10]]);
  });

  test("vectors: splat, arithmetic, select and reduce lane by lane", () => {
    expect(trace(8, `%two = const {value=2} : index
      %four = const {value=4} : index
      %a = const {value=3} : i32
      %s = splat %a : vec<4 x i32>
      store %s, %zero {buffer="y"}
      %r = reduce %zero, %two {fn="sum"} : vec<4 x i32> (%k) {
        %x = load %zero {buffer="y"} : vec<4 x i32>
        %p = binary %x, %s {fn="mul"} : vec<4 x i32>
        yield %p
      }
      %c = compare %r, %s {fn="gt"} : vec<4 x bool>
      %t = select %c, %r, %s : vec<4 x i32>
      store %t, %four {buffer="y"}`)).toEqual([[3, 3, 3, 3, 18, 18, 18, 18]]); // prettier-ignore
  });
});

describe("memory", () => {
  test("remote accesses go to the peer, dimensions multiply out", () => {
    const text = small(`buffer y: output i32[2, 3] symmetric`, `%one = const {value=1} : index
      %two = const {value=2} : index
      %three = const {value=3} : index
      %me = rank : index
      %up = binary %me, %one {fn="add"} : index
      %next = binary %up, %three {fn="rem"} : index
      %v = cast %me : i32
      store %v, %next, %one, %two {buffer="y", remote=true}`, 3); // prettier-ignore
    const group = load(text);
    const ranks = blank(group, {});
    group.run(ranks, {});
    expect(ranks.map((r) => r.outputs["y"]![5])).toEqual([2, 0, 1]);
  });

  test("aligned sees the simulated address of each rank", () => {
    const text = small("buffer x: input bf16[8] symmetric buffer y: output i32[3]", `%zero = const {value=0} : index
      %three = const {value=3} : index
      for %zero, %three {map="threads"} (%p) {
        %a = aligned %p {buffer="x", bytes=16, remote=true} : bool
        %v = cast %a : i32
        store %v, %p {buffer="y"}
      }`, 3); // prettier-ignore
    const group = load(text, { elementOffset: { x: [0, 4, 8] } });
    const ranks = blank(group, {});
    group.run(ranks, {});
    expect([...ranks[1]!.outputs["y"]!]).toEqual([1, 0, 1]);
  });
});

describe("tiles", () => {
  const body = (early: boolean, second = ""): string => `%zero = const {value=0} : index
    %one = const {value=1} : index
    %row = const {value=2} : index
    fragment_clear {buffer="acc"}
    copy_tile %zero, %zero, %zero {from="a", to="as", rows=0}
    copy_tile %zero, %zero, %zero {from="b", to="bs", rows=0}
    copy_commit loc(0:0)
    copy_tile %row, %zero, %one {from="a", to="as", rows=0${second}}
    copy_tile %row, %zero, %one {from="b", to="bs", rows=0}
    copy_commit loc(0:0)
    copy_wait {pending=1}
    block_sync loc(0:0)
    mma %zero {accumulator="acc", a="as", b="bs"}
    ${early ? "" : "copy_wait {pending=0}"}
    mma %one {accumulator="acc", a="as", b="bs"}
    fragment_store {from="acc", to="cs"}
    %n = const {value=6} : index
    for %zero, %n {map="threads"} (%e) {
      %v = load %e {buffer="cs"} : f32
      store %v, %e {buffer="y"}
    }`;
  const buffers = `buffer a: input bf16[3, 4] buffer b: input bf16[4, 3]
    buffer as: shared bf16[2, 2, 4] buffer bs: shared bf16[2, 4, 3] buffer acc: fragment f32[2, 3] buffer cs: shared f32[2, 3]
    buffer y: output f32[6]`;

  test("copies pad with zeros, products accumulate stage by stage", () => {
    const group = load(small(buffers, body(false)), { detectUnwritten: true });
    const [rank] = blank(group, {});
    const a = Array.from({ length: 12 }, (_, i) => i + 1);
    const b = Array.from({ length: 12 }, (_, i) => i - 5);
    encodeArray("bf16", a, rank!.inputs["a"]);
    encodeArray("bf16", b, rank!.inputs["b"]);
    group.run([rank!], {});
    const at = (x: number[], cols: number, i: number, j: number): number => x[i * cols + j] ?? 0;
    const wanted = Array.from({ length: 6 }, (_, e) => {
      let sum = 0;
      for (let k = 0; k < 4; k++) {
        sum += at(a, 4, Math.floor(e / 3), k) * at(b, 3, k, e % 3);
        // Second stage: rows 2, 3 of a (3 is outside), rows 2 to 5 of b (4 and 5 are outside).
        sum += at(a, 4, 2 + Math.floor(e / 3), k) * at(b, 3, 2 + k, e % 3);
      }
      return sum;
    });
    expect([...rank!.outputs["y"]!]).toEqual(wanted);
  });

  test("rows outside hold anything where nobody asks for what comes of them", () => {
    const group = load(small(buffers, body(false, ", spare=true")), { detectUnwritten: true });
    const [rank] = blank(group, {});
    encodeArray("bf16", Array<number>(12).fill(1), rank!.inputs["a"]);
    encodeArray("bf16", Array<number>(12).fill(1), rank!.inputs["b"]);
    group.run([rank!], {});
    // Row 0 of the second stage is row 2 of a, row 1 is outside; two of its four terms meet rows of b that there are.
    expect([...rank!.outputs["y"]!]).toEqual([6, 6, 6, NaN, NaN, NaN]);
  });

  test("a stage that is read before its copies were waited for holds poison", () => {
    const early = load(small(buffers, body(true)));
    const [rank] = blank(early, {});
    early.run([rank!], {});
    expect(rank!.outputs["y"]![0]).toBeNaN();
    const group = load(small(buffers, body(true)), { detectUnwritten: true });
    expect(() => group.run(blank(group, {}), {})).toThrow(/'as' is read but was never written/);
  });

  test("remote tiles and columns to the left of the source", () => {
    const group = load(small("buffer a: input i8[2, 2] symmetric buffer t: shared i8[1, 2, 4] buffer y: output i8[8]", `%zero = const {value=0} : index
      %one = const {value=1} : index
      %col = const {value=-1} : index
      copy_tile %one, %zero, %col, %zero {from="a", to="t", rows=0, remote=true}
      copy_commit loc(0:0)
      copy_wait {pending=0}
      %n = const {value=8} : index
      for %zero, %n {map="threads"} (%e) {
        %v = load %e {buffer="t"} : i8
        store %v, %e {buffer="y"}
      }`, 2)); // prettier-ignore
    const ranks = blank(group, {});
    arrayOf(ranks[1]!.inputs["a"]).set([1, 2, 3, 4]);
    group.run(ranks, {});
    expect([...ranks[0]!.outputs["y"]!]).toEqual([0, 1, 2, 0, 0, 3, 4, 0]);
  });

  test("integer products wrap in 32 bits", () => {
    const group = load(small("buffer a: input i8[1, 2] buffer as: shared i8[1, 1, 2] buffer bs: shared i8[1, 2, 1] buffer acc: fragment i32[1, 1] buffer cs: shared i32[1, 1] buffer y: output i32[1] buffer b: input i8[2, 1]", `%zero = const {value=0} : index
      fragment_clear {buffer="acc"}
      copy_tile %zero, %zero, %zero {from="a", to="as", rows=0}
      copy_tile %zero, %zero, %zero {from="b", to="bs", rows=0}
      copy_commit loc(0:0)
      copy_wait {pending=0}
      mma %zero {accumulator="acc", a="as", b="bs"}
      fragment_store {from="acc", to="cs"}
      %v = load %zero {buffer="cs"} : i32
      store %v, %zero {buffer="y"}`)); // prettier-ignore
    const [rank] = blank(group, {});
    arrayOf(rank!.inputs["a"]).set([-3, 100]);
    arrayOf(rank!.inputs["b"]).set([5, 100]);
    group.run([rank!], {});
    expect([...rank!.outputs["y"]!]).toEqual([9985]);
  });
});

test("literals of every kind", () => {
  for (const kind of ["f32", "bf16", "f16", "f8e4m3", "f8e5m2"])
    expect(elementwise(kind, kind, `%y = const {value=-1.5} : ${kind}`, [0])[0]).toBe(encode(kind as "f32", -1.5));
});
