/** What is known of values while a program is gone through: intervals, which values are equal, and what conditions around say. */
import { OPPOSITE } from "../ir/functions.js";
import type { Op, Value } from "../ir/module.js";
import type { Comparison } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { isFloat } from "../types/dtype.js";
import { EXACT, type Exactness } from "./exactness.js";
import { evaluate, type Known } from "./interval-arithmetic.js";
import { allOf, hull, type Interval, interval, overlap, SMALLEST_F32, UNLIMITED } from "./intervals.js";

/** That the value of a number lies somewhere. */
type Fact = readonly [number: number, at: Interval];

export class KnownValues {
  private readonly values = new Map<Value, Known>();
  private readonly numbers = new Map<string, number>();
  private readonly fixed = new Set<number>();
  /** One value of each number. */
  private readonly byNumber = new Map<number, Value>();
  /** Of values by their numbers: what the conditions around say of them. */
  private readonly facts = new Map<number, Interval>();
  /** What makes values of indices alone. */
  private readonly ofIndices = new Map<Value, Op>();
  /** What comparisons say, by their numbers. */
  private readonly conditions = new Scoped<{ readonly yes: readonly Fact[]; readonly no: readonly Fact[] }>();
  /** The two that a select has chosen between, as they are where they are chosen, by its number. */
  private readonly choices = new Scoped<readonly [Known, Known]>();

  private readonly kinds = new Map<Op, string>();
  /** What `of` has found under the facts at hand: indices are made of indices, which would be gone through once for each path. */
  private readonly found = new Map<Value, Known>();

  of(v: Value): Known {
    const known = this.values.get(v) ?? { at: everything(v), number: -1, wraps: null, ...EXACT };
    if (this.facts.size === 0) return known;
    let found = this.found.get(v);
    if (found === undefined) this.found.set(v, (found = this.underFacts(v, known)));
    return found;
  }

  private underFacts(v: Value, known: Known): Known {
    const fact = this.facts.get(known.number);
    const made = this.ofIndices.get(v);
    if (fact === undefined && made === undefined) return known;
    const at = fact === undefined ? known.at : overlap(known.at, fact);
    if (made === undefined) return { ...known, at };
    // What was made of a length before it was known to be greater than 0.
    const operands = made.operands.map((o) => this.of(o));
    return { ...known, at: overlap(at, evaluate(made, operands, () => {}).at) };
  }

  /**
   * Enters the result of an op; `isPure` where equal operands give an equal one. @param when of memory, what it is as long as nothing is stored there
   */
  define(op: Op, known: Omit<Known, "number" | keyof Exactness> & Partial<Exactness>, isPure = true, when = ""): void {
    const [result] = op.results;
    if (result === undefined) return;
    const operands = op.operands.map((v) => this.of(v).number);
    const isNumbered = isPure && !operands.includes(-1);
    const isRank = op.name === "rank";
    const number = isRank ? this.rank : isNumbered ? this.numberOf(`${this.kindOf(op)} ${operands.join()}${when}`) : this.fresh(); // prettier-ignore
    if (
      op.name === "const" ||
      op.name === "dim" ||
      (operands.length > 0 && operands.every((n) => this.fixed.has(n)) && isNumbered && op.name !== "load")
    )
      this.fixed.add(number);
    this.enter(result, { ...EXACT, ...known, number });
  }

  /** What an op does, whatever it is done to. */
  private kindOf(op: Op): string {
    let kind = this.kinds.get(op);
    if (kind === undefined)
      this.kinds.set(op, (kind = `${op.name} ${JSON.stringify(op.attributes)} ${scalarOf(op.results[0]!.type)}`));
    return kind;
  }

  /** The number of this rank's number. */
  readonly rank = this.numberOf("rank");

  constructor(private readonly world: number) {}

  /** Whether all values of a number are one for a launch: constants and lengths. */
  isFixed(number: number): boolean {
    return this.fixed.has(number);
  }

  /** Enters a variable. */
  bind(v: Value, known: Pick<Known, "at" | "within">): void {
    this.enter(v, { ...EXACT, ...known, number: this.fresh(), wraps: null });
  }

  private enter(v: Value, known: Known): void {
    // Another index: what is made of it is another, too.
    if (v.type.kind !== "tensor" && scalarOf(v.type) === "index" && this.values.has(v)) this.found.clear();
    else this.found.delete(v);
    this.values.set(v, known);
    this.byNumber.set(known.number, v);
  }

  /** What is known of the values of a number. */
  readonly numbered = (number: number): Known | undefined => {
    if (number === this.rank) return { at: interval(0, this.world - 1), number, wraps: null, ...EXACT };
    const v = this.byNumber.get(number);
    return v === undefined ? undefined : this.of(v);
  };

  private numberOf(key: string): number {
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, (number = this.numbers.size));
    return number;
  }

  private fresh(): number {
    return this.numberOf(`new ${this.numbers.size}`);
  }

  /** Notes that a value is made of indices, of which more may be known later. */
  madeOfIndices(op: Op): void {
    this.ofIndices.set(op.results[0]!, op);
    this.found.delete(op.results[0]!);
  }

  /** Notes what an op that compares says of its sides. */
  compared(op: Op, fn: Comparison, a: Known, b: Known): void {
    // Next to a limit, integers are one apart and floats are not.
    const step = isFloat(scalarOf(op.operands[0]!.type)) ? 0 : 1;
    const facts = (f: Comparison): Fact[] => [
      [a.number, limited(f, b.at, step)],
      [b.number, limited(SWAPPED[f], a.at, step)],
    ];
    this.conditions.set(this.of(op.results[0]!).number, { yes: facts(fn), no: facts(OPPOSITE[fn]) });
  }

  /** Notes what a condition says that is made of two: both of them, where only one way leads there. */
  joined(op: Op, fn: "and" | "or", a: Known, b: Known): void {
    const holds = fn === "and";
    const both = [...this.follows(a, holds), ...this.follows(b, holds)];
    // Where one of them says nothing, the other decides.
    const isNeutral = ({ at: { lo, hi } }: Known): boolean => lo === hi && (lo !== 0) === holds;
    const other = isNeutral(b) ? this.follows(a, !holds) : isNeutral(a) ? this.follows(b, !holds) : [];
    const [yes, no] = holds ? [both, other] : [other, both];
    this.conditions.set(this.of(op.results[0]!).number, { yes, no });
  }

  /** The values that a select chooses between, where its condition holds and where it does not. */
  chosen(condition: Known, b: Known, c: Known): readonly [Known, Known] {
    return [this.under(b, this.follows(condition, true)), this.under(c, this.follows(condition, false))];
  }

  /** Notes what a select has chosen between. */
  chose(op: Op, b: Known, c: Known): void {
    this.choices.set(this.of(op.results[0]!).number, [b, c]);
  }

  private under(x: Known, facts: readonly Fact[]): Known {
    if (x.number < 0 || facts.length === 0) return x;
    const own = facts.filter(([number]) => number === x.number);
    const at = own.reduce((at, [, fact]) => overlap(at, fact), x.at);
    const choice = this.choices.get(x.number);
    if (choice === undefined) return { ...x, at };
    const [b, c] = choice.map((k) => this.under(k, facts).at) as [Interval, Interval];
    return { ...x, at: overlap(at, hull(b, c)) };
  }

  /** What follows from a condition. */
  follows(condition: Known, holds: boolean): readonly Fact[] {
    const facts = this.conditions.get(condition.number);
    return (holds ? facts?.yes : facts?.no) ?? [];
  }

  assuming(facts: readonly Fact[], body: () => void): void {
    const before = facts.map(([number]) => [number, this.facts.get(number)] as const);
    for (const [number, at] of facts) {
      if (number < 0) continue;
      const known = this.facts.get(number);
      this.facts.set(number, known === undefined ? at : overlap(known, at));
    }
    this.found.clear();
    this.conditions.open();
    this.choices.open();
    body();
    this.choices.close();
    this.conditions.close();
    this.found.clear();
    for (const [number, at] of before.reverse())
      if (at === undefined) this.facts.delete(number);
      else this.facts.set(number, at);
  }
}

/** What is known by numbers of values. What is found where something is assumed is forgotten behind it: an equal value outside may be more. */
class Scoped<T> {
  private readonly values = new Map<number, T>();
  private readonly before: (readonly [number: number, value: T | undefined])[] = [];
  private readonly scopes: number[] = [];

  get(number: number): T | undefined {
    return this.values.get(number);
  }

  set(number: number, value: T): void {
    if (this.scopes.length > 0) this.before.push([number, this.values.get(number)]);
    this.values.set(number, value);
  }

  open(): void {
    this.scopes.push(this.before.length);
  }

  close(): void {
    for (const [number, value] of this.before.splice(this.scopes.pop()!).reverse())
      if (value === undefined) this.values.delete(number);
      else this.values.set(number, value);
  }
}

/** All that a value may be, by its type. */
export function everything(v: Value): Interval {
  return v.type.kind === "tensor" ? UNLIMITED : allOf(scalarOf(v.type));
}

const SWAPPED: Readonly<Record<Comparison, Comparison>> = {
  eq: "eq",
  ne: "ne",
  lt: "gt",
  gt: "lt",
  le: "ge",
  ge: "le",
};

/** Where x lies if `x fn y`. */
function limited(fn: Comparison, y: Interval, step: number): Interval {
  const smallest = step || SMALLEST_F32;
  switch (fn) {
    case "eq":
      return y;
    case "ne":
      return interval(-Infinity, Infinity, y.lo === 0 && y.hi === 0 ? smallest : 0);
    case "lt":
      return interval(-Infinity, y.hi - step, y.hi <= 0 ? smallest : 0);
    case "le":
      return interval(-Infinity, y.hi);
    case "gt":
      return interval(y.lo + step, Infinity, y.lo >= 0 ? smallest : 0);
    case "ge":
      return interval(y.lo, Infinity);
  }
}
