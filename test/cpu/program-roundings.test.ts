/** Roundings of the program that the signature says nothing of are right; whatever else is wrong stays wrong. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile, type CompileOptions, PROOF_MAPPING } from "../../src/compiler/index.js";
import { CpuGroup, runHostile } from "../../src/runtime/cpu/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import {
  checkOutputs,
  type CheckResult,
  heldInputs,
  makeInputs,
  programElements,
} from "../../src/runtime/reference/index.js";

const local = (claim: string, body: string, dtype = "f32"): string => `
collective f(x: ${dtype}[n] local) -> y: ${dtype}[n] local
  ensures y[i] == ${claim} {
  ${body}
}`;

const each = (value: string): string => `for i in tiles(n) { y[i] = ${value} }`;

const through = (box: string, times = ""): string =>
  local(
    `x@((rank - 1) % world)[i]${times}`,
    `scratch box: ${box}[n]
  for i in tiles(n) { box@((rank + 1) % world)[i] = x[i]${times} }
  for i in tiles(n) { y[i] = f32(box[i]) }`,
  );

/** A wire with a scale for 4 elements, by which the largest of them becomes the largest number of the wire. */
const scaled = (box: string, largest: number): string =>
  local(
    "x@((rank - 1) % world)[i]",
    `scratch box: ${box}[n]
  scratch scales: f32[n]
  for b in tiles(n / 4) {
    let scale = (max(k in 0..4) abs(x[4 * b + k])) / ${largest}
    for k in 0..4 {
      scales@((rank + 1) % world)[4 * b + k] = scale
      box@((rank + 1) % world)[4 * b + k] = x[4 * b + k] / scale
    }
  }
  for i in tiles(n / 4 * 4) { y[i] = f32(box[i]) * scales[i] }`,
  );

function checked(
  text: string,
  dims: Record<string, number> = { n: 200 },
  spoil?: (y: Float32Array) => void,
  knowsProgram = true,
  options: Pick<CompileOptions, "dtype" | "roundPartialSums"> = {},
): CheckResult {
  const { kernel, manifest, diagnostics } = compile(text, {
    ranks: 3,
    mapping: PROOF_MAPPING,
    resolve: importsFromDisk,
    ...options,
  });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const ranks = makeInputs(manifest!, dims, 1);
  new CpuGroup(kernel!, manifest!).run(ranks, dims);
  spoil?.(ranks[2]!.outputs["y"] as Float32Array);
  const read = heldInputs(ranks);
  const program = knowsProgram ? programElements(kernel!, manifest!, dims, [read])(0) : undefined;
  return checkOutputs(manifest!, dims, read, ranks, { program });
}

const rounding = {
  "a sum that is taken off again": local("sum(p in 0..rank) x@p[i]", each("(sum(p in 0..rank + 1) x@p[i]) - x[i]")),
  "a function and its inverse": local("x[i]", each("log(exp(x[i]))")),
  "a quotient that is multiplied again": local("x[i]", each("x[i] / 3.0 * 3.0")),
  "a wire of f16": through("f16"),
  "a wire of f8": through("f8e4m3"),
  "a wire of f8e4m3 that the largest fills": scaled("f8e4m3", 448),
  "a wire of f8e5m2 that the largest fills": scaled("f8e5m2", 57344),
  "a wire of f16 that the largest fills": scaled("f16", 65504),
};

test.each(Object.entries(rounding))("%s is right", (_, text) => {
  const { correct, maxError, tolerance } = checked(text);
  expect(correct).toBe(true);
  // By the signature alone it would not be.
  expect(checked(text, { n: 200 }, undefined, false).correct).toBe(false);
  expect(maxError).toBeGreaterThan(0);
  expect(tolerance).toBeGreaterThanOrEqual(maxError);
  const { kernel, manifest } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  expect(runHostile(kernel!, manifest!, { dims: { n: 20 }, schedules: 3, seed: 0 }).failure).toBeNull();
});

test.each(Object.entries(rounding))("%s: another bit that no rounding explains is wrong", (_, text) => {
  const spoil = (y: Float32Array): void => void (y[7] = y[7]! * 1.2 + 0.01);
  expect(checked(text, { n: 200 }, spoil).firstMismatch).toMatchObject({ rank: 2, index: 7 });
});

test.each([
  ["another function", local("x[i]", each("log(exp(x[i])) * 1.0001"))],
  ["a summand too many", local("sum(p in 0..rank) x@p[i]", each("sum(p in 0..rank + 1) x@p[i]"))],
  ["whole numbers", local("x[i]", each("x[i] / 3 * 3"), "i32")],
  ["what overflows a wire of f8", through("f8e4m3", " * 1000.0")],
  ["what overflows a wire of f8 by a little", scaled("f8e4m3", 449)],
  ["what overflows a wire of f16", through("f16", " * 1000000.0")],
  ["a whole quotient of rounded numbers", local("x[i]", each("f32(i32(x[i] * 100.0) / 7)"))],
  ["what is only moved", local("x[i]", each("x@((rank + 1) % world)[i]"))],
])("%s is no rounding", (_, text) => {
  expect(checked(text).correct).toBe(false);
});

/** A sum that is handed on from rank to rank in its own dtype, of more elements than a program is followed at. */
const RING = readFileSync(join(import.meta.dirname, "../../kernels/all_reduce/ring.coll"), "utf8");
const MANY = { n: 1_000_000 };
const ROUNDED = { dtype: "f16", roundPartialSums: true } as const;

test("a sum that is rounded on its way from rank to rank is right, however long", () => {
  const { correct, maxError, tolerance } = checked(RING, MANY, undefined, true, ROUNDED);
  expect(correct).toBe(true);
  expect(tolerance).toBeGreaterThanOrEqual(maxError);
  expect(tolerance).toBeLessThan(0.02);
  // By the signature alone it would not be, and is where it is rounded once.
  expect(checked(RING, MANY, undefined, false, ROUNDED).correct).toBe(false);
  expect(checked(RING, MANY, undefined, false, { dtype: "f16" }).correct).toBe(true);
});

test("the same with what no rounding explains is wrong", () => {
  // Codes of f16: sixteen steps of the last place.
  const spoil = (y: Float32Array): void => void (y[7] = y[7]! + 16);
  expect(checked(RING, MANY, spoil, true, ROUNDED).firstMismatch).toMatchObject({ rank: 2, index: 7 });
  const without = RING.replace("inbox[i] + x[i]", "inbox[i]");
  expect(without).not.toBe(RING);
  expect(checked(without, MANY, undefined, true, ROUNDED).correct).toBe(false);
});

const LONG = {
  "a wire of f16": [through("f16"), MANY],
  "rows that are scaled through f16": [
    `collective f(x: f32[m, n] local) -> y: f32[m, n] local
       ensures y[i, j] == x[i, j] * (max(k in 0..n) abs(x[i, k])) {
       scratch most: f16[m]
       for i in tiles(m) { most[i] = max(k in 0..n) abs(x[i, k]) }
       for i, j in tiles(m, n) { y[i, j] = x[i, j] * f32(most[i]) }
     }`,
    { m: 8000, n: 200 },
  ],
} as const;

test.each(Object.entries(LONG))("%s is right, however long", (_, [text, dims]) => {
  const { correct, maxError, tolerance } = checked(text, dims);
  expect(correct).toBe(true);
  expect(maxError).toBeGreaterThan(0);
  expect(tolerance).toBeGreaterThanOrEqual(maxError);
  expect(tolerance).toBeLessThan(8 * maxError);
  const spoil = (y: Float32Array): void => void (y[y.length - 7] = y[y.length - 7]! * 1.01 + 0.01);
  expect(checked(text, dims, spoil).firstMismatch).toMatchObject({ rank: 2, index: expect.any(Number) as number });
});

test("where elements go to other places, a program that is too long explains nothing", () => {
  const turned = through("f16").replace("f32(box[i])", "f32(box[n - 1 - i])").replace("world)[i]", "world)[n - 1 - i]");
  expect(checked(turned).correct).toBe(true);
  expect(checked(turned, MANY).correct).toBe(false);
});

test("what one output is rounded by explains nothing of another", () => {
  const text = `
collective f(x: f32[n] local) -> (y: f32[n] local, z: f32[n] local)
  ensures y[i] == x[i]
  ensures z[i] == x[i] {
  scratch box: f16[n]
  for i in tiles(n) { box[i] = x[i] }
  for i in tiles(n) { y[i] = f32(box[i]) }
  for i in tiles(n) { z[i] = BODY }
}`;
  expect(checked(text.replace("BODY", "x[i]"), MANY).correct).toBe(true);
  expect(checked(text.replace("BODY", "x[i] * 1.0001"), MANY).firstMismatch).toMatchObject({ output: "z" });
});
