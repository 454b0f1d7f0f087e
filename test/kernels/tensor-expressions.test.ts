/**
 * Tensor expressions of every kind, on the cpu backend against the float64 reference made from their text, and proved.
 * Inputs are declared by name; each body uses some of them.
 */
import { describe, expect, it } from "vitest";
import { compile, type DimValues, type DType } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll, turned } from "../scope.js";

const INPUTS: Readonly<Record<string, string>> = {
  part: "T[m, n] partial(sum)",
  other: "T[m, n] partial(sum)",
  whole: "T[m, n] replicated",
  rows: "T[m, n] sharded(0)",
  columns: "T[m, n] sharded(1)",
  own: "T[m, n] local",
  first: "T[m, n] on(0)",
  most: "T[m, n] partial(max)",
  bias: "T[n] replicated",
  cutBias: "T[n] sharded(0)",
  partBias: "T[n] partial(sum)",
  tall: "T[m, 1] replicated",
  a: "T[m, k] sharded(1)",
  b: "T[k, n] sharded(0)",
  left: "T[m, k] replicated",
  leftRows: "T[m, k] sharded(0)",
  right: "T[k, n] replicated",
  turned: "T[n, k] replicated",
  gate: "T[k, n] sharded(1)",
  up: "T[k, n] sharded(1)",
  deep: "T[2, m, k] replicated",
  deepRows: "T[2, m, k] sharded(1)",
  deepB: "T[2, k, n] replicated",
  deepCut: "T[2, m, k] sharded(2)",
  deepDown: "T[2, k, n] sharded(1)",
  batch: "T[4 * world, m, k] sharded(0)",
  batchB: "T[4 * world, k, n] replicated",
};

/** Name, statements, and layout and shape of the result `y`. */
type Row = readonly [name: string, body: string, layout: string, shape: string];

const BROADCASTS: readonly Row[] = [
  ["a bias onto replicated rows", "y = whole + bias", "replicated", "m, n"],
  ["a bias onto sharded rows", "y = rows * bias - bias", "sharded(0)", "m, n"],
  ["a bias onto sharded columns", "y = columns + bias", "sharded(1)", "m, n"],
  ["a sharded bias onto sharded columns", "y = columns + cutBias", "sharded(1)", "m, n"],
  ["a sharded bias onto a replicated tensor", "y = whole + cutBias", "sharded(1)", "m, n"],
  ["a bias that is a sum onto a sum", "y = all_reduce(part + partBias)", "replicated", "m, n"],
  ["a column onto rows", "y = rows / (tall * tall + 1)", "sharded(0)", "m, n"],
  ["a row onto a column", "y = tall + bias", "replicated", "m, n"],
  ["a bias onto what one rank has", "y = first * tall + bias", "on(0)", "m, n"],
  ["a value of all ranks on one of them", "y = relu(whole)", "on(0)", "m, n"],
  ["a product on one rank", "y = (first @ transpose(right)) @ right", "on(0)", "m, n"],

  ["scaling of summands by a row", "y = all_reduce(part * bias)", "replicated", "m, n"],
  ["a bias after a reduction", "y = relu(reduce_scatter(part, dim: 1) + bias)", "sharded(1)", "m, n"],
];

const ELEMENTWISE: readonly Row[] = [
  ["comparisons and choices", "y = where(whole > 0.25, whole, 0)", "replicated", "m, n"],
  ["choices of numbers", "y = T(where(rows <= bias, 1, 2))", "sharded(0)", "m, n"],
  ["choices of numbers with points", "y = T(f32(whole) * where(whole <= bias, 1.0, 2.0))", "replicated", "m, n"],
  [
    "conditions joined",
    "y = where(whole > 0 and not (whole > bias) or whole == bias, bias, whole)",
    "replicated",
    "m, n",
  ],
  ["choices between summands", "y = all_reduce(where(whole < 0, part, other))", "replicated", "m, n"],
  ["masked summands", "y = reduce_scatter(where(bias > 0, part, 0), dim: 0)", "sharded(0)", "m, n"],
  ["functions", "y = sigmoid(whole) + tanh(whole) * silu(bias) - exp(-abs(whole))", "replicated", "m, n"],
  ["extremes of tensors", "y = max(min(rows, bias), -0.5)", "sharded(0)", "m, n"],
  ["casts", "y = T(f32(part) * 0.5)", "partial(sum)", "m, n"],
  ["a let used in several places", "let s = all_reduce(part)\n  y = gelu(s) * s + s", "replicated", "m, n"],
];

const FOLDS: readonly Row[] = [
  ["sums of rows", "y = sum(rows, dim: 1)", "sharded(0)", "m, 1"],
  ["sums of columns", "y = sum(whole, dim: 0)", "replicated", "1, n"],
  ["sums over the ranks", "y = all_reduce(sum(rows, dim: 0))", "replicated", "1, n"],
  ["means over the ranks", "y = all_reduce(mean(columns, dim: 1))", "replicated", "m, 1"],
  ["maxima over the ranks", "y = all_reduce(max(columns, dim: 1))", "replicated", "m, 1"],
  ["minima of rows of each rank", "y = own - min(own, dim: 1)", "local", "m, n"],
  ["maxima of maxima", "y = all_reduce(max(most, dim: 0))", "replicated", "1, n"],
  ["sums of summands", "y = all_reduce(mean(part, dim: 1))", "replicated", "m, 1"],
  ["a root mean square norm", "y = rows * rsqrt(mean(rows * rows, dim: 1) + 1e-5) * bias", "sharded(0)", "m, n"],
  ["softmax", "let e = exp(whole - max(whole, dim: 1))\n  y = e / sum(e, dim: 1)", "replicated", "m, n"],
  [
    "softmax over columns on all ranks",
    "let e = exp(columns - all_reduce(max(columns, dim: 1)))\n  y = e / all_reduce(sum(e, dim: 1))",
    "sharded(1)",
    "m, n",
  ],
  [
    "a norm of a sum over the ranks",
    "let h = all_reduce(part) + whole\n  y = h * rsqrt(mean(h * h, dim: 1) + 1e-5) * bias",
    "replicated",
    "m, n",
  ],
  [
    "a norm of a sum that is scattered",
    "let h = reduce_scatter(part, dim: 0) + rows\n  y = all_gather(h * rsqrt(mean(h * h, dim: 1) + 1e-5) * bias)",
    "replicated",
    "m, n",
  ],
];

const CONVERSIONS: readonly Row[] = [
  ["a gather of a scattered sum", "y = all_gather(reduce_scatter(part, dim: 0))", "replicated", "m, n"],
  ["an exchange inside an expression", "y = relu(all_to_all(rows * 2, dim: 1) + cutBias)", "sharded(1)", "m, n"],
  ["a broadcast of a reduction", "y = broadcast(reduce(part, to: 0) + first) * bias", "replicated", "m, n"],
  ["a scatter of a gather", "y = scatter(gather(rows, to: 0) * first, dim: 1)", "sharded(1)", "m, n"],
  ["a sum times a gathered tensor", "y = all_reduce(part * 2) * all_gather(rows)", "replicated", "m, n"],
  ["sums after sums", "y = all_reduce(part) * all_reduce(other) + all_reduce(part)", "replicated", "m, n"],
];

const VIEWS: readonly Row[] = [
  ["a slice of columns", "y = whole[.., 1..n]", "replicated", "m, n - 1"],
  ["a slice of sharded rows", "y = rows[.., n / 2..n]", "sharded(0)", "m, n - n / 2"],
  ["one row", "y = whole[0, ..] + bias", "replicated", "1, n"],
  ["a transpose", "y = transpose(rows)", "sharded(1)", "n, m"],
  ["a transpose of a sum", "y = transpose(all_reduce(part))", "replicated", "n, m"],
  ["permuted dimensions", "y = permute(deepRows, 1, 2, 0)", "sharded(0)", "m, k, 2"],
  ["another shape", "y = reshape(whole, n, m)", "replicated", "n, m"],
  ["heads of sharded columns", "y = reshape(deepRows, 2, m * k)", "sharded(1)", "2, m * k"],
  ["split columns", "y = reshape(whole, m, n, 1)", "replicated", "m, n, 1"],
  ["one after the other", "y = concat(rows, 2 * rows, whole, dim: 1)", "sharded(0)", "m, n + n + n"],
  ["sums one after the other", "y = concat(all_reduce(part), whole, dim: 0)", "replicated", "2 * m"],
  ["a part of a sum", "y = all_reduce(part)[0, ..] * bias", "replicated", "1, n"],
  ["a part of what is computed", "y = (whole * 2 + bias)[1..m, 1..n]", "replicated", "m - 1, n - 1"],
  ["a part of a part", "y = whole[.., 1..n][1..m, 0..n - 2]", "replicated", "m - 1, n - 2"],
  ["a part of a gathered part", "y = all_gather(relu(rows)[.., 2..n])[1, ..]", "replicated", "1, n - 2"],
  ["a sum of parts of summands", "y = all_reduce((part * bias)[.., 0..2])", "replicated", "m, 2"],
  ["a part of a condition", "y = where((whole > bias)[.., 1..n], 1, whole[.., 0..n - 1])", "replicated", "m, n - 1"],
  ["a part of a product", "y = (left @ right)[1..3, ..][.., n - 1]", "replicated", "2, 1"],
  ["a part of a negation", "y = -(-whole)[0, ..][.., 0..1]", "replicated", "1, 1"],
  ["a part of a view", "y = transpose(rows)[2..4, ..]", "sharded(1)", "2, m"],
  ["swapped halves", "y = concat(whole[.., 1..n], -whole[.., 0..1], dim: 1) * bias", "replicated", "m, n"],
].map(([name, body, layout, shape]) => [name!, body!, layout!, shape === "2 * m" ? "2 * m, n" : shape!] as const);

const PRODUCTS: readonly Row[] = [
  ["batches of matrices", "y = deep @ deepB", "replicated", "2, m, n"],
  ["one matrix for all batches", "y = deepRows @ right", "sharded(1)", "2, m, n"],
  ["batches over the ranks", "y = batch @ batchB", "sharded(0)", "4 * world, m, n"],
  ["batches of summands", "y = all_reduce(deepCut @ deepDown)", "replicated", "2, m, n"],
  ["a transposed matrix", "y = leftRows @ transpose(turned) + bias", "sharded(0)", "m, n"],
  ["a gated layer", "y = silu(left @ gate) * (left @ up)", "sharded(1)", "m, n"],
  [
    "a gated layer of gathered rows",
    "let x = all_gather(leftRows)\n  y = silu(x @ gate) * (x @ up)",
    "sharded(1)",
    "m, n",
  ],
  ["a sum with an epilogue", "y = gelu(all_reduce(a @ b) * 0.5 + bias)", "replicated", "m, n"],
  ["a scattered sum with an epilogue", "y = gelu(reduce_scatter(a @ b, dim: 0) + bias)", "sharded(0)", "m, n"],
  [
    "a norm of a product",
    "let h = all_reduce(a @ b)\n  y = h * rsqrt(mean(h * h, dim: 1) + 1e-5)",
    "replicated",
    "m, n",
  ],
];

function textOf([, body, layout, shape]: Row): string {
  const used = Object.entries(INPUTS).filter(([name]) => new RegExp(`\\b${name}\\b`).test(body));
  const inputs = used.map(([name, type]) => `${name}: ${type}`).join(", ");
  return `collective f(${inputs}) -> y: T[${shape}] ${layout} {\n  ${body}\n}\n`;
}

function expectRight(text: string, ranks: number, dtype: DType, dims: DimValues): void {
  const { kernel, manifest, source, diagnostics } = compile(text, { ranks, dtype });
  expect(diagnostics, diagnostics.map((d) => `${d.message} ${d.help ?? ""}`).join("\n")).toEqual([]);
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, maxBlocks: 3 });
  const own = Object.fromEntries(manifest!.dims.map((d) => [d, dims[d]!]));
  for (const seed of [1, 2]) {
    const data = makeInputs(manifest!, own, seed);
    group.run(data, own);
    const result = checkOutputs(manifest!, own, data, data);
    expect(result, `${ranks} ranks, ${dtype}`).toMatchObject({ correct: true, unspecified: [] });
    expect(result.bitwiseEqualAcrossRanks).not.toBe(false);
  }
}

const RANKS = [1, 2, 3, 4];
const PROVED = isAll ? [1, 2, 3, 4] : [3];
/** Of programs, so many share one that is proved. */
const SHARE = isAll ? 1 : 3;

const GROUPS = { BROADCASTS, ELEMENTWISE, FOLDS, CONVERSIONS, VIEWS, PRODUCTS };

for (const [group, rows] of Object.entries(GROUPS))
  describe(group.toLowerCase(), () => {
    for (const [i, row] of rows.entries())
      describe(row[0], () => {
        const text = textOf(row);
        it("is right", () => {
          for (const dtype of turned(["f32", "bf16"] as const, i))
            for (const ranks of isAll
              ? dtype === "f32"
                ? [2, 3]
                : [...RANKS, ...(i % 4 === 0 ? [8] : [])]
              : turned(RANKS, i >> 1))
              expectRight(text, ranks, dtype, { m: 3 * ranks, n: 5 * ranks, k: 4 * ranks });
        });
        it.runIf(i % SHARE === 0)("is proved", () => {
          for (const ranks of PROVED) {
            const compiled = compile(text, { ranks, dtype: "bf16", mapping: PROOF_MAPPING });
            const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!) });
            expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
          }
        });
      });
  });
