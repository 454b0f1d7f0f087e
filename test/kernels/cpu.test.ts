/** Every kernel of the library on the cpu backend, against the float64 reference made from its signature. */
import { describe, expect, it } from "vitest";
import { type DimValues, type DType, fitDims, type Manifest } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll, pairs, some } from "../scope.js";
import { allows, compileFile, LIBRARY } from "./library.js";

const WORLDS = isAll ? [1, 2, 3, 4, 8] : [1, 2, 3, 4];
const DTYPES: readonly DType[] = ["f32", "f16", "bf16", "i32"];

/** Dimension values to try: short, one element, ragged, and enough for several rows of vectors. */
function shapesFor({ dims, requirements, inputs, outputs }: Manifest, world: number): DimValues[] {
  const fitting = (values: DimValues): DimValues => fitDims(requirements, values, new Set(dims));
  const unit = [...inputs, ...outputs].some((t) => t.layout.kind === "sharded") ? world : 1;
  if (dims.length === 1) {
    return [1, 2, 7, 1001, 4096, 20_011].map((n) => fitting({ [dims[0]!]: n * unit }));
  }
  const shape = (...sizes: readonly number[]): DimValues =>
    fitting(Object.fromEntries(dims.map((d, i) => [d, sizes[i % sizes.length]! * unit])));
  return [shape(1), shape(8, 16, 24), shape(51, 29, 37), shape(72, 24, 40)];
}

for (const [turn, file] of some([...LIBRARY.entries()], 4))
  describe(file.name, () => {
    const isPlan = !file.name.includes("/");
    const worlds = WORLDS.filter((w) => allows(file, w));
    const dtypes = DTYPES.filter((dtype) => worlds.some((w) => allows(file, w, dtype)));
    const all = isPlan && !isAll ? worlds.map((w) => [w, "bf16"] as const) : pairs(worlds, dtypes, turn);
    // Two of four, where not all: `cpu/library.test.ts` and `transfers.test.ts` run each kernel once more.
    const cases = isAll || all.length === 1 ? all : all.filter((_, i) => (i + turn) % 2 === 0);
    for (const world of new Set(cases.map(([w]) => w)))
      it(`is correct on ${world} ranks`, () => {
        for (const [, dtype] of cases.filter(([w]) => w === world)) {
          if (!allows(file, world, dtype)) continue;
          // Ways of a name have files of their own, which run in every dtype; what is left are their protocols.
          if (isPlan && dtype !== "bf16" && world !== 3) continue;
          const { manifest, source, diagnostics, variants } = compileFile(file, { ranks: world, dtype });
          // Of products alone there is something to say, in dtypes that no tensor core takes.
          const isTiled = ["f32", "f16", "bf16"].includes(dtype);
          expect(diagnostics.filter((d) => isTiled || d.code !== "scalar-product")).toEqual([]);
          for (const [variant, dims] of variants.flatMap((v) =>
            shapesFor(manifest!, world).map((d) => [v, d] as const),
          )) {
            const group = new CpuGroup(variant.compiled.kernel!, manifest!, { source, detectUnwritten: true });
            // Twice, because the second launch meets the flags and scratch that the first one left.
            for (const seed of [1, 2]) {
              const ranks = makeInputs(manifest!, dims, seed);
              group.run(ranks, dims);
              const result = checkOutputs(manifest!, dims, ranks, ranks);
              expect(result, `${dtype} ${JSON.stringify(dims)}`).toMatchObject({ correct: true, unbounded: 0 });
              if (world > 1 && manifest!.outputs.every((o) => o.layout.kind === "replicated"))
                expect(result.bitwiseEqualAcrossRanks).toBe(true);
            }
          }
        }
      });
  });
