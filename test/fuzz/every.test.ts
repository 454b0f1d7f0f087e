/** What is said to be proved for every length holds at lengths that nobody has looked at. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { compile } from "../../src/compiler/index.js";
import {
  everyLength,
  programOf,
  PROOF_MAPPING,
  proofShapes,
  proveAnswer,
  proveOrdering,
} from "../../src/compiler/prove/index.js";
import { requirementHolds } from "../../src/compiler/types/requirement.js";
import { cutPrograms } from "./cut-programs.js";
import { explicitPrograms } from "./explicit-programs.js";
import { explore } from "./explore.js";

const programs = fc.oneof(
  { weight: 1, arbitrary: explicitPrograms() },
  { weight: 4, arbitrary: cutPrograms().map((p) => ({ ...p, dtype: "f32" as const })) },
);

test("programs that hold for every length hold at random ones", { timeout: 3_600_000 }, async () => {
  let tried = 0;
  await explore({
    share: 0.2,
    runs: 60,
    least: 20,
    // An input is proved at a dozen shapes and more, and at eight lengths; a program of nested sums with powers took 5.4 s so.
    most: 15,
    inputs: fc.tuple(programs, fc.array(fc.nat(900), { minLength: 8, maxLength: 8 })),
    show: ([p]) => `${p.ranks} ranks, ${p.dtype}\n${p.text}`,
    check: ([{ text, ranks, dtype }, lengths]) => {
      const { kernel, snapshots } = compile(text, { ranks, dtype, mapping: PROOF_MAPPING });
      if (kernel === null) return Promise.resolve();
      const shapes = proofShapes(kernel, "answer", programOf(snapshots));
      if (shapes.some((dims) => proveAnswer(kernel, { dims }).status !== "proved")) return Promise.resolve();
      const { answer, ordering } = everyLength(kernel, shapes);
      if (!ordering.holds) return Promise.resolve();
      for (const n of lengths) {
        const dims = Object.fromEntries(kernel.dims.map((d, i) => [d, i === 0 ? n : n % 7]));
        if (!kernel.requirements.every((r) => requirementHolds(r, dims))) continue;
        tried++;
        expect(proveOrdering(kernel, { dims }).status, `ordering at ${JSON.stringify(dims)}`).toBe("proved");
        if (answer.holds)
          expect(proveAnswer(kernel, { dims }).status, `answer at ${JSON.stringify(dims)}`).toBe("proved");
      }
      return Promise.resolve();
    },
  });
  // Nearly half of them do, so that one in twenty is no question of luck.
  expect(tried).toBeGreaterThan(0);
});
