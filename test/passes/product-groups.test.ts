/** Products that one set of roles takes together: which do, that they are right and proved, with depths that are cut, and which go apart. */
import { describe, expect, it } from "vitest";
import { PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { compiled, expectProved, expectRight, isCutAt, opsOf } from "./compiled-products.js";

/** Seven blocks, so that two products of one tile each have their depth cut in three; without narrow tiles, so that each set of roles is one op. */
const MAPPING = { ...PROOF_MAPPING, tileBlocks: 7, roles: { ...PROOF_MAPPING.roles!, few: null } };

const program = (body: string, operand = "a: T[m, k] replicated"): string =>
  `collective f(${operand}, e: T[m, k] replicated, b: T[k, n] replicated, d: T[k, p] replicated, bt: T[n, k] replicated)
  -> (x: T[m, n] replicated, y: T[m, p] replicated) {
  ${body}
}
`;
const TOGETHER = program("x = a @ b\n  y = relu(a @ d)");
const CUT = { m: 13, n: 29, p: 21, k: 61 };
const MANY = { m: 45, n: 70, p: 37, k: 19 };

describe("products of the same rows", () => {
  it("go through one set of roles, and are right and proved, cut and whole", () => {
    const result = compiled(TOGETHER, "bf16", MAPPING);
    expect(opsOf(result, "roles")).toHaveLength(1);
    expect(opsOf(result, "mma").map((op) => op.attributes["columns"])).toEqual([undefined, 24]);
    expect([CUT, MANY].map((dims) => isCutAt(result, dims))).toEqual([true, false]);
    expectRight(result, [CUT, MANY, { m: 1, n: 1, p: 40, k: 3 }]);
    expectProved(result, [CUT, MANY]);
  });

  it("do so while the rows are gathered, and with narrow tiles where there are few", () => {
    const text = program("let g = all_gather(a)\n  x = g @ b\n  y = g @ d", "a: T[m, k] sharded(0)");
    const mapping = { ...MAPPING, transfers: "written" as const };
    const gathered = compiled(text, "bf16", mapping);
    expect(opsOf(gathered, "roles").map((op) => op.attributes["movers"])).toEqual([12]);
    expectRight(gathered, [
      { ...CUT, m: 14 },
      { ...MANY, m: 64 },
    ]);
    expectProved(gathered, [
      { ...CUT, m: 14 },
      { m: 32, n: 24, p: 24, k: 24 },
    ]);
    const narrow = compiled(TOGETHER, "bf16", { ...MAPPING, roles: PROOF_MAPPING.roles! });
    expect(opsOf(narrow, "roles")).toHaveLength(2);
    expectRight(narrow, [{ m: 13, n: 29, p: 21, k: 61 }, MANY]);
  });

  it.each([
    ["of other rows", "x = a @ b\n  y = e @ d"],
    ["of operands that lie in another way", "x = a @ transpose(bt)\n  y = a @ d"],
    ["of which one takes what the other stores", "x = a @ b\n  y = (a @ d) * max(x, dim: 1)"],
  ])("go apart: products %s", (_which, body) => {
    const result = compiled(program(body), "bf16", MAPPING);
    expect(opsOf(result, "roles")).toHaveLength(2);
    expectRight(result, [CUT, MANY]);
  });
});
