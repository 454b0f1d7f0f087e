/** Floats that are stored where whole numbers are: fractions are cut off, what is out of range stays at its end, and what is claimed says so. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { proveAnswer } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

/** What the outputs hold of such inputs, on one rank. */
function results(text: string, values: Record<string, readonly number[]>): { held: number[][]; isRight: boolean } {
  const { kernel, manifest, source, diagnostics } = compile(`collective f${text}`, { ranks: 1, dtype: "f32" });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const dims = { n: Object.values(values)[0]!.length };
  const [data] = makeInputs(manifest!, dims, 1) as [ReturnType<typeof makeInputs>[number]];
  for (const [name, given] of Object.entries(values)) (data.inputs[name] as Float32Array).set(given);
  new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true }).run([data], dims);
  const held = manifest!.outputs.map(({ name }) => Array.from(data.outputs[name] as Float32Array, Number));
  return { held, isRight: checkOutputs(manifest!, dims, [data], [data]).correct };
}

const SOME = [0.5, -0.5, 1.75, -1.75, 3e9, -3e9, 1e30, -1e30, 2147483520, NaN];
const CUT_OFF = [0, 0, 1, -1, 2147483647, -2147483648, 2147483647, -2147483648, 2147483520, 0].map((x) => x + 0);

describe("a float in an integer's place", () => {
  it.each([
    ["of a tensor", "(x: f32[n] local) -> y: i32[n] local { y = x }"],
    ["of a tensor, as a cast", "(x: f32[n] local) -> y: i32[n] local { y = i32(x) }"],
    [
      "of an element",
      "(x: f32[n] local) -> y: i32[n] local ensures y[i] == i32(x[i]) { for i in tiles(n) { y[i] = x[i] } }",
    ],
    ["of all ranks' elements", "(x: f32[n] replicated) -> y: i32[n] replicated { for i in tiles(n) { y[i] = x[i] } }"],
  ])("%s, is cut off, and stays at the ends of the range", (_, text) => {
    const { held, isRight } = results(text, { x: SOME });
    expect(held[0]!.map((x) => x + 0)).toEqual(CUT_OFF);
    expect(isRight).toBe(true);
  });

  it("is read from there as it was stored", () => {
    const text = "(x: f32[n] local) -> (y: i32[n] local, z: f32[n] local) { y = x z = f32(y) + x }";
    const { held, isRight } = results(text, { x: [0.5, -1.75, 2.25] });
    expect(held).toEqual([[0, -1, 2], [0.5, -2.75, 4.25]]); // prettier-ignore
    expect(isRight).toBe(true);
  });

  it("of fewer bits is read as it was rounded", () => {
    const text = "(x: f32[n] local) -> (y: bf16[n] local, z: f32[n] local) { y = x z = (f32(y) - x) * 65536 }";
    const { held, isRight } = results(text, { x: [1.00390625, 3.0078125, 1] });
    expect(held[1]).toEqual([-256, -512, 0]);
    expect(isRight).toBe(true);
  });

  it.each([
    ["a sum of ranks", "(x: f32[n] partial(sum)) -> y: i32[n] replicated { y = all_reduce(x) }"],
    ["a product", "(a: bf16[n, n] local, b: bf16[n, n] local) -> y: i32[n, n] local { y = a @ b }"],
    ["a tensor", "(x: f32[n] replicated) -> y: i8[n] replicated { y = x }"],
  ])("made of %s is proved to be that", (_, text) => {
    const { kernel } = compile(`collective f${text}`, { ranks: 2, mapping: { elementThreads: 4, elementBlocks: 3 } });
    expect(proveAnswer(kernel!, { dims: { n: 6 } }).status).toBe("proved");
  });
});

describe("a literal that float32 does not have", () => {
  it.each([
    ["in tensors", "(x: f32[n] local) -> y: i64[n] local { y = i64(x * 1000000000000.0) }"],
    [
      "of elements",
      "(x: f32[n] local) -> y: i64[n] local ensures y[i] == i64(x[i] * 1000000000000) { for i in tiles(n) { y[i] = i64(x[i] * 1000000000000) } }",
    ],
    ["with a fraction", "(x: f32[n] local) -> y: i64[n] local { y = i64(x * 0.1) }"],
  ])("%s, is allowed for where what is made of it is a whole number", (_, text) => {
    const { kernel, manifest, source } = compile(`collective f${text}`, { ranks: 1, dtype: "f32" });
    const data = makeInputs(manifest!, { n: 20_000 }, 3);
    new CpuGroup(kernel!, manifest!, { source }).run(data, { n: 20_000 });
    expect(checkOutputs(manifest!, { n: 20_000 }, data, data)).toMatchObject({ correct: true });
  });
});
