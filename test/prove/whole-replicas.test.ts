/** Outputs of whole numbers and conditions that all ranks hold, each computed in a form of its own: equal for all data is equal in bits. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";

/** Rank 0 stores one value, the others another, of `a` and `b` of ranks 0 and 1. */
function answerOf(dtype: string, first: string, others: string): ReturnType<typeof proveAnswer> {
  const text = `collective forms(x: ${dtype}[n] local) -> y: ${dtype}[n] replicated {
    for i in tiles(n) {
      let a = x@0[i]
      let b = x@1[i]
      if rank == 0 { y[i] = ${first} } else { y[i] = ${others} }
    }
  }`;
  const { kernel, diagnostics } = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  return proveAnswer(kernel!, { dims: { n: 3 } });
}

describe("two forms", () => {
  it.each([
    ["u8", "(a + b) / 2", "a / 2 + b / 2 + (a - a / 2 * 2) * (b - b / 2 * 2)"],
    ["bool", "a and not b", "not (b or not a)"],
    ["i32", "max(a, b)", "where(a > b, a, b)"],
    ["i64", "abs(a - b)", "max(a, b) - min(a, b)"],
  ])("of %s that are equal for all data are one value: %s, %s", (dtype, first, others) => {
    expect(answerOf(dtype, first, others)).toMatchObject({ status: "proved" });
  });

  it.each([
    ["u8", "a / 2 + b / 2", "(a + b) / 2"],
    ["bool", "a and not b", "not (b and not a)"],
    ["i32", "max(a, b)", "where(a > b + 1, a, b)"],
  ])("of %s that some data tells apart are shown, in words: %s, %s", (dtype, first, others) => {
    const answer = answerOf(dtype, first, others);
    expect(answer).toMatchObject({ status: "wrong", kind: "bits" });
    if (answer.status !== "wrong") return;
    expect(answer.witness).toHaveLength(2);
    for (const line of answer.witness) expect(line).toMatch(/^rank [01] has .*x\[0\]/);
    expect(answer.help).toContain("of the same elements");
  });

  it("of floats are another value each, though they are equal in exact arithmetic", () => {
    expect(answerOf("f32", "a + b + a", "a + a + b")).toMatchObject({ status: "wrong", kind: "bits" });
  });
});
