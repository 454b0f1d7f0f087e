/**
 * Shapes as callers have them: tensors of several dimensions, cut along the first, and lengths that are numbers. All kernels that
 * conversions of them may become are proved for every length, as printed, but for those that are named.
 */
import { describe, expect, it } from "vitest";
import { compile, withMapping } from "../../src/compiler/index.js";
import { everyLength, PROOF_MAPPING, programOf, proofShapes } from "../../src/compiler/prove/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";

const PROGRAMS: readonly (readonly [name: string, layouts: string, body: string])[] = [
  ["a gather of rows", "x: T[m, n] sharded(0)) -> y: T[m, n] replicated", "all_gather(x, dim: 0)"],
  ["a gather of three dimensions", "x: T[b, m, n] sharded(0)) -> y: T[b, m, n] replicated", "all_gather(x, dim: 0)"],
  ["a gather of rows of a literal length", "x: T[m, 4096] sharded(0)) -> y: T[m, 4096] replicated", "all_gather(x, dim: 0)"], // prettier-ignore
  ["a reduce_scatter of rows", "x: T[m, n] partial(sum)) -> y: T[m, n] sharded(0)", "reduce_scatter(x, dim: 0)"],
  ["an all_reduce of three dimensions", "x: T[b, m, n] partial(sum)) -> y: T[b, m, n] replicated", "all_reduce(x)"],
  ["an all_reduce of rows of a literal length", "x: T[m, 7168] partial(sum)) -> y: T[m, 7168] replicated", "all_reduce(x)"], // prettier-ignore
  ["an all_reduce of rows of an odd length", "x: T[m, 35] partial(sum)) -> y: T[m, 35] replicated", "all_reduce(x)"],
];

/** Packets of 8 elements of rows of 35: there are too many ways for both to end. */
const NOT_FOLLOWED_OF_ODD_ROWS = /\+packets$/;

describe.each([2, 4])("on %d ranks", (ranks) => {
  it.each(PROGRAMS)("%s is proved for every length", (name, layouts, body) => {
    const text = `collective f(${layouts} { y = ${body} }`;
    const { considered, diagnostics } = compile(text, { ranks, dtype: "bf16", resolve: importsFromDisk, library: libraryFromDisk }); // prettier-ignore
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(considered.length).toBeGreaterThan(3);
    for (const { name: algorithm, compiled: printed } of considered) {
      if (name.includes("odd") && NOT_FOLLOWED_OF_ODD_ROWS.test(algorithm)) continue;
      const { kernel, snapshots } = withMapping(printed, PROOF_MAPPING);
      const shapes = proofShapes(kernel!, "answer", programOf(snapshots));
      const { answer, ordering } = everyLength(printed.kernel!, shapes);
      expect([algorithm, answer, ordering]).toEqual([algorithm, { holds: true }, { holds: true }]);
    }
  });
});
