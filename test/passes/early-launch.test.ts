/** Kernels whose blocks take their places while the launch before theirs runs, and wait for its end. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { compile, parseKernel, printKernel } from "../../src/compiler/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";

const root = new URL("../../kernels/", import.meta.url).pathname;

function compiled(name: string, extra: object = {}) {
  const file = `${root}${name}.coll`;
  return compile(readFileSync(file, "utf8"), { file, ranks: 4, dtype: "bf16", resolve: importsFromDisk, ...extra });
}

/** The statements of the kernel itself, without comments. */
function statements(cuda: string): string[] {
  const body = cuda.slice(cuda.lastIndexOf("__launch_bounds__")).split("\n").slice(2);
  return body.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("//"));
}

describe("what waits comes first", () => {
  const families = ["all_reduce", "all_gather", "fused", "matmul"];
  const names = families.flatMap((family) => readdirSync(root + family).slice(0, 3).map((f) => `${family}/${f.replace(/\.coll$/, "")}`)); // prettier-ignore
  it.each(names)("in %s", (name) => {
    const { kernels } = compiled(name, { arch: "sm_90a" });
    for (const { cuda, kernel } of kernels) {
      expect(kernel.early).toBe(true);
      expect(statements(cuda)[0]).toMatch(
        /^asm volatile\("griddepcontrol\.launch_dependents;.*griddepcontrol\.wait;" ::: "memory"\);$/,
      );
      expect(cuda.match(/griddepcontrol\.wait/g)).toHaveLength(1);
    }
  });
});

test("without the instruction, or with multiprocessors left to others, launches begin one after the other", () => {
  for (const extra of [{ arch: "sm_89" }, { arch: "sm_90a", sms: 16 }, { mapping: { earlyLaunch: false } }]) {
    const { cuda, manifest } = compiled("all_reduce/two_shot", extra);
    expect(manifest!.kernels[0]!.early).toBe(false);
    expect(cuda).not.toContain("griddepcontrol");
  }
});

test("the printed IR says so, and is read again", () => {
  for (const earlyLaunch of [true, false]) {
    const { kernel } = compiled("all_reduce/two_shot", { arch: "sm_90a", mapping: { earlyLaunch } });
    const text = printKernel(kernel!);
    expect(parseKernel(text).early ?? false).toBe(earlyLaunch);
    expect(printKernel(parseKernel(text))).toBe(text);
  }
});
