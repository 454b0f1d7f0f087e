/** Every kernel of the library is proved right and ordered for worlds 1 to 8, without one "unknown". */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { LIBRARY } from "../kernels/library.js";

for (const file of LIBRARY)
  describe(file.name, () => {
    for (const ranks of [1, 2, 3, 4, 5, 6, 7, 8])
      it(`is proved for ${ranks} ranks`, () => {
        const { kernel } = compile(file.text, {
          file: file.path,
          ranks,
          dtype: "bf16",
          mapping: PROOF_MAPPING,
        });
        const claims = prove({ kernel }, { shared: sharedLayout(kernel!), misaligned: ranks <= 4 });
        expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
      });
    it("takes nearly all of its paths", () => {
      const { kernel } = compile(file.text, { file: file.path, ranks: 3, dtype: "f32", mapping: PROOF_MAPPING });
      const { coverage, answer, ordering } = prove({ kernel }, { shared: sharedLayout(kernel!) });
      expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
      expect(coverage.ran).toBeGreaterThan(0.5 * coverage.total);
    });
  });
