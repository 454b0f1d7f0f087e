import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { suites } from "../../src/bench/suites.js";
import { svgPlot } from "../../src/bench/plot.js";
import { bestOf, benchTable } from "../../src/bench/table.js";
import { collc, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const bench = (...argv: string[]): ReturnType<typeof collc> =>
  collc(["bench", ...argv, "--backend", "cpu", "--outer", "2", "-o", folder]);

describe("collc bench", () => {
  it("prints a table, saves the result and a plot", async () => {
    const { code, out, err } = await bench("all_reduce", "--sizes", "256,4Ki", "--ranks", "2", "--svg");
    expect(err).toBe("");
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
    expect(readFileSync(join(folder, names[1]!), "utf8")).toMatch(/^<svg [\s\S]*<polyline[\s\S]*<\/svg>\n$/);
  });

  it("keeps earlier results of the day", async () => {
    await bench("broadcast", "--sizes", "64");
    await bench("broadcast", "--sizes", "64");
    expect(readdirSync(folder).filter((name) => name.includes("broadcast"))).toHaveLength(2);
  });

  it("prints JSON and saves nothing when told so", async () => {
    const before = readdirSync(folder).length;
    const { code, out } = await bench("matmul", "--sizes", "32x48x64", "--json", "--no-save");
    expect(code).toBe(0);
    const { rows } = JSON.parse(out) as {
      rows: { label: string; kernels: Record<string, { us: { median: number } }> }[];
    };
    expect(rows[0]!.label).toBe("32×48×64");
    expect(rows[0]!.kernels["matmul/reduce_scatter"]!.us.median).toBeGreaterThan(0);
    expect(readdirSync(folder)).toHaveLength(before);
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
  it("compares the best kernel with the peer and explains gaps", () => {
    const row = {
      label: "1 KiB",
      size: 1024,
      dims: { n: 512 },
      kernels: { "a/slow": cell(8), "a/fast": cell(4), "a/none": { problem: "n=512 does not divide by 3" } },
      peers: { nccl: cell(6) },
    };
    expect(bestOf(row.kernels)).toEqual({ name: "a/fast", us: 4 });
    const text = benchTable({ rows: [row], peers: [{ name: "nccl", version: "2.28" }] }, "bytes", plain);
    expect(text).toContain("1.50×");
    expect(text).toContain("1 KiB, a/none: n=512 does not divide by 3");
  });

  it("draws lines with one point, and escapes names", () => {
    const svg = svgPlot({
      title: "a<b",
      subtitle: "",
      xTitle: "",
      yTitle: "",
      xLabel: String,
      lines: [{ name: "x&y", isPeer: true, points: [[1024, 5]] }],
    });
    expect(svg).toContain("a&#60;b");
    expect(svg).not.toMatch(/NaN|Infinity/);
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
