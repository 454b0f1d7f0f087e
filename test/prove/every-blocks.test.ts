/** One block and two stand for any number of them ("Every number of blocks" in docs/PROOF.md): held against three and five. */
import { describe, expect, it } from "vitest";
import { StretchOrder } from "../../src/compiler/prove/every/skeleton.js";
import { launchesOf } from "../../src/compiler/prove/launches.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

describe("stretches of more blocks are ordered as those of two", () => {
  it.each(["all_reduce/two_shot", "broadcast/tree", "permute/send", "reduce_scatter/push", "reduce/scatter"])(
    "%s",
    (name) => {
      const { kernel } = compileFile(
        LIBRARY.find((f) => f.name === name)!,
        { ranks: 2, dtype: "f32" },
      );
      const launches = launchesOf(kernel!);
      const orderOf = (grid: number): StretchOrder =>
        new StretchOrder(kernel!, Object.fromEntries(kernel!.dims.map((d) => [d, 64])), grid, launches);
      const [one, two] = [orderOf(1), orderOf(2)];
      const places = [0, 1].flatMap((rank) =>
        Array.from({ length: launches }, (_, launch) =>
          Array.from({ length: one.count(rank, 0, launch) }, (_s, stretch) => ({ rank, launch, stretch })),
        ).flat(),
      );
      expect(places.length).toBeGreaterThan(1);
      for (const more of [orderOf(3), orderOf(5)])
        for (const a of places)
          for (const b of places)
            for (let p = 0; p < more.grid; p++)
              for (let q = 0; q < more.grid; q++) {
                const expected =
                  p === q
                    ? one.isBefore({ ...a, block: 0 }, { ...b, block: 0 })
                    : two.isBefore({ ...a, block: 0 }, { ...b, block: 1 });
                expect(more.isBefore({ ...a, block: p }, { ...b, block: q })).toBe(expected);
              }
    },
  );
});
