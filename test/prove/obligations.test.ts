/**
 * What the machine may do and the mathematics does not is shown by intervals, or it is named: each limit that is just enough
 * beside one that is one too far.
 */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import type { CompileResult } from "../../src/compiler/compiled.js";
import { findings, programOf, PROOF_MAPPING, prove, summaryLine } from "../../src/compiler/prove/index.js";
import { type Lengths, openObligations } from "../../src/compiler/prove/obligations.js";

function compiled(text: string, ranks = 2, dtype = "f32"): CompileResult {
  const result = compile(text, { ranks, dtype: dtype as "f32", mapping: PROOF_MAPPING });
  if (result.kernel === null) throw new Error(result.diagnostics.map((d) => d.message).join("; "));
  return result;
}

/** "overflow i32 at x[i] * 2", for each thing that is not shown. */
function open(text: string, { ranks = 2, dtype = "f32", lengths = {} as Lengths } = {}): string[] {
  const program = programOf(compiled(text, ranks, dtype).snapshots)!;
  return openObligations(program, lengths).map(
    (o) => `${o.kind} ${o.dtype} at ${text.slice(o.span.start, o.span.end)}`,
  );
}

const element = (value: string, { of = "f32", to = "f32", where = "" } = {}): string =>
  `collective c(x: ${of}[n] local) -> y: ${to}[n] local ${where} { for i in tiles(n) { y[i] = ${value} } }`;

describe("divisors", () => {
  const divides = (divisor: string, rest: { of?: string; to?: string; where?: string } = {}): boolean =>
    open(element(`x[0] / (${divisor})`, rest)).some((o) => o.startsWith("divisor"));

  it("are held against what is known where they stand, and not where an equal condition stood", () => {
    const text = (
      y: string,
    ): string => `collective c(x: f32[n] local, w: f32[n] local) -> (y: f32[n] local, z: f32[n] local) {
  for i in tiles(n) {
    let c = x[i] < w[i]
    ${y}
    if c { z[i] = 1 / (x[i] - 5) } else { z[i] = 0 }
  }
}`;
    const found = (y: string): string[] => open(text(y)).filter((o) => o.startsWith("divisor"));
    const away = ["divisor f32 at 1 / (x[i] - 5)"];
    expect(found("y[i] = 0")).toEqual(away);
    expect(found("if w[i] < 3 { y[i] = where(x[i] < w[i], 1.0, 2.0) } else { y[i] = 0 }")).toEqual(away);
    expect(
      open(text("y[i] = 0").replace("if c {", "if x[i] < w[i] and x[i] < 3 {")).some((o) => o.startsWith("div")),
    ).toBe(false);
  });

  it.each([
    ["1 + x[i] * x[i]", false],
    ["x[i] * x[i]", true],
    ["-1 + x[i] * x[i]", true],
    ["1 + x[i] * x@1[i]", true],
    ["max(abs(x[i]), 1e-30)", false],
    ["max(abs(x[i]), 0)", true],
    ["min(abs(x[i]), 1e-30)", true],
    ["max(x[i], 1e-30)", false],
    ["max(x[i], -1e-30)", true],
    // What is too small for f32 is 0, and so may all exponentials be.
    ["sum(k in 0..4) exp(x[k])", true],
    ["sum(k in 0..4) exp(max(x[k], -80))", false],
    ["sum(k in 0..4) (exp(x[k]) - 1)", true],
    ["exp(x[i])", true],
    ["exp(max(x[i], -100))", false],
    ["sigmoid(x[i])", true],
    ["sigmoid(max(x[i], -100))", false],
    ["sigmoid(max(x[i], -104))", true],
    ["1 + sigmoid(x[i])", false],
    ["(1 + x[i] * x[i]) * 1e-30 * 1e-30", true],
    ["abs(x[i]) + 1e-46", true],
    ["abs(x[i]) + 1e-44", false],
    ["pow(exp(x[i]), -0.5)", true],
    // Of both signs, and never near 0.
    ["where(x[i] > 0, 2.0, -3.0) * 0.5", false],
    ["where(x[i] > 0, 1e-30, -1.0) * 1e-30", true],
    ["1 / where(x[i] > 0, 1e-30, -2.0)", false],
    // Each side is chosen where the condition is so.
    ["where(x[i] < 1e-30, 1e-30, x[i])", false],
    ["where(x[i] < 0, 1e-30, x[i])", true],
    ["where(x[i] > 1e-30, x[i], 1e-30)", false],
    ["where(x[i] > 1e-30, 1e-30, x[i])", true],
    ["where(x[i] != 0, x[i], 1)", false],
    ["where(x[i] == 0, x[i], 1)", true],
    ["where(x[i] > 2 or x[i] < -3, x[i], 1.0)", true],
    ["where(x[i] > -3 and x[i] < -2, x[i], 1.0)", false],
    ["where(x[i] < 2 or x[i] > 3, 1.0, x[i])", false],
    ["where(x[i] < 2 and x[i] > -1, 1.0, x[i])", true],
    ["where(x[i] > x[0], 1.0, where(x[i] < 2, 2.0, x[i]))", false],
    ["where(n >= 0 and x[i] == 0, 1.0, x[i])", false],
    ["where(n < 0 and x[i] == 0, 1.0, x[i])", true],
    ["where(x[i] != 0 or n < 0, x[i], 1.0)", false],
    ["where(x[i] != 0 or n >= 0, x[i], 1.0)", true],
    ["where(x[i] < 2, 2.0, where(x[i] > 9, 9.0, x[i]))", false],
    ["where(x[i] < 2, 2.0, where(x[i] > 9, -9.0, x[i])) + 9", true],
    ["where(x[i] < 2, 2.0, where(x[i] > x[0], 9.0, x[i]))", false],
    ["where(x[i] > 2, 2.0, where(x[i] > 9, 9.0, x[i]))", true],
    ["exp(x[i]) - exp(x[0])", true],
    ["sum(p in ranks) where(x@p[i] > 0, 1.0, 2.0)", false],
    ["sum(p in ranks) where(x@p[i] > 0, 1.0, 0.0)", true],
    ["sqrt(x[i] * x[i] + 1)", false],
    ["f32(world)", false],
    ["f32(rank)", true],
    ["f32(rank + 1)", false],
    ["f16(max(x[i], 1e-3))", false],
    // Rounded to f16, it is 0.
    ["f16(max(x[i], 1e-30))", true],
    ["bf16(max(x[i], 1e-30))", false],
  ])("of %s: named is %s", (divisor, named) => {
    expect(divides(divisor)).toBe(named);
  });

  it("by the limits of inputs", () => {
    expect(divides("x[i]", { of: "i32", to: "i32", where: "where x in 1..9" })).toBe(false);
    expect(divides("x[i]", { of: "i32", to: "i32", where: "where x in 0..9" })).toBe(true);
    expect(divides("x[i]", { where: "where x in 1..9" })).toBe(false);
    expect(divides("x[i]", { where: "where x in 0..9" })).toBe(true);
  });

  it("by lengths, which are never 0 where something runs over them", () => {
    const mean = (at: string): string =>
      `collective c(x: f32[m, n] local) -> y: f32[m, n] local { for i, j in tiles(${at}) { y[i, j] = x[i, j] / f32(n) } }`;
    expect(open(mean("m, n"))).toEqual([]);
    expect(open(mean("m, 1"))).toContain("divisor f32 at x[i, j] / f32(n)");
    expect(open(mean("m, 1"), { lengths: { n: [1, 99] } })).toEqual([]);
    expect(open(mean("m, 1"), { lengths: { n: [0, 99] } })).toContain("divisor f32 at x[i, j] / f32(n)");
  });

  it("under conditions that say so", () => {
    const guarded = (condition: string): string =>
      `collective c(x: f32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = 0
        if ${condition} { y[i] = 1 / x[i] } } }`;
    const isNamed = (condition: string): boolean => open(guarded(condition)).some((o) => o.startsWith("divisor"));
    expect(isNamed("x[i] > 0")).toBe(false);
    expect(isNamed("x[i] < 0")).toBe(false);
    expect(isNamed("x[i] != 0")).toBe(false);
    expect(isNamed("x[i] >= 0")).toBe(true);
    expect(isNamed("x[i] > -1")).toBe(true);
    expect(isNamed("x@1[i] > 0")).toBe(true);
    expect(isNamed("bool(x[i])")).toBe(false);
    expect(isNamed("not bool(x[i])")).toBe(true);
    expect(isNamed("bool(x@1[i])")).toBe(true);
  });
});

describe("integers", () => {
  const wraps = (value: string, where: string, ranks = 2): string[] =>
    open(element(value, { of: "i32", to: "i32", where }), { ranks });

  it("that only add up may wrap, as in the proof", () => {
    expect(wraps("x[i] + x@1[i]", "")).toEqual([]);
    expect(wraps("(x[i] + x@1[i]) * 3", "")).toEqual([]);
    expect(wraps("(x[i] + x@1[i]) / 2", "")).toEqual(["overflow i32 at (x[i] + x@1[i])"]);
    expect(wraps("max(x[i] + x@1[i], 0)", "")).toEqual(["overflow i32 at x[i] + x@1[i]"]);
  });

  it("up to the last that fits, for the world at hand", () => {
    const half = "(sum(p in ranks) x@p[i]) / 2";
    expect(wraps(half, "where x in 0..1073741824")).toEqual([]);
    expect(wraps(half, "where x in 0..1073741825")).toHaveLength(1);
    expect(wraps(half, "where x in 0..1073741824", 3)).toHaveLength(1);
    expect(wraps(half, "where x in 0..715827883", 3)).toEqual([]);
    expect(wraps(half, "where x in 0..715827884", 3)).toHaveLength(1);
    expect(wraps("x[i] * x[i] / 2", "where x in 0..46341")).toEqual([]);
    expect(wraps("x[i] * x[i] / 2", "where x in 0..46342")).toHaveLength(1);
    expect(wraps("-x[i] / 2", "")).toHaveLength(1);
    expect(wraps("x[i] * 65536 / 2", "where x in 0..32768")).toEqual([]);
    expect(wraps("x[i] * 65536 / 2", "where x in 0..32769")).toHaveLength(1);
    expect(wraps("x[i] / x@1[i]", "where x in 1..5")).toEqual([]);
  });

  it("of 8 bits by their dtype", () => {
    const text =
      "collective c(x: i8[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = f32(sum(k in 0..n) x[k]) } }";
    // -128 · 2²⁴ is the least i32.
    expect(open(text, { lengths: { n: [1, 2 ** 24] } })).toEqual([]);
    expect(open(text, { lengths: { n: [1, 2 ** 24 + 1] } })).toHaveLength(1);
  });

  it("through memory, and by as many terms as a dimension has", () => {
    const text = `collective c(x: u8[n] local) -> y: f32[1] local {
      scratch total: i32[1]
      for i in tiles(1) { total[i] = 0
        for k in 0..n { total[i] = total[i] + i32(x[k]) } }
      for i in tiles(1) { y[i] = f32(total@1[i]) } }`;
    expect(open(text)).toEqual(["overflow i32 at total[i] + i32(x[k])"]);
    const direct = `collective c(x: u8[n] local) -> y: f32[1] local {
      for i in tiles(1) { y[i] = f32(sum(k in 0..n) i32(x[k])) } }`;
    expect(open(direct)).toHaveLength(1);
    // 255 · 8421504 is 2³¹ - 1 - 127.
    expect(open(direct, { lengths: { n: [1, 8421504] } })).toEqual([]);
    expect(open(direct, { lengths: { n: [1, 8421505] } })).toHaveLength(1);
  });

  it("doubled by each step of an algorithm", () => {
    const doubling = (limit: number): string => `collective c(x: i32[n] local) -> y: f32[n] local
      where x in 0..${limit} {
      scratch s: i32[log2(world) + 1, n]
      for i in tiles(n) { s[0, i] = x[i] }
      for r in 0..log2(world) { for i in tiles(n) { s[r + 1, i] = s[r, i] + s@(rank ^ (1 << r))[r, i] } }
      for i in tiles(n) { y[i] = f32(s[log2(world), i]) } }`;
    expect(open(doubling(2 ** 28), { ranks: 8 })).toEqual([]);
    expect(open(doubling(2 ** 28 + 1), { ranks: 8 })).toHaveLength(1);
    expect(open(doubling(2 ** 28), { ranks: 16 })).toHaveLength(1);
  });

  it("that become truth values, as if they were compared with 0", () => {
    const truth = (value: string, of: string, where = ""): string[] => open(element(value, { of, to: "bool", where }));
    expect(truth("bool(x[i] * 2)", "i32")).toEqual(["overflow i32 at x[i] * 2"]);
    expect(truth("bool(x[i] * 2)", "i32", "where x in 0..1073741824")).toEqual([]);
    expect(truth("bool(x[i] * 2)", "i32", "where x in 0..1073741825")).toHaveLength(1);
    expect(truth("bool(i32(x[i]))", "i64")).toEqual(["overflow i32 at i32(x[i])"]);
    expect(truth("bool(i32(x[i]))", "i64", "where x in -9..9")).toEqual([]);
    expect(truth("bool(x[i])", "i64")).toEqual([]);
    expect(wraps("where(bool(x[i] * 4), x[i], 0)", "")).toEqual(["overflow i32 at x[i] * 4"]);
    expect(wraps("where(bool(x[i]), x[i] * 4, 0)", "")).toEqual([]);
    expect(wraps("i32(bool(sum(p in ranks) x@p[i]))", "")).toEqual(["overflow i32 at sum(p in ranks) x@p[i]"]);
  });

  it("of fractions that are too large", () => {
    expect(open(element("i32(x[i])", { to: "i32" }))).toEqual(["overflow i32 at i32(x[i])"]);
    expect(open(element("i32(x[i])", { to: "i32", where: "where x in 0..1000" }))).toEqual([]);
  });
});

describe("floats", () => {
  const sums = (dtype: string, limit: string, ranks = 2): string[] =>
    open(element("sum(p in ranks) x@p[i]", { of: dtype, to: dtype, where: `where x in 0..${limit}` }), { ranks });

  it("overflow where nothing limits them", () => {
    const sum = (of: string, to: string): string[] => open(element("sum(p in ranks) x@p[i]", { of, to }));
    expect(sum("f32", "f32")).toEqual(["overflow f32 at sum(p in ranks) x@p[i]"]);
    expect(sum("bf16", "bf16").join()).toContain("overflow bf16");
    // What is added up from f16 fits in f32, and in nothing less.
    expect(sum("f16", "f32")).toEqual([]);
    expect(sum("f16", "f16")).toEqual(["overflow f16 at sum(p in ranks) x@p[i]"]);
    expect(sum("f8e4m3", "f16")).toEqual([]);
  });

  it("fit up to the last number that is rounded to a finite one", () => {
    expect(sums("f16", "32752")).toEqual([]);
    expect(sums("f16", "32768")).toHaveLength(1);
    expect(sums("f16", "21828", 3)).toEqual([]);
    expect(sums("f16", "21856", 3)).toHaveLength(1);
    expect(sums("f8e4m3", "224")).toEqual([]);
    expect(sums("f8e4m3", "240")).toHaveLength(1);
    expect(sums("f8e5m2", "28672")).toEqual([]);
    expect(sums("f8e5m2", "32768")).toHaveLength(1);
  });

  it("of powers", () => {
    const kinds = (value: string, where = ""): string =>
      open(element(value, { where }))
        .map((o) => o.split(" ")[0])
        .sort()
        .join();
    expect(kinds("pow(x[i], 2)")).toBe("overflow");
    expect(kinds("pow(x[i], 2)", "where x in 0..1000")).toBe("");
    expect(kinds("pow(x[i], x@1[i])")).toBe("domain,overflow");
    expect(kinds("pow(x[i], 0.5)")).toBe("domain,overflow");
    expect(kinds("pow(abs(x[i]), 0.5)")).toBe("");
    expect(kinds("pow(x[i], -1)")).toBe("divisor,overflow");
    expect(kinds("pow(1 + x[i] * x[i], -0.5)", "where x in 0..1000")).toBe("");
    expect(kinds("1 / pow(2.0, x[i])", "where x in 0..100")).toBe("");
    expect(kinds("pow(x[i], x@1[i])", "where x in 0..100")).toBe("overflow");
    expect(kinds("pow(x[i], x@1[i])", "where x in 0..20")).toBe("");
  });

  it("of memory, which is what it was until something may have been stored there", () => {
    const body = (between: string, second = "t[i]"): string =>
      `collective c(x: f32[n] local, z: f32[n] local) -> (y: f32[n] local, v: f32[n] local) {
        scratch t: f32[n]
        for i in tiles(n) { t[i] = x[i] }
        for i in tiles(n) { let a = t[i] ${between} y[i] = sqrt(a * ${second}) v[i] = 0 }
      }`;
    const roots = (text: string): string[] => open(text).filter((o) => o.startsWith("domain"));
    expect(roots(body(""))).toEqual([]);
    expect(roots(body("v[i] = z[i]"))).toEqual([]);
    expect(roots(body("t[i] = z[i]"))).toHaveLength(1);
    expect(roots(body("", "t[n - 1 - i]"))).toHaveLength(1);
    expect(roots(body("", "t@1[i]"))).toHaveLength(1);
    const apart = `collective c(x: f32[n] local) -> y: f32[n] local {
      scratch t: f32[1]
      for k in 0..2 { for i in tiles(1) { t[0] = where(k == 0, x[0], -x[0]) } for i in tiles(n) { y[i] = sqrt(t[0] * x[0]) } }
    }`;
    expect(roots(apart)).toHaveLength(1);
    // What an iteration finds at first may be what one before it has stored, though it is as large as anything there was.
    const later = `collective c(x: f32[n] local, z: f32[n] local) -> y: f32[n] local {
      scratch t: f32[n]
      for i in tiles(n) { t[i] = x[i] y[i] = x[i] * z[i] }
      for i in tiles(n) { let a = t[i] for k in 0..n { y[i] = sqrt(a * t[i]) t[i] = z[i] } }
    }`;
    expect(roots(later)).toHaveLength(1);
    const centred = `collective c(x: f32[m, n] local) -> y: f32[m, n] local {
      let mu = mean(x, dim: 1)
      y = (x - mu) * rsqrt(mean((x - mu) * (x - mu), dim: 1) + 1e-5)
    }`;
    expect(roots(centred)).toEqual([]);
  });

  it("of exponentials, roots and logarithms", () => {
    expect(open(element("exp(x[i])", { where: "where x in 0..88" }))).toEqual([]);
    expect(open(element("exp(x[i])", { where: "where x in 0..89" }))).toHaveLength(1);
    expect(open(element("exp(-abs(x[i]))"))).toEqual([]);
    expect(open(element("sqrt(x[i])"))).toEqual(["domain f32 at sqrt(x[i])"]);
    expect(open(element("sqrt(abs(x[i]))"))).toEqual([]);
    expect(open(element("log(abs(x[i]))"))).toEqual(["domain f32 at log(abs(x[i]))"]);
    expect(open(element("log(1 + abs(x[i]))")).join()).not.toContain("domain");
    expect(open(element("log(sum(p in ranks) exp(-abs(x@p[i])))")).join()).toContain("domain");
    expect(open(element("log(sum(p in ranks) exp(max(-abs(x@p[i]), -80)))"))).toEqual([]);
    expect(open(element("log(sigmoid(x[i]))"))).toEqual(["domain f32 at log(sigmoid(x[i]))"]);
    expect(open(element("log(sigmoid(x[i]))", { where: "where x in -80..80" }))).toEqual([]);
    expect(open(element("rsqrt(sigmoid(x[i]))"))).toEqual(["divisor f32 at rsqrt(sigmoid(x[i]))"]);
    expect(open(element("rsqrt(abs(x[i]))"))).toEqual(["divisor f32 at rsqrt(abs(x[i]))"]);
    expect(open(element("rsqrt(abs(x[i]) + 1e-6)"))).toEqual([]);
  });
});

describe("what is taken off its maximum", () => {
  const softmax = (top: string, sum = "sum(k in 0..n) exp(x[i, k] - t)"): string[] =>
    open(
      `collective c(x: T[m, n] local) -> y: T[m, n] local { for i, j in tiles(m, n) { let t = ${top}
        y[i, j] = exp(x[i, j] - t) / ${sum} } }`,
      { lengths: { m: [1, 99], n: [1, 999] } },
    );

  it("has an exponential of at most 1, and a sum of at least 1 where all are summed", () => {
    expect(softmax("max(k in 0..n) x[i, k]")).toEqual([]);
    expect(softmax("max(k in 0..n) x[i, k] + 1.5")).not.toContain("overflow f32 at exp(x[i, j] - t)");
    // The maximum of another row, of fewer columns, of another rank: nothing follows.
    for (const other of ["max(k in 0..n) x[0, k]", "max(k in 1..n) x[i, k]", "max(k in 0..n) x@1[i, k]"])
      expect(softmax(other), other).toContain("overflow f32 at exp(x[i, j] - t)");
    const log = (sum: string): string =>
      open(
        `collective c(x: T[m, n] local) -> y: T[m] local { for i in tiles(m) { let t = max(k in 0..n) x[i, k]
          y[i] = 1 / (0.5 + log(${sum})) } }`,
        { lengths: { m: [1, 99], n: [1, 999] } },
      ).join();
    expect(log("sum(k in 0..n) exp(x[i, k] - t)")).toBe("");
    // One term less, and it may be that of the maximum; or each term of another row's.
    expect(log("sum(k in 1..n) exp(x[i, k] - t)")).toContain("divisor");
    expect(log("sum(k in 0..m) exp(x[k, 0] - t)")).toContain("overflow");
    expect(log("sum(k in 0..min(m, n)) exp(x[i, k] - t)")).toContain("divisor");
  });

  it("through memory and over ranks", () => {
    const parts = (term: string): string =>
      open(
        `collective c(x: T[m, n] local) -> y: T[m] local {
          scratch top: f32[m]
          scratch part: f32[m]
          for i in tiles(m) { let t = max(k in 0..n) x[i, k]
            top[i] = t
            part[i] = sum(k in 0..n) exp(x[i, k] - t) }
          for i in tiles(m) { let all = max(p in ranks) top@p[i]
            y[i] = 1 / (0.5 + log(sum(p in ranks) ${term})) } }`,
        { lengths: { m: [1, 99], n: [1, 999] }, ranks: 4 },
      ).join();
    expect(parts("part@p[i] * exp(top@p[i] - all)")).toBe("");
    expect(parts("part@p[i] * exp(top@0[i] - all)")).toContain("divisor");
    expect(parts("part@p[i] * exp(top@p[0] - all)")).toContain("overflow");
    expect(parts("part@p[i] * exp(top@p[i] - all) * 0.5")).toContain("divisor");
  });
});

describe("whole numbers in floats", () => {
  const cut = (value: string, where = ""): string[] =>
    open(element(value, { of: "i32", to: "i32", where })).filter((o) => o.startsWith("exactness"));

  it("are exact up to as many bits as the dtype has", () => {
    expect(cut("i32(f32(x[i]))")).toHaveLength(1);
    expect(cut("i32(f32(x[i]))", "where x in 0..16777217")).toEqual([]);
    expect(cut("i32(f32(x[i]))", "where x in 0..16777218")).toHaveLength(1);
    expect(cut("i32(bf16(x[i]))", "where x in 0..257")).toEqual([]);
    expect(cut("i32(bf16(x[i]))", "where x in 0..258")).toHaveLength(1);
    expect(cut("i32(f16(x[i]))", "where x in -2048..2049")).toEqual([]);
    expect(cut("i32(f16(x[i]))", "where x in -2048..2050")).toHaveLength(1);
  });

  it("stay so in sums, products, and quotients by powers of 2", () => {
    const few = "where x in 0..1000";
    expect(cut("i32(f32(x[i]) * f32(x@1[i]))", few)).toEqual([]);
    expect(cut("i32(f32(x[i]) * f32(x@1[i]) * f32(x[0]))", few)).toHaveLength(1);
    expect(cut("i32(f32(x[i]) / 8 + 0.25)", few)).toEqual([]);
    expect(cut("i32(f32(x[i]) / 10)", few)).toHaveLength(1);
    expect(cut("i32(sum(p in ranks) f32(x@p[i]))", few)).toEqual([]);
    expect(cut("i32(exp(f32(x[i])))", "where x in 0..9")).toHaveLength(1);
    // Powers of 2 leave all bits of a number as they are, until it is too small for its dtype.
    const step = "1125899906842624"; // 2⁵⁰
    const thereAndBack = (steps: number): string =>
      `i32(f32(x[i])${` / ${step}`.repeat(steps)}${` * ${step}`.repeat(steps)})`;
    expect(cut(thereAndBack(2), few)).toEqual([]);
    expect(cut(thereAndBack(3), few)).toHaveLength(1);
  });
});

describe("comparisons of rounded numbers", () => {
  /** What is compared after a rounding, of a program whose claim stands beside it. */
  const compared = (
    text: string,
    claim: string,
    { of = "f32", to = "bool", scratch = "", lengths = [5, 37] } = {},
  ): string[] => {
    const source = `collective c(x: ${of}[n] local, w: ${of}[n] local) -> y: ${to}[n] local ensures y[i] == ${claim} {
      ${scratch}
      for i in tiles(n) { ${text} } }`;
    const { kernel, snapshots } = compiled(source);
    const claims = prove({ kernel: kernel! }, { program: programOf(snapshots), shapes: lengths.map((n) => ({ n })) });
    expect(claims.answer.status).toBe("proved");
    const warned = findings(claims).filter((f) => f.message.includes("comparison of rounded values"));
    expect(summaryLine(claims).includes("comparisons of rounded numbers")).toBe(warned.length > 0);
    return warned.map(({ span }) => source.slice(span.start, span.end));
  };

  it("are named where the claim compares what is not rounded", () => {
    expect(compared("y[i] = bf16(x[i]) > bf16(w[i])", "(x[i] > w[i])")).toEqual(["bf16(x[i]) > bf16(w[i])"]);
    expect(compared("y[i] = f32(x[i]) > f32(w[i])", "(x[i] > w[i])", { of: "i64" })).toEqual(["f32(x[i]) > f32(w[i])"]);
    expect(compared("y[i] = where(x[i] * 3 > w[i] * 3, 1, 2)", "where(x[i] > w[i], 1, 2)", { to: "i32" })).toHaveLength(1); // prettier-ignore
  });

  it("are named where no data is in them: what is computed is one number to the program and to the claim", () => {
    const drifting = "f32(i) / 41.0 * 41.0 == f32(i)";
    expect(compared(`y[i] = ${drifting}`, "(i == i)", { lengths: [1, 2] })).toEqual([drifting]);
    const scratch = "scratch b: f32[n] for i in tiles(n) { b[i] = f32(i) / 41.0 * 41.0 }";
    expect(compared("y[i] = b[i] == f32(i)", "(i == i)", { scratch, lengths: [1, 2] })).toHaveLength(1);
  });

  it("are named where a truth value is made of what the claim does not round", () => {
    const one = { of: "f32", to: "f32" };
    expect(compared("y[i] = bool(x[i] * 1e-30)", "bool(x[i])")).toEqual(["bool(x[i] * 1e-30)"]);
    expect(compared("y[i] = bool((x[i] + 1e30) - 1e30)", "bool(x[i])")).toHaveLength(1);
    expect(compared("y[i] = bool(bf16(x[i]))", "bool(x[i])")).toEqual(["bool(bf16(x[i]))"]);
    expect(compared("y[i] = bool(x[i])", "bool(bf16(x[i]))")).toHaveLength(1);
    // What is at least 1 is true, however it is rounded.
    const away = (value: string): boolean => open(element(value, { to: "bool" })).some((o) => o.startsWith("compar"));
    expect(["bool(x[i] * x[i] + 1)", "bool(x[i] * x[i])"].map(away)).toEqual([false, true]);
    expect(compared("y[i] = where(bool(x[i] / 3e38 / 3e38), 1, 0)", "where(bool(x[i]), 1.0, 0.0)", one)).toHaveLength(1); // prettier-ignore
  });

  it("are named where the last of the lengths alone rounds", () => {
    const text = "if n > 20 { y[i] = bf16(x[i]) > bf16(w[i]) } else { y[i] = x[i] > w[i] }";
    expect(compared(text, "(x[i] > w[i])", { lengths: [1, 5, 6, 7, 8, 37] })).toEqual(["bf16(x[i]) > bf16(w[i])"]);
    expect(compared(text, "(x[i] > w[i])", { lengths: [1, 5, 6, 7, 8, 20] })).toEqual([]);
  });

  it("are found behind memory that is narrower", () => {
    const scratch = "scratch b: bf16[n] for i in tiles(n) { b[i] = x[i] }";
    expect(compared("y[i] = b[i] == w[i]", "(x[i] == w[i])", { scratch })).toEqual(["b[i] == w[i]"]);
    expect(compared("y[i] = b[i] == w[i]", "(x[i] == w[i])", { scratch, of: "bf16" })).toEqual([]);
  });

  it.each([
    ["what the claim rounds so, too", "y[i] = bf16(x[i]) > bf16(w[i])", "(bf16(w[i]) < bf16(x[i]))", {}],
    ["products that the claim has, too", "y[i] = x[i] * w[i] > x[i]", "(w[i] * x[i] > x[i])", {}],
    ["inputs as they are", "y[i] = where(x[i] > w[i], 1, 2)", "where(x[i] > w[i], 1, 2)", { to: "i32" }],
    ["what a wider float has, too", "y[i] = f32(x[i]) > f32(w[i])", "(x[i] > w[i])", { of: "bf16" }],
    ["whole numbers that fit", "y[i] = f32(x[i]) > f32(w[i])", "(x[i] > w[i])", { of: "i8" }],
    ["what is chosen: the larger", "y[i] = where(x[i] * 3 > w[i] * 3, x[i] * 3, w[i] * 3)", "3 * max(x[i], w[i])", { to: "f32" }], // prettier-ignore
    ["truth values of inputs", "y[i] = bool(x[i])", "(x[i] != 0)", {}],
    ["truth values that the claim rounds so, too", "y[i] = bool(x[i] * 3)", "bool(x[i] * 3)", {}],
    ["what is chosen: 0 instead of 0", "y[i] = where(bool(x[i] * 3), x[i] * 3, 0)", "x[i] * 3", { to: "f32" }],
    ["what is chosen: a limit", "y[i] = where(x[i] * 3 > 1, 1, x[i] * 3)", "min(3 * x[i], 1)", { to: "f32" }],
  ])("are not named of %s", (_, text, claim, rest) => {
    expect(compared(text, claim, rest)).toEqual([]);
  });

  it("and whole numbers of 64 bits are named where they are made narrower", () => {
    const told = (where: string): string[] => {
      const text = `collective c(x: i64[n] local) -> y: i64[n] local ${where} ensures y[i] == x[i] { for i in tiles(n) { y[i] = i64(i32(x[i])) } }`; // prettier-ignore
      const { kernel, snapshots } = compiled(text);
      const claims = prove({ kernel: kernel! }, { program: programOf(snapshots), shapes: [{ n: 5 }] });
      return findings(claims).map((f) => `${f.code}: ${text.slice(f.span.start, f.span.end)}`);
    };
    expect(told("")).toEqual(["proof-rounding: i32(x[i])"]);
    expect(told("where x in -1000..1000")).toEqual([]);
  });

  it.each([
    ["i32(bf16(x[i]))", "bf16(x[i])"],
    ["i32(bf16(f32(x[i])))", "bf16(f32(x[i]))"],
    ["i32(f16(f32(x[i])))", "f16(f32(x[i]))"],
    ["i32(f16(floor(f32(x[i]) / 2.0)))", "f16(floor(f32(x[i]) / 2.0))"],
    ["i32(f16(f32(x[i]) - 2000.0))", "f16(f32(x[i]) - 2000.0)"],
    ["i32(f16(min(f32(x[i]), 2000.0)))", null],
    ["i32(f16(f32(x[i]) / 5.0))", null],
    ["i32(f32(x[i]) * 100001.0)", "f32(x[i]) * 100001.0"],
    ["i32(f32(x[i]) * 3.0)", null],
    ["i32(f32(x[i]) * 100001.5)", null],
    ["i32(f32(x[i]) * 4096.0 - 1.0)", "f32(x[i]) * 4096.0 - 1.0"],
    ["i32(sum(p in ranks) f32(x@p[i]) * 2047.0)", "sum(p in ranks) f32(x@p[i]) * 2047.0"],
    ["i32(sum(p in ranks) f32(x@p[i]))", null],
  ])("and whole numbers are named where a float does not have them: %s", (made, named) => {
    const text = `collective c(x: i32[n] local) -> y: i32[n] local where x in 0..5000 ensures y[i] == ${made} { for i in tiles(n) { y[i] = ${made} } }`; // prettier-ignore
    const { kernel, snapshots } = compiled(text);
    const claims = prove({ kernel: kernel! }, { program: programOf(snapshots), shapes: [{ n: 5 }] });
    const told = findings(claims).map((f) => `${f.code}: ${text.slice(f.span.start, f.span.end)}`);
    expect(new Set(told)).toEqual(new Set(named === null ? [] : [`proof-rounding: ${named}`]));
  });
});
