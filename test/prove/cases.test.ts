/** Equality by cases of order, against all orders of few values tried out. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Number_ } from "../../src/compiler/prove/algebra.js";
import { Cases } from "../../src/compiler/prove/cases.js";
import { ExactAlgebra } from "../../src/compiler/prove/exact.js";
import { type Choices, drawn } from "../fuzz/choices.js";

type Values = Readonly<Record<string, number>>;
/** An expression as a term, and as a function of numbers. */
interface Expression {
  readonly term: Number_;
  readonly at: (v: Values) => number;
}

const COMPARISONS = ["lt", "le", "eq", "ne", "ge", "gt"] as const;
const holds = (fn: (typeof COMPARISONS)[number], a: number, b: number): boolean =>
  ({ lt: a < b, le: a <= b, eq: a === b, ne: a !== b, ge: a >= b, gt: a > b })[fn];

function expressions(algebra: ExactAlgebra): {
  leaf: (name: string) => Expression;
  number: (x: number) => Expression;
  extreme: (fn: "min" | "max", a: Expression, b: Expression) => Expression;
  where: (fn: (typeof COMPARISONS)[number], a: Expression, b: Expression, x: Expression, y: Expression) => Expression;
  add: (a: Expression, b: Expression) => Expression;
  times: (a: Expression, by: number) => Expression;
} {
  return {
    leaf: (name) => ({ term: algebra.leaf(0, name, 0, 0), at: (v) => v[name]! }),
    number: (x) => ({ term: x, at: () => x }),
    extreme: (fn, a, b) => ({
      term: algebra.extreme(fn, a.term, b.term),
      at: (v) => Math[fn](a.at(v), b.at(v)),
    }),
    where: (fn, a, b, x, y) => {
      const condition =
        typeof a.term === "number" && typeof b.term === "number"
          ? Number(holds(fn, a.term, b.term))
          : algebra.compare(fn, a.term, b.term);
      const term =
        typeof condition === "number" ? (condition !== 0 ? x.term : y.term) : algebra.select(condition, x.term, y.term);
      return { term, at: (v) => (holds(fn, a.at(v), b.at(v)) ? x.at(v) : y.at(v)) };
    },
    add: (a, b) => ({ term: algebra.add(a.term, b.term), at: (v) => a.at(v) + b.at(v) }),
    times: (a, by) => ({ term: algebra.mul(a.term, by), at: (v) => by * a.at(v) }),
  };
}

const NAMES = ["a", "b", "c"];
const POINTS: Values[] = [-1, 0, 0.5, 1, 2].flatMap((a) =>
  [-1, 0, 0.5, 1, 2].flatMap((b) => [-1, 0, 0.5, 1, 2].map((c) => ({ a, b, c }))),
);

describe("equality by cases", () => {
  it("is said of no two random expressions that differ at some point, and of many that do not", () => {
    let [equal, said] = [0, 0];
    const pairs = drawn(({ below, pick, chance }: Choices) => {
      const algebra = new ExactAlgebra();
      const e = expressions(algebra);
      const make = (depth: number): Expression => {
        if (depth === 0) return chance(0.8) ? e.leaf(pick(NAMES)) : e.number(pick([0, 1, -1]));
        const of = (): Expression => make(below(depth));
        switch (pick(["min", "max", "where", "where", "add", "times"] as const)) {
          case "min":
            return e.extreme("min", of(), of());
          case "max":
            return e.extreme("max", of(), of());
          case "where":
            return e.where(pick(COMPARISONS), of(), of(), of(), of());
          case "add":
            return e.add(of(), of());
          default:
            return e.times(of(), pick([-1, 2, 0.5]));
        }
      };
      const x = make(3);
      // Half of them are meant to be equal: a choice that makes no difference, or the same choice the other way round.
      const [a, b] = [make(1), make(1)];
      const z = chance(0.4)
        ? make(3)
        : chance(0.5)
          ? e.where("lt", a, b, x, e.where("ge", a, b, x, make(2)))
          : e.extreme("max", e.extreme("min", x, a), e.extreme("min", x, e.extreme("max", a, x)));
      return { algebra, x, z };
    });
    for (const { algebra, x, z } of fc.sample(pairs, { seed: 7, numRuns: 1500 })) {
      const differs = POINTS.some((v) => x.at(v) !== z.at(v));
      const isSaid = x.term === z.term || new Cases(() => algebra).areEqual(x.term, z.term);
      if (isSaid) expect(differs).toBe(false);
      if (!differs) equal++;
      if (isSaid) said++;
    }
    expect(equal).toBeGreaterThan(500);
    expect(said).toBeGreaterThan(0.8 * equal);
  });

  it("takes about as many cases for an argmax as there are elements, and gives up where there are too many", () => {
    const algebra = new ExactAlgebra();
    const cases = new Cases(() => algebra);
    const argmax = (n: number, isFirst: boolean): readonly [Number_, Number_] => {
      const x = Array.from({ length: n }, (_, k) => algebra.leaf(0, "x", 0, k) as Number_);
      const top = x.reduce((a, b) => algebra.extreme("max", a, b));
      const wanted = x
        .map((v, k) => algebra.select(algebra.compare("eq", v, top), k, n))
        .reduce((a, b) => algebra.extreme("min", a, b));
      let [best, at]: [Number_, Number_] = [x[0]!, 0];
      for (let k = 1; k < n; k++) {
        at = algebra.select(algebra.compare(isFirst ? "gt" : "ge", x[k]!, best), k, at);
        best = algebra.extreme("max", best, x[k]!);
      }
      return [wanted, at];
    };
    expect(cases.areEqual(...argmax(40, true))).toBe(true);
    expect(cases.areEqual(...argmax(3, false))).toBe(false);
    expect(cases.areEqual(...argmax(40, false))).toBe(false);
    expect(cases.areEqual(...argmax(1500, true))).toBe(false);
  });
});
