/** Programs of several kernels: which size takes which, and that each is right where it is taken. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import {
  choiceOf,
  compile,
  type CompileOptions,
  type CompileResult,
  DEFAULT_MACHINE,
  explain,
  type Library,
  type Manifest,
  planProblem,
  type Requirement,
} from "../../src/compiler/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll, turned } from "../scope.js";

const KERNELS = join(import.meta.dirname, "../../kernels");
const NAMES = readdirSync(KERNELS).filter((name) => name.endsWith(".coll"));

const options = (ranks: number): CompileOptions => ({
  ranks,
  dtype: "bf16",
  resolve: importsFromDisk,
  library: libraryFromDisk,
});

const program = (name: string, ranks: number): CompileResult =>
  compile(readFileSync(join(KERNELS, name), "utf8"), { file: name, ...options(ranks) });

const TWO_WAYS = ["one_shot", "two_shot"].flatMap((way) => [way, `${way}+packets`, `${way}+copies`]);

const ALL_REDUCE = "collective sums(x: T[m, n] partial(sum)) -> y: T[m, n] replicated { y = all_reduce(x) }";

/** Runs a program at a size, as a caller does, and compares with the signature. */
async function run(compiled: CompileResult, dims: Record<string, number>): Promise<void> {
  const manifest = compiled.manifest!;
  const group = new EmulatedGroup(manifest.ranks);
  const kernel = await group.load(compiled);
  const given = makeInputs(manifest, dims, 1);
  const tensors = Object.fromEntries(
    [...manifest.inputs, ...manifest.outputs].map((t) => {
      const held = given.map((rank) => rank.inputs[t.name] ?? rank.outputs[t.name]!);
      const tensor = group[manifest.symmetric.includes(t.name) ? "symmetric" : "local"](t.dtype, [held[0]!.length]);
      return [t.name, { tensor, held }];
    }),
  );
  const made = Object.fromEntries(
    await Promise.all(Object.entries(tensors).map(async ([k, v]) => [k, await v.tensor])),
  );
  for (const [name, { held }] of Object.entries(tensors))
    held.forEach((values, rank) => made[name].write(values, rank));
  await kernel.run(made, dims);
  for (const [r, rank] of given.entries())
    for (const t of manifest.outputs) rank.outputs[t.name]!.set((await made[t.name].read(r)) as never);
  expect(checkOutputs(manifest, dims, given, given), JSON.stringify(dims)).toMatchObject({ correct: true });
}

const sizeDims = (manifest: Manifest, size: number): Record<string, number> =>
  Object.fromEntries(manifest.dims.map((d, i) => [d, i === 0 ? size : manifest.ranks]));

describe("the library's one name", () => {
  for (const [turn, name] of NAMES.entries())
    it(`${name} takes kernels of its folder, each right on both sides of its bounds`, async () => {
      for (const ranks of isAll ? [1, 2, 4] : turned([2, 4, 1], turn)) {
        const compiled = program(name, ranks);
        const { manifest } = compiled;
        expect(compiled.diagnostics).toEqual([]);
        expect(planProblem(manifest!)).toBeNull();
        const folder = name.replace(".coll", "");
        if (ranks > 1) for (const { name: way } of compiled.variants) expect(way).toMatch(new RegExp(`^${folder}/`));
        const bounds = manifest!.plan.choices.flatMap(({ below }) =>
          below === null || below > 2 ** 19 ? [] : [below],
        );
        for (const size of new Set([1, ...bounds.flatMap((b) => [b - ranks, b])])) {
          const whole = Math.max(1, Math.floor(size / ranks)) * ranks;
          await run(compiled, sizeDims(manifest!, whole));
        }
      }
    });

  it("names what it took, and what else there was", () => {
    const compiled = program("all_reduce.coll", 4);
    expect(compiled.ways).toContain("all_reduce/two_shot");
    const { plan } = explain(compiled, { n: 2 ** 26 }, DEFAULT_MACHINE);
    expect(plan!.chosen).toBe(compiled.variants.at(-1)!.name);
    expect(plan!.times.map((t) => t.name).sort()).toEqual(compiled.considered.map((v) => v.name).sort());
    expect(plan!.times.map((t) => t.seconds)).toEqual(plan!.times.map((t) => t.seconds).sort((a, b) => a - b));
  });

  it("does not round on the way, and leaves out what asks for more of the sizes", () => {
    const { ways, considered } = program("all_reduce.coll", 4);
    expect(ways).not.toContain("all_reduce/quantised"); // n % 128 == 0
    const halves: Library = () => [
      {
        file: "halves.coll",
        text: `collective halves(x: f32[n] partial(sum)) -> y: f32[n] replicated {
  scratch wire: bf16[n]
  for i in tiles(n) { wire[i] = x[i] }
  for i in tiles(n) { y[i] = sum(p in ranks) wire@p[i] }
}
collective wholes(x: f32[n] partial(sum)) -> y: f32[n] replicated { for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] } }
`,
      },
    ];
    const text = "collective sums(x: f32[n] partial(sum)) -> y: f32[n] replicated { y = all_reduce(x) }";
    const rounding = compile(text, { ...options(4), library: halves });
    const varied = (way: string): string[] => ["", "+packets", "+copies"].map((how) => `all_reduce/${way}${how}`);
    expect(rounding.ways).toEqual([...varied("halves"), ...varied("wholes")]);
    expect(rounding.considered.map((v) => v.name.replace(/\+.*/, ""))).not.toContain("all_reduce/halves");
    expect(rounding.manifest!.roundings).toEqual([]);
    expect(considered.length).toBeGreaterThan(2);
  });

  it("takes the elements of a matrix row by row", async () => {
    const compiled = compile(ALL_REDUCE, options(4));
    expect(compiled.ways.length).toBeGreaterThan(2);
    expect(compiled.manifest!.dims).toEqual(["m", "n"]);
    for (const dims of [
      { m: 3, n: 7 },
      { m: 300, n: 129 },
    ])
      await run(compiled, dims);
    const gather = "collective g(x: T[m, n] sharded(1)) -> y: T[m, n] replicated { y = all_gather(x) }";
    // Slices of columns are no neighbours in memory: the library's vectors do not fit.
    expect(compile(gather, options(4)).ways).toEqual(["g", "g+packets"]);
  });

  it("is for sums: another reduction is the compiler's own", () => {
    const text = "collective most(x: T[n] partial(max)) -> y: T[n] replicated { y = all_reduce(x) }";
    expect(compile(text, options(4)).ways).toEqual(TWO_WAYS);
  });
});

describe("an expression with a conversion inside", () => {
  const text =
    "collective g(x: T[n] partial(sum), b: T[n] replicated) -> y: T[n] replicated { y = gelu(all_reduce(x) + b) }";

  it("has a kernel for either way where the size decides, and is right with both", async () => {
    const compiled = compile(text, options(4));
    const { manifest } = compiled;
    expect(compiled.ways).toEqual(TWO_WAYS);
    expect(new Set(manifest!.kernels.map((k) => k.symbol)).size).toBe(manifest!.kernels.length);
    for (const way of compiled.ways) {
      const one = compile(text, { ...options(4), variant: way });
      expect(one.manifest!.plan.choices).toHaveLength(1);
      for (const n of [1, 1000, 20_000]) await run(one, { n });
    }
    for (const { below } of manifest!.plan.choices)
      if (below !== null && below < 2 ** 19) for (const n of [below - 1, below]) await run(compiled, { n });
  });

  it("has one where a bound leaves no other", () => {
    const bounded = text.replace("replicated {", "replicated where n <= 256 {");
    const [small, any] = [bounded, text].map((t) => compile(t, options(4)).manifest!);
    expect(small!.kernels.map((k) => k.name)).toEqual(["one_shot+packets"]);
    expect(any!.kernels.map((k) => k.name)).toContain("two_shot");
  });

  it("has one order of steps on two ranks, and packets for short tensors, and is right with both", async () => {
    const compiled = compile(text, options(2));
    expect(compiled.ways).toEqual(["g", "g+packets"]);
    const { choices } = compiled.manifest!.plan;
    expect(choices).toHaveLength(2);
    for (const n of [choices[0]!.below! - 2, choices[0]!.below!]) await run(compiled, { n });
  });

  it("knows no other variant", () => {
    expect(() => compile(text, { ...options(4), variant: "ring" })).toThrow("g has no variant 'ring'");
    expect(() => compile(text, { ...options(2), variant: "two_shot" })).toThrow("g has no variant 'two_shot'");
  });
});

describe("a plan", () => {
  const one = program("all_reduce.coll", 4).manifest!;
  const step = { kind: "launch" as const, kernel: 0, maxBlocks: 1 };
  const planned = (...bounds: readonly (number | null)[]): Manifest => ({
    ...one,
    plan: { by: "n", choices: bounds.map((below) => ({ below, steps: [step] })) },
  });

  it("gives every size exactly one choice", () => {
    expect(planProblem(planned(null))).toBeNull();
    expect(planProblem(planned(10, 20, null))).toBeNull();
    expect(planProblem(planned())).toMatch("no choice");
    expect(planProblem(planned(10, 20))).toMatch("all choices but the last");
    expect(planProblem(planned(null, null))).toMatch("all choices but the last");
    expect(planProblem(planned(20, 20, null))).toMatch("the bound 20 does not grow");
    expect(planProblem(planned(20, 10, null))).toMatch("the bound 10 does not grow");
    expect(planProblem(planned(0, null))).toMatch("the bound 0 does not grow");
    expect(planProblem(planned(1.5, null))).toMatch("the bound 1.5 does not grow");
    expect(planProblem({ ...one, plan: { by: "k", choices: one.plan.choices } })).toMatch("no dimension");
  });

  it("launches what there is", () => {
    const wrong = (changes: object): string | null =>
      planProblem({ ...one, plan: { by: "n", choices: [{ below: null, steps: [{ ...step, ...changes }] }] } });
    expect(wrong({ kernel: 9 })).toMatch("launches kernel 9");
    expect(wrong({ maxBlocks: 0 })).toMatch("asks for 0 blocks");
    expect(wrong({ maxBlocks: 10_000 })).toMatch("asks for 10000 blocks");
    expect(planProblem({ ...one, plan: { by: "n", choices: [{ below: null, steps: [] }] } })).toMatch("does nothing");
  });

  test("each size, boundaries included, has the choice that its bounds say", () => {
    const manifest = planned(1, 10, 4096, null);
    const found = [0, 1, 9, 10, 4095, 4096, 2 ** 40].map((n) =>
      manifest.plan.choices.indexOf(choiceOf(manifest, { n })),
    );
    expect(found).toEqual([0, 1, 1, 2, 2, 3, 3]);
  });

  it("goes by requirements, too: a size that none allows has no kernel", () => {
    const requirement: Requirement = { left: "n", relation: "le", right: 64, reason: "short" };
    const text = "collective s(x: f32[n] partial(sum)) -> y: f32[n] replicated where n <= 64 { y = all_reduce(x) }";
    const { manifest } = compile(text, options(4));
    expect(manifest!.requirements.map(({ left, relation, right }) => ({ left, relation, right }))).toEqual([
      { left: requirement.left, relation: requirement.relation, right: requirement.right },
    ]);
    expect(manifest!.plan.choices).toHaveLength(1);
  });
});
