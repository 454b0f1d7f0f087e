/** Values of few integers, tried at all data there is, against the same written out in TypeScript. */
import { describe, expect, it } from "vitest";
import type { Number_ } from "../../src/compiler/prove/algebra.js";
import { AllData } from "../../src/compiler/prove/all-data.js";
import { ExactAlgebra } from "../../src/compiler/prove/exact.js";
import { processorSeconds } from "../processor.js";

const algebra = new ExactAlgebra();
const leaf = (name: string): Number_ => algebra.leaf(0, name, 0, 0);
const within = (from: number, to: number): AllData =>
  new AllData(
    () => [from, to],
    () => "i32",
  );
/** 1 where x is c, else 0. */
const is = (x: Number_, c: number): Number_ => algebra.select(algebra.compare("eq", x, c), 1, 0);

describe("two values that differ in form", () => {
  const [x, y] = [leaf("x"), leaf("y")];
  const half = (v: Number_): Number_ => algebra.apply("quotient", [v, 2]);

  it("are equal where they are so for all data, and differ where one datum says so", () => {
    const sum = algebra.add(half(algebra.mul(x, 2)), y);
    expect(within(-8, 8).areEqual(sum, algebra.add(x, y))).toBe(true);
    // 7 / 2 + 7 / 2 is one less than 14 / 2.
    const halves = algebra.add(half(x), half(y));
    expect(within(0, 8).areEqual(halves, half(algebra.add(x, y)))).toBe(false);
    expect(within(6, 7).areEqual(halves, half(algebra.add(x, y)))).toBe(true);
    const odd = algebra.select(algebra.compare("eq", x, 7), y, x);
    expect(within(0, 8).areEqual(odd, x)).toBe(false);
    expect(within(0, 7).areEqual(odd, x)).toBe(true);
  });

  it("say nothing where some data wraps, or there is too much of it", () => {
    const large = algebra.mul(x, 2 ** 28);
    expect(within(0, 8).areEqual(half(algebra.mul(large, 2)), large)).toBeNull();
    expect(within(0, 4).areEqual(half(algebra.mul(large, 2)), large)).toBe(true);
    expect(within(0, 257).areEqual(half(algebra.add(x, y)), y)).toBeNull();
  });
});

it("all data of four elements with sixteen values each takes a fraction of a second: counts of values on four ranks are proved by it", () => {
  const elements = ["a", "b", "c", "d"].map(leaf);
  const start = processorSeconds();
  for (let c = 0; c < 4; c++) {
    const counts = elements.map((x) => is(x, c));
    const beside = elements.map((x) =>
      algebra.select(algebra.compare("ge", x, c), algebra.select(algebra.compare("lt", x, c + 1), 1, 0), 0),
    );
    const [a, b] = [counts, beside].map((all) => all.reduce((sum, v) => algebra.add(sum, v), 0 as Number_));
    expect(within(0, 16).areEqual(a!, b!)).toBe(true);
  }
  // Where terms were looked up for each datum, one took two seconds.
  expect(processorSeconds() - start).toBeLessThan(4);
});
