/** What is computed before or after a change of layout: it travels in the fewest bytes where ranks meet at barriers, and as its operands where these go in packets. */
import { describe, expect, it } from "vitest";
import { trafficOfRank } from "../../src/compiler/explain/traffic.js";
import { compile, type CompileOptions, type CompileResult } from "../../src/compiler/index.js";
import type { PassOptions } from "../../src/compiler/passes/options.js";
import { PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { expectProved, expectRight } from "./compiled-products.js";

const RANKS = 4;
const ELEMENTS = 4096;
/** Bytes that a rank loads from each peer, and stores there, of each element of a quarter of all. */
const PROGRAMS: Readonly<Record<string, { readonly text: string; readonly barrier: number }>> = {
  "a sum of two tensors, on all ranks": {
    text: "collective f(a: bf16[n] partial(sum), b: bf16[n] partial(sum)) -> y: bf16[n] replicated {\n  y = all_reduce(a + b)\n}\n",
    barrier: 2 + 2,
  },
  "a sum of two tensors, scattered": {
    text: "collective f(a: bf16[n] partial(sum), b: bf16[n] partial(sum)) -> y: bf16[n] sharded(0) {\n  y = reduce_scatter(a + b, dim: 0)\n}\n",
    barrier: 2,
  },
  "a sum in fewer bytes than its operand and its result have": {
    text: "collective f(g: f32[n] partial(sum)) -> y: f32[n] replicated {\n  y = f32(all_reduce(bf16(g)))\n}\n",
    barrier: 2 + 2,
  },
  "shards in fewer bytes": {
    text: "collective f(g: f32[n] sharded(0)) -> y: f32[n] replicated {\n  y = f32(all_gather(bf16(g)))\n}\n",
    barrier: 2,
  },
  "a scaled sum, and one with a replicated tensor": {
    text: "collective f(a: bf16[n] partial(sum), r: bf16[n] replicated) -> y: bf16[n] replicated {\n  y = all_reduce(a * 0.5) + r\n}\n",
    barrier: 2 + 2,
  },
  "a product of what each rank has a row of, on all ranks": {
    text: "collective f(a: bf16[world, n] sharded(0), b: bf16[world, n] sharded(0)) -> y: bf16[1, n] replicated {\n  y = all_reduce(sum(a * b, dim: 0))\n}\n",
    barrier: 2 + 2,
  },
  "a product of what each rank has a row of, scattered": {
    text: "collective f(a: bf16[world, n] sharded(0), b: bf16[world, n] sharded(0)) -> y: bf16[1, n] sharded(1) {\n  y = reduce_scatter(sum(a * b, dim: 0), dim: 1)\n}\n",
    barrier: 2,
  },
};

function compiled(text: string, mapping: Partial<PassOptions>, ranks = RANKS): CompileResult {
  const options: CompileOptions = { ranks, mapping: { ...PROOF_MAPPING, algorithm: "two_shot", ...mapping } };
  const result = compile(text, options);
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
}

function bytesOfElement({ snapshots }: CompileResult): number {
  const { kernel } = snapshots.findLast((s) => s.kernel.level === "rank")!;
  const moves = trafficOfRank(kernel, 0, { n: ELEMENTS }).stretches.flatMap((stretch) => stretch.moves);
  const remote = moves.flatMap(({ bytesAt }) => [...bytesAt].filter(([rank]) => rank !== 0).map(([, bytes]) => bytes));
  return remote.reduce((a, b) => a + b, 0) / ((RANKS - 1) * (ELEMENTS / RANKS));
}

describe.each(Object.entries(PROGRAMS))("%s", (_, { text, barrier }) => {
  it("moves the bytes of what travels", () => {
    expect(bytesOfElement(compiled(text, { transfers: "written", protocol: "barrier" }))).toBe(barrier);
  });

  it("moves those of operands where packets do", () => {
    const { snapshots } = compiled(text, { transfers: "staged", protocol: "packet" });
    const conversions = snapshots.flatMap(({ kernel }) => kernel.body.ops.filter((op) => op.name === "convert"));
    expect(conversions.length).toBeGreaterThan(0);
    expect(conversions.some((op) => op.attributes["narrow"] === true)).toBe(false);
  });

  it.each([2, 3, 4])("is right on %d ranks, and proved", (ranks) => {
    const result = compiled(text, { transfers: "written", protocol: "barrier" }, ranks);
    expectProved(result);
    expectRight(
      result,
      [1, 8, 25, 640, 3001].map((n) => ({ n: n * ranks })),
    );
  });
});
