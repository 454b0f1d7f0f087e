/** The residues that the answer proof computes with: sums of products, extrema as sets, hashes in the place of functions. */
import { describe, expect, it } from "vitest";
import type { Algebra, Number_ } from "../../src/compiler/prove/algebra.js";
import { Size } from "../../src/compiler/prove/degrees.js";
import { ExponentialAlgebra } from "../../src/compiler/prove/exponentials.js";
import { FieldAlgebra, inOrder } from "../../src/compiler/prove/field.js";
import { inverse, times } from "../../src/compiler/prove/modular.js";
import { drawPrimes, isPrime, PRIMES, SAFE_PRIMES } from "../../src/compiler/prove/primes.js";
import { CannotTell } from "../../src/compiler/prove/results.js";
import { keyOf, NO_PROGRAM, placesOf, type Residues } from "../../src/compiler/prove/residues.js";

const FIELDS = NO_PROGRAM.plain;
const { p: P, q: Q, r: R } = FIELDS;
const member = (n: number): Residues => FIELDS.member(n);
const standIn = (tag: number, args: readonly Residues[]): Residues => FIELDS.standIn(tag, args);

const leaves = (a: FieldAlgebra, n: number, rank = 0): Number_[] =>
  Array.from({ length: n }, (_, i) => a.leaf(0, "x", rank, i));

describe("members of the fields", () => {
  it("have inverses, but 0", () => {
    for (const m of [P, Q, R]) {
      for (const a of [1, 2, 3, 4711, m - 1, 1 + (m >> 1)]) expect(times(a, inverse(a, m), m)).toBe(1);
      expect(inverse(0, m)).toBe(0);
    }
  });

  it("are multiplied exactly, also the greatest", () => {
    for (const m of [P, Q, R])
      for (let i = 1; i < 2000; i++) {
        const [a, b] = [m - i, m - 7 * i];
        expect(times(a, b, m)).toBe(Number((BigInt(a) * BigInt(b)) % BigInt(m)));
      }
  });

  it("are those of a program and a seed, and of no other", () => {
    const first = (text: string, seed: number): string =>
      [0, 1, 2]
        .map((n) => {
          const { p, q, r } = placesOf(keyOf(text, seed)).plain.member(n);
          return `${p} ${q} ${r}`;
        })
        .join();
    expect(first("kernel a", 1)).toBe(first("kernel a", 1));
    const all = ["kernel a", "kernel b", "kernel a ", "a kernel", ""].flatMap((t) =>
      [0, 1, 2, -1, 2 ** 31].map((s) => first(t, s)),
    );
    expect(new Set(all).size).toBe(25);
    // Each bit of the key depends on each character.
    const bits = (a: number, b: number): number => (a ^ b).toString(2).replaceAll(/[^1]/g, "").length;
    for (let i = 0; i < 40; i++) {
      const text = "x".repeat(40);
      const other = text.slice(0, i) + "y" + text.slice(i + 1);
      keyOf(text, 0).forEach((word, j) => expect(bits(word >>> 0, keyOf(other, 0)[j]! >>> 0)).toBeGreaterThan(3));
    }
  });

  it("differ from place to place where they do not from name to name", () => {
    const { values, exponents } = placesOf(keyOf("kernel", 0));
    for (let n = 0; n < 100; n++) expect(values.member(n).p % exponents.p).not.toBe(exponents.member(n).p);
    const a = new FieldAlgebra(new Map(), values);
    const [src, dst] = ["src", "dst"].map((name) => a.leaf(0, name, 0, 0));
    expect(a.isSame(src!, dst!)).toBe(false);
  });

  it("are all different, in each field about as often equal as random ones are", () => {
    const count = 60_000;
    const all: Residues[] = [];
    for (let i = 0; i < count; i++) all.push(member(i), standIn(5, [member(i)]), standIn(5, [member(i), member(0)]));
    for (const field of ["p", "q", "r"] as const) {
      const birthdays = (all.length * all.length) / 2 / FIELDS[field];
      const equal = all.length - new Set(all.map((x) => x[field])).size;
      // Nearly a Poisson distribution: five of its standard deviations.
      expect(Math.abs(equal - birthdays)).toBeLessThan(5 * Math.sqrt(birthdays));
    }
    expect(new Set(all.map(({ p, q }) => p * 2 ** 26 + q)).size).toBe(all.length);
  });

  it("stand for functions of arguments in their order", () => {
    const [x, y] = [member(1), member(2)];
    const different = [standIn(1, [x, y]), standIn(1, [y, x]), standIn(2, [x, y]), standIn(1, [x]), standIn(1, [x, x])];
    expect(new Set(different.map(({ p }) => p)).size).toBe(different.length);
    expect(standIn(1, [x, y])).toEqual(different[0]);
    // What is written out for two values is no other function.
    for (const [u, v] of [
      [x, y],
      [y, x],
      [x, x],
    ] as const)
      expect(FIELDS.standInOfTwo(1, u, v)).toEqual(standIn(1, [u, v]));
  });

  it("are the same for sums of products in turn, and for all that a maximum has, as one by one", () => {
    const [a, b] = [
      [1, 2, 3, 4],
      [9, 2, 1, 4],
    ].map((list) => list.map(member)) as [Residues[], Residues[]];
    let sum = member(20);
    for (let k = 1; k < a.length; k++) {
      const [x, y] = [a[k]!, b[k]!].sort(inOrder) as [Residues, Residues];
      sum = standIn(8, [sum, standIn(7, [x, y])]);
    }
    expect(FIELDS.sumInTurn(7, 8, member(20), a, b, 1)).toEqual(sum);
    const mean = FIELDS.times(
      a.reduce((x, y) => FIELDS.plus(x, y)),
      FIELDS.inverse(FIELDS.residues(4)),
    );
    expect(FIELDS.mean(a, 4).equals(mean)).toBe(true);
    for (const isBelow of [true, false]) {
      const differences = a.map((x) => (isBelow ? FIELDS.minus(mean, x) : FIELDS.minus(x, mean)));
      const spread = differences.map((x) => standIn(-1, [x])).reduce((x, y) => FIELDS.plus(x, y));
      expect(FIELDS.spread(-1, a, 4, mean, isBelow).equals(spread)).toBe(true);
    }
  });
});

describe("primes", () => {
  const [LEAST, MOST] = [2 ** 26 - 2 ** 24, 2 ** 26];

  /** Odd numbers with a factor, by halves. */
  const composite = new Uint8Array(MOST / 2);
  for (let i = 3; i * i < MOST; i += 2)
    if (composite[i >> 1] === 0) for (let j = i * i; j < MOST; j += 2 * i) composite[j >> 1] = 1;
  const isInSieve = (n: number): boolean => n % 2 === 1 && composite[n >> 1] === 0;

  it("are as many as the bound says", () => {
    let [all, safe] = [0, 0];
    for (let n = LEAST + 1; n < MOST; n += 2) {
      if (!isInSieve(n)) continue;
      all++;
      if (isInSieve((n - 1) / 2)) safe++;
    }
    expect([all, safe]).toEqual([PRIMES, SAFE_PRIMES]);
  });

  it("are told from other numbers", () => {
    for (const from of [LEAST, LEAST / 2, MOST - 20_000])
      for (let n = from + 1; n < from + 20_000; n += 2) expect(isPrime(n), String(n)).toBe(isInSieve(n));
  });

  it("are three different ones, the same for a key and hardly ever for two, from the whole range", () => {
    for (const areSafe of [false, true]) {
      const drawn = Array.from({ length: 300 }, (_, seed) => drawPrimes(keyOf("kernel", seed), areSafe));
      for (const [seed, three] of drawn.entries()) {
        expect(new Set(three).size).toBe(3);
        expect(drawPrimes(keyOf("kernel", seed), areSafe)).toEqual(three);
        for (const p of three) expect(isInSieve(p) && (!areSafe || isInSieve((p - 1) / 2))).toBe(true);
      }
      const all = drawn.flat();
      expect(new Set(all).size).toBeGreaterThan(areSafe ? 870 : 895);
      // Each of eight parts of the range has about as many, within five standard deviations.
      const parts = Array.from({ length: 8 }, (_, k) =>
        all.filter((p) => Math.floor((8 * (p - LEAST)) / 2 ** 24) === k),
      );
      for (const { length } of parts) expect(Math.abs(length - 900 / 8)).toBeLessThan(5 * Math.sqrt(900 / 8));
    }
  });
});

describe("what may be equal by accident", () => {
  const squared = (a: Algebra, x: Number_, times: number): Number_ => {
    let power = x;
    for (let k = 0; k < times; k++) power = a.mul(power, power);
    return power;
  };
  const algebras: (() => Algebra)[] = [() => new FieldAlgebra(), () => new ExponentialAlgebra(new Map())];

  it("of a high degree is not told", () => {
    for (const make of algebras) {
      const a = make();
      const [x, y] = [0, 1].map((n) => a.leaf(0, "x", 0, n)) as [Number_, Number_];
      const pair = (n: number): [Number_, Number_] => [squared(a, a.mul(x, y), n - 1), a.mul(squared(a, x, n - 1), squared(a, y, n - 1))]; // prettier-ignore
      expect(a.isSame(...pair(12))).toBe(true);
      expect(() => a.isSame(...pair(13))).toThrow(CannotTell);
      // What differs differs.
      expect(a.isSame(squared(a, x, 20), squared(a, y, 20))).toBe(false);
      for (const use of [
        () => a.apply("f", [squared(a, x, 20)]),
        () => a.extreme("max", squared(a, x, 20), y),
        () => a.div(y, squared(a, x, 20)),
        () => a.select(a.compare("lt", squared(a, x, 20), y), squared(a, x, 20), y),
        () => a.isSame(a.compare("eq", squared(a, x, 20), y), 0),
      ])
        expect(use).toThrow(CannotTell);
    }
  });

  it("with large coefficients is not told, and that of some is", () => {
    const a = new FieldAlgebra();
    const [x, y] = leaves(a, 2) as [Number_, Number_];
    const scaled = (n: number): [Number_, Number_] => {
      const by = (v: Number_): Number_ => Array.from({ length: n }, () => 2 ** 50 - 27).reduce<Number_>((u, c) => a.mul(u, c), v); // prettier-ignore
      return [by(a.add(x, y)), a.add(by(x), by(y))];
    };
    expect(a.isSame(...scaled(10))).toBe(true);
    expect(() => a.isSame(...scaled(60))).toThrow(CannotTell);
    // -1e30 stands for the least number in many programs.
    const e = new ExponentialAlgebra(new Map());
    const z = e.leaf(0, "x", 0, 0);
    const least = (c: number): Number_ => e.apply("exp", [e.sub(c, e.extreme("max", c, z))]);
    expect(e.isSame(least(-1e30), least(-1e30))).toBe(true);
    expect(e.isSame(least(-1e30), least(-2e30))).toBe(false);
  });

  it("is no sum of many quotients, products or choices", () => {
    const a = new FieldAlgebra();
    const x = leaves(a, 1500);
    const sum = (of: (v: Number_) => Number_, from: readonly Number_[]): Number_ =>
      from.reduce((total, v) => a.add(total, of(v)), 0);
    const same = (of: (v: Number_) => Number_): boolean => a.isSame(sum(of, x), sum(of, x.toReversed()));
    expect(same((v) => a.div(v, x[0]!))).toBe(true);
    expect(same((v) => a.div(v, 7))).toBe(true);
    expect(same((v) => a.add(a.div(v, a.add(x[0]!, x[1]!)), a.div(v, x[2]!)))).toBe(true);
    expect(same((v) => a.div(1, v))).toBe(true);
    expect(same((v) => a.mul(v, v))).toBe(true);
    const largest = x.reduce((best, v) => a.select(a.compare("lt", x[0]!, v), v, best));
    expect(a.isSame(largest, a.add(a.sub(largest, x[5]!), x[5]!))).toBe(true);
  });

  it("counts degrees and coefficients of what is divided, too", () => {
    const [x, c] = [Size.MEMBER, Size.ofFraction(3, 4)];
    const both = (s: Size): [number, number] => [s.wholeDegree, s.wholeNorm];
    expect(both(x.plus(x))).toEqual([1, 2]);
    expect(both(x.times(x).plus(x))).toEqual([2, 2]);
    expect(both(x.times(c).plus(x))).toEqual([1, 28]);
    // x / (x · x + x) is of degree 3, and half of it, too.
    const quotient = x.times(x.times(x).plus(x).inverse);
    expect(both(quotient)).toEqual([3, 2]);
    expect(both(quotient.plus(quotient))).toEqual([3, 4]);
    expect(both(quotient.plus(x.inverse))).toEqual([5, 6]);
    expect(both(c.inverse)).toEqual([0, 12]);
    expect(both(x.or(x.times(Size.ofFraction(5, 1))))).toEqual([1, 5]);
  });
});

describe("sums of products", () => {
  it("are the same by lines and one by one, in any number", () => {
    const a = new FieldAlgebra();
    for (const n of [0, 1, 8, 300, 40_000]) {
      const [x, y] = [leaves(a, n, 0), leaves(a, n, 1)];
      for (let i = 3; i < n; i += 5) x[i] = i % 2 === 0 ? 0 : i;
      const [lines, single] = [a.accumulator(), a.accumulator()];
      lines.addProducts(a.factors(x), a.factors(y));
      x.forEach((value, i) => single.addProduct(value, y[i]!));
      expect(a.isSame(lines.build(), single.build())).toBe(true);
    }
  });

  it("of zeros are the number 0", () => {
    const a = new FieldAlgebra();
    const x = leaves(a, 2);
    for (const [left, right] of [
      [[0, 0], x],
      [x, [0, 0]],
      [
        [0, x[0]!],
        [x[1]!, 0],
      ],
    ] as const) {
      const total = a.accumulator();
      total.addProducts(a.factors(left), a.factors(right));
      expect(total.build()).toBe(0);
    }
  });
});

describe("extrema", () => {
  const fold = (a: FieldAlgebra, values: readonly Number_[], fn: "min" | "max" = "max"): Number_ =>
    values.reduce((folded, x) => a.extreme(fn, folded, x));

  for (const n of [2, 3, 8, 9, 40, 500])
    it(`of ${n} values are the same in any order and however often each is there`, () => {
      const a = new FieldAlgebra();
      const x = leaves(a, n);
      const all = fold(a, x);
      expect(a.isSame(all, fold(a, x.toReversed()))).toBe(true);
      expect(a.isSame(all, fold(a, [...x, ...x]))).toBe(true);
      const half = n >> 1;
      const joined = a.extreme("max", fold(a, x.slice(half)), fold(a, x.slice(0, half + 1)));
      expect(a.isSame(all, joined)).toBe(true);
      expect(a.isSame(all, a.extreme("max", joined, all))).toBe(true);
      expect(a.isSame(all, fold(a, x, "min"))).toBe(false);
      for (const without of [0, half, n - 1])
        expect(a.isSame(all, fold(a, [...x.slice(0, without), ...x.slice(without + 1)]))).toBe(false);
    });

  it("of which one fold continues another stay what they were", () => {
    const a = new FieldAlgebra();
    const x = leaves(a, 12);
    const few = fold(a, x.slice(0, 10));
    const [more, other] = [a.extreme("max", few, x[10]!), a.extreme("max", few, x[11]!)];
    expect(a.isSame(few, fold(a, x.slice(0, 10)))).toBe(true);
    expect(a.isSame(more, fold(a, x.slice(0, 11)))).toBe(true);
    expect(a.isSame(other, fold(a, [...x.slice(0, 10), x[11]!]))).toBe(true);
    expect(a.isSame(a.extreme("max", more, other), a.extreme("max", other, more))).toBe(true);
    expect(a.isSame(a.extreme("max", more, other), fold(a, x))).toBe(true);
    expect(a.isSame(more, other)).toBe(false);
  });

  it("have each multiple once: every element of a row may ask for that of the whole row", () => {
    const a = new FieldAlgebra();
    const x = leaves(a, 40);
    const all = fold(a, x);
    const half = a.mul(all, 0.5);
    expect(a.mul(all, 0.5)).toBe(half);
    expect(a.isSame(half, fold(a, x.map((v) => a.mul(v, 0.5))))).toBe(true); // prettier-ignore
    // Of the last factor alone, and of another there is another one.
    const negative = a.mul(all, -0.5);
    expect(a.isSame(negative, fold(a, x.map((v) => a.mul(v, -0.5)), "min"))).toBe(true); // prettier-ignore
    expect(a.isSame(negative, half)).toBe(false);
    expect(a.isSame(a.div(all, 2), half)).toBe(true);
    // More members are another set, whose multiples are its own.
    const fewer = fold(a, x.slice(0, 39));
    expect(a.isSame(a.mul(fewer, 0.5), half)).toBe(false);
  });

  it("are told apart by their members, not by the sum of those", () => {
    const a = new FieldAlgebra();
    const [x, y] = leaves(a, 2) as [Number_, Number_];
    expect(a.isSame(a.extreme("max", x, y), a.extreme("max", a.add(x, 1), a.sub(y, 1)))).toBe(false);
  });
});
