/** A realistic kernel, launched again and again. */
import { describe, expect, test } from "vitest";
import type { DType } from "../../src/compiler/types/dtype.js";
import type { CpuGroup, CpuOptions } from "../../src/runtime/cpu/index.js";
import { sameBytes } from "../../src/runtime/numbers/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { blank, fastest, load, oneShot, small, numbers } from "./kernels.js";

function launch(group: CpuGroup, n: number, seed: number): void {
  const ranks = makeInputs(group.manifest, { n }, seed);
  group.run(ranks, { n });
  const result = checkOutputs(group.manifest, { n }, ranks, ranks);
  expect(result.firstMismatch).toBeNull();
  expect(result.bitwiseEqualAcrossRanks).not.toBe(false);
}

describe("one-shot all-reduce", () => {
  test("is correct for worlds 1 to 8 and every float dtype", () => {
    for (let world = 1; world <= 8; world++)
      for (const dtype of ["f32", "f16", "bf16", "f8e4m3", "f8e5m2"] as DType[])
        launch(load(oneShot(world, dtype, dtype === "f32" ? 4 : 8, 3)), 6151, world);
  });

  test("any length, changing from launch to launch", () => {
    const group = load(oneShot(3), { detectUnwritten: true });
    for (const n of [0, 1, 2047, 2048, 2049, 40000, 7, 40001]) launch(group, n, n);
  });

  test("many launches with growing epochs, through their wrap-around", () => {
    const group = load(oneShot(4, "bf16", 8, 2));
    for (let i = 0; i < 10; i++) launch(group, 5000, i);
    expect([...group.buffer("epoch", 2)!]).toEqual([20, 20]);
    // Epochs are compared as differences, so that 2^32 launches are no limit.
    for (let rank = 0; rank < 4; rank++) {
      numbers(group.buffer("epoch", rank)).fill(0xfffffff5);
      numbers(group.buffer("flags", rank)).fill(0xfffffff5);
    }
    for (let i = 0; i < 10; i++) launch(group, 5000, i);
    expect([...group.buffer("epoch", 2)!]).toEqual([9, 9]);
  });

  test("the schedule does not change a bit of the result, and a seed replays", () => {
    const run = (
      options: CpuOptions,
    ): { resumptions: number; outputs: readonly { outputs: Record<string, never> }[] } => {
      const group = load(oneShot(4, "bf16", 8, 4), options);
      const ranks = makeInputs(group.manifest, { n: 20000 }, 1);
      const { resumptions } = group.run(ranks, { n: 20000 });
      return { resumptions, outputs: ranks as never };
    };
    const plain = run({});
    const counts = new Set<number>();
    for (let seed = 0; seed < 8; seed++) {
      const a = run({ seed, reverseThreads: seed % 2 === 1 });
      expect(run({ seed, reverseThreads: seed % 2 === 1 }).resumptions).toBe(a.resumptions);
      expect(sameBytes(a.outputs[3]!.outputs["y"]!, plain.outputs[3]!.outputs["y"]!)).toBe(true);
      counts.add(a.resumptions);
    }
    expect(counts.size).toBeGreaterThan(1);
  });

  test("the grid is the manifest's, or smaller on request", () => {
    const group = load(oneShot(2, "bf16", 8, 16));
    expect([0, 2048, 2049, 10 ** 6].map((n) => group.gridFor({ n }))).toEqual([1, 1, 2, 16]);
    expect(load(oneShot(2), { maxBlocks: 3 }).gridFor({ n: 10 ** 6 })).toBe(3);
    expect(group.run(blank(group, { n: 5000 }), { n: 5000 })).toMatchObject({ grid: 3 });
  });

  test("1 MiB of bf16 on 4 ranks takes less than a second of a processor, compile included", () => {
    const ranks = makeInputs(load(oneShot(4)).manifest, { n: 524288 }, 1);
    expect(fastest(() => load(oneShot(4)).run(ranks, { n: 524288 }))).toBeLessThan(1000);
  });
});

describe("memory a kernel owns", () => {
  const text = small("dim n buffer s: scratch f32[n] buffer c: state u32[n] buffer y: output f32[2]", `%zero = const {value=0} : index
    %one = const {value=1} : index
    %f = load %zero {buffer="s"} : f32
    store %f, %zero {buffer="y"}
    %c = load %zero {buffer="c"} : u32
    %k = const {value=1} : u32
    %next = binary %c, %k {fn="add"} : u32
    store %next, %zero {buffer="c"}
    %g = cast %next : f32
    store %g, %one {buffer="y"}
    store %g, %zero {buffer="s"}`); // prettier-ignore

  test("scratch starts as poison, state as zero; both outlive launches and growth", () => {
    const group = load(text);
    const run = (n: number): number[] => {
      const ranks = blank(group, { n });
      group.run(ranks, { n });
      return [...ranks[0]!.outputs["y"]!] as number[];
    };
    expect(run(2)).toEqual([NaN, 1]);
    expect(run(2)).toEqual([1, 2]);
    expect(run(100)).toEqual([2, 3]);
    expect(run(1)).toEqual([3, 4]);
    expect(group.buffer("s", 0)).toHaveLength(100);
    expect(group.buffer("nothing", 0)).toBeUndefined();
  });
});
