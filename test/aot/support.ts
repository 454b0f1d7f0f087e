/** What the tests of artefacts share: a build against the fake compiler, whose cubins the fake driver runs, and C on the host. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";

const release = join(packageRoot(), "build/Release");
export const fakeDriver = join(release, "fake-cuda/libcuda.so.1");
/** Without the fakes, which come with the addon, there is nothing to stand on. */
export const hasFakes = existsSync(fakeDriver) || process.env["CI"] === "true";

/** From here on NVRTC is the fake one, in this process. */
export function useFakeCompiler(): void {
  vi.stubEnv("COLLC_NVRTC", join(release, "fake-nvrtc/libnvrtc.so.99"));
}

const cc = process.env["CC"] ?? "cc";
const STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

/** Compiles C against a built folder, with all of its C files. */
export function compileC(
  folder: string,
  sources: readonly string[],
  program: string,
  flags: readonly string[] = [],
): void {
  const own = readdirSync(folder).filter((name) => name.endsWith(".c"));
  const files = [...sources, ...own.map((name) => join(folder, name))];
  execFileSync(cc, [...STRICT, ...flags, "-I", folder, ...files, "-o", program, "-ldl"], { encoding: "utf8" });
}

/** What a program prints, line by line. */
export function linesOf(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): string[] {
  const ran = spawnSync(program, args, { encoding: "utf8", env: { ...process.env, ...env } });
  if (ran.status !== 0) throw new Error(`${program} ends with ${ran.status ?? ran.signal}\n${ran.stdout}${ran.stderr}`);
  return ran.stdout.trimEnd().split("\n");
}
