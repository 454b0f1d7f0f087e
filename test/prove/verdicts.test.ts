/**
 * What may be called proved: programs that are wrong, some only far from where a proof usually looks, programs that are
 * right in a form of their own, and programs of which no more can be said than how far they were proved. The folder is the
 * verdict.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { withMapping } from "../../src/compiler/compiled.js";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import {
  type Claims,
  claimsOf,
  everyLine,
  findings,
  openLine,
  prove,
  PROOF_MAPPING,
  summaryLine,
} from "../../src/compiler/prove/index.js";
import { allowedLengths } from "../../src/compiler/prove/claims.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll, some } from "../scope.js";

const FOLDER = "test/prove/verdicts";

/** Those that take about a second and longer. */
const LONG = new Set(
  [
    "argmax-last-of-equals",
    "argmax-over-ranks",
    "cross-entropy",
    "cubic-scratch",
    "dropout-by-a-factor",
    "dropout-by-where",
    "flash-decoding-one-by-one",
    "gates-of-the-best-two",
    "index-capped",
    "mean-of-whole-numbers",
    "one-element",
    "second-largest",
    "softmax-shifted",
  ].map((name) => `${name}.coll`),
);

type Verdict = "wrong" | "limited" | "unknown" | "proved";

function proved(path: string, shapes?: DimValues[]): Claims {
  const text = readFileSync(path, "utf8");
  const setting = (name: string): string | undefined => new RegExp(`^// ${name} (.+)$`, "m").exec(text)?.[1];
  const mesh = setting("mesh")?.split("x").map(Number);
  const result = compile(text, {
    file: path,
    ranks: mesh?.reduce((a, n) => a * n, 1) ?? Number(setting("ranks") ?? 2),
    dtype: (setting("dtype") ?? "f32") as "f32",
    ...(mesh === undefined ? {} : { mesh: { node: mesh[0]!, gpu: mesh[1]! } }),
    mapping: PROOF_MAPPING,
  });
  if (result.kernel === null) throw new Error(result.diagnostics.map((d) => d.message).join("; "));
  return prove(result, { shared: sharedLayout(result.kernel), shapes });
}

function verdictOf(claims: Claims): Verdict {
  const statuses = [claims.answer.status, claims.ordering.status];
  if (statuses.includes("wrong")) return "wrong";
  if (statuses.includes("unknown")) return "unknown";
  return findings(claims).length > 0 ? "limited" : "proved";
}

for (const verdict of ["wrong", "limited", "unknown", "proved"] as const)
  describe(verdict, () => {
    const files = readdirSync(`${FOLDER}/${verdict}`)
      .filter((name) => isAll || !LONG.has(name))
      .sort();
    for (const file of some(files, 10))
      it(file, () => {
        const claims = proved(`${FOLDER}/${verdict}/${file}`);
        const said = findings(claims);
        expect(verdictOf(claims), [summaryLine(claims), ...said.map((f) => f.message)].join("\n")).toBe(verdict);
        // Whatever is not simply proved is found at a place in the source.
        for (const f of said) expect(f.span.end, f.message).toBeGreaterThan(0);
        expect(said.length === 0).toBe(verdict === "proved");
        expect(summaryLine(claims)).not.toMatch(/answer proved,|ordering proved,/);
      });
  });

describe("what is said of what is not proved", () => {
  const said = (path: string): ReturnType<typeof findings> => findings(proved(path));

  it("names the condition, and the data it depends on", () => {
    const path = `${FOLDER}/unknown/if-of-data-outside.coll`;
    const text = readFileSync(path, "utf8");
    for (const { message, span } of said(path)) {
      expect(message).toContain("not proved: without the condition on data around it, rank 0 goes wrong here: ");
      expect(text.slice(span.start, span.end)).toBe("x[i + 1]");
    }
    // What a claim reads by has values, too, and they are shown.
    const [routed] = said(`${FOLDER}/wrong/claim-by-data.coll`);
    expect(routed!.notes!.join("\n")).toMatch(/with back = \[\d.*\] on rank \d, launch \d/);
  });

  const compiled = (text: string): Claims => prove(compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING }));

  for (const name of ["far-corner", "two-moduli-of-an-index"])
    it(`names lengths that lead to what is wrong: ${name}`, () => {
      const path = `${FOLDER}/limited/${name}.coll`;
      const at = proved(path).unreached.flatMap((u) => (u.at === null ? [] : [u.at]));
      expect(at).not.toEqual([]);
      for (const dims of at) expect(verdictOf(proved(path, [dims])), JSON.stringify(dims)).toBe("wrong");
    });

  it("advises no barrier where none can stand, and shows the data of a race", () => {
    const [race] = findings(
      compiled(`collective routed(x: T[n] local, to: i32[n] local) -> y: T[n] local where to in 0..n {
        for i in tiles(n) { y[index(to[i])] = x[i] } }`),
    );
    expect(race).toMatchObject({
      code: "proof-race",
      help: expect.stringMatching(/^no barrier can stand in a tiles loop/),
    });
    expect(race!.notes!.join("\n")).toMatch(/with to = \[\d.*\] on rank 0, launch \d/);
    // Both accesses are of one block: what tells them apart is where in the loop they are.
    expect(race!.labels[0]!.text).toMatch(
      /in element (\d+) of the tiles loop; .*in element (?!\1 )\d+ of the tiles loop/,
    );
  });

  it("tells iterations of a loop over ranks apart, and shows what other ranks say where to", () => {
    const [race] = findings(
      compiled(`collective f(x: T[m, n] local, counts: i32[world] local) -> y: T[world * m, n] local
        where counts in 0..m / world + 1
        where m >= world {
        for p in ranks {
          let target = sum(q in 1..p) index(counts@q[rank])
          for i, j in tiles(index(counts@p[rank]), n) { y[target + i, j] = x@p[i, j] }
        }
      }`),
    );
    expect(race!.labels[0]!.text).toMatch(/in iteration 0 of the ranks loop.*in iteration 1 of the ranks loop/);
    expect(race!.help).toMatch(/^iterations of a loop over ranks come in any order/);
    for (const rank of [0, 1]) expect(race!.notes!.join("\n")).toMatch(new RegExp(`with counts = .* on rank ${rank},`));
  });

  it("never counts more operations than there are, whatever proofs it is told of", () => {
    const { kernel } = compile("collective c(x: T[n] local) -> y: T[n] local { for i in tiles(n) { y[i] = x[i] } }", { ranks: 2, mapping: PROOF_MAPPING }); // prettier-ignore
    const answers = [{ status: "unknown", claim: { ranks: 2, dims: {}, grid: 1, launches: 2, aligned: true }, reason: "", span: { start: 0, end: 0 }, isTooMuch: false }] as const; // prettier-ignore
    const foreign = { answers, further: [], ran: Array.from({ length: 500 }, (_, k) => k) };
    const { total, ran } = claimsOf(kernel!, {}, { every: null, printed: null }, foreign, foreign).coverage;
    expect(ran).toBe(total);
  });
});

describe("the summary line", () => {
  const summary = (text: string, dtype = "f32"): string => {
    const result = compile(text, { ranks: 2, dtype: dtype as "f32", mapping: PROOF_MAPPING });
    return summaryLine(prove(result));
  };
  const copy = (value: string, dtype = "T", ensures = value): string =>
    `collective c(x: ${dtype}[n] local) -> y: ${dtype}[n] local ensures y[i] == ${ensures} { for i in tiles(n) { y[i] = ${value} } }`;

  it("says what is rounded, and in which dtype it may be too large", () => {
    expect(summary(copy("x[i]"), "bf16")).toContain("answer proved for every n, ordering");
    expect(summary(copy("max(x[i], x@0[i])"), "bf16")).toContain("every n, ordering");
    expect(summary(copy("x[i] + x@0[i]"), "bf16")).toContain("every n up to rounding and overflow in bf16, ordering");
    expect(summary(copy("x[i] + x@0[i]"))).toContain("every n up to rounding and overflow in f32, ordering");
    expect(summary(copy("x[i] + x@0[i]"), "f8e4m3")).toContain("rounding and overflow in f8e4m3, ordering");
    // Of indices, too, which are numbers while a proof goes on.
    const eighths = (value: string): string => summary(copy(`f32(f8e4m3(${value}))`, "f32", value));
    expect(eighths("f32(i) * 64.0")).toContain("up to rounding and overflow in f8e4m3, ordering");
    expect(eighths("f32(i % 8)")).toContain("up to rounding in f8e4m3, ordering");
  });

  it("says where something is divided by data, and where integers may wrap before more is done with them", () => {
    expect(summary(copy("x[i] / x[i]", "f32", "1"))).toContain("and divisors that are 0, ordering");
    expect(summary(copy("x[i] / 2"))).not.toContain("divisors");
    expect(summary(copy("x[i] + x@0[i]", "i32"))).toContain("every n, ordering");
    expect(summary(copy("(x[i] + x@0[i]) / 2", "i32"))).toContain("every n up to overflow in i32, ordering");
  });

  it("names nothing that is shown, and the lines of what is not", () => {
    const text = copy("x[i] + x@0[i]").replace("ensures", "where x in 0..9 ensures");
    expect(summary(text)).toContain("every n up to rounding in f32, ordering");
    expect(summary(text, "f16")).toContain("every n up to rounding in f16, ordering");
    const divided = copy("x[i] / (1 + x@0[i] * x@0[i])", "f32", "x[i] / (x@0[i] * x@0[i] + 1)");
    expect(summary(divided)).not.toContain("divisors");
    const root = copy("sqrt(x[i])");
    expect(summary(root)).toContain(
      "up to rounding in f32 and roots and logarithms of numbers that have none, ordering",
    );
    const open = (source: string): string | null =>
      openLine(
        prove(compile(source, { ranks: 2, dtype: "f16", mapping: PROOF_MAPPING })),
        (at) => source.slice(0, at).split("\n").length,
      );
    expect(open(copy("x[i]"))).toBe(null);
    expect(open(`\n${copy("x[i] + x@0[i]")}`)).toBe("not shown: that line 2 fits in f16");
    expect(open(copy("\nx[i] / x@0[i]"))).toBe("not shown: that no divisor of line 3 is 0; that line 3 fits in f16");
    expect(open(root)).toBe("not shown: that what line 1 takes a root or a logarithm of has one");
  });

  it("shows what has to fit for every length, where it is about every length", () => {
    const halves = copy("(x[i] + x@0[i]) / 2", "i32");
    expect(summary(halves)).toContain("answer proved for every n up to overflow in i32, ordering");
    const few = halves.replace("ensures", "where x in 0..9 ensures");
    expect(summary(few)).toContain("answer proved for every n, ordering");
    const limited = copy("x[i]").replace("ensures", "where n >= 4 and n < 100 ensures");
    const { kernel } = compile(limited, { ranks: 2, mapping: PROOF_MAPPING });
    expect(allowedLengths(kernel!)).toEqual({ n: [4, 99] });
    const { kernel: any } = compile(copy("x[i]"), { ranks: 2, mapping: PROOF_MAPPING });
    expect(allowedLengths(any!)).toEqual({ n: [0, 2 ** 63] });
  });

  it("names what a claim does otherwise than mathematics, where the program does not", () => {
    const signed = (inputs: string, y: string, ensures: string, value: string): string =>
      summary(`collective c(${inputs}) -> y: ${y}[n] replicated ensures ${ensures} { for i in tiles(n) { y[i] = ${value} } }`); // prettier-ignore
    const wide = (ensures: string): string => signed("x: i32[n] replicated", "i64", ensures, "i64(x[i]) + i64(x[i])");
    const wraps = "answer proved for every n up to overflow in i32, ordering";
    expect(wide("y[i] == i64(x[i] + x[i])")).toContain(wraps);
    expect(wide("y == i64(x + x)")).toContain(wraps);
    expect(wide("y[i] == i64(x[i]) + i64(x[i])")).toContain("answer proved for every n, ordering");
    expect(wide("y == i64(x) + i64(x)")).toContain("answer proved for every n, ordering");
    // A tensor that is partial is a sum in its own dtype.
    const summed = "sum(p in ranks) i64(x@p[i])";
    expect(signed("x: i32[n] partial(sum)", "i64", "y == i64(x)", summed)).toContain(wraps);
    expect(signed("x: i32[n] local", "i64", `y[i] == ${summed}`, summed)).toContain("every n, ordering");
    const copied = (claim: string, dtype = "f32", y = dtype): string =>
      signed(`x: ${dtype}[n] replicated`, y, `y[i] == ${claim}`, "x[i]");
    expect(copied("(x[i] + x[i]) / 2", "i32")).toContain(wraps);
    expect(copied("i32(i64(x[i]))", "i32")).toContain("every n, ordering");
    expect(copied("i64(i32(x[i]))", "i64")).toContain(wraps);
    expect(copied("i32(f32(x[i]))", "i32")).toContain("and whole numbers made of rounded ones, ordering");
    expect(copied("f32(f16(x[i]))")).toContain("every n up to rounding and overflow in f16, ordering");
    expect(copied("x[i] / 3 * 3")).toContain("every n, ordering");
    expect(copied("x[i] * x@0[i] / x@0[i]")).toContain("every n up to divisors that are 0, ordering");
    const compared = (of: string): string =>
      signed("x: f32[n] replicated", "bool", `y[i] == (${of}(x[i]) > ${of}(x[0]))`, "x[i] > x[0]");
    expect(compared("bf16")).toContain("and comparisons of rounded numbers, ordering");
    expect(compared("f32")).toContain("ordering proved");
    expect(compared("f32")).not.toContain("up to");
  });

  it("names the dtypes that it is about, where a program leaves them open", () => {
    const narrow = (dtype: string): string => summary(copy("T(bf16(f32(x[i])))", "T", "x[i]"), dtype);
    expect(narrow("bf16")).toMatch(/^c, 2 ranks, T = bf16: answer proved for every n, ordering/);
    expect(narrow("f32")).toMatch(
      /^c, 2 ranks, T = f32: answer proved for every n up to rounding and overflow in bf16,/,
    );
    expect(summary(copy("x[i]", "f32"))).toMatch(/^c, 2 ranks: answer/);
    const two = `collective c(x: T[n] local) -> y: U[n] local ensures y[i] == x[i] { for i in tiles(n) { y[i] = x[i] } }`;
    expect(summary(two, "f16")).toMatch(/^c, 2 ranks, T = f16, U = f16: answer/);
  });

  it("has the mapping and the mesh", () => {
    expect(summary(copy("x[i]"))).toContain("by 4 threads in 3 blocks; ");
    const printed = (source: string): { summary: string; every: string | null } => {
      const compiled = compile(source, { ranks: 2 });
      const claims = prove(withMapping(compiled, PROOF_MAPPING), { printed: compiled.kernel });
      return { summary: summaryLine(claims), every: everyLine(claims, () => 1) };
    };
    expect(printed(copy("x[i]"))).toMatchObject({
      summary: expect.stringMatching(/every n, as printed: 512 threads in \d+ blocks; /) as string,
      every: null,
    });
    expect(printed(copy("x[i / 2]").replace("== x[i]", "== x[i / 2]"))).toMatchObject({
      summary: expect.stringContaining("by 4 threads in 3 blocks; ") as string,
      every: expect.stringMatching(/^not for every n, nor as printed: .*, line 1$/) as string,
    });
    const text = copy("x[i]").replace("ensures", "mesh(node, gpu) ensures");
    expect(summary(text)).toContain("c, 2 ranks as 1 × 2, T = f32: answer");
  });
});
