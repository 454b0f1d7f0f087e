/** What a command loads before it does anything: each file costs half a millisecond, in each thread. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";

const root = packageRoot();
const imports = new Map<string, readonly string[]>();

/** What a file imports when it runs: neither types nor what it loads later. */
function importsOf(file: string): readonly string[] {
  const known = imports.get(file);
  if (known !== undefined) return known;
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const { outputText } = ts.transpileModule(readFileSync(file, "utf8"), { compilerOptions });
  const found = [...outputText.matchAll(/^(?:import|export)\b(?:[^;"']*\bfrom)?\s*["']([^"']+)["']/gm)].map(
    ([, path]) => path!,
  );
  imports.set(file, found);
  return found;
}

/** Files below the package, and the packages, that an entry of the command line loads. */
function loadedBy(entry: string): string[] {
  const loaded = new Set([join(root, "src/cli", entry)]);
  for (const file of loaded) {
    // The compiler imports neither the runtime nor the command line, as eslint sees to.
    if (!file.endsWith(".ts") || file.startsWith(join(root, "src/compiler"))) continue;
    for (const path of importsOf(file))
      loaded.add(path.startsWith(".") ? resolve(file, "..", path.replace(/\.js$/, ".ts")) : path);
  }
  return [...loaded].map((file) => (file.startsWith(root) ? relative(root, file) : file));
}

const among = (loaded: readonly string[], what: RegExp): string[] => loaded.filter((file) => what.test(file));

describe("what is loaded at the start", () => {
  test("the command line itself: neither a command nor the compiler", () => {
    const loaded = loadedBy("main.ts");
    expect(loaded).toContain("commander");
    expect(among(loaded, /^src\/compiler|^grammar|^ora$|^cli-table3$|\/(run|check|bench|doctor)\.ts$/)).toEqual([]);
    expect(loaded.filter((file) => file.endsWith(".ts")).length).toBeLessThan(20);
  });

  test("check: the compiler and the emulation, but nothing of GPUs, ranks of other processes, tables or spinners", () => {
    const loaded = loadedBy("check.ts");
    expect(loaded).toContain("src/compiler/index.ts");
    expect(loaded).toContain("src/runtime/cpu/index.ts");
    const others =
      /^src\/runtime\/(cuda|nccl|nvshmem|capabilities|store|bootstrap|connect|launcher|nvrtc)|^ora$|^cli-table3$/;
    expect(among(loaded, others)).toEqual([]);
  });

  test("run: nothing that only ranks with GPUs or in other processes need", () => {
    const loaded = loadedBy("run.ts");
    expect(loaded).toContain("src/runtime/cpu/index.ts");
    const others = /^src\/runtime\/(group-device|nccl\/|nvshmem\/|store-(client|server)|bootstrap|launcher)/;
    expect(among(loaded, others)).toEqual([]);
  });

  test("what checks JSON: where there is some to check", () => {
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((f) =>
      f.endsWith(".ts"),
    );
    expect(files).toContain("json-schema.ts");
    const text = (file: string): string => readFileSync(join(root, "src", file), "utf8");
    expect(files.filter((file) => /^import (?!type )[^;]*"ajv/m.test(text(file)))).toEqual([]);
  });

  test("a thread of check: no command line at all", () => {
    const loaded = loadedBy("check-worker.ts");
    expect(loaded).toContain("src/compiler/index.ts");
    expect(among(loaded, /^src\/runtime\/(cuda|nccl|nvshmem|store|bootstrap)|^commander$|^ora$|^cli-table3$/)).toEqual(
      [],
    );
  });
});
