/**
 * Answers that say something else of some rows than of others, at every length (7 of "Every length" in docs/PROOF.md): programs of which they
 * are proved, and programs with one thing wrong, of which nothing is claimed that an execution refutes.
 */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import { without } from "../../src/compiler/prove/every/conditions.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

const LENGTHS: readonly DimValues[] = [
  [2, 3],
  [4, 6],
  [3, 1],
  [5, 8],
  [4, 64],
  [13, 35],
  [9, 235],
  [600, 2],
].map(([m, n]) => ({ m: m!, n: n! }));

function compiled(text: string, ranks = 4): Kernel {
  const { kernel, diagnostics } = compile(text, { ranks, dtype: "bf16", mapping: { ...PROOF_MAPPING } });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
}

const proved = (kernel: Kernel): ReturnType<typeof everyLength> =>
  everyLength(kernel, LENGTHS, (dims) => proveAnswer(kernel, { dims }));

const reasonOf = (kernel: Kernel): string | null => {
  const { answer } = proved(kernel);
  return answer.holds ? null : answer.reason;
};

const isWrong = (kernel: Kernel): boolean => LENGTHS.some((dims) => proveAnswer(kernel, { dims }).status === "wrong");

interface Parts {
  readonly above?: string;
  readonly below?: string;
  readonly own?: string;
  readonly says?: string;
}

/** Two rows of both neighbours around a rank's own. */
const halo = ({
  above = "y@((rank + 1) % world)[i, j] = x[m - 2 + i, j]",
  below = "y@((rank + world - 1) % world)[m + 2 + i, j] = x[i, j]",
  own = "y[2 + i, j] = x[i, j]",
  says = `where(i < 2, x@((rank + world - 1) % world)[m - 2 + i, j],
      where(i < m + 2, x[i - 2, j], x@((rank + 1) % world)[i - 2 - m, j]))`,
}: Parts = {}): string => `
collective f(x: T[m, n] local) -> y: T[m + 4, n] local
  where m >= 2
  ensures y[i, j] == ${says} {
  for i, j in tiles(2, n) {
    ${above}
    ${below}
  }
  for i, j in tiles(m, n) { ${own} }
}`;

const NEXT = "x@((rank + 1) % world)";

describe("answers by regions of rows", () => {
  it.each([
    ["a halo", halo(), 4],
    ["a halo of two ranks", halo(), 2],
    ["a halo, with what is computed inside", halo({ own: "y[2 + i, j] = x[i, j] * 2 + 1", says: `where(i < 2, x@((rank + world - 1) % world)[m - 2 + i, j], where(i < m + 2, x[i - 2, j] * 2 + 1, x@((rank + 1) % world)[i - 2 - m, j]))` }), 4], // prettier-ignore
    [
      "conditions in other forms",
      halo({
        says: `where(not (i >= 2), x@((rank + world - 1) % world)[m - 2 + i, j],
      where(m + 1 >= i and i > 1, x[i - 2, j], ${NEXT}[i - 2 - m, j]))`,
      }),
      3,
    ],
    [
      "halves in exchange",
      `collective f(x: T[m] local) -> y: T[m] local
  where m % 2 == 0
  ensures y[i] == where(i < m / 2, x[i + m / 2], ${NEXT}[i - m / 2]) {
  for i in tiles(m / 2) {
    y[i] = x[i + m / 2]
    y[m / 2 + i] = ${NEXT}[i]
  }
}`,
      4,
    ],
    [
      "a vector with others' ends",
      `collective f(x: T[m] local) -> y: T[m + m] local
  ensures y[i] == where(i < m, x[i] + ${NEXT}[i], max(p in ranks) x@p[i - m]) {
  for i in tiles(m) {
    y[i] = x[i] + ${NEXT}[i]
    y[m + i] = max(p in ranks) x@p[i]
  }
}`,
      4,
    ],
  ] as const)("%s: proved for every length", (_, text, ranks) => {
    expect(reasonOf(compiled(text, ranks))).toBe(null);
  });

  it.each([
    ["the first rows of a neighbour for its last", halo({ above: "y@((rank + 1) % world)[i, j] = x[i, j]" })],
    ["rows one after those that are meant", halo({ above: "y@((rank + 1) % world)[i, j] = x[m - 1 - i, j]" })],
    ["the neighbours in exchange", halo({ above: "y@((rank + world - 1) % world)[i, j] = x[m - 2 + i, j]", below: "y@((rank + 1) % world)[m + 2 + i, j] = x[i, j]" })], // prettier-ignore
    ["one row of a rank's own less", halo({ own: "if i > 0 { y[2 + i, j] = x[i, j] }" })],
    ["own rows one lower", halo({ own: "y[2 + i, j] = x[min(i + 1, m - 1), j]" })],
    ["own rows twice as large", halo({ own: "y[2 + i, j] = x[i, j] * 2" })],
    ["another row far out", halo({ own: "y[2 + i, j] = x[min(i, 500), j]" })],
    ["a region that begins a row later", halo({ says: `where(i < 3, x@((rank + world - 1) % world)[m - 2 + i, j], where(i < m + 2, x[i - 2, j], ${NEXT}[i - 2 - m, j]))` })], // prettier-ignore
    ["what is computed in the wrong region", halo({ says: `where(i < 2, x@((rank + world - 1) % world)[m - 2 + i, j] * 2, where(i < m + 2, x[i - 2, j], ${NEXT}[i - 2 - m, j]))` })], // prettier-ignore
  ])("%s: refused", (_, text) => {
    const kernel = compiled(text);
    expect(reasonOf(kernel)).not.toBe(null);
    expect(isWrong(kernel)).toBe(true);
  });

  it("conditions on conditions are not followed without end", () => {
    const nested = Array.from({ length: 30 }).reduce((e: string) => `g(i, ${e})`, "x[i, j]");
    const text = `fn g(i, v) = where(i < 3, v, v)
collective f(x: T[m, n] local) -> y: T[m, n] local
  ensures y[i, j] == ${nested} {
  for i, j in tiles(m, n) { y[i, j] = x[i, j] }
}`;
    expect(reasonOf(compiled(text))).toBe("the answer depends on where an element is");
  });

  const says = (first: string, stores: string): string => `
collective f(x: T[m, n] local) -> y: T[m, n] local
  where m >= 3
  ensures y[i, j] == where(i < 1, ${first}, x[i, j]) {
  ${stores}
}`;

  it.each([
    // A place that is two of them is held against both, so that its key is no key of longer tensors.
    ["what is made of one of them", says("x[i + 2, j] + x[i + m - 1, j]", `for i, j in tiles(1, n) { y[i, j] = x[i + 2, j] + x[i + 2, j] }
  for i, j in tiles(m - 1, n) { y[i + 1, j] = x[i + 1, j] }`), false], // prettier-ignore
    ["what cancels", says("x[i, j] + x[i + 2, j] - x[i + m - 1, j]", "for i, j in tiles(m, n) { y[i, j] = x[i, j] }"), true], // prettier-ignore
  ])("where two places are one at a proved length alone, %s is not proved by it", (_, text, isHeldElse) => {
    const kernel = compiled(text);
    const shapes = [{ m: 3, n: 64 }];
    const prove = (dims: DimValues): ReturnType<typeof proveAnswer> => proveAnswer(kernel, { dims });
    expect(prove(shapes[0]!).status).toBe("proved");
    expect(prove({ m: 4, n: 64 }).status).toBe("wrong");
    expect(everyLength(kernel, shapes, prove).answer.holds).toBe(false);
    expect(without("told apart", () => everyLength(kernel, shapes, prove)).answer.holds).toBe(isHeldElse);
  });
});
