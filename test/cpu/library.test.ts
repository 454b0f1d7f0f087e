/** Every collective in `kernels/`, compiled from source and run on the CPU, checked against its signature. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compile, fitDims, type Region } from "../../src/compiler/index.js";
import { CpuFault, CpuGroup, type CpuOptions } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { turned } from "../scope.js";
import { allows, compileFile, LIBRARY, type LibraryFile } from "../kernels/library.js";
import { fastest } from "./kernels.js";

/**
 * Few blocks, threads in reverse, tensors that start off by some elements: `test/kernels/cpu.test.ts` has everything else.
 */
function run(file: LibraryFile, ranks: number, options: CpuOptions): void {
  const { kernel, manifest, diagnostics, source } = compileFile(file, { ranks, dtype: "bf16" });
  expect(diagnostics).toEqual([]);
  const group = new CpuGroup(kernel!, manifest!, { ...options, source });
  // Dimensions that no tile divides.
  const scale = manifest!.dims.length > 1 ? 21 : 1031;
  const chosen = Object.fromEntries(manifest!.dims.map((d, i) => [d, ranks * (scale + 6 * i)]));
  const dims = fitDims(manifest!.requirements, chosen, new Set(manifest!.dims));
  for (let launch = 0; launch < 2; launch++) {
    const tensors = makeInputs(manifest!, dims, launch);
    group.run(tensors, dims);
    const result = checkOutputs(manifest!, dims, tensors, tensors);
    expect(result, `${file.name}, ${ranks} ranks`).toMatchObject({ correct: true, firstMismatch: null });
    expect(result.bitwiseEqualAcrossRanks).not.toBe(false);
  }
}

describe("the library on the CPU", () => {
  const settings: readonly CpuOptions[] = [
    { maxBlocks: 5, detectUnwritten: true },
    { maxBlocks: 3, seed: 1, reverseThreads: true, elementOffset: { x: 1, y: 3 } },
  ];
  for (const [turn, file] of LIBRARY.entries())
    test(file.name, () => {
      const worlds = [2, 3, 4].filter((ranks) => allows(file, ranks, "bf16"));
      const cases = worlds.flatMap((ranks) => settings.map((options) => [ranks, options] as const));
      for (const [ranks, options] of turned(cases, turn)) run(file, ranks, options);
    });
});

/** The region without its waits. */
function unordered(region: Region): Region {
  const ops = region.ops.filter((op) => op.name !== "wait");
  return { ...region, ops: ops.map((op) => ({ ...op, regions: op.regions.map(unordered) })) };
}

test("a ring that does not wait is seen to read what nobody has written", () => {
  const ring = LIBRARY.find((f) => f.name === "all_reduce/ring")!;
  const { kernel, manifest } = compileFile(ring, { ranks: 4, dtype: "bf16" });
  const group = new CpuGroup({ ...kernel!, body: unordered(kernel!.body) }, manifest!, { detectUnwritten: true });
  expect(() => group.run(makeInputs(manifest!, { n: 4000 }, 1), { n: 4000 })).toThrow(CpuFault);
});

test("one-shot all-reduce of 1 MiB of bf16 on 4 ranks, compiled and run, takes less than two seconds of a processor", () => {
  const text = readFileSync("kernels/all_reduce/one_shot.coll", "utf8");
  const dims = { n: 524288 };
  const job = (): void => {
    const { kernel, manifest } = compile(text, { file: "one_shot.coll", ranks: 4, dtype: "bf16" });
    const tensors = makeInputs(manifest!, dims, 1);
    new CpuGroup(kernel!, manifest!).run(tensors, dims);
    expect(checkOutputs(manifest!, dims, tensors, tensors).correct).toBe(true);
  };
  expect(fastest(job)).toBeLessThan(2000);
});
