/** Whatever derive-sync makes of programs at random, the proof of the device level finds it ordered. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import { PROOF_MAPPING, proofShapes, proveOrdering } from "../../src/compiler/prove/index.js";
import { randomProgram } from "./random-program.js";

/** Programs of each kind. Set RANDOM_PROGRAMS for more. */
const COUNT = Number(process.env["RANDOM_PROGRAMS"] ?? 15);

describe.each([
  ["with places known", false],
  ["with places read from a tensor", true],
])("programs at random, %s", (_, readsPlaces) => {
  it("are ordered, launch after launch", { timeout: 20_000 * COUNT }, () => {
    for (let seed = 1; seed <= COUNT; seed++) {
      const text = randomProgram(seed, { readsPlaces });
      const ranks = 2 + (seed % 4);
      const { kernel, snapshots } = compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING });
      const about = `seed ${seed}, ${ranks} ranks:\n${text}`;
      expect(kernel, about).not.toBeNull();
      expect(verifySync(snapshots.find((s) => s.pass === "derive-sync")!.kernel), about).toEqual([]);
      for (const dims of proofShapes(kernel!, "ordering").slice(0, 2)) {
        const answer = proveOrdering(kernel!, { dims, shared: sharedLayout(kernel!), launches: 4 });
        expect(answer.status === "wrong" ? answer.message : answer.status, about).toBe("proved");
      }
    }
  });
});
