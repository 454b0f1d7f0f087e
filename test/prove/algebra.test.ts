/** Both algebras agree on what is equal; residues also see it where terms are written in another form. */
import { describe, expect, it } from "vitest";
import type { Algebra, Number_ } from "../../src/compiler/prove/algebra.js";
import { compareAtData } from "../../src/compiler/prove/evaluate.js";
import { ExactAlgebra } from "../../src/compiler/prove/exact.js";
import { FieldAlgebra } from "../../src/compiler/prove/field.js";
import { binaryOf, unaryOf } from "../../src/compiler/prove/values.js";

type Pair = readonly [Number_, Number_];
/** Makes two values from x, y, z. */
type Make = (a: Algebra, x: Number_, y: Number_, z: Number_) => Pair;

const pair = (algebra: Algebra, make: Make): Pair => {
  const leaf = (i: number): Number_ => algebra.leaf(0, "x", i, i);
  return make(algebra, leaf(0), leaf(1), leaf(2));
};
const inField = (make: Make): boolean => {
  const algebra = new FieldAlgebra();
  return algebra.isSame(...pair(algebra, make));
};
const atData = (make: Make): string =>
  compareAtData(
    ...pair(new ExactAlgebra(), make),
    () => null,
    () => "f32",
  );

const EQUAL: Readonly<Record<string, Make>> = {
  "sums in any order": (a, x, y, z) => [a.add(a.add(x, y), z), a.add(z, a.add(y, x))],
  "products of sums": (a, x, y, z) => [a.mul(a.add(x, y), z), a.add(a.mul(x, z), a.mul(z, y))],
  "a scale taken out and put back": (a, x, y) => [a.mul(a.div(x, y), y), x],
  "an average in two ways": (a, x, y, z) => [
    a.div(a.add(a.add(x, y), z), 3),
    a.mul(a.add(x, a.add(y, z)), Math.fround(1 / 3)),
  ],
  "maxima as sets": (a, x, y, z) => [
    a.extreme("max", a.extreme("max", x, y), a.extreme("max", y, z)),
    a.extreme("max", z, a.extreme("max", x, y)),
  ],
  "relu and a maximum with zero": (a, x) => [unaryOf(a, "relu", "f32", x), a.extreme("max", 0, x)],
  "silu written out": (a, x) => [
    unaryOf(a, "silu", "f32", x),
    a.mul(x, a.div(1, a.add(unaryOf(a, "exp", "f32", a.sub(0, x)), 1))),
  ],
  "functions of equal arguments": (a, x, y) => [a.apply("exp", [a.add(x, y)]), a.apply("exp", [a.add(y, x)])],
  "integer functions that commute": (a, x, y) => [binaryOf(a, "and", "i32", x, y), binaryOf(a, "and", "i32", y, x)],
};

const DIFFERENT: Readonly<Record<string, Make>> = {
  "a missing summand": (a, x, y, z) => [a.add(x, y), a.add(a.add(x, y), z)],
  "a summand counted twice": (a, x, y) => [a.add(a.add(x, y), y), a.add(x, y)],
  "a value for itself of another rank": (_a, x, y) => [x, y],
  "an average by too little": (a, x, y) => [a.div(a.add(x, y), 2), a.div(a.add(x, y), 3)],
  "a maximum and a minimum": (a, x, y) => [a.extreme("max", x, y), a.extreme("min", x, y)],
  "functions of different arguments": (a, x, y) => [a.apply("exp", [x]), a.apply("exp", [y])],
};

describe("values that are equal for all data", () => {
  for (const [name, make] of Object.entries(EQUAL))
    it(name, () => expect([inField(make), atData(make)]).toEqual([true, "agree"]));
});

describe("values that are not", () => {
  for (const [name, make] of Object.entries(DIFFERENT))
    it(name, () => expect([inField(make), atData(make)]).toEqual([false, "differ"]));
});

describe("what no rule decides", () => {
  const exponents: Make = (a, x, y) => [a.apply("exp", [a.add(x, y)]), a.mul(a.apply("exp", [x]), a.apply("exp", [y]))];
  it("is not taken for equal, but agrees at data", () =>
    expect([inField(exponents), atData(exponents)]).toEqual([false, "agree"]));
});
