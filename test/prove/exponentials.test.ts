/** Exponentials and logarithms in proofs: their laws hold, of numbers, too, and no number of a program stands for e. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import type { Number_ } from "../../src/compiler/prove/algebra.js";
import { ExponentialAlgebra } from "../../src/compiler/prove/exponentials.js";
import { programOf, PROOF_MAPPING, prove } from "../../src/compiler/prove/index.js";
import { keyOf, placesOf } from "../../src/compiler/prove/residues.js";
import { unaryOf } from "../../src/compiler/prove/values.js";

type Make = (a: ExponentialAlgebra, x: Number_, w: Number_) => readonly [Number_, Number_];

const of = (a: ExponentialAlgebra, fn: "exp" | "log" | "sqrt", v: Number_): Number_ => unaryOf(a, fn, "f32", v);

/** In the fields of several programs; w is positive. */
function areSame(make: Make): boolean[] {
  return Array.from({ length: 8 }, (_, seed) => {
    const a = new ExponentialAlgebra(new Map(), placesOf(keyOf("a program", seed)), (name) => name === "w");
    return a.isSame(...make(a, a.leaf(0, "x", 0, 0), a.leaf(0, "w", 0, 0)));
  });
}

const EQUAL: Readonly<Record<string, Make>> = {
  "a sum in an exponent": (a, x, w) => [of(a, "exp", a.add(x, w)), a.mul(of(a, "exp", x), of(a, "exp", w))],
  "a number in an exponent": (a, x) => [of(a, "exp", a.add(x, 1)), a.mul(of(a, "exp", x), of(a, "exp", 1))],
  "a fraction in an exponent": (a, x) => [of(a, "exp", a.sub(x, 0.5)), a.div(of(a, "exp", x), of(a, "exp", 0.5))],
  "a power of e and its number": (a) => [of(a, "exp", 2), Math.exp(2)],
  "a logarithm and its number": (a) => [of(a, "log", 3), Math.log(3)],
  "a factor in a logarithm": (a, _x, w) => [of(a, "log", a.mul(3, w)), a.add(of(a, "log", 3), of(a, "log", w))],
  "a factor of an exponential": (a, x) => [of(a, "log", a.mul(of(a, "exp", x), 5)), a.add(x, of(a, "log", 5))],
  "numbers in logarithms": (a) => [a.add(of(a, "log", 2), of(a, "log", 3)), of(a, "log", 6)],
  "a quotient in a logarithm": (a, x, w) => [of(a, "log", a.div(w, of(a, "exp", x))), a.sub(of(a, "log", w), x)],
  "there and back": (a, _x, w) => [of(a, "exp", of(a, "log", w)), w],
  "there and back, of a number": (a) => [of(a, "exp", of(a, "log", 7)), 7],
  "a positive input as an exponential": (a, x, w) => [
    of(a, "exp", a.add(of(a, "log", w), x)),
    a.mul(w, of(a, "exp", x)),
  ],
};

const DIFFERENT: Readonly<Record<string, Make>> = {
  ...Object.fromEntries(
    [
      [1, 4],
      [0.5, 2],
      [2, 16],
      [1, 2.718281828459045],
      [-1, 0.25],
      [1, 9],
    ].map(([c, k]): [string, Make] => [
      `a number ${c} in an exponent, and ${k} times as much`,
      (a, x) => [of(a, "exp", a.add(x, c!)), a.mul(of(a, "exp", x), k!)],
    ]),
  ),
  "a logarithm of 4, and 1": (a, x) => [a.add(x, of(a, "log", 4)), a.add(x, 1)],
  "a logarithm of 4 times as much, and 1 more": (a, _x, w) => [of(a, "log", a.mul(w, 4)), a.add(of(a, "log", w), 1)],
  "logarithms of a value and of another": (a, x, w) => [of(a, "log", a.mul(of(a, "exp", x), 2)), of(a, "log", w)],
  "a sum of logarithms, and of a sum": (a, _x, w) => [
    a.add(of(a, "log", w), of(a, "log", 2)),
    of(a, "log", a.add(w, 2)),
  ],
  "logarithms of what may be negative": (a, x) => [of(a, "log", x), of(a, "log", a.sub(0, x))],
};

describe("what is equal", () => {
  it.each(Object.entries(EQUAL))("%s", (_, make) => expect(new Set(areSame(make))).toEqual(new Set([true])));
});

describe("what is not", () => {
  it.each(Object.entries(DIFFERENT))("%s", (_, make) => expect(new Set(areSame(make))).toEqual(new Set([false])));
});

describe("programs with exponentials and logarithms", () => {
  const answerOf = (value: string, claim: string, where = ""): string => {
    const text = `collective f(x: f32[n] local, w: f32[n] local) -> y: f32[n] local ${where} ensures y[i] == ${claim} {
      for i in tiles(n) { y[i] = ${value} } }`;
    const { snapshots, ...made } = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
    return prove(made, { program: programOf(snapshots), shapes: [{ n: 3 }] }).answer.status;
  };

  it.each([
    ["exp(x[i]) * 4.0", "exp(x[i] + 1.0)", "", "wrong"],
    ["4.0 / (4.0 + exp(-x[i]))", "sigmoid(x[i] + 1.0)", "", "wrong"],
    ["exp(x[i]) * exp(1.0)", "exp(x[i] + 1.0)", "", "proved"],
    ["log(sum(p in ranks) exp(x@p[i])) + log(2.0)", "log(sum(p in ranks) 2.0 * exp(x@p[i]))", "", "proved"],
    ["w[i] * (log(w[i]) - log(x[i]))", "w[i] * log(w[i] / x[i])", "where w in 1..2 where x in 1..9", "proved"],
    ["w[i] * (log(w[i]) + log(x[i]))", "w[i] * log(w[i] / x[i])", "where w in 1..2 where x in 1..9", "wrong"],
    // What is compared is known, whatever laws it has.
    ["where(exp(1.0) < 3.0, exp(x[i]), x[i])", "exp(x[i])", "", "proved"],
    ["max(log(2.0), log(3.0)) + log(w[i])", "log(w[i] * 3.0)", "where w in 1..2", "proved"],
    ["exp(x[i]) + exp(-1e30)", "exp(x[i])", "", "proved"],
  ])("%s for %s %s", (value, claim, where, status) => {
    expect(answerOf(value, claim, where)).toBe(status);
  });
});
