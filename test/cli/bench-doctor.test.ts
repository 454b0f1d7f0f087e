import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bestOf, geometricMean, ratioOf } from "../../src/bench/cells.js";
import { layerCases, layerRows, modelNames } from "../../src/bench/layers.js";
import { floorOf, type MachineFacts } from "../../src/bench/machine.js";
import { plotOf, specificationOf } from "../../src/bench/plot.js";
import type { BenchResult } from "../../src/bench/results.js";
import { groups, suites } from "../../src/bench/suites.js";
import { benchTable, markdownTable } from "../../src/bench/table.js";
import { collc, entry, isBuilt, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const bench = (...argv: string[]): ReturnType<typeof collc> =>
  collc(["bench", ...argv, "--backend", "cpu", "--outer", "2", "-o", folder]);

describe("collc bench", () => {
  it("prints a table, saves the result and a plot", async () => {
    const { code, out, err } = await bench("all_reduce", "--sizes", "256,4Ki", "--ranks", "2", "--svg");
    expect(err).toMatch(/^saving each case in \S+2x-cpu-all_reduce\.json\n$/);
    expect(code).toBe(0);
    expect(out).toMatch(/4 KiB/);
    const names = readdirSync(folder).sort();
    expect(names).toHaveLength(2);
    expect(names[0]).toMatch(/^\d{4}-\d\d-\d\d-2x-cpu-all_reduce\.json$/);
    const saved = JSON.parse(readFileSync(join(folder, names[0]!), "utf8")) as {
      machine: Record<string, unknown>;
      rows: { kernels: object }[];
    };
    expect(Object.keys(saved.machine)).toEqual(["cpu", "gpus", "driver", "nvrtc", "node", "collc", "commit"]);
    expect(saved.rows).toHaveLength(2);
    expect(Object.keys(saved.rows[0]!.kernels)).toEqual([...suites.all_reduce.kernels]);
    expect(readFileSync(join(folder, names[1]!), "utf8")).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });

  it.runIf(isBuilt)("keeps what was measured of a run that is killed", async () => {
    const sizes = Array.from({ length: 400 }, (_, i) => 64 * (i + 1)).join(",");
    const args = ["bench", "broadcast", "--sizes", sizes, "--ranks", "2", "--backend", "cpu", "-o", folder];
    const child = spawn(process.execPath, [entry, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.setEncoding("utf8").once("data", () => child.kill("SIGKILL"));
    const [said] = (await once(child.stderr, "data")) as [string];
    const [, signal] = (await once(child, "exit")) as [number | null, string | null];
    expect(signal).toBe("SIGKILL");
    const path = /^saving each case in (\S+)\n/.exec(said)?.[1] ?? "";
    const { rows } = JSON.parse(readFileSync(path, "utf8")) as { rows: { label: string }[] };
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThan(400);
    expect(rows[0]!.label).toBe("64 B");
    rmSync(path);
  });

  it("keeps earlier results of the day", async () => {
    await bench("broadcast", "--sizes", "64");
    await bench("broadcast", "--sizes", "64");
    // What is killed while it writes leaves what it had not renamed yet, whose name ends as that of a result does.
    expect(readdirSync(folder).filter((name) => /^\d{4}-.*broadcast.*\.json$/.test(name))).toHaveLength(2);
  });

  it("prints JSON and saves nothing when told so", async () => {
    const before = readdirSync(folder).length;
    const { code, out } = await bench("matmul_reduce_scatter", "--sizes", "32x48x64", "--json", "--no-save");
    expect(code).toBe(0);
    const { rows } = JSON.parse(out) as {
      rows: { label: string; kernels: Record<string, { us: { median: number } }> }[];
    };
    expect(rows[0]!.label).toBe("32×48×64");
    expect(rows[0]!.kernels["matmul/reduce_scatter"]!.us.median).toBeGreaterThan(0);
    expect(readdirSync(folder)).toHaveLength(before);
  });

  it.each([
    [["all_reduce", "--dtype", "bool"], "kernels/all_reduce.coll is not for bool: partial(sum) does not fit"],
    [["broadcast", "-o", entry], `${entry} is a file, not a folder`],
  ])("refuses %j", async (argv, message) => {
    const { code, out, err } = await collc(["bench", ...argv, "--sizes", "64", "--backend", "cpu", "--json"]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    expect(JSON.parse(out)).toMatchObject({
      error: { exitCode: 2, message: expect.stringContaining(message) as string },
    });
  });

  it("has the products of models' layers", () => {
    const gathered = layerCases(["llama3-70b"], "gathered", [1, 64], 4);
    expect(gathered.map(({ label, layer }) => [layer, label])).toEqual([
      ["llama3-70b qkv", "64×10240×8192"],
      ["llama3-70b gate and up", "64×57344×8192"],
    ]);
    const labels = layerCases(modelNames, "summed", layerRows, 4).map(({ label }) => label);
    expect(labels).toContain("1×7168×18432");
    expect(new Set(labels).size).toBe(labels.length);
  });

  it.each([
    [["all_reduce", "--layers", "all"], "all_reduce has no products of layers"],
    [["matmul", "--layers", "all", "--sizes", "8x8x8"], "--layers stands in place of --sizes"],
    [["matmul", "--rows", "8"], "--rows goes with --layers"],
    [["all_gather_matmul", "--layers", "llama3-8b", "--rows", "1,3"], "takes rows that 4 ranks share"],
    [["matmul", "--layers", "llama4"], "Models are llama3-8b"],
  ])("says what is wrong with %j", async ([suite, ...args], said) => {
    const { code, err } = await bench(suite!, ...args);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });

  it("has a kernel file for every row of the suites, and sizes that divide", () => {
    for (const suite of Object.values(suites))
      for (const world of [1, 2, 3, 4, 8])
        for (const text of [...suite.defaults.cpu, ...suite.defaults.cuda]) {
          const one = suite.parse(text, 2, world)!;
          expect(one, text).not.toBeNull();
          if (suite.unit === "bytes") {
            const elements = Object.values(one.dims).reduce((a, b) => a * b, 1);
            expect(elements % world).toBe(0);
            const whole = suite.nccl === "allToAll" ? elements / world : elements;
            expect(Math.abs((whole * 2) / one.size - 1)).toBeLessThan(0.06);
          }
        }
  });
});

describe("tables and plots", () => {
  const cell = (us: number): { us: { median: number; min: number; max: number }; maxError: null } => ({
    us: { median: us, min: us, max: us },
    maxError: null,
  });
  const plain = { bold: (s: string) => s, green: (s: string) => s, yellow: (s: string) => s, dim: (s: string) => s };
  const machine: MachineFacts = {
    cpu: "cpu",
    gpus: ["NVIDIA H200"],
    driver: "13.0",
    nvrtc: "13.0",
    node: "20.0.0",
    collc: "0.1.0",
    commit: "abc",
  };
  const result: BenchResult = {
    formatVersion: 1,
    suite: "all_reduce",
    date: "2026-11-22T10:00:00Z",
    backend: "cuda",
    ranks: 4,
    dtype: "bf16",
    timing: { inner: 10, outer: 15 },
    machine,
    peers: [
      { name: "nccl", version: "2.28" },
      { name: "torch one_shot", version: "2.11" },
    ],
    rows: [
      {
        label: "1 MiB",
        size: 2 ** 20,
        dims: { n: 2 ** 19 },
        kernels: { "a/<slow": cell(40), "a/fast": cell(10) },
        peers: { nccl: cell(12), "torch one_shot": { problem: "refused" } },
      },
      {
        label: "1 KiB",
        size: 1024,
        dims: { n: 512 },
        kernels: { "a/<slow": cell(8), "a/fast": { problem: "n=512 does not divide by 3" } },
        peers: { nccl: cell(9), "torch one_shot": cell(4) },
      },
    ],
  };

  it("compares the fastest kernel with the fastest peer and explains gaps", () => {
    const [large, small] = result.rows;
    expect(bestOf(large!.kernels)).toEqual({ name: "a/fast", us: 10 });
    expect(ratioOf(large!)).toBeCloseTo(1.2);
    expect(ratioOf(small!)).toBeCloseTo(0.5);
    expect(ratioOf({ kernels: {}, peers: small!.peers })).toBeNull();
    // A program of one name counts, not the ways that were timed beside it.
    expect(ratioOf({ kernels: { a: cell(20), ...large!.kernels }, peers: large!.peers })).toBeCloseTo(0.6);
    expect(geometricMean([4, 0.25])).toBeCloseTo(1);
    const text = benchTable({ ...result, unit: "bytes", floors: [8, null] }, plain);
    for (const part of [
      "1.20×",
      "0.50×",
      "80 %",
      "1 KiB, a/fast: n=512 does not divide by 3",
      "torch one_shot: refused",
    ])
      expect(text).toContain(part);
    expect(text).toContain("0.77×"); // √(1.2 · 0.5)
  });

  it("knows what the wire allows: one exchange of all for short tensors, two of parts for long ones", () => {
    const suite = suites.all_reduce;
    const microseconds = (bytes: number): number => floorOf(machine, suite, bytes, 4)!;
    expect(microseconds(0)).toBeCloseTo(0.58 + 1.33, 2);
    expect(microseconds(2 ** 28)).toBeCloseTo(0.58 + 2 * 1.33 + (1.5 * 2 ** 28) / 347e3, 0);
    expect(floorOf({ ...machine, gpus: [] }, suite, 1024, 4)).toBeNull();
    expect(floorOf(machine, suites.all_gather_matmul, 1024, 4)).toBeNull();
  });

  it("makes one Markdown table of several suites, by size", () => {
    const lines = markdownTable([result, { ...result, suite: "broadcast", rows: result.rows.slice(1) }]).split("\n");
    expect(lines[0]).toBe("|  | 1 KiB | 1 MiB | geomean |");
    expect(lines[2]).toBe("| all_reduce | 0.50 (8.00 µs) | 1.20 (10.0 µs) | 0.77 |");
    expect(lines[3]).toBe("| broadcast | 0.50 (8.00 µs) | – | 0.50 |");
  });

  it("makes a row of each layer of a model, and a column of its rows", () => {
    const rows = layerCases(["llama3-8b"], "summed", [1, 16], 4).map((one) => ({
      ...one,
      kernels: { "matmul/all_reduce": cell(10) },
      peers: { "cuBLAS + NCCL": cell(one.dims["m"] === 1 ? 20 : 5) },
    }));
    const lines = markdownTable([{ ...result, suite: "matmul_all_reduce", rows }]).split("\n");
    expect(lines[0]).toBe("|  | N×K | 1 row | 16 | geomean |");
    expect(lines[3]).toBe(
      "| matmul + all_reduce | llama3-8b down, 4096×14336 | 2.00 (10.0 µs) | 0.50 (10.0 µs) | 1.00 |",
    );
  });

  it("draws times, bandwidth and ratios, in order of size, and escapes names", async () => {
    const svg = await plotOf(result);
    expect(svg).toMatch(/^<svg[\s\S]*<\/svg>\n$/);
    expect(svg).toContain("a/&lt;slow");
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    const spec = JSON.stringify(specificationOf(result));
    expect(spec).toContain('"sort":["1 KiB","1 MiB"]');
    // 1.5 · 1 MiB in 10 µs.
    expect(spec).toContain(`"bandwidth":${(1.5 * 2 ** 20) / 1e4}`);
    expect(await plotOf({ ...result, suite: "all_gather_matmul", peers: [] })).not.toContain("bandwidth");
  });

  it("says in the README and the pages of results what the committed results say", () => {
    const root = join(import.meta.dirname, "../..");
    const pages = readdirSync(join(root, "bench/results")).filter((name) => name.endsWith(".md"));
    const cells = (text: string): string[] => text.split("|").map((cell) => cell.trim().replace(/^:?-+:?$/, "-"));
    for (const name of ["README.md", ...pages.map((page) => `bench/results/${page}`)]) {
      const marked = /<!-- bench-table ([^>]*?) -->\n([\s\S]*?)<!-- \/bench-table -->/g;
      for (const [, files, table] of readFileSync(join(root, name), "utf8").matchAll(marked)) {
        const results = files!.split(/\s+/).map((f) => JSON.parse(readFileSync(join(root, f), "utf8")) as BenchResult);
        expect(cells(table!.trim()), name).toEqual(cells(markdownTable(results).trim()));
      }
    }
  });

  it("names only suites that exist in its groups", () => {
    for (const name of Object.values(groups).flat()) expect(suites[name].kernels).toHaveLength(1);
    for (const name of groups["collectives"]!) expect(suites[name].nccl).not.toBeNull();
  });
});

describe("collc doctor", () => {
  it("says what is there and what to do about what is not", async () => {
    const { code, out } = await collc(["doctor"]);
    expect(code).toBe(0);
    for (const part of ["addon", "cuda", "nvrtc", "nccl", "cache", "NVRTC was looked for in", "Environment"])
      expect(out).toContain(part);
  });

  it("prints JSON without secrets", async () => {
    const { code, out } = await collc(["doctor", "--json"], {
      env: { COLLC_STORE_SECRET: "geheim", COLLC_BACKEND: "cpu" },
    });
    expect(code).toBe(0);
    const report = JSON.parse(out) as { environment: Record<string, string>; nvrtc: { attempts: unknown[] } };
    expect(report.environment).toMatchObject({ COLLC_BACKEND: "cpu", COLLC_STORE_SECRET: "(set)" });
    expect(out).not.toContain("geheim");
  });

  it("exits with 3 when something required is missing", async () => {
    const { code } = await collc(["doctor", "--require", "nvrtc"], { env: { COLLC_NVRTC: "/nowhere" } });
    expect(code).toBe(3);
  });
});
