/** Every kernel of the library with its transfers staged, on the cpu backend, against the reference made from its signature. */
import { describe, expect, it } from "vitest";
import { type DimValues, type DType, fitDims, type Manifest } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll, turned } from "../scope.js";
import { allows, compileFile, LIBRARY } from "./library.js";

/** Ranks and dtypes: floats and integers travel in packets of two formats. */
const CASES: readonly (readonly ["packet" | "barrier", number, readonly DType[]])[] = [
  ["packet", 1, ["bf16"]],
  ["packet", 3, ["f32"]],
  ["packet", 4, isAll ? ["bf16", "i32"] : ["i32"]],
  ["barrier", 3, ["bf16"]],
];

/** One element, ragged sizes, several rows, and less again: packets of longer launches lie where these look. */
function shapesFor({ dims, requirements, inputs, outputs }: Manifest, world: number): DimValues[] {
  const fitting = (values: DimValues): DimValues => fitDims(requirements, values, new Set(dims));
  const unit = [...inputs, ...outputs].some((t) => t.layout.kind === "sharded") ? world : 1;
  if (dims.length === 1) return [1, 4099, 7, 9_001, 3].map((n) => fitting({ [dims[0]!]: n * unit }));
  const shape = (...sizes: readonly number[]): DimValues =>
    fitting(Object.fromEntries(dims.map((d, i) => [d, sizes[i % sizes.length]! * unit])));
  return [shape(1), shape(51, 29, 37), shape(3, 5)];
}

for (const [turn, file] of LIBRARY.entries())
  describe(file.name, () => {
    const cases = CASES.filter(([, w, dtypes]) => dtypes.some((d) => allows(file, w, d)));
    for (const [protocol, world, dtypes] of turned(cases, turn))
      it(`is correct on ${world} ranks by ${protocol}`, () => {
        for (const dtype of dtypes.filter((d) => allows(file, world, d))) {
          const mapping = { transfers: "staged", protocol } as const;
          const { kernel, manifest, source, diagnostics } = compileFile(file, { ranks: world, dtype, mapping });
          expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
          // Tensors of each rank begin somewhere else, so that two ranks take different ways to the same packets.
          const shift = Array.from({ length: world }, (_, r) => r % 3);
          const local = kernel!.buffers.filter((b) => (b.role === "input" || b.role === "output") && !b.symmetric);
          const elementOffset = Object.fromEntries(local.map((b) => [b.name, shift]));
          const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, elementOffset, seed: 7 });
          for (const [seed, dims] of shapesFor(manifest!, world).entries()) {
            const ranks = makeInputs(manifest!, dims, seed);
            group.run(ranks, dims);
            const result = checkOutputs(manifest!, dims, ranks, ranks);
            expect(result, `${dtype} ${JSON.stringify(dims)}`).toMatchObject({ correct: true });
            if (world > 1 && manifest!.outputs.every((o) => o.layout.kind === "replicated"))
              expect(result.bitwiseEqualAcrossRanks).toBe(true);
          }
        }
      });
  });
