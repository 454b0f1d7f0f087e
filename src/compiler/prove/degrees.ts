/**
 * How large an expression is that residues stand for: its degree, the sum of the sizes of its whole coefficients, and what it was
 * divided by. The chance that two different ones have equal residues goes up with all of these. Sizes of equal operands are
 * remembered, as most operations of a proof are on values of a few sizes.
 */

/** Different divisors that are told apart; more are one product. */
const MOST_DIVISORS = 16;

/** An expression that something was divided by. */
interface Divisor {
  readonly degree: number;
  readonly norm: number;
}

/** A product of what was divided by: of a whole number and of expressions, with how often each. */
class Under {
  private other: Under | null = null;
  private joined: Under | null = null;
  private by: Under | null = null;
  private multiplied: Under | null = null;
  readonly degree: number;
  readonly norm: number;

  constructor(
    readonly whole: number,
    readonly divisors: ReadonlyMap<Divisor, number>,
  ) {
    let [degree, norm] = [0, whole];
    for (const [d, times] of divisors) {
      degree += d.degree * times;
      norm *= d.norm ** times;
    }
    this.degree = degree;
    this.norm = norm;
  }

  /** The least that is a multiple of both. */
  with(x: Under): Under {
    if (x === this || x === NOTHING) return this;
    if (this === NOTHING) return x;
    if (this.other !== x) {
      this.joined = this.combined(x, leastMultiple(this.whole, x.whole), Math.max);
      this.other = x;
    }
    return this.joined!;
  }

  times(x: Under): Under {
    if (x === NOTHING) return this;
    if (this === NOTHING) return x;
    if (this.by !== x) {
      this.multiplied = this.combined(x, this.whole * x.whole, (a, b) => a + b);
      this.by = x;
    }
    return this.multiplied!;
  }

  private combined(x: Under, whole: number, of: (a: number, b: number) => number): Under {
    const all = new Map(this.divisors);
    let isThis = whole === this.whole;
    let isOther = whole === x.whole;
    for (const [d, times] of x.divisors) {
      const [before, now] = [all.get(d) ?? 0, of(all.get(d) ?? 0, times)];
      isThis &&= now === before;
      all.set(d, now);
    }
    for (const [d, times] of all) isOther &&= times === x.divisors.get(d);
    if (isThis) return this;
    if (isOther) return x;
    const both = new Under(whole, all);
    return all.size <= MOST_DIVISORS ? both : new Under(1, new Map([[{ degree: both.degree, norm: both.norm }, 1]]));
  }
}

const NOTHING = new Under(1, new Map());

function leastMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0 && Number.isFinite(x)) [x, y] = [y, x % y];
  return Number.isFinite(a * b) ? (a / x) * b : Infinity;
}

/** The size of a rational expression with whole coefficients. */
export class Size {
  private other: Size | null = null;
  private sum: Size | null = null;
  private by: Size | null = null;
  private product: Size | null = null;
  private inverted: Size | null = null;

  private constructor(
    /** Of the numerator. */
    readonly degree: number,
    /** More than the sizes of the coefficients of the numerator come to. */
    readonly norm: number,
    private readonly under: Under,
  ) {}

  /** Of something that is random itself. */
  static readonly MEMBER = new Size(1, 1, NOTHING);

  /** Of a fraction of whole numbers. */
  static ofFraction(top: number, bottom: number): Size {
    return new Size(0, Math.abs(top), bottom === 1 ? NOTHING : new Under(bottom, new Map()));
  }

  /** Of numerator and denominator together. */
  get wholeDegree(): number {
    return this.degree + this.under.degree;
  }

  /** A coefficient of numerator and denominator together is no larger. */
  get wholeNorm(): number {
    return Math.max(this.norm, 1) * this.under.norm;
  }

  /** Of a sum or a difference. */
  plus(x: Size): Size {
    if (this.other !== x) {
      const under = this.under.with(x.under);
      this.sum = new Size(
        Math.max(this.degreeOver(under), x.degreeOver(under)),
        this.normOver(under) + x.normOver(under),
        under,
      );
      this.other = x;
    }
    return this.sum!;
  }

  times(x: Size): Size {
    if (this.by !== x) {
      this.product = new Size(this.degree + x.degree, this.norm * x.norm, this.under.times(x.under));
      this.by = x;
    }
    return this.product!;
  }

  /** Of 1 by this; equal ones of one value share it, so that what they divide has one divisor. */
  get inverse(): Size {
    if (this.inverted === null) {
      const under =
        this.degree === 0 && this.under === NOTHING
          ? new Under(this.norm, new Map())
          : new Under(1, new Map([[{ degree: this.degree, norm: this.norm }, 1]]));
      this.inverted = new Size(this.under.degree, this.under.norm, under);
    }
    return this.inverted;
  }

  /** Of one of two: where the choice is made, coefficients are those of one side. */
  or(x: Size): Size {
    if (x === this) return this;
    // A maximum asks it of thousands of members, most of which are of a few sizes.
    if (x.under === this.under) {
      if (x.degree <= this.degree && x.norm <= this.norm) return this;
      if (this.degree <= x.degree && this.norm <= x.norm) return x;
    }
    const under = this.under.with(x.under);
    return new Size(
      Math.max(this.degreeOver(under), x.degreeOver(under)),
      Math.max(this.normOver(under), x.normOver(under)),
      under,
    );
  }

  /** The degree of the numerator, over a multiple of what this is divided by. */
  private degreeOver(under: Under): number {
    return this.degree + under.degree - this.under.degree;
  }

  /** The norm of the numerator, over a multiple of what this is divided by. */
  private normOver(under: Under): number {
    return this.under === under ? this.norm : this.norm * (under.norm / this.under.norm);
  }
}

/** Of a choice: of its condition times one of two sides. */
export const chosen = (condition: Size, a: Size, b: Size): Size => condition.times(a.or(b));
