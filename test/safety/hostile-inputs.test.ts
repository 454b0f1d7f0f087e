/** Programs and sizes that would take the machine get a message and an exit code, in seconds and in little memory. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { checkMemory } from "../../src/cli/dims.js";
import type { Io } from "../../src/cli/io.js";
import { programFiles } from "../../src/cli/source-file.js";
import { UsageError } from "../../src/runtime/errors.js";
import { entry, file, isBuilt, kernel, temporaryFolder } from "../cli/support.js";
import { turned } from "../scope.js";
import { hostilePrograms } from "./hostile-programs.js";

const folder = temporaryFolder();

describe.runIf(isBuilt)("hostile input", () => {
  it.each(Object.entries(hostilePrograms).map(([name, program], turn) => [name, program, turn] as const))(
    "%s ends with a message",
    (name, { text, expected }, turn) => {
      const path = file(folder, `${name}.coll`, text);
      for (const command of turned(["check", "emit"], turn)) {
        const args = command === "emit" ? ["--stage", "cuda"] : ["--ranks", "2"];
        // Of address space, Node itself takes much; what counts is the heap, which this bounds.
        const { status, stderr, signal } = spawnSync(
          process.execPath,
          ["--max-old-space-size=1024", entry, command, path, ...args],
          { encoding: "utf8", timeout: 500_000 },
        );
        expect({ command, status, signal, isSaid: expected.test(stderr), stderr: stderr.slice(0, 300) }).toMatchObject({
          command,
          status: 1,
          signal: null,
          isSaid: true,
        });
      }
    },
  );

  it.each([
    ["/dev/zero", 2, /\/dev\/zero is a device, not a file/],
    ["/dev/urandom", 2, /is a device, not a file/],
    ["-", 2, /<stdin> is longer than 8 MiB/],
    ["/proc/self/mem", 2, /cannot be read|not a text file|is longer/],
  ])("%s is no program", (path, code, message) => {
    const { status, stderr } = spawnSync(
      "sh",
      ["-c", `exec "$0" "$@" < /dev/zero`, process.execPath, entry, "check", path],
      { encoding: "utf8", timeout: 500_000 },
    );
    expect(stderr).toMatch(message);
    expect(status).toBe(code);
  });

  it("a file that is there, but of many MiB", () => {
    const path = file(folder, "long.coll", "// long\n".repeat(2 ** 21));
    const { status, stderr } = spawnSync(process.execPath, [entry, "check", path], { encoding: "utf8" });
    expect(stderr).toMatch(/long.coll is longer than 8 MiB/);
    expect(status).toBe(2);
  });

  it("a folder with more below it than anybody's programs", () => {
    const crowded = join(folder, "crowded");
    mkdirSync(join(crowded, "below"), { recursive: true });
    for (const name of ["a.coll", "b.coll", "below/c.coll"]) writeFileSync(join(crowded, name), "");
    let said = "";
    const io = { err: { write: (text: string) => (said += text) } } as unknown as Io;
    expect(programFiles(crowded, io, 4)).toHaveLength(3);
    expect(said).toBe("");
    expect(() => programFiles(crowded, io, 3)).toThrow(/more than 3 files and folders below .*crowded/);
  });

  it("sizes that no memory holds", () => {
    const args = ["run", kernel("all_reduce/one_shot"), "--backend", "cpu", "--ranks", "64"];
    const dim = `n=${2 ** 31}`;
    const { status, stderr } = spawnSync(process.execPath, [entry, ...args, "--dim", dim], { encoding: "utf8" });
    expect(stderr).toMatch(/n=2147483648 asks for .* of memory, of which 512 GiB are tensors of 64 ranks; .* left/);
    expect(status).toBe(2);
  });
});

describe("the estimate of memory", () => {
  const { manifest } = compile("collective c(x: T[n] partial(sum)) -> y: T[n] replicated {\n  y = all_reduce(x)\n}\n", {
    ranks: 4,
    dtype: "bf16",
    // What a push keeps of each rank's part depends on the size; a pull keeps one tensor.
    mapping: { transfers: "written" },
  });

  it("counts scratch, the values of inputs and the reference", () => {
    // 2 tensors of 2 bytes on 4 ranks, and 10 bytes an element for the check: 26 bytes an element.
    const check = (n: number, available: number) => () => checkMemory(manifest!, { n }, 4, available);
    expect(check(1e6, 26e6 * 1.1)).not.toThrow();
    expect(check(1e6, 25e6)).toThrow(UsageError);
    expect(check(1e9, 19 * 2 ** 30)).toThrow(/n=1000000000 asks for 24.2 GiB of memory/);
  });

  it("is not above what a run takes by much, nor below", () => {
    if (!isBuilt || totalmem() < 4 * 2 ** 30) return;
    const args = ["run", kernel("all_reduce/one_shot"), "--backend", "cpu", "--ranks", "4", "--iters", "1"];
    const peak = (n: number): number => {
      const program = `import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)`;
      const command = [process.execPath, entry, ...args, "--dim", `n=${n}`];
      return Number(spawnSync("python3", ["-c", program, ...command], { encoding: "utf8" }).stdout) * 1024;
    };
    const [small, large] = [2e6, 12e6];
    const perElement = (peak(large) - peak(small)) / (large - small);
    expect(perElement).toBeGreaterThan(16);
    expect(perElement).toBeLessThan(34);
  });
});
