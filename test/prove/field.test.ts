/** The residues that the answer proof computes with: sums of products, extrema as sets, hashes in the place of functions. */
import { describe, expect, it } from "vitest";
import type { Number_ } from "../../src/compiler/prove/algebra.js";
import { FieldAlgebra } from "../../src/compiler/prove/field.js";
import { inverse, keyOf, P, placesOf, Q, R, type Residues, times, VALUES } from "../../src/compiler/prove/residues.js";

const member = (n: number): Residues => VALUES.member(n);
const standIn = (tag: number, args: readonly Residues[]): Residues => VALUES.standIn(tag, args);

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
          const { p, q, r } = placesOf(keyOf(text, seed)).values.member(n);
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
    const birthdays = (all.length * all.length) / 2 / 2 ** 26;
    for (const field of ["p", "q", "r"] as const) {
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

  it("are told apart by their members, not by the sum of those", () => {
    const a = new FieldAlgebra();
    const [x, y] = leaves(a, 2) as [Number_, Number_];
    expect(a.isSame(a.extreme("max", x, y), a.extreme("max", a.add(x, 1), a.sub(y, 1)))).toBe(false);
  });
});
