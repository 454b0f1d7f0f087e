/** Whom ranks wait for, as described at small worlds, is what derive-sync gives at others; and ranks are as alike as is said. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile, scheduleProgram } from "../../src/compiler/index.js";
import { trafficOfRank } from "../../src/compiler/explain/traffic.js";
import type { Op } from "../../src/compiler/ir/module.js";
import { RankPairs } from "../../src/compiler/ir/rank-pairs.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { placesOf, scheduleOf } from "../../src/compiler/simulate/index.js";
import { UsageError } from "../../src/errors.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { DGX, scheduleFor } from "./support.js";

function kernelAt(file: string, ranks: number, stopAfter: string, mesh?: Record<string, number>) {
  const text = readFileSync(join(packageRoot(), file), "utf8");
  const options = { file, ranks, dtype: "f32", resolve: importsFromDisk, stopAfter, ...(mesh && { mesh }) } as const;
  const { diagnostics, snapshots } = compile(text, options);
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return snapshots.at(-1)!.kernel;
}

/** Programs with their meshes at 8 and 16 ranks, from which 32 follow. */
const PROGRAMS: readonly (readonly [file: string, hasMesh: boolean])[] = [
  ["kernels/all_reduce/one_shot.coll", false],
  ["kernels/all_reduce/two_shot.coll", false],
  ["kernels/all_reduce/recursive_doubling.coll", false],
  ["kernels/all_reduce/hierarchical.coll", true],
  ["kernels/all_gather/push.coll", false],
  ["kernels/all_gather/bruck.coll", false],
  ["kernels/reduce_scatter/pull.coll", false],
  ["kernels/reduce_scatter/push.coll", false],
  ["kernels/broadcast/flat.coll", false],
  ["kernels/broadcast/scatter_gather.coll", false],
  ["kernels/all_to_all/push.coll", false],
  ["kernels/all_reduce/rails.coll", true],
  ["kernels/all_gather/hierarchical.coll", true],
  ["kernels/reduce_scatter/hierarchical.coll", true],
  ["kernels/all_to_all/hierarchical.coll", true],
  ["kernels/broadcast/hierarchical.coll", true],
];

describe("waiting at 32 ranks, from 8 and 16", () => {
  test.each(PROGRAMS)("%s: for nobody less than derive-sync finds there", (file, hasMesh) => {
    const mesh = (domains: number, world: number) => (hasMesh ? { node: domains, gpu: world / domains } : undefined);
    const ordered = kernelAt(file, 32, "derive-sync", mesh(4, 32));
    const small = [kernelAt(file, 8, "derive-sync", mesh(2, 8)), kernelAt(file, 16, "derive-sync", mesh(4, 16))];
    const unordered = kernelAt(file, 32, "engine-copies", mesh(4, 32));
    const schedule = scheduleOf(unordered, small, { ranksPerDomain: 8 });
    const itself = scheduleOf(unordered, [ordered], { ranksPerDomain: 8 });
    expect(schedule.ranks[0]!.length).toBe(itself.ranks[0]!.length);
    schedule.ranks.forEach((phases, rank) =>
      phases.forEach(({ awaits }, i) => {
        const needed = itself.ranks[rank % itself.period]![i]!.awaits;
        expect(new Set(awaits), `rank ${rank}, phase ${i}`).toEqual(new Set(needed));
      }),
    );
  });

  test("every place of the library's has a description", () => {
    for (const [file, hasMesh] of PROGRAMS) {
      const places = placesOf(kernelAt(file, 16, "derive-sync", hasMesh ? { node: 4, gpu: 4 } : undefined));
      expect(places.size).toBeGreaterThan(0);
      for (const place of places.values()) expect(place.isAll, file).toBe(false);
    }
  });

  test("what is described is what the barriers say", () => {
    const ordered = kernelAt("kernels/all_reduce/ring.coll", 8, "derive-sync");
    expect(JSON.stringify(ordered.body)).toContain('"+1"');
    const schedule = scheduleFor("kernels/all_reduce/ring.coll", 8);
    const previous = RankPairs.parse("+1", 8)!;
    const phases = schedule.ranks[0]!;
    phases.slice(1).forEach(({ awaits }, i) => {
      const isSent = phases[i]!.stores.ranks.length > 0;
      expect(
        [...awaits].map((p) => previous.has(p, 0)),
        `phase ${i + 1}`,
      ).toEqual(isSent ? [true] : []);
    });
    expect(phases.filter((p) => p.awaits.length === 1).length).toBe(2 * 7);
  });
});

describe("4,096 ranks", () => {
  const WORLD = 4096;

  test.each([
    ["kernels/all_reduce/two_shot.coll", 1, 3],
    ["kernels/all_reduce/ring.coll", 1, 2 * WORLD],
    ["kernels/all_gather/bruck.coll", 1, 14],
    ["kernels/all_to_all/push.coll", 1, 3],
    ["kernels/all_reduce/rails.coll", 8, 5],
  ])("%s is compiled and counted: ranks repeat after %i, in %i phases", (file, period, phases) => {
    const schedule = scheduleFor(file, WORLD, DGX);
    expect([schedule.world, schedule.period, schedule.ranks[0]!.length]).toEqual([WORLD, period, phases]);
    expect(schedule.derivedAt).toEqual([8, 16]);
    // A ring sends each byte of the sum on but one hop; all others send what the operation needs.
    const sent = schedule.ranks[0]!.flatMap((p) => [...p.stores.bytes]).reduce((a, b) => a + b, 0);
    const shares: Record<string, number> = { ring: 2, two_shot: 1, bruck: 0, push: 1, rails: (512 - 1) / 512 / 8 + 7 / 8 }; // prettier-ignore
    const share = shares[file.split("/").at(-1)!.replace(".coll", "")]!;
    expect(sent / schedule.bytes).toBeCloseTo(share * ((WORLD - 1) / WORLD), 3);
  });

  test("partners twice as far away in each round are alike by the bits of their numbers: one rank is counted for all", () => {
    const schedule = scheduleFor("kernels/all_reduce/recursive_doubling.coll", WORLD, DGX);
    expect([schedule.period, schedule.likeness]).toEqual([1, "flip"]);
    expect(schedule.counted).toBeLessThan(16);
    const partners = schedule.ranks[0]!.flatMap((p) => [...p.loads.ranks]);
    expect(partners).toEqual(Array.from({ length: 12 }, (_, s) => 2 ** s));
  });

  test("a tree has no two ranks alike, and all are counted", () => {
    const schedule = scheduleFor("kernels/all_reduce/tree.coll", 512, DGX);
    expect([schedule.period, schedule.counted]).toEqual([512, 512]);
  });
});

describe("what data decides about", () => {
  const loaded = (then: string, otherwise = ""): number => {
    const text = `collective embed(ids: i32[n] replicated, table: T[n] sharded(0)) -> y: T[n] replicated where ids in 0..n where n % world == 0 {
      scratch part: T[n]
      for i in tiles(n) {
        if index(ids[i]) / (n / world) == rank { ${then} } else { ${otherwise} }
      }
      for i in tiles(n) { y[i] = sum(p in ranks) part@p[i] }
    }`;
    const { schedule, compiled } = scheduleProgram(text, { ranks: 4, dtype: "f32", cluster: DGX });
    expect(compiled.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    return schedule!.ranks[0]![0]!.ownLoaded;
  };
  const [little, much] = ["part[i] = 0", "part[i] = table[index(ids[i]) % (n / world)] + 1"];

  test("is counted as the side that moves more, where it stays in a rank's own memory", () => {
    const most = loaded(much, little);
    expect(most).toBeGreaterThan(loaded(little, little));
    expect([loaded(little, much), loaded(much, much)]).toEqual([most, most]);
  });

  test("is not followed where it reaches others", () => {
    expect(() => loaded(much.replace("table[", "table@((rank + 1) % world)["))).toThrow("depends on its data");
  });
});

const rounds = (count: string): ReturnType<typeof scheduleProgram> =>
  scheduleProgram(
    `collective f(x: T[n] local) -> y: T[n] local {
  scratch s: T[n]
  for t in 0..${count} {
    for i in tiles(n) { s[i] = x[i] + x[t] }
    barrier
    for i in tiles(n) { y[i] = s@((rank + 1) % world)[i] }
    barrier
  }
}`,
    { ranks: 4, dtype: "f32", cluster: DGX },
  );

test("a barrier that is written at the end of a loop is one in each iteration", () => {
  const phases = (count: number): number => rounds(String(count)).schedule!.ranks[0]!.length;
  expect(phases(5) - phases(3)).toBe(2 * (phases(4) - phases(3)));
  expect(phases(4) - phases(3)).toBeGreaterThanOrEqual(2);
  const [rank] = rounds("3").schedule!.ranks;
  expect(rank!.slice(1).every(({ awaits }) => awaits.length === 3)).toBe(true);
});

describe("what cannot be followed says so", () => {
  test("a loop whose length is a tensor's", () => {
    expect(() => rounds("n")).toThrow("how often ranks go through a loop depends on a length");
  });

  test.each([
    ["kernels/all_to_all/dispatch.coll", "how much the program moves depends on its data"],
    ["kernels/all_to_all/dispatch_rails.coll", "how much the program moves depends on its data"],
    ["kernels/matmul/all_reduce.coll", "multiplies matrices"],
    ["kernels/permute/send.coll", "signals and waits of its own"],
  ])("%s", (file, message) => {
    expect(() => scheduleFor(file, 8)).toThrow(message);
  });

  test("more points of synchronisation than are followed", () => {
    const kernel = kernelAt("kernels/all_reduce/ring.coll", 8, "engine-copies");
    const every = new Set<Op>();
    walkKernel(kernel, (op) => void every.add(op));
    const count = (): unknown => trafficOfRank(kernel, 0, { n: 2 ** 20 }, every);
    expect(count).toThrow(UsageError);
    expect(count).toThrow("more than 10000 points of synchronisation");
  });
});
