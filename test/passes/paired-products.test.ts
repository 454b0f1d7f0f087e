/** Two products of the same rows that one loop combines: one tile has an accumulator for each; that they are right and proved, and which stay apart. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { evaluateExtent } from "../../src/compiler/types/extent.js";
import { PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { compiled, expectProved, expectRight, opsOf, slicesAt } from "./compiled-products.js";

const layer = (body: string, operand = "x: T[m, k] replicated"): string =>
  `collective f(${operand}, e: T[m, k] replicated, g: T[k, n] replicated, u: T[k, n] replicated, ut: T[n, k] replicated, r: T[m, n] replicated)
  -> y: T[m, n] replicated {
  ${body}
}
`;
const GATED = layer("y = silu(x @ g) * (x @ u)");
/** Without narrow tiles, so that each set of roles is one op; seven blocks, so that depths are cut. */
const MAPPING = { ...PROOF_MAPPING, tileBlocks: 7, roles: { ...PROOF_MAPPING.roles!, few: null } };
const CUT = { m: 13, n: 29, k: 61 };
const MANY = { m: 45, n: 70, k: 19 };

/** How many accumulators each product by roles has. */
const accumulators = (result: CompileResult): number[] =>
  opsOf(result, "mma").map(({ attributes }) => ("twin" in attributes ? 2 : 1));
const barriersOf = (result: CompileResult): number =>
  result.snapshots.find((s) => s.pass === "tile-contractions")!.kernel.body.ops.length;

describe("two products of the same rows in one expression", () => {
  it("go through one loop of tiles, with one meeting for the sums of both, and no memory between them", () => {
    const result = compiled(GATED, "bf16", MAPPING);
    expect(accumulators(result)).toEqual([2]);
    expect(result.kernel!.buffers.map((b) => b.name).filter((name) => name.startsWith("value"))).toEqual([]);
    expect(result.kernel!.buffers.filter((b) => b.role === "scratch").map((b) => b.name)).toEqual([
      "slices",
      "slices_",
    ]);
    expect([CUT, MANY].map((dims) => slicesAt(result, dims))).toEqual([3, 0]);
    expectRight(result, [CUT, MANY, { m: 1, n: 1, k: 3 }, { m: 16, n: 16, k: 8 }]);
    expectProved(result, [CUT, MANY]);
    void evaluateExtent;
    void barriersOf;
    void compile;
  });
});
