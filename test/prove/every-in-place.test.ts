/**
 * Tensors that are changed in place, at every length (docs/PROOF.md, "Every length"): programs of which claims are proved, and programs with one thing
 * wrong, of which nothing is claimed.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { everyLength, PROOF_MAPPING, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

const LENGTHS: readonly DimValues[] = [0, 1, 4, 13, 64, 300, 864].map((n) => ({ n }));

function compiled(text: string, ranks: number, mapping: CompileOptions["mapping"] = {}): Kernel {
  const { kernel, diagnostics } = compile(text, { ranks, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
}

const claims = (kernel: Kernel): { answer: string | null; ordering: string | null } => {
  const { answer, ordering } = everyLength(kernel, LENGTHS, (dims) => proveAnswer(kernel, { dims }));
  const reason = (claim: typeof answer): string | null => (claim.holds ? null : claim.reason);
  return { answer: reason(answer), ordering: reason(ordering) };
};

const PROVED = { answer: null, ordering: null };
const ALL_REDUCE = "collective f(x: T[n] partial(sum)) -> x: T[n] replicated { x = all_reduce(x) }";
const loops = (body: string, says = "", layout = "x: T[n] partial(sum)) -> x: T[n] replicated"): string =>
  `collective f(${layout} ${says} {\n${body}\n}`;
const TWO_SHOT = (stored: string): string =>
  loops(`for i in tiles(chunk(n, rank)) { let s = sum(p in ranks) x@p[i]  ${stored} }`);

describe("what is changed in place", () => {
  it.each([
    ["a sum in one shot", ALL_REDUCE, 2, { algorithm: "one_shot" }],
    ["a sum in two", ALL_REDUCE, 4, { algorithm: "two_shot" }],
    ["a sum in packets", ALL_REDUCE, 4, { protocol: "packet", transfers: "staged" }],
    ["a sum in loops", TWO_SHOT("for p in ranks { x@p[i] = s }"), 3, {}],
    ["a sum and a bias", "collective f(x: T[n] partial(sum), b: T[n] replicated) -> x: T[n] replicated { x = all_reduce(x) + b }", 2, {}], // prettier-ignore
    ["what a rank has", "collective f(x: T[n] local) -> x: T[n] local ensures x[i] == x[i] * 2 + 1 { for i in tiles(n) { x[i] = x[i] * 2 + 1 } }", 2, {}], // prettier-ignore
    ["two tensors, each from both", "collective f(x: T[n] local, z: T[n] local) -> (x: T[n] local, z: T[n] local) ensures x[i] == x[i] + z[i] ensures z[i] == x[i] - z[i] { for i in tiles(n) { let a = x[i]  let b = z[i]  x[i] = a + b  z[i] = a - b } }", 2, {}], // prettier-ignore
    ["old and new values", "collective f(x: T[n] partial(sum)) -> (x: T[n] replicated, y: T[n] local) ensures y[i] == x[i] { for i in tiles(n) { y[i] = x[i] }  x = all_reduce(x) }", 2, {}], // prettier-ignore
  ] as const)("%s: proved for every length", (_, text, ranks, mapping) => {
    expect(claims(compiled(text, ranks, mapping))).toEqual(PROVED);
  });

  it.each([
    ["the neighbour's element", loops("for i in tiles(n) { if i + 1 < n { x[i] = x[i + 1] } }", "ensures x[i] == where(i + 1 < n, x[min(i + 1, n - 1)], x[i])", "x: T[n] local) -> x: T[n] local")], // prettier-ignore
    ["the element from the other end", loops("for i in tiles(n) { x[i] = x[n - 1 - i] }", "ensures x[i] == x[n - 1 - i]", "x: T[n] local) -> x: T[n] local")], // prettier-ignore
    ["what has been stored already", TWO_SHOT("for p in ranks { x@p[i] = sum(q in ranks) x@q[i] }")],
    ["what the first store has left", TWO_SHOT("x@0[i] = s  x@1[i] = x@0[i] + x@1[i]  x@2[i] = s")],
    ["a rank's own twice", TWO_SHOT("for p in ranks { x@p[i] = s + x[i] }")],
    ["a rank left out", TWO_SHOT("for p in 0..2 { x@p[i] = s }")],
    ["old for new", "collective f(x: T[n] partial(sum)) -> (x: T[n] replicated, y: T[n] local) ensures y[i] == x[i] { x = all_reduce(x)  for i in tiles(n) { y[i] = x[i] } }"], // prettier-ignore
  ] as const)("%s: refused", (_, text) => {
    const kernel = compiled(text, 3);
    const isRefuted = LENGTHS.some(
      (dims) => proveAnswer(kernel, { dims }).status === "wrong" || proveOrdering(kernel, { dims }).status !== "proved",
    );
    expect(isRefuted).toBe(true);
    const { answer, ordering } = claims(kernel);
    expect([answer, ordering]).not.toEqual([null, null]);
  });

  it.each([
    ["what has been stored already", "for p in ranks { x@p[i] = sum(q in ranks) x@q[i] }"],
    ["what the first store has left", "x@0[i] = s  x@1[i] = x@0[i] + x@1[i]  x@2[i] = s"],
  ])("%s is not what was there, whatever is proved of its answer", (_, stored) => {
    const { ordering } = everyLength(compiled(TWO_SHOT(stored), 3), LENGTHS);
    expect(ordering).toMatchObject({ holds: false, reason: "two accesses may meet that nothing orders" });
  });
});

const ROWS: readonly DimValues[] = [[1, 1], [2, 3], [3, 8], [4, 64], [5, 35], [13, 16], [1, 235]].map(([m, n]) => ({ m: m!, n: n! })); // prettier-ignore

/** A residual stream in place, whose rows are then folded. */
const residual = (body: string, says = ""): string => `
collective f(h: T[m, n] partial(sum), s: T[m, n] replicated) -> (s: T[m, n] replicated, y: T[m, n] replicated) ${says} {
  ${body}
}`;
const STREAM = "s = s + all_reduce(h)";
const NORM = "y = s * rsqrt(mean(s * s, dim: 1) + 1)";

describe("rows that are changed in place", () => {
  const claimsOf = (text: string): { answer: string | null; wrong: boolean } => {
    const kernel = compiled(text, 2);
    const { answer } = everyLength(kernel, ROWS, (dims) => proveAnswer(kernel, { dims }));
    const wrong = ROWS.some((dims) => proveAnswer(kernel, { dims }).status === "wrong");
    return { answer: answer.holds ? null : answer.reason, wrong };
  };

  it.each([
    ["a stream and its norm", residual(`${STREAM}  ${NORM}`)],
    ["a stream and the norm of what it was", residual(`let old = s * rsqrt(mean(s * s, dim: 1) + 1)  ${STREAM}  y = old`)], // prettier-ignore
    [
      "a softmax of itself",
      "collective f(x: T[m, n] replicated) -> x: T[m, n] replicated { let e = exp(x - max(x, dim: 1))  x = e / sum(e, dim: 1) }",
    ],
  ])("%s: proved for every length", (_, text) => {
    expect(claimsOf(text)).toEqual({ answer: null, wrong: false });
  });

  it.each([
    ["the old stream's norm for the new one's", residual(`let old = s * rsqrt(mean(s * s, dim: 1) + 1)  ${STREAM}  y = old`, `ensures y == (s + all_reduce(h)) * rsqrt(mean((s + all_reduce(h)) * (s + all_reduce(h)), dim: 1) + 1)`)], // prettier-ignore
    ["a stream that is added twice", residual(`let t = all_reduce(h)  s = s + t + t  ${NORM}`, `ensures s == s + all_reduce(h)`)], // prettier-ignore
    ["a norm of the new stream, times the old one", residual(`let old = s  ${STREAM}  y = old * rsqrt(mean(s * s, dim: 1) + 1)`, `ensures y == (s + all_reduce(h)) * rsqrt(mean((s + all_reduce(h)) * (s + all_reduce(h)), dim: 1) + 1)`)], // prettier-ignore
  ])("%s: refused", (_, text) => {
    const { answer, wrong } = claimsOf(text);
    expect(wrong).toBe(true);
    expect(answer).not.toBe(null);
  });
});
