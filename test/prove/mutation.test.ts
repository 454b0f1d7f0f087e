/**
 * Mutation test: each synchronising op of each library kernel is dropped or weakened in turn, and the prover must
 * reject every mutant that behaves differently. The survivors are listed, each with why it is harmless.
 */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import type { PassOptions } from "../../src/compiler/passes/options.js";
import { proofShapes, PROOF_MAPPING, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import { SAMPLE_NAMES } from "../../src/compiler/prove/inputs.js";
import { steeringOf } from "../../src/compiler/execute/steering.js";
import { isAll } from "../scope.js";
import { allows, compileFile, LIBRARY, type LibraryFile } from "../kernels/library.js";
import { barrierMutantsOf } from "./barrier-mutants.js";
import { type Mutant, mutantsOf } from "./mutants.js";
import { excuseOf } from "./survivors.js";

interface Score {
  readonly killed: number;
  readonly survivors: readonly { readonly mutant: Mutant; readonly excuse: string | null }[];
}

function scoreOf(
  file: LibraryFile,
  ranks: number,
  { name = file.name, ...mapping }: Partial<PassOptions> & { name?: string } = {},
): Score {
  const { kernel, snapshots } = compileFile(file, { ranks, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } });
  const meeting = snapshots.find((s) => s.pass === "interleave")!.kernel;
  const isRejected = rejects(kernel!);
  let killed = 0;
  const survivors: Score["survivors"][number][] = [];
  for (const mutant of [...mutantsOf(kernel!), ...barrierMutantsOf(meeting)])
    if (mutant.kernel === null || isRejected(mutant.kernel)) killed++;
    else survivors.push({ mutant, excuse: excuseOf(name, mutant) });
  return { killed, survivors };
}

/** Whether the prover does not accept a mutant of this kernel. */
function rejects(kernel: Kernel): (mutant: Kernel) => boolean {
  const shapes = proofShapes(kernel);
  const shared = sharedLayout(kernel);
  const samples = steeringOf(kernel).inputs.size > 0 ? SAMPLE_NAMES.map((_, sample) => sample) : [0];
  const settings = [
    ...shapes.flatMap((dims) => samples.map((sample) => ({ dims, sample, shared }))),
    { dims: shapes[1] ?? shapes[0]!, sample: 0, shared, unevenGrids: true },
  ];
  return (mutant) =>
    [proveOrdering, proveAnswer].some((prove) => settings.some((s) => prove(mutant, s).status !== "proved"));
}

/**
 * With two ranks a ring has no neighbour that is not both neighbours; three are the fewest that show all. Trees and meshes
 * of three ranks are rings again, and powers of two ask for four.
 */
const ranksFor = (file: LibraryFile): number => (allows(file, 3) && !/log2|mesh/.test(file.text) ? 3 : 4);

const report: string[] = [];
let [rejected, total] = [0, 0];

describe("mutants of the library", () => {
  const library = LIBRARY.filter((_, i) => isAll || i % 4 === 0).map((file) => ({
    file,
    name: file.name,
    // With two blocks three products have no fewer tiles, so that no depth is cut, and each block has tiles of the first; with seven, no
    // block begins with a later part of the third.
    mapping: file.name === "matmul/all_gather_qkv" ? { tileBlocks: 9 } : {},
  }));
  // What machines without instructions for roles get.
  const staged = LIBRARY.filter(({ name }) => name === "matmul/all_gather").map((file) => ({
    file,
    name: `${file.name} by stages`,
    mapping: { roles: null },
  }));
  for (const { file, name, mapping } of [...library, ...staged])
    it(`${name}: rejected, or harmless for a reason`, () => {
      const { killed, survivors } = scoreOf(file, ranksFor(file), { name, ...mapping });
      rejected += killed;
      total += killed + survivors.length;
      report.push(`${name}, ${ranksFor(file)} ranks: ${killed} of ${killed + survivors.length} rejected`);
      for (const s of survivors) report.push(`  survives: ${s.mutant.name}: ${s.excuse ?? "UNEXPLAINED"}`);
      expect(survivors.filter((s) => s.excuse === null).map((s) => s.mutant.name)).toEqual([]);
    });

  it("prints its score", () => {
    const text = [...report, `${rejected} of ${total} mutants rejected, ${total - rejected} explained`].join("\n");
    console.log(text);
    // A record, which may be behind; what must hold is expected here.
    if (process.env["UPDATE_GOLDENS"] === "1") writeFileSync("test/prove/mutation-score.txt", `${text}\n`);
    expect(rejected).toBeGreaterThan(0.95 * total);
  });
});
