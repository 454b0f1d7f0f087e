/** Programs that an audit found claimed for every length, and that are wrong far away: places, ranks and iterations that are not those that were meant. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { everyLength, PROOF_MAPPING, proofShapes, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";

function kernelOf(text: string): Kernel {
  const { kernel, diagnostics } = compile(text, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
}

function why(text: string, shapes?: readonly DimValues[]): string | null {
  const kernel = kernelOf(text);
  const claim = everyLength(kernel, shapes ?? proofShapes(kernel), (dims) => proveAnswer(kernel, { dims }));
  if (!claim.ordering.holds) return `ordering: ${claim.ordering.reason}`;
  return claim.answer.holds ? null : `answer: ${claim.answer.reason}`;
}

describe("an element of three dimensions", () => {
  const named = (shapes: string, where: string, index: string, value: string): string => `
    collective f(x: T[${shapes}] sharded(2)) -> y: T[${value.startsWith("reshape") ? "m, b, n" : shapes}] sharded(2)
      ${where}
      ensures y[h, i, j] == x@((j + rank * (n / world)) / (n / world))[${index}, (j + rank * (n / world)) % (n / world)] {
      y = ${value}
    }`;
  const one: readonly DimValues[] = [{ b: 1, m: 1, n: 24 }, { b: 1, m: 3, n: 24 }, { b: 1, m: 1, n: 48 }]; // prettier-ignore

  it("is that in its own place", () => {
    expect(why(named("m, m, n", "where n % 16 == 0", "h, i", "x"), [{ m: 3, n: 32 }, { m: 1, n: 16 }, { m: 5, n: 48 }])).toBe(null); // prettier-ignore
  });

  it("is not that in another order, which is the same where a dimension is 1", () => {
    expect(why(named("b, m, n", "where b % 64 == 1", "i, h", "reshape(x, m, b, n)"), one)).toMatch(/answer/);
    expect(why(named("m, m, n", "where m % 64 == 1 and n % 16 == 0", "i, h", "x"), one)).toMatch(/answer/);
  });
});

describe("a rank that there is not", () => {
  const far = (statement: string, scratch = ""): string => `
    collective f(x: T[n] local) -> y: T[n] local ensures y[i] == x[i] {
      ${scratch}
      for i in tiles(n) { y[i] = x[i] }
      if rank == 0 { for i in tiles(max(n, 1000000) - 1000000) { ${statement} } }
    }`;

  it.each([
    ["is not the rank itself, of what is loaded", far("t[i] = x@(rank - 1)[i]", "scratch t: T[n]")],
    ["is not the rank itself, of what is stored", far("t@(rank - 1)[i] = x[i]", "scratch t: T[n]")],
    ["is no other one, either", far("t@(rank + 2)[i] = x[i]", "scratch t: T[n]")],
  ])("%s", (_, text) => {
    expect(why(text)).toBe("ordering: a rank is meant that may be none of those that there are");
  });

  it("and one that there is, is", () => {
    expect(why(far("t@(rank + 1)[i] = x[i]", "scratch t: T[n]"))).toBe(null);
  });
});

describe("parts of rows", () => {
  const shuffled = (far: string): string => `
    collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated {
      scratch s: T[m * n]
      scratch t: T[m * n]
      let c = n / world
      for p in ranks { for i, j in tiles(m, c) { y[i, p * c + j] = x@p[i, j] } }
      for i, j in tiles(m, n) { s[i * n + j] = 0 }
      barrier
      if rank == 0 {
        for i, j in tiles(${far}, n) {
          t[i * n + j] = s@(j / c)[i * c + j % c]
          s[i * n + j] = 1
        }
      }
    }`;

  it("do not begin with the first iterations: other threads store what is read of them", () => {
    expect(why(shuffled("max(m, 500000) - 500000"))).toBe("ordering: two accesses may meet that nothing orders");
    expect(proveOrdering(kernelOf(shuffled("max(m, 2) - 2")), { dims: { m: 42, n: 8 } }).status).toBe("wrong");
  });
});
