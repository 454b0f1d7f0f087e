/** `--sms`: kernels that leave multiprocessors to others. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile, launchesOf } from "../../src/compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { collc, kernel } from "../cli/support.js";

const KERNELS = join(import.meta.dirname, "../../kernels");

describe("a limit of multiprocessors", () => {
  const files = readdirSync(KERNELS).filter((name) => name.endsWith(".coll"));
  for (const file of [...files, "fused/softmax_over_ranks.coll", "matmul/reduce_scatter.coll"])
    it(`holds for every kernel and step of ${file}`, () => {
      const text = readFileSync(join(KERNELS, file), "utf8");
      const limited = compile(text, {
        ranks: 4,
        dtype: "bf16",
        resolve: importsFromDisk,
        library: libraryFromDisk,
        sms: 5,
      });
      expect(limited.diagnostics).toEqual([]);
      const { kernels, plan } = limited.manifest!;
      for (const { grid } of kernels) expect(grid.maxBlocks).toBe(5);
      for (const step of plan.choices.flatMap(launchesOf)) expect(step.maxBlocks).toBeLessThanOrEqual(5);
    });

  it("is an option of run and explain, and slows down what it limits", async () => {
    const ran = await collc([
      "run",
      kernel("all_reduce/two_shot"),
      "--backend",
      "cpu",
      "--dim",
      "n=20000",
      "--sms",
      "2",
    ]);
    expect([ran.code, ran.err]).toEqual([0, ""]);
    const total = async (...more: string[]): Promise<number> => {
      const { out } = await collc(["explain", kernel("all_reduce/two_shot"), "--dim", "n=16Mi", "--json", ...more]);
      return (JSON.parse(out) as { prediction: { total: number } }).prediction.total;
    };
    expect((await total("--sms", "4")) / (await total())).toBeGreaterThan(2);
    expect((await collc(["run", kernel("all_reduce/two_shot"), "--sms", "0"])).code).toBe(2);
  });
});
