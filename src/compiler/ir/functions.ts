/** The unary functions of the op table in float64, shared by the CPU backend and the reference. */
import type { UnaryFunction } from "./ops.js";

/** The error function to float64 precision: series near 0, continued fraction in the tail. */
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

/** gelu is the exact one, x·Φ(x); silu is x·sigmoid(x); relu of NaN is 0, as with `x > 0 ? x : 0`. */
export const FLOAT_FUNCTIONS: Readonly<Record<UnaryFunction, (x: number) => number>> = {
  neg: (x) => -x,
  not: (x) => (x === 0 ? 1 : 0),
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  tanh: Math.tanh,
  abs: Math.abs,
  relu: (x) => (x > 0 ? x : 0),
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  silu: (x) => x / (1 + Math.exp(-x)),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};

/** Smaller of two numbers as GPUs have it: a NaN loses against a number. */
export function minimum(a: number, b: number): number {
  return a !== a ? b : b !== b ? a : Math.min(a, b);
}

/** Larger of two numbers as GPUs have it: a NaN loses against a number. */
export function maximum(a: number, b: number): number {
  return a !== a ? b : b !== b ? a : Math.max(a, b);
}
