/** The reference against results worked out by hand, for each layout, and its power to see a single wrong element. */
import { describe, expect, test } from "vitest";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { erf } from "../../src/compiler/ir/functions.js";
import type { Manifest } from "../../src/compiler/manifest.js";
import { type DType } from "../../src/compiler/types/dtype.js";
import { decodeArray, encode, encodeArray, type TypedArray } from "../../src/runtime/numbers/index.js";
import {
  checkOutputs,
  type CheckResult,
  generatedInputs,
  makeInputs,
  makeRankInputs,
  type RankTensors,
} from "../../src/runtime/reference/index.js";
import { fastest, manifestFor, numbers } from "./kernels.js";

const manifest = (rows: string, world: number): Manifest =>
  manifestFor(
    parseKernel(`kernel k level=device world=${world} threads=32 blocks=1 { dim m dim n dim k ${rows} body { } }`),
  );

function local(shape: readonly string[], layout: string, world: number): string {
  const d = /sharded\((\d)\)/.exec(layout)?.[1];
  return shape.map((e, i) => (String(i) === d ? `div(${e}, ${world})` : e)).join(", ");
}

/** Manifest of `y = x` in other layouts. */
function move(from: string, to: string, world: number, dtype: DType, out: DType = dtype): Manifest {
  const t = (name: string, kind: string, layout: string): string =>
    `${name}: ${kind}[m, n] ${layout} local [${local(["m", "n"], layout, world)}]`;
  return manifest(`in ${t("x", dtype, from)} out ${t("y", out, to)} specify input(x)`, world);
}

const dims = (m: number, n: number, k = 1): { m: number; n: number; k: number } => ({ m, n, k });

/** Logical x[i][j] as each rank holds it, or the ranks' values reduced; written apart from the code under test. */
function logical(
  layout: string,
  arrays: readonly ArrayLike<number>[],
  m: number,
  n: number,
  isWhole = false,
): number[] {
  const world = arrays.length;
  const times = isWhole ? Math.imul : (a: number, b: number) => a * b;
  const out: number[] = [];
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++) {
      const all = arrays.map((a) => a[i * n + j]!);
      const rows = m / world;
      const cols = n / world;
      if (layout === "sharded(0)") out.push(arrays[Math.floor(i / rows)]![(i % rows) * n + j]!);
      else if (layout === "sharded(1)") out.push(arrays[Math.floor(j / cols)]![i * cols + (j % cols)]!);
      else if (layout === "on(1)") out.push(all[1]!);
      else if (layout === "replicated") out.push(all[0]!);
      else if (layout === "partial(min)") out.push(Math.min(...all));
      else if (layout === "partial(max)") out.push(Math.max(...all));
      else if (layout === "partial(prod)") out.push(all.reduce(times));
      else out.push(all.reduce((a, b) => a + b) / (layout === "partial(avg)" ? world : 1));
    }
  return out;
}

/** Puts logical values where a layout has them; ranks that hold nothing keep what they have. */
function place(
  layout: string,
  values: readonly number[],
  outputs: readonly TypedArray[],
  dtype: DType,
  m: number,
  n: number,
): void {
  const world = outputs.length;
  outputs.forEach((array, r) => {
    if (layout === "on(1)" && r !== 1) return;
    let at = 0;
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) {
        if (layout === "sharded(0)" && Math.floor(i / (m / world)) !== r) continue;
        if (layout === "sharded(1)" && Math.floor(j / (n / world)) !== r) continue;
        array[at++] = encode(dtype, values[i * n + j]!);
      }
  });
}

const INPUTS = ["replicated", "sharded(0)", "sharded(1)", "on(1)", "partial(sum)", "partial(avg)", "partial(min)", "partial(max)", "partial(prod)"]; // prettier-ignore
const OUTPUTS = ["replicated", "sharded(0)", "sharded(1)", "on(1)"];

describe("layouts", () => {
  const [m, n, world] = [6, 9, 3];
  for (const from of INPUTS)
    for (const to of OUTPUTS)
      test(`${from} -> ${to}`, () => {
        for (const dtype of ["bf16", "f32", "i32"] as const) {
          if (dtype === "i32" && from === "partial(avg)") continue;
          const it = move(from, to, world, dtype);
          const ranks = makeInputs(it, dims(m, n), 3);
          const inputs = ranks.map((r) =>
            dtype === "i32" ? numbers(r.inputs["x"]) : decodeArray(dtype, r.inputs["x"]!),
          );
          place(
            to,
            logical(from, inputs, m, n, dtype === "i32"),
            ranks.map((r) => r.outputs["y"]!),
            dtype,
            m,
            n,
          );
          const check = (): CheckResult => checkOutputs(it, dims(m, n), ranks, ranks);
          expect(check()).toMatchObject({ correct: true, firstMismatch: null, checked: m * n, total: m * n });
          expect(check().bitwiseEqualAcrossRanks).toBe(to === "replicated" ? true : null);
          if (!from.startsWith("partial")) expect(check().maxError).toBe(0);
          // One element off by two places of the dtype is seen, and named.
          const y = numbers(ranks[1]!.outputs["y"]);
          const right = y[4]!;
          y[4] = dtype === "bf16" ? right + 2 : dtype === "i32" ? right + 1 : right * (1 + 2 ** -20) + 1e-6;
          expect(check()).toMatchObject({ correct: false, firstMismatch: { output: "y", rank: 1, index: 4 } });
          expect(check().bitwiseEqualAcrossRanks).toBe(to === "replicated" ? false : null);
          y[4] = right;
        }
      });

  test("a whole number that should be there is named as it lies there", () => {
    const it = manifest("in x: u8[n] local local [n] out y: u8[n] local local [n] specify unary(neg, input(x))", 1);
    const [only] = makeInputs(it, dims(1, 1), 1) as [RankTensors];
    only.inputs["x"]![0] = 67;
    only.outputs["y"]![0] = 256 - 67;
    expect(checkOutputs(it, dims(1, 1), [only], [only]).correct).toBe(true);
    only.outputs["y"]![0] = 1;
    expect(checkOutputs(it, dims(1, 1), [only], [only]).firstMismatch).toMatchObject({ actual: 1, expected: 189 });
  });

  test("local: each rank for itself", () => {
    const it = manifest("in x: f32[n] local local [n] out y: f32[n] local local [n] specify unary(neg, input(x))", 3);
    const ranks = makeInputs(it, dims(1, 5), 1);
    for (const r of ranks) numbers(r.outputs["y"]).set(numbers(r.inputs["x"]).map((v) => -v));
    expect(checkOutputs(it, dims(1, 5), ranks, ranks).correct).toBe(true);
    numbers(ranks[2]!.outputs["y"]).set(numbers(ranks[1]!.outputs["y"]));
    expect(checkOutputs(it, dims(1, 5), ranks, ranks).firstMismatch).toMatchObject({ rank: 2, index: 0 });
  });

  test("partial outputs count together", () => {
    const it = move("replicated", "partial(sum)", 2, "f32");
    const ranks = makeInputs(it, dims(4, 4), 1);
    for (const r of ranks) numbers(r.outputs["y"]).set(numbers(r.inputs["x"]).map((v) => v / 2));
    expect(checkOutputs(it, dims(4, 4), ranks, ranks).correct).toBe(true);
    numbers(ranks[0]!.outputs["y"]).set(numbers(ranks[0]!.inputs["x"]));
    expect(checkOutputs(it, dims(4, 4), ranks, ranks).correct).toBe(false);
  });

  test("a copy must keep the sign of zero; poison and NaN are mismatches", () => {
    const it = move("replicated", "replicated", 1, "f16");
    const ranks = makeInputs(it, dims(1, 4), 1);
    expect(checkOutputs(it, dims(1, 4), ranks, ranks)).toMatchObject({
      correct: false,
      maxError: Infinity,
      firstMismatch: { index: 0, actual: NaN },
    });
    numbers(ranks[0]!.inputs["x"]).set([0x8000, 0x7e01, 1, 2]);
    numbers(ranks[0]!.outputs["y"]).set([0x8000, 0x7fff, 1, 2]);
    expect(checkOutputs(it, dims(1, 4), ranks, ranks).correct).toBe(true);
    ranks[0]!.outputs["y"]![0] = 0;
    expect(checkOutputs(it, dims(1, 4), ranks, ranks)).toMatchObject({ correct: false, firstMismatch: { index: 0 } });
  });

  test("overflow and saturation are right answers", () => {
    const it = move("partial(sum)", "replicated", 2, "f16");
    const ranks = makeInputs(it, dims(1, 1), 1);
    for (const r of ranks) r.inputs["x"]![0] = encode("f16", 60000);
    for (const r of ranks) r.outputs["y"]![0] = encode("f16", Infinity);
    expect(checkOutputs(it, dims(1, 1), ranks, ranks).correct).toBe(true);
    for (const r of ranks) r.outputs["y"]![0] = encode("f16", -Infinity);
    expect(checkOutputs(it, dims(1, 1), ranks, ranks).correct).toBe(false);
    const small = move("replicated", "replicated", 1, "f32", "f8e4m3");
    const [one] = makeInputs(small, dims(1, 1), 1);
    one!.inputs["x"]![0] = 1000;
    one!.outputs["y"]![0] = encode("f8e4m3", 448);
    expect(checkOutputs(small, dims(1, 1), [one!], [one!]).correct).toBe(true);
  });
});

describe("expressions", () => {
  test("products, bias and activation, in f32 and bf16", () => {
    const [m, k, n] = [7, 33, 12];
    const it = manifest(
      `in a: bf16[m, k] replicated local [m, k] in b: bf16[k, n] sharded(1) local [k, div(n, 2)] in bias: bf16[n] replicated local [n]
       out y: bf16[m, n] replicated local [m, n]
       specify unary(relu, binary(add, matmul(input(a), input(b)), binary(mul, input(bias), constant(2))))`,
      2,
    );
    const ranks = makeInputs(it, dims(m, n, k), 2);
    const [a, b0, b1, bias] = [ranks[0]!.inputs["a"]!, ranks[0]!.inputs["b"]!, ranks[1]!.inputs["b"]!, ranks[0]!.inputs["bias"]!].map((x) => decodeArray("bf16", x)); // prettier-ignore
    const y = Float64Array.from({ length: m * n }, (_, e) => {
      const [i, j] = [Math.floor(e / n), e % n];
      let sum = 2 * bias![j]!;
      for (let p = 0; p < k; p++)
        sum += a![i * k + p]! * (j < n / 2 ? b0![p * (n / 2) + j]! : b1![p * (n / 2) + j - n / 2]!);
      return Math.max(sum, 0);
    });
    for (const r of ranks) encodeArray("bf16", y, r.outputs["y"]);
    expect(checkOutputs(it, dims(m, n, k), ranks, ranks)).toMatchObject({
      correct: true,
      bitwiseEqualAcrossRanks: true,
    });
    // Two roundings of bf16 away is too far.
    for (const r of ranks)
      encodeArray(
        "bf16",
        y.map((v) => v * (1 + 2 ** -6)),
        r.outputs["y"],
      );
    expect(checkOutputs(it, dims(m, n, k), ranks, ranks).correct).toBe(false);
  });

  test("functions within their tolerance, and no further", () => {
    for (const fn of [
      "exp",
      "exp2",
      "expm1",
      "tanh",
      "erf",
      "sin",
      "cos",
      "gelu",
      "silu",
      "sqrt",
      "log",
      "log1p",
      "rsqrt",
    ]) {
      const it = manifest(
        `in x: f32[n] replicated local [n] out y: f32[n] replicated local [n] specify unary(${fn}, binary(add, input(x), constant(2)))`,
        1,
      );
      const ranks = makeInputs(it, dims(1, 100), 1);
      const x = ranks[0]!.inputs["x"]! as Float32Array;
      const wrong = fn === "tanh" || fn === "erf" ? 1e-4 : 1e-5;
      const f: Record<string, (v: number) => number> = { exp: Math.exp, tanh: Math.tanh, silu: (v) => v / (1 + Math.exp(-v)), sqrt: Math.sqrt, log: Math.log, rsqrt: (v) => 1 / Math.sqrt(v), exp2: (v) => 2 ** v, expm1: Math.expm1, log1p: Math.log1p, sin: Math.sin, cos: Math.cos, erf }; // prettier-ignore
      const g = f[fn] ?? ((v: number) => v * (0.5 + 0.5 * Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))));
      const y = x.map((v) => Math.fround(g(Math.fround(v + 2))));
      numbers(ranks[0]!.outputs["y"]).set(y);
      // The tanh approximation of gelu is a different function.
      expect(checkOutputs(it, dims(1, 100), ranks, ranks).correct).toBe(fn !== "gelu");
      numbers(ranks[0]!.outputs["y"]).set(y.map((v) => v * (1 + wrong)));
      expect(checkOutputs(it, dims(1, 100), ranks, ranks).correct).toBe(false);
    }
  });

  test("waves are held to a few ulps wherever they are, and to all that an error of the argument makes of them", () => {
    const allowed = (fn: string, times: number, off: number): boolean => {
      const it = manifest(
        `in x: f32[n] replicated local [n] out y: f32[n] replicated local [n] specify unary(${fn}, binary(mul, input(x), constant(${times})))`,
        1,
      );
      const ranks = makeInputs(it, dims(1, 200), 1);
      const x = ranks[0]!.inputs["x"]! as Float32Array;
      const f = fn === "sin" ? Math.sin : Math.cos;
      numbers(ranks[0]!.outputs["y"]).set(x.map((v) => Math.fround(f(Math.fround(v * times)) + off)));
      return checkOutputs(it, dims(1, 200), ranks, ranks).correct;
    };
    for (const fn of ["sin", "cos"]) {
      // Times a power of 2, nothing is rounded: what is left is the function's own error, also of arguments far from 0.
      expect(allowed(fn, 1024, 0)).toBe(true);
      expect(allowed(fn, 1024, 3e-6)).toBe(false);
      // An argument of thousands that was rounded is off by more than that.
      expect(allowed(fn, 1000.1, 0)).toBe(true);
      expect(allowed(fn, 1000.1, 0.1)).toBe(false);
      // So far out, a rounding is many times round: anything between -1 and 1 may come of it.
      expect(allowed(fn, 1e30, 0)).toBe(true);
      expect(allowed(fn, 1e30, 4)).toBe(false);
    }
  });

  test("fractions are cut off exactly, and on either side where what they are cut off was rounded", () => {
    const allowed = (fn: string, before: string, made: (v: number) => number): boolean => {
      const it = manifest(
        `in x: f32[n] replicated local [n] out y: f32[n] replicated local [n] specify unary(${fn}, ${before})`,
        1,
      );
      const ranks = makeInputs(it, dims(1, 8), 1);
      const x = ranks[0]!.inputs["x"]! as Float32Array;
      x.set([3, -3, 2.5, -2.5, 3.0000002, 2.9999998, 1e7, 0.3]);
      numbers(ranks[0]!.outputs["y"]).set(x.map(made));
      return checkOutputs(it, dims(1, 8), ranks, ranks).correct;
    };
    expect(allowed("floor", "input(x)", Math.floor)).toBe(true);
    expect(allowed("trunc", "input(x)", Math.floor)).toBe(false);
    expect(allowed("ceil", "input(x)", Math.ceil)).toBe(true);
    // A whole number is itself: the next below is wrong, near as it is.
    expect(allowed("floor", "input(x)", (v) => (v === 3 ? 2 : Math.floor(v)))).toBe(false);
    expect(allowed("round", "input(x)", (v) => (v === 2.5 ? 3 : v === -2.5 ? -2 : Math.round(v)))).toBe(false);
    // 0.1 times 30 may be 3 or a little less.
    const tenth = "binary(mul, input(x), constant(0.1))";
    for (const three of [2, 3]) expect(allowed("floor", `binary(mul, ${tenth}, constant(10))`, (v) => (v === 3 ? three : Math.floor(v)))).toBe(true); // prettier-ignore
    expect(allowed("floor", `binary(mul, ${tenth}, constant(10))`, (v) => (v === 3 ? 1 : Math.floor(v)))).toBe(false);
  });

  test("what is not specified is said to be so", () => {
    const it = manifest("in x: f32[n] local local [n] out y: f32[n] local local [n] specify nothing", 2);
    const ranks = makeInputs(it, dims(1, 5), 1);
    expect(checkOutputs(it, dims(1, 5), ranks, ranks)).toMatchObject({ correct: true, checked: 0, unspecified: ["y"] });
  });
});

const MATMUL = `in a: bf16[m, k] sharded(1) local [m, div(k, 2)] in b: bf16[k, n] sharded(0) local [div(k, 2), n]
  out c: bf16[m, n] sharded(0) local [div(m, 2), n] specify matmul(input(a), input(b))`;

/** Fills c with the product, computed plainly in float64. */
function multiply(ranks: readonly RankTensors[], m: number, n: number, k: number): void {
  const a = ranks.map((r) => Float64Array.from(decodeArray("bf16", r.inputs["a"]!)));
  const b = ranks.map((r) => Float64Array.from(decodeArray("bf16", r.inputs["b"]!)));
  const half = k / 2;
  const row = new Float64Array(n);
  for (let i = 0; i < m; i++) {
    row.fill(0);
    for (let p = 0; p < k; p++) {
      const x = a[p < half ? 0 : 1]![i * half + (p % half)]!;
      const from = b[p < half ? 0 : 1]!;
      const at = (p % half) * n;
      for (let j = 0; j < n; j++) row[j] = row[j]! + x * from[at + j]!;
    }
    const owner = ranks[i < m / 2 ? 0 : 1]!.outputs["c"]!;
    encodeArray("bf16", row, owner.subarray((i % (m / 2)) * n, (i % (m / 2)) * n + n));
  }
}

describe("large sizes", () => {
  test("512 × 512 × 512 is checked in under two seconds of a processor", () => {
    const it = manifest(MATMUL, 2);
    const d = dims(512, 512, 512);
    const ranks = makeInputs(it, d, 1);
    multiply(ranks, d.m, d.n, d.k);
    const check = (): void =>
      expect(checkOutputs(it, d, ranks, ranks)).toMatchObject({ correct: true, checked: 512 * 512 });
    expect(fastest(check)).toBeLessThan(2000);
    const c = ranks[1]!.outputs["c"]!;
    c[99] = encode("bf16", decodeArray("bf16", c)[99]! + 2);
    expect(checkOutputs(it, d, ranks, ranks).firstMismatch).toMatchObject({ rank: 1, index: 99 });
  });

  test("a sample of rows, the first and the last among them", () => {
    const it = move("partial(sum)", "replicated", 2, "f32");
    const d = dims(1000, 64);
    const ranks = makeInputs(it, d, 1);
    const [x0, x1] = ranks.map((r) => numbers(r.inputs["x"]));
    for (const r of ranks) numbers(r.outputs["y"]).set(x0!.map((v, i) => Math.fround(v + x1![i]!)));
    const sampled = checkOutputs(it, d, ranks, ranks, { maxElements: 6400, seed: 4 });
    expect(sampled).toMatchObject({ correct: true, total: 64000 });
    expect(sampled.checked).toBeGreaterThan(3200);
    expect(sampled.checked).toBeLessThanOrEqual(6400);
    expect(checkOutputs(it, d, ranks, ranks, { maxElements: 6400, seed: 4 })).toEqual(sampled);
    ranks[0]!.outputs["y"]![63999] = 9;
    expect(checkOutputs(it, d, ranks, ranks, { maxElements: 6400 }).correct).toBe(false);
  });
});

describe("inputs", () => {
  const it = manifest(
    "in a: f16[m, n] replicated local [m, n] in b: f16[m, n] sharded(0) local [div(m, 2), n] in c: f16[m, n] on(1) local [m, n] out y: f16[m, n] replicated local [m, n] specify input(a)",
    2,
  );
  const d = dims(4, 6);

  test("replicated ones are equal, others differ, outputs are poison", () => {
    const [p, q] = makeInputs(it, d, 7);
    expect(p!.inputs["a"]).toEqual(q!.inputs["a"]);
    expect(p!.inputs["b"]).not.toEqual(q!.inputs["b"]);
    expect(p!.inputs["c"]).not.toEqual(q!.inputs["c"]);
    expect(p!.inputs["b"]).toHaveLength(12);
    expect([...p!.outputs["y"]!].every((v) => v === 0xffff)).toBe(true);
    expect(makeInputs(it, d, 8)[0]!.inputs["a"]).not.toEqual(p!.inputs["a"]);
  });

  test("a process of one rank makes the same, and can check alone", () => {
    const all = makeInputs(it, d, 7);
    const mine = makeRankInputs(it, d, 7, 1);
    expect(mine).toEqual(all[1]);
    const read = generatedInputs(it, d, 7);
    expect(read("b", 0, 5, 11)).toEqual(all[0]!.inputs["b"]!.subarray(5, 11));
    numbers(mine.outputs["y"]).set(numbers(all[0]!.inputs["a"]));
    expect(checkOutputs(it, d, read, [undefined, mine])).toMatchObject({
      correct: true,
      bitwiseEqualAcrossRanks: null,
      checked: 24,
    });
  });
});
