/**
 * Uneven splits that only the launch knows. What `dispatch` and `combine` leave in y is beyond their signatures, because
 * rows that nobody sends are not touched; so it is compared here with rows that are moved one by one, and on the way back
 * with what set out.
 */
import { describe, expect, it } from "vitest";
import type { CompileResult, DType } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { movedRows, rowsGoAndReturn } from "../gpu/uneven.mjs";
import { compiledFor, type Hosts } from "../reach/programs.js";
import { compileFile, LIBRARY } from "./library.js";

const UNTOUCHED = -1;

function programOf(name: "dispatch" | "combine", world: number, dtype: DType): CompileResult {
  return compileFile(
    LIBRARY.find((file) => file.name === `all_to_all/${name}`)!,
    { ranks: world, dtype },
  );
}

function groupOf(name: "dispatch" | "combine", world: number): CpuGroup {
  const { kernel, manifest, source } = programOf(name, world, "i32");
  return new CpuGroup(kernel!, manifest!, { source, seed: world });
}

/** How many rows each rank sends to each, every one at most m / world. */
const SPLITS: Readonly<Record<string, (from: number, to: number, most: number) => number>> = {
  nothing: () => 0,
  everything: (_from, _to, most) => most,
  "all to one rank": (_from, to, most) => (to === 0 ? most : 0),
  "one rank alone": (from, _to, most) => (from === 0 ? most : 0),
  uneven: (from, to, most) => (from * 5 + to * 3 + 1) % (most + 1),
};

describe.each([1, 2, 3, 4, 8])("on %i ranks", (world) => {
  const most = 7;
  const [m, n] = [most * world, 5];
  it.each(Object.keys(SPLITS))("%s", (name) => {
    const counts = Array.from({ length: world }, (_, from) =>
      Int32Array.from({ length: world }, (__, to) => SPLITS[name]!(from, to, most)),
    );
    const x = Array.from({ length: world }, (_, rank) =>
      Int32Array.from({ length: m * n }, (__, i) => rank * m * n + i),
    );
    const expected = movedRows({ counts, x, n, untouched: UNTOUCHED });

    const sent = x.map((rows, rank) => ({
      inputs: { x: rows, counts: counts[rank]! },
      outputs: { y: new Int32Array(world * m * n).fill(UNTOUCHED), received: new Int32Array(world) },
    }));
    const dispatch = groupOf("dispatch", world);
    for (let launch = 0; launch < 2; launch++) dispatch.run(sent, { m, n });
    expect(sent.map(({ outputs }) => outputs.y)).toEqual(expected.y);
    expect(sent.map(({ outputs }) => outputs.received)).toEqual(expected.received);

    const back = sent.map(({ outputs }, rank) => ({
      inputs: { x: outputs.y, counts: counts[rank]! },
      outputs: { y: new Int32Array(m * n).fill(UNTOUCHED) },
    }));
    const combine = groupOf("combine", world);
    for (let launch = 0; launch < 2; launch++) combine.run(back, { m, n });
    expect(back.map(({ outputs }) => outputs.y)).toEqual(expected.back);
  });

  // As the suites of GPUs do it.
  it.each(["f32", "bf16"] as const)("random splits of %s", async (dtype) => {
    const group = new EmulatedGroup(world);
    const programs = { dispatch: programOf("dispatch", world, dtype), combine: programOf("combine", world, dtype) };
    for (const [width, rows, seed] of [
      [5, 7, 1],
      [5, 7, 2],
      [48, 9, 3],
    ] as const)
      expect(await rowsGoAndReturn(group, programs, { dtype, most: rows, n: width, seed })).toBeGreaterThan(0);
    await group.close();
  });
});

describe.each([
  { hosts: 1, gpus: 4 },
  { hosts: 2, gpus: 1 },
  { hosts: 4, gpus: 1 },
  { hosts: 2, gpus: 2 },
  { hosts: 2, gpus: 3 },
  { hosts: 3, gpus: 2 },
] satisfies Hosts[])("on $hosts hosts of $gpus", (hosts) => {
  const programs = (dtype: DType): Record<"dispatch" | "combine", CompileResult> => ({
    dispatch: compiledFor("all_to_all/dispatch_rails", hosts, { dtype }),
    combine: compiledFor("all_to_all/combine_rails", hosts, { dtype }),
  });

  it("a rank sends each other host one message there, and one back", () => {
    for (const { manifest } of Object.values(programs("bf16"))) {
      const messages = manifest!.plan.choices.flatMap(({ steps }) => steps.filter((step) => step.kind === "message"));
      expect(messages).toHaveLength(hosts.hosts > 1 ? 1 : 0);
      for (const { ranks } of messages)
        for (const [rank, { sends }] of ranks.entries()) {
          const peers = new Set(sends.map(({ peer }) => peer));
          expect(peers.size).toBe(hosts.hosts - 1);
          for (const peer of peers) expect(peer % hosts.gpus).toBe(rank % hosts.gpus);
        }
    }
  });

  it.each(["f32", "bf16"] as const)("random splits of %s", async (dtype) => {
    const group = new EmulatedGroup(hosts.hosts * hosts.gpus, { messages: "late" });
    const made = programs(dtype);
    for (const [width, rows, seed] of [
      [5, 7, 1],
      [48, 9, 2],
    ] as const)
      expect(await rowsGoAndReturn(group, made, { dtype, most: rows, n: width, seed })).toBeGreaterThan(0);
    await group.close();
  });
});
