/** The suites for GPUs, as processes, on the fakes of driver, compiler, NVSHMEM and NCCL: so they are right before a GPU is. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { isAll } from "../scope.js";
import { FAKES } from "./suites-on-fakes.js";

const root = packageRoot();
const env = { ...process.env, ...FAKES };

/** Ends what hangs, on a machine that many share, too. */
const LIMIT_MS = 1_800_000;

/** The suite's output; it fails when the suite does. */
const run = (...args: string[]): Promise<string> => runWith(env, ...args);

async function runWith(environment: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  const done = promisify(execFile)(process.execPath, args, { cwd: root, env: environment, timeout: LIMIT_MS });
  const { stdout } = await done.catch((error: { stdout?: string; stderr?: string; message: string }) => {
    const lines = `${error.stdout ?? ""}${error.stderr ?? ""}`.split("\n").filter((line) => !line.startsWith("ok"));
    throw new Error(lines.join("\n").slice(0, 4000) || error.message);
  });
  return stdout;
}

// Large and many allocations are left to test/runtime/group-device.test.ts and to GPUs: the fakes hold memory in RAM. So is a kernel that
// multiplies by a number of the launch (test/runtime/programs.test.ts has one), which the fakes do not compute.
it.each(
  isAll
    ? ([
        ["cuda", 5],
        ["nvshmem", 2],
        ["cuda", 1],
        ["nccl", 3],
      ] as const)
    : ([["nvshmem", 2]] as const),
)("the runtime's cases on %s with %i ranks", async (backend, ranks) => {
  const output = await run(
    "test/gpu/runtime.mjs",
    "--backend",
    backend,
    "--ranks",
    `${ranks}`,
    "--skip",
    "2 GiB,stays flat,numbers of the launch",
  );
  const [, passed] = /: (\d+) passed, 0 failed/.exec(output) ?? [];
  expect(Number(passed)).toBeGreaterThanOrEqual(12);
});

it.runIf(isAll).each([
  ["nccl", 2],
  ["cuda", 3],
  ["nvshmem", 2],
] as const)("the faults on %s with %i ranks", { timeout: LIMIT_MS }, async (backend, ranks) => {
  const output = await run("test/gpu/faults.mjs", "--backend", backend, "--ranks", `${ranks}`);
  const [, passed] = /: (\d+) passed, 0 failed/.exec(output) ?? [];
  expect(Number(passed)).toBeGreaterThanOrEqual(15);
});

// Without all tests, `test/aot` runs such artefacts on the fake driver. Copies need kernels that wait, and the fakes' do not: test/aot/copies.test.ts.
it.runIf(isAll)("the suite of artefacts in C, C++ and Python", async () => {
  // A C program may block where Node must not.
  const blocking = { ...env, FAKE_CUDA_ATTRIBUTES: "16=132", FAKE_CUDA_BLOCKING: "1" };
  const output = await runWith(
    blocking,
    "test/gpu/aot.mjs",
    "--programs",
    "all_reduce/one_shot",
    "--elements",
    "7,5003",
    "--examples",
    "c,cpp,python,dlpack,pytorch",
  );
  expect(output).toContain("aot, cuda, 2 ranks: 5 passed, 0 failed");
});

// The fake driver computes all-reduces in f32, on at most 16 blocks.
it.each(isAll ? ["one_shot", "two_shot"] : ["two_shot"])("the kernel suite, %s", async (name) => {
  const only = ["--only", `all_reduce/${name}`, "--dtypes", "f32", "--quick"];
  const output = await run("test/gpu/suite.mjs", "--ranks", "3", ...only, "--mapping", '{"elementBlocks":16}');
  expect(output).toContain("20 passed, 0 failed");
});
