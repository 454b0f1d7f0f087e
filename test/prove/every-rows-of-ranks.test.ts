/**
 * Answers that are folds over what ranks have one by one, rows of one tensor, at every length (7 of "Every length" in docs/PROOF.md): programs of which they
 * are proved, and programs with one thing wrong, of which nothing is claimed that an execution refutes.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

const LENGTHS: readonly DimValues[] = [0, 4, 12, 64, 300, 864, 1708].map((n) => ({ n }));

function compiled(text: string, mapping: CompileOptions["mapping"] = {}): Kernel {
  const options = { ranks: 4, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } } as const;
  const { kernel, diagnostics } = compile(text, options);
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
}

const reasonOf = (kernel: Kernel): string | null => {
  const { answer } = everyLength(kernel, LENGTHS, (dims) => proveAnswer(kernel, { dims }));
  return answer.holds ? null : answer.reason;
};

const isWrong = (kernel: Kernel): boolean => LENGTHS.some((dims) => proveAnswer(kernel, { dims }).status === "wrong");

const rows = (
  body: string,
  output = "T[1, n] replicated",
  from = "a: T[world, n] sharded(0), b: T[world, n] sharded(0)",
) => `collective f(${from}) -> y: ${output}\n  where n % world == 0 {\n  ${body}\n}\n`;

const NARROW = { algorithm: "two_shot", transfers: "written", protocol: "barrier" } as const;

describe("folds over rows that ranks have", () => {
  it.each([
    ["a gated sum", rows("y = all_reduce(sum(sigmoid(a) * b, dim: 0))"), {}],
    ["the same, computed before it travels", rows("y = all_reduce(sum(sigmoid(a) * b, dim: 0))"), NARROW],
    [
      "the same, scattered",
      rows("y = reduce_scatter(sum(sigmoid(a) * b, dim: 0), dim: 1)", "T[1, n] sharded(1)"),
      NARROW,
    ],
    [
      "a largest value, in another shape",
      rows("y = all_reduce(reshape(max(a + b, dim: 0), n))", "T[n] replicated"),
      {},
    ],
    [
      "a bias that all have",
      rows("y = all_reduce(sum(a * r, dim: 0))", "T[1, n] replicated", "a: T[world, n] sharded(0), r: T[n] replicated"),
      {},
    ],
  ] as const)("%s: proved for every length", (_, text, mapping) => {
    expect(reasonOf(compiled(text, mapping))).toBe(null);
  });
});

/** In loops, which may differ from what the answer is said to be. */
const looped = (p: string, i: string, more = ""): string => `
collective f(a: T[world, n] sharded(0), b: T[world, n] sharded(0)) -> y: T[1, n] replicated
  where n % world == 0
  ensures y == all_reduce(sum(a * b, dim: 0)) {
  for i in tiles(n) { y[0, i] = (sum(p in ranks) a@p[0, ${i}] * b@(${p})[0, i])${more} }
}`;

describe("in loops", () => {
  it("the same: proved for every length", () => {
    expect(reasonOf(compiled(looped("p", "i")))).toBe(null);
  });

  it.each([
    ["a factor of another rank", looped("(p + 1) % world", "i")],
    ["a factor of another place, far out", looped("p", "min(i, 700)")],
    ["a factor of the other end", looped("p", "n - 1 - i")],
    ["a row too many", looped("p", "i", " + a[0, i]")],
  ])("%s: refused", (_, text) => {
    const kernel = compiled(text);
    expect(reasonOf(kernel)).not.toBe(null);
    expect(isWrong(kernel)).toBe(true);
  });
});
