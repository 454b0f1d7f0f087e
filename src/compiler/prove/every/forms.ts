/**
 * Polynomials with whole coefficients in parameters that are not negative, and boxes of such parameters. A question about a
 * polynomial, such as its sign, has one answer for a whole box, or the box is cut in two: who explores it goes on in one half, of which all
 * earlier answers are true as well, and looks at the other later. Where a half has one number, or a parameter must be written as digits, what
 * polynomials are made of changes: a question throws that, and who explores boxes starts again with the smaller ones.
 */
import { greatestCommon } from "../../types/requirement.js";
import { Unwinding } from "../../unwinding.js";

/** A polynomial: by product of parameters ("" for none, "a*b" in order), its coefficient, never 0. */
export type Form = ReadonlyMap<string, number>;

/** Inclusive. */
export interface Range {
  readonly low: number;
  /** Infinity where there is no largest. */
  readonly high: number;
  /** A polynomial that the parameter is below, beside that. */
  readonly below?: Form;
}

/** By parameter. What is not in it may be any number: it is opaque. */
export type Ranges = ReadonlyMap<string, Range>;

export const ZERO: Form = new Map();
export const ONE: Form = constant(1);

export function constant(n: number): Form {
  return n === 0 ? new Map() : new Map([["", n]]);
}

export function parameter(name: string): Form {
  return new Map([[name, 1]]);
}

export function isConstant(f: Form): boolean {
  return f.size === 0 || (f.size === 1 && f.has(""));
}

/** The part without parameters. */
export function constantOf(f: Form): number {
  return f.get("") ?? 0;
}

export function plus(a: Form, b: Form, times = 1): Form {
  if (b.size === 0) return a;
  if (a.size === 0 && times === 1) return b;
  if (a === b && times === -1) return ZERO;
  // Polynomials are added up more often than anything else here: entries that an iterator makes would take most of the time.
  const sum = new Map<string, number>();
  a.forEach((n, key) => void sum.set(key, n));
  b.forEach((n, key) => {
    const m = (sum.get(key) ?? 0) + times * n;
    if (m === 0) sum.delete(key);
    else sum.set(key, m);
  });
  return sum;
}

export function minus(a: Form, b: Form): Form {
  return plus(a, b, -1);
}

export function scaled(a: Form, times: number): Form {
  if (times === 0 || times === 1) return times === 0 ? ZERO : a;
  const all = new Map<string, number>();
  a.forEach((n, key) => void all.set(key, n * times));
  return all;
}

export function product(a: Form, b: Form): Form {
  if (isConstant(a)) return scaled(b, constantOf(a));
  if (isConstant(b)) return scaled(a, constantOf(b));
  const sum = new Map<string, number>();
  a.forEach((n, key) => b.forEach((m, other) => addTo(sum, productOf(key, other), n * m)));
  return sum;
}

function addTo(sum: Map<string, number>, key: string, n: number): void {
  const all = (sum.get(key) ?? 0) + n;
  if (all === 0) sum.delete(key);
  else sum.set(key, all);
}

const products = new Map<string, Map<string, string>>();

/** The product of two products of parameters. */
function productOf(a: string, b: string): string {
  if (a === "" || b === "") return a === "" ? b : a;
  let known = products.get(a);
  if (known === undefined) products.set(a, (known = new Map<string, string>()));
  let both = known.get(b);
  if (both === undefined) known.set(b, (both = [...factors(a), ...factors(b)].sort().join("*")));
  return both;
}

export function equal(a: Form, b: Form): boolean {
  if (a === b || a.size !== b.size) return a === b;
  for (const key of a.keys()) if (b.get(key) !== a.get(key)) return false;
  return true;
}

/** One text for equal polynomials. */
export function keyOf(f: Form): string {
  const keys = [...f.keys()];
  if (keys.length > 1) keys.sort();
  let text = "";
  for (const key of keys) text += `${text === "" ? "" : "+"}${f.get(key)!}${key === "" ? "" : `*${key}`}`;
  return text;
}

/** A polynomial that has its number by it: so its text is made once. */
interface Numbered extends Form {
  number?: number;
}

const numbers = new Map<string, number>();

/** One number for equal polynomials. */
export function numberOf(f: Form): number {
  const numbered = f as Numbered;
  if (numbered.number !== undefined) return numbered.number;
  const text = keyOf(f);
  let number = numbers.get(text);
  if (number === undefined) numbers.set(text, (number = numbers.size));
  numbered.number = number;
  return number;
}

const split = new Map<string, readonly string[]>([["", []]]);

/** The parameters of a product of them. */
export function factors(key: string): readonly string[] {
  let all = split.get(key);
  if (all === undefined) split.set(key, (all = key.split("*")));
  return all;
}

/** The polynomial with one in place of each parameter that has one. */
export function substituted(f: Form, by: ReadonlyMap<string, Form>): Form {
  let touched = false;
  f.forEach((_, key) => {
    if (!touched && key !== "") touched = factors(key).some((name) => by.has(name));
  });
  if (!touched) return f;
  const termOf = (n: number, key: string): Form =>
    factors(key).reduce<Form>((term, name) => product(term, by.get(name) ?? parameter(name)), constant(n));
  const [[key, n] = ["", 0]] = f;
  // Who it is of is often known by its object.
  if (f.size === 1) return termOf(n, key);
  const sum = new Map<string, number>();
  f.forEach((m, other) => termOf(m, other).forEach((l, of) => addTo(sum, of, l)));
  return sum;
}

/** A box must be cut: `name` below `at`, and from there on. */
export class Cut extends Unwinding {
  constructor(
    override readonly name: string,
    readonly at: number,
  ) {
    super(`${name} is cut at ${at}`);
  }
}

/**
 * A parameter must be written as its least value, plus `base` times one parameter, plus another below `base`. Where `base` is no
 * number, without its least value.
 */
export class Digits extends Unwinding {
  constructor(
    override readonly name: string,
    readonly base: Form,
  ) {
    super(`${name} is written in digits of ${keyOf(base)}`);
  }
}

/** A box must be written in other parameters. */
export abstract class Rewritten extends Unwinding {
  /** Boxes that cover it. */
  abstract boxesOf(box: Box): readonly Box[];
}

/** Nothing here decides it: an opaque parameter, or two without end against each other. */
export class Undecided extends Unwinding {}

/** Thrown often, and caught close by. */
const UNDECIDED = new Undecided("a length is opaque");

/** The least and the greatest that a polynomial may be; -Infinity and Infinity where it has no end. */
export function rangeOf(f: Form, ranges: Pick<Ranges, "get">): Range {
  let low = 0;
  let high = 0;
  let isOpaque = false;
  f.forEach((n, key) => {
    let least = 1;
    let most = 1;
    for (const name of factors(key)) {
      const range = ranges.get(name);
      if (range === undefined) {
        isOpaque = true;
        return;
      }
      least *= range.low;
      // Nothing times something without end is nothing.
      most = most === 0 || range.high === 0 ? 0 : most * range.high;
    }
    low += n > 0 ? n * least : n * most;
    high += n > 0 ? (most === 0 ? 0 : n * most) : n * least;
  });
  if (isOpaque) return { low: -Infinity, high: Infinity };
  return { low: Number.isNaN(low) ? -Infinity : low, high: Number.isNaN(high) ? Infinity : high };
}

/** Whether a polynomial is at least 0 everywhere in a box, or nowhere. @throws Cut, Undecided */
export function isAtLeastZero(f: Form, ranges: Ranges): boolean {
  if (isConstant(f)) return constantOf(f) >= 0;
  for (;;) {
    const { low, high } = rangeOf(f, ranges);
    if (low >= 0) return true;
    if (high < 0) return false;
    const fromZero = rangeFromZero(f, ranges);
    if (fromZero.low >= 0) return true;
    if (fromZero.high < 0) return false;
    const common = commonFactor(minus(f, constant(constantOf(f))));
    const least = common === undefined ? undefined : ranges.get(common)?.low;
    if (least !== undefined && least >= 1) {
      const known = signOfProduct(f, common!, least, ranges);
      if (known !== null) return known;
    }
    cut(ranges, least === 0 ? new Cut(common!, 1) : cutFor(f, ranges));
  }
}

/** The range of a polynomial with products, closer: over parameters less the least that each may be, where terms cancel. */
function rangeFromZero(f: Form, ranges: Ranges): Range {
  const none = { low: -Infinity, high: Infinity };
  if (![...f.keys()].some((key) => factors(key).length > 1)) return none;
  const names = new Set([...f.keys()].flatMap((key) => [...factors(key)]));
  const lows = new Map<string, Form>();
  const left = new Map<string, Range>();
  for (const name of names) {
    const range = ranges.get(name);
    if (range === undefined) return none;
    if (range.low > 0) lows.set(name, plus(parameter(name), constant(range.low)));
    left.set(name, { low: 0, high: range.high - range.low });
  }
  return lows.size === 0 ? none : rangeOf(substituted(f, lows), left);
}

/** Whether a polynomial is 0 everywhere in a box, or nowhere. @throws Cut, Undecided */
export function isZero(f: Form, ranges: Ranges): boolean {
  if (f.size === 0) return true;
  const { low, high } = rangeOf(f, ranges);
  if (low > 0 || high < 0) return false;
  // A product is 0 where a factor is.
  const common = factors([...f.keys()][0]!).find((name) => [...f.keys()].every((key) => factors(key).includes(name)));
  if (common !== undefined && keyOf(f) !== keyOf(scaled(parameter(common), f.get(common) ?? 0))) {
    if (ranges.get(common)?.low === 0) cut(ranges, new Cut(common, 1));
    if (ranges.has(common)) return isZero(divided(f, parameter(common)), ranges);
  }
  return isAtLeastZero(f, ranges) && !isAtLeastZero(minus(f, ONE), ranges);
}

/** What the sign of a factor says of a polynomial that is a positive parameter's product and a number; null where it says nothing. */
function signOfProduct(f: Form, common: string, least: number, ranges: Ranges): boolean | null {
  const more = constantOf(f);
  const other = divided(minus(f, constant(more)), parameter(common));
  if (isAtLeastZero(other, ranges)) return more >= 0 ? true : null;
  // A whole number below 0 is at most -1.
  return more < least ? false : null;
}

/** A parameter that all terms of a polynomial have; undefined where there is none. */
function commonFactor(f: Form): string | undefined {
  const keys = [...f.keys()];
  if (keys.length < 2) return undefined;
  return factors(keys[0]!).find((name) => keys.every((key) => factors(key).includes(name)));
}

/** Where to cut a box in which a polynomial has both signs. */
function cutFor(f: Form, ranges: Ranges): Error {
  const names = new Set([...f.keys()].flatMap((key) => [...factors(key)]));
  let best: { name: string; spread: number } | null = null;
  /** Of products: the factor that is the first to make them small. */
  let lowest: { name: string; at: number } | null = null;
  for (const name of names) {
    const range = ranges.get(name);
    if (range === undefined) return UNDECIDED;
    if (range.low === range.high) continue;
    const without = new Map([...f].filter(([key]) => !factors(key).includes(name)));
    const slope = f.get(name);
    const isLinear = [...f.keys()].every((key) => key === name || !factors(key).includes(name));
    if (slope !== undefined && isLinear) {
      const rest = rangeOf(without, ranges);
      // From where on the parameter outweighs the rest.
      const far = slope > 0 ? Math.ceil(-rest.low / slope) : Math.floor(rest.high / -slope) + 1;
      if (far > range.low && far <= range.high && far < 2 ** 40) return new Cut(name, far);
    } else if (range.high === Infinity && (lowest === null || range.low < lowest.at)) lowest = { name, at: range.low };
    const spread = Math.abs(slope ?? 1) * (range.high - range.low);
    if (range.high !== Infinity && (best === null || spread > best.spread)) best = { name, spread };
  }
  if (lowest !== null && lowest.at < 4096) return new Cut(lowest.name, lowest.at + 1);
  if (best === null) return UNDECIDED;
  const { low, high } = ranges.get(best.name)!;
  return new Cut(best.name, Math.floor((low + high) / 2) + 1);
}

/**
 * A polynomial that is not negative over a positive one, rounded down.
 * @param signs ranges of further parameters, which nothing is cut for
 * @throws Cut, Digits, Undecided, also where the first may be negative: machines round that up
 */
export function quotient(f: Form, by: Form, ranges: Ranges, signs: Pick<Ranges, "get"> = ranges): Form {
  const whole = divided(f, by);
  if (minus(f, product(whole, by)).size === 0) return whole;
  if (rangeOf(f, signs).low < 0 && !isAtLeastZero(f, ranges)) throw UNDECIDED;
  return isConstant(by) ? quotientByNumber(f, constantOf(by), ranges) : quotientByProduct(f, by, ranges);
}

/** By a number times parameters, such as the blocks of a grid, of which nothing is known but that they are positive. */
function quotientByProduct(f: Form, by: Form, ranges: Ranges): Form {
  const whole = divided(f, by);
  const rest = minus(f, product(whole, by));
  const [[name, times]] = rest as unknown as readonly [readonly [string, number]];
  const range = ranges.get(name);
  const [[divisor, n]] = by as unknown as readonly [readonly [string, number]];
  if (rest.size === 1 && times > 0 && n % times === 0 && range !== undefined) {
    // Both in units of what the parameter is taken times.
    const base = new Map([[divisor, n / times]]);
    if (range.below === undefined) throw new Digits(name, base);
    if (equal(range.below, base) && range.low >= 0) return whole;
  }
  // Of rounds half as long, every other one begins where a round does.
  for (const [key, half] of rest) {
    const other = factors(key).filter((p) => p !== divisor);
    const rounds = other.length === 1 && factors(key).length === 2 ? ranges.get(other[0]!) : undefined;
    const base = n / greatestCommon(half, n);
    if (rounds === undefined || rounds.below !== undefined || base === 1) continue;
    if (rounds.high - rounds.low + 1 > base) throw new Digits(other[0]!, constant(base));
    if (rounds.low < rounds.high) throw new Cut(other[0]!, rounds.low + 1);
  }
  let most = rest;
  for (const [key, k] of rest) {
    const [only, ...others] = factors(key).filter((p) => ranges.get(p)?.below !== undefined);
    if (only === undefined) continue;
    const { low, below } = ranges.get(only)!;
    if (others.length > 0 || factors(key).length > 1 || k < 0 || low < 0) throw UNDECIDED;
    most = plus(minus(most, new Map([[key, k]])), minus(below!, ONE), k);
  }
  const least = new Map([...rest].filter(([key]) => factors(key).every((p) => ranges.get(p)?.below === undefined)));
  if (!isAtLeastZero(least, ranges) || !isAtLeastZero(minus(minus(by, most), ONE), ranges)) throw UNDECIDED;
  return whole;
}

/** The part of a polynomial that is a multiple of a number times parameters, over that. */
export function divided(f: Form, by: Form): Form {
  const [[divisor, n]] = by as unknown as readonly [readonly [string, number]];
  const whole = new Map<string, number>();
  f.forEach((times, key) => {
    if (times % n !== 0) return;
    const left = withoutFactors(key, divisor);
    if (left !== null) whole.set(left, times / n);
  });
  return whole;
}

/** A product of parameters over another; null where it is no multiple of that. */
export function withoutFactors(key: string, divisor: string): string | null {
  if (divisor === "") return key;
  if (key === divisor) return "";
  const left = [...factors(key)];
  for (const name of factors(divisor)) {
    const at = left.indexOf(name);
    if (at < 0) return null;
    left.splice(at, 1);
  }
  return left.join("*");
}

function quotientByNumber(f: Form, by: number, ranges: Ranges): Form {
  const whole = new Map<string, number>();
  const rest = new Map<string, number>();
  for (const [key, n] of f) {
    if (key !== "" && n % by === 0) whole.set(key, n / by);
    else if (key === "") {
      const q = Math.floor(n / by);
      if (q !== 0) whole.set(key, q);
      if (n - q * by !== 0) rest.set(key, n - q * by);
    } else rest.set(key, n);
  }
  for (;;) {
    const { low, high } = rangeOf(rest, ranges);
    const [from, to] = [Math.floor(low / by), Math.floor(high / by)];
    if (from === to) return plus(whole, constant(from));
    let widest: { name: string; spread: number } | null = null;
    for (const [key, n] of rest) {
      if (key === "") continue;
      const range = ranges.get(key);
      if (range === undefined) throw UNDECIDED;
      const base = by / greatestCommon(n, by);
      if (range.high - range.low + 1 > base) throw new Digits(key, constant(base));
      const spread = Math.abs(n) * (range.high - range.low);
      if (range.low < range.high && (widest === null || spread > widest.spread)) widest = { name: key, spread };
    }
    if (widest === null) throw UNDECIDED;
    const { low: least, high: most } = ranges.get(widest.name)!;
    const slope = rest.get(widest.name)!;
    const others = rangeOf(new Map([...rest].filter(([key]) => key !== widest.name)), ranges);
    // From where on, or up to where, the others make no difference.
    const at = slope > 0 ? Math.ceil((to * by - others.low) / slope) : Math.floor((to * by - others.low) / slope) + 1;
    cut(ranges, new Cut(widest.name, at > least && at <= most ? at : Math.floor((least + most) / 2) + 1));
  }
}

/** A box, and what stands in it for each name that was there at first. */
export interface Box {
  readonly ranges: Ranges;
  readonly names: ReadonlyMap<string, Form>;
}

/** The box of some names, each at least `low`, without end. */
export function boxOf(names: Iterable<string>, low = 0): Box {
  const all = [...names];
  return {
    ranges: new Map(all.map((name) => [name, { low, high: Infinity }])),
    names: new Map(all.map((name) => [name, parameter(name)])),
  };
}

/** The smaller boxes that a box falls apart into. */
export function parts(box: Box, into: Cut | Digits): Box[] {
  const { name } = into;
  const range = box.ranges.get(name)!;
  const { low, high } = range;
  const limited = (from: number, to: number): Box => {
    const ranges = new Map(box.ranges);
    if (from !== to) return { ...box, ranges: ranges.set(name, { ...range, low: from, high: to }) };
    // A parameter with one value is none.
    return without(ranges, name, box, constant(from));
  };
  if (into instanceof Cut) return [limited(low, into.at - 1), limited(into.at, high)];
  const { base } = into;
  const [step, digit] = [`${name}'`, `${name}.`];
  const ranges = new Map(box.ranges);
  ranges.delete(name);
  if (!isConstant(base)) {
    // More numbers than there are: what holds of them holds of those that are.
    ranges.set(step, { low: 0, high: Infinity }).set(digit, { low: 0, high: Infinity, below: base });
    const digits = plus(product(base, parameter(step)), parameter(digit));
    return [without(ranges, name, box, digits)];
  }
  const times = constantOf(base);
  const steps = Math.floor((high - low + 1) / times);
  if (steps > 1) ranges.set(step, { low: 0, high: steps - 1 });
  ranges.set(digit, { low: 0, high: times - 1 });
  const strides = steps > 1 ? scaled(parameter(step), times) : ZERO;
  const digits = plus(plus(constant(low), strides), parameter(digit));
  const rest = high === Infinity ? [] : low + steps * times > high ? [] : [limited(low + steps * times, high)];
  return [without(ranges, name, box, digits), ...rest];
}

/** A box with a polynomial over these further parameters in place of a parameter. */
export function replacedIn(box: Box, name: string, by: Form, further: Ranges): Box {
  return without(new Map([...box.ranges, ...further]), name, box, by);
}

/** A box with a polynomial in place of a parameter, over these ranges. */
function without(ranges: Map<string, Range>, name: string, { names }: Box, by: Form): Box {
  const replaced = new Map([[name, by]]);
  ranges.delete(name);
  for (const [other, { low, high, below }] of ranges) {
    if (below === undefined) continue;
    const limit = substituted(below, replaced);
    if (limit === below) continue;
    const most = isConstant(limit) ? Math.min(high, Math.max(low, constantOf(limit) - 1)) : high;
    ranges.set(other, { low, high: most, below: limit });
  }
  return { ranges, names: new Map([...names].map(([n, f]) => [n, substituted(f, replaced)])) };
}

/** Ranges of the box that is looked at. */
class Narrowing extends Map<string, Range> {
  constructor(
    ranges: Ranges,
    private readonly names: Box["names"],
    private readonly left: Box[],
    private readonly most: number,
  ) {
    super(ranges);
  }

  /** Takes one half and leaves the other; says false, with nothing done, where each half has one number, or where too many are left. */
  takeHalf(into: Cut): boolean {
    const { name, at } = into;
    const range = this.get(name)!;
    const takesLower = at - 1 > range.low;
    if (this.left.length >= this.most) return false;
    if (!takesLower && at === range.high) return false;
    const [lower, upper] = parts({ ranges: this, names: this.names }, into) as [Box, Box];
    this.left.push(takesLower ? upper : lower);
    this.set(name, takesLower ? { ...range, high: at - 1 } : { ...range, low: at });
    return true;
  }
}

/** Goes on in a half of the box that is looked at. @throws what it is given, where that cannot be */
function cut(ranges: Ranges, into: Error): void {
  if (!(ranges instanceof Narrowing && into instanceof Cut && ranges.takeHalf(into))) throw into;
}

/** Gives `look` boxes that cover one, until it has an answer for each. Says false where that takes more than `most` of them. */
export function explore(box: Box, most: number, look: (box: Box) => void): boolean {
  const left = [box];
  for (let looks = 0; left.length > 0; looks++) {
    // Each that is left takes one look at least.
    if (looks + left.length > most) return false;
    const { ranges, names } = left.pop()!;
    const next = { ranges: new Narrowing(ranges, names, left, most), names };
    try {
      look(next);
    } catch (e) {
      if (!(e instanceof Cut || e instanceof Digits || e instanceof Rewritten)) throw e;
      left.push(...(e instanceof Rewritten ? e.boxesOf(next) : parts(next, e)));
    }
  }
  return true;
}
