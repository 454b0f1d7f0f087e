/** Every collective in `kernels/`, compiled from source and run on the CPU, checked against its signature. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compile, type Region } from "../../src/compiler/index.js";
import { CpuFault, CpuGroup, type CpuOptions } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { fastest } from "./kernels.js";

const FILES = readdirSync("kernels", { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".coll"))
  .sort();

function run(file: string, ranks: number, dtype: "f32" | "f16" | "bf16", options: CpuOptions): void {
  const { kernel, manifest, diagnostics, source } = compile(readFileSync(`kernels/${file}`, "utf8"), {
    file,
    ranks,
    dtype,
  });
  expect(diagnostics).toEqual([]);
  const group = new CpuGroup(kernel!, manifest!, { ...options, source });
  // Dimensions that every world divides and no tile does.
  const scale = manifest!.dims.length > 1 ? 21 : 1031;
  const dims = Object.fromEntries(manifest!.dims.map((d, i) => [d, ranks * (scale + 6 * i)]));
  for (let launch = 0; launch < 2; launch++) {
    const tensors = makeInputs(manifest!, dims, launch);
    group.run(tensors, dims);
    const result = checkOutputs(manifest!, dims, tensors, tensors);
    expect(result, `${file}, ${ranks} ranks, ${dtype}`).toMatchObject({
      correct: true,
      firstMismatch: null,
      unspecified: [],
    });
    expect(result.bitwiseEqualAcrossRanks).not.toBe(false);
  }
}

describe("the library on the CPU", () => {
  for (const file of FILES)
    test(file, { timeout: 60_000 }, () => {
      for (const ranks of [1, 2, 3, 4, 8])
        for (const dtype of ["f32", "f16", "bf16"] as const)
          run(file, ranks, dtype, { maxBlocks: 5, detectUnwritten: true });
      run(file, 3, "bf16", { maxBlocks: 3, seed: 1, reverseThreads: true, elementOffset: { x: 1, y: 3 } });
    });
});

/** The region without its waits. */
function unordered(region: Region): Region {
  const ops = region.ops.filter((op) => op.name !== "wait");
  return { ...region, ops: ops.map((op) => ({ ...op, regions: op.regions.map(unordered) })) };
}

test("a ring that does not wait is seen to read what nobody has written", () => {
  const text = readFileSync("kernels/all_reduce/ring.coll", "utf8");
  const { kernel, manifest } = compile(text, { file: "ring.coll", ranks: 4, dtype: "bf16" });
  const group = new CpuGroup({ ...kernel!, body: unordered(kernel!.body) }, manifest!, { detectUnwritten: true });
  expect(() => group.run(makeInputs(manifest!, { n: 4000 }, 1), { n: 4000 })).toThrow(CpuFault);
});

test("one-shot all-reduce of 1 MiB of bf16 on 4 ranks, compiled and run, takes less than a second", () => {
  const text = readFileSync("kernels/all_reduce/one_shot.coll", "utf8");
  const dims = { n: 524288 };
  const job = (): void => {
    const { kernel, manifest } = compile(text, { file: "one_shot.coll", ranks: 4, dtype: "bf16" });
    const tensors = makeInputs(manifest!, dims, 1);
    new CpuGroup(kernel!, manifest!).run(tensors, dims);
    expect(checkOutputs(manifest!, dims, tensors, tensors).correct).toBe(true);
  };
  expect(fastest(job)).toBeLessThan(1000);
});
