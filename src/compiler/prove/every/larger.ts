/** Which of two polynomials is the larger one, in one box. */
import { type Form, isAtLeastZero, keyOf, minus, ONE, type Ranges } from "./forms.js";

/**
 * Answers about one box. They are kept: the few ends of intervals that a kernel has are compared again and again, and what holds in a
 * box holds in each half that is looked at instead.
 */
export class Comparisons {
  /** Equal polynomials have one number. */
  private readonly numbers = new Map<Form, number>();
  private readonly byText = new Map<string, number>();
  private readonly atMost: boolean[][] = [];
  private readonly below: boolean[][] = [];

  constructor(private readonly ranges: Ranges) {}

  /** Whether `a` is at most `b` everywhere in the box, or nowhere. @throws Cut, Undecided */
  isAtMost(a: Form, b: Form): boolean {
    const row = (this.atMost[this.numberOf(a)] ??= []);
    return (row[this.numberOf(b)] ??= isAtLeastZero(minus(b, a), this.ranges));
  }

  /** Whether `a` is less than `b` everywhere in the box, or nowhere. @throws Cut, Undecided */
  isBelow(a: Form, b: Form): boolean {
    const row = (this.below[this.numberOf(a)] ??= []);
    return (row[this.numberOf(b)] ??= isAtLeastZero(minus(minus(b, a), ONE), this.ranges));
  }

  private numberOf(f: Form): number {
    let number = this.numbers.get(f);
    if (number === undefined) {
      const text = keyOf(f);
      number = this.byText.get(text);
      if (number === undefined) this.byText.set(text, (number = this.byText.size));
      this.numbers.set(f, number);
    }
    return number;
  }
}
