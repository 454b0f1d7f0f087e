/** Products of 8-bit floats whose scales change along the depth: a scale multiplies what a stage adds, where tiles have it at hand. */
import { describe, expect, it, test } from "vitest";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { edited } from "../prove/mutants.js";
import { expectRight } from "./compiled-products.js";

/** Runs of scales: along the depth, along the rows of a, and along those of b. */
const product = (run: number, ofA: number, ofB: number): string => {
  const scale = (name: string, per: number): string => {
    const along = `repeat(${name}, dim: 1, times: ${run})`;
    return per === 1 ? along : `repeat(${along}, dim: 0, times: ${per})`;
  };
  const rows = (n: string, per: number): string => (per === 1 ? n : `${n} / ${per}`);
  return `collective f(
  a: f8e4m3[m, k] replicated, s: f32[${rows("m", ofA)}, k / ${run}] replicated,
  b: f8e4m3[n, k] replicated, t: f32[${rows("n", ofB)}, k / ${run}] replicated
) -> y: f32[m, n] replicated {
  y = (f32(a) * ${scale("s", ofA)}) @ transpose(f32(b) * ${scale("t", ofB)})
}`;
};

function opsOf({ kernel }: CompileResult, name: string): Op[] {
  const found: Op[] = [];
  walkKernel(kernel!, (op) => void (op.name === name && found.push(op)));
  return found;
}

const reasonOf = (text: string, options = {}): string[] =>
  compile(text, { ranks: 2, ...options }).diagnostics.map((d) => `${d.code}: ${d.message}`);

describe("scales of 1 by 128 and of 128 by 128", () => {
  const result = compile(product(128, 1, 128), { ranks: 2 });

  it("go through the ring with what they scale, and nothing is kept in memory", () => {
    expect(result.diagnostics).toEqual([]);
    const shapeOf = (mma: Op, key: string): string =>
      result.kernel!.buffers.find((b) => b.name === mma.attributes[key])!.shape.join("×");
    // Narrow tiles have 64 columns, others 256.
    expect(opsOf(result, "mma").map((mma) => [shapeOf(mma, "scaleA"), shapeOf(mma, "scaleB")])).toEqual([
      ["8×128×1", "8×1×1"],
      ["4×128×1", "4×2×1"],
      // With a width of 128, whose tiles begin where scales do.
      ["4×128×1", "4×2×1"],
    ]);
    const isPlain = opsOf(result, "copy_tile").map((op) => op.attributes["plain"] === true);
    expect(isPlain).toEqual([false, false, true, true, false, false, true, true]);
    // What is kept are pieces of depths.
    expect(result.kernel!.buffers.filter((b) => b.role === "scratch").map((b) => b.name)).toEqual([
      "pieces",
      "pieces_",
    ]);
  });

  it("are loaded once a row, and once for all columns of a part, as printed", () => {
    const cuda = result.cuda!;
    expect(cuda).toMatch(/r0 = sa\[\(t \/ 32 \* 16 \+ t % 32 \/ 4\) \/ 1\], r1 = sa\[/);
    expect(cuda).toMatch(/s0 = r0 \* sb\[0\], s1 = r1 \* sb\[0\];/);
    expect(cuda).toMatch(/s\[0\] = r0 \* sb\[1\];/);
    // The last part of a stage is added while the next one's first runs, with the scales that it came with.
    expect(cuda.match(/s0 = s\[0\], s1 = s\[1\];/g)).toHaveLength(6);
    // The warp that fills a stage says that it is done, and each of its threads that its copies have landed.
    expect(cuda).toMatch(/ring_begin<4, 8, 33, /);
    const landed = /ring_land_plain<4>\(\w+, \w+\);\s*ring_fill<4>/;
    expect(cuda).toMatch(landed);
  });
});

describe("scales that follow from where the tile lies", () => {
  const text = product(16, 1, 32);

  it("are right, beyond the ends of operands too", () => {
    expectRight(compile(text, { ranks: 1, mapping: PROOF_MAPPING }), [
      { m: 21, n: 96, k: 32 },
      { m: 5, n: 32, k: 176 },
    ]);
  });

  it("are proved, and what leaves one out, or takes it before it is there, is refused", () => {
    const result = compile(text, { ranks: 1, mapping: PROOF_MAPPING });
    const proofOf = (kernel: NonNullable<CompileResult["kernel"]>) => prove({ kernel }, { shared: sharedLayout(kernel) }); // prettier-ignore
    const claims = proofOf(result.kernel!);
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
    const [mma] = opsOf(result, "mma");
    const { scaleB: _, ...others } = mma!.attributes;
    const without = edited(result.kernel!, mma!, (op) => [{ ...op, attributes: others }]);
    expect(proofOf(without).answer.status).toBe("wrong");
    expect(opsOf(result, "mma")).toHaveLength(2);
    const [first, ...rest] = opsOf(result, "copy_tile").reverse();
    const fill = opsOf(result, "ring_fill").at(-1)!;
    // Two operands, of which both are scaled, in tiles of both kinds.
    expect(rest).toHaveLength(7);
    const late = edited(
      edited(result.kernel!, first!, () => []),
      fill,
      (op) => [op, first!],
    );
    expect(proofOf(late).ordering.status).not.toBe("proved");
  });
});

test("a product that tiles do not have the scales of is a fold, and says why", () => {
  expect(reasonOf(product(64, 1, 128))).toEqual([
    expect.stringMatching(/scalar-product: .*'s' change every 64 terms.*make runs of 128/),
  ]);
  expect(reasonOf(product(128, 128, 1))).toEqual([
    expect.stringMatching(/scalar-product: .*'t' change every 1 columns.*or swap the operands/),
  ]);
  expect(reasonOf(product(128, 1, 128), { arch: "sm_80" })).toEqual([expect.stringMatching(/no tiles of f8e4m3/)]);
  expect(reasonOf(product(256, 128, 512))).toEqual([]);
});
