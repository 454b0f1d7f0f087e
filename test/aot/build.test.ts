/** What `collc build` writes, how a second build joins it, and what it refuses. */
import { createHash } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type ArtefactManifest,
  type ArtefactProgram,
  MANIFEST_SCHEMA,
  manifestProblem,
  parseManifest,
} from "../../src/cli/aot/manifest.js";
import { packageRoot } from "../../src/runtime/native.js";
import { findNvrtc } from "../../src/runtime/nvrtc.js";
import {
  collc,
  copyForOthers,
  entry,
  file,
  isBuilt,
  kernel,
  oneShot,
  type Outcome,
  temporaryFolder,
} from "../cli/support.js";
import { hasFakes, useFakeCompiler } from "./support.js";
import { isAll } from "../scope.js";

// Before NVRTC is the fake one.
const nvrtc = (await findNvrtc()).found;
const folder = temporaryFolder();
let count = 0;
const fresh = (): string => join(folder, `out${count++}`);
const manifestIn = (out: string): ArtefactManifest =>
  parseManifest(out, readFileSync(join(out, "manifest.json"), "utf8"));
const filesIn = (out: string): Map<string, string> =>
  new Map(readdirSync(out).sort().map((name) => [name, readFileSync(join(out, name), "latin1")])); // prettier-ignore
const build = (out: string, ...argv: string[]): Promise<Outcome> => collc(["build", ...argv, "-o", out]);

describe.runIf(hasFakes)("a folder", () => {
  useFakeCompiler();

  test("holds what its manifest says, with the cubins' hashes", async () => {
    const out = join(fresh(), "deep");
    const files = [kernel("all_reduce/one_shot"), kernel("all_gather/push"), kernel("all_to_all/push")];
    expect(await build(out, ...files, "--ranks", "2", "--arch", "sm_80,sm_90a")).toMatchObject({ code: 0, err: "" });
    const names = readdirSync(out);
    const { programs } = manifestIn(out);
    expect(programs.map((p) => p.name)).toEqual([
      "coll_one_shot_of_all_reduce_w2_bf16",
      "coll_push_of_all_gather_w2_bf16",
      "coll_push_of_all_to_all_w2_bf16",
    ]);
    // The runtime's four, the table's two, the manifest; of each program two files, and three for each of two architectures.
    expect(names).toHaveLength(7 + 3 * (2 + 2 * 3));
    for (const program of programs) {
      expect(program.targets.map((t) => t.arch)).toEqual(["sm_80", "sm_90a"]);
      for (const { files: own, cubinSha256, cubinBytes } of program.targets.flatMap((t) => t.kernels)) {
        const cubin = readFileSync(join(out, own.cubin));
        expect(createHash("sha256").update(cubin).digest("hex")).toBe(cubinSha256);
        expect(cubin.byteLength).toBe(cubinBytes);
        expect(Object.values(own).every((name) => names.includes(name))).toBe(true);
      }
    }
  });

  test("has a name for every kernel of the library, for three worlds and two dtypes", async () => {
    const out = fresh();
    const library = readdirSync(join(packageRoot(), "kernels"), { recursive: true, encoding: "utf8" });
    const files = library.filter((name) => /^((all_gather|all_to_all|broadcast|reduce_scatter|reduce)\/.*|reduce_scatter)\.coll$/.test(name)).map((name) => join(packageRoot(), "kernels", name)); // prettier-ignore
    const { code } = await build(out, ...files, "--ranks", isAll ? "2,3,4" : "3,4", "--dtype", "f32,bf16");
    expect(code).toBe(0);
    const { programs } = manifestIn(out);
    expect(programs.length).toBeGreaterThan(60);
    const symbols = programs.flatMap((p) => p.targets.flatMap((t) => t.kernels.map((k) => k.symbol)));
    expect(new Set(symbols).size).toBe(symbols.length);
    for (const p of programs) expect(readFileSync(join(out, p.targets[0]!.kernels[0]!.files.cu), "utf8")).toContain(`\n${p.targets[0]!.kernels[0]!.symbol}(`); // prettier-ignore
    const headers = programs.map((p) => `#include "${p.files.header}"\n`).join("");
    execFileSync("cc", ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", out, "-x", "c", "-"], { input: headers }); // prettier-ignore
  });

  test("programs that differ in mesh, mapping, blocks or roundings have different names", async () => {
    const out = fresh();
    const path = kernel("all_reduce/hierarchical");
    for (const args of [
      ["--mesh", "2x4"],
      ["--mesh", "4x2"],
      ["--mesh", "4x2", "--max-blocks", "16"],
      ["--mesh", "4x2", "--mapping", '{"elementThreads":256}'],
      ["--mesh", "4x2", "--round-partial-sums"],
    ])
      // prettier-ignore
      expect((await build(out, path, ...args)).code).toBe(0);
    const { programs } = manifestIn(out);
    expect(new Set(programs.map((p) => p.name)).size).toBe(5);
    const rounded = programs.filter((p) => p.roundPartialSums === true);
    expect(rounded.map((p) => p.name)).toEqual([expect.stringMatching(/_bf16_rounded$|_f32_rounded$/)]);
    const dtypesOf = (p: ArtefactProgram): unknown => p.targets[0]!.kernels[0]!.buffers.find((b) => b.name === "own")!.dtype; // prettier-ignore
    expect([dtypesOf(rounded[0]!), ...new Set(programs.filter((p) => p !== rounded[0]).map(dtypesOf))]).toEqual(["bf16", "f32"]); // prettier-ignore
    const capped = programs.find((p) => p.maxBlocks === 16)!;
    for (const k of capped.targets[0]!.kernels) expect(k.grid.maxBlocks).toBeLessThanOrEqual(16);
  });

  test("a second build adds to what is there, in whatever order, and keeps files of others", async () => {
    const [once, twice] = [fresh(), fresh()];
    const [a, b] = [kernel("all_reduce/one_shot"), kernel("all_gather/push")];
    await build(once, a, b, "--arch", "sm_80,sm_90a");
    await build(twice, b, "--arch", "sm_90a");
    writeFileSync(join(twice, "mine.txt"), "mine");
    await build(twice, a, "--arch", "sm_90a,sm_80");
    await build(twice, b, "--arch", "sm_80");
    const files = filesIn(twice);
    expect(files.get("mine.txt")).toBe("mine");
    files.delete("mine.txt");
    expect(files).toEqual(filesIn(once));
  });

  test("many builds into one folder at once forget nothing", async () => {
    const out = fresh();
    const names = ["one_shot", "two_shot", "push", "ring", "tree"];
    const all = await Promise.all(names.map((name) => build(out, kernel(`all_reduce/${name}`))));
    expect(all.map((o) => o.code)).toEqual(names.map(() => 0));
    expect(manifestIn(out).programs.map((p) => p.path)).toEqual(names.map((name) => `all_reduce/${name}`).sort());
  });

  test("does not mix texts: of an edited file all architectures are built together", async () => {
    const out = fresh();
    const path = file(folder, "edited.coll", oneShot);
    expect((await build(out, path, "--arch", "sm_80,sm_90a")).code).toBe(0);
    writeFileSync(path, oneShot.replace("y[i] = sum", "y[i] = 1 * sum"));
    const before = filesIn(out);
    const { code, err } = await build(out, path, "--arch", "sm_90a");
    expect(code).toBe(2);
    expect(err).toMatch(/was built for sm_80 from another text of edited\.coll[^]*--arch sm_80,sm_90a/);
    expect(filesIn(out)).toEqual(before);
    expect((await build(out, path, "--arch", "sm_80,sm_90a")).code).toBe(0);
  });

  test("refuses two programs of one name, a folder of another prefix, and a manifest that is none", async () => {
    const out = fresh();
    const [a, b] = ["a", "b"].map((name) => join(folder, name));
    for (const at of [a!, b!]) mkdirSync(at);
    file(a!, "same.coll", oneShot);
    file(b!, "same.coll", oneShot);
    expect((await build(out, join(a!, "same.coll"), "--root", folder)).code).toBe(0);
    expect((await build(out, join(b!, "same.coll"), "--root", folder)).code).toBe(0);
    expect(manifestIn(out).programs.map((p) => p.path)).toEqual(["a/same", "b/same"]);
    file(folder, "same_of_a.coll", oneShot);
    const clash = await build(out, join(folder, "same_of_a.coll"), "--root", folder);
    expect(clash.code).toBe(2);
    expect(clash.err).toMatch(
      /two programs would both be called coll_one_shot_of_same_of_a_w4_bf16: .* a\/same\.coll, and .* same_of_a\.coll/,
    );
    expect(await build(out, join(a!, "same.coll"), "--prefix", "mine")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--prefix coll"),
    });
    writeFileSync(join(out, "manifest.json"), '{"formatVersion": 3}');
    expect(await build(out, join(a!, "same.coll"))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/is not of this version of collc: .*help: build into another folder/s),
    });
    for (const root of [b!, join(folder, "nowhere")])
      expect(await build(fresh(), join(a!, "same.coll"), "--root", root)).toMatchObject({
        code: 2,
        err: expect.stringContaining("name with --root a folder"),
      });
  });

  test("headers of one name and different programs do not compile together", async () => {
    const [one, other] = [fresh(), fresh()];
    const both = (): string => `#include "${one}/coll_push_w4_bf16.h"\n#include "${other}/coll_push_w4_bf16.h"\n`;
    const copies = ["all_gather", "all_to_all"].map((name) => {
      const at = join(folder, `copy-${name}`);
      mkdirSync(at);
      cpSync(kernel(`${name}/push`), join(at, "push.coll"));
      return join(at, "push.coll");
    });
    await build(one, copies[0]!);
    await build(other, copies[1]!);
    const compile = (text: string): ReturnType<typeof spawnSync> =>
      spawnSync("cc", ["-std=c99", "-fsyntax-only", "-I", one, "-x", "c", "-"], { input: text, encoding: "utf8" });
    expect(compile(both()).stderr).toContain(
      "two headers are called coll_push_w4_bf16.h, and are of different programs",
    );
    expect(compile(`#include "${one}/coll_push_w4_bf16.h"\n#include "${one}/coll_push_w4_bf16.h"\n`).status).toBe(0);
  });

  test("headers compile as C and as C++ without a warning, names like `int` and `stream` included", async () => {
    const out = fresh();
    const strange = file(
      folder,
      "odd.coll",
      `collective odd(int: T[n, for_] partial(sum), stream: T[n, for_] replicated, eps: f32) -> out: T[n, for_] sharded(0) {
  for i, j in tiles(shard(n, rank), for_) {
    out[i - shard(n, rank).start, j] = eps * sum(p in ranks) int@p[i, j]
  }
}
`,
    );
    const files = ["all_reduce", "all_reduce/ring", "matmul/reduce_scatter", "matmul/all_gather_swiglu"].map((name) =>
      kernel(name),
    );
    expect((await build(out, ...files, strange, "--arch", "sm_80,sm_90a", "--embed")).code).toBe(0);
    const strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", out];
    for (const name of readdirSync(out).filter((each) => /\.[ch]$/.test(each)))
      execFileSync("cc", ["-std=c99", ...strict, "-x", "c", join(out, name)]);
    execFileSync("c++", ["-std=c++11", ...strict, "-x", "c++", join(out, "coll_programs.h")]);
  });

  test("says what it has read, for make", async () => {
    const out = fresh();
    const spaced = join(folder, "a folder");
    mkdirSync(spaced);
    const path = file(spaced, "mine.coll", 'import next from "common/neighbours.coll"\n' + readFileSync(kernel("all_reduce/ring"), "utf8").replace(/^import.*\n/m, "")); // prettier-ignore
    const deps = join(folder, "out.d");
    expect((await build(out, path, "--depfile", deps)).code).toBe(0);
    const text = readFileSync(deps, "utf8");
    expect(text.startsWith(`${out}/manifest.json:`)).toBe(true);
    expect(text).toContain("a\\ folder/mine.coll");
    expect(text).toContain("kernels/common/neighbours.coll");
  });

  test("a program from standard input, and faults as JSON", async () => {
    const out = fresh();
    expect((await collc(["build", "-", "-o", out], { stdin: oneShot })).code).toBe(0);
    expect(manifestIn(out).programs[0]).toMatchObject({ name: "coll_one_shot_of_stdin_w4_bf16", source: "<stdin>" });
    const { code, out: printed } = await build(
      fresh(),
      kernel("all_reduce/one_shot"),
      "--root",
      folder,
      "--json",
      "--prefix",
      "9",
    );
    expect(code).toBe(2);
    expect(JSON.parse(printed)).toMatchObject({ error: { exitCode: 2, message: expect.stringContaining("'9'") } });
  });

  test("says what it has built as JSON", async () => {
    const { out: printed } = await build(fresh(), kernel("all_reduce/one_shot"), "--json");
    const { programs } = JSON.parse(printed) as { programs: { name: string; arch: string; kernels: unknown[] }[] };
    expect(programs).toMatchObject([{ name: "coll_one_shot_of_all_reduce_w4_bf16", arch: "sm_90a", kernels: [{}] }]);
  });

  test("leaves nothing behind when a later program is wrong, or the arch too small", async () => {
    const bad = file(folder, "bad.coll", "collective f(");
    const out = join(folder, "never", "there");
    expect((await build(out, kernel("all_reduce/one_shot"), bad)).code).toBe(1);
    const large = ["--arch", "sm_89", "--mapping", '{"tile":{"m":128,"n":256,"k":64,"stages":3}}'];
    expect(await build(out, kernel("matmul/reduce_scatter"), ...large)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/needs \d+ bytes of shared memory a block, and sm_89 has 101376[^]*--mapping/),
    });
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  test.each(["sm_86", "sm_89", "sm_120"])("products fit the shared memory of %s", async (arch) => {
    const out = fresh();
    expect((await build(out, kernel("matmul/reduce_scatter"), "--arch", arch)).code).toBe(0);
    expect(manifestIn(out).programs[0]!.targets[0]!.kernels[0]!.sharedBytes).toBeLessThanOrEqual(99 * 1024);
  });

  test("what a program was made of does not depend on what else is built", async () => {
    const [alone, beside] = [fresh(), fresh()];
    // Not for 3 ranks, but read all the same.
    const text = readFileSync(kernel("all_reduce/recursive_doubling"), "utf8");
    const other = file(folder, "importing.coll", `import next from "common/neighbours.coll"\n${text}`);
    await build(alone, kernel("all_gather/push"), "--ranks", "3");
    await build(beside, other, kernel("all_gather/push"), "--ranks", "3");
    expect(manifestIn(beside).programs).toHaveLength(1);
    const digestIn = (out: string): string => manifestIn(out).programs.find((p) => p.path === "all_gather/push")!.sourceSha256; // prettier-ignore
    expect(digestIn(beside)).toBe(digestIn(alone));
  });

  test("leaves out worlds and dtypes that a program is not for, and says so", async () => {
    const { code, err } = await build(fresh(), kernel("all_reduce/recursive_doubling"), "--ranks", "3,4");
    expect(err).toContain("recursive_doubling is not for 3 ranks and bf16: left out");
    expect(code).toBe(0);
  });

  test("a file stands where the folder should", async () => {
    const path = file(folder, "taken", "");
    const { code, err } = await build(path, kernel("all_reduce/one_shot"));
    expect(code).toBe(2);
    expect(err).toContain("is a file, not a folder");
  });

  test("it cannot be written", async () => {
    const locked = join(folder, "locked");
    mkdirSync(locked);
    chmodSync(folder, 0o755);
    chmodSync(locked, 0o555);
    // Root may write anywhere; nobody may not.
    const isRoot = process.geteuid!() === 0;
    const release = "build/Release/fake-nvrtc/libnvrtc.so.99";
    const others = isRoot ? join(folder, "collc") : packageRoot();
    const command = isRoot ? copyForOthers(others) : entry;
    const source = file(folder, "public.coll", oneShot);
    const { status, stderr } = spawnSync(process.execPath, [command, "build", source, "-o", join(locked, "out")], {
      ...(isRoot && { uid: 65534, gid: 65534 }),
      cwd: "/",
      encoding: "utf8",
      env: { PATH: process.env["PATH"], COLLC_NVRTC: join(others, release) },
    });
    expect([status, stderr]).toEqual([3, expect.stringContaining("EACCES")]);
    expect(stderr).toContain(locked);
  });
});

describe("the schema", () => {
  const published = join(packageRoot(), "schemas/manifest.schema.json");

  test("is published as it is", async () => {
    const { out } = await collc(["build", "--schema"]);
    // `npm run schemas` writes it.
    expect(JSON.parse(readFileSync(published, "utf8"))).toEqual(JSON.parse(out));
    expect(MANIFEST_SCHEMA["$schema"]).toBe("https://json-schema.org/draft/2020-12/schema");
  });

  test("says where a manifest is wrong", () => {
    expect(manifestProblem({ formatVersion: 8, prefix: "coll", programs: [] })).toBeNull();
    expect(manifestProblem({ formatVersion: 3, prefix: "coll", programs: [] })).toMatch(
      /formatVersion must be equal to constant/,
    );
    expect(manifestProblem({ formatVersion: 8, prefix: "coll", programs: [{ name: "x" }] })).toMatch(
      /programs\/0 must have/,
    );
    expect(manifestProblem(null)).toMatch(/it must be object/);
  });
});

const real = nvrtc !== null || process.env["CI"] === "true";
describe.runIf(real && isBuilt)("with NVRTC itself", () => {
  const run = (cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [entry, "build", ...args], { cwd, encoding: "utf8", env: { ...process.env, COLLC_NVRTC: nvrtc?.path ?? "", ...env } }); // prettier-ignore

  test("the same bytes from any folder, by any path, on any day, and in any order", () => {
    const source = `import next from "shared/helper.coll"\n${readFileSync(kernel("all_reduce/ring"), "utf8").replace(/^import.*\n/m, "")}`;
    const outs = ["x", "elsewhere/deeper"].map((name) => {
      const at = join(folder, name);
      mkdirSync(join(at, "shared"), { recursive: true });
      writeFileSync(join(at, "mine.coll"), source);
      cpSync(kernel("common/neighbours"), join(at, "shared/helper.coll"));
      return at;
    });
    const args = ["--arch", "sm_90a,sm_80", "--ranks", "2", "--embed", "-o"];
    const library = kernel(isAll ? "all_reduce" : "broadcast");
    const first = run(outs[0]!, ["mine.coll", library, ...args, "out"]);
    expect(first.stderr).toBe("");
    // In another folder and order, with other paths, in another time zone.
    const second = run(folder, [library, "elsewhere/../elsewhere/deeper/mine.coll", ...args, join(outs[1]!, "out")], {
      TZ: "Asia/Tokyo",
    });
    expect(second.stderr).toBe("");
    expect(filesIn(join(outs[1]!, "out"))).toEqual(filesIn(join(outs[0]!, "out")));
    expect(readdirSync(join(outs[0]!, "out")).length).toBeGreaterThan(10);
  });

  test("a text becomes the same cubin, whatever else is compiled: NVRTC makes others of this one, time after time in a process", () => {
    const out = fresh();
    const args = [kernel("all_gather"), "--arch", "sm_80", "--ranks", "2", "--dtype", "f32", "-o", out];
    expect(run(folder, args).stderr).toBe("");
    const cuda = join(out, "coll_all_gather_w2_f32_push.sm_80.cu");
    const code = `
      import { readFileSync } from "node:fs";
      import { Compilers } from ${JSON.stringify(join(dirname(entry), "aot/compilers.js"))};
      const compilers = new Compilers(1);
      const text = readFileSync(${JSON.stringify(cuda)}, "utf8");
      for (let i = 0; i < 5; i++) console.log((await compilers.compile(text, "sm_80")).ptx.length);
      compilers.close();`;
    const ran = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
      encoding: "utf8",
      env: { ...process.env, COLLC_NVRTC: nvrtc?.path ?? "" },
    });
    expect(ran.stderr).toBe("");
    const lengths = ran.stdout.trim().split("\n").map(Number);
    expect(lengths).toEqual(Array.from({ length: 5 }, () => readFileSync(cuda.replace(/cu$/, "ptx")).length));
  });

  // Tiles need cp.async; a product without them is slow, says so, and is one.
  test.each(["f32", "f16"])("a product of %s is built for GPUs before sm_80, too", (dtype) => {
    const out = fresh();
    const ran = run(folder, [kernel("matmul/reduce_scatter"), "--dtype", dtype, "--ranks", "2", "--arch", "sm_75", "-o", out]); // prettier-ignore
    expect(ran.stderr).toContain("no tensor core takes this product, and it will be slow: tiles are copied while others are multiplied, which GPUs do from sm_80 on"); // prettier-ignore
    expect(ran.status).toBe(0);
    expect(manifestIn(out).programs.map((p) => p.targets.map((t) => t.arch))).toEqual([["sm_75"]]);
  });

  test("what is asked for twice is built once, and said once", () => {
    const ran = run(folder, [kernel("all_reduce/one_shot"), "--ranks", "2,2", "--arch", "sm_90a,sm_90a", "-o", fresh()]); // prettier-ignore
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
    expect(ran.stdout).toMatch(/^✓ [^\n]*\n1 program for sm_90a in [^\n]*\n$/);
  });

  test("what an architecture lacks is no bug in collc", () => {
    const ran = run(folder, [kernel("all_reduce/one_shot"), "--arch", "sm_75", "-o", fresh()]);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(
      /one_shot of kernels\/all_reduce\/one_shot\.coll cannot be built for sm_75: it needs .* begins with sm_80/,
    );
  });
});
