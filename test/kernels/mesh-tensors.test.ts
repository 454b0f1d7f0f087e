/**
 * Tensor expressions over the axes of a mesh: a layout for each axis, conversions along one. On the cpu backend against the
 * float64 reference made from their text, proved on 2 × 2, 2 × 3 and 3 × 2 ranks, and refuted where they are wrong.
 */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, parseKernel, printKernel } from "../../src/compiler/index.js";
import { type Claims, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll, turned } from "../scope.js";

const head = (inputs: string, outputs: string, body: string): string =>
  `collective f(${inputs}) -> ${outputs}\n  mesh(dp, tp) {\n${body}\n}\n`;

const PROGRAMS: Readonly<Record<string, string>> = {
  "two linear layers, data- and tensor-parallel": head(
    "x: T[m, k] sharded(0, dp) replicated(tp), w: T[k, n] replicated(dp) sharded(1, tp), v: T[n, k] replicated(dp) sharded(0, tp)",
    "y: T[m, k] sharded(0, dp) replicated(tp)",
    "  y = all_reduce(relu(x @ w) @ v, over: tp)",
  ),
  "a weight's gradient: summed over what the data is parallel along": head(
    "x: T[k, m] sharded(1, dp) replicated(tp), g: T[k, n] replicated(dp) sharded(1, tp)",
    "d: T[m, n] replicated(dp) sharded(1, tp)",
    "  d = all_gather(transpose(x) @ g, dim: 0, over: dp)",
  ),
  "gradients that are summed along one axis and lie along the other": head(
    "g: T[m, n] partial(sum, dp) sharded(1, tp), old: T[m, n] replicated",
    "new: T[m, n] sharded(0, dp) sharded(1, tp)",
    "  new = old - reduce_scatter(g, dim: 0, over: dp) * 0.5",
  ),
  "a sum over all ranks, one axis after the other": head(
    "x: T[m, n] partial(sum)",
    "y: T[m, n] replicated",
    "  y = all_gather(all_reduce(reduce_scatter(x, dim: 1, over: tp), over: dp), over: tp)",
  ),
  "a dimension that both axes cut": head(
    "x: T[m, n] sharded(0)",
    "(y: T[m, n] sharded(0, dp) sharded(1, tp), z: T[m, n] sharded(0, dp) replicated(tp), whole: T[m, n] replicated)",
    "  y = all_to_all(x, dim: 1, over: tp)\n  z = all_gather(x, over: tp)\n  whole = all_gather(z, over: dp)",
  ),
  "averages of averages": head(
    "x: T[m, n] partial(avg)",
    "y: T[m, n] replicated(dp) sharded(1, tp)",
    "  y = all_reduce(reduce_scatter(x, dim: 1, over: tp), over: dp)",
  ),
  "largest values, folded along what is cut": head(
    "x: T[m, n] sharded(0, dp) sharded(1, tp)",
    "(y: T[m, 1] sharded(0, dp) replicated(tp), z: T[1, 1] replicated)",
    "  y = all_reduce(max(x, dim: 1), over: tp)\n  z = all_reduce(max(y, dim: 0), over: dp)",
  ),
  "heads, which a view takes along": head(
    "x: T[m, 2 * world.tp * n] sharded(0, dp) sharded(1, tp)".replace("world.tp", "world"),
    "y: T[2 * world, m, n] sharded(0, tp) sharded(1, dp)",
    "  y = permute(reshape(x, m, 2 * world, n), 1, 0, 2) * 2",
  ),
  "a norm whose rows lie along one axis, with a bias and a residual stream in place": head(
    "h: T[m, n] sharded(0, dp) partial(sum, tp), r: T[m, n] sharded(0, dp) replicated(tp), bias: T[n] replicated, eps: f32",
    "(r: T[m, n] sharded(0, dp) replicated(tp), y: T[m, n] sharded(0, dp) replicated(tp))",
    "  r = r + all_reduce(h, over: tp) + bias\n  y = r * rsqrt(mean(r * r, dim: 1) + eps)",
  ),
  "one rank of each row: broadcast, reduced, scattered and gathered": head(
    "w: T[m, n] on(0, tp), g: T[m, n] sharded(0, dp) partial(sum, tp), x: T[m, n] sharded(0, dp) sharded(1, tp), b: T[m, n] on(0)",
    "(a: T[m, n] replicated(tp), s: T[m, n] sharded(0, dp) on(0, tp), t: T[m, n] sharded(0, dp) on(0, tp), c: T[m, n] sharded(0, dp) sharded(1, tp), whole: T[m, n] replicated)",
    [
      "  a = broadcast(w, over: tp) * 2",
      "  s = reduce(g, to: 0, over: tp)",
      "  t = gather(x, to: 0, over: tp)",
      "  c = scatter(scatter(b, dim: 0, over: dp), dim: 1, over: tp)",
      "  whole = broadcast(broadcast(b, over: tp), over: dp)",
    ].join("\n"),
  ),
  "to one rank of all, one axis after the other, and computed with there": head(
    "g: T[m, n] partial(sum), x: T[m, n] sharded(0)",
    "(total: T[m, n] on(0), all: T[m, n] on(0), row: T[m, n] on(0, dp) sharded(1, tp))",
    [
      "  total = relu(reduce(reduce(g, to: 0, over: tp), to: 0, over: dp))",
      "  all = gather(gather(x, to: 0, over: tp) * 0.5, to: 0, over: dp)",
      "  row = reduce(reduce_scatter(g, dim: 1, over: tp), to: 0, over: dp)",
    ].join("\n"),
  ),
  "rows of the mesh that have nothing to do with each other": head(
    "x: T[n] partial(sum, tp)",
    "y: T[n] sharded(0, tp)",
    "  y = reduce_scatter(x, dim: 0, over: tp)",
  ),
};
const MESHES = [
  [2, 2],
  [2, 3],
  [3, 2],
] as const;
const dims = { m: 12, n: 24, k: 36, eps: 0.5 };

describe.each(Object.entries(PROGRAMS).map(([name, text], turn) => [name, text, turn] as const))(
  "%s",
  (_, text, turn) => {
    const cases = MESHES.flatMap((mesh) => (["f32", "bf16"] as const).map((dtype) => [mesh, dtype] as const));
    const chosen = turned(cases, turn);
    it.each(isAll ? [...MESHES, [1, 2] as const, [2, 1] as const, [3, 3] as const] : chosen.map(([mesh]) => mesh))(
      "computes what it says on %i × %i ranks",
      (dp, tp) => {
        const isLarge = dp * tp === 9;
        const isListed = MESHES.some(([a, b]) => a === dp && b === tp);
        const dtypes = chosen.filter(([[a, b]]) => a === dp && b === tp).map(([, dtype]) => dtype);
        for (const dtype of isLarge ? (["bf16"] as const) : isListed ? dtypes : (["f32", "bf16"] as const)) {
          const size = isLarge ? { m: 18, n: 36, k: 36, eps: 0.5 } : dims;
          const program = compile(text, { ranks: dp * tp, dtype, mesh: { dp, tp } });
          expect(program.diagnostics).toEqual([]);
          const kernels = program.variants.length > 0 ? program.variants.map((v) => v.compiled) : [program];
          for (const { kernel, manifest } of kernels) {
            expect(printKernel(parseKernel(printKernel(kernel!)))).toBe(printKernel(kernel!));
            const group = new CpuGroup(kernel!, manifest!, { detectUnwritten: true, seed: 3 });
            for (const launch of [1, 2]) {
              const ranks = makeInputs(manifest!, size, launch);
              group.run(ranks, size);
              expect(checkOutputs(manifest!, size, ranks, ranks)).toMatchObject({ correct: true, unspecified: [] });
            }
          }
        }
      },
    );

    // Axes of one length hide which is which.
    it.each(isAll ? MESHES : MESHES.filter(([dp, tp]) => dp < tp))("is proved on %i × %i ranks", (dp, tp) => {
      for (const claims of proved(text, dp, tp)) {
        expect(claims.answer.status, summaryLine(claims)).toBe("proved");
        expect(claims.ordering.status, summaryLine(claims)).toBe("proved");
      }
    });
  },
);

function proved(text: string, dp: number, tp: number): Claims[] {
  const compiled = compile(text, { ranks: dp * tp, dtype: "f32", mapping: PROOF_MAPPING, mesh: { dp, tp } });
  expect(compiled.diagnostics).toEqual([]);
  const kernels = compiled.variants.length > 0 ? compiled.variants.map((v) => v.compiled) : [compiled];
  const shapes = [{ m: 12, n: 12, k: 12 }].filter(() => compiled.kernel!.dims.length > 1);
  return kernels.map((k) => {
    const some = shapes.map((s) => Object.fromEntries(k.kernel!.dims.map((d) => [d, s[d as "m"]])));
    return prove(k, { shared: sharedLayout(k.kernel!), ...(some.length > 0 && { shapes: some }) });
  });
}

describe("loops under a layout for each axis", () => {
  const LOOPS = (over: string, place: string): string =>
    head(
      "x: T[m, n] partial(sum, dp) sharded(1, tp)",
      "y: T[m, n] sharded(0, dp) sharded(1, tp)",
      `  for i, j in tiles(m / world.dp, n / world.tp) {\n    y[i, j] = sum(p in ranks(${over})) x@p[${place} * (m / world.dp) + i, j]\n  }`,
    );
  it("are proved where they do what the signature says, and refuted where they mistake an axis", () => {
    for (const [dp, tp] of MESHES) {
      expect(proved(LOOPS("dp", "rank.dp"), dp, tp)[0]!.answer.status).toBe("proved");
      expect(proved(LOOPS("tp", "rank.dp"), dp, tp)[0]!.answer.status).toBe("wrong");
    }
    expect(proved(LOOPS("dp", "rank.tp"), 2, 2)[0]!.answer.status).toBe("wrong");
  });

  it("what is replicated along an axis is equal bit for bit on its ranks", () => {
    const each = (start: string): string =>
      head(
        "x: T[n] sharded(0, dp) partial(sum, tp)",
        "y: T[n] sharded(0, dp) replicated(tp)",
        `  for i in tiles(n / world.dp) {\n    y[i] = x@(rank - rank.tp + ${start})[i] + x@(rank - rank.tp + (${start} + 1) % 3)[i] + x@(rank - rank.tp + (${start} + 2) % 3)[i]\n  }`,
      );
    expect(proved(each("0"), 2, 3)[0]!.answer.status).toBe("proved");
    expect(proved(each("rank.tp"), 2, 3)[0]!.answer).toMatchObject({ status: "wrong", kind: "bits" });
  });
});

describe("what cannot be is said, with what to write", () => {
  const said = (text: string) =>
    compile(text, { ranks: 6, dtype: "f32", mesh: { dp: 2, tp: 3 } }).diagnostics.map((d) => [
      d.code,
      d.help ?? d.message,
    ]);
  const over = (layout: string, value: string, out: string): ReturnType<typeof said> =>
    said(head(`x: T[m, n] ${layout}, b: T[m, n] replicated(dp) sharded(0, tp)`, `y: T[m, n] ${out}`, `  y = ${value}`)).filter(([code]) => code !== "unused"); // prettier-ignore
  it.each([
    [
      "partial(sum, dp) sharded(0, tp)",
      "all_reduce(x)",
      "replicated",
      "bad-conversion",
      "name the axis: all_reduce(…, over: dp)",
    ],
    [
      "partial(sum, dp) sharded(0, tp)",
      "all_reduce(x, over: tp)",
      "replicated",
      "bad-conversion",
      "from sharded(0), that is all_gather(…)",
    ],
    ["partial(sum, dp) sharded(0, tp)", "all_reduce(x, over: pp)", "replicated", "unknown-axis", "the mesh has dp, tp"],
    [
      "partial(sum, dp) sharded(0, tp)",
      "reduce_scatter(x, dim: 0, over: dp)",
      "sharded(0)",
      "bad-conversion",
      "'tp' cuts it into parts of these parts: convert along 'tp' first",
    ],
    [
      "sharded(0)",
      "all_gather(x, over: dp)",
      "replicated(dp) sharded(0, tp)",
      "bad-conversion",
      "'tp' cuts it into parts of these parts: convert along 'tp' first",
    ],
    [
      "partial(sum, dp) sharded(0, tp)",
      "relu(x)",
      "replicated",
      "not-linear",
      "reduce it first: relu(all_reduce(x, over: dp))",
    ],
    [
      "sharded(0, dp) sharded(1, tp)",
      "x",
      "sharded(0, dp) replicated(tp)",
      "layout-mismatch",
      "convert it: y = all_gather(x, over: tp)",
    ],
    ["sharded(0)", "x + b", "sharded(0)", "operand-layouts", "declare them with one layout"],
    ["sharded(0, dp) sharded(1)", "x", "replicated", "bad-layout-argument", "name the axis, as in sharded(0, gpu)"],
    ["sharded(0, dp) sharded(1, dp)", "x", "replicated", "bad-layout-argument", "name another axis"],
    ["partial(sum, dp) partial(max, tp)", "x", "replicated", "bad-layout-argument", "write partial(sum, tp)"],
    ["on(0, dp) replicated(tp)", "x", "replicated", "layout-mismatch", "convert it: y = broadcast(x, over: dp)"],
    ["on(0, dp)", "broadcast(x)", "replicated(dp)", "bad-conversion", "name the axis: broadcast(…, over: dp)"],
    ["sharded(0, dp) partial(sum, tp)", "reduce(x, to: 7, over: tp)", "replicated", "no-such-rank", /rank|count/],
    [
      "sharded(0, dp) sharded(1, tp)",
      "reduce(x, to: 0, over: tp)",
      "replicated",
      "bad-conversion",
      "from sharded(1), that is gather(…, to: 0)",
    ],
    [
      "partial(sum, dp) sharded(0, tp)",
      "x",
      "partial(sum, dp) sharded(0, tp)",
      "bad-layout-argument",
      "reduce it: all_reduce(…, over: …)",
    ],
  ] as const)("%s: %s", (layout, value, out, code, help) => {
    const [first] = over(layout, value, out);
    expect(first![0]).toBe(code);
    expect(first![1]).toMatch(help);
  });
});
