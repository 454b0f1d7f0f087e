/** Programs of several kernels on a device group: which kernel a size launches, prepared launches, memory of their own. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it, vi } from "vitest";
import type { KernelManifest, Manifest } from "../../src/compiler/manifest.js";
import { DeviceKernel } from "../../src/runtime/device-kernel.js";
import type { DeviceGroup } from "../../src/runtime/group-device.js";
import { native } from "../../src/runtime/native.js";
import type { CapturedGraph } from "../../src/runtime/group.js";
import { fakeCubin } from "../native/support.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";

beforeAll(useFakeMachine);

const { open } = closedAfterEach();

const kernel = (symbol: string): KernelManifest => ({
  name: symbol,
  symbol,
  buffers: [{ name: "y", role: "output", dtype: "u32", shape: ["n"], symmetric: false }],
  parameters: [
    { kind: "pointer", buffer: "y" },
    { kind: "dim", name: "n" },
  ],
  blockThreads: 32,
  grid: { work: [], maxBlocks: 4 },
  lengths: [],
  sharedBytes: 0,
  cooperative: false,
  early: false,
});

const launch = (index: number) => ({ kind: "launch" as const, kernel: index, maxBlocks: 4 });

/** Sizes below 10 store their length, from 20 on they add it, and those between do both. */
const manifest: Manifest = {
  formatVersion: 5,
  collective: "count",
  ranks: 1,
  dtypes: {},
  arch: "sm_90a",
  dims: ["n"],
  scalars: [],
  inPlace: [],
  inputs: [],
  outputs: [{ name: "y", dtype: "u32", layout: { kind: "local" }, shape: ["n"], localShape: ["n"] }],
  specification: { nodes: [], outputs: [null] },
  mesh: [],
  requirements: [],
  roundings: [],
  symmetric: [],
  kernels: [kernel("fake_store"), kernel("fake_add")],
  plan: {
    by: "n",
    choices: [
      { below: 10, steps: [launch(0)] },
      { below: 20, steps: [launch(0), launch(1)] },
      { below: null, steps: [launch(1)] },
    ],
  },
};
const cubins = ["fake_store", "fake_add"].map((symbol) => fakeCubin(`${symbol} params=8,8 registers=32`));

async function loaded(): Promise<{ group: DeviceGroup; program: DeviceKernel }> {
  const [group] = await connectRanks(1);
  open.push(group!);
  return { group: group!, program: await DeviceKernel.load(group!, manifest, cubins) };
}

it("launches the steps of the size, bounds included", async () => {
  const { group, program } = await loaded();
  const results = [];
  for (const n of [1, 9, 10, 19, 20, 21]) {
    const y = group.local("u32", [n]);
    y.write(new Uint32Array(n).fill(1000));
    await program.run({ y }, { n });
    results.push((await y.read())[0]);
    await y.free();
  }
  expect(results).toEqual([1, 9, 20, 38, 1020, 1021]);
  await program.unload();
});

it("prepares once and launches often, on any stream and into a graph", async () => {
  const { group, program } = await loaded();
  const y = group.local("u32", [30]);
  y.write(new Uint32Array(30));
  const prepared = await program.prepare({ y }, { n: 30 });
  const stream = group.stream();
  prepared.launch(stream);
  prepared.launch(stream);
  await stream.synchronize();
  expect((await y.read())[0]).toBe(60);
  const graph = await group.capture((recording) => {
    for (let i = 0; i < 3; i++) prepared.launch(recording);
  });
  expect(graph.nodes).toBe(3);
  await graph.replay();
  await graph.replay();
  expect((await y.read())[0]).toBe(60 + 6 * 30);
  prepared.release();
  prepared.release();
  expect(() => prepared.launch(stream)).toThrow("the prepared launch was released");
  graph.destroy();
  await stream.destroy();
  await program.unload();
  await y.free();
  await expect(program.prepare({ y }, { n: 30 })).rejects.toThrow("count was unloaded");
});

it("gives back what it prepared when a later step cannot be", async () => {
  const [group] = (await connectRanks(1)) as [DeviceGroup];
  open.push(group);
  const broken: Manifest = {
    ...manifest,
    kernels: [kernel("fake_store"), { ...kernel("fake_add"), parameters: [{ kind: "pointer", buffer: "z" }] }],
  };
  const program = await DeviceKernel.load(group, broken, cubins);
  const y = group.local("u32", [15]);
  await expect(program.prepare({ y }, { n: 15 })).rejects.toThrow('no address for buffer "z"');
  await program.unload();
  await y.free();
});

it("takes one tensor for an input that is changed in place", async () => {
  const [group] = await connectRanks(1);
  open.push(group!);
  const [x] = manifest.outputs;
  const add: KernelManifest = {
    ...kernel("fake_add"),
    buffers: [{ ...kernel("fake_add").buffers[0]!, role: "inout" }],
  };
  const plan = { by: 1, choices: [{ below: null, steps: [launch(0)] }] };
  const inPlace: Manifest = { ...manifest, inputs: [x!], inPlace: ["y"], kernels: [add], plan };
  const program = await DeviceKernel.load(group!, inPlace, [cubins[1]!]);
  const y = group!.local("u32", [30]);
  y.write(new Uint32Array(30).fill(5));
  await program.run({ y }, { n: 30 });
  await program.run({ y }, { n: 30 });
  expect((await y.read())[0]).toBe(65);
  await y.free();
  await program.unload();
});

/** A program of two launches of a kernel that adds a number of the launch. */
function adding(ranks: number): Manifest {
  const add: KernelManifest = {
    ...kernel("fake_add"),
    parameters: [
      { kind: "pointer", buffer: "y" },
      { kind: "scalar", name: "step", dtype: "u32" },
    ],
  };
  return {
    ...manifest,
    ranks,
    scalars: [{ name: "step", dtype: "u32" }],
    kernels: [add, kernel("fake_store")],
    plan: { by: "n", choices: [{ below: null, steps: [launch(0), launch(0)] }] },
  };
}

it.each([1, 2, 4])("gives numbers of the launch to graphs without recording anew, on %i ranks", async (world) => {
  const counting = adding(world);
  const groups = await connectRanks(world);
  open.push(...groups);
  const prepared = await Promise.all(
    groups.map(async (group) => {
      const program = await DeviceKernel.load(group, counting, [
        fakeCubin("fake_add params=8,4 registers=32"),
        cubins[0]!,
      ]);
      const y = group.local("u32", [4]);
      y.write(new Uint32Array(4));
      const run = await program.prepare({ y }, { n: 4, step: 1 });
      return { group, program, y, run, other: await program.prepare({ y }, { n: 4, step: 1000 }) };
    }),
  );
  // Captures belong to the process: one at a time, and no rank waits for its GPU while another captures.
  const graphs: CapturedGraph[] = [];
  for (const { group, run } of prepared) graphs.push(await group.capture((stream) => run.launch(stream)));
  await Promise.all(
    prepared.map(async ({ program, y, run, other }, rank) => {
      const graph = graphs[rank]!;
      const seen: number[] = [];
      const replay = async (): Promise<void> => {
        await graph.replay();
        seen.push((await y.read())[0] as number);
      };
      await replay();
      run.set({ step: 10 });
      await replay(); // the graph has not been told
      graph.update(run);
      await replay();
      await replay();
      run.set({ step: 7 + rank });
      graph.update(run);
      await replay();
      expect(seen).toEqual([2, 4, 24, 44, 58 + 2 * rank]);
      expect(() => run.set({ n: 5 })).toThrow("count has no number 'n' of the launch");
      expect(() => run.set({ step: 0.5 })).toThrow("the number 'step' cannot be 0.5");
      expect(() => graph.update(other)).toThrow("the graph has no launch of this run");
      run.release();
      expect(() => graph.update(run)).toThrow("was released");
      await replay();
      expect(seen.at(-1)).toBe(72 + 4 * rank);
      graph.destroy();
      expect(() => graph.update(other)).toThrow("the graph was destroyed");
      other.release();
      await program.unload();
      await y.free();
    }),
  );
});

it("launches as many blocks that wait on each other as the smallest GPU of the group holds", async () => {
  const folder = mkdtempSync(join(tmpdir(), "collc-blocks-"));
  vi.stubEnv("FAKE_CUDA_LOG", join(folder, "log"));
  const large = { ...kernel("fake_add"), blockThreads: 512, grid: { work: [100], maxBlocks: 132 }, cooperative: true };
  const steps = [{ kind: "launch" as const, kernel: 0, maxBlocks: 132 }];
  const program = { ...manifest, ranks: 2, kernels: [large], plan: { by: 1, choices: [{ below: null, steps }] } };
  const groups = await connectRanks(2);
  open.push(...groups);
  await onAll(groups, async (group, rank) => {
    // Four multiprocessors with four blocks each, or with one.
    const cubin = fakeCubin(`fake_add params=8,8 registers=${rank === 0 ? 32 : 128}`);
    const loaded = await DeviceKernel.load(group, program, [cubin]);
    await loaded.run({ y: group.local("u32", [3]) }, { n: 3 });
    await loaded.unload();
  });
  const grids = readFileSync(join(folder, "log"), "utf8").trim().split("\n").map((line) => (JSON.parse(line) as { grid: number[] }).grid[0]); // prettier-ignore
  expect(grids).toEqual([4, 4]);
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

it("records runs whose numbers change in a graph of the caller's", async () => {
  const [group] = await connectRanks(1);
  open.push(group!);
  const addon = native();
  const theirs = addon.streamCreate(group!.device);
  const stream = group!.externalStream(addon.streamPointer(theirs));
  const program = await DeviceKernel.load(group!, adding(1), [
    fakeCubin("fake_add params=8,4 registers=32"),
    cubins[0]!,
  ]);
  const y = group!.local("u32", [4]);
  y.write(new Uint32Array(4));
  const run = await program.prepare({ y }, { n: 4, step: 1 });
  expect(() => run.record(stream)).toThrow("the stream is not being captured");
  addon.captureBegin(theirs);
  const recorded = run.record(stream);
  run.launch(stream); // and one that is not noted
  const graph = addon.captureEnd(theirs);
  const exec = addon.graphInstantiate(graph);
  const replay = async (): Promise<unknown> => {
    addon.graphLaunch(exec, theirs);
    await stream.synchronize();
    return (await y.read())[0];
  };
  // Each run is two launches.
  expect(await replay()).toBe(4);
  run.set({ step: 10 });
  expect(await replay()).toBe(8);
  recorded.update(addon.graphExecPointer(exec));
  expect(await replay()).toBe(30);
  run.release();
  expect(() => recorded.update(addon.graphExecPointer(exec))).toThrow("was released");
  expect(await replay()).toBe(52);
  const inside = group!.capture((own) => void run.record(own));
  await expect(inside).rejects.toThrow("was released");
  addon.graphExecDestroy(exec);
  addon.graphDestroy(graph);
  await stream.destroy();
  await y.free();
  await program.unload();
  addon.streamDestroy(theirs);
});
