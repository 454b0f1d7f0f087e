/** Boxes of lengths in other parameters, so that a question about rounds has an answer in polynomials. */
import {
  type Box,
  constant,
  factors,
  type Form,
  minus,
  parameter,
  plus,
  product,
  type Range,
  replacedIn,
  Rewritten,
  scaled,
} from "./forms.js";
import type { Expression } from "./expressions.js";

/** What the number of a round is called in a box, by how many there are: no dimension has such a name. */
export function roundOf(count: Expression): string {
  return `round of ${count.id}`;
}

/** Rows are those of the rounds before, those of the round, and those behind: `name` + more = round · rows + left. */
export class Round extends Rewritten {
  /** @param called the number of the round @param rows so many for each @param more what the number of rows is beside the parameter */
  constructor(
    private readonly called: string,
    private readonly parameter: string,
    private readonly rows: Form,
    private readonly more: Form,
  ) {
    super("rows are those before a round and behind");
  }

  override boxesOf(box: Box): readonly Box[] {
    const [before, left] = [`${this.parameter}<`, `${this.parameter}>`];
    // More than there are, where there are limits: what holds of them holds of those that are.
    const further = new Map<string, Range>([
      [before, { low: 0, high: Infinity }],
      [left, { low: 1, high: Infinity }],
    ]);
    const by = minus(plus(product(parameter(before), this.rows), parameter(left)), this.more);
    const { ranges, names } = replacedIn(box, this.parameter, by, further);
    return [{ ranges, names: new Map([...names, [this.called, parameter(before)]]) }];
  }
}

/** A round of a number of rows that is fixed. */
export class FixedRound extends Rewritten {
  constructor(
    private readonly called: string,
    private readonly most: number,
  ) {
    super("there is a number of rounds");
  }

  override boxesOf({ ranges, names }: Box): readonly Box[] {
    const { called, most } = this;
    const range = { low: 0, high: most - 1 };
    return [{ ranges: new Map([...ranges, [called, range]]), names: new Map([...names, [called, parameter(called)]]) }];
  }
}

/** A parameter in digits that begin at multiples, and what lies before the first of these, or behind the last. */
export class WholeDigits extends Rewritten {
  constructor(
    private readonly parameter: string,
    private readonly base: number,
  ) {
    super(`${parameter} is written in digits of ${base}`);
  }

  override boxesOf(box: Box): readonly Box[] {
    const { parameter: name, base } = this;
    const range = box.ranges.get(name)!;
    const { low, high } = range;
    const [from, to] = [Math.ceil(low / base), Math.floor((high + 1) / base) - 1];
    const limited = (least: number, most: number): readonly Box[] => {
      if (least > most || least === Infinity) return [];
      // A parameter with one value is none.
      if (least === most) return [replacedIn(box, name, constant(least), new Map())];
      return [{ ...box, ranges: new Map(box.ranges).set(name, { ...range, low: least, high: most }) }];
    };
    if (from > to) {
      const middle = from * base;
      return [...limited(low, Math.min(high, middle - 1)), ...limited(middle, high)];
    }
    const [step, digit] = [`${name}'`, `${name}.`];
    const further = new Map<string, Range>([[digit, { low: 0, high: base - 1 }]]);
    if (from < to) further.set(step, { low: from, high: to });
    const steps = from < to ? scaled(parameter(step), base) : constant(from * base);
    const whole = replacedIn(box, name, plus(steps, parameter(digit)), further);
    return [...limited(low, from * base - 1), whole, ...limited((to + 1) * base, high)];
  }
}

/** Either of two parameters is the larger one. */
export class Ordered extends Rewritten {
  constructor(
    private readonly a: string,
    private readonly b: string,
  ) {
    super(`${a} is held against ${b}`);
  }

  override boxesOf(box: Box): readonly Box[] {
    const { a, b } = this;
    return [this.larger(box, a, b, 0), this.larger(box, b, a, 1)];
  }

  /** The box where one is another and so much more, or more than that. */
  private larger(box: Box, a: string, b: string, low: number): Box {
    const high = box.ranges.get(a)!.high;
    const more = `${a}-${b}`;
    const ranges = new Map(box.ranges);
    const lower = ranges.get(b)!;
    ranges.set(b, { ...lower, high: Math.max(lower.low, Math.min(lower.high, high)) });
    return replacedIn({ ...box, ranges }, a, plus(parameter(b), parameter(more)), new Map([[more, { low, high }]]));
  }
}

/** The two parameters that a difference of two is of; null of other polynomials. */
export function differenceOf(f: Form): readonly [string, string] | null {
  const [a, b] = [...f].sort(([, n], [, m]) => m - n);
  if (f.size !== 2 || a![1] !== 1 || b![1] !== -1 || [a!, b!].some(([key]) => factors(key).length !== 1)) return null;
  return [a![0], b![0]];
}

/** A number of which nothing is known but its range, by a name: a parameter of its own. */
export class Named extends Rewritten {
  constructor(
    private readonly named: string,
    private readonly range: Range,
  ) {
    super("a number is divided by a length");
  }

  override boxesOf({ ranges, names }: Box): readonly Box[] {
    const { named } = this;
    if (this.range.low === this.range.high)
      return [{ ranges, names: new Map([...names, [named, constant(this.range.low)]]) }];
    return [
      { ranges: new Map([...ranges, [named, this.range]]), names: new Map([...names, [named, parameter(named)]]) },
    ];
  }
}
