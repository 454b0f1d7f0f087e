/** Tensor expressions whose values go from host to host in parts. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, type DimValues } from "../../src/compiler/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { collc } from "../cli/support.js";
import { stepsText } from "./programs.js";

const WAY = "hierarchical";

const PROGRAMS: Readonly<Record<string, string>> = {
  "a sum, and what is computed of it": `
    collective f(x: f32[m, n] partial(sum), b: f32[n] replicated) -> y: f32[m, n] replicated {
      y = relu(all_reduce(x) + b)
    }`,
  "a residual stream in place, with folds of rows": `
    collective f(x: f32[m, n] partial(sum), stream: f32[m, n] replicated)
      -> (stream: f32[m, n] replicated, y: f32[m, n] replicated) {
      stream = stream + all_reduce(x)
      y = stream * sum(stream * stream, dim: 1)
    }`,
  "what one rank has": `
    collective f(x: f32[m, n] on(3)) -> y: f32[m, n] replicated { y = broadcast(x) * 2 }`,
  "averages, maxima and products": `
    collective f(x: f32[m, n] partial(avg), b: f32[m, n] partial(max), c: f32[m, n] partial(prod))
      -> (y: f32[m, n] replicated, z: f32[n, m] replicated) {
      y = all_reduce(x) - all_reduce(b)
      z = transpose(all_reduce(c))
    }`,
  "a product": `
    collective f(x: f32[m, k] sharded(1), b: f32[k, n] sharded(0)) -> y: f32[m, n] replicated { y = all_reduce(x @ b) - 1 }`,
  "sums that are scattered along either dimension": `
    collective f(x: f32[m, n] partial(sum), a: f32[m, n] partial(avg), z: f32[m, n] sharded(1))
      -> (y: f32[m, n] sharded(0), r: f32[m, n] sharded(1)) {
      y = reduce_scatter(x, dim: 0) * 2
      r = reduce_scatter(a, dim: 1) + z
    }`,
  "shards that are gathered along either dimension": `
    collective f(x: f32[m, n] sharded(0), z: f32[m, n] sharded(1), w: f32[n, k] replicated)
      -> (y: f32[m, n] replicated, t: f32[n, m] replicated, c: f32[m, k] replicated, q: f32[m, n] replicated) {
      let a = all_gather(x * 2)
      y = a + all_gather(z)
      t = transpose(a)
      c = all_gather(x) @ w
      q = all_gather(max(x, 1)) - sum(a, dim: 1)
    }`,
  "several that use each other's results": `
    collective f(x: f32[m, n] partial(sum), o: f32[m, n] on(3), s: f32[m, n] sharded(0))
      -> (y: f32[m, n] replicated, z: f32[m, 1] replicated, u: f32[m, n] sharded(0), v: f32[m, n] on(1)) {
      let t = all_reduce(x)
      y = t * broadcast(o)
      z = max(t, dim: 1)
      u = t + s
      v = t - 1
    }`,
};

function compiled(text: string, ranks: number, ranksPerDomain?: number): CompileResult {
  const apart = ranksPerDomain === undefined ? {} : { reach: { ranksPerDomain }, variant: WAY };
  return compile(text, { ranks, ...apart });
}

/** What two launches leave in all outputs that count, of whole numbers, so that no order of sums shows. */
async function outputs(program: CompileResult, ranks: number, dims: DimValues): Promise<unknown[]> {
  const { inputs, outputs: outs } = program.manifest!;
  const lengthOf = (e: unknown): number => {
    if (typeof e === "number") return e;
    if (typeof e === "string") return dims[e]!;
    const { a, b } = e as { a: unknown; b: unknown };
    return Math.floor(lengthOf(a) / lengthOf(b));
  };
  const group = new EmulatedGroup(ranks, { messages: "late" });
  const loaded = await group.load(program);
  const shapes = new Map([...inputs, ...outs].map(({ name, localShape }) => [name, localShape.map(lengthOf)]));
  const tensors = Object.fromEntries(
    await Promise.all([...shapes].map(async ([name, shape]) => [name, await group.symmetric("f32", shape)] as const)),
  );
  for (let launch = 0; launch < 2; launch++) {
    for (const { name, layout } of inputs)
      for (const rank of group.localRanks) {
        const of = layout.kind === "replicated" ? 0 : rank;
        const n = shapes.get(name)!.reduce((a, b) => a * b, 1);
        tensors[name]!.write(Float32Array.from({ length: n }, (_, i) => ((7 * i + 13 * of + name.charCodeAt(0)) % 9) - 4), rank); // prettier-ignore
      }
    await loaded.run(tensors, dims);
  }
  const found: unknown[] = [];
  for (const { name, layout } of outs)
    for (const rank of group.localRanks)
      if (layout.kind !== "on" || layout.rank === rank) found.push(await tensors[name]!.read(rank));
  await group.close();
  return found;
}

describe("conversions in parts from host to host", () => {
  it.each(Object.entries(PROGRAMS))("%s", async (_, text) => {
    for (const [ranks, gpus] of [
      [4, 2],
      [6, 3],
      [6, 2],
    ] as const) {
      const [whole, apart] = [compiled(text, ranks), compiled(text, ranks, gpus)];
      for (const [m, n] of [
        [12, 24],
        [24, 72],
      ] as const) {
        const dims = { m, n, ...(text.includes("k]") ? { k: 2 * ranks } : {}) };
        expect(await outputs(apart, ranks, dims)).toEqual(await outputs(whole, ranks, dims));
      }
    }
  });

  it("take one step of messages, of a g-th each to the counterparts", () => {
    const { manifest } = compiled(PROGRAMS["a sum, and what is computed of it"]!, 6, 3);
    expect(stepsText({ manifest } as CompileResult)).toBe("lml");
    const [step] = manifest!.plan.choices[0]!.steps.flatMap((s) => (s.kind === "message" ? [s] : []));
    expect(step!.ranks.map(({ sends }) => sends.map(({ peer }) => peer))).toEqual([[3], [4], [5], [0], [1], [2]]);
  });

  it("are so where the plan finds that faster, and where hosts have equally many ranks", async () => {
    const text = "collective f(x: T[n] partial(sum), b: T[n] replicated) -> y: T[n] replicated { y = relu(all_reduce(x) + b) }"; // prettier-ignore
    const explained = async (reach: string, ...more: string[]): Promise<string> =>
      (await collc(["explain", "-", "--reach", reach, "--dim", "n=1Mi", ...more], { stdin: text })).out;
    expect(await explained("2x4")).toContain("hierarchical is predicted to take");
    expect(await explained("2x4", "--ranks", "7")).not.toContain("hierarchical");
    expect(await explained("8x1")).not.toContain("hierarchical");
  });

  it("are proved, also where a host's rank has no part in the messages that a kernel waits for", async () => {
    const text = PROGRAMS["several that use each other's results"]!;
    const { code, err } = await collc(["check", "-", "--reach", "2x3", "--schedules", "1", "--strict"], {
      stdin: text,
    });
    expect(err).not.toContain("error");
    expect(code).toBe(0);
  });
});
