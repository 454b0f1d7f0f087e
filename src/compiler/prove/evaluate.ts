/** Symbolic values at data: whether two that differ in form differ in fact, or are equal for all data there is. */
import type { Number_, Term } from "./algebra.js";
import { Applied, Leaf, Poison, Product, Sum } from "./exact.js";

const FUNCTIONS: Readonly<Record<string, (...x: number[]) => number>> = {
  reciprocal: (x) => 1 / x!,
  quotient: (x, y) => Math.trunc(x! / y!),
  rem: (x, y) => x! % y!,
  truncate: (x) => Math.trunc(x!),
  "to i8": (x) => (x! << 24) >> 24,
  "to u8": (x) => x! & 0xff,
  pow: (x, y) => x! ** y!,
  min: Math.min,
  max: Math.max,
  and: (x, y) => x! & y!,
  or: (x, y) => x! | y!,
  xor: (x, y) => x! ^ y!,
  eq: (x, y) => Number(x === y),
  ne: (x, y) => Number(x !== y),
  lt: (x, y) => Number(x! < y!),
  le: (x, y) => Number(x! <= y!),
  gt: (x, y) => Number(x! > y!),
  ge: (x, y) => Number(x! >= y!),
  select: (c, x, y) => (c !== 0 ? x! : y!),
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  tanh: Math.tanh,
  abs: Math.abs,
  gelu: (x) => 0.5 * x! * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x! + 0.044715 * x! ** 3))),
};

/** What an element of an input may be: whole numbers from the first up to, but without, the second; null: any float. */
export type RangeOf = (leaf: Leaf) => readonly [number, number] | null;

/** Beyond, integers wrap, which values do not tell. */
const LARGEST_INTEGER = 2 ** 31;

function hash(id: number, sample: number): number {
  let z = (Math.imul(id, 0x9e3779b9) + Math.imul(sample, 0x85ebca6b)) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
}

/** Evaluates terms at what `datum` says of their leaves and of memory that nobody has written. */
class Sample {
  private readonly known = new Map<Term, number>();
  /** Whether some sum of integers would have wrapped. */
  isTooLarge = false;

  constructor(private readonly datum: (t: Leaf | Poison) => number) {}

  value(x: Number_): number {
    if (typeof x === "number") return x;
    let value = this.known.get(x);
    if (value === undefined) this.known.set(x, (value = this.compute(x)));
    if (Math.abs(value) >= LARGEST_INTEGER) this.isTooLarge = true;
    return value;
  }

  private compute(t: Term): number {
    if (t instanceof Leaf || t instanceof Poison) return this.datum(t);
    if (t instanceof Product) return t.factors.reduce((a, f) => a * this.value(f), 1);
    if (t instanceof Sum) return t.terms.reduce((a, x, i) => a + t.coefficients[i]! * this.value(x), t.constant);
    if (t instanceof Applied) return FUNCTIONS[t.fn]?.(...t.args.map((a) => this.value(a))) ?? NaN;
    return NaN;
  }
}

const SAMPLES = 16;

/** Of every four samples, one has many equal elements and one no other: choices between equals differ there alone. */
function valueOf(random: number, sample: number, [from, to]: readonly [number, number], isWhole: boolean): number {
  const few = sample % 4 === 0 ? 1 : sample % 4 === 1 ? 2 : null;
  if (!isWhole) return few === null ? from + random * (to - from) : from + Math.floor(random * few) + 0.5;
  return from + Math.floor(random * Math.min(to - from, few ?? Infinity));
}

/**
 * Whether two values are the same at some random data where the second is a number (`differs`: at some they are not; `agree`:
 * at all; `unknown`: there was no such data). Integers are whole, in their range.
 */
export function compareAtData(a: Number_, b: Number_, rangeOf: RangeOf, seed = 0): "differ" | "agree" | "unknown" {
  let compared = 0;
  for (let s = 1; s <= SAMPLES; s++) {
    const sample = new Sample((t) => {
      const random = hash(t.id ^ Math.imul(seed, 0x2c1b3c6d), s);
      if (t instanceof Poison) return 1e3 * (4 * random - 2);
      const range = rangeOf(t);
      if (range === null) return valueOf(random, s, [-2, 2], false);
      const [from, to] = [Math.max(range[0], -1000), Math.min(range[1], 1000)];
      return from < to ? valueOf(random, s, [from, to], true) : range[0];
    });
    const [x, y] = [sample.value(a), sample.value(b)];
    if (!Number.isFinite(y)) continue;
    compared++;
    if (!(Math.abs(x - y) <= 1e-6 * Math.max(1, Math.abs(x), Math.abs(y)))) return "differ";
  }
  return compared === 0 ? "unknown" : "agree";
}

/** As many combinations of values are tried at most. */
const MOST_CASES = 2 ** 16;

/** Terms of this many nodes and more are not looked through. */
const MOST_NODES = 200;

/**
 * Tries all data, where two values are made of few integers with few values each. What differs in the names of elements
 * alone is tried once.
 */
export class AllData {
  private readonly known = new Map<string, boolean>();

  constructor(private readonly rangeOf: RangeOf) {}

  /** Whether two values are equal for all data; false where there is too much of it. */
  areEqual(a: Number_, b: Number_): boolean {
    const leaves: Leaf[] = [];
    const names = new Map<Term, number>();
    const write = (x: Number_): string => {
      if (typeof x === "number") return String(x);
      const name = names.get(x);
      if (name !== undefined) return `#${name}`;
      names.set(x, names.size);
      if (x instanceof Leaf) {
        leaves.push(x);
        return `leaf ${this.rangeOf(x)?.join("..")}`;
      }
      if (names.size > MOST_NODES || x instanceof Poison) return "?";
      if (x instanceof Product) return `(${x.factors.map(write).join("*")})`;
      if (x instanceof Sum)
        return `(${x.constant}+${x.terms.map((t, i) => `${x.coefficients[i]}*${write(t)}`).join("+")})`;
      return x instanceof Applied ? `${x.fn}(${x.args.map(write).join()})` : "?";
    };
    const key = `${write(a)} = ${write(b)}`;
    let equal = this.known.get(key);
    if (equal === undefined) this.known.set(key, (equal = !key.includes("?") && this.tryAll(a, b, leaves)));
    return equal;
  }

  private tryAll(a: Number_, b: Number_, leaves: readonly Leaf[]): boolean {
    const ranges: (readonly [number, number])[] = [];
    let cases = 1;
    for (const leaf of leaves) {
      const range = this.rangeOf(leaf);
      if (range === null) return false;
      ranges.push(range);
      cases *= Math.max(0, range[1] - range[0]);
    }
    if (!(cases <= MOST_CASES)) return false;
    for (let n = 0; n < cases; n++) {
      const values = new Map<Term, number>();
      let rest = n;
      leaves.forEach((leaf, i) => {
        const [from, to] = ranges[i]!;
        values.set(leaf, from + (rest % (to - from)));
        rest = Math.floor(rest / (to - from));
      });
      const sample = new Sample((t) => values.get(t)!);
      const [x, y] = [sample.value(a), sample.value(b)];
      if (sample.isTooLarge || !(x === y)) return false;
    }
    return true;
  }
}
