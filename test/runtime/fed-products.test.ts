/** Products that copy engines feed: the four steps, what they compute when copies come as late as they may, and what a word out of place does. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  compile,
  type CompileResult,
  type Copy,
  type CopyStep,
  planProblem,
  type Step,
  withMapping,
} from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { DeviceMemory } from "../../src/runtime/cuda/index.js";
import { DeviceKernel } from "../../src/runtime/device-kernel.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { decode, encode } from "../../src/runtime/numbers/index.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";

beforeAll(useFakeMachine);

const { open } = closedAfterEach();

const textOf = (file: string): string => readFileSync(path.join(packageRoot(), `kernels/${file}.coll`), "utf8");

const fed = (text: string, ranks: number, file = "f.coll"): CompileResult =>
  compile(text, { file, ranks, dtype: "bf16", resolve: importsFromDisk, mapping: { copies: "beside" } });

const stepsOf = ({ manifest }: CompileResult): readonly Step[] => manifest!.plan.choices[0]!.steps;

/** What goes to peers, beside the product, and what a rank copies for itself before it. */
const copySteps = (program: CompileResult): readonly CopyStep[] =>
  stepsOf(program).filter((step) => step.kind === "copy");

describe("steps", () => {
  it.each(["matmul/all_gather", "matmul/all_gather_qkv", "matmul/all_gather_swiglu"])("%s", (file) => {
    for (const ranks of [2, 4]) {
      const program = fed(textOf(file), ranks, file);
      expect(program.diagnostics).toEqual([]);
      expect(stepsOf(program).map(({ kind }) => kind)).toEqual(["launch", "copy", "copy", "launch"]);
      const [sent, own] = copySteps(program);
      expect([sent!.beside, own!.beside]).toEqual([true, undefined]);
      expect(planProblem(program.manifest!)).toBeNull();
      // The driver copies within one GPU with multiprocessors, which the product may have all of.
      own!.copies.forEach((list, rank) => expect(list.map(({ to }) => to.rank)).toEqual([rank]));
      // Each rank has the words of its peers, and behind each part of a shard comes its word.
      for (const [rank, list] of sent!.copies.entries()) {
        expect(new Set(list.map(({ to }) => to.rank)).size).toBe(ranks - 1);
        expect(list.some(({ to }) => to.rank === rank)).toBe(false);
        expect(list.map(({ from }) => from.tensor.endsWith("/sent"))).toEqual(list.map((_, i) => i % 2 === 1));
        const words = list.filter((_, i) => i % 2 === 1).map(({ to }) => `${to.rank} ${JSON.stringify(to.offset)}`);
        expect(new Set(words).size).toBe(list.length / 2);
      }
      // No multiprocessor stores anything on a peer but the words of the barrier before.
      const [first, second] = program.kernels;
      expect(first!.cuda).toContain("flags");
      expect(second!.kernel.buffers.filter((b) => b.symmetric).map((b) => b.name)).toEqual([]);
    }
  });

  it.each(["matmul/all_reduce", "matmul/reduce_scatter", "all_gather/push"])("%s is one kernel", (file) => {
    expect(stepsOf(fed(textOf(file), 2, file)).map(({ kind }) => kind)).toEqual(["launch"]);
  });

  it("is one kernel where something else comes first", () => {
    const text = `collective f(a: T[m, k] sharded(0), b: T[k, n] sharded(1), z: T[m] local) -> (s: T[m] local, c: T[m, n] sharded(1)) {
  for i in tiles(m) { s[i] = z[i] + z[i] }
  c = all_gather(a, dim: 0) @ b
}`;
    expect(stepsOf(fed(text, 2)).map(({ kind }) => kind)).toEqual(["launch"]);
  });

  it("is proved as the kernel that it is cut from", () => {
    const program = fed(textOf("matmul/all_gather"), 2);
    const { answer, ordering } = prove(withMapping(program, PROOF_MAPPING));
    expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
  });
});

const bits = (value: number): number => encode("bf16", value) as number;

interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** Whole numbers that a bf16 has, as their sums have: what comes out is exact, or of other operands. */
const element = (launch: number, rank: number, i: number, of: number): number =>
  ((i * 7 + rank * 3 + launch * 5 + of) % 5) - 2;

/** Launches the program twice on other data; whether every element is right. */
async function isRight(
  program: CompileResult,
  ranks: number,
  { m, n, k }: Sizes,
  times: "early" | "late" | "any",
  seed = 1,
): Promise<boolean> {
  const group = new EmulatedGroup(ranks, { messages: times, seed, detectUnwritten: true });
  const kernel = await group.load(program);
  const [rows, columns] = [m / ranks, n / ranks];
  const a = await group.symmetric("bf16", [rows, k]);
  const b = await group.symmetric("bf16", [k, columns]);
  const c = await group.symmetric("bf16", [m, columns]);
  for (const launch of [1, 2, 3]) {
    const valueOfA = (i: number, j: number): number => element(launch, Math.floor(i / rows), (i % rows) * k + j, 0);
    const valueOfB = (rank: number, i: number, j: number): number => element(launch, rank, i * columns + j, 1);
    for (const rank of group.localRanks) {
      a.write(
        Uint16Array.from({ length: rows * k }, (_, i) => bits(element(launch, rank, i, 0))),
        rank,
      );
      b.write(
        Uint16Array.from({ length: k * columns }, (_, i) => bits(element(launch, rank, i, 1))),
        rank,
      );
      c.write(new Uint16Array(m * columns).fill(0x7fc0), rank);
    }
    await kernel.run({ a, b, c }, { m, n, k });
    for (const rank of group.localRanks) {
      const found = (await c.read(rank)) as Uint16Array;
      for (let i = 0; i < m; i++)
        for (let j = 0; j < columns; j++) {
          let sum = 0;
          for (let d = 0; d < k; d++) sum += valueOfA(i, d) * valueOfB(rank, d, j);
          if (decode("bf16", found[i * columns + j]!) !== decode("bf16", bits(sum))) return false;
        }
    }
  }
  return true;
}

/** Shards of whole tiles, and such that tiles have rows of two ranks; depths with fewer steps than parts, and a last part that is short. */
const SIZES: readonly Sizes[] = [
  { m: 128, n: 16, k: 128 },
  { m: 72, n: 24, k: 72 },
  { m: 40, n: 8, k: 328 },
];

describe("on emulated ranks", () => {
  it.each([2, 3, 4])("computes what it says on %i ranks, whenever the copies come", async (ranks) => {
    const program = fed(textOf("matmul/all_gather"), ranks);
    for (const { m, n, k } of SIZES) {
      const sizes = { m: m * ranks, n: n * ranks, k };
      for (const times of ["early", "late", "any"] as const)
        expect(await isRight(program, ranks, sizes, times)).toBe(true);
    }
  });

  it("goes wrong where a word comes before its part, and stands still where one is missing", async () => {
    const program = fed(textOf("matmul/all_gather"), 2);
    const sizes = { m: 192, n: 64, k: 328 };
    type Change = (list: readonly Copy[]) => readonly Copy[];
    const changed = (change: Change, own: Change = (list) => list): CompileResult => {
      const { manifest } = program;
      const [choice] = manifest!.plan.choices;
      const steps = choice!.steps.map((s) =>
        s.kind === "copy" ? { ...s, copies: s.copies.map(s.beside === true ? change : own) } : s,
      );
      return { ...program, manifest: { ...manifest!, plan: { ...manifest!.plan, choices: [{ ...choice!, steps }] } } };
    };
    expect(
      await isRight(
        changed((list) => list),
        2,
        sizes,
        "late",
      ),
    ).toBe(true);
    const swapped = changed((list) => list.map((_, i) => list[i ^ 1]!));
    await expect(isRight(swapped, 2, sizes, "late")).rejects.toThrow(/nobody has written|never written|unwritten/);
    // Tiles that have rows of both ranks read its own, too, from what is gathered; no word says when those are there.
    const noOwn = changed(
      (list) => list,
      () => [],
    );
    await expect(isRight(noOwn, 2, sizes, "late")).rejects.toThrow(/nobody has written|never written|unwritten/);
    for (const missing of [1, 7]) {
      const without = changed((list) => list.filter((_, i) => i !== missing));
      await expect(isRight(without, 2, sizes, "late")).rejects.toThrow("deadlock");
    }
  });
});

describe("on the driver", () => {
  it("copies parts to the memory of peers, and their words, beside launches and from a captured graph", async () => {
    const groups = await connectRanks(3);
    open.push(...groups);
    const { manifest } = fed(textOf("matmul/all_gather"), 3);
    const [choice] = manifest!.plan.choices;
    // Without its kernels: what they order, these ranks order by hand.
    const copies = { ...choice!, steps: choice!.steps.filter(({ kind }) => kind === "copy") };
    const own = { ...manifest!, kernels: [], plan: { ...manifest!.plan, choices: [copies] } };
    const dims = { m: 9, n: 3, k: 136 };
    let captures: Promise<unknown> = Promise.resolve();
    const results = await onAll(groups, async (group, rank) => {
      const program = await DeviceKernel.load(group, own, []);
      const a = await group.symmetric("bf16", [3, dims.k]);
      const tensors = { a, b: await group.symmetric("bf16", [dims.k, 1]), c: await group.symmetric("bf16", [9, 1]) };
      a.write(Uint16Array.from({ length: 3 * dims.k }, (_, i) => 1000 * rank + i));
      const prepared = await program.prepare(tensors, dims);
      const held = (name: string, bytes: number): DeviceMemory => {
        const memory = Reflect.get(program, "memory") as { of: (n: string) => { pointer: bigint } };
        return DeviceMemory.view(group.device, memory.of(`all_gather/${name}`).pointer, bytes);
      };
      const seen = async (): Promise<{ words: number[]; rows: number[] }> => {
        await group.barrier();
        const words = [...held("arrived", 4 * 6).read(new Uint32Array(6))];
        return { words, rows: [...held("gathered", 9 * dims.k * 2).read(new Uint16Array(9 * dims.k))] };
      };
      const before = await seen();
      held("sent", 4).write(Uint32Array.of(7));
      await group.barrier();
      prepared.launch(group.defaultStream);
      await group.defaultStream.synchronize();
      const once = await seen();
      const captured = captures.then(() => group.capture((stream) => prepared.launch(stream)));
      captures = captured;
      const graph = await captured;
      held("sent", 4).write(Uint32Array.of(8));
      await group.barrier();
      graph.launch(group.defaultStream);
      await group.defaultStream.synchronize();
      const replayed = await seen();
      program.reset();
      const recovered = await seen();
      graph.destroy();
      prepared.release();
      await program.unload();
      return { before, once, replayed, recovered };
    });
    const rows = Array.from({ length: 9 * dims.k }, (_, i) => 1000 * Math.floor(i / (3 * dims.k)) + (i % (3 * dims.k)));
    for (const [rank, { before, once, replayed, recovered }] of results.entries()) {
      // Two parts from each; no word comes from the rank itself.
      const all = (word: number): number[] =>
        Array.from({ length: 6 }, (_, i) => (Math.floor(i / 2) === rank ? 0 : word));
      expect(before.words).toEqual(all(0));
      expect(once).toEqual({ words: all(7), rows });
      expect(replayed.words).toEqual(all(8));
      expect(recovered.words).toEqual(all(0));
    }
  });
});
