/** Steps that copy engines carry out: from the pass that marks loops through the division into steps to copies on tensors. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  choiceOf,
  compile,
  type CompileResult,
  type CopyStep,
  planProblem,
  rowsOf,
  withMapping,
} from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { DeviceKernel } from "../../src/runtime/device-kernel.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";

beforeAll(useFakeMachine);

const { open } = closedAfterEach();

/** The root deals its tensor out, and the others hand their parts on: two loops that only copy, with a barrier between them. */
const DEALT = `const HELPERS = world - 1 + 1 / world

collective dealt(x: T[n] on(0)) -> y: T[n] replicated {
  for p in ranks {
    if rank == 0 and p > 0 {
      for i in tiles(chunk(n, p - 1, HELPERS)) {
        let v = x[i]
        y[i] = v
        y@p[i] = v
      }
    }
  }
  if world == 1 {
    for i in tiles(n) {
      y[i] = x[i]
    }
  }
  for p in ranks {
    if rank > 0 and p > 0 and p != rank {
      for i in tiles(chunk(n, rank - 1, HELPERS)) {
        y@p[i] = y[i]
      }
    }
  }
}`;

const textOf = (file: string): string =>
  file === "dealt" ? DEALT : readFileSync(path.join(packageRoot(), `kernels/${file}.coll`), "utf8");

const compiled = (file: string, ranks: number): CompileResult =>
  compile(textOf(file), {
    ...{ file, ranks, dtype: "bf16", resolve: importsFromDisk, mapping: { copies: "engine" } },
  });

const kindsOf = ({ manifest }: CompileResult): string[] => manifest!.plan.choices[0]!.steps.map(({ kind }) => kind);

const copiesIn = ({ manifest }: CompileResult): CopyStep =>
  manifest!.plan.choices[0]!.steps.find((step) => step.kind === "copy")!;

describe("a kernel in steps", () => {
  it.each([
    ["all_gather/push", ["launch", "copy", "launch"]],
    ["all_gather/pull", ["launch", "copy", "launch"]],
    ["all_to_all/push", ["launch", "copy", "launch"]],
    ["dealt", ["launch", "copy", "launch", "copy", "launch"]],
    ["all_reduce/gathered", ["launch", "copy", "launch"]],
    // What is computed, moved by one row at a time in another order, in a loop with barriers, or chosen by data is no engine's.
    ["all_reduce/two_shot", ["launch"]],
    ["all_to_all/transposed", ["launch"]],
    // The own part, and then what goes round.
    ["all_gather/ring", ["copy", "launch"]],
    ["broadcast/ring", ["copy", "launch"]],
    ["permute/table", ["launch"]],
    // What others have, for others.
    ["broadcast/scatter_gather", ["launch"]],
    // The root's own copy.
    ["broadcast/relay", ["launch", "copy", "launch"]],
  ])("%s", (file, kinds) => {
    const program = compiled(file, 3);
    expect(kindsOf(program)).toEqual(kinds);
    expect(planProblem(program.manifest!)).toBeNull();
    expect(program.kernels).toHaveLength(program.manifest!.kernels.length);
    expect(new Set(program.manifest!.kernels.map((k) => k.symbol)).size).toBe(program.kernels.length);
  });

  it("keeps every barrier between ranks, and those alone where nothing else is left", () => {
    const program = compiled("all_gather/push", 2);
    for (const { cuda, kernel } of program.kernels) {
      expect(cuda).toContain("__global__");
      expect(kernel.work).toEqual([]);
    }
    // The whole kernel is what is looked at: the same loops, by blocks.
    expect(program.kernel!.work).not.toEqual([]);
  });

  it.each(["all_gather/push", "all_to_all/push", "dealt", "all_reduce/gathered", "all_gather/ring"])(
    "%s is proved as the kernel that it is cut from",
    (file) => {
      for (const ranks of [2, 3]) {
        const { answer, ordering } = prove(withMapping(compiled(file, ranks), PROOF_MAPPING));
        expect([answer.status, ordering.status], `${ranks} ranks`).toEqual(["proved", "proved"]);
      }
    },
  );

  it("is one kernel where kernels would share scratch", () => {
    const text = `collective f(x: T[n] replicated) -> y: T[n] replicated {
  scratch box: T[n]
  for i in tiles(n) { box[i] = x[i] + x[i] }
  for p in ranks { for i in tiles(n) { if p == rank { y@p[i] = x[i] } } }
  barrier
  for i in tiles(n) { y[i] = box[i] - x[i] }
}`;
    const program = compile(text, { ranks: 2, dtype: "f32", mapping: { copies: "engine" } });
    expect(program.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(kindsOf(program)).toEqual(["launch"]);
  });

  const kindsOfText = (text: string): string[] => {
    const program = compile(text, { ranks: 2, dtype: "f32", mapping: { copies: "engine" } });
    expect(program.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    return kindsOf(program);
  };

  it("is one kernel where a signal would go from one kernel to another", () => {
    const program = (last: string): string => `collective f(x: T[n] local) -> (y: T[n] local, z: T[n] local) {
  for i in tiles(n) { z[i] = x[i] + x[i] }
  signal (rank + 1) % world
  ${last === "" ? "wait (rank + world - 1) % world" : ""}
  for i in tiles(n) { y[i] = x[i] }
  ${last}
}`;
    expect(kindsOfText(program(""))).toContain("copy");
    expect(kindsOfText(program("wait (rank + world - 1) % world"))).toEqual(["launch"]);
  });

  it("copies where the stores of one iteration do not depend on each other", () => {
    const both = (
      first: string,
      second: string,
    ): string => `collective f(x: T[n] local) -> (y: T[n] local, z: T[n] local) {
  for i in tiles(n) { ${first}
    ${second} }
}`;
    expect(kindsOfText(both("y[i] = x[i]", "z[i] = x[i]"))).toContain("copy");
    expect(kindsOfText(both("y[i] = x[i]", "z[i] = y[i]"))).toEqual(["launch"]);
    expect(kindsOfText(both("y[i] = x[i]", "z[i] = x[i]\n    y[i] = z[i]"))).toEqual(["launch"]);
  });

  it("copies rows where a matrix is cut, and runs of neighbours as one", () => {
    const [first] = copiesIn(compiled("all_to_all/push", 2)).copies;
    const dims = { m: 6, n: 10 };
    expect(first!.map((copy) => rowsOf(copy, dims))).toEqual([
      { rows: 3, length: 5, from: { offset: 0, pitch: 10 }, to: { offset: 0, pitch: 5 } },
      { rows: 3, length: 5, from: { offset: 5, pitch: 10 }, to: { offset: 0, pitch: 5 } },
    ]);
    const [own] = copiesIn(compiled("all_gather/push", 2)).copies;
    expect(rowsOf(own![1]!, { n: 8 })).toEqual({
      ...{ rows: 1, length: 4, from: { offset: 0, pitch: 4 }, to: { offset: 0, pitch: 4 } },
    });
    expect(rowsOf(own![1]!, { n: 0 })).toBeNull();
  });
});

describe("on emulated ranks", () => {
  it.each(["all_gather/push", "all_gather/pull", "dealt", "broadcast/flat", "all_reduce/gathered"])(
    "%s gives what the kernel alone gives",
    async (file) => {
      for (const ranks of [2, 3, 4])
        for (const n of [0, 1, 63, 1000].map((k) => k * ranks)) {
          const results = await Promise.all(
            (["engine", "blocks"] as const).map(async (copies) => {
              const group = new EmulatedGroup(ranks);
              const program = compile(textOf(file), {
                ...{ file, ranks, dtype: "f32", resolve: importsFromDisk, mapping: { copies } },
              });
              const kernel = await group.load(program);
              const held = (name: "inputs" | "outputs"): number => {
                const { layout } = program.manifest![name][0]!;
                return layout.kind === "sharded" ? n / ranks : n;
              };
              const x = await group.symmetric("f32", [held("inputs")]);
              const y = await group.symmetric("f32", [held("outputs")]);
              for (let rank = 0; rank < ranks; rank++) {
                x.write(
                  Float32Array.from({ length: x.shape[0]! }, (_, i) => 1000 * rank + i),
                  rank,
                );
                y.write(new Float32Array(y.shape[0]!).fill(-1), rank);
              }
              await kernel.run({ x, y }, { n });
              await kernel.run({ x, y }, { n });
              return Promise.all(group.localRanks.map(async (rank) => [...(await y.read(rank))]));
            }),
          );
          expect(results[0], `${ranks} ranks, n=${n}`).toEqual(results[1]);
        }
    },
  );
});

describe("on the driver", () => {
  it("copies to peers side by side, also from a captured graph, and gives its streams back", async () => {
    const groups = await connectRanks(3);
    open.push(...groups);
    const { manifest } = compiled("all_to_all/push", 3);
    const [choice] = manifest!.plan.choices;
    // Without its kernels: what they order, these ranks order by hand.
    const copies = { ...choice!, steps: choice!.steps.filter(({ kind }) => kind === "copy") };
    const own = { ...manifest!, kernels: [], plan: { ...manifest!.plan, choices: [copies] } };
    expect(choiceOf(own, { m: 6, n: 6 }).steps).toHaveLength(1);
    const [m, n] = [6, 9];
    // Ranks are promises here, and a process captures one graph at a time.
    let captures: Promise<unknown> = Promise.resolve();
    const results = await onAll(groups, async (group, rank) => {
      const program = await DeviceKernel.load(group, own, []);
      const x = await group.symmetric("bf16", [m / 3, n]);
      const y = await group.symmetric("bf16", [m, n / 3]);
      x.write(Uint16Array.from({ length: (m / 3) * n }, (_, i) => 100 * rank + i));
      const read = async (): Promise<number[]> => {
        await group.barrier();
        const values = [...(await y.read())] as number[];
        await group.barrier();
        y.write(new Uint16Array(m * (n / 3)).fill(0xffff));
        await group.barrier();
        return values;
      };
      await program.run({ x, y }, { m, n });
      const once = await read();
      const prepared = await program.prepare({ x, y }, { m, n });
      const captured = captures.then(() => group.capture((stream) => prepared.launch(stream)));
      captures = captured;
      const graph = await captured;
      const untouched = await read();
      graph.launch(group.defaultStream);
      await group.defaultStream.synchronize();
      const replayed = await read();
      graph.destroy();
      prepared.release();
      await program.unload();
      return { once, untouched, replayed };
    });
    const expected = (rank: number): number[] =>
      Array.from({ length: m * (n / 3) }, (_, at) => {
        const [i, j] = [Math.floor(at / (n / 3)), at % (n / 3)];
        return 100 * Math.floor(i / (m / 3)) + (i % (m / 3)) * n + rank * (n / 3) + j;
      });
    for (const [rank, { once, untouched, replayed }] of results.entries()) {
      expect(once).toEqual(expected(rank));
      expect(new Set(untouched)).toEqual(new Set([0xffff]));
      expect(replayed).toEqual(expected(rank));
    }
  });
});
