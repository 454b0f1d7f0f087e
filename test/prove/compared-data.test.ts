/** Data that steers is tried at the constants that it is compared with, and what no data has led to is said. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { comparedWith } from "../../src/compiler/prove/compared.js";
import { findings, programOf, prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";

const chosen = (condition: string, value: string, where = ""): string => `
collective f(t: i32[n] local) -> y: i32[n] local ${where}
  ensures y[i] == t[i] {
  for i in tiles(n) { if ${condition} { y[i] = ${value} } else { y[i] = t[i] } }
}`;
const claimed = (text: string, n?: number) => {
  const { kernel, snapshots, diagnostics } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const program = programOf(snapshots);
  return prove({ kernel }, { program, ...(n === undefined ? {} : { shapes: [{ n }] }) });
};

describe("a constant that data is compared with", () => {
  for (const condition of ["t[i] == 77", "t[i] + 5 == 82", "100 - t[i] == 23", "t[i] > 77", "index(t[i]) % 100 == 77"])
    it(`is one of the values that are tried: ${condition}`, () => {
      expect(claimed(chosen(condition, "t[i] + 1")).answer).toMatchObject({ status: "wrong", kind: "answer" });
      const right = claimed(chosen(condition, "t[i]"));
      expect([right.answer.status, right.ordering.status, findings(right)]).toEqual(["proved", "proved", []]);
    });

  it("is not where the signature excludes it", () => {
    const { answer } = claimed(chosen("t[i] == 77", "0", "where t in 0..77"));
    expect(answer.status).toBe("proved");
  });

  it("is what makes both sides equal, whatever is added before", () => {
    const { kernel } = compile(chosen("t[i] - 3 < 40", "0"), { ranks: 2, mapping: PROOF_MAPPING });
    expect(comparedWith(kernel!).get("t")).toEqual(new Set([43]));
  });
});

describe("a statement that no sampled data leads to", () => {
  // What goes to a rank by its number is stored under the condition; what does not is chosen, and nothing is hidden.
  const hidden = `collective f(t: i32[n] local) -> y: i32[n] local
  ensures y[i] == t[i] {
  for i in tiles(n) { y[i] = t[i]  if t[i] * t[i] == 5929 { y@rank[i] = 0 } }
}`;
  const message = /this store of 'y': data decides whether it runs/;
  for (const n of [undefined, 40])
    it(`is named, ${n === undefined ? "and no length that would not help" : "at lengths that were asked for, too"}`, () => {
      const claims = claimed(hidden, n);
      expect(claims.answer.status).toBe("proved");
      const [warning] = findings(claims);
      expect(warning).toMatchObject({
        code: "proof-partial",
        message: expect.stringMatching(message) as string,
        help: expect.not.stringContaining("--dim") as string,
      });
    });

  it("is not there where both ways are looked at", () => {
    expect(claimed(chosen("t[i] * t[i] == 5929", "0")).answer.status).toBe("unknown");
    expect(claimed(chosen("t[i] * t[i] == 5929", "t[i]")).answer.status).toBe("proved");
  });
});
