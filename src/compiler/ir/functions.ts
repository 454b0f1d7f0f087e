/**
 * The scalar functions: one row each, with what every stage knows of it. The printer writes CUDA from here, the executor
 * JavaScript, the reference computes in float64, constants are folded, the prover takes the laws, the cost model the cost.
 */
import { HIGHEST, isFloat, LOWEST, type ScalarKind } from "../types/dtype.js";
import type { BinaryFunction, Comparison, Reduction, UnaryFunction } from "./ops.js";

/**
 * The error function to float64 precision: the series of Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.6, near 0, and
 * the continued fraction 7.1.14 of 1 - erf in the tail.
 */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (!(a < 6)) return a === a ? Math.sign(x) : NaN;
  if (a < 2.5) {
    // erf x = 2/√π · e^(-x²) · Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)), all terms of one sign.
    let term = a;
    let sum = a;
    for (let n = 1; term > sum * 1e-17; n++) {
      term *= (2 * a * a) / (2 * n + 1);
      sum += term;
    }
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a) * sum;
  }
  let f = 0;
  for (let n = 60; n > 0; n--) f = n / 2 / (a + f);
  return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * (a + f)));
}

/** The nearest whole number, of two the even one, with the sign of what was rounded. */
export function roundToEven(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  if (!(rest > 0)) return x;
  const nearest = rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
  return nearest === 0 && x < 0 ? -0 : nearest;
}

/** Smaller of two numbers as GPUs have it: a NaN loses against a number. */
export function minimum(a: number, b: number): number {
  return a !== a ? b : b !== b ? a : Math.min(a, b);
}

/** Larger of two numbers as GPUs have it: a NaN loses against a number. */
export function maximum(a: number, b: number): number {
  return a !== a ? b : b !== b ? a : Math.max(a, b);
}

/** A power as GPUs have it: 1 to any power is 1, and so is -1 to an infinite one. */
export function power(a: number, b: number): number {
  return a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b;
}

/** What a law may be written with: terms that stand for data, and numbers. */
export interface Terms<X> {
  add(a: X | number, b: X | number): X | number;
  sub(a: X | number, b: X | number): X | number;
  mul(a: X | number, b: X | number): X | number;
  div(a: X | number, b: X | number): X | number;
  extreme(fn: "min" | "max", a: X | number, b: X | number): X | number;
  apply(fn: string, args: readonly (X | number)[]): X | number;
}

export interface UnaryRow {
  /** In float64; of floats. */
  readonly value: (x: number) => number;
  /** Of whole numbers and truth values, before they wrap; absent where there is none. */
  readonly whole?: (x: number) => number;
  /** JavaScript of `whole`; `a` can be repeated. */
  readonly wholeText?: (a: string) => string;
  /** CUDA C of floats, and of whole numbers where that is another text. `fn_…` are of the prelude. */
  readonly cuda: (a: string) => string;
  readonly wholeCuda?: (a: string) => string;
  /** The same value, made with other functions: holds for all data. */
  readonly law?: <X>(terms: Terms<X>, a: X, kind: ScalarKind) => X | number;
  /** Whether it takes an element more than a few instructions. */
  readonly isSlow: boolean;
  /** Whether floats come out as in mathematics: nothing is rounded. */
  readonly isExact?: true;
  /**
   * Of a function that rises and falls: how far its value may go where the argument goes as far as `d`, from anywhere. CUDA takes
   * arguments of any size modulo π without an error. Of other functions both ends of the way show it.
   */
  readonly drift?: (d: number) => number;
}

/** Of sin and cos: no steeper than 1, and between -1 and 1. */
const waves = (d: number): number => Math.min(d, 2);

const sigmoid = <X>(t: Terms<X>, top: X | number, a: X): X | number =>
  t.div(top, t.add(1, t.apply("exp", [t.sub(0, a)])));

/** gelu is the exact one, x·Φ(x); silu is x·sigmoid(x); relu of NaN is NaN, as in PyTorch, and of -0 is 0. */
export const UNARY: Readonly<Record<UnaryFunction, UnaryRow>> = {
  neg: {
    value: (x) => -x,
    whole: (x) => 0 - x,
    wholeText: (a) => `(0-${a})`,
    cuda: (a) => `-${a}`,
    // From -0, which leaves of 0 what a machine does.
    law: (t, a) => t.sub(-0, a),
    isSlow: false,
    isExact: true,
  },
  not: {
    value: (x) => (x === 0 ? 1 : 0),
    whole: (x) => (x === 0 ? 1 : 0),
    wholeText: (a) => `(${a}===0?1:0)`,
    cuda: (a) => `!${a}`,
    law: (t, a, kind) => (kind === "bool" ? t.sub(1, a) : t.apply("not", [a])),
    isSlow: false,
    isExact: true,
  },
  abs: {
    value: Math.abs,
    whole: Math.abs,
    wholeText: (a) => `(${a}<0?0-${a}:${a})`,
    cuda: (a) => `fabsf(${a})`,
    wholeCuda: (a) => `(${a} < 0 ? -${a} : ${a})`,
    law: (t, a) => t.extreme("max", a, t.sub(-0, a)),
    isSlow: false,
    isExact: true,
  },
  relu: {
    value: (x) => (x <= 0 ? 0 : x),
    whole: (x) => Math.max(x, 0),
    wholeText: (a) => `(${a}>0?${a}:0)`,
    cuda: (a) => `(${a} <= 0.0f ? 0.0f : ${a})`,
    wholeCuda: (a) => `(${a} > 0 ? ${a} : 0)`,
    law: (t, a) => t.extreme("max", a, 0),
    isSlow: false,
    isExact: true,
  },
  exp: { value: Math.exp, cuda: (a) => `expf(${a})`, isSlow: true },
  exp2: { value: (x) => 2 ** x, cuda: (a) => `exp2f(${a})`, isSlow: true },
  expm1: {
    value: Math.expm1,
    cuda: (a) => `expm1f(${a})`,
    law: (t, a) => t.sub(t.apply("exp", [a]), 1),
    isSlow: true,
  },
  log: { value: Math.log, cuda: (a) => `logf(${a})`, isSlow: true },
  log1p: {
    value: Math.log1p,
    cuda: (a) => `log1pf(${a})`,
    law: (t, a) => t.apply("log", [t.add(a, 1)]),
    isSlow: true,
  },
  sqrt: { value: Math.sqrt, cuda: (a) => `sqrtf(${a})`, isSlow: true },
  rsqrt: {
    value: (x) => 1 / Math.sqrt(x),
    cuda: (a) => `rsqrtf(${a})`,
    law: (t, a) => t.div(1, t.apply("sqrt", [a])),
    isSlow: true,
  },
  sin: { value: Math.sin, cuda: (a) => `sinf(${a})`, isSlow: true, drift: waves },
  cos: { value: Math.cos, cuda: (a) => `cosf(${a})`, isSlow: true, drift: waves },
  tanh: {
    value: Math.tanh,
    cuda: (a) => `tanhf(${a})`,
    law: (t, a) => t.sub(1, t.div(2, t.add(t.apply("exp", [t.add(a, a)]), 1))),
    isSlow: true,
  },
  erf: { value: erf, cuda: (a) => `erff(${a})`, isSlow: true },
  gelu: {
    value: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
    cuda: (a) => `fn_gelu(${a})`,
    // With √½ as f32 has it: as it is printed, and as programs have it that write gelu out.
    law: (t, a) => t.mul(t.mul(0.5, a), t.add(1, t.apply("erf", [t.mul(Math.fround(Math.SQRT1_2), a)]))),
    isSlow: true,
  },
  silu: {
    value: (x) => x / (1 + Math.exp(-x)),
    cuda: (a) => `fn_silu(${a})`,
    law: (t, a) => sigmoid(t, a, a),
    isSlow: true,
  },
  sigmoid: {
    value: (x) => 1 / (1 + Math.exp(-x)),
    cuda: (a) => `fn_sigmoid(${a})`,
    law: (t, a) => sigmoid(t, 1, a),
    isSlow: true,
  },
  floor: { value: Math.floor, cuda: (a) => `floorf(${a})`, isSlow: false, isExact: true },
  ceil: { value: Math.ceil, cuda: (a) => `ceilf(${a})`, isSlow: false, isExact: true },
  round: { value: roundToEven, cuda: (a) => `rintf(${a})`, isSlow: false, isExact: true },
  trunc: { value: Math.trunc, cuda: (a) => `truncf(${a})`, isSlow: false, isExact: true },
};

/** Functions that cut fractions off. */
export const CUTS_FRACTIONS: ReadonlySet<string> = new Set<UnaryFunction>(["floor", "ceil", "round", "trunc"]);

/**
 * How far y, the value of a function of floats at x, may be off for the sake of its argument, to either side of that: where it is off by
 * `off`, and where an implementation that is not exact takes it for a neighbour, by `own` of its size. NaN where the function has no
 * value so near.
 */
export function carriedErrors(fn: UnaryFunction, x: number, y: number, off: number, own: number): [number, number] {
  const { value: f, isExact, drift } = UNARY[fn];
  if (drift !== undefined) return [drift(off), drift(off)];
  const d = isExact === true ? off : off + own * Math.abs(x);
  return [Math.abs(f(x + d) - y), Math.abs(f(x - d) - y)];
}

export interface BinaryRow {
  /** Of indices and truth values; undefined where it has none (division by zero). */
  readonly fold: (a: number, b: number) => number | undefined;
  /** The operator, which C and JavaScript share; null for `min`, `max` and `pow`. */
  readonly operator: string | null;
  readonly commutes: boolean;
  /** Whether floats have it. */
  readonly isOfFloats: boolean;
  /** Whether floats take more than a few instructions. */
  readonly isSlow: boolean;
}

/** Of conditions and of what fits in 32 bits, as numbers: whole numbers without limits are slow. */
const bits =
  (ofFew: (a: number, b: number) => number, fn: (a: bigint, b: bigint) => bigint) =>
  (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? ofFew(a, b) : Number(fn(BigInt(a), BigInt(b)));

// prettier-ignore
export const BINARY: Readonly<Record<BinaryFunction, BinaryRow>> = {
  add: { fold: (a, b) => a + b, operator: "+", commutes: true, isOfFloats: true, isSlow: false },
  sub: { fold: (a, b) => a - b, operator: "-", commutes: false, isOfFloats: true, isSlow: false },
  mul: { fold: (a, b) => a * b, operator: "*", commutes: true, isOfFloats: true, isSlow: false },
  div: { fold: (a, b) => (b === 0 ? undefined : Math.trunc(a / b)), operator: "/", commutes: false, isOfFloats: true, isSlow: true },
  rem: { fold: (a, b) => (b === 0 ? undefined : a % b), operator: "%", commutes: false, isOfFloats: true, isSlow: false },
  min: { fold: Math.min, operator: null, commutes: true, isOfFloats: true, isSlow: false },
  max: { fold: Math.max, operator: null, commutes: true, isOfFloats: true, isSlow: false },
  pow: { fold: power, operator: null, commutes: false, isOfFloats: true, isSlow: true },
  and: { fold: bits((a, b) => a & b, (a, b) => a & b), operator: "&", commutes: true, isOfFloats: false, isSlow: false },
  or: { fold: bits((a, b) => a | b, (a, b) => a | b), operator: "|", commutes: true, isOfFloats: false, isSlow: false },
  xor: { fold: bits((a, b) => a ^ b, (a, b) => a ^ b), operator: "^", commutes: true, isOfFloats: false, isSlow: false },
  shl: { fold: (a, b) => a * 2 ** b, operator: "<<", commutes: false, isOfFloats: false, isSlow: false },
  shr: { fold: (a, b) => Math.floor(a / 2 ** b), operator: ">>", commutes: false, isOfFloats: false, isSlow: false },
};

export interface ComparisonRow {
  readonly holds: (a: number, b: number) => boolean;
  readonly cuda: string;
  readonly javascript: string;
}

export const COMPARE: Readonly<Record<Comparison, ComparisonRow>> = {
  eq: { holds: (a, b) => a === b, cuda: "==", javascript: "===" },
  ne: { holds: (a, b) => a !== b, cuda: "!=", javascript: "!==" },
  lt: { holds: (a, b) => a < b, cuda: "<", javascript: "<" },
  le: { holds: (a, b) => a <= b, cuda: "<=", javascript: "<=" },
  gt: { holds: (a, b) => a > b, cuda: ">", javascript: ">" },
  ge: { holds: (a, b) => a >= b, cuda: ">=", javascript: ">=" },
};

export interface ReductionRow {
  /** The function that is applied again and again. */
  readonly fn: BinaryFunction;
  /** What it starts from, and its value over nothing. */
  readonly identity: (kind: ScalarKind) => number;
}

export const REDUCE: Readonly<Record<Reduction, ReductionRow>> = {
  sum: { fn: "add", identity: () => 0 },
  prod: { fn: "mul", identity: () => 1 },
  min: { fn: "min", identity: (kind) => HIGHEST[kind] ?? Infinity },
  max: { fn: "max", identity: (kind) => LOWEST[kind] ?? -Infinity },
};

/** A whole number as an integer kind of at most 32 bits has it, which wraps; other kinds have it as it is. */
export function wrapped(kind: ScalarKind, x: number): number {
  switch (kind) {
    case "u32":
      return x >>> 0;
    case "i32":
      return x | 0;
    case "i8":
      return (x << 24) >> 24;
    case "u8":
      return x & 0xff;
    default:
      return x;
  }
}

/** Whether a function takes an element of a kind more than a few instructions. */
export function isSlow(fn: UnaryFunction | BinaryFunction, kind: ScalarKind): boolean {
  return fn in UNARY ? UNARY[fn as UnaryFunction].isSlow : isFloat(kind) && BINARY[fn as BinaryFunction].isSlow;
}

/** Value of an index or bool operation; undefined where it has none (division by zero). */
export function foldBinary(fn: BinaryFunction, a: number, b: number): number | undefined {
  return BINARY[fn].fold(a, b);
}

/** Holds where the other does not; of floats, where none is NaN. */
export const OPPOSITE: Readonly<Record<Comparison, Comparison>> = {
  eq: "ne",
  ne: "eq",
  lt: "ge",
  ge: "lt",
  gt: "le",
  le: "gt",
};

export function foldCompare(fn: Comparison, a: number, b: number): boolean {
  return COMPARE[fn].holds(a, b);
}
