/** Shapes of proofs: small, and still through all paths. */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type CompileOptions, type CompileResult } from "../../src/compiler/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { fitDims, nearestFit, type Requirement, requirementHolds } from "../../src/compiler/types/requirement.js";
import {
  everyLine,
  programOf,
  prove,
  PROOF_MAPPING,
  proveEverywhere,
  proveOrdering,
  relaxedOf,
  summaryLine,
} from "../../src/compiler/prove/index.js";
import { coverageOf, unreachedOf } from "../../src/compiler/prove/coverage.js";
import { oddShape } from "../../src/compiler/prove/lengths.js";
import { proofShapes } from "../../src/compiler/prove/shapes.js";
import { allows, compileFile, LIBRARY } from "../kernels/library.js";

it("are as long as a quotient of what a constant limits is another", () => {
  const text = `collective f(x: T[n] local) -> y: T[n] local ensures y[i] == x[i] {
    for i in tiles(min(n, 300) / 4) { y[i] = x[i] }
    for i in tiles(n - n / 4) { y[n / 4 + i] = x[n / 4 + i] }
  }`;
  const { kernel, snapshots } = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  expect(prove({ kernel, snapshots }).answer).toMatchObject({ status: "wrong" });
});

describe("the shape at odd addresses", () => {
  for (const file of LIBRARY.filter((f) => allows(f, 2)))
    it(`takes all paths of ${file.name} that the ragged one takes`, () => {
      const kernel = compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING }).kernel!;
      const shapes = proofShapes(kernel, "ordering");
      const ragged = shapes[Math.min(1, shapes.length - 1)]!;
      const ran = (dims: DimValues): readonly number[] => {
        const answer = proveOrdering(kernel, { dims, aligned: false, shared: sharedLayout(kernel) });
        return answer.status === "proved" ? answer.executed : [];
      };
      expect(ran(ragged)).not.toEqual([]);
      expect(ran(oddShape(kernel, ragged))).toEqual(expect.arrayContaining([...ran(ragged)]));
    });
});

describe("the shapes of a product", () => {
  const check = (text: string, options: Pick<CompileOptions, "ranks" | "mesh">) => {
    const compiled = compile(text, { dtype: "bf16", mapping: { ...PROOF_MAPPING, algorithm: "two_shot" }, ...options });
    expect(compiled.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    return prove(compiled);
  };
  const SCATTERED = `collective f(x0: T[n, n] replicated(dp) replicated(tp), x1: T[n, k] replicated(dp) partial(sum, tp),
      x2: T[k, n] replicated(dp) replicated(tp))
    -> (y0: T[n, n] replicated(dp) replicated(tp), y1: T[n, n] replicated(dp) sharded(1, tp)) mesh(dp, tp) {
      y0 = x0
      y1 = reduce_scatter(x1 @ x2, dim: 1, over: tp)
    }`;

  it("have rows of tiles, and few tiles, where one name is the rows and the columns", () => {
    const claims = check(SCATTERED, { ranks: 6, mesh: { dp: 2, tp: 3 } });
    expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
    expect(claims.coverage.ran / claims.coverage.total).toBeGreaterThan(0.7);
    expect(claims.unreached).toEqual([]);
  });

  it("are not asked to lead to what blocks count their launches by, which nobody has written", () => {
    const mapping = { ...PROOF_MAPPING, algorithm: "one_shot", protocol: "packet" } as const;
    const { kernel, snapshots } = compile(SCATTERED, { ranks: 6, mesh: { dp: 2, tp: 3 }, dtype: "bf16", mapping });
    const { idle } = coverageOf(kernel!, new Set());
    expect(idle.map(({ what }) => what)).toContain("load of 'launches'");
    const unreached = unreachedOf(kernel!, programOf(snapshots)!, idle).map(({ what }) => what);
    expect(unreached).toContain("this store of 'y0'");
    expect(unreached).not.toContain("this load of 'launches'");
  });

  it("are short where a matrix is multiplied with itself", () => {
    const outputs = "y: T[n, n] replicated, z: T[n, n] replicated";
    // Of several outputs, nothing is shown for every length.
    const claims = check(`collective f(x: T[n, n] replicated) -> (${outputs}) { y = transpose(x) @ x\n z = abs(x) }`, {
      ranks: 2,
    });
    expect(claims.answer.status).toBe("proved");
    const lengths = claims.answers.map(({ claim }) => claim.dims["n"]!);
    expect(Math.max(...lengths)).toBeLessThan(64);
    // Several tiles in each direction, and a depth that fills the pipeline and more.
    expect(Math.max(...lengths)).toBeGreaterThan(40);
  });
});

it("is not among the shapes of which the summary speaks, for aligned buffers are not proved there", () => {
  const file = LIBRARY.find((f) => f.name === "all_reduce/two_shot")!;
  const kernel = compileFile(file, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING }).kernel!;
  const [, ragged] = proofShapes(kernel) as [DimValues, DimValues];
  expect(oddShape(kernel, ragged)["n"]).toBeLessThan(ragged["n"]!);
  const claims = { ...prove({ kernel }), every: null };
  const lengths = claims.answers.flatMap(({ claim }) => (claim.aligned ? [claim.dims["n"]!] : []));
  expect(lengths).toContain(ragged["n"]);
  expect(claims.answers.length).toBeGreaterThan(lengths.length);
  expect(summaryLine(claims)).toContain(`answer proved at ${lengths.length} shapes with n ≤ ${Math.max(...lengths)}`);
});

describe("shapes under conditions", () => {
  const kernelOf = (text: string, ranks = 4) => {
    const { kernel, diagnostics } = compile(text, { ranks, mapping: PROOF_MAPPING });
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    return kernel!;
  };
  const reduced = (shape: string, where: string): string =>
    `collective f(x: T[${shape}] partial(sum)) -> y: T[${shape}] replicated ${where} { y = all_reduce(x) }`;
  const RMS = (n: string, where: string): string => `
    collective f(x: T[m, ${n}] partial(sum), weight: T[${n}] replicated) -> y: T[m, ${n}] replicated ${where} {
      let s = all_reduce(x)
      y = s * rsqrt(mean(s * s, dim: 1) + 1e-6) * weight
    }`;

  for (const [name, text] of [
    ["far above", reduced("n", "where n >= 100000")],
    ["far above, and a multiple", reduced("n", "where n >= 70000 and n % 96 == 0")],
    ["a multiple of much", reduced("n", "where n % 100000 == 0")],
    ["equal lengths", reduced("m, n", "where m == n and n >= 40")],
    ["one length from the other", reduced("m, n", "where m == 3 * n + 1 and m % 4 == 0")],
    ["a product", reduced("m, n", "where m * n >= 10000")],
    ["lengths that are differences", reduced("n - 5", "")],
    ["quotients by dimensions", reduced("n / m", "where n % m == 0")],
    ["all but one", reduced("n", "where n != 1 and n != 2")],
  ] as const)
    it(`fulfil them: ${name}`, () => {
      for (const ranks of [2, 8]) {
        const kernel = kernelOf(text, ranks);
        const shapes = proofShapes(kernel);
        expect(shapes.length).toBeGreaterThan(0);
        for (const dims of shapes) expect(kernel.requirements.filter((r) => !requirementHolds(r, dims))).toEqual([]);
      }
    });

  it("are as short as loops that are long where lengths are short allow", () => {
    const repeated = (most: number): CompileResult =>
      compile(
        `collective f(x: T[n] local) -> y: T[n] local {
  scratch s: T[n]
  for i in tiles(n) { s[i] = x[i] }
  for k in 0..max(5, ${most} - n) { for i in tiles(n) { s[i] = s[i] + x[i] } }
  for i in tiles(n) { y[i] = s[i] }
}`,
        { ranks: 2, dtype: "i32", mapping: PROOF_MAPPING },
      );
    const { kernel, snapshots } = repeated(20000);
    const shapes = proofShapes(kernel!, "answer", programOf(snapshots));
    expect(shapes.length).toBeGreaterThan(1);
    for (const { n } of shapes) expect(n! * Math.max(5, 20000 - n!)).toBeLessThan(2 ** 18);
    const { ordering } = prove(repeated(2_000_000));
    const reason = /loops have more iterations .*12000002 loads and stores/;
    expect(ordering).toMatchObject({ status: "unknown", reason: expect.stringMatching(reason) as string });
  });

  for (const [name, text, why] of [
    ["there are none", reduced("n", "where n >= 10 and n < 5"), /no sizes were found .*where n >= 10; where n < 5/],
    ["they are all too large, and it does not hold of shorter ones", `collective f(x: T[m, n] local) -> y: T[m, n] local
      where m * n >= 100000000 { for i, j in tiles(m, n) { y[i, j] = x[i, j + 1] } }`, /too long to be looked at, and at m=1 n=\d+, which is shorter, it does not hold: .*outside/], // prettier-ignore
    ["the rows of a product are", `collective f(x: T[m, 7168] sharded(1), w: T[7168, 4096] sharded(0))
      -> y: T[m, 4096] replicated { y = all_reduce(x @ w) }`, /more elements/], // prettier-ignore
  ] as const)
    it(`are unknown where ${name}, and the proof says so`, () => {
      const claims = prove({ kernel: kernelOf(text) });
      for (const answer of [claims.answer, claims.ordering])
        expect(answer).toMatchObject({ status: "unknown", reason: expect.stringMatching(why) as string });
    });

  it("are shorter ones where those that are allowed are too large, if all lengths are alike", () => {
    const claims = prove({ kernel: kernelOf(reduced("m, n", "where m * n >= 100000000")) });
    expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
    expect(claims.without.map(({ reason }) => reason)).toEqual(["where m * n >= 100000000"]);
    expect(everyLine(claims, () => 1)).toMatch(/^shown without 'where m \* n >= 100000000'/);
  });

  it("are shorter ones as well where lengths are not alike, and the line says so", () => {
    const moved = `collective f(x: T[m, n] local) -> y: T[m, n] local
      ensures y[i, j] == x[i, j / 2]
      where m * n >= 100000000 { for i, j in tiles(m, n) { y[i, j] = x[i, j / 2] } }`;
    const claims = prove({ kernel: kernelOf(moved) });
    expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
    expect(claims.every?.answer.holds && claims.every.ordering.holds).toBe(false);
    expect(summaryLine(claims)).toMatch(/proved at \d+ shapes that are shorter than its conditions allow, with m ≤/);
    expect(everyLine(claims, () => 1)).toMatch(/^not .*; what is executed is shorter than 'where m \* n >= 100000000'/);
    const wrong = prove({
      kernel: kernelOf(moved.replace("ensures y[i, j] == x[i, j / 2]", "ensures y[i, j] == x[i, j]")),
    });
    expect(wrong.answer.status).toBe("unknown");
  });

  it("are shorter ones, too, where those that are allowed take long, but only if all lengths are alike", () => {
    const kernel = kernelOf(reduced("n", "where n >= 100000"));
    expect(relaxedOf(kernel)).toMatchObject({ isNeeded: false, without: [{ reason: "where n >= 100000" }] });
    expect(relaxedOf(kernelOf(reduced("n", "where n >= 1000")))).toBeNull();
    const claims = prove({ kernel });
    expect([claims.answer.status, claims.ordering.status, claims.every?.answer.holds]).toEqual([
      "proved",
      "proved",
      true,
    ]);
    expect(claims.without).toHaveLength(1);
    for (const { claim } of claims.answers) expect(claim.dims["n"]).toBeLessThan(100000);
    const moved = kernelOf(`collective f(x: T[n] local) -> y: T[n] local
      where n >= 100000 { for i in tiles(n) { y[i] = x[(i * 3) % n] } }`);
    expect(relaxedOf(moved)).not.toBeNull();
    expect(proveEverywhere(moved, {})).toMatchObject({ every: { answer: { holds: false } } });
    expect(proveEverywhere(moved, {}).isOfRelaxed).not.toBe(true);
    expect(proveEverywhere(kernel, {}).isOfRelaxed).toBe(true);
  });

  it("are as few rows of a length of their own as of one that a condition gives", () => {
    const rows = (kernel: ReturnType<typeof kernelOf>) => proofShapes(kernel).map((dims) => dims["m"]!);
    const literal = rows(kernelOf(RMS("7168", "")));
    expect(Math.max(...literal)).toBe(Math.max(...rows(kernelOf(RMS("n", "where n == 7168")))));
    // Of short rows there are enough that loops over all elements take their main paths.
    expect(Math.max(...rows(kernelOf(RMS("8", ""))))).toBeGreaterThan(16);
  });
});

describe("lengths that several moduli allow", () => {
  const leaves = (modulus: number, right: number): Requirement => ({
    left: { op: "mod", a: "n", b: modulus },
    relation: "eq",
    right,
    reason: `n % ${modulus} == ${right}`,
  });

  it("are found however far apart they are", () => {
    const rules = [leaves(97, 5), leaves(89, 7), leaves(83, 11)];
    const up = nearestFit(rules, { n: 1 }, "n", 1)!;
    expect([up % 97, up % 89, up % 83]).toEqual([5, 7, 11]);
    expect(up).toBeLessThanOrEqual(97 * 89 * 83);
    expect(nearestFit(rules, { n: up + 1 }, "n", -1)).toBe(up);
    expect(nearestFit(rules, { n: up }, "n", 1)).toBe(up + 97 * 89 * 83);
  });

  it("share what their moduli share", () => {
    expect(nearestFit([leaves(4, 1), leaves(6, 3)], { n: 1 }, "n", 1)).toBe(9);
    expect(nearestFit([leaves(4, 1), leaves(6, 2)], { n: 1 }, "n", 1)).toBeNull();
    expect(nearestFit([leaves(4, 7)], { n: 1 }, "n", 1)).toBeNull();
  });

  it("are not looked for one by one where what is one less contradicts", () => {
    const text = `collective f(x: T[n] partial(sum)) -> y: T[n] sharded(0) where n % world == 0 {
      for i in tiles(shard(n - 1, rank)) { y[i - rank * (n / world)] = sum(p in ranks) x@p[i] }
    }`;
    const { kernel } = compile(text, { ranks: 3, dtype: "f32", mapping: PROOF_MAPPING });
    expect(nearestFit(kernel!.requirements, { n: 5 }, "n", 1)).toBeNull();
    const { answer } = prove({ kernel });
    expect(answer).toMatchObject({ status: "unknown" });
  });

  it("are not looked for one by one where moduli contradict each other", () => {
    let looked = 0;
    const counted = (r: Requirement): Requirement => ({
      ...r,
      get relation() {
        looked++;
        return r.relation;
      },
    });
    fitDims([counted(leaves(4, 1)), counted(leaves(6, 2))], { n: 100 }, new Set(["n"]));
    expect(looked).toBeLessThan(5000);
  });
});
