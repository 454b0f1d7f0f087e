/** Programs that compute the wrong thing, each with what the prover says of it. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { prove, PROOF_MAPPING, type Wrong } from "../../src/compiler/prove/index.js";

function answerOf(text: string, ranks: number): { status: string; kind: string; message: string } {
  const result = compile(text, { file: "wrong.coll", ranks, dtype: "f32", mapping: PROOF_MAPPING });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const { answer } = prove(result);
  const { status, kind = "", message = "" } = answer as Partial<Wrong> & { status: string };
  return { status, kind, message };
}

describe("wrong answers", () => {
  it("a contribution is missing", () => {
    const { message } = answerOf(
      `collective c(x: T[n] partial(sum)) -> y: T[n] replicated {
        for i in tiles(n) { y[i] = sum(p in 1..world) x@p[i] }
      }`,
      3,
    );
    expect(message).toBe("output 'y'[0] on rank 0: lacks rank 0's x[0]");
  });

  it("a contribution is counted twice", () => {
    const { message } = answerOf(
      `collective c(x: T[n] partial(sum)) -> y: T[n] replicated {
        for i in tiles(n) { y[i] = x[i] + sum(p in ranks) x@p[i] }
      }`,
      3,
    );
    expect(message).toBe("output 'y'[0] on rank 0: counts rank 0's x[0] twice");
  });

  it("the wrong shard", () => {
    const { message } = answerOf(
      `collective c(x: T[n] partial(sum)) -> y: T[n] sharded(0) {
        let other = (rank + 1) % world
        for i in tiles(shard(n, other)) { y[i - shard(n, other).start] = sum(p in ranks) x@p[i] }
      }`,
      2,
    );
    expect(message).toContain("output 'y'[0] on rank 0: lacks rank 0's x[0], lacks rank 1's x[0]");
  });

  it("the tail is off by one", () => {
    const { kind, message } = answerOf(
      `collective c(x: T[n] partial(sum)) -> y: T[n] replicated {
        for i in tiles(n - 1) { y[i] = sum(p in ranks) x@p[i] }
      }`,
      2,
    );
    expect(kind).toBe("answer");
    expect(message).toContain("what nobody has written to y[0]");
  });

  it("an average that divides by too little", () => {
    const { message } = answerOf(
      `collective c(x: T[n] partial(avg)) -> y: T[n] replicated {
        for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] }
      }`,
      4,
    );
    expect(message).toContain("has 1 times rank 0's x[0], not 0.25 times");
  });
});
