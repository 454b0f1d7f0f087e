/** Values where some of their order is known: what is left of choices then, and which order has to be known next. */
import type { Comparison } from "../ir/ops.js";
import type { Number_, Term } from "./algebra.js";
import type { ExactAlgebra } from "./exact.js";
import { Applied, Leaf, partsOfTerm, Poison, Product, Sum } from "./terms.js";

/** What two values may be to each other: bits of LESS, EQUAL, GREATER. */
type Relation = number;
const LESS = 1;
export const EQUAL = 2;
const GREATER = 4;
const ANY = LESS | EQUAL | GREATER;

const HOLDS: Readonly<Record<Comparison, Relation>> = {
  lt: LESS,
  le: LESS | EQUAL,
  eq: EQUAL,
  ne: LESS | GREATER,
  ge: GREATER | EQUAL,
  gt: GREATER,
};

const isComparison = (fn: string): fn is Comparison => Object.hasOwn(HOLDS, fn);
export const isExtreme = (x: Number_): x is Applied => x instanceof Applied && (x.fn === "min" || x.fn === "max");
const idOf = (x: Number_): number => (typeof x === "number" ? -1 : x.id);
const turned = (r: Relation): Relation => (r & EQUAL) | (r & LESS ? GREATER : 0) | (r & GREATER ? LESS : 0);

/** `lower` is less than `upper`, or equal to it unless `isStrict`. */
export interface Edge {
  readonly lower: Number_;
  readonly upper: Number_;
  readonly isStrict: boolean;
}

/** An order that is missing: one of these is so. */
type Split = readonly (readonly Edge[])[];

/** A condition that is open, or what is not so. */
interface Condition {
  readonly holds: Term;
  readonly isNegated: boolean;
}

/** Values where some of their order is known. */
export class Case {
  private readonly values = new Map<Term, Number_>();
  /** Of values that still depend on an order, that order; found when it is asked for. */
  private readonly open = new Map<Number_, () => Split>();
  /** By lower end. */
  private readonly above = new Map<Number_, Edge[]>();
  private readonly constants: readonly number[];

  private readonly edges: readonly Edge[];

  constructor(
    private readonly algebra: ExactAlgebra,
    given: readonly Edge[],
    known: readonly [Term, Number_] | undefined,
    private readonly step: () => void,
  ) {
    if (known !== undefined) this.values.set(known[0], known[1]);
    // What both sides have is left out, as it is of what is asked for.
    const edges = given.map(({ lower, upper, isStrict }): Edge => {
      const [a, b] = this.sides(lower, upper);
      return { lower: a, upper: b, isStrict };
    });
    this.edges = edges;
    for (const e of edges) this.above.set(e.lower, [...(this.above.get(e.lower) ?? []), e]);
    const numbers = edges.flatMap(({ lower, upper }) => [lower, upper]).filter((x) => typeof x === "number");
    this.constants = [...new Set(numbers)];
  }

  /** Whether no data is ordered like this. */
  isImpossible(): boolean {
    return this.edges.some(({ lower, upper, isStrict }) => {
      if (typeof lower === "number" && typeof upper === "number") return isStrict ? lower >= upper : lower > upper;
      return this.reaches(upper, lower) >= (isStrict ? 1 : 2);
    });
  }

  /** 0: nothing says that a ≤ b; 1: it is; 2: a < b. */
  private reaches(a: Number_, b: Number_): 0 | 1 | 2 {
    const best = new Map<Number_, 1 | 2>([[a, 1]]);
    const work: Number_[] = [a];
    for (let x = work.pop(); x !== undefined; x = work.pop()) {
      this.step();
      const strict = best.get(x)!;
      const go = (to: Number_, isStrict: boolean): void => {
        const reached = isStrict ? 2 : strict;
        if ((best.get(to) ?? 0) >= reached) return;
        best.set(to, reached);
        work.push(to);
      };
      for (const e of this.above.get(x) ?? []) go(e.upper, e.isStrict);
      if (typeof x !== "number") continue;
      const greater = typeof b === "number" ? [...this.constants, b] : this.constants;
      for (const c of greater) if (c > x) go(c, true);
    }
    return a === b ? 0 : (best.get(b) ?? 0);
  }

  /** What two values without choices, or extremes of such, may be to each other. */
  relation(a: Number_, b: Number_): Relation {
    if (a === b) return EQUAL;
    if (isExtreme(a)) return this.ofExtreme(a, b);
    if (isExtreme(b)) return turned(this.ofExtreme(b, a));
    const [x, y] = this.sides(a, b);
    if (typeof x === "number" && typeof y === "number") return x < y ? LESS : x > y ? GREATER : EQUAL;
    const [up, down] = [this.reaches(x, y), this.reaches(y, x)];
    if (up === 2) return LESS;
    if (down === 2) return GREATER;
    return ANY & (up === 1 ? ~GREATER : ANY) & (down === 1 ? ~LESS : ANY);
  }

  private ofExtreme({ fn, args }: Applied, b: Number_): Relation {
    const toB = args.map((x) => (fn === "max" ? this.relation(x, b) : turned(this.relation(x, b))));
    const isPossible = (r: Relation): boolean => toB.some((one) => (one & r) !== 0);
    let found = 0;
    if (isPossible(GREATER)) found |= GREATER;
    if (toB.every((r) => (r & LESS) !== 0)) found |= LESS;
    if (isPossible(EQUAL) && toB.every((r) => (r & (LESS | EQUAL)) !== 0)) found |= EQUAL;
    // One that is greater for sure decides; so does one that is not less.
    if (toB.includes(GREATER)) found = GREATER;
    else if (toB.some((r) => (r & LESS) === 0)) found &= ~LESS;
    return fn === "max" ? found : turned(found);
  }

  /** The same comparison without what both sides have, divided by a common factor: x - y < 0 is x < y. */
  private sides(a: Number_, b: Number_): readonly [Number_, Number_] {
    const difference = this.algebra.sub(a, b);
    if (typeof difference === "number") return [difference, 0];
    if (!(difference instanceof Sum)) return [difference, 0];
    const { constant, terms, coefficients } = difference;
    const scale = Math.abs(coefficients[0]!);
    const part = (sign: number): Number_ => {
      const chosen = terms.flatMap((t, i) => (Math.sign(coefficients[i]!) === sign ? [i] : []));
      const own = Math.sign(constant) === sign ? Math.abs(constant) / scale : 0;
      if (chosen.length === 0) return sign * constant > 0 ? own : 0;
      return chosen.reduce<Number_>(
        (sum, i) => this.algebra.add(sum, this.algebra.mul(terms[i]!, Math.abs(coefficients[i]!) / scale)),
        own,
      );
    };
    const [x, y] = [part(1), part(-1)];
    // A constant beside terms goes to the side that has none: x + 1 > 0 is x > -1.
    if (constant !== 0 && (x === 0 || y === 0)) {
      const bare = this.algebra.sub(difference, constant);
      const positive = x === 0 ? this.algebra.mul(bare, -1 / scale) : this.algebra.mul(bare, 1 / scale);
      return x === 0 ? [constant / scale, positive] : [positive, -constant / scale];
    }
    return [x, y];
  }

  /** A value without its choices, as far as the order decides about them; see `splitOf`. */
  value(x: Number_): Number_ {
    if (typeof x === "number" || x instanceof Leaf || x instanceof Poison) return x;
    let value = this.values.get(x);
    if (value === undefined) {
      this.step();
      this.values.set(x, (value = this.find(x)));
    }
    return value;
  }

  /** The order that has to be known next; null for a value without choices. */
  splitOf(x: Number_): Split | null {
    return this.open.get(x)?.() ?? null;
  }

  /** Notes that a value is open because one of its parts is. */
  private openLike(value: Number_, parts: readonly Number_[]): Number_ {
    const part = parts.find((p) => this.open.has(p));
    if (part !== undefined) this.open.set(value, this.open.get(part)!);
    return value;
  }

  private find(x: Term): Number_ {
    const { algebra } = this;
    if (x instanceof Sum) {
      const parts = x.terms.map((t) => this.value(t));
      const total = algebra.accumulator();
      total.add(x.constant);
      parts.forEach((t, i) => total.add(algebra.mul(t, x.coefficients[i]!)));
      return this.openLike(total.build(), parts);
    }
    if (x instanceof Product) {
      const parts = x.factors.map((f) => this.value(f));
      return this.openLike(
        parts.reduce((all, f) => algebra.mul(all, f)),
        parts,
      );
    }
    if (!(x instanceof Applied)) return x;
    const { fn, args } = x;
    if (fn === "select") return this.choice(args as readonly [Number_, Number_, Number_]);
    if (fn === "min" || fn === "max") return this.extreme(fn, args);
    if (isComparison(fn)) {
      const c = this.comparison(fn, args);
      if (typeof c === "number" || !c.isNegated) return typeof c === "number" ? c : c.holds;
      return this.openLike(algebra.sub(1, c.holds), [c.holds]);
    }
    const values = args.map((y) => this.value(y));
    if ((fn === "and" || fn === "or") && values.every((v) => typeof v === "number"))
      return values.reduce((a, b) => (fn === "and" ? a & b : a | b));
    return this.openLike(values.every((v, i) => v === args[i]) ? x : algebra.apply(fn, values), values);
  }

  /** 1, 0, or the condition that is left: an equality where it is one or its opposite, else that one side is less. */
  private comparison(fn: Comparison, args: readonly Number_[]): number | Condition {
    const [a, b] = args.map((y) => this.comparable(y)) as [Number_, Number_];
    const possible = this.relation(a, b);
    const wanted = possible & HOLDS[fn];
    if (wanted === possible) return 1;
    if (wanted === 0) return 0;
    const isNegated = (wanted & EQUAL) === 0;
    if (wanted === EQUAL || (possible & ~wanted) === EQUAL) return this.condition("eq", a, b, possible, isNegated);
    if (wanted === LESS || wanted === GREATER)
      return this.condition(wanted === LESS ? "lt" : "gt", a, b, possible, false);
    return this.condition(wanted & GREATER ? "lt" : "gt", a, b, possible, true);
  }

  private condition(fn: "eq" | "lt" | "gt", a: Number_, b: Number_, possible: Relation, isNegated: boolean): Condition {
    const [x, y] = fn === "gt" || (fn === "eq" && idOf(a) > idOf(b)) ? [b, a] : [a, b];
    const holds = this.algebra.apply(fn === "eq" ? "eq" : "lt", [x, y]);
    // What a side is comes before how it compares.
    const side = this.open.get(a) ?? this.open.get(b);
    this.open.set(holds, side ?? ((): Split => this.splitOfSides(a, b, possible)));
    return { holds, isNegated };
  }

  private choice([condition, a, b]: readonly [Number_, Number_, Number_]): Number_ {
    const c = this.truth(condition);
    if (typeof c === "number") return this.value(c !== 0 ? a : b);
    const [x, y] = [this.value(a), this.value(b)];
    if (x === y || this.relation(x, y) === EQUAL) return x;
    const chosen = c.isNegated ? this.algebra.select(c.holds, y, x) : this.algebra.select(c.holds, x, y);
    return this.openLike(chosen, [c.holds]);
  }

  private truth(x: Number_): number | Condition {
    if (x instanceof Applied && isComparison(x.fn)) return this.comparison(x.fn, x.args);
    if (x instanceof Sum && x.constant === 1 && x.terms.length === 1 && x.coefficients[0] === -1) {
      const c = this.truth(x.terms[0]!);
      return typeof c === "number" ? 1 - c : { ...c, isNegated: !c.isNegated };
    }
    const value = this.value(x);
    return typeof value === "number" ? value : { holds: value, isNegated: false };
  }

  /** An extreme as it is where its members choose nothing: it can be compared as a whole. */
  private comparable(x: Number_): Number_ {
    return isExtreme(x) && !this.values.has(x) && !x.args.some(chooses) ? x : this.value(x);
  }

  private extreme(fn: "min" | "max", args: readonly Number_[]): Number_ {
    const end = fn === "max" ? 1 : 0;
    const found: Number_[] = [];
    const open: { readonly limit: number; readonly value: Number_ }[] = [];
    for (const arg of args) {
      const value = this.value(arg);
      if (!this.open.has(value)) found.push(value);
      else open.push({ limit: this.limits(value)[end], value });
    }
    const isBeyond = (x: number, y: number): boolean => (fn === "max" ? x >= y : x <= y);
    const limits = found.filter((x) => typeof x === "number");
    // What is open may not matter, whatever it is. What may be the furthest is decided first: if it is, that is all.
    const matter = open.filter(({ limit }) => !limits.some((x) => isBeyond(x, limit)));
    const best = this.undominated(fn, [...new Set(found)]);
    const all = [...best, ...matter.map(({ value }) => value)];
    const result = all.reduce((x, y) => this.algebra.extreme(fn, x, y));
    if (matter.length > 0) {
      const first = matter.reduce((x, y) => (isBeyond(x.limit, y.limit) ? x : y));
      this.open.set(result, this.open.get(first.value)!);
    } else if (best.length > 1) this.open.set(result, () => firstExtremes(fn === "max", best));
    return result;
  }

  private isBeaten(relation: Relation, isLess: Relation, isEarlier: boolean): boolean {
    return relation === isLess || relation === (isEarlier ? EQUAL : isLess) || relation === (isLess | EQUAL);
  }

  /** Numbers between which a value lies, for certain; infinite where nothing is known. */
  private limits(x: Number_): readonly [number, number] {
    if (typeof x === "number") return [x, x];
    if (!(x instanceof Applied)) return [-Infinity, Infinity];
    const of = (args: readonly Number_[]): (readonly [number, number])[] => args.map((a) => this.limits(a));
    if (x.fn === "select") {
      const [[a, b], [c, d]] = of(x.args.slice(1)) as [readonly [number, number], readonly [number, number]];
      return [Math.min(a, c), Math.max(b, d)];
    }
    if (x.fn !== "min" && x.fn !== "max") return [-Infinity, Infinity];
    const all = of(x.args);
    const pick = x.fn === "min" ? Math.min : Math.max;
    return [pick(...all.map(([lo]) => lo)), pick(...all.map(([, hi]) => hi))];
  }

  /** The cases of a comparison that is open. */
  private splitOfSides(a: Number_, b: Number_, relation: Relation): Split {
    for (const [x, other] of [
      [a, b],
      [b, a],
    ] as const) {
      if (!isExtreme(x)) continue;
      const best = this.undominated(x.fn, x.args);
      if (best.length > 1) return firstExtremes(x.fn === "max", best);
      const open = this.relation(best[0]!, other);
      return this.splitOfSides(best[0]!, other, open);
    }
    const [x, y] = this.sides(a, b);
    return [
      ...(relation & LESS ? [[{ lower: x, upper: y, isStrict: true }]] : []),
      ...(relation & EQUAL ? [[x, y].map((lower, i) => ({ lower, upper: i === 0 ? y : x, isStrict: false }))] : []),
      ...(relation & GREATER ? [[{ lower: y, upper: x, isStrict: true }]] : []),
    ];
  }

  /** The members of which one is the extreme. */
  private undominated(fn: string, args: readonly Number_[]): Number_[] {
    const isLess = fn === "max" ? LESS : GREATER;
    const left = [...args];
    // One after the other, for of two that are equal, seen as neither is less, one has to stay.
    for (let i = 0; i < left.length;)
      if (left.some((y, j) => j !== i && this.isBeaten(this.relation(left[i]!, y), isLess, j < i))) left.splice(i, 1);
      else i++;
    return left;
  }
}

/** One case for each member: it is the extreme, and the first that is. */
export function firstExtremes(isMax: boolean, members: readonly Number_[]): Edge[][] {
  return members.map((best, i) =>
    members.flatMap((other, j) => {
      if (j === i) return [];
      const [lower, upper] = isMax ? [other, best] : [best, other];
      return [{ lower, upper, isStrict: j < i }];
    }),
  );
}

const choosing = new WeakMap<Term, boolean>();

/** Whether a value depends on a comparison. */
export function chooses(x: Number_): boolean {
  if (typeof x === "number" || x instanceof Leaf || x instanceof Poison) return false;
  const known = choosing.get(x);
  if (known !== undefined) return known;
  const found =
    isExtreme(x) || (x instanceof Applied && (x.fn === "select" || isComparison(x.fn))) || partsOfTerm(x).some(chooses);
  choosing.set(x, found);
  return found;
}
