/** Suites for GPUs as processes, on the fakes of driver, compiler, NVSHMEM and NCCL. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { packageRoot } from "../../src/runtime/native.js";

const release = path.join(packageRoot(), "build/Release");

/** Where the fakes are, and that ranks of the fake NVSHMEM have 4 MiB in common. */
export const FAKES: Readonly<Record<string, string>> = {
  LD_LIBRARY_PATH: path.join(release, "fake-cuda"),
  COLLC_NVRTC: path.join(release, "fake-nvrtc/libnvrtc.so.99"),
  COLLC_NVSHMEM: path.join(release, "fake-nvshmem/libnvshmem_host.so.3"),
  COLLC_NVSHMEM_ARENA_MB: "4",
  COLLC_NCCL: path.join(release, "fake-nccl/libnccl.so.2"),
  COLLC_CACHE_MAX_MB: "0",
  FAKE_AT_EXIT: "1",
};

/** What a suite prints, whether or not it fails. */
export async function outputOf(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { cwd: packageRoot(), env: { ...process.env, ...FAKES, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, args, options).catch((e: { stdout: string }) => e);
  return stdout;
}

/**
 * Does something with what is built changed, in processes that are started with an environment.
 * @param imports by module below `dist/src/runtime`, the name that `change` has of it
 */
export async function withChange<T>(
  imports: Readonly<Record<string, string>>,
  change: string,
  run: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), "collc-wrong-"));
  try {
    const from = (module: string): string => pathToFileURL(path.join(packageRoot(), "dist/src/runtime", module)).href;
    const lines = Object.entries(imports).map(([module, name]) => `import { ${name} } from "${from(module)}";`);
    const file = path.join(folder, "change.mjs");
    writeFileSync(file, [...lines, change].join("\n") + "\n");
    return await run({ NODE_OPTIONS: `--import ${pathToFileURL(file).href}` });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
