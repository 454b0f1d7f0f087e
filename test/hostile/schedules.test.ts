/** Hostile schedules: what is right survives them, what is wrong does not, and a failing seed does the same again. */
import type { DType } from "../../src/compiler/index.js";
import { describe, expect, it } from "vitest";
import { fitDims } from "../../src/compiler/types/requirement.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { PROOF_MAPPING, proveOrdering } from "../../src/compiler/prove/index.js";
import { type HostileReport, runHostile } from "../../src/runtime/cpu/index.js";
import { manifestFor } from "../cpu/kernels.js";
import { allows, compileFile, LIBRARY } from "../kernels/library.js";
import { CORPUS, loadEntry } from "../prove/corpus.js";
import { mutantsOf } from "../prove/mutants.js";
import { isAll } from "../scope.js";

function attack(kernel: Kernel, schedules = 16, seed = 0, dims = {}): HostileReport {
  return runHostile(kernel, manifestFor(kernel), { dims, schedules, seed });
}

/** Small, and enough for every block to have something. */
function dimsOf(kernel: Kernel): Record<string, number> {
  const scale = kernel.dims.length > 1 ? 7 : 75;
  const dims = Object.fromEntries(kernel.dims.map((d, i) => [d, kernel.world * (scale + 2 * i)]));
  return fitDims(kernel.requirements, dims, new Set(kernel.dims));
}

/** Products of 16 bits go by roles. */
const dtypesOf = ({ name }: { name: string }): readonly DType[] =>
  name.startsWith("matmul") ? ["f32", "bf16"] : ["f32"];

describe("the library survives", () => {
  for (const file of LIBRARY.filter((_, i) => isAll || i % 3 === 0))
    it(file.name, () => {
      for (const ranks of isAll ? [2, 3] : [3]) {
        if (!allows(file, ranks)) continue;
        for (const dtype of dtypesOf(file)) {
          const { kernel, manifest, source } = compileFile(file, { ranks, dtype, mapping: PROOF_MAPPING });
          const report = runHostile(kernel!, manifest!, { dims: dimsOf(kernel!), schedules: 8, seed: 0, source });
          expect(report.failure).toBeNull();
          expect(report.schedules).toBe(8);
        }
      }
    });
});

/** What a schedule cannot see: it runs one decision of the data, or the flag's last value suffices. */
const UNSEEN = new Set(["data-decides.ir", "flag-set-back.ir"]);

describe("the corpus", () => {
  for (const file of CORPUS.filter((f) => f.endsWith(".ir") && !UNSEEN.has(f))) {
    const { kernel, about } = loadEntry(file);
    if (about.startsWith("Right: ")) it(`${file} survives`, () => expect(attack(kernel).failure).toBeNull());
    else
      it(`${file} is caught, and again with its seed`, () => {
        const { failure } = attack(kernel);
        expect(failure?.kind).toMatch(/^(race|deadlock|unwritten)$/);
        expect(failure!.timeline.length).toBeGreaterThan(3);
        expect(attack(kernel, 1, failure!.seed).failure).toEqual(failure);
      });
  }
});

describe("schedules and proofs agree", () => {
  for (const name of [
    "all_reduce/two_shot",
    "all_reduce/ring",
    "all_gather/push",
    "matmul/reduce_scatter",
    "matmul/all_gather",
  ])
    it(`on the mutants of ${name}`, () => {
      const file = LIBRARY.find((f) => f.name === name)!;
      const dtype = dtypesOf(file).at(-1)!;
      const { kernel } = compileFile(file, { ranks: 2, dtype, mapping: PROOF_MAPPING });
      const dims = dimsOf(kernel!);
      let [refuted, caught] = [0, 0];
      const missed: string[] = [];
      for (const mutant of mutantsOf(kernel!)) {
        if (mutant.kernel === null) continue;
        const shared = sharedLayout(kernel!);
        const isOrdered = proveOrdering(mutant.kernel, { dims, shared, launches: 3 }).status === "proved";
        const { failure } = attack(mutant.kernel, 8, 0, dims);
        // What is proved survives every schedule.
        if (isOrdered && failure?.kind !== "answer") expect(failure, mutant.name).toBeNull();
        if (isOrdered) continue;
        refuted++;
        if (failure === null) missed.push(mutant.name);
        else caught++;
      }
      // Schedules find most of what is wrong, and never all: that is what proofs are for.
      expect(refuted).toBeGreaterThan(0);
      expect(caught, `missed: ${missed.join(", ")}`).toBeGreaterThan(0.7 * refuted);
    });
});
