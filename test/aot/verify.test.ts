/** `collc build --verify`: folders that are as they were built, and what is said of all others. */
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"; // prettier-ignore
import { join, relative } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { manifestProblems, type Problem } from "../../src/cli/aot/manifest-problems.js";
import { collc, file, kernel, oneShot, temporaryFolder } from "../cli/support.js";
import { IN_PLACE, SCALED } from "./programs.js";
import { hasFakes, useFakeCompiler } from "./support.js";

const folder = temporaryFolder();
let count = 0;

/** A value that tests change at will. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

const NAME = "coll_mine_w2_f32";

describe.runIf(hasFakes)("a folder", () => {
  useFakeCompiler();
  let built: string;

  beforeAll(async () => {
    built = join(folder, "built");
    const source = file(folder, "mine.coll", oneShot.replace(/collective \w+/, "collective mine"));
    const { code } = await collc(["build", source, "--ranks", "2,4", "--dtype", "f32", "--arch", "sm_80,sm_90a", "-o", built]); // prettier-ignore
    expect(code).toBe(0);
  }, 300_000);

  /** A copy of the folder, after a change. */
  const changed = (change: (out: string) => void): string => {
    const out = join(folder, `changed${count++}`);
    cpSync(built, out, { recursive: true });
    change(out);
    return out;
  };
  const edited = (edit: (manifest: Json) => void): string =>
    changed((out) => {
      const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as Json;
      edit(manifest);
      writeFileSync(join(out, "manifest.json"), JSON.stringify(manifest));
    });
  const problemsOf = async (out: string): Promise<{ code: number | null; problems: Problem[] }> => {
    const { code, out: said, err } = await collc(["build", "--verify", out, "--json"]);
    expect(err).toBe("");
    const { problems, isFine } = JSON.parse(said) as { problems: Problem[]; isFine: boolean };
    expect([isFine, code]).toEqual(problems.length === 0 ? [true, 0] : [false, 1]);
    return { code, problems };
  };

  test("as it was built is fine, whatever is in it", async () => {
    const paths = [file(folder, "in_place.coll", IN_PLACE), file(folder, "scaled.coll", SCALED)];
    const out = join(folder, "many");
    for (const args of [
      [...paths, "--ranks", "2", "--dtype", "f32,bf16"],
      [kernel("all_reduce/hierarchical"), "--mesh", "2x4", "--max-blocks", "16"],
      [kernel("all_reduce"), kernel("all_gather/push"), "--ranks", "1,3", "--arch", "sm_80,sm_90a", "--embed"],
      [kernel("reduce_scatter"), "--ranks", "4", "--reach", "2x2", "--dtype", "bf16", "--round-partial-sums"],
      [kernel("matmul/all_gather_qkv"), "--mapping", '{"elementThreads":256}'],
    ])
      expect(await collc(["build", ...args, "-o", out])).toMatchObject({ code: 0 });
    const { code, out: said, err } = await collc(["build", "--verify", out]);
    expect([code, err]).toEqual([0, ""]);
    expect(said).toBe(`✓ ${out}: ${readdirSync(out).filter((n) => n.endsWith(".h")).length - 3} programs for sm_80, sm_90a, all ${readdirSync(out).length} files as they were built\n`); // prettier-ignore
    // What lies there besides is nobody's business.
    writeFileSync(join(out, "notes.txt"), "mine");
    expect((await problemsOf(out)).problems).toEqual([]);
  }, 300_000);

  test("as JSON: what was looked at", async () => {
    const { code, out: said } = await collc(["build", "--verify", built, "--json"]);
    expect([code, JSON.parse(said)]).toEqual([
      0,
      { folder: built, isFine: true, programs: [NAME, NAME.replace("w2", "w4")], archs: ["sm_80", "sm_90a"], files: readdirSync(built).length, otherVersions: [], problems: [] }, // prettier-ignore
    ]);
  });

  const cubin = `${NAME}.sm_80.cubin`;
  test.for<[string, (out: string) => void, string, string]>([
    ["a cubin is missing", (out) => rmSync(join(out, cubin)), cubin, "is missing"],
    ["a folder lies where a cubin was", (out) => { rmSync(join(out, cubin)); mkdirSync(join(out, cubin)); }, cubin, "is no file"],
    ["a cubin was cut off", (out) => truncateSync(join(out, cubin), 100), cubin, "has 100 bytes, and the manifest says"],
    ["a cubin is longer", (out) => appendFileSync(join(out, cubin), "x"), cubin, "bytes, and the manifest says"],
    ["a byte of a cubin is another", (out) => { const bytes = readFileSync(join(out, cubin)); bytes[50]! ^= 1; writeFileSync(join(out, cubin), bytes); }, cubin, "has another SHA-256 than the manifest says"],
    ["PTX is missing", (out) => rmSync(join(out, `${NAME}.sm_90a.ptx`)), `${NAME}.sm_90a.ptx`, "is missing"],
    ["CUDA text is empty", (out) => truncateSync(join(out, `${NAME}.sm_90a.cu`)), `${NAME}.sm_90a.cu`, "is empty"],
    ["a header was edited", (out) => appendFileSync(join(out, `${NAME}.h`), "// mine\n"), `${NAME}.h`, "is not what this collc makes of the manifest"],
    ["a C file is of another build", (out) => writeFileSync(join(out, `${NAME}.c`), readFileSync(join(out, `${NAME.replace("w2", "w4")}.c`))), `${NAME}.c`, "is not what this collc makes of the manifest"],
    ["the table is missing", (out) => rmSync(join(out, "coll_programs.c")), "coll_programs.c", "is missing"],
    ["the runtime in C was edited", (out) => appendFileSync(join(out, "collc.c"), "\n"), "collc.c", "is not what this collc makes of the manifest"],
  ])("says it where %s, and how it is built again", async ([, change, name, message]) => {
    const out = changed(change);
    const { problems } = await problemsOf(out);
    expect(problems).toMatchObject([{ file: name, pointer: "", program: name.startsWith(NAME) ? NAME : null }]);
    expect(problems[0]!.message).toContain(message);
    // The command that it names mends the folder.
    const command = /^build it again: (collc build [^'"]*)$/.exec(problems[0]!.help!)![1]!.split(" ").slice(1);
    if (existsSync(join(out, cubin)) && problems[0]!.message === "is no file") rmSync(join(out, cubin), { recursive: true });
    expect(await collc(command.map((word) => (word === "mine.coll" ? relative(process.cwd(), join(folder, word)) : word)))).toMatchObject({ code: 0 });
    expect((await problemsOf(out)).problems).toEqual([]);
  }); // prettier-ignore

  test("to people: each file, what helps once, and exit code 1", async () => {
    const out = changed((at) => [".h", ".sm_80.cubin", ".sm_80.ptx"].forEach((end) => rmSync(join(at, NAME + end))));
    const { code, out: said, err } = await collc(["build", "--verify", out]);
    expect([code, said]).toEqual([1, `✗ ${out}: 3 problems in 2 programs for sm_80, sm_90a\n`]);
    expect(err.split("\n")).toEqual([
      `error: ${out}/${NAME}.sm_80.ptx is missing`,
      `error: ${out}/${NAME}.sm_80.cubin is missing`,
      `help: build it again: collc build mine.coll --ranks 2 --dtype T=f32 --arch sm_80 -o ${out}`,
      `error: ${out}/${NAME}.h is missing`,
      `help: build it again: collc build mine.coll --ranks 2 --dtype T=f32 --arch sm_80,sm_90a -o ${out}`,
      "",
    ]);
  });

  test("of another version of collc: files and digests, and not what C files say", async () => {
    const out = edited((m) => m.programs.forEach((p: Json) => p.targets.forEach((t: Json) => (t.collcVersion = "9.9")))); // prettier-ignore
    appendFileSync(join(out, `${NAME}.h`), "// as 9.9 writes it\n");
    expect(await collc(["build", "--verify", out])).toMatchObject({ code: 0, err: "", out: expect.stringContaining("built by collc 9.9: what C files say is not compared") as string }); // prettier-ignore
    appendFileSync(join(out, cubin), "x");
    expect((await problemsOf(out)).problems).toMatchObject([{ file: cubin }]);
  });

  test.for<[string, (manifest: Json) => void, readonly (readonly [pointer: string, message: string])[]]>([
    ["another version of the format", (m) => { m.formatVersion = 4; m.programs = 7; }, [["/formatVersion", "is 4, and this collc reads 8"]]],
    ["a number that is text", (m) => (m.programs[0].ranks = "two"), [["/programs/0/ranks", 'is "two", and must be of type integer']]],
    ["no plan", (m) => delete m.programs[1].targets[0].plan, [["/programs/1/targets/0", "lacks 'plan'"]]],
    ["what nobody reads", (m) => (m.programs[0].color = "red"), [["/programs/0", "has 'color', which nobody reads"]]],
    ["a digest that is none", (m) => (m.programs[0].targets[0].kernels[0].cubinSha256 = "abc"), [["/programs/0/targets/0/kernels/0/cubinSha256", 'is "abc", and must be of the form ^[0-9a-f]{64}$']]],
    ["a file elsewhere", (m) => (m.programs[0].targets[0].kernels[0].files.cubin = "../x.cubin"), [["/programs/0/targets/0/kernels/0/files/cubin", 'is "../x.cubin", and must be of the form ^[A-Za-z0-9_.]+$']]],
    ["a length that is none", (m) => (m.programs[0].inputs[0].shape = [{ op: "pow", a: 1, b: "n" }, 1.5]), [
      ["/programs/0/inputs/0/shape/0/op", 'is "pow", and must be one of "add", "sub", "mul", "div", "ceildiv", "mod", "min", "max"'],
      ["/programs/0/inputs/0/shape/1", "is 1.5, and must be of type integer or of type string or of type object"],
    ]],
    ["a parameter of no kind, and one that lacks something", (m) => m.programs[0].targets[1].kernels[0].parameters.splice(0, 2, { kind: "pointr", buffer: "x" }, { kind: "peers", buffer: "x" }), [
      ["/programs/0/targets/1/kernels/0/parameters/0/kind", 'is "pointr", and must be "peers" or "pointer" or "dim" or "length" or "scalar" or "rank" or "timeout" or "status" or "tensor-map"'],
      ["/programs/0/targets/1/kernels/0/parameters/1", "lacks 'ranks'"],
    ]],
    ["a maximum below 1", (m) => (m.programs[0].maxBlocks = 0), [["/programs/0/maxBlocks", "is 0, and must be >= 1 or of type null"]]],
    ["several things", (m) => { m.programs[0].ranks = 0; m.programs[1].dims = ["1n"]; }, [
      ["/programs/0/ranks", "is 0, and must be >= 1"],
      ["/programs/1/dims/0", 'is "1n", and must be of the form ^[A-Za-z_][A-Za-z0-9_]*$'],
    ]],
    ["another name", (m) => (m.programs[1].name = "coll_yours"), [["/programs/1/name", "is coll_yours, and what it was compiled from and for is called coll_mine_w4_f32"]]],
    ["another order", (m) => m.programs.reverse(), [["/programs/1/name", "comes before coll_mine_w4_f32, and programs stand in the order of their names"]]],
    ["files of another", (m) => (m.programs[1].files.header = `${NAME}.h`), [["/programs/1/files/header", `is ${NAME}.h, which is that of /programs/0/files/header, too`]]],
    ["an architecture twice", (m) => (m.programs[0].targets[1].arch = "sm_80"), [["/programs/0/targets/1/arch", "is sm_80, which there is a target of before"]]],
    ["a tensor that there is not", (m) => (m.programs[0].symmetric = ["q"]), [["/programs/0/symmetric/0", "is 'q', which is no input or output"]]],
    ["in place what is not", (m) => (m.programs[0].inPlace = ["y"]), [["/programs/0/outputs/0/name", "is 'y', which is in place, and no input"]]],
    ["a mesh of other ranks", (m) => { m.programs[0].mesh = [{ name: "node", size: 2 }, { name: "gpu", size: 4 }]; m.programs[0].name = "coll_mine_w2_node2xgpu4_f32"; }, [["/programs/0/mesh", "is of 8 ranks, and the program of 2"]]],
    ["no such kernel", (m) => (m.programs[0].targets[0].plan.choices[0].steps[0].kernel = 9), [["/programs/0/targets/0/plan/choices/0/steps/0/kernel", "is 9, and kernels are numbered from 0 to 0"]]],
    ["a plan that ends", (m) => (m.programs[0].targets[0].plan.choices.at(-1).below = 2 ** 40), [["/programs/0/targets/0/plan/choices/0/below", `is ${2 ** 40}, and the last choice has none: larger sizes would have no kernel`]]],
    ["a plan that falls", (m) => { const { choices } = m.programs[0].targets[0].plan; choices.unshift({ ...choices[0], below: 8 }, { ...choices[0], below: 4 }); }, [["/programs/0/targets/0/plan/choices/1/below", "is 4, which is no more than 8 of the choice before it"]]],
    ["a buffer that the kernel has not", (m) => (m.programs[0].targets[0].kernels[0].parameters.find((p: Json) => p.buffer === "y").buffer = "z"), [[expect.stringMatching(/^\/programs\/0\/targets\/0\/kernels\/0\/parameters\/\d\/buffer$/) as string, "is 'z', which the kernel has not"]]],
    ["peers of other ranks", (m) => (m.programs[0].targets[0].kernels[0].parameters.find((p: Json) => p.kind === "peers").ranks = 3), [[expect.stringMatching(/parameters\/\d\/ranks$/) as string, "is 3, and the program is for 2"]]],
    ["a length of no dimension", (m) => (m.programs[0].targets[0].kernels[0].grid.work = ["m"]), [["/programs/0/targets/0/kernels/0/grid/work", "has the length 'm', which is no dimension of the program"]]],
    ["what nothing specifies", (m) => (m.programs[0].specification.outputs = [null, 99]), [
      ["/programs/0/specification/outputs", "are 2, and the program has 1"],
      ["/programs/0/specification/outputs/1", expect.stringMatching(/^is 99, and nodes are numbered from 0 to \d+$/) as string],
    ]],
  ])("whose manifest has %s: where, and what is wrong there", async ([, edit, wanted]) => {
    const { problems } = await problemsOf(edited(edit));
    expect(problems.map((p) => [p.pointer, p.message])).toEqual(wanted.map((w) => [...w]));
    for (const p of problems) expect(p).toMatchObject({ file: "manifest.json", help: expect.stringContaining("build the folder anew") as string }); // prettier-ignore
    expect(problems.every((p) => p.program === null || p.program.startsWith("coll_"))).toBe(true);
  }); // prettier-ignore

  test("is not looked at where it is none, or beside a build", async () => {
    const nowhere = join(folder, "nowhere");
    expect(await collc(["build", "--verify", nowhere])).toMatchObject({ code: 2, err: `error: ${nowhere} holds no manifest.json\nhelp: there is no such folder\n` }); // prettier-ignore
    expect((await collc(["build", "--verify", folder])).err).toContain("name a folder that `collc build` has written to"); // prettier-ignore
    expect(await collc(["build", join(folder, "mine.coll"), "--verify", built])).toMatchObject({ code: 2, err: expect.stringContaining("--verify builds nothing") as string }); // prettier-ignore
    const { code, out } = await collc(["build", "--verify", nowhere, "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([2, { error: { exitCode: 2, help: "there is no such folder" } }]);
    const cut = changed((at) => truncateSync(join(at, "manifest.json"), 1000));
    expect((await problemsOf(cut)).problems).toMatchObject([{ file: "manifest.json", message: expect.stringMatching(/^is no JSON: /) as string }]); // prettier-ignore
  });
});

test("any value is a manifest or is not, and no other", () => {
  for (const value of [null, 7, "x", [], {}, { formatVersion: 8 }, { formatVersion: 8, prefix: "p", programs: [null] }])
    expect(manifestProblems(value).length, JSON.stringify(value)).toBeGreaterThan(0);
  expect(manifestProblems({ formatVersion: 8, prefix: "coll", programs: [] })).toEqual([]);
});
