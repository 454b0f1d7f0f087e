import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { MachineError } from "../../src/runtime/errors.js";
import { findNvrtc, requireNvrtc, setupDirectory, setupNvrtc } from "../../src/runtime/nvrtc.js";
import { findPython, pythonCandidates } from "../../src/runtime/python.js";
import { rejection, useSandbox } from "./helpers.js";

const sandbox = useSandbox();
let env: Record<string, string | undefined>;
let toolkitBase: string;

beforeEach(() => {
  toolkitBase = join(sandbox.directory, "local");
  env = {
    PATH: process.env["PATH"],
    HOME: sandbox.directory,
    COLLC_CACHE_DIR: join(sandbox.directory, "cache"),
    COLLC_PYTHON: fakePython("[]"),
  };
});

/** A folder with files that look like an nvrtc. */
function library(folder: string, version = "13", builtins: string | null = `${version}.0`): string {
  mkdirSync(folder, { recursive: true });
  const elf = Buffer.from("\x7fELF rest", "latin1");
  writeFileSync(join(folder, `libnvrtc.so.${version}`), elf);
  writeFileSync(join(folder, "libnvrtc.alt.so.13"), elf);
  if (builtins) writeFileSync(join(folder, `libnvrtc-builtins.so.${builtins}`), elf);
  return folder;
}

function fakePython(packageDirectories: string): string {
  const path = join(sandbox.directory, "python3");
  const answer = `{"executable": "${path}", "version": "3.9.1", "packageDirectories": ${packageDirectories}}`;
  writeFileSync(
    path,
    `#!/bin/sh\ncase "$1" in -c) echo '${answer}' ;; *) echo "No module named pip" >&2; exit 1 ;; esac\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

const find = () => findNvrtc({ env, toolkitBase });

describe("findNvrtc", () => {
  test("COLLC_NVRTC: a file, a folder, a wheel's root; wrong is an error and nothing else is tried", async () => {
    const folder = library(join(sandbox.directory, "mine"), "12", "12.8");
    library(join(toolkitBase, "cuda/lib64"));
    for (const value of [folder, join(folder, "libnvrtc.so.12")]) {
      env["COLLC_NVRTC"] = value;
      expect((await find()).found).toEqual({
        path: join(folder, "libnvrtc.so.12"),
        builtins: join(folder, "libnvrtc-builtins.so.12.8"),
        source: "COLLC_NVRTC",
      });
    }
    env["COLLC_NVRTC"] = join(sandbox.directory, "wheel");
    library(join(sandbox.directory, "wheel/nvidia/cu13/lib"));
    expect((await find()).found?.path).toBe(join(sandbox.directory, "wheel/nvidia/cu13/lib/libnvrtc.so.13"));
    writeFileSync(join(sandbox.directory, "text.so"), "hello");
    for (const [value, why] of [
      ["/nowhere/libnvrtc.so", "not there"],
      [sandbox.directory, "no libnvrtc.so in this folder"],
      [join(sandbox.directory, "text.so"), "not a shared library"],
      [library(join(sandbox.directory, "alone"), "13", null), "no libnvrtc-builtins.so beside it"],
    ] as const) {
      env["COLLC_NVRTC"] = value;
      const error = await rejection(find());
      expect(error).toBeInstanceOf(MachineError);
      expect(error.message).toBe(`COLLC_NVRTC=${value}: ${why}`);
    }
  });

  test("the order: toolkit, newest first; Python; collc setup; and what was tried is told", async () => {
    const setup = library(join(setupDirectory(env), "13.0.88/nvidia/cu13/lib"));
    const result = await find();
    expect(result.found).toMatchObject({ source: "collc setup", path: join(setup, "libnvrtc.so.13") });
    expect(result.attempts.map(({ where, outcome }) => `${where}: ${outcome}`)).toEqual([
      "CUDA toolkit: not there",
      "Python package: no nvidia-cuda-nvrtc package",
      "collc setup: found",
    ]);
    const site = join(sandbox.directory, "site");
    library(join(site, "nvidia/cuda_nvrtc/lib"), "12", "12.9");
    // Answers are remembered for an interpreter, so this is another one.
    const other = join(sandbox.directory, "bin");
    mkdirSync(other);
    symlinkSync(fakePython(JSON.stringify([site])), join(other, "python3"));
    env["COLLC_PYTHON"] = join(other, "python3");
    expect((await find()).found).toMatchObject({ source: "Python package" });
    library(join(toolkitBase, "cuda-12.9/targets/x86_64-linux/lib"), "12");
    library(join(toolkitBase, "cuda-13.0/lib64"), "13");
    library(join(toolkitBase, "cuda-9.2/lib64"), "9.2");
    expect((await find()).found?.path).toBe(join(toolkitBase, "cuda-13.0/lib64/libnvrtc.so.13"));
    env["CUDA_HOME"] = join(toolkitBase, "cuda-12.9");
    expect((await find()).found?.path).toContain("cuda-12.9/targets");
  });

  test("the loader's names are tried with a probe, a library that does not load is passed over", async () => {
    library(join(toolkitBase, "cuda/lib64"));
    const { found, attempts } = await findNvrtc({
      env,
      toolkitBase,
      probe: ({ path }) => (path === "libnvrtc.so.12" ? null : "wrong ELF class"),
    });
    expect(found).toEqual({ path: "libnvrtc.so.12", builtins: null, source: "loader" });
    expect(attempts.find(({ where }) => where === "CUDA toolkit")?.outcome).toBe("wrong ELF class");
    const error = await rejection(requireNvrtc({ env, toolkitBase: "/none", probe: () => "not on this machine" }));
    expect(error.message).toContain("loader: libnvrtc.so: not on this machine");
    expect(error.help).toContain("collc setup nvrtc");
  });
});

describe("python", () => {
  test("the interpreter here tells where its packages are", async () => {
    const { version, packageDirectories } = await findPython({ PATH: process.env["PATH"] });
    expect(version).toMatch(/^3\./);
    expect(packageDirectories.length).toBeGreaterThan(0);
  });

  test("none is a clear error; COLLC_PYTHON is not replaced by a guess", async () => {
    expect(pythonCandidates({ VIRTUAL_ENV: "/v" })).toEqual(["/v/bin/python3", "python3", "python"]);
    const error = await rejection(findPython({ COLLC_PYTHON: "/none/python3", PATH: process.env["PATH"] }));
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toBe("no Python interpreter answers (/none/python3: not found)");
  });
});

describe("setupNvrtc", () => {
  test("without pip, without an index: a clear error, and nothing stays behind", async () => {
    expect((await rejection(setupNvrtc({ env }))).message).toContain("has no pip (No module named pip)");
    delete env["COLLC_PYTHON"];
    Object.assign(env, { PIP_NO_INDEX: "1", PIP_CONFIG_FILE: "/dev/null" });
    const error = await rejection(setupNvrtc({ env }));
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toMatch(/pip could not fetch nvidia-cuda-nvrtc==13.0.88: ERROR/);
    expect(readdirSync(setupDirectory(env))).toEqual([]);
  });

  test("fetches NVIDIA's wheel, twice is fine, and findNvrtc then sees it", async (context) => {
    delete env["COLLC_PYTHON"];
    // The real HOME: it holds the configuration of pip.
    env = { ...process.env, ...env, HOME: process.env["HOME"], PIP_RETRIES: "0" };
    const lines: string[] = [];
    let located;
    try {
      located = await setupNvrtc({ env, onProgress: (line) => lines.push(line), timeoutMs: 500_000 });
    } catch (error) {
      if (process.env["CI"] === "true") throw error;
      console.warn(`SKIPPED: nvrtc could not be fetched here: ${(error as Error).message}`);
      return context.skip("no package index");
    }
    expect(located.path).toMatch(/cache\/nvrtc\/\d[\d.]+\/nvidia\/\w+\/lib\/libnvrtc\.so\.\d+$/);
    expect(located.builtins).toMatch(/libnvrtc-builtins\.so\.\d+/);
    expect(lines.some((line) => line.startsWith("unpacking nvidia_cuda_nvrtc"))).toBe(true);
    expect(readdirSync(setupDirectory(env))).toHaveLength(1);
    const { found } = await find();
    if (found?.source === "collc setup") expect(found).toEqual(located);
  });
});
