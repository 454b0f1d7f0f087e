/** `collc check`: what it looks at, what it says, and its exit codes. */
import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseMesh } from "../../src/cli/mesh.js";
import { isAll } from "../scope.js";
import { collc, collcProcess, file, forgetful, isBuilt, kernel, oneShot, temporaryFolder } from "./support.js";

const folder = temporaryFolder();

describe("collc check", () => {
  it("proves the answer and the ordering", async () => {
    const { code, out } = await collc(["check", kernel("all_reduce/two_shot"), "--ranks", "2,3"]);
    expect(code).toBe(0);
    expect(
      out.match(/answer proved for every n up to rounding and overflow in bf16, ordering proved for every n, /g),
    ).toHaveLength(2);
    expect(out.match(/survives 4 hostile schedules/g)).toHaveLength(2);
  });

  // The parts of a few jobs go to several threads; of many jobs, each goes to one as a whole.
  const MANY = Array.from({ length: 4 * availableParallelism() + 1 }, (_, i) => i + 1).join();
  const THREADED: readonly (readonly [ranks: string, text: string, options: readonly string[]])[] = [
    ["8", oneShot, ["--schedules", "1", "--seed", "2"]],
    ["2,3", forgetful, ["--no-prove", "--schedules", "40", "--seed", "5"]],
    [MANY, forgetful, ["--dim", "n=9"]],
    ["8", forgetful, []],
    ["2,3", oneShot, ["--no-prove", "--schedules", "40"]],
  ];
  it.runIf(isBuilt).each(isAll ? THREADED : THREADED.slice(0, 3))(
    "says the same with threads as without, on %s ranks",
    async (ranks, text, options) => {
      const argv = ["check", file(folder, "threads.coll", text), "--ranks", ranks, ...options];
      const { code, out, err } = await collc(argv);
      expect(await collcProcess(argv)).toMatchObject({ code, out, err });
    },
  );

  it("only compiles where proofs are not wanted", async () => {
    const { code, out } = await collc(["check", kernel("all_reduce/two_shot"), "--no-prove"]);
    expect(code).toBe(0);
    expect(out).not.toMatch(/proved|survives/);
  });

  it("says the same again with a seed", async () => {
    const text =
      "collective wrong(x: T[n] partial(sum)) -> y: T[n] replicated { for i in tiles(n) { y[i] = sum(p in peers) x@p[i] } }";
    const argv = ["check", "-", "--ranks", "2", "--no-prove", "--schedules", "1", "--seed", "3", "--dim", "n=20"];
    const [first, second] = [await collc(argv, { stdin: text }), await collc(argv, { stdin: text })];
    expect(first.code).toBe(1);
    expect(first.err).toContain("error[schedule-answer]: output 'y' of rank 0 is wrong in launch 0");
    // Where it is stored, and the steps of the launch that went wrong.
    expect(first.err).toMatch(/--> <stdin>:1:\d+/);
    expect(first.err).toContain("'y' is stored here");
    expect(first.err).not.toMatch(/launch [12]: /);
    expect(first.err).toContain("--ranks 2 --dim n=20 --dtype T=bf16 --no-prove --schedules 1 --seed 3");
    expect(second).toEqual(first);
  });

  it("says which seed the data of a proof is of, where it is wrong", async () => {
    const text =
      "collective wrong(x: T[n] partial(sum)) -> y: T[n] replicated { for i in tiles(n) { y[i] = sum(p in peers) x@p[i] } }";
    const check = async (...options: string[]): Promise<string> =>
      (await collc(["check", "-", "--ranks", "2", "--dim", "n=20", ...options], { stdin: text })).out;
    expect(await check()).toContain("\n  found with --seed 0, from which data and schedules are drawn\n");
    expect(await check("--seed", "5")).toContain("\n  found with --seed 5, ");
    const right = await collc(["check", "-", "--ranks", "2"], { stdin: text.replace("peers", "ranks") });
    expect(right.out).not.toContain("--seed");
  });

  it("refuses lengths that the program does not have or forbids", async () => {
    const both = `
collective rows(x: T[m, n] local) -> y: T[m, n] local where n >= 4 { for i, j in tiles(m, n) { y[i, j] = x[i, j] } }
collective line(x: T[k] local) -> y: T[k] local { for i in tiles(k) { y[i] = x[i] } }`;
    const check = (...options: string[]): ReturnType<typeof collc> =>
      collc(["check", "-", "--ranks", "2", "--schedules", "1", ...options], { stdin: both });
    const unknown = await check("--dim", "q=3");
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("has no dimension 'q'")]);
    const forbidden = await check("--dim", "n=3");
    expect([forbidden.code, forbidden.err]).toEqual([2, expect.stringContaining("n=3 breaks where n >= 4")]);
    const endless = await check("--dim", "k=3000000");
    expect([endless.code, endless.err]).toEqual([2, expect.stringContaining("12000000 elements, and collc check")]);
    // The other dimensions, and the other collective, take lengths as always.
    const some = await check("--dim", "n=5");
    expect(some.code).toBe(0);
    expect(some.out).toMatch(/rows, 2 ranks, T = bf16: .*ordering proved at 4 shapes with m ≤ 13, n = 5/);
    expect(some.out).toMatch(/line, 2 ranks, T = bf16: .*ordering proved for every k,/);
  });

  it("lets memory that nobody has written be loaded where the answer is proved: of a choice, both sides are", async () => {
    const shifted = (claim: string, first = 0): string => `
collective shifted(x: f32[n] local) -> y: f32[n] local ${claim} {
  scratch s: f32[n]
  if rank > 0 { for i in tiles(n) { s@(rank - 1)[i] = x[i] } }
  for i in tiles(n) { y[i] = where(rank < world - 1, s[i], ${first}) }
}`;
    const claim = "ensures y[i] == where(rank < world - 1, x@(min(rank + 1, world - 1))[i], 0)";
    const check = (text: string, ...options: string[]) =>
      collc(["check", "-", "--ranks", "2", ...options], { stdin: text });
    const proved = await check(shifted(claim));
    expect(proved.code, proved.err).toBe(0);
    expect(proved.out).toContain("survives 4 hostile schedules");
    // What is not proved is not known to be harmless.
    for (const { code, err } of [
      await check(shifted("")),
      await check(shifted(claim), "--no-prove", "--schedules", "1"),
    ]) {
      expect(code).toBe(1);
      expect(err).toContain("error[schedule-unwritten]");
      expect(err).toContain("both sides of a 'where' are loaded");
    }
    expect((await check(shifted(claim, 1))).err).toContain("error[proof-answer]");
  });

  it("prints a timeline, and the options that run the failing schedule again", async () => {
    // Rank 0 waits for what nobody signals.
    const text = `
collective stuck(x: T[n] local) -> y: T[n] local {
  scratch box: T[n]
  for i in tiles(n) {
    box[i] = x[i]
  }
  if rank == 0 {
    wait 1
  }
  for i in tiles(n) {
    y[i] = box[i]
  }
}`;
    const first = await collc(["check", "-", "--ranks", "2,3", "--no-prove", "--schedules", "8"], { stdin: text });
    expect(first.code).toBe(1);
    expect(first.err).toContain("the last steps:");
    expect(first.err).toMatch(/step .*\(rank\.block; ○ its caller\)/);
    const again = /the same happens again with (--ranks .*)/.exec(first.err)![1]!;
    const second = await collc(["check", "-", ...again.split(" ")], { stdin: text });
    const timeline = (err: string): string[] => err.split("\n").filter((l) => / launch \d+: /.test(l));
    expect(timeline(second.err).length).toBeGreaterThan(3);
    expect(timeline(first.err)).toEqual(timeline(second.err));
  });

  it("takes what is not proved for wrong if asked to", async () => {
    const text =
      "collective open(x: T[n] local) -> y: T[n] local ensures y[i] == sqrt(x[i] * x[i]) { for i in tiles(n) { y[i] = abs(x[i]) } }";
    const free = await collc(["check", "-", "--ranks", "2"], { stdin: text });
    expect([free.code, free.err.includes("warning[proof-unknown]")]).toEqual([0, true]);
    expect((await collc(["check", "-", "--ranks", "2", "--strict"], { stdin: text })).code).toBe(1);
  });

  it("says so where nothing says what the answer is", async () => {
    const text =
      "collective open(x: T[n] local) -> y: T[n] local { for i in tiles(n) { y[i] = x@((rank + 1) % world)[i] } }";
    const { code, out } = await collc(["check", "-", "--ranks", "2"], { stdin: text });
    expect([code, out.includes("answer not specified, ordering proved for every n")]).toEqual([0, true]);
  });

  it("refutes a sum over the peers alone, and says where", async () => {
    const text =
      "collective wrong(x: T[n] partial(sum)) -> y: T[n] replicated { for i in tiles(n) { y[i] = sum(p in peers) x@p[i] } }";
    const { code, out } = await collc(["check", "-", "--ranks", "3", "--json"], { stdin: text });
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject([
      { code: "proof-answer", severity: "error", message: expect.stringMatching(/lacks rank 0's x\[0\]/) },
      { code: "proof", severity: "info", answer: { status: "wrong" } },
    ]);
  });

  it("is content with every kernel", async () => {
    const ranks = isAll ? [1, 2, 3] : [2, 3];
    for (const name of ["matmul/all_gather", ...(isAll ? ["all_gather/push", "all_reduce/ring"] : [])]) {
      const { code, out } = await collc(["check", kernel(name), "--ranks", ranks.join(), "--strict"]);
      expect(out).toContain(`nothing wrong for ${ranks.join(", ")} ranks`);
      expect(code).toBe(0);
    }
  });

  it("prints an array of diagnostics", async () => {
    const path = file(folder, "bad.coll", oneShot.replace("x@p[i]", "z@p[i]"));
    const { code, out, err } = await collc(["check", path, "--json"]);
    expect(code).toBe(1);
    expect(err).toBe("");
    const diagnostics = JSON.parse(out) as Record<string, unknown>[];
    expect(diagnostics.length).toBeGreaterThan(0);
    expect(Object.keys(diagnostics[0]!)).toEqual([
      "code",
      "severity",
      "message",
      "file",
      "line",
      "column",
      "endLine",
      "endColumn",
      "help",
    ]);
    expect(diagnostics.find((d) => d["severity"] === "error")).toMatchObject({ file: path, line: 3 });
  });

  it("prints code frames, each diagnostic once though it holds for every world", async () => {
    const path = file(folder, "bad.coll", oneShot.replace("x@p[i]", "z@p[i]"));
    const { code, out, err } = await collc(["check", path, "--ranks", "2,4,8"]);
    expect(code).toBe(1);
    expect(err.match(/error\[/g)).toHaveLength(1);
    expect(out).toMatch(/: 1 error, \d warnings? for 2, 4, 8 ranks/);
  });

  it("prints nothing but how far the proofs go for a correct program", async () => {
    const { code, out } = await collc(["check", "-", "--json", "--ranks", "2"], { stdin: oneShot });
    expect(code).toBe(0);
    const [proof, ...others] = JSON.parse(out) as Record<string, unknown>[];
    expect(others).toEqual([]);
    // Of every length one ragged shape is executed, and one at odd addresses.
    const proved = [
      { n: expect.any(Number), aligned: true },
      { n: expect.any(Number), aligned: false },
    ];
    expect(proof).toMatchObject({
      code: "proof",
      severity: "info",
      message: expect.stringMatching(/answer proved for every n /),
      ranks: 2,
      dtypes: { T: "bf16" },
      mapping: { threads: 4, blocks: 3 },
      answer: { status: "proved", everyLength: true, shapes: proved },
    });
  });

  it("warns of a constant that matters only at lengths that were not proved, and names one", async () => {
    const text = oneShot
      .replace("y[i] = ", "if i == 77000000 { y[i] = 0 } else { y[i] = ")
      .replace("x@p[i]", "x@p[i] }");
    const { code, err, out } = await collc(["check", "-", "--ranks", "2"], { stdin: text });
    expect(err).toMatch(
      /warning\[proof-partial\]: nothing is proved of .*: no shape that was looked at leads there, n=77000001 does/,
    );
    expect(err).toContain("--dim n=77000001");
    expect([code, out.includes("nothing wrong")]).toEqual([0, false]);
    expect((await collc(["check", "-", "--ranks", "2", "--strict"], { stdin: text })).code).toBe(1);
  });

  it("checks one collective of several", async () => {
    const path = file(folder, "two.coll", oneShot + forgetful.replace("x[i]", "q[i]"));
    expect((await collc(["check", path, "one_shot"])).code).toBe(0);
    expect((await collc(["check", path, "forgetful"])).code).toBe(1);
    expect((await collc(["check", path, "forgetfull"])).code).toBe(2);
  });
});

const doubling = (where: string): string => `
collective doubling(x: T[n] partial(sum)) -> y: T[n] replicated
  where ${where} {
  for i in tiles(n) {
    y[i] = sum(p in ranks) x@p[i]
  }
}`;

describe("collc check and numbers of ranks", () => {
  it("leaves out those that a where clause excludes, and says so", async () => {
    for (const where of ["world & (world - 1) == 0", "world in (2, 4)"]) {
      const argv = ["check", "-", "--ranks", "2,3,4,5", "--schedules", "0"];
      const { code, out, err } = await collc(argv, { stdin: doubling(where) });
      expect([code, err]).toEqual([0, ""]);
      expect(out).toContain("nothing wrong for 2, 4 ranks\n");
      expect(out).toContain("doubling is not for 3, 5 ranks: its where clause or its mesh leaves them out");
    }
  });

  it("is an error where none is left", async () => {
    const { code, err } = await collc(["check", "-", "--ranks", "3,5"], { stdin: doubling("world in (2, 4)") });
    expect(code).toBe(1);
    expect(err).toContain("error[world-not-allowed]: this collective is not for 3 ranks");
  });
});

const hierarchical = `
collective rows(x: T[n] partial(sum, gpu)) -> y: T[n] replicated(gpu)
  mesh(node, gpu) {
  for i in tiles(n) {
    y[i] = sum(p in ranks(gpu)) x@p[i] * f32(world.gpu) * (1 / f32(world.gpu))
  }
}`;

describe("collc check --mesh", () => {
  it("gives the sizes of the axes, and the ranks", async () => {
    for (const mesh of ["2x3", "node=2,gpu=3"]) {
      const argv = ["check", "-", "--mesh", mesh, "--ranks", "6", "--schedules", "0"];
      const { code, out } = await collc(argv, { stdin: hierarchical });
      expect([code, out.includes("rows, 6 ranks")]).toEqual([0, true]);
    }
    for (const mesh of ["3x1", "node=3,gpu=1"]) {
      const { out } = await collc(["check", "-", "--mesh", mesh, "--schedules", "0"], { stdin: hierarchical });
      expect(out).toContain("nothing wrong for 3 ranks");
    }
  });

  it("says that axes were equal wherever it looked", async () => {
    const argv = (...ranks: string[]): string[] => ["check", "-", ...ranks, "--schedules", "0"];
    const equal = await collc(argv("--ranks", "2,4"), { stdin: hierarchical });
    expect(equal.out).toMatch(
      /was looked at on 1 × 2 and 2 × 2 ranks alone, where one axis taken for another.*--mesh 2x3 /,
    );
    const three = hierarchical.replace("mesh(node, gpu)", "mesh(node, tray, gpu)");
    const cube = await collc(argv("--ranks", "2"), { stdin: three });
    expect(cube.out).toMatch(/was looked at on 1 × 1 × 2 ranks alone, .*--mesh 2x3x4 /);
    for (const ranks of [["--ranks", "4,6", "--mesh", "gpu=2"], ["--mesh", "2x3"], []])
      expect((await collc(argv(...ranks), { stdin: hierarchical })).out).not.toContain("taken for another");
  });

  it("leaves out the ranks that do not make such a mesh", async () => {
    const argv = ["check", "-", "--mesh", "gpu=2", "--ranks", "2,3,4", "--schedules", "0"];
    const { code, out } = await collc(argv, { stdin: hierarchical });
    expect([code, out.includes("nothing wrong for 2, 4 ranks"), out.includes("rows is not for 3 ranks")]).toEqual([
      0,
      true,
      true,
    ]);
  });

  it("refuses what is no mesh, and what is not the collective's", async () => {
    for (const [mesh, said] of [
      ["2x", "write 2x4, or node=2,gpu=4"],
      ["0x4", "write 2x4, or node=2,gpu=4"],
      ["2x2x2", "the mesh of rows has 2 axes, node and gpu; --mesh gives 3"],
      ["gpus=2", "did you mean 'gpu'?"],
    ] as const) {
      const { code, err } = await collc(["check", "-", "--mesh", mesh], { stdin: hierarchical });
      expect([mesh, code, err.includes(said)]).toEqual([mesh, 2, true]);
    }
    const { code, err } = await collc(["check", "-", "--mesh", "2x2"], { stdin: oneShot });
    expect([code, err.includes("has no mesh")]).toEqual([2, true]);
  });

  it("is read as sizes, or as axes with sizes", () => {
    expect([parseMesh("2x4"), parseMesh("8"), parseMesh("node=2, gpu=4")]).toEqual([[2, 4], [8], { node: 2, gpu: 4 }]);
  });
});

describe("collc check and files", () => {
  it("says that a file without collectives has none", async () => {
    const { code, out, err } = await collc(["check", "-"], { stdin: "fn next(r) = (r + 1) % world" });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("no collective in it; its constants and functions are checked where collectives use them");
  });

  it("checks all files of a folder", async () => {
    const whole = join(folder, "whole");
    mkdirSync(join(whole, "inner"), { recursive: true });
    file(whole, "one.coll", oneShot);
    file(join(whole, "inner"), "bad.coll", forgetful);
    file(join(whole, "inner"), "shared.coll", "const TWO = 2");
    const argv = ["check", whole, "--ranks", "2", "--schedules", "0"];
    const { code, out } = await collc(argv);
    expect(code).toBe(1);
    expect(out.match(/^[✓✗!] .*$/gm)).toEqual([
      expect.stringMatching(/bad.coll: 1 error/),
      expect.stringMatching(/shared.coll: no collective/),
      expect.stringMatching(/one.coll: nothing wrong for 2 ranks/),
    ]);
    expect((await collc([...argv.slice(0, 2), "one_shot"])).code).toBe(2);
  });

  it("checks several files and folders, each file once, as a shell writes them out", async () => {
    const first = file(folder, "first.coll", oneShot);
    const second = file(folder, "second.coll", oneShot + forgetful.replace("forgetful", "later"));
    const inner = join(folder, "some");
    mkdirSync(inner, { recursive: true });
    const third = file(inner, "third.coll", "const TWO = 2");
    const { code, out } = await collc(["check", first, second, first, inner, "--ranks", "2", "--no-prove"]);
    expect(code).toBe(0);
    const told = [...out.matchAll(/^[✓✗!] (.*?):/gm)].map(([, path]) => path);
    expect(told).toEqual([first, second, third]);
  });

  it("takes what is no file behind one file for a collective's name, and refuses it behind several", async () => {
    const first = file(folder, "first.coll", oneShot);
    const second = file(folder, "second.coll", oneShot);
    const wrong = async (...argv: string[]): Promise<string> => {
      const { code, out, err } = await collc(["check", ...argv, "--ranks", "2", "--no-prove"]);
      expect([code, out]).toEqual([2, ""]);
      return err;
    };
    expect(await wrong(first, "one_shoot")).toMatch(/has no collective 'one_shoot'[\s\S]*did you mean 'one_shot'/);
    expect(await wrong(first, second, "one_shot")).toMatch(
      /no file or folder one_shot[\s\S]*name the file that has 'one_shot'/,
    );
    expect(await wrong(first, join(folder, "secnd.coll"))).toMatch(/no file .*secnd\.coll[\s\S]*second\.coll\?/);
  });

  it("points into imported files", async () => {
    file(folder, "shared.coll", "fn twice(v) = v * 2 + lost");
    const path = file(
      folder,
      "importing.coll",
      `import twice from "shared.coll"\n${oneShot.replace("x@p[i]", "twice(x@p[i])")}`,
    );
    const { code, err } = await collc(["check", path, "--ranks", "2"]);
    expect(code).toBe(1);
    expect(err).toMatch(/--> .*shared\.coll:1:23/);
  });
});
