/**
 * Tensors of which ranks hold columns, or other dimensions than the first, at every length ("Rows and columns" in docs/PROOF.md). What is wrong far away is
 * among the programs of every-programs.ts.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, withMapping } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

const SHAPES: readonly DimValues[] = [
  { b: 1, m: 24, n: 24 },
  { b: 3, m: 48, n: 72 },
  { b: 2, m: 72, n: 120 },
];

function why(kernel: Kernel): string | null {
  const claim = everyLength(kernel, SHAPES, (dims) => proveAnswer(kernel, { dims }));
  if (!claim.ordering.holds) return `ordering: ${claim.ordering.reason}`;
  return claim.answer.holds ? null : `answer: ${claim.answer.reason}`;
}

const PRINTED: CompileOptions["mapping"] = { elementThreads: 512, elementBlocks: 132, busyBlocks: 132 };
const PACKETS: CompileOptions["mapping"] = { transfers: "staged", protocol: "packet" };
const DIRECT: CompileOptions["mapping"] = { transfers: "written" };

const PUSHED = `collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated {
  for i, j in tiles(m, shard(n, rank)) { for p in ranks { y@p[i, j] = x[i, j - shard(n, rank).start] } }
}`;
const PULLED = `collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated {
  for p in ranks { for i, j in tiles(m, shard(n, p)) { y[i, j] = x@p[i, j - shard(n, p).start] } }
}`;
const TENSOR = "collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated { y = all_gather(x, dim: 1) }";
const SCALED = `collective f(x: T[m, n] sharded(1), w: T[n] replicated) -> y: T[m, n] replicated {
  y = gelu(all_gather(x, dim: 1) * w)
}`;
const CUBE = "collective f(x: T[b, m, n] sharded(1)) -> y: T[b, m, n] replicated { y = all_gather(x, dim: 1) }";
const CUBE_SUM =
  "collective f(x: T[b, m, n] partial(sum)) -> y: T[b, m, n] sharded(1) { y = reduce_scatter(x, dim: 1) }";
const EXCHANGED = "collective f(x: T[m, n] sharded(1)) -> y: T[m, n] sharded(0) { y = all_to_all(x, dim: 0) }";
const READ = `collective f(x: T[m, n] sharded(1)) -> y: T[m, n] sharded(0) {
  for i, j in tiles(m / world, n) { y[i, j] = x@(j / (n / world))[i + rank * (m / world), j % (n / world)] }
}`;
const LAST_SUM =
  "collective f(x: T[b, m, n] partial(sum)) -> y: T[b, m, n] sharded(2) { y = reduce_scatter(x, dim: 2) }";

describe("dimensions that ranks share", () => {
  it.each([
    ["columns that are pushed", PUSHED, DIRECT],
    ["columns that are pulled", PULLED, DIRECT],
    ["columns of a tensor expression", TENSOR, DIRECT],
    ["the same in packets", TENSOR, PACKETS],
    ["columns, computed with", SCALED, DIRECT],
    ["the same in packets, computed with", SCALED, PACKETS],
    ["the second of three dimensions", CUBE, DIRECT],
    ["the second of three dimensions, in packets", CUBE, PACKETS],
    ["sums, cut along the second of three dimensions", CUBE_SUM, DIRECT],
    ["the same in packets, summed up", CUBE_SUM, PACKETS],
    ["columns that become rows", EXCHANGED, DIRECT],
    ["columns that become rows, element by element", READ, DIRECT],
    ["sums, cut along the last of three dimensions", LAST_SUM, DIRECT],
  ])("%s, hold for every length, as printed, too", (_, text, mapping) => {
    for (const ranks of [2, 3, 4]) {
      const small = compile(text, { ranks, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } });
      expect(small.kernel!.buffers.some((b) => b.role === "packet")).toBe("protocol" in mapping);
      expect(why(small.kernel!)).toBe(null);
      expect(why(withMapping(small, { ...PRINTED, ...mapping }).kernel!)).toBe(null);
    }
  });

  it.each([
    ["its own tensors", "(x: T[m, n] local, w: T[n] replicated) -> y: T[m, n] local { y = gelu(x * w + 1) }"],
    ["its own and a sum", "(x: T[m, n] local, w: T[m, n] partial(sum)) -> y: T[m, n] local { y = all_reduce(w) + x }"],
    ["three dimensions of its own", "(x: T[b, m, n] local) -> y: T[b, m, n] local { y = -x }"],
  ])("and what each rank makes of %s, which it shares with none", (_, text) => {
    const { kernel } = compile(`collective f${text}`, {
      ranks: 2,
      dtype: "bf16",
      mapping: { ...PROOF_MAPPING, ...DIRECT },
    });
    expect(why(kernel!)).toBe(null);
  });

  it("are ordered where rows and columns change places, too", () => {
    const text = `collective f(x: T[m, n] sharded(0)) -> y: T[n, m] sharded(0) {
      for p in ranks {
        for i, j in tiles(shard(n, rank), shard(m, p)) { y[i - shard(n, rank).start, j] = x@p[j - shard(m, p).start, i] }
      }
    }`;
    const { kernel } = compile(text, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(everyLength(kernel!, SHAPES).ordering).toEqual({ holds: true });
  });
});

describe("columns are not held to be right", () => {
  const pushed = (place: string, columns = "shard(n, rank)"): string => `
    collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated {
      let c = n / world
      for i, j in tiles(m, ${columns}) { for p in ranks { y@p[${place}] = x[i, j - rank * c] } }
    }`;

  it.each([
    ["that are the next rank's", pushed("i, (rank + 1) % world * c + j - rank * c"), /^answer: what .* farther away/],
    ["of which one is the next rank's", pushed("i, min(j + 1, n - 1)"), /ordering|answer/],
    [
      "that are one too few",
      pushed("i, j", "rank * c .. rank * c + c - 1"),
      "answer: an element of 'y' may be read before it is written",
    ],
    ["of the row below", pushed("min(i + 1, m - 1), j"), /ordering|answer/],
  ])("%s", (_, text, reason) => {
    const { kernel } = compile(text, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(why(kernel!)).toMatch(reason);
  });

  const read = (peer: string, row: string, column: string): string => `
    collective f(x: T[m, n] sharded(1)) -> y: T[m, n] sharded(0) {
      let c = n / world
      for i, j in tiles(m / world, n) { y[i, j] = x@(${peer})[${row}, ${column}] }
    }`;
  const ROW = "i + rank * (m / world)";

  it.each([
    ["of the ranks the other way round", read("world - 1 - j / c", ROW, "j % c"), /answer|ordering/],
    ["of the next rank", read("(j / c + 1) % world", ROW, "j % c"), /answer|ordering/],
    ["in the next column", read("j / c", ROW, "(j + 1) % c"), /answer|ordering/],
    ["of the first rows", read("j / c", "i", "j % c"), /answer/],
    ["of another width", read("min(j / (c + 1), world - 1)", ROW, "j % c"), /answer|ordering/],
  ])("that are read %s", (_, text, reason) => {
    const { kernel } = compile(text, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(why(kernel!)).toMatch(reason);
  });

  it("where one rank stores them over others'", () => {
    const text = `collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated {
      let c = n / world
      for i, j in tiles(m, c) { for p in ranks { y@p[i, rank / 2 * 2 * c + j] = x[i, j] } }
    }`;
    const { kernel } = compile(text, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(why(kernel!)).toBe("ordering: two accesses may meet that nothing orders");
  });
});
