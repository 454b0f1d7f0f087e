/** Tensors with one element for each row of others, `[m, 1]`, as scales of rows are, at every length ("The answer goes element by element" in docs/PROOF.md). */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, withMapping } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

const SHAPES: readonly DimValues[] = [
  { b: 12, m: 24, n: 24 },
  { b: 24, m: 36, n: 72 },
  { b: 24, m: 12, n: 1 },
];

function why(kernel: Kernel): string | null {
  const claim = everyLength(kernel, SHAPES, (dims) => proveAnswer(kernel, { dims }));
  if (!claim.ordering.holds) return `ordering: ${claim.ordering.reason}`;
  return claim.answer.holds ? null : `answer: ${claim.answer.reason}`;
}

const PRINTED: CompileOptions["mapping"] = { elementThreads: 512, elementBlocks: 132, busyBlocks: 132 };
const PACKETS: CompileOptions["mapping"] = { transfers: "staged", protocol: "packet" };
const DIRECT: CompileOptions["mapping"] = { transfers: "written" };

const GATHERED = "(x: T[m, n] sharded(0), s: T[m, 1] sharded(0)) -> y: T[m, n] replicated { y = all_gather(x * s) }";
const COLUMNS = `(x: T[m, n] sharded(1), s: T[m, 1] replicated, g: T[1, n] replicated) -> y: T[m, n] sharded(1) {
  y = x * s + g
}`;
const SUMMED = `(x: T[m, n] partial(sum), s: T[m, 1] sharded(0), b: T[n] replicated) -> y: T[m, n] sharded(0) {
  y = reduce_scatter(x, dim: 0) * s + b
}`;
const EXPERTS = `(a: T[m, n] partial(sum), b: T[m, n] partial(sum), v: T[m, 1] replicated, w: T[m, 1] replicated)
  -> y: T[m, n] replicated { y = all_reduce(a) * v + all_reduce(b) * w }`;
const CUBE = `(x: T[b, m, n] sharded(0), s: T[b, m, 1] replicated, t: T[b, 1, 1] replicated) -> y: T[b, m, n] replicated {
  y = all_gather(x * s + t)
}`;

describe("what has one element for each row", () => {
  it.each([
    ["rows that are gathered", GATHERED, DIRECT],
    ["the same in packets", GATHERED, PACKETS],
    ["columns, which have their own factors", COLUMNS, DIRECT],
    ["sums that are scattered", SUMMED, DIRECT],
    ["the same in packets, summed up", SUMMED, PACKETS],
    ["two sums", EXPERTS, DIRECT],
    ["the same in packets, two sums", EXPERTS, PACKETS],
    ["three dimensions, and two of them", CUBE, DIRECT],
    ["the same in packets, three dimensions", CUBE, PACKETS],
  ])("is that of the row at every length: %s", (_, text, mapping) => {
    for (const ranks of [2, 3, 4]) {
      const options = { ranks, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } } as const;
      const small = compile(`collective f${text}`, options);
      expect(small.kernel!.buffers.some((b) => b.role === "packet")).toBe("protocol" in mapping && text !== COLUMNS);
      expect(why(small.kernel!)).toBe(null);
      expect(why(withMapping(small, { ...PRINTED, ...mapping }).kernel!)).toBe(null);
    }
  });

  const scaled = (of: string, row = "p * (m / world) + i"): string => `
    collective f(x: T[m, n] sharded(0), s: T[m, 1] sharded(0)) -> y: T[m, n] replicated ensures y == x * s {
      for p in ranks { for i, j in tiles(m / world, n) { y[${row}, j] = x@p[i, j] * s${of} } }
    }`;
  const own = (of: string): string => `
    collective f(x: T[m, m] local, s: T[m, 1] local) -> y: T[m, m] local ensures y[i, j] == x[i, j] * s[i, 0] {
      for i, j in tiles(m, m) { y[i, j] = x[i, j] * s[${of}] }
    }`;

  it.each([
    ["that are scaled by themselves", scaled("@p[i, 0]")],
    ["of a rank's own", own("i, 0")],
  ])("where elements are written one by one: rows %s", (_, text) => {
    const { kernel } = compile(text, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(why(kernel!)).toBe(null);
  });

  it.each([
    ["the rank's", scaled("@rank[i, 0]")],
    ["the next rank's", scaled("@((p + 1) % world)[i, 0]")],
    ["the next row's", scaled("@p[min(i + 1, m / world - 1), 0]")],
    ["the row's before, in twos", scaled("@p[i / 2 * 2, 0]")],
    ["that of the column", scaled("@p[min(j, m / world - 1), 0]")],
    ["the last one's from some row on", scaled("@p[min(i, 20000), 0]")],
    ["the right one, of rows that change places", scaled("@p[i, 0]", "(world - 1 - p) * (m / world) + i")],
    ["that of the column, of a square", own("j, 0")],
  ])("is not held to be right where it is %s", (_, text) => {
    const { kernel } = compile(text, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(why(kernel!)).toMatch(/answer|ordering/);
  });
});
