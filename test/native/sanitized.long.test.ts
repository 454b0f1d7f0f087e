/**
 * The addon and its fakes, built with AddressSanitizer and UndefinedBehaviorSanitizer, under the tests of this folder. Leaks
 * are not looked for: V8 ends without freeing.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";

const root = packageRoot();
const folder = path.join(root, "build-sanitized");

/** The compiler's own copy: it has to be in the process before anything else. Null where the compiler has none. */
function runtimeLibrary(): string | null {
  const found = execFileSync("g++", ["-print-file-name=libasan.so"], { encoding: "utf8" }).trim();
  return path.isAbsolute(found) && existsSync(found) ? found : null;
}

const library = runtimeLibrary();
if (library === null) console.warn("the addon is not tested with sanitizers: g++ has no libasan");

describe.skipIf(library === null)("with sanitizers", () => {
  beforeAll(() => {
    const build = spawnSync(
      process.execPath,
      [
        path.join(root, "node_modules/cmake-js/bin/cmake-js"),
        ...["compile", "--directory", "native", "--out", folder, "--log-level", "warn"],
        ...["--CDCMAKE_BUILD_TYPE=RelWithDebInfo", "--CDCOLLC_SANITIZE=address,undefined"],
      ],
      { cwd: root, encoding: "utf8" },
    );
    expect(build.status, build.stdout + build.stderr).toBe(0);
  }, 600_000);

  it.each([
    "addon.test.ts",
    "device.test.ts",
    "fd.test.ts",
    "launch.test.ts",
    "symmetric.test.ts",
    "fault.test.ts",
    "threads.test.ts",
    "../runtime/group-device.test.ts",
    "../runtime/backends.test.ts",
  ])("%s finds nothing", { timeout: 600_000 }, (file) => {
    const reports = path.join(folder, "report");
    const run = spawnSync(
      process.execPath,
      [path.join(root, "node_modules/vitest/vitest.mjs"), "run", path.join("test/native", file), "-t", filterOf(file)],
      {
        cwd: root,
        encoding: "utf8",
        env: {
          ...process.env,
          // The addon's own paths are taken without the longest tests, too; products with programs and backends take no others.
          COLLC_TESTS: "long",
          COLLC_ADDON: path.join(folder, "Release/collc.node"),
          LD_PRELOAD: library!,
          // Fakes return null for what does not fit, as drivers do.
          ASAN_OPTIONS: `detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0:log_path=${reports}`,
          UBSAN_OPTIONS: `print_stacktrace=1:log_path=${reports}`,
        },
      },
    );
    const said = run.stdout + run.stderr;
    expect(said).not.toMatch(/AddressSanitizer|runtime error:/);
    const found = execFileSync("sh", ["-c", `cat "${reports}".* 2>/dev/null; rm -f "${reports}".*`], {
      encoding: "utf8",
    });
    expect(found.slice(0, 4000)).toBe("");
    expect(run.status, said.slice(-4000)).toBe(0);
  });
});

/** What needs another build: symbols and glibc's version are those of the one that ships. */
function filterOf(file: string): string {
  return file === "addon.test.ts" ? "^(?!.*(glibc|symbol|exports|needs)).*$" : ".*";
}
