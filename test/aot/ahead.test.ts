/**
 * Artefacts in a C program: `collc.c` loads them into the fake driver, which adds up one_shot's numbers for real; of other kernels it
 * checks and notes the launches alone.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { choiceOf, DTYPES, evaluateExtent, launchesOf } from "../../src/compiler/index.js";
import { type ArtefactManifest, manifestProblem } from "../../src/cli/aot/manifest.js";
import { packParameters } from "../../src/runtime/cuda/launch.js";
import { openFakeCuda } from "../native/support.js";
import { collc, file, kernel, temporaryFolder } from "../cli/support.js";
import { IN_PLACE, SCALED } from "./programs.js";
import { compileC, fakeDriver, hasFakes, linesOf, useFakeCompiler } from "./support.js";

const folder = temporaryFolder();
const out = join(folder, "out");
const program = join(folder, "probe");
const KERNELS = ["all_reduce", "all_reduce/one_shot", "reduce_scatter/pull", "matmul/reduce_scatter"];

describe.runIf(hasFakes)("collc.c", () => {
  let manifest: ArtefactManifest;

  beforeAll(async () => {
    useFakeCompiler();
    const files = [
      ...KERNELS.map((name) => kernel(name)),
      file(folder, "scaled.coll", SCALED),
      file(folder, "in_place.coll", IN_PLACE),
    ];
    const built = await collc([
      "build",
      ...files,
      "--ranks",
      "2",
      "--dtype",
      "bf16,f32",
      "--arch",
      "sm_90a",
      "-o",
      out,
    ]);
    expect(built).toMatchObject({ code: 0, err: "" });
    manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as ArtefactManifest;
    expect(manifestProblem(manifest)).toBeNull();
    compileC(out, [join(import.meta.dirname, "probe.c")], program);
  });

  const probe = (mode: string, env: Readonly<Record<string, string>> = {}): string[] =>
    linesOf(program, [fakeDriver, mode, out], { FAKE_CUDA_ATTRIBUTES: "16=132", ...env });

  test("loads, launches, refuses, notices a rank that stays away, and recovers", () => {
    const lines = probe("run");
    const code = (what: string): string[] => lines.filter((line) => line.startsWith(`${what}: `));
    expect(code("nobody")).toEqual(["nobody: 0"]);
    expect(code("load")).toEqual(Array(3).fill("load: 0"));
    expect(code("unattached")[0]).toMatch(/^unattached: 6 .*collc_attach/);
    expect(code("launch")).toEqual(Array(6).fill("launch: 0"));
    expect(code("wrong")).toEqual(Array(4).fill("wrong: 0"));
    expect(code("shifted")[0]).toMatch(/^shifted: 1 'x' is aligned differently on rank 0 .* on rank 1 .*modulo 16/);
    expect(code("null")[0]).toMatch(/^null: 1 'x' of rank 1 is at 0x0/);
    expect(code("other")[0]).toMatch(/^other: 1 these are arguments of coll_all_reduce_w2_bf16/);
    expect(code("negative")[0]).toMatch(/^negative: 2 .*n=-1 is no length/);
    expect(code("unknown").map((line) => line.replace(/coll_\w+/, "P"))).toEqual(["unknown: 1 P has no dimension 'm'", "unknown: 1 P has no tensor 'z'"]); // prettier-ignore
    expect(code("before")).toEqual(["before: 0"]);
    expect(code("late")[0]).toMatch(/^late: 7 rank 0 waited too long for rank 1 in one_shot \(line \d+, flags\[1\]/);
    expect(code("who")).toEqual(["who: 0 for 1 in one_shot, flags"]);
    expect(code("after")).toEqual(["after: 0"]);
    expect(code("odd")[0]).toMatch(
      /^odd: 2 coll_pull_of_reduce_scatter_w2_bf16 is not for n=7: n % 2 == 0 must hold, because /,
    );
    expect(code("large")[0]).toMatch(/^large: 6 .*no room for n=2000/);
  });

  test("launches what the plan has for a size, with the runtime's grid", () => {
    const log = join(folder, "plan.jsonl");
    expect(probe("plan", { FAKE_CUDA_LOG: log })).not.toContain("launch: 1");
    const planned = manifest.programs.find((p) => p.path === "all_reduce")!;
    const [target] = planned.targets;
    expect(target!.plan.choices.length).toBeGreaterThan(1);
    const launches = readFileSync(log, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line) as { launch: string; grid: number[]; cooperative: boolean; early: boolean }); // prettier-ignore
    const wanted = [64, 1000, 40_000, 100_000, 400_000, 1_000_000, 2 ** 22 - 5].flatMap((n) =>
      launchesOf(choiceOf({ plan: target!.plan }, { n })).map((step) => {
        const { symbol, grid, cooperative, early } = target!.kernels[step.kernel]!;
        const work = Math.max(1, ...grid.work.map((e) => evaluateExtent(e, { n })));
        return { launch: symbol, blocks: Math.min(work, step.maxBlocks, 16), cooperative, early };
      }),
    );
    expect(
      launches.map(({ launch, grid, ...how }) => ({
        launch,
        blocks: grid[0]!,
        cooperative: how.cooperative,
        early: how.early,
      })),
    ).toEqual(wanted);
    expect(new Set(wanted.map((w) => w.launch)).size).toBeGreaterThan(1);
  });

  test("a launch is captured into a graph, and replayed: epochs go on", () => {
    const lines = probe("graph");
    const rank = ["capture: 0", "launch: 0", "captured: 0 0"];
    const round = ["replay: 0", "replay: 0", "wrong: 0"];
    expect(lines.slice(1)).toEqual(["load: 0", "begin: 0", ...rank, ...rank, ...round, ...round, ...round, "after: 0"]);
  });

  test("a tensor that is changed in place is one argument", () => {
    const log = join(folder, "in-place.jsonl");
    const lines = probe("in-place", { FAKE_CUDA_LOG: log });
    expect(lines).toContain("launch: 0");
    const { parameters } = JSON.parse(readFileSync(log, "utf8").trimEnd()) as { parameters: string[] };
    const [kernel] = manifest.programs.find((p) => p.path === "in_place" && p.dtypes["T"] === "f32")!.targets[0]!
      .kernels;
    const at = kernel!.parameters.flatMap((p, i) => (p.kind === "peers" && p.buffer === "x" ? [parameters[i]!] : []));
    const words = at.map((hex) => [0, 8].map((o) => Buffer.from(hex, "hex").readBigUInt64LE(o)));
    expect(words).toEqual([
      lines
        .find((line) => line.startsWith("at: "))!
        .slice(4)
        .split(" ")
        .map(BigInt),
    ]);
  });

  test("numbers of the launch reach the kernel, each in its four bytes", () => {
    const log = join(folder, "numbers.jsonl");
    expect(probe("numbers", { FAKE_CUDA_LOG: log })).toContain("numbers: 0");
    const { parameters } = JSON.parse(readFileSync(log, "utf8").trimEnd()) as { parameters: string[] };
    const { kernels } = manifest.programs.find((p) => p.path === "scaled" && p.dtypes["T"] === "f32")!.targets[0]!;
    const at = (name: string): string => parameters[kernels[0]!.parameters.findIndex((p) => p.kind === "scalar" && p.name === name)]!; // prettier-ignore
    expect([at("eps"), at("step")]).toEqual(["0000003f", "07000000"]);
  });

  test("numbers change in an executable graph, without another capture", () => {
    const log = join(folder, "update.jsonl");
    const lines = probe("update", { FAKE_CUDA_LOG: log });
    const said = lines
      .filter((line) => !line.startsWith("at: "))
      .map((line) => line.replace(/(: \d+)\b.*?(has|is) .*/, "$1 …"));
    expect(said.join("\n")).toContain(
      "captured: 0 0 1\nreplay: 0\nreplay: 0\nupdate: 0\nreplay: 0\nreplay: 0\nupdate: 0\nreplay: 0",
    );
    expect(lines.join("\n")).toContain("the stream is not being captured");
    expect(lines.join("\n")).toContain("has other kernels for these dimensions than were captured");
    const { kernels } = manifest.programs.find((p) => p.path === "scaled" && p.dtypes["T"] === "f32")!.targets[0]!;
    const place = (name: string): number =>
      kernels[0]!.parameters.findIndex((p) => p.kind === "scalar" && p.name === name);
    const launched = readFileSync(log, "utf8").trimEnd().split("\n").map((line) => (JSON.parse(line) as { parameters: string[] }).parameters); // prettier-ignore
    // The first is the launch that was to be captured and was not.
    expect(launched.slice(1).map((p) => [p[place("eps")], p[place("step")]])).toEqual([
      ["0000003f", "07000000"],
      ["0000003f", "07000000"],
      ["0000803e", "08000000"],
      ["0000803e", "08000000"],
      ["0000803e", "09000000"],
    ]);
    for (const p of launched) expect(p.filter((_, i) => ![place("eps"), place("step")].includes(i))).toEqual(launched[0]!.filter((_, i) => ![place("eps"), place("step")].includes(i))); // prettier-ignore
  });

  test("packs parameters as the runtime does, tensor maps among them", () => {
    openFakeCuda();
    const log = join(folder, "maps.jsonl");
    const lines = probe("maps", { FAKE_CUDA_LOG: log });
    expect(lines.filter((line) => line.startsWith("launch: "))).toEqual(["launch: 0", "launch: 0"]);
    const [a, b, c, ...workspace] = lines
      .find((line) => line.startsWith("at: "))!
      .slice(4)
      .split(" ")
      .map(BigInt);
    const { kernels } = manifest.programs.find((p) => p.path === "matmul/reduce_scatter" && p.dtypes["T"] === "bf16")!.targets[0]!; // prettier-ignore
    const { parameters, buffers, lengths } = kernels[0]!;
    expect(lengths.length).toBeGreaterThan(0);
    const dims = { m: 256, k: 128, n: 32 };
    // The workspace lies in the order of the buffers, at multiples of 128 bytes.
    const peers: Record<string, bigint[]> = {};
    let at = 0n;
    for (const { name, shape, dtype } of buffers.filter((each) => each.symmetric)) {
      peers[name] = workspace.map((start) => start + at);
      const bytes = shape.reduce<number>((n, e) => n * evaluateExtent(e, dims), DTYPES[dtype].bytes);
      at += BigInt(Math.ceil(bytes / 128) * 128);
    }
    const launched = readFileSync(log, "utf8").trimEnd().split("\n").map((line) => (JSON.parse(line) as { parameters: string[] }).parameters); // prettier-ignore
    const wordAt = (i: number, isThis: (p: (typeof parameters)[number]) => boolean): bigint =>
      Buffer.from(launched[i]![parameters.findIndex(isThis)]!, "hex").readBigUInt64LE();
    for (const [i, shift] of [0n, 2n].entries()) {
      // What the driver has given, which nobody else knows.
      const own = (name: string): bigint => wordAt(i, (p) => p.kind === "pointer" && p.buffer === name);
      const status = wordAt(i, (p) => p.kind === "status");
      const scratch = parameters.flatMap((p) => (p.kind === "pointer" && !["a", "b", "c"].includes(p.buffer) ? [p.buffer] : [])); // prettier-ignore
      expect(scratch).toEqual(expect.arrayContaining(["value", "pieces", "epochs"]));
      const given = Object.fromEntries(scratch.map((name) => [name, own(name)]));
      const pointers = { a: a! + shift, b: b!, c: c!, ...given };
      const packed = packParameters(
        parameters,
        { rank: 1, dims, pointers, peers, timeoutNs: 7n, status },
        buffers,
        lengths,
      );
      const wanted = parameters.map((_, p) => {
        const length = launched[i]![p]!.length / 2;
        return Buffer.from(packed.bytes.subarray(packed.offsets[p]!, packed.offsets[p]! + length)).toString("hex");
      });
      expect(launched[i]).toEqual(wanted);
    }
    const map = parameters.findIndex((p) => p.kind === "tensor-map" && p.buffer === "a");
    expect(launched[0]![map]).toHaveLength(256);
    expect([/^0+$/.test(launched[0]![map]!), /^0+$/.test(launched[1]![map]!)]).toEqual([false, true]);
  });

  /** Multiprocessors and bytes of shared memory: A100, H100 PCIe, H100 SXM, B200; and of a workstation's GPU. */
  test.each([
    [108, 163],
    [114, 227],
    [132, 227],
    [148, 227],
    [132, 99],
  ])("on %i multiprocessors with %i KiB: what fits loads, what does not is said", (multiprocessors, kib) => {
    const lines = probe("load", { FAKE_CUDA_ATTRIBUTES: `16=${multiprocessors},97=${kib * 1024}` });
    expect(lines.slice(1, 3)).toEqual(["sum: 0", "capped: 0"]);
    const { sharedBytes, grid } = manifest.programs.find((p) => p.path === "matmul/reduce_scatter")!.targets[0]!
      .kernels[0]!;
    expect(grid.maxBlocks).toBe(132);
    if (sharedBytes > kib * 1024)
      expect(lines[3]).toMatch(new RegExp(`^product: 3 .*needs ${sharedBytes} bytes.*GPU 0 has ${kib * 1024}`)); // prettier-ignore
    // One block of the product fills a multiprocessor's shared memory.
    else if (multiprocessors < 132)
      expect(lines[3]).toMatch(new RegExp(`^product: 3 .* GPU 0 holds ${multiprocessors} at once: set max_blocks to ${multiprocessors}`)); // prettier-ignore
    else expect(lines[3]).toBe("product: 0");
  });

  test("blocks that wait for each other must all fit, unless there are fewer of them", () => {
    const lines = probe("load", { FAKE_CUDA_ATTRIBUTES: "16=4" });
    expect(lines[1]).toMatch(
      /^sum: 3 .*launches up to 132 blocks .* holds 16 at once: set max_blocks to 16 .*--max-blocks 16/,
    );
    expect(lines[2]).toBe("capped: 0");
  });

  test("says that there is no code for a GPU, no driver, and no cubin or another one", async () => {
    expect(probe("load", { FAKE_CUDA_ATTRIBUTES: "75=8,76=6" })[1]).toMatch(
      /^sum: 3 .* was built for sm_90a; GPU 0 is sm_86: build with --arch sm_86/,
    );
    expect(linesOf(program, ["libcuda-that-is-not-there.so", "load", out])[0]).toMatch(
      /^driver: 5 there is no NVIDIA driver/,
    );
    expect(linesOf(program, [fakeDriver, "load", folder])[1]).toMatch(/^sum: 4 .*sm_90a\.cubin cannot be opened/);
    expect(linesOf(program, [fakeDriver, "load", "embedded"])[1]).toMatch(/^sum: 4 .* is not embedded/);
    expect(probe("load", { FAKE_CUDA_FAIL: "cuModuleLoadData" })[1]).toMatch(
      /^sum: 5 cuModuleLoadData: CUDA_ERROR_UNKNOWN/,
    );
  });

  test("cubins may be embedded: one file holds all", async () => {
    const held = join(folder, "embedded");
    const files = [...KERNELS.map((name) => kernel(name)), join(folder, "scaled.coll"), join(folder, "in_place.coll")];
    const args = ["--ranks", "2", "--dtype", "bf16,f32", "--arch", "sm_90a", "--embed", "-o", held];
    expect(await collc(["build", ...files, ...args])).toMatchObject({ code: 0 });
    const other = join(folder, "embedded-probe");
    compileC(held, [join(import.meta.dirname, "probe.c")], other);
    const lines = linesOf(other, [fakeDriver, "run", "embedded"], { FAKE_CUDA_ATTRIBUTES: "16=132" });
    expect(lines.filter((line) => line.startsWith("wrong: "))).toEqual(Array(4).fill("wrong: 0"));
  });
});
