/** Symbolic values at data: whether two that differ in form differ in fact. */
import type { Number_, Term } from "./algebra.js";
import { Applied, Leaf, Poison, Product, Sum } from "./exact.js";

const FUNCTIONS: Readonly<Record<string, (...x: number[]) => number>> = {
  reciprocal: (x) => 1 / x!,
  quotient: (x, y) => Math.trunc(x! / y!),
  rem: (x, y) => x! % y!,
  truncate: (x) => Math.trunc(x!),
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

/** A number from -2 to 2, the same for the same term and sample. */
function datum(t: Term, sample: number): number {
  let z = (Math.imul(t.id, 0x9e3779b9) + Math.imul(sample, 0x85ebca6b)) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) / 2 ** 30 - 2;
}

class Sample {
  private readonly known = new Map<Term, number>();

  constructor(private readonly sample: number) {}

  value(x: Number_): number {
    if (typeof x === "number") return x;
    let value = this.known.get(x);
    if (value === undefined) this.known.set(x, (value = this.compute(x)));
    return value;
  }

  private compute(t: Term): number {
    if (t instanceof Leaf) return datum(t, this.sample);
    if (t instanceof Poison) return 1e3 * datum(t, this.sample);
    if (t instanceof Product) return t.factors.reduce((a, f) => a * this.value(f), 1);
    if (t instanceof Sum) return t.terms.reduce((a, x, i) => a + t.coefficients[i]! * this.value(x), t.constant);
    if (t instanceof Applied) return FUNCTIONS[t.fn]?.(...t.args.map((a) => this.value(a))) ?? NaN;
    return NaN;
  }
}

const SAMPLES = 8;

/**
 * Whether two values are the same at some random data where both are numbers (`differs`: at some they are not; `agree`:
 * at all; `unknown`: there was no such data).
 */
export function compareAtData(a: Number_, b: Number_): "differ" | "agree" | "unknown" {
  let compared = 0;
  for (let s = 1; s <= SAMPLES; s++) {
    const sample = new Sample(s);
    const [x, y] = [sample.value(a), sample.value(b)];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    compared++;
    if (Math.abs(x - y) > 1e-6 * Math.max(1, Math.abs(x), Math.abs(y))) return "differ";
  }
  return compared === 0 ? "unknown" : "agree";
}
