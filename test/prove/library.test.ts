/** Every kernel of the library is proved right and ordered for worlds 1 to 8, without one "unknown". */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { allows, compileFile, LIBRARY } from "../kernels/library.js";

/** Claims about elements and indices that are data: the prover cannot read them yet. */
const UNREAD = ["all_to_all/combine", "all_to_all/dispatch", "all_to_all/transposed", "halo/", "permute/"];

/** Seconds and more where ranks are many: half a minute for 8. */
const SLOW = "all_reduce/quantised";

for (const file of LIBRARY.filter((f) => !UNREAD.some((u) => f.name.startsWith(u))))
  describe(file.name, () => {
    for (const ranks of [1, 2, 3, 4, 5, 6, 7, 8].filter((r) => allows(file, r) && !(file.name === SLOW && r > 3)))
      it(`is proved for ${ranks} ranks`, () => {
        const { kernel } = compileFile(file, {
          ranks,
          dtype: "bf16",
          mapping: PROOF_MAPPING,
        });
        const claims = prove({ kernel }, { shared: sharedLayout(kernel!), misaligned: ranks <= 4 });
        expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
      });
    it("takes nearly all of its paths", () => {
      const { kernel } = compileFile(file, { ranks: 4, dtype: "f32", mapping: PROOF_MAPPING });
      const { coverage, answer, ordering } = prove({ kernel }, { shared: sharedLayout(kernel!) });
      expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
      expect(coverage.ran).toBeGreaterThan(0.5 * coverage.total);
    });
  });
