/** Values of statements of their own, used on both sides of a step that is no kernel: each kernel makes them for itself, or there is one kernel, or words. */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, type CompileResult } from "../../src/compiler/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";

const RANKS = 4;

const textOf = (
  value: string,
): string => `collective f(x: T[n] sharded(0), z: T[n] local) -> (y: T[n] replicated, a: T[n] local, b: T[n] local)
  where 12 <= n {
  let v = ${value}
  for i in tiles(n) { a[i] = z[i] + v }
  y = all_gather(x)
  for i in tiles(n) { b[i] = y[i] + z[i] * v }
}`;

const WAYS: Readonly<Record<string, Partial<CompileOptions>>> = {
  "copy engines": { mapping: { copies: "engine" } },
  messages: { reach: { ranksPerDomain: 2 } },
};

const compiled = (value: string, way: Partial<CompileOptions>): CompileResult =>
  compile(textOf(value), { file: "f.coll", ranks: RANKS, dtype: "i32", ...way });

async function outputs(program: CompileResult): Promise<readonly number[][]> {
  const [group, n] = [new EmulatedGroup(RANKS, { detectUnwritten: true }), 24];
  const kernel = await group.load(program);
  const tensors = Object.fromEntries(
    await Promise.all(
      [["x", n / RANKS] as const, ...["z", "y", "a", "b"].map((name) => [name, n] as const)].map(
        async ([name, length]) => [name, await group.symmetric("i32", [length])] as const,
      ),
    ),
  );
  for (const rank of group.localRanks) {
    tensors["x"]!.write(
      Int32Array.from({ length: n / RANKS }, (_, i) => 100 * rank + i),
      rank,
    );
    tensors["z"]!.write(
      Int32Array.from({ length: n }, (_, i) => 1000 * (rank + 1) + 7 * i),
      rank,
    );
  }
  for (let launch = 0; launch < 2; launch++) await kernel.run(tensors, { n });
  return Promise.all(
    group.localRanks.flatMap((rank) =>
      ["y", "a", "b"].map(async (name) => [...(await tensors[name]!.read(rank))] as number[]),
    ),
  );
}

describe.each(Object.entries(WAYS))("around %s", (_, way) => {
  it.each([
    "z[3]",
    "where(n > 20, z[0], z[1])",
    "max(q in 0..3) z[q]",
    "z[2] + (z[4] - max(q in 0..2) z[q])",
    "i32(2 + min(q in 0..3) 1)",
  ])("%s is made anew", async (value) => {
    const program = compiled(value, way);
    expect(program.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(program.manifest!.plan.choices[0]!.steps.filter(({ kind }) => kind === "launch")).toHaveLength(2);
    expect(await outputs(program)).toEqual(await outputs(compiled(value, { mapping: { copies: "blocks" } })));
  });
});

describe("what a peer had before the step", () => {
  it("leaves one kernel beside copy engines", async () => {
    const program = compiled("z@1[3]", WAYS["copy engines"]!);
    expect(program.manifest!.plan.choices[0]!.steps.map(({ kind }) => kind)).toEqual(["launch"]);
    expect(await outputs(program)).toEqual(await outputs(compiled("z@1[3]", { mapping: { copies: "blocks" } })));
  });

  it("is said where there are messages", () => {
    const { diagnostics, kernels } = compiled("z@1[3]", WAYS["messages"]!);
    expect(kernels).toEqual([]);
    expect(diagnostics.map(({ code, message, help }) => [code, message, help])).toEqual([
      [
        "out-of-reach",
        "this program cannot go to ranks of other domains: a value that is read from memory before its messages is used behind them",
        "read it again where it is used",
      ],
    ]);
  });
});
