/** `collc lower`: the partition of an FX graph, for people and as JSON. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseManifest } from "../../src/cli/aot/manifest.js";
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

  it("takes seconds that were measured", async () => {
    const measured = write("measured.json", { all_reduce_1: 1e-9, add_1: 1e-9, mm_1: 1e-9 });
    const { out } = await collc(["lower", layer(), "--measured", measured]);
    expect(out).toContain("0 of them collc's");
    expect(out).toContain("NCCL     all_reduce_1");
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
