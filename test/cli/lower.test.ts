/** `collc lower`: the partition of an FX graph, for people and as JSON. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parseManifest } from "../../src/cli/aot/manifest.js";
import { libraryDigest } from "../../src/runtime/tuned.js";
import { useFakeCompiler } from "../aot/support.js";
import { Dump } from "../graph/fx-support.js";
import { collc, temporaryFolder } from "./support.js";

const folder = temporaryFolder();

interface Built {
  readonly parts: readonly {
    readonly kind: string;
    readonly program?: string;
    readonly inputs: readonly { readonly name: string; readonly tensor: string }[];
    readonly outputs: readonly { readonly name: string }[];
  }[];
  readonly copy: { readonly seconds: number; readonly bytesPerSecond: number };
  readonly report: string;
}

/** What `--json` prints of a partition. */
interface Lowered {
  readonly conversions: string | null;
  readonly parts: readonly { readonly kind: string; readonly seconds: number }[];
  readonly edges: readonly { readonly to: string; readonly isFused: boolean; readonly apart: number | null }[];
}

const closeTo = (seconds: number): number => expect.closeTo(seconds, 9) as number;

function write(name: string, value: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(value));
  return path;
}

function layer(): string {
  const d = new Dump(4, "bfloat16", "tail");
  const [x, w, residual] = [d.input("x", [16, 512]), d.input("w", [512, 512]), d.input("residual", [16, 512])];
  return write("tail.json", d.graph(d.pointwise("add", d.reduce(d.mm(x, w)), residual)));
}

describe("collc lower", () => {
  it.each([
    ["sm_75", "sm_75", "h200x4"],
    ["sm_100a", "sm_100a", "h200x4"],
    ["sm_80", null, "a100x8"],
  ])("says whose times they are where it knows no machine of %s", async (arch, standsFor, machine) => {
    const { out } = await collc(["lower", layer(), "--arch", arch]);
    const said = `programs are for ${arch}, times are those of ${machine}, which is of another architecture\n`;
    expect(out.includes(said)).toBe(standsFor !== null);
    const json = JSON.parse((await collc(["lower", layer(), "--arch", arch, "--json"])).out) as object;
    expect(json).toMatchObject({ machine, standsFor });
  });

  it("takes graphs of many MiB: those of whole models, forward and backward, are as long", async () => {
    const d = new Dump(2, "bfloat16", "long");
    const text = JSON.stringify(d.graph(d.reduce(d.input("x", [64, 64]))), null, 2);
    const path = join(folder, "long.json");
    writeFileSync(path, text + " ".repeat(9 * 2 ** 20));
    const { code, out, err } = await collc(["lower", path]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("long: 1 node in 1 step");
  });

  it("prints steps, edges with their reasons, and memory", async () => {
    const { code, out, err } = await collc(["lower", layer(), "--ranks", "4", "--machine", "h200x4"]);
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toMatch(/^tail: 3 nodes in \d steps?, 1 of them collc's, for 4 ranks on h200x4\npredicted [\d.]+ µs; /);
    expect(out).toMatch(/all_reduce_1 -> add_1: fused: [\d.]+ µs together, [\d.]+ µs apart/);
    expect(out).toMatch(/mm_1 -> all_reduce_1: (fused: |not fused because together they are predicted to take )/);
  });

  it("prints the same as JSON, with texts that compile and manifests", async () => {
    const { out } = await collc(["lower", layer(), "--fuse", "legal", "--json"]);
    const { parts, edges } = JSON.parse(out) as {
      parts: { kind: string; text: string; manifest: { ranks: number } }[];
      edges: unknown[];
    };
    expect(parts.map((p) => p.kind)).toEqual(["program"]);
    expect(edges).toHaveLength(2);
    expect(parts[0]!.manifest.ranks).toBe(4);
    const program = join(folder, "program.coll");
    writeFileSync(program, parts[0]!.text);
    const emitted = await collc(["emit", program, "--stage", "ast", "--ranks", "4"]);
    expect(emitted.err).toBe("");
    expect(emitted.code).toBe(0);
  });

  describe("says of what is no graph what to do", () => {
    const graph = JSON.parse(readFileSync(layer(), "utf8")) as { nodes: { op: string; shape: number[] }[] };
    const negative = graph.nodes.map((node) => (node.op === "placeholder" ? { ...node, shape: [-1, 512] } : node));
    const some = layer();

    it.each([
      [{ ...graph, nodes: negative }, [], /node 'x': shape\.0: it must be >= 0/],
      [{ ...graph, nodes: graph.nodes.slice(0, -1) }, [], /has one output node\nhelp: end it with/],
      [{ ...graph, sizes: { m: { min: 2, max: 1 } } }, [], /the range\nhelp: give a hint/],
      [graph, ["--machine", "h200x2"], /h200x2 has 2 GPUs, not 4\nhelp: machines with so many: h200x4/],
      [graph, ["--measured", write("list.json", [])], /holds no seconds by node/],
      [graph, ["--measured", folder], /is a folder, not a file\nhelp: name a file in it: .*tail\.json/],
      [graph, ["--build", some], /tail\.json is a file, not a folder\nhelp: name another folder\n/],
    ])("%#", async (value, argv, message) => {
      const { code, err } = await collc(["lower", write("wrong.json", value), ...argv]);
      expect([code, err]).toEqual([2, expect.stringMatching(message)]);
    });

    it("JSON that is nested without an end", async () => {
      const { code, err } = await collc(["lower", "-"], { stdin: "[".repeat(20_000) + "]".repeat(20_000) });
      expect([code, err]).toEqual([2, expect.stringContaining("nested more than 500 deep")]);
    });

    it("times of what is no node, which go for nothing", async () => {
      const { code, err } = await collc(["lower", some, "--measured", write("other.json", { mm_9: 1e-6 })]);
      expect([code, err]).toEqual([0, expect.stringMatching(/^warning: .* no node of the graph: mm_9\n$/)]);
    });
  });

  it("takes seconds that were measured", async () => {
    const measured = write("measured.json", { all_reduce_1: 1e-9, add_1: 1e-9, mm_1: 1e-9 });
    const { out } = await collc(["lower", layer(), "--measured", measured]);
    expect(out).toContain("0 of them collc's");
    expect(out).toContain("NCCL     all_reduce_1");
  });

  describe("with what collc tune has measured", () => {
    /** all_reduce of 16×512 and 1024×512, by itself: microseconds of a way of collc's, and of NCCL. */
    function tuned(
      way: string,
      own: readonly [number, number],
      nccl: readonly [number, number],
      machine = "NVIDIA H200",
    ): void {
      const [small, large] = [2 ** 13, 2 ** 19];
      const measured = { [small]: { [way]: own[0], nccl: nccl[0] }, [large]: { [way]: own[1], nccl: nccl[1] } };
      const plan = { conversion: "all_reduce", dtype: "bf16", ranks: 4, library: libraryDigest("all_reduce"), choices: [{ below: null, way }], measured }; // prettier-ignore
      const cache = mkdtempSync(join(folder, "tuned-"));
      writeFileSync(join(cache, "tune.json"), JSON.stringify({ formatVersion: 1, collcVersion: "0.1.0", machine, date: "2026-11-27T10:00:00Z", plans: [plan] })); // prettier-ignore
      vi.stubEnv("COLLC_CACHE_DIR", cache);
    }
    afterEach(() => vi.unstubAllEnvs());

    /** An all_reduce of so many rows. */
    function alone(rows: number): string {
      const d = new Dump(4, "bfloat16", "alone");
      return write("alone.json", d.graph(d.reduce(d.input("x", [rows, 512]))));
    }
    const lowered = async (file: string): Promise<Lowered> =>
      JSON.parse((await collc(["lower", file, "--machine", "h200x4", "--json"])).out) as Lowered;

    it("a collective by itself is whoever's took less time, and the rest is held against NCCL's", async () => {
      tuned("all_reduce/two_shot", [20, 40], [30, 35]);
      const small = await lowered(alone(16));
      expect(small.conversions).toBe("NVIDIA H200, 2026-11-27, by collc tune");
      expect(small.parts).toMatchObject([{ kind: "program", seconds: closeTo(20e-6), baseline: closeTo(30e-6) }]);
      const large = await lowered(alone(1024));
      expect(large.parts).toMatchObject([{ kind: "external", by: "nccl", seconds: closeTo(35e-6), why: "35.0 µs was measured, 40.0 µs of collc's program" }]); // prettier-ignore
      // 2¹⁶ elements are half way between 2¹³ and 2¹⁹, as logarithms go.
      const between = await lowered(alone(128));
      expect(between.parts).toMatchObject([{ seconds: closeTo(Math.sqrt(20 * 40) * 1e-6), baseline: closeTo(Math.sqrt(30 * 35) * 1e-6) }]); // prettier-ignore
      // Less than was measured takes as long, more in proportion.
      expect((await lowered(alone(4))).parts).toMatchObject([{ seconds: closeTo(20e-6) }]);
      expect((await lowered(alone(4096))).parts).toMatchObject([{ seconds: closeTo(140e-6) }]);
      const { out } = await collc(["lower", alone(16), "--machine", "h200x4"]);
      expect(out).toContain(
        "\ntimes of collectives by themselves were measured: NVIDIA H200, 2026-11-27, by collc tune\n",
      );
    });

    it("decides what is fused", async () => {
      tuned("all_reduce/two_shot", [0.01, 0.01], [0.01, 0.01]);
      expect((await lowered(layer())).parts.map(({ kind }) => kind)).toEqual(["external", "program", "external"]);
      tuned("all_reduce/two_shot", [500, 500], [400, 400]);
      const [verdict] = (await lowered(layer())).edges.filter(({ to }) => to === "add_1");
      expect(verdict).toMatchObject({ isFused: true });
      expect(verdict!.apart).toBeGreaterThan(400e-6);
    });

    it("goes for nothing on other GPUs, and beside what the caller has measured", async () => {
      tuned("all_reduce/two_shot", [20, 40], [30, 35], "NVIDIA A100-SXM4-80GB");
      expect((await lowered(alone(16))).conversions).toBeNull();
      tuned("all_reduce/two_shot", [20, 40], [30, 35]);
      const measured = write("nccl.json", { all_reduce_1: 10e-6 });
      const { out } = await collc(["lower", alone(16), "--machine", "h200x4", "--measured", measured, "--json"]);
      expect((JSON.parse(out) as Lowered).parts).toMatchObject([{ by: "nccl", seconds: closeTo(10e-6) }]);
    });
  });

  it("builds the programs, with the partition beside them", async () => {
    useFakeCompiler();
    const d = new Dump(2, "bfloat16", "twice");
    const [x, y] = [d.input("x", [8, 64]), d.input("y", [8, 64])];
    const file = write("twice.json", d.graph(d.gather(d.pointwise("relu", x)), d.gather(d.pointwise("relu", y))));
    const out = join(folder, "built");
    const { code, err } = await collc(["lower", file, "--caller", "kernels", "--arch", "sm_80", "--build", out]);
    expect([code, err]).toEqual([0, ""]);
    const manifest = parseManifest(out, readFileSync(join(out, "manifest.json"), "utf8"));
    const partition = JSON.parse(readFileSync(join(out, "partition.json"), "utf8")) as Built;
    // The same twice is one program, whose parameters both steps name.
    expect(manifest.programs.map((p) => [p.ranks, p.targets.map((t) => t.arch)])).toEqual([[2, ["sm_80"]]]);
    const [program] = manifest.programs;
    const steps = partition.parts.filter((part) => part.kind === "program");
    expect(steps.map((step) => step.program)).toEqual([program!.name, program!.name]);
    expect(steps.map((step) => step.inputs[0]!.tensor)).toEqual(["x", "y"]);
    for (const { inputs, outputs } of steps)
      expect([...inputs, ...outputs].map((b) => b.name)).toEqual([...program!.inputs, ...program!.outputs].map((t) => t.name)); // prettier-ignore
    expect(partition.copy.bytesPerSecond).toBeGreaterThan(1e11);
    // Of the architecture that was asked for, also where nobody names a machine.
    expect(partition.report).toContain("for 2 ranks on a100x8\n");
    expect(partition.report).toContain("kernel by kernel");
  });

  it("builds for one architecture at a time", async () => {
    const { code, err } = await collc(["lower", layer(), "--arch", "sm_80,sm_90a", "--build", join(folder, "two")]);
    expect(code).toBe(2);
    expect(err).toContain("a partition is of one architecture");
  });

  it.each([
    ["no JSON", "not json", /is no JSON/],
    ["another JSON", "{}", /the FX graph: 'format' is missing/],
  ])("refuses %s", async (_, stdin, message) => {
    const { code, err } = await collc(["lower", "-"], { stdin });
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
