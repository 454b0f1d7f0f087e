/** Columns of a specification are those of the whole, and a fault in a large product is seen among the columns that are compared. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile, type DimValues, fitDims, type Manifest, specificationsOf } from "../../src/compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { encode, type TypedArray } from "../../src/runtime/numbers/index.js";
import { columnsOf } from "../../src/runtime/reference/columns.js";
import { type Context, evaluateRows, newKnowledge, specificationShape } from "../../src/runtime/reference/evaluate.js";
import { checkOutputs, generatedInputs, makeInputs } from "../../src/runtime/reference/index.js";
import { type Rows } from "../../src/runtime/reference/logical.js";

const root = join(import.meta.dirname, "../..");
const folders = ["kernels/matmul", "kernels/fused", "test/gpu/language"];
const programs = folders.flatMap((folder) =>
  readdirSync(join(root, folder)).map((name) => {
    const file = join(root, folder, name);
    return [`${folder}/${name}`, file, readFileSync(file, "utf8")] as const;
  }),
);
const written = (body: string): readonly [string, string, string] => [body, "f.coll", body];
const more = [
  written(`collective f(a: T[m, k] sharded(1), b: T[n, k] sharded(1), bias: T[n] replicated) -> c: T[m, n] sharded(0) {
  c = relu(reduce_scatter(a @ transpose(b), dim: 0) + bias) * 2.0
}`),
  written(`collective f(a: T[g, m, k] replicated, b: T[g, k, n] sharded(2), s: T[m, 1] replicated) -> c: T[g, m, n] sharded(2) {
  c = (a @ b) / (1.0 + abs(s))
}`),
  written(`collective f(a: i32[m, k] sharded(1), b: i32[k, n] sharded(0), r: i32[m, n] replicated) -> c: i32[m, n] replicated {
  c = max(all_reduce(a @ b), r) - sum(r, dim: 0)
}`),
];

function contextOf(text: string, file: string): Context {
  const { manifest, diagnostics } = compile(text, {
    ...{ file, ranks: 2, dtype: "bf16", resolve: importsFromDisk, library: libraryFromDisk },
  });
  if (manifest === null) throw new Error(diagnostics[0]!.message);
  const names = new Set(manifest.dims);
  const dims = fitDims(manifest.requirements, Object.fromEntries([...names].map((d) => [d, 24])), names);
  const scalars = Object.fromEntries(manifest.scalars.map(({ name }) => [name, 1]));
  return { manifest, dims: { ...dims, ...scalars }, read: generatedInputs(manifest, dims, 7), known: newKnowledge() };
}

const parts = ({ values, error, sizes, wide }: Rows): readonly (ArrayLike<number> | BigInt64Array | null)[] => [
  values,
  error,
  sizes ?? null,
  wide ?? null,
];

describe("columns of a value are the columns of the whole", () => {
  it.each([...programs, ...more])("%s", (name, file, text) => {
    const c = contextOf(text, file);
    let narrowed = 0;
    for (const s of specificationsOf(c.manifest.specification)) {
      if (s === null || s.kind === "elements") continue;
      const shape = specificationShape(s, c);
      const width = shape.at(-1)!;
      for (const columns of [
        { from: 0, count: 3 },
        { from: width - 5, count: 5 },
        { from: 1, count: width - 1 },
      ]) {
        if (shape.length < 2 || width < 6) continue;
        const own = columnsOf(s, columns, c);
        if (own === null) continue;
        narrowed++;
        expect(specificationShape(own, c)).toEqual([...shape.slice(0, -1), columns.count]);
        const [first, last] = [1, shape[0]!];
        const [some, all] = [own, s].map((x) => parts(evaluateRows(x, c, first, last, 1)));
        some!.forEach((array, p) => {
          const lines = array === null ? 0 : array.length / columns.count;
          if (array === null) expect(all![p]).toBeNull();
          for (let line = 0; line < lines; line++)
            for (let j = 0; j < columns.count; j++)
              expect(array![line * columns.count + j]).toBe(all![p]![line * width + columns.from + j]);
        });
      }
    }
    // A fold along a row takes all of it; products of the library have none.
    if (name.startsWith("kernels/matmul") || file === "f.coll") expect(narrowed).toBeGreaterThan(0);
  });
});

describe("a sample of a product", () => {
  const text = readFileSync(join(root, "kernels/matmul/all_reduce.coll"), "utf8");
  const { manifest: made } = compile(text, {
    ...{ file: "all_reduce.coll", ranks: 2, dtype: "bf16", resolve: importsFromDisk, library: libraryFromDisk },
  });
  const manifest: Manifest = made!;
  const dims: DimValues = { m: 256, n: 384, k: 16 };
  const inputs = makeInputs(manifest, dims, 3);
  const c: Context = { manifest, dims, read: generatedInputs(manifest, dims, 3), known: newKnowledge() };
  const [s] = specificationsOf(manifest.specification);
  if (s === null || s === undefined || s.kind === "elements") throw new Error("the product has no specification");
  const { values } = evaluateRows(s, c, 0, dims["m"]!, 0);
  const right = (): Uint16Array => Uint16Array.from(values, (v) => encode("bf16", v));
  const checked = (outputs: TypedArray): ReturnType<typeof checkOutputs> =>
    checkOutputs(manifest, dims, inputs, [{ outputs: { [manifest.outputs[0]!.name]: outputs } }, undefined], {
      maxElements: 96 ** 2,
      seed: 5,
    });

  it("is right where all of it is", () => {
    const verdict = checked(right());
    expect(verdict.correct).toBe(true);
    expect(verdict.checked).toBe(96 ** 2);
  });

  it("has the last of a few rows", () => {
    const few: DimValues = { m: 6, n: 4096, k: 16 };
    const data = makeInputs(manifest, few, 3);
    const context: Context = { manifest, dims: few, read: generatedInputs(manifest, few, 3), known: newKnowledge() };
    const outputs = Uint16Array.from(evaluateRows(s, context, 0, 6, 0).values, (v) => encode("bf16", v));
    const name = manifest.outputs[0]!.name;
    const verdict = () =>
      checkOutputs(manifest, few, data, [{ outputs: { [name]: outputs } }, undefined], { maxElements: 512, seed: 5 });
    expect(verdict()).toMatchObject({ correct: true, checked: 6 * 8 * 11 });
    outputs.fill(encode("bf16", 100), 5 * 4096);
    expect(verdict().correct).toBe(false);
  });

  it("finds a tile of 64 by 64 that is wrong, wherever it lies", () => {
    for (let row = 0; row < dims["m"]!; row += 64)
      for (let column = 0; column < dims["n"]!; column += 64) {
        const outputs = right();
        for (let i = row; i < row + 64; i++)
          for (let j = column; j < column + 64; j++) outputs[i * dims["n"]! + j] = encode("bf16", 100);
        const { correct, firstMismatch } = checked(outputs);
        expect(correct).toBe(false);
        const at = firstMismatch!.index;
        expect(Math.floor(at / dims["n"]!)).toBeGreaterThanOrEqual(row);
        expect(at % dims["n"]!).toBeGreaterThanOrEqual(column);
        expect(at % dims["n"]!).toBeLessThan(column + 64);
      }
  });
});
