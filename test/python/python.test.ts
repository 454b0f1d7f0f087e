/** The Python package, by its own tests in processes of python3: artifacts of a build against the fake compiler, on the fake driver. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { IN_PLACE, SCALED } from "../aot/programs.js";
import { fakeDriver, hasFakes, useFakeCompiler } from "../aot/support.js";
import { collc, file, kernel, temporaryFolder } from "../cli/support.js";

const folder = temporaryFolder();
const artifacts = join(folder, "out");
const here = import.meta.dirname;

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
  });

  test("its own tests pass", () => {
    const ran = spawnSync("python3", ["-m", "unittest", "-v", "test_collc"], {
      cwd: here,
      encoding: "utf8",
      env: {
        ...process.env,
        PYTHONPATH: join(packageRoot(), "python"),
        PYTHONDONTWRITEBYTECODE: "1",
        PYTHONWARNINGS: "error",
        COLLC_TEST_ARTIFACTS: artifacts,
        COLLC_TEST_LIBCUDA: fakeDriver,
        FAKE_CUDA_LOG: join(folder, "launches.jsonl"),
        FAKE_CUDA_ATTRIBUTES: "16=132",
        FAKE_CUDA_BLOCKING: "1",
      },
    });
    expect(ran.error, "python3 is needed").toBeUndefined();
    expect(ran.stderr).toMatch(/Ran (1[5-9]|[2-9]\d) tests in [^\n]*\n\nOK\n$/);
    expect(ran.status).toBe(0);
  });
});
