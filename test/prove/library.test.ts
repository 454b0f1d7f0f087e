/** Every kernel of the library is proved right and ordered for worlds 1, 2, 3, 4, 6 and 8, without one "unknown". */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { type Claims, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { isAll, pairs, some, turned } from "../scope.js";
import { allows, compileFile, LIBRARY, type LibraryFile } from "../kernels/library.js";

/** Outputs of which no signature says what they must hold, for only part of them is written; their ordering is proved. */
const UNSPECIFIED: Readonly<Record<string, readonly string[]>> = {
  "all_to_all/combine": ["y"],
  "all_to_all/combine_rails": ["y"],
  "all_to_all/dispatch": ["y"],
  "all_to_all/dispatch_rails": ["y"],
};

function expectProved(file: LibraryFile, claims: Claims): void {
  expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
  expect(claims.answer).toMatchObject({ unspecified: UNSPECIFIED[file.name] ?? [] });
}

// `every.test.ts` proves each of them on 2 or 4 ranks, too.
for (const [turn, file] of some([...LIBRARY.entries()], 4))
  describe(file.name, () => {
    const worlds = (isAll ? [1, 2, 3, 4, 6, 8] : [2, 3, 4]).filter((r) => allows(file, r));
    for (const ranks of turned(worlds, turn))
      it(`is proved for ${ranks} ranks`, () => {
        const compiled = compileFile(file, { ranks, dtype: ranks === 4 ? "f32" : "bf16", mapping: PROOF_MAPPING });
        const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!), misaligned: ranks <= 4 });
        expectProved(file, claims);
        // Nearly all paths are taken. What is left over by lengths that the where clause excludes never runs: in quantised, more than half.
        if (ranks === 4) expect(claims.coverage.ran).toBeGreaterThan(0.45 * claims.coverage.total);
      });
  });

describe("kernels with a mesh", () => {
  const meshes = [
    [2, 3],
    [3, 2],
    [4, 2],
    [1, 4],
    [4, 1],
  ] as const;
  const files = LIBRARY.filter((f) => /^ *mesh\(node, gpu\)/m.test(f.text));
  for (const [file, [node, gpu]] of pairs(files, meshes, 0))
    it(`${file.name} is proved for ${node} nodes of ${gpu} ranks`, () => {
      const options = { ranks: node * gpu, dtype: "bf16", mapping: PROOF_MAPPING, mesh: { node, gpu } } as const;
      expectProved(file, prove(compileFile(file, options)));
    });
});
