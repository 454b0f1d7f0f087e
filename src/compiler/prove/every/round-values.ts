/** What expressions of rounds are in one box of lengths, with conditions decided: polynomials in lengths, the round, and what loops count. */
import { exactQuotient, isSurely, NoLengths } from "./bounds.js";
import type { Decisions } from "./choices.js";
import { applied, type Expression, isComparison, NotAffine } from "./expressions.js";
import {
  type Box,
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isAtLeastZero,
  isConstant,
  keyOf,
  minus,
  ONE,
  parameter,
  product,
  quotient,
  rangeOf,
  scaled,
  Undecided,
  ZERO,
} from "./forms.js";
import { differenceOf, Named, Ordered } from "./rewritings.js";
import { isOfLengths, isVariable } from "./rounds.js";
import { startOf } from "./stretches.js";
import type { Span } from "../../source.js";

/** A polynomial is a multiple of a number, but for a part that is one. */
interface Multiple {
  readonly of: Form;
  readonly by: number;
}

/** So many times a number that is not constant is looked for in another: threads take so many vectors of a row, where there are threads enough. */
const MOST_TIMES = 7;

/** Of a share that is at most so much it is asked whether there are such lengths. */
const MOST_SMALL = 1;

export class RoundValues {
  private readonly forms = new Map<number, Form>();
  private readonly decisions: Map<string, boolean>;
  private readonly multiples: Multiple[] = [];
  /** Polynomials that are 0 or more. */
  readonly facts: Form[] = [];
  /** By buffer: what its address is a multiple of, in bytes. */
  readonly starts = new Map<string, number>();

  /**
   * @param decisions what is taken as decided; what else there is to decide does not hold
   * @param otherwise told of the decisions of each way that leaves this one at such a place
   */
  constructor(
    readonly box: Box,
    decisions: Decisions,
    private readonly otherwise: (decisions: Decisions) => void,
  ) {
    this.decisions = new Map(decisions);
  }

  /** What an expression is from here on: what a loop counts, and what is divided of that. */
  set(e: Expression, f: Form): void {
    this.forms.set(e.id, f);
  }

  /** @throws Cut, Digits, Undecided, NotAffine */
  of(e: Expression): Form {
    let f = this.forms.get(e.id);
    // Each loop has a variable of its own, and is come to once.
    if (f === undefined) this.forms.set(e.id, (f = this.made(e)));
    return f;
  }

  private made(e: Expression): Form {
    switch (e.kind) {
      case "constant":
        return constant(e.value);
      case "dim":
        return this.box.names.get(e.name)!;
      case "unknown":
        throw new NotAffine("a length that is not known");
      case "symbol":
        if (isVariable(e)) throw new NotAffine("what counts iterations outside of a loop");
        return parameter(e.name);
      case "apply": {
        if (e.fn === "select") return this.of(e.of[this.holds(e.of[0]!, null) ? 1 : 2]!);
        if (isComparison(e.fn) || e.fn === "and" || e.fn === "or" || e.fn === "not")
          return this.holds(e, null) ? ONE : ZERO;
        if (e.fn === "mul") {
          const whole = this.wholeOf(e);
          if (whole !== null) return whole;
        }
        const [a, b] = e.of.map((x) => this.of(x)) as [Form, Form];
        if (e.fn === "div" && isConstant(a) && (!isConstant(b) || this.box.names.has(shareOf(e, a))))
          return this.share(e, a, b);
        if (e.fn === "min") return this.isAtLeastZero(minus(b, a)) ? a : b;
        if (e.fn === "max") return this.isAtLeastZero(minus(a, b)) ? a : b;
        if (e.fn === "div") return this.quotient(a, b);
        if (e.fn === "rem") return minus(a, product(b, this.quotient(a, b)));
        return applied(e.fn, a, b, this.box.ranges);
      }
    }
  }

  /** Whether a polynomial is 0 or more in the box, or nowhere. @throws Cut, Ordered, Undecided */
  isAtLeastZero(f: Form): boolean {
    const { ranges } = this.box;
    if (isSurely(f, ranges)) return true;
    if (isSurely(minus(minus(ZERO, f), ONE), ranges)) return false;
    const two = differenceOf(f);
    if (two !== null && two.every((name) => ranges.has(name))) throw new Ordered(...two);
    return isAtLeastZero(f, ranges);
  }

  /** A number over a length, rounded down: a number of which nothing is known but that so many lengths are no more. */
  private share(e: Expression, number: Form, by: Form): Form {
    // The box is written for it on all ways.
    if (!isOfLengths(e)) throw new NotAffine("a division by what is not constant");
    const of = constantOf(number);
    const name = shareOf(e, number);
    const known = this.box.names.get(name);
    if (known !== undefined) {
      this.facts.push(minus(constant(of), product(known, by)));
      // Where it is small, so many lengths and one more are more.
      const { high } = rangeOf(known, this.box.ranges);
      if (high <= MOST_SMALL && !this.isAtLeastZero(minus(scaled(by, high + 1), constant(of + 1))))
        throw new NoLengths();
      return known;
    }
    const { low, high } = rangeOf(by, this.box.ranges);
    if (of < 0 || low < 1) throw new NotAffine("a division by what may be 0");
    throw new Named(name, { low: Math.floor(of / high), high: Math.floor(of / low) });
  }

  /** (x / c) · c, of a product x that is not followed in digits: x less a number below c. Null of others. */
  private wholeOf(e: Expression & { readonly kind: "apply" }): Form | null {
    const [a, by] = e.of as readonly [Expression, Expression];
    return a.kind === "apply" && a.fn === "div" && a.of[1] === by ? this.wholeUpTo(a) : null;
  }

  /** Of x / c: that times c. */
  wholeUpTo(a: Expression & { readonly kind: "apply" }): Form | null {
    const by = a.of[1]!;
    if (by.kind !== "constant" || by.value <= 0) return null;
    const of = this.of(a.of[0]!);
    const open = openIn(of, by.value);
    if (![...open.keys()].some((key) => factors(key).length > 1) || countsLoops(of)) return null;
    if (!this.isAtLeastZero(of)) throw new Undecided();
    const name = `${a.id}.`;
    const rest = this.box.names.get(name);
    if (rest === undefined) throw new Named(name, { low: 0, high: by.value - 1 });
    const whole = minus(of, rest);
    this.facts.push(whole);
    return whole;
  }

  private quotient(f: Form, by: Form): Form {
    const { ranges } = this.box;
    if (!isAtLeastZero(minus(by, ONE), ranges)) throw new NotAffine("a division by what may be 0");
    const exact = exactQuotient(f, by);
    if (exact !== null) return exact;
    if (isConstant(by)) return quotient(f, by, ranges);
    if (!isAtLeastZero(f, ranges)) throw new Undecided();
    for (let times = 0; times <= MOST_TIMES; times++)
      if (!isAtLeastZero(minus(f, scaled(by, times + 1)), ranges)) return constant(times);
    throw new Undecided();
  }

  // -- conditions -----------------------------------------------------------------------------------------------------

  /** Whether a condition holds; what lengths do not decide in the box goes both ways. @param span where a condition stands; null inside of a value */
  holds(e: Expression, span: Span | null): boolean {
    if (e.kind === "constant") return e.value !== 0;
    if (e.kind === "symbol") {
      const begins = startOf(e.name);
      if (begins === null) throw new NotAffine("a condition on what is not followed");
      const holds = this.choice(e.name);
      const { buffer, bytes } = begins;
      if (holds) this.starts.set(buffer, Math.max(bytes, this.starts.get(buffer) ?? 1));
      return holds;
    }
    if (e.kind !== "apply") throw new NotAffine("bits of a number");
    const [a, b] = e.of as readonly [Expression, Expression];
    switch (e.fn) {
      case "and":
        return this.all(e, span);
      case "or":
        return this.holds(a, span) || this.holds(b, span);
      case "not":
        return !this.holds(a, span);
      case "select":
        return this.holds(e.of[this.holds(a, span) ? 1 : 2]!, span);
      default:
        if (!isComparison(e.fn)) throw new NotAffine("bits of a number");
        return this.isMultipleWhere(e.fn, a, b) ?? this.compared(e.fn, this.of(a), this.of(b));
    }
  }

  /** Conditions that have to hold together. What addresses say comes last, as one question: nothing follows from it where one does not hold. */
  private all(e: Expression, span: Span | null): boolean {
    const conditions = conjunctsOf(e);
    const tests = conditions.filter((c): c is Expression & { readonly kind: "symbol" } => c.kind === "symbol");
    if (!conditions.every((c) => c.kind === "symbol" || this.holds(c, span))) return false;
    const open = tests.filter((c) => this.decisions.get(c.name) !== true);
    if (open.length > 0 && !this.choice(open.map((c) => c.id).join(" and "))) return false;
    for (const test of open) this.decisions.set(test.name, true);
    return tests.every((test) => this.holds(test, span));
  }

  private compared(fn: string, a: Form, b: Form): boolean {
    try {
      return constantOf(applied(fn, a, b, this.box.ranges)) === 1;
    } catch (x) {
      if (!(x instanceof Undecided)) throw x;
      const difference = minus(a, b);
      if (countsLoops(difference)) throw new NotAffine("a condition on what goes with the element");
      return this.choice(`${keyOf(difference)} ${fn} 0`);
    }
  }

  /** Whether `a` is 0, a number modulo a constant of which nothing but products is open; null of other conditions. */
  private isMultipleWhere(fn: string, a: Expression, b: Expression): boolean | null {
    if (fn !== "eq" || b.kind !== "constant" || b.value !== 0 || a.kind !== "apply" || a.fn !== "rem") return null;
    const by = a.of[1]!;
    if (by.kind !== "constant" || by.value <= 0) return null;
    const open = openIn(this.of(a.of[0]!), by.value);
    if (open.size === 0) return true;
    if (![...open.keys()].some((key) => factors(key).length > 1)) return null;
    if (countsLoops(open)) throw new NotAffine("a condition on what goes with the element");
    const holds = this.choice(`${keyOf(open)} % ${by.value} == 0`);
    const isKnown = this.multiples.some((m) => m.by === by.value && equal(m.of, open));
    if (holds && !isKnown) this.multiples.push({ of: open, by: by.value });
    return holds;
  }

  private choice(question: string): boolean {
    const found = this.decisions.get(question);
    if (found !== undefined) return found;
    this.otherwise(new Map(this.decisions).set(question, true));
    this.decisions.set(question, false);
    return false;
  }

  /** Whether a polynomial is a multiple of a number, on this way: a sum of multiples of what is known to be. */
  isMultiple(f: Form, of: number): boolean {
    const known = this.multiples.flatMap((m) => (m.by % of === 0 ? [openIn(m.of, of)] : [])).slice(0, MOST_KNOWN);
    const isSum = (open: Form, from: number): boolean => {
      if (open.size === 0 || from === known.length) return open.size === 0;
      for (let times = 0; times < of; times++)
        if (isSum(openIn(minus(open, scaled(known[from]!, times)), of), from + 1)) return true;
      return false;
    };
    return isSum(openIn(f, of), 0);
  }
}

/** Of what is known to be multiples of a number, so many are tried together. */
const MOST_KNOWN = 4;

/** The terms of a polynomial that are no multiples of a number whatever the parameters are. */
function openIn(f: Form, of: number): Form {
  return new Map([...f].filter(([, n]) => n % of !== 0));
}

/** The name of a number over a length. */
function shareOf({ id }: Expression, of: Form): string {
  return `${constantOf(of)}/${id}`;
}

function conjunctsOf(e: Expression): readonly Expression[] {
  return e.kind === "apply" && e.fn === "and" ? e.of.flatMap(conjunctsOf) : [e];
}

/** What the names of counters begin with. */
export const COUNTER = "~";

/** Whether a polynomial has what loops count. */
export function countsLoops(f: Form): boolean {
  return [...f.keys()].some((key) => factors(key).some((name) => name.startsWith(COUNTER)));
}
