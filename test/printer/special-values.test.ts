/** What functions do with NaN, infinities and zeros, as LANGUAGE.md says: executed, and as printed CUDA text on the host. */
import { beforeAll, describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { emitCuda } from "../../src/compiler/emit/cuda.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { allocate, type TypedArray } from "../../src/runtime/numbers/index.js";
import { lengthsOf, runOnHost } from "./host.js";

const SPECIAL = [NaN, -NaN, Infinity, -Infinity, 0, -0, 1, -1, 3e38, -3e38, 1e-45, -1e-45].map(Math.fround);
/** Each with each. */
const PAIRS = SPECIAL.flatMap((a) => SPECIAL.map((b) => [a, b] as const));
const dims = { n: PAIRS.length };

type Of = (a: number, b: number) => number;
/** Of the values below: numbers, and halves of 1 and -1. */
const halfToEven = (x: number): number => (Math.abs(x) === 0.5 ? 0 * x : Math.sign(x) * Math.round(Math.abs(x)));
const isNaN_ = (x: number): boolean => x !== x;

/** By output: the expression, and what it gives. */
const FUNCTIONS: Readonly<Record<string, readonly [text: string, value: Of]>> = {
  smaller: ["min(a[i], b[i])", (a, b) => (isNaN_(a) ? b : isNaN_(b) ? a : a < b ? a : b)],
  larger: ["max(a[i], b[i])", (a, b) => (isNaN_(a) ? b : isNaN_(b) ? a : a > b ? a : b)],
  // Of NaN alone the language leaves open what comes out; two terms are compared with each other.
  smallest: ["min(k in 0..2) where(k == 0, a[i], b[i])", (a, b) => (isNaN_(a) ? b : isNaN_(b) ? a : a < b ? a : b)],
  largest: ["max(k in 0..2) where(k == 0, a[i], b[i])", (a, b) => (isNaN_(a) ? b : isNaN_(b) ? a : a > b ? a : b)],
  active: ["relu(a[i])", (a) => (a <= 0 ? 0 : a)],
  size: ["abs(a[i])", (a) => Math.abs(a)],
  opposite: ["-a[i]", (a) => -a],
  less: ["where(a[i] < b[i], 1.0, 0.0)", (a, b) => Number(a < b)],
  atMost: ["where(a[i] <= b[i], 1.0, 0.0)", (a, b) => Number(a <= b)],
  equal: ["where(a[i] == b[i], 1.0, 0.0)", (a, b) => Number(a === b)],
  unequal: ["where(a[i] != b[i], 1.0, 0.0)", (a, b) => Number(a !== b)],
  neither: ["where(not a[i] < b[i], 1.0, 0.0)", (a, b) => Number(!(a < b))],
  chosen: ["where(a[i] > b[i], a[i], b[i])", (a, b) => (a > b ? a : b)],
  total: ["a[i] + b[i]", (a, b) => Math.fround(a + b)],
  product: ["a[i] * b[i]", (a, b) => Math.fround(a * b)],
  quotient: ["a[i] / b[i]", (a, b) => Math.fround(a / b)],
  root: ["sqrt(a[i])", (a) => Math.fround(Math.sqrt(a))],
  wave: ["sin(a[i] * 0)", (a) => (isNaN_(a * 0) ? NaN : a * 0)],
  crest: ["cos(a[i] * 0)", (a) => (isNaN_(a * 0) ? NaN : 1)],
  bell: [
    "erf(where(abs(a[i]) < 2, 0 * a[i], a[i]))",
    (a) => (Math.abs(a) < 2 ? 0 * a : isNaN_(a) ? NaN : Math.sign(a)),
  ],
  // Of what is far from 0, or tiny.
  doubled: ["exp2(where(abs(a[i]) <= 1, a[i], 2 * a[i]))", (a) => Math.fround(2 ** (Math.abs(a) <= 1 ? a : 2 * a))],
  lessOne: ["expm1(where(abs(a[i]) == 1, 0.0, a[i]))", (a) => Math.fround(Math.abs(a) === 1 ? 0 : Math.expm1(a))],
  logarithm: [
    "log1p(where(a[i] == 1, 0.0, 10 * a[i]))",
    (a) => (a === 1 ? 0 : Math.fround(Math.log1p(Math.fround(10 * a)))),
  ],
  below: ["floor(a[i] * 0.5)", (a) => Math.floor(Math.fround(a * 0.5))],
  aboveIt: ["ceil(a[i] * 0.5)", (a) => Math.ceil(Math.fround(a * 0.5))],
  nearest: ["round(a[i] * 0.5)", (a) => halfToEven(Math.fround(a * 0.5))],
  whole: ["trunc(a[i] * 1.5)", (a) => Math.trunc(Math.fround(a * 1.5))],
};
const NAMES = Object.keys(FUNCTIONS);

const source = `collective special(a: f32[n] local, b: f32[n] local) -> (${NAMES.map((n) => `${n}: f32[n] local`).join(", ")}) {
  for i in tiles(n) {
    ${NAMES.map((n) => `${n}[i] = ${FUNCTIONS[n]![0]}`).join("\n    ")}
  }
}`;

/** Text of an element's bits; all NaNs are one, and so are zeros of functions that may give either. */
function bits(name: string, x: number): string {
  const isEither = /^(small|larg)/.test(name) && x === 0;
  return isNaN_(x) ? "NaN" : isEither ? "0" : Object.is(x, -0) ? "-0" : String(x);
}

const shown: Record<string, readonly string[]> = {};
const printed: Record<string, readonly string[]> = {};

beforeAll(async () => {
  const { kernel, manifest, diagnostics } = compile(source, { ranks: 1 });
  if (kernel === null) throw new Error(diagnostics.map((d) => d.message).join("; "));
  const memoryOf = (): TypedArray[][] =>
    kernel.buffers.map((b, j) => {
      const array = allocate("f32", lengthsOf(kernel, dims)[j]!);
      if (b.role === "input") PAIRS.forEach((pair, i) => (array[i] = pair[b.name === "a" ? 0 : 1]));
      return [array];
    });
  const read = (memory: TypedArray[][], into: Record<string, readonly string[]>): void =>
    kernel.buffers.forEach(({ name, role }, j) => {
      if (role === "output") into[name] = Array.from(memory[j]![0] as Float32Array, (x) => bits(name, x));
    });
  const memory = memoryOf();
  const tensors = (role: string): Record<string, TypedArray> =>
    Object.fromEntries(kernel.buffers.flatMap((b, j) => (b.role === role ? [[b.name, memory[j]![0]!]] : [])));
  new CpuGroup(kernel, manifest!).run([{ inputs: tensors("input"), outputs: tensors("output") }], dims);
  read(memory, shown);
  const [left] = await runOnHost([{ kernel, cuda: emitCuda(kernel, null), dims, grid: 1, memory: memoryOf() }]);
  read(left! as TypedArray[][], printed);
}, 900_000);

describe("on NaN, infinities and zeros", () => {
  for (const [name, [text, value]] of Object.entries(FUNCTIONS)) {
    const wanted = (): string[] => PAIRS.map(([a, b]) => bits(name, value(a, b)));
    it(`${text} is executed as the language says`, () => expect(shown[name]).toEqual(wanted()));
    it(`${text} is printed as it is executed`, () => expect(printed[name]).toEqual(shown[name]));
  }
});
