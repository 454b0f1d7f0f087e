/** Programs whose lengths are numbers: what is proved of them is proved of the same program with names for those. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, printProgram, withMapping, withNamedLengths } from "../../src/compiler/index.js";
import { nameLengths } from "../../src/compiler/link/named-lengths.js";
import { findings, needsOtherLengths, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { libraryFromDisk } from "../../src/runtime/imports.js";

function compiled(text: string): CompileResult {
  return compile(text, { ranks: 2, dtype: "f32", library: libraryFromDisk });
}

/** The collective with names, as its author would write it. */
function textOf(text: string): string | null {
  const collective = nameLengths(compiled(text).checked!.syntax);
  return collective && printProgram({ imports: [], constants: [], functions: [], collectives: [collective] });
}

describe("names for lengths", () => {
  it("stand in shapes, ranges, indices and conditions, and not in values", () => {
    const text = textOf(`collective f(x: T[m, 4096] local) -> y: T[m, 4096] local
      where m <= 4096 {
        for i, j in tiles(m, 4096) {
          let last = 4096 - 1
          if j < 4096 / 2 { y[i, j] = x[i, last - j] * 4096 } else { y[i, j] = x[i, (j + 1) % 4096] }
        }
      }`)!;
    expect(text).toContain("x: T[m, n4096] local");
    expect(text).toContain("where m <= n4096");
    expect(text).toContain("where n4096 == 4096");
    expect(text).toContain("tiles(m, n4096)");
    expect(text).toContain("let last = n4096 - 1");
    expect(text).toContain("if j < n4096 / 2");
    expect(text).toContain("x[i, last - j] * 4096");
    expect(text).toContain("(j + 1) % n4096");
  });

  it("stand for constants, too, and are none that the program has", () => {
    const text = textOf(`const HIDDEN = 512
      collective f(x: T[n512, HIDDEN] sharded(0), w: T[HIDDEN] replicated) -> y: T[n512, HIDDEN] replicated
      where n512 % world == 0 { y = all_gather(x, dim: 0) * w }`)!;
    expect(text).toContain("x: T[n512, n512_] sharded(0)");
    expect(text).toContain("where n512_ == 512");
  });

  it("are none where no length is long", () => {
    expect(textOf("collective f(x: T[m, 64] local) -> y: T[m, 64] local { for i, j in tiles(m, 64) { y[i, j] = x[i, j] * 300 } }")).toBeNull(); // prettier-ignore
  });
});

describe("a program with long lengths", () => {
  const PRODUCT = `collective f(a: T[m, 4096] sharded(1), b: T[4096, 1024] sharded(0)) -> y: T[m, 1024] sharded(0)
    where m % world == 0 { y = reduce_scatter(a @ b, dim: 0) }`;

  it("has no shape that a proof can go through, and with names it has, in each of its ways", () => {
    const all = compiled(PRODUCT);
    expect(all.variants.length).toBeGreaterThan(1);
    for (const { name, compiled: way } of all.variants) {
      const mapped = withMapping(way, PROOF_MAPPING);
      expect(needsOtherLengths(mapped.kernel!)).toBe(true);
      const named = withNamedLengths(way)!;
      expect([name, named.kernel!.name]).toEqual([name, way.kernel!.name]);
      const claims = prove(withMapping(named, PROOF_MAPPING));
      expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
      expect(claims.without.map(({ reason }) => reason)).toEqual(["where n4096 == 4096", "where n1024 == 1024"]);
    }
  });

  it("needs them as a product that could be executed, but at few lengths", () => {
    const needs = (signature: string, body: string): boolean => {
      const way = compiled(`collective f${signature} where m % world == 0 { y = ${body} }`).variants[0]!.compiled;
      return needsOtherLengths(withMapping(way, PROOF_MAPPING).kernel!);
    };
    const product = (k: number, n: number): string =>
      `(a: T[m, ${k}] sharded(1), b: T[${k}, ${n}] sharded(0)) -> y: T[m, ${n}] sharded(0)`;
    expect(needs(product(1024, 256), "reduce_scatter(a @ b, dim: 0)")).toBe(true);
    expect(needs(product(64, 64), "reduce_scatter(a @ b, dim: 0)")).toBe(false);
    expect(needs("(a: T[m, 7168] partial(sum)) -> y: T[m, 7168] sharded(0)", "reduce_scatter(a, dim: 0)")).toBe(false);
  });

  it("has the library's ways with names, too", () => {
    const [way] = compiled("collective f(x: T[4000000] partial(sum)) -> y: T[4000000] replicated { y = all_reduce(x) }").variants; // prettier-ignore
    const claims = prove(withMapping(withNamedLengths(way!.compiled)!, PROOF_MAPPING));
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
  });

  it("is not proved where it is wrong", () => {
    for (const [value, what] of [
      ["x[i + 1]", "unknown"],
      ["x[(i + 1) % 1048576]", "unknown"],
      ["x[i]", "proved"],
    ]) {
      const text = `collective f(x: T[1048576] local) -> y: T[1048576] local
        ensures y[i] == x[i] { for i in tiles(1048576) { y[i] = ${value} } }`;
      const claims = prove(withMapping(withNamedLengths(compiled(text))!, PROOF_MAPPING));
      expect([value, claims.answer.status], summaryLine(claims)).toEqual([value, what]);
    }
  });

  it("is told of a statement that only its own length leads to, and not to ask for a length that it has no name for", () => {
    const text = `collective f(x: T[1048576] local) -> y: T[1048576] local
      { for i in tiles(1048576) { if i < 1000000 { y[i] = x[i] } else { y[i] = x[i - 1] } } }`;
    const [partial] = findings(prove(withMapping(withNamedLengths(compiled(text))!, PROOF_MAPPING)));
    expect(partial).toMatchObject({
      code: "proof-partial",
      help: "to ask for lengths that lead there, leave out 'where n1048576 == 1048576', and give lengths that are numbers a name",
    });
  });

  it("is unknown where lengths that have to do with each other get names that do not", () => {
    const text = `collective f(x: T[1048576, 2] local) -> y: T[2097152] local
      where world == 2 { for i, j in tiles(1048576, 2) { y[i * 2 + j] = x[i, j] * 2 } }`;
    const claims = prove(withMapping(withNamedLengths(compiled(text))!, PROOF_MAPPING));
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["unknown", "unknown"]);
  });
});
