/** The text of who tells whom at a barrier: one for each relation, and back. */
import { describe, expect, it } from "vitest";
import { RankPairs } from "../../src/compiler/ir/rank-pairs.js";

describe("RankPairs", () => {
  it("prints the shortest form that says it all", () => {
    const text = (world: number, tells: (from: number, to: number) => boolean): string =>
      RankPairs.where(world, tells).print();
    expect(text(4, () => true)).toBe("all");
    expect(text(4, (p, q) => p === q)).toBe("self");
    expect(text(4, (p, q) => q === (p + 1) % 4)).toBe("+1");
    expect(text(5, (p, q) => p === q || q === (p + 4) % 5)).toBe("+0,+4");
    expect(text(8, (p, q) => (p ^ q) === 2 || (p ^ q) === 5)).toBe("^2,^5");
    expect(text(6, (p, q) => p % 2 === 0 && q === p + 1)).toBe("0>1,2>3,4>5");
    expect(text(3, () => false)).toBe("");
  });

  it("reads back what it prints, for every relation on three ranks", () => {
    for (let bits = 1; bits < 512; bits++) {
      const pairs = RankPairs.where(3, (p, q) => ((bits >> (3 * p + q)) & 1) === 1);
      expect(RankPairs.parse(pairs.print(), 3)!.list()).toEqual(pairs.list());
    }
  });

  it("refuses what names no pair of the group", () => {
    for (const text of ["", "+4", "^4", "4>0", "0>4", "1+2", ">1", "every", "+1,"])
      expect(RankPairs.parse(text, 4), text).toBeNull();
    expect(RankPairs.parse("^1", 3), "rank 2 has no partner").toBeNull();
  });
});
