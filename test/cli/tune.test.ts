/** `collc tune`: what it measures becomes the plan, and what does not fit any more does not. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { choiceName, choiceOf, compile, type CompileOptions } from "../../src/compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import {
  choicesOf,
  libraryDigest,
  readTuneFile,
  saveTuned,
  type TuneFile,
  tunedFromDisk,
} from "../../src/runtime/tuned.js";
import { collc, kernel, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const path = join(folder, "tune.json");

describe("what the times say", () => {
  it("the fastest way, until another is ahead by enough", () => {
    const measured = {
      "64": { a: 5, b: 6 },
      "256": { a: 6.05, b: 6 }, // by less than it is worth
      "1024": { a: 9, b: 7 },
      "4096": { a: 20, b: 10 },
    };
    expect(choicesOf(measured)).toEqual([
      { below: 512, way: "a" },
      { below: null, way: "b" },
    ]);
    expect(choicesOf({ "8": { only: 1 } })).toEqual([{ below: null, way: "only" }]);
  });
});

afterEach(() => void vi.unstubAllEnvs());

describe("a tuned machine", () => {
  const text = readFileSync(kernel("reduce"), "utf8");
  const options = (changes: Partial<CompileOptions> = {}): CompileOptions => ({
    ...{ ranks: 2, dtype: "f32", resolve: importsFromDisk, library: libraryFromDisk, tuned: tunedFromDisk(path) },
    ...changes,
  });

  beforeAll(async () => {
    const { code, out, err } = await collc(
      ["tune", "reduce", "--backend", "cpu", "--ranks", "2", "--dtype", "f32", "--out", path],
      {},
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`kept in ${path}`);
  });

  it("plans as it measured, and compiles no more than that", () => {
    const [plan] = readTuneFile(path)!.plans;
    expect(plan).toMatchObject({ conversion: "reduce", dtype: "f32", ranks: 2, library: libraryDigest("reduce") });
    expect(Object.keys(Object.values(plan!.measured)[0]!).sort()).toEqual([
      "reduce/pull",
      "reduce/pull+packets",
      "reduce/scatter",
      "reduce/scatter+packets",
    ]);
    const { manifest, considered } = compile(text, options());
    expect(manifest!.plan.choices.map((c) => c.below)).toEqual(plan!.choices.map((c) => c.below));
    for (const { below, way } of plan!.choices) {
      expect(choiceName(choiceOf(manifest!, { n: (below ?? 2 ** 30) - 1 }), manifest!)).toBe(way);
    }
    expect(new Set(considered.map((v) => v.name))).toEqual(new Set(plan!.choices.map((c) => c.way)));
    // Nobody has measured these.
    expect(compile(text, options({ dtype: "bf16" })).considered.length).toBeGreaterThan(2);
    expect(compile(text, options({ ranks: 4 })).considered.length).toBeGreaterThan(2);
  });

  it("takes what the file says, even a way that the model would not take", async () => {
    const file = readTuneFile(path)!;
    const plans = [
      {
        ...file.plans[0]!,
        choices: [
          { below: 7, way: "reduce/scatter" },
          { below: null, way: "reduce/pull" },
        ],
      },
    ];
    const own = join(folder, "own.json");
    await saveTuned(own, { ...file, plans });
    const { manifest } = compile(text, options({ tuned: tunedFromDisk(own) }));
    expect(manifest!.kernels.map((k) => k.name)).toEqual(["reduce/scatter", "reduce/pull"]);
    expect(manifest!.plan.choices.map((c) => c.below)).toEqual([7, null]);
  });

  it("leaves NCCL out where a program is not for a group on GPUs", async () => {
    const file = readTuneFile(path)!;
    const measured = { 64: { "reduce/pull": 5, nccl: 4 }, 4096: { "reduce/pull": 9, "reduce/scatter": 8, nccl: 4 } };
    const own = join(folder, "nccl.json");
    await saveTuned(own, { ...file, plans: [{ ...file.plans[0]!, measured, choices: choicesOf(measured) }] });
    expect(tunedFromDisk(own, { withLibraries: true })("reduce", "f32", 2)).toEqual([{ below: null, way: "nccl" }]);
    expect(tunedFromDisk(own)("reduce", "f32", 2)).toEqual([
      { below: 512, way: "reduce/pull" },
      { below: null, way: "reduce/scatter" },
    ]);
  });

  it("is what explain explains, NCCL's choice too, but of no machine that is named", async () => {
    const measured = { 64: { "all_gather/push": 5, nccl: 6 }, 4096: { "all_gather/push": 9, nccl: 4 } };
    const plan = {
      ...{ conversion: "all_gather", dtype: "bf16" as const, ranks: 4, library: libraryDigest("all_gather") },
      ...{ measured, choices: choicesOf(measured) },
    };
    const cache = join(folder, "cache");
    mkdirSync(cache, { mode: 0o700 });
    await saveTuned(join(cache, "tune.json"), { ...readTuneFile(path)!, plans: [plan] });
    vi.stubEnv("COLLC_CACHE_DIR", cache);
    const explained = async (...args: readonly string[]): Promise<string> =>
      (await collc(["explain", kernel("all_gather"), "--ranks", "4", ...args], {})).out;
    expect(await explained("--dim", "n=64")).toMatch(
      /Measured on this machine by `collc tune`[^]*all_gather\/push is predicted/,
    );
    expect(await explained("--dim", "n=8192")).toMatch(/nccl does these sizes with its own collective/);
    expect(await explained("--dim", "n=8192", "--machine", "h200x4")).not.toMatch(/Measured on this machine|nccl/);
  });

  it("forgets the plan of a library that has changed, and refuses one of ways that are no more", async () => {
    const file = readTuneFile(path)!;
    const other = join(folder, "other.json");
    const written = async (changes: object): Promise<ReturnType<typeof tunedFromDisk>> => {
      await saveTuned(other, { ...file, plans: [{ ...file.plans[0]!, ...changes }] });
      return tunedFromDisk(other);
    };
    expect((await written({ library: "0" }))("reduce", "f32", 2)).toBeNull();
    const gone = await written({ choices: [{ below: null, way: "reduce/gone" }] });
    expect(() => compile(text, options({ tuned: gone }))).toThrow("takes reduce/gone, which there is not");
  });

  it("keeps nothing where there is nothing to choose from, and names what is left out", async () => {
    const none = join(folder, "none.json");
    const tuned = (...argv: readonly string[]): ReturnType<typeof collc> =>
      collc(["tune", ...argv, "--backend", "cpu", "--ranks", "2", "--dtype", "bool"], {});
    const { code, err } = await tuned("all_reduce", "--out", none);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("of bool, there are no two ways to choose from: all_reduce"),
    ]);
    expect(existsSync(none)).toBe(false);
    expect((await tuned("all_reduce", "gather", "--out", none)).err).toMatch(/^left out.* of bool: all_reduce\n$/);
    expect(readTuneFile(none)!.plans.map((plan) => plan.conversion)).toEqual(["gather"]);
    expect((await tuned("gather", "--out", folder)).err).toContain("is a folder, not a file");
  });

  it("takes no broken file, and keeps plans of other dtypes", async () => {
    const file = readTuneFile(path)!;
    const broken = join(folder, "broken.json");
    const bad = (plan: object): TuneFile => ({ ...file, plans: [{ ...file.plans[0]!, ...plan }] });
    for (const content of [
      "{",
      "[]",
      JSON.stringify({ ...file, formatVersion: 2 }),
      JSON.stringify(bad({ choices: [] })),
      JSON.stringify(bad({ choices: [{ below: 5, way: "a" }] })),
      JSON.stringify(bad({ choices: [{ below: 5, way: "a" }, { below: 5, way: "b" }, { below: null, way: "a" }] })), // prettier-ignore
    ]) {
      writeFileSync(broken, content);
      expect(readTuneFile(broken), content).toBeNull();
    }
    const merged = join(folder, "merged.json");
    await saveTuned(merged, file);
    await saveTuned(merged, bad({ dtype: "bf16" }));
    expect(readTuneFile(merged)!.plans.map((p) => p.dtype)).toEqual(["f32", "bf16"]);
    await saveTuned(merged, { ...file, machine: "another" });
    expect(readTuneFile(merged)!.plans.map((p) => p.dtype)).toEqual(["f32"]);
  });

  it("says what it cannot do", async () => {
    const emulated = await collc(["tune", "reduce", "--backend", "cpu"]);
    expect([emulated.code, emulated.err]).toEqual([2, expect.stringContaining("emulation say nothing")]);
    const misspelt = await collc(["tune", "reduse", "--backend", "cpu", "--out", path]);
    expect([misspelt.code, misspelt.err]).toEqual([2, expect.stringContaining("reduce")]);
  });
});
