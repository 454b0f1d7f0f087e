/** Neighbouring dimensions that nothing tells apart are one, and all else keeps them; either way the answer is right. */
import { describe, expect, it } from "vitest";
import {
  compile,
  type CompileResult,
  type DimValues,
  fitDims,
  machineFor,
  predictTime,
} from "../../src/compiler/index.js";
import { text, type Value } from "../../src/compiler/ir/module.js";
import { printExtent } from "../../src/compiler/types/extent.js";
import { expectRight } from "./compiled-products.js";

/** What is computed, and the shapes of the tensors that are stored, in the order of the outputs, when dimensions have been merged. */
interface Program {
  readonly body: string;
  readonly stores: readonly string[];
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  "rows of batches times one matrix, summed": {
    body: "collective f(a: T[b, s, k] sharded(2), w: T[k, n] sharded(0)) -> y: T[b, s, n] replicated { y = all_reduce(a @ w) }",
    stores: ["mul(b, s), n"],
  },
  "the same, each rank with some batches, a bias and a residual": {
    body: "collective f(a: T[b, s, k] sharded(2), w: T[n, k] sharded(1), bias: T[n] replicated, r: T[b, s, n] sharded(0)) -> y: T[b, s, n] sharded(0) { y = r + gelu(reduce_scatter(a @ transpose(w), dim: 0) + bias) }",
    stores: ["mul(b, s), n"],
  },
  "batches gathered, times one matrix": {
    body: "collective f(a: T[b, s, k] sharded(0), w: T[k, n] sharded(1)) -> y: T[b, s, n] sharded(2) { y = all_gather(a, dim: 0) @ w }",
    stores: ["mul(b, s), n"],
  },
  "batches that are a multiple of the ranks": {
    body: "collective f(a: T[b * world, s, k] sharded(0), w: T[k, n] replicated) -> y: T[b * world, s, n] sharded(0) { y = a @ w }",
    stores: ["mul(mul(b, s), RANKS), n"],
  },
  "parts of a sequence, of which a rank's rows are no run": {
    body: "collective f(a: T[b, s, k] sharded(1), w: T[k, n] sharded(1)) -> y: T[b, s, n] sharded(2) { y = all_gather(a, dim: 1) @ w }",
    stores: ["b, s, n"],
  },
  "parts of the one sequence there is": {
    body: "collective f(a: T[1, s, k] sharded(1), w: T[k, n] sharded(1)) -> y: T[1, s, n] sharded(2) { y = all_gather(a, dim: 1) @ w }",
    stores: ["s, n"],
  },
  "a matrix for each batch and head": {
    body: "collective f(a: T[b, h, m, k] sharded(3), w: T[b, h, k, n] sharded(2)) -> y: T[b, h, m, n] replicated { y = all_reduce(a @ w) }",
    stores: ["mul(b, h), m, n"],
  },
  "a matrix for each head, and for all batches": {
    body: "collective f(a: T[b, h, m, k] sharded(3), w: T[h, k, n] sharded(1)) -> y: T[b, h, m, n] replicated { y = all_reduce(a @ w) }",
    stores: ["b, h, m, n"],
  },
  "the root of each row's mean square": {
    body: "collective f(x: T[b, s, n] partial(sum), g: T[n] replicated) -> y: T[b, s, n] replicated { let all = all_reduce(x)\n y = all * rsqrt(sum(all * all, dim: 2) + 1.0) * g }",
    stores: ["mul(b, s), n"],
  },
  "sums of the dimension in the middle": {
    body: "collective f(x: T[b, s, h, n] partial(sum)) -> y: T[b, 1, h, n] replicated { y = sum(all_reduce(x), dim: 1) }",
    stores: ["b, 1, mul(h, n)"],
  },
  "dimensions that change places, two of them together": {
    body: "collective f(x: T[b, s, h, n] partial(sum)) -> y: T[h, n, b, s] replicated { y = permute(all_reduce(x), 2, 3, 0, 1) }",
    stores: ["mul(h, n), mul(b, s)"],
  },
  "rows that are renamed, multiplied, and named again": {
    body: "collective f(a: T[b, s, k] sharded(2), w: T[k, n] sharded(0)) -> y: T[b, s, n] replicated { y = reshape(all_reduce(reshape(a, b * s, k) @ w), b, s, n) }",
    stores: ["mul(b, s), n"],
  },
  "a place along one of them": {
    body: "collective f(x: f32[b, s, n] partial(sum)) -> y: f32[b, s, n] replicated { y = where(iota(b, s, n, dim: 1) >= 1, all_reduce(x), 0.0) }",
    stores: ["b, s, n"],
  },
  "a number for each batch": {
    body: "collective f(x: T[b, s, n] partial(sum), c: T[b, 1, 1] replicated) -> y: T[b, s, n] replicated { y = all_reduce(x) * c }",
    stores: ["b, mul(s, n)"],
  },
  "a number for each batch, and one for each row": {
    body: "collective f(x: T[b, s, n] partial(sum), c: T[b, 1, 1] replicated, d: T[b, s, 1] replicated) -> y: T[b, s, n] replicated { y = all_reduce(x) * c + d }",
    stores: ["b, s, n"],
  },
  "rows of two dtypes beside each other, one part of them": {
    body: "collective f(x: T[b, s, n] partial(sum), y: T[b, s, n] replicated) -> z: T[b, s, n] replicated { z = concat(all_reduce(x), y, dim: 2)[.., .., 0..n] }",
    stores: ["mul(b, s), n"],
  },
};

const compiled = (body: string, ranks: number): CompileResult =>
  compile(body, { ranks, dtype: "bf16", arch: "sm_90a" });

const storedShapes = ({ snapshots }: CompileResult): string[] => {
  const { kernel } = snapshots.find(({ pass }) => pass === "merge-dims")!;
  return kernel.outputs.map(({ name }) => {
    const { operands } = kernel.body.ops.find((op) => op.name === "output" && text(op, "buffer") === name)!;
    const { type } = operands[0] as Value;
    return type.kind === "tensor" ? type.shape.map(printExtent).join(", ") : "";
  });
};

describe.each(Object.entries(PROGRAMS))("%s", (_, { body, stores }) => {
  it.each([2, 3])("on %i ranks", (ranks) => {
    const program = compiled(body, ranks);
    expect(program.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(storedShapes(program)).toEqual(stores.map((s) => s.replace("RANKS", `${ranks}`)));
    const { requirements, dims } = program.manifest!;
    for (const length of [1, 3, 5]) {
      const wanted = Object.fromEntries(dims.map((d, i) => [d, length + i]));
      expectRight(program, [fitDims(requirements, wanted, new Set(dims))]);
    }
  });
});

it("a row of each of 16 batches takes as long as 16 rows", () => {
  const machine = machineFor("sm_90a", 2);
  const seconds = (a: string, y: string, dims: DimValues): number => {
    const body = `collective f(a: T[${a}, k] sharded(${a.split(",").length}), w: T[k, n] sharded(0)) -> y: T[${y}, n] replicated { y = all_reduce(a @ w) }`;
    const program = compile(body, { ranks: 2, dtype: "bf16", arch: "sm_90a", machine });
    return predictTime(program, { k: 8192, n: 8192, ...dims }, machine).total;
  };
  expect(seconds("b, s", "b, s", { b: 16, s: 1 })).toBe(seconds("m", "m", { m: 16 }));
});
