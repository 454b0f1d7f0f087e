/** From checked syntax to kernels that run: dtypes, reductions, tensor expressions and specifications. */
import { describe, expect, test } from "vitest";
import {
  compile,
  DTYPE_NAMES,
  type DType,
  type DimValues,
  REDUCTION_OPS,
  specificationsOf,
} from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { allows, compileFile, LIBRARY } from "../kernels/library.js";
import { isAll, pairs } from "../scope.js";

describe("every kernel compiles to CUDA text for every dtype", () => {
  // Else each dtype for every fourth kernel, and each kernel for every fourth dtype.
  for (const [turn, file] of LIBRARY.entries())
    test(file.name, () => {
      const allowed = DTYPE_NAMES.filter((dtype) => allows(file, 4, dtype));
      const fourth = allowed.filter((_, i) => i % 4 === turn % Math.min(4, allowed.length));
      for (const dtype of isAll ? DTYPE_NAMES : fourth)
        for (const ranks of isAll ? [1, 4] : [4]) {
          if (!allows(file, ranks, dtype)) continue;
          const { diagnostics, cuda } = compileFile(file, { ranks, dtype });
          // Of dtypes that have no tensor cores, products are slow, and said to be.
          expect(
            diagnostics.filter((d) => d.code !== "scalar-product"),
            dtype,
          ).toEqual([]);
          expect(cuda).toContain("__global__");
        }
    });
});

/** Runs it on the CPU and checks it against the reference made from its text. */
function expectRight(text: string, ranks: number, dtype: DType, dims: DimValues): void {
  const { kernel, manifest, source, diagnostics } = compile(text, { ranks, dtype });
  expect(diagnostics).toEqual([]);
  const data = makeInputs(manifest!, dims, 1);
  new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true }).run(data, dims);
  const result = checkOutputs(manifest!, dims, data, data);
  expect(result, `${text}\n${ranks} ranks, ${dtype}`).toMatchObject({ correct: true, unspecified: [] });
}

describe("reductions over ranks", () => {
  for (const [turn, op] of REDUCTION_OPS.entries())
    test(op, () => {
      const text = `collective f(x: T[n] partial(${op})) -> y: T[n] replicated {
        for i in tiles(n) { y[i] = ${op}(p in ranks) x@p[i] }
      }`;
      const tensors = `collective f(x: T[n] partial(${op})) -> y: T[n] sharded(0) { y = reduce_scatter(x, dim: 0) }`;
      const dtypes = ["f32", "bf16", "f8e4m3", "f8e5m2", "i32", "u32", "i8", "u8"] as const;
      for (const [ranks, dtype] of pairs([1, 3], dtypes, turn)) {
        expectRight(text, ranks, dtype, { n: 603 });
        expectRight(tensors, ranks, dtype, { n: 603 });
      }
    });
});

const INPUTS: Readonly<Record<string, string>> = {
  part: "T[n] partial(sum)",
  middle: "T[n] partial(avg)",
  most: "T[n] partial(max)",
  whole: "T[n] replicated",
  cut: "T[n] sharded(0)",
  first: "T[n] on(0)",
  own: "T[n] local",
  rows: "T[m, k] sharded(0)",
  columns: "T[m, k] sharded(1)",
  left: "T[m, k] replicated",
  down: "T[k, n] sharded(0)",
  across: "T[k, n] sharded(1)",
  right: "T[k, n] replicated",
};

/** Body, layout and shape of its result. */
const BODIES: readonly (readonly [string, string, string])[] = [
  ["y = all_reduce(part)", "replicated", "n"],
  ["y = all_reduce(2 * part - part / 4)", "replicated", "n"],
  ["y = all_reduce(part * whole + part)", "replicated", "n"],
  ["y = all_reduce(-middle)", "replicated", "n"],
  ["y = relu(all_reduce(most)) + whole", "replicated", "n"],
  ["y = reduce(part, to: 0)", "on(0)", "n"],
  ["y = broadcast(first) * 0.5", "replicated", "n"],
  ["y = scatter(first, dim: 0) + cut", "sharded(0)", "n"],
  ["y = scatter(exp(first), dim: 0)", "sharded(0)", "n"],
  ["y = gather(cut * cut, to: 0)", "on(0)", "n"],
  ["y = all_gather(cut) + whole", "replicated", "n"],
  ["y = max(min(cut, 0.5), -0.5)", "sharded(0)", "n"],
  ["y = max(whole, cut)", "sharded(0)", "n"],
  ["y = -whole + (1 + 2 * 3)", "sharded(0)", "n"],
  ["y = 1 - 2", "replicated", "n"],
  ["y = own + whole", "local", "n"],
  ["y = T(f32(cut) * f32(whole))", "sharded(0)", "n"],
  ["let s = part + part\n  let t = all_reduce(s)\n  y = t * t", "replicated", "n"],
  ["y = left @ right", "replicated", "m, n"],
  ["y = left @ right", "sharded(1)", "m, n"],
  ["y = rows @ right", "sharded(0)", "m, n"],
  ["y = left @ across", "sharded(1)", "m, n"],
  ["y = all_reduce(columns @ down)", "replicated", "m, n"],
  ["y = reduce_scatter(columns @ down, dim: 1)", "sharded(1)", "m, n"],
  ["y = reduce(columns @ down, to: 0)", "on(0)", "m, n"],
  ["y = all_gather(rows, dim: 0) @ all_gather(across)", "replicated", "m, n"],
  ["y = all_to_all(rows, dim: 1)", "sharded(1)", "m, k"],
  ["y = all_to_all(2 * columns, dim: 0)", "sharded(0)", "m, k"],
  ["y = silu(all_to_all(columns, dim: 0)) @ right", "sharded(0)", "m, n"],
];

describe("tensor expressions", () => {
  for (const [turn, [body, layout, shape]] of BODIES.entries())
    test(`${body.replaceAll("\n", ";")} : ${layout}`, () => {
      const used = Object.entries(INPUTS).filter(([name]) => new RegExp(`\\b${name}\\b`).test(body));
      const inputs = used.map(([name, type]) => `${name}: ${type}`).join(", ");
      const text = `collective f(${inputs}) -> y: T[${shape}] ${layout} {\n  ${body}\n}`;
      for (const [ranks, dtype] of pairs([1, 2, 3], ["f32", "bf16"] as const, turn))
        expectRight(text, ranks, dtype, { n: 42, m: 30, k: 18 });
    });
});

describe("specifications", () => {
  const explicit = (clause: string): string => `
collective f(a: T[m, k] replicated, b: T[k, n] sharded(1)) -> c: T[m, n] sharded(1) ${clause} {
  for i, j in tiles(m, n / world) {
    c[i, j] = 2 * sum(q in 0..k) a[i, q] * b[q, j]
  }
}`;

  test("`ensures` gives explicit loops a meaning", () => {
    const text = explicit("ensures c == 2 * (a @ b)");
    expect(specificationsOf(compile(text, { ranks: 2 }).manifest!.specification)).toEqual([
      {
        kind: "binary",
        fn: "mul",
        a: { kind: "constant", value: 2 },
        b: { kind: "matmul", a: { kind: "input", name: "a" }, b: { kind: "input", name: "b" } },
      },
    ]);
    expectRight(text, 2, "f32", { m: 8, n: 12, k: 20 });
  });

  test("layouts play no part in `ensures`", () => {
    const text = explicit("ensures c == min(a @ b + a @ b, 1e9)").replace("a: T[m, k] replicated", "a: T[m, k] on(0)");
    expect(compile(text.replace("a[i, q]", "a@0[i, q]"), { ranks: 2 }).diagnostics).toEqual([]);
    expectRight(text.replace("a[i, q]", "a@0[i, q]"), 2, "f32", { m: 8, n: 12, k: 20 });
  });

  test("a wrong body is found out", () => {
    expect(() => expectRight(explicit("ensures c == a @ b"), 2, "f32", { m: 8, n: 12, k: 20 })).toThrow();
  });

  test("without one, loops over two inputs specify nothing", () => {
    expect(specificationsOf(compile(explicit(""), { ranks: 2 }).manifest!.specification)).toEqual([null]);
  });

  test("`ensures` outweighs a body of tensor expressions", () => {
    const text = "collective f(x: T[n] partial(sum)) -> y: T[n] replicated ensures y == 3 * x { y = all_reduce(x) }";
    expect(specificationsOf(compile(text, { ranks: 2 }).manifest!.specification)).toMatchObject([
      { kind: "binary", fn: "mul" },
    ]);
  });

  test("an output may be named once it is assigned", () => {
    const text = `collective f(x: T[n] partial(sum)) -> (y: T[n] replicated, z: T[n] sharded(0)) {
      y = all_reduce(x)
      z = y * y
    }`;
    expectRight(text, 3, "f32", { n: 60 });
  });

  test("several outputs are specified one by one", () => {
    const text = `collective f(x: T[n] partial(sum)) -> (y: T[n] replicated, z: T[n] sharded(0)) {
      y = all_reduce(x)
      z = 2 * reduce_scatter(x, dim: 0)
    }`;
    expectRight(text, 3, "f32", { n: 60 });
  });
});
