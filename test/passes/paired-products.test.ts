/** Two products of the same rows that one expression combines: tiles have an accumulator for each; which are so, that they are right and proved, and which stay apart. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, type DType } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { walk } from "../../src/compiler/ir/visit.js";
import { DEFAULT_PASS_OPTIONS, type PassOptions } from "../../src/compiler/passes/options.js";
import { PIPELINE } from "../../src/compiler/passes/pipeline.js";
import { runPasses } from "../../src/compiler/passes/runner.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { edited } from "../prove/mutants.js";
import { compiled, expectProved, expectRight, isCutAt, opsIn, opsOf } from "./compiled-products.js";

const OPERANDS = `x: T[m, k] replicated, e: T[m, k] replicated, g: T[k, n] replicated, u: T[k, n] replicated, gt: T[n, k] replicated,
  ut: T[n, k] replicated, v: T[k, n] replicated, w: T[k, 2 * n] replicated, r: T[m, n] replicated`;
const program = (body: string, operands = OPERANDS, y = "T[m, n] replicated"): string =>
  `collective f(${operands}) -> y: ${y} {\n  ${body}\n}\n`;
const GATED = program("y = silu(x @ g) * (x @ u)");
const GATHERED = program(
  "let all = all_gather(x)\n  y = silu(all @ g) * (all @ u)",
  "x: T[m, k] sharded(0), g: T[k, n] sharded(1), u: T[k, n] sharded(1)",
  "T[m, n] sharded(1)",
);
const ADDED = "a: T[m, k] sharded(1), g: T[k, n] sharded(0), u: T[k, n] sharded(0)";

/** Without narrow tiles, so that each set of roles is one op; seven blocks, so that two tiles have their depth cut in three. */
const MAPPING: Partial<PassOptions> = {
  ...PROOF_MAPPING,
  tileBlocks: 7,
  roles: { ...PROOF_MAPPING.roles!, few: null },
};
const CUT = { m: 13, n: 29, k: 61 };
const MANY = { m: 45, n: 70, k: 19 };

const among = (text: string, ranks: number, mapping = PROOF_MAPPING, variant?: string): CompileResult => {
  const result = compile(text, { ranks, dtype: "bf16", mapping, ...(variant === undefined ? {} : { variant }) });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
};
/** How many accumulators each product by roles has. */
const accumulators = (result: CompileResult): number[] =>
  opsOf(result, "mma").flatMap(({ attributes }) => ("columns" in attributes ? [] : ["twin" in attributes ? 2 : 1]));
const opsInside = (op: Op, name: string): number => {
  let count = 0;
  for (const region of op.regions) walk(region, (o) => void (count += o.name === name ? 1 : 0));
  return count;
};
const kernelAfter = ({ snapshots }: CompileResult, pass: string): Kernel =>
  snapshots.find((s) => s.pass === pass)!.kernel;
const scratchOf = ({ kernel }: CompileResult): string[] =>
  kernel!.buffers.filter((b) => b.role === "scratch").map((b) => b.name);

describe("two products of the same rows in one expression", () => {
  it("go through one loop of tiles, with pieces of both, and no memory between them", () => {
    const result = compiled(GATED, "bf16", MAPPING);
    expect(accumulators(result)).toEqual([2]);
    expect(scratchOf(result)).toEqual(["pieces", "pieces_"]);
    expect(opsIn(kernelAfter(result, "map-grid"), "barrier")).toEqual([]);
    // With one step there is nothing to cut.
    expect([CUT, MANY, { ...MANY, k: 5 }].map((dims) => isCutAt(result, dims))).toEqual([true, true, false]);
    expectRight(result, [CUT, MANY, { m: 1, n: 1, k: 3 }, { m: 16, n: 16, k: 8 }]);
    expectProved(result, [CUT, MANY]);
  });

  it.each([
    ["one is scaled by a tensor", "y = (x @ g) + r * (x @ u)"],
    ["both are rounded before", "y = T(x @ g) - T(x @ u)"],
    ["their operands are parts of one tensor", "y = silu(x @ w[0..k, 0..n]) * (x @ w[0..k, n..2 * n])"],
    ["their operands are transposed", "y = silu(x @ transpose(gt)) * (x @ transpose(ut))"],
    ["what is combined goes on", "y = exp(r) + gelu(x @ g) * (x @ u)"],
    ["their rows are computed, and kept once", "let h = x * e\n  y = silu(h @ g) * (h @ u)"],
    ["one is asked for twice", "y = (x @ g) * (x @ g) + (x @ u)"],
  ])("are a pair where %s", (_which, body) => {
    const result = compiled(program(body), "bf16", MAPPING);
    expect(accumulators(result)).toEqual([2]);
    expectRight(result, [CUT, MANY, { m: 1, n: 40, k: 3 }]);
  });

  it("are of either 16-bit float, and of batches", () => {
    const text = `collective f(x: T[b, m, k] replicated, g: T[b, k, n] replicated, u: T[k, n] replicated) -> y: T[b, m, n] replicated {
  y = tanh(x @ g) * (x @ u)
}
`;
    const result = compiled(text, "f16", MAPPING);
    expect(accumulators(result)).toEqual([2]);
    expectRight(result, [
      { b: 3, ...CUT },
      { b: 2, ...MANY },
    ]);
  });

  it("have narrow tiles where there are few rows", () => {
    const result = compiled(GATED, "bf16", { ...MAPPING, roles: PROOF_MAPPING.roles! });
    expect(accumulators(result)).toEqual([2, 2]);
    expectRight(result, [CUT, MANY, { m: 16, n: 53, k: 8 }, { m: 3, n: 5, k: 40 }]);
    expectProved(compiled(GATED, "bf16", PROOF_MAPPING));
  });

  it.each([2, 4])("are multiplied while their rows are gathered, or after that as packets, on %i ranks", (ranks) => {
    const written = among(GATHERED, ranks, { ...PROOF_MAPPING, transfers: "written" });
    expect(accumulators(written)).toEqual([2]);
    expect(opsOf(written, "roles").map((op) => op.attributes["movers"])).toEqual([12]);
    const packets = among(GATHERED, ranks, { ...PROOF_MAPPING, transfers: "staged", protocol: "packet" });
    expect(accumulators(packets)).toEqual([2, 2]);
    for (const result of [written, packets])
      expectRight(result, [
        { m: 16 * ranks, n: 16 * ranks, k: 19 },
        { m: 19 * ranks, n: 35 * ranks, k: 61 },
        { m: ranks, n: ranks, k: 1 },
      ]);
    if (ranks === 2) for (const result of [written, packets]) expectProved(result);
  });

  it("leave for the ranks that add them up, which complete their own tiles", () => {
    const text = program("y = reduce_scatter((a @ g) - 2 * (a @ u), dim: 0)", ADDED, "T[m, n] sharded(0)");
    for (const ranks of [2, 4]) {
      const result = among(text, ranks, PROOF_MAPPING, "two_shot");
      expect(accumulators(result)).toContain(2);
      expect(opsOf(result, "roles").some(({ attributes }) => "outgoing" in attributes)).toBe(true);
      expectRight(result, [
        { m: 48 * ranks, n: 40, k: 12 * ranks },
        { m: 19 * ranks, n: 35, k: 61 * ranks },
      ]);
      if (ranks === 2) expectProved(result);
    }
    const reduced = among(program("y = all_reduce((a @ g) + (a @ u))", ADDED), 2);
    expect(accumulators(reduced)).toContain(2);
    expectRight(reduced, [
      { m: 96, n: 40, k: 24 },
      { m: 13, n: 29, k: 62 },
    ]);
  });

  it.each<[string, string, DType, number]>([
    ["of other rows", "y = silu(x @ g) * (e @ u)", "bf16", 2],
    ["of operands that lie in another way", "y = silu(x @ g) * (x @ transpose(ut))", "bf16", 2],
    ["of f32", "y = silu(x @ g) * (x @ u)", "f32", 2],
  ])("stay apart: products %s", (_which, body, dtype, loops) => {
    const result = compiled(program(body), dtype, MAPPING);
    expect(accumulators(result)).toEqual(Array.from({ length: loops }, () => 1));
    expectRight(result, [CUT, MANY]);
  });

  it("stay apart where the machine has no roles, and the last two of three are a pair", () => {
    const without = compiled(GATED, "bf16", { ...MAPPING, roles: null });
    expect(accumulators(without)).toEqual([1, 1]);
    expectRight(without, [CUT, MANY]);
    const three = compiled(program("y = (x @ g) * (x @ u) + (x @ v)"), "bf16", MAPPING);
    expect(accumulators(three)).toEqual([1, 2]);
    expectRight(three, [CUT, MANY]);
  });

  it("are wrong, and said to be, where the second takes the tile of the first, is never added up, or is read too early", () => {
    const result = compiled(GATED, "bf16", MAPPING);
    const tiled = kernelAfter(result, "tile-contractions");
    const rest = PIPELINE.slice(PIPELINE.findIndex((p) => p.name === "tile-contractions") + 1);
    const statuses = (target: Op, edit: (op: Op) => readonly Op[]): string[] => {
      const mutant = edited(tiled, target, edit);
      expect(problemsOf(mutant)).toEqual([]);
      const kernel = runPasses(mutant, rest, { ...DEFAULT_PASS_OPTIONS, ...MAPPING });
      const claims = prove({ kernel }, { shared: sharedLayout(kernel), shapes: [CUT, MANY] });
      return [claims.answer.status, claims.ordering.status];
    };
    const [roles] = opsIn(tiled, "roles");
    const named = (region: number, name: string): Op[] => {
      const found: Op[] = [];
      walk(roles!.regions[region]!, (op) => void (op.name === name && found.push(op)));
      return found;
    };
    const [, first, second] = named(1, "copy_tile");
    const stageOf = (op: Op): number => op.operands.length - 1;
    expect(
      statuses(second!, (op) => [
        { ...op, operands: op.operands.with(stageOf(op), first!.operands[stageOf(first!)]!) },
      ]),
    ).toContain("wrong");
    const without = ({ attributes: { twin: _, ...attributes }, ...op }: Op): readonly Op[] => [{ ...op, attributes }];
    const [mma] = named(0, "mma");
    expect(statuses(mma!, without)).toContain("wrong");
    const end = named(0, "mma_wait").at(-1)!;
    expect(statuses(end, (op) => [{ ...op, attributes: { ...op.attributes, pending: 1 } }])).toContain("wrong");
  });

  it("are refused where the second accumulator is another than the first, or b has no tiles for it", () => {
    const tiled = kernelAfter(compiled(GATED, "bf16", MAPPING), "tile-contractions");
    const [mma] = opsIn(tiled, "mma");
    const messages = (change: Op["attributes"]): string[] =>
      problemsOf(edited(tiled, mma!, (op) => [{ ...op, attributes: { ...op.attributes, ...change } }])).map((p) => p.message); // prettier-ignore
    expect(messages({})).toEqual([]);
    expect(messages({ async: false })).toEqual(["mma: has a twin, and is not asynchronous"]);
    expect(messages({ twin: "pieces" })).toEqual(["mma: has a twin that is not like its accumulator"]);
    expect(messages({ b: mma!.attributes["a"]! })).toEqual(["mma: has a twin, but not two tiles of b for one of a"]);
  });
});

it("matmul/all_gather_swiglu has one loop of products in each of its kernels, whatever the size", () => {
  const file = new URL("../../kernels/matmul/all_gather_swiglu.coll", import.meta.url);
  const { variants } = compile(readFileSync(file, "utf8"), { ranks: 4, dtype: "bf16", arch: "sm_90a" });
  expect(variants.map(({ name }) => name)).toEqual(["all_gather_swiglu+packets", "all_gather_swiglu"]);
  for (const { compiled: result } of variants) {
    expect(kernelAfter(result, "derive-sync").body.ops.filter((op) => opsInside(op, "contract") === 2)).toHaveLength(1);
    expect(new Set(accumulators(result))).toEqual(new Set([2]));
    expect(scratchOf(result).filter((name) => name.startsWith("value"))).toEqual([]);
    const barriers = opsIn(kernelAfter(result, "tile-contractions"), "barrier");
    expect(barriers.filter((op) => op.attributes["sums"] === true)).toEqual([]);
  }
});
