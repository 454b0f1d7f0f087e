/** Tensor-level kernels through the real passes, run on the CPU, checked against their own signature. */
import { describe, expect, test } from "vitest";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { DEFAULT_PASS_OPTIONS } from "../../src/compiler/passes/options.js";
import { PIPELINE } from "../../src/compiler/passes/pipeline.js";
import { runPasses } from "../../src/compiler/passes/runner.js";
import { CpuGroup, type CpuOptions } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { manifestFor } from "./kernels.js";

const local = (shape: readonly string[], layout: string, world: number): string => {
  const d = /^sharded\((\d)\)/.exec(layout);
  return shape.map((e, i) => (d !== null && Number(d[1]) === i && world > 1 ? `div(${e}, ${world})` : e)).join(", ");
};

function move(from: string, to: string, world: number, dtype: string): string {
  const shape = ["m", "n"];
  const tensor = (layout: string): string => `tensor<${dtype}[m, n] ${layout}>`;
  return `kernel move level=tensor world=${world} threads=0 blocks=0 {
    dim m dim n dtype T = ${dtype}
    in x: ${dtype}[m, n] ${from} local [${local(shape, from, world)}]
    out y: ${dtype}[m, n] ${to} local [${local(shape, to, world)}]
    specify input(x)
    buffer x: input ${dtype}[${local(shape, from, world)}]
    buffer y: output ${dtype}[${local(shape, to, world)}]
    body {
      %0 = input {buffer="x"} : ${tensor(from)}
      %1 = convert %0 : ${tensor(to)}
      output %1 {buffer="y"} loc(0:0)
    } }`;
}

function product(world: number, dtype: string, a: string, b: string, c: string, gather: boolean): string {
  const [mk, kn, mn] = [
    ["m", "k"],
    ["k", "n"],
    ["m", "n"],
  ];
  return `kernel product level=tensor world=${world} threads=0 blocks=0 {
    dim m dim k dim n dtype T = ${dtype}
    in a: ${dtype}[m, k] ${a} local [${local(mk, a, world)}]
    in b: ${dtype}[k, n] ${b} local [${local(kn, b, world)}]
    out c: ${dtype}[m, n] ${c} local [${local(mn, c, world)}]
    specify matmul(input(a), input(b))
    buffer a: input ${dtype}[${local(mk, a, world)}]
    buffer b: input ${dtype}[${local(kn, b, world)}]
    buffer c: output ${dtype}[${local(mn, c, world)}]
    body {
      %0 = input {buffer="a"} : tensor<${dtype}[m, k] ${a}>
      %1 = input {buffer="b"} : tensor<${dtype}[k, n] ${b}>
      ${gather ? `%2 = convert %0 : tensor<${dtype}[m, k] replicated>` : ""}
      %3 = matmul ${gather ? "%2" : "%0"}, %1 : tensor<${dtype}[m, n] ${gather ? c : "partial(sum)"}>
      ${gather ? "" : `%4 = convert %3 : tensor<${dtype}[m, n] ${c}>`}
      output ${gather ? "%3" : "%4"} {buffer="c"}
    } }`;
}

function checked(text: string, dims: Record<string, number>, options: CpuOptions, launches = 2): void {
  const kernel = runPasses(parseKernel(text), PIPELINE, DEFAULT_PASS_OPTIONS, {});
  const manifest = manifestFor(kernel);
  const group = new CpuGroup(kernel, manifest, options);
  for (let launch = 0; launch < launches; launch++) {
    const ranks = makeInputs(manifest, dims, launch);
    group.run(ranks, dims);
    const result = checkOutputs(manifest, dims, ranks, ranks);
    expect(result).toMatchObject({ correct: true, firstMismatch: null });
    expect(result.bitwiseEqualAcrossRanks).not.toBe(false);
  }
}

const PAIRS = [
  ["partial(sum)", "replicated"], ["partial(avg)", "sharded(0)"], ["partial(max)", "on(0)"],
  ["sharded(0)", "replicated"], ["sharded(0)", "sharded(1)"], ["sharded(1)", "on(0)"],
  ["on(0)", "replicated"], ["on(0)", "sharded(1)"], ["replicated", "sharded(0)"],
] as const; // prettier-ignore

describe("layout changes on the CPU", () => {
  for (const [from, to] of PAIRS)
    test(`${from} -> ${to}`, () => {
      for (const world of [1, 2, 3, 4, 8])
        for (const dtype of ["bf16", "f32"] as const)
          checked(
            move(from, to, world, dtype),
            { m: world * 5, n: world * 7 },
            { maxBlocks: 3, detectUnwritten: true },
          );
    });

  test("integers and 8-bit floats", () => {
    for (const dtype of ["i32", "u32", "i8", "u8", "f8e4m3", "f8e5m2", "f16"])
      checked(move("partial(sum)", "replicated", 3, dtype), { m: 33, n: 65 }, {});
  });

  test("misaligned buffers, random schedules, threads backwards", () => {
    for (let seed = 0; seed < 4; seed++)
      checked(
        move("partial(sum)", "replicated", 4, "f16"),
        { m: 1, n: 70001 },
        { maxBlocks: 5, seed, reverseThreads: true, elementOffset: { x: 1, y: 3 } },
        3,
      );
  });
});

describe("products on the CPU", () => {
  for (const dtype of ["bf16", "f16", "f32"])
    test(dtype, () => {
      const dims = { m: 3 * 50, k: 3 * 31, n: 3 * 57 };
      checked(product(3, dtype, "sharded(1)", "sharded(0)", "sharded(0)", false), dims, {
        maxBlocks: 4,
        detectUnwritten: true,
      });
      checked(product(3, dtype, "sharded(0)", "sharded(1)", "sharded(1)", true), dims, {
        maxBlocks: 4,
        detectUnwritten: true,
      });
    });
});
