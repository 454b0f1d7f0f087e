/** Lengths in normal form: what is equal for all dimensions is seen to be equal, and nothing else. */
import { expect, test } from "vitest";
import { evaluateExtent, extent, type Extent, sameExtent } from "../../src/compiler/types/extent.js";
import { constantDifference, isMultipleOf, isPolynomial } from "../../src/compiler/types/normal-form.js";

const op = (op: Parameters<typeof extent>[0], a: Extent, b: Extent): Extent => extent(op, a, b);
const [m, n] = ["m", "n"];

const EQUAL: readonly (readonly [string, Extent, Extent])[] = [
  ["n * 2 = 2 * n", op("mul", n, 2), op("mul", 2, n)],
  ["n + n = 2 * n", op("add", n, n), op("mul", 2, n)],
  ["(m + 1) * n = m * n + n", op("mul", op("add", m, 1), n), op("add", op("mul", n, m), n)],
  ["2 * n - n = n", op("sub", op("mul", 2, n), n), n],
  ["6 * n / 3 = 2 * n", op("div", op("mul", 6, n), 3), op("mul", n, 2)],
  ["m * n / n = m", op("div", op("mul", m, n), n), m],
  ["(4 * n + 7) / 4 = n + 1", op("div", op("add", op("mul", 4, n), 7), 4), op("add", 1, n)],
  ["(4 * n + 7) % 4 = 3", op("mod", op("add", op("mul", 4, n), 7), 4), 3],
  ["max(m, n) = max(n, m)", op("max", m, n), op("max", n, m)],
  ["n / 3 + n / 3 = 2 * (n / 3)", op("add", op("div", n, 3), op("div", n, 3)), op("mul", 2, op("div", n, 3))],
];

for (const [name, a, b] of EQUAL)
  test(name, () => {
    expect(sameExtent(a, b)).toBe(true);
    for (const dims of [
      { m: 1, n: 1 },
      { m: 5, n: 12 },
      { m: 7, n: 4 },
    ])
      expect(evaluateExtent(a, dims)).toBe(evaluateExtent(b, dims));
  });

const DIFFERENT: readonly (readonly [string, Extent, Extent])[] = [
  ["n and m", n, m],
  ["n / 2 * 2 and n", op("mul", op("div", n, 2), 2), n],
  ["n + 1 and n", op("add", n, 1), n],
  ["n * n and n", op("mul", n, n), n],
  ["n / m and m / n", op("div", n, m), op("div", m, n)],
  ["(n + 2) / 4 and n / 4", op("div", op("add", n, 2), 4), op("div", n, 4)],
];

for (const [name, a, b] of DIFFERENT) test(`${name} differ`, () => expect(sameExtent(a, b)).toBe(false));

test("multiples, differences and polynomials", () => {
  expect(isMultipleOf(op("add", op("mul", 4, n), 8), 4)).toBe(true);
  expect(isMultipleOf(op("add", op("mul", 4, n), 2), 4)).toBe(false);
  expect(constantDifference(op("add", n, 5), op("add", 2, n))).toBe(3);
  expect(constantDifference(n, m)).toBeNull();
  expect(isPolynomial(op("mul", op("add", n, 1), m))).toBe(true);
  expect(isPolynomial(op("div", n, 3))).toBe(false);
});
