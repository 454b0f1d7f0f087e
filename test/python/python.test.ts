/** The Python package, by its own tests in processes of python3: artifacts of a build against the fake compiler, on the fake driver. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { IN_PLACE, SCALED } from "../aot/programs.js";
import { fakeDriver, hasFakes, useFakeCompiler } from "../aot/support.js";
import { collc, file, kernel, temporaryFolder } from "../cli/support.js";

const folder = temporaryFolder();
const artifacts = join(folder, "out");
const here = import.meta.dirname;

/** A python3 that has PyTorch, which no test may ask for: CPU builds do. */
const torchPython = process.env["COLLC_TEST_TORCH_PYTHON"] ?? "python3";
const hasTorch = spawnSync(torchPython, ["-c", "import torch"]).status === 0;
if (!hasTorch) process.stderr.write("python3 has no PyTorch: the operators of collc.pytorch are not tried\n");

/** The command as `npm run build:ts` leaves it: the pass calls it. */
const built = join(packageRoot(), "dist/src/cli/main.js");
if (hasTorch && !existsSync(built)) process.stderr.write("dist is not built: collc's pass for PyTorch is not tried\n");

const env: NodeJS.ProcessEnv = {
  ...process.env,
  PYTHONPATH: join(packageRoot(), "python"),
  PYTHONDONTWRITEBYTECODE: "1",
  FAKE_CUDA_ATTRIBUTES: "16=132",
  FAKE_CUDA_BLOCKING: "1",
};

describe.runIf(hasFakes)("the Python package", () => {
  beforeAll(async () => {
    useFakeCompiler();
    const names = ["all_reduce", "all_reduce/one_shot", "reduce_scatter/pull", "matmul/reduce_scatter"];
    const files = [
      ...names.map((name) => kernel(name)),
      file(folder, "scaled.coll", SCALED),
      file(folder, "in_place.coll", IN_PLACE),
    ];
    const args = ["--ranks", "2,4", "--dtype", "bf16,f32", "--arch", "sm_80,sm_90a", "-o", artifacts];
    expect(await collc(["build", ...files, ...args])).toMatchObject({ code: 0 });
    // The same program for two hosts, which the folder lists before the one for ranks that share addresses.
    const hosts = ["--ranks", "2", "--reach", "2x1", "--dtype", "f32", "--arch", "sm_90a", "-o", artifacts];
    expect(await collc(["build", kernel("all_reduce"), ...hosts])).toMatchObject({ code: 0 });
  });

  test("its own tests pass", () => {
    const ran = spawnSync("python3", ["-m", "unittest", "-v", "test_collc", "test_compiler"], {
      cwd: here,
      encoding: "utf8",
      env: {
        ...env,
        PYTHONWARNINGS: "error",
        COLLC_TEST_ARTIFACTS: artifacts,
        COLLC_TEST_LIBCUDA: fakeDriver,
        FAKE_CUDA_LOG: join(folder, "launches.jsonl"),
      },
    });
    expect(ran.error, "python3 is needed").toBeUndefined();
    expect(ran.stderr).toMatch(/Ran (3[1-9]|[4-9]\d) tests in [^\n]*\n\nOK\n$/);
    expect(ran.status).toBe(0);
  });

  test("examples and scripts for GPUs are Python", () => {
    const folders = ["python/collc", "examples/pytorch", "test/gpu", "test/python"].map((f) => join(packageRoot(), f));
    const files = folders.flatMap((f) => readdirSync(f).filter((n) => n.endsWith(".py")).map((n) => join(f, n))); // prettier-ignore
    expect(files.length).toBeGreaterThanOrEqual(9);
    const check =
      "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name, feature_version=(3, 9))";
    const ran = spawnSync("python3", ["-c", check, ...files], { encoding: "utf8" });
    expect(ran.stderr).toBe("");
    expect(ran.status).toBe(0);
  });

  test.runIf(hasTorch)("its operators, in PyTorch's dispatcher, autograd and compiler", async () => {
    const out = join(folder, "operators");
    const names = ["all_reduce/one_shot", "all_gather", "reduce_scatter"].map((name) => kernel(name));
    const args = ["--ranks", "2", "--dtype", "f32", "--arch", "sm_90", "-o", out];
    expect(await collc(["build", ...names, ...args])).toMatchObject({ code: 0 });
    // The fake driver knows one_shot alone, and the operator asks for all_reduce.
    const manifest = readFileSync(join(out, "manifest.json"), "utf8");
    writeFileSync(
      join(out, "manifest.json"),
      manifest.replace('"path": "all_reduce/one_shot"', '"path": "all_reduce"'),
    );
    const run = mkdtempSync(join(folder, "run-"));
    const ranks = [0, 1].map((rank) =>
      promisify(execFile)(torchPython, [join(here, "torch_rank.py"), `${rank}`, "2", run, out, fakeDriver], { env }),
    );
    const said = ["eager", "not contiguous", "gradient", "shapes and gradients' shapes", "compiled, fullgraph", "opcheck", "refusals", "after recovery"]; // prettier-ignore
    for (const { stdout } of await Promise.all(ranks)) expect(stdout.trimEnd().split("\n")).toEqual(said);
  });

  test.runIf(hasTorch && existsSync(built))("surgery on graphs, and memory of regions", () => {
    const ran = spawnSync(torchPython, ["-m", "unittest", "-v", "test_torch"], {
      cwd: here,
      encoding: "utf8",
      env: { ...env, COLLC_COMMAND: `${process.execPath} ${built}` },
    });
    expect(ran.stderr).toMatch(/Ran ([89]|\d\d) tests in [^\n]*\n\nOK\n$/);
    expect(ran.status).toBe(0);
  });

  // On gloo, with Inductor for CPUs, and programs that evaluate what they stand for.
  test.runIf(hasTorch && existsSync(built))(
    "its pass for torch.compile, in Inductor",
    { timeout: 900_000 },
    async () => {
      const run = mkdtempSync(join(folder, "run-"));
      // Its own: what collc makes here is of the fake compiler.
      const cache = join(folder, "cache");
      const command = `${process.execPath} ${built}`;
      const ranks = [0, 1].map((rank) =>
        promisify(execFile)(torchPython, [join(here, "inductor_rank.py"), `${rank}`, "2", run, cache], {
          env: {
            ...env,
            COLLC_COMMAND: command,
            COLLC_NVRTC: process.env["COLLC_NVRTC"],
            TORCHINDUCTOR_CACHE_DIR: join(run, `inductor-${rank}`),
          },
          maxBuffer: 2 ** 26,
        }),
      );
      for (const { stdout } of await Promise.all(ranks)) expect(stdout.trimEnd().split("\n")).toEqual(["a layer", "its gradients", "two layers, what is faster", "sizes", "sizes within limits, and their gradients", "sizes that there is no room for", "sizes that programs are not for", "lists of tensors that programs are not for", "a layer of as many tokens as there are", "without a compiler", "tensors that are exchanged together", "folds without their dimension", "ranks that differ", "off again", "the example"]); // prettier-ignore
    },
  );
});
