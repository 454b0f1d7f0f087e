import { describe, expect, test } from "vitest";
import { DTYPE_NAMES } from "../../src/compiler/types/dtype.js";
import {
  allocate,
  arrayClass,
  decode,
  decodeArray,
  decodeInto,
  encode,
  encodeArray,
  fillPoison,
  fillRandom,
  firstDifference,
  largestError,
  LARGEST_FINITE,
  type NarrowFloat,
  randomKey,
  sameBytes,
} from "../../src/runtime/numbers/index.js";
import { erf, foldBinary, UNARY } from "../../src/compiler/ir/functions.js";
import type { BinaryFunction } from "../../src/compiler/ir/ops.js";
import { usualSeconds } from "../processor.js";

interface Format {
  readonly name: NarrowFloat;
  readonly bits: number;
  readonly mantissa: number;
  readonly bias: number;
  readonly saturates: boolean;
}

const FORMATS: readonly Format[] = [
  { name: "f16", bits: 16, mantissa: 10, bias: 15, saturates: false },
  { name: "bf16", bits: 16, mantissa: 7, bias: 127, saturates: false },
  { name: "f8e4m3", bits: 8, mantissa: 3, bias: 7, saturates: true },
  { name: "f8e5m2", bits: 8, mantissa: 2, bias: 15, saturates: true },
];

/** A code's value from integers alone: ±numerator · 2^exponent, or null for NaN and infinity. */
function exact(f: Format, code: number): { numerator: bigint; exponent: number } | null {
  const top = (1 << (f.bits - 1 - f.mantissa)) - 1;
  const e = (code >> f.mantissa) & top;
  const m = code & ((1 << f.mantissa) - 1);
  const last = (1 << f.mantissa) - 1;
  if (e === top && (f.name !== "f8e4m3" || m === last)) return null;
  const numerator = BigInt(e === 0 ? m : m + (1 << f.mantissa));
  return { numerator: code >> (f.bits - 1) ? -numerator : numerator, exponent: Math.max(e, 1) - f.bias - f.mantissa };
}

describe("narrow floats", () => {
  for (const f of FORMATS) {
    test(`${f.name}: every code round-trips and has the value of its definition`, () => {
      const wrong: number[] = [];
      for (let code = 0; code < 1 << f.bits; code++) {
        const value = decode(f.name, code);
        const definition = exact(f, code);
        if (definition === null) {
          if (Number.isFinite(value)) wrong.push(code);
          if (Number.isNaN(value) && !Number.isNaN(decode(f.name, encode(f.name, value)))) wrong.push(code);
          if (!Number.isNaN(value) && !f.saturates && encode(f.name, value) !== code) wrong.push(code);
          continue;
        }
        const { numerator, exponent } = definition;
        if (value !== Number(numerator) * 2 ** exponent) wrong.push(code);
        if (encode(f.name, value) !== code) wrong.push(code);
      }
      expect(wrong).toEqual([]);
    });

    test(`${f.name}: ties go to even, all else to the nearest`, () => {
      const wrong: number[] = [];
      const sign = 1 << (f.bits - 1);
      for (let code = 0; code < sign - 1; code++) {
        const low = exact(f, code);
        const high = exact(f, code + 1);
        if (low === null || high === null) continue;
        // Both on one grid, in integers; the middle is then exact, and exact as a double.
        const exponent = Math.min(low.exponent, high.exponent) - 1;
        const scaled = (v: { numerator: bigint; exponent: number }): bigint =>
          v.numerator << BigInt(v.exponent - exponent);
        const middle = Number((scaled(low) + scaled(high)) / 2n) * 2 ** exponent;
        const even = code % 2 === 0 ? code : code + 1;
        if (encode(f.name, middle) !== even || encode(f.name, -middle) !== (even | sign)) wrong.push(code);
        // A hair beside the tie, far below float32's precision: no double rounding.
        if (encode(f.name, middle * (1 + 2 ** -50)) !== code + 1) wrong.push(code);
        if (encode(f.name, middle * (1 - 2 ** -50)) !== code) wrong.push(code);
        const inBulk = encodeArray(f.name, Float32Array.of(middle, -middle));
        if (Math.fround(middle) === middle && (inBulk[0] !== even || inBulk[1] !== (even | sign))) wrong.push(code);
      }
      expect(wrong).toEqual([]);
    });

    test(`${f.name}: the ends of the range`, () => {
      const largest = LARGEST_FINITE[f.name];
      const beyond = largest * (1 + 2 ** -(f.mantissa + 1));
      const overflow = f.saturates ? largest : Infinity;
      expect(decode(f.name, encode(f.name, largest))).toBe(largest);
      expect(decode(f.name, encode(f.name, Math.min(beyond, Number.MAX_VALUE)))).toBe(overflow);
      expect(decode(f.name, encode(f.name, -1e300))).toBe(-overflow);
      expect(decode(f.name, encode(f.name, Infinity))).toBe(overflow);
      expect(encode(f.name, NaN)).toBe(f.bits === 16 ? 0x7fff : 0x7f);
      expect(Object.is(decode(f.name, encode(f.name, -0)), -0)).toBe(true);
      expect(encode(f.name, 1e-300)).toBe(0);
    });
  }
});

describe("arrays", () => {
  test("each dtype has its class, its poison and its size", () => {
    for (const dtype of DTYPE_NAMES) {
      const a = fillPoison(allocate(dtype, 3));
      expect(a).toBeInstanceOf(arrayClass(dtype));
      const value = decode(dtype, a[1]!);
      if (dtype.startsWith("i")) expect(value).toBe(-1);
      else if (dtype === "bool") expect(value).toBe(1);
      else if (dtype.startsWith("u")) expect(value).toBe(2 ** (8 * a.BYTES_PER_ELEMENT) - 1);
      else expect(value).toBeNaN();
    }
  });

  test("bulk conversion agrees with single values", () => {
    const numbers = Float64Array.from({ length: 4096 }, (_, i) => Math.tan(i) * 2 ** ((i % 40) - 20));
    for (const { name } of FORMATS) {
      const codes = encodeArray(name, numbers);
      expect([...codes]).toEqual([...numbers].map((x) => encode(name, x)));
      expect([...decodeArray(name, codes)]).toEqual([...codes].map((c) => decode(name, c)));
      expect(decodeInto(name, codes, new Float64Array(2), 7)[1]).toBe(decode(name, codes[8]!));
    }
    expect([...encodeArray("i8", [300, -1])]).toEqual([44, -1]);
  });

  test("a million elements convert in well under a second", () => {
    const numbers = Float32Array.from({ length: 1 << 20 }, (_, i) => Math.sin(i));
    const convert = (): void => FORMATS.forEach(({ name }) => void decodeArray(name, encodeArray(name, numbers)));
    expect(usualSeconds(convert)).toBeLessThan(3);
  });
});

describe("random data", () => {
  test("depends on the key and the place alone", () => {
    for (const dtype of DTYPE_NAMES) {
      const whole = fillRandom(dtype, allocate(dtype, 1001), randomKey(1, 2));
      const part = fillRandom(dtype, allocate(dtype, 101), randomKey(1, 2), 900);
      expect(sameBytes(whole.subarray(900), part)).toBe(true);
      expect(sameBytes(whole, fillRandom(dtype, allocate(dtype, 1001), randomKey(1, 3)))).toBe(false);
    }
  });

  test("floats fill [-1, 1), whole numbers all of their dtype", () => {
    for (const dtype of DTYPE_NAMES) {
      const values = decodeArray(dtype, fillRandom(dtype, allocate(dtype, 20000), 5));
      const mean = values.reduce((a, x) => a + x, 0) / values.length;
      const low = Math.min(...values);
      const high = Math.max(...values);
      const bits = dtype === "i64" ? 64 : dtype === "i8" || dtype === "u8" ? 8 : 32;
      if (dtype === "bool") expect([low, high, Math.abs(mean - 0.5) < 0.02]).toEqual([0, 1, true]);
      else if (dtype.startsWith("i") || dtype.startsWith("u")) {
        const least = dtype.startsWith("i") ? -(2 ** (bits - 1)) : 0;
        expect((low - least) / 2 ** bits).toBeLessThan(0.001);
        expect((high - least) / 2 ** bits).toBeGreaterThan(bits === 8 ? 254.5 / 256 : 0.999);
        expect(Math.abs((mean - least) / 2 ** bits - 0.5)).toBeLessThan(0.01);
      } else {
        expect(Math.abs(mean)).toBeLessThan(0.02);
        expect(low).toBeGreaterThanOrEqual(-1);
        expect(low).toBeLessThan(-0.99);
        expect(high).toBeLessThanOrEqual(1);
      }
    }
  });
});

describe("comparison", () => {
  test("finds the largest error and the first difference", () => {
    const a = Float32Array.of(1, 2, NaN, 4);
    const b = Float32Array.of(1, 2.5, NaN, 3.75);
    expect(largestError("f32", a, b)).toEqual({ maxError: 0.5, relativeToScale: 0.5 / 3.75, worst: 1 });
    expect(largestError("f32", a, Float64Array.of(1, 2, 3, 4)).maxError).toBe(Infinity);
    expect(firstDifference(a, b)).toBe(1);
    expect(firstDifference(a, a.slice())).toBe(-1);
    expect(sameBytes(Float32Array.of(0), Float32Array.of(-0))).toBe(false);
    expect(() => firstDifference(a, new Float32Array(3))).toThrow(RangeError);
  });
});

test("the error function", () => {
  for (const [x, y] of [
    [0, 0],
    [0.5, 0.5204998778130465],
    [1, 0.8427007929497149],
    [2, 0.9953222650189527],
    [3, 0.9999779095030014],
    [-1, -0.8427007929497149],
    [Infinity, 1],
  ] as const)
    // prettier-ignore
    expect(erf(x)).toBeCloseTo(y, 14);
  // Each of its two forms where the other would do as well, and where it is small: but for two units of float64's last place, by Python's math.erf.
  for (const [x, y] of [
    [1e-10, 1.1283791670955126e-10],
    [-0.001, -0.0011283787909692365],
    [2.4999, 0.9995928300996666],
    [2.5001, 0.9995932657565293],
    [3.5, 0.9999992569016276],
    [5.9, 0.9999999999999999],
  ] as const)
    expect(Math.abs(erf(x) / y - 1)).toBeLessThan(4.5e-16); // prettier-ignore
  expect(Object.is(erf(-0), -0)).toBe(true);
  expect(UNARY.gelu.value(1)).toBeCloseTo(0.8413447460685429, 13);
});

test("bits of whole numbers, of 32 bits and of more", () => {
  const whole = [0, 1, 2, -1, -7, 127, 255, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 40 + 5, 2 ** 52 + 1];
  for (const a of whole)
    for (const b of whole) {
      const [x, y] = [BigInt(a), BigInt(b)];
      const found = ["and", "or", "xor"].map((fn) => foldBinary(fn as BinaryFunction, a, b));
      expect(found, `${a}, ${b}`).toEqual([x & y, x | y, x ^ y].map(Number));
    }
});
