/**
 * Programs that mix tensor expressions and loops: what they compute, on 1 to 4 emulated ranks, is what their clauses or
 * expressions say; where nothing says it, it does not depend on the schedule. The prover calls none of them wrong.
 */
import { expect, test } from "vitest";
import { explore } from "./explore.js";
import { mixedPrograms } from "./mixed-programs.js";
import {
  compileEach,
  expectFormats,
  expectKernelsPrint,
  expectNothingWrong,
  expectRunsAgree,
  expectTreePrints,
} from "./properties.js";

/** How many programs there were, and of which kinds: else the generator may come to make simple ones alone. */
const counts = { made: 0, accepted: 0, ensured: 0, intoLoop: 0, intoExpression: 0, proofs: 0, proved: 0 };

test("bodies that mix loops and tensor expressions compute what they say", { timeout: 3_600_000 }, async () => {
  await explore({
    share: 0.35,
    runs: 150,
    least: 20,
    inputs: mixedPrograms(),
    show: (p) => `${p.ranks} ranks, ${p.dtype}, ${p.also}\n${p.text}`,
    check: async ({ text, ranks, dtype, shapes, isEnsured, crossed, also }) => {
      counts.made++;
      const [compiled] = compileEach(text, ranks, dtype);
      expect(compiled?.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
      counts.accepted++;
      if (isEnsured) counts.ensured++;
      if (crossed.intoLoop) counts.intoLoop++;
      if (crossed.intoExpression) counts.intoExpression++;
      expectRunsAgree(compiled!, shapes, 1);
      if (also === "kernels") expectKernelsPrint(compiled!);
      if (also === "proof") {
        const { answer, ordering } = expectNothingWrong(text, ranks, dtype, [shapes[0]!]);
        counts.proofs++;
        if (answer.status === "proved" && ordering.status === "proved") counts.proved++;
      }
      expectTreePrints(text);
      await expectFormats(text, 100);
    },
  });
  console.log(`mixed bodies: ${JSON.stringify(counts)}`);
  // The generator knows the rules: what is refused is its mistake or the checker's, and has failed above.
  expect(counts.accepted).toBe(counts.made);
  // About 0.6, 0.5 and 0.17 of them are; of few, chance makes it fewer.
  expect(counts.ensured).toBeGreaterThan(counts.made / 3 - 4);
  expect(counts.intoLoop).toBeGreaterThan(counts.made / 4 - 4);
  expect(counts.intoExpression).toBeGreaterThan(counts.made / 20 - 4);
  expect(counts.proved).toBeGreaterThan(counts.proofs / 2 - 1);
});
