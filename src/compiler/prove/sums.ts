/** Sums of many values: made in one place, so that each term costs the same. */
import type { Accumulator, Algebra, Number_ } from "./algebra.js";
import { ExponentialAlgebra } from "./exponentials.js";
import { RoundingAlgebra } from "./rounding.js";

interface Sum {
  add(x: Number_): void;
  build(): Number_;
}

/** A sum that grows: a number as long as its terms are, the one term that is more than 0, or a sum of the algebra. */
class GrowingSum implements Sum {
  private total: Number_ = 0;
  private accumulator: Accumulator | null = null;

  constructor(private readonly algebra: Algebra) {}

  add(x: Number_): void {
    if (this.accumulator !== null) this.accumulator.add(x);
    else if (typeof this.total === "number" && (typeof x === "number" || this.total === 0)) {
      this.total = typeof x === "number" ? this.total + x : x;
    } else if (x !== 0) {
      this.accumulator = this.algebra.accumulator();
      this.accumulator.add(this.total);
      this.accumulator.add(x);
    }
  }

  build(): Number_ {
    return this.accumulator?.build() ?? this.total;
  }
}

/** The same, term by term: where each knows more than its place among the others. */
class TermByTerm implements Sum {
  private total: Number_ = 0;

  constructor(private readonly algebra: Algebra) {}

  add(x: Number_): void {
    this.total = this.algebra.add(this.total, x);
  }

  build(): Number_ {
    return this.total;
  }
}

/** An empty sum of floats. */
export function sumOf(algebra: Algebra): Sum {
  const isOrdered = algebra instanceof ExponentialAlgebra || algebra instanceof RoundingAlgebra;
  return isOrdered ? new TermByTerm(algebra) : new GrowingSum(algebra);
}
