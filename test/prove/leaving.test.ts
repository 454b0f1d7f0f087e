/** Indices that leave their dimension, and quotients that stop being 0, at lengths that no usual shape has. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { type Claims, findings, programOf, prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { leavingOf } from "../../src/compiler/prove/leaving.js";

const compiled = (text: string) => {
  const result = compile(text, { ranks: 2, dtype: "i32", mapping: PROOF_MAPPING });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
};
const leaving = (text: string) => leavingOf(programOf(compiled(text).snapshots)!);
const statuses = ({ answer, ordering }: Claims) => [answer.status, ordering.status];

const boxed = (shape: string, at = "i", where = ""): string => `
collective f(x: T[n] partial(sum)) -> y: T[n] replicated ${where} {
  scratch box: T[${shape}]
  for i in tiles(n) { box[${at}] = x[i] }
  for i in tiles(n) { y[i] = sum(p in ranks) box@p[${at}] }
}`;
const moved = (by: string, where = ""): string => `
collective f(x: T[n] local) -> y: T[n] local ${where}
  ensures y[i] == x[i] {
  for i in tiles(n) { y[i] = x[i - ${by}] }
}`;

describe("an index that leaves its dimension far away", () => {
  for (const [name, text, n, right] of [
    ["scratch that grows more slowly", boxed("2 * n / 3 + 2000"), 6001, boxed("4 * n / 3 + 2000")],
    ["scratch of rows", boxed("n / 64 + 1, 63", "i / 63, i % 63"), 127, boxed("n / 64 + 1, 64", "i / 64, i % 64")],
    ["below 0", moved("max(i - 20000, 0) * 2"), 40002, moved("max(i - 20000, 0)")],
    ["under a condition", moved("where(i > 30000, 30002, 0)"), 30002, moved("where(i > 30000, 30001, 0)")],
  ] as const)
    it(`is found at the shortest length: ${name}`, () => {
      expect(leaving(text)?.dims).toEqual({ n });
      expect(leaving(right)).toBeNull();
    });

  it("refutes what is proved at shorter lengths", () => {
    const wrong = prove(compiled(boxed("2 * n / 3 + 2000")));
    expect(statuses(wrong)).toEqual(["wrong", "wrong"]);
    const message = "index 6000 of dimension 0 lies outside 'box', which has 6000: a store to 'box'[6000] on rank 0";
    expect(findings(wrong)).toMatchObject([{ code: "proof-bounds", message }]);
    expect(statuses(prove(compiled(boxed("2 * n / 3 + 2000", "i", "where n <= 6000"))))).toEqual(["proved", "proved"]);
  });

  it("is found of ranks, too, where a loop over them is written out", () => {
    for (const peer of ["p + 1", "-p"]) {
      const text = `collective f(x: T[n] partial(max)) -> y: T[n] replicated {
  for i in tiles(n) { y[i] = max(p in ranks) x@(${peer})[i] }
}`;
      const message = expect.stringMatching(/^rank [01], block 0: a load of 'x' goes to rank (2|-1) of 2$/) as string;
      expect(findings(prove(compiled(text)))).toContainEqual(
        expect.objectContaining({ code: "proof-bounds", message }),
      );
    }
  });

  it("is no finding under a condition on data", () => {
    const guarded = boxed("2 * n / 3 + 2000").replace("box[i] = x[i]", "if x[i] == 1 { box[i] = x[i] }");
    expect(leaving(guarded)?.outside.op.name).toBe("load");
    const own = guarded.replace("sum(p in ranks) box@p[i]", "x[i]");
    expect(leaving(own)).toBeNull();
  });

  it("is warned of where no length is found, but nothing shows that there is none", () => {
    const claims = prove(compiled(boxed("n - n / 4000000000")));
    expect(statuses(claims)).toEqual(["proved", "proved"]);
    const message = expect.stringMatching(/at other lengths, an index may leave 'box'/) as string;
    expect(findings(claims)).toContainEqual(expect.objectContaining({ code: "proof-limited", message }));
    expect(findings(prove(compiled(boxed("n"))))).toEqual([]);
  });
});

describe("what becomes another at a length that decides it together with others", () => {
  for (const [name, by, where] of [
    ["a quotient of what begins late", "max(i - 2000, 0) / 5", "where n <= 2005"],
    ["a quotient of a product of remainders", "(i % 20) * (i % 19) / 342", "where n <= 359"],
    ["a quotient of a square", "i * i / 4000000", "where n <= 2000"],
  ] as const)
    it(`is looked at: ${name}`, () => {
      expect(prove(compiled(moved(by))).answer).toMatchObject({ status: "wrong", kind: "answer" });
      expect(prove(compiled(moved(by, where))).answer.status).toBe("proved");
    });

  it("is looked at: a multiple modulo a length that shares a factor with it", () => {
    const strided = (where: string): string => `
collective f(x: T[n] local) -> y: T[n] local ${where}
  ensures y[i] == x[i] {
  scratch box: T[n]
  for i in tiles(n) { box[(i * 1009) % max(n, 1)] = x[i] }
  for i in tiles(n) { y[i] = box[(i * 1009) % max(n, 1)] }
}`;
    expect(prove(compiled(strided(""))).answer).toMatchObject({ status: "wrong", claim: { dims: { n: 1009 } } });
    expect(prove(compiled(strided("where n <= 1008"))).answer.status).toBe("proved");
  });

  it("is said to be at the length at which it is, where that is too long to be executed", () => {
    const [warning] = findings(prove(compiled(moved("(i / 300) * (i / 300) / 100000"))));
    expect(warning).toMatchObject({ code: "proof-partial", message: expect.stringMatching(/n=95101 does$/) as string });
  });
});
