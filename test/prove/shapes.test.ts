/** Shapes of proofs: small, and still through all paths. */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { prove, PROOF_MAPPING, proveOrdering, summaryLine } from "../../src/compiler/prove/index.js";
import { oddShape, proofShapes } from "../../src/compiler/prove/shapes.js";
import { allows, compileFile, LIBRARY } from "../kernels/library.js";

describe("the shape at odd addresses", () => {
  for (const file of LIBRARY.filter((f) => allows(f, 2)))
    it(`takes all paths of ${file.name} that the ragged one takes`, () => {
      const kernel = compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING }).kernel!;
      const shapes = proofShapes(kernel, "ordering");
      const ragged = shapes[Math.min(1, shapes.length - 1)]!;
      const ran = (dims: DimValues): readonly number[] => {
        const answer = proveOrdering(kernel, { dims, aligned: false, shared: sharedLayout(kernel) });
        return answer.status === "proved" ? answer.executed : [];
      };
      expect(ran(ragged)).not.toEqual([]);
      expect(ran(oddShape(kernel, ragged))).toEqual(expect.arrayContaining([...ran(ragged)]));
    });
});

it("is not among the shapes of which the summary speaks, for aligned buffers are not proved there", () => {
  const file = LIBRARY.find((f) => f.name === "all_reduce/two_shot")!;
  const kernel = compileFile(file, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING }).kernel!;
  const [one, ragged, even] = proofShapes(kernel) as [DimValues, DimValues, DimValues];
  expect(oddShape(kernel, ragged)["n"]).toBeLessThan(ragged["n"]!);
  expect(summaryLine(prove({ kernel }))).toContain(`(n=${one["n"]}; n=${ragged["n"]}; n=${even["n"]})`);
});
