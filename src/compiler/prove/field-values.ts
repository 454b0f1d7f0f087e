/** Values of the fields that are more than their residues: what wrapped, what was compared, what was divided by a maximum. */
import type { Number_, Term } from "./algebra.js";
import { Extremum } from "./extremum.js";
import type { FieldAlgebra } from "./field.js";
import { type Residues, ZERO } from "./residues.js";

/** Something by a maximum. */
export interface Quotient {
  readonly dividend: Number_;
  readonly divisor: Extremum;
  /** A number that the dividend is a multiple of. */
  readonly factor: number;
}

/** A whole number that was made 8 bits wide, or something computed from one. */
export class Wrapped implements Term {
  constructor(
    readonly residues: Residues,
    /** Equal modulo 2⁸, since wrapping keeps sums and products. */
    readonly unwrapped: Residues,
    /** The dtype that it has. */
    readonly fits: "i8" | "u8" | null,
  ) {}

  get id(): number {
    return 0;
  }
}

export const isWrapped = (a: Number_, b: Number_): boolean => a instanceof Wrapped || b instanceof Wrapped;

export const fitsOf = (x: Number_): "i8" | "u8" | null =>
  x instanceof Wrapped || x instanceof Extremum ? x.fits : null;

/** Whether a < b, or a = b; or whether not. */
export class Compared implements Term {
  private known: Residues | null = null;

  constructor(
    private readonly algebra: FieldAlgebra,
    readonly fn: "lt" | "eq",
    readonly a: Number_,
    readonly b: Number_,
    readonly isNegated: boolean,
  ) {}

  get id(): number {
    return 0;
  }

  /** Whether it does not hold. */
  get opposite(): Compared {
    return new Compared(this.algebra, this.fn, this.a, this.b, !this.isNegated);
  }

  /** Depends on the difference alone; made when it is asked for, since a choice by size never does. */
  get residues(): Residues {
    return (this.known ??= this.find());
  }

  private find(): Residues {
    const { algebra, fn, isNegated } = this;
    const { fields } = algebra;
    let difference = algebra.difference(this.b, this.a);
    const holds = difference.equals(ZERO) ? fields.residues(fn === "eq" ? 1 : 0) : null;
    if (fn === "eq" && 2 * difference.p > fields.p) difference = fields.minus(ZERO, difference);
    const value = holds ?? algebra.apply(fn, [difference]);
    return isNegated ? fields.minus(fields.residues(1), value) : value;
  }
}
