/** examples/c and examples/cpp against the fakes of driver and NCCL: real processes, sockets, descriptors and shared memory. */
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { entry, isBuilt, temporaryFolder } from "../cli/support.js";
import { hasFakes } from "./support.js";

const folder = temporaryFolder();
const release = join(packageRoot(), "build/Release");
const hasMake = spawnSync("make", ["--version"]).status === 0;
if (!hasMake) process.stderr.write("make is not here: the Makefiles of the examples are not tried\n");

/** The fake driver computes one_shot in f32, on at most 16 blocks. */
const env: NodeJS.ProcessEnv = {
  ...process.env,
  COLLC: `${process.execPath} ${entry}`,
  COLLC_NVRTC: join(release, "fake-nvrtc/libnvrtc.so.99"),
  LD_LIBRARY_PATH: join(release, "fake-cuda"),
  FAKE_CUDA_ATTRIBUTES: "16=132",
  FAKE_CUDA_BLOCKING: "1",
};
const nccl = ["--libnccl", join(release, "fake-nccl/libnccl.so.2")];

describe.runIf(hasFakes && isBuilt)("the examples", () => {
  const [c, cpp] = [join(folder, "c"), join(folder, "cpp")];
  const run = (
    at: string,
    args: readonly string[],
    more: NodeJS.ProcessEnv = {},
  ): ReturnType<typeof spawnSync> & { lines: string[] } => {
    const ran = spawnSync(join(at, "all_reduce"), args, { cwd: at, encoding: "utf8", env: { ...env, ...more }, timeout: 120_000 }); // prettier-ignore
    return { ...ran, lines: ran.stdout.trimEnd().split("\n").sort() };
  };
  const sh = (at: string, command: string): void => {
    const ran = spawnSync("sh", ["-ec", command], { cwd: at, encoding: "utf8", env });
    if (ran.status !== 0) throw new Error(ran.stdout + ran.stderr);
  };

  beforeAll(() => {
    for (const name of ["c", "cpp"])
      cpSync(join(packageRoot(), "examples", name), join(folder, name), {
        recursive: true,
        filter: (path) => !/\/(out|objects)$|\/all_reduce$/.test(path),
      });
    if (hasMake) {
      sh(c, "make CFLAGS='-O1 -Wall -Wextra -Wpedantic -Werror'");
      sh(cpp, "make CXXFLAGS='-O1 -Wall -Wextra -Wpedantic -Werror'");
      return;
    }
    sh(
      c,
      "$COLLC build kernels/all_reduce.coll kernels/all_reduce/one_shot.coll --ranks 2,4 --dtype f32 --arch sm_80,sm_90a -o out",
    );
    sh(c, "$COLLC build kernels/all_reduce.coll --ranks 4 --reach 2x2 --dtype f32 --arch sm_80,sm_90a -o out");
    sh(c, "cc -std=gnu99 -O1 -Wall -Wextra -Wpedantic -Werror -Iout -I. *.c out/*.c -o all_reduce -ldl");
    cpSync(join(c, "out"), join(cpp, "out"), { recursive: true });
    sh(cpp, "mkdir -p objects; cd objects; cc -std=gnu99 -O1 -I../out -c ../../c/ranks.c ../out/*.c");
    sh(cpp, "c++ -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror -Iout -I../c main.cpp objects/*.o -o all_reduce -ldl");
  });

  test.each([2, 4])("C: %i ranks add up over memory that they have sent each other", (ranks) => {
    const ran = run(c, ["--ranks", `${ranks}`, "--elements", "5003", "--program", "all_reduce/one_shot"]);
    expect(ran.stderr).toBe("");
    expect(ran.lines).toEqual(
      Array.from({ length: ranks }, (_, r) => `rank ${r}: all_reduce/one_shot of 5003 f32, 3 launches: 0 wrong`),
    );
    expect(ran.status).toBe(0);
  });

  test("C: the verification can fail: kernels of the plan do nothing on the fake", () => {
    const ran = run(c, ["--ranks", "2", "--elements", "5003"]);
    expect(ran.status).toBe(1);
    expect(ran.stdout).toMatch(/rank \d: all_reduce of 5003 f32, 3 launches: \d{4,} wrong/);
  });

  test("C: between two pretended hosts NCCL carries what kernels, which do nothing on the fake, would have made", () => {
    const ran = run(c, ["--ranks", "4", "--domain", "2", "--elements", "5003", ...nccl]);
    expect([ran.stderr, ran.status]).toEqual(["", 1]);
    expect(ran.stdout).toMatch(/rank \d: all_reduce of 5003 f32, 3 launches: \d{4,} wrong/);
  });

  test("C: ranks that a launcher has started", async () => {
    const shared = mkdtempSync(join(folder, "run-"));
    const args = ["--ranks", "2", "--elements", "64", "--program", "all_reduce/one_shot"];
    const started = [0, 1].map(
      (rank) =>
      promisify(execFile)(join(c, "all_reduce"), args, { cwd: c, env: { ...env, RANK: `${rank}`, WORLD_SIZE: "2", RUN_DIR: shared } }), // prettier-ignore
    );
    const printed = (await Promise.all(started)).map(({ stdout }) => stdout);
    expect(printed).toEqual([0, 1].map((r) => `rank ${r}: all_reduce/one_shot of 64 f32, 3 launches: 0 wrong\n`));
    expect(readdirSync(shared)).toEqual([]);
  });

  test.each([
    ["no driver", ["--libcuda", "libcuda-of-nobody.so"], {}, 3, /there is no NVIDIA driver here/],
    ["too few GPUs", [], { FAKE_CUDA_DEVICES: "1" }, 3, /2 ranks need as many GPUs, and there are 1/],
    [
      "a GPU without descriptors",
      [],
      { FAKE_CUDA_ATTRIBUTES: "16=132,103=0" },
      3,
      /cannot share memory between processes/,
    ],
    [
      "a rank that cannot map",
      [],
      { FAKE_CUDA_FAIL: "cuMemImportFromShareableHandle" },
      1,
      /cuMemImportFromShareableHandle/,
    ],
    [
      "no such program",
      ["--program", "all_gather"],
      {},
      2,
      /there is no all_gather for 2 ranks.*--ranks 2 --dtype f32/,
    ],
    ["no NCCL between hosts", ["--ranks", "4", "--domain", "2", "--libnccl", "libnccl-of-nobody.so"], {}, 3, /there is no NCCL here, which carries messages/], // prettier-ignore
    ["hosts that nothing was built for", ["--ranks", "4", "--domain", "1"], {}, 2, /of which 1 share addresses.*--ranks 4 --dtype f32 --reach 4x1/], // prettier-ignore
    ["cubins elsewhere", ["--folder", "."], {}, 1, /\.cubin cannot be opened/],
    ["a GPU that nothing was built for", [], { FAKE_CUDA_ATTRIBUTES: "75=12,76=0" }, 3, /was built for sm_80, sm_90a; GPU \d is sm_120/], // prettier-ignore
    ["a wrong option", ["--colour", "red"], {}, 2, /usage:/],
  ] as const)("C: %s", (_, args, more, code, message) => {
    const ran = run(c, ["--elements", "64", ...args], more);
    expect(ran.stderr).toMatch(message);
    expect(ran.status).toBe(code);
  });

  test.each([2, 4])("C++: %i ranks in NCCL's windows, with NCCL's own result beside", (ranks) => {
    const ran = run(cpp, ["--ranks", `${ranks}`, "--elements", "5003", "--program", "all_reduce/one_shot", ...nccl]);
    expect(ran.stderr).toBe("");
    expect(ran.lines).toEqual(
      Array.from({ length: ranks }, (_, r) => `rank ${r}: all_reduce/one_shot of 5003 f32 in NCCL's windows: 0 differ from NCCL's own`), // prettier-ignore
    );
    expect(ran.status).toBe(0);
  });

  test.each([
    ["no NCCL", ["--libnccl", "libnccl-of-nobody.so"], {}, 3, /NCCL cannot be opened/],
    ["an NCCL without windows", ["--libnccl", join(release, "fake-nccl-old/libnccl.so.2")], {}, 3, /there is no ncclMemAlloc|there is no ncclCommWindowRegister/], // prettier-ignore
    ["GPUs without symmetric memory", nccl, { FAKE_NCCL_NO_WINDOWS: "1" }, 3, /NCCL has no symmetric memory here/],
  ] as const)("C++: %s", (_, args, more, code, message) => {
    const ran = run(cpp, ["--elements", "64", "--program", "all_reduce/one_shot", ...args], more);
    expect(ran.stderr).toMatch(message);
    expect(ran.status).toBe(code);
  });
});
