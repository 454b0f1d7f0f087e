/** The programs that the GPU suite runs besides the library: right on emulated ranks, and text that NVRTC takes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile, fitDims } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { openNvrtc } from "../../src/runtime/program.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { someScalars } from "../../src/runtime/shapes.js";
import { isAll, turned } from "../scope.js";
import { compiledCuda, ptxOf } from "./compiled-cuda.js";

const FOLDER = join(import.meta.dirname, "../gpu/language");
const missing = await openNvrtc().then(
  () => null,
  (e: Error) => e.message,
);

describe.each(
  readdirSync(FOLDER)
    .sort()
    .map((name, turn) => [name, turn] as const),
)("%s", (name, turn) => {
  const all = [1, 2, 4].flatMap((ranks) => (["f32", "f16", "bf16"] as const).map((dtype) => [ranks, dtype] as const));
  const cases = turned(all, turn);
  const text = readFileSync(join(FOLDER, name), "utf8");
  it.each([...new Set(cases.map(([ranks]) => ranks))])("is right on %i ranks", (ranks) => {
    for (const [, dtype] of cases.filter(([r]) => r === ranks)) {
      const program = compile(text, { ranks, dtype });
      expect(program.diagnostics).toEqual([]);
      for (const { kernel, manifest } of program.variants.map((v) => v.compiled)) {
        const { requirements, dims: names } = manifest!;
        const lengths = fitDims(requirements, Object.fromEntries(names.map((d) => [d, 16])), new Set(names));
        const dims = { ...lengths, ...someScalars(manifest!) };
        const tensors = makeInputs(manifest!, dims, 1);
        new CpuGroup(kernel!, manifest!, { detectUnwritten: true }).run(tensors, dims);
        expect(checkOutputs(manifest!, dims, tensors, tensors)).toMatchObject({ correct: true, unspecified: [] });
      }
    }
  });

  it.skipIf(missing !== null)("compiles for sm_90a", async () => {
    const { cuda } = compile(text, { ranks: 4, dtype: "bf16", arch: "sm_90a" });
    // As of the library, every third down to machine code.
    if (isAll || turn % 3 === 0) expect((await compiledCuda(cuda!, "sm_90a")).cubin.byteLength).toBeGreaterThan(1000);
    else expect(await ptxOf(cuda!, "sm_90a")).toContain(".entry");
  });
});
