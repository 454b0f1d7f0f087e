/** `collc run --hosts`: what is refused before anything starts, a host that is not there, and a run on fakes of driver and compiler. */
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
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
    [["--hosts", hosts, "--ranks", "4"], "--ranks.*cannot be used with|cannot be used with.*--ranks"],
    [["--hosts", file(folder, "uneven", "a 1\nb 2\n")], "b has 2 ranks and a 1"],
  ])("with 2: %j", async (args, message) => {
    const { code, out, err } = await collc(["run", oneShot, ...args]);
    expect(err).toMatch(new RegExp(message));
    expect([code, out]).toEqual([2, ""]);
  });

  it("under another launcher", async () => {
    const env = { RANK: "0", WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1", MASTER_PORT: "29500" };
    const { code, err } = await collc(["run", oneShot, "--hosts", hosts], { env });
    expect(err).toContain("a launcher has started this one");
    expect(code).toBe(2);
  });
});

const built = join(packageRoot(), "build/Release");

describe.runIf(isBuilt && existsSync(join(built, "fake-cuda/libcuda.so.1")))(
  "over an ssh that starts a shell here",
  () => {
    const ssh = file(
      folder,
      "ssh",
      `#!/bin/sh
if [ "$1" = dark ]; then echo "ssh: connect to host dark port 22: Connection refused" >&2; exit 255; fi
exec sh -c "$2"
`,
    );
    chmodSync(ssh, 0o755);
    const env = {
      COLLC_SSH: ssh,
      MASTER_ADDR: "127.0.0.1",
      LD_LIBRARY_PATH: join(built, "fake-cuda"),
      COLLC_NVRTC: join(built, "fake-nvrtc/libnvrtc.so.99"),
      COLLC_CACHE_MAX_MB: "0",
      COLLC_ALLOW_OVERLAPPING_DEVICES: "1",
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
