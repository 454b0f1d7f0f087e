/** Folds of tensors that few blocks would have: in parts, which all blocks fold first; and that they are right, at lengths around those of parts. */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { PROOF_MAPPING, prove } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const of = (shape: string, layout: string, out: string, value: string, dtype = "T"): string =>
  `collective f(x: ${dtype}[${shape}] ${layout}) -> y: ${out} replicated { y = ${value} }`;

const VECTOR = of("n", "sharded(0)", "f32[1]", "all_reduce(sum(f32(x) * f32(x), dim: 0))");
const GREATEST = of("n", "sharded(0)", "T[1]", "all_reduce(max(abs(x), dim: 0))");
const COLUMNS = of("m, n", "sharded(0)", "f32[1, n]", "all_reduce(sum(f32(x), dim: 0))");
const LEAST = of("m, n", "replicated", "i32[1, n]", "min(x, dim: 0)", "i32");
const MEAN = of("m, n", "replicated", "f32[1, n]", "mean(f32(x), dim: 0)");

const inParts = (text: string): boolean =>
  compile(text, { ranks: 2, dtype: "bf16" }).kernel!.buffers.some((b) => b.name.startsWith("folded_parts"));

describe("folds in parts", () => {
  it("are those of vectors and of columns", () => {
    for (const text of [VECTOR, GREATEST, COLUMNS, LEAST, MEAN]) expect(inParts(text), text).toBe(true);
  });

  it.each([
    ["rows", of("m, n", "replicated", "f32[m, 1]", "sum(f32(x), dim: 1)")],
    ["columns of several matrices", of("b, m, n", "replicated", "f32[b, 1, n]", "sum(f32(x), dim: 1)")],
    ["what rows were folded to", of("m, n", "replicated", "f32[1, 1]", "sum(sum(f32(x), dim: 1), dim: 0)")],
    ["a short vector", of("1024", "replicated", "f32[1]", "sum(f32(x), dim: 0)")],
    ["short columns", of("64, n", "replicated", "f32[1, n]", "sum(f32(x), dim: 0)")],
  ])("are not those of %s", (_, text) => {
    expect(inParts(text)).toBe(false);
  });

  it("are no blocks' in which threads meet more than they add: short tensors have none", () => {
    const { snapshots } = compile(COLUMNS, { ranks: 2, dtype: "bf16" });
    const maps: string[] = [];
    walkKernel(snapshots.find((s) => s.pass === "fuse-rows")!.kernel, (op, parents) => {
      if (op.name === "for" && parents.some((p) => p.name === "if")) maps.push(`${String(op.attributes["map"])} ${op.attributes["across"] === true}`); // prettier-ignore
    });
    expect(maps).toEqual(["rows true", "tiles false", "tiles false"]);
  });

  const small: CompileOptions["mapping"] = { elementThreads: 64, rowThreads: 64, elementBlocks: 4, busyBlocks: 4 };

  it.each<readonly [string, readonly DimValues[]]>([
    [VECTOR, [0, 2, 2046, 2048, 2050, 70_002].map((n) => ({ n }))],
    [GREATEST, [2, 2048, 5000].map((n) => ({ n }))],
    [COLUMNS, [[2, 1], [512, 8], [514, 33], [1500, 300], [4, 1000], [0, 5]].map(([m, n]) => ({ m: m!, n: n! }))], // prettier-ignore
    [LEAST, [[1, 1], [255, 9], [256, 70], [700, 130]].map(([m, n]) => ({ m: m!, n: n! }))], // prettier-ignore
    [MEAN, [[3, 5], [257, 64]].map(([m, n]) => ({ m: m!, n: n! }))], // prettier-ignore
  ])("%s is right at lengths around those of parts", (text, all) => {
    for (const mapping of [small, PROOF_MAPPING, {}])
      for (const dims of all) {
        const { kernel, manifest, source } = compile(text, { ranks: 2, dtype: "bf16", mapping });
        const ranks = makeInputs(manifest!, dims, 1);
        new CpuGroup(kernel!, manifest!, { source }).run(ranks, dims);
        expect(checkOutputs(manifest!, dims, ranks, ranks), JSON.stringify(dims)).toMatchObject({ correct: true, unspecified: [] }); // prettier-ignore
      }
  });

  // With 8 lanes, a block of the proof's few threads has more columns than threads.
  it.each([VECTOR, COLUMNS, of("m, n", "replicated", "T[1, n]", "sum(x, dim: 0)")])("%s is proved", (text) => {
    const compiled = compile(text, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING });
    const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!) });
    expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
  });
});
