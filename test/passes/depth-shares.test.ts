/** Tiles whose depths are cut into pieces: which blocks take them. What consumers do with them is in products.test.ts. */
import { describe, expect, it } from "vitest";
import { Builder } from "../../src/compiler/ir/builder.js";
import type { Value } from "../../src/compiler/ir/module.js";
import { pieceOf, piecesOf, sharePlan, type Shares } from "../../src/compiler/passes/support/depth-shares.js";
import { evaluateExtent, type Extent } from "../../src/compiler/types/extent.js";

describe("pieces of tiles that do not fill a round", () => {
  const options = { meeting: 0, putting: 0, adding: 0 };
  /** What blocks take, in their order. */
  const taken = (tiles: number, steps: number, blocks: number) => {
    const plan = sharePlan({ tiles, rows: 128, steps, step: 1, floor: 0 }, blocks, { m: 128, n: 64 }, options);
    const build = new Builder({ start: 0, end: 0 });
    const number = (e: Extent): Value => build.constant(evaluateExtent(e, {}));
    const shares: Shares = {
      isShared: build.bool(true),
      memory: { put: [], told: "" },
      ...{ rounds: number(plan.rounds), whole: number(plan.whole), left: number(plan.left) },
      ...{ pieces: number(plan.pieces), deep: number(plan.deep) },
    };
    const known = (v: Value): number => build.constantOf(v)!;
    const all = known(piecesOf(shares, build.constant(tiles), build));
    const pieces = Array.from({ length: all }, (_, i) => {
      const turn = build.constant(Math.floor(i / blocks));
      const piece = pieceOf(shares, build.constant(i), turn, build.constant(steps), build);
      const { tile, from, to, before } = piece;
      return { block: i % blocks, tile: known(tile), from: known(from), to: known(to), before: known(before) };
    });
    return { pieces, plan, room: evaluateExtent(plan.left, {}) * evaluateExtent(plan.pieces, {}) };
  };

  it("are all of each tile, once, and a block counts what it had before", () => {
    let seen = 0;
    for (const blocks of [2, 3, 7, 132])
      for (const tiles of [1, 2, 3, 5, 31, 66, 67, 131, 133, 160, 300])
        for (const steps of [2, 3, 7, 16, 33, 128]) {
          if (tiles % blocks === 0) continue;
          const { pieces, room } = taken(tiles, steps, blocks);
          const which = `${tiles} tiles, ${steps} steps, ${blocks} blocks`;
          const done = Array.from({ length: tiles }, () => 0);
          const had = Array.from({ length: blocks }, () => 0);
          for (const { block, tile, from, to, before } of pieces) {
            expect([from, before], which).toEqual([done[tile], had[block]]);
            expect(to, which).toBeGreaterThan(from);
            done[tile] = to;
            had[block]! += to - from;
          }
          expect(new Set(done), which).toEqual(new Set([steps]));
          expect(room, which).toBeLessThanOrEqual(2 * blocks);
          if (room > tiles % blocks) seen++;
        }
    expect(seen).toBeGreaterThan(100);
  });

  it("take less time than a round of whole tiles, where there is room for them", () => {
    // 40 tiles on 132 blocks: three pieces each; 28 beyond a round: four, or nine in two rounds.
    expect(evaluateExtent(taken(40, 128, 132).plan.pieces, {})).toBe(3);
    expect(evaluateExtent(taken(160, 128, 132).plan.time, {})).toBe(128 + 2 * 15);
    expect(evaluateExtent(taken(12, 112, 132).plan.time, {})).toBe(11);
  });
});
