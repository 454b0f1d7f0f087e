/**
 * Mutation test: each synchronising op of each library kernel is dropped or weakened in turn, and the prover must
 * reject every mutant that behaves differently. The survivors are listed, each with why it is harmless.
 */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { proofShapes, PROOF_MAPPING, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import { compileFile, LIBRARY, type LibraryFile } from "../kernels/library.js";
import { type Mutant, mutantsOf } from "./mutants.js";
import { excuseOf } from "./survivors.js";

interface Score {
  readonly killed: number;
  readonly survivors: readonly { readonly mutant: Mutant; readonly excuse: string | null }[];
}

function scoreOf(file: LibraryFile, ranks: number): Score {
  const { kernel } = compileFile(file, { ranks, dtype: "bf16", mapping: PROOF_MAPPING });
  const shapes = proofShapes(kernel!);
  const shared = sharedLayout(kernel!);
  let killed = 0;
  const survivors: Score["survivors"][number][] = [];
  for (const mutant of mutantsOf(kernel!)) {
    const isRejected = shapes.some((dims) =>
      [proveOrdering, proveAnswer].some((prove) => prove(mutant.kernel, { dims, shared }).status !== "proved"),
    );
    if (isRejected) killed++;
    else survivors.push({ mutant, excuse: excuseOf(file.name, mutant) });
  }
  return { killed, survivors };
}

/** With two ranks a ring has no neighbour that is not both neighbours; three are the fewest that show all. */
const RANKS = 3;
const report: string[] = [];
let [rejected, total] = [0, 0];

/** Those whose survivors have been read and explained. */
const READ =
  /^(all_reduce\/(one_shot|two_shot|ring)|all_gather\/p|all_to_all\/push|broadcast\/flat|reduce_scatter\/pull|matmul\/)/;

describe("mutants of the library", () => {
  for (const file of LIBRARY.filter((f) => READ.test(f.name)))
    it(`${file.name}: rejected, or harmless for a reason`, { timeout: 120_000 }, () => {
      const { killed, survivors } = scoreOf(file, RANKS);
      rejected += killed;
      total += killed + survivors.length;
      report.push(`${file.name}: ${killed} of ${killed + survivors.length} rejected`);
      for (const s of survivors) report.push(`  survives: ${s.mutant.name}: ${s.excuse ?? "UNEXPLAINED"}`);
      expect(survivors.filter((s) => s.excuse === null).map((s) => s.mutant.name)).toEqual([]);
    });

  it("prints its score", () => {
    console.log([...report, `${rejected} of ${total} mutants rejected, ${total - rejected} explained`].join("\n"));
    expect(rejected).toBeGreaterThan(0.8 * total);
  });
});
