/** `collc doctor` on a machine with GPUs: the fake driver and libraries, in a process of its own. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { MachineReport } from "../../src/cli/inspect-machine.js";
import { packageRoot } from "../../src/runtime/native.js";

const built = path.join(packageRoot(), "build/Release");

async function doctor(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(packageRoot(), "dist/src/cli/main.js"), "doctor", ...args],
    {
      env: {
        ...process.env,
        LD_LIBRARY_PATH: path.join(built, "fake-cuda"),
        COLLC_NVSHMEM: path.join(built, "fake-nvshmem"),
        COLLC_NCCL: path.join(built, "fake-nccl"),
        COLLC_NVML: path.join(built, "fake-nvml"),
        NO_COLOR: "1",
        ...env,
      },
    },
  );
  return stdout;
}
const report = async (env: Readonly<Record<string, string>> = {}) =>
  JSON.parse(await doctor(["--json"], env)) as MachineReport;

describe("collc doctor with GPUs", () => {
  it("shows each GPU and each pair", async () => {
    const text = await doctor([]);
    expect(text).toMatch(/cuda +✓ +driver 580\.00\.1 for CUDA 13\.0, 4 GPUs/);
    expect(text).toMatch(/nccl +✓ +2\.30\.7/);
    expect(text).toMatch(/nvshmem +✓ +3\.4\.5/);
    expect(text).toMatch(/fabric handles .* cooperative .* multicast .* NVLinks/);
    expect(text).toMatch(/GPU 0 │ · +│ NV18/);
    expect(text).toContain("NVn: n NVLinks join the two");
    // What collc sets for libraries is not the person's environment.
    expect(text).not.toContain("NCCL_NVLS_ENABLE");
  });

  it("prints the same as JSON", async () => {
    const { cuda, nvshmem } = await report();
    expect(cuda.nvidiaDriver).toBe("580.00.1");
    expect(cuda.gpus[3]).toMatchObject({ ordinal: 3, arch: "sm_90a", nvlinks: 18, cooperativeLaunch: true });
    expect(cuda.peers[0]!.map((peer) => peer?.nvlinks ?? null)).toEqual([null, 18, 18, 18]);
    expect(nvshmem).toMatchObject({ ok: true, version: "3.4.5" });
  });

  it("a ring of direct links, and no NVML", async () => {
    const ring = await report({ FAKE_NVML: "gpu:4" });
    expect(ring.cuda.peers[0]!.map((peer) => peer?.nvlinks ?? null)).toEqual([null, 2, 0, 2]);
    expect(await doctor([], { FAKE_NVML: "gpu:4" })).toContain("P2P: reached, not over NVLink");
    const none = await report({ FAKE_NVML: "fail" });
    expect(none.cuda.gpus[0]!.nvlinks).toBeNull();
    expect(none.cuda.warnings[0]).toContain("NVLinks are unknown");
    expect(none.cuda.ok).toBe(true);
  });

  it("libraries that are too old say for what", async () => {
    const { nccl, nvshmem } = await report({
      COLLC_NCCL: path.join(built, "fake-nccl-old"),
      COLLC_NVSHMEM: path.join(built, "fake-nvshmem-old"),
    });
    expect(nccl.summary).toMatch(/^2\.18\.5, too old for --backend nccl/);
    expect(nvshmem.summary).toMatch(/^3\.2\.5, too old for teams of some ranks/);
  });
});
