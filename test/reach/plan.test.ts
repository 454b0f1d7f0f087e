/** Programs of one name on pretended hosts: which of the library's ways the plan takes, and what crosses. */
import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { execute } from "../../src/bench/execute.js";
import { candidateOf } from "../../src/compiler/compiled.js";
import { compile, type CompileResult, explain } from "../../src/compiler/index.js";
import { messageFloor } from "../../src/compiler/program/message-floor.js";
import { secondsOf } from "../../src/compiler/program/plan.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { isAll } from "../scope.js";
import { compiledFor, dimsFor, type Hosts } from "./programs.js";

const compiled = new Map<string, CompileResult>();
function program(file: string, hosts: Hosts): CompileResult {
  const key = `${file} ${hosts.hosts}x${hosts.gpus}`;
  const found = compiled.get(key) ?? compiledFor(file, hosts, { library: libraryFromDisk });
  compiled.set(key, found);
  return found;
}

it("all_reduce of long tensors reduces inside hosts first, and only then across", async () => {
  const hosts = { hosts: 2, gpus: 4 };
  const result = program("all_reduce", hosts);
  const dims = { n: 2 ** 20 };
  const { plan, messages, syncs } = explain(result, dims, result.machine);
  expect(plan!.chosen).toBe("all_reduce/hierarchical");
  expect(result.manifest!.mesh).toEqual([]);
  // A quarter of the tensor, in f32, from each rank to its counterpart: one message a rank.
  expect(messages).toEqual([
    {
      ...{ from: ["all_reduce_hierarchical/own_outbox"], messages: 8, bytes: 8 * 2 ** 20 },
      ...{ most: { rank: 0, messages: 1, bytes: 2 ** 20 }, broadcasts: [] },
    },
  ]);
  for (const { ranks } of syncs) expect(ranks).not.toBe("all");
  const group = new EmulatedGroup(8, { detectUnwritten: true });
  const done = await execute(group, result, dimsFor(result), { seed: 2, timing: { outer: 1 } });
  expect([done.check.correct, done.bitwiseEqualAcrossRanks]).toEqual([true, true]);
  await group.close();
});

/** What one rank sends to each other host, in bytes, where the tensor has so many elements of bf16. */
const ACROSS: readonly (readonly [
  op: string,
  way: string,
  hosts: Hosts,
  dims: Record<string, number>,
  bytes: number,
])[] = [
  // Its shard.
  ["all_gather", "hierarchical", { hosts: 2, gpus: 4 }, { n: 2 ** 20 }, 2 ** 18],
  ["all_gather", "hierarchical", { hosts: 4, gpus: 2 }, { n: 2 ** 22 }, 2 ** 20],
  // A sum of its host's for one rank, in f32.
  ["reduce_scatter", "hierarchical", { hosts: 2, gpus: 4 }, { n: 2 ** 20 }, 2 ** 19],
  // What its host's ranks have for those of the other, a fourth of it over each adapter.
  ["all_to_all", "hierarchical", { hosts: 2, gpus: 4 }, { m: 128, n: 64 }, 2 ** 10],
  ["all_to_all", "hierarchical", { hosts: 4, gpus: 2 }, { m: 64, n: 128 }, 2 ** 9],
  // The root's host's part.
  ["broadcast", "hierarchical", { hosts: 2, gpus: 4 }, { n: 2 ** 20 }, 2 ** 19],
];

it.each(ACROSS.filter(([, , { hosts }], i) => isAll || (hosts === 2 && i % 2 === 0)))(
  "%s is done by %s on %o where n, or m and n, are %o",
  async (op, way, hosts, dims, bytes) => {
    const result = program(op, hosts);
    const { plan, messages } = explain(result, dims, result.machine);
    expect(plan!.chosen).toBe(`${op}/${way}`);
    const others = hosts.hosts - 1;
    // One message to the like of a rank on each other host, and nothing to any other rank.
    expect(messages.map(({ most }) => most)).toEqual([{ rank: 0, messages: others, bytes: others * bytes }]);
    const group = new EmulatedGroup(hosts.hosts * hosts.gpus, { detectUnwritten: true });
    const done = await execute(group, result, dimsFor(result), { seed: 2, timing: { outer: 1 } });
    expect(done.check.correct).toBe(true);
    await group.close();
  },
);

const ROUNDED = [
  ["all_reduce", "bf16", 2],
  ["all_reduce", "i8", 1],
  ["reduce_scatter", "f16", 2],
  ["all_reduce", "f32", 1],
] as const;

it.each(ROUNDED.slice(0, isAll ? ROUNDED.length : 2))(
  "%s of %s rounds partial sums where that is asked for, and sends %d times less",
  async (op, dtype, less) => {
    const hosts = { hosts: 2, gpus: 4 };
    const across = (roundPartialSums: boolean): { readonly result: CompileResult; readonly bytes: number } => {
      const result = compiledFor(op, hosts, { library: libraryFromDisk, dtype, roundPartialSums });
      const { plan, messages } = explain(result, { n: 2 ** 20 }, result.machine);
      expect(plan!.chosen).toBe(`${op}/hierarchical`);
      return { result, bytes: messages.reduce((sum, { bytes }) => sum + bytes, 0) };
    };
    const rounded = across(true);
    expect(across(false).bytes / rounded.bytes).toBe(less);
    const group = new EmulatedGroup(8, { detectUnwritten: true });
    const done = await execute(group, rounded.result, dimsFor(rounded.result), { seed: 2, timing: { outer: 1 } });
    expect(done.check.correct).toBe(true);
    expect(done.bitwiseEqualAcrossRanks).not.toBe(false);
    await group.close();
  },
);

it("long tensors go another way than short ones where that is faster", () => {
  const chosen = (op: string, hosts: Hosts, dims: Record<string, number>): string => {
    const result = program(op, hosts);
    return explain(result, dims, result.machine).plan!.chosen;
  };
  // One message a host saves time until what it takes in memory does not.
  expect(chosen("all_to_all", { hosts: 2, gpus: 4 }, { m: 8192, n: 8192 })).toBe("all_to_all/push");
  const fourHosts = { hosts: 4, gpus: 2 };
  expect(chosen("broadcast", fourHosts, { n: 2 ** 12 })).toBe("broadcast/hierarchical");
  // Its messages are broadcasts there: without them, what one rank sends three others is better dealt out (broadcasts.test.ts).
  expect(chosen("broadcast", fourHosts, { n: 2 ** 20 })).toBe("broadcast/rails");
  expect(chosen("broadcast", fourHosts, { n: 2 ** 26 })).toBe("broadcast/hierarchical");
  expect(chosen("all_reduce", fourHosts, { n: 2 ** 12 })).toBe("all_reduce/hierarchical");
  expect(chosen("all_reduce", fourHosts, { n: 2 ** 23 })).toBe("all_reduce/rails");
  expect(chosen("all_reduce", fourHosts, { n: 2 ** 26 })).toBe("all_reduce/rails_in_chunks");
});

it.each([
  ["broadcast", "on(0)"],
  ["all_reduce", "partial(sum)"],
])("%s in place is right in the ways for a mesh, too", async (name, from) => {
  const text = `collective f(x: T[n] ${from}) -> x: T[n] replicated {\n  x = ${name}(x)\n}\n`;
  const options = { ranks: 4, dtype: "bf16", library: libraryFromDisk, reach: { ranksPerDomain: 2 } } as const;
  const { ways } = compile(text, { ...options, resolve: importsFromDisk });
  expect(ways).toContain(`${name}/hierarchical`);
  for (const variant of ways.filter((way) => /hierarchical|rails/.test(way))) {
    const result = compile(text, { ...options, resolve: importsFromDisk, variant });
    const group = new EmulatedGroup(4, { detectUnwritten: true });
    const done = await execute(group, result, dimsFor(result), { seed: 3, timing: { outer: 1 } });
    expect([done.check.correct, done.bitwiseEqualAcrossRanks], variant).toEqual([true, true]);
    await group.close();
  }
});

it("a way that is made for a mesh is none where all ranks share addresses", () => {
  const names = (hosts: Hosts): readonly string[] => program("all_reduce", hosts).ways;
  expect(names({ hosts: 2, gpus: 2 })).toContain("all_reduce/hierarchical");
  expect(names({ hosts: 1, gpus: 4 })).not.toContain("all_reduce/hierarchical");
});

it("there are neither packets nor copy engines between hosts", () => {
  for (const name of program("all_gather", { hosts: 2, gpus: 2 }).ways) expect(name).not.toContain("+");
});

/** Ways that no plan finishes, because their messages alone take too long, are slower than what it takes. */
it.each([
  ["all_reduce", { hosts: 3, gpus: 2 }],
  ["all_gather", { hosts: 2, gpus: 2 }],
  ["broadcast", { hosts: 4, gpus: 1 }],
] as const)("%s on %o takes no way than which another is faster", (name, hosts) => {
  const result = program(name, hosts);
  const files = readdirSync(path.join(packageRoot(), "kernels", name)).map((file) => path.parse(file).name);
  const ways = files.flatMap((file) => {
    const compiled = compiledFor(`${name}/${file}`, hosts);
    if (compiled.kernel === null) return [];
    const sketch = compiled.snapshots.find(({ pass }) => pass === "engine-copies")!.kernel;
    return [{ file, candidate: candidateOf({ name: file, compiled }), floor: messageFloor(sketch)! }];
  });
  const { considered, machine } = result;
  if (name === "all_reduce") expect(considered.length).toBeLessThan(ways.length - 1);
  for (const n of [64, 2 ** 14, 2 ** 20, 2 ** 26]) {
    const taken = Math.min(...considered.map((v) => secondsOf(candidateOf(v), { n }, machine)));
    for (const { file, candidate, floor } of ways) {
      const seconds = secondsOf(candidate, { n }, machine);
      expect(floor({ n }), file).toBeLessThanOrEqual(seconds);
      // What rounds on the way is for those who ask for it.
      if (file !== "quantised") expect(taken, `${file} at ${n}`).toBeLessThanOrEqual(seconds * 1.001);
    }
  }
});
