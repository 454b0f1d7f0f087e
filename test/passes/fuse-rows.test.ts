/** Loops over rows: which tile loops become one, what is left to synchronise, and that it is right at all sizes. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Op, Region } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { PROOF_MAPPING, prove } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { turned } from "../scope.js";

type DType = "f32" | "f16" | "bf16";

const NORM = `
collective norm(x: T[m, n] partial(sum), weight: T[n] replicated) -> (y: T[m, n] replicated, s: T[m, n] replicated)
  where T in (f32, f16, bf16) {
  s = all_reduce(x)
  y = s * rsqrt(mean(s * s, dim: 1) + 1e-6) * weight
}
`;
const SCATTERED = `
collective scattered(x: T[m, n] partial(sum)) -> y: T[m, n] replicated where T in (f32, f16, bf16) {
  let s = reduce_scatter(x, dim: 0)
  y = all_gather(s / sum(abs(s), dim: 1))
}
`;
const SOFTMAX = `
collective softmax(x: T[m, n] sharded(1)) -> y: T[m, n] sharded(1) where T in (f32, f16, bf16) {
  let e = exp(x - all_reduce(max(x, dim: 1)))
  y = e / all_reduce(sum(e, dim: 1))
}
`;
const BATCHED = `
collective batched(x: T[b, m, n] sharded(0)) -> y: T[b, m, n] sharded(0) where T in (f32, f16, bf16) {
  y = x - max(x, dim: 2)
}
`;

function atRank(text: string, ranks: number, pass: string, dtype: DType = "f32") {
  const { snapshots, diagnostics } = compile(text, { ranks, dtype });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return snapshots.find((s) => s.pass === pass)!.kernel;
}

/** Loops and barriers, with what the tile loops store: `tiles y`, `rows {tiles s; tiles folded}`. */
function outline(region: Region): string {
  const stores = (op: Op): string[] => [
    ...(op.name === "store" ? [String(op.attributes["buffer"])] : []),
    ...op.regions.flatMap((r) => r.ops.flatMap(stores)),
  ];
  return region.ops
    .flatMap((op): string[] => {
      const map = op.attributes["map"];
      if (op.name === "barrier") return [`${String(op.attributes["scope"])} ${String(op.attributes["ranks"])}`];
      if (op.name === "block_sync") return ["meet"];
      if (map === "tiles") return [`tiles ${stores(op).join("+")}`];
      if (map === "rows") return [`rows {${outline(op.regions[0]!)}}`];
      return [];
    })
    .join("; ");
}

function barriers(text: string, ranks: number): string {
  return outline(atRank(text, ranks, "derive-sync").body);
}

describe("fuse-rows", () => {
  it("makes one loop of what is folded and what uses it", () => {
    expect(outline(atRank(NORM, 2, "infer-symmetric").body)).toBe("tiles s; tiles folded; tiles y");
    expect(outline(atRank(NORM, 2, "fuse-rows").body)).toBe("rows {tiles s; tiles folded; tiles y}");
  });

  it("leaves derive-sync no barrier of all blocks", () => {
    expect(barriers(NORM, 2)).toBe("block all; rows {tiles s; tiles folded; tiles y}; block all");
    expect(barriers(SCATTERED, 4)).toBe("block all; rows {tiles value; tiles folded; tiles y}; block all");
    expect(barriers(BATCHED, 4)).toBe("rows {tiles folded; tiles y}");
  });

  it("has blocks of one number meet between loops over the same rows", () => {
    expect(barriers(SOFTMAX, 2)).toBe(
      "rows {tiles folded}; block all; rows {tiles value; tiles folded2}; block all; rows {tiles value2; tiles y}",
    );
  });

  it.each([
    [
      "a column is read",
      `collective c(x: T[m, n] local, z: T[n, m] local) -> y: T[n, m] local where T in (f32) {
         let r = sum(x, dim: 1)
         y = z + transpose(r)
       }`,
      "rows {tiles folded}; grid self; tiles y",
    ],
    [
      "nothing is folded",
      `collective c(x: T[m, n] partial(sum)) -> (y: T[m, n] replicated, z: T[m, n] replicated) where T in (f32) {
         y = all_reduce(x)
         z = y * y
       }`,
      "block all; tiles y; block self; tiles z; block all",
    ],
  ])("keeps apart what does not stay in its row: %s", (_, text, expected) => {
    expect(barriers(text, 2)).toBe(expected);
  });

  it("keeps apart rows that the ranks share and rows that each has all of", () => {
    expect(barriers(NORM, 4)).toBe("block all; tiles s; grid all; rows {tiles folded; tiles y}");
  });

  it("prints and reads back", () => {
    const text = printKernel(atRank(SOFTMAX, 2, "fuse-rows"));
    expect(text).toContain('map="rows"');
    expect(printKernel(parseKernel(text))).toBe(text);
  });
});

describe("map-rows", () => {
  it("keeps a number for each row in shared memory, if nobody else needs it", () => {
    const roles = (text: string) =>
      Object.fromEntries(atRank(text, 2, "map-rows").buffers.map((b) => [b.name, b.role] as const));
    expect(roles(NORM)).toMatchObject({ folded_row: "shared" });
    expect(roles(NORM)).not.toHaveProperty("folded");
    expect(roles(SOFTMAX)).toMatchObject({ folded: "scratch", value2: "scratch" });
  });

  it("folds elements as they are made, instead of reading them again", () => {
    const touched = (text: string, buffer: string, pass: string): string[] => {
      const found = new Set<string>();
      walkKernel(atRank(text, 2, pass), (op, parents) => {
        const isFolded = parents.some((p) => p.name === "reduce");
        if (isFolded && op.attributes["buffer"] === buffer) found.add(op.name);
      });
      return [...found];
    };
    expect(touched(NORM, "s", "fuse-rows")).toEqual(["load"]);
    expect(touched(NORM, "s", "map-rows")).toEqual(["store"]);
    expect(touched(SOFTMAX, "x", "map-rows")).toEqual(["load"]);
  });

  const cases = (["f32", "f16", "bf16"] as const).flatMap((dtype) => [3, 1].map((ranks) => [dtype, ranks] as const));
  const texts = [NORM, SCATTERED, SOFTMAX, BATCHED].map((text, turn) => [text, turn] as const);

  it.each(texts)("is proved with several rows to a turn, and several turns to a row", (text, turn) => {
    for (const dtype of turned(["f32", "bf16"] as const, turn)) {
      const compiled = compile(text, { ranks: 2, dtype, mapping: PROOF_MAPPING });
      const { dims } = compiled.kernel!;
      const shapes = [
        [7, 1],
        [9, 5],
        [6, 16],
        [5, 33],
        [2, 64],
        [4, 131],
      ].map(([rows, columns]) =>
        Object.fromEntries(dims.map((d) => [d, d === "n" ? (text === SOFTMAX ? 2 * columns! : columns!) : 2 * rows!])),
      );
      const claims = prove(compiled, { shapes, shared: sharedLayout(compiled.kernel!) });
      expect(claims).toMatchObject({ answer: { status: "proved" }, ordering: { status: "proved" } });
    }
  });

  it.each(texts)("is right at all sizes", (text, turn) => {
    for (const [dtype, ranks] of turned(cases, turn)) {
      const { kernel, manifest, source } = compile(text, { ranks, dtype });
      const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
      for (const [rows, columns] of [
        [1, 1],
        [37, 3],
        [70, 64],
        [5, 2049],
        [3, 4096],
        [2, 20_000],
        [1, 9001],
      ] as const) {
        const dims = Object.fromEntries(
          manifest!.dims.map((d) => [d, d === "n" ? columns * ranks : d === "b" ? ranks : rows * ranks]),
        );
        for (const seed of [1, 2]) {
          const data = makeInputs(manifest!, dims, seed);
          group.run(data, dims);
          expect(checkOutputs(manifest!, dims, data, data), `${dtype} ${ranks} ${rows} ${columns}`).toMatchObject({
            correct: true,
          });
        }
      }
    }
  });

  it("scratch keeps what a later time of a loop around finds in it", () => {
    const text = `collective f(x: f32[m, n] local) -> (y: f32[m, n] local, w: f32[m, n] local)
      ensures w[i, j] == x[i, j] ensures y[i, j] == 3 * (max(q in 0..n) x[i, q]) {
      scratch s: f32[m, 1]
      for i, j in tiles(m, n) { y[i, j] = 0 }
      for k in 0..3 {
        for i, j in tiles(m, n) { w[i, j] = x[i, j] * 1 }
        for i, u in tiles(m, 1) { let v = max(q in 0..n) w[i, q]  if k == 0 { s[i, 0] = v } }
        for i, j in tiles(m, n) { y[i, j] = y[i, j] + s[i, 0] }
      }
    }`;
    const { kernel, manifest, source } = compile(text, { ranks: 1, dtype: "f32", mapping: PROOF_MAPPING });
    const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
    const data = makeInputs(manifest!, { m: 33, n: 130 }, 1);
    group.run(data, { m: 33, n: 130 });
    expect(checkOutputs(manifest!, { m: 33, n: 130 }, data, data)).toMatchObject({ correct: true });
  });
});
