/** More domains than are followed one by one while synchronisation is looked for, and times are foretold: see `sampleDomains`. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { sampleDomains } from "../../src/compiler/machine/reach.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { compiledFor, dimsFor } from "./programs.js";

const HOSTS = { hosts: 6, gpus: 2 };

it("are followed in part", () => {
  expect(sampleDomains(HOSTS.hosts)).toEqual([0, 1, 5]);
  expect(sampleDomains(4)).toEqual([0, 1, 2, 3]);
});

describe("derive-sync", () => {
  it.each(["all_gather/hierarchical", "all_reduce/rails", "all_to_all/push", "broadcast/tree", "reduce_scatter/ring"])(
    "orders %s in every domain",
    (file) => {
      const result = compiledFor(file, HOSTS);
      expect(verifySync(result.snapshots.find(({ pass }) => pass === "derive-sync")!.kernel)).toEqual([]);
      const [dims, world] = [dimsFor(result), HOSTS.hosts * HOSTS.gpus];
      const data = makeInputs(result.manifest!, dims, 5);
      expect(data.length).toBe(world);
      new CpuGroup(result.kernel!, result.manifest!, { detectUnwritten: true }).run(data, dims);
      expect(checkOutputs(result.manifest!, dims, data, data)).toMatchObject({ correct: true, unspecified: [] });
    },
  );

  it("follows a domain for itself that needs what those that stand for it do not", () => {
    const text = `
collective odd(x: T[n] local) -> y: T[n] local {
  scratch box: T[n]
  for i in tiles(n) { box[i] = x[i] }
  if rank == 6 { for i in tiles(n) { box@7[i] = x[i] } }
  for i in tiles(n) { y[i] = box[i] }
}`;
    const reach = { ranksPerDomain: HOSTS.gpus };
    const { snapshots, diagnostics } = compile(text, { ranks: 12, dtype: "f32", reach });
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const ordered = snapshots.find(({ pass }) => pass === "derive-sync")!.kernel;
    expect(verifySync(ordered)).toEqual([]);
    const pairs = [...printKernel(ordered).matchAll(/ranks="([^"]*)"/g)].map(([, ranks]) => ranks);
    expect(pairs.length).toBeGreaterThan(0);
    for (const ranks of pairs) expect(ranks).toMatch(/^(6>7|7>6)(,(6>7|7>6))*$/);
  });
});

it("follows loops over all ranks rank by rank, however many there are", () => {
  const barriers = (hosts: number): number => {
    const { snapshots } = compiledFor("all_gather/hierarchical", { hosts, gpus: 2 });
    const ordered = snapshots.find(({ pass }) => pass === "derive-sync")!.kernel;
    return [...printKernel(ordered).matchAll(/barrier/g)].length;
  };
  // Of loops that are taken as a whole nothing is known of a rank's own part, and each iteration is put behind a barrier.
  expect(barriers(33)).toBe(barriers(5));
});

it("warns of products that no tensor core takes", () => {
  const result = compiledFor("matmul/reduce_scatter", { hosts: 2, gpus: 2 }, { dtype: "i8" });
  expect(result.diagnostics.map(({ code }) => code)).toEqual(["scalar-product"]);
});
