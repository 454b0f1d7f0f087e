import { describe, expect, it } from "vitest";
import { collc, file, forgetful, kernel, oneShot, temporaryFolder } from "./support.js";

const commands = ["run", "check", "emit", "build", "bench", "doctor", "setup"];

describe("help and version", () => {
  it("prints the version", async () => {
    const { code, out } = await collc(["--version"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("prints help without arguments", async () => {
    const { code, out } = await collc([]);
    expect(code).toBe(0);
    expect(out).toContain("Exit codes:");
    for (const command of commands) expect(out).toContain(`  ${command}`);
  });

  it.each([...commands.filter((c) => c !== "setup").map((c) => [c]), ["setup", "nvrtc"]])(
    "prints examples for %s %s",
    async (...argv) => {
      const { code, out } = await collc([...argv.filter((a) => a !== undefined), "--help"]);
      expect(code).toBe(0);
      expect(out).toContain("Examples:\n  $ collc ");
    },
  );
});

describe("wrong command lines exit with 2", () => {
  it.each([
    ["an unknown command", ["runn"], /unknown command 'runn'[\s\S]*Did you mean run\?/],
    ["an unknown option", ["run", "x.coll", "--rnks", "4"], /unknown option '--rnks'[\s\S]*Did you mean --ranks\?/],
    ["a missing file name", ["run"], /missing required argument 'file'/],
    ["too many arguments", ["run", "a", "b", "c"], /too many arguments/],
    ["ranks that are no number", ["run", "x.coll", "--ranks", "four"], /'four' is not a whole number/],
    ["no ranks", ["run", "x.coll", "--ranks", "0"], /from 1 to/],
    ["an unknown backend", ["run", "x.coll", "--backend", "gpu"], /Allowed choices are cpu, cuda, nvshmem, nccl, auto/],
    [
      "two dtypes of one variable",
      ["run", "x.coll", "--dtype", "T=f32,T=f16"],
      /'T' stands there twice; give it one dtype/,
    ],
    [
      "two dtypes of one variable to build",
      ["build", "x.coll", "--dtype", "T=f32,T=f16"],
      /'T' stands there twice; give it one dtype/,
    ],
    ["an unknown dtype", ["run", "x.coll", "--dtype", "bf61"], /did you mean 'bf16'\?/],
    ["a dimension without a value", ["run", "x.coll", "--dim", "n"], /'n' is not NAME=COUNT/],
    ["a negative dimension", ["run", "x.coll", "--dim", "n=-4"], /is not NAME=COUNT/],
    ["a time-out of nothing", ["run", "x.coll", "--timeout", "0"], /seconds above 0/],
    ["an unknown stage", ["emit", kernel("all_reduce/ring"), "--stage", "asm"], /Allowed choices/],
    ["an unknown pass", ["emit", kernel("all_reduce/ring"), "--after", "vectorise"], /did you mean 'vectorize'\?/],
    ["emit without a file", ["emit"], /which program\?/],
    ["an impossible architecture", ["build", "x.coll", "--arch", "hopper"], /sm_90a/],
    ["an unknown suite", ["bench", "allreduce"], /did you mean 'all_reduce'\?/],
    ["a size that is none", ["bench", "all_reduce", "--backend", "cpu", "--sizes", "1Ki,x"], /'x' is no size/],
    ["a peer that cannot be", ["bench", "matmul", "--backend", "cpu", "--peers", "nccl"], /cuBLAS/],
    ["something unknown to set up", ["setup", "nvrt"], /unknown command 'nvrt'|too many arguments/],
  ])("%s", async (_what, argv, message) => {
    const { code, out, err } = await collc(argv);
    expect(err).toMatch(message);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).not.toMatch(/^\s+at /m);
  });

  it("a backend from the environment that is none", async () => {
    const { code, err } = await collc(["run", kernel("all_reduce/ring")], { env: { COLLC_BACKEND: "tpu" } });
    expect(code).toBe(2);
    expect(err).toContain("COLLC_BACKEND=tpu");
  });

  it("emulated ranks under a launcher", async () => {
    const env = { RANK: "0", WORLD_SIZE: "2", LOCAL_RANK: "0" };
    const { code, err } = await collc(["run", kernel("all_reduce/ring"), "--backend", "cpu"], { env });
    expect(code).toBe(2);
    expect(err).toContain("a launcher started several");
  });

  it("ranks that the launcher contradicts", async () => {
    const env = { RANK: "0", WORLD_SIZE: "2", LOCAL_RANK: "0" };
    const { code, err } = await collc(["run", kernel("all_reduce/ring"), "--backend", "cuda", "--ranks", "3"], { env });
    expect(code).toBe(2);
    expect(err).toContain("--ranks 3, but torchrun started 2");
  });
});

describe("files", () => {
  const folder = temporaryFolder();
  file(folder, "one_shot.coll", oneShot);
  const run = (path: string, ...rest: string[]): ReturnType<typeof collc> =>
    collc(["run", path, "--backend", "cpu", ...rest]);

  it.each(["run", "check", "emit", "build"])("%s: a file that is not there", async (command) => {
    const { code, err } = await collc([command, `${folder}/one_shott.coll`]);
    expect(code).toBe(2);
    expect(err).toContain("there is no file");
    expect(err).toContain("one_shot.coll?");
  });

  it("a folder", async () => {
    const { code, err } = await run(folder);
    expect(code).toBe(2);
    expect(err).toMatch(/is a folder[\s\S]*one_shot\.coll/);
  });

  it.each([
    ["zeros", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0])],
    ["no UTF-8", new Uint8Array([0x63, 0xff, 0xfe, 0x20])],
  ])("a binary file: %s", async (_what, bytes) => {
    const { code, err } = await run(file(folder, "binary.coll", bytes));
    expect(code).toBe(2);
    expect(err).toContain("not a text file");
  });

  it("an empty file", async () => {
    const { code, err } = await run(file(folder, "empty.coll", ""));
    expect([1, 2]).toContain(code);
    expect(err).not.toBe("");
  });

  it("a program from standard input", async () => {
    const { code, out } = await collc(["run", "-", "--backend", "cpu", "--dim", "n=100"], { stdin: oneShot });
    expect(code).toBe(0);
    expect(out).toContain("✓ correct");
  });

  it("a shipped kernel by its path from any folder", async () => {
    const { code } = await run("kernels/all_reduce/one_shot.coll", "--dim", "n=64");
    expect(code).toBe(0);
  });

  it("several collectives need a name, and a wrong name gets a suggestion", async () => {
    const path = file(folder, "two.coll", oneShot + forgetful);
    const without = await run(path);
    expect(without.code).toBe(2);
    expect(without.err).toMatch(/2 collectives: one_shot, forgetful/);
    const wrong = await run(path, "oneshot");
    expect(wrong.code).toBe(2);
    expect(wrong.err).toMatch(/no collective 'oneshot'[\s\S]*did you mean 'one_shot'\?/);
    expect((await run(path, "one_shot", "--dim", "n=64")).code).toBe(0);
  });

  it("a syntax error is the program's: exit 1 and a code frame", async () => {
    const { code, err } = await run(
      file(folder, "syntax.coll", "collective f(x: T[n] replicated -> y: T[n] replicated { }\n"),
    );
    expect(code).toBe(1);
    expect(err).toMatch(/error\[[a-z-]+\]/);
    expect(err).toMatch(/syntax\.coll:1:/);
  });
});
