/**
 * One process a rank, against the fake driver of test/native: real processes, store, descriptors and symmetric memory;
 * only the kernel is none, so every run ends in the driver's refusal, which all ranks must report as one.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { JitCache, jitCacheKey } from "../../src/runtime/jit-cache.js";
import { packageRoot } from "../../src/runtime/native.js";
import { findNvrtc } from "../../src/runtime/nvrtc.js";
import { nvrtcOptions, openNvrtc } from "../../src/runtime/program.js";
import { collcVersion } from "../../src/runtime/version.js";
import { collcProcess, isBuilt, kernel, temporaryFolder } from "./support.js";

const fake = join(packageRoot(), "build/Release/fake-cuda");
const nvrtc = (await findNvrtc()).found;
const canRun = isBuilt && nvrtc !== null && existsSync(join(fake, "libcuda.so.1"));

/** Puts a cubin that only the fake driver reads where the ranks look for the kernel's. */
async function plantFakeCubin(cache: string, path: string, ranks: number): Promise<void> {
  const { manifest, cuda } = compile(readFileSync(path, "utf8"), { file: path, ranks, dtype: "bf16" });
  const sizes = manifest!.kernels[0]!.parameters.map((p) =>
    p.kind === "peers" ? 8 * p.ranks : p.kind === "rank" ? 4 : 8,
  );
  const header = Buffer.alloc(64);
  header.writeUInt32BE(0x7f454c46, 0);
  const text = `FAKE\n${manifest!.kernels[0]!.symbol} params=${sizes.join(",")} registers=32\n\0`;
  const arch = "sm_90a";
  const nvrtcVersion = await openNvrtc();
  const key = jitCacheKey({
    cudaText: cuda!,
    arch,
    nvrtcVersion,
    options: nvrtcOptions(arch),
    collcVersion: collcVersion(),
  });
  await new JitCache({ directory: join(cache, "kernels") }).getOrBuild(key, () => ({
    bytes: new Uint8Array(Buffer.concat([header, Buffer.from(text)])),
    meta: { log: "" },
  }));
}

describe.runIf(canRun)("ranks as processes", () => {
  const cache = temporaryFolder();
  const env = { LD_LIBRARY_PATH: fake, COLLC_CACHE_DIR: cache, COLLC_NVRTC: nvrtc?.path };
  const args = ["run", kernel("all_reduce/one_shot"), "--backend", "cuda", "--dim", "n=1000"];
  // A folder of our own for temporary files: other tests run at the same time.
  const TMPDIR = temporaryFolder();
  const runFolders = (): string[] => readdirSync(TMPDIR).filter((name) => /^collc-\d+-/.test(name));

  it("collc run starts them, and their common fault is told once", async () => {
    await plantFakeCubin(cache, kernel("all_reduce/one_shot"), 3);
    const { code, out, err } = await collcProcess([...args, "--ranks", "3"], { env: { ...env, TMPDIR } });
    expect(err.match(/error:/g)).toHaveLength(1);
    // Once for all, or by the first rank, where the others were stopped before they could say it.
    expect(err).toMatch(/error: (rank \d+: )?cuLaunchKernelEx failed: CUDA_ERROR_INVALID_IMAGE/);
    expect(err).toMatch(/help: .*--backend cpu/);
    expect(out).toBe("");
    expect(code).toBe(1);
    expect(runFolders()).toEqual([]);
  });

  it("joins what torchrun started", async () => {
    await plantFakeCubin(cache, kernel("all_reduce/one_shot"), 2);
    const port = 21_000 + (process.pid % 20_000);
    const ranks = await Promise.all(
      [0, 1].map((rank) => {
        const torchrun = {
          RANK: String(rank),
          WORLD_SIZE: "2",
          LOCAL_RANK: String(rank),
          LOCAL_WORLD_SIZE: "2",
          MASTER_ADDR: "127.0.0.1",
          MASTER_PORT: String(port),
        };
        return collcProcess(args, { env: { ...env, ...torchrun } });
      }),
    );
    // Both got as far as the launch, so they had found each other; who reports and who follows is a race.
    expect(ranks.some(({ err }) => err.includes("CUDA_ERROR_INVALID_IMAGE"))).toBe(true);
    for (const { code } of ranks) expect([1, 76]).toContain(code);
  });

  it("more ranks than a launcher's GPUs end with 3 on all of them", async () => {
    const { code, err } = await collcProcess(["bench", "all_reduce", "--backend", "cuda", "--ranks", "9"], { env });
    expect(code).toBe(3);
    expect(err).toContain("9 ranks need 9 GPUs");
  });

  it("a missing NCCL is told once", async () => {
    const { code, err } = await collcProcess(
      ["bench", "all_reduce", "--sizes", "1Ki", "--backend", "cuda", "--ranks", "2", "--peers", "nccl", "--no-save"],
      {
        env: { ...env, COLLC_NCCL: "/nowhere/libnccl.so.2" },
      },
    );
    expect(err.match(/error:/g)).toHaveLength(1);
    expect(err).toContain("/nowhere/libnccl.so.2");
    expect(code).toBe(3);
  });
});
