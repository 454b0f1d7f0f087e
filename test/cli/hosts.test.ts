/** `collc run --hosts`: what is refused before anything starts, a host that is not there, and a run on fakes of driver and compiler. */
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gpuCount } from "../../src/cli/gpus.js";
import { packageRoot } from "../../src/runtime/native.js";
import { collc, collcProcess, file, isBuilt, kernel, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const hosts = file(folder, "hosts", "a 2\nb 2\n");
const oneShot = kernel("all_reduce/one_shot");

describe("is refused", () => {
  it.each([
    [["--hosts", join(folder, "nowhere")], "the hosts in .*nowhere cannot be read: ENOENT"],
    [["--hosts", file(folder, "odd", "a two\n")], "line 1 of .*odd is no host"],
    [["--hosts", hosts, "--backend", "cpu"], "the cpu backend emulates all ranks in one process"],
    [["--hosts", file(folder, "colon", "node1:8\n")], "help: write: node1 8"],
    [
      ["--hosts", file(folder, "many", "a 1024\nb 1024\nc 1024\nd 1024\ne 1\n")],
      "many has 4097 ranks, and .* at most 4096\nhelp: ",
    ],
    [["--hosts", hosts, "--ranks", "4"], "--ranks.*cannot be used with|cannot be used with.*--ranks"],
    [["--hosts", file(folder, "uneven", "a 1\nb 2\n")], "b has 2 ranks and a 1"],
  ])("with 2: %j", async (args, message) => {
    const { code, out, err } = await collc(["run", oneShot, ...args]);
    expect(err).toMatch(new RegExp(message));
    expect([code, out]).toEqual([2, ""]);
  });

  it.each([
    ["cpu", "the cpu backend emulates all ranks in one process"],
    ["tpu", "COLLC_BACKEND=tpu is no backend"],
  ])("with COLLC_BACKEND=%s", async (backend, message) => {
    const { code, err } = await collc(["run", oneShot, "--hosts", hosts], { env: { COLLC_BACKEND: backend } });
    expect(err).toContain(message);
    expect(code).toBe(2);
  });

  it("under another launcher", async () => {
    const env = { RANK: "0", WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1", MASTER_PORT: "29500" };
    const { code, err } = await collc(["run", oneShot, "--hosts", hosts], { env });
    expect(err).toContain("a launcher has started this one");
    expect(code).toBe(2);
  });
});

const built = join(packageRoot(), "build/Release");

/** An ssh that starts a shell here, for all hosts but one. */
const ssh = file(
  folder,
  "ssh",
  `#!/bin/sh
if [ "$1" = dark ]; then echo "ssh: connect to host dark port 22: Connection refused" >&2; exit 255; fi
if [ "$1" = empty ]; then set -- "$1" "$(echo "$2" | sed 's,/main[.]js,/gone.js,g')"; fi
if [ "$1" = wrong ]; then echo '{"correct":false}'; exit 1; fi
exec sh -c "$2"
`,
);
chmodSync(ssh, 0o755);

describe.runIf(isBuilt)("a failure as JSON is one object", () => {
  const env = { COLLC_SSH: ssh, MASTER_ADDR: "127.0.0.1" };
  const run = (name: string, text: string, more: readonly string[] = []): ReturnType<typeof collcProcess> =>
    collcProcess(["run", oneShot, "--hosts", file(folder, name, text), "--json", "--dim", "n=64", ...more], { env });

  it.skipIf(gpuCount() > 0)("of a rank, with its help", async () => {
    const { code, out } = await run("alone", "a 2\n", ["--reach", "1x2"]);
    expect(out.trim().split("\n")).toHaveLength(1);
    const { error } = JSON.parse(out) as { error: Record<string, unknown> };
    expect(error["message"]).not.toMatch(/exited with code|error:/);
    expect(error["help"]).toEqual(expect.any(String));
    expect([code, error["exitCode"]]).toEqual([3, 3]);
  });

  it.skipIf(gpuCount() > 0)("of two ranks alike is said to people once", async () => {
    const argv = ["run", oneShot, "--hosts", file(folder, "alike", "a 2\n"), "--reach", "1x2", "--dim", "n=64"];
    const { code, err } = await collcProcess(argv, { env });
    expect(err.match(/no NVIDIA driver library could be opened/g), err).toHaveLength(1);
    expect(err.match(/help: /g)).toHaveLength(1);
    expect(code).toBe(3);
  });

  it("of a wrong result, which has been printed already, is none", async () => {
    const { code, out } = await run("wrong-hosts", "wrong 1\n", ["--reach", "1x1"]);
    expect([code, out]).toEqual([1, '{"correct":false}\n']);
  });

  it("of a host without collc, with what it lacks", async () => {
    const { code, out } = await run("empty-hosts", "empty 2\n", ["--reach", "1x2"]);
    const { error } = JSON.parse(out) as { error: Record<string, unknown> };
    expect(error["message"]).toMatch(/^host empty lacks .*\/main\.js$/);
    expect(error["help"]).toMatch(/collc and the program at this host's paths/);
    expect(code).toBe(3);
  });
});

describe.runIf(isBuilt && existsSync(join(built, "fake-cuda/libcuda.so.1")))(
  "over an ssh that starts a shell here",
  () => {
    const env = {
      COLLC_SSH: ssh,
      MASTER_ADDR: "127.0.0.1",
      LD_LIBRARY_PATH: join(built, "fake-cuda"),
      COLLC_NVRTC: join(built, "fake-nvrtc/libnvrtc.so.99"),
      COLLC_CACHE_MAX_MB: "0",
      COLLC_ALLOW_OVERLAPPING_DEVICES: "1",
      // What ranks on one NVLink domain of several hosts need: fabric handles.
      FAKE_CUDA_ATTRIBUTES: "128=1",
    };

    // The fake driver computes all-reduces in f32, on at most 16 blocks; it sends no messages, so all ranks share addresses.
    it("four ranks of two hosts compute one result, which is printed once", async () => {
      const args = [
        "--reach",
        "1x4",
        "--dtype",
        "f32",
        "--dim",
        "n=5003",
        "--mapping",
        '{"elementBlocks":16}',
        "--json",
      ];
      const { code, out, err } = await collcProcess(["run", oneShot, "--hosts", hosts, ...args], { env });
      expect(err).toBe("");
      expect(JSON.parse(out)).toMatchObject({ correct: true, ranks: 4, backend: "cuda", dims: { n: 5003 } });
      expect(code).toBe(0);
    });

    it("a host that cannot be reached: 3, its name, and what each host needs", async () => {
      const dark = file(folder, "dark-hosts", "a 2\ndark 2\n");
      const { code, out, err } = await collcProcess(["run", oneShot, "--hosts", dark, "--json"], { env });
      expect(err).toMatch(/error: host dark cannot be reached\nssh: .*Connection refused\nhelp: each host needs ssh/);
      expect(JSON.parse(out)).toMatchObject({ error: { exitCode: 3, message: expect.stringContaining("host dark") } });
      expect(code).toBe(3);
    });
  },
);

describe.runIf(isBuilt && existsSync(join(built, "fake-nccl-2.28/libnccl.so.2")))("under torchrun on two hosts", () => {
  const env = {
    LD_LIBRARY_PATH: join(built, "fake-cuda"),
    COLLC_NVRTC: join(built, "fake-nvrtc/libnvrtc.so.99"),
    COLLC_NCCL: join(built, "fake-nccl-2.28"),
    COLLC_CACHE_MAX_MB: "0",
    COLLC_STORE_SECRET: "of these tests",
  };
  let port = 22_000 + (process.pid % 18_000);

  const run = (...args: readonly string[]): Promise<readonly Awaited<ReturnType<typeof collcProcess>>[]> => {
    port += 20;
    const ranks = [0, 1, 2, 3].map((rank) => {
      const torchrun = { RANK: `${rank}`, WORLD_SIZE: "4", LOCAL_RANK: `${rank % 2}`, LOCAL_WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1", MASTER_PORT: `${port}` }; // prettier-ignore
      // GPUs of the second host have another place on the bus, as nobody shares one.
      const host = rank < 2 ? { COLLC_HOST: "a" } : { COLLC_HOST: "b", FAKE_CUDA_ATTRIBUTES: "50=9" };
      return collcProcess(["run", oneShot, "--dtype", "f32", "--dim", "n=64", "--json", ...args], {
        env: { ...env, ...torchrun, ...host },
      });
    });
    return Promise.all(ranks);
  };

  // The fake driver does not compute what programs with messages do, so what comes of it is wrong.
  it("the backend and the reach follow from the hosts", async () => {
    const [first] = await run();
    expect(first!.err).toContain("error: wrong result");
    expect(JSON.parse(first!.out)).toMatchObject({ ranks: 4, backend: "nccl", ranksPerDomain: 2 });
  });

  it("a reach that contradicts them is refused by all ranks", async () => {
    for (const { code, err } of await run("--backend", "nccl", "--reach", "1x4")) {
      expect(err).toContain("all ranks share addresses, and rank 0 on host a has none of rank 2's memory on b");
      expect(err).toContain("help: --reach 2x2,");
      expect(code).toBe(2);
    }
  });
});
