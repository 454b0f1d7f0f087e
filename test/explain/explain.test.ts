/** `collc explain`: what it says of small programs, whole, and that its numbers are those of arithmetic done by hand. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile, explain, type Explanation, MACHINES } from "../../src/compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { collc, kernel } from "../cli/support.js";
import { DISPATCH, DOUBLING, HANDSHAKE, LINEAR, TWO_SHOT } from "./programs.js";

const H200 = MACHINES[0]!;
const GOLDENS = join(import.meta.dirname, "goldens");

function explained(text: string, ranks: number, dims: Record<string, number>, dtype = "bf16" as const): Explanation {
  return explain(compile(text, { ranks, dtype }), dims, H200);
}

describe("the report", () => {
  const programs: Record<string, readonly [string, ...string[]]> = {
    two_shot: [TWO_SHOT, "--dim", "n=1048576"],
    handshake: [HANDSHAKE, "--dim", "n=4096", "--ranks", "3"],
    linear: [LINEAR, "--dim", "m=512", "n=256", "k=1024"],
    dispatch: [DISPATCH, "--ranks", "2", "--dim", "m=64", "n=128"],
  };
  for (const [name, [text, ...options]] of Object.entries(programs))
    test(name, async () => {
      const { code, out, err } = await collc(["explain", "-", ...options], { stdin: text });
      expect([code, err]).toEqual([0, ""]);
      const path = join(GOLDENS, `${name}.txt`);
      if (process.env["UPDATE_GOLDENS"] === "1") {
        mkdirSync(GOLDENS, { recursive: true });
        writeFileSync(path, out);
      } else expect(out, "update with UPDATE_GOLDENS=1 npx vitest run test/explain").toBe(readFileSync(path, "utf8"));
    });

  test("on a mesh, a layout is said axis by axis", async () => {
    const text = `collective f(x: T[n, k] replicated(dp) partial(sum, tp), w: T[n, k] partial(sum, tp))
      -> (y: T[n, k] replicated(dp) sharded(1, tp), z: T[n, k] replicated(tp)) mesh(dp, tp) {
      y = reduce_scatter(x, dim: 1, over: tp)
      z = all_reduce(w, over: tp)
    }`;
    const { out } = await collc(["explain", "-", "-n", "6", "--mesh", "2x3"], { stdin: text });
    expect(out).toMatch(/ {2}x .*along dp all hold the same, along tp each holds a part of the reduction\n/);
    expect(out).toMatch(/ {2}w .*partial\(sum, tp\) +along tp each holds a part of the reduction\n/);
    expect(out).toMatch(/ {2}y .*along dp all hold the same, along tp each holds its slice\n/);
    expect(out).toMatch(/ {2}z .*replicated\(tp\) +along tp all hold the same\n/);
    expect(out).not.toContain("every rank holds");
  });

  test("a way that is faster at these lengths, and has other sizes, is told apart from one that is not worth a kernel", async () => {
    const text = `collective f(a: T[n, k] replicated(dp) partial(sum, tp), b: T[k, n] replicated(dp) replicated(tp))
      -> y: T[n, n] replicated(dp) sharded(1, tp) mesh(dp, tp) {
      y = reduce_scatter(a @ b, dim: 1, over: tp)
    }`;
    // The depth is shorter than that which the plan was made for.
    const lengths = ["--dim", "n=1026", "k=1024"];
    const { out } = await collc(["explain", "-", "-n", "6", "--mesh", "2x3", ...lengths], { stdin: text });
    expect(out).toMatch(/packets would take [\d.]+ µs, but the plan goes by n \* n alone, for matrices of lengths/);
    expect(out).not.toContain("too little less");
  });

  test("a program whose rounds are too many for the model is no fault of the compiler", async () => {
    const text = `collective f(x: T[n] local, w: T[n] partial(sum)) -> (y: T[n] local, z: T[n] replicated) {
      for t in 0..${10_001} {
        for i in tiles(n) { y[i] = x@((rank + t) % world)[i] }
        barrier
      }
      z = all_reduce(w)
    }`;
    const { code, err } = await collc(["emit", "-", "--mapping", '{"slabRows":4}'], { stdin: text });
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^error: ranks come to more than 10000 points.*\nhelp: choose/),
    ]);
  });

  test("a kernel of the library stands beside what was measured of it", async () => {
    const { code, out } = await collc(["explain", kernel("all_reduce/one_shot"), "--json"]);
    expect(code).toBe(0);
    const { measured } = JSON.parse(out) as { measured: { label: string; predictedUs: number; measuredUs: number }[] };
    expect(measured.map((m) => m.label)).toContain("256 MiB");
    // Measured of an earlier form of the kernel, it may be; never are they apart by their kind.
    for (const m of measured) expect(Math.abs(Math.log2(m.predictedUs / m.measuredUs))).toBeLessThan(1);
  });

  test("of each size the latest measurement is shown, and none between hosts, which some were made on", async () => {
    const { out } = await collc(["explain", kernel("all_reduce"), "--json"]);
    const { measured } = JSON.parse(out) as { measured: { label: string; file: string; date: string }[] };
    expect(measured.length).toBe(new Set(measured.map((m) => m.label)).size);
    expect(measured.filter((m) => m.file.includes("hosts"))).toEqual([]);
    expect(measured.every((m) => m.file.startsWith(m.date))).toBe(true);
  });

  test("a program that nobody measured is compared with nothing", async () => {
    const { out } = await collc(["explain", "-", "--json"], { stdin: TWO_SHOT });
    expect(JSON.parse(out)).toMatchObject({ collective: "two_shot", measured: [], machine: "h200x4" });
  });

  test("a product says how it is multiplied, and what is gathered meanwhile", async () => {
    const { out } = await collc([
      "explain",
      kernel("matmul/all_gather"),
      "--ranks",
      "4",
      "--dim",
      "m=8192",
      "n=512",
      "k=4096",
    ]);
    expect(out).toMatch(
      /wgmma m64n256k16 +tiles of 128×256×64 or 224, 192, 160 or 128 columns, 4 stages, while a is gathered/,
    );
    expect(out).toContain("barrier before line");
    expect(out).toMatch(/m \* k ≥ \d+ +all_gather +← these sizes/);
  });

  test("the line of a plan that the sizes are on is marked, and no other line of its kernel", () => {
    const [push, pull] = ["all_gather/push", "all_gather/pull"];
    const compiled = compile("collective f(x: T[n] sharded(0)) -> y: T[n] replicated { y = all_gather(x) }", {
      ...{ ranks: 2, dtype: "bf16", resolve: importsFromDisk, library: libraryFromDisk },
      tuned: () => [
        { below: 1000, way: push },
        { below: 2000, way: pull },
        { below: null, way: push },
      ],
    });
    const { choices, chosen } = explain(compiled, { n: 4096 }, H200).plan!;
    expect(chosen).toBe(push);
    expect(choices).toEqual([
      { below: 1000, kernel: push, isTaken: false },
      { below: 2000, kernel: pull, isTaken: false },
      { below: null, kernel: push, isTaken: true },
    ]);
  });

  test("a product of lengths that are numbers has the width that they have chosen", async () => {
    const stdin =
      "collective mm(a: bf16[1024, 8192] local, b: bf16[8192, 2560] local) -> c: bf16[1024, 2560] local { c = a @ b }";
    const { out } = await collc(["explain", "-", "--ranks", "1"], { stdin });
    expect(out).toMatch(/wgmma m64n160k16 +tiles of 128×160×64, 4 stages$/m);
    expect(out).not.toMatch(/columns, 4 stages/);
  });

  test("the sizes of a mesh's axes decide who sends to whom", async () => {
    const wireOf = async (...options: string[]): Promise<number[][]> => {
      const { code, out } = await collc([
        "explain",
        kernel("all_reduce/hierarchical"),
        "--json",
        "--dim",
        "n=4096",
        ...options,
      ]);
      expect(code).toBe(0);
      return (JSON.parse(out) as { wire: number[][] }).wire;
    };
    expect(await wireOf("--mesh", "2x2")).toEqual(await wireOf());
    const [[, one, across, diagonal]] = (await wireOf("--mesh", "2x2")) as [[number, number, number, number]];
    expect([one > 0, across > 0, diagonal]).toEqual([true, true, 0]);
    const flat = await wireOf("--mesh", "1x4");
    flat.forEach((row, from) => row.forEach((b, to) => expect(b > 0).toBe(from !== to)));
    const { code, err } = await collc(["explain", "-", "--mesh", "2x2"], { stdin: TWO_SHOT });
    expect([code, err]).toEqual([2, expect.stringContaining("two_shot has no mesh")]);
  });

  test("more ranks than the machine has GPUs", async () => {
    const { code, err } = await collc(["explain", "-", "--ranks", "5", "--machine", "h200x4"], { stdin: TWO_SHOT });
    expect(code).toBe(2);
    expect(err).toContain("h200x4 has 4 GPUs, not 5");
    const { out } = await collc(["explain", "-", "--ranks", "5", "--json"], { stdin: TWO_SHOT });
    expect(JSON.parse(out)).toMatchObject({ machine: "h100x8" });
  });

  test("several hosts of as many GPUs as the machine has", async () => {
    const explain = (...args: string[]): ReturnType<typeof collc> => collc(["explain", kernel("all_gather/hierarchical"), "--dim", "n=1Mi", ...args]); // prettier-ignore
    const { code, out } = await explain("--ranks", "16", "--mesh", "2x8", "--reach", "2x8", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ machine: "h100x8", messages: [{ messages: 16 }] });
    const { err } = await explain("--ranks", "16", "--mesh", "2x8", "--reach", "2x8", "--machine", "h200x4");
    expect(err).toContain("h200x4 has 4 GPUs, not 8");
  });
});

describe("bytes on the wire", () => {
  test("each rank takes its chunk from the others and gives it to them", () => {
    const n = 4 * 64 * 100;
    const chunk = (n / 4) * 2;
    const { wire, isSampled } = explained(TWO_SHOT, 4, { n });
    expect(isSampled).toBe(false);
    wire.forEach((row, from) => row.forEach((b, to) => expect(b).toBe(from === to ? 0 : 2 * chunk)));
  });

  test("the last chunk is short", () => {
    // Chunks of 64: rank 0 has 64 elements, rank 1 has 36.
    const { wire } = explained(TWO_SHOT, 2, { n: 100 });
    expect(wire).toEqual([
      [0, (36 + 64) * 2],
      [(64 + 36) * 2, 0],
    ]);
  });

  test("what movers send beside a product is counted", () => {
    const text = readFileSync(kernel("matmul/all_gather"), "utf8");
    const { wire, unknown } = explained(text, 4, { m: 2048, n: 8192, k: 8192 });
    expect(unknown).toEqual([]);
    const shard = (2048 / 4) * 8192 * 2;
    wire.forEach((row, from) => row.forEach((b, to) => expect(b).toBe(from === to ? 0 : shard)));
  });

  test("scratch in two copies is counted once", () => {
    // What saves a barrier between launches must not hide what moves: each of 2 rounds reads the partner's n elements.
    const n = 1000;
    const { wire, unknown } = explained(DOUBLING, 4, { n });
    expect(unknown).toEqual([]);
    wire.forEach((row, from) => row.forEach((b, to) => expect(b).toBe([1, 2].includes(from ^ to) ? n * 2 : 0)));
  });

  test("a product's tiles leave for the ranks that own their rows", () => {
    const [m, n] = [512, 256];
    const { wire } = explained(LINEAR, 4, { m, n, k: 1024 });
    wire.forEach((row, from) => row.forEach((b, to) => expect(b).toBe(from === to ? 0 : (m / 4) * n * 2)));
  });

  test("one rank moves nothing", () => {
    expect(explained(TWO_SHOT, 1, { n: 1000 }).wire).toEqual([[0]]);
  });
});

describe("the prediction", () => {
  test("is latency where there is nothing to move", () => {
    const { prediction: p } = explained(TWO_SHOT, 4, { n: 4 });
    const { launch, earlyLaunch, skew, flag, release, flagRank, drain, ownDrain, peerLoad, ownLoad } = H200;
    // The kernel's own epoch, the last rank's begin, a flag that waits for no fence, the peers' elements, their sums' way out, another flag.
    const flags = skew.value + 2 * (flag.value + 2 * flagRank.value) - release.value;
    const out = Math.max(drain.value, ownDrain.value);
    const latency = launch.value - earlyLaunch.value + ownLoad.value + flags + peerLoad.value + out;
    expect(p.latency).toBeCloseTo(latency, 9);
    expect(p.total / latency).toBeLessThan(1.001);
    expect(p.blocks).toBe(1);
  });

  test("is wire where there is much to move", () => {
    const n = 2 ** 27;
    const { prediction: p } = explained(TWO_SHOT, 4, { n });
    // What a rank sends: a chunk's sums to three peers, and what three peers load of it.
    const perRank = (n * 2 * 3) / 4;
    expect(p.wire / (perRank / H200.pull.value + perRank / H200.push.value)).toBeCloseTo(1, 6);
    expect(p.total).toBeCloseTo(p.wire + p.latency, 9);
    expect(p.blocks).toBe(H200.loadBlocks.value);
  });
});

test("what each rank is loaded from is sampled evenly, whichever index decides it", () => {
  const { wire, isSampled } = explained(
    `collective f(x: T[m, n] sharded(0)) -> y: T[n, m] sharded(0) {
      for i, j in tiles(n / world, m) {
        y[i, j] = x@(j / (m / world))[j % (m / world), rank * (n / world) + i]
      }
    }`,
    4,
    { m: 1024, n: 1024 },
  );
  expect(isSampled).toBe(true);
  const part = (1024 / 4) ** 2 * 2;
  for (const [from, row] of wire.entries())
    for (const [to, bytes] of row.entries()) if (from !== to) expect(Math.abs(bytes / part - 1)).toBeLessThan(0.1);
});

describe("points of synchronisation", () => {
  test("derived ones name two accesses, their ranks and places", () => {
    const { syncs } = explained(TWO_SHOT, 4, { n: 4096 });
    expect(syncs.map((s) => [s.kind, s.isWritten, s.isAtEnd])).toEqual([
      ["barrier", false, false],
      ["barrier", false, true],
    ]);
    expect(syncs[0]!.why).toMatchObject({
      earlier: { when: "caller", buffer: "x", at: null },
      later: { when: "launch", writes: false, buffer: "x", at: { line: 3 } },
    });
  });

  test("signals and waits that the author wrote are told apart", () => {
    const { syncs } = explained(HANDSHAKE, 4, { n: 64 });
    const written = syncs.filter((s) => s.isWritten);
    expect(written.map((s) => [s.kind, s.at.line])).toEqual([
      ["signal", 7],
      ["wait", 8],
    ]);
    expect(written[0]!.why).toMatchObject({ earlier: { buffer: "box", writes: true }, later: { buffer: "box", writes: false } }); // prettier-ignore
  });

  test("every derived one has a reason", () => {
    for (const text of [TWO_SHOT, HANDSHAKE, LINEAR, DISPATCH])
      for (const ranks of [2, 4])
        for (const s of explained(text, ranks, { n: 128, m: 128, k: 128 }).syncs)
          if (!s.isWritten) expect(s.why, `${s.kind} ${s.ranks} at line ${s.at.line}`).not.toBeNull();
  });
});

test("what the blocks of a launch decide is counted: owners that add up beside their product", () => {
  const compiled = compile(LINEAR, { ranks: 4, dtype: "bf16" });
  expect(explain(compiled, { m: 8192, n: 8192, k: 1024 }, H200).unknown).toEqual([]);
});

test("what data decides is not counted, and said", () => {
  const { unknown, moves } = explained(DISPATCH, 2, { m: 64, n: 128 });
  expect(unknown.map((u) => u.line)).toEqual([8]);
  expect(moves.map((m) => m.buffer)).not.toContain("y");
});
