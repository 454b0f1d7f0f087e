/** Programs of one name on pretended hosts: which of the library's ways the plan takes, and what crosses. */
import { expect, it } from "vitest";
import { execute } from "../../src/bench/execute.js";
import { explain } from "../../src/compiler/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { libraryFromDisk } from "../../src/runtime/imports.js";
import { compiledFor, dimsFor, type Hosts } from "./programs.js";

const program = (file: string, hosts: Hosts) => compiledFor(file, hosts, { library: libraryFromDisk });

it("all_reduce of long tensors reduces inside hosts first, and only then across", async () => {
  const hosts = { hosts: 2, gpus: 4 };
  const compiled = program("all_reduce", hosts);
  const dims = { n: 2 ** 24 };
  const { plan, messages, syncs } = explain(compiled, dims, compiled.machine);
  expect(plan!.chosen).toBe("all_reduce/hierarchical");
  expect(compiled.manifest!.mesh).toEqual([]);
  // A quarter of the tensor, in f32, from each rank to its counterpart: one message a rank.
  expect(messages).toEqual([
    {
      ...{ from: ["all_reduce_hierarchical/own_outbox"], messages: 8, bytes: 8 * 2 ** 24 },
      most: { rank: 0, messages: 1, bytes: 2 ** 24 },
    },
  ]);
  for (const { ranks } of syncs) expect(ranks).not.toBe("all");
  const group = new EmulatedGroup(8, { detectUnwritten: true });
  const done = await execute(group, compiled, dimsFor(compiled), { seed: 2, timing: { outer: 1 } });
  expect([done.check.correct, done.bitwiseEqualAcrossRanks]).toEqual([true, true]);
  await group.close();
});

it("a way that is made for a mesh is none where all ranks share addresses", () => {
  const names = (hosts: Hosts): readonly string[] => program("all_reduce", hosts).ways;
  expect(names({ hosts: 2, gpus: 2 })).toContain("all_reduce/hierarchical");
  expect(names({ hosts: 1, gpus: 4 })).not.toContain("all_reduce/hierarchical");
});

it("there are neither packets nor copy engines between hosts", () => {
  for (const name of program("all_gather", { hosts: 2, gpus: 2 }).ways) expect(name).not.toContain("+");
});
