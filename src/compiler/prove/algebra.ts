/**
 * What symbolic execution needs of numbers that stand for data. Two implementations: `FieldAlgebra` decides whether two
 * values are equal, quickly; `ExactAlgebra` keeps them as sums of products, to say how they differ.
 */

import type { Comparison } from "../ir/ops.js";
import type { DType, ScalarKind } from "../types/dtype.js";

/** A symbolic number. Only the algebra that made it understands it. */
export interface Term {
  readonly id: number;
}

/** A known number, or one that stands for data. */
export type Number_ = number | Term;

/** Values made ready to be multiplied often, by `Algebra.factors`. */
export type Factors = readonly Number_[];

/** A sum that grows. */
export interface Accumulator {
  add(x: Number_, times?: number): void;
  addProduct(a: Number_, b: Number_): void;
  /** Adds the products of the factors of each place; both lists are of the same length. */
  addProducts(a: Factors, b: Factors): void;
  build(): Number_;
}

export interface Algebra {
  /** Element `index` of an input as rank `rank` held it at a launch; rank -1 for what is equal on all ranks. */
  leaf(launch: number, buffer: string, rank: number, index: number): Term;
  /** The leaves of one rank, by index. */
  leavesOf(launch: number, buffer: string, rank: number): (index: number) => Term;
  /** Memory that nobody has written. */
  poison(buffer: string, rank: number, index: number): Term;
  add(a: Number_, b: Number_): Number_;
  sub(a: Number_, b: Number_): Number_;
  mul(a: Number_, b: Number_): Number_;
  div(a: Number_, b: Number_): Number_;
  /** Of whole numbers, without the fraction. */
  quotient(a: Number_, b: Number_): Number_;
  /** Of any number of values, in any order and however often. */
  extreme(fn: "min" | "max", a: Number_, b: Number_): Number_;
  /** Of another kind: whole numbers of 8 bits wrap, fractions are cut off; how floats are rounded, algebras differ about. */
  cast(from: ScalarKind, to: ScalarKind, a: Number_): Number_;
  /** A known number as a float dtype has it, where that counts. */
  rounded?(to: DType, x: number): number;
  /** Dtypes that something was rounded to that may lie beyond their largest number. */
  readonly overflows: ReadonlySet<DType>;
  /** For arithmetic on integers, which is exact but that it wraps. */
  readonly integers: Algebra;
  /** 1 where it holds, else 0. */
  compare(fn: Comparison, a: Number_, b: Number_): Number_;
  /** `condition` is 0 or 1. */
  select(condition: Number_, a: Number_, b: Number_): Number_;
  /** Any other function: equal arguments give equal results, and nothing else is known of it. */
  apply(fn: string, args: readonly Number_[], commutes?: boolean): Term;
  /** A function of a known number, where it has laws with what stands for data; null where it is a number like any other. */
  lawful?(fn: string, x: number): Number_ | null;
  accumulator(): Accumulator;
  /** For `Accumulator.addProducts`. */
  factors(values: readonly Number_[]): Factors;
  /** Whether two values are equal for all data. */
  isSame(a: Number_, b: Number_): boolean;
}

/** Coefficients of averages are quotients: compare them as if rounding had not happened. */
export function tidy(x: number): number {
  const fraction = fractionOf(x);
  return fraction === null ? x : fraction[0] / fraction[1];
}

const LARGEST_DENOMINATOR = 2 ** 20;

/**
 * The simplest fraction of whole numbers that rounds to the same f32, by continued fractions; so a quotient and its
 * rounding are one number. Null where there is no simple one.
 */
export function fractionOf(x: number): readonly [number, number] | null {
  if (Number.isSafeInteger(x)) return [x, 1];
  const rounded = Math.fround(x);
  if (!Number.isFinite(rounded) || rounded === 0) return null;
  let [top, bottom, lastTop, lastBottom] = [Math.floor(rounded), 1, 1, 0];
  for (let rest = rounded - Math.floor(rounded); Math.fround(top / bottom) !== rounded;) {
    if (rest === 0) return null;
    const whole = Math.floor(1 / rest);
    rest = 1 / rest - whole;
    [top, lastTop] = [whole * top + lastTop, top];
    [bottom, lastBottom] = [whole * bottom + lastBottom, bottom];
    if (bottom > LARGEST_DENOMINATOR || !Number.isSafeInteger(top)) return null;
  }
  return [top, bottom];
}
