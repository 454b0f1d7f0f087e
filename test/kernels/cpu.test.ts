/** Every kernel of the library on the cpu backend, against the float64 reference made from its signature. */
import { describe, expect, it } from "vitest";
import { compile, type DimValues, type DType } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { LIBRARY } from "./library.js";

const WORLDS = [1, 2, 3, 4, 8];
const DTYPES: readonly DType[] = ["f32", "f16", "bf16"];

/** Dimension values to try: short, one element, ragged, and enough for several rows of vectors. */
function shapesFor(dims: readonly string[], world: number, name: string): DimValues[] {
  if (dims.length === 1) {
    const needsShards = !name.startsWith("all_reduce") && !name.startsWith("broadcast");
    const unit = needsShards ? world : 1;
    return [unit, 2 * unit, 7 * unit, 1000 * unit + (needsShards ? 0 : 1), 4096 * unit, 20_011 * unit].map((n) => ({
      [dims[0]!]: n,
    }));
  }
  const pick = (values: Record<string, number>): DimValues => Object.fromEntries(dims.map((d) => [d, values[d]!]));
  return [
    pick({ m: world, n: world, k: world }),
    pick({ m: 8 * world, n: 24 * world, k: 16 * world }),
    pick({ m: 51 * world, n: 37 * world, k: 29 * world }),
    pick({ m: 72 * world, n: 40 * world, k: 24 * world }),
  ];
}

for (const file of LIBRARY)
  describe(file.name, () => {
    for (const world of WORLDS)
      it(`is correct on ${world} ranks`, () => {
        for (const dtype of DTYPES) {
          const { kernel, manifest, source, diagnostics } = compile(file.text, {
            file: file.path,
            ranks: world,
            dtype,
          });
          expect(diagnostics).toEqual([]);
          const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
          for (const dims of shapesFor(manifest!.dims, world, file.name)) {
            // Twice, because the second launch meets the flags and scratch that the first one left.
            for (const seed of [1, 2]) {
              const ranks = makeInputs(manifest!, dims, seed);
              group.run(ranks, dims);
              const result = checkOutputs(manifest!, dims, ranks, ranks);
              expect(result, `${dtype} ${JSON.stringify(dims)}`).toMatchObject({ correct: true });
              if (world > 1 && manifest!.outputs.every((o) => o.layout.kind === "replicated"))
                expect(result.bitwiseEqualAcrossRanks).toBe(true);
            }
          }
        }
      });
  });
