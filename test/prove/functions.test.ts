/** Functions of floats in proofs: intervals that hold what CUDA may make of them, laws, what must be so before fractions go. */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { UNARY } from "../../src/compiler/ir/functions.js";
import type { Op } from "../../src/compiler/ir/module.js";
import type { UnaryFunction } from "../../src/compiler/ir/ops.js";
import { scalar } from "../../src/compiler/ir/types.js";
import { findings, programOf, PROOF_MAPPING, prove } from "../../src/compiler/prove/index.js";
import { evaluate, type Known, type ObligationKind } from "../../src/compiler/prove/interval-arithmetic.js";
import { interval } from "../../src/compiler/prove/intervals.js";
import { openObligations } from "../../src/compiler/prove/obligations.js";

/** What the appendix on mathematical functions of CUDA's programming guide allows results to be off by, in ulps, for any argument. */
const ULPS: Readonly<Partial<Record<UnaryFunction, number>>> = {
  floor: 0, ceil: 0, round: 0, trunc: 0, exp: 2, exp2: 2, expm1: 1, log: 1, log1p: 1, rsqrt: 2, sin: 2, cos: 2, erf: 2,
}; // prettier-ignore

const of = (fn: UnaryFunction, at: Known): { at: Known["at"]; notes: ObligationKind[] } => {
  const value = { type: scalar("f32") };
  const op = { name: "unary", attributes: { fn }, operands: [value], results: [value], regions: [] } as unknown as Op;
  const notes: ObligationKind[] = [];
  const result = evaluate(op, [at], (kind) => notes.push(kind));
  return { at: result.at, notes };
};

const known = (lo: number, hi: number): Known => ({ at: interval(lo, hi), number: -1, wraps: null, grain: 0, inexact: null, holds: null }); // prettier-ignore

const number = fc.oneof(
  fc.float({ noNaN: true, min: -128, max: 128 }),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 0.5, -0.5, 1.5, 2.5, -1, 1, 1e-30, -1e-30, 89, -104, Math.PI, Math.PI / 2, 8388607.5).map(Math.fround), // prettier-ignore
);

describe("the interval of a function", () => {
  it.each(Object.entries(ULPS) as [UnaryFunction, number][])("%s holds each result that CUDA may give", (fn, ulps) => {
    fc.assert(
      fc.property(number, number, number, (a, b, c) => {
        const [lo, x, hi] = [a, b, c].sort((p, q) => p - q) as [number, number, number];
        const exact = UNARY[fn].value(x);
        const { at, notes } = of(fn, known(lo, hi));
        // Where it has none, or one that is too large, that is named.
        if (!Number.isFinite(Math.fround(exact))) {
          expect(notes.length).toBeGreaterThan(0);
          return;
        }
        // No result has another sign than it should have.
        const ulp = exact === 0 ? 0 : Math.max(2 ** -149, Math.abs(exact) * 2 ** -23);
        for (const off of [-ulps, 0, ulps]) {
          const result = Math.fround(exact + Math.sign(exact) * Math.max(-Math.abs(exact), off * ulp));
          if (!Number.isFinite(result)) continue;
          expect(at.lo <= result && result <= at.hi, `${fn}(${x}) = ${result} in ${at.lo} to ${at.hi}`).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("is no wider than it has to be", () => {
    expect(of("erf", known(0.5, 1)).at).toMatchObject({
      lo: expect.closeTo(0.5205, 4) as number,
      hi: expect.closeTo(0.8427, 4) as number,
    });
    expect(of("sin", known(-1e30, 1e30)).at.hi).toBeCloseTo(1, 5);
    expect(of("floor", known(-1.5, 2.5)).at).toMatchObject({ lo: -2, hi: 2 });
    expect(of("ceil", known(-1.5, 2.5)).at).toMatchObject({ lo: -1, hi: 3 });
    expect(of("round", known(-1.5, 2.5)).at).toMatchObject({ lo: -2, hi: 2 });
    expect(of("trunc", known(-1.5, 2.5)).at).toMatchObject({ lo: -1, hi: 2 });
  });
});

const open = (value: string): string[] => {
  const text = `collective c(x: f32[n] local, k: i32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = ${value} } }`;
  const { snapshots } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  return openObligations(programOf(snapshots)!, {}).map((o) => `${o.kind} at ${text.slice(o.span.start, o.span.end)}`);
};

describe("what must be so", () => {
  it.each<[string, readonly string[]]>([
    ["log1p(exp(min(x[i], 80)))", []],
    ["log1p(abs(x[i]))", []],
    ["log1p(max(x[i], -0.5))", []],
    ["log1p(max(x[i], -1))", ["domain at log1p(max(x[i], -1))"]],
    ["log1p(x[i])", ["domain at log1p(x[i])"]],
    ["expm1(min(x[i], 88))", []],
    ["expm1(min(x[i], 89))", ["overflow at expm1(min(x[i], 89))"]],
    ["exp2(min(x[i], 127.9))", []],
    ["exp2(min(x[i], 128))", ["overflow at exp2(min(x[i], 128))"]],
    ["sqrt(2 + sin(x[i]))", []],
    ["sqrt(sin(x[i]))", ["domain at sqrt(sin(x[i]))"]],
    ["1 / (2 + erf(x[i]))", []],
    // What is cut off was an input, or whole: not rounded before.
    ["floor(x[i])", []],
    ["round(f32(k[i]) * 0)", ["exactness at f32(k[i])"]],
    ["trunc(floor(x[i]))", []],
    ["floor(max(x[i], 0) * 0.1)", ["exactness at max(x[i], 0) * 0.1"]],
    ["floor(sin(x[i]))", ["exactness at sin(x[i])"]],
  ])("of %s", (value, named) => expect(open(value)).toEqual(named));
});

/** What comes of the claim that an element is one expression where the program computes another. */
const verdict = (claimed: string, computed: string): string => {
  const text = `collective c(x: f32[n] local) -> y: f32[n] local ensures y[i] == ${claimed.replaceAll("v", "x[i]")} { for i in tiles(n) { y[i] = ${computed.replaceAll("v", "x[i]")} } }`;
  const { kernel, diagnostics } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  expect(diagnostics).toEqual([]);
  return prove({ kernel }).answer.status;
};

describe("laws", () => {
  it.each([
    ["gelu(v)", "0.5 * v * (1 + erf(v * 0.7071067811865476))", "proved"],
    ["gelu(v)", "v * (erf(0.7071067811865476 * v) * 0.5 + 0.5)", "proved"],
    ["expm1(v)", "exp(v) - 1", "proved"],
    ["log1p(exp(v))", "log(1 + exp(v))", "proved"],
    // What comes out of a logarithm is an exponent, whatever sign the rest may have; its sign stays.
    ["log(exp(v) * v)", "v + log(v)", "proved"],
    ["log(v * exp(-v) + 2 * exp(-v))", "log(v + 2) - v", "proved"],
    ["log(exp(v) * v)", "v + log(-v)", "wrong"],
    ["log(v)", "log(-v)", "wrong"],
    ["log(exp(v) * v)", "log(v) - v", "wrong"],
    ["exp(expm1(v))", "exp(exp(v)) / exp(1)", "proved"],
    ["sin(v + v)", "sin(2 * v)", "proved"],
    ["floor(v * 0.5)", "floor(v / 2)", "proved"],
    // The approximation with tanh is another function, and so is one with a number of three digits.
    ["gelu(v)", "0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)))", "wrong"],
    ["gelu(v)", "0.5 * v * (1 + erf(v * 0.707))", "wrong"],
    ["sin(v)", "cos(v)", "wrong"],
    ["erf(v)", "tanh(v)", "wrong"],
    ["expm1(v)", "exp(v)", "wrong"],
    ["log1p(abs(v))", "log(abs(v) + 2)", "wrong"],
    ["exp2(v)", "exp(v)", "wrong"],
    ["floor(v)", "trunc(v)", "wrong"],
    ["ceil(v)", "floor(v + 1)", "wrong"],
    ["round(v)", "floor(v + 0.5)", "wrong"],
    // Equal, or nearly: no law says so, and no data says otherwise.
    ["exp2(v)", "exp(v * 0.6931471805599453)", "unknown"],
    ["sin(v) * sin(v)", "1 - cos(v) * cos(v)", "unknown"],
  ])("%s for %s is %s", (claimed, computed, status) => {
    const found = verdict(claimed, computed);
    expect(found).toBe(status);
  });
});

test("that fractions go of what was rounded, is said", () => {
  const text = "collective c(x: f32[n] partial(sum)) -> y: f32[n] replicated { y = floor(all_reduce(x)) }";
  const { kernel, snapshots } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  const claims = prove({ kernel, snapshots });
  expect(claims.answer.status).toBe("proved");
  expect(claims.caveats.isCutOff).toBe(true);
  expect(findings(claims)).toEqual([]);
});
