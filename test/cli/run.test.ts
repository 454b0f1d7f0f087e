import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fromWire, toWire } from "../../src/bench/wire.js";
import { collc, collcProcess, file, forgetful, isBuilt, kernel, oneShot, temporaryFolder } from "./support.js";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/runtime/native.js";

const cpu = (path: string, ...rest: string[]): ReturnType<typeof collc> =>
  collc(["run", path, "--backend", "cpu", ...rest]);

describe("collc run on emulated ranks", () => {
  const folder = temporaryFolder();

  it("prints a result that says what was checked", async () => {
    const { code, out, err } = await cpu(kernel("all_reduce/one_shot"), "--ranks", "4", "--dim", "n=1Ki");
    expect(code).toBe(0);
    expect(err).toBe("");
    expect(out).toMatch(/one_shot {2}x: partial\(sum\) → y: replicated/);
    expect(out).toMatch(/✓ correct.*largest error.*bitwise equal on all ranks/);
    expect(out).toMatch(/n=1024 · bf16 · 2.00 KiB/);
    expect(out).toMatch(/algorithm .* GB\/s · bus .* GB\/s/);
  });

  it("prints one JSON object with exactly the documented keys", async () => {
    const { code, out } = await cpu(
      kernel("all_gather/push"),
      "--ranks",
      "2",
      "--dtype",
      "f32",
      "--dim",
      "n=256",
      "--iters",
      "3",
      "--json",
    );
    expect(code).toBe(0);
    expect(out.trim().split("\n")).toHaveLength(1);
    const result = JSON.parse(out) as Record<string, unknown>;
    expect(Object.keys(result)).toEqual([
      ...["collective", "ranks", "backend", "dtype", "dims", "ranksPerDomain", "correct", "maxError"],
      ...["tolerance", "unbounded", "unspecified", "checked", "total", "firstMismatch"],
      ...["bitwiseEqualAcrossRanks", "timeUs", "algorithmBandwidthGBs", "busBandwidthGBs"],
    ]);
    expect(result).toMatchObject({
      collective: "push",
      ranks: 2,
      backend: "cpu",
      dtype: "f32",
      dims: { n: 256 },
      correct: true,
      maxError: 0,
      bitwiseEqualAcrossRanks: true,
    });
    expect(Object.keys(result["timeUs"] as object)).toEqual(["median", "min", "max"]);
    const { median } = result["timeUs"] as { median: number };
    expect(result["algorithmBandwidthGBs"]).toBeCloseTo((256 * 4) / (median * 1e3), 10);
    expect(result["busBandwidthGBs"]).toBeCloseTo((256 * 4) / 2 / (median * 1e3), 10);
  });

  it("says of how much nothing bounds the error", async () => {
    const program = (value: string, where = ""): string => file(folder, "unbounded.coll", `collective f(x: f32[n] sharded(0), v: f32[n] sharded(0)) -> y: f32[n] sharded(0) ${where} { y = ${value} }`); // prettier-ignore
    const run = async (path: string): Promise<string> => (await cpu(path, "--ranks", "2", "--dim", "n=1024")).out;
    expect(await run(program("pow(0 - v * v - 1, x + 0.5)"))).toMatch(
      /\? ran to its end; nothing bounds the error of any element/,
    );
    const half = await run(program("pow(v, x + 0.5)"));
    expect(half).toMatch(/✓ correct/);
    expect(half).toMatch(
      /[45]\d % of the elements may be anything at this data: a root or a power of what may be negative/,
    );
    expect(await run(program("sqrt(v)", "where v in 1..100"))).not.toContain("may be anything");
    const { out } = await cpu(program("pow(0 - v * v - 1, x + 0.5)"), "--ranks", "2", "--json");
    expect(JSON.parse(out)).toMatchObject({ correct: true, unbounded: 1 });
  });

  it("gives a launch its numbers, and says which", async () => {
    const path = file(
      folder,
      "scaled.coll",
      "collective scaled(x: f32[n] partial(sum), alpha: f32, step: u32) -> y: f32[n] replicated {\n  y = all_reduce(x * alpha) + f32(step)\n}\n",
    );
    const given = await cpu(path, "--ranks", "2", "--dim", "n=64", "--set", "alpha=-1e-3,step=7");
    expect(given).toMatchObject({ code: 0 });
    expect(given.out).toMatch(/n=64 · alpha=-0\.001 · step=7 .*\n.*✓ correct/);
    expect((await cpu(path, "--ranks", "2", "--dim", "n=64")).out).toMatch(/alpha=0\.5 · step=3/);
    const misspelt = await cpu(path, "--ranks", "2", "--set", "alhpa=1");
    expect(misspelt).toMatchObject({ code: 2 });
    expect(misspelt.err).toContain("scaled takes no number 'alhpa'");
    expect(misspelt.err).toContain("did you mean 'alpha'?");
    expect((await cpu(path, "--ranks", "2", "--set", "step=1.5")).err).toContain("a whole number from 0 to 4294967295");
  });

  it("gives the same errors for the same seed, and others for another", async () => {
    const error = async (seed: string): Promise<unknown> =>
      (
        JSON.parse((await cpu(kernel("all_reduce/two_shot"), "--dim", "n=999", "--seed", seed, "--json")).out) as {
          maxError: unknown;
        }
      ).maxError;
    expect(await error("5")).toBe(await error("5"));
  });

  it("a wrong result names the first mismatch and exits with 1", async () => {
    const path = file(folder, "forgetful.coll", forgetful);
    const { code, out, err } = await cpu(path, "--ranks", "2", "--dim", "n=64");
    expect(code).toBe(1);
    expect(out).toContain("✗ wrong");
    expect(err).toMatch(/first on rank \d+ at y\[\d+\]: expected .*, got /);
    const json = await cpu(path, "--ranks", "2", "--dim", "n=64", "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      ...{ correct: false, timeUs: null, unspecified: [], checked: 64, total: 64 },
      firstMismatch: { output: "y", rank: expect.any(Number) as number, index: expect.any(Number) as number },
    });
    expect(json.err).toContain("first on rank");
  });

  it("knows the program's own roundings, of long tensors where elements keep their places, and says so where they do not", async () => {
    const path = file(
      folder,
      "wire.coll",
      `collective wire(x: f32[n] local) -> y: f32[n] local ensures y[i] == x@((rank + 1) % world)[i] {
        scratch box: f16[n]
        for i in tiles(n) { box@((rank - 1) % world)[i] = x[i] }
        for i in tiles(n) { y[i] = f32(box[i]) }
      }`,
    );
    const args = ["--ranks", "3", "--iters", "1", "--dim"];
    expect(await cpu(path, ...args, "n=1Mi")).toMatchObject({ code: 0, out: expect.stringContaining("✓ correct") as string }); // prettier-ignore
    const turned = file(folder, "turned.coll", readFileSync(path, "utf8").replace("f32(box[i])", "f32(box[n - 1 - i])").replace("world)[i] {", "world)[n - 1 - i] {")); // prettier-ignore
    expect((await cpu(turned, ...args, "n=1Mi")).err).toContain("are known only where elements keep their places");
    expect((await cpu(turned, ...args, "n=64Ki")).out).toContain("✓ correct");
  });

  it("knows what a product's parts are rounded to on the way between ranks of a row, whatever its tiles have room for", async () => {
    const program = file(
      folder,
      "row_parallel.coll",
      `collective row_parallel(x: T[m, k] sharded(0, dp) sharded(1, tp), w: T[k, n] replicated(dp) sharded(0, tp))
        -> y: T[m, n] sharded(0, dp) sharded(1, tp) mesh(dp, tp) { y = reduce_scatter(x @ w, dim: 1, over: tp) }`,
    );
    const sizes = ["--dim", "m=14", "k=33", "n=9"];
    const { code, out, err } = await collc([
      "run",
      program,
      "--mesh",
      "2x3",
      "--backend",
      "cpu",
      "--iters",
      "1",
      ...sizes,
    ]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("✓ correct");
  });

  it("a dimension that cannot be divided: the reason and the nearest values, exit 2", async () => {
    const { code, err } = await cpu(kernel("reduce_scatter/pull"), "--ranks", "4", "--dim", "n=1022");
    expect(code).toBe(2);
    expect(err).toMatch(/n=1022 does not divide by 4/);
    expect(err).toMatch(/sharded\(0\)/);
    expect(err).toMatch(/n=1020 or n=1024/);
  });

  it("a tail is fine where the layout allows it", async () => {
    expect((await cpu(kernel("all_reduce/ring"), "--ranks", "3", "--dim", "n=1021")).code).toBe(0);
  });

  it("a dimension that is not there: did you mean", async () => {
    const { code, err } = await cpu(kernel("matmul/reduce_scatter"), "--dim", "mm=64");
    expect(code).toBe(2);
    expect(err).toMatch(/no dimension 'mm'[\s\S]*did you mean 'm'\?/);
  });

  it("sizes that no machine holds: exit 2, before anything is allocated", async () => {
    const { code, err } = await cpu(kernel("all_reduce/ring"), "--dim", "n=4000000000000");
    expect(code).toBe(2);
    expect(err).toMatch(/n=4000000000000 asks for .* TiB of memory/);
  });

  it("an access outside a tensor names the place in the program", async () => {
    const path = file(folder, "outside.coll", oneShot.replace("x@p[i]", "x@p[i + 1]"));
    const { code, err } = await cpu(path, "--dim", "n=10");
    expect(code).toBe(1);
    expect(err).toMatch(/outside\.coll:3:\d+, rank 0: index 10 of dimension 0 lies outside 'x', which has 10/);
  });

  it("chooses dimensions that fit three ranks by itself", async () => {
    const { code, out } = await cpu(kernel("all_to_all/push"), "--ranks", "3", "--iters", "1", "--json");
    expect(code).toBe(0);
    const { dims } = JSON.parse(out) as { dims: { m: number; n: number } };
    expect(dims.m % 3).toBe(0);
    expect(dims.n % 3).toBe(0);
  });

  it("runs every world from 1 to 8", async () => {
    const path = file(folder, "one_shot.coll", oneShot);
    for (let ranks = 1; ranks <= 8; ranks++)
      expect((await cpu(path, "--ranks", String(ranks), "--dim", "n=77", "--iters", "1")).code).toBe(0);
  });
});

describe.runIf(isBuilt)("collc run on GPUs that are not there", () => {
  it("exits with 3 and says what to do", async () => {
    const { code, err } = await collcProcess(["run", kernel("all_reduce/ring"), "--backend", "cuda"], {
      env: { LD_LIBRARY_PATH: "" },
    });
    if (code === 0) return; // a machine with GPUs
    expect(code).toBe(3);
    expect(err).toMatch(/help: .*(driver|--backend cpu)/);
  });

  it("names a missing addon, and how to build it", async () => {
    const { code, err } = await collcProcess(["run", kernel("all_reduce/ring"), "--backend", "cuda"], {
      env: { COLLC_ADDON: "/nowhere/collc.node" },
    });
    expect(code).toBe(3);
    expect(err).toMatch(/\/nowhere\/collc\.node: not there[\s\S]*npm run build:native/);
  });

  it("a wrong COLLC_NVRTC is named", async () => {
    const { code, err } = await collcProcess(["emit", kernel("all_reduce/ring"), "--stage", "ptx"], {
      env: { COLLC_NVRTC: "/nowhere/libnvrtc.so" },
    });
    expect(code).toBe(3);
    expect(err).toMatch(/COLLC_NVRTC=\/nowhere\/libnvrtc\.so/);
  });

  const fake = join(packageRoot(), "build/Release/fake-cuda");
  it.skipIf(!existsSync(fake))("more ranks than GPUs: exit 3 with the number that would do", async () => {
    const { code, err } = await collcProcess(["run", kernel("all_reduce/ring"), "--backend", "cuda", "--ranks", "64"], {
      env: { LD_LIBRARY_PATH: fake },
    });
    expect(err).toMatch(/64 ranks need 64 GPUs; this machine has \d+/);
    expect(err).toMatch(/--ranks \d+, or --backend cpu/);
    expect(code).toBe(3);
  });
});

describe("between ranks", () => {
  it("carries what JSON does not have", () => {
    const value = { a: [1, Infinity, -Infinity, null, "x"], b: { c: Number.NaN } };
    expect(fromWire(toWire(value))).toEqual(value);
  });
});
