/** Folds that authors write for each element: which of them threads share, which kernels take the whole machine, and that it is right. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { printExtent } from "../../src/compiler/types/extent.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { PROOF_MAPPING, prove } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

/** The greatest of each piece of 100, then what each element is of it. */
const PIECES = `
collective pieces(x: T[n] local) -> y: T[n] local where n % 100 == 0
  ensures y[i] == x[i] - max(k in 0..100) x[i - i % 100 + k] {
  scratch most: T[n / 100]
  for b in tiles(n / 100) {
    most[b] = max(k in 0..100) x[b * 100 + k]
  }
  for b, k in tiles(n / 100, 100) {
    y[b * 100 + k] = x[b * 100 + k] - most[b]
  }
}
`;
const fold = (fn: string, element: string): string => `
collective f(x: T[m, n] local) -> y: T[m] local ensures y[i] == ${fn}(k in 0..n) ${element} {
  for i in tiles(m) {
    y[i] = ${fn}(k in 0..n) ${element}
  }
}
`;

const COLUMNS = (element: string): string => `
collective f(x: T[m, n] local) -> y: T[n] local ensures y[i] == max(k in 0..m) ${element} {
  for i in tiles(n) {
    y[i] = max(k in 0..m) ${element}
  }
}
`;

function kernelOf(text: string, ranks: number, pass?: string) {
  const { snapshots, kernel, diagnostics } = compile(text, { ranks, dtype: "f32" });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return pass === undefined ? kernel! : snapshots.find((s) => s.pass === pass)!.kernel;
}

/** How loops are mapped, in order. */
function loops(text: string): string {
  const maps: string[] = [];
  walkKernel(
    kernelOf(text, 2, "fuse-rows"),
    (op) => void (op.name === "for" && maps.push(String(op.attributes["map"]))),
  );
  return maps.join(" ");
}

describe("folds of each element", () => {
  it("are shared by threads where terms are neighbours in memory, together with what uses them", () => {
    expect(loops(PIECES)).toBe("rows tiles tiles");
    expect(loops(fold("max", "x[i, k]"))).toBe("rows tiles");
    expect(loops(fold("min", "(x[i, k] * 2)"))).toBe("rows tiles");
  });

  it("are shared by threads where terms of neighbours lie side by side, too", () => {
    expect(loops(COLUMNS("x[k, i]"))).toBe("rows tiles");
    expect(loops(COLUMNS("(x[k, i] * x[0, i])"))).toBe("rows tiles");
  });

  it("stay with their threads where terms are apart, are few, or have an order", () => {
    expect(loops(COLUMNS("x[k, i / 2]"))).toBe("tiles");
    expect(loops(COLUMNS("x[k, (i + k) % n]"))).toBe("tiles");
    expect(loops(COLUMNS("x@((rank + 1) % world)[k, i]"))).toBe("tiles");
    expect(loops(PIECES.replaceAll("100", "32"))).toBe("tiles tiles");
    expect(loops(fold("sum", "x[i, k]"))).toBe("tiles");
  });

  it("stay with their threads where terms are made of what the same turn stores, or after a condition", () => {
    const before = (statements: string, term: string): string => `
collective f(x: T[m, n] local) -> (y: T[m] local, z: T[m] local)
  where n >= 1
  ensures y[i] == x[i, 0] * 2
  ensures z[i] == max(k in 0..n) (x[i, 0] * 2 + x[i, k]) {
  for i in tiles(m) {
    ${statements}
    z[i] = max(k in 0..n) (${term} + x[i, k])
  }
}
`;
    const own = before("y[i] = x[i, 0] * 2", "y[i]");
    const conditional = before("if i >= 0 { y[i] = x[i, 0] * 2 }", "x[i, 0] * 2");
    const apart = before("y[i] = x[i, 0] * 2", "x[i, 0] * 2");
    expect([own, conditional, apart].map(loops)).toEqual(["tiles", "tiles", "rows tiles"]);
    for (const text of [own, conditional, apart]) {
      const compiled = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
      const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!) });
      expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
    }
  });

  it.each([
    [1, 1],
    [3, 7],
    [40, 100],
    [5, 20_000],
  ])("are right for rows of any length, %i × %i", (m, n) => {
    for (const [text, dims] of [
      [fold("max", "x[i, k]"), { m, n }],
      [PIECES, { n: 100 * m }],
      [COLUMNS("x[k, i]"), { m: n, n: m }],
    ] as const) {
      const { kernel, manifest, source } = compile(text, { ranks: 2, dtype: "f32" });
      const ranks = makeInputs(manifest!, dims, 1);
      new CpuGroup(kernel!, manifest!, { source }).run(ranks, dims);
      expect(checkOutputs(manifest!, dims, ranks, ranks)).toMatchObject({ correct: true, unspecified: [] });
    }
  });

  it("are proved as they ship: several short rows in a turn of a block", () => {
    const compiled = compile(PIECES, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
    const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!) });
    expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
    const sharedBuffers = (kernel: typeof compiled.kernel): string[] =>
      kernel!.buffers.filter((b) => b.role === "shared").map((b) => b.name);
    expect(sharedBuffers(compiled.kernel)).toEqual(sharedBuffers(kernelOf(PIECES, 2)));
    // Where it ships, 21 rows of 100 have six of 128 threads each; here four have one each.
    const rowsOf = (kernel: typeof compiled.kernel): string => printExtent(kernel!.work[0]!);
    expect([rowsOf(kernelOf(PIECES, 2)), rowsOf(compiled.kernel)].map((text) => /, (\d+)\)$/.exec(text)![1])).toEqual([
      "21",
      "4",
    ]);
  });
});

describe("blocks", () => {
  const blocks = (text: string): number => kernelOf(text, 4).maxBlocks;
  const each = (e: string): string =>
    `collective f(x: T[m, n] local) -> y: T[m, n] local { for i, j in tiles(m, n) { y[i, j] = ${e} } }`;

  it("are few where elements that peers have are moved and added", () => {
    for (const e of ["sum(p in ranks) x@p[i, j]", "x@(rank ^ 1)[i, j] * 3"]) expect(blocks(each(e)), e).toBe(32);
  });

  it("are as many as are resident where nothing is loaded from peers", () => {
    for (const e of ["x[i, j]", "max(x[i, j], 0)"]) expect(blocks(each(e)), e).toBe(132);
    expect(blocks(each("x[i, j]").replace("y[i, j] =", "y@(rank ^ 1)[i, j] ="))).toBe(132);
  });

  it("are as many as are resident where threads have more to do than the wire", () => {
    for (const e of ["exp(x[i, j])", "x[i, j] / x@(rank ^ 1)[i, j]", "T(f8e4m3(x[i, j]))"])
      expect(blocks(each(e)), e).toBe(132);
    // They wait for nobody, and are small.
    expect(blocks(PIECES)).toBe(8 * 132);
    const turned = each("x[i, j]").replace("y: T[m, n]", "y: T[n, m]").replace("y[i, j]", "y[j, i]");
    expect(blocks(turned)).toBe(132);
  });
});
